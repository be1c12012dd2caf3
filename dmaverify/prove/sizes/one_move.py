"""Whether two transfers with symbols, once both keep their promise, copy the same units at all sizes.

Knows: both transfers as they are read with symbols, terms of mappings.
Does not know: commands, whether a promise is kept.
Law: an empty answer is given only where, at every admitted size, both are between the same tensors, each element lies
at one place of the source, and where the destination has padding nothing is written but elements. Comparisons record
for which sizes they come out as they do; where these are not all, the answer is that nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from dmaverify.language.expr import Broadcast, Expr, Modulo, Padding, Pair, Stride, Symbol, terms_of, walk
from dmaverify.program.move import Transfer
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.check import SizeCover
from dmaverify.prove.sizes.divisors import NOT_SYMBOLIC, at_sizes
from dmaverify.prove.sizes.facts import SizeRegion, Template
from dmaverify.prove.sizes.samples import samples
from dmaverify.prove.sizes.search import NOTHING
from dmaverify.prove.sizes.shadow import number_of
from dmaverify.prove.sizes.trace import Trace

TRIED = 3
"""Sizes at which both are read with symbols."""


def why_two(one: Template, other: Template) -> str:
    """Why two transfers that keep their promise may still copy other units; empty where they cannot."""
    if one.machine.folder != other.machine.folder:
        return "their machines differ"
    if one.looped or other.looped:
        return "in loops and views"

    def once(trace: Trace) -> tuple[str, SizeRegion]:
        numbers = {symbol.name: number_of(trace, symbol.name) for symbol in one.symbols}
        first, second = (template.at(numbers).item for template in (one, other))
        return _differ(first, second), trace.region()

    cover = SizeCover(one, Options())
    for values in islice(samples(one), TRIED):
        try:
            why, region = at_sizes(one, values, once)
        except NOT_SYMBOLIC as error:
            return f"symbols do not go through here: {error}"
        if why:
            return why
        cover.add(region, values)
        if cover.outside() == NOTHING:
            return ""
    return "it is not seen that their tensors are the same at all sizes"


def _differ(one: Transfer, other: Transfer) -> str:
    for key in ("dtype", "options"):
        if getattr(one, key) != getattr(other, key):
            return f"`{key}` of the two differs"
    for key in ("source", "dest"):
        if _laid(getattr(one, key)) != _laid(getattr(other, key)):
            return f"`{key}` of the two differs"
    if one.views or other.views:
        return "in loops and views"
    source, dest = (_terms(side) for side in (one.source, one.dest))
    if not (_apart(source, replicas=False) and _apart(dest, replicas=True)):
        return "it is not seen that each element lies at one place of the source"
    padded = any(isinstance(node, Padding) for term in dest for node in walk(term))
    if any(side.streams or (padded and not _of_elements(side)) for side in (one, other)):
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
        while isinstance(bare, Padding):
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


def _of_elements(transfer: Transfer) -> bool:
    """Whether a stream alone says what is moved, and walks nothing but elements."""
    stream = transfer.stream
    if stream is None or transfer.given or transfer.options:
        return False
    parts = (stream.time, stream.packet, stream.chip, stream.cluster, stream.slice)
    walked = (node for part in parts for node in walk(part))
    return all(isinstance(node, Symbol | Broadcast | Stride | Modulo | Pair) for node in walked)
