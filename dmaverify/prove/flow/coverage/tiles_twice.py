"""Overlap of tiles: whether two of them, or two iterations of one, have a position in common.

Knows: windows of boxes as walks over all their digits at once, the equation of two walks.
Does not know: order, what is read in between, which positions hold elements.
Law: arithmetic on the walks decides (`prove.meet`), and the solver where that takes too long: a position that is given
lies in both tiles, and "none" is a proof that there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.program.turns import Affine
from dmaverify.prove.flow.accesses.tile_union import Boxes, Digit, reach
from dmaverify.prove.meet import TooDeep, Walk, apart, collision, difference, least, shared
from dmaverify.prove.smt import Session
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class TwiceAt:
    """A position that two tiles have, digit by digit, and the counters of both (those of `Boxes.counts`)."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    where: Mapping[Digit, int]


def between(digits: Sequence[Digit], one: Boxes, other: Boxes, session: Session) -> TwiceAt | str:
    """The first position that two writers have, by their smallest counters; "none" or "unknown"."""
    a, b = (flat(digits, boxes, (one, other)) for boxes in (one, other))
    if apart(difference(a, b)):
        return "none"
    loops, more = len(one.counts), len(other.counts)
    parts = [(stride, 0, count - 1) for count, stride in a.loops]
    others = [(-stride, 0, count - 1) for count, stride in b.loops]
    try:
        found = least([*parts[:loops], *others[:more], *parts[loops:], *others[more:]], b.base - a.base)
    except TooDeep:
        return "none" if shared(a, b, session, "core/tiles-once") == "unsat" else "unknown"
    if found is None:
        return "none"
    first, second, inside = found[:loops], found[loops : loops + more], found[loops + more :]
    return TwiceAt(first, second, _position(digits, one, first, inside))


def by_itself(digits: Sequence[Digit], boxes: Boxes) -> TwiceAt | str:
    """A position that a writer has in two iterations; "none" or "unknown"."""
    found = comes_back(flat(digits, boxes, (boxes,)))
    if isinstance(found, str):
        return found
    first, second = found
    turns = len(boxes.counts)
    return TwiceAt(first[:turns], second[:turns], _position(digits, boxes, first[:turns], first[turns:]))


def comes_back(walk: Walk) -> tuple[tuple[int, ...], tuple[int, ...]] | str:
    """The counters of two iterations at one address; "none" or "unknown"."""
    try:
        return collision(walk.loops, 1) or "none"
    except TooDeep:
        return "unknown"


def counters_with(digits: Sequence[Digit], boxes: Boxes, where: Mapping[Digit, int]) -> tuple[int, ...] | None:
    """The smallest counters with which a writer has a position; None where it has it in no iteration that is found."""
    point = Boxes({digit: (Affine(value), 1) for digit, value in where.items()}, ())
    a, b = (flat(digits, one, (boxes, point)) for one in (boxes, point))
    try:
        found = least([(stride, 0, count - 1) for count, stride in a.loops], b.base - a.base)
    except TooDeep:
        return None
    return None if found is None else found[: len(boxes.counts)]


def flat(digits: Sequence[Digit], boxes: Boxes, among: Sequence[Boxes]) -> Walk:
    """The positions of a writer as one walk: counters first, then what lies within a window. Digits have room for all
    that some writers reach, on a tensor or not.
    """
    base, weight = 0, 1
    strides, inner = [0] * len(boxes.counts), []
    for digit in reversed(digits):
        reaches = [reach(*one.window(digit), one.counts) for one in among]
        low, end = min(first for first, _ in reaches), max(last for _, last in reaches)
        start, length = boxes.window(digit)
        base += start.constant * weight
        strides = [own + step * weight for own, step in zip(strides, start.steps, strict=True)]
        inner.append((length, weight))
        weight *= end - low
    return Walk(base, (*zip(boxes.counts, strides, strict=True), *reversed(inner)))


def _position(
    digits: Sequence[Digit], boxes: Boxes, counters: Sequence[int], inside: Sequence[int]
) -> dict[Digit, int]:
    return {d: boxes.window(d)[0].at(counters) + at for d, at in zip(digits, inside, strict=False)}
