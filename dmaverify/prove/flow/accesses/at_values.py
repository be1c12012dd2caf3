"""Chosen values of the symbols of a kernel, to run what no proof decides for all of them.

Knows: small values within the ranges of symbols, what had to be assumed of them.
Does not know: machines, text syntax, proofs for all values.
Law: a finding is one of a run that the ranges, the conditions on symbols and all assumptions allow, and names its
values; where a range is not stated, all values tried must fail. Nothing found proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dmaverify.language.affine import Lin, World, compare
from dmaverify.program.instructions import Event
from dmaverify.program.rewrite import every, symbols_of
from dmaverify.prove.flow.accesses.ask import BEYOND, Asker
from dmaverify.values import replace
from dmaverify.verdict import Finding

TRIED = (*BEYOND, 1000)  # what is added to the least value of a symbol; the last goes beyond one tile
MOST_AT_VALUES = 4_000  # events of one run, which is begun anew for each values and each reading


def open_symbols(events: Sequence[Event], world: World) -> tuple[list[str], bool]:
    """The symbols of a kernel, none where one of them has no value for a whole run; and whether the ranges of all are
    stated.
    """
    symbols = {name: world.symbols[name] for name in sorted(symbols_of(events, world))}
    if any(one.varies or one.loaded for one in symbols.values()):
        return [], False
    return list(symbols), all(one.stated or one.surely is not None for one in symbols.values())


def told_at(finding: Finding, values: Mapping[str, Lin], world: World) -> Finding:
    """A finding of a run, with the values of its symbols."""
    shown = {world.symbols[name].shown: value.const for name, value in values.items()}
    said = f"{finding.message}, where {values_text(shown)}"
    return replace(finding, message=said, values={**finding.values, **shown}, witness=finding.witness or shown)


def values_text(shown: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value:,}" for name, value in shown.items())


def chosen_values(asker: Asker, names: Sequence[str], events: Sequence[Event]) -> Iterator[dict[str, Lin]]:
    """Values of all symbols that meet every condition on them; the fewer, the longer the text."""
    world, many = asker.world, sum(1 for _ in every(events))
    for number in range(len(TRIED) + 1)[-max(2, MOST_AT_VALUES // 2 // max(1, many)) :]:
        chosen: dict[str, Lin] = {}
        for index, name in enumerate(names):
            symbol = world.symbols[name]
            value = (symbol.low or 0) + TRIED[(number + index) % len(TRIED)]
            if symbol.surely is not None and not symbol.stated:
                value = symbol.surely
            if number == len(TRIED) and symbol.stated and symbol.high is not None:
                value = symbol.high  # the greatest at once
            chosen[name] = Lin(value if symbol.high is None else min(value, symbol.high))
        met = chosen if all_met(asker, names, chosen) else _mended(asker, names, chosen)
        if met is not None:
            yield met


def all_met(asker: Asker, names: Sequence[str], chosen: Mapping[str, Lin]) -> bool:
    """Whether values meet all that is known and needed of these symbols."""
    world = asker.world
    known = [*asker.needed(names), *(c for c in world.witnessed if world.roots(c) <= set(chosen))]
    return all(_is_met(world, name, chosen) for name in names) and all(world.put_cond(c, chosen).known for c in known)


def _mended(asker: Asker, names: Sequence[str], chosen: Mapping[str, Lin]) -> dict[str, Lin] | None:
    """The values with another one for a symbol that what is known of several symbols gives; None where none does."""
    related = {n for given in (*asker.world.given, *asker.world.witnessed) for n in asker.world.roots(given)}
    for free in (name for name in reversed(names) if name in related):
        others = [compare("eq", Lin(0, ((name, 1),)) - chosen[name]) for name in names if name != free]
        ends = [asker.world.put_cond(c, {n: v for n, v in chosen.items() if n != free}) for c in asker.world.witnessed]
        value = asker.possible([*others, *ends], names=names).values.get(free)
        found = {**chosen, free: Lin(value)} if isinstance(value, int) else None
        if found is not None and all_met(asker, names, found):
            return found
    return None


def _is_met(world: World, name: str, chosen: Mapping[str, Lin]) -> bool:
    """Whether a symbol's value is in its range and meets what is known of it, at these values."""
    symbol = world.symbols[name]
    inside = symbol.low is None or symbol.low <= chosen[name].const
    return inside and all(world.put_cond(side, chosen).known for side in symbol.side)
