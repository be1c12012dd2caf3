"""`macro_rules!` with plain variables: a definition's arms, and what an invocation expands to.

Knows: arms `($a:ty, $b:expr) => { ... }` with fragments, literal tokens, and repetitions `$(...),*`.
Does not know: where names of a body that it does not declare were declared, fragments' grammar beyond where they end,
macros of other crates.
Law: an invocation that no arm matches literally expands to nothing, and whoever asks then reports it; text that was
expanded stands at its invocation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import named, parse_made
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_TEXT = 400_000
_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|r#*\"|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'|'?[A-Za-z_]\w*|\d[\w.]*"
    r"|::|=>|->|\.\.=?|&&|\|\||<<=?|>>=?|[-+*/%&|^<>=!]=|\S",
    re.DOTALL,
)
_DECLARED = re.compile(r"\blet\s+([^=;]+)|\bfor\s+([^{};]+?)\s+in\b|\|([^|;{}]*)\||[{,]([^{},;=]+)=>")
"""Patterns that bind names: of `let`, loops, closures and arms."""
_VARIABLE = re.compile(r"(?<![$\w.:])([a-z_]\w*)\b(?!\s*(?:::|!|\())")
_OPERATORS = {
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "as", "&&", "||", "==", "!=", "<", "<=", ">", ">=", "..", "..=",
}  # fmt: skip
_OPEN, _CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
_ANGLED = {"ty", "path"}
_BLOCKS = {"if", "match", "{", "unsafe", "loop"}  # begin expressions that end with their block where a statement begins


@dataclass(frozen=True)
class Rules:
    """The arms of one macro: tokens of the pattern, text of the body."""

    name: str
    arms: tuple[tuple[tuple[str, ...], str], ...]


@dataclass
class _Bound:
    """What variables stand for: a text, or one binding for each round of a repetition."""

    texts: dict[str, str]
    rounds: list[tuple[tuple[str, ...], list[_Bound]]]


_Parts = list[tuple[str, bool]]
"""Texts of an expansion, and whether the caller wrote each."""


def tokens_of(text: str) -> list[str]:
    return [found[0] for found in _TOKEN.finditer(text) if not found[0].startswith(("//", "/*"))]


def read_rules(code: Code, node: Node) -> Rules:
    """The arms of a `macro_definition`."""
    name = node.child_by_field_name("name")
    arms = []
    for rule in named(node):
        if rule.type == "macro_rule":
            left, right = rule.child_by_field_name("left"), rule.child_by_field_name("right")
            if left is not None and right is not None:
                arms.append((tuple(tokens_of(code.text(left)[1:-1])), code.text(right)[1:-1]))
    return Rules(code.text(name) if name is not None else "", tuple(arms))


@dataclass(frozen=True)
class Expansion:
    """What an invocation becomes; `ranges` are the bytes of it that the caller wrote."""

    code: Code
    root: Node
    ranges: tuple[tuple[int, int], ...]

    def given(self, shift: int) -> Callable[[Node], bool]:
        """Whether a node is the caller's, in a tree whose text begins `shift` bytes before this one."""
        return lambda node: any(a + shift <= node.start_byte and node.end_byte <= b + shift for a, b in self.ranges)


def expand(rules: Rules, code: Code, body: Node) -> Expansion | None:
    """What `name! { body }` becomes; None where no arm matches."""
    given = tokens_of(code.text(body)[1:-1])
    for pattern, text in rules.arms:
        bound = _Bound({}, [])
        if _match(list(pattern), given, bound):
            parts = _transcribe(_hygienic(text, set(given)), bound)
            made, ranges = "".join(text for text, _ in parts), list[tuple[int, int]]()
            if len(made) > MAX_TEXT:
                return None
            at = 0
            for text, own in parts:
                end = at + len(text.encode("utf-8", "replace"))
                ranges += [(at, end)] if own else []
                at = end
            return Expansion(*parse_made(code.source, made, code.span(body)), tuple(ranges))
    return None


# ---------------------------------------------------------------- matching


def _match(pattern: list[str], given: list[str], bound: _Bound) -> bool:
    end = _prefix(pattern, given, 0, bound)
    return end == len(given)


def _prefix(pattern: list[str], given: list[str], at: int, bound: _Bound) -> int:
    """How far `given` goes when `pattern` has matched from `at`; -1 where it does not."""
    index = 0
    while index < len(pattern):
        token = pattern[index]
        if token == "$" and pattern[index + 1 : index + 2] == ["("]:
            close = _closing(pattern, index + 1)
            at, index = _repeat(pattern, index + 2, close, given, at, bound)
            if at < 0:
                return -1
        elif token == "$" and pattern[index + 2 : index + 3] == [":"]:
            name, kind = pattern[index + 1], pattern[index + 3] if index + 3 < len(pattern) else "tt"
            follow = pattern[index + 4] if index + 4 < len(pattern) else None
            end = _fragment(kind, given, at, follow)
            if end <= at and kind != "vis":
                return -1
            made = " ".join(given[at:end])
            alone = kind != "expr" or not (given[at] in _BLOCKS or _operates(given[at:end]))
            bound.texts[name] = made if alone else f"({made})"
            at, index = end, index + 4
        elif at < len(given) and given[at] == token:
            at, index = at + 1, index + 1
        else:
            return -1
    return at


