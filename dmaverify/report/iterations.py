"""The loops of a program in time: iterations that overlap as far as the order of steps, and what they share, allow.

Knows: bodies of loops, what waits for which iteration, how long each lane works on a step.
Does not know: how costs are computed, files.
Law: iterations of each loop are laid out one by one, as the same program without loops would be, until what so many
more add repeats; that is then added for the others. Where it is not known to repeat for ever, what is told of the loop
is an estimate. It is known where every piece has added as much in each of the last iterations that later ones wait for,
and waits for none that adds more: then whatever a piece waited for last, it goes on waiting for. What waits for several
loops begins behind all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.cost.constants import CostData
from dmaverify.program.schedule import Circle, Order, Program, Step, bodies_of, order_of
from dmaverify.report.timeline import Duration, Slot, slots_of
from dmaverify.values import dataclass, replace

LAID, FEWEST = 24, 6
"""Iterations of a loop that are laid out one by one, at most and where a program is long."""
PERIODS = 6
"""Iterations that may differ until they repeat: buffers take turns."""
HAIR = 1e-9
MOST = 240
"""Pieces of work that are laid out; a longer program has its loops one after the other."""
Lanes = Mapping[tuple[int, str], Duration]
GUESSED = "guessed"
"""What is said in a slot of a loop whose later iterations are not known to go on as those that were laid out."""
Each = dict[tuple[int, str], list[Slot]]
"""Of each piece of work by step and lane, its iterations."""


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
    turns, many_of = turns_of(program), [order.bodies[piece.step] for piece in order.pieces]
    inside = sum(body in turns for body in many_of)
    if sum(min(turns.get(body, 1), FEWEST) for body in many_of) > MOST:
        return None
    room = max(FEWEST, (MOST - len(many_of) + inside) // max(1, inside))
    laid = {body: min(many, LAID, room) for body, many in turns.items()}
    whole = _laid(program, order, durations, data, laid)
    if whole is None:
        return None
    starts = {key: slots[0].start for key, slots in whole.items()}
    ends = {key: slots[-1].end for key, slots in whole.items()}
    about = {key: slots[0].about for key, slots in whole.items()}
    for body, many in turns.items():
        if many > laid[body]:
            each = {key: own for key, own in whole.items() if order.bodies[key[0]] == body}
            period = _period(list(each.values()))
            if not _repeats(order, each, period):
                about |= {key: {**about[key], GUESSED: laid[body]} for key in each}
            ahead = laid[body] - (laid[body] - many) % period
            last, before = (_laid(program, order, durations, data, {**laid, body: n}) for n in (ahead, ahead - period))
            assert last is not None
            assert before is not None
            times = (many - ahead) // period
            for key, own in last.items():
                starts[key] += own[0].start - whole[key][0].start + times * (own[0].start - before[key][0].start)
                ends[key] += own[-1].end - whole[key][-1].end + times * (own[-1].end - before[key][-1].end)
    if any(many > laid[body] for body, many in turns.items()):
        _put_behind(order, starts, ends)
    slowed = {key: next((slot.slowed_by for slot in slots if slot.slowed_by), "") for key, slots in whole.items()}
    return tuple(
        replace(slots[0], start=starts[key], end=ends[key], slowed_by=slowed[key], about=about[key])
        for key, slots in whole.items()
    )


def _period(bodies: Sequence[Sequence[Slot]]) -> int:
    """After how many iterations what they add repeats; where nothing does, what comes closest."""

    def apart(period: int) -> float:
        """How much later, or sooner, than expected a piece of the last iterations ends."""
        found = [
            abs(own[at].end - 2 * own[at - period].end + own[at - 2 * period].end)
            for own in bodies
            for at in range(max(len(own) - 2 * period, 2 * period), len(own))
        ]
        late = max(found, default=0.0)
        return late if late > HAIR * max(own[-1].end for own in bodies) else 0.0

    most = min(PERIODS, (len(bodies[0]) - 1) // 2)
    return min(range(1, most + 1), key=apart)


def _repeats(order: Order, each: Each, period: int) -> bool:
    """Whether the pieces of a loop are known to go on as in the last iterations laid out, which nothing slows."""
    own = {number: each[piece.step, piece.lane] for number, piece in enumerate(order.pieces)
           if (piece.step, piece.lane) in each}  # fmt: skip
    gaps = {(a, b): gap for a in own for b in own if (gap := order.gap(a, b)) is not None}
    seen = period + max([1, *gaps.values()])
    hair = HAIR * max(slots[-1].end for slots in own.values())
    added: dict[int, float] = {}
    for number, slots in own.items():
        found = [slots[at].end - slots[at - period].end for at in range(max(period, len(slots) - seen), len(slots))]
        if len(found) < seen or max(found) - min(found) > hair:
            return False
        added[number] = found[-1]
    return all(added[a] <= added[b] + hair for a, b in gaps)


def _put_behind(order: Order, starts: dict[tuple[int, str], float], ends: dict[tuple[int, str], float]) -> None:
    """Moves what begins before something that it waits for has ended: where fewer iterations were laid out, it waited
    for something else. The pieces of a loop move together.
    """
    keys = [(piece.step, piece.lane) for piece in order.pieces]
    moved = True
    while moved:
        moved = False
        for b, key in enumerate(keys):
            ahead = [ends[keys[a]] for a in range(len(keys)) if order.precedes(a, b) and not order.one_body(a, b)]
            late = max(ahead, default=0.0) - starts[key]
            if late > HAIR * max(ahead, default=0.0):
                moved = True
                for other in {key, *(keys[c] for c in range(len(keys)) if order.one_body(b, c))}:
                    starts[other] += late
                    ends[other] += late


def _laid(program: Program, order: Order, durations: Lanes, data: CostData, turns: Mapping[int, int]) -> Each | None:
    """Every piece of work in every iteration; None where they wait for each other."""
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
    out: Each = {}
    for piece, slot in zip(found.pieces, slots_of(flat.program, found, own, data, flat.of), strict=True):
        step = flat.of[piece.step][0]
        key = step, _plain(piece.lane)
        waits = None if slot.waits_for is None else _plain(slot.waits_for)
        named = replace(slot, step=program.steps[step].name, lane=key[1], waits_for=waits)
        out.setdefault(key, []).append(named)
    return out


def _plain(name: str) -> str:
    """A name without what tells it from others of the same."""
    return name.rpartition("@")[0] or name


def _mean(one: Duration) -> Duration:
    """A duration as all iterations have it in the mean."""
    return replace(one, cycles=float(one.about.get("mean", one.cycles)))
