"""Loops that people write, and how long an answer takes: nests, turns, several numbers of rounds, many copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmaverify.errors import Source
from dmaverify.language.affine import Lin, World, compare
from dmaverify.machines.pto.check import check_text
from dmaverify.program.instructions import Branch, KernelLoop
from dmaverify.prove.flow import pipes
from dmaverify.prove.flow.loops import At, period_of, steady
from dmaverify.prove.flow.step_events import NOWHERE
from dmaverify.verdict import Status, Verdict

GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
SECONDS = 60  # of a busy machine; alone it is a second or two
LOAD = f"pto.mte_gm_ub %s, %d, %z, %l nburst(%one, %l, %l) : {GM}, {UB}, i64, i64, i64, i64, i64"


def check(text: str) -> Verdict:
    (found,) = check_text(Source("k.mlir", text))
    assert found.seconds < SECONDS
    return found


def nest(depth: int, trip: int, step: int) -> str:
    """A copy in so many loops, to `step` bytes further on in each innermost round."""
    lines = ["%at0 = arith.constant 0 : index"]
    for level in range(depth):
        size = step * trip ** (depth - 1 - level)
        lines += [f"%w{level} = arith.constant {size} : index"]
    for level in range(depth):
        lines += [f"scf.for %x{level} = %i0 to %n step %i1 {{", f"%t{level} = arith.muli %x{level}, %w{level} : index"]
        lines += [f"%at{level + 1} = arith.addi %at{level}, %t{level} : index"]
    lines += [f"%c = arith.index_cast %at{depth} : index to i64", f"%d = pto.castptr %c : i64 -> {UB}", LOAD]
    return head(trip) + "\n".join(lines) + "\n" + "}\n" * depth + "return\n}\n"


def head(trip: int) -> str:
    return f"""func.func @k(%s: {GM}) {{
%i0 = arith.constant 0 : index
%i1 = arith.constant 1 : index
%n = arith.constant {trip} : index
%z = arith.constant 0 : i64
%one = arith.constant 1 : i64
%l = arith.constant 32 : i64
"""


@pytest.mark.parametrize("depth", [1, 2, 6])
@pytest.mark.parametrize(("step", "status"), [(0, Status.REFUTED), (16, Status.REFUTED), (32, Status.PROVED)])
def test_nests_are_answered_at_once(depth: int, step: int, status: Status) -> None:
    found = check(nest(depth, 4, step))
    assert found.status is status
    if step == 0:
        assert {f.rule for f in found.errors} == {"core/hazard-waw"}


@pytest.mark.parametrize(("step", "status"), [(32, Status.PROVED), (0, Status.REFUTED)])
def test_hundreds_of_copies_without_an_order_are_answered_at_once(step: int, status: Status) -> None:
    copies = []
    for number in range(300):
        copies += [f"%c{number} = arith.constant {number * 32 if number < 299 else number * step} : i64"]
        copies += [f"%d{number} = pto.castptr %c{number} : i64 -> {UB}", LOAD.replace("%d", f"%d{number}")]
    assert check(head(1) + "\n".join(copies) + "\nreturn\n}\n").status is status


WAIT = 'pto.wait_flag_dyn["PIPE_{}", "PIPE_{}", %turn]'
TURNS = (Path(__file__).parent / "corpus" / "two-numbers-of-rounds.mlir").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        ("", "", set()),
        (WAIT.format("MTE3", "MTE2"), "", {"core/flags", "core/hazard-war", "core/hazard-waw"}),
        (WAIT.format("MTE3", "MTE2").replace("wait", "set"), "", {"core/flags", "core/hazard-war", "core/hazard-waw"}),
        (WAIT.format("MTE2", "MTE3"), "", {"core/flags", "core/hazard-raw", "core/hazard-waw"}),
        ('pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]', "", {"core/flags"}),
        ('pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]', "", {"core/flags"}),
        ("%turn = arith.remui %j, %two", "%turn = arith.remui %i, %two", set()),  # slower, and right
        ("%size = arith.constant 512", "%size = arith.constant 480", {"core/hazard-war", "core/hazard-waw"}),
        ("%row = arith.constant 128", "%row = arith.constant 120", {"core/hazard-waw"}),
        ("%at0 = arith.muli %i, %m", "%at0 = arith.muli %i, %n", {"core/hazard-waw"}),
    ],
)
def test_turns_inside_of_another_loop(old: str, new: str, rules: set[str]) -> None:
    found = check(TURNS.replace(old, new) if old else TURNS)
    assert {f.rule for f in found.errors} == rules
    assert found.status is (Status.REFUTED if rules else Status.PROVED)


def test_turns_of_any_number_of_rounds_need_no_range() -> None:
    text = "".join(line for line in TURNS.splitlines(True) if "assume" not in line)
    assert check(text).status is Status.PROVED


def test_a_kernel_that_takes_too_many_steps_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes.PipeJudge, "most_steps", 2)
    monkeypatch.setattr("dmaverify.prove.flow.kernels.proved_at_once", lambda *_: None)
    judge = pipes.PipeJudge.__init__
    monkeypatch.setattr(pipes.PipeJudge, "__init__", lambda self, *a, **k: judge(self, *a, **{**k, "most_steps": 2}))
    found = check(TURNS)
    assert found.status is Status.UNKNOWN
    assert any("more than 2 steps of pipes" in o.why for o in found.obligations)


@pytest.mark.parametrize(("turns", "found"), [(1, 1), (2, 2), (5, 5), (7, 7), (16, 16), (17, None)])
def test_buffers_that_take_turns_have_a_period(turns: int, found: int | None) -> None:
    world = World()
    counter = world.free("i", 0, None)
    loop = KernelLoop(counter.terms[0][0], Lin(100), (), NOWHERE)
    assert period_of(world, loop, [world.modulo(counter, turns) * 32], At({})) == found
    assert period_of(world, loop, [counter * 32], At({})) is None


def test_what_a_condition_or_an_inner_loop_makes_of_an_iteration_is_not_that_of_a_period_before() -> None:
    world = World()
    counter = world.free("i", 0, None)
    name, turn = counter.terms[0][0], world.modulo(counter, 2)
    for term, same in ((turn, True), (counter, False)):
        for event in (Branch(compare("lt", term - 1), (), (), NOWHERE), KernelLoop("j", term, (), NOWHERE)):
            outer = KernelLoop("k", Lin(3), (event,), NOWHERE)
            assert [steady(world, [one], name, 2, At({})) for one in (event, outer)] == [same, same]
