"""Programs asked from definitions: accesses that nothing orders, and a hazard that the fast path missed."""

import pytest

from dmaverify.errors import Disagreement
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.flow import kernel, program_questions
from dmaverify.prove.flow.accesses import program_times
from dmaverify.prove.flow.kernel import check_program
from dmaverify.prove.flow.order.hazards import Hazards
from dmaverify.prove.flow.starvation.starvation_limit import AccessSum
from dmaverify.prove.move import full
from dmaverify.prove.move.script import Script, ScriptQuestion
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


TILES = """
schema = 1
target = "rngd"
axes = {{ A = 16, C = 32 }}
[transfer.load]
dtype = "i8"
loop = {{ t = 4 }}
source = {{ tier = "hbm", element = "A, C", view = {{ tile = "A", length = 4, start = "4 * t" }} }}
dest = {{ tier = "dm", {0} }}
stream = {{ time = "A = 4", packet = "C" }}
[transfer.store]
dtype = "i8"
loop = {{ t = 4 }}
source = {{ tier = "dm", {0} }}
dest = {{ tier = "hbm", base = 65536, element = "A, C", view = {{ tile = "A", length = 4, start = "4 * t" }} }}
stream = {{ time = "A = 4", packet = "C" }}
[program.p]
[[program.p.step]]
transfer = "load"
context = "in"
[[program.p.step]]
transfer = "store"
context = "{1}"
after = ["load"]
"""


EACH, ONE = 'element = "A, C", view = { tile = "A", length = 4, start = "4 * t" }', 'element = "A = 4, C"'


def looped(memory: str, context: str) -> tuple[Verdict, list[tuple[str, str, str]]]:
    plan = read_plan_text(TILES.format(memory, context))
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


@pytest.mark.parametrize("fault", ["edges", "unordered"])
def test_an_order_that_nothing_states_is_a_disagreement(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    after = 'after = ["one"]\n' if fault == "edges" else ""
    monkeypatch.setattr(kernel, "hazards", lambda *given, **more: Hazards())
    monkeypatch.setattr(program_times if fault == "edges" else program_questions, fault, lambda *given, **more: [])
    with pytest.raises(Disagreement, match="the order of the steps"):
        judged("0", after, 0)


def test_steps_of_a_loop_are_asked_for_every_two_iterations_that_nothing_orders() -> None:
    verdict, asked = looped(EACH, "out")
    assert verdict.status is Status.PROVED
    assert {by(verdict, f"core/hazard-{kind}") for kind in ("raw", "war")} == {"z3"}
    scripts = [text for name, text, _ in asked if name == "store command 0 and load command 0"]
    assert scripts
    assert all("(< (+ first.c0 (* (- 1) second.c0)) 0)" in script for script in scripts)


def test_how_far_order_reaches_in_a_loop_is_asked_of_iterations_in_a_row() -> None:
    verdict, asked = looped(ONE, "in")
    assert verdict.status is Status.PROVED
    (script,) = [text for name, text, _ in asked if name == "the order of the steps"]
    assert "(assert (<= end1.0 begin0.1))" in script
    assert "any two iterations: unsat" in script


def test_a_hazard_of_two_iterations_that_the_fast_path_missed_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looped(ONE, "out")[0].status is Status.REFUTED
    monkeypatch.setattr(kernel, "hazards", lambda *given, **more: Hazards())
    verdict, _ = looped(ONE, "out")
    assert by(verdict, "core/hazard-war") != "z3"
    assert "not asked from definitions: core/hazard-war, in store command 0 and load command 0" in verdict.assumptions


def test_an_order_of_iterations_that_nothing_states_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_times.Times, "_around", lambda self: [])
    with pytest.raises(Disagreement, match="1 iterations later"):
        looped(ONE, "in")


