"""What the memories and the link between chips need at least, as bounds in ticks.

Knows: the loads of sides, the constants that price them, which streams share a memory.
Does not know: engines, commands, how bounds become a cost.
Law: every bound holds by itself: no schedule of the simulator ends a command of these sides earlier after its start-up.

Source: "Memory Performance" (HBM, Data Memory), "DMA Engine" (Examples 2, 4 and 5), docs/machines/rngd.md 8.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from dmaverify.cost.banks import BankUse, bank_uses
from dmaverify.cost.constants import CostData
from dmaverify.cost.nest import image
from dmaverify.cost.sides import SideCost, bank_span, reduce_by
from dmaverify.values import dataclass

ALL_ENGINES = ", all engines"
"""Behind the name of a bound that all commands of a program share."""


@dataclass(frozen=True)
class Bound:
    """A term in ticks, behind the start-up: what one resource is busy, and why."""

    name: str
    ticks: int
    resource: str
    why: str
    source: str


def by_memory(pairs: Iterable[tuple[SideCost, SideCost]]) -> dict[tuple[str, int, int], list[SideCost]]:
    streams: dict[tuple[str, int, int], list[SideCost]] = defaultdict(list)
    for pair in pairs:
        for side in pair:
            streams[side.memory].append(side)
    return streams


def memory_bounds(sides: Sequence[SideCost], data: CostData, *, ordered: bool = True) -> list[Bound]:
    """What streams that share one memory need of it; not `ordered`: without rows and banks, which an order changes."""
    tier = sides[0].port.tier
    if tier == "hbm":
        return _hbm_bounds(sides, data, ordered)
    if tier == "host":
        return []
    return _dm_bounds(sides, data) if tier == "dm" else _spm_bounds(sides, data)


def _net(load: int, sides: Sequence[SideCost]) -> int:
    """How long after the start-up a resource that needs `load` ticks lets the command end."""
    return load + min([side.head for side in sides]) + min([side.tail for side in sides]) if load else 0


# ---------------------------------------------------------------- HBM


def _hbm_bounds(sides: Sequence[SideCost], data: CostData, ordered: bool) -> list[Bound]:
    """Channel, row, bank group and read-modify-write bounds of all streams in one HBM."""
    s, chip = data.ticks("hbm_request"), f"HBM of chip {sides[0].port.chip}"
    channels = _channel_loads(sides, data)
    in_part = [side.hbm.partial for side in sides if side.hbm is not None and side.hbm.partial]
    extra = [sum(column) * (data.ticks("hbm_partial") - s) for column in zip(*in_part, strict=True)]
    loads = [n * s for n in channels]
    found = [_busiest("channels", loads, sides, chip, _channel_why(channels), data.source("hbm_request"))]
    if any(extra):
        why = "windows written in part are read, changed and written back"
        both = [a + b for a, b in zip(loads, extra, strict=True)]
        found.append(_busiest("partial windows", both, sides, chip, why, data.source("hbm_partial")))
    rows, banks = (_row_loads(sides, data), _bank_uses(sides, data)) if ordered and data.charges_rows else (None, [])
    if any(one.switches for one in banks):
        found += _bank_bounds(banks, sides, data, chip)
        rows = _switch_loads(banks, data) if rows is None or not any(rows) else rows
    if rows is not None and any(rows):
        one = data.ticks("hbm_row_switch")
        times = sum(load // one for load in rows)
        why = f"rows of a bank replace each other at least {times:,} times, which no queue avoids"
        found.append(_busiest("row switches", rows, sides, chip, why, data.source("hbm_row_switch")))
    return [*found, *_partial_total(sides, data, chip), *_group_bound(sides, data, chip)]


def _busiest(name: str, loads: Sequence[int], sides: Sequence[SideCost], where: str, why: str, source: str) -> Bound:
    return Bound(name, _net(max(loads), sides), where, why, source)


def _channel_loads(sides: Iterable[SideCost], data: CostData) -> list[int]:
    """Requests per channel; a stream that cannot be counted is spread evenly, which no channel can beat."""
    counted = [(side.requests, side.hbm.channels) for side in sides if side.hbm is not None]
    loose = sum(requests for requests, channels in counted if channels is None)
    rows = [channels for _, channels in counted if channels is not None]
    total = list(rows[0]) if len(rows) == 1 else list(map(sum, zip(*rows, strict=True))) or [0] * data.hbm_channels
    if not loose:
        return total
    level = -(-(sum(total) + loose) // data.hbm_channels)
    return [max(n, level) for n in total]


def _channel_why(channels: Sequence[int]) -> str:
    used = len(channels) - channels.count(0)
    return f"{used} of {len(channels)} channels carry {sum(channels):,} requests, the busiest {max(channels):,}"


def _row_loads(sides: Sequence[SideCost], data: CostData) -> list[int] | None:
    """Ticks per channel of row switches beyond plain requests; None where the streams share banks or one is not
    linear.
    """
    streams = [side.hbm for side in sides if side.hbm is not None]
    if any(stream.rows is None for stream in streams):
        return None
    if not any(stream.rows and stream.rows.switches for stream in streams):
        return None
    where, seen = data.hbm, defaultdict[tuple[bool, tuple[int, ...]], set[int]](set)
    for stream in streams:
        masks = (*where.channel_masks, *where.bank_masks(stream.high))
        basis = bank_span(stream.vectors or (), masks)
        place = reduce_by(image(stream.offset, masks), basis)
        if place in seen[stream.high, basis]:
            return None
        seen[stream.high, basis].add(place)
    if len({basis for _, basis in seen}) > 1:
        return None
    total, switch = [0] * data.hbm_channels, data.ticks("hbm_row_switch")
    for stream in streams:
        for index, count in enumerate(stream.channels or ()):
            if count and stream.rows is not None:
                total[index] += stream.rows.switches * stream.rows.banks * switch
    return [load + data.ticks("hbm_request") if load else 0 for load in total]


def _bank_uses(sides: Sequence[SideCost], data: CostData) -> list[BankUse]:
    """The banks that the streams use: all alike where each stream is linear and has banks of its own, else looked at
    one by one; none where that would take too long.
    """
    if min(data.ticks("hbm_row_switch"), data.ticks("hbm_bank_group")) <= data.ticks("hbm_request"):
        return []
    if any(side.hbm is None or side.hbm.channels is None for side in sides):
        return []
    plain = [side.hbm.rows for side in sides if side.hbm is not None and side.hbm.rows is not None]
    if len(sides) == 1 and plain:
        return [BankUse(0, plain[0].requests, plain[0].switches)]
    return list(bank_uses([side.nest for side in sides], data) or ())


def _bank_bounds(banks: Sequence[BankUse], sides: Sequence[SideCost], data: CostData, chip: str) -> list[Bound]:
    """The busiest bank: its requests a bank group's turn apart, those that change its row a row switch apart."""
    turn, switch = data.ticks("hbm_bank_group"), data.ticks("hbm_row_switch")
    loads = [(one.requests - 1 - one.switches) * turn + one.switches * switch for one in banks]
    most = loads.index(max(loads))
    if not banks[most].switches:
        return []
    load = loads[most] + data.ticks("hbm_request")
    many, changes = banks[most].requests, banks[most].switches
    why = f"one bank takes {many:,} requests and changes its row at least {changes:,} times"
    return [_busiest("banks", [load], sides, chip, why, data.source("hbm_row_switch"))]


