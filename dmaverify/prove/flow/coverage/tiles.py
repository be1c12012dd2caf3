"""Coverage of outputs in tiles: every element is written once, over all iterations of all loops.

Knows: windows that move with loops, the rows of a scatter, common digits of all of them, what reads lie between writes.
Does not know: what is inside a tile (each iteration by itself is `core`'s business), what tiles leave out
(`tile_cover`), how a finding is shown.
Law: two tiles that share no element (`tiles_twice`) are written once. A second write is fine only where steps between
the two read what they share: in rows and turns, as what is read must be written (`unwritten`); where one of the two
writes the whole tensor, which promises nothing of the kind, that is left to be supposed (`again`). A loop that does not
move the tile writes the same elements in every iteration: the tile is a buffer where steps of the same body read it in
each iteration (hazards say in which order); where none does, its elements are written twice. What is told is an element
that all reads of all iterations, one after the other, leave unread between two writes.

Source: furiosa-opt v0.6.0 (views: overlapping starts compile and leave part of the output unwritten),
docs/machines/rngd.md 7.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise, product
from math import prod

from dmaverify.program.command import counters_at
from dmaverify.program.schedule import Order
from dmaverify.program.turns import loop_values
from dmaverify.prove.flow.accesses.overwritten import read_before
from dmaverify.prove.flow.accesses.step_events import blocks_in_order
from dmaverify.prove.flow.accesses.tile_union import Digit, grid
from dmaverify.prove.flow.coverage.tile_cover import Unwritten, covers, flat_position, is_element
from dmaverify.prove.flow.coverage.tile_outputs import Output, Tiles
from dmaverify.prove.flow.coverage.tiles_elsewhere import OtherDeclarations
from dmaverify.prove.flow.coverage.tiles_twice import between, by_itself, counters_with, flat
from dmaverify.prove.flow.initialization.unwritten import StepRow, step_rows_met
from dmaverify.prove.smt import Session
from dmaverify.values import dataclass

MOST_TURNS = 1 << 20  # of a step, looked through for those that touch one element


@dataclass(frozen=True, slots=True)
class SharedElement:
    """Two tiles that share an element: iterations (values of loops) of two steps, and the position on each digit."""

    first: Tiles
    second: Tiles
    first_at: Mapping[str, int]
    second_at: Mapping[str, int]
    where: Mapping[str, int]


@dataclass(frozen=True)
class Together:
    """The judgement of one output; statuses are `proved`, `refuted`, `unknown`."""

    output: Output
    once: str
    covers: str
    twice: tuple[SharedElement, ...] = ()
    unwritten: Unwritten | None = None
    on_purpose: bool = False
    why: str = ""
    undecided: tuple[tuple[Tiles, Tiles, bool], ...] = ()  # writers of one element; whether a step may read it between
    again: tuple[tuple[int, int], ...] = ()  # steps, one of which writes the whole tensor: the second may come unread


# ---------------------------------------------------------------- judging


def judge(output: Output, order: Order, session: Session, elsewhere: OtherDeclarations) -> Together:
    """What is written twice though nobody read it in between, and what is not written at all. `elsewhere` says what
    steps do to its bytes through other declarations.
    """
    made = grid(output.digits, [t.boxes for t in output.tiles])
    twice: list[SharedElement] = []
    undecided: list[tuple[Tiles, Tiles, bool]] = []
    again: list[tuple[int, int]] = []
    apart = True
    writers = (*output.tiles, *output.wholes)
    excuse = _Excuse(output, order, elsewhere)
    for i, first in enumerate(writers):
        for second in writers[i:]:
            promised = bool(first.windows and second.windows)
            found = _twice(output, first, second, session)
            apart = apart and (found == "none" or not promised)
            answer = excuse.anew(first, found) if first is second else excuse.unread(first, second, found, session)
            if answer == "none":
                continue
            if not promised:
                late = order.step_precedes(second.step, first.step)
                again.append((second.step, first.step) if late else (first.step, second.step))
            elif isinstance(answer, SharedElement) and (shown := _shown(output, answer, order, elsewhere)) is not None:
                twice.append(shown)
            else:
                meet = isinstance(found, SharedElement) or (first is second and found != answer)
                undecided.append((first, second, meet))
    once = "refuted" if twice else "unknown" if undecided else "proved"
    covered, unwritten, why = covers(output, apart, made, elsewhere)
    on_purpose = covered != "proved" and all(one.partial for one in output.tiles)
    covered, why = ("proved", "") if on_purpose else (covered, why)
    return Together(output, once, covered, tuple(twice), unwritten, on_purpose, why, tuple(undecided), tuple(again))


def _shown(output: Output, found: SharedElement, order: Order, elsewhere: OtherDeclarations) -> SharedElement | None:
    """The first iterations in which tiles write an element again unread, where steps and iterations are done one after
    the other: what a step of a loop reads in another iteration may stand between. None may be wrong: of what is known
    to be read all is looked at, of all else that may be.
    """
    pair = (found.first,) if found.first is found.second else (found.first, found.second)
    mates = {s for s in range(len(order.of_step)) for t in pair if s != t.step and order.steps_of_one_body(s, t.step)}
    point = {digit: found.where[output.label(digit)] for digit in output.digits}
    every = [*((tiles, True) for tiles in pair), *((tiles, False) for tiles in output.reads)]
    own = {t.step for t in pair}  # what a step writes again it may have read itself
    near = mates.union(order.steps_between(found.first.step, found.second.step), own)
    open_ = sorted(near.difference(t.step for t in output.reads if elsewhere.reads_once(t.step)))
    position, blocks = flat_position(output, point), blocks_in_order(order)
    if blocks is None or not is_element(output.tensor, position) or elsewhere.may_read(output, position, open_):
        return None
    turns = {order.bodies[tiles.step]: prod(turn.count for turn in tiles.turns) for tiles, _ in every if tiles.turns}
    many = any(count > MOST_TURNS for count in turns.values())
    if (many or not mates) and mates.union(own).isdisjoint(tiles.step for tiles in output.reads):
        return found
    if many:
        return None
    place = {step: (number, at) for number, block in enumerate(blocks) for at, step in enumerate(block)}
    history = sorted(
        (place[tiles.step][0], turn, place[tiles.step][1], turn, writes, number)
        for number, (tiles, writes) in enumerate(every)
        for turn in _turns_at(tiles, point, turns.get(order.bodies[tiles.step], 1))
    )
    for (*_, one, written, first), (*_, other, again, second) in pairwise(history):
        if written and again:
            ends = [(every[number][0], turn) for number, turn in ((first, one), (second, other))]
            at = [loop_values(t.turns, counters_at([u.count for u in t.turns], turn)) for t, turn in ends]
            return SharedElement(ends[0][0], ends[1][0], at[0], at[1], found.where)
    return None


def _turns_at(tiles: Tiles, point: Mapping[Digit, int], many: int) -> Sequence[int]:
    """The numbers of the iterations, `many` together, in which a tile has an element."""
    import numpy as np

    if not tiles.windows:
        return range(many)
    counts = [turn.count for turn in tiles.turns]
    counters = np.indices(counts).reshape(len(counts), prod(counts))
    every = np.zeros(prod(counts), bool)
    for extra in product(*map(range, tiles.extra)):
        here = np.ones_like(every)
        for digit, at in point.items():
            start, length = tiles.window(digit)
            low = start.constant + sum(step * c for step, c in zip(start.steps, (*counters, *extra), strict=True))
            here &= (low <= at) & (at < low + length)
        every |= here
    return [int(number) for number in np.flatnonzero(every)]


@dataclass(frozen=True)
class _Excuse:
    """What excuses that tiles write an element again: steps that read all of it in between."""

    output: Output
    order: Order
    elsewhere: OtherDeclarations

    def anew(self, tiles: Tiles, found: SharedElement | str) -> SharedElement | str:
        """Two iterations, of which the tiles meet (`found`) or the loop does not move the tile, with an element that no
        step of the loop reads in any iteration; "none" where steps read all of the tile in each, else "unknown".
        """
        still = [i for i, turn in enumerate(tiles.turns) if turn.count > 1 and i not in tiles.moving]
        if (not still and found == "none") or self._read(tiles, tiles, in_place=found == "none"):
            return "none"
        if isinstance(found, SharedElement) or not still:
            return found
        digits, body = self.output.digits, self.order.steps_of_one_body
        readers = [r for r in self.output.reads if r.step != tiles.step and body(r.step, tiles.step)]
        point: dict[Digit, int] | str = {d: tiles.window(d)[0].constant for d in digits}
        counters: tuple[int, ...] | None = (0,) * len(tiles.turns)
        if readers:
            point = self._left_over([tiles], readers)
            counters = None if isinstance(point, str) else counters_with(digits, tiles.boxes, point)
        if isinstance(point, str) or counters is None:
            return "unknown"
        later = [1 if i == still[-1] else counter for i, counter in enumerate(counters)]
        return _element(self.output, (tiles, tiles), (counters, later), point)

    def unread(self, one: Tiles, other: Tiles, found: SharedElement | str, session: Session) -> SharedElement | str:
        """What two tiles share (`found`) less what a step between them reads; "none" where that is nothing and the
        earlier one does not come around before the other was read.
        """
        precedes, body = self.order.step_precedes, self.order.steps_of_one_body
        first, second = (other, one) if precedes(other.step, one.step) else (one, other)
        if found == "none" or not precedes(first.step, second.step):
            return found
        answer = "none" if self._read(first, second) else self._shared_less(one, other, found)
        around = body(first.step, second.step) and not self._at_once(first, second, session)
        return found if answer == "none" and around and not self._read(second, first) else answer

    def _shared_less(self, one: Tiles, other: Tiles, found: SharedElement | str) -> SharedElement | str:
        """An element of both that no step between them reads, in whatever iteration."""
        steps, body = self.order.steps_between(one.step, other.step), self.order.steps_of_one_body
        readers = [r for r in self.output.reads if r.step in steps]
        if not steps or isinstance(found, str) or any(body(r.step, t.step) for r in readers for t in (one, other)):
            return found  # what is read in other iterations is no read between two writes
        point = self._left_over([one, other], readers)
        if isinstance(point, str):
            return point
        sides = [counters_with(self.output.digits, tiles.boxes, point) for tiles in (one, other)]
        if sides[0] is None or sides[1] is None:
            return "unknown"
        return _element(self.output, (one, other), (sides[0], sides[1]), point)

    def _left_over(self, writers: Sequence[Tiles], readers: Sequence[Tiles]) -> dict[Digit, int] | str:
        """The first element that all writers have in common and no reader reads; "none" or "unknown"."""
        made = grid(self.output.digits, [t.boxes for t in (*writers, *readers)])
        if made is None:
            return "unknown"
        left = made.left(range(len(writers)), range(len(writers), len(made.covered)))
        return next((made.first(at) for at in made.cells(left)), "none")

    def _read(self, first: Tiles, second: Tiles, *, in_place: bool = False) -> bool:
        own = {first.step, second.step}.difference({second.step} if self.elsewhere.reads_once(second.step) else ())
        readers = self._readers - own
        return read_before(first, second, readers, self.order, self._has_all, in_place=in_place)

    @cached_property
    def _readers(self) -> set[int]:
        return {r.step for r in self.output.reads} | self.elsewhere.readers(self.output.tensor.tier)

    def _has_all(self, tiles: Tiles, steps: Sequence[int], every: Sequence[int]) -> bool:
        """Whether steps read all of tiles, together: as tiles of the output, or through other declarations."""
        reads = [r for r in self.output.reads if r.step in steps or (r.step in every and not r.moving)]
        boxes = [one.boxes for one in (tiles, *reads)]
        rows = [StepRow(one.step, flat(self.output.digits, one.boxes, boxes), one.turns) for one in (tiles, *reads)]
        return step_rows_met(rows[0], rows[1:], self.order) or self.elsewhere.reads_all(tiles, steps, self.order)

    def _at_once(self, first: Tiles, second: Tiles, session: Session) -> bool:
        """Whether two tiles of one loop meet in the same iteration alone."""
        still = any(turn.count > 1 and i not in first.moving for i, turn in enumerate(first.turns))
        alike = (first.windows, first.turns) == (second.windows, second.turns)
        return not still and alike and _twice(self.output, first, first, session) == "none"


def _twice(output: Output, first: Tiles, second: Tiles, session: Session) -> SharedElement | str:
    """Two tiles with a common element, "none" or "unknown"."""
    digits = output.digits
    one = first is second
    found = by_itself(digits, first.boxes) if one else between(digits, first.boxes, second.boxes, session)
    return (
        found if isinstance(found, str) else _element(output, (first, second), (found.first, found.second), found.where)
    )


def _element(
    output: Output, pair: tuple[Tiles, Tiles], counters: tuple[Sequence[int], Sequence[int]], where: Mapping[Digit, int]
) -> SharedElement:
    """An element of two tiles at the counters of both."""
    at = [loop_values(one.turns, own[: len(one.turns)]) for one, own in zip(pair, counters, strict=True)]
    return SharedElement(*pair, at[0], at[1], {output.label(digit): value for digit, value in where.items()})


def worse(one: str | None, other: str) -> str:
    order = ("proved", "unknown", "refuted")
    return max(one or "proved", other, key=order.index)
