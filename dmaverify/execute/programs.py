"""Programs, run: every step of every iteration, in every order that lanes, `after` and the program's order allow.

Knows: pieces of work (one lane of one step in one iteration), who waits for whom, bytes read and written by each.
Does not know: equations of nests, digits, solvers.
Law: two orders differ only where two pieces that nothing orders touch one byte, one of them writing: then a byte read
or left behind depends on the order, which is a race. Where no such pair exists all orders are one (a trace), so that
one run stands for all of them; nothing is sampled.

Lanes: the engines of a transfer, `tdma` without engine, the context of an access. A `context` of the step is a queue
besides (where it names no engine: all pieces of its step before have ended), and the lane of what names no engine. An
engine does what several contexts give it in the written order, unless that has no end.
Steps in a row with the same loops are the body of these loops; `after` within a body speaks of the same iteration, and
from outside of all iterations, `earlier` of one so many before. What a lane does in a change of operation is an
assumption: a bank's run ends there, and wherever a piece surely lies between two iterations.
Source: "DMA Engine", Implementation Details (commands of an engine in sequence, engines in parallel); "Memory
Performance", Bank Starvation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise, takewhile
from math import prod
from operator import or_
from typing import TYPE_CHECKING

import numpy as np

from dmaverify.execute.accesses import BankTurn, Fetching, bank_turn, longest_runs
from dmaverify.execute.elements import NONE
from dmaverify.execute.hazards import Touched, meetings, share
from dmaverify.execute.moves import TransferRun
from dmaverify.execute.order import bits, bodies_of, cliques, closed, mask, members
from dmaverify.execute.outcome import Beyond, Outcome
from dmaverify.execute.outputs import LanePiece, StepWrites, TiledOutputs, judge_outputs
from dmaverify.execute.requests import Copies
from dmaverify.execute.rows import Moved
from dmaverify.execute.tensors import KnownTensors, units
from dmaverify.execute.work import (
    HeldTensor,
    Loops,
    Reach,
    RunMachine,
    RunMove,
    RunProgram,
    RunRows,
    RunStep,
    iterations,
    start_at,
)
from dmaverify.language.distinct import common, distinct
from dmaverify.program.space import unit_bits_of
from dmaverify.values import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

MOST_PIECES = 3000


def run_program(program: RunProgram, machine: RunMachine) -> Outcome:
    """Raises Beyond where it is too large, or where a step has no meaning of its own."""
    return ProgramRun(program, machine).run()


class ProgramRun:
    """The pieces of work of a program, each done once."""

    def __init__(self, program: RunProgram, machine: RunMachine) -> None:
        self.program, self.machine = program, machine
        self.pieces: list[LanePiece] = []
        self.bodies = bodies_of(program.steps)
        self.outputs, self.known = TiledOutputs(), KnownTensors(machine)
        self.banks: dict[tuple[int, int], list[BankTurn]] = {}  # of each access, its iterations
        self.outcome = Outcome()
        self.engines_known = True  # in which order an engine does what several contexts give it

    def run(self) -> Outcome:
        for body in dict.fromkeys(self.bodies):
            self._body([i for i, number in enumerate(self.bodies) if number == body])
        before = self.order()
        if before is None:  # engines do not take work in the written order where that has no end
            before, self.engines_known = self.order(across=False), False
        if before is None:
            self.outcome.break_("core/well-formed", "steps wait for each other")
            return self.outcome
        self._races(before, self._landed(before))
        judge_outputs(self.outputs, [step.name for step in self.program.steps], self.pieces, before, self.outcome)
        self._starving(before)
        return self.outcome

    # ------------------------------------------------------------ the steps

    def _body(self, members: Sequence[int]) -> None:
        loops = self.program.steps[members[0]].loops
        if prod(count for _, count in loops) * len(members) > MOST_PIECES:
            raise Beyond("too many iterations")
        runs = {i: [self._runner(work, loops) for work in self.program.steps[i].work] for i in members}
        for turn, values in enumerate(iterations(loops)):
            for i in members:
                self.machine.allow(self.outcome.ran)
                for number, run in enumerate(runs[i]):
                    self._one(i, number, run, turn, values)
                for run in (r for other in members if other != i for r in runs[other] if isinstance(r, TransferRun)):
                    run.earlier.replaced(self._touched(i, turn))

    def _runner(self, work: RunMove | Reach | RunRows, loops: Loops) -> TransferRun | Fetching | Moved:
        if isinstance(work, RunMove):
            return TransferRun(work, self.machine)
        return Fetching(work, self.machine) if isinstance(work, Reach) else Moved(work, self.machine)

    def _one(
        self, i: int, number: int, run: TransferRun | Fetching | Moved, turn: int, values: Mapping[str, int]
    ) -> None:
        step = self.program.steps[i]
        if isinstance(run, TransferRun):
            self._moved(i, step, run, turn, values)
            return
        if isinstance(run, Moved):
            self._rows(i, step, run, turn)
            return
        done, found = run.at(values)
        self.machine.allow(len(done.at) * len(done.slices))
        self.outcome.take(found, step.name)
        lane = step.context or run.reach.context
        piece = self._piece(i, lane, turn)
        unit = run.unit
        live = _everywhere(done.live, done.slices, unit)
        every = _everywhere(done.at[done.at != NONE], done.slices, unit)
        piece.touched.append(Touched(run.reach.memory.tier, not run.reach.reads, live, every))
        if not run.reach.reads:
            whole = _everywhere(units(run.cells.address[run.cells.live], run.cells.width), run.live_slices, unit)
            self._note(i, turn, run.reach.memory, whole, live, values, run.reach.bits)
        if run.machine.banks and run.machine.tiers[run.reach.memory.tier].strides.get("slice") and len(done.at):
            if done.width:
                at = next(n for n in range(len(self.pieces) - 1, -1, -1) if self.pieces[n] is piece)
                self.banks.setdefault((i, number), []).append(bank_turn(done, at, self.machine))
            else:
                self.outcome.leave(self.machine.rule, "the accesses of a padded stream have no addresses")

    def _piece(self, step: int, lane: str, turn: int) -> LanePiece:
        for piece in reversed(self.pieces):
            if (piece.step, piece.lane, piece.turn) == (step, lane, turn):
                return piece
            if piece.step == step and piece.turn != turn:
                break
        context = self.program.steps[step].context
        self.pieces.append(LanePiece(lane, step=step, turn=turn, context="" if context == lane else context))
        return self.pieces[-1]

    def _touched(self, step: int, turn: int) -> Iterator[Touched]:
        """By the newest pieces, which are those of an iteration of a step."""
        for piece in takewhile(lambda p: (p.step, p.turn) == (step, turn), reversed(self.pieces)):
            yield from piece.touched

    def _moved(self, i: int, step: RunStep, run: TransferRun, turn: int, values: Mapping[str, int]) -> None:
        move = run.move
        claims = list(run.at(values))
        for word, copies, found in claims:
            if copies is not None and step.loops:
                run.earlier.met(word, copies, run.promise.dest, found)
            self.outcome.take(found, f"{step.name}, {word}")
        copies = claims[-1][1]
        unit = unit_bits_of(move.bits)
        if copies is None:
            lane = next((lane for _, lane in self._lane_of_all(step, move)), move.engine or step.context or "tdma")
            self.promised(self._piece(i, lane, turn), run)
            return
        dest = units(run.dest.address[run.dest.live], run.width)
        feeds = np.isin(copies.write, dest)
        for engine, lane in self._lanes(step, move, copies):
            mine = copies.engine == engine if engine is not None else np.ones(len(copies.read), np.bool_)
            piece = self._piece(i, lane, turn)
            piece.moves = True
            for writes, at, tier in ((False, copies.read, move.source.tier), (True, copies.write, move.dest.tier)):
                sure, maybe = at[mine & feeds & (at != NONE)], at[mine & (at != NONE)]
                piece.touched.append(Touched(tier, writes, _halves(sure, unit), _halves(maybe, unit)))
                piece.rooms |= self._slices(tier, sure, unit)
            self.copied(piece, run, copies, mine)
        self._note(i, turn, move.dest, _halves(dest, unit), _halves(copies.write[feeds], unit), values, move.bits)

    def _lane_of_all(self, step: RunStep, move: RunMove) -> Iterator[tuple[None, str]]:
        """The one lane of a step, where the machine says it."""
        queue = self.machine.queues.get((move.source.tier, move.dest.tier), "")
        if queue or (step.context and self.machine.context_is_engine):
            yield None, step.context if self.machine.context_is_engine and step.context else queue

    def promised(self, piece: LanePiece, run: TransferRun) -> None:
        """A move that nothing says how to do."""
        raise Beyond("nothing says how a step moves")

    def copied(self, piece: LanePiece, run: TransferRun, copies: Copies, mine: NDArray[np.bool_]) -> None:
        """Those of the copies that are a piece of work."""

    def picked(self, piece: LanePiece, run: Moved, read: Numbers, write: Numbers) -> None:
        """Rows of one list that a plan may mean, copied as a piece of work."""

    def lost(self, piece: LanePiece) -> None:
        """Rows of which one is not there."""

    def _slices(self, tier: str, at: Numbers, unit: int) -> frozenset[int]:
        """The slices with banks that units lie in, by the address of their first byte."""
        stride = self.machine.tiers[tier].strides.get("slice")
        if not stride or not self.machine.banks:
            return frozenset()
        return frozenset((distinct(at // (stride * 8 // unit)) * stride).tolist())

    def _lanes(self, step: RunStep, move: RunMove, copies: Copies) -> Iterator[tuple[int | None, str]]:
        whole = list(self._lane_of_all(step, move))
        if whole:
            yield from whole
            return
        unnamed = step.context or "tdma"
        named = [nest.engine for nest in move.nests] if move.nests else [flow.engine for flow in move.flows]
        known = list(dict.fromkeys(named))
        for engine in distinct(copies.engine).tolist():
            if move.nests:
                yield engine, known[engine] or unnamed
            elif len(known) > 1 or (known and known[0]):
                yield engine, known[engine // 4096] or unnamed
            else:
                many = len(distinct(copies.engine)) > 1
                yield engine, f"engine of the stream {engine}" if many else unnamed

    def _rows(self, i: int, step: RunStep, run: Moved, turn: int) -> None:
        lists = [run.known()] if run.rows.values is not None else list(run.lists())
        queue = self.machine.queues.get((run.rows.source.tier, run.rows.dest.tier), "")
        context = "" if queue and not self.machine.context_is_engine else step.context
        piece = self._piece(i, context or queue or "tdma", turn)
        unit = unit_bits_of(run.rows.bits)
        sides: list[list[Numbers]] = [[], []]
        for listed in lists:
            if listed is None:
                self.outcome.break_("core/in-bounds", "a number of the index names no row")
                self.lost(piece)
                continue
            found, reads, writes = run.run(listed)
            self.outcome.take(found, step.name)
            self.picked(piece, run, reads, writes)
            for side, at in zip(sides, (reads, writes), strict=True):
                side.append(_halves(at[at != NONE], unit))
        tiers = (run.rows.source.tier, run.rows.dest.tier)
        for is_write, tier, units_ in zip((False, True), tiers, sides, strict=True):
            if units_:
                maybe = distinct(np.concatenate(units_))
                sure = units_[0]
                for one in units_[1:]:
                    sure = common(sure, one)
                piece.touched.append(Touched(tier, is_write, maybe, maybe))
                piece.rooms |= self._slices(tier, maybe // 2, 8)
                if is_write:
                    dest = run.table if run.rows.scatter else run.load
                    whole = _halves(units(dest.address[dest.live], dest.width), unit)
                    self._note(i, turn, run.rows.dest, whole, sure, {}, run.rows.bits, run.rows.scatter)
        listed_at = _halves(run.index_units(), unit)
        piece.touched.append(Touched(run.rows.index.tier, False, listed_at, listed_at))

    def _note(
        self, i: int, turn: int, held: HeldTensor, whole: Numbers, written: Numbers, values: Mapping[str, int],
        width: int, rows: bool = False,
    ) -> None:  # fmt: skip
        key = self.known(replace(held, tiles=()), width)
        starts = tuple(start_at(tile.start, values) for tile in held.tiles)
        partial = any(tile.partial for tile in held.tiles)
        _, found = self.outputs.setdefault(key, (np.sort(whole), []))
        found.append(StepWrites(i, turn, starts, distinct(written), bool(held.tiles), partial, rows))

    # ------------------------------------------------------------ order

    def order(self, queues: bool = True, across: bool = True) -> list[int] | None:
        """Bit i of entry j: piece i ends before piece j begins; in one lane too where `queues`, whatever contexts give
        it work if `across`. Iterations of one step follow each other, but in queues that swap. None: in a circle.
        """
        pieces, steps = self.pieces, self.program.steps
        index = {step.name: number for number, step in enumerate(steps)}
        of: dict[tuple[int, int], list[int]] = {}
        for number, piece in enumerate(pieces):
            of.setdefault((piece.step, piece.turn), []).append(number)
        direct = [0] * len(pieces)
        lanes: dict[tuple[str, str], int] = {}
        last: dict[str, int] = {}  # by context, the pieces of the last step that all began
        mine: dict[tuple[int, str], int] = {}
        everything = 0
        for j, piece in enumerate(pieces):
            own, context = of[piece.step, piece.turn], piece.context or piece.lane
            fellows = [p for p in own if (pieces[p].context or pieces[p].lane) == context]
            lane = piece.lane, "" if across else piece.context
            if queues and self.program.order == "contexts":
                direct[j] |= 1 << lanes[lane] if lane in lanes else 0
                direct[j] |= last.get(context, 0)
            if (piece.step, piece.lane) in mine and (queues or not self.machine.swaps):
                direct[j] |= 1 << mine[piece.step, piece.lane]
            if self.program.order == "written":
                direct[j] |= everything & ~mask(of[piece.step, piece.turn])
            everything |= 1 << j
            lanes[lane] = j
            last[context] = mask(fellows) if j == fellows[-1] else last.get(context, 0)
            mine[piece.step, piece.lane] = j
            for name in steps[piece.step].after:
                other = index[name]
                same = self.bodies[other] == self.bodies[piece.step] and self.bodies[other] >= 0
                for (step, turn), numbers in of.items():
                    if step == other and (not same or turn == piece.turn):
                        direct[j] |= mask(numbers)
            for name, far in steps[piece.step].earlier:
                direct[j] |= mask(of.get((index[name], piece.turn - far), []))
        return closed(direct)

    def _landed(self, before: Sequence[int]) -> Sequence[int]:
        """Bit i of entry j: piece i ends before piece j begins, and not because one queue has both."""
        machine = self.machine
        said = self.order(queues=False) if machine.launched or machine.swaps else None
        if said is None or machine.launched:
            return said or before
        around = [waits | 1 << j for j, waits in enumerate(before)]
        told = [reduce(or_, (around[i] for i in bits(waits)), 0) for waits in said]
        return [reduce(or_, (told[i] for i in bits(waits)), 0) for waits in around]

    def _races(self, before: Sequence[int], landed: Sequence[int]) -> None:
        """Bytes that two pieces touch with nothing between. Those in one queue alone (not `landed`) stay open."""
        ordered = list(landed)
        for i, waits in enumerate(landed):
            for j in bits(waits >> i + 1):
                ordered[i + 1 + j] |= 1 << i
        for kind, (i, one), (j, other) in sorted(meetings(self.pieces, ordered), key=lambda m: (m[1][0], m[2][0])):
            first, second = (self.pieces[n] for n in (i, j))
            alone = (first.step, first.turn) == (second.step, second.turn)
            if alone and not isinstance(self.program.steps[first.step].work[0], Reach):
                continue  # the two sides of one transfer: its own business
            names = " and ".join(self.program.steps[p.step].name for p in (first, second))
            queued = before[j] >> i & 1 or before[i] >> j & 1
            queued = queued or (not self.engines_known and first.lane == second.lane)
            if not queued and share(one.sure, other.sure):
                self.outcome.break_(f"core/hazard-{kind}", f"{names} meet in {one.tier}")
            elif share(one.maybe, other.maybe):
                self.outcome.leave(f"core/hazard-{kind}", f"{names} may meet in {one.tier}")

    # ------------------------------------------------------------ starvation

    def _starving(self, before: Sequence[int]) -> None:
        """Beside each piece of DMA by itself: a request that waits is one piece's."""
        dma = [n for n, piece in enumerate(self.pieces) if piece.rooms]
        if self.machine.allowed < 0 or not self.banks or not dma:
            return
        ends = np.array([members(waits, len(before)) for waits in before])  # [j, i]: i before j
        tied = ends | ends.T
        accesses = sorted({turn.piece for turns in self.banks.values() for turn in turns})
        near = {n: [a for a in accesses if not tied[n, a]] for n in dma}
        done: dict[frozenset[int], list[set[int]]] = {}
        for n in sorted(dma, key=lambda n: -len(near[n])):
            less = done.setdefault(self.pieces[n].rooms, [])
            if not any(other.issuperset(near[n]) for other in less):
                less.append(set(near[n]))
                self._beside(n, less[-1], ends, tied)

    def _beside(self, dma: int, near: set[int], ends: NDArray[np.bool_], tied: NDArray[np.bool_]) -> None:
        """The longest runs of what is near a piece of DMA, summed over all that may run at once."""
        rooms, mine = sorted(self.pieces[dma].rooms), dict[int, list[int]]()
        longest: dict[int, Numbers] = {}  # of a step: slices, banks
        for (step, _), turns in self.banks.items():
            some = [turn for turn in turns if turn.piece in near]
            if not some:
                continue
            mine[step] = [turn.piece for turn in some]
            runs = np.array(self._runs(some, rooms, ends))
            longest[step] = longest[step] + runs if step in longest else runs
        free = {a: {b for b in mine if b != a and not tied[np.ix_(mine[a], mine[b])].all()} for a in mine}
        for group in cliques(sorted(mine), free):
            most = int(np.sum([longest[step] for step in group], axis=0).max()) + self.machine.own
            if most > self.machine.allowed:
                name = self.program.steps[self.pieces[dma].step].name
                self.outcome.break_(self.machine.rule, f"{most} accesses in a row to a bank beside {name}")

    def _runs(self, turns: Sequence[BankTurn], rooms: Sequence[int], ends: NDArray[np.bool_]) -> list[Numbers]:
        """The longest run of each bank in each slice; slices that the same iterations reach are alike."""
        kinds = list(dict.fromkeys(turn.slices for turn in turns))
        known: dict[tuple[bool, ...], Numbers] = {}
        pieces = [turn.piece for turn in turns]
        apart = [bool((ends[b] & ends[:, a]).any()) for a, b in pairwise(pieces)]
        for slice_ in rooms:
            seen = tuple(slice_ in kind for kind in kinds)
            if seen not in known:
                known[seen] = longest_runs(turns, apart, slice_)
        return [known[tuple(slice_ in kind for kind in kinds)] for slice_ in rooms]


def _halves(at: Numbers, unit: int) -> Numbers:
    """Units as half bytes, sorted, each once."""
    at = distinct(at)
    return at if unit == 4 else np.sort(np.concatenate([at * 2, at * 2 + 1]))


def _everywhere(at: Numbers, slices: Numbers, unit: int) -> Numbers:
    """Half bytes of a slice's units in all slices (whose addresses are bytes)."""
    local = _halves(at, unit)
    return np.sort((slices[:, None] * 2 + local[None, :]).reshape(-1))
