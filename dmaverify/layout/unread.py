"""Cells of the source that one nest never reads, by looking at its box alone.

Knows: layouts, drives. Does not know: solvers, the other side of the move, what an unread cell means.
Law: an answer is exact; where a look does not decide, there is none.
"""

from __future__ import annotations

from dmaverify.layout.addresses import Layout
from dmaverify.layout.refine import Joint


def first_unread(joint: Joint, *, opaque: bool) -> int | str | None:
    """For one nest that reads a box from 0: "none", or the address of the first live cell outside it; None: not
    that simple.

    Live cells are closed downwards (guards only grow), so a box holds them all exactly when it reaches the last
    live value of every digit; where it does not, the first cell outside steps the innermost such digit once
    beyond the box.
    """
    if len(joint.nests) != 1 or joint.nests[0].nest.guards or joint.nests[0].read.carried:
        return None
    if joint.source.repeats_an_axis:
        return None
    driven, layout = joint.nests[0], joint.source
    if not opaque and layout.kind_at((0,) * len(layout.digits)) is not None:
        return "none"  # no live cell at all
    free, reach = layout.replicas, [0] * len(layout.digits)
    moved_before: set[int] = set()
    for index, (constant, moved) in enumerate(zip(driven.read.constants, driven.read.terms, strict=True)):
        pieces = {i for i, _ in moved}
        if index in free and not pieces & moved_before:
            moved_before |= pieces
            continue
        if constant or any(k != 1 for _, k in moved) or pieces & moved_before:
            return None
        if moved and index in layout.beyond_index:
            return None
        moved_before |= pieces
        reach[index] = sum(driven.nest.pieces[i].count - 1 for i in pieces)
    for index in reversed(range(len(layout.digits))):
        if index in free or index in layout.beyond_index:
            continue
        if reach[index] < _last_live(layout, index):
            if layout.digits[index].axis is None or opaque:
                return None  # a padded replica, or a position that may be padding: its element may be read elsewhere
            return layout.origin + layout.digits[index].step * (reach[index] + 1)
    return "none"


def _last_live(layout: Layout, index: int) -> int:
    """The largest value of a digit that occurs in a live cell: guards only grow, so all other digits are 0."""
    last = layout.digits[index].slots - 1
    for guard in layout.guards:
        coefficient = dict(guard.terms).get(index, 0)
        if coefficient:
            last = min(last, (guard.bound - 1 - guard.constant) // coefficient)
    return last
