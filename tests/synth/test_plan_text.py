"""Plans as text, the command line, certificates: what is printed is what was proved."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lab.draws import rest
from moves import drawn, move
from shapes import shapes

from dmaverify import api
from dmaverify.cli.app import invoke
from dmaverify.synth.synthesize import synthesize
from dmaverify.targets.target import load_target

RNGD = load_target("rngd")
PLAN = """schema = 1
target = "rngd"
[axes]
A = 8
B = 8
C = 256
[transfer.turn]
dtype = "i8"
source = { tier = "hbm", element = "A, B, C" }
dest = { tier = "hbm", base = 16384, element = "B, A, C" }
stream = { time = "A, B", packet = "C" }
[transfer.odd]
dtype = "i8"
source = { tier = "hbm", element = "A, C" }
dest = { tier = "dm", slice = "1 # 64", base = 4, element = "A, C" }
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN, encoding="utf-8")
    return file


@pytest.mark.parametrize("seed", [*range(20, 25), *rest(range(25, 32))])
def test_a_printed_plan_read_again_gives_the_same_commands_and_is_proved(seed):
    axes, moved = drawn(seed)
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    if not found.found:
        assert found.refused
        return
    plan = api.load(found.plan)
    again = api.program_of(plan, "m")
    assert again == found.commands
    assert [v.status.value for v in api.check(plan)] == ["proved"]


def test_a_move_in_4_bit_and_one_with_places_print_what_was_proved():
    axes = {"D": 8, "B": 64, "C": 256}
    source = {"tier": "hbm", "chip": "D / 2", "element": "D % 2, B, C"}
    dest = {"tier": "dm", "chip": "D / 2", "cluster": "D % 2", "slice": "B", "element": "C"}
    for dtype in ("i4", "i8", "bf16"):
        found = synthesize(move(axes, source, dest, dtype), RNGD, axes=axes, advise=False)
        plan = api.load(found.plan)
        assert [v.status.value for v in api.check(plan)] == ["proved"]
        assert {c.engine.chip for c in found.commands if c.engine} == {0, 1, 2, 3}


