"""Plans by path, name or text: read, judged, and the commands of one transfer.

Knows: which reader takes which file, and which judge takes what was read.
Does not know: command line arguments, formats, exit codes.
Law: every call is a pure function of its arguments and the files they name; input that cannot be read raises
InputErrors, a plan that is wrong is a Verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from dmaverify.errors import InputError, typed
from dmaverify.jobs.walk import is_copy_text
from dmaverify.language import wellformed
from dmaverify.language.expr import Expr
from dmaverify.language.files import is_text, named
from dmaverify.language.parse import parse
from dmaverify.prove.options import Options
from dmaverify.verdict import Verdict

if TYPE_CHECKING:
    from dmaverify.jobs.entries import Asked
    from dmaverify.plan.plan import Plan
    from dmaverify.program.command import Command
    from dmaverify.targets.target import Target


def mapping(text: str | Expr, axes: Mapping[str, int]) -> Expr:
    """A mapping from its text, or its tree, over axes of so many elements: it gives each position, 0 to `size - 1`, its
    cell.

    Raises InputError where the text cannot be read or has no meaning (an indivisible cut, an unknown axis).

    >>> import dmaverify as dv
    >>> found = dv.mapping("A / 4, A % 4 # 6", {"A": 16})
    >>> found.size, str(found)
    (24, 'A / 4, A % 4 # 6')
    """
    must_be(text, (str, *get_args(Expr)), "the text of a mapping")
    must_be(axes, Mapping, "a table of axes with their sizes")
    for axis, size in axes.items():
        must_be(axis, str, "the name of an axis")
        must_be(size, int, f"the size of the axis {axis}: a whole number")
    expr = parse(text, axes) if isinstance(text, str) else text
    for problem in wellformed.problems(expr, axes):
        if problem.fatal:
            raise InputError(problem.message, problem.span, problem.hint)
    return expr


def must_be(value: object, kind: type | tuple[type, ...], what: str) -> None:
    """Raises InputError for an argument of another kind."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        said = repr(str(value)[:40]) if isinstance(value, str | bytes | int | float) else "this"
        raise InputError(f"{said} is not {what}", None, f"it is of type {type(value).__name__}")


def judged_by(own: str, target: str | None, path: str) -> None:
    """Raises InputError where a file of the machine `own` is to be judged by another one."""
    from dmaverify.targets.target import load_target

    if target is not None and load_target(target).folder.resolve() != load_target(own).folder.resolve():
        raise InputError(f"{path} is judged as the machine {own} has it, not {target}", None, "leave the target out")


def is_listed(path: str) -> bool:
    """Whether a file is one of a machine's own, by its suffix: burst lists, job files, images, drivers."""
    if path.endswith((".toml", ".rs")):
        return False
    from dmaverify.machines.idma.check import SUFFIXES

    return path.endswith(SUFFIXES)


def listed_verdict(path: str, name: str | None, settings: Mapping[str, Any], target: str | None) -> list[Verdict]:
    """The one verdict on a file of a machine's own; `engine` and `dims` of the settings say whose it is. Raises
    InputError.
    """
    from dmaverify.machines.idma.check import verdict_of_file

    judged_by("idma", target, path)
    try:
        found = verdict_of_file(
            path, settings.get("readings", {}), engine=settings.get("engine", ()), dims=settings.get("dims"),
            defines=settings.get("defines", ()),
        )  # fmt: skip
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if name is not None:
        raise InputError(
            f"`::{name}` names nothing: {path} is judged as a whole", None, f"dmaverify check {typed(path)}"
        )
    return [found]


def _named(plan: object, name: object, target: object) -> None:
    """Raises InputError for arguments that can name no plan."""
    from dmaverify.plan.plan import Plan as PlanType

    must_be(plan, (str, Path, PlanType), "a plan: a path, `path::name`, its text, or what `load` gave")
    if isinstance(plan, str) and not named(plan)[0].strip():
        raise InputError(f"`{plan}` names no file", None, "write PATH or PATH::NAME")
    must_be(name, (str, type(None)), "the name of a transfer")
    must_be(target, (str, type(None)), "the name or the folder of a machine")


def load(
    plan: str | Path | Plan, name: str | None = None, *, target: str | None = None, symbols: bool = False,
    partly: bool = False,
) -> Plan:  # fmt: skip
    """A plan from a path, `path::name`, or the text of a plan (anything with a line break); a Rust file by its path.

    A plan with symbols only where the caller judges `symbols`, one of which some entries cannot be read only where it
    tells of these (`partly`). Raises InputErrors, InputError.

    >>> import dmaverify as dv
    >>> plan = dv.load("examples/first.toml")
    >>> plan.names, dict(plan.axes), str(plan.transfers[0].transfer.dest.slice)
    (('relayout',), {'A': 64, 'B': 8, 'C': 256}, 'A')
    """
    _named(plan, name, target)
    found = _loaded(plan, name, target)
    if not partly:
        from dmaverify.plan.plan import all_read

        all_read(found)
    if symbols or not found.templates:
        return found
    from dmaverify.plan.plan import has_numbers

    return has_numbers(found)


