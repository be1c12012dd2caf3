"""How the simulator reads a command: what its engine steps through, request by request, and what each step costs it.

Knows: commands, their bytes, the constants of a profile, what the documents say an engine pays for.
Does not know: the closed form. Nothing of it is called here and it calls nothing of this: what both must have right is
written twice, so that one can contradict the other (tests/house keeps the imports apart).
Law: a walk visits, in the command's order, every packet that the command moves, loops as they are written; how loops
are written changes no packet and no price.

What depends on more than one request is counted on plain addresses: windows a packet touches from its start within a
window, slices from the loops that step over them, readers of a region from what engines walk over.

Source: "DMA Engine" (Performance, DMA Sequencer Internals), "Memory Performance" (Misaligned Access),
docs/machines/rngd.md 8.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import gcd, prod

from dmaverify.cost.constants import CostData
from dmaverify.errors import InputError
from dmaverify.program.command import Command, Engine, Port
from dmaverify.values import dataclass

SERVED_BY = {"hbm": "hbm_request", "dm": "dm_request", "spm": "spm_request", "host": None}
"""What one request costs its memory, by tier; the host's costs nothing beside the link to it."""
OFTEN = 4
"""Packets per window from which on a window is read by several slices (docs/machines/rngd.md 8.2)."""
ALONE = 4
"""Bytes that lie side by side below which a store writes elements one by one."""


@dataclass(frozen=True, slots=True)
class RequestWalk:
    """One side of a command in bytes: packets of `size` bytes, the first at `first`, loops outer to inner."""

    port: Port
    first: int
    loops: tuple[tuple[int, int], ...]
    size: int

    @property
    def packets(self) -> int:
        return prod(count for count, _ in self.loops)

    @property
    def lowest(self) -> int:
        return self.first + sum((count - 1) * step for count, step in self.loops if step < 0)

    @property
    def beyond(self) -> int:
        """The first byte after all."""
        return self.first + sum((count - 1) * step for count, step in self.loops if step > 0) + self.size

    def sums(self) -> tuple[int, int, int]:
        """Bytes, sum and sum of squares of the addresses of all bytes."""
        digits = [*self.loops, (self.size, 1)]
        many = prod(count for count, _ in digits)
        twice = 2 * self.first + sum([(n - 1) * step for n, step in digits])  # the mean, and twelve times the spread
        spread = sum([(n * n - 1) * step * step for n, step in digits])
        return many, many * twice // 2, many * (spread + 3 * twice * twice) // 12


@dataclass(frozen=True, slots=True)
class MoveRequests:
    """A command as an engine steps through it. Times in ticks: `startup`, what a request takes to issue, what a window
    written in part adds (`ragged`: not in whole blocks of 64 bytes), and `lead`, how long before the start-up has
    passed the first request goes out, because the start-up is the latency of an empty pipeline. `one_memory`: reads and
    writes meet at one memory, and so at one port of the engine.
    """

    engine: Engine
    read: RequestWalk
    write: RequestWalk
    startup: int
    issue: int
    partial: int
    ragged: int
    lead: int
    one_memory: bool


def links_of(one: MoveRequests, chips: int) -> tuple[int, int]:
    """The PCIe links that the command leaves by and enters by, the chips' ways out first; -1 for none. From or to the
    host it is one link, of the other side's chip.
    """
    out, into = one.read.port, one.write.port
    if out.tier == "host":
        return chips + into.chip, chips + into.chip
    if into.tier == "host":
        return out.chip, out.chip
    return (out.chip, chips + into.chip) if out.chip != into.chip else (-1, -1)


def readings_of(commands: Sequence[Command], data: CostData) -> list[MoveRequests]:
    """Every command, in order. Raises InputError where a memory has no model or packets end on half a byte."""
    walks = [(command, _walk(command, False), _walk(command, True)) for command in commands]
    step, beside = data.spm_stride, _Beside(defaultdict(set), defaultdict(set), defaultdict(set))
    for command, read, write in walks:
        if write.port.tier != "hbm" and _read_often(read, data):
            beside.readers[_region(read, step)].add(_engine(command))
        memory = _memory(write, step)
        if _in_part(write, data.hbm.window):
            beside.writers[memory].add(_engine(command))
        if read.port.tier == "dm":
            beside.clusters[memory].add((read.port.chip, read.port.cluster))
    return [_priced(c, read, write, beside, data) for c, read, write in walks]


