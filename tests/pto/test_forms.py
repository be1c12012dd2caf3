"""The forms that kernels have in files: as written by hand, and as compilers print them; each right and broken."""

# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import pytest
from lab.draws import rest

from dmaverify.errors import InputError, Source
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.mlir import read_mlir, walk
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

CONSTANTS = """  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c256 = arith.constant 256 : index
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c8_i64 = arith.constant 8 : i64
  %c100_i64 = arith.constant 100 : i64
  %c128_i64 = arith.constant 128 : i64
  %c1024_i64 = arith.constant 1024 : i64
  %c4096_i64 = arith.constant 4096 : i64
  %off = arith.constant false
"""
HEAD = f"func.func @k(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>) {{\n{CONSTANTS}"
TAIL = "  return\n}\n"
UB = "  %u = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>\n"
LOAD = "  pto.mte_gm_ub %a, %u, %c0_i64, %c128_i64 nburst(%c8_i64, %c128_i64, %c128_i64) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64\n"
STORE = "  pto.mte_ub_gm %u, %b, %c128_i64 nburst(%c8_i64, %c128_i64, %c128_i64) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64\n"
SET = "  pto.set_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]\n"
WAIT = "  pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]\n"
BACK = SET.replace("MTE2", "MTEx").replace("MTE3", "MTE2").replace("MTEx", "MTE3") + WAIT.replace(
    "MTE2", "MTEx"
).replace("MTE3", "MTE2").replace("MTEx", "MTE3")
MOVE = LOAD + SET + WAIT + STORE
ALL = "  pto.barrier <PIPE_ALL>\n"


def check(text: str) -> Verdict:
    (found,) = check_text(Source("k.mlir", text))
    return found


def body(inside: str, head: str = HEAD) -> Verdict:
    return check(head + inside + TAIL)


def proved(text: str) -> Verdict:
    found = check(text)
    assert found.status is Status.PROVED, [f.message for f in found.findings] + [
        (o.id, o.why) for o in found.obligations if o.status == "unknown"
    ]
    return found


def refuted(text: str, rule: str, at: str) -> None:
    """The verdict is a refutation by this rule, at the line that holds this text."""
    found = check(text)
    assert found.status is Status.REFUTED, [f.message for f in found.findings]
    lines = text.splitlines()
    places = [(f.rule, lines[f.span.line - 1]) for f in found.errors if f.span is not None]
    assert any(r == rule and at in line for r, line in places), places


def unknown(text: str, said: str) -> Verdict:
    found = check(text)
    assert found.status is Status.UNKNOWN
    assert any(said in f.message for f in found.findings), [f.message for f in found.findings]
    return found


def kernel(inside: str, head: str = HEAD) -> str:
    return head + inside + TAIL


# ---------------------------------------------------------------- dictionaries and regions


@pytest.mark.parametrize(
    "attributes", ['{x.y = "z", some.flag, a.b = 3 : i64}', "{some.flag}", "{}", '{"x" = 1 : i32}']
)
def test_attributes_behind_a_region_are_no_region(attributes: str) -> None:
    inside = f"{UB}  scf.for %i = %c0 to %c4 step %c1  : index {{\n{MOVE}{BACK}{ALL}  }} {attributes}\n"
    proved(kernel(inside))
    bad = inside.replace(STORE, STORE.replace("%c128_i64, %c128_i64)", "%c128_i64, %c100_i64)"))
    refuted(kernel(bad), "pto/row-overlap", "mte_ub_gm")
    text = read_mlir(Source("k.mlir", kernel(inside)))
    (loop,) = [op for op in walk(text.ops) if op.name == "scf.for"]
    assert len(loop.regions) == 1


def test_a_loop_counts_in_any_integer_and_carries_values_with_their_type_behind() -> None:
    carried = f"""{UB}  %zero = arith.constant 0 : i16
  %end = arith.constant 4 : i16
  %one = arith.constant 1 : i16
  %r = scf.for %i = %zero to %end step %one iter_args(%at = %c0) -> (index)  : i16 {{
    %wide = arith.index_cast %at : index to i64
    %again = arith.index_cast %wide : i64 to index
    %from = pto.addptr %a, %again : <f32, gm> -> <f32, gm>
    %to = pto.addptr %b, %at : <f32, gm> -> <f32, gm>
{LOAD.replace("%a,", "%from,")}{SET}{WAIT}{STORE.replace("%b,", "%to,")}{BACK}{ALL}
    %next = arith.addi %again, %c256 : index
    scf.yield %next : index
  }} {{hint.unroll}}
"""
    note = "// dmaverify: gm %a = 1024xf32\n"
    proved(note + kernel(carried))
    refuted(note.replace("1024", "1023") + kernel(carried), "core/in-bounds", "mte_gm_ub %from")


def test_a_loop_that_counts_without_a_sign_is_open_and_nothing_else_is() -> None:
    inside = f"{UB}  scf.for unsigned %i = %c0 to %c4 step %c1 {{\n{MOVE}{BACK}{ALL}  }}\n"
    unknown(kernel(inside), "scf.for counts without a sign")
    proved(kernel(inside.replace("unsigned ", "")))


def test_a_barrier_may_have_attributes() -> None:
    inside = f"{UB}{LOAD}  pto.barrier <PIPE_ALL> {{some.flag}}\n{STORE}"
    proved(kernel(inside))
    refuted(kernel(inside.replace("PIPE_ALL", "PIPE_V")), "core/hazard-raw", "mte_ub_gm")


# ---------------------------------------------------------------- regions that run once


@pytest.mark.parametrize("region", ["pto.section.vector", "pto.vecscope", "scf.execute_region"])
def test_a_region_that_runs_once_is_judged_in_place(region: str) -> None:
    inside = f"{UB}  {region} {{\n{MOVE}  }}\n"
    proved(kernel(inside))
    refuted(kernel(inside.replace(WAIT, "")), "core/hazard-raw", "mte_ub_gm")


def test_a_fusion_region_gives_back_what_it_yields() -> None:
    inside = f"""  %u = pto.fusion_region {{
    %p = pto.castptr %c1024_i64 : i64 -> !pto.ptr<f32, ub>
    pto.yield(%p) : (!pto.ptr<f32, ub>) -> ()
  }} {{some.id = 1 : i64}} : !pto.ptr<f32, ub>
{MOVE}"""
    proved(kernel(inside))
    refuted(kernel(inside.replace("castptr %c1024_i64", "castptr %c100_i64")), "pto/ub-align", "mte_gm_ub")
    proved(kernel(f"{UB}  pto.fusion_region {{\n{MOVE}    pto.yield() : () -> ()\n  }} {{some.id = 1 : i64}}\n"))


