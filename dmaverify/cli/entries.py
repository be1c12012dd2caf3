"""What entries of `cost` have in common: what was asked for, an entry with its price, its loops, its rows.

Knows: views of transfers as loops of commands, gathers and scatters as rows.
Does not know: how anything is priced or shown.
Law: nothing is guessed: where a plan does not say how rows move, the reason is given instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from dmaverify.cost.constants import CostData
    from dmaverify.cost.gathers import RowMoves
    from dmaverify.cost.turns import Turns
    from dmaverify.plan.plan import Plan
    from dmaverify.program.command import Command
    from dmaverify.program.indirect import Indirect
    from dmaverify.program.move import Transfer
    from dmaverify.targets.target import Target


@dataclass(frozen=True)
class Chosen:
    """What was asked for beside the price."""

    profile: str = "book"
    simulate: bool = False
    explain: bool = False
    formula: bool = False
    readings: Mapping[str, str] = field(default_factory=dict)

    def of(self, machine: Target) -> CostData:
        """The constants of a machine that this asks for. Raises InputError where the profile does not exist."""
        from dmaverify.cost.prices import data_of

        return data_of(machine, self.profile, self.readings)


@dataclass(frozen=True)
class Priced:
    """One entry: its text and its JSON; `errors` where its input makes no price."""

    text: str
    data: Mapping[str, Any]
    errors: tuple[InputError, ...] = ()


def all_turns(transfer: Transfer, machine: Target, commands: Sequence[Command], data: CostData) -> Turns | None:
    """What all iterations of the loops around a transfer's views cost; None where there are none."""
    from dmaverify.cost.prices import has_profiles, turns_of

    return turns_of(transfer, machine, commands, data) if transfer.iterations > 1 and has_profiles(machine) else None


def rows_of_indirect(plan: Plan, item: Indirect) -> RowMoves | str:
    """The rows of a gather or scatter as commands, or why there are none."""
    from dmaverify.cost.gathers import RowMoves
    from dmaverify.cost.prices import has_profiles
    from dmaverify.prove.move.indirect_case import IndirectCase
    from dmaverify.prove.options import Options

    target = plan.targets[item.target]
    if not has_profiles(target):
        return f"{target.name} has no model of it"
    case = IndirectCase(item, target=target, options=Options(), axes=plan.axes)
    row = case.row() if case.shaped() else None
    if row is None:
        return case.findings[0].message
    commands, shifts = case.commands(row), case.shifts()
    if not commands:
        return "nothing says how a row moves; give it a stream or configurations"
    size = -(-item.index.entries * target.dtypes[item.index.dtype] // 8)
    own = item.stream
    engines = 1 if own is None else own.chip.size * own.cluster.size * own.slice.size
    if shifts is not None:
        return RowMoves(commands, tuple(shifts[0]), tuple(shifts[1]), len(shifts[0]), size, engines)
    keyed = tuple(case.keyed_shifts())
    reads, writes = (keyed, None) if item.scatter else (None, keyed)
    return RowMoves(commands, reads, writes, len(keyed), size, engines)
