"""`cost` of a plan file or a kernel: its transfers, gathers, scatters, and programs in time, one after the other.

Knows: which entries have a price, which have none and why.
Does not know: how a transfer is priced, how programs are laid out in time (`cli.timelines`), the terminal.
Law: an entry without a price is named with the reason and takes nothing from the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dmaverify.cli.entries import Chosen, Priced, all_turns, rows_of_indirect
from dmaverify.errors import InputError, errors_of
from dmaverify.values import asdict, replace

if TYPE_CHECKING:
    from dmaverify.cost.constants import CostData
    from dmaverify.cost.gathers import RowMoves
    from dmaverify.cost.model import Cost
    from dmaverify.plan.kernels import PlanKernel
    from dmaverify.plan.plan import Plan
    from dmaverify.program.access import Access
    from dmaverify.program.indirect import Indirect


BESIDE_PRICE = 5_000_000  # solver units for the verdict that stands beside a price


def costs_of(path: str, chosen: Chosen, as_json: bool) -> tuple[str, list[InputError], str]:
    """The costs of every entry of a plan as text or JSON, why others have none, and what ended the work before its end.
    Raises InputError where there is nothing to price.
    """
    from dmaverify.cli.rust import references
    from dmaverify.jobs.load import load
    from dmaverify.prove.boundary import until_stopped
    from dmaverify.report.data import dumps

    plan, refused = references(load(path, partly=True), chosen.profile)
    plan = plan.under(chosen.readings)
    errors = [error for one in plan.unread for error in one.errors]
    if not (plan.names or refused or errors):
        raise InputError(f"{path} has no transfer to price")
    found, stopped = until_stopped(priced_entries(plan, chosen, as_json, refused))
    stopped = f"{stopped}; {len(found)} entries were priced" if stopped else ""
    errors += [error for one in found for error in one.errors]
    if all(one.errors for one in found):
        return "", errors, stopped
    for option, asked, kept, whose in (
        ("--formula", chosen.formula, "formula", "that have a closed form in symbols"),
        ("--explain", chosen.explain, "terms", "that are moves, gathers, scatters or kernels"),
    ):
        if asked and not stopped and not any(kept in one.data for one in found):
            raise InputError(f"{option} is for entries {whose}, and none of these is one", None, "leave it out")
    if as_json:
        return dumps([one.data for one in found]), errors, stopped
    told = [one.text for one in found]
    left = [str(one.data["name"]) for one in found if not one.errors and "simulation" not in one.data]
    if chosen.simulate and left:
        told.append(
            f"not simulated: {', '.join(left)} (the simulator plays single moves between HBM, DM, SPM and host)"
        )
    return "\n".join(told), errors, stopped


def priced_entries(
    plan: Plan, chosen: Chosen, as_json: bool, refused: Mapping[str, InputError] | None = None
) -> Iterator[Priced]:
    """Every entry of a plan, priced or not; `refused`: moves of a kernel that have no commands. Raises InputError where
    the profile does not exist.
    """
    from dmaverify.cli.timelines import kernel_timelines, program_timeline

    for machine in plan.targets.values():
        chosen.of(machine)
    rest, transfers = dict(refused or {}), dict[str, Any]()
    names = [*(item.name for item in plan.transfers), *rest]
    for name in sorted(names, key=partial(_written_at, plan)) if rest else names:
        one = _unpriced(name, rest[name]) if name in rest else _transfer(plan, name, chosen, as_json)
        transfers[str(one.data["name"])] = one.data
        yield one
    yield from (_access(plan, item) for item in plan.accesses)
    yield from (_indirect(plan, item, chosen) for item in plan.indirects)
    yield from (program_timeline(plan, program, chosen) for program in plan.programs)
    yield from (_kernel(plan, one, chosen, as_json) for one in plan.kernels)
    yield from kernel_timelines(plan, transfers, chosen)


def _kernel(plan: Plan, one: PlanKernel, chosen: Chosen, as_json: bool) -> Priced:
    """A kernel in PTO text, in its symbols."""
    from dmaverify.jobs.kernel_prices import cost_text, kernel_cost
    from dmaverify.machines.pto.named import function_in_plan

    try:
        machine = plan.targets[one.target]
        data = kernel_cost(function_in_plan(one, machine), {}, explain=chosen.explain)
    except InputError as error:
        return _unpriced(one.name, error)
    return Priced("" if as_json else cost_text(data, formula=chosen.formula, explain=chosen.explain), data)


def _written_at(plan: Plan, name: str) -> int:
    """The place of a kernel's transfer in its text."""
    from dmaverify.machines.rngd.rust.plans import KernelPlan

    assert isinstance(plan, KernelPlan)
    return next((number for number, site in enumerate(plan.sites) if name in site.names), len(plan.sites))


