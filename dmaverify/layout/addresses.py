"""Tensors in memory: digits whose step is an address, from rooms (the classes of places that a tier has).

Knows: how the digits of every place become one layout of addresses, where an address lies in it, how a digit is cut.
Does not know: mappings as text, machines, solvers, nests of loops.
Law: `address_of` and `values_at` are inverse on every address of the layout; cutting a digit keeps both.

Relied on (proofs/): euclid-uniqueness, loop-cut, ragged-cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import prod

from dmaverify.language.numbers import moves, same
from dmaverify.layout.digits import Digit, DigitForm, Gap, Guard, coalesce, finalize
from dmaverify.values import dataclass, replace

BYTE = "<byte>"  # the axis of bytes within an element; no axis of a plan can be called so


def coordinates_of(
    digits: Iterable[Digit], offsets: Iterable[tuple[str, int]], values: Iterable[int]
) -> dict[str, int]:
    """Sum per axis; an axis without digit or offset is absent."""
    out = dict(offsets)
    for digit, value in zip(digits, values, strict=True):
        if digit.axis is not None:
            out[digit.axis] = out.get(digit.axis, 0) + digit.weight * value
    return out


@dataclass(frozen=True, slots=True)
class Room:
    """One class of place of a tensor: its own digits, the address distance of its positions, and how many fit."""

    name: str
    form: DigitForm
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
    room_limits: tuple[int, ...] = ()  # distance of the next outer places, of each room in `beyond` but the first

    @property
    def size(self) -> int:
        """Positions of the tensor, padding included."""
        return prod(digit.slots for digit in self.digits)

    @property
    def beyond_index(self) -> frozenset[int]:
        return frozenset(index for index, _, _ in self.beyond)

    @property
    def live_loops(self) -> list[tuple[int, int]]:
        """Loops (count, step) from the origin that reach every cell which holds an element, and others under guards."""
        return [(d.live, d.step) for i, d in enumerate(self.digits) if i not in self.beyond_index and d.live > 1]

    @property
    def replicas(self) -> frozenset[int]:
        """Digits of broadcasts: they move no coordinate and no guard, so every value stands for the same elements."""
        guarded = {i for guard in self.guards for i, _ in guard.terms}
        return frozenset(
            i for i, d in enumerate(self.digits) if d.axis is None and i not in self.beyond_index and i not in guarded
        )

    @property
    def repeats_an_axis(self) -> bool:
        """Whether two cells may hold one index because an axis is named twice (`A / 2, A`); padding holds none."""
        for axis in {d.axis for d in self.digits if d.axis is not None}:
            held = sorted((d.weight, d.live) for d in self.digits if d.axis == axis)
            if any(low * live > high for (low, live), (high, _) in pairwise(held)):
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
        return coordinates_of(self.digits, self.offsets, values)

    @property
    def last_live(self) -> int:
        """The highest address that a live cell has, where one is live; the digits are a ladder."""
        values = [0] * len(self.digits)
        for index, digit in enumerate(self.digits):
            if index in self.beyond_index:
                continue
            values[index] = digit.live - 1
            for guard in self.guards:
                coefficient = dict(guard.terms).get(index, 0)
                if coefficient:
                    before = guard.value(tuple(values)) - coefficient * values[index]
                    values[index] = max(0, min(values[index], (guard.bound - 1 - before) // coefficient))
        return self.address_of(values)

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
    flat = DigitForm(0, tuple(digits), tuple(guards), tuple(sorted(offsets.items())))
    flat = coalesce(finalize(flat, known))
    origin = base + sum(room.start * room.stride for room in rooms)
    return _with_beyond(flat, rooms, origin, known)


def _with_beyond(flat: DigitForm, every: Sequence[Room], origin: int, sizes: Mapping[str, int]) -> Layout:
    rooms = _with_an_outside([room for room in every if room.ends])
    marks = []
    for room, _ in rooms:
        step = room.form.size * room.stride
        fitting = 1 if room.limit is None else room.limit // room.form.size
        marks.append((step, room.name, None if room.limit is None else fitting if fitting >= 1 else 1))
    digits: list[Digit] = []
    place: dict[int, int] = {}
    beyond: list[tuple[int, str, int | None]] = []
    pending = list(enumerate(flat.digits))
    for step, name, limit in marks:
        while pending and not _fits_below(pending[0][1], step):
            index, digit = pending.pop(0)
            place[index] = len(digits)
            digits.append(digit)
        beyond.append((len(digits), name, limit))
        digits.append(Digit(None, 0, step, 1, 1))
    for index, digit in pending:
        place[index] = len(digits)
        digits.append(digit)
    guards = tuple(replace(g, terms=tuple((place[i], k) for i, k in g.terms)) for g in flat.guards)
    limits = tuple(outer.stride for _, outer in rooms if outer is not None)
    return Layout(tuple(digits), guards, flat.offsets, origin, tuple(beyond), tuple(sorted(sizes.items())), limits)


def _fits_below(digit: Digit, step: int) -> bool:
    return (same(digit.step * digit.slots, step) and moves(digit.slots)) or digit.step < step


def _with_an_outside(rooms: Sequence[Room]) -> list[tuple[Room, Room | None]]:
    """Rooms that have room behind their positions, each with the next outer one. Of one that is full, the next address
    is the next place's own, and digits of both may be one.
    """
    return [
        (room, outer)
        for outer, room in zip((None, *rooms), rooms, strict=False)
        if outer is None or room.form.size * room.stride != outer.stride
    ]


def cut_terms(terms: Iterable[tuple[int, int]], index: int, at: int) -> tuple[tuple[int, int], ...]:
    """The terms (index, coefficient) of a guard, the digit `index` cut into `at * high + low`."""
    moved: list[tuple[int, int]] = []
    for i, k in terms:
        moved += [(index, k * at), (index + 1, k)] if i == index else [(i + 1 if i > index else i, k)]
    return tuple(moved)


def cut_digit(layout: Layout, index: int, at: int) -> Layout:
    """Digit `index` as `at * high + low`; a void guard takes care of slots that `at` does not divide."""
    old = layout.digits[index]
    high = replace(old, step=old.step * at, weight=old.weight * at, slots=-(-old.slots // at), live=-(-old.live // at))
    low = replace(old, slots=at, live=min(at, old.live))
    guards = [replace(guard, terms=cut_terms(guard.terms, index, at)) for guard in layout.guards]
    if old.slots % at:
        guards.append(Guard(((index, at), (index + 1, 1)), old.slots, Gap.VOID))
    beyond = tuple((i + 1 if i > index else i, name, limit) for i, name, limit in layout.beyond)
    digits = (*layout.digits[:index], high, low, *layout.digits[index + 1 :])
    return replace(layout, digits=digits, guards=tuple(guards), beyond=beyond)
