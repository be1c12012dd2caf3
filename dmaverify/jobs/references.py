"""The cheapest proved commands of a move that has none of its own: what a kernel's transfer is priced by.

Knows: plans, synthesis.
Does not know: how a price is shown.
Law: a reference is a plan that was proved.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from dmaverify.values import replace

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.program.move import Transfer
    from dmaverify.synth.result import Synthesis
    from dmaverify.targets.target import Target


def synthesized(plan: Plan, name: str, profile: str, readings: Mapping[str, str]) -> Synthesis:
    """The cheapest plan of a transfer, or why there is none. Raises InputError for a move without meaning."""
    from dmaverify.prove.move.preconditions import require

    item = next(t for t in plan.transfers if t.name == name)
    machine = plan.targets[item.transfer.target]
    require(replace(item.transfer, stream=None, streams=()), plan.axes, machine, item.problems)
    last = (tuple(sorted(plan.axes.items())), profile, tuple(sorted(readings.items())))
    like = _like(replace(item.transfer, name=""), machine, *last)
    if not like.found:
        return _like(item.transfer, machine, *last)
    return replace(like, transfer=replace(like.transfer, name=name, span=item.transfer.span))


@lru_cache(maxsize=256)  # a kernel moves tile after tile alike
def _like(
    move: Transfer, machine: Target, axes: tuple[tuple[str, int], ...], profile: str,
    readings: tuple[tuple[str, str], ...],
) -> Synthesis:  # fmt: skip
    from dmaverify.synth.proved import DEFAULTS
    from dmaverify.synth.synthesize import synthesize

    options = replace(DEFAULTS, readings=dict(readings))
    return synthesize(move, machine, axes=dict(axes), profile=profile, options=options, advise=False)
