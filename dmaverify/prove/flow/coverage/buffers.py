"""Definite initialization of buffers: what is used was written before, on every path, and no cell of it twice.

Knows: which access happens on which way, which cells of the buffer it has, how loops move it.
Does not know: any text, machines, single moves, who may overtake whom (`pipes`), how a finding is shown.
Law: a cell counts as written only where no way leads past all of its certain writes; it is called unwritten only on a
way that a run can take, past all that may write it. All else is open, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from math import prod
from typing import TYPE_CHECKING, Any

from dmaverify.program.ways import OnWay
from dmaverify.prove.flow.accesses.ways import Passed, Ways, WaysUndecided
from dmaverify.prove.flow.coverage.tiles_twice import comes_back
from dmaverify.prove.flow.initialization.unwritten import CellsLeft, RowAccess, left_of, met, met_in_turns
from dmaverify.prove.meet import Walk, apart, difference
from dmaverify.values import dataclass, field, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_WAYS = 32  # of writes, any two of which are compared
COVER, ONCE, DEFINITE = "core/tiles-cover", "core/tiles-once", "core/definite"
_MANY_WAYS = "there are too many ways through the function"
_UNCLEAR = "it is not clear which branches are taken"


@dataclass(frozen=True)
class HeldAccess:
    """A write of a buffer, or a use of what it holds (by somebody else in line 0), behind `at` accesses of the text.

    `row` are the cells that it has (one for all of a buffer that no tile writes): None where that cannot be said.
    `certain`: all of its starts are known and occur; `open`: only a running program knows them. `tiled`: it has a part
    of the buffer. `partial`: it happens for some of its starts only. `soft`: only some of the ways on from here use it.
    `of` is what the text has there.
    """

    at: int
    when: OnWay
    row: RowAccess | None
    line: int = 0
    certain: bool = True
    open: bool = False
    tiled: bool = False
    partial: bool = False
    soft: bool = False
    of: Any = field(default=None, compare=False)

    @property
    def cells(self) -> Walk | None:
        """Those of all turns."""
        return None if self.row is None else self.row.cells

    @property
    def placed(self) -> RowAccess | None:
        """The cells, with when it happens."""
        return None if self.row is None else replace(self.row, around=frozenset(self.when.turns), when=self.when)

    @property
    def may(self) -> bool:
        """Whether it may happen for some of its starts only."""
        return self.partial or self.when.loose


@dataclass(frozen=True)
class HeldBuffer:
    """A buffer of `size` cells, of which those of `whole` are elements, with its writes and what is used of it.

    `own` where the function makes it, in loops of smaller numbers than `since`; `alone` where nothing else may explain
    that cells are written twice.
    """

    name: str
    size: int
    whole: Walk | None
    writes: tuple[HeldAccess, ...]
    uses: tuple[HeldAccess, ...]
    own: bool
    alone: bool
    since: int = 0

    @property
    def tiled(self) -> bool:
        return any(write.tiled for write in self.writes)


@dataclass(frozen=True)
class UnmetUse:
    """A use of what nothing wrote on a way: `count` of `live` cells from `first` on, or (0) all of a whole buffer."""

    use: HeldAccess
    way: str = ""
    count: int = 0
    live: int = 0
    first: int = 0


@dataclass(frozen=True)
class CellsFound:
    """Cells from `first` on that no write has (COVER, of so many `live`), or that writes have more than once (ONCE; 0:
    it is not counted how many).
    """

    rule: str
    count: int
    first: int
    live: int


@dataclass(frozen=True)
class TurnsAgain:
    """A write of which turns of a loop have one window: so many turns, so many windows; 0 where it never moves."""

    write: HeldAccess
    turns: int = 0
    windows: int = 0


@dataclass(frozen=True)
class OpenClaim:
    """What could not be said of a buffer, and why: `unknown` where the verdict depends on it, else a claim that is not
    made. `use` is the one that asks, `write` the one that is asked about.
    """

    rule: str
    said: str
    why: str = ""
    unknown: bool = True
    use: HeldAccess | None = None
    write: HeldAccess | None = None


Judged = UnmetUse | CellsFound | TurnsAgain | OpenClaim


@dataclass(eq=False)
class BufferJudge:
    """Judges one buffer."""

    buffer: HeldBuffer
    ways: Ways = field(default_factory=Ways)

    def judge(self) -> Iterator[Judged]:
        """What is wrong with the writes, or could not be said."""
        buffer, used = self.buffer, list[Judged]()
        if not buffer.writes:
            used += self._never()
        elif buffer.own:
            used += self._used()
        elif not self.ways.all_pass(OnWay(), [write.when for write in buffer.writes]):
            said = f"that `{buffer.name}` is written on every way is not claimed"
            used.append(OpenClaim(DEFINITE, said, unknown=False))
        yield from used
        if buffer.tiled:
            yield from self._counted(open_=bool(used))

    # ------------------------------------------------------------ written before it is used

    def _never(self) -> Iterator[UnmetUse | OpenClaim]:
        """The first use of a buffer that nothing writes, reads before others."""
        doubts = dict[str, HeldAccess]()
        met: list[UnmetUse] = []
        for use in self.buffer.uses:
            try:
                passed = self.ways.past(use.when, ())
            except WaysUndecided:
                doubts.setdefault(_MANY_WAYS, use)
                continue
            if passed is not None and passed.certain and not use.soft:
                met.append(UnmetUse(use, passed.told))
            elif passed is not None:
                doubts.setdefault("" if use.soft else _nothing(passed), use)
        if met:
            yield next((one for one in met if one.use.line), met[0])
        for why in [] if met else [*doubts][:1]:
            said = f"one of several branches gives `{self.buffer.name}`, never written"
            yield self._open(doubts[why], why) if why else OpenClaim(DEFINITE, said)

    def _used(self) -> Iterator[UnmetUse | OpenClaim]:
        """The first use of cells that are not written on some way to it."""
        doubt: OpenClaim | None = None
        for use in self.buffer.uses:
            try:
                found = self._unmet(use)
            except WaysUndecided:
                found = self._open(use, _MANY_WAYS)
            if isinstance(found, UnmetUse):
                yield found
                return
            doubt = doubt or found
        if doubt is not None:
            yield doubt

    def _unmet(self, use: HeldAccess) -> UnmetUse | OpenClaim | None:
        before = [write for write in self.buffer.writes if write.at < use.at]
        if self.ways.all_pass(use.when, [write.when for write in before if not write.tiled and not write.may]):
            return None
        whole = None if self.buffer.whole is None else RowAccess(self.buffer.whole)
        row = use.row if use.certain else whole
        if row is None:
            return self._open(use, "the digits of its mapping depend on one another")
        read = replace(row, around=frozenset(use.when.turns), when=use.when)
        loops = self._loops(use)
        behind = [w for w in self.buffer.writes if w.at >= use.at and not w.when.turns.keys().isdisjoint(loops)]
        found = self._missed(use, read.cells, [(write.cells, write) for write in (*before, *behind)])
        sure, later = ([w.placed for w in some if w.placed and not w.may] for some in (before, behind))
        if found is not None or not (behind or any(one.alike(read) != frozenset() for one in sure)):
            return found
        if met_in_turns(read, sure, later, loops, self.ways):
            return None
        first = read.at_first(read.around)
        if first is not None:
            begun = [None if write.placed is None else write.placed.at_first(read.around) for write in before]
            walks = [None if row is None else row.cells for row in begun]
            found = self._missed(use, first.cells, list(zip(walks, before, strict=True)))
        if isinstance(found, UnmetUse):
            return replace(found, way=" and ".join(filter(None, (found.way, "the loops around it begin"))))
        return found or self._open(use, "what a turn of a loop uses of it may be written in other turns alone")

    def _missed(
        self, use: HeldAccess, read: Walk, before: Sequence[tuple[Walk | None, HeldAccess]]
    ) -> UnmetUse | OpenClaim | None:
        """Cells of a read that no write of before has, on a way that a run can take."""
        left = left_of(
            read, [(walk, write.when) for walk, write in before if walk is not None and not write.may], use.when
        )
        if left is None:
            return self._open(use, self._many)
        doubtful = [write.when for walk, write in before if walk is None or write.may or not write.certain]
        maybe = not use.certain and left.partly  # what is read may be what was written
        doubt: OpenClaim | None = None
        missed: dict[str, NDArray[Any]] = {}
        for writers, cells in left.groups():
            if self.ways.past(use.when, writers) is None:
                continue
            passed = self.ways.past(use.when, [*writers, *doubtful])
            if passed is None or not passed.certain or use.soft or maybe:
                why = _doubt([write for _, write in before]) if passed is None else _nothing(passed)
                doubt = doubt or self._open(use, why)
            else:
                missed[passed.told] = missed.get(passed.told, False) | cells
        if not missed:
            return doubt
        way, cells = max(missed.items(), key=lambda one: left.grid.count(one[1]))
        if not self.buffer.tiled:
            return UnmetUse(use, way)
        return UnmetUse(use, way, left.grid.count(cells), left.grid.count(left.read), left.first(cells))

    def _open(self, use: HeldAccess, why: str) -> OpenClaim:
        what = f"read in line {use.line}" if use.line else "given away"
        said = f"that all of `{self.buffer.name}` is written before it is {what} is not decided"
        return OpenClaim(COVER if self.buffer.tiled else DEFINITE, said, why, use=use)

    @property
    def _many(self) -> str:
        return f"its {self.buffer.size:,} cells are too many to be counted"

    # ------------------------------------------------------------ counted

    def _counted(self, *, open_: bool) -> Iterator[CellsFound | TurnsAgain | OpenClaim]:
        """Cells that tiles write twice; of a buffer that the function was given, cells that they leave as well.
        `open_`: something was said of its uses.
        """
        buffer = self.buffer
        rows = [(write.cells, write.when) for write in buffer.writes if write.cells is not None]
        unclear = len(rows) < len(buffer.writes) or any(write.may or not write.certain for write in buffer.writes)
        found = left_of(buffer.whole, rows, OnWay()) if not unclear and buffer.whole is not None else None
        if found is None:
            if not buffer.own:
                why = _doubt(buffer.writes) if unclear or buffer.whole is None else self._many
                said = f"that the tiles cover `{buffer.name}`, no part of it twice, is not judged"
                yield OpenClaim(COVER, said, why, unknown=False)
            elif buffer.alone and not open_ and all(write.tiled for write in buffer.writes):
                yield from self._perhaps_twice()
            return
        never = found.never
        if never.any() and not (buffer.own and buffer.uses):
            yield self._cells(COVER, found, never)
        if any(not write.tiled for write in buffer.writes):
            return  # written as a whole and then in part: meant as it stands
        again = next((told for told in map(self._again, buffer.writes) if told is not None), None)
        told = again or self._twice(found)
        if told is not None:
            yield told

    def _cells(self, rule: str, found: CellsLeft, cells: NDArray[Any]) -> CellsFound:
        return CellsFound(rule, found.grid.count(cells), found.first(cells), found.grid.count(found.read))

    def _twice(self, found: CellsLeft) -> CellsFound | OpenClaim | None:
        """Cells that a write has more than once, or two ways of writes together; of two that always happen first."""
        ways = {**({OnWay(): found.always} if found.always else {}), **found.others}
        if len(ways) > MOST_WAYS:
            return self._not_once("its writes stand behind too many conditions") if self.buffer.alone else None
        count: dict[OnWay, Any] = {
            when: sum(1 * found.grid.covered[n] for n in places) for when, places in ways.items()
        }
        doubt: OpenClaim | None = None
        for told in map(self._by_itself, self.buffer.writes):
            if isinstance(told, CellsFound):
                return told
            doubt = doubt or told
        for when, other in combinations_with_replacement(ways, 2):
            twice = found.read & ((count[when] if other is when else count[when] + count[other]) > 1)
            told = self._where_both(when, other, self._cells(ONCE, found, twice)) if twice.any() else None
            if isinstance(told, CellsFound):
                return told
            doubt = doubt or told
        return doubt

    def _perhaps_twice(self) -> Iterator[OpenClaim]:
        """That two writes may have a cell in common in one run, of which those of one are not all known: of a buffer
        whose cells are all written otherwise.
        """
        for one, other in combinations_with_replacement(self.buffer.writes, 2):
            if not self._apart(one, other) and self._on_one_way(one.when, other.when):
                yield self._not_once(_doubt([one, other]))
                return

    def _loops(self, write: HeldAccess) -> set[int]:
        """The loops around a write in which the buffer is one."""
        return {loop for loop, turns in write.when.turns.items() if loop >= self.buffer.since and turns != 1}

    def _apart(self, one: HeldAccess, other: HeldAccess) -> bool:
        """Whether two writes never have a cell in common; of one: two of its turns."""
        a, b = one.cells, other.cells
        if one is other and not self._loops(one):
            return True
        if a is None or b is None or not (one.certain and other.certain):
            return False
        if one is not other:
            return apart(difference(a, b))
        return self._again(one) is None and comes_back(a.straight) == "none"

    def _by_itself(self, write: HeldAccess) -> CellsFound | OpenClaim | None:
        """An element that one write has in two turns."""
        assert write.cells is not None
        assert self.buffer.whole is not None
        walk = write.cells.straight
        found = comes_back(walk)
        if found == "none":
            return None
        at = walk.address(found[0]) if not isinstance(found, str) else -1
        if at < 0 or not met(RowAccess(Walk(at, ())), [RowAccess(self.buffer.whole)], self.ways):
            return self._not_once(f"the tile in line {write.line} may come back to what it wrote")
        return self._where_both(write.when, write.when, CellsFound(ONCE, 0, at, 0))

    def _not_once(self, why: str) -> OpenClaim:
        return OpenClaim(ONCE, f"that no element of `{self.buffer.name}` is written twice is not decided", why)

    def _where_both(self, one: OnWay, other: OnWay, found: CellsFound) -> CellsFound | OpenClaim | None:
        """What is written twice, if both happen in one run."""
        always = one.always and other.always
        why = "" if always else self._on_one_way(one, other)
        if always or (why and not self.buffer.alone):
            return found
        return self._not_once(why) if why else None

    def _on_one_way(self, one: OnWay, other: OnWay) -> str:
        """Why both may happen in one run; nothing where they cannot."""
        try:
            passed = self.ways.past(OnWay((*one.path, *other.path), (*one.exits, *other.exits)), ())
        except WaysUndecided:
            return _MANY_WAYS
        return "" if passed is None else f"some are where {passed.told}" if passed.told else _UNCLEAR

    def _again(self, write: HeldAccess) -> TurnsAgain | OpenClaim | None:
        """What is told of a write whose loops write one window in several turns; None where each turn has its own."""
        assert write.row is not None
        for move in write.row.moves:
            turns = prod(write.when.turns.get(loop, 0) for loop in move.loops)
            if turns > move.count:
                return TurnsAgain(write, turns, move.count)
        read = {loop for use in self.buffer.uses for loop in use.when.turns}
        moving = {loop for move in write.row.moves for loop in move.loops}
        still = self._loops(write) - moving - read  # they neither move it, nor read the buffer, nor make it anew
        if any(write.when.turns[loop] > 1 for loop in still):
            return TurnsAgain(write)
        said = f"that the tile in line {write.line} writes `{self.buffer.name}` once is not decided"
        return OpenClaim(ONCE, said, "a loop around it does not move it", write=write) if still else None


def _doubt(before: Sequence[HeldAccess]) -> str:
    """Why the writes do not settle it."""
    for one in before:
        if one.open:
            return f"only the running program knows where the tile in line {one.line} starts"
        if not one.certain:
            return f"the starts of the tile in line {one.line} follow no progression that is known"
        if one.may:
            return f"the write in line {one.line} stands behind a condition of each turn of a loop"
    return "a tile leaves it, or has no digits that could be counted"


def _nothing(passed: Passed) -> str:
    return f"nothing writes it where {passed.told}" if passed.told else _UNCLEAR
