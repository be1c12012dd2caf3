"""Rules of a machine: records of `target.toml` and predicates of `rules.smt2` into `Rule`s.

Knows: what makes a rule whole: ports that somebody produces, says, source, basis, edges, readings, divisors not 0.
Does not know: where files lie, the rest of a target, how facts are computed.
Law: an id stands on both sides or on neither; a rule that is returned can be evaluated on every instance of its scope.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from dmaverify.errors import InputError, Source, did_you_mean
from dmaverify.targets.facts import SIDES, WORDS, Scope
from dmaverify.targets.rule import BASES, LEVEL_READING, LEVELS, Edge, Figure, Reading, Rule, When
from dmaverify.targets.smtlib import Function, Sort, read_functions
from dmaverify.targets.smtlib_eval import compile_bool, infix, names_in, unguarded_divisors
from dmaverify.targets.table import Table
from dmaverify.values import dataclass
from dmaverify.verdict import Severity

_RULE_ID = re.compile(r"[a-z][a-z0-9-]*/[a-z][a-z0-9-]*")
SEVERITIES = tuple(severity.value for severity in Severity)


def basis_of(table: Table) -> str:
    return table.choice("basis", BASES)


def declared_tiers(table: Table, key: str, names: Iterable[str], tiers: Iterable[str]) -> None:
    """Refuses what a key names and is no tier."""
    for name in names:
        if name not in tiers:
            hint = did_you_mean(name, tiers) or f"declared: {', '.join(tiers)}"
            table.refuse(f"tier {name!r} is not declared", key, hint, name)


LISTED = ("gather", "scatter")
"""Engines that rules of scope `indirect` alone are asked of; all else that they do is asked of their route's engine."""


@dataclass(frozen=True, slots=True)
class Names:
    """What a rule of this target may name."""

    limits: Mapping[str, Figure]
    tiers: tuple[str, ...]
    engines: tuple[str, ...]
    knobs: tuple[str, ...]
    scopes: Mapping[str, Scope]
    own: bool
    """Whether the machine is the user's own: of those that ship, tests ask what is asked of its edges here."""


def read_rules(table: Table, predicates: Source, names: Names) -> dict[str, Rule]:
    functions = {function.name: function for function in read_functions(predicates)}
    rules: dict[str, Rule] = {}
    for rule_id, part in table.tables("rule"):
        function = functions.pop(rule_id, None)
        if function is None:
            part.refuse(f"no (define-fun {rule_id} ...) in {Path(predicates.name).name}")
        rules[rule_id] = _rule(rule_id, part, function, names)
    for name, function in functions.items():
        raise InputError(f"{name} has a predicate and no [rule.{name!r}] in the target's data", function.span)
    return rules


def _rule(rule_id: str, table: Table, function: Function, names: Names) -> Rule:
    if not _RULE_ID.fullmatch(rule_id):
        table.refuse("a rule's id is <owner>/<what>, in small letters, digits and dashes")
    scope = names.scopes[table.choice("scope", names.scopes)]
    ports = table.texts("ports")
    _check_ports(table, scope, ports, function, names)
    basis = basis_of(table)
    severity = table.choice("severity", SEVERITIES, "")
    severity_why = table.text("severity_why", "")
    if severity and not severity_why:
        table.refuse("`severity` without `severity_why`", "severity", "say why the basis does not decide")
    readings = {name: _reading(name, part, ports, names) for name, part in table.tables("reading")}
    reading, reading_why = table.text("reading_default", ""), table.text("reading_why", "")
    _check_readings(table, basis, readings, reading, reading_why)
    level = table.choice("level", LEVELS, "any")
    if level != "any" and LEVEL_READING not in names.knobs:
        table.refuse(f"`level` needs a [reading.{LEVEL_READING}] of the target", "level")
    rule = Rule(
        id=rule_id,
        title=table.text("title"),
        scope=scope.name,
        ports=ports,
        when=_when(table.table("when", f"{table.called}: when", required=False), names, scope.name),
        base_severity=Severity(severity or ("error" if basis == "documented" else "warning")),
        severity_why=severity_why,
        says=table.text("says"),
        hint=table.text("hint", ""),
        why=table.text("why", ""),
        source=table.text("source"),
        basis=basis,
        edges=_edges(table, scope, ports, names),
        readings=MappingProxyType(readings),
        reading=reading,
        reading_why=reading_why,
        level=level,
        wrong=table.text("wrong", ""),
        right=table.text("right", ""),
        function=function,
        predicate=compile_bool(function),
    )
    _check_says(table, rule)
    table.finish()
    if names.own:
        _check_edges(table, rule)
    return rule


