"""Loops of a driver whose count is an argument: two rounds stand for all, `k` and a later `k + 1 + d`.

Knows: counted loops, variables that move by the same step each round, which facts hold for every round.
Does not know: rules, how a run is judged.
Law: what the two rounds launch, with what is before and behind the loop, is all that any two launches of it can be; a
fact that is linear in the numbers of the rounds holds for all of them where it holds at the corners. Everything else (a
round that leaves the loop, a variable carried over in another way, a fact that some rounds keep) raises Stuck: such a
loop is gone through round by round, for one count at a time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise, product
from math import lcm
from typing import Any

from dmaverify.language.numbers import Poly
from dmaverify.machines.idma.c.aggregates import MemoryObject
from dmaverify.machines.idma.c.arguments import Arguments, polynomial
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.effects import DOES, ELEMENTS, jumps, target_of, texts_of, variable
from dmaverify.machines.idma.c.foreign import ForeignReader
from dmaverify.machines.idma.c.numbers import Value, binary, converted, unknown
from dmaverify.prove.sizes.facts import FloorQuotient, SizeFact
from dmaverify.prove.sizes.shadow import floor, made, poly_of, value_of
from dmaverify.prove.sizes.trace import Stuck, Trace
from dmaverify.values import dataclass, replace

LEAST_ROUNDS = 4
"""Fewer rounds are gone through one by one."""
MOST_TURNS, MOST_PARTS, MOST_SINGLE = 16, 6, 32
"""Rounds that are looked at at once, parts of a loop, and rounds of a part that are gone through one by one."""
_SETS = re.compile(r"(?<![=!<>])=(?!=)|<<=|>>=|[+][+]|--|\b(return|break|goto)\b")


@dataclass(frozen=True, slots=True)
class LoopCut:
    """How a loop is looked at: `turns` rounds at a time, in parts that begin at the rounds `points`."""

    key: tuple[int, int]
    turns: int = 1
    points: tuple[Poly, ...] = ()
    writes: bool = False  # memory: what a round reads of it, another one may have written


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


class LoopRunner(ForeignReader):
    """A launcher that follows counted loops of any count."""

    def _loop(self, whole: Part, condition: Part | None, body: Part | None, update: Part | None) -> None:
        before = self._read_by(condition)
        self._looped(whole, condition, body, update)
        if self._read_by(condition) != before:
            raise Stuck("a loop is ended by memory that is written in it")

    def _read_by(self, condition: Part | None) -> list[Poly]:
        """What members of objects of the caller hold that a condition reads, in runs with arguments."""
        if condition is None or self.arguments is None or self.arguments.trace is None or not self._reads():
            return []
        if any(p.type in DOES for p in condition.every()):
            return []
        values = [self.value(p).number for p in condition.every() if p.type == "field_expression"]
        return [poly_of(one) for one in values if one is not None and polynomial(one) is not None]

    def _looped(self, whole: Part, condition: Part | None, body: Part | None, update: Part | None) -> None:
        arguments = self.arguments
        found = None
        if arguments is not None and arguments.trace is not None and arguments.generic:
            found = self._counted(condition, body, update)
        if found is None or body is None or condition is None or arguments is None:
            super()._loop(whole, condition, body, update)
            return
        name, start, step, count = found
        self.value(condition)  # there is a round
        again = arguments.met["loops", whole.raw.start] = arguments.met.get(("loops", whole.raw.start), 0) + 1
        cut = arguments.cuts.get((whole.raw.start, again), LoopCut((whole.raw.start, again)))
        moving = self._moving(body, {name})
        first = {name: (start, step)} | {other: (self.name_of(other), by) for other, by in moving.items()}
        since, epoch, loops = self.since, self.epoch, len(arguments.loops)
        self.since = self.serial if since is None else since
        for begin, end in self._stretches(cut, count):
            self._rounds(whole, body, cut, begin, end, first)
        if self.epoch != epoch and any(one.type in ELEMENTS for one in condition.every()):
            raise Stuck("what is read from memory ends a loop that writes memory")
        if self.epoch != epoch and not cut.writes and len(arguments.loops) > loops:
            raise Recut(replace(cut, writes=True))
        self.since = since
        self._set_all(first, count)

    def _stretches(self, cut: LoopCut, count: Any) -> list[tuple[Any, Any]]:
        """Where parts of a loop begin and end, in rounds: what is decided is alike in each."""
        arguments = self.arguments
        assert arguments is not None
        trace = arguments.trace
        assert trace is not None
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
        ends = [0, *points, count]
        return list(pairwise(ends))

    def _rounds(
        self, whole: Part, body: Part, cut: LoopCut, begin: Any, end: Any, first: Mapping[str, tuple[Value, Any]]
    ) -> None:
        """The rounds from `begin` to before `end`: two of any that stand for all, or each of a few."""
        arguments = self.arguments
        assert arguments is not None
        trace = arguments.trace
        assert trace is not None
        turns, many = (end - begin) // cut.turns, end - begin
        rest = many - turns * cut.turns
        at = begin
        if value_of(turns) >= 2 and not isinstance(turns, int):
            numbers = [f"round {len(arguments.loops)}", f"later {len(arguments.loops)}"]
            for one in numbers:
                trace.values[one], trace.ends[one] = 1, (0, None)
                trace.apart.add(one)
            k, d = (made(trace, 1, Poly.symbol(one)) for one in numbers)
            arguments.loops.append(LoopRounds(cut, numbers[0], numbers[1], poly_of(turns), poly_of(begin)))
            trace.record(SizeFact("ge", poly_of(turns) - Poly.of(2)))  # else there is no later round, nor a wait of it
            arguments.rounds += 1
            for number in (k, k + 1 + d):
                self._forget_carried(body, first)
                self.epoch += cut.writes
                for turn in range(cut.turns):
                    self._one_round(whole, body, begin + number * cut.turns + turn, first)
            arguments.rounds -= 1
            self.epoch += cut.writes
            at = begin + turns * cut.turns
        else:
            rest = many
        few = next((n for n in range(MOST_SINGLE) if rest == n), None)
        if few is None:
            raise Stuck("a part of a loop with many rounds, and not any number of them")
        self._forget_carried(body, first) if few and value_of(at) else None
        for turn in range(few):
            self._one_round(whole, body, at + turn, first)

    def _one_round(self, whole: Part, body: Part, number: Any, first: Mapping[str, tuple[Value, Any]]) -> None:
        self._set_all(first, number)
        for page in self.pages.values():
            page.update({at: unknown("it is written in a loop") for at in page})
        if not self._round(body, whole):
            raise Stuck("a round ends the loop")

    def _carry(self, name: str) -> None:
        self.assign(name, unknown(f"`{name}` is carried from round to round"))

    def _forget_carried(self, body: Part, first: Mapping[str, object]) -> None:
        """What rounds before this one have left in variables is not known, but of those that move by a step."""
        for name in {variable(self.file, part) for part in body.every()} - first.keys():
            if name:
                self._carry(name)

    def touched(self, whole: MemoryObject) -> None:
        if self.since is not None and whole.born <= self.since:
            raise Stuck(f"`{whole.name}` is carried from round to round")
        super().touched(whole)

    def name_of(self, name: str) -> Value:
        """The value of a variable."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), unknown(f"`{name}`"))

    def _counted(
        self, condition: Part | None, body: Part | None, update: Part | None
    ) -> tuple[str, Value, Any, Any] | None:
        """(counter, its start, step, rounds) of `for (...; i < bound; i += step)` whose bound is symbolic."""
        if condition is None or update is None or body is None or condition.type != "binary_expression":
            return None
        left, op = condition.field("left"), condition.node.child_by_field_name("operator")
        if left is None or left.type != "identifier" or op is None or op.type not in ("<", "<="):
            return None
        name = str(left)
        start, bound = self.name_of(name), self.value(condition.field("right"))
        step = self._step(update, name)
        if start.type.pointer and step is not None:
            step = step * start.type.step or None
        inside = [*body.every(), *(p for p in [condition.field("right")] if p is not None for p in p.every())]
        assigned = {variable(self.file, part) for part in inside}
        if self._by_macros(inside):  # what a macro carries over is not looked for
            return None
        if start.number is None or bound.number is None or step is None or polynomial(bound.number) is None:
            return None
        bound_by = list(condition.every())
        names = {str(p) for p in bound_by if p.type == "identifier"}
        leaves = jumps(self.file, body) - {"continue"}
        if name in assigned or leaves or names & assigned or not isinstance(step, int):
            return None
        if any(p.type in DOES for p in bound_by):
            return None
        if step < 1 or start.number < 0 or start.type.signed != bound.type.signed:
            return None
        many = (value_of(bound.number) - value_of(start.number)) // step
        if many < LEAST_ROUNDS:
            return None
        distance = bound.number - start.number + (op.type == "<=")
        return name, start, step, distance if step == 1 else (distance + (step - 1)) // step

    def _by_macros(self, inside: list[Part]) -> bool:
        """Whether a macro sets something, or leaves the loop, or is what something sets."""
        for part in inside:
            target = target_of(self.file, part)
            if target is not None and target.text is not part.text:
                return True
            macro = self.file.macros.get(str(part))
            if macro is not None and any(_SETS.search(text) for text in texts_of(self.file, macro.name)):
                return True
        return False

    def _step(self, part: Part, name: str) -> Any:
        """What `part` adds to a variable; None where it does something else."""
        if variable(self.file, part) != name:
            return None
        if part.type == "update_expression":
            return 1 if "++" in str(part) else -1
        op, right = part.node.child_by_field_name("operator"), part.field("right")
        if op is None or op.type not in ("+=", "-=") or right is None:
            return None
        value = self.value(right).number
        return None if value is None else value if op.type == "+=" else -value

    def _moving(self, body: Part, counters: set[str]) -> dict[str, Any]:
        """The variables from outside that a round changes, with their step; those that move otherwise have no value."""
        parts = [part for part in body.every() if variable(self.file, part)]
        names = {variable(self.file, part) for part in parts} - counters
        every = "continue" not in jumps(self.file, body)  # each round reaches all that stands in it
        top = {p.node for s in body.parts() if every and s.type == "expression_statement" for p in s.parts()}
        out: dict[str, Any] = {}
        for name in names:
            old = self.name_of(name)
            own = [part for part in parts if variable(self.file, part) == name]
            used = {str(p) for part in own for p in part.every() if p.type == "identifier"} - {name}
            step = self._step(own[0], name) if len(own) == 1 and own[0].node in top else None
            if step is not None and old.number is not None and not used & (names | counters):
                moved = binary("+", old, Value(step, old.type if not old.type.pointer else Value(0).type))
                out[name] = None if moved.number is None else moved.number - old.number
            if out.get(name) is None:
                out.pop(name, None)
                self._carry(name)
        return out

    def _set_all(self, first: Mapping[str, tuple[Value, Any]], rounds: Any) -> None:
        for name, (start, step) in first.items():
            self._set(name, start, rounds, step)

    def _set(self, name: str, start: Value, rounds: Any, step: Any) -> None:
        assert start.number is not None
        moved = converted(Value(start.number + rounds * step), start.type)
        if moved.number is None or poly_of(moved.number) != poly_of(start.number + rounds * step):
            raise Stuck(f"`{name}` leaves its type")
        for scope in reversed(self.scopes):
            if name in scope:
                scope[name] = moved
                return


def for_every_round(trace: Trace, arguments: Arguments) -> None:
    """The facts of a run, each for all rounds of its loops. Raises Recut for a loop that has to be looked at in parts,
    Stuck for facts that are not linear in the rounds.
    """
    for loop in reversed(arguments.loops):
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
