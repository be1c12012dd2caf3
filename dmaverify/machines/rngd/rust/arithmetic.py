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
from dmaverify.machines.rngd.rust.asked_terms import below, equal, of_number, of_type
from dmaverify.machines.rngd.rust.calls import MOVES
from dmaverify.machines.rngd.rust.code import RangeEnds, named, range_at
from dmaverify.machines.rngd.rust.declares import declares_method
from dmaverify.machines.rngd.rust.doubts import Doubts
from dmaverify.machines.rngd.rust.escapes import clip
from dmaverify.machines.rngd.rust.failures import beyond, fails, gives_none, method_fails
from dmaverify.machines.rngd.rust.frames import Frame
from dmaverify.machines.rngd.rust.impls import method_of, methods_named
from dmaverify.machines.rngd.rust.integers import INTEGERS
from dmaverify.machines.rngd.rust.lists import elements, lacking, listed, loose
from dmaverify.machines.rngd.rust.module import Item
from dmaverify.machines.rngd.rust.numbers import as_named, number_at
from dmaverify.machines.rngd.rust.values import (
    Configuration,
    Dtype,
    Numbers,
    Opaque,
    Pipeline,
    Record,
    RustTensor,
    Sequence,
    Tuple,
    Unknown,
    Value,
    parts_in,
    sources_of,
)
from dmaverify.program.ways import OnWay, WayTerm
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

_SIGNS = {"+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"}
_TABLES = {"array_expression", "reference_expression", "tuple_expression", "struct_expression"}
_LEAVES = "may leave"
_STEPS = {"step_by", "chunks", "chunks_exact", "windows"}
_AT = {*_STEPS, "get", "first", "last"}
_HAS = {"first", "last", "min", "max", "next", "min_by_key", "max_by_key", "min_by", "max_by"}
_LONG = {"iter", "into_iter", "rev", "copied", "cloned", "map", "enumerate"}
"""Methods that give something where a list has an element, and adapters that leave it its length."""
_NAMES_CALLED = {"identifier", "scoped_identifier", "generic_function", "field_expression"}
_BY_TEXT = re.compile(r"(?<!\.)\b(?:min|max)$|\bsize_of\b|\.checked_\w+\(.*\.unwrap$", re.DOTALL)


