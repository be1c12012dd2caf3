"""Cycles of back-ends whose sides are not coupled: RTL row by row, bounds below the law, periods that hold."""

import random
from pathlib import Path
from statistics import median

import pytest
from lab.draws import counted

from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.machines.idma.decoupled import copied_apart, cycles_apart, is_measured
from dmaverify.machines.idma.decoupled_bounds import ApartTotals, bounds_apart
from dmaverify.machines.idma.engine import AXI, INIT, OBI, TILELINK, Backend, Request, variant_named
from dmaverify.machines.idma.law import HBM, SRAM, BurstRun, Depth, MemorySystem, Meter, exact
from dmaverify.machines.idma.legalizer import legalize
from dmaverify.machines.idma.nd import Descriptor, Dim
from dmaverify.machines.idma.order import command_of
from dmaverify.machines.idma.price import of_pieces, price_on
from dmaverify.machines.idma.setup import setup_of
from dmaverify.machines.idma.wire import beats_of
from dmaverify.targets.target import load_target

DOCS = (Path(__file__).resolve().parents[2] / "docs/howto/idma.md").read_text(encoding="utf-8")
PORTS = [
    ("rw_axi", AXI, AXI), ("rw_obi", OBI, OBI), ("r_axi_w_obi", AXI, OBI), ("r_obi_w_axi", OBI, AXI),
    ("rw_axi_rw_obi", AXI, OBI), ("rw_axi_rw_obi", OBI, AXI), ("r_obi_rw_init_w_axi", INIT, AXI),
]  # fmt: skip


def asked(row: dict[str, str]) -> tuple[Backend, MemorySystem, list[Request]]:
    """The engine, its memory and the transfers of a row."""
    ports = int(row["src_protocol"]), int(row["dst_protocol"])
    backend = Backend(
        variant_named(row["variant"]), int(row["data_width"]), ax_in_flight=int(row["num_ax_in_flight"]),
        buffer_depth=int(row["buffer_depth"]), system_depth=int(row["system_depth"]),
    )  # fmt: skip
    every = []
    for text in row["transfers"].split():
        src, _, rest = text.partition(">")
        dst, _, length = rest.partition(":")
        every.append(Request(int(src, 16), int(dst, 16), int(length), *ports, row["decouple_rw"] == "1"))
    return backend, MemorySystem("memory", int(row["mem_latency"]), int(row["mem_outstanding"])), every


def law_of(row: dict[str, str]) -> int:
    backend, memory, every = asked(row)
    if every[0].src_protocol == every[0].dst_protocol == AXI and not every[0].decouple_rw:
        meter = Meter(backend)
        return exact([BurstRun(tuple(b for r in every for b in meter.beats(r)))], Depth.of(backend, memory))
    found = cycles_apart(backend, memory, (every[0].src_protocol, every[0].dst_protocol), every)
    assert found is not None
    return found


def drawn(rng: random.Random) -> tuple[Backend, MemorySystem, tuple[int, int], list[Request]]:
    variant, *ports = rng.choice(PORTS)
    backend = Backend(
        variant_named(variant), rng.choice([32, 64, 128]), ax_in_flight=rng.choice([2, 3, 8, 32]),
        buffer_depth=rng.choice([2, 3, 6]), system_depth=rng.choice([0, 0, 7]),
    )  # fmt: skip
    memory = MemorySystem("memory", rng.choice([1, 3, 13, 40]), rng.choice([2, 4, 16, 1024]))
    most = rng.choice([6, 64, 1000])
    every = [
        Request(rng.randrange(1 << 12, 9 << 12), rng.randrange(1 << 20, 17 << 16), rng.randint(1, most), *ports, True)
        for _ in range(rng.choice([1, 2, 5, 20]))
    ]
    return backend, memory, (ports[0], ports[1]), every


def test_the_law_is_that_of_the_rtl_for_every_row(apart_rows: list[dict[str, str]]) -> None:
    rows = [row for row in apart_rows if row["stall"] == "0"]
    assert len(rows) > 150
    assert [law_of(row) for row in rows] == [int(row["cycles"]) for row in rows]


def test_a_memory_that_stalls_is_never_faster_and_the_docs_say_how_much_slower(
    apart_rows: list[dict[str, str]],
) -> None:
    for stall in (10, 25, 50):
        shares: dict[str, list[float]] = {"coupled": [], "not coupled": []}
        for row in (row for row in apart_rows if row["stall"] == str(stall)):
            share = law_of(row) / int(row["cycles"])
            assert share <= 1
            axi = row["src_protocol"] == row["dst_protocol"] == "0"
            shares["coupled" if axi and row["decouple_rw"] == "0" else "not coupled"].append(share)
        for name, found in shares.items():
            line = f"| {stall} % | {name} | {median(found):.2f} | {min(found):.2f} |"
            assert line in DOCS, line