def _check_ports(table: Table, scope: Scope, ports: tuple[str, ...], function: Function, names: Names) -> None:
    known = {*scope.ports, *names.limits}
    for port in ports:
        if port not in known:
            hint = did_you_mean(port, known) or f"scope {scope.name} has {', '.join(scope.ports)}"
            table.refuse(f"nobody produces the port {port!r} in scope {scope.name}", "ports", hint, port)
    if function.ports != ports:
        table.refuse(f"ports are {list(ports)}, the predicate takes {list(function.ports)}", "ports")
    if function.sort is not Sort.BOOL or any(param.sort is not Sort.INT for param in function.params):
        table.refuse("the predicate must take Int parameters and give Bool")
    looked_at = names_in(function.body)
    unused = [port for port in ports if port not in looked_at]
    if unused:
        table.refuse(f"the predicate does not look at {', '.join(unused)}", "ports", part=unused[0])
    facts = scope.ports.values()
    positive = frozenset(names.limits) | {fact.name for fact in facts if fact.least is not None and fact.least >= 1}
    for divisor in unguarded_divisors(function, positive):
        table.refuse(f"the divisor {infix(divisor)} could be zero", hint="guard it: (or (< d 1) (= 0 (mod n d)))")


def _when(table: Table, names: Names, scope: str) -> When:
    when = When(
        engines=table.texts("engines", ()),
        source=table.texts("source", ()),
        dest=table.texts("dest", ()),
        either=table.texts("either", ()),
        neither=table.texts("neither", ()),
        tier=table.texts("tier", ()),
        side=table.choice("side", SIDES, ""),
    )
    table.finish()
    for key in ("source", "dest", "either", "neither", "tier"):
        declared_tiers(table, key, getattr(when, key), names.tiers)
    for engine in when.engines:
        if engine not in names.engines:
            near = did_you_mean(engine, names.engines)
            table.refuse(f"engine {engine!r} is not among `engines.kinds`", "engines", near, engine)
        if engine in LISTED and scope != "indirect":
            hint = "use scope indirect, or leave `engines` out: what a list moves is a move as others are"
            table.refuse(f"rules of scope {scope} are never asked of {engine!r}", "engines", hint, engine)
    return when


def _reading(name: str, table: Table, ports: tuple[str, ...], names: Names) -> Reading:
    severity = table.choice("severity", (*SEVERITIES, "off"), "")
    limits = table.integers("limits", {}, least=1)
    for limit in limits:
        if limit not in names.limits or limit not in ports:
            table.refuse(f"`limits` names {limit!r}, which is no limit that the rule uses", "limits", part=limit)
    kept = Severity(severity) if severity and severity != "off" else None
    reading = Reading(name, table.text("says"), kept, severity == "off", MappingProxyType(limits))
    table.finish()
    return reading


def _check_readings(table: Table, basis: str, readings: Mapping[str, Reading], default: str, why: str) -> None:
    if basis == "contested" and len(readings) < 2:
        table.refuse("basis contested and fewer than two readings", "basis", "name them, or change the basis")
    if bool(readings) != bool(default) or bool(default) != bool(why):
        table.refuse("readings, `reading_default` and `reading_why` come together")
    if default and default not in readings:
        table.refuse(f"`reading_default` {default!r} is no reading", "reading_default", did_you_mean(default, readings))


def _edges(table: Table, scope: Scope, ports: tuple[str, ...], names: Names) -> tuple[Edge, ...]:
    """Every edge with every port: limits that an edge leaves out have the target's value."""
    edges = []
    limits = {port: names.limits[port].value for port in ports if port in names.limits}
    for part in table.list_of_tables("edge"):
        sides = {side: limits | part.integers(side) for side in ("last_ok", "first_bad")}
        part.finish()
        for side, values in sides.items():
            if set(values) != set(ports):
                part.refuse(f"`{side}` must give {', '.join(ports)}", side)
            for port, value in values.items():
                least = 1 if port in limits else scope.ports[port].least
                if least is not None and value < least:
                    part.refuse(f"`{side}`: {port} is at least {least}, never {value}", side, part=port)
        edges.append(Edge(MappingProxyType(sides["last_ok"]), MappingProxyType(sides["first_bad"])))
    if not edges:
        table.refuse("missing `edge`", hint="give the last good and the first bad values: last_ok, first_bad")
    return tuple(edges)


def _check_edges(table: Table, rule: Rule) -> None:
    """Refuses a predicate that contradicts an edge of which all numbers are given, whichever of the two is wrong: what
    such a rule says of a plan is not believed, good or bad. An edge that leaves a limit out is one at another limit
    than before where that is changed: `lint_target` tells of it.
    """
    for part, edge in zip(table.list_of_tables("edge"), rule.edges, strict=True):
        found = rule.contradiction(edge)
        if found and set(part.integers(found[0])) == set(rule.ports):
            part.refuse(found[1], found[0], "correct the predicate, the limit or the edge")


def _check_says(table: Table, rule: Rule) -> None:
    """Messages show ports and words as `{name}`, `{name:,}` or `{name:one|more}` alone; hints show none."""
    if "{" in rule.hint:
        table.refuse("`hint` is shown as it stands, ports in it too", "hint", "say it without `{}`")
    try:
        parts = list(string.Formatter().parse(rule.says))
    except ValueError as error:
        table.refuse(f"`says` is no message: {error}", "says")
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if name not in rule.ports and name not in WORDS:
            table.refuse(
                f"`says` shows {name!r}, which is no port of the rule", "says", did_you_mean(name, rule.ports), name
            )
        if not re.fullmatch(r",?|[a-z]+\|[a-z]+", form or "") or conversion:
            ways = f"{{{name}}}, {{{name}:,}} or {{{name}:row|rows}}"
            table.refuse(f"`says` shows {name!r} in a way that is not {ways}", "says", part=name)
