"""A kernel in cases: one for each remainder of how often its inner loops run, by the turns of its buffers and flags.

Knows: symbols that say how often a loop within a loop runs, what repeats with counters.
Does not know: what events do, what is asked of them.
Law: the cases are all values: for each remainder r of a symbol n one puts `turns * q + r` in its place, where q has the
bounds that those of n give it. What is proved of all of them is proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from dmaverify.language.affine import Lin, World, compare
from dmaverify.program.instructions import Event
from dmaverify.program.rewrite import put_in, with_loops
from dmaverify.prove.flow.loops import rhythm
from dmaverify.values import replace

MOST_CASES = 16


def by_remainders(events: Sequence[Event], world: World) -> Iterator[tuple[Event, ...]]:
    """The cases; none where a kernel has no turns in loops of loops, or too many."""
    turns = rhythm(world, events)
    inner = {loop for _, loops in with_loops(events) for loop in loops[1:]}
    names = sorted({name for loop in inner for name in world.roots(loop.trip)} - _counters(events))
    if turns == 1 or not names or turns ** len(names) > MOST_CASES:
        return
    if any(world.symbols[name].varies or world.symbols[name].loaded for name in names):
        return
    for rests in product(range(turns), repeat=len(names)):
        values = {name: _with_rest(world, name, turns, rest) for name, rest in zip(names, rests, strict=True)}
        known = [value for value in values.values() if value is not None]
        if len(known) == len(names):
            yield tuple(put_in(event, world, dict(zip(names, known, strict=True))) for event in events)


def _counters(events: Sequence[Event]) -> set[str]:
    return {loop.counter for _, loops in with_loops(events) for loop in loops}


def _with_rest(world: World, name: str, turns: int, rest: int) -> Lin | None:
    """A symbol by its quotient; None where its range has no such value."""
    symbol = world.symbols[name]
    low = None if symbol.low is None else -((rest - symbol.low) // turns)
    high = None if symbol.high is None else (symbol.high - rest) // turns
    if low is not None and high is not None and low > high:
        return None
    quotient = world.free(f"{name}_{turns}", low, high, stated=symbol.stated, shown=f"{symbol.shown} // {turns}")
    (made,) = quotient.terms
    value = quotient * turns + rest
    world.symbols[made[0]] = replace(world.symbols[made[0]], side=(compare("eq", value - Lin(0, ((name, 1),))),))
    return value
