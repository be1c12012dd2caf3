"""Windows of HBM that packets of less than two windows write in part, channel by channel, where the closed form does
not count them.

Knows: packets as nests, windows, channel masks.
Does not know: shares, orders, floors.
Law: counts are exact. A packet of n bytes at o with 256 <= n < 512 fills a window exactly if the bytes o + n - 256 and
o + 255 lie in the same one; windows that hold either byte, less those touched by the stretch between them, count these.

Source: "Memory Performance", Misaligned Access; the count is ours (tests/synth/test_ends.py enumerates it).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from dmaverify.cost.constants import CostData
from dmaverify.cost.model import Bound
from dmaverify.cost.nest import PacketNest, spread
from dmaverify.cost.sides import SideCost
from dmaverify.values import replace


def written_in_part(nest: PacketNest, data: CostData) -> list[int] | None:
    """Windows written in part, per channel, of packets of less than two windows; None for longer ones or where the
    count would be too large.
    """
    window, masks = data.hbm.window, data.hbm.channel_masks
    touched = spread(nest, masks, window)
    if touched is None or nest.size >= 2 * window:
        return None
    if nest.size < window:
        return touched
    first, last = nest.base + nest.size - window, nest.base + window - 1
    parts = [
        spread(replace(nest, base=base, size=size), masks, window)
        for base, size in ((first, 1), (last, 1), (first, 2 * window - nest.size))
    ]
    low, high, between = parts
    if low is None or high is None or between is None:
        return None
    return [t - (a + b - c) for t, a, b, c in zip(touched, low, high, between, strict=True)]


def part_bounds(pairs: Sequence[tuple[SideCost, SideCost]], data: CostData) -> list[Bound]:
    """The busiest channel of each HBM with such windows; nothing where the model counts them itself."""
    chips: dict[int, list[SideCost]] = defaultdict(list)
    for pair in pairs:
        for side in pair:
            if side.port.tier == "hbm":
                chips[side.port.chip].append(side)
    return [b for chip, sides in chips.items() if any(_left_out(s) for s in sides) for b in _bound(chip, sides, data)]


def _left_out(side: SideCost) -> bool:
    return side.role == "write" and side.windows.partial > 0 and (side.hbm is None or side.hbm.partial is None)


def _bound(chip: int, sides: Sequence[SideCost], data: CostData) -> list[Bound]:
    each, more = data.ticks("hbm_request"), data.ticks("hbm_partial") - data.ticks("hbm_request")
    loads = [0] * data.hbm_channels
    for side in sides:
        channels = side.hbm.channels if side.hbm is not None else None
        partial = side.hbm.partial if side.hbm is not None else None
        if _left_out(side):
            counted = written_in_part(side.nest, data)
            partial = tuple(counted) if counted is not None else None
        loads = [a + b * each for a, b in zip(loads, channels or (0,) * len(loads), strict=True)]
        loads = [a + b * more for a, b in zip(loads, partial or (0,) * len(loads), strict=True)]
    ticks = max(loads) + min(s.head for s in sides) + min(s.tail for s in sides)
    why = "windows written in part are read, changed and written back"
    return [Bound("partial windows", ticks, f"HBM of chip {chip}", why, data.source("hbm_partial"))]