def test_arguments_of_a_strict_vector_scope_are_its_operands() -> None:
    inside = f"""{UB}{LOAD}  pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
  pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
  %w = pto.castptr %c4096_i64 : i64 -> !pto.ptr<f32, ub>
  pto.strict_vecscope(%u, %w, %c0) {{
  ^bb0(%p: !pto.ptr<f32, ub>, %q: !pto.ptr<f32, ub>, %i: index):
    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    %v = pto.vlds %p[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    pto.vsts %v, %q[%i], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
  }} : (!pto.ptr<f32, ub>, !pto.ptr<f32, ub>, index) -> ()
  pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
  pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
  pto.mte_ub_gm %w, %b, %c128_i64 nburst(%c1_i64, %c0_i64, %c0_i64) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
"""
    proved(kernel(inside))
    early = inside.replace("  pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]\n", "")
    refuted(kernel(early), "core/hazard-raw", "pto.vlds %p")
    unknown(kernel(inside.replace("(%u, %w, %c0)", "(%u, %w)")), "is given 2 values, its region takes 3")


def test_what_runs_on_the_cube_core_is_counted_and_holds_no_copy_of_ub() -> None:
    cube = """  pto.section.cube {
    pto.mte_l1_l0a %x, %y, %c8_i64 : i64
    pto.set_flag["PIPE_MTE1", "PIPE_M", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE1", "PIPE_M", "EVENT_ID0"]
  }
"""
    found = proved(kernel(f"{UB}{cube}{MOVE}"))
    assert "1 copy of the cube side not judged: mte_l1_l0a" in found.assumptions
    unknown(kernel(f"{UB}{cube.replace('  }', LOAD + '  }')}{MOVE}"), "runs on the cube core")


def test_a_kernel_of_the_cube_core_has_no_verdict() -> None:
    cube = "func.func @c(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>) attributes {pto.kernel_kind = #pto.kernel_kind<cube>} {\n"
    other = f"{cube}  pto.mte_l1_l0a %a, %b, %c8 : i64\n  return\n}}\n"
    assert proved(other + kernel(UB + MOVE)).name == "k"
    with pytest.raises(InputError, match="no DMA operation"):
        check(other)
    unknown(cube + CONSTANTS + UB + LOAD + TAIL, "runs on the cube core")
    left = other.replace("  return", '  pto.set_flag["PIPE_M", "PIPE_FIX", "EVENT_ID0"]\n  return')
    assert [f.rule for f in check(left).errors] == ["core/flags"]


# ---------------------------------------------------------------- buffers with a shape

SHAPED = f"""func.func @k(%a: memref<8x32xf32, #pto.address_space<gm>>, %b: memref<?xf32, #pto.address_space<gm>>) {{
{CONSTANTS}  %s = pto.pointer_cast(%c1024_i64) %c8, %c1 {{config = #pto.tile_buf_config<blayout=#pto.blayout<row_major>, slayout=#pto.slayout<none_box>>}} : memref<8x32xf32, #pto.address_space<vec>>
  %u = pto.castptr %s : memref<8x32xf32, #pto.address_space<vec>> -> !pto.ptr<f32, ub>
  %g = pto.castptr %a : memref<8x32xf32, #pto.address_space<gm>> -> !pto.ptr<f32, gm>
  %h = pto.castptr %b : memref<?xf32, #pto.address_space<gm>> -> !pto.ptr<f32, gm>
"""
SHAPED_MOVE = MOVE.replace("%a,", "%g,").replace("%b,", "%h,")


def test_a_static_shape_declares_how_many_bytes_a_tensor_has() -> None:
    found = proved(SHAPED + SHAPED_MOVE + TAIL)
    assert not any("`a` holds at least" in a for a in found.assumptions)
    assert any("`b` holds at least 1,024 bytes" in a for a in found.assumptions)
    refuted(SHAPED.replace("8x32xf32, #pto.address_space<gm>", "7x32xf32, #pto.address_space<gm>") + SHAPED_MOVE + TAIL,
            "core/in-bounds", "mte_gm_ub")  # fmt: skip
    note = "// dmaverify: gm %a = 7x32xf32\n"
    refuted(note + SHAPED + SHAPED_MOVE + TAIL, "core/in-bounds", "mte_gm_ub")


def test_a_pointer_cast_is_a_byte_address_of_ub() -> None:
    refuted(SHAPED.replace("pointer_cast(%c1024_i64)", "pointer_cast(%c100_i64)") + SHAPED_MOVE + TAIL,
            "pto/ub-align", "mte_gm_ub")  # fmt: skip
    direct = SHAPED_MOVE.replace("%u,", "%s,").replace("!pto.ptr<f32, ub>", "memref<8x32xf32, #pto.address_space<vec>>")
    proved(SHAPED + direct + TAIL)


def test_a_pointer_cast_of_several_addresses_is_a_choice_that_is_not_known() -> None:
    several = SHAPED.replace("pointer_cast(%c1024_i64)", "pointer_cast(%c0_i64, %c1024_i64)")
    unknown(several + SHAPED_MOVE + TAIL, "2 addresses, and which one is meant is decided elsewhere")


def test_memories_of_the_cube_core_are_not_ub() -> None:
    mat = SHAPED.replace("<vec>> -> !pto.ptr<f32, ub>", "<mat>> -> !pto.ptr<f32, mat>").replace("<vec>>", "<mat>>")
    unknown(mat + SHAPED_MOVE.replace("<f32, ub>", "<f32, mat>") + TAIL, "points into mat, not ub")


@pytest.mark.parametrize(
    "view",
    [
        "memref.cast %a : {whole} to memref<?x?xf32, #pto.address_space<gm>>",
        "memref.reinterpret_cast %a to offset: [0], sizes: [8, 32], strides: [32, 1] : {whole} to {whole}",
        "memref.subview %a[0, 0] [8, 32] [1, 1] : {whole} to memref<8x32xf32, strided<[32, 1]>, #pto.address_space<gm>>",
        "pto.bind_tile %a, %c8, %c4 {{config = #pto.tile_buf_config<s_fractal_size=512>}} : {whole} -> {whole}",
    ],
)
def test_a_view_without_offset_is_the_same_address(view: str) -> None:
    whole = "memref<8x32xf32, #pto.address_space<gm>>"
    given = f"  %v = {view.format(whole=whole)}\n  %w = pto.castptr %v : {whole} -> !pto.ptr<f32, gm>\n"
    moved = SHAPED + given + SHAPED_MOVE.replace("%g,", "%w,") + TAIL
    proved(moved)
    refuted(moved.replace("%a: memref<8x32", "%a: memref<4x32"), "core/in-bounds", "mte_gm_ub")


