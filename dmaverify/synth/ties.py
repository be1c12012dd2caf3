"""A search that goes on once its winner stands, for plans as cheap: the simulator chooses among them.

Knows: orders and shares worth a look. Does not know: the simulator.
Law: the winner's price, the bound and what is claimed stay as the search left them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from dmaverify.synth.members import TIE_EVALUATIONS, Choice, Option
from dmaverify.synth.orders import fits, neighbours, preferred
from dmaverify.synth.priced_orders import HAIR
from dmaverify.synth.search import Search


class TiedSearch(Search):
    """A search with `limits.ties` more prices for members as cheap as the winner."""

    def more(self, options: Sequence[Option]) -> None:
        """More members as cheap as the winner, for the simulator to tell apart: other orders, other shares."""
        best, end = self.found.winners[0].cycles + HAIR, self.found.evaluations + self.limits.ties
        for mine, choice in islice(self._as_cheap(options, best), 1 + self.limits.ties // 8):
            for order in preferred(choice.items, self.machine, self.limits.prefix):
                if self.found.evaluations >= end or (self.limits.seconds is not None and self._over()):
                    return
                self._price(choice, order)
            if mine and self.limits.ties > TIE_EVALUATIONS:
                self._around(choice, end)

    def _around(self, choice: Choice, end: int) -> None:
        """Orders of the winner's share with one loop moved."""
        for order in list(neighbours(self.found.winners[0].order)):
            if self.found.evaluations >= end or (self.limits.seconds is not None and self._over()):
                return
            if fits(order, self.limits.prefix):
                self._price(choice, order)

    def _as_cheap(self, options: Sequence[Option], best: float) -> Iterator[tuple[bool, Choice]]:
        """Shares whose floors are no higher than the winner, a few of each option, and whether it is the winner's."""
        winner = self.found.winners[0]
        for option in sorted(options, key=lambda o: o.least):
            if option.floor is None or option.least > best:
                continue
            for layering, sizes in islice(self._shares(option), 1 + self.limits.ties // 8):
                items = self._nested(layering, sizes)
                if not self._legal(items):
                    continue
                mine = layering is winner.layering and tuple(i.packet for i in items) == winner.packets
                if mine or self._part_floor(items) <= best:
                    yield mine, Choice(option, layering, items, option.least)
