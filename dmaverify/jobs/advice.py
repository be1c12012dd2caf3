"""Advice on proved transfers: what the documents name as slow, with the cycles and what would lift it.

Knows: the commands of a transfer, their price, and prices of the same commands changed in one respect.
Does not know: what a rule says or when it holds (data does), how a price comes about.
Law: a proved transfer stays proved and only gains findings of rules of scope `price`; a machine without such rules, or
commands without a price, gain none.

Source: "DMA Engine" (Performance, Implementation Details), "Memory Performance" (overview table).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.values import replace
from dmaverify.verdict import Status, Verdict

if TYPE_CHECKING:
    from dmaverify.cost.constants import CostData
    from dmaverify.cost.model import Cost
    from dmaverify.cost.sides import SideCost
    from dmaverify.program.command import Command
    from dmaverify.program.move import Transfer
    from dmaverify.prove.options import Options
    from dmaverify.targets.target import Target

SCOPE = "price"
MOST_COMMANDS = 64
"""Beyond so many commands no advice is worked out: prices are asked for several times over."""


def advised(verdict: Verdict, transfer: Transfer, target: Target, options: Options) -> Verdict:
    """The verdict, with advice where it is a proof and the machine has rules of prices."""
    from dmaverify.lower.programs import program_of_transfer
    from dmaverify.prove.move.static import Instance, Ruling

    wanted = {rule.id for rule in target.rules.values() if rule.scope == SCOPE}
    if not wanted or verdict.status is not Status.PROVED:
        return verdict
    commands = program_of_transfer(transfer, target.dtypes[transfer.dtype], target)
    if not isinstance(commands, tuple) or not 0 < len(commands) <= MOST_COMMANDS:
        return verdict
    try:
        facts = price_facts(commands, target)
    except InputError:  # no price: half bytes, or a memory without a model
        return verdict
    ruling = Ruling.of_move(target, transfer, options.readings)
    span = next((c.span for c in commands if c.span is not None), None)
    packet = transfer.stream.packet.span if transfer.stream is not None and not transfer.given else None
    place = Instance(SCOPE, facts, "commands", span or transfer.span, packet_span=packet)
    found = ruling.judge([place], only=wanted).findings
    return replace(verdict, findings=(*verdict.findings, *found)) if found else verdict


def price_facts(commands: Sequence[Command], target: Target) -> dict[str, int]:
    """The ports of the scope `price`. Raises InputError where the commands have no price."""
    from dmaverify.cost.constants import cost_data
    from dmaverify.cost.model import cost

    data = cost_data(machine=target)
    price = cost(commands, data)
    sides = [side for pair in price.sides for side in pair]
    hbm = [side for side in sides if side.port.tier == "hbm"]
    larger = [_with_larger_packet(command, target) for command in commands]
    smallest = min(c.packet * c.unit_bits // 8 for c in commands)
    best = min(c.packet * c.unit_bits // 8 for c in larger)
    crossing = sum(s.windows.touched - s.windows.packets * ceil(s.nest.size / data.hbm.window) for s in hbm)
    partial = sum(s.windows.partial for s in hbm if s.role == "write")
    whole = ceil(price.cycles)
    used = min((sum(1 for n in s.hbm.channels if n) for s in _joined(hbm) if s.hbm and s.hbm.channels), default=0)
    many = max((s.requests for s in hbm), default=0)
    dmns = min((_dmns(s) for s in sides if s.dm is not None and s.dm.dmns and s.requests > 1), default=2)
    senders, link = _links(price, data.constants["pcie_byte"].cycles)
    return {
        "cycles": whole,
        "packet_bytes": max(1, smallest),
        "best_packet_bytes": max(1, best),
        "packet_cycles": ceil(cost(larger, data).cycles) if best > smallest else whole,
        "crossing_windows": crossing,
        "partial_windows": partial,
        "aligned_cycles": _on_windows(commands, data) if crossing + partial else whole,
        "channels_used": used if many > data.hbm_channels // 2 and used else data.hbm_channels,
        "channels_all": data.hbm_channels,
        "spread_cycles": _spread(price, used, data.hbm_channels),
        "port_groups": dmns,
        "alternating_cycles": _in_turn(commands, price, data) if dmns < 2 else whole,
        "engines_away": sum(1 for c, pair in zip(commands, price.sides, strict=True) if _is_away(c, pair)),
        "switch_size": _switch_size(commands, target),
        "link_senders": senders,
        "link_cycles": link,
    }


def _with_larger_packet(command: Command, target: Target) -> Command:
    """The command with the largest packet that its run and the machine's limits allow."""
    from dmaverify.prove.move.ports import contiguous_run

    if contiguous_run(command) <= command.packet:
        return command
    from dmaverify.cost.changed import with_larger_packet

    sliced = any(target.tiers[port.tier].is_sliced for port in (command.read, command.write))
    return with_larger_packet(command, target.limits["packet_max"], target.limits["dm_align"] if sliced else 1)


