"""Addresses of the executor: where the units of a tensor lie, which units a nest of loops copies; plain `//` and `%`.

Knows: regions, loop nests, arrays of addresses.
Does not know: mappings' cells, digits, solvers, what a plan promises.
Law: a unit index and an address of a region name each other; the batches of the commands are all their copies, each
once, in order.

Numbers beyond int64 are Python integers in object arrays: slower, never wrong.
Source: docs/machines/rngd.md 1.6, 2.1; the plan file format, source and dest, configuration text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from dmaverify.errors import InputError
from dmaverify.execute.outcome import Beyond
from dmaverify.language.expr import Expr, pair
from dmaverify.program.command import Command
from dmaverify.program.space import Space, global_address, unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.values import dataclass

Numbers = Any  # NDArray of integers, or of Python integers where int64 could overflow
Steps = Sequence[tuple[int, int, int]]  # count, read step, write step; outer to inner

CHUNK = 1 << 17  # units handled at once
WIDE = 1 << 61  # from here on numbers might wrap around in an array: Python integers, or Beyond


class TooLarge(InputError):
    """More units than can be run one by one, or than a place can hold."""

    def __init__(self, units: int, why: str = "are too many to run one by one") -> None:
        super().__init__(f"{units:,} units {why}")
        self.units = units


class Aliased(TooLarge):
    """The positions of a place reach into the next one: two positions share an address, it fits in no memory."""


# ---------------------------------------------------------------- steps


def must_fit(number: int) -> None:
    """Raises Beyond for an address that an array of 64-bit numbers might hold as another one."""
    if abs(number) >= WIDE:
        raise Beyond("addresses beyond 64 bits")


def ends_of(at: int, steps: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The least and the greatest address that (count, step) reach from `at` on."""
    spans = [(max(1, count) - 1) * step for count, step in steps]
    return at + sum(min(0, span) for span in spans), at + sum(max(0, span) for span in spans)


def strided(at: int, steps: Sequence[tuple[int, int]], kind: Any = np.int64) -> np.ndarray:
    """All addresses that (count, step) reach from `at` on, the last step fastest. Raises Beyond where an array of
    64-bit numbers might hold one as another.
    """
    if kind is np.int64:
        must_fit(max(map(abs, ends_of(at, steps))))
    here = np.array([at], kind)
    for count, step in steps:
        if count != 1:
            here = (here[:, None] + np.arange(count, dtype=np.int64).astype(kind) * step).reshape(-1)
    return here


# ---------------------------------------------------------------- regions


@dataclass(frozen=True, slots=True)
class DeclaredRegion:
    """The declared region of a tensor: `rooms` are (place, positions, distance in units), outer to inner.

    The last room counts units. A *unit index* is the flat position times the units of an element, plus the unit number.
    """

    origin: int
    rooms: tuple[tuple[str, int, int], ...]

    @property
    def units(self) -> int:
        return prod(size for _, size, _ in self.rooms)

    def address_of(self, index: int) -> int:
        address = self.origin
        for _, size, stride in reversed(self.rooms):
            index, place = divmod(index, size)
            address += place * stride
        return address

    def locate(self, address: Numbers, low: int, high: int) -> tuple[Numbers, bool]:
        """The unit index at each address (-1 outside) and whether all are inside. All addresses lie in low..high."""
        if max(abs(low), abs(high), abs(self.origin)) >= WIDE:
            address = address.astype(object)
        rest, low, high = address - self.origin, low - self.origin, high - self.origin
        index: Any = 0
        inside: Any = None
        for _, size, stride in self.rooms[:-1]:
            first, last = low // stride, high // stride
            if first == last:
                if not 0 <= first < size:
                    return np.full(len(rest), -1), False
                shift = first * stride
                rest, low, high = (rest - shift if shift else rest), low - shift, high - shift
                index = index * size + first
                continue
            place = rest // stride
            rest = rest - place * stride
            if first < 0 or last >= size:
                inside = _both(inside, (place >= 0) & (place < size))
            index = index * size + place
            low, high = 0, stride - 1
        size = self.rooms[-1][1]
        if low < 0 or high >= size:
            inside = _both(inside, (rest >= 0) & (rest < size))
        index = rest if isinstance(index, int) and index == 0 else index * size + rest
        if inside is not None:
            index = np.where(inside, index, -1)
        return index.astype(np.int64, copy=False), inside is None or bool(inside.all())


