"""What a program reads that none of its steps wrote before: it must be there when the program begins.

Knows: what steps touch and declare, who comes before whom, memories in which nothing is when a program begins.
Does not know: hazards, findings, what a memory held before.
Law: nothing is said of a read whose bytes an earlier step wrote for sure: all of them in earlier steps, or in the same
iteration by steps of its body, as far as walks of equal distance show it at the first. All else is named as a
condition, also what could not be decided: err on the side of naming.

Source: docs/design.md (definite initialization).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from dmaverify.lower.programs import space_of
from dmaverify.program.schedule import Order, Program, Step
from dmaverify.program.space import LOCAL_LIMIT, layout_of, local_address
from dmaverify.prove.flow.declarations import may_share, side_names
from dmaverify.prove.flow.regions import boxes_of, in_memory
from dmaverify.prove.flow.tile_outputs import dtypes_of, sides_of
from dmaverify.prove.flow.touches import Memory, StepWork, Touch, in_one_unit
from dmaverify.prove.meet import Walk
from dmaverify.targets.target import Target
from dmaverify.values import replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_RUNS = 1 << 18


def there_at_start(
    program: Program, works: Sequence[StepWork], order: Order, target: Target
) -> tuple[list[str], list[str]]:
    """What must be in memory where the program begins, in words: what the program states, and what nobody does."""
    held = {one.name: in_memory(one, target).box for one in program.regions if one.name in program.holds}
    found: tuple[dict[str, None], dict[str, None]] = {}, {}
    for read, partly in _read_at_start(program.steps, works, order, target):
        step, tier = program.steps[read.step], read.memory[0]
        boxes = [one.box for one in boxes_of(step, target) if not one.writes and one.what in ("", read.what)]
        names = [name for name, box in held.items() if all(box.holds(one) for one in boxes if one.tier == tier)]
        names += [tier] if tier in program.holds else []
        why = "no step writes all of it before" if partly else "no step writes it before"
        said = f"{tier} holds what `{step.name}` reads where the program begins ({why})"
        found[not names][f"{names[0]} holds what is read of it where the program begins" if names else said] = None
    return list(found[0]), list(found[1])


def _read_at_start(
    steps: Sequence[Step], works: Sequence[StepWork], order: Order, target: Target
) -> Iterator[tuple[Touch, bool]]:
    """Reads of bytes that no step surely wrote before, and whether some step wrote a part of them."""
    touches = [touch for work in works for touch in work.touches]
    sure: dict[Memory, list[Touch]] = {}
    for touch in touches:
        if touch.writes and not _perhaps(steps[touch.step]):
            sure.setdefault(touch.memory, []).append(touch)
    told: set[tuple[int, str, Memory]] = set()
    for read in touches:
        side = read.step, read.what if steps[read.step].accesses else "", read.memory
        if read.writes or side in told or not target.tiers[read.memory[0]].empty_at_start:
            continue
        told.add(side)
        needed = replace(read, walk=_live(steps[read.step], read, target))
        own = [w for w in sure.get(read.memory, ()) if w.step != read.step]
        before = [w for w in own if order.step_precedes(w.step, read.step)]
        here = [w for w in before if _one_body(order, w.step, read.step)]
        before = [w for w in before if not _one_body(order, w.step, read.step)]
        here = [w for w in here if _moves_alike(w, needed)]
        if not _covered(needed, before, 0) and not _covered(needed, here, len(read.turns)):
            yield read, any(may_share((needed, w)) for w in own)


def _live(step: Step, read: Touch, target: Target) -> Walk:
    """The addresses of live cells that a step declares where it reads: padding may hold anything."""
    for (tensor, _, view, writes), dtype, name in zip(sides_of(step), dtypes_of(step), side_names(step), strict=True):
        if not writes and name in ("", read.what):
            shown, space = tensor if view is None else view.shown, space_of(target, tensor.tier)
            layout, opaque = layout_of(shown, space, target.dtypes[dtype])
            if opaque:
                return read.walk
            beyond = {index for index, _, _ in layout.beyond}
            digits = [d for i, d in enumerate(layout.digits) if i not in beyond and d.step < LOCAL_LIMIT]
            own = [(d.live, d.step) for d in digits if d.live > 1]
            return Walk(local_address(space, layout.origin), (*read.walk.loops[: len(read.turns)], *own))
    return read.walk


def _perhaps(step: Step) -> bool:
    """Whether a step may leave some of what it touches as it was."""
    return step.indirect is not None and step.indirect.scatter


def _one_body(order: Order, one: int, other: int) -> bool:
    return bool(order.bodies) and order.bodies[one] == order.bodies[other] >= 0


def _moves_alike(one: Touch, other: Touch) -> bool:
    """Whether an iteration moves both as far: then the first speaks for all."""
    strides = [[s * t.unit_bits for _, s in t.walk.loops[: len(t.turns)]] for t in (one, other)]
    return one.turns == other.turns and strides[0] == strides[1]


def _covered(read: Touch, writes: Sequence[Touch], fixed: int) -> bool:
    """Whether the writes together have all that is read, at the first of the loops around them where they are fixed."""
    shape = _plain(_rest(read, fixed))
    if any(w.unit_bits == read.unit_bits and _plain(_rest(w, fixed)) == shape for w in writes):
        return True
    near = [w for w in writes if may_share((read, w))]
    if not near:
        return False
    walks = in_one_unit([replace(t, walk=_rest(t, fixed)) for t in (read, *near)])
    runs = [_runs(walks[i]) for i in range(len(walks))]
    known = [one for one in runs if one is not None]
    return len(known) == len(runs) and _within(known[0], known[1:])


def _rest(touch: Touch, fixed: int) -> Walk:
    """The walk at the first of its first loops."""
    return Walk(touch.walk.base, touch.walk.loops[fixed:])


@lru_cache(maxsize=4096)
def _plain(walk: Walk) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Base and loops from the shortest step on, each as long as it goes on without a gap."""
    base, found = walk.low, list[tuple[int, int]]()
    for stride, count in sorted((abs(stride), count) for count, stride in walk.loops if stride and count > 1):
        if found and stride == found[-1][0] * found[-1][1]:
            found[-1] = (found[-1][0], found[-1][1] * count)
        else:
            found.append((stride, count))
    return base, tuple(found)


def _runs(walk: Walk) -> tuple[NDArray[np.int64], int] | None:
    """Where runs of consecutive units begin, and how long they are; None for too many."""
    import numpy as np

    base, loops = _plain(walk)
    length = 1
    if loops and loops[0][0] == 1:
        length, loops = loops[0][1], loops[1:]
    starts = np.array([base], dtype=np.int64)
    for stride, count in loops:
        if len(starts) * count > MOST_RUNS:
            return None
        starts = (starts[:, None] + stride * np.arange(count, dtype=np.int64)).ravel()
    return np.unique(starts), length


def _within(wanted: tuple[NDArray[np.int64], int], found: Sequence[tuple[NDArray[np.int64], int]]) -> bool:
    """Whether every unit of the wanted runs lies in some found one: of runs joined where they meet."""
    import numpy as np

    starts = np.concatenate([s for s, _ in found])
    ends = np.concatenate([s + n for s, n in found])
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    fresh = np.concatenate([[True], starts[1:] > ends[:-1]])
    last = np.append(np.flatnonzero(fresh)[1:] - 1, len(starts) - 1)
    first, end = starts[fresh], ends[last]
    at = np.searchsorted(first, wanted[0], side="right") - 1
    return bool(np.all(at >= 0) and np.all(wanted[0] + wanted[1] <= end[np.maximum(at, 0)]))
