"""Moves of machines that have no profiles: what one iteration takes, and all of them in the mean.

Knows: views in loops, which model a machine has. Does not know: how a model counts, programs.
Law: an iteration is priced at its own addresses, once for all that lie alike to the model.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.cost.prices import period_of, price_of
from dmaverify.cost.turns import Shift, mean_price
from dmaverify.jobs.kernel_prices import parameters_of
from dmaverify.jobs.plan_copies import goes_by_copies, priced_copies
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.prove.move.views import turns_in_units
from dmaverify.targets.target import Target
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """Cycles of the first iteration, of all in the mean, and by which figures."""

    first: float
    mean: float
    of: str


def own_price(transfer: Transfer, target: Target, commands: Sequence[Command]) -> OwnPrice:
    """The price of a move in a program. Raises InputError where the machine has none."""
    if goes_by_copies(transfer, target):
        copies = priced_copies(transfer, commands, target)
        each = copies["cycles"] / copies.get("iterations", 1)
        return OwnPrice(each, each, parameters_of(target))
    first, views = price_of(transfer, target, commands), transfer.views
    if views is None or views.count == 1 or not commands:
        return OwnPrice(first.cycles, first.cycles, first.profile)

    def price(shift: Shift) -> float:
        moved = [one.moved_to(one.read.base + shift[0], one.write.base + shift[1]) for one in commands]
        return price_of(transfer, target, moved).cycles

    bits, period = commands[0].unit_bits, period_of(transfer, target)
    turns = turns_in_units(views, target, bits)
    mean = mean_price(turns, price, None if period is None else period * 8 // bits)
    return OwnPrice(first.cycles, mean, first.profile)
