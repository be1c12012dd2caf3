"""Numbers that are sizes: polynomials over symbols, and the few questions that plain integers and they answer alike.

Knows: polynomials with integer coefficients, exact division, the operations of integers that differ on symbols.
Does not know: plans, regions of sizes, how a question about a symbol is decided (the symbolic number itself knows).
Law: arithmetic of polynomials is exact; on plain integers every function here is the integer function of that name.

A plain plan is made of Python integers and never pays for symbols: the functions below look at the type and go on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

Mono = tuple[str, ...]
"""A product of symbols, each as often as its power, sorted; the empty one is 1."""


class Poly:
    """A polynomial with integer coefficients; never changed once made."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Mono, int]) -> None:
        self.terms = dict(terms) if all(terms.values()) else {m: c for m, c in terms.items() if c}
        self._hash: int | None = None

    @staticmethod
    @lru_cache(maxsize=1 << 12)
    def of(value: int) -> Poly:
        return Poly({(): value})

    @staticmethod
    @lru_cache(maxsize=1 << 12)
    def symbol(name: str) -> Poly:
        return Poly({(name,): 1})

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    @property
    def constant(self) -> int | None:
        """The number that it is, None where it has symbols."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset(name for mono in self.terms for name in mono)

    def __add__(self, other: Poly) -> Poly:
        out = dict(self.terms)
        for mono, c in other.terms.items():
            out[mono] = out.get(mono, 0) + c
        return Poly(out)

    def __neg__(self) -> Poly:
        return Poly({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Poly) -> Poly:
        out = dict(self.terms)
        for mono, c in other.terms.items():
            out[mono] = out.get(mono, 0) - c
        return Poly(out)

    def __mul__(self, other: Poly) -> Poly:
        out: dict[Mono, int] = {}
        for a, x in self.terms.items():
            for b, y in other.terms.items():
                mono = tuple(sorted((*a, *b))) if a and b else a or b
                out[mono] = out.get(mono, 0) + x * y
        return Poly(out)

    def scaled(self, by: int) -> Poly:
        return Poly({m: c * by for m, c in self.terms.items()})

    def at(self, values: Mapping[str, int]) -> int:
        total = 0
        for mono, c in self.terms.items():
            for name in mono:
                c *= values[name]
            total += c
        return total

    def put(self, values: Mapping[str, Poly]) -> Poly:
        """Symbols replaced by polynomials."""
        if not any(name in values for name in self.symbols):
            return self
        out = Poly({})
        for mono, c in self.terms.items():
            part = Poly.of(c)
            for name in mono:
                part = part * values.get(name, Poly.symbol(name))
            out = out + part
        return out

    def content(self) -> int:
        """The greatest number that divides every coefficient."""
        return math.gcd(*self.terms.values()) if self.terms else 0

    def __repr__(self) -> str:
        return text_of(self)


def without(mono: Mono, part: Mono) -> Mono | None:
    """`mono / part`, None where that is no product."""
    rest = list(mono)
    for name in part:
        if name not in rest:
            return None
        rest.remove(name)
    return tuple(rest)


_MOST_STEPS = 64


def divided(p: Poly, by: Poly) -> tuple[Poly, Poly]:
    """(quotient, rest) with p = quotient * by + rest; the rest has no multiple of the leading term of `by`.

    Coefficients of the quotient are rounded down, so that what is left of a divisible monomial is not negative.
    """
    if not by.terms:
        raise ZeroDivisionError
    lead = max(by.terms, key=lambda m: (len(m), m))
    scale = by.terms[lead]
    if not lead and len(p.terms) <= _MOST_STEPS:  # by a number: every coefficient by itself
        parts = sorted(p.terms.items(), key=lambda item: (-len(item[0]), item[0]))
        return Poly({m: c // scale for m, c in parts}), Poly({m: c % scale for m, c in p.terms.items()})
    quotient: dict[Mono, int] = {}
    rest = p
    for _ in range(_MOST_STEPS):
        found = next(
            ((m, c // scale, inside) for m, c in sorted(rest.terms.items(), key=lambda i: (-len(i[0]), i[0]))
             if (inside := without(m, lead)) is not None and c // scale),
            None,
        )  # fmt: skip
        if found is None or found[2] in quotient:
            break
        _, times, inside = found
        quotient[inside] = times
        rest = rest - Poly({inside: times}) * by
    return Poly(quotient), rest


def text_of(poly: Poly) -> str:
    """As people write it: `4 * B * C + 2`, higher products first."""
    if not poly.terms:
        return "0"
    parts: list[str] = []
    for mono, c in sorted(poly.terms.items(), key=lambda item: (-len(item[0]), item[0])):
        names = [f"{n}^{k}" if k > 1 else n for n, k in _powers(mono)]
        factors = ([] if abs(c) == 1 and names else [str(abs(c))]) + names
        sign = ("-" if c < 0 else "") if not parts else (" - " if c < 0 else " + ")
        parts.append(sign + " * ".join(factors))
    return "".join(parts)


def _powers(mono: Mono) -> list[tuple[str, int]]:
    return [(name, mono.count(name)) for name in dict.fromkeys(mono)]


# ---------------------------------------------------------------- what plain integers and symbolic ones answer alike


class Symbolic:
    """A number that stands for one number at each of many sizes. What it answers itself is listed here."""

    __slots__ = ()

    def term(self) -> str:
        """As a term of SMT-LIB over the sizes."""
        raise TypeError("not written by such a number")

    def may_move(self) -> bool:
        """Whether a loop of this count may have a second iteration. True errs on the safe side."""
        return True

    def quotient(self, by: Any, *, exact: bool) -> Any:
        """Rounded down; where `exact`, of numbers that divide, else None where they do not."""
        raise TypeError("not asked of such a number")

    def quotient_of(self, one: int, *, exact: bool) -> Any:
        """The same, of a plain number by this one."""
        raise TypeError("not asked of such a number")

    def divisor_with(self, values: Sequence[Any]) -> Any:
        """The greatest common divisor of `values`, of which it is one."""
        raise TypeError("not asked of such a number")

    def step_divisor(self, base: Any, steps: Sequence[tuple[Any, Any]]) -> Any:
        """`step_gcd`, of numbers of which it is one."""
        raise TypeError("not asked of such a number")

    def extreme_of(self, values: Sequence[Any], *, most: bool) -> Any:
        """The greatest or least of `values`, of which it is one."""
        raise TypeError("not asked of such a number")

    def times(self, one: Any, other: Any) -> Any:
        """`other / one` where that is one polynomial, else None; it is one of the two."""
        return None

    def can_reach(self, value: Any, bound: Any) -> bool:
        """`value >= bound`, or yes; it is one of the two."""
        return bool(value >= bound)

    def is_same(self, other: Any) -> bool:
        """Whether both are known to be one number at every size."""
        return False


def exact_quotient(one: Any, by: Any) -> Any:
    """`one / by`; None where that is no whole number."""
    if isinstance(one, Symbolic):
        return one.quotient(by, exact=True)
    if isinstance(by, Symbolic):
        return by.quotient_of(one, exact=True)
    return one // by if by and one % by == 0 else None


def floor_quotient(one: Any, by: Any) -> Any:
    """`one // by`, for a divisor that is not 0."""
    if isinstance(one, Symbolic):
        return one.quotient(by, exact=False)
    return by.quotient_of(one, exact=False) if isinstance(by, Symbolic) else one // by


def gcd(*values: Any) -> Any:
    """`math.gcd`, of symbolic numbers too."""
    for value in values:
        if isinstance(value, Symbolic):
            return value.divisor_with(values)
    return math.gcd(*values)


def step_gcd(base: Any, steps: Iterable[tuple[Any, Any]]) -> Any:
    """The divisor of every sum of a base and steps: the gcd of the base and of each step that a count above 1 takes."""
    steps = tuple(steps)
    for value in (base, *(part for step in steps for part in step)):
        if isinstance(value, Symbolic):
            return value.step_divisor(base, steps)
    return math.gcd(base, *(step for step, count in steps if count > 1))


def moves(count: Any) -> bool:
    """Whether a loop runs more than once; a symbolic count may, and is treated as if it did."""
    return count.may_move() if isinstance(count, Symbolic) else count > 1


def same(one: Any, other: Any) -> bool:
    """Whether two numbers are equal; for symbolic ones, at every size."""
    if isinstance(one, Symbolic):
        return one.is_same(other)
    if isinstance(other, Symbolic):
        return other.is_same(one)
    return bool(one == other)


def below(one: Any, other: Any) -> bool:
    """Whether `one < other`; of a symbolic number and its multiple, whether that many steps may move."""
    if isinstance(one, Symbolic) or isinstance(other, Symbolic):
        symbolic = one if isinstance(one, Symbolic) else other
        times = symbolic.times(one, other)
        if times is not None:
            return moves(times)
    return bool(one < other)


def may_reach(value: Any, bound: Any) -> bool:
    """Whether `value >= bound`, where yes may be said of more than that."""
    for one in (value, bound):
        if isinstance(one, Symbolic):
            return one.can_reach(value, bound)
    return bool(value >= bound)


def most(values: Iterable[Any]) -> Any:
    """`max`, of symbolic numbers too."""
    return _extreme(tuple(values), most=True)


def least(values: Iterable[Any]) -> Any:
    """`min`, of symbolic numbers too."""
    return _extreme(tuple(values), most=False)


def _extreme(values: tuple[Any, ...], *, most: bool) -> Any:
    for value in values:
        if isinstance(value, Symbolic):
            return value.extreme_of(values, most=most)
    return max(values) if most else min(values)


def largest_part(number: int, most: int, word: int) -> int:
    """The largest divisor of `number` up to `most`: in whole words where any is, 1 at least."""
    return (largest_divisor(number, most, word) or largest_divisor(number, most) or 1) if number > 0 else 1


def largest_divisor(number: int, most: int, step: int = 1) -> int:
    """The largest multiple of `step` that divides `number` and is at most `most`; 0 where there is none.

    Factors above 2^16 are not taken apart, so that the work is bounded; only numbers above 2^32 can have two.
    """
    if number % step or most < step:
        return 0
    found, left, factor = {1}, number // step, 2
    while left > 1:
        if factor > 1 << 16 or factor * factor > left:
            factor = left
        while left % factor == 0 and left > 1:
            found |= {d * factor for d in found if d * factor * step <= most}
            left //= factor
        factor += 1 if factor == 2 else 2
    return max(found) * step
