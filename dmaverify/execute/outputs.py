"""What the steps of a program make together: every cell that tiles make, and no cell written twice unread.

Knows: cells written by each iteration of each step, what pieces of work read, who ends before whom.
Does not know: mappings, windows, digits, how pieces came about.
Law: cells are united and compared one by one. A cell may be written again where what it held was read in between; a
write of the whole tensor promises nothing of the kind, so that a second one unread is said only (`lost`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from dmaverify.execute.hazards import RunPiece
from dmaverify.execute.order import mask
from dmaverify.execute.outcome import Outcome
from dmaverify.execute.work import HeldTensor
from dmaverify.language.distinct import common, distinct
from dmaverify.values import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

COVER, ONCE = "core/tiles-cover", "core/tiles-once"


@dataclass
class LanePiece(RunPiece):
    """The work of one lane in one iteration of one step."""

    step: int = 0
    turn: int = 0
    rooms: frozenset[int] = frozenset()  # slices with banks that its DMA works in
    moves: bool = False  # a byte that it reads and writes it reads first, else core/overlap is broken
    context: str = ""  # of the step, where the lane is not it


@dataclass(frozen=True)
class StepWrites:
    """What one iteration of one step writes of a tensor: which live cells, through which starts."""

    step: int
    turn: int
    starts: tuple[int, ...]
    cells: Numbers
    tiled: bool
    partial: bool
    rows: bool = False  # those that a scatter names


TiledOutputs = dict[tuple[HeldTensor, int], tuple["Numbers", list[StepWrites]]]
"""Of each tensor, as it was declared first, and width: its live cells, and who writes which of them."""


def judge_outputs(
    outputs: TiledOutputs, names: Sequence[str], pieces: Sequence[LanePiece], before: Sequence[int], outcome: Outcome
) -> None:
    """`names` are those of the steps; bit i of `before[j]` says that piece i ends before piece j begins."""
    for (held, _), (whole, written) in outputs.items():
        found = [replace(one, cells=common(one.cells, whole)) for one in written]  # padding holds nothing
        tiled = [one for one in found if _of_tiles(one, whole)]
        union = distinct(np.concatenate([one.cells for one in found]))
        if tiled and not np.isin(whole, union).all() and not all(one.partial for one in tiled):
            outcome.break_(COVER, f"{int((~np.isin(whole, union)).sum())} cells are never written")
        compared = [one for one in found if not one.rows or _of_tiles(one, whole)]
        for (i, one), (j, other) in combinations(enumerate(compared), 2):
            same = (one.step, one.starts) == (other.step, other.starts)
            if same and any((w.step, w.starts) == (one.step, one.starts) for w in compared[i + 1 : j]):
                continue  # each is compared with the next
            cells = np.intersect1d(one.cells, other.cells, assume_unique=True)
            if not len(cells):
                continue
            seen = np.isin(cells, _read_between(held.tier, one, other, pieces, before))
            turns = f"iterations {one.turn} and {other.turn}"
            said = f"{names[one.step]} and {names[other.step]} write one cell in {turns}"
            if seen.all():
                continue
            if not (_of_tiles(one, whole) and _of_tiles(other, whole)):
                outcome.lost.setdefault(ONCE, said)
            elif seen.any():
                outcome.leave(ONCE, f"{said}, part of it read in between")
            else:
                outcome.break_(ONCE, said)


def _of_tiles(one: StepWrites, whole: Numbers) -> bool:
    """Whether it is a view's part of the tensor, which promises that others make the rest."""
    return one.tiled and len(one.cells) < len(whole)


def _read_between(
    tier: str, one: StepWrites, other: StepWrites, pieces: Sequence[LanePiece], before: Sequence[int]
) -> Numbers:
    """What is read after one of two iterations and before the other writes, whichever comes first."""
    ends = [[n for n, p in enumerate(pieces) if (p.step, p.turn) == (w.step, w.turn)] for w in (one, other)]
    found = [np.zeros(0, np.int64)]
    for number, piece in enumerate(pieces):
        for early, late in (ends, ends[::-1]):
            first = mask(early)
            last = all(before[n] >> number & 1 for n in late) or (piece.moves and number in late)
            if before[number] & first == first and last:
                found += [t.sure for t in piece.touched if t.tier == tier and not t.writes]
    return np.concatenate(found)
