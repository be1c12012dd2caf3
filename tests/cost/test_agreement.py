"""Closed form against simulator: never above it, equal where it says exact, on seeds, random and adversarial programs.

Knows: both evaluators. Does not know: the inside of either.
Law: for every program `cost <= simulate`; where `exact`, `cost == simulate`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cost_programs import (
    BASIC,
    DMN,
    EXAMPLE_1,
    EXAMPLE_2,
    EXAMPLE_3,
    SLICE,
    command,
    dm,
    example_4,
    example_5,
    example_6,
    hbm,
    well_ordered_4,
)
from lab.campaign import KINDS, outcome, random_program, run, table
from lab.draws import counted

from dmaverify.cost.model import cost
from dmaverify.cost.simulate import simulate

LAB = Path(__file__).resolve().parents[1]
SEEDS = {
    "basic": BASIC,
    "1": EXAMPLE_1,
    "2": EXAMPLE_2,
    "3": EXAMPLE_3,
    "4": example_4(),
    "4 well ordered": well_ordered_4(),
    "5": example_5(),
    "5 with bit 8": example_5(bit_8=True),
    "6": example_6(),
}

EXACT = {
    "one row of slice 2, the same bank group again": [command(hbm(1 << 34), dm(192), [(2, 0, DMN)], 256)],
    "every request hits one open row": [command(hbm(), dm(), [(8, (1 << 14) ^ (1 << 10), SLICE), (2, 0, DMN)], 256)],
    "every request switches the row of one bank": [
        command(hbm(), dm(), [(16, 1 << 29, SLICE), (2, 1 << 33, DMN)], 256)
    ],
    "every write goes to one DMN": [command(hbm(), dm(), [(16, 16384, 512), (2, 256, 256), (32, 512, SLICE)], 256)],
    "nothing waits": [command(hbm(), dm(), [(2, 1 << 14, 256), (32, 512, SLICE), (2, 256, DMN)], 256)],
    "nothing waits, to HBM": [command(dm(), hbm(), [(2, 256, 1 << 14), (32, SLICE, 512), (2, DMN, 256)], 256)],
}

ADVERSARIAL = {
    "one bank, rows in turns": [command(hbm(), dm(), [(64, 0, SLICE), (2, 1 << 29, DMN)], 256)],
    "one bank, 64 rows again and again": [
        command(hbm(), dm(), [(8, 1 << 14, 256), (16, 1 << 29, SLICE), (2, 1 << 33, DMN)], 256)
    ],
    "one channel": [command(hbm(), dm(), [(16, (1 << 13) ^ (1 << 9), SLICE), (2, 0, DMN)], 256)],
    "one DMN after the other": [command(hbm(), dm(), [(2, 1 << 18, DMN), (8, 32768, 256), (32, 256, SLICE)], 256)],
    "one slice": [command(hbm(), dm(), [(512, 256, 256)], 256)],
    "partial windows": [command(dm(), hbm(), [(64, SLICE, 120)], 120)],
    "one window over and over": [command(dm(), hbm(), [(32, SLICE, 8)], 8)],
    "misaligned DM": [command(hbm(), dm(4), [(64, 256, 260)], 256)],
    "the top of HBM": [command(hbm(1 << 34), dm(), [(16, 1 << 20, SLICE), (2, 1 << 21, DMN)], 256)],
    "half slices": [command(dm(), hbm(), [(2, DMN, 1 << 20), (3, SLICE // 4, 1 << 16), (16, SLICE // 2, 256)], 256)],
    "backwards": [command(hbm(63 << 20), dm(63 * SLICE), [(64, -(1 << 20), -SLICE)], 256)],
}


@pytest.mark.parametrize("name", SEEDS)
def test_the_closed_form_is_a_bound_on_every_documented_example(name: str) -> None:
    assert cost(SEEDS[name]).cycles <= simulate(SEEDS[name]).cycles


@pytest.mark.parametrize("name", ["1", "2", "3", "4", "basic"])
def test_on_the_examples_the_bound_is_tight(name: str) -> None:
    assert cost(SEEDS[name]).cycles >= 0.95 * simulate(SEEDS[name]).cycles


@pytest.mark.parametrize("name", EXACT)
def test_where_the_closed_form_says_exact_the_simulator_gives_the_same_number(name: str) -> None:
    result = cost(EXACT[name])
    assert result.exact
    assert result.cycles == simulate(EXACT[name]).cycles


@pytest.mark.parametrize("profile", ["book", "schedule"])
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_the_closed_form_is_a_bound_on_adversarial_programs(name: str, profile: str) -> None:
    assert cost(ADVERSARIAL[name], profile).cycles <= simulate(ADVERSARIAL[name], profile).cycles


@pytest.mark.parametrize("profile", ["book", "measured", "silicon"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", counted(6, 25))
def test_the_closed_form_is_a_bound_on_random_and_adversarial_programs(kind: str, profile: str, count: int) -> None:
    """A slice of what `make agree` runs."""
    found = run(0, count + 2 * count // 3 if kind == "any" else count, [kind], [profile])
    assert [one for one in found if one.broken] == []


@pytest.mark.parametrize(("kind", "seed"), [("dmn", 218), ("any", 203), ("partial", 543)])
def test_nothing_is_exact_on_silicon_where_requests_wait_for_the_setup_of_slices(kind: str, seed: int) -> None:
    """One DMN or one bank that is idle between requests."""
    found = outcome(kind, seed, "silicon")
    assert not found.broken
    assert not found.exact


@pytest.mark.parametrize("count", counted(20, 60))
def test_the_closed_form_is_a_bound_where_reads_and_writes_of_hbm_go_on_side_by_side(count: int) -> None:
    assert [one for one in run(0, count, ["any", "shared"], ["beside"]) if one.broken] == []
    turns, beside = (outcome("any", 10, profile) for profile in ("book", "beside"))
    assert beside.bound < turns.bound
    assert beside.simulated < turns.simulated


def test_exact_is_said_of_many_regular_programs_and_kept() -> None:
    found = run(0, 60, ["even"], ["book"])
    assert sum(one.exact for one in found) >= 5
    assert not any(one.broken for one in found)


def test_a_bound_above_the_simulation_is_told_with_its_seed() -> None:
    good = outcome("any", 7, "book")
    bad = replace(good, bound=good.simulated + 1)
    assert not good.broken
    assert "1 violations: FAILED" in table([bad])
    assert "seed 7 (" in table([bad])
    assert replace(good, exact=True, bound=good.simulated - 1).broken


def test_the_random_programs_are_not_all_of_one_kind() -> None:
    """Guards the test above: several engines, several commands, both directions, every tier, odd sizes."""
    programs = [random_program(seed) for seed in range(200)]
    tiers = {(c.read.tier, c.write.tier) for p in programs for c in p}
    assert len(tiers) == 6
    assert {len(p) > 1 for p in programs} == {True, False}
    assert any(c.burst % 256 for p in programs for c in p)
    assert any(loop.read < 0 for p in programs for c in p for loop in c.loops)


def test_without_numba_the_simulator_says_the_same() -> None:
    """Plain Python over numpy, in a process of its own."""
    code = (
        "import sys; sys.modules['numba'] = None\n"
        f"sys.path.insert(0, {str(LAB)!r})\n"
        "from lab.campaign import random_program\n"
        "from dmaverify.cost.simulate import simulate\n"
        "import json\n"
        "print(json.dumps([simulate(random_program(s, 'partial'), profile='measured').statistics() for s in (1, 2)]))"
    )
    got = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    expected = [simulate(random_program(seed, "partial"), profile="measured").statistics() for seed in (1, 2)]
    assert json.loads(got.stdout) == expected


def test_the_simulator_says_the_same_twice() -> None:
    program = random_program(7)
    assert simulate(program).statistics() == simulate(program).statistics()


def test_the_simulator_counts_every_request_once() -> None:
    result = simulate(EXAMPLE_2)
    assert result.requests == 2 * 65536
    assert sum(row["requests"] for row in result.channels) == 65536
    assert sum(row["requests"] for row in result.dmns) == 65536
    assert all(row["hits"] + row["opens"] + row["row_switches"] == row["requests"] for row in result.channels)


def test_behind_the_request_in_transfer_63_more_wait() -> None:
    crowded = [command(hbm(), dm(), [(32, 1 << 29, 256), (32, 0, SLICE), (2, 0, DMN)], 256)]
    assert [row["most_waiting"] for row in simulate(crowded).channels] == [63]


def test_the_trace_holds_what_was_served_in_order_of_service() -> None:
    result = simulate(EXAMPLE_1, record=1000)
    assert len(result.trace) == 128
    assert {event["kind"] for event in result.trace} == {"read", "write"}
    assert max(event["start"] + event["cycles"] for event in result.trace) == result.cycles
