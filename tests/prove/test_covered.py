"""Rows that hold what is read: what is said of nests over symbols, against every byte at every value."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest
from lab.draws import seeds

from dmaverify.language.affine import ONE, ZERO, Lin, World, compare
from dmaverify.program.instructions import CopyTouch, Place
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.covered import holds_all

VALUES = range(1, 4)  # of the one symbol


def bytes_of(touch: CopyTouch, put: dict[str, Lin], world: World, loop: tuple[str, Lin] | None = None) -> set[int]:
    """The bytes of a nest; `loop` is its last level, whose counter its length may depend on."""
    out = set[int]()
    numbers = [(world.put(count, put).const, world.put(stride, put).const) for count, stride in touch.steps]
    for at in product(*(range(count) for count, _ in numbers)):
        here = {**put, loop[0]: Lin(at[-1])} if loop is not None else put
        start = world.put(touch.place.address + touch.offset, here).const
        start += sum(k * stride for k, (_, stride) in zip(at, numbers, strict=True))
        out |= set(range(start, start + world.put(touch.length, here).const))
    return out


@pytest.mark.parametrize("seed", seeds(4, 30))
def test_rows_hold_what_is_read_where_every_byte_of_it_is_one_of_theirs_at_every_value(seed: int) -> None:
    draw, seen = random.Random(seed), Counter[tuple[bool, bool]]()
    for _ in range(150):
        world = World()
        n = world.free("n", VALUES[0], VALUES[-1], stated=True)
        k = world.free("k", 0, None, side=(compare("lt", Lin(0, (("k", 1),)) - n),))  # counts a loop of n iterations

        def number(*of: int, often: float = 0.7, n: Lin = n) -> Lin:
            return Lin(draw.choice(of)) if draw.random() < often else n * draw.choice((1, 2, 4))

        def steps(n: Lin = n) -> tuple[tuple[Lin, Lin], ...]:
            some = ((Lin(draw.choice((1, 2, 3))), ONE * draw.choice((0, 2, 4, 8))), (n, ONE * draw.choice((2, 4))))
            return tuple(draw.sample(some, draw.choice((0, 1, 1, 2))))

        own = steps()
        block = draw.choice((2, 4, 4, 8))
        looped = draw.random() < 0.6
        shorter = looped and draw.random() < 0.3  # the length rests on the counter: blocks grow, or shrink
        rows = (*own, (n, Lin(draw.choice((0, 4, block))))) if looped else own
        length = (Lin(block) + k if draw.random() < 0.5 else Lin(block) + n - k - 1) if shorter else Lin(block)
        write = CopyTouch("data", Place("ub", "", ZERO), Lin(draw.choice((0, 0, 1))), length, rows)
        read = CopyTouch(
            "read", Place("ub", "", number(0, 0, 1, 2, often=0.9)), ZERO, number(1, 2, 4, 8),
            draw.choice((own, own, steps(), ())),
        )  # fmt: skip
        loops = ((k.terms[0][0], n),) if looped else ()
        asker = Asker(world, 400_000)
        said = any(holds_all(asker, read, write, loops, (), alike=alike) for alike in (True, False))
        held = all(
            bytes_of(read, {"n": Lin(value)}, world)
            <= bytes_of(write, {"n": Lin(value)}, world, loops[0] if loops else None)
            for value in VALUES
        )
        assert held or not said, (read, write)
        seen[said, held] += 1
    assert seen[True, True] > 20, seen
    assert seen[False, False] > 20, seen