def _switch_loads(banks: Sequence[BankUse], data: CostData) -> list[int]:
    """Ticks per channel of the changes of row of its banks, one after the other."""
    total, switch = [0] * data.hbm_channels, data.ticks("hbm_row_switch")
    for one in banks:
        total[one.channel] += one.switches * switch
    return [load + data.ticks("hbm_request") if load else 0 for load in total]


def _partial_total(sides: Sequence[SideCost], data: CostData, chip: str) -> list[Bound]:
    """Partial windows whose channels are not known, spread evenly: no channel can carry less than the mean."""
    s = data.ticks("hbm_request")
    writes = [side for side in sides if side.role == "write"]
    partial = sum(side.windows.partial for side in writes)
    if not partial:
        return []
    work = sum(side.requests for side in sides) * s + partial * (data.ticks("hbm_partial") - s)
    why = f"{partial:,} windows written in part, spread over all channels"
    mean = -(-work // data.hbm_channels)
    return [Bound("partial windows, mean", max(0, _net(mean, sides)), chip, why, data.source("hbm_partial"))]


def _group_bound(sides: Sequence[SideCost], data: CostData, chip: str) -> list[Bound]:
    """Requests to one bank group of one channel follow each other at its own rate (tCCD)."""
    one = data.ticks("hbm_bank_group")
    if one <= data.ticks("hbm_request"):
        return []
    rest = one - data.ticks("hbm_request")
    streams = [(side.hbm.high, side.hbm.groups) for side in sides if side.hbm and side.hbm.groups]
    parts = [[groups for high, groups in streams if high is part] for part in (False, True)]
    most = max((max(map(sum, zip(*part, strict=True))) for part in parts if part), default=0)
    if not most:
        return []
    why = f"one bank group of a channel takes {most:,} requests at half the rate"
    return [_busiest("bank groups", [most * one - rest], sides, chip, why, data.source("hbm_bank_group"))]


# ---------------------------------------------------------------- data memory, SPM, PCIe


def _dm_bounds(sides: Sequence[SideCost], data: CostData) -> list[Bound]:
    """DMN loads of all streams in one cluster, and blocks of one stream that leave the other DMN idle."""
    one = data.ticks("dm_request")
    where = f"DM of chip {sides[0].port.chip}, cluster {sides[0].port.cluster}"
    loads, alike = [0] * 8, Counter((side.dm.dmns, side.dm.unaligned) for side in sides if side.dm is not None)
    for (dmns, unaligned), times in alike.items():
        price = times * (data.ticks("dm_unaligned") if unaligned else one)
        loads = [a + b * price for a, b in zip(loads, dmns or (0,) * 8, strict=True)]
    used = len(loads) - loads.count(0)
    why = f"{used} DMN{'s' if used != 1 else ''} at 128 B/cycle, two cycles a request"
    found = [_busiest("DMNs", loads, sides, where, why, data.source("dm_request"))] if used else []
    return [*found, *(bound for side in sides for bound in _alternation(side, data, where))]


def _alternation(side: SideCost, data: CostData, where: str) -> list[Bound]:
    """Blocks that stay in one DMN: what its slices cannot queue waits for it."""
    assert side.dm is not None
    one, issue, block = data.ticks("dm_request"), side.issue, side.dm.block
    held = max(0, block - data.slice_queue * side.dm.block_slices) * one
    if held <= block * issue or side.requests % block:
        return []
    why = (
        f"{block:,} requests in a row go to one DMN, whose {side.dm.block_slices} slices queue {data.slice_queue} each"
    )
    return [Bound(f"{side.role} DMN order", side.requests // block * held, where, why, data.source("dm_request"))]


def _spm_bounds(sides: Sequence[SideCost], data: CostData) -> list[Bound]:
    load = sum(side.requests // side.parts for side in sides) * data.ticks("spm_request")
    where = f"SPM of chip {sides[0].port.chip}, cluster {sides[0].port.cluster}, DMN {sides[0].part}"
    return [Bound("SPM", _net(load, sides), where, "128 B/cycle", data.source("spm_request"))]


def links_of(read: SideCost, write: SideCost) -> tuple[tuple[int, str], ...]:
    """The PCIe links that a command crosses: a chip and the way; from or to the host it is the other side's chip."""
    leave, enter = (read.port.chip, "leave"), (write.port.chip, "enter")
    if "host" in (read.port.tier, write.port.tier):
        return (enter,) if read.port.tier == "host" else (leave,)
    return (leave, enter) if read.port.chip != write.port.chip else ()


def link_bounds(pairs: Sequence[tuple[SideCost, SideCost]], data: CostData, *, alone: bool = False) -> list[Bound]:
    """What crosses the links between chips, in bytes. Of several commands the first may be on its way before the
    start-up ends, which is the latency of an empty pipeline; not so where one command is `alone`.
    """
    early = 0 if alone else min((read.head for read, _ in pairs), default=0)
    moved: dict[tuple[int, str], int] = defaultdict(int)
    for read, write in pairs:
        for link in links_of(read, write):
            moved[link] += read.nest.packets * read.nest.size
    price, source = data.ticks("pcie_byte"), data.source("pcie_byte")
    return [
        Bound(
            "PCIe",
            max(0, size * price + min(0, early)),
            f"PCIe of chip {chip}",
            f"{size:,} bytes {way} the chip at 30 B/cycle",
            source,
        )
        for (chip, way), size in moved.items()
    ]


def port_bounds(pairs: Sequence[tuple[SideCost, SideCost]], data: CostData) -> list[Bound]:
    """What the slices of one cluster exchange with one stack of HBM."""
    price = data.ticks("cluster_stack")
    if not price:
        return []
    ports: dict[tuple[int, int, int], list[tuple[SideCost, int]]] = defaultdict(list)
    for pair in pairs:
        for hbm, dm in (pair, pair[::-1]):
            if hbm.hbm is not None and hbm.hbm.channels is not None and dm.dm is not None:
                half = data.hbm_channels // 2
                for stack in range(2):
                    many = sum(hbm.hbm.channels[stack * half : (stack + 1) * half])
                    ports[dm.port.chip, dm.port.cluster, stack].append((hbm, many))
    loads = {port: sum(many for _, many in found) for port, found in ports.items()}
    if not loads:
        return []
    port = max(sorted(loads), key=lambda one: loads[one])
    chip, cluster, stack = port
    why = f"cluster {cluster} and stack {stack} exchange {loads[port]:,} requests"
    net = _net(loads[port] * price, [side for side, many in ports[port] if many])
    return [
        Bound("stack port", net, f"chip {chip}, cluster {cluster}, stack {stack}", why, data.source("cluster_stack"))
    ]
