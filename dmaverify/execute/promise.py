"""What every unit of the two tensors of a move must hold, as one number a unit: its tag.

Knows: `meaning` (cells at positions), tags, content made from tags.
Does not know: addresses, commands, digits, solvers.
Law: two live units have one tag exactly when they are one element and unit number, as far as the source names it; a
unit that is not live has a negative tag, by its kind. Axes that the source does not name take no part; axes that the
destination lacks count as 0.

Where a position stands for several indices (windows) a tag names the set of them, see `Promise.sets`.
Source: docs/machines/rngd.md 1.2, 1.3 (items 8 and 9), 1.6; the plan file format (What is judged); docs/design.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dmaverify.execute.address import WIDE
from dmaverify.execute.elements import ElementNames
from dmaverify.execute.tensors import cells_of
from dmaverify.language.distinct import distinct
from dmaverify.language.expr import Expr, Kind, Window, axes_of, walk
from dmaverify.language.meaning import INDEX, Coords, OutOfBounds, Pad, cell, finalize, indices_of, live_indices
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Tags = NDArray[np.signedinteger[Any]]

_CHUNK = 1 << 17  # positions whose cells are made at once
TOP, ZERO, READ_BOTTOM, WRITE_BOTTOM = -1, -2, -3, -4  # tags of what is not live
SOURCE_TAGS = np.array([0, TOP, ZERO, READ_BOTTOM, TOP])  # by the kind codes of `meaning`
DEST_TAGS = np.array([0, TOP, ZERO, WRITE_BOTTOM, WRITE_BOTTOM])
_CACHED_UNITS = 1 << 14
_CACHED_SETS = 1 << 9  # sets of indices take a hundred times the memory of tags, and more
_CODE_OF_KIND = {Kind.TOP: 1, Kind.ZERO: 2, Kind.BOTTOM: 3}


@dataclass(frozen=True, eq=False)
class Promise:
    """`source[u]` and `dest[u]`: the tag of unit u. `width`: units an element.

    `sets` is None where every live position stands for one index; else tag // width names the set of indices, projected
    on the axes of the source, and a source unit serves a destination unit when its set holds the other's.
    """

    source: Tags
    dest: Tags
    width: int
    dest_live: int
    sets: tuple[frozenset[Coords], ...] | None = None

    def served(self, want: Tags, have: Tags) -> NDArray[np.bool_]:
        """Whether live tags `have` are what live tags `want` ask for."""
        same: NDArray[np.bool_] = want == have
        if self.sets is None or same.all():
            return same
        pairs, back = np.unique(np.stack((want, have)), axis=1, return_inverse=True)
        found = [self._holds(int(w), int(h)) for w, h in pairs.T]
        answers: NDArray[np.bool_] = np.array(found, np.bool_)[back.reshape(-1)]
        return answers

    def _holds(self, want: int, have: int) -> bool:
        assert self.sets is not None
        return want % self.width == have % self.width and self.sets[want // self.width] <= self.sets[have // self.width]

    def unread(self, read: NDArray[np.bool_]) -> tuple[int, int]:
        """How many units of live source elements nobody reads in any place, and the first unit index (else -1)."""
        rest = np.flatnonzero(~read & (self.source >= 0))
        if not len(rest):
            return 0, -1
        if self.sets is not None:
            return self._unread_sets(read, rest)
        rest = rest[~np.isin(self.source[rest], self.source[read])]
        return (len(distinct(self.source[rest])), int(rest[0])) if len(rest) else (0, -1)

    def _elements(self, tag: int) -> set[tuple[Coords, int]]:
        assert self.sets is not None
        return {(one, tag % self.width) for one in self.sets[tag // self.width]} if tag >= 0 else set()

    def _unread_sets(self, read: NDArray[np.bool_], rest: Tags) -> tuple[int, int]:
        seen: set[tuple[Coords, int]] = set()
        for tag in distinct(self.source[read]).tolist():
            seen |= self._elements(tag)
        missing: set[tuple[Coords, int]] = set()
        first = -1
        for index in rest.tolist():
            new = self._elements(int(self.source[index])) - seen
            first = index if new and first < 0 else first
            missing |= new
        return len(missing), first


def promise_of(source: Expr, dest: Expr, width: int, broadcast_missing: bool) -> Promise:
    """The tags of a move. Small ones are remembered."""
    most = _CACHED_UNITS if _one_index_each(source, dest) else _CACHED_SETS
    if max(source.size, dest.size) * width <= most:
        return _remembered(source, dest, width, broadcast_missing)
    return _promise(source, dest, width, broadcast_missing)


def _promise(source: Expr, dest: Expr, width: int, broadcast_missing: bool) -> Promise:
    if _one_index_each(source, dest):
        ours, theirs = _tags(source, dest, broadcast_missing)
        sets = None
    else:
        ours, theirs, sets = _set_tags(source, dest, broadcast_missing)
    ours, theirs = with_units(ours, width), with_units(theirs, width)
    return Promise(ours, theirs, width, int(np.count_nonzero(theirs >= 0)), sets)


@lru_cache(maxsize=256)
def _remembered(source: Expr, dest: Expr, width: int, broadcast_missing: bool) -> Promise:
    return _promise(source, dest, width, broadcast_missing)


def _one_index_each(source: Expr, dest: Expr) -> bool:
    """Whether every position stands for one index, and every number of an element fits an array."""
    nodes = [*walk(source), *walk(dest)]
    sizes = {axis: max(size, axes_of(dest).get(axis, 0), 1) for axis, size in axes_of(source).items()}
    plain = not any(isinstance(node, Window) for node in nodes)
    return plain and sum(node.size for node in nodes) < 1 << 63 and prod(sizes.values()) <= WIDE


def with_units(tags: Tags, width: int) -> Tags:
    """The tags of all units, of the tags of positions."""
    if width == 1:
        return tags
    spread = np.repeat(tags, width).reshape(-1, width)
    return np.where(spread >= 0, spread * width + np.arange(width, dtype=tags.dtype), spread).reshape(-1)


def _tags(source: Expr, dest: Expr, broadcast_missing: bool) -> tuple[Tags, Tags]:
    """Tags of positions, one number an index, over the axes that the source names."""
    sizes, others = axes_of(source), axes_of(dest)
    names = ElementNames({axis: max(size, others.get(axis, 0), 1) for axis, size in reversed(sizes.items())})
    held = {axis: _held(source, axis) for axis in sizes} if broadcast_missing else {}
    return _numbered(source, names, Kind.TOP, {}), _numbered(dest, names, Kind.BOTTOM, held)


def _numbered(expr: Expr, names: ElementNames, fill: Kind, held: Mapping[str, Any]) -> Tags:
    padding = SOURCE_TAGS if fill is Kind.TOP else DEST_TAGS
    out: Tags = np.empty(expr.size, np.int32 if prod(names.sizes.values()) < 1 << 28 else np.int64)
    for kind, coords, part in _parts(expr, fill):
        known = {axis: _project(column, held.get(axis)) for axis, column in coords.items()}
        out[part] = np.where(kind == INDEX, names.of(known, len(kind), names.kept), padding[kind])
    return out


def _parts(expr: Expr, fill: Kind) -> Iterator[tuple[Any, dict[str, Any], slice]]:
    """Kinds and coordinates, some positions at a time."""
    for start in range(0, expr.size, _CHUNK):
        stop = min(expr.size, start + _CHUNK)
        yield *cells_of(expr, fill, start, stop), slice(start, stop)


# ---------------------------------------------------------------- the reading `broadcast-missing`


def _held(source: Expr, axis: str) -> tuple[tuple[int, int], ...] | None:
    """The coordinates that live source cells have on `axis`, as steps (weight, count)."""
    seen: set[int] = set()
    for kind, coords, _ in _parts(source, Kind.TOP):
        if axis in coords:
            seen.update(distinct(coords[axis][kind == INDEX]).tolist())
    return steps_of(sorted(seen))


def steps_of(values: Sequence[int]) -> tuple[tuple[int, int], ...] | None:
    """The (weight, count) such that rising `values` are all sums of weight * (0..count), the last count perhaps not
    reached in full; None where they are no such set, or the weights form no divisibility chain."""
    values, have = list(values), [0]
    steps: list[tuple[int, int]] = []
    while len(have) < len(values):
        weight, size = values[len(have)], len(have)
        if steps and weight % (steps[-1][0] * steps[-1][1]):
            return None
        count = 1
        while count * size < len(values) and values[count * size] == count * weight:
            count += 1
        if count == 1:
            return None
        have = [high * weight + low for high in range(count) for low in have]
        steps.append((weight, count))
        if values[: len(have)] != have[: len(values)]:
            return None
    return tuple(steps) if values and values[0] == 0 else None


def _project(values: Any, steps: tuple[tuple[int, int], ...] | None) -> Any:
    """A coordinate reduced to what the source holds of it: `N` at 600 against a source `N % 512` is 88."""
    if steps is None:
        return values
    total = values * 0
    for weight, count in steps:
        total = total + values // weight % count * weight
    return total


# ---------------------------------------------------------------- positions that stand for several indices


def _set_tags(source: Expr, dest: Expr, broadcast_missing: bool) -> tuple[Tags, Tags, tuple[frozenset[Coords], ...]]:
    """Tags as names of sets of indices, cell by cell."""
    axes = axes_of(source)
    known: dict[frozenset[Coords], int] = {}
    ours = _set_side(source, axes, {}, Kind.TOP, known)
    held: dict[str, Any] = {}
    if broadcast_missing:
        for axis in axes:
            held[axis] = steps_of(sorted({dict(one).get(axis, 0) for group in known for one in group}))
    theirs = _set_side(dest, axes, held, Kind.BOTTOM, known)
    return ours, theirs, tuple(known)


def _set_side(
    expr: Expr, axes: Mapping[str, int], held: Mapping[str, Any], fill: Kind, known: dict[frozenset[Coords], int]
) -> Tags:
    sizes = axes_of(expr)
    padding = SOURCE_TAGS if fill is Kind.TOP else DEST_TAGS
    out = np.empty(expr.size, np.int64)
    for position in range(expr.size):
        found = finalize(cell(expr, position), sizes, fill)
        if isinstance(found, Pad):
            out[position] = padding[_CODE_OF_KIND[found.kind]]
            continue
        group = frozenset(_shared(one, axes, held) for one in indices_of(found))
        out[position] = known.setdefault(group, len(known))
    return out


def _shared(one: Coords, axes: Mapping[str, int], held: Mapping[str, Any]) -> Coords:
    found = ((axis, _project(value, held.get(axis))) for axis, value in one if axis in axes)
    return tuple((axis, value) for axis, value in found if value)


# ---------------------------------------------------------------- in words


def cell_words(expr: Expr, position: int) -> tuple[str, dict[str, int] | None]:
    """The kind of a cell (`live`, `top`, `zero`, `bottom`, `out-of-bounds`) and, where it is live, its coordinates: one
    for every axis that `expr` names, of the smallest index where there are several."""
    sizes = axes_of(expr)
    found = cell(expr, position)
    if isinstance(found, OutOfBounds):
        return "out-of-bounds", None
    live = live_indices(expr, position, sizes)
    if live:
        return "live", {axis: dict(min(live)).get(axis, 0) for axis in sorted(sizes)}
    known = finalize(found, sizes)
    return (known.kind.value if isinstance(known, Pad) else "top"), None


# ---------------------------------------------------------------- content

_VALUES = 65_521  # a prime


@lru_cache(maxsize=1)
def _table() -> Bytes:
    """Scattered bytes that no library's version changes."""
    mixed = np.arange(1, _VALUES + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(56)).astype(np.uint8)


