"""Accesses of one memory in groups that have nothing to do with each other.

Knows: first and last bytes of touches, registers that carry what was loaded.
Does not know: what an access changes, machines, text.
Law: two groups have no byte in common, whatever the symbols are, and no load of which one stores what the other loads.
Each group has all that happens to its bytes, in the same order, in the same loops and branches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf

from dmaverify.language.affine import World
from dmaverify.program.instructions import Arrival, Branch, Copy, CopyTouch, Event, KernelLoop, Use
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.accesses.lifted import ends_of
from dmaverify.values import replace


def separated(events: Sequence[Event], world: World, mine: Callable[[CopyTouch], bool]) -> list[Sequence[Event]]:
    """The accesses and arrivals of each group of accesses of what is `mine`; all events where they are one group."""
    accesses = {id(event): event for event in every(events) if isinstance(event, (Copy, Use))}
    parent = {key: key for key in accesses}

    def group(key: int) -> int:
        while parent[key] != key:
            parent[key] = key = parent[parent[key]]
        return key

    spans: list[tuple[float, float, int]] = []
    by_load: dict[int, int] = {}
    for key, event in accesses.items():
        touches = [touch for touch in event.touches if mine(touch)]
        if any(touch.open for touch in touches):
            return [events]  # how far it reaches depends on where others begin
        for first, behind in (ends_of(touch, world) for touch in touches):
            spans.append((-inf if first is None else first, inf if behind is None else behind, key))
        for load in (event.load, *(source.load for source in event.sources)) if isinstance(event, Use) else ():
            parent[group(key)] = group(by_load.setdefault(load, key) if load else key)
    reach: float = -inf
    last = 0
    for low, end, key in sorted(spans):
        if low < reach:
            parent[group(key)] = group(last)
        reach, last = max(reach, end), key
    groups = dict.fromkeys(group(key) for _, _, key in spans)
    return list(_parts(events, group, groups).values()) if len(groups) > 1 else [events]


def _parts(events: Sequence[Event], group: Callable[[int], int], groups: Collection[int]) -> dict[int, list[Event]]:
    """What of events is of each group, in the same loops and branches; arrivals are of all."""
    out: dict[int, list[Event]] = {}
    for event in events:
        made: dict[int, Event] = {}
        if isinstance(event, KernelLoop):
            inside = _parts(event.body, group, groups)
            made = {one: replace(event, body=tuple(body)) for one, body in inside.items()}
        elif isinstance(event, Branch):
            then, other = _parts(event.then, group, groups), _parts(event.other, group, groups)
            for one in dict.fromkeys((*then, *other)):
                made[one] = replace(event, then=tuple(then.get(one, ())), other=tuple(other.get(one, ())))
        elif isinstance(event, (Copy, Use)):
            made = {group(id(event)): event}
        elif isinstance(event, Arrival):
            made = dict.fromkeys(groups, event)
        for one, its in made.items():
            out.setdefault(one, []).append(its)
    return out
