"""What no plan of a cover can beat: resources that every order, packet and share of engines needs.

Knows: the terms of the cost model and which of them no order of loops can change.
Does not know: how plans are found, rules, texts.
Law: `floor_of` is at most the cost of every member of the space made from the cover, and `part_floor` at most that of every order of
a given sharing and packet. Both use the cost model's own counts: of the longest runs that both sides share, whole, and of one part.

Why: a packet is contiguous on both sides, so it lies in one longest run; cutting a run never makes fewer window touches, fewer
256-byte parts or fewer partial windows. Loads of shared memories add over engines whatever the order. An engine issues one
request at a time, so the fullest of n engines has at least 1/n of them. Source: DESIGN section 8; facts/rngd 8.1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dmaverify.cost.constants import TICKS, CostData
from dmaverify.cost.model import Bound, own_bounds, shared_bounds
from dmaverify.cost.sides import Side, pair_of
from dmaverify.transfer.command import Command

FREE = ("read issue", "write issue", "issue", "channels", "partial windows", "partial windows, mean", "bank groups", "DMNs", "SPM", "PCIe")
"""Terms of the cost model that depend on which requests there are, not on their order."""


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


def floor_of(ideal: Sequence[Command], engines: int, data: CostData) -> Floor:
    """The bound of a cover from its longest runs as packets, one command a box; `engines` is what a chip may use."""
    pairs = [pair_of(one, data) for one in ideal]
    startup = data.ticks("startup")
    rounds, issue, why = _issue(ideal, pairs, engines, data)
    terms = [Bound("engine issue", rounds * startup - startup + issue, "engines", why, data.source("issue"))]
    shared = shared_bounds(pairs, data) if len(pairs) > 1 else own_bounds(ideal[0], pairs[0], data)
    terms += [b for b in shared if is_free(b) and "issue" not in b.name]
    found = [FloorTerm("start-up", startup / TICKS, "engine", "every command waits for its start-up", data.source("startup"))]
    found += [
        FloorTerm(b.name.removesuffix(", all engines"), (startup + b.ticks) / TICKS, b.resource, b.why, b.source) for b in terms
    ]
    found.sort(key=lambda term: -term.cycles)
    return Floor(found[0].cycles, tuple(found))


def _issue(ideal: Sequence[Command], pairs: Sequence[tuple[Side, Side]], engines: int, data: CostData) -> tuple[int, int, str]:
    """(commands of one engine, ticks of issue, why) that the fullest engine of some chip has at least."""
    total: dict[int, int] = defaultdict(int)
    boxes: dict[int, int] = defaultdict(int)
    for one, (read, write) in zip(ideal, pairs, strict=True):
        chip = one.engine.chip if one.engine else 0
        same = read.memory == write.memory
        total[chip] += read.requests + write.requests if same else max(read.requests, write.requests)
        boxes[chip] += 1
    chip = max(total, key=lambda c: (total[c], -c))
    many = -(-total[chip] // engines)
    why = f"{total[chip]:,} requests at least, on {engines} engine{'s' if engines != 1 else ''} of a chip: one has {many:,}"
    return -(-max(boxes.values()) // engines), many * data.ticks("issue"), why


class Shapes:
    """Own bounds of commands, remembered by what the model looks at. `asked` counts evaluations."""

    def __init__(self, data: CostData) -> None:
        self.data = data
        self.known: dict[Command, tuple[int, int]] = {}
        self.asked = 0

    def own(self, one: Command) -> tuple[int, int]:
        """(order-free, of this order) in ticks after the start-up."""
        key = replace(one, engine=None, span=None)
        if key not in self.known:
            self.asked += 1
            bounds = own_bounds(one, pair_of(one, self.data), self.data)
            free = max((b.ticks for b in bounds if is_free(b)), default=0)
            self.known[key] = free, max((b.ticks for b in bounds), default=0)
        return self.known[key]

    def part_floor(self, commands: Sequence[Command], samples: int = 2) -> float:
        """Cycles that some engine needs whatever the order: start-ups and order-free terms of the fullest engines."""
        startup = self.data.ticks("startup")
        by_engine: dict[object, list[Command]] = defaultdict(list)
        for one in commands:
            by_engine[one.engine].append(one)
        ranked = sorted(by_engine.values(), key=lambda group: (-len(group), -sum(c.amount for c in group)))
        return max(sum(startup + self.own(c)[0] for c in group) for group in ranked[:samples]) / TICKS
