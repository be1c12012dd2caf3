"""Conditions on arguments, as they are told: in words of the text, and only where they stand for more than one value.

Knows: facts about symbols, powers of two. Does not know: how they are found.
Law: a condition says what the facts say, and none that leaves an argument one value stands for others; beside such a
condition a flag may have one (`mode != 0; or mode == 0 and n <= 64`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count

from dmaverify.language.numbers import Poly, text_of
from dmaverify.prove.sizes.complete import outside_all
from dmaverify.prove.sizes.facts import FloorQuotient, SizeFact, SizeRegion, SizeSymbol, Template, normal, with_floors
from dmaverify.values import dataclass, field, replace

NEAR = 12
"""A number that differs from a power of two by less, in bits, is told by how far it does."""

WORTH, MOST_OPEN = 500_000, 16
"""What the solver may take for a question about fewer words, and how many such questions of a function it may leave
open: a condition with more words is right, too.
"""


def fixes(facts: Sequence[SizeFact], symbols: Mapping[str, SizeSymbol]) -> bool:
    """Whether facts leave an argument one value alone: then they stand for no others."""
    ends = {name: [one.least, one.most if one.most is not None else one.least] for name, one in symbols.items()}
    for fact in facts:
        if fact.op not in ("ge", "eq", "ne") or len(fact.poly.symbols) != 1 or set(map(len, fact.poly.terms)) - {0, 1}:
            continue
        (name,) = fact.poly.symbols
        for poly in (fact.poly, -fact.poly) if fact.op == "eq" else (fact.poly,):
            factor, rest = poly.terms[name,], poly.terms.get((), 0)
            if name in ends and fact.op == "ne":
                ends[name][0] += rest == -factor * ends[name][0]
            elif name in ends and factor > 0:
                ends[name][0] = max(ends[name][0], -(rest // factor))
            elif name in ends:
                ends[name][1] = min(ends[name][1], rest // -factor)
    many = [name for name, one in symbols.items() if one.most is None or one.most > one.least + 1]  # no truth value
    return any(ends[name][0] >= ends[name][1] for name in many)


def modes(regions: Sequence[SizeRegion], symbols: Mapping[str, SizeSymbol]) -> set[str]:
    """Arguments of which facts ask alone whether they are certain values: flags, and what chooses one of some ways."""
    counted = set[str]()
    for region in regions:
        counted |= named_in([], region)
        for fact in region.facts:
            if fact.by is not None or fact.op == "ge" or sum(map(bool, fact.poly.terms)) > 1:
                counted |= fact.poly.symbols | (fact.by.symbols if fact.by else set())
    return symbols.keys() - counted


@dataclass(frozen=True, slots=True)
class Clauses:
    """Conjunctions of facts at which some of the regions `known` holds, in as few words as say so."""

    template: Template
    known: Sequence[SizeRegion]
    given_up: list[SizeRegion] = field(default_factory=list)  # what was asked and left open

    def of(self, region: SizeRegion, at: Mapping[str, int]) -> SizeRegion:
        """The facts of a region without those that the others imply, or that leave out what other regions hold; where
        facts without quotients suffice that hold at values of the region too, these.
        """
        facts = self._fewest(strongest(region.facts, region.floors, self.template.symbols), region.floors, at)
        if quotients(SizeRegion(tuple(facts), region.floors)):
            plain = [without_quotients(fact, region.floors) for fact in facts]
            whole = [one for one in plain if one is not None]
            rest = [fact for fact, one in zip(facts, plain, strict=True) if one is None and fact.op in ("eq", "ne")]
            if len(whole) + len(rest) == len(facts):
                tried = (tuple(whole), (*whole, *rest))
                held = (one for one in tried if one and SizeRegion(one, region.floors).holds(at))
                found = next((one for one in held if self.holds(one, region.floors, self.known)), None)
                facts = facts if found is None else self._fewest(found, region.floors, at)
        return SizeRegion(tuple(facts), region.floors)

    def joined(self, told: Sequence[SizeRegion], one: SizeRegion) -> list[SizeRegion]:
        """Clauses and one more, without those that another one holds that is no harder to read; none beside others for
        values that do not fit into their type.
        """
        if any(not wraps(other) for other in (*told, one)) and any(map(wraps, (*told, one))):
            plain = [other for other in told if not wraps(other)]
            return self.joined(plain, one) if not wraps(one) else plain
        if self.holds(one.facts, one.floors, told):
            return [*told]
        harder = bool(quotients(one))
        kept = (x for x in told if (harder and not quotients(x)) or not self.holds(x.facts, x.floors, [one]))
        return [*kept, one]

    def holds(self, facts: Sequence[SizeFact], floors: Sequence[FloorQuotient], regions: Sequence[SizeRegion]) -> bool:
        """Whether one of the regions holds wherever facts do."""
        asked = replace(self.template, assume=tuple(facts), floors=tuple(floors))
        return outside_all(asked, regions).status == "unsat"

    def _fewest(
        self, facts: Sequence[SizeFact], floors: Sequence[FloorQuotient], at: Mapping[str, int]
    ) -> list[SizeFact]:
        """Those of facts, which hold at some values, that suffice for one of the known regions to hold: many are left
        out at once, then fewer, of those that no values found near by need.
        """
        outside = self._needed(facts, floors, at)  # values in none of the regions
        free = [number for number in range(len(facts)) if number not in outside]
        kept, beyond, many = dict(enumerate(facts)), [*outside.values()], len(free)
        while many:
            left: list[int] = []
            for first in range(0, len(free), many):
                part = free[first : first + many]
                others = tuple(fact for number, fact in kept.items() if number not in part)
                rest = SizeRegion(others, tuple(floors))
                gone = SizeRegion(tuple(facts[number] for number in part), tuple(floors))
                answer = None
                if len(self.given_up) < MOST_OPEN and not any(rest.holds(one) for one in beyond):
                    template = replace(self.template, assume=others, floors=tuple(floors))
                    answer = outside_all(template, [gone, *self.known], WORTH)
                    self.given_up.extend([gone] if answer.status == "unknown" else [])
                    beyond += [answer.model] if answer.status == "sat" else []
                if answer is not None and answer.status == "unsat":
                    kept = {number: fact for number, fact in kept.items() if number not in part}
                else:
                    left += part
            free, many = left, many // 2
        return [*kept.values()]

    def _needed(
        self, facts: Sequence[SizeFact], floors: Sequence[FloorQuotient], at: Mapping[str, int]
    ) -> dict[int, Mapping[str, int]]:
        """Facts that no clause can do without, by their numbers: values in no known region, one symbol away from `at`,
        at which all the others hold.
        """
        symbols = {one.name: one for one in self.template.symbols}
        here = {name: one.first for name, one in symbols.items()} | dict(at)
        out: dict[int, Mapping[str, int]] = {}
        for number, fact in enumerate(facts):
            names = set(fact.poly.symbols | (fact.by.symbols if fact.by else set()))
            for one in reversed(floors):
                names |= one.top.symbols | one.bottom.symbols if one.name in names else set()
            for name in sorted(names & symbols.keys()):
                value, factor = here[name], fact.poly.terms.get((name,), 0)
                rest = fact.poly.at(with_floors(here, floors)) - factor * value
                ends = [-(rest // factor) + by for by in (-1, 0, 1, 2)] if factor else []
                for other in (*ends, value + 1, value - 1, 0, 1, 2, 3, 2 * value, value // 2):
                    there = with_floors({**here, name: other}, floors)
                    others = (one.holds(there) for n, one in enumerate(facts) if n != number)
                    admitted = symbols[name].least <= other <= (symbols[name].most or other)
                    if admitted and number not in out and not fact.holds(there) and all(others):
                        values = {**here, name: other}
                        out |= {} if any(region.holds(values) for region in self.known) else {number: values}
        return out


def strongest(
    facts: Sequence[SizeFact], floors: Sequence[FloorQuotient] = (), symbols: Sequence[SizeSymbol] = ()
) -> list[SizeFact]:
    """Facts without comparisons that another one implies by a sum of products that are at least 0: by its number alone,
    or by those of the symbols that are nowhere below 0, and their quotients.
    """
    natural = {one.name for one in symbols if one.least >= 0}

    def below_nowhere(poly: Poly) -> bool:
        return all(c >= 0 and natural.issuperset(m) for m, c in poly.terms.items())

    for one in floors:
        natural |= {one.name} if below_nowhere(one.top) and below_nowhere(one.bottom) else set()
    kept = list(dict.fromkeys(facts))
    for fact in [one for one in kept if one.op == "ge"]:
        others = (Poly.of(0), *(one.poly for one in kept if one.op == "ge" and one is not fact))
        if any(below_nowhere(fact.poly - other) for other in others):
            kept.remove(fact)
    return kept


def quotients(region: SizeRegion) -> list[FloorQuotient]:
    """Those that the facts of a region speak of, and those that these are of."""
    names = {name for fact in region.facts for name in fact.poly.symbols | (fact.by.symbols if fact.by else set())}
    out: list[FloorQuotient] = []
    for one in reversed(region.floors):
        if one.name in names:
            out.append(one)
            names |= one.top.symbols | one.bottom.symbols
    return out


def wraps(region: SizeRegion) -> bool:
    """Whether its facts are about values beyond their type: what they leave modulo a power of two."""
    return any((one.bottom.constant or 0) >= 1 << 31 for one in quotients(region))


def without_quotients(fact: SizeFact, floors: Sequence[FloorQuotient]) -> SizeFact | None:
    """A comparison without quotients that implies this one: each is at most what is divided, and short of it by less
    than one. None of what is no comparison, or has them otherwise than a number of times.
    """
    for one in reversed(floors):
        factor, by = fact.poly.terms.get((one.name,), 0), one.bottom.constant
        if one.name not in fact.poly.symbols and (fact.by is None or one.name not in fact.by.symbols):
            continue
        if fact.op != "ge" or by is None or by < 1 or any(one.name in m for m in fact.poly.terms if m != (one.name,)):
            return None
        end = one.top - Poly.of(by - 1) if factor > 0 else one.top
        rest = fact.poly - Poly.symbol(one.name).scaled(factor)
        fact = normal(replace(fact, poly=rest.scaled(by) + end.scaled(factor)))
    return fact


def told_clause(region: SizeRegion) -> str:
    """The facts of a region in words of C and powers of two; brackets, not to be taken for calls. A quotient that is
    named more than once is so behind them: `8 * q1 >= m and q1 >= 2 where q1 = [n] // k`.
    """
    text = " and ".join(_as_remainder(fact, region.floors) or fact.text for fact in region.facts) or "always"
    named: list[str] = []
    taken = named_in(region.facts, region)
    names = (name for n in count(1) if (name := f"q{n}") not in taken)
    for one in quotients(region):  # those of others behind them
        if sum(part.count(one.name) for part in (text, *named)) > 1:
            name = next(names)
            text = text.replace(one.name, name)
            named = [*(part.replace(one.name, name) for part in named), f"{name} = {one.name[1:-1]}"]
    return _shown(text) + (f" where {', '.join(map(_shown, named))}" if named else "")


def _as_remainder(fact: SizeFact, floors: Sequence[FloorQuotient]) -> str:
    """`n == 2 * ((n + 1) // 2)` as `n % 2 == 0`; nothing of what says something else."""
    one = next((one for one in floors if (one.name,) in fact.poly.terms), None)
    by = one.bottom.constant if one is not None else None
    if one is None or by is None or by < 2 or fact.op not in ("eq", "ne") or fact.by is not None:
        return ""
    poly = fact.poly if fact.poly.terms[one.name,] < 0 else -fact.poly
    what = poly + Poly.symbol(one.name).scaled(by)  # is `by` times the quotient
    ahead = (one.top - what).constant
    if one.name in what.symbols or ahead is None or not 0 <= ahead < by:
        return ""
    rest = -what.terms.get((), 0) % by
    moving = Poly({m: c for m, c in what.terms.items() if m})
    text = text_of(moving)
    return f"{f'({text})' if ' ' in text else text} % {by} {'==' if fact.op == 'eq' else '!='} {rest}"


def _shown(text: str) -> str:
    """A condition with large powers of two, and numbers beside them, as such."""

    def power(match: re.Match[str]) -> str:
        value = int(match[0])
        before, after = match.string[: match.start()].rstrip(), match.string[match.end() :].lstrip()
        alone = after.startswith(("*", "/", "%")) or before.endswith(("*", "/", "%", "-"))  # a sum here were another
        for bits in range(16, 65) if value >= 1 << 16 else ():
            beside = value - (1 << bits)
            if not beside or (not alone and abs(beside) <= 1 << (bits - NEAR)):
                return f"2^{bits}{f' {beside:+d}'.replace('+', '+ ').replace('-', '- ') if beside else ''}"
        return match[0]

    called = re.sub(r"\b\d{5,}\b", power, text).split("()")
    return "()".join(part.translate(str.maketrans("()", "[]")) for part in called)


def named_in(facts: Sequence[SizeFact], region: SizeRegion) -> set[str]:
    """The symbols that facts, and quotients of their region, speak of."""
    floors = {name for one in region.floors for name in one.top.symbols | one.bottom.symbols}
    return ({name for fact in facts for name in fact.poly.symbols} | floors) - {one.name for one in region.floors}
