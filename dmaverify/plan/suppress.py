"""Suppressions in a plan file: comments that allow a finding, with a reason.

    # dmaverify: allow(rngd/dm-write-align) the host pads these rows before it reads them
    [transfer.rows]

Knows: where comments stand in TOML, and to which transfer, access or program each belongs.
Does not know: which rules exist, what was found.
Law: a suppression names its rules, says why, and stands directly above or within the table that it speaks of (at the
end of a line as well); anything else that begins with `dmaverify:` is an InputError at its place, never ignored.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Source, Span
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

MARK = "dmaverify:"
RULES = r"\s*([^()\s,]+(?:\s*,\s*[^()\s,]+)*)\s*"
"""What stands between the brackets of `allow(...)`: rules, with commas."""
_FORM = re.compile(rf"#\s*dmaverify:\s*allow\({RULES}\)\s*(.*)", re.DOTALL)
_KINDS = ("transfer", "access", "program", "gather", "scatter")
_WRITE = "write `# dmaverify: allow(RULE, RULE) reason`"


@dataclass(frozen=True)
class Allowance:
    """One suppression: its rule, its reason, the name of what it belongs to, and its place."""

    rule: str
    reason: str
    owner: str
    span: Span


def allowances(source: Source) -> list[Allowance]:
    """Every suppression of a plan's text, in order. Raises InputError."""
    if MARK not in source.text:
        return []
    return [one for span, owner in _comments(source) if MARK in span.text for one in _allowances(span, owner)]


def rules_in(text: str) -> tuple[str, ...]:
    """The rules of one `allow(...)`, each once."""
    return tuple(dict.fromkeys(rule.strip() for rule in text.split(",")))


def _allowances(span: Span, owner: str) -> list[Allowance]:
    found = _FORM.fullmatch(span.text.rstrip())
    if found is None:
        raise InputError("this comment is no suppression", span, _WRITE)
    rules, reason = rules_in(found[1]), found[2].strip(" -:")
    if not reason:
        said = f"the suppression of `{', '.join(rules)}` gives no reason"
        raise InputError(said, span, f"{_WRITE}, for the next reader")
    if not owner:
        hint = "write it above or within its [transfer.NAME]"
        raise InputError("this suppression belongs to no transfer", span, hint)
    return [Allowance(rule, reason, owner, span) for rule in rules]


def _comments(source: Source) -> Iterator[tuple[Span, str]]:
    """Every comment with the name of the transfer, access or program that it belongs to, or an empty name."""
    from dmaverify.language.toml_spans import parse_toml, toml_tree
    from dmaverify.language.trees import walk

    parse_toml(source)  # what is no TOML is refused here, with its place
    code, root = toml_tree(source)
    comments: list[Node] = []
    headers: dict[int, str] = {}
    for node in walk(root):
        if node.type == "comment":
            comments.append(node)
        elif node.type in ("table", "table_array_element"):
            headers[node.start_point[0]] = _owner(node)
    alone = {node.start_point[0] for node in comments if not _line_before(code.data, node).strip()}
    for node in comments:
        start = code.span(node).start
        span = Span(source, start, start + len(code.text(node).rstrip()))
        yield span, _owner_at(node.start_point[0], headers, alone)


def _line_before(data: bytes, node: Node) -> bytes:
    """What stands before the comment on its line."""
    return data[node.start_byte - node.start_point[1] : node.start_byte]


def _owner_at(line: int, headers: Mapping[int, str], alone: Collection[int]) -> str:
    """Of the header that lines of comments alone lead down to without a gap, else of the last header above."""
    below = line
    while below in alone:
        below += 1
    if line in alone and below in headers:
        return headers[below]
    return next((headers[at] for at in range(line, -1, -1) if at in headers), "")


def _owner(node: Node) -> str:
    """NAME of [transfer.NAME] and of tables below it; empty for other tables."""
    key = node.children[1] if len(node.children) > 1 else None
    names: list[str] = []
    while key is not None and key.type == "dotted_key":
        names.insert(0, _name(key.children[-1]))
        key = key.children[0]
    names = [_name(key), *names] if key is not None else names
    return names[1] if len(names) > 1 and names[0] in _KINDS else ""


def _name(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace").strip("\"'")
