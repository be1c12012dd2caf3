"""Gathers and scatters, run: every row by its own number, as the index says it.

Knows: rows by coordinates, what the machine adds to an address, promises of an index.
Does not know: digits, digits of rows, derived commands, solvers.
Law: `out[.., k, ..] = table[.., index[k], ..]`, asked of every cell. What is done: the machine adds only the number of
the index to the address of row 0, so that a table that holds the key too is read at key 0. Known numbers are taken as
they are, promised ones all where they are few, else some drawn from a fixed seed.

Source: furiosa-opt v0.6.0 (dma_gather_scaled, dma_gather_unscaled, dma_scatter).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from dmaverify.execute.elements import NONE, ElementNames, ElementPlaces, placed, sizes_of
from dmaverify.execute.judge import UnitJudge
from dmaverify.execute.moves import PADDING, judged, walked_nests
from dmaverify.execute.outcome import Beyond, Outcome
from dmaverify.execute.promise import DEST_TAGS, SOURCE_TAGS, WRITE_BOTTOM, Promise, with_units
from dmaverify.execute.requests import Copies
from dmaverify.execute.tensors import SeenTensor, laid_out, streamed, units
from dmaverify.execute.work import RunMachine, RunPrintedRows, RunRows
from dmaverify.language.distinct import distinct
from dmaverify.language.expr import Expr, axes_of, pair, terms_of
from dmaverify.program.space import unit_bits_of
from dmaverify.values import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

MOST_LISTS, DRAWN = 256, 48


def lists_of(rows: RunRows) -> Iterator[tuple[int, ...]]:
    """Lists of rows that the index may hold: the known one, all that are promised, or some of them."""
    if rows.values is not None or rows.promised is None:
        raise Beyond("the numbers of the index are known otherwise")
    low, high = rows.promised
    count = high - low + 1
    if rows.distinct and count < rows.keys:
        raise Beyond("no such list")
    if count**rows.keys <= MOST_LISTS:
        every = product(range(low, high + 1), repeat=rows.keys)
        yield from (one for one in every if not rows.distinct or len(set(one)) == rows.keys)
        return
    draw = random.Random(rows.keys * 1_000_003 + count)
    for turn in range(DRAWN):
        if rows.distinct:
            first = min(turn, count - rows.keys)
            known = list(range(low, high + 1)) if turn else list(range(low + first, high + 1))
            yield tuple(draw.sample(known, rows.keys)) if turn else tuple(known[: rows.keys])
        else:
            yield tuple(draw.choice((low, high, draw.randint(low, high))) for _ in range(rows.keys))


class Moved:
    """A gather or scatter, ready to be run for any list of rows."""

    def __init__(self, rows: RunRows, machine: RunMachine) -> None:
        self.rows, self.machine = rows, machine
        self.table = laid_out(rows.dest if rows.scatter else rows.source, machine, rows.bits, written=rows.scatter)
        self.load = laid_out(rows.source if rows.scatter else rows.dest, machine, rows.bits, written=not rows.scatter)
        exprs: list[Expr] = [expr for held in (rows.source, rows.dest) for _, expr in held.fields]
        if rows.flow is not None:
            flow = rows.flow
            exprs += [flow.chip, flow.cluster, flow.slice, flow.time, flow.packet]
        self.names = ElementNames({**sizes_of(exprs), rows.axis: rows.rows, rows.key: rows.keys})
        whole = (SeenTensor(cells, cells.live, cells.coords, {}) for cells in (self.table, self.load))
        self.places = [ElementPlaces(view, self.names, view.cells.named) for view in whole]
        if not all(places.alone for places in self.places):
            raise Beyond("an element of a row lies at several places")
        self.index = laid_out(rows.index, machine, rows.index_bits, written=False)
        self.read_at, self.unread = self._reads_index()

    def _reads_index(self) -> tuple[list[int], str]:
        """At which number of the list in memory each key finds its own, by the cells of the index; or why some do not.
        What lies alike in each chip, cluster or slice is one list.
        """
        cells, rows = self.index, self.rows
        (element,) = (expr.size for place, expr in rows.index.fields if place == "element")
        coords = {axis: column[cells.live] for axis, column in cells.coords.items()}
        keys = coords.pop(rows.key, np.zeros(int(cells.live.sum()), np.int64))
        if any(column.any() for column in coords.values()) or (keys >= rows.keys).any():
            return [], "the index holds numbers of no key"
        listed = np.unique(np.stack((keys, np.flatnonzero(cells.live) % element)), axis=1)
        counts = np.bincount(listed[0], minlength=rows.keys)
        if (counts != 1).any():
            at = int(np.flatnonzero(counts != 1)[0])
            return [], f"{rows.key} = {at} has {counts[at]} numbers in the index"
        return np.argsort(np.argsort(listed[1], kind="stable"), kind="stable").tolist(), ""

    def lists(self) -> Iterator[tuple[int, ...]]:
        """Rows by key, of all lists that the memory of the index may hold."""
        for listed in lists_of(self.rows):
            yield tuple(listed[at] for at in self.read_at) if self.read_at else listed

    def known(self) -> tuple[int, ...] | None:
        """Rows of a known index; None where a number names none (a broken index)."""
        values = self.rows.values
        assert values is not None
        if not self.rows.scaled:
            return values if all(0 <= v < self.rows.rows for v in values) else None
        step = self.distance()
        if any(v % step or not 0 <= v // step < self.rows.rows for v in values):
            return None
        return tuple(v // step for v in values)

    def distance(self) -> int:
        """Bytes from row 0 to row 1."""
        column = {self.rows.axis: np.arange(2)}
        zero, one = self._addresses(0, column, 2).tolist()
        if NONE in (zero, one) or one == zero:
            return 1
        bits = int(abs(one - zero)) * unit_bits_of(self.rows.bits)
        if bits % 8:
            raise Beyond("rows lie no whole number of bytes apart")
        return max(1, bits // 8)

    def run(self, listed: tuple[int, ...]) -> tuple[Outcome, Numbers, Numbers]:
        """Units read and written, and what that breaks, for one list of rows."""
        rows, outcome = self.rows, Outcome()
        if self.unread:
            outcome.break_("core/indirect", self.unread)
        if rows.flow is None and rows.printed is None:
            outcome.leave("core/covers", "nothing says how it is moved")
            return outcome, np.zeros(0, np.int64), np.zeros(0, np.int64)
        made = [] if rows.flow is None else [self._flowed(listed, outcome)]
        if rows.printed is not None:
            made.append(self._printed(rows.printed, listed, outcome))
        promise = self._promise(listed)
        sides = (self.load, self.table) if rows.scatter else (self.table, self.load)
        for copies in made:  # a stream and what is printed beside it each keep the promise by themselves
            judge = judged(copies, promise, sides[0].region, sides[1].region, outcome)
            if "writes-once" in judge.marks:
                outcome.break_("core/writes-once", "an element is written twice")
            self._padding(copies, judge, outcome)
        outcome.ran += len(copies.read)
        outcome.arrived += int(np.count_nonzero(judge.arrived()))
        outcome.asked += promise.dest_live
        self._list_kept(copies.write, outcome)
        self._in_place(copies.read, copies.write, outcome)
        return outcome, copies.read, copies.write

    def _padding(self, copies: Copies, judge: UnitJudge, outcome: Outcome) -> None:
        """Padding of a stream moves nothing; zeros of a table that a scatter leaves as they are were there before."""
        for part, says in PADDING.items():
            if f"padding:{part}" not in judge.marks:
                continue
            if part == "zero-unwritten" and (self.rows.scatter or not copies.exact):
                outcome.leave("core/padding", says)
            else:
                outcome.break_("core/padding", says)

    def _flowed(self, listed: tuple[int, ...], outcome: Outcome) -> Copies:
        """The machine adds the row alone to the address in the table, whatever else the table holds."""
        rows, flow = self.rows, self.rows.flow
        assert flow is not None
        stream = streamed(flow, self.machine)
        count = len(stream.at)
        keys = stream.coords.get(rows.key, np.zeros(count, np.int64))
        if len(distinct(keys)) < rows.keys:
            outcome.break_("core/covers", "the stream leaves keys out")
        row = np.array(listed, np.int64)[keys]
        other = {a: c for a, c in stream.coords.items() if a not in (rows.key, rows.axis)}
        zero = np.zeros(count, np.int64)
        table_at = self._addresses(0, {**other, rows.axis: row, rows.key: zero}, count)
        load_at = self._addresses(1, {**other, rows.key: keys}, count)
        read, write = (load_at, table_at) if rows.scatter else (table_at, load_at)
        walked = [term for term in terms_of(pair(flow.time, flow.packet)) if rows.key in axes_of(term)]
        if prod(term.size for term in walked) > rows.keys:
            outcome.break_("core/in-bounds", "the stream walks positions that are no key")
        for word in ("in-bounds", "padding", "reads-live", "writes-once") if stream.padded else ():
            outcome.leave(f"core/{word}", "what the padding of a stream touches is not followed row by row")
        taken = placed(write, self.table if rows.scatter else self.load, outcome)
        read, write = read[taken], write[taken]
        if (read == NONE).any():
            outcome.break_("core/in-bounds", "the stream has elements that the source has no place for")
        reads, writes = units(read, self.table.width), units(write, self.table.width)
        none = np.zeros(len(reads), np.int64)
        return Copies(reads, writes, none, none, none, not stream.padded and bool(taken.all()), flows=True)

    def _printed(self, printed: RunPrintedRows, listed: tuple[int, ...], outcome: Outcome) -> Copies:
        """The commands of one row, key by key."""
        keyed = self.rows.key in self.table.named
        asked = [] if keyed and printed.offsets else [self._moved(0, self.rows.axis, row) for row in listed]
        far = printed.offsets or asked
        if asked and list(far) != asked:
            outcome.break_("core/same-element", "the printed offsets are not those of the index")
        near = [key * printed.step for key in range(self.rows.keys)]
        if len(far) != len(near):
            raise Beyond("the printed loop counts other keys than the index")
        shifts = zip(near, far, strict=True) if self.rows.scatter else zip(far, near, strict=True)
        return walked_nests((printed.nest,), self.machine, list(shifts))

    def _moved(self, side: int, axis: str, value: int) -> int:
        zero, there = self._addresses(side, {axis: np.array([0, value])}, 2).tolist()
        if NONE in (zero, there):
            raise Beyond(f"{axis} = {value} has no address of its own")
        return int(there - zero)

    def _promise(self, listed: tuple[int, ...]) -> Promise:
        """Cells by the element of the table that they are, or that the index names for them."""
        rows, scatter = self.rows, self.rows.scatter
        kept = self.load.named - {rows.key} | {rows.axis} if scatter else self.table.named
        kept |= {rows.key} & self.table.named & self.load.named
        named = np.array(listed, np.int64)
        tags = []
        for cells, picked in ((self.table, False), (self.load, True)):
            live = cells.live
            coords = {axis: column[live] for axis, column in cells.coords.items()}
            if picked:
                coords[rows.axis] = named[coords.get(rows.key, np.zeros(int(live.sum()), np.int64))]
            element = self.names.of(coords, int(live.sum()), kept)
            if scatter and not picked:  # a row that no key names keeps what it held
                row = coords.get(rows.axis, np.zeros(len(element), np.int64))
                element = np.where(np.isin(row, named), element, WRITE_BOTTOM)
            tag = (DEST_TAGS if picked != scatter else SOURCE_TAGS)[cells.kind].astype(np.int64)
            tag[live] = element
            tags.append(with_units(tag, cells.width))
        source, dest = tags[::-1] if scatter else tags
        return Promise(source, dest, self.table.width, int(np.count_nonzero(dest >= 0)))

    def _addresses(self, side: int, coords: Mapping[str, Numbers], count: int) -> Numbers:
        return self.places[side].of(self.names.of(coords, count, (self.table, self.load)[side].named))

    def index_units(self) -> Numbers:
        """The bytes of the index list, in units of the rows' memory."""
        bytes_ = units(self.index.address, self.index.width)
        return bytes_ if self.rows.bits != 4 else np.concatenate([bytes_ * 2, bytes_ * 2 + 1])

    def _list_kept(self, writes: Numbers, outcome: Outcome) -> None:
        if self.rows.index.tier == self.rows.dest.tier and np.isin(writes, self.index_units()).any():
            outcome.break_("core/overlap", "the index list is overwritten")

    def _in_place(self, reads: Numbers, writes: Numbers, outcome: Outcome) -> None:
        if self.rows.source.tier == self.rows.dest.tier and np.isin(reads, writes).any():
            outcome.leave("core/overlap", "rows move within one memory")


def run_rows(rows: RunRows, machine: RunMachine) -> Outcome:
    """All lists of rows. Raises Beyond."""
    moved, outcome = Moved(rows, machine), Outcome()
    if rows.values is not None:
        known = moved.known()
        if known is None:
            outcome.break_("core/in-bounds", "a number of the index names no row")
            return outcome
        outcome.take(moved.run(known)[0])
        return outcome
    if rows.promised is None:
        outcome.leave("core/in-bounds", "nothing is promised of the index")
        moved.rows = rows = replace(rows, promised=(0, rows.rows - 1))
    elif rows.promised[1] >= rows.rows:
        outcome.break_("core/in-bounds", "a promised number names no row")
        return outcome
    for listed in moved.lists():
        machine.allow(outcome.ran)
        outcome.take(moved.run(listed)[0], f"rows {', '.join(map(str, listed[:8]))}")
    return outcome
