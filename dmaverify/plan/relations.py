"""Relations between sizes: comparisons of sums and products, as facts.

Knows: clauses and sums over names, and over marked names (`%n`) where a kernel's numbers are meant.
Does not know: which names are sizes, plan files.
Law: a relation holds at sizes exactly when its facts do.

    clause   := sum { ("<=" | "<" | ">=" | ">" | "==" | "!=") sum } | sum "|" sum          clauses are joined by `and`
    sum      := see `arithmetic`

Source: the plan file format, Symbols.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.numbers import Poly, Symbolic, divided
from dmaverify.plan.arithmetic import Cursor
from dmaverify.prove.sizes.facts import FactReason, FloorQuotient, SizeFact, floor_name

_JOIN = re.compile(r"\band\b")
_SIGN = re.compile(r"<=|>=|==|!=|<|>|\|")
_MARKED = re.compile(r"%([A-Za-z_]\w*)")
_ASSUMED = FactReason("assume", "the plan")


class SizeTerm(Symbolic):
    """Arithmetic over symbols as a polynomial, quotients that are none named."""

    __slots__ = ("floors", "poly")

    def __init__(self, poly: Poly, floors: dict[str, FloorQuotient]) -> None:
        self.poly = poly
        self.floors = floors

    def _made(self, poly: Poly) -> Any:
        return SizeTerm(poly, self.floors) if poly.constant is None else poly.constant

    def __add__(self, other: Any) -> Any:
        return self._made(self.poly + _poly(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._made(self.poly - _poly(other))

    def __rsub__(self, other: Any) -> Any:
        return self._made(_poly(other) - self.poly)

    def __mul__(self, other: Any) -> Any:
        return self._made(self.poly * _poly(other))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return self.poly.constant is not None and self.poly.constant == other

    def __bool__(self) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(self.poly)

    def quotient(self, by: Any, *, exact: bool) -> Any:
        return _quotient(self.poly, _poly(by), self.floors)

    def quotient_of(self, one: int, *, exact: bool) -> Any:
        return _quotient(Poly.of(one), self.poly, self.floors)


def _poly(value: Any) -> Poly:
    return value.poly if isinstance(value, SizeTerm) else Poly.of(value)


def _quotient(top: Poly, by: Poly, floors: dict[str, FloorQuotient]) -> Any:
    quotient, rest = divided(top, by)
    if not rest.terms:
        return SizeTerm(quotient, floors) if quotient.constant is None else quotient.constant
    name = floor_name(top, by)
    floors[name] = FloorQuotient(name, top, by)
    return SizeTerm(Poly.symbol(name), floors)


def clauses_of(text: str, known: Mapping[str, Any], source: Source, offset: int) -> list[SizeFact]:
    out: list[SizeFact] = []
    start = 0
    for end in (*(m.span() for m in _JOIN.finditer(text)), (len(text), len(text))):
        out += _clause(text[start : end[0]], known, source, offset + start)
        start = end[1]
    return out


def _clause(text: str, known: Mapping[str, Any], source: Source, offset: int) -> list[SizeFact]:
    signs = list(_SIGN.finditer(text))
    whole = Span(source, offset, offset + len(text))
    if not signs:
        hint = "write a comparison such as `C * N <= 2^20`, or `32 | C`"
        raise InputError("a relation compares two numbers", whole, hint)
    starts = [0, *(m.end() for m in signs)]
    ends = [*(m.start() for m in signs), len(text)]
    terms = [_side(text[a:b], known, source, offset + a) for a, b in zip(starts, ends, strict=True)]
    texts = [text[a:b] for a, b in zip(starts, ends, strict=True)]
    out: list[SizeFact] = []
    for number, sign in enumerate(signs):
        pair = terms[number], terms[number + 1]
        out += _facts(pair, sign[0], texts[number], known, source, offset + starts[number])
    return out


def relations_in(text: str, source: Source, offset: int) -> list[SizeFact]:
    """The facts of a relation over numbers that are marked, `%n * %p <= 262144`. Raises InputError."""
    floors: dict[str, FloorQuotient] = {}
    known = {name: SizeTerm(Poly.symbol(name), floors) for name in _MARKED.findall(text)}
    facts = clauses_of(_MARKED.sub(r" \1", text), known, source, offset)
    if any(fact.op in ("ne", "ndiv") for fact in facts):
        said = "a relation of a kernel's numbers says what they are, not what they are not"
        raise InputError(said, Span(source, offset, offset + len(text)), "state `<`, `>`, `==` or a range")
    if any(name in floors for fact in facts for name in (*fact.poly.symbols, *(fact.by.symbols if fact.by else ()))):
        said = "a relation of a kernel's numbers has sums, products and remainders alone"
        raise InputError(said, Span(source, offset, offset + len(text)), "multiply by the divisor instead")
    return facts


def sum_in(text: str, source: Source, offset: int) -> Poly:
    """A sum of products of marked numbers. Raises InputError."""
    (fact,) = relations_in(f"{text} == 0", source, offset)
    return fact.poly


def _side(text: str, known: Mapping[str, Any], source: Source, offset: int) -> Any:
    cursor = Cursor(text, source, offset, {}, known)
    value = cursor.count("number").plain
    token = cursor.peek()
    if token is not None:
        hint = "relations are comparisons of sums and products, joined by `and`"
        cursor.fail(f"`{token.shown}` after the number", token.start, token.end, hint)
    return value


def _facts(
    pair: tuple[Any, Any], sign: str, text: str, known: Mapping[str, Any], source: Source, offset: int
) -> list[SizeFact]:
    left, right = pair
    if sign == "|":
        return [SizeFact("div", _poly(right), _poly(left), _ASSUMED)]
    if sign in ("==", "!="):
        cut = _remainder(text, known, source, offset)
        never = sign == "!=" and right != 0  # `C % 32 != 40` holds always, and not only where C - 40 has a rest
        if cut is not None and not isinstance(right, SizeTerm) and not never:
            rest, whole = Poly.of(right), Span(source, offset, offset + len(text))
            facts = [SizeFact("div" if sign == "==" else "ndiv", cut[0] - rest, cut[1], _ASSUMED)]
            number = cut[1].constant
            if right and (right < 0 or (number is not None and right >= number)):
                raise InputError(f"no remainder by {cut[1]} is {right}", whole, f"write a number below {cut[1]}")
            below = [SizeFact("ge", cut[1] - rest - Poly.of(1), None, _ASSUMED)] if right and number is None else []
            return facts + below
        return [SizeFact("eq" if sign == "==" else "ne", _poly(left) - _poly(right), None, _ASSUMED)]
    if sign in ("<", "<="):
        left, right = right, left
    one = Poly.of(1 if sign in ("<", ">") else 0)
    return [SizeFact("ge", _poly(left) - _poly(right) - one, None, _ASSUMED)]


def _remainder(text: str, known: Mapping[str, Any], source: Source, offset: int) -> tuple[Poly, Poly] | None:
    """(dividend, divisor) of a text that is one remainder, `C % 32`."""
    cursor = Cursor(text, source, offset, {}, known)
    depth, marks = 0, []
    for index, token in enumerate(cursor.tokens):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.text == "%":
            marks.append(index)
        elif depth == 0 and token.text in ("+", "-"):
            return None
    if len(marks) != 1:
        return None
    mark = cursor.tokens[marks[0]]
    if any(t.text in ("*", "/", "//") for t in cursor.tokens[marks[0] + 1 :]):
        return None
    left, right = (_side(part, known, source, offset) for part in (text[: mark.start], text[mark.end :]))
    return _poly(left), _poly(right)
