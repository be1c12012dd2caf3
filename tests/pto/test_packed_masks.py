"""Packed masks of tiles: a bit for each element, of those that are valid, and no mask has fewer."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status

TEXT = """// dmaverify: gm %a = 8x32xi8
// dmaverify: gm %b = 8x32xi8
// dmaverify: assume %n in 1..{most}
func.func @k(%a: memref<8x32xi8, #pto.address_space<gm>>, %b: memref<8x32xi8, #pto.address_space<gm>>, %n: index) {{
  %c8 = arith.constant 8 : index
  %c4 = arith.constant 4 : index
  %c0 = arith.constant 0 : i8
  %t = pto.alloc_tile : {tile}
  %u = pto.alloc_tile : {tile}
  %m = pto.alloc_tile {given} : {mask}
  pto.tload ins(%a : memref<8x32xi8, #pto.address_space<gm>>) outs(%t : {tile})
  {work}
  pto.tstore ins(%{stored} : {tile}) outs(%b : memref<8x32xi8, #pto.address_space<gm>>)
  return
}}
"""
TILE = "!pto.tile_buf<loc=vec, dtype=i8, rows=8, cols=32, v_row=8, v_col=32>"
COMPARED = "pto.tcmp ins(%t, %t : {tile}, {tile}) outs(%m : {mask})"
FILLED = "pto.texpands ins(%c0 : i8) outs(%m : {mask})\n"
CHOSEN = FILLED + "  pto.tsel ins(%m, %t, %t : {mask}, {tile}, {tile}) outs(%u : {tile})"


def text(work: str, rows: int, cols: int, valid: tuple[object, object], given: str = "", most: int = 8) -> Source:
    mask = f"!pto.tile_buf<loc=vec, dtype=i8, rows={rows}, cols={cols}, v_row={valid[0]}, v_col={valid[1]}>"
    stored = "u" if "tsel" in work else "t"
    parts = {"tile": TILE, "mask": mask, "given": given, "most": most, "stored": stored}
    return Source("k.pto", TEXT.format(work=work.format(**parts), **parts))


@pytest.mark.parametrize("work", [COMPARED, CHOSEN], ids=["made", "read"])
@pytest.mark.parametrize(
    ("rows", "cols", "valid", "status"),
    [
        (8, 32, (8, 4), Status.PROVED),
        (8, 32, (8, 32), Status.PROVED),
        (8, 32, (8, 3), Status.UNKNOWN),  # 24 bits for 32 columns
        (8, 32, (7, 4), Status.UNKNOWN),
        (7, 32, (7, 4), Status.UNKNOWN),  # the last row of bits would lie behind the tile
        (9, 32, (9, 4), Status.PROVED),
    ],
)
def test_a_mask_has_a_bit_for_each_valid_element(
    work: str, rows: int, cols: int, valid: tuple[int, int], status: Status
) -> None:
    (found,) = check_text(text(work, rows, cols, valid))
    assert found.status is status, found
    _, (function,) = read_kernels(text(work, rows, cols, valid))
    if status is Status.PROVED:
        assert not run_kernel(function, {"a": 256, "b": 256}).found
    else:
        with pytest.raises(Beyond):
            run_kernel(function, {"a": 256, "b": 256})


def test_how_many_bits_a_mask_needs_of_a_number_that_is_given_is_asked() -> None:
    given = "valid_row = %n valid_col = %c4"
    (found,) = check_text(text(COMPARED, 8, 32, ("?", "?"), given))
    assert found.status is not Status.PROVED
    (found,) = check_text(text(COMPARED, 8, 32, ("?", "?"), given.replace("%n", "%c8")))
    assert found.status is Status.PROVED
