"""Buffers behind branches: what is said of drawn writes and uses, against every run of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import compress, product
from math import prod

import pytest
from lab.draws import seeds

from dmaverify.program.ways import ANY, OnWay, Way, WayChoice, WayTerm
from dmaverify.prove.flow.coverage.buffers import (
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
from dmaverify.prove.flow.initialization.unwritten import LoopMove, RowAccess
from dmaverify.prove.meet import Walk
from dmaverify.values import replace

SIZE, DECISIONS = 24, 3


def choice(decision: int, arm: int) -> WayChoice:
    asked = WayTerm(ANY, ends=(0, 2), value=decision)
    names = (f"{decision} holds", f"{decision} does not")
    return WayChoice(f"d{decision}", arm, 2, names, (asked, asked.negated()))


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
            writes.append(
                HeldAccess(at, when, RowAccess(made), at + 1, tiled=tiled, partial=tiled and draw.random() < 0.1)
            )
        else:
            uses.append(HeldAccess(at, when, RowAccess(made), at + 1, tiled=tiled))
    uses.append(HeldAccess(9, OnWay(), RowAccess(whole)))
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


Body = list["HeldAccess | tuple[int, Body]"]
"""Accesses in the order of the text, and loops by their number."""


def looped(draw: random.Random) -> tuple[HeldBuffer, Body, dict[int, int], dict[object, list[int]]]:
    """A buffer whose accesses stand in loops that are read once: with the text, the turns of each loop, and in which
    order the turns of two loops make a number that is no progression of one of them.
    """
    turns: dict[int, int] = {}
    orders: dict[object, list[int]] = {}
    every: list[tuple[HeldAccess, bool]] = []

    def moves(around: dict[int, int]) -> frozenset[LoopMove]:
        if len(around) == 2 and draw.random() < 0.2:
            many = prod(around.values())
            order = orders.setdefault(frozenset(around), draw.sample(range(many), many))
            return frozenset([LoopMove(frozenset(around), frozenset(around), len(order), draw.choice((1, 2, 4)))])
        steps = {loop: draw.choice((0, 1, 2, 2, 4, -2)) for loop, count in around.items() if count > 1}
        return frozenset(LoopMove(i, frozenset((i,)), around[i], step) for i, step in steps.items() if step)

    def access(around: dict[int, int]) -> HeldAccess:
        told = {loop: 0 if turns[loop] < 0 else count for loop, count in around.items()}
        when = OnWay(
            tuple(choice(d, draw.randrange(2)) for d in draw.sample(range(2), draw.choice((0, 0, 0, 1)))), (), told
        )
        while True:
            known = {loop: count for loop, count in around.items() if turns[loop] > 0}
            row = RowAccess(Walk(0, ((draw.choice((1, 2, 4, 8, SIZE)), 1),)), moves(known))
            like = [one.row for one, _ in every if one.row and all(m.loops <= known.keys() for m in one.row.moves)]
            if like and draw.random() < 0.5:
                row = replace(draw.choice(like), walk=row.walk if draw.random() < 0.2 else like[-1].walk)
            low, room = row.cells.low, SIZE - 1 - (row.cells.high - row.cells.low)
            if room >= 0:
                row = replace(row, walk=replace(row.walk, base=draw.choice((0, 0, draw.randint(0, room))) - low))
                break
        writes = draw.random() < 0.65
        made = HeldAccess(len(every), when, row, len(every) + 1, tiled=True)
        every.append((made, writes))
        return made

    def body(around: dict[int, int], most: int) -> Body:
        out: Body = []
        for _ in range(draw.randint(1, most)):
            if len(around) < 2 and draw.random() < 0.5:
                loop = len(turns) + 1
                turns[loop] = draw.choice((1, 2, 3, 3, 4, -2))
                out.append((loop, body({**around, loop: abs(turns[loop])}, 3)))
            else:
                out.append(access(around))
        return out

    anew = {1: 3} if draw.random() < 0.25 else {}  # it is made in a loop
    turns |= anew
    text = body(anew, 4)
    if draw.random() < 0.5:
        every.append(
            (HeldAccess(len(every), OnWay((), (), anew), RowAccess(Walk(0, ((8, 1),))), 99, tiled=True), False)
        )
        text.append(every[-1][0])
    writes, uses = (tuple(one for one, writes in every if writes is wanted) for wanted in (True, False))
    made = HeldBuffer("x", SIZE, Walk(0, ((SIZE, 1),)), writes, uses, own=True, alone=False, since=1 + len(anew))
    return made, [(1, text)] if anew else text, turns, orders


def turned(
    buffer: HeldBuffer, text: Body, turns: dict[int, int], orders: dict[object, list[int]], arms: tuple[int, ...]
) -> dict[HeldAccess, set[int]]:
    """Cells that each use misses in some turn of a run."""
    missed: dict[HeldAccess, set[int]] = {}
    held: set[int] = set()

    def run(body: Body, at: dict[int, int]) -> None:
        for one in body:
            if isinstance(one, tuple):
                for turn in range(abs(turns[one[0]])):
                    if one[0] < buffer.since:
                        held.clear()
                    run(one[1], {**at, one[0]: turn})
            elif happens(one.when, arms) and one.row is not None:
                base = one.row.walk.base
                for move in one.row.moves:
                    turn, *more = [at[loop] for loop in sorted(move.loops)]
                    if more:
                        turn = orders[move.of][turn * abs(turns[max(move.loops)]) + more[0]]
                    base += turn * move.step
                here = set(cells(replace(one.row.walk, base=base)))
                if one in buffer.writes:
                    held.update(here)
                else:
                    missed.setdefault(one, set()).update(here - held)

    run(text, {})
    return missed


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_a_use_in_loops_is_met_where_each_of_its_turns_finds_its_cells_written(seed: int) -> None:
    draw = random.Random(3000 + seed)
    for _ in range(25):
        buffer, *rest = looped(draw)
        found = [
            one for one in judged(buffer) if isinstance(one, UnmetUse | OpenClaim) and getattr(one, "rule", "") != ONCE
        ]
        runs = [turned(buffer, *rest, arms) for arms in product(range(2), repeat=2)]
        assert found or not any(left for missed in runs for left in missed.values()), (buffer, rest)
        for one in found:
            if isinstance(one, UnmetUse):
                left = [missed[one.use] for missed in runs if one.use in missed]
                assert any(len(some) >= (one.count or 1) and (not one.count or one.first in some) for some in left)


def test_what_the_turn_before_wrote_is_not_there_in_a_buffer_that_each_turn_makes() -> None:
    four, moved = Walk(0, ((4, 1),)), LoopMove(1, frozenset((1,)), 3, 4)
    when = OnWay((), (), {1: 3})
    writes = (
        HeldAccess(0, when, RowAccess(four, frozenset((moved,))), 1, tiled=True),
        HeldAccess(1, when, RowAccess(four), 3, tiled=True),
    )
    use = HeldAccess(1, when, RowAccess(four), 2, tiled=True)
    for since, told in ((1, []), (2, [OpenClaim])):
        buffer = HeldBuffer("x", SIZE, Walk(0, ((SIZE, 1),)), writes, (use,), own=True, alone=False, since=since)
        assert [type(one) for one in judged(buffer) if getattr(one, "rule", "") == COVER] == told


def test_a_use_at_a_start_that_nobody_knows_may_be_of_what_was_written_and_of_nothing_else() -> None:
    whole, half = Walk(0, ((SIZE, 1),)), Walk(0, ((SIZE // 2, 1),))
    use = HeldAccess(1, OnWay(), None, 2, certain=False, tiled=True)
    for at, told in ((0, OpenClaim), (2, UnmetUse)):
        write = HeldAccess(at, OnWay(), RowAccess(half), 1, tiled=True)
        (found,) = judged(HeldBuffer("x", SIZE, whole, (write,), (use,), own=True, alone=True))
        assert isinstance(found, told)


def test_cells_that_are_too_many_to_be_counted_leave_a_claim_open() -> None:
    whole, tiles = Walk(0, ((1 << 40, 1),)), Walk(0, ((1 << 11, (1 << 20) + 1), (1 << 10, 3)))
    write, use = HeldAccess(0, OnWay(), RowAccess(tiles), 1, tiled=True), HeldAccess(1, OnWay(), RowAccess(whole))
    for own, unknown in ((True, True), (False, False)):
        made = judged(HeldBuffer("x", 1 << 40, whole, (write,), (use,), own=own, alone=True))
        assert [(one.unknown, "too many" in one.why) for one in made if isinstance(one, OpenClaim)] == [(unknown, True)]
        assert len(made) == 1
