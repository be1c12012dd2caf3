"""What stands at one position of a mapping."""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.language.expr import Expr
from dmaverify.language.meaning import live_indices


def live_index(expr: Expr, position: int, sizes: Mapping[str, int]) -> dict[str, int] | None:
    """Coordinates at `position` without the zero ones; None where it is not live.

    Raises ValueError where the position stands for several indices: ask `live_indices` there.
    """
    found = live_indices(expr, position, sizes)
    if len(found) > 1:
        raise ValueError(f"position {position} of {expr} stands for {len(found)} indices")
    return next((dict(one) for one in found), None)
