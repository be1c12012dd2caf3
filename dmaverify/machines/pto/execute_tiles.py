"""Tiles run cell by cell: which bytes of which memory each cell is, and whether it holds what this tile was given.

Knows: tiles, views and operations on them as the manual tells them, for one execution; a cell is what it should be only
while the last tile that wrote its bytes is this one. Does not know: terms, touches and regions of the proof.
Law: it shares the statements and the target's table of operations with the proof, and no line of their meaning. What no
text tells (shapes that differ, masks that are too small) ends the run.

Source: PTO IR manual (tile buffers, views, destination-passing style); encodings/pto/target.toml, [tile].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from dmaverify.execute.address import ends_of, strided
from dmaverify.execute.outcome import Beyond
from dmaverify.language.distinct import distinct
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.execute_cells import (
    PRODUCTS,
    CellTile,
    ElementView,
    behind,
    bit_cells,
    matched,
    part_kind,
    product_size,
    reshaped,
    sorted_cells,
    told,
)
from dmaverify.machines.pto.execute_order import RunOrder
from dmaverify.machines.pto.running import UNKNOWN, WRITTEN, Over
from dmaverify.machines.pto.tiles import (
    AllocTile,
    HandedTile,
    PartView,
    Reserved,
    ReshapedTile,
    TensorView,
    TileElement,
    TileOp,
    TilePart,
    TileWork,
    ValidShape,
)
from dmaverify.values import replace

MOST_CELL_BYTES = 1 << 22
"""Bytes of a memory of tiles beside UB: no machine document tells how large those are."""


class TileRun(RunOrder):
    """The part of a run that is about tiles."""

    made: dict[object, int]
    popped: dict[str, list[CellTile]]
    flagged = in_tiles = one_tile = False

    def seen(self, stmt: ops.Stmt) -> None:
        """Takes note of a statement before the run."""
        self.made = {}
        self.popped = {}
        self.in_tiles = self.in_tiles or isinstance(stmt, TileOp)
        self.flagged = self.flagged or isinstance(stmt, (ops.CopyOp, ops.Flag, ops.BufferOp))

    @property
    def lowered(self) -> bool:
        """Whether the assembler orders the pipes: there are tiles, and no flags of the text's own."""
        return self.in_tiles and not self.flagged

    def tile_statement(self, stmt: ops.Stmt) -> bool:
        """Runs a statement about tiles; False for any other."""
        match stmt:
            case AllocTile():
                self.values[stmt.result] = self._allocated(stmt)
            case ValidShape():
                tile = self._tile(stmt.tile)
                rows, cols = (self._int(o) for o in stmt.valid)
                if tile.kind.packed and (rows, cols) != (tile.rows, tile.cols):
                    self._write(tile, self._cells(tile, 0, 0, tile.kind.rows, tile.kind.cols), False)
                for name in [n for n, known in self.values.items() if known is tile]:
                    self.values[name] = self._fitting(replace(tile, rows=rows, cols=cols))
            case HandedTile():
                self._handed(stmt)
            case ReshapedTile():
                self.values[stmt.result] = self._fitting(reshaped(self._tile(stmt.source), stmt.type))
            case TilePart():
                self.values[stmt.result] = self._part_of(self._tile(stmt.source), stmt)
            case TileElement():
                self._one_element(self._tile(stmt.tile), self._int(stmt.offset), writes=stmt.writes)
            case Reserved():
                pass
            case TensorView():
                place, at, item = self._operand(stmt.base)
                sizes, strides = (tuple(self._int(o) for o in group) for group in (stmt.shape, stmt.strides))
                if stmt.bits % 8:
                    raise Beyond(f"elements of {stmt.bits} bits")
                item = stmt.bits // 8 or item
                shape = tuple(max(0, n) for n in sizes)
                self.values[stmt.result] = ElementView(place, at, item, shape, strides, stmt.dtype)
            case PartView():
                self.values[stmt.result] = self._part(stmt)
            case TileOp():
                self._operate(stmt)
            case _:
                return False
        return True

    # ------------------------------------------------------------ tiles and views

    def _operand(self, operand: ops.Operand) -> Any:
        found = self.values.get(operand.name)
        if found is None or isinstance(found, int):
            raise Beyond(operand.name)
        return found

    def _tile(self, operand: ops.Operand) -> CellTile:
        found = self._operand(operand)
        if not isinstance(found, CellTile):
            raise Beyond(operand.name)
        return found

    def _allocated(self, stmt: AllocTile) -> CellTile:
        kind = stmt.type
        assert kind is not None
        stated = zip((kind.v_row, kind.v_col), stmt.valid, strict=True)
        sizes = [self._int(given) if size is None and given is not None else size for size, given in stated]
        same, lying = self.one_tile and stmt.address is not None, (kind.loc, kind.lying, sizes * kind.packed)
        key: object = f"{self._int(stmt.address)} {lying}" if same and stmt.address else id(stmt)
        owner = self.made.setdefault(key, len(self.made) + 1)
        ragged = kind.loc == "vec" and not kind.boxed and kind.run % self.most["ub_line_bytes"] != 0
        if sizes[0] is None or sizes[1] is None or ragged:
            raise Beyond(stmt.result)
        if stmt.address is None:  # what it holds is nobody's, each time anew
            if kind.bytes > MOST_CELL_BYTES:
                raise Beyond(f"a tile of {kind.bytes:,} bytes")
            place, at = f"tile {owner}", 0
            self.run.memory[place] = self._room(kind.bytes)
        else:
            place, at = "ub" if kind.loc == "vec" else f"memory {kind.loc}", self._int(stmt.address)
            if place not in self.run.memory:
                self.run.memory[place] = self._room(MOST_CELL_BYTES)
            if at % self.most["ub_line_bytes"]:
                self._finds("form")
        tile = self._fitting(CellTile(owner, place, at, kind, sizes[0], sizes[1], kind.cols))
        if stmt.given:
            self._write(tile, self._cells(tile, 0, 0, tile.rows, tile.cols))
            self.popped.setdefault(stmt.given[-3:], []).append(tile)
        return tile

    def _handed(self, stmt: HandedTile) -> None:
        """A tile read for the other core, or the first one popped given back: what it holds is the other core's."""
        if "push" in stmt.name:
            if stmt.tile is None:
                raise Beyond(stmt.name)
            tile = self._tile(stmt.tile)
            cells = self._cells(tile, 0, 0, tile.rows, tile.cols)
            if not self._clean(tile, cells).all():
                self._finds("definite")
            self._happened("FIX" if "to_aiv" in stmt.name else "MTE3", [(tile.place, False, distinct(cells))])
        elif waiting := self.popped.get(stmt.name[-3:]):
            tile = waiting.pop(0)
            self._write(tile, self._cells(tile, 0, 0, tile.kind.rows, tile.kind.cols), False)

    def _one_element(self, tile: CellTile, number: int, *, writes: bool) -> None:
        """Read or written by the scalar unit, by its number in memory."""
        if tile.kind.boxed or tile.pitch != tile.kind.cols:
            raise Beyond("an element of a tile in boxes, or of a part of one")
        if not 0 <= number < tile.kind.rows * tile.kind.cols:
            self._finds("bounds")
            raise Over
        item = tile.kind.bits // 8
        cells = np.arange(tile.at + number * item, tile.at + (number + 1) * item).reshape(1, 1, item)
        if writes:
            self._write(tile, cells)
        elif not self._clean(tile, cells).all():
            self._finds("computed")
        self._happened("S", [(tile.place, writes, distinct(cells))])

    def _part_of(self, tile: CellTile, stmt: TilePart) -> CellTile:
        """Cells of the same owner, in rows as far apart as those of the tile."""
        own, (row, col) = tile.kind, (self._int(one) for one in stmt.offsets)
        kind = part_kind(tile, stmt, (row, col))
        stated = zip((kind.v_row, kind.v_col), stmt.valid or (None, None), strict=True)
        rows, cols = (self._int(one) if n is None and one is not None else n for n, one in stated)
        if rows is None or cols is None:
            raise Beyond("a part of a tile whose valid region is not told")
        if min(row, col) < 0 or row + kind.rows > own.rows or col + kind.cols > own.cols:
            self._finds("bounds")
            raise Over
        begins = (row * tile.pitch + col) * (own.bits // 8)
        if begins % self.most["ub_line_bytes"] and not own.boxed:
            raise Beyond("a part of a tile that begins inside of a block")
        return self._fitting(replace(tile, at=tile.at + begins, kind=kind, rows=rows, cols=cols, pitch=tile.pitch))

    def _fitting(self, tile: CellTile) -> CellTile:
        if not (0 <= tile.rows <= tile.kind.rows and 0 <= tile.cols <= tile.kind.cols):
            self._finds("bounds")
            raise Over
        return tile

    def _part(self, stmt: PartView) -> ElementView:
        whole = self._operand(stmt.base)
        offsets, sizes = (tuple(self._int(o) for o in group) for group in (stmt.offsets, stmt.sizes))
        if not isinstance(whole, ElementView) or len(whole.shape) != len(sizes):
            raise Beyond(stmt.result)
        if any(o < 0 or s < 0 or o + s > n for o, s, n in zip(offsets, sizes, whole.shape, strict=True)):
            self._finds("bounds")
        at = whole.at + sum(o * s for o, s in zip(offsets, whole.strides, strict=True)) * whole.item
        return replace(whole, at=at, shape=tuple(max(0, s) for s in sizes))

    # ------------------------------------------------------------ cells

    def _cells(self, tile: CellTile, row: int, col: int, rows: int, cols: int) -> np.ndarray:
        """The bytes of cells, rows x columns x bytes of one; those that the tile does not have are found."""
        kind = tile.kind
        if rows and cols and not (min(row, col) >= 0 and row + rows <= kind.rows and col + cols <= kind.cols):
            self._finds("bounds")
            raise Over
        item = max(1, kind.bits // 8)
        down, across = (step * item for step in kind.steps(tile.pitch))
        first, steps = tile.at + row * down + col * across, ((rows, down), (cols, across), (item, 1))
        if rows and cols and not self._within(tile.place, *ends_of(first, steps)):
            raise Over
        if max(rows, cols) > MOST_CELL_BYTES:
            raise Beyond(f"a tile of {rows:,} rows and {cols:,} columns")
        return strided(first, steps).reshape(rows, cols, item)

    def _clean(self, tile: CellTile, cells: np.ndarray) -> np.ndarray:
        """Which cells hold what was written to this tile."""
        memory = self.run.memory[tile.place]
        return np.asarray(((memory.state[cells] == WRITTEN) & (memory.owner[cells] == tile.owner)).all(axis=2))

    def _write(self, tile: CellTile, cells: np.ndarray, clean: np.ndarray | bool = True) -> None:
        good = np.broadcast_to(np.asarray(clean), cells.shape[:2])[..., None]
        memory = self.run.memory[tile.place]
        memory.state[cells] = np.where(good, WRITTEN, UNKNOWN)
        memory.owner[cells] = tile.owner

    # ------------------------------------------------------------ operations

    def _operate(self, stmt: TileOp) -> None:
        work = stmt.work
        into = [self._shaped(stmt, o) for o in stmt.outs]
        given = [self._shaped(stmt, o) for o in stmt.ins if o.name not in stmt.scalars] + into * work.onto
        if len(into) != 1:
            raise Beyond(f"{stmt.name} writes several tiles")
        if work.writes == "move":
            ends = [one.kind.loc if isinstance(one, CellTile) else "gm" for one in (*given[:1], into[0])]
            if tuple(ends) not in work.between:
                raise Beyond(f"{stmt.name} {' to '.join(ends)}")
            self._moved(given[0] if given else None, into[0], adds=stmt.adds)
            return
        if not isinstance(into[0], CellTile) or not all(isinstance(tile, CellTile) for tile in given):
            raise Beyond(f"{stmt.name} on what is no tile")
        self._computed(stmt, given, into[0])

    def _shaped(self, stmt: TileOp, operand: ops.Operand) -> Any:
        """A pointer of a static shape is a view of all of it."""
        found = self._operand(operand)
        if isinstance(found, tuple) and operand.name in stmt.shapes:
            sizes, bits, _ = stmt.shapes[operand.name]
            strides = tuple(prod(sizes[i + 1 :]) for i in range(len(sizes)))
            return ElementView(found[0], found[1], bits // 8, sizes, strides)
        return found

    def _moved(self, source: Any, dest: Any, *, adds: bool) -> None:
        """A load or a store of the valid cells, element by element in the order of both shapes."""
        loads = isinstance(source, ElementView)
        view, tile = (source, dest) if loads else (dest, source)
        if not isinstance(view, ElementView) or not isinstance(tile, CellTile):
            raise Beyond("a move between what is no tile and part of a tensor")
        item = max(1, tile.kind.bits // 8)
        if view.item != item and tile.kind.loc != "acc":
            self._finds("form")
            return
        at = matched(view, tile, loads=loads)
        there = at.ravel()[:, None] + np.arange(view.item)
        self._bounds(view.place, there, 0)
        cells = self._cells(tile, 0, 0, tile.rows, tile.cols)
        touched = [(view.place, not loads, distinct(there)), (tile.place, loads, distinct(cells))]
        if loads:
            self._write(tile, cells)
            pads = tile.kind.pads
            rest = behind(tile, self.most["ub_line_bytes"] * (pads or self.readings.get("tail") != "untouched"))
            self._write(tile, rest, pads)
            self._happened("MTE2", [*touched, (tile.place, True, distinct(rest))])
        else:
            if len(touched[0][2]) != there.size:
                self._finds("rows")
            if not self._clean(tile, cells).all():
                self._finds("definite")
            atomic = ("add", tile.kind.dtype, view.item) if adds else ("", "", 0)
            self._happened("FIX" if tile.kind.loc == "acc" else "MTE3", touched, atomic)
        self._arrives(view, tile, there, cells.reshape(-1, cells.shape[2]), loads=loads, adds=adds)

    def _arrives(
        self, view: ElementView, tile: CellTile, there: np.ndarray, cells: np.ndarray, *, loads: bool, adds: bool
    ) -> None:
        """Moves what cells of a tile and elements of a tensor hold, which no rule asks for."""

    def _computed(self, stmt: TileOp, tiles: Sequence[CellTile], out: CellTile) -> None:
        """Cells that it reads, whether each was written, and cells that it writes."""
        work = stmt.work
        told(stmt.name, work, tiles, out, len(stmt.scalars))
        rows, cols = product_size(stmt.name, tiles, out)
        tiles = [replace(t, rows=rows, cols=cols) if t.kind.loc == out.kind.loc == "acc" else t for t in tiles]
        named = self._window(stmt)
        touched: list[tuple[str, bool, np.ndarray]] = []
        clean = True
        inputs = list(self._inputs(work, tiles, out, named))
        for tile, cells in inputs:
            if cells is None:
                room = self._cells(tile, 0, 0, tile.kind.rows, tile.kind.cols)
                self._write(tile, room, False)
                touched.append((tile.place, True, distinct(room)))
                continue
            clean = clean and bool(self._clean(tile, cells).all())
            touched.append((tile.place, False, distinct(cells)))
        if not clean:
            self._finds("computed")
        cells, sure = self._written(stmt.name, work.writes, tiles, out, named)
        self._write(out, cells, clean & sure)
        touched.append((out.place, True, distinct(cells)))
        loc = tiles[0].kind.loc if tiles else out.kind.loc
        into = "MTE3" if stmt.name == "pto.tinsert" and out.kind.loc == "mat" else "V"
        pipe = "M" if stmt.name.startswith(PRODUCTS) else {"acc": "FIX", "mat": "MTE1"}.get(loc, into)
        self._happened(pipe, touched)
        self._computes(stmt, tiles, out, inputs, cells)

    def _computes(
        self, stmt: TileOp, tiles: Sequence[CellTile], out: CellTile,
        inputs: Sequence[tuple[CellTile, np.ndarray | None]], into: np.ndarray,
    ) -> None:  # fmt: skip
        """Puts down what the cells hold that an operation makes, which no rule asks for."""

    def _window(self, stmt: TileOp) -> list[int]:
        """The row and column from which a window begins, or other numbers that say what is written."""
        windows = stmt.work.windows
        named = [self._int(o) for o in stmt.ins if (windows or any(stmt.work.numbers)) and o.name in stmt.scalars]
        if windows and len(named) != 2:
            raise Beyond(f"{stmt.name} names no row and column")
        return named

    def _inputs(
        self, work: TileWork, tiles: Sequence[CellTile], out: CellTile, named: Sequence[int]
    ) -> Iterator[tuple[CellTile, np.ndarray | None]]:
        """Each tile with the cells that are read of it; None for scratch."""
        for index, tile in enumerate(tiles):
            word = work.way(index)
            yield tile, None if word == "scratch" else self._read(word, tile, out, named)

    def _read(self, word: str, tile: CellTile, out: CellTile, named: Sequence[int]) -> np.ndarray:
        sizes = {
            "each": (out.rows, -(-out.cols * out.kind.values // tile.kind.values)), "column": (out.rows, 1),
            "row": (1, out.cols), "turned": (out.cols, out.rows), "beside": (out.rows, tile.cols),
        }  # fmt: skip
        if word == "window":
            return self._cells(tile, named[0], named[1], out.rows, out.cols)
        if word == "mask":
            return self._cells(tile, 0, 0, out.rows, bit_cells(tile, out.rows, out.cols))
        return self._cells(tile, 0, 0, *sizes.get(word, (tile.rows, tile.cols)))

    def _written(
        self, name: str, word: str, tiles: Sequence[CellTile], out: CellTile, named: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray | bool]:
        """The cells that an operation writes, and which of them its operands define."""
        first = tiles[0] if tiles else out
        match word:
            case "column":
                return self._cells(out, 0, 0, out.rows, 1), np.arange(out.rows)[:, None] < first.rows
            case "row":
                return self._cells(out, 0, 0, 1, out.cols), np.arange(out.cols)[None, :] < first.cols
            case "whole":
                if not out.kind.pads and (first.rows, first.cols) != (out.kind.rows, out.kind.cols):
                    raise Beyond(f"{name} without a value that pads")
                fits = first.rows <= out.kind.rows and first.cols <= out.kind.cols
                return self._cells(out, 0, 0, out.kind.rows, out.kind.cols), fits
            case "window":
                return self._cells(out, named[0], named[1], first.rows, first.cols), True
            case "pairs" | "merged":
                rows, count, sure = sorted_cells(name, word, tiles, out, named)
                return self._cells(out, 0, 0, rows, count), np.arange(count)[None, :] < sure
            case "beside":
                return self._cells(out, 0, 0, out.rows, sum(t.cols for t in tiles)), True
            case "turned":
                if first.kind.cols > out.kind.rows or first.kind.rows > out.kind.cols:
                    raise Beyond(f"{name} into a smaller tile")
                down, across = np.arange(out.kind.rows)[:, None] < out.rows, np.arange(out.kind.cols) < out.cols
                return self._cells(out, 0, 0, out.kind.rows, out.kind.cols), down & across
            case "mask":
                return self._cells(out, 0, 0, first.rows, bit_cells(out, first.rows, first.cols)), True
        if word == "part" and not any((t.rows, t.cols) == (out.rows, out.cols) for t in tiles):
            raise Beyond(f"{name}: no operand has the valid region of the result")
        return self._cells(out, 0, 0, *product_size(name, tiles, out)), True
