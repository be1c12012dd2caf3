"""What two programs leave behind, copy by copy: the first place where it is not the same.

Knows: units in the order in which one engine copies them. Does not know: tensors, engines side by side, solvers.
Law: a place is given only where what ends there is known: commands of one engine follow each other, and none of them
reads what it writes itself. None says nothing: not that the programs do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dmaverify.lower.programs import COMPARE_UNITS
from dmaverify.program.command import Command
from dmaverify.prove.move.copies import UnitCopy
from dmaverify.prove.move.units import addresses_of, copy_at, fits
from dmaverify.values import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Addresses = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LeftOtherwise:
    """The last copy of one program onto a place, and where the other one's reads, if it has any."""

    copy: UnitCopy
    only_in: int
    other: int | None


def left_otherwise(programs: Sequence[Sequence[Command]], *, one_memory: bool, waits: bool) -> LeftOtherwise | None:
    """The lowest place that the programs leave otherwise. `one_memory`: what is written may be read; `waits`: a command
    reads what those before it wrote.
    """
    import numpy as np

    every = [command for program in programs for command in program]
    if sum(command.amount for command in every) > COMPARE_UNITS or not all(map(fits, every)):
        return None
    if any(len({command.engine for command in program}) != 1 for program in programs):
        return None
    units = [[addresses_of([command]) for command in program] for program in programs]
    reads, writes = (np.concatenate([pair[side] for program in units for pair in program]) for side in (0, 1))
    if one_memory and not waits and np.intersect1d(reads, writes).size:
        return None
    places = np.unique(writes)
    ends = [_ends(program, places, one_memory=one_memory) for program in units]
    if ends[0] is None or ends[1] is None:
        return None
    (held, last), (other, there) = ends[0], ends[1]
    read = [np.concatenate([pair[0] for pair in program]) for program in units]
    for at in np.flatnonzero(held != other):
        onto = [None if one[at] < 0 else int(read[i][one[at]]) for i, one in enumerate((last, there))]
        if onto[0] != onto[1]:
            only_in = int(onto[0] is None)
            position, source = int((last, there)[only_in][at]), onto[only_in]
            assert source is not None
            copy = copy_at(programs[only_in], position, source, int(places[at]))
            return LeftOtherwise(copy, only_in, onto[1 - only_in])
    return None


def _ends(
    program: Sequence[tuple[Addresses, Addresses]], places: Addresses, *, one_memory: bool
) -> tuple[Addresses, Addresses] | None:
    """Of every place the address whose unit it holds in the end, and the position of the last copy onto it (-1: none);
    None where a command reads what it writes.
    """
    import numpy as np

    held = places.copy() if one_memory else -1 - np.arange(len(places))  # below 0: what another memory held
    last, position = np.full(len(places), -1), 0
    for read, write in program:
        if one_memory and np.intersect1d(read, write).size:
            return None
        near = np.minimum(np.searchsorted(places, read), len(places) - 1)
        brings = np.where(one_memory & (places[near] == read), held[near], read)
        at = np.searchsorted(places, write)
        held[at], last[at] = brings, position + np.arange(len(write))
        position += len(write)
    return held, last