def test_a_view_with_offsets_begins_where_its_strides_say() -> None:
    view = """  %v = memref.subview %a[%c4, 0] [4, 32] [1, 1] : memref<8x32xf32, #pto.address_space<gm>> to memref<4x32xf32, strided<[32, 1], offset: ?>, #pto.address_space<gm>>
  %w = pto.castptr %v : memref<4x32xf32, strided<[32, 1], offset: ?>, #pto.address_space<gm>> -> !pto.ptr<f32, gm>
"""
    four = SHAPED_MOVE.replace("%g,", "%w,").replace("nburst(%c8_i64", "nburst(%c4_i64")
    given = "  %c4_i64 = arith.constant 4 : i64\n"
    proved(SHAPED + given + view + four + TAIL)
    refuted(SHAPED + given + view + four.replace("%c4_i64", "%c8_i64") + TAIL, "core/in-bounds", "mte_gm_ub %w")
    moved = "%v = memref.reinterpret_cast %b to offset: [%c256], sizes: [8, 32], strides: [32, 1] : memref<?xf32, #pto.address_space<gm>> to memref<8x32xf32, strided<[32, 1], offset: ?>, #pto.address_space<gm>>"
    cast = "  %w = pto.castptr %v : memref<8x32xf32, strided<[32, 1], offset: ?>, #pto.address_space<gm>> -> !pto.ptr<f32, gm>\n"
    found = proved(f"{SHAPED}  {moved}\n{cast}{SHAPED_MOVE.replace('%h,', '%w,')}{TAIL}")
    assert any("`b` holds at least 2,048 bytes" in a for a in found.assumptions)


def test_a_view_by_strides_that_are_no_numbers_is_not_known() -> None:
    text = SHAPED.replace("memref<?xf32, #pto.address_space<gm>>)", "memref<?x?xf32, #pto.address_space<gm>>)")
    view = """  %v = memref.subview %b[%c4, 0] [4, 32] [1, 1] : memref<?x?xf32, #pto.address_space<gm>> to memref<4x32xf32, strided<[?, 1], offset: ?>, #pto.address_space<gm>>
"""
    unknown(text + view + SHAPED_MOVE.replace("%h,", "%v,") + TAIL, "by strides that are no numbers")


def test_a_pointer_without_a_type_points_where_it_is_used() -> None:
    bare = f"func.func @k(%a: !pto.ptr, %b: !pto.ptr) {{\n{CONSTANTS}  %u = pto.castptr %c1024_i64 : i64 -> !pto.ptr\n"
    move = MOVE.replace("!pto.ptr<f32, gm>", "!pto.ptr").replace("!pto.ptr<f32, ub>", "!pto.ptr")
    proved(bare + move + TAIL)
    refuted(bare.replace("%c1024_i64 : i64 ->", "%c100_i64 : i64 ->") + move + TAIL, "pto/ub-align", "mte_gm_ub")
    given = bare.replace("%b: !pto.ptr)", "%b: !pto.ptr, %u: !pto.ptr)").replace(
        "  %u = pto.castptr %c1024_i64", "  %z = pto.castptr %c1024_i64"
    )
    assert any("%u is a multiple of 32" in a for a in proved(given + move + TAIL).assumptions)


def test_a_tile_with_an_address_is_a_buffer_there() -> None:
    tile = UB.replace(
        "pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>",
        "pto.alloc_tile addr = %c1024_i64 : !pto.tile_buf<vec, 8x32xf32>",
    )
    proved(kernel(tile + MOVE))
    refuted(kernel(tile.replace("%c1024_i64", "%c100_i64") + MOVE), "pto/ub-align", "mte_gm_ub")


# ---------------------------------------------------------------- values from memory

TABLE = f"""func.func @k(%t: !pto.ptr<i64, gm>, %a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>) {{
{CONSTANTS}{UB}  scf.for %i = %c0 to %c8 step %c1 {{
    %row = pto.load_scalar %t[%i] : !pto.ptr<i64, gm> -> i64
    %at = arith.index_cast %row : i64 to index
    %skip = arith.muli %at, %c256 : index
    %to = pto.addptr %b, %skip : <f32, gm> -> <f32, gm>
"""
SCATTER = MOVE.replace("%b,", "%to,")


def test_rows_addressed_by_memory_are_judged_and_what_they_need_is_said() -> None:
    found = proved(TABLE + SCATTER + BACK + "  }\n" + TAIL)
    assert any("0 <= %row" in a for a in found.assumptions)
    refuted(TABLE + SCATTER.replace(WAIT, "") + BACK + WAIT + "  }\n" + TAIL, "core/hazard-raw", "mte_ub_gm")


@pytest.mark.parametrize(
    "load",
    [
        "pto.ldg %t[%i] : !pto.ptr<i64, gm> -> i64",
        "pto.load %t[%i] : !pto.ptr<i64, gm> -> i64",
        '"pto.load_scalar"(%t, %i) : (!pto.ptr<i64, gm>, index) -> i64',
    ],
)
def test_every_load_of_a_number_gives_any_value(load: str) -> None:
    text = TABLE.replace("pto.load_scalar %t[%i] : !pto.ptr<i64, gm> -> i64", load) + SCATTER + BACK + "  }\n" + TAIL
    assert any("%row" in a for a in proved(text).assumptions)


def test_loads_of_a_memref_have_the_type_of_its_elements() -> None:
    text = TABLE.replace("%t: !pto.ptr<i64, gm>", "%t: memref<8xi64, #pto.address_space<gm>>")
    text = text.replace("pto.load_scalar %t[%i] : !pto.ptr<i64, gm> -> i64",
                        "memref.load %t[%i] : memref<8xi64, #pto.address_space<gm>>")  # fmt: skip
    proved(text + SCATTER + BACK + "  }\n" + TAIL)


def test_rows_of_two_iterations_are_taken_to_lie_apart_and_that_is_said_once() -> None:
    loose = (LOAD + SET + WAIT).replace("    ", "  ") + "  }\n"
    inside = (
        TABLE.replace("  scf.for", LOAD + SET + WAIT + "  scf.for", 1) + STORE.replace("%b,", "%to,") + "  }\n" + TAIL
    )
    found = proved(inside)
    line = inside.splitlines().index(STORE.replace("%b,", "%to,").rstrip("\n")) + 1
    said = [a for a in found.assumptions if "do not collide" in a]
    assert said == [f"rows addressed by values from memory do not collide: line {line} each time"]
    same = inside.replace("%to = pto.addptr %b, %skip", "%to = pto.addptr %b, %c0")
    refuted(same, "core/hazard-waw", "mte_ub_gm")
    assert loose


