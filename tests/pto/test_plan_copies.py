"""Moves of a plan by copy instructions: what they cost, and the kernel that makes them.

Knows: the command line, the example of tiles, plans by hand.
Does not know: how text is written or priced.
Law: what is emitted is read again as the plan's rows and loops, and proved; each iteration of a loop is an instruction.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dmaverify import api
from dmaverify.cli.app import cli
from dmaverify.cli.idma import emitted_plan
from dmaverify.errors import InputError
from dmaverify.jobs import plan_copies
from dmaverify.jobs.kernels import same_kernels
from dmaverify.jobs.plan_copies import emitted_copies

TILES = Path(__file__).resolve().parents[2] / "examples" / "pto" / "tiles.toml"
ROUTES = ("bring", "send", "bring-table", "send-table", "halo", "store", "store-in-turn", "load-last")


def run(*arguments: str, text: str | None = None):
    return CliRunner().invoke(cli, arguments, input=text)


def test_each_iteration_is_an_instruction_and_rows_are_lines_of_global_memory() -> None:
    """125 tiles of 8 rows of 200 bytes: 50 cycles an instruction, 224 bytes of UB a row, lines of 512 bytes of GM."""
    (load,) = [one for one in json.loads(run("cost", str(TILES), "--json").stdout) if one["name"] == "load"]
    terms = {term["name"]: term["cycles"] for term in load["terms"]}
    assert load["iterations"] == 125
    assert terms["issue"] == 125 * 50
    assert terms["buffer"] == 1000 * 224 / 256
    lines = sum((start + 199) // 512 - start // 512 + 1 for start in range(0, 200_000, 200))
    assert terms["lines"] == pytest.approx(lines * 512 / 58.56)
    assert load["cycles"] == pytest.approx(sum(terms.values()))


def test_one_request_prices_what_the_file_does() -> None:
    whole = json.loads(run("cost", f"{TILES}::bring", "--json").stdout)
    again = json.loads(run("cost", "--stdin", text=json.dumps({"path": str(TILES), "name": "bring"}) + "\n").stdout)
    assert again["cycles"] == (whole[0] if isinstance(whole, list) else whole)["cycles"]


def test_two_buffers_hide_the_shorter_queue_behind_the_longer() -> None:
    found = {one["name"]: one for one in json.loads(run("cost", str(TILES), "--json").stdout)}
    load, store = (found[name]["cycles"] for name in ("load", "store"))
    assert found["one-buffer"]["all_iterations"] == pytest.approx(load + store)
    assert found["two-buffers"]["cycles"] == pytest.approx(load + 2 * store / 125)


def test_a_wrong_move_and_one_without_whole_blocks_are_told(tmp_path: Path) -> None:
    shown = run("cost", str(TILES))
    assert "column   42,942" in shown.stdout
    assert "REFUTED by pto/ub-pitch: these are the cycles of a wrong program" in shown.stdout
    assert "halo-unpadded   no price: a copy from ub to ub moves and skips whole blocks of 32 bytes" in shown.stdout


@pytest.mark.parametrize("name", ROUTES)
def test_both_surfaces_of_a_move_are_one_kernel(tmp_path: Path, name: str) -> None:
    plan = api.load(f"{TILES}::{name}")
    files = [tmp_path / f"{form}.mlir" for form in ("inline", "registers")]
    for file in files:
        file.write_text(emitted_copies(plan, name, file.stem))
    assert same_kernels(*map(str, files))[0].status == "proved"


def test_words_are_those_of_the_text() -> None:
    words = emitted_copies(api.load(f"{TILES}::bring"), "bring", "words")
    assert "n_burst 8, len_burst 128" in words
    assert "loop1_gm 128, loop1_ub 1,024" in words


@pytest.mark.parametrize(
    ("name", "form", "said"),
    [
        ("column", "inline", "`column` is not proved: pto/ub-pitch"),
        ("load", "inline", "`load` as a kernel of its own, without the flags of a program, is not proved: core/hazard"),
        ("halo-unpadded", "inline", "moves and skips whole blocks of 32 bytes"),
        ("bring", "nd", "copies have no form 'nd'"),
    ],
)
def test_what_cannot_be_emitted_says_why(name: str, form: str, said: str) -> None:
    with pytest.raises(InputError) as told:
        emitted_plan(f"{TILES}::{name}", form)
    assert said in told.value.message


def test_a_text_that_moves_something_else_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, write = api.load(f"{TILES}::bring"), plan_copies.copy_text

    def wrong(*arguments):
        return write(*arguments).replace("%c1024_i64 = arith.constant 1024", "%c1024_i64 = arith.constant 1056")

    monkeypatch.setattr(plan_copies, "copy_text", wrong)
    with pytest.raises(InputError, match="read again, are not its commands"):
        emitted_copies(plan, "bring", "inline")


PLAN = """schema = 1
target = "pto"
[axes]
A = 2
B = 3
C = 4
D = 5
E = 32
[transfer.t]
dtype = "f16"
source = {{ tier = "gm", element = "A, B, C, D, E" }}
dest = {{ tier = "ub", element = "D, C, B, A, E" }}
stream = {{ time = "{time}", packet = "E" }}
"""


@pytest.mark.parametrize(("time", "loops"), [("D, C, B, A", 1), ("A, B, C, D", 1), ("C, A, D, B", 1)])
def test_loops_beyond_those_of_an_instruction_are_software(time: str, loops: int) -> None:
    text = emitted_copies(api.load(PLAN.format(time=time)), "t", "inline")
    assert text.count("scf.for") == loops
    assert text.count("loop(") == 2
