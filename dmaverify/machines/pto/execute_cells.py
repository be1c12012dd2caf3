"""Tiles and parts of tensors of one run, and what no text tells of operations on them.

Knows: whose cells a tile's are and where they begin, elements of a view by their addresses, memories and shapes that an
operation has. Does not know: what is written where, order.
Law: what no text tells ends the run; it shares no line with the proof.

Source: PTO IR manual (tile buffers, views, matrix compute).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from dmaverify.execute.address import strided
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto.running import MOST_MOVED
from dmaverify.machines.pto.tiles import TilePart, TileType, TileWork, in_form
from dmaverify.values import dataclass, replace

PRODUCTS = ("pto.tmatmul", "pto.tgemv")


@dataclass(frozen=True)
class CellTile:
    """A tile: who owns its cells, where it begins, how many rows and columns are valid, elements from row to row."""

    owner: int
    place: str
    at: int
    kind: TileType
    rows: int
    cols: int
    pitch: int


@dataclass(frozen=True)
class ElementView:
    """A tensor, or a part of one, in elements of `item` bytes, of a type where the text names it."""

    place: str
    at: int
    item: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str = ""

    def addresses(self) -> np.ndarray:
        """Of each element, in the order of the shape."""
        if max(prod(self.shape) * self.item, *self.shape) > MOST_MOVED:
            raise Beyond(f"a part of a tensor of {' x '.join(f'{size:,}' for size in self.shape)} elements")
        steps = [(size, stride * self.item) for size, stride in zip(self.shape, self.strides, strict=True)]
        return strided(self.at, steps).reshape(self.shape)


def matched(view: ElementView, tile: CellTile, *, loads: bool) -> np.ndarray:
    """The address of the element of each valid cell, in their order."""
    if not tile.rows or not tile.cols:
        raise Beyond("a move of no elements")
    at = view.addresses()
    alike = at.size == tile.rows * tile.cols and (tile.kind.boxed or at.shape[-1] == tile.cols)
    if not alike:
        shape = (1, 1, *at.shape)
        at = at.reshape(prod(shape[:-2]), *shape[-2:])
        room = (tile.kind.rows, tile.kind.cols) if loads else at.shape[1:]
        fits = at.shape[0] == 1 and all(
            n >= v and n <= r for n, v, r in zip(at.shape[1:], (tile.rows, tile.cols), room, strict=True)
        )
        if not fits:
            raise Beyond("a part and a tile of different shapes")
        at = at[0, : tile.rows, : tile.cols]
    return at


def behind(tile: CellTile, block: int) -> np.ndarray:
    """The cells up to the end of the last block of each row, or column, of a tile of UB."""
    kind, item = tile.kind, tile.kind.bits // 8
    run, count = (tile.rows, tile.cols) if kind.column_major else (tile.cols, tile.rows)
    rest = 0 if kind.loc != "vec" or kind.boxed else -run % max(1, block // item)
    step, pitch = (one * item for one in sorted(kind.steps(tile.pitch)))
    return strided(tile.at + run * item, ((count, pitch), (rest, step), (item, 1))).reshape(count, rest, item)


def shared(*sides: tuple[CellTile, bool]) -> bool:
    """Whether a byte belongs to both tiles: of each what is valid, or all of it (of tiles in boxes, too)."""
    if len({tile.place for tile, _ in sides}) > 1:
        return False
    bytes_ = []
    for tile, every in sides:
        item = tile.kind.bits // 8
        down, across = (step * item for step in tile.kind.steps(tile.pitch))
        rows, cols = (tile.kind.rows, tile.kind.cols) if every or tile.kind.boxed else (tile.rows, tile.cols)
        bytes_.append(strided(tile.at, ((rows, down), (cols, across), (item, 1))))
    return bool(np.isin(bytes_[0], bytes_[1]).any())


def runs_ahead(tile: CellTile, out: CellTile) -> bool:
    """Whether a result written from its first cell on reaches cells of an operand that begins there too early."""
    if tile.kind.boxed or out.kind.boxed:
        return tile.kind.lying != out.kind.lying
    ends = []
    for one in (tile, out):
        item = one.kind.bits // 8
        down, across = (step * item for step in one.kind.steps(one.pitch))
        ends.append(strided(one.at + item, ((out.rows, down), (out.cols, across))).ravel())
    read, written = (end[np.argsort(ends[0], kind="stable")] for end in ends)
    return bool((written > read).any() or (np.diff(written) < 0).any())


def reshaped(tile: CellTile, kind: TileType | None) -> CellTile:
    """The same bytes of the same owner in other rows and columns."""
    own = tile.kind
    if tile.pitch != own.cols:
        raise Beyond("a part of a tile in another shape")
    if kind is None or kind.v_row is None or kind.v_col is None:
        raise Beyond("a tile reshaped to a valid region that is not told")
    boxes = own.boxed != kind.boxed or (own.boxed and (own.packed or own.lying != kind.lying))
    if (own.loc, own.bytes) != (kind.loc, kind.bytes) or boxes:
        raise Beyond("a tile reshaped to one of another memory, size or layout")
    return replace(tile, kind=kind, rows=kind.v_row, cols=kind.v_col, pitch=kind.cols)


def part_kind(tile: CellTile, part: TilePart, at: tuple[int, int]) -> TileType:
    """The type of a part of a tile, in rows as far apart as those of the tile, or all of it."""
    own, kind, sizes = tile.kind, part.type, part.sizes
    if part.infers:  # its valid region is what of it lies in that of the tile
        has = [min(size, max(0, n - a)) for size, n, a in zip(sizes, (tile.rows, tile.cols), at, strict=True)]
        kind = replace(own, rows=sizes[0], cols=sizes[1], v_row=has[0], v_col=has[1])
    if kind is None or sizes != (kind.rows, kind.cols):
        raise Beyond("a part of a tile of a type that is not told")
    straight = own.cols == kind.cols == 1 or not (kind.column_major or own.column_major)
    rest = (own.loc, own.bits, own.boxed, kind.boxed) != (kind.loc, kind.bits, False, False)
    if (not straight or rest) and (
        kind.packed or at != (0, 0) or own != replace(kind, v_row=own.v_row, v_col=own.v_col)
    ):
        per = int([*own.box.split(), "512"][1]) * 8 // (16 * own.bits) if own.boxed and not own.packed else 0
        same = own.boxed and own == replace(kind, rows=own.rows, cols=own.cols, v_row=own.v_row, v_col=own.v_col)
        cut = not per or at[0] % 16 or sizes[0] % 16 or at[1] % per or sizes[1] % per
        if cut or not same or own.turned or own.loc == "vec":
            raise Beyond("a part of a tile in boxes or columns")
    return kind


def told(name: str, work: TileWork, tiles: Sequence[CellTile], out: CellTile, scalars: int) -> None:
    """Ends the run where the memories of an operation, its form, or the shapes of a product, are none that it has."""
    if not in_form(work, len(tiles), scalars):
        raise Beyond(f"{name} in another form")
    ways = [work.way(at) for at in range(len(tiles))]
    scratch = [(t, True) for t, way in zip(tiles, ways, strict=True) if way == "scratch"]
    reads = [(t, way) for t, way in zip(tiles, ways, strict=True) if way != "scratch"]
    made = (out, work.writes in ("whole", "turned", "window", "beside", "pairs", "merged"))
    never = bool(work.tiles) or work.writes == "window"
    kept = ("each", "own", "window", *(("row", "column") if len(reads) == 1 else ()))
    used = [(t, way == "window") for t, way in reads]
    alone = [
        ((t, way == "window"), made)
        for t, way in reads
        if never or t.at != out.at or way not in kept or runs_ahead(t, out)
    ]
    alone += [(one, other) for one in scratch if not work.idle for other in (*used, made)]
    if any(shared(*pair) for pair in alone):
        raise Beyond(f"{name} of tiles on the same bytes")
    places = sorted(tile.kind.loc for tile in tiles if tile.kind.loc != "scaling")
    if not name.startswith(PRODUCTS):
        if any((loc, out.kind.loc) not in work.between for loc in (t.kind.loc for t in tiles or (out,))):
            raise Beyond(f"{name} in other memories")
        if work.writes in ("part", "cover") and any(t.rows > out.rows or t.cols > out.cols for t in tiles):
            raise Beyond(f"{name} of a larger tile than its result")
        if any((t.place, t.owner) == (out.place, out.owner) for t, _ in scratch):
            raise Beyond(f"{name} with its result as scratch")
        return
    if any(tile.kind.values > 1 for tile in tiles):
        raise Beyond(f"{name} of pairs")
    wanted = ["left", "right", *(part for part in name.split(".") if part in ("acc", "bias"))]
    by = {tile.kind.loc: tile for tile in tiles}
    if places != sorted(wanted) or out.kind.loc != "acc" or by["right"].rows < by["left"].cols:
        raise Beyond(f"{name} of other tiles than it multiplies")
    if "bias" in by and by["bias"].cols < by["right"].cols:
        raise Beyond(f"{name} with a smaller bias")


def sorted_cells(
    name: str, word: str, tiles: Sequence[CellTile], out: CellTile, named: Sequence[int]
) -> tuple[int, int, int]:
    """Rows and columns of its result that a sort of blocks of 32, or a merge of sorted blocks, writes, and in how many
    columns of them what was sorted stands.
    """
    values, *more = tiles
    if any(tile.kind.boxed or tile.kind.column_major for tile in (*(tiles if word == "merged" else tiles[:2]), out)):
        raise Beyond(f"{name} of tiles that lie in no rows")
    if word == "merged" and not named:
        return 1, *_of_lists(name, tiles, out)
    if word == "merged":
        (length,) = named
        whole = length > 0 and length % 64 == 0 and values.cols % (4 * length) == 0 and 0 < values.cols <= 1020 * length
        if not whole or (values.kind.rows, out.kind.rows) != (1, 1):
            raise Beyond(f"{name} of {values.cols:,} elements in blocks of {length:,}")
        return 1, values.cols, values.cols
    index, *scratch = more
    per, blocks, rest = 64 // values.kind.bits, -(-values.cols // 32), values.cols % 32
    room = sum(tile.kind.rows * tile.kind.cols for tile in scratch)
    needed = 32 if values.cols * values.kind.bits > 8160 * 8 else 32 * blocks
    if not blocks or (rest and not scratch) or (scratch and room < needed):
        raise Beyond(f"{name} of {values.cols:,} columns with {room:,} elements as scratch")
    if out.kind.cols < 32 * per * blocks or index.cols < values.cols or 1 < index.rows < values.rows:
        raise Beyond(f"{name} of tiles of other sizes")
    return values.rows, 32 * per * blocks, values.cols * per


def _of_lists(name: str, tiles: Sequence[CellTile], out: CellTile) -> tuple[int, int]:
    """How many columns a merge of lists writes, and in how many of them what was merged stands."""
    lists, scratch = tiles[:-1], tiles[-1]
    per, count = 64 // out.kind.bits, sum(one.cols for one in lists)
    whole = all(one.cols and one.cols % per == 0 and one.rows == 1 for one in lists) and out.cols <= count
    room = scratch.kind.cols - sum(one.kind.cols for one in lists)
    if len(lists) < 2 or not whole or room < 0 or any(one.kind.rows != 1 for one in (*tiles, out)):
        raise Beyond(f"{name} of lists of {count:,} elements")
    copied = -(-out.cols * out.kind.bits // 256) * 256 // out.kind.bits
    return copied, min(copied, count)


def product_size(name: str, tiles: Sequence[CellTile], out: CellTile) -> tuple[int, int]:
    """Rows and columns of its result that an operation writes: of a product those of its factors, one of a vector."""
    if not name.startswith(PRODUCTS):
        return out.rows, out.cols
    by = {tile.kind.loc: tile for tile in tiles}
    return 1 if "gemv" in name else by["left"].rows, by["right"].cols


def bit_cells(mask: CellTile, rows: int, cols: int) -> int:
    """How many cells of a row of a packed mask hold a bit for each of so many columns."""
    if mask.rows < rows or mask.cols * mask.kind.bits < cols:
        raise Beyond("a mask without a bit for each element")
    return -(-cols // mask.kind.bits)
