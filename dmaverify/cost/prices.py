"""What commands cost on their machine: by a law of its own, by the rates in its data, or by HBM, DM and their engines.

Knows: which of these a machine has. Does not know: any machine, how a law is computed.
Law: one machine has one price; a machine without one is refused, never priced by another's model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.cost.constants import LACKING, PROFILE, CostData, cost_data, profiles
from dmaverify.cost.model import Cost, cost
from dmaverify.cost.simple import price as simple_price
from dmaverify.cost.simple import simple_cost
from dmaverify.cost.turns import MOST_KINDS, Shift, Turns, turns_cost
from dmaverify.errors import InputError
from dmaverify.program.command import Command
from dmaverify.program.move import Transfer
from dmaverify.prove.move.views import turns_in_units
from dmaverify.targets.modules import part_of
from dmaverify.targets.target import Target


def has_profiles(target: Target) -> bool:
    """Whether commands are priced by HBM, DM and engines: with profiles, bands, a simulator."""
    own = part_of(target, "price") is not None or simple_cost(target) is not None
    return "hbm" in target.tiers and not own and bool(profiles(target))


def has_price(target: Target) -> bool:
    """Whether the machine states what commands cost."""
    return has_profiles(target) or part_of(target, "price") is not None or simple_cost(target) is not None


def data_of(target: Target, profile: str, readings: Mapping[str, str] | None = None) -> CostData:
    """The constants that a profile's name stands for on a machine; without profiles of its own, those of the shipped
    one, by which nothing of it is priced. Raises InputError where there is no such profile.
    """
    if profile != PROFILE and has_price(target) and not has_profiles(target):
        raise InputError(f"{target.name} has one model of cost and no profile `{profile}`", None, "leave --profile out")
    return cost_data(profile, readings, target if has_profiles(target) else None)


def price_of(transfer: Transfer, target: Target, commands: Sequence[Command], data: CostData | None = None) -> Cost:
    """The cost of a move's commands; `data` is the machine's profile where it has profiles (None: `book`). Raises
    InputError where the machine states no costs.
    """
    own = part_of(target, "price")
    if own is not None:
        found: Cost = own.price(transfer, target, commands)
        return found
    simple = simple_cost(target)
    if simple is not None:
        return simple_price(commands, simple)
    if not has_profiles(target):
        copied = target.copies_of(transfer.source.tier, transfer.dest.tier) is not None
        named = LACKING if "hbm" in target.tiers else "its data may state [cost.simple]"
        hint = "`dmaverify cost` prices its copies" if copied else named
        raise InputError(f"{target.name} has no cost model of commands", transfer.span, hint)
    return cost(commands, data or cost_data(machine=target))


def turns_of(transfer: Transfer, target: Target, commands: Sequence[Command], data: CostData | None = None) -> Turns:
    """What a move costs in all iterations of the loops around it, each at its own addresses."""
    bits = commands[0].unit_bits if commands else 8
    turns = turns_in_units(transfer.views, target, bits) if transfer.views is not None else []

    def price(shift: Shift) -> float:
        moved = [one.moved_to(one.read.base + shift[0], one.write.base + shift[1]) for one in commands]
        return price_of(transfer, target, moved, data).cycles

    if has_profiles(target):
        return turns_cost(turns, price, window=(data or cost_data(machine=target)).hbm.window * 8 // bits)
    period = period_of(transfer, target)
    return turns_cost(turns, price, None if period is None else period * 8 // bits, most=MOST_KINDS)


def period_of(transfer: Transfer, target: Target) -> int | None:
    """Bytes after which a move at another address costs the same on a machine without profiles; None where no distance
    does.
    """
    own = part_of(target, "price")
    if own is None:
        return 1  # rates look at no address
    found: int | None = own.period(transfer, target)
    return found
