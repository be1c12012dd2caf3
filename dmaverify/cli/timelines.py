"""Programs and kernels in time: every step priced, as early as the order and what steps share allow.

Knows: what a step's lanes do, which steps have a price, what a kernel's calls stand for.
Does not know: how a transfer is priced, the terminal.
Law: a program is laid out; a step that has no price, or makes no command, stands with no time and its reason, and the
whole is then said to be a least. A kernel's transfers follow each other in the order of its text, because one
context does all of them (docs/machines/rngd.md 7.4); what it computes between them is not priced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from dmaverify.cli.entries import Chosen, Priced, all_turns, rows_of_indirect
from dmaverify.errors import InputError
from dmaverify.values import replace

if TYPE_CHECKING:
    from dmaverify.cost.bands import Band
    from dmaverify.cost.constants import CostData
    from dmaverify.plan.plan import Plan
    from dmaverify.program.command import Command
    from dmaverify.program.schedule import Order, Program, Step
    from dmaverify.prove.flow.accesses.touches import StepWork
    from dmaverify.report.timeline import Duration, Slot
    from dmaverify.targets.target import Target

Lanes = Mapping[tuple[int, str], "Duration"]
BANDS = "with each step at the same end of its band"


def program_timeline(plan: Plan, program: Program, chosen: Chosen) -> Priced:
    """The timeline of a program of a plan."""
    try:
        data = chosen.of(plan.targets[program.target])
        order, durations = _ordered(plan, program, data)
    except InputError as error:
        none = {"name": program.name, "kind": "program", "cycles": None, "reason": error.message}
        return Priced(f"{program.name}   no timeline: {error.message}", none)
    of = {str(one.about["of"]) for one in durations.values() if "of" in one.about}
    data = replace(data, profile=", ".join(sorted(of)), bands={}, thin={}) if of else data
    return _shown(program, order, durations, data, plan=plan)


def _shown(
    program: Program, order: Order, durations: Lanes, of: CostData, kind: str = "program", plan: Plan | None = None
) -> Priced:
    """The timeline as text and JSON; of a plan's program, with what its contexts take from each other at the banks."""
    from dmaverify.program.schedule import DMA_CONTEXT
    from dmaverify.report.iterations import GUESSED
    from dmaverify.report.timeline import DRAWN, GOES_ON, SHARED, critical_path, is_shared, timeline_text

    def lay(each: Callable[[Duration], float] | None = None) -> tuple[Slot, ...]:
        own = {key: replace(one, cycles=each(one)) for key, one in durations.items()} if each else durations
        named = {DMA_CONTEXT: plan.targets[program.target].engines.lane} if plan is not None else {}
        return tuple(replace(s, lane=named.get(s.lane, s.lane)) for s in _in_time(program, order, own, of))

    def end(each: Callable[[Duration], float]) -> float:
        return max((slot.end for slot in lay(each)), default=0.0)

    slots, many, profile = lay(), iterations(program), of.profile
    cycles = max((slot.end for slot in slots), default=0.0)
    every, whole = _all_iterations(program, order, durations, of) if many > 1 else (cycles, slots)
    drawn = any("drawn" in one.about for one in durations.values())
    guessed = any(GUESSED in slot.about for slot in whole)
    estimates = [said for said, holds in ((SHARED, is_shared(whole)), (DRAWN, drawn), (GOES_ON, guessed)) if holds]
    low, high = (partial(_at_end, number) for number in (0, 1))
    ends = [end(low), end(high)] if of.bands else []
    missing = [str(slot.about.get("error") or f"step `{slot.step}` is {slot.unpriced}")
               for slot in slots if slot.unpriced]  # fmt: skip
    endless = [slot.step for slot in slots if isinstance(slot.about.get("iterations"), str)]
    missing += [f"step `{step}` is in a loop of unknown turns, of which one is counted" for step in endless]
    shown = ("step", "lane", "start", "end", "waits_for", "slowed_by", "unpriced")
    data = {
        "name": program.name,
        "kind": kind,
        "cycles": None if missing else cycles,
        "profile": profile,
        "estimate": bool(estimates),
        "critical_path": critical_path(slots),
        "steps": [{key: getattr(slot, key) for key in shown} for slot in slots],
        "iterations": many,
        "all_iterations": None if missing else every,
        "loops": {slot.step: slot.about["iterations"] for slot in slots if "iterations" in slot.about},
    }
    if missing:
        data |= {"at_least": cycles, "reason": missing[0]}
    text = timeline_text(program.name, slots, profile, many, every, estimates)
    if ends and cycles and not missing:
        data["band"] = {"low": round(ends[0], 1), "high": round(ends[1], 1), "class": BANDS}
        parts = [f"{one / cycles - 1:+.0%}".replace("%", " %") for one in ends]
        text += f"\n  {cycles:,.0f} {parts[0]} to {parts[1]} ({ends[0]:,.0f} to {ends[1]:,.0f}), {BANDS}"
    if missing and not cycles:
        text = f"{program.name}   no timeline: {missing[0]}"
    beside = _beside(plan, program, slots) if plan is not None else []
    data |= {"contexts": beside} if beside else {}
    text = "\n".join([text, *beside])
    note = "\n  its own transfers: what it computes, and what functions that it calls move, is not priced"
    return Priced(text + (note if kind == "kernel" else ""), data)


