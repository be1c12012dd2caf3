"""What iDMA promises of order: launches begin in order, and have arrived only where somebody waited."""

from __future__ import annotations

from pathlib import Path

import pytest

import dmaverify as dv

PLAN = """
schema = 1
target = "idma"
[axes]
A = 256
"""


def _transfer(name: str, src: int, dst: int, options: str = "{}") -> str:
    return f"""
[transfer.{name}]
dtype = "i8"
source = {{ tier = "mem", base = {src}, element = "A" }}
dest = {{ tier = "mem", base = {dst}, element = "A" }}
options = {options}
"""


def _program(steps: str) -> str:
    return "".join(
        f'[[program.p.step]]\ntransfer = "{name}"\n' + (f'after = ["{after}"]\n' if after else "")
        for name, _, after in (word.partition("<") for word in steps.split())
    )


def _rules(tmp_path: Path, text: str, name: str) -> set[str]:
    file = tmp_path / "plan.toml"
    file.write_text(text, encoding="utf-8")
    verdict = next(v for v in dv.check(str(file)) if v.name == name)
    return {finding.rule for finding in verdict.errors}


@pytest.mark.parametrize(
    ("steps", "rules"),
    [
        ("ab bc", {"core/hazard-raw"}),
        ("ab bc<ab", set()),
        ("ab xy<ab bc", set()),  # somebody waited in between
        ("ab xy bc<xy", set()),  # ids complete in order: a wait for the second is one for the first
        ("xy ab bc<xy", {"core/hazard-raw"}),  # waited for something else
        ("ab xa", set()),  # reads are in order, and writes follow reads
        ("ab xb", set()),  # writes of one engine are in order
    ],
)
def test_a_read_in_a_program_waits_for_what_it_reads(tmp_path: Path, steps: str, rules: set[str]) -> None:
    places = {"a": 0, "b": 4096, "c": 8192, "x": 12288, "y": 16384}
    names = {word.partition("<")[0] for word in steps.split()}
    text = PLAN + "".join(_transfer(n, places[n[0]], places[n[1]]) for n in sorted(names)) + _program(steps)
    assert _rules(tmp_path, text, "p") == rules


LOOP = """
schema = 1
target = "idma"
[axes]
A = 256
T = 64
[transfer.first]
dtype = "i8"
loop = { t = 4 }
source = { tier = "mem", base = 0, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
dest = { tier = "mem", base = 8192, element = "T" }
[transfer.second]
dtype = "i8"
loop = { t = 4 }
source = { tier = "mem", base = 8192, element = "T" }
dest = { tier = "mem", base = 16384, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
[[program.p.step]]
transfer = "first"
[[program.p.step]]
transfer = "second"
"""


def test_a_loop_through_a_buffer_waits_in_every_iteration(tmp_path: Path) -> None:
    assert "core/hazard-raw" in _rules(tmp_path, LOOP, "p")
    assert "core/hazard-raw" not in _rules(tmp_path, LOOP + 'after = ["first"]\n', "p")


CHAIN = """
schema = 1
target = "idma"
[axes]
A = 512
[transfer.up]
dtype = "i8"
loop = { t = 4 }
source = { tier = "mem", base = 0, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
dest = { tier = "mem", base = DEST, element = "A", view = { tile = "A", length = 64, start = "64 * t" } }
[[program.p.step]]
transfer = "up"
"""


@pytest.mark.parametrize(("dest", "found"), [("64", True), ("192", True), ("1024", False)])
def test_a_step_does_not_read_what_it_wrote_an_iteration_before(tmp_path: Path, dest: str, found: bool) -> None:
    assert ("core/hazard-raw" in _rules(tmp_path, CHAIN.replace("DEST", dest), "p")) is found