def _unpriced(name: str, error: InputError) -> Priced:
    every = tuple(errors_of(error))
    first = every[0]
    told = {"message": first.message, "line": first.span.line if first.span else None, "help": first.hint}
    return Priced(f"{name}   no price: {first.message}", {"name": name, "cycles": None, "error": told}, every)


def _transfer(plan: Plan, name: str, chosen: Chosen, as_json: bool) -> Priced:
    from dmaverify.api import program_of
    from dmaverify.cli.synth import cost_of, cost_text
    from dmaverify.cost.formula import formula

    rows = _rows_in_kernel(plan, name)
    if rows is not None:
        return _of_rows(name, *rows, chosen, _constants(plan, name, chosen))
    try:
        if (copies := _copies(plan, name, chosen)) is not None:
            return copies
        of = _constants(plan, name, chosen)
        price, data = cost_of(plan, name, of, chosen.simulate, chosen.explain and as_json)
        commands = program_of(plan, name)
        if chosen.formula and price.sides:
            data["formula"] = [asdict(term) for term in formula(commands[0], of)]
        refuted = _refuted_by(plan, name, chosen.readings)
        data |= {"refuted": list(refuted)} if refuted else {}
        transfer = next(item.transfer for item in plan.transfers if item.name == name)
        every = all_turns(transfer, plan.targets[transfer.target], commands, of)
        if every is not None and data["cycles"] is not None:
            data |= {"iterations": every.iterations, "all_iterations": every.cycles, "kinds": every.kinds}
            data |= {"iterations_priced": every.priced}
        if as_json:
            return Priced("", data)
        lines = cost_text(name, price, data, commands, of, explain=chosen.explain, formula=chosen.formula).split("\n")
        return Priced("\n".join([*_beside_refuted(lines, refuted), *_all_turns(data)]), data)
    except InputError as error:
        return _unpriced(name, error)


def _constants(plan: Plan, name: str, chosen: Chosen) -> CostData:
    """What is asked for of the machine of a transfer."""
    transfer = next(item for item in plan.transfers if item.name == name).transfer
    return chosen.of(plan.targets[transfer.target])


def _copies(plan: Plan, name: str, chosen: Chosen) -> Priced | None:
    """A transfer by copy instructions; None for any other. Raises InputError where no text can say its copies."""
    from dmaverify.jobs.kernel_prices import cost_text
    from dmaverify.jobs.load import run_of
    from dmaverify.jobs.plan_copies import goes_by_copies, priced_copies

    transfer = next(item for item in plan.transfers if item.name == name).transfer
    target = plan.targets[transfer.target]
    if not goes_by_copies(transfer, target):
        return None
    data = priced_copies(transfer, run_of(plan, name), target, explain=chosen.explain)
    refuted = _refuted_by(plan, name, chosen.readings)
    data |= {"refuted": list(refuted)} if refuted else {}
    text = cost_text(data, formula=chosen.formula, explain=chosen.explain)
    return Priced("\n".join(_beside_refuted(text.split("\n"), refuted)), data)


def _beside_refuted(lines: Sequence[str], refuted: Sequence[str]) -> list[str]:
    """The lines of a price, of which the second says that the program is wrong."""
    said = f"  REFUTED by {', '.join(refuted)}: these are the cycles of a wrong program"
    return [*lines[:1], *([said] if refuted else []), *lines[1:]]


def _refuted_by(plan: Plan, name: str, readings: Mapping[str, str]) -> tuple[str, ...]:
    """The errors of a transfer that a check refutes; none where it does not, or cannot say."""
    from dmaverify.jobs.verdicts import verdicts_of
    from dmaverify.plan.plan import select
    from dmaverify.prove.options import Options
    from dmaverify.verdict import Status

    if plan.is_kernel:
        return ()
    found = verdicts_of(select(plan, name), Options(rlimit=BESIDE_PRICE, repair=False, readings=readings))
    broken = [finding.rule for one in found if one.status is Status.REFUTED for finding in one.errors]
    return tuple(dict.fromkeys(broken))


def _all_turns(data: Mapping[str, Any]) -> list[str]:
    if "iterations" not in data:
        return []
    kinds, priced = data["kinds"], data["iterations_priced"]
    about = "" if priced == data["iterations"] else "about "
    said = f"one of {data['iterations']:,} iterations; one after the other: {about}{data['all_iterations']:,.1f}"
    alike = "all alike" if kinds == 1 else f"of {kinds} prices"
    return [f"  {said}, {f'from {priced} of them, drawn, {alike}' if about else alike}"]


