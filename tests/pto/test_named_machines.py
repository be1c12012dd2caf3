"""Texts that name the machine that they are for: what is judged here holds for this one alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmaverify.errors import Source
from dmaverify.jobs.kernel_runs import ran_kernels, told
from dmaverify.machines.pto.check import check_text
from dmaverify.verdict import Status, Verdict

WRONG, RIGHT = 16, 32  # where UB is written: a block has 32 bytes


def kernel(at: int = RIGHT, name: str = "k", body: str = "", attributes: str = "") -> str:
    return f"""func.func @{name}(%a: !pto.ptr<f32, gm>){attributes} {{
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %row = arith.constant 64 : i64
  %at = arith.constant {at} : i64
  %u = pto.castptr %at : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %a, %u, %zero, %row nburst(%one, %row, %row)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
{body}  return
}}
"""


def module(body: str, named: str = 'pto.target_arch = "a2a3"') -> str:
    return f"module attributes {{{named}}} {{\n{body}}}\n"


def check(text: str) -> Verdict:
    (found,) = check_text(Source("k.mlir", text))
    return found


def test_a_text_for_another_machine_is_open_whatever_is_found_of_it() -> None:
    for at, rule in ((RIGHT, ""), (WRONG, "pto/ub-align")):
        found = check(module(kernel(at)))
        assert found.status is Status.UNKNOWN
        assert [f.rule for f in found.findings] == ["core/machine", *filter(None, [rule])]
        assert "the text is for `a2a3`" in found.findings[0].message
        assert not found.errors


@pytest.mark.parametrize(
    "text",
    [
        kernel(),
        module(kernel(), 'pto.target_arch = "a5"'),
        module(kernel(), 'pto.target_arch = "A5"'),
        module(kernel(), "pto.kernel_kind = #pto.kernel_kind<vector>"),
        module(module(kernel(), 'pto.target_arch = "a5"'), 'other.target_arch = "a2a3"'),
    ],
)
def test_a_text_for_this_machine_or_for_none_is_judged(text: str) -> None:
    assert check(text).status is Status.PROVED


@pytest.mark.parametrize(
    "text",
    [
        module(module(kernel(), 'pto.target_arch = "a5"')),  # both hold
        f'"builtin.module"() ({{\n{kernel()}}}) {{pto.target_arch = "a3"}} : () -> ()\n',
        kernel(attributes=' attributes {pto.target_arch = "a3"}'),
        '#arch = "a2a3"\n' + module(kernel(), "pto.target_arch = #arch"),  # by another name
        module(kernel(), "pto.target_arch = #pto.arch<a3>"),
        module(kernel()[kernel().index("{") + 1 : kernel().index("  return")].replace("%a,", "%u,")),  # no function
        kernel(body="  func.call @m(%u) : (!pto.ptr<f32, ub>) -> ()\n")
        + module(kernel(name="m").replace("(%a: !pto.ptr<f32, gm>)", "(%v: !pto.ptr<f32, ub>)").replace("%a,", "%v,")),
    ],
)
def test_a_machine_is_named_by_any_module_or_function_that_a_kernel_is_made_of(text: str) -> None:
    assert "core/machine" in {f.rule for f in check(text).findings}
    assert check(text).status is Status.UNKNOWN


def test_a_note_has_a_text_for_another_machine_judged_as_one_for_this() -> None:
    allow = "// dmaverify: allow(core/machine) both have these copies\n"
    assert check(allow + module(kernel())).status is Status.PROVED
    assert check(allow + module(kernel(WRONG))).status is Status.REFUTED
    assert any("both have these copies" in said for said in check(allow + module(kernel())).assumptions)


TILE = "!pto.tile_buf<loc={}, dtype={}, rows=16, cols=64, v_row=8, v_col=64, blayout=col_major, slayout=row_major{}>"
EXTRACTED = """func.func @k(%a: !pto.ptr<bf16>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %v = pto.make_tensor_view %a, shape = [%c8, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xbf16>
  %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c8, %c64]
      : !pto.tensor_view<?x?xbf16> -> !pto.partition_tensor_view<8x64xbf16>
  %m = pto.alloc_tile : {whole}
  %l = pto.alloc_tile : {part}
  pto.tload ins(%p : !pto.partition_tensor_view<8x64xbf16>) outs(%m : {whole})
  pto.textract ins(%m, %c0, %c0 : {whole}, index, index) outs(%l : {part})
  return
}}
"""


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (TILE.format("left", "bf16", ", compact=1"), ""),
        (TILE.format("left", "bf16", ", compact=normal"), ""),
        (TILE.format("left", "bf16", ", compact=2"), "which bytes its rows have with `compact=2` is not told"),
        (TILE.format("left", "f4E2M1FN", ""), "how elements of `f4E2M1FN` lie in bytes is not known"),
        (TILE.format("left", "bf16", ", swizzle=1"), "what `swizzle` says of its type is not known"),
    ],
)
def test_a_tile_whose_type_is_not_known_says_what_of_it(part: str, why: str) -> None:
    found = check(EXTRACTED.format(whole=TILE.format("mat", "bf16", ""), part=part))
    assert found.status is (Status.UNKNOWN if why else Status.PROVED)
    assert all(f.message.endswith(f"the tile `%l` is not known: {why}") for f in found.findings)
    assert len(found.findings) == bool(why)


@pytest.mark.parametrize(("other", "status"), [(", compact=1", Status.PROVED), ("", Status.UNKNOWN)])
def test_a_compact_tile_is_not_the_one_in_whole_boxes_at_its_address(other: str, status: Status) -> None:
    whole, part = TILE.format("mat", "bf16", ""), TILE.format("left", "bf16", ", compact=1")
    right = TILE.format("right", "bf16", "").replace("rows=16, cols=64, v_row=8", "rows=64, cols=64, v_row=64")
    right = right.replace("blayout=col_major, slayout=row_major", "blayout=row_major, slayout=col_major")
    acc = TILE.format("acc", "f32", "")
    text = EXTRACTED.format(whole=whole, part=part).replace("%l = pto.alloc_tile", "%l = pto.alloc_tile addr = %z")
    text = text.replace("  %c0 =", "  %z = arith.constant 0 : i64\n  %c0 =")
    read = part.replace(", compact=1", other)
    product = f"""  %again = pto.alloc_tile addr = %z : {read}
  %big = pto.alloc_tile : {right.replace("loc=right", "loc=mat")}
  %r = pto.alloc_tile : {right}
  %o = pto.alloc_tile : {acc}
  %q = pto.partition_view %w, offsets = [%c0, %c0], sizes = [%c64, %c64]
      : !pto.tensor_view<?x?xbf16> -> !pto.partition_tensor_view<64x64xbf16>
  pto.tload ins(%q : !pto.partition_tensor_view<64x64xbf16>) outs(%big : {right.replace("loc=right", "loc=mat")})
  pto.textract ins(%big, %c0, %c0 : {right.replace("loc=right", "loc=mat")}, index, index) outs(%r : {right})
  pto.tmatmul ins(%again, %r : {read}, {right}) outs(%o : {acc})
  pto.tstore ins(%o : {acc}) outs(%s : !pto.partition_tensor_view<8x64xf32>)
"""
    text = text.replace("(%a: !pto.ptr<bf16>)", "(%a: !pto.ptr<bf16>, %b: !pto.ptr<bf16>, %c: !pto.ptr<f32>)")
    views = """  %w = pto.make_tensor_view %b, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xbf16>
  %d = pto.make_tensor_view %c, shape = [%c8, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
  %s = pto.partition_view %d, offsets = [%c0, %c0], sizes = [%c8, %c64]
      : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<8x64xf32>
"""
    text = text.replace("  %m = pto", views + "  %m = pto").replace("  return\n", product + "  return\n")
    found = check(text)
    assert found.status is status, [f.message for f in found.findings]


def test_a_run_of_a_text_for_another_machine_says_so(tmp_path: Path) -> None:
    for text, said in ((module(kernel()), ["the text is for `a2a3`; what is known here is `a5`"]), (kernel(), [])):
        (tmp_path / "k.mlir").write_text(text, encoding="utf-8")
        (done,) = ran_kernels(str(tmp_path / "k.mlir"))
        shown, data, _ = told(done)
        assert data["other_machines"] == said
        assert all(f"  machine   {one}" in shown for one in said)
