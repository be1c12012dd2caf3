"""The slices that accesses and transfers reach, slice by slice.

Knows: slice mappings, tiles of slices, walks over addresses of slices.
Does not know: banks, order, what is done in a slice.
Law: a slice is left out only where no iteration reaches it. `moving` says that the first iteration does not reach them
all, so that two sets may meet though no two iterations do at once. Where a walk is too long to follow, every
slice between its ends counts, and that is `moving` too; more than `MOST_SLICES` of these are told by nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dmaverify.lower.programs import space_of
from dmaverify.program.access import Access
from dmaverify.prove.flow.accesses.touches import Memory, Touch, outer_places, shown_positions
from dmaverify.prove.meet import Walk, decided, difference
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field

MOST_SLICES = 1 << 14


class TooManySlices(Exception):
    """Which slices are reached is not followed."""


@dataclass
class Slices:
    """Slices by memory."""

    reached: dict[Memory, frozenset[int]] = field(default_factory=dict)
    moving: bool = False

    def add(self, memory: Memory, slices: Iterable[int]) -> None:
        self.reached[memory] = self.reached.get(memory, frozenset()) | frozenset(slices)

    def of(self, slices: frozenset[int], *, moving: bool) -> Slices:
        """Those of them alone."""
        return Slices({memory: mine & slices for memory, mine in self.reached.items()}, moving)


def access_slices(access: Access, target: Target) -> Slices:
    """The slices of an access in all iterations: all of its mapping, of a tile its own. Raises TooManySlices."""
    views, view = access.views, access.view
    loops = list(shown_positions(access.memory, view, "slice"))
    first = access.memory.at_slice
    out = Slices()
    if view is not None and views is not None:
        steps = [(turn.count, step) for turn, step in zip(views.turns, view.shift[2].steps, strict=True) if step]
        out.moving = bool(steps) and _numbers(first, loops) != _numbers(first, [*loops, *steps])
        loops += steps
    slices = _numbers(first, loops)
    if slices is None:
        walk = Walk(first, tuple(loops))
        if walk.high - walk.low >= MOST_SLICES:
            raise TooManySlices
        slices, out.moving = set(range(walk.low, walk.high + 1)), True
    chips, clusters = (outer_places(access.memory, view, place, target) for place in ("chip", "cluster"))
    for chip in chips:
        for cluster in clusters:
            out.add((access.memory.tier, chip, cluster), slices)
    return out


def _numbers(first: int, loops: Sequence[tuple[int, int]]) -> set[int] | None:
    found = {first}
    for count, stride in loops:
        if len(found) * count > MOST_SLICES:
            return None
        found = {value + stride * c for value in found for c in range(count)}
    return found


def touched_slices(touches: Sequence[Touch], target: Target) -> Slices:
    """The slices in which walks touch a byte, in all iterations. Raises TooManySlices."""
    out = Slices()
    known: dict[tuple[Walk, int], frozenset[int]] = {}
    for touch in touches:
        step = space_of(target, touch.memory[0]).stride("slice", touch.unit_bits)
        first = Walk(touch.walk.base, touch.walk.loops[len(touch.turns) :])
        for walk in (touch.walk, first):
            if (walk, step) not in known:
                known[walk, step] = frozenset(_of_walk(walk, step))
        out.moving = out.moving or known[touch.walk, step] != known[first, step]
        out.add(touch.memory, known[touch.walk, step])
    return out


def _of_walk(walk: Walk, step: int) -> Iterable[int]:
    between = range(walk.low // step, walk.high // step + 1)
    if len(between) > MOST_SLICES:
        raise TooManySlices
    for slice_ in between:
        if decided(difference(walk, Walk(slice_ * step, ((step, 1),)))) != "unsat":
            yield slice_
