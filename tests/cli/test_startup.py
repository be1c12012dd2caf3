"""What a command loads before it answers: one careless import costs more than a proof."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dmaverify.cli import PLAIN, app
from dmaverify.cli.request import NOTHING

ROOT = Path(__file__).resolve().parents[2]
PLAN = str(ROOT / "examples" / "first.toml")
HEAVY = {
    "cvc5", "hypothesis", "islpy", "lsprotocol", "matplotlib", "numba", "pygls", "pytest", "sympy", "tree_sitter_c",
    "tree_sitter_rust",
}  # fmt: skip
OTHERS = tuple(f"dmaverify.{room}" for room in ("synth", "testing", "machines", "prove.sizes", "report.page"))


def loaded(*words: str, cache: Path | None = None) -> set[str]:
    """The modules of a fresh process that ran these words."""
    program = (
        "import json, sys\nfrom dmaverify.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n"
        "    assert not end.code, end.code\nprint(json.dumps(sorted(sys.modules)))"
    )
    env = {key: value for key, value in os.environ.items() if key != "DMAVERIFY_NO_CACHE"}
    env["DMAVERIFY_NO_CACHE" if cache is None else "DMAVERIFY_CACHE_DIR"] = "1" if cache is None else str(cache)
    if cache is not None:
        env["XDG_CACHE_HOME"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True, cwd=ROOT, env=env
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_version_is_told_without_the_commands() -> None:
    found = loaded("--version")
    assert "dmaverify" in found
    assert not {"click", "dmaverify.cli.app", "numpy", "z3"} & found


def test_a_plain_check_loads_nothing_that_it_does_not_need() -> None:
    """The plan is larger than what is executed, and equal normal forms decide it."""
    found = loaded("check", PLAN, "--no-cache")
    assert not (HEAVY | {"numpy", "z3", "click"}) & found
    assert not [name for name in found if name.startswith(OTHERS)]
    assert sum(name.startswith("dmaverify") for name in found) < 144


def test_what_was_proved_before_is_told_without_solver_or_executor(tmp_path: Path) -> None:
    words = ("check", PLAN, "--format", "concise")
    assert "dmaverify.prove.move.core" in loaded(*words, cache=tmp_path)
    found = loaded(*words, cache=tmp_path)
    assert not (HEAVY | {"numpy", "z3", "msgspec", "tree_sitter"}) & found
    assert not [name for name in found if name.startswith(("dmaverify.prove.move", "dmaverify.execute"))]


def test_a_plain_check_was_given_what_the_reader_of_arguments_gives() -> None:
    for words in (["p.toml"], ["p.toml", "--no-cache", "--strict", "-v"]):
        read = app.check.make_context("check", list(words)).params
        flags = {PLAIN[word]: True for word in words[1:]}
        assert {**NOTHING, "paths": ("p.toml",), **flags} == read


# ---------------------------------------------------------------- where the output goes


def command(*words: str, **kept: Any) -> subprocess.Popen[bytes]:
    """A process that runs these words, its streams as given, with an interpreter that does not buffer."""
    program = "import sys; from dmaverify.cli import main; sys.exit(main())"
    return subprocess.Popen([sys.executable, "-u", "-c", program, *words], cwd=ROOT, **kept)


def test_a_slow_reader_gets_all_of_it_while_a_clock_runs() -> None:
    """The pipe is full when the clock of the limits ticks; an unbuffered interpreter would drop the rest."""
    with command("rules", "--json", stdout=subprocess.PIPE) as done:
        time.sleep(1)
        assert done.stdout is not None
        assert json.loads(done.stdout.read())
    assert done.returncode == 0


@pytest.mark.parametrize(("to", "code", "said"), [("read no further", 1, ""), ("/dev/full", 2, "the output: No space")])
def test_an_output_that_takes_no_more_never_turns_red_into_green(to: str, code: int, said: str, tmp_path: Path) -> None:
    plan = tmp_path / "red.toml"
    plan.write_text((ROOT / "examples" / "broken.toml").read_text().replace("expect = ", "# "))
    words = ("check", str(plan), "--format", "concise")
    if to == "/dev/full":
        with open(to, "wb") as full:
            done = command(*words, stdout=full, stderr=subprocess.PIPE)
    else:
        done = command(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.stdout is not None
        done.stdout.close()
    assert done.stderr is not None
    with done.stderr as told:
        error = told.read().decode()
    assert (done.wait(), said in error, "Traceback" in error, "Exception" in error) == (code, True, False, False), error


def test_an_error_stream_that_takes_no_more_costs_neither_the_answer_nor_its_exit_code(tmp_path: Path) -> None:
    plan = tmp_path / "red.toml"
    plan.write_text((ROOT / "examples" / "broken.toml").read_text().replace("expect = ", "# "))
    words = ("check", str(plan), "--format", "json")  # its last line stands on stderr
    with open("/dev/full", "wb") as full, command(*words, stdout=subprocess.PIPE, stderr=full) as done:
        assert done.stdout is not None
        assert json.loads(done.stdout.read())
    assert done.wait() == 1


def test_a_closed_output_is_no_error_of_ours() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$0" -c "from dmaverify.cli import main; main()" check "$1" >&-', sys.executable, PLAN],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
