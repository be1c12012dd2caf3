"""Nests against layouts: every loop cut until each piece steps exactly one digit of each side.

Knows: pieces of loops, how loops are cut and which digit each piece steps.
Does not know: mappings as text, machines, solvers; whether a plan is right.
Law: cutting keeps every address: the pieces of a loop with their guard walk exactly the counters of the loop, and
after `drive` `sum(step * (constant + sum(coefficient * piece)))` is the address; digits that are not `carried` have
exactly that value.

`drive` proposes those sums; the obligations prove them before they are used (address = sum of step * digit, digits in
range).

Relied on (proofs/): euclid-existence, euclid-uniqueness, ladder-step, loop-cut, ragged-cut, refinement-step,
reversal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from dmaverify.language.numbers import gcd, moves, same
from dmaverify.layout.addresses import Layout, cut_digit, cut_terms
from dmaverify.values import dataclass, replace

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
    guards = [(cut_terms(terms, index, at), bound) for terms, bound in nest.guards]
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
            if index in which
            else n
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
    if not moves(piece.count):
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
        if not moves(piece.count):
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
    while 0 < carried < len(steps) and not same(gcd(*steps[:carried]), steps[carried - 1]):
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
