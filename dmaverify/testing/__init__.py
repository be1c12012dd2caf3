"""For tests of your own: random mappings, moves, streams and plans, right by construction or with one named fault.

Knows: the names that the modules of this room offer. Does not know: anything else.
Law: importing this needs no Hypothesis; only the strategies do (`pip install hypothesis`), when they are first used.

With Hypothesis: `mappings()`, `tensors()`, `moves()`, `streams()`, `plans(target, valid=True)`, `faults()`. From a seed, without
it: `seeded_plan(7, target)`, `with_fault(plan, "stride")`. `FAULTS` names the faults. `compare` judges a program by proof and by
running it, and says where the two differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dmaverify.testing.draw import Draw, Seeded
from dmaverify.testing.faults import FAULTS, NotApplicable, applicable, with_fault
from dmaverify.testing.oracle import Opinion, compare
from dmaverify.testing.plans import Move, Plan, seeded_plan

if TYPE_CHECKING:
    from dmaverify.testing.strategies import axes, faults, mappings, moves, plans, streams, tensors

_STRATEGIES = ("axes", "faults", "mappings", "moves", "plans", "streams", "tensors")

__all__ = [
    "FAULTS", "Draw", "Move", "NotApplicable", "Opinion", "Plan", "Seeded", "applicable", "axes", "compare", "faults",
    "mappings", "moves", "plans", "seeded_plan", "streams", "tensors", "with_fault",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _STRATEGIES:
        from dmaverify.testing import strategies

        return getattr(strategies, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
