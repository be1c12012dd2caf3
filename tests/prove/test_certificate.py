"""Certificates: every question is a file, cvc5 answers it again, and tampering shows."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.errors import InputError
from dmaverify.prove.certify.certificate import MANIFEST, SCRIPT, Question, Recheck, recheck, write_questions

PLAN = """\
schema = 1
target = "toy"
[axes]
A = 256
B = 32
C = 32
[transfer.move]
dtype = "i8"
source = { tier = "gm", base = 0, element = "A # 260, B, C" }
dest = { tier = "gm", base = 1048576, element = "B, A # 260, C" }
read = "[A=256:1024, B=32:32, C=32:1]:32"
write = "[A=256:32, B=32:8320, C=32:1]:32"
"""
UNSAT = "(declare-const x Int)\n(assert (< x 0))\n(assert (< 0 x))"
SAT = "(declare-const x Int)\n(assert (< 0 x))"
# a product of unknowns, which no solver of linear arithmetic answers
HARD = "(declare-const x Int)\n(declare-const y Int)\n(assert (= (* x y y) 7919))\n(assert (< 1 x))\n(assert (< 1 y))"


def asked(text: str) -> dict[str, list[tuple[str, str, str]]]:
    keep: dict[str, list[tuple[str, str, str]]] = {}
    api.check(text, keep=keep)
    return keep


def small(folder: Path, *questions: tuple[str, str, str]) -> list[Question]:
    return write_questions(folder, {"plan": list(questions)})


def script(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(folder / SCRIPT), *arguments], capture_output=True, text=True, cwd=folder, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_every_question_of_a_plan_is_a_file_with_its_logic_source_and_status(tmp_path: Path) -> None:
    questions = asked(PLAN)
    files = write_questions(tmp_path, questions)
    assert [(q.plan, q.status) for q in files] == [("move", status) for _, _, status in questions["move"]]
    assert files
    for file, (_, text, status) in zip(files, questions["move"], strict=True):
        lines = file.path.read_text().splitlines()
        assert lines[:2] == ["(set-info :smt-lib-version 2.6)", "(set-logic QF_LIA)"]
        assert lines[2].startswith("(set-info :source |dmaverify: move: ")
        assert lines[3] == f"(set-info :status {status})"
        assert "\n".join(lines[4:-1]) == text
        assert lines[-1] == "(check-sat)"


def test_the_manifest_has_the_hash_of_every_file_and_the_solver(tmp_path: Path) -> None:
    files = write_questions(tmp_path, asked(PLAN))
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert manifest["solver"].startswith("z3 ")
    assert manifest["dmaverify"]
    assert [row["file"] for row in manifest["questions"]] == [q.path.name for q in files]
    for row, question in zip(manifest["questions"], files, strict=True):
        assert row["sha256"] == question.sha256 == hashlib.sha256(question.path.read_bytes()).hexdigest()
        assert row["status"] == question.status
    assert {path.name for path in tmp_path.glob("*.smt2")} == {row["file"] for row in manifest["questions"]}


@pytest.mark.parametrize("change", [None, ("B=32:8320", "B=32:8321"), ("B=32:32", "B=32:64")])
def test_cvc5_agrees_on_a_proof_and_on_refutations(tmp_path: Path, change: tuple[str, str] | None) -> None:
    files = write_questions(tmp_path, asked(PLAN if change is None else PLAN.replace(*change)))
    results = recheck(files)
    assert [r.agrees for r in results] == [True] * len(files)
    assert not any(r.contradicts for r in results)
    assert ("sat" in {r.answer for r in results}) == (change is not None)


def test_a_wrong_answer_is_contradicted_although_the_file_declares_it(tmp_path: Path) -> None:
    results = recheck(small(tmp_path, ("one", UNSAT, "sat"), ("two", SAT, "unsat"), ("three", SAT, "sat")))
    assert [(r.expected, r.answer, r.agrees, r.contradicts) for r in results] == [
        ("sat", "unsat", False, True),
        ("unsat", "sat", False, True),
        ("sat", "sat", True, False),
    ]


def test_unknown_is_written_and_confirms_nothing(tmp_path: Path) -> None:
    files = small(tmp_path, ("open", UNSAT, "unknown"))
    assert "(set-info :status unknown)" in files[0].path.read_text()
    (result,) = recheck(files)
    assert (result.answer, result.agrees, result.contradicts) == ("unsat", False, False)
    both = Recheck(tmp_path, "unknown", "unknown")
    assert not both.agrees
    assert not both.contradicts


def test_a_starved_cvc5_confirms_nothing_and_says_so_every_time(tmp_path: Path) -> None:
    files = write_questions(tmp_path, asked(PLAN.replace("B=32:8320", "B=32:8321")))
    starved = [recheck(files, rlimit=1) for _ in range(2)]
    assert starved[0] == starved[1]
    assert "unknown" in {r.answer for r in starved[0]}
    assert not any(r.contradicts for r in starved[0])


def test_a_file_that_is_no_question_neither_agrees_nor_contradicts(tmp_path: Path) -> None:
    words = (("undeclared", "(assert (< x 0))"), ("nonlinear", HARD), ("cut", UNSAT))
    files = small(tmp_path, *((name, text, "unsat") for name, text in words))
    files[2].path.write_text("")
    for result in recheck(files):
        assert result.answer.startswith("error")
        assert not result.agrees
        assert not result.contradicts


def test_without_cvc5_the_hint_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = small(tmp_path, ("one", UNSAT, "unsat"))
    monkeypatch.setitem(sys.modules, "cvc5", None)
    with pytest.raises(InputError) as raised:
        recheck(files)
    assert raised.value.hint == "pip install dmaverify[certify]"


def test_a_new_certificate_replaces_the_files_of_the_old_one_and_no_others(tmp_path: Path) -> None:
    old = small(tmp_path, ("one", UNSAT, "unsat"), ("two", SAT, "sat"))
    mine = tmp_path / "notes.smt2"
    mine.write_text("; mine")
    new = small(tmp_path, ("three", SAT, "sat"))
    assert {path.name for path in tmp_path.glob("*.smt2")} == {new[0].path.name, "notes.smt2"}
    assert mine.read_text() == "; mine"
    assert not any(question.path.exists() for question in old)


def test_a_manifest_cannot_point_outside_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "cert"
    folder.mkdir()
    outside = tmp_path / "outside.smt2"
    outside.write_text("; keep")
    (folder / MANIFEST).write_text(json.dumps({"questions": [{"file": "../outside.smt2"}, {"file": 7}]}))
    small(folder, ("one", UNSAT, "unsat"))
    assert outside.read_text() == "; keep"


def test_names_become_file_names_without_meeting_each_other(tmp_path: Path) -> None:
    names = ["a/b", "a b", "A-B", "../x", "", "|\\"]
    files = write_questions(tmp_path, {name: [("core/covers", SAT, "sat")] for name in names})
    assert len({q.path.name.lower() for q in files}) == len(names)
    assert all(q.path.parent == tmp_path for q in files)
    assert all(r.agrees for r in recheck(files))


def test_the_script_confirms_with_either_solver_and_knows_nothing_of_dmaverify(tmp_path: Path) -> None:
    files = write_questions(tmp_path, asked(PLAN.replace("B=32:8320", "B=32:8321")))
    for solver in ("z3", "cvc5"):
        code, said = script(tmp_path, solver)
        assert (code, said) == (0, f"{len(files)} confirmed, 0 open, 0 CONTRADICTED, 0 CHANGED\n")
    code_of_script = (tmp_path / SCRIPT).read_text().split('"""')[2]
    assert "dmaverify" not in code_of_script


