"""Suppressed findings: which comments of a plan excuse which findings, and which excuse none.

Knows: rules and their verdicts.
Does not know: how comments are found, how findings are shown.
Law: a suppression excuses findings of its rule in its own transfer alone; one that excuses nothing is a finding, and
one that names no rule is an InputError. An excused finding stays in every report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dmaverify.errors import Source
from dmaverify.inputs.suppress import MARK, Allowance, allowances
from dmaverify.inputs.suppress_rust import LineAllowance, line_allowances
from dmaverify.report.fingerprint import settled
from dmaverify.verdict import Excuse, Finding, Severity, Status, Verdict

UNUSED = "core/unused-suppression"


def with_suppressions(verdicts: Iterable[Verdict], source: Source, whole: bool = False) -> list[Verdict]:
    """The verdicts on one plan or kernel, with what its text suppresses. Raises InputError for a comment that is wrong.

    `whole`: these are all the verdicts of the text, so that a suppression of a kernel that stands at none is unused.
    """
    seen = list(verdicts)
    if MARK not in source.text:
        return seen
    if source.name.endswith(".rs"):
        return _in_kernel(seen, source, whole)
    found = allowances(source)
    _known(found)
    return [_excused(verdict, [one for one in found if one.owner == verdict.name]) for verdict in seen]


def _in_kernel(verdicts: Sequence[Verdict], source: Source, whole: bool) -> list[Verdict]:
    """In a kernel a suppression belongs to the first transfer of the statement that it stands at."""
    found = line_allowances(source, {verdict.line for verdict in verdicts})
    _known(found)
    done = [_excused(verdict, [one for one in found if verdict.line in one.lines]) for verdict in verdicts]
    astray = [one for one in found if not one.lines] if whole and done else []
    if astray:
        findings = (*done[0].findings, *(_unused(one) for one in astray))
        done[0] = replace(done[0], findings=findings)
    return done


def _known(found: Sequence[Allowance | LineAllowance]) -> None:
    """Raises InputError, at the comment, for a rule that no machine has."""
    from dmaverify.errors import InputError
    from dmaverify.report.rules import explain_id_json

    for rule, span in {one.rule: one.span for one in reversed(found)}.items():
        try:
            explain_id_json(rule)
        except InputError as error:
            raise InputError(error.message, span, error.hint) from None


def _excused(verdict: Verdict, own: Sequence[Allowance | LineAllowance]) -> Verdict:
    if not own or verdict.status is Status.ERROR:
        return verdict
    reasons = {one.rule: one.reason for one in own}
    findings = [
        replace(f, excuse=Excuse("suppressed", reasons[f.rule])) if f.rule in reasons and f.excuse is None else f
        for f in verdict.findings
    ]
    broken = {finding.rule for finding in verdict.findings}
    if verdict.status is not Status.UNKNOWN:
        findings += [_unused(one) for one in own if one.rule not in broken]
    return settled(verdict, findings)


def _unused(one: Allowance | LineAllowance) -> Finding:
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
