"""For tests of your own: random mappings, moves, streams and plans, right by construction or with one named fault.

Knows: which module of this room offers which name. Does not know: anything else.
Law: importing this imports nothing; only the strategies need Hypothesis (`pip install hypothesis`), when they are
first used.

With Hypothesis: `mappings()`, `tensors()`, `moves()`, `streams()`, `plans(target, valid=True)`, `faults()`. From a
seed, without it: `seeded_plan(7, target)`, `with_fault(plan, "stride")`. `FAULTS` names the faults.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dmaverify.testing.draw import Draw, Seeded
    from dmaverify.testing.drawn_plan import DrawnPlan as Plan
    from dmaverify.testing.fault_kinds import FAULTS, NotApplicable, applicable, with_fault
    from dmaverify.testing.random_moves import DrawnMove as Move
    from dmaverify.testing.random_plans import seeded_plan
    from dmaverify.testing.strategies import axes, faults, mappings, moves, plans, streams, tensors

__all__ = [
    "FAULTS", "Draw", "Move", "NotApplicable", "Plan", "Seeded", "applicable", "axes", "faults",
    "mappings", "moves", "plans", "seeded_plan", "streams", "tensors", "with_fault",
]  # fmt: skip

_HOMES = {
    "draw": ("Draw", "Seeded"),
    "fault_kinds": ("FAULTS", "NotApplicable", "applicable", "with_fault"),
    "drawn_plan": ("Plan",),
    "random_moves": ("Move",),
    "random_plans": ("seeded_plan",),
    "strategies": ("axes", "faults", "mappings", "moves", "plans", "streams", "tensors"),
}
_CALLED = {"Move": "DrawnMove", "Plan": "DrawnPlan"}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), _CALLED.get(name, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
