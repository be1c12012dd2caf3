"""The text of `m![...]` before it is parsed: escapes `{ ... }`, and the types that it expands to.

Knows: what a brace within a mapping may hold (a kind of padding, a number, a type).
Does not know: names (`types` finds them).
Law: an escape is replaced by a name of its own length, so that every place in the text stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from dmaverify.errors import Span
from dmaverify.language.expr import ONE, Expr, Kind, Modulo, Padding, Pair, Resize, Stride
from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.module import Item, NameScope
from dmaverify.machines.rngd.rust.numbers import Look, number_of
from dmaverify.machines.rngd.rust.values import Map, Numbers, Opaque, Unknown, Value

if TYPE_CHECKING:
    pass


class Escapes:
    """The text of a mapping with its escapes `{ ... }` replaced by names of the same length."""

    def __init__(
        self, code: Code, text: str, byte: int, look: Callable[[int], Look], fragment: Callable[[str, int], Value]
    ) -> None:
        self.code, self.text, self.byte, self.look, self.fragment = code, text, byte, look, fragment
        self.types: dict[str, Expr] = {}
        self.numbers: dict[str, int] = {}
        self.names = ""

    def plain(self) -> str | Unknown:
        text = re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: " " * len(found[0]), self.text, flags=re.DOTALL)
        out: list[str] = []
        outside: list[str] = []
        at = 0
        while at < len(text):
            if text[at] != "{":
                out.append(text[at])
                outside.append(text[at])
                at += 1
                continue
            end = _close(text, at)
            made = self._escape("".join(out), text[at + 1 : end - 1], text[at:end], at)
            if isinstance(made, Unknown):
                return made
            out.append(made)
            outside.append(" ")
            at = end
        self.names = "".join(outside)
        return "".join(out)

    def _escape(self, before: str, inner: str, whole: str, at: int) -> str | Unknown:
        """What stands for `{ inner }`: itself for a kind of padding, else a name padded to its length."""
        sign = before.rstrip()[-1:]
        if sign == "#" and inner.strip() in ("*", "!", "0"):
            return whole
        kind = before.rstrip().endswith(("#{!}", "#{0}", "#{*}")) or re.search(r"#\{\s*[*!0]\s*\}\s*$", before)
        byte = self.byte + len(self.text[: at + 1].encode())
        if sign in ("/", "%", "=", "#") or kind:
            value = number_of(inner, self.look(byte))
            if value is None or value.single is None or value.single < 0:
                return Unknown(f"`{clip(inner)}` is no number that is known here", self.code.range(byte, byte + 1))
            word = f"p{len(self.numbers)}"
            self.numbers[word] = value.single
        else:
            found = self.fragment(inner, byte)
            made = as_map(found)
            if isinstance(made, Unknown):
                why = made.reason or f"`{clip(inner)}` is not known here"
                return Unknown(why, self.code.range(byte, byte + len(inner.encode())))
            letter = next(c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if not re.search(rf"\b{c}\d", self.text))
            word = f"{letter}{len(self.types)}"
            self.types[word] = made.expr
        if len(word) > len(whole):
            return Unknown("too many escapes in one mapping", self.code.range(byte, byte + 1))
        return word.ljust(len(whole))


def _close(text: str, at: int) -> int:
    """The index behind the brace that closes the one at `at`."""
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index + 1
    return len(text)


_KIND = re.compile(r"\{?\s*(?:(?:\w+::)*PaddingKind::)?(Top|Zero|Bottom)\s*\}?")


def constructed(name: str, given: tuple[Value, ...]) -> Map | Unknown | None:
    """The types that `m!` expands to, where somebody writes them out."""
    if name == "Identity" and not given:
        return Map(ONE)
    parts = [value.expr for value in given if isinstance(value, Map)]
    sizes = [value.low for value in given if isinstance(value, Numbers)]
    if name == "Pair" and len(parts) == 2:
        return Map(Pair(parts[0], parts[1]))
    if len(parts) != 1 or len(sizes) != 1:
        return None
    if name == "Padding":
        kinds = [value for value in given if not isinstance(value, (Map, Numbers))]
        told = [_KIND.fullmatch(value.what) for value in kinds if isinstance(value, Opaque)]
        if kinds and (len(told) != 1 or told[0] is None):
            return Unknown("the kind of a padding is not known here")
        return Map(Padding(parts[0], sizes[0], Kind[told[0][1].upper()] if told and told[0] is not None else Kind.TOP))
    if name == "Stride":
        return Map(Stride(parts[0], sizes[0]))
    if name == "Modulo":
        return Map(Modulo(parts[0], sizes[0]))
    return Map(Resize(parts[0], sizes[0])) if name == "Resize" else None


def as_map(value: Value) -> Map | Unknown:
    if isinstance(value, (Map, Unknown)):
        return value
    return Unknown("a generic argument is no mapping")


def clip(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def no_size(item: Item, span: Span) -> tuple[str, Span, str]:
    """Why an axis has no size, where, and what to write."""
    text = clip(item.text)
    found = re.search(rf"\b{re.escape(item.name)}\s*=\s*{re.escape(item.text)}", span.text)
    if found is not None:
        span = Span(span.source, span.start + found.end() - len(item.text), span.start + found.end())
    hint = f"write the number, or a constant that is known here: `const {text}: usize = 512;`"
    return f"the size of the axis `{item.name}` is no number: `{text}`", span, hint if text.isidentifier() else ""


def axes_around(scope: NameScope | None) -> list[str]:
    """The axes that are declared in a scope and around it."""
    out: list[str] = []
    while scope is not None:
        out += [name for name, item in scope.types.items() if item.kind == "axis"]
        scope = scope.around
    return out
