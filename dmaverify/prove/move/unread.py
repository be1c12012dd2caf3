"""Source elements that a move drops: no cell of the destination holds them, whatever commands do it.

Knows: the digits of both layouts, and the cells of mappings that have none. Does not know: streams, commands, machines.
Law: every element that is named is live in the source and has no cell in the destination; none is named only where
there is none, and where the cells are too many to tell there is no answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmaverify.language.expr import ONE, Expr, axes_of
from dmaverify.language.served import TooManyCells, first_unserved
from dmaverify.layout.addresses import Layout
from dmaverify.layout.held import TooMany
from dmaverify.program.move import Transfer
from dmaverify.prove.move.feasible import entangled, missing
from dmaverify.values import dataclass

_UNNAMED = "the destination does not name this axis at all"


@dataclass(frozen=True, slots=True)
class UnreadElement:
    """A live element of the source by its first coordinate that is lost, and why."""

    axis: str
    coordinate: int
    why: str

    @property
    def told(self) -> str:
        return f"the source element {self.axis} = {self.coordinate} goes nowhere: {self.why}"


def unread(transfer: Transfer, source: Layout, dest: Layout, *, opaque: bool) -> list[UnreadElement] | None:
    """What of the source no cell of the destination holds, axis by axis; None where that is too much to tell. `opaque`
    where layouts do not say all of their mappings.
    """
    try:
        if opaque or entangled(source) or entangled(dest):
            return list(_by_cells(transfer.source.mapping, transfer.dest.mapping))
        return list(_by_digits(source, dest))
    except (TooManyCells, TooMany):
        return None


def _by_digits(source: Layout, dest: Layout) -> Iterator[UnreadElement]:
    named = {a for a, n in dest.sizes if n > 1}
    for axis, size in source.sizes:
        live = [
            d for i, d in enumerate(source.digits) if d.axis == axis and i not in source.beyond_index and d.live > 1
        ]
        if size > 1 and axis not in named and live:
            yield UnreadElement(axis, min(d.weight for d in live), _UNNAMED)
    for lack in missing(dest, source):
        yield UnreadElement(lack.axis, lack.coordinate, "the destination's range does not hold it")


def _by_cells(source: Expr, dest: Expr) -> Iterator[UnreadElement]:
    """The same, cell by cell. Raises TooManyCells."""
    lost = {axis: n for axis, n in axes_of(source).items() if n > 1 and axis not in axes_of(dest)}
    for axis in sorted(lost):
        if first_unserved(ONE, source, (axis,)) is not None:  # some cell has another coordinate than 0
            yield UnreadElement(axis, 1, _UNNAMED)
    left = first_unserved(dest, source)
    if left is not None:
        axis, value = next(iter(left.items()), ("", 0))
        told = ", ".join(f"{name} = {at}" for name, at in left.items()) or "all coordinates 0"
        yield UnreadElement(axis, value, f"no cell of the destination holds {told}")
