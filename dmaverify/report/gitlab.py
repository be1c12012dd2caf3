"""Verdicts as GitLab reads code quality: the findings that decide something, by place and fingerprint.

Knows: the keys and severities of the report. Does not know: files, how an answer was obtained.
Law: same verdicts, same text; UNKNOWN is never left out; what is expected or has an excuse is, since GitLab has no word
for it; each fingerprint is its own, so that none hides another.

Source: GitLab documentation, "Code Quality", report format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from dmaverify.report.data import dumps
from dmaverify.report.fingerprint import clean_path, digest, fingerprint
from dmaverify.report.order import TextPlace, deciding, in_order, place_of, place_of_verdict, remarks
from dmaverify.verdict import Severity, Verdict

SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.ADVICE: "info"}


def gitlab(verdicts: Iterable[Verdict]) -> str:
    """A JSON array of issues, indented."""
    seen: Counter[str] = Counter()
    issues = []
    for issue in (issue for verdict in in_order(verdicts) for issue in _issues(verdict)):
        seen[issue["fingerprint"]] += 1
        number = seen[issue["fingerprint"]]
        issues.append({**issue, "fingerprint": digest(issue["fingerprint"], str(number))})
    return dumps(issues, indent=2) + "\n"


def _issues(verdict: Verdict) -> Iterator[dict[str, Any]]:
    for finding in deciding(verdict):
        mark = digest(clean_path(verdict.path), fingerprint(finding, verdict))
        text = "; ".join([finding.message, *([f"help: {finding.hint}"] if finding.hint else [])])
        rule, severity = finding.rule or "input", SEVERITIES[finding.severity]
        yield _issue(rule, severity, text, mark, place_of(finding, verdict), verdict)
    for one in remarks(verdict):
        mark = digest(clean_path(verdict.path), one.rule, verdict.name, one.word)
        level = "info" if one.word == "condition" else "major"
        yield _issue(one.rule, level, one.text, mark, place_of(one, verdict), verdict)


def _issue(rule: str, severity: str, text: str, mark: str, place: TextPlace, verdict: Verdict) -> dict[str, Any]:
    if place.path.startswith("<") or not place.path:
        place = place_of_verdict(verdict)
    where = {"path": clean_path(place.path), "lines": {"begin": max(1, place.line)}}
    return {"description": text, "check_name": rule, "fingerprint": mark, "severity": severity, "location": where}
