"""Functions of drivers in C, compared with each other or with a plan; what launches leave is a program of a plan.

Knows: which functions of two files are one, launches as programs. Does not know: C, how a program is followed.
Law: launches that are not right for the engine leave nothing that is known. The answer on two files is the worst of
those on their functions, which have to be the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dmaverify.errors import InputError
from dmaverify.jobs.same_programs import MOST_LOWERED, program_for, same_plans
from dmaverify.jobs.same_runs import held
from dmaverify.language.files import named
from dmaverify.machines.idma.c.followed import DriverRun
from dmaverify.machines.idma.same import MACHINE, DriverFile, driver_file, function_named, run_alone, same_functions
from dmaverify.plan.plan import Plan, select
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.sameness import Sameness, unread, worst_of
from dmaverify.values import replace

NAME = "launches"


def same_drivers(
    names: Sequence[str], *, rlimit: int, engine: Sequence[str] = (), defines: Sequence[str] = ()
) -> tuple[Sameness, str]:
    """Whether functions of two drivers do the same, and the answer in words: those that are named, else those of one
    name. Raises InputError, Disagreement.
    """
    parts = [named(text) for text in names]
    files = [driver_file(path, engine, defines) for path, _ in parts]
    pairs = _pairs(files, [name for _, name in parts])
    left = partial(left_by_launches, (files[0], files[1]), rlimit)
    answers = []
    for pair in pairs:
        shown = [f"{file.path}::{name}" for file, name in zip(files, pair, strict=True)]
        found, ran = same_functions((files[0], pair[0]), (files[1], pair[1]), left)
        found = held(found, ran, f"`{shown[0]}` and `{shown[1]}`")
        answers.append((found, found.text(*shown)))
    return worst_of([found for found, _ in answers]), "\n".join(text for _, text in answers)


def same_driver_and_plan(
    plan: Plan, name: str, *, rlimit: int, plan_first: bool = True, engine: Sequence[str] = (),
    defines: Sequence[str] = (),
) -> Sameness:  # fmt: skip
    """Whether a plan's one entry leaves what a function leaves that does nothing but launch and wait, all of whose
    values its file gives; `plan_first`: it is the first of the two. Raises InputError, Disagreement.
    """
    program_for(plan, MACHINE)
    path, wanted = named(name)
    file = driver_file(path, engine, defines)
    run, conditions = run_alone(file, function_named(file, wanted))
    if isinstance(run, Sameness):
        return run
    launches = [act.launch for act in run.acts if act.launch is not None]
    try:
        made = select(read_plan_text(file.lowered(NAME, run, launches)), NAME)
    except InputError as error:
        return unread(error)
    sides = (plan, made) if plan_first else (made, plan)
    found = same_plans(sides[0], sides[1], rlimit=rlimit)
    every = tuple(dict.fromkeys((*found.conditions, *conditions)))
    return replace(found, conditions=every) if found.status == "proved" else found


def _pairs(files: Sequence[DriverFile], given: Sequence[str]) -> list[tuple[str, str]]:
    """The functions to compare. Raises InputError where it is not known which."""
    known = [file.functions for file in files]
    if any(given) or not all(known) or 1 in map(len, known):
        beside = zip(given, given[::-1], known, strict=True)
        wanted = [name or (other if other in own else "") for name, other, own in beside]
        one, other = (function_named(file, name) for file, name in zip(files, wanted, strict=True))
        return [(one, other)]
    if known[0] != known[1]:
        alone = sorted({*known[0]} ^ {*known[1]})
        said = f"{files[0].path} and {files[1].path} launch in other functions: {', '.join(alone)}"
        raise InputError(said, None, "name one of each: FILE::NAME")
    return [(name, name) for name in known[0]]


def left_by_launches(
    files: tuple[DriverFile, DriverFile], rlimit: int, runs: Sequence[DriverRun], numbers: Sequence[Sequence[int]]
) -> Sameness:
    """What some launches of two runs leave in memory. Raises Disagreement."""
    for file, run in zip(files, runs, strict=True):
        why = file.legal(run)
        if why:
            return Sameness("unknown", why)
    if not numbers[0] and not numbers[1]:
        return Sameness("proved")
    if not numbers[0] or not numbers[1]:
        return Sameness("unknown", f"{runs[not numbers[1]].name}() launches nothing here, and the other does")
    if max(map(len, numbers)) > MOST_LOWERED:
        return Sameness("unknown", f"more than {MOST_LOWERED} launches in a row are not compared by what they leave")
    try:
        plans = [
            select(read_plan_text(file.lowered(NAME, run, own)), NAME)
            for file, run, own in zip(files, runs, numbers, strict=True)
        ]
        return same_plans(plans[0], plans[1], rlimit=rlimit)
    except InputError as error:
        return unread(error)
