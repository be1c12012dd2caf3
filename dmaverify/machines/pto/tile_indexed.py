"""Operations that go by indices: rows or elements of a tensor that a tile of indices names.

Knows: tiles as places, views as strides. Does not know: text, which numbers the indices are, how anything is proved.
Law: of the tensor any part may be read, or written; that indices name parts of it, and none twice where they are
written, are conditions. A layout of which no document says where a row or an element lies is a remark.

Source: PTO tile instructions, MGATHER, MSCATTER, of A5 (2026-08).
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.affine import ONE, ZERO, Lin, compare
from dmaverify.machines.pto.tile_sorts import TileSorts
from dmaverify.machines.pto.tiles import TileOp
from dmaverify.machines.pto.values import TensorPart, TileValue, Value
from dmaverify.program.instructions import CopyTouch, Use
from dmaverify.values import replace

INDEX_TYPES = ("i32", "ui32", "si32")
GUARDED = {"clamp", "wrap", "zero", "skip"}
"""What an operation may do with an index that names nothing."""


class TileIndexed(TileSorts):
    """Gathers from tensors and scatters to them."""

    def _indexed(self, stmt: TileOp, named: Sequence[Value]) -> list[Use] | None:
        """`mgather ins(%tensor, %indices) outs(%tile)`, `mscatter ins(%tile, %indices) outs(%tensor)`."""
        gathers = stmt.name == "pto.mgather"
        table, index, tile = [*named, None, None][:3][:: 1 if gathers else -1]
        known = isinstance(table, TensorPart) and isinstance(index, TileValue) and isinstance(tile, TileValue)
        if len(named) != 3 or not known:
            said = f"{stmt.name} goes by a tile of indices between a tensor and a tile, and one of them is not known"
            self.remark("unresolved", said, stmt.name_span)
            return None
        assert isinstance(table, TensorPart) and isinstance(index, TileValue) and isinstance(tile, TileValue)  # noqa: PT018
        by_rows = "row" in stmt.modes
        if by_rows == ("elem" in stmt.modes):
            said = f"{stmt.name} does not say whether its indices name rows or elements"
            self.remark("unresolved", said, stmt.name_span, "{coalesce = #pto<coalesce row>}")
            return None
        if tile.kind.bits != table.place.item_bytes * 8:
            sizes = f"{table.place.item_bytes} bytes in the tensor, of {tile.kind.bits // 8} in the tile"
            self.remark("ill", f"{stmt.name}: elements of {sizes}", stmt.name_span)
            return None
        if why := self._unlike(table, index, tile, by_rows=by_rows):
            self.remark("unresolved", f"{stmt.name}: {why}", stmt.name_span)
            return None
        begins, claim = self._shared(index, tile)
        if gathers and self.world.decide(claim) is not True:
            self._need(claim, stmt, f"{stmt.name}: `{index.name}` and `{tile.name}` share bytes", begins, enough=True)
        for size, what in ((tile.rows, "row"), (tile.cols, "column")):
            said = f"{stmt.name} moves at least one {what}"
            self._need(compare("le", ONE - size), stmt, said, size, enough=True)
        self._supposed(stmt, tile, gathers=gathers, by_rows=by_rows)
        self.kernel.tile_moves += 0 if self.dry else 1
        cells = [self._cells(index, self._valid(index), "read")]
        cells.append(self._cells(tile, self._valid(tile), "data" if gathers else "read"))
        used = self._use(stmt.name, "V", cells, stmt, "computed" if gathers else "stored")
        self.uses += 1
        touch = self._elements(table, "read" if gathers else "maybe")
        adds = next((f"{one} {tile.kind.dtype}" for one in ("add", "max", "min") if one in stmt.modes), "")
        used.append(Use(-self.uses, "V", (touch,), stmt.span, stmt.name, self.when, "bytes", atomic=adds))
        return [replace(one, inferred=one.inferred or "order") for one in used]

    def _unlike(self, table: TensorPart, index: TileValue, tile: TileValue, *, by_rows: bool) -> str:
        """What of the three is not documented for such an operation, in words; empty where all of it is."""
        plain = all(one.kind.loc == "vec" and not one.kind.boxed for one in (index, tile))
        if not plain or tile.kind.column_major or index.kind.dtype not in INDEX_TYPES:
            return "tiles of UB, one in rows and one of indices of 32 bits, alone are documented"
        inner = ONE
        for size, stride in reversed(list(zip(table.shape, table.strides, strict=True))):
            if size != ONE and stride != inner:
                return "elements of the tensor lie apart: where a row of it begins then is not documented"
            inner = self.world.times(inner, size)
        if by_rows and table.shape[-1] != tile.cols:
            rows = f"rows of the tensor have {self.said(table.shape[-1])} elements"
            return f"{rows}, the tile {self.said(tile.cols)} valid columns"
        line = (tile.rows, ONE) if index.kind.column_major else (ONE, tile.rows)
        needed = line if by_rows else (tile.rows, tile.cols)
        if (index.rows, index.cols) == needed:
            return ""
        has, takes = (" x ".join(self.said(n) for n in pair) for pair in ((index.rows, index.cols), needed))
        return f"`{index.name}` has {has} valid indices, and {takes} are taken"

    def _supposed(self, stmt: TileOp, tile: TileValue, *, gathers: bool, by_rows: bool) -> None:
        line, what = stmt.span.line, "rows" if by_rows else "elements"
        if not GUARDED & stmt.modes:
            self.suppose(f"indices of {stmt.name} at line {line} name {what} of the tensor")
        one = tile.rows == ONE and (by_rows or tile.cols == ONE)
        if not (gathers or one or {"add", "max", "min", "last"} & stmt.modes):
            self.suppose(f"no two indices of {stmt.name} at line {line} are the same")

    # ------------------------------------------------------------ bytes

    def _elements(self, part: TensorPart, kind: str) -> CopyTouch:
        item = part.place.item_bytes
        levels = [(n, s * item) for n, s in zip(part.shape, part.strides, strict=True) if n != ONE]
        length = Lin(item)
        if levels and levels[-1][1] == Lin(item):
            length = levels.pop()[0] * item
        return CopyTouch(kind, part.place, ZERO, length, tuple(reversed(levels)))
