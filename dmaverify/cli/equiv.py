"""Two texts of the command line that are to mean the same: mappings with their axes, transfers or programs of plans.

Knows: how each is named on the command line. Does not know: how sameness is proved, how it is shown.
Law: none of its own; what names no single entry is refused by `same_named`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import InputError

if TYPE_CHECKING:
    from dmaverify.prove.sameness import Sameness


def compared_texts(a: str, b: str, axes: str, rlimit: int, tiers: Sequence[str] = ()) -> Sameness:
    """Mappings where `axes` (A=8,B=3) are given, else PATH::NAME of two plans; of programs what is left in `tiers`.
    Raises InputError.
    """
    from dmaverify import api
    from dmaverify.jobs.same_named import same_named
    from dmaverify.prove.move.equiv import equivalent_mappings

    if axes.strip():
        from dmaverify.language.parse import parse_axes

        if tiers:
            raise InputError("--tier is for programs and kernels, not for two mappings", None, "leave it out")
        sizes = parse_axes(axes)
        return equivalent_mappings(api.mapping(a, sizes), api.mapping(b, sizes), rlimit=rlimit)
    return same_named((a, b), lambda at: api.load((a, b)[at], symbols=True), rlimit=rlimit, tiers=tiers)[0]
