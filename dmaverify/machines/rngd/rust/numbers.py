"""Constant expressions of Rust as numbers: literals, arithmetic, constants, `<m![A]>::SIZE`, `size_of::<bf16>()`.

Knows: the operators of integers, their precedence, the few calls that kernels use in sizes and tile starts.
Does not know: names; a `look` function gives the numbers behind paths and types. What operations give (`integers`).
Law: a loop variable is all its values at once; what is not known gives None, never a guess, and so does what may leave
its type. No exception leaves, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dmaverify.language.notation import Token
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
_LITERAL = re.compile(r"(0x[0-9a-fA-F_]+|0b[01_]+|0o[0-7_]+|\d[\d_]*?)_*([iu](?:8|16|32|64|128|size))?")
_LEVELS = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}

Look = Callable[[str, str], Numbers | None]
"""Look(kind, text): `path` for `A::B`, `size` for the mapping type before `::SIZE`, `bytes` for `size_of::<T>`, `own`
for a function that is not the standard library's, `method` for such a method; `left` is told what may leave its type.
"""


def number_of(text: str, look: Look) -> Numbers | None:
    """The value of a constant expression, or None."""
    if len(text) > MAX_TEXT:
        return None
    if text.isdecimal() and text.isascii() and len(text) < 20:
        return _literal(int(text))
    try:
        reader = _NumberReader(text, look)
        value = reader.sum(0, 0)
        return value if reader.done else None
    except (_Stop, ZeroDivisionError, OverflowError):
        return None


def _literal(value: int, kind: str = "") -> Numbers:
    return Numbers(value, value, type=kind, held=None if kind else (value, value))


def as_named(value: Numbers) -> Numbers:
    """What stands somewhere as no literal: of a type that something gave it, whether that is known here or not."""
    if value.type:
        return value
    return replace(value, type=ANY, held=value.held or ((value.low, value.high) if value.seen is None else None))


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


class _Stop(Exception):
    """The text is no constant expression that this module knows."""


class _NumberReader:
    def __init__(self, text: str, look: Look) -> None:
        self.text = text
        self.look = look
        self.tokens: list[Token] = []
        self.checked = False  # whether the last method gave an option
        for found in _TOKEN.finditer(text):
            kind = found.lastgroup if found.lastgroup != "suffix" else "number"
            if kind in ("number", "word", "sign"):
                text_of = found[kind] + ((found["suffix"] or "") if kind == "number" else "")
                self.tokens.append(Token(kind, text_of, found.start(kind), found.end()))
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
        start = self.at
        value = self.cast(self.unary(depth), start)
        while True:
            sign = self.peek()
            own = _LEVELS.get(sign, 0)
            if own == 0 or own <= level:
                return value
            self.at += 1
            other = self.sum(own, depth + 1)
            made = operated(sign, value, other)
            exact = sign in "+-" or (sign == "*" and (value.single is not None or other.single is not None))
            value = self.inside(start, value, made) if exact else _small(made)

    def inside(self, start: int, of: Numbers, made: Numbers | None) -> Numbers:
        """What an operation that begins at the token `start` gives; it is told where that may leave its type."""
        if made is None:
            text = " ".join(self.text[self.tokens[start].start : self.tokens[self.at - 1].end].split())
            self.look("left", f"`{text}` may leave {f'`{of.type}`' if of.type in INTEGERS else 'its type'}")
        return _small(made)

    def cast(self, value: Numbers, start: int) -> Numbers:
        """`value as u8`, of an operand that begins at the token `start`."""
        while self.peek() == "as":
            alone = [one for one in self.tokens[start : self.at] if one.text not in ("(", ")", "-")]
            literal = len(alone) == 1 and alone[0].kind == "number"
            made = cast(value, self.peek(1), literal=literal and not value.type)
            value = self.inside(start, value, made) if settled(value) is None else _small(made)
            self.at += 2
        return value

    def method(self, value: Numbers) -> Numbers:
        name = self.peek(1)
        if self.look("method", name) is not None:
            raise _Stop
        self.at += 3
        given = [value]
        while self.peek() != ")":
            given.append(self.sum(0, 1))
            if self.peek() != ")":
                self.take(",")
        self.take(")")
        if name == "unwrap" and len(given) == 1 and self.checked:
            return value
        self.checked = name.startswith("checked_")
        if self.checked and (self.peek(), self.peek(1)) != (".", "unwrap"):
            raise _Stop
        return _small(called(name, given))

    def unary(self, depth: int) -> Numbers:
        sign = self.peek()
        if sign in ("-", "!") and depth >= MAX_DEPTH:
            raise _Stop
        if sign == "-":
            self.at += 1
            if self.tokens[self.at :] and self.tokens[self.at].kind == "number" and self.peek(1) != ".":
                return self.literal(-1)
            start, value = self.at - 1, self.unary(depth + 1)
            return self.inside(start, value, negated(value))
        if sign == "!":
            self.at += 1
            return _small(turned(self.unary(depth + 1)))
        if sign in ("&", "*"):
            self.at += 1
            return self.unary(depth + 1) if depth < MAX_DEPTH else self._refuse()
        self.checked = False
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
            return self.literal()
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

    def literal(self, sign: int = 1) -> Numbers:
        """A number as it is written, with the type that stands behind it."""
        found = _LITERAL.fullmatch(self.tokens[self.at].text)
        self.at += 1
        if found is None:
            raise _Stop
        prefixed = found[1][:2].lower() in ("0x", "0b", "0o")
        value = _small(_literal(sign * int(found[1].replace("_", ""), 0 if prefixed else 10)))
        return _small(typed(value, found[2] or ""))

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
            return replace(Numbers.of(int(words[0] == "true")), type="bool")
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
                return self.library(words, given)
            return self.known(self.look("call " + "::".join(words), _singles(given)))
        if self.peek() == "." and self.peek(2) != "(" and self.peek(1) not in ("", "."):
            while self.peek() == "." and self.peek(2) != "(":
                words[-1] += "." + self.peek(1)
                self.at += 2
            return self.found("field", "::".join(words))
        if words[-1] == "SIZE" and len(words) > 1:
            head = "::".join(words[:-1])
            return self.found("size", f"{head}<{generic}>" if generic else head)
        ends = INTEGERS.get(words[-2]) if len(words) in (2, 4) and words[:-2] in ([], ["std", "primitive"]) else None
        if ends is not None and words[-1] in ("MIN", "MAX", "BITS") and self.look("path", "::".join(words)) is None:
            if words[-1] == "BITS":
                return _literal(width_of(words[-2]), "u32")
            return _literal(ends[0] if words[-1] == "MIN" else ends[1] - 1, words[-2])
        return self.found("path", "::".join(words))

    def library(self, words: list[str], given: list[Numbers]) -> Numbers:
        """What a function of the standard library gives: `usize::from(n)`, `min(a, b)`, `u8::wrapping_add(a, b)`."""
        kind = words[-2] if len(words) > 1 else ""
        if kind in INTEGERS and words[-1] == "from" and len(given) == 1:
            own = settled(given[0])
            wide = cast(own, kind) if own is not None else None
            return _small(wide if own is not None and wide is not None and wide.low == own.low else None)
        given = [_small(typed(one, kind)) for one in given[:1]] + given[1:] if kind in INTEGERS else given
        return _small(None if words[-1].startswith("checked_") else called(words[-1], given))  # that is an option

    def found(self, kind: str, text: str) -> Numbers:
        return self.known(self.look(kind, text.strip()))

    def known(self, value: Numbers | None) -> Numbers:
        """What a name stands for."""
        return as_named(_small(value))


def _singles(given: list[Numbers]) -> str:
    if any(one.single is None for one in given):
        raise _Stop
    return ",".join(str(one.low) for one in given)


def _small(value: Numbers | None) -> Numbers:
    if value is None or max(abs(value.low), abs(value.high)) > MAX_VALUE:
        raise _Stop
    return value
