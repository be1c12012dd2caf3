"""The command `conditions`.

Knows: its arguments and exit codes. Does not know: how a condition is found or written.
Law: 0 where every condition is exact, 3 where one is not, 2 for input that cannot be read.
"""

from __future__ import annotations

from typing import Any

import click

from dmaverify.cli.options import WordChoice, options
from dmaverify.errors import InputError


@click.command()
@click.argument("path", metavar="PATH[::NAME]")
@click.option("--json", "as_json", is_flag=True, help="As data: a list, one element an entry of the plan.")
@click.option(
    "--guards", type=WordChoice(("rust", "c", "mlir", "python")), help="An assertion that implies the condition."
)
@options("reading", "target")
def conditions(path: str, as_json: bool, guards: str | None, reading: tuple[str, ...], target: str | None) -> None:
    """The sizes for which a plan with symbols holds.

    As few clauses as it takes, each with what asks for it.
    """
    from dmaverify.cli.screen import told
    from dmaverify.report.conditions import condition_json, conditions_text

    if guards is not None and as_json:
        raise InputError("--guards writes text, --json data", None, "give one of them")
    found = _found(path, reading, target)
    if guards is not None:
        from dmaverify.report.guards import guards_text

        shown: Any = guards_text(found, guards)
    else:
        shown = [condition_json(one) for one in found] if as_json else conditions_text(found)
    raise told(shown, 0 if all(one.status == "exact" for one in found) else 3)


def _found(path: str, reading: tuple[str, ...], target: str | None) -> list[Any]:
    from dmaverify.jobs.judge import readings_of
    from dmaverify.jobs.load import load
    from dmaverify.prove.options import Options
    from dmaverify.prove.sizes.conditions import conditions as conditions_of

    plan = load(path, target=target, symbols=True)
    if not plan.templates:
        hint = "write a size as `N = { min = 1, max = 4096 }`; a plan of numbers has one size, which `check` judges"
        raise InputError(f"{plan.path} has no symbols", None, hint)
    chosen = readings_of(reading)
    for template in plan.templates:
        template.machine.check_readings(chosen)
    return [conditions_of(template, Options(readings=chosen)) for template in plan.templates]
