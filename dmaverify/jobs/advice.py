"""Advice on proved transfers: what the documents name as slow, with the cycles and what would lift it.

Knows: the commands of a transfer, their price, and prices of the same commands changed in one respect.
Does not know: what a rule says or when it holds (data does), how a price comes about.
Law: a proved transfer stays proved and only gains findings of rules of scope `price`; a machine without such rules, or
commands without a price, gain none.

Source: "DMA Engine" (Performance, Implementation Details), "Memory Performance" (overview table).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.language.numbers import largest_divisor
from dmaverify.values import replace
from dmaverify.verdict import Status, Verdict

if TYPE_CHECKING:
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
        "aligned_cycles": ceil(cost([_aligned(c, data.hbm.window) for c in commands], data).cycles)
        if crossing + partial
        else whole,
        "channels_used": used if many > data.hbm_channels // 2 and used else data.hbm_channels,
        "channels_all": data.hbm_channels,
        "spread_cycles": _without(price, ("channels",), lambda n: n * used // data.hbm_channels),
        "port_groups": dmns,
        "alternating_cycles": _without(
            price, ("DMNs", "read DMN order", "write DMN order"), lambda n: n / 2, together=_one_dmn_for_all(sides)
        ),
        "engines_away": sum(1 for c, pair in zip(commands, price.sides, strict=True) if _is_away(c, pair)),
        "switch_size": _switch_size(commands, target),
        "link_senders": senders,
        "link_cycles": link,
    }


def _with_larger_packet(command: Command, target: Target) -> Command:
    """The command with the largest packet that its run and the machine's limits allow."""
    from dmaverify.lower.pairing import split_burst
    from dmaverify.program.command import Loop
    from dmaverify.prove.move.ports import contiguous_run

    bits, run = command.unit_bits, contiguous_run(command)
    most = target.limits["packet_max"] * 8 // bits
    sliced = any(target.tiers[port.tier].is_sliced for port in (command.read, command.write))
    word = target.limits["dm_align"] * 8 // bits if sliced else 1
    best = largest_divisor(run, most, word)
    if best <= command.packet:
        return command
    loops, burst = split_burst((*command.loops, Loop(command.burst, 1, 1)), best)
    return replace(command, loops=loops, burst=burst, packet=best, read_text=None, write_text=None)


def _aligned(command: Command, window: int) -> Command:
    """The command with bases and rows in HBM on whole windows."""
    unit = window * 8 // command.unit_bits
    ports, steps = [], []
    for port, side in ((command.read, "read"), (command.write, "write")):
        is_hbm = port.tier == "hbm"
        ports.append(replace(port, base=port.base // unit * unit) if is_hbm else port)
        strides = [getattr(loop, side) for loop in command.loops]
        steps.append([-(-s // unit) * unit if is_hbm and abs(s) > command.burst else s for s in strides])
    loops = [replace(x, read=r, write=w) for x, r, w in zip(command.loops, *steps, strict=True)]
    return replace(command, read=ports[0], write=ports[1], loops=tuple(loops), read_text=None, write_text=None)


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


def _one_dmn_for_all(sides: Sequence[SideCost]) -> bool:
    """Whether the commands of all engines go to one DMN of each cluster together."""
    busy: dict[tuple[int, int], set[int]] = {}
    for side in sides:
        for number, count in enumerate(side.dm.dmns if side.dm and side.dm.dmns else ()):
            if count:
                busy.setdefault((side.port.chip, side.port.cluster), set()).add(number)
    return all(len(numbers) == 1 for numbers in busy.values())


def _without(price: Cost, names: tuple[str, ...], change: Callable[[float], float], *, together: bool = True) -> int:
    """The cycles with the terms of these names changed, and with `together` those of all engines: the largest of all
    terms counts.
    """
    from dmaverify.cost.bounds import ALL_ENGINES

    named = {*names, *(f"{name}{ALL_ENGINES}" for name in names if together)}
    terms = {t: change(t.cycles) if t.name in named else t.cycles for t in price.terms}
    rest = [cycles for term, cycles in terms.items() if term.name != "start-up"]
    bound = [term.cycles for term in price.terms if term.name != "start-up"]
    return ceil(price.cycles - max(bound, default=0) + max(rest, default=0))


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
