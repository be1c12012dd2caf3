"""Programs: steps that move data, what is ordered and what may run at once, and the regions they share.

Knows: steps, contexts, explicit order, reachability.
Does not know: how a program is written in a file, which bytes a step touches, machines, solvers.
Law: two pieces of work are ordered exactly when one reaches the other over edges; a piece is one lane (an engine or a
context) of one step. Nothing is enumerated: reachability is one bit per pair of pieces. Edges that are supposed never
go against those that the plan says.

Edges: pieces of one lane, and of one context, in the written order (`queues`); an `after` puts every piece of a step
behind every piece of the other; `order = "written"` puts every step behind the one above it; `order = "none"` leaves
the `after` edges alone; iterations of one step follow each other in all three. In a loop, `earlier` puts a step behind
what another one of the body did so many iterations before. A loop that surely runs once is no loop.

Source: "DMA Engine" (Implementation Details: commands of an engine in sequence, engines in parallel), "Memory
Performance" (Scheduling model: an operation waits for its context), docs/machines/rngd.md 7.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, reduce
from operator import and_

from dmaverify.errors import Span
from dmaverify.language.numbers import moves
from dmaverify.program.access import Access, PlanProblem
from dmaverify.program.indirect import Indirect
from dmaverify.program.move import Transfer
from dmaverify.program.queues import (
    LaneWork,
    QueueEdge,
    context_edges,
    context_edges_around,
    engine_edges,
    engine_edges_around,
)
from dmaverify.program.regions import Region
from dmaverify.values import dataclass, field

DMA_CONTEXT = "tdma"  # of transfers that name neither an engine nor a context


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: a transfer, or the Fetch and Commit accesses that run together.

    `context` None: the engines of a transfer, or the accesses' own context. `inline` says that nothing else in the plan
    judges it. `reads` and `writes` name regions that its tensors must lie in. `loops` are around it, outer to inner;
    steps that follow each other with the same loops are the body of these loops, done once per iteration. What a step
    does has its loops; `around`: the plan judges it by itself without them.
    """

    name: str
    transfer: Transfer | None = None
    accesses: tuple[Access, ...] = ()
    context: str | None = None
    after: tuple[str, ...] = ()
    earlier: tuple[tuple[str, int], ...] = ()  # (step of the same loop body, iterations before)
    reads: str | None = None
    writes: str | None = None
    inline: bool = False
    around: bool = False
    problems: tuple[PlanProblem, ...] = ()  # of the transfer; an access holds its own
    loops: tuple[tuple[str, int], ...] = ()
    indirect: Indirect | None = None  # a gather or scatter; `transfer` then stands for all that it may touch
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Program:
    """Steps in the written order. `expect` is None where the plan says nothing, () for proved. `holds` names regions
    and tiers that hold what is read of them where the program begins, `empty` those that hold nothing.
    """

    name: str
    target: str
    steps: tuple[Step, ...]
    regions: tuple[Region, ...] = ()
    holds: tuple[str, ...] = ()
    order: str = "contexts"
    expect: tuple[str, ...] | None = None
    problems: tuple[PlanProblem, ...] = ()
    line: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)
    empty: tuple[str, ...] = ()


# ---------------------------------------------------------------- order


