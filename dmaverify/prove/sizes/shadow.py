"""Numbers that run through the ordinary code at one size and remember for which other sizes it would run alike.

Knows: shadow integers: a value, its polynomial, and the trace in which their decisions are recorded.
Does not know: plans, digits, how a trace becomes a region.
Law: for all sizes at which every fact of the trace holds, the code takes the same way, and each shadow is the value of
its polynomial there. What cannot be said so raises Stuck; what needs a size to be a multiple raises Restart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dmaverify.language.numbers import Poly, Symbolic, divided, text_of
from dmaverify.prove.sizes.bounds import least_of
from dmaverify.prove.sizes.facts import FloorQuotient, SizeFact, floor_name
from dmaverify.prove.sizes.trace import Restart, Stuck, Trace
from dmaverify.prove.smt import polynomial


def number_of(trace: Trace, name: str) -> Any:
    """A declared symbol in a run."""
    return made(trace, trace.values[name], trace.whole.get(name, Poly.symbol(name)))


def made(trace: Trace, value: int, poly: Poly) -> Any:
    """A shadow, or the plain number where the polynomial is one."""
    return Shadow(trace, value, poly) if poly.constant is None else poly.constant


def poly_of(value: Any) -> Poly:
    if isinstance(value, Shadow):
        return value.poly
    if isinstance(value, Symbolic):
        raise Stuck("a divisor or an extreme used as a number")
    return Poly.of(int(value))


def foreign(value: Any) -> bool:
    """Whether the value is symbolic and no shadow: it knows what it is beside one."""
    return isinstance(value, Symbolic) and not isinstance(value, Shadow)


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

    def __add__(self, other: Any) -> Any:
        if isinstance(other, int):
            return Shadow(self.trace, self.value + other, self.poly + Poly.of(other)) if other else self
        if foreign(other):
            return NotImplemented
        return made(self.trace, self.value + value_of(other), self.poly + poly_of(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if foreign(other) else self + -other

    def __rsub__(self, other: Any) -> Any:
        return made(self.trace, value_of(other) - self.value, poly_of(other) - self.poly)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, int):
            if other == 1:
                return self
            return Shadow(self.trace, self.value * other, self.poly.scaled(other)) if other else 0
        if foreign(other):
            return NotImplemented
        return made(self.trace, self.value * value_of(other), self.poly * poly_of(other))

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return Shadow(self.trace, -self.value, -self.poly)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __floordiv__(self, other: Any) -> Any:
        return floor(self.trace, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return floor(self.trace, other, self)

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
            return floor(self.trace, self, by) if by != 0 and _rest(self.trace, self, by) == 0 else None
        return floor(self.trace, self, by)

    def quotient_of(self, one: int, *, exact: bool) -> Any:
        if exact:
            return floor(self.trace, one, self) if self != 0 and _rest(self.trace, one, self) == 0 else None
        return floor(self.trace, one, self)

    # ------------------------------------------------------------ decisions

    def _at_least(self, other: Any) -> Any:
        return NotImplemented if foreign(other) else decided(self.trace, self, other)

    def __ge__(self, other: Any) -> Any:
        return self._at_least(other)

    def __lt__(self, other: Any) -> Any:
        found = self._at_least(other)
        return found if found is NotImplemented else not found

    def __le__(self, other: Any) -> Any:
        return NotImplemented if foreign(other) else decided(self.trace, other, self)

    def __gt__(self, other: Any) -> Any:
        return NotImplemented if foreign(other) else not decided(self.trace, other, self)

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
            self.trace.record(SizeFact("eq" if equal else "ne", difference))
        return equal

    def __ne__(self, other: object) -> Any:
        found = self.__eq__(other)
        return found if found is NotImplemented else not found

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __hash__(self) -> int:
        """Another one in another span of the trace, so that no cache answers what is to be recorded there."""
        return hash((id(self.trace), self.trace.span, self.poly))

    def __index__(self) -> int:
        """Whatever needs a plain integer holds at this very value alone."""
        self.trace.record(SizeFact("eq", self.poly - Poly.of(self.value)))
        return self.value

    __int__ = __index__

    def __repr__(self) -> str:
        return text_of(self.poly)

    def __format__(self, spec: str) -> str:
        return text_of(self.poly)

    # ------------------------------------------------------------ what plain integers answer otherwise

    def term(self) -> str:
        return polynomial(self.poly)

    def may_move(self) -> bool:
        return True if self.trace.generic else bool(self > 1)

    def is_same(self, other: Any) -> bool:
        if not self.trace.generic:
            return bool(self == other)
        return isinstance(other, Shadow | int) and (self.poly - poly_of(other)).constant == 0

    def times(self, one: Any, other: Any) -> Any:
        if not self.trace.generic or not poly_of(one).terms:
            return None
        quotient, rest = divided(poly_of(other), poly_of(one))
        return None if rest.terms else made(self.trace, value_of(other) // value_of(one), quotient)

    def can_reach(self, value: Any, bound: Any) -> bool:
        if self.trace.generic and value_of(value) >= value_of(bound):
            return True
        return bool(value >= bound)

    def divisor_with(self, values: Sequence[Any]) -> Any:
        return self.trace.divisor(self.trace, [(value, 2) for value in values])

    def step_divisor(self, base: Any, steps: Sequence[tuple[Any, Any]]) -> Any:
        return self.trace.divisor(self.trace, [(base, 2), *steps])

    def extreme_of(self, values: Sequence[Any], *, most: bool) -> Any:
        return self.trace.extreme(self.trace, tuple(dict.fromkeys(values)), most)


def decided(trace: Trace, left: Any, right: Any) -> bool:
    """Whether `left >= right`, recorded."""
    difference = poly_of(left) - poly_of(right)
    if difference.constant is not None:
        return difference.constant >= 0
    answer = value_of(left) >= value_of(right)
    if trace.loose:
        return answer
    trace.record(SizeFact("ge", difference) if answer else SizeFact("ge", -difference - Poly.of(1)))
    return answer


def floor(trace: Trace, top: Any, bottom: Any) -> Any:
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
    while rest.constant is not None and not 0 <= left < by and abs(left) <= 4 * by:
        step = 1 if left >= by else -1
        quotient, rest, left = quotient + Poly.of(step), rest - d.scaled(step), left - step * by
    alike = d.constant is not None or rest.symbols.isdisjoint(trace.apart)
    if not rest.terms or (0 <= left < by and alike):
        _within(trace, rest, d)
        return made(trace, value // by, quotient)
    if d.constant is not None:
        for more, part in ((Poly.of(0), p), (quotient, rest)):
            ends = least_of(part, trace.ends), least_of(-part, trace.ends)
            if ends[0] is not None and ends[1] is not None and ends[0] // by == -ends[1] // by:  # at all sizes
                return made(trace, value // by, more + Poly.of(ends[0] // by))
    whole = _own_quotient(trace, rest, d)
    return made(trace, value // by, quotient + whole)


def _both(trace: Trace, top: Any, bottom: Any) -> tuple[Any, Any]:
    """`divmod`. Where a trace is loose, the quotient and rest of this size are a proposal for the others."""
    if not trace.loose:
        rest = _rest(trace, top, bottom)
        return floor(trace, top, bottom), rest
    p, d, by = poly_of(top), poly_of(bottom), value_of(bottom)
    quotient, rest_poly = divided(p, d)
    left = rest_poly.at(trace.values)
    if not 0 <= left < by:
        step = left // by
        quotient, rest_poly, left = quotient + Poly.of(step), rest_poly - d.scaled(step), left - step * by
    return made(trace, value_of(top) // by, quotient), made(trace, left, rest_poly)


def _within(trace: Trace, rest: Poly, d: Poly) -> None:
    trace.record(SizeFact("ge", rest))
    trace.record(SizeFact("ge", d - rest - Poly.of(1)))


def _own_quotient(trace: Trace, rest: Poly, d: Poly) -> Poly:
    """A quotient by its name. One of `63 * N` by 64 is that of `-N`, and so `N - (N + 63) // 64`: equal ones meet."""
    number, moving = d.constant, [mono for mono in rest.terms if mono]
    if number is not None and moving and all(2 * rest.terms[mono] > number for mono in moving):
        whole = Poly(dict.fromkeys(moving, 1))
        return whole - _own_quotient(trace, whole.scaled(number) - rest + Poly.of(number - 1), d)
    name = floor_name(rest, d)
    if name not in trace.floors:
        trace.floors[name] = FloorQuotient(name, rest, d)
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
        fact = SizeFact("div", p, d)
        trace.record(fact)
        return 0
    if d.constant is not None and p.constant is None and all(c % d.constant == 0 for m, c in p.terms.items() if m):
        return p.terms.get((), 0) % d.constant
    if 0 <= value < by and d.constant is None:
        _within(trace, p, d)
        return top
    return Rest(trace, top, bottom)


class Rest(Shadow):
    """A remainder that is not 0 here; what else it is, is worked out when it is asked.

    Each time anew: what is recorded for one part of a rule may be left out again, and is needed by the next.
    """

    __slots__ = ("bottom", "top")

    def __init__(self, trace: Trace, top: Any, bottom: Any) -> None:
        self.trace = trace
        self.value = value_of(top) % value_of(bottom)
        self.top = top
        self.bottom = bottom

    @property
    def poly(self) -> Poly:  # type: ignore[override]
        return poly_of(self.top - self.bottom * floor(self.trace, self.top, self.bottom))

    def __eq__(self, other: object) -> Any:
        if isinstance(other, int) and other == 0:
            self.trace.record(SizeFact("ndiv", poly_of(self.top), poly_of(self.bottom)))
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
        least = by.at(trace.values)
        if whole is None and name not in trace.floors and least > 0 and trace.values[name] % least == 0:
            return name, by
        if name in trace.floors and not missing and trace.values[name] % factor == 0:
            one = trace.floors[name]
            if SizeFact("div", one.top, one.bottom) in trace.facts and len(one.top.terms) == 1 and one.top.symbols:
                return next(iter(one.top.symbols)), one.bottom.scaled(factor)
    return None
