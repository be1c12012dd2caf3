"""What operations on tiles touch: cells of tiles and elements of tensors, as accesses of bytes.

Knows: tiles as places with a layout, views as strides, what the target's data says of each operation.
Does not know: text, how anything is proved, where the assembler puts tiles that have no address.
Law: an access names every byte that the operation reads or surely writes; where that is not known it is a remark at its
line. TileMeaning without an address lie apart from all others, each in bytes of its own.

Source: PTO IR manual; encodings/pto/target.toml, [tile].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from math import prod

from dmaverify.errors import Span
from dmaverify.language.affine import FALSE, ONE, ZERO, Cond, Lin, both, compare
from dmaverify.machines.pto.carried import Carried
from dmaverify.machines.pto.ops import CastPtr, Operand, Stmt
from dmaverify.machines.pto.tiles import (
    AllocTile,
    PartView,
    TensorView,
    TileOp,
    TileType,
    TileWork,
    ValidShape,
    tile_work,
)
from dmaverify.machines.pto.values import TensorPart, TileValue, Value
from dmaverify.program.instructions import CopyTouch, Event, NumberNeed, Place, Use
from dmaverify.prove.meet import collision

APART = "tiles"
"""The memory of tiles without an address."""


@dataclass(frozen=True, slots=True)
class _Region:
    """Cells of a tile: from which, and how many rows and columns."""

    row: Lin
    col: Lin
    rows: Lin
    cols: Lin


class TileMeaning(Carried):
    """TileMeaning, views, and operations on them."""

    uses: int

    # ------------------------------------------------------------ tiles and views

    def _alloctile(self, stmt: AllocTile) -> list[Use] | None:
        kind = stmt.type
        assert kind is not None
        sizes = []
        for stated, given, most, what in zip(
            (kind.v_row, kind.v_col), stmt.valid, (kind.rows, kind.cols), ("rows", "columns"), strict=True
        ):
            value = Lin(stated) if stated is not None else None
            if value is None and given is not None:
                value = self.number_of(given, f"the number of valid {what}")
            self._sized(value, most, what, stmt)
            sizes.append(value)
        place = self._tile_place(stmt, kind)
        if place is None or sizes[0] is None or sizes[1] is None:
            self.values[stmt.result] = None
            self.reasons[stmt.result] = "its valid region or its address is not known"
            return None
        tile = TileValue(place, kind, sizes[0], sizes[1], stmt.result, stmt.address is not None, stmt)
        self.values[stmt.result] = tile
        if tile.addressed:
            self._own_place(tile)
        elif self.around and not stmt.given:  # each time it is another tile, of which nobody has written anything
            lost = CopyTouch("unknown", place, ZERO, Lin(kind.bytes), ())
            return [Use(-self.uses, "", (lost,), stmt.span, "pto.alloc_tile", self.when)]
        if not stmt.given:
            return None
        self.suppose(f"what {stmt.given} gives was written whole by the other core")
        return self._use(stmt.given, "S", [self._cells(tile, self._valid(tile), "data", stmt.span)], stmt)

    def _sized(self, value: Lin | None, most: int, what: str, stmt: AllocTile | ValidShape) -> None:
        """That a tile has as many rows or columns as are valid."""
        if value is not None:
            claim = both([compare("le", -value), compare("le", value - most)])
            self._need(claim, stmt, f"the tile has {most:,} {what}", value)

    def _tile_place(self, stmt: AllocTile, kind: TileType) -> Place | None:
        item = max(1, kind.bits // 8)
        if stmt.address is None:
            address = self.tile_bytes.setdefault(id(stmt), self.tile_end)
            self.tile_end = max(self.tile_end, address + -(-kind.bytes // 32) * 32)
            return Place(APART, "", Lin(address), item, kind.loc)
        base = self.number_of(stmt.address, "the address of the tile")
        if base is None:
            return None
        space = "ub" if kind.loc == "vec" else kind.loc
        return Place(space, "", base, item, kind.loc)

    def _validshape(self, stmt: ValidShape) -> None:
        tile = self.value(stmt.tile)
        rows, cols = (self.number_of(o, "the valid shape") for o in stmt.valid)
        if not isinstance(tile, TileValue) or rows is None or cols is None or self.around or self.when:
            self.remark("unresolved", "pto.set_validshape on a path: which region is valid is not followed", stmt.span)
            return
        for value, most, what in ((rows, tile.kind.rows, "rows"), (cols, tile.kind.cols, "columns")):
            self._sized(value, most, what, stmt)
        self.values[stmt.tile.name] = replace(tile, rows=rows, cols=cols)

    def _tensorview(self, stmt: TensorView) -> None:
        base = self.value(stmt.base)
        shape = [self.number_of(o, "a size of the view") for o in stmt.shape]
        strides = [self.number_of(o, "a stride of the view") for o in stmt.strides]
        if not isinstance(base, Place) or None in shape or None in strides:
            self.values[stmt.result] = None
            return
        place = replace(base, item_bytes=max(1, (stmt.bits or base.item_bytes * 8) // 8))
        self.values[stmt.result] = TensorPart(
            place, tuple(s for s in shape if s is not None), tuple(s for s in strides if s is not None)
        )

    def _partview(self, stmt: PartView) -> None:
        whole = self.value(stmt.base)
        offsets = [self.number_of(o, "an offset of the part") for o in stmt.offsets]
        sizes = [self.number_of(o, "a size of the part") for o in stmt.sizes]
        if not isinstance(whole, TensorPart) or len(whole.shape) != len(sizes) or None in offsets or None in sizes:
            self.values[stmt.result] = None
            self.reasons[stmt.result] = "the view that it is a part of is not known"
            return
        address = whole.place.address
        for index, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
            assert offset is not None
            assert size is not None
            has = whole.shape[index]
            said = f"dimension {index} of the view has {has.shown()} elements"
            self._need(compare("le", -offset), stmt, said, offset)
            self._need(compare("le", offset + size - has), stmt, said, offset + size)
            address = address + self.world.times(offset, whole.strides[index]) * whole.place.item_bytes
        place = replace(whole.place, address=address)
        self.values[stmt.result] = TensorPart(place, tuple(s for s in sizes if s is not None), whole.strides)

    def _need(self, claim: Cond, stmt: Stmt, said: str, value: Lin, *, enough: bool = False) -> None:
        if not self.dry and claim.known is not True:
            self.kernel.needs.append(NumberNeed(claim, self.when, stmt.span, value, said, enough))

    # ------------------------------------------------------------ operations

    def _tileop(self, stmt: TileOp) -> list[Use] | None:
        work = tile_work()[stmt.name]
        given = {o.name: self.value(o) for o in (*stmt.ins, *stmt.outs) if o.name not in stmt.scalars}
        given |= {name: self._shaped(stmt, name, value) for name, value in given.items()}
        given |= dict.fromkeys(stmt.scalars)
        lost = next((o for o in stmt.outs if not isinstance(given[o.name], (TileValue, TensorPart))), None)
        moved = [o for o in stmt.ins if isinstance(given[o.name], (TileValue, TensorPart))]
        lost = lost or next((o for o in stmt.ins if given[o.name] is None and o.name not in stmt.scalars), None)
        if lost is not None:
            why = self.because(lost)
            self.remark("unresolved", f"{stmt.name}: the tile `{lost.name}` is not known{why}", lost.span)
            return None
        out = given[stmt.outs[0].name]
        if work.writes in ("move", "view"):
            return self._transfer(stmt, given)
        tiles = [given[o.name] for o in moved]
        if not isinstance(out, TileValue) or not all(isinstance(t, TileValue) for t in tiles) or len(stmt.outs) > 1:
            self.remark("unresolved", f"{stmt.name}: its operands are no tiles that are known", stmt.name_span)
            return None
        return self._work(stmt, work, [t for t in tiles if isinstance(t, TileValue)], out)

    def _shaped(self, stmt: TileOp, name: str, value: Value) -> Value:
        """A memref of GM as the tensor that its type says."""
        if not isinstance(value, Place) or value.space != "gm" or name not in stmt.shapes:
            return value
        sizes, bits, _ = stmt.shapes[name]
        strides = [prod(sizes[index + 1 :]) for index in range(len(sizes))]
        place = replace(value, item_bytes=max(1, bits // 8))
        return TensorPart(place, tuple(map(Lin, sizes)), tuple(map(Lin, strides)))

    def _window(self, stmt: TileOp, tile: TileValue, rows: Lin, cols: Lin) -> _Region | None:
        """Cells of a tile from the row and the column that an operation names."""
        at = [self.number_of(o, "a row or column") for o in stmt.ins if o.name in stmt.scalars]
        if len(at) != 2 or at[0] is None or at[1] is None:
            return None
        sides = ((at[0], rows, tile.kind.rows, "rows"), (at[1], cols, tile.kind.cols, "columns"))
        for begin, count, has, what in sides:
            self._need(compare("le", -begin), stmt, f"the first of its {what} is 0", begin)
            self._need(compare("le", begin + count - has), stmt, f"`{tile.name}` has {has:,} {what}", begin + count)
        return _Region(at[0], at[1], rows, cols)

    def _work(self, stmt: TileOp, work: TileWork, tiles: Sequence[TileValue], out: TileValue) -> list[Use] | None:
        touches: list[CopyTouch] = []
        for index, tile in enumerate(tiles):
            way = work.reads[min(index, len(work.reads) - 1)] if work.reads else "scratch"
            if index == work.scratch:
                way = "scratch"
            if way == "scratch":
                touches.append(self._cells(tile, self._all(tile), "unknown", stmt.span))
                continue
            if way == "window":
                found = self._window(stmt, tile, out.rows, out.cols)
                if found is None:
                    return None
                touches.append(self._cells(tile, found, "read", stmt.span))
                continue
            region = self._read_region(way, tile, out)
            if way != "mask" and self._short(stmt, tile, region.rows, region.cols):
                return None
            touches.append(self._cells(tile, region, "read", stmt.span))
        written = self._write_region(work, stmt, tiles, out)
        if written is None:
            return None
        if work.writes == "mask" and not self._holds_bits(out, tiles[0].rows, tiles[0].cols, exactly=True):
            touches.append(self._cells(out, written, "maybe", stmt.span))
        else:
            touches.append(self._cells(out, written, "data", stmt.span))
        return self._use(stmt.name, self._pipe(stmt, tiles, out), touches, stmt)

    def _read_region(self, way: str, tile: TileValue, out: TileValue) -> _Region:
        if way == "each":
            return self._valid(out)
        if way == "column":  # one value for each row
            return _Region(ZERO, ZERO, out.rows, self.world.least(ONE, tile.cols, most=True))
        if way == "mask" and self._holds_bits(tile, out.rows, out.cols):
            way = "own"
        if way == "row":
            return _Region(ZERO, ZERO, ONE, out.cols)
        return self._all(tile) if way == "mask" else self._valid(tile)

    def _holds_bits(self, mask: TileValue, rows: Lin, cols: Lin, *, exactly: bool = False) -> bool:
        """Whether the valid region of a packed mask has a bit for each of so many elements (and no byte more)."""
        numbers = (mask.rows, mask.cols, rows, cols)
        if not all(n.is_const for n in numbers):
            return False
        has, needed = mask.cols.const * mask.kind.bits, cols.const
        enough = mask.rows.const >= rows.const and has >= needed
        return enough and (not exactly or (mask.rows == rows and has - needed < mask.kind.bits))

    def _write_region(self, work: TileWork, stmt: TileOp, tiles: Sequence[TileValue], out: TileValue) -> _Region | None:
        if work.writes == "column":
            return None if self._short(stmt, tiles[0], out.rows, None) else _Region(ZERO, ZERO, out.rows, ONE)
        if work.writes == "row":
            return None if self._short(stmt, tiles[0], None, out.cols) else _Region(ZERO, ZERO, ONE, out.cols)
        if work.writes == "window":
            return self._window(stmt, out, tiles[0].rows, tiles[0].cols)
        if work.writes == "whole":
            return self._all(out)
        sides = {"left": (out.rows, None), "right": (None, out.cols)} if self._pipe(stmt, tiles, out) == "M" else {}
        if any(self._short(stmt, t, *sides.get(t.kind.loc, (None, None))) for t in tiles):
            return None
        if work.writes == "part" and not any((t.rows, t.cols) == (out.rows, out.cols) for t in tiles):
            said = f"{stmt.name}: no operand has the valid region of the result, so what it writes is not documented"
            self.remark("unresolved", said, stmt.name_span)
            return None
        return self._valid(out)

    def _pipe(self, stmt: TileOp, tiles: Sequence[TileValue], out: TileValue) -> str:
        if stmt.name.startswith(("pto.tmatmul", "pto.tgemv")):
            return "M"
        source = tiles[0].kind.loc if tiles else out.kind.loc
        if source == "acc":
            return "FIX"
        return "MTE1" if source == "mat" else "V"

    def _transfer(self, stmt: TileOp, given: dict[str, Value]) -> list[Use] | None:
        """`tload` and `tstore`: every element of a part of a tensor, to or from the valid region of a tile."""
        source, dest = given[stmt.ins[0].name] if stmt.ins else None, given[stmt.outs[0].name]
        part, tile = (source, dest) if isinstance(source, TensorPart) else (dest, source)
        if not isinstance(part, TensorPart) or not isinstance(tile, TileValue) or len(stmt.outs) > 1:
            said = f"{stmt.name} moves between a part of a tensor and a tile, and one of them is not known"
            self.remark("unresolved", said, stmt.name_span)
            return None
        *outer, last = (ONE, *part.shape)
        loads = part is source
        alike = (reduce(self.world.times, outer, ONE), last) == (tile.rows, tile.cols)
        if tile.kind.boxed:  # dimensions of fractals, whose order follows their layout
            alike = reduce(self.world.times, part.shape, ONE) == self.world.times(tile.rows, tile.cols)
        if not alike and not self._larger(part, tile, stmt, loads=loads):
            shape = " x ".join(s.shown() for s in part.shape)
            said = f"{stmt.name}: the part has {shape} elements, the tile {tile.rows.shown()} x {tile.cols.shown()}"
            hint = "give both the same shape: what moves where they differ is not documented"
            self.remark("unresolved", f"{said} valid ones", stmt.name_span, hint)
            return None
        if tile.kind.loc != "acc" and max(1, tile.kind.bits // 8) != part.place.item_bytes:  # results may be quantised
            sizes = f"{part.place.item_bytes} bytes in the tensor, of {tile.kind.bits // 8} in the tile"
            self.remark("ill", f"{stmt.name}: elements of {sizes}", stmt.name_span)
            return None
        self.tile_moves += 0 if self.dry else 1
        touch = self._elements(part, "read" if loads else "data")
        if not loads:
            self._apart(part, stmt)
        cells = self._cells(tile, self._valid(tile), "data" if loads else "read", stmt.span)
        pipe = "MTE2" if loads else "FIX" if tile.kind.loc == "acc" else "MTE3"
        return self._use(stmt.name, pipe, [touch, cells], stmt, stores=not loads)

    def _larger(self, part: TensorPart, tile: TileValue, stmt: TileOp, *, loads: bool) -> bool:
        """Whether a part has every element of the valid region: those are moved. Of a tile loaded, it has no more than
        the tile, so that whatever else came with it lies there."""
        *outer, rows, cols = (ONE, *part.shape)
        sizes = ((rows, tile.rows, tile.kind.rows), (cols, tile.cols, tile.kind.cols))
        if not all(n == ONE for n in outer) or not all(p.is_const and p.const <= most for p, _, most in sizes):
            return False
        if any(valid.is_const and valid.const > size.const for size, valid, _ in sizes):
            return False
        if not loads and not all(valid.is_const for _, valid, _ in sizes):
            return False  # what else the store writes would be open
        for size, valid, _ in sizes:
            self._need(compare("le", valid - size), stmt, f"the part has {size.const:,} of them", valid)
        return True

    def _apart(self, part: TensorPart, stmt: TileOp) -> None:
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

    def _elements(self, part: TensorPart, kind: str) -> CopyTouch:
        item = part.place.item_bytes
        levels = [(n, s * item) for n, s in zip(part.shape, part.strides, strict=True) if n != ONE]
        length = Lin(item)
        if levels and levels[-1][1] == Lin(item):
            length = levels.pop()[0] * item
        return CopyTouch(kind, part.place, ZERO, length, tuple(reversed(levels)))

    def _valid(self, tile: TileValue) -> _Region:
        return _Region(ZERO, ZERO, tile.rows, tile.cols)

    def _all(self, tile: TileValue) -> _Region:
        return _Region(ZERO, ZERO, Lin(tile.kind.rows), Lin(tile.kind.cols))

    def _short(self, stmt: TileOp, tile: TileValue, rows: Lin | None, cols: Lin | None) -> bool:
        """Whether fewer rows or columns of an operand are valid than an operation takes of it: what it makes of the
        others is not documented.
        """
        for has, takes, what in ((tile.rows, rows, "rows"), (tile.cols, cols, "columns")):
            said = f"`{tile.name}` has {has.shown()} valid {what}"
            if takes is None or takes == has:
                continue
            if not takes.is_const or not has.is_const:
                self._need(compare("le", takes - has), stmt, said, takes)
            elif takes.const > has.const:
                hint = "give operands and result the same valid region"
                self.remark("unresolved", f"{stmt.name} takes {takes.const:,} {what}: {said}", stmt.name_span, hint)
                return True
        return False

    def _cells(self, tile: TileValue, region: _Region, kind: str, span: Span) -> CopyTouch:
        """The bytes of cells; of a tile with an address also, under its name, the cells as a memory of their own: what
        another tile has left at the address is not what this one holds."""
        made = self._bytes_of(tile, region, kind, span)
        if tile.addressed:
            apart = replace(tile, place=replace(tile.place, space=APART, address=Lin(self._own_place(tile))))
            self.own_names[id(made)] = self._bytes_of(apart, region, kind, span)
            self.touches_kept.append(made)
        return made

    def _own_place(self, tile: TileValue) -> int:
        """Where the cells of a tile with an address lie as a memory of their own."""
        at = self.tile_bytes.setdefault(id(tile.made), self.tile_end)
        self.tile_end = max(self.tile_end, at + -(-tile.kind.bytes // 32) * 32)
        self.lying[at] = (tile.place, tile.kind.bytes)
        if tile.place.address.is_const and tile.place.address.const % 32 and tile.name not in self.misplaced:
            self.misplaced.add(tile.name)
            said = f"the tile `{tile.name}` begins at byte {tile.place.address.const:,}: addresses are multiples of 32"
            self.remark("ill", said, tile.made.span if isinstance(tile.made, Stmt) else self.kernel.span)
        return at

    def overwritten(self, event: Event) -> Iterator[Event]:
        """An event and, where it writes a tile, that those which lie on its bytes hold nothing known any more: each
        whole, whatever of it was written.
        """
        yield event
        touches = event.touches if isinstance(event, Use) and event.pipe else ()
        written = {t.place.address.const for t in touches if t.place.space == APART and t.writes}
        lost = []
        for at in written & self.lying.keys():
            place, size = self.lying[at]
            for other, (theirs, reach) in self.lying.items():
                clear = [compare("le", place.address + size - theirs.address)]
                clear.append(compare("le", theirs.address + reach - place.address))
                if other != at and place.space == theirs.space and not any(self.world.decide(c) for c in clear):
                    lost.append(CopyTouch("unknown", Place(APART, "", Lin(other)), ZERO, Lin(reach), ()))
        if lost and isinstance(event, Use):
            yield replace(event, pipe="", touches=tuple(lost), needs="")

    def _bytes_of(self, tile: TileValue, region: _Region, kind: str, span: Span) -> CopyTouch:
        item, shape = max(1, tile.kind.bits // 8), tile.kind
        place = tile.place
        if shape.boxed and (region.rows, region.cols) == (Lin(shape.rows), Lin(shape.cols)):
            return CopyTouch(kind, place, ZERO, Lin(shape.bytes), ())
        if shape.boxed and place.space != APART:  # where a cell lies depends on the fractal: a memory of its own
            place = replace(place, space=f"cells of {place.space}")
        down, across = shape.cols * item, item
        if shape.column_major and not shape.boxed:
            down, across = item, shape.rows * item
        offset = region.row * down + region.col * across
        if across == item:
            return CopyTouch(kind, place, offset, region.cols * item, ((region.rows, Lin(down)),))
        return CopyTouch(kind, place, offset, region.rows * item, ((region.cols, Lin(across)),))

    def _use(
        self, name: str, pipe: str, touches: Sequence[CopyTouch], stmt: TileOp | AllocTile, *, stores: bool = False
    ) -> list[Use]:
        kept = tuple(t for t in touches if t.length != ZERO and all(c != ZERO for c, _ in t.steps))
        named = tuple(self.own_names[id(t)] for t in kept if id(t) in self.own_names)
        out = []
        for part, needs in ((kept, "stored" if stores else "computed"), (named, "computed")):
            if part:
                self.uses += 1
                out.append(Use(-self.uses, pipe, part, stmt.span, name, self.when, needs=needs))
        return out

    def pointer_of(self, operand: Operand) -> Value:
        """A pointer, or where a tile begins that has an address."""
        value = self.value(operand)
        return value.place if isinstance(value, TileValue) and value.addressed else value

    def _castptr(self, stmt: CastPtr) -> None:
        source = self.values.get(stmt.source.name)
        if isinstance(source, TileValue) and source.addressed:
            self.values[stmt.source.name] = source.place
            super()._castptr(stmt)
            self.values[stmt.source.name] = source
        else:
            super()._castptr(stmt)


__all__ = ["Operand", "TileMeaning"]
