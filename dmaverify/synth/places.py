"""A source that holds an element at several places: from which of them a plan takes it.

Knows: digits of an axis that overlap (`A / 64, A % 256`), copies by a bare number.
Does not know: the destination, loops, machines.
Law: each choice is the source with fewer cells: one place of each element at most, and no place that the source has
not. A plan may take one element here and another there; such mixes are no choice, so that nothing is claimed of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from math import lcm

from dmaverify.layout.addresses import Layout
from dmaverify.layout.digits import Digit
from dmaverify.values import replace

MOST_CHOICES = 16
"""Choices of a source that are tried."""
Held = Sequence[tuple[int, Digit]]
"""Digits of an axis with their places in the layout, by weight."""


def holds_once(source: Layout) -> bool:
    """Whether no element is held at two places. Padding between digits counts as none; guards are not looked at."""
    return not any(d.live > 1 for _, d in held_of(source, None)) and not _overlapping(source)


def choices(source: Layout) -> list[Layout]:
    """The source as it is (each element at the place that the largest digits give), and taken at other places."""
    found = [source]
    for held in _overlapping(source):
        size = dict(source.sizes)[str(held[0][1].axis)]
        found = [_taken(one, held, weights) for one in found for weights in _weights([d for _, d in held], size)]
    return list(islice(dict.fromkeys([source, *found]), MOST_CHOICES))


def held_of(layout: Layout, axis: str | None) -> Held:
    """The digits of an axis, smallest first; of None the copies."""
    beyond = layout.beyond_index
    own = [(i, d) for i, d in enumerate(layout.digits) if d.axis == axis and i not in beyond]
    return sorted(own, key=lambda item: (item[1].weight, item[1].step))


def _overlapping(source: Layout) -> list[Held]:
    """The digits of every axis some of whose values are two sums of them."""
    axes = dict.fromkeys(d.axis for d in source.digits if d.axis is not None)
    every = [held_of(source, axis) for axis in axes]
    return [
        held for held in every if any(low.weight * low.live > high.weight for (_, low), (_, high) in pairwise(held))
    ]


def _weights(digits: Sequence[Digit], size: int) -> Iterator[tuple[int, ...]]:
    """What each digit may step by, so that none overlaps the next: multiples of its own weight."""
    ways: list[tuple[int, ...]] = [(digits[0].weight,)]
    for low, high in pairwise(digits):
        ways = [(*way, own) for way in ways for own in _multiples(way[-1], low, high, size)]
    yield from ways


def _multiples(below: int, low: Digit, high: Digit, size: int) -> list[int]:
    """The least weight of the upper digit, the greatest that the lower one reaches, and the greatest that divides the
    axis.
    """
    unit = lcm(below, high.weight)
    reach = (1 + (low.live - 1) * low.weight // below) * below
    known = range(unit, reach + 1, unit)
    if not known:
        return [unit]
    return list(dict.fromkeys((unit, known[-1], next((n for n in reversed(known) if size % n == 0), unit))))


def _taken(source: Layout, held: Held, weights: Sequence[int]) -> Layout:
    """The layout whose digits of an axis step by these weights."""
    digits, times = list(source.digits), {}
    for number, ((index, digit), weight) in enumerate(zip(held, weights, strict=True)):
        times[index] = weight // digit.weight
        count = 1 + (digit.live - 1) // times[index]
        if number + 1 < len(weights):
            count = min(count, weights[number + 1] // weight)
        digits[index] = replace(digit, weight=weight, step=digit.step * times[index], slots=count, live=count)
    guards = tuple(replace(g, terms=tuple((i, k * times.get(i, 1)) for i, k in g.terms)) for g in source.guards)
    return replace(source, digits=tuple(digits), guards=guards)
