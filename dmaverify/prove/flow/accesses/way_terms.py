"""Path conditions: what they ask of the numbers of a run, as conditions over symbols.

Knows: integers that truncate, wrap or stop. Does not know: decisions, ways (`ways`), any text.
Law: a term is one symbol for all values that it may have; `exact` where those are all that it has, and each of them
occurs. Without `wraps` a term means what it says only where nothing in it leaves its type.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmaverify.language.affine import FALSE, Cond, Lin, World, both, compare
from dmaverify.program.ways import ANY, NUMBER, SOME, WayTerm
from dmaverify.values import dataclass, field

Ends = tuple[int | None, int | None]
"""The least and the greatest value; None where there is none that is known."""
_TRUTHS = {"and", "or", "not", "==", "<", "stops"}
"""What is 1 where it holds and 0 where not, as a number."""


@dataclass
class TermReader:
    """Terms over the symbols of a world. `wraps`: what may leave its type is any value of it."""

    world: World
    wraps: bool = False
    known: dict[WayTerm, tuple[Lin, bool]] = field(default_factory=dict)

    def truth(self, term: WayTerm) -> tuple[Cond, bool]:
        """A truth as a condition, and whether it is exact."""
        if term.op in ("and", "or"):
            parts = [self.truth(one) for one in term.parts]
            return both([one for one, _ in parts], term.op), all(exact for _, exact in parts)
        if term.op == "not":
            inner, exact = self.truth(term.parts[0])
            return inner.negated(), exact
        if term.op in ("==", "<"):
            (left, first), (right, second) = map(self.number, term.parts)
            return compare("eq" if term.op == "==" else "lt", left - right), first and second
        if term.op == "stops":
            return self.stops(term.parts[0])
        value, exact = self.number(term)
        return compare("ne", value), exact

    def stops(self, term: WayTerm) -> tuple[Cond, bool]:
        """That an operation has no result within its type."""
        parts = [self.number(one) for one in term.parts]
        exact = all(own for _, own in parts)
        if term.op in ("/", "%"):
            none = compare("eq", parts[1][0])
            least = term.ends[0] if term.ends is not None else 0
            beyond = both([compare("eq", parts[0][0] - least), compare("eq", parts[1][0] + 1)])
            return both([none, beyond], "or") if least < 0 else none, exact
        if term.op in ("<<", ">>"):
            width = (term.ends[1] - term.ends[0]).bit_length() - 1 if term.ends is not None else None
            return (FALSE, False) if width is None else (_outside(parts[1][0], (0, width)), exact)
        if term.ends is None or term.op not in ("+", "-", "*", "neg"):
            return FALSE, term.ends is not None
        made, exact = self._exactly(term, parts)
        return _outside(made, term.ends), exact

    def leaving(self, term: WayTerm) -> Iterator[Cond]:
        """Where something in a term has no result, or leaves its type, but for what it asks that of."""
        for one in term.parts[0].parts if term.op == "stops" else term.parts:
            yield from self.leaving(one)
        if term.op in ("/", "%", "<<", ">>", "+", "-", "*", "neg"):
            yield self.stops(term)[0]
        if term.op == "<<" and term.ends is not None:
            yield _outside(self.number(term)[0], term.ends)

    def number(self, term: WayTerm) -> tuple[Lin, bool]:
        """A number, and whether it is exact."""
        if term not in self.known:
            if term.op in _TRUTHS:
                holds, exact = self.truth(term)
                made = self.world.choose(holds, Lin(1), Lin(0))
            else:
                made, exact = self._exactly(term, [self.number(one) for one in term.parts])
            if self.wraps and term.ends is not None and not _inside(self.world.interval(made), term.ends):
                made, exact = self._some(term.ends[0], term.ends[1] - 1), False
            self.known[term] = made, exact
        return self.known[term]

    def _exactly(self, term: WayTerm, parts: list[tuple[Lin, bool]]) -> tuple[Lin, bool]:
        if term.op == NUMBER:
            return Lin(term.value), True
        if term.op in (ANY, SOME):
            return self._some(*((term.ends[0], term.ends[1] - 1) if term.ends else (None, None))), term.op == ANY
        exact, values = all(own for _, own in parts), [value for value, _ in parts]
        if term.op in ("+", "-"):
            return values[0] + values[1] * (1 if term.op == "+" else -1), exact
        if term.op == "neg":
            return -values[0], exact
        if term.op == "as":
            return self._cast(term, values[0], exact)
        if term.op in ("min", "max"):
            return self.world.least(values[0], values[1], most=term.op == "max"), exact
        found = self._by_number(term.op, *values) if len(values) == 2 else None
        if found is not None:
            return found, exact
        return self._some(*self._hull(term, values)), False

    def _some(self, low: int | None, high: int | None) -> Lin:
        return self.world.free("n", low, high, alone=True)

    def _cast(self, term: WayTerm, value: Lin, exact: bool) -> tuple[Lin, bool]:
        if term.ends is None or _inside(self.world.interval(value), term.ends):
            return value, exact
        first, end = term.ends
        return (self._some(first, end - 1), False) if first else (self.world.modulo(value, end), exact)

    def _by_number(self, op: str, left: Lin, right: Lin) -> Lin | None:
        """What an operation gives that is linear, or a quotient of what is not negative."""
        if op == "*" and (left.is_const or right.is_const):
            return right * left.const if left.is_const else left * right.const
        if not right.is_const or right.const < 0:
            return self._by_number(op, right, left) if op in "&|^" and left.is_const and left.const >= 0 else None
        number, least = right.const, self.world.interval(left)[0]
        if op == "<<" and number < 128:
            return left * (1 << number)
        if op == ">>" and number < 128:
            return self.world.divide(left, 1 << number)
        if op == "&" and left.is_const and left.const >= 0:
            return Lin(left.const & number)
        unit = number & -number or 1
        if op == "&" and number // unit & (number // unit + 1) == 0:  # bits in a row
            return self.world.modulo(self.world.divide(left, unit), number // unit + 1) * unit
        if op in "|^" and (common := self._by_number("&", left, right)) is not None:
            return left + number - common * (1 if op == "|" else 2)
        if op not in ("/", "%") or not number:
            return None
        of = self.world.divide if op == "/" else self.world.modulo
        if least is not None and least >= 0:
            return of(left, number)
        return self.world.choose(compare("lt", left), -of(-left, number), of(left, number))  # it rounds towards 0

    def _hull(self, term: WayTerm, values: list[Lin]) -> Ends:
        """Between which numbers any other operation stays."""
        ends = [self.world.interval(one) for one in values]
        low, high = (max(map(abs, own)) if None not in own else None for own in ends[:2])  # type: ignore[arg-type]
        positive = [(own[0] or 0) >= 0 and own[0] is not None for own in ends]
        if term.op == "/":
            return (0 if all(positive) else None if low is None else -low), low
        if term.op == "%":
            most = min(
                (one for one in (low, None if high is None else max(0, high - 1)) if one is not None), default=None
            )
            return (0 if positive[0] else None if most is None else -most), most
        if term.op == "&" and any(positive):
            tops = [own[1] for own, up in zip(ends, positive, strict=True) if up and own[1] is not None]
            return 0, min(tops, default=None)
        if term.op in ("|", "^") and all(positive) and low is not None and high is not None:
            least = max(own[0] or 0 for own in ends) if term.op == "|" else 0
            return least, (1 << max(low, high).bit_length()) - 1
        if term.op == ">>" and positive[0]:
            return 0, ends[0][1]
        if term.op == "*" and None not in (*ends[0], *ends[1]):
            every = [a * b for a in ends[0] for b in ends[1]]  # type: ignore[operator]
            return min(every), max(every)
        return (term.ends[0], term.ends[1] - 1) if term.ends is not None else (None, None)


def _inside(ends: Ends, kind: tuple[int, int]) -> bool:
    return ends[0] is not None and ends[1] is not None and kind[0] <= ends[0] and ends[1] < kind[1]


def _outside(value: Lin, kind: tuple[int, int]) -> Cond:
    return both([compare("lt", value - kind[0]), compare("le", Lin(kind[1]) - value)], "or")


def always(term: WayTerm) -> bool | None:
    """Whether a truth holds whatever the numbers of a run are, in builds that wrap too; None where some of them may
    decide it.
    """
    world = World()
    return world.decide(TermReader(world, wraps=True).truth(term)[0])
