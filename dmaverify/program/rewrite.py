"""Events with every number replaced: symbols put in, or the terms of one kernel carried into the world of another.

Knows: which numbers an event holds. Does not know: what they mean.
Law: the event that comes back is the same event about other numbers; nothing is left out, places in the text stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from dmaverify.language.affine import ZERO, Cond, Lin, World, both, compare
from dmaverify.program.instructions import (
    Branch,
    BufferToken,
    Copy,
    CopyStep,
    CopyTouch,
    Event,
    KernelLoop,
    Place,
    Signal,
    Use,
)
from dmaverify.values import replace

Number = Callable[[Lin], Lin]
Condition = Callable[[Cond], Cond]


def rewritten(event: Event, number: Number, condition: Condition) -> Event:
    """The event with its numbers and conditions replaced; counters of loops keep their names."""
    if isinstance(event, Copy):
        return _copy(event, number, condition)
    if isinstance(event, Use):
        touches = tuple(_touch(t, number) for t in event.touches)
        gives = tuple(map(number, event.gives))
        sources = tuple(s if s.limit is None else replace(s, limit=number(s.limit)) for s in event.sources)
        return replace(event, touches=touches, when=tuple(map(condition, event.when)), gives=gives, sources=sources)
    if isinstance(event, Signal):
        return replace(event, event=number(event.event), when=tuple(map(condition, event.when)))
    if isinstance(event, BufferToken):
        when = tuple(map(condition, event.when))
        return replace(event, token=number(event.token), mode=number(event.mode), when=when)
    if isinstance(event, KernelLoop):
        body = tuple(rewritten(e, number, condition) for e in event.body)
        return replace(event, trip=number(event.trip), body=body)
    if isinstance(event, Branch):
        arms = [tuple(rewritten(e, number, condition) for e in arm) for arm in (event.then, event.other)]
        return replace(event, when=condition(event.when), then=arms[0], other=arms[1])
    return event


def _place(place: Place, number: Number) -> Place:
    return replace(place, address=number(place.address))


def _touch(touch: CopyTouch, number: Number) -> CopyTouch:
    return replace(
        touch,
        place=_place(touch.place, number),
        offset=number(touch.offset),
        length=number(touch.length),
        steps=tuple((number(c), number(s)) for c, s in touch.steps),
    )


def _copy(copy: Copy, number: Number, condition: Condition) -> Copy:
    fill = copy.fill
    if fill is not None:
        fill = replace(fill, left=number(fill.left), right=number(fill.right))
    return replace(
        copy,
        read=_place(copy.read, number),
        write=_place(copy.write, number),
        row=number(copy.row),
        steps=tuple(CopyStep(number(s.count), number(s.read), number(s.write), s.label, s.spans) for s in copy.steps),
        fill=fill,
        ports={name: number(term) for name, term in copy.ports.items()},
        when=tuple(map(condition, copy.when)),
        touches=tuple(_touch(t, number) for t in copy.touches),
    )


def every(events: Sequence[Event]) -> Iterator[Event]:
    """All events, those within loops and branches included."""
    for event in events:
        yield event
        if isinstance(event, KernelLoop):
            yield from every(event.body)
        elif isinstance(event, Branch):
            yield from every((*event.then, *event.other))


def with_loops(
    events: Sequence[Event], loops: tuple[KernelLoop, ...] = ()
) -> Iterator[tuple[Event, tuple[KernelLoop, ...]]]:
    """Every event that holds no others, with the loops around it, outer to inner."""
    for event in events:
        if isinstance(event, KernelLoop):
            yield from with_loops(event.body, (*loops, event))
        elif isinstance(event, Branch):
            yield from with_loops((*event.then, *event.other), loops)
        else:
            yield event, loops


def touches_in(events: Sequence[Event]) -> Iterator[CopyTouch]:
    """Everything that copies and accesses touch."""
    return (touch for e in every(events) if isinstance(e, (Copy, Use)) for touch in e.touches)


def spread(events: Iterable[Event], into: Callable[[Event], Iterable[Event]]) -> Iterator[Event]:
    """The same loops and branches with, for each event in them, what it becomes."""
    for event in events:
        if isinstance(event, KernelLoop):
            yield replace(event, body=tuple(spread(event.body, into)))
        elif isinstance(event, Branch):
            yield replace(event, then=tuple(spread(event.then, into)), other=tuple(spread(event.other, into)))
        else:
            yield from into(event)


def running(events: Sequence[Event]) -> Iterator[Event]:
    """The events without loops that never run, and without branches and loops of nothing."""
    for event in events:
        if isinstance(event, KernelLoop):
            body = tuple(running(event.body))
            if body and event.trip != ZERO:
                yield replace(event, body=body)
        elif isinstance(event, Branch):
            arms = [tuple(running(arm)) for arm in (event.then, event.other)]
            if event.when.known is not None:
                yield from arms[0 if event.when.known else 1]
            elif arms[0] or arms[1]:
                yield replace(event, then=arms[0], other=arms[1])
        else:
            yield event


def symbols_of(events: Sequence[Event], world: World) -> set[str]:
    """The free symbols that runs depend on, counters of loops aside."""
    terms: list[Lin | Cond] = []
    counters = set()
    for event in every(events):
        if isinstance(event, KernelLoop):
            counters.add(event.counter)
            terms.append(event.trip)
        elif isinstance(event, Branch):
            terms.append(event.when)
        else:
            rewritten(event, lambda n: terms.append(n) or n, lambda c: c)  # type: ignore[func-returns-value]
    found: set[str] = set()
    for term in terms:
        found |= world.roots(term)
    return found - counters


def put_in(event: Event, world: World, values: Mapping[str, Lin]) -> Event:
    """The event with symbols replaced."""
    return rewritten(event, lambda n: world.put(n, values), lambda c: world.put_cond(c, values))


def unrolled(loop: KernelLoop, world: World, trips: Iterable[int]) -> Iterator[Event]:
    """The body of a loop once for each of these iterations."""
    for trip in trips:
        yield from (put_in(event, world, {loop.counter: Lin(trip)}) for event in loop.body)


class Carrier:
    """Carries terms of one world into another. `shared` are the symbols that both kernels mean alike, by shown name;
    `loose` in the end those of this kernel alone that count no loop.
    """

    def __init__(self, source: World, dest: World, shared: Mapping[str, Lin]) -> None:
        self.source, self.dest = source, dest
        self.names: dict[str, Lin] = {}
        self.loose: set[str] = set()
        self.shared = shared

    def events(self, events: Sequence[Event]) -> tuple[Event, ...]:
        return tuple(self._named(rewritten(event, self.number, self.condition)) for event in events)

    def _named(self, event: Event) -> Event:
        """The event with the new names of its counters."""
        if isinstance(event, KernelLoop):
            counter = self._symbol(event.counter).terms[0][0]
            self.loose.discard(counter)
            return replace(event, counter=counter, body=tuple(map(self._named, event.body)))
        if isinstance(event, Branch):
            arms = [tuple(map(self._named, arm)) for arm in (event.then, event.other)]
            return replace(event, then=arms[0], other=arms[1])
        return event

    def number(self, value: Lin) -> Lin:
        out = Lin(value.const)
        for name, factor in value.terms:
            out = out + self._symbol(name) * factor
        return out

    def condition(self, when: Cond) -> Cond:
        if when.op == "const":
            return when
        if when.op == "not":
            return self.condition(when.parts[0]).negated()
        if when.op in ("and", "or"):
            return both([self.condition(part) for part in when.parts], when.op)
        return compare(when.op, self.number(when.left))

    def _symbol(self, name: str) -> Lin:
        found = self.names.get(name)
        if found is None:
            found = self._made(name)
            self.names.setdefault(name, found)
        return self.names[name]

    def _made(self, name: str) -> Lin:
        symbol = self.source.symbols[name]
        what, *args = symbol.definition or ("",)
        if what:
            parts = [
                self.number(a) if isinstance(a, Lin) else self.condition(a) if isinstance(a, Cond) else a for a in args
            ]
            return self.dest.define(str(what), parts)
        if symbol.shown in self.shared:
            return self.shared[symbol.shown]
        made = self.dest.free(name, symbol.low, symbol.high, stated=symbol.stated, shown=symbol.shown)
        new = made.terms[0][0]
        self.names[name] = made
        self.loose.add(new)
        side = tuple(self.condition(c) for c in symbol.side)
        self.dest.symbols[new] = replace(self.dest.symbols[new], side=side)
        return made
