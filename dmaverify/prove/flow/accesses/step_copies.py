"""What a step copies in each iteration, as arrays of pieces: from where, to where, on which lane.

Knows: commands of transfers, known rows of gathers, moves that nothing says how to do, how iterations move them.
Does not know: order, other steps, what memory holds, how an answer is worded.
Law: exact. A piece is so many units in a row that all copies of a step move whole, in every iteration. What has no
exact meaning here raises `NoCopies`.

Source: "DMA Engine" (DMA Command Syntax, DMA Sequencer Internals).
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.program.schedule import Step
from dmaverify.program.space import unit_bits_of
from dmaverify.program.turns import Affine, Turn
from dmaverify.program.views import Views
from dmaverify.prove.flow.accesses.alone_copies import Alone, NoCopies, alone, cells_of
from dmaverify.prove.flow.accesses.touches import Memory, StepWork, lane_of, memory_at
from dmaverify.prove.meet import Walk, side_of
from dmaverify.prove.move.indirect import row_program
from dmaverify.prove.move.views import shift_units
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


class Pieces(NamedTuple):
    """Copies of one lane between two memories, in order: where pieces are read (None: see `fill`) and written. `fill`
    is "zero" or "anything". A `round` begins when all before it is done.
    """

    lane: str
    source: Memory
    dest: Memory
    read: Numbers | None
    write: Numbers
    fill: str = ""
    round: int = 0


@dataclass(frozen=True)
class StepCopies:
    """The commands of the first iteration by lane, or the move that nothing says how to do; what iterations add to read
    and write addresses, by their turns. `scale` of its units are one of both programs.
    """

    commands: tuple[tuple[str, Command], ...] = ()
    alone: Alone | None = None
    turns: tuple[Turn, ...] = ()
    shifts: tuple[Affine, Affine] = (Affine(0), Affine(0))
    scale: int = 1
    rounds: tuple[int, ...] = ()  # of each command, where some wait for others

    @property
    def common(self) -> int:
        """What divides every address and length, in the units of both programs."""
        numbers = [0 if self.alone is None else self.alone.common, *(n for one in self.shifts for n in one.steps)]
        for _, command in self.commands:
            numbers += [command.burst, command.read.base, command.write.base]
            numbers += [n for loop in command.loops if loop.count > 1 for n in (loop.read, loop.write)]
        return gcd(*numbers) * self.scale

    @property
    def units(self) -> int:
        """Units that an iteration moves."""
        own = 0 if self.alone is None else self.alone.dest.size
        return (own + sum(command.amount for _, command in self.commands)) * self.scale

    def at(self, counters: tuple[int, ...], piece: int) -> tuple[int, int]:
        """How far an iteration moves both sides, in pieces."""
        read, write = (shift.at(counters) * self.scale // piece for shift in self.shifts)
        return read, write


def copies_of(step: Step, work: StepWork, target: Target, unit_bits: int) -> StepCopies:
    """What a transfer, gather or scatter copies, for units of so many bits. Raises NoCopies."""
    transfer = step.transfer
    assert transfer is not None
    own = unit_bits_of(target.dtypes[transfer.dtype])
    views = transfer.views or Views()
    shifts = shift_units(views.source, views, target, own), shift_units(views.dest, views, target, own)
    made = StepCopies(turns=views.turns, shifts=shifts, scale=own // unit_bits)
    if step.indirect is not None:
        rows = row_program(step.indirect, target, {})
        if isinstance(rows, str):
            raise NoCopies(rows)
        shifted = [
            command.moved_to(command.read.base + read, command.write.base + write)
            for read, write in zip(rows.read_shifts, rows.write_shifts, strict=True)
            for command in rows.commands
        ]
        return replace(made, commands=tuple((work.lanes[0], command.normal) for command in shifted))
    if work.whole:
        return replace(made, alone=alone(transfer, target))
    lanes = [lane if (lane := lane_of(c)) in work.lanes else work.lanes[0] for c in work.commands]
    rounds = _rounds(transfer, len(work.commands))
    return replace(made, commands=tuple(zip(lanes, (c.normal for c in work.commands), strict=True)), rounds=rounds)


def _rounds(transfer: Transfer, count: int) -> tuple[int, ...]:
    """The round of each command, where the text says which wait for others: a round begins when all before are done."""
    told = () if transfer.form is None else transfer.form.launched
    rounds = tuple(one for one, _ in told)
    return rounds if len(told) == count and list(rounds) == sorted(rounds) else (0,) * count


def pieces_of(copies: StepCopies, piece: int, target: Target) -> list[Pieces]:
    """All copies of the first iteration, in pieces of so many units of both programs. Raises NoCopies."""
    out = []
    for (lane, command), number in zip(copies.commands, copies.rounds or (0,) * len(copies.commands), strict=True):
        ends = [memory_at(target, port.tier, port.chip, port.cluster) for port in (command.read, command.write)]
        both = [_walked(command, writes, copies.scale, piece) for writes in (False, True)]
        out.append(Pieces(lane, ends[0], ends[1], both[0], both[1], round=number))
    if copies.alone is None:
        return out
    run = copies.alone.run * copies.scale // piece
    for number, (source, dest, at, fill) in enumerate(cells_of(copies.alone, target)):
        read = None if source is None else in_row(source[1] * copies.scale // piece, run)
        lane = f"part {number}"  # nothing says in which order parts are moved
        write = in_row(at * copies.scale // piece, run)
        out.append(Pieces(lane, source[0] if source else dest, dest, read, write, fill))
    return out


def _walked(command: Command, writes: bool, scale: int, piece: int) -> Numbers:
    """The pieces of a side, in order."""
    side = side_of(command, writes=writes)
    outer = ((count, step * scale // piece) for count, step in side.loops[:-1])
    return Walk(side.base * scale // piece, (*outer, (command.burst * scale // piece, 1))).listed


def in_row(at: Numbers, run: int) -> Numbers:
    """Each place, and those behind it, so many in a row."""
    import numpy as np

    return (at[:, None] + np.arange(run, dtype=np.int64)).ravel() if run > 1 else at


__all__ = ["NoCopies", "Pieces", "StepCopies", "copies_of", "in_row", "pieces_of"]
