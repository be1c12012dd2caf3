"""Provenance: where one unit that lies in memory in the end lay at the beginning, sought backwards, by division.

Knows: the commands of steps and how iterations move them, in an order that the program allows; of moves that nothing
says how to do, what the cells of both sides mean.
Does not know: the arrays of `contents`, which this is to confirm, and digits; accesses.
Law: exact, or `NoCopies`. Of copies of one command onto the unit any may be found, so that another answer than that of
`contents` confirms nothing and contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from dmaverify.language.expr import axes_of
from dmaverify.language.meaning import BOTTOM, INDEX, CellArray, cells_array, finalize_array
from dmaverify.program.command import Command, Port, counters_at
from dmaverify.program.space import Space, global_address, port_at, unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.flow.accesses.alone_copies import Alone, NoCopies
from dmaverify.prove.flow.accesses.step_copies import StepCopies
from dmaverify.prove.flow.accesses.touches import Memory, memory_at
from dmaverify.prove.move.copies import TooManySteps, find_copy
from dmaverify.targets.target import Target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

MOST_LOOKED = 1 << 14
"""Commands, each in each iteration, that are looked at."""
MOST_CELLS = 1 << 20
"""Positions of a tensor whose cells are looked at one by one."""


def traced(
    steps: Sequence[StepCopies | None], touched: Sequence[Sequence[Memory]], turns: Sequence[int],
    blocks: Sequence[Sequence[int]], target: Target, place: tuple[Memory, int],
) -> tuple[Memory, int]:  # fmt: skip
    """The memory and unit that a unit (memory, address) of the end lay in at the beginning; its own where nothing is
    written there. `touched` are the memories that each step writes. Raises NoCopies.
    """
    looked = 0
    for block in reversed(blocks):
        if not any(place[0] in touched[step] for step in block):
            continue
        for turn in reversed(range(turns[block[0]])):
            for step in reversed(block):
                if place[0] not in touched[step]:
                    continue
                copies = steps[step]
                if copies is None:
                    raise NoCopies("no command says what is written")
                if copies.alone is not None:
                    place = _by_meaning(copies, copies.alone, turn, target, place)
                looked += max(1, len(copies.commands))
                if looked > MOST_LOOKED:
                    raise NoCopies(f"more than {MOST_LOOKED:,} commands")
                for _, command in reversed(copies.commands):
                    place = _behind(_at(copies, command, turn), copies.scale, target, place)
    return place


def _shifted(copies: StepCopies, turn: int) -> tuple[int, int]:
    """How far an iteration, by its number, moves both sides."""
    counters = counters_at([one.count for one in copies.turns], turn)
    read, write = (shift.at(counters) for shift in copies.shifts)
    return read, write


def _at(copies: StepCopies, command: Command, turn: int) -> Command:
    """The command of an iteration, by its number."""
    read, write = _shifted(copies, turn)
    return command.moved_to(command.read.base + read, command.write.base + write)


def _behind(command: Command, scale: int, target: Target, place: tuple[Memory, int]) -> tuple[Memory, int]:
    """Where a unit lay before a command."""
    memory, unit = place
    source, dest = (memory_at(target, port.tier, port.chip, port.cluster) for port in (command.read, command.write))
    if memory != dest:
        return place
    try:
        found = find_copy([command], global_address(command.write, unit // scale))
    except TooManySteps:
        raise NoCopies("strides interleave") from None
    if found is None:
        return place
    return source, (found.read - global_address(command.read, 0)) * scale + unit % scale


def _by_meaning(
    copies: StepCopies, move: Alone, turn: int, target: Target, place: tuple[Memory, int]
) -> tuple[Memory, int]:
    """Where a unit lay before a move that nothing says how to do: at the one position of the source whose cell is that
    of the position which it lies at in the destination.
    """
    import numpy as np

    (name, chip, cluster), unit = place
    read, write = _shifted(copies, turn)
    source, dest = move.transfer.source, move.transfer.dest
    if name != target.memory_of(dest.tier):
        return place
    wide = move.bits // unit_bits_of(move.bits)
    address = global_address(Port(dest.tier, 0, chip, cluster), unit // copies.scale) - write
    rest = address - _addresses(dest, move.spaces[1], move.bits)
    (found,) = np.nonzero((rest >= 0) & (rest < wide))
    if not len(found):
        return place
    held = _cells(dest, found)
    if held.kind[0] == BOTTOM:
        return place
    there = _addresses(source, move.spaces[0], move.bits)
    seen = _cells(source, np.arange(len(there)))
    alike = seen.kind == INDEX
    for axis, values in seen.coords.items():
        alike &= values == held.coords[axis][0] if axis in held.coords else values == 0
    (ones,) = np.nonzero(alike)
    if len(found) > 1 or held.kind[0] != INDEX or len(ones) != 1:
        raise NoCopies("no one element of the source lies there")
    port = port_at(source.tier, int(there[ones[0]] + rest[found[0]]) + read, move.spaces[0])
    return memory_at(target, port.tier, port.chip, port.cluster), port.base * copies.scale + unit % copies.scale


def _cells(tensor: Tensor, positions: Numbers) -> CellArray:
    return finalize_array(cells_array(tensor.mapping, positions), axes_of(tensor.mapping))


def _addresses(tensor: Tensor, space: Space, bits: int) -> Numbers:
    """The first unit of each position of a tensor, with chips and clusters in it."""
    import numpy as np

    sizes = [tensor.field(name).size for name in PLACES]
    if prod(sizes) > MOST_CELLS:
        raise NoCopies(f"a tensor of more than {MOST_CELLS:,} positions, and no commands")
    unit, starts = unit_bits_of(bits), {"chip": tensor.at_chip, "cluster": tensor.at_cluster, "slice": tensor.at_slice}
    out = np.full(prod(sizes), tensor.base * 8 // unit, np.int64)
    for name, at in zip(PLACES, np.unravel_index(np.arange(len(out)), sizes), strict=True):
        step = bits // unit if name == "element" else space.stride(name, unit) if name in space.places else 0
        out += (at + starts.get(name, 0)) * step
    return out
