"""What a notebook shows of a mapping, a plan and a verdict.

Knows: HTML escaping, the text of a verdict, the literal meaning of mappings.
Does not know: which classes are shown so (`api` ties them), files.
Law: what is shown is what the command line prints; all text of users is escaped; no script, no host.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from dmaverify.language.expr import Expr, axes_of
from dmaverify.language.meaning import Index, Pad, cell, finalize
from dmaverify.report.text import render_verdict
from dmaverify.verdict import Status, Verdict

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan

CELLS = 32
_CELL = "border:1px solid #cbd5e0;padding:2px 6px;text-align:center;font-family:monospace"
_INK = {Status.PROVED: "#1a7f4b", Status.REFUTED: "#c62f3b", Status.UNKNOWN: "#b26a00", Status.ERROR: "#8e1f6b"}


def mapping_html(expr: Expr) -> str:
    """Text, size and the first cells."""
    sizes = axes_of(expr)
    shown = min(CELLS, expr.size)
    words = [_word(expr, at, sizes) for at in range(shown)]
    numbers = "".join(f'<td style="color:#718096;text-align:center">{at}</td>' for at in range(shown))
    cells = "".join(f'<td style="{_CELL}">{escape(word)}</td>' for word in words)
    more = f" (the first {shown})" if shown < expr.size else ""
    return (
        f"<div><code>{escape(str(expr))}</code>: {expr.size:,} positions{more}"
        f"<table><tr>{numbers}</tr><tr>{cells}</tr></table></div>"
    )


def _word(expr: Expr, at: int, sizes: dict[str, int]) -> str:
    found = finalize(cell(expr, at), sizes)
    if isinstance(found, Index):
        return ", ".join(f"{axis} = {value}" for axis, value in found.coords) or "0"
    return f"{found.kind.value} padding" if isinstance(found, Pad) else "outside"


def verdict_html(verdict: Verdict) -> str:
    """Status and claim in colour, below it what the command line prints."""
    head = f"{verdict.status.value.upper()} {verdict.name}"
    said = ", ".join(sorted({finding.rule for finding in verdict.errors})) or verdict.claim
    body = "" if verdict.status is Status.PROVED else f"<pre>{escape(render_verdict(verdict))}</pre>"
    return (
        f'<div><b style="color:{_INK[verdict.status]}">{escape(head)}</b> on {escape(verdict.target or "no machine")}'
        f"{escape(f': {said}') if said else ''}{body}</div>"
    )


def plan_html(plan: Plan) -> str:
    """The axes, and every transfer with its two tensors."""
    axes = ", ".join(f"{name} = {size}" for name, size in plan.axes.items())
    rows = "".join(
        f"<tr><td>{escape(item.name)}</td><td>{escape(item.transfer.dtype)}</td>"
        f"<td>{escape(item.transfer.source.tier)} <code>{escape(str(item.transfer.source.mapping))}</code></td>"
        f"<td>{escape(item.transfer.dest.tier)} <code>{escape(str(item.transfer.dest.mapping))}</code></td></tr>"
        for item in plan.transfers
    )
    counted = (("accesses", plan.accesses), ("programs", plan.programs))
    others = [f"{len(part)} {name}" for name, part in counted if part]
    head = "<tr><th>transfer</th><th>type</th><th>source</th><th>destination</th></tr>"
    also = f"<p>and {escape(', '.join(others))}</p>" if others else ""
    return f"<div>{escape(plan.path)}: {escape(axes)}<table>{head}{rows}</table>{also}</div>"
