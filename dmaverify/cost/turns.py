"""Commands in loops: what all iterations cost, each with its own addresses.

Knows: how far an iteration moves the bases of both sides. Does not know: views, plans; what iterations that overlap
would save.
Law: up to `EACH` iterations are priced one by one. Of more, `EACH` are drawn, the same for loops written in another
order, and the sum is an estimate: those that begin at the same byte of a window on both sides are a kind, how many
there are of each is counted, and each kind has the mean of those drawn. They ask for as many windows, but in channels
and banks that are exclusive-ors of address bits, so that none stands for another. The iterations follow each other,
each with its start-up. Of a machine whose price repeats with addresses (`mean_price`) each kind is priced once, and the
mean is exact; only where there are more kinds than that are some drawn.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import gcd, prod

from dmaverify.cost.constants import CostData, stated
from dmaverify.cost.model import cost
from dmaverify.program.command import Command
from dmaverify.values import dataclass

EACH = 128
"""Iterations that are priced."""
MOST_KINDS = 1024
"""Kinds of iterations that are priced one by one where a kind has one price."""
Shift = tuple[int, int]
Turn = tuple[int, int, int]
"""How often a loop turns, and what each turn adds to the read and write address, in units."""


@dataclass(frozen=True, slots=True)
class Turns:
    """All iterations: how many, their cycles one after the other, how many were priced, and their different prices."""

    iterations: int
    cycles: float
    priced: int
    kinds: int

    @property
    def exact(self) -> bool:
        return self.priced == self.iterations


def turns_cost(commands: Sequence[Command], turns: Sequence[Turn], profile: CostData | str = "book") -> Turns:
    """The cost of the commands in their loops. Raises InputError for an unknown profile."""
    data = stated(profile)
    many = prod(count for count, _, _ in turns)

    def price(shift: Shift) -> float:
        return cost([c.moved_to(c.read.base + shift[0], c.write.base + shift[1]) for c in commands], data).cycles

    if many <= EACH:
        prices = [price(shift) for shift in _every(turns)]
        return Turns(many, sum(sorted(prices)), many, len(set(prices)))
    step, kinds = _kinds(turns, data.hbm.window * 8 // (commands[0].unit_bits if commands else 8))
    found: dict[Shift, list[float]] = {key: [] for key in kinds}
    for shift in dict.fromkeys(_drawn(turns)):
        found[shift[0] % step, shift[1] % step].append(price(shift))
    for key, own in found.items():
        own += [] if own else [price(kinds[key][0])]
    total = sum(kinds[key][1] * sum(own) / len(own) for key, own in sorted(found.items()))
    return Turns(many, total, sum(map(len, found.values())), len({one for own in found.values() for one in own}))


def mean_price(turns: Sequence[Turn], price: Callable[[Shift], float], period: int | None) -> float:
    """What an iteration takes in the mean, where its price repeats each `period` units of an address on either side;
    of None, and of too many kinds, the mean of some drawn.
    """
    kinds = kinds_of(turns, period, MOST_KINDS) if period is not None else None
    many = prod(count for count, _, _ in turns)
    if kinds is not None:
        return sum(seen * price(shift) for shift, seen in kinds.values()) / many
    some = list(_every(turns)) if many <= MOST_KINDS else list(dict.fromkeys(_drawn(turns)))
    return sum(map(price, some)) / len(some)


Kinds = dict[Shift, tuple[Shift, int]]
"""An iteration and how many there are, by what a shift is modulo a distance."""


def kinds_of(turns: Sequence[Turn], step: int, most: int) -> Kinds | None:
    """The kinds of iterations by their shifts modulo `step`; None where there are more than `most`."""
    found: Kinds = {(0, 0): ((0, 0), 1)}
    for turn in turns:
        found = _turned(found, turn, step)
        if len(found) > most:
            return None
    return found


def _kinds(turns: Sequence[Turn], window: int) -> tuple[int, Kinds]:
    """What a shift is taken modulo, and the kinds: by the byte of a window, of half a window, ... where there would be
    more than `EACH`.
    """
    step = window
    while (found := kinds_of(turns, step, EACH)) is None:
        step = max(1, step // 2)
    return step, found


def _turned(before: Mapping[Shift, tuple[Shift, int]], turn: Turn, step: int) -> Kinds:
    """Every kind after a loop, an iteration of it, and how many."""
    count, read, write = turn
    period = min(count, step // gcd(step, read, write))
    out: Kinds = {}
    for (one, other), seen in before.values():
        for index in range(period):
            place = one + index * read, other + index * write
            first, sofar = out.get((place[0] % step, place[1] % step), (place, 0))
            share = count // period + (index < count % period)
            out[place[0] % step, place[1] % step] = first, sofar + seen * share
    return out


def _every(turns: Sequence[Turn]) -> Iterator[Shift]:
    for at in product(*(range(count) for count, _, _ in turns)):
        yield _shift(turns, at)


def _drawn(turns: Sequence[Turn]) -> Iterator[Shift]:
    """Iterations drawn loop by loop, each with a seed of its own: what it does, and how many are alike before it."""
    seen: Counter[Turn] = Counter()
    draws = []
    for turn in turns:
        draws.append(random.Random(f"{turn}, {seen[turn]}"))
        seen[turn] += 1
    for _ in range(EACH):
        yield _shift(turns, [draw.randrange(count) for draw, (count, _, _) in zip(draws, turns, strict=True)])


def _shift(turns: Sequence[Turn], at: Sequence[int]) -> Shift:
    pairs = list(zip(at, turns, strict=True))
    return sum(n * read for n, (_, read, _) in pairs), sum(n * write for n, (_, _, write) in pairs)
