"""The sizes for which a plan holds, as few clauses as it takes, each with what asks for it.

Knows: regions of runs that prove and of runs that break a rule, which facts others imply.
Does not know: plan files, how an answer is shown, code of guards.
Law: at every admitted size at which one of the conjunctions holds, the plan is proved. `exact` only if at every other
admitted size it is refuted: by a run whose region the size lies in, or by the ordinary checker at that size.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from dmaverify.errors import Disagreement
from dmaverify.language.numbers import Poly
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.attempt import attempt
from dmaverify.prove.sizes.bounds import Ends, surely
from dmaverify.prove.sizes.check import FIRST_BOXES, SizeCover, count_of, only, sizes_text
from dmaverify.prove.sizes.complete import confirmed, outside_all
from dmaverify.prove.sizes.facts import FloorQuotient, SizeFact, SizeRegion, Template, normal
from dmaverify.prove.sizes.samples import samples
from dmaverify.prove.sizes.search import NOTHING, OPEN, SizeSearch, follows
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Status

MOST_ROUNDS, MOST_LOOKED, MOST_POINTS = 12, 600, 8
"""Regions that are looked for, boxes of sizes that are looked at, and single sizes that stand for nothing more."""


@dataclass(frozen=True, slots=True)
class Condition:
    """`any` of the conjunctions suffices; `left` says of an answer that is not exact what is open."""

    name: str
    path: str
    line: int
    status: str
    any: tuple[tuple[SizeFact, ...], ...] = ()
    left: tuple[str, ...] = ()
    seconds: float = 0.0
    floors: tuple[FloorQuotient, ...] = ()
    template: Template | None = field(default=None, compare=False, repr=False)


@dataclass
class _Finder:
    template: Template
    options: Options
    cover: SizeCover = field(init=False)
    broken: list[SizeRegion] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    reduced: int = 0
    points: int = 0  # regions of one size that were added

    def __post_init__(self) -> None:
        self.cover = SizeCover(self.template, self.options)

    def find(self) -> str:
        """NOTHING once every admitted size is known to hold or to be refuted."""
        for values in samples(self.template):
            if self.cover.run(values).status == "proved":
                break
            self._break(values)
        looked = 0
        found: Mapping[str, int] | str = ""
        for _ in range(MOST_ROUNDS):
            self._reduce()
            regions = [*self.cover.regions, *self.broken]
            search = SizeSearch(self.template, regions, FIRST_BOXES)
            found = search.any_outside()
            if found == OPEN:
                answer = outside_all(self.template, regions)
                found = dict(answer.model) if answer.status == "sat" else NOTHING if answer.status == "unsat" else OPEN
            if found == OPEN:
                search = SizeSearch(self.template, regions)
                found = search.any_outside()
            looked += search.looked
            if isinstance(found, str):
                return found
            if looked > MOST_LOOKED:
                break
            if self._break(found):
                continue
            status = self._status(found)
            if status is Status.PROVED:
                self.points += not self.cover.take(found)
            elif status is Status.REFUTED:
                self.broken.append(only(found))
                self.points += 1
            if status not in (Status.PROVED, Status.REFUTED) or (self.points > MOST_POINTS < count_of(self.template)):
                break
        if isinstance(found, Mapping) and not any(one.holds(found) for one in (*self.cover.regions, *self.broken)):
            self.left.append(f"{sizes_text(found)} and others")
        return "open"

    def _status(self, values: Mapping[str, int]) -> Status:
        try:
            return self.cover.single(values).status
        except Disagreement:
            return Status.UNKNOWN

    def _reduce(self) -> None:
        """The last region in as few facts as say the same."""
        regions = self.cover.regions
        if len(regions) > self.reduced:
            last = regions[-1]
            regions[-1] = SizeRegion(reduced_facts(last, self.template), last.floors)
            self.reduced = len(regions)

    def _break(self, values: Mapping[str, int]) -> bool:
        """A region around sizes that the ordinary checker refutes in which the same rule is broken."""
        for generic in (True, False):
            done = attempt(self.template, values, self.options, generic=generic, breaking=True)
            if done.status == "broken" and done.region is not None and done.region.holds(values):
                self.broken.append(done.region)
                return True
        return False


def conditions(template: Template, options: Options) -> Condition:
    """The condition of one entry."""
    started = time.perf_counter()
    finder = _Finder(template, options)
    outcome = finder.find()
    finder._reduce()
    kept, floors = _joined(finder.cover.regions, template)
    if outcome == NOTHING and not finder.broken:
        kept = [()]  # together the regions hold every admitted size
    if outcome != NOTHING and not finder.left:
        finder.left.append("sizes that were not looked at within the limit")
    if outcome == NOTHING:
        confirmed(template, [*finder.cover.regions, *finder.broken])
    status = "exact" if outcome == NOTHING else "sufficient" if kept else "none"
    return Condition(
        template.name, template.path, template.line, status, tuple(kept),
        tuple(finder.left) if status != "exact" else (), time.perf_counter() - started, floors, template,
    )  # fmt: skip


def around(template: Template, options: Options, known: Sequence[Mapping[str, int]]) -> Condition:
    """A condition that admits the sizes that are known to hold, and all others that run as these do."""
    finder = _Finder(template, options)
    regions, names = finder.cover.regions, {one.name for one in template.symbols}
    for values in known:
        if not any(region.holds(values) for region in regions):
            finder.cover.run(values)
            finder._reduce()
            if not regions or not regions[-1].holds(values):
                regions.append(only(values))
            elif names == {min(f.poly.symbols) for f in regions[-1].facts if f.op == "eq" and len(f.poly.symbols) == 1}:
                regions[-1] = only(values)
            finder.reduced = len(regions)
    kept, floors = _joined(regions, template)
    return Condition(
        template.name, template.path, template.line, "sufficient" if kept else "none", tuple(kept), floors=floors,
        template=template,
    )  # fmt: skip


# ---------------------------------------------------------------- few clauses


def _joined(
    regions: Sequence[SizeRegion], template: Template
) -> tuple[list[tuple[SizeFact, ...]], tuple[FloorQuotient, ...]]:
    """The same sizes in fewer clauses, without comparisons beyond which another conjunction holds anyway; quotients."""
    floors = tuple(dict.fromkeys(f for region in regions for f in region.floors))
    out = _without_subsumed(regions, template)
    for index, facts in enumerate(out):
        for fact in facts:
            rest = tuple(f for f in out[index] if f is not fact)
            others = [SizeRegion(own, floors) for number, own in enumerate(out) if number != index]
            given = (*template.assume, *rest, fact.negated())
            beyond = replace(template, assume=given, floors=tuple(dict.fromkeys((*template.floors, *floors))))
            if fact.op == "ge" and others and SizeSearch(beyond, others, FIRST_BOXES).any_outside() == NOTHING:
                out[index] = rest
    return _without_subsumed([SizeRegion(facts, floors) for facts in out], template), floors


def reduced_facts(region: SizeRegion, template: Template) -> tuple[SizeFact, ...]:
    """Facts that say as much as all of the region's, among admitted sizes; none that another one implies."""
    kept = list(dict.fromkeys(_tidied(normal(fact)) for fact in region.facts))
    for fact in sorted(kept, key=_weight, reverse=True):
        others = [f for f in kept if f is not fact]
        if implied(fact, others, template, region):
            kept = others
    names = [one.name for one in template.symbols]
    return tuple(sorted(kept, key=lambda f: (f.by is None, len(f.poly.symbols), _first(f, names), f.text)))


