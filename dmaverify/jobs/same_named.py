"""Two things that a command line or a test names: which comparison is theirs.

Knows: plans, kernels in PTO text and Rust, drivers in C and words, by their names.
Does not know: how anything is compared; command lines.
Law: none of its own; what names no single entry is refused, and so are two things of two machines. What one pair needs
is imported for that pair alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.jobs.walk import is_copy_text

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.prove.sameness import Sameness

PLAN, COPIES, RUST, DRIVER = "a plan", "a kernel in PTO text", "a kernel in Rust", "a driver in C"
_SUFFIXES = {".rs": RUST, ".c": DRIVER, ".h": DRIVER}


def kind_of(name: str) -> str:
    """What PATH::NAME is, by the suffix of its file."""
    path = name.partition("::")[0]
    if is_copy_text(path):
        return COPIES
    return next((kind for suffix, kind in _SUFFIXES.items() if path.endswith(suffix)), PLAN)


def of_copies(names: Sequence[str]) -> bool:
    """Whether these are two kernels in PTO text, or one and the words of its copies (`emit --as words --json`)."""
    return kind_of(names[0]) == COPIES and (kind_of(names[1]) == COPIES or names[1].endswith(".json"))


def same_named(
    names: Sequence[str], read: Callable[[int], Plan], *, rlimit: int, tiers: Sequence[str] = (),
    engine: Sequence[str] = (), defines: Sequence[str] = (),
) -> tuple[Sameness, str]:  # fmt: skip
    """Whether two things do the same that are named by PATH::NAME, plans of which `read` gives the first (0) and the
    second; with the answer in words. `engine` and `defines` are what `check` is told of drivers. Raises InputError,
    Disagreement.
    """
    kinds = [kind_of(name) for name in names]
    if (engine or defines) and DRIVER not in kinds:
        raise InputError("--engine and --define are for drivers in C", None, "leave them out")
    if of_copies(names):
        from dmaverify.jobs.kernels import same_kernels

        return same_kernels(names[0], names[1], tiers)
    others = {*kinds} - {PLAN}
    if len(others) > 1:
        hint = "compare each with a plan of its machine"
        raise InputError(f"{names[0]} is {kinds[0]}, {names[1]} is {kinds[1]}: these are of two machines", None, hint)
    if tiers and others:
        what = "plans and kernels" if PLAN in kinds else "kernels in Rust and drivers"
        raise InputError(f"{what} are compared in all that others see", None, "leave --tier out")
    if kinds == [DRIVER, DRIVER]:
        from dmaverify.jobs.same_drivers import same_drivers

        return same_drivers(names, rlimit=rlimit, engine=engine, defines=defines)
    if kinds == [RUST, RUST]:
        from dmaverify.jobs.same_rust import same_rust

        answer = same_rust(names, rlimit=rlimit)
    elif others:
        answer = _beside_plan(names, kinds.index(next(iter(others))), read, rlimit, engine, defines)
    else:
        from dmaverify.jobs.same_sizes import same_texts

        sides = [(name, read(number)) for number, name in enumerate(names)]
        answer = same_texts(sides[0], sides[1], rlimit=rlimit, tiers=tiers)
    return answer, answer.text(*names)


def _beside_plan(
    names: Sequence[str], at: int, read: Callable[[int], Plan], rlimit: int, engine: Sequence[str],
    defines: Sequence[str],
) -> Sameness:  # fmt: skip
    """A plan and what is named at place `at`."""
    from dmaverify.jobs.same_programs import has_one

    plan, kind = read(1 - at), kind_of(names[at])
    if plan.templates:
        raise InputError(f"{names[1 - at]} has symbols, and {kind} has none", None, "give it numbers")
    has_one(names[1 - at], plan)
    if kind == RUST:
        from dmaverify.jobs.same_rust import same_rust_and_plan

        return same_rust_and_plan(plan, names[at], rlimit=rlimit, plan_first=bool(at))
    if kind == DRIVER:
        from dmaverify.jobs.same_drivers import same_driver_and_plan

        return same_driver_and_plan(plan, names[at], rlimit=rlimit, plan_first=bool(at), engine=engine, defines=defines)
    from dmaverify.jobs.same_across import same_across
    from dmaverify.machines.pto.named import function_at

    return same_across(plan, function_at(names[at]), rlimit=rlimit)
