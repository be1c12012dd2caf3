"""Order of steps: contexts, engines, `after`, and circles, each edge on both sides."""

from __future__ import annotations

import pytest

from dmaverify.plan.read import InputErrors, read_plan_text
from dmaverify.program.antichains import antichains
from dmaverify.program.schedule import Circle, Order, Program, Step, earlier_edges, order_of


def program(*steps: Step, order: str = "contexts") -> Program:
    return Program("p", "rngd", steps, order=order)


def relation(made: Program, lanes: list[list[str]]) -> Order:
    found = order_of(made, lanes)
    assert isinstance(found, Order)
    return found


A, B, C = Step("a"), Step("b"), Step("c")


def test_steps_of_one_lane_follow_each_other_others_do_not() -> None:
    order = relation(program(A, B, C), [["main"], ["sub"], ["main"]])
    assert order.step_precedes(0, 2)
    assert not order.step_precedes(2, 0)
    assert order.concurrent(0, 1)
    assert order.concurrent(1, 2)
    assert not order.concurrent(0, 2)


def test_after_reaches_through_other_steps() -> None:
    order = relation(program(A, Step("b", after=("a",)), Step("c", after=("b",))), [["x"], ["y"], ["z"]])
    assert order.step_precedes(0, 2)
    assert not order.concurrent(0, 2)


def test_written_order_puts_every_step_behind_the_one_above() -> None:
    lanes = [["x"], ["y"], ["z"]]
    assert relation(program(A, B, C, order="written"), lanes).step_precedes(0, 2)
    assert relation(program(A, B, C, order="none"), lanes).concurrent(0, 2)
    assert relation(program(A, B, order="none"), [["x"], ["x"]]).concurrent(0, 1)


def test_engines_keep_order_engine_by_engine_only() -> None:
    order = relation(program(A, B), [["e0", "e1"], ["e0", "e1"]])
    assert order.precedes(order.index(0, "e0"), order.index(1, "e0"))
    assert not order.ordered(order.index(0, "e0"), order.index(1, "e1"))
    assert not order.step_precedes(0, 1)
    assert order.concurrent(0, 1)
    synced = relation(program(A, Step("b", after=("a",))), [["e0", "e1"], ["e0", "e1"]])
    assert synced.step_precedes(0, 1)


@pytest.mark.parametrize(
    ("lanes", "between"),
    [
        ([["e0", "e1"], ["e0"], ["e0"]], []),  # half of the first is behind none of the others
        ([["e0"], ["e0", "e1"], ["e0"]], []),  # and half of the second beside all
        ([["e0"], ["e0"], ["e0", "e1"]], []),
        ([["e0"], ["e0"], ["e0"]], [1]),
    ],
)
def test_a_step_precedes_another_where_all_of_it_ends_before_all_of_that(
    lanes: list[list[str]], between: list[int]
) -> None:
    order = relation(program(A, B, C), lanes)
    assert order.steps_between(0, 2) == order.steps_between(2, 0) == between
    assert [order.step_precedes(i, i + 1) for i in range(2)] == [len(lanes[i]) == len(lanes[i + 1]) for i in range(2)]


def test_steps_that_wait_for_each_other_are_a_circle() -> None:
    found = order_of(program(Step("a", after=("b",)), B, C), [["x"], ["x"], ["z"]])
    assert isinstance(found, Circle)
    assert set(found.steps) == {"a", "b"}


@pytest.mark.parametrize(("count", "edges"), [(1, []), (2, [(0, 1, 1)])])
def test_nothing_waits_for_an_earlier_iteration_of_a_loop_that_runs_once(count: int, edges: list) -> None:
    loops = (("t", count),)
    made = program(Step("a", loops=loops), Step("b", loops=loops, earlier=(("a", 1),)), C)
    order = relation(made, [["x"], ["y"], ["z"]])
    assert earlier_edges(made, order.of_step) == edges
    assert order.one_body(0, 1) == (count > 1)
    assert not order.ordered(0, 1)


def test_antichains_are_the_largest_sets_that_may_run_at_once() -> None:
    order = relation(program(A, B, C, Step("d")), [["main"], ["sub"], ["main"], ["sub"]])
    assert antichains(order, dict.fromkeys(range(4))) == [(0, 1), (0, 3), (1, 2), (2, 3)]


