"""Verdicts in the Reviewdog Diagnostic Format: one JSON object, which `reviewdog -f=rdjson` puts on a pull request.

Knows: the keys and severities of the format. Does not know: files, how an answer was obtained.
Law: same verdicts, same text; UNKNOWN is an error there too; what is expected or has an excuse is left out.

Source: reviewdog, "Reviewdog Diagnostic Format" (lines and columns from 1, the end exclusive, columns in UTF-8 bytes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dmaverify.errors import Span
from dmaverify.report.data import dumps
from dmaverify.report.order import deciding, in_full, in_order, place_of_span, place_of_verdict, remarks
from dmaverify.verdict import Finding, Severity, Verdict

SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.ADVICE: "INFO"}


def rdjson(verdicts: Iterable[Verdict]) -> str:
    """A `DiagnosticResult`, indented."""
    found = [one for verdict in in_order(verdicts) for one in _diagnostics(verdict)]
    return dumps({"source": {"name": "dmaverify"}, "diagnostics": found}, indent=2) + "\n"


def _diagnostics(verdict: Verdict) -> Iterator[dict[str, Any]]:
    yield from (_of_finding(finding, verdict) for finding in deciding(verdict))
    for one in remarks(verdict):
        yield _diagnostic(one.text, one.severity, one.rule, _where(one.span, verdict))


def _of_finding(finding: Finding, verdict: Verdict) -> dict[str, Any]:
    labels = [
        {"message": label.text, "location": _location(label.span)}
        for label in finding.labels
        if not label.span.source.name.startswith("<")
    ]
    where = _where(finding.span, verdict)
    out = _diagnostic(in_full(finding), finding.severity, finding.rule or "input", where)
    if labels:
        out["relatedLocations"] = labels
    if finding.fix:
        out["suggestions"] = [{"range": _range(edit.span), "text": edit.text} for edit in finding.fix]
    return out


def _diagnostic(text: str, severity: Severity, rule: str, where: dict[str, Any]) -> dict[str, Any]:
    return {"message": text, "location": where, "severity": SEVERITIES[severity], "code": {"value": rule}}


def _where(span: Span | None, verdict: Verdict) -> dict[str, Any]:
    """The span; without one, or in a text that has no file, the line of the verdict."""
    if span is not None and not span.source.name.startswith("<"):
        return _location(span)
    place = place_of_verdict(verdict)
    return {"path": place.path, "range": {"start": {"line": max(1, place.line)}}}


def _location(span: Span) -> dict[str, Any]:
    return {"path": span.source.name, "range": _range(span)}


def _range(span: Span) -> dict[str, Any]:
    place = place_of_span(span)
    end_line, end_column = place.end_line, place.end_column
    if span.end == span.start:
        end_line, end_column = place.line, place.column
    return {
        "start": {"line": place.line, "column": _bytes(span, place.line, place.column)},
        "end": {"line": end_line, "column": _bytes(span, end_line, end_column)},
    }


def _bytes(span: Span, line: int, column: int) -> int:
    return len(span.source.line_text(line)[: column - 1].encode("utf-8", "replace")) + 1
