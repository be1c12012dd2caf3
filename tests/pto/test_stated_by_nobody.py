"""What a verdict rests on that nobody states is in its line."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.verdict import Status, Verdict

KERNEL = """// dmaverify: gm %o = 64 bytes
func.func @k(%o: !pto.ptr<f32, gm>) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %l = arith.constant 64 : i64
  %at = arith.constant {at} : i64
  %b = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %a = pto.castptr %at : i64 -> !pto.ptr<f32, gm>
  pto.mte_gm_ub {from}, %b, %z, %l nburst(%one, %l, %l) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  {store}
  {between}
  {store}
  return
}}
"""
STORE = "pto.mte_ub_gm %b, %o, %l nburst(%one, %l, %l) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64"


def verdict(**parts: object) -> Verdict:
    given = {"at": 0, "from": "%o", "store": "", "between": "", **parts}
    (found,) = check_text(Source("k.mlir", KERNEL.format(**given)), None)
    return found


@pytest.mark.parametrize(("at", "status"), [(4096, Status.PROVED), (0, Status.PROVED), (-32, Status.REFUTED)])
def test_what_lies_at_an_address_of_global_memory_is_a_condition(at: int, status: Status) -> None:
    """No text says how far a memory reaches that no argument names: nothing is unconditional of it, and no number below
    0 is an address."""
    found = verdict(at=at, **{"from": "%a"})
    assert found.status is status, [f.message for f in found.findings]
    assert any(one.startswith(f"`global memory` holds at least {max(0, at + 64):,} bytes") for one in found.conditions)
    assert not any("gm %global" in one for one in found.assumptions)  # no note could state it


@pytest.mark.parametrize(
    ("between", "status", "supposed"),
    [
        ("", Status.REFUTED, False),
        ("pto.barrier #pto.pipe<PIPE_MTE3>", Status.PROVED, False),
        ('pto.set_flag["PIPE_MTE3", "PIPE_MTE3", "EVENT_ID0"]\n  pto.wait_flag["PIPE_MTE3", "PIPE_MTE3", "EVENT_ID0"]',
         Status.PROVED, True),
    ],
)  # fmt: skip
def test_that_a_flag_from_a_pipe_to_itself_orders_it_is_a_condition(
    between: str, status: Status, supposed: bool
) -> None:
    """Flags are documented between different pipes; of one pipe a barrier is."""
    found = verdict(store=STORE, between=between)
    assert found.status is status, [f.message for f in found.findings]
    assert any("to itself orders it" in one for one in found.conditions) == supposed


@pytest.mark.parametrize(
    ("between", "who"),
    [
        ("pto.mystery", "pto.mystery"),
        ("pto.set_mystery %z : i64", "pto.set_mystery"),
        ("%u = other.op %z : i64", "other.op"),
        ("scf.mystery", "scf.mystery"),
        ("pto.vmystery", "pto.vmystery"),
        ("func.call @other(%z) : (i64) -> ()", "@other, which is not in this file,"),
        ("scf.for %i = %z to %l step %one : i64 {\n    pto.mystery\n  }", "pto.mystery"),
        ("pto.section.cube {\n    pto.mystery\n  }", "pto.mystery"),  # one word alone, and no attribute
        ("pto.section.vector {\n    pto.mystery\n  } {pto.flag}", "pto.mystery"),
        ("pto.barrier #pto.pipe<PIPE_ALL> {mystery = 1 : i64}", "the attribute `mystery` of pto.barrier"),
        ("pto.barrier #pto.pipe<PIPE_ALL> {pto.tag = 1 : i64}", ""),
        ("%f = arith.constant false\n  scf.if %f {\n    pto.mystery\n  }", ""),  # it never runs
        ("%u = pto.get_block_idx -> i64", ""),
        ("%u = math.absi %z : i64", ""),
    ],
)
def test_that_an_operation_nobody_knows_breaks_nothing_is_a_condition(between: str, who: str) -> None:
    """It may write at an address, set a register or order others, though its text names no memory."""
    found = verdict(**{"from": "%o"}, between=between)
    assert found.status is Status.PROVED, [f.message for f in found.findings]
    supposed = [f"what {who} does breaks nothing"] if who else []
    assert [one for one in found.conditions if "breaks nothing" in one] == supposed
