"""Numbers that run through the ordinary code at one size and remember for which other sizes it would run alike.

Knows: shadow integers (a value and its polynomial), greatest common divisors and extremes of them, the trace of decisions.
Does not know: plans, digits, how a trace becomes a region.
Law: for all sizes at which every fact of the trace holds, the code takes the same way, and each shadow is the value of
its polynomial there. What cannot be said so raises Stuck; what needs a size to be a multiple raises Restart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dmaverify.language.numbers import Poly, Symbolic, divided, text_of
from dmaverify.prove.sizes.facts import Fact, Floor, Region, Why, floor_name, lowered

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
    ) -> None:
        self.values = dict(values)
        self.ends = dict(ends or {})
        self.generic = generic
        self.loose = False  # comparisons are answered and not recorded: what they lead to is checked afterwards
        self.facts: dict[Fact, Fact] = {}
        self.floors: dict[str, Floor] = {}
        self.why = Why("core/well-formed")
        self.whole: dict[str, Poly] = {}
        for name, by in divisors:
            self._divide(name, by)

    def _divide(self, name: str, by: Poly) -> None:
        """`name` is `by` times the quotient from now on."""
        top, low = self.whole.get(name, Poly.symbol(name)), by.put(self.whole)
        quotient = floor_name(Poly.symbol(name), by)
        self.record(Fact("div", Poly.symbol(name), by))
        self.floors[quotient] = Floor(quotient, Poly.symbol(name), by)
        self.values[quotient] = top.at(self.values) // low.at(self.values)
        low_end, high_end = self.ends.get(name, (0, None))
        number = by.constant
        self.ends[quotient] = (
            (1 if low_end > 0 else 0, None)
            if number is None
            else (-(-low_end // number), None if high_end is None else high_end // number)
        )
        put = {name: low * Poly.symbol(quotient)}
        self.whole = {n: p.put(put) for n, p in self.whole.items()} | put

    def number(self, name: str) -> Any:
        poly = self.whole.get(name, Poly.symbol(name))
        return made(self, self.values[name], poly)

    def record(self, fact: Fact) -> None:
        if fact.known is None and not (fact.by is None and plainly(fact, self.ends)):
            if len(self.facts) > MOST_FACTS:
                raise Stuck("too many decisions")
            self.facts.setdefault(fact, replace(fact, why=self.why))

    def region(self, facts: Sequence[Fact] | None = None) -> Region:
        """The sizes at which all was decided as it was, in the declared symbols."""
        out: dict[Fact, Fact] = {}
        exact = {name: self.floors[name] for name in self.floors if self._is_exact(name)}
        for fact in self.facts.values() if facts is None else facts:
            found = _cleared(lowered(_cleared(fact, exact), self.floors), exact)
            if found.known is not True:
                out.setdefault(found, found)
        used = _floors_used(out, self.floors)
        return Region(tuple(out.values()), used)

    def _is_exact(self, name: str) -> bool:
        one = self.floors[name]
        return Fact("div", one.top, one.bottom) in self.facts


def _cleared(fact: Fact, exact: Mapping[str, Floor]) -> Fact:
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
            poly = _multiplied(poly, exact[name], degree)
    return replace(fact, poly=poly)


def _multiplied(poly: Poly, one: Floor, degree: int) -> Poly:
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


def _floors_used(facts: Mapping[Fact, Fact], floors: Mapping[str, Floor]) -> tuple[Floor, ...]:
    names = {n for fact in facts for n in (*fact.poly.symbols, *(fact.by.symbols if fact.by else ()))}
    kept: list[Floor] = []
    for name in reversed(floors):
        if name in names:
            kept.append(floors[name])
            names |= floors[name].top.symbols | floors[name].bottom.symbols
    return tuple(kept[::-1])


def plainly(fact: Fact, ends: Mapping[str, tuple[int, int | None]]) -> bool:
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


def made(trace: Trace, value: int, poly: Poly) -> Any:
    """A shadow, or the plain number where the polynomial is one."""
    return Shadow(trace, value, poly) if poly.constant is None else poly.constant


def poly_of(value: Any) -> Poly:
    if isinstance(value, Shadow):
        return value.poly
    if isinstance(value, Symbolic):
        raise Stuck("a divisor or an extreme used as a number")
    return Poly.of(int(value))


def value_of(value: Any) -> int:
    return value.value if isinstance(value, Symbolic) else int(value)  # type: ignore[attr-defined]


class Shadow(Symbolic):
    """An integer at the size of the run, with its polynomial."""

    __slots__ = ("poly", "trace", "value")

    def __init__(self, trace: Trace, value: int, poly: Poly) -> None:
        self.trace = trace
        self.value = value
        self.poly = poly

    # ------------------------------------------------------------ arithmetic

    def _with(self, other: Any, value: int, poly: Poly) -> Any:
        return made(self.trace, value, poly)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, int):
            return Shadow(self.trace, self.value + other, self.poly + Poly.of(other)) if other else self
        return made(self.trace, self.value + value_of(other), self.poly + poly_of(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return made(self.trace, self.value - value_of(other), self.poly - poly_of(other))

    def __rsub__(self, other: Any) -> Any:
        return made(self.trace, value_of(other) - self.value, poly_of(other) - self.poly)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, int):
            if other == 1:
                return self
            return Shadow(self.trace, self.value * other, self.poly.scaled(other)) if other else 0
        return made(self.trace, self.value * value_of(other), self.poly * poly_of(other))

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return Shadow(self.trace, -self.value, -self.poly)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __floordiv__(self, other: Any) -> Any:
        return _floor(self.trace, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _floor(self.trace, other, self)

    def __mod__(self, other: Any) -> Any:
        return _rest(self.trace, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _rest(self.trace, other, self)

    def __divmod__(self, other: Any) -> Any:
        return _both(self.trace, self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return _both(self.trace, other, self)

    def quotient(self, by: Any, *, exact: bool) -> Any:
        if exact:
            return _floor(self.trace, self, by) if by != 0 and _rest(self.trace, self, by) == 0 else None
        return _floor(self.trace, self, by)

    def quotient_of(self, one: int, *, exact: bool) -> Any:
        if exact:
            return _floor(self.trace, one, self) if self != 0 and _rest(self.trace, one, self) == 0 else None
        return _floor(self.trace, one, self)

    # ------------------------------------------------------------ decisions

    def _at_least(self, other: Any) -> bool:
        if isinstance(other, Symbolic) and not isinstance(other, Shadow):
            return NotImplemented
        return decided(self.trace, self, other)

    def __ge__(self, other: Any) -> Any:
        return self._at_least(other)

    def __lt__(self, other: Any) -> Any:
        found = self._at_least(other)
        return found if found is NotImplemented else not found

    def __le__(self, other: Any) -> Any:
        if isinstance(other, Symbolic) and not isinstance(other, Shadow):
            return NotImplemented
        return decided(self.trace, other, self)

    def __gt__(self, other: Any) -> Any:
        if isinstance(other, Symbolic) and not isinstance(other, Shadow):
            return NotImplemented
        return not decided(self.trace, other, self)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Shadow) and other.trace is not self.trace:
            return False
        if not isinstance(other, Shadow | int):
            return NotImplemented
        difference = self.poly - poly_of(other)
        if difference.constant is not None:
            return difference.constant == 0
        equal = self.value == value_of(other)
        if not self.trace.loose:
            self.trace.record(Fact("eq" if equal else "ne", difference))
        return equal

    def __ne__(self, other: object) -> Any:
        found = self.__eq__(other)
        return found if found is NotImplemented else not found

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __hash__(self) -> int:
        return hash((id(self.trace), self.poly))

    def __index__(self) -> int:
        """Whatever needs a plain integer holds at this very value alone."""
        self.trace.record(Fact("eq", self.poly - Poly.of(self.value)))
        return self.value

    __int__ = __index__

    def __repr__(self) -> str:
        return text_of(self.poly)

    def __format__(self, spec: str) -> str:
        return text_of(self.poly)

    # ------------------------------------------------------------ what plain integers answer otherwise

    def may_move(self) -> bool:
        return True if self.trace.generic else bool(self > 1)

    def is_same(self, other: Any) -> bool:
        if not self.trace.generic:
            return bool(self == other)
        return isinstance(other, Shadow | int) and (self.poly - poly_of(other)).constant == 0

    def divisor_with(self, values: Sequence[Any]) -> Any:
        return divisor(self.trace, [(value, 2) for value in values])

    def step_divisor(self, base: Any, steps: Sequence[tuple[Any, Any]]) -> Any:
        return divisor(self.trace, [(base, 2), *steps])

    def extreme_of(self, values: Sequence[Any], *, most: bool) -> Any:
        return Extreme(self.trace, tuple(dict.fromkeys(values)), most)


def decided(trace: Trace, left: Any, right: Any) -> bool:
    """Whether `left >= right`, recorded."""
    difference = poly_of(left) - poly_of(right)
    if difference.constant is not None:
        return difference.constant >= 0
    answer = value_of(left) >= value_of(right)
    if trace.loose:
        return answer
    trace.record(Fact("ge", difference) if answer else Fact("ge", -difference - Poly.of(1)))
    return answer


def _floor(trace: Trace, top: Any, bottom: Any) -> Any:
    """`top // bottom`: a polynomial where the rest is recorded to lie below the divisor, else a quotient of its own."""
    p, d, value, by = poly_of(top), poly_of(bottom), value_of(top), value_of(bottom)
    if by == 0:
        raise ZeroDivisionError
    quotient, rest = divided(p, d)
    if by < 0:
        if rest.terms:
            raise Stuck("a negative divisor")
        return made(trace, value // by, quotient)
    left = rest.at(trace.values)
    while not 0 <= left < by and abs(left) <= 4 * by:
        step = 1 if left >= by else -1
        quotient, rest, left = quotient + Poly.of(step), rest - d.scaled(step), left - step * by
    if not rest.terms or 0 <= left < by:
        _within(trace, rest, d)
        return made(trace, value // by, quotient)
    whole = _own_quotient(trace, rest, d)
    return made(trace, value // by, quotient + whole)


def _both(trace: Trace, top: Any, bottom: Any) -> tuple[Any, Any]:
    """`divmod`. Where a trace is loose, the quotient and rest of this size are a proposal for the others."""
    if not trace.loose:
        rest = _rest(trace, top, bottom)
        return _floor(trace, top, bottom), rest
    p, d, by = poly_of(top), poly_of(bottom), value_of(bottom)
    quotient, rest_poly = divided(p, d)
    left = rest_poly.at(trace.values)
    if not 0 <= left < by:
        step = left // by
        quotient, rest_poly, left = quotient + Poly.of(step), rest_poly - d.scaled(step), left - step * by
    return made(trace, value_of(top) // by, quotient), made(trace, left, rest_poly)


def _within(trace: Trace, rest: Poly, d: Poly) -> None:
    trace.record(Fact("ge", rest))
    trace.record(Fact("ge", d - rest - Poly.of(1)))


def _own_quotient(trace: Trace, rest: Poly, d: Poly) -> Poly:
    name = floor_name(rest, d)
    if name not in trace.floors:
        trace.floors[name] = Floor(name, rest, d)
        trace.values[name] = rest.at(trace.values) // d.at(trace.values)
    return Poly.symbol(name)


def _rest(trace: Trace, top: Any, bottom: Any) -> Any:
    """`top % bottom`. Where it is 0 but not at all sizes, a size is taken as a multiple, or the fact is recorded."""
    p, d, value, by = poly_of(top), poly_of(bottom), value_of(top), value_of(bottom)
    if by == 0:
        raise ZeroDivisionError
    if value % by == 0:
        _, rest = divided(p, d)
        if not rest.terms:
            return 0
        found = _as_multiple(trace, rest, d)
        if found is not None:
            raise Restart(*found)
        fact = Fact("div", p, d)
        trace.record(fact)
        return 0
    if d.constant is not None and p.constant is None and all(c % d.constant == 0 for m, c in p.terms.items() if m):
        return p.terms.get((), 0) % d.constant
    return Rest(trace, top, bottom)


class Rest(Shadow):
    """A remainder that is not 0 here; what else it is, is worked out when it is asked."""

    __slots__ = ("_poly", "bottom", "top")

    def __init__(self, trace: Trace, top: Any, bottom: Any) -> None:
        self.trace = trace
        self.value = value_of(top) % value_of(bottom)
        self.top = top
        self.bottom = bottom
        self._poly: Poly | None = None

    @property
    def poly(self) -> Poly:  # type: ignore[override]
        if self._poly is None:
            self._poly = poly_of(self.top - self.bottom * _floor(self.trace, self.top, self.bottom))
        return self._poly

    def __eq__(self, other: object) -> Any:
        if isinstance(other, int) and other == 0:
            self.trace.record(Fact("ndiv", poly_of(self.top), poly_of(self.bottom)))
            return False
        return super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()


def _as_multiple(trace: Trace, rest: Poly, d: Poly) -> tuple[str, Poly] | None:
    """A declared symbol that, as a multiple, makes `d` divide `rest`: the rest is one product with it."""
    if len(rest.terms) != 1 or len(d.terms) != 1:
        return None
    ((mono, c),) = rest.terms.items()
    ((low, k),) = d.terms.items()
    missing = list(low)
    left = list(mono)
    for name in low:
        if name in left:
            left.remove(name)
            missing.remove(name)
    factor = abs(k) // math.gcd(c, k)
    for name in left:
        whole = trace.whole.get(name)
        by = Poly({tuple(missing): factor})
        if whole is None and name not in trace.floors and trace.values[name] % by.at(trace.values) == 0:
            return name, by
        if name in trace.floors and not missing and trace.values[name] % factor == 0:
            one = trace.floors[name]
            if Fact("div", one.top, one.bottom) in trace.facts and len(one.top.terms) == 1:
                return next(iter(one.top.symbols)), one.bottom.scaled(factor)
    return None


# ---------------------------------------------------------------- divisors and extremes


def divisor(trace: Trace, parts: Sequence[tuple[Any, Any]]) -> Any:
    """The greatest common divisor of numbers, each with the count of the loop that takes it as its step."""
    kept = [(value, count) for value, count in parts if not (isinstance(value, int) and value == 0)]
    kept = [(v, c) for v, c in kept if not (isinstance(c, int) and c <= 1)]
    for value, count in kept:
        if isinstance(count, int) and all(_divides(value, other) for other, _ in kept):
            return abs(value)
    return Divisor(trace, tuple(kept)) if kept else 0


def _divides(one: Any, other: Any) -> bool:
    quotient, rest = divided(poly_of(other), poly_of(one)) if poly_of(one).terms else (Poly({}), Poly.of(1))
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
        for value, count in self.parts:
            if value_of(value) % by and value_of(count) > 1:
                self.trace.record(Fact("ndiv", poly_of(value), Poly.of(by)))
                _ = count > 1
                return Remainder(self.trace, 1)
        for value, count in self.parts:
            if value_of(value) % by:
                _ = count > 1
            else:
                self.trace.record(Fact("div", poly_of(value), Poly.of(by)))
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
    return _floor(trace, value, by) if isinstance(value, Shadow) else value // by


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
