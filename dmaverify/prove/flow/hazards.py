"""Hazards: bytes that two steps touch, one of them writing, while nothing orders the two.

Knows: walks, order, how pairs are found and decided, the smallest witness.
Does not know: how steps become walks, machines, how a finding is shown.
Law: a pair is left out only where it is ordered, only reads, or is proved apart (another memory, bounding boxes that do
not meet, residues, or the solver's `unsat`). What the solver cannot decide is decided by exhausting a bounded search,
or is unknown, which is no pass.

Source: docs/design.md; docs/machines/rngd.md 7.4 (read after write, write after read, write after write).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dmaverify.program.schedule import Order
from dmaverify.program.turns import iterations
from dmaverify.prove.flow.touches import Touch, flat_weights, in_one_unit
from dmaverify.prove.meet import (
    Equation,
    Meeting,
    SharedLoops,
    Walk,
    apart,
    decided,
    difference,
    found_meeting,
    meeting_question,
    meeting_when,
    question,
    together,
)
from dmaverify.prove.smt import Session

KINDS = {(True, False): "core/hazard-raw", (False, True): "core/hazard-war", (True, True): "core/hazard-waw"}


@dataclass(frozen=True, slots=True)
class Hazard:
    """`first` stands above `second`, or, in a loop, is of an earlier iteration. `meeting` None: they meet,
    but nobody could find where.
    """

    kind: str
    first: Touch
    second: Touch
    meeting: Meeting | None
    unit_bits: int


@dataclass
class Hazards:
    """The answer: what was found, what nobody could decide, and how many pairs were decided how."""

    found: list[Hazard] = field(default_factory=list)
    unknown: list[tuple[str, Touch, Touch]] = field(default_factory=list)
    decided: dict[str, int] = field(default_factory=dict)

    def count(self, how: str) -> None:
        self.decided[how] = self.decided.get(how, 0) + 1

    def status(self, kind: str) -> str:
        if any(hazard.kind == kind for hazard in self.found):
            return "refuted"
        return "unknown" if any(one == kind for one, _, _ in self.unknown) else "proved"

    @property
    def by(self) -> str:
        return ", ".join(f"{number:,} {how}" for how, number in self.decided.items()) or "no pair touches one memory"


def hazards(touches: Sequence[Touch], order: Order, session: Session, *, launched: bool = False) -> Hazards:
    """All hazards between the steps, one for each pair of steps and kind: that of the first commands.

    Two accesses of one step (an operation) run together; they are compared too. Steps of one loop body are compared in
    all pairs of iterations that nothing orders. Where work is `launched`, an engine begins it in order and a read does
    not see what is written before it until somebody waits for that.
    """
    result = Hazards()
    walks = in_one_unit(touches)
    unit = min((touch.unit_bits for touch in touches), default=8)
    decider = _Decider(session, result)
    reported: set[tuple[int, int, str]] = set()
    for a, b, whens in near_pairs(touches, walks, order, launched):
        first, second = touches[a], touches[b]
        if (first.step, second.step, KINDS[first.writes, second.writes]) in reported:
            continue
        if not whens:
            result.count("ordered")
        for when in whens:
            one, two = (b, a) if when is not None and when.high < 0 else (a, b)  # the earlier iteration first
            first, second = touches[one], touches[two]
            kind = KINDS[first.writes, second.writes]
            answer = decider.answer(walks[a], walks[b], when)
            if answer == "unsat" or (first.step, second.step, kind) in reported:
                continue
            reported.add((first.step, second.step, kind))
            if answer == "unknown":
                result.unknown.append((kind, first, second))
                continue
            met = (
                found_meeting(walks[a], walks[b], session)
                if when is None
                else meeting_when(walks[a], walks[b], when, session)
            )
            if met is not None and one == b:
                met = Meeting(met.second, met.first, met.address)
            result.found.append(Hazard(kind, first, second, met, unit))
    return result


def near_pairs(
    touches: Sequence[Touch], walks: dict[int, Walk], order: Order, launched: bool
) -> Iterator[tuple[int, int, Sequence[SharedLoops | None]]]:
    """Pairs of touches, one of which writes, whose bounding boxes meet, with the iterations in which nothing orders
    them.
    """
    index = {(piece.step, piece.lane): number for number, piece in enumerate(order.pieces)}
    for a, b in sorted(_close_pairs(touches, walks, launched)):
        yield a, b, _whens(touches[a], touches[b], order, index, launched)


def _whens(
    first: Touch, second: Touch, order: Order, index: Mapping[tuple[int, str], int], launched: bool
) -> Sequence[SharedLoops | None]:
    """The iterations in which nothing orders two touches, those of an earlier second one first; None: whatever their
    counters; nothing: all are ordered.
    """
    a, b = index[first.step, first.lane], index[second.step, second.lane]
    arrives = (launched and not second.writes, launched and not first.writes)
    if not order.one_body(a, b):
        return () if first.step != second.step and order.ordered(a, b, arrives=arrives) else (None,)
    if a == b and launched and first.writes != second.writes and order.later:
        return _when(first, second, _own_spans(first, order.landed_gap(a, a), iterations(first.turns) - 1))
    if a == b:
        return _when(first, second, ((0, 0),))  # accesses of one operation, in one iteration
    free = order.free(a, b, arrives=arrives)
    if free is None:
        return ()
    most = iterations(first.turns) - 1
    low, high = -most if free[0] is None else max(-most, free[0]), most if free[1] is None else min(most, free[1])
    return _when(first, second, [(low, min(high, -1)), (max(low, int(first.step == second.step)), high)])


def _own_spans(first: Touch, lands: int | None, most: int) -> tuple[tuple[int, int], ...]:
    """Iterations between a step's write and its own later read, as the second touch is ahead of the first."""
    ahead = most if lands is None else min(most, lands - 1)
    return ((1, ahead),) if first.writes else ((-ahead, -1),)


