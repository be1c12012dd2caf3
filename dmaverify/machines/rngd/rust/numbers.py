"""Constant expressions of Rust as numbers: literals, arithmetic, constants, `<m![A]>::SIZE`, `size_of::<bf16>()`.

Knows: the operators of integers, their precedence, the few calls that kernels use in sizes and tile starts.
Does not know: names; a `look` function gives the numbers behind paths and types.
Law: a loop variable is all its values at once; what is not known gives None, never a guess. Division truncates as on
unsigned integers. No exception leaves, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dmaverify.language.notation import Token
from dmaverify.machines.rngd.rust.values import Numbers

MAX_VALUE = 1 << 70
MAX_DEPTH = 60
MAX_TEXT = 2_000
_TOKEN = re.compile(
    r"\s*(?:(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<number>0x[0-9a-fA-F_]+|0b[01_]+|0o[0-7_]+|\d[\d_]*)(?P<suffix>[iu]\w+)?"
    r"|(?P<word>[A-Za-z_$]\w*)|(?P<sign><<|>>|::|\.\.=?|&&|\|\||[<>=!]=|\S))",
    re.DOTALL,
)
_PATH = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
_NEGATED = re.compile(r"!\s*(?:!\s*)*(?:[A-Za-z_][\w:]*|\(.*\))", re.DOTALL)
"""What `!` turns round: it binds tighter than a comparison."""
_SIGNED = re.compile(r"(?<![A-Za-z_])\d*_?i(?:8|16|32|64|128|size)\b")
_LEVELS = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}

Look = Callable[[str, str], Numbers | None]
"""Look(kind, text): `path` for `A::B`, `size` for the mapping type before `::SIZE`, `bytes` for `size_of::<T>`, `own`
for a function that is not the standard library's, `signed` for a constant of a signed type.
"""


def number_of(text: str, look: Look) -> Numbers | None:
    """The value of a constant expression, or None."""
    if len(text) > MAX_TEXT:
        return None
    if text.isdecimal() and text.isascii() and len(text) < 20:
        return Numbers.of(int(text))
    try:
        reader = _NumberReader(text, look)
        value = reader.sum(0, 0)
        return value if reader.done else None
    except (_Stop, ZeroDivisionError, OverflowError):
        return None


def truth_of(text: str, look: Look) -> bool | None:
    """Whether a condition over constants holds; None where that is not known before the kernel runs."""
    text = text.strip()
    for sign, stop in (("||", True), ("&&", False)):
        parts = split_top(text, sign)
        if len(parts) > 1:
            found = [truth_of(part, look) for part in parts]
            return stop if stop in found else None if None in found else not stop
    if text.startswith("(") and _wraps(text):
        return truth_of(text[1:-1], look)
    if text in ("true", "false"):
        return text == "true"
    if _NEGATED.fullmatch(text) and _wraps(text.lstrip("! \n")):
        inner = truth_of(text[1:], look)
        return None if inner is None else not inner
    for sign in ("==", "!=", "<=", ">=", "<", ">"):
        parts = split_top(text, sign)
        if len(parts) == 2 and not (sign in "<>" and ("::<" in text or "<<" in text or ">>" in text)):
            return _compared(sign, number_of(parts[0], look), number_of(parts[1], look))
    found_flag = look("path", text) if _PATH.fullmatch(text) else None
    return bool(found_flag.low) if found_flag is not None and found_flag.single is not None else None


def _wraps(text: str) -> bool:
    """Whether the bracket that a text begins with, if it does, closes at its end."""
    return not text.startswith("(") or (text.endswith(")") and len(split_top(text[1:-1], ")")) == 1)


def split_top(text: str, sign: str) -> list[str]:
    """The parts of a text between signs that stand in no bracket."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(text):
        if depth == 0 and text.startswith(sign, at):
            parts.append(text[start:at])
            start = at = at + len(sign)
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
    return [*parts, text[start:]]


def _compared(sign: str, a: Numbers | None, b: Numbers | None) -> bool | None:
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


class _Stop(Exception):
    """The text is no constant expression that this module knows."""


