"""Words of copies against an encoder of their own: from the numbers a kernel was made of, by bit positions alone."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from lab.draws import counted
from lab.kernel_text import DrawnCopy, DrawnKernel
from lab.kernels import kernel_of

from dmaverify.jobs.kernels import words_json


def expected(tile: DrawnCopy) -> dict[str, int]:
    """The words of a copy between GM and UB."""
    left, right = tile.pad or (0, 0)
    (one, one_gm, one_ub), (two, two_gm, two_ub) = (*tile.loops, (1, 0, 0), (1, 0, 0))[:2]
    first = tile.rows * 2**4 + tile.length * 2**25
    if tile.kind == "load":
        first += left * 2**46 + right * 2**52 + (tile.pad is not None) * 2**58
    return {
        "c0": first,
        "c1": tile.gm_pitch + tile.ub_pitch * 2**40,
        "LOOP_SIZE": one + two * 2**21,
        "LOOP1": one_gm + one_ub * 2**40,
        "LOOP2": two_gm + two_ub * 2**40,
    }


def tiles(kernel: DrawnKernel) -> list[DrawnCopy]:
    return [part for part in (*kernel.before, *kernel.after) if isinstance(part, DrawnCopy)]


def straight(rng: random.Random) -> DrawnKernel:
    """A kernel whose addresses are numbers."""
    while True:
        kernel = kernel_of(rng)
        if not kernel.body:
            return kernel


@pytest.mark.parametrize("count", counted(50, 200))
@pytest.mark.parametrize("inline", [True, False])
def test_the_words_of_four_hundred_kernels_are_those_of_another_encoder(
    tmp_path: Path, count: int, *, inline: bool
) -> None:
    rng = random.Random(20)
    copies = 0
    for number in range(count):
        kernel = replace(straight(rng), inline=inline)
        path = tmp_path / f"{number}.mlir"
        path.write_text(kernel.text(), encoding="utf-8")
        made = words_json(str(path))
        assert len(made) == len(tiles(kernel))
        for tile, found in zip(tiles(kernel), made, strict=True):
            words = {name: int(value, 16) for name, value in found["words"].items()}
            want = expected(tile)
            if not inline and not tile.loops:  # strides of loops that run once are whatever was set before
                words |= {"LOOP1": want["LOOP1"], "LOOP2": want["LOOP2"]}
            assert words == want, (kernel.text(), tile)
            copies += 1
    assert copies > 2 * count
