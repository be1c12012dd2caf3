"""What runs of two texts leave, of plans and of PTO kernels, and a proof held against it.

Knows: how a plan's text and a kernel's are run, byte by byte by where it came from. Does not know: how either is
proved, command lines.
Law: a run that leaves something else than a proof says is a disagreement, never passed over. Two runs are apart where a
byte is surely another one: what one of them computes and the other has from elsewhere is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import Disagreement
from dmaverify.program.space import SPAN
from dmaverify.prove.flow.equality.contents import ANYTHING, ZERO, Filled, Numbering
from dmaverify.prove.sameness import Sameness
from dmaverify.values import replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dmaverify.execute.left_behind import Origin, Place
    from dmaverify.jobs.shared_numbers import Chosen, SharedNumber
    from dmaverify.machines.pto.execute_contents import ContentRun
    from dmaverify.machines.pto.execute_terms import Terms
    from dmaverify.machines.pto.named import NamedFunction
    from dmaverify.machines.pto.running import KernelRun
    from dmaverify.plan.plan import Plan
    from dmaverify.prove.flow.accesses.touches import Memory

MOST_RUN = 1 << 18  # units that a program moves and that are run one by one
MOST_HELD = 1 << 14  # of them, where a run is held against a proof of all iterations
HELD_RUNS, HELD_STATEMENTS = 2, 1 << 10  # of kernels, where they are held against a proof of all values
MOST_TOLD = 4096  # bytes that may differ, of which it is asked whether they surely do
MOST_FOLLOWED = 1 << 16  # accesses of all runs
BYTE = 8
BOTH_TEXTS = "a run of both texts"
BY_RUNS = "runs of both texts, every byte by where it came from"
ROUNDED = "rounding makes no difference: both add the same to an element, in another order"


def held(found: Sameness, ran: Sameness | None, named: str, by: str = "") -> Sameness:
    """An answer held against the runs of both texts, which then stand `by` the proof. Raises Disagreement."""
    if found.status != "proved" or ran is None or ran.status == "unknown":
        return found
    if ran.status == "refuted":
        shown = ", ".join(f"{name} = {value}" for name, value in (ran.witness or {}).items())
        raise Disagreement(f"{named} do the same, and runs of both part{f' ({shown})' if shown else ''}: {ran.why}")
    return replace(found, by=f"{found.by}, and {by}") if by else found


# ---------------------------------------------------------------- plans


def ran_plans(plans: Sequence[Plan], unit_bits: int) -> Sameness | None:
    """What runs of two plans leave; None where one of them is not run."""
    ran = [None if plan.templates else left_behind_run(plan, unit_bits, MOST_HELD) for plan in plans]
    if ran[0] is None or ran[1] is None:
        return None
    apart = first_apart(ran[0], ran[1])
    if apart is None:
        return Sameness("proved", "both leave the same", None, BY_RUNS)
    return Sameness("refuted", f"at {apart[0]} one leaves {apart[1]}, the other {apart[2]}", None, BY_RUNS)


def confirmed(plans: Sequence[Plan], number: int, world: Numbering, left: Mapping[Memory, Filled]) -> bool:
    """Whether a run of one of two plans left what was followed; False where there was none. Raises Disagreement."""
    plan = plans[number]
    few = not plan.templates and sum(len(one.places) for one in left.values()) * world.piece <= MOST_RUN
    ran = left_behind_run(plan, world.unit_bits) if few else None
    if ran is None:
        return False
    apart = first_apart(_units(world, left), ran)
    if apart is not None:
        raise Disagreement(f"`{plan.names[0]}` leaves {apart[1]} at {apart[0]}, a run {apart[2]}")
    return True


def first_apart(one: Mapping[Place, Origin], other: Mapping[Place, Origin]) -> tuple[Place, Origin, Origin] | None:
    """The first place that holds two origins, and both."""
    for place in sorted({place for place, _ in one.items() ^ other.items()}):
        said = [left.get(place, place) for left in (one, other)]
        if said[0] != said[1]:
            return place, said[0], said[1]
    return None


def left_behind_run(plan: Plan, unit_bits: int, most: int = MOST_RUN) -> dict[Place, Origin] | None:
    """What a run of the plan's text leaves; None where it is not run."""
    from dmaverify.execute.left_behind import left_behind
    from dmaverify.execute.outcome import Beyond
    from dmaverify.execute.work import RunMove, RunProgram, RunRows, RunStep
    from dmaverify.plan.execution import PlanExecution

    try:
        work, machine = PlanExecution(plan.source.text, most=most).work(plan.names[0])
        if isinstance(work, RunMove | RunRows):
            work = RunProgram(work.name, (RunStep(work.name, (work,), loops=work.loops),))
        return left_behind(work, machine, unit_bits) if isinstance(work, RunProgram) else None
    except Beyond:
        return None


