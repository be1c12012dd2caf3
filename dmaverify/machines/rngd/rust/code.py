"""Rust text as a syntax tree, with the place of every node in characters.

Knows: tree-sitter's Rust grammar, fragments of text that are parsed again where they stand.
Does not know: what any item or expression means.
Law: a fragment has the places of the text that it was cut from; text that a macro made has that of its invocation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.trees import Code, parser_of, walk
from dmaverify.machines.rngd.rust.cfg import built
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_BYTES = 4_000_000
_ARMS = {
    "block", "unsafe_block", "expression_statement", "parenthesized_expression", "if_expression", "else_clause",
    "match_expression", "match_block", "match_arm",
}  # fmt: skip
_BOUND = {
    "identifier", "integer_literal", "boolean_literal", "call_expression", "field_expression", "index_expression",
    "scoped_identifier", "parenthesized_expression",
}  # fmt: skip
"""Expressions that an operator beside them does not take apart."""
_LEFT_OPEN = {
    "binary_expression", "call_expression", "field_expression", "index_expression", "range_expression",
    "try_expression", "type_cast_expression",
}  # fmt: skip
"""Expressions that begin with another one."""
_PLACEHOLDER = re.compile(r"\{\{\s*crate_name\s*\}\}")
"""The name of the crate in a template of `cargo generate`."""


_RAW = re.compile(
    r"(?<![\w'])r#(?!(?:as|async|await|break|const|continue|crate|do|dyn|else|enum|extern|false|fn|for|gen|if|impl|in|let|loop"
    r"|macro|match|mod|move|mut|pub|ref|return|self|Self|static|struct|super|trait|true|try|type|unsafe|use|where|while"
    r"|yield)\b)(?=[A-Za-z_])"
)
"""What a name has before it that is the same without it: `r#n` is `n`."""


def _own_crate(found: re.Match[str]) -> str:
    return "crate".ljust(len(found[0]))


def root_of(data: bytes) -> Node:
    """The tree of a text."""
    return parser_of("rust", "tree-sitter-rust").parse(data).root_node


def parse_file(source: Source) -> tuple[Code, Node]:
    """The tree of a whole file. Raises InputError where it is too long to be a kernel."""
    data = _RAW.sub("  ", _PLACEHOLDER.sub(_own_crate, source.text)).encode("utf-8", "replace")
    if len(data) > MAX_BYTES:
        raise InputError(f"{source.name} has {len(data):,} bytes", None, f"a kernel has at most {MAX_BYTES:,}")
    return Code(source, data), root_of(data)


def parse_fragment(code: Code, text: str, byte: int, before: str, after: str) -> tuple[Code, Node]:
    """The tree of `before + text + after`, where `text` stands at `byte` of `code`."""
    data = f"{before}{text}{after}".encode("utf-8", "replace")
    start = code.character(byte) - len(before)
    return Code(code.source, data, start, code.at, code.origin), root_of(data)


def parse_made(source: Source, text: str, at: Span) -> tuple[Code, Node]:
    """The tree of text that a macro made; all of it stands at the macro's invocation."""
    data = text.encode("utf-8", "replace")
    return Code(source, data, 0, at, object()), root_of(data)


def above(tree: Node, node: Node) -> list[Node]:
    """What a node stands in, from `tree` on inwards. One walk down: a node finds its parent by a walk of its own."""
    found: list[Node] = []
    cursor = tree.walk()
    while cursor.node is not None and cursor.node != node:
        found.append(cursor.node)
        if cursor.goto_first_child_for_byte(node.start_byte) is None:
            break
    return found


def parts_of(path: str) -> tuple[str, ...]:
    """`a::b` as its names."""
    return tuple(part.strip() for part in path.split("::") if part.strip())


def named(node: Node) -> list[Node]:
    """The named children without comments."""
    return [child for child in node.named_children if child.type not in ("line_comment", "block_comment")]


