"""Linear terms over symbols, conditions on them, and what is said of a symbol.

Knows: sums of multiples, comparisons with 0. Does not know: what a symbol is defined by, its range in a program.
Law: arithmetic is exact on all integers; a condition is folded only where its term is a number.
"""

from __future__ import annotations

from collections.abc import Iterable

from dmaverify.language.numbers import same
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class Lin:
    """`const + sum(coefficient * symbol)`; terms sorted by symbol, none of them zero."""

    const: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    @property
    def is_const(self) -> bool:
        return not self.terms

    def __add__(self, other: Lin | int) -> Lin:
        if not isinstance(other, Lin):
            return Lin(self.const + other, self.terms)
        if not other.terms:
            return Lin(self.const + other.const, self.terms)
        if not self.terms:
            return Lin(self.const + other.const, other.terms)
        merged = dict(self.terms)
        for name, factor in other.terms:
            merged[name] = merged.get(name, 0) + factor
        return Lin(self.const + other.const, tuple(sorted([(n, f) for n, f in merged.items() if not same(f, 0)])))

    def __neg__(self) -> Lin:
        return self * -1

    def __sub__(self, other: Lin | int) -> Lin:
        return self + (-other)

    def __mul__(self, factor: int) -> Lin:
        if same(factor, 1):
            return self
        if same(factor, 0):
            return ZERO
        return Lin(self.const * factor, tuple([(n, f * factor) for n, f in self.terms]))

    def shown(self) -> str:
        """As people write it."""
        parts = [f"{name}" if f == 1 else f"-{name}" if f == -1 else f"{f} * {name}" for name, f in self.terms]
        if self.const or not parts:
            parts.append(f"{self.const:,}")
        return " + ".join(parts).replace("+ -", "- ")


ZERO, ONE = Lin(0), Lin(1)


@dataclass(frozen=True, slots=True)
class Cond:
    """`op` is const (number 0 or 1), eq, ne, lt, le (of `left` with 0), and, or, not."""

    op: str
    left: Lin = ZERO
    parts: tuple[Cond, ...] = ()

    @property
    def known(self) -> bool | None:
        return bool(self.left.const) if self.op == "const" else None

    def negated(self) -> Cond:
        if self.op == "const":
            return FALSE if self.left.const else TRUE
        if self.op == "not":
            return self.parts[0]
        if self.op == "eq":
            return Cond("ne", self.left)
        if self.op == "ne":
            return Cond("eq", self.left)
        if self.op == "lt":  # left < 0 fails: -left <= 0
            return Cond("le", -self.left)
        if self.op == "le":
            return Cond("lt", -self.left)
        return Cond("not", ZERO, (self,))

    @property
    def size(self) -> int:
        """How many comparisons it holds."""
        return sum(part.size for part in self.parts) if self.parts else 1

    def symbols(self) -> Iterable[str]:
        yield from (name for name, _ in self.left.terms)
        for part in self.parts:
            yield from part.symbols()


TRUE, FALSE = Cond("const", ONE), Cond("const", ZERO)


def compare(op: str, left: Lin) -> Cond:
    """`left OP 0`, folded where it is a number."""
    if not left.terms:
        value = {"eq": left.const == 0, "ne": left.const != 0, "lt": left.const < 0, "le": left.const <= 0}[op]
        return TRUE if value else FALSE
    return Cond(op, left)


def both(parts: Iterable[Cond], op: str = "and") -> Cond:
    """Conjunction, or with `op` or the disjunction."""
    neutral, absorbing = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    kept = [part for part in parts if part != neutral]
    if absorbing in kept:
        return absorbing
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else Cond(op, ZERO, tuple(kept))


@dataclass(frozen=True, slots=True)
class RangedSymbol:
    """`low` and `high` are inclusive (None: open). `stated` is False for a value whose range nobody gave.

    `definition` is () for a free symbol, else (operation, arguments...); `side` holds conditions that always hold.
    `loaded` is True for a value that memory gives; `varies` names the counters of the loops in each iteration of which
    it may be another one. `surely` is a value that it has in one run or another, whatever nobody stated. `lost`: what
    the text does decides it, and nobody follows how, so that nothing may be supposed of it. `first`: with which value a
    loop begins that carries it, so that nothing may be supposed that does not hold of that.
    """

    name: str
    low: int | None = None
    high: int | None = None
    stated: bool = True
    definition: tuple[object, ...] = ()
    side: tuple[Cond, ...] = ()
    shown: str = ""
    loaded: bool = False
    varies: tuple[str, ...] = ()
    surely: int | None = None
    lost: bool = False
    first: Lin | None = None


def names_in(part: object) -> list[str]:
    """The symbols of a term or condition; none of anything else."""
    if isinstance(part, Lin):
        return [name for name, _ in part.terms]
    return list(part.symbols()) if isinstance(part, Cond) else []


def product_bounds(
    left: tuple[int | None, int | None], right: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    """Bounds of a product. Half-open ranges count where both are not negative."""
    if None not in (*left, *right):
        ends = [a * b for a in left for b in right]  # type: ignore[operator]
        return min(ends), max(ends)
    if left[0] is not None and right[0] is not None and left[0] >= 0 and right[0] >= 0:
        return left[0] * right[0], None
    return None, None
