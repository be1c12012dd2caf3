"""Which single number would make a printed program right: proposals, each proved before it is said.

Knows: strides that one side's layout asks for, given what the other side walks; bases; the numbers of a derived
program.
Does not know: how a proposal is shown.
Law: a proposal changes one number of one command; it is returned only if the changed program keeps every core
obligation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dmaverify.errors import Span
from dmaverify.layout.addresses import Layout
from dmaverify.lower.stream_places import base_at
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.space import LOCAL_LIMIT, SPAN, global_address
from dmaverify.values import dataclass, replace

MOST_TRIALS = 24


@dataclass(frozen=True, slots=True)
class Repair:
    """`what` with its printed and its right number."""

    what: str
    span: Span | None
    printed: int
    right: int
    commands: tuple[Command, ...]

    @property
    def text(self) -> str:
        return f"set {self.what} to {self.right} instead of {self.printed} (checked: the move is then proved)"


def repairs(
    commands: Sequence[Command], source: Layout, dest: Layout, holds: Callable[[Sequence[Command]], bool]
) -> list[Repair]:
    """Proved proposals, best first; at most two, since a third says nothing more."""
    found: list[Repair] = []
    for trial, proposal in enumerate(_proposals(commands, source, dest)):
        if trial >= MOST_TRIALS or len(found) == 2:
            break
        if holds(proposal.commands):
            found.append(proposal)
    return found


def _proposals(commands: Sequence[Command], source: Layout, dest: Layout) -> Iterator[Repair]:
    for index, command in enumerate(commands):
        for number, loop in enumerate(command.loops):
            name = f" of `{loop.label}`" if loop.label else f" of loop {number}"
            for side, stride, layouts in (
                ("write", loop.read, (source, dest)),
                ("read", loop.write, (dest, source)),
            ):
                wanted = translated(stride, *layouts)
                have = loop.write if side == "write" else loop.read
                if wanted is not None and wanted != have:
                    span = _number_span(command, side, loop)
                    changed = _with_stride(command, number, side, wanted)
                    yield Repair(f"the {side} stride{name}", span, have, wanted, _swapped(commands, index, changed))
        yield from _bases(commands, index, source, dest)


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


def _bases(commands: Sequence[Command], index: int, source: Layout, dest: Layout) -> Iterator[Repair]:
    """The base that one side asks for, given the element at the other side's base."""
    command = commands[index]
    for side, port in (("write", command.write), ("read", command.read)):
        local = base_asked(command, source, dest, side)
        text = command.write_text if side == "write" else command.read_text
        if local is not None and local != port.base:
            changed = _with_base(command, side, replace(port, base=local))
            span = text.base_span if text else None
            yield Repair(f"the {side} base", span, port.base, local, _swapped(commands, index, changed))


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
