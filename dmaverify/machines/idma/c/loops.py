"""Loops of a driver whose count is an argument: two rounds of each part stand for all (`prove/sizes/rounds.py`).

Knows: counted loops, variables that move by the same step each round, what rounds carry over.
Does not know: rules, how a run is judged, which facts hold for every round.
Law: what the two rounds launch, with what is before and behind the loop, is all that any two launches of it can be. A
round that leaves the loop, or a variable carried over in another way, raises Stuck: such a loop is gone through round
by round, for one count at a time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dmaverify.language.numbers import Poly
from dmaverify.machines.idma.c.aggregates import MemoryObject
from dmaverify.machines.idma.c.arguments import polynomial
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.effects import DOES, ELEMENTS, bare, jumps, target_of, texts_of, variable
from dmaverify.machines.idma.c.endless import EndlessReader
from dmaverify.machines.idma.c.numbers import Value, binary, converted, unknown
from dmaverify.prove.sizes.rounds import LoopCut, Recut, stretches, two_rounds
from dmaverify.prove.sizes.shadow import poly_of, value_of
from dmaverify.prove.sizes.trace import Stuck
from dmaverify.values import replace

LEAST_ROUNDS = 4
"""Fewer rounds are gone through one by one."""
MOST_SINGLE = 32
"""Rounds of a part that are gone through one by one."""
_SETS = re.compile(r"(?<![=!<>])=(?!=)|<<=|>>=|[+][+]|--|\b(return|break|goto)\b")


class LoopRunner(EndlessReader):
    """A launcher that follows counted loops of any count."""

    cut: LoopCut | None = None
    """Of the loop of which a round is gone through."""

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
        if found is None or body is None or condition is None or arguments is None or arguments.trace is None:
            super()._loop(whole, condition, body, update)
            return
        name, start, step, count = found
        self.value(condition)  # there is a round
        again = arguments.met["loops", whole.raw.start] = arguments.met.get(("loops", whole.raw.start), 0) + 1
        cut = arguments.cuts.get((whole.raw.start, again), LoopCut((whole.raw.start, again)))
        moving = self._moving(body, {name})
        first = {name: (start, step)} | {other: (self.name_of(other), by) for other, by in moving.items()}
        since, epoch, loops = self.since, self.epoch, len(arguments.loops)
        launches, reads = len(self.told), len(self.held)
        if cut.loses:
            self.mentions(body, "a loop that gives its address away")
        outer, self.cut = self.cut, cut
        self.since = self.serial if since is None else since
        for begin, end in stretches(arguments.trace, cut, count):
            self._rounds(whole, body, cut, begin, end, first)
        self.cut = outer
        if self.epoch != epoch and any(one.type in ELEMENTS for one in condition.every()):
            raise Stuck("what is read from memory ends a loop that writes memory")
        again = len(arguments.loops) > loops and not cut.writes
        if again and (self.epoch != epoch or self.changes_what_is_held(launches, reads)):
            raise Recut(replace(cut, writes=True))
        self.since = since
        self._set_all(first, count)

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
            loop, k, later = two_rounds(trace, cut, len(arguments.loops), begin, turns)
            arguments.loops.append(loop)
            arguments.rounds += 1
            for number in (k, later):
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

    def differs(self, index: Value) -> bool:
        poly = None if index.number is None else polynomial(index.number)
        if poly is None or self.arguments is None:
            return False
        if not any(poly.symbols & {loop.number, loop.later} for loop in self.arguments.loops):
            return False
        self.arguments.indexed = True
        return not self.arguments.taking_turns

    def lose(self, whole: MemoryObject, why: str) -> None:
        """An object that was there before a loop loses its values before it: then no round carries them over."""
        before = self.since is not None and whole.born <= self.since
        if before and self.cut is not None and not (self.cut.loses or whole.lost or whole.constant):
            raise Recut(replace(self.cut, loses=True))
        super().lose(whole, why)

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
        """(counter, its start, step, rounds) of `for (...; i < bound; i += step)` whose bound is symbolic, or of a loop
        of which each round ends with that step.
        """
        condition, ends = bare(condition), update is None
        update = self._last_of(body) if ends else update
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
        last = {one.node for one in update.every()} if ends else set()
        inside = [one for one in body.every() if one.node not in last]
        inside += [p for p in [condition.field("right")] if p is not None for p in p.every()]
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

    def _last_of(self, body: Part | None) -> Part | None:
        """What each round of a loop does last, where it is an expression that no round leaves out."""
        parts = body.parts() if body is not None and body.type == "compound_statement" else []
        last = parts[-1].parts() if parts and parts[-1].type == "expression_statement" else []
        return last[0] if len(last) == 1 and body is not None and "continue" not in jumps(self.file, body) else None

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
