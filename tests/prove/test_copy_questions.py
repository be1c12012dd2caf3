"""Copies whose operands are symbols are asked from definitions: bounds in every iteration, no byte by two rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dmaverify import api
from dmaverify.prove.flow.instruction_rules import RuleJudge
from dmaverify.prove.flow.instructions import CopyJudge
from dmaverify.prove.options import Options

BLOCKS = (Path(__file__).resolve().parents[2] / "examples" / "pto" / "blocks.inline.mlir").read_text(encoding="utf-8")
BLOCKS = BLOCKS.replace("// dmaverify: expect proved\n", "")
STORE = "%buf, %to, %c256 nburst(%n, %c256, %c512)"


def labels(folder: Path, text: str, rows: int) -> dict[str, str]:
    gm = "".join(f"// dmaverify: gm %{name} = {rows} bytes\n" for name in "xy")
    (folder / "kernel.mlir").write_text(gm + text, encoding="utf-8")
    (verdict,) = api.check(str(folder / "kernel.mlir"), options=Options(prove="full", cross_check=0, repair=False))
    assert verdict.status.value == "proved", verdict.findings
    return {o.id: o.by for o in verdict.obligations}


def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that finds no access beyond its tensor and no two rows on one byte."""

    def inside(judge: RuleJudge, *_: Any) -> None:
        judge.used.add("core/in-bounds")

    monkeypatch.setattr(RuleJudge, "inside", inside)
    monkeypatch.setattr(CopyJudge, "_rows", lambda judge, *_: judge.used.add("core/writes-once"))
    monkeypatch.setattr(RuleJudge, "_plainly", lambda *_: True)


ENOUGH = 255 * 8192 + 15 * 512 + 256  # of 4,096 rows in blocks of 16, the last byte


def test_copies_of_symbolic_blocks_are_asked_for_every_iteration(tmp_path: Path) -> None:
    by = labels(tmp_path, BLOCKS, ENOUGH)
    assert (by["core/in-bounds"], by["core/writes-once"]) == ("z3", "z3")


def test_a_tensor_that_is_a_byte_short_is_not_confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blind(monkeypatch)
    assert labels(tmp_path, BLOCKS, ENOUGH)["core/in-bounds"] == "z3"
    assert labels(tmp_path, BLOCKS, ENOUGH - 1)["core/in-bounds"] != "z3"


@pytest.mark.parametrize(("pitch", "confirmed"), [("%c512", True), ("%c256", True), ("%c16", False)])
def test_rows_on_one_byte_are_not_confirmed(
    pitch: str, confirmed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blind(monkeypatch)
    text = BLOCKS.replace(STORE, STORE.replace("%c256, %c512", f"%c256, {pitch}"))
    if confirmed:
        assert labels(tmp_path, text, ENOUGH)["core/writes-once"] == "z3"
    else:
        with pytest.raises(AssertionError, match="a proof and an execution disagree: pto"):
            labels(tmp_path, text, ENOUGH)


FIXED = BLOCKS.replace(STORE, "%buf, %to, %c256 nburst(%c2, %c256, %c16)").replace(
    "  %c512 =", "  %c2 = arith.constant 2 : i64\n  %c512 ="
)  # two rows on one byte, whatever `%rows` is


def guarded(first: str, second: str) -> str:
    """The store under two conditions on the number of rows."""
    lines = FIXED.splitlines(True)
    at = next(i for i, line in enumerate(lines) if "nburst(%c2" in line)
    end = at + 1 if ":" in lines[at] else at + 2
    few = "".join(f"    %b{n} = arith.cmpi slt, %rows, %c{n} : i64\n" for n in (16, 256))
    inside = "".join(lines[at:end])
    return "".join(
        [*lines[:at], few, f"scf.if {first} {{\n scf.if {second} {{\n }} else {{\n{inside} }}\n}}\n", *lines[end:]]
    )


@pytest.mark.parametrize(
    ("first", "second", "runs"),
    [("%b16", "%b16", False), ("%b16", "%b256", False), ("%b256", "%b16", True)],
)
def test_a_copy_that_no_path_reaches_breaks_nothing(first: str, second: str, runs: bool, tmp_path: Path) -> None:
    for prove in ("fast", "full"):
        (tmp_path / "kernel.mlir").write_text(guarded(first, second), encoding="utf-8")
        (found,) = api.check(str(tmp_path / "kernel.mlir"), options=Options(prove=prove, cross_check=0, repair=False))
        assert [f.rule for f in found.errors] == (["pto/row-overlap"] if runs else [])


@pytest.mark.parametrize(("rows", "runs"), [("0..0", False), ("-3..0", False), ("0..1", True)])
def test_a_copy_in_a_loop_that_never_runs_breaks_nothing(rows: str, runs: bool, tmp_path: Path) -> None:
    text = FIXED.replace("1..4096", rows)
    lines = text.splitlines(True)
    load = next(i for i, line in enumerate(lines) if "mte_gm_ub" in line)
    once = "".join(lines[load : load + 1 + (":" not in lines[load])]).replace("%from", "%x").replace("%n,", "%c2,")
    at = next(i for i, line in enumerate(lines) if "scf.for" in line)
    (tmp_path / "kernel.mlir").write_text("".join([*lines[:at], once, *lines[at:]]), encoding="utf-8")
    (found,) = api.check(str(tmp_path / "kernel.mlir"))
    assert ("pto/row-overlap" in [f.rule for f in found.errors]) is runs
