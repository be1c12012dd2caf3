"""What two kernels compute between equal copies: `equiv` says PROVED only of the same work, wired alike."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.jobs.same_kernels import same_functions
from dmaverify.machines.pto.named import NamedFunction, named_in

REG = "!pto.vreg<64xf32>"
KERNEL = f"""
func.func private @twice(%t: {REG}, %on: !pto.mask<b32>) -> {REG} {{
  %d = pto.vadd %t, %t, %on : {REG}, {REG}, !pto.mask<b32> -> {REG}
  return %d : {REG}
}}
func.func @k(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>, %x: i64, %p: f32, %s: f32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %len = arith.constant 256 : i64
  %ob = arith.constant 1024 : i64
  %row = arith.constant 224 : i64
  %sum = arith.addf %p, %s : f32
  %a = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %b = pto.castptr %ob : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %in, %a, %z, %row nburst(%two, %len, %len) pad(%sum, %z, %c8)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, pad f32, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {{
    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    %v = pto.vlds %a[%c0] : !pto.ptr<f32, ub> -> {REG}
    %w = pto.vlds %a[%c64] : !pto.ptr<f32, ub> -> {REG}
    %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%f = %v, %g = %w) -> ({REG}, {REG}) {{
      %d = pto.vadd %f, %g, %m : {REG}, {REG}, !pto.mask<b32> -> {REG}
      %e = pto.vsub %f, %g, %m : {REG}, {REG}, !pto.mask<b32> -> {REG}
      scf.yield %d, %e : {REG}, {REG}
    }}
    %less = arith.cmpi slt, %x, %two : i64
    %y = scf.if %less -> ({REG}) {{
      scf.yield %v : {REG}
    }} else {{
      %n = pto.vmuls %w, %p, %m : {REG}, f32, !pto.mask<b32> -> {REG}
      scf.yield %n : {REG}
    }}
    %h = func.call @twice(%y, %m) : ({REG}, !pto.mask<b32>) -> {REG}
    %q = pto.vmax %h, %r#0, %m : {REG}, {REG}, !pto.mask<b32> -> {REG}
    pto.vsts %q, %b[%c0], %m : {REG}, !pto.ptr<f32, ub>, !pto.mask<b32>
    pto.vsts %r#1, %b[%c64], %m : {REG}, !pto.ptr<f32, ub>, !pto.mask<b32>
  }}
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %b, %out, %len nburst(%two, %len, %len) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}}
""".replace("%c8)", "%eight)").replace("  %row =", "  %eight = arith.constant 8 : i64\n  %row =")


def kernel(text: str) -> NamedFunction:
    (found,) = (one for one in named_in(Source("k.mlir", text)) if one.name == "k")
    return found


def test_a_kernel_does_the_work_of_itself_under_other_names() -> None:
    assert same_functions(kernel(KERNEL), kernel(KERNEL)).status == "proved"
    other = KERNEL
    for old, new in (("%d", "%delta"), ("%f,", "%first,"), ("%f =", "%first ="), ("%y", "%chosen"), ("%r:", "%rr:")):
        other = other.replace(old, new)
    assert same_functions(kernel(KERNEL), kernel(other.replace("%r#", "%rr#"))).status == "proved"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scf.yield %d, %e", "scf.yield %e, %d"),
        ("(%f = %v, %g = %w)", "(%f = %w, %g = %v)"),
        ("to %c3 step", "to %c1 step"),
        ("to %c3 step %c1", "to %c3 step %c3"),
        ("pto.vsts %r#1", "pto.vsts %r#0"),
        ("cmpi slt", "cmpi sge"),
        ("cmpi slt, %x, %two", "cmpi slt, %two, %x"),
        (f"scf.yield %v : {REG}", f"scf.yield %w : {REG}"),
        (f"scf.yield %n : {REG}", f"scf.yield %w : {REG}"),
        ("pto.vmuls %w, %p", "pto.vmuls %w, %s"),
        ("pto.vadd %t, %t", "pto.vsub %t, %t"),
        ("@twice(%y, %m)", "@twice(%v, %m)"),
        (f"%d = pto.vadd %f, %g, %m : {REG}, {REG}", "%d = pto.vadd %f, %g, %m : !pto.vreg<64xi32>, !pto.vreg<64xi32>"),
        ("arith.addf %p, %s", "arith.mulf %p, %s"),
        ("pad(%sum,", "pad(%s,"),
    ],
)
def test_other_work_between_the_same_copies_is_not_equal(old: str, new: str) -> None:
    assert KERNEL.count(old) == 1
    assert same_functions(kernel(KERNEL), kernel(KERNEL.replace(old, new))).status != "proved"


@pytest.mark.parametrize("rounds", [2, 3])
def test_loops_and_branches_without_work_are_compared_by_what_they_move(rounds: int) -> None:
    copy = "pto.mte_gm_ub %in, %a, %z, %len nburst(%two, %len, %len)"
    copy += " : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64\n"
    head = "func.func @k(%in: !pto.ptr<f32, gm>, %x: i64) {\n%c0 = arith.constant 0 : index\n"
    head += "%c1 = arith.constant 1 : index\n%z = arith.constant 0 : i64\n%two = arith.constant 2 : i64\n"
    head += f"%len = arith.constant 256 : i64\n%n = arith.constant {rounds} : index\n"
    head += "%a = pto.castptr %z : i64 -> !pto.ptr<f32, ub>\n"
    one = head + f"scf.for %i = %c0 to %n step %c1 {{\n{copy}}}\nreturn\n}}\n"
    other = head + copy * 2 + "return\n}\n"
    assert (same_functions(kernel(one), kernel(other)).status == "proved") is (rounds == 2)


CUBE_PART = """  pto.section.cube {
    pto.mte_gm_l1 %a, %x, %z, %l nburst(%one, %l, %l) : !pto.ptr<f32, gm>, !pto.ptr<f16, l1>, i64
    pto.set_flag["PIPE_MTE2", "PIPE_MTE1", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE2", "PIPE_MTE1", "EVENT_ID0"]
  }
"""
BESIDE = """func.func @k(%a: !pto.ptr<f32, gm>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %l = arith.constant 32 : i64
  %more = arith.constant 64 : i64
  %x = pto.castptr %z : i64 -> !pto.ptr<f16, l1>
  %y = pto.castptr %more : i64 -> !pto.ptr<f16, l1>
  %u = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
HERE  pto.mte_gm_ub %a, %u, %z, %l nburst(%one, %l, %l) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  return
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%z, %l nburst", "%z, %more nburst"),
        ("%a, %x", "%a, %y"),
        ('    pto.set_flag["PIPE_MTE2", "PIPE_MTE1", "EVENT_ID0"]\n', ""),
        ("  pto.section.cube", "  pto.set_ctrl %more : i64\n  pto.section.cube"),
        (CUBE_PART, ""),
    ],
)
def test_what_runs_on_the_cube_core_and_what_sets_a_register_is_compared(old: str, new: str) -> None:
    def named(part: str) -> NamedFunction:
        (one,) = named_in(Source("k.mlir", BESIDE.replace("HERE", part)))
        return one

    assert old in CUBE_PART
    assert same_functions(named(CUBE_PART), named(CUBE_PART)).status == "proved"
    assert same_functions(named(CUBE_PART), named(CUBE_PART.replace(old, new))).status == "unknown"