class _NumberReader:
    def __init__(self, text: str, look: Look) -> None:
        self.text = text
        self.look = look
        self.tokens: list[Token] = []
        for found in _TOKEN.finditer(text):
            kind = found.lastgroup if found.lastgroup != "suffix" else "number"
            if kind in ("number", "word", "sign"):
                self.tokens.append(Token(kind, found[kind], found.start(kind), found.end()))
        self.at = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self.tokens)

    def peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.tokens[index].text if index < len(self.tokens) else ""

    def take(self, text: str) -> None:
        if self.peek() != text:
            raise _Stop
        self.at += 1

    def sum(self, level: int, depth: int) -> Numbers:
        """A run of operators of `level` or tighter."""
        if depth > MAX_DEPTH:
            raise _Stop
        value = self.cast(self.unary(depth))
        while True:
            sign = self.peek()
            own = _LEVELS.get(sign, 0)
            if own == 0 or own <= level:
                return value
            self.at += 1
            value = _small(_operate(sign, value, self.sum(own, depth + 1)))

    def cast(self, value: Numbers) -> Numbers:
        while self.peek() == "as":
            kind = re.fullmatch(r"([ui])(8|16|32|64|128|size)", self.peek(1))
            signed = kind is not None and kind[1] == "i"
            bits = int((kind[2] if kind is not None else "0").replace("size", "64")) - signed
            if kind is None:
                raise _Stop
            if value.high >> bits > 0 or value.low < (-(1 << bits) if signed else 0):
                if value.single is None:
                    raise _Stop
                below = signed << bits
                value = _small(Numbers.of((value.low + below) % (1 << bits + signed) - below))
            self.at += 2
        return value

    def method(self, value: Numbers) -> Numbers:
        name = self.peek(1)
        self.at += 3
        given = None if self.peek() == ")" else self.sum(0, 1)
        self.take(")")
        if given is None:
            if name in ("into", "clone", "get"):
                return value
            raise _Stop
        return self.library(name, [value, given])

    def library(self, name: str, given: list[Numbers]) -> Numbers:
        """What a method of numbers gives; below zero `saturating_sub` stops at zero only where no type is signed."""
        below = name == "saturating_sub" and len(given) == 2 and given[0].low < given[1].high
        if below and (_SIGNED.search(self.text) or any(self.look("signed", one.text) for one in self.tokens)):
            raise _Stop
        return _small(_called(name, given))

    def unary(self, depth: int) -> Numbers:
        sign = self.peek()
        if sign == "-":
            self.at += 1
            return self.unary(depth + 1).times(-1) if depth < MAX_DEPTH else self._refuse()
        if sign in ("&", "*"):
            self.at += 1
            return self.unary(depth + 1) if depth < MAX_DEPTH else self._refuse()
        value = self.atom(depth)
        while self.peek() == "." and self.peek(2) == "(":
            value = self.method(value)
        return value

    def _refuse(self) -> Numbers:
        raise _Stop

    def atom(self, depth: int) -> Numbers:
        if self.done:
            raise _Stop
        token = self.tokens[self.at]
        if token.kind == "number":
            self.at += 1
            prefixed = token.text[:2].lower() in ("0x", "0b", "0o")
            return _small(Numbers.of(int(token.text.replace("_", ""), 0 if prefixed else 10)))
        if token.text in ("(", "{") or (token.text == "const" and self.peek(1) == "{"):
            self.at += 2 if token.text == "const" else 1
            value = self.sum(0, depth + 1)
            self.take({"(": ")"}.get(token.text, "}"))
            return value
        if token.text == "<":
            return self.qualified()
        if token.kind == "word":
            return self.path(depth)
        raise _Stop

    def qualified(self) -> Numbers:
        """`<TYPE>::SIZE`, `<TYPE as M>::SIZE`."""
        inner = self.angled()
        self.take("::")
        name = self.peek()
        self.at += 1
        if name != "SIZE":
            return self.found("path", f"<{inner}>::{name}" if " as " in inner else f"{inner}::{name}")
        return self.found("size", re.sub(r"\s+as\s+\w+\s*$", "", inner))

    def angled(self) -> str:
        """The text between `<` and its `>`."""
        start, depth = self.tokens[self.at].end, 0
        while not self.done:
            token = self.tokens[self.at]
            depth += {"<": 1, ">": -1, "<<": 2, ">>": -2}.get(token.text, 0)
            self.at += 1
            if depth <= 0:
                return self.text[start : token.start]
        raise _Stop

    def path(self, depth: int) -> Numbers:
        words = [self.peek()]
        self.at += 1
        if words[0] in ("true", "false"):
            return Numbers.of(int(words[0] == "true"))
        if words == ["m"] and self.peek() == "!":
            raise _Stop
        generic = ""
        while self.peek() == "::":
            self.at += 1
            if self.peek() == "<":
                generic = self.angled()
            else:
                words.append(self.peek())
                self.at += 1
        if self.peek() == "(":
            self.at += 1
            given = []
            while self.peek() != ")":
                given.append(self.sum(0, depth + 1))
                if self.peek() == ",":
                    self.at += 1
            self.take(")")
            if words[-1] == "size_of":
                return self.found("bytes", generic)
            if self.look("own", "::".join(words)) is None:
                return self.library(words[-1], given)
            return _small(self.look("call " + "::".join(words), _singles(given)))
        if self.peek() == "." and self.peek(2) != "(" and self.peek(1) not in ("", "."):
            while self.peek() == "." and self.peek(2) != "(":
                words[-1] += "." + self.peek(1)
                self.at += 2
            return self.found("field", "::".join(words))
        if words[-1] == "SIZE" and len(words) > 1:
            head = "::".join(words[:-1])
            return self.found("size", f"{head}<{generic}>" if generic else head)
        return self.found("path", "::".join(words))

    def found(self, kind: str, text: str) -> Numbers:
        value = self.look(kind, text.strip())
        if value is None:
            raise _Stop
        return value


