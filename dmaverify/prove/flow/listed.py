"""Things that a machine's own scopes describe, judged by its rules: no move, no command, one verdict.

Knows: rules of a target on instances that somebody derived. Does not know: any machine, files, what was listed.
Law: every item is judged on every instance; a line that could not be read makes the verdict an error, nothing read is
an error too, and each broken rule is reported once an item and side, with how often.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from dmaverify.errors import InputError, Span
from dmaverify.prove.move.static import Instance, Ruling
from dmaverify.targets.modules import Derived
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace
from dmaverify.verdict import Finding, Obligation, Severity, Status, Verdict, settled


@dataclass(frozen=True, slots=True)
class ListedItem:
    """One thing of a file: what it is called, where it stands, what rules look at."""

    name: str
    span: Span | None
    facts: Sequence[Derived]
    tiers: tuple[str, str] = ("", "")
    counted: bool = True  # whether it is one of the things that the claim counts
    open: str = ""  # what of it could not be decided
    obligation: str = "core/overlap"  # that is open then
    mild: frozenset[str] = frozenset()  # rules that are warnings here
    stands: bool = False  # for items with other values: what is an advice at these may be none at those


MOST_ALIKE = 200
"""Findings of one rule and severity that are told one by one; the others are counted."""

MOST_OPEN = 20
"""Open items that are told one by one; the others are counted."""


class _Memo:
    """Which rules of a scope some values break under any reading, so that none is asked the same twice. Rules that look
    at bytes differ from item to item, and are asked each time.
    """

    def __init__(self, target: Target) -> None:
        self.bytes: dict[str, list[Rule]] = {name: [] for name in target.scopes}
        self.others: dict[str, list[Rule]] = {name: [] for name in target.scopes}
        for rule in target.rules.values():
            known = target.scopes[rule.scope].ports
            counts = any(port in known and known[port].unit == "bytes" for port in rule.ports)
            (self.bytes if counts else self.others)[rule.scope].append(rule)
        self.ports = {
            name: itemgetter("", *sorted({p for rule in rules for p in rule.ports if p in target.scopes[name].ports}))
            for name, rules in self.others.items()
        }  # fmt: skip
        self.limits = target.limits
        self.known: dict[object, list[Rule]] = {}
        self.enough: set[str] = set()  # advice that is told often enough: it is counted from here on

    def doubtful(self, item: ListedItem, more: Counter[str]) -> tuple[list[Instance], list[Rule]]:
        """The facts of an item that some rule does not hold for, and these rules; `more` counts what is not told."""
        asked: dict[str, Rule] = {}
        facts = []
        quiet: set[tuple[str, str]] = set()
        for fact in item.facts:
            every: dict[str, Any] = {**self.limits, **fact.values, "": fact.scope}
            wrong = [rule for rule in self.bytes[fact.scope] if not _holds(rule, every)]
            try:
                key = self.ports[fact.scope](every)
            except KeyError:
                key = None  # a port is missing: it is told
            if key is None or key not in self.known:
                self.known[key] = [rule for rule in self.others[fact.scope] if not _holds(rule, every)]
            wrong += self.known[key]
            told = [rule for rule in wrong if rule.applies("dma", *item.tiers, fact.side, "")]
            quiet |= {(rule.id, fact.side) for rule in told if rule.id in self.enough}
            told = [rule for rule in told if rule.id not in self.enough]
            asked |= {rule.id: rule for rule in told}
            if told:
                place = ", ".join(p for p in (item.name, fact.place) if p)
                facts.append(Instance(fact.scope, fact.values, place, item.span, fact.side, spans=fact.spans))
        more.update(rule for rule, _ in quiet)
        if len(self.known) > 1 << 20:
            self.known.clear()
        return facts, list(asked.values())

    def learn(self, findings: Sequence[Finding], told: Counter[str]) -> None:
        """Advice that was told as often as it is shown is only counted from here on."""
        for finding in findings:
            if finding.severity is Severity.ADVICE:
                told[finding.rule] += 1
                if told[finding.rule] >= MOST_ALIKE:
                    self.enough.add(finding.rule)


def _holds(rule: Rule, every: Mapping[str, int]) -> bool:
    """Whether a rule holds under every reading; not where it cannot be judged."""
    try:
        if not rule.holds(every):
            return False
    except KeyError:
        return False
    return all(rule.holds({**every, **reading.limits}) for reading in rule.readings.values())


def _counted(findings: Sequence[Finding], more: Mapping[str, int]) -> Iterator[Finding]:
    """The findings: of each rule and severity one for each place, no more than `MOST_ALIKE`. The first of a place says
    how many more are there, the last of all how many are not told; `more` are those of advice that were counted alone.
    """
    places: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        place = number if finding.span is None else (finding.span.source.name, finding.span.start, finding.span.end)
        places.setdefault((finding.rule, finding.severity, place), []).append(finding)
    left = Counter((f.rule, f.severity) for f in findings)
    left.update({(rule, Severity.ADVICE): count for rule, count in more.items()})
    told = Counter[tuple[str, Severity]]()
    for alike in places.values():
        finding = alike[0]
        key = finding.rule, finding.severity
        told[key] += 1
        if told[key] > MOST_ALIKE:
            continue
        left[key] -= len(alike)
        beside = len(alike) - 1
        notes = (f"and {beside:,} more here",) if beside else ()
        if told[key] == MOST_ALIKE and left[key]:
            notes = (*notes, f"and {left[key]:,} more like this one")
            beside += left[key]
        values = {**finding.values, "and_more": beside} if beside else finding.values
        yield replace(finding, notes=(*finding.notes, *notes), values=values)


def judge_listed(
    items: Iterable[ListedItem | InputError], target: Target, *, name: str, path: str, unit: str,
    readings: Mapping[str, str] | None = None,
) -> Verdict:  # fmt: skip
    """The verdict on all items of a file. `unit` names them in the claim: "transfers"."""
    started = time.perf_counter()
    findings: list[Finding] = []
    count = looked = broken = 0
    unread = False
    differs: list[str] = []
    undecided: list[Obligation] = []
    chosen = dict(readings or {})
    memo = _Memo(target)
    more: Counter[str] = Counter()
    told: Counter[str] = Counter()
    for item in items:
        if isinstance(item, InputError):
            unread = True
            findings.append(
                Finding(
                    "core/input", Severity.ERROR, item.message, "", item.span, hint=item.hint or "", source="its form"
                )
            )
            continue
        count += item.counted
        looked += len(item.facts)
        doubtful, asked = memo.doubtful(item, more)
        if doubtful:
            ruling = Ruling(target, "dma", *item.tiers, "", target.limits, chosen)
            report = ruling.judge(doubtful, only={rule.id for rule in asked})
            own = [replace(f, severity=Severity.WARNING) if f.rule in item.mild else f for f in report.findings]
            own = [f for f in own if not item.stands or f.severity is not Severity.ADVICE]
            findings += own
            differs += report.differs
            broken += any(f.severity is Severity.ERROR for f in own)
            memo.learn(own, told)
        if item.open:
            undecided.append(Obligation(item.obligation, "unknown", "", f"{item.name}: {item.open}", item.span))
    if not count and not unread:
        findings.append(Finding("core/input", Severity.ERROR, f"no {unit} to judge", path, source="its form"))
    states = ["unknown"] if undecided else []
    status = Status.ERROR if unread or not count else settled(findings, states)
    claim = f"all {count:,} {unit}" if count != 1 else f"the one {unit.removesuffix('es' if 'ches' in unit else 's')}"
    rules = {f.rule for f in findings if f.severity is Severity.ERROR and f.rule != "core/input"}
    by = f"{looked:,} looked at" + (f", {broken:,} of {count:,} {unit} broken" if broken else "")
    held = Obligation(f"{target.name}/*", "refuted" if rules else "proved", by)
    obligations = [held] if count and (looked or not undecided) else []
    if undecided:
        others = f", and {len(undecided) - MOST_OPEN:,} more" if len(undecided) > MOST_OPEN else ""
        *most, last = undecided[:MOST_OPEN]
        obligations += [*most, replace(last, why=last.why + others)]
    assumptions = tuple(f"{rule}: the verdict differs under another reading" for rule in dict.fromkeys(differs))
    return Verdict(
        name, target.name, status, tuple(_counted(findings, more)), tuple(obligations), assumptions,
        dict(readings or {}), time.perf_counter() - started, "", path, 1, None, claim,
    )  # fmt: skip
