"""What a position of a mapping stands for: the definition that everything else is tested against.

Knows: one case for every constructor, how cells of a pair combine, what finalizing does, how cells are shown.
Does not know: digits, solvers, addresses; whether the tree makes sense (`wellformed`): any tree has cells, even an
illegal one.
Law: `cell(e, i)` is `map(i)` of docs/machines/rngd.md 1.2, and `cells_array` gives the same cells for many positions
at once.

A *raw* cell carries the coordinates as the constructors add them; a *finalized* one has no zero coordinate and no
overshoot (docs/machines/rngd.md 1.3, items 8 and 9). Compare finalized cells only. Literal and slow on purpose, and
sharing no code with digits.
Source: docs/machines/rngd.md 1.2, 1.3 (furiosa-mapping-types/src/dsl.rs of furiosa-opt v0.6.0), 1.6 ("DMA Engine",
"Sequencer").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Union

from dmaverify.language.expr import (
    Broadcast,
    Drop,
    Expr,
    Kind,
    Modulo,
    Padding,
    Pair,
    Resize,
    Stride,
    Symbol,
    Window,
    walk,
)
from dmaverify.values import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

Coords = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Index:
    """A logical index: (axis, coordinate) in order of the axis names."""

    coords: Coords


@dataclass(frozen=True, slots=True)
class Pad:
    kind: Kind


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """No cell: a position outside the mapping, or one that `=` added."""


@dataclass(frozen=True, slots=True)
class Several:
    """Two or more indices at one position: overlapping windows, `$(e:n, ...)`."""

    indices: frozenset[Coords]


Cell = Union[Index, Pad, OutOfBounds, Several]

OUT = OutOfBounds()


def cell(expr: Expr, position: int) -> Cell:
    """The raw cell at `position`, counted in elements from 0; OutOfBounds outside 0..size."""
    if not 0 <= position < expr.size:
        return OUT
    match expr:
        case Symbol(name):
            return Index(((name, position),))
        case Broadcast():
            return Index(())
        case Stride(inner, by):
            return cell(inner, position * by)
        case Modulo(inner):
            return cell(inner, position % inner.size) if inner.size > 0 else OUT
        case Resize(inner):
            return cell(inner, position)
        case Padding(inner, _, kind):
            return Pad(kind) if position >= inner.size else cell(inner, position)
        case Pair(left, right):
            return combine(cell(left, position // right.size), cell(right, position % right.size))
        case Drop(inner, first):
            return cell(inner, position + first)
        case Window(terms):
            return _related(terms, position)


def combine(major: Cell, minor: Cell) -> Cell:
    """The cell of a pair: the major one if it is no index, else the minor one if that is none, else the sums per
    axis."""
    if isinstance(major, Index) and isinstance(minor, Index):
        return Index(_added(major.coords, minor.coords))
    if isinstance(major, (Pad, OutOfBounds)):
        return major
    if isinstance(minor, (Pad, OutOfBounds)):
        return minor
    return _indices({_added(one, other) for one in _coords(major) for other in _coords(minor)})


def _coords(found: Index | Several) -> Iterable[Coords]:
    return (found.coords,) if isinstance(found, Index) else found.indices


def _indices(found: set[Coords]) -> Index | Several:
    return Index(next(iter(found))) if len(found) == 1 else Several(frozenset(found))


def _added(one: Coords, other: Coords) -> Coords:
    total = dict(one)
    for axis, value in other:
        total[axis] = total.get(axis, 0) + value
    return tuple(sorted(total.items()))


@lru_cache(maxsize=1 << 14)  # the same few positions stand beside every position of the other parts
def _related(terms: tuple[tuple[Expr, int], ...], position: int) -> Cell:
    """All indices related to a position of `$(e1:n1, ...)`: the sums of the terms' indices over every way to write
    `position = sum(sk * nk)`.

    Where no way gives an index: the one padding cell that all ways agree on, else padding that holds anything
    (inferred: no source says what a gap is)."""
    live: set[Coords] = set()
    other: set[Cell] = set()
    for ways in _ways(terms, position):
        found: Cell = Index(())
        for (term, _), at in zip(terms, ways, strict=True):
            found = combine(found, cell(term, at))
        if isinstance(found, (Index, Several)):
            live.update(_coords(found))
        else:
            other.add(found)
    if live:
        return _indices(live)
    return other.pop() if len(other) == 1 else Pad(Kind.TOP)


def _ways(terms: tuple[tuple[Expr, int], ...], position: int) -> Iterator[tuple[int, ...]]:
    """Every (s1, ..., sd) with 0 <= sk < size of ek and sum(sk * nk) = position."""
    reach = [0]
    for term, weight in reversed(terms):
        reach.append(reach[-1] + max(0, term.size - 1) * weight)
    reach.reverse()
    stack: list[tuple[tuple[int, ...], int]] = [((), position)]
    while stack:
        chosen, rest = stack.pop()
        if len(chosen) == len(terms):
            if rest == 0:
                yield chosen
            continue
        term, weight = terms[len(chosen)]
        beyond = reach[len(chosen) + 1]
        first, last = 0, term.size - 1
        if weight:
            first, last = max(0, -((beyond - rest) // weight)), min(last, rest // weight)
        stack.extend(((*chosen, at), rest - at * weight) for at in range(last, first - 1, -1))


# -- finalized


def finalize(found: Cell, sizes: Mapping[str, int], fill: Kind = Kind.TOP) -> Cell:
    """The cell to compare: zero coordinates dropped, an index beyond its axis padding (Top), out of bounds the kind
    `fill`.

    `sizes` are the sizes of the axes; `fill` is Top where the mapping is read and Bottom where it is written. Of
    several indices those beyond their axes are dropped. Source: docs/machines/rngd.md 1.3, items 8 and 9 (that
    overshoot is Top is inferred).
    """
    if isinstance(found, OutOfBounds):
        return Pad(fill)
    if isinstance(found, Pad):
        return found
    live = {tuple((axis, value) for axis, value in one if value) for one in _coords(found) if _within(one, sizes)}
    return _indices(live) if live else Pad(Kind.TOP)


def _within(coords: Coords, sizes: Mapping[str, int]) -> bool:
    return all(value < sizes[axis] for axis, value in coords)


def live_indices(expr: Expr, position: int, sizes: Mapping[str, int]) -> frozenset[Coords]:
    """The finalized indices at `position`: none where it is not live, more than one only for windows."""
    return indices_of(finalize(cell(expr, position), sizes))


def indices_of(found: Cell) -> frozenset[Coords]:
    """The indices that a finalized cell stands for."""
    return frozenset(_coords(found)) if isinstance(found, (Index, Several)) else frozenset()


def cells(expr: Expr, start: int = 0, stop: int | None = None) -> Iterator[Cell]:
    """The raw cells of positions `start` to `stop` (exclusive; the size if None)."""
    return (cell(expr, position) for position in range(start, expr.size if stop is None else stop))


# -- shown


def vendor_text(found: Cell) -> str:
    """The vendor's printed form: `Index[A = 3, B = 0]`, `Padding(Top)`, `OutOfBounds`; ` | ` joins several indices."""
    if isinstance(found, OutOfBounds):
        return "OutOfBounds"
    if isinstance(found, Pad):
        return f"Padding({found.kind.value.capitalize()})"
    shown = (", ".join(f"{axis} = {value}" for axis, value in one) for one in sorted(_coords(found)))
    return " | ".join(f"Index[{coords}]" for coords in shown)


