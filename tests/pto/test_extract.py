"""Plan files of kernels: what each copy does as a claim, which is proved as long as the copy does it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dmaverify.cli.app import invoke
from dmaverify.cli.rust import extract_text
from dmaverify.errors import InputError
from dmaverify.machines.pto.check import check_plan_kernel
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples" / "pto"
PROVED = sorted(
    path for folder in (HERE / "pairs", EXAMPLES) for path in folder.glob("*.mlir") if "broken" not in path.name
)


def checked(text: str, folder: Path) -> list[Verdict]:
    plan = read_plan_text(text, folder=folder)
    return [v for kernel in plan.kernels for v in check_plan_kernel(kernel, plan, Options())]


@pytest.mark.parametrize("path", PROVED, ids=lambda path: path.name.removesuffix(".mlir"))
def test_an_extracted_plan_is_proved_and_says_why_a_copy_is_not_claimed(path: Path) -> None:
    text = extract_text(str(path), None)
    copies = len(re.findall(r"^# line \d+: ", text, re.MULTILINE))
    claimed, unclaimed = text.count(".move]]"), text.count("# not claimed: ")
    assert claimed + unclaimed == copies >= 1
    for verdict in checked(text, path.parent):
        assert verdict.status is Status.PROVED, [f.message for f in verdict.findings]
        judged = {o.id: o.status for o in verdict.obligations}
        assert (judged["core/same-element"] == "proved") == (claimed > 0)


def test_a_claim_no_longer_holds_once_the_kernel_does_something_else(tmp_path: Path) -> None:
    text = (EXAMPLES / "example-2.mlir").read_text()
    plan = extract_text(str(EXAMPLES / "example-2.mlir"), None)
    (tmp_path / "example-2.mlir").write_text(text)
    assert [v.status for v in checked(plan, tmp_path)] == [Status.PROVED]
    assert text.count("constant 1024 : i64") == 1
    (tmp_path / "example-2.mlir").write_text(text.replace("constant 1024 : i64", "constant 512 : i64"))
    (verdict,) = checked(plan, tmp_path)
    assert "core/same-element" in {f.rule for f in verdict.errors}


def test_operands_that_are_no_numbers_and_rows_that_overlap_are_not_claimed(tmp_path: Path) -> None:
    head = "func.func @k(%a: !pto.ptr<f32, gm>, %n: i64) {\n"
    head += "".join(f"  %c{n} = arith.constant {n} : i64\n" for n in (0, 2, 64, 128))
    head += "  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>\n"
    body = "  pto.mte_gm_ub %a, %u, %c0, %c128 nburst({0}, {1}, %c128)\n"
    body += "    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64\n"
    for rows, stride, said in (("%n", "%c128", "no numbers"), ("%c2", "%c64", "no nest of axes")):
        file = tmp_path / "k.mlir"
        file.write_text(head + body.format(rows, stride) + "  return\n}\n")
        text = extract_text(str(file), None)
        assert said in text
        assert ".move]]" not in text


@pytest.mark.parametrize("plan", ["plans/row.toml", "linked/row.toml"])
def test_a_plan_that_is_written_elsewhere_names_its_kernel_from_there(
    plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (".git", "kernels", "plans", "plans/deep"):
        (tmp_path / folder).mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "plans" / "deep")
    kernel = Path("kernels") / 'row "a".mlir'
    kernel.write_text((EXAMPLES / "example-2.mlir").read_text())
    assert invoke(["extract", str(kernel), "--output", plan]) == 0
    assert invoke(["check", plan, "--no-cache"]) == 0


def test_what_is_no_kernel_is_refused(tmp_path: Path) -> None:
    for name, text, said in (
        ("k.mlir", "func.func @k() {\n  return\n}\n", "holds no copy"),
        ("k.txt", "", "is no kernel"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=said):
            extract_text(str(tmp_path / name), None)
