"""Copies and vector accesses run row by row: what each reads, writes, pads and leaves unknown.

Knows: one execution with numbers, both surfaces, the readings. Does not know: terms, the touches of the proof, rules.
Law: a row changes exactly the bytes that the texts say; what they do not say is unknown from then on.

Source: "DMA Copy" (C code of the loops), PTO v0.6 and AscendC (blocks, padding).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from dmaverify.execute.address import WIDE, ends_of, must_fit, strided
from dmaverify.execute.outcome import Beyond
from dmaverify.language.distinct import distinct
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.execute_cells import CellTile
from dmaverify.machines.pto.execute_ranks import RankRun
from dmaverify.machines.pto.execute_vector import CLEAN, DOUBT, GARBAGE
from dmaverify.machines.pto.running import ADDED, DOUBTED, NEVER, UNKNOWN, WRITTEN, RunCopy

_FIELD = {
    "n": "count_max", "len": "count_max", "left": "pad_count_max", "right": "pad_count_max", "l2": "cache_ctl_max",
    "sid": "stream_id_max",
}  # fmt: skip
Padding = tuple[int, int, tuple[int, int]] | None  # elements left and right, what they hold


class RunCopies(RankRun):
    """The part of a run that is about copies and registers."""

    def _pointer(self, operand: ops.Operand) -> tuple[str, int, int]:
        value = self.values.get(operand.name)
        if isinstance(value, CellTile):
            return value.place, value.at, max(1, value.kind.bits // 8)
        if not isinstance(value, tuple):
            raise Beyond(operand.name)
        return value

    def _copy(self, stmt: ops.CopyOp) -> None:
        source, dest = self._pointer(stmt.roles["src"]), self._pointer(stmt.roles["dst"])
        row, loops, pad = self._shape(stmt)
        self._counted(prod(count for count, _, _ in loops))
        self._limits(stmt, source, dest, row, loops, pad)
        if row < 1 or any(count < 1 for count, _, _ in loops):
            return  # found as a field out of range; nothing moves
        starts = []
        for (place, at, _), side in ((source, 1), (dest, 2)):
            steps = [(loop[0], loop[side]) for loop in reversed(loops)]
            ends = ends_of(at, steps)
            if max(map(abs, ends)) >= WIDE and not self._within(place, *ends):
                return  # an address that no memory has; nothing moves
            starts.append(strided(at, steps))
        begin, end = self._row(stmt, row, loops, pad, dest[2])
        self._counted(len(starts[0]) * (max(row, begin + row, end) - min(0, begin)))
        reads = (starts[0][:, None] + np.arange(row)).ravel()
        data = (starts[1][:, None] + np.arange(begin, begin + row)).ravel()
        copy = RunCopy(
            self.copy_number[id(stmt)], stmt.span.line, (source[:2], dest[:2]), loops, row, begin, end, reads, data
        )
        self._move(stmt, copy, starts[1], pad, dest[2])

    def _shape(self, stmt: ops.CopyOp) -> tuple[int, list[tuple[int, int, int]], Padding]:
        """Bytes of a row, loops inner to outer, and padding in elements."""
        roles = {k: v for k, v in stmt.roles.items() if k not in ("src", "dst")}
        number = {k: self._int(v) for k, v in roles.items()}
        row = number["len"]
        for name, limit in _FIELD.items():
            value = number.get(name if name != "n" else "n_burst", 0)
            if stmt.kind != ops.LOCAL and (
                not 0 <= value <= self.most[limit] or (name in ("n", "len") and name in number and value == 0)
            ):
                self._finds("field")
        if stmt.kind == ops.LOCAL:
            if stmt.inline:
                count, a, b = (self._int(o) for o in (stmt.levels[0].count, stmt.levels[0].src, stmt.levels[0].dst))
            else:
                count, a, b = number["n_burst"], number["src_stride"], number["dst_stride"]
            most, block = self.most["local_max"], self.most["ub_line_bytes"]
            if not (1 <= count <= most and 1 <= row <= most and 0 <= a <= most and 0 <= b <= most):
                self._finds("field")
            if self.readings.get("local-unit") == "bytes" and not stmt.inline:
                return row, [(count, a, b)], None
            return row * block, [(count, (row + a) * block, (row + b) * block)], None
        if stmt.inline:
            loops = [tuple(self._int(o) for o in (lv.count, lv.src, lv.dst)) for lv in stmt.levels]
            pad = None
            if stmt.pad is not None:
                counts = [0 if o is None else self._int(o) for o in (stmt.pad.left, stmt.pad.right)]
                given = self.values.get(stmt.pad.value.name)  # a float of the caller's is any value, and written
                some = (given if isinstance(given, int) else 0, max(1, stmt.pad.type.bits // 8))
                pad = (counts[0], counts[1], self.raw.get(stmt.pad.value.name, some))
                self.pad = pad[2]
            self.registers[f"{stmt.kind}.size"] = (1, 1)  # lowered, it leaves them so
            return row, loops, pad  # type: ignore[return-value]
        loops = [(number["n_burst"], number["src_stride"], number["dst_stride"])]
        sizes = self.registers.get(f"{stmt.kind}.size", (1, 1))
        for index, count in enumerate(sizes, 1):
            if count != 1:
                strides = self.registers.get(f"{stmt.kind}.loop{index}")
                if strides is None:
                    self._finds("state")
                    strides = (0, 0)
                loops.append((count, *strides))
        pad = (number["left"], number["right"], self.pad or (0, 1)) if number.get("select") else None
        return row, loops, pad  # type: ignore[return-value]

    def _limits(
        self,
        stmt: ops.CopyOp,
        source: tuple[str, int, int],
        dest: tuple[str, int, int],
        row: int,
        loops: Sequence[tuple[int, int, int]],
        pad: Padding,
    ) -> None:
        most, block = self.most, self.most["ub_line_bytes"]
        for count, src, dst in loops:
            if stmt.kind != ops.LOCAL and not 1 <= count <= most["count_max"]:
                self._finds("field")
            if stmt.kind == ops.LOCAL or count <= 1:
                continue
            for (place, _, _), stride in ((source, src), (dest, dst)):
                if not 0 <= stride <= most["ub_stride_max" if place == "ub" else "gm_stride_max"]:
                    self._finds("field")
                if place == "ub" and stride % block and (stride != row or pad is not None):
                    self._finds("align")
        for place, at, _ in (source, dest):
            if place == "ub" and at % block:
                self._finds("align")
        if pad is not None and not all(0 <= c <= most["pad_count_max"] for c in pad[:2]):
            self._finds("field")

    def _row(
        self,
        stmt: ops.CopyOp,
        row: int,
        loops: Sequence[tuple[int, int, int]],
        pad: Padding,
        item: int,
    ) -> tuple[int, int]:
        """Where data begins in a row of the destination, and where all that changes ends."""
        if stmt.kind != ops.LOAD:
            return 0, row
        if pad is None:
            return 0, row + (-row % self.most["ub_line_bytes"] if self.readings.get("tail") != "untouched" else 0)
        unit = 1 if self.readings.get("pad-unit") == "bytes" else item
        left, right = pad[0] * unit, pad[1] * unit
        block = self.most["ub_line_bytes"]
        end = -(-(left + row + right) // block) * block
        if self.readings.get("pad-extent") == "gap":
            end = max(end, loops[0][2])
        return (0 if self.readings.get("left-pad") == "behind" else left), end

    def _move(
        self,
        stmt: ops.CopyOp,
        copy: RunCopy,
        first: np.ndarray,
        pad: Padding,
        item: int,
    ) -> None:
        """`first` is where the rows of the destination begin."""
        (source, _), (dest, _) = copy.ends
        reads, data, loops, row, begin, end = copy.reads, copy.data, copy.loops, copy.row, copy.begin, copy.end
        into, out_of = self.run.memory[dest], self.run.memory[source]
        block = self.most["ub_line_bytes"]
        fill: np.ndarray | None = None
        if stmt.kind == ops.LOAD and pad is None and loops[0][0] > 1 and loops[0][2] == row and row % block:  # compact
            behind = first[loops[0][0] - 1 :: loops[0][0], None] + row  # the burst counter runs fastest
            around = (behind + np.arange(block))[np.arange(block) < -behind % block]
        else:
            beside = np.concatenate([np.arange(begin), np.arange(begin + row, end)])
            around = (first[:, None] + beside).ravel()
            if pad is not None:
                raw = (pad[2][0] & ((1 << 64) - 1)).to_bytes(8, "little")[
                    : 1 if self.readings.get("pad-pattern") == "byte" else item
                ]
                fill = np.tile(np.frombuffer(raw, np.uint8)[beside % len(raw)], len(first))
        written = np.concatenate([data, around])
        adds = stmt.kind == ops.STORE and bool(self.atomic[0])
        whole = not any(n % item for n in (row, *(step for _, _, step in loops)))
        if len(distinct(written)) != len(written) and not (adds and whole):
            self._finds("rows")
        over = stmt.kind == ops.STORE or (stmt.kind == ops.LOAD and self.readings.get("over-read") == "block")
        surplus = -row % block if over else 0
        self._bounds(source, reads, surplus)
        self._bounds(dest, written, 0)
        if stmt.kind == ops.STORE:
            self._needs(out_of.state[reads[out_of.has(reads)]])
        ok = out_of.has(reads) & into.has(data)
        given, inside = out_of.held[reads[ok]], around[into.has(around)]
        state = out_of.state[reads[ok]]  # before any of it is overwritten
        atomic = (*self.atomic, item) if adds and whole else ("", "", 0)
        if fill is not None:
            into.held[inside] = self._constant(fill[into.has(around)])
        if adds:
            self._added(atomic, into, data[ok], given, item)
        else:
            into.held[data[ok]] = given
        into.state[data[into.has(data)]] = ADDED if adds else WRITTEN
        if stmt.kind == ops.LOCAL:
            into.state[data[ok]] = np.where(state == NEVER, UNKNOWN, state)
        into.state[inside] = UNKNOWN if fill is None else WRITTEN
        if fill is None:  # the order of rows is not promised: a byte that one of them leaves unknown is unknown
            into.held[inside] = self._lost(into.held[inside])
        pipe = {ops.LOAD: "MTE2", ops.STORE: "MTE3", ops.LOCAL: "LOCAL"}[stmt.kind]
        if stmt.kind == ops.LOCAL and self.readings.get("local-pipe") == "vector":
            pipe = "V"
        self._happened(pipe, [(source, False, distinct(reads)), (dest, True, distinct(written))], atomic, copy)

    def _access(self, stmt: ops.AccessOp) -> None:
        place, at, item = self._pointer(stmt.pointer)
        item = stmt.item_bytes or item
        if not stmt.moved:  # a pointer that moves on moves behind the access
            at += sum(self._int(index) * elements for index, elements in stmt.offsets) * item
        stride = 0 if stmt.stride is None else self._int(stmt.stride)
        must_fit(abs(at) + abs(stride) * self.registers_of.size)
        if stmt.form == "vector" and (width := self.registers_of.width(stmt, item)) not in (1, 2, 4, 8):
            raise Beyond(f"elements of {width} bytes in a register")
        self.values |= dict.fromkeys(stmt.results, 0)
        pipe = "S" if stmt.form == "scalar" and not self.inside else "V"
        if place == "ub" and not self.registers_of.aligned(stmt, at, item):
            self._finds("align")
        if stmt.way == "r":
            foul = None
            if place == "ub":
                state = self.run.memory[place].state
                foul = np.select([state == WRITTEN, state == DOUBTED], [CLEAN, DOUBT], GARBAGE).astype(np.int8)
            touched = self.registers_of.load(stmt, at, item, stride, len(self.events), place, foul)
            self._bounds(place, touched, 0)
            self._happened(pipe, [] if stmt.results else [(place, False, touched)])
            return
        if stmt.dist.startswith(("1PT", "ONEPT")) and not self.registers_of.on(stmt.mask).any():
            raise Beyond("whether a store of one element writes it under a mask of no lanes")
        touched, foul = self.registers_of.store(stmt, at, item, stride)
        self._bounds(place, touched, 0)
        memory = self.run.memory[place]
        there = memory.has(touched)
        inside = touched[there]
        memory.state[inside] = np.array([WRITTEN, DOUBTED, UNKNOWN], np.int8)[foul[there]]
        self._happened(pipe, [(place, True, inside)])
