"""A plan and a PTO kernel, compared by what both leave in memory: copies against copies, and runs of both texts.

Knows: which memory of a plan is which of a kernel, where the tensors behind arguments would have to lie.
Does not know: how events are compared, how either text is read or run.
Law: an answer is one of the places that it names as conditions, of tensors that share no byte there. Both sides are
settled: the plan's order decides nothing, the kernel is proved. `refuted` is said of runs of both texts that part
wherever the tensors lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.jobs.same_kernels import settled_kernel
from dmaverify.jobs.same_programs import program_for
from dmaverify.jobs.same_runs import BYTE, held, ran_across, size_of
from dmaverify.language.affine import Lin, World
from dmaverify.program.instructions import Copy, Event, Place
from dmaverify.program.rewrite import every, spread
from dmaverify.prove.flow.accesses.alone_copies import NoCopies
from dmaverify.prove.flow.equality import same as home
from dmaverify.prove.flow.equality.copy_events import copy_events
from dmaverify.prove.sameness import Sameness
from dmaverify.values import replace

if TYPE_CHECKING:
    from dmaverify.machines.pto.named import NamedFunction
    from dmaverify.plan.plan import Plan

MACHINE = "pto"


def same_across(plan: Plan, side: NamedFunction, *, rlimit: int) -> Sameness:
    """Whether a plan's one entry leaves what a kernel leaves. Raises InputError, Disagreement."""
    program = program_for(plan, MACHINE)
    taken = home.side_of(program, plan.axes, plan.targets[program.target])
    conditions: list[str] = []
    open_ = home.order_matters(taken, rlimit, conditions)
    if open_:
        return Sameness("unknown", f"what the plan leaves is not known: {open_}")
    verdict, why = settled_kernel(side, allowed=("core/definite",))
    if why:
        return Sameness("unknown", why, places=(side.function.span,))
    try:
        world = World()
        own = copy_events(taken, BYTE, world, {})
        kernel = side.kernel(canonical=True)
    except (NoCopies, InputError) as error:
        return Sameness("unknown", str(error))
    lie = _places(own, kernel.events)
    clash = _clash(side, lie)
    if clash:
        return Sameness("unknown", clash)
    conditions += [*verdict, *kernel.conditions]
    lying = [f"%{_shown(side, root)} lies at gm, byte {at:,}" for root, at in lie.items()]
    sides = [tuple(spread(own, _of_plan)), tuple(spread(kernel.events, partial(_of_kernel, lie)))]
    if any(isinstance(event, Copy) and event.atomic for event in every(sides[1])):
        return Sameness("unknown", "the kernel accumulates where the plan writes")
    issued = [home.Issued(events, one, settled=True) for events, one in zip(sides, (world, kernel.world), strict=True)]
    found = home.same(issued[0], issued[1])
    ran = ran_across(plan, side, {_shown(side, root): begin for root, begin in lie.items()})
    if found.status == "proved":  # at these places, where no difference is left open either
        ran = None if ran is None else replace(ran, status="proved" if ran.status == "proved" else "refuted")
        found = replace(found, why="both make the same copies in one order", by=home.ONE_BY_ONE)
        found = held(found, ran, f"`{program.name}` and `{side.name}`", "runs of both texts")
    else:
        found = ran or found
    if found.status == "proved":
        return replace(found, conditions=tuple(dict.fromkeys((*conditions, *lying))))
    return replace(found, notes=tuple(f"where {one}" for one in lying)) if found.status == "unknown" else found


# ---------------------------------------------------------------- one memory


def _places(plan: Sequence[Event], kernel: Sequence[Event]) -> dict[str, int]:
    """Where the tensor behind each argument has to begin for the first copies of both to be the same."""
    lie: dict[str, int] = {}
    ways = [_ways(events) for events in (plan, kernel)]
    for way, copies in ways[1].items():
        for one, other in zip(ways[0].get(way, ()), copies, strict=False):
            for mine, theirs in ((one.read, other.read), (one.write, other.write)):
                if theirs.root and theirs.root not in lie:
                    lie[theirs.root] = (mine.address - theirs.address).const
    return lie


def _ways(events: Sequence[Event]) -> dict[tuple[str, ...], list[Copy]]:
    """The copies in their order, by the memories that they go between."""
    out: dict[tuple[str, ...], list[Copy]] = {}
    for copy in (event for event in every(events) if isinstance(event, Copy)):
        out.setdefault(tuple(place.space.partition("/")[0] for place in (copy.read, copy.write)), []).append(copy)
    return out


def _clash(side: NamedFunction, lie: Mapping[str, int]) -> str:
    """Why tensors at these places cannot be what the kernel was proved for."""
    ends = sorted((at, at + size_of(side, _shown(side, root), {}), root) for root, at in lie.items())
    if any(at < 0 for at in lie.values()) or any(end > begin for (_, end, _), (begin, *_) in pairwise(ends)):
        return "for the first copies to be the same, arguments would share bytes, or begin before address 0"
    return ""


def _shown(side: NamedFunction, root: str) -> str:
    """The name of an argument in its text, by what it is called over both kernels."""
    pointers = {f"arg{i}": name.lstrip("%") for i, (name, _, _) in enumerate(side.function.args)}
    return pointers.get(root, root)


def _of_plan(event: Event) -> Iterator[Event]:
    if isinstance(event, Copy):
        event = _moved(event, lambda place: replace(place, space=place.space.partition("/")[0]))
    yield event


def _of_kernel(lie: Mapping[str, int], event: Event) -> Iterator[Event]:
    def placed(place: Place) -> Place:
        at = lie.get(place.root)
        return place if at is None else Place(place.space, "", place.address + Lin(at))

    yield _moved(event, placed) if isinstance(event, Copy) else event


def _moved(copy: Copy, placed: Callable[[Place], Place]) -> Copy:
    touches = tuple(replace(touch, place=placed(touch.place)) for touch in copy.touches if touch.writes)
    kind = "" if copy.kind == "[]" or copy.pipe else copy.kind  # of a plan: options that may decide bytes
    return replace(copy, kind=kind, pipe="", read=placed(copy.read), write=placed(copy.write), touches=touches)