def test_the_script_without_a_solver_confirms_and_contradicts_nothing(tmp_path: Path) -> None:
    """Exit 1 would say that an answer is wrong."""
    small(tmp_path, ("one", UNSAT, "unsat"))
    for given, code, words in (
        ([], 3, "nothing was asked: cvc5 and z3 not installed"),
        (["z3"], 3, "nothing was asked: z3 not"),
        (["yices"], 2, "[z3|cvc5]"),
        (["z3", "many"], 2, "[z3|cvc5]"),
    ):
        done = subprocess.run(
            [sys.executable, "-I", "-S", SCRIPT, *given], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, words in done.stdout, done.stderr) == (code, True, "")


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_the_script_finds_a_changed_file_a_wrong_answer_and_an_open_one(tmp_path: Path, solver: str) -> None:
    files = small(tmp_path, ("one", UNSAT, "unsat"), ("two", SAT, "sat"))
    files[0].path.write_text(files[0].path.read_text().replace("(< x 0)", "(< x 1)"))
    assert script(tmp_path, solver)[0] == 1
    assert "CHANGED" in script(tmp_path, solver)[1]
    small(tmp_path, ("one", UNSAT, "sat"), ("two", SAT, "sat"))
    assert script(tmp_path, solver)[0] == 1
    assert "1 CONTRADICTED" in script(tmp_path, solver)[1]
    small(tmp_path, ("one", UNSAT, "unknown"), ("two", SAT, "sat"))
    assert script(tmp_path, solver)[0] == 3
    assert "1 open" in script(tmp_path, solver)[1]
    write_questions(tmp_path, {})
    assert script(tmp_path, solver)[0] == 3
