"""What two programs leave behind, copy by copy: the first place where it is not the same.

Knows: units in the order in which one engine copies them. Does not know: tensors, engines side by side, solvers.
Law: a place is given only where the last copies onto it are known, and bring units that nothing wrote before. None says
nothing: not that the programs do the same.
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


@dataclass(frozen=True, slots=True)
class LeftOtherwise:
    """The last copy of one program onto a place, and where the other one's reads, if it has any."""

    copy: UnitCopy
    only_in: int
    other: int | None


def left_otherwise(programs: Sequence[Sequence[Command]], *, one_memory: bool) -> LeftOtherwise | None:
    """The lowest place that the programs leave otherwise. `one_memory`: what is written may be read."""
    import numpy as np

    every = [command for program in programs for command in program]
    if sum(command.amount for command in every) > COMPARE_UNITS or not all(map(fits, every)):
        return None
    if any(len({command.engine for command in program}) != 1 for program in programs):
        return None
    units = [addresses_of(program) for program in programs]
    if one_memory and any(np.intersect1d(read, write).size for read, write in units):
        return None
    sides = [_last(write) for _, write in units]
    found = []
    for only_in, (place, at) in enumerate(sides):
        others, there = sides[1 - only_in]
        near = np.minimum(np.searchsorted(others, place), len(others) - 1)
        same = (others[near] == place) & (units[1 - only_in][0][there[near]] == units[only_in][0][at])
        found += [(int(place[i]), only_in, int(at[i])) for i in np.flatnonzero(~same)[:1]]
    if not found:
        return None
    write, only_in, position = min(found)
    places, there = sides[1 - only_in]
    again = np.flatnonzero(places == write)
    other = int(units[1 - only_in][0][there[again[0]]]) if again.size else None
    return LeftOtherwise(copy_at(programs[only_in], position, int(units[only_in][0][position]), write), only_in, other)


def _last(writes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every place that is written, by rising address, and the position of the last copy onto it."""
    import numpy as np

    places, first = np.unique(writes[::-1], return_index=True)
    return places, (len(writes) - 1 - first).astype(np.int64)
