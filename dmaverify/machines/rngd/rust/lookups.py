"""Names in constant expressions: constants, generic parameters, fields, `const fn` as numbers, each of its type.

Knows: where a name of a number comes from, the types that are declared for numbers.
Does not know: types of tensors and mappings (`types` reads them), statements (`bodies`).
Law: a number that its declared type does not have is not known; a name that is declared with several types has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import parts_of
from dmaverify.machines.rngd.rust.const_blocks import const_block
from dmaverify.machines.rngd.rust.declares import declares_method
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.impls import associated, in_prelude, parameters_around, parts_and_trait, standard_path
from dmaverify.machines.rngd.rust.integer_types import IntegerTypes
from dmaverify.machines.rngd.rust.integers import ANY, INTEGERS, typed
from dmaverify.machines.rngd.rust.module import Item, NameScope
from dmaverify.machines.rngd.rust.numbers import number_at
from dmaverify.machines.rngd.rust.values import Dtype, Map, Numbers, Record, Tuple, Unknown, Value
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

SCALARS = {  # bits of the types that `size_of` is asked of
    "i4": 4, "f4e2m1": 4, "i5": 8, "i8": 8, "u8": 8, "f8e4m3": 8, "f8e5m2": 8, "i9": 16, "i16": 16, "bf16": 16,
    "f16": 16, "i32": 32, "u32": 32, "f32": 32, "i64": 64, "u64": 64, "f64": 64, "usize": 64, "bool": 8, "u16": 16,
}  # fmt: skip
MAX_DEPTH = 40


class Lookups:
    """The part of reading types that knows numbers; `Types` adds what types are."""

    read: Callable[[Code, Node | None, Frame], Value]
    fragment: Callable[[str, Frame, Code | None, int], Value]
    alias: Callable[[Item], Value]

    def __init__(self) -> None:
        self.depth = 0
        self.left = ""  # what may leave its type in the expression that is read
        self.tables: dict[tuple[int, int], tuple[Code, dict[int, str]]] = {}  # of functions: types of their variables

    def number(self, code: Code, node: Node, frame: Frame) -> Numbers | None:
        """The value of a constant expression."""
        return number_at(code, node, self.look(frame, code, node.start_byte))

    def sized(self, code: Code, name: Node, value: Value, frame: Frame) -> Value:
        """What a variable gets that is bound at `name`: a number as one of the type that the variable has."""
        if not isinstance(value, Numbers):
            return value
        kind = self._type_at(code, name, frame)
        made = value if kind == ANY and value.type else typed(value, kind)
        return made or Unknown(f"a number that may leave `{kind}`", code.span(name))

    def doubt(self, text: str, frame: Frame) -> str:
        """What may leave its type in the expression that was read, or in a variable of it."""
        values = [frame.locals.get(name) for name in re.findall(r"[a-z_]\w*", text)]
        told = [one.reason for one in values if isinstance(one, Unknown) and " may leave " in one.reason]
        return next(iter(filter(None, (self.left, *told))), "")

    def _type_at(self, code: Code, name: Node, frame: Frame) -> str:
        """The type of the variable that a pattern binds there."""
        root = name
        while root.parent is not None and root.type not in ("function_item", "const_item", "static_item"):
            root = root.parent
        key = id(code.data), root.start_byte
        if key not in self.tables:
            while frame.outer is not None:
                frame = frame.outer  # names of blocks are told from those around by the reader
            outside = Frame(frame.scope, dict.fromkeys(frame.generics, Unknown("")))  # for all that call it alike
            declared = partial(self._declared, frame=outside)
            scope = frame.scope
            reader = IntegerTypes(
                code, lambda own, node: self.read(own, node, outside), declared, partial(declares_method, scope),
                lambda name: scope.macro(name) is not None,
                lambda name: declared(name) if _is_constant(scope, name) else [],
            )  # fmt: skip
            self.tables[key] = code, reader.table(root, code.at is None)
        return self.tables[key][1].get(name.start_byte, ANY)

    def _declared(self, text: str, frame: Frame) -> list[Value]:
        """The declared type of a constant; of a function its parameters' types, and what it gives."""
        head, _, last = text.rpartition("::")
        if last == "SIZE" and isinstance(self.fragment(head, frame, None, 0), Map):
            return [Dtype("usize")]
        item = frame.scope.path(parts_of(text), values=True) if "<" not in text else None
        if item is None or item.kind not in ("const", "fn"):
            return []
        inside = Frame(item.scope)
        if item.kind == "const":
            return [self.read(item.code, item.node.child_by_field_name("type"), inside)]
        if item.generics:
            return []
        types = [one.child_by_field_name("type") for one in item.parameters]
        return [self.read(item.code, one, inside) for one in (*types, item.node.child_by_field_name("return_type"))]

    def look(self, frame: Frame, code: Code | None = None, byte: int = 0) -> Callable[[str, str], Numbers | None]:
        """What names in constant expressions stand for, at this place."""

        def found(kind: str, text: str) -> Numbers | None:
            if self.depth > MAX_DEPTH:
                return None
            self.depth += 1
            try:
                if kind == "path":
                    return self._path(text, frame)
                if kind == "field":
                    return self._field_number(text, frame)
                if kind == "left":
                    self.left = self.left or text
                    return None
                if kind == "method":
                    return Numbers.of(1) if declares_method(frame.scope, text, of_integers=True) else None
                if kind == "macro":
                    return Numbers.of(1) if frame.scope.macro(text) is not None else None
                if kind == "own":
                    return Numbers.of(1) if self._is_own(text, frame) else None
                if kind.startswith("call "):
                    return self._called(kind[5:], text, frame)
                value = self.fragment(text, frame, code, byte)
                if kind == "kind":
                    known = isinstance(value, Dtype) and value.name in INTEGERS
                    return replace(Numbers.of(0), type=value.name) if known and isinstance(value, Dtype) else None
                if kind == "size":
                    return _usize(value.expr.size) if isinstance(value, Map) else None
                bits = SCALARS.get(value.name, 0) if isinstance(value, Dtype) and not value.inside else 0
                return _usize(bits // 8) if bits >= 8 else None
            finally:
                self.depth -= 1

        return found

    def _path(self, text: str, frame: Frame) -> Numbers | None:
        parts, trait = parts_and_trait(text)
        if len(parts) == 1:
            if parts[0] in frame.locals:
                value = frame.locals[parts[0]]
                return value if isinstance(value, Numbers) else None
            if parts[0] in frame.generics:
                value, kind = frame.generics[parts[0]], _const_type(parts[0], frame.scope)
                return (typed(value, kind) if kind else value) if isinstance(value, Numbers) else None
        item = frame.scope.path(parts, values=True) if not trait else None
        own = self._owner(parts, frame) if item is None and len(parts) > 1 else None
        if own is not None:
            item = self._associated(parts, frame, "const_item", trait)
        if item is None or item.kind != "const":
            return None
        value_node = item.node.child_by_field_name("value")
        inside = Frame(item.scope, parameters_around(item, own), own=own)
        made = None if value_node is None else self._of_constant(item.code, value_node, inside)
        declared = self.read(item.code, item.node.child_by_field_name("type"), inside) if made is not None else None
        return as_declared(made, declared) if made is not None else None

    def _of_constant(self, code: Code, value: Node, inside: Frame) -> Numbers | None:
        """The value of a constant: an expression, or a block or an `if` over constants."""
        made = self.number(code, value, inside)
        if made is not None or value.type not in ("block", "if_expression"):
            return made
        there = Frame(inside.scope, inside.generics, own=inside.own)
        return const_block(code, value, there.locals, self.look(there), partial(self.sized, code, frame=there))

    def _is_own(self, path: str, frame: Frame) -> bool:
        """Whether a function of numbers may be another one than the standard library's of its name."""
        parts = parts_of(path)
        if parts[0] in frame.locals or (parts == ("size_of",) and in_prelude(frame.scope, path)):
            return parts[0] in frame.locals
        return standard_path(frame.scope, parts)[-1:] != parts[-1:]

    def _associated(self, parts: tuple[str, ...], frame: Frame, kind: str, trait: str = "") -> Item | None:
        """`S::N`, `Self::N`, `T::N`, `<S as B>::N`: a constant or a type in an `impl` of the type."""
        owner, bounded = self._owner(parts, frame), parts[-2] in frame.generics
        return associated(owner, parts[-1], kind, trait, bounded) if owner is not None else None

    def _owner(self, parts: tuple[str, ...], frame: Frame) -> Record | None:
        """The type before the last name of a path."""
        known = frame.own if parts[-2] == "Self" else frame.generics.get(parts[-2])
        item = frame.scope.path(parts[:-1]) if not isinstance(known, Record) else None
        if item is not None:
            known = self.alias(item) if item.kind == "type" else Record(item)
        elif "<" in parts[-2] and len(parts) == 2:
            known = self.fragment(parts[-2], frame, None, 0)
        return known if isinstance(known, Record) else None

    def _field_number(self, text: str, frame: Frame) -> Numbers | None:
        """`pair.1`, `job.count`: a number within a tuple or struct."""
        first, *names = text.split(".")
        value: Value | None = frame.locals.get(first)
        for name in names:
            if isinstance(value, Tuple) and name.isdigit() and int(name) < len(value.parts):
                value = value.parts[int(name)]
            else:
                value = value.parts.get(name) if isinstance(value, Record) else None
        return value if isinstance(value, Numbers) else None

    def _called(self, path: str, given: str, frame: Frame) -> Numbers | None:
        """The value of a function over numbers that is called by its path."""
        item = frame.scope.path(parts_of(path), values=True)
        if item is None or item.kind != "fn" or item.generics:
            return None
        return self.given_by(item, {}, None, [Numbers.of(int(one)) for one in given.split(",") if one])

    def given_by(
        self, item: Item, generics: Mapping[str, Value], own: Value | None, values: Sequence[Numbers]
    ) -> Numbers | None:
        """What a function gives for these numbers: `let` and `if` over one another, and an expression at the end."""
        body = item.node.child_by_field_name("body")
        parameters = [one for one in item.parameters if one.type == "parameter"]
        if body is None or len(values) != len(parameters):
            return None
        known: dict[str, Value] = {} if own is None else {"self": own}
        there = Frame(item.scope, {**parameters_around(item, own), **generics}, known, own)
        for one, value in zip(parameters, values, strict=True):
            pattern = one.child_by_field_name("pattern")
            number = as_declared(value, self.read(item.code, one.child_by_field_name("type"), there))
            if pattern is None or number is None:
                return None
            known[item.code.text(pattern)] = number
        made = const_block(item.code, body, known, self.look(there), partial(self.sized, item.code, frame=there))
        result = self.read(item.code, item.node.child_by_field_name("return_type"), there)
        return as_declared(made, result) if made is not None else None


def as_declared(number: Numbers, declared: Value | None) -> Numbers | None:
    """A number as one of the type that its place declares; None where it may be none of it."""
    return typed(number, declared.name) if isinstance(declared, Dtype) and declared.name in INTEGERS else number


def _is_constant(scope: NameScope, name: str) -> bool:
    item = scope.find(name, values=True)
    return item is not None and item.kind == "const"


def _usize(value: int) -> Numbers:
    return replace(Numbers.of(value), type="usize")


def _const_type(name: str, scope: NameScope) -> str:
    """The type of a generic parameter that is a constant: the one that all of this name in the module have, if any."""
    kinds = {kind for item in scope.module.functions for kind in _const_types(item.code, name)}
    kinds |= {kind for code, _, _ in scope.module.impls for kind in _const_types(code, name)}
    return kinds.pop() if len(kinds) == 1 and kinds <= INTEGERS.keys() else ""


@lru_cache(maxsize=256)
def _const_types(code: Code, name: str) -> frozenset[str]:
    found = re.findall(rb"\bconst\s+" + re.escape(name.encode()) + rb"\s*:\s*(\w+)", code.data)
    return frozenset(kind.decode("utf-8", "replace") for kind in found)
