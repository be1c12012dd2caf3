"""Many moves: folders, processes, shards, a cluster; and every door to the same answer."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.cli.app import invoke
from dmaverify.jobs import many_moves
from dmaverify.jobs.synthesis import SynthSettings

HEAD = 'schema = 1\ntarget = "{}"\n[axes]\nA = 4\nC = 64\n'
MOVES = {
    "a.toml": HEAD.format("rngd") + '[transfer.one]\ndtype = "i8"\nsource = { tier = "hbm", element = "A, C" }\n'
    'dest = { tier = "dm", slice = "A", element = "C" }\n[transfer.two]\ndtype = "bf16"\n'
    'source = { tier = "hbm", element = "A, C" }\ndest = { tier = "hbm", base = 4096, element = "A, C" }\n',
    "b/copies.toml": HEAD.format("pto") + '[transfer.up]\ndtype = "f16"\nsource = { tier = "gm", element = "A, C" }\n'
    'dest = { tier = "ub", element = "A, C # 128" }\n',
    "b/nothing.toml": HEAD.format("rngd"),
    "c/gather.toml": HEAD.format("rngd").replace("A = 4", "R = 128\nA = 4") + '[gather.rows]\ndtype = "i8"\n'
    'source = { tier = "hbm", element = "R, C" }\ndest = { tier = "dm", slice = "A", element = "C" }\n'
    'index = { tier = "dm", base = 65536, element = "A", scaled = false, rows = [0, 127] }\n',
    "d/broken.toml": HEAD.format("rngd") + '[transfer.x]\ndtype = "i8"\nsource = { tier = "hbm", element = "A, Q" }\n'
    'dest = { tier = "hbm", base = 4096, element = "A, Q" }\n',
}  # fmt: skip
FAST = ("--no-simulate", "--no-routes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("moves")
    for name, text in MOVES.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def serial(folder: Path) -> str:
    return "\n\n".join(one.text for one in many_moves.told_jobs(jobs_of(folder), 1)[0]) + "\n"


def jobs_of(folder: Path):
    return many_moves.move_jobs([str(folder)], SynthSettings(simulate=False, routes=False))


def test_a_folder_answers_for_every_move_and_tells_what_cannot_be_read(folder: Path, serial: str, capsys) -> None:
    assert invoke(["synth", str(folder), *FAST]) == 2
    assert capsys.readouterr().out == serial
    assert invoke(["synth", str(folder), *FAST, "--json"]) == 2
    found = {(Path(one["path"]).name, one["name"]): one for one in json.loads(capsys.readouterr().out)}
    assert set(found) == {("a.toml", "one"), ("a.toml", "two"), ("copies.toml", "up"), ("gather.toml", "rows"),
                          ("broken.toml", None)} or ("broken.toml", "x") in found  # fmt: skip
    assert found["a.toml", "one"]["proved"]
    assert found["copies.toml", "up"]["kernel"].startswith("func.func")
    assert found["gather.toml", "rows"]["refused"][0]["rule"] == "synth/not-searched"
    assert "NOT SEARCHED" in serial


@pytest.mark.slow
def test_two_processes_and_any_shards_give_the_text_of_one_process(folder: Path, serial: str, tmp_path, capsys) -> None:
    assert invoke(["synth", str(folder), *FAST, "-j", "2"]) == 2
    assert capsys.readouterr().out == serial
    files = [str(tmp_path / f"part-{k}.jsonl") for k in (1, 2)]
    for number, file in enumerate(files, 1):
        assert invoke(["sweep", str(folder), "--synth", *FAST, "--shard", f"{number}/2", "--out", file]) == 0
    capsys.readouterr()
    assert invoke(["merge", *files]) == 2
    assert capsys.readouterr().out == serial
    assert invoke(["merge", files[0]]) == 2
    assert "shard 2 of 2 is missing" in capsys.readouterr().err


def test_a_sweep_that_was_stopped_goes_on(folder: Path, serial: str, tmp_path: Path, capsys, monkeypatch) -> None:
    file, left = tmp_path / "all.jsonl", tmp_path / ".all.jsonl.part"
    calls: list[str] = []
    work, stop = many_moves.told_job, [3]

    def counted(job):
        if len(calls) == stop[0]:
            raise KeyboardInterrupt
        calls.append(job[0])
        return work(job)

    monkeypatch.setattr("dmaverify.jobs.sweep.told_job", counted)
    arguments = ["sweep", str(folder), "--synth", *FAST, "--out", str(file)]
    assert invoke(arguments) != 0
    assert not file.exists()
    assert len(left.read_text(encoding="utf-8").splitlines()) == 4  # a head and three answers
    with left.open("a", encoding="utf-8") as stopped:
        stopped.write('{"job": 3, "pa')
    calls.clear()
    stop[0] = -1
    assert invoke(arguments) == 0
    assert len(calls) == len(jobs_of(folder)) - 3
    assert not left.exists()
    capsys.readouterr()
    assert invoke(["merge", str(file)]) == 2
    assert capsys.readouterr().out == serial


def test_what_another_sweep_left_is_not_taken(folder: Path, tmp_path: Path, capsys) -> None:
    other = '{"sweep": 1, "id": "other"}\n{"job": 0, "answer": 1}\n'
    (tmp_path / ".all.jsonl.part").write_text(other, encoding="utf-8")
    assert invoke(["sweep", str(folder / "a.toml"), "--synth", *FAST, "--out", str(tmp_path / "all.jsonl")]) == 0
    assert '"answer": 1}' not in (tmp_path / "all.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("row", ['{"job": 0, "path": "a", "answer": 3, "text": "", "code": 0}', '{"job": 0}', "{"])
def test_a_shard_of_answers_that_was_changed_is_refused(folder: Path, tmp_path: Path, capsys, row: str) -> None:
    file = tmp_path / "one.jsonl"
    assert invoke(["sweep", f"{folder / 'a.toml'}::one", "--synth", *FAST, "--out", str(file)]) == 0
    head, _, end = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([head, row, end]) + "\n", encoding="utf-8")
    assert invoke(["merge", str(file)]) == 2


# ---------------------------------------------------------------- doors


def test_copies_between_gm_and_ub_are_the_same_by_every_door(folder: Path, capsys, monkeypatch) -> None:
    path = str(folder / "b/copies.toml")
    assert invoke(["synth", path, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps({"path": path}) + "\n"))
    assert invoke(["synth", "--stdin"]) == 0
    assert json.loads(capsys.readouterr().out) == told
    found = api.synthesize(path)
    assert found.as_data() == told
    assert (found.found, found.optimal, found.bound) == (True, told["optimal"], told["bound"])
    move = api.load(path).transfers[0].transfer
    assert api.synthesize(move).kernel == told["kernel"]
    assert {v.status.value for v in api.check(found.plan)} == {"proved"}


@pytest.mark.parametrize("setting", [{"packet": 64}, {"engines": 1}, {"evaluations": 5}])
def test_a_setting_that_copies_have_not_is_an_error_by_every_door(folder: Path, capsys, setting) -> None:
    path = str(folder / "b/copies.toml")
    ((name, value),) = setting.items()
    with pytest.raises(api.InputError, match=f"`{name}` means nothing"):
        api.synthesize(path, **setting)
    assert invoke(["synth", path, f"--{name}", str(value)]) == 2
    assert f"`{name}` means nothing" in capsys.readouterr().err


def test_a_gather_of_a_kernel_is_refused_by_name_and_not_answered_for_one_index(tmp_path: Path, capsys) -> None:
    (tmp_path / "gather.rs").write_text(
        "use furiosa_opt_std::prelude::*;\naxes![R = 512, G = 64, D = 64];\ntype Chip = m![1];\n#[device(chip = 1)]\n"
        "pub fn rows(ctx: &mut Context, table: &HbmTensor<bf16, Chip, m![R, D]>, index: &HbmTensor<i32, Chip, m![G]>)"
        " -> DmTensor<bf16, Chip, m![1 # 2], m![G], m![D]> {\n"
        "    table.dma_gather_scaled::<m![1 # 2], m![G], m![D], _, m![G]>(index, &mut ctx.tdma)\n}\n",
        encoding="utf-8",
    )
    code = invoke(["synth", str(tmp_path / "gather.rs")])
    told = capsys.readouterr()
    assert code in (1, 2)
    assert "NOT SEARCHED" in told.out or "gather" in told.err


def test_an_answer_does_not_depend_on_what_the_process_searched_before() -> None:
    """A run that was cached as part of another cover is the same run, whichever object it is."""
    text = (
        HEAD.format("rngd").replace("A = 4", "Q = {}")
        + """[transfer.x]
dtype = "i8"
source = {{ tier = "hbm", element = "Q" }}
dest = {{ tier = "hbm", base = 1048576, element = "Q" }}
"""
    )
    plans = []
    for before in (None, 4095, 4099):
        if before is not None:
            api.synthesize(text.format(before), simulate=False, routes=False)
        plans.append(api.synthesize(text.format(4099), simulate=False, routes=False).plan)
    assert len(set(plans)) == 1


def test_a_route_that_the_budget_cuts_off_is_named(tmp_path: Path, monkeypatch) -> None:
    from dmaverify.synth import routes

    text = (
        HEAD.format("rngd").replace("A = 4", "K = 16\nN = 16")
        + """[transfer.turn]
dtype = "bf16"
source = { tier = "hbm", element = "K, N" }
dest = { tier = "dm", slice = "N", element = "K" }
"""
    )
    whole = api.synthesize(text, simulate=False)
    assert whole.route is not None
    assert not any("budget reached" in line for line in whole.evidence)
    monkeypatch.setattr(routes, "PRICES", 0)
    none = api.synthesize(text, simulate=False)
    assert none.route is None
    assert any("budget reached (0 hops priced)" in line for line in none.evidence)
