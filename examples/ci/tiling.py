"""Somebody's own layout code: the loop nests that cut a matrix in HBM into tiles.

Nothing here knows of dmaverify. The tests beside it do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Nest:
    """Loops outer to inner as (label, count, stride in bytes), and the bytes moved at once."""

    loops: tuple[tuple[str, int, int], ...]
    packet: int

    def __str__(self) -> str:
        inner = ", ".join(f"{label}={count}:{stride}" for label, count, stride in self.loops)
        return f"[{inner}]:{self.packet}"


def tiled(rows: str, columns: str, tile: int) -> str:
    """The mapping of a matrix in square tiles, each of them row by row."""
    return f"{rows} / {tile}, {columns} / {tile}, {rows} % {tile}, {columns} % {tile}"


def tiling_nests(rows: int, columns: int, tile: int) -> tuple[Nest, Nest]:
    """What the engine reads and writes to cut a matrix of bytes, `tile` dividing both sides of it."""
    read = (("R/t", rows // tile, tile * columns), ("C/t", columns // tile, tile), ("R%t", tile, columns))
    write = (("R/t", rows // tile, tile * columns), ("C/t", columns // tile, tile * tile), ("R%t", tile, tile))
    last = ("C%t", tile, 1)
    return Nest((*read, last), tile), Nest((*write, last), tile)


def bytes_moved(nest: str) -> int:
    """How many bytes a nest moves that is written as text: the product of its counts."""
    entries = nest[: nest.index("]")]
    return prod(int(count) for count in re.findall(r"(\d+):-?\d+", entries))
