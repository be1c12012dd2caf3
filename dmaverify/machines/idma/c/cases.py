"""Where a statement goes on: the case of a `switch`, what a jump leaves, what may be left or not.

Knows: `case`, `default`, values of cases, jumps. Does not know: how other statements run.
Law: a value goes to a case only where every case has a known value; one that is an argument is asked for each in turn.
Behind a part that may end the function, that it does not is a condition.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from dmaverify.language.numbers import Symbolic
from dmaverify.machines.idma.c.code import Part, declared
from dmaverify.machines.idma.c.doubts import Doubter
from dmaverify.machines.idma.c.effects import jumps
from dmaverify.machines.idma.c.numbers import UNREAD, Value, converted, promoted, unknown
from dmaverify.values import dataclass, field

STAYS = "does not end the function"


class Left(Exception):
    """A statement leaves what is around it: `break`, `continue` or `return`; or, and nobody knows where to, the loop
    around it (`doubt`) or what the function does (`goto`).
    """

    def __init__(self, how: str, value: Value | None = None, why: str = "") -> None:
        super().__init__(how)
        self.how, self.value, self.why = how, value, why


@dataclass
class LoopSoFar:
    """A loop that is gone through round by round: where the last round began, and as what rounds `seen` began."""

    whole: Part
    condition: Part | None
    body: Part | None
    update: Part | None
    steps: int  # before it
    launched: int
    log: int
    serial: int
    seen: dict[object, None] = field(default_factory=dict)
    endless: bool | None = None
    quiet: bool | None = None


class CaseReader(Doubter):
    """Finds the case of a value, and says what is not known where a part may be left."""

    conditions: dict[str, None]
    stack: int
    told: list[Any]  # what is launched
    early: set[int]  # calls, by how deep they are, that may have ended before they are taken to end

    @abstractmethod
    def block(self, parts: list[Part]) -> None:
        """Statements in order."""

    def closes(self, scope: Mapping[str, Value]) -> None:
        """A block ends, and with it what it declares."""

    def may_leave(self, part: Part, why: str, ends: str = "") -> None:
        """A part may run, or not, and what it jumps over: what is behind it in a loop, or in the function."""
        found = jumps(self.file, part)
        if "goto" in found:
            raise Left("goto", why=why)
        if found & {"break", "continue"}:
            raise Left("doubt", why=why)
        if "return" in found:
            self.early.add(self.stack)
            self.may_wait(part, ends or why)
            self.conditions[f"{ends or why} {STAYS}"] = None

    def may_wait(self, part: Part, what: str = "") -> None:
        """How a part ends is not known: what is behind it may run only where all that was launched is complete."""

    def jumped_over(self, case: Part) -> None:
        """What a case declares that does not run: its names are there, and hold nothing."""
        for one in case.parts():
            if one.type in ("enum_specifier", "declaration", "type_definition"):
                self._enumerators(one)
            for child in one.node.children_by_field_name("declarator") if one.type == "declaration" else ():
                name, _, pointers, _ = declared(Part(child, one.text))
                type_ = self.type_of(one.field("type"), pointers)
                self.scopes[-1][name] = unknown(f"`{name}` is declared before the case that runs", type_ or UNREAD)

    def case_of(self, value: Value, cases: list[Part]) -> int | None:
        """The number of the case that a value goes to, or of cases; None where that is not known."""
        nested = [one for case in cases for one in case.every() if one.type == "case_statement" and one != case]
        if nested or any(one.type != "case_statement" or one.node.has_error for one in cases):
            return None
        given = [one.field("value") for one in cases]
        numbers = [None if one is None else converted(self.value(one), value.type).number for one in given]
        if any(one is not None and number is None for one, number in zip(given, numbers, strict=True)):
            return None
        if any(isinstance(number, Symbolic) for number in numbers):
            return None
        fits = [n for n, number in enumerate(numbers) if number is not None and number == value.number]
        return next(iter([*fits, *(n for n, one in enumerate(given) if one is None)]), len(cases))

    def _run_switch_statement(self, part: Part) -> None:
        """From the case of a known value to a `break`; cases are searched in order, `default` is the last resort."""
        value, body = self.value(part.field("condition")), part.field("body")
        cases = body.parts() if body is not None else []
        why = f"the value of {part.field('condition')} of a switch"
        found = self.case_of(promoted(value), cases) if value.number is not None else None
        if found is None:
            self.doubt(part, why)
            self.may_leave(part, why)
            return
        depth = len(self.scopes)
        self.scopes.append({})
        for case in cases[:found]:
            self.jumped_over(case)
        try:
            for case in cases[found:]:
                given = case.field("value")
                self.block([one for one in case.parts() if given is None or one.node != given.node])
        except Left as left:
            if left.how != "break":
                raise
        finally:
            self.closes(self.scopes[depth])
            del self.scopes[depth:]
