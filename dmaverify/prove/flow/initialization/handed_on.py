"""Definite initialization through registers and local copies: what they hand on of bytes that may be unwritten.

Knows: which rows written before hold what is read, what registers were loaded with, up to where that was written.
Does not know: findings, the order of events, loops (that is `definite`), machines.
Law: a stored byte counts as written only where all that it comes from surely was; of others nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from dmaverify.language.affine import ONE, ZERO, Cond, Lin, compare
from dmaverify.program.instructions import Copy, CopyTouch, StoredSource, Use
from dmaverify.prove.flow.accesses.covered import Lifted, holds_all, holds_in_turn, runs_around
from dmaverify.prove.flow.accesses.loops import At
from dmaverify.prove.flow.accesses.reached import terms_of
from dmaverify.prove.flow.initialization.written import (
    MAYBE,
    NEVER,
    PERHAPS,
    TAIL,
    WRITTEN,
    LoadedBytes,
    Path,
    WrittenBytes,
    put_state,
)  # fmt: skip
from dmaverify.values import dataclass, replace

MOST_ROWS = 4096  # of a copy within the memory that are followed one by one

MOST_APART = 16  # of a read that rows hold one by one


@dataclass
class HandedOn(WrittenBytes):
    """Follows what is handed on through one memory."""

    def _held(self, touch: CopyTouch, plain: tuple[CopyTouch, Lifted], event: Copy | Use, path: Path) -> bool:
        """Whether rows written before hold all that is read, one of them or one behind the other; loops around both are
        at one iteration.
        """
        when, runs, abreast = (*path.facts, *event.when), list[tuple[Lin, Lin]](), list[tuple[Lin, Lin]]()
        steps = [level for level in plain[0].steps if level[0] != ONE]
        start = plain[0].place.address + plain[0].offset
        for row, own, read in self._rows_before(touch, plain, when, path):
            if any(holds_all(self.asker, one, row, own, when, alike=one is read) for one in (read, plain[0])):
                return True
            runs += runs_around(self.asker, row, own, start, when)
            abreast += runs_around(self.asker, row, own, start, when, steps) if steps else ()
        if start.is_const and 0 <= start.const < self.size:
            reached = path.bytes_[start.const : self._range(plain[0])[1]]
            runs.append((start, start + (len(reached) - len(reached.lstrip(bytes([WRITTEN]))))))
        ways = ((plain[0], runs), (replace(plain[0], steps=()), abreast))  # all its rows, or one of them for all
        if any(some and not touch.open and holds_in_turn(self.asker, read, some, when) for read, some in ways):
            return True
        rows = [] if plain[1] or touch.open else _rows_of(plain[0])
        return len(rows) > 1 and all(self._held(row, (row, ()), event, path) for row in rows)

    def _rows_before(
        self, touch: CopyTouch, plain: tuple[CopyTouch, Lifted], when: Sequence[Cond], path: Path
    ) -> Iterator[tuple[CopyTouch, Lifted, CopyTouch]]:
        """Rows written before, the loops that they have had all rounds of, and what is read beside one of them."""
        low, high = self._range(touch)
        for row in (*path.rows, *path.whole):
            if low < high and self._beside(row, touch):
                continue
            _, loops, written = self._loops[id(row)]
            common = self._same_turn(row, plain[1])
            own = tuple(loop for loop in loops if loop[0] not in common)
            if common:
                others = tuple(loop for loop in plain[1] if loop[0] not in common)
                yield self._put(written, At({}, (), own)), own, self._put(plain[0], At({}, (), others))
            else:
                yield row, own, touch

    def _same_turn(self, row: CopyTouch, around: Lifted) -> set[str]:
        """The loops around a read of which a row has the iteration that reads alone: it was written in this run of
        them, not in an earlier one.
        """
        loops = dict(self._loops[id(row)][1])
        return {name for name, _ in around if name in loops and id(row) not in self._before.get(name, ())}

    # ------------------------------------------------------------ registers

    def _loaded(
        self, event: Use, touches: Sequence[tuple[CopyTouch, CopyTouch]], path: Path, at: At, *, sure: bool
    ) -> None:
        """What registers are loaded with: the states of the bytes of a load of one row, if its address is a number."""
        states, begin, first = None, 0, None
        spans = [] if sure else [self._rows(t) for _, t in touches if not t.open and not t.steps]
        rows = [row for span in spans for row in span or ()]
        if rows and len(rows) == len(touches):
            begin, end = min(a for a, _ in rows), max(b for _, b in rows)
            states = bytes(path.bytes_[begin:end])
            if any(self._reach(row, touch) for row in (*path.rows, *path.whole) for _, touch in touches):
                states = states.translate(PERHAPS)
        reads = [plain for plain, _ in touches if plain.kind == "read"]
        if not sure and len(reads) == 1 and not (reads[0].steps or reads[0].open):
            first = self._first_bytes(reads[0], event, path, at)
        held = LoadedBytes(sure, states, event.span, begin, first)
        before = self._worst.get(event.load)
        self._worst[event.load] = held if before is None or before.sure else before if sure else LoadedBytes(False)
        path.loads[event.load] = held

    def _first_bytes(self, read: CopyTouch, event: Use, path: Path, at: At) -> Lin | None:
        """How many of the first bytes of a load surely were written: up to where a row ends that holds its first byte,
        or as far from the start of its buffer as a row that is copied is long.
        """
        alone, when = At(at.counters), (*path.facts, *event.when)
        here = read.place.address + read.offset
        begin = self.world.put(here, at.counters)
        buffer = self.world.put(here, dict.fromkeys((*at.counters, *dict(at.lifted)), ZERO))
        rows = self._rows_before(self._put(read, at), (self._put(read, alone), at.lifted), when, path)
        runs = [run for row, own, _ in rows for run in runs_around(self.asker, row, own, begin, when)]
        ends = [end for first, end in runs if self.asker.surely(compare("le", first - begin), when)]
        best: Lin | None = None
        for end in dict.fromkeys((*ends, *(buffer + row for row in self._lengths))):
            part = replace(read, length=self._as_far(end - begin, read.length))
            longer = best is None or self.asker.surely(compare("le", begin + best - end), when)
            if longer and self._held(self._put(part, at), (self._put(part, alone), at.lifted), event, path):
                best = end - begin
        return best

    def _as_far(self, count: Lin, length: Lin) -> Lin:
        """So many of the first bytes of a row, which are none below 0 and all of them at most."""
        return self.world.least(length, self.world.least(count, ZERO, most=True))

    def _stores_garbage(self, event: Use, touches: Sequence[tuple[CopyTouch, CopyTouch]], path: Path, at: At) -> bool:
        """Whether a store of registers may store what nothing wrote; what it then leaves behind is put down."""
        held = [(s, self._of(s, path, once=bool(at.lifted))) for s in event.sources]
        held = [(s, h) for s, h in held if not h.sure]
        if not held or self.trusting:
            return False
        self.doubts += 1
        sure = self._sure_part(event, held, at.counters)
        for plain, touch in touches:
            if not touch.writes:
                continue
            states = self._computed(event, touch, held, at.counters)
            start = touch.place.address + touch.offset
            open_ = states is None or (sure is not None and MAYBE in states)
            if states is not None and not open_ and start.is_const and start.const >= 0:
                self._lost.append(touch)
                self._forget(path, touch)
                end = min(self.size, start.const + len(states))
                path.bytes_[start.const : end] = states[: end - start.const]
                self._doubt((start.const, end), event, _taken(held))
                if TAIL in states:
                    because = next((h for s, h in held if h.states is not None), LoadedBytes(False))
                    self._made[start.const] = (event.span, because)
                continue
            parts = list[CopyTouch]()
            rest = touch
            if sure is not None and touch.kind == "data" and not (plain.steps or plain.open):
                length = self._as_far(sure, self.world.put(plain.length, at.counters))
                most, least = self.world.interval(plain.length)[1], self.world.interval(plain.length - length)[0]
                whole = Lin(most) if most is not None and (least is None or least < 0) else plain.length
                behind = replace(plain, offset=plain.offset + length, length=whole - length)
                parts, rest = [self._row(replace(plain, length=length), at)], self._put(behind, at)
            self._lost.append(rest)
            self._forget(path, rest, parts)
            for begin, end in self._possible(rest):
                put_state(path.bytes_, begin, end, MAYBE)
                self._doubt((begin, end), event, _taken(held))
            for part in parts:
                self._write(part, event, path)
        return True

    def _row(self, plain: CopyTouch, at: At) -> CopyTouch:
        """What an event touches, in its iteration, with the loops that stand for all of theirs put down."""
        row = self._put(plain, at)
        self._loops[id(row)] = (row, at.lifted, self._put(plain, At(at.counters)))
        return row

    def _sure_part(
        self, event: Use, held: Sequence[tuple[StoredSource, LoadedBytes]], at: Mapping[str, Lin]
    ) -> Lin | None:
        """How many of the first bytes of a store come from what surely was written; None where none are known to."""
        least: Lin | None = None
        for source, load in held:
            if load.first is None or source.past or not source.unit:
                return None
            unit = max(source.unit, -(-event.per // event.bytes))
            groups = self.world.divide(load.first * source.per, source.bytes * unit)
            limit = None if source.limit is None else self.world.put(source.limit, at)
            if limit is not None and self.asker.surely(compare("le", limit - groups * unit)):
                continue  # no byte from there on depends on it
            made = self.world.divide(groups * (unit * event.bytes), event.per)
            least = made if least is None else self.world.least(least, made)
        return least

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


def _rows_of(touch: CopyTouch) -> list[CopyTouch]:
    """The rows of a touch as touches, where they are few and numbers tell where they begin; else none."""
    if prod(count.const if count.is_const else MOST_APART + 1 for count, _ in touch.steps) > MOST_APART:
        return []
    starts = [touch.offset]
    for count, stride in touch.steps:
        starts = [start + stride * index for index in range(count.const) for start in starts]
    return [replace(touch, offset=start, steps=()) for start in starts]


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
