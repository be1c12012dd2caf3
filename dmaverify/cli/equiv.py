"""Two texts of the command line that are to mean the same: mappings with their axes, or transfers of plans.

Knows: how each is named on the command line. Does not know: how sameness is proved, how it is shown.
Law: a text that names no single transfer is refused, never guessed at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dmaverify.errors import InputError

if TYPE_CHECKING:
    from dmaverify.prove.move.equiv import Equivalence


def compared_texts(a: str, b: str, axes: str, rlimit: int) -> Equivalence:
    """Mappings where `axes` (A=8,B=3) are given, else PATH::NAME of two plans. Raises InputError."""
    from dmaverify import api
    from dmaverify.jobs.load import run_of
    from dmaverify.prove.move.equal_plans import equivalent_plans
    from dmaverify.prove.move.equiv import equivalent_mappings

    if axes.strip():
        from dmaverify.language.parse import parse_axes

        sizes = parse_axes(axes)
        return equivalent_mappings(api.mapping(a, sizes), api.mapping(b, sizes), rlimit=rlimit)
    programs = []
    for text in (a, b):
        plan = api.load(text)
        if len(plan.transfers) != 1 or len(plan.names) != 1:
            names = ", ".join(t.name for t in plan.transfers) or "its transfers"
            raise InputError(f"{text} names no single transfer", None, f"write PATH::NAME with one of {names}")
        item = plan.transfers[0]
        programs.append((item.transfer, run_of(plan, item.name), plan.targets[item.transfer.target]))
    return equivalent_plans(programs[0], programs[1], rlimit=rlimit)
