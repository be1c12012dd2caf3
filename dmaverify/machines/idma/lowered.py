"""Launches of a driver as a program of a plan: a step each, in the order that waits give them.

Knows: descriptors as commands, which launches are complete before which. Does not know: C, what a program leaves.
Law: a step is its launch, byte for byte, on a queue for its channel, behind exactly those that are known to be complete
when it begins. What a launch does besides copying from address to address has no such form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dmaverify.errors import InputError
from dmaverify.language.expr import Symbol
from dmaverify.lower.plan_text import given_command, plan_head, transfer_lines
from dmaverify.machines.idma.engine import NO_ADDRESS
from dmaverify.machines.idma.order import command_of
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import ToldDescriptor
from dmaverify.program.move import Transfer
from dmaverify.program.tensor import Tensor
from dmaverify.targets.target import Target


def lowered_launches(
    name: str, told: Sequence[ToldDescriptor], setups: Sequence[Setup], numbers: Sequence[int],
    complete: Mapping[int, frozenset[int]], target: Target,
) -> str:  # fmt: skip
    """The text of a plan with the program `name` of these launches. Raises InputError for what is no copy."""
    made = [_step(n, told[n], setups[n], target) for n in numbers]
    moves = [move for move, _ in made]
    lines = plan_head(moves, {})
    for _, own in made:
        lines += own
    lines += ["", f"[program.{name}]", "step = ["]
    lines += [f"  {step}," for step in _steps(told, numbers, complete)]
    return "\n".join([*lines, "]", ""])


def _steps(
    told: Sequence[ToldDescriptor], numbers: Sequence[int], complete: Mapping[int, frozenset[int]]
) -> Iterator[str]:
    for n in numbers:
        behind = ", ".join(f'"launch-{other}"' for other in numbers if other < n and other in complete[n])
        after = f", after = [{behind}]" if behind else ""
        yield f'{{ transfer = "launch-{n}", context = "channel-{told[n].channel}"{after} }}'


def _step(number: int, told: ToldDescriptor, setup: Setup, target: Target) -> tuple[Transfer, list[str]]:
    """A launch with the lines of its tables; its tensors are no more than where its sides begin."""
    d, backend = told.descriptor, setup.backend
    if {d.request.src_protocol, d.request.dst_protocol} & NO_ADDRESS or d.request.compute or told.errors:
        raise InputError(f"launch {number} does more than to copy from address to address", told.span)
    if setup.unordered:
        raise InputError(f"launch {number} may be shared out over several back-ends", told.span)
    if d.empty or not d.request.length:
        raise InputError(f"launch {number} copies nothing", told.span)
    axis = Symbol(f"L{number}", d.request.length)
    command = command_of(d, backend.address_width)
    sides = [Tensor("mem", axis, base=port.base) for port in (command.read, command.write)]
    wide = (("address_width", backend.address_width),) if backend.address_width != 32 else ()
    move = Transfer(f"launch-{number}", target.name, "i8", sides[0], sides[1], options=wide, span=told.span)
    return move, transfer_lines(move, [given_command(command, target)], {}, 8)
