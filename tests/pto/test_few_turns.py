"""Loops of no more turns than there are flags: the counter itself is the id, and each turn has another one."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text

GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
KERNEL = f"""// dmaverify: gm %in = 65536 bytes
// dmaverify: gm %out = 65536 bytes
// dmaverify: assume %n in {{low}}..{{high}}
func.func @k(%in: {GM}, %out: {GM}, %n: index) {{{{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %len = arith.constant 256 : i64
  %u = pto.castptr %z : i64 -> {UB}
  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  scf.for %i = %c0 to %n step %c1 {{{{
    %turn = arith.remui %i, %c2 : index
    pto.wait_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]
    pto.mte_gm_ub %in, %u, %z, %len nburst(%one, %len, %len) : {GM}, {UB}, i64, i64, i64, i64, i64
    pto.barrier <PIPE_ALL>
    pto.mte_ub_gm %u, %out, %len nburst(%one, %len, %len) : {UB}, {GM}, i64, i64, i64, i64
    pto.barrier <PIPE_ALL>
    pto.set_flag_dyn["PIPE_MTE3", "PIPE_MTE2", {{back}}]
  }}}}
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  return
}}}}
"""


@pytest.mark.parametrize(("low", "high"), [(1, 2), (2, 2), (0, 2), (1, 4)])
def test_turns_by_the_counter_are_followed_to_the_end(low: int, high: int) -> None:
    (right,) = check_text(Source("k.mlir", KERNEL.format(low=low, high=high, back="%turn")))
    assert right.status.value == "proved"
    (wrong,) = check_text(Source("k.mlir", KERNEL.format(low=low, high=high, back="%c1")))
    assert {f.rule for f in wrong.errors} == {"core/flags"}
