"""Patterns: which names a value gives its parts to.

Knows: identifiers, tuples, structs, slices, `mut`, `ref`, `Some(x)`.
Does not know: where patterns stand.
Law: a name gets what is known of its part, or an `Unknown`; a number behind `mut` is not known, because it changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dmaverify.machines.rngd.rust.calls import Calls
from dmaverify.machines.rngd.rust.code import Code, named
from dmaverify.machines.rngd.rust.types import Frame
from dmaverify.machines.rngd.rust.values import Buffer, Numbers, Record, RustTensor, Sequence, Tuple, Unknown, Value

if TYPE_CHECKING:
    from tree_sitter import Node


class Patterns(Calls):
    """The part of reading that knows patterns."""

    def allocated(self, value: Value, name: str, code: Code, node: Node, fresh: bool = False) -> Value:
        """The value with buffers of its own."""
        if isinstance(value, RustTensor):
            self.serial += 1
            return replace(value, buffer=Buffer(self.serial, name, fresh, code.span(node)))
        if isinstance(value, Tuple):
            return Tuple(tuple(self.allocated(part, name, code, node, fresh) for part in value.parts))
        return value

    def told_later(self, code: Code, pattern: Node | None) -> Value | None:
        """The type that later uses ask of a variable, known once its function was read; None where nothing does."""
        if pattern is None or len(self.stack) != self.later_uses.depth or not self.later_uses.told:
            return None
        if pattern.type == "identifier":
            return self.later_uses.told.get((id(code.data), pattern.start_byte))
        if pattern.type == "mut_pattern":
            return next((self.told_later(code, one) for one in named(pattern) if one.type == "identifier"), None)
        if pattern.type != "tuple_pattern":
            return None
        parts = [self.told_later(code, one) for one in named(pattern)]
        return Tuple(tuple(part or Unknown("") for part in parts)) if any(parts) else None

    def bind(self, code: Code, pattern: Node | None, value: Value, frame: Frame) -> None:
        """Gives the names of a pattern their values."""
        if pattern is None:
            return
        kind = pattern.type
        if kind == "identifier" or kind == "shorthand_field_identifier":
            if len(self.stack) == self.later_uses.depth:
                self.later_uses.bound(code, pattern.start_byte, value)
            frame.locals[code.text(pattern)] = value
        elif kind in ("mut_pattern", "ref_pattern", "reference_pattern", "captured_pattern"):
            inner = [one for one in named(pattern) if one.type != "mutable_specifier"]
            for one in inner:
                changed = kind == "mut_pattern" and isinstance(value, Numbers)
                self.bind(code, one, Unknown("a variable that changes") if changed else value, frame)
        elif kind in ("tuple_pattern", "closure_parameters"):
            for number, one in enumerate(named(pattern)):
                self.bind(code, one, self.part(value, str(number), code, pattern), frame)
        elif kind == "tuple_struct_pattern":
            inner = list(named(pattern)[1:])
            for number, one in enumerate(inner):
                whole = len(inner) == 1 and not isinstance(value, Record)
                self.bind(code, one, value if whole else self.part(value, str(number), code, pattern), frame)
        elif kind == "slice_pattern":
            inner = named(pattern)
            listed = value.items if isinstance(value, Sequence) and len(value.items or ()) == len(inner) else None
            for number, one in enumerate(inner):
                part = self.ledger.any_of(value) if isinstance(value, Sequence) and listed is None else Unknown("")
                self.bind(code, one, listed[number] if listed is not None else part, frame)
        elif kind == "struct_pattern":
            for one in named(pattern):
                if one.type == "field_pattern":
                    name, inner_pattern = one.child_by_field_name("name"), one.child_by_field_name("pattern")
                    if name is not None:
                        part = self.part(value, code.text(name), code, pattern)
                        self.bind(code, inner_pattern or name, part, frame)
