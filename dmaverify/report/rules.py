"""Rules, obligations and targets as text and as data: what `explain`, `rules` and `targets` show.

Knows: how a rule reads best in a terminal, and which of its facts a program wants.
Does not know: how rules are judged, where output goes. Nothing here prints.
Law: every line comes from the target's data or the core's; a text never claims what the data does not say.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dmaverify.errors import InputError, Span, did_you_mean
from dmaverify.targets.rule import LEVEL_READING, Edge, Reading, Rule, When
from dmaverify.targets.target import CoreObligation, Target, available_targets, load_obligations, load_target

WIDTH = 100
_LABEL = 10


# ------------------------------------------------------------------------------------------ explain


def explain_text(rule: Rule, target: Target) -> str:
    """A rule in full: what, why, source, examples, formula, edges, readings, hint."""
    severity = rule.severity.value if rule.severity else "off by default"
    head = f"{rule.title}  [{severity}, target {target.name} {target.version}]"
    lines = [*_field("rule", rule.id), *_field("what", head)]
    lines += _optional("why", rule.why)
    lines += _field("source", f"{rule.source}   basis: {rule.basis}")
    lines += _optional("severity", rule.severity_why and f"{rule.base_severity.value}, because: {rule.severity_why}")
    lines += _optional("level", "" if rule.level == "any" else _level(rule))
    lines += _field("binds", _binds(rule))
    lines += _optional("wrong", rule.wrong) + _optional("right", rule.right)
    lines += _field("formula", rule.formula)
    limits = [figure for name in rule.ports if (figure := target.limit_figures.get(name)) is not None]
    for figure in limits:
        origin = f"({figure.source}; {figure.basis})"
        lines += _field("limit", f"{figure.name} = {figure.value:,} {figure.unit}: {figure.says} {origin}")
    for edge in rule.edges:
        lines += _field("edge", _edge(edge, [figure.name for figure in limits]))
    lines += _optional("says", rule.message(rule.edges[0].first_bad))
    lines += _optional("hint", rule.hint)
    for reading in rule.readings.values():
        mark = f" (default: {rule.reading_why})" if reading.name == rule.reading else ""
        lines += _field("reading", f"{reading.name}: {reading.says}{_effect(reading)}{mark}")
    if rule.readings:
        lines += _field("choose", f"--reading {rule.id}=NAME")
    return "\n".join(lines)


def explain_obligation_text(obligation: CoreObligation, target: Target | None = None) -> str:
    """An obligation of the core in full; with the sources of `target`, or of every machine that ships."""
    head = f"{obligation.title}  [{obligation.severity.value}, every target]"
    lines = [*_field("rule", obligation.id), *_field("what", head)]
    for label in ("why", "proof", "source"):
        lines += _field(label, getattr(obligation, label))
    for name, cited in _cited(obligation, target).items():
        lines += _field(f"on {name}", cited)
    for label in ("wrong", "right", "hint"):
        lines += _field(label, getattr(obligation, label))
    for name, says in obligation.readings.items():
        mark = f" (default: {obligation.reading_why})" if name == obligation.reading else ""
        lines += _field("reading", f"{name}: {says}{mark}")
    if obligation.readings:
        lines += _field("choose", f"--reading {obligation.id}=NAME")
    return "\n".join(lines)


def _cited(obligation: CoreObligation, target: Target | None) -> dict[str, str]:
    """What the obligation rests on for the machine, or for each that ships, where it states that."""
    every = [target] if target else map(load_target, available_targets())
    return {one.name: one.cites[obligation.id] for one in every if obligation.id in one.cites}


def find_rule(rule_id: str, target: Target | None = None) -> tuple[Rule, Target] | CoreObligation:
    """The rule or obligation of that id, in `target` or else in the machines that ship. Raises InputError."""
    obligations = load_obligations()
    if rule_id in obligations:
        return obligations[rule_id]
    targets = [target] if target else [load_target(name) for name in available_targets()]
    for candidate in targets:
        if rule_id in candidate.rules:
            return candidate.rules[rule_id], candidate
    known = [*obligations, *(name for candidate in targets for name in candidate.rules)]
    raise InputError(f"no rule {rule_id!r}", hint=_meant(rule_id, known) or "`dmaverify rules` lists them")


def _meant(rule_id: str, known: Iterable[str]) -> str | None:
    """The hint that names the rule of the same end, or else the nearest."""
    same_end = [name for name in known if name.split("/")[-1] == rule_id.split("/")[-1]]
    return f"did you mean `{same_end[0]}`?" if same_end else did_you_mean(rule_id, known)


def known_ids(targets: Iterable[Target] = ()) -> frozenset[str]:
    """Every rule and obligation id of the core, of the machines that ship, and of `targets`."""
    found = set(load_obligations())
    for candidate in (*map(load_target, available_targets()), *targets):
        found |= set(candidate.rules)
        rule = candidate.raw.get("starvation", {}).get("rule")
        found |= {rule} if isinstance(rule, str) else set()
    return frozenset(found)


def names_of(kind: str) -> list[str]:
    """What a user can write as a `rule`, a `target` or a `reading` (RULE=NAME), sorted."""
    if kind == "target":
        return sorted(available_targets())
    if kind == "rule":
        return sorted(known_ids())
    found = {f"{one.id}={name}" for one in load_obligations().values() for name in one.readings}
    for target in map(load_target, available_targets()):
        found |= {f"{key}={name}" for key, names in target.readings.items() for name in names}
    return sorted(found)


def check_patterns(
    patterns: Iterable[str],
    said: str,
    targets: Iterable[Target] = (),
    where: Callable[[str], Span | None] = lambda pattern: None,
) -> None:
    """Raises InputError for a pattern (an id, or a prefix with or without `*`) that means no rule.

    `said` is where the pattern stands: `--select`, a key of the settings; `where` is its place, if it has one.
    """
    wanted = list(dict.fromkeys(patterns))
    if not wanted:
        return
    known = known_ids(targets)
    for pattern in wanted:
        stem = pattern.rstrip("*")
        if not stem or not any(rule.startswith(stem) for rule in known):
            all_of = "" if pattern.strip("*") else "leave it out: every rule is judged"
            listed = "name one rule at a time, without commas" if "," in pattern else ""
            near = all_of or listed or _meant(pattern, sorted(known))
            hint = near or "`dmaverify rules` lists them; a prefix ends in `*`: core/*"
            raise InputError(f"{said}: no rule `{pattern}`", where(pattern), hint)


def _starvation(rule_id: str, target: Target | None) -> tuple[Mapping[str, Any], Target] | None:
    """The section of a target whose rule has that id: one that is judged over programs, not over single commands."""
    for candidate in [target] if target else [load_target(name) for name in available_targets()]:
        section = candidate.raw.get("starvation", {})
        if section.get("rule") == rule_id:
            return section, candidate
    return None


def explain_starvation_text(section: Mapping[str, Any], target: Target) -> str:
    """The rule on bank starvation in full."""
    head = f"{section['title']}  [error, programs on {target.name} {target.version}]"
    lines = [*_field("rule", section["rule"]), *_field("what", head), *_field("why", section["why"])]
    lines += _field("source", f"{section['source']}   basis: {section['basis']}")
    for label in ("wrong", "right"):
        lines += _field(label, section[label])
    for name in ("noc_timeout_cycles", "engine_bytes", "port_bytes", "slices"):
        figure = section[name]
        origin = f"({figure['source']}; {figure['basis']})"
        text = f"{name} = {figure['value']:,} {figure['unit']}: {figure['says']} {origin}"
        lines += _field("figure", text)
    edge = section["edge"]
    lines += _field("edge", f"total = {edge['last_ok']['total']} is fine, {edge['first_bad']['total']} is not")
    lines += _field("counting", section["counting"]["says"]) + _field("hint", section["hint"])
    for name, reading in section["reading"].items():
        for option, what in reading["option"].items():
            mark = f" (default: {reading['why']})" if option == reading["default"] else ""
            lines += _field("reading", f"{name}={option}: {what['says']}{mark}")
        lines += _field("choose", f"--reading starvation/{name}=NAME")
    return "\n".join(lines)


def explain_id(rule_id: str, target: Target | None = None) -> str:
    """`explain RULE` as text."""
    starving = _starvation(rule_id, target)
    if starving is not None:
        return explain_starvation_text(*starving)
    found = find_rule(rule_id, target)
    return explain_obligation_text(found, target) if isinstance(found, CoreObligation) else explain_text(*found)


def explain_id_json(rule_id: str, target: Target | None = None) -> dict[str, Any]:
    """`explain RULE` as data."""
    starving = _starvation(rule_id, target)
    if starving is not None:
        return {"id": rule_id, "target": starving[1].name, **starving[0]}
    found = find_rule(rule_id, target)
    return obligation_json(found, target) if isinstance(found, CoreObligation) else rule_json(*found)


def rule_json(rule: Rule, target: Target) -> dict[str, Any]:
    """A rule as data, ready for JSON."""
    return {
        "id": rule.id,
        "target": target.name,
        "title": rule.title,
        "severity": rule.severity.value if rule.severity else None,
        "severity_why": rule.severity_why,
        "scope": rule.scope,
        "ports": list(rule.ports),
        "when": _when_json(rule.when),
        "level": rule.level,
        "says": rule.says,
        "why": rule.why,
        "hint": rule.hint,
        "source": rule.source,
        "basis": rule.basis,
        "formula": rule.formula,
        "smt": rule.function.text,
        "edges": [{"last_ok": dict(edge.last_ok), "first_bad": dict(edge.first_bad)} for edge in rule.edges],
        "readings": {name: _reading_json(reading) for name, reading in rule.readings.items()},
        "reading": rule.reading,
        "reading_why": rule.reading_why,
        "wrong": rule.wrong,
        "right": rule.right,
    }


def obligation_json(obligation: CoreObligation, target: Target | None = None) -> dict[str, Any]:
    """An obligation as data, with the keys of `rule_json` that it has, its proof, and each machine's own sources."""
    texts = ("title", "why", "proof", "hint", "source", "reading", "reading_why", "wrong", "right")
    return {
        "id": obligation.id,
        "target": None,
        **{name: getattr(obligation, name) for name in texts},
        "severity": obligation.severity.value,
        "cites": _cited(obligation, target),
        "readings": {name: {"says": says} for name, says in obligation.readings.items()},
    }


