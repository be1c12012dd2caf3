"""What stays the same of a finding while the text around it moves: fingerprints, and baselines made of them.

Knows: rule, transfer, place and the characters that a finding points at, blanks aside.
Does not know: lines, columns, how findings are shown.
Law: a fingerprint holds no line number, and equal ones are told apart by counting, so that none hides another: a
baseline excuses as many findings of a file as it was written with, and nothing but findings.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from dmaverify.errors import InputError
from dmaverify.report.order import findings_in_order, in_order
from dmaverify.values import replace
from dmaverify.verdict import Excuse, Finding, Severity, Status, Verdict

BASELINE_VERSION = 1
_HINT = "write it with `dmaverify check PATH --write-baseline FILE`"


def digest(*parts: str) -> str:
    import hashlib

    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def fingerprint(finding: Finding, verdict: Verdict) -> str:
    """SHA-256 of rule, transfer, place and the text that it points at, without blanks; and of how many it stands for,
    where these are several.
    """
    written = "" if finding.span is None else "".join(finding.span.text.split())
    many = (str(finding.count),) if finding.count > 1 else ()
    return digest(finding.rule or "input", verdict.name, finding.place, written, *many)


def clean_path(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./")


Placed = Callable[[str], str]
"""A path as a baseline has it: the same from wherever the check is started."""


def baseline_text(verdicts: Iterable[Verdict], placed: Placed = clean_path) -> str:
    """The findings that decide something now, as JSON: one entry a file, rule and fingerprint, with its number."""
    counted: Counter[tuple[str, str, str, str]] = Counter()
    for verdict in in_order(verdicts):
        if verdict.status is Status.REFUTED and not (verdict.expect and verdict.as_expected):
            for finding in verdict.errors:
                if finding.excuse is None or finding.excuse.kind == "baseline":
                    key = (placed(verdict.path), verdict.name, finding.rule, fingerprint(finding, verdict))
                    counted[key] += 1
    entries = [
        {"path": path, "name": name, "rule": rule, "fingerprint": mark, "count": counted[path, name, rule, mark]}
        for path, name, rule, mark in sorted(counted)
    ]
    return json.dumps({"baseline": BASELINE_VERSION, "findings": entries}, indent=1) + "\n"


def read_baseline(text: str, name: str) -> Counter[tuple[str, str]]:
    """How many findings of a file and fingerprint are known. Raises InputError for anything that is no baseline."""
    try:
        data = json.loads(text)
        if data["baseline"] != BASELINE_VERSION:
            raise ValueError(data["baseline"])
        entries = data["findings"]
        known = Counter({(str(e["path"]), str(e["fingerprint"])): int(e["count"]) for e in entries})
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{name} is no baseline of this version", None, _HINT) from None
    return known


def with_baseline(
    verdicts: Sequence[Verdict], known: Counter[tuple[str, str]], name: str, placed: Placed = clean_path
) -> list[Verdict]:
    """The verdicts with every known error excused; what the baseline does not count stays."""
    left = Counter(known)
    found = {id(verdict): _excused(verdict, left, name, placed) for verdict in in_order(verdicts)}
    return [found[id(verdict)] for verdict in verdicts]


def _excused(verdict: Verdict, left: Counter[tuple[str, str]], name: str, placed: Placed) -> Verdict:
    if verdict.status is not Status.REFUTED or (verdict.expect and verdict.as_expected):
        return verdict
    excuse = Excuse("baseline", f"known to {clean_path(name)}")
    known: set[int] = set()
    for finding in findings_in_order(verdict):
        key = (placed(verdict.path), fingerprint(finding, verdict))
        if finding.severity is Severity.ERROR and finding.excuse is None and left[key] > 0:
            left[key] -= 1
            known.add(id(finding))
    return settled(verdict, [replace(f, excuse=excuse) if id(f) in known else f for f in verdict.findings])


def settled(verdict: Verdict, findings: Sequence[Finding]) -> Verdict:
    """The verdict with findings of which some got an excuse: without another error, what is open decides."""
    status = verdict.status
    open_ones = [f for f in findings if f.severity is Severity.ERROR and f.excuse is None]
    states = {o.status for o in verdict.obligations}
    meaningless = any((o.id, o.status) == ("core/well-formed", "refuted") for o in verdict.obligations)
    alone = meaningless and not states & {"proved", "reported"}  # nothing else was judged
    if status is Status.REFUTED and not open_ones and ("unknown" in states or alone):
        status = Status.UNKNOWN
    return replace(verdict, findings=tuple(findings), status=status)
