"""What `import dmaverify as dv` offers: mappings, checks, derivations, runs, comparisons, in a few calls.

Knows: which rooms answer which question, and how a plan file's parts go to them.
Does not know: command line arguments, formats, exit codes.
Law: every call is a pure function of its arguments and the files they name; input that cannot be read raises
InputErrors, a plan that is wrong is a Verdict.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.jobs.load import check, load, mapping, program_of
from dmaverify.prove.move.preconditions import unmet

if TYPE_CHECKING:
    from dmaverify.execute import Execution
    from dmaverify.plan.read import Plan

__all__ = ["check", "load", "mapping", "program_of", "run"]


def run(
    plan: str | Path | Plan, name: str | None = None, *, target: str | None = None, limit_units: int = 1 << 26
) -> Execution:
    """Executes one transfer in numpy, unit by unit, and judges it against the literal meaning. Raises InputError,
    TooLarge.
    """
    from dmaverify.execute import execute
    from dmaverify.lower.programs import space_of

    loaded = load(plan, name, target=target)
    if len(loaded.transfers) != 1:
        names = ", ".join(t.name for t in loaded.transfers) or "none"
        raise InputError(f"{loaded.path} has {len(loaded.transfers)} transfers ({names})", None, "name one: PATH::NAME")
    item = loaded.transfers[0]
    transfer = item.transfer
    machine = loaded.targets[transfer.target]
    for problem in unmet(transfer, loaded.axes, machine, item.problems):
        if problem.fatal:
            raise InputError(problem.message, problem.span, problem.hint)
    commands = program_of(loaded, item.name)
    return execute(
        transfer.source,
        transfer.dest,
        space_of(machine, transfer.source.tier),
        space_of(machine, transfer.dest.tier),
        machine.dtypes[transfer.dtype],
        commands,
        limit_units=limit_units,
    )
