"""The steps of a plan as events of a kernel: lanes are pipes, `after` is a flag, loops are loops, touches are rows.

Knows: pieces of work with their edges, walks, digits of loops, engines that do not wait for what they wrote.
Does not know: what is a hazard, how order is followed (`pipes`).
Law: the events order exactly what the program orders. Every edge from one piece to another is handed on by a pipe of
its own, which learns of the one at its end and tells the other at its start: in a loop, of every iteration so far. An
engine that is `launched` is a pipe that reads and, behind it, one for each port that writes: it learns nothing of its
writes. `blunt` events touch one byte of each memory, and their loops run as often as they like: whatever the numbers.
`whole` events are the steps one after the other, as one order that the program allows: each is one access, which reads
before it writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TypeVar

from dmaverify.errors import Source, Span
from dmaverify.language.affine import ONE, ZERO, Lin, World
from dmaverify.program.instructions import CopyTouch, Event, Fence, KernelLoop, Place, Signal, Use
from dmaverify.program.schedule import Order, Program, earlier_edges
from dmaverify.program.turns import Turn
from dmaverify.prove.flow.accesses.touches import StepWork, Touch, in_one_unit
from dmaverify.prove.meet import Walk
from dmaverify.values import dataclass, field

NOWHERE = Span(Source("", ""), 0, 0)  # of steps that no text holds
T = TypeVar("T")

Made = tuple[tuple[Touch, Walk], ...]
"""The touches of an access, with their walks in the unit of all."""


@dataclass
class StepEvents:
    """Events of all steps, and the touches that each access makes, by its number."""

    program: Program
    works: Sequence[StepWork]
    order: Order
    world: World
    launched: bool = False
    blunt: bool = False
    whole: bool = False
    made: dict[int, Made] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    ordered: dict[str, None] = field(default_factory=dict)  # the pipes that do all of their work in order
    _edges: list[tuple[int, int]] = field(default_factory=list)
    _earlier: list[tuple[int, int, int]] = field(default_factory=list)
    _ports: dict[str, dict[str, None]] = field(default_factory=dict)
    _by_piece: dict[tuple[int, str], list[tuple[Touch, Walk]]] = field(default_factory=dict)

    def events(self) -> tuple[Event, ...] | None:
        """None where loops wait for each other, so that none of them can be written behind the other."""
        touches = [touch for work in self.works for touch in work.touches]
        walks = {} if self.blunt else in_one_unit(touches)
        for number, touch in enumerate(touches):
            self._by_piece.setdefault((touch.step, touch.lane), []).append((touch, walks.get(number, touch.walk)))
            if touch.writes:
                self._ports.setdefault(touch.lane, {})[touch.port] = None
        index = {step.name: number for number, step in enumerate(self.program.steps)}
        self._edges = [
            (p, q)
            for number, step in enumerate(self.program.steps)
            for name in step.after
            for p in self.order.of_step[index[name]]
            for q in self.order.of_step[number]
        ]
        self._edges += [(p, q) for p, q, distance in self.order.queued if not distance]
        self._earlier = earlier_edges(self.program, self.order.of_step)
        self._earlier += [edge for edge in self.order.queued if edge[2]]
        found = blocks_in_order(self.order)
        return None if found is None else tuple(event for block in found for event in self._block(block))

    def _block(self, block: Sequence[int]) -> Iterator[Event]:
        loops, steps = self.program.steps[block[0]].loops, block
        if self.order.bodies[block[0]] < 0:
            yield from self._step(
                steps[0], {turn: ZERO for touch in self.works[steps[0]].touches for turn in touch.turns}
            )
            return
        if self.whole and len(every := {touch.turns for step in steps for touch in self.works[step].touches}) == 1:
            yield from self._nest(steps, every.pop())
            return
        trip, digits, most = self.world.free("trips", 0, None) if self.blunt else Lin(0), {}, None
        if not self.blunt:
            trip = Lin(prod(count for _, count in loops))
            most = max(0, trip.const - 1)
        counter = self.world.free(f"n{block[0]}", 0, most)
        if not self.blunt:
            turns = {turn for step in steps for touch in self.works[step].touches for turn in touch.turns}
            digits = {turn: self._digit(turn, counter, loops) for turn in turns}
        aged = () if self.whole else self._aged(steps)
        body = (*aged, *(event for step in steps for event in self._step(step, digits)))
        yield KernelLoop(counter.terms[0][0], trip, body, self.program.steps[block[0]].span or NOWHERE)

    def _nest(self, steps: Sequence[int], turns: Sequence[Turn]) -> Sequence[Event]:
        """The steps with a loop for each of the turns that all of them take."""
        digits = {turn: self.world.free(f"n{steps[0]}", 0, max(0, turn.count - 1)) for turn in turns}
        body = tuple(event for step in steps for event in self._step(step, digits))
        for turn in reversed(turns):
            ((name, _),) = digits[turn].terms
            body = (KernelLoop(name, Lin(turn.count), body, self.program.steps[steps[0]].span or NOWHERE),)
        return body

    def _digit(self, turn: Turn, counter: Lin, loops: Sequence[tuple[str, int]]) -> Lin:
        """The digit of the number of an iteration of all loops together."""
        at = next(i for i, (name, _) in enumerate(loops) if name == turn.loop)
        inside = prod(count for _, count in loops[at + 1 :])
        return self.world.modulo(self.world.divide(counter, inside * turn.weight), turn.count)

    def _aged(self, steps: Sequence[int]) -> Iterator[Event]:
        """At the start of an iteration: what was known of a piece one iteration before is now known of two before."""
        far = {p: d for p, _, d in sorted(self._earlier, key=lambda one: one[2]) if self.order.pieces[p].step in steps}
        for piece, most in far.items():
            for distance in range(most, 0, -1):
                yield from hand(_edge(piece, distance - 1), _edge(piece, distance))

    # ------------------------------------------------------------ one step

    def _step(self, step: int, digits: dict[Turn, Lin]) -> Iterator[Event]:
        if self.whole:
            pieces = self.order.of_step[step]
            made = [m for piece in pieces for m in self._by_piece.get((step, self.order.pieces[piece].lane), ())]
            yield self._use(step, "", tuple(made), digits)
            return
        for piece in self.order.of_step[step]:
            made = self._by_piece.get((step, self.order.pieces[piece].lane), [])
            parts = self._parts(piece, made)
            for p, q in self._edges:
                if q == piece:
                    yield from hand(_edge(p), parts[0][0])
            for p, q, far in self._earlier:
                if q == piece:
                    yield from hand(_edge(p, far), parts[0][0])
            for number, (pipe, some) in enumerate(parts):
                if number:
                    yield from hand(parts[0][0], pipe)
                if some:
                    yield self._use(step, pipe, tuple(some), digits)
            if any(p == piece for p, *_ in (*self._edges, *self._earlier)):
                for pipe, _ in parts:
                    yield from hand(pipe, _edge(piece))
        if self.program.order == "written":
            yield Fence("ALL", NOWHERE)

    def _parts(self, piece: int, made: Sequence[tuple[Touch, Walk]]) -> list[tuple[str, list[tuple[Touch, Walk]]]]:
        """What a piece does on which pipe."""
        lane, queue = self.order.pieces[piece].lane, self.order.pieces[piece].queue
        pipe = queue if self.program.order == "contexts" else f"{lane} of {piece}"
        if not self.launched or self.works[self.order.pieces[piece].step].accesses:
            return [(pipe, list(made))]
        ports = self._ports.get(lane, {})  # of all its work: what was waited for has landed through every one of them
        reads = [(f"{pipe}, reads", [m for m in made if not m[0].writes])]
        return reads + [(f"{pipe}, writes {p}", [m for m in made if m[0].writes and m[0].port == p]) for p in ports]

    def _use(self, step: int, pipe: str, made: Made, digits: dict[Turn, Lin]) -> Use:
        number = len(self.uses) + 1
        rows = tuple(_byte(touch) if self.blunt else _rows(touch, walk, digits) for touch, walk in made)
        at_once = bool(self.works[step].accesses)
        span = self.program.steps[step].span or NOWHERE
        self.made[number] = made
        if not self.works[step].swaps:
            self.ordered[pipe] = None
        self.uses.append(Use(number, pipe, rows, span, self.program.steps[step].name, step=step, at_once=at_once))
        return self.uses[-1]


def _edge(piece: int, iterations: int = 0) -> str:
    """The pipe that hands on what is known at the end of a piece, so many iterations before."""
    return f"behind {piece}, {iterations} before" if iterations else f"behind {piece}"


def hand(source: str, dest: str) -> Iterator[Event]:
    """`dest` learns what `source` was given and what it knows."""
    yield Signal("set", source, dest, ZERO, NOWHERE)
    yield Signal("wait", source, dest, ZERO, NOWHERE)


def _byte(touch: Touch) -> CopyTouch:
    place = Place("/".join(map(str, touch.memory)), "", ZERO)
    return CopyTouch("data" if touch.writes else "read", place, ZERO, ONE, ())


def _rows(touch: Touch, walk: Walk, digits: dict[Turn, Lin]) -> CopyTouch:
    """The bytes of a walk as rows, its first counters those of the loops around."""
    address, around = Lin(walk.base), len(touch.turns)
    for turn, (_, stride) in zip(touch.turns, walk.loops, strict=False):
        address = address + digits[turn] * stride
    place = Place("/".join(map(str, touch.memory)), "", address)
    return touch_of(place, walk.loops[around:], writes=touch.writes)


def touch_of(place: Place, loops: Sequence[tuple[int, int]], *, writes: bool) -> CopyTouch:
    """What a nest (count, stride; outer to inner) touches from a place on, as rows."""
    own = [(count, stride) for count, stride in loops if count > 1]
    length = 1
    while own and own[-1][1] == length:
        length *= own.pop()[0]
    steps = tuple((Lin(count), Lin(stride)) for count, stride in reversed(own))
    return CopyTouch("data" if writes else "read", place, ZERO, Lin(length), steps)


def blocks_in_order(order: Order) -> list[list[int]] | None:
    """The steps in an order that the program allows, those of one loop body together; None where loops wait for each
    other, so that none of them can be done behind the other.
    """

    def before(one: int, other: int) -> bool:
        """Whether some of one step must end before some of the other begins."""
        wanted = sum(1 << piece for piece in order.of_step[one])
        return any(order.before[piece] & wanted for piece in order.of_step[other])

    blocks: dict[int, list[int]] = {}
    for number, body in enumerate(order.bodies):
        blocks.setdefault(number if body < 0 else body, []).append(number)
    found = _sorted(list(blocks.values()), lambda a, b: any(before(i, j) for i in a for j in b))
    return None if found is None else [_sorted(block, before) or block for block in found]  # bodies have no circles


def _sorted(items: Sequence[T], before: Callable[[T, T], bool]) -> list[T] | None:
    """The items, each behind those that come before it, else as they stand; None where there is a circle."""
    left, out = list(items), []
    while left:
        ready = next((a for a in left if not any(b is not a and before(b, a) for b in left)), None)
        if ready is None:
            return None
        left.remove(ready)
        out.append(ready)
    return out
