"""The documents' examples as commands, written down by hand.

Source: "DMA Engine", Examples 1 to 6 and the basic example, in self-consistent form where the printed one is not (3,
4, 6, basic).
"""

from __future__ import annotations

from dmaverify.program.command import Command, Engine, Loop, Port

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
