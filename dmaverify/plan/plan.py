"""A plan that was read: its entries with what only the file knows, and how some of them are selected.

Knows: what a plan holds. Does not know: how it is written or read, whether it is right.
Law: values are frozen; a selection leaves every entry as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, InputErrors, Source, Span, did_you_mean
from dmaverify.language.expr import Expr
from dmaverify.program.access import Access, PlanProblem
from dmaverify.program.command import GivenCommand
from dmaverify.program.move import Transfer
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, replace

if TYPE_CHECKING:
    from dmaverify.plan.kernels import PlanKernel
    from dmaverify.program.indirect import Indirect
    from dmaverify.program.regions import Region
    from dmaverify.program.schedule import Program
    from dmaverify.prove.sizes.facts import Template


@dataclass(frozen=True, slots=True)
class PlanTransfer:
    """A transfer with what only the file knows. `key_spans` maps dotted keys (`dest.slice`) to the places of values."""

    transfer: Transfer
    key_spans: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)
    problems: tuple[PlanProblem, ...] = ()
    line: int = 0

    @property
    def name(self) -> str:
        return self.transfer.name

    @property
    def given(self) -> tuple[GivenCommand, ...]:
        return self.transfer.given


@dataclass(frozen=True, slots=True)
class Unread:
    """A transfer or access that cannot be read, and why."""

    name: str
    errors: tuple[InputError, ...]
    line: int


@dataclass(frozen=True)
class Plan:
    """A plan file. `targets` holds the loaded target of every name that a transfer or access has as its `target`.

    `problems` are axes of size 0, used or not; where a mapping uses one, `wellformed` (given `axes`) finds it too.
    """

    path: str
    source: Source
    name: str
    axes: Mapping[str, int]
    lets: Mapping[str, Expr]
    targets: Mapping[str, Target]
    transfers: tuple[PlanTransfer, ...]
    accesses: tuple[Access, ...]
    problems: tuple[PlanProblem, ...] = ()
    programs: tuple[Program, ...] = ()
    regions: tuple[Region, ...] = ()
    kernels: tuple[PlanKernel, ...] = ()
    indirects: tuple[Indirect, ...] = ()
    templates: tuple[Template, ...] = ()  # of a plan with symbols: its entries but kernels, which are nowhere else
    unread: tuple[Unread, ...] = ()  # what cannot be read, where the rest was asked for all the same

    @property
    def is_kernel(self) -> bool:
        """Whether the transfers were found in kernel source (`machines.rngd.rust`), not written as a plan."""
        return False

    @property
    def move_names(self) -> tuple[str, ...]:
        """Names of transfers, gathers and scatters."""
        return (*(one.name for one in self.transfers), *(one.name for one in self.indirects))

    @property
    def entries(self) -> tuple[Any, ...]:
        """Transfers, accesses, gathers and scatters, programs, kernels, each kind in the order of the file; of a plan
        with symbols its kernels and templates.
        """
        return (
            *self.transfers, *self.accesses, *self.indirects, *self.programs, *self.kernels, *self.templates,
        )  # fmt: skip

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all entries, and of those that cannot be read."""
        return tuple(one.name for one in (*self.entries, *self.unread))

    def under(self, readings: Mapping[str, str]) -> Plan:
        """The plan with its machines under these readings. Raises InputError for a reading that a machine has not."""
        for machine in self.targets.values():
            machine.check_readings(readings)
        return replace(self, targets={name: one.under(readings) for name, one in self.targets.items()})


def select(plan: Plan, name: str | None) -> Plan:
    """The plan with only the transfer, access or program of that name, all for None. Raises InputError for another."""
    if name is None:
        return plan
    if name not in plan.names:
        hint = did_you_mean(name, plan.names) or f"it has {', '.join(plan.names)}"
        raise InputError(f"{plan.path} has no transfer, access or program `{name}`", None, hint)
    return replace(
        plan,
        transfers=tuple(transfer for transfer in plan.transfers if transfer.name == name),
        accesses=tuple(access for access in plan.accesses if access.name == name),
        programs=tuple(program for program in plan.programs if program.name == name),
        kernels=tuple(kernel for kernel in plan.kernels if kernel.name == name),
        indirects=tuple(one for one in plan.indirects if one.name == name),
        templates=tuple(one for one in plan.templates if one.name == name),
        unread=tuple(one for one in plan.unread if one.name == name),
    )


def all_read(plan: Plan) -> Plan:
    """The plan, if all of it was read. Raises InputErrors for the rest."""
    if plan.unread:
        raise InputErrors([error for one in plan.unread for error in one.errors])
    return plan


def has_numbers(plan: Plan) -> Plan:
    """The plan, if it has numbers and no symbols. Raises InputError for another."""
    if plan.templates:
        names = ", ".join(one.name for one in plan.templates[0].symbols)
        hint = "`check` and `conditions` judge all sizes; for all else write numbers in their place"
        raise InputError(f"{plan.path} has symbols ({names})", plan.templates[0].symbols[0].span, hint)
    return plan
