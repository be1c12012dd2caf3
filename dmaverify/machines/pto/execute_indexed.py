"""Gathers from tensors and scatters to them, run on one choice of indices: the first names the first row or element.

Knows: tiles and views of one execution. Does not know: terms, which conditions a proof puts on indices.
Law: what the indices of a run are is a choice that every condition on them allows, or the run ends.

Source: PTO tile instructions, MGATHER, MSCATTER, of A5 (2026-08).
"""

from __future__ import annotations

import numpy as np

from dmaverify.execute.outcome import Beyond
from dmaverify.language.distinct import distinct
from dmaverify.machines.pto.execute_cells import CellTile, ElementView
from dmaverify.machines.pto.execute_tiles import TileRun
from dmaverify.machines.pto.tiles import TileOp


class IndexedRun(TileRun):
    """The part of a run that goes by indices."""

    def _operate(self, stmt: TileOp) -> None:
        if stmt.work.writes == "indexed":
            self._by_indices(stmt)
        else:
            super()._operate(stmt)

    def _by_indices(self, stmt: TileOp) -> None:
        gathers, by_rows = stmt.name == "pto.mgather", "row" in stmt.modes
        ends = [self._shaped(stmt, o) for o in (*stmt.ins, *stmt.outs)]
        view, index, tile = ends[:: 1 if gathers else -1] if len(ends) == 3 else (None, None, None)
        if not (isinstance(view, ElementView) and isinstance(index, CellTile) and isinstance(tile, CellTile)):
            raise Beyond(f"{stmt.name} on other than a tensor, a tile and its indices")
        if tile.kind.bits != view.item * 8:
            self._finds("form")
            return
        count = tile.rows if by_rows else tile.rows * tile.cols
        if index.rows * index.cols != count or (by_rows and view.shape[-1] != tile.cols):
            raise Beyond(f"{stmt.name} of other shapes")
        parts = view.addresses().reshape(-1, tile.cols if by_rows else 1)
        adds = next((one for one in ("add", "max", "min") if one in stmt.modes), "")
        if count > len(parts) and not gathers and not adds:
            raise Beyond(f"{stmt.name} to fewer places than it has indices")
        there = parts[np.arange(count) % len(parts)].ravel()[:, None] + np.arange(view.item)
        self._bounds(view.place, there, 0)
        cells, listed = (self._cells(one, 0, 0, one.rows, one.cols) for one in (tile, index))
        clean = bool(self._clean(index, listed).all()) and (gathers or bool(self._clean(tile, cells).all()))
        if not clean:
            self._finds("computed" if gathers else "definite")
        if gathers:
            self._write(tile, cells, clean)
        touched = [(view.place, not gathers, distinct(there)), (tile.place, gathers, distinct(cells))]
        atomic = (adds, tile.kind.dtype, view.item) if adds else ("", "", 0)
        self._happened("V", [*touched, (index.place, False, distinct(listed))], atomic)
