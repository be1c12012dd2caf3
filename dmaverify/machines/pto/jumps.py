"""Where basic blocks go on: `cf.br`, `cf.cond_br`, `cf.switch`, and what leaves a region.

Knows: the operands of terminators in both forms. Does not know: which blocks there are, what they do.
Law: of the jumps of a block exactly one has no case, and it stands last; what cannot be told raises InputError.

Source: MLIR dialect cf.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.errors import InputError
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.generic import attributes, is_generic
from dmaverify.machines.pto.mlir import Op
from dmaverify.machines.pto.ops import Operand, Stmt
from dmaverify.machines.pto.types import TokenCursor, integer_of
from dmaverify.values import dataclass, replace

OUT = "the end"  # where every path of the region ends


@dataclass(frozen=True, slots=True)
class Jump:
    """Where a block goes on, and with which values: in one `case` of what it decides by, or otherwise (None)."""

    case: int | None
    to: str
    given: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class BasicBlock:
    """Statements that run in a row; behind them it goes on at the first of its jumps whose case it is."""

    label: str
    args: tuple[str, ...]
    body: tuple[Stmt, ...]
    decides: Operand | None
    jumps: tuple[Jump, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BlockGraph(ops.Block):
    """A region of basic blocks, the first of which begins; `body` holds the same as loops and branches."""

    blocks: tuple[BasicBlock, ...] = ()


def edges_of(op: Op) -> tuple[Operand | None, tuple[Jump, ...]]:
    """What a terminator decides by, and where it goes on with which values."""
    if not op.name.startswith("cf."):
        return None, (Jump(None, OUT, values_before_types(op)),)
    labels = [i for i, t in enumerate(op.tokens) if t.kind == "label"]
    names = [op.tokens[i].text for i in labels]
    if is_generic(op):
        values = TokenCursor(op).grouped()
        decides = values[: op.name != "cf.br"]
        tokens = attributes(op).get("operandSegmentSizes", ())
        sizes = [integer_of(t.text) for t in tokens if t.kind == "number"][len(decides) :]
        rest = values[len(decides) :]
        if len(names) == 1:
            sizes = [len(rest)]
        if len(sizes) != len(names) or sum(sizes) != len(rest) or op.name == "cf.switch":
            raise InputError(f"{op.name} in the generic form is not read", op.name_span, "print it in its own syntax")
        given = [tuple(rest[sum(sizes[:i]) : sum(sizes[: i + 1])]) for i in range(len(sizes))]
    else:
        ends = [*labels[1:], len(op.tokens)]
        decides = [] if op.name == "cf.br" else [TokenCursor(op).operand()]
        given = [values_before_types(replace(op, tokens=op.tokens[i:end])) for i, end in zip(labels, ends, strict=True)]
    wanted = {"cf.br": 1, "cf.cond_br": 2}.get(op.name, len(names))
    if len(names) != wanted or not names:
        raise InputError(f"{op.name} goes on at {wanted} blocks, not {len(names)}", op.name_span)
    cases: list[int | None] = [None] if wanted == 1 else [1, None]
    if op.name == "cf.switch":
        before = [op.tokens[i - 2] for i in labels]
        bits = _bits_of(op)
        cases = [None if t.text == "default" else _case(integer_of(t.text), bits) for t in before]
    jumps = [Jump(*one) for one in zip(cases, names, given, strict=True)]
    return (decides[0] if decides else None), (*(j for j in jumps if j.case is not None), *_default(op, jumps))


def _default(op: Op, jumps: Sequence[Jump]) -> tuple[Jump, ...]:
    found = tuple(j for j in jumps if j.case is None)
    if len(found) != 1:
        raise InputError(f"{op.name} needs one block to go on at otherwise", op.name_span, "default: ^block")
    return found


def _bits_of(op: Op) -> int:
    """Of what a switch decides by."""
    at = next((i for i, t in enumerate(op.tokens) if t.text == ":"), len(op.tokens))
    kind = op.tokens[at + 1].text if at + 1 < len(op.tokens) else ""
    return int(kind[1:]) if kind[:1] == "i" and kind[1:].isdecimal() and int(kind[1:]) else 64


def _case(written: int, bits: int) -> int:
    """A case as values are kept: with a sign, but for a single bit."""
    kept = written % (1 << bits)
    return kept - (1 << bits) if bits > 1 and kept >> (bits - 1) else kept


def values_before_types(op: Op) -> tuple[Operand, ...]:
    """Every value that an operation names in front of its types."""
    out: list[Operand] = []
    for token in op.tokens:
        if token.text == ":":
            break
        out += [Operand(token.text, op.at(token))] if token.kind == "value" else []
    return tuple(out)