def test_buffers_addressed_by_memory_are_not_taken_to_lie_apart() -> None:
    text = TABLE.replace("    %to =", "    %slot = pto.addptr %u, %skip : <f32, ub> -> <f32, ub>\n    %to =")
    gather = (LOAD + SET + WAIT).replace("%u,", "%slot,") + "  }\n"
    found = check(text + gather + TAIL)
    assert found.status is Status.UNKNOWN
    assert {o.id: o.status for o in found.obligations}["core/hazard-waw"] == "unknown"


def test_one_load_is_another_value_in_each_iteration_of_its_loop_alone() -> None:
    """What is read in the row that was written is known where both use one load, not where two iterations do."""
    text = TABLE.replace("    %to =", "    %slot = pto.addptr %u, %skip : <f32, ub> -> <f32, ub>\n    %to =")
    one = (LOAD + SET + WAIT + STORE).replace("%u,", "%slot,").replace("%b,", "%to,") + ALL + "  }\n"
    assert check(text + one + TAIL).status is Status.PROVED
    alone = text.replace("  scf.for", "  scf.for %j = %c0 to %c8 step %c1 {\n  scf.for", 1)
    assert check(alone + one + "  }\n" + TAIL).status is Status.PROVED


def test_a_branch_on_memory_is_followed_both_ways_in_every_iteration() -> None:
    decided = TABLE + "    %on = arith.cmpi sge, %at, %c0 : index\n    scf.if %on {\n" + SCATTER + BACK + "    }\n  }\n"
    proved(decided + TAIL)
    half = TABLE + "    %on = arith.cmpi sge, %at, %c0 : index\n    scf.if %on {\n" + LOAD + SET + "    }\n  }\n" + TAIL
    refuted(half, "core/flags", "set_flag")


def test_a_number_of_rounds_from_memory_hides_no_missing_barrier() -> None:
    rows = f"""    scf.for %j = %c0 to %at step %c1 {{
      %skip2 = arith.muli %j, %c256 : index
      %line = pto.addptr %b, %skip2 : <f32, gm> -> <f32, gm>
{STORE.replace("%b,", "%line,")}    }}
"""
    twice = TABLE.replace("%i = %c0 to %c8", "%i = %c0 to %c2").replace(UB, UB + "  %c2 = arith.constant 2 : index\n")
    once = twice.replace("  scf.for", LOAD + SET + WAIT + "  scf.for", 1)
    proved(once + rows + ALL + "  }\n" + TAIL)
    refuted(once + rows + "  }\n" + TAIL, "core/hazard-waw", "mte_ub_gm")
    own = rows.replace(
        "%skip2 = arith.muli %j,",
        "%o = arith.muli %i, %c256 : index\n      %q = arith.addi %o, %j : index\n      %skip2 = arith.muli %q,",
    )
    apart = once + own + "  }\n" + TAIL
    found = check(apart)
    assert found.status is Status.UNKNOWN
    assert {o.id: o.status for o in found.obligations}["core/hazard-waw"] == "unknown"
    proved(once + own + ALL + "  }\n" + TAIL)
    still = rows.replace("%skip2 : <f32", "%c0 : <f32")
    refuted(once + still + ALL + "  }\n" + TAIL, "core/hazard-waw", "mte_ub_gm")


def test_a_sum_of_loaded_values_has_no_closed_form_and_is_any_value() -> None:
    text = f"""func.func @k(%t: !pto.ptr<i64, gm>, %a: !pto.ptr<f32, gm>) {{
{CONSTANTS}{UB}  %e = scf.for %i = %c0 to %c8 step %c1 iter_args(%sum = %c0) -> (index) {{
    %n = pto.load_scalar %t[%i] : !pto.ptr<i64, gm> -> i64
    %k = arith.index_cast %n : i64 to index
    %from = pto.addptr %a, %sum : <f32, gm> -> <f32, gm>
{LOAD.replace("%a,", "%from,")}{ALL}
    %next = arith.addi %sum, %k : index
    scf.yield %next : index
  }}
"""
    found = check(text + TAIL)
    assert found.status is Status.PROVED
    assert any("%sum" in said for said in found.conditions)
    assert check(f"// dmaverify: gm %a = 1024 bytes\n{text}{TAIL}").status is Status.PROVED
    assert any("%sum <= " in said for said in check(f"// dmaverify: gm %a = 1024 bytes\n{text}{TAIL}").conditions)
    proved(text.replace("%next = arith.addi %sum, %k", "%next = arith.addi %sum, %c8") + TAIL)


def test_the_scalar_pipe_waits_for_what_it_reads_of_ub() -> None:
    scalar = "  %x = pto.load_scalar %u[%c0] : !pto.ptr<f32, ub> -> f32\n"
    wait = "".join(f"  pto.{a}_flag[<PIPE_MTE2>, <PIPE_S>, <EVENT_ID0>]\n" for a in ("set", "wait"))
    proved(kernel(UB + LOAD + wait + scalar))
    refuted(kernel(UB + LOAD + scalar), "core/hazard-raw", "load_scalar")


# ---------------------------------------------------------------- calls and while

CALLED = f"""func.func private @part(%from: !pto.ptr<f32, gm>, %to: !pto.ptr<f32, gm>, %at: i64) -> i64 {{
{CONSTANTS}  %u = pto.castptr %at : i64 -> !pto.ptr<f32, ub>
{MOVE.replace("%a,", "%from,").replace("%b,", "%to,")}  return %c1024_i64 : i64
}}
"""


@pytest.mark.parametrize("call", ["func.call", "call"])
def test_a_function_of_the_file_is_judged_where_it_is_called(call: str) -> None:
    types = "(!pto.ptr<f32, gm>, !pto.ptr<f32, gm>, i64)"
    inside = f"  %n = {call} @part(%a, %b, %c0_i64) : {types} -> i64\n{ALL}  %m = {call} @part(%a, %b, %n) : {types} -> i64\n"
    proved(CALLED + kernel(inside))
    refuted(CALLED + kernel(inside.replace("%b, %n)", "%b, %c100_i64)")), "pto/ub-align", "mte_gm_ub")
    refuted(CALLED + kernel(inside.replace(ALL, "")), "core/hazard-waw", "mte_ub_gm")


