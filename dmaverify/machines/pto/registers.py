"""Sticky registers followed through a kernel.

Knows: what sets them, what is never used. Does not know: control flow, copies, what is allowed.
Law: a register that depends on the path is never guessed. Source: PTO v0.6 (sticky state).
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.errors import Span
from dmaverify.language.affine import ONE, ZERO, Lin
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.arith import Arithmetic
from dmaverify.machines.pto.ops import LOAD, ValueType
from dmaverify.machines.pto.stated import Register
from dmaverify.program.instructions import MIXED, UNSAID


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
                self.waiting[stmt.kind] = (f"{first.shown()} x {second.shown()}", stmt.span, False)
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
        return MIXED if found.mixed else f"{found.type.name} {found.type.space}".strip()

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