@dataclass(frozen=True)
class Order:
    """Which piece precedes which: bit i of `before[j]` says that piece i ends before piece j begins."""

    pieces: tuple[LaneWork, ...]
    before: tuple[int, ...]
    of_step: tuple[tuple[int, ...], ...]
    bodies: tuple[int, ...] = ()  # of each step, the number of the body that it is in, of loops that run again, or -1
    later: Mapping[tuple[int, int], int] = field(default_factory=dict)  # see `gap`
    queued: tuple[QueueEdge, ...] = ()  # what contexts and engines order besides what is in one queue
    supposed: bool = False  # whether some of these are supposed

    def index(self, step: int, lane: str) -> int:
        return next(i for i in self.of_step[step] if self.pieces[i].lane == lane)

    def precedes(self, a: int, b: int) -> bool:
        """Whether piece a ends before piece b begins; of one loop body: in the same iteration."""
        return bool(self.before[b] >> a & 1)

    def one_body(self, a: int, b: int) -> bool:
        """Whether two pieces are done in the iterations of the same loops."""
        return self.steps_of_one_body(self.pieces[a].step, self.pieces[b].step)

    def steps_of_one_body(self, a: int, b: int) -> bool:
        """Whether two steps, or a step and itself, are done in the iterations of the same loops."""
        return bool(self.bodies) and self.bodies[a] == self.bodies[b] >= 0

    def gap(self, a: int, b: int) -> int | None:
        """Of two pieces of one body: the least d such that a in iteration n ends before b in iteration n + d begins."""
        return 0 if a != b and self.precedes(a, b) else self.later.get((a, b))

    def ordered(self, a: int, b: int) -> bool:
        """Whether one of the two ends before the other begins, whatever iterations of a loop are meant."""
        if a != b and self.one_body(a, b):
            ahead, behind = self.gap(a, b), self.gap(b, a)
            return ahead is not None and behind is not None and ahead + behind <= 1
        return self.precedes(a, b) or self.precedes(b, a)

    def step_precedes(self, a: int, b: int) -> bool:
        """Whether all of step a ends before any of step b begins."""
        return bool(self.steps_before[b] >> a & 1)

    @cached_property
    def steps_before(self) -> tuple[int, ...]:
        """Of each step, as bits, the steps that end before any of it begins."""
        whole = [sum(1 << i for i in of) for of in self.of_step]
        ahead = (reduce(and_, (self.before[j] for j in of)) for of in self.of_step)
        return tuple(sum(1 << a for a, own in enumerate(whole) if past & own == own) for past in ahead)

    @cached_property
    def steps_after(self) -> tuple[int, ...]:
        """Of each step, as bits, the steps that begin when all of it has ended."""
        past = self.steps_before
        return tuple(sum(1 << b for b, bits in enumerate(past) if bits >> a & 1) for a in range(len(past)))

    def steps_between(self, a: int, b: int) -> list[int]:
        """The steps that begin when one of two steps has ended and end before the other begins."""
        bits = self.steps_after[a] & self.steps_before[b] | self.steps_after[b] & self.steps_before[a]
        return [step for step in range(bits.bit_length()) if bits >> step & 1]

    def comes_around(self, a: int, b: int) -> bool:
        """Whether all of step a ends before step b of the next iteration begins; outside of one loop, nothing comes
        around.
        """
        pairs = [(i, j) for i in self.of_step[a] for j in self.of_step[b] if self.one_body(i, j)]
        return all((gap := self.gap(i, j)) is not None and gap <= 1 for i, j in pairs)

    def concurrent(self, a: int, b: int) -> bool:
        """Whether some of step a may run at the same time as some of step b."""
        return any(not self.ordered(i, j) for i in self.of_step[a] for j in self.of_step[b])


@dataclass(frozen=True, slots=True)
class Circle:
    """Steps that wait for each other: nothing of them ever starts."""

    steps: tuple[str, ...]


