"""The steps of a plan as events of a kernel that say which bytes go where: copies, and accesses that make something.

Knows: commands of steps and how iterations move them, accesses, rows of unknown numbers; one order that is allowed.
Does not know: whether another order leaves something else, how two lists of events are compared.
Law: the events, one after the other, leave what the program leaves in that order. What leaves anything in padding, and
a step whose own copies may meet in an order that nothing decides, raises `NoCopies`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dmaverify.language.affine import ZERO, Lin, World
from dmaverify.program.instructions import Copy, CopyStep, CopyTouch, Event, Place, Use
from dmaverify.program.turns import Turn
from dmaverify.prove.flow.accesses.alone_copies import NoCopies, cells_of
from dmaverify.prove.flow.accesses.step_copies import in_row
from dmaverify.prove.flow.accesses.step_events import NOWHERE, StepEvents
from dmaverify.prove.flow.accesses.touches import Memory, memory_at
from dmaverify.prove.flow.equality.contents import MOST_PIECES, TakenApart, made_by, with_copies
from dmaverify.prove.meet import Walk
from dmaverify.prove.move.own_copies import STILL, OwnCopy, of_commands, order_decides
from dmaverify.targets.modules import what_decides
from dmaverify.values import dataclass, field, replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dmaverify.program.turns import Affine
    from dmaverify.prove.flow.accesses.alone_copies import Alone
    from dmaverify.prove.flow.accesses.step_copies import StepCopies

    Numbers = NDArray[np.int64]


def copy_events(side: TakenApart, unit_bits: int, world: World, works: dict[object, str]) -> tuple[Event, ...]:
    """What the program does in one order that it allows, in units of so many bits; `works` names what is made by
    accesses and by rows of unknown numbers. Raises NoCopies.
    """
    own = with_copies(side, unit_bits)
    told = _CopyEvents(own.program, own.works, own.order, world, whole=True, side=own, unit_bits=unit_bits, names=works)
    events = told.events()
    if events is None:
        raise NoCopies("loops wait for each other")
    return events


@dataclass
class _CopyEvents(StepEvents):
    """Each command of a step as a copy, moves that nothing says how to do by their cells; all else as one access."""

    side: TakenApart | None = None
    unit_bits: int = 8
    names: dict[object, str] = field(default_factory=dict)

    def _step(self, step: int, digits: dict[Turn, Lin]) -> Iterator[Event]:
        assert self.side is not None
        copies, work = self.side.copies[step], self.works[step]
        if copies is None:
            made = tuple((t, t.walk.scaled(t.unit_bits // self.unit_bits)) for t in work.touches)
            what = self.names.setdefault(made_by(self.program.steps[step], work.lanes[0]), f"work {len(self.names)}")
            yield replace(self._use(step, "", made, digits), what=what)
            return
        target, name = self.side.target, self.program.steps[step].name
        transfer = self.program.steps[step].transfer
        assert transfer is not None
        kind = repr(sorted(what_decides(target, transfer, work.commands).items(), key=lambda item: item[0]))
        if copies.alone is not None:
            yield from self._listed(step, kind, copies, copies.alone, digits)
            return
        commands = [command for _, command in copies.commands]
        one_by_one = len({lane for lane, _ in copies.commands}) < 2 and not target.engines.launched
        ahead = _ahead(copies)
        if not one_by_one and (clash := order_decides(of_commands(commands, target, copies.rounds), ahead=ahead)):
            raise NoCopies(f"`{name}`, {clash}")
        for number, command in enumerate(commands):
            own = kind
            if target.memory_of(command.read.tier) == target.memory_of(command.write.tier) and order_decides(
                of_commands([command], target), ahead=ahead
            ):  # what it leaves rests on how it does its requests: it is like none that has other loops or packets
                own = f"{kind} {number}: {command.loops} {command.burst} {command.packet}"
            loops = tuple((one.count, one.read, one.write) for one in reversed(command.loops) if one.count != 1)
            ends = [(memory_at(target, port.tier, port.chip, port.cluster), port.base)
                    for port in (command.read, command.write)]  # fmt: skip
            yield self._copy(step, own, ends, command.burst, loops, copies, digits)

    def _listed(
        self, step: int, kind: str, copies: StepCopies, move: Alone, digits: Mapping[Turn, Lin]
    ) -> Iterator[Event]:
        """The cells of a move that nothing says how to do: as a copy where they are a nest, else as an access that is
        named by all of them.
        """
        import numpy as np

        assert self.side is not None
        name = self.program.steps[step].name
        parts = list(cells_of(move, self.side.target))
        if any(fill == "anything" for *_, fill in parts):
            raise NoCopies(f"nothing says what `{name}` leaves in padding")
        piece = move.common
        if move.dest.size // piece > MOST_PIECES:
            raise NoCopies(f"`{name}` moves more than {MOST_PIECES:,} pieces in an iteration")

        def pieces(at: Numbers) -> Numbers:
            return in_row(at // piece, move.run // piece)

        own = [
            OwnCopy(source and source[0], dest, None if source is None else pieces(source[1]), pieces(at))
            for source, dest, at, _ in parts
        ]
        ahead = _ahead(copies)
        whole = Walk(ahead.low // piece, ((1 - -ahead.high // piece - ahead.low // piece, 1),))  # all pieces so far
        if clash := order_decides(own, "part", ahead=whole if ahead != STILL else STILL):
            raise NoCopies(f"`{name}`, {clash}")
        for source, dest, at, fill in parts:
            order = np.argsort(at)
            write = at[order]
            memory, read = (dest, write * 0) if source is None else (source[0], source[1][order])
            ends = [(memory, int(read[0])), (dest, int(write[0]))]
            loops = None if fill else nest_of(read, write)
            made = self._copy(step, kind, ends, move.run, loops or (), copies, digits)
            if loops is None:
                pattern = kind, fill, move.run * copies.scale, (read - read[0]).tobytes(), (write - write[0]).tobytes()
                what = self.names.setdefault((pattern, copies.scale), f"cells {len(self.names)}")
                made = Use(made.number, "", made.touches, made.span, what)  # type: ignore[assignment]
            yield made

    def _copy(
        self, step: int, kind: str, ends: Sequence[tuple[Memory, int]], run: int,
        loops: Sequence[tuple[int, int, int]], copies: StepCopies, digits: Mapping[Turn, Lin],
    ) -> Copy:  # fmt: skip
        """A nest of runs (count, how far the read goes, how far the write does; inner to outer) from both ends on."""
        scale = copies.scale
        places = [
            Place("/".join(map(str, memory)), "", Lin(at * scale) + _moved(shift, copies, digits))
            for (memory, at), shift in zip(ends, copies.shifts, strict=True)
        ]
        steps = tuple(CopyStep(Lin(count), Lin(read * scale), Lin(write * scale)) for count, read, write in loops)
        row = Lin(run * scale)
        touches = tuple(
            CopyTouch(word, place, ZERO, row, tuple((s.count, s.write if word == "data" else s.read) for s in steps))
            for word, place in zip(("read", "data"), places, strict=True)
        )
        span = self.program.steps[step].span or NOWHERE
        return Copy(step, kind, "", places[0], places[1], row, steps, None, {}, {}, span, touches=touches)


def nest_of(read: Numbers, write: Numbers) -> list[tuple[int, int, int]] | None:
    """Loops (count, read step, write step; inner to outer) that walk both lists; None where none do."""
    import numpy as np

    out = []
    while len(write) > 1:
        steps = np.diff(read), np.diff(write)
        alike = (steps[0] == steps[0][0]) & (steps[1] == steps[1][0])
        count = len(write) if alike.all() else int(np.argmin(alike)) + 1
        if len(write) % count:
            return None
        sides = [side.reshape(-1, count) for side in (read, write)]
        if any((np.diff(side, axis=1) != step[0]).any() for side, step in zip(sides, steps, strict=True)):
            return None
        out.append((count, int(steps[0][0]), int(steps[1][0])))
        read, write = (side[:, 0] for side in sides)
    return out


def _ahead(copies: StepCopies) -> Walk:
    """How much further than the write side the read side is moved, in each iteration, in units of the command."""
    read, write = copies.shifts
    steps = ((turn.count, a - b) for turn, a, b in zip(copies.turns, read.steps, write.steps, strict=True))
    return Walk(read.constant - write.constant, tuple(loop for loop in steps if loop[0] > 1 and loop[1]))


def _moved(shift: Affine, copies: StepCopies, digits: Mapping[Turn, Lin]) -> Lin:
    """How far an iteration moves a side."""
    out = Lin(shift.constant * copies.scale)
    for turn, far in zip(copies.turns, shift.steps, strict=True):
        out = out + digits[turn] * (far * copies.scale)
    return out
