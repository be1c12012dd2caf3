"""The iterations of loops around an access, as nests over banks: which of them follow each other without a pause.

Knows: loops around a step, how views move with them, what surely runs between two iterations.
Does not know: limits, sums, solvers.
Law: iterations of which nothing says that they are apart are one nest: that errs to longer runs, and `exact` says where
it does. Iterations that lie in other slices, or between which the context surely waits, are nests of their own, one for
each place modulo the banks that they begin at.

Source: "Memory Performance" (Bank Starvation), docs/machines/rngd.md 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from dmaverify.program.access import Access
from dmaverify.program.schedule import Order, Step
from dmaverify.prove.flow.bank_runs import AccessNest, Banks, Runs
from dmaverify.prove.flow.touches import shown_positions
from dmaverify.values import dataclass, replace

MOST_SEEN = 1 << 14  # slices of all iterations, listed one by one
MOST_OPERATIONS = 512  # of one context, one after the other, to see what they would make without a change of operation


def turns_of_access(step: Step, access: Access) -> tuple[tuple[tuple[int, int], ...], int, bool]:
    """The loops around an access, outer to inner: their counts, and how many bytes each moves it within its slice; how
    many of them, from the outermost, go to other slices, so that a run in a slice ends; whether all of those do, and
    wholly.
    """
    views = access.views
    if views is None:
        return tuple((count, 0) for _, count in step.loops), 0, True
    view = views.source if access.engine == "fetch" else views.dest
    none = (0,) * len(views.turns)
    moves, slices = (none, none) if view is None else (view.shift[3].steps, view.shift[2].steps)
    loops = tuple((turn.count, move) for turn, move in zip(views.turns, moves, strict=True))
    if view is None or not any(slices):
        return loops, 0, True
    reach = 1 + sum((count - 1) * stride for count, stride in view.visible("slice"))
    away = [i for i, (turn, s) in enumerate(zip(views.turns, slices, strict=True)) if s and turn.count > 1]
    if any(abs(slices[i]) < reach for i in away):
        return loops, 0, False
    still = not any(moves[i] for i in away)  # a slice sees one base only
    return loops, max(away, default=-1) + 1, len(away) <= 1 and still


@dataclass(frozen=True, slots=True)
class SliceTurns:
    """Slices that the same iterations of a loop reach: `count` of them from `first` on, every `step`-th."""

    loop: int
    first: int
    count: int
    step: int
    slices: frozenset[int]
    always: bool  # all iterations of the loop

    def nest(
        self, nest: AccessNest, turns: Sequence[tuple[int, int]]
    ) -> tuple[AccessNest, tuple[tuple[int, int], ...]]:
        """The nest where those iterations begin, and the loops around it as these slices see them."""
        move = turns[self.loop][1]
        seen = ((self.count, move * self.step) if i == self.loop else turn for i, turn in enumerate(turns))
        base = None if nest.base is None else nest.base + self.first * move
        return replace(nest, base=base), tuple(seen)


def turns_by_slice(access: Access) -> list[SliceTurns]:
    """A tile of slices that overlaps itself in the next iteration of one loop, slice by slice; nothing where it is not
    so, or where a slice sees iterations that are no run of steps.
    """
    views = access.views
    view = None if views is None else views.source if access.engine == "fetch" else views.dest
    if views is None or view is None:
        return []
    away = [i for i, (t, s) in enumerate(zip(views.turns, view.shift[2].steps, strict=True)) if s and t.count > 1]
    shown = [access.memory.at_slice]
    for count, stride in shown_positions(access.memory, view, "slice"):
        shown = [at + stride * c for at in shown for c in range(count)] if len(shown) * count <= MOST_SEEN else []
    if len(away) != 1 or len(shown) * views.turns[away[0]].count > MOST_SEEN:
        return []
    (loop,) = away
    count, shift = views.turns[loop].count, view.shift[2].steps[loop]
    seen: dict[int, list[int]] = {}
    for turn, at in product(range(count), shown):
        seen.setdefault(at + shift * turn, []).append(turn)
    alike: dict[tuple[int, ...], set[int]] = {}
    for slice_, iterations in seen.items():
        alike.setdefault(tuple(iterations), set()).add(slice_)
    out = []
    for turns, slices in alike.items():
        first, step = turns[0], turns[1] - turns[0] if len(turns) > 1 else 1
        if turns != tuple(range(first, turns[-1] + 1, step)):
            return []
        out.append(SliceTurns(loop, first, len(turns), step, frozenset(slices), len(turns) == count))
    return out


def waits_between(order: Order, step: int) -> bool:
    """Whether some other step surely runs between two iterations of a step, so that its context waits meanwhile."""
    own = order.of_step[step][0]
    for other in range(len(order.pieces)):
        if other != own and order.one_body(own, other):
            ahead, back = order.gap(own, other), order.gap(other, own)
            if ahead is not None and back is not None and ahead + back <= 1:
                return True
    return False


def nests_of_iterations(
    nest: AccessNest, turns: Sequence[tuple[int, int]], banks: Banks, apart: int
) -> tuple[AccessNest, ...]:
    """The loops as loops of the nest, but the outer `apart`: of those, a nest for each first bank that they lead to."""
    if nest.base is None:
        return (replace(nest, loops=(*turns, *nest.loops)),)
    starts = {nest.base % banks.period_bytes: nest.base}
    nest = replace(nest, loops=(*turns[apart:], *nest.loops))
    for count, move in turns[:apart]:
        seen: dict[int, int] = {}
        for start in starts.values():
            for counter in range(min(count, banks.period_bytes)):
                seen.setdefault((start + counter * move) % banks.period_bytes, start + counter * move)
        starts = seen
    return tuple(replace(nest, base=base) for base in starts.values())


def operations(nest: AccessNest, turns: Sequence[tuple[int, int]]) -> tuple[AccessNest, ...]:
    """The accesses of all iterations, one after the other; none where they are too many to list."""
    if nest.base is None or prod(count for count, _ in turns) > MOST_OPERATIONS:
        return ()
    moved = product(*(range(count) for count, _ in turns))
    return tuple(
        replace(nest, base=nest.base + sum(c * move for c, (_, move) in zip(at, turns, strict=True))) for at in moved
    )


def longest_of(runs: Sequence[Runs]) -> Runs:
    """Bank by bank the longest run of any of them."""
    return Runs(
        tuple(max(column, key=lambda run: run.length) for column in zip(*(r.per_bank for r in runs), strict=True))
    )