def order_of(program: Program, lanes: Sequence[Sequence[str]], *, supposing: bool = True) -> Order | Circle:
    """The order of a program whose step i works in `lanes[i]` (each at least one lane). With `supposing`, an engine
    that several contexts give work does it in the written order, where nothing says otherwise.
    """
    pieces: list[LaneWork] = []
    of_step: list[tuple[int, ...]] = []
    for step, names in enumerate(lanes):
        of_step.append(tuple(range(len(pieces), len(pieces) + len(names))))
        pieces += [LaneWork(step, lane, program.steps[step].context or "") for lane in names]
    bodies = tuple(
        body if runs_again(step) else -1 for body, step in zip(bodies_of(program.steps), program.steps, strict=True)
    )
    inside = [
        [p for step, of in enumerate(bodies) if of == body for p in of_step[step]] for body in sorted({*bodies} - {-1})
    ]
    queues = program.order == "contexts"
    sure = [*context_edges(pieces, of_step)] if queues else []
    sure += [edge for own in inside for edge in context_edges_around(pieces, own)] if queues else []

    def over(edges: Sequence[QueueEdge], supposed: bool = False) -> Order | Circle:
        before = _closure(_direct(program, pieces, of_step, edges))
        if isinstance(before, frozenset):
            return Circle(tuple(dict.fromkeys(program.steps[pieces[i].step].name for i in sorted(before))))
        later = _later(program, pieces, of_step, before, bodies, edges)
        return Order(tuple(pieces), tuple(before), tuple(of_step), bodies, later, tuple(edges), supposed)

    said = over(sure)
    more = [*engine_edges(pieces)] if queues and supposing else []
    if isinstance(said, Circle) or not more:
        return said
    more += [edge for own in inside for edge in engine_edges_around(pieces, own)]
    found = over([*sure, *more], supposed=True)
    if isinstance(found, Circle) or torn_body(program, found) is not None:
        more = _not_against(said.before, engine_edges(pieces, every=True))
        more += [edge for own in inside for edge in engine_edges_around(pieces, own, every=True)]
        found = over([*sure, *more], supposed=True)
    return said if isinstance(found, Circle) or torn_body(program, found) is not None else found


def _not_against(before: Sequence[int], edges: Iterable[QueueEdge]) -> list[QueueEdge]:
    """Those edges, one after the other, that make no circle with what precedes what and those taken already."""
    precedes, taken = list(before), []
    for p, q, distance in edges:
        if not precedes[p] >> q & 1 and not precedes[q] >> p & 1:
            taken.append((p, q, distance))
            ahead = precedes[p] | 1 << p
            precedes = [mask | ahead if i == q or mask >> q & 1 else mask for i, mask in enumerate(precedes)]
    return taken


# ---------------------------------------------------------------- loops


def runs_again(step: Step) -> bool:
    """Whether its loops make more than one iteration; symbolic ones may."""
    return any(moves(count) for _, count in step.loops)


def bodies_of(steps: Sequence[Step]) -> tuple[int, ...]:
    """Steps in a row with the same loops have one number, steps without loops -1."""
    out: list[int] = []
    for index, step in enumerate(steps):
        follows = index > 0 and out[-1] >= 0 and steps[index - 1].loops == step.loops
        out.append(-1 if not step.loops else out[-1] if follows else index)
    return tuple(out)


def torn_body(program: Program, order: Order) -> tuple[str, str] | None:
    """A step outside of a loop that must wait for one step of the body and be waited for by another: (it, the body's
    step that waits). Such a loop has no iterations to speak of.
    """
    for outside, pieces in enumerate(order.of_step):
        for inside, others in enumerate(order.of_step):
            body = order.bodies[inside]
            if body < 0 or order.bodies[outside] == body:
                continue
            fellows = [i for i, number in enumerate(order.bodies) if number == body]
            first = any(order.precedes(p, q) for p in pieces for q in others)
            if first and any(order.precedes(q, p) for f in fellows for q in order.of_step[f] for p in pieces):
                return program.steps[outside].name, program.steps[inside].name
    return None


def earlier_edges(program: Program, of_step: Sequence[Sequence[int]]) -> list[tuple[int, int, int]]:
    """Pieces (p, q, d): all of p in iteration n ends before q in iteration n + d begins, as `earlier` says; of loops
    that run once, nothing.
    """
    index = {step.name: number for number, step in enumerate(program.steps)}
    return [
        (p, q, distance)
        for number, step in enumerate(program.steps)
        for name, distance in (step.earlier if runs_again(step) else ())
        for p in of_step[index[name]]
        for q in of_step[number]
    ]


