"""What a run at one size decided, and the region of sizes at which all of it is decided alike.

Knows: recorded facts, symbols written as multiples, quotients that are no polynomials.
Does not know: the numbers that record (`shadow`), plans.
Law: `region` holds at a size exactly when every recorded fact does, and is written in the declared symbols.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dmaverify.language.numbers import Poly, without
from dmaverify.prove.sizes.facts import FactReason, FloorQuotient, SizeFact, SizeRegion, floor_name, lowered, normal
from dmaverify.values import replace

MOST_FACTS = 4000


class Stuck(Exception):
    """The code asks what shadows do not answer."""


class Restart(Exception):
    """Go again with `name` written as `by` times a new symbol."""

    def __init__(self, name: str, by: Poly) -> None:
        super().__init__(name)
        self.name = name
        self.by = by


class Trace:
    """What was decided on the way. `generic`: loops and merges are treated as they are at almost all sizes."""

    def __init__(
        self,
        values: Mapping[str, int],
        divisors: Sequence[tuple[str, Poly]],
        *,
        generic: bool,
        ends: Mapping[str, tuple[int, int | None]] | None = None,
        divisor: Callable[[Trace, Sequence[tuple[Any, Any]]], Any],
        extreme: Callable[[Trace, tuple[Any, ...], bool], Any],
    ) -> None:
        self.divisor, self.extreme = divisor, extreme  # how a common divisor and a minimum of its numbers are made
        self.values = dict(values)
        self.ends = dict(ends or {})
        self.generic = generic
        self.loose = False  # comparisons are answered and not recorded: what they lead to is checked afterwards
        self.apart: set[str] = set()  # symbols of which no quotient by another symbol is decided
        self.span = 0  # moves on where facts are kept apart
        self.facts: dict[SizeFact, SizeFact] = {}
        self.floors: dict[str, FloorQuotient] = {}
        self.why = FactReason("core/well-formed")
        self.whole: dict[str, Poly] = {}
        for name, by in divisors:
            self._divide(name, by)

    def _divide(self, name: str, by: Poly) -> None:
        """`name` is `by` times the quotient from now on."""
        top, low = self.whole.get(name, Poly.symbol(name)), by.put(self.whole)
        if not low.symbols <= self.values.keys():
            raise Stuck("a divisor that is a quotient rounded down")
        least = low.at(self.values)
        if least <= 0 or top.at(self.values) % least:
            raise Stuck("divisors that do not divide together")
        quotient = floor_name(Poly.symbol(name), by)
        self.record(SizeFact("ge", by - Poly.of(1)))  # facts are multiplied by it
        self.record(SizeFact("div", Poly.symbol(name), by))
        self.floors[quotient] = FloorQuotient(quotient, Poly.symbol(name), by)
        self.values[quotient] = top.at(self.values) // least
        low_end, high_end = self.ends.get(name, (0, None))
        number = by.constant
        self.ends[quotient] = (
            (1 if low_end > 0 else 0, None)
            if number is None
            else (-(-low_end // number), None if high_end is None else high_end // number)
        )
        put = {name: low * Poly.symbol(quotient)}
        self.whole = {n: p.put(put) for n, p in self.whole.items()} | put

    def record(self, fact: SizeFact) -> None:
        if fact.known is None and not (fact.by is None and plainly(fact, self.ends)):
            if len(self.facts) > MOST_FACTS:
                raise Stuck("too many decisions")
            if fact not in self.facts:
                self.facts[fact] = replace(fact, why=self.why)

    def region(self, facts: Sequence[SizeFact] | None = None) -> SizeRegion:
        """The sizes at which all was decided as it was, in the declared symbols."""
        out: dict[SizeFact, SizeFact] = {}
        exact = {name: self.floors[name] for name in self.floors if self.is_exact(name)}
        for fact in self.facts.values() if facts is None else facts:
            found = normal(_cleared(lowered(_cleared(fact, exact), self.floors), exact))
            if found.known is not True:
                out.setdefault(found, found)
        used = _floors_used(out, self.floors)
        return SizeRegion(tuple(out.values()), used)

    def is_exact(self, name: str) -> bool:
        """Whether a quotient is one of numbers that divide."""
        one = self.floors[name]
        return SizeFact("div", one.top, one.bottom) in self.facts


def _cleared(fact: SizeFact, exact: dict[str, FloorQuotient]) -> SizeFact:
    """Exact quotients multiplied out, the last made first."""
    poly, by = fact.poly, fact.by
    if fact.op in ("div", "ndiv"):
        if any(name in exact for name in poly.symbols) and by is not None and not any(n in exact for n in by.symbols):
            for name in reversed(exact):
                degree = max((m.count(name) for m in poly.terms), default=0)
                if degree:
                    poly, by = _multiplied(poly, exact[name], degree), by * _power(exact[name].bottom, degree)
        return replace(fact, poly=poly, by=by)
    for name in reversed(exact):
        degree = max((m.count(name) for m in poly.terms), default=0)
        if degree:
            poly = _without_common(_multiplied(poly, exact[name], degree), exact[name].bottom)
    return replace(fact, poly=poly)


def _without_common(poly: Poly, bottom: Poly) -> Poly:
    """Without symbols of a divisor, which are positive, that every product has."""
    for name in bottom.symbols:
        while poly.terms and all(name in mono for mono in poly.terms):
            poly = Poly({without(mono, (name,)) or (): c for mono, c in poly.terms.items()})
    return poly


def _multiplied(poly: Poly, one: FloorQuotient, degree: int) -> Poly:
    """`poly * bottom^degree` with the quotient put in; the bottom is positive."""
    out = Poly({})
    for mono, c in poly.terms.items():
        power = mono.count(one.name)
        rest = tuple(n for n in mono if n != one.name)
        out = out + Poly({rest: c}) * _power(one.top, power) * _power(one.bottom, degree - power)
    return out


def _power(poly: Poly, times: int) -> Poly:
    out = Poly.of(1)
    for _ in range(times):
        out = out * poly
    return out


def _floors_used(facts: Mapping[SizeFact, SizeFact], floors: dict[str, FloorQuotient]) -> tuple[FloorQuotient, ...]:
    names = {n for fact in facts for n in (*fact.poly.symbols, *(fact.by.symbols if fact.by else ()))}
    kept: list[FloorQuotient] = []
    for name in reversed(floors):
        if name in names:
            kept.append(floors[name])
            names |= floors[name].top.symbols | floors[name].bottom.symbols
    return tuple(kept[::-1])


def plainly(fact: SizeFact, ends: Mapping[str, tuple[int, int | None]]) -> bool:
    """Whether a comparison holds because all its products grow, or shrink, from the ends of the ranges on."""
    parts = fact.poly.terms
    for sign in (1, -1) if fact.op == "ne" else (1,):
        constant = sign * parts.get((), 0)
        if all(sign * c > 0 for m, c in parts.items() if m):
            lows = [sign * c * math.prod(ends.get(n, (0, None))[0] for n in m) for m, c in parts.items() if m]
            known = all(n in ends for m in parts for n in m)
            if known and constant + sum(lows) >= (1 if fact.op == "ne" else 0) and fact.op != "eq":
                return True
        elif all(sign * c < 0 for m, c in parts.items() if m) and fact.op != "eq":
            highs = [[ends.get(n, (0, None))[1] for n in m] for m in parts if m]
            if any(h is None for row in highs for h in row):
                continue
            total = sum(sign * c * math.prod(ends[n][1] or 0 for n in m) for m, c in parts.items() if m)
            if constant + total >= (1 if fact.op == "ne" else 0):
                return True
    return False
