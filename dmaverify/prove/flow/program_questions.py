"""Hazards of a program from definitions: two accesses that nothing orders touch no byte in common, others are in order.

Knows: which accesses are not ordered, the loops and strides of each; what engines, `after` and the written order say.
Does not know: how order is followed, how scripts are asked.
Law: of two accesses that nothing orders, one of them writing, every counter of one and every counter of the other is
asked at once; of two in one loop, every two iterations that are nearer than the order of its body reaches. Of all
others that touch one memory it is asked, from when the pieces of work begin and end, that one ends before the other
begins. How far order reaches in a loop is asked of a few iterations in a row: a piece ends before it begins again, so
it holds of all that are further apart. The longest run of each access on each bank is asked before (`starvation`);
here it is asked that at no time those which run while DMA does are together above the limit, in whichever slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.language.affine import Lin
from dmaverify.program.schedule import Order, Program
from dmaverify.prove.flow.accesses.program_times import TimedWork, Times
from dmaverify.prove.flow.accesses.touches import StepWork, Touch, flat_weights
from dmaverify.prove.flow.coverage.tile_questions import TILES, tile_scripts
from dmaverify.prove.flow.order.hazards import KINDS, unordered
from dmaverify.prove.flow.order.pipe_state import HAZARDS
from dmaverify.prove.flow.order.region_questions import region_scripts
from dmaverify.prove.flow.order.regions import REGIONS
from dmaverify.prove.flow.starvation.concurrency import Starvation
from dmaverify.prove.flow.starvation.starvation import lookup
from dmaverify.prove.move.full import NOT_ASKED, ask, definitions
from dmaverify.prove.move.questions import address_by_steps
from dmaverify.prove.move.script import Script, ScriptWriter, disjunction, text_of
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, replace

MOST_PAIRS = 400
MOST_ITERATIONS = 8  # of a loop, in a row, of which the order is asked


def ask_program(
    program: Program, works: Sequence[StepWork], order: Order, proved: Sequence[str], rlimit: int,
    asked: list[tuple[str, str, str]], *, target: Target, starved: Starvation | None = None,
) -> tuple[set[str], list[str]]:  # fmt: skip
    """What was asked whole and answered as proved; what was not asked, in words. Raises Disagreement."""
    times = Times(program, works, order, launched=target.engines.launched)
    asking = _Asking(program, works, times, target, proved)
    asking.tiles()
    asking.order_and_hazards(unordered(program, works, order, launched=times.launched))
    if starved is not None and starved.limit is not None and starved.bounds:
        asking.beside_dma(starved, starved.limit.rule)
    asking.regions()
    left = [f"{name} of the steps together{_why(name)}" for name in proved if name not in asking.known] + asking.left
    open_ = ask(asking.scripts, rlimit, asked, left)
    whole = {name for script in asking.scripts for name in script.obligations} & set(proved) - open_ - asking.missing
    return whole, [NOT_ASKED + what for what in dict.fromkeys(left)]


@dataclass
class _Asking:
    """The scripts of a program; `known` are the claims that have some, `missing` those that are not asked whole, and
    `left` says what has none.
    """

    program: Program
    works: Sequence[StepWork]
    times: Times
    target: Target
    proved: Sequence[str]
    scripts: list[Script] = field(default_factory=list)
    known: set[str] = field(default_factory=lambda: {*HAZARDS, "core/steps"})
    missing: set[str] = field(default_factory=set)
    left: list[str] = field(default_factory=list)
    by_times: bool = False  # from when each piece of work begins and ends

    def tiles(self) -> None:
        """What the steps write together."""
        if TILES[0] not in self.proved:
            return
        tiles = list(tile_scripts(self.program, self.works, self.target, self.times))
        self.scripts += [one for one in tiles if isinstance(one, Script)]
        said = [one for one in tiles if isinstance(one, str)]
        self.left += said
        if said:
            self.missing |= set(TILES)
        elif tiles:
            self.known |= set(TILES)

    def order_and_hazards(self, pairs: Sequence[tuple[Touch, Touch]] | None) -> None:
        """Of `pairs` that nothing orders (None: not followed) that they touch no byte in common, of all others that one
        ends before the other begins.
        """
        works, times = self.works, self.times
        for a, b in pairs or ():
            if a.lane == b.lane and works[a.step].swaps:  # the scripts have the order of its queue as a fact
                self.missing |= set(HAZARDS[2:] if a.writes and b.writes else HAZARDS[:2])
        self.by_times = pairs is not None and times.reach <= MOST_ITERATIONS
        if pairs is not None and self.by_times:  # of any lengths, also of none; at these, more is in order
            pairs = [(a, b) for a, b in pairs if not times.ordered(times.of_touch(a), times.of_touch(b))]
        if not self.by_times:
            self.left.append("that engines and `after` order the steps: too many iterations or accesses")
        if pairs is None or len(pairs) > MOST_PAIRS:
            self.by_times = False
            self.missing |= set(HAZARDS)
            self.left.append("hazards: too many accesses, or an order of loops")
            return
        names = [step.name for step in self.program.steps]
        for a, b in pairs:
            if self.by_times or not (a.turns or b.turns):
                self.scripts.append(_apart(names, a, b, times))
            else:
                self.missing.add(KINDS[a.writes, b.writes])
                self.left.append(f"hazards of `{names[a.step]}` and `{names[b.step]}` in loops")
        if self.by_times:
            self.scripts.append(_in_order(works, times, [(id(a), id(b)) for a, b in pairs]))

    def beside_dma(self, starved: Starvation, rule: str) -> None:
        """What runs on a bank while DMA does."""
        self.known.add(rule)
        self.scripts.append(_beside_dma(starved, self.times if self.by_times and not self.times.launched else None))

    def regions(self) -> None:
        """What lives in regions, where there are not too many."""
        times, few = self.times, len(self.program.regions) * len(self.works) <= MOST_PAIRS
        if not times.launched and times.reach <= MOST_ITERATIONS and few:
            self.known |= set(REGIONS)
            if self.program.regions:
                self.scripts += region_scripts(self.program, self.works, times, self.target)


def _why(name: str) -> str:
    """Why a claim of the steps together has no question."""
    return ": by arithmetic on boxes" if name not in TILES else ""


def _apart(names: Sequence[str], one: Touch, other: Touch, times: Times) -> Script:
    """No address of one is an address of the other, in iterations that nothing orders; both in the smaller unit."""
    writer = ScriptWriter(f"{names[one.step]} {one.what} and {names[other.step]} {other.what}", definitions())
    unit = min(one.unit_bits, other.unit_bits)
    ends, turns = [], []
    for side, touch in (("first", one), ("second", other)):
        walk = touch.walk.scaled(touch.unit_bits // unit)
        counters = [writer.counter(f"{side}.c{i}", count) for i, (count, _) in enumerate(walk.loops)]
        strides = [stride for _, stride in walk.loops]
        ends.append(address_by_steps(writer, f"{side}.address", walk.base, counters, strides))
        weights = flat_weights(touch.turns)
        turns.append(sum((c * w for c, w in zip(counters, weights, strict=False)), Lin(0)))
    kind = KINDS[one.writes, other.writes]
    free = " ".join(_free(times, one, other, turns))
    writer.possible("a counter of each", "core/not-vacuous", "true")
    claim = f"(= {text_of(ends[0])} {text_of(ends[1])})"
    writer.claim("one byte", kind, f"(and {claim} {free})" if free else claim)
    script = writer.script()
    if not free:
        return script
    return replace(script, steps=tuple(replace(step, stronger=True) for step in script.steps))


def _free(times: Times, one: Touch, other: Touch, turns: Sequence[Lin]) -> Iterator[str]:
    """Of two pieces of one body: neither iteration is as far behind the other as order reaches."""
    p, q = times.of_touch(one), times.of_touch(other)
    if times.order.one_body(p.piece, q.piece):
        for a, b, behind in ((p, q, turns[1] - turns[0]), (q, p, turns[0] - turns[1])):
            gap = times.gap(a, b)
            if gap is not None:
                yield f"(< {text_of(behind)} {gap})"


def _beside_dma(starved: Starvation, times: Times | None) -> Script:
    """At no time a bank has more accesses in a row than is allowed, by all that may run while a step of DMA does, in
    whichever slices. Without `times` all run at once.
    """
    assert starved.limit is not None
    writer = ScriptWriter("accesses beside DMA", definitions())
    if times is not None:
        times.declare(writer)
        writer.lines.append("(declare-const now Int)")
    bank = text_of(writer.counter("bank", len(starved.bounds[0][1])))
    writer.possible("a bank", "core/not-vacuous", "true")
    runs = [(f"run{i}", own, _running(times, step)) for i, (step, own) in enumerate(starved.bounds)]
    for name, own, runs_now in runs:
        writer.lines.append(f"(define-fun {name} () Int (ite {runs_now} {lookup(own, bank)} 0))")
    dma = disjunction([_running(times, step) for step in starved.beside])
    total = f"(+ {starved.limit.dma} {' '.join(name for name, _, _ in runs)})"
    writer.claim("together", starved.limit.rule, f"(and {dma} (< {starved.limit.allowed} {total}))")
    script = writer.script()
    return replace(script, steps=tuple(replace(step, stronger=True) for step in script.steps))


def _running(times: Times | None, step: int) -> str:
    """Whether a step runs `now`, in any of its iterations."""
    return disjunction([f"(and (<= begin{at} now) (< now end{at}))" for at in times.of_step(step)]) if times else "true"


def _in_order(works: Sequence[StepWork], times: Times, apart: Sequence[tuple[int, int]]) -> Script:
    """Of two touches of one memory in two steps, one ends before the other begins, but for those `apart`; and how far
    behind each other the iterations of one loop are at most that nothing orders.
    """
    program, order = times.program, times.order
    writer = ScriptWriter("the order of the steps", definitions())
    times.declare(writer)
    writer.possible("an order of the steps", "core/not-vacuous", "true")
    unordered_ = {*apart, *((b, a) for a, b in apart)}
    touches = [(times.of_touch(t), t) for work in works for t in work.touches]
    told: set[tuple[TimedWork, TimedWork, str]] = set()
    for number, (p, one) in enumerate(touches):
        for q, other in touches[number + 1 :]:
            kind = KINDS.get((one.writes, other.writes), "")
            known = (id(one), id(other)) in unordered_
            new = (one.step != other.step or known) and one.memory == other.memory and kind
            if not new or (p, q, kind) in told or (known and not order.one_body(p.piece, q.piece)):
                continue
            told.add((p, q, kind))
            named = f"{program.steps[one.step].name} and {program.steps[other.step].name}"
            if order.one_body(p.piece, q.piece):
                gaps = times.gap(p, q), times.gap(q, p)
                for (a, b), gap in zip(((p, q), (q, p)), gaps, strict=True):
                    if gap is not None:
                        said = f"{named}, {gap} iterations later" if gap else named
                        writer.claim(said, kind, f"(not (<= end{times.at(a)} begin{times.at(b, gap)}))")
                if not known:  # then no two iterations are left
                    reach = "false" if None in gaps else f"(<= (+ {gaps[0]} {gaps[1]}) 1)"
                    writer.claim(f"{named}, any two iterations", kind, f"(not {reach})")
            else:
                first = " ".join(f"(<= end{last} begin{next_})" for last, next_ in times.either_first(p, q))
                writer.claim(named, kind, f"(not (or {first}))")
    return writer.script()
