"""A machine of a project's own is priced by the data in its folder: cost, simulator, search, bands, reasons.

Knows: the machine that ships, copied with one constant changed. Does not know: how a price is composed.
Law: what its data states is what every command prints; a machine whose data states too little is refused, never priced
by another's.
"""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import dmaverify as dv
from dmaverify.cli.app import invoke
from dmaverify.errors import InputError
from dmaverify.targets.target import load_target

ROOT = Path(__file__).resolve().parents[2]
PLAN = """schema = 1
target = "MACHINE"
[axes]
R = 8
C = 128
[transfer.tile]
dtype  = "bf16"
source = { tier = "hbm", base = 131584, element = "R, C # 1024" }
dest   = { tier = "dm", slice = "R", element = "C" }
stream = { time = "R", packet = "C" }
"""
BOOK, SLOW = "startup          = { cycles = 500.0", "startup          = { cycles = 9000.0"


def own(tmp_path: Path, *changes: tuple[str, str], machine: str = "mine") -> str:
    """A plan for a copy of the shipped machine with each text changed once; its path."""
    folder = tmp_path / machine
    if not folder.is_dir():
        shutil.copytree(load_target("rngd").folder, folder)
    text = (load_target("rngd").folder / "target.toml").read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    (folder / "target.toml").write_text(text, encoding="utf-8")
    plan = tmp_path / f"{machine}.toml"
    plan.write_text(PLAN.replace("MACHINE", machine), encoding="utf-8")
    return str(plan)


def shipped(tmp_path: Path) -> str:
    plan = tmp_path / "shipped.toml"
    plan.write_text(PLAN.replace("MACHINE", "rngd"), encoding="utf-8")
    return str(plan)


def said(*words: str) -> Any:
    code, text = told(*words, "--json")
    assert code == 0, text
    return json.loads(text)[0]


def told(*words: str) -> tuple[int, str]:
    """The exit code and what was printed."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
        code = invoke(list(words))
    return code, out.getvalue()


def test_a_copy_of_the_shipped_machine_has_its_prices(tmp_path: Path) -> None:
    for profile in ("book", "schedule", "measured"):
        ways = ("--simulate", "--explain", "--profile", profile)
        one, other = said("cost", own(tmp_path), *ways), said("cost", shipped(tmp_path), *ways)
        assert one == other


@pytest.mark.parametrize("profile", ["book", "schedule"])
def test_what_a_machine_states_is_what_every_command_prints(tmp_path: Path, profile: str) -> None:
    """515 cycles, with a start-up of 500, where the folder states 9,000; the shipped machine's own price stays."""
    plain = shipped(tmp_path)
    before = said("cost", plain, "--profile", profile, "--simulate")
    slow = (BOOK, SLOW), ("startup          = { cycles = 471.17061", "startup          = { cycles = 9000.0")
    plan = own(tmp_path, *slow)
    found = said("cost", plan, "--profile", profile, "--simulate", "--explain")
    assert found["cycles"] > 9000 > 1000 > before["cycles"]
    assert found["terms"][0]["cycles"] > 9000 - 1
    assert found["simulation"]["cycles"] > 9000
    assert found.get("band") is None or found["band"]["high"] > 9000
    made = said("synth", plan, "--profile", profile)
    assert made["cycles"] > 9000
    assert made["bound"] > 9000
    assert made["simulated"]["cycles"] > 9000
    assert made["before"]["cycles"] == found["cycles"]
    assert said("cost", plain, "--profile", profile, "--simulate") == before


def test_a_machine_that_changes_is_priced_anew(tmp_path: Path) -> None:
    first = dv.price(own(tmp_path)).cycles
    assert dv.price(own(tmp_path, (BOOK, SLOW))).cycles == first + 8500
    assert dv.price(own(tmp_path)).cycles == first


def test_programs_of_a_machine_are_laid_out_by_its_prices(tmp_path: Path) -> None:
    plan = Path(own(tmp_path, (BOOK, SLOW)))
    plan.write_text(plan.read_text() + '[program.one]\nstep = [{ transfer = "tile" }]\n', encoding="utf-8")
    assert [one["cycles"] for one in json.loads(told("cost", str(plan), "--json")[1])] == [9015.0, 9015.0]


@pytest.mark.parametrize(
    ("stated", "lane"), [('lane = "tdma" ', "tdma"), ('lane = "mover" ', "mover"), ("# no lane", "dma")]
)
def test_the_lane_of_transfers_without_an_engine_has_the_name_that_the_machine_gives_it(
    tmp_path: Path, stated: str, lane: str
) -> None:
    plan = Path(own(tmp_path, ('lane = "tdma" ', stated)))
    plan.write_text(plan.read_text() + '[program.one]\nstep = [{ transfer = "tile" }]\n', encoding="utf-8")
    assert [step["lane"] for step in json.loads(told("cost", str(plan), "--json")[1])[1]["steps"]] == [lane]


