"""Transfers, run: each iteration of their loops, each unit by its own address, judged against the two mappings.

Knows: streams element by element, printed nests loop by loop, requests as the machine moves them, what a move promises.
Does not know: digits, derived or paired commands, solvers, programs.
Law: complete and exact for what it says. A stream is its own meaning: position after position, the element that stands
there goes from where the source has it to where the destination has it; its padding moves nothing. A printed nest moves
its n-th unit read to its n-th unit written.

Units of the source hold their element (a number), or garbage where the tensor has padding. Requests are read and
written in order, each as a whole; a packet is cut into requests from its first byte, or at aligned windows (where no
size of requests is known: unit by unit, or not at all): what is wrong under both is wrong, under one of them unsaid. A
machine that streams words may read each of them only when it is needed; copy instructions promise no order of rows.
Source: "DMA Engine", Implementation Details, Performance (packets and requests); facts on padding as in `language`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dmaverify.execute.address import Batch, DeclaredRegion, must_fit, strided
from dmaverify.execute.earlier import EarlierIterations, held, located
from dmaverify.execute.elements import NONE, ElementNames, ElementPlaces, find, placed, sizes_of
from dmaverify.execute.judge import UnitJudge
from dmaverify.execute.outcome import Beyond, Outcome
from dmaverify.execute.promise import (
    DEST_TAGS,
    READ_BOTTOM,
    SOURCE_TAGS,
    TOP,
    WRITE_BOTTOM,
    Promise,
    with_units,
)
from dmaverify.execute.promise import ZERO as ZEROS
from dmaverify.execute.requests import Copies, requests_of, words_of
from dmaverify.execute.tensors import ZERO, SeenTensor, laid_out, seen, streamed, units, zeros_in
from dmaverify.execute.work import RunMachine, RunMove, RunNest, RunWalk, iterations
from dmaverify.language.distinct import distinct
from dmaverify.language.expr import Expr
from dmaverify.program.space import unit_bits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


def tags_of(view: SeenTensor, element: Numbers, codes: Numbers, hidden: int) -> Numbers:
    """What each unit must hold: the number of its element, or what kind of padding it is; `hidden`: not in the view."""
    cells = view.cells
    tags = codes[cells.kind].astype(np.int64)
    tags[cells.live] = hidden
    tags[view.shown] = element
    return with_units(tags, cells.width)


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
        self.promise: Promise  # of the iteration that is run
        self.values: Mapping[str, int] = {}
        self.beyond = False  # whether a tile shows what is no element, in this iteration
        self.first: tuple[int, int] | None = None  # where views of printed commands begin in the first iteration
        self.earlier = EarlierIterations(move, machine, self.dest.region)

    def at(self, values: Mapping[str, int]) -> Iterator[tuple[str, Copies | None, Outcome]]:
        """Each claim of the plan at one iteration: its name, the copies, what they break."""
        views = (
            seen(self.source, self.move.source, values), seen(self.dest, self.move.dest, values),
        )  # fmt: skip
        start = Outcome()
        self.values, self.beyond = values, any(view.outside or view.ragged for view in views)
        for side, view in zip(("source", "dest"), views, strict=True):
            if view.outside:
                start.break_("core/in-bounds", f"the {side}'s tile: {view.outside}")
            elif view.ragged:
                start.leave("core/in-bounds", f"the {side}'s tile reaches into padding, or beyond its digit")
        one, other = (view.shift for view in views)
        if any(one[axis] != other[axis] for axis in one.keys() & other.keys()):
            start.leave("core/same-element", "both sides are tiles of one axis, and begin at other coordinates")
        promise = self.promise = self._promise(views, start)
        claims: list[tuple[str, Copies | None, Outcome]] = []
        if self.move.flows:
            claims.append(("the stream", *self._flowed(views)))
        if self.move.nests:
            claims.append(
                ("the commands", walked_nests(self.move.nests, self.machine, [self._moved(views)]), Outcome())
            )
        if not claims:
            claims.append(("the move", None, Outcome()))
        for word, copies, outcome in claims:
            outcome.take(start)
            if copies is None:
                self._possible(promise, outcome)
            else:
                self._judge(copies, promise, outcome)
            yield word, copies, outcome

    def _moved(self, views: tuple[SeenTensor, SeenTensor]) -> tuple[int, int]:
        """How far the views have moved since the first iteration, of which the bases are printed."""
        if any(view.outside or view.ragged or not view.shown.any() for view in views):
            raise Beyond("a view of printed commands shows no whole tile")
        read, write = (int(view.cells.address[view.shown].min()) for view in views)
        self.first = self.first or (read, write)
        return read - self.first[0], write - self.first[1]

    def _promise(self, views: tuple[SeenTensor, SeenTensor], outcome: Outcome) -> Promise:
        """What the units of both sides must hold at one iteration."""
        numbers = [
            self.names.of({a: c[v.shown] for a, c in v.coords.items()}, int(v.shown.sum()), self.shared) for v in views
        ]
        source = tags_of(views[0], numbers[0], SOURCE_TAGS, TOP)
        if self.move.missing_is_broadcast and not np.isin(numbers[1], numbers[0]).all():
            outcome.leave("core/same-element", "read as a broadcast")
            numbers[1] = np.where(np.isin(numbers[1], numbers[0]), numbers[1], TOP)
        dest = tags_of(views[1], numbers[1], DEST_TAGS, WRITE_BOTTOM)
        beside = (self.dest.kind == ZERO) & ~zeros_in(self.dest, self.move.dest, self.values)
        dest[np.repeat(beside, self.width)] = WRITE_BOTTOM
        return Promise(source, dest, self.width, int(np.count_nonzero(dest >= 0)))

    # ------------------------------------------------------------ what is done

    def _flowed(self, views: tuple[SeenTensor, SeenTensor]) -> tuple[Copies, Outcome]:
        outcome = Outcome()
        parts: list[tuple[Numbers, Numbers, Numbers, Numbers]] = []
        padded = several = False
        known: dict[str, int] = {}
        done: dict[int, int] = {}
        for flow in self.move.flows:
            stream = streamed(flow, self.machine)
            padded = padded or stream.padded
            if stream.padded and any(stream.positions != room for room in self._rooms()):
                for word in ("core/in-bounds", "core/reads-live", "core/writes-once"):
                    outcome.leave(word, "what the padding of a stream touches that walks a part is not followed")
            count = len(stream.at)
            places = ElementPlaces(views[0], self.names, self.source.named)
            several = several or not places.alone
            read = places.of(self.names.of(stream.coords, count, self.source.named))
            element = self.names.of(stream.coords, count, self.dest.named)
            write = self._spread(views[1], element, self.names.of(stream.coords, count, self.names.kept), done)
            taken = placed(write, self.dest, outcome)
            padded = padded or not taken.all()
            number = known.setdefault(flow.engine or str(len(known)), len(known)) if len(self.move.flows) > 1 else 0
            engine = stream.engine + number * 4096
            parts.append((read[taken], write[taken], engine[taken], (stream.at % stream.packet)[taken]))
        width = self.width
        reads, writes = (units(np.concatenate([p[i] for p in parts]), width) for i in (0, 1))
        engines, offsets = (np.repeat(np.concatenate([p[i] for p in parts]), width) for i in (2, 3))
        offsets = offsets * width + np.tile(np.arange(width), len(offsets) // max(1, width))
        return Copies(reads, writes, engines, offsets, engines, not padded, flows=True, open_places=several,
                      open_packets=any(flow.open_packet for flow in self.move.flows)), outcome  # fmt: skip

    def _rooms(self) -> Iterator[int]:
        """The positions that each side has in the places where it holds elements."""
        for side, cells in ((self.move.source, self.source), (self.move.dest, self.dest)):
            element = next((expr.size for place, expr in side.fields if place == "element"), 1)
            yield len(distinct(np.flatnonzero(cells.live) // element)) * element

    def _spread(self, view: SeenTensor, element: Numbers, value: Numbers, done: dict[int, int]) -> Numbers:
        """Destinations of elements: the n-th time that an element comes, the n-th of its places, round and round. An
        axis that the destination lacks has stride 0: at each of its values (`value`) the places are taken anew.
        """
        places = ElementPlaces(view, self.names, self.dest.named)
        own, address = places.element, places.address
        low, high = np.searchsorted(own, element, "left"), np.searchsorted(own, element, "right")
        many = high - low
        if not len(own):
            return np.full(len(element), NONE, np.int64)
        turn = np.zeros(len(element), np.int64)
        if int(many.max(initial=0)) > 1:
            for index, one in enumerate(value.tolist()):
                turn[index] = done.get(one, 0)
                done[one] = done.get(one, 0) + 1
        at = low + turn % np.maximum(1, many)
        return np.where(many > 0, address[np.minimum(at, len(own) - 1)], NONE)

    # ------------------------------------------------------------ what is promised

    def _possible(self, promise: Promise, outcome: Outcome) -> None:
        """Nothing says how: whether the source has what the destination asks for."""
        wanted = promise.dest[promise.dest >= 0]
        if not np.isin(wanted, promise.source).all():
            outcome.break_("core/same-element", "the source lacks elements that the destination asks for")
        pads = (self.move.source.tier, self.move.dest.tier) in self.machine.unordered
        if not pads and (promise.dest == ZEROS).any() and not (promise.source == ZEROS).any():
            outcome.break_("core/padding", "zeros are asked for, and the source has none")
        outcome.leave("core/covers", "nothing says how it is moved")

    def _judge(self, copies: Copies, promise: Promise, outcome: Outcome) -> None:
        outcome.ran += len(copies.read)
        judge = judged(copies, promise, self.source.region, self.dest.region, outcome)
        self._written_twice(copies, promise, outcome)
        self._padding(copies, judge, outcome)
        self._in_place(copies, promise, outcome)

    def _written_twice(self, copies: Copies, promise: Promise, outcome: Outcome) -> None:
        """A broadcast of a stream may take Top padding of the destination, which holds anything, for its replicas."""
        real = copies.write[copies.write != NONE]
        once, count = np.unique(real, return_counts=True)
        if len(once) == len(real):
            return
        sight = f"{int(once[count > 1][0]):#x} is written {int(count.max())} times"
        same = len(np.unique(np.stack([copies.read, copies.write]), axis=1).T) == len(once)
        if copies.flows and same and (promise.dest < 0).any():
            outcome.leave("core/writes-once", sight)
        else:
            outcome.break_("core/writes-once", sight)

    def _padding(self, copies: Copies, judge: UnitJudge, outcome: Outcome) -> None:
        promise = judge.promise
        if not copies.exact and ((promise.dest < TOP).any() or (promise.source == READ_BOTTOM).any()):
            outcome.leave("core/padding", "whether a stream's padding is written is nobody's word")
        for part, says in PADDING.items():
            if f"padding:{part}" in judge.marks and (copies.exact or part != "zero-unwritten"):
                outcome.break_("core/padding", says)

    def _in_place(self, copies: Copies, promise: Promise, outcome: Outcome) -> None:
        if self.move.source.tier != self.move.dest.tier:
            return
        if copies.open_places:
            outcome.leave("core/overlap", "which of the places of an element is read is not followed")
            return
        cuts = self.machine.cuts_of(self.move.source.tier, self.move.dest.tier)
        if self.move.word:  # words that are cut nobody knows where may be as small as units
            known = None not in (self.move.windows, *(nest.windows for nest in self.move.nests))
            cuts = ("words",) if known else ("words", "units")
        answers = {
            self._written_early(copies, cut, alone, promise)
            for cut in ({*cuts, "units"} if copies.open_packets else cuts)
            for alone in ((False, True) if copies.open_engines else (False,))
        }
        if answers == {True}:
            outcome.break_("core/overlap", "a request reads what an earlier one has written")
        elif True in answers:
            outcome.leave("core/overlap", "it depends on how packets are cut, or on engines that nothing names")

    def _written_early(self, copies: Copies, cut: str, alone: bool, promise: Promise) -> bool:
        """Whether some unit that ends in a live cell is read after another value was written over it.

        `alone`: every command has an engine of its own, as if nothing ordered them.
        """
        wide = unit_bits_of(self.move.bits)
        number = requests_of(copies, self.machine.request * 8 // wide, cut)
        needs = number
        if cut == "words":
            each = [self.move.windows] if copies.flows else [nest.windows for nest in self.move.nests]
            windows = [[window * 8 // wide for window in sides or ()] for sides in each]
            number, needs = words_of(copies, self.move.word * 8 // wide, windows)
        asked = held(self.dest.region, promise.dest, copies.write) >= 0
        changes = held(self.source.region, promise.source, copies.write) != held(
            self.source.region, promise.source, copies.read
        )
        if not changes.any() or not asked.any():
            return False
        engine = copies.command if alone else copies.engine
        for one in distinct(engine[changes]).tolist():
            writes = changes & (engine == one)
            at, first = copies.write[writes], needs[writes]
            order = np.lexsort((first, at))
            at, first = at[order], first[order]
            keep = np.r_[True, np.diff(at) != 0]
            at, first = at[keep], first[keep]
            place, meets = find(at, copies.read)
            later = meets & asked & ((number > first[place]) | (engine != one) | (cut == "none"))
            if later.any():
                return True
        return False


PADDING = {
    "write-bottom": "Bottom padding, or what the view hides, is written",
    "read-bottom": "Bottom padding is read",
    "zero-overwritten": "zero padding is overwritten",
    "zero-unwritten": "zero padding is not written",
}


def judged(
    copies: Copies, promise: Promise, source: DeclaredRegion, dest: DeclaredRegion, outcome: Outcome
) -> UnitJudge:
    """Bounds, elements and coverage of copies; padding and second writes are left to the caller.

    An element that the source lacks is read nowhere: the cell that asks for it does not get it.
    """
    judge = UnitJudge(promise, source, dest)
    lost = copies.read == NONE
    real = ~lost & (copies.write != NONE)
    read, write = copies.read[real], copies.write[real]
    ends = [(int(at.min(initial=0)), int(at.max(initial=0))) for at in (read, write)]
    judge.take(Batch(0, 0, read, write, *ends))
    unread = located(dest, copies.write[lost & (copies.write != NONE)])
    judge.given(unread[unread >= 0])
    if (promise.dest[unread[unread >= 0]] >= 0).any():
        outcome.break_("core/same-element", "the source lacks an element of the stream")
    judge.finish(len(read))
    for key, mark in judge.marks.items():
        rule, _, part = key.partition(":")
        if rule == "in-bounds":
            outcome.break_("core/in-bounds", f"{part} of {mark.read if part == 'read' else mark.write:#x}")
        elif rule == "covers":
            outcome.break_("core/covers", f"nothing is written to {dest.address_of(mark.cell):#x}")
        elif rule in ("reads-live", "same-element"):
            outcome.break_(f"core/{rule}", f"unit {mark.number}: {mark.read:#x} to {mark.write:#x}")
    return judge


def walked_nests(
    nests: Sequence[RunNest], machine: RunMachine, shifts: Sequence[tuple[int, int]] = ((0, 0),)
) -> Copies:
    """The copies of printed commands, again at each of `shifts` (added to read and write addresses)."""
    parts: list[tuple[Numbers, ...]] = []
    names = [nest.engine for nest in nests]
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    for far, (number, nest) in product(shifts, enumerate(nests)):
        if nest.read.amount != nest.write.amount:
            raise Beyond("the two sides move different amounts")
        must_fit(max(map(abs, far)))
        read, write = (walked(walk, machine) + by for walk, by in zip((nest.read, nest.write), far, strict=True))
        count = len(read)
        engine, offset = np.full(count, known[nest.engine]), np.arange(count) % max(1, nest.read.packet)
        parts.append((read, write, engine, offset, np.full(count, number)))
        machine.allow(count * len(parts))
    open_ = len(names) > 1 and "" in names
    read, write, engine, offset, command = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Copies(read, write, engine, offset, command, open_engines=open_)


def walked(walk: RunWalk, machine: RunMachine) -> Numbers:
    """All unit addresses of a side, in order."""
    machine.allow(walk.amount)
    return strided(walk.start, walk.loops)


def run_move(move: RunMove, machine: RunMachine) -> Outcome:
    """All iterations of a transfer. Raises Beyond: each moves as much as the first one does."""
    outcome = Outcome()
    many, run = machine.iterations_of(move.loops), TransferRun(move, machine)
    for turn, values in enumerate(iterations(move.loops)):
        where = ", ".join(f"{name} = {value}" for name, value in values.items())
        for word, copies, found in run.at(values):
            if copies is not None and where:
                run.earlier.met(word, copies, run.promise.dest, found)
            outcome.take(found, f"{word} at {where}" if where else word)
        if turn == 0:
            machine.allow((outcome.ran or run.promise.dest_live) * many)
    return outcome
