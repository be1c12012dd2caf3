"""Verdicts as SARIF 2.1.0, as code scanning takes it.

Knows: the keys of the format, and GitHub's limits on them.
Does not know: files, terminals, how an answer was obtained.
Law: same verdicts, same text; UNKNOWN is a result of level error; what a limit leaves out is counted in a
notification, and errors are the last to be left out.

Source: SARIF 2.1.0 (OASIS), sections 3.13 to 3.49; GitHub, "SARIF support for code scanning" (25,000 results a run,
1,000 locations a result, 10,000 steps of a flow, 20 tags a rule).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from dmaverify.errors import InputError
from dmaverify.report.data import LEVELS, dumps, plain
from dmaverify.report.edits import in_text
from dmaverify.report.fingerprint import digest, fingerprint
from dmaverify.report.order import (
    Shortfall,
    TextPlace,
    bucket,
    findings_in_order,
    in_full,
    in_order,
    place_of,
    place_of_span,
    place_of_verdict,
    remarks,
)
from dmaverify.report.several import leaving
from dmaverify.verdict import Finding, Severity, Verdict, exit_code

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS = 25_000
MOST_LOCATIONS = 100
MOST_STEPS = 100
MOST_TEXT = 4_000  # characters of one message; a witness as data can be long
_RANK = {"error": 0, "warning": 1, "note": 2}
_PROBLEM = {"error": "error", "warning": "warning", "advice": "recommendation"}


def sarif(verdicts: Iterable[Verdict], version: str = "", code: int | None = None) -> str:
    """`sarif_json` as text, indented."""
    return dumps(sarif_json(verdicts, version, code=code), indent=2) + "\n"


def sarif_json(
    verdicts: Iterable[Verdict], version: str = "", most: int = MOST_RESULTS, code: int | None = None
) -> dict[str, Any]:
    """A SARIF 2.1.0 log of one run. Expected, suppressed and known findings are suppressed results.

    `version` is the tool's own, `code` the exit code of the run (by default that of the verdicts).
    Fingerprints hold no line number, so that they survive edits elsewhere in a file.
    """
    seen = in_order(verdicts)
    every = [result for verdict in seen for result in _results(verdict)]
    results = every if len(every) <= most else _most_important(every, most)
    _count_fingerprints(results)
    rules = _rules(seen, results)
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = index[result["ruleId"]]
    driver: dict[str, Any] = {"name": "dmaverify", "rules": rules}
    if version:
        driver |= {"version": version, "semanticVersion": version}
    code = exit_code(seen) if code is None else code
    invocation: dict[str, Any] = {"executionSuccessful": code in (0, 1), "exitCode": code}
    invocation["exitCodeDescription"] = leaving(seen, code)
    if len(results) < len(every):
        text = f"{len(every) - len(results):,} of {len(every):,} results are left out: a run holds {most:,}"
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": {"text": text}}]
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "dmaverify/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _most_important(results: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The first `most` by level, unsuppressed before suppressed, in the order in which they came."""
    rank = {id(r): (bool(r.get("suppressions")), _RANK[r["level"]], n) for n, r in enumerate(results)}
    kept = sorted(results, key=lambda result: rank[id(result)])[:most]
    return sorted(kept, key=lambda result: rank[id(result)][-1])


def _count_fingerprints(results: Sequence[dict[str, Any]]) -> None:
    """GitHub joins results of equal fingerprints; a number behind it keeps each of them."""
    seen: Counter[str] = Counter()
    for result in results:
        mark = result["partialFingerprints"]["dmaverify/v1"]
        seen[mark] += 1
        result["partialFingerprints"]["primaryLocationLineHash"] = f"{mark[:16]}:{seen[mark]}"


# ---------------------------------------------------------------- rules


