"""Bytes that are read before anything wrote them, or that hold the unknown tail of a row.

Knows: the order of issue, what every instruction changes, loops by their period.
Does not know: machines, order in time (that is `pipes`), values.
Law: a byte counts as written only if every path to the read writes it; a refuted read names bytes that no path wrote.
What depends on symbols in a way that is not followed is said to be not judged, never passed in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dmaverify.errors import Span
from dmaverify.prove.ask import Asker
from dmaverify.prove.lifted import apart_or_alike
from dmaverify.prove.lifted import lifted as whole_loop
from dmaverify.transfer.affine import ONE, Cond, Lin, World, compare
from dmaverify.transfer.instructions import Branch, Copy, Event, Loop, Place, Touch, Use
from dmaverify.verdict import Finding, Label, Severity

NEVER, WRITTEN, TAIL, MAYBE = 0, 1, 2, 3
_PERHAPS = bytes(MAYBE if b in (NEVER, TAIL) else b for b in range(256))
PERIODS = (1, 2, 3, 4, 6, 8)
MOST_EVENTS = 20_000
MOST_PATHS = 8
PIECE = 4096  # bytes that are joined at once


@dataclass
class _Path:
    """One path: the state of every byte, symbolic writes, the conditions decided on the way."""

    bytes_: bytearray
    rows: list[Touch] = field(default_factory=list)
    facts: tuple[Cond, ...] = ()

    def copy(self) -> _Path:
        return _Path(bytearray(self.bytes_), list(self.rows), self.facts)


@dataclass
class DefiniteJudge:
    """Follows a kernel through one memory of `size` bytes (`space`)."""

    asker: Asker
    space: str
    size: int
    findings: dict[Any, Finding] = field(default_factory=dict)
    unjudged: dict[str, None] = field(default_factory=dict)
    reads: int = 0
    ordered: Sequence[str] = ()
    given: bool = False  # whether others write the memory too, and are waited for
    _taken: list[tuple[int, int]] = field(default_factory=list)
    _lifted: dict[int, list[Use] | None] = field(default_factory=dict)
    _events: int = 0
    _tails: dict[int, Span] = field(default_factory=dict)
    _bases: list[int] = field(default_factory=list)

    @property
    def world(self) -> World:
        return self.asker.world

    @property
    def status(self) -> str:
        if any(f.severity is Severity.ERROR for f in self.findings.values()):
            return "refuted"
        return "not judged" if self.unjudged else "proved"

    def judge(self, events: Sequence[Event]) -> None:
        self._bases = sorted(
            {t.place.address.const for t in _touches(events) if self._mine(t) and t.place.address.is_const}
        )
        self._run(events, [_Path(bytearray(self.size))], {})

    def _mine(self, touch: Touch) -> bool:
        return touch.place.space == self.space and not touch.place.root

    # ------------------------------------------------------------ walking

    def _run(
        self,
        events: Sequence[Event],
        paths: list[_Path],
        at: Mapping[str, Lin],
        lifted: tuple[tuple[str, Lin], ...] = (),
    ) -> list[_Path]:
        for event in events:
            if isinstance(event, Loop):
                paths = self._loop(event, paths, at, lifted)
            elif isinstance(event, Branch):
                paths = self._branch(event, paths, at, lifted)
            elif isinstance(event, (Copy, Use)):
                self._events += 1
                for path in paths:
                    self._access(event, path, at, lifted)
        return paths

    def _branch(
        self, event: Branch, paths: list[_Path], at: Mapping[str, Lin], lifted: tuple[tuple[str, Lin], ...]
    ) -> list[_Path]:
        when = self.world.put_cond(event.when, at)
        out: list[_Path] = []
        for path in paths:
            other = path.copy()
            sides = ((path, when, event.then), (other, when.negated(), event.other))
            for one, condition, body in sides:
                if self._feasible(one, condition):
                    out += self._run(body, [self._assuming(one, condition)], at, lifted)
        return self._joined(out) if len(out) > MOST_PATHS else out

    def _joined(self, paths: list[_Path]) -> list[_Path]:
        first = paths[0]
        for other in paths[1:]:
            if first.bytes_ != other.bytes_:
                first.bytes_ = _either(first.bytes_, other.bytes_)
            first.rows = [r for r in first.rows if r in other.rows]
        return [_Path(first.bytes_, first.rows)]

    def _loop(
        self, loop: Loop, paths: list[_Path], at: Mapping[str, Lin], lifted: tuple[tuple[str, Lin], ...]
    ) -> list[_Path]:
        trip = self.world.put(loop.trip, at)
        if trip.is_const and trip.const > 0 and (uses := self._whole(loop)) is not None:
            return self._run(uses, paths, at, lifted)
        period = self._period(loop, at)
        if trip.is_const and (
            trip.const <= 2 * (period or 0)
            or (trip.const * _size(loop.body) + self._events <= MOST_EVENTS and not lifted)
        ):
            for step in range(max(0, trip.const)):
                paths = self._renewed(loop, self._run(loop.body, paths, {**at, loop.counter: Lin(step)}, lifted))
            return paths
        if period is None:
            return self._renewed(loop, self._run(loop.body, paths, at, (*lifted, (loop.counter, trip))))
        ends: list[_Path] = []
        for step in range(2 * period + 1):
            over = compare("le", trip - step)
            ends += [self._assuming(p.copy(), over) for p in paths if self._feasible(p, over)]
            if step == 2 * period:
                break
            paths = [self._assuming(p, over.negated()) for p in paths if self._feasible(p, over.negated())]
            paths = self._renewed(loop, self._run(loop.body, paths, {**at, loop.counter: Lin(step)}, lifted))
        ends = ends or paths
        return self._joined(ends) if len(ends) > 1 else ends

    def _whole(self, loop: Loop) -> list[Use] | None:
        """A loop of accesses as one of each, where their order does not matter to what is written before what."""
        if id(loop) not in self._lifted:
            uses = whole_loop(loop, self.world, self.ordered)
            self._lifted[id(loop)] = uses if uses is not None and apart_or_alike(uses, self.world) else None
        return self._lifted[id(loop)]

    def _renewed(self, loop: Loop, paths: list[_Path]) -> list[_Path]:
        """Behind an iteration: what was said of values that the next one may change holds no more."""
        for path in paths:
            path.facts = tuple(f for f in path.facts if not self.world.changes(f, (loop.counter,)))
            lost = [r for r in path.rows if any(self.world.changes(t, (loop.counter,)) for t in _terms(r))]
            path.rows = [r for r in path.rows if r not in lost]
            for touch in lost:
                low, high = self._range(touch)
                path.bytes_[low:high] = path.bytes_[low:high].translate(_PERHAPS)
        return paths

    def _assuming(self, path: _Path, condition: Cond) -> _Path:
        if condition.known is None and condition not in path.facts:
            path.facts = (*path.facts, condition)
        return path

    def _feasible(self, path: _Path, condition: Cond) -> bool:
        decided = self.world.decide(condition)
        if decided is not None:
            return decided
        return self.asker.possible([*path.facts, condition]).status != "proved"

    def _period(self, loop: Loop, at: Mapping[str, Lin]) -> int | None:
        """After how many iterations the memory of this judge is touched in the same places again."""
        terms = [
            t
            for touch in _touches(loop.body)
            if self._mine(touch)
            for t in (touch.place.address, touch.offset, touch.length, *(x for s in touch.steps for x in s))
        ]
        terms = [self.world.put(t, {k: v for k, v in at.items() if k != loop.counter}) for t in terms]
        for period in PERIODS:
            rounds = Lin(0, ((loop.counter, period),))
            if all(
                self.world.put(t, {loop.counter: rounds + step}) == self.world.put(t, {loop.counter: Lin(step)})
                for t in terms
                for step in range(period)
            ):
                return period
        return None

    # ------------------------------------------------------------ accesses

    def _access(
        self, event: Copy | Use, path: _Path, at: Mapping[str, Lin], lifted: tuple[tuple[str, Lin], ...]
    ) -> None:
        touches = [self._put(t, at, lifted) for t in event.touches if self._mine(t)]
        for touch in touches:
            if touch.kind == "read":
                self._read(touch, event, path)
        for touch in touches:
            if touch.writes:
                self._write(touch, event, path)

    def _put(self, touch: Touch, at: Mapping[str, Lin], lifted: tuple[tuple[str, Lin], ...]) -> Touch:
        world = self.world
        address, steps = (
            world.put(touch.place.address, at),
            [(world.put(c, at), world.put(s, at)) for c, s in touch.steps],
        )
        for counter, trip in lifted:
            factor = dict(address.terms).get(counter, 0)
            address = address - Lin(0, ((counter, factor),)) if factor else address
            steps.append((trip, Lin(factor)))
        place = Place(touch.place.space, touch.place.root, address, touch.place.item_bytes, touch.place.dtype)
        offset, length = world.put(touch.offset, at), world.put(touch.length, at)
        return Touch(touch.kind, place, offset, length, tuple(steps), touch.pattern)

    def _rows(self, touch: Touch) -> list[tuple[int, int]] | None:
        """(start, end) of every row, rows that touch merged; None where a number is a symbol."""
        if not all(x.is_const for x in (touch.place.address, touch.offset, touch.length)):
            return None
        spans = [(touch.place.address.const + touch.offset.const,) * 2]
        start = spans[0][0]
        starts, length = [start], touch.length.const
        for count, stride in touch.steps:
            if not count.is_const or not stride.is_const:
                return None
            if count.const > 1 and stride.const == length and len(starts) == 1:
                length *= count.const
                continue
            if len(starts) * max(1, count.const) > 1 << 16:
                return None
            starts = [s + stride.const * i for i in range(max(0, count.const)) for s in starts]
        return [(max(0, s), min(self.size, s + length)) for s in starts]

    def _write(self, touch: Touch, event: Copy | Use, path: _Path) -> None:
        state = TAIL if touch.kind == "unknown" else WRITTEN
        if touch.length == Lin(0) and isinstance(event, Use):
            start = touch.place.address
            if start.is_const:
                end = next((b for b in self._bases if b > start.const), self.size)
                _set(path.bytes_, max(0, start.const), end, WRITTEN)
            else:
                _set(path.bytes_, 0, self.size, WRITTEN)
            return
        rows = self._rows(touch)
        if rows is None:
            if touch.kind == "unknown":
                self._blur(touch, path)
            elif touch not in path.rows:
                path.rows.append(touch)
            return
        for first, end in rows:
            _set(path.bytes_, first, end, state)
            if state == TAIL:
                self._tails[first] = event.span

    def _blur(self, touch: Touch, path: _Path) -> None:
        low, high = self._range(touch)
        path.bytes_[low:high] = path.bytes_[low:high].replace(bytes([WRITTEN]), bytes([MAYBE]))
        path.rows = [r for r in path.rows if r.place == touch.place]

    def _range(self, touch: Touch) -> tuple[int, int]:
        """Bytes that a touch can reach at most."""
        low: Lin = touch.place.address + touch.offset
        high = low + touch.length
        for count, stride in touch.steps:
            high = high + self.world.times(count - ONE, stride)
        first, last = self.world.interval(low)[0], self.world.interval(high)[1]
        return max(0, first or 0), self.size if last is None else min(self.size, max(0, last))

    def _read(self, touch: Touch, event: Copy | Use, path: _Path) -> None:
        if touch.length == Lin(0):
            return
        self.reads += 1
        rows = self._rows(touch)
        if rows is None:
            low, high = self._range(touch)
            covered = low < high and path.bytes_.count(WRITTEN, low, high) == high - low
            if not covered and not any(self._holds(touch, row, (*path.facts, *event.when)) for row in path.rows):
                self.unjudged[f"line {event.span.line}"] = None
            return
        for start, end in rows:
            if self.given:
                self._take(path.bytes_, start, end)
            if path.bytes_.count(WRITTEN, start, end) == max(0, end - start):
                continue
            if any(self._holds(touch, row, (*path.facts, *event.when)) for row in path.rows):
                continue
            surely = [at for at in range(start, end) if path.bytes_[at] in (NEVER, TAIL)]
            if surely and not path.rows:
                self._found(event, surely[0], path.bytes_[surely[0]], len(surely))
            else:
                self.unjudged[f"line {event.span.line}"] = None
            return

    def _take(self, memory: bytearray, start: int, end: int) -> None:
        """Bytes that nothing here wrote count as written by others."""
        while start < end and (start := memory.find(NEVER, start, end)) >= 0:
            behind = next((at for at in range(start, end) if memory[at] != NEVER), end)
            _set(memory, start, behind, WRITTEN)
            self._taken.append((start, behind))
            start = behind

    @property
    def taken(self) -> list[tuple[int, int]]:
        """Bytes that were taken as written by others, first and first behind, in order."""
        out: list[tuple[int, int]] = []
        for start, end in sorted(self._taken):
            if out and start <= out[-1][1]:
                out[-1] = (out[-1][0], max(end, out[-1][1]))
            else:
                out.append((start, end))
        return out

    def _holds(self, read: Touch, write: Touch, when: Sequence[Cond]) -> bool:
        """Whether rows written before hold the rows read: the same nest, or fewer of its rows, each no longer."""
        if read.place.memory != write.place.memory or len(read.steps) > len(write.steps):
            return False
        gap = read.place.address + read.offset - write.place.address - write.offset
        claims = [compare("le", -gap), compare("le", gap + read.length - write.length)]
        if any(self.world.decide(claim) is False for claim in claims):
            return False
        steps = dict.fromkeys(write.steps)
        for count, stride in read.steps:
            same = next(
                (
                    (c, s)
                    for c, s in steps
                    if s == stride
                    and (c == count or self.asker.holds(compare("le", count - c), when).status == "proved")
                ),
                None,
            )
            if same is None and count != ONE:
                return False
        return all(self.asker.holds(claim, when).status == "proved" for claim in claims)

    def _found(self, event: Copy | Use, at: int, kind: int, count: int) -> None:
        error = isinstance(event, Copy)
        key = (event.span.start, kind)
        if key in self.findings:
            return
        what = "hold the unknown rest of a block" if kind == TAIL else "nothing wrote"
        labels: tuple[Label, ...] = ()
        tail = max((s for s in self._tails if s <= at), default=None)
        if kind == TAIL and tail is not None:
            labels = (Label(self._tails[tail], "leaves the rest of its last block unknown"),)
        pipe = event.pipe
        self.findings[key] = Finding(
            "core/definite",
            Severity.ERROR if error else Severity.WARNING,
            f"{pipe} reads bytes of {self.space.upper()} that {what}, the first at {at:,}"
            + (f" ({count:,} in this row)" if count > 1 else ""),
            "source",
            event.span,
            {"first": at, "count": count},
            None,
            "",
            "documented" if error else "inferred",
            "load the rows whole, pad them, or store fewer bytes"
            if error
            else "mask the lanes behind the data, or pad the rows",
            (),
            labels,
        )


def _either(one: bytearray, two: bytearray) -> bytearray:
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


def _set(memory: bytearray, start: int, end: int, state: int) -> None:
    if end > start:
        memory[start:end] = bytes([state]) * (end - start)


def _touches(events: Sequence[Event]) -> Iterable[Touch]:
    for event in events:
        if isinstance(event, (Copy, Use)):
            yield from event.touches
        elif isinstance(event, Loop):
            yield from _touches(event.body)
        elif isinstance(event, Branch):
            yield from _touches(event.then)
            yield from _touches(event.other)


def _terms(touch: Touch) -> Iterable[Lin]:
    yield from (touch.place.address, touch.offset, touch.length)
    for step in touch.steps:
        yield from step


def _size(events: Sequence[Event]) -> int:
    total = 0
    for event in events:
        inner = (
            event.body if isinstance(event, Loop) else (*event.then, *event.other) if isinstance(event, Branch) else ()
        )
        total += 1 + _size(inner)
    return total
