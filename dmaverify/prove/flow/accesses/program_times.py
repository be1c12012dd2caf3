"""When the pieces of work of a program begin and end, as text for a solver.

Knows: pieces with their edges, lanes, the written order, loops; engines that do not wait for what they wrote.
Does not know: what is touched, what is a hazard, how scripts are asked.
Law: every fact is what the plan says: `after`, the next piece of a lane, the written order, and that a piece ends
before it begins again. A piece of a `launched` engine reads, and behind that it writes through each port: reads of a
lane are in order, and what one port writes; what somebody waits for has ended in both. Loops are stated as far as order
may reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from dmaverify.program.schedule import Order, Program, earlier_edges
from dmaverify.prove.flow.accesses.touches import StepWork, Touch
from dmaverify.prove.move.script import ScriptWriter
from dmaverify.values import dataclass

READS = "r"


@dataclass(frozen=True, slots=True)
class TimedWork:
    """A piece of work, or a part of it: what it reads, or writes through a port."""

    piece: int
    part: str = ""


class Times:
    """Names of when work begins and ends; of work in a loop, of as many iterations as order reaches over."""

    def __init__(self, program: Program, works: Sequence[StepWork], order: Order, *, launched: bool) -> None:
        self.program, self.order, self.launched = program, order, launched
        touches = [t for work in works for t in work.touches]
        self.apart = {step for step, work in enumerate(works) if launched and not work.accesses}
        ports = list(dict.fromkeys((t.lane, t.port) for t in touches if t.writes and t.step in self.apart))
        self.ports = {key: f"w{number}" for number, key in enumerate(ports)}
        self.reach = max(order.later.values(), default=0)
        if self.apart:
            bodies = [self._body(piece) for piece in range(len(order.pieces))]
            far = max((d for _, _, d in self._waits()), default=1)
            self.reach = (
                max((bodies.count(body) for body in {*bodies} - {-1}), default=0) + far if max(bodies) >= 0 else 0
            )
        self.every = [
            self.at(TimedWork(p, part), i)
            for p in range(len(order.pieces))
            for part in self._parts(p)
            for i in self.iterations(p)
        ]

    # ------------------------------------------------------------ work

    def of_touch(self, touch: Touch) -> TimedWork:
        part = "" if touch.step not in self.apart else self.ports[touch.lane, touch.port] if touch.writes else READS
        return TimedWork(self.order.index(touch.step, touch.lane), part)

    def of_step(self, step: int) -> list[str]:
        return [
            self.at(TimedWork(p, part), i)
            for p in self.order.of_step[step]
            for part in self._parts(p)
            for i in self.iterations(p)
        ]

    def at(self, work: TimedWork, iteration: int = 0) -> str:
        name = f"{work.piece}{work.part}"
        return f"{name}.{iteration}" if self._body(work.piece) >= 0 else name

    def gap(self, a: TimedWork, b: TimedWork) -> int | None:
        """Of work in one body: the least d such that a in iteration n ends before b in iteration n + d begins, as far
        as it is stated.
        """
        if not self.apart:
            return self.order.gap(a.piece, b.piece)
        behind = self._behind(self.at(a))
        return next((i for i in self.iterations(b.piece) if self.at(b, i) in behind), None)

    def ordered(self, a: TimedWork, b: TimedWork) -> bool:
        """Whether of two pieces that share no loop one has ended, in all iterations, before the other begins."""
        if self.order.one_body(a.piece, b.piece):
            return False
        return any(q in self._behind(p) for p, q in self.either_first(a, b))

    def either_first(self, a: TimedWork, b: TimedWork) -> list[tuple[str, str]]:
        """The last iteration of each and the first one of the other: if one of these pairs is in order, all are."""
        return [(self.at(p, self.iterations(p.piece)[-1]), self.at(q)) for p, q in ((a, b), (b, a))]

    def _parts(self, piece: int) -> list[str]:
        own = self.order.pieces[piece]
        if own.step not in self.apart:
            return [""]
        return [READS, *(part for (lane, _), part in self.ports.items() if lane == own.lane)]

    def _body(self, piece: int) -> int:
        bodies, step = self.order.bodies, self.order.pieces[piece].step
        return bodies[step] if bodies else -1

    def iterations(self, piece: int) -> range:
        """Those of a piece that are stated."""
        return range(self.reach + 1 if self._body(piece) >= 0 else 1)

    # ------------------------------------------------------------ facts

    def declare(self, writer: ScriptWriter) -> None:
        """When each begins and ends, and what the plan says of that."""
        for at in self.every:
            writer.lines += [f"(declare-const begin{at} Int)", f"(declare-const end{at} Int)"]
            writer.lines.append(f"(assert (< begin{at} end{at}))")
        writer.lines += [f"(assert (<= end{p} begin{q}))" for p, q in self.facts]

    @cached_property
    def facts(self) -> list[tuple[str, str]]:
        """What the plan says: the first ends before the second begins."""
        return list(dict.fromkeys(self._stated()))

    @cached_property
    def _next(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for p, q in self.facts:
            found.setdefault(p, []).append(q)
        return found

    def _behind(self, start: str) -> set[str]:
        """What begins after something has ended."""
        found, left = set[str](), [start]
        while left:
            for one in self._next.get(left.pop(), ()):
                if one not in found:
                    found.add(one)
                    left.append(one)
        return found

    def _stated(self) -> Iterator[tuple[str, str]]:
        for piece in range(len(self.order.pieces)):
            for part in self._parts(piece)[1:]:
                for i in self.iterations(piece):
                    yield self.at(TimedWork(piece, READS), i), self.at(TimedWork(piece, part), i)
        for p, q in edges(self.program, self.order):
            yield from self._one_behind(self._all_of(p, q))
        for p, q in lane_edges(self.program, self.order):
            yield from self._one_behind(self._alike(p, q))
        for p, q, far in self._waits():
            for one, other in self._all_of(p, q):
                yield from ((self.at(one, i), self.at(other, i + far)) for i in range(self.reach + 1 - far))
        for one, other in self._around():
            yield from ((self.at(one, i), self.at(other, i + 1)) for i in range(self.reach))

    def _waits(self) -> list[tuple[int, int, int]]:
        """Pieces of one body of which all of the first ends before the second begins, so many iterations later."""
        own = earlier_edges(self.program, self.order.of_step)
        return [*own, *(edge for edge in self.order.queued if edge[2])]

    def _one_behind(self, pairs: Sequence[tuple[TimedWork, TimedWork]]) -> Iterator[tuple[str, str]]:
        """Of one body in each iteration, of others in any two."""
        for p, q in pairs:
            if self.order.one_body(p.piece, q.piece):
                yield from ((self.at(p, i), self.at(q, i)) for i in self.iterations(p.piece))
            else:
                for i in self.iterations(p.piece):
                    yield from ((self.at(p, i), self.at(q, j)) for j in self.iterations(q.piece))

    def _all_of(self, p: int, q: int) -> list[tuple[TimedWork, TimedWork]]:
        """All of a piece has ended where another begins."""
        return [(TimedWork(p, part), TimedWork(q, self._parts(q)[0])) for part in self._parts(p)]

    def _alike(self, p: int, q: int) -> list[tuple[TimedWork, TimedWork]]:
        """Parts of one kind are done in order."""
        return [(TimedWork(p, part), TimedWork(q, part)) for part in self._parts(p) if part in self._parts(q)]

    def _around(self) -> Iterator[tuple[TimedWork, TimedWork]]:
        """TimedWork of one loop of which the first ends before the second begins in the next iteration."""
        order = self.order
        for body in sorted(set(order.bodies) - {-1}):
            steps = [step for step, of in enumerate(order.bodies) if of == body]
            pieces = [p for step in steps for p in order.of_step[step]]
            for p in pieces:
                yield from self._alike(p, p)
            if self.program.order == "written":
                for p in order.of_step[steps[-1]]:
                    for q in order.of_step[steps[0]]:
                        yield from self._all_of(p, q)
            elif self.program.order == "contexts":
                lanes: dict[str, list[int]] = {}
                for p in pieces:
                    lanes.setdefault(order.pieces[p].queue, []).append(p)
                for found in lanes.values():
                    yield from self._alike(found[-1], found[0])


def edges(program: Program, order: Order) -> list[tuple[int, int]]:
    """Pieces of which the plan says that all of the first ends before the second begins: `after`, the written order,
    steps of one context, commands of one engine.
    """
    index = {step.name: number for number, step in enumerate(program.steps)}
    before = [(index[name], number) for number, step in enumerate(program.steps) for name in step.after]
    before += [(n - 1, n) for n in range(1, len(program.steps)) if program.order == "written"]
    queued = [(p, q) for p, q, distance in order.queued if not distance]
    return [*queued, *((p, q) for a, b in before for p in order.of_step[a] for q in order.of_step[b])]


def lane_edges(program: Program, order: Order) -> list[tuple[int, int]]:
    """Each piece of a queue with the next."""
    found, lanes = [], dict[str, int]()
    for q, piece in enumerate(order.pieces) if program.order == "contexts" else ():
        found += [(lanes[piece.queue], q)] if piece.queue in lanes else []
        lanes[piece.queue] = q
    return found