def _rules(verdicts: Sequence[Verdict], results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    sources = {finding.rule: finding.source for verdict in verdicts for finding in verdict.findings if finding.source}
    homes = {finding.rule: verdict.target for verdict in verdicts for finding in verdict.findings}
    used = sorted({result["ruleId"] for result in results})
    return [_rule(rule, homes.get(rule, ""), sources.get(rule, "")) for rule in used]


def _rule(rule: str, target: str, source: str) -> dict[str, Any]:
    data = _known(rule, target)
    if data is None:
        return {"id": rule, **({"help": {"text": source}} if source else {})}
    severity = data.get("severity") or "error"
    told = [(word, str(data.get(word) or "")) for word in ("why", "wrong", "right", "hint", "source")]
    shown = [(word, text) for word, text in told if text]
    name = "".join(part.capitalize() for part in rule.replace("/", "-").split("-"))
    return {
        "id": rule,
        "name": name,
        "shortDescription": {"text": str(data["title"])},
        "fullDescription": {"text": f"{data['title']}. {data.get('why') or ''}".strip()},
        "help": {
            "text": "\n".join(f"{word}: {text}" for word, text in shown),
            "markdown": "\n\n".join(f"**{word}** {text}" for word, text in shown),
        },
        "defaultConfiguration": {"level": {"advice": "note"}.get(severity, severity)},
        "properties": {
            "tags": ["dma", rule.split("/")[0]],
            "precision": "very-high",
            "problem.severity": _PROBLEM.get(severity, "error"),
        },
    }


def _known(rule: str, target: str) -> dict[str, Any] | None:
    """What `explain` knows of the rule, in its machine or any; None for what is no rule."""
    from dmaverify.report.rules import explain_id_json
    from dmaverify.targets.target import load_target

    for machine in (target, ""):
        try:
            return explain_id_json(rule, load_target(machine) if machine else None)
        except InputError:
            continue
    return None


# ---------------------------------------------------------------- results


def _results(verdict: Verdict) -> list[dict[str, Any]]:
    results = [_result(finding, verdict) for finding in findings_in_order(verdict)]
    return results + [_remark(one, verdict) for one in remarks(verdict)]


def _remark(remark: Shortfall, verdict: Verdict) -> dict[str, Any]:
    return {
        "ruleId": remark.rule,
        "level": LEVELS[remark.severity],
        "message": {"text": _short(remark.text)},
        "locations": _locations(place_of(remark, verdict), verdict),
        "partialFingerprints": {"dmaverify/v1": digest(remark.rule, verdict.name)},
    }


def _result(finding: Finding, verdict: Verdict) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule or "input",
        "level": LEVELS[finding.severity],
        "message": {"text": _short(in_full(finding))},
        "locations": _locations(place_of(finding, verdict), verdict),
        "partialFingerprints": {"dmaverify/v1": fingerprint(finding, verdict)},
        "properties": {"transfer": verdict.name, "target": verdict.target, "values": plain(finding.values)},
    }
    if finding.labels:
        result["relatedLocations"] = [
            {"id": number, "message": {"text": _short(label.text)}, **_location(place_of_span(label.span), verdict)}
            for number, label in enumerate(finding.labels[:MOST_LOCATIONS], 1)
        ]
    if finding.witness:
        if len(dumps(finding.witness)) <= MOST_TEXT:
            result["properties"]["witness"] = plain(finding.witness)
        result["codeFlows"] = [_flow(finding, verdict)]
    if finding.fix and (changed := _fix(finding, verdict)):
        result["fixes"] = [changed]
    if excuse := _suppression(finding, verdict):
        result["suppressions"] = [excuse]
    return result


def _suppression(finding: Finding, verdict: Verdict) -> dict[str, str]:
    if finding.excuse is not None:
        kind = "inSource" if finding.excuse.kind == "suppressed" else "external"
        return {"kind": kind, "justification": finding.excuse.reason}
    if bucket(verdict) == "expected" and finding.severity is Severity.ERROR:
        return {"kind": "inSource", "justification": "the plan expects this finding"}
    return {}


def _fix(finding: Finding, verdict: Verdict) -> dict[str, Any] | None:
    """The proved edits as replacements in one file."""
    place = _location(place_of_span(finding.fix[0].span), verdict).get("physicalLocation")
    if place is None:
        return None
    replacements = []
    for edit in in_text(finding.fix):
        at = place_of_span(edit.span)
        end = (at.line, at.column) if edit.span.start == edit.span.end else (at.end_line, at.end_column)
        region = {"startLine": at.line, "startColumn": at.column, "endLine": end[0], "endColumn": end[1]}
        replacements.append({"deletedRegion": region, "insertedContent": {"text": edit.text}})
    change = {"artifactLocation": place["artifactLocation"], "replacements": replacements}
    return {"description": {"text": "the plan is proved with this change"}, "artifactChanges": [change]}


def _flow(finding: Finding, verdict: Verdict) -> dict[str, Any]:
    """The counterexample, one step a key, all at the place of the finding."""
    at = _location(place_of(finding, verdict), verdict)
    steps = [
        {"location": {**at, "message": {"text": _short(f"{str(key).replace('_', ' ')}: {_flat(value)}")}}}
        for key, value in (finding.witness or {}).items()
    ]
    return {"threadFlows": [{"locations": steps[:MOST_STEPS]}]}


def _flat(value: Any) -> str:
    data = plain(value)
    if isinstance(data, dict):
        return ", ".join(f"{key} = {_flat(part)}" for key, part in data.items())
    return ", ".join(map(_flat, data)) if isinstance(data, list) else str(data)


def _short(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 4]} ..."


# ---------------------------------------------------------------- places


def _location(place: TextPlace, verdict: Verdict) -> dict[str, Any]:
    if place.path.startswith("<") and verdict.path:  # text without a file of its own: the transfer that holds it
        place = place_of_verdict(verdict)
    if not place.path or place.path.startswith("<"):
        return {}
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.path)}}
    if place.line:
        region = {
            "startLine": place.line,
            "startColumn": place.column or None,
            "endLine": place.end_line or None,
            "endColumn": place.end_column or None,
        }
        physical["region"] = {key: value for key, value in region.items() if value is not None}
    return {"physicalLocation": physical}


def _locations(place: TextPlace, verdict: Verdict) -> list[dict[str, Any]]:
    return [location] if (location := _location(place, verdict)) else []


def _uri(path: str) -> str:
    raw = path.replace("\\", "/").removeprefix("./")
    encoded = quote(raw.encode("utf-8", "surrogateescape"), safe="/")
    return f"file://{encoded}" if encoded.startswith("/") else encoded
