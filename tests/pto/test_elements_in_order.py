"""Elements of tiles that the scalar unit writes beside the vector unit, in texts with flags of their own."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status

TILE = "!pto.tile_buf<loc=vec, dtype=f32, rows=8, cols=8, v_row=8, v_col=8>"
TEXT = f"""// dmaverify: gm %a = 8x8xf32
// dmaverify: assume %n in 1..6
func.func @k(%a: memref<8x8xf32, #pto.address_space<gm>>, %n: index) {{{{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 0.0 : f32
  %at = arith.constant 0 : i64
  %far = arith.constant 8192 : i64
  %t = pto.alloc_tile addr = %at : {TILE}
  %u = pto.alloc_tile addr = %far : {TILE}
  pto.tload ins(%a : memref<8x8xf32, #pto.address_space<gm>>) outs(%u : {TILE})
  pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
  pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
  {{body}}
  return
}}}}
"""
SCALAR = f"pto.tsetval ins(%c1, %f : index, f32) outs(%t : {TILE})\n  "
VECTOR = f"pto.texpands ins(%f : f32) outs(%t : {TILE})\n  "
BARRIER = "pto.barrier #pto.pipe<PIPE_ALL>\n  "


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (SCALAR + VECTOR, Status.UNKNOWN),  # no text tells whether what is issued later waits for the scalar unit
        (SCALAR + BARRIER + VECTOR, Status.PROVED),
        (VECTOR + SCALAR, Status.REFUTED),
        (VECTOR + BARRIER + SCALAR, Status.PROVED),
        (f"scf.for %i = %c0 to %n step %c1 {{\n  {SCALAR}{VECTOR}{BARRIER}}}", Status.UNKNOWN),
        (f"scf.for %i = %c0 to %n step %c1 {{\n  {SCALAR}{BARRIER}{VECTOR}{BARRIER}}}", Status.PROVED),
    ],
)
def test_what_comes_behind_the_scalar_unit_is_perhaps_behind_it(body: str, status: Status) -> None:
    source = Source("k.pto", TEXT.format(body=body))
    (found,) = check_text(source)
    assert found.status is status, found
    _, (function,) = read_kernels(source)
    run = run_kernel(function, {"a": 256}, {"n": 3})
    assert bool(run.found) == (status is Status.REFUTED)
