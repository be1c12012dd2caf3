"""Random programs that are meant to part the closed form from the simulator, and what became of them.

Knows: how nests of DMA commands are made up, ordinary and adversarial; the law that both evaluators keep.
Does not know: the inside of either evaluator.
Law: `random_program(seed, kind)` is the same program every time; `run` counts every violation and names its seed.

Kinds: `any` (all tiers, sizes, engines, several commands), and the adversarial ones: `bank` (every request of a stream
in one bank of one channel, rows in turns), `channel` (strides that cancel in the XOR of the channel), `dmn` (all slices
in one DMN), `partial` (runs below a window, at odd offsets), `shared` (engines that read the same windows), `long`
(blocks of reuse about as long as the channel's queue), `even` (regular: where the closed form says exact).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dmaverify.cost.constants import cost_data
from dmaverify.cost.model import cost
from dmaverify.cost.simulate import simulate
from dmaverify.program.command import Command, Engine, Loop, Port

SLICE = 1 << 22
DMN = 32 * SLICE
PAIR = 2 * DMN
MOST_PACKETS = 3000
HBM_BYTES = 48 << 30


def engines() -> list[Engine]:
    """The engines of one chip."""
    return [Engine(0, cluster, number) for cluster in range(2) for number in range(4)]


# ---------------------------------------------------------------- any


def _hbm_stride(rng: random.Random) -> int:
    regular = [1 << rng.randrange(8, 30), 1 << rng.randrange(13, 27), 0, 1 << 29, 1 << 30]
    return rng.choice([*regular, 256 * rng.randrange(1, 64), rng.randrange(8, 1 << 14) // 8 * 8])


def _dm_stride(rng: random.Random, size: int) -> int:
    regular = [SLICE, DMN, 2 * SLICE, SLICE * rng.choice([4, 8, 16]), size, 256, 512, 1024, 0]
    return rng.choice([*regular, 8 * rng.randrange(1, 64)])


def _stride(rng: random.Random, tier: str, size: int) -> int:
    if tier == "hbm":
        return _hbm_stride(rng)
    return _dm_stride(rng, size) if tier == "dm" else 256 * rng.randrange(8)


def _any_command(rng: random.Random, engine: Engine, tiers: tuple[str, str]) -> Command:
    """A nest between two tiers: powers of two or not, aligned or not, forwards or backwards."""
    counts = [2, 4, 8, 16, 32, 64] if rng.random() < 0.6 else [2, 3, 5, 7, 8, 15, 16, 30]
    size = rng.choice([256, 256, 256, 128, 64, 120, 480, 512, 1024, 8, 264, 2000, 4096])
    loops: list[Loop] = []
    total = 1
    for _ in range(rng.randrange(1, 5)):
        count = rng.choice(counts)
        if total * count > MOST_PACKETS:
            break
        total *= count
        read, write = (_stride(rng, tier, size) * (-1 if rng.random() < 0.1 else 1) for tier in tiers)
        loops.append(Loop(count, read, write))
    ports = [_any_port(rng, tier, engine, loops, role) for tier, role in zip(tiers, ("read", "write"), strict=True)]
    packet = size
    if size > 256 and rng.random() < 0.3:
        packet = rng.choice([part for part in (256, 64, 8, size // 2) if size % part == 0])
    return Command(ports[0], ports[1], tuple(loops), size, packet, engine)


def _any_port(rng: random.Random, tier: str, engine: Engine, loops: Sequence[Loop], role: str) -> Port:
    steps = [(loop.count, loop.read if role == "read" else loop.write) for loop in loops]
    below = sum((count - 1) * -step for count, step in steps if step < 0)
    chip = rng.choice([0, 1]) if rng.random() < 0.05 else 0
    if tier == "hbm":
        bases = [0, 0, rng.randrange(1 << 22) * 256, rng.randrange(1 << 20) * 8, 1 << 34]
        return Port("hbm", below + rng.choice(bases), chip)
    base = rng.choice([0, SLICE * rng.randrange(64), DMN, rng.randrange(100) * 8]) if tier == "dm" else 0
    return Port(tier, below + base, chip, engine.cluster)


TIERS = [("hbm", "dm")] * 5 + [("dm", "hbm")] * 4 + [("hbm", "hbm"), ("dm", "dm"), ("hbm", "spm"), ("spm", "dm")]


def _any(rng: random.Random) -> list[Command]:
    """One to eight engines, alike up to their bases or each its own, some with several commands."""
    tiers = rng.choice(TIERS)
    chosen = rng.sample(engines(), rng.choice([1, 1, 1, 2, 4, 8]))
    alike, base, found = rng.random() < 0.5, _any_command(rng, chosen[0], tiers), []
    step = rng.choice([1 << 18, 1 << 20, 1 << 26, 256, 0, 1 << 19])
    for engine in chosen:
        if alike:
            offset = step * (engine.cluster * 4 + engine.dmn)
            moved = [replace(p, base=p.base + (offset if p.tier == "hbm" else 0)) for p in (base.read, base.write)]
            found.append(replace(base, engine=engine, read=moved[0], write=moved[1]))
        else:
            found.append(_any_command(rng, engine, tiers))
        if rng.random() < 0.15:
            found.append(_any_command(rng, engine, rng.choice([tiers, ("hbm", "dm")])))
    return found


# ---------------------------------------------------------------- adversarial


def _slices(rng: random.Random, count: int, one_dmn: bool) -> list[tuple[int, int]]:
    """Loops over that many slices: (count, stride), the two DMNs in turns or one DMN."""
    inside = min(32, count) if one_dmn else max(1, min(32, count // 2))
    loops = [(inside, SLICE)] if inside > 1 else []
    if not one_dmn and count > 1:
        loops.insert(rng.choice([0, len(loops)]), (2, DMN))
    return loops


def _spread(
    rng: random.Random, hbm: Sequence[tuple[int, int]], size: int, step: int, one_dmn: bool = False, store: bool = False
) -> list[Command]:
    """Loops of HBM, (count, stride) from the outermost, each paired with a loop of DM; alike on some engines."""
    chosen = rng.sample(engines(), rng.choice([1, 1, 2, 4, 8]))
    slices = _slices(rng, 64, one_dmn)
    loops, inner = [], size
    for index, (count, stride) in enumerate(hbm):
        dm = slices[index % len(slices)] if rng.random() < 0.5 and count <= 32 else (count, inner)
        other = dm[1] if count <= dm[0] else inner
        inner += size * count if other == inner else 0
        loops.append(Loop(count, other, stride) if store else Loop(count, stride, other))
    found = []
    for index, engine in enumerate(chosen):
        memory, data = Port("hbm", step * index), Port("dm", engine.dmn * PAIR, cluster=engine.cluster)
        ends = (data, memory) if store else (memory, data)
        found.append(Command(*ends, tuple(loops), size, size, engine))
    return found


def _bank(rng: random.Random) -> list[Command]:
    rows = [(rng.choice([2, 4, 16, 64]), 1 << rng.choice([29, 30, 31])), (rng.choice([1, 2, 8]), 1 << 33)]
    columns = [(rng.choice([1, 2, 4, 8]), (1 << rng.choice([14, 15, 16])) ^ (1 << rng.choice([10, 11, 12])))]
    loops = [loop for loop in rng.sample([*rows, *columns, (rng.choice([1, 4, 32]), 0)], 4) if loop[0] > 1]
    return _spread(rng, loops or [(2, 1 << 29)], 256, rng.choice([0, 1 << 14, 1 << 32]), store=rng.random() < 0.3)


def _channel(rng: random.Random) -> list[Command]:
    bit = rng.randrange(4)
    pairs = [(1 << 9 + bit) ^ (1 << other + bit) for other in (13, 17, 21, 25)]
    loops = [
        (rng.choice([2, 4, 3]), rng.choice([*pairs, 1 << 29, 1 << 20, 1 << 8])) for _ in range(rng.randrange(2, 5))
    ]
    return _spread(rng, loops, 256, rng.choice([0, 512, 1 << 13]), store=rng.random() < 0.3)


def _dmn(rng: random.Random) -> list[Command]:
    loops = [(rng.choice([2, 4, 8, 32]), rng.choice([256, 1024, 1 << 13, 0])) for _ in range(rng.randrange(1, 4))]
    return _spread(rng, loops, rng.choice([8, 128, 256, 512, 4096]), 1 << 20, True, rng.random() < 0.5)


def _partial(rng: random.Random) -> list[Command]:
    size = rng.choice([2, 8, 16, 120, 200, 264, 480, 1000, 2000, 2800])
    loops = [
        (rng.choice([2, 3, 8, 16]), rng.choice([size, size + 8, 256, 264, 1 << 14])) for _ in range(rng.randrange(1, 4))
    ]
    found = _spread(rng, loops, size, rng.choice([0, size, 1 << 20]), store=rng.random() < 0.8)
    shift = rng.choice([0, 1, 8, 60, 128, 250])
    return [
        replace(
            command,
            read=replace(command.read, base=command.read.base + shift * (command.read.tier == "hbm")),
            write=replace(command.write, base=command.write.base + shift * (command.write.tier == "hbm")),
        )
        for command in found
    ]


def _shared(rng: random.Random) -> list[Command]:
    loops = [(rng.choice([2, 8, 16]), 256), (rng.choice([8, 32]), 0), (2, rng.choice([0, 512, 4096]))]
    return _spread(rng, loops, rng.choice([256, 16, 512]), rng.choice([0, 0, 4096]))


def _long(rng: random.Random) -> list[Command]:
    block = rng.choice([16, 32, 64, 128])
    loops = [
        (rng.choice([2, 4, 8]), 1 << 14),
        (block, 1 << rng.choice([13, 17, 20, 21])),
        (2, 1 << rng.choice([8, 29])),
    ]
    return _spread(rng, rng.sample(loops, 3), 256, rng.choice([1 << 18, 1 << 26]), store=rng.random() < 0.3)


def _even(rng: random.Random) -> list[Command]:
    """One engine over powers of two, most of which no resource holds up or one alone does: where `exact` is said."""
    bits = rng.sample([10, 11, 14, 15, 16, 13, 17, 29], 5)
    inner = (2, 1 << rng.choice([8, 8, 8, 14, 29]), DMN)
    middle = (rng.choice([2, 16, 32]), 1 << rng.choice([9, 9, 9, 10, 30]), SLICE)
    outer = [(2, 1 << bit, 256 << index) for index, bit in enumerate(bits[: rng.randrange(5)])]
    loops = [Loop(*loop) for loop in (*outer, middle, inner)]
    store = rng.random() < 0.4
    swapped = tuple(Loop(n.count, n.write, n.read) for n in loops) if store else tuple(loops)
    ends = (Port("dm", 0), Port("hbm", 0)) if store else (Port("hbm", 0), Port("dm", 0))
    return [Command(*ends, swapped, 256, 256, Engine())]


KINDS = {
    "any": _any,
    "bank": _bank,
    "channel": _channel,
    "dmn": _dmn,
    "partial": _partial,
    "shared": _shared,
    "long": _long,
    "even": _even,
}


def random_program(seed: int, kind: str = "any") -> list[Command]:
    """The program of a seed; `kind` as in the module's docstring. One that leaves HBM is drawn again, because no memory
    holds what it asks for.
    """
    rng = random.Random(seed)
    while True:
        found = KINDS[kind](rng)
        if all(_exists(command) for command in found):
            return found


def _exists(command: Command) -> bool:
    """Whether every address of HBM that the command walks over exists."""
    sides = ((command.read, [loop.read for loop in command.loops]), (command.write, [n.write for n in command.loops]))
    for port, steps in sides:
        turns = [(loop.count - 1) * step for loop, step in zip(command.loops, steps, strict=True)]
        low, high = port.base + sum(min(t, 0) for t in turns), port.base + sum(max(t, 0) for t in turns)
        if port.tier == "hbm" and not 0 <= low <= high + command.burst <= HBM_BYTES:
            return False
    return True


# ---------------------------------------------------------------- the campaign


UNDER = {"beside": ("book", {"memory/hbm-copy": "side-by-side"})}
"""What is no profile of its own: a profile under readings."""


@dataclass(frozen=True, slots=True)
class CampaignOutcome:
    """One program under one profile. `broken`: the bound lies above the simulation, or `exact` was said in vain."""

    kind: str
    seed: int
    profile: str
    bound: float
    simulated: float
    exact: bool

    @property
    def broken(self) -> bool:
        return self.bound > self.simulated or (self.exact and self.bound != self.simulated)


def outcome(kind: str, seed: int, profile: str) -> CampaignOutcome:
    """Both evaluators on one program."""
    data, program = cost_data(*UNDER.get(profile, (profile, {}))), random_program(seed, kind)
    bound = cost(program, data)
    return CampaignOutcome(kind, seed, profile, bound.cycles, simulate(program, data).cycles, bound.exact)


def run(first: int, count: int, kinds: Sequence[str], profiles: Sequence[str]) -> list[CampaignOutcome]:
    """Seeds `first` to `first + count - 1` of every kind under every profile."""
    seeds = range(first, first + count)
    return [outcome(kind, seed, profile) for kind in kinds for profile in profiles for seed in seeds]


def table(found: Sequence[CampaignOutcome]) -> str:
    """Per kind and profile: programs, how many exact, how tight the bound is, violations by seed."""
    lines = [f"{'kind':<9}{'profile':<10}{'programs':>9}{'exact':>7}{'median bound/simulated':>24}  violations"]
    groups: dict[tuple[str, str], list[CampaignOutcome]] = {}
    for one in found:
        groups.setdefault((one.kind, one.profile), []).append(one)
    for (kind, profile), own in groups.items():
        ratios = sorted(one.bound / one.simulated for one in own)
        bad = ", ".join(f"seed {one.seed} ({one.bound:,.1f} > {one.simulated:,.1f})" for one in own if one.broken)
        exact = sum(one.exact for one in own)
        lines.append(f"{kind:<9}{profile:<10}{len(own):>9}{exact:>7}{ratios[len(ratios) // 2]:>24.3f}  {bad or 'none'}")
    broken = sum(one.broken for one in found)
    lines.append(f"{len(found):,} comparisons, {broken} violations: " + ("FAILED" if broken else "the bound holds"))
    return "\n".join(lines)
