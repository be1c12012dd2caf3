"""Statements of the iDMA paper: what the tool computes is what the table of the docs says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dmaverify.cli import app as cli
from dmaverify.machines.idma.area import area_parts, gates
from dmaverify.machines.idma.engine import Backend, variant_named
from dmaverify.machines.idma.law import HBM, RPC_DRAM, SRAM, Depth, MemorySystem, exact, fragments
from dmaverify.machines.idma.price import first_read, memory_of, price_on
from dmaverify.machines.idma.setup import setup_of
from dmaverify.machines.idma.sweep import sweep
from dmaverify.program.command import Command, Port
from dmaverify.targets.target import load_target

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "idma.md").read_text(encoding="utf-8")
BASE = Backend(variant_named("rw_axi"))


@pytest.mark.parametrize(
    ("memory", "outstanding", "fragment", "row"),
    [
        (SRAM, 8, 4, "SRAM, 8 outstanding, 4 B | almost perfect | 0.9995"),
        (HBM, 64, 16, "HBM, 64 outstanding, 16 B (four bus words) | almost perfect | 0.988"),
        (HBM, 32, 16, "HBM, 32 outstanding, 16 B | more are needed in deeper memory | 0.677"),
        (RPC_DRAM, 16, 8, "RPC-DRAM, 16 outstanding, 8 B | more are needed in deeper memory | 0.998"),
        (SRAM, 64, 2, "below the bus width (2 B, SRAM) | substantial drop | 0.500"),
    ],
)
def test_points_of_figure_14(memory: MemorySystem, outstanding: int, fragment: int, row: str) -> None:
    (point,) = sweep(BASE, memories=[memory], sizes=[fragment], outstanding=[outstanding])
    said = row.rsplit(" ", 1)[1]
    assert row in DOCS
    assert f"{point.share:.{len(said) - 2}f}" == said


@pytest.mark.parametrize(
    ("options", "cycles"),
    [
        ({}, 2),
        ({"legalizer": 0}, 1),
        ({"preset": "mempool"}, 4),
        ({"preset": "controlpulp"}, 3),
        ({"dims": 2}, 2),
        ({"nd_latency": 1}, 3),
    ],
)
def test_the_latency_rule(options: dict[str, int | str], cycles: int) -> None:
    assert first_read(setup_of(load_target("idma"), options)) == cycles


def test_area_grows_as_table_4_says() -> None:
    at = [gates(replace(BASE, ax_in_flight=n)) for n in (31, 32)]
    assert "| 18.3 kGE |" in DOCS
    assert f"{at[1] / 1000:.1f}" == "18.3"
    assert at[1] < 25_000
    assert "| 406 GE |" in DOCS
    assert round(at[1] - at[0]) == 406
    small = Backend(variant_named("rw_obi"))
    assert "| 4.3 kGE |" in DOCS
    assert f"{gates(small) / 1000:.1f}" == "4.3"
    base = {part.name: part.gates for part in area_parts(replace(BASE, ax_in_flight=16))}
    assert base == {
        "decoupling": 6500, "legalizer-state": 2920, "legalizer-page-split": 200, "dataflow": 1300, "managers": 290,
        "shifters": 620,
    }  # fmt: skip
    both = Backend(variant_named("rw_axi_rw_obi"), ax_in_flight=16)
    assert {p.name: p.gates for p in area_parts(both)}["shifters"] == 620  # of shared parts the largest


@pytest.mark.parametrize(
    ("system", "paper", "row"),
    [
        ("controlpulp", 11.0, "11 kGE | 12.6 kGE, the back-end alone | 14 % |"),
        ("manticore", 75.0, "75 kGE | 56.6 kGE, the back-end alone | -25 % |"),
        ("mempool", 45.0, "45 kGE | 43.6 kGE, one back-end | -3 % |"),
        ("pulp-open", 50.0, "50 kGE | 14.9 kGE, without its ten front-ends | -70 % |"),
        ("cheshire", 60.0, "60 kGE | 13.7 kGE, the back-end alone | -77 % |"),
        ("controlpulp", 61.0, "61 kGE | 12.6 kGE, the back-end alone | -79 % |"),
        ("io-dma", 2.0, "2 kGE | 4.3 kGE | 117 % |"),
    ],
)
def test_sizes_of_systems(system: str, paper: float, row: str) -> None:
    found = gates(setup_of(load_target("idma"), {"preset": system}).backend) / 1000
    assert f"| {row}" in DOCS
    assert f" {found:.1f} kGE" in row
    assert abs(100 * (found - paper) / paper - int(row.split("|")[-2].strip(" %"))) <= 1


def test_sums_of_table_4() -> None:
    lines = (3700, 1400, 1400, 1500, 710, 710, 95, 105, 1300, 70, 190, 30, 120, 250, 250)
    assert gates(replace(BASE, ax_in_flight=16)) == sum(lines) == 11_830
    assert "sum up to 11.8 kGE | 11.8 kGE | 0 % |" in DOCS
    with_init, without = (gates(Backend(variant_named(f"rw_axi{x}"))) for x in ("_rw_init", ""))
    assert with_init - without == 55 < 100
    assert "below 100 GE | 55 GE |" in DOCS


def test_systems_of_section_3() -> None:
    cheshire = setup_of(load_target("idma"), {"preset": "cheshire"}).backend
    (point,) = sweep(cheshire, memories=[RPC_DRAM], sizes=[64], outstanding=[8])
    assert f"{point.share:.3f}" == "0.997"
    mempool = setup_of(load_target("idma"), {"preset": "mempool"}).backend
    cycles = exact(fragments(mempool, 0, 1 << 20, 1 << 19, 1 << 19), Depth.of(mempool, SRAM))
    share = (1 << 19) / 64 / cycles
    assert (f"{share:.3f}", f"{16 * share:.1f}") == ("0.999", "16.0")
    assert "64 B | almost perfect | 0.997 |" in DOCS
    assert "99 % of the bus | 0.999 | 1 % |" in DOCS
    assert "| 15.8 | 16.0 | 1 % |" in DOCS


def test_a_memory_of_ones_own_is_swept(capsys: pytest.CaptureFixture[str]) -> None:
    engine = ["--engine", "memory=hbm", "--engine", "memory_latency=40"]
    assert cli.invoke(["utilization", *engine]) == 0
    shown = capsys.readouterr().out
    assert "SRAM" not in shown
    assert "four bus words: HBM 32 (18.3 kGE)" in shown
    assert cli.invoke(["utilization"]) == 0
    assert "HBM 64 (31.3 kGE)" in capsys.readouterr().out
    assert "98 % in fragments of four bus words | more than 64 are tracked | 64, in 31.3 kGE |" in DOCS


def test_pulp_open_moves_8_kib() -> None:
    backend = Backend(variant_named("rw_axi"), 64, ax_in_flight=16)
    assert exact(fragments(backend, 0, 1 << 20, 8192, 8192), Depth.of(backend, SRAM)) == 1032
    assert "1032, OBI to AXI, without configuration" in DOCS


def test_protocols_without_bursts_are_priced_word_by_word() -> None:
    obi = Backend(variant_named("rw_obi"), ax_in_flight=2)
    shares = {p.fragment: p.share for p in sweep(obi, memories=[HBM], sizes=[4, 1024], outstanding=[2])}
    assert shares[4] == pytest.approx(shares[1024], rel=0.01)
    axi = sweep(BASE, memories=[HBM], sizes=[1024], outstanding=[2])[0].share
    assert shares[1024] < axi / 10


def test_memory_is_an_option() -> None:
    setup = setup_of(load_target("idma"), {"memory": "hbm", "memory_latency": 40, "memory_outstanding": 7})
    assert memory_of(setup) == MemorySystem("HBM", 40, 7)


@pytest.mark.parametrize(("fetch", "latency", "more"), [(256, 13, 15), (64, 13, 18), (128, 100, 103)])
def test_a_chain_waits_for_its_first_descriptor(fetch: int, latency: int, more: int) -> None:
    options = {"address_width": 64, "memory_latency": latency, "fetch_width": fetch}
    commands = (Command(Port("mem", 0), Port("mem", 1 << 20), (), 64, 64),)
    alone, chained = (
        price_on(setup_of(load_target("idma"), {**options, "front_end": front}), commands)
        for front in ("inst64", "desc64")
    )
    assert chained.cycles - alone.cycles == more
    assert (alone.exact, chained.exact) == (True, False)
