"""Loops cut into digits, and sums that are affine in their counters.

Knows: turns (digits of loops), their values at an iteration. Does not know: what moves with a loop.
Law: the turns of a loop walk exactly its iterations, outer to inner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from math import prod

from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class Turn:
    """A digit of a loop: it counts 0..count, each count being `weight` iterations of the loop."""

    loop: str
    weight: int
    count: int
    of: int  # iterations of the loop

    def __str__(self) -> str:
        text = self.loop if self.weight == 1 else f"{self.loop} / {self.weight}"
        return text if self.weight * self.count == self.of else f"{text} % {self.count}"


@dataclass(frozen=True, slots=True)
class Affine:
    """`constant + sum(step * counter)`, one step per turn."""

    constant: int
    steps: tuple[int, ...] = ()

    def at(self, counters: Sequence[int]) -> int:
        return self.constant + sum(s * c for s, c in zip(self.steps, counters, strict=True))

    def least(self, turns: Sequence[Turn]) -> int:
        return self.constant + sum(min(0, s * (t.count - 1)) for s, t in zip(self.steps, turns, strict=True))

    def most(self, turns: Sequence[Turn]) -> int:
        return self.constant + sum(max(0, s * (t.count - 1)) for s, t in zip(self.steps, turns, strict=True))

    def extreme(self, turns: Sequence[Turn], *, most: bool) -> tuple[int, ...]:
        """The counters, smallest first, at which the value is greatest (or least)."""
        return tuple(t.count - 1 if (s > 0) == most and s else 0 for s, t in zip(self.steps, turns, strict=True))

    def plus(self, other: Affine) -> Affine:
        steps = tuple(a + b for a, b in zip(self.steps, other.steps, strict=True))
        return Affine(self.constant + other.constant, steps)

    def times(self, factor: int) -> Affine:
        return Affine(self.constant * factor, tuple(step * factor for step in self.steps))


def fixed(value: int, turns: Sequence[Turn]) -> Affine:
    return Affine(value, (0,) * len(turns))


def loop_values(turns: Sequence[Turn], counters: Sequence[int]) -> dict[str, int]:
    """The value of every loop at these counters."""
    out: dict[str, int] = {}
    for turn, counter in zip(turns, counters, strict=True):
        out[turn.loop] = out.get(turn.loop, 0) + turn.weight * counter
    return out


def iterations(turns: Sequence[Turn]) -> int:
    return prod(turn.count for turn in turns)


def every(turns: Sequence[Turn]) -> Iterator[tuple[int, ...]]:
    """All iterations, in order of the counters; for tests and small runs."""
    yield from product(*(range(turn.count) for turn in turns))


def turns_of(loops: Sequence[tuple[str, int]], cuts: Mapping[str, Sequence[int]]) -> tuple[Turn, ...]:
    """The digits of the loops, outer to inner, each loop cut at `cuts` (each divides the next and the count)."""
    out: list[Turn] = []
    for name, count in loops:
        edges = [1, *(cut for cut in sorted(set(cuts.get(name, ()))) if 1 < cut < count), count]
        parts = [Turn(name, low, high // low, count) for low, high in pairwise(edges)]
        out += reversed(parts)
    return tuple(out)
