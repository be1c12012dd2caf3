"""The smallest sizes outside of regions, or the proof that there are none.

Knows: boxes of sizes, what relations add to their bounds.
Does not know: plans, what a region means.
Law: `first_outside` gives admitted sizes in no region, smallest in the order of the template; `NOTHING` only if every
admitted size lies in a region; `OPEN` where it gave up. A bound is never better than the truth.

A box is looked at best first, by the least product that a size in it, outside of the regions, can have; the low corner
of a box is the smallest of its sizes. Divisibility is decided at single sizes, or taken as a proposition: a union of
regions is complete if it is under every combination of answers.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import gcd, lcm, prod
from typing import Any

from dmaverify.language.numbers import Poly, without
from dmaverify.prove.sizes.bounds import Ends, end_of_product, least_of, surely, with_product
from dmaverify.prove.sizes.facts import FloorQuotient, SizeFact, SizeRegion, SizeSymbol, Template
from dmaverify.values import dataclass, field, replace

MOST_BOXES = 400
FACTS = 20  # of a box; where there are more, a box costs more and there are fewer of them
MOST_DIVISORS = 7
FLAT = 60  # boxes of one bound, after which products are gone through instead
LARGEST_PRODUCT, MOST_PRODUCTS = 1 << 40, 200
FAR = 1 << 100
NOTHING, OPEN = "nothing", "open"


@dataclass
class SizeSearch:
    """The admitted sizes of a template, and regions to look outside of."""

    template: Template
    regions: Sequence[SizeRegion]
    most_boxes: int = MOST_BOXES
    given: list[Poly] = field(default_factory=list)
    floors: list[FloorQuotient] = field(default_factory=list)
    looked: int = 0
    price: int = 1

    def __post_init__(self) -> None:
        names = set()
        for one in (*self.template.floors, *(f for region in self.regions for f in region.floors)):
            if one.name not in names:
                names.add(one.name)
                self.floors.append(one)
        self.price = max(1, sum(len(region.facts) for region in self.regions) // FACTS)
        self.multiples = _multiples(self.template)
        wide = self.with_quotients({one.name: (one.first, one.last) for one in self.template.symbols})
        for fact in self.template.assume:
            self.given += _as_given(tight(fact, self.multiples), wide)
        for one in self.floors:
            if (least_of(one.bottom, wide) or 0) < 1:
                continue  # a divisor that may be 0 or less bounds nothing
            name = Poly.symbol(one.name)
            self.given.append(one.top - one.bottom * name)
            self.given.append(one.bottom * name + one.bottom - one.top - Poly.of(1))
        self.tight = [tuple(tight(fact, self.multiples) for fact in region.facts) for region in self.regions]
        self.admitted = {fact for fact in self.template.assume if fact.by is not None}

    def first_outside(self) -> dict[str, int] | str:
        """The smallest admitted sizes in no region, NOTHING or OPEN."""
        start: Ends = {one.name: (one.first, one.last) for one in self.template.symbols}
        heap: list[tuple[Any, int, Ends, list[SizeFact]]] = []
        count = 0

        def push(box: Ends) -> None:
            nonlocal count
            asked: list[SizeFact] = []
            bound = self._bound(box, asked)
            if bound is not None:
                count += 1
                corner = tuple(box[s.name][0] for s in self.template.symbols)
                heapq.heappush(heap, ((bound, corner), count, box, asked))

        push(start)
        flat, reached = 0, 0
        while heap:
            (bound, _), _, box, asked = heapq.heappop(heap)
            values = {one.name: box[one.name][0] for one in self.template.symbols}
            key = self.template.key(values)
            if key[0] <= bound and self._outside(values):
                return values
            self.looked += self.price
            if self.looked > self.most_boxes:
                return OPEN
            flat = flat + 1 if bound == reached else 0
            reached = bound
            if flat > FLAT and (found := self._by_products(bound)) is not None:
                return found
            for part in _split(box, self.template.symbols, asked):
                push(part)
        return NOTHING

    def any_outside(self) -> dict[str, int] | str:
        """Some admitted sizes in no region, NOTHING or OPEN: quicker than the smallest."""
        start: Ends = {one.name: (one.first, one.last) for one in self.template.symbols}
        todo = [start]
        while todo:
            box = todo.pop()
            asked: list[SizeFact] = []
            if self._bound(box, asked) is None:
                continue
            for values in _corners(box, self.template.symbols):
                if self._outside(values):
                    return values
            self.looked += self.price
            if self.looked > self.most_boxes:
                return OPEN
            todo += list(_split(box, self.template.symbols, asked))[::-1]
        return NOTHING

    def _by_products(self, first: int) -> dict[str, int] | None:
        """The smallest sizes from a product on, product by product; None where that is not quick."""
        symbols = self.template.symbols
        if any(not one.axis for one in symbols) or first > LARGEST_PRODUCT:
            return None
        step = prod(one.multiple for one in symbols)
        least = -(-first // step) * step
        for product_ in range(least, least + MOST_PRODUCTS * step, step):
            found = next((v for v in with_product(product_, symbols) if self._outside(v)), None)
            if found is not None:
                return found
        return None

    def _outside(self, values: Mapping[str, int]) -> bool:
        return self.template.admits(values) and not any(region.holds(values) for region in self.regions)

    def _bound(self, box: Ends, asked: list[SizeFact]) -> int | None:
        """The least product that a size of the box outside of all regions can have; None if there is no such size.
        `asked` receives what is neither sure to hold nor sure to fail.
        """
        wide = self.with_quotients(box)
        low = 1
        for one in self.template.symbols:
            if one.axis:
                low *= box[one.name][0]
        given = self.given
        if any(surely(fact.negated(), wide, ()) for fact in self.template.assume if fact.by is None):
            return None
        best = low
        left: list[list[SizeFact]] = []
        for region in self.tight:
            facts = self._undecided(region, wide, given)
            if facts is None:
                continue
            if not facts:
                return None
            left.append(facts)
            asked += facts
            if not any(f.by is not None for f in facts):
                best = max(best, min(self._product_outside(f, box, wide, low) for f in facts))
        for fact in self.template.assume:
            if not surely(fact, wide, ()):
                asked.append(fact)
            if fact.by is None and fact.op == "ge":
                best = max(best, self._product_outside(fact.negated(), box, wide, low))
        return None if self._complete(left) else best

    def _undecided(self, region: Sequence[SizeFact], wide: Ends, given: Sequence[Poly]) -> list[SizeFact] | None:
        """The facts of a region that do not surely hold on the box; None if one surely fails."""
        out = []
        for fact in region:
            if fact in self.admitted or surely(fact, wide, given) or self.always(fact):
                continue
            if surely(tight(fact.negated(), self.multiples), wide, ()):
                return None
            out.append(fact)
        return out

    def always(self, fact: SizeFact) -> bool:
        """Divisibility that the declared multiples, or an assumed divisibility, give."""
        if fact.op != "div" or fact.by is None or fact.by.constant is None:
            return False
        by = fact.by.constant
        if all(c * prod(self.multiples.get(n, 1) for n in m) % by == 0 for m, c in fact.poly.terms.items()):
            return True
        return any(
            f.op == "div" and f.by is not None and f.by.constant is not None
            and follows(f.poly, f.by.constant, fact.poly, by)
            for f in self.admitted
        )  # fmt: skip

    def _complete(self, left: Sequence[Sequence[SizeFact]]) -> bool:
        """Whether the regions hold all of the box, whatever the answers to the questions of divisibility are."""
        if len(left) < 2:
            return False
        sets = [{_question(f, self.multiples) for f in facts} for facts in left]
        questions = list(dict.fromkeys(q for own in sets for q, _ in own))
        if not questions or len(questions) > MOST_DIVISORS:
            return False
        for answers in product((True, False), repeat=len(questions)):
            case = dict(zip(questions, answers, strict=True))
            if not _possible(case, self.multiples):
                continue
            if not any(all(case[q] is want for q, want in own) for own in sets):
                return False
        return True

    def with_quotients(self, box: Ends) -> Ends:
        wide = dict(box)
        for one in self.floors:
            low, high = least_of(one.top, wide), least_of(-one.top, wide)
            bottom, most = least_of(one.bottom, wide), least_of(-one.bottom, wide)
            if low is None or bottom is None or bottom <= 0:
                wide[one.name] = (-FAR, None)
                continue
            start = low // bottom if low < 0 else 0 if most is None else low // -most
            if high is None:
                wide[one.name] = (start, None)
                continue
            by = bottom if high <= 0 else -(most or -FAR)
            wide[one.name] = (start, max(start, -high // by))
        return wide

    def _product_outside(self, fact: SizeFact, box: Ends, wide: Ends, low: int) -> int:
        """The least product of sizes of the box at which the fact fails, as far as one look tells."""
        if fact.op != "ge":
            return low
        rising = [(m, -c) for m, c in fact.poly.terms.items() if c < 0 and m]
        if not rising or any(n not in box for m, _ in rising for n in m):
            return low
        rest = Poly({m: c for m, c in fact.poly.terms.items() if not (c < 0 and m)})
        least = least_of(rest, wide)
        if least is None:
            return low
        if least < 0:
            return low
        share = -(-(least + 1) // len(rising))  # one of the products reaches this
        best: int | None = None
        axes = {one.name for one in self.template.symbols if one.axis}
        for mono, c in rising:
            wanted = -(-share // c)
            own = end_of_product(mono, box, 0) or 0
            bound = low
            if own < wanted and len(set(mono)) == len(mono) and set(mono) <= axes:
                others = 1
                for name in axes - set(mono):
                    others *= box[name][0]
                bound = max(low, wanted * others)
            best = bound if best is None else min(best, bound)
        return best if best is not None else low


Question = tuple[str, Poly, Poly | None]


def _multiples(template: Template) -> dict[str, int]:
    """What divides each symbol: as declared, and as relations say."""
    out = {one.name: one.multiple for one in template.symbols}
    for fact in template.assume:
        by = fact.by.constant if fact.by is not None else None
        ((mono, c),) = fact.poly.terms.items() if len(fact.poly.terms) == 1 else (((), 0),)
        if fact.op == "div" and by and len(mono) == 1 and c == 1 and mono[0] in out:
            out[mono[0]] = lcm(out[mono[0]], by)
    return out


def tight(fact: SizeFact, multiples: Mapping[str, int]) -> SizeFact:
    """A comparison with its number rounded to what the declared multiples let its products be."""
    if fact.op != "ge":
        return fact
    step = gcd(*(c * prod(multiples.get(n, 1) for n in m) for m, c in fact.poly.terms.items() if m))
    constant = fact.poly.terms.get((), 0)
    if step <= 1 or constant % step == 0:
        return fact
    return replace(fact, poly=fact.poly - Poly.of(constant % step))


def _question(fact: SizeFact, multiples: Mapping[str, int]) -> tuple[Question, bool]:
    """A fact as a question and the answer it asks for: a fact and its negation are one question."""
    if fact.op in ("ne", "ndiv"):
        question, answer = _question(fact.negated(), multiples)
        return question, not answer
    other = tight(fact.negated(), multiples).poly if fact.op == "ge" else -fact.poly if fact.op == "eq" else fact.poly
    if fact.op != "div" and repr(other) < repr(fact.poly):
        return (fact.op, other, None), fact.op == "eq"
    return (fact.op, fact.poly, fact.by), True


def _possible(case: Mapping[Question, bool], multiples: Mapping[str, int]) -> bool:
    """No multiple of a number is no multiple of its divisors; a number is not on both sides of another."""
    for (op, poly, by), answer in case.items():
        if op == "ge":
            side = poly if answer else tight(SizeFact("ge", -poly - Poly.of(1)), multiples).poly
            for (op2, other, _), no in case.items():
                facing = other if no else tight(SizeFact("ge", -other - Poly.of(1)), multiples).poly
                total = side + facing if op2 == "ge" else Poly({})
                if op2 == "ge" and total.constant is not None and total.constant < 0:
                    return False
        if not answer or by is None or by.constant is None:
            continue
        for (_, other, low), no in case.items():
            if no or low is None or low.constant is None:
                continue
            if other == poly and by.constant % low.constant == 0:
                return False
            if follows(poly, by.constant, other, low.constant):
                return False
    return True


def follows(poly: Poly, by: int, other: Poly, low: int) -> bool:
    """Whether `by | poly` gives `low | other`, because the other is a multiple of the first."""
    if len(poly.terms) != 1 or len(other.terms) != 1:
        return False
    ((mono, c),) = poly.terms.items()
    ((more, k),) = other.terms.items()
    if without(more, mono) is None or k % c:
        return False
    return (by * (k // c)) % low == 0


def _as_given(fact: SizeFact, box: Ends) -> list[Poly]:
    """What a relation says is not negative, at all sizes of the box that meet it."""
    if fact.op == "ge":
        return [fact.poly]
    if fact.op == "eq":
        return [fact.poly, -fact.poly]
    if fact.op == "div" and fact.by is not None and fact.by.constant is None:
        least = least_of(fact.poly, box)  # 0 is a multiple of every number: only one above 0 is as large as it
        return [fact.poly - fact.by] if least is not None and least >= 1 else []
    return []


def _corners(box: Ends, symbols: Sequence[SizeSymbol]) -> Iterable[dict[str, int]]:
    lows = {one.name: box[one.name][0] for one in symbols}
    yield lows
    highs = {n: low if high is None else high for n, (low, high) in ((n, box[n]) for n in lows)}
    yield highs
    for one in symbols:
        yield {**lows, one.name: highs[one.name]}
        yield {**highs, one.name: lows[one.name]}


def _split(box: Ends, symbols: Sequence[SizeSymbol], asked: Sequence[SizeFact]) -> Iterable[Ends]:
    """The box in two: at a single value that a fact asks about, else along the longest side that any fact speaks of."""
    names = {n for fact in asked for n in (*fact.poly.symbols, *(fact.by.symbols if fact.by else ()))}
    if any(n not in box for n in names) or not names:
        names = set(box)
    for fact in asked:
        if fact.op in ("eq", "ne") and len(fact.poly.symbols) == 1 and fact.poly.symbols <= set(box):
            (name,) = fact.poly.symbols
            value = -fact.poly.terms.get((), 0) * fact.poly.terms.get((name,), 0)
            step = next(one.multiple for one in symbols if one.name == name)
            low, high = box[name]
            inside = low <= value and (high is None or value < high) and value % step == 0
            if abs(fact.poly.terms.get((name,), 0)) == 1 and inside:
                yield {**box, name: (low, value)}
                yield {**box, name: (value + step, high)}
                return
    best, ratio = None, 0.0
    for one in symbols:
        if one.name not in names:
            continue
        low, high = box[one.name]
        if high is not None and high <= low:
            continue
        spread = float("inf") if high is None else (high + 1) / (low + 1)
        if spread > ratio:
            best, ratio = one, spread
    if best is None:
        if names != set(box):
            yield from _split(box, symbols, ())
        return
    low, high = box[best.name]
    step = best.multiple
    if high is None:
        middle = max(low * 2, low + step)
    else:
        middle = int((max(low, 1) * high) ** 0.5) if high > 4 * max(low, 1) else (low + high) // 2
    middle = max(low, middle // step * step)
    if high is not None and middle >= high:
        middle = low
    yield {**box, best.name: (low, middle)}
    yield {**box, best.name: (middle + step, high)}
