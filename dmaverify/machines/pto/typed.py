"""Operands of an operation with what the text says of their types.

Knows: kinds of operands. Does not know: text, what an operation takes.
Law: what is not told is empty or 0, never guessed.
"""

from __future__ import annotations

from dmaverify.values import dataclass

TILE, SCALAR, MASK = "tiles or registers", "scalars", "masks"
KINDS = (TILE, SCALAR, MASK)


@dataclass(frozen=True, slots=True)
class TypedOperand:
    """An operand or a result: its kind, its name, the type of its elements, the bits of elements that a mask is for."""

    kind: str
    name: str
    type: str = ""
    bits: int = 0


@dataclass(frozen=True, slots=True)
class TypedUse:
    """An operation with all of its operands and results; `memories` of its tiles (`left+mat`)."""

    name: str
    ins: tuple[TypedOperand, ...]
    outs: tuple[TypedOperand, ...]
    memories: str = ""
