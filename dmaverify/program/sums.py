"""Terms over the counter of a loop: what each iteration adds, and the sum over all of them.

Knows: terms that are linear in a counter, products with what does not count included; blocks, the last one shorter.
Does not know: loops of programs, solvers.
Law: `linear_in` and `summed` are exact for every number of iterations that is not negative; what they cannot say in
closed form is None, never approximated.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.affine import ONE, ZERO, Cond, Lin, World
from dmaverify.language.linear import names_in
from dmaverify.program.instructions import KernelLoop


def linear_in(world: World, value: Lin, counter: str) -> tuple[Lin, Lin] | None:
    """A term as (what it is where a counter is 0, what each iteration adds); None where it adds no fixed amount."""
    rest, step = Lin(value.const), ZERO
    for name, factor in value.terms:
        if name == counter:
            step = step + factor
        elif counter not in inside(world, name):
            rest = rest + Lin(0, ((name, factor),))
        else:
            what, *args = world.symbols[name].definition or ("",)
            sides = [a for a in args if isinstance(a, Lin)]
            if what != "mul" or sum(depends(world, s, counter) for s in sides) != 1:
                return None
            sides.sort(key=lambda s: not depends(world, s, counter))
            inner = linear_in(world, sides[0], counter)
            if inner is None:
                return None
            rest = rest + world.times(inner[0], sides[1]) * factor
            step = step + world.times(inner[1], sides[1]) * factor
    return rest, step


def summed(world: World, value: Lin, counter: str, trip: Lin) -> Lin | None:
    """The sum of a term over all iterations of a loop; None where it has no closed form here."""
    shared = ZERO
    for name, factor in value.terms:
        whole = _blocks(world, name, counter, trip)
        if whole is not None:
            shared, value = shared + whole * factor, value - Lin(0, ((name, factor),))
    found = linear_in(world, value, counter)
    if found is None:
        return None
    rest, step = found
    total = shared + world.times(trip, rest)
    if step == ZERO:
        return total
    pairs = world.divide(world.times(trip, trip - ONE), 2)
    return total + world.times(pairs, step)


def _blocks(world: World, name: str, counter: str, trip: Lin) -> Lin | None:
    """The sum of `min(n - size * k, size)` over `ceil(n / size)` iterations, which is n."""
    what, *args = world.symbols[name].definition or ("",)
    sides = [a for a in args if isinstance(a, Lin)]
    if what != "min" or len(sides) != 2:
        return None
    left, size = sides if sides[1].is_const else sides[::-1]
    found = linear_in(world, left, counter)
    if not size.is_const or size.const < 1 or found is None or found[1] != Lin(-size.const):
        return None
    blocks = world.divide(found[0] + (size.const - 1), size.const)
    if trip == blocks:
        low = world.interval(found[0])[0]
        return found[0] if low is not None and low >= 0 else None
    return world.least(found[0], ZERO, most=True) if trip == world.least(blocks, ZERO, most=True) else None


def unclamped(world: World, trip: Lin, around: Sequence[KernelLoop]) -> Lin:
    """A number of iterations without its lower limit of 0, where no iteration of the loops around goes below it."""
    if len(trip.terms) != 1 or trip.const or trip.terms[0][1] != 1:
        return trip
    what, *args = world.symbols[trip.terms[0][0]].definition or ("",)
    inner = [a for a in args if isinstance(a, Lin) and a != ZERO]
    if what != "max" or len(inner) != 1:
        return trip
    ends = [inner[0]]
    for loop in reversed(around):
        if any(linear_in(world, end, loop.counter) is None for end in ends):
            return trip
        if any(depends(world, end, loop.counter) for end in ends):
            last = loop.trip - ONE
            ends = [world.put(end, {loop.counter: at}) for end in ends for at in (ZERO, last)]
    lows = [world.interval(end)[0] for end in ends]
    return inner[0] if all(low is not None and low >= 0 for low in lows) else trip


def depends(world: World, value: Lin | Cond, name: str) -> bool:
    """Whether a symbol stands in a term, definitions included (conditions on its symbols do not count)."""
    return any(name in inside(world, n) for n in names_in(value))


def inside(world: World, name: str) -> set[str]:
    """A symbol and every symbol of its definition, at any depth; of a loop-carried value its counters as well."""
    todo, seen = [name], set()
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        seen.update(getattr(world.symbols[one], "varies", ()))
        for part in world.symbols[one].definition[1:]:
            todo += names_in(part)
    return seen
