"""Greatest common divisors and extremes of symbolic numbers, asked only what they divide and what they lie beyond.

Knows: what of each part answers such a question.
Does not know: plans, regions.
Law: an answer is that at the size of the run, and holds at every size at which the recorded facts do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from dmaverify.errors import InputError
from dmaverify.language.numbers import Poly, Symbolic, divided
from dmaverify.prove.sizes.facts import SizeFact, Template
from dmaverify.prove.sizes.shadow import Shadow, floor, poly_of, value_of
from dmaverify.prove.sizes.trace import Restart, Stuck, Trace
from dmaverify.prove.smt import number

MOST_RESTARTS = 12
NOT_SYMBOLIC = (Stuck, ValueError, TypeError, ZeroDivisionError, InputError)
"""What symbols raise in code that does not take them."""
Found = TypeVar("Found")


def traced(
    values: Mapping[str, int],
    divisors: Sequence[tuple[str, Poly]],
    *,
    generic: bool,
    ends: Mapping[str, tuple[int, int | None]] | None = None,
) -> Trace:
    """A trace whose numbers know these questions."""
    return Trace(values, divisors, generic=generic, ends=ends, divisor=divisor, extreme=Extreme)


def at_sizes(
    template: Template, values: Mapping[str, int], once: Callable[[Trace], Found], *, generic: bool = True
) -> Found:
    """What `once` makes of symbols at these sizes, as multiples of what they turn out to be. Raises `NOT_SYMBOLIC`."""
    divisors = template.divisors
    ends = {one.name: (one.first, one.last) for one in template.symbols}
    for _ in range(MOST_RESTARTS):
        try:
            return once(traced(values, tuple(divisors.items()), generic=generic, ends=ends))
        except Restart as again:
            old = divisors.get(again.name, Poly.of(1))
            divisors[again.name] = old * again.by if _grows(divisors, again) else again.by
    raise Stuck("too many divisibilities at once")


def _grows(divisors: Mapping[str, Poly], again: Restart) -> bool:
    """Whether the new divisor is beside the old one; one with symbols of its own multiplies, a number replaces."""
    old = divisors.get(again.name)
    if old is None or (old.constant is not None and again.by.constant is not None):
        return False
    return old.symbols.isdisjoint(again.by.symbols)


def divisor(trace: Trace, parts: Sequence[tuple[Any, Any]]) -> Any:
    """The greatest common divisor of numbers, each with the count of the loop that takes it as its step."""
    kept = [(value, count) for value, count in parts if not (isinstance(value, int) and value == 0)]
    kept = [(v, c) for v, c in kept if not (isinstance(c, int) and c <= 1)]
    for value, count in kept:
        if isinstance(count, int) and all(_divides(value, other) for other, _ in kept):
            return abs(value)
    return Divisor(trace, tuple(kept)) if kept else 0


def _divides(one: Any, other: Any) -> bool:
    _, rest = divided(poly_of(other), poly_of(one)) if poly_of(one).terms else (Poly({}), Poly.of(1))
    return not rest.terms


class Divisor(Symbolic):
    """A greatest common divisor that is asked only what divides it."""

    __slots__ = ("down", "parts", "trace")

    def __init__(self, trace: Trace, parts: tuple[tuple[Any, Any], ...], down: int = 1) -> None:
        self.trace = trace
        self.parts = parts
        self.down = down

    @property
    def value(self) -> int:
        return math.gcd(*(value_of(v) for v, c in self.parts if value_of(c) > 1)) // self.down

    def __mul__(self, by: int) -> Divisor:
        return Divisor(self.trace, tuple((v * by, c) for v, c in self.parts), self.down)

    __rmul__ = __mul__

    def __floordiv__(self, by: int) -> Divisor:
        common = math.gcd(by * self.down, *(poly_of(v).content() for v, _ in self.parts))
        if common == by * self.down:
            return Divisor(self.trace, tuple((_shrunk(self.trace, v, common), c) for v, c in self.parts))
        return Divisor(self.trace, self.parts, self.down * by)

    def __mod__(self, by: int) -> Any:
        if not isinstance(by, int):
            raise Stuck("a divisor against a symbolic one")
        by *= self.down
        for value, _ in self.parts if self.down > 1 else ():
            if value_of(value) % self.down:
                raise Stuck("a divisor of half bytes")
            self.trace.record(SizeFact("div", poly_of(value), Poly.of(self.down)))
        for value, count in self.parts:
            if value_of(value) % by and value_of(count) > 1:
                self.trace.record(SizeFact("ndiv", poly_of(value), Poly.of(by)))
                _ = count > 1
                return Remainder(self.trace, 1)
        for value, count in self.parts:
            if value_of(value) % by:
                _ = count > 1
            else:
                self.trace.record(SizeFact("div", poly_of(value), Poly.of(by)))
        return 0

    def __eq__(self, other: object) -> Any:
        if other != 0 or isinstance(other, Symbolic):
            raise Stuck("the value of a divisor")
        for value, count in self.parts:
            if value_of(value) != 0 and value_of(count) > 1:
                _ = (value != 0, count > 1)
                return False
        return all(value == 0 or not count > 1 for value, count in self.parts)

    def __ne__(self, other: object) -> Any:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash(self.parts)

    def __index__(self) -> int:
        raise Stuck("the value of a divisor")

    def __format__(self, spec: str) -> str:
        return f"gcd({', '.join(str(value) for value, _ in self.parts)})"

    def term(self) -> str:
        """A sum of multiples, as the greatest common divisor is one (Bezout)."""
        if self.down != 1:
            return Symbolic.term(self)
        told = (f"(* |part {i}| {number(value)})" for i, (value, _) in enumerate(self.parts))
        return f"(+ 0 {' '.join(told)})"

    def divisor_with(self, values: Sequence[Any]) -> Any:
        parts: list[tuple[Any, Any]] = []
        for value in values:
            if isinstance(value, Divisor):
                if value.down != 1:
                    raise Stuck("a divisor of half bytes")
                parts += value.parts
            else:
                parts.append((value, 2))
        return divisor(self.trace, parts)


def _shrunk(trace: Trace, value: Any, by: int) -> Any:
    return floor(trace, value, by) if isinstance(value, Shadow) else value // by


class Remainder(Symbolic):
    """A remainder of which nothing is said but that it is not 0."""

    __slots__ = ("trace", "value")

    def __init__(self, trace: Trace, value: int) -> None:
        self.trace = trace
        self.value = value

    def __eq__(self, other: object) -> Any:
        if isinstance(other, int) and other == 0:
            return False
        raise Stuck("the value of a remainder")

    def __ne__(self, other: object) -> Any:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return True


class Extreme(Symbolic):
    """The greatest or the least of several numbers, asked only on which side of another number it lies."""

    __slots__ = ("most", "parts", "trace")

    def __init__(self, trace: Trace, parts: tuple[Any, ...], most: bool) -> None:
        self.trace = trace
        self.parts = parts
        self.most = most

    @property
    def value(self) -> int:
        return (max if self.most else min)(value_of(part) for part in self.parts)

    def _all(self, other: Any, holds: Any) -> bool:
        """All parts on one side: each recorded; else one that is not."""
        for part in self.parts:
            if not holds(value_of(part), value_of(other)):
                holds(part, other)
                return False
        return all(holds(part, other) for part in self.parts)

    def _any(self, other: Any, holds: Any) -> bool:
        for part in self.parts:
            if holds(value_of(part), value_of(other)):
                return bool(holds(part, other))
        return any(holds(part, other) for part in self.parts)

    def __le__(self, other: Any) -> bool:
        return (self._all if self.most else self._any)(other, lambda a, b: a <= b)

    def __lt__(self, other: Any) -> bool:
        return (self._all if self.most else self._any)(other, lambda a, b: a < b)

    def __ge__(self, other: Any) -> bool:
        return (self._any if self.most else self._all)(other, lambda a, b: a >= b)

    def __gt__(self, other: Any) -> bool:
        return (self._any if self.most else self._all)(other, lambda a, b: a > b)

    def __hash__(self) -> int:
        return hash(self.parts)

    def __format__(self, spec: str) -> str:
        return f"{'max' if self.most else 'min'}({', '.join(str(part) for part in self.parts)})"

    def __index__(self) -> int:
        raise Stuck("the value of an extreme")

    def term(self) -> str:
        """One of its numbers."""
        told = number(self.parts[-1])
        for i, value in enumerate(self.parts[:-1]):
            told = f"(ite (= |part 0| {i}) {number(value)} {told})"
        return told

    def extreme_of(self, values: Sequence[Any], *, most: bool) -> Any:
        parts: list[Any] = []
        for value in values:
            if isinstance(value, Extreme):
                if value.most is not most:
                    raise Stuck("an extreme of extremes")
                parts += value.parts
            else:
                parts.append(value)
        return Extreme(self.trace, tuple(parts), most)
