"""Integer arithmetic inside configuration texts: `15 * 256`, `2^21`, `2 * slice_stride + 1_024`.

Knows: tokens with their places, numbers, named constants, limits that keep every answer quick.
Does not know: entries, sequencers, how many units a written number is (it keeps numbers and constants apart).
Law: a text denotes exactly one number or raises one InputError at the characters to blame; no result exceeds 2^80.

    sum     := product { ("+" | "-") product }        product := signed { ("*" | "/" | "//" | "%") signed }
    signed  := { "+" | "-" } atom [ "^" signed ]      atom    := integer | constant | "(" sum ")"
    integer := decimal digits, with single underscores between them, or 0x and hexadecimal digits

Names are constants of the target and, where a text may have them, sizes; with sizes there is division: `/` must be
exact, `//` rounds down, `%` is the remainder.

Source: "DMA Engine" (Detailed Examples), docs/machines/rngd.md 1.6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn

from dmaverify.errors import InputError, NoValue, Source, Span, nearest
from dmaverify.language.notation import Token
from dmaverify.language.numbers import Symbolic, exact_quotient, floor_quotient
from dmaverify.values import dataclass

LIMIT_BITS = 80
MAX_DEPTH = 64
MAX_DIGITS = 30
MAX_POWER = 8

_TOKEN = re.compile(r"(?P<number>[0-9]\w*)|(?P<name>[^\W\d][\w']*)|(?P<sign>->|\*\*|//|\S)")
_DECIMAL = re.compile(r"[0-9]+(?:_[0-9]+)*")
_HEX = re.compile(r"0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*")


@dataclass(frozen=True, slots=True)
class Number:
    """What a text denotes: `plain` in the text's own unit, plus `fixed`, which came from constants and is in units."""

    plain: int
    fixed: int
    start: int
    end: int

    @property
    def is_one(self) -> bool:
        return self.plain == 1 and self.fixed == 0


