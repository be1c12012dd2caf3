"""Definite initialization in rows: which cells of a read no earlier write has, on which paths, in which iterations.

Knows: rows as walks over one memory, how loops move them, each with when it was written.
Does not know: what comes before a read (its callers walk plans and functions), which ways there are (`ways`), bytes of
registers (`definite`), how a finding is shown.
Law: a cell counts as written only by rows that have it, cell by cell on one grid. A loop around both a row and the read
is at one turn of both: a row that it moves has something for reads alone that it moves alike. Rows on the way of the
read first, so that what is left is asked of few ways: twenty conditions make a million paths, of which a cell needs one
or two.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dmaverify.program.schedule import Order
from dmaverify.program.turns import Turn
from dmaverify.program.ways import OnWay
from dmaverify.prove.flow.accesses.tile_union import Grid, grid_of
from dmaverify.prove.flow.accesses.ways import Ways, WaysUndecided
from dmaverify.prove.meet import Walk, apart, difference
from dmaverify.values import dataclass, field, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_GROUPS = 512  # sets of cells that the same branches write
MOST_PARTS = 64  # boxes that the rows of one frame leave to those of the next

Row = tuple[Walk, OnWay]
"""What was written, when."""


@dataclass(frozen=True)
class LoopMove:
    """How loops move an access: `count` starts, `step` apart. `of` tells from one another what moves so: a loop, or a
    number that several `loops` make in an order that is not known.
    """

    of: Hashable
    loops: frozenset[Any]
    count: int
    step: int


@dataclass(frozen=True)
class RowAccess:
    """Cells that an access has: `walk` at the first of its starts, `moves` to all others; `around` are the loops that
    it stands in.
    """

    walk: Walk
    moves: frozenset[LoopMove] = frozenset()
    around: frozenset[Hashable] = frozenset()
    when: OnWay = field(default_factory=OnWay)

    @property
    def cells(self) -> Walk:
        """Those of all turns."""
        return over(self.walk, self.moves)

    def alike(self, read: RowAccess) -> frozenset[LoopMove] | None:
        """How loops around both move both, in the same turn; None where they move this otherwise than the read."""
        both = self.around & read.around
        found = frozenset(move for move in self.moves if move.loops & both)
        return found if all(move in read.moves and move.loops <= both for move in found) else None

    def at_first(self, loops: Collection[Hashable]) -> RowAccess | None:
        """In the first turn of some loops; None where these make a number in an order that is not known."""
        moved = [move for move in self.moves if not move.loops.isdisjoint(loops)]
        if not all({move.of} == move.loops for move in moved):
            return None
        return replace(self, moves=self.moves.difference(moved), around=self.around.difference(loops))

    def but_one(self, loop: Hashable, *, last: bool) -> RowAccess | None:
        """In all turns of a loop but its last one, or its first one; None as for `at_first`."""
        first = self.at_first((loop,))
        if first is None or self.moves == first.moves:
            return first and self
        (move,) = self.moves - first.moves
        base = self.walk.base + (0 if last else move.step)
        moves = first.moves | {replace(move, count=move.count - 1)}
        return replace(self, walk=replace(self.walk, base=base), moves=moves)


@dataclass(frozen=True)
class CellsLeft:
    """The cells of a read that no row on its way has (`left`), on a grid that begins at the address `low` and has the
    read as its first walk; rows by their places in it: those that are there `always`, and `others` on their own ways.
    """

    grid: Grid
    low: int
    left: NDArray[Any]
    always: list[int]
    others: dict[OnWay, list[int]]

    @property
    def read(self) -> NDArray[Any]:
        return self.grid.covered[0]

    @property
    def never(self) -> NDArray[Any]:
        """The cells that no row has, whenever it is written."""
        return self.grid.left((0,), range(1, len(self.grid.covered)))

    @property
    def partly(self) -> bool:
        """Whether some of what is read was written."""
        return bool((self.read & ~self.left).any())

    def groups(self) -> Iterator[tuple[tuple[OnWay, ...], NDArray[Any]]]:
        """Cells that are written on the same ways alone, those first that lie first. Raises WaysUndecided."""
        found: dict[tuple[OnWay, ...], NDArray[Any]] = {(): self.left} if self.left.any() else {}
        for when, places in self.others.items():
            cells = ~self.grid.left((), places)
            parts = [part for key, own in found.items() for part in (((*key, when), own & cells), (key, own & ~cells))]
            found = {key: part for key, part in parts if part.any()}
            if len(found) > MOST_GROUPS:
                raise WaysUndecided
        yield from sorted(found.items(), key=lambda one: int(one[1].argmax()))

    def first(self, cells: NDArray[Any]) -> int:
        """The least address of some cells."""
        return next(self.boxes(cells)).base

    def boxes(self, cells: NDArray[Any]) -> Iterator[Walk]:
        """Some cells as walks, in the order of their least addresses."""
        for cell in self.grid.cells(cells):
            first, last = self.grid.first(cell), self.grid.last(cell)
            base = self.low + sum(value * stride for (_, stride, _), value in first.items())
            yield Walk(base, tuple((last[d] - first[d] + 1, d[1]) for d in self.grid.digits)).straight


def left_of(read: Walk, rows: Sequence[Row], when: OnWay) -> CellsLeft | None:
    """What rows on the way of a read leave of it; None where that takes too long a list."""
    straight = [(walk.straight, way) for walk, way in rows]
    near = [
        (walk, way)
        for walk, way in straight
        if walk.low <= read.high and read.low <= walk.high and not apart(difference(walk, read))
    ]
    low = min(walk.low for walk in (read, *(walk for walk, _ in near)))
    moved = [replace(walk, base=walk.base - low) for walk in (read, *(walk for walk, _ in near))]
    grid = grid_of(moved, 1 + max(walk.high for walk in moved))
    if grid is None:
        return None
    always, others = list[int](), dict[OnWay, list[int]]()
    for place, (_, way) in enumerate(near, 1):
        (always if _surely(way, when) else others.setdefault(way, [])).append(place)
    return CellsLeft(grid, low, grid.left((0,), always), always, others)


def in_loops(walk: Walk, turns: Sequence[Turn], body: Hashable, *, alike: bool) -> RowAccess:
    """A walk whose first loops are the turns of a body's loops; `alike` where all that it is compared with in the body
    cuts these loops so.
    """
    own = walk.loops[: len(turns)]
    names = [(body, turn if alike else turn.loop) for turn in turns]
    moves = (
        LoopMove(name if alike or count == turn.of else (name, turn), frozenset((name,)), count, step)
        for name, turn, (count, step) in zip(names, turns, own, strict=True)
        if step and count > 1
    )
    return RowAccess(Walk(walk.base, walk.loops[len(turns) :]), frozenset(moves), frozenset(names))


@dataclass(frozen=True)
class StepRow:
    """A walk of a step of a program, its first loops the turns of the loops around it."""

    step: int
    walk: Walk
    turns: Sequence[Turn]


def step_rows_met(read: StepRow, rows: Sequence[StepRow], order: Order) -> bool:
    """Whether rows have, together, all of another one: of one body, in each iteration what it has in it."""
    every, bodies = (read, *rows), order.bodies
    alike = len({one.turns for one in every if bodies[one.step] == bodies[read.step]}) == 1
    own, *others = (in_loops(one.walk, one.turns, bodies[one.step], alike=alike) for one in every)
    return bool(rows) and met(own, others, Ways())


def over(walk: Walk, moves: Collection[LoopMove]) -> Walk:
    """What a walk has over all starts of some moves."""
    return Walk(walk.base, (*((move.count, move.step) for move in moves), *walk.loops)).straight


def met(read: RowAccess, rows: Sequence[RowAccess], ways: Ways) -> bool:
    """Whether rows that were written before have all that is read, in every turn, on every way to it; no where a list
    is too long. Raises WaysUndecided.

    Rows that the same loops move as they move the read are asked at one turn of these, and what they leave is asked of
    rows that fewer loops move so, over all turns of the others.
    """
    frames: dict[frozenset[LoopMove], list[RowAccess]] = {frozenset(): []}
    for row in rows:
        if (alike := row.alike(read)) is not None:
            frames.setdefault(alike, []).append(row)
    held, parts = read.moves, [(read.walk, read.when)]
    for frame in sorted(frames, key=len, reverse=True):
        if frame <= held:
            own = [(over(row.walk, row.moves - frame), row.when) for row in frames[frame]]
            parts = [(over(walk, held - frame), when) for walk, when in parts]
            held, parts = frame, _rest(parts, own, ways)
    return not parts


def met_in_turns(
    read: RowAccess, rows: Sequence[RowAccess], behind: Sequence[RowAccess], loops: Iterable[Hashable], ways: Ways
) -> bool:
    """As `met`, where rows `behind` the read are written before it in later turns of one of `loops`, by induction: the
    first turn is met without them, and any other one with what the turn before wrote.
    """

    def known(made: Iterable[RowAccess | None]) -> list[RowAccess]:
        return [one for one in made if one is not None]

    if met(read, rows, ways):
        return True
    for loop in loops:
        first, others = read.at_first((loop,)), read.but_one(loop, last=False)
        if first is not None and others is not None and met(first, known(r.at_first((loop,)) for r in rows), ways):
            before = known(row.but_one(loop, last=True) for row in (*rows, *behind) if loop in row.around)
            if met(others, [*known(row.but_one(loop, last=False) for row in rows), *before], ways):
                return True
    return False


def _rest(parts: Sequence[Row], rows: Sequence[Row], ways: Ways) -> list[Row]:
    """What rows leave of parts of a read, and on which ways; all of them where that takes too long a list."""
    out: list[Row] = []
    for walk, when in parts:
        if any(row == walk and _surely(way, when) for row, way in rows):
            continue
        left = left_of(walk, rows, when)
        if left is None:
            out.append((walk, when))
            continue
        for writers, cells in left.groups():
            if ways.past(when, writers) is not None:
                rest = replace(when, exits=(*when.exits, *writers))
                out += ((box, rest) for box in left.boxes(cells))
                if len(out) > MOST_PARTS:
                    return list(parts)
    return out


def _surely(way: OnWay, when: OnWay) -> bool:
    """Whether what happens on one way surely does on another one."""
    return not way.exits and set(way.path) <= set(when.path)
