"""What a kernel computes between its accesses, as a list that two kernels can be compared by.

Knows: operations that move nothing and order nothing, which value each of them takes from which.
Does not know: what any of them computes.
Law: equal lists have the same operations in the same order, wired alike: values of other operations by their place,
scalars by their arithmetic, arguments by their order. Pointers, counters and offsets in brackets count as alike:
accesses are compared apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from dmaverify.errors import Source, Span
from dmaverify.machines.pto.mlir import Op, read_mlir
from dmaverify.machines.pto.roles import COPY_ROLES, INLINE_ROLES

_KNOWN = frozenset(
    ["pto.castptr", "pto.addptr", "pto.vecscope", "pto.barrier", "pto.pipe_barrier", *COPY_ROLES, *INLINE_ROLES]
)
_KINDS = ("pto.set_", "pto.wait_flag", "pto.get_b", "pto.rls_b", "pto.get_sub", "pto.mte_", "pto.dma_", "pto.copy_")
_WORK = ("pto.", "func.call", "call", "llvm.", "math.")

Work = tuple[tuple[str, ...], Span]
"""An operation with what it takes, and where it stands."""


def work_of(source: Source, function: str) -> list[Work]:
    """The operations of a function (of the text outside of any where the name is empty)."""
    whole = read_mlir(source)
    ops: Sequence[Op] = list(_named(whole.ops, function)) if function else whole.ops
    walk = _Walk()
    for op in ops:
        walk.arguments(op)
    walk.block(ops)
    return walk.out


def _named(ops: Sequence[Op], function: str) -> Iterator[Op]:
    for op in ops:
        if op.name in ("func.func", "func") and any(t.text.lstrip("@").strip('"') == function for t in op.tokens[:3]):
            yield op
        elif op.name in ("module", "builtin.module"):
            for region in op.regions:
                yield from _named(region, function)


class _Walk:
    """Values by what they come from."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.out: list[Work] = []

    def arguments(self, op: Op) -> None:
        if op.name in ("func.func", "func"):
            names = dict.fromkeys(t.text for t in op.tokens if t.kind == "value")
            self.values |= {name: f"argument {i}" for i, name in enumerate(names)}

    def block(self, ops: Sequence[Op]) -> None:
        for op in ops:
            if op.name.startswith(_WORK) and op.name not in _KNOWN and not op.name.startswith(_KINDS):
                self.values |= {name: f"value {len(self.out)}.{i}" for i, name in enumerate(op.results)}
                self.out.append(((op.name, *self.taken(op)), op.name_span))
            elif op.name.startswith("arith."):
                said = " ".join((op.name, *self.taken(op)))
                said = said if len(said) < 400 else f"long {sha256(said.encode()).hexdigest()}"
                self.values |= dict.fromkeys(op.results, said)
            for region in op.regions:
                self.block(region)

    def taken(self, op: Op) -> Iterator[str]:
        """What stands behind the name, up to the types."""
        inside = 0
        for token in op.tokens:
            if token.text == ":":
                return
            inside += (token.text == "[") - (token.text == "]")
            if inside:
                continue
            if token.kind == "value":
                yield self.values.get(token.text, "other")
            elif token.kind != "region":
                yield token.text
