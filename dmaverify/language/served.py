"""Elements that one mapping asks for and another does not hold, cell by cell, by the literal meaning alone.

Knows: `meaning`. Does not know: digits, layouts, machines.
Law: `first_unserved` is exact: it looks at every cell of both mappings, or says that they are too many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dmaverify.language.distinct import distinct
from dmaverify.language.expr import Expr, axes_of
from dmaverify.language.meaning import INDEX, ZERO, CellArray, cells_array, finalize_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CELLS = 1 << 22
_MOST_INDICES = 1 << 62


class TooManyCells(Exception):
    """More cells than are looked at one by one."""


def first_unserved(source: Expr, dest: Expr, axes: Sequence[str] | None = None) -> dict[str, int] | None:
    """The coordinates of the first live cell of `dest` whose element no live cell of `source` holds, as far as `axes`
    tell elements apart (the axes that both name; on one that it does not name a cell stands at 0). Raises TooManyCells.
    """
    sizes = axes_of(source) | axes_of(dest)
    common = sorted(set(axes_of(source)) & set(axes_of(dest))) if axes is None else sorted(axes)
    held, _ = _indices(source, common, sizes)
    wanted, cells = _indices(dest, common, sizes)
    import numpy as np

    absent = np.flatnonzero(~np.isin(wanted, distinct(held)))
    if not absent.size:
        return None
    return _coordinates(dest, int(cells[absent[0]]))


def holds_nothing(expr: Expr) -> bool:
    """Whether no cell of a mapping is live. Raises TooManyCells."""
    return not _indices(expr, (), axes_of(expr))[1].size


def first_zero(expr: Expr) -> int | None:
    """The first position of a mapping that is Zero padding. Raises TooManyCells."""
    import numpy as np

    found = np.flatnonzero(_cells(expr).kind == ZERO)
    return int(found[0]) if found.size else None


def count_of(expr: Expr, axes: Sequence[str]) -> int:
    """How many elements the live cells of a mapping hold, as far as `axes` tell them apart. Raises TooManyCells."""
    return int(distinct(_indices(expr, axes, axes_of(expr))[0]).size)


def first_repeated(expr: Expr, inside: int = 0) -> dict[str, int] | None:
    """The coordinates of the first element that two live cells of a mapping hold; with `inside`, that lies at two of
    these last positions (copies that lie alike in each of its outer places are one). Raises TooManyCells.
    """
    import numpy as np

    held, cells = _indices(expr, sorted(axes_of(expr)), axes_of(expr))
    at = cells % inside if inside else cells
    order = np.lexsort((at, held))
    again = (np.diff(held[order]) == 0) & (np.diff(at[order]) != 0)
    return _coordinates(expr, int(cells[order[1:][again]].min())) if again.any() else None


def walked_again(one: Expr, other: Expr, axes: Sequence[str]) -> bool:
    """Whether two mappings move some of the same values of `axes`: sums of what the two hold of these come out alike.
    Raises TooManyCells.
    """
    import numpy as np

    room = {axis: axes_of(one)[axis] + axes_of(other)[axis] for axis in axes}
    held, walked = (distinct(_indices(expr, axes, room)[0]) for expr in (one, other))
    if held.size * walked.size > MOST_CELLS:
        raise TooManyCells
    return distinct(np.add.outer(held, walked).ravel()).size < held.size * walked.size


def _coordinates(expr: Expr, at: int) -> dict[str, int]:
    import numpy as np

    found = finalize_array(cells_array(expr, np.asarray([at])), axes_of(expr))
    return {axis: int(values[0]) for axis, values in sorted(found.coords.items()) if values[0]}


def _indices(expr: Expr, axes: Sequence[str], every: Mapping[str, int]) -> tuple[NDArray[Any], NDArray[Any]]:
    """A number for the element of each live cell, and the positions of those cells."""
    import numpy as np

    found = _cells(expr)
    live = np.flatnonzero(found.kind == INDEX)
    total = np.zeros(live.size, np.int64)
    scale = 1
    for axis in axes:
        if axis in found.coords:
            total += found.coords[axis][live] * scale
        scale *= max(1, every.get(axis, 1))
        if scale > _MOST_INDICES:
            raise TooManyCells
    return total, live


def _cells(expr: Expr) -> CellArray:
    import numpy as np

    if expr.size > MOST_CELLS:
        raise TooManyCells
    try:
        return finalize_array(cells_array(expr, np.arange(expr.size)), axes_of(expr))
    except ValueError:
        raise TooManyCells from None
