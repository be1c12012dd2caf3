"""Elements of tensors as numbers, and where each of them lies.

Knows: coordinates, what a view shows. Does not know: how elements are moved, digits.
Law: an element has one number in all tensors of a move; where it lies several times, the first place serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from dmaverify.execute.address import WIDE
from dmaverify.execute.outcome import Beyond, Outcome
from dmaverify.execute.tensors import Cells, SeenTensor
from dmaverify.language.expr import Expr, axes_of
from dmaverify.language.meaning import TOP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

NONE = -(1 << 62)  # the address of something that lies nowhere


class ElementNames:
    """Elements as numbers: coordinates on the axes of a move, in mixed radix."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)
        self.kept = frozenset(sizes)
        if prod(self.sizes.values()) > WIDE:
            raise Beyond("too many elements to number")

    def of(self, coords: Mapping[str, Numbers], count: int, kept: frozenset[str]) -> Numbers:
        """One number for each row; axes that are not `kept` count as 0, as they do in an index that lacks them."""
        total = np.zeros(count, np.int64)
        for axis, size in self.sizes.items():
            total *= size
            if axis in kept and axis in coords:
                total += coords[axis]
        return total


def sizes_of(exprs: Sequence[Expr]) -> dict[str, int]:
    out: dict[str, int] = {}
    for expr in exprs:
        out.update(axes_of(expr))
    return {axis: out[axis] for axis in sorted(out)}


def find(sorted_: Numbers, wanted: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
    """Where each number stands among sorted ones, and whether it does."""
    if not len(sorted_):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(sorted_, wanted), len(sorted_) - 1)
    return place, sorted_[place] == wanted


class ElementPlaces:
    """Elements that a view shows, by rising numbers, each with its address; `alone`: none has several."""

    def __init__(self, view: SeenTensor, names: ElementNames, kept: frozenset[str]) -> None:
        live = np.flatnonzero(view.shown)
        own = names.of({axis: column[live] for axis, column in view.coords.items()}, len(live), kept)
        order = np.argsort(own, kind="stable")
        self.element, self.address = own[order], view.cells.address[live[order]]
        self.alone = not (self.element[1:] == self.element[:-1]).any()

    def of(self, wanted: Numbers) -> Numbers:
        """The addresses of elements; NONE where there is none."""
        place, found = find(self.element, wanted)
        return np.where(found, self.address[place], NONE) if len(self.address) else np.full(len(wanted), NONE)


def placed(at: Numbers, written: Cells, outcome: Outcome, word: str = "core/in-bounds") -> NDArray[np.bool_]:
    """Which elements of a stream are followed to where they are written: `at`, NONE of those that it has no place for.
    Top padding may take these, and no text says which of it; where there is none, they break `word`.
    """
    there: NDArray[np.bool_] = at != NONE
    if there.all():
        return there
    if not (written.kind == TOP).any():
        outcome.break_(word, "the stream has elements that the destination has no place for")
        return np.ones_like(there)
    for one in (word, "core/in-bounds", "core/reads-live", "core/writes-once"):
        outcome.leave(one, "which padding takes what the destination does not hold is not followed")
    return there
