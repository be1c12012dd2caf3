"""Allocation of buffers that nobody has placed: do they find room, by when they hold something that is still read?

Knows: lifetimes as places in the order of events, two of them. A *may* lifetime reaches from the first use to the last,
over every loop around a use that the buffer is not made in; a *must* lifetime from a write to a read that surely
follows it with nothing written between. Does not know: machines, text, where whoever lowers the kernel puts buffers.
Law: there is room only where places were found for all, with may lifetimes apart wherever they share bytes; where the
text orders its pipes itself, its order is to hold with those places too (`lying`). Room is missing only where must
lifetimes at one point are larger than the memory. All else is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dmaverify.errors import Span
from dmaverify.language.affine import Cond, Lin, compare
from dmaverify.program.instructions import Branch, Copy, CopyTouch, Event, KernelLoop, Loose, OperationFact, Use
from dmaverify.program.rewrite import every, spread
from dmaverify.values import dataclass, replace

RULE = "core/region-capacity"
MOST_NAMED = 8
MOST_PATHS = 256
Rooms = Mapping[tuple[str, int], Loose]
Places = Mapping[tuple[str, int], int]


@dataclass
class _Lifetime:
    """Events from and to which a buffer may hold something that is read, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Step:
    """An event of one path, with the conditions and the loops in which it stands."""

    event: Copy | Use | Branch | KernelLoop
    when: tuple[Cond, ...]
    loops: tuple[KernelLoop, ...]


def crowded(events: Sequence[Event], rooms: Rooms) -> Iterator[OperationFact]:
    """For each memory whose buffers do not all fit side by side, the most that surely live at one point."""
    for memory in _too_small(rooms):
        worst: tuple[int, tuple[Loose, ...], Span, tuple[Cond, ...]] | None = None
        for path in _paths(events):
            for size, held, step in _peaks(path, rooms, memory):
                if worst is None or size > worst[0]:
                    worst = (size, held, step.event.span, max((one.when for one in path), key=len))
        if worst is not None:
            size, held, span, when = worst
            named = [f"`{one.name}` {one.bytes:,}" for one in sorted(held, key=lambda one: -one.bytes)]
            more = [f"{len(named) - MOST_NAMED} more"] if len(named) > MOST_NAMED else []
            ports = {"live_bytes": Lin(size), "room_bytes": Lin(held[0].capacity)}
            yield OperationFact(ports, f"{memory}: {', '.join([*named[:MOST_NAMED], *more])}", span, when)


def placed(events: Sequence[Event], rooms: Rooms) -> dict[str, list[Places]]:
    """For each memory whose buffers do not all fit side by side, the ways that were found to place all of them."""
    memories = _too_small(rooms)
    if not memories:
        return {}
    lives: dict[tuple[str, int], _Lifetime] = {}
    _live(events, rooms, lives, 0)
    return {
        memory: list(
            _fits([(key, one, lives[key]) for key, one in rooms.items() if one.memory == memory and key in lives])
        )
        for memory in memories
    }


def lying(events: Sequence[Event], memory: str, places: Places) -> tuple[Event, ...]:
    """The events with the buffers of a memory where they were placed."""

    def at(touch: CopyTouch) -> CopyTouch:
        place = touch.place
        found = places.get((place.space, place.address.const)) if place.address.is_const else None
        if found is None:
            return touch
        return replace(touch, place=replace(place, space=f"{memory} as placed", address=Lin(found)))

    def put(event: Event) -> Iterator[Event]:
        yield replace(event, touches=tuple(map(at, event.touches))) if isinstance(event, Use) else event

    return tuple(spread(events, put))


def _too_small(rooms: Rooms) -> list[str]:
    sums: dict[str, int] = {}
    for one in rooms.values():
        sums[one.memory] = sums.get(one.memory, 0) + one.bytes
    room = {one.memory: one.capacity - one.taken for one in rooms.values()}
    return [memory for memory, size in sums.items() if size > room[memory]]


# ---------------------------------------------------------------- may


def _live(events: Sequence[Event], rooms: Rooms, lives: dict[tuple[str, int], _Lifetime], at: int) -> int:
    """Lifetimes of the buffers that events use, the first of which has the number `at`; the number behind the last."""
    for event in events:
        if isinstance(event, KernelLoop):
            inside: dict[tuple[str, int], _Lifetime] = {}
            end = _live(event.body, rooms, inside, at + 1)
            made = {key for key, _ in _made(event.body, rooms)}
            for key, life in inside.items():
                _join(lives, key, life if key in made else _Lifetime(at, end))
            at = end
        elif isinstance(event, Branch):
            at = _live((*event.then, *event.other), rooms, lives, at)
        elif isinstance(event, (Copy, Use)):
            for touch in event.touches if not isinstance(event, Use) or event.pipe else ():
                key = (touch.place.space, touch.place.address.const)
                if key in rooms and touch.place.address.is_const:
                    _join(lives, key, _Lifetime(at, at))
        at += 1
    return at


def _join(lives: dict[tuple[str, int], _Lifetime], key: tuple[str, int], life: _Lifetime) -> None:
    known = lives.setdefault(key, _Lifetime(life.first, life.last))
    known.first, known.last = min(known.first, life.first), max(known.last, life.last)


