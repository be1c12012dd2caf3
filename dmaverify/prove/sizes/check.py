"""One verdict for all admitted sizes of an entry with symbols.

Knows: runs at chosen sizes, the search for sizes that are left, the ordinary checker.
Does not know: plan files, how a verdict is shown.
Law: proved, only if every admitted size lies in a region of a proved run or was proved by the ordinary checker;
refuted, with the smallest sizes in the order of the template at which the ordinary checker refutes; all else is
unknown, with the sizes from which on it is open.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import islice
from math import prod

from dmaverify.errors import Disagreement, NoValue
from dmaverify.language.numbers import Poly
from dmaverify.program.access import Access
from dmaverify.program.indirect import Indirect
from dmaverify.program.schedule import Program
from dmaverify.prove.flow.initialization.begun import STATED
from dmaverify.prove.flow.kernel import TILES, check_program
from dmaverify.prove.flow.order.hazards_told import CONTEXTS_IN_ORDER, IN_ORDER, ONE_ENGINE, SHARED
from dmaverify.prove.flow.order.pipe_state import HAZARDS
from dmaverify.prove.flow.order.regions import REGIONS
from dmaverify.prove.move.check import EACH_ITERATION, check_access, check_transfer
from dmaverify.prove.move.full import FROM_DEFINITIONS, NOT_ASKED, ask
from dmaverify.prove.move.outcome import OBLIGATIONS
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.attempt import Attempt, attempt
from dmaverify.prove.sizes.complete import confirmed, smallest_outside
from dmaverify.prove.sizes.facts import SizedEntry, SizeFact, SizeRegion, Template
from dmaverify.prove.sizes.samples import pins, samples
from dmaverify.prove.sizes.search import MOST_BOXES, NOTHING, OPEN, SizeSearch
from dmaverify.prove.sizes.trace import Stuck
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Finding, Obligation, Severity, Status, Verdict, settled

MOST_SINGLE = 40
"""Sizes that one verdict asks the ordinary checker about."""
MOST_LOOKED = 1200
"""Boxes of sizes that one verdict looks at, over all its searches."""
FIRST_BOXES, MOST_ASKED = 16, 8
"""Boxes that are looked at before the solver is asked, and how often one verdict asks it."""
SIZED_RLIMIT = 500_000
"""What one question on products of sizes may cost."""
FEW = 12
"""So few sizes are asked one by one, without symbols."""

SizeStart = tuple[Mapping[str, int], tuple[str, ...]]  # sizes of a run, and those of them that it fixes


@dataclass
class SizeCover:
    """What is known of the sizes of a template: where it is proved, and how."""

    template: Template
    options: Options
    regions: list[SizeRegion] = field(default_factory=list)
    singles: int = 0
    told: dict[str, None] = field(default_factory=dict)  # what verdicts at single sizes rest on
    last: Verdict | None = None  # of them
    looked: int = 0
    asked: int = 0
    least: int = 0  # of the product of the axes, where sizes were left the last time
    why: str = ""
    rule: str = ""
    rests: dict[str, None] = field(default_factory=dict)  # conditions of any of the proofs
    at: list[SizeStart] = field(default_factory=list)  # where the regions were run
    questions: list[tuple[str, str, str]] = field(default_factory=list)  # with their answers
    runs: dict[tuple[object, ...], Attempt] = field(default_factory=dict)  # of `take`: others ask for the same

    def add(self, region: SizeRegion, values: Mapping[str, int], pinned: tuple[str, ...] = ()) -> None:
        self.regions.append(region)
        self.at.append((values, pinned))

    def run(self, values: Mapping[str, int]) -> Attempt:
        """A run at sizes; its region is added where it proves."""
        done = attempt(self.template, values, self.options, generic=True)
        if done.status == "proved" and done.region is not None and done.region.holds(values):
            self.add(done.region, values)
            self.rests |= dict.fromkeys(done.said)
        elif not self.why or done.rule:
            self.why, self.rule = done.why, done.rule
        return done

    def outside(self) -> dict[str, int] | str:
        """The smallest admitted sizes outside: few boxes first, then the solver, then as many boxes as there may be."""
        found = self._outside(FIRST_BOXES)
        if found == OPEN and self.asked < MOST_ASKED:
            self.asked += 1
            found = smallest_outside(self.template, self.regions, self.least)
        found = self._outside(MOST_BOXES) if found == OPEN else found
        if not isinstance(found, str):  # regions only grow: nothing smaller is left later
            self.least = prod(found[one.name] for one in self.template.symbols if one.axis)
        return found

    def _outside(self, boxes: int) -> dict[str, int] | str:
        search = SizeSearch(self.template, self.regions, max(1, min(boxes, MOST_LOOKED - self.looked)))
        found = search.first_outside()
        self.looked += search.looked
        return found

    def single(self, values: Mapping[str, int]) -> Verdict:
        """The ordinary verdict at sizes."""
        self.singles += 1
        asked: list[tuple[str, str, str]] = []
        found = verdict_at(self.template, values, self.options, asked)
        self.questions += asked if found.status is not Status.PROVED else []
        self.rests |= dict.fromkeys(found.conditions)
        self.told |= dict.fromkeys(found.assumptions)
        self.last = found
        return found

    def take(self, values: Mapping[str, int]) -> bool:
        """Sizes that the ordinary checker proved, with as many others as a run at them proves: whether any. A run that
        fixes no size is the best, then those of few fixed ones, the first of which is taken.
        """
        for number, (typical, pinned) in enumerate([*starts(self.template, values), (values, ())]):
            key = (*typical.values(), pinned)
            if key not in self.runs:
                self.runs[key] = attempt(self.template, typical, self.options, generic=True, pinned=pinned)
            done = self.runs[key]
            if done.status == "proved" and done.region is not None and done.region.holds(values):
                if number == 0 and any(f.op == "eq" and len(f.poly.symbols) == 1 for f in done.region.facts):
                    continue
                self.add(done.region, typical, pinned)
                self.rests |= dict.fromkeys(done.said)
                return not is_point(done.region, self.template)
        self.add(only(values), values)
        return False


def starts(template: Template, values: Mapping[str, int]) -> Iterator[SizeStart]:
    """Runs whose region may hold these sizes: one that fixes none of them, then those that fix few."""
    yield values, ()
    for pinned in pins(template, values):
        for typical in islice(samples(template, {name: values[name] for name in pinned}), 2):
            yield typical, pinned


def is_point(region: SizeRegion, template: Template) -> bool:
    """Whether the region says each size by itself."""
    return len(region.facts) == len(template.symbols) and all(fact.op == "eq" for fact in region.facts)


def only(values: Mapping[str, int]) -> SizeRegion:
    """These sizes and no others."""
    return SizeRegion(tuple(SizeFact("eq", Poly.symbol(name) - Poly.of(value)) for name, value in values.items()))


def verdict_at(
    template: Template, values: Mapping[str, int], options: Options, keep: list[tuple[str, str, str]] | None = None
) -> Verdict:
    """The ordinary verdict on the entry with these numbers; where they have no meaning, that is refuted. `keep`
    receives the solver's questions.
    """
    try:
        instance: SizedEntry = template.at(values)
    except Stuck:
        return Verdict(template.name, template.machine.name, Status.UNKNOWN)
    except NoValue as error:
        finding = Finding(
            "core/well-formed", Severity.ERROR, error.message, "plan", error.span,
            source="the plan file format, Symbols", hint=error.hint or "",
        )  # fmt: skip
        return Verdict(template.name, template.machine.name, Status.REFUTED, (finding,))
    plain = replace(options, repair=False)
    if isinstance(instance.item, Program):
        return check_program(
            instance.item, axes=instance.axes, target=template.machine, options=plain, path=template.path, keep=keep
        )
    if isinstance(instance.item, Access):
        return check_access(
            instance.item, axes=instance.axes, target=template.machine, options=plain, path=template.path, keep=keep
        )
    if isinstance(instance.item, Indirect):
        from dmaverify.prove.move.indirect import check_indirect

        return check_indirect(
            instance.item, axes=instance.axes, target=template.machine, options=plain, path=template.path, keep=keep
        )
    return check_transfer(
        instance.item, axes=instance.axes, problems=instance.problems, target=template.machine, options=plain,
        path=template.path, line=template.line, keep=keep,
    )  # fmt: skip


def check_template(template: Template, options: Options, keep: list[tuple[str, str, str]] | None = None) -> Verdict:
    """The verdict for all admitted sizes. Raises Disagreement as the ordinary checker. `keep` as there."""
    started = time.perf_counter()
    cover = SizeCover(template, options, questions=[] if keep is None else keep)
    verdict = _checked(cover)
    return replace(
        verdict, name=template.name, target=template.machine.name, path=template.path, line=template.line,
        expect=template.expect, readings=dict(options.readings), seconds=time.perf_counter() - started,
        sizes={one.name: _range(one) for one in template.symbols},
    )  # fmt: skip


def _range(one: object) -> dict[str, int]:
    least, most, multiple = one.least, one.most, one.multiple  # type: ignore[attr-defined]
    return {
        "min": least, **({} if most is None else {"max": most}), **({} if multiple == 1 else {"multiple_of": multiple})
    }  # fmt: skip


def _checked(cover: SizeCover) -> Verdict:
    template = cover.template
    left = cover.outside()
    if left == NOTHING:
        return _vacuous(template)
    if count_of(template) > FEW:
        tries = 0
        for values in samples(template):
            done = cover.run(values)
            tries += done.rule.startswith("core/") or done.rule == "digits"
            if done.status == "proved":
                left = cover.outside()
                if left == NOTHING:
                    return _proved(cover)
            if tries > 2 or len(cover.regions) > 2:
                break
    while cover.singles < MOST_SINGLE:
        left = cover.outside() if cover.regions else left
        if left == NOTHING:
            return _proved(cover)
        if isinstance(left, str):
            return _open(cover, cover.why or "the sizes that are left were not found within the limit", {})
        single = cover.single(left)
        if single.status is Status.REFUTED:
            return _refuted(cover, single, left)
        if single.status is not Status.PROVED:
            return _open(cover, "the ordinary check at these sizes is open", left)
        if count_of(template) > FEW:
            cover.take(left)
        else:
            cover.add(only(left), left)
    left = cover.outside()
    if left == NOTHING:
        return _proved(cover)
    return _open(cover, cover.why or "too many cases", left if isinstance(left, dict) else {})


def count_of(template: Template) -> int:
    """How many sizes the ranges hold; a large number where they are open."""
    counts = [1 << 40 if one.last is None else (one.last - one.first) // one.multiple + 1 for one in template.symbols]
    return prod(counts)


def describe(template: Template) -> str:
    """The admitted sizes, in words."""
    parts = []
    for one in template.symbols:
        if one.last is None:
            text = f"{one.name} >= {one.first}"
        elif one.last == one.first:
            text = f"{one.name} = {one.first}"
        else:
            text = f"{one.name} in {one.first}..{one.last}"
        parts.append(text + (f" in steps of {one.multiple}" if one.multiple > 1 and one.last != one.first else ""))
    said = " and ".join(fact.text for fact in template.assume)
    return ", ".join(parts) + (f" with {said}" if said else "")


def sizes_text(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _proved(cover: SizeCover) -> Verdict:
    template = cover.template
    asked_of, spoken, left = _from_definitions(cover)
    asked = confirmed(template, asked_of, cover.questions)
    left += [] if asked or not cover.options.full else [f"{NOT_ASKED}that no admitted sizes are left out"]
    symbolic = not all(is_point(region, template) for region in cover.regions)
    by = "identities of polynomials over the sizes" if symbolic else f"enumeration of all {cover.singles} sizes"
    if symbolic and cover.singles:
        by += f", and the ordinary check at {cover.singles} of them"
    by += "; z3: no admitted sizes are left out" if asked and symbolic else ""
    single = ("what is a warning or an advice is looked for at single sizes only",) if symbolic else ()
    rests = [one for one in cover.rests if one == ONE_ENGINE or ONE_ENGINE not in cover.rests or SHARED not in one]
    rests = [one for one in rests if CONTEXTS_IN_ORDER not in rests or IN_ORDER not in one]
    said = (*rests, *dict.fromkeys(left), *single)
    names = ["core/well-formed", *OBLIGATIONS, "core/overlap"]
    if template.kind == "program":
        names = ["core/well-formed", "core/steps", *HAZARDS, *TILES]
        whole = template.at(cover.at[0][0]).item
        assert isinstance(whole, Program)
        names += REGIONS if any(region.lifetime for region in whole.regions) else REGIONS[: 2 * bool(whole.regions)]
        said += tuple(STATED.format(name) for name in whole.holds)
    elif template.looped:
        said += (EACH_ITERATION,)
    names += [f"{template.machine.name}/*"]
    strict = cover.options.readings.get("core/consumes") == "strict"
    obligations = tuple(
        Obligation(
            name,
            "not judged" if name == "core/consumes" and not strict else "proved",
            FROM_DEFINITIONS if name in spoken else by,
        )
        for name in names
    )
    if template.by_size and cover.last is not None:
        obligations = tuple(replace(o, by=FROM_DEFINITIONS if o.id in spoken else by) for o in cover.last.obligations)
        said += tuple(cover.told)
    claim = f"for all {describe(template)}"
    status = settled((), (o.status for o in obligations))
    return Verdict(template.name, "", status, (), obligations, said, claim=claim, conditions=tuple(rests))


def _from_definitions(cover: SizeCover) -> tuple[list[SizeRegion], set[str], list[str]]:
    """Where everything is to be asked: the regions that scripts speak of, what all of these ask, and what they leave
    out. Sizes that the decisions of a script left out are asked of in turn.
    """
    if not cover.options.full:
        return cover.regions, set(), []
    template, left = cover.template, list[str]()
    regions: list[SizeRegion] = []
    spoken: list[set[str]] = []
    for region, start in zip(cover.regions, cover.at, strict=True):
        if is_point(region, template) or template.kind == "program":
            left += _at_sizes(cover, start[0], spoken)
        regions.append(region if is_point(region, template) else _at_all_sizes(cover, start, spoken, left))
    for _ in range(MOST_ASKED):
        rest = smallest_outside(template, regions)
        if isinstance(rest, str) or is_point(regions[-1], template):
            break
        regions.append(_at_all_sizes(cover, _written_at(cover, rest), spoken, left))
    if isinstance(rest := smallest_outside(template, regions), dict):
        return cover.regions, set(), [*left, f"{NOT_ASKED}sizes such as {sizes_text(rest)}: no script speaks of them"]
    whole = set[str].intersection(*spoken) if spoken else set()
    return regions, whole if template.kind != "program" else set(), left


def _written_at(cover: SizeCover, values: Mapping[str, int]) -> SizeStart:
    """A run that is written as questions and whose region holds these sizes; a run at them where none is."""
    for start in starts(cover.template, values):
        done = attempt(cover.template, start[0], cover.options, generic=True, pinned=start[1], defined=True)
        if done.status == "proved" and done.region is not None and done.region.holds(values):
            return start
    return values, ()


def _at_sizes(cover: SizeCover, values: Mapping[str, int], spoken: list[set[str]]) -> Iterator[str]:
    """The ordinary questions at sizes, and what they leave out."""
    asked: list[tuple[str, str, str]] = []
    verdict = verdict_at(cover.template, values, replace(cover.options, cross_check=0), asked)
    cover.questions += [(f"at {sizes_text(values)}: {name}", text, status) for name, text, status in asked]
    spoken.append({one.id for one in verdict.obligations if one.by.startswith(FROM_DEFINITIONS)})
    yield from (note for note in verdict.assumptions if note.startswith(NOT_ASKED))


def _at_all_sizes(cover: SizeCover, start: SizeStart, spoken: list[set[str]], left: list[str]) -> SizeRegion:
    """The questions of a run for all sizes of its region; of none but these where the run asks nothing."""
    template, (values, pinned) = cover.template, start
    done = attempt(template, values, cover.options, generic=True, pinned=pinned, defined=True)
    if done.status != "proved" or done.region is None:
        left.append(f"{NOT_ASKED}sizes such as {sizes_text(values)}: {done.why}")
        spoken.append(set())
        return only(values)
    asked: list[tuple[str, str, str]] = []
    open_ = list(done.left)
    unsettled = ask(done.scripts, min(cover.options.rlimit, SIZED_RLIMIT), asked, open_)
    cover.questions += [(f"sizes like {sizes_text(values)}: {name}", text, status) for name, text, status in asked]
    left += [NOT_ASKED + what for what in open_]
    told = {name for script in done.scripts for name in script.obligations}
    rules = f"{template.machine.name}/"
    whole = not done.left and not any(name.startswith(rules) for name in unsettled)
    spoken.append(told - unsettled | ({f"{rules}*"} if whole else set()))
    return done.region


def _refuted(cover: SizeCover, single: Verdict, values: Mapping[str, int]) -> Verdict:
    for region in cover.regions:
        if region.holds(values):
            raise Disagreement(f"{cover.template.name}: proved for sizes at which the ordinary check refutes it")
    note = f"at {sizes_text(values)}, the smallest sizes that break it"
    findings = tuple(
        replace(f, notes=(*f.notes, note), edits=(), fix=()) if f.severity is Severity.ERROR else f
        for f in single.findings
    )
    return replace(single, findings=findings, smallest=dict(values), claim=f"not for {sizes_text(values)}")


def _open(cover: SizeCover, why: str, left: Mapping[str, int]) -> Verdict:
    rule = cover.rule if cover.rule.startswith("core/") else "core/same-element"
    status = (Obligation(rule, "unknown", "identities of polynomials over the sizes", why),)
    where = f"; open from {sizes_text(left)} on" if left else ""
    said = tuple(f"proved where {' and '.join(f.text for f in one.facts) or 'all'}" for one in cover.regions[:1])
    claim = f"for all {describe(cover.template)}{where}"
    return Verdict(cover.template.name, "", Status.UNKNOWN, (), status, said, claim=claim)


def _vacuous(template: Template) -> Verdict:
    finding = Finding(
        "core/not-vacuous", Severity.ERROR, f"no sizes are admitted: {describe(template)}", "plan", template.span,
        source=template.machine.source_of("core/not-vacuous"), hint="widen a range, or drop a relation",
    )  # fmt: skip
    return Verdict(template.name, "", Status.REFUTED, (finding,), (Obligation("core/not-vacuous", "refuted"),))
