"""Small programs with loops at the level of touches, drawn at random, and their hazards by listing every iteration.

Knows: lanes, `after`, loops, engines that are launched; every byte of every iteration.
Does not know: pipes, flags, equations, solvers.
Law: two pieces of work are ordered where a chain of edges leads from one to the other; nothing else orders them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from math import prod

from dmaverify.program.schedule import Program, Step, bodies_of
from dmaverify.program.turns import Turn, turns_of
from dmaverify.prove.flow.accesses.touches import StepWork, Touch
from dmaverify.prove.meet import Walk
from dmaverify.values import replace

Node = tuple[int, int, str, str]  # step, iteration, lane, side ("" where an engine is one)


def draw_steps(rng: random.Random, *, back: bool = False) -> tuple[Program, list[StepWork]]:
    """Two to five steps on one to three lanes, some in loops whose digits move what they touch; `back`: some wait for
    what others did one to three iterations before.
    """
    lanes, loops = [f"L{i}" for i in range(rng.randint(1, 3))], ()
    steps, works = [], []
    for number in range(rng.randint(2, 5)):
        if rng.random() < 0.45:
            loops = tuple((f"t{i}", rng.choice([1, 1, 2, 3, 4, 8, 9])) for i in range(rng.choice([0, 1, 1, 2])))
        after = tuple(f"s{i}" for i in range(number) if rng.random() < 0.3)
        cuts = {
            name: [d for d in (2, 3) if count % d == 0 and d < count and rng.random() < 0.5][:1]
            for name, count in loops
        }
        turns = turns_of(loops, cuts)
        own = rng.sample(lanes, 2 if len(lanes) > 1 and rng.random() < 0.3 else 1)
        operation = len(own) == 1 and rng.random() < 0.2
        touches = [
            _draw_touch(rng, number, lane, turns, writes=writes)
            for lane in own
            for writes in ((False, True) if operation or rng.random() < 0.4 else (rng.random() < 0.5,))
        ]
        steps.append(Step(f"s{number}", loops=loops, after=after))
        works.append(StepWork(tuple(own), tuple(touches), accesses=((None, None),) if operation else ()))  # type: ignore[arg-type]
    order = rng.choice(["contexts", "contexts", "contexts", "none", "written"])
    bodies = bodies_of(steps)
    for number, step in enumerate(steps) if back else ():
        fellows = [other.name for other, body in zip(steps, bodies, strict=True) if body == bodies[number] >= 0]
        waits = tuple((name, rng.randint(1, 3)) for name in fellows if rng.random() < 0.4)
        steps[number] = replace(step, earlier=waits)
    return Program("p", "rngd", tuple(steps), order=order), works


def _draw_touch(rng: random.Random, step: int, lane: str, turns: tuple[Turn, ...], *, writes: bool) -> Touch:
    loops = [(turn.count, rng.choice([0, 0, 8, 8, 16, 64, -8, 4])) for turn in turns]
    loops += [(rng.choice([1, 2, 3]), rng.choice([8, 16, 32])) for _ in range(rng.randint(0, 1))]
    walk = Walk(rng.randrange(64, 257, 8), (*loops, (rng.choice([4, 8, 16]), 1)))
    return Touch(step, lane, writes, ("dm", 0, rng.choice([0, 0, 1])), walk, ("n",) * len(walk.loops), "x", turns=turns)


def unrolled_hazards(program: Program, works: list[StepWork], *, launched: bool) -> set[tuple[int, int, str]]:
    """Steps (the smaller number first) that share a byte without order, and whether both write."""
    nodes = list(_nodes(program, works, launched))
    before = _before(program, nodes)
    bytes_ = [_bytes(works[node[0]], node) for node in nodes]
    found = set()
    for j, later in enumerate(nodes):
        for i, earlier in enumerate(nodes[: j + 1]):
            if before[j] >> i & 1 or before[i] >> j & 1:
                continue
            if later[:2] == earlier[:2] and (i != j or not works[later[0]].accesses):
                continue  # one step in one iteration: only what an operation does at once
            ends = min(later[0], earlier[0]), max(later[0], earlier[0])
            for n, (memory, writes, touched) in enumerate(bytes_[j]):
                for other, wrote, reached in bytes_[i][:n] if i == j else bytes_[i]:
                    if memory == other and (writes or wrote) and touched & reached:
                        found.add((*ends, "waw" if writes and wrote else "read and write"))
    return found


def always_ordered(program: Program, works: list[StepWork]) -> set[tuple[tuple[int, str], tuple[int, str]]]:
    """Pieces (step and lane) of which, of any two iterations, one ends before the other begins."""
    nodes = list(_nodes(program, works, False))
    before = _before(program, nodes)
    every = {(step, lane) for step, _, lane, _ in nodes}
    free = {
        (one[0::2], other[0::2])
        for (i, one), (j, other) in product(enumerate(node[:3] for node in nodes), repeat=2)
        if i != j and not before[j] >> i & 1 and not before[i] >> j & 1
    }
    return {pair for pair in product(every, repeat=2) if pair not in free}


def earliest(program: Program, works: list[StepWork], cycles: dict[tuple[int, str], float]) -> dict[Node, float]:
    """When each piece of work of each iteration ends, as early as the order lets it."""
    nodes = list(_nodes(program, works, False))
    ends: list[float] = []
    for node, mask in zip(nodes, _before(program, nodes), strict=True):
        start = max((end for i, end in enumerate(ends) if mask >> i & 1), default=0.0)
        ends.append(start + cycles[node[0], node[2]])
    return dict(zip(nodes, ends, strict=True))


def _nodes(program: Program, works: list[StepWork], launched: bool) -> Iterator[Node]:
    bodies = bodies_of(program.steps)
    for body in dict.fromkeys(b if b >= 0 else n for n, b in enumerate(bodies)):
        members = [n for n, b in enumerate(bodies) if (b if b >= 0 else n) == body]
        for turn in range(prod(count for _, count in program.steps[members[0]].loops)):
            for step in members:
                sides = ("r", "w") if launched and not works[step].accesses else ("",)
                yield from ((step, turn, lane, side) for lane in works[step].lanes for side in sides)


def _before(program: Program, nodes: list[Node]) -> list[int]:
    """Bit i of entry j: node i is done before node j begins. All edges lead onwards."""
    bodies, index = bodies_of(program.steps), {step.name: n for n, step in enumerate(program.steps)}
    out: list[int] = []
    for j, (step, turn, lane, side) in enumerate(nodes):
        mask = 0
        for i, (other, when, its, which) in enumerate(nodes[:j]):
            one_body = bodies[other] == bodies[step] >= 0
            begins = which == side or (which, side) == ("r", "w")
            edge = (other, when, its) == (step, turn, lane)
            edge |= program.order == "contexts" and lane == its and begins
            edge |= (other, lane) == (step, its) and begins
            edge |= program.order == "written" and (other, when) != (step, turn)
            waits = {(index[name], turn - far) for name, far in program.steps[step].earlier}
            edge |= one_body and (other, when) in waits
            edge |= other in {index[name] for name in program.steps[step].after} and (when == turn or not one_body)
            mask |= (1 << i | out[i]) if edge else 0
        out.append(mask)
    return out


def _bytes(work: StepWork, node: Node) -> list[tuple[object, bool, set[int]]]:
    _, turn, lane, side = node
    out = []
    for touch in work.touches:
        if touch.lane != lane or (side and touch.writes != (side == "w")):
            continue
        loops, at = touch.walk.loops[len(touch.turns) :], touch.walk.base
        iteration, inside = turn, {}
        for name, count in reversed(list(dict.fromkeys((t.loop, t.of) for t in touch.turns))):
            iteration, inside[name] = divmod(iteration, count)
        for t, (_, stride) in zip(touch.turns, touch.walk.loops, strict=False):
            at += inside[t.loop] // t.weight % t.count * stride
        ways = product(*(range(count) for count, _ in loops))
        out.append(
            (touch.memory, touch.writes, {at + sum(c * s for c, (_, s) in zip(w, loops, strict=True)) for w in ways})
        )
    return out