def _at_end(number: int, one: Duration) -> float:
    """A duration at the low or high end of its band."""
    return one.cycles * float(one.about.get("band", (1, 1))[number])


def _beside(plan: Plan, program: Program, slots: Sequence[Slot]) -> list[str]:
    """What main and sub accesses that run side by side take from each other at the banks."""
    from dmaverify.jobs.accesses import banks_of, contention_lines
    from dmaverify.prove.flow.accesses.touches import work_of

    target = plan.targets[program.target]
    lanes = {slot.step: slot for slot in slots if slot.lane in ("main", "sub") and not slot.unpriced}
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


def _in_time(program: Program, order: Order, durations: Lanes, data: CostData) -> tuple[Slot, ...]:
    """Every piece of work in time: of loops around all steps one iteration, of others all of them."""
    from dmaverify.report.iterations import iterated
    from dmaverify.report.timeline import slots_of

    if len({step.loops for step in program.steps}) <= 1:
        return slots_of(program, order, durations, data)
    found = iterated(program, order, durations, data)
    if found is None:
        return slots_of(program, order, _all_own(program, durations), data)
    often = {step.name: prod(count for _, count in step.loops) for step in program.steps}
    return tuple(replace(s, about={**s.about, "iterations": n}) if (n := often[s.step]) > 1 else s for s in found)


def _all_iterations(program: Program, order: Order, durations: Lanes, data: CostData) -> tuple[float, tuple[Slot, ...]]:
    """The end of the last iteration of loops around all steps, where they are too long one after the other; and what
    that was seen by.
    """
    from dmaverify.report.iterations import iterated
    from dmaverify.report.timeline import slots_of

    found = iterated(program, order, durations, data)
    if found is None:
        own = {key: replace(one, cycles=float(one.about.get("mean", one.cycles))) for key, one in durations.items()}
        found = slots_of(program, order, own, data)
        return iterations(program) * max((slot.end for slot in found), default=0.0), found
    return max((slot.end for slot in found), default=0.0), found


def _all_own(program: Program, durations: Lanes) -> Lanes:
    """Durations where a step in loops takes all of its iterations."""
    out = {}
    for (number, lane), one in durations.items():
        turns = prod(count for _, count in program.steps[number].loops)
        every = turns * one.about.get("mean", one.cycles)
        about = {**one.about, "iterations": turns, "mean": every} if turns > 1 else one.about
        loads = {part: turns * busy for part, busy in one.loads.items()}
        out[number, lane] = replace(one, cycles=every if turns > 1 else one.cycles, about=about, loads=loads)
    return out


def laid_out(plan: Plan, program: Program, profile: str) -> tuple[Slot, ...]:
    """Every piece of work of a program in time, once through the loops that all steps share. Raises InputError where a
    step makes no command.
    """
    data = Chosen(profile).of(plan.targets[program.target])
    return _in_time(program, *_ordered(plan, program, data, supported=False), data)


