"""Where one unit that lies in memory in the end lay at the beginning: sought backwards, copy by copy, by division.

Knows: the commands of steps and how iterations move them, in an order that the program allows.
Does not know: the arrays of `contents`, which this is to confirm; accesses, moves that nothing says how to do.
Law: exact, or `NoCopies`. Of copies of one command onto the unit any may be found, so that another answer than that of
`contents` confirms nothing and contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.program.command import Command, counters_at
from dmaverify.program.space import global_address
from dmaverify.prove.flow.alone_copies import NoCopies
from dmaverify.prove.flow.step_copies import StepCopies
from dmaverify.prove.flow.touches import Memory, memory_at
from dmaverify.prove.move.copies import TooManySteps, find_copy
from dmaverify.targets.target import Target

MOST_LOOKED = 1 << 14
"""Commands, each in each iteration, that are looked at."""


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
                if copies is None or copies.alone is not None:
                    raise NoCopies("no command says what is written")
                looked += len(copies.commands)
                if looked > MOST_LOOKED:
                    raise NoCopies(f"more than {MOST_LOOKED:,} commands")
                for _, command in reversed(copies.commands):
                    place = _behind(_at(copies, command, turn), copies.scale, target, place)
    return place


def _at(copies: StepCopies, command: Command, turn: int) -> Command:
    """The command of an iteration, by its number."""
    counters = counters_at([one.count for one in copies.turns], turn)
    read, write = (shift.at(counters) for shift in copies.shifts)
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
