"""Facts about sizes: polynomial comparisons and divisibility, the symbols they are about, and templates of plans.

Knows: facts and how they read at numbers, quotients that are no polynomials, conversion to the declared symbols.
Does not know: how facts come about, solvers.
Law: a fact holds at sizes exactly when `holds` says so; `cleared` and `lowered` change how it is written, never where
it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import lcm
from typing import Any

from dmaverify.errors import Span
from dmaverify.language.numbers import Poly, text_of
from dmaverify.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class SizeSymbol:
    """A size that is any of a range. `axis`: it counts in the product by which sizes are ordered."""

    name: str
    least: int
    most: int | None
    multiple: int = 1
    axis: bool = True
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def first(self) -> int:
        """The least admitted value."""
        return -(-self.least // self.multiple) * self.multiple

    @property
    def last(self) -> int | None:
        return None if self.most is None else self.most // self.multiple * self.multiple


@dataclass(frozen=True, slots=True)
class FactReason:
    """What asks for a fact: an obligation or rule, and its source."""

    rule: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class SizeFact:
    """`poly >= 0` (ge), `= 0` (eq), `!= 0` (ne), or that `by` divides it (div) or does not (ndiv)."""

    op: str
    poly: Poly
    by: Poly | None = None
    why: FactReason = field(default=FactReason(), compare=False)

    def holds(self, values: Mapping[str, int]) -> bool:
        value = self.poly.at(values)
        if self.by is None:
            return value >= 0 if self.op == "ge" else (value == 0) == (self.op == "eq")
        by = self.by.at(values)
        return (by != 0 and value % by == 0) == (self.op == "div")

    def negated(self) -> SizeFact:
        if self.op == "ge":
            return replace(self, poly=-self.poly - Poly.of(1))
        return replace(self, op={"eq": "ne", "ne": "eq", "div": "ndiv", "ndiv": "div"}[self.op])

    @property
    def known(self) -> bool | None:
        """Whether it holds everywhere or nowhere; None where that is not plain to see."""
        number = self.poly.constant
        if self.by is not None:
            by = self.by.constant
            if by is not None and by and all(c % by == 0 for c in self.poly.terms.values()):
                return self.op == "div"
            if number is None or by is None:
                return None
            return (by != 0 and number % by == 0) == (self.op == "div")
        if number is None:
            return None
        return number >= 0 if self.op == "ge" else (number == 0) == (self.op == "eq")

    @property
    def text(self) -> str:
        """In the language of `assume`."""
        if self.by is not None:
            by = text_of(self.by)
            if " " in by:
                by = f"({by})"
            whole = text_of(self.poly)
            whole = f"({whole})" if len(self.poly.terms) > 1 or " " in whole else whole
            return f"{whole} % {by} {'==' if self.op == 'div' else '!='} 0"
        return _comparison(self.poly, {"ge": ">=", "eq": "==", "ne": "!="}[self.op])


def _comparison(poly: Poly, sign: str) -> str:
    """The positive products on one side, the negative ones on the other; a lone number goes to the right."""
    content = Poly({m: c for m, c in poly.terms.items() if m}).content()
    constant = poly.terms.get((), 0)
    if content > 1 and (constant % content == 0 or sign == ">="):
        poly = Poly({m: (c // content) for m, c in poly.terms.items()})
    left = Poly({m: c for m, c in poly.terms.items() if c > 0})
    right = Poly({m: -c for m, c in poly.terms.items() if c < 0})
    if left.constant is not None:
        flipped = {">=": "<=", "==": "==", "!=": "!="}[sign]
        return f"{text_of(right)} {flipped} {text_of(left)}"
    return f"{text_of(left)} {sign} {text_of(right)}"


@dataclass(frozen=True, slots=True)
class FloorQuotient:
    """A quotient rounded down that is no polynomial; `name` is its text, so that equal ones have equal names."""

    name: str
    top: Poly
    bottom: Poly


def floor_name(top: Poly, bottom: Poly) -> str:
    low = text_of(bottom)
    return f"(({text_of(top)}) // {f'({low})' if ' ' in low else low})"


def with_floors(values: Mapping[str, int], floors: Iterable[FloorQuotient]) -> dict[str, int]:
    """Values of the symbols with those of the quotients, which may use each other in order."""
    out = dict(values)
    for one in floors:
        bottom = one.bottom.at(out)
        out[one.name] = one.top.at(out) // bottom if bottom else 0
    return out


def lowered(fact: SizeFact, floors: Mapping[str, FloorQuotient]) -> SizeFact:
    """A comparison of a single quotient with a number as one without the quotient: `t // b >= c` is `t >= b * c`."""
    if fact.op != "ge" or len(fact.poly.symbols) != 1:
        return fact
    (name,) = fact.poly.symbols
    one = floors.get(name)
    factor = fact.poly.terms.get((name,), 0)
    if one is None or factor == 0 or set(fact.poly.terms) - {(), (name,)}:
        return fact
    constant = fact.poly.terms.get((), 0)
    if factor > 0:  # name >= least
        least = -(constant // factor)
        return lowered(replace(fact, poly=one.top - one.bottom.scaled(least)), floors)
    greatest = constant // -factor
    return lowered(replace(fact, poly=one.bottom.scaled(greatest + 1) - one.top - Poly.of(1)), floors)


def normal(fact: SizeFact) -> SizeFact:
    """Without a factor that all products have: `8 C <= 100` is `C <= 12`."""
    moving = Poly({m: c for m, c in fact.poly.terms.items() if m})
    common, constant = moving.content(), fact.poly.terms.get((), 0)
    if common <= 1:
        return fact
    if fact.by is not None:
        by = fact.by.constant
        if by is None or constant % common or by % common:
            return fact
        smaller = Poly({m: c // common for m, c in fact.poly.terms.items()})
        return replace(fact, poly=smaller, by=Poly.of(by // common)) if by > common else fact
    if fact.op == "ge" or constant % common == 0:
        return replace(fact, poly=Poly({m: c // common for m, c in fact.poly.terms.items()}))
    return fact


@dataclass(frozen=True, slots=True)
class SizeRegion:
    """Sizes at which all facts hold."""

    facts: tuple[SizeFact, ...]
    floors: tuple[FloorQuotient, ...] = ()

    def holds(self, values: Mapping[str, int]) -> bool:
        whole = with_floors(values, self.floors) if self.floors else values
        return all(fact.holds(whole) for fact in self.facts)


@dataclass(frozen=True)
class SizedEntry:
    """One entry of a plan at chosen sizes: transfer, access or program, what makes no sense in it, all axes."""

    item: Any
    problems: Sequence[Any]
    axes: Mapping[str, int]


@dataclass(frozen=True)
class Template:
    """An entry of a plan with symbols. `at` reads it at sizes; it raises NoValue where they give it no meaning."""

    kind: str
    name: str
    path: str
    line: int
    target: str
    expect: tuple[str, ...] | None
    symbols: tuple[SizeSymbol, ...]
    assume: tuple[SizeFact, ...]
    floors: tuple[FloorQuotient, ...]
    at: Callable[[Mapping[str, Any]], SizedEntry]
    machine: Any = None
    span: Span | None = None
    looped: bool = False  # it has loops around it
    by_size: str = ""  # why it is judged at single sizes only
    text: Any = field(default=None, compare=False, repr=False)  # all of the file that it stands in; None: none is known

    @property
    def divisors(self) -> dict[str, Poly]:
        """What the declaration and the relations say that divides a size."""
        out = {one.name: Poly.of(one.multiple) for one in self.symbols if one.multiple > 1}
        names = {one.name for one in self.symbols}
        for fact in self.assume:
            if fact.op == "div" and fact.by is not None and len(fact.poly.terms) == 1 and fact.by.symbols <= names:
                ((mono, c),) = fact.poly.terms.items()
                if c != 1 or len(mono) != 1 or mono[0] not in names - fact.by.symbols:
                    continue
                old = out.get(mono[0])
                if old is None:
                    out[mono[0]] = fact.by
                elif old.constant is not None and fact.by.constant is not None:
                    out[mono[0]] = Poly.of(lcm(old.constant, fact.by.constant))
        return out

    def admits(self, values: Mapping[str, int]) -> bool:
        for one in self.symbols:
            value = values[one.name]
            if value < one.least or value % one.multiple or (one.most is not None and value > one.most):
                return False
        whole = with_floors(values, self.floors) if self.floors else values
        return all(fact.holds(whole) for fact in self.assume)

    def key(self, values: Mapping[str, int]) -> tuple[int, tuple[int, ...]]:
        """By which sizes are ordered: the product of the sizes, then each in the order of declaration."""
        product = 1
        for one in self.symbols:
            if one.axis:
                product *= values[one.name]
        return product, tuple(values[one.name] for one in self.symbols)
