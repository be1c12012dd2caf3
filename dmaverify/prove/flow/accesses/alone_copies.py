"""What a move copies that nothing says how to do: its live cells, one by one, in runs that both sides have.

Knows: the digits of both sides, which padding must end as zero, which may hold anything.
Does not know: steps, order, loops around a move.
Law: exact, or `NoCopies`: where an element lies at two places of the source, nobody says which of them is taken. What a
view does not show is not touched, its padding neither; a tile that reaches into padding, or beyond its digit, shows
nothing that could be moved.

Source: the plan file format, What is judged; docs/machines/rngd.md 1.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd, prod
from typing import TYPE_CHECKING

from dmaverify.language.distinct import distinct
from dmaverify.language.expr import Kind
from dmaverify.language.numbers import moves
from dmaverify.layout.addresses import Layout, cut_digit
from dmaverify.layout.digits import Digit, Guard
from dmaverify.lower.programs import space_of
from dmaverify.program.move import Transfer
from dmaverify.program.space import LOCAL_LIMIT, Space, has_ports, layout_of, port_at, unit_bits_of
from dmaverify.program.tensor import PLACES
from dmaverify.program.views import Views
from dmaverify.prove.flow.accesses.touches import Memory, memory_at
from dmaverify.prove.meet import Walk
from dmaverify.targets.target import Target
from dmaverify.values import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Values = Mapping[int, Numbers]

MOST_RUNS = 1 << 22
"""Runs of cells that are listed."""


class NoCopies(Exception):
    """Why it is not known which units a step copies."""


@dataclass(frozen=True)
class Alone:
    """The layouts of source and destination; `run` units of a cell lie in a row in both, and are moved as one."""

    transfer: Transfer
    source: Layout
    dest: Layout
    spaces: tuple[Space, Space]
    run: int
    bits: int  # of an element

    @property
    def common(self) -> int:
        """What divides all addresses at which a run starts, and the run."""
        numbers = [self.run]
        for layout, space in zip((self.source, self.dest), self.spaces, strict=True):
            limit = _limit(space)
            numbers.append(layout.origin % limit)
            numbers += [d.step for d in layout.digits if self.run <= d.step < limit and moves(d.slots)]
        return gcd(*numbers)


def alone(transfer: Transfer, target: Target) -> Alone:
    """A move without stream and commands, ready to be listed. Raises NoCopies."""
    bits = target.dtypes[transfer.dtype]
    views = transfer.views or Views()
    for window in (one for view in (views.source, views.dest) if view is not None for one in view.steps):
        if window.start.least(views.turns) < 0 or window.start.most(views.turns) + window.length > window.live:
            raise NoCopies(f"a tile of `{window.label}` reaches beyond its elements, and no stream says what is moved")
    sides = (transfer.source, transfer.dest)
    spaces = (space_of(target, sides[0].tier), space_of(target, sides[1].tier))
    (source, opaque), (dest, other) = (layout_of(t, space, bits) for t, space in zip(sides, spaces, strict=True))
    if opaque or other:
        raise NoCopies("a mapping has no digits, and no stream says what is moved")
    if source.repeats_an_axis or any(d.axis is None and moves(d.live) for d in source.digits):
        raise NoCopies("an element lies at two places of the source, and no stream takes one of them")
    dest, run = _in_a_row(source, dest)
    if dest.size > MOST_RUNS * run:
        raise NoCopies(f"more than {MOST_RUNS:,} runs of cells, and no stream")
    return Alone(transfer, source, dest, spaces, run, bits)


def _in_a_row(source: Layout, dest: Layout) -> tuple[Layout, int]:
    """The destination, cut so that its digits below the run are of the run alone, and the run: units in a row that are
    the same elements in a row on both sides, wherever one begins.
    """
    run = 1
    for index in reversed(range(len(dest.digits))):
        digit = dest.digits[index]
        if not moves(digit.slots) and index not in dest.beyond_index:
            continue
        partner = next((i for i, d in enumerate(source.digits) if _like(d, digit) and _free(source, i)), None)
        if partner is None or digit.step != run or not _free(dest, index):
            break
        slots = source.digits[partner].slots
        both = gcd(digit.slots, slots)
        block = digit.weight * both
        heavier = [d.weight for one in (source, dest) for d in one.digits if d.axis == digit.axis]
        starts = [dict(one.offsets).get(digit.axis or "", 0) for one in (source, dest)]
        if any(n % block for n in (*starts, *(n for n in heavier if n > digit.weight))):
            break
        run *= both
        if both < digit.slots:
            return cut_digit(dest, index, both), run
        if both < slots:
            break
    return dest, run


def _like(one: Digit, other: Digit) -> bool:
    return one.axis is not None and (one.axis, one.weight, one.step) == (other.axis, other.weight, other.step)


def _free(layout: Layout, index: int) -> bool:
    """Whether a digit has no padding of its own, and none depends on it."""
    digit = layout.digits[index]
    held = index not in layout.beyond_index and digit.live == digit.slots
    return held and not any(i == index and k for guard in layout.guards for i, k in guard.terms)


# ---------------------------------------------------------------- cells


def cells_of(move: Alone, target: Target) -> Iterator[tuple[tuple[Memory, Numbers] | None, Memory, Numbers, str]]:
    """Where runs are read (None: nowhere), the memory and the places where they are written, and what those hold
    besides: "zero", or "anything". Raises NoCopies.
    """
    import numpy as np

    dest = move.dest
    outer = [i for i, d in enumerate(dest.digits) if i not in dest.beyond_index and d.step >= move.run]
    counts = [dest.digits[i].slots for i in outer]
    size = prod(counts)
    values = dict(zip(outer, np.indices(counts, np.int64).reshape(len(outer), size), strict=True))
    kind = _kinds(dest.guards, values, size)
    written = dest.origin + _sum({i: dest.digits[i].step for i in outer}, values, size)
    seen = _seen(move, written)
    for name, fill in ((Kind.ZERO, "zero"), (Kind.TOP, "anything")):
        for memory, chosen in _memories(move, 1, written, target):
            at = chosen & seen & (kind == list(_KINDS).index(name))
            if at.any():
                yield None, memory, written[at] % _limit(move.spaces[1]), fill
    live = kind == _LIVE
    read = np.full(size, -1, np.int64)
    read[live] = _sought(move, {i: v[live] for i, v in values.items()}, int(live.sum()))
    for memory, chosen in _memories(move, 1, written, target):
        for source, there in _memories(move, 0, read, target):
            at = live & chosen & there
            if at.any():
                ends = [ends[at] % _limit(space) for ends, space in zip((read, written), move.spaces, strict=True)]
                yield (source, ends[0]), memory, ends[1], ""


def _seen(move: Alone, written: Numbers) -> NDArray[np.bool_]:
    """Which runs that are written lie where the view of the destination shows something; without one, all."""
    import numpy as np

    transfer, space = move.transfer, move.spaces[1]
    view = None if transfer.views is None else transfer.views.dest
    if view is None:
        return np.ones(len(written), np.bool_)
    loops, width = [], move.bits // unit_bits_of(move.bits)
    for place in (one for one in PLACES if one in space.places or one == "element"):
        step = width if place == "element" else space.stride(place, unit_bits_of(move.bits))
        loops += [(count, stride * step) for count, stride in view.visible(place)]
    return np.isin(written, Walk(move.dest.origin, tuple(loops)).listed)


_LIVE = -1
_KINDS = (Kind.ZERO, Kind.TOP)


def _kinds(guards: tuple[Guard, ...], values: Values, size: int) -> Numbers:
    """Of each cell the number of its kind, 2 for all that must not be touched."""
    import numpy as np

    out = np.full(size, _LIVE, np.int64)
    for guard in guards:
        total = guard.constant + _sum({i: k for i, k in guard.terms if i in values}, values, size)
        number = _KINDS.index(guard.kind) if guard.kind in _KINDS else len(_KINDS)
        out[(out == _LIVE) & (total >= guard.bound)] = number
    return out


def _sum(weights: Mapping[int, int], values: Values, size: int) -> Numbers:
    import numpy as np

    total = np.zeros(size, np.int64)
    for index, weight in weights.items():
        total += weight * values[index]
    return total


def _sought(move: Alone, values: Values, size: int) -> Numbers:
    """The source address of each live cell. Raises NoCopies where the source has none."""
    import numpy as np

    source, dest = move.source, move.dest
    beginnings = dict(dest.offsets)
    digits = [(i, d) for i, d in enumerate(source.digits) if i not in source.beyond_index and d.axis is not None]
    found: dict[int, Numbers] = {i: np.zeros(size, np.int64) for i, _ in enumerate(source.digits)}
    for axis in {str(d.axis) for _, d in digits}:
        weights = {i: d.weight for i, d in enumerate(dest.digits) if d.axis == axis and i in values}
        rest = beginnings.get(axis, 0) - dict(source.offsets).get(axis, 0) + _sum(weights, values, size)
        for index, digit in sorted(((i, d) for i, d in digits if d.axis == axis), key=lambda one: -one[1].weight):
            found[index] = np.clip(rest // digit.weight, 0, digit.live - 1)
            rest = rest - found[index] * digit.weight
        if rest.any():
            raise NoCopies("the source lacks elements that the destination asks for")
    if (_kinds(source.guards, found, size) != _LIVE).any():
        raise NoCopies("the source lacks elements that the destination asks for")
    return source.origin + _sum({i: d.step for i, d in digits}, found, size)


def _limit(space: Space) -> int:
    """From which address on another place begins; where there is one place alone, nowhere."""
    return LOCAL_LIMIT if has_ports(space) else 1 << 62


def _memories(move: Alone, side: int, at: Numbers, target: Target) -> Iterator[tuple[Memory, NDArray[np.bool_]]]:
    """The memories that addresses lie in, and which of them lie there."""

    space = move.spaces[side]
    place = at // _limit(space)
    for one in distinct(place[at >= 0]).tolist():
        port = port_at(space.tier, one * _limit(space), space)
        yield memory_at(target, space.tier, port.chip, port.cluster), place == one
