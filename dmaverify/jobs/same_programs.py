"""Two plans, each one program or one move, compared by what they leave in memory; each is run from its text too.

Knows: plans, the interpreter. Does not know: how contents are followed, command lines.
Law: a run that leaves something else than the proof says is a disagreement, never passed over. A text that names no
single entry is refused, never guessed at. A transfer against a program is a program of one step, and so are a move
that nothing says how to do, a gather and a scatter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dmaverify.errors import Disagreement, InputError
from dmaverify.program.schedule import Program, Step
from dmaverify.program.space import SPAN
from dmaverify.prove.flow import same as home
from dmaverify.prove.flow.contents import ANYTHING, ZERO, Filled, Numbering
from dmaverify.values import replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dmaverify.execute.left_behind import Origin, Place
    from dmaverify.plan.plan import Plan
    from dmaverify.prove.flow.touches import Memory
    from dmaverify.prove.sameness import Sameness

MOST_RUN = 1 << 18  # units that a program moves and that are run one by one
MOST_HELD = 1 << 14  # of them, where a run is held against a proof of all iterations


def same_entries(one: tuple[str, Plan], other: tuple[str, Plan], *, rlimit: int, tiers: Sequence[str] = ()) -> Sameness:
    """Whether two plans, each with the text that names its one entry, do the same; of programs, in `tiers`. Raises
    InputError, Disagreement.
    """
    for text, plan in (one, other):
        has_one(text, plan)
    return same_plans(one[1], other[1], rlimit=rlimit, tiers=tiers)


def same_plans(one: Plan, other: Plan, *, rlimit: int, tiers: Sequence[str] = ()) -> Sameness:
    """As `same_entries`, of plans that have one entry with numbers. Raises InputError, Disagreement."""
    told = all(t.transfer.carried_out or t.transfer.form for plan in (one, other) for t in plan.transfers)
    if any(plan.programs or plan.indirects for plan in (one, other)) or not told:
        return same_programs(one, other, rlimit=rlimit, tiers=tiers)
    if tiers:
        raise InputError("tiers are for two programs", None, "leave them out: both sides of transfers are compared")
    return same_transfers(one, other, rlimit=rlimit)


def has_one(text: str, plan: Plan) -> None:
    """Raises InputError for what is not one program, transfer, gather or scatter."""
    if len(plan.names) == 1 and len(plan.programs) + len(plan.transfers) + len(plan.indirects) == 1:
        return
    entries = "transfers, gathers, scatters and programs"
    named = ", ".join([*plan.move_names, *(one.name for one in plan.programs)]) or f"its {entries}"
    raise InputError(f"{text} names no single one of its {entries}", None, f"write PATH::NAME with one of {named}")


def same_programs(
    one: Plan, other: Plan, *, rlimit: int, tiers: Sequence[str] = (), by_events: bool = True,
    ends: Mapping[str, int] | None = None, live: tuple[bool, bool] = (False, False),
) -> Sameness:  # fmt: skip
    """Whether both leave the same in memory; `by_events`: also by what they do, event by event; `ends`: of a tier, what
    lies before that byte; `live`: whether moves of each touch the cells that they move alone.

    Raises InputError, Disagreement.
    """
    sides = []
    for plan, alone in zip((one, other), live, strict=True):
        program = program_of_plan(plan)
        sides.append(home.side_of(program, plan.axes, plan.targets[program.target], live=alone))
    confirm = partial(_confirmed, (one, other))
    found = home.same_programs(
        sides[0], sides[1], rlimit=rlimit, tiers=tiers, confirm=confirm, by_events=by_events, ends=ends
    )
    if found.by == home.ONE_BY_ONE and _ran_alike((one, other), min(side.unit_bits for side in sides)):
        return replace(found, by=f"{found.by}, and a run of both texts")
    return found


def same_transfers(one: Plan, other: Plan, *, rlimit: int) -> Sameness:
    """Whether two transfers copy the same units, or leave the same in memory where their order may decide that. Raises
    InputError, Disagreement.
    """
    from dmaverify.jobs.load import run_of
    from dmaverify.prove.move.equal_plans import equivalent_plans

    items = [(plan, plan.transfers[0]) for plan in (one, other)]
    if any(item.transfer.views is not None and item.transfer.views.loops for _, item in items):
        return same_programs(one, other, rlimit=rlimit)
    sides = [(i.transfer, run_of(plan, i.name), plan.targets[i.transfer.target]) for plan, i in items]
    found = equivalent_plans(sides[0], sides[1], rlimit=rlimit)
    if found.status != "unknown":
        return found
    left = same_programs(one, other, rlimit=rlimit)
    if left.status == "unknown":
        return found
    shown = {**(left.witness or {}), **(found.witness or {})} if left.status == "refuted" else None
    return replace(left, witness=shown, notes=(*left.notes, *found.notes))


def program_of_plan(plan: Plan) -> Program:
    """The program of a plan that has nothing else; a transfer, gather or scatter is a program of one step."""
    if plan.programs:
        return plan.programs[0]
    if plan.indirects:
        one = plan.indirects[0]
        return Program(one.name, one.target, (Step(one.name, one.whole, indirect=one, span=one.span),))
    item = plan.transfers[0]
    loops = () if item.transfer.views is None else item.transfer.views.loops
    step = Step(item.name, item.transfer, problems=item.problems, loops=loops, span=item.transfer.span)
    return Program(item.name, item.transfer.target, (step,))


def _confirmed(plans: tuple[Plan, Plan], number: int, world: Numbering, held: Mapping[Memory, Filled]) -> bool:
    plan = plans[number]
    few = not plan.templates and sum(len(one.places) for one in held.values()) * world.piece <= MOST_RUN
    ran = left_behind_run(plan, world.unit_bits) if few else None
    if ran is None:
        return False
    place, *said = _parted(_units(world, held), ran)
    if said:
        raise Disagreement(f"`{plan.names[0]}` leaves {said[0]} at {place}, a run {said[1]}")
    return True


def _ran_alike(plans: tuple[Plan, Plan], unit_bits: int) -> bool:
    """Whether runs of both texts left the same; False where one is not run. Raises Disagreement."""
    ran = [None if plan.templates else left_behind_run(plan, unit_bits, MOST_HELD) for plan in plans]
    if ran[0] is None or ran[1] is None:
        return False
    place, *said = _parted(ran[0], ran[1])
    if said:
        raise Disagreement(f"they do the same, and runs leave {said[0]} and {said[1]} at {place}")
    return True


def _parted(one: Mapping[Place, Origin], other: Mapping[Place, Origin]) -> tuple[object, ...]:
    """The first place that holds two origins, and both; only a name where there is none."""
    for place in sorted({place for place, _ in one.items() ^ other.items()}):
        said = [held.get(place, place) for held in (one, other)]
        if said[0] != said[1]:
            return place, *said
    return ("nowhere",)


def left_behind_run(plan: Plan, unit_bits: int, most: int = MOST_RUN) -> dict[Place, Origin] | None:
    """What a run of the plan's text leaves; None where it is not run."""
    from dmaverify.execute.left_behind import left_behind
    from dmaverify.execute.outcome import Beyond
    from dmaverify.execute.work import RunMove, RunProgram, RunRows, RunStep
    from dmaverify.plan.execution import PlanExecution

    try:
        work, machine = PlanExecution(plan.source.text, most=most).work(plan.names[0])
        if isinstance(work, RunMove | RunRows):
            work = RunProgram(work.name, (RunStep(work.name, (work,), loops=work.loops),))
        return left_behind(work, machine, unit_bits) if isinstance(work, RunProgram) else None
    except Beyond:
        return None


