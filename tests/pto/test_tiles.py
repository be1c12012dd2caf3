"""Kernels on tiles, which the assembler lowers: parts within tensors, tiles written before they are read, layouts."""

from __future__ import annotations

import re

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.limits import shipped
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.tiles import INDEXED, tile_work
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

HEAD = """func.func @k(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %n: index, %on: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %f = arith.constant 0.0 : f32
  %at = arith.constant 4096 : i64
  %odd = arith.constant 100 : i64
  %far = arith.constant 262112 : i64
  %av = pto.make_tensor_view %a, shape = [%c32, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
  %bv = pto.make_tensor_view %b, shape = [%c32, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
"""
VEC = "!pto.tile_buf<vec, 8x16xf32>"


def part(name: str, view: str, offsets: str = "%c0, %c0", sizes: str = "%c8, %c16") -> str:
    kinds = "!pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<?x?xf32>"
    return f"  %{name} = pto.partition_view %{view}, offsets = [{offsets}], sizes = [{sizes}] : {kinds}\n"


def tile(name: str, kind: str = VEC, given: str = "") -> str:
    return f"  %{name} = pto.alloc_tile {given} : {kind}\n"


def op(name: str, ins: str, outs: str) -> str:
    kinds = ", ".join({"%f": "f32", "%c": "index"}.get(one.strip()[:2], VEC) for one in ins.split(","))
    return f"  pto.{name} ins({ins} : {kinds}) outs({outs} : {VEC})\n"


PARTS = part("pa", "av") + part("pb", "bv")
MOVE = PARTS + tile("t") + op("tload", "%pa", "%t") + op("tstore", "%t", "%pb")


def check(body: str, notes: str = "") -> Verdict:
    (found,) = check_text(Source("k.pto", f"{notes}{HEAD}{body}  return\n}}\n"))
    return found


def run(body: str, *, one_tile: bool = False) -> set[str]:
    _, (function,) = read_kernels(Source("k.pto", f"{HEAD}{body}  return\n}}\n"))
    return run_kernel(function, {"a": 8192, "b": 8192}, {"n": 0, "on": 0}, one_tile=one_tile).found


def errors(verdict: Verdict) -> list[str]:
    return sorted({f.rule for f in verdict.errors})


def test_a_load_and_a_store_of_a_tile_are_proved_in_the_order_of_the_text() -> None:
    verdict = check(MOVE)
    assert verdict.status is Status.PROVED
    said = "every element of 2 tile moves in the order of the text, which the assembler keeps by flags of its own"
    assert verdict.claim == said
    said = ("`a` holds at least 1,856 bytes, written where they are read", "`b` holds at least 1,856 bytes")
    apart = "GM tensors behind different arguments do not overlap"
    assert verdict.conditions == (*(f"{one} (its extent is not declared)" for one in said), apart)
    assert set(verdict.conditions) <= set(verdict.assumptions)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (op("tload", "%pa", "%t"), "", "core/definite"),
        ("%av, offsets = [%c0, %c0]", "%av, offsets = [%c0, %c64]", "core/in-bounds"),
        ("%av, offsets = [%c0, %c0], sizes = [%c8", "%av, offsets = [%c32, %c0], sizes = [%c8", "core/in-bounds"),
        (tile("t"), tile("t", given="addr = %odd"), "core/well-formed"),
        (tile("t"), tile("t", given="addr = %far"), "pto/ub-capacity"),
        (tile("t"), tile("t", "!pto.tile_buf<vec, 8x16xf16>"), "core/well-formed"),
    ],
)
def test_faults_of_tiles_are_refuted(old: str, new: str, found: str) -> None:
    assert old in MOVE
    assert found in errors(check(MOVE.replace(old, new)))


@pytest.mark.parametrize(
    "body",
    [
        MOVE.replace("sizes = [%c8, %c16]", "sizes = [%c9, %c16]", 1),  # more elements than the tile has
        PARTS + tile("t", "!pto.tile_buf<vec, 8x16xf32, valid=?x16>", "valid_row = %n") + op("tstore", "%t", "%pb"),
        MOVE + op("tscatter", "%t, %t", "%t"),  # not known
        MOVE + op("tbrandnew", "%t", "%t"),
        MOVE + "  pto.tstore ins(%nobody : f32) outs(%pb : f32)\n",
    ],
)
def test_what_is_not_known_of_tiles_is_open(body: str) -> None:
    verdict = check(body)
    assert verdict.status is not Status.PROVED
    assert verdict.status is Status.UNKNOWN or errors(verdict) == ["core/in-bounds"]


