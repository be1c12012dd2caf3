"""The machine's rules on the terms of one copy, or of a flag: for all values of the symbols.

Knows: which facts of a copy go to which rule, how far a copy reaches, readings of a rule.
Does not know: machines by name (rules are data), rows that overlap, order between instructions, text syntax.
Law: a rule is proved for all values or reported; of values without a stated range it may be assumed, and then it is
said. What was proved of some terms under some conditions is not asked again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dmaverify.errors import Span
from dmaverify.language.affine import ONE, ZERO, Cond, Lin, World, both, compare
from dmaverify.program.instructions import Copy, CopyTouch, Place, Use, accumulate
from dmaverify.prove.flow.accesses.ask import Asker, Reply, term_text
from dmaverify.prove.flow.accesses.predicate_terms import condition_of
from dmaverify.targets.rule import Rule
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field
from dmaverify.verdict import Finding, Label, Severity


@dataclass(frozen=True, slots=True)
class HeldRule:
    """A rule that held: the terms of its ports, when that is said, and of what."""

    rule: Rule
    terms: Mapping[str, Lin]
    when: tuple[Cond, ...]
    place: str


@dataclass
class RuleJudge:
    """Judges rules; collects findings, statuses and what had to be assumed."""

    target: Target
    asker: Asker
    readings: Mapping[str, str]
    extents: Mapping[str, int | Lin]
    findings: list[Finding] = field(default_factory=list)
    status: dict[str, str] = field(default_factory=dict)
    assumed: dict[tuple[Cond, str], None] = field(default_factory=dict)  # with what asks for it
    unbounded: bool = False  # sums of 64 bits of values that nobody bounds
    differs: dict[str, None] = field(default_factory=dict)
    reached: dict[str, list[Lin]] = field(default_factory=dict)
    evaluated: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    said: dict[str, None] = field(default_factory=dict)
    held: list[HeldRule] = field(default_factory=list)
    around: Mapping[int, tuple[Cond, ...]] = field(default_factory=dict)  # that the loops run, by where an event begins
    _bound: dict[Any, list[Rule]] = field(default_factory=dict)
    _limits: dict[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)
    _kept: set[Any] = field(default_factory=set)

    @property
    def world(self) -> World:
        return self.asker.world

    def _running(self, copy: Copy) -> tuple[Cond, ...]:
        """When a copy runs with counts of at least 1: that they are is judged by itself."""
        counts = [compare("le", ONE - step.count) for step in copy.steps if not step.count.is_const]
        return (*copy.when, *counts)

    # ------------------------------------------------------------ facts of a copy

    def _rules(self, copy: Copy) -> set[str]:
        broken: set[str] = set()
        running, adds = self._running(copy), accumulate(copy, copy)
        for scope, side, place, ports, spans, what in self._instances(copy):
            space = place.space if place else ""
            when = copy.when if scope == "copy" else running
            for rule in self._binding(
                scope, copy.kind, copy.read.space, copy.write.space, side, space, frozenset(ports)
            ):
                if adds and rule.id.endswith("row-overlap"):
                    continue
                if self._rule(rule, ports, spans, what, copy.span, when):
                    broken.add(rule.id)
        return broken

    def _binding(
        self, scope: str, kind: str, source: str, dest: str, side: str, space: str, ports: frozenset[str]
    ) -> list[Rule]:
        """The rules of a scope that bind there and find all their ports."""
        key = (scope, kind, source, dest, side, space, ports)
        if key not in self._bound:
            self._bound[key] = [
                rule
                for rule in self.target.rules.values()
                if rule.scope == scope
                and rule.applies(kind, source, dest, side, space)
                and not set(rule.ports) - set(self.target.limits) - ports
            ]
        return self._bound[key]

    def _instances(
        self, copy: Copy
    ) -> Iterator[tuple[str, str, Place | None, dict[str, Lin], Mapping[str, Span], str]]:
        yield "copy", "", None, dict(copy.ports), copy.spans, "copy"
        padded = copy.ports.get("padded", ZERO)
        for side, place in (("read", copy.read), ("write", copy.write)):
            for step in copy.steps:
                stride = step.read if side == "read" else step.write
                ports = {"count": step.count, "stride_bytes": stride, "row_bytes": copy.row, "padded": padded}
                where = step.spans[1 if side == "read" else 2]
                spans = {"stride_bytes": where} if where else {}
                if step.spans[0] is not None:
                    spans["count"] = step.spans[0]
                yield (
                    "step",
                    side,
                    place,
                    ports,
                    spans,
                    f"{'source' if side == 'read' else 'destination'} stride of {step.label}",
                )
            low, end = self.reach(copy, side)
            ports = {"base_bytes": place.address, "low_bytes": low, "end_bytes": end}
            if not place.root:
                yield "reach", side, place, ports, {}, "source" if side == "read" else "destination"
            else:
                yield (
                    "reach",
                    side,
                    place,
                    {"base_bytes": place.address},
                    {},
                    "source" if side == "read" else "destination",
                )

    def reach(self, copy: Copy, side: str) -> tuple[Lin, Lin]:
        """First byte and first byte behind all that a side touches; steps forward only (rules see to that)."""
        low: Lin | None = None
        high: Lin | None = None
        for touch in copy.touches:
            if (touch.place is copy.read) != (side == "read") and touch.place != (
                copy.read if side == "read" else copy.write
            ):
                continue
            if (touch.kind in ("read", "surplus")) != (side == "read"):
                continue
            first, last = self.span_of(touch)
            low = first if low is None else self.world.least(low, first)
            high = last if high is None else self.world.least(high, last, most=True)
        assert low is not None and high is not None  # noqa: PT018
        return low, high

    def span_of(self, touch: CopyTouch) -> tuple[Lin, Lin]:
        world = self.world
        low = high = touch.place.address + touch.offset
        for count, stride in touch.steps:
            reach = world.times(count - ONE, stride)
            if stride.is_const:  # counts are at least 1
                low, high = (low, high + reach) if stride.const >= 0 else (low + reach, high)
                continue
            low, high = low + world.least(reach, ZERO), high + world.least(reach, ZERO, most=True)
        return low, high + touch.length

    def judge_ports(self, scope: str, ports: Mapping[str, Lin], what: str, span: Span, when: Sequence[Cond]) -> None:
        """The rules of a scope that find all their ports, such as the id of a flag, wherever it runs."""
        for rule in self.target.rules.values():
            if rule.scope == scope and set(rule.ports) <= ports.keys() | self.target.limits.keys():
                self._rule(rule, ports, {}, what, span, when)

    def judge_reach(self, rule: Rule, ends: tuple[Lin, Lin], what: str, use: Use) -> None:
        """One rule on what an access reaches. Of one that lies somewhere in there what breaks it is open, but where all
        of it lies behind a byte that does.
        """
        low, end = ends
        broken = self._rule(rule, {"low_bytes": low, "end_bytes": end}, {}, what, use.span, use.when)
        if broken and use.inferred == "layout":
            self.findings.pop()
            first, when = {"low_bytes": low, "end_bytes": low + 1}, (*use.when, compare("le", -low))
            if not self._rule(rule, first, {}, what, use.span, when):
                self.worse(rule.id, "unknown")

    def contradicted(
        self, rule: str, claim: Cond, when: Sequence[Cond], runs: Sequence[Cond], note: str = ""
    ) -> Reply | None:
        """The reply that refutes a claim; None where it is proved, assumed, which is said, or open, which is kept. The
        loops around the place run where `runs` holds.
        """
        self.used.add(rule)
        reply, _ = self._required(claim, when, runs)
        if reply.status == "assumed":
            self.assumed |= {(part, f"{rule}{note}"): None for part in reply.assumed}
        elif reply.status != "proved":
            self.worse(rule, reply.status)
        return reply if reply.status == "refuted" else None

    def inside(
        self, place: Place, ends: tuple[Lin, Lin], when: Sequence[Cond], span: Span, what: str
    ) -> Finding | None:
        """The finding where what is touched lies not in its tensor; how far that reaches is kept where nobody says."""
        (low, end), extent = ends, self.extents.get(place.root)
        claims = [compare("le", -low)]
        if extent is None:
            self.reached.setdefault(place.root, []).append(end)
        else:
            claims.append(compare("le", end - extent))
        reply = self.contradicted("core/in-bounds", both(claims), when, self.around.get(span.start, ()))
        if reply is None:
            return None
        first, last = self.value(low, reply), self.value(end, reply)
        has = self.value(extent, reply) if isinstance(extent, Lin) else extent
        said = f"before `{place.root}`" if has is None else f"`{place.root}` has {has:,} bytes"
        made = Finding(
            "core/in-bounds",
            Severity.ERROR,
            f"{what} bytes {first:,} to {last - 1:,}; {said}",
            "source" if what == "reads" else "destination",
            span,
            {"first": first, "end": last},
            self.witness(reply),
        )
        self.findings.append(made)
        return made

    def _required(self, claim: Cond, when: Sequence[Cond], runs: Sequence[Cond]) -> tuple[Reply, Sequence[Cond]]:
        """The reply to a claim, and under what; what would refute it is asked of iterations that there are (`runs`)."""
        reply = self.asker.required(claim, when)
        if reply.status != "refuted" or not runs:
            return reply, when
        return self.asker.required(claim, (*when, *runs)), (*when, *runs)

    def worse(self, name: str, status: str) -> None:
        order = ("proved", "not judged", "unknown", "refuted")
        self.status[name] = max(self.status.get(name, "proved"), status, key=order.index)

    # ------------------------------------------------------------ rules on terms

    def _rule(
        self,
        rule: Rule,
        ports: Mapping[str, Lin],
        spans: Mapping[str, Span],
        what: str,
        whole: Span,
        when: Sequence[Cond],
    ) -> bool:
        """Whether an error of this rule was found."""
        seen = (rule.id, tuple(ports.get(port) for port in rule.ports), tuple(when))
        if seen in self._kept:
            return False
        severity = rule.severity_under(self.readings)
        terms = self._terms(rule, ports, self.readings)
        if rule.readings:
            self._other_readings(rule, ports)
        if severity is None:  # a reading silences it: nothing is claimed
            self._kept.add(seen)
            return False
        self.evaluated.add(rule.id)
        if self._plainly(rule, terms):
            self._kept.add(seen)
            self.held.append(HeldRule(rule, terms, (), f"{what}, line {whole.line}"))
            return False
        claim = condition_of(rule.function.body, terms, self.world)
        if severity is not Severity.ERROR and self.asker.is_open(claim):
            self._kept.add(seen)
            return False  # a warning about a value that nobody bounded would only say so
        reply, when = self._required(claim, when, self.around.get(whole.start, ()))
        if reply.status in ("proved", "assumed"):  # what was assumed holds from there on
            self.assumed |= {(part, rule.id): None for part in reply.assumed}
            self._kept.add(seen)
            self.held += [HeldRule(rule, terms, tuple(when), f"{what}, line {whole.line}")]
            return False
        if reply.status == "unknown":
            if severity is Severity.ERROR:
                self.status[rule.id] = "unknown"
            elif all(found.rule != rule.id for found in self.findings):  # a warning, as what it would say
                left = f"whether the {what} keeps this for all values was not decided"
                self.findings.append(
                    Finding(rule.id, severity, left, what, whole, source=rule.source, basis=rule.basis, hint=rule.hint)
                )
            return False
        values = {port: self.value(term, reply) for port, term in terms.items()}
        words = {"tier": "", "side": "", "place": what}
        said = tuple(f"{port} is {term_text(term, self.world)}" for port, term in terms.items() if not term.is_const)
        span = next((spans[p] for p in rule.ports if p in spans and self._blamed(rule, p)), None) or whole
        labels = (Label(span, what),) if span is not whole else ()
        self.findings.append(
            Finding(
                rule.id,
                severity,
                rule.message({**values, **words}),
                what,
                span,
                values,
                self.witness(reply),
                rule.source,
                rule.basis,
                rule.hint,
                said,
                labels,
            )
        )
        return severity is Severity.ERROR

    def _terms(self, rule: Rule, ports: Mapping[str, Lin], readings: Mapping[str, str]) -> dict[str, Lin]:
        """The ports of a rule, limits under these readings included."""
        key = (rule.id, readings.get(rule.id, ""))
        if key not in self._limits:
            self._limits[key] = {**self.target.limits, **rule.limits_under(readings)}
        limits = self._limits[key]
        return {port: ports[port] if port in ports else Lin(limits[port]) for port in rule.ports}

    def _plainly(self, rule: Rule, terms: Mapping[str, Lin]) -> bool:
        """Whether all ports are numbers, and the predicate holds of them."""
        if any(term.terms for term in terms.values()):
            return False
        return rule.holds({port: term.const for port, term in terms.items()})

    def _blamed(self, rule: Rule, port: str) -> bool:
        """Whether changing this port alone could mend it: not a limit, and not a count of one."""
        return (port not in self.target.limits and port not in ("padded", "count")) or len(rule.ports) == 2

    def _other_readings(self, rule: Rule, ports: Mapping[str, Lin]) -> None:
        outcomes = set()
        for name in rule.readings:
            chosen = {**self.readings, rule.id: name}
            severity = rule.severity_under(chosen)
            terms = self._terms(rule, ports, chosen)
            if severity is not Severity.ERROR or self._plainly(rule, terms):
                outcomes.add(False)
                continue
            outcomes.add(self.world.decide(condition_of(rule.function.body, terms, self.world)) is False)
        if len(outcomes) > 1:
            self.differs[rule.id] = None

    def value(self, term: Lin, reply: Reply) -> int:
        found = self.asker.at(term, reply.values)
        return 0 if found is None else found

    def witness(self, reply: Reply) -> dict[str, object] | None:
        shown_values = {
            self.world.symbols[n].shown: v
            for n, v in reply.values.items()
            if n in self.world.symbols and not n.startswith("$")
        }
        return {"values": shown_values} if shown_values else None
