"""The doctor finds what is wrong: with libraries, with machine data, with an answer."""

import hashlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dmaverify import __version__
from dmaverify.errors import InputError
from dmaverify.jobs import doctor
from dmaverify.jobs.doctor import doctor_report, doctor_text
from dmaverify.targets import lint
from dmaverify.targets import target as target_module
from dmaverify.targets.target import available_targets, load_target


def test_all_is_well_where_the_tests_run() -> None:
    report = doctor_report()
    assert report["works"] is True
    assert report["dmaverify"] == __version__
    assert report["python"].endswith(sys.version.split()[0])
    assert [check["name"] for check in report["checks"]] == ["proof", "refutation", "execution"]
    assert all(check["ok"] for check in report["checks"])
    assert [target["name"] for target in report["targets"]] == list(available_targets())
    for name in ("z3", "numpy", "cvc5"):
        assert report[name][0].isdigit()
    assert doctor_text(report).endswith("\ndmaverify works")


def test_hashes_are_those_of_the_files() -> None:
    for shown in doctor_report()["targets"]:
        folder = load_target(shown["name"]).folder
        assert set(shown["sha256"]) == {"target.toml", "rules.smt2"}
        for name, digest in shown["sha256"].items():
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_an_optional_library_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_cvc5(name: str) -> str:
        if name == "cvc5":
            raise doctor.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor, "version", without_cvc5)
    report = doctor_report()
    assert report["cvc5"] is None
    assert report["works"] is True
    assert "cvc5        not installed (optional)" in doctor_text(report).splitlines()


def test_a_library_that_cannot_be_imported_is_a_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    report = doctor_report()
    assert report["works"] is False
    assert report["complaints"][0].startswith("numba: cannot be imported")
    assert doctor_text(report).endswith("see the lines above")


def test_a_solver_that_proves_everything_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from dmaverify.prove.smt import Answer, Session

    monkeypatch.setattr(Session, "ask", lambda self, query, name="": Answer("unsat"))
    report = doctor_report()
    assert report["works"] is False
    assert [check["ok"] for check in report["checks"]] == [True, False, False]


def test_a_solver_that_proves_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from dmaverify.prove.smt import Session

    def broken(self: Session, query: object, name: str = "") -> None:
        raise RuntimeError("no solver")

    monkeypatch.setattr(Session, "ask", broken)
    report = doctor_report()
    assert report["works"] is False
    assert report["checks"][0] == {"name": "proof", "ok": False, "said": "RuntimeError: no solver"}
    assert "check       proof: WRONG: RuntimeError: no solver" in doctor_text(report)


def test_an_executor_that_sees_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from dmaverify.execute.judge import UnitJudge

    monkeypatch.setattr(UnitJudge, "_mark", lambda self, key, batch, where: None)
    monkeypatch.setattr(UnitJudge, "finish", lambda self, moved: None)
    report = doctor_report()
    assert report["works"] is False
    assert {check["name"]: check["ok"] for check in report["checks"]}["execution"] is False


def test_wrong_machine_data_is_a_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint, "lint_target", lambda target: ["limit x: nobody uses it"])
    report = doctor_report()
    assert report["works"] is False
    assert "            WRONG: limit x: nobody uses it" in doctor_text(report).splitlines()


def test_unreadable_and_absent_machine_data_is_a_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(name: str, relative_to: Path | None = None) -> None:
        raise InputError("target.toml: not TOML")

    monkeypatch.setattr(target_module, "load_target", unreadable)
    report = doctor_report()
    assert report["works"] is False
    assert report["targets"][0]["complaints"] == ["target.toml: not TOML"]
    monkeypatch.setattr(target_module, "available_targets", lambda: ())
    assert doctor_report()["works"] is False


def test_the_commands_of_the_check_are_the_mistake_they_claim_to_be() -> None:
    right, wrong = doctor._commands(8)[0], doctor._commands(0)[0]
    assert replace(wrong.loops[1], write=8) == right.loops[1]
    assert wrong.loops[0] == right.loops[0]
