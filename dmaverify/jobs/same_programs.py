"""Two plans, each one program or one move, compared by what they leave in memory; each is run from its text too.

Knows: plans and their entries. Does not know: how contents are followed, how a text is run, command lines.
Law: a text that names no single entry is refused, never guessed at. A transfer against a program is a program of one
step, and so are a move that nothing says how to do, a gather and a scatter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.jobs.same_runs import BOTH_TEXTS, confirmed, held, ran_plans
from dmaverify.program.schedule import Program, Step
from dmaverify.prove.flow.equality import same as home
from dmaverify.values import replace

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.prove.sameness import Sameness

MOST_LOWERED = 256
"""Launches, or transfers of a kernel, that are compared as one program."""


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
    confirm = partial(confirmed, (one, other))
    found = home.same_programs(
        sides[0], sides[1], rlimit=rlimit, tiers=tiers, confirm=confirm, by_events=by_events, ends=ends
    )
    if found.by != home.ONE_BY_ONE:
        return found
    return held(found, ran_plans((one, other), min(side.unit_bits for side in sides)), "they", BOTH_TEXTS)


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


def program_for(plan: Plan, machine: str) -> Program:
    """As `program_of_plan`. Raises InputError for a plan of another machine."""
    program = program_of_plan(plan)
    if program.target != machine:
        raise InputError(f"`{program.name}` is no plan of {machine}", program.span, "name one")
    return program


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