def _units(world: Numbering, held: Mapping[Memory, Filled]) -> Mapping[Place, Origin]:
    """What is held, by memory and address as the interpreter counts: with chip and cluster in the address."""
    import numpy as np

    from dmaverify.execute.left_behind import ANYTHING as ANY
    from dmaverify.execute.left_behind import FROM_ZERO

    out: dict[Place, Origin] = {}
    for memory, one in held.items():
        order = np.argsort(one.origin, kind="stable")
        for mine in np.split(order, np.flatnonzero(np.diff(one.origin[order])) + 1):
            if not len(mine):
                continue
            origin = int(one.origin[mine[0]])
            places = _global(memory, one.places[mine], world)
            if origin in (ZERO, ANYTHING):
                out.update(dict.fromkeys(places, FROM_ZERO if origin == ZERO else ANY))
            else:
                out.update(zip(places, _global(world.name(origin), one.at[mine], world), strict=True))
    return out


def _global(memory: Memory, pieces: NDArray[np.int64], world: Numbering) -> list[Place]:
    """The units of pieces of a memory, with its chip and cluster in their addresses."""
    tier, chip, cluster = memory
    from dmaverify.execute.tensors import units

    first = (chip * SPAN["chip"] + cluster * SPAN["cluster"]) * 8 // world.unit_bits
    return [(tier, unit) for unit in (first + units(pieces * world.piece, world.piece)).tolist()]


# ---------------------------------------------------------------- kernels


def ran_kernels(
    sides: Sequence[NamedFunction],
    numbers: Sequence[SharedNumber],
    every: Iterable[tuple[int, ...]],
    any_value: Sequence[SharedNumber] = (),
    most: int | None = None,
) -> Sameness:
    """What two kernels leave with each of these values; `why` of the same is how many there are."""
    from dmaverify.jobs.shared_numbers import values_of
    from dmaverify.machines.pto.execute_terms import Terms

    terms, ran, count = Terms(), 0, 0
    for chosen in values_of(sides, numbers, every):
        found = _at(sides, chosen, terms, any_value, most)
        if found.status == "refuted":
            return replace(found, witness={n.name: v for n, v in zip(numbers, chosen[2], strict=True)})
        if found.status == "unknown":
            return found
        ran, count = ran + 1, max(count, found.copies)
        if terms.followed > MOST_FOLLOWED:
            why = f"{terms.followed:,} accesses of {ran} runs are more than are followed: state smaller ranges"
            return Sameness("unknown", why)
    if not ran:
        return Sameness("unknown", "no values meet what both state")
    return Sameness(
        "proved", f"{ran:,}" if numbers else "", conditions=(ROUNDED,) if terms.reordered else (), copies=count
    )


def _at(
    sides: Sequence[NamedFunction], chosen: Chosen, terms: Terms, any_value: Sequence[SharedNumber], most: int | None
) -> Sameness:
    """What both leave with one value of each number, and any of others."""
    tensors = [tensors_of(side) for side in sides]
    each = [[size_of(side, n, given) for n in own] for side, own, given in zip(sides, tensors, chosen, strict=False)]
    sizes = [max(pair) for pair in zip(*each, strict=True)]
    left = []
    for index, (side, own) in enumerate(zip(sides, tensors, strict=True)):
        names = [name for n in any_value for name in n.names[index]]
        run = _ran(side, dict(zip(own, sizes, strict=True)), chosen[index], terms, names, most)
        if isinstance(run, str):
            return Sameness("unknown", run)
        left.append([run[2][name] for name in own])
    return _compared(left, tensors[0], terms)


def _ran(
    side: NamedFunction, sizes: Mapping[str, int], given: object, terms: Terms, any_value: Sequence[str] = (),
    most: int | None = None,
) -> tuple[ContentRun, KernelRun, Mapping[str, NDArray[np.int64]]] | str:  # fmt: skip
    """A run of a kernel on tensors of these sizes, with what they hold then; or why there is none."""
    from dmaverify.execute.outcome import Beyond
    from dmaverify.machines.pto.execute_contents import ContentRun
    from dmaverify.machines.pto.replay import MOST_BYTES

    if sum(sizes.values()) > MOST_BYTES:
        return f"their tensors hold {sum(sizes.values()):,} bytes: no run is made of so many"
    try:
        run = ContentRun(side.function, sizes, given, {}, 0, ())  # type: ignore[arg-type]
        done, left = run.follow(terms, [*sizes], [*any_value], most)
    except Beyond as error:
        lost = f"nothing in a run gives `{error}` a value" if str(error)[:1] == "%" else f"{error} is not followed"
        return f"{side.name}: {lost}"
    return f"{side.name}: a run finds {', '.join(sorted(done.found))}" if done.found else (run, done, left)


