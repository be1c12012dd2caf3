"""Cycles of an iDMA back-end: the throughput law of v0.7.0, exact and in closed form, with the term that binds named.

Knows: bursts as beats, memory systems, outstanding requests; the recurrence, a lower bound.
Does not know: plan files, descriptors, where bursts come from.
Law: `exact` is the recurrence itself, cycle by cycle of RTL for coupled AXI; `bounds` are never above it for any burst
list. Anything else a caller asks of the law is marked not exact.

Number all bursts of all back-to-back 1D transfers in order, with N = outstanding requests, M = N + buffer depth +
system depth, L the latency and K the outstanding requests of the memory; r and w are the beats of a burst:

    A_i = max(A_{i-1} + 1, W_{i-N} + 1, W_{i-M} + L + 1, R_{i-K})           its address
    f_i = max(R_{i-1} + 1, A_i + L + 1),  R_i = f_i + r - 1                first and last read beat
    W_i = max over its write beats j of (beat before + 1, f_i + q_j)       last write beat
    cycles = W_last + L + 1

Source: measured on verilated RTL of iDMA v0.7.0; iDMA paper, 4.3 and 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import gcd

from dmaverify.cost.model import Term
from dmaverify.machines.idma.engine import AXI, NO_ADDRESS, Backend, Request
from dmaverify.machines.idma.legalizer import legalize
from dmaverify.machines.idma.wire import beats_of
from dmaverify.values import dataclass, replace

MEASURED = "measured on RTL of iDMA v0.7.0"


@dataclass(frozen=True, slots=True)
class MemorySystem:
    """A memory system: cycles of latency on read data and on the write response, requests that it tracks."""

    name: str
    latency: int
    outstanding: int


SRAM = MemorySystem("SRAM", 3, 8)
RPC_DRAM = MemorySystem("RPC-DRAM", 13, 16)
HBM = MemorySystem("HBM", 100, 64)
IDEAL = MemorySystem("ideal", 1, 1024)
MEMORIES = {memory.name.lower(): memory for memory in (SRAM, RPC_DRAM, HBM, IDEAL)}
"""The systems of the paper, 4.4, and one that answers at once."""


@dataclass(frozen=True, slots=True)
class Beats:
    """One burst as the data path sees it: read beats, write beats, and whether every write beat but the last needs the
    read beat after the one of its own number (`skewed`: the source starts later in its word than the destination).
    """

    read: int
    write: int
    skewed: bool = False

    @property
    def least(self) -> int:
        """Cycles from the first read beat to the last write beat."""
        return max(self.read - 1, self.write - 1 + self.skewed if self.write > 1 else 0)


@dataclass(frozen=True, slots=True)
class BurstRun:
    """The same bursts several times in a row."""

    pattern: tuple[Beats, ...]
    times: int = 1

    @property
    def bursts(self) -> int:
        return len(self.pattern) * self.times

    @property
    def plain(self) -> bool:
        """Whether each read beat brings one write beat: then no buffer is ever full, and `exact` is exact."""
        return all(burst.read == burst.write and not burst.skewed for burst in self.pattern)


class Meter:
    """Bursts of 1D transfers of one back-end as beats; transfers that lie alike in their pages are worked out once."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._known: dict[Request, tuple[Beats, ...]] = {}

    def beats(self, request: Request) -> tuple[Beats, ...]:
        """Read and write bursts of a coupled transfer, which pair."""
        page = 1 << self.backend.page_bits  # no window is larger
        near = request
        if request.src >= page or request.dst >= page or not request.last:
            near = replace(request, src=request.src % page, dst=request.dst % page, last=True)
        found = self._known.get(near)
        if found is None:
            found = self._known[near] = tuple(self._worked_out(near))
        return found

    def _worked_out(self, request: Request) -> Iterator[Beats]:
        word = self.backend.word
        found = legalize(self.backend, request)
        reads, writes = found.pairs("read"), found.pairs("write")
        assert found.coupled
        for (src, n), (dst, _) in zip(reads, writes, strict=True):
            yield Beats(beats_of(src, n, word), beats_of(dst, n, word), src % word > dst % word)