PLAN = """\
schema = 1
target = "rngd"
[axes]
A = 64
B = 64
[region.one]
tier = "dm"
size = 64
extent = { slice = 64 }
lifetime = ["load", "use"]
[transfer.load]
dtype = "i8"
source = { tier = "hbm", element = "A, B" }
dest = { tier = "dm", slice = "A", element = "B" }
stream = { time = "A", packet = "B" }
[access.use]
engine = "fetch"
dtype = "i8"
memory = { tier = "dm", slice = "A", element = "B" }
stream = { time = "B / 8", packet = "B % 8" }
[program.p]
regions = ["one"]
[[program.p.step]]
transfer = "load"
[[program.p.step]]
access = "use"
after = ["load"]
"""


def test_a_program_is_read_with_its_steps_and_regions() -> None:
    made = read_plan_text(PLAN).programs[0]
    assert [step.name for step in made.steps] == ["load", "use"]
    assert made.steps[1].after == ("load",)
    assert made.regions[0].box.end == 64
    assert made.regions[0].lifetime == ("load", "use")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('transfer = "load"', 'transfer = "laod"', "no transfer `laod`"),
        ('after = ["load"]', 'after = ["laod"]', "no step `laod`"),
        ('regions = ["one"]', 'regions = ["two"]', "no region `two`"),
        ('lifetime = ["load", "use"]', 'lifetime = ["load", "end"]', "no step of p `end`"),
        ('access = "use"', 'access = "use"\ntransfer = "load"', "either a transfer or an access"),
        ('access = "use"', 'transfer = "load"', "two steps are called `load`"),
        ("[program.p]", "[program.p]\nordr = 1", "unknown key `ordr`"),
        ("[program.p]", "[program.load]\nstep = []\n[program.p]", "`step` is empty"),
        ('tier = "dm"\nsize = 64', 'tier = "hbm"\nsize = 64', "hbm has no slice"),
        ("size = 64", "size = 0", "`size` must be at least 1"),
        ('transfer = "load"', 'transfer = "load"\ncontext = "main"', "`main` is a context of `use`"),
        ('access = "use"', 'access = "use"\ncontext = "sub"', "`use` is an access of the context `main`"),
        ('access = "use"', 'access = "use"\ncontext = "other"', "`use` is an access of the context `main`"),
    ],
)  # fmt: skip
def test_what_a_program_cannot_mean_is_refused_at_its_place(old: str, new: str, says: str) -> None:
    assert old in PLAN
    with pytest.raises(InputErrors) as caught:
        read_plan_text(PLAN.replace(old, new))
    assert any(says in error.message for error in caught.value.errors), [e.message for e in caught.value.errors]
    assert all(error.span is not None for error in caught.value.errors)


OF_SUB = PLAN.replace('engine = "fetch"', 'engine = "fetch"\ncontext = "sub"').replace("[program.p]", """\
[access.make]
engine = "commit"
dtype = "i8"
memory = { tier = "dm", base = 4096, slice = "A", element = "B" }
stream = { time = "B / 8", packet = "B % 8" }
[program.p]""")  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (OF_SUB, ""),
        (OF_SUB.replace('access = "use"', 'access = "use"\ncontext = "sub"'), ""),
        (OF_SUB.replace('access = "use"', 'access = "use"\ncontext = "main"'), "an access of the context `sub`"),
        (OF_SUB.replace('transfer = "load"', 'transfer = "load"\ncontext = "sub"'), "`sub` is a context of `use`"),
        (OF_SUB.replace('access = "use"', 'access = ["use", "make"]'), "are of several contexts"),
        (PLAN.replace('access = "use"', 'access = "use"\ncontext = "main"'), ""),
    ],
)
def test_an_access_runs_in_the_context_by_whose_rules_it_is_judged(text: str, says: str) -> None:
    """Eight bytes at once in `sub` and up to 32 in `main` are other runs of accesses to a bank."""
    if not says:
        assert read_plan_text(text).programs[0].steps[1].accesses[0].name == "use"
        return
    with pytest.raises(InputErrors) as caught:
        read_plan_text(text)
    assert any(says in error.message for error in caught.value.errors), [e.message for e in caught.value.errors]


@pytest.mark.parametrize("context", ["pdma", "sub", "loads"])
def test_dma_may_have_any_context_that_no_access_of_the_program_has(context: str) -> None:
    made = read_plan_text(PLAN.replace('transfer = "load"', f'transfer = "load"\ncontext = "{context}"')).programs[0]
    assert made.steps[0].context == context
