"""What one side of one command asks of its memory: requests, channel and DMN loads, partial windows, order.

Knows: the nests of a command, the address maps, which constants price a request.
Does not know: other commands, engines, how loads become a time.
Law: counts are exact where they are given; a load that cannot be counted cheaply is None and nothing is claimed of it.

Source: "Memory Performance" (HBM, Data Memory), "DMA Engine" (Performance, Examples), docs/machines/rngd.md 8.1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil, prod
from typing import NamedTuple

from dmaverify.cost.constants import CostData
from dmaverify.cost.nest import PacketNest, Windows, as_requests, image, nest_of, residues, spread, touched, windows
from dmaverify.cost.part_windows import written_in_part
from dmaverify.cost.rows import RowUse, kernel, row_use
from dmaverify.errors import InputError
from dmaverify.program.command import Command, Engine, Loop, Port
from dmaverify.values import dataclass, field, replace


@dataclass(frozen=True)
class HbmUse:
    """A stream of HBM requests. `channels` counts requests per channel; `partial` windows written in part per channel;
    `groups` requests per bank group of a slice of a channel, for streams on one side of bit `top_high`.

    `vectors` and `offset` are the linear form where there is one.
    """

    channels: tuple[int, ...] | None
    partial: tuple[int, ...] | None
    groups: tuple[int, ...] | None
    offset: int
    vectors: tuple[int, ...] | None
    rows: RowUse | None
    high: bool


@dataclass(frozen=True)
class DmUse:
    """A stream of DM requests: requests per DMN of the cluster, whether all writes are off 8 bytes (`mixed`: some), and
    the longest block that stays in one DMN.
    """

    dmns: tuple[int, ...] | None
    unaligned: bool
    block: int
    block_slices: int
    mixed: bool = False


class SideCost(NamedTuple):
    """One side of a command. `requests` is what the engine issues, `per_packet` the fewest of a packet. `memory` is
    where: tier, chip, and cluster where the tier is per cluster, DMN where it is per DMN.

    In ticks: no request of this side reaches its memory before the start-up plus `head`, and the command goes on for
    `tail` after the last of them. `head` is below 0 because the start-up is the latency of an empty pipeline. `issue`
    is what the engine needs per request, with its share of what the slices' setup takes; `issue_partial` what a window
    written in part adds (`issue_ragged` where it is not in whole blocks of 64 bytes), for all engines that take turns
    at it (`issue_single` in runs below `SINGLE`); `startup` what the command waits at first. Of `issue`, in a read:
    `setup` is that share (whole ticks), `longer` what long runs add, and `again` how many engines take turns at windows
    that are read many times (0: they are read once).
    """

    role: str
    port: Port
    nest: PacketNest
    windows: Windows
    requests: int
    per_packet: int
    hbm: HbmUse | None
    dm: DmUse | None
    memory: tuple[str, int, int]
    part: int = 0  # of a scratchpad that each DMN has of its own: the first DMN
    parts: int = 1  # and how many it walks over
    head: int = 0
    tail: int = 0
    issue: int = 0
    issue_partial: int = 0
    issue_ragged: int = 0
    startup: int = 0
    again: int = 0
    longer: int = 0
    setup: int = 0


def side_of(command: Command, role: str, target: CostData) -> SideCost:
    """The side of a command by itself. Raises InputError where it has no cost: half bytes, or a memory without a
    model.
    """
    port = command.read if role == "read" else command.write
    if port.tier not in SERVICES:
        raise InputError(f"the cost model has no memory `{port.tier}`", command.span, f"one of {', '.join(SERVICES)}")
    nest = nest_of(command, role)
    part, parts, step = 0, 1, target.spm_stride
    if port.tier == "spm":
        part, parts = nest.base // step, prod(count for count, stride in nest.loops if stride and stride % step == 0)
    memory = port.tier, port.chip, (0 if port.tier == "hbm" else port.cluster) | part << 8
    return SideCost(role, port, nest, *_counted(nest, role, port.tier, target), memory, part, parts)


@lru_cache(maxsize=4096)
def _counted(
    nest: PacketNest, role: str, tier: str, target: CostData
) -> tuple[Windows, int, int, HbmUse | None, DmUse | None]:
    """What a side asks for, wherever in the system its memory is: windows, requests, those of a packet, loads."""
    seen = windows(nest, target.hbm.window)
    if tier == "hbm":
        return seen, seen.touched, seen.least, hbm_use(nest, seen, role, target), None
    parts = ceil(nest.size / target.hbm.window)
    dm = dm_use(nest, parts, role, target) if tier == "dm" else None
    return seen, nest.packets * parts, parts, None, dm


def pairs_of(commands: Sequence[Command], target: CostData) -> list[tuple[SideCost, SideCost]]:
    """Both sides of every command in normal form, with their place in its pipeline."""
    plain = [command.normal for command in commands]
    raw = [(side_of(command, "read", target), side_of(command, "write", target)) for command in plain]
    readers: dict[Region, set[Engine]] = defaultdict(set)
    stores: dict[tuple[str, int, int], Stores] = defaultdict(Stores)
    for command, (read, write) in zip(plain, raw, strict=True):
        engine = command.engine or Engine()
        if write.port.tier == "hbm":
            stores[write.memory].add(engine, read, write)
        elif target.ticks("issue_region") and read.port.tier == "hbm" and is_reread(read, target):
            readers[region_of(read)].add(engine)
    turns = _region_turns(readers, target)
    return [
        _placed(command, read, write, turns.get(region_of(read), 1) if turns else 1, stores[write.memory], target)
        for command, (read, write) in zip(plain, raw, strict=True)
    ]


def _region_turns(readers: Mapping[Region, set[Engine]], target: CostData) -> dict[Region, int]:
    """How many engines take turns at each region that windows are read again in."""
    every: dict[tuple[str, int, int], set[Engine]] = defaultdict(set)
    for region, engines in readers.items():
        every[region[0]] |= engines
    return {
        region: 1 if target.region_of_all and engines != every[region[0]] else len(engines)
        for region, engines in readers.items()
    }


@dataclass
class Stores:
    """Who writes into one HBM: engines that write windows in part, who do so in turns, and clusters of DM."""

    engines: set[Engine] = field(default_factory=set)
    clusters: set[tuple[int, int]] = field(default_factory=set)

    def add(self, engine: Engine, read: SideCost, write: SideCost) -> None:
        if write.windows.partial:
            self.engines.add(engine)
        if read.port.tier == "dm":
            self.clusters.add((read.port.chip, read.port.cluster))


Region = tuple[tuple[str, int, int], int, tuple[tuple[int, int], ...]]


def region_of(side: SideCost) -> Region:
    """The bytes that a side walks over, in whatever order and packets: its memory, the first of them, and loops over
    them, inner to outer, where each goes on beyond what is inside of it.
    """
    levels = [(side.nest.size, 1)]
    for count, step in sorted((loop for loop in side.nest.loops if loop[1]), key=lambda loop: loop[1]):
        inside, unit = levels[-1]
        if step % unit == 0 and step <= inside * unit:
            levels[-1] = inside + (count - 1) * (step // unit), unit
        else:
            levels.append((count, step))
    return side.memory, side.nest.base, tuple(levels)


REREADS = 4
"""Packets per distinct window from which on a window counts as read by several slices."""


def is_reread(side: SideCost, target: CostData) -> bool:
    """Whether windows are asked for many times: loops that stay, or packets far smaller than a window. A window that a
    packet touches because of where it begins does not count, so that no base or row more changes the answer.
    """
    asked = side.nest.packets * side.per_packet
    span = touched(side.nest.base, side.nest.last - side.nest.base, target.hbm.window)
    moving = asked // prod(count for count, step in side.nest.loops if step == 0)
    return asked > REREADS * min(span, moving)


SINGLE = 4
"""Runs below so many bytes are elements by themselves, of which a store has a price of its own."""


def run_of(command: Command) -> int:
    """The longest run of units that is contiguous on both sides, in any order of the loops."""
    return command.burst * prod(loop.count for loop in run_loops(command))


def run_loops(command: Command) -> list[Loop]:
    """The loops of that run, inner to outer."""
    run, found = command.burst, []
    for loop in sorted(command.loops, key=lambda loop: abs(loop.read) + abs(loop.write)):
        if loop.read == loop.write == run:
            run *= loop.count
            found.append(loop)
    return found


def _issue_of(
    command: Command, read: SideCost, write: SideCost, engines: int, target: CostData
) -> tuple[int, int, int]:
    """Ticks that an engine needs per request, and why: engines that take turns at windows read many times (0: they are
    read once), and what the length of a run adds.

    Engines that read the same region get its windows one after the other, so that each pays for all of them
    (`issue_region`). Windows of long runs cost more, by each doubling of the run (`issue_doubling`).
    """
    if write.port.tier == "hbm":
        return target.ticks("issue_store"), 0, 0
    plain, region, more = target.ticks("issue"), engines * target.ticks("issue_region"), target.ticks("issue_doubling")
    again = max(target.ticks("issue_reread"), region)
    if read.port.tier != "hbm" or (again == plain and not more):
        return plain, 0, 0
    if is_reread(read, target):
        return again, engines if again == region else 1, 0
    times, of = doublings(run_of(command) * command.unit_bits // 8, target.hbm.window)
    return plain, 0, more * times // of


def doublings(run: int, window: int) -> tuple[int, int]:
    """How often a run of so many bytes is a window doubled, as a fraction: between two powers of two in proportion."""
    times = max(1, run // window).bit_length() - 1
    whole = window << times
    return times * whole + max(0, run - whole), whole


def _placed(
    command: Command, read: SideCost, write: SideCost, readers: int, stores: Stores, target: CostData
) -> tuple[SideCost, SideCost]:
    issue, again, longer = _issue_of(command, read, write, readers, target)
    first, second = (request_ticks(side.port.tier, target) for side in (read, write))
    into_hbm = write.port.tier == "hbm"
    startup = target.ticks("startup_store" if into_hbm else "startup")
    one_memory = target.in_turn(read.memory, write.memory)
    if into_hbm:
        startup += target.ticks("startup_clusters") if len(stores.clusters) > 1 else 0
    elif target.ticks("startup_reread") and read.port.tier == "hbm" and is_reread(read, target):
        startup += target.ticks("startup_reread")
    each = 0
    if not into_hbm and (target.ticks("slice_setup") or target.ticks("issue_slice")):
        slices = max(slices_of(side.nest, side, target) for side in (read, write))
        counts = read.requests, write.requests
        startup += target.ticks("slice_setup") * slices
        each = target.ticks("issue_slice") * slices // (sum(counts) if one_memory else max(counts))
    issue += longer + each
    lead = (second if one_memory else first + second) - issue
    turns = max(1, len(stores.engines))
    single = run_of(command) * command.unit_bits < SINGLE * 8
    names = "issue_partial", "issue_single" if single else "issue_ragged"
    partial, ragged = (target.ticks(name) * turns if into_hbm else 0 for name in names)
    return (
        read._replace(head=-lead, tail=second, issue=issue, startup=startup, again=again, longer=longer, setup=each),
        write._replace(head=first - lead, issue=issue, issue_partial=partial, issue_ragged=ragged, startup=startup),
    )


def slices_of(nest: PacketNest, side: SideCost, target: CostData) -> int:
    """Slices that a side steps over, 0 outside of DM."""
    if side.port.tier != "dm":
        return 0
    return prod(count for count, step in nest.loops if step and step % target.dm.slice_stride == 0)


def request_ticks(tier: str, target: CostData) -> int:
    """Ticks that one undisturbed request needs of a memory of this tier."""
    name = SERVICES[tier]
    return target.ticks(name) if name else 0


SERVICES = {"hbm": "hbm_request", "dm": "dm_request", "spm": "spm_request", "host": ""}
"""The constant of one request by memory; the host's own memory is taken to be no slower than the link to it."""


