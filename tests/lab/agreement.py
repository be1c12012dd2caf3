"""One drawn program, proved and enumerated: what they say differently.

Knows: how to put a drawn program through reading, order, hazards and starvation, and beside its enumeration.
Does not know: why either side says what it says.
Law: the empty text means that every hazard, the largest sum and its verdict agree; what is undecided disagrees.
"""

from __future__ import annotations

import random

from lab.flat_programs import draw_program

from dmaverify.plan.read import read_plan_text
from dmaverify.program.schedule import Circle, order_of
from dmaverify.prove.flow.accesses.touches import work_of
from dmaverify.prove.flow.order.hazards import hazards
from dmaverify.prove.flow.starvation.concurrency import starvation
from dmaverify.prove.smt import Session


def program_disagreement(seed: int) -> str:
    """What proof and enumeration say differently of the program of that seed; "" where they agree."""
    drawn = draw_program(random.Random(seed))
    plan = read_plan_text(drawn.text())
    program, target = plan.programs[0], plan.targets["rngd"]
    works = [work_of(index, step, target) for index, step in enumerate(program.steps)]
    order = order_of(program, [work.lanes for work in works])
    if isinstance(order, Circle) or any(work.troubles for work in works):
        return f"seed {seed}: the program could not be judged"
    session = Session()
    result = hazards(program, works, order, 2_000_000)
    names = [step.name for step in program.steps]
    found = {(names[h.first.step], names[h.second.step], h.kind.rpartition("-")[2]) for h in result.found}
    if result.unknown or found != drawn.hazards():
        return f"seed {seed}: hazards {sorted(found)}, enumerated {sorted(drawn.hazards())}"
    sums = starvation(program.steps, works, order, target, {}, session)
    worst, wanted = (sums.worst if sums else 0), drawn.worst_sum()
    status = sums.status if sums else "proved"
    if worst != wanted or status != ("refuted" if wanted >= 64 else "proved"):
        return f"seed {seed}: sum {worst} {status}, enumerated {wanted}"
    return ""
