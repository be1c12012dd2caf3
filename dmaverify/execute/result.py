"""What a run did: violations with their counters and coordinates, and the memory before and after.

Knows: marks (where something was broken), provenance (which source unit each destination unit holds), content.
Does not know: how copies are judged, digits, solvers, how a result is printed.
Law: everything is worked out from the run when it is asked for; asking changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dmaverify.execute.address import DeclaredRegion, Numbers, batches
from dmaverify.execute.judge import UNTOUCHED, FirstSeen
from dmaverify.execute.promise import Promise, cell_words, content
from dmaverify.language.distinct import distinct
from dmaverify.language.expr import Expr
from dmaverify.program.command import Command, counters_at
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

READ, WRITE = 0, 1  # the sides of a copy


@dataclass(frozen=True)
class Violation:
    """One way an obligation is broken: how often (`count`, in units) and where first.

    `counters` are those of the loops, outer to inner, then the position in the burst. Addresses are global, in units.
    `kinds` are the cells read and written (`live`, `top`, `zero`, `bottom`, `out-of-bounds`, `outside` the region).
    `units` are the unit numbers within the elements. `other` is the earlier copy of a double write.
    """

    count: int
    command: int | None = None
    counters: tuple[int, ...] | None = None
    read_address: int | None = None
    write_address: int | None = None
    dest_coordinates: dict[str, int] | None = None
    source_coordinates: dict[str, int] | None = None
    other: tuple[int, tuple[int, ...]] | None = None
    kinds: tuple[str | None, str | None] = (None, None)
    units: tuple[int | None, int | None] = (None, None)


@dataclass(frozen=True)
class ElementRow:
    """One destination element before and after: what it should hold, what it was given, and the values of its units."""

    position: int
    address: int
    wanted: dict[str, int] | str  # coordinates, or the kind of padding
    given: dict[str, int] | str  # coordinates, a kind of padding, `untouched` or `unknown`
    before: tuple[int, ...]
    after: tuple[int, ...]
    expected: tuple[int, ...] | None  # None where anything may stand


@dataclass(frozen=True, eq=False)
class Execution:
    """What a run did and what it broke; pairs are (source, destination).

    `provenance[u]` is the source unit whose content destination unit u holds afterwards, UNTOUCHED or UNKNOWN.
    """

    commands: tuple[Command, ...]
    dtype_bits: int
    regions: tuple[DeclaredRegion, DeclaredRegion]
    mappings: tuple[Expr, Expr]
    spaces: tuple[Space, Space]
    marks: Mapping[str, FirstSeen]
    units_moved: int
    promise: Promise = field(repr=False)
    provenance: NDArray[np.signedinteger[Any]] = field(repr=False)

    @property
    def broken(self) -> frozenset[str]:
        """The ids of all obligations that do not hold, `core/consumes` and `core/not-vacuous` among them."""
        return frozenset("core/" + key.partition(":")[0] for key in self.marks)

    @cached_property
    def findings(self) -> Mapping[str, Violation]:
        """By obligation and part: `same-element`, `in-bounds:read`, `padding:write-bottom`, ..."""
        return {key: self._violation(key, mark) for key, mark in sorted(self.marks.items())}

    @property
    def unit_bits(self) -> int:
        return unit_bits_of(self.dtype_bits)

    @property
    def packets(self) -> int:
        return sum(-(-c.amount // max(1, c.packet)) for c in self.commands)

    @property
    def dest_live_units(self) -> int:
        return self.promise.dest_live

    @property
    def bytes_moved(self) -> int:
        """Rounded up where 4-bit units end within a byte."""
        return -(-self.units_moved * self.unit_bits // 8)

    @cached_property
    def units_equal(self) -> int:
        """Live destination units that hold afterwards what they should."""
        return int(np.count_nonzero((self.memory_after == self._expected) & (self.promise.dest >= 0)))

    # ------------------------------------------------------------ memory

    @cached_property
    def source_memory(self) -> Bytes:
        """Scattered content of the source region, one number a unit: equal where the element is, 0 in Zero padding."""
        return content(self.promise.source, self.promise, self.unit_bits)

    @cached_property
    def _expected(self) -> Bytes:
        return content(self.promise.dest, self.promise, self.unit_bits)

    @cached_property
    def memory_before(self) -> Bytes:
        """The destination region before the run: nowhere what it should become."""
        return self._expected ^ np.uint8((1 << self.unit_bits) - 1)

    @cached_property
    def memory_after(self) -> Bytes:
        return self.move(self.source_memory, self.memory_before)

    def move(self, source: NDArray[Any], dest: NDArray[Any]) -> NDArray[Any]:
        """The destination region after the run, for any content of both regions (flat, one value a unit)."""
        known = self.provenance >= 0
        after = dest.copy()
        after[known] = source[self.provenance[known]]
        return after

    def rows(self, limit: int = 8) -> tuple[ElementRow, ...]:
        """The first destination elements that are wrong, or the first of all if none is."""
        width, units = self.promise.width, len(self.promise.dest)
        wrong = np.flatnonzero((self.memory_after != self._expected) & (self.promise.dest >= 0))[: limit * width]
        chosen = list(dict.fromkeys((wrong // width).tolist()))[:limit] or list(range(min(limit, units // width)))
        return tuple(self._row(position) for position in chosen)

    def _row(self, position: int) -> ElementRow:
        width = self.promise.width
        part = slice(position * width, (position + 1) * width)
        kind, coordinates = cell_words(self.mappings[WRITE], position)
        origin = int(self.provenance[part.start])
        given: dict[str, int] | str = "untouched" if origin == UNTOUCHED else "unknown"
        if origin >= 0:
            name, found = cell_words(self.mappings[READ], origin // width)
            given = name if found is None else found
        expected = None if kind in ("top", "bottom", "out-of-bounds") else _ints(self._expected[part])
        wanted = kind if coordinates is None else coordinates
        before, after = _ints(self.memory_before[part]), _ints(self.memory_after[part])
        return ElementRow(position, self.regions[WRITE].address_of(part.start), wanted, given, before, after, expected)

    # ------------------------------------------------------------ violations

    def _violation(self, key: str, mark: FirstSeen) -> Violation:
        if key == "writes-once":
            return self._repeat(mark.count)
        if mark.command >= 0:
            return self._copy(mark, None)
        return Violation(mark.count) if mark.cell < 0 else self._cell(key, mark)

    def _copy(self, mark: FirstSeen, other: tuple[int, int] | None) -> Violation:
        read, write = self._at(READ, mark.read), self._at(WRITE, mark.write)
        return Violation(
            mark.count,
            mark.command,
            self._counters(mark.command, mark.number),
            mark.read,
            mark.write,
            dest_coordinates=write[1],
            source_coordinates=read[1],
            other=None if other is None else (other[0], self._counters(*other)),
            kinds=(read[0], write[0]),
            units=(read[2], write[2]),
        )

    def _counters(self, command: int, number: int) -> tuple[int, ...]:
        return counters_at([count for count, _, _ in self.commands[command].nest], number)

    def _cell(self, key: str, mark: FirstSeen) -> Violation:
        side = READ if key == "consumes" else WRITE
        address = self.regions[side].address_of(mark.cell)
        kind, coordinates, unit = self._at(side, address)
        if side == READ:
            return Violation(
                mark.count, read_address=address, source_coordinates=coordinates, kinds=(kind, None), units=(unit, None)
            )
        return Violation(
            mark.count, write_address=address, dest_coordinates=coordinates, kinds=(None, kind), units=(None, unit)
        )

    def _at(self, side: int, address: int) -> tuple[str, dict[str, int] | None, int | None]:
        """Kind, coordinates and unit number of what lies at an address."""
        index = int(self.regions[side].locate(np.array([address], object), address, address)[0][0])
        if index < 0:
            return "outside", None, None
        position, unit = divmod(index, self.promise.width)
        return (*cell_words(self.mappings[side], position), unit)

    # ------------------------------------------------------------ double writes

    def _repeat(self, count: int) -> Violation:
        """The first copy whose write address an earlier copy wrote, and the first copy that did."""
        every: Numbers = np.concatenate([batch.write for batch in batches(self.commands)])
        every.sort()
        twice = distinct(every[1:][every[1:] == every[:-1]])
        del every
        seen = np.zeros(len(twice), np.bool_)
        for batch in batches(self.commands):
            place = np.minimum(np.searchsorted(twice, batch.write), len(twice) - 1)
            hits = np.flatnonzero(twice[place] == batch.write)
            place, anew = place[hits], np.zeros(len(hits), np.bool_)
            anew[np.unique(place, return_index=True)[1]] = True
            again = hits[seen[place] | ~anew]
            if len(again):
                at = int(again[0])
                mark = FirstSeen(count, batch.command, batch.first + at, int(batch.read[at]), int(batch.write[at]))
                return self._copy(mark, self._first_writer(mark.write))
            seen[place] = True
        raise AssertionError("no address is written twice")

    def _first_writer(self, address: int) -> tuple[int, int]:
        """The command that writes an address first, and the number of the copy in it."""
        writers = ((batch, np.flatnonzero(batch.write == address)) for batch in batches(self.commands))
        batch, at = next((batch, at) for batch, at in writers if len(at))
        return batch.command, batch.first + int(at[0])


def _ints(values: Bytes) -> tuple[int, ...]:
    return tuple(int(value) for value in values)
