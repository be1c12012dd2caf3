"""What a check answers: findings, obligations and their status, as plain frozen values.

Knows: severities, statuses, exit codes. Does not know: how an answer is obtained, how it is printed.
Law: unknown, unread and empty are never a pass; `exit_code` has the precedence 4, 2, 1, 3, 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from dmaverify.errors import Span
from dmaverify.values import dataclass, field, replace

OURS = frozenset({"core/internal", "core/disagreement"})
"""Rule ids of errors that are mistakes of dmaverify, whatever the input."""
LEFT_OUT = "left out on request: "
"""How the assumption begins that names what was found and not asked for."""


MOST_TOLD = 120
"""Characters of a condition that stands in one line with the status; a longer one, or one of several, is counted."""
_REMARK = re.compile(r"(?<=[\w`)\]])(?<!\band)(?<!\bor)(?<!\bnot) \((?:[^()]|\([^()]*\))*\)$")
"""What explains a condition behind its end; parentheses within it, or behind an operator, belong to it."""


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


class Status(Enum):
    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"
    ERROR = "error"  # the input could not be read


@dataclass(frozen=True)
class Label:
    """A second place to underline, with a few words."""

    span: Span
    text: str


@dataclass(frozen=True)
class Edit:
    """`text` in place of the characters of `span`; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True)
class Excuse:
    """Why a finding decides nothing: `suppressed` in the source, or known to a `baseline`; always with a reason."""

    kind: str
    reason: str


@dataclass(frozen=True)
class Finding:
    """One broken rule or obligation.

    `place` names the spot in words (`read entry 2`, `dest.element`), `span` in the text; `values` are the numbers
    that the message speaks of; `witness` is the counterexample as data; `notes` explain; `hint` says what to do next.
    `edits` are proposals in the text, not yet tried there; `fix` are edits with which the whole text was proved again.
    """

    rule: str
    severity: Severity
    message: str
    place: str = ""
    span: Span | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    witness: Mapping[str, Any] | None = None
    source: str = ""
    basis: str = "documented"
    hint: str = ""
    notes: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    edits: tuple[Edit, ...] = ()
    fix: tuple[Edit, ...] = ()
    excuse: Excuse | None = None

    @property
    def count(self) -> int:
        """How many findings it stands for: the last of many in one file tells how many `and_more` there are."""
        return 1 + int(self.values.get("and_more", 0))

    @property
    def bare(self) -> Finding:
        """Without proposals."""
        labels = tuple(label for label in self.labels if "must be" not in label.text)
        return replace(self, hint="", labels=labels, edits=())


@dataclass(frozen=True)
class Obligation:
    """One claim: its id, its status (`proved`, `refuted`, `unknown`, `not judged`), and what decided it; `span` is the
    text that keeps it open, where one part of a file does.
    """

    id: str
    status: str
    by: str = ""
    why: str = ""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Verdict:
    """The answer for one transfer or access of a plan."""

    name: str
    target: str
    status: Status
    findings: tuple[Finding, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    assumptions: tuple[str, ...] = ()
    readings: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    solver: str = ""
    path: str = ""
    line: int = 0
    expect: tuple[str, ...] | None = None
    claim: str = ""  # the bound of the claim: "all 16,777,216 bytes"
    scope: str = ""  # what the verdict speaks of where rules were left out: "of core/same-element only"
    sizes: Mapping[str, Mapping[str, int]] | None = None  # of a plan with symbols: their ranges
    smallest: Mapping[str, int] | None = None  # the smallest sizes that break it
    confirmed: str = ""  # by what, besides the proof: a run, or a witness of what is refuted
    conditions: tuple[str, ...] = ()  # what dmaverify itself supposed and nobody states: a proof holds only if they do

    @property
    def conditional(self) -> bool:
        """Whether it is proved only if something holds that nobody stated."""
        return self.status is Status.PROVED and bool(self.conditions)

    @property
    def strictly_fails(self) -> bool:
        """Whether it has a warning, or is proved under a condition alone."""
        return self.conditional or any(f.severity is Severity.WARNING and f.excuse is None for f in self.findings)

    @property
    def bounds(self) -> str:
        """What stands behind the status: `of core/same-element only`, `if the start is in 0..=7`."""
        told = [_REMARK.sub("", one) for one in self.conditions] if self.conditional else []
        short = [one for one in told if len(one) <= MOST_TOLD and "; or " not in one]
        if len(told) > 3 or len(short) < len(told):
            left = len(told) - len(short[:2])
            more = "more " if short else ""
            told = [*short[:2], f"{left} {more}conditions hold" if left > 1 else f"one {more}condition holds"]
        only = f"if {' and '.join(told)}" if told else ""
        return " ".join(part for part in (only, self.scope) if part)

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)

    @property
    def as_expected(self) -> bool:
        """Whether the plan's own `expect` is met exactly; without one: proved, or every error has an excuse."""
        if self.status is not Status.REFUTED:
            return self.status is Status.PROVED and not self.expect
        left = {f.rule for f in self.errors if f.excuse is None}
        return left == set(self.expect) if self.expect else bool(self.errors) and not left

    def __bool__(self) -> bool:
        """Whether it is proved, as a whole and without a condition; an expected refutation is not (`as_expected`)."""
        return self.status is Status.PROVED and not self.scope and not self.conditions

    @property
    def excused(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.excuse is not None)


def settled(findings: Iterable[Finding], states: Iterable[str]) -> Status:
    """What findings and the states of obligations amount to: the one place that says PROVED.

    Refuted by any error; open where anything is unknown; else proved. States that count neither way (`not judged`,
    `reported`) are told in the verdict.
    """
    if any(finding.severity is Severity.ERROR for finding in findings):
        return Status.REFUTED
    return Status.UNKNOWN if "unknown" in states else Status.PROVED


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """0 all as expected, 1 violated, 2 unreadable or empty, 3 inconclusive, 4 internal."""
    return worst_code(code_of(one.status, one.as_expected, (f.rule for f in one.findings)) for one in verdicts)


def code_of(status: Status, as_expected: bool, rules: Iterable[str]) -> int:
    """The exit code that one verdict asks for, whose findings break these rules."""
    if status is Status.ERROR:
        return 2 if OURS.isdisjoint(rules) else 4
    return 3 if status is Status.UNKNOWN else int(not as_expected)


def worst_code(codes: Iterable[int]) -> int:
    """The exit code of a whole by those of its parts: the first of 4, 2, 1, 3, 0 that is there; 2 of nothing."""
    return max(codes, key=(0, 3, 1, 2, 4).index, default=2)
