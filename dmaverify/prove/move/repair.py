"""Which numbers would make a printed program right: proposals, each proved before it is said.

Knows: strides and bases that one side's layout asks for, given what the other side walks.
Does not know: how a proposal is shown.
Law: a proposal changes one number of one command, or all numbers of one side that the other side asks for otherwise; it
is returned only if the changed program keeps every core obligation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain, islice

from dmaverify.errors import Span
from dmaverify.layout.addresses import Layout
from dmaverify.lower.stream_places import base_at
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.space import LOCAL_LIMIT, SPAN, global_address
from dmaverify.values import dataclass, replace

SIDES = ("write", "read")
MOST_TRIALS = 24


@dataclass(frozen=True, slots=True)
class NumberChange:
    """`what` with its printed and its right number."""

    what: str
    span: Span | None
    printed: int
    right: int


@dataclass(frozen=True, slots=True)
class Repair:
    """The numbers that change, and the commands with them."""

    changes: tuple[NumberChange, ...]
    commands: tuple[Command, ...]

    @property
    def text(self) -> str:
        told = dict.fromkeys(f"{one.what} to {one.right} instead of {one.printed}" for one in self.changes)
        return f"set {' and '.join(told)} (checked: the move is then proved)"


def repairs(
    commands: Sequence[Command], named: Collection[int], source: Layout, dest: Layout,
    holds: Callable[[Sequence[Command]], bool],
) -> list[Repair]:  # fmt: skip
    """Proved proposals, best first; at most two, since a third says nothing more. `named`: commands that break
    something, if it is known of which.
    """
    found: list[Repair] = []
    commands = [_as_written(command) for command in commands]
    single = _singles(commands, source, dest) if len(named) < 2 else iter(())  # no single number mends several commands
    every = dict.fromkeys((tuple(sorted(named)), tuple(range(len(commands)))))
    several = (proposal for some in every for proposal in _sides(commands, some, source, dest))
    for proposal in chain(islice(single, MOST_TRIALS), several):
        if len(found) == 2:
            break
        if holds(proposal.commands):
            found.append(proposal)
    return found


def _as_written(command: Command) -> Command:
    """The command with a loop for each entry of its texts, where both count alike: a step that goes on on both sides by
    mistake is no part of its burst.
    """
    read, write = (text.entries if text else () for text in (command.read_text, command.write_text))
    if not read or [e.count for e in read] != [e.count for e in write] or (read[-1].stride, write[-1].stride) != (1, 1):
        return command
    loops = [
        Loop(a.count, a.stride, b.stride, a.label if a.label == b.label or not b.label else b.label, a.span, b.span)
        for a, b in zip(read[:-1], write[:-1], strict=True) if a.count > 1
    ]  # fmt: skip
    return replace(command, loops=tuple(loops), burst=read[-1].count)


def _singles(commands: Sequence[Command], source: Layout, dest: Layout) -> Iterator[Repair]:
    for index, command in enumerate(commands):
        for number in range(len(command.loops)):
            for side in SIDES:
                for change, changed in _stride(command, number, side, source, dest):
                    yield Repair((change,), _swapped(commands, index, changed))
        for side in SIDES:
            for change, changed in _base(command, side, source, dest):
                yield Repair((change,), _swapped(commands, index, changed))


def _sides(commands: Sequence[Command], named: Collection[int], source: Layout, dest: Layout) -> Iterator[Repair]:
    """One side of the commands as the other side asks for it, where that is more than one number."""
    for side in SIDES:
        changes: list[NumberChange] = []
        new = tuple(commands)
        for index in named:
            for number in range(len(commands[index].loops)):
                for change, changed in _stride(new[index], number, side, source, dest):
                    changes, new = [*changes, change], _swapped(new, index, changed)
            for change, changed in _base(new[index], side, source, dest):
                changes, new = [*changes, change], _swapped(new, index, changed)
        if len(changes) > 1:
            yield Repair(tuple(changes), new)


def _stride(
    command: Command, number: int, side: str, source: Layout, dest: Layout
) -> Iterator[tuple[NumberChange, Command]]:
    """The stride of a loop that the other side asks for, where it is another one."""
    loop = command.loops[number]
    have, other, layouts = (
        (loop.write, loop.read, (source, dest)) if side == "write" else (loop.read, loop.write, (dest, source))
    )
    wanted = translated(other, *layouts)
    if wanted is not None and wanted != have:
        name = f"the {side} stride of " + (f"`{loop.label}`" if loop.label else f"loop {number}")
        change = NumberChange(name, _number_span(command, side, loop), have, wanted)
        yield change, _with_stride(command, number, side, wanted)


def translated(stride: int, seen: Layout, other: Layout) -> int | None:
    """What a step of `stride` in one layout is in the other: the same step on the same axis; None where that is no
    one digit.
    """
    if stride == 0:
        return None
    for index, digit in enumerate(seen.digits):
        if digit.step > abs(stride):
            continue
        ratio, rest = divmod(abs(stride), digit.step)
        if rest or digit.axis is None or index in seen.beyond_index:
            return None
        weight = ratio * digit.weight
        fits = [
            d
            for i, d in enumerate(other.digits)
            if d.axis == digit.axis
            and i not in other.beyond_index
            and d.weight <= weight < d.weight * d.slots
            and weight % d.weight == 0
        ]
        if not fits:
            return None
        best = max(fits, key=lambda d: d.weight)
        return best.step * (weight // best.weight) * (1 if stride > 0 else -1)
    return None


def _base(command: Command, side: str, source: Layout, dest: Layout) -> Iterator[tuple[NumberChange, Command]]:
    """The base that one side asks for, given the element at the other side's base, where it is another one."""
    port, text = (command.write, command.write_text) if side == "write" else (command.read, command.read_text)
    local = base_asked(command, source, dest, side)
    if local is not None and local != port.base:
        change = NumberChange(f"the {side} base", text.base_span if text else None, port.base, local)
        yield change, _with_base(command, side, replace(port, base=local))


