"""Suppressions in Rust source: comments that allow a finding of the transfer below or beside them, with a reason.

    // dmaverify: allow(rngd/dm-write-align) the host pads these rows before it reads them
    let rows: DmTensor<i32, Chip, Cluster, m![PA], m![PC]> = input.to_dm(&mut ctx.tdma);

Knows: where a line comment begins in Rust, and which lines belong to the statement that it stands at.
Does not know: types, transfers, which rules exist.
Law: as in plan files: one rule, a reason, or an InputError at its place. `//` within a text, a character or a block
comment begins nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dmaverify.errors import InputError, Source, Span
from dmaverify.inputs.suppress import MARK

_FORM = re.compile(r"//\s*dmaverify:\s*allow\(\s*([^)\s]+)\s*\)\s*(.*)")
_WRITE = "write `// dmaverify: allow(RULE) reason`"
_TOKEN = re.compile(
    r"""(?P<line>//[^\n]*)|(?P<block>/\*)|(?P<raw>\bb?r(?P<hashes>\#*)")|(?P<text>b?"(?:\\.|[^"\\])*")"""
    r"""|(?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F_]*\}|.)|[^'\\\n])')""",
    re.DOTALL,
)
_BLOCK = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class LineAllowance:
    """One suppression: its rule and reason, its place, and the lines of the statement that it stands at."""

    rule: str
    reason: str
    span: Span
    lines: range


def comments(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of every line comment."""
    at = 0
    while (found := _TOKEN.search(text, at)) is not None:
        at = found.end()
        if found["line"] is not None:
            yield found.span()
        elif found["block"] is not None:
            at = _behind_block(text, at)
        elif found["raw"] is not None:
            end = text.find(f'"{found["hashes"]}', at)
            at = len(text) if end < 0 else end + 1 + len(found["hashes"])


def _behind_block(text: str, at: int) -> int:
    """Block comments nest."""
    depth = 1
    while depth:
        found = _BLOCK.search(text, at)
        if found is None:
            return len(text)
        depth += 1 if found[0] == "/*" else -1
        at = found.end()
    return at


def line_allowances(source: Source, transfers: Collection[int]) -> list[LineAllowance]:
    """Every suppression of a Rust text, in order; `transfers` are the lines of its transfers. Raises InputError."""
    if MARK not in source.text:
        return []
    spans = [Span(source, start, end) for start, end in comments(source.text)]
    own = {span.line for span in spans if not source.line_text(span.line)[: span.column - 1].strip()}
    return [_allowance(span, own, transfers) for span in spans if MARK in span.text]


def _allowance(span: Span, alone: Collection[int], transfers: Collection[int]) -> LineAllowance:
    found = _FORM.fullmatch(span.text.rstrip())
    if found is None:
        raise InputError("this comment is no suppression", span, _WRITE)
    reason = found[2].strip(" -:")
    if not reason:
        raise InputError(f"the suppression of `{found[1]}` gives no reason", span, f"{_WRITE}, for the next reader")
    return LineAllowance(found[1], reason, span, _statement(span, alone, transfers))


def _statement(span: Span, alone: Collection[int], transfers: Collection[int]) -> range:
    """From the line of the comment (the one below, if it stands alone) to its first transfer; empty if there is none
    before the next blank line.
    """
    first = span.line
    while first in alone:
        first += 1
    line = first
    while line not in transfers:
        if not span.source.line_text(line).strip():
            return range(first, first)
        line += 1
    return range(first, line + 1)
