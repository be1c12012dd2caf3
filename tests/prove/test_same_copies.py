"""Lists of copies compared event by event, against what both leave when they are done row by row."""

import random
from itertools import product

import pytest

from dmaverify.language.affine import ZERO, Lin, World
from dmaverify.program.instructions import Copy, CopyStep, CopyTouch, KernelLoop, Place
from dmaverify.prove.flow.accesses.step_events import NOWHERE
from dmaverify.prove.flow.equality.same_events import compare_events
from dmaverify.values import replace

Side = tuple[str, int]
"""What an address counts from, and the address."""
Steps = tuple[tuple[int, int, int], ...]
"""Count, read step, write step; inner to outer."""
Drawn = tuple[Side, Side, int, Steps]


def copied(drawn: Drawn, *ahead: Lin) -> Copy:
    """One copy, its read and its write side moved by `ahead`."""
    read, write, row, steps = drawn
    places = [
        Place("m", root, Lin(at) + far) for (root, at), far in zip((read, write), ahead or (ZERO, ZERO), strict=True)
    ]
    levels = tuple(CopyStep(Lin(count), Lin(by), Lin(to)) for count, by, to in steps)
    touches = tuple(
        CopyTouch(kind, place, ZERO, Lin(row), tuple((one.count, getattr(one, side)) for one in levels))
        for kind, side, place in zip(("read", "data"), ("read", "write"), places, strict=True)
    )
    return Copy(0, "c", "p", *places, Lin(row), levels, None, {}, {}, NOWHERE, touches=touches)


def left(drawn: list[Drawn]) -> dict[Side, Side]:
    memory: dict[Side, Side] = {}
    for (from_, read), (to, write), row, steps in drawn:
        for at in product(*(range(count) for count, _, _ in reversed(steps)), range(row)):
            by = [*reversed(steps), (row, 1, 1)]
            source = from_, read + sum(n * one[1] for n, one in zip(at, by, strict=True))
            dest = to, write + sum(n * one[2] for n, one in zip(at, by, strict=True))
            memory[dest] = memory.get(source, source)
    return {at: value for at, value in memory.items() if at != value}


def drawn_copies(chooses: random.Random) -> list[Drawn]:
    roots = ("", "x") if chooses.random() < 0.5 else ("",)
    return [
        (
            (chooses.choice(roots), chooses.randrange(24)),
            (chooses.choice(roots), chooses.randrange(40)),
            chooses.choice((1, 2, 4)),
            tuple(
                (chooses.choice((1, 2, 3)), chooses.choice((0, 1, 2, 4, 8)), chooses.choice((0, 1, 2, 4, 8, 16)))
                for _ in range(chooses.randrange(3))
            ),
        )
        for _ in range(chooses.choice((1, 1, 2, 3)))
    ]


def otherwise(drawn: list[Drawn], chooses: random.Random) -> list[Drawn]:
    """The copies in another order, in more or fewer of them, with loops turned, or one side moved by a byte."""
    out = list(drawn)
    for _ in range(chooses.choice((0, 1, 1, 2, 3))):
        number = chooses.randrange(len(out))
        read, write, row, steps = out[number]
        way = chooses.choice(("order", "loops", "one by one", "shorter rows", "moved"))
        if way == "order":
            chooses.shuffle(out)
        elif way == "loops":
            out[number] = read, write, row, tuple(chooses.sample(steps, len(steps)))
        elif way == "one by one" and steps:
            *rest, (count, by, to) = steps
            sides = [((read[0], read[1] + n * by), (write[0], write[1] + n * to)) for n in range(count)]
            out[number : number + 1] = [(*both, row, tuple(rest)) for both in sides]
        elif way == "shorter rows" and row > 1:
            out[number] = read, write, row // 2, ((2, row // 2, row // 2), *steps)
        elif way == "moved":
            out[number] = (read[0], read[1] + chooses.choice((1, -1))), write, row, steps
    return out


def in_loops(drawn: list[Drawn], world: World, chooses: random.Random) -> list[Copy | KernelLoop]:
    """Some of the copies with their outermost loop around them."""
    out: list[Copy | KernelLoop] = []
    for read, write, row, steps in drawn:
        if not steps or chooses.random() < 0.6:
            out.append(copied((read, write, row, steps)))
            continue
        *rest, (count, by, to) = steps
        counter = world.free(f"i{len(world.symbols)}", 0, count - 1)
        body = copied((read, write, row, tuple(rest)), counter * by, counter * to)
        out.append(KernelLoop(counter.terms[0][0], Lin(count), (body,), NOWHERE))
    return out


def test_drawn_copies_are_the_same_where_they_leave_the_same() -> None:
    told = dict.fromkeys(("proved", "refuted", "unknown"), 0)
    for seed in range(250):
        chooses, world = random.Random(seed), World()
        one = drawn_copies(chooses)
        other = otherwise(one, chooses)
        answer = compare_events(in_loops(one, world, chooses), world, in_loops(other, world, chooses), world)
        assert answer.status in ("proved" if left(one) == left(other) else "refuted", "unknown"), seed
        told[answer.status] += 1
    assert min(told.values()) > 10


@pytest.mark.parametrize(("taken", "status"), [(11, "proved"), (12, "unknown"), (15, "unknown"), (16, "proved")])
def test_a_copy_of_what_another_one_fills_is_not_turned(taken: int, status: str) -> None:
    """Both buffers are of one memory, and count from arguments."""
    fills, takes = copied((("x", 21), ("", 12), 4, ())), copied((("", taken), ("x", 64), 1, ()))
    world = World()
    assert compare_events([fills, takes], world, [takes, fills], world).status == status


def test_what_is_stored_behind_two_loads_does_not_keep_these_from_being_one() -> None:
    """Copies from elsewhere, or to elsewhere, are of another row of copies."""
    world = World()
    whole, *halves = (copied((("x", at), ("y", at), row, ())) for at, row in ((0, 4), (0, 2), (2, 2)))
    store = copied((("y", 0), ("z", 0), 4, ()))
    away = replace(store, read=replace(store.read, space="m"), write=replace(store.write, space="n"))
    assert compare_events([whole, away], world, [*halves, away], world).status == "proved"
