"""States of the bytes of one memory on one path: never written, written, garbage that was written, perhaps written.

Knows: what one access changes, rows over symbols, what registers were loaded with.
Does not know: reads (that is `reads`), the order of events, loops (that is `definite`), machines.
Law: a byte counts as written only where it surely is; where that is lost, it is put down by what.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dmaverify.errors import Span
from dmaverify.language.affine import ZERO, Cond, Lin, World, compare
from dmaverify.program.instructions import Arrival, Copy, CopyTouch, Event, Shared, Use
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.covered import Lifted
from dmaverify.prove.flow.accesses.lifted import ends_of, rows_apart
from dmaverify.prove.flow.accesses.loops import At
from dmaverify.prove.flow.accesses.reached import placed, reach_of
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding

NEVER, WRITTEN, TAIL, MAYBE = 0, 1, 2, 3
PERHAPS = bytes([MAYBE, WRITTEN, MAYBE, MAYBE]) + bytes(range(4, 256))
PIECE = 4096  # bytes that are joined at once


@dataclass(frozen=True)
class LoadedBytes:
    """What a load took: whether all of it surely was written; else the states of its bytes from `start`, if known, or
    how many of its first bytes surely were (none where that is negative, all where it is more than there are).
    """

    sure: bool
    states: bytes | None = None
    span: Span | None = None
    start: int = 0
    first: Lin | None = None


@dataclass
class Path:
    """One path: the state of every byte, writes that depend on symbols, the conditions decided on the way.

    `whole` are writes of all iterations of loops of which each iteration is in `bytes_` and `rows` as well; `loads`
    what registers were loaded with, by the number of the load.
    """

    bytes_: bytearray
    rows: list[CopyTouch] = field(default_factory=list)
    facts: tuple[Cond, ...] = ()
    whole: list[CopyTouch] = field(default_factory=list)
    loads: dict[int, LoadedBytes] = field(default_factory=dict)

    def copy(self) -> Path:
        return Path(bytearray(self.bytes_), list(self.rows), self.facts, list(self.whole), dict(self.loads))


@dataclass
class WrittenBytes:
    """Follows accesses through one memory of `size` bytes (`space`)."""

    asker: Asker
    space: str
    size: int
    findings: dict[Any, Finding] = field(default_factory=dict)
    unjudged: dict[str, None] = field(default_factory=dict)
    reads: int = 0
    ordered: Sequence[str] = ()
    given: Sequence[Shared] = ()  # what another core does
    arrivals: dict[str, Arrival] = field(default_factory=dict)
    trusting: bool = False  # what is stored is taken for written
    numbers: set[str] = field(default_factory=set)  # symbols that what the kernel does depends on
    doubtful: dict[tuple[int, int, str], None] = field(default_factory=dict)  # bytes that are perhaps written, and why
    doubts: int = 0  # stores of which it is not sure that they store what was written
    _tails: dict[int, Span] = field(default_factory=dict)
    _bases: list[int] = field(default_factory=list)
    _lost: list[CopyTouch] = field(default_factory=list)
    _beyond: tuple[CopyTouch, ...] = ()  # what other iterations write, where one stands for all
    _running: frozenset[Lin] = frozenset()  # how often loops run that do, where one iteration stands for all
    _counters: frozenset[str] = frozenset()
    _loops: dict[int, tuple[CopyTouch, Lifted, CopyTouch]] = field(default_factory=dict)
    _before: dict[str, set[int]] = field(default_factory=dict)  # rows that were there when a loop began, by its counter
    _worst: dict[int, LoadedBytes] = field(default_factory=dict)  # of every load so far, on any path
    _made: dict[int, tuple[Span, LoadedBytes]] = field(
        default_factory=dict
    )  # garbage that a store left, by its first byte
    _brought: dict[int, Span] = field(default_factory=dict)  # copies by where they stop
    _lengths: Sequence[Lin] = ()  # of what copies move in one row, where symbols tell them

    @property
    def world(self) -> World:
        return self.asker.world

    def _mine(self, touch: CopyTouch) -> bool:
        return touch.place.space == self.space and not touch.place.root

    def _kept(self, rows: Sequence[CopyTouch], lost: Sequence[CopyTouch]) -> list[CopyTouch]:
        """Rows of which no iteration makes a byte unknown, in whatever order they come."""
        return [r for r in rows if all(self._beside(r, t) or interleaved(r, t, self.world) for t in lost)]

    def _beside(self, row: CopyTouch, touch: CopyTouch) -> bool:
        (low, high), (first, end) = self._range(row), self._range(touch)
        return high <= first or end <= low

    def _apart(self, row: CopyTouch, touch: CopyTouch, when: Sequence[Cond]) -> bool:
        """Whether one ends before the other begins, also where symbols tell from where to where they reach."""
        if self._beside(row, touch) or interleaved(row, touch, self.world):
            return True
        if row.open or touch.open:
            return False
        starts = [one.place.address + one.offset for one in (row, touch)]
        (low, high), (first, end) = reach_of(row, self.world), reach_of(touch, self.world)
        gaps = (starts[0] + high - starts[1] - first, starts[1] + end - starts[0] - low)
        return any(self.asker.surely(compare("le", gap), when) for gap in gaps)

    def _forget(self, path: Path, touch: CopyTouch, own: Sequence[CopyTouch] = ()) -> None:
        """Rows that this may spoil are no more known to be written, but for those that the same access writes anew."""
        self._keep(path, [r for r in path.rows if r in own or self._apart(r, touch, path.facts)])
        path.whole = [r for r in path.whole if self._beside(r, touch)]

    def _keep(self, path: Path, rows: list[CopyTouch]) -> None:
        """These rows alone are known to be written from here on, the others perhaps."""
        kept = set(map(id, rows))
        lost, path.rows = [row for row in path.rows if id(row) not in kept], rows
        for row in lost:
            self._perhaps(row, path)

    def _perhaps(self, touch: CopyTouch, path: Path) -> None:
        """What this wrote is no more known to be written."""
        low, high = self._range(touch)
        path.bytes_[low:high] = path.bytes_[low:high].translate(PERHAPS)

    def _put(self, touch: CopyTouch, at: At) -> CopyTouch:
        """A touch in its iteration; of loops that are one for all, with all of theirs as levels more."""
        made = placed(touch, self.world, at.counters)
        address, steps = made.place.address, made.steps
        for counter, trip in at.lifted:
            factor = dict(address.terms).get(counter, 0)
            address = address - Lin(0, ((counter, factor),)) if factor else address
            steps = (*steps, (trip, Lin(factor)))
        return replace(made, place=replace(made.place, address=address), steps=steps) if at.lifted else made

    def _rows(self, touch: CopyTouch) -> list[tuple[int, int]] | None:
        """(start, end) of every row, rows that touch merged; None where a number is a symbol."""
        if not all(x.is_const for x in (touch.place.address, touch.offset, touch.length)):
            return None
        spans = [(touch.place.address.const + touch.offset.const,) * 2]
        start = spans[0][0]
        starts, length = [start], touch.length.const
        for count, stride in touch.steps:
            if stride == ZERO and (count in self._running or (count.is_const and count.const > 0)):
                continue  # the same rows in each iteration
            if not count.is_const or not stride.is_const:
                return None
            if count.const > 1 and stride.const == length and len(starts) == 1:
                length *= count.const
                continue
            if len(starts) * max(1, count.const) > 1 << 16:
                return None
            starts = [s + stride.const * i for i in range(max(0, count.const)) for s in starts]
        ends = [(max(0, s), min(self.size, s + length)) for s in starts]
        return [(low, max(low, high)) for low, high in ends]  # none of it in the memory: an empty row

    def _write(self, touch: CopyTouch, event: Copy | Use, path: Path) -> None:
        state = TAIL if touch.kind == "unknown" else WRITTEN
        if touch.kind == "maybe":
            for first, end in self._possible(touch):
                path.bytes_[first:end] = path.bytes_[first:end].translate(PERHAPS)
                self._doubt((first, end), event, touch.why or "which of them is not known")
            return
        if state == TAIL and touch.why:
            self._doubt(self._range(touch), event, touch.why)
        later = self._loops[id(touch)][1]  # rows of iterations that are still to come
        moves = any(stride != ZERO for _, stride in touch.steps[len(touch.steps) - len(later) :]) if later else False
        rows = None if moves else self._rows(touch)
        if rows is None:
            if touch.kind == "unknown":
                self._blur(touch, path)
            elif touch not in path.rows:
                path.rows.append(touch)
            return
        for first, end in rows:
            put_state(path.bytes_, first, end, state)
            self._made.pop(first, None)
            if isinstance(event, Copy):
                self._tails.pop(first, None)
                self._brought[end] = event.span
            if state == TAIL:
                self._tails[first] = event.span

    def _possible(self, touch: CopyTouch) -> list[tuple[int, int]]:
        """Bytes that a touch may change, of which none surely is."""
        if touch.open:
            start = touch.place.address
            first = max(0, start.const) if start.is_const else 0
            return [(first, next((b for b in self._bases if b > first), self.size) if start.is_const else self.size)]
        return self._rows(touch) or [self._range(touch)]

    def _blur(self, touch: CopyTouch, path: Path) -> None:
        low, high = self._range(touch)
        path.bytes_[low:high] = path.bytes_[low:high].replace(bytes([WRITTEN]), bytes([MAYBE]))

    def _range(self, touch: CopyTouch) -> tuple[int, int]:
        """Bytes that a touch can reach at most."""
        low, end = ends_of(touch, self.world)
        return max(0, low or 0), self.size if end is None else min(self.size, max(0, end))

    def _doubt(self, span: tuple[int, int], event: Copy | Use, why: str) -> None:
        """That from here on it is not known whether bytes are written."""
        what = event.what if isinstance(event, Use) else f"a {event.kind}"
        key = (*span, f"{what} at line {event.span.line}: {why}")
        self.doubtful.pop(key, None)
        self.doubtful[key] = None

    def _reach(self, row: CopyTouch, touch: CopyTouch) -> bool:
        (low, high), (first, end) = self._range(row), self._range(touch)
        return low < end and first < high


def either(one: bytearray, two: bytearray) -> bytearray:
    """The state of every byte where both agree, else MAYBE (which is 3: both bits of a state)."""
    out = bytearray(one)
    for start in range(0, len(one), PIECE):
        mine, theirs = one[start : start + PIECE], two[start : start + PIECE]
        if mine != theirs:
            left = int.from_bytes(mine, "little")
            differ = left ^ int.from_bytes(theirs, "little")
            differ = (differ | differ >> 1) & int.from_bytes(b"\1" * len(mine), "little")
            out[start : start + PIECE] = (left | differ | differ << 1).to_bytes(len(mine), "little")
    return out


def put_state(memory: bytearray, start: int, end: int, state: int) -> None:
    if end > start:
        memory[start:end] = bytes([state]) * (end - start)


def limits_in(events: Iterable[Event]) -> list[Lin]:
    """Numbers from which on bytes of registers that are stored depend on nothing, of all stores, loops included."""
    uses = [event for event in every(tuple(events)) if isinstance(event, Use)]
    return [source.limit for event in uses for source in event.sources if source.limit is not None]


def interleaved(one: CopyTouch, two: CopyTouch, world: World) -> bool:
    """Whether the rows of two touches of one nest lie one beside the other."""
    if one.place.memory != two.place.memory or one.steps != two.steps:
        return False
    for first, then in ((one, two), (two, one)):
        between = then.place.address + then.offset - first.place.address - first.offset
        least = [world.interval(n)[0] for n in (between - first.length, first.length, then.length)]
        if all(n is not None and n >= 0 for n in least):
            return rows_apart(one.steps, between + then.length, world)
    return False


def joined_loads(paths: Sequence[Path]) -> dict[int, LoadedBytes]:
    """What registers hold on all of these paths."""
    out = dict(paths[0].loads)
    for path in paths[1:]:
        for number, held in path.loads.items():
            if held != out.setdefault(number, held):
                out[number] = LoadedBytes(held.sure and out[number].sure)
    return out


def alike(one: Path, two: Path) -> bool:
    """Whether two paths are in the same state, whatever holds on them."""
    return one.bytes_ == two.bytes_ and one.rows == two.rows and one.whole == two.whole