def _first(fact: SizeFact, names: Sequence[str]) -> int:
    return min((names.index(n) for n in fact.poly.symbols if n in names), default=len(names))


def _tidied(fact: SizeFact) -> SizeFact:
    """Without a factor that all coefficients have; `8 | 24 C` is `C` by what is left of 8."""
    if fact.by is not None and fact.by.constant is not None and len(fact.poly.terms) == 1:
        from math import gcd

        ((mono, c),) = fact.poly.terms.items()
        common = gcd(c, fact.by.constant)
        by = fact.by.constant // common
        return replace(fact, poly=Poly({mono: c // common % by or 1}), by=Poly.of(by)) if by > 1 else fact
    return fact


def _weight(fact: SizeFact) -> tuple[int, int, int]:
    """How hard a fact is to read: what is dropped first, where either of two would do."""
    largest = max((abs(c) for c in fact.poly.terms.values()), default=0)
    return (int(fact.op in ("ne", "ndiv")) + int(fact.why.rule.startswith("core/")), len(fact.poly.terms), largest)


def implied(fact: SizeFact, others: Sequence[SizeFact], template: Template, region: SizeRegion | None = None) -> bool:
    """Whether every admitted size at which the others hold is one at which the fact does."""
    search = SizeSearch(template, [] if region is None else [region])
    box: Ends = {one.name: (one.first, one.last) for one in template.symbols}
    wide = _narrowed(search.with_quotients(box), others)
    if search.always(fact) or fact in template.assume:
        return True
    if fact.by is not None:
        by = fact.by.constant
        return by is not None and fact.op == "div" and any(
            f.op == "div" and f.by is not None and f.by.constant is not None
            and follows(f.poly, f.by.constant, fact.poly, by) for f in others
        )  # fmt: skip
    given = [*search.given, *(f.poly for f in others if f.op == "ge")]
    given += [p for f in others if f.op == "eq" for p in (f.poly, -f.poly)]
    return surely(fact, wide, given, 2)


def _narrowed(box: Ends, others: Sequence[SizeFact]) -> Ends:
    """The box with what single products of the other facts say of each symbol."""
    out = dict(box)
    for fact in others:
        if fact.op == "eq" and len(fact.poly.symbols) == 1 and set(map(len, fact.poly.terms)) <= {0, 1}:
            (name,) = fact.poly.symbols
            value = -fact.poly.terms.get((), 0) // fact.poly.terms[name,]
            out[name] = (value, value)
        if fact.op != "ge":
            continue
        moving, rest = [(m, c) for m, c in fact.poly.terms.items() if m], fact.poly.terms.get((), 0)
        if len(moving) == 1 and moving[0][1] > 0 and len(moving[0][0]) == 1 and moving[0][0][0] in out:
            ((name,), c), *_ = moving  # c * name + rest >= 0
            out[name] = (max(out[name][0], -(rest // c)), out[name][1])
        falling = [(m, -c) for m, c in moving if c < 0]
        if len(falling) != 1 or set(fact.poly.terms) - {(), falling[0][0]} or rest < 0:
            continue
        mono, c = falling[0]
        for name in set(mono):
            if mono.count(name) > 1 or any(out[n][0] < 1 for n in mono if n in out) or name not in out:
                continue
            others_low = 1
            for other in mono:
                if other != name:
                    others_low *= max(1, out[other][0]) if other in out else 1
            low, high = out[name]
            top = rest // (c * others_low)
            out[name] = (low, top if high is None else min(high, max(top, low)))
    return out


def _without_subsumed(regions: Sequence[SizeRegion], template: Template) -> list[tuple[SizeFact, ...]]:
    """Regions that no other one holds: of two that hold each other, the later."""
    named = SizeRegion((), tuple(dict.fromkeys(one for region in regions for one in region.floors)))
    every = [region.facts for region in regions]
    out: list[tuple[SizeFact, ...]] = []
    for index, facts in enumerate(every):
        others = [*out, *every[index + 1 :]]
        if not any(all(f in facts or implied(f, facts, template, named) for f in other) for other in others):
            out.append(facts)
    return out
