"""The texts of plan files in the making: tensors, tiles, streams, tables.

Knows: how each is written. Does not know: what is drawn.
Law: what is put together here can be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.testing.draw import Draw
from dmaverify.values import dataclass, field

DTYPES = ("i8", "i8", "i8", "bf16", "i32", "i4")


@dataclass
class Page:
    """A plan file in the making."""

    axes: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        sizes = [f"{axis} = {size}" for axis, size in self.axes.items()]
        return "\n".join(["schema = 1", 'target = "rngd"', "[axes]", *sizes, *self.lines, ""])

    def table(self, head: str, *rows: str) -> None:
        self.lines += [f"[{head}]", *(row for row in rows if row)]


# ---------------------------------------------------------------- pieces of text


def tensor(tier: str, base: int | str, element: str, *, slice_: str = "", view: str = "") -> str:
    parts = [f'tier = "{tier}"', f"base = {base}"]
    parts += [f'slice = "{slice_}"'] if slice_ else []
    parts += [f'element = "{element or "1"}"']
    parts += [f"view = {view}"] if view else []
    return "{ " + ", ".join(parts) + " }"


def tile(digit: str, length: int, start: int | str, place: str = "element", *, partial: bool = False) -> str:
    start_text = f'"{start}"' if isinstance(start, str) else str(start)
    more = (f', place = "{place}"' if place != "element" else "") + (", partial = true" if partial else "")
    return f'{{ tile = "{digit}", length = {length}, start = {start_text}{more} }}'


def stream(time: Sequence[str], packet: str) -> str:
    return f'stream = {{ time = "{", ".join(time) or "1"}", packet = "{packet}" }}'


def views(tiles: Sequence[str]) -> str:
    if not tiles:
        return ""
    return tiles[0] if len(tiles) == 1 else "[" + ", ".join(tiles) + "]"


def size_of_axis(draw: Draw, most: int = 6) -> int:
    """Axes of size 1 are as common as any."""
    return draw.choice((1, 2, 3, 4, most)) if draw.chance(80) else 1
