"""Tiles of slices in several loops beside DMA: each slice sees iterations of its own, in stretches with pauses between.

Knows: iterations in order, the slices of each, accesses to a bank one by one. Does not know: nests, residues, solvers.
Law: what every slice sees is listed; a run ends where the next iteration goes to other slices.
"""

import random
from itertools import product

import pytest
from lab.draws import seeds

from dmaverify import api
from dmaverify.verdict import Status

PLAN = """schema = 1
target = "rngd"
[axes]
A = 64
C = 64
S = 64
W = 8
M = {rows}
[transfer.big]
dtype = "i8"
source = {{ tier = "hbm", base = 0, element = "A, C" }}
dest = {{ tier = "dm", base = 262144, slice = "A", element = "C" }}
stream = {{ time = "A", packet = "C" }}
[access.tiled]
engine = "fetch"
dtype = "i8"
loop = {{ {loops} }}
memory = {{ tier = "dm", slice = "S", element = "M, W # {pitch}", view = {{ {view}, start = "{start}" }} }}
stream = {{ time = "M", packet = "W" }}
[program.p]
step = [{{ transfer = "big" }}, {{ access = "tiled" }}]
"""
Loops = dict[str, tuple[int, int]]  # count, and the slices that an iteration is further


def plan(loops: Loops, length: int, rows: int, pitch: int = 128) -> str:
    first = sum(-min(0, step) * (count - 1) for count, step in loops.values())
    signed = [f"{'-' if step < 0 else '+'} {abs(step)} * {name}" for name, (_, step) in loops.items()]
    view = f'place = "slice", tile = "S", length = {length}'
    counts = ", ".join(f"{name} = {count}" for name, (count, _) in loops.items())
    return PLAN.format(rows=rows, loops=counts, pitch=pitch, view=view, start=f"{first} {' '.join(signed)}")


def in_a_row(loops: Loops, length: int, rows: int, pitch: int = 128) -> int:
    """The most accesses in a row to one bank of one slice, with the request of DMA that waits behind them."""
    running: dict[int, tuple[int, list[int]]] = {}
    most = 0
    for number, at in enumerate(product(*(range(count) for count, _ in loops.values()))):
        first = sum(c * step for c, (_, step) in zip(at, loops.values(), strict=True))
        for slice_ in range(first, first + length):
            last, banks = running.get(slice_, (number - 1, [0] * 16))
            banks = banks if last == number - 1 else [0] * 16
            for row in range(rows):
                bank = row * pitch // 8 % 16
                banks = [count + 1 if at == bank else 0 for at, count in enumerate(banks)]
                most = max(most, banks[bank])
            running[slice_] = number, banks
    return most + 1


def status(text: str) -> Status:
    return api.check(text, "p")[0].status


@pytest.mark.parametrize(
    ("loops", "length", "rows", "found"),
    [
        ({"u": (2, 1), "v": (2, 1)}, 1, 31, Status.PROVED),
        ({"u": (2, 1), "v": (2, 1)}, 1, 32, Status.REFUTED),  # slice 1 in (0, 1) and in (1, 0), which follow each other
        ({"t": (2, 0), "u": (3, 1)}, 2, 31, Status.PROVED),  # of slices 1 and 2 two iterations, then a pause
        ({"t": (2, 0), "u": (3, 1)}, 2, 32, Status.REFUTED),
        ({"t": (2, 0), "u": (2, 1), "v": (2, -1)}, 1, 31, Status.PROVED),
        ({"t": (2, 0), "u": (2, 1), "v": (2, -1)}, 1, 32, Status.REFUTED),  # where t begins anew, slice 0 comes again
    ],
)
def test_a_slice_sees_the_iterations_that_reach_it_and_a_pause_ends_a_run(
    loops: Loops, length: int, rows: int, found: Status
) -> None:
    assert (in_a_row(loops, length, rows) <= 63) is (found is Status.PROVED)
    assert status(plan(loops, length, rows)) is found


@pytest.mark.parametrize("seed", seeds(4, 200))
def test_drawn_tiles_of_slices_starve_dma_where_an_enumeration_says_so(seed: int) -> None:
    draw = random.Random(seed)
    loops = {n: (draw.randint(2, 4), draw.choice([0, 1, 1, 2, 3, -1])) for n in "tuv"[: draw.randint(2, 3)]}
    drawn = loops, draw.randint(1, 3), draw.choice([16, 21, 31, 32, 62]), draw.choice([128, 128, 256, 136])
    assert status(plan(*drawn)) is (Status.PROVED if in_a_row(*drawn) <= 63 else Status.REFUTED)


def test_iterations_too_many_to_list_are_apart_where_none_shares_a_slice_with_the_next() -> None:
    many = {"t": (5000, 0)}
    assert status(plan({**many, "u": (2, 1), "v": (2, 1)}, 1, 32)) is Status.UNKNOWN
    assert status(plan({**many, "u": (2, 2), "v": (2, 1)}, 1, 32)) is Status.PROVED
