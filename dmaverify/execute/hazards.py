"""Accesses that meet: two that nothing orders, in one memory, one of them a write.

Knows: pieces of work, the places that each touches, who surely ends before whom.
Does not know: what accesses do, why they are ordered.
Law: every pair that reaches into each other is named, whatever runs; whether two share a place is asked place by place.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import numpy as np

from dmaverify.execute.order import members
from dmaverify.values import dataclass, field

KINDS = {(True, False): "raw", (False, True): "war", (True, True): "waw"}  # by who writes, earlier and later


@dataclass
class Touched:
    """Places of one memory, rising: `sure` those that every execution touches, `maybe` all that one may."""

    tier: str
    writes: bool
    sure: np.ndarray
    maybe: np.ndarray


@dataclass
class RunPiece:
    """Work that one lane does as a whole, and all that it touches."""

    lane: str
    touched: list[Touched] = field(default_factory=list)


Met = tuple[int, Touched]
"""A piece of work by its number, and that of its touches which meets another one's."""


def meetings(
    pieces: Sequence[RunPiece], ordered: Sequence[int], told: Container[str] = ()
) -> Iterator[tuple[str, Met, Met]]:
    """Kind and both sides of two touches, the earlier piece first: nothing orders the pieces, and the one reaches into
    the other. Bit i of `ordered[j]`: piece i before j is ordered against it. Kinds in `told` are no longer named.
    """
    found = [(number, one) for number, piece in enumerate(pieces) for one in piece.touched if len(one.maybe)]
    tiers = {name: number for number, name in enumerate(dict.fromkeys(one.tier for _, one in found))}
    rows = [(number, tiers[t.tier], t.writes, t.maybe[0], t.maybe[-1]) for number, t in found]
    owners, places, writes, low, high = np.array(rows, np.int64).reshape(-1, 5).T
    for at, later in enumerate(found):
        number, mine = later
        free = ~members(ordered[number], number + 1)[owners[:at]]
        near = free & (places[:at] == places[at]) & (low[:at] <= high[at]) & (high[:at] >= low[at])
        for wrote in (False, True)[1 - mine.writes :]:
            kind = KINDS[wrote, mine.writes]
            for other in np.flatnonzero(near & (writes[:at] == wrote)) if kind not in told else ():
                if kind in told:
                    break
                yield kind, found[other], later


def share(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two touch one place."""
    return bool(np.isin(one, other).any())
