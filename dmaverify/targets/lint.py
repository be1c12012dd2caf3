"""What a target states without need, or without a source.

Knows: rules, limits, where each is used. Does not know: plans. Nothing rests on it.
Law: a complaint names what to add or to leave out; a target with complaints is judged all the same.
"""

from __future__ import annotations

from dmaverify.targets.rule import Rule
from dmaverify.targets.target import Target, load_obligations


def lint_target(target: Target) -> list[str]:
    """What is wrong with a target's content, one line each; empty for one that may ship.

    Asks of every rule: does each edge behave, does every reading change something, is the text whole, does the
    message show the values that are bad.
    """
    complaints = [line for rule in target.rules.values() for line in _lint_rule(rule)]
    used = {port for rule in target.rules.values() for port in rule.ports}
    used |= _tier_limits(target) | set(target.raw.get("machine", {}).get("limits", ()))
    complaints += [f"limit {name}: no rule and no tier uses it" for name in target.limits if name not in used]
    return complaints + [f"cites {name}: no such obligation" for name in target.cites if name not in load_obligations()]


def _tier_limits(target: Target) -> set[str]:
    used: set[str] = set()
    for tier in target.raw.get("tier", {}).values():
        used |= {tier.get("capacity", ""), *tier.get("sizes", {}).values()}
    return used


def _lint_rule(rule: Rule) -> list[str]:
    lines = [found[1] for edge in rule.edges if (found := rule.contradiction(edge))]
    lines += ["the message is empty" for edge in rule.edges if not rule.message(edge.first_bad).strip()]
    for reading in rule.readings.values():
        silent = reading.severity is None and not reading.off and not reading.limits
        if silent and reading.name != rule.reading:
            lines.append(f"reading {reading.name} changes nothing")
    lines += [f"`{key}` is empty" for key in ("hint", "why", "wrong", "right") if not getattr(rule, key)]
    return [f"rule {rule.id}: {line}" for line in lines]
