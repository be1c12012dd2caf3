"""Fragments of macros: which tokens `$x:expr`, `$x:ty` and their like take, and whether they take any.

Knows: tokens of Rust, with what an outer macro took as one token; what begins and what follows each kind of fragment.
Does not know: patterns of macros, scopes.
Law: a fragment is told to take tokens, or none, only where rustc does so (edition 2024); else `Undecided` is raised.

Source: the Rust reference, Macros By Example (metavariables, forwarding a matched fragment, follow-set).
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from dmaverify.machines.rngd.rust.code import root_of
from dmaverify.values import dataclass, replace

TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|[bc]?r(#*)\".*?\"\1|[bc]?\"(?:\\.|[^\"\\])*\"|b?'(?:\\.|[^'\\])'|r#\w+|'?[A-Za-z_]\w*"
    r"|0[xob]\w+|\d[\d_]*(?:\.\d[\d_]*|\.(?![.\w]))?(?:[eE][+-]?[\d_]+)?\w*"
    r"|::|=>|->|\.\.\.|\.\.=?|&&|\|\||<<=?|>>=?|[-+*/%&|^<>=!]=|\S",
    re.DOTALL,
)
OPEN, _CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
_TAKEN = re.compile(r"/\*~(\w*)~\*/")
FLAT = {"ident", "tt", "lifetime"}
"""Kinds whose tokens another macro sees as they are; of other kinds it sees one token."""
_WORD = re.compile(r"(?:r#)?[A-Za-z_]\w*")
_LITERAL = re.compile(r"\d|[bc]?r?#*\"|b?'.*'$|(?:true|false)$", re.DOTALL)
_ITEMS = {
    "as", "const", "dyn", "else", "enum", "extern", "fn", "impl", "in", "let", "mod", "mut", "pub", "ref", "struct",
    "trait", "type", "use", "where",
}  # fmt: skip
_RUNS = {"true", "false", "if", "match", "loop", "while", "return", "break", "continue", "move"}
_PLACES = ("crate", "self", "super", "in")


@dataclass(frozen=True)
class _Shape:
    """A kind of fragment that is parsed: the text `around` it, the signs that it begins with and the words that it does
    not, what may follow it, and the kinds that it takes as one token. `quoted`, `named`: whether it begins with a
    literal, or with a lifetime or label.
    """

    around: tuple[str, str]
    signs: Set[str]
    without: Set[str]
    follows: Set[str]
    takes: Set[str]
    quoted: bool = True
    named: bool = False


_ENDS = {",", ";", "=>"}
_IN_PATTERNS = {"(", "[", "&", "&&", "-", "..", "..=", "...", "<", "<<", "::", "|"}
_PATTERN = _Shape(
    ("fn f(){match 0{", "=>0}}"), _IN_PATTERNS, (_ITEMS | _RUNS) - {"mut", "ref", "const", "true", "false"},
    {",", "=>", "=", "if", "in"}, {"pat", "pat_param", "literal"},
)  # fmt: skip
_EXPRESSION = _Shape(
    ("fn f(){(", ")}"), {*OPEN, "!", "-", "*", "|", "||", "&", "&&", "..", "..=", "...", "<", "<<", "::", "#"},
    _ITEMS - {"const"}, _ENDS, {"expr", "expr_2021", "literal", "block", "path"}, named=True,
)  # fmt: skip
_TYPE = _Shape(
    ("type T = ", ";"), {"(", "[", "!", "*", "&", "&&", "?", "<", "<<", "::"},
    (_ITEMS | _RUNS) - {"dyn", "extern", "fn", "impl"}, _ENDS | {"{", "[", ":", "=", ">", ">>", "|", "as", "where"},
    {"ty", "path"}, quoted=False, named=True,
)  # fmt: skip
_SHAPES = {
    "expr": _EXPRESSION,
    "expr_2021": replace(_EXPRESSION, without=_ITEMS | {"_"}),
    "ty": _TYPE,
    "path": replace(_TYPE, around=("impl ", " for T {}"), signs={"::"}, takes={"path"}, named=False),
    "pat": _PATTERN,
    "pat_param": replace(_PATTERN, follows={*_PATTERN.follows, "|"}),
}


class Undecided(Exception):
    """Raised where only rustc tells what a fragment takes."""


def tokens_of(text: str) -> list[str]:
    """The tokens of a text without comments; what an outer macro took as one is one."""
    out: list[str] = []
    taken: list[int] = []  # where those begin that are not closed
    for found in TOKEN.finditer(text):
        mark = _TAKEN.fullmatch(found[0])
        if mark is None:
            out += [] if found[0].startswith(("//", "/*")) or taken else [found[0]]
        elif mark[1]:
            taken.append(found.start())
        elif taken:
            start = taken.pop()
            out += [] if taken else [text[start : found.end()]]
    return out


def as_taken(kind: str, text: str) -> str:
    """What a fragment took, as the one token that another macro sees."""
    return f"/*~{kind}~*/{text}/*~~*/"


def plain(text: str) -> str:
    """A text of the same length without the marks of what was taken as one token."""
    return _TAKEN.sub(lambda found: " " * len(found[0]), text)


def taken_as(token: str) -> str:
    """The kind of fragment that one token is; nothing for one of the text."""
    found = _TAKEN.match(token)
    return found[1] if found is not None else ""


def closing(tokens: Sequence[str], at: int) -> int:
    """The index of the bracket that closes the one at `at`, of tokens or of a text."""
    depth = 0
    for index in range(at, len(tokens)):
        depth += (tokens[index] in OPEN) - (tokens[index] in _CLOSE)
        if depth == 0:
            return index
    return len(tokens)


def fragment_end(kind: str, given: Sequence[str], at: int) -> int | None:
    """Where a fragment that starts at `at` ends; None where it takes nothing there. Raises Undecided."""
    if at >= len(given) or given[at] in _CLOSE:
        return None
    token, whole = given[at], taken_as(given[at])
    if kind == "tt":
        return closing(given, at) + 1 if token in OPEN else at + 1
    if kind in ("ident", "lifetime"):
        begins = token[0] == "'" if kind == "lifetime" else token != "_"
        return at + 1 if begins and _WORD.fullmatch(token.removeprefix("'")) else None
    if kind == "vis":
        return _visibility(given, at)
    if kind == "block":
        return closing(given, at) + 1 if token == "{" else at + 1 if whole == "block" else None
    if kind == "literal":
        behind = at + (token == "-")
        found = whole == "literal" or (behind < len(given) and _LITERAL.match(given[behind]))
        if not found and (token == "-" or whole.startswith("expr")):
            raise Undecided
        return behind + 1 if found else None
    shape = _SHAPES.get(kind)
    if shape is None:
        raise Undecided
    begins = whole in shape.takes if whole else _begins(shape, token)
    return _parsed(shape, given, at) if begins else None


def _visibility(given: Sequence[str], at: int) -> int | None:
    """Where `pub` or `pub(crate)` ends, or nothing of what may follow it."""
    token = given[at]
    if token == "pub":
        scoped = given[at + 1 : at + 2] == ["("] and given[at + 2] in _PLACES
        return closing(given, at + 1) + 1 if scoped else at + 1
    follows = token == "," or _WORD.fullmatch(token) is not None or token in _TYPE.signs or token[0] == "'"
    return at + 1 if taken_as(token) == "vis" else at if follows or taken_as(token) else None


def _begins(shape: _Shape, token: str) -> bool:
    """Whether rustc takes a token for the beginning of such a fragment."""
    if _LITERAL.match(token):
        return shape.quoted
    if _WORD.fullmatch(token):
        return token not in shape.without
    return token in shape.signs or (token[0] == "'" and shape.named)


def _parsed(shape: _Shape, given: Sequence[str], at: int) -> int:
    """Where the shortest text ends that is such a fragment and stands before what may follow it."""
    depth, (before, after) = 0, shape.around
    for index in range(at, len(given) + 1):
        last = index == len(given) or (depth == 0 and given[index] in _CLOSE)
        if index > at and (last or (depth == 0 and given[index] in shape.follows)):
            text = f"{before}{' '.join(given[at:index])}{after}"
            if not root_of(text.encode("utf-8", "replace")).has_error:
                return index
        if last:
            break
        depth += (given[index] in OPEN) - (given[index] in _CLOSE)
    raise Undecided