def hbm_use(nest: PacketNest, seen: Windows, role: str, target: CostData) -> HbmUse:
    """Loads of a stream of HBM requests."""
    where, window = target.hbm, target.hbm.window
    top, groups = nest.base >> where.top_high, None
    high, low = bool(top & 1), target.hbm_channels
    if top == nest.last - 1 >> where.top_high:
        found = spread(nest, (*where.channel_masks, *where.bank_group_masks(high)), window)
        groups = tuple(found) if found is not None else None
    counts = spread(nest, where.channel_masks, window) if groups is None else [sum(groups[n::low]) for n in range(low)]
    partial = None
    if role == "write" and seen.partial and counts is not None:
        partial = tuple(counts) if seen.partial == seen.touched else written_in_part(nest, counts, target)
    requests = as_requests(nest, window)
    form = requests.linear if requests is not None else None
    channels = tuple(counts) if counts is not None else None
    if form is None:
        return HbmUse(channels, partial, groups, nest.base, None, None, high)
    offset, vectors = form
    if any(vector >> where.top_high for vector in vectors):
        return HbmUse(channels, partial, groups, offset, vectors, None, high)
    row = row_use(vectors, where.channel_masks, where.bank_masks(high), where.row_masks(high), target.hbm_queue - 1)
    return HbmUse(channels, partial, groups, offset, vectors, row, high)


