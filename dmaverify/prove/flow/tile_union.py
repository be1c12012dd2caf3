"""The union of the tiles of an output, as boxes: what they leave out, and what two of them share.

Knows: starts that are affine in loops, intervals, boxes on a grid of all their ends.
Does not know: order, what a tile is for, how a finding is shown.
Law: exact, or None where a list would grow too long: no volume is added to another one, no tile is left out. A digit
whose loops move nothing else contributes the union of its intervals; digits that one loop moves together are listed
iteration by iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from dmaverify.language.distinct import distinct
from dmaverify.program.turns import Affine
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


@dataclass(frozen=True, slots=True)
class Boxes:
    """The boxes of one writer: `windows` (start, length) of every digit, `counts` of the loops that starts speak of.
    `rows` lists the positions of one digit instead, where a list of numbers says them.
    """

    windows: Mapping[Digit, tuple[Affine, int]]
    counts: tuple[int, ...]
    rows: tuple[Digit, tuple[int, ...]] | None = None


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

    def cells(self, mask: NDArray[np.bool_]) -> Iterator[tuple[int, ...]]:
        """The cells of a mask, by their first positions."""
        import numpy as np

        for found in np.argwhere(mask):
            yield tuple(int(i) for i in found)


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
    covered = tuple(_painted(groups, tuple(digits), cuts) for groups in every)
    return Grid(tuple(digits), tuple(cuts), covered)


def _painted(
    groups: Sequence[_Group], digits: tuple[Digit, ...], cuts: Sequence[NDArray[np.int64]]
) -> NDArray[np.bool_]:
    import numpy as np

    mask = np.ones([1] * len(digits), dtype=bool)
    for group in groups:
        at = [digits.index(d) for d in group.digits]
        own = _own_mask(group, [cuts[i] for i in at])
        order = np.argsort(at)
        shape = [1] * len(digits)
        for i in at:
            shape[i] = len(cuts[i]) - 1
        mask = mask & np.transpose(own, order).reshape(shape)
    return np.broadcast_to(mask, [len(c) - 1 for c in cuts])


def _own_mask(group: _Group, cuts: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
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
        return np.asarray(np.cumsum(steps)[:-1] > 0)
    mask = np.zeros([len(c) - 1 for c in cuts], dtype=bool)
    for box in zip(*(zip(*span, strict=True) for span in spans), strict=True):
        mask[tuple(slice(int(a), int(b)) for a, b in box)] = True
    return mask


# ---------------------------------------------------------------- the boxes of one writer


def _groups(writer: Boxes, digits: Sequence[Digit]) -> list[_Group] | None:
    """The digits of a writer, those together that a loop moves together; None where their list is too long."""
    import numpy as np

    if any(_reach(start, length, writer.counts) >= MOST_POSITION for start, length in writer.windows.values()):
        return None
    starts = {d: writer.windows.get(d, (Affine(0, (0,) * len(writer.counts)), d[2])) for d in digits}
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


def _reach(start: Affine, length: int, counts: Sequence[int]) -> int:
    return abs(start.constant) + length + sum(abs(s) * c for s, c in zip(start.steps, counts, strict=True))


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
