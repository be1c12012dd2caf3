"""Constant expressions of Rust as numbers: literals, arithmetic, constants, `<m![A]>::SIZE`, `size_of::<bf16>()`.

Knows: which node of a tree is which operation of integers, the few calls that kernels use in sizes and tile starts.
Does not know: names; a `look` function gives the numbers behind paths and types. What operations give (`integers`).
Law: a loop variable is all its values at once; what is not known gives None, never a guess, and so does what may leave
its type. No exception leaves, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import child, expression_of, named, range_at, split_top
from dmaverify.machines.rngd.rust.integers import (
    ANY,
    INTEGERS,
    called,
    cast,
    negated,
    operated,
    settled,
    turned,
    typed,
    unified,
    width_of,
)
from dmaverify.machines.rngd.rust.values import Numbers
from dmaverify.values import replace

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_VALUE = 1 << 70
MAX_DEPTH = 120
MAX_TEXT = 2_000
_LITERAL = re.compile(r"(0x[0-9a-fA-F_]+|0b[01_]+|0o[0-7_]+|\d[\d_]*?)_*([iu](?:8|16|32|64|128|size))?")
_FLAGS = ("boolean_literal", "identifier", "scoped_identifier")
_OPEN = ("integer_literal", "binary_expression", "unary_expression", "parenthesized_expression")
"""What may be of any type yet."""
_LIMITS = ("MIN", "MAX", "BITS")
_COMPARES = ("==", "!=", "<=", ">=", "<", ">")

_WORD = r"-?\d\w*|(?:\w+::)*[A-Z][A-Z\d_]*"
_PATTERN = re.compile(rf"\s*(?:(?P<one>{_WORD})|(?P<low>{_WORD})?\s*\.\.=?\s*(?P<high>{_WORD})?)\s*")
"""A pattern of integers and constants."""

Look = Callable[[str, str], Numbers | None]
"""Look(kind, text): `path` for `A::B`, `size` for the mapping type before `::SIZE`, `bytes` for `size_of::<T>`, `own`
for a function that is not the standard library's, `method` for such a method, `macro` for such a macro, `kind` for a
number of the type of that name; `left` is told what may leave its type.
"""


def number_of(text: str, look: Look) -> Numbers | None:
    """The value of a constant expression that stands in other text, or None."""
    found = expression_of(text) if len(text) <= MAX_TEXT else None
    return number_at(*found, look) if found is not None else None


def number_at(code: Code, node: Node, look: Look, read: Mapping[int, Numbers] | None = None) -> Numbers | None:
    """The value of a constant expression, or None. What is `read` already says what parts of it are, by their nodes."""
    if (not read and node.end_byte - node.start_byte > MAX_TEXT) or node.has_error:
        return None
    try:
        return _NumberReader(code, look, read or {}).number(node, 0)
    except (_Stop, ZeroDivisionError, OverflowError):
        return None


def number_left(code: Code, node: Node, look: Look) -> Numbers | None:
    """What an assignment leaves in its variable: `x = e`, `x += e`; None where that is not known."""
    right, sign = node.child_by_field_name("right"), node.child_by_field_name("operator")
    if right is None or sign is None or node.has_error:
        return number_at(code, right, look) if right is not None else None
    reader = _NumberReader(code, look, {})
    try:
        left = reader.number(node.child_by_field_name("left"), 0)
        return reader.operation(node, sign.type.removesuffix("="), left, reader.number(right, 0))
    except (_Stop, ZeroDivisionError, OverflowError):
        return None


def as_named(value: Numbers) -> Numbers:
    """What stands somewhere as no literal: of a type that something gave it, whether that is known here or not."""
    if value.type:
        return value
    return replace(value, type=ANY, held=value.held or ((value.low, value.high) if value.seen is None else None))


def truth_at(code: Code, node: Node, look: Look, depth: int = 0) -> bool | None:
    """Whether a condition over constants holds; None where that is not known before the kernel runs."""
    inner, sign = named(node), node.child_by_field_name("operator")
    if depth > MAX_DEPTH or node.has_error:
        return None
    if node.type == "parenthesized_expression" and len(inner) == 1:
        return truth_at(code, inner[0], look, depth + 1)
    if node.type == "unary_expression" and node.children[0].type == "!":
        found = truth_at(code, inner[-1], look, depth + 1)
        return None if found is None else not found
    if node.type == "let_chain" or (sign is not None and sign.type in ("&&", "||")):
        stop = sign is not None and sign.type == "||"
        parts = [truth_at(code, one, look, depth + 1) for one in inner]
        return stop if stop in parts else None if None in parts else not stop
    if sign is not None and sign.type in _COMPARES:
        sides = [node.child_by_field_name(side) for side in ("left", "right")]
        return _compared(sign.type, *(number_at(code, one, look) if one is not None else None for one in sides))
    meant = _comparison(code, node, look)
    asked = expression_of(meant) if meant and len(meant) <= MAX_TEXT else None
    if asked is not None:
        return truth_at(*asked, look, depth + 1)
    flag = number_at(code, node, look) if node.type in _FLAGS else None
    return bool(flag.single) if flag is not None and flag.single is not None else None


def _comparison(code: Code, node: Node, look: Look) -> str:
    """What `matches!(e, 0..=2 | K)` and `(a..b).contains(&e)` ask, in operators; empty where it is none of these."""
    inner, ends = named(node), None
    if node.type == "macro_invocation" and len(inner) == 2 and look("macro", "matches") is None:
        given = split_top(code.text(inner[1])[1:-1], ",") if code.text(inner[0]) == "matches" else []
        found = [_PATTERN.fullmatch(one) for one in given[1].split("|")] if len(given) == 2 else []
        told = [
            _within(given[0], one["one"], one["low"], one["high"], "=" in one[0]) for one in found if one is not None
        ]
        return " || ".join(told) if len(told) == len(found) else ""
    if node.type == "call_expression" and inner[0].type == "field_expression":
        range_, name = (inner[0].child_by_field_name(field) for field in ("value", "field"))
        given_to = named(inner[-1])
        asks = name is not None and code.text(name) == "contains" and look("method", "contains") is None
        if asks and range_ is not None and range_.type == "parenthesized_expression" and len(named(range_)) == 1:
            ends = range_at(code, named(range_)[0])
        if ends is not None and len(given_to) == 1 and given_to[0].type == "reference_expression":
            low, high = (
                None if one is None else f"({own.text(one)})" for own, one in ((code, ends.low), (ends.code, ends.high))
            )
            return _within(code.text(named(given_to[0])[-1]), None, low, high, ends.closed)
    return ""


def _within(asked: str, one: str | None, low: str | None, high: str | None, closed: bool) -> str:
    """That something is a number, or is in a range, in operators."""
    if one is not None:
        return f"({asked}) == {one}"
    told = [f"({asked}) >= {low}"] if low else []
    told += [f"({asked}) {'<=' if closed else '<'} {high}"] if high else []
    return " && ".join(told) or "true"


def _compared(sign: str, a: Numbers | None, b: Numbers | None) -> bool | None:
    both = unified(a, b) if a is not None and b is not None else None
    a, b = (settled(one) for one in both) if both is not None else (None, None)
    if a is None or b is None:
        return None
    if sign in ("==", "!="):
        if a.single is not None and b.single is not None:
            return (a.low == b.low) is (sign == "==")
        return (sign == "!=") if a.high < b.low or b.high < a.low else None
    if sign in (">", ">="):
        a, b, sign = b, a, sign.replace(">", "<")
    edge = 0 if sign == "<=" else 1
    if a.high + edge <= b.low:
        return True
    return False if a.low + edge > b.high else None


def _limit(kind: str, name: str) -> Numbers:
    """`u8::MAX` and its like."""
    first, end = INTEGERS[kind]
    value = {"MIN": first, "MAX": end - 1, "BITS": width_of(kind)}[name]
    return replace(Numbers.of(value), type="u32" if name == "BITS" else kind)


class _Stop(Exception):
    """The expression is no constant one that this module knows."""


class _NumberReader:
    """Reads one expression; there is a method for each type of node that may be a number."""

    def __init__(self, code: Code, look: Look, read: Mapping[int, Numbers]) -> None:
        self.code, self.look, self.read = code, look, read

    def number(self, node: Node | None, depth: int) -> Numbers:
        if node is not None and node.id in self.read:
            return self.read[node.id] if node.type in _OPEN else as_named(self.read[node.id])
        handler = getattr(self, f"_{node.type}", None) if node is not None and depth <= MAX_DEPTH else None
        if handler is None or node is None:
            raise _Stop
        made: Numbers = handler(node, depth + 1)
        return made

    def _alone(self, node: Node | None, depth: int) -> Numbers:
        """What stands alone in brackets."""
        inner = named(node) if node is not None else []
        if len(inner) != 1:
            raise _Stop
        return self.number(inner[0], depth)

    _parenthesized_expression = _block = _alone

    def _expression_statement(self, node: Node, depth: int) -> Numbers:
        """A block that stands last in another one."""
        return self._alone(node if node.children[-1].type != ";" else None, depth)

    def _const_block(self, node: Node, depth: int) -> Numbers:
        return self._alone(node.child_by_field_name("body"), depth)

    def _reference_expression(self, node: Node, depth: int) -> Numbers:
        return self._alone(node, depth)

    # ------------------------------------------------------------ operators

    def _binary_expression(self, node: Node, depth: int) -> Numbers:
        run = [node]  # of operators that bind to the left: a long sum is no deep one
        while (left := run[-1].child_by_field_name("left")) is not None and self._goes_on(left):
            run.append(left)
        value = self.number(left, depth)
        for one in reversed(run):
            sign, right = one.child_by_field_name("operator"), one.child_by_field_name("right")
            if sign is None or sign.type in ("&&", "||", *_COMPARES):
                raise _Stop
            value = self.operation(one, sign.type, value, self.number(right, depth))
        return value

    def _goes_on(self, node: Node) -> bool:
        return node.type == "binary_expression" and node.id not in self.read

    def operation(self, node: Node, sign: str, value: Numbers, other: Numbers) -> Numbers:
        """What an operator gives, which stands in `node`."""
        made = operated(sign, value, other)
        exact = sign in "+-" or (sign == "*" and (value.single is not None or other.single is not None))
        return self._inside(node, value, made) if exact else _small(made)

    def _inside(self, node: Node, of: Numbers, made: Numbers | None) -> Numbers:
        """What an operation gives; it is told where that may leave its type."""
        if made is None:
            text = " ".join(self.code.text(node).split())
            self.look("left", f"`{text}` may leave {f'`{of.type}`' if of.type in INTEGERS else 'its type'}")
        return _small(made)

    def _type_cast_expression(self, node: Node, depth: int) -> Numbers:
        """`value as u8`."""
        given, kind = node.child_by_field_name("value"), node.child_by_field_name("type")
        value = alone = given
        while alone is not None and alone.type in ("parenthesized_expression", "unary_expression") and named(alone):
            alone = named(alone)[0] if alone.children[0].type in ("(", "-") else None
        of = self.number(value, depth)
        literal = alone is not None and alone.type == "integer_literal" and not of.type
        name = self.code.text(kind) if kind is not None else ""
        told = self.look("kind", name) if name not in INTEGERS else None
        made = cast(of, told.type if told is not None else name, literal=literal)
        return self._inside(given, of, made) if given is not None and settled(of) is None else _small(made)

    def _unary_expression(self, node: Node, depth: int) -> Numbers:
        sign, inner = node.children[0].type, node.children[-1]
        if sign == "-" and inner.type == "integer_literal":
            return self._integer_literal(inner, depth, -1)
        value = self.number(inner, depth)
        return (
            self._inside(node, value, negated(value))
            if sign == "-"
            else value
            if sign == "*"
            else _small(turned(value))
        )

    # ------------------------------------------------------------ literals and names

    def _integer_literal(self, node: Node, depth: int, sign: int = 1) -> Numbers:
        """A number as it is written, with the type that stands behind it."""
        found = _LITERAL.fullmatch(self.code.text(node))
        if found is None:
            raise _Stop
        prefixed = found[1][:2].lower() in ("0x", "0b", "0o")
        value = _small(Numbers.of(sign * int(found[1].replace("_", ""), 0 if prefixed else 10)))
        return _small(typed(replace(value, held=(value.low, value.high)), found[2] or ""))

    def _boolean_literal(self, node: Node, depth: int) -> Numbers:
        return replace(Numbers.of(int(self.code.text(node) == "true")), type="bool")

    def _identifier(self, node: Node, depth: int) -> Numbers:
        return self._found("path", self.code.text(node))

    _self = _identifier

    def _scoped_identifier(self, node: Node, depth: int) -> Numbers:
        """`A::N`, `A::SIZE`, `<TYPE>::SIZE`, `<TYPE as M>::SIZE`, `u8::MAX`."""
        path, last = node.child_by_field_name("path"), self.code.text(node.child_by_field_name("name") or node)
        if path is not None and path.type == "bracketed_type":
            inner = self.code.text(path)[1:-1]
            if inner in INTEGERS and last in _LIMITS:  # the type, whatever module has its name
                return _limit(inner, last)
            if last != "SIZE":
                return self._found("path", f"<{inner}>::{last}" if " as " in inner else f"{inner}::{last}")
            return self._found("size", re.sub(r"\s+as\s+\w+\s*$", "", inner))
        words, generic = self._words(node)
        words[-2:-1] = [f"{one}<{generic}>" if generic else one for one in words[-2:-1]]
        if last == "SIZE":
            return self._found("size", "::".join(words[:-1]))
        number = words[-2] in INTEGERS and words[:-2] in ([], ["std", "primitive"]) and last in _LIMITS
        if number and self.look("path", "::".join(words)) is None:
            return _limit(words[-2], last)
        return self._found("path", "::".join(words))

    def _words(self, node: Node) -> tuple[list[str], str]:
        """The names of a path, and what stands in its generic brackets."""
        path, name = node.child_by_field_name("path"), node.child_by_field_name("name")
        of, given = node.child_by_field_name("type"), child(node, "type_arguments")
        if given is not None:
            words, _ = self._words(of or node.child_by_field_name("function") or given)
            return words, self.code.text(given)[1:-1]
        if name is None:
            if named(node):
                raise _Stop
            return [self.code.text(node)], ""
        if path is None:
            raise _Stop
        words, generic = self._words(path)
        return [*words, self.code.text(name)], generic

    def _field_expression(self, node: Node, depth: int) -> Numbers:
        """`pair.1`, `job.count`."""
        first = node
        while first.type == "field_expression" and (value := first.child_by_field_name("value")) is not None:
            first = value
        if first.type not in ("identifier", "self"):
            raise _Stop
        return self._found("field", "".join(self.code.text(node).split()))

    # ------------------------------------------------------------ calls

    def _call_expression(self, node: Node, depth: int) -> Numbers:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        given = named(arguments) if arguments is not None else []
        if function is None:
            raise _Stop
        if function.type == "field_expression":
            return self._method(function, given, depth)
        words, generic = self._words(function)
        values = [self.number(one, depth) for one in given]
        if self.look("own", "::".join(words)) is None:
            return self._found("bytes", generic) if words[-1] == "size_of" else _library(words, values)
        if any(one.single is None for one in values):
            raise _Stop
        return self._found("call " + "::".join(words), ",".join(str(one.low) for one in values))

    def _method(self, function: Node, arguments: list[Node], depth: int, *, option: bool = False) -> Numbers:
        """What a method gives of a number; `option` where that is unwrapped."""
        target, field = function.child_by_field_name("value"), function.child_by_field_name("field")
        name = self.code.text(field) if field is not None else ""
        if target is None or self.look("method", name) is not None or name.startswith("checked_") is not option:
            raise _Stop
        if name == "unwrap" and not arguments and target.type == "call_expression":
            inner, given = target.child_by_field_name("function"), target.child_by_field_name("arguments")
            if inner is None or given is None or inner.type != "field_expression":
                raise _Stop
            return self._method(inner, named(given), depth + 1, option=True)
        return _small(called(name, [self.number(one, depth) for one in (target, *arguments)]))

    def _found(self, kind: str, text: str) -> Numbers:
        """What a name stands for."""
        return as_named(_small(self.look(kind, text.strip())))


def _library(words: list[str], given: list[Numbers]) -> Numbers:
    """What a function of the standard library gives: `usize::from(n)`, `min(a, b)`, `u8::wrapping_add(a, b)`."""
    kind = words[-2] if len(words) > 1 else ""
    if kind in INTEGERS and words[-1] == "from" and len(given) == 1:
        own = settled(given[0])
        wide = cast(own, kind) if own is not None else None
        return _small(wide if own is not None and wide is not None and wide.low == own.low else None)
    given = [_small(typed(one, kind)) for one in given[:1]] + given[1:] if kind in INTEGERS else given
    return _small(None if words[-1].startswith("checked_") else called(words[-1], given))  # that is an option


def _small(value: Numbers | None) -> Numbers:
    if value is None or max(abs(value.low), abs(value.high)) > MAX_VALUE:
        raise _Stop
    return value
