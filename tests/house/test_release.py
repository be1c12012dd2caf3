"""What a release needs: one version, a change list, a licence, the promises of pyproject."""

import os
import re
import tomllib
from pathlib import Path

import dmaverify

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_the_same_wherever_it_is_written() -> None:
    version = PROJECT["project"]["version"]
    assert dmaverify.__version__ == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_version_of_the_change_list_says_what_changed() -> None:
    _, *sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sections
    assert all(re.search(r"^- \S", section, re.MULTILINE) for section in sections)


def test_the_licence_is_apache_2_and_complete() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Version 2.0, January 2004" in text
    assert "3. Grant of Patent License." in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_what_moves_fast_is_pinned_to_a_range() -> None:
    every = PROJECT["project"]["dependencies"] + [
        line for extra in PROJECT["project"]["optional-dependencies"].values() for line in extra
    ]
    own = [line for line in every if not line.startswith("dmaverify[") and not line.startswith("editables")]
    assert len(own) > 10
    assert [line for line in own if not re.fullmatch(r"[a-z0-9-]+>=[\d.]+,<[\d.]+", line)] == []


def test_the_package_is_typed_and_its_encodings_are_shipped() -> None:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    shipped = {"encodings": "dmaverify/_encodings"}
    shipped |= {f"proofs/{p.name}": f"dmaverify/_proofs/{p.name}" for p in (ROOT / "proofs").glob("*.py")}
    starts = sorted(p.name for p in (ROOT / "examples").iterdir() if p.name != "ci")
    shipped |= {f"examples/{name}": f"dmaverify/_examples/{name}" for name in starts}
    assert wheel == {"packages": ["dmaverify"], "force-include": shipped}
    assert (ROOT / "dmaverify" / "py.typed").is_file()
    assert PROJECT["tool"]["mypy"]["strict"] is True


def test_the_commands_of_the_makefile_are_the_promised_ones() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", text, re.MULTILINE))
    assert {"demo", "test", "bench", "lint", "fuzz", "calibrate", "clean"} <= targets
    for script in re.findall(r"\$\(BIN\)/python (\S+\.py)", text):
        assert (ROOT / script).is_file(), script


def test_the_gate_runs_the_tests_and_the_linters() -> None:
    gate = ROOT / ".ci" / "run"
    lines = gate.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in lines
    assert lines.index("make test") < lines.index("make lint")
    assert os.access(gate, os.X_OK)


def test_the_job_of_each_night_runs_scripts_that_are_there_and_take_what_it_says() -> None:
    """A part that does not start would fail each night, and then nobody reads why."""
    night = ROOT / ".ci" / "nightly"
    assert os.access(night, os.X_OK)
    parts = re.findall(r"draw (tests/\S+\.py)(.*?)(?:;|$)", night.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(parts) > 15
    for script, given in parts:
        text = (ROOT / script).read_text(encoding="utf-8")
        for flag in re.findall(r"--([a-z]+) ", given):
            assert re.search(rf'"(--)?{flag}"', text), f"{script} --{flag}"
