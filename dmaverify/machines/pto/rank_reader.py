"""Texts of operations between ranks, of cache maintenance and of visibility fences, as statements.

Knows: the form in which each is written. Does not know: values, bytes, order.
Law: a form that is not understood is an input error at its place.

Source: PTO IR manual, communication operations; PTO toolchain, memory consistency (2026-08).
"""

from __future__ import annotations

from dmaverify.errors import InputError
from dmaverify.machines.pto.mlir import Op
from dmaverify.machines.pto.ops import Assumed, Barrier, OpaqueOp, Operand, Stmt, ValueType
from dmaverify.machines.pto.ranks import RankCopy, RankSignal, VisibilityFence
from dmaverify.machines.pto.types import TokenCursor

_BIT = ValueType("int", "i1", 1)


class RankReader:
    """Operations by which ranks talk, and that make their accesses seen."""

    types: dict[str, ValueType]

    def cache(self, op: Op) -> Stmt:
        """`pto.cmo.cacheinvalid all #pto.address_space<gm>`, `pto.cmo.cacheinvalid %x single_cache_line : ..`."""
        words = [t.text for t in op.tokens]
        if not ("single_cache_line" in words or (words[:1] == ["all"] and "gm" in words)):
            raise InputError(f"{op.name}: which lines it is about is not known", op.name_span, "all, single_cache_line")
        return Assumed(op.span, f"{op.name} changes no byte: lines that were written are written back", unsaid=True)

    def fence(self, op: Op) -> Stmt:
        """`pto.fence.barrier_all #pto.fence_scope<gm>`."""
        if "gm" not in [t.text for t in op.tokens]:
            raise InputError(f"{op.name}: of which memory is not known", op.name_span, "#pto.fence_scope<gm>")
        return VisibilityFence(op.span)

    def signalled(self, op: Op) -> list[Stmt]:
        """`pto.comm.tnotify(%signal, %value : ..)` behind and before all pipes, `twait` and `ttest` as reads."""
        args, (_, _, short), words = self._called(op)[0], op.name.split("."), {t.text for t in op.tokens}
        adds, tests = "atomic_add" in words, short == "ttest"
        if len(args) != 2 or len(op.results) != tests or (short == "tnotify" and not adds and "set" not in words):
            hint = f"{op.name}(%signal, %value : ..) {{..}}"
            raise InputError(f"{op.name} takes a signal and a number, and says what it does", op.name_span, hint)
        if short == "tnotify":
            made = RankSignal(op.span, op.name, args[0], writes=True, adds=adds)
            return [Barrier(op.span), made, Barrier(op.span)]
        read = RankSignal(op.span, op.name, args[0])
        self.types |= dict.fromkeys(op.results, _BIT)
        return [read, OpaqueOp(op.span, op.results, (_BIT,), None, op.name, loaded=True)] if tests else [read]

    def exchanged(self, op: Op) -> Stmt:
        """`pto.comm.tput(%dst, %src, buf(%t[, %u]) : ..) {atomicType = ..}`, and `pto.comm.tget`."""
        (args, through), words = self._called(op), [t.text for t in op.tokens]
        modes = [word for word in words if word.startswith("atomic_") and word != "atomic_type"]
        if len(args) != 2 or not 1 <= len(through) <= 2 or op.results:
            hint = f"{op.name}(%dst, %src, buf(%tile) : ..)"
            raise InputError(f"{op.name} takes two parts of tensors and one or two tiles", op.name_span, hint)
        unknown = next((mode for mode in modes if mode not in ("atomic_none", "atomic_add")), None)
        if unknown is not None:
            raise InputError(f"{op.name}: what `{unknown}` does is not documented", op.name_span, "atomic_add")
        return RankCopy(op.span, op.name, args[1], args[0], through, "atomic_add" in modes)

    def _called(self, op: Op) -> tuple[list[Operand], tuple[Operand, ...]]:
        """The operands in the brackets of an operation, and those of its `buf(..)`."""
        cursor = TokenCursor(op)
        cursor.need("(")
        args = cursor.operands()
        through = tuple(cursor.grouped()) if cursor.take("buf") else ()
        return args, through
