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
request at a time, so the fullest of n engines has at least 1/n of them. Source: DESIGN section 8; facts/rngd 8.1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dmaverify.cost.constants import TICKS, CostData
from dmaverify.cost.model import Bound, Cost, own_bounds, shared_bounds
from dmaverify.cost.sides import Side, pairs_of
from dmaverify.errors import InputError
from dmaverify.transfer.command import Command

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
)
"""Terms of the cost model that depend on which requests there are, not on their order."""
SURE = tuple(name for name in FREE if name not in ("partial windows", "bank groups"))
"""Those of them that the model gives for every plan: the others need streams that it can count channel by channel."""


@dataclass(frozen=True, slots=True)
class FloorTerm:
    """One bound with its count: at least `cycles`, because `why`."""

    name: str
    cycles: float
    resource: str
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class Floor:
    """The bound of a cover: its greatest term."""

    cycles: float
    terms: tuple[FloorTerm, ...]


def is_free(bound: Bound) -> bool:
    """Whether no order changes the term."""
    return bound.name.removesuffix(", all engines") in FREE


def _is_sure(bound: Bound) -> bool:
    return bound.name.removesuffix(", all engines") in SURE and "issue" not in bound.name


def priced_floor(price: Cost) -> float:
    """What no order of a priced plan beats: its terms that the order does not change, shared ones included."""
    startup = min(read.startup for read, _ in price.sides) / TICKS
    return max(
        [
            startup + t.cycles
            for t in price.terms
            if t.name.endswith(", all engines") and t.name.removesuffix(", all engines") in FREE
        ],
        default=0.0,
    )


def floor_of(ideal: Sequence[Command], engines: int, data: CostData) -> Floor:
    """The bound of a cover from its longest runs as packets, one command a box; `engines` is what a chip may use.

    Where runs do not start on whole bytes the model counts nothing, and the start-up alone is claimed.
    """
    try:
        pairs = pairs_of(ideal, data)
    except InputError:
        least = min(data.ticks("startup"), data.ticks("startup_store")) / TICKS
        only = FloorTerm("start-up", least, "engine", "every command waits for its start-up", data.source("startup"))
        return Floor(least, (only,))
    startup = min(data.ticks("startup_store" if write.port.tier == "hbm" else "startup") for _, write in pairs)
    rounds, issue, why = _issue(ideal, pairs, engines, data)
    names = [n for n in ISSUES if n != "issue_store"]
    spread = max(data.ticks(n) for n in names) - min(data.ticks(n) for n in names)
    terms = [Bound("engine issue", (rounds - 1) * startup + issue, "engines", why, data.source("issue"))]
    shared = shared_bounds(pairs, data) if len(pairs) > 1 else own_bounds(ideal[0], pairs[0], data)
    terms += [replace(b, ticks=b.ticks - spread) for b in shared if _is_sure(b)]
    found = [
        FloorTerm(
            "start-up",
            rounds * startup / TICKS,
            "engine",
            "every command waits for its start-up",
            data.source("startup"),
        )
    ]
    found += [
        FloorTerm(b.name.removesuffix(", all engines"), (startup + b.ticks) / TICKS, b.resource, b.why, b.source)
        for b in terms
    ]
    found.sort(key=lambda term: -term.cycles)
    return Floor(found[0].cycles, tuple(found))


ISSUES = ("issue", "issue_reread", "issue_region", "issue_store")
"""What a request may cost an engine, by what the model makes of the command; a floor takes the least that can apply."""


def _issue(
    ideal: Sequence[Command], pairs: Sequence[tuple[Side, Side]], engines: int, data: CostData
) -> tuple[int, int, str]:
    """(commands of one engine, ticks of issue, why) that the fullest engine of some chip has at least."""
    total: dict[int, int] = defaultdict(int)
    ticks: dict[int, int] = defaultdict(int)
    boxes: dict[int, int] = defaultdict(int)
    for one, (read, write) in zip(ideal, pairs, strict=True):
        chip = one.engine.chip if one.engine else 0
        into_hbm = write.port.tier == "hbm"
        each = data.ticks("issue_store") if into_hbm else min(data.ticks(n) for n in ISSUES[:3])
        partial = min(data.ticks("issue_partial"), data.ticks("issue_ragged")) if into_hbm else 0
        loads = [side.requests * each + side.windows.partial * partial * (side is write) for side in (read, write)]
        total[chip] += (
            sum(s.requests for s in (read, write))
            if read.memory == write.memory
            else max(read.requests, write.requests)
        )
        ticks[chip] += sum(loads) if read.memory == write.memory else max(loads)
        boxes[chip] += 1
    chip = max(ticks, key=lambda c: (ticks[c], -c))
    many = -(-total[chip] // engines)
    engines_said = f"{engines} engine{'s' if engines != 1 else ''}"
    why = f"{total[chip]:,} requests at least, on {engines_said} of a chip: one has {many:,}"
    least = max(-(-ticks[chip] // engines), many * min(data.ticks(n) for n in ISSUES))
    return -(-max(boxes.values()) // engines), least, why


def _in_one_slice(side: Side, data: CostData) -> int:
    """What packets of many requests cost whatever their order: all of a packet go to one slice, which queues few of
    them.
    """
    block = side.per_packet
    held = max(0, block - data.slice_queue) * data.ticks("dm_request")
    if side.dm is None or side.dm.block < block or held <= block * data.ticks("issue") or side.requests % block:
        return 0
    return side.requests // block * held


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
            free = [b.ticks for b in own_bounds(one, pair, self.data) if is_free(b)]
            self.known[key] = pair[0].startup + max([*free, *(_in_one_slice(side, self.data) for side in pair)])
        return self.known[key]

    def part_floor(self, commands: Sequence[Command], samples: int = 2) -> float:
        """Cycles that some engine needs whatever the order: the fullest engines by themselves."""
        by_engine: dict[object, list[Command]] = defaultdict(list)
        for one in commands:
            by_engine[one.engine].append(one)
        ranked = sorted(by_engine.values(), key=lambda group: (-len(group), -sum(c.amount for c in group)))
        return max(sum(self.own(c) for c in group) for group in ranked[:samples]) / TICKS
