"""The closed form: what a program of DMA commands costs, as named terms, without walking an address.

Knows: start-up, issue, shared memories, overlap within a command, order of commands, several engines.
Does not know: how loads are counted, requests one by one, mappings.
Law: `cost` never exceeds what `simulate` measures for the same program, and equals it where it says `exact`. The
number is the start-up plus the term that binds; every term is a bound by itself, with its resource, reason and
source.

Composition ("DMA Engine", Examples 1 to 6; facts/rngd 8.1): a command that reads one memory and writes another
overlaps the two (the larger counts), within one memory they add; commands of one engine follow each other, each with
its start-up; the slowest engine decides, and no shared memory is faster than its busiest channel or DMN. The start-up
is the latency of an empty pipeline: a command of n requests that nothing holds up ends n issues after it (so that
Examples 1 to 3 come out as printed), and a resource that serves n requests of s cycles is charged n * s less what of
it the start-up holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dmaverify.cost.constants import TICKS, CostData, cost_data
from dmaverify.cost.exact import is_exact
from dmaverify.cost.nest import image
from dmaverify.cost.sides import GroupUse, Side, bank_span, pairs_of, reduce_by
from dmaverify.transfer.command import Command, Engine


@dataclass(frozen=True, slots=True)
class Term:
    """One bound of the cost. `resource` is what is busy that long; terms of different resources overlap."""

    name: str
    cycles: float
    resource: str
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class EngineCost:
    """What one engine needs by itself: start-ups and its commands one after the other."""

    engine: Engine
    commands: int
    cycles: float


@dataclass(frozen=True)
class Cost:
    """The closed form of a program. `binding` names the term that decides; `exact`: the simulator gives the same
    number.
    """

    cycles: float
    terms: tuple[Term, ...]
    exact: bool
    binding: str
    profile: str
    engines: tuple[EngineCost, ...]
    sides: tuple[tuple[Side, Side], ...] = field(default=(), repr=False, compare=False)

    def as_data(self) -> dict[str, object]:
        """The JSON of the command line: cycles, profile, terms, exact, binding, engines."""
        names = ("name", "cycles", "resource", "why", "source")
        return {
            "cycles": self.cycles,
            "profile": self.profile,
            "terms": [{name: getattr(term, name) for name in names} for term in self.terms],
            "exact": self.exact,
            "binding": self.binding,
            "engines": [
                {"engine": [e.engine.chip, e.engine.cluster, e.engine.dmn], "commands": e.commands, "cycles": e.cycles}
                for e in self.engines
            ],
        }


@dataclass(frozen=True)
class Bound:
    """A term in ticks. `least` is where it starts: the start-up ticks that no part of it can precede."""

    name: str
    ticks: int
    resource: str
    why: str
    source: str


def engine_of(command: Command) -> Engine:
    """The engine that issues a command; without one, the first engine of the chip."""
    return command.engine or Engine()


def cost(commands: Sequence[Command], target: CostData | str = "rngd", profile: str = "book") -> Cost:
    """The cost of commands in cycles, each issued by its engine, engines in parallel.

    `target` may be the data itself (then `profile` is not looked at). Raises InputError for an unknown profile.
    Source: "DMA Engine", Performance and Examples; "Memory Performance".
    """
    data = target if isinstance(target, CostData) else cost_data(profile)
    pairs = pairs_of(commands, data)
    by_engine: dict[Engine, list[tuple[Command, tuple[Side, Side]]]] = defaultdict(list)
    for command, pair in zip(commands, pairs, strict=True):
        by_engine[engine_of(command)].append((command, pair))
    known: dict[object, int] = {}

    def longest(command: Command, pair: tuple[Side, Side]) -> int:
        """The ticks of a command by itself; commands of one form need the same."""
        form = _form(pair)
        if form not in known:
            known[form] = max((b.ticks for b in own_bounds(command, pair, data)), default=0)
        return known[form]

    alone = {
        engine: sum(read.startup + longest(command, (read, write)) for command, (read, write) in own)
        for engine, own in by_engine.items()
    }
    shared = shared_bounds(pairs, data)
    slowest = max(alone, key=lambda engine: alone[engine], default=Engine())
    own = [(pair[0].startup, own_bounds(command, pair, data)) for command, pair in by_engine.get(slowest, [])]
    bounds = [*_engine_terms([b for _, b in own], slowest), *shared]
    first, least = sum(startup for startup, _ in own), min((read.startup for read, _ in pairs), default=0)
    best = max(bounds, key=lambda bound: bound.ticks + (least if bound in shared else first), default=None)
    total = max([*alone.values(), *(least + bound.ticks for bound in shared)], default=0)
    waits = Bound("start-up", first, "engine", _startup_why(own), data.source("startup"))
    terms = [waits, *sorted(bounds, key=lambda bound: -bound.ticks)] if commands else []
    return Cost(
        total / TICKS,
        tuple(Term(b.name, b.ticks / TICKS, b.resource, b.why, b.source) for b in terms),
        is_exact(commands, pairs, data),
        best.name if best is not None and best.ticks > first else "start-up",
        data.profile,
        tuple(
            EngineCost(engine, len(by_engine[engine]), alone[engine] / TICKS)
            for engine in sorted(by_engine, key=_order)
        ),
        tuple(pairs),
    )


def _order(engine: Engine) -> tuple[int, int, int]:
    return engine.chip, engine.cluster, engine.dmn


def _startup_why(commands: Sequence[object]) -> str:
    return "one command" if len(commands) == 1 else f"{len(commands)} commands, one after the other"


def _engine_terms(commands: Sequence[Sequence[Bound]], engine: Engine) -> list[Bound]:
    """The bounds of the slowest engine; of several commands, each resource is added up."""
    if len(commands) <= 1:
        return [bound for bounds in commands for bound in bounds]
    total: dict[str, Bound] = {}
    for bounds in commands:
        for b in bounds:
            seen = total[b.name].ticks if b.name in total else 0
            total[b.name] = Bound(b.name, seen + b.ticks, b.resource, b.why, b.source)
    each = sum(max((b.ticks for b in bounds), default=0) for bounds in commands)
    why = "each command ends before the next begins; the slowest part of each counts"
    sequence = Bound("sequence", each, f"engine {engine}", why, "DMA Engine, Example 6")
    return [sequence, *total.values()]


# ---------------------------------------------------------------- one command


def own_bounds(command: Command, pair: tuple[Side, Side], data: CostData) -> list[Bound]:
    """The bounds of one command beside nothing else, in ticks after its start-up."""
    read, write = pair
    same = read.memory == write.memory
    found = [*_issue(command, read, write, same, data)]
    for sides in _by_memory([pair]).values():
        found += _memory_bounds(sides, data)
    found += [*_link_bounds([pair], data), *_port_bounds([pair], data)]
    return [bound for bound in found if bound.ticks > 0]


def _form(pair: tuple[Side, Side]) -> tuple[object, ...]:
    """What the bounds of one command depend on. Where a linear stream has a memory to itself, its base does not matter:
    it exchanges channels and banks for others.
    """
    read, write = pair
    apart = read.memory != write.memory
    return apart, read.port.chip == write.port.chip, _side_form(read, apart), _side_form(write, apart)


def _side_form(side: Side, apart: bool) -> tuple[object, ...]:
    place = side.head, side.tail, side.issue, side.issue_partial, side.issue_ragged, side.startup
    if not apart or (side.hbm is not None and (side.hbm.vectors is None or side.windows.partial)):
        return side.port.tier, side.nest, *place
    rows = (side.hbm.vectors, side.hbm.high) if side.hbm is not None else ()
    dm = side.dm and (
        side.dm.dmns and tuple(sorted(side.dm.dmns)),
        side.dm.unaligned,
        side.dm.block,
        side.dm.block_slices,
    )
    return side.port.tier, side.nest.size, side.requests, rows, dm, *place


def _by_memory(pairs: Iterable[tuple[Side, Side]]) -> dict[tuple[str, int, int], list[Side]]:
    streams: dict[tuple[str, int, int], list[Side]] = defaultdict(list)
    for pair in pairs:
        for side in pair:
            streams[side.memory].append(side)
    return streams


def _memory_bounds(sides: Sequence[Side], data: CostData) -> list[Bound]:
    """What streams that share one memory need of it."""
    tier = sides[0].port.tier
    if tier == "hbm":
        return _hbm_bounds(sides, data)
    return _dm_bounds(sides, data) if tier == "dm" else _spm_bounds(sides, data)


def _issue(command: Command, read: Side, write: Side, same: bool, data: CostData) -> list[Bound]:
    where, source = f"engine {engine_of(command)}", data.source("issue")
    loads = [_issue_ticks(side) for side in (read, write)]
    if same:
        why = f"{read.requests:,} reads and {write.requests:,} writes in one memory take turns, one request per issue"
        return [Bound("issue", sum(loads), where, why, source)]
    return [
        Bound(f"{side.role} issue", load, where, _requests_why(side), source)
        for side, load in zip((read, write), loads, strict=True)
    ]


def _issue_ticks(side: Side) -> int:
    seen = side.windows
    whole, ragged = (seen.partial - seen.ragged) * side.issue_partial, seen.ragged * side.issue_ragged
    return side.requests * side.issue + whole + ragged


def _requests_why(side: Side) -> str:
    what = "aligned 256-byte windows touched" if side.port.tier == "hbm" else "parts of at most 256 bytes"
    return f"{side.nest.packets:,} packets of {side.nest.size} bytes are {side.requests:,} requests ({what})"


def _net(load: int, sides: Sequence[Side]) -> int:
    """How long after the start-up a resource that needs `load` ticks lets the command end."""
    return load + min(side.head for side in sides) + min(side.tail for side in sides) if load else 0


# ---------------------------------------------------------------- HBM


def _hbm_bounds(sides: Sequence[Side], data: CostData) -> list[Bound]:
    """Channel, row, bank group and read-modify-write bounds of all streams in one HBM."""
    s, chip = data.ticks("hbm_request"), f"HBM of chip {sides[0].port.chip}"
    channels = _channel_loads(sides, data)
    extra = [0] * data.hbm_channels
    for side in sides:
        for index, count in enumerate((side.hbm and side.hbm.partial) or ()):
            extra[index] += count * (data.ticks("hbm_partial") - s)
    rows = _row_loads(sides, data)
    loads = [n * s for n in channels]
    found = [
        _busiest("channels", loads, sides, chip, _channel_why(channels), data.source("hbm_request")),
    ]
    if any(extra):
        why = "windows written in part are read, changed and written back"
        both = [a + b for a, b in zip(loads, extra, strict=True)]
        found.append(_busiest("partial windows", both, sides, chip, why, data.source("hbm_partial")))
    if rows is not None and any(rows):
        times = sum(rows) // data.ticks("hbm_row_switch")
        why = f"rows of a bank replace each other at least {times:,} times, which no queue avoids"
        found.append(_busiest("row switches", rows, sides, chip, why, data.source("hbm_row_switch")))
    return [*found, *_partial_total(sides, data, chip), *_group_bound(sides, data, chip)]


def _busiest(name: str, loads: Sequence[int], sides: Sequence[Side], where: str, why: str, source: str) -> Bound:
    return Bound(name, _net(max(loads), sides), where, why, source)


def _channel_loads(sides: Iterable[Side], data: CostData) -> list[int]:
    """Requests per channel; a stream that cannot be counted is spread evenly, which no channel can beat."""
    total, loose = [0] * data.hbm_channels, 0
    for side in sides:
        assert side.hbm is not None
        if side.hbm.channels is None:
            loose += side.requests
        else:
            total = [a + b for a, b in zip(total, side.hbm.channels, strict=True)]
    if not loose:
        return total
    level = -(-(sum(total) + loose) // data.hbm_channels)
    return [max(n, level) for n in total]


def _channel_why(channels: Sequence[int]) -> str:
    used = sum(1 for count in channels if count)
    return f"{used} of {len(channels)} channels carry {sum(channels):,} requests, the busiest {max(channels):,}"


def _row_loads(sides: Sequence[Side], data: CostData) -> list[int] | None:
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


def _partial_total(sides: Sequence[Side], data: CostData, chip: str) -> list[Bound]:
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


def _group_bound(sides: Sequence[Side], data: CostData, chip: str) -> list[Bound]:
    """Requests to one bank group of one channel follow each other at its own rate (tCCD)."""
    one = data.ticks("hbm_bank_group")
    if one <= data.ticks("hbm_request"):
        return []
    rest = one - data.ticks("hbm_request")
    most = _fullest_group([side.hbm.groups for side in sides if side.hbm and side.hbm.groups and not side.hbm.high])
    if not most:
        return []
    why = f"one bank group of a channel takes {most:,} requests at half the rate"
    return [_busiest("bank groups", [most * one - rest], sides, chip, why, data.source("hbm_bank_group"))]


def _fullest_group(streams: Sequence[GroupUse]) -> int:
    """The most requests that streams send to one bank group of one channel."""
    total: dict[int, int] = defaultdict(int)
    alike = len({stream.basis for stream in streams}) == 1
    for stream in streams:
        for place in (stream.place,) if alike else stream.expand():
            total[place] += stream.each
    return max(total.values(), default=0)


# ---------------------------------------------------------------- data memory, SPM, PCIe


def _dm_bounds(sides: Sequence[Side], data: CostData) -> list[Bound]:
    """DMN loads of all streams in one cluster, and blocks of one stream that leave the other DMN idle."""
    one = data.ticks("dm_request")
    where = f"DM of chip {sides[0].port.chip}, cluster {sides[0].port.cluster}"
    loads = [0] * 8
    for side in sides:
        assert side.dm is not None
        price = data.ticks("dm_unaligned") if side.dm.unaligned else one
        loads = [a + b * price for a, b in zip(loads, side.dm.dmns or (0,) * 8, strict=True)]
    used = sum(1 for load in loads if load)
    why = f"{used} DMN{'s' if used != 1 else ''} at 128 B/cycle, two cycles a request"
    found = [_busiest("DMNs", loads, sides, where, why, data.source("dm_request"))] if used else []
    return [*found, *(bound for side in sides for bound in _alternation(side, data, where))]


def _alternation(side: Side, data: CostData, where: str) -> list[Bound]:
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


def _spm_bounds(sides: Sequence[Side], data: CostData) -> list[Bound]:
    load = sum(side.requests for side in sides) * data.ticks("spm_request")
    where = f"SPM of chip {sides[0].port.chip}, cluster {sides[0].port.cluster}"
    return [Bound("SPM", _net(load, sides), where, "128 B/cycle", data.source("spm_request"))]


def _link_bounds(pairs: Sequence[tuple[Side, Side]], data: CostData) -> list[Bound]:
    moved: dict[int, int] = defaultdict(int)
    for read, write in pairs:
        if read.port.chip != write.port.chip:
            moved[read.port.chip] += read.nest.packets * read.nest.size
    price, source = data.ticks("pcie_byte"), data.source("pcie_byte")
    return [
        Bound("PCIe", size * price, f"PCIe of chip {chip}", f"{size:,} bytes leave the chip at 30 B/cycle", source)
        for chip, size in moved.items()
    ]


def _port_bounds(pairs: Sequence[tuple[Side, Side]], data: CostData) -> list[Bound]:
    """What the slices of one cluster exchange with one stack of HBM."""
    price = data.ticks("cluster_stack")
    if not price:
        return []
    ports: dict[tuple[int, int, int], list[tuple[Side, int]]] = defaultdict(list)
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
    port = max(loads, key=lambda one: loads[one])
    chip, cluster, stack = port
    why = f"cluster {cluster} and stack {stack} exchange {loads[port]:,} requests"
    net = _net(loads[port] * price, [side for side, many in ports[port] if many])
    return [
        Bound("stack port", net, f"chip {chip}, cluster {cluster}, stack {stack}", why, data.source("cluster_stack"))
    ]


# ---------------------------------------------------------------- all engines together


def shared_bounds(pairs: Sequence[tuple[Side, Side]], data: CostData) -> list[Bound]:
    """What all commands together ask of each memory, in ticks after the first start-up; empty for one command."""
    if len(pairs) < 2:
        return []
    found: list[Bound] = []
    for sides in _by_memory(pairs).values():
        found += [bound for bound in _memory_bounds(sides, data) if not bound.name.endswith("order")]
    found += [*_link_bounds(pairs, data), *_port_bounds(pairs, data)]
    return [_all_engines(bound) for bound in found if bound.ticks > 0]


def _all_engines(bound: Bound) -> Bound:
    return Bound(f"{bound.name}, all engines", bound.ticks, bound.resource, bound.why, bound.source)
