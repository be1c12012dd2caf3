"""Loops of programs in time: as early as the order lets each iteration, whoever else is still at work.

Knows: drawn programs with loops, and when each piece of each iteration ends, by a list of all of them.
Does not know: how a timeline is laid out, prices.
Law: a loop takes as long as the program without it; of many iterations, what the steady state adds.
"""

from __future__ import annotations

import random
from math import prod

import pytest
from lab.unrolled import draw_steps, earliest

from dmaverify.cost.constants import cost_data
from dmaverify.program.schedule import Order, Program, Step, order_of
from dmaverify.prove.flow.accesses.touches import StepWork
from dmaverify.report.iterations import FEWEST, GUESSED, LAID, MOST, iterated
from dmaverify.report.timeline import Duration

DATA = cost_data("book")


def laid(program: Program, lanes, cycles):
    order = order_of(program, lanes)
    assert isinstance(order, Order)
    return iterated(program, order, {key: Duration(float(n)) for key, n in cycles.items()}, DATA)


def ends_by_hand(program: Program, works, cycles):
    """The end of the last iteration of each piece of work."""
    last = {}
    for (step, turn, lane, _), end in earliest(program, works, cycles).items():
        last[step, lane] = max(end, last.get((step, lane), 0.0)) if turn else end
    return last


def test_few_iterations_end_when_a_list_of_all_of_them_says() -> None:
    compared = 0
    for seed in range(200):
        rng = random.Random(seed)
        program, works = draw_steps(rng, back=True)
        lanes = [work.lanes for work in works]
        cycles = {(n, lane): rng.choice([1, 5, 20, 21]) for n, own in enumerate(lanes) for lane in own}
        most = max(prod(count for _, count in step.loops) for step in program.steps)
        if 1 < most <= LAID and isinstance(order_of(program, lanes), Order):
            found = {(index, slot.lane): slot.end for index, slot in keyed(program, laid(program, lanes, cycles))}
            assert found == ends_by_hand(program, works, cycles), seed
            compared += 1
    assert compared >= 40


def keyed(program: Program, slots):
    index = {step.name: n for n, step in enumerate(program.steps)}
    return [(index[slot.step], slot) for slot in slots]


def buffers(count: int, buffers: int) -> Program:
    """Loads and stores of tiles; a buffer is loaded again when its store has ended."""
    loops = (("t", count),)
    load = Step("load", loops=loops, earlier=(("store", buffers),))
    return Program("p", "rngd", (load, Step("store", loops=loops, after=("load",))))


@pytest.mark.parametrize(("many", "each"), [(1, 30), (2, 20), (3, 20)])
def test_a_second_buffer_hides_the_shorter_of_load_and_store_and_a_third_does_nothing_more(many, each) -> None:
    lanes, cycles = [("in",), ("out",)], {(0, "in"): 20, (1, "out"): 10}
    for count in (1, 2, LAID, LAID + 1, 125, 10**9):
        slots = laid(buffers(count, many), lanes, cycles)
        assert slots is not None
        assert max(slot.end for slot in slots) == each * count + 10 - (10 if many == 1 else 0)


def test_work_behind_a_loop_begins_when_what_it_waits_for_has_ended_in_all_iterations() -> None:
    (load, store), behind = buffers(100, 2).steps, Step("rest", after=("load",))
    slots = laid(Program("p", "rngd", (load, store, behind)), [("in",), ("out",), ("x",)],
                 {(0, "in"): 20, (1, "out"): 10, (2, "x"): 7})  # fmt: skip
    assert slots is not None
    assert [(slot.start, slot.end) for slot in slots] == [(0, 2000), (20, 2010), (2000, 2007)]


