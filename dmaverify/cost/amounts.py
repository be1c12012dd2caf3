"""Amounts that depend on symbols: linear terms, sums over loops, the larger of two arms; as numbers, text and data.

Knows: how an amount is evaluated, written for people and for sympy, and whether it grows with a symbol.
Does not know: what is counted, prices.
Law: text, data and number say the same amount; a sum without closed form is written as a sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dmaverify.errors import InputError
from dmaverify.language.affine import Cond, Lin, World
from dmaverify.values import dataclass

MOST_ITERATIONS = 1 << 20
TOO_LONG = f"sums over more than {MOST_ITERATIONS:,} iterations are not computed"
MOST_APART = 64  # parts of a sum that are kept one by one


@dataclass(frozen=True, slots=True)
class Of:
    """A term."""

    term: Lin


@dataclass(frozen=True, slots=True)
class Scaled:
    """`amount * by / per`."""

    amount: Amount
    by: float = 1
    per: float = 1


@dataclass(frozen=True, slots=True)
class Add:
    """The sum of parts."""

    parts: tuple[Amount, ...]


@dataclass(frozen=True, slots=True)
class LoopSum:
    """The sum over the iterations of a loop, `counter` from 0 to `trip - 1`."""

    counter: str
    trip: Lin
    body: Amount


@dataclass(frozen=True, slots=True)
class Either:
    """`then` where the condition holds, else `other`; without values the larger."""

    when: Cond
    then: Amount
    other: Amount


Amount = Of | Scaled | Add | LoopSum | Either


def added(parts: list[Amount]) -> Amount:
    """The sum, nested sums of parts taken apart."""
    flat: list[Amount] = []
    for part in parts:
        flat += part.parts if isinstance(part, Add) else (part,)
    kept = [p for p in flat if p != Of(Lin(0))]
    if len(kept) > MOST_APART:  # as many alike are one, so many times
        kept = [part if times == 1 else Scaled(part, times) for part, times in Counter(kept).items()]
    return kept[0] if len(kept) == 1 else Add(tuple(kept))


def symbols_of(amount: Amount, world: World) -> set[str]:
    """The symbols that an amount depends on."""
    if isinstance(amount, Of):
        return world.roots(amount.term)
    if isinstance(amount, Scaled):
        return symbols_of(amount.amount, world)
    if isinstance(amount, Add):
        return {n for part in amount.parts for n in symbols_of(part, world)}
    if isinstance(amount, Either):
        return world.roots(amount.when) | symbols_of(amount.then, world) | symbols_of(amount.other, world)
    return (world.roots(amount.trip) | symbols_of(amount.body, world)) - {amount.counter}


class AmountsAt:
    """Amounts at values of their symbols: each sum is taken once, all of them together over so many iterations."""

    def __init__(self, world: World, at: Mapping[str, Lin]) -> None:
        self.world, self.at, self.left = world, at, MOST_ITERATIONS
        self.known: dict[LoopSum, float] = {}

    def value(self, amount: Amount) -> float:
        """Raises InputError where a symbol has no value, or sums take too long."""
        return self._at(amount, self.at)

    def _at(self, amount: Amount, at: Mapping[str, Lin]) -> float:
        world = self.world
        if isinstance(amount, Of):
            put = world.put(amount.term, at)
            if not put.is_const:
                missing = sorted({world.symbols[n].shown for n in world.roots(put)})
                raise InputError(f"{', '.join(missing)} has no value", None, f"--set {missing[0].lstrip('%')}=NUMBER")
            return put.const
        if isinstance(amount, Scaled):
            return self._at(amount.amount, at) * amount.by / amount.per
        if isinstance(amount, Add):
            return sum(self._at(part, at) for part in amount.parts)
        if isinstance(amount, Either):
            known = world.put_cond(amount.when, at).known
            if known is None:
                return max(self._at(amount.then, at), self._at(amount.other, at))
            return self._at(amount.then if known else amount.other, at)
        if at is not self.at:
            return self._sum(amount, at)
        if amount not in self.known:
            self.known[amount] = self._sum(amount, at)
        return self.known[amount]

    def _sum(self, amount: LoopSum, at: Mapping[str, Lin]) -> float:
        trip = max(0, int(self._at(Of(amount.trip), at)))
        self.left -= trip
        if self.left < 0:
            raise InputError(TOO_LONG, None, "smaller values with --set; without any, the formula is told")
        return sum(self._at(amount.body, {**at, amount.counter: Lin(k)}) for k in range(trip))


def grows(amount: Amount, world: World, name: str) -> bool:
    """Whether more of a symbol is never less of the amount, as far as its form shows (for values not negative)."""
    if isinstance(amount, Of):
        return _grows(amount.term, world, name)
    if isinstance(amount, Scaled):
        return grows(amount.amount, world, name)
    if isinstance(amount, Add):
        return all(grows(part, world, name) for part in amount.parts)
    if isinstance(amount, Either):
        fixed = name not in world.roots(amount.when)
        return fixed and grows(amount.then, world, name) and grows(amount.other, world, name)
    return _grows(amount.trip, world, name) and grows(amount.body, world, name)


def _grows(term: Lin, world: World, name: str) -> bool:
    for symbol, factor in term.terms:
        if name not in world.roots(Lin(0, ((symbol, 1),))):
            continue
        what, *args = world.symbols[symbol].definition or ("",)
        parts = [a for a in args if isinstance(a, Lin)]
        if what == "quo" and name in world.roots(parts[1]):
            return False
        if factor < 0 or what in ("mod", "ite") or not all(_grows(p, world, name) for p in parts):
            return False
        if what == "mul" and any(_below_zero(p, world) for p in parts):
            return False
    return True


def _below_zero(term: Lin, world: World) -> bool:
    """Whether a term may be negative where no symbol without a lower end is."""
    low = world.interval(term)[0]
    if low is not None:
        return low < 0
    parts = [p for name, _ in term.terms for p in world.symbols[name].definition[1:] if isinstance(p, Lin)]
    return term.const < 0 or any(factor < 0 for _, factor in term.terms) or any(_below_zero(p, world) for p in parts)


# ------------------------------------------------------------------------------------------ text


def number(x: float) -> str:
    return f"{x:,.0f}" if x == int(x) else f"{x:g}"


def shown(amount: Amount, world: World, *, inside: bool = False) -> str:
    """As people write it. `inside`: of a sum, where each iteration takes the arm whose condition holds."""
    if isinstance(amount, Of):
        return term_text(amount.term, world)
    if isinstance(amount, Scaled):
        inner = shown(amount.amount, world, inside=inside)
        inner = f"({inner})" if _several(amount.amount) else inner
        by = f"{number(amount.by)} * " if amount.by != 1 else ""
        per = f" / {number(amount.per)}" if amount.per != 1 else ""
        return f"{by}{inner}{per}" if inner != "1" else f"{number(amount.by)}{per}"
    if isinstance(amount, Add):
        return " + ".join(shown(part, world, inside=inside) for part in amount.parts) or "0"
    if isinstance(amount, Either):
        then, other = (shown(arm, world, inside=inside) for arm in (amount.then, amount.other))
        return f"({then} if {condition_text(amount.when, world)} else {other})" if inside else f"max({then}, {other})"
    counter = world.symbols[amount.counter].shown
    return f"sum({shown(amount.body, world, inside=True)}, {counter}, 0, {term_text(amount.trip - 1, world)})"


def _several(amount: Amount) -> bool:
    """Whether an amount is written with a sign between its parts."""
    if isinstance(amount, Of):
        return len(amount.term.terms) + bool(amount.term.const) > 1
    return isinstance(amount, Add) and len(amount.parts) > 1


def term_text(term: Lin, world: World, *, plain: bool = False) -> str:
    """A linear term with the names of the text. `plain`: as sympy reads it, names without their mark."""
    parts: list[str] = []
    for name, factor in term.terms:
        text = _symbol_text(name, world, plain)
        scale = "" if abs(factor) == 1 else f"{abs(factor)} * "
        sign = ("-" if factor < 0 else "") if not parts else (" - " if factor < 0 else " + ")
        parts.append(f"{sign}{scale}{text}")
    if term.const or not parts:
        whole = str(abs(term.const)) if plain else f"{abs(term.const):,}"
        sign = ("-" if term.const < 0 else "") if not parts else (" - " if term.const < 0 else " + ")
        parts.append(f"{sign}{whole}")
    return "".join(parts)


def _symbol_text(name: str, world: World, plain: bool) -> str:
    symbol = world.symbols[name]
    what, *args = symbol.definition or ("",)
    if not what:
        return plain_name(symbol.shown) if plain else symbol.shown
    texts = [
        term_text(a, world, plain=plain)
        if isinstance(a, Lin)
        else condition_text(a, world, plain=plain)
        if isinstance(a, Cond)
        else str(a)
        for a in args
    ]
    grouped = [f"({t})" if " + " in t or " - " in t else t for t in texts]
    if what in ("div", "quo"):
        return f"floor({grouped[0]} / {grouped[1]})"
    if what == "mod":
        return f"Mod({texts[0]}, {texts[1]})" if plain else f"({texts[0]} mod {texts[1]})"
    if what == "mul":
        return f"{grouped[0]} * {grouped[1]}"
    if what == "ite":
        return f"Piecewise(({texts[1]}, {texts[0]}), ({texts[2]}, True))" if plain else (
            f"({texts[1]} if {texts[0]} else {texts[2]})"
        )  # fmt: skip
    name = str(what)
    return f"{name.capitalize() if plain else name}({texts[0]}, {texts[1]})"


def condition_text(when: Cond, world: World, *, plain: bool = False) -> str:
    """A condition with the names of the text."""
    if when.op == "const":
        return "True" if when.left.const else "False"
    if when.op in ("and", "or"):
        join = {"and": " & ", "or": " | "}[when.op] if plain else f" {when.op} "
        return join.join(f"({condition_text(p, world, plain=plain)})" for p in when.parts)
    if when.op == "not":
        inner = condition_text(when.parts[0], world, plain=plain)
        return f"~({inner})" if plain else f"not ({inner})"
    sign = {"eq": "==", "ne": "!=", "lt": "<", "le": "<="}[when.op]
    left = Lin(max(when.left.const, 0), tuple((n, f) for n, f in when.left.terms if f > 0))
    right = left - when.left
    a, b = term_text(left, world, plain=plain), term_text(right, world, plain=plain)
    if plain and when.op in ("eq", "ne"):
        return f"{'Eq' if when.op == 'eq' else 'Ne'}({a}, {b})"
    return f"{a} {sign} {b}"


def plain_name(text: str) -> str:
    """A name that sympy and shells take: without its mark, dots and dashes as underscores."""
    name = "".join(c if c.isalnum() else "_" for c in text.lstrip("%"))
    return name if name[:1].isalpha() else f"v{name}"


def sympy_text(amount: Amount, world: World) -> str:
    """As `sympy.sympify` reads it: floor, Mod, Min, Max, Sum, Piecewise."""
    if isinstance(amount, Of):
        return term_text(amount.term, world, plain=True)
    if isinstance(amount, Scaled):
        by = f" * {amount.by!r}" if amount.by != 1 else ""
        per = f" / {amount.per!r}" if amount.per != 1 else ""
        return f"({sympy_text(amount.amount, world)}){by}{per}"
    if isinstance(amount, Add):
        return " + ".join(sympy_text(part, world) for part in amount.parts) or "0"
    if isinstance(amount, Either):
        when = condition_text(amount.when, world, plain=True)
        return f"Piecewise(({sympy_text(amount.then, world)}, {when}), ({sympy_text(amount.other, world)}, True))"
    counter = plain_name(world.symbols[amount.counter].shown)
    top = term_text(amount.trip - 1, world, plain=True)
    return f"Sum({sympy_text(amount.body, world)}, ({counter}, 0, {top}))"


def tree(amount: Amount, world: World) -> Any:
    """As data: numbers and terms as text, operations as objects."""
    if isinstance(amount, Of):
        return amount.term.const if amount.term.is_const else term_text(amount.term, world, plain=True)
    if isinstance(amount, Scaled):
        return {"op": "scale", "of": tree(amount.amount, world), "by": amount.by, "per": amount.per}
    if isinstance(amount, Add):
        return {"op": "add", "parts": [tree(part, world) for part in amount.parts]}
    if isinstance(amount, Either):
        arms = {"then": tree(amount.then, world), "else": tree(amount.other, world)}
        return {"op": "either", "when": condition_text(amount.when, world), **arms}
    counter = plain_name(world.symbols[amount.counter].shown)
    trip = term_text(amount.trip, world, plain=True)
    return {"op": "sum", "counter": counter, "trip": trip, "of": tree(amount.body, world)}
