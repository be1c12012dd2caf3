"""What one bank of HBM needs: its requests one after the other, and its changes of row, for loops of any shape.

Knows: the windows of small nests one by one, the address map, first-ready first-come scheduling with a finite queue.
Does not know: constants in cycles beyond those of HBM, commands, engines.
Law: `switches` of a bank never exceeds what an FR-FCFS channel does; where the order of arrival is not known (several
streams) only rows that differ are counted. A program of more than `MOST` requests is not counted, and says nothing.

Two requests of a bank begin at least a bank group's turn apart, and a change of row apart where the second wants
another row; rows that differ in a bank must each be opened. In one stream a request j finds the row of an earlier i
still open only if x waits beside it, the first after i of its bank that surely opens a row: what arrived from x to j,
less what hit open rows meanwhile, fits the queue. What follows x in its bank with no change of row, or another such x,
waits with it; all else that could hit is counted as a hit, and what could is narrowed down until nothing changes, so
that what is left must switch. (The argument is that of cost.rows, on addresses
instead of vectors.)

Source: "Memory Performance" (Bank Conflict, Column-to-Column Delay; 64-entry command queue, FR-FCFS).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dmaverify.cost.constants import CostData
from dmaverify.cost.nest import PacketNest, windows
from dmaverify.targets.address_maps import HbmMap
from dmaverify.values import dataclass

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.int64]]

MOST = 1 << 14
"""Requests that are looked at one by one."""
FAR = 1 << 62  # beyond, 64 bits hold no address
ROW_BITS, BANK_BITS = 32, 16
"""A row's number is below 2 to the first; a bank's within its channel below 2 to the second, its channel above."""


@dataclass(frozen=True, slots=True)
class BankUse:
    """A bank in use: its channel, its requests, and changes of row that no queue avoids."""

    channel: int
    requests: int
    switches: int


def bank_uses(nests: Sequence[PacketNest], data: CostData) -> tuple[BankUse, ...] | None:
    """Every bank that the streams use together; None where they are too long to be looked at."""
    return _uses(tuple(nests), data)


@lru_cache(maxsize=1024)
def _uses(nests: tuple[PacketNest, ...], data: CostData) -> tuple[BankUse, ...] | None:
    import numpy as np

    where, look = data.hbm, data.hbm_queue - 1
    far = max((abs(n.base) + n.size + sum(abs(count * step) for count, step in n.loops) for n in nests), default=0)
    if far >= FAR or sum(windows(nest, where.window).touched for nest in nests) > MOST:
        return None
    every = np.concatenate([_windows(nest, where.window) for nest in nests])
    bank, row = _places(every, where)
    if len(nests) == 1:
        must = _must_switch(bank, row, look)
        numbers, inverse = np.unique(bank, return_inverse=True)
        requests, switches = np.bincount(inverse), np.bincount(inverse, weights=must).astype(np.int64)
    else:  # whatever the order, every row of a bank but one must be opened in place of another
        rows, counts = np.unique(bank << ROW_BITS | row, return_counts=True)
        numbers, starts = np.unique(rows >> ROW_BITS, return_index=True)
        requests, switches = np.add.reduceat(counts, starts), np.diff(starts, append=len(rows)) - 1
    return tuple(map(BankUse, (numbers >> BANK_BITS).tolist(), requests.tolist(), switches.tolist()))


def _windows(nest: PacketNest, window: int) -> Numbers:
    """The first byte of every window that the nest touches, in its order."""
    import numpy as np

    starts = np.array([nest.base], dtype=np.int64)
    for (count, step), flip in zip(nest.loops, nest.flipped, strict=True):
        turns = np.arange(count, dtype=np.int64)[:: -1 if flip else 1]
        starts = (starts[:, None] + turns[None, :] * step).ravel()
    first, last = starts // window, (starts + nest.size - 1) // window
    many = last - first + 1
    ends = np.cumsum(many)
    inside = np.arange(int(ends[-1]), dtype=np.int64) - np.repeat(ends - many, many)
    found: Numbers = (np.repeat(first, many) + inside) * window
    return found


def _places(addresses: Numbers, where: HbmMap) -> tuple[Numbers, Numbers]:
    """The bank (with its channel above) and the row of every address."""
    import numpy as np

    def bits(masks: Sequence[int]) -> Numbers:
        total = np.zeros(len(addresses), dtype=np.int64)
        for index, mask in enumerate(masks):
            total |= (np.bitwise_count(addresses & mask) & 1).astype(np.int64) << index
        return total

    low, high, top = ((addresses >> bit) & 1 for bit in (where.top_slice, where.top_high, where.top_row))
    part = np.where(high == 1, 2, low)
    inner = [1 << bit for bit in (*where.bank, *where.bank_group)]
    bank = part << len(inner) | bits(inner)
    row = bits([1 << bit for bit in where.row]) | np.where(high == 1, low, top) << len(where.row)
    return bits(where.channel_masks) << BANK_BITS | bank, row


def _must_switch(bank: Numbers, row: Numbers, look: int) -> Numbers:
    """1 at every request that no queue of `look` saves from a change of row, in one stream."""
    import numpy as np

    many = len(bank)
    index = np.arange(many)
    by_bank = np.lexsort((index, bank))
    before = _before(by_bank, bank)
    changed = (before >= 0) & (row[before] != row)
    natural = (before >= 0) & ~changed
    last = _before(np.lexsort((index, row, bank)), bank, row)
    again = changed & (last >= 0)
    channels = _ranked(np.lexsort((index, bank >> BANK_BITS)))
    banks = _ranked(by_bank)
    begins = by_bank[np.maximum.accumulate(np.where(natural[by_bank], 0, index))][banks[1]]
    saved = again
    while True:
        waits = _next_of(changed & ~saved, by_bank, bank)[np.maximum(last, 0)]
        other = np.maximum(waits, 0)
        hits = _between(natural | saved, channels, other) - _between(natural & ~saved[begins], banks, other)
        apart = channels[1] - channels[1][other] - hits
        less = saved & ((waits < 0) | (waits >= index) | (apart < look))
        if (less == saved).all():
            must: Numbers = (changed & ~saved).astype(np.int64)
            return must
        saved = less


def _ranked(order: Numbers) -> tuple[Numbers, Numbers]:
    """An order, and the place of each request in it."""
    import numpy as np

    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return order, place


def _next_of(chosen: Any, by_bank: Numbers, bank: Numbers) -> Numbers:
    """For each request the first chosen one after it in its bank, -1 where there is none."""
    import numpy as np

    many = len(bank)
    picked = np.where(chosen[by_bank], np.arange(many), many)
    following = np.append(np.minimum.accumulate(picked[::-1])[::-1][1:], many)
    there = by_bank[np.minimum(following, many - 1)]
    found = np.empty(many, dtype=np.int64)
    found[by_bank] = np.where((following < many) & (bank[there] == bank[by_bank]), there, -1)
    return found


def _between(flags: Any, ranked: tuple[Numbers, Numbers], other: Numbers) -> Numbers:
    """How many flagged requests lie after `other` and before each request in an order in which both have a place."""
    import numpy as np

    order, place = ranked
    total = np.concatenate([[0], np.cumsum(flags[order])])
    counted: Numbers = total[place] - total[place[other] + 1]
    return counted


def _before(order: Numbers, *keys: Numbers) -> Numbers:
    """For each request the one before it in an order by keys, -1 where the keys differ."""
    import numpy as np

    same = np.ones(max(0, len(order) - 1), dtype=bool)
    for key in keys:
        same &= key[order[1:]] == key[order[:-1]]
    before: Numbers = np.full(len(order), -1, dtype=np.int64)
    before[order[1:][same]] = order[:-1][same]
    return before
