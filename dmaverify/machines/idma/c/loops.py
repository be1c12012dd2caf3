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
from typing import Any

from dmaverify.language.numbers import Poly
from dmaverify.machines.idma.c.aggregates import MemoryObject
from dmaverify.machines.idma.c.arguments import Arguments, polynomial
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.effects import target_of, texts_of, variable
from dmaverify.machines.idma.c.launches import Launcher
from dmaverify.machines.idma.c.numbers import Value, binary, converted, unknown
from dmaverify.prove.sizes.facts import SizeFact
from dmaverify.prove.sizes.shadow import made, poly_of, value_of
from dmaverify.prove.sizes.trace import Stuck, Trace
from dmaverify.values import replace

LEAST_ROUNDS = 4
"""Fewer rounds are gone through one by one."""
_SETS = re.compile(r"(?<![=!<>])=(?!=)|<<=|>>=|[+][+]|--|\b(return|break|goto)\b")
_LEAVES = ("break_statement", "return_statement", "goto_statement")


class LoopRunner(Launcher):
    """A launcher that follows counted loops of any count."""

    def _loop(self, whole: Part, condition: Part | None, body: Part | None, update: Part | None) -> None:
        arguments = self.arguments
        found = None
        if arguments is not None and arguments.trace is not None and arguments.generic:
            found = self._counted(condition, body, update)
        if found is None or body is None or condition is None or arguments is None:
            super()._loop(whole, condition, body, update)
            return
        name, start, step, count = found
        self.value(condition)  # there is a round
        trace = arguments.trace
        assert trace is not None
        numbers = [f"round {len(arguments.loops)}", f"later {len(arguments.loops)}"]
        for one in numbers:
            trace.values[one], trace.ends[one] = 1, (0, None)
        k, d = (made(trace, 1, Poly.symbol(one)) for one in numbers)
        arguments.loops.append((numbers[0], numbers[1], poly_of(count)))
        trace.record(SizeFact("ge", poly_of(count) - Poly.of(2)))  # else there is no later round, and what it waits for
        moving = self._moving(body, {name})
        first = {other: self.name_of(other) for other in moving}
        since = self.since
        self.since = self.serial if since is None else since
        for number in (k, k + 1 + d):
            self._set(name, start, number, step)
            for other, by in moving.items():
                self._set(other, first[other], number, by)
            for page in self.pages.values():
                page.update({at: unknown("it is written in a loop") for at in page})
            if not self._round(body, whole):
                raise Stuck("a round ends the loop")
        self.since = since
        self._set(name, start, count, step)
        for other, by in moving.items():
            self._set(other, first[other], count, by)

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
        inside = [*body.every(), *(p for p in [condition.field("right")] if p is not None for p in p.every())]
        assigned = {variable(self.file, part) for part in inside}
        if self._by_macros(inside):  # what a macro carries over is not looked for
            return None
        if start.number is None or bound.number is None or step is None or polynomial(bound.number) is None:
            return None
        names = {str(p) for p in inside[-1:] if p.type == "identifier"}
        if name in assigned or any(p.type in _LEAVES for p in inside) or names & assigned or not isinstance(step, int):
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
        top = {p.node for s in body.parts() if s.type == "expression_statement" for p in s.parts()}
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
                self.assign(name, unknown(f"`{name}` is carried from round to round"))
        return out

    def _set(self, name: str, start: Value, rounds: Any, step: Any) -> None:
        assert start.number is not None
        moved = converted(Value(start.number + rounds * step), start.type)
        if moved.number is None or polynomial(moved.number) != poly_of(start.number + rounds * step):
            raise Stuck(f"`{name}` leaves its type")
        for scope in reversed(self.scopes):
            if name in scope:
                scope[name] = moved
                return


def for_every_round(trace: Trace, arguments: Arguments) -> None:
    """The facts of a run, each for all rounds of its loops. Raises Stuck for those that are not linear in them."""
    for k, d, count in reversed(arguments.loops):
        facts, trace.facts = trace.facts, {}
        for one in trace.floors.values():
            if {k, d} & (one.top.symbols | one.bottom.symbols):
                raise Stuck("a quotient that differs from round to round")
        last, next_ = count - Poly.of(1), count - Poly.of(2)
        zero = Poly.of(0)
        for fact in facts.values():
            own = {k, d} & fact.poly.symbols
            if fact.by is not None and {k, d} & fact.by.symbols:
                raise Stuck("a divisor that differs from round to round")
            corners = [{}] if not own else [{k: zero}, {k: last}]
            if d in own:
                corners = [{k: zero, d: zero}, {k: next_, d: zero}, {k: zero, d: next_}]
            if own and (fact.op != "ge" or any(len([n for n in m if n in (k, d)]) > 1 for m in fact.poly.terms)):
                corners = [_whole(fact, own)]
            for corner in corners:
                made_ = replace(fact, poly=fact.poly.put(corner))
                if made_.known is False or not made_.holds(trace.values):
                    raise Stuck("what holds in one round does not in another")
                trace.record(made_)


def _whole(fact: SizeFact, own: set[str]) -> dict[str, Poly]:
    """That a number divides, or not, is so in every round where it divides what a round adds."""
    by = fact.by.constant if fact.by is not None else None
    if by is None or any(c % by for m, c in fact.poly.terms.items() if own & set(m)):
        raise Stuck("what is decided differs from round to round")
    return dict.fromkeys(own, Poly.of(0))
