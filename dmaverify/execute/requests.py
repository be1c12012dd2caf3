"""Which units of a move a machine reads at once, and what it has read when it writes.

Knows: requests as packets are cut into them; bus words of a machine that streams. Does not know: tensors, promises.
Law: of an order that the machine may or may not keep, the one that reads latest is taken; "none" is no order at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmaverify.execute.address import Numbers
from dmaverify.values import dataclass


@dataclass(frozen=True)
class Copies:
    """Units in the order of the machine: where from, where to, by which engine, at which place in its packet.

    `exact` says that these are all the units that are touched: a stream's padding may touch more.
    """

    read: Numbers
    write: Numbers
    engine: Numbers
    offset: Numbers
    command: Numbers
    exact: bool = True
    flows: bool = False  # the positions of a stream, not a printed nest
    open_engines: bool = False  # several commands, and nothing says whether one engine does them all
    open_packets: bool = False  # the longest runs, or less
    open_places: bool = False  # the source holds an element at several places, and nothing says which is read


def requests_of(copies: Copies, most: int, cut: str) -> Numbers:
    """The number of the request of each unit: runs on both sides, within a packet, of at most `most` units."""
    count = len(copies.read)
    if not count:
        return np.zeros(0, np.int64)
    fresh = np.ones(count, np.bool_)
    if cut in ("units", "words", "none"):
        return np.arange(count)
    follows = (np.diff(copies.read) == 1) & (np.diff(copies.write) == 1) & (np.diff(copies.command) == 0)
    offset = copies.offset
    if copies.open_packets:  # a packet begins where a run does
        starts = np.flatnonzero(np.r_[True, ~follows])
        offset = np.arange(count) - np.repeat(starts, np.diff(np.r_[starts, count]))
    if cut == "packets":
        fresh = offset == 0
    else:
        fresh[1:] = ~follows | (offset[1:] == 0)
        if cut == "first":
            fresh |= offset % most == 0
        else:
            fresh |= (copies.read % most == 0) | (copies.write % most == 0)
    return np.cumsum(fresh) - 1


def words_of(copies: Copies, word: int, windows: Sequence[Sequence[int]] = ()) -> tuple[Numbers, Numbers]:
    """Of each unit, the bus word in which it is read, and the last one that is read before it is written. `windows`:
    of each command (of all, where it is one), those of both sides, at which both are cut.
    """
    count = len(copies.read)
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    begins = np.ones(count, np.bool_)
    runs = (np.diff(copies.read) == 1) & (np.diff(copies.write) == 1) & (np.diff(copies.command) == 0)
    begins[1:] = ~runs | (copies.offset[1:] == 0)
    for number, sides in enumerate(windows):
        own = (copies.command == number) if len(windows) > 1 else np.ones(count, np.bool_)
        for at, window in zip((copies.read, copies.write), sides, strict=False):
            begins |= own & (at % window == 0)
    read = np.cumsum(begins | (copies.read % word == 0)) - 1
    write = np.cumsum(begins | (copies.write % word == 0)) - 1
    last = np.flatnonzero(np.r_[np.diff(write) != 0, True])
    return read, read[last][write]