def test_a_program_too_long_to_be_laid_out_has_no_such_timeline() -> None:
    loops = (("t", 8),)
    for steps in (MOST // FEWEST, MOST // FEWEST + 1):
        program = Program("p", "rngd", tuple(Step(f"s{n}", loops=loops) for n in range(steps)))
        found = laid(program, [("a",)] * steps, {(n, "a"): 1 for n in range(steps)})
        assert (found is None) == (steps > MOST // FEWEST)


@pytest.mark.parametrize(("turns", "shared"), [(1, ""), (2, "channel 0 of chip 0")])
def test_what_only_later_iterations_share_is_told(turns: int, shared: str) -> None:
    """The second load meets the second store, which waits for the second round of what lies before it."""
    loops = (("t", turns),)
    steps = (
        Step("load", loops=loops, context="a", earlier=(("store", 1),)),
        Step("use", loops=loops, context="b"),
        Step("store", loops=loops, context="c", after=("use",)),
    )
    program, full = Program("p", "rngd", steps), {"channel 0 of chip 0": 10.0}
    order = order_of(program, [("a",), ("b",), ("c",)])
    assert isinstance(order, Order)
    lanes = {(0, "a"): Duration(10, {}, full), (1, "b"): Duration(15), (2, "c"): Duration(10, {}, full)}
    slots = iterated(program, order, lanes, DATA)
    assert slots is not None
    assert {slot.step: slot.slowed_by for slot in slots} == {"load": shared, "use": "", "store": shared}


def ring(many: int) -> tuple[Program, list[int]]:
    """Five steps of which four wait for each other around three iterations: what one adds repeats after three."""
    loops = (("t", many),)
    waits = {
        "s0": ((), (("s2", 3), ("s3", 2), ("s4", 1))),
        "s1": (("s0",), (("s0", 1), ("s2", 3))),
        "s2": (("s1",), (("s4", 1),)),
        "s3": ((), (("s1", 2), ("s2", 2), ("s3", 1))),
        "s4": (("s3",), ()),
    }
    steps = (Step(name, loops=loops, after=after, earlier=earlier) for name, (after, earlier) in waits.items())
    return Program("p", "rngd", tuple(steps), order="none"), [712, 648, 683, 402, 764]


def drawn(many: int, seed: int) -> tuple[Program, list[int]]:
    rng, loops = random.Random(seed), (("t", many),)
    names = [f"s{n}" for n in range(rng.randint(2, 4))]
    steps = []
    for n, name in enumerate(names):
        after = tuple(one for one in names[:n] if rng.random() < 0.4)
        earlier = tuple((one, rng.randint(1, 4)) for one in names if rng.random() < 0.3)
        steps.append(Step(name, loops=loops, after=after, earlier=earlier))
    return Program("p", "rngd", tuple(steps), order="none"), [rng.randint(1, 1000) for _ in names]


@pytest.mark.parametrize("many", [LAID + 1, LAID + 12, 2 * LAID + 7])
def test_many_iterations_end_when_a_list_of_all_of_them_says(many: int) -> None:
    """Whatever repeats after one to four iterations, and however many of them are left over."""
    for program, times in (ring(many), *(drawn(many, seed) for seed in range(12))):
        lanes = [(f"a{n}",) for n in range(len(times))]
        cycles = {(n, lane): times[n] for n, (lane,) in enumerate(lanes)}
        if isinstance(order_of(program, lanes), Order):
            slots = laid(program, lanes, cycles)
            assert slots is not None
            listed = earliest(program, [StepWork(own, ()) for own in lanes], cycles)
            assert max(slot.end for slot in slots) == max(listed.values())


def guessed(program: Program, cycles: list[int]) -> tuple[float, bool]:
    """The end of a program whose step n works on lane n, and whether it is an estimate."""
    lanes = [(f"a{n}",) for n in range(len(cycles))]
    slots = laid(program, lanes, {(n, lane): cycles[n] for n, (lane,) in enumerate(lanes)})
    assert slots is not None
    return max(slot.end for slot in slots), any(GUESSED in slot.about for slot in slots)


@pytest.mark.parametrize(
    ("many", "head", "cycles", "end", "estimate"),
    [
        (LAID, 0, (20, 19), 20 * LAID + 19, False),  # all laid out
        (LAID + 1, 0, (20, 19), 20 * LAID + 39, False),  # the second waits for the first in each
        (1000, 0, (19, 20), 20 * 1000 + 19, False),  # and here for itself
        (1000, 10, (20, 19), 20 * 1000 + 19, False),
        (
            1000,
            300,
            (20, 19),
            20 * 1000,
            True,
        ),  # after 281 it waits for the first: 19 more
    ],
)
def test_a_loop_that_is_not_known_to_go_on_as_it_began_is_an_estimate(
    many: int, head: int, cycles: tuple[int, int], end: int, estimate: bool
) -> None:
    loops = (("t", many),)
    steps = [Step("head"), Step("first", loops=loops), Step("second", loops=loops, after=("first", "head"))]
    found = guessed(Program("p", "rngd", tuple(steps), order="none"), [head, *cycles])
    assert found == (end, estimate)


@pytest.mark.parametrize(("long", "end"), [(1000, 2007), (2000, 2007), (3000, 3007)])
def test_what_waits_for_a_loop_and_for_a_long_step_begins_behind_both(long: int, end: int) -> None:
    """Of the iterations laid out it waits for the long step alone, whatever the loop still has to do."""
    steps = (Step("t", loops=(("t", 100),)), Step("long"), Step("rest", after=("t", "long")))
    assert guessed(Program("p", "rngd", steps, order="none"), [20, long, 7]) == (end, False)
