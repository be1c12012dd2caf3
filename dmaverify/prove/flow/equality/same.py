"""Equivalence of two programs: event by event for all values, else by what they leave in memory.

Knows: both as events in an order that they allow, programs of plans with their steps taken apart, what their order
rests on.
Does not know: who wrote them; how events are compared (`same_events`), how contents are followed (`same_contents`).
Law: `proved` is said of what does the same copies and accesses in one order, for all values of symbols and all
iterations; or of what leaves the same in memory where no order that either allows leaves anything else. That of two
`settled` programs the events differ is no difference of what they leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from dmaverify.errors import InputError
from dmaverify.language.affine import World
from dmaverify.program.instructions import BufferToken, Event, Fence, Signal
from dmaverify.program.rewrite import spread
from dmaverify.program.schedule import Circle, Program, order_of, torn_body
from dmaverify.prove.flow.accesses.alone_copies import NoCopies
from dmaverify.prove.flow.accesses.index_lists import shared_lists
from dmaverify.prove.flow.accesses.touches import work_of
from dmaverify.prove.flow.equality.contents import TakenApart
from dmaverify.prove.flow.equality.copy_events import copy_events
from dmaverify.prove.flow.equality.moved_cells import of_moved_cells
from dmaverify.prove.flow.equality.same_contents import Confirm, by_contents
from dmaverify.prove.flow.equality.same_events import compare_events
from dmaverify.prove.flow.order.hazards import hazards
from dmaverify.prove.flow.order.hazards_told import order_rests_on
from dmaverify.prove.move.preconditions import require
from dmaverify.prove.sameness import WORDS, Sameness
from dmaverify.targets.modules import kept_memory
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

SAME_WORK = "the accesses of a step make the same of what their context was given before, in this order"
ONE_BY_ONE = "each copy and access against its own, in one order"
APART = "what contexts hand on to each other lies in memory"


def side_of(program: Program, axes: Mapping[str, int], target: Target, *, live: bool = False) -> TakenApart:
    """A program with its steps taken apart; `live`: moves that nothing says how to do touch the cells that they move,
    and no others. Raises InputError for one that does not run, or of which these cells are not known.
    """
    for problem in program.problems:
        raise InputError(f"`{program.name}`: {problem.message}", problem.span, problem.hint)
    for step in program.steps:
        for one in (step.indirect or step.transfer, *step.accesses):
            if one is not None:
                require(one, axes, target, getattr(one, "problems", step.problems))
        short = next((problem for problem in step.problems if problem.cut_short), None)
        if short is not None:
            raise InputError(f"`{step.name}` does not run to its end: {short.message}", short.span, short.hint)
    works = [work_of(index, step, target) for index, step in enumerate(program.steps)]
    for step, work in zip(program.steps, works, strict=True):
        for trouble in work.troubles:
            raise InputError(f"`{step.name}` makes no command: {trouble.message}", trouble.span, trouble.hint)
    works = of_moved_cells(program.steps, works, target) if live else works
    order = order_of(program, [work.lanes for work in works])
    if isinstance(order, Circle) or torn_body(program, order) is not None:
        raise InputError(f"steps of `{program.name}` wait for each other", program.span, "`check` says which")
    return TakenApart(program, works, order, target)


@dataclass(frozen=True)
class Issued:
    """One of two: its events in the order of issue, over the symbols of its world. `settled`: no order that it allows
    leaves anything else in memory, so that what waits for what is no part of what it does.
    """

    events: Sequence[Event]
    world: World
    settled: bool = False


def same(one: Issued, other: Issued, left: Callable[[], Sameness] | None = None) -> Sameness:
    """Whether both do the same events; of settled ones, else, what `left` says of what both leave in memory."""
    settled = one.settled and other.settled
    events = [tuple(spread(s.events, _work)) if settled else s.events for s in (one, other)]
    found = compare_events(events[0], one.world, events[1], other.world, sought=not settled)
    return found if found.status == "proved" or not settled or left is None else left()


def _work(event: Event) -> Iterator[Event]:
    if not isinstance(event, (Signal, Fence, BufferToken)):
        yield event


# ---------------------------------------------------------------- programs of plans


def same_programs(
    one: TakenApart, other: TakenApart, *, rlimit: int, tiers: Sequence[str] = (), confirm: Confirm | None = None,
    by_events: bool = True, ends: Mapping[str, int] | None = None,
) -> Sameness:  # fmt: skip
    """Whether two programs leave the same in memory, of `tiers` alone where some are named, and of these what lies
    before their `ends`, in bytes. Raises InputError, Disagreement.
    """
    sides = (one, other)
    _known(one, other, tiers)
    conditions: list[str] = []
    for word, side in zip(WORDS, sides, strict=True):
        open_ = order_matters(side, rlimit, conditions)
        if open_:
            return Sameness("unknown", f"what the {word} leaves is not known: {open_}")
    made = [s.accesses for side in sides for s in side.program.steps if any(a.engine == "commit" for a in s.accesses)]
    conditions += [SAME_WORK] if made else []
    contexts = {lane for side in sides for s, w in zip(side.program.steps, side.works, strict=True)
                if s.accesses for lane in w.lanes}  # fmt: skip
    conditions += [APART] if made and len(contexts) > 1 else []

    def left() -> Sameness:
        try:
            return by_contents(one, other, tiers, conditions, confirm, ends)
        except NoCopies as why:
            return Sameness("unknown", str(why))

    issued = _issued(sides) if by_events else None
    found = left() if issued is None else same(issued[0], issued[1], left)
    if found.status == "proved" and not found.by:
        why = "both make the same copies and accesses in one order, in all iterations"
        found = replace(found, why=why, by=ONE_BY_ONE, conditions=tuple(dict.fromkeys(conditions)))
    return replace(found, notes=(*found.notes, *_stated(one, other))) if found.by else found


def _issued(sides: tuple[TakenApart, TakenApart]) -> list[Issued] | None:
    """Both as events of one world; None where some of them have no such form."""
    bits, world, works = min(side.unit_bits for side in sides), World(), dict[object, str]()
    try:
        return [Issued(copy_events(side, bits, world, works), world, settled=True) for side in sides]
    except NoCopies:
        return None


def _stated(one: TakenApart, other: TakenApart) -> list[str]:
    """What the plans state of lists, which the answer rests on."""
    moves = [step.indirect for side in (one, other) for step in side.program.steps]
    names = dict.fromkeys(m.name for m in moves if m is not None and m.index.known)
    return [f"the index of `{name}` holds what the plan states" for name in names]


def _known(one: TakenApart, other: TakenApart, tiers: Sequence[str]) -> None:
    for tier in tiers:
        if tier not in one.target.tiers and tier not in other.target.tiers:
            known = ", ".join(one.target.tiers)
            raise InputError(f"{one.target.name} has no such tier: {tier}", None, f"it has {known}")


def order_matters(side: TakenApart, rlimit: int, conditions: list[str]) -> str:
    """Why another order of a program, which it allows, may leave something else; empty where none does."""
    program, target = side.program, side.target
    found = hazards(program, side.works, side.order, rlimit, launched=target.engines.launched)
    names = [step.name for step in program.steps]
    for hazard in found.found:
        return f"{hazard.kind} of `{names[hazard.first.step]}` and `{names[hazard.second.step]}`"
    for kind, first, second in found.unknown:
        return f"{kind} of `{names[first.step]}` and `{names[second.step]}` could not be decided"
    if found.why:
        return found.why
    for step in program.steps:
        if step.transfer is not None and kept_memory(target, step.transfer):
            return f"`{step.name}` is told by descriptors that are marked in memory when it is done"
        if step.indirect is not None and step.indirect.scatter and step.indirect.index.may_repeat:
            return f"`{step.name}` may put two rows at one place, and no source defines which of them stays"
    conditions += order_rests_on(program, side.works, found, rlimit, target)
    for told in shared_lists(program.steps, side.works, side.order, target):
        if not isinstance(told, str):
            return told.message
        conditions.append(told)
    return ""
