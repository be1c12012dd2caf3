"""`cost` of a plan file: its transfers, gathers, scatters and programs, one after the other.

Knows: which entries have a price, which have none and why; timelines of programs.
Does not know: how a transfer is priced, the terminal.
Law: an entry without a price is named with the reason and takes nothing from the others; a program is laid out in
time only where every step of it has a price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, errors_of

if TYPE_CHECKING:
    from dmaverify.plan.plan import Plan
    from dmaverify.program.access import Access
    from dmaverify.program.indirect import Indirect
    from dmaverify.program.schedule import Program, Step
    from dmaverify.prove.flow.touches import StepWork
    from dmaverify.report.timeline import Duration, Slot
    from dmaverify.targets.target import Target

INDIRECT = (
    "has no price: how long the engine takes to read an index and a row it names is in no document, "
    "and one published row (934 cycles for 512 bytes) supports no formula"
)


CHANNEL = "memory/hbm-channel"
"""The reading of the channel bits of an HBM address."""


@dataclass(frozen=True)
class Chosen:
    """What was asked for beside the price."""

    profile: str = "book"
    simulate: bool = False
    explain: bool = False
    formula: bool = False
    readings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Priced:
    """One entry: its text and its JSON; `errors` where its input makes no price."""

    text: str
    data: Mapping[str, Any]
    errors: tuple[InputError, ...] = ()


def costs_of(path: str, chosen: Chosen, as_json: bool) -> tuple[str, list[InputError]]:
    """The costs of every entry of a plan as text or JSON, and why others have none. Raises InputError where there is
    nothing to price.
    """
    from dmaverify.cli.rust import with_references
    from dmaverify.jobs.load import load
    from dmaverify.report.data import dumps

    plan = with_references(load(path, partly=True), chosen.profile)
    for machine in plan.targets.values():
        machine.check_readings(chosen.readings)
    if chosen.readings:
        plan = replace(plan, targets={name: one.under(chosen.readings) for name, one in plan.targets.items()})
    errors = [error for one in plan.unread for error in one.errors]
    if not (plan.transfers or plan.accesses or plan.indirects or plan.programs or errors):
        raise InputError(f"{path} has no transfer to price")
    found = priced_entries(plan, chosen, as_json)
    errors += [error for one in found for error in one.errors]
    if all(one.errors for one in found):
        return "", errors
    return (dumps([one.data for one in found]) if as_json else "\n".join(one.text for one in found)), errors


def priced_entries(plan: Plan, chosen: Chosen, as_json: bool) -> list[Priced]:
    """Every entry of a plan, priced or not. Raises InputError where the profile does not exist."""
    from dmaverify.cost.constants import cost_data

    cost_data(chosen.profile)
    return [
        *(_transfer(plan, item.name, chosen, as_json) for item in plan.transfers),
        *(_access(plan, item) for item in plan.accesses),
        *(_indirect(item) for item in plan.indirects),
        *(_program(plan, program, chosen.profile) for program in plan.programs),
    ]


def _transfer(plan: Plan, name: str, chosen: Chosen, as_json: bool) -> Priced:
    from dmaverify.api import program_of
    from dmaverify.cli.synth import cost_of, cost_text

    try:
        price, data = cost_of(
            plan, name, chosen.profile, chosen.simulate, chosen.explain and as_json, chosen.readings.get(CHANNEL)
        )
        refuted = _refuted_by(plan, name, chosen.readings)
        data |= {"refuted": list(refuted)} if refuted else {}
        turns = _turns(plan, name)
        if turns > 1 and data["cycles"] is not None:
            data |= {"iterations": turns, "all_iterations": data["cycles"] * turns}
        if as_json:
            return Priced("", data)
        commands = program_of(plan, name)
        lines = cost_text(name, price, data, commands, explain=chosen.explain, formula=chosen.formula).split("\n")
        if refuted:
            lines.insert(1, f"  REFUTED by {', '.join(refuted)}: these are the cycles of a wrong program")
        return Priced("\n".join([*lines, *_all_turns(data)]), data)
    except InputError as error:
        every = tuple(errors_of(error))
        first = every[0]
        told = {"message": first.message, "line": first.span.line if first.span else None, "help": first.hint}
        return Priced(f"{name}   no price: {first.message}", {"name": name, "cycles": None, "error": told}, every)


def _refuted_by(plan: Plan, name: str, readings: Mapping[str, str]) -> tuple[str, ...]:
    """The errors of a transfer that a check refutes; none where it does not, or cannot say."""
    from dmaverify.jobs.verdicts import verdicts_of
    from dmaverify.plan.plan import select
    from dmaverify.prove.options import Options
    from dmaverify.verdict import Status

    if plan.is_kernel:
        return ()
    found = verdicts_of(select(plan, name), Options(repair=False, readings=readings))
    broken = [finding.rule for one in found if one.status is Status.REFUTED for finding in one.errors]
    return tuple(dict.fromkeys(broken))


def _turns(plan: Plan, name: str) -> int:
    """How often the loops around a transfer's views run."""
    views = next(item for item in plan.transfers if item.name == name).transfer.views
    return views.count if views is not None else 1


