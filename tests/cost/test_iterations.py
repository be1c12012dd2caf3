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
from dmaverify.report.iterations import LAID, MOST, iterated
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
    for steps in (MOST // LAID, MOST // LAID + 1):
        program = Program("p", "rngd", tuple(Step(f"s{n}", loops=loops) for n in range(steps)))
        found = laid(program, [("a",)] * steps, {(n, "a"): 1 for n in range(steps)})
        assert (found is None) == (steps > MOST // LAID)
