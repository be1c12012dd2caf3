"""What launches cost that software waits for, and launches that run side by side; where no cost is exact."""

import random

import pytest

from dmaverify import api
from dmaverify.cost.model import Cost

HEAD = """schema = 1
target = "idma"
[axes]
A = {count}
B = 512
[transfer.t]
dtype = "i8"
source = {{ tier = "mem", base = 4096, element = "A, B" }}
dest = {{ tier = "mem", base = 1048576, element = "A, B" }}
options = {{ {options} }}
commands = '''
{text}'''
"""


def cost_of(text: str, count: int, options: str = 'memory = "hbm"') -> Cost:
    return api.price(HEAD.format(count=count, options=options, text=text))


def registers(*words: int | str) -> str:
    """Each number launches its row of 512 bytes on channel 0; `2:1` launches row 2 on channel 1."""
    out = ["reg32_3d"]
    for word in words:
        if word == "wait":
            out.append("wait")
            continue
        row, _, channel = str(word).partition(":")
        at = 512 * int(row)
        out += [f"0xD4 = {4096 + at}", f"0xD0 = {1048576 + at}", "0xD8 = 512", f"read {0x44 + 4 * int(channel or 0)}"]
    return "\n".join(out) + "\n"


def terms(cost: Cost) -> dict[str, float]:
    return {term.name: term.cycles for term in cost.terms}


def test_a_launch_behind_a_wait_begins_when_those_before_have_answered() -> None:
    one = cost_of(registers(0), 1)
    assert one.exact
    waited = cost_of(registers(0, "wait", 1, "wait"), 2)
    assert waited.cycles == 2 * one.cycles
    assert not waited.exact  # software takes its time as well
    assert waited.binding == "launches"
    assert terms(waited)["read data"] == 2 * terms(one)["read data"]
    assert waited.cycles > 1.4 * cost_of(registers(0, 1), 2).cycles


@pytest.mark.parametrize("text", [registers(0, 1), registers(0, 1, "wait"), registers("wait", 0, 1)])
def test_a_wait_before_or_behind_all_launches_costs_them_nothing(text: str) -> None:
    cost = cost_of(text, 2)
    assert cost.exact
    assert cost.cycles == cost_of(registers(0, 1), 2).cycles
    assert "launches" not in terms(cost)


def test_the_cost_of_rounds_is_the_sum_of_theirs() -> None:
    rng = random.Random(5)
    for _ in range(20):
        rounds = [rng.randrange(1, 4) for _ in range(rng.randrange(2, 5))]
        words: list[int | str] = []
        for size in rounds:
            rows = len([word for word in words if word != "wait"])
            words += [*range(rows, rows + size), "wait"]
        memory = f'memory = "{rng.choice(("sram", "rpc-dram", "hbm"))}", ax_in_flight = {rng.choice((2, 8))}'
        # all rows lie alike in their pages, so that any of them costs what the first ones do
        alone = [cost_of(registers(*range(size)), size, memory + ", burst_len_param = 7") for size in rounds]
        found = cost_of(registers(*words), sum(rounds), memory + ", burst_len_param = 7")
        assert found.cycles == sum(one.cycles for one in alone)


def test_channels_run_side_by_side() -> None:
    two = cost_of(registers("0:0", "1:1", "2:0", "3:1"), 4, 'channels = 2, memory = "hbm"')
    assert two.cycles == cost_of(registers(0, 2), 3).cycles
    assert not two.exact  # what they take from each other is not counted
    one = cost_of(registers("0:1", "1:1", "2:1", "3:1"), 4, 'channels = 2, memory = "hbm"')
    assert one.cycles == cost_of(registers(0, 1, 2, 3), 4).cycles
    assert one.exact


def test_launches_that_an_arbiter_gives_out_cost_at_least_the_slowest() -> None:
    cost = cost_of(registers(0, 1), 2, 'channels = 2, arbitration = "round-robin", memory = "hbm"')
    assert cost.cycles == cost_of(registers(0), 1).cycles
    assert not cost.exact


def test_periodic_launches_have_no_exact_cost() -> None:
    rows = [f"event = 100000\nsrc = {4096 + at}\ndst = {1048576 + at}\nlength = 512\nlaunch\n" for at in (0, 512)]
    cost = cost_of("rt3d\n" + "".join(rows), 2, 'midends = "rt_3d, tensor_nd", events = 2, memory = "hbm"')
    assert not cost.exact
    assert cost.cycles < cost_of(registers(0, 1), 2).cycles


def test_a_chain_that_software_waits_for_is_fetched_and_moved_before_the_next() -> None:
    last = "00000200 0000000a ffffffff ffffffff"
    rows = [
        f"0x{0x8000 + 32 * i:x}: {last} {4096 + 512 * i:08x} 00000000 {1048576 + 512 * i:08x} 00000000\n"
        for i in range(2)
    ]
    image = "desc64\nfetch = 64\nhead = 0x8000\n{}head = 0x8020\n" + "".join(rows)
    engine = 'preset = "cheshire", memory = "hbm"'
    for between in ("wait\n", "poll = 0x8000\n"):
        waited = cost_of(image.format(between), 2, engine)
        alone = cost_of("desc64\nfetch = 64\nhead = 0x8000\n" + rows[0], 1, engine)
        assert waited.cycles == 2 * alone.cycles
        assert waited.cycles > cost_of(image.format(""), 2, engine).cycles


def test_launches_that_ask_for_bursts_of_their_own_are_priced_with_them() -> None:
    text = registers(0) + "wait\n0x00 = 0x0000000C\n" + registers(1).partition("\n")[2]
    short = cost_of("reg32_3d\n0x00 = 0x0000000C\n" + registers(0).partition("\n")[2], 1)
    assert cost_of(text, 2).cycles == cost_of(registers(0), 1).cycles + short.cycles


def test_synthesis_holds_its_plan_against_what_the_written_launches_cost() -> None:
    text = registers(0, "wait", 1)
    found = api.synthesize(HEAD.format(count=2, options='memory = "hbm"', text=text))
    assert found.before is not None
    assert found.before.cycles == cost_of(text, 2).cycles > found.cycles


def test_the_law_is_no_measurement_of_a_memory_that_answers_in_the_cycle_it_is_asked() -> None:
    assert cost_of(registers(0), 1, "memory_latency = 1").exact
    assert not cost_of(registers(0), 1, "memory_latency = 0").exact
