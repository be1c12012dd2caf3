"""Accesses that meet: two that nothing orders, in one memory, one of them a write.

Knows: the places that accesses touch, who surely ends before whom.
Does not know: what accesses do, why they are ordered.
Law: every pair that reaches into each other is named, whatever runs; whether two share a place is asked place by place.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import numpy as np

from dmaverify.execute.order import members
from dmaverify.values import dataclass

KINDS = {(True, False): "raw", (False, True): "war", (True, True): "waw"}  # by who writes, earlier and later


@dataclass
class Touched:
    """Places of one memory, rising: `sure` those that every execution touches, `maybe` all that one may."""

    tier: str
    writes: bool
    sure: np.ndarray
    maybe: np.ndarray


def meetings(
    touches: Sequence[tuple[int, Touched]], ordered: Sequence[int], told: Container[str] = ()
) -> Iterator[tuple[str, int, int]]:
    """Kind and numbers of two touches, each with its event, rising: nothing orders their events, and the one reaches
    into the other. Bit i of `ordered[j]`: event i before j is ordered against it. Kinds in `told` are no longer named.
    """
    found = [number for number, (_, one) in enumerate(touches) if len(one.maybe)]
    tiers = {name: number for number, name in enumerate(dict.fromkeys(touches[n][1].tier for n in found))}
    rows = [(e, tiers[t.tier], t.writes, t.maybe[0], t.maybe[-1]) for e, t in map(touches.__getitem__, found)]
    events, places, writes, low, high = np.array(rows, np.int64).reshape(-1, 5).T
    for at, later in enumerate(found):
        event, mine = touches[later]
        free = ~members(ordered[event], event + 1)[events[:at]]
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
