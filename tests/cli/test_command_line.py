"""The command line as its users meet it: words, exit codes, formats, lines of JSON, garbage."""

from __future__ import annotations

import io
import json
import random
import runpy
import sys
from pathlib import Path

import click
import pytest

from dmaverify.cli.app import cli, invoke

GOOD = """
schema = 1
target = "rngd"

[axes]
A = 8
B = 8
C = 256

[transfer.swap]
dtype  = "i8"
source = { tier = "hbm", base = 0, element = "A, B, C" }
dest   = { tier = "dm", base = 0, element = "B, A, C" }
stream = { time = "A, B", packet = "C" }
read   = "[A=8:2048, B=8:256, C=256:1]:256 HBM/D@0"
write  = "[A=8:256, B=8:2048, C=256:1]:256 DM/D@0"
"""
WRONG = GOOD.replace("B=8:2048, C=256:1]:256 DM", "B=8:2304, C=256:1]:256 DM")


@pytest.fixture
def plan(tmp_path: Path):
    """Writes plan files into a folder of its own; returns their paths as text."""

    def write(text: str, name: str = "plan.toml") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = invoke(arguments)
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return code, out, err


def lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, *requests: object):
    text = "\n".join(r if isinstance(r, str) else json.dumps(r) for r in requests) + "\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    invoke([command, "--stdin"])
    out, _ = capsys.readouterr()
    return [json.loads(line) for line in out.splitlines()]


# ---------------------------------------------------------------- exit codes


def test_a_proved_plan_exits_with_0_and_says_the_bound_of_its_claim(capsys, plan):
    code, out, _ = answer(capsys, "check", plan(GOOD))
    assert code == 0
    assert "PROVED" in out
    assert "all 16,384 bytes" in out


def test_a_wrong_stride_exits_with_1_and_names_the_number_and_the_right_one(capsys, plan):
    code, out, _ = answer(capsys, "check", plan(WRONG))
    assert code == 1
    assert "2304" in out
    assert "set the write stride of `B` to 2048 instead of 2304 (checked: the move is then proved)" in " ".join(
        line.strip(" |=") for line in out.splitlines()
    )


def test_an_expected_refutation_exits_with_0_and_an_unmet_expectation_with_1(capsys, plan):
    ids = '["core/same-element", "core/in-bounds", "core/covers", "core/same-program"]'
    expecting = WRONG + f"expect = {ids}\n"
    assert answer(capsys, "check", plan(expecting))[0] == 0
    assert answer(capsys, "check", plan(GOOD + f"expect = {ids}\n"))[0] == 1
    assert answer(capsys, "check", plan(WRONG + 'expect = "proved"\n'))[0] == 1
    assert answer(capsys, "check", plan(WRONG + 'expect = ["core/covers"]\n'))[0] == 1


