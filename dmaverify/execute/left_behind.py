"""What a program leaves in memory, unit by unit: where what lies there in the end lay at the beginning.

Knows: the copies of every piece of work, in an order that the program allows.
Does not know: whether another order leaves something else (`programs` tells of races), digits, derived commands.
Law: complete and exact, or `Beyond`: accesses, padded streams and rows that no plan states have no contents here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmaverify.execute.elements import NONE
from dmaverify.execute.moves import TransferRun
from dmaverify.execute.order import bits
from dmaverify.execute.outcome import Beyond
from dmaverify.execute.outputs import LanePiece
from dmaverify.execute.programs import ProgramRun
from dmaverify.execute.requests import Copies
from dmaverify.execute.rows import Moved
from dmaverify.execute.tensors import ZERO, in_tiles, kinds_at, units
from dmaverify.execute.work import Reach, RunMachine, RunMove, RunProgram, RunRows
from dmaverify.language.distinct import distinct
from dmaverify.language.meaning import TOP
from dmaverify.program.space import unit_bits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

Place = tuple[str, int]
Origin = Place | str
FROM_ZERO, ANYTHING = "zero", "anything"
"""What lies somewhere in the end that lay nowhere at the beginning."""


class _Copies(NamedTuple):
    piece: LanePiece
    source: str
    dest: str
    read: Numbers | str
    write: Numbers
    width: int  # of a unit, in bits


def left_behind(
    program: RunProgram, machine: RunMachine, unit_bits: int, pick: Callable[[Sequence[int]], int] = min
) -> dict[Place, Origin]:
    """For each unit that is written, by memory and address, where the contents that it has in the end lay at the
    beginning. `pick` chooses the next piece of work among those that are ready.

    Raises Beyond.
    """
    if any(isinstance(work, Reach) for step in program.steps for work in step.work):
        raise Beyond("what accesses make of data is not run")
    run = _CopiesRun(program, machine)
    if run.run().wrong.keys() & {"core/well-formed"}:
        raise Beyond("steps wait for each other")
    before = run.order()
    if before is None:
        raise Beyond("in which order engines take work is not known")
    rank = {id(run.pieces[number]): place for place, number in enumerate(_picked(before, pick))}
    held: dict[Place, Origin] = {}
    for one in sorted(run.made, key=lambda made: rank[id(made.piece)]):
        write = _fine(one.write, one.width, unit_bits).tolist()
        if isinstance(one.read, str):
            held.update({(one.dest, unit): one.read for unit in write})
            continue
        read = _fine(one.read, one.width, unit_bits).tolist()
        given = [held.get((one.source, unit), (one.source, unit)) for unit in read]
        if one.source == one.dest and {r for r, w in zip(read, write, strict=True) if r != w} & {*write}:
            raise Beyond("a piece of work reads what it writes")
        held.update(zip(((one.dest, unit) for unit in write), given, strict=True))
    return held


def _picked(before: Sequence[int], pick: Callable[[Sequence[int]], int]) -> list[int]:
    """The pieces in an order in which each comes behind those that end before it begins."""
    behind: list[list[int]] = [[] for _ in before]
    waits = [mask.bit_count() for mask in before]
    for piece, mask in enumerate(before):
        for one in bits(mask):
            behind[one].append(piece)
    ready = [piece for piece, count in enumerate(waits) if not count]
    order: list[int] = []
    while ready:
        ready.remove(piece := pick(ready))
        order.append(piece)
        for follower in behind[piece]:
            waits[follower] -= 1
            ready += [] if waits[follower] else [follower]
    return order


def _fine(at: Numbers, width: int, unit_bits: int) -> Numbers:
    return units(at * (width // unit_bits), width // unit_bits) if width > unit_bits else at


class _CopiesRun(ProgramRun):
    """Puts down what each piece of work copies."""

    def __init__(self, program: RunProgram, machine: RunMachine) -> None:
        super().__init__(program, machine)
        self.made: list[_Copies] = []

    def copied(self, piece: LanePiece, run: TransferRun, copies: Copies, mine: NDArray[np.bool_]) -> None:
        if not copies.exact:
            raise Beyond("what the padding of a stream touches is nobody's word")
        if copies.flows:
            asked, held = (tags[tags >= 0] for tags in (run.promise.dest, run.promise.source))
            if len(distinct(held)) < len(held):
                raise Beyond("an element lies at several places of the source")
            once = len(asked) == len(copies.write) == len(distinct(copies.write))
            if len(distinct(asked)) < len(asked) and not once:
                raise Beyond("a stream that walks another number of replicas than there are")
        for number in distinct(copies.command[mine]).tolist():
            own = mine & (copies.command == number)
            self._note_copies(piece, run.move, copies.read[own], copies.write[own])

    def picked(self, piece: LanePiece, run: Moved, read: Numbers, write: Numbers) -> None:
        if run.rows.values is None:
            raise Beyond("which rows are moved is not stated")
        self._note_copies(piece, run.rows, read, write)

    def lost(self, piece: LanePiece) -> None:
        raise Beyond("a number of an index names no row")

    def _note_copies(self, piece: LanePiece, work: RunMove | RunRows, read: Numbers, write: Numbers) -> None:
        if (read == NONE).any() or (write == NONE).any():
            raise Beyond("a stream has elements that a side has no place for")
        self.made.append(_Copies(piece, work.source.tier, work.dest.tier, read, write, unit_bits_of(work.bits)))

    def promised(self, piece: LanePiece, run: TransferRun) -> None:
        """The elements that the destination asks for, from the one place where the source has each."""
        tags, width, dest = run.promise, unit_bits_of(run.move.bits), run.move.dest
        if run.beyond:
            raise Beyond("a tile reaches beyond its elements")
        have, want = tags.source >= 0, tags.dest >= 0
        own, asked = tags.source[have], tags.dest[want]
        order = np.argsort(own, kind="stable")
        if len(distinct(own)) < len(own) or not np.isin(asked, own).all():
            raise Beyond("an element lies at several places, or at none")
        if tags.sets is not None:
            raise Beyond("overlapping windows")
        found = order[np.searchsorted(own[order], asked)]
        read, write = units(run.source.address, run.width)[have][found], units(run.dest.address, run.width)[want]
        self._note_copies(piece, run.move, read, write)
        for code, word in ((TOP, ANYTHING), (ZERO, FROM_ZERO)):
            at = kinds_at(run.dest, code)
            if len(at) and dest.tiles:
                at = units(run.dest.address[(run.dest.kind == code) & in_tiles(dest, run.values)], run.width)
            if len(at):
                tier = dest.tier
                self.made.append(_Copies(piece, tier, tier, word, at, width))
