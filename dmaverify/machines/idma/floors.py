"""What no list of 1D transfers can beat that moves the live bytes of a move, each once.

Knows: runs of live bytes, the words and windows that hold them, the closed bounds of the law.
Does not know: descriptors, how lists are found.
Law: every floor here is at most the price of every list of 1D transfers that makes the move.

Source: `law`, `decoupled_bounds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from dmaverify.machines.idma.decoupled_bounds import ApartTotals
from dmaverify.machines.idma.engine import TILELINK
from dmaverify.machines.idma.law import Totals
from dmaverify.machines.idma.legalizer import is_coupled, window_bits
from dmaverify.machines.idma.nests import BoxNest
from dmaverify.machines.idma.price import bounds_of
from dmaverify.machines.idma.setup import Setup

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHOWN_RUNS = 1 << 16
"""Runs up to which it is looked whether they are maximal."""


def floor(setup: Setup, totals: Totals | ApartTotals) -> float:
    """Cycles that no transfers with these totals can beat, in whatever order."""
    return max((term.cycles for term in bounds_of(setup, totals)), default=0.0) + setup.shown_stages


def live_runs(nests: Sequence[BoxNest]) -> NDArray[np.int64] | None:
    """The runs of some boxes as rows (read, write, length), by write address; None where they are too many, or none.
    Addresses count from a multiple of 1 MiB.
    """
    import numpy as np

    if not nests or sum(prod(loop.count for loop in nest.loops) for nest in nests) > SHOWN_RUNS:
        return None
    rows = []
    first = [min(getattr(nest, side) for nest in nests) >> 20 << 20 for side in ("read", "write")]
    for nest in nests:
        points = np.array([[nest.read - first[0], nest.write - first[1]]], dtype=np.int64)
        for loop in nest.loops:
            steps = np.arange(loop.count, dtype=np.int64)[:, None] * np.array([[loop.read, loop.write]])
            points = (points[None, :, :] + steps[:, None, :]).reshape(-1, 2)
        rows.append(np.column_stack((points, np.full(len(points), nest.length, dtype=np.int64))))
    found = np.concatenate(rows)
    ordered: NDArray[np.int64] = found[np.argsort(found[:, 1], kind="stable")]
    return ordered


def bridged(runs: NDArray[np.int64]) -> bool:
    """Whether some gap between neighbours is as wide on both sides, so that one transfer could move both and it."""
    ends = runs[:-1, :2] + runs[:-1, 2:]
    gaps = runs[1:, :2] - ends
    return bool(((gaps[:, 0] == gaps[:, 1]) & (gaps[:, 1] >= 0)).any())


def gathered(runs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The runs as if their bytes stood side by side in the source: as few words as so many bytes can be read from."""
    out = runs.copy()
    out[:, 0] = runs[:, 2].cumsum() - runs[:, 2]
    return out


def words_floor(setup: Setup, runs: NDArray[np.int64]) -> float:
    """Cycles that no plan can beat, whatever padding it moves: each bus word and each burst window that holds a live
    byte is touched.
    """
    r = setup.request
    read, write = (_touched(runs, side, setup.backend.word) for side in (0, 1))
    windows = [
        _touched(runs, side, 1 << window_bits(setup.backend, protocol, reduced, llen)) if protocol != TILELINK else 1
        for side, protocol, reduced, llen in (
            (0, r.src_protocol, r.src_reduce_len, r.src_max_llen),
            (1, r.dst_protocol, r.dst_reduce_len, r.dst_max_llen),
        )
    ]
    if not is_coupled(r):
        return floor(setup, ApartTotals(read, write, *windows))
    return floor(setup, Totals(read, write, max(read, write), max(windows)))


def bytes_floor(setup: Setup, count: int) -> float:
    """Cycles that no plan can beat that moves so many bytes, wherever they lie."""
    beats = -(-count // setup.backend.word)
    if not is_coupled(setup.request):
        return floor(setup, ApartTotals(beats, beats, 1, 1))
    return floor(setup, Totals(beats, beats, beats, 1))


def _touched(runs: NDArray[np.int64], side: int, size: int) -> int:
    """Aligned pieces of `size` bytes that hold a byte of some run."""
    import numpy as np

    first, last = runs[:, side] // size, (runs[:, side] + runs[:, 2] - 1) // size
    order = np.argsort(first, kind="stable")
    first, last = first[order], np.maximum.accumulate(last[order])
    before = np.concatenate(([first[0] - 1], last[:-1]))
    return int(np.maximum(0, last - np.maximum(first - 1, before)).sum())


def runs_are_maximal(nests: Sequence[BoxNest]) -> bool:
    """Whether no run ends where another begins on both sides, so that every plan has at least these runs.

    Looked at run by run, up to `SHOWN_RUNS`; beyond, it is not claimed.
    """
    runs = live_runs(nests)
    if runs is None:
        return False
    return not set(map(tuple, runs[:, :2].tolist())) & set(map(tuple, (runs[:, :2] + runs[:, 2:]).tolist()))