def _all_turns(data: Mapping[str, Any]) -> list[str]:
    if "iterations" not in data:
        return []
    said = f"one of {data['iterations']:,} iterations; one after the other: {data['all_iterations']:,.1f}"
    return [f"  {said}, each priced as the first"]


def _access(plan: Plan, item: Access) -> Priced:
    from dmaverify.jobs.accesses import priced_access

    try:
        price = priced_access(item, plan.targets[item.target])
    except InputError as error:
        none = {"name": item.name, "kind": "access", "cycles": None, "reason": error.message}
        return Priced(f"{item.name}   no price: {error.message}", none)
    return Priced(price.text(), price.as_data())


def _indirect(item: Indirect) -> Priced:
    return Priced(f"{item.name}   a {item.kind} {INDIRECT}", {"name": item.name, "cycles": None, "reason": INDIRECT})


# ---------------------------------------------------------------- programs


def _program(plan: Plan, program: Program, profile: str) -> Priced:
    from dmaverify.report.timeline import critical_path, timeline_text

    try:
        slots = laid_out(plan, program, profile)
    except InputError as error:
        none = {"name": program.name, "kind": "program", "cycles": None, "reason": error.message}
        return Priced(f"{program.name}   no timeline: {error.message}", none)
    cycles = max((slot.end for slot in slots), default=0.0)
    shown = ("step", "lane", "start", "end", "waits_for")
    data = {
        "name": program.name,
        "kind": "program",
        "cycles": cycles,
        "profile": profile,
        "critical_path": critical_path(slots),
        "steps": [{key: getattr(slot, key) for key in shown} for slot in slots],
        "iterations": iterations(program),
    }
    beside = _beside(plan, program, slots)
    data |= {"contexts": beside} if beside else {}
    return Priced("\n".join([timeline_text(program.name, slots, profile, iterations(program)), *beside]), data)


def _beside(plan: Plan, program: Program, slots: Sequence[Slot]) -> list[str]:
    """What main and sub accesses that run side by side take from each other at the banks."""
    from dmaverify.jobs.accesses import banks_of, contention_lines
    from dmaverify.prove.flow.touches import work_of

    target = plan.targets[program.target]
    lanes = {slot.step: slot for slot in slots if slot.lane in ("main", "sub")}
    parts = {}
    for index, step in enumerate(program.steps):
        if step.name in lanes:
            slot, accesses = lanes[step.name], work_of(index, step, target).accesses
            banks = frozenset[int]().union(*(banks_of(access, command, target) for access, command in accesses))
            parts[step.name] = (slot.lane, slot.end - slot.start, banks)
    names = list(parts)
    return contention_lines(
        parts,
        [
            (one, other)
            for at, one in enumerate(names)
            for other in names[at + 1 :]
            if lanes[one].start < lanes[other].end and lanes[other].start < lanes[one].end
        ],
    )


