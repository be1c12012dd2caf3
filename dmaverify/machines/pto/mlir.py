"""MLIR text as a tree of operations, custom and generic syntax alike, without knowing any dialect.

Knows: tokens, where an operation begins and ends, results, regions, attribute dictionaries, type aliases, spans.
Does not know: what an operation means, which operands it has, types beyond their tokens.
Law: every token of the text belongs to exactly one operation, in order; nothing is skipped. What cannot be told apart
from an operation raises InputError at its place.

Source: MLIR language reference (textual form); the custom syntax that it does not fix ends where the next operation
begins: at `%name =`, at a dotted name or a quoted name with `(`, never behind a comma and never inside brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.notation import Token
from dmaverify.values import dataclass, field

_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r\n]+|//[^\n]*)
      |(?P<string>"(?:[^"\\\n]|\\.)*")
      |(?P<value>%[\w$.\-]+(?:\#\d+)?)
      |(?P<label>\^[\w$.\-]+)
      |(?P<symbol>@(?:[\w$.\-]+|"[^"\n]*"))
      |(?P<type>![A-Za-z_][\w$.]*)
      |(?P<attribute>\#[A-Za-z_][\w$.]*)
      |(?P<arrow>->)
      |(?P<number>-?(?:0x[0-9A-Fa-f]+|\d+\.\d*(?:[eE][+-]?\d+)?|\d+(?:[eE][+-]?\d+)?))
      |(?P<word>[A-Za-z_][\w$.]*)
      |(?P<mark>::|==|>=|<=|[<>(){}\[\],:=+*/?|.-])""",
    re.VERBOSE | re.ASCII,
)
_BARE = frozenset({"return", "module", "func", "call", "unreachable"})
_HOLDS_REGION = frozenset(
    ["module", "builtin.module", "func.func"]
    + [f"scf.{name}" for name in ("for", "if", "while", "forall", "parallel", "execute_region", "index_switch")]
    + [f"pto.{name}" for name in ("vecscope", "strict_vecscope", "fusion_region", "section.vector", "section.cube")]
)
_TYPE = re.compile(r"(?:i|si|ui|f|bf|tf)\d+\w*|index|none|true|false")
_NUMBER_TYPE = re.compile(r"(?:i|si|ui|f|bf|tf)\d+|index")
_JOINTS = (",", ":", "->")
_ENDS = ("value", "number", "string", "}", "]")  # of operands and attributes
_STRAY = ("?", ".", "*", "+", "-", "/", "==", ">=", "<=")
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
MOST_NESTED = 64
"""Deepest nesting of regions that is read."""


# A token of MLIR has the kind of its group in the pattern, or `region` with the number of the region as its text.


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """An operation: results as written (`%a`, or `%a:2` as `%a#0`, `%a#1`), its name, the tokens behind the name."""

    name: str
    results: tuple[str, ...]
    tokens: tuple[Token, ...]
    regions: tuple[tuple[Op, ...], ...]
    source: Source = field(repr=False, compare=False)
    start: int = 0
    end: int = 0
    name_start: int = 0

    @property
    def span(self) -> Span:
        return Span(self.source, self.start, self.end)

    @property
    def name_span(self) -> Span:
        length = len(self.name) + (2 if self.source.text[self.name_start] == '"' else 0)
        return Span(self.source, self.name_start, self.name_start + length)

    def at(self, token: Token) -> Span:
        return Span(self.source, token.start, token.end)


@dataclass(frozen=True, slots=True, eq=False)
class MlirFile:
    """A whole file: operations of its top level, type aliases by name, comments by line (text behind `//`)."""

    source: Source
    ops: tuple[Op, ...]
    aliases: dict[str, tuple[Token, ...]]
    comments: tuple[tuple[int, str], ...]


def walk(ops: Sequence[Op]) -> Iterator[Op]:
    """All operations, those of regions behind the one that holds them."""
    stack = list(reversed(ops))
    while stack:
        op = stack.pop()
        yield op
        for region in reversed(op.regions):
            stack.extend(reversed(region))


def read_mlir(source: Source) -> MlirFile:
    """The operations of a text. Raises InputError with the place of what cannot be read."""
    tokens, comments = _tokens(source)
    reader = _MlirReader(source, tokens)
    ops = reader.block(0, closing=False)
    return MlirFile(source, ops, reader.aliases, comments)


def _tokens(source: Source) -> tuple[list[Token], tuple[tuple[int, str], ...]]:
    text, at, out, comments = source.text, 0, [], []
    for found in _TOKEN.finditer(text):
        kind, (start, end) = found.lastgroup or "", found.span()
        if start != at:
            break
        if kind != "skip":
            out.append(Token(kind, found.group(), at, end))
        elif text.startswith("//", at):
            comments.append((at, found.group()[2:].strip()))
        at = end
    if at < len(text):
        hint = "operands begin with `%`, types with `!`, names with `@`, attributes with `#`, texts with a quote"
        raise InputError(f"`{text[at]}` begins nothing in MLIR text", Span(source, at, at + 1), hint)
    return out, tuple(comments)


