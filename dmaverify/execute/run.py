"""Running commands: every copy is made and judged, every unit of both regions is accounted for.

Knows: addresses of copies (`address`), tags of units (`promise`), each obligation as a count of copies or cells.
Does not know: digits, refinement, solvers, machines, plan files, how a violation is told.
Law: complete and exact. The first violation is the first in order of commands, then counters (of a cell: the first
position). Nothing is sampled.

A read and a write outside the regions are told apart; all that speaks of elements is judged on copies in bounds on both
sides, except that a write in bounds writes its cell and a read in bounds reads it, wherever the other side lies.
Source: docs/design.md; the plan file format (What is judged); docs/machines/rngd.md 1.2, 1.3, 1.6, 2.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dmaverify.execute.address import Batch, DeclaredRegion, Numbers, TooLarge, batches, mapping_of, region_of
from dmaverify.execute.promise import READ_BOTTOM, WRITE_BOTTOM, ZERO, Promise, promise_of
from dmaverify.execute.result import UNKNOWN, UNTOUCHED, Execution, FirstSeen
from dmaverify.language.distinct import distinct
from dmaverify.program.command import Command
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.program.tensor import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_READINGS: Mapping[str, str] = MappingProxyType({})


def execute(
    source: Tensor,
    dest: Tensor,
    source_space: Space,
    dest_space: Space,
    dtype_bits: int,
    commands: Sequence[Command],
    *,
    readings: Mapping[str, str] = NO_READINGS,
    limit_units: int = 1 << 26,
) -> Execution:
    """Runs `commands` in order and judges the result against the move from `source` to `dest`.

    A unit is a byte, or half a byte of a 4-bit dtype. Of the readings only `core/same-element` = `broadcast-missing`
    speaks to the executor. Raises TooLarge above `limit_units` units in the commands or in a region, and where a tensor
    has two positions at one address (Aliased).
    """
    regions = (region_of(source, source_space, dtype_bits), region_of(dest, dest_space, dtype_bits))
    moved = sum(max(0, command.amount) for command in commands)
    units = max(moved, regions[0].units, regions[1].units)
    if units > limit_units:
        raise TooLarge(units)
    mappings = (mapping_of(source, source_space), mapping_of(dest, dest_space))
    missing = readings.get("core/same-element") == "broadcast-missing"
    promise = promise_of(*mappings, dtype_bits // unit_bits_of(dtype_bits), missing)
    run = _Run(promise, *regions)
    for batch in batches(commands):
        run.take(batch)
    run.finish(moved)
    spaces = (source_space, dest_space)
    return Execution(
        tuple(commands), dtype_bits, regions, mappings, spaces, run.marks, moved, promise, run.provenance
    )


class _Run:
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
        untouched = np.flatnonzero(self.provenance == UNTOUCHED)
        if len(untouched):
            asked = promise.dest[untouched]
            self._cells("covers", untouched[asked >= 0])
            self._cells("padding:zero-unwritten", untouched[asked == ZERO])
        repeats = self.inside - (len(self.provenance) - len(untouched)) + self._repeats_outside()
        if repeats:
            self.marks["writes-once"] = FirstSeen(repeats)
        if not self.read.all():
            count, first = promise.unread(self.read)
            if count:
                self.marks["consumes"] = FirstSeen(count, cell=first)
        if not promise.dest_live or not moved:
            self.marks["not-vacuous"] = FirstSeen(1)

    def _cells(self, key: str, where: Numbers) -> None:
        if len(where):
            self.marks[key] = FirstSeen(len(where), cell=int(where[0]))

    def _repeats_outside(self) -> int:
        total = sum(len(part) for part in self.outside)
        return total - len(distinct(np.concatenate(self.outside))) if total else 0
