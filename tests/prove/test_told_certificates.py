"""What a reader of a certificate is told: the machine, what its writer chose, what is open; and nothing that steers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dmaverify.cli import app as cli
from dmaverify.jobs.certify import check_certificate
from dmaverify.jobs.sealed import CHOSEN, facts_of, hash_of, seal_of, write_certificate
from dmaverify.prove.certify.certificate import DECIDED, MANIFEST
from dmaverify.prove.limits import TIMEOUT
from dmaverify.prove.smt import answers_to

FULL = {"readings": {}, "rlimit": 20_000_000, "cross_check": 1 << 16, "prove": "full"}
COPY = """\
schema = 1
target = "pto"
[axes]
A = 8
C = 64
[transfer.move]
dtype = "i8"
source = { tier = "ub", base = 16, element = "A, C" }
dest = { tier = "gm", base = 1024, element = "A, C" }
read = "[A=8:64, C=64:1]:64"
write = "[A=8:64, C=64:1]:64"
"""
"""On pto a rule is broken (an address in ub that is not aligned), on toy none is."""


def certified(folder: Path, text: str, *, target: str | None = None, **options: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "plan.toml").write_text(text)
    write_certificate(folder / "cert", [(str(folder / "plan.toml"), None, target, {**FULL, **options})])
    return folder / "cert"


def resealed(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    change(manifest)
    manifest["seal"] = seal_of(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest))


# ---------------------------------------------------------------- the machine


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (None, "refuted on pto"),
        ("pto", "refuted on pto"),
        ("toy", "proved on toy, which its writer chose (its text says pto)"),
    ],
)
def test_the_machine_is_named_and_one_that_the_text_does_not_name_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str | None, said: str
) -> None:
    folder = certified(tmp_path, COPY, target=target)
    assert check_certificate(folder, solver=False).code == 0
    for form in ([], ["--json"]):
        cli.invoke(["certificate", "check", "--no-cvc5", str(folder), *form])
        assert f"plan.toml::move: {said}{'' if not form else chr(34)}" in capsys.readouterr().out


def test_a_machine_that_stands_in_for_one_that_the_text_lacks_is_told(tmp_path: Path) -> None:
    folder = certified(tmp_path, COPY.replace('target = "pto"\n', ""), target="toy")
    assert any("on toy, which its writer chose (its text names none" in one for one in check_certificate(folder).said)


def test_all_data_of_a_machine_dropped_from_a_certificate_is_refused(tmp_path: Path) -> None:
    folder = certified(tmp_path, COPY, target="toy")
    resealed(folder, lambda m: [m["data"].pop(key) for key in [*m["data"]] if key.startswith("toy/")])
    assert any("toy/rules.smt2" in one for one in check_certificate(folder, solver=False).refused)


# ---------------------------------------------------------------- what its writer chose


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, []),
        ({"timeout": TIMEOUT, "rlimit": 20_000_000}, []),
        ({"timeout": 500.0}, ["under timeout 500.0, which its writer chose"]),
        ({"timeout": None, "memory": None}, ["under timeout without limit, which its writer chose",
                                             "under memory without limit, which its writer chose"]),
        ({"rlimit": 19_000_000}, ["under rlimit 19000000, which its writer chose"]),
        ({"defines": ["n=1"], "dims": 2}, ["under dims 2, which its writer chose",
                                           "under defines n=1, which its writer chose"]),
    ],
)  # fmt: skip
def test_every_option_that_decides_and_was_chosen_is_told(
    tmp_path: Path, options: dict[str, Any], said: list[str]
) -> None:
    found = check_certificate(certified(tmp_path, COPY, target="toy", **options), solver=False)
    assert [one for one in found.said if one.startswith("under ")] == said
    assert found.code == 0


def test_features_that_crates_were_built_with_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMAVERIFY_FEATURES", "small")
    folder = certified(tmp_path, COPY, target="toy")
    monkeypatch.delenv("DMAVERIFY_FEATURES")
    assert "under features small, which its writer chose" in check_certificate(folder, solver=False).said


@pytest.mark.parametrize("key", CHOSEN)
def test_an_option_that_is_missing_or_of_a_wrong_kind_is_refused(tmp_path: Path, key: str) -> None:
    folder = certified(tmp_path, COPY, target="toy")
    shutil.copytree(folder, tmp_path / "other")
    resealed(folder, lambda m: m["options"].pop(key))
    resealed(tmp_path / "other", lambda m: m["options"].update({key: [1]}))
    assert check_certificate(folder, solver=False).code == 1
    assert check_certificate(tmp_path / "other", solver=False).code == 1


@pytest.mark.parametrize("features", ["a\0b", "\udc80", "a\nb"])
def test_features_that_no_environment_can_hold_are_refused(tmp_path: Path, features: str) -> None:
    folder = certified(tmp_path, COPY, target="toy")
    resealed(folder, lambda m: m["options"].update({"features": features}))
    assert check_certificate(folder, solver=False).refused == [f"{MANIFEST}: `features` are names with commas between"]


@pytest.mark.parametrize("findings", [[1], ["core/input"], [[]], [["core/input"]], [{"core/input": 1}]])
def test_a_finding_that_is_none_leaves_a_plan_that_was_not_judged_open(tmp_path: Path, findings: list[Any]) -> None:
    folder = certified(tmp_path, COPY.replace("source = ", "sauce = "))
    resealed(folder, lambda m: m["plans"][0]["verdicts"][0].update({"findings": findings}))
    assert check_certificate(folder, solver=False).code == 3


# ---------------------------------------------------------------- answers


HARD = "(set-logic ALL)(declare-const x Int)(assert (< 2 x))(push 1)(check-sat)(pop 1)(push 1)(check-sat)(pop 1)"
WRONG = "(declare-const x Int)(check-sat)(assert (< y 0))(check-sat)"


def test_what_z3_cannot_do_is_an_error_and_no_answer_behind_it_counts() -> None:
    (said,) = answers_to([WRONG])
    assert (said[0], len(said)) == ("sat", 2)
    assert said[1].startswith("error: ")
    (starved, fed) = [*answers_to([HARD], 1), *answers_to([HARD], 1_000_000)]
    assert starved[-1].startswith("error: ") or set(starved) == {"unknown"}
    assert fed == ["sat", "sat"]


def test_what_a_script_leaves_behind_is_no_part_of_the_next(tmp_path: Path) -> None:
    texts = [path.read_text() for path in sorted(certified(tmp_path, COPY, target="toy").glob("*.smt2"))]
    alone = [said for text in texts for said in answers_to([text])]
    assert [*answers_to([WRONG, *reversed(texts)])][:0:-1] == alone


@pytest.mark.parametrize("rlimit", [1, 100])
def test_answers_that_the_limit_cuts_off_are_no_facts_and_leave_the_certificate_open(
    tmp_path: Path, rlimit: int
) -> None:
    folder = certified(tmp_path, COPY, target="toy", rlimit=rlimit)
    rows = json.loads((folder / MANIFEST).read_text())["questions"]
    assert all(set(row["status"].split()) <= set(DECIDED) for row in rows)
    found = check_certificate(folder, solver=False)
    assert (found.code, found.refused) == (3, [])


def test_a_script_with_one_open_answer_is_no_fact(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(COPY)
    mixed = [("a", "", "unsat unknown"), ("b", "", "unsat"), ("c", "", "error: x"), ("d", "", ""), ("e", "", "sat")]
    monkeypatch.setattr("dmaverify.jobs.sealed.check_job", lambda job: ([], {"move": mixed}))
    facts, keep = facts_of((str(tmp_path / "plan.toml"), None, None, FULL))
    assert facts["verdicts"] == []
    assert [name for name, _, _ in keep["move"]] == ["b", "e"]


# ---------------------------------------------------------------- paths


def test_a_path_that_would_write_lines_of_its_own_is_told_on_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = certified(tmp_path, COPY)
    forged = "x\nCONFIRMED  all\n  \x1b[2Jproved/plan.toml"
    resealed(folder, lambda m: m["plans"][0].update({"path": forged}))
    lines: dict[bool, list[str]] = {}
    for as_json in (False, True):
        cli.invoke(["certificate", "check", "--no-cvc5", str(folder), *["--json"][: int(as_json)]])
        lines[as_json] = capsys.readouterr().out.split("\n")
    assert [one for one in lines[False] if one.startswith("CONFIRMED")] == [lines[False][0]]
    assert not any("\x1b" in one or "u001b" in one for one in (*lines[False], *lines[True]))
    assert "\\n" not in "".join(lines[True])


def test_a_file_that_is_not_there_is_told_and_one_with_another_text_is_open(tmp_path: Path) -> None:
    folder = certified(tmp_path, COPY)
    assert not any("is not there" in one for one in check_certificate(folder, solver=False).said)
    (tmp_path / "plan.toml").unlink()
    gone = check_certificate(folder, solver=False)
    assert gone.code == 0
    assert any(one.endswith("plan.toml is not there: the certificate speaks of the text in plans/000/plan.toml")
               for one in gone.said)  # fmt: skip
    (tmp_path / "plan.toml").write_text(COPY + "# more\n")
    assert check_certificate(folder, solver=False).code == 3


def test_a_path_that_no_file_can_have_is_one_that_is_not_there(tmp_path: Path) -> None:
    folder = certified(tmp_path, COPY)
    for path in (f"{'x' * 5000}/plan.toml", "a\0b/plan.toml"):
        resealed(folder, lambda m, path=path: m["plans"][0].update({"path": path}))
        found = check_certificate(folder, solver=False)
        assert found.refused == []
        assert any("is not there" in one for one in found.said)


# ---------------------------------------------------------------- nothing judged


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (COPY.replace("source = ", "sauce = "), "is not judged: "),
        ("schema = 1\ntarget = 'rngd'\n[axes]\nA = 8\n", "is not judged: "),
        (COPY.replace('"pto"', '"./gone"'), "is not judged: "),
    ],
)
def test_a_plan_with_a_mistake_is_not_said_to_need_files_beside_it(tmp_path: Path, text: str, why: str) -> None:
    found = check_certificate(certified(tmp_path, text), solver=False)
    assert found.code == 3
    assert why in " ".join(found.open)
    assert "files beside it" not in " ".join(found.open)


def test_a_certificate_of_a_plan_without_verdicts_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = certified(tmp_path, COPY)
    for file in folder.glob("*.smt2"):
        file.unlink()
    nothing: dict[str, Any] = {"verdicts": [], "commands": {}, "digits": {}}
    data = json.loads((folder / MANIFEST).read_text())["data"]
    core = {key: value for key, value in data.items() if key.startswith("core/")}
    resealed(folder, lambda m: (m["plans"][0].update(nothing), m.update(questions=[], data=core)))
    monkeypatch.setattr("dmaverify.jobs.certify.facts_of", lambda job: (nothing, {}))
    found = check_certificate(folder, solver=False)
    assert (found.refused, found.code) == ([], 3)
    assert (
        hash_of((tmp_path / "plan.toml").read_bytes())
        == json.loads((folder / MANIFEST).read_text())["plans"][0]["sha256"]
    )
