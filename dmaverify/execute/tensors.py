"""Tensors cell by cell: where each unit lies, which element it is, and what a view shows of it.

Knows: the literal cells of mappings, places and addresses, tiles as shifts of coordinates.
Does not know: digits, sequencers, order.
Law: `laid_out` has one row for each position of the tensor, `seen` says of each which coordinates a view gives it.

A tile of the digit I from `start` on shifts coordinates by the index of I at `start`: the element x of the view is the
element x + shift of the tensor. It shows those elements whose digit lies in the tile. Tiles of tiles shift again.
Source: facts on cells and views as in `language.meaning`; furiosa-opt v0.6.0 (views: the offset added is the index of
the digit at its start).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from dmaverify.execute.address import DeclaredRegion, must_fit, overlapping
from dmaverify.execute.outcome import Beyond
from dmaverify.execute.work import Flow, HeldTensor, RunMachine, RunTile, start_at
from dmaverify.language.expr import Expr, Kind, Padding, axes_of, pair, terms_of
from dmaverify.language.meaning import BOTTOM, INDEX, ZERO, cells_array, finalize_array
from dmaverify.program.space import unit_bits_of
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Cells:
    """All positions of a tensor: the address of the first unit of each, its kind, its coordinates."""

    address: Numbers
    kind: NDArray[np.int8]
    coords: Mapping[str, Numbers]
    width: int
    named: frozenset[str]  # the axes that the mapping names
    region: DeclaredRegion

    @property
    def live(self) -> Mask:
        found: Mask = self.kind == INDEX
        return found


def cells_of(
    expr: Expr, fill: Kind, start: int = 0, stop: int | None = None
) -> tuple[NDArray[np.int8], dict[str, Numbers]]:
    """Finalized kinds and coordinates of all positions, or of those from `start` to `stop`."""
    at = np.arange(start, expr.size if stop is None else stop)
    try:
        found = finalize_array(cells_array(expr, at), axes_of(expr), fill)
    except ValueError as error:
        raise Beyond(str(error)) from None
    return found.kind, dict(found.coords)


def laid_out(held: HeldTensor, machine: RunMachine, bits: int, *, written: bool) -> Cells:
    """The tensor itself, without its tiles."""
    unit = unit_bits_of(bits)
    width = bits // unit
    whole = pair(*(expr for _, expr in held.fields))
    machine.allow(whole.size * width)
    kind, coords = cells_of(whole, Kind.BOTTOM if written else Kind.TOP)
    at = np.arange(whole.size)
    must_fit(held.base * 8 // unit)
    address = np.full(whole.size, held.base * 8 // unit, np.int64)
    first, inner, far = dict(held.first), 1, held.base * 8 // unit
    origin, rooms = far, list[tuple[str, int, int]]()
    for place, expr in reversed(held.fields):
        step = width if place == "element" else machine.stride(held.tier, place, unit)
        origin += first.get(place, 0) * step
        if place == "element":
            rooms = [(place, expr.size * width, 1)]
        elif expr.size > 1:
            rooms = [(place, expr.size, step), *rooms]
        far += (expr.size + first.get(place, 0)) * step
        must_fit(far)
        address += (at // inner % expr.size + first.get(place, 0)) * step
        inner *= expr.size
    order = np.sort(address)
    if (len(order) > 1 and int((order[1:] - order[:-1]).min()) < width) or overlapping(rooms):
        raise Beyond("two positions share an address")
    return Cells(address, kind, coords, width, frozenset(axes_of(whole)), DeclaredRegion(origin, tuple(rooms)))


class KnownTensors:
    """Tensors by the elements that lie at their addresses: of those that have the same, the one that was met first.
    What lies at an address alone is not laid out.
    """

    def __init__(self, machine: RunMachine) -> None:
        self.machine = machine
        self.met: dict[tuple[HeldTensor, int], tuple[HeldTensor, int]] = {}
        self.there: dict[tuple[object, ...], list[tuple[HeldTensor, int]]] = {}

    def __call__(self, held: HeldTensor, bits: int) -> tuple[HeldTensor, int]:
        one = held, bits
        if one not in self.met:
            there = self.there.setdefault((held.tier, held.base, held.first, bits), [])
            same = (other for other in there if self._elements(*other) == self._elements(*one))
            self.met[one] = next(same, one)
            there += [one] if self.met[one] is one else []
        return self.met[one]

    def _elements(self, held: HeldTensor, bits: int) -> tuple[object, ...]:
        """What lies where."""
        cells = laid_out(held, self.machine, bits, written=True)
        order = np.argsort(cells.address[cells.live])
        coords = {axis: at[cells.live][order] for axis, at in cells.coords.items()}
        elements = tuple((axis, at.tobytes()) for axis, at in sorted(coords.items()) if at.any())
        return cells.address[cells.live][order].tobytes(), *elements


# ---------------------------------------------------------------- views


@dataclass(frozen=True)
class SeenTensor:
    """A tensor through its tiles at one iteration: what is shown, with the coordinates of the view.

    Where the view lacks elements that the same tiles from 0 on would show, `outside` says which tile reaches beyond its
    digit. `ragged`: it reaches into padding, or a tile of the tile cuts off what reaches beyond. `shift` is where the
    view's coordinates begin.
    """

    cells: Cells
    shown: Mask
    coords: Mapping[str, Numbers]
    shift: Mapping[str, int]
    outside: str = ""
    ragged: bool = False


def seen(cells: Cells, held: HeldTensor, values: Mapping[str, int]) -> SeenTensor:
    shown, coords, outside = cells.live.copy(), dict(cells.coords), ""
    shift: dict[str, int] = {}
    bare, short = shown.copy(), False
    for tile in held.tiles:
        if any(_in_several(held, axis, size) for axis, size in axes_of(tile.digit).items()):
            raise Beyond(f"a tile of `{tile.digit}`, and another term with the same elements")
        if tile.length > tile.digit.size:
            raise Beyond(f"a tile of {tile.length} of `{tile.digit}`")
        start = start_at(tile.start, values)
        size = tile.digit.size
        if start < 0 or start + tile.length > size:
            outside = outside or f"`{tile.digit}` has {size} positions, the tile is {start}..{start + tile.length - 1}"
        kind, found = cells_of(tile.digit, Kind.TOP)
        inside = 0 <= start < size and int(kind[start]) == INDEX
        if not inside:
            outside = outside or f"`{tile.digit}` holds no element at {start}"
            shown[:] = False
        moved = {axis: int(column[start]) for axis, column in found.items()} if inside else {}
        bare &= _within(tile, found, cells.coords)
        for axis, by in moved.items():
            shift[axis] = shift.get(axis, 0) + by
            coords[axis] = coords[axis] - by
            shown &= coords[axis] >= 0
        shown &= _within(tile, found, coords)
        short = short or int(np.count_nonzero(shown)) < int(np.count_nonzero(bare))
    if int(np.count_nonzero(shown)) == int(np.count_nonzero(bare)):
        ragged = short or bool(outside)  # a tile of the tile cuts off what reaches beyond
        return SeenTensor(cells, shown, coords, shift, "", ragged)
    return SeenTensor(cells, shown, coords, shift, outside, not outside)


def _in_several(held: HeldTensor, axis: str, size: int) -> bool:
    """Whether terms of the tensor hold an axis as if it were larger: a tile cuts one of them, and shows what the others
    still name. Quotients that are rounded up make less than twice as much.
    """
    bare = [_padded(term)[-1] for _, expr in held.fields for term in terms_of(expr)]
    own = [term.size for term in bare if axis in axes_of(term) and term.size > 1]
    return len(own) > 1 and prod(own) >= 2 * size


def in_tiles(held: HeldTensor, values: Mapping[str, int], *, around: bool = False) -> Mask:
    """Which positions the tiles show, elements or not: by the digit of each position, whatever its cell; with what
    stands `around` a digit that is padded further, too.
    """
    sizes = [expr.size for _, expr in held.fields]
    at = np.arange(int(np.prod(sizes, dtype=np.int64)))
    shown = np.ones(len(at), np.bool_)
    for tile in held.tiles:
        if sum(other.digit == tile.digit for other in held.tiles) > 1:
            raise Beyond("a tile of a tile, and padding")
        inner, found = 1, []
        for place, expr in reversed(held.fields):
            for term in reversed(terms_of(expr)):
                if place == tile.place and tile.digit in _padded(term):
                    found.append((inner, term.size))
                inner *= term.size
        if len(found) != 1:
            raise Beyond(f"`{tile.digit}` is a part of a term, and there is padding")
        ((inner, size),) = found
        digit, start = at // inner % size, start_at(tile.start, values)
        shown &= ((digit >= start) & (digit < start + tile.length)) | (around & (digit >= tile.digit.size))
    return shown


def zeros_in(cells: Cells, held: HeldTensor, values: Mapping[str, int]) -> Mask:
    """Which positions are zero padding that the tiles leave in the view."""
    zero: Mask = cells.kind == ZERO
    return zero & in_tiles(held, values, around=True) if held.tiles and zero.any() else zero


def _padded(term: Expr) -> list[Expr]:
    """A term, and what its paddings are around."""
    out = [term]
    while isinstance(out[-1], Padding):
        out.append(out[-1].inner)
    return out


def _within(tile: RunTile, found: Mapping[str, Numbers], coords: Mapping[str, Numbers]) -> Mask:
    """Which coordinates have the digit below the tile's length."""
    moving = [axis for axis, column in found.items() if column.any()]
    if len(moving) > 1 or (not moving and tile.digit.size > 1 and tile.length < tile.digit.size):
        raise Beyond(f"`{tile.digit}` is no digit of one axis")
    if not moving or tile.digit.size == 1:
        some = next(iter(coords.values()), None)
        return np.ones(0 if some is None else len(some), np.bool_)
    (axis,) = moving
    if axis not in coords:
        raise Beyond(f"the tensor has no {axis}")
    weight = int(found[axis][1])
    value = coords[axis] // weight % tile.digit.size
    answer: Mask = value < tile.length
    return answer


