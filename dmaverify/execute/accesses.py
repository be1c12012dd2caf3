"""Fetch and Commit accesses, run: which bytes of each slice in which order, and the banks that they hold.

Knows: streams and printed configurations against the memory of one slice, accesses to memory, runs on a bank.
Does not know: digits, derived configurations, summaries of nests, solvers.
Law: complete and exact. Every slice that the view shows does the same on its own memory. An access takes the bytes that
the context takes at once; a bank's run ends where an access of the same slice misses it.

Source: "Sequencer", Configuration; "Memory Performance", Bank Starvation; facts on access sizes: a Fetch of the main
context reads the largest of 1, 2, 4, 8, 16 or 32 bytes that divides packet and contiguous run, a Commit writes a packet
in one go where its memory is contiguous, the sub-context moves 8 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from dmaverify.execute.elements import NONE, ElementNames, ElementPlaces, find, placed, sizes_of
from dmaverify.execute.moves import walked
from dmaverify.execute.outcome import Beyond, Outcome
from dmaverify.execute.tensors import BOTTOM, SeenTensor, kinds_at, laid_out, seen, streamed, units, zeros_in
from dmaverify.execute.work import HeldTensor, Reach, RunMachine, iterations
from dmaverify.language.distinct import distinct
from dmaverify.language.expr import Expr
from dmaverify.program.space import unit_bits_of
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

SIZES = (32, 16, 8, 4, 2, 1)
WHOLE = (8, 16, 24, 32)
SUB = 8


@dataclass(frozen=True)
class Done:
    """One iteration: unit addresses within a slice, in order, with the packet's units; the slices; accesses as first
    byte and bytes. `live` are the units that are elements.
    """

    at: Numbers
    live: Numbers
    slices: Numbers
    starts: Numbers
    width: int


class Fetching:
    """An access, ready to be run at any iteration."""

    def __init__(self, reach: Reach, machine: RunMachine) -> None:
        self.reach, self.machine = reach, machine
        memory = reach.memory
        self.unit = unit_bits_of(reach.bits)
        inner = tuple(tile for tile in memory.tiles if tile.place == "element")
        outer = tuple(tile for tile in memory.tiles if tile.place != "element")
        self.inside = HeldTensor("", (("element", memory.at("element") or reach.flow.packet),), (), memory.base, inner)
        places = tuple((place, expr) for place, expr in memory.fields if place != "element")
        self.outside = HeldTensor(memory.tier, places, memory.first, 0, outer)
        self.cells = laid_out(self.inside, machine, reach.bits, written=not reach.reads)
        self.rooms = laid_out(self.outside, machine, 8, written=False) if places else None
        self.live_slices = np.zeros(1, np.int64) if self.rooms is None else self.rooms.address[self.rooms.live]
        self.flow = streamed(reach.flow, machine)
        exprs: list[Expr] = [expr for _, expr in memory.fields]
        exprs += [reach.flow.time, reach.flow.packet]
        self.names = ElementNames(sizes_of(exprs))
        flow = reach.flow
        if any(e.size > 1 for e in (flow.chip, flow.cluster, flow.slice)):
            raise Beyond("a stream of an access that names places")

    def at(self, values: Mapping[str, int]) -> tuple[Done, Outcome]:
        outcome = Outcome()
        view = seen(self.cells, self.inside, values)
        slices = np.zeros(1, np.int64)
        views = [view]
        if self.rooms is not None:
            room = seen(self.rooms, self.outside, values)
            views.append(room)
            hidden = self.rooms.live & ~room.shown
            slices = self.rooms.address[~hidden]
        for one in views:
            if one.outside:
                outcome.break_("core/in-bounds", f"the tile: {one.outside}")
            elif one.ragged:
                outcome.leave("core/in-bounds", "the tile reaches into padding, or beyond its digit")
        stream = self._stream(view, values, outcome)
        at, live = stream
        if self.reach.config is not None:
            self._printed(view, stream, outcome)
            at = walked(self.reach.config, self.machine)
            live = at
        outcome.ran += len(at) * len(slices)
        starts, width = self.accesses(at)
        return Done(at, live[live != NONE], slices, starts, width), outcome

    def _stream(self, view: SeenTensor, values: Mapping[str, int], outcome: Outcome) -> tuple[Numbers, Numbers]:
        """Unit addresses of all positions (padding follows its neighbours, or nowhere), and those of elements."""
        cells, flow = self.cells, self.flow
        places = ElementPlaces(view, self.names, cells.named)
        if not places.alone:
            raise Beyond("an element of an access lies at several places of one slice")
        address = places.of(self.names.of(flow.coords, len(flow.at), cells.named))
        if (address == NONE).any():
            word = "core/same-element"
            if self.reach.reads:
                outcome.leave(word, "the stream has elements that memory lacks")
            else:
                placed(address, cells, outcome, word)
        if not self.reach.reads:
            once, count = np.unique(address[address != NONE], return_counts=True)
            if (count > 1).any():
                outcome.break_("core/writes-once", f"{int(once[count > 1][0]):#x} is written {int(count.max())} times")
            if len(once) < len(places.address):
                outcome.break_("core/covers", "a cell of the memory is never written")
            zeros = bool(zeros_in(cells, self.inside, values).any())
            if flow.padded and (zeros or len(kinds_at(cells, BOTTOM))):
                outcome.leave("core/padding", "whether a stream's padding is written is nobody's word")
            elif zeros and self.reach.config is None:
                outcome.break_("core/padding", "zero padding of the memory is never written")
            elif zeros:
                outcome.leave("core/padding", "what a configuration writes over zero padding is not followed")
        whole = np.full(flow.positions, NONE, np.int64)
        whole[flow.at] = address
        if self.reach.config is None and (whole == NONE).any():
            outcome.leave("core/in-bounds", "where a stream's padding is looked for is nobody's word")
        return units(whole, cells.width), units(address, cells.width)

    def _printed(self, view: SeenTensor, stream: tuple[Numbers, Numbers], outcome: Outcome) -> None:
        config = self.reach.config
        assert config is not None
        at = walked(config, self.machine)
        if len(at) != len(stream[0]):
            raise Beyond("the configuration moves another amount than the stream")
        extent = np.sort(units(self.cells.address, self.cells.width))
        inside = find(extent, at)[1]
        if not inside.all():
            outcome.break_("core/in-bounds", f"{int(at[~inside][0]):#x}")
        known = stream[0] >= 0
        if (at[known] != stream[0][known]).any():
            outcome.break_("core/same-element", "a position of the stream is another element in memory")
        if not self.reach.reads:
            live = units(self.cells.address[view.shown], self.cells.width)
            if not np.isin(live, at).all():
                outcome.break_("core/covers", "a cell of the memory is never written")
            if len(distinct(at)) < len(at):
                outcome.break_("core/writes-once", "a unit is written twice")

    # ------------------------------------------------------------ banks

    def accesses(self, at: Numbers) -> tuple[Numbers, int]:
        """First byte and bytes of each access; none where one begins or ends inside a byte or padding has no place."""
        packet, none = self.flow.packet * self.cells.width, (np.zeros(0, np.int64), 0)
        if not len(at) or (at == NONE).any():
            return none
        if self.unit != 8:
            first = at[::2]
            if len(at) % 2 or packet % 2 or (first % 2).any() or (at[1::2] != first + 1).any():
                return none
            at, packet = first // 2, packet // 2
        width = self._bytes(at, packet)
        return at[::width], width

    def _bytes(self, at: Numbers, packet: int) -> int:
        ends = np.flatnonzero(np.diff(at) != 1) + 1
        run = int(np.gcd.reduce(np.r_[ends, len(at)]))
        most = gcd(packet, run)
        if not self.reach.reads and self.reach.context != "sub" and most == packet and packet in WHOLE:
            return packet
        if self.reach.context == "sub":
            return SUB if most % SUB == 0 else gcd(most, SUB)
        return next(size for size in SIZES if most % size == 0)


@dataclass(frozen=True)
class BankTurn:
    """The accesses of one iteration, done by `piece`: for each bank those before the first miss, the longest run, those
    after the last miss; the same in all `slices`.
    """

    piece: int
    slices: frozenset[int]
    count: int
    prefix: Numbers
    best: Numbers
    suffix: Numbers


def bank_turn(done: Done, piece: int, machine: RunMachine) -> BankTurn:
    """What an iteration with addresses (`done.width`) does to the banks."""
    first = done.starts // machine.width
    last = (done.starts + done.width - 1) // machine.width
    touched = np.zeros((len(first), machine.banks), np.bool_)
    for step in range(int((last - first).max()) + 1):
        rows = np.flatnonzero(first + step <= last)
        touched[rows, (first[rows] + step) % machine.banks] = True
    return BankTurn(piece, frozenset(done.slices.tolist()), len(first), *_runs(touched))


def longest_runs(turns: Sequence[BankTurn], apart: Sequence[bool], slice_: int) -> Numbers:
    """The longest run of each bank in a slice over iterations in a row. A run ends where the next iteration reaches
    other slices alone, and where something surely lies between it and the next (`apart`).
    """
    longest = now = np.zeros_like(turns[0].best)
    for turn, ends in zip(turns, (False, *apart), strict=True):
        if ends or slice_ not in turn.slices:
            now = np.zeros_like(now)
        if slice_ in turn.slices:
            longest = np.maximum(longest, np.maximum(turn.best, now + turn.prefix))
            now = np.where(turn.prefix == turn.count, now + turn.count, turn.suffix)
    return longest


def _runs(touched: NDArray[np.bool_]) -> tuple[Numbers, Numbers, Numbers]:
    """For each bank: accesses before the first miss, the longest run, accesses after the last miss."""
    count = len(touched)
    prefix, best, suffix = (np.zeros(touched.shape[1], np.int64) for _ in range(3))
    for bank in range(touched.shape[1]):
        misses = np.flatnonzero(~touched[:, bank])
        if not len(misses):
            prefix[bank] = best[bank] = suffix[bank] = count
            continue
        prefix[bank], suffix[bank] = misses[0], count - 1 - misses[-1]
        best[bank] = np.diff(np.r_[-1, misses, count]).max() - 1
    return prefix, best, suffix


def run_access(reach: Reach, machine: RunMachine) -> Outcome:
    """All iterations of an access. Raises Beyond: each touches as much as the first one does."""
    outcome = Outcome()
    many, one = machine.iterations_of(reach.loops), Fetching(reach, machine)
    for turn, values in enumerate(iterations(reach.loops)):
        where = ", ".join(f"{name} = {value}" for name, value in values.items())
        outcome.take(one.at(values)[1], where)
        if turn == 0:
            machine.allow(outcome.ran * many)
    return outcome
