"""The documents' examples as commands, written down by hand, and random programs for the agreement of both
evaluators.

Source: "DMA Engine", Examples 1 to 6 and the basic example, in self-consistent form where the printed one is not (3,
4, 6, basic).
"""

from __future__ import annotations

import random
from dataclasses import replace

from dmaverify.transfer.command import Command, Engine, Loop, Port

SLICE = 1 << 22
DMN = 32 * SLICE
PAIR = 64 * SLICE


def command(
    read: Port,
    write: Port,
    loops: list[tuple[int, int, int]],
    burst: int,
    engine: Engine | None = None,
    packet: int = 0,
) -> Command:
    """Loops as (count, read stride, write stride), outer to inner, in bytes."""
    return Command(read, write, tuple(Loop(*loop) for loop in loops), burst, packet or burst, engine or Engine())


def hbm(base: int = 0, chip: int = 0) -> Port:
    return Port("hbm", base, chip)


def dm(base: int = 0, cluster: int = 0, chip: int = 0) -> Port:
    return Port("dm", base, chip, cluster)


def engines() -> list[Engine]:
    return [Engine(0, cluster, number) for cluster in range(2) for number in range(4)]


BASIC = [command(hbm(1024), hbm(2048), [(8, 8, 96), (3, 64, 32), (4, 192, 8)], 8)]
EXAMPLE_1 = [command(hbm(), hbm(16384), [(8, 2048, 256), (8, 256, 2048)], 256)]
EXAMPLE_2 = [command(hbm(), dm(), [(256, 65536, 256), (4, 256, 65536), (32, 1024, SLICE), (2, 32768, DMN)], 256)]
EXAMPLE_3 = [command(dm(), dm(4 * 65536), [(256, 256, 1024), (4, 65536, 256), (32, SLICE, SLICE), (2, DMN, DMN)], 256)]


def example_4(loops: list[tuple[int, int, int]] | None = None) -> list[Command]:
    """Eight engines; the printed order, or another order of the same loops."""
    order = loops or [(256, 1024, 1024), (4, 256, 256), (32, 1 << 21, SLICE), (2, 1 << 26, DMN)]
    return [command(hbm(e.cluster << 20 | e.dmn << 18), dm(e.dmn * PAIR, e.cluster), order, 256, e) for e in engines()]


def well_ordered_4() -> list[Command]:
    """As many bytes from as many engines to the same slices, out of a layout whose inner loops walk HBM as it lies."""
    order = [(64, 1 << 21, 4096), (4, 1 << 16, 1024), (4, 1 << 14, 256), (32, 1 << 9, SLICE), (2, 1 << 8, DMN)]
    return [command(hbm(e.cluster << 20 | e.dmn << 18), dm(e.dmn * PAIR, e.cluster), order, 256, e) for e in engines()]


def example_5(bit_8: bool = False) -> list[Command]:
    """Eight engines over a layout whose bit 8 nobody toggles; or, with `bit_8`, the same loops over both stacks."""
    row = 256 if bit_8 else 512
    order = [(8, row, 256), (32, 8 * row, SLICE), (2, 256 * row, DMN)]
    return [
        command(hbm(e.cluster * 2048 * row | e.dmn * 512 * row), dm(e.dmn * PAIR, e.cluster), order, 256, e)
        for e in engines()
    ]


def example_6() -> list[Command]:
    """Four chips; engine 3 of a cluster needs two commands, because 15 does not divide by 4."""
    found = []
    row = 15 * 256
    for chip in range(4):
        for cluster in range(2):
            for k in range(4):
                to = cluster * 32 * row + k * 1024
                engine = Engine(chip, cluster, k)
                loops = [(2, 256, 256), (32, SLICE, row)]
                if k < 3:
                    found.append(
                        command(dm(k * PAIR, cluster, chip), hbm(to, chip), [*loops, (2, DMN, 512)], 256, engine)
                    )
                    continue
                found.append(command(dm(k * PAIR, cluster, chip), hbm(to, chip), loops, 256, engine))
                last = dm(k * PAIR + DMN, cluster, chip), hbm(to + 512, chip)
                found.append(command(*last, [(32, SLICE, row)], 256, engine))
    return found


