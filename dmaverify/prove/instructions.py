"""Copy instructions, judged one by one: the machine's rules on terms, bounds, rows that overlap; for all values.

Knows: which facts of a copy go to which rule, bounds of what it touches, when destination rows are disjoint.
Does not know: machines by name (rules are data), order between instructions, text syntax.
Law: a claim is proved for all values of the symbols or reported; of values without a stated range it may be assumed,
and then it is said. Nothing is judged by running.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dmaverify.errors import Span
from dmaverify.machines.rule import Rule
from dmaverify.machines.target import Target
from dmaverify.prove.ask import Asker, Reply, condition_of, shown, term_text
from dmaverify.transfer.affine import ONE, ZERO, Cond, Lin, World, both, compare
from dmaverify.transfer.instructions import Copy, Place, Touch
from dmaverify.verdict import Finding, Label, Severity

MOST_ROWS = 1 << 20  # rows of one copy that are compared one by one where no order of strides shows them apart


@dataclass
class CopyJudge:
    """Judges copies of one kernel; collects findings, statuses and what had to be assumed."""

    target: Target
    asker: Asker
    readings: Mapping[str, str]
    extents: Mapping[str, int]
    findings: list[Finding] = field(default_factory=list)
    status: dict[str, str] = field(default_factory=dict)
    assumed: dict[str, None] = field(default_factory=dict)
    differs: dict[str, None] = field(default_factory=dict)
    reached: dict[str, list[Lin]] = field(default_factory=dict)
    evaluated: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    @property
    def world(self) -> World:
        return self.asker.world

    def _running(self, copy: Copy) -> tuple[Cond, ...]:
        """When a copy runs with counts of at least 1: that they are is judged by itself."""
        counts = [compare("le", ONE - step.count) for step in copy.steps if not step.count.is_const]
        return (*copy.when, *counts)

    # ------------------------------------------------------------ one copy

    def judge(self, copy: Copy) -> None:
        broken = self._rules(copy)
        for side in ("read", "write"):
            self._bounds(copy, side)
        if not any(rule.endswith("row-overlap") for rule in broken):
            self._rows(copy)
        if copy.read.memory == copy.write.memory:
            self._apart_inside(copy)

    def _rules(self, copy: Copy) -> set[str]:
        broken: set[str] = set()
        for scope, side, place, ports, spans, what in self._instances(copy):
            for rule in self.target.rules.values():
                if rule.scope != scope or not rule.applies(
                    copy.kind, copy.read.space, copy.write.space, side, place.space if place else ""
                ):
                    continue
                if set(rule.ports) - set(self.target.limits) - set(ports):
                    continue
                if self._rule(
                    rule, ports, spans, what, copy.span, copy.when if scope == "copy" else self._running(copy)
                ):
                    broken.add(rule.id)
        return broken

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

    def span_of(self, touch: Touch) -> tuple[Lin, Lin]:
        world = self.world
        low = high = touch.place.address + touch.offset
        for count, stride in touch.steps:
            reach = world.times(count - ONE, stride)
            if stride.is_const:  # counts are at least 1
                low, high = (low, high + reach) if stride.const >= 0 else (low + reach, high)
                continue
            low, high = low + world.least(reach, ZERO), high + world.least(reach, ZERO, most=True)
        return low, high + touch.length

    def judge_number(self, scope: str, port: str, value: Lin, span: Span) -> None:
        """The rules of a scope with a single port, such as the id of a flag."""
        for rule in self.target.rules.values():
            if rule.scope == scope:
                self._rule(rule, {port: value}, {port: span}, scope, span, ())

    def judge_reach(self, rule: Rule, ports: Mapping[str, Lin], what: str, span: Span, when: Sequence[Cond]) -> None:
        """One rule on what an access reaches."""
        self._rule(rule, ports, {}, what, span, when)

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
        severity = rule.severity_under(self.readings)
        limits = {**self.target.limits, **rule.limits_under(self.readings)}
        terms = {port: ports[port] if port in ports else Lin(limits[port]) for port in rule.ports}
        self.evaluated.add(rule.id)
        if rule.readings:
            self._other_readings(rule, ports)
        if severity is None or self._plainly(rule, terms):
            return False
        claim = condition_of(rule.function.body, terms, self.world)
        if severity is not Severity.ERROR and self.asker.is_open(claim):
            return False  # a warning about a value that nobody bounded would only say so
        reply = self.asker.required(claim, when)
        if reply.status == "proved":
            return False
        if reply.status == "assumed":
            for part in reply.assumed:
                self.assumed[f"{shown(part, self.world)} ({rule.id})"] = None
            return False
        if reply.status == "unknown":
            self.status[rule.id] = "unknown"
            return False
        values = {port: self._value(term, reply) for port, term in terms.items()}
        words = {"tier": "", "side": "", "place": what}
        said = tuple(f"{port} is {term_text(term, self.world)}" for port, term in terms.items() if not term.is_const)
        span = next((spans[p] for p in rule.ports if p in spans and self._blamed(rule, p, terms, reply)), None) or whole
        labels = (Label(span, what),) if span is not whole else ()
        self.findings.append(
            Finding(
                rule.id,
                severity,
                rule.message({**values, **words}),
                what,
                span,
                values,
                self._witness(reply),
                rule.source,
                rule.basis,
                rule.hint,
                said,
                labels,
            )
        )
        return severity is Severity.ERROR

    def _plainly(self, rule: Rule, terms: Mapping[str, Lin]) -> bool:
        """Whether all ports are numbers, and the predicate holds of them."""
        if any(term.terms for term in terms.values()):
            return False
        return rule.holds({port: term.const for port, term in terms.items()})

    def _blamed(self, rule: Rule, port: str, terms: Mapping[str, Lin], reply: Reply) -> bool:
        """Whether changing this port alone could mend it: not a limit, and not a count of one."""
        return (port not in self.target.limits and port not in ("padded", "count")) or len(rule.ports) == 2

    def _other_readings(self, rule: Rule, ports: Mapping[str, Lin]) -> None:
        outcomes = set()
        for name in rule.readings:
            chosen = {**self.readings, rule.id: name}
            severity = rule.severity_under(chosen)
            limits = {**self.target.limits, **rule.limits_under(chosen)}
            terms = {port: ports[port] if port in ports else Lin(limits[port]) for port in rule.ports}
            if severity is not Severity.ERROR or self._plainly(rule, terms):
                outcomes.add(False)
                continue
            outcomes.add(self.world.decide(condition_of(rule.function.body, terms, self.world)) is False)
        if len(outcomes) > 1:
            self.differs[rule.id] = None

    def _value(self, term: Lin, reply: Reply) -> int:
        found = self.asker.at(term, reply.values)
        return 0 if found is None else found

    def _witness(self, reply: Reply) -> dict[str, object] | None:
        shown_values = {
            self.world.symbols[n].shown: v
            for n, v in reply.values.items()
            if n in self.world.symbols and not n.startswith("$")
        }
        return {"values": shown_values} if shown_values else None

    # ------------------------------------------------------------ bounds

    def _bounds(self, copy: Copy, side: str) -> None:
        place = copy.read if side == "read" else copy.write
        if not place.root:
            return
        low, end = self.reach(copy, side)
        extent = self.extents.get(place.root)
        if extent is None:
            self.reached.setdefault(place.root, []).append(end)
            claim = compare("le", -low)
            said = f"before `{place.root}`"
        else:
            claim = both([compare("le", -low), compare("le", end - extent)])
            said = f"`{place.root}` has {extent:,} bytes"
        self.used.add("core/in-bounds")
        reply = self.asker.required(claim, self._running(copy))
        if reply.status == "assumed":
            for part in reply.assumed:
                self.assumed[f"{shown(part, self.world)} (core/in-bounds)"] = None
        elif reply.status == "unknown":
            self._worse("core/in-bounds", "unknown")
        elif reply.status == "refuted":
            self._worse("core/in-bounds", "refuted")
            first, last = self._value(low, reply), self._value(end, reply)
            word = "reads" if side == "read" else "writes"
            self.findings.append(
                Finding(
                    "core/in-bounds",
                    Severity.ERROR,
                    f"{word} bytes {first:,} to {last - 1:,}; {said}",
                    "source" if side == "read" else "destination",
                    copy.span,
                    {"first": first, "end": last},
                    self._witness(reply),
                    "DESIGN, Obligations",
                    hint="make rows, lengths and strides fit the tensor; all of them are bytes",
                )
            )

    def _worse(self, name: str, status: str) -> None:
        order = ("proved", "not judged", "unknown", "refuted")
        self.status[name] = max(self.status.get(name, "proved"), status, key=order.index)

    # ------------------------------------------------------------ one memory

    def _apart_inside(self, copy: Copy) -> None:
        """A copy inside one memory reads no byte that it writes: the order of its rows is not promised."""
        self.used.add("core/overlap")
        (low, end), (first, last) = self.reach(copy, "read"), self.reach(copy, "write")
        for claim in (compare("le", end - first), compare("le", last - low)):
            if self.asker.holds(claim, self._running(copy)).status == "proved":
                return
        numbers = [copy.row, copy.read.address, copy.write.address]
        numbers += [n for step in copy.steps for n in (step.count, step.read, step.write)]
        if not all(n.is_const for n in numbers):
            self._worse("core/overlap", "unknown")
            return
        shared = _shared(copy)
        if shared is None:
            return
        self._worse("core/overlap", "refuted")
        self.findings.append(
            Finding(
                "core/overlap",
                Severity.ERROR,
                f"reads and writes byte {shared:,} of {copy.read.space.upper()}: the order of its rows is not promised",
                "copy",
                copy.span,
                {"first": shared},
                None,
                "DESIGN, Obligations",
                hint="move through another buffer",
            )
        )

    # ------------------------------------------------------------ rows

    def _rows(self, copy: Copy) -> None:
        """No byte of the destination is changed by two rows, rounded tails and padding included."""
        writes = [t for t in copy.touches if t.writes]
        self.used.add("core/writes-once")
        steps = max((t.steps for t in writes), key=len)
        extent_at = self._extents(writes, len(steps))
        live = [(count, stride, extent_at[len(steps) - 1 - i]) for i, (count, stride) in enumerate(reversed(steps))][
            ::-1
        ]
        if self._apart(live, self._running(copy)):
            return
        clash = self._clash(steps, extent_at, copy)
        if clash is None:
            self._worse("core/writes-once", "unknown")
        elif clash:
            self._worse("core/writes-once", "refuted")
            data = next(t for t in writes if t.kind == "data")
            whole = extent_at[0]
            rounded = "" if whole == data.length else f", {term_text(whole, self.world)} with its tail and padding"
            self.findings.append(
                Finding(
                    "core/writes-once",
                    Severity.ERROR,
                    f"rows of {term_text(data.length, self.world)} bytes{rounded} overlap in the destination",
                    "destination",
                    copy.steps[0].spans[2] or copy.span,
                    {"loops": [s.label for s in copy.steps]},
                    {"made": clash},
                    "DESIGN, Obligations; the order of rows is not promised",
                    hint="make every stride at least what one row, or one round of the inner loops, changes",
                )
            )

    def _extents(self, writes: Sequence[Touch], depth: int) -> list[Lin]:
        """Bytes that one round of the levels below changes, for each level from the innermost on."""
        world = self.world
        out: list[Lin] = []
        extent = ZERO
        for level in range(depth):
            for touch in writes:
                if len(touch.steps) == depth - level:
                    extent = world.least(extent, touch.offset + touch.length, most=True)
            out.append(extent)
            steps = max((t.steps for t in writes), key=len)
            count, stride = steps[level]
            extent = extent + world.times(count - ONE, stride)
        return out

    def _apart(self, live: Sequence[tuple[Lin, Lin, Lin]], when: Sequence[Cond]) -> bool:
        """Every stride is at least what lies below it, in the order of the levels or of the strides."""

        def dominated(order: Sequence[tuple[Lin, Lin, Lin]]) -> bool:
            extent = order[0][2] if order else ZERO
            first = True
            for count, stride, below in order:
                extent = below if first else extent
                first = False
                claim = both([compare("le", count - ONE), compare("le", extent - stride)], "or")
                if self.asker.holds(claim, when).status != "proved":
                    return False
                extent = self.world.least(extent, extent + self.world.times(count - ONE, stride), most=True)
            return True

        moving = [x for x in live if x[0] != ONE]
        if all(x[2] == y for x, y in zip(live, self._nested(live), strict=True)) and dominated(moving):
            return True
        in_order = all(
            self.asker.holds(both([compare("le", c - ONE), compare("le", e - s)], "or"), when).status == "proved"
            for c, s, e in live
        )
        if in_order:
            return True
        if all(x[1].is_const and x[0].is_const for x in moving) and live:
            ordered = sorted(moving, key=lambda x: x[1].const)
            base = max((x[2] for x in live[:1]), key=lambda e: e.const)
            return dominated([(c, s, base) for c, s, _ in ordered])
        return False

    def _nested(self, live: Sequence[tuple[Lin, Lin, Lin]]) -> list[Lin]:
        out, extent = [], live[0][2] if live else ZERO
        for count, stride, _ in live:
            out.append(extent)
            extent = extent + self.world.times(count - ONE, stride)
        return out

    def _clash(self, steps: Sequence[tuple[Lin, Lin]], extent_at: Sequence[Lin], copy: Copy) -> str | None:
        """Two rows that share a byte, in words; empty where there are none, None where that is open."""
        extent = extent_at[0]
        if all(c.is_const and s.is_const for c, s in steps) and extent.is_const:
            rows = 1
            for count, _ in steps:
                rows *= max(1, count.const)
            if rows <= MOST_ROWS:
                return _meeting([(c.const, s.const) for c, s in steps], extent.const)
        names, parts, ranges = [], [], []
        for index, (count, stride) in enumerate(steps):
            if not stride.is_const:
                return None
            names.append(f"d{index}")
            ranges.append((f"d{index}", None, None))
            parts.append(f"(< d{index} {self.world.text(count)}) (< (- d{index}) {self.world.text(count)})")
        gap = (
            "(+ "
            + " ".join(f"(* {s.const if s.const >= 0 else f'(- {-s.const})'} d{i})" for i, (_, s) in enumerate(steps))
            + " 0)"
        )
        size = self.world.text(extent)
        texts = [
            f"(and {' '.join(parts)})",
            f"(or {' '.join(f'(not (= {n} 0))' for n in names)})",
            f"(and (< {gap} {size}) (< (- {gap}) {size}))",
        ]
        involved = [name for term in (extent, *(c for c, _ in steps)) for name, _ in term.terms]
        reply = self.asker.possible(list(self._running(copy)), ranges, texts, involved)
        if reply.status == "unknown":
            return None
        return "" if reply.status == "proved" else "two rows start closer than one is long"


def _shared(copy: Copy) -> int | None:
    """The first byte that a copy with numbers both reads and writes."""
    reads, writes = [copy.read.address.const], [copy.write.address.const]
    for step in copy.steps:
        counts = range(max(0, step.count.const))
        reads = [at + step.read.const * i for i in counts for at in reads]
        writes = [at + step.write.const * i for i in counts for at in writes]
    row = copy.row.const
    starts = sorted(writes)
    found = []
    for start in reads:
        near = bisect_left(starts, start - row + 1)
        if near < len(starts) and starts[near] < start + row:
            found.append(max(start, starts[near]))
    return min(found, default=None)


def _meeting(steps: Sequence[tuple[int, int]], extent: int) -> str:
    """The first two rows that share a byte."""
    import numpy as np

    starts = np.zeros(1, dtype=np.int64)
    for count, stride in steps:
        starts = (starts[None, :] + (np.arange(max(1, count), dtype=np.int64) * stride)[:, None]).ravel()
    order = np.argsort(starts, kind="stable")
    gaps = np.diff(starts[order])
    bad = np.flatnonzero(gaps < extent)
    if not len(bad):
        return ""
    first, second = sorted((int(order[bad[0]]), int(order[bad[0] + 1])))
    one, two = int(starts[first]), int(starts[second])
    return f"row {first} starts at {one:,}, row {second} at {two:,}: closer than {extent:,} bytes"
