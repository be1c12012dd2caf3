"""Sticky registers followed through a kernel.

Knows: what sets them, what is never used, what a copy took from them. Does not know: control flow, what is allowed.
Law: a register that depends on the path is never guessed. Source: PTO v0.6 (sticky state).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dmaverify.errors import Span
from dmaverify.language.affine import ONE, ZERO, Lin
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.arith import Arithmetic
from dmaverify.machines.pto.ops import LOAD, LOCAL, STORE, ValueType
from dmaverify.machines.pto.stated import Register
from dmaverify.program.instructions import MIXED, UNSAID, Copy
from dmaverify.program.sticky import Held, RegisterEvent, RegisterRead, RegisterWrite
from dmaverify.values import replace


class Registers(Arithmetic):
    """What is set and still to be used."""

    # ------------------------------------------------------------ registers

    def _setloop(self, stmt: ops.SetLoop) -> None:
        first, second = self.number_of(stmt.first, "the operand"), self.number_of(stmt.second, "the operand")
        if first is None or second is None:
            first = second = self.fresh_opaque("%register")
            self.opaque.add(first.terms[0][0])
        key = f"{stmt.kind}.{stmt.what}"
        if stmt.what == "size":
            self._unused(stmt.kind, again=True)
            self.consumed.pop(key, None)
            if not self.dry and any(term.is_const and term.const > 1 for term in (first, second)):
                self.waiting[stmt.kind] = (f"{self.said(first)} x {self.said(second)}", stmt.span, False)
            if self.setting.readings.get("loop-order") == "outer-first":
                first, second = second, first
        self.registers[key] = Register(first, second, stmt.span)

    def _setpad(self, stmt: ops.SetPad) -> None:
        raw = self.bits.get(stmt.value.name) if stmt.value.value is None else stmt.value.value
        value = self.values.get(stmt.value.name)
        if raw is None and isinstance(value, Lin) and value.is_const:
            raw = value.const
        known = self.pad_types.get(stmt.value.name, stmt.type)
        kind = stmt.type if stmt.type.bits else known
        self.registers["pad"] = Register(
            Lin(-1) if raw is None else Lin(raw % (1 << max(8, kind.bits))), ZERO, stmt.span, type=kind
        )

    def _setatomic(self, stmt: ops.SetAtomic) -> None:
        before = self.registers["atomic"].type
        if stmt.mode is None:
            kind = ValueType("atomic", before.name or UNSAID, 0, stmt.dtype)
        else:
            kind = ValueType("atomic", stmt.mode, 0, before.space if stmt.mode else "")
        self.registers["atomic"] = Register(ZERO, ZERO, stmt.span, type=kind)

    def _store_mode(self) -> str:
        """What a store does instead of writing: empty for a plain one, `mixed` where the path decides it."""
        found = self.registers["atomic"]
        return MIXED if found.mixed else mode_of(found)

    def _unused(self, kind: str, *, again: bool) -> None:
        """Loops that were set and that no copy of their direction runs."""
        found = None if self.dry else self.waiting.pop(kind, None)
        if found is not None:
            used = found[2] or not again  # a copy of the other direction ran, or the next kernel finds them
            way = "from GM to UB" if kind == LOAD else "from UB to GM"
            self.remark(
                "state",
                f"loops of {found[0]} are set for copies {way}, and no copy runs them: these batches never move",
                found[1],
                "set them right before the copy that they are for, in the registers of its direction",
                always=used,
            )

    def behind_last(self, register: Register, counter: str, trip: Lin, span: Span) -> Register:
        """A register behind a loop that ran: as its last round left it; mixed where that has no form."""
        ends = [self.world.put(term, {counter: trip - ONE}) for term in (register.first, register.second)]
        if any(counter in self.world.roots(end) or self.world.changes(end, [counter]) for end in ends):
            return Register(ZERO, ZERO, None, (register.span or span,))
        return replace(register, first=ends[0], second=ends[1])

    # ------------------------------------------------------------ what is written and taken, in order

    def kept_at_start(self) -> list[RegisterEvent]:
        """What registers are taken to hold where nothing set them yet."""
        sizes = [RegisterWrite(f"{kind}.size", (ONE, ONE)) for kind in (LOAD, STORE)]
        return [*sizes, RegisterWrite("pad", (ZERO, None)), RegisterWrite("atomic", (self._mode_number(""),))]

    def kept_by(self, stmt: ops.Stmt, copy: Copy | None) -> Iterator[RegisterEvent]:
        """What a statement writes, and what the copy that it became took."""
        if isinstance(stmt, ops.SetLoop):
            yield self._write(f"{stmt.kind}.{stmt.what}")
        elif isinstance(stmt, ops.SetPad):
            yield self._write("pad")
        elif isinstance(stmt, ops.SetAtomic):
            yield self._write("atomic")
        elif isinstance(stmt, ops.CopyOp) and stmt.kind != LOCAL:
            if copy is not None:
                yield from self._taken(stmt, copy)
            if stmt.inline:  # lowered, it writes the registers of its direction and puts the sizes back
                yield RegisterWrite(f"{stmt.kind}.size", (ONE, ONE))
                yield from (RegisterWrite(f"{stmt.kind}.loop{i}", None) for i in range(1, len(stmt.levels)))
            if stmt.pad is not None:
                yield self._write("pad")

    def held(self, registers: Mapping[str, Register]) -> dict[str, Held]:
        """What registers hold on every path."""
        return {key: self._values(key, one) for key, one in registers.items() if not one.mixed}

    def _write(self, key: str) -> RegisterWrite:
        return RegisterWrite(key, self._values(key, self.registers[key]))

    def _values(self, key: str, register: Register) -> Held:
        if key == "atomic":
            return (self._mode_number(mode_of(register)),)
        if key == "pad":
            return (None if register.first == Lin(-1) else register.first, Lin(max(1, register.type.bits // 8)))
        return register.first, register.second

    def _mode_number(self, mode: str) -> Lin:
        return Lin(self.modes.setdefault(mode, len(self.modes)))

    def _taken(self, stmt: ops.CopyOp, copy: Copy) -> Iterator[RegisterRead]:
        by = f"copy {copy.order}"
        if stmt.kind == STORE and copy.atomic != MIXED:
            yield RegisterRead("atomic", (self._mode_number(copy.atomic),), by)
        if stmt.inline:
            return
        steps = {step.label: step for step in copy.steps}
        loops = [steps.get(f"loop{index}") for index in (1, 2)]
        counts = [ONE if step is None else step.count for step in loops]
        yield RegisterRead(f"{stmt.kind}.size", (counts[0], counts[1]), by)
        for index, step in enumerate(loops, 1):
            if step is not None:
                yield RegisterRead(f"{stmt.kind}.loop{index}", (step.read, step.write), by)
        if copy.fill is not None and copy.fill.value is not None:
            was_set = "pad" in self.registers
            yield RegisterRead("pad", (Lin(copy.fill.value), Lin(copy.fill.value_bytes) if was_set else None), by)

    def leave(self) -> None:
        """What the end of a function must find."""
        for kind in list(self.waiting):
            self._unused(kind, again=False)
        mode, register = self._store_mode(), self.registers["atomic"]
        span = register.mixed[-1] if register.mixed else register.span
        if mode and span is not None:
            self.remark(
                "state",
                "the store mode is left on, on one path" if mode == MIXED else f"the store mode `{mode}` is left on",
                span,
                "set_atomic_none at the end",
                always=False,
            )

    def _register(self, key: str, what: str, copy: ops.CopyOp) -> Register | None:
        """The register that a copy depends on; None with a remark where the path decides it."""
        found = self.registers.get(key)
        if found is None or not found.mixed:
            return found
        self.remark(
            "state",
            f"{what} depends on the path that leads here",
            copy.name_span,
            "set it before this copy, on every path",
            [(span, "set here") for span in found.mixed],
        )
        return None

    def _as_set(self, kind: str) -> dict[str, Lin]:
        """The stride registers of both loops as they stand, of loops that run once too; 0 where nothing set them."""
        out: dict[str, Lin] = {}
        for index in (1, 2):
            found = self.registers.get(f"{kind}.loop{index}")
            known = found is not None and not found.mixed and found.first.is_const and found.second.is_const
            sides = (found.first, found.second) if found is not None and known else (ZERO, ZERO)
            out |= {f"loop{index}_read": sides[0], f"loop{index}_write": sides[1]}
        return out


def mode_of(register: Register) -> str:
    """What the register of the store mode says, on one path."""
    return f"{register.type.name} {register.type.space}".strip()


def joined(left: Mapping[str, Register], right: Mapping[str, Register], span: Span) -> dict[str, Register]:
    """Registers where two paths meet; what differs is mixed. An unset size is (1, 1)."""
    out: dict[str, Register] = {}
    for key in {*left, *right}:
        default = Register(ONE, ONE) if key.endswith("size") else None
        a, b = left.get(key, default), right.get(key, default)
        if a is not None and a.same(b):
            out[key] = a
            continue
        spans = tuple(
            dict.fromkeys(s for r in (a, b) if r for s in (*r.mixed, *([r.span] if r.span and not r.mixed else [])))
        )
        out[key] = Register(ZERO, ZERO, None, spans or (span,))
    return out
