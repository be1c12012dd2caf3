"""Verdicts for other programs: JSON, JSON lines, JUnit XML, GitHub annotations; SARIF is in `sarif`.

Knows: the keys of each format and its escapes.
Does not know: files, terminals, how an answer was obtained.
Law: numbers stay numbers, text is data and never markup, nothing is dropped that decides the verdict; UNKNOWN is a
failure in every format, and only what a plan itself declares is marked as expected. It returns text and prints nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree import ElementTree

from dmaverify.report.data import LEVELS, dumps, plain, where_json
from dmaverify.report.order import (
    TextPlace,
    bucket,
    findings_in_order,
    in_full,
    in_order,
    place_of,
    place_of_span,
    place_of_verdict,
    remarks,
    told,
    undecided,
    unmet,
)
from dmaverify.report.several import leaving
from dmaverify.report.text import render_verdict
from dmaverify.verdict import Finding, Obligation, Severity, Status, Verdict

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


# ---------------------------------------------------------------- JSON


def finding_json(finding: Finding, verdict: Verdict | None = None) -> dict[str, Any]:
    """One finding; its numbers as numbers, its counterexample as data."""
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": finding.message,
        "place": finding.place,
        "values": plain(finding.values),
        "witness": plain(finding.witness),
        "source": finding.source,
        "hint": finding.hint,
        "basis": finding.basis,
        "notes": list(finding.notes),
        **where_json(place_of(finding, verdict)),
        "labels": [{"text": label.text, **where_json(place_of_span(label.span))} for label in finding.labels],
        "fix": [{"text": edit.text, **where_json(place_of_span(edit.span))} for edit in finding.fix],
        "excuse": None if (e := finding.excuse) is None else {"kind": e.kind, "reason": e.reason},
    }


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """One element of the list that `check --format json` prints (README, formats)."""
    return {
        "name": verdict.name,
        "path": verdict.path,
        "line": verdict.line,
        "target": verdict.target,
        "status": verdict.status.value,
        "findings": [finding_json(finding, verdict) for finding in findings_in_order(verdict)],
        "obligations": [_obligation(one) for one in verdict.obligations],
        "assumptions": list(verdict.assumptions),
        "conditions": list(verdict.conditions),
        "readings": {key: verdict.readings[key] for key in sorted(verdict.readings)},
        "seconds": plain(verdict.seconds),
        "solver": verdict.solver,
        "claim": verdict.claim,
        **({} if verdict.sizes is None else {"sizes": plain(verdict.sizes)}),
        **({} if verdict.smallest is None else {"smallest": dict(verdict.smallest)}),
        "confirmed": verdict.confirmed,
        "scope": verdict.scope,
        "expect": None if verdict.expect is None else list(verdict.expect),
        "as_expected": verdict.as_expected,
    }


def _obligation(one: Obligation) -> dict[str, Any]:
    """One claim; `where` only where one part of a text keeps it open."""
    where = {} if one.span is None else {"where": where_json(place_of_span(one.span))}
    return {"id": one.id, "status": one.status, "by": one.by, "why": one.why, **where}


def json_text(verdicts: Iterable[Verdict]) -> str:
    """A list of verdicts, indented; ends with a line break."""
    return dumps([verdict_json(verdict) for verdict in in_order(verdicts)], indent=2) + "\n"


def json_lines(verdicts: Iterable[Verdict]) -> str:
    """One verdict a line."""
    return "".join(dumps(verdict_json(verdict)) + "\n" for verdict in in_order(verdicts))


# ---------------------------------------------------------------- JUnit


def junit(verdicts: Iterable[Verdict], code: int | None = None) -> str:
    """One suite a file, one case a transfer: refuted is a failure, unknown and unreadable are errors. No times.

    Each suite has the exit code of the whole run as a property (the format has none above the suites).
    """
    seen = in_order(verdicts)
    root = ElementTree.Element("testsuites", {"name": "dmaverify", **_junit_counts(seen)})
    for path in dict.fromkeys(verdict.path for verdict in seen):
        own = [verdict for verdict in seen if verdict.path == path]
        suite = ElementTree.SubElement(root, "testsuite", {"name": _xml(path or "<input>"), **_junit_counts(own)})
        told_last = {"name": "dmaverify.exit", "value": leaving(seen, code)}
        ElementTree.SubElement(ElementTree.SubElement(suite, "properties"), "property", told_last)
        for verdict in own:
            _junit_case(suite, verdict)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _junit_outcome(verdict: Verdict) -> str:
    """`` (passed), `failure` or `error`."""
    if verdict.status in (Status.UNKNOWN, Status.ERROR):
        return "error"
    return "" if verdict.as_expected else "failure"


def _junit_counts(verdicts: Sequence[Verdict]) -> dict[str, str]:
    outcomes = [_junit_outcome(verdict) for verdict in verdicts]
    number = {"tests": len(outcomes), "failures": outcomes.count("failure"), "errors": outcomes.count("error")}
    return {key: str(value) for key, value in number.items()}


def _junit_case(suite: ElementTree.Element, verdict: Verdict) -> None:
    where = {"file": _xml(verdict.path)} if verdict.path else {}
    where |= {"line": str(verdict.line)} if verdict.line else {}
    name = {"classname": _xml(verdict.path or "dmaverify"), "name": _xml(verdict.name)}
    case = ElementTree.SubElement(suite, "testcase", {**name, **where})
    outcome = _junit_outcome(verdict)
    text = _xml(render_verdict(verdict, "full"))
    if not outcome:
        ElementTree.SubElement(case, "system-out").text = text
        return
    open_rules = sorted({finding.rule for finding in verdict.errors if finding.excuse is None})
    rules = open_rules or [one.id for one in undecided(verdict)]
    first = next((f for f in told(verdict) if f.severity is Severity.ERROR), None)
    said = unmet(verdict) or (f"{first.rule}: {first.message}" if first is not None else ", ".join(rules))
    others = [rule for rule in rules if first is not None and rule != first.rule]
    said += f" (and {', '.join(others)})" if first is not None and others and not unmet(verdict) else ""
    attributes = {"type": verdict.status.value, "message": _xml(f"{verdict.status.value.upper()}: {said}".rstrip(": "))}
    ElementTree.SubElement(case, outcome, attributes).text = text


def _xml(text: str) -> str:
    """Without the characters that XML 1.0 cannot hold at all."""
    return _NOT_XML.sub("\ufffd", text)


# ---------------------------------------------------------------- GitHub


def github(verdicts: Iterable[Verdict], code: int | None = None) -> str:
    """Workflow commands, one annotation a finding; expected findings are notices; last the exit code, where given."""
    lines: list[str] = []
    seen = in_order(verdicts)
    for verdict in seen:
        expected = bucket(verdict) == "expected"
        for finding in told(verdict):
            level = {"note": "notice"}.get(LEVELS[finding.severity], LEVELS[finding.severity])
            level = "notice" if expected and level == "error" else level
            title = f"{finding.rule or 'input'}{' (expected)' if level == 'notice' and expected else ''}"
            lines.append(_annotation(level, title, in_full(finding), place_of(finding, verdict), verdict))
        for one in remarks(verdict):
            level = "notice" if one.word == "condition" else "error"
            lines.append(_annotation(level, one.rule, one.text, place_of(one, verdict), verdict))
    if code is not None:
        lines.append(f"::notice title=dmaverify::{github_text(leaving(seen, code))}")
    return "".join(f"{line}\n" for line in lines)


def _annotation(level: str, title: str, text: str, place: TextPlace, verdict: Verdict) -> str:
    if place.path.startswith("<") and verdict.path:
        place = place_of_verdict(verdict)
    wanted = {
        "file": place.path,
        "line": str(place.line or ""),
        "col": str(place.column or ""),
        "endLine": str(place.end_line or ""),
        "title": title,
    }
    properties = ",".join(f"{key}={_github_property(value)}" for key, value in wanted.items() if value)
    return f"::{level} {properties}::{github_text(text)}"


def github_text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _github_property(text: str) -> str:
    return github_text(text).replace(":", "%3A").replace(",", "%2C")
