"""Order, hazards and regions of programs, on both sides of each edge."""

from __future__ import annotations

import pytest

from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.plan.read import read_plan_text
from dmaverify.program.regions import Box
from dmaverify.program.schedule import Order, Program, Step, order_of
from dmaverify.prove.flow.order.hazards import Hazards
from dmaverify.prove.meet import Walk, apart, difference, solvable
from dmaverify.prove.options import Options

HEAD = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 8\nC = 64\n'


def order(*steps: Step, lanes: list[list[str]], how: str = "contexts") -> Order:
    found = order_of(Program("p", "rngd", steps, order=how), lanes)
    assert isinstance(found, Order)
    return found


# ---------------------------------------------------------------- order


def test_only_a_lane_or_a_wait_orders_two_steps() -> None:
    steps = [Step("a"), Step("b"), Step("c", after=("a",))]
    lanes = [["x"], ["y"], ["z"]]
    found = order(*steps, lanes=lanes)
    assert not found.ordered(0, 1)
    assert found.ordered(0, 2)
    assert not found.ordered(1, 2)
    assert order(*steps, lanes=[["x"], ["x"], ["z"]]).ordered(0, 1)
    assert not order(*steps, lanes=[["x"], ["x"], ["z"]], how="none").ordered(0, 1)
    assert order(*steps, lanes=lanes, how="written").ordered(1, 2)


def test_order_goes_through_a_third_step() -> None:
    steps = [Step("a"), Step("b", after=("a",)), Step("c", after=("b",))]
    assert order(*steps, lanes=[["x"], ["y"], ["z"]], how="none").precedes(0, 2)


def test_steps_run_at_once_where_any_of_their_engines_do() -> None:
    found = order(Step("a"), Step("b"), lanes=[["x"], ["x", "y"]])
    assert found.concurrent(0, 1)
    assert not order(Step("a"), Step("b"), lanes=[["x"], ["x"]]).concurrent(0, 1)


def test_iterations_of_a_loop_run_ahead_until_something_holds_them() -> None:
    loop = (("t", 4),)
    alone = order(Step("a", loops=loop), Step("b", loops=loop), lanes=[["x"], ["y"]])
    assert (alone.gap(0, 1), alone.gap(1, 0)) == (None, None)
    held = order(Step("a", loops=loop), Step("b", after=("a",), loops=loop), lanes=[["x"], ["y"]])
    assert (held.gap(0, 1), held.gap(1, 0)) == (0, None)
    assert not held.ordered(0, 1)
    one = order(Step("a", loops=loop), Step("b", loops=loop), lanes=[["x"], ["x"]])
    assert one.ordered(0, 1)


# ---------------------------------------------------------------- meetings


@pytest.mark.parametrize(
    ("a", "b", "meet"),
    [
        (Walk(0, ((4, 1),)), Walk(3, ((4, 1),)), True),
        (Walk(0, ((4, 1),)), Walk(4, ((4, 1),)), False),
        (Walk(0, ((4, 8), (2, 1))), Walk(1, ((4, 8), (2, 1))), True),
        (Walk(0, ((4, 8), (2, 1))), Walk(2, ((4, 8), (2, 1))), False),
        (Walk(0, ((4, 8), (2, 1))), Walk(7, ((4, 8), (2, 1))), True),
        (Walk(0, ((3, 6),)), Walk(1, ((3, 4),)), False),
        (Walk(0, ((3, 6),)), Walk(2, ((3, 4),)), True),
    ],
)
def test_walks_meet_at_their_last_byte_and_not_behind_it(a: Walk, b: Walk, meet: bool) -> None:
    assert solvable(difference(a, b)) == meet
    assert not (apart(difference(a, b)) and meet)


def test_a_byte_is_both_its_halves() -> None:
    assert Walk(3, ()).scaled(2) == Walk(6, ((2, 1),))
    assert solvable(difference(Walk(3, ()).scaled(2), Walk(7, ())))
    assert not solvable(difference(Walk(3, ()).scaled(2), Walk(8, ())))


def test_what_nobody_decided_is_not_proved() -> None:
    touch: object = None
    found = Hazards(unknown=[("core/hazard-raw", touch, touch)])  # type: ignore[list-item]
    assert found.status("core/hazard-raw") == "unknown"
    assert found.status("core/hazard-war") == "proved"


# ---------------------------------------------------------------- programs as text


def rules(body: str, name: str = "p") -> set[str]:
    found = next(v for v in verdicts_of(read_plan_text(HEAD + body), Options(repair=False)) if v.name == name)
    return {f.rule for f in found.errors}


