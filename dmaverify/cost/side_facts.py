"""The facts of both sides of a program: the list that kernel writers work out by hand.

Knows: sides of commands, address bits and what they select.
Does not know: terms of a cost, how a fact is printed, mappings, axes.
Law: every number follows from the commands alone.

Source: docs/machines/rngd.md 9 (what kernel writers compute by hand), "Memory Performance" (Address Space in a Chip).
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.cost.constants import CostData
from dmaverify.cost.inside import toggled, toggled_by
from dmaverify.cost.nest import PacketNest, residues
from dmaverify.cost.sides import HbmUse, SideCost
from dmaverify.values import dataclass

INNER_REQUESTS = 64
"""How many requests make the innermost loops: what a queue of 64 entries sees at once."""


@dataclass(frozen=True, slots=True)
class SideFacts:
    """One side of all commands. Addresses in bytes; bits are of the byte address within the chip (HBM) or cluster
    (DM).

    `run_bytes`: contiguous in this memory. `readers`: how often each byte is asked for. `toggled_inner`: address bits
    that the innermost loops change, `toggled` those that any loop or engine changes; `never`: bits that spread requests
    over stacks, channels, DMNs and slices, and that nothing changes, each with what it selects. `row_switches`: that no
    queue avoids, `row_changes`: in order of arrival. `channels` and `stacks` are None where an exact count needs too
    large a table.
    """

    role: str
    tier: str
    packets: int
    packet_bytes: int
    run_bytes: int
    offsets: tuple[int, ...]
    windows: int
    windows_per_run: float
    partial_windows: int
    crossing_packets: int
    readers: int
    channels: int | None
    stacks: int | None
    banks: int | None
    row_switches: int | None
    row_changes: int | None
    dmns: int
    slices: int
    toggled_inner: tuple[int, ...]
    toggled: tuple[int, ...]
    never: tuple[tuple[int, str], ...]


def run_bytes(nest: PacketNest) -> int:
    """Bytes in one piece: the packet, and inner loops that go on where it ends."""
    run = nest.size
    for count, stride in reversed(nest.loops):
        if stride != run:
            break
        run *= count
    return run


def side_facts(sides: Sequence[SideCost], data: CostData) -> SideFacts:
    """The facts of one side, added up over the commands that have it."""
    first, nests = sides[0], [side.nest for side in sides]
    run = min(run_bytes(nest) for nest in nests)
    windows = sum(side.windows.touched for side in sides)
    runs = sum(nest.packets * nest.size for nest in nests) / run
    hbm = [side.hbm for side in sides if side.hbm is not None]
    channels = {i for use in hbm for i, count in enumerate(use.channels or ()) if count}
    counted = all(use.channels is not None for use in hbm)
    rows = [use.rows for use in hbm]
    known = bool(rows) and all(row is not None for row in rows)
    offsets = sorted({offset for nest in nests for offset in residues(nest, data.hbm.window)})
    inner = {bit for nest in nests for bit in toggled(nest, INNER_REQUESTS)}
    any_loop = toggled_by(nests)
    return SideFacts(
        role=first.role,
        tier=first.port.tier,
        packets=sum(nest.packets for nest in nests),
        packet_bytes=max(nest.size for nest in nests),
        run_bytes=run,
        offsets=tuple(offsets[:16]),
        windows=windows,
        windows_per_run=windows / runs,
        partial_windows=sum(side.windows.partial for side in sides),
        crossing_packets=sum(side.windows.crossing for side in sides),
        readers=max(readers_of(nest) for nest in nests),
        channels=len(channels) if counted else None,
        stacks=len({index // (data.hbm_channels // 2) for index in channels}) if counted else None,
        banks=max(row.banks for row in rows if row is not None) if known else None,
        row_switches=_rows(hbm, "switches") if known else None,
        row_changes=_rows(hbm, "in_order") if known else None,
        dmns=len(_dmns(sides)),
        slices=len(_slices(sides, data)),
        toggled_inner=tuple(sorted(inner)),
        toggled=tuple(sorted(any_loop)),
        never=_never(first.port.tier, any_loop, data),
    )


def _never(tier: str, changed: set[int], data: CostData) -> tuple[tuple[int, str], ...]:
    """Bits that spread requests and that nothing changes, with what they select. A bit of the channel is told where no
    bit that is XORed into it changes either.
    """
    if tier == "hbm":
        still = {bits[0] for bits in data.hbm.channel if not changed & set(bits)} | set(data.hbm.stack) - changed
        return tuple((bit, " and ".join(data.hbm.feeds(bit))) for bit in sorted(still))
    if tier == "dm":
        names = dict.fromkeys(data.dm.slice, "slice") | {data.dm.dmn[0]: "DMN of the engine"}
        return tuple((bit, name) for bit, name in sorted(names.items()) if bit not in changed)
    return ()


def _rows(uses: Sequence[HbmUse], count: str) -> int:
    """Switches or changes of all banks that the streams use."""
    return sum(getattr(use.rows, count) * use.rows.banks * _used(use.channels) for use in uses if use.rows)


def _slices(sides: Sequence[SideCost], data: CostData) -> set[tuple[int, int, int]]:
    """(chip, cluster, slice) of every slice that the sides name."""
    found = set()
    for side in sides:
        if side.port.tier == "dm":
            stride, starts = data.dm.slice_stride, {side.nest.base // data.dm.slice_stride}
            for count, step in side.nest.loops:
                if step and step % stride == 0:
                    starts = {(start + n * (step // stride)) for start in starts for n in range(min(count, 256))}
            found |= {(side.port.chip, side.port.cluster, start) for start in starts}
    return found


def _used(channels: Sequence[int] | None) -> int:
    return sum(1 for count in channels or () if count)


def _dmns(sides: Sequence[SideCost]) -> set[tuple[int, int, int]]:
    return {
        (side.port.chip, side.port.cluster, index)
        for side in sides
        if side.dm is not None
        for index, count in enumerate(side.dm.dmns or ())
        if count
    }


def readers_of(nest: PacketNest) -> int:
    """How often the loops come back to the same address: the product of the counts with stride 0."""
    total = 1
    for count, stride in nest.loops:
        total *= count if stride == 0 else 1
    return total
