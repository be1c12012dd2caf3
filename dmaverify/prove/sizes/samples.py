"""The sizes that runs are tried at: typical ones, and which of them are fixed at a value.

Knows: ranges and relations of symbols. Does not know: plans, runs, regions.
Law: every sample is admitted, and has the fixed sizes; which samples there are decides no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from dmaverify.prove.sizes.facts import Template

_STEPS = ((2, 3, 5, 7, 11, 13), (8, 24, 40, 56, 88, 104), (32, 96, 160, 224), (64, 128, 256, 512), (1, 1, 1, 1, 1, 1))


def pins(template: Template, values: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Symbols to fix at their values, few at a time: those that are 1, then others, then all sizes, at last all but one
    of those that are no axis.
    """
    names = [one.name for one in template.symbols]
    ones = [one.name for one in template.symbols if values[one.name] == 1]
    tried = [*((name,) for name in ones), *combinations(ones, 2), *((name,) for name in names), tuple(ones)]
    tried += [tuple(one.name for one in template.symbols if one.axis)]
    tried += [tuple(name for name in names if name != one.name) for one in template.symbols if not one.axis]
    yield from (one for one in dict.fromkeys(tried) if one)


def samples(template: Template, fixed: Mapping[str, int] | None = None) -> Iterator[dict[str, int]]:
    """Sizes at which a run is likely to be like runs at most others, some of them fixed; each admitted."""
    fixed = fixed or {}
    seen: set[tuple[int, ...]] = set()
    for steps in _STEPS:
        for order in (1, -1):
            values: dict[str, int] = {}
            for one, step in zip(template.symbols, steps[: len(template.symbols)][::order], strict=False):
                value = max(one.first, step * one.multiple)
                values[one.name] = value if one.last is None else min(value, one.last)
            for one in template.symbols:
                values.setdefault(one.name, one.first)
            values = {**_as_multiples(template, values), **fixed}
            key = tuple(values.values())
            if key not in seen and template.admits(values):
                seen.add(key)
                yield values
    last = {one.name: one.last or max(one.first, 4096 // one.multiple * one.multiple) for one in template.symbols}
    last.update(fixed)
    if template.admits(last):
        yield last


def _as_multiples(template: Template, values: dict[str, int]) -> dict[str, int]:
    """Sizes made multiples of what a relation says divides them."""
    for fact in template.assume:
        if fact.op == "div" and fact.by is not None and len(fact.poly.symbols) == 1 and len(fact.poly.terms) == 1:
            (name,) = fact.poly.symbols
            by = fact.by.at(values) if fact.by.symbols <= set(values) else 0
            if by > 0 and name in values and values[name] % by:
                values[name] = values[name] * by
    return values
