"""What a kernel's text says of the numbers of an index, and whether the digits of a table number its rows.

Knows: lists that the text puts into a tensor, digits of an axis. Does not know: Rust text, how an index is judged.
Law: a number is told only where it certainly stands in the index; numbers that the text makes itself and that are not
followed are never left to a promise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from dmaverify.errors import Span
from dmaverify.language.expr import Expr
from dmaverify.layout.digits import Digit
from dmaverify.machines.rngd.rust.values import Held


def counts_rows(digits: Sequence[Digit]) -> bool:
    """Whether the digits of an axis follow each other from its single positions on."""
    reach = 1
    for digit in sorted(digits, key=lambda one: one.weight):
        if digit.weight != reach:
            return False
        reach *= digit.live
    return True


def told_numbers(
    holds: Held | None, entries: int, index: Mapping[str, Expr]
) -> tuple[tuple[int, ...], tuple[Span, ...], int | None, str]:
    """What is told of the numbers of an index with so many `entries`: some that decide for all, where they stand, how
    many there are, and why they are not known where the text makes them.
    """
    if holds is None:
        return (), (), None, ""
    spans = (holds.span,) if holds.span is not None else ()
    padded = prod(expr.size for expr in index.values()) != entries
    if padded and holds.count not in (None, entries):
        return (), (), None, "which of the listed numbers lie in its padding is not told"
    if holds.lost:
        return (), spans, None, "the numbers are made or written here by what is not followed"
    return holds.values, spans * len(holds.values), holds.count, ""
