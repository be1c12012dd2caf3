"""Tiles in boxes reach all their bytes, loops that do not run are not judged, runs have the values that are stated."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.errors import InputError
from dmaverify.prove.options import Options
from dmaverify.verdict import Verdict

BOXED = "loc=vec, dtype=f32, rows=16, cols=16, v_row=8, v_col=16, blayout=col_major, slayout=row_major"
WHOLE = BOXED.replace("v_row=8", "v_row=16")
PLAIN = BOXED.replace(", blayout=col_major, slayout=row_major", "")
HEAD = """// dmaverify: gm %a = 32x64xf32
// dmaverify: gm %b = 32x64xf32
// dmaverify: assume %n in {range}
func.func @k(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %l = arith.constant 1024 : i64
  %far = arith.constant 16384 : i64
  %q = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %av = pto.make_tensor_view %a, shape = [%c32, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
  %bv = pto.make_tensor_view %b, shape = [%c32, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
  %pa = pto.partition_view %av, offsets = [%c0, %c0], sizes = [%c8, %c16]
    : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<?x?xf32>
  %pb = pto.partition_view %bv, offsets = [%c0, %c0], sizes = [%c8, %c16]
    : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<?x?xf32>
"""
LOAD = """  %t = pto.alloc_tile addr = {at} : !pto.tile_buf<{kind}>
  pto.tload ins(%pa : !pto.tile_buf<{kind}>) outs(%t : !pto.tile_buf<{kind}>)
"""
STORE = "  pto.tstore ins(%t : !pto.tile_buf<{kind}>) outs(%pb : !pto.tile_buf<{kind}>)\n"
COPY = """  pto.mte_gm_ub %a, %q, %z, {length} nburst(%one, {length}, {length})
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
"""


def judged(folder: Path, body: str, range_: str = "0..3", *, cross_check: int | None = None) -> Verdict:
    path = folder / "kernel.mlir"
    path.write_text(HEAD.format(range=range_) + body + "  return\n}\n", encoding="utf-8")
    (verdict,) = api.check(str(path), options=Options(cross_check=cross_check))
    return verdict


def status(verdict: Verdict) -> str:
    return verdict.status.value


# ---------------------------------------------------------------- tiles in boxes


@pytest.mark.parametrize(
    ("kind", "most", "wanted"),
    [
        *((BOXED, 8160, "proved"), (BOXED, 8161, "unknown"), (BOXED, 8191, "unknown"), (BOXED, 8192, "refuted")),
        *((PLAIN, 8176, "proved"), (PLAIN, 8177, "refuted")),
    ],
)
def test_a_part_of_a_tile_in_boxes_lies_in_the_memory(kind: str, most: int, wanted: str, tmp_path: Path) -> None:
    """Where its cells lie in the boxes no text says."""
    at = "  %m = arith.muli %n, %c32 : index\n  %ad = arith.index_cast %m : index to i64\n"
    verdict = judged(tmp_path, at + LOAD.format(at="%ad", kind=kind) + STORE.format(kind=kind), f"0..{most}")
    assert status(verdict) == wanted
    assert {f.rule for f in verdict.errors} == ({"pto/ub-capacity"} if wanted == "refuted" else set())


@pytest.mark.parametrize(("at", "wanted"), [(261120, "proved"), (261152, "unknown"), (262144, "refuted")])
def test_a_run_has_nothing_against_what_is_said_of_a_tile_in_boxes(at: int, wanted: str, tmp_path: Path) -> None:
    made = f"  %ad = arith.constant {at} : i64\n"
    assert status(judged(tmp_path, made + LOAD.format(at="%ad", kind=BOXED))) == wanted


RACE = COPY.format(length="%l") + '  pto.pipe_barrier "PIPE_MTE2"\n'


@pytest.mark.parametrize(("kind", "wanted"), [(BOXED, "unknown"), (PLAIN, "refuted"), (WHOLE, "refuted")])
def test_cells_in_boxes_may_meet_any_access_of_their_bytes(kind: str, wanted: str, tmp_path: Path) -> None:
    part = LOAD.format(at="%z", kind=kind)
    if kind == WHOLE:
        part = part.replace("%pa :", "%pw :")
        part = (
            "  %pw = pto.partition_view %av, offsets = [%c0, %c0], sizes = [%c16, %c16] : !pto.tensor_view<?x?xf32>"
            " -> !pto.partition_tensor_view<?x?xf32>\n" + part
        )
    assert status(judged(tmp_path, RACE + part)) == "proved"
    verdict = judged(tmp_path, COPY.format(length="%l") + part)
    assert status(verdict) == wanted
    assert {o.id for o in verdict.obligations if o.status == wanted} >= {"core/hazard-waw"}


def test_a_tile_in_boxes_that_was_loaded_whole_may_be_read_in_part(tmp_path: Path) -> None:
    whole = (
        "  %pw = pto.partition_view %av, offsets = [%c0, %c0], sizes = [%c16, %c16] : !pto.tensor_view<?x?xf32>"
        " -> !pto.partition_tensor_view<?x?xf32>\n"
    )
    kind = BOXED.replace("v_row=8, v_col=16", "v_row=?, v_col=?")
    body = (
        whole
        + f"""  %t = pto.alloc_tile addr = %z valid_row = %c16 valid_col = %c16 : !pto.tile_buf<{kind}>
  pto.tload ins(%pw : !pto.tile_buf<{kind}>) outs(%t : !pto.tile_buf<{kind}>)
  pto.set_validshape %t, %c8, %c16 : !pto.tile_buf<{kind}>
"""
        + STORE.format(kind=kind)
    )
    assert status(judged(tmp_path, body)) == "proved"


def test_what_has_no_place_in_a_result_that_is_filled_is_not_read_as_filled(tmp_path: Path) -> None:
    small = PLAIN.replace("rows=16, cols=16, v_row=8, v_col=16", "rows=4, cols=16, v_row=4, v_col=16")
    fill = f"""  %u = pto.alloc_tile addr = %far : !pto.tile_buf<{{kind}}, pad=1>
  pto.tfillpad ins(%t : !pto.tile_buf<{PLAIN}>) outs(%u : !pto.tile_buf<{{kind}}>)
"""
    load = LOAD.format(at="%z", kind=PLAIN)
    assert status(judged(tmp_path, load + fill.format(kind=PLAIN))) == "proved"
    verdict = judged(tmp_path, load + fill.format(kind=small))
    assert status(verdict) == "unknown"
    assert any("`%t` has 8 valid rows, `%u` has 4" in f.message for f in verdict.findings)


# ---------------------------------------------------------------- what runs


NEVER = """  scf.for %i = %c0 to %n step %c1 {{
    %is = arith.cmpi eq, %n, {value} : index
    scf.if %is {{
      pto.pipe_barrier "PIPE_ALL"
    {copy}    }}
    pto.pipe_barrier "PIPE_ALL"
  }}
"""


@pytest.mark.parametrize(("value", "wanted"), [("%c0", "proved"), ("%c1", "refuted")])
def test_what_only_a_loop_without_iterations_would_do_is_not_judged(value: str, wanted: str, tmp_path: Path) -> None:
    body = NEVER.format(value=value, copy=COPY.format(length="%far"))
    assert status(judged(tmp_path, body)) == wanted


def test_a_count_that_is_0_where_the_loop_around_does_not_run_is_no_count(tmp_path: Path) -> None:
    copy = COPY.format(length="%l").replace("nburst(%one", "nburst(%rows")
    body = "  %rows = arith.index_cast %n : index to i64\n"
    loop = "  scf.for %i = %c0 to %n step %c1 {\n" + copy + '    pto.pipe_barrier "PIPE_ALL"\n  }\n'
    assert status(judged(tmp_path, body + loop)) == "proved"
    verdict = judged(tmp_path, body + copy)
    assert {f.rule for f in verdict.errors} == {"pto/n-burst"}


@pytest.mark.parametrize(("range_", "wanted"), [("1..4", "proved"), ("0..0", "refuted")])
def test_a_branch_that_stated_values_never_take_is_not_run_either(range_: str, wanted: str, tmp_path: Path) -> None:
    never = "  %is = arith.cmpi eq, %n, %c0 : index\n  scf.if %is {\n" + COPY.format(length="%far") + "  }\n"
    body = COPY.format(length="%l") + '  pto.pipe_barrier "PIPE_ALL"\n' + never
    assert status(judged(tmp_path, body, range_)) == wanted


def test_of_two_faults_a_run_need_not_come_to_the_second(tmp_path: Path) -> None:
    far = "  %end = arith.constant 262112 : i64\n"
    tile = LOAD.format(at="%end", kind=PLAIN).splitlines()[0] + "\n"
    verdict = judged(tmp_path, far + tile + STORE.format(kind=PLAIN))
    assert {f.rule for f in verdict.errors} == {"pto/ub-capacity", "core/definite"}


def test_a_kernel_of_which_nothing_runs_is_told_from_one_without_operations(tmp_path: Path) -> None:
    never = "  %is = arith.cmpi eq, %n, %c0 : index\n  scf.if %is {\n" + COPY.format(length="%l") + "  }\n"
    with pytest.raises(InputError, match="no DMA operation runs with the stated values"):
        judged(tmp_path, never, "1..4")
    with pytest.raises(InputError, match="holds no DMA operation"):
        judged(tmp_path, "", "1..4")


def test_a_loop_that_touches_nothing_is_not_gone_through(tmp_path: Path) -> None:
    huge = "  %huge = arith.constant 274877906944 : index\n"
    loop = '  scf.for %i = %c0 to %huge step %c1 {\n    pto.pipe_barrier "PIPE_ALL"\n  }\n'
    assert status(judged(tmp_path, huge + COPY.format(length="%l") + loop, cross_check=0)) == "proved"
