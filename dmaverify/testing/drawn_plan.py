"""A plan that was drawn: a transfer with its axes, and what was broken in it.

Knows: its commands and its text. Does not know: how it is drawn, what a fault is.
Law: reading its text gives the transfer back.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.lower.plan_text import plan_head, transfer_lines
from dmaverify.lower.programs import given_program, space_of
from dmaverify.program.command import Command, Sequencer
from dmaverify.program.move import Transfer
from dmaverify.program.space import Space
from dmaverify.targets.target import Target
from dmaverify.testing.draw import machine_of
from dmaverify.values import dataclass, field, replace


@dataclass(frozen=True)
class DrawnPlan:
    """A transfer with the axes it is about. `fault` names what `with_fault` broke ("" for nothing), `broke` says
    where.
    """

    axes: Mapping[str, int]
    transfer: Transfer
    fault: str = ""
    broke: str = ""
    seed: str = field(default="", compare=False)

    def commands(self, target: Target) -> tuple[Command, ...] | None:
        """The printed commands, paired; None where two sides make no command."""
        bits = target.dtypes[self.transfer.dtype]
        found = given_program(self.transfer.given, self.transfer.source, self.transfer.dest, bits, target)
        return None if isinstance(found, list) else found

    def spaces(self, target: Target) -> tuple[Space, Space]:
        return space_of(target, self.transfer.source.tier), space_of(target, self.transfer.dest.tier)

    def text(self, target: Target | str) -> str:
        """The plan as the text of a plan file. Raises InputError."""
        target = machine_of(target)
        fault = [f"# {self.fault}: {self.broke}"] if self.fault else []
        unit = "elements" if target.dtypes[self.transfer.dtype] == 4 else "bytes"
        given = tuple(replace(one, read=_bare(one.read), write=_bare(one.write)) for one in self.transfer.given)
        tables = transfer_lines(self.transfer, given, {}, 8, unit)
        return "\n".join([*fault, *plan_head([self.transfer], self.axes), *tables]) + "\n"


def _bare(text: Sequencer) -> Sequencer:
    """Without labels, which say nothing that the numbers do not."""
    return replace(text, entries=tuple(replace(entry, label="") for entry in text.entries))