def _loaded(plan: str | Path | Plan, name: str | None, target: str | None) -> Plan:
    from dmaverify.plan.plan import Plan as PlanType
    from dmaverify.plan.plan import select
    from dmaverify.plan.read import read_plan, read_plan_text

    if isinstance(plan, PlanType):
        for own in plan.targets:
            judged_by(own, target, plan.path)
        return selected(plan, name)
    text = str(plan)
    if isinstance(plan, str) and is_text(text):
        return select(read_plan_text(text, target=target, partly=True), name)
    path, inner = named(text)
    if path.endswith(".rs"):
        from dmaverify.machines.rngd.rust.plans import read_kernel_plan

        return selected(read_kernel_plan(path, target=target), name or inner or None)
    return select(read_plan(path, target=target, partly=True), name or inner or None)


def selected(plan: Plan, name: str | None) -> Plan:
    """As `select`, of a Rust kernel too, where a name may be that of a function."""
    from dmaverify.plan.plan import select

    if plan.is_kernel and name is not None:
        from dmaverify.machines.rngd.rust.plans import KernelPlan, select_kernel

        assert isinstance(plan, KernelPlan)
        return select_kernel(plan, name)
    return select(plan, name)


def check(
    plan: str | Path | Plan,
    name: str | None = None,
    *,
    target: str | None = None,
    options: Options | None = None,
    keep: dict[str, list[tuple[str, str, str]]] | None = None,
) -> list[Verdict]:
    """Verdicts of every entry of a file, in its order: transfers, accesses, programs and kernels of a plan, calls of a
    Rust kernel, functions of PTO text; a job file, list or driver of iDMA has one.

    `plan` is a path, `path::name`, a Plan or the text of one. As the command line does, what has up to 65,536 units is
    run in numpy beside its proof; `Options(cross_check=0)` leaves that out. `keep` receives the solver's questions per
    name. Raises InputError for what cannot be read; whatever goes wrong with one entry is told in its own verdict.

    >>> import dmaverify as dv
    >>> [(one.name, one.status.value, one.claim) for one in dv.check("examples/first.toml")]
    [('relayout', 'proved', 'all 131,072 bytes')]
    """
    from dmaverify.jobs.verdicts import verdicts_of

    _named(plan, name, target)
    must_be(options, (Options, type(None)), "an `Options`")
    must_be(keep, (dict, type(None)), "a dict that receives questions")
    chosen = (options or Options()).running
    if not isinstance(plan, str | Path) or (isinstance(plan, str) and is_text(plan)):
        return verdicts_of(load(plan, name, target=target, symbols=True, partly=True), chosen, keep)
    path, inner = named(str(plan))
    return file_verdicts(path, name or inner or None, {"readings": chosen.readings}, target, chosen, keep)


def file_verdicts(
    path: str, name: str | None, settings: Mapping[str, Any], target: str | None, options: Options, keep: Asked | None
) -> list[Verdict]:
    """The verdicts of a file, or of its entry `name`, by the judge of its kind; `engine`, `dims` and `defines` of the
    settings are for a machine's own files. Raises InputError for what cannot be read.
    """
    from dmaverify.jobs.verdicts import verdicts_of
    from dmaverify.prove.boundary import guarded

    if is_copy_text(path):
        judged_by("pto", target, path)
        from dmaverify.machines.pto.check import check_file

        return check_file(path, name, options, keep)
    if is_listed(path):
        judge = partial(listed_verdict, path, name, settings, target)
        return guarded(judge, options.limits, name=Path(path).stem, path=path)
    return verdicts_of(load(path, name, target=target, symbols=True, partly=True), options, keep)


def run_of(plan: Plan, name: str) -> tuple[Command, ...]:
    """`program_of`, of commands that run to their end. Raises InputError for others."""
    item = next(t for t in plan.transfers if t.name == name)
    short = next((problem for problem in item.problems if problem.cut_short), None)
    if short is not None:
        raise InputError(f"`{name}` does not run to its end: {short.message}", short.span, short.hint)
    return program_of(plan, name)


def program_of(plan: Plan, name: str, target: Target | None = None) -> tuple[Command, ...]:
    """The commands of a transfer: those given, else those of its stream. Raises InputError where there are none."""
    from dmaverify.lower.pairing import Trouble
    from dmaverify.lower.programs import given_program, streamed_program
    from dmaverify.prove.move.preconditions import require

    item = next(t for t in plan.transfers if t.name == name)
    transfer = item.transfer
    machine = target or plan.targets[transfer.target]
    bits = machine.dtypes[transfer.dtype]
    require(transfer, plan.axes, machine, item.problems)
    if transfer.given:
        found: object = given_program(transfer.given, transfer.source, transfer.dest, bits, machine)
        if isinstance(found, list):
            raise InputError(found[0].message, found[0].span, found[0].hint)
    else:
        found = streamed_program(transfer, bits, machine)
        if found is None and transfer.form is not None:
            raise InputError(f"`{name}` has commands that move nothing", transfer.span, "`check` says why")
        if found is None:
            hint = "add `stream = { time, packet }`"
            raise InputError(f"`{name}` has neither a stream nor commands", transfer.span, hint)
        if isinstance(found, Trouble):
            raise InputError(found.message, found.span, found.hint)
    assert isinstance(found, tuple)
    return found
