"""Places at even distances as loops: neighbours that are alike become one, with a level more.

Knows: places as tuples of numbers. Does not know: what a place is, memories, commands.
Law: the places of what is made are those that were given, each once.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub

from dmaverify.values import dataclass, replace

Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EvenRun:
    """The first place, and around it (how many, how far apart) of each level, inner to outer. `of`: what lies there."""

    at: Place
    levels: tuple[tuple[int, Place], ...] = ()
    of: int = 0


def gathered(runs: Sequence[EvenRun]) -> Sequence[EvenRun]:
    """Runs joined until nothing joins."""
    while len(fewer := joined(runs)) < len(runs):
        runs = fewer
    return runs


def joined(runs: Sequence[EvenRun]) -> list[EvenRun]:
    """Neighbours that are alike, each as far from the last one as the second from the first, as one."""
    out: list[EvenRun] = []
    at = 0
    while at < len(runs):
        first, end = runs[at], at + 1
        step = _step(first, runs[end]) if end < len(runs) else None
        while step is not None and end < len(runs) and _step(runs[end - 1], runs[end]) == step:
            end += 1
        out.append(first if step is None else replace(first, levels=(*first.levels, (end - at, step))))
        at = end
    return out


def _step(one: EvenRun, other: EvenRun) -> Place | None:
    """How far one lies from the other; None where they are not alike."""
    return tuple(map(sub, other.at, one.at)) if one.of == other.of and one.levels == other.levels else None
