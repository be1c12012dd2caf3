"""Numbers that depend on symbols: linear terms, the few operations beside them, conditions; all exact.

Knows: floor division, products, minimum and choice as symbols with a definition, ranges of symbols.
Does not know: what a symbol stands for in a program, solvers (it writes text that one can read).
Law: what is not linear is a symbol; `interval` contains all values that ranges allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dmaverify.language.linear import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Cond,
    Lin,
    RangedSymbol,
    both,
    compare,
    names_in,
    product_bounds,
)
from dmaverify.values import dataclass, field, replace

__all__ = ["FALSE", "ONE", "TRUE", "ZERO", "Cond", "Lin", "World", "both", "compare"]


@dataclass
class World:
    """All symbols of one kernel. Derived symbols are made once for each definition."""

    symbols: dict[str, RangedSymbol] = field(default_factory=dict)
    derived: dict[tuple[object, ...], str] = field(default_factory=dict)
    given: list[Cond] = field(default_factory=list)  # what is stated of several symbols together
    supposed: list[Cond] = field(default_factory=list)  # conditions of the text that nobody states
    witnessed: list[Cond] = field(default_factory=list)  # what values have to meet: too hard as a premise

    # ------------------------------------------------------------ symbols

    def free(
        self,
        name: str,
        low: int | None,
        high: int | None,
        *,
        stated: bool = True,
        side: tuple[Cond, ...] = (),
        shown: str = "",
        loaded: bool = False,
        varies: tuple[str, ...] = (),
        alone: bool = False,
    ) -> Lin:
        """A new symbol; a name that is taken gets a number. `alone`: the value itself, where there is one alone."""
        base, number = name, 1
        while name in self.symbols:
            number += 1
            name = f"{base}_{number}"
        self.symbols[name] = RangedSymbol(name, low, high, stated, (), side, shown or name, loaded, varies)
        return Lin(low) if alone and low is not None and low == high else Lin(0, ((name, 1),))

    def _derive(self, definition: tuple[object, ...], low: int | None, high: int | None) -> Lin:
        name = self.derived.get(definition)
        if name is None:
            name = f"${definition[0]}{len(self.derived)}"
            self.derived[definition] = name
            self.symbols[name] = RangedSymbol(name, low, high, True, definition, (), name)
        return Lin(0, ((name, 1),))

    # ------------------------------------------------------------ arithmetic

    def divide(self, left: Lin, divisor: int) -> Lin:
        """floor(left / divisor) for a divisor of at least 1."""
        whole = Lin(left.const // divisor, tuple((n, f // divisor) for n, f in left.terms if f % divisor == 0))
        rest = Lin(left.const % divisor, tuple((n, f) for n, f in left.terms if f % divisor))
        if not rest.terms:
            return whole
        low, high = self.interval(rest)
        if low is not None and high is not None and low // divisor == high // divisor:
            return whole + low // divisor
        bounds = (None if low is None else low // divisor, None if high is None else high // divisor)
        return whole + self._derive(("div", rest, divisor), *bounds)

    def modulo(self, left: Lin, divisor: int) -> Lin:
        """left - divisor * floor(left / divisor): 0 to divisor - 1."""
        for name, factor in left.terms:
            what, *args = self.symbols[name].definition or ("",)
            if what == "mod" and isinstance(args[1], int) and args[1] % divisor == 0 and isinstance(args[0], Lin):
                left = left + (args[0] - Lin(0, ((name, 1),))) * factor  # a remainder of a remainder
            elif what == "mul":
                sides = [
                    Lin(a.const % divisor, tuple((n, f % divisor) for n, f in a.terms if f % divisor))
                    for a in args
                    if isinstance(a, Lin)
                ]
                left = left + (self.times(*sides) - Lin(0, ((name, 1),))) * factor
        rest = Lin(left.const % divisor, tuple((n, f % divisor) for n, f in left.terms if f % divisor))
        if not rest.terms:
            return rest
        low, high = self.interval(rest)
        if low is not None and high is not None and low // divisor == high // divisor:
            return rest - low // divisor * divisor
        if divisor == 2 and rest.const:
            return ONE - self.modulo(rest - 1, divisor)
        return self._derive(("mod", rest, divisor), 0, divisor - 1)

    def quotient(self, left: Lin, divisor: Lin) -> Lin:
        """floor(left / divisor) for a divisor that is a term of at least 1."""
        if divisor.is_const and divisor.const > 0:
            return self.divide(left, divisor.const)
        whole = ZERO
        for name, factor in left.terms:
            what, *args = self.symbols[name].definition or ("",)
            one = Lin(0, ((name, 1),))
            if what == "mul" and divisor in args:
                other = args[1 - args.index(divisor)]
                assert isinstance(other, Lin)
                whole, left = whole + other * factor, left - one * factor
            elif one == divisor:
                whole, left = whole + factor, left - one * factor
        if left == ZERO:
            return whole
        low, high = self.interval(left)
        least, most = self.interval(divisor)
        least = max(least or 1, 1)
        if low is not None:
            low = low // least if low < 0 else 0 if most is None else low // max(most, 1)
        if high is not None:
            high = high // least if high >= 0 else -1
        return whole + self._derive(("quo", left, divisor), low, high)

    def quotient_facts(self, name: str) -> list[Cond]:
        """What a quotient is, by its product with the divisor."""
        what, *args = self.symbols[name].definition or ("",)
        if what != "quo":
            return []
        left, divisor = args
        assert isinstance(left, Lin)
        assert isinstance(divisor, Lin)
        product = self.times(Lin(0, ((name, 1),)), divisor)
        none = FALSE if (self.interval(divisor)[0] or 0) > 0 else compare("le", divisor)  # then there is no quotient
        return [both([none, f], "or") for f in (compare("le", product - left), compare("lt", left - product - divisor))]

    def round_up(self, left: Lin, unit: int) -> Lin:
        """The least multiple of `unit` that is at least `left`."""
        return self.divide(left + (unit - 1), unit) * unit

    def times(self, left: Lin, right: Lin) -> Lin:
        if left.is_const:
            return right * left.const
        if right.is_const:
            return left * right.const
        pair = (left, right) if left.terms <= right.terms else (right, left)
        return self._derive(("mul", *pair), *product_bounds(self.interval(left), self.interval(right)))

    def expanded(self, value: Lin) -> Lin:
        """The same term with products of sums multiplied out, if that leaves fewer parts."""
        if not any(self.symbols[n].definition[:1] == ("mul",) for n, _ in value.terms):
            return value
        out = self._multiplied(value)
        return out if len(out.terms) < len(value.terms) else value

    def _multiplied(self, value: Lin) -> Lin:
        out = Lin(value.const)
        for name, factor in value.terms:
            what, *args = self.symbols[name].definition or ("",)
            if what != "mul":
                out = out + Lin(0, ((name, factor),))
                continue
            left, right = (self._multiplied(a) for a in args if isinstance(a, Lin))
            one, other = Lin(0, left.terms), Lin(0, right.terms)
            out = out + (right * left.const + one * right.const) * factor
            for mine, a in one.terms:
                for theirs, b in other.terms:
                    pair = sorted((mine, theirs))
                    product = self.times(Lin(0, ((pair[0], 1),)), Lin(0, ((pair[1], 1),)))
                    out = out + product * (a * b * factor)
        return out

    def least(self, left: Lin, right: Lin, *, most: bool = False) -> Lin:
        """The smaller of two, or with `most` the larger."""
        gap = self.interval(left - right)
        if gap[1] is not None and gap[1] <= 0:
            return right if most else left
        if gap[0] is not None and gap[0] >= 0:
            return left if most else right
        (a, b), (c, d) = self.interval(left), self.interval(right)
        ends = (a, c), (b, d)
        pick = max if most else min
        known = [None if None in pair else pick(pair) for pair in ends]  # type: ignore[type-var]
        if most:
            known[0] = known[0] if known[0] is not None else a if a is not None else c
        else:
            known[1] = known[1] if known[1] is not None else b if b is not None else d
        return self._derive(("max" if most else "min", left, right), known[0], known[1])

    def choose(self, when: Cond, left: Lin, right: Lin) -> Lin:
        """`left` where the condition holds, else `right`."""
        if (known := self.decide(when)) is not None:
            return left if known else right
        if left == right:
            return left
        gap = right - left
        if when.op in ("lt", "le") and when.left == -gap:
            return self.least(left, right)
        if when.op in ("lt", "le") and when.left == gap:
            return self.least(left, right, most=True)
        if when.op in ("eq", "ne") and gap.is_const and self.interval(when.left) in ((0, 1), (-1, 0)):
            bit = when.left if self.interval(when.left)[1] == 1 else -when.left  # 0 where `eq` holds, else 1
            return left + bit * gap.const if when.op == "eq" else right - bit * gap.const
        (a, b), (c, d) = self.interval(left), self.interval(right)
        low = None if a is None or c is None else min(a, c)
        high = None if b is None or d is None else max(b, d)
        return self._derive(("ite", when, left, right), low, high)

    # ------------------------------------------------------------ what is known

    def interval(self, value: Lin) -> tuple[int | None, int | None]:
        """Bounds of a term, inclusive; None where there is none."""
        low: int | None = value.const
        high: int | None = value.const
        for name, factor in value.terms:
            symbol = self.symbols[name]
            ends = (symbol.low, symbol.high) if factor > 0 else (symbol.high, symbol.low)
            low = None if low is None or ends[0] is None else low + factor * ends[0]
            high = None if high is None or ends[1] is None else high + factor * ends[1]
        return low, high

    def decide(self, when: Cond) -> bool | None:
        """True or False where the ranges alone decide it."""
        if when.op == "const":
            return bool(when.left.const)
        if when.op == "not":
            inner = self.decide(when.parts[0])
            return None if inner is None else not inner
        if when.op in ("and", "or"):
            found = [self.decide(part) for part in when.parts]
            if (when.op == "or") in found:
                return when.op == "or"
            return None if None in found else when.op == "and"
        low, high = self.interval(when.left)
        if when.op in ("lt", "le"):
            edge = 0 if when.op == "lt" else 1
            if high is not None and high < edge:
                return True
            return False if low is not None and low >= edge else None
        if low == high == 0 and low is not None:
            return when.op == "eq"
        if (low is not None and low > 0) or (high is not None and high < 0):
            return when.op == "ne"
        return None

    def roots(self, value: Lin | Cond) -> set[str]:
        """The free symbols that a term depends on, those that bound a loop counter included."""
        return self._closure(value, bounds=True)

    def _closure(self, value: Lin | Cond, *, bounds: bool) -> set[str]:
        todo = [n for n, _ in value.terms] if isinstance(value, Lin) else list(value.symbols())
        seen: set[str] = set()
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            symbol = self.symbols[name]
            for part in (*symbol.definition[1:], *(symbol.side if bounds else ())):
                todo += names_in(part)
        return {n for n in seen if not self.symbols[n].definition}

    # ------------------------------------------------------------ values that another iteration may change

    def loaded(self, value: Lin | Cond) -> bool:
        """Whether this is computed from a value that memory gives; what bounds a loop counter is left out."""
        return any(self.symbols[n].loaded for n in self._closure(value, bounds=False))

    def changes(self, value: Lin | Cond, counters: Iterable[str]) -> bool:
        """Whether this depends on a value that may be another one in another iteration of those loops."""
        moved = set(counters)
        return any(not moved.isdisjoint(self.symbols[n].varies) for n in self.roots(value))

    def anew(self, counters: Iterable[str]) -> dict[str, Lin]:
        """For every value that varies with those loops, the one of some other iteration."""
        moved = set(counters)
        return {
            n: self._derive_free(s)
            for n, s in list(self.symbols.items())
            if s.varies and not moved.isdisjoint(s.varies)
        }

    def _derive_free(self, symbol: RangedSymbol) -> Lin:
        key = ("earlier", symbol.name)
        if key not in self.derived:
            ends = (symbol.low, symbol.high)
            made = self.free(f"{symbol.name}_before", *ends, stated=symbol.stated, loaded=symbol.loaded)
            name = made.terms[0][0]
            self.symbols[name] = replace(self.symbols[name], shown=f"earlier {symbol.shown}")
            self.derived[key] = name
        return Lin(0, ((self.derived[key], 1),))

    # ------------------------------------------------------------ substitution

    def put(self, value: Lin, mapping: Mapping[str, Lin]) -> Lin:
        """The term with symbols replaced, also inside of definitions."""
        if not value.terms or not mapping:
            return value
        out = Lin(value.const)
        for name, factor in value.terms:
            out = out + self._put_symbol(name, mapping) * factor
        return out

    def _put_symbol(self, name: str, mapping: Mapping[str, Lin]) -> Lin:
        if name in mapping:
            return mapping[name]
        what, *args = self.symbols[name].definition or ("",)
        parts = [
            self.put(a, mapping) if isinstance(a, Lin) else self.put_cond(a, mapping) if isinstance(a, Cond) else a
            for a in args
        ]
        if not what or parts == args:
            return Lin(0, ((name, 1),))
        return self.define(str(what), parts)

    def define(self, what: str, parts: Sequence[object]) -> Lin:
        """The term that a definition means: its operation on these arguments."""
        if what == "div":
            return self.divide(parts[0], parts[1])  # type: ignore[arg-type]
        if what == "mod":
            return self.modulo(parts[0], parts[1])  # type: ignore[arg-type]
        if what == "quo":
            return self.quotient(parts[0], parts[1])  # type: ignore[arg-type]
        if what == "mul":
            return self.times(parts[0], parts[1])  # type: ignore[arg-type]
        if what == "ite":
            return self.choose(parts[0], parts[1], parts[2])  # type: ignore[arg-type]
        return self.least(parts[0], parts[1], most=what == "max")  # type: ignore[arg-type]

    def put_cond(self, when: Cond, mapping: Mapping[str, Lin]) -> Cond:
        if when.op == "const" or not mapping:
            return when
        if when.op == "not":
            return self.put_cond(when.parts[0], mapping).negated()
        if when.op in ("and", "or"):
            return both([self.put_cond(part, mapping) for part in when.parts], when.op)
        return compare(when.op, self.put(when.left, mapping))

    # ------------------------------------------------------------ text for a solver

    def text(self, value: Lin) -> str:
        parts = (
            [str(value.const) if value.const >= 0 else f"(- {-value.const})"] if value.const or not value.terms else []
        )
        for name, factor in value.terms:
            number = str(factor) if factor >= 0 else f"(- {-factor})"
            parts.append(name if factor == 1 else f"(* {number} {name})")
        return parts[0] if len(parts) == 1 else f"(+ {' '.join(parts)})"

    def cond_text(self, when: Cond) -> str:
        if when.op == "const":
            return "true" if when.left.const else "false"
        if when.op in ("and", "or", "not"):
            return f"({when.op} {' '.join(self.cond_text(part) for part in when.parts)})"
        body = self.text(when.left)
        return {"eq": f"(= {body} 0)", "ne": f"(not (= {body} 0))", "lt": f"(< {body} 0)", "le": f"(<= {body} 0)"}[
            when.op
        ]

    def context(self, names: Iterable[str]) -> tuple[list[tuple[str, int | None, int | None]], list[str]]:
        """Every symbol that those depend on as (name, low, end), and all that is known of them, as text."""
        todo, seen = list(names), {}
        facts: list[str] = []
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            symbol = self.symbols[name]
            seen[name] = (name, symbol.low, None if symbol.high is None else symbol.high + 1)
            for condition in (*symbol.side, *self.quotient_facts(name)):
                facts.append(self.cond_text(condition))
                todo += condition.symbols()
            what, *args = symbol.definition or ("",)
            for part in args:
                todo += names_in(part)
            texts = [
                self.text(a) if isinstance(a, Lin) else self.cond_text(a) if isinstance(a, Cond) else str(a)
                for a in args
            ]
            if what == "div":
                facts.append(
                    f"(and (<= (* {texts[1]} {name}) {texts[0]}) (< {texts[0]} (+ (* {texts[1]} {name}) {texts[1]})))"
                )
            elif what == "mod":
                facts.append(f"(= {name} (mod {texts[0]} {texts[1]}))")
            elif what == "mul":
                facts.append(f"(= {name} (* {texts[0]} {texts[1]}))")
            elif what == "ite":
                facts.append(f"(= {name} (ite {' '.join(texts)}))")
            elif what in ("min", "max"):
                order = "<=" if what == "min" else ">="
                facts.append(f"(= {name} (ite ({order} {texts[0]} {texts[1]}) {texts[0]} {texts[1]}))")
        return sorted(seen.values()), sorted(set(facts))
