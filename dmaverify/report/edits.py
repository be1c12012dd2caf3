"""Edits of a text: applied to it, and shown as the lines that they change.

Knows: spans, and how replacements shift what stands behind them.
Does not know: why a text is edited, files, terminals.
Law: characters outside of the edited spans stay as they are; edits that overlap or belong to another text are refused,
so that a text is changed as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from dmaverify.errors import Source
from dmaverify.values import dataclass, replace
from dmaverify.verdict import Edit

UNITS = (1, 2, 4, 8)  # bytes of an element, where a plan counts elements


class Overlap(ValueError):
    """Two edits that change the same characters."""


@dataclass(frozen=True)
class LineChange:
    """Lines of a text before and after: `line` is the 1-based number of the first of them."""

    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]


def in_text(edits: Iterable[Edit]) -> list[Edit]:
    """Edits by place, each once. Raises Overlap where two of them touch the same characters."""
    once = {(edit.span.start, edit.span.end, edit.text): edit for edit in edits}
    ordered = [once[key] for key in sorted(once)]
    for first, second in pairwise(ordered):
        if second.span.start < first.span.end or second.span.start == first.span.start:
            raise Overlap(f"two edits of {first.span}")
    return ordered


def applied(text: str, edits: Iterable[Edit]) -> str:
    """`text` with all edits made. Raises Overlap."""
    parts, at = [], 0
    for edit in in_text(edits):
        parts += [text[at : edit.span.start], edit.text]
        at = edit.span.end
    return "".join([*parts, text[at:]])


def changes(source: Source, edits: Sequence[Edit]) -> list[LineChange]:
    """The lines that the edits change, neighbours together. Raises Overlap."""
    groups: list[list[Edit]] = []
    for edit in in_text(edits):
        first = source.line_of(edit.span.start)
        if groups and first <= source.line_of(max(groups[-1][-1].span.start, groups[-1][-1].span.end - 1)):
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return [_change(source, group) for group in groups]


def _change(source: Source, edits: Sequence[Edit]) -> LineChange:
    first = source.line_of(edits[0].span.start)
    last = max(source.line_of(max(edit.span.start, edit.span.end - 1)) for edit in edits)
    start = source.line_starts[first - 1]
    end = source.line_starts[last - 1] + len(source.line_text(last))
    shifted = [Edit(type(e.span)(e.span.source, e.span.start - start, e.span.end - start), e.text) for e in edits]
    before = source.text[start:end]
    return LineChange(first, tuple(before.split("\n")), tuple(applied(before, shifted).split("\n")))


def unified(name: str, before: str, after: str) -> str:
    """The change of a text as a unified diff, which `patch -p1` and `git apply` take."""
    from difflib import unified_diff

    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    made = unified_diff(old, new, f"a/{name.lstrip('/')}", f"b/{name.lstrip('/')}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in made)


def trials_of(edits: Sequence[Edit]) -> Iterator[tuple[Edit, ...]]:
    """The edits as they are, then, where all are numbers, with every number counted in elements."""
    for unit in UNITS if all(_is_number(edit) for edit in edits) else (1,):
        scaled = [_scaled(edit, unit) for edit in edits]
        if all(edit is not None for edit in scaled):
            yield tuple(edit for edit in scaled if edit is not None)


def _is_number(edit: Edit) -> bool:
    return edit.text.lstrip("-").isdecimal()


def _scaled(edit: Edit, unit: int) -> Edit | None:
    if unit == 1:
        return edit
    if int(edit.text) % unit:
        return None
    return replace(edit, text=str(int(edit.text) // unit))