def _on_windows(commands: Sequence[Command], data: CostData) -> int:
    from dmaverify.cost.changed import on_windows
    from dmaverify.cost.model import cost

    return ceil(cost([on_windows(command, data.hbm.window) for command in commands], data).cycles)


def _in_turn(commands: Sequence[Command], price: Cost, data: CostData) -> int:
    from dmaverify.cost.changed import taking_turns
    from dmaverify.cost.model import cost

    return ceil(cost(taking_turns(commands, price, data), data).cycles)


def _joined(sides: Sequence[SideCost]) -> list[SideCost]:
    """One side of each direction with the channels of all commands together."""
    found: dict[str, SideCost] = {}
    for side in sides:
        old = found.get(side.role)
        if old is None or old.hbm is None or side.hbm is None or not old.hbm.channels or not side.hbm.channels:
            found[side.role] = side
            continue
        both = tuple(a + b for a, b in zip(old.hbm.channels, side.hbm.channels, strict=True))
        found[side.role] = side._replace(hbm=replace(side.hbm, channels=both))
    return list(found.values())


def _dmns(side: SideCost) -> int:
    return sum(1 for count in (side.dm.dmns if side.dm and side.dm.dmns else ()) if count)


def _spread(price: Cost, used: int, channels: int) -> int:
    """The cycles where all channels share what so many have now: the largest of all terms counts."""
    from dmaverify.cost.bounds import ALL_ENGINES

    named = {"channels", f"channels{ALL_ENGINES}"}
    bound = {term: term.cycles for term in price.terms if term.name != "start-up"}
    rest = [cycles * used // channels if term.name in named else cycles for term, cycles in bound.items()]
    return ceil(price.cycles - max(bound.values(), default=0) + max(rest, default=0))


def _is_away(command: Command, pair: tuple[SideCost, SideCost]) -> bool:
    """Whether the named engine has none of the DMNs of the memory it is there for: the source, else the destination."""
    side = next((s for s in pair if s.port.tier == "dm"), None)
    if command.engine is None or side is None or side.dm is None or side.dm.dmns is None:
        return False
    if (command.engine.chip, command.engine.cluster) != (side.port.chip, side.port.cluster):
        return side.role == "write"  # a source in another cluster has a rule of its own
    first = 2 * command.engine.dmn
    return not any(side.dm.dmns[first : first + 2])


def _switch_size(commands: Sequence[Command], target: Target) -> int:
    """The least power of two of neighbouring slices that no copy is seen to leave; 0 without slices on both sides."""
    step = min(target.tiers[c.tier].slice_stride_bytes for one in commands for c in (one.read, one.write))
    if not step:
        return 0
    size = 1
    for command in commands:
        if (command.read.chip, command.read.cluster) != (command.write.chip, command.write.cluster):
            return 256
        unit = step * 8 // command.unit_bits
        corners = [(command.read.base, command.write.base)]
        for loop in command.loops:
            ends = {0, loop.count // 2, loop.count - 1}
            corners = [(r + n * loop.read, w + n * loop.write) for r, w in corners for n in ends][:4096]
        for read, write in corners:
            while read // unit // size != write // unit // size and size < 256:
                size *= 2
    return size


def _links(price: Cost, per_byte: float) -> tuple[int, int]:
    """The most chips that send into one, and the cycles of the busiest link."""
    senders: dict[int, set[int]] = defaultdict(set)
    moved: dict[tuple[str, int], int] = defaultdict(int)
    for read, write in price.sides:
        if read.port.chip != write.port.chip:
            senders[write.port.chip].add(read.port.chip)
            size = read.nest.packets * read.nest.size
            moved["out", read.port.chip] += size
            moved["in", write.port.chip] += size
    return max((len(x) for x in senders.values()), default=0), ceil(max(moved.values(), default=0) * per_byte)