def in_build(
    code: Code, nodes: Iterable[Node], features: frozenset[str]
) -> list[tuple[Node, tuple[str, ...], bool | None]]:
    """The nodes of a list without comments, each with the attributes above it and whether the build has it; None where
    only the compiler knows.
    """
    out: list[tuple[Node, tuple[str, ...], bool | None]] = []
    attributes: list[str] = []
    for node in nodes:
        if node.type == "attribute_item":
            attributes.append(code.text(node))
        elif node.type not in ("line_comment", "block_comment"):
            told = [built(text, features) for text in attributes]
            out.append((node, tuple(attributes), False if False in told else None if None in told else True))
            attributes = attributes if node.type in (",", "{", "(", "visibility_modifier") else []
    return out


_REST = "remaining_field_pattern"  # `..`


def places(pattern: Node, count: int | None = None) -> list[tuple[Node, int | None]]:
    """The parts of a pattern with their places in what it takes apart, `_` included; behind `..` these are known where
    the `count` of all is.
    """
    parts = [one for one in pattern.children if one.type == "_" or one in named(pattern)]
    rest = next((n for n, one in enumerate(parts) if child(one, _REST) is not None or one.type == _REST), len(parts))
    after = None if count is None else count - len(parts)
    return [
        (one, number if number < rest else None if after is None or number == rest else number + after)
        for number, one in enumerate(parts)
    ]


def label_of(code: Code, node: Node) -> str:
    """`'outer`: the label of a loop, a block or a `break`."""
    found = child(node, "label")
    return code.text(found) if found is not None else ""


def arguments_in(code: Code, text: str, byte: int) -> tuple[Code, list[Node]]:
    """The expressions of a list of arguments that stands at `byte` of `code`."""
    again, tree = parse_fragment(code, text, byte, "fn f(){g(", ");}")
    given = next((one for one in walk(tree) if one.type == "arguments"), None)
    return again, named(given) if given is not None else []


def compared(code: Code, left: Node, sign: str, right: Node) -> tuple[Code, Node] | None:
    """The condition `left sign right` of two expressions, standing where the left one does, whatever binds in them."""
    sides = [code.text(one) if one.type in _BOUND else f"({code.text(one)})" for one in (left, right)]
    shift = int(left.type not in _BOUND)
    again, found = arguments_in(code, f"{sides[0]} {sign} {sides[1]}", left.start_byte - shift)
    return (again, found[0]) if len(found) == 1 and not found[0].has_error else None


@dataclass(frozen=True)
class RangeEnds:
    """The ends of `a..b`, None where it is open; `high` stands in `code`."""

    low: Node | None
    high: Node | None
    code: Code
    closed: bool


def range_at(code: Code, node: Node) -> RangeEnds | None:
    """A range, by whatever name the grammar has it: it takes `a..-b` and `a..<S>::N` for operations, `..=b` for an
    assignment.
    """
    first = node
    while first.type in ("binary_expression", "assignment_expression") and first.children:
        first = first.children[0]
    if first.type != "range_expression":
        return None
    low, high = sides_of(first)
    if first == node:
        return RangeEnds(low, high, code, child(node, "..=") is not None)
    sign = code.data[first.end_byte : node.end_byte].lstrip()[:1]
    if high is not None or sign not in (b"-", b"*", b"&", b"<", b"="):
        return None
    closed = sign == b"="
    start = first.end_byte + code.data[first.end_byte : node.end_byte].index(sign) + closed
    again, found = arguments_in(code, code.data[start : node.end_byte].decode("utf-8", "replace"), start)
    return RangeEnds(low, found[0], again, closed) if len(found) == 1 and not found[0].has_error else None


def taken_along(code: Code, node: Node) -> tuple[Node, Code, Node] | None:
    """A `break` or `return`, and what it takes along where the grammar takes it for the left side of that: `break -1`,
    `break (a).0`.
    """
    first = node
    while first.type in _LEFT_OPEN and first.children:
        first = first.children[0]
    if first == node or first.type not in ("break_expression", "return_expression"):
        return None
    rest = code.data[first.end_byte : node.end_byte].decode("utf-8", "replace")
    again, found = arguments_in(code, rest, first.end_byte)
    return (first, again, found[0]) if len(found) == 1 and not found[0].has_error else None


