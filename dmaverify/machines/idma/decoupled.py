"""Cycles of a back-end, side by side: AXI, coupled or not, OBI, and each of them to the other.

Knows: bursts of each side as beats, the slots between legalizer, ports and buffer. Does not know: plan files, text.
Law: `cycles_apart` is RTL cycle by cycle where both sides are AXI or OBI, or what is read is INIT, which answers at
once, and the memory answers in order. For TileLink RTL took as much or more; other protocols were not run.

Each side goes its own way between two hand-overs. N, M are the outstanding requests and those with buffer and system
depth, D the words of the buffer, L the latency, K the requests that the memory tracks. Of read burst i and write
burst j of transfer t, accepted at Q_t:

    X_i = max(X_{i-1}, Q_t, R_{i-N}, A_{i-1}) + 1          read burst leaves the legalizer; A_i = max(X_i, R_{i-K} + 1)
    read beat = max(beat before + 1, A_i + L, its bytes' lanes free)            R_i its last
    V_j = max(V_{j-1}, Q_t, E_{j-N}, B_{j-M}) + 1          write burst leaves the legalizer; OBI: W_{j-2} + 1 as well
    write beat = max(beat before, V_j, its bytes' arrival, OBI: B_{j-K}) + 1    W_j its last, B_j = W_j + L
    E_j = W_j; with several write ports, which remember N bursts: max(W_j, B_{j-N} + 1, V_j + 1, E_{j-1} + 1)
    Q_{t+1} = the last of both sides' bursts, or later where one of the sides cannot take another one yet
    cycles = B_last + 1

Bursts of a coupled transfer leave in pairs: X and V are then the later of both. Byte t of a transfer goes through lane
t mod S of the buffer, which holds D bytes a lane.

Source: measured on verilated RTL of iDMA v0.7.0 (idma_legalizer, idma_dataflow_element, transport layers).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import gcd

from dmaverify.machines.idma.engine import AXI, INIT, NO_ADDRESS, OBI, Backend, Request
from dmaverify.machines.idma.law import Depth, MemorySystem, exact, fragments, smallest_period
from dmaverify.machines.idma.legalizer import Bursts, is_coupled, legalize
from dmaverify.values import dataclass, field, replace

READ_ACROSS = "the law of AXI and OBI, read across: TileLink RTL took as much or more on 300 lists, others were not run"
MOST_BEATS = 1 << 16
"""Beats of both sides up to which the law is gone through, one by one."""
OBI_SLOTS = 2
"""Writes whose addresses wait beside the data: the queue in front of a port that asks for both at once."""


def is_measured(read: int, write: int) -> bool:
    """Whether the law was held against RTL for these protocols."""
    return read in (AXI, OBI, INIT) and write in (AXI, OBI)


@dataclass(frozen=True, slots=True)
class _BurstToCome:
    """A burst that is still to come. `after` has a beat of the other side for each of its own: what makes room for a
    read beat, what brings the last byte of a write beat; below 0 there is none.
    """

    transfer: int
    after: list[int]
    last: bool


@dataclass(frozen=True, slots=True)
class _ApartShape:
    """The beats of a transfer by side: where each ends, how many each burst has, and which read beat brings the last
    byte of each write beat.
    """

    ends: tuple[list[int], list[int]]
    sizes: tuple[list[int], list[int]]
    brings: list[int]


def _shape(found: Bursts, word: int) -> _ApartShape:
    ends: tuple[list[int], list[int]] = ([], [])
    sizes: tuple[list[int], list[int]] = ([], [])
    for side, name in enumerate(("read", "write")):
        at = 0
        for address, count in found.pairs(name):
            own = [*range(at + min(word - address % word, count), at + count, word), at + count]
            ends[side].extend(own)
            sizes[side].append(len(own))
            at += count
    return _ApartShape(ends, sizes, [bisect_right(ends[0], end - 1) for end in ends[1]])


@dataclass(slots=True)
class _ApartSide:
    """The bursts of one side: when each left the legalizer and ended, its beats, and the bursts to come."""

    left: list[int] = field(default_factory=list)  # X or V
    ended: list[int] = field(default_factory=list)  # R or E
    beats: list[int] = field(default_factory=list)
    whole: int = 0  # beats of bursts that ended
    known: int = 0  # beats of all bursts, those to come as well
    queue: list[_BurstToCome] = field(default_factory=list)


class Apart:
    """The law, transfer by transfer: `add` some, then `run`, and again."""

    def __init__(self, backend: Backend, memory: MemorySystem, protocols: tuple[int, int]) -> None:
        self.backend, self.word, self.depth = backend, backend.word, backend.buffer_depth
        self.slots = backend.ax_in_flight
        self.metadata = self.slots + backend.buffer_depth + backend.system_depth
        self.latency = [0 if protocol in NO_ADDRESS else memory.latency for protocol in protocols]
        self.tracked = min(memory.outstanding, self.metadata)  # no more are ever under way
        self.obi, self.several = protocols[1] == OBI, len(backend.variant.writes) > 1
        self.read, self.write = _ApartSide(), _ApartSide()
        self.accepted = [0]  # Q
        self.asked: list[int] = []  # A
        self.answered: list[int] = []  # B
        self.done: list[list[int]] = [[-1, -1]]  # when the last burst of each side left, by transfer
        self.page = (1 << backend.page_bits) - 1  # transfers that lie alike in their pages have bursts alike
        self.shapes: dict[Request, _ApartShape] = {}
        self.paired: list[bool] = []  # whether the bursts of a transfer leave in pairs
        self.pairs: list[int] = []  # when those of the transfer that leaves did
        self.leaving, self._first = -1, (0, 0)
        self.lanes: dict[int, list[int]] = {0: []}  # the write beats of the last D bytes, by first lane of those alike

    def add(self, request: Request) -> bool:
        """One more transfer: its beats, and what each of them waits for. False for one whose bursts do not end."""
        key = replace(request, src=request.src & self.page, dst=request.dst & self.page, last=True)
        shape = self.shapes.get(key)
        if shape is None:
            found = legalize(self.backend, request)
            if found.read.stuck is not None or found.write.stuck is not None:
                return False
            shape = self.shapes[key] = _shape(found, self.word)
        read, write = self.read.known, self.write.known
        number = len(self.done) - 1
        waits = self._room(shape, write), [read + beat for beat in shape.brings]
        for side, sizes, after in zip((self.read, self.write), shape.sizes, waits, strict=True):
            at = 0
            for size in sizes:
                at += size
                side.queue.append(_BurstToCome(number, after[at - size : at], at == len(after)))
            side.known += at
        self.done.append([-1, -1])
        self.paired.append(is_coupled(request))
        return True

    def _room(self, shape: _ApartShape, before: int) -> list[int]:
        """The write beat that frees the place of each read beat's bytes; notes which beats free the last ones."""
        (reads, writes), word, held = shape.ends, self.word, self.depth * self.word
        out, start = [], 0
        for end in reads:
            beat = before + bisect_right(writes, end - 1 - held) if end > held else -1
            stop = min(end, held)
            for byte in {start, *(start + (lane - start) % word for lane in self.lanes)} if start < stop else ():
                if byte < stop:
                    kept = self.lanes[self._lanes_of(byte % word)]
                    place = len(kept) - self.depth + byte // word
                    beat = max(beat, kept[place] if place >= 0 else -1)
            out.append(beat)
            start = end
        self._fill(writes, before)
        return out

    def _lanes_of(self, lane: int) -> int:
        """The first of the lanes that are like this one."""
        return max(first for first in self.lanes if first <= lane)

    def _fill(self, writes: Sequence[int], before: int) -> None:
        """Notes the write beats of the last bytes of a transfer in their lanes."""
        word, size = self.word, writes[-1]
        edges = {*self.lanes, 0, size % word, writes[0] % word}
        out: dict[int, list[int]] = {}
        newest: list[int] | None = None
        for lane in sorted(edges):
            kept = self.lanes[self._lanes_of(lane)]
            if lane < size:
                last = size - 1 - (size - 1 - lane) % word
                own = range(max(lane, last - (self.depth - 1) * word), last + 1, word)
                kept = [*kept, *(before + bisect_right(writes, byte) for byte in own)][-self.depth :]
            if kept != newest:
                out[lane] = newest = kept
        self.lanes = out

    def run(self) -> None:
        """Both sides to the end of what was added."""
        every = ((self.read, self._read), (self.write, self._write))
        at = [0, 0]
        while any(number < len(side.queue) for number, (side, _) in zip(at, every, strict=True)):
            before = sum(at) + len(self.read.beats) + len(self.write.beats)
            for number, (side, step) in enumerate(every):
                while at[number] < len(side.queue) and step(side.queue[at[number]]):
                    at[number] += 1
            assert sum(at) + len(self.read.beats) + len(self.write.beats) > before, "neither side can go on"
        self.read.queue, self.write.queue = [], []

    def _next_read(self, i: int) -> int | None:
        """The first cycle in which the ports take read burst i; None while that is not known."""
        if i > len(self.asked):
            return None
        found = self.asked[i - 1] + 1 if i else 0
        if i >= self.slots:
            if i - self.slots >= len(self.read.ended):
                return None
            found = max(found, self.read.ended[i - self.slots] + 1)
        return found

    def _next_write(self, j: int) -> int | None:
        """The same of a write burst."""
        found = 0
        waits = [(self.write.ended, self.slots), (self.answered, self.metadata)]
        waits += [(self.write.beats, OBI_SLOTS)] if self.obi else []  # an OBI burst is one beat
        for times, back in waits:
            if j >= back:
                if j - back >= len(times):
                    return None
                found = max(found, times[j - back] + 1)
        return found

    def _handed(self, transfer: int) -> int | None:
        """When a transfer is accepted; None while that is not known."""
        if transfer < len(self.accepted):
            return self.accepted[transfer]
        ends = self.done[transfer - 1]
        if min(ends) < 0:
            return None
        at, then = max(ends), -1
        while at != then:
            then = at
            for end, own, more in zip(
                ends, (self.read, self.write), (self._next_read, self._next_write), strict=True
            ):  # fmt: skip
                if at > end:
                    found = more(len(own.left))
                    if found is None:
                        return None
                    at = max(at, found)
        self.accepted.append(at)
        return at

    def _leaves(self, burst: _BurstToCome, number: int) -> bool:
        """Lets a burst of a side leave the legalizer, if it is known when."""
        own = (self.read, self.write)[number]
        handed = self._handed(burst.transfer)
        if handed is None:
            return False
        if self.paired[burst.transfer]:
            at = self._pair(burst.transfer, number, handed + 1)
        else:
            at = (self._next_read, self._next_write)[number](len(own.left))
        if at is None:
            return False
        at = max(handed + 1, at, own.left[-1] + 1 if own.left else 0)
        own.left.append(at)
        if burst.last:
            self.done[burst.transfer][number] = at
        return True

    def _pair(self, transfer: int, number: int, least: int) -> int | None:
        """When the next burst of a side leaves together with its partner, not before `least`."""
        if self.leaving != transfer:
            self.leaving, self.pairs = transfer, []
            self._first = len(self.read.left), len(self.write.left)
        i, j = (first + len(self.pairs) for first in self._first)
        own = len((self.read, self.write)[number].left) - self._first[number]
        if own == len(self.pairs):
            read, write = self._next_read(i), self._next_write(j)
            if read is None or write is None:
                return None
            self.pairs.append(max(least, read, write, self.pairs[-1] + 1 if self.pairs else 0))
        return self.pairs[own]

    def _read(self, burst: _BurstToCome) -> bool:
        """One read burst, or as much of it as is known; whether it ended."""
        own, freed = self.read, self.write.beats
        i = len(own.ended)
        if len(own.left) == i:
            if not self._leaves(burst, 0):
                return False
            back = own.ended[i - self.tracked] + 1 if i >= self.tracked else 0
            self.asked.append(max(own.left[i], back))
        first = max(self.asked[i] + self.latency[0], own.left[i] + 1)
        for after in burst.after[len(own.beats) - own.whole :]:
            if after >= len(freed):
                return False
            own.beats.append(max(first, own.beats[-1] + 1 if own.beats else 0, freed[after] if after >= 0 else 0))
        own.whole = len(own.beats)
        own.ended.append(own.beats[-1])
        return True

    def _write(self, burst: _BurstToCome) -> bool:
        """The same of a write burst."""
        own, brought = self.write, self.read.beats
        j = len(own.ended)
        if len(own.left) == j and not self._leaves(burst, 1):
            return False
        head = max(own.left[j], own.ended[-1] if own.ended else 0) + 1
        first = max(head, self.answered[j - self.tracked] + 1) if self.obi and j >= self.tracked else head
        for after in burst.after[len(own.beats) - own.whole :]:
            if after >= len(brought):
                return False
            own.beats.append(max(first, brought[after] + 1, own.beats[-1] + 1 if own.beats else 0))
        own.whole = len(own.beats)
        end = own.beats[-1]
        answered = end + self.latency[1]
        if self.several:
            kept = max(head, self.answered[j - self.slots] + 1) if j >= self.slots else head
            end, answered = max(end, kept), max(answered, kept + 1)
        own.ended.append(end)
        self.answered.append(answered)
        return True

    def stands(self) -> tuple[object, ...]:
        """What decides about all that follows, in cycles before the last answer; runs that stand alike go on alike."""
        now, sight = self.answered[-1], self.metadata
        lists = (self.read.left, self.read.ended, self.write.left, self.write.ended, self.asked, self.answered)
        held = tuple((lane, *(now - self.write.beats[beat] for beat in kept)) for lane, kept in self.lanes.items())
        last = now - self.read.beats[-1], now - self.write.beats[-1], *(now - at for at in self.done[-2])
        return (held, last, *(tuple(now - at for at in times[-sight:]) for times in lists))


