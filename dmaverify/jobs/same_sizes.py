"""Two plans with symbols, each one program or one transfer, compared for all sizes that they admit.

Knows: templates, the comparison at single sizes. Does not know: how all sizes of one plan are judged.
Law: `proved` is said where all sizes were compared one by one, or of two transfers of one move, or programs of one move
in each step, that are both proved for all sizes, where that leaves nothing open: every element lies at one place of the
source, and neither writes anything but elements. Where two are not seen to be one move, they are taken to be two. One
text says the same at each size where the core is proved for all of them: then no order decides what it leaves, whatever
the machine refuses. `refuted` is said of a size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from dmaverify.errors import InputError, NoValue
from dmaverify.jobs.same_programs import same_entries, same_plans
from dmaverify.plan.plan import Plan, PlanTransfer
from dmaverify.plan.read import files_named
from dmaverify.prove.options import Options
from dmaverify.prove.sameness import WORDS, Sameness
from dmaverify.prove.sizes.check import check_template, count_of, describe, sizes_text
from dmaverify.prove.sizes.facts import Template
from dmaverify.prove.sizes.one_move import why_two
from dmaverify.prove.sizes.samples import samples
from dmaverify.values import replace
from dmaverify.verdict import Status

MOST_SIZES = 64
"""So many sizes are compared one by one."""
TRIED = 4
"""Sizes of others at which a difference is sought."""

Side = tuple[str, Plan]  # with the text that names it


def same_texts(one: Side, other: Side, *, rlimit: int, tiers: Sequence[str] = ()) -> Sameness:
    """Whether two plans, each with the text that names its one entry, do the same, at all sizes where they have
    symbols; of programs, in `tiers`. Raises InputError, Disagreement.
    """
    compare = same_at_all_sizes if one[1].templates or other[1].templates else same_entries
    return compare(one, other, rlimit=rlimit, tiers=tiers)


def same_at_all_sizes(one: Side, other: Side, *, rlimit: int, tiers: Sequence[str] = ()) -> Sameness:
    """Whether both do the same at every size; of programs, in `tiers`. Raises InputError, Disagreement."""
    first, second = (_template(*side) for side in (one, other))
    if (first.symbols, first.assume, first.floors) != (second.symbols, second.assume, second.floors):
        hint = "write the same ranges in [axes] and `free`, in the same order, and the same `assume`"
        raise InputError("the two admit other sizes", second.span, hint)
    every = count_of(first) <= MOST_SIZES
    tried = list(_sizes(first)) if every else list(islice(_samples(first), TRIED))
    conditions: dict[str, None] = {}
    open_ = None
    for values in tried:
        sides = [_at(side[1], template, values) for side, template in ((one, first), (other, second))]
        answer = same_plans(sides[0], sides[1], rlimit=rlimit, tiers=tiers)
        conditions |= dict.fromkeys(answer.conditions)
        if answer.status == "proved":
            continue
        witness = {"sizes": dict(values), **(answer.witness or {})}
        told = replace(answer, why=f"at {sizes_text(values)} {answer.why}", witness=witness)
        if told.status == "refuted":
            return told
        open_ = open_ or told
    if open_ is not None:
        return open_
    moves = first.kind == second.kind == "transfer"
    kind, claim = "plans" if moves else "programs", f"for all {describe(first)}"
    if every and tried:
        return Sameness("proved", claim, None, f"comparison at each of {len(tried)} sizes", kind,
                           conditions=tuple(conditions))  # fmt: skip
    if not tried:
        raise InputError(f"no size is admitted: {describe(first)}", first.span, "widen the ranges")
    if _is_one_text(first, second):
        unruled = replace(first, machine=replace(first.machine, rules={}))
        verdict = check_template(unruled, Options(rlimit=rlimit))
        if verdict.status is Status.PROVED:
            conditions |= dict.fromkeys(verdict.conditions)
            return Sameness("proved", claim, None, "one text, which says the same at each size", kind,
                               conditions=tuple(conditions))  # fmt: skip
    seen = f"at {len(tried)} sizes they do the same, and for all others nothing is known"
    why = why_two(first, second) if first.kind == second.kind else "a program and a transfer"
    if why:
        return Sameness("unknown", f"{seen}: {why}", None, "", kind)
    verdicts = [check_template(template, Options(rlimit=rlimit)) for template in (first, second)]
    for word, verdict in zip(WORDS, verdicts, strict=True):
        if verdict.status is not Status.PROVED:
            return Sameness("unknown", f"{seen}: the {word} is not proved for all of them (`check`)", None, "", kind)
    conditions |= dict.fromkeys(one for verdict in verdicts for one in verdict.conditions)
    each = "" if moves else " in each step"
    by = f"both proved for all sizes to be one move{each}, of elements that lie at one place each"
    return Sameness("proved", claim, None, by, kind, conditions=tuple(conditions))


def _template(text: str, plan: Plan) -> Template:
    if len(plan.templates) == 1 and plan.templates[0].kind != "access":
        return plan.templates[0]
    if not plan.templates:
        raise InputError(f"{text} has no symbols, and the other has", None, "give both the same sizes")
    named = ", ".join(one.name for one in plan.templates)
    raise InputError(f"{text} names no single transfer or program", None, f"write PATH::NAME with one of {named}")


def _is_one_text(one: Template, other: Template) -> bool:
    """Whether both are the same entry of files that say the same, on one machine, and are one or name no others."""
    entries = [(side.kind, side.name, side.target, side.machine.folder, side.text) for side in (one, other)]
    return one.text is not None and entries[0] == entries[1] and (one.path == other.path or not files_named(one.text))


def _sizes(template: Template) -> Iterator[dict[str, int]]:
    """All admitted sizes, of symbols whose ranges end; smallest first."""
    names = [one.name for one in template.symbols]
    ranges = [range(one.first, (one.last or one.first) + 1, one.multiple) for one in template.symbols]
    found = [dict(zip(names, values, strict=True)) for values in product(*ranges)]
    yield from sorted(filter(template.admits, found), key=template.key)


def _samples(template: Template) -> Iterator[dict[str, int]]:
    """The smallest sizes, where they are admitted, and some others."""
    least = {one.name: one.first for one in template.symbols}
    found = [*([least] if template.admits(least) else []), *(one for one in samples(template) if one != least)]
    yield from sorted(found, key=template.key)


def _at(plan: Plan, template: Template, values: Mapping[str, int]) -> Plan:
    """The plan with numbers. Its text has none, so that it is not run."""
    try:
        entry = template.at(values)
    except NoValue as error:
        hint = f"{error.hint}; `check` says for which sizes it has a meaning" if error.hint else ""
        raise InputError(f"at {sizes_text(values)}: {error.message}", error.span, hint) from None
    if template.kind == "program":
        return replace(plan, axes=entry.axes, programs=(entry.item,))
    if template.kind in ("gather", "scatter"):
        return replace(plan, axes=entry.axes, indirects=(entry.item,))
    return replace(plan, axes=entry.axes, transfers=(PlanTransfer(entry.item, {}, tuple(entry.problems)),))