def test_an_unanswered_question_exits_with_3_and_is_never_called_proved(capsys, plan):
    huge = GOOD.replace("C = 256", "C = 1099511627776").replace('packet = "C"', 'packet = "1"').split("read   =")[0]
    code, out, _ = answer(capsys, "check", plan(huge), "--rlimit", "1", "--select", "core/*")
    assert (code, "PROVED  swap" in out) == (3, False)
    assert "UNKNOWN" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "missing.toml"],
        ["check", "."],
        ["check", "--format", "xml", "x.toml"],
        ["check", "--output", "json", "x.toml"],
        ["check", "--reading", "nonsense", "x.toml"],
        ["chek"],
        ["cells"],
        ["cells", "A /", "--axes", "A=8"],
        ["cells", "A / 3", "--axes", "A=8"],
        ["cells", "A", "--axes", "A=8,A=9"],
        ["cells", "A", "--axes", "A=9999999999"],
        ["derive", "missing.toml"],
        ["run", "missing.toml"],
        ["equiv", "A", "A"],
        ["explain", "rngd/nothing"],
        ["rules", "--target", "nowhere"],
    ],
    ids=" ".join,
)
def test_misuse_exits_with_2_and_says_what_to_do_instead(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    code, out, err = answer(capsys, *arguments)
    assert code == 2
    assert (out + err).strip()


def test_precedence_is_unreadable_before_violated_before_proved(capsys, plan):
    good, wrong, bad = plan(GOOD, "a.toml"), plan(WRONG, "b.toml"), plan("schema = 1\nx", "c.toml")
    assert answer(capsys, "check", good, wrong)[0] == 1
    assert answer(capsys, "check", good, wrong, bad)[0] == 2


def test_a_disagreement_of_proof_and_execution_exits_with_4(capsys, plan, monkeypatch, tmp_path):
    import dmaverify.prove.move.case as case

    original = case.judge_core

    def lying(*arguments, **named):
        result = original(*arguments, **named)
        return type(result)({**result.status, "core/covers": "refuted"}, (), result.by, units=result.units)

    monkeypatch.setattr(case, "judge_core", lying)
    path = plan(GOOD)
    monkeypatch.chdir(tmp_path)
    code, _, err = answer(capsys, "check", path)
    assert code == 4
    assert len(list(tmp_path.glob("dmaverify-report-*.toml"))) == 1, "the input, reduced, for a report"
    assert "internal error" in err


# ---------------------------------------------------------------- paths, filters, formats


def test_a_name_selects_one_transfer_and_a_wrong_one_is_suggested(capsys, plan):
    path = plan(GOOD)
    assert answer(capsys, "check", f"{path}::swap")[0] == 0
    code, out, err = answer(capsys, "check", f"{path}::swop")
    assert code == 2
    assert "did you mean `swap`" in out + err


def test_a_folder_is_searched_for_plan_files_only(capsys, plan, tmp_path):
    plan(GOOD, "plans/a.toml")
    plan("[tool.other]\nx = 1\n", "plans/pyproject.toml")
    plan("schema = 1\n", "plans/machine/target.toml")
    code, out, _ = answer(capsys, "check", str(tmp_path / "plans"))
    assert code == 0
    assert "1 file" in out


def test_what_is_ignored_is_said_and_does_not_decide(capsys, plan):
    unaligned = GOOD.replace('base = 0, element = "B, A, C"', 'base = 4, element = "B, A, C"').replace(
        "DM/D@0", "DM/D@4"
    )
    path = plan(unaligned)
    assert answer(capsys, "check", path)[0] == 1
    code, out, _ = answer(capsys, "check", path, "--ignore", "rngd/*")
    assert code == 0
    assert "left out on request" in out
    assert answer(capsys, "check", path, "--select", "core/*")[0] == 0


def test_a_plan_of_which_nothing_could_be_judged_is_open_whatever_is_ignored(capsys, plan):
    path = plan(
        GOOD.replace("A=8:2048, B=8:256", "A=7:2048, B=8:256").replace('stream = { time = "A, B", packet = "C" }\n', "")
    )
    code, out, _ = answer(capsys, "check", path, "--ignore", "core/well-formed")
    assert (code, "(no command could be judged)" in out) == (3, True), out


TURNS = """
schema = 1
target = "{target}"
axes = {{ N = 8, C = 64 }}
[transfer.move]
dtype = "i8"
loop = {{ t = {turns} }}
source = {{ tier = "{tier}", element = "N, C", view = {{ tile = "N", length = 1, start = "t" }} }}
dest = {{ tier = "{tier}", base = 65536, element = "N, C", view = {{ tile = "N", length = 1, start = "t" }} }}
stream = {{ time = "1", packet = "C" }}
"""


@pytest.mark.parametrize("turns", [1, 3])
def test_what_shows_one_iteration_of_a_loop_says_so(capsys, plan, tmp_path, turns):
    path = plan(TURNS.format(target="rngd", tier="hbm", turns=turns))
    several = turns > 1
    assert ("the first of 3 iterations" in answer(capsys, "derive", path)[1]) is several
    assert json.loads(answer(capsys, "derive", path, "--json")[1])[0]["iterations"] == turns
    for words in (("viz", path, "--output"), ("trace", path, "--output")):
        name = "p.svg" if words[0] == "viz" else "p.json"
        assert ("(the first of 3 iterations)" in answer(capsys, *words, str(tmp_path / name))[1]) is several
    path = plan(TURNS.format(target="idma", tier="mem", turns=turns))
    for words in (("emit", path, "--as", "auto"), ("synth", path, "--emit", "auto")):
        code, out, error = answer(capsys, *words)
        assert (code, "in a loop of 3 iterations" in error) == ((2, True) if several else (0, False)), (out, error)


def test_another_reading_is_applied_and_reported(capsys, plan):
    text = """
schema = 1
target = "rngd"
[axes]
N = 2048
[access.short]
engine = "fetch"
dtype  = "i8"
memory = { tier = "dm", element = "N % 512" }
stream = { time = "N / 512", packet = "N % 512" }
"""
    path = plan(text)
    assert answer(capsys, "check", path, "--select", "core/*")[0] == 1
    code, out, _ = answer(
        capsys, "check", path, "--select", "core/*", "--reading", "core/same-element=broadcast-missing", "-v"
    )
    assert code == 0
    assert "broadcast-missing" in out


def test_processes_change_nothing_but_time(capsys, plan, tmp_path):
    for name in "abc":
        plan(WRONG if name == "b" else GOOD, f"many/{name}.toml")
    one = answer(capsys, "check", str(tmp_path / "many"), "-j", "1")
    two = answer(capsys, "check", str(tmp_path / "many"), "-j", "2")
    assert one == two


@pytest.mark.parametrize("form", ["json", "json-lines", "sarif", "junit", "github", "concise", "full"])
def test_every_format_tells_the_refutation(capsys, plan, form):
    code, out, _ = answer(capsys, "check", plan(WRONG), "--format", form)
    assert code == 1
    assert "core/same-element" in out


def test_several_reports_come_from_one_run(capsys, plan, tmp_path):
    sarif, junit = tmp_path / "r.sarif", tmp_path / "r.xml"
    answer(capsys, "check", plan(WRONG), "--output", f"sarif={sarif}", "--output", f"junit={junit}")
    assert json.loads(sarif.read_text())["version"] == "2.1.0"
    assert junit.read_text().startswith("<?xml")


def test_the_json_of_check_has_the_promised_keys(capsys, plan):
    _, out, _ = answer(capsys, "check", plan(WRONG), "--json")
    (verdict,) = json.loads(out)
    keys = {"name", "path", "line", "target", "status", "findings", "obligations", "assumptions", "readings", "seconds"}
    assert keys | {"solver"} <= verdict.keys()
    assert verdict["status"] == "refuted"
    for finding in verdict["findings"]:
        assert {"rule", "severity", "message", "place", "values", "witness", "source", "hint"} <= finding.keys()


# ---------------------------------------------------------------- lines of JSON


def test_cells_answers_a_line_for_a_line_and_goes_on_after_a_bad_one(capsys, monkeypatch):
    got = lines(
        capsys, monkeypatch, "cells",
        {"axes": {"A": 8}, "expr": "A / 2"}, "not json", {"axes": {"A": 8}, "expr": "A / 3"}, {"expr": "A", "axis": 1},
        {"axes": {"A": 3}, "expr": "A #{0} 4 = 6"}, {"axes": {"A": True}, "expr": "A"}, "[1]",
    )  # fmt: skip
    assert got[0] == {
        "size": 4,
        "cells": [{"index": {"A": 0}}, {"index": {"A": 2}}, {"index": {"A": 4}}, {"index": {"A": 6}}],
    }
    assert [set(g) >= {"error", "where"} for g in got] == [False, True, True, True, False, True, True]
    assert got[4]["cells"][3:] == [{"padding": "zero"}, "out-of-bounds", "out-of-bounds"]


def test_check_answers_plans_by_text_and_by_path(capsys, monkeypatch, plan):
    path = plan(WRONG)
    got = lines(
        capsys, monkeypatch, "check",
        {"plan": GOOD}, {"path": path}, {"plan": "x ="}, {"plan": GOOD, "path": path}, {"plan": GOOD, "name": "nobody"},
        {"plan": WRONG, "select": ["rngd/*"]}, {"plan": GOOD, "reading": {"core/same-element": "broadcast-missing"}},
    )  # fmt: skip
    assert got[0][0]["status"] == "proved"
    assert got[1][0]["status"] == "refuted"
    assert got[2][0]["status"] == "error"
    assert "error" in got[3]
    assert got[4][0]["status"] == "error"
    assert got[5][0]["status"] == "proved"
    assert got[6][0]["readings"] == {"core/same-element": "broadcast-missing"}


# ---------------------------------------------------------------- the other commands


def test_derive_prints_texts_that_check_accepts_as_the_same_program(capsys, plan):
    bare = GOOD.split("read   =")[0]
    _, out, _ = answer(capsys, "derive", plan(bare))
    texts = [line.split(None, 1)[1] for line in out.splitlines() if line.strip().startswith(("read", "write"))]
    again = bare + f'read = "{texts[0]}"\nwrite = "{texts[1]}"\n'
    assert answer(capsys, "check", plan(again, "again.toml"))[0] == 0


def test_derive_explains_a_stream_without_commands(capsys, plan):
    clash = GOOD.replace("A = 8", "A = 15").split("stream =")[0].replace("A, B, C", "A % 5, A / 5, B, C")
    code, _, err = answer(capsys, "derive", plan(clash + 'stream = { time = "A % 3, A / 3, B", packet = "C" }\n'))
    assert code == 1
    assert "no common refinement on axis A" in err


def test_run_says_whether_the_bytes_arrived(capsys, plan):
    assert answer(capsys, "run", plan(GOOD) + "::swap")[0] == 0
    code, out, _ = answer(capsys, "run", plan(WRONG))
    assert code == 1
    assert "16,384" in out
    assert answer(capsys, "run", plan(GOOD), "--limit", "10")[0] == 2


def test_equiv_compares_mappings_and_plans(capsys, plan):
    assert answer(capsys, "equiv", "A / 4, A % 4", "A", "--axes", "A=8")[0] == 0
    assert answer(capsys, "equiv", "A % 4, A / 4", "A", "--axes", "A=8")[0] == 1
    a, b = plan(GOOD, "a.toml"), plan(WRONG, "b.toml")
    assert answer(capsys, "equiv", a, a)[0] == 0
    assert answer(capsys, "equiv", a, b)[0] == 1


@pytest.mark.parametrize("command", ["rules", "targets", "schema", "doctor"])
def test_tables_come_as_text_and_as_json(capsys, command):
    code, out, _ = answer(capsys, command)
    assert code == 0
    assert out.strip()
    code, out, _ = answer(capsys, command, "--json")
    assert code == 0
    json.loads(out)


def test_explain_speaks_of_rules_and_of_obligations(capsys):
    for rule in ("rngd/dm-write-align", "core/covers"):
        code, out, _ = answer(capsys, "explain", rule)
        assert code == 0
        assert rule in out
        assert "source" in out


def test_the_version_is_that_of_the_package(capsys):
    import dmaverify

    code, out, _ = answer(capsys, "--version")
    assert (code, out.split()[-1]) == (0, dmaverify.__version__)


def test_questions_are_written_and_answered_again_by_another_solver(capsys, plan, tmp_path):
    folder = tmp_path / "cert"
    code, out, _ = answer(capsys, "check", plan(GOOD), "--certify", str(folder))
    assert code == 0
    assert list(folder.glob("*.smt2"))
    assert "cvc5 agrees on" in out


def test_a_refutation_is_played_back_as_a_failing_test(capsys, plan, tmp_path):
    file = tmp_path / "test_replay.py"
    answer(capsys, "check", plan(WRONG), "--playback", str(file))
    (played,) = (test for name, test in runpy.run_path(str(file)).items() if name.startswith("test_"))
    with pytest.raises(AssertionError, match="does not keep its promise"):
        played()


# ---------------------------------------------------------------- garbage


def broken_texts() -> list[str]:
    """Plans cut short, with characters changed, keys renamed, values of other types: seeded."""
    rng = random.Random(5)
    out = [GOOD[:n] for n in range(0, len(GOOD), 41)]
    for _ in range(60):
        at = rng.randrange(len(GOOD))
        out.append(GOOD[:at] + rng.choice("\x00\n\"'[]{}=,#é∀ 9") + GOOD[at + rng.randrange(3) :])
    for old in ("1", "256", '"hbm"', '"A, B, C"', "8", '"i8"', "element", "[axes]", "{", "]:256"):
        others = ("-1", "10" * 40, "[]", "{}", "true", '""', "1.5", "2024-01-01", '"\\u0000"', "inf")
        out.extend(GOOD.replace(old, new, 1) for new in others)
    return out


def test_garbage_gets_an_exit_code_and_a_message_never_a_traceback(capsys, monkeypatch):
    got = lines(capsys, monkeypatch, "check", *({"plan": text} for text in broken_texts()))
    assert len(got) == len(broken_texts())
    for reply in got:
        verdicts = reply if isinstance(reply, list) else []
        assert "error" in reply or all(v["status"] in ("proved", "refuted", "error") for v in verdicts), reply
        assert "internal" not in json.dumps(reply)


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x01\x7fELF", b"\xff\xfe\x00", "schema = 1 \u2028".encode(), b"\xef\xbb\xbf"]
)
def test_files_that_are_no_plans_exit_with_2(capsys, tmp_path, data):
    path = tmp_path / "p.toml"
    path.write_bytes(data)
    assert answer(capsys, "check", str(path))[0] == 2


