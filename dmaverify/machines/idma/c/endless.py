"""Loops of a driver that never end, or that launch nothing for long: how far they are gone through.

Knows: what rounds leave behind, jumps out of a loop, counters. Does not know: rules, how a run is judged.
Law: a round that begins as an earlier one did, with every launch complete, launches what that one did, and so do all
behind it: nothing behind such a loop runs. A long loop that launches nothing and ends by its counter is looked through
as one of any count: what it sets is not known behind it. All else is given up, never left out.
"""

from __future__ import annotations

import operator

from dmaverify.machines.idma.c.arguments import Stopped
from dmaverify.machines.idma.c.cases import Left, LoopSoFar
from dmaverify.machines.idma.c.code import Part
from dmaverify.machines.idma.c.effects import DOES, ELEMENTS, bare, called_name, deep, jumps, variable
from dmaverify.machines.idma.c.foreign import ForeignReader
from dmaverify.machines.idma.c.names import NO_LAUNCH
from dmaverify.machines.idma.c.numbers import Value, converted

MOST_QUIET = 3
"""A loop that launches nothing may take one part in so many of the steps of a run."""
MOST_ROUNDS, MOST_WITH_ARGUMENTS = 300, 64
"""Rounds of a loop without an end that differ, and of a run with arguments: there are many runs."""
_TOWARDS = {"<": operator.gt, "<=": operator.gt, ">": operator.lt, ">=": operator.lt}


class EndlessReader(ForeignReader):
    """A launcher that goes through a loop no longer than it takes to know all of its rounds."""

    def never_ends(self, body: Part | None) -> None:
        for one in deep(self.file, body) if body is not None else ():  # a macro of another file may be a jump
            above = one.node.parent
            alone = one.type == "identifier" and above is not None and above.type == "expression_statement"
            name = called_name(self.file, one) if one.type == "call_expression" else f"{one}" if alone else ""
            if name and name not in (self.calls_read | NO_LAUNCH) and not self.file.declares(name):
                self.conditions[f"`{name}` does not leave the loop around it"] = None
        raise Stopped(0 if self.arguments is None else len(self.arguments.gone))

    def _idles(self, condition: Part | None, body: Part | None) -> bool:
        return not self._accesses(body) and super()._idles(condition, body)

    def given_up(self, loop: LoopSoFar) -> bool:
        """Whether a loop of which a round is over was looked through instead. Raises Stopped where it never ends."""
        if loop.endless is None:
            loop.endless = self.goes_on(loop.condition, loop.body, loop.update)
            loop.quiet = not self.launches(loop.whole)
        if loop.endless and not (loop.quiet and loop.launched == len(self.told)):
            self._again(loop)
            return False
        most = self.most_steps // MOST_QUIET
        if not loop.endless and (self.steps - loop.steps <= most or not loop.quiet or self._accesses(loop.body)):
            return False
        why = "a loop that does not end" if loop.endless else f"a loop of more than {most:,} steps"
        if not loop.endless and (jumps(self.file, loop.whole) or not self._ends(loop)):
            raise Left("doubt", why=why)
        self.may_wait(loop.whole)
        self.doubt(loop.whole, why)
        if loop.endless:
            self.never_ends(loop.body)
        return True

    def _accesses(self, body: Part | None) -> bool:
        """Whether a part accesses memory that may be registers, or descriptors, whose accesses launch."""
        if body is None or (self.map is None and not self.chained):
            return False
        return any(one.type in (*ELEMENTS, "call_expression") for one in deep(self.file, body))

    def _again(self, loop: LoopSoFar) -> None:
        """A round of a loop that nothing leaves is over. Raises Stopped behind one that began as another one."""
        held = self._at_round(loop)
        if held is not None and held in loop.seen:
            self.never_ends(loop.body)
        loop.seen[object() if held is None else held] = None
        loop.log, loop.serial = len(self.log), self.serial
        if len(loop.seen) > (MOST_ROUNDS if self.arguments is None else MOST_WITH_ARGUMENTS):
            raise Left("doubt", why="a loop that does not end")

    def _at_round(self, loop: LoopSoFar) -> object:
        """All that later rounds hang on; None where that is not seen: some launch runs, or memory is written."""
        written = any(set_ and one is not self.bank and one.born <= loop.serial for one, set_ in self.log[loop.log :])
        running = len(self.completed_now()) < len(self.told)
        if written or running or self.chained or self.arguments is not None:
            return None
        scopes = tuple(tuple((name, _known(value)) for name, value in sorted(scope.items())) for scope in self.scopes)
        pages = tuple((page, tuple((at, _known(one)) for at, one in sorted(own.items())))
                      for page, own in sorted(self.pages.items()))  # fmt: skip
        return scopes, pages, self.blurred, self.foreign, self.by_call, len(self.smeared), len(self.doubts)

    def _ends(self, loop: LoopSoFar) -> bool:
        """Whether a counter that no round sets besides moves towards a bound that no round moves."""
        condition, body, update = bare(loop.condition), loop.body, loop.update
        op = None if condition is None else condition.node.child_by_field_name("operator")
        if condition is None or body is None or update is None or op is None or op.type not in _TOWARDS:
            return False
        left, right = condition.field("left"), condition.field("right")
        name = variable(self.file, update)
        names = {f"{one}" for one in condition.every() if one.type == "identifier"}
        inside = {variable(self.file, one) for one in deep(self.file, body)} | self.exposed
        if not name or f"{left}" != name or names & inside or any(one.type in DOES for one in condition.every()):
            return False
        at, bound = self.value(left), self.value(right)
        self.tracked(update)
        step = (self.value(left).number or 0) - (at.number or 0)
        if at.number is None or bound.number is None or not _TOWARDS[op.type](step, 0):
            return False
        last = converted(Value(bound.number + step), at.type).number
        return min(at.number, bound.number) >= 0 and last == bound.number + step


def _known(value: Value) -> object:
    """A value for what follows; of ids of launches, which are complete, no more than that."""
    if type(value) is not Value:
        return id(value)
    launch = value.launch is not None
    return value.number, value.type.bits, value.type.signed, value.type.step, value.why, launch, value.report