def _slice_loops(nest: PacketNest, target: CostData) -> PacketNest:
    """The nest with every loop over slices cut at DMN boundaries, where base and count allow it."""
    stride, per_dmn = target.dm.slice_stride, target.dm.dmn_slices
    loops, flips = [], []
    for (count, step), flip in zip(nest.loops, nest.flipped, strict=True):
        inside = per_dmn * stride // step if step and step % stride == 0 and per_dmn * stride % step == 0 else 0
        if 1 < inside < count and count % inside == 0 and nest.base // stride % per_dmn == 0:
            loops += [(count // inside, step * inside), (inside, step)]
            flips += [flip, flip]
        else:
            loops.append((count, step))
            flips.append(flip)
    return replace(nest, loops=tuple(loops), flipped=tuple(flips))


def dm_use(nest: PacketNest, parts: int, role: str, target: CostData) -> DmUse:
    """Loads of a stream of DM requests. Source: "Memory Performance", Optimizing DMA Performance."""
    stride, per_dmn = target.dm.slice_stride, target.dm.dmn_slices
    inside = [(count, step) for count, step in nest.loops if step % stride]
    over = [(count, step) for count, step in nest.loops if step % stride == 0]
    dmns: tuple[int, ...] | None = None
    if nest.base % stride + sum((count - 1) * step for count, step in inside) + nest.size <= stride:
        packets = PacketNest(nest.base // stride * stride, tuple(over), 1, (False,) * len(over))
        counts = spread(packets, target.dm.dmn_masks, 1)
        factor = parts * prod(count for count, _ in inside)
        dmns = tuple(count * factor for count in counts) if counts is not None else None
    starts = residues(nest, 8) if role == "write" else {0: 1}
    unaligned = role == "write" and (nest.size % 8 > 0 or 0 not in starts)
    block, slices = _block(_slice_loops(nest, target), parts, stride, per_dmn)
    return DmUse(dmns, unaligned, block, slices, not unaligned and len(starts) > 1)


def _block(nest: PacketNest, parts: int, stride: int, per_dmn: int) -> tuple[int, int]:
    """(requests, slices at most) of the innermost loops that stay within one DMN; (1, 1) where that is not plain."""
    sub = [(count, step) for count, step in nest.loops if step % (stride * per_dmn)]
    if nest.base % (stride * per_dmn) + sum((c - 1) * s for c, s in sub) + nest.size > stride * per_dmn:
        return 1, 1
    block, slices, end = parts, 1, nest.base % stride + nest.size
    for count, step in reversed(nest.loops):
        if count > 1 and step and step % (stride * per_dmn) == 0:
            break
        block *= count
        slices *= count if step and step % stride == 0 else 1
        end += (count - 1) * step if step % stride else 0
    return block, per_dmn if end > stride else min(slices, per_dmn)


@lru_cache(maxsize=4096)
def bank_span(vectors: tuple[int, ...], masks: tuple[int, ...]) -> tuple[int, ...]:
    """A reduced basis of the (channel, bank) values that a stream's loops reach, highest first."""
    basis: list[int] = []
    for vector in vectors:
        value = image(vector, masks)
        for member in basis:
            value = min(value, value ^ member)
        if value:
            basis = sorted([min(member, member ^ value) for member in basis] + [value], reverse=True)
    return tuple(basis)


def reduce_by(value: int, basis: Sequence[int]) -> int:
    """The least value of the coset."""
    for member in basis:
        value = min(value, value ^ member)
    return value


def least_gap(vectors: Sequence[int], masks: Sequence[int]) -> int:
    """The fewest requests between two of one linear stream that agree on the masks; more than the stream has if none
    do.
    """
    members = kernel([image(v, masks) for v in vectors]).members
    least = 1 << len(vectors)
    for index, member in enumerate(members):
        step = member
        for lower in reversed(members[:index]):
            step = max(step, step ^ lower)
        top = 1 << member.bit_length() - 1
        least = min(least, top - (step ^ top))
    return least
