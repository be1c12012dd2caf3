"""What one bank needs: counted on addresses, and never more than the simulator plays.

Knows: banks by hand, random loops that no vectors describe.
Does not know: the inside of the simulator.
Law: switches that no queue avoids are at most those that the simulator makes, in every channel.
"""

from __future__ import annotations

import random

import pytest
from cost_programs import SLICE, command, dm, hbm
from lab.campaign import random_program

from dmaverify.cost.banks import MOST, bank_uses
from dmaverify.cost.constants import cost_data
from dmaverify.cost.model import cost
from dmaverify.cost.nest import nest_of
from dmaverify.cost.simulate import simulate
from dmaverify.program.command import Command, Loop

ROW = 1 << 29


def uses(*commands: Command) -> list[tuple[int, int, int]]:
    nests = [nest_of(one, "read") for one in commands]
    return [(u.channel, u.requests, u.switches) for u in bank_uses(nests, cost_data("book")) or ()]


def test_rows_that_follow_each_other_in_one_bank_are_switched_once_each() -> None:
    assert uses(command(hbm(), dm(), [(3, ROW, SLICE), (5, 0, 256)], 256)) == [(0, 15, 2)]


def test_two_rows_in_turns_are_what_a_queue_sorts() -> None:
    turns = [(30, 0, 256), (2, ROW, SLICE)]
    assert uses(command(hbm(), dm(), turns, 256)) == [(0, 60, 1)]


def test_two_rows_in_blocks_longer_than_the_queue_are_switched_every_time() -> None:
    blocks = [(3, 0, 256), (2, ROW, SLICE), (70, 0, 8)]
    assert uses(command(hbm(), dm(), blocks, 256)) == [(0, 420, 5)]


def test_of_two_streams_only_rows_that_differ_are_counted() -> None:
    one = command(hbm(), dm(), [(2, ROW, SLICE), (70, 0, 256)], 256)
    assert uses(one, one) == [(0, 280, 1)]


def test_a_stream_too_long_to_be_looked_at_says_nothing() -> None:
    assert bank_uses([nest_of(command(hbm(), dm(), [(MOST + 1, ROW, 256)], 256), "read")], cost_data("book")) is None


@pytest.mark.parametrize("kind", ["bank", "channel", "long", "any"])
def test_no_channel_switches_less_than_is_said_to_be_unavoidable(kind: str) -> None:
    data, looked = cost_data("book"), 0
    for seed in range(60):
        program = [one.normal for one in random_program(seed, kind)]
        if len(program) > 1 or "hbm" not in (program[0].read.tier, program[0].write.tier):
            continue
        sides = [("read", program[0].read), ("write", program[0].write)]
        found = bank_uses([nest_of(program[0], role) for role, port in sides if port.tier == "hbm"], data)
        if found is None:
            continue
        looked += 1
        played = {row["channel"]: row["row_switches"] for row in simulate(program, data).channels}
        least: dict[int, int] = {}
        for use in found:
            least[use.channel] = least.get(use.channel, 0) + use.switches
        assert all(many <= played[channel] for channel, many in least.items()), seed
    assert looked > 5


def test_counts_do_not_change_with_how_loops_are_written() -> None:
    draw = random.Random(1)
    for _ in range(20):
        count, step = draw.choice([6, 12, 30]), draw.choice([ROW, ROW + (1 << 14), 1 << 20])
        whole = Command(hbm(), dm(), (Loop(count, step, 256), Loop(3, 0, SLICE)), 256, 256)
        split = (Loop(count // 3, 3 * step, 768), Loop(3, step, 256), Loop(3, 0, SLICE))
        cut = Command(hbm(), dm(), split, 256, 256)
        assert uses(whole) == uses(cut)
        assert cost([whole]).cycles == cost([cut]).cycles
