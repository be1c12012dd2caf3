"""One rule of a machine: whom it binds, what it demands, what it says when broken, and how sure we are of it.

Knows: rules, their readings and edges as frozen values; how to ask a rule.
Does not know: which machine, where rules are written, how facts are computed, how answers are printed.
Law: the predicate alone decides; severity, readings and texts never change what it means. A reading may switch a rule
off, change its severity or replace limits, and every default reading comes with its reason.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from typing import Any

from dmaverify.targets.smtlib import Function
from dmaverify.targets.smtlib_eval import infix
from dmaverify.values import dataclass, field
from dmaverify.verdict import Severity

BASES = ("documented", "measured", "inferred", "contested")
LEVELS = ("any", "hw", "std")
LEVEL_READING = "alignment"
"""Rules of level `hw` hold unless the reading `alignment=std` is chosen, of level `std` only then, others always."""

Readings = Mapping[str, str]
"""What the user chose: rule id (or `alignment`) -> name of the reading."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of the machine: a limit, a constant of configuration text or a figure of its geometry."""

    name: str
    value: int
    unit: str
    says: str
    source: str
    basis: str


@dataclass(frozen=True, slots=True)
class When:
    """Whom a rule binds. An empty filter binds all; `either` and `neither` look at both tiers of the transfer."""

    engines: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    dest: tuple[str, ...] = ()
    either: tuple[str, ...] = ()
    neither: tuple[str, ...] = ()
    tier: tuple[str, ...] = ()
    side: str = ""

    def binds(self, engine: str, source_tier: str, dest_tier: str, side: str, tier: str) -> bool:
        tiers = (source_tier, dest_tier)
        return (
            (not self.engines or engine in self.engines)
            and (not self.source or source_tier in self.source)
            and (not self.dest or dest_tier in self.dest)
            and (not self.either or any(name in self.either for name in tiers))
            and not any(name in self.neither for name in tiers)
            and (not self.tier or tier in self.tier)
            and (not self.side or side == self.side)
        )


@dataclass(frozen=True, slots=True)
class Edge:
    """The last values that are good and the first that are bad, every port named."""

    last_ok: Mapping[str, int]
    first_bad: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a contested point. `severity` None keeps the rule's, `off` silences it, `limits` replace."""

    name: str
    says: str
    severity: Severity | None = None
    off: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)


class _Shown(string.Formatter):
    """Values as a message shows them: `{n:axis|axes}` is `1 axis` or `2 axes`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        one, bar, more = format_spec.partition("|")
        return f"{value} {one if value == 1 else more}" if bar else format(value, format_spec)


class _Words(dict[str, Any]):
    """Values of a message; a word that nobody gave shows as its own name."""

    def __missing__(self, key: str) -> str:
        return "the " + key.replace("_", " ")


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """See the module's law. `base_severity` is that before readings; `reading` names the default one."""

    id: str
    title: str
    scope: str
    ports: tuple[str, ...]
    when: When
    base_severity: Severity
    severity_why: str
    says: str
    hint: str
    why: str
    source: str
    basis: str
    edges: tuple[Edge, ...]
    readings: Mapping[str, Reading]
    reading: str
    reading_why: str
    level: str
    wrong: str
    right: str
    function: Function
    predicate: Callable[..., bool] = field(repr=False)

    @property
    def formula(self) -> str:
        """The predicate as people write it."""
        return infix(self.function.body)

    @property
    def severity(self) -> Severity | None:
        """Severity under the default readings; None if the rule is silent then."""
        return self.severity_under({})

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether the predicate holds. `values` has every port, limits included; KeyError for one that is missing."""
        return self.predicate(*[values[port] for port in self.ports])

    def contradiction(self, edge: Edge) -> tuple[str, str] | None:
        """The side of an edge that the predicate contradicts, and what it says there; None where it keeps both."""
        for side, values, good in (("last_ok", edge.last_ok, True), ("first_bad", edge.first_bad, False)):
            if self.holds(values) != good:
                at = ", ".join(f"{port} = {values[port]:,}" for port in self.ports)
                return side, f"the predicate {'does not hold' if good else 'holds'} at `{side}`: {at}"
        return None

    def missing(self, values: Mapping[str, int]) -> tuple[str, ...]:
        """Ports without a value: a rule with any cannot be judged, and the caller must say so."""
        return tuple([port for port in self.ports if port not in values])

    def applies(
        self, engine: str = "", source_tier: str = "", dest_tier: str = "", side: str = "", tier: str = ""
    ) -> bool:
        """Whether the rule binds here. Side and tier are those of the sequencer, tensor or access looked at."""
        return self.when.binds(engine, source_tier, dest_tier, side, tier)

    def message(self, values: Mapping[str, Any]) -> str:
        """`says` with values: ports, limits, and the words of `facts.WORDS`."""
        return _Shown().vformat(self.says, (), _Words(values))

    def reading_under(self, readings: Readings) -> Reading | None:
        """The chosen reading, else the default one, else None. Raises KeyError for a name the rule does not have."""
        return self.readings[readings.get(self.id, self.reading)] if self.readings else None

    def severity_under(self, readings: Readings) -> Severity | None:
        """What a broken rule is under the chosen readings; None where they silence it."""
        if self.level != "any" and readings.get(LEVEL_READING, "hw") != self.level:
            return None
        reading = self.reading_under(readings)
        if reading is None:
            return self.base_severity
        return None if reading.off else reading.severity or self.base_severity

    def limits_under(self, readings: Readings) -> Mapping[str, int]:
        """The limits that the chosen reading replaces, for this rule alone."""
        reading = self.reading_under(readings)
        return {} if reading is None else reading.limits

    def values_under(self, values: Mapping[str, int], readings: Readings) -> Mapping[str, int]:
        """`values` with the limits that the chosen reading replaces."""
        replaced = self.limits_under(readings)
        return {**values, **replaced} if replaced else values

    def broken(self, values: Mapping[str, int], readings: Readings) -> Severity | None:
        """How severely `values` break the rule under the chosen readings; None where it holds or is silent."""
        severity = self.severity_under(readings)
        if severity is None or self.holds(self.values_under(values, readings)):
            return None
        return severity

    def outcomes(self, values: Mapping[str, int], readings: Readings) -> dict[str, Severity | None]:
        """For each reading of this rule: `broken`, all else as chosen. Where they differ the report says so."""
        return {name: self.broken(values, {**readings, self.id: name}) for name in self.readings}
