"""The order of pipes, proved case by case of how often inner loops run, without what tells their ends apart.

Knows: the numbers of iterations that decide a turn (ids and buffers that alternate), small ones and the rest by turns.
Does not know: what an event changes, machines, text.
Law: the cases together hold every number of iterations; only PROVED counts. A proof in which less is known of a path
is a proof; what fails here is followed as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import product
from math import prod

from dmaverify.language.affine import Lin, World
from dmaverify.program.instructions import Branch, Event, KernelLoop
from dmaverify.program.rewrite import every, put_in, symbols_of
from dmaverify.prove.flow.ask import Asker
from dmaverify.prove.flow.at_values import chosen_values
from dmaverify.prove.flow.loops import rhythm
from dmaverify.prove.flow.pipes import PipeJudge
from dmaverify.values import replace
from dmaverify.verdict import Severity

FEW = 4  # numbers of iterations that are looked at one by one
MOST_CASES = 40
MOST_STEPS = 3_000  # events that are followed in one case


def proved_by_cases(
    events: Sequence[Event], asker: Asker, ordered: Sequence[str], outer: Sequence[str]
) -> PipeJudge | None:
    """A judge that has proved everything in every case; None where one has not."""
    world = asker.world
    counters = {event.counter for event in every(events) if isinstance(event, KernelLoop)}
    trips = list(dict.fromkeys(_trips(events, world, counters, inner=False)))
    inner = list(dict.fromkeys(_trips(events, world, counters, inner=True)))
    period = rhythm(world, events)
    for names in dict.fromkeys((() if period == 1 else tuple(inner), tuple(trips))):
        values = [_cases(name, world, period) for name in names]
        if prod(map(len, values)) > MOST_CASES:
            continue
        cases = [dict(zip(names, case, strict=True)) for case in product(*values)]
        judge = _judged(events, asker, ordered, outer, cases)
        if judge is not None:
            return judge
    return None


def _judged(
    events: Sequence[Event],
    asker: Asker,
    ordered: Sequence[str],
    outer: Sequence[str],
    cases: Sequence[Mapping[str, Lin]],
) -> PipeJudge | None:
    said: dict[str, None] = {}
    judge = None
    for case in cases:
        judge = PipeJudge(asker, ordered, outer, coarse=True, blunt=True, most_steps=MOST_STEPS)
        judge.judge([put_in(event, asker.world, case) for event in events])
        if judge.findings or set(judge.status.values()) != {"proved"} or judge.apart:
            return None
        said |= judge.said
    if judge is not None:
        judge.said = said
    return judge


def _cases(name: str, world: World, period: int) -> list[Lin]:
    """All values of a number of iterations: few, then for each turn all the others."""
    symbol = world.symbols[name]
    low, high = max(0, symbol.low or 0), symbol.high
    small = [Lin(n) for n in range(low, low + FEW) if high is None or n <= high]
    if high is not None and high < low + FEW:
        return small
    rest = world.free(f"{name}_rounds", 0, None if high is None else (high - low - FEW) // period, shown=symbol.shown)
    return [*small, *(rest * period + (low + FEW + turn) for turn in range(period))]


def found_at_values(
    events: Sequence[Event], asker: Asker, ordered: Sequence[str], outer: Sequence[str]
) -> PipeJudge | None:
    """A judge with what is found at some values of the symbols; None where that is nothing, or where nobody states the
    range of some symbol."""
    world = asker.world
    names = sorted(symbols_of(events, world))
    known = all(world.symbols[n].stated or world.symbols[n].surely is not None for n in names)
    if not names or not known or any(world.symbols[n].varies or world.symbols[n].loaded for n in names):
        return None
    out: PipeJudge | None = None
    for values in chosen_values(asker, names):
        judge = PipeJudge(asker, ordered, outer, coarse=True, most_steps=MOST_STEPS)
        judge.judge([put_in(event, world, values) for event in events])
        shown = {world.symbols[n].shown: v.const for n, v in values.items()}
        said = ", ".join(f"{name} = {value:,}" for name, value in shown.items())
        told = {k: replace(f, message=f"{f.message}, where {said}") for k, f in judge.findings.items()}
        if any(f.severity is Severity.ERROR for f in told.values()):
            out = judge if out is None else out
            out.findings = {**told, **out.findings} if out is not judge else told
    if out is not None:
        rules = {f.rule for f in out.findings.values() if f.severity is Severity.ERROR}
        out.status = {name: "refuted" if name in rules else "unknown" for name in out.status}
        out.why = "followed at some values alone, where something else is wrong"
    return out


def _trips(
    events: Sequence[Event], world: World, counters: Set[str], *, inner: bool, depth: int = 0
) -> Iterator[str]:
    """The symbols that say how often loops run, the same number each time."""
    for event in events:
        if isinstance(event, KernelLoop):
            terms = event.trip.terms
            roots = world.roots(event.trip)
            fixed = roots.isdisjoint(counters) and not any(world.symbols[n].varies for n in roots)
            if fixed and len(terms) == 1 and terms[0][1] == 1 and event.trip.const == 0 and (depth or not inner):
                yield terms[0][0]
            yield from _trips(event.body, world, counters, inner=inner, depth=depth + 1)
        elif isinstance(event, Branch):
            yield from _trips((*event.then, *event.other), world, counters, inner=inner, depth=depth)
