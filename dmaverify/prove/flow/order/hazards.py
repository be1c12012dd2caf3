"""Hazards: bytes that two steps touch, one of them writing, while nothing orders the two.

Knows: accesses that meet without order, the iterations in which they do, the smallest witness.
Does not know: how order and meetings are followed (`pipes`, as for kernels), machines, how a finding is shown.
Law: what no pipe knew of is a hazard where it meets, and open where nobody could decide that, or where one of the two
only may touch what meets: that is no pass, and no witness. Of two steps and a kind of hazard the first touches that
meet are told.

Source: docs/design.md; docs/machines/rngd.md 7.4 (read after write, write after read, write after write).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import product
from typing import Any

from dmaverify.language.affine import World
from dmaverify.program.schedule import Order, Program
from dmaverify.program.turns import iterations
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.step_events import StepEvents
from dmaverify.prove.flow.accesses.touches import StepWork, Touch, flat_weights
from dmaverify.prove.flow.order.pipe_state import OLD, Encounter
from dmaverify.prove.flow.order.pipes import PipeJudge
from dmaverify.prove.meet import Meeting, Turned, found_meeting
from dmaverify.values import dataclass, field

RAW = "core/hazard-raw"
KINDS = {(True, False): "core/hazard-raw", (False, True): "core/hazard-war", (True, True): "core/hazard-waw"}
BACK = {"raw": "war", "war": "raw", "waw": "waw"}
MOST_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Hazard:
    """`first` stands above `second`, or is of an earlier iteration. `meeting` None: they meet, but nobody could find
    where.
    """

    kind: str
    first: Touch
    second: Touch
    meeting: Meeting | None
    unit_bits: int


@dataclass
class Hazards:
    """The answer: what was found, what nobody could decide, why the order could not be followed to its end."""

    found: list[Hazard] = field(default_factory=list)
    unknown: list[tuple[str, Touch, Touch]] = field(default_factory=list)
    why: str = ""
    by: str = "no two steps that may run at once touch one memory"
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    steady: frozenset[int] = frozenset()  # see `hazards`

    def status(self, kind: str) -> str:
        if any(hazard.kind == kind for hazard in self.found):
            return "refuted"
        return "unknown" if self.why or any(one == kind for one, _, _ in self.unknown) else "proved"

    @property
    def pairs(self) -> set[tuple[int, int]]:
        """The steps that meet, or may meet."""
        found = {(hazard.first.step, hazard.second.step) for hazard in self.found}
        return found | {(first.step, second.step) for _, first, second in self.unknown}


@dataclass
class StepJudge(PipeJudge):
    """Follows the pipes of a plan; puts down which touches of its steps meet, in the order in which they are issued."""

    most_asked: int = 1 << 30
    unsure: Container[tuple[int, int]] = ()  # touches, by the number of their access, that only may be made
    met: dict[Any, Encounter] = field(default_factory=dict)
    open_: dict[Any, Encounter] = field(default_factory=dict)

    def _told(self, both: Encounter) -> bool:
        return self._key(both) in self.met

    def _tell(self, both: Encounter, met: bool | str | None) -> None:
        if met is not False:
            sure = met and not any(side in self.unsure for side in both.sides)
            (self.met if sure else self.open_).setdefault(self._key(both), both)

    def _key(self, both: Encounter) -> object:
        """What is told once."""
        return both.kind, *both.steps


def hazards(
    program: Program, works: Sequence[StepWork], order: Order, rlimit: int, *, launched: bool = False,
    steady: frozenset[int] = frozenset(),
) -> Hazards:  # fmt: skip
    """All hazards between the steps, one for each pair of steps and kind.

    Accesses of one step (an operation) run together; they are compared too. Where work is `launched`, an engine begins
    it in order and a read does not see what is written before it until somebody waits for that. Of `steady` steps no
    iteration reads what an earlier one changed (core/overlap): what it wrote back is the same, seen or not.
    """
    world = World()
    told = StepEvents(program, works, order, world, launched)
    events = told.events()
    if events is None:
        return Hazards(why="loops wait for each other, so that their order could not be followed", by="")
    unsure = {(n, i) for n, made in told.made.items() for i, (touch, _) in enumerate(made) if not touch.sure}
    judge = StepJudge(Asker(world, rlimit), list(told.ordered), coarse=True, most_steps=MOST_STEPS, unsure=unsure)
    judge.judge(events)
    unit = min((touch.unit_bits for work in works for touch in work.touches), default=8)
    out = Hazards(why=judge.why, steady=steady)
    if judge.near:
        asked = len(judge.asker.session.asked)
        out.by = f"every order and iteration of {len(judge.near):,} accesses, {asked:,} questions to the solver"
    hits = sorted(judge.met.values(), key=lambda hit: sorted(hit.sides))
    found = [_hazard(hit, told, world, judge.asker, unit) for hit in hits]
    out.found = [one for one in found if not (one.kind == RAW and _of_one_move(one.first, one.second, steady))]
    for key in judge.open_.keys() - judge.met.keys():
        one, two = (told.made[number][index][0] for number, index in judge.open_[key].sides)
        if key[0] != "raw" or not _of_one_move(one, two, steady):
            out.unknown.append((f"core/hazard-{key[0]}", one, two))
    out.asked = judge.asker.session.asked
    return out


def _of_one_move(one: Touch, other: Touch, steady: Container[int]) -> bool:
    """Whether both are of one of these steps, in two of its iterations."""
    return one.step == other.step and one.step in steady


def unordered(
    program: Program, works: Sequence[StepWork], order: Order, *, launched: bool = False
) -> list[tuple[Touch, Touch]] | None:
    """Touches of one memory, one of them writing, that nothing orders in some iteration, whatever bytes they touch and
    however often loops run; None where the order could not be followed.
    """
    told = StepEvents(program, works, order, World(), launched, blunt=True)
    judge = _TouchJudge(Asker(told.world, 1), most_steps=MOST_STEPS)
    events = told.events()
    judge.ordered = list(told.ordered)
    judge.judge(events or ())
    if events is None or judge.why or judge.open_:
        return None
    pairs = sorted(hit.sides for hit in judge.met.values())
    found = (product(_alike(told, first), _alike(told, second)) for first, second in pairs)
    return list({(id(a), id(b)): (a, b) for both in found for a, b in both}.values())


def _alike(told: StepEvents, side: tuple[int, int]) -> list[Touch]:
    """The touches of one access that blunt events do not tell from one another, as they touch one byte."""
    number, index = side
    own = told.made[number][index][0]
    return [t for t, _ in told.made[number] if (t.memory, t.writes) == (own.memory, own.writes)]


class _TouchJudge(StepJudge):
    """Puts down every two touches, not the first of two steps."""

    def _key(self, both: Encounter) -> object:
        return both.sides


def _hazard(hit: Encounter, told: StepEvents, world: World, asker: Asker, unit: int) -> Hazard:
    """With the counters that are the smallest; of one iteration, the step that stands above is the first."""
    sides = [told.made[number][index] for number, index in hit.sides]
    (first, walk), (second, other) = sides
    met = found_meeting(walk, other, asker.session, tuple(_turned(hit, (first, second), world)))
    around = any(kind == "now" and age for _, kind, age in hit.instance[1])
    if first.step > second.step and not around:
        met = None if met is None else Meeting(met.second, met.first, met.address)
        return Hazard(f"core/hazard-{BACK[hit.kind]}", second, first, met, unit)
    return Hazard(f"core/hazard-{hit.kind}", first, second, met, unit)


def _turned(hit: Encounter, touches: tuple[Touch, Touch], world: World) -> Iterator[Turned]:
    """In which iterations the two met: of one loop, how far they are apart; of others, which ones."""
    weights = [flat_weights(touch.turns) for touch in touches]
    for _, kind, age in hit.instance[1]:
        most = None if age >= OLD else age
        if kind == "now":
            yield Turned(tuple(-w for w in weights[0]), weights[1], age, most)
        else:
            total = iterations(touches[0].turns)
            yield Turned(weights[0], (), 0 if most is None else total - age, total - age)
    shared = {name for name, kind, _ in hit.instance[1] if kind == "now"}
    for loop in hit.at.loops:
        if loop.counter not in shared:
            low, high = world.interval(hit.at.counters[loop.counter])
            yield Turned((), weights[1], low or 0, high)
