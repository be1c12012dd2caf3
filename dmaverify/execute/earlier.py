"""Iterations of one transfer within one memory: what one reads where those before it have read and written.

Knows: the copies of each iteration, what other steps write in between.
Does not know: how a move is carried out, which elements it promises, solvers.
Law: what iterations left is followed from where it came first. In a queue that swaps, what is written where an
iteration before has read stays open.

Source: "DMA Engine", Implementation Details (commands of an engine in sequence).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from dmaverify.execute.address import DeclaredRegion
from dmaverify.execute.elements import NONE
from dmaverify.execute.hazards import Touched
from dmaverify.execute.outcome import Outcome
from dmaverify.execute.requests import Copies
from dmaverify.execute.work import RunMachine, RunMove
from dmaverify.language.distinct import distinct
from dmaverify.program.space import unit_bits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

NOWHERE = -9  # what lies outside of the tensor


class EarlierIterations:
    """What iterations of a transfer have read and written so far, by claim."""

    def __init__(self, move: RunMove, machine: RunMachine, region: DeclaredRegion) -> None:
        self.move, self.machine, self.region = move, machine, region
        self.written: dict[str, dict[int, int]] = {}  # where what was written came from, by address
        self.reads: dict[str, set[int]] = {}  # what was read for elements that are asked for

    def met(self, word: str, copies: Copies, dest: Numbers, outcome: Outcome) -> None:
        """Whether a unit that ends in a live cell is read where an iteration before, of the same claim, has written
        something else, and nobody since; in a queue that swaps, also where one behind it writes there.
        """
        if self.move.source.tier != self.move.dest.tier:
            return
        known = self.written.setdefault(word, {})
        real = (copies.read != NONE) & (copies.write != NONE)
        read, write = copies.read[real], copies.write[real]
        found = np.array([known.get(at, at) for at in read.tolist()], np.int64)
        asked = held(self.region, dest, write) >= 0
        if (self.move.source.tier, self.move.dest.tier) in self.machine.queues and self.machine.swaps:
            reads = self.reads.setdefault(word, set())
            if not reads.isdisjoint(write[write != read].tolist()):
                outcome.leave("core/overlap", "an iteration writes what one before it reads, and they may swap")
            reads |= set(read[asked].tolist())
        other = (found != read) & asked
        if other.any():
            said = "an iteration reads what one before it has written"
            several = copies.open_places or copies.open_engines or len(distinct(copies.engine)) > 1
            if several or (found[other] == NONE).all():
                outcome.leave("core/overlap", f"{said}, if nothing else is done in between")
            else:
                outcome.break_("core/overlap", said)
        known.update(zip(write.tolist(), found.tolist(), strict=True))

    def replaced(self, touched: Iterable[Touched]) -> None:
        """What another step surely writes, no iteration of this one has written; what it may write, one may have."""
        halves = unit_bits_of(self.move.bits) // 4
        for one in touched:
            for known in self.written.values() if one.writes and one.tier == self.move.source.tier else ():
                known.update(dict.fromkeys(known.keys() & set((one.maybe // halves).tolist()), NONE))
                for at in known.keys() & set((one.sure // halves).tolist()):
                    del known[at]


def held(region: DeclaredRegion, tags: Numbers, at: Numbers) -> Numbers:
    """What lies at unit addresses: a tag, or nowhere."""
    place = located(region, at)
    return np.where(place >= 0, tags[place], NOWHERE) if len(tags) else np.full(len(at), NOWHERE)


def located(region: DeclaredRegion, at: Numbers) -> Numbers:
    place: Numbers = region.locate(at, int(at.min(initial=0)), int(at.max(initial=0)))[0]
    return place
