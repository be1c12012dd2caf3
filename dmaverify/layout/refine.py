"""Nests against layouts: every loop cut until each piece steps exactly one digit of each side.

Knows: address layouts (digits whose step is an address), where an address lies in them, how loops and digits are cut.
Does not know: mappings as text, machines, solvers; whether a plan is right.
Law: cutting keeps every address: the pieces of a loop with their guard walk exactly the counters of the loop, and
after `drive` `sum(step * (constant + sum(coefficient * piece)))` is the address; digits that are not `carried` have
exactly that value.

`drive` proposes those sums; the obligations prove them before they are used (address = sum of step * digit, digits in
range).
Relied on: proofs/loop-cut.smt2, proofs/ragged-cut.smt2, proofs/euclid-uniqueness.smt2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd

from dmaverify.layout.digits import Digit, Form, Gap, Guard, coalesce, finalize

BYTE = "<byte>"  # the axis of bytes within an element; no axis of a plan can be called so


@dataclass(frozen=True, slots=True)
class Room:
    """One class of place of a tensor: its own digits, the address distance of its positions, and how many fit."""

    name: str
    form: Form
    stride: int  # units from one position to the next
    start: int  # first position, for a tensor that does not begin at place 0
    limit: int | None  # positions until the next outer place begins; None at the outermost
    ends: bool = True  # False: a single position, longer than the distance to the next: addresses run on in it


@dataclass(frozen=True, slots=True)
class Layout:
    """A tensor in memory: digits by falling address step, guards, constant coordinates, the address where all digits
    are 0.

    Beside the digits of the mapping, each room has one *beyond* digit on top, 0 inside the tensor: an address whose
    beyond digit is not 0 lies outside the declared region. `beyond` maps its index to (name of the room, how many
    values fit, None = no limit).
    """

    digits: tuple[Digit, ...]
    guards: tuple[Guard, ...]
    offsets: tuple[tuple[str, int], ...]
    origin: int
    beyond: tuple[tuple[int, str, int | None], ...]
    sizes: tuple[tuple[str, int], ...]
    room_strides: tuple[int, ...] = ()  # address distance of the positions of each room, outermost first

    @property
    def size(self) -> int:
        """Positions of the tensor, padding included."""
        total = 1
        for digit in self.digits:
            total *= digit.slots
        return total

    @property
    def beyond_index(self) -> frozenset[int]:
        return frozenset(index for index, _, _ in self.beyond)

    @property
    def replicas(self) -> frozenset[int]:
        """Digits of broadcasts: they move no coordinate and no guard, so every value stands for the same elements."""
        guarded = {i for guard in self.guards for i, _ in guard.terms}
        return frozenset(
            i for i, d in enumerate(self.digits) if d.axis is None and i not in self.beyond_index and i not in guarded
        )

    @property
    def repeats_an_axis(self) -> bool:
        """Whether two cells may hold one index because an axis is named twice (`A / 2, A`)."""
        for axis in {d.axis for d in self.digits if d.axis is not None}:
            held = sorted((d.weight, d.slots) for d in self.digits if d.axis == axis)
            if any(low * slots > high for (low, slots), (high, _) in pairwise(held)):
                return True
        return False

    def values_at(self, address: int) -> tuple[int, ...] | None:
        """The digits of an address, beyond digits floored; None where a void guard or a full room leaves no such
        digits.
        """
        rest = address - self.origin
        rooms = {index: limit for index, _, limit in self.beyond}
        values: list[int] = []
        for index, digit in enumerate(self.digits):
            value, rest = divmod(rest, digit.step)
            if index in rooms:
                limit = rooms[index]
                if limit is not None and value >= limit:
                    return None
            elif value >= digit.slots:
                return None
            values.append(value)
        found = tuple(values)
        if rest or any(g.kind is Gap.VOID and g.value(found) >= g.bound for g in self.guards):
            return None
        return found

    def address_of(self, values: Sequence[int]) -> int:
        return self.origin + sum(d.step * v for d, v in zip(self.digits, values, strict=True))

    def coordinates(self, values: Sequence[int]) -> dict[str, int]:
        """Sum per axis; an axis without digit or offset is absent."""
        out = dict(self.offsets)
        for digit, value in zip(self.digits, values, strict=True):
            if digit.axis is not None:
                out[digit.axis] = out.get(digit.axis, 0) + digit.weight * value
        return out

    def kind_at(self, values: tuple[int, ...]) -> object | None:
        """None for a live cell, else the kind of the first guard that holds."""
        for guard in self.guards:
            if guard.kind is not Gap.VOID and guard.value(values) >= guard.bound:
                return guard.kind
        return None


def lay_out(rooms: Sequence[Room], unit: int, base: int, sizes: Mapping[str, int]) -> Layout:
    """The layout of a tensor whose rooms go from outermost to the elements of `unit` units each, `base` units in."""
    digits: list[Digit] = []
    guards: list[Guard] = []
    offsets: dict[str, int] = {}
    for room in rooms:
        scale = room.stride
        moved = [replace(d, step=d.step * scale) for d in room.form.digits]
        guards.extend(replace(g, terms=tuple((i + len(digits), k) for i, k in g.terms)) for g in room.form.guards)
        digits.extend(moved)
        for axis, value in room.form.offsets:
            offsets[axis] = offsets.get(axis, 0) + value
    if unit > 1:
        digits.append(Digit(BYTE, 1, 1, unit, unit))
    known = {**sizes, BYTE: unit}
    flat = Form(0, tuple(digits), tuple(guards), tuple(sorted(offsets.items())))
    flat = coalesce(finalize(flat, known))
    origin = base + sum(room.start * room.stride for room in rooms)
    return _with_beyond(flat, rooms, origin, known)


def _with_beyond(flat: Form, every: Sequence[Room], origin: int, sizes: Mapping[str, int]) -> Layout:
    rooms = _with_an_outside([room for room in every if room.ends])
    marks = []
    for room in rooms:
        step = room.form.size * room.stride
        limit = None if room.limit is None else max(1, room.limit // room.form.size)
        marks.append((step, room.name, limit))
    digits: list[Digit] = []
    place: dict[int, int] = {}
    beyond: list[tuple[int, str, int | None]] = []
    pending = list(enumerate(flat.digits))
    for step, name, limit in marks:
        while pending and pending[0][1].step >= step:
            index, digit = pending.pop(0)
            place[index] = len(digits)
            digits.append(digit)
        beyond.append((len(digits), name, limit))
        digits.append(Digit(None, 0, step, 1, 1))
    for index, digit in pending:
        place[index] = len(digits)
        digits.append(digit)
    guards = tuple(replace(g, terms=tuple((place[i], k) for i, k in g.terms)) for g in flat.guards)
    strides = tuple(room.stride for room in rooms)
    return Layout(tuple(digits), guards, flat.offsets, origin, tuple(beyond), tuple(sorted(sizes.items())), strides)


def _with_an_outside(rooms: Sequence[Room]) -> list[Room]:
    """Rooms that have room behind their positions. Of one that is full, the next address is the next place's own, and
    digits of both may be one.
    """
    return [
        room
        for outer, room in zip((None, *rooms), rooms, strict=False)
        if outer is None or room.form.size * room.stride != outer.stride
    ]


def cut_digit(layout: Layout, index: int, at: int) -> Layout:
    """Digit `index` as `at * high + low`; a void guard takes care of slots that `at` does not divide."""
    old = layout.digits[index]
    high = replace(old, step=old.step * at, weight=old.weight * at, slots=-(-old.slots // at), live=-(-old.live // at))
    low = replace(old, slots=at, live=min(at, old.live))
    guards = []
    for guard in layout.guards:
        terms: list[tuple[int, int]] = []
        for i, k in guard.terms:
            if i == index:
                terms += [(index, k * at), (index + 1, k)]
            else:
                terms.append((i + 1 if i > index else i, k))
        guards.append(replace(guard, terms=tuple(terms)))
    if old.slots % at:
        guards.append(Guard(((index, at), (index + 1, 1)), old.slots, Gap.VOID))
    beyond = tuple((i + 1 if i > index else i, name, limit) for i, name, limit in layout.beyond)
    digits = (*layout.digits[:index], high, low, *layout.digits[index + 1 :])
    return replace(layout, digits=digits, guards=tuple(guards), beyond=beyond)


# ---------------------------------------------------------------- nests


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a loop: `count` values, address steps per value, and how much one value adds to the counter of `loop`."""

    count: int
    read: int
    write: int
    loop: int
    factor: int


