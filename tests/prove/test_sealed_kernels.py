"""Certificates of kernels: what is sealed says what was printed, wherever it lies and whatever lies around it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dmaverify.cli import app as cli
from dmaverify.errors import InputError
from dmaverify.jobs.certify import check_certificate
from dmaverify.jobs.judge import check_job
from dmaverify.jobs.sealed import FULL, held_to, write_certificate
from dmaverify.values import replace
from dmaverify.verdict import Status, Verdict

KERNEL = """use furiosa_opt_std::prelude::*;
{above}
axes![Row = 512, Col = 64];
type Chip = m![1];
type Matrix = HbmTensor<bf16, Chip, m![Row, Col]>;
#[device(chip = 1)]
pub fn turn(ctx: &mut Context, input: &Matrix) -> HbmTensor<bf16, Chip, m![Col / 4, Row, Col % 4]> {{
    let rows = input.to_dm::<m![Row / 256], m![Row % 256], {elem}>(&mut ctx.tdma);
    rows.to_hbm(&mut ctx.tdma)
}}
"""
CHOSEN = """#[cfg(feature = "long")]
type Elem = m![Col, 7];
#[cfg(not(feature = "long"))]
type Elem = m![Col];
"""
PACKAGE = '[package]\nname = "k"\nversion = "0.1.0"\nedition = "2021"\n'
DEFAULT = PACKAGE + '[features]\ndefault = ["long"]\nlong = []\n'


def crate(folder: Path, text: str, manifest: str = PACKAGE) -> str:
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
    (folder / "src" / "lib.rs").write_text(text, encoding="utf-8")
    return str(folder / "src" / "lib.rs")


def statuses(path: str) -> set[str]:
    return {verdict.status.value for verdict in check_job((path, None, None, dict(FULL)))[0]}


def sealed(path: str, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """What the certificate of a kernel says of it, and what is left open when it is checked."""
    write_certificate(folder, [(path, None, None, dict(FULL))])
    found = check_certificate(folder, solver=False)
    assert found.refused == []
    plan: dict[str, Any] = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))["plans"][0]
    return plan, found.open


def test_a_kernel_that_its_text_decides_is_confirmed_wherever_the_certificate_lies(tmp_path: Path) -> None:
    """Within a crate whose features would refute it, and far from any."""
    path = crate(tmp_path / "k", KERNEL.format(above=CHOSEN, elem="Elem"))
    plan, left = sealed(path, tmp_path / "k" / "cert")
    assert ({v["status"] for v in plan["verdicts"]}, left) == ({"proved"}, [])
    (tmp_path / "k" / "Cargo.toml").write_text(DEFAULT, encoding="utf-8")
    shutil.copytree(tmp_path / "k" / "cert", tmp_path / "far")
    for folder in (tmp_path / "k" / "cert", tmp_path / "far"):
        found = check_certificate(folder, solver=False)
        assert (found.refused, found.open) == ([], []), folder


def test_features_that_are_asked_for_decide_nothing_of_a_certificate_that_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = crate(tmp_path / "k", KERNEL.format(above=CHOSEN, elem="Elem"))
    assert sealed(path, tmp_path / "cert")[1] == []
    monkeypatch.setenv("DMAVERIFY_FEATURES", "long")
    found = check_certificate(tmp_path / "cert", solver=False)
    assert (found.refused, found.open) == ([], [])
    assert statuses(path) == {"proved", "refuted"}


@pytest.mark.parametrize("by", ["manifest", "asked"])
def test_a_kernel_that_its_features_refute_is_never_confirmed_as_proved(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = crate(
        tmp_path / "k", KERNEL.format(above=CHOSEN, elem="Elem"), DEFAULT if by == "manifest" else PACKAGE
    )  # fmt: skip
    if by == "asked":
        monkeypatch.setenv("DMAVERIFY_FEATURES", "long")
    plan, left = sealed(path, tmp_path / "cert")
    assert plan["alone"] is False
    assert {v["status"] for v in plan["verdicts"]} == statuses(path) == {"proved", "refuted"}
    assert len(left) == 1
    monkeypatch.delenv("DMAVERIFY_FEATURES", raising=False)
    assert check_certificate(tmp_path / "cert", solver=False).code == 3


@pytest.mark.parametrize("elem", ["m![Col]", "m![Col, 7]"])
def test_a_kernel_with_a_module_is_sealed_as_it_was_judged_and_left_open(elem: str, tmp_path: Path) -> None:
    path = crate(tmp_path / "k", KERNEL.format(above="mod shp;", elem="shp::Elem"))
    (tmp_path / "k" / "src" / "shp.rs").write_text(f"use crate::*;\npub type Elem = {elem};\n", encoding="utf-8")
    plan, left = sealed(path, tmp_path / "cert")
    assert (plan["alone"], len(left)) == (False, 1)
    assert {v["status"] for v in plan["verdicts"]} == statuses(path)


def test_the_version_of_the_library_that_changes_a_verdict_is_not_lost(tmp_path: Path) -> None:
    old = PACKAGE + '[dependencies]\nfuriosa-opt-std = "0.3.0"\n'
    path = crate(tmp_path / "k", KERNEL.format(above="", elem="m![Col / 3]"), old)
    plan, _ = sealed(path, tmp_path / "cert")
    assert {v["status"] for v in plan["verdicts"]} == statuses(path)


def test_a_proof_is_sealed_only_where_it_was_one_in_print(tmp_path: Path) -> None:
    path = crate(tmp_path / "k", KERNEL.format(above="", elem="m![Col]"))
    job = (path, None, None, dict(FULL))
    printed: list[Verdict] = check_job(job)[0]
    manifest = tmp_path / "cert" / "MANIFEST.json"
    unread = Verdict("lib", "", Status.ERROR, path=path)
    write_certificate(tmp_path / "cert", [job])
    sealed_text = manifest.read_text(encoding="utf-8")
    for said in (printed, [], printed[:1], [*printed, unread], [replace(printed[0], status=Status.UNKNOWN)]):
        assert held_to(tmp_path / "cert", said) == []
        assert manifest.exists()
    for status in (Status.REFUTED, Status.ERROR):
        for said in ([replace(printed[0], status=status), *printed[1:]], [unread]):
            manifest.write_text(sealed_text, encoding="utf-8")
            with pytest.raises(InputError, match=r"no certificate: .* proved in a certificate"):
                held_to(tmp_path / "cert", said)
            assert not manifest.exists()


def test_a_kernel_behind_a_link_out_of_the_project_has_no_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Printed it is an error; its copy would be a file like any other."""
    example = Path(__file__).resolve().parents[2] / "examples" / "pto"
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "dmaverify.toml").write_text("", encoding="utf-8")
    shutil.copy(example / "example-1.toml", tmp_path / "p" / "plan.toml")
    shutil.copy(example / "example-1.mlir", tmp_path / "far.mlir")
    (tmp_path / "p" / "example-1.mlir").symlink_to(tmp_path / "far.mlir")
    plan, out = str(tmp_path / "p" / "plan.toml"), str(tmp_path / "cert")
    assert cli.invoke(["check", plan]) == 2
    assert cli.invoke(["check", plan, "--certify", out]) == 2
    assert "no certificate" in capsys.readouterr().err
    assert cli.invoke(["certificate", "check", out]) == 2


def test_what_is_not_sealed_is_said_when_the_certificate_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = crate(tmp_path / "k", KERNEL.format(above=CHOSEN, elem="Elem"), DEFAULT)
    assert cli.invoke(["check", path, "--certify", str(tmp_path / "cert")]) == 1
    assert f"not sealed: {path}: files beside it or features decide" in capsys.readouterr().err


def test_a_plan_that_cannot_be_judged_is_not_sealed_for_that_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.toml"
    path.write_text('schema = 1\ntarget = "rngd"\naxes = { A = 8 }\n[program.p]\nstep = 5\n', encoding="utf-8")
    assert cli.invoke(["check", str(path), "--certify", str(tmp_path / "cert")]) == 2
    assert f"not sealed: {path}: it cannot be judged" in capsys.readouterr().err
