"""The steps of a plan as events of a kernel that say which bytes go where: copies, and accesses that make something.

Knows: commands of steps and how iterations move them, accesses, rows of unknown numbers; one order that is allowed.
Does not know: whether another order leaves something else, how two lists of events are compared.
Law: the events, one after the other, leave what the program leaves in that order. A step of which nothing says what it
copies, or whose own commands may meet in an order that nothing decides, raises `NoCopies`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dmaverify.language.affine import ZERO, Lin, World
from dmaverify.program.instructions import Copy, CopyStep, CopyTouch, Event, Place
from dmaverify.program.turns import Turn
from dmaverify.prove.flow.alone_copies import NoCopies
from dmaverify.prove.flow.contents import TakenApart, made_by, with_copies
from dmaverify.prove.flow.step_events import NOWHERE, StepEvents
from dmaverify.prove.flow.touches import memory_at
from dmaverify.prove.move.equal_plans import order_decides
from dmaverify.targets.modules import what_decides
from dmaverify.values import dataclass, field, replace

if TYPE_CHECKING:
    from dmaverify.program.command import Command
    from dmaverify.program.turns import Affine
    from dmaverify.prove.flow.step_copies import StepCopies


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
    """Each command of a step as a copy; all else of it as one access."""

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
        if copies.alone is not None:
            raise NoCopies(f"nothing says how `{self.program.steps[step].name}` is done")
        target, commands = self.side.target, [command for _, command in copies.commands]
        one_by_one = len({lane for lane, _ in copies.commands}) < 2 and not target.engines.launched
        if not one_by_one and (clash := order_decides(commands, target)):
            raise NoCopies(f"`{self.program.steps[step].name}`, {clash}")
        transfer = self.program.steps[step].transfer
        assert transfer is not None
        kind = repr(sorted(what_decides(target, transfer, work.commands).items(), key=lambda item: item[0]))
        for command in commands:
            yield self._copy(step, kind, command, copies, digits)

    def _copy(self, step: int, kind: str, command: Command, copies: StepCopies, digits: Mapping[Turn, Lin]) -> Copy:
        assert self.side is not None
        places = []
        for port, shift in zip((command.read, command.write), copies.shifts, strict=True):
            memory = memory_at(self.side.target, port.tier, port.chip, port.cluster)
            address = Lin(port.base * copies.scale) + _moved(shift, copies, digits)
            places.append(Place("/".join(map(str, memory)), "", address))
        row = Lin(command.burst * copies.scale)
        loops = [one for one in reversed(command.loops) if one.count != 1]
        steps = tuple(
            CopyStep(Lin(one.count), Lin(one.read * copies.scale), Lin(one.write * copies.scale)) for one in loops
        )
        touches = tuple(
            CopyTouch(word, place, ZERO, row, tuple((s.count, n) for s, n in zip(steps, far, strict=True)))
            for word, place, far in (
                ("read", places[0], [s.read for s in steps]),
                ("data", places[1], [s.write for s in steps]),
            )
        )
        span = self.program.steps[step].span or NOWHERE
        number = len(self.uses) + 1
        return Copy(number, kind, "", places[0], places[1], row, steps, None, {}, {}, span, touches=touches)


def _moved(shift: Affine, copies: StepCopies, digits: Mapping[Turn, Lin]) -> Lin:
    """How far an iteration moves a side."""
    out = Lin(shift.constant * copies.scale)
    for turn, far in zip(copies.turns, shift.steps, strict=True):
        out = out + digits[turn] * (far * copies.scale)
    return out
