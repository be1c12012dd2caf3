"""Programs against enumeration: every byte and every access of a few hundred random programs, and of small nests."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest
from lab.agreement import program_disagreement
from lab.draws import counted, rest
from lab.flat_programs import draw_program
from lab.starved_loops import LoopProgram, draw_loop
from lab.unrolled import always_ordered, draw_steps, unrolled_hazards

from dmaverify.execute.interpret import interpret
from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.plan.execution import PlanExecution
from dmaverify.plan.read import read_plan_text
from dmaverify.program.command import Command, Engine, Loop, Port
from dmaverify.program.schedule import Order, order_of, runs_again, torn_body
from dmaverify.prove.flow.order.hazards import hazards
from dmaverify.prove.flow.starvation.iterations import may_be_at_once
from dmaverify.prove.meet import Walk, apart, difference, levels, question, smallest_meeting, solvable
from dmaverify.prove.move.overlap import Early, written_early
from dmaverify.prove.options import Options
from dmaverify.prove.smt import Session


@pytest.mark.parametrize("block", [3, *rest(range(3))])
def test_hazards_and_sums_are_those_of_every_byte_and_access(block: int) -> None:
    found = [program_disagreement(seed) for seed in range(block * 25, block * 25 + 25)]
    assert [said for said in found if said] == []


def test_the_drawn_programs_have_both_verdicts() -> None:
    drawn = [draw_program(random.Random(seed)) for seed in range(300)]
    kinds = {kind for program in drawn for _, _, kind in program.hazards()}
    sums = [program.worst_sum() for program in drawn]
    assert kinds == {"raw", "war", "waw"}
    assert any(not program.hazards() for program in drawn)
    assert any(0 < total < 64 for total in sums)
    assert any(total >= 64 for total in sums)


def test_a_wrong_answer_would_be_noticed() -> None:
    """The comparison is no formality: an order that is taken away changes the answer of the enumeration."""
    changed = 0
    for seed in range(60):
        program = draw_program(random.Random(seed))
        free = type(program)(program.steps, "none")
        changed += program.hazards() != free.hazards()
    assert changed > 5


def walk(draw: random.Random) -> Walk:
    strides = [0, 1, 2, 3, 4, 8, 12, 16, 32, -4, -1, 64, 100]
    loops = tuple((draw.randint(1, 5), draw.choice(strides)) for _ in range(draw.randint(0, 4)))
    return Walk(draw.randint(0, 60), loops)


def first_counters(one: Walk) -> dict[int, tuple[int, ...]]:
    every = list(product(*(range(count) for count, _ in one.loops)))
    return {one.address(counters): counters for counters in reversed(every)}


def test_two_walks_meet_exactly_where_enumeration_says_at_the_smallest_counters() -> None:
    draw = random.Random(11)
    met = 0
    for number in range(400):
        a, b = walk(draw), walk(draw)
        first, second = first_counters(a), first_counters(b)
        shared = min(((first[x], second[x]) for x in first.keys() & second.keys()), default=None)
        equation = difference(a, b)
        found = smallest_meeting(a, b)
        assert solvable(equation) == (shared is not None)
        assert not (apart(equation) and shared is not None)
        assert (None if found is None else (found.first, found.second)) == shared
        if number % 8 == 0:
            assert Session().ask(question(equation)).status == ("sat" if shared else "unsat")
        met += shared is not None
    assert 50 < met < 350


def test_walks_of_2_to_the_40_addresses_are_decided_by_arithmetic() -> None:
    columns = Walk(0, ((1 << 20, 1 << 22), (1 << 20, 2)))
    assert apart(difference(columns, Walk(1, columns.loops)))
    met = smallest_meeting(columns, Walk((1 << 41) + 6, ((4, 1),)))
    assert met is not None
    assert met.first == (1 << 19, 3)
    assert met.second == (0,)


def command(draw: random.Random) -> Command:
    loops = tuple(
        Loop(draw.randint(1, 4), draw.choice([0, 2, 4, 8, 16, -4]), draw.choice([0, 2, 4, 8, 16, -4]))
        for _ in range(draw.randint(0, 3))
    )
    read, write = Port("m", draw.randint(0, 24)), Port("m", draw.randint(0, 24))
    return Command(read, write, loops, draw.choice([1, 2, 4]), 4, draw.choice([None, Engine(0, 0, 1)]))


def bursts(one: Command) -> list[tuple[tuple[int, ...], set[int], set[int]]]:
    """Counters, what is read and what is changed: a burst that is written back where it was read changes nothing."""
    out = []
    for at in product(*(range(loop.count) for loop in one.loops)):
        read = one.read.base + sum(c * loop.read for c, loop in zip(at, one.loops, strict=True))
        write = one.write.base + sum(c * loop.write for c, loop in zip(at, one.loops, strict=True))
        changed = range(write, write + one.burst) if write != read else ()
        out.append((at, set(range(read, read + one.burst)), set(changed)))
    return out


@pytest.mark.parametrize("count", counted(100, 400))
def test_a_move_in_place_is_unsafe_exactly_when_a_burst_is_changed_before_it_is_read(count: int) -> None:
    draw = random.Random(5)
    unsafe = 0
    for _ in range(count):
        commands = [command(draw) for _ in range(draw.choice([1, 1, 1, 2]))]
        made = [bursts(one) for one in commands]
        expected = any(
            writes & reads and ((i == j and p < q) or (i != j and (a.engine != b.engine or i < j)))
            for (i, a), (j, b) in product(enumerate(commands), repeat=2)
            for (p, _, writes), (q, reads, _) in product(made[i], made[j])
        )
        found = written_early(commands, Session(), request_units=1 << 20)
        assert isinstance(found, Early) == expected
        assert found is None or isinstance(found, Early)
        unsafe += expected
    assert count // 8 < unsafe < 7 * count // 8


def test_an_equation_of_walks_falls_into_levels_that_say_the_same() -> None:
    """Every value of every name, tried: the texts hold together exactly where the sum is the target."""
    draw = random.Random(5)
    fell = 0
    for _ in range(60):
        terms = [
            (draw.choice([0, 1, -1, 4, -4, 8, 12, -32, 64, 100]), f"x{at}", low, low + draw.randint(0, 2))
            for at, low in enumerate(draw.choices([-1, 0], k=4))
        ]
        target = draw.randint(-40, 80)
        parts = levels(terms, target)
        assert [name for part in parts for _, name in part[0]].count("x0") <= 1
        fell += len(parts) > 1
        for values in product(*(range(low, high + 1) for _, _, low, high in terms)):
            known = {name: value for (_, name, _, _), value in zip(terms, values, strict=True)}
            whole = sum(k * known[name] for k, name, _, _ in terms) == target
            assert whole == all(sum(k * known[name] for k, name in some) == wanted for some, wanted in parts)
    assert fell > 20


def test_two_pieces_are_ordered_where_all_of_their_iterations_are() -> None:
    """What only `earlier` orders, in some iterations of a loop, may be passed over."""
    once = 0
    for number in range(160):
        program, works = draw_steps(random.Random(number), back=number % 2 == 1)
        exact = not any(step.earlier and runs_again(step) for step in program.steps)
        order = order_of(program, [work.lanes for work in works])
        assert isinstance(order, Order)
        if torn_body(program, order) is not None:
            continue
        listed = always_ordered(program, works)
        for (a, one), (b, other) in product(enumerate(order.pieces), repeat=2):
            in_all = ((one.step, one.lane), (other.step, other.lane)) in listed
            said = a != b and order.ordered(a, b)
            assert in_all or not said, (number, a, b)
            assert said or a == b or not (in_all and exact), (number, a, b)
        once += any(step.loops and all(count == 1 for _, count in step.loops) for step in program.steps)
    assert once > 20


@pytest.mark.parametrize("launched", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 5, *rest((2, 3, 4, 6, 7))])
def test_hazards_of_loops_are_those_of_every_iteration(seed: int, launched: bool) -> None:
    for number in range(seed * 8, seed * 8 + 8):
        program, works = draw_steps(random.Random(number), back=number % 2 == 1)
        order = order_of(program, [work.lanes for work in works])
        assert isinstance(order, Order)
        if torn_body(program, order) is not None:
            continue
        found = hazards(program, works, order, 2_000_000, launched=launched)
        kinds = {"core/hazard-waw": "waw"}
        pairs = {(*sorted((h.first.step, h.second.step)), kinds.get(h.kind, "read and write")) for h in found.found}
        assert not found.unknown, number
        said = re.search(r"(\d+) questions", found.by)
        assert said is None or int(said[1]) <= len(found.asked), number
        assert not found.why, number
        assert pairs == unrolled_hazards(program, works, launched=launched), number
        assert all(h.meeting is not None for h in found.found), number


STARVES = "rngd/bank-starvation"


def proof_and_run(program: LoopProgram) -> tuple[str, bool]:
    """What the proof says of starvation, and whether a run of the text starves DMA."""
    text = program.text()
    verdict = next(one for one in verdicts_of(read_plan_text(text), Options(cross_check=0)) if one.name == "p")
    if any(finding.rule == "core/well-formed" for finding in verdict.errors):  # a loop that is torn apart
        return "", False
    said = next((one.status for one in verdict.obligations if one.id == STARVES), "proved")
    return said, STARVES in interpret(*PlanExecution(text).work("p")).wrong


@pytest.mark.parametrize("block", [2, *rest((0, 1, 3))])
def test_sums_of_loops_are_those_of_every_iteration(block: int) -> None:
    wrong, decided = [], 0
    for seed in range(block * 8, block * 8 + 8):
        program = draw_loop(random.Random(seed))
        proof, run = proof_and_run(program)
        starves = program.worst_sum() >= 64
        if proof and (run != starves or (proof != "unknown" and (proof == "refuted") != starves)):
            wrong.append((seed, proof, run, program.worst_sum()))
        decided += proof in ("proved", "refuted")
    assert wrong == []
    assert decided >= 5


def test_the_drawn_loops_have_both_verdicts_and_iterations_that_no_dma_is_beside() -> None:
    sums = [(one.worst_sum(), one.sum_of_all()) for one in map(draw_loop, map(random.Random, range(300)))]
    assert sum(worst >= 64 for worst, _ in sums) > 20
    assert sum(0 < worst < 64 for worst, _ in sums) > 20
    assert sum(worst < 64 <= every for worst, every in sums) > 20  # all iterations, all engines: too many, and not so


def test_iterations_that_may_be_at_once_are_those_that_nothing_orders() -> None:
    """Of two steps of one loop, each at a few of its iterations, against every pair of them."""
    draw, both = random.Random(3), [0, 0]
    for _ in range(60):
        program, works = draw_steps(draw, back=True)
        order = order_of(program, [work.lanes for work in works])
        if not isinstance(order, Order) or torn_body(program, order) is not None:
            continue
        pairs = [(a, b) for a, b in product(range(len(order.pieces)), repeat=2) if a != b and order.one_body(a, b)]
        for a, b in pairs:
            ones, others = (
                range(first, first + draw.randint(1, 3)) for first in (draw.randint(0, 4), draw.randint(0, 4))
            )
            gaps = order.gap(a, b), order.gap(b, a)
            free = any(
                not (gaps[0] is not None and m - n >= gaps[0]) and not (gaps[1] is not None and n - m >= gaps[1])
                for n, m in product(ones, others)
            )
            assert may_be_at_once(order, a, ones, b, others) == free
            both[free] += 1
    assert min(both) > 10