@pytest.mark.parametrize(("base", "status"), [(4096, Status.PROVED), (2048, Status.REFUTED)])
def test_half_bytes_and_bytes_are_asked_in_the_smaller_unit(
    base: int, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = MOVE.replace("engine = {{ chip = 0, cluster = 0, dmn = {dmn} }}\n", "")
    half = move.format(name="one", source=0, base=0).replace('"i8"', '"i4"')
    half = half.replace('slice = "A", ', "").replace('"B" }\ns', '"A, B" }\ns')
    whole = move.format(name="two", source=0, base=base).replace('slice = "A", ', "").replace('"B" }\ns', '"A, B" }\ns')
    steps = "".join(f'[[program.p.step]]\ntransfer = "{name}"\ncontext = "{name}"\n' for name in ("one", "two"))
    text = f'schema = 1\ntarget = "rngd"\n[axes]\nA = 16\nB = 512\n{half}{whole}[program.p]\n{steps}'
    plan = read_plan_text(text)
    options = Options(prove="full")
    asked: list[tuple[str, str, str]] = []

    def judged_again() -> Verdict:
        return check_program(plan.programs[0], axes=plan.axes, target=plan.targets["rngd"], options=options, keep=asked)

    assert judged_again().status is status
    if status is Status.REFUTED:
        monkeypatch.setattr(kernel, "hazards", lambda *given, **more: Hazards())
        with pytest.raises(Disagreement, match="core/hazard-waw"):
            judged_again()


def test_a_hazard_that_the_fast_path_missed_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged("0", base=64)[0].status is Status.REFUTED
    monkeypatch.setattr(kernel, "hazards", lambda *given, **more: Hazards())
    with pytest.raises(Disagreement, match="core/hazard-waw"):
        judged("0", base=64)


def test_what_hazards_asked_is_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    one = ("hazard", "(assert true)", "unsat")
    monkeypatch.setattr(kernel, "hazards", lambda *given, **more: Hazards(asked=[one]))
    assert one in judged("0")[1]


def test_every_claim_that_stays_open_is_named_not_the_first_alone() -> None:
    script = Script("s", "", tuple(ScriptQuestion("", name, stronger=True) for name in ("core/covers", "core/padding")))
    assert full._unsettled(script, ["sat", "unknown"]) == {"core/covers", "core/padding"}
    assert full._unsettled(script, ["unsat", "sat"]) == {"core/padding"}
    lemma = Script("s", "", (ScriptQuestion("lemma"), *script.steps))
    assert full._unsettled(lemma, ["unknown", "unsat", "unsat"]) == {"core/covers", "core/padding"}


# ---------------------------------------------------------------- bank starvation

ACCESSES = """
schema = 1
target = "rngd"
axes = {{ A = 64, C = 64, M = {main}, S = {sub}, W = 8 }}
[transfer.load]
dtype = "i8"
source = {{ tier = "hbm", element = "A, C" }}
dest = {{ tier = "dm", base = 262144, slice = "A", element = "C" }}
stream = {{ time = "A", packet = "C" }}
[access.main]
engine = "fetch"
dtype = "i8"
memory = {{ tier = "dm", base = 0, slice = "64", element = "M, W # 128" }}
stream = {{ time = "M", packet = "W" }}
[access.sub]
engine = "fetch"
context = "sub"
dtype = "i8"
memory = {{ tier = "dm", base = {base}, slice = "64", element = "S, W # 128" }}
stream = {{ time = "S", packet = "W" }}
[program.p]
[[program.p.step]]
transfer = "load"
[[program.p.step]]
access = "main"
[[program.p.step]]
access = "sub"
{after}
"""
TOGETHER = "not asked from definitions: rngd/bank-starvation, in accesses beside DMA"


def starved(main: int, sub: int, *, base: int = 16384, after: str = "") -> Verdict:
    plan = read_plan_text(ACCESSES.format(main=main, sub=sub, base=base, after=after))
    options = Options(prove="full", cross_check=0)
    return check_program(plan.programs[0], axes=plan.axes, target=plan.targets["rngd"], options=options)


@pytest.mark.parametrize(
    ("main", "sub", "base", "after"),
    [
        (31, 31, 16384, ""),
        (61, 61, 16384 + 64, ""),
        (61, 61, 16384, 'after = ["main"]'),
        (61, 61, 16384, 'after = ["load"]'),
    ],
)
def test_sums_of_accesses_beside_dma_are_asked_of_every_bank_and_time(main: int, sub: int, base: int, after: str):
    verdict = starved(main, sub, base=base, after=after)
    assert verdict.status is Status.PROVED
    assert by(verdict, "rngd/bank-starvation") == "z3"


@pytest.mark.parametrize(("main", "sub"), [(31, 32), (62, 1)])
def test_a_sum_that_the_fast_path_takes_to_be_within_the_limit_is_not_confirmed(
    main: int, sub: int, monkeypatch: pytest.MonkeyPatch
):
    assert starved(main, sub).status is Status.REFUTED
    monkeypatch.setattr(AccessSum, "within", lambda *_: True)
    verdict = starved(main, sub)
    assert verdict.status is Status.PROVED
    assert by(verdict, "rngd/bank-starvation") != "z3"
    assert TOGETHER in verdict.assumptions
