"""The cheapest proved commands of a move that has none of its own: what a kernel's transfer is priced by.

Knows: plans, synthesis.
Does not know: how a price is shown.
Law: a reference is a plan that was proved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.synth.result import Synthesis


def synthesized(plan: Plan, name: str, profile: str, readings: Mapping[str, str]) -> Synthesis:
    """The cheapest plan of a transfer, or why there is none."""
    from dmaverify.prove.move.check import Options
    from dmaverify.synth.synthesize import CROSS_CHECK, synthesize

    item = next(t for t in plan.transfers if t.name == name)
    machine = plan.targets[item.transfer.target]
    options = Options(readings=readings, cross_check=CROSS_CHECK)
    return synthesize(item.transfer, machine, axes=plan.axes, profile=profile, options=options, advise=False)
