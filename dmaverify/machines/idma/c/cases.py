"""Cases of a `switch`: which of them a value goes to, and what those declare that do not run.

Knows: `case`, `default`, values of cases. Does not know: how statements run.
Law: a value goes to a case only where every case has a known value; one that is an argument is asked for each in turn.
"""

from __future__ import annotations

from dmaverify.language.numbers import Symbolic
from dmaverify.machines.idma.c.code import Part, declared
from dmaverify.machines.idma.c.doubts import Doubter
from dmaverify.machines.idma.c.numbers import UNREAD, Value, converted, unknown


class CaseReader(Doubter):
    """Finds the case of a value."""

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
