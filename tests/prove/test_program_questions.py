"""Programs asked from definitions: accesses that nothing orders, and a hazard that the fast path missed."""

import pytest

from dmaverify.errors import Disagreement
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.flow import kernel, program_questions
from dmaverify.prove.flow.hazards import Hazards
from dmaverify.prove.flow.kernel import check_program
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

MOVE = """
[transfer.{name}]
dtype = "i8"
source = {{ tier = "hbm", base = {source}, element = "A, B" }}
dest = {{ tier = "dm", base = {base}, slice = "A", element = "B" }}
stream = {{ time = "A", packet = "B" }}
engine = {{ chip = 0, cluster = 0, dmn = {dmn} }}
"""


def judged(second: str, after: str = "", base: int = 256) -> tuple[Verdict, list[tuple[str, str, str]]]:
    text = (
        'schema = 1\ntarget = "rngd"\n[axes]\nA = 64\nB = 256\n'
        + MOVE.format(name="one", source=0, base=0, dmn=0)
        + MOVE.format(name="two", source=second, base=base, dmn=1)
    )
    text += '\n[program.p]\n[[program.p.step]]\ntransfer = "one"\n[[program.p.step]]\ntransfer = "two"\n' + after
    plan = read_plan_text(text)
    asked: list[tuple[str, str, str]] = []
    options = Options(prove="full")
    verdict = check_program(plan.programs[0], axes=plan.axes, target=plan.targets["rngd"], options=options, keep=asked)
    return verdict, asked


def by(verdict: Verdict, name: str) -> str:
    return next(one.by for one in verdict.obligations if one.id == name)


def test_accesses_that_nothing_orders_are_asked_for_a_byte_in_common() -> None:
    verdict, asked = judged("0")
    assert verdict.status is Status.PROVED
    assert by(verdict, "core/hazard-waw") == "z3" != by(verdict, "core/hazard-raw")
    (script,) = [(text, said) for name, text, said in asked if name.startswith("one command") and "two" in name]
    assert "(core/loop-step" in script[0]
    assert script[1] == "sat unsat"


def test_ordered_steps_are_asked_for_their_order() -> None:
    verdict, asked = judged("0", 'after = ["one"]\n', 0)
    assert verdict.status is Status.PROVED
    assert by(verdict, "core/hazard-waw") == "z3"
    assert not [name for name, _, _ in asked if "two command" in name]
    (script,) = [(text, said) for name, text, said in asked if name == "the order of the steps"]
    assert "(assert (<= end0 begin1))" in script[0]
    assert script[1] == "sat unsat"
    assert not any("order the steps" in one for one in verdict.assumptions)


@pytest.mark.parametrize("fault", ["_stated", "unordered"])
def test_an_order_that_nothing_states_is_a_disagreement(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    after = 'after = ["one"]\n' if fault == "_stated" else ""
    monkeypatch.setattr(kernel, "hazards", lambda *given, **more: Hazards())
    monkeypatch.setattr(program_questions, fault, lambda *given, **more: [])
    with pytest.raises(Disagreement, match="the order of the steps"):
        judged("0", after, 0)


def test_a_hazard_that_the_fast_path_missed_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged("0", base=64)[0].status is Status.REFUTED
    monkeypatch.setattr(kernel, "hazards", lambda *given, **more: Hazards())
    with pytest.raises(Disagreement, match="core/hazard-waw"):
        judged("0", base=64)


def test_what_hazards_asked_is_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    one = ("hazard", "(assert true)", "unsat")
    monkeypatch.setattr(kernel, "hazards", lambda *given, **more: Hazards(asked=[one]))
    assert one in judged("0")[1]
