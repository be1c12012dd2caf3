"""The whole space by plain enumeration: no floors, no order of search. What the search must agree with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations, product

from dmaverify.cost.constants import TICKS, CostData, cost_data
from dmaverify.cost.model import cost
from dmaverify.cost.nest import image
from dmaverify.cost.sides import SideCost, pairs_of
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.synth.legal import Law
from dmaverify.synth.orders import arranged
from dmaverify.synth.shares import layerings
from dmaverify.synth.space import command, nested
from dmaverify.synth.synthesize import covers_of, machine_of
from dmaverify.targets.target import Target


def members(
    moved: Transfer, target: Target, engines: int, data: CostData | None = None
) -> Iterator[tuple[int, Sequence[Command]]]:
    """(number of the cover, program) of every legal member: each share, packet and order of loops; with the engines
    that a profile knows.
    """
    machine = machine_of(moved, target, engines, data)
    law = Law(moved, target, target.limits_with(()), {})
    for number, cover in enumerate(covers_of(moved, target, machine).each):
        for layering in layerings(cover, machine):
            runs = list(dict.fromkeys(work.box.chain[0] for work in layering.works))
            options = [machine.packets(run) for run in runs]
            for sizes in product(*options):
                size = dict(zip(runs, sizes, strict=True))
                items = [nested(work, size[work.box.chain[0]]) for work in layering.works]
                known = [item for item in items if item is not None]
                if len(known) < len(items):
                    continue
                for order in permutations(max(known, key=lambda item: len(item.loops)).loops):
                    program = [command(item, arranged(item, order), machine) for item in known]
                    if law.allows(program):
                        yield number, program


def price(program: Sequence[Command], data: CostData) -> float:
    """The closed form; or, where that is more, the busiest channel with its windows written in part, counted address by
    address (the closed form leaves some of them out).
    """
    pairs, least = pairs_of(program, data), cost(program, data).cycles
    chips: dict[int, list[SideCost]] = {}
    for pair in pairs:
        for side in pair:
            if side.port.tier == "hbm":
                chips.setdefault(side.port.chip, []).append(side)
    for own in chips.values():
        nests = [(s.nest.base, tuple(sorted(s.nest.loops)), s.nest.size) for s in own]
        every = [loads(*nest, s.role == "write", data.profile) for s, nest in zip(own, nests, strict=True)]
        ticks = max(map(sum, zip(*every, strict=True))) + min(s.head for s in own) + min(s.tail for s in own)
        least = max(least, (min(read.startup for read, _ in pairs) + ticks) / TICKS)
    return least


@lru_cache(maxsize=1 << 14)
def loads(base: int, loops: tuple[tuple[int, int], ...], size: int, written: bool, profile: str) -> tuple[int, ...]:
    """Ticks per channel of all packets of a nest, window by window."""
    data = cost_data(profile)
    each, partial, window = data.ticks("hbm_request"), data.ticks("hbm_partial"), data.hbm.window
    found = [0] * data.hbm_channels
    starts = [base]
    for count, step in loops:
        starts = [at + value * step for at in starts for value in range(count)]
    for at in starts:
        for start in range(at // window * window, at + size, window):
            whole = not written or (at <= start and start + window <= at + size)
            found[image(start, data.hbm.channel_masks)] += each if whole else partial
    return tuple(found)
