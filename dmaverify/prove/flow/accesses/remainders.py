"""A kernel in cases: one for each remainder of how often its inner loops run, by the turns of its buffers and flags.

Knows: symbols that say how often a loop within a loop runs, what repeats with counters.
Does not know: what events do, what is asked of them.
Law: the cases are all values: one puts what is below 0 in the place of a symbol n, the others `turns * q + r` for each
remainder r, where q has the bounds that those of n give it. What is proved of all of them is proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from dmaverify.language.affine import Lin, World, compare
from dmaverify.program.instructions import Event
from dmaverify.program.rewrite import put_in, with_loops
from dmaverify.prove.flow.accesses.loops import rhythm
from dmaverify.values import replace

MOST_CASES = 16


def by_remainders(events: Sequence[Event], world: World) -> Iterator[Iterator[tuple[Event, ...]]]:
    """The cases, by how often loops within loops run, and then by what that is computed of; none where a kernel has no
    turns in such loops, or too many.
    """
    turns = rhythm(world, events)
    trips = [loop.trip for loop in {loop for _, loops in with_loops(events) for loop in loops[1:]}]
    counters = _counters(events)
    roots = {name for trip in trips for name in world.roots(trip)} - counters
    terms = {name for trip in trips for name, _ in trip.terms}
    whole = {n for name in terms for n in ((name,) if _roots(world, name).isdisjoint(counters) else roots)}
    for names in dict.fromkeys((tuple(sorted(whole)), tuple(sorted(roots)))) if turns > 1 else ():
        within = [world.symbols[root] for name in names for root in _roots(world, name)]
        if names and turns ** len(names) <= MOST_CASES and not any(one.varies or one.loaded for one in within):
            each = product(*(_cases(world, name, turns) for name in names))
            given = (dict(zip(names, values, strict=True)) for values in each)
            yield (tuple(put_in(event, world, values) for event in events) for values in given)


def _roots(world: World, name: str) -> set[str]:
    return set(world.roots(Lin(0, ((name, 1),))))


def _counters(events: Sequence[Event]) -> set[str]:
    return {loop.counter for _, loops in with_loops(events) for loop in loops}


def _cases(world: World, name: str, turns: int) -> Iterator[Lin]:
    """What stands for a symbol: all that is below 0, and of the rest each remainder by its quotient."""
    low, high = world.interval(Lin(0, ((name, 1),)))
    if low is None or low < 0:
        yield _made(world, name, 1, 0, (low, -1 if high is None else min(high, -1)))
    for rest in range(turns):
        least = -((rest - max(low or 0, 0)) // turns)
        if high is None or least <= (high - rest) // turns:
            yield _made(world, name, turns, rest, (least, None if high is None else (high - rest) // turns))


def _made(world: World, name: str, turns: int, rest: int, ends: tuple[int | None, int | None]) -> Lin:
    """A symbol as `turns` times a new one, which has these ends, and a rest."""
    symbol = world.symbols[name]
    quotient = world.free(f"{name}_{turns}", *ends, stated=symbol.stated, shown=f"{symbol.shown} // {turns}")
    (made,) = quotient.terms
    value = quotient * turns + rest
    same = compare("eq", value - Lin(0, ((name, 1),)))
    world.symbols[made[0]] = replace(world.symbols[made[0]], side=(same,))
    return value