# ------------------------------------------------------------------------------------------ tables


def rules_table(target: Target) -> str:
    """One line a rule: id, severity, basis, title; the core's obligations first."""
    rows = [(ob.id, ob.severity.value, "core", ob.title) for ob in load_obligations().values()]
    rows += [(rule.id, _severity(rule), rule.basis, rule.title) for rule in target.rules.values()]
    return _table(("rule", "severity", "basis", "what"), rows)


def rules_json(target: Target) -> list[dict[str, Any]]:
    """The rows of `rules_table` as data, each in full."""
    obligations = [obligation_json(obligation, target) for obligation in load_obligations().values()]
    return obligations + [rule_json(rule, target) for rule in target.rules.values()]


def targets_table(targets: Iterable[Target]) -> str:
    """One block a target: title, tiers, engines, types, readings, number of rules."""
    return "\n\n".join("\n".join(_target_lines(target)) for target in targets)


def targets_json(targets: Iterable[Target]) -> list[dict[str, Any]]:
    """Targets as data: geometry, limits, tiers, routes, types, readings, rule ids."""
    return [_target_json(target) for target in targets]


def _target_lines(target: Target) -> list[str]:
    engines = target.engines
    amount = f"{engines.chips} chips x {engines.clusters} clusters x {engines.per_cluster}"
    lines = [*_field(target.name, f"{target.title}, data {target.version}")]
    for tier in target.tiers.values():
        sizes = " x ".join(f"{size} {place}s" for place, size in tier.sizes.items()) or "one place"
        room = f", {_size(tier.capacity_bytes)} in each" if tier.capacity_bytes else ""
        lines += _field("tier", f"{tier.name}: {tier.title}; {sizes}{room}")
    lines += _field("engines", f"{', '.join(engines.kinds)}; DMA: {amount}")
    for figure in target.figures.values():
        said = f"{figure.name} = {figure.value:,} {figure.unit}: {figure.says} ({figure.source}; {figure.basis})"
        lines += _field("figure", said)
    for tier, part in target.raw.get("memory", {}).items():
        lines += _field("ring", f"{tier}: {part['ring']} ({part['source']})") if "ring" in part else []
    priority = target.raw.get("starvation", {}).get("priority")
    if priority:
        lines += _field("priority", f"{', '.join(priority['order'])}: {priority['says']} ({priority['source']})")
    lines += _field("types", ", ".join(target.dtypes))
    lines += _field("rules", f"{len(target.rules)} (dmaverify rules --target {target.name})")
    for key, names in target.readings.items():
        lines += _field("reading", f"{key} = {names[0]} (default) | {' | '.join(names[1:])}")
    return [*lines, *_cost_lines(target)]


