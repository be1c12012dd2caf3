"""A second opinion on a verdict: what is proved or refuted is run from the text, by the interpreter, where it is small.

Knows: how the interpreter is asked (in the process beside, where there is one), which obligations a run can speak of.
Does not know: how a verdict came about.
Law: an entry that is proved and that some execution breaks is a Disagreement, never a verdict; so is one that an
obligation of the core or a starving bank refutes while every execution keeps every promise. What is too large, or has
no meaning that any source settles, is left as it is: a refutation then says that its witness confirms it, or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dmaverify.errors import Disagreement
from dmaverify.program.indirect import Indirect
from dmaverify.program.move import Transfer
from dmaverify.values import dataclass, replace
from dmaverify.verdict import Finding, Status, Verdict

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.program.schedule import Program
    from dmaverify.prove.move.preconditions import Work
    from dmaverify.prove.options import Options


NOT_RUN = frozenset({"core/well-formed", "core/consumes", "core/not-vacuous"})  # no run shows them broken
BY_RUN, BY_WITNESS, BY_NOTHING = "a run of the text", "its witness", "nothing else: it was not run"


@dataclass(frozen=True, slots=True)
class Retold:
    """An entry of a text, to be run on a target, up to so many units."""

    text: str
    name: str
    target: str
    readings: Mapping[str, str]
    most: int

    def broken(self) -> frozenset[str] | None:
        """What some execution breaks, as sentences; None where a run cannot tell."""
        from dmaverify.execute.interpret import interpret
        from dmaverify.execute.outcome import Beyond
        from dmaverify.plan.execution import PlanExecution

        try:
            read = PlanExecution(self.text, target=self.target, readings=self.readings, most=self.most)
            found = interpret(*read.work(self.name))
        except Beyond:
            return None
        if found.unsaid and not found.wrong:
            return None
        return frozenset(f"{rule} is broken: {sight}" for rule, sight in found.wrong.items())


def begin_beside(plan: Plan, options: Options) -> None:
    """Starts loading what executes, where an entry of the plan may be small enough to be run."""
    small = any(may_run(one.transfer, options.run_units) for one in plan.transfers)
    if options.run_units and (small or plan.accesses or plan.indirects or plan.programs):
        from dmaverify.execute.beside import Beside

        Beside.begin()


def may_run(item: Work | Program, most: int) -> bool:
    """Whether the interpreter may take an entry: it runs no move of a tensor of more positions."""
    sides = (item.source, item.dest) if isinstance(item, Transfer) else ()
    return most > 0 and all(side.mapping.size <= most for side in sides)


def retell(text: str, item: Work | Program, target: str, verdict: Verdict, options: Options) -> Verdict:
    """The verdict, a refutation with what confirms it. Raises Disagreement where a run of the entry contradicts it."""
    name = item.name
    broken = sorted({rule for f in verdict.errors for rule in _of_a_run(f)})
    refuted = verdict.status is Status.REFUTED and bool(broken)
    alone = BY_WITNESS if _all_shown(verdict) else BY_NOTHING
    witnessed = replace(verdict, confirmed=alone) if refuted else verdict
    asks = verdict.status is Status.PROVED or (refuted and options.repair)
    if not asks or not may_run(item, options.run_units):
        return witnessed
    from dmaverify.execute.beside import asked_beside

    told = asked_beside(Retold(text, name, target, dict(options.readings), options.run_units))
    if told and not refuted:
        raise Disagreement(f"`{name}` is proved, but in a run of its text {min(told)}")
    if refuted and told is not None and not told:
        raise Disagreement(f"`{name}` is refuted by {', '.join(broken)}, but every run of its text keeps its promises")
    if told is not None and not told and isinstance(item, Indirect):
        return replace(verdict, confirmed="a run: numpy agrees on every row")
    if not (refuted and told):
        return witnessed
    seen = {sentence.partition(" ")[0] for sentence in told}
    others = ", ".join(rule for rule in broken if rule not in seen)
    rest = f"; {others} {f'by {BY_WITNESS}' if _all_shown(verdict) else 'by nothing else'}" if others else ""
    return replace(verdict, confirmed=BY_RUN + rest)


def rules_of(finding: Finding) -> list[str]:
    """What a finding says is broken: of a step that is refuted by itself, the rules of that step."""
    return str(finding.values.get("errors", "")).split(", ") if finding.rule == "core/steps" else [finding.rule]


def _of_a_run(finding: Finding) -> list[str]:
    """Those of them that a run may show: obligations, and accesses that must be serialised with DMA."""
    if finding.values.get("outcome") == "serialise":
        return [finding.rule]
    return [rule for rule in rules_of(finding) if rule.startswith("core/") and rule not in NOT_RUN]


def _all_shown(verdict: Verdict) -> bool:
    """Whether every broken obligation of the core has a counterexample."""
    return all(f.witness for f in verdict.errors if _of_a_run(f))
