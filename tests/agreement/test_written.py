"""Plans of every kind that can be written: the proof and the interpreter say the same, and right plans are right.

Five of each kind; `make fuzz` draws a hundred thousand.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from lab.against import complaint, judged_twice, shrunk, twin_complaint

from dmaverify.execute.interpret import interpret
from dmaverify.execute.work import Beyond
from dmaverify.plan.execution import PlanExecution
from dmaverify.testing.draw import Seeded
from dmaverify.testing.drawn_views import twin
from dmaverify.testing.strategies import written_plans
from dmaverify.testing.written import KINDS, WrittenPlan, seeded

PLAIN = str(Path(__file__).parents[1] / "fuzz" / "plain")
EACH = 5
GROWING = (
    "views", "tiles", "nested", "stores", "rows", "in-place", "commands", "padding", "pipeline", "both", "in-parts",
    "replicas", "engines", "lists", "partly",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_proof_and_interpreter_agree(kind: str) -> None:
    judged, said = 0, []
    for number in range(EACH):
        drawn = seeded(f"{kind} {number}", kind)
        words, both = complaint(drawn, PLAIN)
        judged += both is not None and both.run != "beyond"
        if words:
            said.append(f"{drawn.seed}: {words}\n{drawn.text}")
    assert said == []
    assert judged >= EACH * 3 // 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawn_fault_breaks_a_promise_now_and_then(kind: str) -> None:
    """A generator whose faults change nothing would let the judge sleep."""
    _, faults = KINDS[kind]
    for fault in faults:
        answers = []
        for number in range(40):
            drawn = seeded(f"{kind} {fault} {number}", kind, fault)
            try:
                answers.append(interpret(*PlanExecution(drawn.text, target=PLAIN).work(drawn.name)))
            except Beyond:
                continue
            if answers[-1].wrong:
                break
        else:
            # a tile longer than its digit has no meaning, so that nothing can be run
            assert fault == "length", f"{kind}: {fault} is never wrong"


@pytest.mark.parametrize("fault", ["", "start", "count", "twice", "stream"])
def test_a_big_twin_is_judged_as_its_small_one(fault: str) -> None:
    for number in range(2):
        small, name = twin(Seeded(f"twin {number}"), fault)
        big, _ = twin(Seeded(f"twin {number}"), fault, 1 << 34)
        first, second = judged_twice(small, name, PLAIN), judged_twice(big, name, PLAIN)
        assert second.run == "beyond"
        assert first.proof == second.proof, big
        assert first.proof == ("refuted" if first.run == "wrong" else "proved"), small


@pytest.mark.parametrize("kind", GROWING)
def test_plans_grown_beyond_any_run_are_judged_as_small_ones(kind: str) -> None:
    found = [twin_complaint(seeded(f"{kind} {number}", kind), PLAIN) for number in range(2)]
    assert [said for said, _ in found if said] == []
    assert "unknown" not in {proof for _, proof in found}


def test_a_disagreement_is_shrunk_to_a_smaller_plan() -> None:
    """Here: whatever still has a loop whose tiles leave the tensor."""
    text, name = twin(Seeded("shrunk"), "start", 8)

    def still(smaller: str) -> bool:
        try:
            return judged_twice(smaller, name, PLAIN).run == "wrong" and "loop" in smaller
        except Exception:
            return False

    smaller = shrunk(text, still)
    assert still(smaller)
    sizes = [int(line.partition(" = ")[2]) for line in smaller.splitlines() if line[:4] in ("A = ", "N = ", "C = ")]
    assert max(sizes) <= 8


@given(written_plans())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_what_hypothesis_draws_is_what_a_seed_draws(drawn: WrittenPlan) -> None:
    assert drawn.kind in KINDS
    assert drawn.fault in ("", *KINDS[drawn.kind][1])
    try:
        found = interpret(*PlanExecution(drawn.text, target=PLAIN).work(drawn.name))
    except Beyond:
        return
    assert not (drawn.holds and found.wrong), drawn.text
