"""Two plans with symbols, each one program or one transfer, compared for all sizes that they admit.

Knows: templates, their texts, the comparison at single sizes. Does not know: how all sizes of one plan are judged.
Law: `proved` is said where all sizes were compared one by one, or of two transfers of one move that are both proved for
all sizes, where that leaves nothing open: every element lies at one place of the source, and neither writes anything
but elements. Where two texts are not seen to be one move, they are taken to be two. `refuted` is said of a size.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from dmaverify.errors import InputError, NoValue
from dmaverify.jobs.same_programs import same_entries, same_plans
from dmaverify.plan.plan import Plan, PlanTransfer, has_numbers
from dmaverify.prove.move.equiv import WORDS, Equivalence
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.check import check_template, count_of, describe, sizes_text
from dmaverify.prove.sizes.facts import Template
from dmaverify.prove.sizes.samples import samples
from dmaverify.values import replace
from dmaverify.verdict import Status

MOST_SIZES = 64
"""So many sizes are compared one by one."""
TRIED = 4
"""Sizes of others at which a difference is sought."""

Side = tuple[str, Plan]  # with the text that names it


def same_texts(one: Side, other: Side, *, rlimit: int, tiers: Sequence[str] = ()) -> Equivalence:
    """Whether two plans, each with the text that names its one entry, do the same, at all sizes where they have
    symbols; of programs, in `tiers`. Raises InputError, Disagreement.
    """
    compare = same_at_all_sizes if one[1].templates or other[1].templates else same_entries
    return compare(one, other, rlimit=rlimit, tiers=tiers)


def same_at_all_sizes(one: Side, other: Side, *, rlimit: int, tiers: Sequence[str] = ()) -> Equivalence:
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
        return Equivalence("proved", claim, None, f"comparison at each of {len(tried)} sizes", kind,
                           conditions=tuple(conditions))  # fmt: skip
    if not tried:
        raise InputError(f"no size is admitted: {describe(first)}", first.span, "widen the ranges")
    seen = f"at {len(tried)} sizes they do the same, and for all others nothing is known"
    why = _open((one, other), (first, second)) if moves else "programs are compared at single sizes"
    if why:
        return Equivalence("unknown", f"{seen}: {why}", None, "", kind)
    verdicts = [check_template(template, Options(rlimit=rlimit)) for template in (first, second)]
    for word, verdict in zip(WORDS, verdicts, strict=True):
        if verdict.status is not Status.PROVED:
            return Equivalence("unknown", f"{seen}: the {word} is not proved for all of them (`check`)", None, "", kind)
    conditions |= dict.fromkeys(one for verdict in verdicts for one in verdict.conditions)
    by = "both proved for all sizes to be one move, of elements that lie at one place each"
    return Equivalence("proved", claim, None, by, kind, conditions=tuple(conditions))


def _template(text: str, plan: Plan) -> Template:
    if plan.is_kernel:
        has_numbers(plan)
    if len(plan.templates) == 1 and plan.templates[0].kind != "access":
        return plan.templates[0]
    if not plan.templates:
        raise InputError(f"{text} has no symbols, and the other has", None, "give both the same sizes")
    named = ", ".join(one.name for one in plan.templates)
    raise InputError(f"{text} names no single transfer or program", None, f"write PATH::NAME with one of {named}")


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
    return replace(plan, axes=entry.axes, transfers=(PlanTransfer(entry.item, {}, tuple(entry.problems)),))


# ---------------------------------------------------------------- one move

_NUMBER = r"(?:\w+|\([^()]*\))"
_TERM = re.compile(rf"([A-Z]\w*'?)(?:/({_NUMBER}))?(?:%({_NUMBER}))?((?:#(?:\{{[*0!]\}})?{_NUMBER})*)")
_ONE = re.compile(rf"1(?:#(?:\{{[*0!]\}})?{_NUMBER})*")
_PLACES = ("chip", "cluster", "slice", "element")


def _open(sides: Sequence[Side], templates: Sequence[Template]) -> str:
    """Why two transfers that keep their promise may still copy other units; empty where they cannot."""
    files = [tomllib.loads(plan.source.text) for _, plan in sides]
    tables = [file["transfer"][template.name] for file, template in zip(files, templates, strict=True)]
    if templates[0].machine.folder != templates[1].machine.folder:
        return "their machines differ"
    if files[0].get("let") != files[1].get("let"):
        return "`let` of the two differs"
    for key in ("dtype", "source", "dest", "options"):
        one, other = (table.get(key) for table in tables)
        if one != other and (key in ("dtype", "options") or _squeezed(one) != _squeezed(other)):
            return f"`{key}` of the two differs"
    source, dest = ([one for place in _PLACES for one in _terms(side.get(place, "1"))]
                    for side in (tables[0]["source"], tables[0]["dest"]))  # fmt: skip
    if any("view" in table[side] for table in tables for side in ("source", "dest")) or any(
        template.looped for template in templates
    ):
        return "in loops and views"
    axes = [one.name for one in templates[0].symbols] + list(files[0].get("axes", {}))
    if not (_apart(source, axes, replicas=False) and _apart(dest, axes, replicas=True)):
        return "it is not seen that each element lies at one place of the source"
    padded = any("#" in one for one in dest)
    if any("commands" in table or (padded and not _of_elements(table)) for table in tables):
        return "it is not seen that nothing is written but elements"
    return ""


def _squeezed(value: Any) -> Any:
    """A tensor's text without spaces, and without what is the same where it is left out."""
    if isinstance(value, dict):
        return {key: _squeezed(part) for key, part in value.items() if _squeezed(part) not in ("1", 0)}
    return [_squeezed(part) for part in value] if isinstance(value, list) else (
        "".join(value.split()) if isinstance(value, str) else value
    )  # fmt: skip


def _terms(text: str) -> list[str]:
    """The terms of a mapping; what stands in brackets is one."""
    out, depth = [""], 0
    for char in "".join(text.split()):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and not depth:
            out.append("")
        else:
            out[-1] += char
    return out


def _apart(terms: Sequence[str], axes: Sequence[str], *, replicas: bool) -> bool:
    """Whether no two positions are one element, whatever the sizes: each axis is one term, or `A / k` and `A % k`."""
    named: dict[str, list[tuple[str | None, str | None]]] = {}
    for term in terms:
        found = _TERM.fullmatch(term)
        if found is not None and found[1] in axes:
            named.setdefault(found[1], []).append((found[2], found[3]))
        elif _ONE.fullmatch(term) is None and not (replicas and term.isdecimal()):
            return False
    return all(
        len(cuts) == 1 or sorted(cuts, key=str) == sorted([(by, None), (None, by)], key=str)
        for cuts in named.values() for by in [next((k for k, rest in cuts if k and not rest), None)]
    )  # fmt: skip


def _of_elements(table: Mapping[str, Any]) -> bool:
    """Whether a stream alone says what is moved, and walks nothing but elements."""
    stream = table.get("stream")
    told = any(key in table for key in ("read", "write", "sequencer", "command", "options"))
    return isinstance(stream, dict) and "packet" in stream and not told and not any(
        mark in text for text in stream.values() if isinstance(text, str) for mark in "#=@+"
    )  # fmt: skip
