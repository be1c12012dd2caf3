"""Moves of machines that have no profiles: what one iteration takes, and all of them in the mean.

Knows: which model a machine has. Does not know: how a model counts, programs.
Law: an iteration is priced at its own addresses, once for all that lie alike to the model.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.cost.prices import price_of, turns_of
from dmaverify.jobs.kernel_prices import parameters_of
from dmaverify.jobs.plan_copies import goes_by_copies, priced_copies
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.targets.target import Target
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """Cycles of the first iteration, of all in the mean, by which figures, and whether that is a mean of some drawn."""

    first: float
    mean: float
    of: str
    drawn: bool = False


def own_price(transfer: Transfer, target: Target, commands: Sequence[Command]) -> OwnPrice:
    """The price of a move in a program. Raises InputError where the machine has none."""
    if goes_by_copies(transfer, target):
        copies = priced_copies(transfer, commands, target)
        each = copies["cycles"] / copies.get("iterations", 1)
        return OwnPrice(each, each, parameters_of(target))
    first, every = price_of(transfer, target, commands), turns_of(transfer, target, commands)
    return OwnPrice(first.cycles, every.cycles / every.iterations, first.profile, not every.exact)