def _when(first: Touch, second: Touch, spans: Sequence[tuple[int, int]]) -> tuple[SharedLoops, ...]:
    sides = tuple(flat_weights(touch.turns) for touch in (first, second))
    alike = first.turns == second.turns
    return tuple(SharedLoops(sides[0], sides[1], low, high, alike) for low, high in spans if low <= high)


def _close_pairs(
    touches: Sequence[Touch], walks: dict[int, Walk], launched: bool
) -> Iterator[tuple[int, int]]:
    """Pairs of two steps (or of one operation, or of two engines of a loop) in one memory whose bounding boxes meet and
    one of which writes.
    """
    by_memory: dict[object, list[int]] = {}
    for number, touch in enumerate(touches):
        by_memory.setdefault(touch.memory, []).append(number)
    for members in by_memory.values():
        bounds = {number: (walks[number].low, walks[number].high) for number in members}
        members.sort(key=lambda i: bounds[i][0])
        open_: list[int] = []
        for number in members:
            low = bounds[number][0]
            open_ = [other for other in open_ if bounds[other][1] >= low]
            for other in open_:
                a, b = min(other, number), max(other, number)
                one, two = touches[a], touches[b]
                if (one.writes or two.writes) and (
                        one.step != two.step or _together(one, two) or (launched and bool(one.turns) and one is not two)
                    ):
                    yield a, b
            open_.append(number)


def _together(one: Touch, two: Touch) -> bool:
    """Two accesses of one operation, or two engines of a step that a loop repeats; the two sides of a command are
    `core/overlap`'s business.
    """
    if one.lane != two.lane:
        return bool(one.turns)
    return (
        one.what != two.what
        and not one.what.startswith("command")
        and not two.what.startswith("command")
        and ("whole tensor" not in one.what)
    )


class _Decider:
    """Answers for pairs of walks; equal equations are asked once."""

    def __init__(self, session: Session, result: Hazards) -> None:
        self.session, self.result = session, result
        self.known: dict[Equation, str] = {}

    def answer(self, a: Walk, b: Walk, when: SharedLoops | None) -> str:
        eq = difference(a, b)
        if apart(eq):
            return self._count("apart by arithmetic", "unsat")
        if when is None:
            return self._plain(eq)
        if when.same_iteration:
            return self._plain(together(a, b, len(when.first)))
        return self._count("by the solver", self.session.ask(meeting_question(a, b, when), "hazard").status)

    def _plain(self, eq: Equation) -> str:
        if apart(eq):
            return self._count("apart by arithmetic", "unsat")
        if eq not in self.known:
            self.known[eq] = self.session.ask(question(eq), "hazard").status
            if self.known[eq] == "unknown":
                self.known[eq] = decided(eq)
                return self._count("undecided" if self.known[eq] == "unknown" else "by search", self.known[eq])
        return self._count("by the solver", self.known[eq])

    def _count(self, how: str, answer: str) -> str:
        self.result.count(how)
        return answer
