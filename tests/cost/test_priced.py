"""`cost` of whole plan files: programs in time, loops, gathers, and entries without a price beside others.

Knows: the command line and its JSON. Does not know: how a transfer is priced.
Law: what has no price is named with the reason and takes nothing from the others.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dmaverify.cli.app import Stop, cli
from dmaverify.cost.explain import explain
from dmaverify.errors import InputError
from dmaverify.program.command import Command, Loop, Port

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROGRAMS = EXAMPLES / "programs"


@cache
def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["cost", *arguments])


def entries(*arguments: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(run(*arguments, "--json").stdout)}


@pytest.mark.slow
def test_an_entry_in_error_takes_no_price_from_the_others() -> None:
    result = run(str(PROGRAMS / "aggregates.toml"), "--json")
    found = {one["name"]: one for one in json.loads(result.stdout)}
    assert isinstance(result.exception, Stop)
    assert result.exception.code == 2
    assert "hbm has no cluster" in result.stderr
    assert found["example-4-printed"]["cycles"] is None
    assert found["example-4-printed"]["error"]["line"] == 33
    assert found["example-6"]["cycles"] == 1190
    assert found["p-example-4-printed"]["reason"].startswith("step `example-4-printed` makes no command")


@pytest.mark.slow
def test_a_program_of_one_step_costs_what_its_transfer_costs() -> None:
    found = entries(str(PROGRAMS / "aggregates.toml"))
    for name in ("example-4", "example-5", "example-6", "example-6-unsegmented", "heterogeneous"):
        assert found[f"p-{name}"]["cycles"] == found[name]["cycles"]


def test_a_single_entry_in_error_is_an_error_alone() -> None:
    result = run(f"{PROGRAMS / 'aggregates.toml'}::example-4-printed")
    assert isinstance(result.exception, Stop)
    assert result.exception.code == 2
    assert result.stdout.strip() == ""


@pytest.mark.parametrize("option", ["--formula", "--explain"])
def test_what_no_entry_has_a_use_for_is_refused(option: str) -> None:
    for entry in (f"{PROGRAMS / 'views.toml'}::pipeline", str(EXAMPLES / "sequencer" / "tiling.toml")):
        result = run(entry, option)
        assert isinstance(result.exception, InputError)
        assert result.stdout == ""
        assert f"{option} is for entries that" in result.exception.message
    whole = str(PROGRAMS / "gather.toml")
    assert run(whole, option).stdout.startswith("read-back   628.0 cycles"), "some entries have one"


def test_the_formula_stands_in_json_too() -> None:
    path = str(EXAMPLES / "first.toml")
    assert "formula" not in entries(path)["relayout"]
    told = entries(path, "--formula")["relayout"]["formula"]
    assert [(one["name"], one["text"], one["cycles"]) for one in told][1] == ("read issue", "A*B", 512.0)
    said = run(path, "--formula").stdout
    assert "  the command, if its addresses used all channels and both DMNs alike\n" in said


def test_gathers_and_scatters_are_priced_by_the_documents_and_else_named_with_the_reason() -> None:
    found = entries(str(PROGRAMS / "gather.toml"))
    assert (found["embedding"]["cycles"], found["embedding"]["rows"], found["embedding"]["known"]) == (565, 64, True)
    assert (found["promised"]["cycles"], found["promised"]["known"]) == (565, False)
    assert (found["once"]["cycles"], found["once"]["kind"]) == (507, "scatter")
    assert found["read-back"]["cycles"] == 628
    assert found["scatter-waited-for"]["cycles"] == found["once"]["cycles"] + found["read-back"]["cycles"]
    fitted = entries(str(PROGRAMS / "gather.toml"), "--profile", "schedule")
    assert fitted["embedding"]["cycles"] is None
    assert "one published row" in fitted["embedding"]["reason"]
    assert "step `once` is a scatter" in fitted["scatter-waited-for"]["reason"]
    assert fitted["scatter-waited-for"]["cycles"] is None
    assert fitted["scatter-waited-for"]["at_least"] > 0


def test_a_view_in_a_loop_is_priced_for_all_of_its_iterations() -> None:
    found = entries(str(PROGRAMS / "views.toml"))["load"]
    assert found["iterations"] == 1048576
    assert found["all_iterations"] == found["cycles"] * found["iterations"]
    assert found["kinds"] == 1
    assert "one of 1,048,576 iterations" in run(f"{PROGRAMS / 'views.toml'}::load").stdout
    assert "iterations" not in entries(str(EXAMPLES / "first.toml"))["relayout"]


def test_a_program_is_a_timeline_with_its_critical_path() -> None:
    found = entries(f"{PROGRAMS / 'routes.toml'}::hop")["hop"]
    assert found["critical_path"] == ["to-spm", "to-dm"]
    assert [step["waits_for"] for step in found["steps"]] == [None, "to-spm"]
    assert found["cycles"] == sum(step["end"] - step["start"] for step in found["steps"]) == 1254
    text = run(f"{PROGRAMS / 'aggregates.toml'}::two-aggregates").stdout
    assert "critical path heterogeneous -> example-6" in text
    assert "32 lanes, engine (0, 0, 3) the last to end" in text


def test_thirty_transfers_get_a_timeline(tmp_path: Path) -> None:
    parts = ["schema = 1", 'target = "rngd"', 'name = "thirty"', "[axes]", "A = 8", "C = 256"]
    for n in range(30):
        parts += [
            f"[transfer.t{n}]",
            'dtype = "i8"',
            f'source = {{ tier = "hbm", base = {n * 4096}, element = "A, C" }}',
            f'dest = {{ tier = "dm", base = {n * 256}, slice = "A # 64", element = "C" }}',
            'stream = { time = "A", packet = "C" }',
        ]
    steps = ", ".join(f'{{ transfer = "t{n}" }}' for n in range(30))
    file = tmp_path / "thirty.toml"
    file.write_text("\n".join([*parts, "[program.all]", f"step = [{steps}]"]))
    found = entries(f"{file}::all")["all"]
    assert len(found["steps"]) == 30
    assert len(found["critical_path"]) == 30


def test_a_simulated_figure_of_a_fitted_profile_says_that_the_band_is_not_its() -> None:
    shown = {
        name: run(str(EXAMPLES / "first.toml"), "--simulate", "--profile", name).stdout for name in ("book", "silicon")
    }
    assert "the band is the closed form's" in shown["silicon"]
    assert "the band is the closed form's" not in shown["book"]


def test_a_step_in_error_takes_no_time_from_the_others(tmp_path: Path) -> None:
    parts = ["schema = 1", 'target = "rngd"', "[axes]", "A = 64", "C = 256"]
    for n, axis in enumerate("AQA"):
        ends = f'element = "A, C" }}\ndest = {{ tier = "dm", base = {n * 256}, slice = "A", element = "C" }}'
        parts += [f"[transfer.t{n}]", 'dtype = "i8"', f'source = {{ tier = "hbm", base = {n << 20}, {ends}']
        parts += [f'stream = {{ time = "{axis}", packet = "C" }}']
    steps = ", ".join(f'{{ transfer = "t{n}", context = "c{n}" }}' for n in range(3))
    file = tmp_path / "three.toml"
    file.write_text("\n".join([*parts, "[program.all]", f"step = [{steps}]"]))
    found = entries(f"{file}::all")["all"]
    assert found["cycles"] is None
    assert found["at_least"] > 600
    assert found["reason"] == "step `t1` makes no command: the axis `Q` is not declared"
    ends = {step["step"]: step["end"] for step in found["steps"]}
    assert ends["t1"] == 0 < ends["t0"] == ends["t2"]
    shown = run(f"{file}::all").stdout
    assert "no price: makes no command: the axis `Q` is not declared" in shown
    assert shown.count("shares DMNs (DM of chip 0, cluster 0)") == 2


@pytest.mark.parametrize("profile", ["schedule", "silicon"])
def test_a_program_with_a_step_that_no_data_supports_has_no_timeline(profile: str) -> None:
    found = entries(f"{PROGRAMS / 'routes.toml'}::hop", "--profile", profile)["hop"]
    assert found["cycles"] is None
    assert "step `to-spm` is not modelled" in found["reason"]


def test_what_no_data_supports_has_no_number() -> None:
    first = str(EXAMPLES / "dma-engine" / "example-1.toml")
    found = next(iter(entries(first, "--profile", "schedule").values()))
    assert found["cycles"] is None
    assert found["band"] == {"low": None, "high": None, "class": "moves within HBM", "rows": 0}
    assert "not modelled by profile schedule: moves within HBM" in run(first, "--profile", "schedule").stdout
    assert next(iter(entries(first).values()))["band"] is None


def test_a_band_is_told_in_cycles_with_its_class_and_rows() -> None:
    found = entries(str(EXAMPLES / "first.toml"), "--profile", "silicon")["relayout"]
    assert found["band"]["low"] < found["cycles"] < found["band"]["high"]
    said = found["band"]["class"], found["band"]["rows"]
    assert said == ("loads of windows of their own, up to 64 slices or below 8,192 B each", 3)
    assert "counter" in found["predicts"]


@pytest.mark.parametrize("bit", [14, 21, 29])
def test_advice_on_rows_names_row_bits_or_is_silent(bit: int) -> None:
    loops = (Loop(16, 1 << bit, 1 << 22), Loop(64, 0, 256))
    command = Command(Port("hbm", 0), Port("dm", 0), loops, 256, 256)
    for one in (command, Command(command.read, command.write, loops[::-1], 256, 256)):
        for text in explain([one]).advice:
            assert "none" not in text
            assert "toggle row bits ;" not in text
