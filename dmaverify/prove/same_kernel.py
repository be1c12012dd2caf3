"""Whether two kernels do the same: copy by copy, byte for byte, in the same order and with the same synchronisation.

Knows: a normal form of copies (loops of one iteration left out, loops that continue each other joined), event trees.
Does not know: machines, text syntax; both kernels name arguments and counters by their order.
Law: `same` means that every copy moves and changes the same bytes from the same bytes for all values, in the same
order; copies with numbers that differ in form are compared byte by byte; what differs in symbols alone is `unknown`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dmaverify.errors import Span
from dmaverify.prove.ask import shown, term_text
from dmaverify.transfer.affine import ONE, Lin, World
from dmaverify.transfer.instructions import Branch, Copy, Event, Fence, Loop, Signal, Token, Touch, Use

MOST_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class Sameness:
    """`same`, `different` or `unknown`, with how many copies were compared and where they part."""

    status: str
    copies: int
    why: str = ""
    places: tuple[Span, ...] = ()


def compare_kernels(one: Sequence[Event], first: World, other: Sequence[Event], second: World) -> Sameness:
    """Compares two kernels event by event."""
    return _Comparison(first, second).block(one, other)


@dataclass
class _Comparison:
    first: World
    second: World
    copies: int = 0

    def block(self, one: Sequence[Event], other: Sequence[Event]) -> Sameness:
        for a, b in zip(one, other, strict=False):
            found = self.event(a, b)
            if found.status != "same":
                return found
        if len(one) != len(other):
            longer = one if len(one) > len(other) else other
            extra = longer[min(len(one), len(other))]
            word = "first" if longer is one else "second"
            return Sameness("different", self.copies, f"only the {word} has this", (extra.span,))
        return Sameness("same", self.copies)

    def event(self, a: Event, b: Event) -> Sameness:
        if type(a) is not type(b):
            return self.apart(a, b, "one has another operation here")
        if isinstance(a, Copy) and isinstance(b, Copy):
            return self.copy(a, b)
        if isinstance(a, Loop) and isinstance(b, Loop):
            if self.text(a.trip, self.first) != self.text(b.trip, self.second):
                return self.apart(a, b, "the loops run differently often")
            return self.block(a.body, b.body)
        if isinstance(a, Branch) and isinstance(b, Branch):
            if shown(a.when, self.first) != shown(b.when, self.second):
                return self.apart(a, b, "the conditions differ")
            found = self.block(a.then, b.then)
            return found if found.status != "same" else self.block(a.other, b.other)
        if self.key(a, self.first) != self.key(b, self.second):
            return self.apart(a, b, "they differ")
        return Sameness("same", self.copies)

    def apart(self, a: Event, b: Event, why: str, status: str = "different") -> Sameness:
        return Sameness(status, self.copies, why, (a.span, b.span))

    def text(self, term: Lin, world: World) -> str:
        return term_text(term, world)

    def key(self, event: Event, world: World) -> tuple[object, ...]:
        """What an event that is no copy does, as texts."""
        if isinstance(event, Signal):
            return (event.action, event.source, event.dest, self.text(event.event, world))
        if isinstance(event, Fence):
            return (event.pipe,)
        if isinstance(event, Token):
            return (event.action, event.pipe, self.text(event.token, world), self.text(event.mode, world))
        assert isinstance(event, Use)
        return (event.pipe, *(self.touch(t, world) for t in event.touches))

    def touch(self, touch: Touch, world: World) -> tuple[object, ...]:
        steps = [(self.text(c, world), self.text(s, world)) for c, s in touch.steps if c != ONE]
        place = (*touch.place.memory, self.text(touch.place.address, world))
        return (
            touch.kind,
            place,
            self.text(touch.offset, world),
            self.text(touch.length, world),
            tuple(steps),
            touch.pattern,
            touch.open,
        )

    def copy(self, a: Copy, b: Copy) -> Sameness:
        self.copies += 1
        if (a.kind, a.pipe, a.atomic) != (b.kind, b.pipe, b.atomic):
            return self.apart(a, b, "the copies go different ways")
        if self.form(a, self.first) == self.form(b, self.second):
            return Sameness("same", self.copies)
        maps = [_byte_map(c) for c in (a, b)]
        if maps[0] is None or maps[1] is None:
            return self.apart(a, b, "the copies differ in form, and their operands are not all numbers", "unknown")
        if maps[0] == maps[1]:
            return Sameness("same", self.copies)
        return self.apart(a, b, _difference(maps[0], maps[1]))

    def form(self, copy: Copy, world: World) -> tuple[object, ...]:
        touches = [self.touch(t, world) for t in copy.touches]
        steps = [
            (self.text(s.count, world), self.text(s.read, world), self.text(s.write, world))
            for s in copy.steps
            if s.count != ONE
        ]
        return (tuple(sorted(touches, key=str)), tuple(steps))


ByteMap = tuple[tuple[tuple[object, ...], int], ...]


def _byte_map(copy: Copy) -> ByteMap | None:
    """What every byte that a copy changes gets: a byte read, padding, or something unknown; None for symbols."""
    numbers = [copy.row, copy.read.address, copy.write.address]
    numbers += [x for t in copy.touches for x in (t.offset, t.length, *(n for s in t.steps for n in s))]
    if not all(n.is_const for n in numbers):
        return None
    out: dict[object, object] = {}
    total = 1
    for step in copy.steps:
        total *= max(1, step.count.const)
    if total * max(1, copy.row.const) > MOST_BYTES:
        return None
    data = next(t for t in copy.touches if t.kind == "data")
    for touch in sorted((t for t in copy.touches if t.writes), key=lambda t: t.kind == "data"):
        starts = [(0, 0)]
        for index, (count, stride) in enumerate(touch.steps):
            back = copy.steps[index + len(copy.steps) - len(touch.steps)].read.const
            starts = [(w + stride.const * i, r + back * i) for i in range(count.const) for w, r in starts]
        base = touch.place.address.const + touch.offset.const
        for write, read in starts:
            for at in range(touch.length.const):
                if touch is data:
                    value: object = ("byte", *copy.read.memory, copy.read.address.const + read + at)
                elif touch.pattern is None:
                    value = ("unknown",)
                else:
                    value = ("fill", touch.pattern[(touch.offset.const + at) % len(touch.pattern)])
                out[(*copy.write.memory, base + write + at)] = value
    return tuple(sorted(out.items(), key=str))  # type: ignore[arg-type]


def _difference(one: ByteMap, other: ByteMap) -> str:
    left, right = dict(one), dict(other)
    for key in sorted({*left, *right}, key=str):
        a, b = left.get(key), right.get(key)
        if a != b:
            place = f"byte {key[-1]:,} of {key[0]}{f' ({key[1]})' if key[1] else ''}"
            return f"{place} gets {_value(a)} in the first, {_value(b)} in the second"
    return "they differ"


def _value(value: object) -> str:
    if value is None:
        return "nothing"
    parts = value if isinstance(value, tuple) else (value,)
    if parts[0] == "byte":
        return f"byte {parts[-1]:,} of {parts[1]}{f' ({parts[2]})' if parts[2] else ''}"
    return f"padding {parts[1]:#04x}" if parts[0] == "fill" else "unknown"