OF_NOTHING = PARTS + "".join(map(tile, "tuv")) + op("tload", "%pa", "%t") + op("tadd", "%t, %u", "%v")


@pytest.mark.parametrize(
    ("body", "status", "found"),
    [
        (OF_NOTHING + op("tstore", "%v", "%pb"), Status.REFUTED, {"computed", "definite"}),
        (OF_NOTHING + op("tabs", "%v", "%u") + op("tstore", "%u", "%pb"), Status.REFUTED, {"computed", "definite"}),
        (OF_NOTHING + op("tabs", "%t", "%v") + op("tstore", "%v", "%pb"), Status.UNKNOWN, {"computed"}),
        (OF_NOTHING + op("tstore", "%t", "%pb"), Status.UNKNOWN, {"computed"}),
        (PARTS + tile("u") + f"  scf.for %i = %c0 to %c4 step %c1 {{\n{op('tload', '%pa', '%u')}  }}\n"
         + op("tabs", "%u", "%u") + op("tstore", "%u", "%pb"), Status.PROVED, set()),
    ],
    ids=["stored", "computed again", "made anew", "not stored", "loaded in a loop"],
)  # fmt: skip
def test_what_is_computed_of_nothing_is_refuted_where_it_is_stored(body: str, status: Status, found: set[str]) -> None:
    verdict = check(body)
    assert (verdict.status, errors(verdict)) == (status, ["core/definite"] if status is Status.REFUTED else [])
    assert run(body) == found


LOADED = part("pa", "av") + tile("t") + op("tload", "%pa", "%t")
COLUMN = tile("s", "!pto.tile_buf<loc=vec, dtype=f32, rows=8, cols=1, v_row=8, v_col=1, blayout=col_major>")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (op("tadd", "%t, %t", "%u"), Status.PROVED),
        (op("tadds", "%t, %f", "%u"), Status.PROVED),
        (op("texpands", "%f", "%u"), Status.PROVED),
        (op("tadd", "%t, %u", "%u"), Status.REFUTED),
        (COLUMN + op("trowmax", "%t, %u", "%s") + op("trowexpand", "%s", "%u"), Status.PROVED),
        (COLUMN + op("trowexpand", "%s", "%u"), Status.REFUTED),
        (COLUMN + op("trowmax", "%t, %u", "%s") + op("trowexpandsub", "%t, %s", "%u"), Status.PROVED),
        (op("trowmax", "%t, %t", "%u"), Status.REFUTED),  # its first column alone is written
        (op("tcolmax", "%t", "%u"), Status.REFUTED),
        (op("tcolmax", "%t", "%u") + op("tcolexpand", "%u", "%u"), Status.PROVED),
        (op("tfillpad", "%t", "%u"), Status.PROVED),
        (op("textract", "%t, %c0, %c0", "%u"), Status.PROVED),
        (op("textract", "%t, %c1, %c0", "%u"), Status.REFUTED),  # one row too many
        (op("tinsert", "%t, %c0, %c0", "%u"), Status.PROVED),
        (op("tinsert", "%t, %c0, %c1", "%u"), Status.REFUTED),
        (op("tcmp", "%t, %t", "%u"), Status.UNKNOWN),  # a bit for each element is less than that
        ("  scf.if %on {\n" + op("tadd", "%t, %t", "%u") + "  }\n", Status.REFUTED),
        ("  scf.for %i = %c0 to %c4 step %c1 {\n" + op("tadd", "%t, %t", "%u") + "  }\n", Status.PROVED),
    ],
)
def test_operations_write_what_the_manual_says(body: str, status: Status) -> None:
    text = LOADED + part("pb", "bv") + tile("u") + body + op("tstore", "%u", "%pb")
    assert check(text).status is status, check(text)