def smallest_period(items: Sequence[object]) -> int:
    """Of how many items a list is repetitions; 1 of an empty one."""
    count = len(items)
    return next(
        (p for p in range(1, count) if count % p == 0 and items[p:] == items[:-p]),
        count or 1,
    )


def fragments(backend: Backend, src: int, dst: int, total: int, size: int) -> tuple[BurstRun, ...]:
    """`total` bytes moved by coupled AXI in 1D transfers of `size` bytes and a shorter last one: the same bursts
    whatever is in flight and buffered meanwhile.
    """
    return _fragments(replace(backend, ax_in_flight=1, buffer_depth=1, system_depth=1), src, dst, total, size)


@lru_cache(maxsize=1024)
def _fragments(backend: Backend, src: int, dst: int, total: int, size: int) -> tuple[BurstRun, ...]:
    page, meter = 1 << backend.page_bits, Meter(backend)

    def bursts(at: int, count: int) -> tuple[Beats, ...]:
        return meter.beats(Request((src + at) % page, (dst + at) % page, count))

    whole, rest = divmod(total, size)
    one = [bursts(i * size, size) for i in range(min(whole, page // gcd(size, page)))]
    least = smallest_period(one)
    left = [*one[: whole % least], *([bursts(whole * size, rest)] if rest else [])]
    repeated = BurstRun(tuple(b for beats in one[:least] for b in beats), whole // least)
    return repeated, BurstRun(tuple(b for beats in left for b in beats))


def protocol_of(have: frozenset[int]) -> int:
    """The protocol of a side in a sweep: AXI where there is AXI, else the first that has addresses, if one has."""
    return AXI if AXI in have else (sorted(have - NO_ADDRESS) or sorted(have))[0]


@dataclass(frozen=True, slots=True)
class Depth:
    """What bounds the bursts in flight: N, M and the memory."""

    outstanding: int
    metadata: int
    memory: MemorySystem

    @classmethod
    def of(cls, backend: Backend, memory: MemorySystem) -> Depth:
        n = backend.ax_in_flight
        return cls(n, n + backend.buffer_depth + backend.system_depth, memory)


@dataclass(slots=True)
class _State:
    """Where the recurrence stands: last address, read and write, and the ends of the bursts still in sight."""

    a: int
    r: int
    w: int
    reads: list[int]
    writes: list[int]

    def copied(self) -> _State:
        return _State(self.a, self.r, self.w, list(self.reads), list(self.writes))

    def shifted(self, by: int) -> None:
        self.a, self.r, self.w = self.a + by, self.r + by, self.w + by
        self.reads[:] = [x + by for x in self.reads]
        self.writes[:] = [x + by for x in self.writes]

    def step(self, bursts: Iterable[tuple[int, int, int]], depth: Depth) -> None:
        """Goes on by bursts of (read beats, write beats, least cycles between first read and last write beat)."""
        latency, n, m, k = depth.memory.latency, depth.outstanding, depth.metadata, depth.memory.outstanding
        reads, writes, a, r, w = self.reads, self.writes, self.a, self.r, self.w
        i = len(writes)
        for read, write, least in bursts:
            a += 1
            if i >= n:
                t = writes[i - n]
                if t >= a:
                    a = t + 1
                if i >= m and (t := writes[i - m] + latency) >= a:
                    a = t + 1
            if i >= k and (t := reads[i - k]) > a:
                a = t
            first = a + latency + 1
            if r >= first:
                first = r + 1
            r = first + read - 1
            w += write
            if first + least > w:
                w = first + least
            reads.append(r)
            writes.append(w)
            i += 1
        self.a, self.r, self.w = a, r, w

    def trimmed(self, sight: int) -> None:
        del self.reads[:-sight], self.writes[:-sight]

    def since(self, older: _State, sight: int) -> int | None:
        """By how much all of this state is later than an older one; None where not everything is by the same."""
        by = self.w - older.w
        if self.a - older.a != by or self.r - older.r != by or len(older.writes) < sight:
            return None
        for new, old in ((self.writes, older.writes), (self.reads, older.reads)):
            if any(x - y != by for x, y in zip(new[-sight:], old[-sight:], strict=True)):
                return None
        return by


def exact(runs: Sequence[BurstRun], depth: Depth) -> int:
    """Cycles from the accepting edge of the first request to the last response, inclusive. 0 without bursts.

    The recurrence looks back `sight` bursts and knows only differences of times: once it stands as it stood a whole
    number of patterns before, all later, the repetitions in between are added at once. Chains of N, M and K bursts
    each have a period of their own, so any number of rounds may lie between (Brent: compare with the state of the last
    power of two).
    """
    state = _State(0, 0, 0, [], [])
    sight = max(depth.outstanding, depth.metadata, depth.memory.outstanding)
    for run in runs:
        left = run.times if run.pattern else 0
        flat = [(burst.read, burst.write, burst.least) for burst in run.pattern]
        chunk = -(-sight // max(1, len(flat)))
        older, rounds, power = state.copied(), 0, 1
        while left >= chunk:
            state.step(flat * chunk, depth)
            state.trimmed(sight)
            left, rounds = left - chunk, rounds + 1
            by = state.since(older, sight)
            if by is not None:
                state.shifted(by * (left // (rounds * chunk)))
                left %= rounds * chunk
                break
            if rounds == power:
                older, rounds, power = state.copied(), 0, 2 * power
        state.step(flat * left, depth)
        state.trimmed(sight)
    return state.w + depth.memory.latency + 1 if state.writes else 0


# ---------------------------------------------------------------- bounds


@dataclass(frozen=True, slots=True)
class Totals:
    """What a lower bound needs to know of a burst list: sums of beats, of the larger side, bursts, the last one."""

    read: int
    write: int
    larger: int
    bursts: int
    last: int = 1

    @classmethod
    def of(cls, runs: Iterable[BurstRun]) -> Totals:
        r = w = m = n = 0
        last = 1
        for run in runs:
            r += run.times * sum(b.read for b in run.pattern)
            w += run.times * sum(b.write for b in run.pattern)
            m += run.times * sum(max(b.read, b.write) for b in run.pattern)
            n += run.bursts
            if run.bursts:
                last = max(run.pattern[-1].read, run.pattern[-1].write)
        return cls(r, w, m, n, last)


def bounds(t: Totals, depth: Depth) -> tuple[Term, ...]:
    """Cycles that no burst list with these totals can beat, one a cause, the largest first.

    Chains of every N-th, M-th and K-th burst are bounded by their mean: the longest of N chains has at least an N-th
    of what all have.
    """
    if not t.bursts:
        return ()
    latency, memory = depth.memory.latency, depth.memory
    lead = 2 * latency + 2
    n, m, k = depth.outstanding, depth.metadata, memory.outstanding

    def chain(each: int, sum_of: int, slots: int) -> int:
        return -(-(t.bursts * each + sum_of) // slots)

    found = [
        Term("read data", t.read + lead, "read port", f"{t.read:,} beats, one a cycle", MEASURED),
        Term("write data", t.write + lead, "write port", f"{t.write:,} beats, one a cycle", MEASURED),
        Term("addresses", t.bursts + lead - 1 + t.last, "legalizer", f"{t.bursts:,} bursts, one a cycle", MEASURED),
        Term(
            "outstanding requests", chain(latency + 1, t.larger, n) + latency + 1, "request slots",
            f"{n} bursts under way, each for {latency} cycles of latency and its beats", MEASURED,
        ),
        Term(
            "metadata", chain(2 * latency + 1, t.larger, m) + 1, "write metadata",
            f"{m} bursts until their write response, two latencies each; system_depth lifts it", MEASURED,
        ),
        Term(
            "memory requests", chain(latency, t.read, k) + latency + 2, memory.name,
            f"the memory tracks {k} reads", MEASURED,
        ),
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda term: -term.cycles))


def utilization(data: int, word: int, cycles: float) -> float:
    """Share of the bus that carries wanted bytes."""
    return data / (word * cycles) if cycles else 0.0
