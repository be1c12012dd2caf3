"""The executor beside the proof gives the answers of the executor here, and nobody waits for it or depends on it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.cli.app import invoke
from dmaverify.execute.beside import Beside, Task, beside_wanted, broken_by
from dmaverify.language.parse import parse
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor
from dmaverify.prove.options import Options
from dmaverify.verdict import Status

ROOT = Path(__file__).resolve().parents[2]
HOST = Space("host", ("element",))
AXES = {"A": 4, "B": 8}
SOURCE = Tensor("host", base=0, element=parse("A, B", AXES))
DEST = Tensor("host", base=64, element=parse("B, A", AXES))


def commands(stride: int) -> list[Command]:
    return [Command(Port("host", 0), Port("host", 64), (Loop(4, 8, 1), Loop(8, 1, stride)), 1, 1)]


def judged(stride: int) -> frozenset[str] | None:
    return broken_by(SOURCE, DEST, (HOST, HOST), 8, commands(stride), {})


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Beside]:
    monkeypatch.setattr("dmaverify.execute.beside._pays", lambda: True)
    with beside_wanted():
        Beside.begin()
        assert Beside.running is not None
        yield Beside.running
    assert Beside.running is None


@pytest.mark.parametrize(("stride", "keeps"), [(4, True), (5, False), (3, False)])
def test_it_answers_as_the_executor_does_here(beside: Beside, stride: int, keeps: bool) -> None:
    found = judged(stride)
    assert found == Task(SOURCE, DEST, (HOST, HOST), 8, tuple(commands(stride)), {}).broken()
    assert (found == frozenset()) is keeps


def test_without_it_the_move_is_executed_here() -> None:
    assert Beside.running is None
    assert judged(4) == frozenset()


def test_when_it_is_gone_the_move_is_executed_here(beside: Beside) -> None:
    os.kill(beside.child, signal.SIGKILL)
    assert judged(4) == frozenset()
    assert Beside.running is None
    assert judged(5)


def test_a_check_in_this_process_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    monkeypatch.setattr("dmaverify.execute.beside._pays", lambda: not begun.append(1))
    plan = str(ROOT / "examples" / "dma-engine" / "example-1.toml")
    assert invoke(["check", plan, "--no-cache"]) == 0
    assert begun
    assert Beside.running is None
    assert not Beside.wanted


def test_a_run_of_the_command_says_what_was_executed_and_leaves_no_process_that_holds_its_output() -> None:
    code = "from dmaverify.cli.app import main; main()"
    plan = str(ROOT / "examples" / "dma-engine" / "example-1.toml")
    said = [
        subprocess.run(
            [sys.executable, "-c", code, "check", plan, "-v", "--no-cache", *more],
            capture_output=True,
            text=True,
            check=True,
        )
        for more in ([], ["--no-execute"])
    ]
    assert "numpy agrees on all 16,384 units" in said[0].stdout
    assert "numpy agrees" not in said[1].stdout
    assert not said[0].stderr


@pytest.mark.parametrize(("holes", "runs"), [(4096 * 16, True), (4096 * 16 + 1, False)])
def test_a_move_between_tensors_of_many_more_positions_is_not_executed(holes: int, runs: bool) -> None:
    plan = f"""
schema = 1
target = "idma"
[axes]
A = 64
[transfer.x]
dtype = "i8"
source = {{ tier = "mem", base = 0, element = "A # {holes}" }}
dest = {{ tier = "mem", base = 16777216, element = "A" }}
read = "[A=64:1]:64 @0"
write = "[A=64:1]:64 @16777216"
"""
    (verdict,) = api.check(plan, options=Options(cross_check=4096))
    assert (verdict.status, "numpy agrees" in verdict.confirmed) == (Status.PROVED, runs)