COMPARED = "!pto.tile_buf<vec, 8x32xui8, valid=8x16>"
BITS = """  %b8 = pto.castptr %b : !pto.ptr<f32> -> !pto.ptr<ui8>
  %v8 = pto.make_tensor_view %b8, shape = [%c32, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xui8>
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (op("tadd", "%t, %u", "%u"), "line 2. .of pto.tadd; nothing surely wrote all that it reads."),
        (tile("s", given="addr = %at") + tile("r", "!pto.tile_buf<vec, 4x16xf32>", "addr = %at")
         + op("tadd", "%t, %t", "%s") + op("tcolsum", "%t, %r", "%u") + op("tadd", "%s, %s", "%u"),
         "pto.tcolsum at line 2.: it writes a tile of another type on the same bytes"),
    ],
)  # fmt: skip
def test_a_reason_names_what_made_bytes_unknown(body: str, said: str) -> None:
    text = LOADED + part("pb", "bv") + tile("u") + body + op("tstore", "%u", "%pb")
    (why,) = [o.why for o in check(text).obligations if o.id == "core/definite"]
    assert re.search(said, why), why


def test_the_tile_that_a_reason_offers_for_a_packed_mask_is_proved() -> None:
    def kernel(kind: str, cols: str) -> Verdict:
        parts = part("pb", "v8", sizes=f"%c8, {cols}").replace("f32", "ui8") + tile("u", kind)
        c2 = "  %c2 = arith.constant 2 : index\n"
        return check(LOADED + c2 + BITS + parts + op("tcmp", "%t, %t", "%u") + op("tstore", "%u", "%pb"))

    (why,) = [o.why for o in kernel(COMPARED, "%c16").obligations if o.id == "core/definite"]
    offered = why[why.index("`!pto") + 1 : why.rindex("`")]
    assert offered == "!pto.tile_buf<vec, 8x32xui8, valid=8x2>"
    assert kernel(offered, "%c2").status is Status.PROVED


AT = "addr = %at"
WIDE = "!pto.tile_buf<vec, 8x32xf32, valid=8x16>"
BESIDE = "!pto.tile_buf<vec, 8x16xf32, valid=4x16>"
SMALL = "!pto.tile_buf<vec, 1x8xf32>"
TWO = part("pb", "bv") + tile("t", given=AT) + op("tload", "%pa", "%t")
LOOP = "  scf.for %i = %c0 to %c4 step %c1 {{\n{0}  }}\n"
FIRST = "    %first = arith.cmpi eq, %i, %c0 : index\n    scf.if %first {{\n{0}    }}\n"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        # a tile that lies on another one's bytes
        (TWO + tile("u", given=AT) + op("tload", "%pa", "%u") + op("tstore", "%u", "%pb"), Status.PROVED),
        (TWO + tile("u", WIDE, AT) + op("tload", "%pa", "%u") + op("tstore", "%t", "%pb"), Status.UNKNOWN),
        (TWO + tile("u", given="addr = %later") + op("tload", "%pa", "%u") + op("tstore", "%t", "%pb"), Status.PROVED),
        (TWO + tile("u", given="addr = %early") + op("tload", "%pa", "%u") + op("tstore", "%t", "%pb"), Status.UNKNOWN),
        # scratch holds nothing behind the operation
        (TWO + tile("u") + op("trems", "%t, %u, %f", "%t") + op("tstore", "%t", "%pb"), Status.PROVED),
        (TWO + tile("u") + op("trems", "%t, %t, %f", "%u") + op("tstore", "%t", "%pb"), Status.REFUTED),
        (TWO + tile("u", SMALL) + op("trsqrt", "%t, %u", "%t") + op("tstore", "%t", "%pb"), Status.PROVED),
        (TWO + tile("u") + op("trsqrt", "%u", "%t") + op("tstore", "%t", "%pb"), Status.UNKNOWN),
        (TWO + tile("u") + op("trsqrt", "%t, %t", "%u") + op("tstore", "%t", "%pb"), Status.UNKNOWN),
        # each round of a loop has a tile of its own
        (
            part("pb", "bv") + LOOP.format(tile("t") + op("tload", "%pa", "%t") + op("tstore", "%t", "%pb")),
            Status.PROVED,
        ),
        (
            part("pb", "bv")
            + LOOP.format(tile("t") + FIRST.format(op("tload", "%pa", "%t")) + op("tstore", "%t", "%pb")),
            Status.REFUTED,
        ),
        # an operand with fewer valid cells than the result
        (TWO + tile("u", BESIDE) + op("tmov", "%t", "%u") + op("tmov", "%u", "%u"), Status.PROVED),
        (TWO + tile("u", BESIDE) + op("tmov", "%t", "%u") + op("tmov", "%u", "%t"), Status.UNKNOWN),
        (TWO + tile("u", BESIDE) + op("tmov", "%t", "%u") + op("trowmax", "%u", "%t"), Status.UNKNOWN),
        # valid regions within their tiles
        (TWO + tile("u", "!pto.tile_buf<vec, 8x16xf32, valid=9x16>"), Status.REFUTED),
        (TWO + tile("u", "!pto.tile_buf<vec, 8x16xf32, valid=?x16>", "valid_row = %c9"), Status.REFUTED),
        (TWO + "  pto.set_validshape %t, %c8, %c9 : !pto.tile_buf<vec, 8x16xf32>\n", Status.PROVED),
        (TWO + "  pto.set_validshape %t, %c9, %c9 : !pto.tile_buf<vec, 8x16xf32>\n", Status.REFUTED),
        # as many elements in other rows
        (TWO + part("pw", "bv", sizes="%c16, %c8") + op("tstore", "%t", "%pw"), Status.UNKNOWN),
    ],
)
def test_a_tile_holds_what_was_given_to_it_last(body: str, status: Status) -> None:
    more = "  %later = arith.constant 4608 : i64\n  %early = arith.constant 4576 : i64\n"
    found = check(part("pa", "av") + more + body)
    assert found.status is status, found


@pytest.mark.parametrize(("offset", "found"), [(0, []), (-1, ["core/in-bounds"])])
def test_no_access_begins_before_its_tensor_whoever_states_its_extent(offset: int, found: list[str]) -> None:
    moved = f"  %back = arith.constant {offset} : index\n"
    moved += "  %low = pto.addptr %a, %back : !pto.ptr<f32> -> !pto.ptr<f32>\n"
    view = "  %lv = pto.make_tensor_view %low, shape = [%c32, %c64], strides = [%c64, %c1]"
    view += " : !pto.tensor_view<?x?xf32>\n"
    assert errors(check(moved + view + MOVE.replace("%av", "%lv"))) == found


ROW = "!pto.tile_buf<loc=vec, dtype=f32, rows=1, cols=128, v_row=1, v_col=128, blayout=row_major>"
COLUMN = ROW.replace(
    "rows=1, cols=128, v_row=1, v_col=128, blayout=row", "rows=128, cols=1, v_row=128, v_col=1, blayout=col"
)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (VEC, Status.PROVED),
        (ROW, Status.PROVED),  # as many elements in other rows
        (COLUMN, Status.PROVED),
        (WIDE, Status.UNKNOWN),  # more of them
        (VEC.replace("8x16xf32", "8x32xf16"), Status.UNKNOWN),  # as many bytes
    ],
)
def test_tiles_of_as_many_elements_at_one_address_are_one_tile_on_condition(kind: str, status: Status) -> None:
    made = tile("t", given=AT) + op("tload", "%pa", "%t") + tile("u", kind, AT)
    body = PARTS + made + op("tabs", "%u", "%u") + op("tstore", "%t", "%pb")
    found = check(body)
    assert found.status is status
    said = "`%t` and `%u`, as many elements at one address, are one tile"
    assert (said in found.conditions) == (status is Status.PROVED)
    if status is Status.PROVED:
        assert not run(body, one_tile=True)
        assert "definite" in run(body)


@pytest.mark.parametrize(
    ("kind", "status"), [(ROW, Status.PROVED), (ROW.replace("v_col=128", "v_col=64"), Status.REFUTED)]
)
def test_of_tiles_taken_as_one_the_bytes_that_were_written_are_known(kind: str, status: Status) -> None:
    made = tile("u", kind, AT) + op("texpands", "%f", "%u") + tile("t", given=AT) + op("tstore", "%t", "%pb")
    body = PARTS + made
    assert check(body).status is status
    assert ("definite" in run(body, one_tile=True)) == (status is not Status.PROVED)


BOXES = "!pto.tile_buf<loc=vec, dtype=f32, rows=8, cols=16, v_row=8, v_col=16, blayout=col_major, slayout=row_major>"


HIGHER = BOXES.replace("rows=8, cols=16, v_row=8, v_col=16", "rows=16, cols=8, v_row=16, v_col=8")
TURNED = "blayout=row_major, slayout=col_major"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (BOXES, Status.PROVED),
        (BOXES.replace(">", ", fractal=512>"), Status.PROVED),
        (BOXES.replace(">", ", fractal=1024>"), Status.UNKNOWN),
        (HIGHER, Status.UNKNOWN),
        (HIGHER.replace("blayout=col_major, slayout=row_major", TURNED), Status.PROVED),  # the transpose
        (BOXES.replace("blayout=col_major, slayout=row_major", TURNED), Status.UNKNOWN),
        (BOXES.replace("blayout=col_major", "blayout=row_major"), Status.UNKNOWN),
        (BOXES.replace("slayout=row_major", "slayout=col_major"), Status.UNKNOWN),
    ],
)
def test_tiles_in_boxes_are_one_only_where_they_have_one_shape_and_layout(kind: str, status: Status) -> None:
    made = tile("t", BOXES, AT) + op("tload", "%pa", "%t") + tile("u", kind, AT) + op("tabs", "%u", "%u")
    body = PARTS + made + op("tstore", "%t", "%pb")
    assert check(body).status is status
    assert ("definite" in run(body, one_tile=True)) == (status is Status.UNKNOWN)


@pytest.mark.parametrize(
    ("valid", "status"), [((16, 4), Status.PROVED), ((16, 8), Status.PROVED), ((8, 4), Status.REFUTED)]
)
def test_columns_of_a_tile_are_rows_of_its_transpose(valid: tuple[int, int], status: Status) -> None:
    turned = HIGHER.replace("blayout=col_major, slayout=row_major", TURNED)
    made = tile("u", turned.replace("v_row=16, v_col=8", f"v_row={valid[0]}, v_col={valid[1]}"), AT)
    body = part("pb", "bv", sizes="%c4, %c16") + made + op("texpands", "%f", "%u")
    body += tile("t", BOXES.replace("v_row=8", "v_row=4"), AT) + op("tstore", "%t", "%pb")
    found = check(body)
    assert found.status is status
    said = "`%u` transposed and `%t`, as many elements at one address, are one tile"
    assert (said in found.conditions) == (status is Status.PROVED)
    assert ("definite" in run(body, one_tile=True)) == (status is not Status.PROVED)


@pytest.mark.parametrize(("layout", "status"), [("row_major", Status.PROVED), ("col_major", Status.UNKNOWN)])
def test_a_tile_in_boxes_is_reshaped_to_boxes_of_its_layout(layout: str, status: Status) -> None:
    to = BOXES.replace("slayout=row_major", f"slayout={layout}")
    made = tile("t", BOXES) + op("tload", "%pa", "%t") + f"  %u = pto.treshape %t : {BOXES} -> {to}\n"
    assert check(PARTS + made + op("tabs", "%u", "%u") + op("tstore", "%t", "%pb")).status is status


@pytest.mark.parametrize(
    ("written", "most", "proved"), [(8, "", True), (4, "", False), (4, "4", True), (4, "5", False)]
)
def test_rows_that_nobody_counts_are_written_where_all_that_the_tile_has_are(
    written: int, most: str, proved: bool
) -> None:
    kind = VEC.replace("8x16xf32", f"8x16xf32, valid={written}x16")
    valid = f"  pto.set_validshape %t, %n, %c16 : {kind}\n" + part("pb", "bv", sizes="%n, %c16")
    body = tile("t", kind) + op("texpands", "%f", "%t") + valid + op("tstore", "%t", "%pb")
    found = check(body, f"// dmaverify: assume %n in 1..{most}\n" if most else "")
    assert (found.status is Status.PROVED) == proved
    assert any(said.startswith("%n <= 8") for said in found.conditions) == (not most)


def test_parts_of_tensors_with_symbols_are_judged_for_all_values() -> None:
    text = (PARTS + tile("t") + op("tload", "%pa", "%t") + op("tstore", "%t", "%pb")).replace(
        "offsets = [%c0, %c0]", "offsets = [%n, %c0]", 1
    )
    assert check(text, "// dmaverify: assume %n in 0..24\n").status is Status.PROVED
    worse = check(text, "// dmaverify: assume %n in 0..25\n")
    assert errors(worse) == ["core/in-bounds"]
    open_ = check(text)
    assert open_.status is Status.PROVED
    assert any(said.startswith("%n <= 24") for said in open_.conditions)
    assert any(said.startswith("to state them, write: // dmaverify: assume %n in 0..24") for said in open_.assumptions)


def test_rows_of_a_store_may_not_overlap_in_the_tensor() -> None:
    view = "  %bw = pto.make_tensor_view %b, shape = [%c32, %c64], strides = [%c8, %c1] : !pto.tensor_view<?x?xf32>\n"
    assert errors(check(view + MOVE.replace("%bv", "%bw"))) == ["core/in-bounds"]
    assert check(view + MOVE.replace("%av", "%bw")).status is Status.PROVED  # a load may
    woven = view.replace("[%c8, %c1]", "[%c1, %c8]")  # columns further apart than all rows
    assert check(woven + MOVE.replace("%bv", "%bw")).status is Status.PROVED
    assert errors(check(woven.replace("[%c1, %c8]", "[%c1, %c4]") + MOVE.replace("%bv", "%bw"))) == ["core/in-bounds"]


def test_with_flags_in_the_text_their_order_is_judged() -> None:
    flags = "  pto.{0}_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]\n"
    text = PARTS + tile("t") + op("tload", "%pa", "%t") + flags.format("set") + flags.format("wait")
    text += op("tstore", "%t", "%pb")
    assert check(text).status is Status.PROVED
    assert "assembler" not in check(text).claim
    wrong = text.replace(flags.format("set") + flags.format("wait"), "").replace(
        "  pto.tload", flags.format("set") + flags.format("wait") + "  pto.tload"
    )
    assert errors(check(wrong)) == ["core/hazard-raw"]


def test_every_operation_of_the_data_is_one_of_tiles() -> None:
    assert len(tile_work(shipped())) > 80
    assert all(name.startswith(("pto.t", *INDEXED)) for name in tile_work(shipped()))


@pytest.mark.parametrize(
    "made",
    [
        "%q = pto.castptr %at : i64 -> !pto.ptr<f32, ub>\n",
        "%q = pto.pointer_cast(%at) : memref<8x16xf32, strided<[16, 1]>, #pto.address_space<vec>>\n",
    ],
)
def test_a_pointer_among_the_operands_of_work_on_tiles_is_no_tile(made: str) -> None:
    start = PARTS + tile("t") + op("tload", "%pa", "%t") + tile("u")
    work = op("tadd", "%t, %q", "%u") + op("tstore", "%u", "%pb")
    assert check(start + "  " + made + work).status is Status.UNKNOWN
    assert check(start + work.replace("%q", "%t")).status is Status.PROVED


def test_tensors_that_tiles_move_between_are_taken_as_separate_and_it_is_said() -> None:
    said = "GM tensors behind different arguments do not overlap"
    assert said in check(MOVE).conditions
    stated = check(MOVE, "// dmaverify: gm %a = 32x64xf32\n// dmaverify: gm %b = 32x64xf32\n")
    assert said not in stated.conditions
    assert said in stated.assumptions


BOX = "dtype=f32, rows=16, cols=16, v_row=16, v_col=16"


@pytest.mark.parametrize(("loop", "said"), [(True, True), (False, False)])
def test_that_a_loop_runs_which_fills_another_memory_than_ub_is_a_condition(loop: bool, said: bool) -> None:
    mat, left = (
        f"loc=mat, {BOX}, blayout=col_major, slayout=row_major",
        f"loc=left, {BOX}, blayout=row_major, slayout=row_major",
    )
    kinds = [f"!pto.tile_buf<{one}, fractal=512, pad=0>" for one in (mat, left)]
    load = f"  pto.tload ins(%pa : !pto.partition_tensor_view<?x?xf32>) outs(%m : {kinds[0]})\n"
    body = part("pa", "av", sizes="%c16, %c16") + tile("m", kinds[0]) + tile("l", kinds[1])
    body += f"  scf.for %i = %c0 to %n step %c1 {{\n{load}  }}\n" if loop else load
    found = check(f"{body}  pto.tmov ins(%m : {kinds[0]}) outs(%l : {kinds[1]})\n")
    assert found.status is Status.PROVED
    assert any("(core/definite)" in one for one in found.conditions) is said


STANDING = ", blayout=col_major"


def refilled(wide: str, valid: int, more: str = "", *, stored: str = "%c16") -> str:
    """A tile of 8 x 16, or on its side, is filled, then loaded as far as `valid`, then stored as far as `stored`."""
    order = (lambda *sizes: sizes[::-1]) if STANDING in more else (lambda *sizes: sizes)
    kind = f"!pto.tile_buf<loc=vec, dtype=f32, {wide}, v_row=?, v_col=?{more}>"
    shapes = [", ".join(order("%c8", size)) for size in ("%c16", "%some", stored)]
    rows, cols = order("%c8", "%c16")
    body = f"  %some = arith.constant {valid} : index\n"
    body += f"  %t = pto.alloc_tile valid_row = {rows} valid_col = {cols} : {kind}\n"
    body += f"  pto.texpands ins(%f : f32) outs(%t : {kind})\n  pto.set_validshape %t, {shapes[1]} : {kind}\n"
    body += part("pa", "av", sizes=shapes[1]) + f"  pto.tload ins(%pa : f) outs(%t : {kind})\n"
    body += f"  pto.set_validshape %t, {shapes[2]} : {kind}\n" + part("pb", "bv", sizes=shapes[2])
    return f"{body}  pto.tstore ins(%t : {kind}) outs(%pb : f)\n"


@pytest.mark.parametrize(
    ("valid", "more", "stored", "status"),
    [
        (8, "", "%c16", Status.PROVED),
        (9, "", "%c16", Status.REFUTED),
        (9, "", "%c9", Status.PROVED),
        (9, ", pad=1", "%c16", Status.PROVED),  # with what the type says
        (8, STANDING, "%c16", Status.PROVED),
        (9, STANDING, "%c16", Status.REFUTED),
    ],
)
def test_a_load_leaves_the_rest_of_the_last_block_of_a_row_unknown(
    valid: int, more: str, stored: str, status: Status
) -> None:
    text = refilled("rows=16, cols=8" if STANDING in more else "rows=8, cols=16", valid, more, stored=stored)
    verdict = check(text)
    assert verdict.status is status, verdict
    assert run(text) == ({"definite"} if status is Status.REFUTED else set())
    said = [one for one in verdict.assumptions if "tail=untouched" in one]
    assert [one.endswith("then proved") for one in said] == [True] * (status is Status.REFUTED)
    (again,) = check_text(Source("k.pto", f"{HEAD}{text}  return\n}}\n"), None, Options(readings={"tail": "untouched"}))
    assert again.status is Status.PROVED


def kept(kind: str, made: str, given: str, stored: str) -> str:
    """A tile `%s` of `kind` that `made` says is loaded as far as `given` is valid, and then `%t` is stored."""
    load = part("pa", "av", sizes=given) + f"  pto.tload ins(%pa : f) outs(%s : {kind})\n"
    return made + load + part("pb", "bv", sizes=stored) + "  pto.tstore ins(%t : f) outs(%pb : f)\n"


FILLED = tile("t") + op("texpands", "%f", "%t")
PADDED = "!pto.tile_buf<loc=vec, dtype=f32, rows=8, cols=32, v_row=8, v_col={0}, pad=1>"


@pytest.mark.parametrize(
    ("cols", "begin", "stored", "status"),
    [
        ("4", "%c8", "%c16", Status.REFUTED),  # the other half of the block lies in the same rows
        ("8", "%c8", "%c16", Status.PROVED),
        ("4", "%c8", "%c8", Status.PROVED),  # another block
        ("4", "%c4", "%c16", Status.UNKNOWN),  # begins inside of one
    ],
)
def test_a_load_of_columns_of_a_tile_leaves_the_rest_of_their_block_unknown(
    cols: str, begin: str, stored: str, status: Status
) -> None:
    kind = f"!pto.tile_buf<vec, 8x{cols}xf32>"
    made = f"{FILLED}  %s = pto.subview %t[%c0, {begin}] sizes [8, {cols}] : {VEC} -> {kind}\n"
    made += f"  pto.set_validshape %t, %c8, {stored} : {VEC}\n"
    body = kept(kind, made, f"%c8, %c{cols}", f"%c8, {stored}")
    assert check(body).status is status
    if status is not Status.UNKNOWN:
        assert run(body) == ({"definite"} if status is Status.REFUTED else set())


@pytest.mark.parametrize(("stored", "status"), [("9", "proved"), ("16", "unknown"), ("32", "refuted")])
def test_how_far_a_tile_that_pads_is_padded_is_open_within_a_block(stored: str, status: str) -> None:
    kind = PADDED.format(9)
    made = f"  %t = pto.alloc_tile addr = %at : {PADDED.format(stored)}\n  %s = pto.alloc_tile addr = %at : {kind}\n"
    body = kept(kind, made, "%c8, %c9", f"%c8, %c{stored}")
    assert check(body).status.value == status


LAST = """  scf.for %i = %c0 to %n step %c16 {{
    %left = arith.subi %n, %i : index
    %some = arith.minsi %left, %c16 : index
{0}  }}
"""


@pytest.mark.parametrize("before", [True, False])
def test_the_rest_of_a_block_is_of_its_own_tile_however_many_columns_are_left(before: bool) -> None:
    kind = "!pto.tile_buf<vec, 8x16xf32, valid=8x?>"
    own = tile("s", kind, "valid_col = %some") + part("pa", "av", "%c0, %i", "%c8, %some")
    own += f"  pto.tload ins(%pa : f) outs(%s : {kind})\n"
    other = FILLED if before else ""
    body = other + LAST.format(("" if before else FILLED) + own + (op("tabs", "%t", "%t") if not before else ""))
    body += (part("pb", "bv") + op("tstore", "%t", "%pb")) if before else ""
    assert check(body, "// dmaverify: assume %n in 1..64\n").status is Status.PROVED


@pytest.mark.parametrize(
    ("rows", "cols", "status"), [(16, 8, Status.PROVED), (32, 4, Status.UNKNOWN), (4, 32, Status.PROVED)]
)
def test_a_tile_in_another_shape_has_rows_of_whole_blocks(rows: int, cols: int, status: Status) -> None:
    kind = f"!pto.tile_buf<vec, {rows}x{cols}xf32>"
    body = f"{FILLED}  %s = pto.treshape %t : {VEC} -> {kind}\n" + part("pb", "bv", sizes=f"%c{rows}, %c{cols}")
    assert check(f"{body}  pto.tstore ins(%s : f) outs(%pb : f)\n").status is status


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("rows=8, cols=8, v_row=8, v_col=5", Status.PROVED),
        ("rows=8, cols=5, v_row=8, v_col=5", Status.UNKNOWN),
        ("rows=8, cols=5, v_row=8, v_col=5, blayout=col_major", Status.PROVED),
        ("rows=4, cols=5, v_row=4, v_col=5, blayout=col_major", Status.UNKNOWN),
    ],
)
def test_rows_of_a_tile_are_whole_blocks(kind: str, status: Status) -> None:
    kind = f"!pto.tile_buf<loc=vec, dtype=f32, {kind}>"
    sizes = "%c4, %five" if "rows=4" in kind else "%c8, %five"
    body = "  %five = arith.constant 5 : index\n" + tile("t", kind)
    body += part("pa", "av", sizes=sizes) + f"  pto.tload ins(%pa : f) outs(%t : {kind})\n"
    body += part("pb", "bv", sizes=sizes) + f"  pto.tstore ins(%t : {kind}) outs(%pb : f)\n"
    assert check(body).status is status


@pytest.mark.parametrize(
    ("note", "rows", "status"),
    [
        ("assume %n in 1..8", "%n", Status.PROVED),
        ("assume %n in 0..8", "%n", Status.UNKNOWN),  # a copy of no rows is not defined
        ("assume %n in 0..8", "%c0", Status.UNKNOWN),
        ("assume %n in 0..8", "%c8", Status.PROVED),
    ],
)
def test_a_load_and_a_store_move_at_least_one_row(note: str, rows: str, status: Status) -> None:
    verdict = check(counted(rows), f"// dmaverify: {note}\n")
    assert verdict.status is status
    said = [f.message.split(": ", 1)[1] for f in verdict.findings]
    assert said == [f"pto.t{what} moves at least one row" for what in ("load", "store")] * (status is Status.UNKNOWN)


def test_that_a_size_nobody_states_is_no_zero_is_a_condition() -> None:
    verdict = check(counted("%n"))
    assert verdict.status is Status.PROVED
    assert "1 <= %n (core/in-bounds: pto.tload moves at least one row)" in verdict.conditions


def counted(rows: str) -> str:
    """So many rows, loaded and stored."""
    kind = "!pto.tile_buf<vec, 8x16xf32, valid=?x16>"
    body = f"  %t = pto.alloc_tile valid_row = {rows} : {kind}\n" + part("pa", "av", sizes=f"{rows}, %c16")
    body += f"  pto.tload ins(%pa : f) outs(%t : {kind})\n" + part("pb", "bv", sizes=f"{rows}, %c16")
    return f"{body}  pto.tstore ins(%t : {kind}) outs(%pb : f)\n"
