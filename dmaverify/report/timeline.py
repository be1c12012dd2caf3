"""A program as a timeline: every step in its context, as early as the order allows, for Chrome's and Perfetto's viewer.

Knows: the order of a program, what a step costs, the trace event format.
Does not know: how costs are computed, files.
Law: a piece of work begins when the last piece that must precede it has ended, and one lane does one thing at a time;
the same program gives the same events; what has no cost of its own says in its arguments what stands for it. Steps at
work at once share channels, DMNs and links as `cost.sharing` says, and a step that is slowed says by what.

One cycle is one microsecond of the trace, so that viewers show cycles. A process is a kind of lane (DMA engines,
contexts), a thread is a lane: the way the vendor's viewer of schedules names its tracks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.cost.constants import CostData
from dmaverify.cost.sharing import Loads, WorkPiece, in_time
from dmaverify.program.command import Command
from dmaverify.program.schedule import Order, Program
from dmaverify.values import dataclass, field

ENGINES, CONTEXTS = 0, 1
SHARED = "steps at once share memories and links in proportion to what they ask: an estimate"
DRAWN = "iterations that were drawn stand for the others: an estimate"
GOES_ON = "iterations behind the first ones of a loop are taken to go on as these do: an estimate"
ABOUT = " (an estimate)"
PATH = 8
"""Steps of a critical path that are all named."""


@dataclass(frozen=True)
class Duration:
    """How long one lane works on a step, in cycles, and what is known of that number."""

    cycles: float
    about: Mapping[str, Any] = field(default_factory=dict)
    loads: Loads = field(default_factory=dict)
    commands: tuple[Command, ...] = ()


@dataclass(frozen=True)
class Slot:
    """A piece of work in time. `waits_for`: the step whose end it begins at, None for the first ones; `slowed_by`: what
    it shares with others that is full, '' where nothing is; `unpriced`: why it stands here with no time.
    """

    step: str
    lane: str
    start: float
    end: float
    about: Mapping[str, Any] = field(default_factory=dict)
    waits_for: str | None = None
    slowed_by: str = ""

    @property
    def unpriced(self) -> str:
        return str(self.about.get("no price", ""))


def slots_of(
    program: Program, order: Order, durations: Mapping[tuple[int, str], Duration], data: CostData | None = None,
    iterations: Sequence[tuple[int, int]] = (),
) -> tuple[Slot, ...]:  # fmt: skip
    """Every piece as early as its predecessors and what it shares allow, by `data` what commands share as well.
    `durations` by step and lane; `iterations`: of a program unrolled, the step of the body and the iteration of each.
    """
    numbers = range(len(order.pieces))
    own = [durations[piece.step, piece.lane] for piece in order.pieces]
    before = [tuple(other for other in numbers if order.precedes(other, number)) for number in numbers]
    turns = [iterations[piece.step] if iterations else (piece.step, 0) for piece in order.pieces]
    pieces = [
        WorkPiece(d.cycles, after, d.loads, step, d.commands, turn > 0)
        for d, after, (step, turn) in zip(own, before, turns, strict=True)
    ]
    timed = in_time(pieces, data)
    found = []
    for number, piece in enumerate(order.pieces):
        last = max(before[number], key=lambda other: (timed[other].end, -other), default=None)
        waits = None if last is None else program.steps[order.pieces[last].step].name
        when, name = timed[number], program.steps[piece.step].name
        found.append(Slot(name, piece.lane, when.start, when.end, own[number].about, waits, when.slowed_by))
    return tuple(found)


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


def path_text(path: Sequence[str]) -> str:
    """A path in words; of a long one its ends."""
    return " -> ".join(path if len(path) <= PATH else [*path[:3], "...", f"{path[-1]} ({len(path)} steps)"])


def is_shared(slots: Sequence[Slot]) -> bool:
    """Whether what steps share slows one, so that times are an estimate."""
    return any(slot.slowed_by for slot in slots)


def timeline_text(
    name: str,
    slots: Sequence[Slot],
    profile: str,
    iterations: int = 1,
    every: float = 0.0,
    estimates: Sequence[str] = (),
) -> str:
    """When each step works, what slows it, and the critical path. `every`: the cycles of all iterations; `estimates`:
    what makes these an estimate.
    """
    cycles = max((slot.end for slot in slots), default=0.0)
    path, wide = critical_path(slots), max((len(slot.step) for slot in slots), default=0)
    each = f" for one of {iterations:,} iterations" if iterations > 1 else ""
    often = {slot.step: slot.about.get("iterations", 1) for slot in slots}
    least = "at least " if any(slot.unpriced or isinstance(often[slot.step], str) for slot in slots) else ""
    about = ABOUT if is_shared(slots) or (estimates and iterations == 1) else ""
    lines = [f"{name}   {least}{cycles:,.1f} cycles{about}{each}, profile {profile}, critical path {path_text(path)}"]
    for step in dict.fromkeys(slot.step for slot in sorted(slots, key=lambda slot: slot.start)):
        own = [slot for slot in slots if slot.step == step]
        last = max(own, key=lambda slot: slot.end)
        lane = last.lane if len(own) == 1 else f"{len(own)} lanes, {last.lane} the last to end"
        start = f"{min(slot.start for slot in own):14,.1f} to {last.end:14,.1f}"
        slowed = next((f"   shares {slot.slowed_by}" for slot in own if slot.slowed_by), "")
        none = f"   no price: {last.unpriced}" if last.unpriced else ""
        turns = f"   {often[step]} iterations" if often[step] != 1 else ""
        lines.append(f"  {'*' if step in path else ' '} {start}  {step:{wide}}  {lane}{turns}{slowed}{none}")
    if iterations > 1:
        all_ = f"{every or cycles * iterations:,.1f}{ABOUT if estimates else ''}"
        lines.append(f"  all iterations, each as early as the order lets it: {all_}")
    lines += [f"  {one}" for one in dict.fromkeys([*([SHARED] if is_shared(slots) else []), *estimates])]
    return "\n".join(lines)


def program_trace(program: str, slots: Sequence[Slot], profile: str) -> dict[str, Any]:
    """The events: a track a lane, a slice a step, an arrow where a step waits for one of another lane."""
    lanes = sorted({slot.lane for slot in slots}, key=lambda lane: (not lane.startswith("engine"), lane))
    events: list[dict[str, Any]] = []
    for process, name in ((ENGINES, f"{program}: DMA"), (CONTEXTS, f"{program}: contexts")):
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
    other = {"program": program, "profile": profile, "cycles": max((slot.end for slot in slots), default=0.0)}
    return {
        "displayTimeUnit": "ns",
        "traceEvents": events,
        "otherData": {**other, "critical_path": critical_path(slots), "priced": SHARED, "estimate": is_shared(slots)},
    }


def _process(lane: str) -> int:
    return ENGINES if lane.startswith(("tdma", "dma", "engine")) else CONTEXTS
