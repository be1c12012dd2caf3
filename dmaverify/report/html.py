"""One HTML page of a cost: picture, terms, facts, advice; self-contained.

Knows: HTML escaping, the explanation of a cost, the picture as SVG.
Does not know: how either is made.
Law: no script, no reference to any other file or host; the same program gives the same page; all text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from dmaverify.cost.constants import CostData
from dmaverify.cost.explain import Explanation, SideFacts, explain
from dmaverify.program.command import Command
from dmaverify.report.picture import draw, svg

STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:84rem;padding:0 1rem;color:#1a202c}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem}td,th{padding:.25rem .8rem;border-bottom:1px solid #e2e8f0;"
    "text-align:left;vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}"
)


def page(
    programs: Sequence[tuple[str, Sequence[Command]]], target: CostData | str = "rngd", profile: str = "book"
) -> str:
    """The page of one or more named programs (before, after), side by side in the picture."""
    text = svg(draw(programs, target, profile))
    parts = [text[text.index("<svg") :]]
    for name, commands in programs:
        parts += [f"<h2>{escape(name)}</h2>", *_sections(explain(commands, target, profile))]
    title = escape(" / ".join(name for name, _ in programs))
    head = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    head += f"<style>{STYLE}</style></head>"
    return f"{head}<body><h1>{title}</h1>\n" + "\n".join(parts) + "\n</body></html>\n"


def _sections(seen: Explanation) -> list[str]:
    cost = seen.cost
    kind = "exact" if cost.exact else "a lower bound"
    found = [
        f"<p><b>{cost.cycles:,.0f} cycles</b> (profile {escape(cost.profile)}, {kind}). {escape(seen.because)}</p>"
    ]
    rows = [(term.name, f"{term.cycles:,.1f}", term.resource, term.why, term.source) for term in cost.terms]
    found.append(_table(("term", "cycles", "resource", "why", "source"), rows, numbers={1}))
    found.append(_table(("", *(side.role for side in seen.sides)), _facts(seen.sides), numbers=set()))
    if seen.advice:
        found.append("<ul>" + "".join(f"<li>{escape(line)}</li>" for line in seen.advice) + "</ul>")
    return found


def _facts(sides: Sequence[SideFacts]) -> list[tuple[str, ...]]:
    names = [name for name in SideFacts.__dataclass_fields__ if name != "role"]
    return [(name.replace("_", " "), *(_said(getattr(side, name)) for side in sides)) for name in names]


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(one) for one in value) or "none"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else "not known" if value is None else str(value)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: set[int]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=n' if i in numbers else ''}>{escape(text)}</td>" for i, text in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
