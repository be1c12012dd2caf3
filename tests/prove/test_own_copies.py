"""Whether copies of one step meet: drawn copies are done unit by unit, in orders that are allowed."""

import random

import pytest

from dmaverify.prove.meet import Walk
from dmaverify.prove.move.own_copies import OwnCopy, order_decides


def drawn(chooses: random.Random) -> list[OwnCopy]:
    """Up to three walks over sixteen places of one memory, on two lanes, in up to two rounds."""
    out = []
    for _ in range(chooses.choice((1, 2, 2, 3))):
        counts = [chooses.choice((1, 2, 3)), chooses.choice((1, 2))]
        read, write = (
            Walk(chooses.randrange(8), ((counts[0], chooses.choice((0, 1, 2, 3))), (counts[1], 1))) for _ in range(2)
        )
        out.append(OwnCopy("m", "m", read, write, chooses.randrange(2), chooses.choice((0, 0, 0, 1))))
    return sorted(out, key=lambda one: one.round)


def done(copies: list[OwnCopy], chooses: random.Random, *, in_any: bool, launched: bool) -> list[int]:
    """What sixteen places hold behind the copies, one round behind the other, in an order that is drawn. Launched, a
    write arrives any time behind its read, but behind those of its lane before it.
    """
    memory = list(range(24))
    for turn in sorted({one.round for one in copies}):
        lanes: dict[object, list[tuple[int, int]]] = {}
        for number, one in enumerate(copies):
            if one.round == turn:
                assert isinstance(one.read, Walk)
                assert isinstance(one.write, Walk)
                pairs = list(zip(one.read.listed.tolist(), one.write.listed.tolist(), strict=True))
                if in_any:
                    chooses.shuffle(pairs)
                lanes.setdefault(number if in_any else one.lane, []).extend(pairs)
        left = [list(pairs) for pairs in lanes.values()]
        waiting: list[list[tuple[int, int]]] = [[] for _ in left]
        while any(left) or any(waiting):
            at = chooses.choice([n for n, _ in enumerate(left) if left[n] or waiting[n]])
            if left[at] and not (waiting[at] and chooses.random() < 0.5):
                read, write = left[at].pop(0)
                waiting[at].append((write, memory[read]))
            if waiting[at] and not (launched and left[at] and chooses.random() < 0.5):
                write, value = waiting[at].pop(0)
                memory[write] = value
    return memory


@pytest.mark.parametrize(("in_any", "launched"), [(True, False), (False, False), (False, True)])
def test_where_no_order_decides_every_order_leaves_the_same(in_any: bool, launched: bool) -> None:
    free = clashes = 0
    for seed in range(400):
        chooses = random.Random(seed)
        copies = drawn(chooses)
        walks = order_decides(copies, in_any=in_any, launched=launched)
        places = [one._replace(read=one.read.listed, write=one.write.listed) for one in copies]
        lists = order_decides(places, in_any=in_any, launched=launched)
        left = {tuple(done(copies, chooses, in_any=in_any, launched=launched)) for _ in range(8)}
        if len(left) > 1:
            assert walks, seed
            assert lists, seed
        free, clashes = free + (not lists), clashes + (len(left) > 1)
    assert min(free, clashes) > 50
