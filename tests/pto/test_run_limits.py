"""A run of a kernel ends, whatever its numbers are."""

from __future__ import annotations

from contextlib import suppress

import pytest

from dmaverify.errors import Source
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.running import MOST_MOVED

KERNEL = """func.func @k(%a: !pto.ptr<f32, gm>) {{
  %c0 = arith.constant 0 : i64
  %n = arith.constant {rows} : i64
  %len = arith.constant {row} : i64
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %a, %u, %c0, %len nburst(%n, %len, %len) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64
  return
}}
"""


@pytest.mark.parametrize(
    ("rows", "row", "most"),
    [(1, MOST_MOVED + 32, MOST_MOVED), (1 << 16, 32, 1 << 16), (1 << 40, 32, 1 << 16), (1, 1 << 50, MOST_MOVED)],
)
def test_copies_of_more_bytes_than_a_run_holds_are_not_followed(
    rows: int, row: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are counted one by one: against a smaller limit, so that it is soon reached."""
    monkeypatch.setattr("dmaverify.machines.pto.running.MOST_MOVED", most)
    source = Source("k.mlir", KERNEL.format(rows=rows, row=row))
    (kernel,) = read_kernels(source)[1]
    with pytest.raises(Beyond, match="move more than"):
        run_kernel(kernel, {"a": 4096})
    (verdict,) = check_text(source)
    assert verdict.status.value == "refuted"


def test_copies_up_to_that_are_followed() -> None:
    (kernel,) = read_kernels(Source("k.mlir", KERNEL.format(rows=4, row=1024)))[1]
    assert "bounds" not in run_kernel(kernel, {"a": 4096}).found


TILES = """func.func @k(%a: !pto.ptr<f32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant {rows} : index
  %step = arith.constant {step} : index
  %at = arith.constant {at} : i64
  %v = pto.make_tensor_view %a, shape = [{shape}], strides = [{strides}] : !pto.tensor_view<?x?xf32>
  %p = pto.partition_view %v, offsets = [{zeros}], sizes = [{shape}]
      : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<?x?xf32>
  %t = pto.alloc_tile {given} : !pto.tile_buf<vec, {tile}x16xf32>
  pto.tload ins(%p : !pto.tile_buf<vec, {tile}x16xf32>) outs(%t : !pto.tile_buf<vec, {tile}x16xf32>)
  return
}}
"""
FLAT = {"shape": "%rows, %step", "strides": "%step, %c1", "zeros": "%c0, %c0", "given": "addr = %at", "tile": 8}
GREAT = [1 << 40, 1 << 62, (1 << 63) - 1, 1 << 64]


@pytest.mark.parametrize("great", GREAT)
@pytest.mark.parametrize("place", ["rows", "step", "at", "strides", "dims", "tile", "loose", "dims of the tile"])
def test_tiles_of_any_size_at_any_place_are_run_or_not_and_say_so(place: str, great: int) -> None:
    numbers = {"rows": 8, "step": 16, "at": 0, **FLAT}
    numbers |= {
        "strides": {"step": great, "shape": "%rows, %c1"},
        "dims": {"rows": great, "shape": "%rows", "strides": "%c1", "zeros": "%c0"},
        "tile": {"tile": great},
        "loose": {"tile": great, "given": ""},
        "dims of the tile": {"tile": great, "rows": great},
    }.get(place, {place: great})
    (kernel,) = read_kernels(Source("k.pto", TILES.format(**numbers)))[1]
    with suppress(Beyond):
        run = run_kernel(kernel, {"a": 4096})
        assert run.found or place == "strides"


@pytest.mark.parametrize("great", [-1, -(1 << 40), -(1 << 63)])
@pytest.mark.parametrize("place", ["rows", "step", "at"])
def test_tiles_of_negative_sizes_are_run_or_not_and_say_so(place: str, great: int) -> None:
    (kernel,) = read_kernels(Source("k.pto", TILES.format(**{"rows": 8, "step": 16, "at": 0, **FLAT, place: great})))[1]
    with suppress(Beyond):
        assert run_kernel(kernel, {"a": 4096}).found


@pytest.mark.parametrize("body", ["", "%x = arith.addi %i, %i : index"])
def test_loops_of_any_number_of_rounds_end(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmaverify.machines.pto.execute.MOST_STATEMENTS", 1 << 12)
    text = f"""func.func @k() {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {1 << 62} : index
  scf.for %i = %c0 to %n step %c1 {{
    {body}
  }}
  return
}}
"""
    (kernel,) = read_kernels(Source("k.mlir", text))[1]
    with pytest.raises(Beyond, match="statements in the rounds of loops"):
        run_kernel(kernel, {})
