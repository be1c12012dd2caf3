"""The iterations of loops around an access, as nests over banks: which of them follow each other without a pause.

Knows: loops around a step, how views move with them, what surely runs between two iterations.
Does not know: limits, sums, solvers.
Law: iterations of which nothing says that they are apart are one nest: that errs to longer runs, and `exact` says where
it does. Iterations that lie in other slices, or between which the context surely waits, are nests of their own, one for
each place modulo the banks that they begin at. Only iterations count that may run beside one and the same iteration of
DMA (`TurnWindow`): a request that waits belongs to one.

Source: "Memory Performance" (Bank Starvation), docs/machines/rngd.md 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from dmaverify.program.access import Access
from dmaverify.program.schedule import Order
from dmaverify.prove.flow.accesses.touches import shown_positions
from dmaverify.prove.flow.starvation.bank_runs import AccessNest, Banks, Runs
from dmaverify.values import dataclass, replace

MOST_SEEN = 1 << 14  # slices of all iterations, listed one by one
MOST_OPERATIONS = 512  # of one context, one after the other, to see what they would make without a change of operation


def turns_of_access(access: Access) -> tuple[tuple[tuple[int, int], ...], int, bool]:
    """The loops around an access, outer to inner: their counts, and how many bytes each moves it within its slice; how
    many of them, from the outermost, go to other slices, so that a run in a slice ends; whether all of those do, and
    wholly.
    """
    views = access.views
    if views is None:
        return (), 0, True
    view = access.view
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

    @property
    def apart(self) -> int:
        """The outer loops whose iterations are no run: between two of them others go to other slices."""
        return self.loop + 1 if self.step > 1 else 0

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
    views, view = access.views, access.view
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


@dataclass(frozen=True, slots=True)
class TurnWindow:
    """The iterations of a piece of work that may run beside one iteration of another: `most` in a row, wherever they
    fit between `first` and `end` (exclusive).
    """

    first: int
    end: int
    most: int


def iterations_beside(order: Order, one: int, at: int, other: int, count: int) -> range:
    """Of `count` iterations of the piece `other`, those that nothing orders against iteration `at` of `one`."""
    if not order.one_body(one, other):
        return range(0) if order.ordered(one, other) else _beside_outside(order, one, other, count)
    ahead, behind = order.gap(other, one), order.gap(one, other)
    first = 0 if ahead is None else max(0, at - ahead + 1)
    return range(first, max(first, count if behind is None else min(count, at + behind)))


def _beside_outside(order: Order, one: int, other: int, count: int) -> range:
    """As `iterations_beside`, of a piece outside of the loop: it may come before or after all of a fellow in the loop,
    which `other` of later iterations waits for, or of earlier ones is waited for by.
    """
    fellows = [p for p in range(len(order.pieces)) if order.one_body(p, other)]
    waits = [order.gap(p, other) for p in fellows if order.precedes(one, p)]
    waited = [order.gap(other, p) for p in fellows if order.precedes(p, one)]
    first = max([0, *(count - gap for gap in waited if gap is not None)])
    return range(first, max(first, min([count, *(gap for gap in waits if gap is not None)])))


def window_beside(order: Order, one: int, other: int, count: int) -> TurnWindow:
    """Over all iterations of `one`; each window of `most` is beside some iteration of it."""
    first = iterations_beside(order, one, 0, other, count).start
    end = iterations_beside(order, one, count - 1, other, count).stop
    ahead, behind = order.gap(other, one), order.gap(one, other)
    most = max(0, end - first)
    if order.one_body(one, other) and ahead is not None and behind is not None:
        most = max(0, min(most, ahead + behind - 1))
    return TurnWindow(first, end, most)


def may_be_at_once(order: Order, one: int, ones: range, other: int, others: range) -> bool:
    """Whether nothing orders some of these iterations of one piece against some of those of another."""
    if one == other or not order.one_body(one, other):
        return one == other or not order.ordered(one, other)
    ahead, behind = order.gap(one, other), order.gap(other, one)
    least = others.start - ones.stop + 1  # how far the other one's iteration is behind
    most = others.stop - 1 - ones.start
    least = least if behind is None else max(least, 1 - behind)
    return least <= (most if ahead is None else min(most, ahead - 1))


def nests_of_iterations(
    nest: AccessNest, turns: Sequence[tuple[int, int]], banks: Banks, apart: int, window: TurnWindow
) -> tuple[tuple[AccessNest, ...], bool]:
    """The loops as loops of the nest, but the outer `apart`: of those, a nest for each first bank that they lead to; of
    all iterations no more than are in the window. Whether these are the runs that there are, and no longer ones.
    """
    count = prod(n for n, _ in turns)
    if nest.base is None:
        return (replace(nest, loops=(*turns, *nest.loops)),), window.most >= count
    steps = [(i, n, move % banks.period_bytes) for i, (n, move) in enumerate(turns) if n > 1]
    still = not any(move for _, _, move in steps)
    if window.most < count and (still or len(steps) == 1) and apart in (0, len(turns)):
        most, move = 1 if apart else window.most, 0 if still else steps[0][2]
        starts = range(window.first, window.end - most + 1)[: 1 if still else banks.period_bytes]
        bases = {(nest.base + n * move) % banks.period_bytes: nest.base + n * move for n in reversed(starts)}
        loops = nest.loops if most == 1 else ((most, move), *nest.loops)
        return tuple(replace(nest, base=base, loops=loops) for base in reversed(bases.values())), True
    starts_ = {nest.base % banks.period_bytes: nest.base}
    nest = replace(nest, loops=(*turns[apart:], *nest.loops))
    for n, move in turns[:apart]:
        seen: dict[int, int] = {}
        for start in starts_.values():
            for counter in range(min(n, banks.period_bytes)):
                seen.setdefault((start + counter * move) % banks.period_bytes, start + counter * move)
        starts_ = seen
    return tuple(replace(nest, base=base) for base in starts_.values()), window.most >= count


def operations(
    nest: AccessNest, turns: Sequence[tuple[int, int]], window: TurnWindow, banks: Banks
) -> tuple[AccessNest, ...]:
    """The accesses of all iterations (of those that are alike, no more than are in the window), one after the other;
    none where they are too many to list.
    """
    alike = not any(move % banks.period_bytes for n, move in turns if n > 1)
    if nest.base is None or (window.most if alike else prod(n for n, _ in turns)) > MOST_OPERATIONS:
        return ()
    if alike:
        return (nest,) * min(window.most, prod(n for n, _ in turns))
    moved = product(*(range(n) for n, _ in turns))
    return tuple(
        replace(nest, base=nest.base + sum(c * move for c, (_, move) in zip(at, turns, strict=True))) for at in moved
    )


def longest_of(runs: Sequence[Runs]) -> Runs:
    """Bank by bank the longest run of any of them."""
    return Runs(
        tuple(max(column, key=lambda run: run.length) for column in zip(*(r.per_bank for r in runs), strict=True))
    )
