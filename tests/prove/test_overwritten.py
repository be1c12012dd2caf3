"""Writes over what was written before: what excuses them, against every iteration of drawn programs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import pytest
from lab.draws import seeds

from dmaverify.program.schedule import Circle, Order, Program, Step, order_of
from dmaverify.prove.flow.accesses.overwritten import read_before
from dmaverify.values import dataclass, replace

CELLS = 4


@dataclass(frozen=True)
class DrawnWrite:
    step: int


@dataclass(frozen=True)
class DrawnSteps:
    """Steps one after the other, in bodies of loops; of each the cells that it touches in each iteration."""

    turns: list[int]  # of each step
    cells: list[list[frozenset[int]]]
    order: Order
    own: list[frozenset[int]]  # what the second writer reads itself, in each of its iterations

    def happen(self) -> Iterator[tuple[int, int]]:
        steps = list(range(len(self.turns)))
        while steps:
            body = [s for s in steps if s == steps[0] or self.order.steps_of_one_body(s, steps[0])]
            for turn in range(self.turns[steps[0]]):
                yield from ((step, turn) for step in body)
            steps = steps[len(body) :]

    def read(self, step: int, turn: int, second: int) -> frozenset[int]:
        return self.own[turn] if step == second else self.cells[step][turn]

    def has_all(self, write: DrawnWrite, steps: Sequence[int], every: Sequence[int], second: int) -> bool:
        def reads(step: int) -> list[frozenset[int]]:
            return [self.read(step, turn, second) for turn in range(self.turns[step])]

        for turn, cells in enumerate(self.cells[write.step]):
            found = [frozenset[int]()]
            for step in steps:
                mate = self.order.steps_of_one_body(step, write.step) or step == write.step
                found.append(reads(step)[turn] if mate else frozenset().union(*reads(step)))
            found += [frozenset.intersection(*reads(step)) for step in every]
            if not cells <= frozenset().union(*found):
                return False
        return True

    def lost(self, first: int, second: int, readers: Sequence[int]) -> bool:
        """Whether the second writes over what the first wrote and nobody read since."""
        unread = set[int]()
        for step, turn in self.happen():
            if step in readers:
                unread = unread - self.read(step, turn, second)
            if step == second and not unread.isdisjoint(self.cells[step][turn]):
                return True
            unread |= self.cells[step][turn] if step == first else set()
        return False


def drawn(draw: random.Random) -> DrawnSteps:
    loops, turns, cells = list[tuple[tuple[str, int], ...]](), list[int](), list[list[frozenset[int]]]()
    windows = [(draw.randrange(CELLS), draw.choice((0, 1, 1)), draw.choice((1, 2, CELLS))) for _ in range(3)]
    for number in range(draw.randint(1, 2)):
        many = draw.choice((1, 3, 3))
        for _ in range(draw.randint(1, 4)):
            loops.append(((f"t{number}", many),) if many > 1 else ())
            turns.append(many)
            start, step, length = draw.choice(windows)
            cells.append([frozenset((start + step * k + i) % CELLS for i in range(length)) for k in range(many)])
    steps = tuple(Step(f"s{number}", loops=own) for number, own in enumerate(loops))
    order = order_of(Program("p", "none", steps, order="written"), [["lane"]] * len(steps))
    assert not isinstance(order, Circle)
    return DrawnSteps(turns, cells, order, [])


@pytest.mark.parametrize("itself", [False, True])
@pytest.mark.parametrize("seed", seeds(4, 40))
def test_what_is_read_before_it_is_written_again_is_in_no_iteration_lost(seed: int, itself: bool) -> None:
    """Also by the step that writes it again, which reads before it writes."""
    draw, seen = random.Random(seed), Counter[tuple[bool, bool, bool]]()
    for _ in range(400):
        made = drawn(draw)
        first, second = (DrawnWrite(draw.randrange(len(made.turns))) for _ in range(2))
        second = first if first == second else second
        own = [frozenset(c for c in range(CELLS) if draw.random() < 0.8) for _ in range(made.turns[second.step])]
        made = replace(made, own=own)
        readers = [step for step in range(len(made.turns)) if step not in (first.step, second.step)]
        readers += [second.step] if itself else []
        kept = read_before(first, second, readers, made.order, partial(made.has_all, second=second.step))
        lost = made.lost(first.step, second.step, readers)
        assert not (kept and lost), (made, first, second)
        seen[first is second, kept, lost] += 1
    assert all(seen[same, kept, not kept] > 10 for same in (False, True) for kept in (False, True)), seen
