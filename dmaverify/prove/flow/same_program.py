"""Whether two programs leave the same in memory, in every order that they allow (core/same-program).

Knows: programs of which no order matters, what each leaves piece by piece, steps that do the same by themselves.
Does not know: how plans are written, how one program's pieces are followed (`contents`).
Law: `proved` is said of two programs whose own steps nothing lets meet, where every piece that either writes holds the
same in the end, whatever lay in memory at the beginning; or whose steps do the same one by one. `refuted` needs a place
that holds two pieces of the beginning, or one and zero. What may be anything, and what accesses made of other data, is
no difference and no sameness; neither is a difference that no run of both texts showed, and that cannot be traced back
unit by unit (`traced`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError
from dmaverify.language.distinct import distinct
from dmaverify.program.schedule import Circle, Program, order_of, torn_body
from dmaverify.prove.flow.alone_copies import NoCopies
from dmaverify.prove.flow.contents import (
    ANYTHING,
    MADE,
    ZERO,
    Filled,
    Numbering,
    TakenApart,
    common_piece,
    kinds_of,
    left_behind,
    with_copies,
    written,
)
from dmaverify.prove.flow.hazards import hazards
from dmaverify.prove.flow.hazards_told import order_rests_on
from dmaverify.prove.flow.index_lists import shared_lists
from dmaverify.prove.flow.step_events import blocks_in_order
from dmaverify.prove.flow.touches import Memory, place_in, work_of
from dmaverify.prove.flow.traced import traced
from dmaverify.prove.move.equal_plans import equivalent_plans
from dmaverify.prove.move.preconditions import require
from dmaverify.prove.sameness import WORDS, Sameness
from dmaverify.targets.modules import kept_memory, what_decides
from dmaverify.targets.target import Target
from dmaverify.values import replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

SAME_WORK = "the accesses of a step make the same of what their context was given before, in this order"
NOTHING_OF_PADDING = "accesses make nothing of what padding holds"
APART = "what contexts hand on to each other lies in memory"


def side_of(program: Program, axes: Mapping[str, int], target: Target) -> TakenApart:
    """A program with its steps taken apart. Raises InputError for one that does not run."""
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
    order = order_of(program, [work.lanes for work in works])
    if isinstance(order, Circle) or torn_body(program, order) is not None:
        raise InputError(f"steps of `{program.name}` wait for each other", program.span, "`check` says which")
    return TakenApart(program, works, order, target)


Confirm = Callable[[int, Numbering, Mapping[Memory, Filled]], bool]
"""Whether a run of a program (the first is 0) left the same behind; False where there was none. Raises Disagreement."""


def equivalent_programs(
    one: TakenApart, other: TakenApart, *, rlimit: int, tiers: Sequence[str] = (), confirm: Confirm | None = None,
    by_steps: bool = True,
) -> Sameness:  # fmt: skip
    """Whether two programs leave the same in memory, of `tiers` alone where some are named; `by_steps`: also where each
    step does the same by itself, however large. Raises InputError, Disagreement.
    """
    _known(one, other, tiers)
    conditions: list[str] = []
    for word, side in zip(WORDS, (one, other), strict=True):
        open_ = order_matters(side, rlimit, conditions)
        if open_:
            return _answer("unknown", f"what the {word} leaves is not known: {open_}")
    made = [
        s.accesses for side in (one, other) for s in side.program.steps if any(a.engine == "commit" for a in s.accesses)
    ]
    conditions += [SAME_WORK] if made else []
    contexts = {lane for side in (one, other) for s, w in zip(side.program.steps, side.works, strict=True)
                if s.accesses for lane in w.lanes}  # fmt: skip
    conditions += [APART] if made and len(contexts) > 1 else []
    same = _step_by_step(one, other, rlimit) if by_steps else ""
    if same:
        return replace(_answer("proved", same, conditions), by="each step against its own, in one order")
    try:
        answer = _by_contents(one, other, tiers, conditions, confirm)
        return replace(answer, notes=(*answer.notes, *_stated(one, other)))
    except NoCopies as why:
        return _answer("unknown", str(why))


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


def _answer(status: str, why: str, conditions: Sequence[str] = ()) -> Sameness:
    return Sameness(status, why, None, "", "programs", conditions=tuple(dict.fromkeys(conditions)))


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


# ---------------------------------------------------------------- step by step


def _step_by_step(one: TakenApart, other: TakenApart, rlimit: int) -> str:
    """That each step of one does what the step of the other at its place does, in words; empty where it is not so."""
    blocks = [blocks_in_order(side.order) for side in (one, other)]
    if None in blocks or [len(b) for b in blocks[0] or ()] != [len(b) for b in blocks[1] or ()]:
        return ""
    pairs = list(zip(*([i for block in found or () for i in block] for found in blocks), strict=True))
    return f"their {len(pairs)} steps do the same, in one order" if all(
        _alike((one, i), (other, j), rlimit) for i, j in pairs
    ) else ""  # fmt: skip


def _alike(first: tuple[TakenApart, int], second: tuple[TakenApart, int], rlimit: int) -> bool:
    (one, i), (other, j) = first, second
    a, b = one.program.steps[i], other.program.steps[j]
    if a.loops != b.loops or bool(a.accesses) != bool(b.accesses):
        return False
    if a.accesses:
        touched = [[(t.writes, t.memory, t.walk, t.unit_bits, len(t.turns)) for t in side.works[n].touches]
                   for side, n in (first, second)]  # fmt: skip
        return touched[0] == touched[1] and kinds_of(a) == kinds_of(b) and one.works[i].lanes == other.works[j].lanes
    if a.transfer is None or b.transfer is None or a.indirect is not None or b.indirect is not None:
        return False
    if one.works[i].whole or other.works[j].whole:
        return False
    plans = [(s.transfer, side.works[n].commands, side.target) for s, side, n in ((a, one, i), (b, other, j))]
    return equivalent_plans(plans[0], plans[1], rlimit=rlimit).status == "proved"  # type: ignore[arg-type]


# ---------------------------------------------------------------- piece by piece


def _ways(side: TakenApart) -> set[str]:
    """What decides bytes besides which units are copied."""
    steps = zip(side.program.steps, side.works, strict=True)
    ways = [what_decides(side.target, s.transfer, w.commands) for s, w in steps if s.transfer is not None]
    return {repr(sorted(way.items(), key=lambda item: item[0])) for way in ways}


def _by_contents(
    one: TakenApart, other: TakenApart, tiers: Sequence[str], conditions: list[str], confirm: Confirm | None
) -> Sameness:
    import numpy as np

    if len(_ways(one) | _ways(other)) > 1:
        raise NoCopies("what decides the bytes that steps move, besides their commands, differs between them")
    bits = min(one.unit_bits, other.unit_bits)
    sides = [with_copies(side, bits) for side in (one, other)]
    piece = np.gcd.reduce([common_piece(side, bits) for side in sides])
    world = Numbering(bits, int(piece) or 1)
    places: dict[Memory, list[Numbers]] = {}
    for side in sides:
        for memory, found in written(side, world).items():
            places.setdefault(memory, []).extend(found)
    every = {memory: distinct(np.concatenate(found)) for memory, found in places.items()}
    held = [left_behind(side, world, every) for side in sides]
    ran = (
        [confirm(number, world, found) for number, found in enumerate(held)] if confirm is not None else [False, False]
    )
    compared = _Compared(sides, world, held, tiers)
    answer = compared.answer(conditions)
    if all(ran) and answer.by:
        return replace(answer, by=f"{answer.by}, and a run of both texts")
    if answer.status != "refuted":
        return answer
    if not compared.confirmed(ran):
        return replace(answer, status="unknown", why=f"{answer.why}; no run and no trace confirms it", by="")
    how = (
        "that one traced back through both"
        if not any(ran)
        else "that one traced back through one, and a run of the other"
    )
    return replace(answer, by=f"{answer.by}; {how}")


class _Compared:
    """What both leave in the places that either writes."""

    def __init__(
        self,
        sides: Sequence[TakenApart],
        world: Numbering,
        held: Sequence[Mapping[Memory, Filled]],
        tiers: Sequence[str],
    ) -> None:
        self.sides, self.world, self.held = sides, world, held
        named = {one.target.memory_of(tier) for one in sides for tier in tiers if tier in one.target.tiers}
        self.memories = [m for m in sorted(held[0]) if not tiers or m[0] in named]
        self.first: tuple[Memory, int] | None = None

    def answer(self, conditions: Sequence[str]) -> Sameness:
        import numpy as np

        count, first, open_ = 0, None, None
        differ = set()
        for memory in self.memories:
            one, other = (side[memory] for side in self.held)
            count += len(one.places)
            odd = (one.origin != other.origin) | (one.at != other.at)
            odd |= (one.origin == ANYTHING) & (one.at != one.places)  # brought from padding
            loose = np.minimum(one.origin, other.origin) <= ANYTHING
            for at in np.flatnonzero(odd & ~loose)[:1].tolist():
                first = first or (memory, at)
            for at in np.flatnonzero(odd & loose)[:1].tolist():
                open_ = open_ or (memory, at)
            differ |= {memory[0]} if odd.any() else set()
        size = self.world.piece * self.world.unit_bits
        by = f"comparison of all {count:,} pieces of {size // 8 if size % 8 == 0 else size / 8:,} B that either writes"
        alike = sorted({memory[0] for memory in self.memories} - differ)
        if first is not None:
            self.first = first
            told, witness = self._told(*first)
            notes = (f"what is left in {' and '.join(alike)} is the same (`--tier {alike[0]}`)",) if alike else ()
            return Sameness("refuted", told, witness, by, "programs", notes)
        if open_ is not None:
            told, witness = self._told(*open_)
            return Sameness("unknown", told, witness, "", "programs")
        bytes_ = count * size // 8
        why = f"both leave the same in {', '.join(alike) or 'memory'} ({bytes_:,} bytes that either writes)"
        rests = [*conditions, *([NOTHING_OF_PADDING] if self.world.padding_read else [])]
        return replace(_answer("proved", why, rests), by=by)

    def confirmed(self, ran: Sequence[bool]) -> bool:
        """Whether the first difference, traced back through the commands of each that no run showed, is what was
        found.
        """
        assert self.first is not None
        memory, index = self.first
        for side, held in ((self.sides[n], self.held[n][memory]) for n, done in enumerate(ran) if not done):
            place, origin, at = (
                int(column[index]) * self.world.piece for column in (held.places, held.origin, held.at)
            )
            blocks = blocks_in_order(side.order)
            if origin < 0 or blocks is None:
                return False
            touched = [[t.memory for t in work.touches if t.writes] for work in side.works]
            turns = [prod(count for _, count in step.loops) for step in side.program.steps]
            try:
                found = traced(side.copies, touched, turns, blocks, side.target, (memory, place))
            except NoCopies:
                return False
            if found != (self.world.name(int(held.origin[index])), at):
                return False
        return True

    def _told(self, memory: Memory, index: int) -> tuple[str, dict[str, Any]]:
        where = self._place(memory, int(self.held[0][memory].places[index]))
        held = [self._held(number, side[memory], index) for number, side in enumerate(self.held)]
        witness: dict[str, Any] = {"memory": memory[0], "place": where}
        witness |= dict(zip(WORDS, held, strict=True))
        return f"at {where} the first leaves {held[0]}, the second {held[1]}", witness

    def _place(self, memory: Memory, piece: int) -> str:
        machine = next(side.target for side in self.sides if memory[0] in side.target.tiers)  # perhaps of one alone
        return place_in(memory, piece * self.world.piece, self.world.unit_bits, machine)

    def _held(self, number: int, held: Filled, index: int) -> str:
        origin, at, by = (int(column[index]) for column in (held.origin, held.at, held.by))
        if by < 0:
            return "what lay there"
        name = f"`{self.sides[number].program.steps[by].name}`"
        if origin == ZERO:
            return f"zero (by {name})"
        if origin == ANYTHING:
            return f"anything (by {name}, which nothing says how to do)"
        if origin <= MADE:
            return f"what an access made, or rows of unknown numbers (by {name})"
        return f"what lay at {self._place(self.world.name(origin), at)} (by {name})"