def base_asked(command: Command, source: Layout, dest: Layout, side: str) -> int | None:
    """The base of a side that the other side's base asks for; None where that is no element, or lies elsewhere."""
    own, seen, own_layout, seen_layout = (
        (command.write, command.read, dest, source) if side == "write" else (command.read, command.write, source, dest)
    )
    values = seen_layout.values_at(global_address(seen, seen.base))
    if values is None:
        return None
    known = {d.axis for d in own_layout.digits}
    address = base_at(own_layout, {a: v for a, v in seen_layout.coordinates(values).items() if a in known})
    local = address - global_address(own, 0)
    placed = any(name in SPAN for _, name, _ in own_layout.beyond)
    return local if 0 <= local < LOCAL_LIMIT or not placed else None


def _with_stride(command: Command, number: int, side: str, stride: int) -> Command:
    loops = list(command.loops)
    old = loops[number]
    loops[number] = replace(old, read=stride) if side == "read" else replace(old, write=stride)
    return replace(command, loops=tuple(loops))


def _with_base(command: Command, side: str, port: Port) -> Command:
    return replace(command, read=port) if side == "read" else replace(command, write=port)


def _swapped(commands: Sequence[Command], index: int, new: Command) -> tuple[Command, ...]:
    return (*commands[:index], new, *commands[index + 1 :])


def _number_span(command: Command, side: str, loop: Loop) -> Span | None:
    text = command.write_text if side == "write" else command.read_text
    have = loop.write if side == "write" else loop.read
    for entry in text.entries if text else ():
        if entry.stride == have and (entry.label == loop.label or entry.label in loop.label.split("|")):
            return entry.stride_span or entry.span
    return loop.write_span if side == "write" else loop.read_span
