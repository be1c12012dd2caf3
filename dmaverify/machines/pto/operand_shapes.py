"""The parts of an operation on registers: operands with their indices, attributes, and types as accesses need them.

Knows: lanes and elements of a type, attributes by name. Does not know: operations, which operand is what.
Law: an operand without a type of its own is untyped, and what is not told of a type is 0 or empty.

Source: MLIR memref (strided layouts); PTO v0.6 (registers, masks).
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.errors import InputError
from dmaverify.language.notation import Token
from dmaverify.machines.pto.ops import Operand, ValueType
from dmaverify.machines.pto.types import integer_of
from dmaverify.values import dataclass, field


@dataclass(frozen=True, slots=True)
class OperandShape:
    """A type with what accesses need of it: lanes and their bytes, elements that each index of a memref counts."""

    type: ValueType
    lanes: int = 0
    lane_bytes: int = 0
    strides: tuple[int, ...] | None = ()
    space: str = ""
    indexed: bool = False
    element: str = ""

    @property
    def what(self) -> str:
        name = self.type.name
        if self.indexed or self.type.kind == "pointer":
            return "memref" if self.indexed else "pointer"
        return name.rsplit(".", 1)[-1] if name.endswith((".vreg", ".mask")) else self.type.kind


@dataclass
class OperationParts:
    """The operands of an operation with their indices, strings, attributes and types."""

    operands: list[Operand] = field(default_factory=list)
    indices: dict[int, list[Operand]] = field(default_factory=dict)
    strings: list[str] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    given: list[OperandShape] = field(default_factory=list)
    made: list[OperandShape] = field(default_factory=list)


def number_in(text: str) -> int:
    """A number in the place of an operand; one beyond all integers is none that an access can have."""
    try:
        return integer_of(text)
    except InputError:
        return 0


def named_in(tokens: Sequence[Token]) -> dict[str, str]:
    """The strings of an attribute dictionary by name."""
    out: dict[str, str] = {}
    for name, mark, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if name.kind in ("word", "string") and mark.text == "=":
            out[name.text.strip('"')] = value.text.strip('"')
    return out


def before_comma(words: Sequence[Token]) -> str:
    """The text before the first comma of what stands in angle brackets."""
    cut = next((i for i, w in enumerate(words) if w.text == ","), len(words))
    return "".join(w.text for w in words[:cut])