def test_synth_json_has_the_keys_of_the_surface_and_the_exit_code_says_whether_all_have_plans(plan, capsys):
    assert invoke(["synth", f"{plan}::turn", "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert {"plan", "cycles", "bound", "optimal", "gap", "evidence", "seconds", "before"} <= set(answer)
    assert answer["optimal"] is True
    assert answer["cycles"] < answer["before"]["cycles"]
    assert invoke(["synth", f"{plan}::odd", "--no-simulate"]) == 1
    text = capsys.readouterr().out
    assert "NO PLAN" in text
    assert "rngd/" in text
    assert "OPTIMAL" not in text


def test_synth_writes_the_plan_and_a_certificate_that_checks_without_dmaverify(plan, tmp_path, capsys):
    folder, file = tmp_path / "cert", tmp_path / "best.toml"
    arguments = ["synth", f"{plan}::turn", "--no-simulate", "--certificate", str(folder), "--output", str(file)]
    assert invoke(arguments) == 0
    assert "OPTIMAL for this model" in capsys.readouterr().out
    assert invoke(["check", str(file)]) == 0
    assert (folder / "plan.toml").read_text(encoding="utf-8") == file.read_text(encoding="utf-8")
    bound = json.loads((folder / "bound.json").read_text(encoding="utf-8"))
    assert bound["optimal"]
    assert bound["terms"][0]["cycles"] == bound["bound"]
    assert bound["not_covered"]
    done = subprocess.run(
        [sys.executable, "recheck.py", "z3"], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    question = next(folder.glob("*bound*.smt2"))
    question.write_text(question.read_text(encoding="utf-8").replace("(assert (<", "(assert (<=", 1), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "recheck.py", "z3"], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode != 0


def test_lines_of_stdin_are_answered_in_order_and_a_bad_one_does_not_stop_the_rest(plan, capsys, monkeypatch):
    import io

    lines = [
        {"plan": PLAN, "name": "turn", "engines": 1},
        {"plan": PLAN, "name": "turn", "engines": "two"},
        {"path": str(plan), "name": "odd"},
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(map(json.dumps, lines))))
    invoke(["synth", "--stdin"])
    first, second, third = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["engines"] == 1
    assert "engines" in second["error"]
    assert third["plan"] is None
    assert third["refused"][0]["rule"].startswith("rngd/")


def test_cost_gives_named_terms_and_the_number_of_synth(plan, capsys):
    assert invoke(["cost", f"{plan}::turn", "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["cycles"] == 628
    assert {"name", "cycles", "resource", "why", "source"} <= set(answer["terms"][0])
    assert invoke(["cost", f"{plan}::turn", "--explain", "--formula"]) == 0
    text = capsys.readouterr().out
    assert "628" in text
    assert "DMA Engine" in text


@pytest.mark.parametrize(("name", "axes", "moved"), shapes()[::4], ids=lambda x: x if isinstance(x, str) else "")
def test_shapes_of_transformers_have_proved_plans_and_an_honest_bound(name, axes, moved):
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    assert found.found, found.refused
    assert found.verdict is not None
    assert found.verdict.status.value == "proved"
    assert found.bound <= found.cycles
    assert found.optimal == (found.gap == 0)


TILES = {
    "rngd": ("hbm", "dm", 'slice = "A", element = "B"'),
    "idma": ("mem", "mem", 'element = "A, B"'),
    "pto": ("gm", "ub", 'element = "A, B"'),
}


def tiles(machine: str, start: str, loop: str) -> str:
    """A load of one of four tiles in every turn of a loop."""
    near, far, held = TILES[machine]
    view = f'view = {{ tile = "B", length = 128, start = "{start}" }}'
    base = "base = 1048576" if near == far else "base = 0"
    return (
        f'schema = 1\ntarget = "{machine}"\n[axes]\nA = 64\nB = 512\n[transfer.tile]\ndtype = "i8"\n{loop}'
        f'source = {{ tier = "{near}", base = 0, element = "A, B", {view} }}\n'
        f'dest = {{ tier = "{far}", {base}, {held.replace("B", "B = 128")} }}\n'
    )


@pytest.mark.parametrize("machine", TILES)
def test_a_move_in_a_loop_is_told_as_its_first_iteration(machine: str, tmp_path: Path, capsys) -> None:
    file, out = tmp_path / "tiles.toml", tmp_path / "out.toml"
    for start, loop, many in (("128 * t", "loop = { t = 4 }\n", 4), ("128", "", 1)):
        file.write_text(tiles(machine, start, loop), encoding="utf-8")
        assert invoke(["synth", str(file), "--no-simulate", "--output", str(out)]) == 0
        assert (f"the first of {many} iterations" in capsys.readouterr().out) == (many > 1)
        assert ("# The first of 4 iterations" in out.read_text(encoding="utf-8")) == (many > 1 and machine != "pto")
        assert invoke(["synth", str(file), "--no-simulate", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)[0].get("iterations", 1) == many
        code = invoke(["synth", str(file), "--no-simulate", "--certificate", str(tmp_path / f"c{many}")])
        assert code == (2 if many > 1 else 0)
        assert ("is made 4 times" in capsys.readouterr().err) == (many > 1)
    assert invoke(["certificate", "check", str(tmp_path / "c1"), "--no-cvc5"]) in (0, 3)


def test_a_plan_that_holds_in_the_first_iteration_alone_is_none(tmp_path: Path, capsys) -> None:
    """Tiles that begin at multiples of 100 bytes: neither one command nor a route of the first tile is for all."""
    file = tmp_path / "tiles.toml"
    file.write_text(tiles("rngd", "100 * t", "loop = { t = 4 }\n"), encoding="utf-8")
    assert invoke(["synth", str(file)]) == 1
    said = capsys.readouterr().out
    assert "rngd/hbm-dm-align" in said
    assert "no route through another memory" in said