def test_the_list_of_commands_shows_what_each_is_for_to_the_end() -> None:
    """In 80 columns, where click ends a longer sentence with dots."""
    cut = []
    groups: list[click.Group] = [cli]
    for group in groups:
        context = click.Context(group)
        commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
        room = 80 - len("  ") - len("    ") - 2 - max(map(len, commands))
        cut += [name for name, one in commands.items() if one is None or one.get_short_help_str(room)[-3:] == "..."]
        groups += [one for one in commands.values() if isinstance(one, click.Group)]
    assert cut == []


def test_rules_are_selected_of_a_plan_whose_steps_are_no_tables(capsys, plan):
    for step in ("5", "[5]", "{ transfer = 5 }"):
        code, out, _ = answer(
            capsys, "check", plan(f'target = "rngd"\n[program.p]\nstep = {step}\n'), "--select", "core/*"
        )
        assert (code, "internal error" in out) == (2, False), step


def test_a_line_with_a_path_is_answered_as_check_answers_the_file(capsys, plan, monkeypatch):
    """A move that cannot be read takes nothing from the others; a text is no path."""
    path = plan(GOOD + GOOD.partition("C = 256\n")[2].replace("swap", "other").replace('"hbm"', '"hmb"'))
    _, told, _ = answer(capsys, "check", path, "--json", "--no-cache")
    found, refused = lines(capsys, monkeypatch, "check", {"path": path}, {"path": GOOD})
    assert [one["status"] for one in found] == [one["status"] for one in json.loads(told)] == ["proved", "error"]
    assert "`plan`" in refused[0]["findings"][0]["hint"]
