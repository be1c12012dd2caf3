"""The union of tiles, as boxes: what they leave out, what two of them share; walks over one memory as such.

Knows: starts that are affine in loops, intervals, boxes on a grid of all their ends.
Does not know: order, what a tile is for, how often a tile comes to a position (`tiles_twice`), how a finding is shown.
Law: exact, or None where a list would grow too long: no volume is added to another one, no tile is left out. A digit
whose loops move nothing else contributes the union of its intervals; digits that one loop moves together are listed
iteration by iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING

from dmaverify.language.distinct import distinct
from dmaverify.program.turns import Affine
from dmaverify.prove.meet import Walk
from dmaverify.values import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_INTERVALS = 1 << 20
MOST_TOGETHER = 1 << 12  # iterations of loops that move several digits
MOST_CELLS = 1 << 24
MOST_POSITION = 1 << 62  # of what an array of integers holds

Digit = tuple[str, int, int]
"""A digit of a tensor: place, stride in positions of the place, how many positions it has."""
Run = tuple[int, int]
"""So many positions, so far apart."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """The boxes of one writer: `windows` (start, length) of every digit, `counts` of the loops that starts speak of.
    `rows` lists the positions of one digit instead, where a list of numbers says them.
    """

    windows: Mapping[Digit, tuple[Affine, int]]
    counts: tuple[int, ...]
    rows: tuple[Digit, tuple[int, ...]] | None = None

    def window(self, digit: Digit) -> tuple[Affine, int]:
        """Start and length on a digit; missing: all of it."""
        return self.windows.get(digit, (Affine(0, (0,) * len(self.counts)), digit[2]))


@dataclass(frozen=True)
class Grid:
    """A grid of all ends of boxes: `cuts` of each digit, ends included, and per writer which of its cells it covers."""

    digits: tuple[Digit, ...]
    cuts: tuple[NDArray[np.int64], ...]
    covered: tuple[NDArray[np.bool_], ...]

    def first(self, cell: Sequence[int]) -> dict[Digit, int]:
        """The first position of a cell."""
        return {d: int(c[i]) for d, c, i in zip(self.digits, self.cuts, cell, strict=True)}

    def last(self, cell: Sequence[int]) -> dict[Digit, int]:
        return {d: int(c[i + 1]) - 1 for d, c, i in zip(self.digits, self.cuts, cell, strict=True)}

    def volume(self, cell: Sequence[int]) -> int:
        return prod(int(c[i + 1] - c[i]) for c, i in zip(self.cuts, cell, strict=True))

    def left(self, wanted: Iterable[int], writers: Iterable[int]) -> NDArray[np.bool_]:
        """The cells that all of the wanted have and none of the writers."""
        import numpy as np

        left = np.ones([len(cut) - 1 for cut in self.cuts], dtype=bool)
        for one in wanted:
            left &= self.covered[one]
        for one in writers:
            left &= ~self.covered[one]
        return left

    def cells(self, mask: NDArray[np.bool_]) -> Iterator[tuple[int, ...]]:
        """The cells of a mask, by their first positions."""
        import numpy as np

        for found in np.argwhere(mask):
            yield tuple(int(i) for i in found)

    def count(self, mask: NDArray[np.bool_]) -> int:
        """How many positions the cells of a mask have."""
        import numpy as np

        sizes = np.ones([1] * len(self.cuts), dtype=np.int64)
        for index, cut in enumerate(self.cuts):
            sizes = sizes * np.diff(cut).reshape([-1 if i == index else 1 for i in range(len(self.cuts))])
        return int(sizes[mask].sum())


@dataclass(frozen=True)
class _Group:
    """Boxes on digits that move together: arrays of starts, one length each."""

    digits: tuple[Digit, ...]
    lows: tuple[NDArray[np.int64], ...]
    lengths: tuple[int, ...]


def grid(digits: Sequence[Digit], writers: Sequence[Boxes]) -> Grid | None:
    """Where the boxes of all writers lie; None where that takes too long a list."""
    import numpy as np

    every: list[list[_Group]] = []
    for writer in writers:
        groups = _groups(writer, digits)
        if groups is None:
            return None
        every.append(groups)
    cuts = []
    for digit in digits:
        ends = [np.array([0, digit[2]], dtype=np.int64)]
        for group in (g for groups in every for g in groups if digit in g.digits):
            at = group.digits.index(digit)
            low = np.clip(group.lows[at], 0, digit[2])
            ends += [low, np.clip(group.lows[at] + group.lengths[at], 0, digit[2])]
        cuts.append(distinct(np.concatenate(ends)))
    if prod(len(c) - 1 for c in cuts) > MOST_CELLS:
        return None
    return Grid(tuple(digits), tuple(cuts), tuple(_painted(groups, tuple(digits), cuts) for groups in every))


def _painted(
    groups: Sequence[_Group], digits: tuple[Digit, ...], cuts: Sequence[NDArray[np.int64]]
) -> NDArray[np.bool_]:
    """Which cells one writer covers."""
    import numpy as np

    made = np.ones([1] * len(digits), dtype=bool)
    for group in groups:
        at = [digits.index(d) for d in group.digits]
        own = _own_cells(group, [cuts[i] for i in at])
        order = np.argsort(at)
        shape = [1] * len(digits)
        for i in at:
            shape[i] = len(cuts[i]) - 1
        made = made & np.transpose(own, order).reshape(shape)
    return np.broadcast_to(made, [len(c) - 1 for c in cuts])


def _own_cells(group: _Group, cuts: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    import numpy as np

    spans = []
    for cut, low, length in zip(cuts, group.lows, group.lengths, strict=True):
        first, end = np.clip(low, 0, cut[-1]), np.clip(low + length, 0, cut[-1])
        spans.append((np.searchsorted(cut, first), np.searchsorted(cut, end)))
    if len(spans) == 1:
        (first, end) = spans[0]
        steps = np.zeros(len(cuts[0]), dtype=np.int64)
        np.add.at(steps, first, 1)
        np.add.at(steps, end, -1)
        return np.cumsum(steps)[:-1] > 0
    found = np.zeros([len(c) - 1 for c in cuts], dtype=bool)
    for box in zip(*(zip(*span, strict=True) for span in spans), strict=True):
        found[tuple(slice(int(a), int(b)) for a, b in box)] = True
    return found


# ---------------------------------------------------------------- the boxes of one writer


def _groups(writer: Boxes, digits: Sequence[Digit]) -> list[_Group] | None:
    """The digits of a writer, those together that a loop moves together; None where their list is too long."""
    import numpy as np

    ends = [end for window in writer.windows.values() for end in reach(*window, writer.counts)]
    if any(abs(end) >= MOST_POSITION for end in ends):
        return None
    starts = {d: writer.window(d) for d in digits}
    out: list[_Group] = []
    left = list(digits)
    if writer.rows is not None:
        digit, rows = writer.rows
        left.remove(digit)
        out.append(_Group((digit,), (np.array(sorted(set(rows)), dtype=np.int64),), (1,)))
    while left:
        members = [left.pop(0)]
        moving = _moving(starts[members[0]][0], writer.counts)
        grown = True
        while grown:
            joined = [d for d in left if moving & _moving(starts[d][0], writer.counts)]
            grown = bool(joined)
            for digit in joined:
                left.remove(digit)
                members.append(digit)
                moving |= _moving(starts[digit][0], writer.counts)
        made = _alone(members[0], *starts[members[0]], writer.counts) if len(members) == 1 else None
        if len(members) > 1:
            made = _together(members, starts, sorted(moving), writer.counts)
        if made is None:
            return None
        out.append(made)
    return out


def reach(start: Affine, length: int, counts: Sequence[int]) -> tuple[int, int]:
    """The first position of a window over all its iterations, and the one behind the last."""
    moved = [step * (count - 1) for step, count in zip(start.steps, counts, strict=True)]
    return start.constant + sum(min(0, m) for m in moved), start.constant + sum(max(0, m) for m in moved) + length


def _moving(start: Affine, counts: Sequence[int]) -> set[int]:
    return {i for i, (step, count) in enumerate(zip(start.steps, counts, strict=True)) if step and count > 1}


def _alone(digit: Digit, start: Affine, length: int, counts: Sequence[int]) -> _Group | None:
    """The intervals of a digit: by rising step, a loop lengthens the run as long as it leaves no gap, else it repeats
    what is there.
    """
    import numpy as np

    low = start.constant
    loops = []
    for step, count in zip(start.steps, counts, strict=True):
        if step and count > 1:
            low += min(0, step * (count - 1))
            loops.append((abs(step), count))
    lows = np.array([low], dtype=np.int64)
    for step, count in sorted(loops):
        if len(lows) == 1 and step <= length:
            length += step * (count - 1)
        elif len(lows) * count > MOST_INTERVALS:
            return None
        else:
            lows = distinct((lows[:, None] + step * np.arange(count, dtype=np.int64)).ravel())
    return _Group((digit,), (lows,), (length,))


def _together(
    members: Sequence[Digit], starts: Mapping[Digit, tuple[Affine, int]], moving: Sequence[int], counts: Sequence[int]
) -> _Group | None:
    import numpy as np

    if prod(counts[i] for i in moving) > MOST_TOGETHER:
        return None
    points = np.array(list(product(*(range(counts[i]) for i in moving))), dtype=np.int64)
    lows = []
    for digit in members:
        start = starts[digit][0]
        lows.append(start.constant + points @ np.array([start.steps[i] for i in moving], dtype=np.int64))
    return _Group(tuple(members), tuple(lows), tuple(starts[d][1] for d in members))


# ---------------------------------------------------------------- walks over one memory


def grid_of(walks: Sequence[Walk], size: int) -> Grid | None:
    """Which addresses from 0 to `size` each walk has, in cells by rising address; None where that takes too long a
    list.
    """
    straight = [walk.straight for walk in walks]
    cuts = [1]
    for cut in sorted({step for walk in straight for _, step in walk.loops}):
        if cut > cuts[-1] and cut % cuts[-1] == 0 and all(_split(one, cut) is not None for one in straight):
            cuts.append(cut)
    tops = [*(high // low for low, high in pairwise(cuts)), -(-size // cuts[-1])]
    digits = tuple(("", low, count) for low, count in zip(reversed(cuts), reversed(tops), strict=True))
    return grid(digits, [_boxes(walk, digits) for walk in straight])


def _split(walk: Walk, cut: int) -> tuple[list[Run], list[Run]] | None:
    """The loops within and beyond a cut of the addresses, where a walk has all pairs of both; None where it has not."""
    inner, outer = [], []
    for count, step in walk.loops:
        if step % cut == 0:
            outer.append((count, step))
        elif cut % step == 0 and count % (cut // step) == 0:
            inner.append((cut // step, step))
            outer.append((count * step // cut, cut))
        else:
            inner.append((count, step))
    return (inner, outer) if walk.base % cut + sum((n - 1) * step for n, step in inner) < cut else None


def _boxes(walk: Walk, digits: Sequence[Digit]) -> Boxes:
    """A walk on digits at whose cuts it splits, outermost first."""
    parts: list[tuple[Digit, Run]] = []
    left = walk
    for digit in digits[:-1]:
        inner, outer = _split(left, digit[1]) or ((), ())
        left = Walk(left.base, tuple(inner))
        parts += [(digit, (count, step // digit[1])) for count, step in outer if count > 1]
    parts += [(digits[-1], run) for run in left.loops]
    windows, above = {}, 0
    for digit in digits:
        start, above = walk.base // digit[1] - above * digit[2], walk.base // digit[1]
        windows[digit] = (Affine(start, tuple(step if own == digit else 0 for own, (_, step) in parts)), 1)
    return Boxes(windows, tuple(count for _, (count, _) in parts))
