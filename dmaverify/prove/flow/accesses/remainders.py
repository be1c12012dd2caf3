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


def by_remainders(events: Sequence[Event], world: World) -> Iterator[tuple[Event, ...]]:
    """The cases; none where a kernel has no turns in loops of loops, or too many."""
    turns = rhythm(world, events)
    inner = {loop for _, loops in with_loops(events) for loop in loops[1:]}
    names = sorted({name for loop in inner for name in world.roots(loop.trip)} - _counters(events))
    if turns == 1 or not names or turns ** len(names) > MOST_CASES:
        return
    if any(world.symbols[name].varies or world.symbols[name].loaded for name in names):
        return
    for values in product(*(_cases(world, name, turns) for name in names)):
        yield tuple(put_in(event, world, dict(zip(names, values, strict=True))) for event in events)


def _counters(events: Sequence[Event]) -> set[str]:
    return {loop.counter for _, loops in with_loops(events) for loop in loops}


def _cases(world: World, name: str, turns: int) -> Iterator[Lin]:
    """What stands for a symbol: all that is below 0, and of the rest each remainder by its quotient."""
    low, high = world.symbols[name].low, world.symbols[name].high
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
