"""How loops are followed, for order in time (`pipes`) and for what is written (`definite`): which iterations are looked
at, which of them stand for the others, and where that is given up.

Knows: counters and what repeats with them, numbers of iterations, how many are followed.
Does not know: what a state holds, what an event changes, machines.
Domain: one state behind each iteration, and what is known of the counters there. An iteration stands for others in two
cases only: everything that the analysis reads of the loop, conditions and inner loops included, is the same `period`
iterations later, or the state itself comes back at the same turn of the loop (`rhythm`).
Law: what neither holds of is widened on the side of not proving: order is open, and of bytes only rows whose addresses
follow the counter, lost by no iteration, count as written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import gcd, lcm

from dmaverify.language.affine import Cond, Lin, World
from dmaverify.program.instructions import Branch, Event, KernelLoop
from dmaverify.values import dataclass, replace

MOST_STEPS = 48  # iterations that are followed until a state, or what a period leaves, must have come back
FEW_STEPS = 160  # a loop of fewer is followed to its end, if it has to be
SMALL_TRIP = 32  # a loop of at most this many is followed to its end, whatever comes back
MOST_ROUNDS = 16  # iterations of a loop of unknown length that are followed one by one
MOST_EVENTS = 20_000  # events of loops of known length that are followed one by one
PERIODS = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True, slots=True)
class At:
    """Where a walk is: the counters of the loops around as terms, those loops from the outside in, and the loops
    (counter, iterations) of which one iteration is all of them.
    """

    counters: Mapping[str, Lin]
    loops: tuple[KernelLoop, ...] = ()
    lifted: tuple[tuple[str, Lin], ...] = ()

    def within(self, loop: KernelLoop, here: Lin) -> At:
        """In iteration `here` of a loop."""
        return At({**self.counters, loop.counter: here}, (*self.loops, loop), self.lifted)

    def in_all(self, loop: KernelLoop, trip: Lin) -> At:
        """In all iterations of a loop at once."""
        return replace(self, lifted=(*self.lifted, (loop.counter, trip)))


def one_by_one(trip: Lin, period: int | None, events: int, at: At, *, spread: int, left: int) -> bool:
    """Whether a loop of known length, with so many events, is followed iteration by iteration."""
    if not trip.is_const:
        return False
    most = 0 if spread > 256 else 64 if at.lifted else left
    return trip.const <= 2 * (period or 0) or trip.const * events <= most


def most_followed(most: int | None) -> int:
    """How many iterations are followed of a loop of at most so many, until its state must have come back."""
    return MOST_STEPS if most is None or most >= FEW_STEPS else max(MOST_STEPS, most + 1)


def own_rhythm(world: World, counter: str) -> int:
    """After how many iterations all remainders of a counter are the same again; 1 where that is not soon."""
    period = 1
    for symbol in world.symbols.values():
        what, *args = symbol.definition or ("",)
        if what in ("mod", "div") and isinstance(args[0], Lin) and isinstance(args[1], int):
            factor = dict(args[0].terms).get(counter, 0)
            if factor:
                period = lcm(period, args[1] // gcd(args[1], factor))
    return period if period <= MOST_STEPS // 3 else 1


def rhythm(world: World, events: Sequence[Event]) -> int:
    """After how many iterations the turns of all loops are the same again."""
    out = 1
    for event in events:
        if isinstance(event, KernelLoop):
            out = lcm(out, own_rhythm(world, event.counter), rhythm(world, event.body))
        elif isinstance(event, Branch):
            out = lcm(out, rhythm(world, (*event.then, *event.other)))
    return out


def period_of(world: World, loop: KernelLoop, terms: Sequence[Lin], at: At) -> int | None:
    """After how many iterations all terms are the same again."""
    periods = _periods(world, loop.counter)
    return next((period for period in periods if _same(world, terms, loop.counter, period, at)), None)


def rhythm_of(world: World, loop: KernelLoop, period: int, at: At) -> int | None:
    """The first multiple of a period of its terms after which conditions and inner loops are the same again, too."""
    periods = (n for n in chain((period,), _periods(world, loop.counter)) if n % period == 0)
    return next((n for n in periods if steady(world, loop.body, loop.counter, n, at)), None)


def _periods(world: World, counter: str) -> Iterator[int]:
    """Periods to try: short ones, then what the remainders of a counter say, which is a walk over all symbols."""
    yield from PERIODS
    yield own_rhythm(world, counter)


def steady(world: World, events: Sequence[Event], counter: str, period: int, at: At) -> bool:
    """Whether conditions and inner loops are those of one period before."""
    for event in events:
        inner: tuple[Lin | Cond, Sequence[Event]] | None = None
        if isinstance(event, KernelLoop):
            inner = event.trip, event.body
        elif isinstance(event, Branch):
            inner = event.when, (*event.then, *event.other)
        if inner is not None and not (
            _same(world, (inner[0],), counter, period, at) and steady(world, inner[1], counter, period, at)
        ):
            return False
    return True


def _same(world: World, values: Iterable[Lin | Cond], counter: str, period: int, at: At) -> bool:
    outer = {name: term for name, term in at.counters.items() if name != counter}
    later = Lin(0, ((counter, period),))

    def put(value: Lin | Cond, counters: Mapping[str, Lin]) -> Lin | Cond:
        return world.put(value, counters) if isinstance(value, Lin) else world.put_cond(value, counters)

    return all(
        put(own, {counter: later + step}) == put(own, {counter: Lin(step)})
        for own in (put(value, outer) for value in values)
        for step in range(period)
    )
