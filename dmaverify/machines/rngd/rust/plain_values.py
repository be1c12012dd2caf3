"""Plain values of a kernel as the words that decide them: literals, constants, what the library makes of those.

Knows: which words of an expression decide its value, and the type beside it. Does not know: pipelines, transfers.
Law: what may decide and is not known has no words.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.bodies import Bodies
from dmaverify.machines.rngd.rust.code import child, named, parts_of
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.library import Library
from dmaverify.machines.rngd.rust.module import Item
from dmaverify.machines.rngd.rust.outside import imported, is_own_method, may_be_own
from dmaverify.machines.rngd.rust.terms import KernelTerms, Made, number_key
from dmaverify.machines.rngd.rust.values import Numbers, Opaque, Pipeline, RustTensor, Value

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERALS = ("float_literal", "string_literal", "char_literal", "integer_literal", "boolean_literal")
_COMPOUND = (
    "array_expression", "tuple_expression", "parenthesized_expression", "unary_expression", "binary_expression",
    "unit_expression",
)  # fmt: skip
_NUMERIC = (
    "integer_literal", "scoped_identifier", "binary_expression", "identifier", "parenthesized_expression",
    "unary_expression", "type_cast_expression",
)  # fmt: skip
_PLAIN = (*_LITERALS, *_COMPOUND, "struct_expression", "call_expression", "scoped_identifier")


class PlainValues(Bodies):
    """The part of following a kernel that knows plain values by their words."""

    leave_open: Callable[[Code, Node, str], None]
    go_beyond: Callable[[Code, Node, str], None]
    number_at: Callable[[Value], int | None]

    def __init__(self, library: Library) -> None:
        super().__init__(library)
        self.terms = KernelTerms()
        self.plain: dict[int, Hashable] = {}  # what the library makes of literals and constants, by its identity
        self.taken: list[tuple[Hashable, Made | None, Value]] = []  # the operands of the stage that is read
        self.hushed = 0

    @contextmanager
    def hush(self) -> Iterator[None]:
        """What is read within is a term already."""
        self.hushed += 1
        try:
            yield
        finally:
            self.hushed -= 1

    # ------------------------------------------------------------ plain values

    def key_of(self, code: Code, node: Node, frame: Frame, uses: list[Made] | None = None) -> Hashable:
        """An expression as the words that decide its value; None where that is not known. Contents among its parts
        are entered in `uses`, where there may be some.
        """
        kind = node.type
        if kind == "identifier" and code.text(node) in frame.locals:
            return self._local(frame.locals[code.text(node)], uses)
        if kind in _NUMERIC:
            number = self.types.number(code, node, frame)
            if number is not None and number.single is not None:
                return number_key(number)
        if kind in _LITERALS:
            return "literal", code.text(node)
        if kind == "reference_expression" and child(node, "mutable_specifier") is None:
            return self.key_of(code, named(node)[-1], frame, uses)
        if kind in ("identifier", "scoped_identifier"):
            return self._library_name(code, node, frame)
        if kind in _COMPOUND:
            signs = (one.type for one in node.children if not one.is_named)
            return self._words_of((kind, *signs), code, named(node), frame, uses)
        if kind == "struct_expression":
            return self._fields(code, node, frame, uses)
        function = node.child_by_field_name("function") if kind == "call_expression" else None
        arguments = node.child_by_field_name("arguments") if function is not None else None
        if function is None or arguments is None:
            return None
        if function.type == "field_expression":  # a method of such a value
            name, of = function.child_by_field_name("field"), function.child_by_field_name("value")
            if name is None or of is None or is_own_method(frame.scope, code.text(name)):
                return None
            receiver = self.key_of(code, of, frame, uses if of.type in _PLAIN else None)
            if receiver is None:
                return None
            return self._words_of((receiver, code.text(name)), code, named(arguments), frame, uses)
        called = self._library_name(code, function, frame) if function.type == "scoped_identifier" else None
        if called is None or not parts_of(code.text(function))[-2][:1].isupper():
            return None
        return self._words_of((called,), code, named(arguments), frame, uses)

    def _words_of(
        self, head: tuple[Hashable, ...], code: Code, nodes: Sequence[Node], frame: Frame, uses: list[Made] | None
    ) -> Hashable:  # fmt: skip
        parts = [self.key_of(code, one, frame, uses) for one in nodes]
        return None if None in parts else (*head, *parts)

    def _fields(self, code: Code, node: Node, frame: Frame, uses: list[Made] | None) -> Hashable:
        """A struct of the library with all of its fields."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        parts = named(body) if body is not None else []
        if name is None or any(not one.type.endswith("field_initializer") or one.type[0] == "b" for one in parts):
            return None
        names = tuple(code.text(one).split(":")[0].strip() for one in parts)
        called = self._library_name(code, name, frame)
        values = [one.child_by_field_name("value") or named(one)[-1] for one in parts]
        known = [one for one in values if one is not None]
        if called is None or len(known) < len(values):
            return None
        return self._words_of((called, names), code, known, frame, uses)

    def _local(self, value: Value, uses: list[Made] | None) -> Hashable:
        place = self.number_at(value)
        if place is not None:
            return "given", place
        if isinstance(value, Numbers) and value.single is not None:
            return number_key(value)
        made = self.content_of(value) if uses is not None else None
        if made is not None and uses is not None:
            uses.append(made)
            return "content", len(uses)
        return self.plain.get(id(value))

    def content_of(self, value: Value) -> Made | None:
        """The content of a pipeline, or of a view whose place is known."""
        if isinstance(value, Pipeline):
            return value.made if isinstance(value.made, Made) else None
        if not isinstance(value, RustTensor) or value.buffer is None or value.missing is not None:
            return None
        known = not value.window.open and all(at.single is not None for at in value.window.at.values())
        self.terms.given |= dict.fromkeys(value.window.given)
        return self.terms.read(value) if known and not value.problems else None

    def _library_name(self, code: Code, node: Node, frame: Frame) -> Hashable:
        """What a name of the library is, or a constant of the crate."""
        parts = parts_of(code.text(node))
        if not parts or "<" in code.text(node) or parts[0] in frame.generics or parts[0] == "Self":
            return None
        item = frame.scope.path(parts, values=True)
        value = item.node.child_by_field_name("value") if item is not None and item.kind == "const" else None
        if item is not None and value is not None:
            frame = Frame(item.scope)
            declared, key = item.node.child_by_field_name("type"), self.key_of(item.code, value, frame)
            return self._as(key, item.code, declared, frame) if key is not None else None
        words = imported(frame.scope, parts) if item is None and not may_be_own(frame.scope, parts) else None
        return ("path", words) if words is not None else None

    def _value(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        if node.type not in _PLAIN or self.hushed:
            return super()._value(code, node, frame, expected)
        key = self.key_of(code, node, frame)
        if key is None or (isinstance(key, tuple) and key[0] == "number"):
            return super()._value(code, node, frame, expected)
        with self.hush():
            found = super()._value(code, node, frame, expected)
        if not isinstance(found, (Numbers, RustTensor, Pipeline)):
            self._called(node, key)
            self.plain[id(found)] = key
            self.kept.append(found)
        return found

    def _called(self, node: Node, key: Hashable) -> None:
        """Enters that the library is called, which may stop a run whatever becomes of what it gives."""
        if isinstance(key, tuple) and key[0] == "number":
            return
        if not (self.dead or self.walk.dead) and any(one.type == "call_expression" for one in walk(node)):
            self.terms.calls.add(key)

    def merged(self, value: Value, wanted: Value | None) -> Value:
        kept = id(value) in self.plain or (isinstance(value, Pipeline) and value.made is not None)
        return value if kept and isinstance(wanted, Opaque) else super().merged(value, wanted)

    def anew(self, value: Value, *, stays: bool = True) -> Value:
        made = super().anew(value, stays=stays)
        if id(value) in self.plain:
            self.plain[id(made)] = self.plain[id(value)]
            self.kept.append(made)
        return made

    def _as(self, key: Hashable, code: Code, declared: Node | None, frame: Frame) -> Hashable:
        """A value's words with the type beside it, which may decide what a call gives; None where it is not known."""
        while declared is not None and declared.type == "reference_type":
            declared = declared.child_by_field_name("type")
        if declared is None or code.text(declared) == "_" or (isinstance(key, tuple) and key[0] == "number"):
            return key
        known = self._type_key(code, declared, frame)
        known = known if known is not None else self._library_name(code, declared, frame)
        if known is None or (isinstance(key, tuple) and key[0] == "as" and key[1] == known):
            return key if known is not None else None
        return "as", known, key

    def _told(self, value: Value | None, code: Code, declared: Node | None, frame: Frame) -> None:
        """Enters the type that is written beside a value."""
        if value is not None and id(value) in self.plain:
            key = self._as(self.plain.pop(id(value)), code, declared, frame)
            self.plain |= {id(value): key} if key is not None else {}

    def _given_by(self, item: Item, body: Node, frame: Frame, instance: str) -> Value:
        found = super()._given_by(item, body, frame, instance)
        self._told(found, item.code, item.node.child_by_field_name("return_type"), frame)
        return found

    def bind(self, code: Code, pattern: Node | None, value: Value, frame: Frame) -> None:
        super().bind(code, pattern, value, frame)
        if pattern is not None and pattern.type == "mut_pattern":
            self.plain.pop(id(frame.locals.get(code.text(named(pattern)[-1]))), None)

    def passed(self, item: Item, node: Node, name: str, value: Value, made: Value, declared: Value) -> Value:
        found = super().passed(item, node, name, value, made, declared)
        self._told(found, item.code, node.child_by_field_name("type"), Frame(item.scope))
        if child(node, "mutable_specifier") is not None:
            self.plain.pop(id(found), None)
        return found

    def _let_declaration(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        found = super()._let_declaration(code, node, frame, expected)
        pattern = node.child_by_field_name("pattern")
        bound = frame.locals.get(code.text(pattern)) if pattern is not None else None
        if child(node, "mutable_specifier") is not None:  # its methods may change it
            self.plain.pop(id(bound), None)
        self._told(bound, code, node.child_by_field_name("type"), frame)
        return found

    def _type_key(self, code: Code, node: Node, frame: Frame) -> Hashable:
        found = self.types.read(code, node, frame)
        if not isinstance(found, Opaque):
            return self.terms.value_key(found)
        if node.type == "type_identifier":
            item = frame.scope.find(code.text(node))
            own = item.node.child_by_field_name("type") if item is not None and not item.generics else None
            return self._type_key(item.code, own, Frame(item.scope)) if item is not None and own is not None else None
        name, given = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
        if node.type != "generic_type" or name is None or frame.scope.find(code.text(name)) is not None:
            return None
        keys = tuple(self.terms.value_key(one) for one in self.types.arguments(code, given, frame))
        return None if None in keys else (code.text(name), *keys)
