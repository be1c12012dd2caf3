"""What a step of a loop reads of bytes that itself wrote in an earlier iteration: whether others wrote them since.

Knows: what steps of one loop touch, in which order.
Does not know: which bytes the step wrote, how a finding is shown.
Law: "all" is a proof for programs without hazards that what is read is another step's, of the same iteration; "none" is
a proof that no other step writes any of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from dmaverify.program.schedule import Order, Step
from dmaverify.prove.flow.accesses.declarations import may_share
from dmaverify.prove.flow.accesses.touches import StepWork
from dmaverify.prove.flow.initialization.unwritten import StepRow, step_rows_met


def written_since(
    step: int, steps: Sequence[Step], works: Sequence[StepWork], order: Order
) -> Literal["all", "some", "none"]:
    """How much of what a step reads other steps of its loop write before, in each iteration; some may be none."""
    mates = [s for s in range(len(works)) if s != step and order.steps_of_one_body(s, step)]
    written = [touch for s in mates for touch in works[s].touches if touch.writes]
    sure = [t for t in written if t.sure and order.step_precedes(t.step, step) and steps[t.step].indirect is None]
    answers = set()
    for read in (touch for touch in works[step].touches if not touch.writes):
        near = [t for t in written if t.memory == read.memory]
        rows = [StepRow(t.step, t.walk, t.turns) for t in sure if t in near and t.unit_bits == read.unit_bits]
        if step_rows_met(StepRow(step, read.walk, read.turns), rows, order):
            answers.add("all")
        else:
            answers.add("some" if any(may_share((read, one)) for one in near) else "none")
    return "all" if answers == {"all"} else "none" if answers == {"none"} else "some"
