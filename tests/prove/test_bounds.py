"""Conditions on one sum: what they say together is what their bounds say, by enumeration of all small ones."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest

from dmaverify.errors import Source
from dmaverify.language.affine import Cond, Lin, compare
from dmaverify.machines.pto.check import check_text
from dmaverify.prove.flow.accesses.ask import Asker, Reply
from dmaverify.prove.flow.accesses.bounds import narrowed, told, united
from dmaverify.verdict import Status

RANGE = range(-4, 5)
SUM = Lin(0, (("x", 1),))
BOUNDS = [compare(op, SUM * side + number) for op in ("le", "lt") for side in (1, -1) for number in (-2, 0, 1)]
OTHER = compare("le", Lin(1, (("y", 1),)))


def holds(condition: Cond, x: int) -> bool:
    found = Lin(condition.left.const + sum(factor * x for _, factor in condition.left.terms))
    return found.const < 0 if condition.op == "lt" else found.const <= 0


def values(facts: tuple[Cond, ...]) -> set[int]:
    return {x for x in RANGE if all(holds(fact, x) for fact in facts)}


def test_what_bounds_tell_of_a_condition_is_so_for_every_value() -> None:
    for facts, asked in product([(), *((one,) for one in BOUNDS), *combinations(BOUNDS, 2)], BOUNDS):
        known = told(facts, asked)
        assert known is None or all(holds(asked, x) is known for x in values(facts))
        if len(facts) == 1:
            every = {holds(asked, x) for x in range(-9, 10) if holds(facts[0], x)}
            assert known == (every.pop() if len(every) == 1 else None)
    assert told((OTHER,), BOUNDS[0]) is None


def test_facts_with_one_more_say_the_same_in_fewer_words() -> None:
    for facts in combinations(BOUNDS, 2):
        for more in BOUNDS:
            kept = narrowed(facts, more)
            assert values(kept) == values((*facts, more))
            assert len(kept) <= len(facts) + 1
    assert narrowed((OTHER,), BOUNDS[0]) == (OTHER, BOUNDS[0])


def test_cases_of_one_sum_without_a_gap_are_one_range() -> None:
    cases = [(), *((one,) for one in BOUNDS), *combinations(BOUNDS, 2)]
    cases = [case for case in cases if values(case)]
    for one, other in product(cases, cases):
        found = united([one, other])
        if found is not None:
            assert values(found) == values(one) | values(other)
    gap = [(compare("le", SUM + 2),), (compare("le", Lin(1) - SUM),)]  # below -1 or above 0
    assert united(gap) is None
    assert united([(compare("le", SUM + 2),), (compare("le", Lin(-1) - SUM),)]) == ()
    assert united([(OTHER,), (BOUNDS[0],)]) is None


KERNEL = """// dmaverify: gm %a = 4096xf32
// dmaverify: gm %b = 4096xf32
// dmaverify: assume %m in 0..64
// dmaverify: assume %p in 0..3
func.func @k(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %m: index, %p: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %rounds = arith.constant {rounds} : index
  %c64 = arith.constant 64 : index
  %at = arith.constant 0 : i64
  %av = pto.make_tensor_view %a, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
  %bv = pto.make_tensor_view %b, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
  scf.for %i = %c0 to %rounds step %c1 {{
    %first = arith.muli %p, %c16 : index
    %row = arith.addi %first, %i : index
    %on = arith.cmpi slt, %row, %m : index
    scf.if %on {{
      %t = pto.alloc_tile addr = %at : !pto.tile_buf<vec, 1x64xf32>
      %pa = pto.partition_view %av, offsets = [%row, %c0], sizes = [%c1, %c64]
        : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x64xf32>
      %pb = pto.partition_view %bv, offsets = [%row, %c0], sizes = [%c1, %c64]
        : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x64xf32>
      {load}
      pto.tstore ins(%t : !pto.tile_buf<vec, 1x64xf32>) outs(%pb : !pto.partition_tensor_view<1x64xf32>)
    }}
  }}
  return
}}
"""
LOAD = "pto.tload ins(%pa : !pto.partition_tensor_view<1x64xf32>) outs(%t : !pto.tile_buf<vec, 1x64xf32>)"


@pytest.mark.parametrize(("load", "status"), [(LOAD, Status.PROVED), ("", Status.REFUTED)])
def test_questions_of_a_loop_with_a_limit_on_its_rounds_grow_with_the_rounds(
    load: str, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without bounds 302 of 32 rounds, of one path for each round in which the limit may lie."""
    asked, ask = [0], Asker._decided

    def counted(self: Asker, *given: Any, **more: Any) -> Reply:
        asked[0] += 1
        return ask(self, *given, **more)

    monkeypatch.setattr(Asker, "_decided", counted)
    (verdict,) = check_text(Source("k.pto", KERNEL.format(rounds=32, load=load)), "k")
    assert verdict.status is status
    assert asked[0] < 32 * 3