class Cursor:
    """A place in a text that is read token by token; every failure is an InputError at its characters."""

    def __init__(
        self,
        text: str,
        source: Source,
        offset: int,
        constants: Mapping[str, int],
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        self.text = text
        self.source = source
        self.offset = offset
        self.constants = constants
        self.sizes = sizes or {}
        self.tokens = [Token(m.lastgroup or "", m[0], m.start(), m.end()) for m in _TOKEN.finditer(text)]
        self.at = 0
        self.stop = len(self.tokens)
        self._depth = 0

    def span(self, start: int, end: int) -> Span:
        """The span of characters `start` to `end` of the text."""
        return Span(self.source, self.offset + start, self.offset + end)

    def fail(self, message: str, start: int, end: int, hint: str | None = None) -> NoReturn:
        raise InputError(message, self.span(start, end), hint)

    def no_value(self, message: str, start: int, end: int, hint: str | None = None) -> NoReturn:
        """As `fail`, where another size may well give a value."""
        raise NoValue(message, self.span(start, end), hint)

    def fail_here(self, message: str, hint: str | None = None) -> NoReturn:
        """Fail at the next token, or behind the last one."""
        token = self.peek()
        if token is not None:
            self.fail(message, token.start, token.end, hint)
        end = self.tokens[self.at - 1].end if self.at else 0
        self.fail(message, end, end, hint)

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < self.stop else None

    def sees(self, *texts: str) -> bool:
        return self.at < self.stop and self.tokens[self.at].text in texts

    def take(self, text: str) -> bool:
        """Step over the next token if it is `text`."""
        found = self.sees(text)
        self.at += found
        return found

    def number(self, what: str) -> Number:
        """Read a sum; `what` names it in messages. Stops before the first token that cannot belong to it."""
        self._depth = 0
        return self._sum(what)

    def count(self, what: str) -> Number:
        """Read a number without constants: counts, packets and places have no address unit."""
        value = self.number(what)
        if value.fixed:
            hint = "slice_stride and DMN_stride are distances in bytes; use them in strides and bases"
            self.fail(f"the {what} cannot contain an address constant", value.start, value.end, hint)
        return value

    def factor(self, what: str) -> Number:
        """Read one factor of a product."""
        self._depth = 0
        return self._signed(what)

    def times(self, left: Number, right: Number) -> Number:
        """The product, with the place of both."""
        if left.fixed and right.fixed:
            hint = "multiply by a plain number"
            self.fail("two address constants cannot be multiplied", left.start, right.end, hint)
        fixed = left.plain * right.fixed + left.fixed * right.plain
        return self._checked(left, right, left.plain * right.plain, fixed)

    def _sum(self, what: str) -> Number:
        left = self._product(what)
        while self.sees("+", "-"):
            sign = 1 if self.tokens[self.at].text == "+" else -1
            self.at += 1
            right = self._product(what)
            left = self._checked(left, right, left.plain + sign * right.plain, left.fixed + sign * right.fixed)
        if self.sees("/"):
            self.fail_here("division is not part of the arithmetic", "write the quotient itself")
        if self.sees("**"):
            self.fail_here("`**` is not part of the arithmetic", "a power is written 2^21")
        if self.sees("."):
            self.fail_here("numbers are integers", "write it without a point")
        return left

    def _product(self, what: str) -> Number:
        left = self._signed(what)
        while self.sees("*", "/", "//", "%") and (self.sizes or self.sees("*")):
            operator = self.tokens[self.at].text
            self.at += 1
            right = self._signed(what)
            left = self.times(left, right) if operator == "*" else self._divided(left, right, operator)
        return left

    def _divided(self, left: Number, right: Number, operator: str) -> Number:
        if left.fixed or right.fixed:
            self.fail("an address constant cannot be divided", left.start, right.end, "divide the plain numbers")
        if right.plain == 0:
            self.no_value(f"`{self._between(left, right)}` divides by 0", right.start, right.end, "divide by 1 or more")
        if operator == "/":
            value = exact_quotient(left.plain, right.plain)
            if value is None:
                message = f"`{self._between(left, right)}` is {left.plain} / {right.plain}, no whole number"
                self.no_value(message, left.start, right.end, "`//` rounds down")
            return Number(value, 0, left.start, right.end)
        value = floor_quotient(left.plain, right.plain)
        return Number(value if operator == "//" else left.plain - right.plain * value, 0, left.start, right.end)

    def _between(self, left: Number, right: Number) -> str:
        return " ".join(self.text[left.start : right.end].split())

    def _signed(self, what: str) -> Number:
        """Signs, then a power: `-2^2` is -4."""
        first, sign = self.peek(), 1
        while self.sees("-", "+"):
            sign = -sign if self.tokens[self.at].text == "-" else sign
            self.at += 1
        value = self._power(what)
        start = first.start if first else value.start
        return Number(sign * value.plain, sign * value.fixed, start, value.end)

    def _power(self, what: str) -> Number:
        base = self._atom(what)
        if not self.take("^"):
            return base
        self._enter()
        exponent = self._signed(what)
        self._depth -= 1
        if base.fixed or exponent.fixed:
            self.fail("an address constant has no power", base.start, exponent.end, "multiply it by a plain number")
        if isinstance(exponent.plain, Symbolic):
            self.fail("an exponent has to be a number", exponent.start, exponent.end, "write the power out")
        if exponent.plain < 0:
            self.fail("a negative exponent is no integer", exponent.start, exponent.end, "numbers here are integers")
        if isinstance(base.plain, Symbolic):
            if exponent.plain > MAX_POWER:
                self._too_large(base.start, exponent.end)
            value = 1
            for _ in range(exponent.plain):
                value = base.plain * value
            return Number(value, 0, base.start, exponent.end)
        if abs(base.plain) > 1 and (abs(base.plain).bit_length() - 1) * exponent.plain > LIMIT_BITS:
            self._too_large(base.start, exponent.end)
        return self._checked(base, exponent, base.plain**exponent.plain, 0)

    def _atom(self, what: str) -> Number:
        token = self.peek()
        if token is None:
            self.fail_here(f"the {what} is missing", "write an integer")
        if token.kind == "number":
            self.at += 1
            return Number(self._integer(token), 0, token.start, token.end)
        if token.kind == "name":
            return self._constant(token)
        if token.text != "(":
            self.fail_here(f"`{token.shown}` where the {what} should be", "write an integer")
        self.at += 1
        self._enter()
        inner = self._sum(what)
        self._depth -= 1
        close = self.peek()
        if not self.take(")") or close is None:
            self.fail("this parenthesis is not closed", token.start, token.end, "add `)`")
        return Number(inner.plain, inner.fixed, token.start, close.end)

    def _integer(self, token: Token) -> int:
        if len(token.text) > MAX_DIGITS:
            self._too_large(token.start, token.end)
        if _HEX.fullmatch(token.text):
            return int(token.text.replace("_", ""), 16)
        if not _DECIMAL.fullmatch(token.text):
            self.fail(f"`{token.shown}` is no integer", token.start, token.end, "write digits, as 1024, 1_024 or 0x400")
        return int(token.text.replace("_", ""))

    def _constant(self, token: Token) -> Number:
        if token.text not in self.constants and token.text in self.sizes:
            self.at += 1
            return Number(self.sizes[token.text], 0, token.start, token.end)
        if token.text not in self.constants:
            self.fail(f"`{token.shown}` is no number", token.start, token.end, self._instead(token.text))
        self.at += 1
        return Number(0, self.constants[token.text], token.start, token.end)

    def _instead(self, name: str) -> str:
        lower = {constant.lower(): constant for constant in (*self.constants, *self.sizes)}
        close = nearest(name.lower(), lower)
        if close:
            return f"did you mean `{lower[close]}`?"
        if len(name) == 1 or name.endswith(("_i", "_j", "_k")):
            return "a place has to be a number: write one command per engine"
        known = ", ".join((*self.constants, *self.sizes))
        return f"known names: {known}" if lower else "this target has no named constants"

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.fail_here(f"more than {MAX_DEPTH} nested parentheses or powers", "write the number itself")

    def _checked(self, left: Number, right: Number, plain: int, fixed: int) -> Number:
        counted = not (isinstance(plain, Symbolic) or isinstance(fixed, Symbolic))
        if counted and max(abs(plain), abs(fixed)) > 1 << LIMIT_BITS:
            self._too_large(left.start, right.end)
        return Number(plain, fixed, left.start, right.end)

    def _too_large(self, start: int, end: int) -> NoReturn:
        self.no_value(f"the number is larger than 2^{LIMIT_BITS}", start, end, "addresses and sizes are below 2^62")
