"""Commands that tell what dmaverify knows: rules, machines, the schema of plans, what it stands on.

Knows: their options and what they print.
Does not know: rules and machines themselves (data says them).
Law: text and JSON say the same.
"""

from __future__ import annotations

import json

import click

from dmaverify.cli.options import AS_JSON, MACHINE, RULE

# ---------------------------------------------------------------- explain, rules, targets, schema, doctor


@click.command()
@click.argument("rule", type=RULE)
@click.option("--target", type=MACHINE, metavar="TEXT", help="The machine whose rule is meant.")
@AS_JSON
def explain(rule: str, target: str | None, as_json: bool) -> None:
    """What a rule or obligation says, why, and where it is written."""
    from dmaverify.cli.screen import told
    from dmaverify.report.rules import explain_id, explain_id_json
    from dmaverify.targets.target import load_target

    machine = load_target(target) if target else None
    raise told(explain_id_json(rule, machine) if as_json else explain_id(rule, machine))


@click.command()
@click.option("--target", type=MACHINE, metavar="TEXT", default="rngd", show_default=True)
@AS_JSON
def rules(target: str, as_json: bool) -> None:
    """Every rule of a machine, and what is wrong with them.

    Exit code 1 where a rule contradicts its own edge.
    """
    from dmaverify.cli.screen import say, told
    from dmaverify.report.rules import rules_json, rules_table
    from dmaverify.targets.lint import lint_target
    from dmaverify.targets.target import load_target

    machine = load_target(target)
    for complaint in lint_target(machine):
        say(f"complaint: {complaint}", error=True)
    wrong = any(rule.contradiction(edge) for rule in machine.rules.values() for edge in rule.edges)
    raise told(rules_json(machine) if as_json else rules_table(machine), int(wrong))


@click.command()
@AS_JSON
def targets(as_json: bool) -> None:
    """The machines that ship, with tiers, limits and engines."""
    from dmaverify.cli.screen import told
    from dmaverify.report.rules import targets_json, targets_table
    from dmaverify.targets.target import available_targets, load_target

    found = [load_target(name) for name in available_targets()]
    raise told(targets_json(found) if as_json else targets_table(found))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The default: the schema is JSON.")
def schema(as_json: bool) -> None:
    """The JSON Schema of plan files."""
    from dmaverify.cli.screen import told
    from dmaverify.plan.schema import json_schema

    raise told(json.dumps(json_schema(), indent=2))


@click.command()
@AS_JSON
def doctor(as_json: bool) -> None:
    """Versions, machine data, and whether the solver works.

    What dmaverify stands on, with hashes of the machine data and a proof that is made anew.
    """
    from dmaverify.cli.screen import told
    from dmaverify.jobs.doctor import doctor_report, doctor_text

    report = doctor_report()
    raise told(report if as_json else doctor_text(report), 0 if report["works"] else 4)
