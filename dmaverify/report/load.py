"""Load over time: how busy each channel and memory port is while a program runs, as a strip for each; or in sum.

Knows: the recorded requests of a simulation, the terms of a price, the elements of SVG.
Does not know: how a simulation runs, pages.
Law: every request is counted in the spans that it lies in, by its cycles; a strip that is dark all along is what binds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dmaverify.report.drawing import framed, row_name

SPANS, WIDE, LEFT, HIGH, MOST = 48, 400, 66, 12, 40

LOAD_STYLE = (
    ".load text{font:10px system-ui,sans-serif;fill:currentColor}.load .row{text-anchor:end;opacity:.75}"
    ".load .title{font-size:11px;font-weight:600}.load .busy{fill:#2b6cb0}.load .room{fill:#a0aec0;opacity:.18}"
)


def load_svg(trace: Sequence[Mapping[str, Any]], cycles: float) -> str:
    """A strip for each resource in use, busiest first; empty without requests."""
    if not trace or cycles <= 0:
        return ""
    rows: dict[str, list[float]] = {}
    for event in trace:
        _add(rows.setdefault(str(event["resource"]), [0.0] * SPANS), event["start"], event["cycles"], cycles / SPANS)
    order = sorted(rows, key=lambda name: (-sum(rows[name]), _natural(name)))
    shown = sorted(order[:MOST], key=_natural)
    left = f"; the busiest {MOST} of {len(order)}" if len(order) > MOST else ""
    title = f"load over {cycles:,.0f} cycles: darker is busier{left}"
    across, high = (WIDE - LEFT) / SPANS, 20 + HIGH * len(shown) + 14
    parts = [f'<text class="title" x="0" y="12">{escape(title)}</text>']
    for number, name in enumerate(shown):
        y = 20 + HIGH * number
        parts.append(row_name(name, LEFT, y + 9))
        parts.append(f'<rect class="room" x="{LEFT}" y="{y}" width="{WIDE - LEFT}" height="{HIGH - 1}"/>')
        for at, busy in enumerate(rows[name]):
            if busy > 0.004:
                place = f'x="{LEFT + across * at:.1f}" y="{y}" width="{across:.1f}" height="{HIGH - 1}"'
                parts.append(f'<rect class="busy" {place} opacity="{min(1.0, busy):.2f}"/>')
    parts.append(f'<text x="{LEFT}" y="{high - 3}">0</text>')
    parts.append(f'<text class="row" x="{WIDE}" y="{high - 3}">{cycles:,.0f} cycles</text>')
    return framed("load", title, (WIDE, high), parts)


def bounds_svg(terms: Sequence[tuple[str, float]]) -> str:
    """A bar for each bound of a price, in cycles: the longest decides; empty without bounds."""
    shown = list(terms[:MOST])
    most = max((cycles for _, cycles in shown), default=0.0)
    if most <= 0:
        return ""
    left = f"; the first {MOST} of {len(terms)}" if len(terms) > MOST else ""
    title = f"cycles of each bound: the longest decides{left}"
    high = 20 + HIGH * len(shown) + 4
    parts = [f'<text class="title" x="0" y="12">{escape(title)}</text>']
    for number, (name, cycles) in enumerate(shown):
        y, wide = 20 + HIGH * number, (WIDE - LEFT - 70) * cycles / most
        parts.append(row_name(name, LEFT, y + 9))
        parts.append(f'<rect class="busy" x="{LEFT}" y="{y}" width="{wide:.1f}" height="{HIGH - 1}"/>')
        parts.append(f'<text x="{LEFT + wide + 4:.1f}" y="{y + 9}">{cycles:,.0f}</text>')
    return framed("load", title, (WIDE, high), parts)


def _add(spans: list[float], start: float, cycles: float, size: float) -> None:
    """Shares of the spans that a request of so many cycles takes."""
    at, end = start, start + cycles
    while at < end:
        number = min(SPANS - 1, int(at / size))
        until = end if number == SPANS - 1 else min(end, (number + 1) * size)
        spans[number] += (until - at) / size
        if until <= at:
            return
        at = until


def _natural(name: str) -> tuple[str, tuple[int, ...]]:
    words = name.replace(",", " ").split()
    return words[0] if words else "", tuple(int(word) for word in words[1:] if word.isdigit())
