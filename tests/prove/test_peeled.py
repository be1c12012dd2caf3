"""A loop with its ends apart does what the loop does, event by event, whatever it is that the ends decide otherwise."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from lab.draws import counted

from dmaverify.errors import Source, Span
from dmaverify.language.affine import Cond, Lin, World, both, compare
from dmaverify.program.instructions import Branch, Copy, CopyTouch, Event, Fence, KernelLoop, Place, Signal, Use
from dmaverify.program.rewrite import every
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.peeled import MOST_PEELED, peeled
from dmaverify.prove.flow.accesses.remainders import by_remainders
from dmaverify.prove.flow.initialization.definite import DefiniteJudge
from dmaverify.prove.flow.order.pipe_fixpoint import proved_at_once
from dmaverify.prove.flow.order.pipes import PipeJudge
from dmaverify.values import replace

HERE = Span(Source("k", ""), 0, 0)


def done(events: Sequence[Event], world: World, at: Mapping[str, Lin]) -> Iterator[int]:
    """The numbers of the events that happen, in order."""
    for event in events:
        if isinstance(event, KernelLoop):
            for turn in range(world.put(event.trip, at).const):
                yield from done(event.body, world, {**at, event.counter: Lin(turn)})
        elif isinstance(event, Branch):
            when = world.put_cond(event.when, at)
            assert when.known is not None
            yield from done(event.then if when.known else event.other, world, at)
        elif isinstance(event, Signal):
            yield world.put(event.event, at).const


def sign(number: Lin) -> Signal:
    return Signal("set", "A", "B", number, HERE)


def loop(counter: str, trip: Lin, *body: Event) -> KernelLoop:
    return KernelLoop(counter, trip, body, HERE)


def branch(when: Cond, then: Sequence[Event], other: Sequence[Event] = ()) -> Branch:
    return Branch(when, tuple(then), tuple(other), HERE)


def world_of(low: int = 0) -> tuple[World, Lin, Lin]:
    world = World()
    n = world.free("n", low, 1_000_000)
    return world, n, world.free("c", 0, None, side=(compare("lt", Lin(0, (("c", 1),)) - n),))


def branches(events: Sequence[Event]) -> int:
    """Branches within loops that something decides."""
    loops = (one for one in every(events) if isinstance(one, KernelLoop))
    return sum(isinstance(e, Branch) and e.when.known is None for one in loops for e in every(one.body))


@pytest.mark.parametrize("far", range(-1, MOST_PEELED + 2))
def test_as_many_iterations_are_peeled_as_decide_otherwise_and_no_more_than_few(far: int) -> None:
    world, n, c = world_of()
    for when in (
        compare("lt", c + far - n),
        compare("lt", Lin(far) - c - 1),
        compare("eq", c - far),
        compare("ne", c + far - n),
    ):
        before = (loop("c", n, branch(when, [sign(c)], [sign(c + 100)]), sign(c + 200)),)
        after = peeled(before, Asker(world, 100_000))
        needed = far if when.op == "lt" else far + 1 if when.op == "eq" else far
        assert (branches(after) == 0) is (needed <= MOST_PEELED)
        for length in range(9):
            assert list(done(after, world, {"n": Lin(length)})) == list(done(before, world, {"n": Lin(length)}))


def test_a_loop_is_left_as_it_is_where_a_value_varies_with_it_that_no_term_follows() -> None:
    world, n, c = world_of()
    other = world.free("x", 0, 9, varies=("c",))
    guard = branch(compare("lt", c + 1 - n), [sign(c)])
    for events, same in (((loop("c", n, guard, sign(other)),), True), ((loop("c", n, guard, sign(c)),), False)):
        assert (peeled(events, Asker(world, 100_000)) is events) is same


def test_a_loop_is_left_as_it_is_where_it_bounds_the_counter_of_an_inner_one() -> None:
    world, n, c = world_of()
    guard = branch(compare("lt", c + 1 - n), [sign(c)])
    for bound, same in ((c + 1, True), (Lin(3), False)):
        j = world.free("j", 0, None, side=(compare("lt", Lin(0) - bound),))
        inner = loop(j.terms[0][0], bound, sign(j))
        events = (loop("c", n, guard, inner),)
        assert (peeled(events, Asker(world, 100_000)) is events) is same


@pytest.mark.parametrize("count", counted(60, 3_000))
def test_drawn_loops_do_the_same_with_their_ends_apart(count: int) -> None:
    changed = sum(map(drawn_alike, range(count)))
    assert changed > count // 4


def drawn_alike(seed: int) -> bool:
    """Whether a drawn loop was taken apart, which then does the same."""
    rng = random.Random(seed)
    world, n, c = world_of(rng.choice((0, 0, 1, 3)))
    half = world.divide(n + 1, 2)
    j = world.free("j", 0, 2)

    def condition(depth: int = 0) -> Cond:
        if depth < 2 and rng.random() < 0.3:
            parts = [condition(depth + 1) for _ in range(2)]
            made = both(parts, rng.choice(("and", "or")))
            return made.negated() if rng.random() < 0.3 else made
        left = c * rng.choice((1, 1, -1, 2, -2)) + rng.randint(-4, 4)
        if rng.random() < 0.1:
            left = left - world.modulo(c, 2) * 4
        if rng.random() < 0.6:
            left = left + (n if dict(left.terms)["c"] < 0 else -n)
        return compare(rng.choice(("lt", "le", "lt", "eq", "ne")), left)

    def body(depth: int) -> list[Event]:
        out: list[Event] = [sign(c + 1000 * rng.randint(1, 9))]
        for _ in range(rng.randint(1, 2)):
            kind = rng.random()
            if kind < 0.6 and depth < 2:
                out.append(branch(condition(), body(depth + 1), body(depth + 1) if rng.random() < 0.4 else ()))
            elif kind < 0.8 and depth < 1:
                out.append(loop("j", Lin(3), sign(c * 10 + j), branch(condition(), [sign(c * 100 + j)])))
            else:
                out.append(sign(world.modulo(c, 3) + 500))
        return out

    before = (sign(Lin(1)), loop("c", rng.choice((n, n, n + 1, n - 1, half)), *body(0)), sign(Lin(2)))
    after = peeled(before, Asker(world, 100_000))
    for length in range(world.symbols["n"].low or 0, 12):
        assert list(done(after, world, {"n": Lin(length)})) == list(done(before, world, {"n": Lin(length)})), length
    return after is not before


def test_accesses_of_iterations_taken_apart_have_numbers_of_their_own() -> None:
    world, n, c = world_of(1)
    use = Use(7, "A", (), HERE, "an access")
    after = peeled((loop("c", n, branch(compare("lt", c + 2 - n), [sign(c)]), use), use), Asker(world, 100_000))
    numbers = [event.number for event in every(after) if isinstance(event, Use)]
    assert len(numbers) > 3
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(("low", "high"), [(1, 9), (0, 2), (4, 4), (2, 1000), (-2, 3), (-5, -1), (-1, 0)])
def test_cases_of_remainders_are_all_values(low: int, high: int) -> None:
    world = World()
    n, c, d = world.free("n", low, high), world.free("c", 0, None), world.free("d", 0, None)
    turn = world.modulo(c * 2 + d, 3)
    events = (loop("c", Lin(2), loop("d", n, sign(turn))),)
    cases = [case for ways in by_remainders(events, world) for case in ways]
    assert len(cases) == (low < 0) + max(0, min(3, high - max(low, 0) + 1))
    for length in range(low, min(high, 20) + 1):
        found = []
        for case in cases:
            (symbol,) = {name for e in every(case) if isinstance(e, KernelLoop) for name, _ in e.trip.terms}
            bounds = world.symbols[symbol]
            values = (Lin(value) for value in range(bounds.low or 0, (bounds.high or 0) + 1))
            meant = [v for v in values if world.put_cond(bounds.side[0], {"n": Lin(length), symbol: v}).known]
            found += [list(done(case, world, {symbol: value})) for value in meant]
        assert found == [list(done(events, world, {"n": Lin(length)}))]


def test_loops_without_turns_and_lengths_that_vary_are_no_cases() -> None:
    world = World()
    n, c, d = world.free("n", 1, 9), world.free("c", 0, None), world.free("d", 0, None)
    other = world.free("x", 1, 9, varies=("c",))
    assert not list(by_remainders((loop("c", Lin(2), loop("d", n, sign(c + d))),), world))
    turn = world.modulo(c * 2 + d, 3)
    assert not list(by_remainders((loop("c", Lin(2), loop("d", other, sign(turn))),), world))
    assert not list(by_remainders((loop("d", n, sign(turn)),), world))


@pytest.mark.parametrize(("least", "proved"), [(2, True), (1, False), (0, False)])
def test_a_loop_that_has_no_iteration_ends_in_a_known_turn_where_its_length_is_never_negative(
    least: int, proved: bool
) -> None:
    """Each iteration hands a flag on to the next turn; behind n - 2 of them, that of turn n - 2 is set."""
    world = World()
    n, c = world.free("n", least, 9), world.free("c", 0, None)
    turns = [world.modulo(number, 3) for number in (c, c + 1, n - 2)]
    body = [Signal("wait", "A", "B", turns[0], HERE), Signal("set", "A", "B", turns[1], HERE)]
    events = (sign(Lin(0)), loop("c", n - 2, *body), Signal("wait", "A", "B", turns[2], HERE))
    assert (proved_at_once(events, Asker(world, 100_000), (), ()) is not None) is proved


@pytest.mark.parametrize("least", [0, 1])
def test_a_loop_whose_length_may_be_negative_has_no_iteration_there(least: int) -> None:
    """The rows of two pipes meet where n is 0 alone, and the loop between them, of n - 1 iterations, has none."""
    world = World()
    n = world.free("n", least, 3)

    def used(number: int, pipe: str, kind: str, at: Lin) -> Use:
        place = Place("ub", "", at)
        return Use(number, pipe, (CopyTouch(kind, place, Lin(0), Lin(32), ()),), replace(HERE, start=number), "a use")

    judge = PipeJudge(Asker(world, 100_000), ("V",), ())
    judge.judge((used(1, "B", "data", n * 32), loop("c", n - 1, Fence("A", HERE)), used(2, "V", "read", Lin(0))))
    assert (judge.status["core/hazard-raw"] == "refuted") is (least == 0)


@pytest.mark.parametrize(("written", "status"), [(0, "unknown"), (-1, "refuted")])
def test_what_one_iteration_alone_reads_is_not_found_in_what_all_would(written: int, status: str) -> None:
    """Of n rows the last but one is read; n - 1 are written, or one too few, in halves that no rule joins."""
    world = World()
    n, c, d = world.free("n", 2, 20), world.free("c", 0, None), world.free("d", 0, None)

    def copied(number: int, row: Lin, size: int, *, writes: bool) -> Copy:
        ub, gm, length = Place("ub", "", row * 32), Place("gm", "g", Lin(0)), Lin(size)
        touches = (
            CopyTouch("data" if writes else "read", ub, Lin(0), length, ()),
            CopyTouch("read" if writes else "data", gm, Lin(0), length, ()),
        )
        sides = (gm, ub) if writes else (ub, gm)
        return Copy(number, "copy", "A", *sides, length, (), None, {}, {}, replace(HERE, start=number), touches=touches)

    halves = copied(1, c * 2, 32, writes=True), copied(2, c * 2 + 1, 32, writes=True)
    writing = loop("c", n - 1 + written, *halves)
    reading = loop("d", n, branch(compare("eq", d + 2 - n), [copied(3, d * 2, 64, writes=False)]))
    judge = DefiniteJudge(Asker(world, 100_000), "ub", 2048)
    judge.judge((writing, reading))
    assert judge.status == status


def test_lengths_that_memory_gives_are_no_cases() -> None:
    world = World()
    n, c, d = world.free("n", 1, 9, loaded=True), world.free("c", 0, None), world.free("d", 0, None)
    assert not list(by_remainders((loop("c", Lin(2), loop("d", n, sign(world.modulo(c + d, 3)))),), world))


@pytest.mark.parametrize(
    ("low", "high", "more", "count"),
    [
        (0, 63, {}, 64), (0, 1_000, {}, 3), (0, None, {}, None), (0, 9, {"stated": False}, None),
        (0, 9, {"varies": ("c",)}, None), (0, 9, {"counter": True}, None),
    ],
)  # fmt: skip
def test_a_read_is_tried_at_all_values_of_few_or_at_all_remainders_of_many(
    low: int, high: int | None, more: dict[str, Any], count: int | None
) -> None:
    world, counter = World(), more.pop("counter", False)
    n = world.free("n", low, high, **more)
    judge = DefiniteJudge(Asker(world, 1_000), "ub", 64, _counters=frozenset({"n"} if counter else ()))
    found = judge._values({"n"}, {name for name, _ in world.modulo(n, 3).terms}, ())
    assert (None if found is None else len(list(found))) == count
