"""A tensor in memory: its tier, its base, and a mapping per class of place.

Knows: the classes of place (chip, cluster, slice, element) and their order.
Does not know: moves, how a tensor is written in a file.
Law: a tensor's flat mapping is the pair of its fields in the order of `PLACES`; a missing field is `1`.

Source: "DMA Engine", Structural Requirements; docs/machines/rngd.md 1.6 and 7.3.
"""

from __future__ import annotations

from dmaverify.errors import Span
from dmaverify.language.expr import ONE, Expr, pair
from dmaverify.values import dataclass, field

PLACES = ("chip", "cluster", "slice", "element")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in memory. `base` is a byte address within each slice (DM) or within the chip (others).

    `at` offsets the places: the tensor's chip 0 lies on chip `at.chip`, and so on (the documents' record form of a
    base).
    """

    tier: str
    element: Expr
    chip: Expr = ONE
    cluster: Expr = ONE
    slice: Expr = ONE
    base: int = 0
    at_chip: int = 0
    at_cluster: int = 0
    at_slice: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)
    base_span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def mapping(self) -> Expr:
        """Chip, cluster, slice, element as one mapping."""
        return pair(self.chip, self.cluster, self.slice, self.element)

    def field(self, name: str) -> Expr:
        value: Expr = getattr(self, name)
        return value
