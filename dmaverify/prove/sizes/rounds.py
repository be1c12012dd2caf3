"""Loops of any count in a run on symbolic numbers: two rounds stand for all, `k` and a later `k + 1 + d`.

Knows: the numbers of rounds, facts that a run recorded of them, quotients that differ from round to round.
Does not know: what a round does, whose loop it is.
Law: a fact that is linear in the numbers of the two rounds holds for all of them where it holds at the corners. Where
it holds for some rounds alone the loop is to be looked at otherwise, which raises Recut: in parts, or by turns of so
many rounds. Everything else raises Stuck.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import lcm
from typing import Any

from dmaverify.language.numbers import Poly
from dmaverify.prove.sizes.facts import FloorQuotient, SizeFact
from dmaverify.prove.sizes.shadow import floor, made, poly_of, value_of
from dmaverify.prove.sizes.trace import Stuck, Trace
from dmaverify.values import dataclass, replace

MOST_TURNS, MOST_PARTS = 16, 6
"""Rounds that are looked at at once, and parts of a loop."""


@dataclass(frozen=True, slots=True)
class LoopCut:
    """How a loop is looked at: `turns` rounds at a time, in parts that begin at the rounds `points`."""

    key: tuple[int, int]
    turns: int = 1
    points: tuple[Poly, ...] = ()
    writes: bool = False  # memory: what a round reads of it, another one may have written
    loses: bool = False  # objects whose address a round gives away: they have no values before it


class Recut(Exception):
    """Go again with a loop looked at so."""

    def __init__(self, cut: LoopCut) -> None:
        super().__init__(f"a loop in parts of {cut.turns}")
        self.cut = cut


@dataclass(frozen=True, slots=True)
class LoopRounds:
    """Two turns of a part of a loop that stand for all: `number`, and the one that is `later` than the next by that."""

    cut: LoopCut
    number: str
    later: str
    count: Poly
    begin: Poly

    def by_turns(self, by: Poly, why: str) -> None:
        """Looks at as many rounds at once as a divisor says. Raises Recut, or Stuck."""
        turns = lcm(self.cut.turns, by.constant or 0)
        if not 0 < turns <= MOST_TURNS or turns == self.cut.turns:
            raise Stuck(why)
        raise Recut(replace(self.cut, turns=turns))

    def parts(self, fact: SizeFact, trace: Trace) -> None:
        """Looks at rounds for which a fact holds apart from others. Raises Recut, or Stuck."""
        poly = fact.poly
        both, later = poly.terms.get((self.number,), 0), poly.terms.get((self.later,), 0)
        rest = Poly({m: c for m, c in poly.terms.items() if m not in ((self.number,), (self.later,))})
        others = {name for name in rest.symbols if name.startswith(("round ", "later "))}
        alike = later in (0, both) and abs(both) == self.cut.turns
        if not alike or others or fact.by is not None or len(self.cut.points) >= MOST_PARTS:
            raise Stuck("what holds in one round does not in another")
        rest = rest - Poly.of(both) if later else rest
        at = self.begin + (-rest if both > 0 else rest)  # the round, from the first of its turn on, at which it is 0
        found = [at, at + Poly.of(1)] if fact.op != "ge" else [at if both > 0 else at + Poly.of(1)]
        more = [one for one in found if one not in self.cut.points]
        if not more or any(name in trace.floors for one in more for name in one.symbols):
            raise Stuck("what holds in one round does not in another")
        raise Recut(replace(self.cut, points=(*self.cut.points, *more)))


def stretches(trace: Trace, cut: LoopCut, count: Any) -> list[tuple[Any, Any]]:
    """Where parts of a loop of so many rounds begin and end: what is decided is alike in each. Raises Stuck."""
    points: list[Any] = []
    for poly in cut.points:
        if not poly.symbols <= trace.values.keys():
            raise Stuck("a loop changes where a quotient says")
        point = made(trace, poly.at(trace.values), poly.put(trace.whole))
        if point > 0 and point < count and not any(point == other for other in points):
            points.append(point)
    points.sort(key=value_of)
    for one, next_ in pairwise(points):
        trace.record(SizeFact("ge", poly_of(next_) - poly_of(one) - Poly.of(1)))
    return list(pairwise([0, *points, count]))


def two_rounds(trace: Trace, cut: LoopCut, many: int, begin: Any, turns: Any) -> tuple[LoopRounds, Any, Any]:
    """A part of a loop that has at least two turns, the `many`th of a run, and the numbers of the two that stand for
    all.
    """
    numbers = [f"round {many}", f"later {many}"]
    for one in numbers:
        trace.values[one], trace.ends[one] = 1, (0, None)
        trace.apart.add(one)
    k, d = (made(trace, 1, Poly.symbol(one)) for one in numbers)
    trace.record(SizeFact("ge", poly_of(turns) - Poly.of(2)))  # else there is no later round, nor a wait of it
    return LoopRounds(cut, numbers[0], numbers[1], poly_of(turns), poly_of(begin)), k, k + 1 + d


def for_every_round(trace: Trace, loops: Sequence[LoopRounds]) -> None:
    """The facts of a run, each for all rounds of its loops. Raises Recut for a loop that has to be looked at in parts,
    Stuck for facts that are not linear in the rounds.
    """
    for loop in reversed(loops):
        k, d = loop.number, loop.later
        facts, trace.facts = trace.facts, {}
        for one in trace.floors.values():
            if {k, d} & one.bottom.symbols or (one.bottom.constant is not None and {k, d} & one.top.symbols):
                loop.by_turns(one.bottom, "a quotient that differs from round to round")
        last, next_ = loop.count - Poly.of(1), loop.count - Poly.of(2)
        zero = Poly.of(0)
        every = [
            _in_rows(loop, fact, trace) if _quotients(loop, fact, trace) else (fact, dict[str, tuple[Poly, Poly]]())
            for fact in facts.values()
        ]
        for fact, ends in every:
            own = {k, d} & fact.poly.symbols
            if fact.by is not None and {k, d} & fact.by.symbols:
                raise Stuck("a divisor that differs from round to round")
            corners = [{}] if not own else [{k: zero}, {k: last}]
            if d in own:
                corners = [{k: zero, d: zero}, {k: next_, d: zero}, {k: zero, d: next_}]
            if own and fact.by is not None:
                by, moving = fact.by.constant, [c for m, c in fact.poly.terms.items() if own & set(m)]
                if by is None or any(c % by for c in moving):
                    loop.by_turns(fact.by, "what is decided differs from round to round")
                corners = [dict.fromkeys(own, zero)]
            elif own and (fact.op != "ge" or any(len([n for n in m if n in (k, d)]) > 1 for m in fact.poly.terms)):
                loop.parts(fact, trace)
            names = list(ends)
            boxed = [dict(zip(names, values, strict=True)) for values in product(*ends.values())]
            for corner in [{**one, **other} for one in corners for other in boxed]:
                made_ = replace(fact, poly=fact.poly.put(corner))
                if made_.known is False or not made_.holds(trace.values):
                    loop.parts(fact, trace)
                trace.record(made_)


def _quotients(loop: LoopRounds, fact: SizeFact, trace: Trace) -> list[FloorQuotient]:
    """The quotients of a fact by arguments that differ from round to round."""
    symbols = fact.poly.symbols | (fact.by.symbols if fact.by is not None else set())
    return [trace.floors[n] for n in symbols if n in trace.floors and _differs(loop, trace.floors[n], trace)]


def _differs(loop: LoopRounds, one: FloorQuotient, trace: Trace) -> bool:
    """Whether a quotient is another one in another round, itself or in what it is a quotient of."""
    symbols = one.top.symbols | one.bottom.symbols
    inner = (trace.floors[name] for name in symbols if name in trace.floors)
    return not {loop.number, loop.later}.isdisjoint(symbols) or any(_differs(loop, each, trace) for each in inner)


def _in_rows(loop: LoopRounds, fact: SizeFact, trace: Trace) -> tuple[SizeFact, dict[str, tuple[Poly, Poly]]]:
    """A fact about a round `i` and its quotient `i // n` as one about the row and the place in it, with the ends of
    both: they are taken to be independent, which is more than there are. Raises Stuck where that is not all.
    """
    why = "a quotient that differs from round to round"
    found = _quotients(loop, fact, trace)
    one, k, d = found[0], loop.number, loop.later
    moving = d if d in one.top.symbols else k
    step = one.top.terms.get((moving,), 0)
    rest = one.top - Poly.symbol(moving).scaled(step)
    if (
        len(found) > 1
        or fact.op != "ge"
        or step < 1
        or moving in rest.symbols
        or not trace.floors.keys().isdisjoint(rest.symbols)
    ):
        raise Stuck(why)
    column = f"rest of {one.name}"
    place = Poly.symbol(one.name) * one.bottom + Poly.symbol(column) - rest  # so many steps of what moves
    times = {n: Poly({m: c for m, c in fact.poly.terms.items() if m.count(moving) == n}) for n in (0, 1)}
    along = Poly({tuple(x for x in m if x != moving): c for m, c in times[1].terms.items()})
    poly = along * place + times[0].scaled(step)
    ends_of = [loop.count - Poly.of(2 if moving == d else 1), Poly.of(0)]
    most, least = (one.top.put({k: end, d: Poly.of(0)}) for end in ends_of)
    known = all(top.symbols <= trace.values.keys() for top in (most, least, one.bottom))
    twice = any(m.count(name) > 1 for m in poly.terms for name in (one.name, column))
    if times[0].terms.keys() | times[1].terms.keys() != fact.poly.terms.keys() or twice or not known:
        raise Stuck(why)
    low, high, by = (made(trace, top.at(trace.values), top) for top in (least, most, one.bottom))
    rows = poly_of(floor(trace, low, by)), poly_of(floor(trace, high, by))
    return replace(fact, poly=poly), {one.name: rows, column: (Poly.of(0), one.bottom - Poly.of(1))}
