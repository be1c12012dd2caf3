"""Plans that name the engine in a file of iDMA's generator: judged as built, anew when the file changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.errors import InputErrors
from dmaverify.jobs.certify import check_certificate
from dmaverify.jobs.reach import texts_digest
from dmaverify.jobs.sealed import FULL, write_certificate
from dmaverify.plan.read import read_plan

PLAN = """\
schema = 1
target = "idma"
axes = { A = 256 }
[transfer.p]
dtype = "i8"
source = { tier = "mem", base = 4096, element = "A" }
dest = { tier = "mem", base = 1048576, element = "A" }
options = { OPTIONS }
read = "[A=256:1]:256 @4096"
write = "[A=256:1]:256 @1048576"
"""


def plan(folder: Path, options: str, width: int = 32) -> Path:
    """A plan beside the entry of an engine whose addresses have so many bits."""
    entry = {"proc_id": "rw_axi", "params": {"DataWidth": 64, "AddrWidth": width, "NumAxInFlight": 3}, "jobs": {}}
    (folder / "jobs.json").write_text(json.dumps({"mine": entry}), encoding="utf-8")
    (folder / "plan.toml").write_text(PLAN.replace("OPTIONS", options), encoding="utf-8")
    return folder / "plan.toml"


def status(file: Path) -> str:
    return api.check(str(file))[0].status.value


def test_a_plan_takes_the_engine_that_a_file_describes(tmp_path: Path) -> None:
    given = dict(read_plan(str(plan(tmp_path, 'engine = "jobs.json::mine"'))).transfers[0].transfer.options)
    assert (given["variant"], given["data_width"], given["ax_in_flight"]) == ("rw_axi", 64, 3)
    assert "engine" not in given
    given = dict(
        read_plan(str(plan(tmp_path, 'engine = "jobs.json::mine", data_width = 32'))).transfers[0].transfer.options
    )
    assert given["data_width"] == 32


@pytest.mark.parametrize(("length", "verdict"), [(256, "proved"), (255, "refuted")])
def test_commands_in_a_form_are_those_of_the_engine_that_a_file_describes(
    length: int, verdict: str, tmp_path: Path
) -> None:
    file = plan(tmp_path, 'engine = "jobs.json::mine"')
    head = file.read_text(encoding="utf-8").partition("read =")[0]
    file.write_text(f'{head}commands = "nd\\nsrc = 4096\\ndst = 1048576\\nlength = {length}"\n', encoding="utf-8")
    assert status(file) == verdict
    assert dict(read_plan(str(file)).transfers[0].transfer.options)["ax_in_flight"] == 3


def test_a_file_that_changed_is_read_anew(tmp_path: Path) -> None:
    file = plan(tmp_path, 'engine = "jobs.json::mine"', 32)
    job = (str(file), None, None, dict(FULL))
    before = texts_digest(job)
    assert status(file) == "proved"
    plan(tmp_path, 'engine = "jobs.json::mine"', 20)
    assert status(file) == "refuted"
    assert before is not None
    assert texts_digest(job) not in (before, None)


def test_a_certificate_holds_the_engine_that_its_plan_names(tmp_path: Path) -> None:
    write_certificate(tmp_path / "cert", [(str(plan(tmp_path, 'engine = "jobs.json::mine"')), None, None, dict(FULL))])
    found = check_certificate(tmp_path / "cert", solver=False)
    assert (found.refused, found.open) == ([], [])
    kept = tmp_path / "cert" / "plans" / "000" / "jobs.json"
    kept.write_text(kept.read_text(encoding="utf-8").replace("64", "32"), encoding="utf-8")
    assert check_certificate(tmp_path / "cert", solver=False).refused


@pytest.mark.parametrize(("below", "held"), [("", True), ("a/b/c", False)])
def test_an_engine_in_a_folder_above_is_not_sealed_whatever_lies_above_the_certificate(
    tmp_path: Path, below: str, held: bool
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / below).mkdir(parents=True, exist_ok=True)
    up = "/".join(".." for _ in Path(below).parts)
    file = plan(tmp_path, f'engine = "{up}{"/" * bool(up)}jobs.json::mine"').rename(tmp_path / below / "own.toml")
    assert status(file) == "proved"
    write_certificate(tmp_path / "cert", [(str(file), None, None, dict(FULL))])
    assert check_certificate(tmp_path / "cert", solver=False).code == (0 if held else 3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ('engine = "jobs.json::yours"', "no entry 'yours'"),
        ('engine = "jobs.json"', "which entry"),
        ('engine = "none.json::mine"', "does not exist"),
        ('engine = "../../../../../../etc/jobs.json"', "outside of the project"),
        ('engine = "cheshire"', "no file of iDMA's generator"),
        ('engine = "jobs.json::mine", data_width = 33', "data_width is 33"),
    ],
)
def test_an_engine_that_cannot_be_read_is_told_at_its_place(options: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputErrors, match=said) as told:
        read_plan(str(plan(tmp_path, options)))
    assert [error.span.line for error in told.value.errors if error.span] == [8]


def test_a_machine_without_files_of_engines_says_so(tmp_path: Path) -> None:
    text = PLAN.replace('"idma"', '"pto"').replace("OPTIONS", 'engine = "jobs.json::mine"').replace("mem", "gm")
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputErrors, match="pto reads no files of engines"):
        read_plan(str(tmp_path / "plan.toml"))