def _cost_lines(target: Target) -> list[str]:
    """The constants of the cost model: of each profile with basis and source, or plain ones, which share theirs."""
    lines, table = [], target.raw.get("cost", {})
    for profile, part in table.items():
        for name, one in part.items() if isinstance(part, dict) else ():
            if isinstance(one, dict) and "cycles" in one:
                said = f"{profile}: {name} {one['cycles']:.4g} cycles ({one['basis']}: {one['source']})"
                lines += _field("cost", said)
    plain = ", ".join(f"{name} {value}" for name, value in table.items() if isinstance(value, int | float))
    if plain:
        lines += _field("cost", f"{plain} ({table.get('basis', 'no basis')}: {table.get('source', 'no source')})")
    return lines


def _target_json(target: Target) -> dict[str, Any]:
    engines = target.engines
    return {
        "name": target.name,
        "title": target.title,
        "version": target.version,
        "geometry": dict(target.geometry),
        "limits": {
            name: {"value": f.value, "unit": f.unit, "says": f.says, "source": f.source, "basis": f.basis}
            for name, f in target.limit_figures.items()
        },
        "constants": dict(target.constants),
        "cost": target.raw.get("cost", {}),
        "tiers": {
            tier.name: {
                "title": tier.title, "places": list(tier.places), "sizes": dict(tier.sizes),
                "capacity_bytes": tier.capacity_bytes, "source": tier.source, "basis": tier.basis,
            }
            for tier in target.tiers.values()
        },
        "engines": {
            "kinds": list(engines.kinds), "chips": engines.chips, "clusters": engines.clusters,
            "per_cluster": engines.per_cluster, "slices": engines.slices, "dmns": engines.dmns,
        },
        "routes": [list(pair) for pair in target.routes],
        "dtypes": dict(target.dtypes),
        "readings": {key: list(names) for key, names in target.readings.items()},
        "rules": list(target.rules),
    }  # fmt: skip


