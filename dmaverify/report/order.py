"""Where a finding stands, in which order findings are told, and which box a verdict is counted in.

Knows: places (path, line, column), the fixed order, the five counts. Does not know: text, colours, formats, files.
Law: the order depends on path, line, column and rule alone, so that output never depends on who finished first; every
verdict is counted exactly once, and only a proof is counted as a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dmaverify.errors import Span, did_you_mean
from dmaverify.verdict import LEFT_OUT, Finding, Obligation, Severity, Status, Verdict

BUCKETS = ("proved", "refuted", "unknown", "expected", "error")
EXCUSED = ("suppressed", "baseline")  # counted beside BUCKETS, shown where there are any


@dataclass(frozen=True, order=True)
class TextPlace:
    """A range of text: 1-based lines, 1-based columns in characters, the end column exclusive. 0 means not known."""

    path: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        """`path:line:column`, as editors read it; what is not known reads 1."""
        return f"{self.path or '<input>'}:{self.line or 1}:{self.column or 1}"


@dataclass(frozen=True)
class Shortfall:
    """What keeps a verdict from a pass, or from one without a condition, and is not a finding: `word` is `unknown`,
    `error` or `condition`.
    """

    word: str
    rule: str
    said: str
    span: Span | None = None

    @property
    def text(self) -> str:
        return f"{self.word}: {self.said}"

    @property
    def severity(self) -> Severity:
        return Severity.ADVICE if self.word == "condition" else Severity.ERROR


def place_of_span(span: Span) -> TextPlace:
    """The range of `span`; an end behind a line break stays on the line that it ends."""
    last = max(span.start, span.end - 1)
    end_line = span.source.line_of(last)
    end_column = last + 1 - span.source.line_starts[end_line - 1] + 1
    return TextPlace(span.source.name, span.line, span.column, end_line, end_column)


def place_of(finding: Finding | Shortfall, verdict: Verdict | None = None) -> TextPlace:
    """Where `finding` stands; without a span of its own, where its verdict stands."""
    if finding.span is not None:
        return place_of_span(finding.span)
    return TextPlace() if verdict is None else place_of_verdict(verdict)


def place_of_verdict(verdict: Verdict) -> TextPlace:
    """The line where the transfer or access begins."""
    return TextPlace(verdict.path, verdict.line, 1 if verdict.line else 0, verdict.line, 1 if verdict.line else 0)


def findings_in_order(verdict: Verdict) -> list[Finding]:
    """By path, line, column, rule, and at last by the message."""
    return sorted(verdict.findings, key=lambda finding: (place_of(finding, verdict), finding.rule, finding.message))


def in_order(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """By path, line and name."""
    return sorted(verdicts, key=lambda verdict: (verdict.path, verdict.line, verdict.name, verdict.target))


def bucket(verdict: Verdict) -> str:
    """Which one of `BUCKETS` or `EXCUSED` counts this verdict: `expected` is refuted exactly as the plan declares."""
    if verdict.status is not Status.REFUTED or not verdict.as_expected:
        return verdict.status.value
    kinds = {finding.excuse.kind for finding in verdict.errors if finding.excuse is not None}
    return next((kind for kind in EXCUSED if kind in kinds), "expected")


def told(verdict: Verdict) -> list[Finding]:
    """The findings without an excuse, in order."""
    return [finding for finding in findings_in_order(verdict) if finding.excuse is None]


def deciding(verdict: Verdict) -> list[Finding]:
    """The findings without an excuse, in order, and without the errors of a plan that is refuted as it expects."""
    expected = bucket(verdict) == "expected"
    return [finding for finding in told(verdict) if not (expected and finding.severity is Severity.ERROR)]


def in_full(finding: Finding) -> str:
    """What is said of a finding, a line each: message, notes, help."""
    return "\n".join([finding.message, *finding.notes, *([f"help: {finding.hint}"] if finding.hint else [])])


def unmet(verdict: Verdict) -> str:
    """What a plan expected of itself and did not get, in words; empty when there is nothing to say."""
    decided = verdict.status in (Status.PROVED, Status.REFUTED)
    if not verdict.expect or not decided or verdict.as_expected:
        return ""
    got = sorted({finding.rule for finding in verdict.errors if finding.excuse is None})
    said = f"expects {', '.join(sorted(set(verdict.expect)))}, got {', '.join(got) or verdict.status.value}"
    return "; ".join([said, *_meant(sorted(set(verdict.expect) - set(got)))])


def _meant(rules: Iterable[str]) -> list[str]:
    """`did you mean ...?` for each expected rule that no shipped machine has and that is nearly one."""
    from dmaverify.report.rules import known_ids

    known = sorted(known_ids())
    return [hint for rule in rules if rule not in known and (hint := did_you_mean(rule, known, 0.8))]


def undecided(verdict: Verdict) -> list[Obligation]:
    """What an UNKNOWN verdict could not answer; never empty for one."""
    if verdict.status is not Status.UNKNOWN:
        return []
    open_ones = [o for o in verdict.obligations if o.status == "unknown"]
    open_ones = open_ones or [o for o in verdict.obligations if o.status == "not judged"]
    return open_ones or [Obligation("verdict", "unknown", "", "nothing that was judged decides it")]


def reason(open_: Obligation) -> str:
    """Who was asked, if anybody, and why there is no answer."""
    asked = open_.by.removeprefix("nothing").strip()
    asked = asked[1:-1] if asked.startswith("(") and asked.endswith(")") else asked
    return f"{asked}: {open_.why}".strip(": ")


def remarks(verdict: Verdict) -> list[Shortfall]:
    """Whatever keeps `verdict` from a pass, or from one without a condition, and is not a finding."""
    said = []
    for one in undecided(verdict):
        why = f" ({reason(one)})" if reason(one) else ""
        said.append(Shortfall("unknown", one.id, f"no answer for `{verdict.name}`{why}", one.span))
    if unmet(verdict):
        said.append(Shortfall("error", "expect", f"`{verdict.name}` {unmet(verdict)}"))
    if verdict.status in (Status.REFUTED, Status.ERROR) and not (verdict.errors or said):
        said.append(Shortfall("error", "verdict", f"`{verdict.name}` is {verdict.status.value.upper()}"))
    if verdict.conditional:
        said += [Shortfall("condition", "given", f"`{verdict.name}` is proved only if {x}") for x in verdict.conditions]
    if verdict.scope and any(note.startswith(LEFT_OUT) for note in verdict.assumptions):
        said.append(Shortfall("condition", "left-out", f"`{verdict.name}` is proved {verdict.scope}"))
    return said


def counts(verdicts: Iterable[Verdict]) -> Mapping[str, int]:
    """How many verdicts lie in each of `BUCKETS`, and in those of `EXCUSED` that hold any."""
    seen = [bucket(verdict) for verdict in verdicts]
    return {name: seen.count(name) for name in (*BUCKETS, *(name for name in EXCUSED if name in seen))}
