"""What a program leaves in memory: for every piece that it writes, what lies there in the end.

Knows: steps in an order that the program allows, their copies and accesses, iteration by iteration.
Does not know: whether other orders leave the same (`hazards`), how two programs are compared, how an answer is worded.
Law: exact, or `NoCopies`. A piece holds what lay somewhere at the beginning, zero, anything, or what an access made of
all that its context was given before, or rows that the plan does not state of what they may touch: an unknown function,
the same of the same. A lane does what it is given one after the other; where copies of one step meet otherwise, there
is no result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import gcd, prod
from typing import TYPE_CHECKING

from dmaverify.language.distinct import distinct
from dmaverify.program.command import counters_at
from dmaverify.program.schedule import Order, Program, Step
from dmaverify.program.turns import Turn
from dmaverify.prove.flow.accesses.alone_copies import NoCopies
from dmaverify.prove.flow.accesses.step_copies import StepCopies, copies_of, pieces_of
from dmaverify.prove.flow.accesses.step_events import blocks_in_order
from dmaverify.prove.flow.accesses.touches import Memory, StepWork, Touch
from dmaverify.prove.meet import Walk
from dmaverify.prove.move.own_copies import OwnCopy, order_decides
from dmaverify.prove.move.views import place_findings
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

MOST_PIECES = 1 << 23
"""Pieces that all iterations move together."""
MOST_TURNS = 1 << 14
"""Iterations of bodies with several steps, each step counted."""
WIDE, MOST_CHIPS = 1 << 62, 32
"""Addresses, with chips in them, are numbers of 64 bits."""
ZERO, ANYTHING, MADE = -1, -2, -3
"""What a piece holds that comes from no memory; from `MADE` down, the number of what made it."""


@dataclass(frozen=True)
class TakenApart:
    """A program with its steps taken apart, and what each of them copies (None: accesses, rows of unknown numbers)."""

    program: Program
    works: Sequence[StepWork]
    order: Order
    target: Target
    copies: Sequence[StepCopies | None] = ()

    @property
    def unit_bits(self) -> int:
        """The finest unit of a step."""
        return min((touch.unit_bits for work in self.works for touch in work.touches), default=8)


def with_copies(side: TakenApart, unit_bits: int) -> TakenApart:
    """The side with what each step copies, for units of so many bits. Raises NoCopies."""
    for touch in (one for work in side.works for one in work.touches):
        walk = touch.walk.scaled(touch.unit_bits // unit_bits)
        if walk.low < 0 or walk.high >= WIDE or touch.memory[1] >= MOST_CHIPS:
            raise NoCopies("addresses below 0, or wider than 62 bits, are not followed")
    found = [
        None if step.transfer is None or _unknown(step) else copies_of(step, work, side.target, unit_bits)
        for step, work in zip(side.program.steps, side.works, strict=True)
    ]
    return TakenApart(side.program, side.works, side.order, side.target, found)


def _unknown(step: Step) -> bool:
    """Whether it moves rows that nothing states."""
    return step.indirect is not None and not step.indirect.index.known


def common_piece(side: TakenApart, unit_bits: int) -> int:
    """The longest piece, in such units, that everything of a program moves whole."""
    numbers = [one.common for one in side.copies if one is not None]
    for touch in (t for w, one in zip(side.works, side.copies, strict=True) if one is None for t in w.touches):
        walk = touch.walk.scaled(touch.unit_bits // unit_bits)
        run, outer = _innermost(walk.loops)
        numbers += [run, walk.base, *(stride for _, stride in outer)]
    return gcd(*numbers)


def _innermost(loops: Sequence[tuple[int, int]]) -> tuple[int, Sequence[tuple[int, int]]]:
    """Units in a row of the innermost loops, and the loops around them."""
    run, left = 1, [loop for loop in loops if loop[0] > 1]
    while left and left[-1][1] == run:
        run *= left.pop()[0]
    return run, left


# ---------------------------------------------------------------- memory


@dataclass
class Filled:
    """Places of one memory, rising: the number of the memory (or another source) that each holds a piece of, which
    one, and the step that wrote it last (-1: none).
    """

    places: Numbers
    origin: Numbers
    at: Numbers
    by: Numbers


@dataclass
class Numbering:
    """What is the same in both programs: numbers of memories, and of what was made of what."""

    unit_bits: int
    piece: int
    memories: dict[Memory, int] = field(default_factory=dict)
    padding_read: bool = False  # by accesses, which make nothing of what it holds
    made: dict[object, int] = field(default_factory=dict)

    def number(self, memory: Memory) -> int:
        return self.memories.setdefault(memory, len(self.memories))

    def name(self, number: int) -> Memory:
        return next(memory for memory, own in self.memories.items() if own == number)


def left_behind(side: TakenApart, world: Numbering, places: Mapping[Memory, Numbers]) -> dict[Memory, Filled]:
    """What lies in all these places, which hold all that the program writes, when it has ended. Raises NoCopies."""
    for step in side.program.steps:
        for work in (step.transfer, *step.accesses):
            for found in place_findings(work.views) if work is not None and work.views is not None else ():
                if found.rule == "core/in-bounds":
                    raise NoCopies(f"`{step.name}` leaves a tensor: {found.message}")
    return _Run(side, world, places).held()


def written(side: TakenApart, world: Numbering) -> dict[Memory, list[Numbers]]:
    """The places that a program writes, in all iterations. Raises NoCopies where they are too many."""
    out: dict[Memory, list[Numbers]] = {}
    total = 0
    for step, work, copies in zip(side.program.steps, side.works, side.copies, strict=True):
        total += _amount(work, copies, world, prod(count for _, count in step.loops))
        if total > MOST_PIECES:
            raise NoCopies(f"more than {MOST_PIECES:,} pieces of {world.piece * world.unit_bits / 8:g} B are moved")
        if copies is None:
            for touch in (one for one in work.touches if one.writes):
                out.setdefault(touch.memory, []).append(_walked(touch, world, None))
            continue
        for one in pieces_of(copies, world.piece, side.target):
            shift = _every_shift(copies.turns, copies.shifts[1].steps, copies.scale, world.piece)
            out.setdefault(one.dest, []).append((shift[:, None] + one.write).ravel())
    return out


def _amount(work: StepWork, copies: StepCopies | None, world: Numbering, turns: int) -> int:
    if copies is not None:
        return copies.units * turns // world.piece
    return sum(
        prod(count for count, _ in touch.walk.loops) * touch.unit_bits // world.unit_bits // world.piece
        for touch in work.touches
    )


def _every_shift(turns: Sequence[Turn], steps: Sequence[int], scale: int, piece: int) -> Numbers:
    """How far each iteration moves a side, in pieces, in order."""
    return Walk(0, tuple((t.count, step * scale // piece) for t, step in zip(turns, steps, strict=True))).listed


def _walked(touch: Touch, world: Numbering, counters: Sequence[int] | None) -> Numbers:
    """The pieces of an access in one memory, in order, at one iteration (None: in all)."""
    walk = touch.walk.scaled(touch.unit_bits // world.unit_bits)
    base, loops = walk.base, walk.loops
    if counters is not None:
        base += sum(c * stride for c, (_, stride) in zip(counters, loops, strict=False))
        loops = loops[len(touch.turns) :]
    run, outer = _innermost(loops)
    outer = [(count, stride // world.piece) for count, stride in outer]
    return Walk(base // world.piece, (*outer, (run // world.piece, 1))).listed


# ---------------------------------------------------------------- the run


class _Run:
    def __init__(self, side: TakenApart, world: Numbering, places: Mapping[Memory, Numbers]) -> None:
        import numpy as np

        self.side, self.world = side, world
        self.state = {
            memory: Filled(at, np.full(len(at), world.number(memory)), at.copy(), np.full(len(at), -1))
            for memory, at in places.items()
        }
        self.first = [[] if copies is None else pieces_of(copies, world.piece, side.target) for copies in side.copies]
        self.given: dict[str, int] = {}  # of each context, the number of all that it was given

    def held(self) -> dict[Memory, Filled]:
        blocks = blocks_in_order(self.side.order)
        if blocks is None:
            raise NoCopies("loops wait for each other")
        for block in blocks:
            loops = self.side.program.steps[block[0]].loops
            turns = prod(count for _, count in loops)
            if len(block) == 1 and turns > 1 and self._at_once(block[0]):
                continue
            if turns * len(block) > MOST_TURNS:
                raise NoCopies(f"more than {MOST_TURNS:,} iterations of steps")
            for turn in range(turns):
                for step in block:
                    self._step(step, turn)
        return self.state

    def _at_once(self, step: int) -> bool:
        """Does all iterations of a step alone, one lane between two memories; False where it is none."""
        copies, own = self.side.copies[step], self.first[step]
        if copies is None or len(own) != 1 or own[0].read is None or own[0].source == own[0].dest:
            return False
        shifts = [_every_shift(copies.turns, s.steps, copies.scale, self.world.piece) for s in copies.shifts]
        read, write = ((s[:, None] + at).ravel() for s, at in zip(shifts, (own[0].read, own[0].write), strict=True))
        last = _last(write)
        origin, at = self._lies(own[0].source, read[last])
        self._put(step, own[0].dest, write[last], origin, at)
        return True

    def _step(self, step: int, turn: int) -> None:
        copies = self.side.copies[step]
        if copies is None:
            self._makes(step, turn)
            return
        counters = counters_at([one.count for one in copies.turns], turn)
        read, write = copies.at(counters, self.world.piece)
        moved = [
            one._replace(read=None if one.read is None else one.read + read, write=one.write + write)
            for one in self.first[step]
        ]
        own = [OwnCopy(one.source, one.dest, one.read, one.write, one.lane, one.round) for one in moved]
        word = "part" if copies.alone else "command"
        if clash := order_decides(own, word, in_any=False, launched=self.side.target.engines.launched):
            raise NoCopies(f"`{self._name(step)}`, {clash}")
        for one in moved:
            if one.read is None:
                zero = one.fill == "zero"
                self._put(step, one.dest, one.write, ZERO if zero else ANYTHING, one.write * (not zero))
                continue
            last = _last(one.write)
            origin, at = self._lies(one.source, one.read[last])
            self._put(step, one.dest, one.write[last], origin, at)

    def _makes(self, step: int, turn: int) -> None:
        """All reads, then all writes of what was made of what they read: by accesses, of all that their context was
        given; by rows of unknown numbers, also of what may be left where they are put: in a table, all that no list
        names (what is `sure` there, some list does).
        """
        import numpy as np

        touches, move = self.side.works[step].touches, self.side.program.steps[step].indirect
        lane = self.side.works[step].lanes[0]
        counters = counters_at([one.count for one in touches[0].turns], turn) if touches else ()
        told: list[object] = [made_by(self.side.program.steps[step], lane)]
        told += [self.given.get(lane, 0)] if move is None else []
        for touch in touches:
            at = _walked(touch, self.world, counters)
            if touch.writes:
                told.append(len(at))
            if not touch.writes or (move is not None and (move.scatter or not touch.sure)):
                told += self._told(touch.memory, at, padding=move is None)
        number = self.world.made.setdefault(tuple(told), len(self.world.made) + 1)
        if move is None:
            self.given[lane] = number
        done = 0
        for touch in (one for one in touches if one.writes):
            at = _walked(touch, self.world, counters)
            if _twice(at):
                raise NoCopies(f"`{self._name(step)}` writes a unit twice")
            self._put(step, touch.memory, at, MADE - number, done + np.arange(len(at), dtype=np.int64))
            done += len(at)

    def _told(self, memory: Memory, at: Numbers, *, padding: bool) -> list[object]:
        """What stands for the contents of places; where they hold anything, nothing else is like them but for
        `padding`.
        """
        import numpy as np

        origin, held = self._lies(memory, at)
        open_ = origin == ANYTHING
        if open_.any() and not padding:
            return [object()]
        self.world.padding_read = self.world.padding_read or bool(open_.any())
        return [sha256(part.tobytes()).digest() for part in (origin, np.where(open_, 0, held))]

    # ------------------------------------------------------------ places

    def _lies(self, memory: Memory, at: Numbers) -> tuple[Numbers, Numbers]:
        """What lies at these places: a memory or another source, and which piece of it."""
        import numpy as np

        origin = np.full(len(at), self.world.number(memory))
        held = self.state.get(memory)
        if held is None or not len(held.places):
            return origin, at
        index = np.minimum(np.searchsorted(held.places, at), len(held.places) - 1)
        known = held.places[index] == at
        return np.where(known, held.origin[index], origin), np.where(known, held.at[index], at)

    def _put(self, step: int, memory: Memory, write: Numbers, origin: Numbers | int, at: Numbers) -> None:
        import numpy as np

        held = self.state[memory]
        index = np.searchsorted(held.places, write)
        held.origin[index], held.at[index], held.by[index] = origin, at, step

    def _name(self, step: int) -> str:
        return self.side.program.steps[step].name


def made_by(step: Step, lane: str) -> object:
    """All that decides what a step makes of what it touches: the accesses of a context, with how many packets of which
    size each slice is given; rows of unknown numbers.
    """
    move = step.indirect
    if move is None:
        return lane, tuple((a.engine, a.dtype, a.stream.time.size, a.stream.packet.size) for a in step.accesses)
    numbers = (move.index.tensor, move.index.dtype, move.index.scaled, move.index.entries)
    sides = (move.source, move.dest, move.dtype, move.axis, move.key_axes, move.keyed, move.rows)
    return move.kind, move.target, sides, numbers, move.stream, move.given, move.listed


def _twice(at: Numbers) -> bool:

    return len(distinct(at)) < len(at)


def _last(write: Numbers) -> Numbers:
    """Of each place that is written, the last time: one command writes in its order."""
    import numpy as np

    found: Numbers = len(write) - 1 - np.unique(write[::-1], return_index=True)[1]
    return found