def _ordered(plan: Plan, program: Program, data: CostData, supported: bool = True) -> tuple[Order, Lanes]:
    """The order of a program and how long each lane of each step works; with `supported`, a step that no data stands
    behind, or that is in error, has no time.
    """
    from dmaverify.cost.copy_figures import states_copies
    from dmaverify.cost.prices import has_price
    from dmaverify.program.schedule import DMA_CONTEXT, Circle, order_of
    from dmaverify.report.timeline import Duration

    target = plan.targets[program.target]
    if not (has_price(target) or states_copies(target)):
        raise InputError(f"{target.name} has no model of programs", program.span)
    lanes: list[tuple[str, ...]] = []
    found: dict[tuple[int, str], Duration] = {}
    for number, step in enumerate(program.steps):
        try:
            work = _work(plan, number, step, target)
        except InputError as error:
            if not supported:
                raise
            one = step.context or (DMA_CONTEXT if step.transfer is not None else step.accesses[0].context)
            lanes.append((one,))
            short = error.message.removeprefix(f"step `{step.name}` ")
            found[number, one] = Duration(0.0, {"no price": short, "error": error.message})
            continue
        lanes.append(work.lanes)
        found |= _durations(plan, program.target, number, step, work, data, supported)
    order = order_of(program, lanes)
    if isinstance(order, Circle):
        raise InputError(f"{', '.join(order.steps)} wait for each other", program.span, "take one `after` away")
    return order, found


def _work(plan: Plan, number: int, step: Step, target: Target) -> StepWork:
    """What a step does. Raises InputError where it makes no command."""
    from dmaverify.prove.flow.accesses.touches import work_of
    from dmaverify.prove.move.preconditions import require

    said = f"step `{step.name}` makes no command: "
    if step.transfer is not None:
        require(step.transfer, plan.axes, target, step.problems, said)
    for access in step.accesses:
        require(access, plan.axes, target, access.problems, said)
    work = work_of(number, step, target)
    if work.troubles and step.indirect is None:
        raise InputError(said + work.troubles[0].message, work.troubles[0].span)
    if work.whole and step.indirect is None:
        hint = "give its transfer a stream or commands"
        raise InputError(f"nothing says how step `{step.name}` moves its tensor", step.span, hint)
    return work


def _band(work: StepWork, data: CostData) -> Band | None:
    """How far the price of the work may be off; None where the profile does not say."""
    from dmaverify.cost.bands import band_of
    from dmaverify.cost.sides import pairs_of

    return band_of(work.commands, pairs_of(work.commands, data), data) if data.bands else None


