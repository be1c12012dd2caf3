"""Transfers, run: each iteration of their loops, each unit by its own address, judged against the two mappings.

Knows: streams element by element, printed nests loop by loop, requests as the machine moves them, what a move promises.
Does not know: digits, derived or paired commands, solvers, programs.
Law: complete and exact for what it says. A stream is its own meaning: position after position, the element that stands
there goes from where the source has it to where the destination has it; its padding moves nothing. A printed nest moves
its n-th unit read to its n-th unit written.

Units of the source hold their element (a number), or garbage where the tensor has padding. Requests are read and
written in order, each as a whole; a packet is cut into requests from its first byte, or at aligned windows (where no
size of requests is known: unit by unit, or not at all): what is wrong under both is wrong, under one of them unsaid.
Source: "DMA Engine", Implementation Details, Performance (packets and requests); facts on padding as in `language`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dmaverify.execute.outcome import Outcome
from dmaverify.execute.tensors import (
    BOTTOM,
    ZERO,
    Cells,
    ElementNames,
    SeenTensor,
    kinds_at,
    laid_out,
    seen,
    sizes_of,
    streamed,
    unit_bits,
    units,
)
from dmaverify.execute.work import Beyond, Flow, RunMachine, RunMove, RunWalk, iterations, must_fit
from dmaverify.language.distinct import distinct
from dmaverify.language.expr import Expr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

GARBAGE, NOWHERE, NOUGHT = -1, -2, -3  # padding; outside of the tensor; zero
NONE = -(1 << 62)  # the address of something that lies nowhere


@dataclass(frozen=True)
class Copies:
    """Units in the order of the machine: where from, where to, by which engine, at which place in its packet.

    `exact` says that these are all the units that are touched: a stream's padding may touch more.
    """

    read: Numbers
    write: Numbers
    engine: Numbers
    offset: Numbers
    command: Numbers
    exact: bool = True
    flows: bool = False  # the positions of a stream, not a printed nest
    open_engines: bool = False  # several commands, and nothing says whether one engine does them all


# ---------------------------------------------------------------- a side as units


@dataclass(frozen=True)
class RunSide:
    """One side at one iteration: unit addresses of its live cells, sorted, with their elements; the whole extent."""

    address: Numbers
    element: Numbers
    extent: Numbers
    view: SeenTensor

    def holds(self, at: Numbers) -> Numbers:
        """What lies at unit addresses: an element, garbage, zero, or nowhere."""
        out = np.full(len(at), NOWHERE, np.int64)
        out[among(at, self.extent)] = GARBAGE
        out[among(at, np.sort(kinds_at(self.view.cells, ZERO)))] = NOUGHT
        place, found = find(self.address, at)
        out[found] = self.element[place[found]]
        return out


def find(sorted_: Numbers, wanted: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
    if not len(sorted_):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(sorted_, wanted), len(sorted_) - 1)
    return place, sorted_[place] == wanted


def among(wanted: Numbers, sorted_: Numbers) -> NDArray[np.bool_]:
    return find(sorted_, wanted)[1]


def side_of(view: SeenTensor, names: ElementNames, kept: frozenset[str]) -> RunSide:
    """Elements as numbers over the axes `kept`; unit k of an element is its number times the width, plus k."""
    cells = view.cells
    live = np.flatnonzero(view.shown)
    count = len(live)
    element = names.of({a: c[live] for a, c in view.coords.items()}, count, kept)
    address, element = units(cells.address[live], cells.width), units(element * cells.width, cells.width)
    order = np.argsort(address, kind="stable")
    return RunSide(address[order], element[order], np.sort(units(cells.address, cells.width)), view)


# ---------------------------------------------------------------- one move


class TransferRun:
    """A transfer, ready to be run at any iteration."""

    def __init__(self, move: RunMove, machine: RunMachine) -> None:
        self.move, self.machine = move, machine
        self.source = laid_out(move.source, machine, move.bits, written=False)
        self.dest = laid_out(move.dest, machine, move.bits, written=True)
        exprs: list[Expr] = [expr for held in (move.source, move.dest) for _, expr in held.fields]
        exprs += [e for f in move.flows for e in (f.chip, f.cluster, f.slice, f.time, f.packet)]
        self.names = ElementNames(sizes_of(exprs))
        self.width = self.dest.width
        self.shared = self.source.named  # an axis that the source does not name is a broadcast

    def at(self, values: Mapping[str, int]) -> Iterator[tuple[str, Copies | None, Outcome]]:
        """Each claim of the plan at one iteration: its name, the copies, what they break."""
        views = (
            seen(self.source, self.move.source, values), seen(self.dest, self.move.dest, values),
        )  # fmt: skip
        start = Outcome()
        for side, view in zip(("source", "dest"), views, strict=True):
            if view.outside:
                start.break_("core/in-bounds", f"the {side}'s tile: {view.outside}")
            elif view.ragged:
                start.leave("core/in-bounds", f"the {side}'s tile reaches into padding, or beyond its digit")
        one, other = (view.shift for view in views)
        if any(one[axis] != other[axis] for axis in one.keys() & other.keys()):
            start.leave("core/same-element", "both sides are tiles of one axis, and begin at other coordinates")
        every = frozenset(self.names.sizes)
        source, dest = side_of(views[0], self.names, every), side_of(views[1], self.names, every)
        wanted = side_of(views[1], self.names, self.shared).element
        claims: list[tuple[str, Copies | None, Outcome]] = []
        if self.move.flows:
            claims.append(("the stream", *self._flowed(views, dest)))
        if self.move.nests:
            claims.append(("the commands", self._walked(), Outcome()))
        if not claims:
            claims.append(("the move", None, Outcome()))
        for word, copies, outcome in claims:
            outcome.take(start)
            if copies is None:
                self._possible(source, wanted, outcome)
            else:
                self._judge(copies, source, dest, wanted, outcome)
            yield word, copies, outcome

    # ------------------------------------------------------------ what is done

    def _walked(self) -> Copies:
        parts: list[tuple[Numbers, ...]] = []
        names = [nest.engine for nest in self.move.nests]
        known = {name: number for number, name in enumerate(dict.fromkeys(names))}
        for number, nest in enumerate(self.move.nests):
            if nest.read.amount != nest.write.amount:
                raise Beyond("the two sides move different amounts")
            read, write = (walked(walk, self.machine) for walk in (nest.read, nest.write))
            count = len(read)
            engine, offset = np.full(count, known[nest.engine]), np.arange(count) % max(1, nest.read.packet)
            parts.append((read, write, engine, offset, np.full(count, number)))
        open_ = len(names) > 1 and "" in names
        read, write, engine, offset, command = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Copies(read, write, engine, offset, command, open_engines=open_)

    def _flowed(self, views: tuple[SeenTensor, SeenTensor], dest: RunSide) -> tuple[Copies, Outcome]:
        outcome = Outcome()
        parts: list[tuple[Numbers, Numbers, Numbers, Numbers]] = []
        padded = False
        known: dict[str, int] = {}
        done: dict[int, int] = {}
        for flow in self.move.flows:
            stream = streamed(flow, self.machine)
            padded = padded or stream.padded
            if stream.padded and stream.positions > min(len(view.cells.address) for view in views):
                outcome.leave("core/in-bounds", "a padded stream has more positions than a side")
            count = len(stream.at)
            read = self._found(views[0], self.names.of(stream.coords, count, self.source.named), self.source.named)
            element = self.names.of(stream.coords, count, self.dest.named)
            write = self._spread(views[1], element, done)
            if (write == NONE).any():
                outcome.break_("core/in-bounds", "the stream has elements that the destination has no place for")
            number = known.setdefault(flow.engine or str(len(known)), len(known)) if len(self.move.flows) > 1 else 0
            engine = stream.engine + number * 4096
            parts.append((read, write, engine, stream.at % stream.packet))
        width = self.width
        reads, writes = (units(np.concatenate([p[i] for p in parts]), width) for i in (0, 1))
        engines, offsets = (np.repeat(np.concatenate([p[i] for p in parts]), width) for i in (2, 3))
        offsets = offsets * width + np.tile(np.arange(width), len(offsets) // max(1, width))
        return Copies(reads, writes, engines, offsets, engines, not padded, flows=True), outcome

    def _found(self, view: SeenTensor, element: Numbers, kept: frozenset[str]) -> Numbers:
        """The address of elements; NONE where the view has none. Of several places any serves: the first."""
        live = np.flatnonzero(view.shown)
        own = self.names.of({a: c[live] for a, c in view.coords.items()}, len(live), kept)
        order = np.argsort(own, kind="stable")
        place, found = find(own[order], element)
        if not len(live):
            return np.full(len(element), NONE, np.int64)
        return np.where(found, view.cells.address[live[order[place]]], NONE)

    def _spread(self, view: SeenTensor, element: Numbers, done: dict[int, int]) -> Numbers:
        """Destinations of elements: the n-th time that an element comes, the n-th of its places, round and round."""
        live = np.flatnonzero(view.shown)
        own = self.names.of({a: c[live] for a, c in view.coords.items()}, len(live), self.dest.named)
        order = np.argsort(own, kind="stable")
        own, address = own[order], view.cells.address[live[order]]
        low, high = np.searchsorted(own, element, "left"), np.searchsorted(own, element, "right")
        many = high - low
        if not len(own):
            return np.full(len(element), NONE, np.int64)
        turn = np.zeros(len(element), np.int64)
        if int(many.max(initial=0)) > 1:
            for index, one in enumerate(element.tolist()):
                turn[index] = done.get(one, 0)
                done[one] = done.get(one, 0) + 1
        at = low + turn % np.maximum(1, many)
        return np.where(many > 0, address[np.minimum(at, len(own) - 1)], NONE)

    # ------------------------------------------------------------ what is promised

    def _possible(self, source: RunSide, wanted: Numbers, outcome: Outcome) -> None:
        """Nothing says how: whether the source has what the destination asks for."""
        if not np.isin(wanted, source.element).all() and not self.move.missing_is_broadcast:
            outcome.break_("core/same-element", "the source lacks elements that the destination asks for")
        outcome.leave("core/covers", "nothing says how it is moved")

    def _judge(self, copies: Copies, source: RunSide, dest: RunSide, wanted: Numbers, outcome: Outcome) -> None:
        outcome.ran += len(copies.read)
        self._in_extent(copies, source, dest, outcome)
        self._written_twice(copies, dest, outcome)
        place, asked = find(dest.address, copies.write)
        given = source.holds(copies.read)
        want = np.where(asked, wanted[place] if len(wanted) else 0, GARBAGE)
        wrong = asked & (given != want)
        missing = self._unheld(source, want) if wrong.any() else wrong
        if self.move.missing_is_broadcast and (wrong & missing).any():
            outcome.leave("core/same-element", "read as a broadcast")
            wrong = wrong & ~missing
        for rule, where in (
            ("core/reads-live", wrong & (given < 0) & ~missing),
            ("core/same-element", wrong & ((given >= 0) | missing)),
        ):
            if where.any():
                outcome.break_(rule, _sight(copies, int(np.flatnonzero(where)[0])))
        covered = np.zeros(len(dest.address), np.bool_)
        covered[place[asked]] = True
        if not covered.all():
            first = int(dest.address[np.flatnonzero(~covered)[0]])
            outcome.break_("core/covers", f"nothing is written to {first:#x}")
        self._padding(copies, source, dest, given, outcome)
        self._in_place(copies, source, asked, given, outcome)

    def _unheld(self, source: RunSide, want: Numbers) -> NDArray[np.bool_]:
        return ~np.isin(want, source.element)

    def _in_extent(self, copies: Copies, source: RunSide, dest: RunSide, outcome: Outcome) -> None:
        for word, at, side in (("read", copies.read, source), ("write", copies.write, dest)):
            outside = ~among(at, side.extent) & (at != NONE)
            if outside.any():
                outcome.break_("core/in-bounds", f"{word} of {int(at[np.flatnonzero(outside)[0]]):#x}")

    def _written_twice(self, copies: Copies, dest: RunSide, outcome: Outcome) -> None:
        """A broadcast of a stream may take Top padding of the destination, which holds anything, for its replicas."""
        real = copies.write[copies.write != NONE]
        once, count = np.unique(real, return_counts=True)
        if len(once) == len(real):
            return
        sight = f"{int(once[count > 1][0]):#x} is written {int(count.max())} times"
        same = len(np.unique(np.stack([copies.read, copies.write]), axis=1).T) == len(once)
        if copies.flows and same and len(dest.extent) > len(dest.address):
            outcome.leave("core/writes-once", sight)
        else:
            outcome.break_("core/writes-once", sight)

    def _padding(self, copies: Copies, source: RunSide, dest: RunSide, given: Numbers, outcome: Outcome) -> None:
        zero, bottom = (np.sort(kinds_at(dest.view.cells, code)) for code in (ZERO, BOTTOM))
        unread = np.sort(kinds_at(source.view.cells, BOTTOM))
        hidden = np.sort(units(dest.view.cells.address[dest.view.cells.live & ~dest.view.shown], self.width))
        if not copies.exact and (len(zero) or len(bottom) or len(hidden) or len(unread)):
            outcome.leave("core/padding", "whether a stream's padding is written is nobody's word")
        for name, at, where in (
            ("Bottom padding is written", copies.write, bottom),
            ("what the view hides is written", copies.write, hidden),
            ("Bottom padding is read", copies.read, unread),
        ):
            if among(at, where).any():
                outcome.break_("core/padding", name)
        if not len(zero):
            return
        if (among(copies.write, zero) & (given != NOUGHT)).any():
            outcome.break_("core/padding", "zero padding is overwritten")
        if copies.exact and not np.isin(zero, copies.write).all():
            outcome.break_("core/padding", "zero padding is not written")

    def _in_place(
        self, copies: Copies, source: RunSide, asked: NDArray[np.bool_], given: Numbers, outcome: Outcome
    ) -> None:
        if self.move.source.tier != self.move.dest.tier:
            return
        answers = {
            written_early(copies, self.machine, cut, alone, source, given, asked, unit_bits(self.move.bits))
            for cut in (("first", "windows") if self.machine.request else ("units", "packets"))
            for alone in ((False, True) if copies.open_engines else (False,))
        }
        if answers == {True}:
            outcome.break_("core/overlap", "a request reads what an earlier one has written")
        elif True in answers:
            outcome.leave("core/overlap", "it depends on how packets are cut, or on engines that nothing names")


def walked(walk: RunWalk, machine: RunMachine) -> Numbers:
    """All unit addresses of a side, in order."""
    machine.allow(walk.amount)
    must_fit(abs(walk.start) + sum(count * abs(stride) for count, stride in walk.loops))
    at = np.array([walk.start], np.int64)
    for count, stride in walk.loops:
        at = (at[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
    return at


def _sight(copies: Copies, index: int) -> str:
    ends = ("nowhere" if at == NONE else f"{at:#x}" for at in (int(copies.read[index]), int(copies.write[index])))
    return f"unit {index}: {' to '.join(ends)}"


# ---------------------------------------------------------------- requests


def requests_of(copies: Copies, most: int, cut: str) -> Numbers:
    """The number of the request of each unit: runs on both sides, within a packet, of at most `most` units."""
    count = len(copies.read)
    if not count:
        return np.zeros(0, np.int64)
    fresh = np.ones(count, np.bool_)
    if cut == "packets":
        fresh = copies.offset == 0
    elif most:
        follows = (np.diff(copies.read) == 1) & (np.diff(copies.write) == 1) & (np.diff(copies.command) == 0)
        fresh[1:] = ~follows | (copies.offset[1:] == 0)
        if cut == "first":
            fresh |= copies.offset % most == 0
        else:
            fresh |= (copies.read % most == 0) | (copies.write % most == 0)
    return np.cumsum(fresh) - 1


def written_early(
    copies: Copies, machine: RunMachine, cut: str, alone: bool, source: RunSide, given: Numbers,
    asked: NDArray[np.bool_], unit: int,
) -> bool:  # fmt: skip
    """Whether some unit that ends in a live cell is read after another value was written over it.

    `alone`: every command has an engine of its own, as if nothing ordered them.
    """
    number = requests_of(copies, machine.request * 8 // unit, cut)
    before = source.holds(copies.write)
    changes = before != given
    if not changes.any() or not asked.any():
        return False
    engine = copies.command if alone else copies.engine
    for one in distinct(engine[changes]).tolist():
        writes = changes & (engine == one)
        at, first = copies.write[writes], number[writes]
        order = np.lexsort((first, at))
        at, first = at[order], first[order]
        keep = np.r_[True, np.diff(at) != 0]
        at, first = at[keep], first[keep]
        place, meets = find(at, copies.read)
        later = meets & asked & ((number > first[place]) | (engine != one))
        if later.any():
            return True
    return False


def run_move(move: RunMove, machine: RunMachine) -> Outcome:
    """All iterations of a transfer. Raises Beyond."""
    outcome = Outcome()
    run = TransferRun(move, machine)
    for values in iterations(move.loops):
        where = ", ".join(f"{name} = {value}" for name, value in values.items())
        for word, _, found in run.at(values):
            outcome.take(found, f"{word} at {where}" if where else word)
        machine.allow(outcome.ran)
    return outcome


__all__ = ["Cells", "Copies", "Flow", "Sequence", "TransferRun", "run_move", "written_early"]
