"""Two texts of the command line that are to mean the same: mappings with their axes, plans, kernels, drivers.

Knows: how each is named on the command line. Does not know: how sameness is proved, how it is shown.
Law: none of its own; what names no single entry is refused by `same_named`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import InputError

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.prove.sameness import Sameness


def compared_texts(
    a: str, b: str, axes: str, rlimit: int, tiers: Sequence[str] = (), engine: Sequence[str] = (),
    defines: Sequence[str] = (),
) -> tuple[Sameness, str]:  # fmt: skip
    """Mappings where `axes` (A=8,B=3) are given, else PATH::NAME of two plans, kernels or drivers; of programs what is
    left in `tiers`. The answer, and in words. Raises InputError.
    """
    from dmaverify import api
    from dmaverify.jobs.same_named import same_named
    from dmaverify.prove.move.equiv import equivalent_mappings

    if axes.strip():
        from dmaverify.language.parse import parse_axes

        if tiers:
            raise InputError("--tier is for programs and kernels, not for two mappings", None, "leave it out")
        if engine or defines:
            raise InputError("--engine and --define are for drivers in C", None, "leave them out")
        sizes = parse_axes(axes)
        found = equivalent_mappings(api.mapping(a, sizes), api.mapping(b, sizes), rlimit=rlimit)
        return found, found.text(a, b)

    def read(at: int) -> Plan:
        return api.load((a, b)[at], symbols=True)

    return same_named((a, b), read, rlimit=rlimit, tiers=tiers, engine=engine, defines=defines)
