"""Two things that a command line or a test names: which comparison is theirs.

Knows: plans, kernels in PTO text and words, by their names.
Does not know: how anything is compared; command lines.
Law: none of its own; what names no single entry is refused. What one pair needs is imported for that pair alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.jobs.judge import is_copy_text

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.prove.sameness import Sameness


def same_named(
    names: Sequence[str], read: Callable[[int], Plan], *, rlimit: int, tiers: Sequence[str] = ()
) -> tuple[Sameness, str]:
    """Whether two things do the same that are named by PATH::NAME, plans of which `read` gives the first (0) and the
    second; with the answer in words. Raises InputError, Disagreement.
    """
    kernels = [is_copy_text(name.partition("::")[0]) for name in names]
    if kernels[0] and (kernels[1] or names[1].endswith(".json")):
        from dmaverify.jobs.kernels import same_kernels

        return same_kernels(names[0], names[1], tiers)
    if any(kernels):
        answer = _across(names, kernels.index(True), read, rlimit, tiers)
    else:
        from dmaverify.jobs.same_sizes import same_texts

        sides = [(name, read(number)) for number, name in enumerate(names)]
        answer = same_texts(sides[0], sides[1], rlimit=rlimit, tiers=tiers)
    return answer, answer.text(*names)


def _across(
    names: Sequence[str], kernel: int, read: Callable[[int], Plan], rlimit: int, tiers: Sequence[str]
) -> Sameness:
    from dmaverify.jobs.same_across import same_across
    from dmaverify.jobs.same_programs import has_one
    from dmaverify.machines.pto.named import function_at

    if tiers:
        raise InputError("a plan and a kernel are compared in all memories", None, "leave --tier out")
    plan, name = read(1 - kernel), names[1 - kernel]
    if plan.templates:
        raise InputError(f"{name} has symbols, and a kernel has none of them", None, "give it numbers")
    has_one(name, plan)
    return same_across(plan, function_at(names[kernel]), rlimit=rlimit)
