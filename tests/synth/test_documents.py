"""The moves of "DMA Engine", from the move alone: legal, proved, and no dearer than what the document prints."""

from __future__ import annotations

import pytest
from moves import move

from dmaverify import api
from dmaverify.cost.model import cost
from dmaverify.synth.synthesize import synthesize
from dmaverify.targets.target import load_target

RNGD = load_target("rngd")
EXAMPLES = {
    "basic": (
        {"N": 4, "C": 3, "H": 8, "W": 8},
        {"tier": "hbm", "base": 1024, "element": "N, C, H, W"},
        {"tier": "hbm", "base": 2048, "element": "H, C, N, W"},
        {"time": "H, C, N", "packet": "W"},
    ),
    "1": (
        {"A": 8, "B": 8, "C": 256},
        {"tier": "hbm", "element": "A, B, C"},
        {"tier": "hbm", "base": 16384, "element": "B, A, C"},
        {"time": "A, B", "packet": "C"},
    ),
    "2": (
        {"A": 256, "B": 256, "C": 256},
        {"tier": "hbm", "element": "B, A, C"},
        {"tier": "dm", "slice": "A / 4", "element": "A % 4, B, C"},
        {"time": "B, A % 4, A / 4 % 32, A / 128", "packet": "C"},
    ),
    "3": (
        {"A": 256, "B": 256, "C": 256},
        {"tier": "dm", "slice": "A / 4", "element": "A % 4, B, C"},
        {"tier": "dm", "base": 262144, "slice": "A / 4", "element": "B, A % 4, C"},
        {"time": "B, A % 4, A / 4 % 32, A / 128", "packet": "C"},
    ),
    "4": (
        {"A": 64, "B": 2048, "C": 1024},
        {"tier": "hbm", "element": "A, B, C"},
        {"tier": "dm", "cluster": "B / 1024", "slice": "B / 256 % 4, A", "element": "B % 256, C"},
        {
            "cluster": "B / 1024",
            "slice": "B / 256 % 4",
            "time": "B % 256, C / 256, A % 32, A / 32",
            "packet": "C % 256",
        },
    ),
    "5": (
        {"A": 8, "B": 64, "C": 8, "D": 512},
        {"tier": "hbm", "element": "A, B, C, D"},
        {"tier": "dm", "cluster": "A / 4", "slice": "A % 4, B", "element": "C, D % 256"},
        {"cluster": "A / 4", "slice": "A % 4", "time": "C, B % 32, B / 32", "packet": "D % 256"},
    ),
}
UNEVEN = (
    {"A": 15, "B": 32, "C": 256, "D": 8},
    {
        "tier": "dm",
        "chip": "D / 2",
        "cluster": "D % 2",
        "slice": "A # 16 / 4, A # 16 / 2 % 2, B",
        "element": "A # 16 % 2, C",
    },
    {"tier": "hbm", "chip": "D / 2", "element": "D % 2, B, A, C"},
)


def solved(name: str, **fixed):
    axes, source, dest, stream = EXAMPLES[name]
    return synthesize(move(axes, source, dest, stream=stream), RNGD, axes=axes, **fixed)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_move_of_the_document_is_no_dearer_than_printed_and_the_plan_says_the_same(name):
    found = solved(name, advise=False)
    assert found.verdict is not None
    assert found.verdict.status.value == "proved"
    assert found.before is not None
    assert found.bound <= found.cycles <= found.before.cycles
    assert found.cycles == cost(found.commands).cycles
    plan = api.load(found.plan)
    assert [v.status.value for v in api.check(plan)] == ["proved"]
    assert cost(api.program_of(plan, "m")).cycles == found.cycles


def test_example_4_is_at_least_seven_times_cheaper_than_printed_and_optimal():
    found = solved("4", advise=False)
    assert found.optimal
    assert found.before is not None
    assert found.before.cycles >= 7 * found.cycles
    assert found.transfer.stream is not None  # one stream says what all eight engines do


def test_example_5_cannot_be_better_in_any_order_because_of_bit_8_and_another_layout_can():
    found = solved("5")
    assert found.optimal
    assert found.why is not None
    assert found.why.bits == (8,)
    assert "bit 8" in found.why.sentence
    change = found.why.change
    assert change is not None
    assert change.proved
    assert change.extra_bytes == 0
    assert change.cycles < 0.7 * found.cycles


def test_example_6_needs_one_command_an_engine_and_less_than_the_printed_1192_cycles():
    axes, source, dest = UNEVEN
    found = synthesize(move(axes, source, dest), RNGD, axes=axes, advise=False)
    assert found.found
    assert found.cycles <= 1192
    assert len(found.commands) == len({c.engine for c in found.commands})
    assert len({c.engine.chip for c in found.commands if c.engine}) == 4


def test_4099_elements_become_a_few_large_packets_and_not_4099_small_ones():
    axes = {"A": 4099}
    found = synthesize(
        move(axes, {"tier": "hbm", "element": "A"}, {"tier": "hbm", "base": 65536, "element": "A"}), RNGD, axes=axes
    )
    assert found.found
    assert len(found.commands) > 1
    assert max(c.packet for c in found.commands) >= 256
    one = synthesize(
        move(axes, {"tier": "hbm", "element": "A"}, {"tier": "hbm", "base": 65536, "element": "A"}),
        RNGD, axes=axes, commands=1, advise=False,
    )  # fmt: skip
    assert [c.packet for c in one.commands] == [1]
    assert one.cycles > found.cycles