def _later(
    program: Program, pieces: Sequence[LaneWork], of_step: Sequence[tuple[int, ...]], before: Sequence[int],
    bodies: Sequence[int], queued: Sequence[QueueEdge],
) -> dict[tuple[int, int], int]:  # fmt: skip
    """For pieces of one body, the least number of iterations after which one surely precedes the other, where it is not
    0: around the loop, a piece follows itself, a lane its own last piece, and in written order everything.
    """
    out: dict[tuple[int, int], int] = {}
    for body in sorted(set(bodies) - {-1}):
        steps = [i for i, number in enumerate(bodies) if number == body]
        members = [p for i in steps for p in of_step[i]]
        around = {p: {1: 1 << p} for p in members}
        lanes: dict[str, list[int]] = {}
        for p in members:
            lanes.setdefault(pieces[p].queue, []).append(p)
        if program.order == "contexts":
            for found in lanes.values():
                around[found[0]][1] |= 1 << found[-1]
        elif program.order == "written":
            for p in of_step[steps[0]]:
                around[p][1] |= sum(1 << q for q in of_step[steps[-1]])
        waits = earlier_edges(program, of_step) if any(program.steps[i].earlier for i in steps) else []
        for p, q, far in (*waits, *(edge for edge in queued if edge[2])):
            if q in around:
                around[q][far] = around[q].get(far, 0) | 1 << p
        own = sum(1 << p for p in members)
        inside = {p: before[p] & own | 1 << p for p in members}  # what ends before p, or is p, in the same iteration
        behind = [inside]  # by distance
        for distance in range(1, (len(members) + 1) * max(max(one) for one in around.values()) + 1):
            wrapped = dict.fromkeys(members, 0)
            for p, edges in around.items():
                for far, mask in edges.items():
                    wrapped[p] |= _united(behind[distance - far], mask) if far <= distance else 0
            behind.append({p: _united(wrapped, inside[p]) for p in members})
            fresh = [(a, p) for p in members for a in _bits(behind[-1][p]) if (a, p) not in out]
            out.update({pair: distance for pair in fresh if pair[0] == pair[1] or not before[pair[1]] >> pair[0] & 1})
    return out


def _united(masks: Mapping[int, int], chosen: int) -> int:
    out = 0
    for index in _bits(chosen):
        out |= masks[index]
    return out


# ---------------------------------------------------------------- the order within an iteration


def _direct(
    program: Program, pieces: Sequence[LaneWork], of_step: Sequence[tuple[int, ...]], queued: Sequence[QueueEdge]
) -> list[int]:
    """Bit i of entry j: an edge from piece i to piece j."""
    index = {step.name: number for number, step in enumerate(program.steps)}
    direct = [0] * len(pieces)
    last: dict[str, int] = {}
    for number, step in enumerate(program.steps):
        waits = [index[name] for name in step.after]
        if program.order == "written" and number:
            waits.append(number - 1)
        mask = sum({1 << i for other in waits for i in of_step[other]})
        for piece in of_step[number]:
            direct[piece] |= mask
            queue = pieces[piece].queue
            if program.order == "contexts" and queue in last:
                direct[piece] |= 1 << last[queue]
            last[queue] = piece
    for p, q, distance in queued:
        direct[q] |= 0 if distance else 1 << p
    return direct


def _closure(direct: Sequence[int]) -> list[int] | frozenset[int]:
    """Everything that precedes each piece; the pieces of circles where there are some."""
    before: list[int | None] = [None] * len(direct)
    waiting = set(range(len(direct)))
    needed = [_bits(mask) for mask in direct]
    followers: dict[int, list[int]] = {}
    for piece, earlier in enumerate(needed):
        for one in earlier:
            followers.setdefault(one, []).append(piece)
    open_count = [len(earlier) for earlier in needed]
    ready = [piece for piece in range(len(direct)) if not open_count[piece]]
    while ready:
        piece = ready.pop()
        mask = direct[piece]
        for one in needed[piece]:
            mask |= before[one] or 0
        before[piece] = mask
        waiting.discard(piece)
        for follower in followers.get(piece, ()):
            open_count[follower] -= 1
            if not open_count[follower]:
                ready.append(follower)
    return frozenset(waiting) if waiting else [mask or 0 for mask in before]


def _bits(mask: int) -> list[int]:
    out = []
    while mask:
        low = mask & -mask
        out.append(low.bit_length() - 1)
        mask ^= low
    return out
