"""Whether regions hold every admitted size, asked of the solver: a second opinion on the search.

Knows: facts, quotients and ranges as SMT-LIB text. Does not know: how regions are found, bounds over boxes.
Law: the question says what `SizeFact.holds` and `with_floors` compute, in integers without limits; a size that the
solver names is checked by them before it counts. `unknown` says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from dmaverify.errors import Disagreement
from dmaverify.language.numbers import Poly
from dmaverify.prove.sizes.facts import FloorQuotient, SizeFact, SizeRegion, Template
from dmaverify.prove.sizes.search import NOTHING, OPEN
from dmaverify.prove.smt import Answer, Query, Session, all_of, negation, polynomial

RLIMIT = 1_000_000


def outside_all(template: Template, regions: Sequence[SizeRegion], rlimit: int = RLIMIT) -> Answer:
    """`sat` with admitted sizes in no region, `unsat` if there are none, else `unknown`."""
    query, names = _question(template, regions)
    return _checked(template, regions, names, Session(rlimit).ask(query, "sizes outside of all regions"))


def smallest_outside(template: Template, regions: Sequence[SizeRegion], least: int = 0) -> dict[str, int] | str:
    """The smallest admitted sizes in no region; NOTHING where there are none, OPEN where the solver gave up.

    The least product first, by bisection from `least`, which no product falls short of (that of the sizes found with
    fewer regions); then the least value of each symbol in the order of declaration.
    """
    query, names = _question(template, regions)
    session = Session(RLIMIT)
    axes = [names[one.name] for one in template.symbols if one.axis]
    product = _product(axes)
    fixed: list[str] = []
    best = _checked(template, regions, names, session.ask(query))
    if best.status != "sat":
        return NOTHING if best.status == "unsat" else OPEN
    order = [(product, max(least, prod(one.first for one in template.symbols if one.axis)))]
    order += [(names[one.name], one.first) for one in template.symbols]
    for term, low in order:
        reach = 1
        while low < (value := _value(term, axes, names, best.model)):
            middle = min(low + reach - 1, (low + value - 1) // 2)
            trial = session.ask(query.with_constraints(*fixed, f"(<= {term} {middle})"))
            trial = _checked(template, regions, names, trial)
            if trial.status == "unknown":
                return OPEN
            best = trial if trial.status == "sat" else best
            low = middle + 1 if trial.status == "unsat" else low
            reach *= 4
        fixed.append(f"(= {term} {value})")
    return dict(best.model)


def _value(term: str, axes: Sequence[str], names: Mapping[str, str], model: Mapping[str, int]) -> int:
    values = {short: model[name] for name, short in names.items() if name in model}
    return values[term] if term in values else prod(values[name] for name in axes)


def _product(names: Sequence[str]) -> str:
    return "1" if not names else names[0] if len(names) == 1 else f"(* {' '.join(names)})"


def _question(template: Template, regions: Sequence[SizeRegion]) -> tuple[Query, dict[str, str]]:
    """Admitted sizes in no region; names of the symbols and quotients in it."""
    floors = dict.fromkeys((*template.floors, *(one for region in regions for one in region.floors)))
    every = [*(one.name for one in template.symbols), *(one.name for one in floors)]
    names = {name: f"n{i}" for i, name in enumerate(every)}
    ranges = [(names[one.name], one.first, None if one.last is None else one.last + 1) for one in template.symbols]
    said = admitted(template, floors, names)
    said += [negation(all_of([fact_text(fact, names) for fact in region.facts])) for region in regions]
    return Query((*ranges, *((names[one.name], None, None) for one in floors)), tuple(said)), names


def admitted(template: Template, floors: Iterable[FloorQuotient], names: Mapping[str, str]) -> list[str]:
    """What divides sizes, what quotients are, what the plan states of sizes."""
    said = [_divides(names[one.name], str(one.multiple)) for one in template.symbols if one.multiple > 1]
    said += [_quotient(one, names) for one in floors]
    return said + [fact_text(fact, names) for fact in template.assume]


def _checked(template: Template, regions: Sequence[SizeRegion], names: Mapping[str, str], answer: Answer) -> Answer:
    """A model as sizes, once they are seen to be admitted and in no region."""
    if answer.status != "sat":
        return answer
    values = {one.name: answer.model[names[one.name]] for one in template.symbols}
    if not template.admits(values) or any(region.holds(values) for region in regions):
        return Answer("unknown", {}, "the solver's sizes are not outside")
    return Answer("sat", values)


def confirmed(
    template: Template, regions: Sequence[SizeRegion], keep: list[tuple[str, str, str]] | None = None
) -> bool:
    """Whether the solver too says that no size is left; False where it gives up. `keep` receives the question.

    Raises Disagreement at a size that is left.
    """
    answer = outside_all(template, regions)
    if keep is not None:
        query, _ = _question(template, regions)
        head = "(set-info :smt-lib-version 2.6)\n(set-logic QF_NIA)\n"
        keep.append(("admitted sizes in no region", f"{head}{query.text()}\n(check-sat)\n", answer.status))
    if answer.status == "sat":
        said = ", ".join(f"{name} = {value}" for name, value in answer.model.items())
        raise Disagreement(f"{template.name}: the search says that no sizes are left, and the solver names {said}")
    return answer.status == "unsat"


def _divides(value: str, by: str) -> str:
    return f"(= (mod {value} {by}) 0)"


def _quotient(one: FloorQuotient, names: Mapping[str, str]) -> str:
    """The quotient rounded down; 0 where there is none."""
    top, by, q = _term(one.top, names), _term(one.bottom, names), names[one.name]
    low, rest = f"(* {by} {q})", f"(- {top} (* {by} {q}))"
    positive = f"(=> (> {by} 0) (and (<= {low} {top}) (< {rest} {by})))"
    negative = f"(=> (< {by} 0) (and (>= {low} {top}) (> {rest} {by})))"
    return f"(and {positive} {negative} (=> (= {by} 0) (= {q} 0)))"


def fact_text(fact: SizeFact, names: Mapping[str, str]) -> str:
    """A fact over constants with these names."""
    term = _term(fact.poly, names)
    if fact.by is None:
        return {"ge": f"(>= {term} 0)", "eq": f"(= {term} 0)", "ne": negation(f"(= {term} 0)")}[fact.op]
    by = _term(fact.by, names)
    whole = _divides(term, by) if fact.by.constant else f"(and (not (= {by} 0)) {_divides(term, by)})"
    return whole if fact.op == "div" else negation(whole)


def _term(poly: Poly, names: Mapping[str, str]) -> str:
    return polynomial(poly, names.__getitem__)
