"""Commands in loops: what all iterations cost, each with its own addresses.

Knows: how far an iteration moves the bases of both sides. Does not know: views, prices; what iterations that overlap
would save.
Law: where a price repeats with addresses each kind of iteration is priced once, and the sum is exact. Else up to `EACH`
iterations are priced one by one. Of more, `EACH` are drawn, the same for loops written in another
order, and the sum is an estimate: those that begin at the same byte of a window on both sides are a kind, how many
there are of each is counted, and each kind has the mean of those drawn. They ask for as many windows, but in channels
and banks that are exclusive-ors of address bits, so that none stands for another. The iterations follow each other,
each with its start-up.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import gcd, prod

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
    """All iterations: how many, their cycles one after the other, of how many that is the price, and how many prices
    differ.
    """

    iterations: int
    cycles: float
    priced: int
    kinds: int

    @property
    def exact(self) -> bool:
        return self.priced == self.iterations


def turns_cost(
    turns: Sequence[Turn], price: Callable[[Shift], float], period: int | None = None, window: int = 1, most: int = EACH
) -> Turns:
    """What all iterations cost, by the price of one that is moved. `period`: units of an address on either side after
    which prices repeat (None: never); `window`: units by which those that are drawn are kinds; up to `most` are priced
    one by one.
    """
    many = prod(count for count, _, _ in turns)
    if period is not None and (known := kinds_of(turns, period, MOST_KINDS)) is not None:
        each = [(price(shift), seen) for shift, seen in known.values()]
        return Turns(many, sum(cycles * seen for cycles, seen in each), many, len({cycles for cycles, _ in each}))
    if many <= most:
        prices = [price(shift) for shift in _every(turns)]
        return Turns(many, sum(sorted(prices)), many, len(set(prices)))
    step, kinds = _kinds(turns, window)
    found: dict[Shift, list[float]] = {key: [] for key in kinds}
    for shift in dict.fromkeys(_drawn(turns)):
        found[shift[0] % step, shift[1] % step].append(price(shift))
    for key, own in found.items():
        own += [] if own else [price(kinds[key][0])]
    total = sum(kinds[key][1] * sum(own) / len(own) for key, own in sorted(found.items()))
    return Turns(many, total, sum(map(len, found.values())), len({one for own in found.values() for one in own}))


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
