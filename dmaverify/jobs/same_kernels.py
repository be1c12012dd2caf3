"""Whether two PTO kernels do the same, event by event, or leave the same in global memory.

Knows: which values of arguments are run, what work stands between copies.
Does not know: how a kernel is judged, how it is run (`same_runs`).
Law: `proved` is said of nothing less than every copy, flag, barrier and vector access, and the work between them.
What is left is said of kernels that are both proved, so that no order decides what stays, and of every value of their
arguments; with values that nobody states, or too many, nothing is said but a difference. A byte that one of them
computes and the other has from elsewhere is no difference: it is open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import product
from math import prod

from dmaverify.errors import InputError
from dmaverify.jobs.same_runs import HELD_RUNS, HELD_STATEMENTS, held, ran_kernels
from dmaverify.jobs.shared_numbers import SharedNumber, kinds_of, numbers_of
from dmaverify.machines.pto.check import check_function
from dmaverify.machines.pto.execute_contents import passed_over
from dmaverify.machines.pto.named import NamedFunction
from dmaverify.machines.pto.supposed import barred
from dmaverify.machines.pto.work import NOBODY, work_of
from dmaverify.program.instructions import Copy
from dmaverify.prove.flow.equality.same import Issued, same
from dmaverify.prove.limits import RLIMIT
from dmaverify.prove.options import Options
from dmaverify.prove.sameness import Sameness, unread
from dmaverify.values import replace
from dmaverify.verdict import Status

BY_EVENTS = "each copy and access against its own, in one order"
MOST_RUNS = 64
"""Values of arguments with which two kernels are run."""
FEW_RUNS = 6  # where these values are not all


def same_functions(one: NamedFunction, other: NamedFunction, *, settled: bool = False) -> Sameness:
    """Whether two functions do the same; unknown where one holds what cannot be resolved. `settled`: no order that
    either allows leaves anything else, so that what waits for what is not compared. Raises Disagreement.
    """
    found = _by_events(one, other, settled=settled)
    ran = _with_some(one, other, HELD_RUNS, HELD_STATEMENTS) if found.status == "proved" else None
    return held(found, ran, f"`{one.name}` and `{other.name}`")


def _by_events(one: NamedFunction, other: NamedFunction, *, settled: bool) -> Sameness:
    try:
        kernels = [side.kernel(canonical=True) for side in (one, other)]
    except InputError as error:
        return unread(error)
    first, second = kernels
    if list(first.roots.values()) != list(second.roots.values()) and len(first.roots) != len(second.roots):
        return Sameness("unknown", f"{len(first.roots)} pointer arguments against {len(second.roots)}")
    found = same(Issued(first.events, first.world, settled), Issued(second.events, second.world, settled))
    if found.status != "proved":
        return found
    lost = [r for kernel in kernels for r in kernel.remarks if r.kind == "unresolved"]
    if lost:
        return replace(found, status="unknown", why=lost[0].message, places=(lost[0].span,))
    scopes = [text for kernel in kernels for text in barred(kernel, RLIMIT)]
    supposed = tuple(dict.fromkeys([*first.conditions, *second.conditions, *scopes]))
    return _worked(replace(found, conditions=supposed), one, other, [*first.copies, *second.copies])


def _worked(found: Sameness, one: NamedFunction, other: NamedFunction, copies: Iterable[Copy]) -> Sameness:
    """Copies that are the same prove nothing of kernels that compute something else between them."""
    sides = [work_of(s.source, s.function, cube=s.on_cube) for s in (one, other)]
    left, right = (side.listed for side in sides)
    for (first, here), (second, there) in zip(left, right, strict=False):
        lost = NOBODY in " ".join(first)
        if first != second or lost:
            word = "takes a value that is not followed" if first == second else f"and {second[0]} are not the same work"
            why = f"the copies are the same, but {first[0]} {word}"
            return replace(found, status="unknown", why=why, places=(here, there))
    if len(left) != len(right):
        extra = max(left, right, key=len)[min(len(left), len(right))]
        why = f"the copies are the same, but only one kernel has this {extra[0][0]}"
        return replace(found, status="unknown", why=why, places=(extra[1],))
    pads = sides[0].pads | sides[1].pads
    if any(copy.fill is not None and copy.fill.value is None for copy in copies) and (len(pads) != 1 or NOBODY in pads):
        return replace(found, status="unknown", why="what the copies pad with is not known to be one value in both")
    return found


def same_left(one: NamedFunction, other: NamedFunction) -> Sameness:
    """Compares what both leave in the tensors behind their arguments, which are matched by their order."""
    sides = (one, other)
    if kinds_of(one) != kinds_of(other):
        return Sameness("unknown", "their arguments differ")
    if any(kind.space == "ub" for side in sides for _, kind, _ in side.function.args):
        return Sameness("unknown", "one works on a buffer that it is given")
    conditions: list[str] = []
    for side in sides:
        proved, why = settled_kernel(side)
        if why:
            return Sameness("unknown", why, places=(side.function.span,))
        conditions += proved
    found = same_functions(one, other, settled=True)
    found = replace(found, by=BY_EVENTS) if found.status == "proved" else left_by_runs(one, other)
    if found.status != "proved":
        return found
    ranges = [
        f"values are those that both texts state: {n.name} in {n.low}..{n.high}" for n in numbers_of(sides) if n.apart
    ]
    return replace(found, conditions=tuple(dict.fromkeys([*conditions, *ranges, *found.conditions])))


def left_by_runs(one: NamedFunction, other: NamedFunction) -> Sameness:
    """What runs of both leave, with each value of their arguments."""
    sides = (one, other)
    numbers = list(numbers_of(sides))
    counted, any_value = _split(numbers)
    found = Sameness("unknown")
    if all(n.count is not None for n in counted):
        every = product(*(n.some(n.count or 0) for n in counted))
        found = ran_kernels(sides, counted, every, any_value)
    if found.status != "unknown" or not (any_value or not found.why):
        return found
    tried = _with_some(one, other, FEW_RUNS)
    if tried.status != "proved":
        return tried
    said = ", ".join(n.name for n in numbers if n in any_value or n.count is None)
    why = f"values of {said} are too many to be run, or nobody states them; with some of them both leave the same"
    return Sameness("unknown", why)


def _with_some(one: NamedFunction, other: NamedFunction, count: int, most: int | None = None) -> Sameness:
    """What runs of both texts leave with a few values of their arguments."""
    sides = (one, other)
    if kinds_of(one) != kinds_of(other):
        return Sameness("unknown", "their arguments differ")
    numbers = list(numbers_of(sides))
    every = zip(*(n.some(count) for n in numbers), strict=True) if numbers else [()]
    return ran_kernels(sides, numbers, every, (), most)


def _split(numbers: Sequence[SharedNumber]) -> tuple[list[SharedNumber], list[SharedNumber]]:
    """The numbers whose values are run one by one, and arguments that stand for any value."""
    counted = [n for n in numbers if n.told or (n.count is not None and n.count <= MOST_RUNS)]
    if prod(n.count or 1 for n in counted) > MOST_RUNS:
        counted = [n for n in counted if n.told]
    return counted, [n for n in numbers if n not in counted]


def copies_of(found: Sameness) -> str:
    """How many copies of kernels were compared, in words."""
    return f"{found.copies} cop{'y' if found.copies == 1 else 'ies'}"


def told_left(found: Sameness) -> str:
    """What is said of two kernels that leave the same."""
    if found.by == BY_EVENTS:
        return f"both leave the same in gm ({copies_of(found)}, every byte, whatever waits for what)"
    runs = f", with each of {found.why} values of their arguments" if found.why else ""
    return f"both leave the same in gm ({found.copies:,} bytes that either changes{runs})"


def settled_kernel(side: NamedFunction, allowed: Collection[str] = ()) -> tuple[Sequence[str], str]:
    """The conditions under which no order decides what a kernel leaves, and why that is not known (empty: it is). Rules
    that are `allowed` say nothing of order.
    """
    verdict = check_function(side.function, side.name, side.notes, Options())
    if verdict is None:
        return (), f"{side.name} moves nothing"
    if verdict.status is not Status.PROVED or verdict.scope or side.notes.allow.keys() - set(allowed):
        return (), f"{side.name} is not proved (`check` says why), so that its order may decide what it leaves"
    if name := passed_over(side.function):
        return (), f"{side.name}: what {name} does is not followed"
    return verdict.conditions, f"{side.name} works with another core" if side.notes.core else ""


def only_gm(tiers: Sequence[str]) -> None:
    """Raises InputError for a memory that no kernel leaves anything in."""
    for tier in tiers:
        if tier != "gm":
            raise InputError(f"a kernel leaves nothing in `{tier}`", None, "--tier gm: global memory")
