"""A second opinion on every verdict: what is proved is run from the text, by the interpreter, where it is small.

Knows: which entries have a text, how the interpreter is asked (in the process beside, where there is one).
Does not know: how a verdict came about.
Law: a plan that is proved and that some execution breaks is a Disagreement, never a verdict. What is too large, or has
no meaning that any source settles, is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dmaverify.verdict import Status, Verdict

if TYPE_CHECKING:
    from dmaverify.plan.read import Plan
    from dmaverify.prove.options import Options


@dataclass(frozen=True, slots=True)
class Retold:
    """Entries of one text, to be run: (name, target) of each."""

    text: str
    entries: tuple[tuple[str, str], ...]
    readings: Mapping[str, str]
    most: int

    def broken(self) -> frozenset[str] | None:
        """What some execution breaks, as sentences."""
        from dmaverify.execute.interpret import interpret
        from dmaverify.execute.work import Beyond
        from dmaverify.plan.execution import Execution

        out: list[str] = []
        for name, target in self.entries:
            try:
                read = Execution(self.text, target=target, readings=self.readings, most=self.most)
                found = interpret(*read.work(name))
            except Beyond:
                continue
            out += [f"`{name}` is proved, but running it breaks {rule}: {sight}" for rule, sight in found.wrong.items()]
        return frozenset(out)


def retell(plan: Plan, verdicts: Sequence[Verdict], options: Options) -> None:
    """Raises Disagreement where running an entry breaks what is proved of it."""
    if not options.cross_check:
        return
    targets = {one.name: one.transfer.target for one in plan.transfers}
    targets |= {one.name: one.target for one in plan.accesses}
    targets |= {one.name: one.target for one in plan.indirects}
    targets |= {one.name: one.target for one in plan.programs}
    proved = {one.name for one in verdicts if one.status is Status.PROVED}
    entries = tuple((name, targets[name]) for name in targets if name in proved)
    if not entries:
        return
    from dmaverify.execute.beside import asked_beside
    from dmaverify.prove.move.witness import Disagreement

    told = asked_beside(Retold(plan.source.text, entries, dict(options.readings), options.cross_check))
    if told:
        raise Disagreement(min(told))
