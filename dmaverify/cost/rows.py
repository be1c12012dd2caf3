"""How often a stream of requests must switch rows in the banks of HBM, whatever the channel's queue does with their
order.

Knows: linear streams (address = offset XOR vectors), kernels over GF(2), first-ready first-come scheduling with a
finite queue.
Does not know: constants, ticks, commands.
Law: `switches` never exceeds what an FR-FCFS channel does that keeps at most `look` requests waiting and serves,
where no waiting request hits an open row, the oldest; whatever other streams, in other banks, share the channel.

Why it holds. Within a bank let j want the row that i wanted last, and let x be the first request after i that wants
another. If x is served after j, then x is the oldest that waits of its bank, so all that were served between x and j
in the order of arrival were row hits, and the others wait with j: j hits only if (j - x) - hits between them < look.
Requests of other streams only lengthen j - x. So every request is a hit of arrival order (`natural`), or comes less
than `look` plus hits after x (`rare`, the ends of long blocks), or is a switch. Counting in a linear stream: the
requests of a channel, and of a bank in it, are the kernels of the maps; a reduced basis enumerates them in order, and
neighbours differ by sums of its first vectors.

Source: "Memory Performance" (Bank Conflict; 64-entry command queue, FR-FCFS), "DMA Engine" (Example 4); the argument
is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from operator import xor

from dmaverify.cost.nest import image
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class NullSpace:
    """Combinations of vectors that the map sends to 0: bit masks over the vectors, one leading (highest) bit each,
    reduced.
    """

    members: tuple[int, ...]
    rank: int

    def combine(self, values: Sequence[int]) -> tuple[int, ...]:
        """The XOR of the values that each member names."""
        return tuple(_xor_of(member, values) for member in self.members)


def _xor_of(member: int, values: Sequence[int]) -> int:
    total = 0
    while member:
        low = member & -member
        total ^= values[low.bit_length() - 1]
        member ^= low
    return total


def kernel(images: Sequence[int]) -> NullSpace:
    """The kernel of a linear map given by the images of the unit vectors, innermost first."""
    pivots: list[tuple[int, int]] = []
    members = []
    for index, value in enumerate(images):
        combination = 1 << index
        for pivot, its in pivots:
            if value ^ pivot < value:
                value, combination = value ^ pivot, combination ^ its
        if value:
            pivots.append((value, combination))
            pivots.sort(reverse=True)
        else:
            members.append(combination)
    return NullSpace(tuple(members), len(pivots))


@dataclass(frozen=True, slots=True)
class RowUse:
    """What a linear stream does to each bank it uses: all its banks are alike.

    `requests` of one bank, row changes in order of arrival, switches that no queue avoids, banks used per channel, rows
    visited per bank.
    """

    requests: int
    in_order: int
    switches: int
    banks: int
    rows: int


@lru_cache(maxsize=4096)
def row_use(
    vectors: tuple[int, ...], channel: tuple[int, ...], bank: tuple[int, ...], row: tuple[int, ...], look: int
) -> RowUse:
    """Row changes of a stream, given its vectors (innermost first), the masks of the maps, and how many requests can
    wait.
    """
    of_channel = kernel([image(v, channel) for v in vectors])
    own = of_channel.combine(list(vectors))
    of_bank = kernel([image(v, bank) for v in own])
    places = of_bank.members
    rows = [image(v, row) for v in of_bank.combine(own)]
    dims = len(rows)
    natural = [change == 0 for change in accumulate(rows, xor)]
    in_order = sum(1 << dims - 1 - r for r in range(dims) if not natural[r])
    of_row = kernel(rows)
    kept = _unavoidable(places, natural, of_row, look) if in_order else 0
    visited = 1 << of_row.rank
    return RowUse(1 << dims, in_order, max(visited - 1, in_order - kept), 1 << of_bank.rank, visited)


def _unavoidable(places: Sequence[int], natural: Sequence[bool], of_row: NullSpace, look: int) -> int:
    """How many of a bank's changes of row in order a queue might save.

    A change at the end of a block of 2^r requests of the bank has r trailing ones; only r >= some limit may be saved.
    The limit is the largest for which every other reuse of a row lies far enough away.
    """
    dims = len(places)
    if not any(natural):
        run = 0
    else:
        run = next((r for r in range(dims) if not natural[r]), dims)
        if any(natural[run:]):
            return 1 << dims
    back = _reuses(places, of_row, run)
    if not back:
        return 0
    steps = [_longest_step(places, r) for r in range(dims)]
    pure = next((i for i, place in enumerate(places) if place != 1 << i), dims)
    for limit in range(dims, run if run == 0 else dims - 1, -1):
        gap = max(steps[run:limit], default=0)
        if all(_is_far(distance, gap, (run, limit, dims, pure), look) for distance in back):
            return (1 << dims - limit) - 1 if limit < dims else 0
    return 1 << dims


def _is_far(distance: int, gap: int, blocks: tuple[int, int, int, int], look: int) -> bool:
    """Whether a reuse `distance` requests away is a switch, with as many hits before it as there can be.

    Where rare hits are allowed x itself may be one of them; then the request after it takes its part, one gap later.
    Of d requests in a row at least d / 2^run are no natural hits, less one per stretch of one bank, and at most d /
    2^limit plus one per stretch are rare; a stretch has 2^pure requests.
    """
    run, limit, dims, pure = blocks
    rare = limit < dims
    between = distance - (2 if rare else 1) * gap
    share = Fraction(1, 1 << run) - (Fraction(1, 1 << limit) if rare else 0)
    ends = (run > 0) + rare
    return between * (share - Fraction(ends, 1 << pure)) - 2 * ends >= look


def _reuses(places: Sequence[int], of_row: NullSpace, run: int) -> list[int]:
    """The least distance, in requests of the channel, from a request to the next of its bank and row, per kind of step.

    The first `run` members are the natural hits; the k-th step sets the k-th leading bit and clears those below it.
    """
    found = []
    total = 0
    for index, member in enumerate(of_row.members):
        total ^= member
        if index >= run:
            found.append(_least(_xor_of(total, places)))
    return found


def _least(step: int) -> int:
    """The least increase of a counter whose changed bits are `step`, the highest being set."""
    top = 1 << step.bit_length() - 1
    return top - (step ^ top)


def _longest_step(places: Sequence[int], r: int) -> int:
    """The greatest increase from a request of the bank to its successor when r trailing digits of the bank's counter
    are ones.
    """
    step = 0
    for place in places[: r + 1]:
        step ^= place
    leads = sum(1 << place.bit_length() - 1 for place in places[:r])
    top = 1 << step.bit_length() - 1
    return top - leads + ((step ^ top) & ~leads)
