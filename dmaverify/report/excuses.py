"""Suppressed findings: which comments of a plan excuse which findings, and which excuse none.

Knows: rules and their verdicts.
Does not know: how comments are found, how findings are shown.
Law: a suppression excuses findings of its rule in its own transfer alone; one that excuses nothing is a finding, and
one that names no rule is an InputError. An excused finding stays in every report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dmaverify.errors import Source
from dmaverify.plan.suppress import MARK, Allowance, allowances
from dmaverify.values import replace
from dmaverify.verdict import Excuse, Finding, Severity, Status, Verdict

if TYPE_CHECKING:
    from dmaverify.targets.target import Target

UNUSED = "core/unused-suppression"
UNRESOLVED = "core/unresolved-transfer"


def with_suppressions(
    verdicts: Iterable[Verdict], source: Source, machines: Iterable[Target] = (), kernel: Any = None
) -> list[Verdict]:
    """The verdicts on one plan, with what its text suppresses. Raises InputError for a comment that is wrong.

    `machines` are the plan's own; `kernel` is the plan of a Rust file, whose comments are Rust's.
    """
    seen = list(verdicts)
    if MARK not in source.text:
        return seen
    found = allowances(source) if kernel is None else _of_kernel(kernel)
    _known(found, machines)
    return [_excused(verdict, [one for one in found if one.owner == verdict.name]) for verdict in seen]


def _of_kernel(kernel: Any) -> list[Allowance]:
    from dmaverify.machines.rngd.rust.comments import kernel_allowances

    return kernel_allowances(kernel)


def _known(found: Sequence[Allowance], machines: Iterable[Target]) -> None:
    """Raises InputError, at the comment, for a rule that no machine has."""
    from dmaverify.errors import InputError
    from dmaverify.report.rules import explain_id_json, known_ids

    own = known_ids(machines) if found else ()
    for rule, span in {one.rule: one.span for one in reversed(found)}.items():
        if rule in own:
            continue
        try:
            explain_id_json(rule)
        except InputError as error:
            raise InputError(error.message, span, error.hint) from None


def _excused(verdict: Verdict, own: Sequence[Allowance]) -> Verdict:
    if not own or verdict.status is Status.ERROR:
        return verdict
    from dmaverify.report.fingerprint import settled

    reasons = {one.rule: one.reason for one in own}
    if UNRESOLVED in reasons:
        verdict = _refuted(verdict)
    findings = [
        replace(f, excuse=Excuse("suppressed", reasons[f.rule])) if f.rule in reasons and f.excuse is None else f
        for f in verdict.findings
    ]
    broken = {finding.rule for finding in verdict.findings}
    if verdict.status is not Status.UNKNOWN:
        findings += [_unused(one) for one in own if one.rule not in broken]
    return settled(verdict, findings)


def _refuted(verdict: Verdict) -> Verdict:
    """An unresolved call as an error that an excuse can be given for, rather than as a question left open."""
    findings = [replace(f, severity=Severity.ERROR) if f.rule == UNRESOLVED else f for f in verdict.findings]
    obligations = [replace(o, status="not judged") if o.id == UNRESOLVED else o for o in verdict.obligations]
    changed = findings != list(verdict.findings)
    status = Status.REFUTED if changed else verdict.status
    return replace(verdict, findings=tuple(findings), obligations=tuple(obligations), status=status)


def _unused(one: Allowance) -> Finding:
    return Finding(
        UNUSED,
        Severity.WARNING,
        f"nothing breaks `{one.rule}` here any more",
        "suppression",
        one.span,
        {"rule": one.rule},
        source="dmaverify, on its own account",
        hint="delete the comment",
    )