# ------------------------------------------------------------------------------------------ pieces


def _field(label: str, text: str) -> list[str]:
    """A label and its text, wrapped under itself."""
    body = textwrap.wrap(text, WIDTH - _LABEL, break_long_words=False, break_on_hyphens=False) or [""]
    head = label.ljust(_LABEL - 1) + " "
    return [head + body[0], *(" " * _LABEL + line for line in body[1:])]


def _optional(label: str, text: str) -> list[str]:
    return _field(label, text) if text else []


def _severity(rule: Rule) -> str:
    return rule.severity.value if rule.severity else "off"


def _level(rule: Rule) -> str:
    default = " (the default)" if rule.level == "hw" else ""
    return f"{rule.level}: only under --reading {LEVEL_READING}={rule.level}{default}"


def _binds(rule: Rule) -> str:
    filters = [f"{key} {' or '.join(names)}" for key, names in _when_json(rule.when).items() if key != "side"]
    filters += [f"side {rule.when.side}"] if rule.when.side else []
    return f"scope {rule.scope}" + (f"; {', '.join(filters)}" if filters else "")


def _when_json(when: When) -> dict[str, Any]:
    filters: dict[str, Any] = {
        key: list(names)
        for key in ("engines", "source", "dest", "either", "neither", "tier")
        if (names := getattr(when, key))
    }
    return {**filters, "side": when.side} if when.side else filters


def _edge(edge: Edge, limits: Sequence[str]) -> str:
    def side(values: Mapping[str, int]) -> str:
        return ", ".join(f"{port} = {value:,}" for port, value in values.items() if port not in limits)

    return f"good: {side(edge.last_ok)}   bad: {side(edge.first_bad)}"


def _effect(reading: Reading) -> str:
    parts = ["off"] if reading.off else []
    parts += [reading.severity.value] if reading.severity else []
    parts += [f"{name} = {value:,}" for name, value in reading.limits.items()]
    return f" [{', '.join(parts)}]" if parts else ""


def _reading_json(reading: Reading) -> dict[str, Any]:
    severity = "off" if reading.off else reading.severity.value if reading.severity else None
    return {"says": reading.says, "severity": severity, "limits": dict(reading.limits)}


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads) - 1)]

    def line(row: Sequence[str]) -> str:
        return "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])

    return "\n".join(line(row) for row in (heads, *rows))


def _size(count: int) -> str:
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count:,} B"
