"""Copies resolved with the registers that they read, or with the numbers that they hold themselves.

Knows: which registers a copy reads, what an inline copy leaves in them.
Does not know: how registers come to be set, control flow, what is allowed.
Law: a copy has every operand resolved or is a remark at its line.

Source: "DMA Copy" (registers before the copy); PTO v0.6 (inline loops).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.errors import Span
from dmaverify.language.affine import ONE, ZERO, Lin, compare
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.limits import pipe_of
from dmaverify.machines.pto.moves import touches_of
from dmaverify.machines.pto.ops import LOCAL, STORE
from dmaverify.machines.pto.registers import Registers
from dmaverify.machines.pto.stated import Register
from dmaverify.program.instructions import Copy, CopyStep, Fill, Place
from dmaverify.values import replace

Resolved = tuple[list[CopyStep], Lin, Fill | None, dict[str, Lin], dict[str, Span], list[Span]]
"""Steps, bytes of a row, padding, facts for rules with their places, where registers were set."""


class ResolvedCopies(Registers):
    """Copies and the registers that they use."""

    # ------------------------------------------------------------ copies

    def _copyop(self, stmt: ops.CopyOp) -> Copy | None:
        self.number += 1
        number = self.number
        if not self.dry:
            self.reached.add(self.order_of[id(stmt)])
            if not stmt.inline or len(stmt.levels) > 1:
                self.waiting.pop(stmt.kind, None)
            self.waiting = {kind: (said, span, True) for kind, (said, span, _) in self.waiting.items()}
        sides = [self._side(stmt, role, index) for index, role in enumerate(("src", "dst"))]
        made = self._inline(stmt) if stmt.inline else self._by_registers(stmt)
        if stmt.inline and stmt.kind != LOCAL:
            self._after_inline(stmt)
        if made is None or sides[0] is None or sides[1] is None:
            self.kernel.dropped |= not self.dry
            return None
        steps, row, fill, ports, spans, setup = made
        ports |= {"read_item_bytes": Lin(sides[0].item_bytes), "write_item_bytes": Lin(sides[1].item_bytes)}
        vector = stmt.kind == LOCAL and self.setting.readings.get("local-pipe") == "vector"
        pipe = "V" if vector else pipe_of(self.target, stmt.kind)
        copy = Copy(
            number,
            stmt.kind,
            pipe,
            sides[0],
            sides[1],
            row,
            tuple(steps),
            fill,
            ports,
            spans,
            stmt.name_span,
            self.when,
            stmt.inline,
            tuple(setup),
            (),
            self.order_of[id(stmt)],
            self._store_mode() if stmt.kind == STORE else "",
        )
        copy = replace(copy, touches=touches_of(copy, self.world, self.setting.readings, self.target))
        if not self.dry:
            self.kernel.copies.append(copy)
        return copy

    def _side(self, stmt: ops.CopyOp, role: str, index: int) -> Place | None:
        operand = stmt.roles[role]
        value = self.value(operand, stmt.types[index])
        if isinstance(value, Place) and not (self.world.roots(value.address) & self.opaque):
            if stmt.types[index].name and not value.dtype:
                value = replace(value, item_bytes=stmt.types[index].item_bytes, dtype=stmt.types[index].name)
            if value.space != stmt.types[index].space:
                said = f"`{operand.name}` points into {value.space}, not {stmt.types[index].space}"
                self.remark("ill", said, operand.span, "the source comes first, then the destination")
                return None
            return value
        said = "source" if role == "src" else "destination"
        self.remark(
            "unresolved",
            f"the {said} pointer `{operand.name}` cannot be resolved{self.because(operand)}",
            operand.span,
            "make it an argument, a castptr of a number, or addptr of those",
        )
        return None

    def _numbers(self, stmt: ops.CopyOp, names: Sequence[str]) -> dict[str, Lin] | None:
        out: dict[str, Lin] = {}
        for name in names:
            if name in stmt.roles:
                found = self.number_of(stmt.roles[name], name)
                if found is None:
                    return None
                out[name] = found
        return out

    def _inline(self, stmt: ops.CopyOp) -> Resolved | None:
        own = self._numbers(stmt, ("l2", "len", "sid"))
        levels: list[tuple[Lin, Lin, Lin, ops.CopyLevel]] = []
        for level in stmt.levels:
            parts = [
                self.number_of(o, w)
                for o, w in (
                    (level.count, "the count"),
                    (level.src, "the source stride"),
                    (level.dst, "the destination stride"),
                )
            ]
            if None in parts:
                return None
            levels.append((*parts, level))  # type: ignore[arg-type]
        if own is None:
            return None
        spans = {name: operand.span for name, operand in stmt.roles.items()}
        row = own["len"]
        ports = {"rows": levels[0][0], "row_bytes": row}
        spans |= {"rows": levels[0][3].count.span, "row_bytes": stmt.roles["len"].span}
        fill = None
        if stmt.kind == LOCAL:
            return self._local(stmt, row, levels[0][0], levels[0][1], levels[0][2], ports, spans, gap=True)
        if stmt.pad is not None:
            counts = [
                self.number_of(o, "the padding count") if o is not None else ZERO
                for o in (stmt.pad.left, stmt.pad.right)
            ]
            if counts[0] is None or counts[1] is None:
                return None
            fill = self._filled(self.padding(stmt.pad.value, stmt.pad.type, stmt.name_span), counts[0], counts[1])
            if stmt.pad.left is not None and stmt.pad.right is not None:
                spans |= {"left_count": stmt.pad.left.span, "right_count": stmt.pad.right.span}
        steps = [
            CopyStep(c, s, d, "nburst" if i == 0 else f"loop{i}", (lv.count.span, lv.src.span, lv.dst.span))
            for i, (c, s, d, lv) in enumerate(levels)
        ]
        ports |= self._common_ports(stmt, fill, own.get("l2", ZERO), own.get("sid", ZERO))
        ports |= {
            "inner_count": levels[1][0] if len(levels) > 1 else ONE,
            "outer_count": levels[2][0] if len(levels) > 2 else ONE,
        }
        for name, index in (("inner_count", 1), ("outer_count", 2)):
            if len(levels) > index:
                spans[name] = levels[index][3].count.span
        if "l2" in stmt.roles:
            spans["cache_ctl"] = stmt.roles["l2"].span
        if "sid" in stmt.roles:
            spans["stream_id"] = stmt.roles["sid"].span
        return steps, row, fill, ports, spans, []

    def _common_ports(self, stmt: ops.CopyOp, fill: Fill | None, l2: Lin, sid: Lin) -> dict[str, Lin]:
        item = stmt.types[1].item_bytes
        return {
            "padded": Lin(int(fill is not None)),
            "left_count": fill.left if fill else ZERO,
            "right_count": fill.right if fill else ZERO,
            "pad_bytes": Lin(fill.value_bytes if fill else item),
            "pad_zero": Lin(int(fill is not None and fill.value == 0)),
            "pad_listed": Lin(int(fill is None or fill.listed)),
            "cache_ctl": l2,
            "stream_id": sid,
        }

    def _local(
        self,
        stmt: ops.CopyOp,
        row: Lin,
        count: Lin,
        src: Lin,
        dst: Lin,
        ports: dict[str, Lin],
        spans: dict[str, Span],
        *,
        gap: bool,
    ) -> Resolved:
        ports |= {"row_units": row, "read_gap": src, "write_gap": dst}
        if self.setting.readings.get("local-unit") == "bytes" and not gap:
            step, size = (src, dst), row
        else:
            block = self.block_bytes
            step, size = ((row + src) * block, (row + dst) * block), row * block
        ports["row_bytes"] = size
        if stmt.levels:
            level = stmt.levels[0]
            places = (level.count.span, level.src.span, level.dst.span)
        else:
            places = (stmt.roles["n_burst"].span, stmt.roles["src_stride"].span, stmt.roles["dst_stride"].span)
        return [CopyStep(count, step[0], step[1], "nburst", places)], size, None, ports, spans, []

    def _by_registers(self, stmt: ops.CopyOp) -> Resolved | None:
        names = [r for r in stmt.roles if r not in ("src", "dst", "select")]
        own = self._numbers(stmt, names)
        if own is None:
            return None
        role_of = {
            "rows": "n_burst",
            "row_bytes": "len",
            "left_count": "left",
            "right_count": "right",
            "cache_ctl": "l2",
            "stream_id": "sid",
            "row_units": "len",
            "read_gap": "src_stride",
            "write_gap": "dst_stride",
        }
        spans = {port: stmt.roles[role].span for port, role in role_of.items() if role in stmt.roles}
        ports = {"rows": own["n_burst"], "row_bytes": own["len"]}
        if stmt.kind == LOCAL:
            return self._local(
                stmt, own["len"], own["n_burst"], own["src_stride"], own["dst_stride"], ports, spans, gap=False
            )
        fill, setup = None, []
        if "select" in stmt.roles:
            selected = self.as_condition(self.value(stmt.roles["select"]))
            if selected is None or selected.known is None:
                self.remark(
                    "unresolved", "data_select_bit cannot be resolved", stmt.roles["select"].span, "make it a constant"
                )
                return None
            fill = self._fill(stmt, own) if selected.known else None
            spans["padded"] = stmt.roles["select"].span
        place = [stmt.roles[r].span for r in ("n_burst", "src_stride", "dst_stride")]
        steps = [
            CopyStep(own["n_burst"], own["src_stride"], own["dst_stride"], "nburst", (place[0], place[1], place[2]))
        ]
        if stmt.kind == STORE and own.get("l2", ZERO) != ZERO:
            said = "the sixth operand is reserved in the first document, which sets it to 0; read as l2_cache_ctl"
            self.remark("note", said, stmt.roles["l2"].span, "write 0, or use pto.mte_ub_gm", always=False)
        size = self._register(f"{stmt.kind}.size", "the loop size", stmt)
        if size is None and f"{stmt.kind}.size" in self.registers:
            return None
        if size is None:
            self.assume("loop sizes are (1, 1) before they are first set, as at the start of a vector core")
        else:
            setup += [size.span] if size.span else []
            if self.world.roots(size.first) & self.opaque:
                return None
            self._stale(stmt, size)
        counts = (ONE, ONE) if size is None else (size.first, size.second)
        for index, count in enumerate(counts, 1):
            if count == ONE:
                continue
            register = self._strides_of(stmt, index, count, size)
            if register is None:
                return None
            setup += [register.span] if register.span else []
            where = size.span if size else None, register.span, register.span
            steps.append(CopyStep(count, register.first, register.second, f"loop{index}", where))
        if size is not None and size.span is not None:
            spans |= {"inner_count": size.span, "outer_count": size.span}
        ports |= self._common_ports(stmt, fill, own.get("l2", ZERO), own["sid"])
        if fill is None and "left" in own:
            ports |= {"left_count": own["left"], "right_count": own["right"]}
        ports |= {"inner_count": counts[0], "outer_count": counts[1], **self._as_set(stmt.kind)}
        return steps, own["len"], fill, ports, spans, setup

    def _strides_of(self, stmt: ops.CopyOp, index: int, count: Lin, size: Register | None) -> Register | None:
        """The strides of a loop that runs; None, and said, where they are not known."""
        name, loop = f"{stmt.kind}.loop{index}", f"loop{index}"
        register = self._register(name, f"the stride of {loop}", stmt, [compare("ne", count - ONE)])
        if register is not None:
            return None if self.world.roots(register.first) & self.opaque else register
        if name not in self.registers:
            labels = [(size.span, f"{loop} runs {self.said(count)} times")] if size and size.span else []
            hint = f"pto.set_{loop}_stride before the copy"
            self.remark("state", f"the stride of {loop} was never set", stmt.name_span, hint, labels)
        return None

    def _fill(self, stmt: ops.CopyOp, own: Mapping[str, Lin]) -> Fill:
        found = self._register("pad", "the padding value", stmt)
        if found is None:
            if "pad" not in self.registers:
                self.remark(
                    "state",
                    "the padding value was never set; taken as 0",
                    stmt.roles["select"].span,
                    "pto.set_mov_pad_val before the copy",
                    always=False,
                )
                self.suppose("MOV_PAD_VAL is 0 until it is set")
                return Fill(0, stmt.types[1].item_bytes, own["left"], own["right"])
            return Fill(None, stmt.types[1].item_bytes, own["left"], own["right"])
        return self._filled(found, own["left"], own["right"])

    def _stale(self, stmt: ops.CopyOp, size: Register) -> None:
        """Sizes other than (1, 1) that another copy used already, or that an inline copy replaced."""
        key = f"{stmt.kind}.size"
        if size.by != "set":
            if size.span is not None and not self.dry:
                self.remark(
                    "state",
                    "the loop sizes were set for this copy, but an inline copy in between put them back to (1, 1)",
                    stmt.name_span,
                    "set the loop sizes behind the inline copy",
                    [(size.span, "puts them back")],
                )
            return
        before = self.consumed.get(key)
        if before is not None and (size.first, size.second) != (ONE, ONE) and before.start != stmt.name_span.start:
            labels = [(before, "used here")] + ([(size.span, "set here")] if size.span else [])
            self.remark(
                "state",
                f"loop sizes ({self.said(size.first)}, {self.said(size.second)}) are still set from an earlier copy",
                stmt.name_span,
                "set the loop sizes before this copy; (1, 1) where it needs no loops",
                labels,
                always=False,
            )
        self.consumed.setdefault(key, stmt.name_span)

    def _after_inline(self, stmt: ops.CopyOp) -> None:
        """Lowered, an inline copy writes the registers of its direction and leaves the sizes at (1, 1)."""
        key = f"{stmt.kind}.size"
        old = self.registers.get(key)
        looped = len(stmt.levels) > 1
        if old is not None and (old.mixed or (old.first, old.second) != (ONE, ONE)):
            self.registers[key] = Register(ONE, ONE, stmt.name_span, by="inline")
        elif looped:
            self.registers[key] = Register(ONE, ONE, stmt.name_span)
        if looped:
            for index in range(1, min(3, len(stmt.levels))):
                self.registers.pop(f"{stmt.kind}.loop{index}", None)
        if stmt.pad is not None:
            self.registers["pad"] = self.padding(stmt.pad.value, stmt.pad.type, stmt.name_span)

    def _filled(self, value: Register, left: Lin, right: Lin) -> Fill:
        """So many elements of a padding value on both sides of a row."""
        raw = value.first.const if value.first.is_const else -1  # of values that a branch chooses, none
        listed = value.type.name in ("", *self.target.raw["machine"]["pad_types"])
        return Fill(raw if raw >= 0 else None, max(1, value.type.bits // 8), left, right, listed)
