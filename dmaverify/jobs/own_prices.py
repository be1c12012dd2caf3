"""Moves of machines that have no profiles: what one iteration takes, and all of them in the mean.

Knows: views in loops, which model a machine has. Does not know: how a model counts, programs.
Law: iterations that begin elsewhere are priced as what they are; of many, evenly spread ones stand for all.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.cost.prices import price_of
from dmaverify.jobs.kernel_prices import PARAMETERS
from dmaverify.jobs.plan_copies import goes_by_copies, priced_copies
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.prove.move.views import moved_commands
from dmaverify.targets.target import Target
from dmaverify.values import dataclass

MOST_ITERATIONS = 64


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
        return OwnPrice(each, each, PARAMETERS)
    first, views = price_of(transfer, target, commands), transfer.views
    if views is None or views.count == 1:
        return OwnPrice(first.cycles, first.cycles, first.profile)
    counts = [turn.count for turn in views.turns]
    chosen = sorted({number * views.count // MOST_ITERATIONS for number in range(MOST_ITERATIONS)})
    prices = [
        price_of(transfer, target, moved_commands(commands, views, _counters(number, counts), target)).cycles
        for number in chosen
    ]
    return OwnPrice(first.cycles, sum(prices) / len(prices), first.profile)


def _counters(number: int, counts: Sequence[int]) -> tuple[int, ...]:
    """The counters of the iteration of that number, the last one fastest."""
    found = []
    for count in reversed(counts):
        number, own = divmod(number, count)
        found.append(own)
    return tuple(reversed(found))
