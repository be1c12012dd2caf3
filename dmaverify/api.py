"""What `import dmaverify as dv` offers: mappings, checks, derivations, runs, comparisons, in a few calls.

Knows: which rooms answer which question, and how a plan file's parts go to them.
Does not know: command line arguments, formats, exit codes.
Law: every call is a pure function of its arguments and the files they name; input that cannot be read raises
InputErrors, a plan that is wrong is a Verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dmaverify import cost
from dmaverify.errors import InputError
from dmaverify.execute.outcome import AT_ONCE
from dmaverify.jobs.load import check, load, mapping, must_be, program_of, run_of
from dmaverify.values import fields

if TYPE_CHECKING:
    from dmaverify.cost.model import Cost
    from dmaverify.execute.result import Execution
    from dmaverify.plan.plan import Plan, PlanTransfer
    from dmaverify.program.move import Transfer
    from dmaverify.synth.result import Synthesis
    from dmaverify.targets.target import Target

__all__ = ["check", "cost", "load", "mapping", "price", "program_of", "run", "synthesize"]


def run(
    plan: str | Path | Plan, name: str | None = None, *, target: str | None = None, limit_units: int = AT_ONCE
) -> Execution:
    """Executes one transfer in numpy, unit by unit, and judges what arrived by the literal meaning of its mappings.

    A unit is a byte, or half a byte of a 4-bit type. Memories (`memory_before`, `memory_after`, `source_memory`) are
    flat arrays of one number for each unit of the declared region. Raises InputError, and TooLarge above `limit_units`
    units.

    >>> import dmaverify as dv
    >>> done = dv.run("examples/first.toml::relayout")
    >>> done.packets, done.bytes_moved, done.units_equal, done.memory_after.shape, sorted(done.broken)
    (512, 131072, 131072, (131072,), [])
    """
    from dmaverify.execute.interpret import execute
    from dmaverify.lower.programs import space_of

    must_be(limit_units, int, "a number of units")
    loaded, item = _one(plan, name, target)
    transfer = item.transfer
    machine = loaded.targets[transfer.target]
    commands = run_of(loaded, item.name)
    return execute(
        transfer.source,
        transfer.dest,
        space_of(machine, transfer.source.tier),
        space_of(machine, transfer.dest.tier),
        machine.dtypes[transfer.dtype],
        commands,
        limit_units=limit_units,
    )


def _one(plan: str | Path | Plan, name: str | None, target: str | None) -> tuple[Plan, PlanTransfer]:
    """A plan and its one transfer. Raises InputError."""
    loaded = load(plan, name, target=target)
    if len(loaded.transfers) != 1:
        names = ", ".join(item.name for item in loaded.transfers) or "none"
        raise InputError(f"{loaded.path} has {len(loaded.transfers)} transfers ({names})", None, "name one: PATH::NAME")
    return loaded, loaded.transfers[0]


def synthesize(
    move: Transfer | str | Path | Plan,
    target: Target | str | None = None,
    *,
    name: str | None = None,
    axes: Mapping[str, int] | None = None,
    **settings: Any,
) -> Synthesis:
    """The cheapest legal plan of one move: the answer that `dmaverify synth` gives, proved as it prints.

    `move` is a Transfer, or a plan (path, `path::name`, text) with one transfer or with `name`. `target` is a Target,
    or the name or folder of one. `settings` are those of the command line, by the names of `--stdin`: profile, packet
    (bytes), engines, entries, commands, prefix, budget (seconds), evaluations, simulate, reading. Moves between gm and
    ub are answered with the fewest copies. Raises InputError, InputErrors.

    >>> import dmaverify as dv
    >>> found = dv.synthesize("examples/first.toml", packet=256)
    >>> found.cycles, found.bound, found.optimal, str(found.transfer.stream.packet)
    (1011.0, 1011.0, True, 'C')
    """
    from dmaverify.jobs.synthesis import SynthSettings, answer_of, settings_of, synthesize_move
    from dmaverify.language.expr import axes_of
    from dmaverify.program.move import Transfer as TransferType
    from dmaverify.targets.target import load_target

    unknown = sorted(set(settings) - {f.name for f in fields(SynthSettings)})
    if unknown:
        raise InputError(f"`{unknown[0]}` is no setting of synthesize", None, "see help(dmaverify.synthesize)")
    chosen = settings_of(settings, SynthSettings())
    if isinstance(move, TransferType):
        machine = load_target(target or move.target) if target is None or isinstance(target, str) else target
        sizes = axes or {**axes_of(move.source.mapping), **axes_of(move.dest.mapping)}
        return synthesize_move(move, machine, sizes, chosen)
    plan = load(move, name, target=target if target is None or isinstance(target, str) else str(target.folder))
    names = plan.move_names
    if len(names) != 1:
        raise InputError(f"{len(names)} transfers to synthesize ({', '.join(names) or 'none'})", None, "name one")
    return answer_of(plan, names[0], chosen)


def price(
    plan: str | Path | Plan, name: str | None = None, *, target: str | None = None, profile: str = "book"
) -> Cost:
    """What the commands of one transfer cost, in cycles of the cost model `profile`, as named terms.

    `exact`: the simulator gives the same number; else it is a lower bound of it. Raises InputError, also for a machine
    without prices.

    >>> import dmaverify as dv
    >>> found = dv.price("examples/first.toml")  # or dv.cost(...)
    >>> found.cycles, found.binding, [term.name for term in found.terms][:3]
    (1012.0, 'read issue', ['start-up', 'read issue', 'write issue'])
    """
    from dmaverify.cost.prices import data_of, price_of

    must_be(profile, str, "the name of a profile")
    loaded, item = _one(plan, name, target)
    machine = loaded.targets[item.transfer.target]
    return price_of(item.transfer, machine, program_of(loaded, item.name), data_of(machine, profile))


class CalledPackage(ModuleType):
    """The package `dmaverify.cost`, which is called as well: `dv.cost` has one name with it.

    >>> import dmaverify as dv
    >>> dv.cost("examples/first.toml").cycles == dv.price("examples/first.toml").cycles
    True
    """

    def __call__(self, *given: Any, **named: Any) -> Cost:
        return price(*given, **named)


cost.__class__ = CalledPackage


def _show_in_notebooks() -> None:
    """Gives mappings, verdicts and plans the method by which a notebook draws them."""
    from typing import get_args

    from dmaverify.language.expr import Expr
    from dmaverify.plan.plan import Plan as PlanType
    from dmaverify.verdict import Verdict

    def shown(how: str) -> Callable[[Any], str]:
        def html(value: Any) -> str:
            from dmaverify.report import notebook

            return str(getattr(notebook, how)(value))

        return html

    for kind in get_args(Expr):
        kind._repr_html_ = shown("mapping_html")
    Verdict._repr_html_ = shown("verdict_html")  # type: ignore[attr-defined]
    PlanType._repr_html_ = shown("plan_html")  # type: ignore[attr-defined]


_show_in_notebooks()
