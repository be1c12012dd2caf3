"""Things that a machine's own scopes describe, judged by its rules: no move, no command, one verdict.

Knows: rules of a target on instances that somebody derived. Does not know: any machine, files, what was listed.
Law: every item is judged on every instance; a line that could not be read makes the verdict an error, nothing read is
an error too, and each broken rule is reported once an item and side, with how often.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dmaverify.errors import InputError, Span
from dmaverify.prove.move.static import Instance, Ruling
from dmaverify.targets.modules import Derived
from dmaverify.targets.target import Target
from dmaverify.verdict import Finding, Obligation, Severity, Status, Verdict


@dataclass(frozen=True, slots=True)
class Item:
    """One thing of a file: what it is called, where it stands, what rules look at."""

    name: str
    span: Span | None
    facts: Sequence[Derived]
    tiers: tuple[str, str] = ("", "")
    counted: bool = True  # whether it is one of the things that the claim counts


def judge_listed(
    items: Iterable[Item | InputError], target: Target, *, name: str, path: str, unit: str,
    readings: Mapping[str, str] | None = None,
) -> Verdict:  # fmt: skip
    """The verdict on all items of a file. `unit` names them in the claim: "transfers"."""
    started = time.perf_counter()
    findings: list[Finding] = []
    count = looked = broken = 0
    unread = False
    differs: list[str] = []
    for item in items:
        if isinstance(item, InputError):
            unread = True
            findings.append(
                Finding(
                    "core/input", Severity.ERROR, item.message, "", item.span, hint=item.hint or "", source="its form"
                )
            )
            continue
        count += item.counted
        ruling = Ruling(target, "dma", *item.tiers, "", target.limits, dict(readings or {}))
        report = ruling.judge(
            [
                Instance(f.scope, f.values, ", ".join(p for p in (item.name, f.place) if p), item.span, f.side)
                for f in item.facts
            ]
        )
        looked += len(item.facts)
        findings += report.findings
        differs += report.differs
        broken += any(f.severity is Severity.ERROR for f in report.findings)
    if not count and not unread:
        findings.append(Finding("core/input", Severity.ERROR, f"no {unit} to judge", path, source="its form"))
    status = Status.ERROR if unread or not count else Status.REFUTED if broken else Status.PROVED
    rules = {f.rule for f in findings if f.severity is Severity.ERROR and f.rule != "core/input"}
    by = f"{looked:,} looked at" + (f", {broken:,} of {count:,} {unit} broken" if broken else "")
    obligations = (Obligation(f"{target.name}/*", "refuted" if rules else "proved", by),) if count else ()
    assumptions = tuple(f"{rule}: the verdict differs under another reading" for rule in dict.fromkeys(differs))
    return Verdict(
        name, target.name, status, tuple(findings), obligations, assumptions, dict(readings or {}),
        time.perf_counter() - started, "", path, 1, None, f"all {count:,} {unit}",
    )  # fmt: skip