class _MlirReader:
    """Walks the tokens once."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.at = 0
        self.aliases: dict[str, tuple[Token, ...]] = {}

    def block(self, depth: int, *, closing: bool) -> tuple[Op, ...]:
        """Operations up to the closing brace (which is taken), or to the end of the text."""
        if depth > MOST_NESTED:
            raise InputError(f"regions nested more than {MOST_NESTED} deep", self._span(self.at - 1))
        ops: list[Op] = []
        opened = self.at - 1
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.text == "}" and token.kind == "mark":
                if not closing:
                    raise InputError(
                        "`}` closes nothing", self._span(self.at), "leave it out, or open its region with `{`"
                    )
                self.at += 1
                return tuple(ops)
            if not self._alias():
                ops.append(self._op(depth))
        if closing:
            raise InputError("this `{` is never closed", self._span(opened), "add the `}` that ends its region")
        return tuple(ops)

    def _span(self, index: int) -> Span:
        token = self.tokens[min(max(index, 0), len(self.tokens) - 1)]
        return Span(self.source, token.start, token.end)

    def _alias(self) -> bool:
        """`!name = type` and `#name = attribute` at the start of an operation."""
        token = self.tokens[self.at]
        if token.kind not in ("type", "attribute") or not self._is(self.at + 1, "="):
            return False
        first = self.at + 2
        self.at = first + 1
        while self.at < len(self.tokens) and not self._starts(self.at) and not self._is(self.at, "}"):
            if self.tokens[self.at].kind in ("type", "attribute") and self._is(self.at + 1, "="):
                break
            self.at += 1
        self.aliases[token.text] = tuple(self.tokens[first : self.at])
        return True

    def _is(self, index: int, text: str) -> bool:
        return index < len(self.tokens) and self.tokens[index].text == text and self.tokens[index].kind != "string"

    def _starts(self, index: int) -> bool:
        """Whether an operation begins at this token, seen from outside of brackets."""
        tokens = self.tokens
        if index and tokens[index - 1].text in (",", ":", "->", "=") and tokens[index - 1].kind != "string":
            return False
        token = tokens[index]
        if token.kind == "word":
            return "." in token.text or token.text in _BARE
        if token.kind == "string":
            return self._is(index + 1, "(")
        if token.kind == "label":
            return True
        return token.kind == "value" and self._results(index)[1] > 0

    def _results(self, index: int) -> tuple[tuple[str, ...], int]:
        """Results from this token on, and the index behind `=`; 0 where it is no list of results."""
        names: list[str] = []
        tokens = self.tokens
        while index < len(tokens) and tokens[index].kind == "value":
            name = tokens[index].text
            index += 1
            if self._is(index, ":") and index + 1 < len(tokens) and tokens[index + 1].kind == "number":
                if not tokens[index + 1].text.isdecimal() or int(tokens[index + 1].text) > 64:
                    return (), 0
                names += [f"{name}#{i}" for i in range(int(tokens[index + 1].text))]
                index += 2
            else:
                names.append(name)
            if self._is(index, "="):
                return tuple(names), index + 1
            if not self._is(index, ","):
                break
            index += 1
        return (), 0

    def _op(self, depth: int) -> Op:
        start = self.tokens[self.at]
        results, behind = self._results(self.at) if start.kind == "value" else ((), 0)
        self.at = behind or self.at
        if self.at >= len(self.tokens):
            raise InputError("the text ends where an operation should follow", self._span(self.at))
        name = self.tokens[self.at]
        if name.kind not in ("word", "string", "label"):
            raise InputError(
                f"`{name.text}` begins no operation", self._span(self.at), "an operation is `dialect.name`"
            )
        self.at += 1
        inside: list[Token] = []
        regions: list[tuple[Op, ...]] = []
        plain = name.text[1:-1] if name.kind == "string" else name.text
        if name.kind == "label":
            self._label(inside, regions, depth)
            return Op(
                plain, results, tuple(inside), (), self.source, start.start, self._span(self.at - 1).end, name.start
            )
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind == "mark" and token.text in _CLOSE:
                if token.text != "}":
                    raise InputError(f"`{token.text}` closes nothing", self._span(self.at))
                break
            counter = [t.text for t in inside] in ([], ["unsigned"]) and plain.endswith((".for", "cf.br"))
            if (self._starts(self.at) and not counter) or (
                token.kind in ("type", "attribute") and self._is(self.at + 1, "=")
            ):
                break
            if token.text == "{" and token.kind == "mark" and self._region(plain, inside):
                self.at += 1
                inside.append(Token("region", str(len(regions)), token.start, token.end))
                regions.append(self.block(depth + 1, closing=True))
            elif token.text in _OPEN and token.kind == "mark":
                self._brackets(inside, regions, depth)
            else:
                if inside and self._stray(self.at):
                    said = f"`{token.text}` begins no operation, and does not belong to {plain} before it"
                    raise InputError(said, self._span(self.at), "an operation is `dialect.name`; is its name missing?")
                inside.append(token)
                self.at += 1
        end = self.tokens[self.at - 1].end
        made = Op(plain, results, tuple(inside), tuple(regions), self.source, start.start, end, name.start)
        _punctuated(made)
        return made

    def _stray(self, index: int) -> bool:
        """Whether a line begins with operands that nothing before asks for: a name was left out or misspelled."""
        token, before = self.tokens[index], self.tokens[index - 1]
        if "\n" not in self.source.text[before.end : token.start]:
            return False
        if token.kind == "word":
            after = self.tokens[index + 1] if index + 1 < len(self.tokens) else token
            if after.kind not in ("value", "attribute", "string") and after.text not in ("<", "["):
                return False
        elif token.kind not in ("value", "attribute") and token.text not in ("<", "["):
            return False
        ends = before.kind in ("type", "region", "string", "number") or _TYPE.fullmatch(before.text) is not None
        ends = ends or (before.kind == "mark" and before.text in ")>]}")
        return ends or (before.kind == token.kind == "value")

    def _label(self, inside: list[Token], regions: list[tuple[Op, ...]], depth: int) -> None:
        """`^name(%argument: type, ...):`, which ends at its colon."""
        if self._is(self.at, "("):
            self._brackets(inside, regions, depth)
        if self._is(self.at, ":"):
            self.at += 1

    def _region(self, name: str, before: list[Token]) -> bool:
        """Whether the brace at hand opens a region rather than an attribute dictionary."""
        if before and before[-1].text == "attributes":
            return False
        if self._dictionary(before):
            return False
        if name in _HOLDS_REGION:
            return True
        after = self.at + 1
        if after >= len(self.tokens):
            return False
        token = self.tokens[after]
        if token.text == "}":
            return False
        if token.kind in ("word", "string") and after + 1 < len(self.tokens):
            return self.tokens[after + 1].text not in ("=", ",", "}") and self._starts(after)
        return self._starts(after)

    def _dictionary(self, before: list[Token]) -> bool:
        """Whether `{` is followed by what only attributes have; behind a region also `{flag}` and `{}`."""
        if self.at + 2 >= len(self.tokens):
            return False
        behind = any(t.kind == "region" for t in before) and before[-1].text not in ("else", "do")
        token, after = self.tokens[self.at + 1 : self.at + 3]
        if token.text == "}" and token.kind == "mark":
            return behind
        if token.kind not in ("word", "string") or after.kind != "mark":
            return False
        return after.text in ("=", ",") or (after.text == "}" and behind)

    def _brackets(self, inside: list[Token], regions: list[tuple[Op, ...]], depth: int) -> None:
        """Takes everything up to the matching bracket; `({...})` of the generic form holds regions."""
        opened, level = self.at, 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind == "mark":
                generic = token.text == "{" and self.tokens[self.at - 1].text in ("(", ",") and level == 1
                if generic and self._region("", inside):
                    self.at += 1
                    inside.append(Token("region", str(len(regions)), token.start, token.end))
                    regions.append(self.block(depth + 1, closing=True))
                    continue
                level += (token.text in _OPEN) - (token.text in _CLOSE)
            inside.append(token)
            self.at += 1
            if level == 0:
                return
        raise InputError(f"this `{self.tokens[opened].text}` is never closed", self._span(opened))


def _punctuated(op: Op) -> None:
    """Refuses a comma with nothing before or behind it, operands among types, and types that no `:` announces.

    Raises InputError at the token. Brackets are taken whole.
    """
    before, types, level, angles = "", False, 0, 0
    for token in op.tokens:
        mark = token.text if token.kind in ("mark", "arrow") else ""
        closed = not level and not angles
        wrong = ""
        if closed and mark in (",", ":", "->") and before in (*_JOINTS, "") and (mark == "," or before):
            wrong = f"`{mark}` stands behind `{before}`" if before else "`,` stands before every operand"
        elif closed and types and token.kind in ("value", "number", "string", "symbol"):
            wrong = f"`{token.text}` stands among the types; a `,` too many before it, or a name left out?"
        elif closed and mark in _STRAY:
            wrong = f"`{mark}` stands between operands"
        elif closed and token.kind == "word" and "." in token.text:
            wrong = f"`{token.text}` stands among the operands of another operation"
        elif closed and not types and (token.kind == "type" or (before in _ENDS and _is_number_type(token))):
            wrong = f"a `:` is missing before the type `{token.text}`"
        elif {before, token.kind} <= {"value", "number"}:
            wrong = f"a `,` is missing before `{token.text}`"
        elif closed and types and token.kind == "type" and before not in _JOINTS and before != "word":
            wrong = f"a `,` is missing before the type `{token.text}`"
        if wrong:
            raise InputError(f"{op.name}: {wrong}", op.at(token))
        types = types or (closed and mark in (":", "->"))
        level += (mark in ("(", "[", "{")) - (mark in (")", "]", "}"))
        angles += (mark == "<") - (mark == ">")
        before = mark or token.kind
    if before in _JOINTS and op.tokens:
        raise InputError(f"{op.name}: nothing follows `{before}`", op.at(op.tokens[-1]))
    if angles:
        raise InputError(f"{op.name}: `<` and `>` do not pair", op.name_span)


def _is_number_type(token: Token) -> bool:
    return token.kind == "word" and _NUMBER_TYPE.fullmatch(token.text) is not None
