"""The documents' worked examples: the closed form gives the printed cycles, the simulator agrees, the stories hold.

Knows: the numbers that "DMA Engine" prints. Does not know: how either evaluator works.
Law: every tolerance is the document's own rounding, said beside the number.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cost_programs import (
    BASIC,
    EXAMPLE_1,
    EXAMPLE_2,
    EXAMPLE_3,
    command,
    dm,
    example_4,
    example_5,
    example_6,
    hbm,
    well_ordered_4,
)

from dmaverify.cost.explain import explain
from dmaverify.cost.model import Cost, cost
from dmaverify.cost.simulate import simulate
from dmaverify.program.command import Command, Engine


def term(result: Cost, name: str) -> float:
    return next(one.cycles for one in result.terms if one.name == name)


@pytest.mark.parametrize(
    ("program", "printed"), [(EXAMPLE_1, 628), (EXAMPLE_2, 66036), (EXAMPLE_3, 131572)], ids=["1", "2", "3"]
)
def test_an_example_bound_by_its_requests_costs_what_is_printed(program: list[Command], printed: int) -> None:
    """Examples 1 to 3: 500 plus one cycle a request, reads and writes added within one memory only."""
    assert cost(program).cycles == printed


def test_example_4_pays_about_40_cycles_for_nearly_every_request() -> None:
    """655,860 printed, "conservative": FR-FCFS may save 1.6 % at most, and does save 0.4 %."""
    result = cost(example_4())
    assert result.cycles == pytest.approx(655_860, rel=0.016)
    assert result.binding == "row switches, all engines"
    assert simulate(example_4()).cycles == pytest.approx(655_860, rel=0.005)


def test_the_readme_prints_what_both_evaluators_say_of_the_examples() -> None:
    table = (
        (Path(__file__).resolve().parents[2] / "docs" / "howto" / "cost.md")
        .read_text()
        .partition("| example | printed |")[2]
    )
    rows = [[cell.strip() for cell in line.split("|")[1:5]] for line in table.splitlines()[2:8]]
    programs = [EXAMPLE_1, EXAMPLE_2, EXAMPLE_3, example_4(), example_5(), example_6()]
    assert [row[0] for row in rows] == list("123456")
    for row, program in zip(rows, programs, strict=True):
        assert row[2] == f"{cost(program).cycles:,.0f}"
        assert row[3] == f"{simulate(program).cycles:,.0f}"
    assert "654,580 in order of arrival" in table
    assert 500 + (explain(example_4()).sides[0].row_changes or 0) / 32 * 40 == 654_580
    assert "overlapped they are 628" in table
    assert next(e.cycles for e in cost(example_6()).engines if str(e.engine) == "(0, 0, 0)") == 628


def test_example_5_costs_what_its_16_channels_need() -> None:
    """1,857 printed from 256 * 5.3; with 16/3 it is 1,865, less what the start-up holds of the first request."""
    result = cost(example_5())
    assert result.cycles == pytest.approx(1857, rel=0.005)
    assert result.binding in ("channels, all engines", "start-up")
    assert term(result, "channels, all engines") == pytest.approx(256 * 16 / 3, abs=5)


def test_example_6_is_decided_by_the_engine_with_two_commands() -> None:
    """1,192 printed. Its 192 data cycles come from one DMN at 128 B/cycle, not from adding reads and writes."""
    result = cost(example_6())
    assert result.cycles == pytest.approx(1192, abs=2)
    by_engine = {str(e.engine): e for e in result.engines}
    assert by_engine["(0, 0, 3)"].commands == 2
    assert by_engine["(0, 0, 3)"].cycles == result.cycles
    assert by_engine["(0, 0, 0)"].cycles < 756


def test_the_basic_example_pays_for_its_8_byte_writes() -> None:
    """96 writes of 8 bytes are 96 windows written in part; the document prints no cycles for it."""
    result = cost(BASIC)
    assert result.binding == "partial windows"


def test_example_4_is_about_ten_times_slower_than_a_well_ordered_twin() -> None:
    """655,360 against 65,536 in the document, which forgets that 32 channels need 87,381 cycles for these requests."""
    slow, fast = cost(example_4()), cost(well_ordered_4())
    assert fast.binding == "channels, all engines"
    assert 7 < slow.cycles / fast.cycles < 11
    assert 6 < simulate(example_4()).cycles / simulate(well_ordered_4()).cycles < 11


def test_example_5_loses_half_of_hbm_to_bit_8() -> None:
    without, with_bit = cost(example_5()), cost(example_5(bit_8=True))
    assert term(without, "channels, all engines") == pytest.approx(
        2 * term(with_bit, "channels, all engines"), rel=0.01
    )
    assert "16 of 32 channels" in next(t.why for t in without.terms if t.name == "channels, all engines")


def test_a_120_byte_run_costs_its_windows() -> None:
    """64 runs of 120 bytes end to end touch 92 windows, 1.44 each (docs/machines/rngd.md 8.2)."""
    program = [command(hbm(), dm(), [(64, 120, 1 << 22)], 120)]
    assert term(cost(program), "read issue") == 92
    assert pytest.approx(1.44, abs=0.005) == 92 / 64


@pytest.mark.parametrize(("packet", "requests"), [(4095, 16), (4096, 16), (256, 1), (257, 2), (255, 1), (1, 1)])
def test_an_aligned_packet_is_as_many_requests_as_the_document_counts(packet: int, requests: int) -> None:
    program = [command(hbm(), dm(), [], packet)]
    assert cost(program).sides[0][0].requests == requests


def test_each_command_of_an_engine_pays_its_start_up() -> None:
    """4,099 bytes as 4,096 + 3: "each additional DmaCommand adds ~500 cycles"."""
    one = [command(hbm(), dm(), [], 4096)]
    two = [*one, command(hbm(4096), dm(4096), [], 8)]
    assert cost(two).cycles - cost(one).cycles == pytest.approx(500, abs=10)
    elsewhere = [*one, command(hbm(4096), dm(4096), [], 8, Engine(0, 0, 1))]
    assert cost(elsewhere).cycles == pytest.approx(cost(one).cycles, abs=2)


def test_between_chips_pcie_moves_30_bytes_a_cycle() -> None:
    program = [command(hbm(), hbm(0, 1), [(1024, 256, 256)], 256)]
    assert cost(program).cycles == pytest.approx(500 + 1024 * 256 / 30, abs=1)
    assert cost(program).binding == "PCIe"


def test_one_dmn_gives_half_of_the_bandwidth() -> None:
    half = [command(hbm(), dm(), [(64, 8192, 256), (32, 256, 1 << 22)], 256)]
    both = [command(hbm(), dm(), [(32, 16384, 256), (32, 512, 1 << 22), (2, 256, 1 << 27)], 256)]
    assert (cost(half).cycles - 500) / (cost(both).cycles - 500) == pytest.approx(2, rel=0.01)


def test_the_size_of_a_move_does_not_change_the_number_of_its_terms() -> None:
    """2^40 elements: the closed form walks loops, not addresses."""
    program = [command(hbm(), dm(), [(1 << 20, 256, 0), (1 << 12, 0, 0)], 256)]
    assert cost(program).cycles >= 1 << 32
