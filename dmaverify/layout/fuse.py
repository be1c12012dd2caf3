"""Axes that lie one right inside the other on both sides of a move, as one axis.

Knows: layouts, their digits, guards and places.
Does not know: loops, machines, solvers.
Law: `fuse` renames coordinates and nothing else: (a, b) becomes a * size(B) + b, one to one because B is held whole on
both sides (0 <= b < size(B)). Two cells hold one element after it exactly if they did before, and every address stays.

Why: rows of 1,920 bytes that follow each other are one run of bytes, and a loop in steps of 256 over that run cuts no
digit of the fused axis, where it would carry from the row's digit into the next. Source: docs/design.md (a cut that
changes no address is no cut).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dmaverify.layout.addresses import BYTE, Layout, cut_digit
from dmaverify.layout.digits import Digit
from dmaverify.values import replace


def name_of(layout: Layout, axis: str) -> str:
    """The axis as part of a fused name: `A@64`; a fused axis is that already."""
    return axis if "@" in axis else f"{axis}@{dict(layout.sizes)[axis]}"


def parts_of(axis: str) -> list[tuple[str, int]]:
    """(axis, size) of the axes in a fused name, outermost first; nothing for a plain axis."""
    if "@" not in axis:
        return []
    return [(name, int(size)) for name, _, size in (part.partition("@") for part in axis.split("*"))]


def fuse(source: Layout, dest: Layout) -> tuple[Layout, Layout] | None:
    """Both layouts with every such pair of axes joined; None where there is none."""
    found, seen = (source, dest), False
    while (both := _pair(*found)) is not None:
        found, seen = (_joined(found[0], *both), _joined(found[1], *both)), True
    return (_cut_as(*found), _cut_as(*found[::-1])) if seen else None


def _cut_as(layout: Layout, other: Layout) -> Layout:
    """Fused digits cut where the other side begins one: loops over the rest of it then stay inside."""
    for cut in sorted({d.weight for d in other.digits if d.axis is not None and "*" in d.axis}):
        for index, digit in enumerate(layout.digits):
            inside = digit.axis is not None and "*" in digit.axis and digit.weight < cut < digit.weight * digit.slots
            theirs = any(d.axis == digit.axis and d.weight == cut for d in other.digits)
            if inside and theirs and cut % digit.weight == 0 and digit.weight * digit.slots % cut == 0:
                layout = cut_digit(layout, index, cut // digit.weight)
                break
    return layout


def _pair(source: Layout, dest: Layout) -> tuple[str, str] | None:
    inside = set(_inside(dest))
    return next((both for both in _inside(source) if both in inside), None)


def _inside(layout: Layout) -> Iterator[tuple[str, str]]:
    """(outer, inner) axes where the outer's unit step is as long as the whole of the inner."""
    sizes = dict(layout.sizes)
    for outer in layout.digits:
        if outer.axis is None or outer.weight != 1 or not _even(layout, outer.axis):
            continue
        for inner in layout.digits:
            whole = inner.axis is not None and inner.weight * inner.slots == sizes.get(inner.axis)
            if whole and inner.axis != outer.axis and outer.step == inner.step * inner.slots:
                assert inner.axis is not None
                if _even(layout, inner.axis) and _is_whole(layout, inner.axis):
                    yield outer.axis, inner.axis


def _held(layout: Layout, axis: str) -> list[tuple[int, Digit]]:
    beyond = layout.beyond_index
    return [(i, d) for i, d in enumerate(layout.digits) if d.axis == axis and i not in beyond]


def _even(layout: Layout, axis: str) -> bool:
    """Whether the axis has neither padding, offset nor a digit that overlaps another."""
    held = _held(layout, axis)
    guarded = {i for guard in layout.guards for i, _ in guard.terms}
    ranked = sorted((d.weight, d.slots) for _, d in held)
    return (
        axis != BYTE
        and not axis.startswith("<")
        and axis not in dict(layout.offsets)
        and all(d.slots == d.live and i not in guarded for i, d in held)
        and all(low * slots <= high for (low, slots), (high, _) in pairwise(ranked))
    )


def _is_whole(layout: Layout, axis: str) -> bool:
    """Whether the digits of the axis are all its values, each once."""
    reach = 1
    for _, digit in sorted(_held(layout, axis), key=lambda item: item[1].weight):
        if digit.weight != reach:
            return False
        reach *= digit.slots
    return reach == dict(layout.sizes)[axis]


def _joined(layout: Layout, outer: str, inner: str) -> Layout:
    """The layout with both axes as one; digits that now follow each other are one digit."""
    sizes = dict(layout.sizes)
    many, name = sizes[inner], f"{name_of(layout, outer)}*{name_of(layout, inner)}"
    digits: list[Digit] = []
    place: dict[int, int] = {}
    for index, digit in enumerate(layout.digits):
        if index not in layout.beyond_index and digit.axis in (outer, inner):
            digit = replace(digit, axis=name, weight=digit.weight * (many if digit.axis == outer else 1))
        above = digits[-1] if digits else None
        joins = above is not None and above.axis == digit.axis == name
        if joins and above is not None and _follows(above, digit):
            slots = above.slots * digit.slots
            digits[-1] = replace(digit, slots=slots, live=slots)
        else:
            digits.append(digit)
        place[index] = len(digits) - 1
    rest = {axis: size for axis, size in sizes.items() if axis not in (outer, inner)}
    return replace(
        layout,
        digits=tuple(digits),
        guards=tuple(replace(g, terms=tuple((place[i], k) for i, k in g.terms)) for g in layout.guards),
        beyond=tuple((place[i], room, limit) for i, room, limit in layout.beyond),
        sizes=tuple(sorted({**rest, name: sizes[outer] * many}.items())),
    )


def _follows(above: Digit, below: Digit) -> bool:
    return above.weight == below.weight * below.slots and above.step == below.step * below.slots