def _repeat(pattern: list[str], start: int, close: int, given: list[str], at: int, bound: _Bound) -> tuple[int, int]:
    """Matches `$( pattern[start:close] ) sep? *` as often as it goes; (place reached, index behind it)."""
    inner, index = pattern[start:close], close + 1
    separator = ""
    if pattern[index : index + 1] and pattern[index] not in ("*", "+", "?"):
        separator, index = pattern[index], index + 1
    rounds: list[_Bound] = []
    while at < len(given):
        one = _Bound({}, [])
        end = _prefix(inner, given, at, one)
        if end <= at:
            break
        rounds.append(one)
        at = end
        if separator:
            if given[at : at + 1] != [separator]:
                break
            at += 1
    if separator and rounds and at and given[at - 1] == separator and pattern[index + 1 : index + 2] == ["$"]:
        at -= 1  # the separator belongs to an optional trailing one
    names = tuple(pattern[i + 1] for i in range(start, close) if pattern[i] == "$" and pattern[i + 1] != "(")
    bound.rounds.append((names, rounds))
    return at, index + 1


def _closing(tokens: Sequence[str], at: int) -> int:
    """The index of the bracket that closes the one at `at`, of tokens or of a text."""
    depth = 0
    for index in range(at, len(tokens)):
        depth += (tokens[index] in _OPEN) - (tokens[index] in _CLOSE)
        if depth == 0:
            return index
    return len(tokens)


def _fragment(kind: str, given: list[str], at: int, follow: str | None) -> int:
    """Where a fragment that starts at `at` ends."""
    if at >= len(given):
        return at
    if kind in ("ident", "lifetime"):
        return at + 1
    if kind == "literal":
        return at + (2 if given[at] == "-" else 1)
    if kind == "tt":
        return _closing(given, at) + 1 if given[at] in _OPEN else at + 1
    if kind == "block":
        return _closing(given, at) + 1 if given[at] == "{" else at
    depth, index, angled = 0, at, 0
    while index < len(given):
        token = given[index]
        if depth == 0 and angled <= 0 and (token in (",", ";", "=>") or token == follow):
            break
        depth += (token in _OPEN) - (token in _CLOSE)
        if depth < 0:
            break
        if kind in _ANGLED:
            angled += token in ("<", "<<") and len(token)
            angled -= token in (">", ">>") and len(token)
        index += 1
    return index


def _operates(tokens: list[str]) -> bool:
    """Whether an expression is an operation, which stays one operand wherever it is put."""
    if tokens[0] in ("-", "!"):
        return True
    depth = 0
    for before, token in pairwise(tokens):
        depth += (before in _OPEN) - (before in _CLOSE)
        operand = before in _CLOSE or before[-1].isalnum() or before[-1] in "_\"'"
        if depth == 0 and operand and token in _OPERATORS and tokens[0] not in ("|", "||", "move", "return"):
            return True
    return False


# ---------------------------------------------------------------- writing


def _hygienic(text: str, given: set[str]) -> str:
    """A body whose own variables have other names than what it is given."""
    patterns = (next(filter(None, found)) for found in _DECLARED.findall(text))
    for name in {name for one in patterns for name in _VARIABLE.findall(one)} & given:
        text = re.sub(rf"(?<![$\w.']){re.escape(name)}\b(?!\s*!)", f"{name}_own", text)
    return text


def _transcribe(text: str, bound: _Bound) -> _Parts:
    """The body with its variables put in; repetitions once for each round."""
    out: _Parts = []
    at = 0
    while at < len(text) and len(out) < MAX_TEXT:
        sign = text.find("$", at)
        if sign < 0:
            out.append((text[at:], False))
            break
        out.append((text[at:sign], False))
        at = _variable(text, sign, bound, out)
    return out


def _variable(text: str, sign: int, bound: _Bound, out: _Parts) -> int:
    found = re.compile(r"\$([A-Za-z_]\w*)").match(text, sign)
    if found is not None:
        own = found[1] in bound.texts
        out.append((bound.texts[found[1]] if own else found[0] if found[1] != "crate" else "crate", own))
        return found.end()
    if text[sign : sign + 2] != "$(":
        out.append(("$", False))
        return sign + 1
    close = _closing(text, sign + 1)
    inner = text[sign + 2 : close]
    tail = re.compile(r"\s*([^\s*+?\w]?)\s*([*+?])").match(text, close + 1)
    names = set(re.findall(r"\$([A-Za-z_]\w*)", inner))
    rounds = next((rounds for own, rounds in bound.rounds if names & set(own)), [])
    for number, one in enumerate(rounds):
        out.append((f"{tail[1] if tail else ''} " if number else "", False))
        out += _transcribe(inner, _Bound({**bound.texts, **one.texts}, one.rounds))
    return tail.end() if tail is not None else close + 1