def cycles_apart(
    backend: Backend, memory: MemorySystem, protocols: tuple[int, int], requests: Iterable[Request],
    most: int = MOST_BEATS,
) -> int | None:  # fmt: skip
    """The cycles of 1D transfers back to back; None where they have more beats than `most`, none, or no end."""
    law = Apart(backend, memory, protocols)
    beats = 0
    for request in requests:
        beats += 2 * (request.length // backend.word + 1)
        if beats > most or (request.length and not law.add(request)):
            return None
    if not law.read.queue:
        return None
    law.run()
    return law.answered[-1] + 1


def _behind(first: Request, number: int, count: int) -> Request:
    """`count` bytes so many transfers behind the first one."""
    return replace(first, src=first.src + number * first.length, dst=first.dst + number * first.length, length=count)


@lru_cache(maxsize=256)
def _period(backend: Backend, first: Request, whole: int) -> int:
    """After how many of `whole` transfers, each behind the one before, their beats are the same again; whatever is in
    flight and buffered meanwhile.
    """
    page = 1 << backend.page_bits
    once = (_behind(first, n, first.length) for n in range(min(whole, page // gcd(first.length, page))))
    return smallest_period([_shape(legalize(backend, one), backend.word) for one in once])


def copied_apart(
    backend: Backend, memory: MemorySystem, protocols: tuple[int, int], copy: tuple[int, int, int], size: int, *,
    coupled: bool = False,
) -> int:  # fmt: skip
    """The cycles of a copy (source, destination, bytes) in 1D transfers of `size` bytes and a shorter last one.

    Once the law stands as it stood some transfers before, the repetitions in between are added at once.
    """
    law = Apart(backend, memory, protocols)
    src, dst, total = copy
    whole, rest = divmod(total, size)
    first = Request(src, dst, size, *protocols, decouple_rw=not coupled)

    def part(number: int, count: int) -> Request:
        return _behind(first, number, count)

    period = _period(replace(backend, ax_in_flight=1, buffer_depth=1, system_depth=1), first, whole)
    seen: dict[tuple[object, ...], tuple[int, int]] = {}
    number = added = 0
    while number + period <= whole:
        for _ in range(period):
            law.add(part(number, size))
            number += 1
        law.run()
        now, stands = law.answered[-1], law.stands()
        if stands in seen and not added:
            before, then = seen[stands]
            times = (whole - number) // (number - before)
            number, added = number + times * (number - before), times * (now - then)
        seen[stands] = number, now
    for left in range(number, whole):
        law.add(part(left, size))
    if rest:
        law.add(part(whole, rest))
    law.run()
    return law.answered[-1] + 1 + added


def copied(backend: Backend, memory: MemorySystem, copy: tuple[int, int, int], size: int) -> int:
    """The same of coupled AXI."""
    runs = fragments(backend, *copy, size)
    if all(run.plain for run in runs):
        return exact(runs, Depth.of(backend, memory))
    return copied_apart(backend, memory, (AXI, AXI), copy, size, coupled=True)