def cell_json(found: Cell, raw: bool, sizes: Mapping[str, int]) -> Any:
    """`found`, a raw cell, as JSON data: `{"index": {...}}`, `{"indices": [...]}`, `{"padding": ...}`,
    `"out-of-bounds"`.

    Unless `raw`, an index beyond its axis is shown as the padding that it is; zero coordinates stay. Source:
    docs/design.md.
    """
    if isinstance(found, OutOfBounds):
        return "out-of-bounds"
    if isinstance(found, Pad):
        return {"padding": found.kind.value}
    shown = sorted(one for one in _coords(found) if raw or _within(one, sizes))
    if not shown:
        return {"padding": Kind.TOP.value}
    return {"index": dict(shown[0])} if len(shown) == 1 else {"indices": [dict(one) for one in shown]}


# -- many positions at once

INDEX, TOP, ZERO, BOTTOM, OUTSIDE = range(5)
_CODE = {Kind.TOP: TOP, Kind.ZERO: ZERO, Kind.BOTTOM: BOTTOM}
_LARGEST = 2**63 - 1
_FEW = 1024  # positions that are not worth loading numpy


@dataclass(frozen=True, eq=False)
class CellArray:
    """Cells of many positions. `kind` (int8): INDEX, TOP, ZERO, BOTTOM or OUTSIDE; `coords`: int64, one array an axis,
    0 where the cell is no index. All arrays have the shape of the positions."""

    kind: NDArray[np.int8]
    coords: dict[str, Numbers]

    def at(self, place: int) -> Cell:
        """The cell of the `place`-th position (of a flat array)."""
        code = int(self.kind[place])
        if code == INDEX:
            return Index(tuple((axis, int(values[place])) for axis, values in sorted(self.coords.items())))
        return OUT if code == OUTSIDE else Pad(next(kind for kind, value in _CODE.items() if value == code))


