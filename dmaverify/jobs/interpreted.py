"""Entries of a plan run from their text: programs, accesses, iterations of views; what came of it, in words and data.

Knows: how the interpreter is asked, what its answer says.
Does not know: how an entry is judged by proof, command lines.
Law: nothing is said that was not run; what no source settles is open, what is too large is not run, neither is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dmaverify.execute.outcome import run_code
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from dmaverify.execute.outcome import Outcome
    from dmaverify.plan.plan import Plan

UNKNOWN_CODE = 3


@dataclass(frozen=True)
class Interpreted:
    """One run. `beyond`: why there was none. `rows`: the keys of a gather or scatter."""

    name: str
    kind: str
    outcome: Outcome | None
    beyond: str = ""
    expect: tuple[str, ...] = field(default=())
    rows: int = 0

    @property
    def wrong(self) -> dict[str, str]:
        return {} if self.outcome is None else self.outcome.wrong

    @property
    def open(self) -> dict[str, str]:
        return {} if self.outcome is None else {r: why for r, why in self.outcome.unsaid.items() if r not in self.wrong}

    @property
    def code(self) -> int:
        """0 where the run keeps every promise, or breaks some and the plan says that it would."""
        if self.beyond:
            return UNKNOWN_CODE
        if self.wrong:
            return run_code(self.wrong, self.expect)
        return UNKNOWN_CODE if self.open and not self.expect else 0

    def lines(self) -> list[str]:
        if self.outcome is None:
            return [f"  not run   {self.beyond}"]
        done = self.outcome
        lines = [f"  ran       {done.ran:,} units of the text, in every order that it leaves open"]
        if self.rows:
            lines = [
                f"  ran       {self.rows:,} rows, {done.ran:,} bytes",
                f"  arrived   {done.arrived:,} bytes of {done.asked:,} that the index asks for",
            ]
        lines += [f"  broken    {rule}: {sight}" for rule, sight in self.wrong.items()]
        lines += [f"  lost      {sight}, and nothing read it in between" for sight in done.lost.values()]
        return lines + [f"  open      {rule}: {why}" for rule, why in self.open.items()]

    def text(self) -> str:
        said = "breaks its promise" if self.wrong else "is left open" if self.open else "keeps its promise"
        last = [] if self.outcome is None else ["", f"The {self.kind} {said}."]
        return "\n".join([self.name, *self.lines(), *last])

    def as_json(self) -> dict[str, Any]:
        done = self.outcome
        ran = 0 if done is None else done.ran
        known = {} if not self.rows or done is None else {
            "rows": self.rows, "moved": ran, "asked": done.asked, "right": done.arrived,
            "first_wrong": next((f"{rule}: {sight}" for rule, sight in done.wrong.items()), ""),
        }  # fmt: skip
        return {
            "name": self.name, "kind": self.kind, "units": ran, "kept": bool(ran) and not self.wrong and not self.open,
            "broken": sorted(self.wrong), "sights": dict(self.wrong), "open": dict(self.open), "not_run": self.beyond,
            **known,
        }  # fmt: skip


def interpreted(
    plan: Plan, name: str, kind: str, target: str, expect: tuple[str, ...] | None, most: int, rows: int = 0
) -> Interpreted:
    """Runs the entry `name` of the plan's text, up to `most` units."""
    from dmaverify.execute.interpret import interpret
    from dmaverify.execute.outcome import Beyond, OverLimit
    from dmaverify.plan.execution import PlanExecution

    try:
        if plan.is_kernel:
            raise Beyond("only entries of plan files are run from their text")
        outcome = interpret(*PlanExecution(plan.source.text, target=target, most=most).work(name))
    except Beyond as error:
        more = " (--limit)" if isinstance(error, OverLimit) else ""
        return Interpreted(name, kind, None, f"{error}{more}", expect or (), rows)
    return Interpreted(name, kind, outcome, "", expect or (), rows)