def _access(plan: Plan, item: Access) -> Priced:
    from dmaverify.jobs.accesses import priced_access

    try:
        price = priced_access(item, plan.axes, plan.targets[item.target])
    except InputError as error:
        return _unpriced(item.name, error)
    return Priced(price.text(), price.as_data())


# ---------------------------------------------------------------- gathers and scatters


def _indirect(plan: Plan, item: Indirect, chosen: Chosen) -> Priced:
    rows = rows_of_indirect(plan, item)
    if isinstance(rows, str):
        return _no_rows(item.name, f"a {item.kind} without a price: {rows}")
    return _of_rows(item.name, rows, item.kind, chosen, chosen.of(plan.targets[item.target]))


def _no_rows(name: str, reason: str) -> Priced:
    return Priced(f"{name}   {reason}", {"name": name, "cycles": None, "reason": reason})


def _of_rows(name: str, rows: RowMoves, kind: str, chosen: Chosen, data: CostData) -> Priced:
    from dmaverify.cost.gathers import NO_DATA, gather_cost

    if data.bands:
        return _no_rows(name, f"a {kind} {NO_DATA}")
    return rows_text(name, kind, rows, gather_cost(rows, data), chosen.explain)


def rows_text(name: str, kind: str, rows: RowMoves, price: Cost, explain: bool) -> Priced:
    """A gather's price as text and JSON."""
    what = f"{kind} of {rows.rows:,} rows" + ("" if rows.known else ", known at run time only")
    head = f"{name}   {price.cycles:,.1f} cycles (a lower bound), profile {price.profile}, bound by {price.binding}"
    wide = max(len(term.name) for term in price.terms)
    lines = [head, f"  {what}; what the engine waits for an index is in no document and not counted"]
    for term in price.terms:
        lines.append(f"  {term.name:{wide}}  {term.cycles:14,.1f}  {term.resource}")
        lines += [f"  {'':{wide}}  {term.why}", f"  {'':{wide}}  {term.source}"] if explain else []
    data = {"name": name, "kind": kind, "rows": rows.rows, "known": rows.known, **price.as_data()}
    return Priced("\n".join(lines), data)


def _rows_in_kernel(plan: Plan, name: str) -> tuple[RowMoves, str] | None:
    """The rows of a kernel's gather or scatter (and which it is), whose transfer stands for one number of the index;
    None for a plain move. The commands of a gather's transfer already go to every row of the destination.
    """
    if not plan.is_kernel:
        return None
    from dmaverify.api import program_of
    from dmaverify.cost.gathers import RowMoves
    from dmaverify.machines.rngd.rust.plans import KernelPlan, indirect_rows

    assert isinstance(plan, KernelPlan)
    found = indirect_rows(plan.moves[name])
    if found is None:
        return None
    rows, scatter = found
    moves = RowMoves(tuple(program_of(plan, name)), None, None if scatter else (0,), rows, 4 * rows)
    return moves, "scatter" if scatter else "gather"


# ---------------------------------------------------------------- requests


def _copied_or_cost(plan: Plan, name: str, chosen: Chosen) -> dict[str, Any]:
    from dmaverify.cli.synth import cost_of

    copies = _copies(plan, name, chosen)
    return (
        dict(copies.data)
        if copies
        else cost_of(plan, name, _constants(plan, name, chosen), chosen.simulate, chosen.explain)[1]
    )


def cost_request(request: dict[str, Any], given: Chosen) -> Any:
    """One line of `cost --stdin`; `given` is what the command line says where the line does not."""
    from dmaverify.cli.synth import plan_of_request
    from dmaverify.jobs.requests import flag, only_known

    if "frag" in request:
        from dmaverify.cli.idma import copy_cost

        return copy_cost(request)
    only_known(request, {"plan", "path", "name", "target", "profile", "simulate", "explain"})
    play, told = flag(request, "simulate", given.simulate), flag(request, "explain", given.explain)
    chosen = Chosen(str(request.get("profile", given.profile)), play, told, readings=given.readings)
    plan = plan_of_request(request).under(chosen.readings)
    found = [_copied_or_cost(plan, t.name, chosen) for t in plan.transfers]
    others = replace(plan, transfers=()) if found else plan
    found += [dict(one.data) for one in priced_entries(others, chosen, True)]
    return found[0] if len(found) == 1 else found
