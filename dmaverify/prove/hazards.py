"""Hazards: bytes that two steps touch, one of them writing, while nothing orders the two.

Knows: walks, order, how pairs are found and decided, the smallest witness.
Does not know: how steps become walks, machines, how a finding is shown.
Law: a pair is left out only where it is ordered, only reads, or is proved apart (another memory, bounding boxes that do
not meet, residues, or the solver's `unsat`). What the solver cannot decide is decided by exhausting a bounded search,
or is unknown, which is no pass.

Source: DESIGN section 7; facts/rngd 7.4 (read after write, write after read, write after write).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dmaverify.prove.meet import (
    Equation,
    Meeting,
    TooDeep,
    Walk,
    apart,
    difference,
    found_meeting,
    question,
    solvable,
)
from dmaverify.prove.smt import Session
from dmaverify.prove.touches import Touch, in_one_unit
from dmaverify.transfer.schedule import Order

KINDS = {(True, False): "core/hazard-raw", (False, True): "core/hazard-war", (True, True): "core/hazard-waw"}


@dataclass(frozen=True, slots=True)
class Hazard:
    """`first` stands above `second` in the program. `meeting` None: they meet, but nobody could find where."""

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


def hazards(touches: Sequence[Touch], order: Order, session: Session) -> Hazards:
    """All hazards between the steps, one for each pair of steps and kind: that of the first commands.

    Two accesses of one step (an operation) run together; they are compared too.
    """
    result = Hazards()
    walks = in_one_unit(touches)
    unit = min((touch.unit_bits for touch in touches), default=8)
    pairs = sorted(_close_pairs(touches, walks))
    known: dict[Equation, str] = {}
    reported: set[tuple[int, int, str]] = set()
    index = {(piece.step, piece.lane): number for number, piece in enumerate(order.pieces)}
    for a, b in pairs:
        first, second = touches[a], touches[b]
        kind = KINDS[first.writes, second.writes]
        if (first.step, second.step, kind) in reported:
            continue
        if first.step != second.step and order.ordered(index[first.step, first.lane], index[second.step, second.lane]):
            result.count("ordered")
            continue
        answer = _decide(walks[a], walks[b], known, session, result)
        if answer == "unsat":
            continue
        reported.add((first.step, second.step, kind))
        if answer == "unknown":
            result.unknown.append((kind, first, second))
        else:
            result.found.append(Hazard(kind, first, second, found_meeting(walks[a], walks[b], session), unit))
    return result


def _close_pairs(touches: Sequence[Touch], walks: dict[int, Walk]) -> Iterator[tuple[int, int]]:
    """Pairs of two steps (or of one operation) in one memory whose bounding boxes meet and one of which writes."""
    by_memory: dict[object, list[int]] = {}
    for number, touch in enumerate(touches):
        by_memory.setdefault(touch.memory, []).append(number)
    for members in by_memory.values():
        members.sort(key=lambda i: walks[i].low)
        open_: list[int] = []
        for number in members:
            low = walks[number].low
            open_ = [other for other in open_ if walks[other].high >= low]
            for other in open_:
                a, b = min(other, number), max(other, number)
                one, two = touches[a], touches[b]
                if (one.writes or two.writes) and (one.step != two.step or _together(one, two)):
                    yield a, b
            open_.append(number)


def _together(one: Touch, two: Touch) -> bool:
    """Two accesses of one operation; the two sides of a command are `core/overlap`'s business."""
    return (
        one.what != two.what
        and not one.what.startswith("command")
        and not two.what.startswith("command")
        and ("whole tensor" not in one.what)
    )


def _decide(a: Walk, b: Walk, known: dict[Equation, str], session: Session, result: Hazards) -> str:
    eq = difference(a, b)
    if apart(eq):
        result.count("apart by arithmetic")
        return "unsat"
    if eq not in known:
        known[eq] = session.ask(question(eq), "hazard").status
        if known[eq] == "unknown":
            try:
                known[eq] = "sat" if solvable(eq) else "unsat"
            except TooDeep:
                result.count("undecided")
                return "unknown"
            result.count("by search")
            return known[eq]
    result.count("by the solver")
    return known[eq]
