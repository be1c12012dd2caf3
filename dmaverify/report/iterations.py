"""The loops of a program in time: iterations that overlap as far as the order of steps, and what they share, allow.

Knows: bodies of loops, what waits for which iteration, how long each lane works on a step.
Does not know: how costs are computed, files.
Law: a few iterations of each loop are laid out one by one, as the same program without loops would be; what one more
adds is then added for each of the others. Where a loop has no more iterations than are laid out, nothing is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.cost.constants import CostData
from dmaverify.program.schedule import Circle, Order, Program, Step, bodies_of, order_of
from dmaverify.report.timeline import Duration, Slot, slots_of
from dmaverify.values import dataclass, replace

LAID = 6
"""Iterations of a loop that are laid out one by one."""
PERIOD = 2
"""Iterations over which what one adds is taken: buffers that take turns differ from one to the next."""
MOST = 240
"""Pieces of work that are laid out; a longer program has its loops one after the other."""
Lanes = Mapping[tuple[int, str], Duration]


@dataclass(frozen=True)
class Unrolled:
    """A program without loops, and for each of its steps the step of the loop's body and the iteration."""

    program: Program
    of: tuple[tuple[int, int], ...]


def turns_of(program: Program) -> dict[int, int]:
    """How often each loop body runs, by the number of its first step."""
    out: dict[int, int] = {}
    for step, body in zip(program.steps, bodies_of(program.steps), strict=True):
        if body >= 0:
            out[body] = 1
            for _, count in step.loops:
                out[body] *= count
    return out


def unrolled(program: Program, turns: Mapping[int, int]) -> Unrolled:
    """The program with so many iterations of each body, one after the other in the text."""
    bodies, index = bodies_of(program.steps), {step.name: n for n, step in enumerate(program.steps)}
    steps: list[Step] = []
    of: list[tuple[int, int]] = []

    def waits(number: int, turn: int) -> list[str]:
        step, body, found = program.steps[number], bodies[number], []
        for name in step.after:
            inside = body >= 0 and bodies[index[name]] == body
            rounds = [turn] if inside else range(turns.get(bodies[index[name]], 1))
            found += [_named(name, each) for each in rounds]
        found += [_named(name, turn - far) for name, far in step.earlier if far <= turn]
        return found

    number = 0
    while number < len(program.steps):
        body = bodies[number]
        members = [number] if body < 0 else [n for n, one in enumerate(bodies) if one == body]
        for turn in range(turns.get(body, 1)):
            for one in members:
                step = program.steps[one]
                after = tuple(dict.fromkeys(waits(one, turn)))
                steps.append(replace(step, name=_named(step.name, turn), after=after, earlier=(), loops=()))
                of.append((one, turn))
        number += len(members)
    return Unrolled(replace(program, steps=tuple(steps)), tuple(of))


def _named(name: str, turn: int) -> str:
    return f"{name}@{turn}"


def iterated(program: Program, order: Order, durations: Lanes, data: CostData) -> tuple[Slot, ...] | None:
    """Every piece of work from its first iteration to the end of its last; None where the program is too long to be
    laid out.
    """
    turns = turns_of(program)
    laid = {body: min(many, LAID) for body, many in turns.items()}
    pieces = sum(laid.get(order.bodies[piece.step], 1) for piece in order.pieces)
    if pieces > MOST:
        return None
    whole = _laid(program, order, durations, data, laid)
    if whole is None:
        return None
    starts = {key: slot.start for key, slot in whole[0].items()}
    ends = {key: slot.end for key, slot in whole[1].items()}
    for body, many in turns.items():
        if many > laid[body]:
            fewer = _laid(program, order, durations, data, {**laid, body: laid[body] - PERIOD})
            assert fewer is not None
            times = (many - laid[body]) / PERIOD
            for key in starts:
                starts[key] += times * (whole[0][key].start - fewer[0][key].start)
                ends[key] += times * (whole[1][key].end - fewer[1][key].end)
    return tuple(replace(slot, start=starts[key], end=ends[key]) for key, slot in whole[0].items())


Ends = dict[tuple[int, str], Slot]


def _laid(
    program: Program, order: Order, durations: Lanes, data: CostData, turns: Mapping[int, int]
) -> tuple[Ends, Ends] | None:
    """The first and the last iteration of every piece of work; None where they wait for each other."""
    pieces = [[order.pieces[i] for i in own] for own in order.of_step]
    flat = unrolled(program, turns)
    if program.order == "none":  # a piece of work follows itself alone: each has a lane of its own
        alone = tuple(replace(step, context=None) for step in flat.program.steps)
        flat = replace(flat, program=replace(flat.program, steps=alone, order="contexts"))
        pieces = [[replace(p, lane=f"{p.lane}@{step}") for p in own] for step, own in enumerate(pieces)]
    found = order_of(flat.program, [[p.lane for p in pieces[step]] for step, _ in flat.of])
    if isinstance(found, Circle):
        return None
    own = {(n, p.lane): _mean(durations[step, _plain(p.lane)]) for n, (step, _) in enumerate(flat.of)
           for p in pieces[step]}  # fmt: skip
    first: Ends = {}
    last: Ends = {}
    for piece, slot in zip(found.pieces, slots_of(flat.program, found, own, data, flat.of), strict=True):
        step = flat.of[piece.step][0]
        key = step, _plain(piece.lane)
        waits = None if slot.waits_for is None else _plain(slot.waits_for)
        named = replace(slot, step=program.steps[step].name, lane=key[1], waits_for=waits)
        first.setdefault(key, named)
        last[key] = named
    return first, last


def _plain(name: str) -> str:
    """A name without what tells it from others of the same."""
    return name.rpartition("@")[0] or name


def _mean(one: Duration) -> Duration:
    """A duration as all iterations have it in the mean."""
    return replace(one, cycles=float(one.about.get("mean", one.cycles)))