@pytest.mark.parametrize("count", counted(50, 150))
def test_no_bound_is_above_the_law(count: int) -> None:
    rng = random.Random(5)
    for _ in range(count):
        backend, memory, ports, every = drawn(rng)
        cycles = cycles_apart(backend, memory, ports, every)
        sides = [[pair for r in every for pair in legalize(backend, r).pairs(side)] for side in ("read", "write")]
        beats = [sum(beats_of(at, count, backend.word) for at, count in side) for side in sides]
        terms = bounds_apart(ApartTotals(beats[0], beats[1], len(sides[0]), len(sides[1])), backend, memory, ports)
        assert cycles is not None
        assert terms[0].cycles <= cycles, (backend, memory, ports, every)


@pytest.mark.parametrize("count", counted(8, 25))
def test_fragments_are_counted_as_they_are_gone_through(count: int) -> None:
    rng = random.Random(6)
    for _ in range(count):
        backend, memory, ports, _ = drawn(rng)
        size, total, src = rng.choice([1, 3, 4, 16, 100, 1024]), rng.choice([64, 3000]), rng.choice([0, 1])
        dst = (1 << 20) + rng.choice([0, 3])
        every = [Request(src + i, dst + i, min(size, total - i), *ports, True) for i in range(0, total, size)]
        assert copied_apart(backend, memory, ports, (src, dst, total), size) == cycles_apart(
            backend, memory, ports, every
        )


@pytest.mark.parametrize("size", [12, 40, 96])
def test_fragments_that_seldom_cross_a_page_are_counted_with_those_that_do(size: int) -> None:
    backend, ports, total = Backend(variant_named("rw_axi"), 32), (AXI, AXI), size * 400
    every = [Request(i, (1 << 20) + i, size, *ports, True) for i in range(0, total, size)]
    assert copied_apart(backend, HBM, ports, (0, 1 << 20, total), size) == cycles_apart(backend, HBM, ports, every)


def test_protocols_that_were_not_measured_are_bounds_and_lists_without_end_have_no_law() -> None:
    assert is_measured(AXI, OBI)
    assert is_measured(INIT, AXI)
    assert not is_measured(AXI, INIT)
    assert not is_measured(TILELINK, AXI)
    backend = Backend(variant_named("r_tilelink_w_axi"), 128)
    stuck = Request(2048, 0, 8192, TILELINK, AXI)
    assert legalize(backend, stuck).read.stuck is not None
    assert cycles_apart(backend, SRAM, (TILELINK, AXI), [stuck]) is None
    assert cycles_apart(backend, SRAM, (AXI, AXI), []) is None


EVENT = """rt3d
event = {period}
src = 0x1000
dst = 0x20000
length = 256
src_protocol = obi
dst_protocol = obi
launch
"""


def test_a_period_is_kept_by_the_engine_that_there_is(tmp_path: Path) -> None:
    engine = {"variant": "rw_obi", "ax_in_flight": 2, "memory": "hbm"}
    setup = setup_of(load_target("idma"), engine)
    needed = of_pieces(setup, [Request(0x1000, 0x20000, 256, OBI, OBI)], HBM)
    assert needed == 3335  # two words under way, each for a hundred cycles
    for period, rules in ((needed, set()), (400, {"idma/event-period"})):
        file = tmp_path / f"{period}.idma"
        file.write_text(EVENT.format(period=period), encoding="utf-8")
        verdict = verdict_of_file(str(file), engine=("rw_obi", "ax_in_flight=2", "memory=hbm"))
        assert verdict is not None
        assert {finding.rule for finding in verdict.errors} == rules


@pytest.mark.parametrize(
    ("options", "exact_"),
    [
        ({"variant": "rw_obi"}, True), ({"variant": "r_axi_w_obi"}, True), ({"decouple_rw": 1}, True),
        ({"variant": "rw_tilelink"}, False), ({"decouple_rw": 1, "legalizer": 0}, False), ({"compute": 1}, False),
    ],
)  # fmt: skip
def test_a_price_says_whether_it_is_the_law_s(options: dict[str, int | str], exact_: bool) -> None:
    setup = setup_of(load_target("idma"), options)
    ports = setup.request.src_protocol, setup.request.dst_protocol
    commands = [command_of(Descriptor(Request(4096, 1 << 17, 64, *ports), (Dim(16, 80, 64),)), 32)]
    found = price_on(setup, commands)
    assert found.exact is exact_
    assert not price_on(setup, commands, most=100).exact
    assert price_on(setup, commands, most=100).cycles <= found.cycles
