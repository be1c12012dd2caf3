"""Copies of a kernel as the document on DMA copies draws them: rows of both sides, data, padding, strides.

Knows: a copy as it ran, the elements of SVG. Does not know: how a kernel runs, files.
Law: lengths are to the scale of their own side and written beside it; rows that are left out are counted in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from dmaverify.machines.pto.running import RunCopy
from dmaverify.report.drawing import XMLNS
from dmaverify.report.snippet import wrap

WIDE, LEFT, STEP, SHOWN, LETTERS = 320, 70, 22, 4, 52
STYLE = (
    "text{font:12px ui-monospace,monospace;fill:#1a202c}.gap{fill:none;stroke:#a0aec0;stroke-dasharray:3 3}"
    ".data{fill:#90cdf4;stroke:#2b6cb0}.pad{fill:#fbd38d;stroke:#c05621}"
)


def copies_svg(title: str, ran: Sequence[RunCopy]) -> str:
    """The diagrams of the copies of a run below each other as one SVG, each where it first ran."""
    parts, y = [f'<text x="8" y="18">{escape(title)}</text>'], 34
    first = {copy.number: copy for copy in reversed(ran)}
    times = Counter(copy.number for copy in ran)
    for number in sorted(first):
        drawn, y = _copy(first[number], times[number], y)
        parts += drawn
    wide = WIDE + LEFT + 10
    head = f'<svg{XMLNS} class="copies" viewBox="0 0 {wide} {y}" width="{2 * wide}" height="{2 * y}">'
    return f"{head}<style>{STYLE}</style>{''.join(parts)}</svg>\n"


def _copy(copy: RunCopy, times: int, y: int) -> tuple[list[str], int]:
    (source, _), (dest, _) = copy.ends
    outer = [
        f"loop{n}: {c:,} times, {source} +{a:,}, {dest} +{b:,}"
        for n, (c, a, b) in enumerate(copy.loops[1:], 1)
        if c > 1
    ]
    first = f", the first of {times:,} times" if times > 1 else ""
    said = (f"copy {copy.number}, line {copy.line}: {source} to {dest}{first}", *outer)
    lines = [line for one in said for line in wrap(one, LETTERS)]
    parts = [_text(8, y + 16 * n, said) for n, said in enumerate(lines)]
    y += 16 * len(lines) + 6
    for side, (name, at) in enumerate(copy.ends):
        begin, end = (copy.begin, copy.end) if side else (0, copy.row)
        drawn, y = _side(f"{name} + {at:,}", copy.loops[0][0], copy.loops[0][1 + side], (copy.row, begin, end), y)
        parts += drawn
    return parts, y + 10


def _side(name: str, count: int, stride: int, row: tuple[int, int, int], y: int) -> tuple[list[str], int]:
    length, begin, end = row
    whole = max(end, abs(stride) if count > 1 else 0, 1)
    scale = WIDE / whole
    said = f"{name}: len_burst {length:,}" + (f", stride {stride:,}" if count > 1 else "")
    said += f", {begin:,} before and {end - begin - length:,} after it padded or not known" if end > length else ""
    lines = wrap(said, LETTERS)
    parts, y = [_text(8, y + 12 + 16 * n, line) for n, line in enumerate(lines)], y + 4 + 16 * len(lines)
    shown = list(range(count)) if count <= SHOWN + 1 else [*range(SHOWN - 1), None, count - 1]
    for number in shown:
        if number is None:
            parts.append(_text(LEFT, y + 14, f"... {count - SHOWN:,} more rows"))
        else:
            parts.append(_text(8, y + 14, f"Row {number}:"))
            parts += [_box("gap", 0, whole, scale, y)] if whole > end else []
            parts += [_box("pad", 0, end, scale, y)] if end > length else []
            parts.append(_box("data", begin, length, scale, y))
        y += STEP
    return parts, y + 6


def _box(kind: str, start: int, length: int, scale: float, y: int) -> str:
    x, wide = LEFT + start * scale, max(1.0, length * scale)
    return f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{STEP - 6}"/>'


def _text(x: int, y: int, said: str) -> str:
    return f'<text x="{x}" y="{y}">{escape(said)}</text>'
