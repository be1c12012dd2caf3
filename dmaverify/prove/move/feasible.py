"""What a move alone tells, before anyone says how it is done: elements that the source does not hold, cuts that no one
nest of loops can follow, and the longest run that any packet could have.

Knows: the digits of both layouts. Does not know: streams, commands, machines.
Law: a `Missing` is an element that no program can serve, whatever its commands. A `Clash` says that no single nest does
it, and several commands may; it is confirmed on the elements themselves, one by one, and where those are too many or
padding could be walked along, there is no answer (`confirmed` is False). A live end, a window or padding inside a digit
is no cut: only where a digit begins, the other side must be able to begin one.

Source: docs/machines/rngd.md 1.4 (a common refinement must exist), 3.2 (tails); "Sequencer", Configuration Failures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from dmaverify.language.expr import Kind
from dmaverify.language.numbers import Symbolic, gcd, least
from dmaverify.layout.addresses import BYTE, Layout
from dmaverify.layout.digits import Digit
from dmaverify.layout.held import TooMany, first_absent, one_nest, values_of
from dmaverify.values import dataclass

MOST_POINTS = 1 << 15
"""Elements of one axis on which a clash is confirmed."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Two cuts of one axis of which neither divides the other. `coordinate` is the first element behind both, for which
    the steps up to there make two different promises; `confirmed`: no nest of loops visits the axis' elements.
    """

    axis: str
    cut: int
    other: int
    coordinate: int = 0
    confirmed: bool = True


@dataclass(frozen=True, slots=True)
class Missing:
    """A live destination element whose coordinate the source's range does not hold."""

    axis: str
    coordinate: int
    address: int  # global, of the destination


@dataclass(frozen=True, slots=True)
class ContiguousRun:
    """The longest run contiguous on both sides, in units, and what divides all addresses at which such runs start.
    `shorter`: such runs that end before, within the padding: in the last multiple of each power of two, and with none.
    """

    units: int
    read_gcd: int
    write_gcd: int
    shorter: tuple[int, ...] = ()


ONE_UNIT = ContiguousRun(1, 1, 1)
"""What any stream may have: packets of one unit."""


def _held(layout: Layout, axis: str) -> list[Digit]:
    return [d for i, d in enumerate(layout.digits) if d.axis == axis and i not in layout.beyond_index]


def _axes(source: Layout, dest: Layout) -> dict[str, int]:
    named = dict(source.sizes)
    return {a: n for a, n in dest.sizes if a in named and a != BYTE and not a.startswith("<")}


def entangled(layout: Layout) -> bool:
    """Whether padding depends on digits of several axes at once: what one axis holds is then no fact of its own."""
    beyond = layout.beyond_index
    for guard in layout.guards:
        own = [(layout.digits[i], k) for i, k in guard.terms if i not in beyond and layout.digits[i].slots > 1]
        if len({d.axis for d, _ in own}) < 2 and (len(own) < 2 or all(k == d.weight for d, k in own)):
            continue
        if guard.constant + sum(k * (d.live - 1) for d, k in own) >= guard.bound:
            return True
    return False


# ---------------------------------------------------------------- cuts


def clashes(source: Layout, dest: Layout) -> Iterator[Clash]:
    """For each axis that both sides name, the first two cuts that no nest of loops can both follow."""
    for axis, size in _axes(source, dest).items():
        starts = {d.weight for layout in (source, dest) for d in _held(layout, axis) if d.live > 1}
        for low, high in pairwise(sorted(c for c in starts | {1} if c < size)):
            if high % low:
                found = _nested(source, dest, axis, size)
                if found is not True:
                    yield Clash(axis, low, high, min(high, size - 1), found is False)
                break


def _nested(source: Layout, dest: Layout, axis: str, size: int) -> bool | None:
    """Whether one nest visits every element of the axis that the destination holds, on both sides in step; None where
    that cannot be listed, or where padding inside the axis could be walked besides (padding behind its outermost digit
    adds blocks, and changes no step within one).
    """
    both = [sorted(_held(layout, axis), key=lambda d: -d.weight) for layout in (source, dest)]
    if any(dict(layout.offsets).get(axis) for layout in (source, dest)):
        return None
    try:
        values = sorted(v for v in values_of((d.weight, d.live) for d in both[1]) if v < size)
    except TooMany:
        return None
    if len(values) > MOST_POINTS:
        return None
    points = []
    for value in values:
        ends = [_place(digits, value) for digits in both]
        if ends[0] is None or ends[1] is None:
            return None
        points.append((ends[1], ends[0]))
    if one_nest(sorted(points)):
        return True
    padded = any(d.live < d.slots for digits in both for d in digits[1:]) or any(
        layout.kind_at(tuple(d.live - 1 if d.axis == axis else 0 for d in layout.digits)) is not None
        for layout in (source, dest)
    )
    return None if padded else False