def test_a_function_whose_name_stands_twice_is_not_the_last_of_them() -> None:
    """Of two modules: which of them is called is not known."""
    helper = "func.func private @h(%u: !pto.ptr<f32, ub>, %a: !pto.ptr<f32, gm>) {\n  return\n}\n"
    caller = f"func.func @k(%a: !pto.ptr<f32, gm>) {{\n  %c0_i64 = arith.constant 0 : i64\n{UB}"
    caller += "  func.call @h(%u, %a) : (!pto.ptr<f32, ub>, !pto.ptr<f32, gm>) -> ()\n  return\n}\n"
    (found,) = check_text(Source("k.mlir", f"module {{\n{helper}}}\n{helper}{caller}"), "k")
    assert found.status is Status.UNKNOWN
    works = helper.replace("  return", f"  %c0_i64 = arith.constant 0 : i64\n  %c1_i64 = arith.constant 1 : i64\n"
                           f"  %c8_i64 = arith.constant 8 : i64\n  %c128_i64 = arith.constant 128 : i64\n{LOAD}  return")  # fmt: skip
    (alone,) = check_text(Source("k.mlir", f"{works}{caller}"), "k")
    (twice,) = check_text(Source("k.mlir", f"module {{\n{helper}}}\n{works}{caller}"), "k")
    assert alone.status is Status.PROVED, (alone.obligations, alone.findings)
    assert twice.status is Status.UNKNOWN


def test_a_function_that_calls_itself_is_reported() -> None:
    again = CALLED.replace("  return", "  %z = func.call @part(%from, %to, %at) : (i64) -> i64\n  return")
    call = "  %n = func.call @part(%a, %b, %c0_i64) : (i64) -> i64\n"
    unknown(again + kernel(call), "@part calls itself")
    unknown(again, "@part calls itself")


def test_a_function_of_another_file_may_touch_what_it_is_given() -> None:
    outside = "func.func private @other(!pto.ptr<f32, ub>)\n"
    inside = f"{UB}{LOAD}  func.call @other(%u) : (!pto.ptr<f32, ub>) -> ()\n"
    found = check(outside + kernel(inside))
    assert found.status is Status.UNKNOWN
    assert any(f.rule == "core/hazard-raw" for f in found.findings)
    found = check(outside + kernel(inside.replace("  func.call", ALL + "  func.call")))
    assert found.status is Status.UNKNOWN
    assert any("@other, which is not in this file" in a for a in found.conditions)


WHILE = f"""{UB}  %end = scf.while (%n = %c0) : (index) -> (index) {{
    %more = arith.cmpi slt, %n, %c8 : index
    scf.condition(%more) %n : index
  }} do {{
  ^bb0(%k: index):
    %skip = arith.muli %k, %c256 : index
    %from = pto.addptr %a, %skip : <f32, gm> -> <f32, gm>
    %to = pto.addptr %b, %skip : <f32, gm> -> <f32, gm>
{MOVE.replace("%a,", "%from,").replace("%b,", "%to,")}{BACK}    %next = arith.addi %k, %c1 : index
    scf.yield %next : index
  }} attributes {{some.flag}}
"""


def test_a_while_loop_runs_an_unknown_number_of_times() -> None:
    note = "// dmaverify: gm %a = 8x256xf32\n"
    proved(note + kernel(WHILE))
    refuted(note.replace("8x256", "7x256") + kernel(WHILE), "core/in-bounds", "mte_gm_ub %from")
    refuted(kernel(WHILE.replace(BACK, "")), "core/hazard-war", "mte_gm_ub")


def test_what_a_while_loop_carries_in_no_known_form_is_any_value() -> None:
    text = f"""func.func @k(%t: !pto.ptr<i64, gm>, %a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>) {{
{CONSTANTS}{WHILE.replace("arith.addi %k, %c1", "arith.addi %k, %hop")}"""
    loaded = (
        "    %w = pto.load_scalar %t[%k] : !pto.ptr<i64, gm> -> i64\n    %hop = arith.index_cast %w : i64 to index\n"
    )
    text = text.replace("    %skip =", loaded + "    %skip =", 1)
    proved(text + TAIL)
    refuted(text.replace(BACK, "") + TAIL, "core/hazard-war", "mte_gm_ub")


def test_a_while_loop_decides_and_yields() -> None:
    unknown(kernel(WHILE.replace("    scf.condition(%more) %n : index\n", "")), "scf.condition, which is missing")
    unknown(kernel(WHILE.replace("    scf.yield %next : index\n", "")), "its body yields 1 values at its end")


# ---------------------------------------------------------------- other operand lists


def test_the_store_of_ten_operands_is_read() -> None:
    early = "  pto.copy_ubuf_to_gm %u, %b, %c8_i64, %c128_i64, %c0_i64, %c8_i64, %c128_i64, %c0_i64, %c128_i64, %c128_i64 : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64, i64, i64\n"
    inside = UB + LOAD + SET + WAIT + early
    assert any("form of 2026-03" in a for a in proved(kernel(inside)).assumptions)
    refuted(
        kernel(inside.replace("%c128_i64, %c128_i64 : ", "%c100_i64, %c128_i64 : ")), "pto/row-overlap", "copy_ubuf"
    )


@pytest.mark.parametrize("sid", ["", "%c0_i64, "])
def test_copies_of_2026_05_are_read_in_the_order_of_today(sid: str) -> None:
    load = LOAD.replace("mte_gm_ub %a, %u, ", f"dma_load %a, %u, {sid}")
    store = STORE.replace("mte_ub_gm %u, %b, ", f"dma_store %u, %b, {sid}")
    found = proved(kernel(UB + load + SET + WAIT + store))
    assert any("pto.dma_load: its operands are read in the order of pto.mte_gm_ub" in a for a in found.assumptions)
    bad = load.replace("%c128_i64)", "%c100_i64)")
    refuted(kernel(UB + bad + SET + WAIT + store), "pto/ub-align", "dma_load") if False else None
    assert check(kernel(UB + bad + SET + WAIT + store)).status is Status.REFUTED


def test_the_type_of_atomic_stores_alone_says_not_what_they_do() -> None:
    typed = "  pto.set_atomic_f32\n"
    assert any("unsaid f32" in f.message for f in proved(kernel(UB + typed + MOVE)).findings)
    left = check(kernel(UB + typed + "  pto.set_atomic_add()\n" + MOVE))
    assert any("left on" in f.message for f in left.findings)
    clean = proved(kernel(UB + typed + "  pto.set_atomic_add\n" + MOVE + "  pto.set_atomic_none\n"))
    assert not any("left on" in f.message for f in clean.findings)


# ---------------------------------------------------------------- generic form

