"""Sets of steps that may all run at once, as antichains of an order.

Knows: which steps an order leaves beside which. Does not know: how the order came about, what steps do.
Law: each maximal set is told once.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.program.schedule import Order


def antichains(order: Order, chosen: Mapping[int, object]) -> list[tuple[int, ...]]:
    """The maximal sets of steps of `chosen` that may all run at once, as sorted tuples."""
    steps = sorted(chosen)
    beside = {a: {b for b in steps if b != a and order.concurrent(a, b)} for a in steps}
    found: list[tuple[int, ...]] = []
    _cliques(set(), set(steps), set(), beside, found)
    return sorted(found)


def _cliques(
    taken: set[int], open_: set[int], done: set[int], beside: Mapping[int, set[int]], found: list[tuple[int, ...]]
) -> None:
    """Bron and Kerbosch with a pivot: every maximal clique once."""
    if not open_ and not done:
        if taken:
            found.append(tuple(sorted(taken)))
        return
    pivot = max(open_ | done, key=lambda step: len(beside[step] & open_))
    for step in sorted(open_ - beside[pivot]):
        _cliques(taken | {step}, open_ & beside[step], done & beside[step], beside, found)
        open_ = open_ - {step}
        done = done | {step}