def test_a_machine_has_the_profiles_of_its_data_and_no_others(tmp_path: Path) -> None:
    plan = own(tmp_path, ("[cost.book]", "[cost.mine]"))
    assert said("cost", plan, "--profile", "mine")["cycles"] == 515
    code, text = told("cost", plan)
    assert (code, "no cost profile `book`" in text) == (2, True)
    assert told("cost", shipped(tmp_path), "--profile", "mine")[0] == 2
    assert told("synth", plan)[0] == 2
    assert told("check", plan)[0] == 0


def test_a_machine_that_states_no_memory_is_refused_and_not_priced_as_another(tmp_path: Path) -> None:
    text = (load_target("rngd").folder / "target.toml").read_text(encoding="utf-8")
    start = text.index("[cost.book]")
    for change in ((text[start:], ""), ("[memory.hbm]", "[memory.far]"), ("queue      = 64", "queues     = 64")):
        plan = own(tmp_path, change)
        for command in ("cost", "synth"):
            code, text = told(command, plan)
            assert (code, "[memory.hbm]" in text) == (2, True), text


@pytest.mark.parametrize(
    "change",
    [("channels   = 32 ", "channels   = 16 "), ("dmn        = [27, 28, 29]", "dmn        = [27, 28]"),
     ("slice_stride = 4194304 ", "slice_stride = 4194303 "), ("window     = 256 ", "window     = 192 "),
     ("queue      = 64", "queue      = 0")],
)  # fmt: skip
def test_memories_that_the_model_cannot_count_are_refused(tmp_path: Path, change: tuple[str, str]) -> None:
    with pytest.raises(InputError, match=r"\[memory\] says"):
        dv.price(own(tmp_path, change))


@pytest.mark.parametrize(("name", "cycles"), [("issue", 0), ("hbm_request", 0), ("hbm_partial", -1), ("startup", -500)])
def test_times_that_are_none_are_refused(tmp_path: Path, name: str, cycles: int) -> None:
    before = f"{name:17}= {{ cycles = "
    plan = own(tmp_path, (before, f"{before}{cycles}.0 , was = "))
    code, text = told("cost", plan)
    assert (code, f"profile book: {name} takes {cycles} cycles" in text) == (2, True), text


def test_a_reading_of_memory_counts_in_a_search_as_it_does_in_a_price(tmp_path: Path) -> None:
    plan = Path(shipped(tmp_path))
    text = plan.read_text().replace('slice = "R", element = "C"', 'element = "R, C"').replace('"dm"', '"hbm"')
    plan.write_text(
        text.replace("base = 131584, ", "").replace('element = "R, C" }', 'element = "R, C", base = 1048576 }')
    )
    reading = ("--reading", "memory/hbm-copy=side-by-side")
    priced = [said("cost", str(plan), *way)["cycles"] for way in ((), reading)]
    assert priced[0] > priced[1]
    assert [said("synth", str(plan), *way)["before"]["cycles"] for way in ((), reading)] == priced


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("window     = 256 ", "window     = \"256\" "), "`window` must be a whole number"),
        (("window     = 256 ", "window     = true "), "`window` must be a whole number"),
        (("window     = 256 ", "window     = 36893488147419103232 "), "`window` must be a whole number"),
        (("dmn        = [27, 28, 29]", "dmn        = [27, 28, 290]"), "item of `dmn` must be a whole number below 64"),
        (("dmn        = [27, 28, 29]", "dmn        = [27, \"x\"]"), "item of `dmn` must be a whole number below 64"),
        (("schema = 1", "schema = 1\ntile = 5"), "`tile` must be a table"),
        ((BOOK, "startup          = { cycles = nan, was = 500.0"), "`cycles` must be a number"),
        ((BOOK, "startup          = { cycles = 500, was = 500.0"), ""),
        (("window     = 256 ", "window     = 512 "), ""),
    ],
)  # fmt: skip
def test_what_the_machine_states_is_of_the_kind_that_is_read(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    plan = own(tmp_path, change)
    for command in ("check", "cost"):
        code, text = told(command, plan)
        assert (code, said in text) == (2 if said else 0, True), text


@pytest.mark.parametrize(
    ("stated", "code"),
    [
        ("[cost.simple]\nstartup = 7\nbeat_bytes = { ddr = 4, array = 4 }\n", 0),
        ("[cost.simple]\nstartup = true\nbeat_bytes = { ddr = 4, array = 4 }\n", 2),
        ("[cost.simple]\nstartup = inf\nbeat_bytes = { ddr = 4, array = 4 }\n", 2),
        ("[cost.simple]\nstartup = 7\nbeat_bytes = { ddr = 4, array = true }\n", 2),
        ("[cost]\nsimple = 7\n", 2),
    ],
)
def test_a_simple_price_is_made_of_numbers(tmp_path: Path, stated: str, code: int) -> None:
    folder = tmp_path / "shim"
    shutil.copytree(ROOT / "examples" / "machines" / "shim", folder)
    text = (folder / "target.toml").read_text(encoding="utf-8")
    start = text.index("[cost.simple]")
    text = text[:start] + stated + text[text.index("[rule.", start) :]
    (folder / "target.toml").write_text(text, encoding="utf-8")
    plan = shutil.copy(ROOT / "examples" / "machines" / "shim.toml", tmp_path / "plan.toml")
    for command in (("cost",), ("synth",)):
        found, text = told(*command, f"{plan}::tile")
        assert (found, "startup = 100, beat_bytes" in text) == (code, code == 2), text


def test_an_item_of_a_list_of_tables_that_lacks_a_key_is_told_at_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "shim"
    shutil.copytree(ROOT / "examples" / "machines" / "shim", folder)
    text = (folder / "target.toml").read_text(encoding="utf-8")
    start = text.index("[[route]]")
    route = 'route = [{ source_tiers = ["ddr"], dest_tiers = ["array"], says = "a", source = "b" }]\n'
    (folder / "target.toml").write_text(route + text[:start] + text[text.index("[dtypes]", start) :], encoding="utf-8")
    plan = shutil.copy(ROOT / "examples" / "machines" / "shim.toml", tmp_path / "plan.toml")
    code, said = told("check", str(plan))
    assert (code, "missing `basis`" in said, "target.toml:1:" in said) == (2, True, True), said


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [("issue_cycles = 50", "issue_cycles = -1", "issue_cycles = -1"), ("issue_cycles = 50", "", "no `issue_cycles`"),
     ("gm_line_bytes = 512", "gm_line_bytes = 0", "gm_line_bytes = 0"), ("gm_line_bytes = 512", "", "no `gm_line"),
     ("load_bytes_per_cycle = 58.56", "load_bytes_per_cycle = 0.0", "load_bytes_per_cycle = 0.0"),
     ("ub_bytes_per_cycle = 256.0", "", "no `ub_bytes"), ("local_bytes_per_cycle = 594.3", "", "no `local_bytes"),
     ('basis = "A2/A3 model figures, not A5; relative comparison only"', "", "no `basis`")],
)  # fmt: skip
def test_figures_of_copies_that_are_missing_or_none_are_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    plan, text = copies(tmp_path, old, new)
    for command in ("cost", "synth"):
        code, text = told(command, plan)
        assert (code, says in text) == (2, True), text