def iterations(program: Program) -> int:
    """How often the loops around all of the steps run; 1 where the steps have different loops."""
    loops = {step.loops for step in program.steps}
    return prod(count for _, count in loops.pop()) if len(loops) == 1 else 1


def laid_out(plan: Plan, program: Program, profile: str, supported: bool = True) -> tuple[Slot, ...]:
    """Every piece of work of a program in time, once through its loops. Raises InputError where a step has no price;
    with `supported`, where no data stands behind it too.
    """
    from dmaverify.program.schedule import Circle, order_of
    from dmaverify.prove.flow.touches import work_of
    from dmaverify.prove.move.preconditions import unmet
    from dmaverify.report.timeline import slots_of

    target = plan.targets[program.target]
    if "hbm" not in target.tiers:
        raise InputError(f"{target.name} has no model of programs", program.span)
    for step in program.steps:
        for one in unmet(step.transfer, plan.axes, target, step.problems) if step.transfer is not None else ():
            if one.fatal:
                raise InputError(f"step `{step.name}` makes no command: {one.message}", one.span, one.hint)
    works = [work_of(index, step, target) for index, step in enumerate(program.steps)]
    for step, work in zip(program.steps, works, strict=True):
        if step.indirect is not None:
            raise InputError(f"step `{step.name}` is a {step.indirect.kind}, which {INDIRECT}", step.span)
        if work.troubles:
            raise InputError(f"step `{step.name}` makes no command: {work.troubles[0].message}", work.troubles[0].span)
        if work.whole:
            hint = "give its transfer a stream or commands"
            raise InputError(f"nothing says how step `{step.name}` moves its tensor", step.span, hint)
    order = order_of(program, [work.lanes for work in works])
    if isinstance(order, Circle):
        raise InputError(f"{', '.join(order.steps)} wait for each other", program.span, "take one `after` away")
    for step, work in zip(program.steps, works, strict=True) if supported else ():
        _supported(step, work, profile)
    each = [_durations(n, work, profile, target) for n, work in enumerate(works)]
    durations = {key: value for found in each for key, value in found.items()}
    return slots_of(program, order, durations)


def _supported(step: Step, work: StepWork, profile: str) -> None:
    """Raises InputError where no data supports a price of the step."""
    from dmaverify.cost.bands import band_of
    from dmaverify.cost.constants import cost_data
    from dmaverify.cost.sides import pairs_of

    data = cost_data(profile)
    band = band_of(work.commands, pairs_of(work.commands, data), data) if data.bands else None
    if band is not None and not band.modelled:
        raise InputError(f"step `{step.name}` is not modelled by profile {profile}: {band.name}", step.span)


def _durations(index: int, work: StepWork, profile: str, target: Target) -> Mapping[tuple[int, str], Duration]:
    """How long each lane works on a step: by itself, or as the whole step where what lanes share binds it."""
    from dmaverify.cost.model import cost
    from dmaverify.jobs.accesses import access_price
    from dmaverify.prove.flow.touches import lane_of
    from dmaverify.report.timeline import Duration

    if work.accesses:
        prices = [access_price(access, command, target) for access, command in work.accesses]
        about: dict[str, Any] = {"packets": sum(one.packets for one in prices), "cycles": "one memory access a cycle"}
        return {(index, lane): Duration(float(sum(one.cycles for one in prices)), about) for lane in work.lanes}
    parts = {
        lane: [command for command in work.commands if len(work.lanes) == 1 or lane_of(command) == lane]
        for lane in work.lanes
    }
    whole = cost(work.commands, "rngd", profile)
    alone = {lane: cost(own, "rngd", profile) for lane, own in parts.items()}
    shared = whole.cycles > max(price.cycles for price in alone.values())
    found = {}
    for lane, own in parts.items():
        price = whole if shared else alone[lane]
        about = {"bytes": sum(c.amount * c.unit_bits // 8 for c in own), "commands": len(own)}
        about |= {"binding": price.binding, "exact": price.exact}
        found[index, lane] = Duration(price.cycles, about)
    return found