def _durations(
    plan: Plan, target: str, number: int, step: Step, work: StepWork, data: CostData, supported: bool
) -> Mapping[tuple[int, str], Duration]:
    """How long each lane works on a step: by itself, or as the whole step where what its lanes share binds it."""
    from dmaverify.cost.model import cost
    from dmaverify.cost.prices import has_profiles
    from dmaverify.cost.sharing import loads_of
    from dmaverify.jobs.accesses import access_price
    from dmaverify.jobs.own_prices import own_price
    from dmaverify.prove.flow.accesses.touches import lane_of
    from dmaverify.report.timeline import Duration

    machine, about = plan.targets[target], dict[str, Any]()
    if step.transfer is not None and step.indirect is None and not has_profiles(machine):
        told = own_price(step.transfer, machine, work.commands)
        about = {"mean": told.mean, "of": told.of, **({"drawn": True} if told.drawn else {})}
        return {(number, lane): Duration(told.first, about) for lane in work.lanes}
    if step.indirect is not None:
        one = _gathered(plan, step, data, supported)
        return {(number, lane): one for lane in work.lanes}
    if work.accesses:
        prices = [access_price(access, command, plan.targets[target]) for access, command in work.accesses]
        about = {"packets": sum(one.packets for one in prices), "cycles": "one memory access a cycle"}
        return {(number, lane): Duration(float(sum(one.cycles for one in prices)), about) for lane in work.lanes}
    band = _band(work, data)
    if supported and band is not None and not band.modelled:
        reason = f"not modelled by profile {data.profile}: {band.name}"
        return {(number, lane): Duration(0.0, {"no price": reason}) for lane in work.lanes}
    parts = {
        lane: [command for command in work.commands if len(work.lanes) == 1 or lane_of(command) == lane]
        for lane in work.lanes
    }
    whole = cost(work.commands, data)
    alone = {lane: cost(own, data) for lane, own in parts.items()}
    shared = whole.cycles > max(price.cycles for price in alone.values())
    (scale, drawn), found = _mean(step, machine, work.commands, whole.cycles, data), {}
    for lane, own in parts.items():
        price = whole if shared else alone[lane]
        about = {"bytes": sum(c.amount * c.unit_bits // 8 for c in own), "commands": len(own)}
        about |= {"binding": price.binding, "exact": price.exact, "mean": price.cycles * scale}
        about |= {"drawn": True} if drawn else {}
        about |= {"band": (band.low, band.high)} if band is not None and band.modelled else {}
        found[number, lane] = Duration(price.cycles, about, loads_of(own, data), tuple(work.commands))
    return found


def _mean(step: Step, machine: Target, commands: Sequence[Command], first: float, data: CostData) -> tuple[float, bool]:
    """How long an iteration of a step takes in the mean, against its first; whether that is a mean of some drawn."""
    every = all_turns(step.transfer, machine, commands, data) if step.transfer is not None else None
    if every is None or not first:
        return 1.0, False
    return every.cycles / every.iterations / first, not every.exact


def _gathered(plan: Plan, step: Step, data: CostData, supported: bool) -> Duration:
    from dmaverify.cost.gathers import NO_DATA, gather_cost
    from dmaverify.report.timeline import Duration

    assert step.indirect is not None
    rows = rows_of_indirect(plan, step.indirect)
    if isinstance(rows, str):
        return Duration(0.0, {"no price": rows})
    if supported and data.bands:
        return Duration(0.0, {"no price": f"a {step.indirect.kind} {NO_DATA}"})
    price = gather_cost(rows, data)
    return Duration(price.cycles, {"rows": rows.rows, "binding": price.binding, "exact": False})


# ---------------------------------------------------------------- kernels


def kernel_timelines(plan: Plan, prices: Mapping[str, Mapping[str, Any]], chosen: Chosen) -> list[Priced]:
    """The timeline of every function of a kernel, from the prices of its transfers; nothing for other plans."""
    if not plan.is_kernel:
        return []
    from dmaverify.cost.constants import cost_data
    from dmaverify.machines.rngd.rust.plans import KernelPlan

    assert isinstance(plan, KernelPlan)
    machine = next(iter(plan.targets.values()), None)
    of = cost_data(chosen.profile, chosen.readings) if machine is None else chosen.of(machine)
    functions: dict[str, list[tuple[str, str, tuple[str, ...], int]]] = {}
    for one in plan.sites:
        lane = PDMA if one.site.method in HOST_METHODS or _host(plan, one.names) else DMA_LANE
        call = one.site.let or one.site.method
        functions.setdefault(one.site.function or "file", []).append((call, lane, one.names, one.site.turns))
    return [_function(name, calls, prices, of) for name, calls in functions.items()]


DMA_LANE, PDMA = "tdma", "pdma"
"""The contexts that move tensors on the chip, and between it and the host."""
HOST_METHODS = ("to_host",)


def _host(plan: Plan, names: Sequence[str]) -> bool:
    own = [item.transfer for item in plan.transfers if item.name in names]
    return any("host" in (one.source.tier, one.dest.tier) for one in own)


def _function(
    name: str, calls: Sequence[tuple[str, str, tuple[str, ...], int]], prices: Mapping[str, Mapping[str, Any]],
    of: CostData,
) -> Priced:  # fmt: skip
    """A function's calls one after the other, each as often as its loops run it; of unknown loops one iteration. A call
    that stands for several transfers, one for each set of generic arguments, takes as long as the longest.
    """
    from dmaverify.program.schedule import Circle, Program, Step, order_of
    from dmaverify.report.timeline import Duration

    steps, durations = [], {}
    for number, (call, lane, names, turns) in enumerate(calls):
        known = [prices[one] for one in names if one in prices]
        priced = [float(one["cycles"]) for one in known if one.get("cycles") is not None]
        about: dict[str, Any] = {"transfers": list(names)}
        if not priced or len(priced) < len(names):
            about["no price"] = next((_reason(one) for one in known if one.get("cycles") is None), "not resolved")
        steps.append(Step(names[0] if len(names) == 1 else f"{name}-{call}", context=lane))
        if turns != 1:
            about["iterations"] = turns or "an unknown number of"
        cycles = max(priced, default=0.0)
        bands = [(one["band"]["low"] / one["cycles"], one["band"]["high"] / one["cycles"])
                 for one in known if one.get("cycles") and one.get("band")]  # fmt: skip
        about |= {"band": (min(low for low, _ in bands), max(high for _, high in bands))} if bands else {}
        durations[number, lane] = Duration(max(turns, 1) * cycles, about)
    program = Program(name, "rngd", tuple(steps), order="contexts")
    order = order_of(program, [(lane,) for _, lane, _, _ in calls])
    assert not isinstance(order, Circle)
    return _shown(program, order, durations, of, kind="kernel")


def _reason(entry: Mapping[str, Any]) -> str:
    band = entry.get("band")
    if band:
        return f"not modelled: {band['class']}"
    return str(entry.get("reason") or (entry.get("error") or {}).get("message") or "none")
