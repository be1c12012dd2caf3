"""Conditions: what a condition asks, as a text that says the same of the same values wherever it stands.

Knows: names of locals by their values, constants by their numbers, comparisons of integers, what may change a name.
Does not know: what is decided by a question (`choices`), patterns (`patterns`), ways through a function (`paths`).
Law: two questions are equal only where they ask the same of the same values. A call, a place that somebody may write
and a name that is not resolved make a question of its own, and so does everything whose kind is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code, walk
from dmaverify.machines.rngd.rust.asked_terms import UNSAID, AskedTerms, below
from dmaverify.machines.rngd.rust.code import child, named, parts_of, range_at
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.functions import CELLS
from dmaverify.machines.rngd.rust.impls import imports_in_block
from dmaverify.machines.rngd.rust.integers import INTEGERS
from dmaverify.machines.rngd.rust.module import Item, NameScope
from dmaverify.machines.rngd.rust.values import (
    Dtype,
    Numbers,
    Opaque,
    Record,
    Sequence,
    Tuple,
    Unknown,
    Value,
    over_parts,
)
from dmaverify.program.ways import WayTerm
from dmaverify.values import dataclass, replace

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERALS = {"boolean_literal", "char_literal", "float_literal", "string_literal", "integer_literal"}
_ARITHMETIC = {"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"}
_COMPARED = {"==", "!=", "<", "<=", ">", ">="}
_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True)
class AskedCondition:
    """What a condition asks: whether `key` holds or, where it is `turned`, does not; of which `values`.

    `pure` where it says the same wherever it stands; `total` where it does not hold exactly where its opposite does.
    `term` is the condition, or what is asked that is none, of the numbers of a run.
    """

    key: str
    turned: bool
    values: tuple[Value, ...]
    pure: bool
    total: bool = False
    term: WayTerm = UNSAID


@dataclass(frozen=True)
class Declared:
    """One declaration of a name in a function: whether it is `mut`, its type, its value, whether it takes it apart."""

    changes: bool
    type: bytes
    value: bytes
    kind: str  # of the expression that is its value
    apart: bool


class _Unlike(Exception):
    """The text is nothing that could be compared."""


class Conditions(AskedTerms):
    """The part of reading that says what conditions ask."""

    def question(self, code: Code, condition: Node, frame: Frame) -> AskedCondition:
        """What a condition asks. Its values are the locals that it names where it cannot be compared."""
        values: list[Value] = []
        try:
            key, turned, total = self._truth(code, condition, frame, values)
        except _Unlike:
            words = re.findall(r"[A-Za-z_]\w*", code.text(condition))
            return AskedCondition("", False, tuple(frame.locals[word] for word in words if word in frame.locals), False)
        return AskedCondition(key, turned, tuple(values), True, total, self._asked_term(code, condition, frame, values))

    def expression(self, code: Code, node: Node, frame: Frame) -> AskedCondition:
        """The same of what is no condition: what a `match` takes apart."""
        values: list[Value] = []
        try:
            key = self._said(code, node, frame, values)
        except _Unlike:
            return replace(self.question(code, node, frame), pure=False)
        return AskedCondition(key, False, tuple(values), True, term=self._asked_term(code, node, frame, values))

    def _asked_term(self, code: Code, node: Node, frame: Frame, values: list[Value]) -> WayTerm:
        """What is asked as a term, where numbers of a run are among its values."""
        asked = any(isinstance(one, Numbers) or id(one) in self.scalars or id(one) in self.meant for one in values)
        return self.term(code, node, frame) if asked else UNSAID

    def takes_a_turn(self, code: Code, given: Node, frame: Frame) -> AskedCondition:
        """What `for _ in a..b` asks: whether a is below b."""
        ends = range_at(code, given)
        if ends is None or ends.low is None or ends.high is None:
            return replace(self.question(code, given, frame), pure=False)
        values: list[Value] = []
        try:
            low, high = self._said(code, ends.low, frame, values), self._said(ends.code, ends.high, frame, values)
        except _Unlike:
            return replace(self.question(code, given, frame), pure=False)
        key, turned = _compared("<=" if ends.closed else "<", low, high, True)
        first, end = self.term(code, ends.low, frame), self.term(ends.code, ends.high, frame)
        term = below(end, first).negated() if ends.closed else below(first, end)
        return AskedCondition(key, turned, tuple(values), True, True, term)

    def known_as(self, code: Code, node: Node, value: Value, frame: Frame) -> Value:
        """The value that a name gets from an expression: the very one only of a name that nothing changes."""
        while node.type in ("parenthesized_expression", "reference_expression") and named(node):
            if child(node, "mutable_specifier") is not None:
                return self.anew(value)
            node = named(node)[-1]
        if any(id(value) in one for one in (self.closures, self.counters, self.absent, self.perhaps_none)):
            return value
        if node.type == "tuple_expression" and isinstance(value, Tuple) and len(named(node)) == len(value.parts):
            pairs = zip(named(node), value.parts, strict=True)
            return Tuple(tuple(self.known_as(code, one, part, frame) for one, part in pairs))
        if node.type == "struct_expression" and b".." not in (node.text or b""):
            return value  # its fields have values of their own
        if node.type in ("identifier", "self"):
            stays = code.text(node) in frame.locals and not self.may_change(code.text(node), frame)
            return value if stays else self.anew(value)
        made = self.anew(value)
        if isinstance(made, (Opaque, Unknown)) and node.type in ("unary_expression", "binary_expression"):
            asked = self.question(code, node, frame)
            if asked.pure:
                self.meant[id(made)] = asked
                self.kept += [made, *asked.values]
        return made

    def anew(self, value: Value, *, stays: bool = True) -> Value:
        """The same by another identity, so that no question over it is one over what it was made of. What is nothing is
        that as far as it `stays` what it is.
        """
        match value:
            case Unknown() | Dtype() | Opaque():
                copy = replace(value)
                if stays and id(value) in self.absent:
                    self.absent[id(copy)] = copy, self.absent[id(value)][1]
                if id(value) in self.perhaps_none:
                    self.perhaps_something(copy)
                return copy
            case Tuple() | Record():
                return over_parts(value, partial(self.anew, stays=stays))
            case Sequence(part, _, items) if items is None and isinstance(part, (Unknown, Dtype, Opaque)):
                made = replace(value, part=self.anew(part, stays=stays))
                if id(value) in self.counts:
                    self.counts[id(made)] = self.counts[id(value)]
                    self.kept.append(made)
                return made
            case _:
                return value

    # ------------------------------------------------------------ what is asked

    def _truth(self, code: Code, node: Node, frame: Frame, values: list[Value]) -> tuple[str, bool, bool]:
        """What a condition asks, whether it is turned round, and whether its opposite is its negation."""
        if node.type == "parenthesized_expression" and len(named(node)) == 1:
            return self._truth(code, named(node)[0], frame, values)
        if node.type == "unary_expression" and node.children[0].type == "!":
            key, turned, total = self._truth(code, named(node)[0], frame, values)
            return key, not turned, total
        if node.type == "identifier":
            meant = self.meant.get(id(frame.locals.get(code.text(node))))
            if meant is not None:
                self._word(code.text(node), frame, [])
                values += meant.values
                return meant.key, meant.turned, meant.total
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if node.type != "binary_expression" or left is None or right is None or sign is None:
            return self._said(code, node, frame, values), False, True
        if sign.type in ("&&", "||"):
            parts = [self._truth(code, one, frame, values) for one in (left, right)]
            told = [("!" if turned else "") + key for key, turned, _ in parts]
            return f"({told[0]} {sign.type} {told[1]})", False, True
        if sign.type not in _COMPARED:
            return self._said(code, node, frame, values), False, True
        sides = [(left, right), (right, left)] if sign.type in ("==", "!=") else []
        for one, other in sides:
            if other.type == "boolean_literal":
                key, turned, total = self._truth(code, one, frame, values)
                return key, turned is not ((code.text(other) == "true") is not (sign.type == "==")), total
        kinds = {self._integer(code, one, frame) for one in (left, right)}
        total = True in kinds and False not in kinds
        own = self._said(code, left, frame, values), self._said(code, right, frame, values)
        return *_compared(sign.type, *own, total), total or sign.type in ("==", "!=")

    def _said(self, code: Code, node: Node, frame: Frame, values: list[Value], within: bool = False) -> str:
        """An expression with values in place of names; `within` where a field of it or what it refers to is asked."""
        kind, inner = node.type, named(node)
        if kind in ("parenthesized_expression", "reference_expression") and len(inner) == 1:
            return self._said(code, inner[0], frame, values, within)
        if kind in ("identifier", "self"):
            return self._word(code.text(node), frame, values, within)
        if kind == "unary_expression":
            sign = node.children[0].type
            own = self._said(code, inner[0], frame, values, within or sign == "*")
            return own if sign == "*" else f"{sign}({own})"
        if kind in _LITERALS or kind == "scoped_identifier":
            return self._constant(code, node, frame)
        if kind == "field_expression":
            name = node.child_by_field_name("field")
            return f"{self._said(code, inner[0], frame, values, True)}.{code.text(name) if name is not None else ''}"
        if kind == "tuple_expression":
            return f"({', '.join(self._said(code, one, frame, values) for one in inner)},)"
        if kind == "type_cast_expression" and inner[-1].type == "primitive_type":
            return f"({self._said(code, inner[0], frame, values)} as {code.text(inner[-1])})"
        if kind == "macro_invocation" and code.text(node).startswith("cfg!"):
            return " ".join(code.text(node).split())
        sign_node = node.child_by_field_name("operator")
        if kind == "binary_expression" and sign_node is not None and sign_node.type in _ARITHMETIC:
            left, right = (self._said(code, one, frame, values) for one in inner)
            return f"({left} {sign_node.type} {right})"
        if kind == "binary_expression" and sign_node is not None:
            key, turned, _ = self._truth(code, node, frame, values)
            return f"!({key})" if turned else key
        raise _Unlike

    def _word(self, name: str, frame: Frame, values: list[Value], within: bool = False) -> str:
        """A name by what it stands for."""
        item, value = frame.scope.find(name, values=True), frame.locals.get(name)
        if value is not None:
            if self.may_change(name, frame, within) or (item is not None and item.scope.kind == "block"):
                raise _Unlike
            values.append(value)
            self.kept.append(value)
            return str(value.low) if isinstance(value, Numbers) and value.single is not None else f"#{id(value)}"
        number = self.types.look(frame)("path", name)
        if number is not None and number.single is not None:
            return str(number.low)
        if item is not None and item.node.type == "const_item":
            return f"const {id(item)}"
        if item is not None and item.node.type == "static_item" and not _written(item):
            return f"static {id(item)}"
        if item is None and self.item is not None and name in {own for own, _ in self.item.generics}:
            return f"{name} of {self._visit(frame)}"
        raise _Unlike

    def _constant(self, code: Code, node: Node, frame: Frame) -> str:
        """A literal or a path: its number, else what it is called within one visit of a function."""
        text = " ".join(code.text(node).split())
        number = self.types.number(code, node, frame)
        if number is not None and number.single is not None:
            return str(number.low)
        if node.type in _LITERALS:
            return text
        item = frame.scope.path(parts_of(text), values=True)
        if (item is not None and item.node.type == "static_item") or "!" in text or imports_in_block(frame.scope):
            raise _Unlike
        return f"{text} of {self._visit(frame)}"

    def _visit(self, frame: Frame) -> int:
        """Which reading of a function a frame belongs to."""
        while frame.outer is not None:
            frame = frame.outer
        self.roots[id(frame)] = frame
        return id(frame)

    def _integer(self, code: Code, node: Node, frame: Frame) -> bool | None:
        """Whether an expression is an integer; None where nothing says so."""
        kind, inner = node.type, named(node)
        if kind in ("parenthesized_expression", "unary_expression", "reference_expression") and inner:
            return self._integer(code, inner[-1], frame)
        if kind == "float_literal" or (kind == "integer_literal" and re.search(r"f\d+$", code.text(node))):
            return False
        if kind == "type_cast_expression":
            return _of_integers(code.text(inner[-1]))
        if kind == "binary_expression":
            own = {self._integer(code, one, frame) for one in inner}
            return False if False in own else True if True in own else None
        if kind == "field_expression":
            return self._is_integer(self.value(code, node, frame, None))
        if kind == "identifier" and code.text(node) in frame.locals:
            return self._is_integer(frame.locals[code.text(node)], code.text(node))
        number = self.types.number(code, node, frame)
        return True if number is not None else False if kind in _LITERALS else None

    def _is_integer(self, value: Value, name: str = "") -> bool | None:
        if isinstance(value, Dtype) or id(value) in self.scalars:
            return (value.name if isinstance(value, Dtype) else self.scalars[id(value)]) in INTEGERS
        if isinstance(value, Numbers):
            return True
        kinds = {own.type.decode("utf-8", "replace").lstrip("&").strip() for own in self._declared(name)}
        told = {_of_integers(kind) for kind in kinds - {""}}
        if told:
            return told.pop() if len(told) == 1 and (told == {True} or "" not in kinds) else None
        return None if isinstance(value, (Opaque, Unknown)) else False

    # ------------------------------------------------------------ what may change

    def may_change(self, name: str, frame: Frame, within: bool = False, deep: int = 0) -> bool:
        """Whether somebody may write what a name stands for; `within` where a field of it or what it refers to is
        asked.
        """
        found = self._declared(name)
        return (within and not found) or any(self._written_by(one, frame, within, deep) for one in found)

    def _written_by(self, own: Declared, frame: Frame, within: bool, deep: int) -> bool:
        if own.changes or CELLS.search(own.type):
            return True
        if not within:
            return False
        if own.apart or CELLS.search(own.value):
            return True
        if own.type:
            return self._hidden(own.type, frame.scope)
        if own.kind == "identifier" and deep < 4:
            return self.may_change(own.value.decode("utf-8", "replace"), frame, True, deep + 1)
        return own.kind not in ("struct_expression", "tuple_expression", "reference_expression")

    def _hidden(self, text: bytes, scope: NameScope) -> bool:
        """Whether a type may be a `&mut` or a cell by another name."""
        words = re.findall(r"[A-Za-z_]\w*", text.decode("utf-8", "replace"))
        generics = {name for name, _ in self.item.generics} if self.item is not None else set()
        items = [scope.find(word) for word in words]
        names = [one.node.text or b"" for one in items if one is not None and one.kind == "type"]
        return any(word in generics or word in ("dyn", "impl") for word in words) or any(map(CELLS.search, names))

    def _declared(self, name: str) -> list[Declared]:
        """The declarations of a name in the function that is read; in those around it for a closure that came along."""
        items = self.stack if self.closing else [self.item] if self.item is not None else []
        found: list[Declared] = []
        for item in items:
            if item not in self.declared:
                self.declared[item] = {}
                self.declare(item, item.code, item.node)
            found += self.declared[item].get(name, ())
        return found

    def declare(self, item: Item, code: Code, tree: Node) -> None:
        """Enters what a function declares, or a macro in it."""
        known: dict[str, list[Declared]] = self.declared[item]
        for name, one in _declarations(code, tree):
            held = known.setdefault(name, [])
            if one not in held:
                held.append(one)


def _of_integers(kind: str) -> bool | None:
    """Whether a type is one of integers; None where its name does not say so."""
    return True if kind in INTEGERS else False if kind in ("f32", "f64") else None


def _declarations(code: Code, function: Node) -> Iterable[tuple[str, Declared]]:
    """Every declaration of a function, by the names that it declares."""
    for one in walk(function):
        if one.type == "self_parameter":
            changes = one.children[0].type == "mutable_specifier"
            yield "self", Declared(changes, one.text or b"", b"", "", False)
            continue
        if one.type not in ("parameter", "let_declaration", "mut_pattern"):
            continue
        pattern, declared, value = (one.child_by_field_name(name) for name in ("pattern", "type", "value"))
        later = one.type == "let_declaration" and value is None
        changes = later or any(part.type == "mutable_specifier" for part in one.children)
        apart = pattern is not None and pattern.type not in ("identifier", "self")
        type_text, text = ((part.text or b"") if part is not None else b"" for part in (declared, value))
        told = Declared(changes, type_text, text, value.type if value is not None else "", apart)
        for inner in walk(pattern or one):
            if inner.type in ("identifier", "self", "shorthand_field_identifier"):
                yield code.text(inner), told


def _written(item: Item) -> bool:
    """Whether a static may be written while a kernel runs."""
    declared = item.node.child_by_field_name("type")
    cells = CELLS.search((declared.text or b"") if declared is not None else b"static")
    return cells is not None or child(item.node, "mutable_specifier") is not None


def _compared(sign: str, a: str, b: str, total: bool) -> tuple[str, bool]:
    """A comparison as `==` or `<`, as far as it can be turned, with a number on its right side."""
    if sign in ("==", "!="):
        first, second = sorted((a, b), key=lambda one: (_NUMBER.fullmatch(one) is not None, one))
        return f"({first} == {second})", sign == "!="
    if sign in (">", ">="):
        a, b, sign = b, a, sign.replace(">", "<")
    if not total:
        return f"({a} {sign} {b})", False
    if _NUMBER.fullmatch(a):
        return f"({b} < {int(a) + (sign == '<')})", True
    if sign == "<=" and _NUMBER.fullmatch(b):
        return f"({a} < {int(b) + 1})", False
    return (f"({a} < {b})", False) if sign == "<" else (f"({b} < {a})", True)
