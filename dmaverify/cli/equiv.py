"""Two texts of the command line that are to mean the same: mappings with their axes, transfers or programs of plans.

Knows: how each is named on the command line. Does not know: how sameness is proved, how it is shown.
Law: a text that names no single transfer or program is refused, never guessed at. A transfer against a program is a
program of one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import InputError

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.prove.move.equiv import Equivalence


def compared_texts(a: str, b: str, axes: str, rlimit: int, tiers: Sequence[str] = ()) -> Equivalence:
    """Mappings where `axes` (A=8,B=3) are given, else PATH::NAME of two plans; of programs what is left in `tiers`.
    Raises InputError.
    """
    from dmaverify import api
    from dmaverify.prove.move.equiv import equivalent_mappings

    if axes.strip():
        from dmaverify.language.parse import parse_axes

        sizes = parse_axes(axes)
        return equivalent_mappings(api.mapping(a, sizes), api.mapping(b, sizes), rlimit=rlimit)
    plans = [api.load(text) for text in (a, b)]
    from dmaverify.jobs.same_programs import same_programs, same_transfers

    if any([_is_program(text, plan) for text, plan in zip((a, b), plans, strict=True)]):  # noqa: C419 (both are asked)
        return same_programs(plans[0], plans[1], rlimit=rlimit, tiers=tiers)
    if tiers:
        raise InputError("--tier is for two programs", None, "leave it out: both sides of transfers are compared")
    return same_transfers(plans[0], plans[1], rlimit=rlimit)


def _is_program(text: str, plan: Plan) -> bool:
    """Whether a plan is one program, or one transfer. Raises InputError for anything else."""
    if len(plan.names) == 1 and len(plan.programs) + len(plan.transfers) == 1:
        return bool(plan.programs)
    named = (
        ", ".join([*(t.name for t in plan.transfers), *(p.name for p in plan.programs)]) or "its transfers and programs"
    )
    raise InputError(f"{text} names no single transfer or program", None, f"write PATH::NAME with one of {named}")
