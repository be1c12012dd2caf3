"""Windows written in part: counted by channel, and walked."""

from __future__ import annotations

import random

from dmaverify.cost.constants import cost_data
from dmaverify.cost.nest import PacketNest, image, spread
from dmaverify.cost.part_windows import written_in_part

DATA = cost_data("book")


def walked(nest: PacketNest) -> list[int]:
    found, window = [0] * DATA.hbm_channels, DATA.hbm.window
    starts = [nest.base]
    for count, step in nest.loops:
        starts = [at + value * step for at in starts for value in range(count)]
    for at in starts:
        for start in range(at // window * window, at + nest.size, window):
            if start < at or start + window > at + nest.size:
                found[image(start, DATA.hbm.channel_masks)] += 1
    return found


def test_windows_written_in_part_are_those_that_a_walk_finds():
    rng = random.Random(5)
    for _ in range(300):
        size = rng.choice((8, 120, 255, 256, 257, 300, 384, 510, 511, 512, 513, 767, 1000))
        steps = rng.choices((size, 384, 512, 1000, 4096, 65536), k=rng.randint(0, 3))
        loops = tuple((rng.randint(2, 5), step) for step in steps)
        nest = PacketNest(rng.randrange(0, 2048, 8), loops, size, (False,) * len(loops))
        touched = spread(nest, DATA.hbm.channel_masks, DATA.hbm.window)
        assert touched is not None
        assert written_in_part(nest, touched, DATA) == tuple(walked(nest)), nest
