"""Unions of tiles, runs that follow each other, runs of rows: the analyses of programs against counting one by one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import product

from dmaverify.program.turns import Affine
from dmaverify.program.views import TileWindow, visible_positions
from dmaverify.prove.flow.accesses.tile_union import Boxes, grid, grid_of
from dmaverify.prove.flow.accesses.touches import runs_of
from dmaverify.prove.flow.accesses.ways import Ways
from dmaverify.prove.flow.coverage.tiles_twice import TwiceAt, between, by_itself, comes_back, counters_with
from dmaverify.prove.flow.initialization.unwritten import RowAccess, met
from dmaverify.prove.flow.starvation.bank_runs import AccessNest, Banks, follow
from dmaverify.prove.meet import Walk
from dmaverify.prove.smt import Session
from dmaverify.values import replace


def drawn(draw: random.Random, digits: list[tuple[str, int, int]]) -> Boxes:
    counts = tuple(draw.choice([1, 2, 3, 4]) for _ in range(draw.choice([0, 1, 2])))
    windows = {}
    for digit in digits:
        if draw.random() < 0.8:
            steps = tuple(draw.choice([0, 0, 1, 2, 3, -1, -2]) for _ in counts)
            windows[digit] = (Affine(draw.randrange(-1, digit[2]), steps), draw.randrange(1, 4))
    rows = None
    if draw.random() < 0.2:
        windows.pop(digits[0], None)
        rows = (digits[0], tuple(draw.randrange(digits[0][2]) for _ in range(3)))
    return Boxes(windows, counts, rows)


def listed(boxes: Boxes, digits: list[tuple[str, int, int]]) -> set[tuple[int, ...]]:
    out: set[tuple[int, ...]] = set()
    for at in product(*(range(count) for count in boxes.counts)):
        spans = []
        for digit in digits:
            start, length = boxes.windows.get(digit, (Affine(0, (0,) * len(at)), digit[2]))
            first = start.at(at)
            span = range(max(0, first), min(digit[2], first + length))
            spans.append(boxes.rows[1] if boxes.rows is not None and boxes.rows[0] == digit else span)
        out |= set(product(*spans))
    return out


def test_the_union_of_boxes_is_what_listing_every_position_gives() -> None:
    draw = random.Random(11)
    for _ in range(250):
        digits = [("element", 1, draw.randrange(1, 8)), ("slice", 1, draw.randrange(1, 6))][: draw.choice([1, 2])]
        writers = [drawn(draw, digits) for _ in range(draw.choice([1, 2, 3]))]
        made = grid(digits, writers)
        assert made is not None
        for writer, covered in zip(writers, made.covered, strict=True):
            found = {
                point
                for cell in made.cells(covered)
                for point in product(
                    *(range(a, b + 1) for a, b in zip(made.first(cell).values(), made.last(cell).values(), strict=True))
                )
            }
            assert found == listed(writer, digits), writer


def test_a_million_tiles_without_gap_are_one_box_and_too_many_apart_are_not_listed() -> None:
    digit = ("element", 1, 1 << 40)
    (one,) = [grid([digit], [Boxes({digit: (Affine(0, (4,)), 4)}, (1 << 38,))])]
    assert one is not None
    assert one.covered[0].all()
    assert grid([digit], [Boxes({digit: (Affine(0, (8,)), 4)}, (1 << 37,))]) is None


def drawn_walk(draw: random.Random, size: int) -> Walk:
    while True:
        steps = [draw.choice([1, 2, 3, 4, 5, 6, 8, 12, 16, -1, -4, -12]) for _ in range(draw.randrange(4))]
        walk = Walk(0, tuple((draw.choice([1, 2, 3, 4, 6, 8]), step) for step in steps))
        if walk.high - walk.low < size:
            return Walk(draw.randrange(size - walk.high + walk.low) - walk.low, walk.loops)


def test_walks_have_the_addresses_that_their_counters_say_and_come_back_to_some_or_to_none() -> None:
    draw, several, back = random.Random(7), 0, 0
    for _ in range(600):
        size = draw.choice([24, 60, 64, 96, 120])
        walks = [drawn_walk(draw, size) for _ in range(draw.randrange(1, 4))]
        made = grid_of(walks, size)
        assert made is not None
        several += len(made.digits) > 1
        for walk, covered in zip(walks, made.covered, strict=True):
            found = set[int]()
            for cell in made.cells(covered):
                ends = zip(made.first(cell).values(), made.last(cell).values(), strict=True)
                for point in product(*(range(first, last + 1) for first, last in ends)):
                    found.add(sum(at * stride for at, (_, stride, _) in zip(point, made.digits, strict=True)))
            wanted = Counter(walk.address(at) for at in product(*(range(count) for count, _ in walk.loops)))
            assert (found, made.count(covered)) == (set(wanted), len(wanted)), walks
            again = comes_back(walk)
            back += again != "none"
            assert (again == "none") == (max(wanted.values()) == 1), walk
            if isinstance(again, tuple):
                assert again[0] != again[1]
                assert walk.address(again[0]) == walk.address(again[1])
    assert several > 100
    assert back > 100


def test_rows_together_have_what_is_read_exactly_where_one_of_them_has_each_address() -> None:
    def listed(walk: Walk) -> set[int]:
        return {walk.address(at) for at in product(*(range(count) for count, _ in walk.loops))}

    draw, held = random.Random(3), 0
    for _ in range(400):
        read = replace(drawn_walk(draw, 120), base=draw.randrange(-40, 40))
        if read.loops and draw.random() < 0.7:  # its parts, but perhaps one
            (count, step), *inner = read.loops
            rows = [Walk(read.base + i * step, tuple(inner)) for i in range(count) if draw.random() < 0.97]
        else:
            rows = [replace(drawn_walk(draw, 120), base=draw.randrange(-40, 40)) for _ in range(draw.randrange(5))]
        wanted = listed(read) <= set().union(*map(listed, rows))
        assert met(RowAccess(read), [RowAccess(row) for row in rows], Ways()) == wanted, (read, rows)
        held += wanted
    assert 100 < held < 300


def test_walks_over_large_memories_are_cut_where_all_of_them_split() -> None:
    rows = Walk(3 << 20, ((1 << 30, 1 << 20), (1 << 10, 1)))
    made = grid_of([rows, Walk(0, ((1 << 50, 1),))], 1 << 51)
    assert made is not None
    assert [made.count(one) for one in made.covered] == [1 << 40, 1 << 50]
    assert grid_of([Walk(0, ((1 << 30, 1 << 20), (1 << 30, 3)))], 1 << 51) is None


def test_nests_that_follow_each_other_have_the_runs_of_their_accesses_in_a_row() -> None:
    draw, banks = random.Random(5), Banks(4, 8)
    for _ in range(60):
        nests = [
            AccessNest(
                tuple((draw.randrange(1, 4), draw.choice([0, 4, 8, 32, 40])) for _ in range(draw.randrange(1, 3))),
                draw.choice([4, 8, 16]), draw.randrange(0, 64, 4),
            )
            for _ in range(draw.randrange(1, 5))
        ]  # fmt: skip
        touched = [
            banks.touched(nest.address(at, nest.base or 0), nest.width_bytes)
            for nest in nests
            for at in product(*(range(count) for count, _ in nest.loops))
        ]
        wanted = []
        for bank in range(banks.count):
            best = now = 0
            for one in touched:
                now = now + 1 if bank in one else 0
                best = max(best, now)
            wanted.append(best)
        assert follow(nests, banks) == tuple(wanted)


def test_rows_as_runs_are_the_same_rows() -> None:
    draw = random.Random(2)
    for _ in range(100):
        rows = [draw.randrange(40) for _ in range(draw.randrange(1, 12))]
        found = [first + i * step for first, count, step in runs_of(rows) for i in range(count)]
        assert sorted(found) == sorted(set(rows))


def test_the_positions_that_a_view_shows_are_those_of_its_windows() -> None:
    def window(stride: int, size: int, length: int, room: int = 0) -> TileWindow:
        return TileWindow("slice", "", stride, size, size, length, Affine(0), "A", 1, room or size)

    def shown(size: int, *windows: TileWindow) -> set[int]:
        loops = visible_positions(size, windows)
        return {
            sum(c * s for c, (_, s) in zip(at, loops, strict=True)) for at in product(*(range(n) for n, _ in loops))
        }

    assert shown(16, window(4, 4, 2)) == set(range(8))
    assert shown(16, window(1, 4, 2)) == {4 * i + j for i in range(4) for j in range(2)}
    assert shown(16, window(4, 4, 1), window(1, 4, 3)) == {0, 1, 2}
    assert shown(16, window(1, 2, 1, room=4)) == {0, 4, 8, 12}
    assert shown(16, window(1, 1, 1), window(1, 16, 5)) == set(range(5))


def test_positions_that_tiles_have_twice_are_those_that_their_iterations_have() -> None:
    def cells(one: Boxes, at: Sequence[int]) -> set[tuple[int, ...]]:
        windows = [one.window(digit) for digit in digits]
        return set(product(*(range(start.at(at), start.at(at) + length) for start, length in windows)))

    draw, found, session = random.Random(17), Counter[tuple[bool, bool]](), Session()
    for _ in range(150):
        digits = [("element", 1, draw.randrange(4, 13)), ("slice", 1, draw.randrange(2, 7))][: draw.choice([1, 2])]
        one, other = (drawn(draw, digits) for _ in range(2))
        runs = [[cells(boxes, at) for at in product(*map(range, boxes.counts))] for boxes in (one, other)]
        alone = any(a & b for n, a in enumerate(runs[0]) for b in runs[0][:n])
        both = any(a & b for a in runs[0] for b in runs[1])
        for told, wanted, ends in (
            (by_itself(digits, one), alone, (one, one)),
            (between(digits, one, other, session), both, (one, other)),
        ):
            found[ends[0] is ends[1], wanted] += 1
            assert (told != "none") == wanted, (one, other)
            if isinstance(told, TwiceAt):
                point = tuple(told.where[digit] for digit in digits)
                sides = (told.first, told.second)
                assert all(point in cells(boxes, at) for boxes, at in zip(ends, sides, strict=True))
                assert ends[0] is not ends[1] or told.first != told.second
                assert point in cells(one, counters_with(digits, one, told.where) or ())
    assert min(found.values()) > 20, found