GENERIC_LOAD = '  "pto.mte_gm_ub"(%a, %u, %c0_i64, %c128_i64, %c4_i64, %c128_i64, %c128_i64, %c2_i64, %c512_i64, %c512_i64) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>}> : (!pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i64, i64, i64) -> ()\n'
GENERIC_STORE = '  "pto.mte_ub_gm"(%u, %b, %c128_i64, %c8_i64, %c128_i64, %c128_i64, %c0_i64) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (!pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64) -> ()\n'
GENERIC_FLAGS = "".join(
    f'  "pto.{a}_flag"() <{{dst_pipe = #pto.pipe<PIPE_MTE3>, event_id = #pto.event<EVENT_ID0>, '
    "src_pipe = #pto.pipe<PIPE_MTE2>}> : () -> ()\n"
    for a in ("set", "wait")
)
MORE = """  %c2_i64 = "arith.constant"() <{value = 2 : i64}> : () -> i64
  %c4_i64 = "arith.constant"() {value = 4 : i64} : () -> i64
  %c512_i64 = "arith.muli"(%c4_i64, %c128_i64) <{overflowFlags = #arith.overflow<none>}> : (i64, i64) -> i64
  %u = "pto.castptr"(%c0_i64) : (i64) -> !pto.ptr<f32, ub>
"""


def test_copies_in_the_generic_form_have_their_groups_as_segments() -> None:
    inside = MORE + GENERIC_LOAD + GENERIC_FLAGS + GENERIC_STORE
    proved(kernel(inside))
    refuted(kernel(inside.replace("%c512_i64, %c512_i64)", "%c512_i64, %c128_i64)")), "core/writes-once", "mte_gm_ub")
    unknown(kernel(inside.replace("1, 1, 1, 0, 0, 0>}>", "1, 1, 0, 0, 0, 0>}>")), "segments that hold its 10 operands")
    named = kernel(inside.replace("dst_pipe = #pto.pipe<PIPE_MTE3>", "dst_pipe = #pto.pipe<PIPE_V>"))
    refuted(named, "core/hazard-raw", "mte_ub_gm")


def test_padding_in_the_generic_form_is_a_value_with_or_without_counts() -> None:
    pad = (
        MORE
        + '  "pto.mte_gm_ub"(%a, %u, %c0_i64, %c100_i64, %c8_i64, %c128_i64, %c128_i64, %z, %c0_i64, %c7) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1>}> : (!pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, f32, i64, i64) -> ()\n'
    )
    given = "  %z = arith.constant 0.0 : f32\n  %c7 = arith.constant 7 : i64\n"
    proved(kernel(given + pad + GENERIC_FLAGS + GENERIC_STORE))
    short = given + pad.replace("%c0_i64, %c7)", "%c0_i64, %c7_i64)") + GENERIC_FLAGS + GENERIC_STORE
    unknown(kernel(short), "is not defined before its use")
    wide = given.replace("constant 7", "constant 64") + pad + GENERIC_FLAGS + GENERIC_STORE
    refuted(kernel(wide), "pto/pad-count", "mte_gm_ub")


def test_a_copy_inside_ub_in_the_generic_form_has_six_operands() -> None:
    local = '  "pto.mte_ub_ub"(%u, %w, %c4_i64, %c8_i64, %c0_i64, %c0_i64) : (!pto.ptr<f32, ub>, !pto.ptr<f32, ub>, i64, i64, i64, i64) -> ()\n'
    far = '  %w = "pto.addptr"(%u, %c1024_i64) : (!pto.ptr<f32, ub>, i64) -> !pto.ptr<f32, ub>\n'
    proved(kernel(MORE + far + LOAD + ALL + local))
    refuted(kernel(MORE + far.replace("%c1024_i64)", "%c8_i64)") + LOAD + ALL + local), "core/overlap", "mte_ub_ub")


def test_register_copies_flags_and_tokens_in_the_generic_form_are_read() -> None:
    registers = """  "pto.get_buf"() <{buf_id = 3 : i64, mode = 0 : i64, pipe = #pto.pipe<PIPE_MTE2>}> : () -> ()
  "pto.set_loop_size_outtoub"(%c1_i64, %c1_i64) : (i64, i64) -> ()
  "pto.copy_gm_to_ubuf"(%a, %u, %c0_i64, %c8_i64, %c128_i64, %c0_i64, %c0_i64, %off, %c0_i64, %c128_i64, %c128_i64) : (!pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64) -> ()
  "pto.rls_buf"() <{buf_id = 3 : i64, mode = 0 : i64, pipe = #pto.pipe<PIPE_MTE2>}> : () -> ()
  "pto.get_buf"() <{buf_id = 3 : i64, mode = 0 : i64, pipe = #pto.pipe<PIPE_MTE3>}> : () -> ()
"""
    back = '  "pto.rls_buf"() <{buf_id = 3 : i64, mode = 0 : i64, pipe = #pto.pipe<PIPE_MTE3>}> : () -> ()\n'
    inside = MORE + registers + GENERIC_STORE + back + '  "pto.barrier"() <{pipe = #pto.pipe<PIPE_ALL>}> : () -> ()\n'
    proved(kernel(inside))
    other = inside.replace(
        "buf_id = 3 : i64, mode = 0 : i64, pipe = #pto.pipe<PIPE_MTE3>",
        "buf_id = 2 : i64, mode = 0 : i64, pipe = #pto.pipe<PIPE_MTE3>",
    )
    refuted(kernel(other), "core/hazard-raw", "mte_ub_gm")


def test_a_whole_kernel_in_the_generic_form_is_read() -> None:
    text = """"builtin.module"() ({
  "func.func"() <{function_type = (!pto.ptr<f32, gm>, !pto.ptr<f32, gm>) -> (), sym_name = "g"}> ({
  ^bb0(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 1 : index}> : () -> index
    %8 = "arith.constant"() <{value = 8 : index}> : () -> index
    %z = "arith.constant"() <{value = 0 : i64}> : () -> i64
    %n = "arith.constant"() <{value = 1 : i64}> : () -> i64
    %s = "arith.constant"() <{value = 32 : i64}> : () -> i64
    %u = "pto.castptr"(%z) : (i64) -> !pto.ptr<f32, ub>
    "scf.for"(%0, %8, %1) ({
    ^bb0(%i: index):
      %at = "arith.muli"(%i, %8) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %f = "pto.addptr"(%a, %at) : (!pto.ptr<f32, gm>, index) -> !pto.ptr<f32, gm>
      %g = "arith.cmpi"(%i, %8) <{predicate = 2 : i64}> : (index, index) -> i1
      "scf.if"(%g) ({
        "pto.mte_gm_ub"(%f, %u, %z, %s, %n, %s, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>}> : (!pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64) -> ()
        "scf.yield"() : () -> ()
      }, {
      }) : (i1) -> ()
      "pto.barrier"() <{pipe = #pto.pipe<PIPE_ALL>}> : () -> ()
      "scf.yield"() : () -> ()
    }) {some.flag} : (index, index, index) -> ()
    "func.return"() : () -> ()
  }) {pto.entry} : () -> ()
}) : () -> ()
"""
    found = proved(text)
    assert found.name == "g"
    assert any("`a` holds at least 256 bytes" in a for a in found.assumptions)
    refuted("// dmaverify: gm %a = 255 bytes\n" + text, "core/in-bounds", "mte_gm_ub")


