"""What copies make of memory, in a normal form that does not depend on how their loops are written; and byte by byte.

Knows: rows and levels of both sides, levels that continue each other, loops around a copy, rows that cannot collide.
Does not know: machines, text syntax, order between copies and flags.
Law: two equal forms change the same bytes to the same values. A form whose levels were joined or taken in another
order says so only where no two rows write one byte, because then no order of rows matters. Byte maps are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import Any

from dmaverify.language.affine import ONE, ZERO, Lin, World
from dmaverify.program.instructions import Copy, CopyTouch, Event, KernelLoop
from dmaverify.program.sums import depends, linear_in
from dmaverify.prove.meet import Walk
from dmaverify.values import dataclass, replace

MOST_UNITS = 1 << 22
"""Most pieces of a copy that are compared one by one."""
Equal = Callable[[Lin, Lin], bool]
AtMost = Callable[[Lin, Lin], bool]
Level = tuple[Lin, Lin, Lin]
"""Count, bytes the destination goes, bytes the source goes."""


@dataclass(frozen=True, slots=True)
class Area:
    """Bytes that a copy changes: rows of `length` from `write`, each from `read` (data), a pattern, or unknown.

    `levels` are inner to outer.
    """

    kind: str
    memory: tuple[str, str]
    origin: tuple[str, str] | None
    write: Lin
    read: Lin
    length: Lin
    levels: tuple[Level, ...]
    pattern: bytes | None = None
    phase: Lin = ZERO

    @property
    def plain(self) -> bool:
        """Whether neighbouring rows make one row: a longer pattern starts again with each."""
        return self.kind != "fill" or self.pattern is None or len(self.pattern) == 1

    @property
    def numbers(self) -> list[Lin]:
        return [self.write, self.read, self.length, self.phase, *(n for level in self.levels for n in level)]


@dataclass(frozen=True, slots=True)
class CopyForm:
    """What one copy, with the loops around it that hold nothing else, changes. `copy` is the copy."""

    copy: Copy
    areas: tuple[Area, ...]

    @property
    def way(self) -> tuple[str, ...]:
        """Copies of one way in a row read nothing that another of them writes, but where both ends are one memory."""
        return self.copy.kind, self.copy.pipe, self.copy.atomic, self.copy.read.space, self.copy.write.space

    @property
    def is_const(self) -> bool:
        return all(n.is_const for area in self.areas for n in area.numbers)


def form_of(event: Event, world: World) -> CopyForm | None:
    """The form of a copy, or of loops around one copy alone; None for all else and for steps that are not regular."""
    if isinstance(event, Copy):
        return CopyForm(event, tuple(_area(event, t) for t in event.touches if t.writes and t.length != ZERO))
    if not isinstance(event, KernelLoop) or len(event.body) != 1:
        return None
    inner = form_of(event.body[0], world)
    if inner is None:
        return None
    areas = []
    for area in inner.areas:
        parts = [linear_in(world, start, event.counter) for start in (area.write, area.read)]
        others = [area.length, area.phase, *(n for level in area.levels for n in level)]
        if None in parts or any(depends(world, o, event.counter) for o in others):
            return None
        (write, write_step), (read, read_step) = parts  # type: ignore[misc]
        levels = (*area.levels, (event.trip, write_step, read_step))
        areas.append(replace(area, write=write, read=read, levels=levels))
    return replace(inner, areas=tuple(areas))


def _area(copy: Copy, touch: CopyTouch) -> Area:
    back = copy.steps[len(copy.steps) - len(touch.steps) :]
    data = touch.kind == "data"
    levels = tuple((c, s, step.read if data else ZERO) for (c, s), step in zip(touch.steps, back, strict=True))
    return Area(
        touch.kind,
        copy.write.memory,
        copy.read.memory if data else None,
        touch.place.address + touch.offset,
        copy.read.address if data else ZERO,
        touch.length,
        levels,
        touch.pattern,
        touch.offset if touch.kind == "fill" and touch.pattern is not None and len(touch.pattern) > 1 else ZERO,
    )


def progression(forms: Sequence[CopyForm], equal: Equal) -> CopyForm | None:
    """Copies that differ by a constant distance alone, as one with a level more."""
    first = forms[0]
    if any(f.way != first.way or len(f.areas) != len(first.areas) for f in forms):
        return None
    areas = []
    for parts in zip(*(f.areas for f in forms), strict=True):
        one, two = parts[0], parts[1]
        step = (two.write - one.write, two.read - one.read)
        if not all(s.is_const for s in step):
            return None
        for index, part in enumerate(parts):
            alike = replace(part, write=one.write, read=one.read) == one
            if not alike or not (
                equal(part.write, one.write + step[0] * index) and equal(part.read, one.read + step[1] * index)
            ):
                return None
        areas.append(replace(one, levels=(*one.levels, (Lin(len(forms)), *step))))
    return replace(first, areas=tuple(areas))


# ------------------------------------------------------------------------------------------ normal form


def normal(area: Area, world: World, equal: Equal) -> Area:
    """Levels of one iteration left out, rows and levels that continue each other joined."""
    levels = [level for level in area.levels if level[0] != ONE]
    length = area.length
    again = True
    while again:
        again = False
        for index, (count, write, read) in enumerate(levels):
            joined = equal(write, length) and (area.kind != "data" or equal(read, length))
            if area.plain and joined:
                length = world.times(count, length)
                del levels[index]
                again = True
                break
            at = _continued(levels, index, world, equal)
            if at is not None:
                levels[index] = (world.times(count, levels[at][0]), write, read)
                del levels[at]
                again = True
                break
    return replace(area, length=length, levels=tuple(levels))


def _continued(levels: Sequence[Level], index: int, world: World, equal: Equal) -> int | None:
    """The level that goes on where another ends."""
    count, write, read = levels[index]
    for at, (_, further, back) in enumerate(levels):
        if at != index and equal(further, world.times(count, write)) and equal(back, world.times(count, read)):
            return at
    return None


def same_areas(one: Area, other: Area, equal: Equal) -> bool:
    """Whether two normal forms are the same set of rows."""
    if (one.kind, one.memory, one.origin, one.pattern) != (other.kind, other.memory, other.origin, other.pattern):
        return False
    if len(one.levels) != len(other.levels) or not equal(one.length, other.length):
        return False
    if not equal(one.write, other.write) or not equal(one.read, other.read) or not equal(one.phase, other.phase):
        return False
    left = list(other.levels)
    for level in one.levels:
        at = next((i for i, o in enumerate(left) if all(map(equal, level, o))), None)
        if at is None:
            return False
        del left[at]
    return True


def apart(area: Area, world: World, at_most: AtMost) -> bool:
    """Whether what a data area reads lies wholly before or behind what it writes."""
    if area.origin != area.memory:
        return True
    ends = []
    for start, side in ((area.write, 1), (area.read, 2)):
        end = start + area.length
        for level in area.levels:
            if not at_most(ZERO, level[side]):
                return False
            end = end + world.times(level[0] - ONE, level[side])
        ends.append(end)
    return at_most(ends[0], area.read) or at_most(ends[1], area.write)


# ------------------------------------------------------------------------------------------ byte by byte

UNKNOWN, FILL = 1, 2


@dataclass(frozen=True)
class Bytes:
    """Pieces of `unit` bytes of one memory that were changed, in order of their address, and what each got, by the last
    row. `twice`: two rows wrote one piece; `read`: a row read here what another one may write. `value` is (kind,
    memory or byte, address), by piece.
    """

    unit: int
    at: Any
    value: Any
    twice: bool
    read: bool


@dataclass(frozen=True)
class ByteApart:
    """A byte that two lists of copies change otherwise, and what each puts there (None: nothing)."""

    memory: tuple[str, str]
    address: int
    first: Any
    second: Any


def compare_bytes(one: Sequence[CopyForm], other: Sequence[CopyForm]) -> tuple[str, ByteApart | None]:
    """Whether constant copies of one way change the same bytes alike: `proved` where no order of their rows
    leaves anything else; `refuted`, with a byte, where no row reads what one may write; else `unknown`.
    """
    status, unit = "proved", unit_of([*one, *other])
    for memory in sorted({area.memory for form in (*one, *other) for area in form.areas}):
        maps = [bytes_of(side, memory, unit) for side in (one, other)]
        if maps[0] is None or maps[1] is None:
            status = "unknown"
            continue
        if maps[0].read or maps[1].read:
            return "unknown", None
        found = first_difference(maps[0], maps[1])
        if found is not None:
            return "refuted", ByteApart(memory, *found)
        if maps[0].twice or maps[1].twice:
            status = "unknown"
    return status, None


def bytes_of(forms: Sequence[CopyForm], memory: tuple[str, str], unit: int) -> Bytes | None:
    """What constant copies change of a memory. None where there are too many pieces."""
    import numpy as np

    at, value = [np.empty(0, np.int64)], [np.empty((0, 3), np.int64)]
    reads = [np.empty(0, np.int64)]
    total = 0
    for form in forms:
        for area in sorted(form.areas, key=lambda a: a.kind == "data"):
            if memory not in (area.memory, area.origin):
                continue
            pieces = area.length.const // unit
            for count, _, _ in area.levels:
                pieces *= max(0, count.const)
            total += pieces
            if total > MOST_UNITS:
                return None
            write, read = _walked(area, unit)
            if area.origin == memory:
                reads.append(read)
            if area.memory != memory:
                continue
            out = np.zeros((len(write), 3), np.int64)
            if area.kind == "data":
                out[:, 1], out[:, 2] = _memory_number(area.origin), read
            elif area.pattern is None:
                out[:, 0] = UNKNOWN
            else:
                row = np.frombuffer(area.pattern, np.uint8)
                phase = (area.phase.const + np.arange(area.length.const)) % len(row)
                out[:, 0], out[:, 1] = FILL, np.tile(row[phase], len(write) // max(1, area.length.const))
            at.append(write)
            value.append(out)
    where, what = np.concatenate(at), np.concatenate(value)
    unique, first = np.unique(where[::-1], return_index=True)
    read_again = bool(np.isin(np.concatenate(reads), unique).any())
    return Bytes(unit, unique, what[::-1][first], len(unique) != len(where), read_again)


def _memory_number(memory: tuple[str, str] | None) -> int:
    import zlib

    return zlib.crc32(repr(memory).encode())


def _walked(area: Area, unit: int) -> tuple[Any, Any]:
    """Addresses of every piece on both sides, outermost level slowest."""
    levels = [tuple(n.const for n in level) for level in reversed(area.levels)]
    row = (-(-area.length.const // unit), unit)
    write = Walk(area.write.const, (*((count, step) for count, step, _ in levels), row))
    read = Walk(area.read.const, (*((count, back) for count, _, back in levels), row))
    return write.listed, read.listed


def unit_of(forms: Sequence[CopyForm]) -> int:
    """The largest piece of which all copies are made: every start, step and length is a multiple of it."""
    unit = 0
    for form in forms:
        for area in form.areas:
            if area.kind == "fill":
                return 1
            unit = gcd(unit, area.length.const, area.write.const, area.read.const)
            unit = gcd(unit, *(n.const for level in area.levels for n in level[1:]))
    return max(1, unit)


def first_difference(one: Bytes, other: Bytes) -> tuple[int, Any, Any] | None:
    """The lowest address at which two maps differ, and what each has there (None: nothing)."""
    import numpy as np

    common, left, right = np.intersect1d(one.at, other.at, assume_unique=True, return_indices=True)
    wrong = common[(one.value[left] != other.value[right]).any(axis=1)]
    alone = np.setxor1d(one.at, other.at, assume_unique=True)
    if not len(wrong) and not len(alone):
        return None
    address = int(min([*wrong[:1], *alone[:1]]))
    found = []
    for side in (one, other):
        index = int(np.searchsorted(side.at, address))
        here = index < len(side.at) and int(side.at[index]) == address
        found.append(side.value[index] if here else None)
    return address, found[0], found[1]


def told(value: Any, forms: Sequence[CopyForm]) -> str:
    """What a byte gets, for people."""
    if value is None:
        return "nothing"
    kind, what, address = (int(v) for v in value)
    if kind == UNKNOWN:
        return "unknown"
    if kind == FILL:
        return f"padding {what:#04x}"
    memories = [a.origin for f in forms for a in f.areas if a.origin is not None]
    memory = next((m for m in memories if _memory_number(m) == what), ("memory", ""))
    return f"byte {address:,} of {memory_text(memory)}"


def memory_text(memory: tuple[str, str]) -> str:
    return f"{memory[0]}{f' ({memory[1]})' if memory[1] else ''}"