def _both(one: Any, other: Any) -> Any:
    return other if one is None else one & other


def region_of(tensor: Tensor, space: Space, dtype_bits: int) -> DeclaredRegion:
    """The places that the mapping sizes give, from the tensor's first place on, and in each of them the bytes `base` to
    `base + size * width`. Raises Aliased where a place is wider than the distance to the next."""
    unit_bits = unit_bits_of(dtype_bits)
    starts = {"chip": tensor.at_chip, "cluster": tensor.at_cluster, "slice": tensor.at_slice}
    origin = tensor.base * 8 // unit_bits
    rooms: list[tuple[str, int, int]] = []
    for place in fields_of(space):
        size = tensor.field(place).size
        if place == "element":
            rooms.append((place, size * (dtype_bits // unit_bits), 1))
            continue
        stride = space.stride(place, unit_bits)
        rooms.append((place, size, stride))
        origin += starts[place] * stride
    for outer, inner, reach, distance in overlapping(rooms):
        raise Aliased(reach, f"of {inner} reach beyond the {distance:,} units of one {outer}")
    return DeclaredRegion(origin, tuple(rooms))


def overlapping(rooms: Sequence[tuple[str, int, int]]) -> list[tuple[str, str, int, int]]:
    """Places that reach into the next one: outer, inner, units of the inner, units from one outer to the next."""
    return [
        (outer, inner, size * stride, distance)
        for (outer, _, distance), (inner, size, stride) in pairwise(rooms)
        if size * stride > distance
    ]


def fields_of(space: Space) -> tuple[str, ...]:
    return tuple(place for place in PLACES if place in space.places)


def mapping_of(tensor: Tensor, space: Space) -> Expr:
    """The fields that the tier has, outermost first, as one mapping."""
    return pair(*(tensor.field(place) for place in fields_of(space)))


# ---------------------------------------------------------------- the copies of a nest


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive copies of one command, from its copy `first` on; `bounds` hold all addresses of a side."""

    command: int
    first: int
    read: Numbers
    write: Numbers
    read_bounds: tuple[int, int]
    write_bounds: tuple[int, int]


def batches(commands: Sequence[Command]) -> Iterator[Batch]:
    """All copies in order."""
    for index, command in enumerate(commands):
        if command.amount > 0:
            yield from _batches(index, command)


def _batches(index: int, command: Command) -> Iterator[Batch]:
    nest = command.nest
    inner, split = 1, len(nest)
    while split and inner * nest[split - 1][0] <= CHUNK:
        split -= 1
        inner *= nest[split][0]
    outer, cut = nest[: max(0, split - 1)], nest[split - 1] if split else (1, 0, 0)
    per = min(cut[0], max(1, CHUNK // inner))
    block = [(per, cut[1], cut[2]), *nest[split:]] if split else nest
    bases = (global_address(command.read, command.read.base), global_address(command.write, command.write.base))
    sides = [_side(nest, block, bases[side], side + 1) for side in (0, 1)]
    first = 0
    for counters in product(*(range(count) for count, _, _ in outer)):
        walked = list(zip(counters, outer, strict=True))
        for start in range(0, cut[0], per):
            size = min(per, cut[0] - start) * inner
            read, write = (
                bases[side] + start * cut[side + 1] + sum(c * step[side + 1] for c, step in walked) for side in (0, 1)
            )
            yield Batch(
                index,
                first,
                sides[0][0][:size] + read,
                sides[1][0][:size] + write,
                (read + sides[0][1], read + sides[0][2]),
                (write + sides[1][1], write + sides[1][2]),
            )
            first += size


def _side(nest: Steps, block: Steps, base: int, side: int) -> tuple[Numbers, int, int]:
    """The address offsets of a block in order, and their bounds; Python integers where int64 might overflow."""
    reach = sum(abs(step[side]) * step[0] for step in nest)
    steps = [(step[0], step[side]) for step in block]
    return (strided(0, steps, np.int64 if abs(base) + reach < WIDE else object), *ends_of(0, steps))
