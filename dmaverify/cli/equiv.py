"""Two texts of the command line that are to mean the same: mappings with their axes, transfers or programs of plans.

Knows: how each is named on the command line. Does not know: how sameness is proved, how it is shown.
Law: none of its own; what names no single entry is refused by `same_texts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.jobs.judge import is_copy_text

if TYPE_CHECKING:
    from dmaverify.prove.sameness import Sameness


def compared_texts(a: str, b: str, axes: str, rlimit: int, tiers: Sequence[str] = ()) -> Sameness:
    """Mappings where `axes` (A=8,B=3) are given, else PATH::NAME of two plans; of programs what is left in `tiers`.
    Raises InputError.
    """
    from dmaverify import api
    from dmaverify.jobs.same_sizes import same_texts
    from dmaverify.prove.move.equiv import equivalent_mappings

    if axes.strip():
        from dmaverify.language.parse import parse_axes

        if tiers:
            raise InputError("--tier is for programs and kernels, not for two mappings", None, "leave it out")
        sizes = parse_axes(axes)
        return equivalent_mappings(api.mapping(a, sizes), api.mapping(b, sizes), rlimit=rlimit)
    kernels = [is_copy_text(text.partition("::")[0]) for text in (a, b)]
    if any(kernels):
        from dmaverify.jobs.same_across import same_across
        from dmaverify.machines.pto.named import function_at

        if all(kernels) or tiers:
            raise InputError("a plan and a kernel are compared in all memories", None, "leave --tier out")
        plan, kernel = (b, a) if kernels[0] else (a, b)
        return same_across(api.load(plan), function_at(kernel), rlimit=rlimit)
    sides = [(text, api.load(text, symbols=True)) for text in (a, b)]
    return same_texts(sides[0], sides[1], rlimit=rlimit, tiers=tiers)
