"""What pictures are drawn of: a transfer with its commands and its counterexample, a program with its lifetimes.

Knows: plans, verdicts, the spaces of machines. Does not know: how anything is drawn, files.
Law: the counterexample that is marked is the verdict's own; a lifetime begins at the step that writes and ends at the
last step that reads bytes of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.lower.programs import space_of
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.report.lifetimes import Life
from dmaverify.report.memory import Picture, counterexample_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dmaverify.plan.plan import Plan
    from dmaverify.program.command import Command
    from dmaverify.program.move import Transfer
    from dmaverify.program.schedule import Program
    from dmaverify.program.tensor import Tensor
    from dmaverify.verdict import Verdict


def picture_of(plan: Plan, transfer: Transfer, commands: Sequence[Command], verdict: Verdict | None = None) -> Picture:
    """A transfer as it is drawn; with the counterexample of a verdict that has one."""
    machine = plan.targets[transfer.target]
    spaces = space_of(machine, transfer.source.tier), space_of(machine, transfer.dest.tier)
    wrong = asked = None
    for finding in verdict.errors if verdict is not None else ():
        wrong = counterexample_places(finding.witness)
        if wrong is not None:
            bits = machine.dtypes[transfer.dtype]
            asked = _asked(str((finding.witness or {}).get("asked") or ""), spaces[1], unit_bits_of(bits))
            break
    tensors = transfer.source, transfer.dest
    return Picture(tensors, spaces, machine.dtypes[transfer.dtype], tuple(commands), wrong, asked)


_PLACE = re.compile(r"(?:slice (\d+) \+ )?(\d+)")


def _asked(said: str, space: Space, unit: int) -> int | None:
    """The address at which the layout asks for the element, of the words of a witness; None for other words."""
    found = _PLACE.fullmatch(said)
    if found is None:
        return None
    return (int(found[1]) * space.stride("slice", unit) if found[1] else 0) + int(found[2])


def lifetimes_of(plan: Plan, program: Program) -> tuple[list[Life], list[str], int]:
    """The tensors in memories with slices, the names of the steps, and the bytes of a slice (0 where not known)."""
    steps = [step.name for step in program.steps]
    lives: list[Life] = []
    room = 0
    for number, step in enumerate(program.steps):
        if step.transfer is None:
            continue
        machine = plan.targets[step.transfer.target]
        room = room or machine.limits.get("slice_bytes_max", 0)
        for tensor, written in ((step.transfer.dest, True), (step.transfer.source, False)):
            try:
                sliced = "slice" in space_of(machine, tensor.tier).places
            except InputError:
                sliced = False
            if not sliced:
                continue
            size = tensor.element.size * machine.dtypes[step.transfer.dtype] // 8
            _lived(lives, step.name, tensor, size, number, written)
    return lives, steps, room


def _lived(lives: list[Life], step: str, tensor: Tensor, size: int, number: int, written: bool) -> None:
    name = f"{tensor.tier} {tensor.base:,}, {step}"
    same = [at for at, life in enumerate(lives) if life.name.startswith(f"{tensor.tier} {tensor.base:,},")]
    if same and not written:
        old = lives[same[-1]]
        lives[same[-1]] = Life(old.name, max(old.size, size), old.first, number)
    else:
        lives.append(Life(name, size, number if written else 0, number))