class RustArithmetic(Doubts):
    """The part of reading that knows numbers; `Expressions` adds all other expressions."""

    def _made(self, code: Code, node: Node, parts: list[Node], values: list[Value], frame: Frame) -> Numbers | None:
        """The number that an expression makes of its parts, whose values were read; None where one is none."""
        read = {one.id: value for one, value in zip(parts, values, strict=True) if isinstance(value, Numbers)}
        return number_at(code, node, self.types.look(frame), read) if len(read) == len(parts) else None

    def _binary_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """An operator on what its sides are, where they are more than names of numbers."""
        if range_at(code, node) is not None:
            return self._range_expression(code, node, frame, expected)
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None or code.text(sign) not in _SIGNS:
            return super()._binary_expression(code, node, frame, expected)
        sides = [self.value(code, one, frame, None) for one in (left, right)]
        singles = [one.single if isinstance(one, Numbers) else None for one in sides]
        how = fails(code.text(sign), *_numbers(sides))
        self.failed(how)
        made = self._made(code, node, [left, right], sides, frame)
        if made is None and how is None:
            read = {left.id: sides[0], right.id: sides[1]}
            self.operator_doubted(code, node, code.text(sign), [left, right], read, frame)
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
        self.failed(method_fails("neg", [value]) if sign == "-" else None)
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
        kind = code.text(function).removesuffix("::try_from") if function is not None else ""
        if kind in INTEGERS and given is not None and len(named(given)) == 1:
            value = self.value(code, named(given)[0], frame, None)
            how = beyond(value, *INTEGERS[kind], checked=False) if isinstance(value, Numbers) else None
            if how is not None and how.every:
                return self.nothing_at_all("Err")
            one = named(given)[0]
            way = self.outside(code, node, one, INTEGERS[kind], {one.id: value}, frame)
            if way is not None:
                return self.nothing_where(super()._call_expression(code, node, frame, expected), way)
            if isinstance(value, Numbers):
                return replace(value, type=kind)
        by_name = function is None or function.type in _NAMES_CALLED
        while function is not None and function.type == "parenthesized_expression" and len(named(function)) == 1:
            function = named(function)[0]
        if function is None or function.type != "closure_expression" or given is None:
            made = super()._call_expression(code, node, frame, expected)
            return made if by_name else self.comes_back(code, node, "", made, frame)
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
        count = receiver.count if name == "len" and isinstance(receiver, Sequence) else None
        stays = count is not None and self._stays(code, named(node.children[0])[0], frame)
        if count is not None and stays and not methods_named(frame.scope, name):
            return replace(Numbers.of(count), type="usize")
        plain = not any(MOVES.search(one.text or b"") for one in arguments)
        asked = isinstance(receiver, Numbers) or self.has_none(code, node, name, arguments, frame)
        nothing: OnWay | None = None
        if asked and plain and not declares_method(frame.scope, name, of_integers=True):
            of = [named(node.children[0])[0], *arguments]
            given = [receiver, *(self.value(code, one, frame, None) for one in arguments)]
            numbers = [one for one in given if isinstance(one, Numbers)]
            known = len(numbers) == len(given)
            how = method_fails(name, numbers) if known else None
            self.failed(how)
            if known and gives_none(name, numbers):
                return self.nothing_at_all("None")
            made = self._made(code, node, of, given, frame)
            if made is not None and name not in ("into", "clone", "get") and not name.startswith("checked_"):
                return made
            if how is None:
                read = {one.id: value for one, value in zip(of, given, strict=True)}
                nothing = self.method_doubted(code, node, name, of, read, frame)
        if isinstance(receiver, Sequence) and name in _AT and not methods_named(frame.scope, name):
            found = self._lacks(code, node, name, receiver, arguments, frame)
            if found is not None:
                return found
        result = super()._other(code, node, name, receiver, generics, arguments, frame, expected)
        untyped = name.startswith("checked_") and self._integer(code, named(node.children[0])[0], frame) is None
        asked = self.has_none(code, node, name, arguments, frame) and not untyped
        own = isinstance(receiver, Record) and method_of(receiver, name) is not None
        if isinstance(receiver, Sequence) and not declares_method(frame.scope, name, of_integers=True):
            asked = asked or name in _STEPS or self._has(code, node, name, receiver, arguments, frame)
        if not (asked or own or isinstance(receiver, (Pipeline, RustTensor))):
            result = self.comes_back(code, node, name, result, frame)
        return self.nothing_where(result, nothing) if nothing is not None else result

    # ------------------------------------------------------------ lists and constants

    def _lacks(
        self, code: Code, node: Node, name: str, whole: Sequence, arguments: list[Node], frame: Frame
    ) -> Value | None:
        """What `get(9)`, `first()` or `step_by(0)` come to where there is no such element, or no such step."""
        given = [self.types.number(code, one, frame) for one in arguments]
        at = 0 if name in ("first", "last") else given[0].single if len(given) == 1 and given[0] is not None else None
        if name in _STEPS:
            if at == 0:
                self.stop()
            elif at is None and len(arguments) == 1:
                none = equal(self.term(code, arguments[0], frame), of_number(0))
                self.doubted(code, node, arguments, none, frame)
            return None
        lists = named(node.children[0])[0]
        stays = len(arguments) <= 1 and self._stays(code, lists, frame)
        if whole.count is None or not stays or (at is not None and at < whole.count):
            return None
        if at is not None:
            return self.nothing_at_all("None")
        way = (
            self.outside(code, node, arguments[0], (0, whole.count), {}, frame, "usize")
            if len(arguments) == 1
            else None
        )
        return self.nothing_where(self.one_of(whole, None), way) if way is not None else None

    def _has(self, code: Code, node: Node, name: str, whole: Sequence, arguments: list[Node], frame: Frame) -> bool:
        """Whether a list of constants, or its iterator, surely has the element that a method asks for."""
        of = named(node.children[0])[0]
        while of.type == "call_expression" and code.text(of.children[0]).rpartition(".")[2] in _LONG:
            of = named(of.children[0])[0]
        constant = of.type in ("range_expression", "parenthesized_expression")
        at = self.types.number(code, arguments[0], frame) if name in ("get", "nth") and len(arguments) == 1 else None
        least = at.high + 1 if at is not None else int(name in _HAS)
        return 0 < least <= (whole.count or 0) and (constant or self._stays(code, of, frame))

    def _stays(self, code: Code, node: Node, frame: Frame) -> bool:
        """Whether a list is as long as it is known to be: nothing can change it."""
        while node.type in ("parenthesized_expression", "reference_expression", "index_expression") and named(node):
            node = named(node)[0] if node.type == "index_expression" else named(node)[-1]
        if node.type == "identifier":
            return not self.may_change(code.text(node), frame)
        return node.type == "array_expression" or (node.type == "macro_invocation" and node.children[0].text == b"vec")

    def _index_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        inner = named(node)
        whole = self.value(code, inner[0], frame, None) if inner else Unknown("")
        ends = range_at(code, inner[1]) if len(inner) > 1 else None
        stays = isinstance(whole, Sequence) and self._stays(code, inner[0], frame)
        if ends is not None and isinstance(whole, Sequence):
            low, high = self._ends_read(code, ends, frame)
            count = whole.count if stays else None
            told = self._ends_as_terms(code, ends, low, high, frame)
            if _lies_outside(count, ends, low, high):
                self.stop()
            else:
                self.slice_doubted(code, node, told, count, frame)
            part, last = self._slice(whole, ends, low, high), told[1] or (of_number(count) if count else None)
            if part.count is None and last is not None:
                part = replace(part)
                self.counts[id(part)] = of_type(WayTerm("-", (last, told[0] or of_number(0))), INTEGERS["usize"])
                self.kept.append(part)
            return part
        at = self.value(code, inner[1], frame, None) if len(inner) > 1 else Unknown("")
        if not isinstance(whole, Sequence):
            self.unlisted(code, node, frame)
            return self.perhaps_something(Unknown("an element of something"))
        if isinstance(at, Sequence):
            return self._several(whole, at)
        if lacking(at):
            return at  # it stops there
        found = self.one_of(whole, at.single if isinstance(at, Numbers) else None)
        if stays and whole.count is not None:
            how = beyond(at, 0, whole.count, checked=False) if isinstance(at, Numbers) else None
            self.failed(how)
            way = self.outside(code, node, inner[1], (0, whole.count), {inner[1].id: at}, frame, "usize")
            if how is None and way is not None:
                self.stop(way)
        elif stays and id(whole) in self.counts:
            self.doubted(code, node, inner[1:], self._misses(code, inner[1], at, self.counts[id(whole)], frame), frame)
        elif whole.count is None and not self._of_caller(code, inner[0]):
            self.perhaps_ends()
        return found

    def unlisted(self, code: Code, node: Node, frame: Frame) -> None:
        """That something has an element that nobody knows of is a condition, where no run gives it others."""
        if not self.hangs(code, node, frame) and not self._of_caller(code, node):
            self.perhaps_ends()

    def _misses(self, code: Code, node: Node, at: Value, count: WayTerm, frame: Frame) -> WayTerm:
        """That a list of so many elements has none at a place."""
        term = of_type(self.term(code, node, frame, {node.id: at}), INTEGERS["usize"])
        return below(term, count).negated()

    def _of_caller(self, code: Code, node: Node) -> bool:
        """Whether a list is a parameter, or a part of one, which may have any number of elements."""
        while node.type not in ("identifier", "self") and named(node):
            node = named(node)[0]
        declared = self._declared(code.text(node))
        return bool(declared) and not any(one.kind or one.apart for one in declared)

    def _slice(self, value: Sequence, ends: RangeEnds, low: Numbers | None, high: Numbers | None) -> Sequence:
        """`list[a..b]`, `list[..b]`, `list[a..]`."""
        own = elements(value)
        first = 0 if ends.low is None else low.single if low is not None else None
        last = len(own or ()) if ends.high is None else high.single if high is not None else None
        if own is None or first is None or last is None or not 0 <= first < last + ends.closed <= len(own):
            self.ledger.any_of(value, self.walk.when)
            return loose(value)
        return listed(own[first : last + ends.closed])

    def _several(self, value: Sequence, places: Sequence) -> Sequence:
        """`list[r]` of a range that has a name."""
        own, at = elements(value), elements(places)
        found = [place.low for place in at or () if isinstance(place, Numbers)]
        if own is None or at is None or max(found, default=0) >= len(own):
            self.ledger.any_of(value, self.walk.when)
            return loose(value)
        return listed([own[place] for place in found])

    def list_of(self, item: Item | None) -> Value | None:
        """A constant that is a list, a tuple or a struct of numbers, all of them known; or a configuration."""
        given = item.node.child_by_field_name("value") if item is not None else None
        if item is None or item.kind != "const" or given is None or given.type not in _TABLES:
            return None
        declared = self.types.read(item.code, item.node.child_by_field_name("type"), Frame(item.scope))
        found = self.merged(self.value(item.code, given, Frame(item.scope), declared), declared)
        if isinstance(found, Configuration) or _all_numbers(found):
            return found
        count = found.count if isinstance(found, Sequence) else None
        return Sequence(Unknown("an element of a constant", item.code.span(given)), count) if count else None

    def _range_expression(self, code: Code, node: Node, frame: Frame, expected: Value | None) -> Value:
        """A range, whose ends are constant expressions, or numbers as they are read."""
        ends, found = range_at(code, node), self.range(code, node, frame)
        if found is not None or ends is None:
            return found or self._rest(code, node, frame)
        low, high = self._ends_read(code, ends, frame)
        if low is not None and high is not None:
            found = self.between(low, high, closed=ends.closed)
        return found or Sequence(Unknown("a number of a range that is not known"))

    def _ends_read(self, code: Code, ends: RangeEnds, frame: Frame) -> tuple[Numbers | None, Numbers | None]:
        """The ends of a range as they are read, None where one is open or no number that is known."""
        made: list[Numbers | None] = []
        for own, one in ((code, ends.low), (ends.code, ends.high)):
            value = self.value(own, one, frame, None) if one is not None else Unknown("")
            made.append(self._made(own, one, [one], [value], frame) if one is not None else None)
        return made[0], made[1]

    def _ends_as_terms(
        self, code: Code, ends: RangeEnds, low: Numbers | None, high: Numbers | None, frame: Frame
    ) -> tuple[WayTerm | None, WayTerm | None]:
        """The ends of a range as terms, the last one as that before which it ends; None where one is open."""
        made: list[WayTerm | None] = []
        for own, one, read in ((code, ends.low, low), (ends.code, ends.high, high)):
            known: dict[int, Value] = {one.id: read} if one is not None and read is not None else {}
            made.append(self.term(own, one, frame, known) if one is not None else None)
        last = made[1] if made[1] is None or not ends.closed else WayTerm("+", (made[1], of_number(1)))
        return made[0], last


def _numbers(values: list[Value]) -> list[Numbers | None]:
    return [one if isinstance(one, Numbers) else None for one in values]


def _lies_outside(count: int | None, ends: RangeEnds, low: Numbers | None, high: Numbers | None) -> bool:
    """Whether a slice surely stops: it begins behind its end, or ends behind that of its list."""
    begin = low.low if low is not None else 0
    least, most = (high.low + ends.closed, high.high + ends.closed) if high is not None else (None, None)
    most = count if ends.high is None else most
    return (most is not None and begin > most) or (count is not None and least is not None and least > count)


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
