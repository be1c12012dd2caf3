"""Members in orders of their loops: each priced, the best kept, until a choice meets its floor or the budget ends.

Knows: choices with their floors, the cost model as a function, the rules as a function, the budget of a search.
Does not know: packets, shares, where choices come from (`search`).
Law: a member's price is its closed form, but never less than a floor that holds for it; a choice that leaves the list
was priced in all orders, or its floor is at least the winner's price.

Source: docs/design.md.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import permutations
from math import factorial

from dmaverify.cost.constants import CostData
from dmaverify.cost.model import cost
from dmaverify.synth.atoms import Atom
from dmaverify.synth.bound import Shapes, priced_floor
from dmaverify.synth.legal import Law
from dmaverify.synth.members import NEAR, Choice, Member, SearchFound, SearchLimits
from dmaverify.synth.orders import arranged, fits, neighbours, preferred
from dmaverify.synth.space import SynthMachine, command

HAIR = 1e-6
"""Cycles, less than a tick: what rounding may make of equal sums."""


class OrderSearch:
    """The part of a search that prices: the members found so far, the budget, orders of loops."""

    weight = 1  # of a command in the budget

    def __init__(self, machine: SynthMachine, data: CostData, law: Law, limits: SearchLimits) -> None:
        self.machine, self.data, self.law, self.limits = machine, data, law, limits
        self.shapes = Shapes(data)
        self.found = SearchFound()
        self.started = time.monotonic()

    def _best(self) -> float:
        found = self.found.winners
        return min(found[0].cycles, self.limits.above) - HAIR if found else self.limits.above

    def _over(self) -> bool:
        spent = self.weight * (self.found.evaluations + self.shapes.asked)
        if self.limits.seconds is not None and time.monotonic() - self.started > self.limits.seconds:
            self.found.late = True
        return spent >= self.limits.evaluations or self.found.late

    def _try(self, choice: Choice) -> None:
        """Prices the preferred orders of a choice until one meets its floor."""
        if self.limits.prefix:
            self.found.loops |= {loop.label for item in choice.items for loop in item.loops}
        for order in preferred(choice.items, self.machine, self.limits.prefix):
            self._price(choice, order)
            if self._best() <= choice.floor or self._over():
                break

    def _price(self, choice: Choice, order: Sequence[Atom]) -> Member | None:
        """The member with this order of loops, if it is legal; kept if it is among the best."""
        commands = tuple(command(item, arranged(item, order), self.machine) for item in choice.items)
        if not self.law.allows(commands):
            return None
        self.found.evaluations += len(commands)
        price = cost(commands, self.data)
        choice.floor = max(choice.floor, priced_floor(price, self.data))
        cycles = max(price.cycles, choice.floor)
        packets = tuple(item.packet for item in choice.items)
        member = Member(commands, cycles, price, choice.layering, tuple(order), packets)
        if choice.best is None or cycles < choice.best[0]:
            choice.best = cycles, tuple(order)
        self._keep(member)
        return member

    def _keep(self, member: Member) -> None:
        """Among the winners if nothing is cheaper; else among the few next ones, one of each price."""
        found = self.found
        if any(old.commands == member.commands for old in (*found.winners, *found.near)):
            return
        ranked = sorted([*found.winners, *found.near, member], key=lambda m: m.rank)
        found.winners = [m for m in ranked if m.cycles <= ranked[0].cycles + HAIR]
        dearer = {round(m.cycles, 3): m for m in reversed(ranked[len(found.winners) :])}
        found.near = sorted(dearer.values(), key=lambda m: m.rank)[:NEAR]

    def _exhaust(self, waiting: list[Choice]) -> None:
        """Every order of every choice that may still win, the least floor first; where they are too many, single
        loops are moved as long as that helps, and the choice stays open.
        """
        for choice in sorted(waiting, key=lambda c: c.floor):
            if choice.floor >= self._best():
                waiting.remove(choice)
                continue
            longest = max(choice.items, key=lambda item: len(item.loops))
            left = self.limits.evaluations // self.weight - self.found.evaluations - self.shapes.asked
            if self._over():
                return
            if factorial(len(longest.loops)) * len(choice.items) > left:
                self._climb(choice)
                continue
            for order in permutations(longest.loops):
                if fits(order, self.limits.prefix):
                    self._price(choice, order)
                if self._best() <= choice.floor:
                    break
            waiting.remove(choice)

    def _climb(self, choice: Choice) -> None:
        """Moves one loop at a time to where the choice is cheaper."""
        better = True
        while better and choice.best is not None and not self._over():
            before, order = choice.best
            better = False
            for other in neighbours(order):
                if self._over() or self._best() <= choice.floor:
                    return
                if fits(other, self.limits.prefix):
                    self._price(choice, other)
                if choice.best[0] < before:
                    better = True
                    break
