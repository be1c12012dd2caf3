"""Cycles: the RTL sample, the law against a literal reading of it, its closed form and bound, the paper's figures."""

import io
import json
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from lab.draws import counted
from lab.idma_oracles import closed

from dmaverify import api
from dmaverify.cli import app as cli
from dmaverify.cli.idma import utilization_shown
from dmaverify.errors import InputError
from dmaverify.machines.idma.engine import Backend, variant_named
from dmaverify.machines.idma.law import (
    HBM,
    IDEAL,
    RPC_DRAM,
    SRAM,
    Beats,
    BurstRun,
    Depth,
    MemorySystem,
    Totals,
    _State,
    bounds,
    exact,
    fragments,
    utilization,
)  # fmt: skip
from dmaverify.machines.idma.price import Requests, measured, price, price_on
from dmaverify.machines.idma.setup import setup_of
from dmaverify.machines.idma.sweep import sweep
from dmaverify.plan.read import read_plan_text
from dmaverify.targets.target import load_target

pytestmark = pytest.mark.xdist_group("idma-law")  # bursts of the RTL sample are worked out once
STEP = pytest.mark.parametrize("step", counted(5, 1))  # of the rows of the sample each so-many-th

BASE = Backend(variant_named("rw_axi"), 32)


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def of_row(row: dict[str, str]) -> tuple[list[BurstRun], Depth]:
    backend = replace(BASE, data_width=int(row["data_width"]), ax_in_flight=int(row["num_ax_in_flight"]))
    memory = MemorySystem(row["mem"], int(row["mem_latency"]), int(row["mem_outstanding"]))
    runs = fragments(backend, int(row["src"], 16), int(row["dst"], 16), int(row["total"]), int(row["frag"]))
    return runs, Depth.of(backend, memory)


@STEP
def test_the_cycles_of_the_rtl_sample_are_reproduced_exactly(cycle_rows: list[dict[str, str]], step: int) -> None:
    for row in cycle_rows[::step]:
        runs, depth = of_row(row)
        totals = Totals.of(runs)
        assert (totals.read, totals.write) == (int(row["rbeats"]), int(row["wbeats"]))
        assert exact(runs, depth) == int(row["cycles"]), row
    assert len(cycle_rows) == 500


@STEP
def test_the_bound_is_never_above_the_rtl_and_near_it(cycle_rows: list[dict[str, str]], step: int) -> None:
    gaps = []
    for row in cycle_rows[::step]:
        runs, depth = of_row(row)
        low = max(term.cycles for term in bounds(Totals.of(runs), depth))
        assert low <= int(row["cycles"]), row
        gaps.append(1 - low / int(row["cycles"]))
    assert quantile(gaps, 0.5) < 0.002
    assert quantile(gaps, 0.95) < 0.03


