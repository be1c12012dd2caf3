"""A run of a kernel ends, whatever its numbers are."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.execute_copies import MOST_MOVED
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.running import Undetermined

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
    monkeypatch.setattr("dmaverify.machines.pto.execute_copies.MOST_MOVED", most)
    source = Source("k.mlir", KERNEL.format(rows=rows, row=row))
    (kernel,) = read_kernels(source)[1]
    with pytest.raises(Undetermined, match="move more than"):
        run_kernel(kernel, {"a": 4096})
    (verdict,) = check_text(source)
    assert verdict.status.value == "refuted"


def test_copies_up_to_that_are_followed() -> None:
    (kernel,) = read_kernels(Source("k.mlir", KERNEL.format(rows=4, row=1024)))[1]
    assert "bounds" not in run_kernel(kernel, {"a": 4096}).found
