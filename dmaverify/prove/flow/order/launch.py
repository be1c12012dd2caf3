"""Races between cores that run one kernel: two that may store to one byte, or one to what another reads.

Knows: the symbols that tell one core from another, touches with the loops and conditions around them.
Does not know: pipes, flags, machines by name, how cores wait for each other.
Law: accesses are apart only where no two cores, iterations and values from memory make them share a byte; what is not
shown of a pair, or is too much to ask, is named. Nothing orders two cores here, so that it errs to naming pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement

from dmaverify.errors import Span
from dmaverify.language.affine import Cond, Lin, World, both, compare
from dmaverify.program.instructions import Branch, Copy, CopyTouch, Event, KernelLoop, Use, accumulate
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.reached import placed, reach_of
from dmaverify.prove.flow.order.pipe_meets import Meetings
from dmaverify.values import dataclass, field

MOST_PAIRS = 64


@dataclass(frozen=True)
class CoresMeeting:
    """Two accesses that are not shown to be apart on different cores; small values of symbols with which they meet, of
    both cores, where they are shown to (the names of those of the second in `theirs`).
    """

    spans: tuple[Span, Span]
    values: Mapping[str, int] | None = None
    theirs: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[int, int]:
        return self.spans[0].line, self.spans[1].line


@dataclass(frozen=True)
class _Access:
    """A touch with what holds where it is made; stores that accumulate in the same way may meet."""

    touch: CopyTouch
    facts: tuple[Cond, ...]
    event: Event


def meeting_cores(
    events: Sequence[Event], asker: Asker, cores: Sequence[str], same: Collection[str], space: str
) -> list[CoresMeeting]:
    """Accesses of `space` that are not shown to be apart on different cores. `cores` are the symbols that are
    a core's number, of which one at least is another on another core; those in `same` are what all cores are given.
    """
    if not cores:
        return []
    found = [a for a in _accesses(events, ()) if a.touch.place.space == space and a.touch.kind != "surplus"]
    pairs = [(a, b) for a, b in combinations_with_replacement(found, 2) if _matters(a, b)]
    other = _renamed(asker.world, same)
    differ = both((compare("ne", _of(name) - other[name]) for name in cores), "or")
    sides = [s for name in cores for s in asker.world.symbols[name].side]
    known = [differ, *sides, *(asker.world.put_cond(s, other) for s in sides)]
    meetings = Meetings(asker)
    theirs = {name: term.terms[0][0] for name, term in other.items()}
    out = []
    for one, two in pairs:
        there = placed(two.touch, asker.world, other)
        facts = [*known, *one.facts, *(asker.world.put_cond(c, other) for c in two.facts)]
        if _in_turns(asker.world, one.touch, there, cores, other):
            continue
        met = None if len(pairs) > MOST_PAIRS else meetings.share(one.touch, there, facts)
        if met is not False:
            values = meetings.values(one.touch, there, facts) if met else None
            out.append(CoresMeeting((one.event.span, two.event.span), values, theirs))
    return out


def _accesses(events: Sequence[Event], facts: tuple[Cond, ...]) -> Iterator[_Access]:
    for event in events:
        if isinstance(event, KernelLoop):
            inside = compare("lt", _of(event.counter) - event.trip), compare("le", -_of(event.counter))
            yield from _accesses(event.body, (*facts, *(c for c in inside if c.known is None)))
        elif isinstance(event, Branch):
            yield from _accesses(event.then, (*facts, event.when))
            yield from _accesses(event.other, (*facts, event.when.negated()))
        elif isinstance(event, (Copy, Use)):
            for touch in event.touches:
                yield _Access(touch, (*facts, *event.when), event)


def _matters(one: _Access, two: _Access) -> bool:
    writes = one.touch.writes or two.touch.writes
    return writes and one.touch.place.memory == two.touch.place.memory and not accumulate(one.event, two.event)


def _in_turns(world: World, one: CopyTouch, two: CopyTouch, cores: Sequence[str], other: Mapping[str, Lin]) -> bool:
    """Whether cores take places in turn: the numbers of two differ by less than their count, all else that parts the
    touches is a multiple of it, and a place is as long as what is touched.
    """
    (name, *more), symbols = cores, world.symbols
    gap = world.expanded(two.place.address + two.offset - one.place.address - one.offset)
    terms = dict(gap.terms)
    size, back = terms.pop(name, 0), terms.pop(other[name].terms[0][0], 0)
    if more or gap.const or not size or size + back or (symbols[name].low or 0) < 0:
        return False
    sides = symbols[name].side if symbols[name].low is not None else ()
    counts = {n for s in sides for n, _ in s.left.terms if s == compare("lt", _of(name) - _of(n))}
    for symbol, factor in terms.items():
        what, *parts = symbols[symbol].definition or ("",)
        if what != "mul" or factor % size or not any(_of(count) in parts for count in counts):
            return False
    (low, high), (first, end) = reach_of(one, world), reach_of(two, world)
    spans = (high - first, end - low)
    return bool(counts or not terms) and all(s.is_const and s.const <= abs(size) for s in spans)


def _of(name: str) -> Lin:
    return Lin(0, ((name, 1),))


def _renamed(world: World, same: Collection[str]) -> Mapping[str, Lin]:
    """For all that may be another value on another core, a symbol of its own: its number, its rounds, what it loads."""
    return {
        s.name: world.free(f"{s.name}_there", s.low, s.high, stated=s.stated, loaded=s.loaded, shown=f"other {s.shown}")
        for s in list(world.symbols.values())
        if not s.definition and s.name not in same
    }
