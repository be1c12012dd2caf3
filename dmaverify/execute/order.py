"""Who waits for whom: what lanes know of each other by signals and barriers, everything that precedes a piece, loop
bodies, sets that may run at once.

Knows: events and pieces as numbers, sets of them as bits. Does not know: what one does.
Law: bit i of entry j says that i ends before j begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from dmaverify.execute.outcome import Beyond
from dmaverify.execute.work import RunStep


def bodies_of(steps: Sequence[RunStep]) -> list[int]:
    """Steps in a row with the same loops have one number; a step without loops has its own, below 0."""
    out: list[int] = []
    for index, step in enumerate(steps):
        if not step.loops:
            out.append(-1 - index)
        elif index and out[-1] >= 0 and steps[index - 1].loops == step.loops:
            out.append(out[-1])
        else:
            out.append(index)
    return out


def mask(numbers: Sequence[int]) -> int:
    total = 0
    for number in numbers:
        total |= 1 << number
    return total


class LaneOrder:
    """What is surely done before each event: a lane knows what was done when it waited, whatever it was given since."""

    def __init__(self) -> None:
        self.signals: dict[object, int] = {}  # what whoever waits for one learns
        self.known: dict[int, int] = {}  # of each event, those that end before it begins
        self.issued: dict[object, int] = {}
        self._knows: dict[object, int] = {}

    def happens(self, lane: object, event: int) -> None:
        self.known[event] = self._knows.get(lane, 0)
        self.issued[lane] = self.issued.get(lane, 0) | 1 << event

    def done(self, lane: object) -> int:
        """What is surely done when a lane has done all that it was given so far."""
        return self._knows.get(lane, 0) | self.issued.get(lane, 0)

    def learns(self, lane: object, done: int) -> None:
        self._knows[lane] = self._knows.get(lane, 0) | done

    def meet(self, before: Collection[object], behind: Collection[object]) -> None:
        """Some lanes wait for all that others were given so far; a barrier is one of lanes for themselves."""
        done = 0
        for lane in before:
            done |= self.done(lane)
        for lane in behind:
            self.learns(lane, done)

    def gives(self, lane: object, signal: object) -> None:
        """Sets a signal when all that a lane was given so far is done."""
        self.signals[signal] = self.signals.get(signal, 0) | self.done(lane)

    def waits(self, lane: object, signal: object) -> None:
        """A lane waits for a signal, which stays."""
        self.learns(lane, self.signals.get(signal, 0))


def closed(direct: Sequence[int]) -> list[int] | None:
    """Everything that precedes each piece, each a lane of its own; None where some wait for each other."""
    order, placed, left = LaneOrder(), 0, list(range(len(direct)))
    while left:
        ready, left = left, []
        for piece in ready:
            waits = direct[piece]
            if waits & ~placed:
                left.append(piece)
                continue
            while waits:
                order.learns(piece, order.done(waits.bit_length() - 1))
                waits &= ~order.done(piece)
            order.happens(piece, piece)
            placed |= 1 << piece
        if len(left) == len(ready):
            return None
    return [order.known[piece] for piece in range(len(direct))]


def members(events: int, most: int) -> np.ndarray:
    """Whether each of the first `most` events is in a set."""
    data = np.frombuffer((events & ((1 << most) - 1)).to_bytes(most // 8 + 1, "little"), np.uint8)
    return np.unpackbits(data, count=most, bitorder="little").astype(bool)


def bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def cliques(near: Sequence[int], beside: Mapping[int, set[int]]) -> Iterator[list[int]]:
    """Every set of steps that may all run at once; the largest ones suffice, since sums only grow."""
    if len(near) > 12:
        raise Beyond("too many accesses beside a transfer")
    for size in range(len(near), 0, -1):
        for group in combinations(near, size):
            if all(b in beside[a] for a, b in combinations(group, 2)):
                yield list(group)
