"""Buffers behind branches: what is said of drawn writes and uses, against every run of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import compress, product

import pytest
from lab.draws import seeds

from dmaverify.program.ways import OnWay, Way, WayChoice
from dmaverify.prove.flow.buffers import (
    COVER,
    ONCE,
    BufferJudge,
    CellsFound,
    HeldAccess,
    HeldBuffer,
    Judged,
    OpenClaim,
    UnmetUse,
)
from dmaverify.prove.meet import Walk
from dmaverify.values import replace

SIZE, DECISIONS = 24, 3


def choice(decision: int, arm: int) -> WayChoice:
    return WayChoice(f"d{decision}", arm, 2, (f"{decision} holds", f"{decision} does not"), frozenset((decision,)))


def cells(walk: Walk) -> Counter[int]:
    return Counter(walk.address(at) for at in product(*(range(count) for count, _ in walk.loops)))


def drawn_way(draw: random.Random) -> OnWay:
    def way(most: int) -> Way:
        return tuple(choice(d, draw.randrange(2)) for d in sorted(draw.sample(range(DECISIONS), draw.randint(0, most))))

    inner = tuple(OnWay(one) for one in [way(2) for _ in range(draw.choice((0, 0, 1)))] if one)
    exits = tuple(OnWay(one, inner) for one in [way(2) for _ in range(draw.choice((0, 0, 0, 1)))] if one)
    return OnWay(way(2), exits)


def drawn_walk(draw: random.Random) -> Walk:
    while True:
        loops = tuple((draw.choice((1, 2, 3, 4)), draw.choice((1, 2, 3, 4, 6, 12))) for _ in range(draw.randint(0, 3)))
        walk = Walk(0, loops)
        if walk.high < SIZE:
            return Walk(draw.randrange(SIZE - walk.high), loops)


def drawn(draw: random.Random) -> HeldBuffer:
    whole = Walk(0, ((SIZE, 1),))
    alone = draw.random() < 0.5
    writes, uses = [], []
    for at in range(draw.randint(1, 6)):
        tiled, when = draw.random() < 0.8, drawn_way(draw)
        made = drawn_walk(draw) if tiled else whole
        if alone or draw.random() < 0.6:
            writes.append(HeldAccess(at, when, made, at + 1, tiled=tiled, partial=tiled and draw.random() < 0.1))
        else:
            uses.append(HeldAccess(at, when, made, at + 1, tiled=tiled))
    uses.append(HeldAccess(9, OnWay(), whole))
    return HeldBuffer("x", SIZE, whole, tuple(writes), tuple(uses), own=True, alone=alone)


def happens(when: OnWay, arms: tuple[int, ...]) -> bool:
    taken = all(one.arm == arms[int(one.decision[1:])] for one in when.path)
    return taken and not any(happens(one, arms) for one in when.exits)


def runs(buffer: HeldBuffer, *, perhaps: bool) -> Iterator[tuple[dict[HeldAccess, set[int]], Counter[int]]]:
    """Of every run: what each use misses, and how often each cell is written; with what is written in part or not."""
    for arms in product(range(2), repeat=DECISIONS):
        times: Counter[int] = Counter()
        missed: dict[HeldAccess, set[int]] = {}
        for one in sorted((*buffer.writes, *buffer.uses), key=lambda access: access.at):
            if not happens(one.when, arms) or one.cells is None:
                continue
            if one in buffer.writes:
                times += cells(one.cells) if perhaps or not one.partial else Counter()
            else:
                missed[one] = set(cells(one.cells)) - set(times)
        yield missed, times


def judged(buffer: HeldBuffer) -> list[Judged]:
    return list(BufferJudge(buffer).judge())


@pytest.mark.parametrize("seed", seeds(8, 30))
def test_a_use_of_what_some_run_did_not_write_is_found_and_no_other(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(12):
        buffer = drawn(draw)
        found = [one for one in judged(buffer) if isinstance(one, UnmetUse | OpenClaim)]
        found = [one for one in found if isinstance(one, UnmetUse) or one.rule != ONCE]
        least, most = (list(runs(buffer, perhaps=perhaps)) for perhaps in (False, True))
        assert found or not any(left for missed, _ in least for left in missed.values()), buffer
        for one in found:
            if isinstance(one, UnmetUse):
                left = [missed[one.use] for missed, _ in most if one.use in missed]
                assert any(len(some) >= (one.count or 1) and (not one.count or one.first in some) for some in left), (
                    buffer
                )
                named = [choice(d, arm) for d in range(DECISIONS) for arm in range(2)]
                way = OnWay(tuple(arm for arm in named if arm.names[arm.arm] in one.way.split(" and ")))
                on_it = [bool(buffer.writes) and happens(way, arms) for arms in product(range(2), repeat=DECISIONS)]
                assert all(len(missed.get(one.use, ())) >= (one.count or 1) for missed, _ in compress(most, on_it)), (
                    buffer
                )


@pytest.mark.parametrize("seed", seeds(8, 30))
def test_cells_that_are_written_twice_in_some_run_are_found_and_no_others(seed: int) -> None:
    draw = random.Random(1000 + seed)
    for _ in range(12):
        buffer = drawn(draw)
        twice = [{cell for cell, many in times.items() if many > 1} for _, times in runs(buffer, perhaps=True)]
        found = judged(buffer)
        told = [one for one in found if isinstance(one, CellsFound | OpenClaim) and one.rule == ONCE]
        settled = buffer.tiled and all(write.tiled and not write.partial for write in buffer.writes)
        if settled and buffer.alone:
            assert bool(told) == any(twice), buffer
        for one in told:
            if isinstance(one, CellsFound) and buffer.alone:
                assert all(len(some) >= one.count and one.first in some for some in twice), buffer
                assert settled


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_cells_of_a_given_buffer_that_no_write_has_are_counted(seed: int) -> None:
    draw = random.Random(2000 + seed)
    for _ in range(12):
        buffer = replace(drawn(draw), own=False)
        left = set(range(SIZE)) - {cell for write in buffer.writes for cell in cells(write.cells or Walk(0, ()))}
        told = [one for one in judged(buffer) if isinstance(one, CellsFound) and one.rule == COVER]
        if buffer.tiled and not any(write.partial for write in buffer.writes):
            assert [(one.count, one.first) for one in told] == ([(len(left), min(left))] if left else [])
        else:
            assert not told


def test_a_use_at_a_start_that_nobody_knows_may_be_of_what_was_written_and_of_nothing_else() -> None:
    whole, half = Walk(0, ((SIZE, 1),)), Walk(0, ((SIZE // 2, 1),))
    use = HeldAccess(1, OnWay(), None, 2, certain=False, tiled=True)
    for at, told in ((0, OpenClaim), (2, UnmetUse)):
        write = HeldAccess(at, OnWay(), half, 1, tiled=True)
        (found,) = judged(HeldBuffer("x", SIZE, whole, (write,), (use,), own=True, alone=True))
        assert isinstance(found, told)


def test_cells_that_are_too_many_to_be_counted_leave_a_claim_open() -> None:
    whole, tiles = Walk(0, ((1 << 40, 1),)), Walk(0, ((1 << 11, (1 << 20) + 1), (1 << 10, 3)))
    write, use = HeldAccess(0, OnWay(), tiles, 1, tiled=True), HeldAccess(1, OnWay(), whole)
    for own, unknown in ((True, True), (False, False)):
        made = judged(HeldBuffer("x", 1 << 40, whole, (write,), (use,), own=own, alone=True))
        assert [(one.unknown, "too many" in one.why) for one in made if isinstance(one, OpenClaim)] == [(unknown, True)]
        assert len(made) == 1