# ---------------------------------------------------------------- units and streams


def units(address: Numbers, width: int) -> Numbers:
    """All units of elements, in order."""
    if width == 1:
        return address
    return (address[:, None] + np.arange(width)).reshape(-1)


@dataclass(frozen=True)
class Streamed:
    """The positions of a stream that are elements: their coordinates, place in the stream, engine."""

    coords: Mapping[str, Numbers]
    at: Numbers
    engine: Numbers
    positions: int
    packet: int
    padded: bool


def streamed(flow: Flow, machine: RunMachine) -> Streamed:
    whole = pair(flow.chip, flow.cluster, flow.slice, flow.time, flow.packet)
    machine.allow(whole.size)
    kind, coords = cells_of(whole, Kind.TOP)
    live = np.flatnonzero(kind == INDEX)
    inside = flow.time.size * flow.packet.size
    return Streamed(
        {axis: column[live] for axis, column in coords.items()}, live, live // max(1, inside), whole.size,
        flow.packet.size, len(live) < whole.size,
    )  # fmt: skip


def kinds_at(cells: Cells, code: int) -> Numbers:
    """The units of all cells of one kind."""
    return units(cells.address[cells.kind == code], cells.width)


__all__ = ["BOTTOM", "ZERO", "Cells", "SeenTensor", "Streamed", "in_tiles", "kinds_at", "laid_out", "seen",
           "streamed", "units", "zeros_in"]  # fmt: skip
