"""What changed between two revisions, for a reviewer: text, a table in Markdown, annotations, JSON.

Knows: changes of `jobs.revisions` by their fields.
Does not know: git, files, how anything was judged.
Law: what fails comes first; nothing that changed is left out; counts add up to the lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dmaverify.report.machine import github_text
from dmaverify.report.snippet import visible
from dmaverify.report.text import render_verdict
from dmaverify.verdict import Status


def changes_text(found: Sequence[Any], still: int) -> str:
    """A line a change; what fails in full before. `still` is how many did not change and have no answer."""
    lines = [render_verdict(one.after.verdict, "full") + "\n" for one in found if one.fails]
    lines += [f"{_word(one):<16} {visible(f'{one.path}::{one.name}')}{_tail(one)}" for one in found]
    return "\n".join([*lines, *([""] if lines else []), counted(found, still)])


def counted(found: Sequence[Any], still: int) -> str:
    kinds = Counter(_word(one) for one in found)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    left = f"; {still} not decided in both, of the same text" if still else ""
    return (f"changed {len(found)}: {told}" if found else "no transfer changed") + left


def _word(one: Any) -> str:
    if one.kind == "added" and one.after is not None:
        return f"added {one.after.verdict.status.value}"
    return str(one.kind)


def _tail(one: Any) -> str:
    low, high = one.cycles
    said = f"  {low:,.0f} -> {high:,.0f} cycles" if low and high else ""
    if one.after is not None and one.after.verdict.status is Status.REFUTED:
        said += "  " + ", ".join(sorted({f.rule for f in one.after.verdict.errors}))
    return said


def changes_markdown(found: Sequence[Any], still: int) -> str:
    """A table for the page of a pull request."""
    lines = [f"## dmaverify: {counted(found, still)}", ""]
    if found:
        lines += ["| what | transfer | before | after | cycles |", "| --- | --- | --- | --- | --- |"]
    for one in found:
        sides = [side.verdict.status.value if side is not None else "" for side in (one.before, one.after)]
        low, high = one.cycles
        cost = f"{low:,.0f} to {high:,.0f}" if low and high else ""
        cells = [_word(one), f"`{one.path}::{one.name}`", *sides, cost]
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join([*lines, ""])


def changes_github(found: Sequence[Any]) -> str:
    """Annotations on the lines that changed for the worse."""
    out = []
    for one in found:
        if one.after is None:
            continue
        level = "error" if one.fails else "warning" if one.after.verdict.status is Status.UNKNOWN else "notice"
        first = next(iter(one.after.verdict.errors), None)
        told = f"{_word(one)}: {first.message if first is not None else one.name}{_tail(one)}"
        line = max(1, one.after.verdict.line)
        out.append(f"::{level} file={one.path},line={line},title=dmaverify {one.name}::{github_text(told)}")
    return "\n".join(out)


def changes_data(found: Sequence[Any]) -> list[dict[str, Any]]:
    """For other programs."""
    return [
        {
            "path": one.path,
            "name": one.name,
            "kind": _word(one),
            "fails": one.fails,
            "before": _side(one.before),
            "after": _side(one.after),
            "cycles": list(one.cycles) if all(one.cycles) else None,
        }
        for one in found
    ]


def _side(side: Any) -> dict[str, Any] | None:
    if side is None:
        return None
    rules = sorted({f.rule for f in side.verdict.errors})
    return {"status": side.verdict.status.value, "line": side.verdict.line, "move": side.move, "rules": rules}