def takes_along(leave: Node) -> bool:
    """Whether a `break` gives a value."""
    outer = leave.parent
    left = outer is not None and outer.type in _LEFT_OPEN and outer.children[0] == leave
    return left or any(one.type != "label" for one in named(leave))


def sides_of(node: Node) -> tuple[Node | None, Node | None]:
    """What stands before and behind the sign of a range, as an expression or as a pattern."""
    sign = next((one for one in node.children if one.type in ("..", "..=")), node)
    before = [one for one in named(node) if one.end_byte <= sign.start_byte]
    after = [one for one in named(node) if one.start_byte >= sign.end_byte]
    return next(iter(before), None), next(iter(after), None)


@lru_cache(maxsize=1024)
def expression_of(text: str) -> tuple[Code, Node] | None:
    """The tree of one expression; None where the text is anything else, or more."""
    before, after = "fn f(){g(", "\n);}"
    data = f"{before}{text}{after}".encode("utf-8", "replace")
    root = root_of(data)
    given = next((one for one in walk(root) if one.type == "arguments"), None)
    whole = given is not None and given.end_byte == len(data) - 2 and not root.has_error
    inner = named(given) if given is not None and whole else []
    return (Code(Source("<text>", text), data), inner[0]) if len(inner) == 1 else None


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


def child(node: Node, kind: str) -> Node | None:
    """The first child of that type."""
    return next((one for one in node.children if one.type == kind), None)


@lru_cache(maxsize=8)
def first_error(source: Source) -> Span | None:
    """Where the text stops being Rust: the deepest place that the grammar could not read; None where it is all Rust."""
    code, node = parse_file(source)
    if not node.has_error:
        return None
    while (inner := next((one for one in node.children if one.has_error or one.is_missing), None)) is not None:
        node = inner
    if node.is_missing:
        return code.range(max(0, node.start_byte - 1), node.start_byte)
    opened = code.text(node).find("{") if node.type == "ERROR" else -1
    start = node.start_byte + opened if opened >= 0 else node.start_byte
    return code.range(start, start + 1)


def asked_type(method: Node) -> Node | None:
    """The type that stands for what a method gives: in its own brackets, at a `let`, as the result of a function."""
    made = method.parent
    if made is not None and made.type == "generic_function":
        given = made.child_by_field_name("type_arguments")
        return named(given)[0] if given is not None and len(named(given)) == 1 else None
    place = made.parent if made is not None and made.type == "call_expression" else None
    if place is not None and place.type == "let_declaration":
        return place.child_by_field_name("type")
    if place is not None and place.type == "block" and named(place)[-1] == made and place.parent is not None:
        return place.parent.child_by_field_name("return_type") if place.parent.type == "function_item" else None
    return None


def passes_on(node: Node) -> bool:
    """Whether an expression is an argument of a call, or a part of a tuple or a list that is one."""
    outer = node.parent
    while outer is not None and outer.type in ("tuple_expression", "array_expression", "parenthesized_expression"):
        outer = outer.parent
    return outer is not None and outer.type == "arguments"


def is_given(node: Node) -> bool:
    """Whether an expression is what its function gives: it is returned, or it ends the body or an arm that does."""
    outer = node.parent
    while outer is not None and outer.type not in ("return_expression", "function_item"):
        ends = outer.type != "block" or named(outer)[-1] == node
        asked = outer.child_by_field_name("condition") or outer.child_by_field_name("value")
        asked = asked if outer.type in ("if_expression", "match_expression") else None
        if outer.type not in _ARMS or not ends or asked == node or outer.children[-1].type == ";":
            return False
        node, outer = outer, outer.parent
    return outer is not None and (outer.type == "function_item" or not in_closure(outer))


def in_closure(node: Node) -> bool:
    """Whether a `return` or a `?` leaves a closure, or a block of its own, and not the function."""
    around, ends = node.parent, ("closure_expression", "async_block", "try_block", "function_item")
    while around is not None and around.type not in ends:
        around = around.parent
    return around is None or around.type != "function_item"
