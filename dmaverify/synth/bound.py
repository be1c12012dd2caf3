"""What no plan of a cover can beat: resources that every order, packet and share of engines needs.

Knows: the terms of the cost model and which of them no order of loops can change.
Does not know: how plans are found, rules, texts.
Law: `floor_of` is at most the cost of every member of the space made from the cover, and `part_floor` at most that
of every order of
a given sharing and packet. Both use the cost model's own counts: of the longest runs that both sides share, whole,
and of one part.

Why: a packet is contiguous on both sides, so it lies in one longest run; cutting a run never makes fewer window
touches, fewer
256-byte parts or fewer partial windows. Loads of shared memories add over engines whatever the order. An engine
issues one
request at a time, so the fullest of n engines has at least 1/n of them. Source: docs/design.md; docs/machines/rngd.md
8.1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import prod

from dmaverify.cost.bounds import ALL_ENGINES, link_bounds
from dmaverify.cost.constants import TICKS, CostData
from dmaverify.cost.model import Bound, Cost, Term, own_bounds, shared_bounds
from dmaverify.cost.nest import nest_of, windows
from dmaverify.cost.rows import row_use
from dmaverify.cost.sides import SideCost, pairs_of, request_ticks, slices_of
from dmaverify.errors import InputError
from dmaverify.program.command import Command
from dmaverify.synth.atoms import Atom
from dmaverify.synth.space import Nested, SynthMachine
from dmaverify.values import dataclass, replace

FREE = (
    "read issue",
    "write issue",
    "issue",
    "channels",
    "partial windows",
    "partial windows, mean",
    "bank groups",
    "DMNs",
    "SPM",
    "PCIe",
    "stack port",
)
"""Terms of the cost model that depend on which requests there are, not on their order."""


@dataclass(frozen=True, slots=True)
class Floor:
    """The bound of a cover: its greatest term. `shared` is what shared memories need beyond the shortest start-up,
    `program` the commands it was counted on.
    """

    cycles: float
    terms: tuple[Term, ...]
    shared: float = 0.0
    program: tuple[Command, ...] = ()


def is_free(bound: Bound) -> bool:
    """Whether no order changes the term."""
    return bound.name.removesuffix(ALL_ENGINES) in FREE


def _is_sure(bound: Bound) -> bool:
    return bound.name.removesuffix(ALL_ENGINES) in FREE and "issue" not in bound.name


def priced_floor(price: Cost, data: CostData) -> float:
    """What no order of a priced plan beats: its terms that the order does not change, shared ones and those of the
    slowest engine.
    """
    startup = min(read.startup for read, _ in price.sides) / TICKS
    own = price.terms[0].cycles
    return max(
        (
            (startup if t.name.endswith(ALL_ENGINES) else own) + t.cycles
            for t in price.terms
            if t.name.removesuffix(ALL_ENGINES) in FREE
        ),
        default=0.0,
    )


def floor_of(commands: Sequence[Command], engines: int, data: CostData, *, chosen: bool = False) -> Floor:
    """The bound of a cover from one command a box, whose packets are the longest runs (then it holds for all packets)
    or those of a choice (`chosen`: then for every share and order with these). `engines` is what a chip may use.

    Where runs do not start on whole bytes the model counts nothing, and the start-up alone is claimed.
    """
    try:
        pairs = pairs_of(commands, data)
    except InputError:
        least = min(data.ticks("startup"), data.ticks("startup_store")) / TICKS
        only = Term("start-up", least, "engine", "every command waits for its start-up", data.source("startup"))
        return Floor(least, (only,))
    startup = min(data.ticks("startup_store" if write.port.tier == "hbm" else "startup") for _, write in pairs)
    rounds, issue, why = _issue(pairs, engines, chosen, startup, data)
    spread = max(max(0, read.issue - least_issue(write.port.tier == "hbm", data)) for read, write in pairs)
    if len(pairs) > 1:
        shared = shared_bounds(pairs, data, ordered=False)
    else:
        shared = [b for b in own_bounds(commands[0], pairs[0], data, ordered=False) if b.name != "PCIe"]
        shared += link_bounds(pairs, data)  # engines may share the command
    loads = [b for b in shared if _is_sure(b)] + forced_rows(pairs, data)
    terms = [replace(b, ticks=b.ticks - spread) for b in loads]
    most = max((b.ticks for b in terms), default=0) / TICKS
    terms.append(Bound("engine issue", issue, "engines", why, data.source("issue")))
    waits = "every command waits for its start-up"
    found = [Term("start-up", rounds * startup / TICKS, "engine", waits, data.source("startup"))]
    found += [
        Term(b.name.removesuffix(ALL_ENGINES), (startup + b.ticks) / TICKS, b.resource, b.why, b.source) for b in terms
    ]
    found.sort(key=lambda term: -term.cycles)
    return Floor(found[0].cycles, tuple(found), most, tuple(commands))


def least_issue(into_hbm: bool, data: CostData) -> int:
    """The least that a request may cost an engine in ticks, whatever the model makes of the command."""
    return data.ticks("issue_store") if into_hbm else min(data.ticks("issue"), data.ticks("issue_reread"))


def _issue(
    pairs: Sequence[tuple[SideCost, SideCost]], engines: int, chosen: bool, startup: int, data: CostData
) -> tuple[int, int, str]:
    """(commands of one engine, ticks of issue, why) that the fullest engine of some chip has at least, beyond one
    start-up.

    An engine needs its start-ups, the setup of each slice it visits, and its requests, whoever does what: the fullest
    of n has at least 1/n of the sum.
    """
    total: dict[int, int] = defaultdict(int)
    ticks: dict[int, int] = defaultdict(int)
    boxes: dict[int, int] = defaultdict(int)
    for read, write in pairs:
        chip = read.port.chip or write.port.chip
        each = least_issue(write.port.tier == "hbm", data)
        same = data.in_turn(read.memory, write.memory)
        counts = [side.requests for side in (read, write)]
        loads = [_issue_of(side, each, data) for side in (read, write)]
        queue = max(_in_one_slice(side, each, data) for side in (read, write)) if chosen else 0
        total[chip] += sum(counts) if same else max(counts)
        issue = sum(loads) if same else max(loads)
        once, between = _setup(read, write, sum(counts) if same else max(counts), data)
        ticks[chip] += once + max(issue + between, queue)  # while slices are set up, queues empty
        boxes[chip] += 1
    chip = max(ticks, key=lambda c: (ticks[c] + boxes[c] * startup, -c))
    rounds = -(-max(boxes.values()) // engines)
    many = -(-total[chip] // engines)
    said = f"{engines} engine{'s' if engines != 1 else ''}"
    why = f"{total[chip]:,} requests at least, on {said} of a chip: one has {many:,}"
    mean = -(-(boxes[chip] * startup + ticks[chip]) // engines) - startup
    least = min(least_issue(write.port.tier == "hbm", data) for _, write in pairs)
    return rounds, max(mean, -(-ticks[chip] // engines), many * least, _in_turns(pairs, engines, data)), why


def _setup(read: SideCost, write: SideCost, requests: int, data: CostData) -> tuple[int, int]:
    """Ticks that the setup of slices costs at least, however a box is shared: by command, and between its requests.

    Of the latter each request carries whole ticks. Where slices are alike a slice that one command visits has as many
    requests in every share, and one that several visit is set up again in each; elsewhere a tick a request may be lost.
    """
    slices = max(slices_of(side.nest, side, data) for side in (read, write)) if write.port.tier != "hbm" else 0
    if not slices:
        return 0, 0
    once, each, many = data.ticks("slice_setup") * slices, data.ticks("issue_slice"), requests // slices
    parts = any(side.windows.partial or side.windows.crossing for side in (read, write) if side.hbm is not None)
    alike = many * slices == requests and each >= 2 * many and not parts
    return once, requests * read.setup if alike else max(0, each * slices - requests)


def _in_turns(pairs: Sequence[tuple[SideCost, SideCost]], engines: int, data: CostData) -> int:
    """Ticks that an engine needs at least for windows of one HBM written in part: each of the engines that write any
    pays for all of them, and issues its share.
    """
    price = min(data.ticks(name) for name in ("issue_partial", "issue_ragged", "issue_single"))
    many: dict[int, int] = defaultdict(int)
    chips = {side.port.chip for pair in pairs for side in pair}
    for _, write in pairs:
        if write.port.tier == "hbm":
            many[write.port.chip] += write.windows.partial
    share = data.ticks("issue_store") / (engines * max(1, len(chips)))
    return max((n * price + int(n * share) for n in many.values()), default=0)


def _issue_of(side: SideCost, each: int, data: CostData) -> int:
    """Ticks an engine needs for the requests of a side: windows written in part cost more."""
    load = side.requests * each
    if side.role == "write" and side.port.tier == "hbm":
        seen = side.windows
        whole, ragged = data.ticks("issue_partial"), min(data.ticks("issue_ragged"), data.ticks("issue_single"))
        load += (seen.partial - seen.ragged) * min(whole, ragged) + seen.ragged * ragged
    return load


def least_rate(commands: Sequence[Command], data: CostData) -> tuple[Fraction, int]:
    """(ticks per request, ticks of one) of the slowest memory side when all its servers that the whole runs use work
    all the time: what no share or order beats, request by request.
    """
    found = [(Fraction(0), 0)]
    try:
        pairs = pairs_of(commands, data)
    except InputError:
        return found[0]
    for index in (0, 1):
        sides = [pair[index] for pair in pairs]
        servers = sum(_servers([s for s in sides if s.memory == place], data) for place in {s.memory for s in sides})
        each = request_ticks(sides[0].port.tier, data)
        found.append((Fraction(each, servers), each))
    return max(found)


def _servers(sides: Sequence[SideCost], data: CostData) -> int:
    """Channels or DMNs of one memory that the sides use."""
    tier = sides[0].port.tier
    if tier == "hbm":
        return data.hbm_channels
    if tier != "dm":
        return max(side.parts for side in sides)
    used = [side.dm.dmns for side in sides if side.dm is not None]
    if any(one is None for one in used):
        return 1 << len(data.dm.dmn)
    return max(1, sum(1 for loads in zip(*(one for one in used if one is not None), strict=True) if any(loads)))


def windows_floor(commands: Sequence[Command], data: CostData) -> float:
    """Cycles that the windows touched in HBM need, spread evenly over its channels: quick, and less than `floor_of`."""
    loads: dict[int, int] = defaultdict(int)
    base = min(data.ticks("startup"), data.ticks("startup_store"))
    try:
        for one in commands:
            for role, port in (("read", one.read), ("write", one.write)):
                if port.tier == "hbm":
                    loads[port.chip] += windows(nest_of(one, role), data.hbm.window).touched
    except InputError:
        return base / TICKS
    each = data.ticks("hbm_request")
    return max((base + (n * each) // data.hbm_channels - each for n in loads.values()), default=base) / TICKS


def forced_rows(pairs: Sequence[tuple[SideCost, SideCost]], data: CostData) -> list[Bound]:
    """Rows that some order must open: each row of a bank that is visited, but for the first, replaces another, and a
    channel replaces one at a time. Counted for the streams of one memory and direction that are one linear stream
    (powers of two without carry); of others nothing is claimed.
    """
    streams: dict[tuple[int, str], list[SideCost]] = defaultdict(list)
    for pair in pairs:
        for side in pair:
            if side.port.tier == "hbm":
                streams[side.port.chip, side.role].append(side)
    found = []
    for (chip, role), sides in streams.items():
        rows = _rows_of(sides, data)
        if rows is None:
            continue
        many, banks = rows
        load = (many - 1) * banks * data.ticks("hbm_row_switch") + data.ticks("hbm_request")
        ticks = load + min(s.head for s in sides) + min(s.tail for s in sides)
        why = f"{many:,} rows in each of {banks} banks of a channel are {role}, and one replaces another at a time"
        if many > 1 and ticks > 0:
            found.append(Bound("row openings", ticks, f"HBM of chip {chip}", why, data.source("hbm_row_switch")))
    return found


def _rows_of(sides: Sequence[SideCost], data: CostData) -> tuple[int, int] | None:
    """(rows of a bank, banks of a channel) that the streams visit together; None where they are not one linear form."""
    uses = [side.hbm for side in sides]
    if any(use is None or use.vectors is None for use in uses):
        return None
    whole = [use for use in uses if use is not None]
    first = whole[0]
    vectors = list(first.vectors or ())
    if any(use.high or set(use.vectors or ()) != set(vectors) for use in whole):
        return None
    places = {use.offset ^ first.offset for use in whole}
    more: list[int] = []
    span = {0}
    for place in sorted(places):
        if place not in span:
            more.append(place)
            span |= {place ^ other for other in span}
    used = 0
    for vector in [*vectors, *more]:
        if vector & used or vector >> data.hbm.top_high:
            return None
        used |= vector
    if span != places or first.offset & used:
        return None
    where = data.hbm
    rows = row_use(
        (*vectors, *more), where.channel_masks, where.bank_masks(False), where.row_masks(False), data.hbm_queue - 1
    )
    return rows.rows, rows.banks


def _in_one_slice(side: SideCost, each: int, data: CostData) -> int:
    """What packets of many requests cost whatever their order: all of a packet go to one slice, which queues few of
    them.
    """
    block = side.per_packet
    held = max(0, block - data.slice_queue) * data.ticks("dm_request")
    if side.dm is None or side.dm.block < block or held <= block * each or side.requests % block:
        return 0
    return side.requests // block * held


def startup_of(items: Sequence[Nested], machine: SynthMachine, data: CostData) -> float:
    """The shortest start-up of these parts in cycles: of loads with a set-up for every slice that a part steps over."""
    base = data.ticks("startup_store" if machine.tiers[1] == "hbm" else "startup")
    setup, stride = data.ticks("slice_setup"), data.dm.slice_stride * 8 // machine.unit_bits
    if not setup or machine.tiers[1] == "hbm":
        return base / TICKS
    slices = [max(_slices(item.loops, side, tier, stride) for side, tier in enumerate(machine.tiers)) for item in items]
    return (base + setup * min(slices)) / TICKS


def _slices(loops: Sequence[Atom], side: int, tier: str, stride: int) -> int:
    steps = [(a.count, a.write if side else a.read) for a in loops]
    return prod(n for n, step in steps if step and step % stride == 0) if tier == "dm" else 0


class Shapes:
    """Own bounds of commands, remembered by what the model looks at. `asked` counts evaluations."""

    def __init__(self, data: CostData) -> None:
        self.data = data
        self.known: dict[Command, int] = {}
        self.asked = 0

    def own(self, one: Command) -> int:
        """Ticks that no order changes: the start-up and the greatest free term of the command by itself."""
        key = replace(one, engine=None, span=None)
        if key not in self.known:
            self.asked += 1
            pair = pairs_of([one], self.data)[0]
            free = [b.ticks for b in own_bounds(one, pair, self.data, ordered=False, in_sequence=True) if is_free(b)]
            queues = [_in_one_slice(side, side.issue, self.data) for side in pair]
            self.known[key] = pair[0].startup + max([*free, *queues])
        return self.known[key]

    def part_floor(self, commands: Sequence[Command]) -> float:
        """Cycles that some engine needs whatever the order: the two fullest engines by themselves."""
        by_engine: dict[object, list[Command]] = defaultdict(list)
        for one in commands:
            by_engine[one.engine].append(one)
        ranked = sorted(by_engine.values(), key=lambda group: (-len(group), -sum(c.amount for c in group)))
        return max(sum(self.own(c) for c in group) for group in ranked[:2]) / TICKS