def cells_array(expr: Expr, positions: Numbers) -> CellArray:
    """The raw cells at `positions` (int64, any shape).

    Raises ValueError for windows, which are no function of the position, and where a size or a coordinate may not fit
    63 bits.
    """
    largest = 0
    for node in walk(expr):
        if isinstance(node, Window):
            raise ValueError(f"{node} stands for several indices at one position")
        largest = max(largest, node.size)
    if max(largest, sum(node.size for node in walk(expr) if isinstance(node, Symbol))) > _LARGEST:
        raise ValueError("sizes beyond 63 bits")
    return _array(expr, positions)


def cells_json(expr: Expr, start: int, stop: int, raw: bool, sizes: Mapping[str, int]) -> list[Any]:
    """`cell_json` of the positions `start` to `stop`; many of them at once where they are no windows."""
    if stop - start <= _FEW or stop > _LARGEST:
        return [cell_json(found, raw, sizes) for found in cells(expr, start, stop)]
    import numpy as np

    try:
        found = cells_array(expr, np.arange(start, stop, dtype=np.int64))
    except ValueError:
        return [cell_json(cell, raw, sizes) for cell in cells(expr, start, stop)]
    names = sorted(found.coords)
    plain = found.kind == INDEX
    for name in () if raw else names:
        plain &= found.coords[name] < sizes[name]
    columns = [found.coords[name].tolist() for name in names]
    rows = zip(*columns, strict=True) if columns else iter([()] * (stop - start))
    return [
        {"index": dict(zip(names, row, strict=True))} if whole else cell_json(found.at(place), raw, sizes)
        for place, (row, whole) in enumerate(zip(rows, plain.tolist(), strict=True))
    ]


def _array(expr: Expr, positions: Numbers) -> CellArray:
    import numpy as np

    if expr.size <= 0:
        return CellArray(np.full(positions.shape, OUTSIDE, np.int8), {})
    if not positions.size or (positions.min() >= 0 and positions.max() < expr.size):
        return _inside(expr, positions)
    outside = (positions < 0) | (positions >= expr.size)
    return _masked(_inside(expr, np.where(outside, 0, positions)), outside, OUTSIDE)


def _inside(expr: Expr, at: Numbers) -> CellArray:
    """The cells at positions that are all within the size."""
    import numpy as np

    match expr:
        case Symbol(name):
            return CellArray(np.zeros(at.shape, np.int8), {name: at})
        case Broadcast():
            return CellArray(np.zeros(at.shape, np.int8), {})
        case Stride(inner, by):
            return _array(inner, at * by)
        case Modulo(inner):
            return _array(inner, _divided(at, inner.size)[1] if inner.size > 0 else at)
        case Resize(inner):
            return _array(inner, at)
        case Padding(inner, _, kind):
            return _masked(_array(inner, at), at >= inner.size, _CODE[kind])
        case Pair(left, right):
            major, minor = _divided(at, right.size)
            return _combined(_array(left, major), _array(right, minor))
        case Drop(inner, first):
            return _array(inner, at + first)
        case Window():
            raise ValueError(f"{expr} stands for several indices at one position")


def _divided(at: Numbers, by: int) -> tuple[Numbers, Numbers]:
    """Quotients and rests; numpy divides by one number several times quicker than it takes rests."""
    whole = at // by
    return whole, at - whole * by


def _masked(found: CellArray, where: NDArray[np.bool_], code: int) -> CellArray:
    """`found` with cells of kind `code` in the places `where`."""
    if not where.any():  # of most steps: nothing is copied
        return found
    import numpy as np

    kind = np.where(where, np.int8(code), found.kind)
    return CellArray(kind, {axis: np.where(where, 0, values) for axis, values in found.coords.items()})


def _combined(major: CellArray, minor: CellArray) -> CellArray:
    """`combine`, place by place."""
    import numpy as np

    kind = np.where(major.kind != INDEX, major.kind, minor.kind)
    total = dict(major.coords)
    for axis, values in minor.coords.items():
        total[axis] = total[axis] + values if axis in total else values
    live = kind == INDEX
    return CellArray(kind, total if live.all() else {axis: np.where(live, values, 0) for axis, values in total.items()})


def finalize_array(found: CellArray, sizes: Mapping[str, int], fill: Kind = Kind.TOP) -> CellArray:
    """`finalize`, place by place: overshoot becomes TOP and out of bounds the kind `fill`. Zero coordinates need no
    dropping: an array holds a coordinate for every axis."""
    import numpy as np

    beyond = np.zeros(found.kind.shape, np.bool_)
    for axis, values in found.coords.items():
        beyond |= values >= sizes[axis]
    filled = _masked(found, found.kind == OUTSIDE, _CODE[fill])
    return _masked(filled, beyond & (found.kind == INDEX), TOP)
