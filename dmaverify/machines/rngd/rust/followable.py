"""Which parts of a kernel's text are followed for all that they do: those that name, and those that make numbers alone.

Knows: kinds of expressions and statements, adapters of lists. Does not know: tensors, operations, which way is taken.
Law: a number is followed where it is known, a list where each of its elements is; a number that is assigned is the
counter of a loop that is read turn by turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.lists import elements
from dmaverify.machines.rngd.rust.values import Numbers, Sequence, Tuple, Value

if TYPE_CHECKING:
    from tree_sitter import Node

NAMES = {
    "identifier", "call_expression", "reference_expression", "parenthesized_expression", "block", "unsafe_block",
    "tuple_expression", "let_declaration", "expression_statement", "for_expression", "field_expression",
    "macro_invocation", "type_cast_expression", "binary_expression", "unary_expression", "integer_literal",
    "scoped_identifier", "range_expression", "generic_function", "mutable_specifier", "boolean_literal",
    "if_expression", "else_clause", "match_expression", "while_expression", "loop_expression", "break_expression",
    "continue_expression",
}  # fmt: skip
"""Parts of Rust that do nothing but name, or that are looked at where they are read."""
_OF_NUMBERS = ("index_expression", "array_expression")
_ASSIGNS = ("assignment_expression", "compound_assignment_expr")
_ADAPTERS = {
    "rev", "step_by", "iter", "into_iter", "enumerate", "zip", "chain", "skip", "take", "copied", "cloned", "chunks",
    "chunks_exact", "windows", "len", "for_each",
}  # fmt: skip


def of_numbers(value: Value) -> bool:
    """Whether a value is numbers alone, in lists whose elements are all known."""
    if isinstance(value, Tuple):
        return all(map(of_numbers, value.parts))
    own = elements(value) if isinstance(value, Sequence) else None
    return all(map(of_numbers, own)) if own is not None else isinstance(value, Numbers)


def adapts(name: str, receiver: Value, made: Value) -> bool:
    """Whether a method of the standard library makes numbers of a list of numbers, or runs a closure for each."""
    listed = isinstance(receiver, Sequence) and of_numbers(receiver)
    return name in _ADAPTERS and listed and (name == "for_each" or of_numbers(made))


def is_followed(code: Code, node: Node, found: Value, live: Mapping[str, Numbers | None]) -> bool:
    """Whether a part of a text does nothing else; `found`: its value, `live`: the counters of the loops around."""
    left = node.child_by_field_name("left") if node.type in _ASSIGNS else None
    if left is not None:
        return left.type == "identifier" and live.get(code.text(left)) is not None
    return node.type in NAMES or (node.type in _OF_NUMBERS and of_numbers(found))
