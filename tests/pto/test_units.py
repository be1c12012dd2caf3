"""An offset or stride that is right in the other unit is told so; one that is wrong in both is not."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text

GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
TEXT = f"""// dmaverify: gm %in = 64x64xf32
// dmaverify: assume %n in 0..7
func.func @k(%in: {GM}, %n: index) {{
  %z = arith.constant 0 : i64
  %eight = arith.constant 8 : i64
  %row = arith.constant 256 : i64
  %src = arith.constant 256 : i64
  %dst = arith.constant 256 : i64
  %tile = arith.constant 512 : index
  %at = arith.muli %n, %tile : index
  %s = pto.addptr %in, %at : {GM} -> {GM}
  %u = pto.castptr %z : i64 -> {UB}
  pto.mte_gm_ub %s, %u, %z, %row nburst(%eight, %src, %dst) : {GM}, {UB}, i64, i64, i64, i64, i64
  return
}}
"""
OFFSET = "offsets of pointers count elements of f32 (4 bytes): as bytes, this one would stay in the tensor"
STRIDE = "strides count bytes: 256 instead of 1,024 (times 4 once too often) would stay in the tensor"
ROWS = "strides count bytes: 64 elements of f32 are 256 bytes"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("%tile = arith.constant 512", "%tile = arith.constant 2048", OFFSET),
        ("%tile = arith.constant 512", "%tile = arith.constant 514", None),
        ("%tile = arith.constant 512", "%tile = arith.constant 8192", None),  # as bytes it is beyond the end, too
        ("%src = arith.constant 256", "%src = arith.constant 1024", STRIDE),
        ("%src = arith.constant 256", "%src = arith.constant 1020", None),  # 255 bytes are less than a row
        ("%dst = arith.constant 256", "%dst = arith.constant 64", ROWS),
        ("%dst = arith.constant 256", "%dst = arith.constant 128", None),
    ],
)
def test_a_number_that_is_right_in_the_other_unit_is_told(old: str, new: str, said: str | None) -> None:
    assert old in TEXT
    (found,) = check_text(Source("k.mlir", TEXT.replace(old, new)))
    assert found.errors
    notes = [note for f in found.errors for note in f.notes if "count" in note]
    assert notes == ([said] if said else [])


def test_what_is_right_is_told_nothing() -> None:
    (found,) = check_text(Source("k.mlir", TEXT))
    assert found.errors == ()
