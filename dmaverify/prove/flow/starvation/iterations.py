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

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import prod

from dmaverify.program.access import Access
from dmaverify.program.schedule import Order
from dmaverify.prove.flow.accesses.touches import shown_positions
from dmaverify.prove.flow.starvation.bank_runs import AccessNest, Banks, Runs
from dmaverify.values import dataclass, replace

MOST_SEEN = 1 << 14  # slices of all iterations, listed one by one
MOST_OPERATIONS = 512  # of one context, one after the other, to see what they would make without a change of operation


Way = tuple[AccessNest, tuple[tuple[int, int], ...], int]
"""The accesses of one iteration, the loops around them, and how many of these, from the outermost, end a run."""


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
    apart, further = max(away, default=-1) + 1, 0  # how far the loops inside have moved when they begin again
    for turn, shift in reversed(list(zip(views.turns[:apart], slices, strict=False))):
        if turn.count > 1 and abs(shift - further) < reach:
            return loops, 0, False  # an iteration and the next one may share a slice
        further += shift * (turn.count - 1)
    still = not any(moves[i] for i in away)  # a slice sees one base only
    return loops, apart, len(away) <= 1 and still


@dataclass(frozen=True, slots=True)
class SliceTurns:
    """Slices that see the same iterations of the outer `loops`, not all of them where not `always`: stretches that
    follow each other with a pause, each as the bytes that its first iteration moves by, how many iterations it has, and
    how many bytes each is further, modulo the banks.
    """

    slices: frozenset[int]
    always: bool
    loops: int
    stretches: tuple[tuple[int, int, int], ...]

    def ways(self, nest: AccessNest, turns: Sequence[tuple[int, int]], waits: bool) -> Iterator[Way]:
        """The nest where each stretch begins, and the loops around it as these slices see them."""
        for first, count, step in self.stretches:
            around = ((count, step), *turns[self.loops :])
            yield replace(nest, base=(nest.base or 0) + first), around, len(around) if waits else 0


def turns_by_slice(access: Access, banks: Banks) -> list[SliceTurns]:
    """A tile of slices that may overlap itself in the next iteration, slice by slice; nothing where it is no tile of
    slices, or a slice sees a stretch of iterations that does not move by the same in each.
    """
    views, view = access.views, access.view
    if views is None or view is None:
        return []
    shifts, moves, period = view.shift[2].steps, view.shift[3].steps, banks.period_bytes
    away = [i for i, (turn, s) in enumerate(zip(views.turns, shifts, strict=True)) if s and turn.count > 1]
    counts = [turn.count for turn in views.turns[: max(away, default=-1) + 1]]
    shown = [access.memory.at_slice]
    for count, stride in shown_positions(access.memory, view, "slice"):
        shown = [at + stride * c for at in shown for c in range(count)] if len(shown) * count <= MOST_SEEN else []
    if not away or prod(counts) * len(shown) > MOST_SEEN:
        return []
    moved: list[int] = []
    seen: dict[int, list[int]] = {}
    for number, at in enumerate(product(*map(range, counts))):
        moved.append(sum(c * move for c, move in zip(at, moves, strict=False)) % period)
        for slice_ in shown:
            seen.setdefault(slice_ + sum(c * s for c, s in zip(at, shifts, strict=False)), []).append(number)
    alike: dict[tuple[int, ...], set[int]] = {}
    for slice_, iterations in seen.items():
        alike.setdefault(tuple(iterations), set()).add(slice_)
    found = [(_stretches(turns, moved, period), turns, slices) for turns, slices in alike.items()]
    return [
        SliceTurns(frozenset(slices), len(turns) == len(moved), len(counts), stretches)
        for stretches, turns, slices in (found if all(stretches for stretches, _, _ in found) else ())
    ]


def _stretches(turns: Sequence[int], moved: Sequence[int], period: int) -> tuple[tuple[int, int, int], ...]:
    """Iterations in stretches without a pause, each once; none where one of them moves by now this, now that."""
    found: dict[tuple[int, int, int], None] = {}
    begun = 0
    for end in range(1, len(turns) + 1):
        if end == len(turns) or turns[end] != turns[end - 1] + 1:
            own = [moved[turn] for turn in turns[begun:end]]
            steps = {(b - a) % period for a, b in pairwise(own)} or {0}
            if len(steps) > 1:
                return ()
            found[own[0], len(own), steps.pop()] = None
            begun = end
    return tuple(found)


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


def nests_of_iterations(way: Way, banks: Banks, window: TurnWindow) -> tuple[tuple[AccessNest, ...], bool]:
    """The loops as loops of the nest, but those that end a run: of these, a nest for each first bank that they lead to;
    of all iterations no more than are in the window. Whether these are the runs that there are, and no longer ones.
    """
    nest, turns, apart = way
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


def operations(ways: Sequence[Way], window: TurnWindow, banks: Banks) -> tuple[AccessNest, ...]:
    """The accesses of all iterations (of those that are alike, no more than are in the window), one after the other;
    none where they are too many to list.
    """
    each = [_operations(nest, turns, window, banks) for nest, turns, _ in ways]
    return tuple(one for own in each for one in own) if all(each) else ()


def _operations(
    nest: AccessNest, turns: Sequence[tuple[int, int]], window: TurnWindow, banks: Banks
) -> tuple[AccessNest, ...]:
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