def test_the_least_figures_of_copies_are_taken(tmp_path: Path) -> None:
    free = said("cost", copies(tmp_path, "issue_cycles = 50", "issue_cycles = 0")[0])
    narrow = said("cost", copies(tmp_path, "gm_line_bytes = 512", "gm_line_bytes = 1")[0])
    whole = said("cost", copies(tmp_path, "issue_cycles = 50", "issue_cycles = 50")[0])
    assert free["cycles"] == whole["cycles"] - 50 < whole["cycles"] > narrow["cycles"]


def copies(tmp_path: Path, old: str, new: str) -> tuple[str, str]:
    """A plan of one copy for the machine of copy instructions with one text changed, and that machine's text."""
    folder = tmp_path / "copying"
    shutil.copytree(load_target("pto").folder, folder, dirs_exist_ok=True)
    text = (load_target("pto").folder / "target.toml").read_text(encoding="utf-8")
    start = text.index("\n[cost]\n")
    assert old in text[start:]
    text = text[:start] + text[start:].replace(old, new, 1)
    (folder / "target.toml").write_text(text, encoding="utf-8")
    plan = tmp_path / "copying.toml"
    moved = PLAN.replace("MACHINE", "copying").replace('"hbm", base = 131584', '"gm"')
    plan.write_text(moved.replace('tier = "dm", slice = "R", element = "C"', 'tier = "ub", element = "R, C"'), "utf-8")
    return str(plan), text


def test_a_memory_without_a_rate_is_named_by_cost_and_synthesis(tmp_path: Path) -> None:
    folder = tmp_path / "shim"
    shutil.copytree(ROOT / "examples" / "machines" / "shim", folder)
    text = (folder / "target.toml").read_text(encoding="utf-8")
    (folder / "target.toml").write_text(text.replace("{ ddr = 4, array = 4 }", "{ array = 4 }"), encoding="utf-8")
    shutil.copy(ROOT / "examples" / "machines" / "shim.toml", tmp_path)
    for command in ("cost", "synth"):
        code, text = told(command, f"{tmp_path / 'shim.toml'}::tile")
        assert (code, "shim states no bytes a cycle of ddr" in text) == (2, True), text


@pytest.mark.parametrize(("name", "cycles", "plays"), [("startup", 1 << 35, True), ("hbm_partial", 1 << 44, False)])
def test_times_that_a_simulation_cannot_hold_are_refused_by_it_alone(
    tmp_path: Path, name: str, cycles: int, plays: bool
) -> None:
    before = f"{name:17}= {{ cycles = "
    plan = own(tmp_path, (before, f"{before}{cycles}.0 , was = "))
    assert told("cost", plan)[0] == 0
    code, text = told("cost", plan, "--simulate")
    assert (code, "a simulation counts to" in text) == ((0, False) if plays else (2, True)), text


def test_a_queue_that_no_channel_has_is_refused(tmp_path: Path) -> None:
    dv.price(own(tmp_path, ("queue      = 64", "queue      = 4096")))
    with pytest.raises(InputError, match="a queue of 4,097 entries"):
        dv.price(own(tmp_path, ("queue      = 64", "queue      = 4097")))
