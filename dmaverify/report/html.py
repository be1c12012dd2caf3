"""A cost as parts of an HTML page: terms, facts of both sides, advice.

Knows: HTML escaping, the explanation of a cost. Does not know: how it is made, the rest of the page.
Law: no reference to any other file or host; the same program gives the same text; all text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from dmaverify.cost.explain import Explanation
from dmaverify.cost.side_facts import SideFacts


def sections(seen: Explanation) -> list[str]:
    """Cycles, terms, facts of both sides and advice, as parts of a page."""
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