def _place(digits: list[Digit], value: int) -> int | None:
    """The address of a coordinate, from digits by falling weight."""
    total = 0
    for digit in digits:
        part = min(value // digit.weight, digit.live - 1)
        total += part * digit.step
        value -= part * digit.weight
    return total if value == 0 else None


# ---------------------------------------------------------------- elements


def missing(source: Layout, dest: Layout) -> Iterator[Missing]:
    """For each axis that both name, the first destination coordinate outside the source's range. Raises TooMany."""
    for axis, size in _axes(source, dest).items():
        sides = [_held(layout, axis) for layout in (dest, source)]
        shift = dict(dest.offsets).get(axis, 0) - dict(source.offsets).get(axis, 0)
        ranges = [[(d.weight, d.live) for d in digits] for digits in sides]
        start = dict(dest.offsets).get(axis, 0)
        if shift:
            offered = values_of(ranges[1])
            least = min((v for v in values_of(ranges[0]) if v + shift not in offered), default=None)
        else:
            least = first_absent(*ranges)
        if least is not None and start + least < size:
            yield Missing(axis, start + least, dest.origin + (_place_any(sides[0], least) or 0))


def without_start(source: Layout, dest: Layout) -> list[str]:
    """Axes that only the source names, and of which it does not hold 0, where the destination stands."""
    named = dict(dest.sizes)
    return [axis for axis, start in source.offsets if start > 0 and axis not in named and not axis.startswith("<")]


def _place_any(digits: list[Digit], value: int) -> int | None:
    """The address of a coordinate, whichever digits make it up."""
    if not digits:
        return 0 if value == 0 else None
    digit, *rest = sorted(digits, key=lambda d: -d.weight)
    for part in range(min(value // digit.weight, digit.live - 1), -1, -1):
        below = _place_any(rest, value - part * digit.weight)
        if below is not None:
            return below + part * digit.step
    return None


# ---------------------------------------------------------------- runs


def longest_run(source: Layout, dest: Layout) -> ContiguousRun:
    """Walks inwards to outwards while both sides step alike. Top padding that follows in the destination may be
    written; padding that both sides have alike is walked through.
    """
    run = 1
    ends: list[int] = []  # of the run, before padding and in it
    strides: list[int] = []
    walked: list[tuple[Digit, int]] = []  # outside of the run, with the least distance of two of its coordinates
    growing = behind = True  # live bytes may follow in both, or Top padding in the destination
    for index in reversed(range(len(dest.digits))):
        digit = dest.digits[index]
        if digit.slots < 2:
            continue
        other = _partner(source, digit, run) if growing else None
        if behind and other is None and digit.step == run and digit.live == 1 and _top(dest, index):
            ends, run, growing = [*ends, run], run * digit.slots, False
            continue
        if other is None or digit.step != run:
            growing = behind = False
            if digit.live > 1:
                walked.append((digit, digit.weight))
            continue
        if _alike(dest, index, source, other):
            run = run * digit.slots
            continue
        run = run * min(digit.live, other[1].live)
        growing = digit.slots == digit.live == other[1].live == other[1].slots
        if digit.live > other[1].live:
            strides.append(run)
            walked.append((digit, digit.weight * other[1].live))
        behind = digit.live <= other[1].live and (digit.live == digit.slots or _top(dest, index))
        if behind and digit.live < digit.slots:
            room = least([digit.slots, other[1].slots])
            ends = [run, digit.step * room] if room > digit.live else [run]
            run = digit.step * digit.slots
    steps = [
        step
        for i, d in enumerate(source.digits)
        if i not in source.beyond_index and d.live > 1 and d.axis is not None
        for step in _steps_of(d, [one for one in walked if one[0].axis == d.axis], _ahead(source, dest, d.axis))
    ]
    strides += [digit.step for digit, weight in walked if weight == digit.weight]
    gcds = gcd(source.origin, *steps), gcd(dest.origin, *strides)
    return ContiguousRun(run, *gcds, _shorter(run, ends))


def _shorter(run: int, ends: Sequence[int]) -> tuple[int, ...]:
    """Lengths below a run that reaches over padding: any from the first of `ends` on may be chosen. Of a symbolic run
    these ends are given alone.
    """
    if not ends or isinstance(run, Symbolic):
        return tuple(ends)
    rounded = dict.fromkeys(run >> bit << bit for bit in range(run.bit_length()))
    return (*(one for one in rounded if ends[0] < one < run), ends[0])


def _ahead(source: Layout, dest: Layout, axis: str) -> int:
    """How far the coordinates that the destination holds begin behind those of the source."""
    return dict(dest.offsets).get(axis, 0) - dict(source.offsets).get(axis, 0)


def _steps_of(digit: Digit, walked: Sequence[tuple[Digit, int]], ahead: int) -> Iterator[int]:
    """What divides the addresses of a source's digit where its axis goes by these distances: nothing where it stands,
    as it does under distances that never add up to one of its steps.
    """
    below = [other for other, distance in walked if distance % digit.weight != 0]
    if below and ahead % digit.weight + sum(other.weight * (other.live - 1) for other in below) >= digit.weight:
        yield digit.step
    for _, distance in walked:
        if distance % digit.weight == 0 and distance // digit.weight % digit.slots != 0:
            yield distance // digit.weight * digit.step
            yield digit.slots * digit.step  # where it begins again


def _partner(source: Layout, digit: Digit, run: int) -> tuple[int, Digit] | None:
    """The source digit that steps through the same piece of the axis at the same distance, and its index."""
    for index, other in enumerate(source.digits):
        if index in source.beyond_index or other.slots < 2 or other.step != run or other.axis != digit.axis:
            continue
        if other.weight == digit.weight and (digit.axis is not None or digit.live == other.live == 1):
            return index, other
    return None


def _alike(dest: Layout, index: int, source: Layout, other: tuple[int, Digit]) -> bool:
    """Whether both digits are the same and what padding they have may be read and written."""
    mine, (there, theirs) = dest.digits[index], other
    same = (mine.slots, mine.live) == (theirs.slots, theirs.live)
    return same and (mine.live == mine.slots or (_top(dest, index) and _top(source, there)))


def _top(layout: Layout, index: int) -> bool:
    """Whether the padding of a digit is Top alone."""
    kinds = {g.kind for g in layout.guards if [i for i, _ in g.terms] == [index]}
    return kinds <= {Kind.TOP}