def tensors_of(side: NamedFunction) -> list[str]:
    """The arguments of a kernel behind which tensors lie."""
    return [name.lstrip("%") for name, kind, _ in side.function.args if kind.kind == "pointer"]


def size_of(side: NamedFunction, name: str, values: object) -> int:
    """How many bytes the tensor behind an argument has."""
    from dmaverify.jobs.kernel_runs import size_at
    from dmaverify.machines.pto.replay import UNSTATED

    assert isinstance(values, Mapping)
    kind = next(kind for given, kind, _ in side.function.args if given.lstrip("%") == name)
    return size_at(side.notes.extents.get(name), values) or kind.bytes or UNSTATED


def _compared(left: Sequence[Sequence[NDArray[np.int64]]], names: Sequence[str], terms: Terms) -> Sameness:
    """Byte by byte: the first that surely differs, else the first that may."""
    import numpy as np

    from dmaverify.machines.pto.execute_terms import tensor_bytes, told_origin

    changed, open_ = 0, ""
    for at, (name, *both) in enumerate(zip(names, *left, strict=True)):
        before = tensor_bytes(at, len(both[0]))
        changed += int(((both[0] != before) | (both[1] != before)).sum())
        for byte in np.flatnonzero(both[0] != both[1])[:MOST_TOLD].tolist():
            ends = [int(side[byte]) for side in both]
            told = [told_origin(end, names) for end in ends]
            said = f"at %{name}, byte {byte:,} the first leaves {told[0]}, the second {told[1]}"
            if terms.apart(*ends):
                return Sameness("refuted", said)
            open_ = open_ or f"{said}, which may be the same"
    return Sameness("unknown" if open_ else "proved", open_, copies=changed)


# ---------------------------------------------------------------- a plan and a kernel


def ran_across(plan: Plan, side: NamedFunction, at: Mapping[str, int]) -> Sameness | None:
    """What runs of a plan and of a kernel leave, whose tensors lie `at` these places; None where one of them is not
    run, or made of what no text says. Refuted is what differs wherever they lie.
    """
    import numpy as np

    from dmaverify.machines.pto.execute_terms import Terms, origin_of
    from dmaverify.machines.pto.running import place_of

    tensors, ran = tensors_of(side), left_behind_run(plan, BYTE, MOST_HELD)
    if ran is None or any(kind.kind == "int" for _, kind, _ in side.function.args):
        return None
    found = _ran(side, {name: size_of(side, name, {}) for name in tensors}, {}, Terms(), (), HELD_STATEMENTS)
    if isinstance(found, str):
        return None
    run, done, _ = found
    if done.memory.keys() - run.begun.keys():  # a memory without a place that a plan could name
        return None
    left: dict[Place, Origin] = {}
    arguments = {place_of(name): name for name in tensors}
    for place, begun in run.begun.items():
        name, held = arguments.get(place, place), done.memory[place].held
        space, begin = ("gm", at.get(name, 0)) if place in arguments else (place, 0)
        for byte in np.flatnonzero(held != begun).tolist():
            origin = origin_of(int(held[byte]))
            if not isinstance(origin, tuple) or not {name, tensors[origin[0]]} - {space} <= at.keys():
                return None  # computed, padding, or of a tensor that no copy of both names
            left[space, begin + byte] = "gm", at[tensors[origin[0]]] + origin[1]
    return _wherever(ran, left)


def _wherever(plan: Mapping[Place, Origin], kernel: Mapping[Place, Origin]) -> Sameness:
    """What two runs left: refuted is what differs wherever tensors lie, that no two of which share a byte."""
    changed = [{place for place, origin in left.items() if origin != place} for left in (plan, kernel)]
    local, far = ([{place for place in one if (place[0] != "gm") is own} for one in changed] for own in (True, False))
    for space, byte in sorted(local[0] ^ local[1])[:1]:
        alone = "kernel" if (space, byte) in local[1] else "plan"
        why = f"{space}, byte {byte:,} is changed by the {alone} alone"
        return Sameness("refuted", why, {"place": f"{space}, byte {byte}"}, BY_RUNS)
    if len(far[0]) != len(far[1]):
        why = f"the plan changes {len(far[0]):,} bytes of gm, the kernel {len(far[1]):,}"
        return Sameness("refuted", why, None, BY_RUNS)
    apart = first_apart(plan, kernel)
    if apart is None:
        return Sameness("proved", "both leave the same", None, BY_RUNS)
    place, *ends = apart
    said = [_lay(end, place) for end in ends]
    return Sameness("unknown", f"at {place[0]}, byte {place[1]:,} the plan leaves {said[0]}, the kernel {said[1]}")


def _lay(origin: Origin, place: Place) -> str:
    if isinstance(origin, str):
        return origin
    return "what lay there" if origin == place else f"what lay at {origin[0]}, byte {origin[1]:,}"
