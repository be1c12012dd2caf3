"""Definite initialization of a program: what it reads that no step wrote before must be there when it begins.

Knows: what steps touch and declare, memories in which nothing is when a program begins.
Does not know: hazards, findings, what a memory held before; which rows have what is read (`unwritten`).
Law: nothing is said of a read whose bytes earlier steps, or earlier iterations, wrote for sure, in one order that the
program allows: what another order would change is a hazard. All else is named as a condition, also what could not be
decided: err on the side of naming.

Source: docs/design.md (definite initialization).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from dmaverify.language.numbers import same
from dmaverify.lower.programs import space_of
from dmaverify.program.command import counters_at
from dmaverify.program.regions import Box
from dmaverify.program.schedule import Order, Program, Step
from dmaverify.program.space import LOCAL_LIMIT, layout_of, local_address
from dmaverify.prove.flow.accesses.declarations import may_share, side_names
from dmaverify.prove.flow.accesses.sides import dtypes_of, sides_of
from dmaverify.prove.flow.accesses.step_events import blocks_in_order
from dmaverify.prove.flow.accesses.touches import INDEX, Memory, StepWork, Touch, in_one_unit
from dmaverify.prove.flow.accesses.ways import Ways
from dmaverify.prove.flow.initialization.unwritten import RowAccess, in_loops, met_in_turns
from dmaverify.prove.flow.order.regions import boxes_of, in_memory
from dmaverify.prove.meet import Walk, among
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

MOST_ITERATIONS = 64  # accesses in loops that are followed one by one
STATED = "{} holds what is read of it where the program begins"


@dataclass(frozen=True)
class AtStart:
    """What must be in memory where a program begins, in words: what it states, what nobody does, and what it denies."""

    stated: tuple[str, ...] = ()
    supposed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


def there_at_start(program: Program, works: Sequence[StepWork], order: Order, target: Target) -> AtStart:
    """What must be in memory where the program begins."""
    return _told(program, _read_at_start(program, works, order, target), target)


def there_at_sizes(program: Program, works: Sequence[StepWork], order: Order, target: Target) -> AtStart:
    """As `there_at_start`, of works with symbols: only what an earlier step writes alike, at every size, is known."""
    kept = _followed(program, works, target)
    writes = [touch for work in kept for touch in work.touches if touch.writes]
    found = []
    for read in (touch for work in kept for touch in work.touches if not touch.writes):
        others = [w for w in writes if w.memory == read.memory and w.step != read.step]
        if not any(order.step_precedes(w.step, read.step) and _has_all(w, read, order) for w in others):
            found.append((read, bool(others)))
    return _told(program, found, target)


def _has_all(write: Touch, read: Touch, order: Order) -> bool:
    """Whether all that is read is written at every size, of one body in each iteration: by the same loops, or more."""
    inside = order.steps_of_one_body(write.step, read.step)
    if write.unit_bits != read.unit_bits or (inside and write.turns != read.turns):
        return False
    around = len(read.turns) if inside else 0
    both = [touch.walk.loops[:around] for touch in (write, read)]
    alike = all(same(a, b) for one, other in zip(*both, strict=True) for a, b in zip(one, other, strict=True))
    rest = alike and among(read.walk.loops[around:], write.walk.loops[around:])
    return rest and same(write.walk.base, read.walk.base)


def _told(program: Program, reads: Iterable[tuple[Touch, bool]], target: Target) -> AtStart:
    held = {one.name: in_memory(one, target).box for one in program.regions if one.name in program.holds}
    tiers, rooms = _empty(program, target)
    found: tuple[dict[str, None], dict[str, None], dict[str, None]] = {}, {}, {}
    for read, partly in reads:
        step, tier = program.steps[read.step], read.memory[0]
        names = [name for name, box in held.items() if all(box.holds(one) for one in _boxes(step, read, target))]
        names += [tier] if tier in program.holds else []
        why = "no step writes all of it before" if partly else "no step writes it before"
        said = f"{tier} holds what `{step.name}` reads where the program begins ({why})"
        if tier in tiers or any(box.meets(room) for box in _boxes(step, read, target) for room in rooms):
            some = "not all" if partly else "nothing"
            found[2][f"{tier} is empty where the program begins, and {some} of what `{step.name}` reads is written"] = (
                None
            )
        else:
            found[not names][STATED.format(names[0]) if names else said] = None
    return AtStart(*map(tuple, found))


def _empty(program: Program, target: Target) -> tuple[set[str], list[Box]]:
    """Memories and boxes of which a program states that nothing is there where it begins."""
    tiers = {target.memory_of(name) for name in program.empty if name in target.tiers}
    return tiers, [in_memory(one, target).box for one in program.regions if one.name in program.empty]


def _boxes(step: Step, read: Touch, target: Target) -> list[Box]:
    """The declared regions of what a step reads there."""
    every = (one for one in boxes_of(step, target) if not one.writes and one.what in ("", read.what))
    return [one.box for one in every if one.box.tier == read.memory[0]]


def _read_at_start(
    program: Program, works: Sequence[StepWork], order: Order, target: Target
) -> Iterator[tuple[Touch, bool]]:
    """Reads of bytes that no step surely wrote before, and whether some step wrote a part of them."""
    steps, kept = program.steps, _followed(program, works, target)
    reads = [touch for work in kept for touch in work.touches if not touch.writes]
    open_ = {_side(read, steps): None for read in _unmet(program, kept, order)} if reads else {}
    writes = [touch for work in kept for touch in work.touches if touch.writes]
    for read in (touch for work in works for touch in work.touches if not touch.writes):
        if _side(read, steps) in open_:
            del open_[_side(read, steps)]
            yield read, any(w.step != read.step and w.memory == read.memory and may_share((read, w)) for w in writes)


def _unmet(program: Program, works: Sequence[StepWork], order: Order) -> Iterator[Touch]:
    """Reads of what no step surely wrote before; none where steps wait for each other, which is told as such."""
    made, ways = iter(in_one_unit([touch for work in works for touch in work.touches]).values()), Ways()
    touches = [[(touch, next(made)) for touch in work.touches] for work in works]
    rows: dict[Memory, list[RowAccess]] = {}
    for block in blocks_in_order(order) or ():
        again = order.bodies[block[0]] >= 0
        turns = prod(count for _, count in program.steps[block[0]].loops) if again else 1
        body, few = [touches[step] for step in block], turns * len(block) <= MOST_ITERATIONS
        placed = [one for turn in (range(turns) if few else (None,)) for one in _placed(block[0], body, turn)]
        for number, access in enumerate(placed):
            for touch, read in (one for one in access if not one[0].writes):
                behind = [row for one in placed[number:] for t, row in one if t.writes and t.memory == touch.memory]
                if not met_in_turns(read, rows.get(touch.memory, ()), behind, read.around, ways):
                    yield touch
            for touch, row in (one for one in access if one[0].writes):
                rows.setdefault(touch.memory, []).append(row)


def _placed(
    block: int, body: Sequence[Sequence[tuple[Touch, Walk]]], number: int | None
) -> Iterator[list[tuple[Touch, RowAccess]]]:
    """The accesses of one body, in order: in one turn of all of its loops together, or (None) in all turns."""
    alike = len({touch.turns for access in body for touch, _ in access}) == 1

    def row(touch: Touch, walk: Walk) -> RowAccess:
        if number is None:
            return in_loops(walk, touch.turns, block, alike=alike)
        loops, own = walk.loops[: len(touch.turns)], walk.loops[len(touch.turns) :]
        counters = counters_at([count for count, _ in loops], number)
        return RowAccess(Walk(walk.base + sum(c * far for c, (_, far) in zip(counters, loops, strict=True)), own))

    for access in body:
        yield [(touch, row(touch, walk)) for touch, walk in access]


def _side(read: Touch, steps: Sequence[Step]) -> tuple[int, str, Memory]:
    return read.step, read.what if steps[read.step].accesses else "", read.memory


def _followed(program: Program, works: Sequence[StepWork], target: Target) -> list[StepWork]:
    """What steps read of memory that is empty where the program begins, and what they surely write there."""
    empty, rooms = _empty(program, target)
    empty |= {name for name, tier in target.tiers.items() if tier.empty_at_start}

    def counts(touch: Touch) -> bool:
        step, memory = program.steps[touch.step], touch.memory[0]
        if touch.writes:  # a scatter may leave bytes as they were
            return touch.sure and (step.indirect is None or not step.indirect.scatter)
        return memory in empty or any(box.meets(room) for box in _boxes(step, touch, target) for room in rooms)

    asked = empty | {room.tier for room in rooms}
    kept = [[t for t in work.touches if t.memory[0] in asked and counts(t)] for work in works]
    return [
        replace(work, touches=tuple(_needed(touch, program.steps, target) for touch in touches))
        for work, touches in zip(works, kept, strict=True)
    ]


def _needed(touch: Touch, steps: Sequence[Step], target: Target) -> Touch:
    if touch.writes or touch.what == INDEX:  # a list has no padding
        return touch
    return replace(touch, walk=_live(steps[touch.step], touch, target))


def _live(step: Step, read: Touch, target: Target) -> Walk:
    """The addresses of live cells that a step declares where it reads: padding may hold anything."""
    for (tensor, _, view, writes), dtype, name in zip(sides_of(step), dtypes_of(step), side_names(step), strict=True):
        if not writes and name in ("", read.what):
            shown, space = tensor if view is None else view.shown, space_of(target, tensor.tier)
            layout, opaque = layout_of(shown, space, target.dtypes[dtype])
            if opaque:
                return read.walk
            own = [loop for loop in layout.live_loops if loop[1] < LOCAL_LIMIT]
            return Walk(local_address(space, layout.origin), (*read.walk.loops[: len(read.turns)], *own))
    return read.walk
