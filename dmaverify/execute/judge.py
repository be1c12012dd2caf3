"""Copies judged: who wrote each unit of the destination, what was read, each obligation as a count of copies or cells.

Knows: tags of units (`promise`), where addresses lie in a region. Does not know: how copies come about, how a violation
is told, digits, solvers, machines, plan files.
Law: complete and exact. The first violation is the first in the order in which copies are taken (of a cell: the first
position). Nothing is sampled.

A read and a write outside the regions are told apart; all that speaks of elements is judged on copies in bounds on both
sides, except that a write in bounds writes its cell and a read in bounds reads it, wherever the other side lies.
Source: docs/design.md; the plan file format (What is judged); docs/machines/rngd.md 1.2, 1.3, 1.6, 2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dmaverify.execute.address import Batch, DeclaredRegion, Numbers
from dmaverify.execute.promise import READ_BOTTOM, WRITE_BOTTOM, ZERO, Promise
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNTOUCHED, UNKNOWN = -1, -2  # provenance: nobody wrote here; written from outside the source region


@dataclass(slots=True)
class FirstSeen:
    """How often, and the first time: a copy of a command with its addresses, or a unit index of one side (`cell`)."""

    count: int
    command: int = -1
    number: int = -1
    read: int = 0
    write: int = 0
    cell: int = -1


class UnitJudge:
    """The state of a run: who wrote each destination unit, which source units were read, what was broken so far."""

    def __init__(self, promise: Promise, source: DeclaredRegion, dest: DeclaredRegion) -> None:
        self.promise, self.source, self.dest = promise, source, dest
        index: Any = np.int32 if len(promise.source) < 1 << 31 else np.int64
        self.provenance: NDArray[np.signedinteger[Any]] = np.full(len(promise.dest), UNTOUCHED, index)
        self.read = np.zeros(len(promise.source), np.bool_)
        self.outside: list[Numbers] = []  # write addresses beyond the region
        self.inside = 0  # writes within it
        self.marks: dict[str, FirstSeen] = {}

    def take(self, batch: Batch) -> None:
        have, all_read = self.source.locate(batch.read, *batch.read_bounds)
        want, all_written = self.dest.locate(batch.write, *batch.write_bounds)
        if all_read and all_written:
            self.inside += len(want)
            self.provenance[want] = have
            self.read[have] = True
            self._compare(batch, want, have, None)
        else:
            self._beyond(batch, want, have)

    def given(self, want: Numbers) -> None:
        """Units that get what lies nowhere."""
        self.inside += len(want)
        self.provenance[want] = UNKNOWN

    def arrived(self) -> NDArray[np.bool_]:
        """Live units of the destination that hold what they should."""
        known = (self.provenance >= 0) & (self.promise.dest >= 0)
        have = self.promise.source[self.provenance[known]]
        found: NDArray[np.bool_] = (have >= 0) & self.promise.served(self.promise.dest[known], have)
        return found

    def _beyond(self, batch: Batch, want: Numbers, have: Numbers) -> None:
        read, written = have >= 0, want >= 0
        self._mark("in-bounds:read", batch, np.flatnonzero(~read))
        self._mark("in-bounds:write", batch, np.flatnonzero(~written))
        self.outside.append(batch.write[~written])
        self.inside += int(np.count_nonzero(written))
        self.provenance[want[written]] = np.where(read, have, UNKNOWN)[written]
        self.read[have[read]] = True
        both = np.flatnonzero(read & written)
        self._compare(batch, want[both], have[both], both)

    def _compare(self, batch: Batch, want: Numbers, have: Numbers, numbers: Numbers | None) -> None:
        """Copies in bounds: `want`, `have` are unit indices, `numbers` their places in the batch (None: in order)."""
        asked, given = self.promise.dest[want], self.promise.source[have]
        odd = np.flatnonzero(asked != given)
        if not len(odd):
            return
        asked, given = asked[odd], given[odd]
        where = odd if numbers is None else numbers[odd]
        live, alive = asked >= 0, given >= 0
        self._mark("reads-live", batch, where[live & ~alive])
        both = live & alive
        if both.any():
            served = self.promise.served(asked[both], given[both])
            self._mark("same-element", batch, where[both][~served])
        self._mark("padding:write-bottom", batch, where[asked == WRITE_BOTTOM])
        self._mark("padding:read-bottom", batch, where[given == READ_BOTTOM])
        self._mark("padding:zero-overwritten", batch, where[asked == ZERO])

    def _mark(self, key: str, batch: Batch, where: Numbers) -> None:
        if not len(where):
            return
        known = self.marks.get(key)
        if known is not None:
            known.count += len(where)
            return
        at = int(where[0])
        self.marks[key] = FirstSeen(
            len(where), batch.command, batch.first + at, int(batch.read[at]), int(batch.write[at])
        )

    def finish(self, moved: int) -> None:
        """What only the whole run shows."""
        promise = self.promise
        untouched = self.provenance == UNTOUCHED
        self._cells("covers", untouched & (promise.dest >= 0))
        self._cells("padding:zero-unwritten", untouched & (promise.dest == ZERO))
        repeats = self.inside - (len(untouched) - int(np.count_nonzero(untouched))) + self._repeats_outside()
        if repeats:
            self.marks["writes-once"] = FirstSeen(repeats)
        if not self.read.all():
            count, first = promise.unread(self.read)
            if count:
                self.marks["consumes"] = FirstSeen(count, cell=first)
        if not promise.dest_live or not moved:
            self.marks["not-vacuous"] = FirstSeen(1)

    def _cells(self, key: str, where: NDArray[np.bool_]) -> None:
        if where.any():
            self.marks[key] = FirstSeen(int(np.count_nonzero(where)), cell=int(np.argmax(where)))

    def _repeats_outside(self) -> int:
        if not self.outside:
            return 0
        every = np.concatenate(self.outside)
        self.outside.clear()
        every.sort()
        return int(np.count_nonzero(every[1:] == every[:-1]))
