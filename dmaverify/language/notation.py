"""The signs of the mapping language: characters to tokens, and the numbers and names that tokens spell.

Knows: which characters mean something, what a plain decimal and a Rust integer literal are, what people mistype, where
each token stands in its source.
Does not know: grammar, trees, axes.
Law: `tokens` never fails and takes linear time; what it cannot read is a token of kind "bad" that carries its own
explanation, so that the first error of a text is the first one in reading order.

Source: docs/machines/rngd.md 1.1 (tokens of furiosa-mapping-macro, furiosa-opt v0.6.0) and 1.6 (primes, `@`, `!`, `$`:
notation of the documents "DMA Engine" and "Sequencer").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from dmaverify.errors import InputError, Source, Span

MAX_NUMBER = 10**18
MAX_TEXT = 100_000

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<name>[A-Z][A-Za-z0-9_']*)"
    r"|(?P<word>[a-z_][A-Za-z0-9_']*)"
    r"|(?P<number>[0-9](?:[A-Za-z0-9_']|\.(?=[0-9]))*)"
    r"|(?P<sign>[,*/%=#@!+:$(){}\[\]])"
    r"|(?P<bad>.)",
    re.DOTALL,
)
_RUST_INTEGER = re.compile(
    r"(?:0x(?P<hex>[0-9a-fA-F_]*[0-9a-fA-F][_0-9a-fA-F]*)|0o(?P<octal>_*[0-7][0-7_]*)|0b(?P<binary>_*[01][01_]*)"
    r"|(?P<decimal>[0-9][0-9_]*))(?P<suffix>[ui](?:8|16|32|64|128|size))?"
)
_BASES = {"hex": 16, "octal": 8, "binary": 2, "decimal": 10}
_LOOK_ALIKES = {
    "\N{MULTIPLICATION SIGN}": "*",
    "\N{MIDDLE DOT}": "*",
    "\N{ASTERISK OPERATOR}": "*",
    "\N{DIVISION SIGN}": "/",
    "\N{FRACTION SLASH}": "/",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{PRIME}": "'",
    "\N{FULLWIDTH COMMA}": ",",
    "\N{NO-BREAK SPACE}": "a plain space",
}
_MISTAKES = {
    "-": "there is no `-`: `A @ k` drops the first k positions, `A = n` keeps the first n; numbers are never negative",
    ";": "terms are separated by `,`",
    "|": "terms are separated by `,`",
    "&": "terms are separated by `,`",
    "^": "write the number out, as in `A / 8`",
    "<": "group with `[ ]` or `( )`",
    ">": "group with `[ ]` or `( )`",
    '"': "write the mapping without quotes",
    "`": "write the mapping without backquotes",
    ".": "axes are plain names such as `A` or `Wp`; terms are separated by `,`",
    "~": "remove it",
    "?": "padding is `#`, `#{*}`, `#{0}` or `#{!}`",
    "\\": "divide with `/`",
}


class Token(NamedTuple):
    """Characters `start` to `end` of a text. `why` and `hint` explain a token of kind "bad".

    Kinds: name (uppercase first), word (lowercase first), number, sign, bad, end.
    """

    kind: str
    text: str
    start: int
    end: int
    why: str = ""
    hint: str = ""

    @property
    def shown(self) -> str:
        """The text as a message shows it: printable and short."""
        text = self.text if self.text.isprintable() else ascii(self.text)[1:-1]
        return text if len(text) <= 40 else f"{text[:37]}..."


def tokens(text: str) -> list[Token]:
    """All tokens of `text`, white space left out, with one of kind "end" behind the last. Linear in the length."""
    out: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind, found = match.lastgroup or "bad", match.group()
        if kind == "space":
            continue
        if kind == "bad":
            out.append(Token("bad", found, match.start(), match.end(), *_explain(found)))
        else:
            out.append(Token(kind, found, match.start(), match.end()))
    out.append(Token("end", "", len(text), len(text)))
    return out


def plain_number(token: Token) -> int:
    """The value of a plain decimal token; ValueError(message, hint) for `1_0`, `0x2`, `8usize` and beyond 10^18."""
    text = token.text
    if not text.isdecimal():
        raise ValueError(f"{clip(text)} is not a plain decimal number", _number_hint(text))
    return _bounded(text, 10)


def rust_integer(token: Token) -> int:
    """The value of a Rust integer literal (`65_536`, `0x10`, `8usize`); ValueError(message, hint) otherwise."""
    match = _RUST_INTEGER.fullmatch(token.text)
    if match is None:
        raise ValueError(f"{clip(token.text)} is not an integer", "write a number such as `64`, `65_536` or `0x40`")
    base = next(name for name in _BASES if match.group(name) is not None)
    return _bounded(match.group(base).replace("_", ""), _BASES[base])


class Reader:
    """A text, its tokens and the place reached. `offset` is where the text starts in `source`."""

    def __init__(self, text: str, source: Source | None, offset: int) -> None:
        self.source, self.offset = (source, offset) if source is not None else (Source("<mapping>", text), 0)
        if len(text) > MAX_TEXT:
            message = f"{len(text)} characters are too many for one mapping; the limit is {MAX_TEXT}"
            raise InputError(message, self.span(0, 1), "name the parts of it, and use the names")
        self.text = text
        self.tokens = tokens(text)
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    @property
    def at_end(self) -> bool:
        return self.token.kind == "end"

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, self.offset + start, self.offset + end)

    def error(self, message: str, token: Token, hint: str) -> InputError:
        if token.kind == "bad":
            message, hint = token.why, token.hint
        return InputError(message, self.span(token.start, token.end), hint)

    def expect(self, text: str, where: str, hint: str) -> Token:
        if self.token.text != text:
            raise self.error(f"expected `{text}` {where}, found {named(self.token)}", self.token, hint)
        return self.take()

    def decimal(self) -> int:
        """The plain decimal number here, which is not taken yet."""
        return self._value(plain_number)

    def integer(self) -> int:
        """The Rust integer literal here, which is not taken yet."""
        return self._value(rust_integer)

    def _value(self, spell: Callable[[Token], int]) -> int:
        try:
            return spell(self.token)
        except ValueError as bad:
            message, hint = bad.args
            raise self.error(message, self.token, hint) from None


def named(token: Token) -> str:
    """A token as an error message names it."""
    return "the end of the text" if token.kind == "end" else clip(token.text, 40)


def clip(text: str, width: int = 60) -> str:
    """`text` on one line in backquotes, its middle left out where it is longer than `width`."""
    flat = " ".join(text.split())
    if len(flat) > width:
        flat = f"{flat[: width - 20]} ... {flat[-15:]}"
    return f"`{flat}`"


def _bounded(digits: str, base: int) -> int:
    digits = digits.lstrip("0")
    value = int(digits, base) if 0 < len(digits) <= 64 else 0
    if len(digits) > 64 or value > MAX_NUMBER:
        raise ValueError(f"{clip(digits, 40)} is beyond 10^18, the largest number", "use a number up to 10^18")
    return value


def _number_hint(text: str) -> str:
    match = _RUST_INTEGER.fullmatch(text)
    if match is not None and len(text) <= 40:
        base = next(name for name in _BASES if match.group(name) is not None)
        value = int(match.group(base).replace("_", ""), _BASES[base])
        return f"write `{value}`; other integer literals belong to `axes![...]`"
    split = re.match(r"[0-9]+", text)
    if split is not None and text[split.end()].isupper():
        return f"put a `,` between the terms: `{split.group()[:20]}, {text[split.end() :][:20]}`"
    return "write digits only, such as `8`"


def _explain(char: str) -> tuple[str, str]:
    code = f"U+{ord(char):04X}"
    if char in _LOOK_ALIKES:
        wanted = _LOOK_ALIKES[char]
        shown = wanted if " " in wanted else f"`{wanted}`"
        return f"`{char}` ({unicodedata.name(char).lower()}, {code}) is not part of the language", f"write {shown}"
    if char == "\N{MINUS SIGN}" or (unicodedata.category(char) == "Pd" and not char.isascii()):
        return f"`{char}` ({unicodedata.name(char).lower()}, {code}) is not part of the language", _MISTAKES["-"]
    if char.isascii() and char.isprintable():
        return f"`{char}` is not part of the language", _MISTAKES.get(char, "remove it")
    name = unicodedata.name(char, "a control or unassigned character").lower()
    shown = f"`{char}` ({name}, {code})" if char.isprintable() else f"{name} ({code})"
    hint = "names are ASCII: an uppercase letter, then letters, digits, `_` or `'`"
    return f"{shown} is not part of the language", hint
