"""Operations that sort: values with their indices as pairs of 8 bytes, and rows of such pairs merged.

Knows: tiles as places, how many pairs a block has. Does not know: text, what the order is, how anything is proved.
Law: of a last block that is not full, the pairs behind the valid ones are unknown; sizes for which no document says
what is written where are a remark.

Source: PTO tile instructions, TSORT32, TMRGSORT, of A5 (2026-08).
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.affine import ONE, ZERO, Lin, both, compare
from dmaverify.machines.pto.tile_operands import TileOperands
from dmaverify.machines.pto.tile_places import CellTouch, TileCells
from dmaverify.machines.pto.tiles import TileOp, TileType
from dmaverify.machines.pto.values import TileValue

SORTED_BLOCK, PAIR_BITS, MERGED_LISTS = 32, 64, 4
"""How many elements are sorted at once, bits of one with its index, how many sorted blocks become one."""


def sort_room(kind: TileType, count: int) -> int:
    """How many elements the scratch of a sort of rows of `count` needs: a row where that is copied, else a block."""
    copied = count * kind.bits // 8 <= 8160
    return -(-count // SORTED_BLOCK) * SORTED_BLOCK if copied else SORTED_BLOCK


def merges(count: int, length: int) -> bool:
    """Whether a row of `count` elements is merged in blocks of `length`."""
    rounds, rest = divmod(count, MERGED_LISTS * length) if length > 0 and length % 64 == 0 else (0, 1)
    return not rest and 1 <= rounds <= 255


class TileSorts(TileOperands):
    """Sorts of tiles."""

    def _pairs(self, stmt: TileOp, tiles: Sequence[TileValue], out: TileValue) -> list[CellTouch] | None:
        """`tsort32`: of each row blocks of 32 values with their indices, which one row may give for all."""
        values, index = tiles[:2]
        if not self._straight(stmt, (*tiles[:2], out)):
            return None
        count = values.cols.const if values.cols.is_const else 0
        full, each = -(-count // SORTED_BLOCK) * SORTED_BLOCK, PAIR_BITS // values.kind.bits
        room = sum(tile.kind.rows * tile.kind.cols for tile in tiles[2:])
        if not count or (len(tiles) == 2 and full > count) or (len(tiles) > 2 and room < sort_room(values.kind, count)):
            said = f"{stmt.name} sorts blocks of {SORTED_BLOCK}; of {self.said(values.cols)} columns"
            said = f"{said} with {room:,} elements as scratch what it does is not documented"
            self.remark("unresolved", said, stmt.name_span, "whole blocks, or a third tile with room for a row of them")
            return None
        if out.kind.cols < full * each:
            said = f"{stmt.name} writes {full * each:,} elements of each row, `{out.name}` has {out.kind.cols:,}"
            self.remark("unresolved", said, stmt.name_span, "give it room for whole blocks of pairs")
            return None
        if self._short(stmt, index, None if index.rows == ONE else values.rows, values.cols):
            return None
        said = f"{stmt.name}: `{out.name}` has {out.kind.rows:,} rows"
        self._need(compare("le", values.rows - out.kind.rows), stmt, said, values.rows)
        made = TileCells(ZERO, ZERO, values.rows, Lin(count * each))
        rest = TileCells(ZERO, Lin(count * each), values.rows, Lin((full - count) * each))
        why = f"{stmt.name} at line {stmt.span.line} fills its last block up"
        touches = [self._cells(tile, self._valid(tile), "read") for tile in tiles[:2]]
        lost = f"{stmt.name} at line {stmt.span.line} has it as scratch"
        touches += [self._cells(tile, self._all(tile), "unknown", lost) for tile in tiles[2:]]
        return [*touches, self._cells(out, rest, "unknown", why), self._cells(out, made, "data")]

    def _merged(self, stmt: TileOp, tiles: Sequence[TileValue], out: TileValue) -> list[CellTouch] | None:
        """`tmrgsort` of one row: of every four blocks of so many elements, sorted each, one. Or of several lists."""
        if len(tiles) > 1:
            return self._lists(stmt, tiles, out)
        (values,) = tiles
        (length,) = [self.number_of(o, "the length of a block") for o in stmt.ins if o.name in stmt.scalars]
        known = length is not None and length.is_const and values.cols.is_const
        numbers = (values.cols.const, length.const) if length is not None and known else (0, 0)
        if (
            values.kind.rows != 1
            or out.kind.rows != 1
            or not self._straight(stmt, (values, out))
            or not merges(*numbers)
        ):
            said = f"{stmt.name} of {self.said(values.cols)} columns in blocks of {stmt.ins[-1].name}: what it does"
            hint = f"one row, blocks of 64, 128, .. elements, {MERGED_LISTS} of them at a time, 255 times at most"
            self.remark("unresolved", f"{said} is not documented", stmt.name_span, hint)
            return None
        said = f"{stmt.name}: `{out.name}` has {out.kind.cols:,} columns"
        self._need(compare("le", values.cols - out.kind.cols), stmt, said, values.cols)
        made = TileCells(ZERO, ZERO, ONE, values.cols)
        return [self._cells(values, self._valid(values), "read"), self._cells(out, made, "data")]

    def _lists(self, stmt: TileOp, tiles: Sequence[TileValue], out: TileValue) -> list[CellTouch] | None:
        """`tmrgsort` of two to four rows of pairs: merged into scratch, from which the valid columns of the result are
        copied in whole blocks.
        """
        *lists, scratch = tiles
        per, room = PAIR_BITS // out.kind.bits, sum(one.kind.cols for one in lists)
        if not self._straight(stmt, (*tiles, out)):
            return None
        if len(lists) < 2 or any(one.kind.rows != 1 for one in (*tiles, out)) or scratch.kind.cols < room:
            said = f"{stmt.name} of {len(lists)} lists of {room:,} columns with {scratch.kind.cols:,} as scratch: what"
            hint = "two to four tiles of one row, and a third one of one row with room for all of them"
            self.remark("unresolved", f"{said} it does is not documented", stmt.name_span, hint)
            return None
        for one in lists:
            said = f"{stmt.name}: `{one.name}` has a valid row of whole pairs"
            claims = [compare("eq", self.world.modulo(one.cols, per)), compare("le", Lin(per) - one.cols)]
            self._need(both([*claims, compare("eq", one.rows - ONE)]), stmt, said, one.cols, enough=True)
        made = sum((one.cols for one in lists), start=ZERO)
        said = f"{stmt.name}: {self.said(made)} elements are merged"
        self._need(compare("le", out.cols - made), stmt, said, out.cols, enough=True)
        cols, rest = self.rest_of_block(out.cols, out.kind.cols, out.kind)
        more = self.world.least(rest, made - cols)  # merged as well
        why = f"{stmt.name} at line {stmt.span.line} writes whole blocks of {self.block_bytes} bytes"
        lost = f"{stmt.name} at line {stmt.span.line} has it as scratch"
        touches = [self._cells(one, self._valid(one), "read") for one in lists]
        touches.append(self._cells(scratch, self._all(scratch), "unknown", lost))
        if not self.world.decide(compare("le", rest - more)):
            touches.append(self._cells(out, TileCells(ZERO, cols + more, ONE, rest - more), "unknown", why))
        if not self.world.decide(compare("le", more)):
            touches.append(self._cells(out, TileCells(ZERO, cols, ONE, more), "maybe", why))
        return [*touches, self._cells(out, TileCells(ZERO, ZERO, ONE, out.cols), "data")]

    def rest_of_block(self, run: Lin, most: int, kind: TileType) -> tuple[Lin, Lin]:
        """Elements of a row of at most so many, and how many the last block has behind them, of no other tile."""
        run = self.world.least(self.world.least(run, ZERO, most=True), Lin(most))
        return run, self.world.round_up(run, self.block_bytes * 8 // kind.bits) - run

    def _straight(self, stmt: TileOp, tiles: Sequence[TileValue]) -> bool:
        """Whether tiles lie in rows."""
        wrong = next((tile for tile in tiles if tile.kind.boxed or tile.kind.column_major), None)
        if wrong is not None:
            said = f"{stmt.name}: what it does with `{wrong.name}`, which lies in no rows, is not documented"
            self.remark("unresolved", said, stmt.name_span, "blayout=row_major")
        return wrong is None
