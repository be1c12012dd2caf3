"""What operations on tiles touch: cells of tiles and elements of tensors, as accesses of bytes.

Knows: tiles as places with a layout, views as strides, what the target's data says of each operation.
Does not know: text, how anything is proved, where the assembler puts tiles that have no address.
Law: an access names every byte that the operation reads or surely writes; where that is not known it is a remark at its
line. Tiles without an address lie apart from all others, each in bytes of its own.

Source: PTO IR manual; encodings/pto/target.toml, [tile].
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from math import prod

from dmaverify.language.affine import FALSE, ONE, ZERO, Lin, compare
from dmaverify.machines.pto.ops import CastPtr, Operand, Stmt
from dmaverify.machines.pto.tile_indexed import TileIndexed
from dmaverify.machines.pto.tile_operands import PRODUCTS
from dmaverify.machines.pto.tile_places import CellTouch, TileCells
from dmaverify.machines.pto.tiles import TileOp, TileWork, in_form
from dmaverify.machines.pto.values import TensorPart, TileValue, Value
from dmaverify.program.instructions import Place, Use
from dmaverify.prove.meet import collision
from dmaverify.values import replace

WHOLLY = ("each", "own", "column", "row", "window")
"""How an operation reads and writes of which all that it makes depends on all that it reads."""


class TileMeaning(TileIndexed):
    """Operations on tiles."""

    # ------------------------------------------------------------ operations

    def _tileop(self, stmt: TileOp) -> list[Use] | None:
        work = stmt.work
        given = {o.name: self.value(o) for o in (*stmt.ins, *stmt.outs) if o.name not in stmt.scalars}
        given |= {name: self._shaped(stmt, name, value) for name, value in given.items()}
        given |= dict.fromkeys(stmt.scalars)
        lost = next((o for o in stmt.outs if not isinstance(given[o.name], (TileValue, TensorPart))), None)
        moved = [o for o in stmt.ins if isinstance(given[o.name], (TileValue, TensorPart))]
        lost = lost or next((o for o in stmt.ins if o not in moved and o.name not in stmt.scalars), None)
        if lost is not None:
            why = self.because(lost)
            hint = "make it by pto.alloc_tile, with its type and, where the text knows it, its address"
            self.remark("unresolved", f"{stmt.name}: the tile `{lost.name}` is not known{why}", lost.span, hint)
            return None
        out = given[stmt.outs[0].name]
        self._typed_tiles(stmt, given)
        if work.writes == "move":
            return self._transfer(stmt, work, given)
        if work.writes == "indexed":
            return self._indexed(stmt, [given[o.name] for o in (*stmt.ins, *stmt.outs)])
        tiles = [given[o.name] for o in moved]
        if not isinstance(out, TileValue) or not all(isinstance(t, TileValue) for t in tiles) or len(stmt.outs) > 1:
            self.remark("unresolved", f"{stmt.name}: its operands are no tiles that are known", stmt.name_span)
            return None
        found = [*(t for t in tiles if isinstance(t, TileValue)), *([out] if work.onto else [])]
        if not self._works(stmt, work, [t.kind.loc for t in found], out.kind.loc):
            return None
        return self._work(stmt, work, found, out)

    def _shaped(self, stmt: TileOp, name: str, value: Value) -> Value:
        """A memref of GM as the tensor that its type says."""
        if not isinstance(value, Place) or value.space != "gm" or name not in stmt.shapes:
            return value
        sizes, bits, _ = stmt.shapes[name]
        strides = [prod(sizes[index + 1 :]) for index in range(len(sizes))]
        place = replace(value, item_bytes=max(1, bits // 8))
        return TensorPart(place, tuple(map(Lin, sizes)), tuple(map(Lin, strides)))

    def _window(self, stmt: TileOp, tile: TileValue, rows: Lin, cols: Lin) -> TileCells | None:
        """Cells of a tile from the row and the column that an operation names."""
        at = [self.number_of(o, "a row or column") for o in stmt.ins if o.name in stmt.scalars]
        if len(at) != 2 or at[0] is None or at[1] is None:
            return None
        sides = ((at[0], rows, tile.kind.rows, "rows"), (at[1], cols, tile.kind.cols, "columns"))
        for begin, count, has, what in sides:
            self._need(compare("le", -begin), stmt, f"the first of its {what} is 0", begin)
            self._need(compare("le", begin + count - has), stmt, f"`{tile.name}` has {has:,} {what}", begin + count)
        return TileCells(at[0], at[1], rows, cols)

    def _work(self, stmt: TileOp, work: TileWork, tiles: Sequence[TileValue], out: TileValue) -> list[Use] | None:
        if not in_form(work, len(tiles), len(stmt.scalars)):
            self.remark("unresolved", f"{stmt.name}: what it does with these operands is not known", stmt.name_span)
            return None
        if self._meets(stmt, work, tiles, out):
            return None
        if work.writes in ("pairs", "merged"):
            how = self._pairs if work.writes == "pairs" else self._merged
            made = how(stmt, tiles, out)
            return None if made is None else self._use(stmt.name, "V", made, stmt)
        taken = self._tiles_read(stmt, work, tiles, out)
        if taken is None:
            return None
        touches, idle = taken
        written = self._write_region(work, stmt, tiles, out)
        if written is None:
            return None
        if work.writes == "mask" and self._short(stmt, out, tiles[0].rows, self._bytes_of_bits(out, tiles[0].cols)):
            return None
        if work.writes == "mask" and not self._holds_bits(out, tiles[0].rows, tiles[0].cols, exactly=True):
            rows, cols = self.said(tiles[0].rows), self.said(self.world.divide(tiles[0].cols + 7, 8))
            why = f"it packs a bit for each element, the rest of `{out.name}` is not documented; those bits are a tile"
            why = f"{why} of {rows} x {cols} bytes: `!pto.tile_buf<vec, {out.kind.rows}x{out.kind.cols}xui8, "
            why += f"valid={rows}x{cols}>`"
            touches.append(self._cells(out, written, "maybe", why))
        else:
            if work.writes == "turned" and (out.rows, out.cols) != (Lin(out.kind.rows), Lin(out.kind.cols)):
                why = f"{stmt.name} at line {stmt.span.line} goes over all of it, valid or not"
                touches.append(self._cells(out, self._all(out), "unknown", why))
            sizes = f"{self.said(written.rows)} x {self.said(written.cols)}"
            why = f"it makes {sizes} elements" if stmt.name.startswith(PRODUCTS) else ""
            touches.append(self._cells(out, written, "data", why))
        wholly = work.writes in WHOLLY and all(work.way(at) in (*WHOLLY, "scratch") for at in range(len(tiles)))
        needs = "made" if wholly else "computed"
        used = self._use(stmt.name, self._pipe(stmt, tiles, out), touches, stmt, needs)
        return [*self._use(stmt.name, "", idle, stmt), *used]

    def _tiles_read(
        self, stmt: TileOp, work: TileWork, tiles: Sequence[TileValue], out: TileValue
    ) -> tuple[list[CellTouch], list[CellTouch]] | None:
        """What an operation reads of its tiles and has as scratch, and what it has beside them without using it."""
        touches: list[CellTouch] = []
        idle: list[CellTouch] = []
        for index, tile in enumerate(tiles):
            way = work.way(index)
            if way == "scratch":
                if tile.made is out.made:
                    said = f"{stmt.name}: `{tile.name}` is its scratch and its result: what is left is not documented"
                    self.remark("unresolved", said, stmt.name_span, "give it a scratch tile of its own")
                    return None
                why = f"{stmt.name} at line {stmt.span.line} has it as scratch"
                (idle if work.idle else touches).append(self._cells(tile, self._all(tile), "unknown", why))
                continue
            if way == "window":
                found = self._window(stmt, tile, out.rows, out.cols)
                if found is None:
                    return None
                touches.append(self._cells(tile, found, "read"))
                continue
            if way == "any" and not self._numbered(stmt, tile):
                return None
            region = self._read_region(way, tile, out)
            if adds := stmt.name.startswith(PRODUCTS) and tile.kind.loc == "acc":
                region = TileCells(ZERO, ZERO, *self._made_of(stmt, tiles))
            takes = (out.rows, self._bytes_of_bits(tile, out.cols)) if way == "mask" else (region.rows, region.cols)
            if not adds and self._short(stmt, tile, *takes):
                return None
            touches.append(self._cells(tile, region, "read"))
        return touches, idle

    def _read_region(self, way: str, tile: TileValue, out: TileValue) -> TileCells:
        if way == "each":  # of pairs and what they are made of, as many numbers in each row
            numbers = out.cols * out.kind.values
            return TileCells(ZERO, ZERO, out.rows, self.world.divide(numbers + tile.kind.values - 1, tile.kind.values))
        if way == "column":  # one value for each row
            return TileCells(ZERO, ZERO, out.rows, self.world.least(ONE, tile.cols, most=True))
        if way == "mask" and self._holds_bits(tile, out.rows, out.cols):
            way = "own"
        if way == "row":
            return TileCells(ZERO, ZERO, ONE, out.cols)
        if way == "turned":
            return TileCells(ZERO, ZERO, out.cols, out.rows)
        if way == "beside":
            return TileCells(ZERO, ZERO, out.rows, tile.cols)
        return self._all(tile) if way == "mask" else self._valid(tile)

    def _numbered(self, stmt: TileOp, tile: TileValue) -> bool:
        """Whether elements of a tile are named by their number, each of which is taken to be a valid one."""
        kind = tile.kind
        if kind.boxed or kind.column_major or tile.pitch != kind.cols:
            said = f"{stmt.name}: which elements of `{tile.name}` its indices name is not documented"
            self.remark("unresolved", said, stmt.name_span, "give it a tile in rows")
            return False
        self.suppose(f"indices of {stmt.name} at line {stmt.span.line} name valid elements of `{tile.name}`")
        return True

    def _bytes_of_bits(self, mask: TileValue, count: Lin) -> Lin:
        """How many elements of a packed mask have a bit for each of so many."""
        return self.world.divide(count + (mask.kind.bits - 1), mask.kind.bits)

    def _holds_bits(self, mask: TileValue, rows: Lin, cols: Lin, *, exactly: bool = False) -> bool:
        """Whether the valid region of a packed mask has a bit for each of so many elements (and no byte more)."""
        numbers = (mask.rows, mask.cols, rows, cols)
        if not all(n.is_const for n in numbers):
            return False
        has, needed = mask.cols.const * mask.kind.bits, cols.const
        enough = mask.rows.const >= rows.const and has >= needed
        return enough and (not exactly or (mask.rows == rows and has - needed < mask.kind.bits))

    def _write_region(
        self, work: TileWork, stmt: TileOp, tiles: Sequence[TileValue], out: TileValue
    ) -> TileCells | None:
        if work.writes == "column":
            return None if self._short(stmt, tiles[0], out.rows, None) else TileCells(ZERO, ZERO, out.rows, ONE)
        if work.writes == "row":
            return None if self._short(stmt, tiles[0], None, out.cols) else TileCells(ZERO, ZERO, ONE, out.cols)
        if work.writes == "window":
            return self._window(stmt, out, tiles[0].rows, tiles[0].cols)
        if work.writes == "beside":
            cols = tiles[0].cols + tiles[1].cols
            self._need(compare("le", cols - out.kind.cols), stmt, f"`{out.name}` has {out.kind.cols:,} columns", cols)
            return TileCells(ZERO, ZERO, out.rows, cols)
        if work.writes == "turned" and (tiles[0].kind.cols > out.kind.rows or tiles[0].kind.rows > out.kind.cols):
            said = f"{stmt.name}: `{out.name}` has no place for all rows and columns of `{tiles[0].name}`"
            self.remark("unresolved", said, stmt.name_span, "give it as many rows as the other has columns")
            return None
        if work.writes == "whole":
            if any(self._no_place(stmt, tile, out) for tile in tiles):
                return None
            room = (Lin(out.kind.rows), Lin(out.kind.cols))
            if not out.kind.pads and any((tile.rows, tile.cols) != room for tile in tiles):
                said = f"{stmt.name}: the type of `{out.name}` says `pad=null`: what its padding holds is open"
                self.remark("unresolved", said, stmt.name_span, "pad=1 (zero), 2 (max) or 3 (min)")
                return None
            return self._all(out)
        if stmt.name.startswith(PRODUCTS):
            made = TileCells(ZERO, ZERO, *self._made_of(stmt, tiles))
            return made if self._multiplies(stmt, tiles, out) else None
        if work.writes in ("part", "cover") and any(self._short(stmt, out, t.rows, t.cols) for t in tiles):
            return None
        if work.writes == "part" and not any((t.rows, t.cols) == (out.rows, out.cols) for t in tiles):
            said = f"{stmt.name}: no operand has the valid region of the result, so what it writes is not documented"
            valid = f"`valid={self.said(out.rows)}x{self.said(out.cols)}`"
            hint = f"give one of them {valid}, or the result no more than one has"
            self.remark("unresolved", said, stmt.name_span, hint)
            return None
        return self._valid(out)

    def _no_place(self, stmt: TileOp, tile: TileValue, out: TileValue) -> bool:
        """Whether an operand has valid elements for which a result that is written whole has no place: what becomes of
        them, and of the rest, is not documented.
        """
        for has, most, what in ((tile.rows, out.kind.rows, "rows"), (tile.cols, out.kind.cols, "columns")):
            said = f"`{tile.name}` has {self.said(has)} valid {what}, `{out.name}` has {most:,}"
            if not has.is_const:
                self._need(compare("le", has - most), stmt, said, has)
            elif has.const > most:
                hint = "give the result at least the valid region of its operand"
                self.remark("unresolved", f"{stmt.name}: {said}", stmt.name_span, hint)
                return True
        return False

    def _pipe(self, stmt: TileOp, tiles: Sequence[TileValue], out: TileValue) -> str:
        if stmt.name.startswith(PRODUCTS):
            return "M"
        source = tiles[0].kind.loc if tiles else out.kind.loc
        if stmt.name == "pto.tinsert" and (source, out.kind.loc) == ("vec", "mat"):
            return "MTE3"
        if source == "acc":
            return "FIX"
        return "MTE1" if source == "mat" else "V"

    def _transfer(self, stmt: TileOp, work: TileWork, given: dict[str, Value]) -> list[Use] | None:
        """`tload` and `tstore`: every element of a part of a tensor, to or from the valid region of a tile."""
        source, dest = given[stmt.ins[0].name] if stmt.ins else None, given[stmt.outs[0].name]
        part, tile = (source, dest) if isinstance(source, TensorPart) else (dest, source)
        if not isinstance(part, TensorPart) or not isinstance(tile, TileValue) or len(stmt.outs) > 1:
            said = f"{stmt.name} moves between a part of a tensor and a tile, and one of them is not known"
            self.remark("unresolved", said, stmt.name_span)
            return None
        *outer, last = (ONE, *part.shape)
        loads = part is source
        if not self._works(stmt, work, ["gm" if loads else tile.kind.loc], tile.kind.loc if loads else "gm"):
            return None
        if (
            tile.kind.loc == "vec"
            and tile.kind.boxed
            and (tile.kind.box, tile.kind.column_major) != ("row_major", True)
        ):
            said = (
                f"{stmt.name}: no document moves tiles of UB in boxes but `blayout=col_major, slayout=row_major` (NZ)"
            )
            self.remark("unresolved", said, stmt.name_span, "rows (ND), columns (DN) or NZ")
            return None
        alike = (reduce(self.world.times, outer, ONE), last) == (tile.rows, tile.cols)
        if tile.kind.boxed and sum(n != ONE for n in part.shape) > 2:  # of fractals, whose order follows their layout
            alike = reduce(self.world.times, part.shape, ONE) == self.world.times(tile.rows, tile.cols)
        if not alike and not self._larger(part, tile, stmt, loads=loads):
            shape = " x ".join(self.said(s) for s in part.shape)
            said = (
                f"{stmt.name}: the part has {shape} elements, the tile {self.said(tile.rows)} x {self.said(tile.cols)}"
            )
            hint = f"write `sizes = [.., %{self.said(tile.rows)}, %{self.said(tile.cols)}]` in its partition_view"
            if tile.rows.is_const or tile.cols.is_const:
                hint = "give both the same shape: what moves where they differ is not documented"
            self.remark("unresolved", f"{said} valid ones", stmt.name_span, hint)
            return None
        if tile.kind.loc != "acc" and max(1, tile.kind.bits // 8) != part.place.item_bytes:  # results may be quantised
            sizes = f"{part.place.item_bytes} bytes in the tensor, of {tile.kind.bits // 8} in the tile"
            self.remark("ill", f"{stmt.name}: elements of {sizes}", stmt.name_span)
            return None
        if loads and tile.kind.bits == 64 and tile.kind.pads and not tile.kind.pads_zero:
            said = f"{stmt.name}: elements of 64 bits are padded with 0 alone, `{tile.name}` says another value"
            self.remark("ill", said, stmt.name_span, "pad=1 (zero), or 0 (null)")
        for size, what in ((tile.rows, "row"), (tile.cols, "column")):  # what a copy of none does is not defined
            said = f"{stmt.name} moves at least one {what}"
            self._need(compare("le", ONE - size), stmt, said, size, enough=True)
        if not alike and not loads:  # of a larger part the valid region alone is written
            part = replace(part, shape=(*part.shape[:-2], tile.rows, tile.cols))
        self.kernel.tile_moves += 0 if self.dry else 1
        touch = CellTouch(self._elements(part, "read" if loads else "data"))
        if not loads:
            self._apart(part, stmt)
        cells = self._cells(tile, self._valid(tile), "data" if loads else "read")
        pipe = "MTE2" if loads else "FIX" if tile.kind.loc == "acc" else "MTE3"
        behind = self._behind(tile, stmt) if loads else []
        made = self._use(stmt.name, pipe, [touch, cells, *behind], stmt, "computed" if loads else "stored")
        atomic = f"add {tile.kind.dtype}" if stmt.adds and not loads else ""
        return [*(replace(one, atomic=atomic) for one in made[:1]), *made[1:]]

    def _behind(self, tile: TileValue, stmt: TileOp) -> list[CellTouch]:
        """The rest of the last block of each row, or column, of a tile of UB that is loaded: no text says of a tile
        without padding that it stays what it was, and copies write whole blocks; how far one with padding is padded
        is open.
        """
        kind = tile.kind
        if kind.loc != "vec" or kind.boxed or self._ragged((tile.whole or tile).kind):
            return []
        if not kind.pads and self.reading("tail") != "written":
            return []
        run, most = (tile.rows, kind.rows) if kind.column_major else (tile.cols, kind.cols)
        run, rest = self.rest_of_block(run, most, kind)
        if self.world.decide(compare("le", rest)):
            return []
        rows = TileCells(ZERO, run, tile.rows, rest)
        cells = TileCells(run, ZERO, rest, tile.cols) if kind.column_major else rows
        does = "pads, how far is not documented" if kind.pads else f"writes whole blocks of {self.block_bytes} bytes"
        why = f"{stmt.name} at line {stmt.span.line} {does}"
        return [self._cells(tile, cells, "maybe" if kind.pads else "unknown", why)]

    def _larger(self, part: TensorPart, tile: TileValue, stmt: TileOp, *, loads: bool) -> bool:
        """Whether a part has every element of the valid region: those are moved. Of a tile loaded, it has no more than
        the tile, so that whatever else came with it lies there."""
        *outer, rows, cols = (ONE, *part.shape)
        sizes = ((rows, tile.rows, tile.kind.rows), (cols, tile.cols, tile.kind.cols))
        if not all(n == ONE for n in outer) or not all(p.is_const for p, _, _ in sizes):
            return False
        if any(p.const > most for p, _, most in sizes) if loads else len(part.shape) == 1:
            return False
        if any(valid.is_const and valid.const > size.const for size, valid, _ in sizes):
            return False
        for size, valid, _ in sizes:
            said = f"{stmt.name}: the part has {size.const:,} of {self.said(valid)} valid ones"
            self._need(compare("le", valid - size), stmt, said, valid, enough=True)
        return True

    def _apart(self, part: TensorPart, stmt: Stmt) -> None:
        """Elements of what is stored may not overlap. Of strides that are no numbers each is to reach at least as far
        as the next level, which is enough.
        """
        levels = [(n, s) for n, s in zip(part.shape, part.strides, strict=True) if n != ONE]
        said = "rows of the part would overlap in the tensor"
        numbers = [(n.const, s.const) for n, s in levels if n.is_const and s.is_const]
        if len(numbers) == len(levels):
            if min((n for n, _ in numbers), default=1) > 0 and collision(numbers, 1) is not None:
                self._need(FALSE, stmt, said, levels[0][1])
            return
        for (_, outer), (count, inner) in pairwise(levels):
            reach = self.world.times(count, inner)
            self._need(compare("le", reach - outer), stmt, said, outer, enough=True)
        for _, stride in levels[-1:]:
            self._need(compare("le", ONE - stride), stmt, said, stride, enough=True)

    # ------------------------------------------------------------ bytes

    def pointer_of(self, operand: Operand) -> Value:
        """A pointer, or where a tile begins that has an address."""
        value = self.value(operand)
        return _begin(value) if isinstance(value, TileValue) and value.addressed and not _of_boxes(value) else value

    def _castptr(self, stmt: CastPtr) -> None:
        source = self.values.get(stmt.source.name)
        if isinstance(source, TileValue) and source.addressed and not _of_boxes(source):
            self.values[stmt.source.name] = _begin(source)
            super()._castptr(stmt)
            self.values[stmt.source.name] = source
        else:
            super()._castptr(stmt)


def _of_boxes(tile: TileValue) -> bool:
    """Whether a tile is some boxes of another, which begin at no byte that is known."""
    return tile.kind.boxed and tile.whole is not None and tile.kind != tile.whole.kind


def _begin(tile: TileValue) -> Place:
    """Where the first element of a tile lies."""
    return replace(tile.place, address=tile.place.address + tile.first * (tile.kind.bits // 8))
