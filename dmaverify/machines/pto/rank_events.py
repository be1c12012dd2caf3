"""What operations between ranks touch of this rank's memories, and what they rest on of the others.

Knows: parts of tensors as strides, tiles as places. Does not know: text, other ranks, how anything is proved.
Law: every byte that an operation reads or writes is named, and what other ranks do beside is a condition. Which pipes
run a copy between ranks, and by which flags, is not documented: barriers of all pipes alone order it, and beside flags
of the text it is a remark.

Source: PTO IR manual, communication operations; PTO toolchain, memory consistency (2026-08).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from dmaverify.language.affine import ONE, both, compare
from dmaverify.machines.pto.ops import BufferOp, Flag, Operand, Stmt, deep
from dmaverify.machines.pto.ranks import COMM, FENCED, RankCopy, RankSignal, VisibilityFence
from dmaverify.machines.pto.tile_events import TileMeaning
from dmaverify.machines.pto.tile_places import CellTouch
from dmaverify.machines.pto.values import TensorPart, TileValue
from dmaverify.program.instructions import Fence, Remark, Use
from dmaverify.values import replace

SIGNAL_BYTES = 4


class RankMeaning(TileMeaning):
    """Operations between ranks."""

    def _visibilityfence(self, stmt: VisibilityFence) -> list[Fence]:
        if not self.dry:
            self.kernel.fences.append(stmt.span)
            self.kernel.signals += 1
        return [Fence(pipe, stmt.span) for pipe in FENCED]

    def _ranksignal(self, stmt: RankSignal) -> list[Use] | None:
        """One element written by the scalar unit, or all of them read; what is waited for comes from another rank."""
        signal = self.value(stmt.signal)
        if not isinstance(signal, TensorPart):
            said = f"{stmt.name}: the signal `{stmt.signal.name}` is no part of a tensor that is known"
            self.remark("unresolved", f"{said}{self.because(stmt.signal)}", stmt.signal.span)
            return None
        if signal.place.item_bytes != SIGNAL_BYTES:
            said = f"{stmt.name}: a signal has elements of {SIGNAL_BYTES} bytes, this one of {signal.place.item_bytes}"
            self.remark("ill", said, stmt.signal.span, "i32")
            return None
        if stmt.writes and any(n != ONE for n in signal.shape):
            said = f"{stmt.name}: which of several elements it sets is not documented"
            self.remark("unresolved", said, stmt.signal.span, "give it a part of one element")
            return None
        if not stmt.writes and stmt.name.endswith("wait"):
            self.suppose(f"{stmt.name} at line {stmt.span.line} ends, and what other ranks write is there by then")
        self.kernel.signals += 0 if self.dry else 1
        touch = CellTouch(self._elements(signal, "data" if stmt.writes else "read"))
        used = self._use(stmt.name, "S", [touch], stmt, "stored")
        return [replace(one, inferred="order", atomic="add i32" if stmt.adds else "") for one in used]

    def _rankcopy(self, stmt: RankCopy) -> list[Use] | None:
        source, dest = self.value(stmt.source), self.value(stmt.dest)
        tiles = [tile for one in stmt.through if isinstance(tile := self.value(one), TileValue)]
        if not isinstance(source, TensorPart) or not isinstance(dest, TensorPart) or len(tiles) < len(stmt.through):
            lost = next(o for o in (stmt.source, stmt.dest, *stmt.through) if not self._found(o))
            said = f"{stmt.name}: `{lost.name}` is not known{self.because(lost)}"
            self.remark("unresolved", said, lost.span, "it moves between parts of tensors, through tiles")
            return None
        items = {source.place.item_bytes, dest.place.item_bytes, *(max(1, t.kind.bits // 8) for t in tiles)}
        if len(items) > 1:
            said = f"{stmt.name}: elements of {' and '.join(map(str, sorted(items)))} bytes"
            self.remark("ill", said, stmt.span, "parts and tiles have one type")
            return None
        if len(source.shape) != len(dest.shape) or not self._stages(stmt, source, tiles):
            said = f"{stmt.name}: what moves between these parts, through these tiles, is not documented"
            self.remark("unresolved", said, stmt.span, "parts of one shape, tiles of UB in rows, apart from each other")
            return None
        for one, other in zip(source.shape, dest.shape, strict=True):
            said = f"{stmt.name}: the source has {self.said(one)} elements where the destination has {self.said(other)}"
            self._need(compare("eq", one - other), stmt, said, one, enough=True)
        self._apart(dest, stmt)
        if source.place.root == dest.place.root:
            side = "source" if stmt.name.endswith("get") else "destination"
            self.suppose(f"the {side} of {stmt.name} at line {stmt.span.line} lies on another rank")
        why = f"{stmt.name} at line {stmt.span.line} moves through it"
        ends = [CellTouch(self._elements(source, "read")), CellTouch(self._elements(dest, "data"))]
        through = [self._cells(tile, self._all(tile), "unknown", why) for tile in tiles]
        self.kernel.tile_moves += 0 if self.dry else 1
        atomic = f"add {tiles[0].kind.dtype}" if stmt.adds else ""
        used = [replace(one, atomic=atomic) for one in self._use(stmt.name, COMM, ends, stmt, "stored")]
        used += self._use(stmt.name, COMM, through, stmt)
        return [replace(one, inferred=one.inferred or "order") for one in used]

    def _found(self, operand: Operand) -> bool:
        return isinstance(self.value(operand), (TensorPart, TileValue))

    def _stages(self, stmt: RankCopy, part: TensorPart, tiles: list[TileValue]) -> bool:
        """Whether tiles of UB in rows, each of bytes of its own, hold the part or cut it into chunks of which each is
        whole, where how much of them is valid stands in their type.
        """
        rows, cols = (ONE, *part.shape)[-2:]
        for tile in tiles:
            if tile.kind.loc != "vec" or tile.kind.boxed or tile.kind.column_major:
                return False
            for size, valid, stated in ((rows, tile.rows, tile.kind.v_row), (cols, tile.cols, tile.kind.v_col)):
                said = f"{stmt.name}: `{tile.name}` has {self.said(valid)} valid rows or columns for {self.said(size)}"
                self._need(compare("le", ONE - valid), stmt, said, valid)
                if stated:
                    chunks = compare("eq", self.world.modulo(size, stated))
                    self._need(both([compare("le", size - stated), chunks], "or"), stmt, said, size, enough=True)
        apart = [self._shared(one, other)[1] for one, other in combinations(tiles, 2)]
        return len({tile.kind for tile in tiles}) == 1 and all(self.world.decide(clear) for clear in apart)


def beside_flags(body: Iterable[Stmt]) -> Iterator[Remark]:
    """Copies between ranks of a text with flags: which flags they use themselves is not documented."""
    stmts = list(deep(body))
    if any(isinstance(stmt, (Flag, BufferOp)) for stmt in stmts):
        for stmt in stmts:
            if isinstance(stmt, RankCopy):
                said = f"{stmt.name}: which flags it uses is not documented, and the text has flags of its own"
                yield Remark("unresolved", said, stmt.span, "leave the order of pipes to the assembler", ())
