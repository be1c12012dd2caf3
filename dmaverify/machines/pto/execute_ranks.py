"""Operations between ranks run element by element: what they read and write of the memories of this rank.

Knows: one execution of one rank. Does not know: other ranks, terms, the touches of the proof.
Law: a tile that was moved through holds nothing known; it shares the statements with the proof, and no line of their
meaning. What no text tells (parts of other shapes, tiles on the same bytes) ends the run.

Source: PTO IR manual, communication operations.
"""

from __future__ import annotations

import numpy as np

from dmaverify.execute.outcome import Beyond
from dmaverify.language.distinct import distinct
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.execute_cells import CellTile, ElementView
from dmaverify.machines.pto.execute_indexed import IndexedRun
from dmaverify.machines.pto.ranks import COMM, FENCED, RankCopy, RankSignal, VisibilityFence

_SIGNAL = 4  # bytes


class RankRun(IndexedRun):
    """The part of a run that is about other ranks."""

    def seen(self, stmt: ops.Stmt) -> None:
        super().seen(stmt)
        self.in_tiles = self.in_tiles or isinstance(stmt, RankCopy)

    def tile_statement(self, stmt: ops.Stmt) -> bool:
        match stmt:
            case VisibilityFence():
                for pipe in FENCED:
                    self.order.meet((pipe,), (pipe,))
            case RankSignal():
                self._signalled(stmt)
            case RankCopy():
                self._exchanged(stmt)
            case _:
                return super().tile_statement(stmt)
        return True

    def _view(self, operand: ops.Operand) -> tuple[ElementView, np.ndarray]:
        """A part of a tensor, and the addresses of the bytes of its elements, in their order."""
        view = self._operand(operand)
        if not isinstance(view, ElementView):
            raise Beyond(operand.name)
        there = view.addresses().ravel()[:, None] + np.arange(view.item)
        self._bounds(view.place, there, 0)
        return view, there

    def _signalled(self, stmt: RankSignal) -> None:
        view, there = self._view(stmt.signal)
        if view.item != _SIGNAL:
            self._finds("form")
        elif stmt.writes and len(there) != 1:
            raise Beyond(f"{stmt.name} of {len(there):,} elements")
        else:
            self._happened(
                "S", [(view.place, stmt.writes, distinct(there))], ("add", "i32", 4) if stmt.adds else ("", "", 0)
            )

    def _exchanged(self, stmt: RankCopy) -> None:
        """All at once: which pipes it uses is not told."""
        if self.flagged:
            raise Beyond(f"{stmt.name} beside flags")
        (source, out_of), (dest, into) = self._view(stmt.source), self._view(stmt.dest)
        tiles = [self._tile(one) for one in stmt.through]
        if source.shape != dest.shape or len({tile.kind for tile in tiles}) != 1:
            raise Beyond(f"{stmt.name} of other shapes")
        if len({source.item, dest.item, *(max(1, tile.kind.bits // 8) for tile in tiles)}) > 1:
            self._finds("form")
            return
        rooms = [self._cells(tile, 0, 0, tile.kind.rows, tile.kind.cols) for tile in tiles]
        self._staged(stmt, source, tiles)
        if len(tiles) == 2 and tiles[0].place == tiles[1].place and np.isin(rooms[0], rooms[1]).any():
            raise Beyond(f"{stmt.name} through tiles on the same bytes")
        if len(distinct(into)) != into.size:
            self._finds("rows")
        touched = [(source.place, False, distinct(out_of)), (dest.place, True, distinct(into))]
        if into.size:
            atomic = ("add", tiles[0].kind.dtype, dest.item) if stmt.adds else ("", "", 0)
            self._happened(COMM, touched, atomic)
            for tile, room in zip(tiles, rooms, strict=True):
                self._write(tile, room, False)
                self._happened(COMM, [(tile.place, True, distinct(room))])

    def _staged(self, stmt: RankCopy, part: ElementView, tiles: list[CellTile]) -> None:
        """Chunks of a stated valid region have to be whole."""
        extents = (1, *part.shape)[-2:]
        for tile in tiles:
            if tile.kind.loc != "vec" or tile.kind.boxed or tile.kind.column_major:
                raise Beyond(f"{stmt.name} through another memory, or a tile in boxes or columns")
            if min(tile.rows, tile.cols) < 1:
                self._finds("bounds")
            for extent, stated in zip(extents, (tile.kind.v_row, tile.kind.v_col), strict=True):
                if stated and extent > stated and extent % stated:
                    raise Beyond(f"{stmt.name} in chunks of which the last is smaller")
