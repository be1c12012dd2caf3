"""Whether all of what is read was written before, in rows: on every way that leads to the read.

Knows: rows as walks over one memory, each with when it was written.
Does not know: loops (a row has what all iterations before the read wrote), which ways there are (`ways`), bytes of
registers (`definite`), how a finding is shown.
Law: a cell counts as written only by rows that have it, cell by cell on one grid; rows on the way of the read first, so
that what is left is asked of few ways: twenty conditions make a million paths, of which a cell needs one or two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dmaverify.program.ways import OnWay
from dmaverify.prove.flow.tile_union import Grid, grid_of
from dmaverify.prove.flow.ways import WaysUndecided
from dmaverify.prove.meet import Walk, apart, difference
from dmaverify.values import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_GROUPS = 512  # sets of cells that the same branches write

Row = tuple[Walk, OnWay]
"""What was written, when."""


@dataclass(frozen=True)
class CellsLeft:
    """The cells of a read that no row on its way has (`left`), on a grid that begins at the address `low` and has the
    read as its first walk; rows by their places in it: those that are there `always`, and `others` on their own ways.
    """

    grid: Grid
    low: int
    left: NDArray[Any]
    always: list[int]
    others: dict[OnWay, list[int]]

    @property
    def any(self) -> bool:
        return bool(self.left.any())

    @property
    def read(self) -> NDArray[Any]:
        return self.grid.covered[0]

    @property
    def never(self) -> NDArray[Any]:
        """The cells that no row has, whenever it is written."""
        return self.grid.left((0,), range(1, len(self.grid.covered)))

    @property
    def partly(self) -> bool:
        """Whether some of what is read was written."""
        return bool((self.read & ~self.left).any())

    def groups(self) -> Iterator[tuple[tuple[OnWay, ...], NDArray[Any]]]:
        """Cells that are written on the same ways alone, those first that lie first. Raises WaysUndecided."""
        found: dict[tuple[OnWay, ...], NDArray[Any]] = {(): self.left} if self.any else {}
        for when, places in self.others.items():
            cells = ~self.grid.left((), places)
            parts = [part for key, own in found.items() for part in (((*key, when), own & cells), (key, own & ~cells))]
            found = {key: part for key, part in parts if part.any()}
            if len(found) > MOST_GROUPS:
                raise WaysUndecided
        yield from sorted(found.items(), key=lambda one: int(one[1].argmax()))

    def first(self, cells: NDArray[Any]) -> int:
        """The least address of some cells."""
        at = self.grid.first(next(self.grid.cells(cells)))
        return self.low + sum(value * stride for (_, stride, _), value in at.items())


def left_of(read: Walk, rows: Sequence[Row], when: OnWay) -> CellsLeft | None:
    """What rows on the way of a read leave of it; None where that takes too long a list."""
    straight = [(walk.straight, way) for walk, way in rows]
    near = [
        (walk, way)
        for walk, way in straight
        if walk.low <= read.high and read.low <= walk.high and not apart(difference(walk, read))
    ]
    low = min(walk.low for walk in (read, *(walk for walk, _ in near)))
    moved = [replace(walk, base=walk.base - low) for walk in (read, *(walk for walk, _ in near))]
    grid = grid_of(moved, 1 + max(walk.high for walk in moved))
    if grid is None:
        return None
    around, always, others = set(when.path), list[int](), dict[OnWay, list[int]]()
    for place, (_, way) in enumerate(near, 1):
        sure = not way.exits and set(way.path) <= around
        (always if sure else others.setdefault(way, [])).append(place)
    return CellsLeft(grid, low, grid.left((0,), always), always, others)


def within(read: Walk, rows: Sequence[Walk]) -> bool:
    """Whether rows that were written on every way together have all that is read; no where the list is too long."""
    if read.straight in rows:
        return True
    found = left_of(read, [(row, OnWay()) for row in rows], OnWay())
    return found is not None and not found.any
