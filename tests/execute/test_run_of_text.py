"""`run` of what the text says: programs, accesses, every iteration of a view; right, broken, left open, too large."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dmaverify.cli.app import invoke
from dmaverify.cli.run import executed
from dmaverify.jobs.retold import Retold

HEAD = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 8\nC = 64\nM = 70\nW = 8\n'


def store(name: str, start: str, base: int = 0, more: str = "") -> str:
    return f"""
[transfer.{name}]
dtype = "i8"
{more}
source = {{ tier = "dm", base = {base}, element = "A = 4, C" }}
dest = {{ tier = "hbm", base = 65536, element = "A, C", view = {{ tile = "A", length = 4, start = {start} }} }}
stream = {{ time = "A = 4", packet = "C" }}
"""


PROGRAM = '[program.p]\nstep = [{ transfer = "a" }, { transfer = "b" }]\n'


def ran(folder: Path, text: str, limit: int = 1 << 20) -> dict[str, tuple[str, dict[str, object], int]]:
    path = folder / "plan.toml"
    path.write_text(HEAD + text)
    found = executed(str(path), limit)
    json.dumps([data for _, data, _ in found])
    return {str(data["name"]): (said, data, code) for said, data, code in found}


@pytest.mark.parametrize(
    ("second", "broken", "code"), [("4", [], 0), ("0", ["core/tiles-cover", "core/tiles-once"], 1)]
)
def test_a_program_is_run_and_says_what_it_breaks(tmp_path: Path, second: str, broken: list[str], code: int) -> None:
    said, data, got = ran(tmp_path, store("a", "0") + store("b", second, 4096) + PROGRAM)["p"]
    assert (data["broken"], got) == (broken, code)
    assert ("The program keeps its promise." in said) == (not broken)
    assert all(f"  broken    {rule}: " in said for rule in broken)


@pytest.mark.parametrize(("loops", "broken"), [(2, []), (3, ["core/in-bounds"])])
def test_every_iteration_of_a_view_is_run(tmp_path: Path, loops: int, broken: list[str]) -> None:
    said, data, code = ran(tmp_path, store("a", '"4 * t"', more=f"loop = {{ t = {loops} }}"))["a"]
    assert f"This was the first of {loops} iterations. All of them:" in said
    assert data["iterations"]["broken"] == broken  # type: ignore[index]
    assert code == int(bool(broken))


def test_what_the_run_of_an_iteration_leaves_open_is_no_pass(tmp_path: Path) -> None:
    """Each iteration reads a tile of its own, and promises the tile of another."""
    text = store("a", '"t"', more="loop = { t = 3 }").replace("length = 4", "length = 1").replace("A = 4", "1")
    tile = 'element = "A, C", view = { tile = "A", length = 1, start = "2 * t" } }'
    said, _, code = ran(tmp_path, text.replace('element = "1, C" }', tile))["a"]
    assert ("open      core/same-element" in said, code) == (True, 3), said


@pytest.mark.parametrize(("start", "broken"), [("4", []), ("5", ["core/in-bounds"])])
def test_a_view_is_run_in_its_tensor(tmp_path: Path, start: str, broken: list[str]) -> None:
    said, data, code = ran(tmp_path, store("a", start))["a"]
    assert data["iterations"]["broken"] == broken  # type: ignore[index]
    assert code == int(bool(broken))
    assert "0x4000000000000000" not in said


def test_an_access_is_run_and_what_is_too_large_is_not(tmp_path: Path) -> None:
    text = '[access.a]\nengine = "fetch"\ndtype = "i8"\nmemory = { tier = "dm", base = 0, element = "M, W # 128" }\n'
    text += 'stream = { time = "M", packet = "W" }\n'
    assert ran(tmp_path, text)["a"][2] == 0
    said, data, code = ran(tmp_path, text, 100)["a"]
    assert (code, data["kept"]) == (3, False)
    assert "  not run   more than 100 units (--limit)" in said


LOOPED = """[access.a]
engine = "fetch"
dtype = "i8"
loop = {{ t = {turns} }}
memory = {{ tier = "dm", base = 0, element = "A, C", view = {{ tile = "A", length = 4, start = 5 }} }}
stream = {{ time = "A = 4, C / 8", packet = "C % 8" }}
"""


@pytest.mark.parametrize("kind", ["stream", "move", "access"])
def test_iterations_that_are_too_many_together_are_not_begun(kind: str) -> None:
    """A move by its stream, a move of which no more is said, an access: 256 bytes an iteration, one row too far."""
    for turns, run in ((4, True), (6, False), (1 << 40, False)):
        text = LOOPED.format(turns=turns) if kind == "access" else store("a", "5", more=f"loop = {{ t = {turns} }}")
        text = text.partition("stream")[0] if kind == "move" else text
        assert bool(Retold(HEAD + text, "a", "rngd", {}, 1024).broken()) == run


def test_a_stated_limit_goes_beyond_the_default_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[access.a]\nengine = "fetch"\ndtype = "i8"\nmemory = { tier = "dm", base = 0, element = "M, W # 128" }\n'
    path = tmp_path / "plan.toml"
    path.write_text(HEAD + text + 'stream = { time = "M", packet = "W" }\n')
    monkeypatch.setattr("dmaverify.cli.run.ONE_BY_ONE", 100)
    assert [executed(str(path), limit)[0][2] for limit in (None, 1 << 20)] == [3, 0]


@pytest.mark.parametrize(("stride", "code"), [(64, 3), (32, 1)])
def test_what_is_broken_decides_the_exit_code_before_what_is_not_run(tmp_path: Path, stride: int, code: int) -> None:
    text = f"""
[transfer.first]
dtype = "i8"
source = {{ tier = "hbm", base = 0, element = "A, C" }}
dest = {{ tier = "dm", base = 0, element = "A, C" }}
read = "[A=8:64, C=64:1]:64 HBM/D@0"
write = "[A=8:{stride}, C=64:1]:64 DM/D@0"

[access.long]
engine = "fetch"
dtype = "i8"
memory = {{ tier = "dm", base = 0, element = "M, A, C" }}
stream = {{ time = "M, A", packet = "C" }}
"""
    (tmp_path / "plan.toml").write_text(HEAD + text)
    assert invoke(["run", str(tmp_path / "plan.toml"), "--limit", "600"]) == code