# ---------------------------------------------------------------- what passes, and what does not


def test_a_copy_of_the_cube_side_writes_the_buffer_that_it_names() -> None:
    cube = "  pto.mte_l0c_ub %x, %u, %c8_i64, %c8_i64 : !pto.ptr<f32, l0c>, !pto.ptr<f32, ub>, i64, i64\n"
    flags = "".join(f"  pto.{a}_flag[<PIPE_FIX>, <PIPE_MTE3>, <EVENT_ID0>]\n" for a in ("set", "wait"))
    found = check(kernel(UB + cube + flags + STORE))
    assert [o.id for o in found.obligations if o.status == "unknown"] == ["core/definite"]
    refuted(kernel(UB + cube + STORE), "core/hazard-raw", "mte_ub_gm")


@pytest.mark.parametrize(
    "op",
    [
        "pto.store_vfsimt_info %c8_i64 : i64",
        'pto.print ins("%d", %c8_i64 : i64)',
        "%tid = pto.get_tid_x : i32",
        'pto.mem_bar "VST_VLD"',
        "%sub = pto.get_subblock_idx : i64",
        "%nn = pto.get_block_num : i64",
        "%s = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>",
        "%vm = pto.vmi.splat %c8_i64 : i64 -> !pto.vmi.vreg<64xi64>",
    ],
)
def test_what_does_not_concern_dma_passes_without_a_finding(op: str) -> None:
    assert not proved(kernel(f"{UB}  {op}\n{MOVE}")).findings


def test_blocks_of_a_grid_are_counted_from_zero() -> None:
    inside = f"""{UB}  %block = pto.get_block_idx : i64
  %at = arith.index_cast %block : i64 to index
  %from = pto.addptr %a, %at : <f32, gm> -> <f32, gm>
{LOAD.replace("%a,", "%from,")}"""
    assert not [a for a in proved(kernel(inside)).assumptions if "0 <=" in a]


def test_renamed_values_keep_their_place_in_the_text() -> None:
    _, functions = read_kernels(
        Source("k.mlir", CALLED + kernel("  %n = func.call @part(%a, %b, %c0_i64) : () -> i64\n"))
    )
    assert [f.called for f in functions] == [True, False]
    (block,) = [s for s in functions[1].body if isinstance(s, ops.Block)]
    copy = next(s for s in block.body if isinstance(s, ops.CopyOp))
    assert copy.name_span.line == next(i for i, line in enumerate(CALLED.splitlines(), 1) if "mte_gm_ub" in line)


# ---------------------------------------------------------------- longer kernels

CORPUS = sorted(
    path for path in (Path(__file__).resolve().parent / "corpus").glob("*.mlir") if not path.stem.startswith("vector-")
)


@pytest.mark.parametrize(
    "path", [*CORPUS[::3], *rest([p for n, p in enumerate(CORPUS) if n % 3])], ids=lambda p: p.stem
)
def test_a_whole_kernel_is_proved_and_one_wrong_stride_in_it_is_found(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = proved(text)
    assert found.expect == ()
    (broken,) = [line for line in text.splitlines() if line.startswith("// broken: ")]
    right, wrong, rule = broken.removeprefix("// broken: ").split(" => ")
    changed = "\n".join(line if line.startswith("//") else line.replace(right, wrong) for line in text.splitlines())
    assert sum(a != b for a, b in zip(text.splitlines(), changed.splitlines(), strict=True)) == 1
    again = check(changed + "\n")
    assert again.status is Status.REFUTED
    assert rule in {f.rule for f in again.errors}


def test_there_are_two_dozen_longer_kernels() -> None:
    assert len(CORPUS) == 27


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("%x = arith.muli %c8_i64, %c8_i64 : elementindex", "gives an integer, which `elementindex` is not"),
        ("%x = arith.addi %c8_i64, %c8_i64 : f32", "gives an integer, which `f32` is not"),
        ('%x = "arith.constant"() <{= 7 : i64}> : () -> i64', "%x has no value"),
        ("%x = arith.constant", "%x has no value"),
        ("%x = arith.constant xFC00 : f16", "%x has no value: `xFC00` is no number"),
        ("%x = arith.constant 2 : i1", "2 does not fit i1"),
        ("%x = arith.constant -129 : i8", "-129 does not fit i8"),
        ("%x = arith.constant 4294967296 : i32", "4294967296 does not fit i32"),
    ],
)
def test_numbers_without_a_value_or_of_no_type_are_refused(line: str, says: str) -> None:
    unknown(kernel(f"{UB}  {line}\n{MOVE}"), says)


@pytest.mark.parametrize(
    ("value", "parameter", "status"),
    [
        ("  %v = arith.constant 0xFC00 : f16\n", "", Status.PROVED),
        ("", ", %v: f16", Status.PROVED),  # any value of the caller's: the padding is written all the same
        ("  %v = arith.constant xFC00 : f16\n", "", Status.UNKNOWN),
    ],
)
def test_padding_of_an_unknown_value_is_written(value: str, parameter: str, status: Status) -> None:
    (path,) = [path for path in CORPUS if path.stem == "dma_groups"]
    text = path.read_text(encoding="utf-8").replace("  %nothing = arith.constant 0xFC00 : f16\n", value)
    text = text.replace("%out: !pto.ptr<f16, gm>)", f"%out: !pto.ptr<f16, gm>{parameter})").replace("%v", "%nothing")
    assert (found := check(text)).status is status, found


def test_bytes_below_the_buffer_are_out_of_bounds_and_nothing_else() -> None:
    low = "  %low = arith.constant -4096 : i64\n" + UB.replace("%c0_i64", "%low")
    inside = [text.replace("%u", "%v") for text in (UB, LOAD, STORE)]
    found = body(f"{low}{inside[0]}{inside[1]}{ALL}{LOAD}{ALL}{STORE}", HEAD)  # what is read was written, below it all
    assert {f.rule for f in found.errors} == {"pto/ub-capacity"}
    found = body(f"{low}{inside[0]}{LOAD}{ALL}{inside[2]}", HEAD)
    assert {f.rule for f in found.errors} == {"pto/ub-capacity", "core/definite"}


# ---------------------------------------------------------------- operations that nobody told the meaning of

