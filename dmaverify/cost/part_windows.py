"""Windows of HBM that packets write in part, channel by channel.

Knows: packets as nests, windows, channel masks. Does not know: shares, orders, prices.
Law: counts are exact. Windows touched less those filled count these. A packet of two windows or more (but for a byte)
fills those of a packet that is shorter by a window at either end. One of n bytes at o with 256 <= n < 511 fills a
window exactly if the bytes o + n - 256 and o + 255 lie in the same one: the windows that hold either byte, less those
touched by the stretch between them.

Source: "Memory Performance", Misaligned Access; the count is ours (tests/cost/test_part_windows.py enumerates it).
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.cost.constants import CostData
from dmaverify.cost.nest import PacketNest, spread
from dmaverify.values import replace


def written_in_part(nest: PacketNest, touched: Sequence[int], data: CostData) -> tuple[int, ...] | None:
    """Windows written in part per channel, of those `touched`; None where the count would be too large."""
    window, masks = data.hbm.window, data.hbm.channel_masks
    if nest.size < window:
        return tuple(touched)
    edge = window - 1
    if nest.size >= 2 * window - 1:
        full = spread(replace(nest, base=nest.base + edge, size=nest.size - 2 * edge), masks, window)
        return tuple(a - b for a, b in zip(touched, full, strict=True)) if full is not None else None
    first, last = nest.base + nest.size - window, nest.base + edge
    low, high, between = (
        spread(replace(nest, base=base, size=size), masks, window)
        for base, size in ((first, 1), (last, 1), (first, 2 * window - nest.size))
    )
    if low is None or high is None or between is None:
        return None
    return tuple(t - (a + b - c) for t, a, b, c in zip(touched, low, high, between, strict=True))
