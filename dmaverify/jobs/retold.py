"""A second opinion on a verdict: what is proved is run from the text, by the interpreter, where it is small.

Knows: how the interpreter is asked (in the process beside, where there is one).
Does not know: how a verdict came about.
Law: an entry that is proved and that some execution breaks is a Disagreement, never a verdict. What is too large, or
has no meaning that any source settles, is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dmaverify.errors import Disagreement
from dmaverify.verdict import Status, Verdict

if TYPE_CHECKING:
    from dmaverify.prove.options import Options


@dataclass(frozen=True, slots=True)
class Retold:
    """An entry of a text, to be run on a target, up to so many units."""

    text: str
    name: str
    target: str
    readings: Mapping[str, str]
    most: int

    def broken(self) -> frozenset[str] | None:
        """What some execution breaks, as sentences; None where it cannot be run."""
        from dmaverify.execute.interpret import interpret
        from dmaverify.execute.work import Beyond
        from dmaverify.plan.execution import PlanExecution

        try:
            read = PlanExecution(self.text, target=self.target, readings=self.readings, most=self.most)
            found = interpret(*read.work(self.name))
        except Beyond:
            return None
        return frozenset(f"{rule} is broken: {sight}" for rule, sight in found.wrong.items())


def retell(text: str, name: str, target: str, verdict: Verdict, options: Options) -> None:
    """Raises Disagreement where running the entry breaks what is proved of it."""
    if not options.cross_check or verdict.status is not Status.PROVED:
        return
    from dmaverify.execute.beside import asked_beside

    told = asked_beside(Retold(text, name, target, dict(options.readings), options.cross_check))
    if told:
        raise Disagreement(f"`{name}` is proved, but in a run of its text {min(told)}")
