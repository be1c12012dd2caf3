"""What a move alone tells, before anyone says how it is done: cuts that clash, elements that the source does not hold,
and the longest run that any packet could have.

Knows: the digits of both layouts. Does not know: streams, commands, machines.
Law: a `Shortfall` is a fact of the two mappings, whatever the commands. What several commands could still do (axes that
end unevenly, segments) is no shortfall.

Source: facts/rngd 1.4 (a common refinement must exist), 3.2 (tails); "Sequencer", Configuration Failures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

from dmaverify.layout.addresses import BYTE, Layout
from dmaverify.layout.digits import Digit


@dataclass(frozen=True, slots=True)
class Clash:
    """Two cuts of one axis of which neither divides the other."""

    axis: str
    cut: int
    other: int


@dataclass(frozen=True, slots=True)
class Missing:
    """A live destination element whose coordinate the source's range does not hold."""

    axis: str
    coordinate: int
    address: int  # global, of the destination


@dataclass(frozen=True, slots=True)
class Run:
    """The longest run contiguous on both sides, in units, and what divides all addresses at which such runs start."""

    units: int
    read_gcd: int
    write_gcd: int


def _held(layout: Layout, axis: str) -> list[Digit]:
    return [d for i, d in enumerate(layout.digits) if d.axis == axis and i not in layout.beyond_index]


def _cuts(source: Layout, dest: Layout, axis: str, size: int) -> list[int]:
    """Every cut inside the axis, ascending; where a digit ends at or beyond the axis is no cut."""
    ends = {c for layout in (source, dest) for d in _held(layout, axis) for c in (d.weight, d.weight * d.slots)}
    return sorted(c for c in ends | {1} if c < size)


def _axes(source: Layout, dest: Layout) -> dict[str, int]:
    named = dict(source.sizes)
    return {a: n for a, n in dest.sizes if a in named and a != BYTE and not a.startswith("<")}


def clashes(source: Layout, dest: Layout) -> Iterator[Clash]:
    """For each axis that both sides name, the first two cuts that have no common refinement."""
    for axis, size in _axes(source, dest).items():
        for low, high in pairwise(_cuts(source, dest, axis, size)):
            if high % low:
                yield Clash(axis, low, high)
                break


def missing(source: Layout, dest: Layout) -> Iterator[Missing]:
    """For each axis that both name, the first destination coordinate outside the source's range. Assumes no clash."""
    for axis, size in _axes(source, dest).items():
        ends = {d.weight * d.live for layout in (source, dest) for d in _held(layout, axis)}
        cuts = sorted({*_cuts(source, dest, axis, size), *(end for end in ends if end < size), size})
        ranges = [(d.weight, d.weight * d.live) for d in _held(source, axis)]
        for low, high in pairwise(cuts):
            if high <= low or any(start <= low < end for start, end in ranges):
                continue
            digit = next((d for d in _held(dest, axis) if d.weight <= low < d.weight * d.live), None)
            if digit is not None and -(-high // low) > 1:
                yield Missing(axis, low, dest.origin + digit.step * (low // digit.weight))
                break


def longest_run(source: Layout, dest: Layout) -> Run:
    """Walks inwards to outwards while both sides step alike. Top padding that follows in the destination may be
    written.
    """
    run = common = 1
    inner = [d for d in reversed(dest.digits) if d.slots > 1]
    strides: list[int] = []
    growing = True
    for digit in inner:
        other = next((d for d in _held(source, digit.axis or "") if d.weight == digit.weight), None)
        alike = other is not None and other.step == run and digit.step == run
        if not (growing and alike):
            growing = False
            strides.append(digit.step)
            continue
        assert other is not None
        run *= min(digit.live, other.slots)
        common = run
        if digit.live == min(digit.live, other.slots) and digit.slots > digit.live:
            run, growing = digit.step * digit.slots, False
        elif other.slots != digit.slots or digit.live < digit.slots:
            growing = False
            if digit.slots > other.slots:
                strides.append(run)
    reads = [
        d.step for i, d in enumerate(source.digits) if i not in source.beyond_index and d.slots > 1 and d.step >= common
    ]
    return Run(run, gcd(source.origin, *reads), gcd(dest.origin, *strides))
