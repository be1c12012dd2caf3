"""What a cost comes from: the list that kernel writers work out by hand, which resource binds, and what would lift
it.

Knows: sides of commands, address bits and what they select, the terms of a cost.
Does not know: how it is printed, mappings, axes.
Law: every number follows from the commands alone; advice names the bits it rests on, and says a change of loop order
only where its price was found lower, a change of layout where no order of the loops can make it.

Source: docs/machines/rngd.md 9 (what kernel writers compute by hand), "Memory Performance" (Address Space in a Chip),
docs/design.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from dmaverify.cost.constants import CostData, stated
from dmaverify.cost.inside import said_of_move, toggled, toggled_by
from dmaverify.cost.model import Cost, cost, engine_of
from dmaverify.cost.nest import PacketNest, residues
from dmaverify.cost.sides import REREADS, HbmUse, SideCost
from dmaverify.program.command import Command
from dmaverify.values import asdict, dataclass, field

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


@dataclass(frozen=True)
class Explanation:
    """A cost, the facts of both sides, what binds, and what would lift it (most helpful first)."""

    cost: Cost
    engines: int
    commands: int
    binding: str
    because: str
    sides: tuple[SideFacts, ...]
    advice: tuple[str, ...]
    program: tuple[Command, ...] = field(repr=False, compare=False)

    def as_data(self) -> dict[str, Any]:
        """JSON: the cost's data plus the facts."""
        sides = [asdict(side) for side in self.sides]
        return self.cost.as_data() | {
            "because": self.because, "engines_in_use": self.engines, "commands": self.commands, "sides": sides,
            "advice": list(self.advice),
        }  # fmt: skip


def explain(commands: Sequence[Command], profile: CostData | str = "book") -> Explanation:
    """The cost of commands and where it comes from. Raises what `cost` raises."""
    data = stated(profile)
    result = cost(commands, data)
    reads, writes = [pair[0] for pair in result.sides], [pair[1] for pair in result.sides]
    facts = tuple(side_facts(sides, data) for sides in (reads, writes) if sides)
    overlapping = [term for term in result.terms if term.name != "start-up"]
    binding = max(overlapping, key=lambda term: term.cycles, default=None)
    because = f"{binding.resource}: {binding.why}" if binding is not None else "no commands"
    return Explanation(
        result,
        len({engine_of(command) for command in commands}),
        len(commands),
        binding.name if binding is not None else "start-up",
        because,
        facts,
        tuple(advice(result, facts, data, commands)),
        tuple(commands),
    )


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


# ---------------------------------------------------------------- what would lift it


def advice(result: Cost, facts: Sequence[SideFacts], data: CostData, commands: Sequence[Command]) -> list[str]:
    """Sentences that say what to change, the term that costs most first."""
    found: list[str] = []
    for side in facts:
        if side.tier == "hbm":
            found += [*_channel_advice(side, data), *_row_advice(side, data, result, commands), *_window_advice(side)]
        elif side.tier == "dm" and side.dmns == 1 and side.packets > 1:
            found.append(
                f"all slices of the {side.role} side are in one DMN: slices in both of an engine's (bit 27; layout, "
                "not loop order) have up to twice the rate"
            )
    found += _shared_advice(result, data)
    issue = [term for term in result.terms if term.name.endswith("issue")]
    first = next((term for term in result.terms if term.name == "start-up"), None)
    if first is not None and issue and first.cycles > max(term.cycles for term in issue):
        found.append("the start-up costs more than the requests: move more in one command")
    return found


LONG_RUNS = 0.1
"""How much dearer long runs make a window before it is worth a word."""


def _shared_advice(result: Cost, data: CostData) -> list[str]:
    """What silicon is slow at and the documents do not speak of; only profiles that price it say so."""
    found = []
    many = max((read.again for read, _ in result.sides), default=0)
    if many > 1:
        found.append(
            f"{many} engines read the same windows in the same order and wait for each other: "
            "let each begin at another window, or load once and copy within DM"
        )
    more = max((read.longer / (read.issue - read.longer) for read, _ in result.sides), default=0.0)
    if more > LONG_RUNS and result.binding.endswith(("issue", "sequence")):
        found.append(
            f"on silicon a window of these long runs takes {more:.0%} longer than one of a run of 256 B: "
            "let slices take runs of 256 B in turns (another layout in HBM)"
        )
    if result.binding.startswith("stack port"):
        why = next(term.why for term in result.terms if term.name == result.binding)
        found.append(f"{why}: spread each cluster's part over both stacks (address bit 8)")
    return found


def _channel_advice(side: SideFacts, data: CostData) -> list[str]:
    if not side.channels or side.channels * 4 > data.hbm_channels * 3 or side.windows < data.hbm_channels:
        return []
    distinct = -(-side.windows // side.readers)
    if side.readers >= REREADS and distinct < data.hbm_channels:
        few = f"{distinct} windows in {side.channels} of {data.hbm_channels} channels"
        return [f"the {side.role} side asks for each of {few} {side.readers} times: load once and copy within DM"]
    bits = [bit for bit in range(8, 13) if bit not in side.toggled]
    said = f"the {side.role} side uses {side.channels} of {data.hbm_channels} channels"
    if 8 not in side.toggled:
        layout = "no order of these loops can toggle it; a layout that puts an axis at a stride of 256 bytes can"
        return [f"{said}: address bit 8, which alone selects the stack, is never toggled, {layout}"]
    names = ", ".join(str(bit) for bit in bits) or "none of 8 to 12, but their XOR with higher bits repeats"
    return [f"{said}: address bits never toggled: {names}; only another layout toggles them"]


def _row_advice(side: SideFacts, data: CostData, result: Cost, commands: Sequence[Command]) -> list[str]:
    if not data.charges_rows or not side.row_switches or side.row_switches * 8 < side.windows:
        return []
    row_bits = [bit for bit in side.toggled_inner if "row" in data.hbm.feeds(bit)]
    low_bits = [bit for bit in side.toggled if 8 <= bit <= 16 and bit not in side.toggled_inner]
    if not row_bits:
        return []
    said = f"at least {side.row_switches:,} of {side.windows:,} {side.role} requests switch a row"
    said += f": the innermost loops toggle row bits {listed(row_bits)}"
    if low_bits:
        then = said_of_move(result, commands, low_bits, side.role, partial(cost, profile=data))
        return [f"{said}; move the loops that toggle bits {listed(low_bits)} inside of them{then}"] if then else []
    return [f"{said}; no loop of this layout toggles bits 8 to 16 instead"]


def _window_advice(side: SideFacts) -> list[str]:
    found = []
    if side.role == "write" and side.partial_windows:
        found.append(
            f"{side.partial_windows:,} windows are written in part and cost a read-modify-write each: "
            f"runs of {side.run_bytes} bytes should begin and end on 256"
        )
    if side.crossing_packets:
        many = f"{side.crossing_packets:,} {side.role} packets"
        found.append(f"{many} cross one 256-byte boundary more than they must: align their start")
    return found


def listed(bits: Sequence[int]) -> str:
    return ", ".join(str(bit) for bit in bits)
