"""Kernels and programs in time, gathers, loops, steps at once, and moves to and from the host.

Knows: the command line and its JSON, pieces of work by hand.
Does not know: how a transfer is priced.
Law: what steps share slows them together, and never below the time that each takes alone.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from cost_programs import SLICE, command, dm, hbm
from lab.draws import counted

from dmaverify.api import price
from dmaverify.cli.app import cli
from dmaverify.cost import sharing
from dmaverify.cost.constants import cost_data
from dmaverify.cost.gathers import RowMoves, gather_cost
from dmaverify.cost.model import cost
from dmaverify.cost.sharing import WorkPiece, in_time, loads_of
from dmaverify.cost.simulate import simulate
from dmaverify.cost.turns import EACH, Turn, Turns, turns_cost
from dmaverify.program.command import Command, Engine, Loop, Port
from dmaverify.values import replace

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["cost", *arguments])


def entries(*arguments: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(run(*arguments, "--json").stdout)}


# ---------------------------------------------------------------- kernels


def kernel_of(transfers: int) -> str:
    """A kernel of so many transfers: each matrix is loaded and stored turned."""
    names = [f"m{n}" for n in range(transfers // 2)]
    lines = ["use furiosa_opt_std::prelude::*;", "axes![Row = 512, Col = 256];", "type Chip = m![1];"]
    lines += ["type Matrix = HbmTensor<bf16, Chip, m![Row, Col]>;", "#[device(chip = 1)]"]
    lines += ["pub fn many(ctx: &mut Context,", *(f"    {name}: &Matrix," for name in names)]
    lines += [*(f"    out_{name}: &mut Matrix," for name in names), ") {"]
    for name in names:
        lines.append(f"    let in_{name} = {name}.to_dm::<m![Row / 256], m![Row % 256], m![Col]>(&mut ctx.tdma);")
        lines.append(f"    in_{name}.view().to_hbm_view(&mut ctx.tdma, out_{name}.view_mut());")
    return "\n".join([*lines, "}", ""])


def test_a_kernel_of_thirty_transfers_gets_a_timeline_with_its_critical_path(tmp_path: Path) -> None:
    file = tmp_path / "many.rs"
    file.write_text(kernel_of(30), encoding="utf-8")
    found = entries(str(file))
    many = found["many"]
    assert many["kind"] == "kernel"
    assert len(many["steps"]) == len(many["critical_path"]) == 30
    own = [step["end"] - step["start"] for step in many["steps"]]
    assert many["cycles"] == pytest.approx(sum(own))
    assert own == pytest.approx([found[step["step"]]["cycles"] for step in many["steps"]])
    file.write_text(kernel_of(12), encoding="utf-8")
    text = run(str(file)).stdout
    assert "many-in_m0 -> many-to_hbm_view -> many-in_m1 -> ... -> " in text
    assert "what it computes" in text


def test_a_move_that_the_rules_refuse_takes_no_price_from_the_other_moves_of_a_kernel() -> None:
    result = run(str(EXAMPLES / "rust" / "mistakes.rs"), "--json")
    found = {one["name"]: one for one in json.loads(result.stdout)}
    assert "no legal commands" in result.stderr
    assert found["short_rows-_rows"]["cycles"] is None
    assert found["copies-rows"]["cycles"] == 563
    assert found["copies"]["cycles"] is None
    assert found["copies"]["at_least"] == 563
    assert "step `copies-to_hbm` is" in found["copies"]["reason"]


def test_a_kernel_prices_its_gathers_and_scatters_by_all_of_their_rows() -> None:
    found = entries(str(EXAMPLES / "rust" / "tables.rs"))
    assert (found["gathered-rows"]["kind"], found["gathered-rows"]["rows"]) == ("gather", 512)
    assert found["gathered-rows"]["cycles"] >= 500 + 512 // 8 + 8, "eight engines share the rows out"
    assert found["scattered-dma_scatter"]["kind"] == "scatter"
    assert found["gathered"]["cycles"] == found["gathered-rows"]["cycles"] + found["gathered-to_hbm"]["cycles"]


# ---------------------------------------------------------------- gathers


def row(bytes_: int = 256) -> Command:
    return command(hbm(), dm(), [], bytes_)


def test_rows_that_are_known_cost_no_less_than_rows_that_are_not() -> None:
    draw = random.Random(3)
    for _ in range(20):
        many, pitch = draw.choice([4, 30, 64]), draw.choice([256, 512, 1 << 20])
        reads = tuple(draw.randrange(1000) * pitch for _ in range(many))
        writes = tuple(SLICE * n for n in range(many))
        known = gather_cost(RowMoves((row(),), reads, writes, many, 4 * many))
        free = gather_cost(RowMoves((row(),), None, writes, many, 4 * many))
        assert known.cycles >= free.cycles >= 500 + many


def test_rows_of_one_channel_wait_for_it() -> None:
    many = 64
    one = gather_cost(RowMoves((row(),), (0,) * many, tuple(SLICE * n for n in range(many)), many, 256))
    assert one.cycles > 500 + many * 5
    assert one.binding != "read issue"


def test_a_list_of_evenly_spaced_rows_costs_what_the_plain_command_costs_and_its_list() -> None:
    plain = command(hbm(), dm(), [(64, 256, SLICE)], 256)
    moves = RowMoves((row(),), tuple(256 * n for n in range(64)), tuple(SLICE * n for n in range(64)), 64, 256)
    assert gather_cost(moves).cycles - cost([plain]).cycles in (0, 1)


def test_engines_that_share_the_rows_out_issue_their_own_part() -> None:
    many = 256
    writes = tuple(SLICE * n for n in range(many))
    one, four = (gather_cost(RowMoves((row(),), None, writes, many, 4 * many, engines)) for engines in (1, 4))
    listed = 4 * many // 256
    issue = [next(term for term in found.terms if term.name == "read issue") for found in (one, four)]
    assert issue[0].cycles - listed == 4 * (issue[1].cycles - listed)
    assert issue[1].resource == "each of 4 engines"
    apart = RowMoves(tuple(replace(row(), engine=Engine(0, 0, n)) for n in range(2)), None, writes, many, 4 * many)
    assert [one.engine for one in gather_cost(apart).engines] == [Engine(0, 0, 0), Engine(0, 0, 1)]


def test_a_gather_is_priced_over_stdin_too() -> None:
    line = json.dumps({"path": str(EXAMPLES / "programs" / "gather.toml"), "name": "embedding"})
    result = CliRunner().invoke(cli, ["cost", "--stdin"], input=line + "\n")
    assert json.loads(result.stdout)["cycles"] == 565


# ---------------------------------------------------------------- loops


def turns_of(one: Command, turns: list[Turn]) -> Turns:
    return turns_cost(turns, lambda shift: cost([one.moved_to(*shift)]).cycles, window=256)


def test_iterations_that_begin_elsewhere_in_a_window_are_priced_as_what_they_are() -> None:
    store = command(dm(), hbm(), [(4, 256, 1024)], 256)
    all_of = turns_of(store, [(64, 0, 64)])
    by_hand = [cost([store.moved_to(0, 64 * n)]).cycles for n in range(64)]
    assert (all_of.iterations, all_of.cycles) == (64, sum(by_hand))
    assert len(set(by_hand)) == all_of.kinds == 2
    assert all_of.cycles > 64 * by_hand[0]


def test_many_iterations_are_an_estimate_by_kind() -> None:
    store = command(dm(), hbm(), [(4, 256, 1024)], 256)
    many = turns_of(store, [(4 * EACH, 0, 64), (10, 0, 1 << 14)])
    by_hand = [cost([store.moved_to(0, 64 * n)]).cycles for n in range(4)]
    assert many.cycles == pytest.approx(10 * EACH * sum(by_hand), rel=0.02)
    assert not many.exact
    assert EACH // 2 < many.priced <= EACH + 4


def test_one_iteration_more_costs_more_and_loops_may_change_places() -> None:
    """Rows of partial windows that the base moves to other channels: no iteration stands for another."""
    store = command(dm(), hbm(), [(8, 64, 137 * 512)], 64)
    few, more = (turns_of(store, [(n, 0, 137 * 512 * 8)]) for n in (EACH, EACH + 1))
    assert few.exact
    assert few.kinds > 1
    by_hand = sum(cost([store.moved_to(0, 137 * 512 * 8 * n)]).cycles for n in range(EACH + 1))
    assert more.cycles == pytest.approx(by_hand, rel=0.1)
    loops = [(40, 0, 137 * 512 * 8), (9, 4096, 1 << 20), (3, 0, 64)]
    assert turns_of(store, loops).cycles == pytest.approx(turns_of(store, loops[::-1]).cycles)


LOOPED = """use furiosa_opt_std::prelude::*;
axes![B = 32, L = 96, F = 8];
type Whole = HbmTensor<i8, m![1], m![B, L, F]>;
#[device(chip = 1)]
pub fn looped(ctx: &mut Context, input: &Whole, out: &mut Whole) {
    for chunk in 0..2 {
        let part = input.view().tile::<m![L / 48], 1, m![B, 1 # 2, L % 48, F]>(chunk);
        part.to_hbm_view(&mut ctx.tdma, out.view_mut().tile::<m![L / 48], 1, m![B, 1 #{!} 2, L % 48, F]>(chunk));
    }
}
#[device(chip = 1)]
pub fn unrolled(ctx: &mut Context, input: &Whole, out: &mut Whole) {
    let p0 = input.view().tile::<m![L / 48], 1, m![B, 1 # 2, L % 48, F]>(0);
    p0.to_hbm_view(&mut ctx.tdma, out.view_mut().tile::<m![L / 48], 1, m![B, 1 #{!} 2, L % 48, F]>(0));
    let p1 = input.view().tile::<m![L / 48], 1, m![B, 1 # 2, L % 48, F]>(1);
    p1.to_hbm_view(&mut ctx.tdma, out.view_mut().tile::<m![L / 48], 1, m![B, 1 #{!} 2, L % 48, F]>(1));
}
"""


def test_a_loop_of_a_kernel_takes_as_long_as_its_turns_written_out(tmp_path: Path) -> None:
    (tmp_path / "k.rs").write_text(LOOPED)
    found = entries(str(tmp_path / "k.rs"))
    assert found["looped"]["cycles"] == pytest.approx(found["unrolled"]["cycles"])
    assert found["looped"]["loops"] == {"looped-to_hbm_view": 2}
    unknown = LOOPED.replace("0..2", "0..n").replace("looped(ctx: &mut Context,", "looped(ctx: &mut Context, n: usize,")
    (tmp_path / "k.rs").write_text(unknown)
    assert "looped   at least" in run(str(tmp_path / "k.rs")).stdout
    assert entries(str(tmp_path / "k.rs"))["looped"]["cycles"] is None


APART = """
schema = 1
target = "rngd"
[axes]
T = 64
C = 256
[transfer.load]
dtype = "i8"
loop = { t = 64 }
source = { tier = "hbm", element = "T, C", view = { tile = "T", length = 1, start = "t" } }
dest = { tier = "dm", slice = "1 # 64", element = "T, C", view = { tile = "T", length = 1, start = "t" } }
stream = { time = "1", packet = "C" }
[transfer.store]
dtype = "i8"
source = { tier = "dm", slice = "1 # 64", element = "T, C" }
dest = { tier = "hbm", base = 1048576, element = "T, C" }
stream = { time = "T", packet = "C" }
[program.p]
step = [{ transfer = "load" }, { transfer = "store", after = ["load"] }]
"""


def test_a_program_is_as_long_as_its_steps_in_their_own_loops(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(APART)
    found = entries(str(tmp_path / "p.toml"))
    assert found["p"]["cycles"] == pytest.approx(found["load"]["all_iterations"] + found["store"]["cycles"])
    assert found["p"]["loops"] == {"load": 64}


TILES = """schema = 1
target = "{target}"
[axes]
A = 256
[transfer.load]
dtype = "i8"
loop = {{ t = 4 }}
source = {{ tier = "{far}", base = 0x1C000000, element = "A", view = {{ tile = "A", length = 64, start = "64 * t" }} }}
dest = {{ tier = "{near}", base = 0x10000000, element = "A = 64" }}
stream = {{ time = "1", packet = "A = 64" }}
[transfer.store]
dtype = "i8"
loop = {{ t = 4 }}
source = {{ tier = "{near}", base = 0x10000000, element = "A = 64" }}
dest = {{ tier = "{far}", base = 0x1C001000, element = "A", view = {{ tile = "A", length = 64, start = "64 * t" }} }}
stream = {{ time = "1", packet = "A = 64" }}
[program.p]
[[program.p.step]]
transfer = "load"
[[program.p.step]]
transfer = "store"
after = ["load"]
"""


@pytest.mark.parametrize(
    ("target", "tiers", "profile"),
    [("idma", ("mem", "mem"), "rtl-0.7.0"), ("./shim", ("ddr", "array"), "simple")],
)
def test_programs_of_a_machine_with_prices_of_its_own_are_laid_out_by_them(
    tmp_path: Path, target: str, tiers: tuple[str, str], profile: str
) -> None:
    shutil.copytree(EXAMPLES / "machines" / "shim", tmp_path / "shim")
    file = tmp_path / "p.toml"
    file.write_text(TILES.format(target=target, far=tiers[0], near=tiers[1]))
    found = entries(str(file))
    each = [price(f"{file}::{name}").cycles for name in ("load", "store")]
    assert [found[name]["cycles"] for name in ("load", "store")] == each
    assert found["p"]["cycles"] == sum(each)
    assert found["p"]["all_iterations"] == pytest.approx(4 * sum(each))
    assert found["p"]["profile"] == profile


# ---------------------------------------------------------------- steps at once


def test_two_that_share_nothing_take_their_own_time() -> None:
    timed = in_time([WorkPiece(100, (), {"a": 90}), WorkPiece(70, (), {"b": 70})])
    assert [(t.start, t.end, t.slowed_by) for t in timed] == [(0, 100, ""), (0, 70, "")]


def test_two_that_fill_one_channel_take_twice_as_long() -> None:
    timed = in_time([WorkPiece(100, (), {"a": 100}), WorkPiece(100, (), {"a": 100}), WorkPiece(10, (0, 1))])
    assert [(t.start, t.end) for t in timed] == [(0, 200), (0, 200), (200, 210)]
    assert [t.slowed_by for t in timed] == ["a", "a", ""]


def test_what_is_left_goes_on_at_its_own_pace() -> None:
    timed = in_time([WorkPiece(100, (), {"a": 100}), WorkPiece(50, (), {"a": 50})])
    assert [round(t.end, 6) for t in timed] == [150, 100]


def test_time_lies_between_alone_and_one_after_the_other() -> None:
    draw = random.Random(5)
    for _ in range(100):
        pieces = []
        for number in range(draw.randint(1, 8)):
            cycles = float(draw.randint(0, 100))
            loads = {part: cycles * draw.random() for part in draw.sample("abcd", draw.randint(0, 3))}
            pieces.append(WorkPiece(cycles, tuple(n for n in range(number) if draw.random() < 0.3), loads))
        free = in_time([WorkPiece(p.cycles, p.after) for p in pieces])
        timed = in_time(pieces)
        assert all(t.end >= f.end - 1e-6 for t, f in zip(timed, free, strict=True))
        assert max(t.end for t in timed) <= sum(p.cycles for p in pieces) + 1e-6
        for piece, t in zip(pieces, timed, strict=True):
            assert all(timed[before].end <= t.start + 1e-9 for before in piece.after)
            assert t.end - t.start >= piece.cycles - 1e-6


def test_steps_at_once_that_fill_one_dmn_say_so(tmp_path: Path) -> None:
    parts = ["schema = 1", 'target = "rngd"', 'name = "two"', "[axes]", "A = 32", "B = 16", "C = 256"]
    for n in range(2):
        parts += [
            f"[transfer.t{n}]",
            'dtype = "i8"',
            f'source = {{ tier = "hbm", base = {n << 29}, element = "A, B, C" }}',
            f'dest = {{ tier = "dm", base = {n * 4096}, slice = "A # 64", element = "B, C" }}',
            'stream = { time = "B, A", packet = "C" }',
        ]
    steps = ", ".join(f'{{ transfer = "t{n}", context = "c{n}" }}' for n in range(2))
    file = tmp_path / "two.toml"
    file.write_text("\n".join([*parts, "[program.all]", f"step = [{steps}]"]))
    found = entries(f"{file}::all")["all"]
    alone = entries(f"{file}::t0")["t0"]["cycles"]
    assert alone == 499 + 2 * 32 * 16
    assert found["cycles"] == pytest.approx(499 + 2 * 2 * 32 * 16, abs=1), "both start up at once, then take turns"
    assert [step["slowed_by"] for step in found["steps"]] == ["DMN 0 of chip 0, cluster 0"] * 2
    text = run(f"{file}::all").stdout
    assert "shares DMN 0" in text
    assert found["estimate"]
    assert f"{found['cycles']:,.1f} cycles (an estimate), profile book" in text


@pytest.mark.parametrize(("count", "drawn"), [(60, False), (400, True)])
def test_a_program_costs_what_its_file_says_of_it_and_is_an_estimate_where_iterations_were_drawn(
    tmp_path: Path, count: int, drawn: bool
) -> None:
    """Tiles of 256 bytes at multiples of 8: one of 32 begins a window, and the first is one of these."""
    view = '{ tile = "B", length = 256, start = "8 * t", partial = true }'
    file = tmp_path / "tiles.toml"
    file.write_text(
        f"""schema = 1
target = "rngd"
[axes]
A = 64
B = 4096
[transfer.load]
dtype = "i8"
loop = {{ t = {count} }}
source = {{ tier = "hbm", base = 0, element = "A, B", view = {view} }}
dest = {{ tier = "dm", base = 0, slice = "A", element = "B = 256" }}
stream = {{ time = "A", packet = "B = 256" }}
[program.all]
step = [{{ transfer = "load" }}]
""",
        encoding="utf-8",
    )
    whole, alone = entries(str(file)), entries(f"{file}::all")["all"]
    assert alone == whole["all"]
    assert alone["all_iterations"] == pytest.approx(whole["load"]["all_iterations"])
    assert alone["all_iterations"] > count * alone["cycles"]
    assert alone["estimate"] is drawn
    text = run(f"{file}::all").stdout
    assert ("drawn stand for the others: an estimate" in text) is drawn
    assert text.count("(an estimate)") == drawn


@pytest.mark.parametrize(("order", "first", "all_"), [("", False, True), ("earlier", False, False)])
def test_what_a_later_iteration_shares_makes_the_time_of_all_an_estimate(
    tmp_path: Path, order: str, first: bool, all_: bool
) -> None:
    parts = ["schema = 1", 'target = "rngd"', "[axes]", "T = 4", "A = 64", "B = 2048"]
    for n in range(2):
        view = '{ tile = "T", length = 1, start = "t" }'
        parts += [
            f"[transfer.t{n}]",
            'dtype = "i8"',
            "loop = { t = 4 }",
            f'source = {{ tier = "hbm", base = {n << 29}, element = "T, A, B", view = {view} }}',
            f'dest = {{ tier = "dm", base = {n * 4096}, slice = "A", element = "B" }}',
            'stream = { time = "A", packet = "B" }',
            f"engine = {{ chip = 0, cluster = 0, dmn = {n} }}",
        ]
    own = ["earlier = { t1 = 1 }", 'after = ["t0"]'] if order else ["", 'after = ["t0"]']
    steps = ", ".join(
        f'{{ transfer = "t{n}", context = "c{n}"{", " if more else ""}{more} }}' for n, more in enumerate(own)
    )
    file = tmp_path / "two.toml"
    file.write_text("\n".join([*parts, "[program.all]", f"step = [{steps}]"]))
    text = run(f"{file}::all").stdout.split("\n")
    assert ("(an estimate)" in text[0]) is first
    assert ("(an estimate)" in next(line for line in text if "all iterations" in line)) is all_
    assert any(line.endswith(": an estimate") for line in text) is all_
    assert entries(f"{file}::all")["all"]["estimate"] is all_


@pytest.mark.parametrize("profile", ["book", "schedule", "silicon"])
@pytest.mark.parametrize("count", counted(8, 25))
def test_three_and_more_steps_at_once_take_no_less_than_all_as_one_program(profile: str, count: int) -> None:
    data, draw = cost_data(profile), random.Random(f"{profile} more")
    for number in range(count):
        own = [drawn(draw, (0, n // 4, n % 4)) for n in range(draw.randint(3, 6))]
        pieces = [WorkPiece(cost([c], data).cycles, (), loads_of([c], data), n, (c,)) for n, c in enumerate(own)]
        ends = [timed.end for timed in in_time(pieces, data)]
        assert max(ends) >= cost(own, data).cycles - 1e-6, number
        assert max(ends) <= max(cost(own, data).cycles, sum(piece.cycles for piece in pieces)) + 1e-6


@pytest.mark.parametrize("profile", ["book", "schedule", "silicon"])
def test_two_steps_at_once_take_no_less_than_both_as_one_program(profile: str) -> None:
    """Rows of one bank, windows written in part, DMNs: whatever the closed form counts of both together."""
    data, draw = cost_data(profile), random.Random(profile)
    for number in range(40):
        one, other = (drawn(draw, engine) for engine in ((0, 0, 0), draw.choice([(0, 0, 0), (0, 0, 1)])))
        alone = [cost([own], data).cycles for own in (one, other)]
        pieces = [
            WorkPiece(c, (), loads_of([own], data), n, (own,))
            for n, (c, own) in enumerate(zip(alone, (one, other), strict=True))
        ]
        apart = replace(other, engine=Engine(0, 0, 2))
        assert max(t.end for t in in_time(pieces, data)) >= cost([one, apart], data).cycles - 1e-6, number


def drawn(draw: random.Random, engine: tuple[int, int, int]) -> Command:
    """A load or a store of rows that lie a row of a bank, a window or less apart."""
    loops = [(draw.choice((2, 4, 16)), draw.choice((64, 256, 1 << 13, 1 << 29)), draw.choice((64, 256, SLICE)))]
    sides = (hbm(draw.choice((0, 1 << 14, 1 << 29))), dm())
    load = draw.random() < 0.5
    made = command(
        *(sides if load else sides[::-1]), [loops[0] if load else (loops[0][0], loops[0][2], loops[0][1])], 64
    )
    return replace(made, engine=Engine(*engine))


@pytest.mark.parametrize("profile", ["book", "schedule", "silicon"])
def test_one_command_more_on_an_idle_engine_makes_nothing_cheaper(profile: str) -> None:
    """A command with few slices begins early; what the others share is served no earlier for it."""
    data, draw = cost_data(profile), random.Random(profile)
    for number in range(60):
        some = [drawn(draw, (0, n // 4, n % 4)) for n in range(draw.randint(1, 6))]
        more = drawn(draw, (0, 1, 3))
        assert cost([*some, more], data).cycles >= cost(some, data).cycles - 1e-9, number
    wide = [replace(command(hbm(n << 20), dm(), [(32, 256, SLICE)], 256), engine=Engine(0, 0, n)) for n in range(4)]
    few = replace(command(hbm(), dm(), [(1, 256, SLICE)], 256), engine=Engine(0, 1, 0))
    assert cost([*wide, few], data).cycles >= cost(wide, data).cycles


@pytest.mark.parametrize(("count", "priced"), [(6, 6 + 6 * 5 // 2), (7, 0)])
def test_of_many_steps_at_once_no_two_are_priced_and_all_take_what_their_commands_cost(
    count: int, priced: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hundred steps without an order were 20,000 prices of two programs."""
    data, asked = cost_data("book"), []
    own = [
        replace(command(hbm(), dm(), [(16, 256, SLICE)], 256), engine=Engine(0, n // 4, n % 4)) for n in range(count)
    ]
    pieces = [WorkPiece(cost([c], data).cycles, (), loads_of([c], data), n, (c,)) for n, c in enumerate(own)]

    def counted_cost(commands, profile):
        asked.append(len(commands))
        return cost(commands, profile)

    monkeypatch.setattr(sharing, "PAIRED", 6)
    monkeypatch.setattr(sharing, "cost", counted_cost)
    end = max(timed.end for timed in in_time(pieces, data))
    together = cost(own, data).cycles
    assert together - 1e-6 <= end <= max(together, sum(piece.cycles for piece in pieces)) + 1e-6
    assert len([many for many in asked if many <= 2]) == priced


def test_steps_of_several_engines_are_held_against_other_steps_as_a_whole() -> None:
    own = [replace(command(hbm(), dm(), [(16, 256, SLICE)], 256), engine=Engine(0, 0, n)) for n in range(4)]
    alone = cost(own).cycles
    pieces = [WorkPiece(alone, (), {}, step, tuple(own)) for step in (0, 1) for _ in range(4)]
    ends = [t.end for t in in_time(pieces, cost_data("book"))]
    assert alone < max(ends) <= 2 * alone


def test_loads_count_every_part_that_a_command_asks() -> None:
    loads = loads_of([command(hbm(), dm(), [(2, 0, 32 * SLICE), (64, 256, SLICE)], 256)])
    assert sum(busy for part, busy in loads.items() if part.startswith("channel")) == pytest.approx(128 * 16 / 3)
    assert sum(busy for part, busy in loads.items() if part.startswith("DMN")) == 256


# ---------------------------------------------------------------- the host


@pytest.mark.parametrize("up", [True, False])
def test_a_move_to_or_from_the_host_takes_the_link_at_30_bytes_a_cycle(up: bool) -> None:
    host, memory = Port("host", 0), Port("hbm", 0, 2)
    move = Command(*((host, memory) if up else (memory, host)), (Loop(64, 256, 256),), 256, 256)
    price = cost([move])
    assert price.binding == "PCIe"
    assert price.cycles == pytest.approx(500 + 64 * 256 / 30)
    assert price.cycles <= simulate([move]).cycles <= price.cycles + 10


def test_a_step_that_fills_the_spm_of_every_dmn_takes_no_longer_in_a_program(tmp_path: Path) -> None:
    """Each DMN has an SPM of its own: what goes to eight of them goes at once."""
    commands = "".join(
        f"""
[[transfer.t.command]]
engine = {{ chip = 0, cluster = {n // 4}, dmn = {n % 4} }}
read = "[C=64:slice_stride]:8 DM/D@(0, {n // 4}, {n % 4}, 0)"
write = "[C=64:8]:8 SPM/D@(0, 0, 0, {n} * SPM_stride)"
"""
        for n in range(8)
    )
    plan = tmp_path / "p.toml"
    plan.write_text(
        """schema = 1
target = "rngd"
[axes]
A = 8
C = 64
B = 8
[transfer.t]
dtype = "i8"
source = { tier = "dm", cluster = "A / 4", slice = "A % 4, C", element = "B" }
dest = { tier = "spm", slice = "A", element = "C, B" }
"""
        + commands
        + '[program.p]\nstep = [{ transfer = "t" }]\n'
    )
    found = entries(str(plan))
    assert found["p"]["cycles"] == found["t"]["cycles"]


def test_what_several_commands_send_over_a_link_is_no_more_than_the_simulator_takes() -> None:
    up = replace(command(hbm(), Port("host", 0), [(4, 128, 128)], 128), engine=Engine(0, 0, 0))
    across = replace(command(dm(), hbm(chip=1), [], 256), engine=Engine(0, 0, 1))
    assert cost([up, across]).cycles <= simulate([up, across], "book").cycles + 1e-6
