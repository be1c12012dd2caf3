"""Small drawings in SVG: the order of accesses, a counterexample, a bar of shares.

Knows: commands as loops, witnesses as data, the elements of SVG, the styles and scripts that stand beside it.
Does not know: pages, matplotlib.
Law: the same value gives the same text; all text is escaped; colours come from the page's classes; what is not shown
is counted in words. A drawing never says more than its value: only the first packets are walked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from math import prod
from pathlib import Path
from typing import Any

from dmaverify.program.command import Command, counters_at

XMLNS = ' xmlns="http://www.w3.org/2000/svg"'  # of an SVG that is a file; within a page it is not needed
FIRST = 160  # packets that are drawn
WIDE, HIGH, LEFT = 340, 110, 4
IN_LINE = ("drawn.css", "memory.css")


@cache
def asset(name: str) -> str:
    """A stylesheet or a script that stands beside this module; a stylesheet of drawings in one line."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return text.replace("\n", "") if name in IN_LINE else text


def row_name(name: str, left: int, y: float) -> str:
    """The name of a row, ending before `left`; one that is too long for the room is drawn narrower, whole."""
    fits = f' textLength="{left - 6}" lengthAdjust="spacingAndGlyphs"' if len(name) * 6.5 > left - 6 else ""
    return f'<text class="row" x="{left - 5}" y="{y:g}"{fits}>{escape(name)}</text>'


def framed(kind: str, title: str, size: tuple[int, float], parts: Sequence[str]) -> str:
    """A drawing with a title of its own, for a page or for the SVG that holds several."""
    head = f'<svg class="{kind}" viewBox="0 0 {size[0]} {size[1]}" role="img" '
    return f'{head}aria-label="{escape(title, quote=True)}">{"".join(parts)}</svg>'


def walked(command: Command, most: int) -> Iterator[tuple[int, int]]:
    """(read address, write address) of the first packets of a command, in units."""
    step = command.packet if command.packet and command.burst % command.packet == 0 else command.burst
    inner = max(1, command.burst // max(1, step))
    total = prod((loop.count for loop in command.loops), start=inner)
    for number in range(min(most, total)):
        rest, part = divmod(number, inner)
        read, write = command.read.base + part * step, command.write.base + part * step
        for loop, counter in zip(command.loops, counters_at([loop.count for loop in command.loops], rest), strict=True):
            read += counter * loop.read
            write += counter * loop.write
        yield read, write


def packets_of(command: Command) -> int:
    """How many packets a command moves."""
    return command.amount // max(1, command.packet)


def access_picture(commands: Sequence[Command]) -> str:
    """Two panels, read and write: packets from left to right, addresses from bottom to top; empty without commands."""
    if not commands:
        return ""
    share = max(1, FIRST // len(commands))
    points = [pair for command in commands[:FIRST] for pair in walked(command, share)]
    total = sum(packets_of(command) for command in commands)
    tiers = commands[0].read.tier, commands[0].write.tier
    panels = [
        _panel(side, tier, [point[index] for point in points], index * (WIDE + 24))
        for index, (side, tier) in enumerate(zip(("read", "write"), tiers, strict=True))
    ]
    shown = f"the first {len(points):,} of {total:,} packets" if len(points) < total else f"all {total:,} packets"
    if len(commands) > 1:
        shown += f" of {len(commands):,} commands, one after the other"
    label = f"Order of accesses: {shown}, addresses upwards"
    drawn = framed("access", label, (2 * WIDE + 24, HIGH + 34), panels)
    said = f"{escape(shown)}; packets from left to right, addresses upwards"
    return f"<figure>{drawn}<figcaption>{said}</figcaption></figure>"


def _panel(side: str, tier: str, addresses: Sequence[int], at: int) -> str:
    low, high = min(addresses), max(addresses)
    across = WIDE / max(1, len(addresses))
    wide = max(1.5, min(10.0, across - 0.5))
    path = "".join(
        f"M{at + LEFT + (WIDE - LEFT) * number / len(addresses):.1f} {_up(address, low, high):.1f}h{wide:.1f}"
        for number, address in enumerate(addresses)
    )
    words = f"{side} {tier}: {low:,} to {high:,}"
    return (
        f'<rect class="panel" x="{at}" y="0" width="{WIDE}" height="{HIGH}"/>'
        f'<path class="{side}" d="{path}"/><text x="{at}" y="{HIGH + 18}">{escape(words)}</text>'
    )


def _up(address: int, low: int, high: int) -> float:
    return HIGH - 6 - (HIGH - 12) * ((address - low) / (high - low) if high > low else 0.5)


# ---------------------------------------------------------------- counterexamples


def counterexample_picture(witness: Mapping[str, Any]) -> str:
    """The element, where the layout asks for it, what the plan makes of it, and what that clobbers."""
    element = _pairs(witness.get("coordinates") or witness.get("source_cell") or witness.get("dest_cell"))
    made, asked = str(witness.get("made") or ""), str(witness.get("asked") or "")
    if not made:
        return ""
    loops = _pairs(witness.get("counters"))
    boxes = [("asked", "the layout asks", asked)] if asked else []
    boxes.append(("made", "the plan", made))
    if clobbers := witness.get("clobbers"):
        boxes.append(("lost", "clobbers", str(clobbers)))
    high = max(54, 40 * len(boxes) + 6)
    middle = high / 2
    parts = [
        f'<rect class="element" x="2" y="{middle - 24}" width="230" height="48" rx="6"/>',
        f'<text x="14" y="{middle - 5}" class="strong">{escape(_clipped(element or "one unit", 30))}</text>',
        f'<text x="14" y="{middle + 14}">{escape(_clipped(f"at {loops}" if loops else "the element", 34))}</text>',
    ]
    for number, (kind, word, text) in enumerate(boxes):
        y = 4 + number * 40
        parts.append(f'<path class="arrow {kind}" d="M234 {middle:.0f}L318 {y + 17}"/>')
        parts.append(f'<rect class="{kind}" x="320" y="{y}" width="400" height="34" rx="6"/>')
        parts.append(
            f'<text x="332" y="{y + 22}"><tspan class="word">{word}</tspan> {escape(_clipped(text, 48))}</text>'
        )
    label = f"Counterexample: {element}; the layout asks {asked}; the plan {made}"
    return framed("counterexample", label, (724, high), parts)


def _pairs(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {part}" for key, part in value.items())
    return "" if value is None else str(value)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"