def _singles(given: list[Numbers]) -> str:
    if any(one.single is None for one in given):
        raise _Stop
    return ",".join(str(one.low) for one in given)


def _small(value: Numbers | None) -> Numbers:
    if value is None or max(abs(value.low), abs(value.high)) > MAX_VALUE:
        raise _Stop
    return value


def _operate(sign: str, a: Numbers, b: Numbers) -> Numbers | None:
    if sign == "+":
        return a.plus(b)
    if sign == "-":
        return a.plus(b.times(-1))
    if sign == "*":
        if b.single is not None:
            return a.times(b.single)
        return b.times(a.single) if a.single is not None else None
    if a.single is not None and b.single is not None:
        return _single(sign, a.single, b.single)
    if b.single is None or b.single <= 0 or a.low < 0:
        return None
    n, often, form = b.single, max(a.turns, a.count), (sign, b.single, a.shape)
    if sign == "/":
        whole = a.low % n == 0 and a.step % n == 0
        exact = a.exact and (whole or a.step == 1)
        loops = a.loops if whole else a.loops | {0}
        return Numbers(a.low // n, a.high // n, a.step // n if whole else 1, exact, loops, a.reached, often, form)
    if sign == "%":
        if a.step % n == 0:
            return Numbers.of(a.low % n)
        if a.low // n == a.high // n:
            return Numbers(a.low % n, a.high % n, a.step, a.exact, a.loops, turns=a.turns, form=form)
        whole = a.exact and a.step == 1 and a.high - a.low >= n - 1
        return Numbers(0, n - 1, 1, whole, a.loops | {0}, turns=often, form=form)
    return None


def _single(sign: str, a: int, b: int) -> Numbers | None:
    if sign in ("<<", ">>") and not 0 <= b <= 64:
        return None
    if sign in ("/", "%"):
        if b == 0:
            return None
        whole = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return Numbers.of(whole if sign == "/" else a - whole * b)
    return Numbers.of({"<<": lambda: a << b, ">>": lambda: a >> b, "&": lambda: a & b, "|": lambda: a | b,
                       "^": lambda: a ^ b}[sign]())  # fmt: skip


def _called(name: str, given: list[Numbers]) -> Numbers | None:
    """`min`, `max`, `div_ceil`, `pow` and their like on two single numbers."""
    if len(given) != 2:
        return None
    a, b = given[0].single, given[1].single
    if a is None or b is None:
        return None
    if name in ("div_ceil", "next_multiple_of") and b > 0:
        parts = -(-a // b)
        return Numbers.of(parts if name == "div_ceil" else parts * b)
    if name == "pow" and 0 <= b <= 64:
        return Numbers.of(a**b)
    return {"min": Numbers.of(min(a, b)), "max": Numbers.of(max(a, b)),
            "saturating_sub": Numbers.of(max(0, a - b)), "abs_diff": Numbers.of(abs(a - b))}.get(name)  # fmt: skip
