"""Numbers that expressions give: operators and casts of whatever their parts are, elements of lists, constants that are
lists, tuples or structs of numbers, functions of numbers.

Knows: what reading gives the parts of an expression, tables of numbers that constants hold.
Does not know: constant expressions and what they combine (`numbers`), what an operation gives (`integers`).
Law: an element of a list at a place that is not known is any of them; what may leave its type is not known. A constant
is a table only where every number in it is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.calls import MOVES
from dmaverify.machines.rngd.rust.code import child, named
from dmaverify.machines.rngd.rust.declares import declares_method
from dmaverify.machines.rngd.rust.escapes import clip
from dmaverify.machines.rngd.rust.flow import ControlFlow
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.integers import INTEGERS
from dmaverify.machines.rngd.rust.lists import elements, lacking, listed, loose
from dmaverify.machines.rngd.rust.module import Item
from dmaverify.machines.rngd.rust.numbers import as_named, number_at
from dmaverify.machines.rngd.rust.values import (
    Dtype,
    Numbers,
    Opaque,
    Sequence,
    Tuple,
    Unknown,
    Value,
    parts_in,
    sources_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_SIGNS = {"+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"}
_TABLES = {"array_expression", "reference_expression", "tuple_expression", "struct_expression"}
_LEAVES = "may leave"
_BY_TEXT = re.compile(r"(?<!\.)\b(?:min|max)$|\bsize_of\b|\.checked_\w+\(.*\.unwrap$", re.DOTALL)


class RustArithmetic(ControlFlow):
    """The part of reading that knows numbers; `Expressions` adds all other expressions."""

    def _made(self, code: Code, node: Node, parts: list[Node], values: list[Value], frame: Frame) -> Numbers | None:
        """The number that an expression makes of its parts, whose values were read; None where one is none."""
        read = {one.id: value for one, value in zip(parts, values, strict=True) if isinstance(value, Numbers)}
        return number_at(code, node, self.types.look(frame), read) if len(read) == len(parts) else None

    def _binary_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """An operator on what its sides are, where they are more than names of numbers."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None or code.text(sign) not in _SIGNS:
            return super()._binary_expression(code, node, frame, expected)
        sides = [self.value(code, one, frame, None) for one in (left, right)]
        singles = [one.single if isinstance(one, Numbers) else None for one in sides]
        if code.text(sign) in "/%" and singles[1] == 0:
            self.walk.leave("program")
        made = self._made(code, node, [left, right], sides, frame)
        if made is None and None not in singles:
            return Unknown(f"`{clip(code.text(node))}` {_LEAVES} its type", code.span(node))
        return made or Opaque("", sources_of(sides[0]) | sources_of(sides[1]))

    def _type_cast_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """`e as u8` of what `e` is."""
        given = node.child_by_field_name("value")
        value = self.value(code, given, frame, None) if given is not None else Unknown("")
        made = self._made(code, node, [given], [value], frame) if given is not None else None
        return made or Opaque("", sources_of(value))

    def _unary_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """`*x` is what it refers to; `!x` and `-x` are values of their own."""
        sign, inner = node.children[0].type, named(node)[-1]
        value = self.value(code, inner, frame, expected if sign == "*" else None)
        if sign == "*":
            return value
        if not isinstance(value, Numbers):
            return Opaque("", sources_of(value))
        made = self._made(code, node, [inner], [value], frame)
        return made or Unknown(f"what `{sign}` makes of `{clip(code.text(inner))}`", code.span(inner))

    # ------------------------------------------------------------ functions

    def number_given(
        self, item: Item, generics: Mapping[str, Value], own: Value | None, values: list[Value], result: Value
    ) -> Value | None:
        """What a function of numbers gives for these; None where that is not known, or it is none."""
        numbers = [as_named(one) for one in values if isinstance(one, Numbers)]
        if len(numbers) < len(values) or not isinstance(result, Dtype) or result.name not in INTEGERS:
            return None
        body = item.node.child_by_field_name("body")
        if body is None or body.has_error or MOVES.search(body.text or b""):
            return None
        return self.types.given_by(item, generics, own, numbers)

    def _call_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """`min(a, b)`, `checked_mul(2).unwrap()` as constant expressions; a closure that is called where it stands is
        read with what it is given.
        """
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is not None and _BY_TEXT.search(code.text(function)) is not None:
            number = self.types.number(code, node, frame)
            if number is not None:
                return number
        while function is not None and function.type == "parenthesized_expression" and len(named(function)) == 1:
            function = named(function)[0]
        if function is None or function.type != "closure_expression" or given is None:
            return super()._call_expression(code, node, frame, expected)
        arguments, open_ = self.listed_here(code, given, frame)
        if open_ is not None:
            return super()._call_expression(code, node, frame, expected)
        values = [self.known_as(code, one, self.value(code, one, frame, None), frame) for one in arguments]
        return self.closure(code, function, frame, values, expected)

    def _other(
        self, code: Code, node: Node, name: str, receiver: Value, generics: Node | None, arguments: list[Node],
        frame: Frame, expected: Value | None,
    ) -> Value:  # fmt: skip
        """A method of an integer, of what it is called on and given."""
        plain = not any(MOVES.search(one.text or b"") for one in arguments) and not name.startswith("checked_")
        if isinstance(receiver, Numbers) and plain and not declares_method(frame.scope, name, of_integers=True):
            given = [receiver, *(self.value(code, one, frame, None) for one in arguments)]
            made = self._made(code, node, [named(node.children[0])[0], *arguments], given, frame)
            if made is not None and name not in ("into", "clone", "get"):
                return made
        return super()._other(code, node, name, receiver, generics, arguments, frame, expected)

    # ------------------------------------------------------------ lists and constants

    def _index_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        inner = named(node)
        whole = self.value(code, inner[0], frame, None) if inner else Unknown("")
        places = self._places(code, inner[1], frame, whole) if len(inner) > 1 else None
        at = places or (self.value(code, inner[1], frame, None) if len(inner) > 1 else Unknown(""))
        if not isinstance(whole, Sequence):
            return Unknown("an element of something")
        if isinstance(at, Sequence):
            return self._slice(whole, at)
        if isinstance(at, Unknown) and (_LEAVES in at.reason or lacking(at)):
            return at  # it stops there
        found = self.one_of(whole, at.single if isinstance(at, Numbers) else None)
        self.walk.stops += [self.walk.when] if lacking(found) else []
        return found

    def _places(self, code: Code, node: Node, frame: Frame, whole: Value) -> Sequence | None:
        """`..b`, `a..`, `..` of a list whose length is known."""
        own = elements(whole) if isinstance(whole, Sequence) else None
        ends = [one.type in ("..", "..=") for one in node.children] if node.type == "range_expression" else []
        if own is None or not own or not (ends[:1] == [True] or ends[-1:] == [True]):
            return None
        values = [self.value(code, one, frame, None) for one in named(node)]
        singles = [one.single for one in values if isinstance(one, Numbers)]
        if len(singles) < len(values) or None in singles:
            return None
        low = 0 if ends[0] else singles[0] or 0
        high = len(own) if ends[-1] else (singles[-1] or 0) + (child(node, "..=") is not None)
        return listed([Numbers.of(at) for at in range(low, high)]) if 0 <= low < high <= len(own) else None

    def _slice(self, value: Sequence, places: Sequence) -> Sequence:
        """`list[a..b]`."""
        own, at = elements(value), elements(places)
        found = [place.low for place in at or () if isinstance(place, Numbers)]
        if own is None or at is None or max(found, default=0) >= len(own):
            self.ledger.any_of(value, self.walk.when)
            return loose(value)
        return listed([own[place] for place in found])

    def list_of(self, item: Item | None) -> Value | None:
        """A constant that is a list, a tuple or a struct of numbers, all of them known."""
        given = item.node.child_by_field_name("value") if item is not None else None
        if item is None or item.kind != "const" or given is None or given.type not in _TABLES:
            return None
        declared = self.types.read(item.code, item.node.child_by_field_name("type"), Frame(item.scope))
        found = self.merged(self.value(item.code, given, Frame(item.scope), declared), declared)
        return found if _all_numbers(found) else None

    def _range_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """A range, whose ends are constant expressions, or numbers as they are read."""
        found = self.range(code, node, frame)
        if found is not None:
            return found
        values = [self.value(code, one, frame, None) for one in named(node)]
        ends = [self._made(code, one, [one], [value], frame) for one, value in zip(named(node), values, strict=True)]
        if len(ends) == 2 and ends[0] is not None and ends[1] is not None:
            found = self.between(ends[0], ends[1], closed=child(node, "..=") is not None)
        return found or Sequence(Unknown("a number of a range that is not known"))


def _all_numbers(value: Value) -> bool:
    match value:
        case Numbers():
            return value.single is not None
        case Sequence():
            own = elements(value)
            return own is not None and all(map(_all_numbers, own))
        case _:
            parts = parts_in(value)
            return (bool(parts) or isinstance(value, Tuple)) and all(map(_all_numbers, parts))
