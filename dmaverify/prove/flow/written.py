"""States of the bytes of one memory on one path: never written, written, garbage that was written, perhaps written.

Knows: what one access changes, rows over symbols, what registers were loaded with.
Does not know: reads (that is `reads`), the order of events, loops (that is `definite`), machines.
Law: a byte counts as written only where it surely is; where that is lost, it is put down by what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

from dmaverify.errors import Span
from dmaverify.language.affine import ZERO, Cond, Lin, World
from dmaverify.program.instructions import Arrival, Copy, CopyTouch, Event, Shared, StoredSource, Use
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.ask import Asker
from dmaverify.prove.flow.covered import Lifted
from dmaverify.prove.flow.lifted import ends_of, rows_apart
from dmaverify.prove.flow.loops import At
from dmaverify.prove.flow.reached import placed, terms_of
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding

NEVER, WRITTEN, TAIL, MAYBE = 0, 1, 2, 3
PERHAPS = bytes([MAYBE, WRITTEN, MAYBE, MAYBE]) + bytes(range(4, 256))
MOST_ROWS = 4096  # of a copy within the memory that are followed one by one
PIECE = 4096  # bytes that are joined at once


@dataclass(frozen=True)
class LoadedBytes:
    """What a load took: whether all of it surely was written; else the states of its bytes from `start`, if known."""

    sure: bool
    states: bytes | None = None
    span: Span | None = None
    start: int = 0


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
    _worst: dict[int, LoadedBytes] = field(default_factory=dict)  # of every load so far, on any path
    _made: dict[int, tuple[Span, LoadedBytes]] = field(
        default_factory=dict
    )  # garbage that a store left, by its first byte
    _brought: dict[int, Span] = field(default_factory=dict)  # copies by where they stop

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

    def _forget(self, path: Path, touch: CopyTouch, own: Sequence[CopyTouch] = ()) -> None:
        """Rows that this may spoil are no more known to be written, but for those that the same access writes anew."""
        lost = [r for r in path.rows if r not in own and not self._beside(r, touch)]
        path.rows = [r for r in path.rows if r not in lost]
        path.whole = [r for r in path.whole if self._beside(r, touch)]
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

    # ------------------------------------------------------------ registers

    def _loaded(self, event: Use, touches: Sequence[CopyTouch], path: Path, *, sure: bool) -> None:
        """What registers are loaded with: the states of the bytes of a load of one row, if its address is a number."""
        states, at = None, 0
        spans = [] if sure else [self._rows(t) for t in touches if not t.open and not t.steps]
        rows = [row for span in spans for row in span or ()]
        if rows and len(rows) == len(touches):
            at, end = min(a for a, _ in rows), max(b for _, b in rows)
            states = bytes(path.bytes_[at:end])
            if any(self._reach(row, touch) for row in (*path.rows, *path.whole) for touch in touches):
                states = states.translate(PERHAPS)
        held = LoadedBytes(sure, states, event.span, at)
        before = self._worst.get(event.load)
        self._worst[event.load] = held if before is None or before.sure else before if sure else LoadedBytes(False)
        path.loads[event.load] = held

    def _stores_garbage(self, event: Use, touches: Sequence[tuple[CopyTouch, CopyTouch]], path: Path, at: At) -> bool:
        """Whether a store of registers may store what nothing wrote; what it then leaves behind is put down."""
        held = [(s, self._of(s, path, once=bool(at.lifted))) for s in event.sources]
        held = [(s, h) for s, h in held if not h.sure]
        if not held or self.trusting:
            return False
        self.doubts += 1
        for _, touch in touches:
            if not touch.writes:
                continue
            self._lost.append(touch)
            self._forget(path, touch)
            states = self._computed(event, touch, held, at.counters)
            start = touch.place.address + touch.offset
            if states is None or not start.is_const or start.const < 0:
                for first, end in self._possible(touch):
                    put_state(path.bytes_, first, end, MAYBE)
                    self._doubt((first, end), event, _taken(held))
                continue
            end = min(self.size, start.const + len(states))
            path.bytes_[start.const : end] = states[: end - start.const]
            self._doubt((start.const, end), event, _taken(held))
            if TAIL in states:
                because = next((h for s, h in held if h.states is not None), LoadedBytes(False))
                self._made[start.const] = (event.span, because)
        return True

    def _copies_garbage(self, event: Copy, touches: Sequence[tuple[CopyTouch, CopyTouch]], path: Path, at: At) -> bool:
        """Puts down what a copy within the memory hands on that may be nothing that was written, byte by byte where all
        its rows are numbers.
        """
        reads, writes = [t for _, t in touches if not t.writes], [t for _, t in touches if t.writes]
        if self.trusting or not reads or not writes:
            return False
        self.doubts += 1
        spans = None if at.lifted or len(touches) > 2 else self._moved(reads[0], writes[0])
        held = [(start, end, bytes(path.bytes_[start:end])) for start, end, _ in spans or ()]
        unsure = any(self._reach(row, reads[0]) for row in (*path.rows, *path.whole))
        for touch in writes:
            self._lost.append(touch)
            self._forget(path, touch)
            for first, end in self._possible(touch) if spans is None else ():
                put_state(path.bytes_, first, end, MAYBE)
                self._doubt((first, end), event, "not all that it copies surely was written")
        for (start, _, states), (_, _, to) in zip(held, spans or (), strict=True):
            states = states.translate(PERHAPS) if unsure else states.replace(bytes([NEVER]), bytes([TAIL]))
            path.bytes_[to : to + len(states)] = states
            if TAIL in states:
                self._made[to] = (event.span, LoadedBytes(False, states, event.span, start))
            if MAYBE in states:
                self._doubt((to, to + len(states)), event, "not all that it copies surely was written")
        return True

    def _moved(self, read: CopyTouch, write: CopyTouch) -> list[tuple[int, int, int]] | None:
        """Where each row of a copy begins and ends, and where it is put; None where these are not all numbers within
        the memory.
        """
        numbers = [*terms_of(read), *terms_of(write)]
        counts = [count for count, _ in read.steps]
        if not all(n.is_const for n in numbers) or counts != [count for count, _ in write.steps]:
            return None
        if prod(max(0, n.const) for n in counts) > MOST_ROWS or read.length != write.length:
            return None
        starts = [(read.place.address + read.offset, write.place.address + write.offset)]
        for (count, stride), (_, other) in zip(read.steps, write.steps, strict=True):
            starts = [(a + stride * i, b + other * i) for i in range(count.const) for a, b in starts]
        spans = [(a.const, a.const + read.length.const, b.const) for a, b in starts]
        inside = all(0 <= a <= end <= self.size and 0 <= b <= self.size - (end - a) for a, end, b in spans)
        return spans if inside else None

    def _of(self, source: StoredSource, path: Path, *, once: bool) -> LoadedBytes:
        """What a load took; of one of earlier iterations nothing before the first, unless all are followed at once."""
        if source.past and source.load > 0:
            return self._worst.get(source.load, LoadedBytes(not once))
        return path.loads.get(source.load, LoadedBytes(False))

    def _computed(
        self, event: Use, touch: CopyTouch, held: Sequence[tuple[StoredSource, LoadedBytes]], at: Mapping[str, Lin]
    ) -> bytes | None:
        """The state of every byte that a store of one row writes; None where that is not known of each."""
        if touch.steps or touch.open or touch.kind != "data" or not touch.length.is_const:
            return None
        out = bytearray([WRITTEN]) * max(0, touch.length.const)
        for source, load in held:
            put = None if source.limit is None else self.world.put(source.limit, at)
            limit = put.const if put is not None and put.is_const else None
            last, found = -1, WRITTEN
            for index in range(len(out)):
                place = index * event.per // event.bytes
                if place != last:
                    last, found = place, _state_of(place, event, source, load, limit)
                    found = MAYBE if found == TAIL and limit is None and put is not None else found
                if found == TAIL or (found == MAYBE and out[index] == WRITTEN):
                    out[index] = found
        return bytes(out)

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


def _taken(held: Sequence[tuple[StoredSource, LoadedBytes]]) -> str:
    """What is not known of the loads that a store comes from."""
    lines = sorted({load.span.line for _, load in held if load.span is not None})
    if not lines:
        return "what it stores comes from operations or rounds that are not followed"
    return f"of what is loaded at line {lines[0]} not all surely was written, or not all lanes are followed"


def _state_of(place: int, event: Use, source: StoredSource, load: LoadedBytes, limit: int | None) -> int:
    """The state of a byte of a register, as far as one of its sources decides it."""
    if load.states is None:
        return MAYBE
    if not source.unit:
        end = len(load.states) if limit is None else max(0, limit) * source.bytes // source.per
        group = load.states[:end]
        garbage = place < source.first and any(s in (NEVER, TAIL) for s in group)
    elif limit is not None and place >= limit:
        return WRITTEN
    else:
        unit = max(source.unit, -(-event.per // event.bytes))
        first = place // unit * unit * source.bytes // source.per
        group = load.states[first : -(-(place // unit + 1) * unit * source.bytes // source.per)]
        garbage = any(s in (NEVER, TAIL) for s in group)  # a part of an element
    if group.count(WRITTEN) == len(group) and (group or limit is not None):
        return WRITTEN
    return TAIL if garbage and source.plain else MAYBE


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
    numbers = (one.offset, one.length, two.offset, two.length)
    if one.place.address != two.place.address or one.steps != two.steps or not all(n.is_const for n in numbers):
        return False
    ends = [(t.offset.const, t.offset.const + t.length.const) for t in (one, two)]
    beside = ends[0][1] <= ends[1][0] or ends[1][1] <= ends[0][0]
    return beside and rows_apart(one.steps, Lin(max(e for _, e in ends) - min(s for s, _ in ends)), world)


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
