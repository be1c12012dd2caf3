"""Hazards of a program from definitions: two accesses that nothing orders touch no byte in common, others are in order.

Knows: which accesses are not ordered, the loops and strides of each; what engines, `after` and the written order say.
Does not know: how order is followed, how scripts are asked.
Law: of two accesses that nothing orders, one of them writing, every counter of one and every counter of the other is
asked at once; of two in one loop, every two iterations that are nearer than the order of its body reaches. Of all
others that touch one memory it is asked, from when the pieces of work begin and end, that one ends before the other
begins. How far order reaches in a loop is asked of a few iterations in a row: a piece ends before it begins again, so
it holds of all that are further apart. The longest run of each access on each bank is asked before (`starvation`);
here it is asked that at no time those which run while DMA does are together above the limit, in whichever slices. The
order of what an engine launches has no question: it is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.language.affine import Lin
from dmaverify.program.schedule import Order, Program
from dmaverify.prove.flow.concurrency import Starvation
from dmaverify.prove.flow.hazards import HAZARDS, KINDS, unordered
from dmaverify.prove.flow.starvation import lookup
from dmaverify.prove.flow.tile_questions import TILES, tile_scripts
from dmaverify.prove.flow.touches import StepWork, Touch, flat_weights
from dmaverify.prove.move.full import NOT_ASKED, ask, definitions
from dmaverify.prove.move.questions import address_by_steps
from dmaverify.prove.move.script import Script, ScriptWriter, disjunction, text_of
from dmaverify.targets.target import Target
from dmaverify.values import replace

MOST_PAIRS = 400
MOST_ITERATIONS = 8  # of a loop, in a row, of which the order is asked


def ask_program(
    program: Program, works: Sequence[StepWork], order: Order, proved: Sequence[str], rlimit: int,
    asked: list[tuple[str, str, str]], *, target: Target, starved: Starvation | None = None,
) -> tuple[set[str], list[str]]:  # fmt: skip
    """What was asked whole and answered as proved; what was not asked, in words. Raises Disagreement."""
    launched = target.engines.launched
    pairs = unordered(program, works, order, launched=launched)
    tiles = list(tile_scripts(program, works, target)) if TILES[0] in proved else []
    missing = {name for name in TILES if any(isinstance(one, str) for one in tiles)}
    sums = starved.limit.rule if starved is not None and starved.limit is not None and starved.bounds else ""
    known = (*HAZARDS, "core/steps", *(TILES if tiles and not missing else ()), sums)
    left = [f"{name} of the steps together{_why(name)}" for name in proved if name not in known]
    left += [one for one in tiles if isinstance(one, str)]
    names = [step.name for step in program.steps]
    times = _Times(program, order)
    by_times = pairs is not None and not launched and times.reach <= MOST_ITERATIONS
    if not by_times:
        followed = "launches are followed one behind the other" if launched else "too many iterations or accesses"
        left.append(f"that engines and `after` order the steps: {followed}")
    if pairs is None or len(pairs) > MOST_PAIRS:
        pairs, by_times, missing = [], False, missing | set(HAZARDS)
        left.append("hazards: too many accesses, or an order of loops")
    asked_of = [(a, b) for a, b in pairs if by_times or not (a.turns or b.turns)]
    left += [f"hazards of `{names[a.step]}` and `{names[b.step]}` in loops" for a, b in pairs if (a, b) not in asked_of]
    scripts = [_apart(names, a, b, order) for a, b in asked_of]
    scripts += [one for one in tiles if isinstance(one, Script)]
    scripts += [_beside_dma(starved, times if by_times else None)] if starved is not None and sums else []
    if by_times:
        scripts.append(_in_order(works, times, [(id(a), id(b)) for a, b in pairs]))
    open_ = ask(scripts, rlimit, asked, left)
    missing |= {KINDS[a.writes, b.writes] for a, b in pairs if (a, b) not in asked_of}
    whole = {name for script in scripts for name in script.obligations} & set(proved) - open_ - missing
    return whole, [NOT_ASKED + what for what in dict.fromkeys(left)]


def _why(name: str) -> str:
    """Why a claim of the steps together has no question."""
    return ": by arithmetic on boxes" if name not in TILES else ""


def _apart(names: Sequence[str], one: Touch, other: Touch, order: Order) -> Script:
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
    free = " ".join(_free(order, one, other, turns))
    writer.possible("a counter of each", "core/not-vacuous", "true")
    claim = f"(= {text_of(ends[0])} {text_of(ends[1])})"
    writer.claim("one byte", kind, f"(and {claim} {free})" if free else claim)
    script = writer.script()
    if not free:
        return script
    return replace(script, steps=tuple(replace(step, stronger=True) for step in script.steps))


def _free(order: Order, one: Touch, other: Touch, turns: Sequence[Lin]) -> Iterator[str]:
    """Of two pieces of one body: neither iteration is as far behind the other as order reaches."""
    p, q = (order.index(touch.step, touch.lane) for touch in (one, other))
    if order.one_body(p, q):
        for a, b, behind in ((p, q, turns[1] - turns[0]), (q, p, turns[0] - turns[1])):
            gap = order.gap(a, b)
            if gap is not None:
                yield f"(< {text_of(behind)} {gap})"


def _beside_dma(starved: Starvation, times: _Times | None) -> Script:
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


def _running(times: _Times | None, step: int) -> str:
    """Whether a step runs `now`, in any of its iterations."""
    return disjunction([f"(and (<= begin{at} now) (< now end{at}))" for at in times.of_step(step)]) if times else "true"


def _in_order(works: Sequence[StepWork], times: _Times, apart: Sequence[tuple[int, int]]) -> Script:
    """Of two touches of one memory in two steps, one ends before the other begins, but for those `apart`; and how far
    behind each other the iterations of one loop are at most that nothing orders.
    """
    program, order = times.program, times.order
    writer = ScriptWriter("the order of the steps", definitions())
    times.declare(writer)
    writer.possible("an order of the steps", "core/not-vacuous", "true")
    unordered_ = {*apart, *((b, a) for a, b in apart)}
    touches = [(order.index(t.step, t.lane), t) for work in works for t in work.touches]
    told: set[tuple[int, int, str]] = set()
    for number, (p, one) in enumerate(touches):
        for q, other in touches[number + 1 :]:
            kind = KINDS.get((one.writes, other.writes), "")
            known = (id(one), id(other)) in unordered_
            new = (one.step != other.step or known) and one.memory == other.memory and kind
            if not new or (p, q, kind) in told or (known and not order.one_body(p, q)):
                continue
            told.add((p, q, kind))
            named = f"{program.steps[one.step].name} and {program.steps[other.step].name}"
            if order.one_body(p, q):
                gaps = order.gap(p, q), order.gap(q, p)
                for (a, b), gap in zip(((p, q), (q, p)), gaps, strict=True):
                    if gap is not None:
                        said = f"{named}, {gap} iterations later" if gap else named
                        writer.claim(said, kind, f"(not (<= end{times.at(a)} begin{times.at(b, gap)}))")
                if not known:  # then no two iterations are left
                    reach = "false" if None in gaps else f"(<= (+ {gaps[0]} {gaps[1]}) 1)"
                    writer.claim(f"{named}, any two iterations", kind, f"(not {reach})")
            else:
                both = f"(<= end{times.at(p)} begin{times.at(q)}) (<= end{times.at(q)} begin{times.at(p)})"
                writer.claim(named, kind, f"(not (or {both}))")
    return writer.script()


class _Times:
    """Names of when pieces of work begin and end; of those in a loop, of as many iterations as order reaches over."""

    def __init__(self, program: Program, order: Order) -> None:
        self.program, self.order = program, order
        self.reach = max(order.later.values(), default=0)
        self.every = [self.at(p, i) for p in range(len(order.pieces)) for i in self._iterations(p)]

    def declare(self, writer: ScriptWriter) -> None:
        """When each begins and ends, and what the plan says of that."""
        for at in self.every:
            writer.lines += [f"(declare-const begin{at} Int)", f"(declare-const end{at} Int)"]
            writer.lines.append(f"(assert (< begin{at} end{at}))")
        writer.lines += [f"(assert (<= end{p} begin{q}))" for p, q in self.stated()]

    def of_step(self, step: int) -> list[str]:
        return [self.at(p, i) for p in self.order.of_step[step] for i in self._iterations(p)]

    def at(self, piece: int, iteration: int = 0) -> str:
        return f"{piece}.{iteration}" if self._body(piece) >= 0 else str(piece)

    def _body(self, piece: int) -> int:
        bodies, step = self.order.bodies, self.order.pieces[piece].step
        return bodies[step] if bodies else -1

    def _iterations(self, piece: int) -> range:
        return range(self.reach + 1 if self._body(piece) >= 0 else 1)

    def stated(self) -> Iterator[tuple[str, str]]:
        """What the plan says: the first ends before the second begins."""
        for p, q in _stated(self.program, self.order):
            if self.order.one_body(p, q):
                yield from ((self.at(p, i), self.at(q, i)) for i in self._iterations(p))
            else:
                yield from ((self.at(p, i), self.at(q, j)) for i in self._iterations(p) for j in self._iterations(q))
        for p, q in self._around():
            yield from ((self.at(p, i), self.at(q, i + 1)) for i in range(self.reach))

    def _around(self) -> Iterator[tuple[int, int]]:
        """Pieces of one loop of which the first ends before the second begins in the next iteration."""
        order = self.order
        for body in sorted(set(order.bodies) - {-1}):
            steps = [step for step, of in enumerate(order.bodies) if of == body]
            pieces = [p for step in steps for p in order.of_step[step]]
            yield from ((p, p) for p in pieces)
            if self.program.order == "written":
                yield from ((p, q) for p in order.of_step[steps[-1]] for q in order.of_step[steps[0]])
            elif self.program.order == "contexts":
                lanes: dict[str, list[int]] = {}
                for p in pieces:
                    lanes.setdefault(order.pieces[p].lane, []).append(p)
                yield from ((found[-1], found[0]) for found in lanes.values())


def _stated(program: Program, order: Order) -> list[tuple[int, int]]:
    """Pieces of which the plan says that the first ends before the second begins: `after`, a lane's next piece, or the
    written order.
    """
    index = {step.name: number for number, step in enumerate(program.steps)}
    before = [(index[name], number) for number, step in enumerate(program.steps) for name in step.after]
    before += [(n - 1, n) for n in range(1, len(program.steps)) if program.order == "written"]
    edges = [(p, q) for a, b in before for p in order.of_step[a] for q in order.of_step[b]]
    lanes: dict[str, int] = {}
    for q, piece in enumerate(order.pieces) if program.order == "contexts" else ():
        edges += [(lanes[piece.lane], q)] if piece.lane in lanes else []
        lanes[piece.lane] = q
    return edges