@STEP
def test_the_closed_form_keeps_two_percent_on_aligned_fragments(cycle_rows: list[dict[str, str]], step: int) -> None:
    errors = []
    for row in cycle_rows[::step]:
        word, size, total = int(row["data_width"]) // 8, int(row["frag"]), int(row["total"])
        aligned = row["src"] == "0" and (size % word == 0 or word % size == 0) and size <= 256 * word
        if aligned and total % size == 0:
            depth = of_row(row)[1]
            errors.append(abs(closed(total // size, size, word, depth) / int(row["cycles"]) - 1))
    assert len(errors) > 100 // step
    assert quantile(errors, 0.5) < 0.02
    assert quantile(errors, 0.95) < 0.05


def literal(bursts: Sequence[tuple[int, int, int, int, int]], word: int, depth: Depth) -> int:
    """The law word for word: (r, w, n, offset of the source, offset of the destination), every write beat by itself."""
    big_a, big_r, big_w = [], [], []
    last_beat = 0
    latency, n, m, k = depth.memory.latency, depth.outstanding, depth.metadata, depth.memory.outstanding
    for i, (r, w, size, so, do) in enumerate(bursts):
        a = 1 if i == 0 else big_a[i - 1] + 1
        a = max(a, big_w[i - n] + 1) if i >= n else a
        a = max(a, big_w[i - m] + latency + 1) if i >= m else a
        a = max(a, big_r[i - k]) if i >= k else a
        first = max((big_r[i - 1] if i else 0) + 1, a + latency + 1)
        for j in range(w):
            q = (so + min(size, (j + 1) * word - do) - 1) // word
            last_beat = max(last_beat + 1, first + q)
        big_a.append(a)
        big_r.append(first + r - 1)
        big_w.append(last_beat)
    return big_w[-1] + latency + 1


def test_the_law_is_the_literal_recurrence_on_any_bursts() -> None:
    rng = random.Random(3)
    for _ in range(60):
        word, depth = rng.choice((4, 8)), Depth(rng.choice((2, 3, 8)), 11, rng.choice((SRAM, RPC_DRAM, HBM, IDEAL)))
        raw, beats = [], []
        for _ in range(rng.randrange(1, 40)):
            so, do, n = rng.randrange(word), rng.randrange(word), rng.randrange(1, 70)
            r, w = -(-(so + n) // word), -(-(do + n) // word)
            raw.append((r, w, n, so, do))
            beats.append(Beats(r, w, so > do))
        assert exact([BurstRun(tuple(beats))], depth) == literal(raw, word, depth)


def test_a_repeated_pattern_is_worth_its_repetitions() -> None:
    rng = random.Random(4)
    for _ in range(25):
        pattern = tuple(
            Beats(rng.randrange(1, 9), rng.randrange(1, 9), rng.random() < 0.5) for _ in range(rng.randrange(1, 6))
        )
        depth = Depth(rng.choice((2, 5)), rng.choice((6, 9)), rng.choice((SRAM, RPC_DRAM)))
        times = rng.randrange(1, 300)
        assert exact([BurstRun(pattern, times)], depth) == exact([BurstRun(pattern * times)], depth)
    assert exact([], Depth(2, 5, SRAM)) == 0


@pytest.mark.parametrize("system", [SRAM, RPC_DRAM, HBM])
@pytest.mark.parametrize("outstanding", [2, 4, 64])
def test_the_law_of_a_copy_is_gone_through_for_some_rounds_however_many_there_are(
    outstanding: int, system: MemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains of N, of M and of K bursts bind, each with a period of its own."""
    depth = Depth(outstanding, outstanding + 3, system)
    most = 40 * depth.metadata * max(depth.metadata, system.outstanding)
    gone: list[int] = []
    step = _State.step
    monkeypatch.setattr(_State, "step", lambda self, some, own: (gone.append(len(some)), step(self, some, own))[1])
    for size in (1, 3):
        pattern = tuple(Beats(1 + i, 1 + i) for i in range(size))
        assert exact([BurstRun(pattern, 20_011)], depth) == exact([BurstRun(pattern * 20_011)], depth)
        gone.clear()
        assert exact([BurstRun(pattern, 10**6)], depth) > 10**6
        assert sum(gone) < most


def test_one_transfer_takes_its_beats_and_two_latencies() -> None:
    depth = Depth.of(replace(BASE, ax_in_flight=8), SRAM)
    assert exact(fragments(BASE, 0, 0x1000, 64, 64), depth) == 16 + 3 + 3 + 2
    assert exact(fragments(BASE, 1, 0x100003, 100, 100), depth) == 34


# ---------------------------------------------------------------- the paper


def share(memory: MemorySystem, outstanding: int, fragment: int) -> float:
    points = sweep(BASE, memories=[memory], sizes=[fragment], outstanding=[outstanding])
    return points[0].share


def test_eight_requests_fill_the_bus_in_sram_with_single_words() -> None:
    assert share(SRAM, 8, 4) == pytest.approx(0.9995, abs=1e-4)
    assert share(SRAM, 4, 4) < 0.9


def test_four_bus_widths_fill_the_bus_in_hbm_with_enough_requests() -> None:
    assert share(HBM, 64, 16) == pytest.approx(0.988, abs=1e-3)
    assert share(HBM, 32, 16) == pytest.approx(0.677, abs=1e-3)
    assert share(HBM, 64, 8) < 0.7


@pytest.mark.parametrize("fragment", [1, 2])
def test_fragments_below_a_word_are_capped_at_their_share(fragment: int) -> None:
    for memory in (SRAM, RPC_DRAM):
        assert fragment / 4 * 0.99 < share(memory, 64, fragment) <= fragment / 4


def test_8_kib_over_64_bit_take_no_less_than_their_data_and_no_more_than_the_paper_measured() -> None:
    cycles = exact(
        fragments(replace(BASE, data_width=64, ax_in_flight=16), 0, 0x100000, 8192, 8192), Depth(16, 19, SRAM)
    )
    assert 1024 < cycles <= 1107
    assert cycles == 1032
    assert utilization(8192, 8, 1107) == pytest.approx(0.925, abs=1e-3)


def test_the_first_read_request_comes_in_the_second_cycle() -> None:
    """One clock after the accepting edge, cycle 2 inclusive: a one-word copy is that, and the two latencies."""
    for memory in (SRAM, RPC_DRAM, HBM):
        one_word = exact([BurstRun((Beats(1, 1),))], Depth(2, 5, memory))
        assert one_word - 2 * memory.latency - 1 == 2


def test_cheshire_moves_64_bytes_at_almost_full_utilization() -> None:
    setup = setup_of(load_target("idma"), {"preset": "cheshire"})
    runs = fragments(setup.backend, 0, 0x100000, 65536, 64)
    assert utilization(65536, 8, exact(runs, Depth.of(setup.backend, SRAM))) > 0.99


# ---------------------------------------------------------------- plans

PLAN = """
schema = 1
target = "idma"
[axes]
A = {a}
B = 64
[transfer.t]
dtype = "i8"
source = {{ tier = "mem", base = {base}, element = "A, B # 80" }}
dest = {{ tier = "mem", base = 1073741824, element = "A, B" }}
read = "[A={a}:80, B=64:1]:64 MEM@{base}"
write = "[A={a}:64, B=64:1]:64 MEM@1073741824"
options = {{ ax_in_flight = 8, memory = "{memory}" }}
"""


def plan_cost(a: int, base: int = 0, memory: str = "sram") -> object:
    plan = read_plan_text(PLAN.format(a=a, base=base, memory=memory))
    target = plan.targets["idma"]
    return price(plan.transfers[0].transfer, target, api.program_of(plan, "t"))


def test_the_cost_of_a_plan_is_the_law_of_its_bursts() -> None:
    found = plan_cost(16)
    assert found.exact  # type: ignore[attr-defined]
    assert found.cycles == 16 * 16 + 8  # type: ignore[attr-defined]
    assert found.binding in ("read data", "write data")  # type: ignore[attr-defined]
    slow = plan_cost(16, memory="hbm")
    assert slow.cycles > 1.8 * found.cycles  # type: ignore[attr-defined]


def test_a_large_plan_is_bounded_from_its_loops_alone() -> None:
    small, begun = plan_cost(1 << 12, base=3), time.process_time()
    large = plan_cost(1 << 22, base=3)
    assert time.process_time() - begun < 5
    assert not large.exact  # type: ignore[attr-defined]
    assert large.cycles / small.cycles == pytest.approx(1 << 10, rel=0.01)  # type: ignore[attr-defined]


def test_totals_from_residues_are_those_of_the_bursts(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = read_plan_text(PLAN.format(a=100, base=3, memory="sram"))
    commands, setup = api.program_of(plan, "t"), setup_of(plan.targets["idma"], plan.transfers[0].transfer.options)
    listed, runs = measured(setup, commands)
    assert runs
    assert Requests(setup, commands).count == 100
    monkeypatch.setattr("dmaverify.machines.idma.price.EXACT", 10)
    summed, runs = measured(setup, commands)
    assert not runs
    assert summed.read <= listed.read
    assert summed.read >= 0.97 * listed.read
    assert summed.bursts <= listed.bursts
    assert not price_on(setup, commands, most=0).exact


def test_an_unknown_memory_is_refused() -> None:
    with pytest.raises(InputError, match="no memory 'dram'"):
        plan_cost(4, memory="dram")


def test_the_sweep_is_drawn_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "u.svg"
    assert cli.invoke(["utilization", "--total", "256", "--output", str(picture)]) == 0
    said = capsys.readouterr().out
    assert said.count("outstanding ") == 18
    assert "HBM" in picture.read_text(encoding="utf-8")
    assert cli.invoke(["utilization", "--total", "2048", "--output", "u.bmp"]) == 2


def test_a_line_of_stdin_answers_with_the_cycles_of_the_rtl(
    cycle_rows: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    some = cycle_rows[:8]
    lines = [json.dumps({k: v for k, v in row.items() if k not in ("cycles", "rbeats", "wbeats")}) for row in some]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join([*lines, '{"frag": 0}', '{"frag": 4, "latency": 3}'])))
    assert cli.invoke(["cost", "--stdin"]) == 2
    *answers, zero, unknown = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert [answer["cycles"] for answer in answers] == [int(row["cycles"]) for row in some]
    assert "error" in zero
    assert "error" in unknown


@pytest.mark.parametrize(
    ("engine", "reading"),
    [("rw_axi", False), ("rw_obi", False), ("decouple_rw=1", False), ("rw_axis", True), ("rw_tilelink", True)],
)
def test_the_table_of_utilization_says_where_the_law_is_a_reading(engine: str, reading: bool) -> None:
    table = utilization_shown((engine,), 1 << 7, None, False)
    assert ("here it is a reading" in table) is reading
