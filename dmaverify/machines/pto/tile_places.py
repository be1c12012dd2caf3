"""Where tiles lie: their cells as bytes of a memory, and of a memory of their own; parts of tiles.

Knows: tiles as places with a layout, which tile lies on whose bytes.
Does not know: text, what an operation on tiles does, how anything is proved.
Law: tiles without an address lie apart from all others. Of a tile with one, what another tile has left there is not
what it holds; where `one_tile` is set, tiles of as many elements at one address are one, which is a condition.

Source: PTO IR manual (tile buffers).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dmaverify.language.affine import ZERO, Cond, Lin, both, compare
from dmaverify.machines.pto.limits import rooms, ub_memory
from dmaverify.machines.pto.ops import Stmt
from dmaverify.machines.pto.tensor_views import TensorViews
from dmaverify.machines.pto.tiles import (
    AllocTile,
    Reserved,
    ReshapedTile,
    TilePart,
    TileType,
    is_whole,
    keeps_boxes,
    keeps_rows,
)
from dmaverify.machines.pto.values import TileValue
from dmaverify.program.instructions import CopyTouch, Event, Loose, Place, Use
from dmaverify.values import dataclass, replace

APART = "tiles"
"""The memory of tiles without an address."""


@dataclass(frozen=True, slots=True)
class TileCells:
    """Cells of a tile: from which, and how many rows and columns."""

    row: Lin
    col: Lin
    rows: Lin
    cols: Lin


class CellTouch(NamedTuple):
    """The bytes of cells that are touched. Of a tile with an address, its cells as a memory of their own: what another
    tile has left at the address is not what this one holds. Of boxes, written whole, their cells; in part, all bytes.
    """

    bytes: CopyTouch
    own: CopyTouch | None = None
    boxed: CopyTouch | None = None
    anywhere: CopyTouch | None = None


class TilePlaces(TensorViews):
    """Tiles, views and their bytes."""

    uses: int

    # ------------------------------------------------------------ tiles and views

    def _alloctile(self, stmt: AllocTile) -> list[Use] | None:
        kind = stmt.type
        assert kind is not None
        sizes = []
        sides = ((kind.v_row, kind.rows, "rows"), (kind.v_col, kind.cols, "columns"))
        for (stated, most, what), given in zip(sides, stmt.valid, strict=True):
            value = Lin(stated) if stated is not None else None
            if value is None and given is not None:
                value = self.number_of(given, f"the number of valid {what}")
            elif value is None and stmt.given:
                value = Lin(most)
                self.suppose(f"all {most:,} {what} of the tile that {stmt.given} gives are valid")
            self._sized(value, most, what, stmt)
            sizes.append(value)
        place = self._tile_place(stmt, kind)
        if place is None or sizes[0] is None or sizes[1] is None:
            self.values[stmt.result] = None
            self.reasons[stmt.result] = "its valid region or its address is not known"
            return None
        sized, inside = (sizes[0], sizes[1], kind.cols), tuple(self.around)
        tile = TileValue(place, kind, *sized, stmt.result, stmt.address is not None, stmt, inside)
        self.values[stmt.result] = tile
        self._in_whole_blocks(stmt, kind)
        self._has_room(stmt, kind)
        if tile.addressed:
            place = self._as_memory(tile)
            for one in self.reserved:
                self._outside(tile, one)
        moves = self.world.changes(tile.place.address, self.around)
        moves = moves or not self.world.roots(tile.place.address).isdisjoint(self.around)
        if self.around and not stmt.given and (moves or not tile.addressed):
            return self._forgotten(tile, stmt, "pto.alloc_tile")  # each time it is another tile
        if not stmt.given:
            return None
        if not self.dry:
            self.popped.append((stmt.given[-3:], tile, (tuple(self.around), self.when)))
        self.suppose(f"what {stmt.given} gives was written whole by the other core")
        return self._use(stmt.given, "S", [self._cells(tile, self._valid(tile), "data")], stmt)

    def _sized(self, value: Lin | None, most: int, what: str, stmt: Stmt) -> None:
        """That a tile has as many rows or columns as are valid."""
        if value is not None:
            claim = both([compare("le", -value), compare("le", value - most)])
            self._need(claim, stmt, f"the tile has {most:,} {what}", value)

    def _has_room(self, stmt: AllocTile, kind: TileType) -> None:
        """That a tile of UB without an address has a place at all."""
        space, most = ub_memory(self.target)
        if kind.loc == "vec" and stmt.address is None and kind.bytes > most:
            said = f"the tile `{stmt.result}` has {kind.bytes:,} bytes, {space.upper()} {most:,}"
            self.remark("ill", said, stmt.span, "make it smaller, and go over it in parts")

    def _in_whole_blocks(self, stmt: AllocTile | ReshapedTile, kind: TileType) -> None:
        if self._ragged(kind):
            what, key = ("columns", "v_row") if kind.column_major else ("rows", "v_col")
            said = f"{what} of the tile `{stmt.result}` have {kind.run:,} bytes, UB has blocks of {self.block_bytes}"
            self.remark("unresolved", said, stmt.span, f"make them longer, with `{key}=` for how much of them is valid")

    def _ragged(self, kind: TileType) -> bool:
        """Whether rows, or columns, of a tile of UB that lies in them are no whole blocks."""
        return kind.loc == "vec" and not kind.boxed and kind.run % self.block_bytes != 0

    def _end_behind(self, at: int, kind: TileType) -> None:
        """Tiles without a place begin behind this one, in whole blocks."""
        self.tile_end = max(self.tile_end, at + self._in_blocks(kind))

    def _in_blocks(self, kind: TileType) -> int:
        """Bytes of the blocks that a tile takes."""
        return -(-kind.bytes // self.block_bytes) * self.block_bytes

    def _tile_place(self, stmt: AllocTile, kind: TileType) -> Place | None:
        item = max(1, kind.bits // 8)
        if stmt.address is None:
            address = self.tile_bytes.setdefault(id(stmt), self.tile_end)
            self._end_behind(address, kind)
            if not self.dry and not stmt.given and kind.loc in rooms(self.target):
                capacity = rooms(self.target)[kind.loc]
                self.kernel.rooms[APART, address] = Loose(stmt.result, self._in_blocks(kind), kind.loc, capacity)
            return Place(APART, "", Lin(address), item, kind.loc)
        base = self.number_of(stmt.address, "the address of the tile")
        if base is None:
            return None
        space = "ub" if kind.loc == "vec" else kind.loc
        return Place(space, "", base, item, kind.loc)

    def leave(self) -> None:
        """Of memories in which tiles have addresses, or bytes are kept, what lies behind those is room for others."""
        super().leave()
        ends = [(place.dtype, place.address + size) for place, size, _ in self.lying.values()]
        spaces = {"ub": "vec"}
        ends += [(spaces.get(kept.space, kept.space), Lin(kept.base + kept.size)) for kept in self.reserved]
        for key, room in self.kernel.rooms.items():
            mine = [end.const if end.is_const else room.capacity for memory, end in ends if memory == room.memory]
            self.kernel.rooms[key] = replace(room, taken=max(mine, default=0))

    def _reserved(self, stmt: Reserved) -> None:
        self.reserved.append(stmt)
        for value in list(self.values.values()):
            if isinstance(value, TileValue) and value.addressed:
                self._outside(value, stmt)

    def _outside(self, tile: TileValue, kept: Reserved) -> None:
        """That a tile lies outside of the bytes in which the other core puts its own."""
        if tile.place.space != kept.space:
            return
        if not self.world.decide(self._clear(tile.place.address, tile.kind.bytes, Lin(kept.base), kept.size)):
            said = f"the tile `{tile.name}` lies in bytes {kept.base:,} to {kept.base + kept.size - 1:,}"
            said += ", which pto.reserve_buffer keeps: the other core writes its tiles there"
            span = tile.made.span if isinstance(tile.made, Stmt) else kept.span
            self.remark("unresolved", said, span, "give the tile an address behind them")

    def _reshapedtile(self, stmt: ReshapedTile) -> None:
        tile, kind = self.value(stmt.source), stmt.type
        self.values[stmt.result] = None
        if not isinstance(tile, TileValue) or kind is None or kind.v_row is None or kind.v_col is None:
            self.reasons[stmt.result] = "the tile or the valid region that it is made of is not known"
            return
        if tile.whole is not None:
            self.reasons[stmt.result] = "how a part of a tile lies in another shape is not followed"
            return
        if (kind.loc, kind.bytes) != (tile.kind.loc, tile.kind.bytes) or kind.boxed != tile.kind.boxed:
            self.reasons[stmt.result] = "it is made of a tile in another memory, of another size or layout"
            return
        if kind.boxed and (kind.packed or kind.lying != tile.kind.lying):
            self.reasons[stmt.result] = "how boxes of another shape or layout lie is not followed"
            return
        for value, most, what in ((kind.v_row, kind.rows, "rows"), (kind.v_col, kind.cols, "columns")):
            self._sized(Lin(value), most, what, stmt)
        self._in_whole_blocks(stmt, kind)
        if tile.addressed:
            self.tile_bytes[id(stmt)] = self._own_place(tile)
        known = (replace(tile.place, item_bytes=kind.bits // 8), kind, Lin(kind.v_row), Lin(kind.v_col), kind.cols)
        self.values[stmt.result] = TileValue(*known, stmt.result, tile.addressed, stmt, tuple(self.around))

    def _tilepart(self, stmt: TilePart) -> None:
        """A part of the rows of a tile, which stay as far apart as they are; in boxes and columns all of it alone."""
        tile, kind = self.value(stmt.source), stmt.type
        self.values[stmt.result] = None
        if not isinstance(tile, TileValue) or kind is None:
            self.reasons[stmt.result] = "the tile that it is a part of, or its type, is not known"
            return
        row, col = (self.number_of(one, "an offset of the part") for one in stmt.offsets)
        if stmt.infers:
            kind = replace(tile.kind, rows=stmt.sizes[0], cols=stmt.sizes[1], v_row=None, v_col=None)
        given = [None if one is None else Lin(one) for one in (kind.v_row, kind.v_col)]
        if None in given and stmt.valid:
            given = [
                self.number_of(o, "a valid region") if n is None else n for n, o in zip(given, stmt.valid, strict=True)
            ]
        rows, cols = self._valid_inside(tile, (row, col), stmt.sizes) if stmt.infers else given
        if row is None or col is None or rows is None or cols is None:
            self.reasons[stmt.result] = "where it begins, or how many of its rows and columns are valid, is not known"
            return
        every = row == col == ZERO and is_whole(kind, tile.kind) and tile.whole is None
        boxes = keeps_boxes(kind, tile.kind) and not every
        if (kind.rows, kind.cols) != stmt.sizes or not (every or boxes or keeps_rows(kind, tile.kind)):
            self.reasons[stmt.result] = "how a part of a tile in boxes or columns lies is not followed"
            return
        sides = ((row, kind.rows, tile.kind.rows, "rows"), (col, kind.cols, tile.kind.cols, "columns"))
        for at, size, most, what in sides:
            said = f"the tile `{tile.name}` has {most:,} {what}"
            self._need(compare("le", -at), stmt, said, at)
            self._need(compare("le", at + size - most), stmt, said, at + size)
        for value, most, what in ((rows, kind.rows, "rows"), (cols, kind.cols, "columns")):
            self._sized(value, most, what, stmt)
        begins = row * tile.pitch + col
        cuts = zip((row, col), kind.boxes, strict=True) if boxes else [(begins * (kind.bits // 8), self.block_bytes)]
        if not self.world.decide(both([compare("eq", self.world.modulo(at, size)) for at, size in cuts])):
            what = "box" if boxes else f"block of {self.block_bytes} bytes"
            self.reasons[stmt.result] = f"it may begin inside of a {what}"
            return
        self.values[stmt.result] = replace(
            tile, kind=kind, rows=rows, cols=cols, name=stmt.result, made=stmt, inside=tuple(self.around),
            first=tile.first + begins, whole=tile.whole or tile,
        )  # fmt: skip

    def _valid_inside(self, tile: TileValue, at: Sequence[Lin | None], sizes: Sequence[int]) -> list[Lin | None]:
        """How many rows and columns of a part are valid, where the tile that it is of says it."""
        out: list[Lin | None] = []
        whole = ((tile.rows, tile.kind.rows), (tile.cols, tile.kind.cols))
        for begin, size, (valid, has) in zip(at, sizes, whole, strict=True):
            known = begin is not None and (begin.is_const or valid == Lin(has))
            left = self.world.least(valid - (begin or ZERO), ZERO, most=True)
            out.append(self.world.least(left, Lin(size)) if known else None)
        return out

    def _valid(self, tile: TileValue) -> TileCells:
        return TileCells(ZERO, ZERO, tile.rows, tile.cols)

    def _all(self, tile: TileValue) -> TileCells:
        return TileCells(ZERO, ZERO, Lin(tile.kind.rows), Lin(tile.kind.cols))

    def _cells(self, tile: TileValue, region: TileCells, kind: str, why: str = "") -> CellTouch:
        """The bytes of cells, and what stands for them besides."""
        made, own = replace(self._bytes_of(tile, region, kind), why=why), None
        if tile.addressed:
            own = replace(self._bytes_of(replace(tile, place=self._as_memory(tile)), region, kind), why=why)
        if not tile.kind.boxed:
            return CellTouch(made, own)
        if made.place.space == tile.place.space:
            return CellTouch(made, own, self._in_boxes(tile, region, kind) if made.writes else None)
        whole = (tile.whole or tile).kind.bytes
        every = CopyTouch("maybe" if made.writes else kind, tile.place, ZERO, Lin(whole), (), why=why)
        return CellTouch(made, own, None, every)

    def _element(self, tile: TileValue, number: Lin, kind: str) -> CellTouch:
        """The bytes of one element by its number in memory."""
        item = tile.kind.bits // 8
        made = CopyTouch(kind, tile.place, (tile.first + number) * item, Lin(item), ())
        return CellTouch(made, replace(made, place=self._as_memory(tile)) if tile.addressed else None)

    def _as_memory(self, tile: TileValue) -> Place:
        """A tile as a memory of its own."""
        if not tile.addressed:
            return tile.place
        return replace(tile.place, space=APART, address=Lin(self._own_place(tile)))

    def _forgotten(self, tile: TileValue, stmt: Stmt, what: str) -> list[Use]:
        """That of a tile nobody has written anything."""
        self.uses += 1
        lost = CopyTouch("unknown", self._as_memory(tile), ZERO, Lin(tile.kind.bytes), ())
        return [Use(-self.uses, "", (lost,), stmt.span, what, self.when)]

    def _own_place(self, tile: TileValue) -> int:
        """Where the cells of a tile with an address lie as a memory of their own, those of a part in its whole."""
        tile = tile.whole or tile
        kind = tile.kind
        alike = (tile.place, kind.lying, *((tile.rows, tile.cols) if kind.packed else ()))
        at = self.tile_bytes.setdefault(alike if self.setting.one_tile else id(tile.made), self.tile_end)
        self._end_behind(at, kind)
        if not isinstance(tile.made, ReshapedTile):
            self.kernel.alike.setdefault(alike, {})[tile.name] = kind.turned
        self.lying[at] = (tile.place, tile.kind.bytes, kind.boxed)
        address, block = tile.place.address, self.block_bytes
        if tile.name not in self.misplaced and isinstance(tile.made, Stmt):
            said = f"the tile `{tile.name}` begins at byte {self.said(address)}: addresses are multiples of {block}"
            if address.is_const and address.const % block:
                self.remark("ill", said, tile.made.span)
            elif not address.is_const:
                self._need(compare("eq", self.world.modulo(address, block)), tile.made, said, address)
            self.misplaced |= set() if self.dry else {tile.name}
        return at

    def overwritten(self, event: Event) -> Iterator[Event]:
        """An event and that tiles on what it writes hold nothing known there any more, those in boxes nowhere."""
        yield event
        touches = event.touches if isinstance(event, Use) and event.pipe else ()
        written = {t.place.address.const for t in touches if t.place.space == APART and t.writes}
        lost = []
        for at in written & self.lying.keys():
            place, size, _ = self.lying[at]
            for other, (theirs, reach, boxes) in self.lying.items():
                clear = self._clear(place.address, size, theirs.address, reach)
                if other != at and place.space == theirs.space and not self.world.decide(clear):
                    why = "it writes a tile of another type on the same bytes: read them as a tile of that type"
                    gap = place.address - theirs.address
                    shared = (max(0, gap.const), min(reach, gap.const + size))
                    first, end = shared if gap.is_const and not boxes else (0, reach)
                    held = Place(APART, "", Lin(other))
                    lost.append(CopyTouch("unknown", held, Lin(first), Lin(end - first), (), why=why))
        if lost and isinstance(event, Use):
            yield replace(event, pipe="", touches=tuple(lost), needs="")

    def _clear(self, begin: Lin, size: int, other: Lin, reach: int) -> Cond:
        """That bytes from two places on are no bytes of each other."""
        return both([compare("le", begin + size - other), compare("le", other + reach - begin)], "or")

    def _bytes_of(self, tile: TileValue, region: TileCells, kind: str) -> CopyTouch:
        shape, place = tile.kind, tile.place
        if shape.boxed and tile.whole is None and (region.rows, region.cols) == (Lin(shape.rows), Lin(shape.cols)):
            return CopyTouch(kind, place, ZERO, Lin(shape.bytes), ())
        if shape.boxed and place.space != APART:
            return self._in_boxes(tile, region, kind)
        return self._in_rows(tile, region, kind, place)

    def _in_boxes(self, tile: TileValue, region: TileCells, kind: str) -> CopyTouch:
        """Cells of a tile in boxes as a memory of their own: where each lies depends on the fractal."""
        return self._in_rows(tile, region, kind, replace(tile.place, space=f"cells of {tile.place.space}"))

    def _in_rows(self, tile: TileValue, region: TileCells, kind: str, place: Place) -> CopyTouch:
        item, shape = max(1, tile.kind.bits // 8), tile.kind
        down, across = (step * item for step in shape.steps(tile.pitch))
        offset = region.row * down + region.col * across + tile.first * item
        if across == item:
            return CopyTouch(kind, place, offset, region.cols * item, ((region.rows, Lin(down)),))
        return CopyTouch(kind, place, offset, region.rows * item, ((region.cols, Lin(across)),))

    def _use(
        self, name: str, pipe: str, touches: Sequence[CellTouch], stmt: Stmt, needs: str = "computed"
    ) -> list[Use]:
        kept = [t for t in touches if t.bytes.length != ZERO and all(c != ZERO for c, _ in t.bytes.steps)]
        out = []
        for side, needed in enumerate((needs, "computed", "computed", "")):
            part = tuple(one for touch in kept if (one := touch[side]) is not None)
            if part:
                self.uses += 1
                inferred = "" if needed else "layout"
                out.append(Use(-self.uses, pipe, part, stmt.span, name, self.when, inferred, needs=needed))
        return out
