"""What another core does to memory that it shares with a kernel, as accesses and signals among the kernel's events.

Knows: statements about the other core (`Shared`), releases and arrivals of its flags.
Does not know: machines, text, how order is judged.
Law: the other core does what is stated of it at the earliest moment that the kernel allows: right behind a release that
lets it go on, and, as a flag may be sent ahead, right before each arrival. It knows of the kernel's work what the pipe
of a release had done; a pipe knows its work from an arrival on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.language.affine import Lin
from dmaverify.program.instructions import (
    NO_FLAG,
    OTHER_CORE,
    Arrival,
    Copy,
    CopyTouch,
    Event,
    Place,
    Release,
    Shared,
    Signal,
    Use,
)
from dmaverify.program.rewrite import every, spread, touches_in
from dmaverify.values import dataclass, field

WHOLE = 1 << 62  # bytes of a memory of which nobody says how large it is
FIRST = 1 << 40  # numbers of accesses from here down are those of the other core


def meets_release(shared: Shared, release: Release) -> bool:
    """Whether the other core may do this behind the release."""
    return _same(shared.after, release.flag)


def meets_arrival(shared: Shared, arrival: Arrival) -> bool:
    """Whether the other core has done this before the arrival."""
    return _same(shared.before, arrival.flag)


def _same(stated: int | None, flag: int | None) -> bool:
    return stated is None or (stated != NO_FLAG and flag in (None, stated))


def handovers(events: Sequence[Event]) -> list[Release | Arrival]:
    """Every release and arrival of a kernel."""
    return [e for e in every(events) if isinstance(e, (Release, Arrival))]


def anything(events: Sequence[Event], memory: tuple[str, int]) -> tuple[Shared, ...]:
    """That the other core reads and writes everything, at any time that the kernel leaves it."""
    places = {t.place.memory for t in touches_in(events)}
    return tuple(Shared("w", space, root) for space, root in sorted(places | {(memory[0], "")}))


def with_other_core(
    events: Sequence[Event],
    shared: Sequence[Shared],
    memory: tuple[str, int],
    *,
    order: bool = True,
    early: bool = True,
) -> tuple[Event, ...]:
    """The events with what the other core does; without `order` only what it reads, where it is let go. `early` is
    what it may do from the start.
    """
    pipes = sorted({e.pipe for e in every(events) if isinstance(e, (Copy, Use))})
    weaver = _Weaver(shared, memory, pipes, order)
    at_first = [s for s in shared if order and early and s.after == NO_FLAG]
    first = [Release("the other core", event.span) for event in events[:1]]
    started = [use for release in first for use in weaver._work(at_first, release)]
    return (*started, *spread(events, weaver.woven))


@dataclass
class _Weaver:
    shared: Sequence[Shared]
    memory: tuple[str, int]
    pipes: Sequence[str]
    order: bool
    made: int = field(default=FIRST)

    def woven(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Release):
            if self.order:
                for pipe in self._named(event.pipe, "S"):
                    yield from self._signal(pipe, OTHER_CORE, event)
            yield event
            yield from self._work([s for s in self.shared if meets_release(s, event)], event)
        elif isinstance(event, Arrival):
            if self.order:
                yield from self._work([s for s in self.shared if meets_arrival(s, event)], event)
                for pipe in self._named(event.pipe, "ALL"):
                    yield from self._signal(OTHER_CORE, pipe, event)
            yield event
        else:
            yield event

    def _named(self, pipe: str, unnamed: str) -> Sequence[str]:
        pipe = pipe or unnamed
        return self.pipes if pipe == "ALL" else (pipe,)

    def _signal(self, source: str, dest: str, event: Release | Arrival) -> Iterator[Event]:
        for action in ("set", "wait"):
            yield Signal(action, source, dest, Lin(0), event.span)

    def _work(self, shared: Sequence[Shared], event: Release | Arrival) -> Iterator[Event]:
        touches = [self._touch(s) for s in shared if self.order or s.way == "r"]
        if touches:
            self.made += 1
            yield Use(-self.made, OTHER_CORE, tuple(touches), event.span, event.what, foreign=True)

    def _touch(self, shared: Shared) -> CopyTouch:
        whole = self.memory[1] if (shared.space, shared.root) == (self.memory[0], "") else WHOLE
        end = whole if shared.end is None else shared.end
        place = Place(shared.space, shared.root, Lin(shared.start))
        return CopyTouch("data" if shared.way == "w" else "read", place, Lin(0), Lin(end - shared.start), ())