def content(tags: Tags, promise: Promise, unit_bits: int) -> Bytes:
    """A value for each unit: a function of the element it must hold (Zero padding: 0; other padding: of its place)."""
    names: Any = tags
    if promise.sets:
        names = _classes(promise)[np.maximum(tags, 0)]
    names = np.where(tags >= 0, names, np.arange(len(tags)))
    values = np.where(tags == ZERO, np.uint8(0), _table()[names % _VALUES])
    return values & np.uint8((1 << unit_bits) - 1)


def _classes(promise: Promise) -> NDArray[np.int64]:
    """By tag, one number for all sets that must hold one value: indices that share a source cell are equal."""
    assert promise.sets is not None
    leader: dict[Any, Any] = {}

    def find(one: Any) -> Any:
        while leader.setdefault(one, one) != one:
            one = leader[one]
        return one

    for name in sorted({int(tag) // promise.width for tag in promise.source if tag >= 0}):
        first, *rest = sorted(promise.sets[name])
        for one in rest:
            leader[find(one)] = find(first)
    number = {one: at for at, one in enumerate(sorted({find(min(group)) for group in promise.sets}))}
    base = np.array([number[find(min(group))] for group in promise.sets], np.int64)
    return (base[:, None] * promise.width + np.arange(promise.width)).reshape(-1)
