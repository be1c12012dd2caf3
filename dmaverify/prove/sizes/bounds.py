"""Bounds of polynomials over boxes of sizes, and the sizes of a box with a given product.

Knows: intervals of symbols, facts. Does not know: templates, regions, the search.
Law: a bound is never better than the truth; `surely` says yes only of what holds on the whole box.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from dmaverify.language.numbers import Mono, Poly, without
from dmaverify.prove.sizes.facts import SizeFact, SizeSymbol

Ends = dict[str, tuple[int, int | None]]


def end_of_product(mono: Mono, box: Mapping[str, tuple[int, int | None]], side: int) -> int | None:
    """The least or greatest value of a product of numbers that are not negative; None: no bound."""
    out = 1
    unbounded = False
    for name in mono:
        end = box[name][side]
        if end is None:
            unbounded = True
        else:
            out *= end
    return 0 if out == 0 and not unbounded else None if unbounded else out


def least_of(poly: Poly, box: Ends) -> int | None:
    """A lower bound over the box; None where there is none, or a symbol has no range. Where products grow and others
    shrink, the box is moved to its low corner first.
    """
    if not poly.symbols <= box.keys():
        return None
    total, rising, falling = 0, False, False
    for mono, c in poly.terms.items():
        if not mono:
            total += c
            continue
        rising, falling = rising or c > 0, falling or c < 0
        end = end_of_product(mono, box, 0 if c > 0 else 1)
        if any(box[n][0] < 0 for n in mono) or end is None:
            rising = falling = True
            break
        total += c * end
    if not (rising and falling):
        return total
    moved = poly.put({n: Poly.symbol(n) + Poly.of(box[n][0]) for n in poly.symbols if box[n][0]})
    wide: Ends = {n: (0, None if box[n][1] is None else box[n][1] - box[n][0]) for n in poly.symbols}  # type: ignore[operator]
    total = 0
    for mono, c in moved.terms.items():
        if not mono:
            total += c
        elif c < 0:
            top = end_of_product(mono, wide, 1)
            if top is None:
                return None
            total += c * top
    return total


def surely(fact: SizeFact, box: Ends, given: Sequence[Poly], depth: int = 3) -> bool:
    """Whether a comparison holds on the whole box, where all of `given` are not negative."""
    if fact.known is not None:
        return fact.known
    if fact.op == "ge":
        return _not_negative(fact.poly, box, given, depth)
    if fact.op == "eq":
        return all(_not_negative(p, box, given, depth) for p in (fact.poly, -fact.poly))
    if fact.op == "ne":
        one = Poly.of(1)
        return any(_not_negative(p - one, box, given, depth) for p in (fact.poly, -fact.poly))
    by = fact.by.constant if fact.by is not None else None
    return fact.op == "div" and by is not None and _divides_box(fact.poly, by, box)


def _divides_box(poly: Poly, by: int, box: Ends) -> bool:
    """Divisibility on a box of single values."""
    if any(box[n][0] != box[n][1] for n in poly.symbols):
        return False
    return poly.at({n: box[n][0] for n in poly.symbols}) % by == 0


def _not_negative(poly: Poly, box: Ends, given: Sequence[Poly], depth: int) -> bool:
    bound = least_of(poly, box)
    if bound is not None and bound >= 0:
        return True
    if depth == 0 or not given:
        return False
    for other in given:
        for rest in _rests(poly, other, box):
            if _not_negative(rest, box, given, depth - 1):
                return True
    return False


def _rests(poly: Poly, other: Poly, box: Ends) -> Iterable[Poly]:
    """`k * poly - other * m` for the multiples of `other` that cancel a negative product of `poly`, where `m` is not
    negative: quotients may be.
    """
    seen = set()
    for mono, c in poly.terms.items():
        if c >= 0 or not mono:
            continue
        for low, k in other.terms.items():
            if k >= 0 or not low:
                continue
            more = without(mono, low)
            if more is None or any(box[name][0] < 0 for name in more):
                continue
            ratio = Fraction(c, k)
            rest = poly.scaled(ratio.denominator) - Poly({more: ratio.numerator}) * other
            if rest not in seen:
                seen.add(rest)
                yield rest


def with_product(number: int, symbols: Sequence[SizeSymbol]) -> Iterable[dict[str, int]]:
    """All values of the symbols, in their ranges, with this product, in the order of declaration."""
    one, *rest = symbols
    if not rest:
        if number >= one.first and (one.last is None or number <= one.last) and number % one.multiple == 0:
            yield {one.name: number}
        return
    for value in _divisors(number):
        if value % one.multiple == 0 and one.first <= value and (one.last is None or value <= one.last):
            for others in with_product(number // value, rest):
                yield {one.name: value, **others}


@lru_cache(maxsize=512)
def _divisors(number: int) -> tuple[int, ...]:
    out, left, prime = [1], number, 2
    while prime * prime <= left:
        powers, power = [], 1
        while left % prime == 0:
            left, power = left // prime, power * prime
            powers.append(power)
        out += [value * power for value in out for power in powers]
        prime += 1 if prime == 2 else 2
    if left > 1:
        out += [value * left for value in out]
    return tuple(sorted(out))
