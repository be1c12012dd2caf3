"""Loops of transfers on iDMA engines: what all iterations take, each at its own addresses.

Knows: drawn tiles, steps of loops and engines, the price of one iteration. Does not know: how a mean is made.
Law: the mean of a loop is the mean over a list of all of its iterations, wherever they lie in words and windows.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from dmaverify.api import program_of
from dmaverify.cost.prices import period_of, price_of
from dmaverify.cost.turns import MOST_KINDS, Shift, Turn, kinds_of, turns_cost
from dmaverify.jobs.own_prices import own_price
from dmaverify.plan.plan import Plan
from dmaverify.plan.read import read_plan_text
from dmaverify.program.turns import every
from dmaverify.prove.move.views import moved_commands

ENGINES = (
    "data_width = 64",
    "data_width = 32, decouple_rw = 1",
    "data_width = 512, src_reduce_len = 1, src_max_llen = 1",
    'variant = "r_obi_w_axi", data_width = 32',
    'variant = "rw_tilelink", data_width = 32',
)
STRIPES = 'data_width = 32, midends = "mp_split", region_start = 0, region_end = 1048576, region_width = 256'


def plan_of(engine: str, rows: int, row: int, count: int, at: int = 1048579) -> Plan:
    view = 'view = { tile = "R", length = 1, start = "t" }'
    return read_plan_text(f"""
schema = 1
target = "idma"
axes = {{ R = {rows}, C = {row} }}
[transfer.tile]
dtype  = "i8"
loop   = {{ t = {count} }}
source = {{ tier = "mem", base = 4096, element = "R, C # {row + 1}", {view} }}
dest   = {{ tier = "mem", base = {at}, element = "R, C", {view} }}
stream = {{ time = "1", packet = "C" }}
options = {{ {engine} }}
""")


def one_by_one(plan: Plan) -> float:
    (item,) = plan.transfers
    move, target, commands = item.transfer, plan.targets["idma"], program_of(plan, "tile")
    assert move.views is not None
    prices = [price_of(move, target, moved_commands(commands, move.views, at, target)).cycles
              for at in every(move.views.turns)]  # fmt: skip
    return sum(prices) / len(prices)


def mean_price(turns: list[Turn], price: Callable[[Shift], float], period: int) -> float:
    every = turns_cost(turns, price, period)
    return every.cycles / every.iterations


def in_a_loop(plan: Plan) -> float:
    (item,) = plan.transfers
    return own_price(item.transfer, plan.targets["idma"], program_of(plan, "tile")).mean


@pytest.mark.parametrize("engine", [*ENGINES, STRIPES])
def test_a_loop_takes_what_its_iterations_take_each_at_its_own_address(engine: str) -> None:
    rng = random.Random(engine)
    for _ in range(3):
        count = rng.choice([64, 128, 256, 300])
        plan = plan_of(engine, count, rng.choice([61, 63, 126, 255]), count)
        assert in_a_loop(plan) == pytest.approx(one_by_one(plan), rel=1e-12)


def test_iterations_that_lie_otherwise_than_every_fourth_count_as_they_are() -> None:
    """Rows of 64 bytes read from everywhere in a word of four, written at its start: three of four ask for one more."""
    plan = plan_of("data_width = 32", 256, 64, 256, at=1048576)
    (item,) = plan.transfers
    first = own_price(item.transfer, plan.targets["idma"], program_of(plan, "tile")).first
    assert in_a_loop(plan) == pytest.approx(first + 0.75, abs=0.05)


def test_a_price_that_looks_at_no_address_is_asked_once() -> None:
    asked: list[tuple[int, int]] = []

    def price(shift: tuple[int, int]) -> float:
        asked.append(shift)
        return 7.0

    assert mean_price([(10**9, 63, 64), (3, 1, 0)], price, 1) == 7.0
    assert asked == [(0, 0)]


def test_kinds_are_counted_up_to_a_number_of_them_and_beyond_it_some_are_drawn() -> None:
    for step, known in ((MOST_KINDS, True), (2 * MOST_KINDS, False)):
        kinds = kinds_of([(10**6, 1, 3)], step, MOST_KINDS)
        assert (kinds is not None) == known
        assert kinds is None or sum(seen for _, seen in kinds.values()) == 10**6
        mean = mean_price([(10**6, 1, 3)], lambda shift: float(shift[0] % 2), step)
        assert mean == pytest.approx(0.5, abs=0 if known else 0.2)


def test_an_engine_that_looks_for_a_region_has_no_distance_after_which_its_price_repeats() -> None:
    for engine, expected in ((ENGINES[0], 2048), (STRIPES, None)):
        plan = plan_of(engine, 4, 64, 4)
        assert period_of(plan.transfers[0].transfer, plan.targets["idma"]) == expected


def test_a_kind_counts_as_often_as_there_are_iterations_of_it() -> None:
    assert mean_price([(3, 1, 0)], lambda shift: float(shift[0] % 2), 2) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("engine", "count", "drawn"),
    [(STRIPES, 8, False), (STRIPES, 2 * MOST_KINDS, True), (ENGINES[0], 300, False)],
)
def test_a_mean_of_iterations_that_were_drawn_says_so(engine: str, count: int, drawn: bool) -> None:
    plan = plan_of(engine, count, 64, count)
    move = plan.transfers[0].transfer
    assert own_price(move, plan.targets["idma"], program_of(plan, "tile")).drawn is drawn
