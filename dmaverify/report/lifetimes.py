"""Lifetimes: which tensors live in a memory with slices at each step of a program, and how much of it that takes.

Knows: names, sizes, first and last steps, the elements of SVG. Does not know: programs, pages.
Law: a bar begins at the step that writes and ends at the last that reads; the sum below a step is that of its bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dmaverify.report.drawing import framed, row_name
from dmaverify.values import dataclass

WIDE, LEFT, HIGH = 400, 92, 20

LIFE_STYLE = (
    ".lives text{font:10px system-ui,sans-serif;fill:currentColor}.lives .row{text-anchor:end}"
    ".lives .title{font-size:11px;font-weight:600}.lives .bar{fill:#9ecae1}.lives .step{text-anchor:middle;opacity:.75}"
    ".lives .in{fill:#1a202c;text-anchor:middle}.lives .full{fill:#c53030;font-weight:600}"
)


@dataclass(frozen=True)
class Life:
    """A tensor in a memory: bytes of each slice, and the numbers of the steps between which it lives."""

    name: str
    size: int
    first: int
    last: int


def lifetimes_svg(lives: Sequence[Life], steps: Sequence[str], capacity: int) -> str:
    """A bar for each tensor over the steps, and the sum at each step; empty without tensors."""
    if not lives or not steps:
        return ""
    across = (WIDE - LEFT) / len(steps)
    title = f"lifetimes: bytes of each slice, which has {capacity:,}" if capacity else "lifetimes: bytes of each slice"
    parts = [f'<text class="title" x="0" y="12">{escape(title)}</text>']
    for number, name in enumerate(steps):
        word = name if len(name) * 5.5 < across else f"{number + 1}"
        parts.append(f'<text class="step" x="{LEFT + across * (number + 0.5):.1f}" y="28">{escape(word)}</text>')
    for number, life in enumerate(lives):
        x, y = LEFT + across * life.first, 34 + HIGH * number
        wide = across * (life.last - life.first + 1) - 2
        parts.append(row_name(life.name[:16], LEFT, y + 13))
        parts.append(f'<rect class="bar" x="{x + 1:.1f}" y="{y}" width="{wide:.1f}" height="{HIGH - 3}" rx="3"/>')
        parts.append(f'<text class="in" x="{x + wide / 2:.1f}" y="{y + 12}">{life.size:,}</text>')
    y = 34 + HIGH * len(lives) + 12
    parts.append(row_name("together", LEFT, y))
    for number in range(len(steps)):
        total = sum(life.size for life in lives if life.first <= number <= life.last)
        kind = "step full" if capacity and total > capacity else "step"
        parts.append(f'<text class="{kind}" x="{LEFT + across * (number + 0.5):.1f}" y="{y}">{total:,}</text>')
    return framed("lives", title, (WIDE, y + 8), parts)
