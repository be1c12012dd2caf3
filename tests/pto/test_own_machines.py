"""Kernels of plans whose machine is a folder of the user's own: its numbers hold, none of the one that ships."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dmaverify.api import check
from dmaverify.cli.app import invoke
from dmaverify.targets.target import load_target
from dmaverify.verdict import Status

TEXT = """// dmaverify: gm %a = 4096 bytes
func.func @k(%a: !pto.ptr<f32, gm>) {
  %z = arith.constant 0 : i64
  %n = arith.constant 8 : i64
  %l = arith.constant 256 : i64
  %ub = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %a, %ub, %z, %l nburst(%n, %l, %l) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  return
}
"""
TILES = """// dmaverify: gm %a = 8x16xf32
func.func @k(%a: memref<8x16xf32, #pto.address_space<gm>>) {
  %t = pto.alloc_tile : !pto.tile_buf<loc=mat, dtype=f32, rows=8, cols=16, v_row=8, v_col=16>
  pto.tload ins(%a : memref<8x16xf32, #pto.address_space<gm>>)
    outs(%t : !pto.tile_buf<loc=mat, dtype=f32, rows=8, cols=16, v_row=8, v_col=16>)
  return
}
"""
Said = Callable[..., str]
PLAN = 'schema = 1\ntarget = "./mine"\n[axes]\nA = 8\n[kernel.k]\nfile = "k.pto"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(load_target("pto").folder, tmp_path / "mine")
    (tmp_path / "k.pto").write_text(TEXT)
    (tmp_path / "p.toml").write_text(PLAN)
    change(tmp_path, r'(?m)^name = "pto"', 'name = "mine"')
    return tmp_path


def change(folder: Path, what: str, new: str) -> None:
    file = folder / "mine" / "target.toml"
    text, count = re.subn(what, new, file.read_text(), count=1)
    assert count == 1, what
    file.write_text(text)


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], folder: Path) -> Said:
    """What a command says of the plan."""

    def of(*words: str) -> str:
        invoke([str(folder / "p.toml") if word == "p.toml" else word for word in words])
        found = capsys.readouterr()
        return found.out + found.err

    return of


@pytest.mark.parametrize(("most", "status"), [(2048, Status.PROVED), (2016, Status.REFUTED)])
def test_a_run_confirms_what_a_machine_of_ones_own_has_no_room_for(
    folder: Path, said: Said, most: int, status: Status
) -> None:
    change(folder, r"(\[limit\.ub_bytes_max\]\nvalue = )\d+", rf"\g<1>{most}")
    (found,) = check(str(folder / "p.toml"))
    assert (found.status, found.target) == (status, "mine")
    assert ("broken" in said("run", "p.toml")) == (status is Status.REFUTED)


@pytest.mark.parametrize(("most", "status"), [(512, Status.PROVED), (480, Status.UNKNOWN)])
def test_memories_of_tiles_are_as_large_as_the_machine_has_them(
    folder: Path, said: Said, most: int, status: Status
) -> None:
    (folder / "k.pto").write_text(TILES)
    change(folder, r"(\[limit\.l1_bytes_max\]\nvalue = )\d+", rf"\g<1>{most}")
    (found,) = check(str(folder / "p.toml"))
    assert found.status is status


@pytest.mark.parametrize(("line", "status"), [(256, Status.PROVED), (512, Status.REFUTED)])
def test_blocks_of_ub_are_those_of_the_machine(folder: Path, said: Said, line: int, status: Status) -> None:
    (folder / "k.pto").write_text(TEXT.replace("%z, %l nburst(%n, %l, %l)", "%z, %n nburst(%n, %l, %l)"))
    change(folder, r"(\[limit\.ub_line_bytes\]\nvalue = )\d+", rf"\g<1>{line}")
    (found,) = check(str(folder / "p.toml"))
    assert found.status is status
    (folder / "p.toml").write_text(PLAN.replace("./mine", "pto"))
    for file in ("k.pto", "p.toml"):  # nothing of the other machine stays
        (found,) = check(str(folder / file))
        assert (found.status, found.target) == (Status.PROVED, "pto")


def test_operations_on_tiles_are_those_of_the_machine(folder: Path) -> None:
    (folder / "k.pto").write_text(TILES)
    change(folder, r'\["gm", "mat"\], ', "")
    (found,) = check(str(folder / "p.toml"))
    assert found.status is Status.UNKNOWN


def test_a_timeline_and_a_price_are_made_of_the_machines_own_figures(folder: Path, said: Said) -> None:
    change(folder, r"(?m)^issue_cycles = \d+", "issue_cycles = 5000")
    out = folder / "t.json"
    assert "5,077.9 cycles" in said("trace", "p.toml", "--output", str(out))
    assert json.loads(out.read_text())["otherData"]["profile"] == "parameters of mine"
    assert "model: parameters of mine" in said("cost", "p.toml")
    assert "A2/A3" in said("cost", str(folder / "k.pto"))


def test_the_picture_of_a_plans_kernel_is_that_of_its_own_text(folder: Path, said: Said) -> None:
    inside = PLAN.replace('file = "k.pto"', f"text = '''\n{TEXT}'''")
    (folder / "p.toml").write_text(inside)
    assert "wrote" in said("viz", "p.toml", "--output", str(folder / "v.svg"))
    assert "256" in (folder / "v.svg").read_text()


@pytest.mark.parametrize(
    ("machine", "lacks"), [("toy", "[machine]"), ("idma", "[operands]"), ("./mine", "[limit.l1_bytes_max]")]
)
@pytest.mark.parametrize("command", [("check",), ("run",), ("cost",), ("trace", "--output", "t.json")])
def test_a_machine_whose_data_says_too_little_reads_no_kernels(
    folder: Path, said: Said, machine: str, lacks: str, command: tuple[str, ...]
) -> None:
    (folder / "p.toml").write_text(PLAN.replace("./mine", machine))
    change(folder, r"\[limit\.l1_bytes_max\](\n.+)+\n", "")
    change(folder, r', "l1_bytes_max"', "")
    change(folder, r'mat = "l1_bytes_max"\n', "")
    assert lacks in said(command[0], "p.toml", *command[1:])
