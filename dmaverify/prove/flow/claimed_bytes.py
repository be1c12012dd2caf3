"""What the bytes of a claimed destination hold once its copies are done: data, padding, or what others wrote there.

Knows: which byte a touch of numbers writes and when, in the order of the text.
Does not know: whether pipes keep that order (`pipes` judges it), which element a byte of data is.
Law: of two writes of one byte the later one counts, iteration by iteration. What is written there by an operation that
the move does not claim is known to nobody: it proves nothing and refutes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dmaverify.language.affine import Lin, World
from dmaverify.language.expr import axes_of
from dmaverify.program.instructions import Branch, Copy, CopyTouch, Event, KernelLoop, Use
from dmaverify.program.tensor import Tensor
from dmaverify.prove.flow.accesses.reached import reach_of
from dmaverify.values import dataclass, field

UNTOUCHED, UNKNOWN, DATA, OTHER = -1, -2, -3, -4
LIVE, ZERO, BOTTOM = 0, 2, 3
MOST_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class Moment:
    """An event with the loops around it: when it is issued first, and how much later in the next round of each loop."""

    event: Event
    loops: tuple[KernelLoop, ...] = ()
    start: int = 0
    steps: tuple[int, ...] = ()

    @property
    def last(self) -> int:
        rounds = (loop.trip.const - 1 if loop.trip.is_const else 0 for loop in self.loops)
        return self.start + sum(step * max(0, more) for step, more in zip(self.steps, rounds, strict=True))


def moments(
    events: Sequence[Event], loops: tuple[KernelLoop, ...] = (), start: int = 0, steps: tuple[int, ...] = ()
) -> Iterator[Moment]:
    """Every event that holds no others, in the order of the text."""
    for event in events:
        if isinstance(event, KernelLoop):
            yield from moments(event.body, (*loops, event), start, (*steps, _length(event.body)))
        elif isinstance(event, Branch):
            yield from moments((*event.then, *event.other), loops, start, steps)
        else:
            yield Moment(event, loops, start, steps)
        start += _length((event,))


def _length(events: Sequence[Event]) -> int:
    """How many events are issued; a loop of an unknown count is taken to run once, which keeps the order around it."""
    total = 0
    for event in events:
        if isinstance(event, KernelLoop):
            total += _length(event.body) * (event.trip.const if event.trip.is_const else 1)
        else:
            total += _length((*event.then, *event.other)) if isinstance(event, Branch) else 1
    return total


@dataclass
class ClaimedBytes:
    """The bytes of a destination: what each cell is (`kind`), what each byte holds (`state`), since when.

    `outside`: how many bytes beside the destination each kind of touch changes. `lost`: of an operation that is not
    claimed, which may write here between the copies; `doubt`: of one that may have done so before.
    """

    kind: Any
    state: Any
    since: Any
    base: int
    whole: bool = True  # False: too many bytes to be followed one by one
    outside: dict[str, int] = field(default_factory=lambda: {"fill": 0, "unknown": 0})
    lost: Event | None = None
    doubt: Event | None = None

    def lay(self, touch: CopyTouch, moment: Moment, before: int | None = None) -> None:
        """Writes what a touch leaves; with `before`, as what nobody claims, up to then."""
        import numpy as np

        terms = dict(touch.place.address.terms)
        starts = np.array([touch.place.address.const + touch.offset.const - self.base], dtype=np.int64)
        times = np.array([moment.start], dtype=np.int64)
        for loop, step in zip(moment.loops, moment.steps, strict=True):
            rounds = np.arange(loop.trip.const)[:, None]
            starts = (starts[:, None] + (rounds * terms.get(loop.counter, 0)).ravel()[None, :]).ravel()
            times = (times[:, None] + (rounds * step).ravel()[None, :]).ravel()
        for count, stride in touch.steps:
            more = np.arange(count.const) * stride.const
            starts = (starts[:, None] + more[None, :]).ravel()
            times = np.repeat(times, count.const)
        length = touch.length.const
        at = (starts[:, None] + np.arange(length)[None, :]).ravel()
        when = np.repeat(times, length)
        values = np.tile(_left(touch, length) if before is None else np.full(length, OTHER), len(starts))
        inside = (at >= 0) & (at < len(self.state))
        self.outside[touch.kind] = self.outside.get(touch.kind, 0) + int(len(at) - np.count_nonzero(inside))
        if before is not None:
            inside &= when < before
        at, when, values = at[inside], when[inside], values[inside]
        later = when >= self.since[at]
        self.since[at[later]], self.state[at[later]] = when[later], values[later]


def _left(touch: CopyTouch, length: int) -> Any:
    """What a touch leaves in each byte of a row."""
    import numpy as np

    if touch.kind == "data":
        return np.full(length, DATA)
    if touch.pattern is None:
        return np.full(length, UNKNOWN)
    phase = touch.offset.const
    return np.array([touch.pattern[(phase + i) % len(touch.pattern)] for i in range(length)])


def left_by(dest: Tensor, bits: int, mine: Sequence[Moment], others: Sequence[Moment], world: World) -> ClaimedBytes:
    """What the copies of `mine` leave in the destination, among all `others`."""
    import numpy as np

    from dmaverify.language.meaning import cells_array, finalize_array

    width, size = bits // 8, dest.element.size
    written = [(m, touch) for m in mine for touch in _writes(m)]
    whole = size * width <= MOST_BYTES and sum(_amount(m, touch) for m, touch in written) <= MOST_BYTES
    seen = size if whole else 0
    found = finalize_array(cells_array(dest.element, np.arange(seen, dtype=np.int64)), axes_of(dest.element))
    out = ClaimedBytes(
        np.repeat(found.kind, width), np.full(seen * width, UNTOUCHED, dtype=np.int16),
        np.full(seen * width, -1, dtype=np.int64), dest.base, whole,
    )  # fmt: skip
    copy = mine[0].event
    assert isinstance(copy, Copy)
    memory, first, last = copy.write.memory, min(m.start for m in mine), max(m.last for m in mine)
    for moment in others:
        for touch in (t for t in _writes(moment) if t.place.memory == memory and moment.start < last):
            if _apart(touch, world, dest.base, dest.base + size * width):
                continue
            if whole and _is_known(touch, moment) and _amount(moment, touch) <= MOST_BYTES:
                out.lay(touch, moment, last)
            elif moment.last > first:
                out.lost = moment.event
            else:
                out.doubt = moment.event
    out.outside = dict.fromkeys(out.outside, 0)
    for moment, touch in written if whole else ():
        out.lay(touch, moment)
    return out


def _writes(moment: Moment) -> list[CopyTouch]:
    """What an event writes, data last: padding of a row lies below it."""
    touches = moment.event.touches if isinstance(moment.event, (Copy, Use)) else ()
    return sorted((t for t in touches if t.writes), key=lambda t: t.kind == "data")


def _amount(moment: Moment, touch: CopyTouch) -> int:
    total = touch.length.const
    for count in (*(loop.trip for loop in moment.loops), *(count for count, _ in touch.steps)):
        total *= count.const
    return total


def _is_known(touch: CopyTouch, moment: Moment) -> bool:
    """Whether all that says what is written is a number, counters of loops aside."""
    event, counters = moment.event, {loop.counter for loop in moment.loops}
    numbers: list[Lin] = [touch.offset, touch.length, *(loop.trip for loop in moment.loops)]
    numbers += [n for step in touch.steps for n in step]
    sure = isinstance(event, (Copy, Use)) and not event.when and not touch.open
    return sure and all(n.is_const for n in numbers) and {n for n, _ in touch.place.address.terms} <= counters


def _apart(touch: CopyTouch, world: World, start: int, end: int) -> bool:
    """Whether ranges alone show that a touch does not reach these bytes."""
    if touch.open:
        return False
    at = touch.place.address + touch.offset
    low, high = (at + reach for reach in reach_of(touch, world))
    most, least = world.interval(high)[1], world.interval(low)[0]
    return (most is not None and most <= start) or (least is not None and least >= end)
