"""`macro_rules!` with plain variables: a definition's arms, and what an invocation expands to.

Knows: arms `($a:ty, $b:expr) => { ... }` with fragments, literal tokens, and repetitions `$(...),*`.
Does not know: where names of a body that it does not declare were declared, fragments' grammar beyond where they end,
macros of other crates.
Law: an invocation that no arm matches literally expands to nothing, and whoever asks then reports it; text that was
expanded stands at its invocation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from dmaverify.errors import Span
from dmaverify.language.trees import Code
from dmaverify.machines.rngd.rust.code import named, parse_made
from dmaverify.machines.rngd.rust.fragments import (
    FLAT,
    OPEN,
    TOKEN,
    Undecided,
    as_taken,
    closing,
    fragment_end,
    taken_as,
    tokens_of,
)
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_TEXT = 400_000
_DECLARED = re.compile(r"\blet\s+([^=;]+)|\bfor\s+([^{};]+?)\s+in\b|\|([^|;{}]*)\||[{,]([^{},;=]+)=>")
"""Patterns that bind names: of `let`, loops, closures and arms."""
_VARIABLE = re.compile(r"(?<![$\w.:])([a-z_]\w*)\b(?!\s*(?:::|!|\())")
_OPERATORS = {
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "as", "&&", "||", "==", "!=", "<", "<=", ">", ">=", "..", "..=",
}  # fmt: skip
_SIGNS = ("*", "+", "?")
_CALLED = re.compile(r"[A-Za-z_]\w*\s*!\s*[(\[{]")
_BLOCKS = {"if", "match", "{", "unsafe", "loop"}  # begin expressions that end with their block where a statement begins


@dataclass(frozen=True, eq=False)
class Rules:
    """The arms of one macro: tokens of the pattern, text of the body. `at`: where it is defined, in `code`; `earlier`:
    the definition of its name before it; one without arms is not known.
    """

    name: str
    arms: tuple[tuple[tuple[str, ...], str], ...] = ()
    code: Code | None = None
    at: Span | None = None
    earlier: Rules | None = None

    def seen_from(self, call: Span | None) -> Rules | None:
        """The last definition before a call, where both stand in one text."""
        return next((one for one in self.chain() if one.at is None or call is None or _stands(one.at, call)), None)

    def chain(self) -> Iterator[Rules]:
        """The definition and those before it, the last one first."""
        one: Rules | None = self
        while one is not None:
            yield one
            one = one.earlier


def _stands(at: Span, call: Span) -> bool:
    """Whether what stands there is defined where a call stands."""
    return at.source != call.source or at.start <= call.start


@dataclass
class _Bound:
    """What variables stand for, a text of a kind, or one binding for each round of a repetition."""

    texts: dict[str, tuple[str, str]]
    rounds: list[tuple[tuple[str, ...], list[_Bound]]]


_Parts = list[tuple[str, bool]]
"""Texts of an expansion, and whether the caller wrote each."""


def read_rules(code: Code, node: Node, earlier: Rules | None = None) -> Rules:
    """The arms of a `macro_definition`."""
    name = node.child_by_field_name("name")
    arms = []
    for rule in named(node):
        if rule.type == "macro_rule":
            left, right = rule.child_by_field_name("left"), rule.child_by_field_name("right")
            if left is not None and right is not None:
                arms.append((tuple(tokens_of(code.text(left)[1:-1])), code.text(right)[1:-1]))
    return Rules(code.text(name) if name is not None else "", tuple(arms), code, code.span(node), earlier)


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
    """What `name! { body }` becomes; None where no arm matches, or nobody knows which."""
    written = code.text(body)[1:-1]
    given = tokens_of(written)
    for pattern, text in rules.arms:
        try:
            bound = _matched(pattern, given)
        except Undecided:
            return None
        if bound is not None:
            parts = _transcribe(_hygienic(text, {found[0] for found in TOKEN.finditer(written)}), bound)
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


def _matched(pattern: Sequence[str], given: Sequence[str]) -> _Bound | None:
    ends = _ends(pattern, given, 0, _Bound({}, []))
    return next((bound for end, bound in ends if end == len(given)), None)


def _ends(pattern: Sequence[str], given: Sequence[str], at: int, bound: _Bound) -> Iterator[tuple[int, _Bound]]:
    """How far `given` goes, and what is bound, when `pattern` has matched from `at`: each way to match it."""
    index = 0
    while index < len(pattern):
        token = pattern[index]
        if token == "$" and pattern[index + 1 : index + 2] == ("(",):
            yield from _repeated(pattern, index + 1, given, at, bound)
            return
        if token == "$" and pattern[index + 2 : index + 3] == (":",):
            name, kind = pattern[index + 1], pattern[index + 3] if index + 3 < len(pattern) else "tt"
            end = fragment_end(kind, given, at)
            if end is None:
                return
            made = " ".join(given[at:end])
            alone = kind != "expr" or not (given[at] in _BLOCKS or _operates(given[at:end]))
            made = made if alone else f"({made})"
            bound = _Bound({**bound.texts, name: (made, kind)}, bound.rounds)
            at, index = end, index + 4
        elif at < len(given) and given[at] == token:
            at, index = at + 1, index + 1
        else:
            return
    yield at, bound


def _repeated(
    pattern: Sequence[str], start: int, given: Sequence[str], at: int, bound: _Bound
) -> Iterator[tuple[int, _Bound]]:
    """The same of a pattern from `$( .. ) sep? *` on, whose bracket opens at `start`; the most rounds first."""
    close = closing(pattern, start)
    inner, index, separator = pattern[start + 1 : close], close + 1, ""
    if pattern[index : index + 1] and pattern[index] not in _SIGNS:
        separator, index = pattern[index], index + 1
    sign, rest = pattern[index : index + 1], pattern[index + 1 :]
    names = tuple(inner[i + 1] for i in range(len(inner) - 1) if inner[i] == "$" and inner[i + 1] != "(")
    rounds, reached = list[_Bound](), [at]
    while len(rounds) < (1 if sign == ("?",) else len(given) + 1):
        begin = reached[-1]
        after = begin + (1 if rounds and separator else 0)
        found = (
            next(_ends(inner, given, after, _Bound({}, [])), None) if given[begin:after] in ([], [separator]) else None
        )
        if found is None or (rounds and found[0] == begin):
            break
        reached.append(found[0])
        rounds.append(found[1])
    for count in range(len(rounds), (sign == ("+",)) - 1, -1):
        own = _Bound(bound.texts, [*bound.rounds, (names, rounds[:count])])
        yield from _ends(rest, given, reached[count], own)


def _operates(tokens: Sequence[str]) -> bool:
    """Whether an expression is an operation, which stays one operand wherever it is put."""
    if tokens[0] in ("-", "!"):
        return True
    depth = 0
    for before, token in pairwise(tokens):
        depth += (before in OPEN) - (before in OPEN.values())
        operand = before in OPEN.values() or before[-1].isalnum() or before[-1] in "_\"'" or taken_as(before)
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


def _transcribe(text: str, bound: _Bound, inside: bool = False) -> _Parts:
    """The body with its variables put in; repetitions once for each round. `inside`: what another macro is given."""
    out: _Parts = []
    at, called = (
        0,
        [] if inside else [(found.end() - 1, closing(text, found.end() - 1)) for found in _CALLED.finditer(text)],
    )
    while at < len(text) and len(out) < MAX_TEXT:
        sign = text.find("$", at)
        if sign < 0:
            out.append((text[at:], False))
            break
        out.append((text[at:sign], False))
        at = _variable(text, sign, bound, out, inside or any(first < sign < last for first, last in called))
    return out


def _variable(text: str, sign: int, bound: _Bound, out: _Parts, inside: bool) -> int:
    found = re.compile(r"\$([A-Za-z_]\w*)").match(text, sign)
    if found is not None:
        own = bound.texts.get(found[1])
        made = (found[0] if found[1] != "crate" else "crate") if own is None else own[0]
        out.append((made if own is None or not inside or own[1] in FLAT else as_taken(own[1], made), own is not None))
        return found.end()
    if text[sign : sign + 2] != "$(":
        out.append(("$", False))
        return sign + 1
    close = closing(text, sign + 1)
    inner = text[sign + 2 : close]
    tail = re.compile(r"\s*([^\s*+?\w]?)\s*([*+?])").match(text, close + 1)
    names = set(re.findall(r"\$([A-Za-z_]\w*)", inner))
    rounds = next((rounds for own, rounds in bound.rounds if names & set(own)), [])
    for number, one in enumerate(rounds):
        out.append((f"{tail[1] if tail else ''} " if number else "", False))
        out += _transcribe(inner, _Bound({**bound.texts, **one.texts}, one.rounds), inside)
    return tail.end() if tail is not None else close + 1
