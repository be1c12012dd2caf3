"""Regions: boxes of memory, named or declared by a tensor.

Knows: places, bytes, which boxes meet or hold another. Does not know: steps, their order, which bytes a step touches.
Law: a box is what a tensor declares; bytes that hold half of an element are its own.

Source: docs/machines/rngd.md 7.4 (a program's steps are related by the memory that they touch).
"""

from __future__ import annotations

from dmaverify.errors import Span
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Box:
    """Bytes `base` to `end` (exclusive) of every place in the box `first` to `last` (exclusive), per class of place."""

    tier: str
    first: tuple[int, int, int]
    last: tuple[int, int, int]
    base: int
    end: int

    def meets(self, other: Box) -> bool:
        return (
            self.tier == other.tier
            and all(a < d and c < b for a, b, c, d in zip(self.first, self.last, other.first, other.last, strict=True))
            and self.base < other.end
            and other.base < self.end
        )

    def holds(self, other: Box) -> bool:
        return (
            self.tier == other.tier
            and all(
                a <= c and d <= b for a, b, c, d in zip(self.first, self.last, other.first, other.last, strict=True)
            )
            and self.base <= other.base
            and other.end <= self.end
        )


def box_of(tensor: Tensor, dtype_bits: int) -> Box:
    """The declared region of a tensor. Bytes that hold half of an element count as its own."""
    first = (tensor.at_chip, tensor.at_cluster, tensor.at_slice)
    last = tuple(start + tensor.field(place).size for start, place in zip(first, PLACES, strict=False))
    extent = -(-tensor.element.size * dtype_bits // 8)
    return Box(tensor.tier, first, (last[0], last[1], last[2]), tensor.base, tensor.base + extent)


@dataclass(frozen=True, slots=True)
class Region:
    """A named box of memory. `lifetime` is (first step, last step), both inclusive; None: the whole program."""

    name: str
    box: Box
    lifetime: tuple[str, str] | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    lifetime_span: Span | None = field(default=None, compare=False, repr=False)
