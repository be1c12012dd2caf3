"""What a judgement of a plan's move, gather or program collects, and the one place where it becomes a verdict.

Knows: findings, states of obligations, who decided them, what is assumed and on what condition.
Does not know: what is judged, or how.
Law: every state that is collected under one of the names counts, and what is not proved is told under its own name.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from dmaverify.errors import many
from dmaverify.prove.options import Options
from dmaverify.prove.smt import solver_version
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding, Obligation, Severity, Status, Verdict, settled


@dataclass(kw_only=True)
class Judgement:
    """Something on its way to a verdict."""

    target: Target
    options: Options
    axes: Mapping[str, int]
    findings: list[Finding] = field(default_factory=list)
    status: dict[str, str] = field(default_factory=dict)
    by: dict[str, str] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    confirmed: str = ""  # of a proof: by what run
    rules: int = 0  # of the machine, evaluated
    started: float = field(default_factory=time.perf_counter)

    @property
    def asks_all(self) -> bool:
        """Whether everything is to be asked from the definitions, and nothing is wrong or open."""
        wrong = any(f.severity is Severity.ERROR for f in self.findings)
        return self.options.full and not wrong and "unknown" not in self.status.values()

    def concluded(
        self, name: str, names: Iterable[str], path: str, line: int, expect: tuple[str, ...] | None, claim: str
    ) -> Verdict:
        """The verdict, with its obligations in the order of `names`."""
        obligations = [
            Obligation(one, self.status[one], self.by.get(one, ""), self._why(one))
            for one in names
            if one in self.status
        ]
        if self.rules:
            broken = any(f.severity is Severity.ERROR and not f.rule.startswith("core/") for f in self.findings)
            by = self.by.get("rules", f"{many(self.rules, 'rule')} folded")
            obligations.append(Obligation(f"{self.target.name}/*", "refuted" if broken else "proved", by))
        status, source_of = settled(self.findings, self.status.values()), self.target.source_of
        findings = tuple(replace(f, source=source_of(f.rule, f.source)) for f in self.findings)
        return Verdict(
            name, self.target.name, status, findings,
            tuple(obligations), tuple(dict.fromkeys(self.assumptions)), dict(self.options.readings),
            time.perf_counter() - self.started, solver_version(), path, line, expect, claim,
            conditions=tuple(dict.fromkeys(self.conditions)),
            confirmed=self.confirmed if status is Status.PROVED else "",
        )  # fmt: skip

    def _why(self, name: str) -> str:
        """Why an obligation is open, as far as that was collected beside it; it is told there, and no more assumed."""
        if self.status[name] != "unknown":
            return ""
        own = [note for note in dict.fromkeys(self.assumptions) if note.startswith((f"{name}: ", f"{name} of "))]
        self.assumptions = [note for note in self.assumptions if note not in own]
        return "; ".join(note.removeprefix(f"{name}: ") for note in own)