def _made(events: Sequence[Event], rooms: Rooms) -> Iterator[tuple[tuple[str, int], Loose]]:
    """Buffers that are made anew there: what they held before is nothing that is known."""
    for event in every(events):
        for touch in event.touches if isinstance(event, Use) and not event.pipe else ():
            key = (touch.place.space, touch.place.address.const)
            if key in rooms and touch.kind == "unknown" and not touch.why:
                yield key, rooms[key]


def _fits(buffers: Sequence[tuple[tuple[str, int], Loose, _Lifetime]]) -> Iterator[Places]:
    """Places for all, largest first and first come first, each at the lowest byte that is free then."""
    orders = (lambda b: (-b[1].bytes, b[2].first), lambda b: (b[2].first, -b[1].bytes))
    for order in orders:
        if (found := _fit(sorted(buffers, key=order))) is not None:
            yield found


def _fit(buffers: Sequence[tuple[tuple[str, int], Loose, _Lifetime]]) -> Places | None:
    taken: list[tuple[int, int, _Lifetime]] = []
    places = {}
    for key, room, life in buffers:
        busy = sorted((a, b) for a, b, other in taken if other.first <= life.last and life.first <= other.last)
        at = room.taken
        for low, high in busy:
            if at + room.bytes <= low:
                break
            at = max(at, high)
        if at + room.bytes > room.capacity:
            return None
        taken.append((at, at + room.bytes, life))
        places[key] = at
    return places


# ---------------------------------------------------------------- must


def _paths(events: Sequence[Event]) -> Iterator[list[_Step]]:
    """Runs of events that surely follow each other: the whole; and for each side of a branch and each loop that may not
    run at all, where it does run, the whole with it. A loop that surely runs stands in its run once.
    """
    whole = list(_steps(events, (), ()))
    queue = [(whole, 0, len(whole))]
    for _ in range(MOST_PATHS):
        if not queue:
            return
        path, low, high = queue.pop()
        yield path
        for at in range(low, high):
            step = path[at]
            for inner, when, loops in _inside(step):
                found = list(_steps(inner, when, loops))
                queue.append(([*path[:at], *found, *path[at + 1 :]], at, at + len(found)))


def _inside(step: _Step) -> Iterator[tuple[Sequence[Event], tuple[Cond, ...], tuple[KernelLoop, ...]]]:
    event = step.event
    if isinstance(event, KernelLoop):
        yield event.body, (*step.when, compare("lt", event.trip * -1)), (*step.loops, event)
    elif isinstance(event, Branch):
        yield event.then, (*step.when, event.when), step.loops
        yield event.other, (*step.when, event.when.negated()), step.loops


def _steps(events: Sequence[Event], when: tuple[Cond, ...], loops: tuple[KernelLoop, ...]) -> Iterator[_Step]:
    for event in events:
        if isinstance(event, KernelLoop) and event.trip.is_const and event.trip.const >= 1:
            yield from _steps(event.body, when, (*loops, event))
        elif isinstance(event, (Branch, KernelLoop, Copy, Use)):
            yield _Step(event, when, loops)


def _peaks(path: Sequence[_Step], rooms: Rooms, memory: str) -> Iterator[tuple[int, tuple[Loose, ...], _Step]]:
    """Behind each step, what surely lives there."""
    starts: dict[int, list[Loose]] = {}
    ends: dict[int, list[Loose]] = {}
    for key, room in rooms.items():
        if room.memory == memory:
            for first, last in _needed(path, key):
                starts.setdefault(first, []).append(room)
                ends.setdefault(last, []).append(room)
    live: list[Loose] = []
    for index, step in enumerate(path):
        for room in ends.get(index, ()):
            live.remove(room)
        live += starts.get(index, ())
        if live:
            yield sum(room.bytes for room in live), tuple(live), step


def _needed(path: Sequence[_Step], key: tuple[str, int]) -> Iterator[tuple[int, int]]:
    """From which step to which a buffer surely holds what is read, apart from each other."""
    wrote: int | None = None
    read: int | None = None
    for index, step in enumerate(path):
        reads, writes, sure = _does(step.event, key)
        if reads and sure and wrote is not None and _kept(path[wrote], step):
            read = index
        if writes:
            if wrote is not None and read is not None:
                yield wrote, read
            wrote, read = (index if sure else None), None
    if wrote is not None and read is not None:
        yield wrote, read


def _kept(write: _Step, read: _Step) -> bool:
    """Whether what is written is read in the round in which it is: behind a loop what its last round left is read, and
    a path may stand for another one. A round that reads what stood before its loop reads it, or what stands for it, in
    each.
    """
    return all(any(loop is one for one in read.loops) for loop in write.loops)


def _does(event: Event, key: tuple[str, int]) -> tuple[bool, bool, bool]:
    """Whether it reads a buffer, whether it may write it, and whether it surely does both that it does."""
    if isinstance(event, (Branch, KernelLoop)):
        inner = [_does(one, key) for one in every((event,)) if isinstance(one, (Copy, Use))]
        return any(r for r, _, _ in inner), any(w for _, w, _ in inner), False
    if not isinstance(event, (Copy, Use)):
        return False, False, False
    mine = [t for t in event.touches if t.place.address.is_const and (t.place.space, t.place.address.const) == key]
    access = not isinstance(event, Use) or bool(event.pipe)
    writes = [t.kind for t in mine if t.writes]
    sure = access and all(kind in ("data", "fill") for kind in writes)
    return access and any(t.kind == "read" for t in mine), bool(writes), sure
