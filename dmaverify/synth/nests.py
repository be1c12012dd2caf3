"""Two lists of addresses that walk together, as nests of rows.

Knows: rows, levels, where runs break. Does not know: copies, machines, what is allowed.
Law: the rows of the nests of a cover are the pairs of both lists, each once. In the nest of equal rows neighbouring
levels that continue each other on both sides are one, so none can be saved by joining.
"""

from __future__ import annotations

from math import prod
from typing import Any

from dmaverify.program.command import Loop
from dmaverify.program.even_runs import EvenRun, gathered
from dmaverify.values import dataclass

MOST_ROWS = 1 << 18


@dataclass(frozen=True, slots=True)
class RowNest:
    """Rows of both sides that walk together, in bytes, levels inner to outer."""

    read: int
    write: int
    row: int
    levels: tuple[Loop, ...] = ()

    @property
    def rows(self) -> int:
        return prod(level.count for level in self.levels)


def covers(writes: Any, reads: Any, item: int) -> list[list[RowNest]]:
    """Nests that together walk two address lists by ascending destination: the one of equal rows where there is one,
    and those of the longest runs, which may be fewer where runs of two rows meet.
    """
    whole = _whole(writes, reads, item)
    found = [[whole]] if whole is not None else []
    runs = _runs(writes, reads, item)
    return [*found, runs] if runs is not None and runs not in found else found


def _runs(writes: Any, reads: Any, item: int) -> list[RowNest] | None:
    import numpy as np

    breaks = np.flatnonzero((np.diff(writes) != item) | (np.diff(reads) != item)) + 1
    starts, ends = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(writes)]])
    if len(starts) > MOST_ROWS:
        return None
    both = zip(starts.tolist(), ends.tolist(), strict=True)
    runs = [EvenRun((int(reads[a]), int(writes[a])), of=(b - a) * item) for a, b in both]
    return [
        RowNest(one.at[0], one.at[1], one.of, tuple(Loop(n, read, write) for n, (read, write) in one.levels))
        for one in gathered(runs)
    ]


def _whole(writes: Any, reads: Any, item: int) -> RowNest | None:
    """The one nest of two address lists: each level is as long as divides every place where its step breaks."""
    read, write = int(reads[0]), int(writes[0])
    count = _run(writes, reads, item, item)
    row, levels = count * item, list[Loop]()
    writes, reads = writes[::count], reads[::count]
    while len(writes) > 1:
        dw, dr = int(writes[1] - writes[0]), int(reads[1] - reads[0])
        count = _run(writes, reads, dw, dr)
        if count == 1:
            return None
        levels.append(Loop(count, dr, dw))
        writes, reads = writes[::count], reads[::count]
    return RowNest(read, write, row, tuple(levels))


def _run(writes: Any, reads: Any, dw: int, dr: int) -> int:
    """The largest length of which the whole is made that steps by these distances."""
    import numpy as np

    breaks = np.flatnonzero((np.diff(writes) != dw) | (np.diff(reads) != dr)) + 1
    return int(np.gcd.reduce(np.append(breaks, len(writes))))