@dataclass(frozen=True, slots=True)
class Nest:
    """Pieces outer to inner, and guards `sum(factor * piece) < bound` left by ragged cuts. Addresses are global, in
    units.
    """

    read_base: int
    write_base: int
    pieces: tuple[Piece, ...]
    guards: tuple[tuple[tuple[tuple[int, int], ...], int], ...] = ()

    @staticmethod
    def of(read_base: int, write_base: int, loops: Iterable[tuple[int, int, int]]) -> Nest:
        pieces = tuple(Piece(n, r, w, i, 1) for i, (n, r, w) in enumerate(loops))
        return Nest(read_base, write_base, pieces)

    def counters(self, values: Sequence[int], loops: int) -> tuple[int, ...]:
        """The counter of each original loop."""
        out = [0] * loops
        for piece, value in zip(self.pieces, values, strict=True):
            out[piece.loop] += piece.factor * value
        return tuple(out)


def cut_piece(nest: Nest, index: int, at: int) -> Nest:
    """Piece `index` as `at * high + low`, with a guard where `at` does not divide its count."""
    old = nest.pieces[index]
    high = replace(old, count=-(-old.count // at), read=old.read * at, write=old.write * at, factor=old.factor * at)
    low = replace(old, count=at)
    guards = []
    for terms, bound in nest.guards:
        moved: list[tuple[int, int]] = []
        for i, k in terms:
            if i == index:
                moved += [(index, k * at), (index + 1, k)]
            else:
                moved.append((i + 1 if i > index else i, k))
        guards.append((tuple(moved), bound))
    if old.count % at:
        guards.append((((index, at), (index + 1, 1)), old.count))
    return replace(nest, pieces=(*nest.pieces[:index], high, low, *nest.pieces[index + 1 :]), guards=tuple(guards))


@dataclass(frozen=True, slots=True)
class Drive:
    """One side as sums over pieces: digit j is `constants[j] + sum(coefficient * piece)`; `terms[j]` lists (piece,
    coefficient).

    The first `carried` digits (the outermost) are only right together: their sums may leave the digits' ranges, and
    the true digits are those of `sum(step * sum_j)` over them. All others are exact as they stand.
    """

    constants: tuple[int, ...]
    terms: tuple[tuple[tuple[int, int], ...], ...]
    carried: int = 0

    def sums(self, pieces: Sequence[int]) -> tuple[int, ...]:
        return tuple(
            constant + sum(k * pieces[i] for i, k in terms)
            for constant, terms in zip(self.constants, self.terms, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Driven:
    """A nest with its digit sums on both sides."""

    nest: Nest
    read: Drive
    write: Drive

    @property
    def plain(self) -> bool:
        """No digit carries on either side."""
        return not (self.read.carried or self.write.carried)


@dataclass(frozen=True, slots=True)
class Joint:
    """All nests of a move over layouts that are refined for all of them."""

    source: Layout
    dest: Layout
    nests: tuple[Driven, ...]

    @property
    def plain(self) -> bool:
        return all(nest.plain for nest in self.nests)

    def all_carried(self, which: Collection[int]) -> Joint:
        """The nests `which` with every digit free: what is left when a proposed sum turned out to carry after all."""
        nests = tuple(
            replace(
                n,
                read=replace(n.read, carried=len(self.source.digits)),
                write=replace(n.write, carried=len(self.dest.digits)),
            )
            if index in which else n
            for index, n in enumerate(self.nests)
        )
        return replace(self, nests=nests)


class _Side:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.limits = {index: limit for index, _, limit in layout.beyond}

    def set(self, layout: Layout) -> None:
        self.__init__(layout)  # type: ignore[misc]

    def capacity(self, index: int) -> int | None:
        return self.limits[index] if index in self.limits else self.layout.digits[index].slots


MOST_CUTS = 64


def drive(source: Layout, dest: Layout, nests: Sequence[Nest]) -> Joint:
    """Cuts loops and digits until each piece moves one digit of each side, as far as that goes without carry."""
    sides = (_Side(source), _Side(dest))
    work = list(nests)
    for _ in range(MOST_CUTS):
        changed = [_advance(work, index, sides) for index in range(len(work))]
        if not any(changed):
            break
    return Joint(
        sides[0].layout,
        sides[1].layout,
        tuple(Driven(n, _drive_side(n, sides[0], "read"), _drive_side(n, sides[1], "write")) for n in work),
    )


def _advance(work: list[Nest], index: int, sides: tuple[_Side, _Side]) -> bool:
    """Cuts for a nest until each piece fits or never will, the longest steps first (a digit that is cut evenly for a
    long step may then be cut unevenly inside for a short one): whether anything was cut.
    """
    changed = False
    while True:
        pieces = work[index].pieces
        order = sorted(range(len(pieces)), key=lambda i: -max(abs(pieces[i].read), abs(pieces[i].write)))
        step = next((cut for i in order if (cut := _cut_for(work[index], i, sides)) is not None), None)
        if step is None:
            return changed
        changed = True
        if isinstance(step, Nest):
            work[index] = step


def _cut_for(nest: Nest, position: int, sides: tuple[_Side, _Side]) -> Nest | bool | None:
    """What piece `position` still needs: a cut nest, True after a digit was cut, None when it fits or never will."""
    piece = nest.pieces[position]
    if piece.count == 1:
        return None
    for side, step in zip(sides, (piece.read, piece.write), strict=True):
        found = _digit_for(side.layout, abs(step)) if step else None
        if found is None:
            continue
        index, ratio = found
        room = side.capacity(index)
        if room is not None and (piece.count - 1) * ratio >= room:
            if ratio < room and room % ratio == 0:
                return cut_piece(nest, position, room // ratio)
            continue
        if ratio > 1 and index not in side.limits:
            side.set(cut_digit(side.layout, index, ratio))
            return True
    return None


def _digit_for(layout: Layout, step: int) -> tuple[int, int] | None:
    """The one digit that a stride moves, and by how many of its steps; None where it moves several at once."""
    for index, digit in enumerate(layout.digits):
        if digit.step <= step:
            ratio, rest = divmod(step, digit.step)
            return None if rest else (index, ratio)
    return None


def _moves(layout: Layout, stride: int) -> list[tuple[int, int]]:
    """A stride as steps of digits, largest first: what one iteration adds to each."""
    rest, out = abs(stride), []
    for index, digit in enumerate(layout.digits):
        ratio, rest = divmod(rest, digit.step)
        if ratio:
            out.append((index, ratio if stride > 0 else -ratio))
    if rest:
        raise ValueError(f"stride {stride} is no sum of digit steps")
    return out


def _drive_side(nest: Nest, side: _Side, pick: str) -> Drive:
    layout = side.layout
    constants = _floor_digits(layout, nest.read_base if pick == "read" else nest.write_base)
    terms: list[list[tuple[int, int]]] = [[] for _ in layout.digits]
    low, high = list(constants), list(constants)
    for index, piece in enumerate(nest.pieces):
        if piece.count == 1:
            continue
        for at, coefficient in _moves(layout, piece.read if pick == "read" else piece.write):
            terms[at].append((index, coefficient))
            reach = coefficient * (piece.count - 1)
            low[at] += min(0, reach)
            high[at] += max(0, reach)
    carried = 0
    for at in range(len(layout.digits)):
        room = side.capacity(at)
        if room is None or (low[at] >= 0 and high[at] < room):
            continue
        carried = at + 1
    return Drive(tuple(constants), tuple(tuple(t) for t in terms), _separable(layout, carried))


def _separable(layout: Layout, carried: int) -> int:
    """Digits below the carried ones stay exact only where every carried step is a multiple of the least of them.

    A ragged digit (12 + 1 of 13) and the end of a room (4 MiB behind rows of 24 bytes) are no multiples: more digits
    carry.
    """
    steps = [digit.step for digit in layout.digits]
    while 0 < carried < len(steps) and gcd(*steps[:carried]) != steps[carried - 1]:
        carried += 1
    return carried


def _floor_digits(layout: Layout, address: int) -> list[int]:
    """Mixed-radix values of an address with the outermost one unbounded; sums of step * value give the address back."""
    rest, out = address - layout.origin, []
    for digit in layout.digits:
        value, rest = divmod(rest, digit.step)
        out.append(value)
    if rest:
        raise ValueError(f"address {address} is no sum of digit steps")
    return out


# ---------------------------------------------------------------- coverage where digits carry

MOST_VALUES = 1 << 18


def missing_cell(driven: Driven, dest: Layout) -> int | str | None:
    """The first destination address that one nest never writes; "none"; None where the values are too many or not
    separable.

    For a destination without guards. The digits that do not carry take products of intervals; the carried ones
    together take the values of one sum, which are listed: their number grows with the counts of the carrying loops,
    not with the bytes.
    """
    drive, pieces = driven.write, driven.nest.pieces
    moved_high = {i for terms in drive.terms[: drive.carried] for i, _ in terms}
    taken = set(moved_high)
    for index in range(drive.carried, len(dest.digits)):
        terms = drive.terms[index]
        if index in dest.beyond_index and not terms and not drive.constants[index]:
            continue
        if any(i in taken for i, _ in terms) or index in dest.beyond_index:
            return None  # one piece moves two digits: what they reach together is no product
        taken.update(i for i, _ in terms)
        reached = {drive.constants[index]}
        for i, k in terms:
            if len(reached) * pieces[i].count > MOST_VALUES:
                return None
            reached = {value + k * c for value in reached for c in range(pieces[i].count)}
        absent = next((v for v in range(dest.digits[index].slots) if v not in reached), None)
        if absent is not None:
            return dest.origin + dest.digits[index].step * absent
    return _missing_carried(driven, dest, sorted(moved_high))


def _missing_carried(driven: Driven, dest: Layout, moved: Sequence[int]) -> int | str | None:
    drive, pieces = driven.write, driven.nest.pieces
    weights = dict.fromkeys(moved, 0)
    start = 0
    for digit, constant, terms in zip(dest.digits[: drive.carried], drive.constants, drive.terms, strict=False):
        start += digit.step * constant
        for i, k in terms:
            weights[i] += digit.step * k
    reached = {start}
    for i in moved:
        if len(reached) * pieces[i].count > MOST_VALUES:
            return None
        reached = {value + weights[i] * c for value in reached for c in range(pieces[i].count)}
    wanted = [0]
    for index, digit in enumerate(dest.digits[: drive.carried]):
        if index not in dest.beyond_index:
            if len(wanted) * digit.slots > MOST_VALUES:
                return None
            wanted = [value + digit.step * c for value in wanted for c in range(digit.slots)]
    absent = next((value for value in wanted if value not in reached), None)
    return "none" if absent is None else dest.origin + absent