@dataclass(frozen=True)
class _Beside:
    """Engines that read a region, engines that write windows of a memory in part, clusters that write into it."""

    readers: dict[Region, set[Engine]]
    writers: dict[object, set[Engine]]
    clusters: dict[object, set[tuple[int, int]]]


def _in_part(walk: RequestWalk, window: int) -> bool:
    """Whether any window is written in part: some packet does not begin and end on one."""
    return any(number % window for number in (walk.first, walk.size, *(step for _, step in walk.loops)))


def _engine(command: Command) -> Engine:
    return command.engine or Engine()


def _walk(command: Command, write: bool) -> RequestWalk:
    """The packets of a side. A packet is what the text says, or the part of it that both sides have in one piece."""
    port = command.write if write else command.read
    if port.tier not in SERVED_BY:
        raise InputError(f"the simulator has no memory `{port.tier}`", command.span, f"one of {', '.join(SERVED_BY)}")
    piece = gcd(command.packet, command.burst)
    loops = [(loop.count, loop.write if write else loop.read) for loop in command.loops]
    loops.append((command.burst // piece, piece))
    bits = command.unit_bits
    if any(number * bits % 8 for number in (port.base, piece, *(step for _, step in loops))):
        hint = "4-bit elements lie two to a byte: make packet, strides and base an even number of elements"
        raise InputError("a packet starts or ends on half a byte, which no DMA address can say", command.span, hint)
    steps = tuple((count, step * bits // 8) for count, step in loops if count > 1)
    return RequestWalk(port, port.base * bits // 8, steps, piece * bits // 8)


def _priced(command: Command, read: RequestWalk, write: RequestWalk, beside: _Beside, data: CostData) -> MoveRequests:
    into_hbm, into = write.port.tier == "hbm", _memory(write, data.spm_stride)
    served = [data.ticks(name) if (name := SERVED_BY[side.port.tier]) else 0 for side in (read, write)]
    one = data.in_turn(_memory(read, data.spm_stride), into)
    if into_hbm:
        issue, startup = data.ticks("issue_store"), data.ticks("startup_store")
        startup += data.ticks("startup_clusters") if len(beside.clusters[into]) > 1 else 0
    else:
        issue, startup = data.ticks("issue"), data.ticks("startup")
        if _read_often(read, data):
            turns = data.ticks("issue_region") * _turns_at(_region(read, data.spm_stride), beside, data)
            issue = max(data.ticks("issue_reread"), turns)
            startup += data.ticks("startup_reread")
        elif data.ticks("issue_doubling") and read.port.tier == "hbm":
            issue += _longer(_contiguous(read, write), data)
        if data.ticks("slice_setup") or data.ticks("issue_slice"):
            slices = _slices(read, write, data)
            startup += data.ticks("slice_setup") * slices
            issue += data.ticks("issue_slice") * slices // _asked(read, write, one, data)
    turns = max(1, len(beside.writers[into])) if into_hbm else 0
    names = "issue_partial", "issue_single" if _contiguous(read, write) < ALONE else "issue_ragged"
    partial, ragged = (data.ticks(name) * turns for name in names)
    lead = (served[1] if one else sum(served)) - issue
    return MoveRequests(_engine(command), read, write, startup, issue, partial, ragged, lead, one)


# ---------------------------------------------------------------- what depends on more than one request


def _turns_at(region: Region, beside: _Beside, data: CostData) -> int:
    """How many engines wait for each other at a region: all that read it, or none unless nobody reads another often."""
    here, others = beside.readers[region], (one for one in beside.readers if one[0] == region[0])
    return len(here) if not data.region_of_all or all(beside.readers[one] <= here for one in others) else 1


def _plain(loops: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Loops (count, step of each side), innermost first, as few as walk the same: one that goes on where the inner one
    ends, on all sides, is part of it.
    """
    found: list[tuple[int, ...]] = []
    for count, *steps in loops:
        if found and steps == [found[-1][0] * step for step in found[-1][1:]]:
            found[-1] = (found[-1][0] * count, *found[-1][1:])
        else:
            found.append((count, *steps))
    return found


def _joint(read: RequestWalk, write: RequestWalk) -> list[tuple[int, ...]]:
    """(count, read step, write step), innermost first."""
    pairs = zip(reversed(read.loops), reversed(write.loops), strict=True)
    return _plain((count, one, other) for (count, one), (_, other) in pairs)


def _memory(walk: RequestWalk, spm_stride: int) -> tuple[str, int, int, int]:
    """Tier, chip, cluster and DMN, as far as the memory has them."""
    tier, cluster = walk.port.tier, 0 if walk.port.tier == "hbm" else walk.port.cluster
    return tier, walk.port.chip, cluster, walk.first // spm_stride if tier == "spm" else 0


Region = tuple[tuple[str, int, int, int], int, tuple[tuple[int, ...], ...]]


def _region(walk: RequestWalk, spm_stride: int) -> Region:
    """What a side walks over, whoever else does: its memory, first byte and steps, repetitions and packets left out."""
    moving = [(n, step) for n, step in reversed(walk.loops) if step]
    down = [(n, -step) if step < 0 else (n, step) for n, step in moving]
    return _memory(walk, spm_stride), walk.lowest, tuple(_plain([(walk.size, 1), *down]))


def _slices(read: RequestWalk, write: RequestWalk, data: CostData) -> int:
    """The most slices of DM that the loops of a side step over; 0 where neither side is DM."""
    loops, stride = _joint(read, write), data.dm.slice_stride
    found = [0]
    for side, walk in enumerate((read, write)):
        steps = [(loop[0], loop[1 + side]) for loop in loops]
        if walk.port.tier == "dm":
            found.append(prod(n for n, step in steps if step and step % stride == 0))
    return max(found)


def _contiguous(read: RequestWalk, write: RequestWalk) -> int:
    """Bytes that lie side by side in both memories, whichever loops walk over them."""
    steps = {(one, other): count for count, one, other in _joint(read, write)}
    found = read.size
    while (found, found) in steps:
        found *= steps.pop((found, found))
    return found


def _longer(run: int, data: CostData) -> int:
    """What a window of a long run adds to an issue: a price for each time that the run's windows double."""
    price, reach, added = data.ticks("issue_doubling"), data.hbm.window, 0
    while 2 * reach <= run:
        reach, added = 2 * reach, added + price
    return added + price * max(0, run - reach) // reach


def _asked(read: RequestWalk, write: RequestWalk, one_memory: bool, data: CostData) -> int:
    """How many requests an engine issues one after the other: those of the longer side, in one memory those of both."""
    window = data.hbm.window
    both = [
        _touches(walk, window) if walk.port.tier == "hbm" else walk.packets * -(-walk.size // window)
        for walk in (read, write)
    ]
    return sum(both) if one_memory else max(both)


def _touches(walk: RequestWalk, window: int) -> int:
    """Windows that all packets touch, each packet's counted: from how many packets start at each byte of a window."""
    starts = [0] * window
    starts[walk.first % window] = 1
    for count, step in walk.loops:
        turns, rest = divmod(count, window)
        moved = [0] * window
        for turn in range(window if turns else rest):
            many = turns + (turn < rest)
            shift = turn * step % window
            for at, seen in enumerate(starts):
                if seen:
                    moved[(at + shift) % window] += seen * many
        starts = moved
    return sum(seen * ((at + walk.size - 1) // window + 1) for at, seen in enumerate(starts) if seen)


def _read_often(walk: RequestWalk, data: CostData) -> bool:
    """Whether windows of HBM are read many times over: by loops that stay, or by packets far smaller than they are."""
    same = data.ticks("issue_reread") == data.ticks("issue")
    others = any(data.ticks(name) for name in ("issue_region", "issue_doubling", "startup_reread"))
    if walk.port.tier != "hbm" or (same and not others):
        return False
    window = data.hbm.window
    asked = walk.packets * _fewest(walk, window)
    apart = asked // prod(count for count, step in walk.loops if step == 0)
    return asked > OFTEN * min((walk.beyond - 1) // window - walk.lowest // window + 1, apart)


def _fewest(walk: RequestWalk, window: int) -> int:
    """The fewest windows that a packet touches: of one that begins nearest to the begin of its window."""
    starts = {walk.first % window}
    for count, step in walk.loops:
        turns = min(count, window)
        starts = {(start + turn * step) % window for start in starts for turn in range(turns)}
    return -(-(min(starts) + walk.size) // window)