def transfers(first: int, second: int, *, reads: bool, after: str = "") -> str:
    """Two transfers of other contexts: both write DM, or the second reads it; bases in bytes of DM."""
    one = f'{{ tier = "dm", base = {first}, slice = "64", element = "C" }}'
    two = f'{{ tier = "dm", base = {second}, slice = "64", element = "C" }}'
    far = '{ tier = "hbm", base = 0, element = "C" }'
    more = '{ tier = "hbm", base = 65536, element = "64, C" }'
    sides = f"source = {two}\ndest = {more}" if reads else f"source = {far}\ndest = {two}"
    return f"""
[transfer.a]
dtype = "i8"
source = {far}
dest = {one}
stream = {{ time = "64", packet = "C" }}
[transfer.b]
dtype = "i8"
{sides}
stream = {{ time = "64", packet = "C" }}
[program.p]
step = [{{ transfer = "a" }}, {{ transfer = "b", context = "other"{after} }}]
"""


@pytest.mark.parametrize(("reads", "kind"), [(True, "core/hazard-raw"), (False, "core/hazard-waw")])
def test_touches_that_share_their_last_byte_meet(reads: bool, kind: str) -> None:
    assert kind in rules(transfers(0, 56, reads=reads))
    assert kind not in rules(transfers(0, 64, reads=reads))
    assert kind not in rules(transfers(0, 56, reads=reads, after=', after = ["a"]'))


def test_boxes_that_share_one_byte_meet() -> None:
    first = Box("dm", (0, 0, 0), (1, 1, 1), 0, 64)
    assert first.meets(Box("dm", (0, 0, 0), (1, 1, 1), 63, 80))
    assert not first.meets(Box("dm", (0, 0, 0), (1, 1, 1), 64, 80))
    assert not first.meets(Box("dm", (0, 0, 1), (1, 1, 2), 0, 64))
    assert first.holds(Box("dm", (0, 0, 0), (1, 1, 1), 0, 64))
    assert not first.holds(Box("dm", (0, 0, 0), (1, 1, 1), 0, 65))


@pytest.mark.parametrize("order_", ["written", "contexts"])
def test_lifetimes_in_a_loop_are_looked_at_around_it(order_: str) -> None:
    """Two buffers on the same bytes, one used in the first half of a body and one in the second: with all steps in a
    row the next iteration waits, with two free contexts it does not.
    """
    body = f"""
[region.one]
tier = "dm"
extent = {{ slice = 64 }}
size = 64
lifetime = ["a", "a"]
[region.two]
tier = "dm"
extent = {{ slice = 64 }}
size = 64
lifetime = ["b", "b"]
[transfer.a]
dtype = "i8"
loop = {{ t = 2 }}
source = {{ tier = "hbm", base = 0, element = "C" }}
dest = {{ tier = "dm", base = 0, slice = "64", element = "C" }}
stream = {{ time = "64", packet = "C" }}
[transfer.b]
dtype = "i8"
loop = {{ t = 2 }}
source = {{ tier = "hbm", base = 65536, element = "C" }}
dest = {{ tier = "dm", base = 0, slice = "64", element = "C" }}
stream = {{ time = "64", packet = "C" }}
[program.p]
regions = ["one", "two"]
order = "{order_}"
step = [{{ transfer = "a" }}, {{ transfer = "b", context = "other", after = ["a"] }}]
"""
    assert ("core/regions" in rules(body)) == (order_ == "contexts")


INTO_A_LOOP = """
[transfer.x]
dtype = "i8"
source = {{ tier = "hbm", base = 0, element = "C" }}
dest = {{ tier = "dm", base = 0, slice = "64", element = "C" }}
stream = {{ time = "64", packet = "C" }}
[access.b]
engine = "fetch"
dtype = "i8"
{0}
memory = {{ tier = "dm", base = 0, slice = "64", element = "C" }}
stream = {{ time = "C / 32", packet = "C % 32" }}
[transfer.c]
dtype = "i8"
{0}
source = {{ tier = "hbm", base = 65536, element = "C" }}
dest = {{ tier = "dm", base = {1}, slice = "64", element = "C" }}
stream = {{ time = "64", packet = "C" }}
[region.one]
tier = "dm"
extent = {{ slice = 64 }}
size = 64
lifetime = ["x", "b"]
[region.two]
tier = "dm"
extent = {{ slice = 64 }}
base = {1}
size = 64
lifetime = ["c", "c"]
[program.p]
regions = [{2}]
order = "written"
step = [{{ transfer = "x" }}, {{ access = "b" }}, {{ transfer = "c" }}]
"""


@pytest.mark.parametrize(
    ("regions", "base", "found"),
    [
        ('"one"', 0, {"core/lifetime"}),
        ('"one"', 32, {"core/regions", "core/lifetime"}),
        ('"one"', 64, set()),
        ('"one", "two"', 0, {"core/regions", "core/lifetime"}),
        ('"one", "two"', 32, {"core/regions", "core/lifetime"}),
        ('"one", "two"', 64, set()),
    ],
)
def test_a_region_that_lives_from_outside_into_a_loop_lives_through_all_of_it(
    regions: str, base: int, found: set[str]
) -> None:
    """What `c` writes behind `b` is what `b` of the next iteration reads, unless it lies behind the region."""
    assert rules(INTO_A_LOOP.format("loop = { t = 4 }", base, regions)) == found
    assert rules(INTO_A_LOOP.format("", base, regions)) == set(), "each step runs once: the region is dead then"