# ---------------------------------------------------------------- random programs


def _hbm_stride(rng: random.Random) -> int:
    regular = [1 << rng.randrange(8, 30), 1 << rng.randrange(13, 27), 0, 1 << 29, 1 << 30]
    return rng.choice([*regular, 256 * rng.randrange(1, 64), rng.randrange(8, 1 << 14) // 8 * 8])


def _dm_stride(rng: random.Random, size: int) -> int:
    regular = [SLICE, DMN, 2 * SLICE, SLICE * rng.choice([4, 8, 16]), size, 256, 512, 1024, 0]
    return rng.choice([*regular, 8 * rng.randrange(1, 64)])


def random_command(rng: random.Random, engine: Engine, kind: tuple[str, str]) -> Command:
    """A nest between two tiers: powers of two or not, aligned or not, forwards or backwards, up to 3,000 packets."""
    counts = [2, 4, 8, 16, 32, 64] if rng.random() < 0.6 else [2, 3, 5, 7, 8, 15, 16, 30]
    size = rng.choice([256, 256, 256, 128, 64, 120, 480, 512, 1024, 8, 264, 2000, 4096])
    loops: list[tuple[int, int, int]] = []
    total = 1
    for _ in range(rng.randrange(1, 5)):
        count = rng.choice(counts)
        if total * count > 3000:
            break
        total *= count
        strides = [
            _hbm_stride(rng) if t == "hbm" else _dm_stride(rng, size) if t == "dm" else 256 * rng.randrange(8)
            for t in kind
        ]
        loops.append((count, *(-s if rng.random() < 0.1 else s for s in strides)))
    ports = [_random_port(rng, tier, engine, loops, 1 + side) for side, tier in enumerate(kind)]
    packet = size
    if size > 256 and rng.random() < 0.3:
        packet = rng.choice([part for part in (256, 64, 8, size // 2) if size % part == 0])
    return command(ports[0], ports[1], loops, size, engine, packet)


def _random_port(rng: random.Random, tier: str, engine: Engine, loops: list[tuple[int, int, int]], side: int) -> Port:
    below = sum((loop[0] - 1) * -loop[side] for loop in loops if loop[side] < 0)
    chip = rng.choice([0, 1]) if rng.random() < 0.05 else 0
    if tier == "hbm":
        return Port(
            "hbm", below + rng.choice([0, 0, rng.randrange(1 << 22) * 256, rng.randrange(1 << 20) * 8, 1 << 34]), chip
        )
    if tier == "dm":
        base = rng.choice([0, SLICE * rng.randrange(64), DMN, rng.randrange(100) * 8])
        return Port("dm", below + base, chip, engine.cluster)
    return Port("spm", below, chip, engine.cluster)


KINDS = [("hbm", "dm")] * 5 + [("dm", "hbm")] * 4 + [("hbm", "hbm"), ("dm", "dm"), ("hbm", "spm"), ("spm", "dm")]


def random_program(seed: int) -> list[Command]:
    """One to eight engines, alike up to their bases or each its own, some with several commands."""
    rng = random.Random(seed)
    kind = rng.choice(KINDS)
    chosen = rng.sample(engines(), rng.choice([1, 1, 1, 2, 4, 8]))
    alike, base, found = rng.random() < 0.5, random_command(rng, chosen[0], kind), []
    step = rng.choice([1 << 18, 1 << 20, 1 << 26, 256, 0, 1 << 19])
    for engine in chosen:
        if alike:
            offset = step * (engine.cluster * 4 + engine.dmn)
            moved = [replace(p, base=p.base + (offset if p.tier == "hbm" else 0)) for p in (base.read, base.write)]
            found.append(replace(base, engine=engine, read=moved[0], write=moved[1]))
        else:
            found.append(random_command(rng, engine, kind))
        if rng.random() < 0.15:
            found.append(random_command(rng, engine, rng.choice([kind, ("hbm", "dm")])))
    return found