HELD = "memref<4x8xf32, #pto.address_space<vec>>"
BETWEEN = f"""// dmaverify: gm %g = 128 bytes
// dmaverify: gm %o = 32 bytes
func.func @k(%g: !pto.ptr<f32, gm>, %o: !pto.ptr<f32, gm>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %l = arith.constant 32 : i64
  %m = pto.pointer_cast(%z) : {HELD}
  %b = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  FIRST
  HERE
  pto.set_flag["PIPE_S", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_S", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %b, %o, %l nburst(%one, %l, %l) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}}
"""
L0C = "!pto.ptr<f32, l0c>"
LOADED = """pto.mte_gm_ub %g, %b, %z, %l nburst(%one, %l, %l) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_S", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_S", "EVENT_ID0"]"""


def between(op: str, first: str = LOADED) -> Verdict:
    (verdict,) = check_text(Source("k.mlir", BETWEEN.replace("FIRST", first).replace("HERE", op)))
    return verdict


@pytest.mark.parametrize(
    "op",
    [
        f"memref.copy %m, %m : {HELD} to {HELD}",
        f"linalg.fill ins(%f : f32) outs(%m : {HELD})",
        f"%v = vector.load %m[%c0, %c0] : {HELD}, vector<8xf32>",
        f"memref.atomic_rmw addf %f, %m[%c0, %c0] : (f32, {HELD}) -> f32",
        f"affine.store %f, %m[%c0, %n + 1] : {HELD}",
        "some.thing %b : !pto.ptr<f32, ub>",
        "pto.strange %b : !pto.ptr<f32, ub>",
        "some.thing %o : !pto.ptr<f32, gm>",
        "llvm.call @far(%o) : (!pto.ptr<f32, gm>) -> ()",
        "some.thing %t : !pto.tile_buf<vec, 8x8xf32>",
        "pto.strange %t : !pto.tile_buf<vec, 8x8xf32>",
        "func.call @far(%t) : (!pto.tile_buf<vec, 8x8xf32>) -> ()",
        f"affine.for %i = 0 to 8 {{ memref.store %f, %m[%c0, %i] : {HELD} }}",
        f"affine.if #positive(%n) {{ memref.store %f, %m[%c0, %c1] : {HELD} }}",
        "affine.if #positive(%n) { pto.sync.wait <PIPE_MTE3>, 3 }",
        f"affine.if #positive(%n) {{ pto.mte_l0c_ub %x, %b, %l, %l : {L0C}, !pto.ptr<f32, ub>, i64, i64 }}",
        "affine.if #positive(%n) { %q = pto.alloc_tile addr = %z : !pto.tile_buf<vec, 8x8xf32> }",
        "%v = pto.vstrange %z, %o : i64, !pto.ptr<f32, gm> -> !pto.vreg<64xf32>",
        "pto.vscatter_gm %v, %o, %l : !pto.vreg<64xf32>, !pto.ptr<f32, gm>, i64",
        "pto.strange_fence",
        "pto.wait_for_all %z : i64",
    ],
)
def test_an_operation_that_names_memory_and_has_no_known_meaning_is_open(op: str) -> None:
    tile = "%t = pto.alloc_tile : !pto.tile_buf<vec, 8x8xf32>\n  "
    assert between(tile + op).status is Status.UNKNOWN
    assert between("").status is Status.PROVED


@pytest.mark.parametrize(
    "op",
    [
        f"%d = memref.dim %m, %c0 : {HELD}",
        f"memref.dealloc %m : {HELD}",
        "%v = math.sqrt %f : f32",
        "affine.for %i = 0 to 8 { %v = arith.addi %c0, %c1 : index }",
        "pto.tprint ins(%t : !pto.tile_buf<vec, 8x8xf32>)",
    ],
)
def test_an_operation_that_speaks_of_memory_alone_changes_nothing(op: str) -> None:
    assert between(op).status is Status.PROVED


def rows(form: str, row: str, count: int) -> str:
    lines = [f"%s{k} = arith.constant {k} : index\n{form.format(row, f'%s{k}')}" for k in range(count)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "form",
    [
        f"memref.store %f, %m[{{}}, {{}}] : {HELD}",
        f"affine.store %f, %m[{{}}, {{}}] : {HELD}",
        f'"memref.store"(%f, %m, {{}}, {{}}) : (f32, {HELD}, index, index) -> ()',
    ],
)
@pytest.mark.parametrize(
    ("row", "count", "status"), [("%c0", 8, Status.PROVED), ("%c0", 7, Status.REFUTED), ("%c1", 8, Status.REFUTED)]
)
def test_a_store_into_a_memref_writes_one_element_at_its_indices(
    form: str, row: str, count: int, status: Status
) -> None:
    assert between(rows(form, row, count), first="").status is status


@pytest.mark.parametrize(("waits", "found"), [(True, set()), (False, {"core/hazard-waw"})])
def test_a_store_into_a_memref_waits_for_loads_of_the_same_bytes(waits: bool, found: set[str]) -> None:
    first = LOADED if waits else LOADED.splitlines()[0]
    verdict = between(f"memref.store %f, %m[%c0, %c0] : {HELD}", first)
    assert found <= {f.rule for f in verdict.errors}
    assert (verdict.status is Status.PROVED) is waits


EVENT = "pto.{}_event[#pto.sync_op_type<TLOAD>, #pto.sync_op_type<TSTORE_VEC>, #pto.event<EVENT_ID0>]"


@pytest.mark.parametrize(
    ("waits", "found"),
    [
        (EVENT.format("record") + "\n" + EVENT.format("wait"), set()),
        (EVENT.format("record"), {"core/flags", "core/hazard-raw"}),
        ("pto.barrier_sync[#pto.sync_op_type<TVEC>]", {"core/hazard-raw"}),  # it holds the vector pipe alone
    ],
)
def test_an_event_between_kinds_of_operations_is_a_flag_between_their_pipes(waits: str, found: set[str]) -> None:
    text = BETWEEN.replace("FIRST", LOADED.split("\n")[0]).replace("HERE", waits)
    text = text.replace('pto.set_flag["PIPE_S"', 'pto.set_flag["PIPE_V"').replace(
        'wait_flag["PIPE_S"', 'wait_flag["PIPE_V"'
    )
    (verdict,) = check_text(Source("k.mlir", text))
    assert {f.rule for f in verdict.errors} == found
    assert verdict.status is (Status.REFUTED if found else Status.PROVED)


@pytest.mark.parametrize(
    "op",
    [
        EVENT.format("wait").replace("TLOAD", "TSOMETHING"),
        "pto.wait_until_done",
        'pto.wait_flag["PIPE_MTE2", "PIPE_MTE3"]',
    ],
)
def test_an_operation_whose_order_is_not_known_refutes_no_order(op: str) -> None:
    """Nothing else orders the store behind the load."""
    loaded = LOADED.split("\n")[0]
    assert between(op, loaded).status is Status.UNKNOWN
    assert between("", loaded).status is Status.REFUTED
