"""Commands in loops: what all iterations cost, each with its own addresses.

Knows: how far an iteration moves the bases of both sides, which iterations begin alike.
Does not know: views, plans; what iterations that overlap would save.
Law: few iterations (`EACH`) are priced one by one. Of more, those that begin at the same byte of a window on both sides
(of half a window, a quarter, ... where there would be more than `EACH` kinds) are one kind and priced as the first of
them: they ask for as many windows, in other channels and banks. The iterations follow each other, each with its
start-up.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.cost.constants import CostData, cost_data
from dmaverify.cost.model import cost
from dmaverify.program.command import Command
from dmaverify.values import dataclass

EACH = 64
"""Iterations that are priced one by one, and kinds that are told apart."""
Turn = tuple[int, int, int]
"""How often a loop turns, and what each turn adds to the read and write address, in units."""


@dataclass(frozen=True, slots=True)
class Turns:
    """All iterations: how many, their cycles one after the other, and how many kinds were priced."""

    iterations: int
    cycles: float
    kinds: int


def turns_cost(
    commands: Sequence[Command], turns: Sequence[Turn], target: CostData | str = "rngd", profile: str = "book"
) -> Turns:
    """The cost of the commands in their loops. Raises InputError for an unknown profile."""
    data = target if isinstance(target, CostData) else cost_data(profile)
    bits = commands[0].unit_bits if commands else 8
    kinds = _kinds(turns, data.hbm.window * 8 // bits)
    found = []
    for (read, write), count in kinds:
        moved = [c.moved_to(c.read.base + read, c.write.base + write) for c in commands]
        found.append((cost(moved, data).cycles, count))
    return Turns(sum(n for _, n in found), sum(price * n for price, n in found), len({price for price, _ in found}))


def _kinds(turns: Sequence[Turn], window: int) -> list[tuple[tuple[int, int], int]]:
    """(shift of both sides, how many iterations are as this one), every iteration by itself where there are few."""
    many = 1
    for count, _, _ in turns:
        many *= count
    step = 0 if many <= EACH else window
    while True:
        found: dict[tuple[int, int], tuple[tuple[int, int], int]] = {(0, 0): ((0, 0), 1)}
        for turn in turns:
            found = _turned(found, turn, step)
        if len(found) <= max(EACH, many if not step else 0) or step == 1:
            return list(found.values())
        step = max(1, step // 2)


def _turned(
    before: dict[tuple[int, int], tuple[tuple[int, int], int]], turn: Turn, window: int
) -> dict[tuple[int, int], tuple[tuple[int, int], int]]:
    """Every kind after a loop: where it begins within a window (0: exactly), its first shift, and how many."""
    count, read, write = turn
    period = min(count, window) if window else count
    out: dict[tuple[int, int], tuple[tuple[int, int], int]] = {}
    for (one, other), seen in before.values():
        for index in range(period):
            share = count // period + (index < count % period)
            place = one + index * read, other + index * write
            key = (place[0] % window, place[1] % window) if window else place
            first, sofar = out.get(key, (place, 0))
            out[key] = first, sofar + seen * share
    return out