def _units(world: Numbering, held: Mapping[Memory, Filled]) -> Mapping[Place, Origin]:
    """As the interpreter counts: by memory and address, with chips and clusters in it."""
    import numpy as np

    from dmaverify.execute.left_behind import ANYTHING as ANY
    from dmaverify.execute.left_behind import FROM_ZERO

    out: dict[Place, Origin] = {}
    for memory, one in held.items():
        order = np.argsort(one.origin, kind="stable")
        for mine in np.split(order, np.flatnonzero(np.diff(one.origin[order])) + 1):
            if not len(mine):
                continue
            origin = int(one.origin[mine[0]])
            places = _global(memory, one.places[mine], world)
            if origin in (ZERO, ANYTHING):
                out.update(dict.fromkeys(places, FROM_ZERO if origin == ZERO else ANY))
            else:
                out.update(zip(places, _global(world.name(origin), one.at[mine], world), strict=True))
    return out


def _global(memory: Memory, pieces: NDArray[np.int64], world: Numbering) -> list[Place]:
    """The units of pieces of a memory, with its chip and cluster in their addresses."""
    tier, chip, cluster = memory
    from dmaverify.execute.tensors import units

    first = (chip * SPAN["chip"] + cluster * SPAN["cluster"]) * 8 // world.unit_bits
    return [(tier, unit) for unit in (first + units(pieces * world.piece, world.piece)).tolist()]
