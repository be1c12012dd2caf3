"""A program as a timeline: every step in its context, as early as the order allows, for Chrome's and Perfetto's viewer.

Knows: the order of a program, what a step costs, the trace event format.
Does not know: how costs are computed, files.
Law: a piece of work begins when the last piece that must precede it has ended, and one lane does one thing at a time;
the same program gives the same events; what has no cost of its own says in its arguments what stands for it. Steps
are priced one by one: what they take from each other where they overlap is not in it, and the trace says so.

One cycle is one microsecond of the trace, so that viewers show cycles. A process is a kind of lane (DMA engines,
contexts), a thread is a lane: the way the vendor's viewer of schedules names its tracks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dmaverify.program.schedule import Order, Program

ENGINES, CONTEXTS = 0, 1


@dataclass(frozen=True)
class Duration:
    """How long one lane works on a step, in cycles, and what is known of that number."""

    cycles: float
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Slot:
    """A piece of work in time. `waits_for`: the step whose end it begins at, None for the first ones."""

    step: str
    lane: str
    start: float
    end: float
    about: Mapping[str, Any] = field(default_factory=dict)
    waits_for: str | None = None


def slots_of(program: Program, order: Order, durations: Mapping[tuple[int, str], Duration]) -> tuple[Slot, ...]:
    """Every piece as early as its predecessors allow. `durations` by step and lane."""
    ends: dict[int, float] = {}
    slots: dict[int, Slot] = {}
    for number in sorted(range(len(order.pieces)), key=lambda n: (order.before[n].bit_count(), n)):
        piece = order.pieces[number]
        earlier = [other for other in ends if order.precedes(other, number)]
        last = max(earlier, key=lambda other: (ends[other], -other), default=None)
        start = 0.0 if last is None else ends[last]
        duration = durations[piece.step, piece.lane]
        ends[number] = start + duration.cycles
        waits = None if last is None else program.steps[order.pieces[last].step].name
        name = program.steps[piece.step].name
        slots[number] = Slot(name, piece.lane, start, ends[number], duration.about, waits)
    return tuple(slots[number] for number in range(len(order.pieces)))


def critical_path(slots: Sequence[Slot]) -> list[str]:
    """The steps that the end of the program waits for, first to last."""
    if not slots:
        return []
    ending = {slot.step: slot for slot in sorted(slots, key=lambda slot: slot.end)}
    slot = max(slots, key=lambda slot: slot.end)
    path = [slot.step]
    while slot.waits_for is not None and slot.waits_for not in path:
        slot = ending[slot.waits_for]
        path.append(slot.step)
    return path[::-1]


def timeline_text(name: str, slots: Sequence[Slot], profile: str, iterations: int = 1) -> str:
    """When each step works, and the critical path; steps are priced one by one."""
    cycles = max((slot.end for slot in slots), default=0.0)
    path, wide = critical_path(slots), max((len(slot.step) for slot in slots), default=0)
    each = f" for one of {iterations:,} iterations" if iterations > 1 else ""
    lines = [f"{name}   {cycles:,.1f} cycles{each}, profile {profile}, critical path {' -> '.join(path)}"]
    for step in dict.fromkeys(slot.step for slot in sorted(slots, key=lambda slot: slot.start)):
        own = [slot for slot in slots if slot.step == step]
        last = max(own, key=lambda slot: slot.end)
        lane = last.lane if len(own) == 1 else f"{len(own)} lanes, {last.lane} the last to end"
        start = f"{min(slot.start for slot in own):14,.1f} to {last.end:14,.1f}"
        lines.append(f"  {'*' if step in path else ' '} {start}  {step:{wide}}  {lane}")
    if iterations > 1:
        lines.append(f"  one iteration after the other: {cycles * iterations:,.1f}, each priced as the first")
    return "\n".join([*lines, "  each step priced by itself: what steps take from each other is not counted"])


def program_trace(program: Program, slots: Sequence[Slot], profile: str) -> dict[str, Any]:
    """The events: a track a lane, a slice a step, an arrow where a step waits for one of another lane."""
    lanes = sorted({slot.lane for slot in slots}, key=lambda lane: (not lane.startswith("engine"), lane))
    events: list[dict[str, Any]] = []
    for process, name in ((ENGINES, f"{program.name}: DMA"), (CONTEXTS, f"{program.name}: contexts")):
        if any(_process(lane) == process for lane in lanes):
            events.append({"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}})
    for thread, lane in enumerate(lanes):
        place = {"pid": _process(lane), "tid": thread}
        events.append({"ph": "M", "name": "thread_name", **place, "args": {"name": lane}})
    ends = {slot.step: slot for slot in sorted(slots, key=lambda slot: slot.end)}
    for number, slot in enumerate(slots):
        place = {"pid": _process(slot.lane), "tid": lanes.index(slot.lane)}
        span = slot.end - slot.start
        events.append({"ph": "X", "name": slot.step, **place, "ts": slot.start, "dur": span, "args": dict(slot.about)})
        before = ends.get(slot.waits_for) if slot.waits_for is not None else None
        if before is not None and before.lane != slot.lane:
            there = {"pid": _process(before.lane), "tid": lanes.index(before.lane)}
            arrow = {"name": "waits for", "cat": "order", "id": number}
            events.append({"ph": "s", **arrow, **there, "ts": before.end})
            events.append({"ph": "f", "bp": "e", **arrow, **place, "ts": slot.start})
    other = {"program": program.name, "profile": profile, "cycles": max((slot.end for slot in slots), default=0.0)}
    return {
        "displayTimeUnit": "ns",
        "traceEvents": events,
        "otherData": {**other, "critical_path": critical_path(slots), "priced": "each step by itself"},
    }


def _process(lane: str) -> int:
    return ENGINES if lane == "tdma" or lane.startswith("engine") else CONTEXTS
