"""Cells of buffers: which positions a view of a tensor covers for all starts of its window, as a set of numbers.

Knows: digits of mappings of every class of place, starts that are progressions, factors that all views share.
Does not know: order, branches, findings.
Law: a set is exact or there is none. Starts that one loop moves in two places, or that are not all known, give none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, prod
from typing import TYPE_CHECKING, Any

from dmaverify.machines.rngd.rust.tile_shapes import form_of
from dmaverify.machines.rngd.rust.values import PLACES, Map, RustTensor
from dmaverify.prove.meet import Walk

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CELLS = 1 << 20  # of a buffer, less what all of its views share
MOST_MADE = 1 << 23

Run = tuple[int, int]
"""So many positions, so far apart: a loop of a walk."""


def _all_maps(tensor: RustTensor) -> bool:
    return all(isinstance(tensor.fields[place], Map) for place in PLACES[tensor.tier])


def certain(tensor: RustTensor) -> bool:
    """Whether every start of a view is known and occurs."""
    return not tensor.window.open and _moves(tensor, dict.fromkeys(PLACES[tensor.tier], 1)) is not None


def _moves(tensor: RustTensor, scales: Mapping[str, int]) -> list[Run] | None:
    """How the starts of a view move in its buffer: one run for each loop; None where that is not known."""
    runs: dict[frozenset[int], Run] = {}
    seen: set[int] = set()
    for place, numbers in tensor.window.parts:
        if not numbers.exact:
            return None
        if not numbers.step:
            continue
        key, step = numbers.loops, numbers.step * scales[place]
        if key in runs and key and 0 not in key and runs[key][0] == numbers.count:
            runs[key] = (numbers.count, runs[key][1] + step)  # one loop moves both
            continue
        own = {abs(loop) for loop in key} or {0}
        if own & seen or (seen and 0 in own):
            return None
        seen |= own
        runs[key] = (numbers.count, step)
    return list(runs.values())


def cover_of(tensor: RustTensor, sizes: Sequence[int]) -> Walk | None:
    """The live positions of a view in its buffer, whose places have these sizes, the furthest apart first; None where
    digits cannot tell.
    """
    if not _all_maps(tensor) or not certain(tensor):
        return None
    scale = 1
    runs: list[Run] = []
    scales: dict[str, int] = {}
    for place, size in zip(reversed(PLACES[tensor.tier]), reversed(sizes), strict=True):
        expr = tensor.expr(place)
        form = form_of(expr)
        if form is None or expr.size != size or any(len(guard.terms) > 1 for guard in form.guards):
            return None
        scales[place] = scale
        runs += [(digit.live, digit.step * scale) for digit in form.digits if digit.live > 1]
        scale *= size
    base = sum(numbers.low * scales[place] for place, numbers in tensor.window.parts)
    moves = _moves(tensor, scales)
    if moves is None:
        return None
    made = Walk(base, tuple(sorted((*runs, *moves), key=lambda run: (run[1], run[0]), reverse=True)))
    return made if made.low >= 0 and made.high < scale else None


class CellSpace:
    """Positions of one buffer, less the blocks and the repetitions that all covers share, so that few are counted;
    `fits` says whether they are few enough.
    """

    def __init__(self, size: int, covers: Sequence[Walk]) -> None:
        self.shared, outer = 1, list(covers)
        while outer and all(cover.loops for cover in outer):
            count, step = outer[0].loops[0]
            rest = [Walk(cover.base, cover.loops[1:]) for cover in outer]
            if any(one.loops[0] != (count, step) or part.high >= step for one, part in zip(outer, rest, strict=True)):
                break
            outer, size, self.shared = rest, min(size, step), self.shared * count
        joined = [_joined(cover) for cover in outer]
        self.block = gcd(size, *(part for length, cover in joined for part in _grain(length, cover)))
        own = [_in_blocks(length, cover, self.block) for length, cover in joined]
        size //= self.block
        self.size = size
        self.fits = size <= MOST_CELLS and all(prod(count for count, _ in cover.loops) <= MOST_MADE for cover in own)
        self._own = dict(zip(covers, own, strict=True))

    @property
    def each(self) -> int:
        """Cells that one counted position stands for."""
        return self.block * self.shared

    def position(self, counted: int) -> int:
        """The first position of the buffer that a counted one stands for."""
        return counted * self.block

    def positions(self, cover: Walk) -> NDArray[Any]:
        """The counted positions of a cover, each as often as it is covered."""
        import numpy as np

        own = self._own[cover]
        out = np.full(1, own.base, dtype=np.int64)
        for count, step in reversed(own.loops):
            out = (out[:, None] + np.arange(count, dtype=np.int64) * step).reshape(-1)
        return out


def _joined(cover: Walk) -> tuple[int, Walk]:
    """The length of the contiguous parts, and where these start."""
    length, left = 1, list(cover.loops)
    while left and left[-1][1] == length:
        length *= left.pop()[0]
    return length, Walk(cover.base, tuple(left))


def _grain(length: int, cover: Walk) -> tuple[int, ...]:
    return (length, cover.base, *(step for _, step in cover.loops))


def _in_blocks(length: int, cover: Walk, block: int) -> Walk:
    """The cover with blocks for positions."""
    inner = ((length // block, 1),) if length > block else ()
    return Walk(cover.base // block, (*((count, step // block) for count, step in cover.loops), *inner))
