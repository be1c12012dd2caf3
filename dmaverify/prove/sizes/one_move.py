"""Whether two transfers or programs with symbols, once both are proved, do the same at all sizes.

Knows: both as they are read with symbols, terms of mappings, how much commands write.
Does not know: what commands copy, whether a promise is kept, whether an order decides anything.
Law: an empty answer is given only where, at every admitted size, both are between the same tensors, each element lies
at one place of the source, and where the destination has padding nothing is written but elements; of programs, step by
step in the written order, which both allow. Comparisons record for which sizes they come out as they do; where these
are not all, the answer is that nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.language.expr import ONE, Broadcast, Expr, Kind, Modulo, Padding, Resize, Stride, Symbol, terms_of, walk
from dmaverify.program.move import Transfer
from dmaverify.program.schedule import Program
from dmaverify.program.space import unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.check import SizeCover
from dmaverify.prove.sizes.divisors import NOT_SYMBOLIC, at_sizes
from dmaverify.prove.sizes.facts import SizeRegion, Template
from dmaverify.prove.sizes.samples import samples
from dmaverify.prove.sizes.search import NOTHING
from dmaverify.prove.sizes.shadow import number_of
from dmaverify.prove.sizes.trace import Trace
from dmaverify.targets.target import Target

TRIED = 6
"""Sizes at which both are read with symbols."""


def why_two(one: Template, other: Template) -> str:
    """Why two that are proved may still leave other bytes; empty where they cannot."""
    if one.machine.folder != other.machine.folder:
        return "their machines differ"

    def once(trace: Trace) -> tuple[str, SizeRegion]:
        numbers = {symbol.name: number_of(trace, symbol.name) for symbol in one.symbols}
        first, second = (template.at(numbers).item for template in (one, other))
        if isinstance(first, Program) and isinstance(second, Program):
            return _steps_differ(first, second, one.machine), trace.region()
        return _transfers_differ(first, second, one.machine), trace.region()

    cover = SizeCover(one, Options())
    left: Mapping[str, int] | str = next(iter(samples(one)), NOTHING)
    for _ in range(TRIED):
        if isinstance(left, str):
            break
        try:
            why, region = at_sizes(one, left, once)
        except NOT_SYMBOLIC as error:
            return f"symbols do not go through here: {error}"
        if why:
            return why
        if not region.holds(left):
            break
        cover.add(region, left)
        left = cover.outside()
        if left == NOTHING:
            return ""
    return "it is not seen that their tensors are the same at all sizes"


def _transfers_differ(one: Transfer, other: Transfer, target: Target) -> str:
    return _in_loops(one, target) or _in_loops(other, target) or _differ(one, other, target)


def _in_loops(transfer: Transfer, target: Target) -> str:
    """Why the order of a transfer's own iterations may decide what stays, which is judged in programs alone: those of
    one engine that waits for what it wrote follow each other, and what it reads and what it writes lie apart.
    """
    if transfer.views is None or not transfer.views.loops:
        return ""
    parts = () if transfer.stream is None else (transfer.stream.chip, transfer.stream.cluster, transfer.stream.slice)
    several = len({given.engine for given in transfer.given}) > 1 or any(part != ONE for part in parts)
    several = several or target.engines.launched or target.swaps(transfer.source.tier, transfer.dest.tier)
    return "in loops, whose iterations may overtake each other" if several else ""


def _steps_differ(one: Program, other: Program, target: Target) -> str:
    if len(one.steps) != len(other.steps):
        return "programs of other steps are compared at single sizes"
    for program in (one, other):
        seen: set[str] = set()
        for step in program.steps:
            if not seen.issuperset(step.after):
                return f"`{step.name}` waits for a step behind it"
            seen.add(step.name)
    for first, second in zip(one.steps, other.steps, strict=True):
        work = [(step.loops, step.accesses, step.context if step.accesses else None) for step in (first, second)]
        if work[0] != work[1] or first.indirect or second.indirect:
            return f"`{first.name}` and `{second.name}` are compared at single sizes"
        if first.transfer is not None and second.transfer is not None:
            why = _differ(first.transfer, second.transfer, target)
            if why:
                return f"of `{first.name}` and `{second.name}`, {why}"
    return ""


def _differ(one: Transfer, other: Transfer, target: Target) -> str:
    for key in ("dtype", "options"):
        if getattr(one, key) != getattr(other, key):
            return f"`{key}` of the two differs"
    for key in ("source", "dest"):
        if _laid(getattr(one, key)) != _laid(getattr(other, key)):
            return f"`{key}` of the two differs"
    if one.views != other.views:
        return "their loops and views differ"
    seen = (None, None) if one.views is None else (one.views.source, one.views.dest)
    whole = [
        _terms(side if view is None else view.base) for side, view in zip((one.source, one.dest), seen, strict=True)
    ]
    if not (_apart(whole[0], replicas=False) and _apart(whole[1], replicas=True)):
        return "it is not seen that each element lies at one place of the source"
    padded = any(isinstance(node, Padding) for term in _terms(one.dest) for node in walk(term))
    if any(side.streams or (padded and not _of_elements(side, target)) for side in (one, other)):
        return "it is not seen that nothing is written but elements"
    return ""


def _laid(tensor: Tensor) -> tuple[Any, ...]:
    starts = (tensor.base, tensor.at_chip, tensor.at_cluster, tensor.at_slice)
    return (tensor.tier, *starts, *(terms_of(tensor.field(place)) for place in PLACES))


def _terms(tensor: Tensor) -> tuple[Expr, ...]:
    return tuple(term for place in PLACES for term in terms_of(tensor.field(place)))


def _apart(terms: Sequence[Expr], *, replicas: bool) -> bool:
    """Whether no two positions are one element, whatever the sizes: each axis is one term, or `A / k` and `A % k`."""
    cuts: dict[str, list[tuple[Any, Any]]] = {}
    for term in terms:
        bare = term
        while isinstance(bare, Padding | Resize):
            bare = bare.inner
        inner, rest = (bare.inner, bare.by) if isinstance(bare, Modulo) else (bare, None)
        axis, by = (inner.inner, inner.by) if isinstance(inner, Stride) else (inner, None)
        if isinstance(axis, Symbol):
            cuts.setdefault(axis.name, []).append((by, rest))
        elif not (isinstance(bare, Broadcast) and (bare.size == 1 or (replicas and bare is term))):
            return False
    return all(len(own) == 1 or _halves(own) for own in cuts.values())


def _halves(cuts: Sequence[tuple[Any, Any]]) -> bool:
    """Whether these are `A / k` and `A % k`."""
    whole = [by for by, rest in cuts if rest is None]
    part = [rest for by, rest in cuts if by is None]
    return len(cuts) == 2 and len(whole) == len(part) == 1 and bool(whole[0] == part[0])


def _of_elements(transfer: Transfer, target: Target) -> bool:
    """Whether what keeps its promise writes nothing but elements: a stream alone says what is moved, and walks nothing
    else, or commands write as many units as the elements have, each of which they write. Where nothing says how, all
    padding is such that nobody may touch.
    """
    route = target.routes.get((transfer.source.tier, transfer.dest.tier))
    if transfer.options or transfer.form is not None or (route is not None and route.fills):
        return False
    if transfer.given:
        return _as_many(transfer, target)
    stream = transfer.stream
    if stream is None:
        return all(node.kind is Kind.BOTTOM for node in walk(transfer.dest.mapping) if isinstance(node, Padding))
    parts = (stream.time, stream.packet, stream.chip, stream.cluster, stream.slice)
    return all(_is_full(term) for part in parts for term in terms_of(part))


def _as_many(transfer: Transfer, target: Target) -> bool:
    """Whether commands write as many units as the elements of the destination have, where padding cuts none off."""
    bits = target.dtypes[transfer.dtype]
    units = bits // unit_bits_of(bits)
    for term in _terms(transfer.dest):
        inner = term
        while isinstance(inner, Padding):
            if inner.to < inner.inner.size:
                return False
            inner = inner.inner
        if not _is_full(inner):
            return False
        units *= inner.size
    return bool(sum(one.write.amount for one in transfer.given) == units)


def _is_full(term: Expr) -> bool:
    """Whether all positions are elements, of which there are as many as the term is long."""
    cut = term.inner if isinstance(term, Resize) and term.to <= term.inner.size else term
    return not any(isinstance(node, Padding | Resize) for node in walk(cut))
