"""Findings on the steps of a program, each by itself.

Knows: how they are worded. Does not know: how a step was judged.
Law: what a plan does not show elsewhere is shown here, as it was found.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmaverify.program.schedule import Step
from dmaverify.values import replace
from dmaverify.verdict import Finding, Severity, Verdict


def step_findings(step: Step, name: str, verdict: Verdict, *, alone: bool) -> Iterator[Finding]:
    """Of a step that is refuted as `name`; `alone`: nothing else in the plan shows why."""
    if alone:
        yield from (replace(f, notes=(*f.notes, f"of step `{step.name}`")) for f in verdict.errors)
    ids = ", ".join(dict.fromkeys(f.rule for f in verdict.errors))
    yield Finding(
        "core/steps",
        Severity.ERROR,
        f"step `{step.name}` is refuted by itself: {ids}",
        f"step {step.name}",
        step.span,
        {"step": step.name, "errors": ids},
        hint="see the findings above" if alone else f"see `{name}`",
    )
