"""Which tiles an operation takes: shapes of products, memories, names of a tile, tiles of the other core, sections."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from dmaverify.errors import Source
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

NUMBERS = (0, 1, 2, 4, 8, 16, 32, 64, 256)
NOTES = "// dmaverify: gm %a = 64x64xf32\n// dmaverify: gm %b = 64x64xf32\n"
HEAD = "func.func @k(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %n: index, %on: i1) {\n"
HEAD += "".join(f"  %c{n} = arith.constant {n} : index\n" for n in NUMBERS)
HEAD += "  %f = arith.constant 0.0 : f32\n"
HEAD += "".join(f"  %a{n} = arith.constant {n} : i64\n" for n in (0, 512, 1024))
HEAD += "".join(
    f"  %{v}v = pto.make_tensor_view %{v}, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>\n"
    for v in "ab"
)
IN_BOXES = {"mat": "col_major, slayout=row_major", "right": "row_major, slayout=col_major"}
IN_BOXES |= dict.fromkeys(("left", "acc"), IN_BOXES["mat"])


def kind(loc: str, rows: int, cols: int, valid: str = "", dtype: str = "f32", more: str = "") -> str:
    """The type of a tile; `valid` as `v_row=?, v_col=16`."""
    valid = valid or f"v_row={rows}, v_col={cols}"
    layout = IN_BOXES.get(loc, "row_major, slayout=none_box")
    return f"!pto.tile_buf<loc={loc}, dtype={dtype}, rows={rows}, cols={cols}, {valid}, blayout={layout}{more}>"


VEC = kind("vec", 8, 16)


def tile(name: str, of: str = VEC, given: str = "") -> str:
    return f"  %{name} = pto.alloc_tile {given} : {of}\n"


def part(name: str, view: str, rows: int = 8, cols: int = 16, row: int = 0, dtype: str = "f32") -> str:
    to = f"!pto.tensor_view<?x?x{dtype}> -> !pto.partition_tensor_view<?x?x{dtype}>"
    return f"  %{name} = pto.partition_view %{view}, offsets = [%c{row}, %c0], sizes = [%c{rows}, %c{cols}] : {to}\n"


def op(name: str, ins: str, out: str) -> str:
    kinds = ", ".join({"%c": "index", "%f": "f32"}.get(one.strip()[:2], VEC) for one in ins.split(","))
    return f"  pto.{name} ins({ins} : {kinds}) outs({out} : {VEC})\n"


def moved(at: str = "") -> str:
    return part("pa", "av") + part("pb", "bv") + tile("t", given=at) + op("tload", "%pa", "%t")


STORED = op("tstore", "%t", "%pb")


def text(body: str, notes: str = "", behind: str = "") -> Source:
    return Source("k.pto", f"{NOTES}{notes}{HEAD}{body}  return\n}}\n{behind}")


def check(body: str, notes: str = "", behind: str = "") -> Verdict:
    verdicts = check_text(text(body, notes, behind), "k")
    return verdicts[0]


def run(body: str, behind: str = "", *, one_tile: bool = False, **values: int) -> set[str]:
    _, (function, *_) = read_kernels(text(body, "", behind))
    return run_kernel(function, {"a": 16384, "b": 16384}, {"n": 0, "on": 0, **values}, one_tile=one_tile).found


def errors(verdict: Verdict) -> list[str]:
    return sorted({f.rule for f in verdict.errors})


OPEN = kind("vec", 8, 16, "v_row=?, v_col=?")
LOADED = part("pa", "av", 4) + part("pb", "bv") + tile("t", OPEN, "valid_row = %c4 valid_col = %c16")
LOADED += op("tload", "%pa", "%t")

# ---------------------------------------------------------------- products

LEFT, RIGHT, OUT = (16, 32), (32, 16), (16, 16)


def product(
    left: tuple[int, int] = LEFT,
    right: tuple[int, int] = RIGHT,
    name: str = "tmatmul",
    ins: str = "%l, %r",
    before: str = "",
    shapes: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A product of two parts of %a, stored to %b; `shapes` are valid regions of its factors."""
    body = part("pl", "av", *left) + part("pr", "av", *right) + part("po", "bv", *OUT)
    body += (
        tile("ml", kind("mat", *left))
        + tile("mr", kind("mat", *right))
        + tile("l", kind("left", *left, shapes.get("l", "")))
    )
    body += tile("r", kind("right", *right, shapes.get("r", ""))) + tile("o", kind("acc", *OUT))
    for source, mat, dest in (("%pl", "%ml", "%l"), ("%pr", "%mr", "%r")):
        body += op("tload", source, mat) + op("tmov", mat, dest)
    return body + before + op(name, ins, "%o") + op("tstore", "%o", "%po")


def bias(cols: int) -> str:
    made = tile("bm", kind("mat", 1, cols)) + tile("bi", kind("bias", 1, cols)) + part("pi", "av", 1, cols)
    return made + op("tload", "%pi", "%bm") + op("tmov", "%bm", "%bi")


def added(valid: str = "") -> str:
    return tile("q", kind("acc", 16, 16, valid)) + op("tmatmul", "%l, %r", "%q")


ADDS = {"name": "tmatmul.acc", "ins": "%q, %l, %r"}
WITH_BIAS = {"name": "tmatmul.bias", "ins": "%l, %r, %bi"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (product(), Status.PROVED),
        (product(right=(16, 16)), Status.REFUTED),  # rows of the right for 16 of 32 columns of the left
        (product(left=(16, 16)), Status.REFUTED),
        (product(left=(8, 32)), Status.REFUTED),  # 8 rows for 16 of the result
        (product(right=(32, 8)), Status.REFUTED),
        (product(shapes={"l": "v_row=16, v_col=16"}), Status.UNKNOWN),  # 16 of the 32 rows of the right
        (product(shapes={"r": "v_row=16, v_col=16"}), Status.UNKNOWN),
        (product(shapes={"l": "v_row=16, v_col=16", "r": "v_row=16, v_col=16"}), Status.PROVED),
        (product(ins="%r, %l"), Status.UNKNOWN),
        (product(**ADDS, before=added()), Status.PROVED),
        (product(**ADDS, before=tile("q", kind("acc", 16, 16))), Status.REFUTED),
        (product(**WITH_BIAS, before=bias(16)), Status.PROVED),
        (product(**WITH_BIAS, before=bias(8)), Status.UNKNOWN),
        (product(ins="%l, %l"), Status.UNKNOWN),
        (product(ins="%l, %r, %r"), Status.REFUTED),
        (moved() + tile("u") + op("tmatmul", "%t, %t", "%u") + op("tstore", "%u", "%pb"), Status.UNKNOWN),
    ],
)
def test_a_product_takes_one_left_and_one_right_of_one_inner_length(body: str, status: Status) -> None:
    assert check(body).status is status, check(body)


def stored_of(rows: int, cols: int, **how: Any) -> str:
    """A product of which so many rows and columns are stored, by another name of its tile."""
    body = product(**how).replace(part("po", "bv", *OUT), part("po", "bv", rows, cols))
    whole = kind("acc", *OUT)
    return body.replace(op("tstore", "%o", "%po"), f"  pto.set_validshape %o, %c{rows}, %c{cols} : {whole}\n" + STORE)


STORE = "  pto.tstore ins(%o : f) outs(%po : f)\n"
HALF = {"l": "v_row=8, v_col=32", "r": "v_row=32, v_col=8"}


@pytest.mark.parametrize("name", ["tmatmul", "tmatmul.acc"])
@pytest.mark.parametrize(
    ("shapes", "size", "status"),
    [
        ({"l": HALF["l"]}, (8, 16), Status.PROVED),
        ({"l": HALF["l"]}, (16, 16), Status.REFUTED),  # of 8 rows
        ({"r": HALF["r"]}, (16, 8), Status.PROVED),
        ({"r": HALF["r"]}, (16, 16), Status.REFUTED),
        (HALF, (8, 8), Status.PROVED),
    ],
)
def test_a_product_has_as_many_rows_as_its_left_and_columns_as_its_right(
    name: str, shapes: Mapping[str, str], size: tuple[int, int], status: Status
) -> None:
    """Whatever of the result is valid, and of what is added to it."""
    more: dict[str, Any] = {"name": name, "ins": "%o, %l, %r", "before": op("tmatmul", "%l, %r", "%o")}
    body = stored_of(*size, shapes=shapes, **(more if name.endswith("acc") else {}))
    assert check(body).status is status
    assert run(body) == (set() if status is Status.PROVED else {"definite"})


@pytest.mark.parametrize(
    ("of", "status", "found"),
    [
        (kind("acc", 16, 16), Status.PROVED, set()),
        (kind("acc", 16, 16, "v_row=8, v_col=16"), Status.PROVED, set()),  # what is valid of it decides nothing
        (kind("acc", 8, 16), Status.REFUTED, {"bounds"}),
    ],
)
def test_a_product_is_added_to_as_many_rows_as_it_makes(of: str, status: Status, found: set[str]) -> None:
    before = tile("q", of) + op("tmatmul", "%l, %r", "%q").replace(f"outs(%q : {VEC})", f"outs(%q : {of})")
    body = product(**ADDS, before=before if status is Status.PROVED else tile("q", of))
    verdict = check(body)
    assert verdict.status is status
    assert ("core/in-bounds" in {one.rule for one in verdict.errors}) is bool(found)
    assert run(body) >= found


@pytest.mark.parametrize(
    ("rows", "said"), [(16, ""), (8, "line 34 (pto.tmatmul.acc at line 33: it makes 8 x 16 elements)")]
)
def test_what_stays_open_of_tiles_at_one_address_is_told_as_of_one_tile(rows: int, said: str) -> None:
    at = f"%o = pto.alloc_tile addr = %a0 : {kind('acc', 16, 16)}"
    body = product(shapes={"l": f"v_row={rows}, v_col=32"}, name="tmatmul.acc", ins="%o, %l, %r", before=added())
    body = body.replace(tile("o", kind("acc", 16, 16)), f"  {at}\n").replace(
        "%q = pto.alloc_tile", "%q = pto.alloc_tile addr = %a0"
    )
    verdict = check(body)
    (why,) = (o.why for o in verdict.obligations if o.id == "core/definite")
    assert (verdict.status is Status.PROVED) == (not said)
    assert said in why
    assert "another type" not in why


def test_too_few_valid_rows_are_open_whether_they_are_a_number_or_not() -> None:
    few = tile("u", kind("vec", 8, 16, "v_row=?, v_col=16"), "valid_row = %n")
    few += op("tmov", "%t", "%u") + op("tadd", "%t, %u", "%t") + STORED
    assert check(moved() + few, "// dmaverify: assume %n in 8..8\n").status is Status.PROVED
    verdict = check(moved() + few, "// dmaverify: assume %n in 1..8\n")
    assert verdict.status is Status.UNKNOWN
    assert "not shown for all values: pto.tadd: `%u` has %n valid rows" in [f.message for f in verdict.findings]


FOUR = tile("u", kind("vec", 8, 16, "v_row=4, v_col=16")) + op("tmov", "%t", "%u")


@pytest.mark.parametrize(
    ("work", "status"),
    [
        (FOUR + op("tpartadd", "%t, %u", "%t"), Status.PROVED),
        (FOUR + op("tpartadd", "%t, %u", "%u"), Status.UNKNOWN),  # an operand is larger than the result
        (FOUR + tile("w") + op("tpartmax", "%u, %u", "%w") + op("tmov", "%w", "%t"), Status.PROVED),  # else the least
        (FOUR + tile("w") + op("tpartadd", "%u, %u", "%w") + op("tmov", "%w", "%t"), Status.UNKNOWN),
        (FOUR + op("tpartmin", "%t, %u", "%u"), Status.UNKNOWN),
        (tile("u") + op("trem", "%t, %t, %u", "%t"), Status.PROVED),
        (tile("u") + op("trem", "%t, %t, %u", "%u"), Status.UNKNOWN),  # its scratch is its result
    ],
)
def test_what_an_operation_leaves_where_its_tiles_do_not_fit_each_other_is_open(work: str, status: Status) -> None:
    assert check(moved() + work + STORED).status is status


@pytest.mark.parametrize(
    ("layout", "status"),
    [
        ("row_major, slayout=none_box", Status.PROVED),
        ("col_major, slayout=none_box", Status.PROVED),
        ("col_major, slayout=row_major", Status.PROVED),
        ("row_major, slayout=col_major", Status.UNKNOWN),
        ("row_major, slayout=row_major", Status.UNKNOWN),
    ],
)
def test_tiles_of_ub_are_loaded_in_rows_columns_or_the_boxes_that_documents_name(layout: str, status: Status) -> None:
    of = kind("vec", 16, 16).replace("row_major, slayout=none_box", layout)
    body = part("pa", "av", 16, 16) + part("pb", "bv", 16, 16) + tile("t", of) + op("tload", "%pa", "%t") + STORED
    assert check(body).status is status


# ---------------------------------------------------------------- memories, bytes

SQUARE = part("pm", "av", 16, 16) + part("pq", "bv", 16, 16) + tile("m", kind("mat", 16, 16))
IN_MAT = SQUARE + op("tload", "%pm", "%m")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (IN_MAT, Status.PROVED),
        (IN_MAT + tile("l", kind("left", 16, 16)) + op("tmov", "%m", "%l"), Status.PROVED),
        (IN_MAT + op("tadd", "%m, %m", "%m"), Status.UNKNOWN),
        (SQUARE + tile("l", kind("left", 16, 16)) + op("tload", "%pm", "%l"), Status.UNKNOWN),
        (IN_MAT + op("tstore", "%m", "%pq"), Status.UNKNOWN),
        (moved() + tile("l", kind("left", 8, 16)) + op("tmov", "%t", "%l"), Status.UNKNOWN),
        (moved() + tile("m", kind("mat", 8, 16)) + op("tinsert", "%t, %c0, %c0", "%m"), Status.PROVED),
    ],
)
def test_an_operation_works_between_the_memories_that_the_data_names(body: str, status: Status) -> None:
    assert check(body).status is status


def test_a_tile_in_boxes_is_loaded_from_a_part_of_its_shape() -> None:
    flat = part("pm", "av", 4, 64) + tile("m", kind("mat", 16, 16)) + op("tload", "%pm", "%m")
    assert check(flat).status is Status.UNKNOWN
    assert check(flat.replace("%c4, %c64]", "%c16, %c16]")).status is Status.PROVED


def test_an_insert_from_ub_into_l1_is_work_of_mte3() -> None:
    flags = (
        '  pto.set_flag["PIPE_{0}", "PIPE_{1}", "EVENT_ID0"]\n  pto.wait_flag["PIPE_{0}", "PIPE_{1}", "EVENT_ID0"]\n'
    )
    body = part("pa", "av") + tile("t") + tile("m", kind("mat", 8, 16)) + op("tload", "%pa", "%t")
    work = op("tinsert", "%t, %c0, %c0", "%m")
    assert check(body + flags.format("MTE2", "MTE3") + work).status is Status.PROVED
    assert errors(check(body + flags.format("MTE2", "V") + work)) == ["core/hazard-raw"]


@pytest.mark.parametrize(("dtype", "status"), [("i8", Status.PROVED), ("i4", Status.UNKNOWN)])
def test_where_elements_of_half_a_byte_lie_is_open(dtype: str, status: Status) -> None:
    """Taken for a byte each, those of one tile would write the next one, too."""
    filled = f"  %fill = arith.constant 0 : {dtype}\n" + tile("h", kind("vec", 16, 64, dtype=dtype))
    filled += f"  pto.texpands ins(%fill : {dtype}) outs(%h : {VEC})\n"
    assert check(moved() + STORED + filled).status is status
    view = f"  %p = pto.castptr %a : !pto.ptr<f32> -> !pto.ptr<{dtype}>\n  %pv = pto.make_tensor_view %p, "
    view += f"shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?x{dtype}>\n"
    load = part("ph", "pv", 16, 64, dtype=dtype) + tile("u", kind("vec", 16, 64, dtype="i8")) + op("tload", "%ph", "%u")
    assert check(view + load).status is status


PAIRS = ("!pto.f4E1M2x2", "!pto.f4E2M1x2")


def converted(source: str, dest: str, cols: int, valid: int, made: int, loaded: int = 0) -> str:
    """A tile of 8 rows and so many valid columns, loaded, made one of `made` columns of another type, and stored."""
    one, other = kind("vec", 8, cols, f"v_row=8, v_col={valid}", source), kind("vec", 8, made, "", dest)
    body = ""
    for name, of, view in (("s", source, "p"), ("d", dest, "q")):
        body += f"  %{view} = pto.castptr %{'a' if name == 's' else 'b'} : !pto.ptr<f32> -> !pto.ptr<{of}>\n"
        body += f"  %{view}v = pto.make_tensor_view %{view}, shape = [%c64, %c64], strides = [%c64, %c1]"
        body += f" {{layout = #pto.layout<nd>}} : !pto.tensor_view<?x?x{of}>\n"
    body += tile("s", one) + tile("d", other) + part("ps", "pv", 8, loaded or valid, dtype=source)
    of = one if not loaded else kind("vec", 8, cols, f"v_row=8, v_col={loaded}", source)
    body += f"  pto.tload ins(%ps : f) outs(%s : {of})\n" if not loaded else ""
    body += f"  pto.tcvt ins(%s : {one}) outs(%d : {other})\n" + part("pd", "qv", 8, made, dtype=dest)
    return body + f"  pto.tstore ins(%d : {other}) outs(%pd : f)\n"


@pytest.mark.parametrize("dtype", PAIRS)
def test_pairs_of_numbers_of_half_a_byte_are_made_of_two_elements_each(dtype: str) -> None:
    for source, dest, cols in (("bf16", dtype, (64, 64, 32)), (dtype, "bf16", (32, 32, 64))):
        right = converted(source, dest, *cols)
        assert check(right).status is Status.PROVED
        assert run(right) == set()
        short = converted(source, dest, cols[0], cols[1] // 2, cols[2])
        assert check(short).status is Status.UNKNOWN
        assert run(short) & {"computed", "definite"}
        never = converted(source, dest, *cols, loaded=64)
        assert check(never).status is Status.REFUTED
        assert run(never) & {"computed", "definite"}


@pytest.mark.parametrize("dtype", ["!pto.hif8", "!pto.f8E8M0", "f8E4M3", *PAIRS])
def test_types_of_a_byte_are_moved_by_their_names(dtype: str) -> None:
    for of in (kind("vec", 8, 32, "v_row=8, v_col=16", dtype), f"!pto.tile_buf<vec, 8x32x{dtype}, valid=8x16>"):
        view = f"  %p = pto.castptr %a : !pto.ptr<f32> -> !pto.ptr<{dtype}>\n  %pv = pto.make_tensor_view %p, "
        view += f"shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?x{dtype}>\n"
        body = view + part("ph", "pv", dtype=dtype) + tile("u", of) + f"  pto.tload ins(%ph : f) outs(%u : {of})\n"
        assert check(body).status is Status.PROVED
        wide = body.replace(view, view.replace(f"?x?x{dtype}>", "?x?xf16>").replace(f"<{dtype}>", "<f16>"))
        assert errors(check(wide)) == ["core/well-formed"]


@pytest.mark.parametrize(("dtype", "status"), [("f8E4M3FN", Status.PROVED), (PAIRS[1], Status.UNKNOWN)])
def test_along_what_pairs_lie_in_a_product_is_open(dtype: str, status: Status) -> None:
    types = {"left": dtype, "scaling": "!pto.f8E8M0", "right": dtype, "scales": "!pto.f8E8M0"}
    acc, kinds, body = kind("acc", 16, 16), [], part("pr", "bv", 16, 16)
    for name, of in types.items():
        loc = "scaling" if name == "scales" else name
        kinds.append(kind(loc, 16, 16, dtype=of))
        mat = kinds[-1].replace(f"loc={loc}", "loc=mat")
        body += f"  %{name}_p = pto.castptr %a : !pto.ptr<f32> -> !pto.ptr<{of}>\n  %{name}_v = pto.make_tensor_view "
        body += f"%{name}_p, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?x{of}>\n"
        body += part(f"{name}_q", f"{name}_v", 16, 16, dtype=of) + tile(f"{name}_m", mat) + tile(name, kinds[-1])
        body += f"  pto.tload ins(%{name}_q : f) outs(%{name}_m : {mat})\n"
        body += f"  pto.tmov ins(%{name}_m : {mat}) outs(%{name} : {kinds[-1]})\n"
    body += tile("acc", acc) + f"  pto.tmatmul.mx ins({', '.join(f'%{n}' for n in types)} : {', '.join(kinds)})"
    body += f" outs(%acc : {acc})\n  pto.tstore ins(%acc : {acc}) outs(%pr : f)\n"
    assert check(body).status is status


@pytest.mark.parametrize(("rows", "found"), [(512, []), (513, ["core/well-formed"])])
def test_a_tile_without_an_address_fits_into_ub(rows: int, found: list[str]) -> None:
    body = moved() + STORED + tile("big", kind("vec", rows, 128))
    assert errors(check(body)) == found


@pytest.mark.parametrize(
    ("valid", "pad", "status"),
    [
        ("", "", Status.PROVED),  # there is no padding
        ("v_row=4, v_col=16", ", pad=1", Status.PROVED),
        ("v_row=4, v_col=16", ", pad=null", Status.UNKNOWN),
        ("v_row=4, v_col=16", ", pad=0", Status.UNKNOWN),
        ("v_row=4, v_col=16", "", Status.UNKNOWN),
    ],
)
def test_padding_is_filled_where_the_type_says_with_what(valid: str, pad: str, status: Status) -> None:
    rows = 4 if valid else 8
    body = part("pa", "av", rows) + part("pb", "bv") + tile("s", kind("vec", 8, 16, valid)) + op("tload", "%pa", "%s")
    body += tile("t", kind("vec", 8, 16, more=pad)) + op("tfillpad", "%s", "%t") + STORED
    assert check(body).status is status


@pytest.mark.parametrize(
    ("more", "status"),
    [("", Status.PROVED), (", compact=0", Status.PROVED), (", compact=2", Status.UNKNOWN), (", new=1", Status.UNKNOWN)],
)
def test_a_tile_has_the_bytes_that_every_word_of_its_type_gives_it(more: str, status: Status) -> None:
    """Rows that are one block longer reach over the next tile."""
    body = part("pa", "av") + part("pb", "bv") + tile("t", kind("vec", 8, 16, more=more)) + op("tload", "%pa", "%t")
    assert check(body + STORED).status is status


@pytest.mark.parametrize(
    ("address", "found"),
    [("muli %n, %c32", []), ("muli %n, %c16", ["core/in-bounds"]), ("addi %n, %c0", ["core/in-bounds"])],
)
def test_a_tile_begins_on_a_block_whatever_its_address_is_computed_from(address: str, found: list[str]) -> None:
    at = f"  %w = arith.{address} : index\n  %x = arith.index_cast %w : index to i64\n"
    body = at + moved("addr = %x") + STORED
    assert errors(check(body, "// dmaverify: assume %n in 0..64\n")) == found
    assert ("form" in run(body, n=1)) == bool(found)


def test_operands_outside_of_both_groups_are_not_passed_over() -> None:
    load = op("tload", "%pa", "%t")
    assert check(moved() + STORED).status is Status.PROVED
    shifted = load.rstrip() + " left_padding_num = %c4 : index\n"
    verdict = check(moved().replace(load, shifted) + STORED)
    assert verdict.status is Status.UNKNOWN
    assert "pto.tload: what it does with `%c4`" in verdict.findings[0].message


def test_types_may_stand_behind_each_operand() -> None:
    body = moved() + tile("u") + f"  pto.tadd ins(%t : {VEC}, %{{0}} : {VEC}) outs(%u : {VEC})\n"
    assert check(body.format("t")).status is Status.PROVED
    assert check(body.format("u")).status is Status.UNKNOWN


FLAGS = (
    '  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n'
)
ADDED = STORED.rstrip() + " {atomicType = #pto<atomic_type atomic_add>}\n"
LATER = part("pl", "bv", row=4) + ADDED.replace("%pb", "%pl")


@pytest.mark.parametrize(
    ("stores", "found"),
    [
        (STORED, []),
        (STORED + STORED, ["core/hazard-waw"]),
        (ADDED + ADDED, []),
        (ADDED + LATER, []),
        (ADDED + STORED, ["core/hazard-waw"]),
        (STORED + ADDED, ["core/hazard-waw"]),
    ],
)
def test_stores_that_add_need_no_order_among_themselves(stores: str, found: list[str]) -> None:
    body = moved() + FLAGS + stores
    assert errors(check(body)) == found
    assert run(body) == {one.removeprefix("core/hazard-") for one in found}


@pytest.mark.parametrize(("store", "said"), [(STORED, True), (ADDED, False)])
def test_cores_that_add_to_one_part_need_no_order_and_cores_that_store_do(store: str, said: bool) -> None:
    cores = "  %id = pto.get_block_idx\n  %row = arith.index_cast %id : i64 to index\n"
    body = cores + moved().replace("%av, offsets = [%c0", "%av, offsets = [%row") + store
    verdict = check(body, "// dmaverify: assume %id in 0..7\n")
    assert errors(verdict) == (["core/cores-apart"] if said else [])
    assert not any("no two cores of a launch" in one for one in verdict.conditions)


# ---------------------------------------------------------------- valid regions at run time

SOME = kind("vec", 8, 16, "v_row=?, v_col=16")
PARTLY = part("pn", "av").replace("sizes = [%c8", "sizes = [%n") + tile("t", SOME, "valid_row = %n")
PARTLY += op("tload", "%pn", "%t")


@pytest.mark.parametrize(
    ("rows", "most", "status"),
    [
        (8, 8, Status.PROVED),
        (32, 8, Status.PROVED),
        (32, 9, Status.REFUTED),  # more than the tile has
        (4, 4, Status.PROVED),
        (4, 5, Status.UNKNOWN),  # more than the part has, as of numbers
    ],
)
def test_a_store_writes_the_valid_region_of_a_larger_part(rows: int, most: int, status: Status) -> None:
    body = PARTLY + part("pb", "bv", rows) + STORED
    assert check(body, f"// dmaverify: assume %n in 1..{most}\n").status is status


def test_rows_of_a_part_beyond_the_valid_region_are_not_written() -> None:
    """Of two stores one begins in the part of the other, behind its valid rows."""
    twice = part("pb", "bv") + STORED + part("pc", "bv", row=4) + STORED.replace("%pb", "%pc")
    said = "// dmaverify: assume %n in 1..{0}\n"
    assert errors(check(PARTLY + FLAGS + twice, said.format(4))) == []
    assert errors(check(PARTLY + FLAGS + twice, said.format(5))) == ["core/hazard-waw"]


def test_a_part_of_one_dimension_is_as_long_as_the_row() -> None:
    line = "  %lv = pto.make_tensor_view %b, shape = [%c64], strides = [%c1] : !pto.tensor_view<?xf32>\n"
    line += "  %pb = pto.partition_view %lv, offsets = [%c0], sizes = [%c16] : "
    line += "!pto.tensor_view<?xf32> -> !pto.partition_tensor_view<?xf32>\n"
    body = part("pa", "av", 1) + line + tile("t", kind("vec", 1, 16)) + op("tload", "%pa", "%t") + STORED
    assert check(body).status is Status.PROVED
    assert check(body.replace("sizes = [%c16]", "sizes = [%c32]")).status is Status.UNKNOWN


# ---------------------------------------------------------------- the same bytes as another tile


def reshaped(to: str, name: str = "u", source: str = "t") -> str:
    return f"  %{name} = pto.treshape %{source} : {VEC} -> {to}\n"


TALL = kind("vec", 16, 8)
TALL_PART = part("pt", "bv", 16, 8)


@pytest.mark.parametrize("at", ["", "addr = %a1024"])
@pytest.mark.parametrize(
    ("body", "found"),
    [
        (reshaped(TALL) + TALL_PART + op("tstore", "%u", "%pt"), []),
        (reshaped(TALL) + op("texpands", "%f", "%u") + STORED, []),
        (reshaped(kind("vec", 16, 16, dtype="f16")) + op("tabs", "%u", "%u") + STORED, []),
        (tile("w", TALL) + reshaped(VEC, "u", "w") + op("tstore", "%u", "%pb"), ["core/definite"]),
    ],
)
def test_a_reshaped_tile_is_the_same_bytes(at: str, body: str, found: list[str]) -> None:
    assert errors(check(moved(at) + body)) == found
    assert run(moved(at) + body) == {one.removeprefix("core/") for one in found}


@pytest.mark.parametrize("to", [kind("vec", 8, 8), kind("mat", 8, 16), kind("vec", 8, 16, "v_row=?, v_col=16")])
def test_a_tile_is_reshaped_to_as_many_bytes_of_its_memory(to: str) -> None:
    assert check(moved() + reshaped(to) + op("tstore", "%u", "%pb")).status is Status.UNKNOWN


def test_a_reshaped_tile_has_a_valid_region_of_its_own() -> None:
    grown = f"  pto.set_validshape %t, %c8, %c16 : {VEC}\n"
    small = LOADED + reshaped(kind("vec", 8, 16, "v_row=4, v_col=16"))
    assert errors(check(small + grown + op("tstore", "%u", "%pb"))) == []
    assert errors(check(small + grown + STORED)) == ["core/definite"]


# ---------------------------------------------------------------- one tile, several names and rounds

GROWS = f"func.func @g(%x: {OPEN}) {{\n  %e = arith.constant 8 : index\n  %s = arith.constant 16 : index\n"
GROWS += f"  pto.set_validshape %x, %e, %s : {OPEN}\n  return\n}}\n"
CALLED = f"  func.call @g(%t) : ({OPEN}) -> ()\n"
CHOSEN = f"  %u = scf.if %on -> ({OPEN}) {{\n    scf.yield %t : {OPEN}\n  }} else {{\n    scf.yield %t : {OPEN}\n  }}\n"
CHOSEN += f"  pto.set_validshape %u, %c8, %c16 : {OPEN}\n"


@pytest.mark.parametrize(("grown", "found"), [("", []), (CALLED, ["core/definite"]), (CHOSEN, ["core/definite"])])
def test_a_valid_region_is_that_of_the_tile_under_each_of_its_names(grown: str, found: list[str]) -> None:
    body = LOADED + grown + STORED
    assert errors(check(body, behind=GROWS)) == found
    assert run(body, GROWS) == {one.removeprefix("core/") for one in found}


SHAPES = "  pto.set_validshape %t, {0}, %c16 : " + OPEN + "\n"
BOTH = "  scf.if %on {{\n  {0}  }} else {{\n  {1}  }}\n"


@pytest.mark.parametrize(
    ("shaped", "status"),
    [
        (BOTH.format(SHAPES.format("%c2"), ""), Status.PROVED),
        (BOTH.format(SHAPES.format("%c2"), SHAPES.format("%c1")), Status.PROVED),
        (BOTH.format(SHAPES.format("%c8"), SHAPES.format("%c4")), Status.REFUTED),  # four rows were loaded
        (BOTH.format("", SHAPES.format("%c8")), Status.REFUTED),
        (BOTH.format(SHAPES.format("%c8"), "") + SHAPES.format("%c4"), Status.PROVED),
        (BOTH.format(SHAPES.format("%c16"), ""), Status.REFUTED),  # the tile has eight
        (
            BOTH.format(SHAPES.format("%c8"), "").replace("  } else", STORED.replace("%t", "%w") + "  } else"),
            Status.REFUTED,
        ),
    ],
)
def test_a_valid_region_that_a_branch_sets_is_that_of_its_path(shaped: str, status: Status) -> None:
    body = LOADED + tile("w") + op("texpands", "%f", "%w") + shaped + STORED
    assert check(body).status is status, check(body)
    ran = run(body, on=0) | run(body, on=1)
    assert bool(ran) == (status is Status.REFUTED)


EACH_ROUND = "  scf.for %i = %c0 to {end} step %c1 {{\n{body}  }}\n"
FIRST = "  %is = arith.cmpi {0}, %i, %c0 : index\n  scf.if %is {{\n" + SHAPES.replace("{0}", "{1}") + "  }}\n"


@pytest.mark.parametrize(
    ("made", "shaped", "behind", "status"),
    [
        ("round", SHAPES.format("%c2"), "", Status.PROVED),
        ("round", SHAPES.format("%c8"), "", Status.REFUTED),  # rows that nothing was loaded to
        ("round", FIRST.format("eq", "%c8"), "", Status.REFUTED),
        ("round", FIRST.format("eq", "%c2"), "", Status.PROVED),
        ("round", FIRST.format("slt", "%c8"), "", Status.PROVED),  # never
        ("round", EACH_ROUND.format(end="%c2", body=SHAPES.format("%c2")), "", Status.UNKNOWN),
        ("round", EACH_ROUND.format(end="%c2", body=SHAPES.format("%c8")) + SHAPES.format("%c4"), "", Status.PROVED),
        ("before", SHAPES.format("%c2"), "", Status.PROVED),
        ("before", SHAPES.format("%c8"), "", Status.REFUTED),
        ("before", EACH_ROUND.format(end="%c2", body=SHAPES.format("%c2")), "", Status.UNKNOWN),
        ("before", EACH_ROUND.format(end="%c2", body=SHAPES.format("%c2") + STORED), "", Status.UNKNOWN),
        ("before", STORED + SHAPES.format("%c2"), "", Status.UNKNOWN),  # the first round begins with another
        ("before", SHAPES.format("%c2"), STORED, Status.UNKNOWN),
        ("before", SHAPES.format("%c2"), SHAPES.format("%c4") + STORED, Status.PROVED),
        ("before", SHAPES.format("%c2"), SHAPES.format("%c8") + STORED, Status.REFUTED),
    ],
)
def test_a_valid_region_that_a_loop_sets_is_any_where_a_round_begins_and_behind_it(
    made: str, shaped: str, behind: str, status: Status
) -> None:
    inside, outside = (LOADED, "") if made == "round" else ("", LOADED)
    body = outside + EACH_ROUND.format(end="%c4", body=inside + shaped + STORED) + behind
    assert check(body).status is status, check(body)
    assert ("definite" in run(body)) == (status is Status.REFUTED)


@pytest.mark.parametrize(
    "body",
    [
        EACH_ROUND.format(end="%c2", body=STORED + SHAPES.format("%c8")),
        SHAPES.format("%c8") + STORED,
        SHAPES.format("%c2") + EACH_ROUND.format(end="%c2", body=CALLED) + STORED,  # under another name
    ],
)
@pytest.mark.parametrize("behind", ["", STORED])
def test_a_round_stores_what_the_round_before_has_made_valid(body: str, behind: str) -> None:
    body = LOADED + EACH_ROUND.format(end="%c2", body=body) + behind
    assert check(body, behind=GROWS).status in (Status.UNKNOWN, Status.REFUTED)
    assert "definite" in run(body, GROWS)


NARROW = kind("vec", 16, 8)
SHORT = tile("w", NARROW) + op("texpands", "%f", "%w")
OF_IT = f"  pto.tmov ins(%w : {NARROW}) outs(%t : {OPEN})\n"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (EACH_ROUND.format(end="%n", body=SHAPES.format("%c8")) + OF_IT, Status.UNKNOWN),
        (EACH_ROUND.format(end="%n", body=OF_IT + SHAPES.format("%c8")), Status.UNKNOWN),
        (EACH_ROUND.format(end="%n", body=SHAPES.format("%c8").replace("%c16", "%c8") + OF_IT), Status.PROVED),
    ],
)
def test_nothing_is_supposed_of_a_valid_region_that_rounds_set(body: str, status: Status) -> None:
    """An operand of 8 columns is taken for 16."""
    verdict = check(LOADED + SHORT + body)
    assert verdict.status is status
    assert not any("valid" in said for said in verdict.conditions)


@pytest.mark.parametrize("round_", ["{0}", EACH_ROUND.format(end="%c2", body="{0}")], ids=["once", "each round"])
@pytest.mark.parametrize(
    ("stated", "status"), [("0..16", Status.UNKNOWN), ("0..8", Status.PROVED), ("", Status.PROVED)]
)
def test_what_an_operation_takes_of_a_number_that_nobody_states_is_said(
    round_: str, stated: str, status: Status
) -> None:
    made = tile("v", kind("vec", 8, 16, "v_row=8, v_col=?"), "valid_col = %n")
    taken = round_.replace("{0}", OF_IT.replace("%t", "%v"))
    verdict = check(LOADED + SHORT + made + taken, f"// dmaverify: assume %n in {stated}\n" if stated else "")
    assert verdict.status is status
    said = "%n <= 8 (core/in-bounds: pto.tmov: `%w` has 8 valid columns)"
    assert (said in verdict.conditions) == (not stated)


COMPACT = kind("mat", 32, 64, "v_row=?, v_col=?", more=", compact=1")
PLAIN = COMPACT.replace(", compact=1", "")
TAKEN = kind("left", 32, 64, "v_row=16, v_col=64")
SQUARE = kind("mat", 32, 32, "v_row=16, v_col=16", more=", compact=1")
TURNED = SQUARE.replace(IN_BOXES["mat"], IN_BOXES["right"])


def in_boxes(rows: int, of: str, then: str) -> str:
    """A tile in boxes of which so many rows are loaded; then something, which leaves 16 of `%t`; those are taken."""
    made = tile("t", of, f"addr = %a0 valid_row = %c{rows} valid_col = %c64")
    return part("pa", "av", rows, 64) + made + op("tload", "%pa", "%t") + then


def taken(name: str, of: str, to: str = TAKEN) -> str:
    return tile("l", to) + f"  pto.tmov ins(%{name} : {of}) outs(%l : {to})\n"


AGAIN = tile("again", COMPACT, "addr = %a0 valid_row = %c16 valid_col = %c64") + taken("again", COMPACT)
LESS = f"  pto.set_validshape %t, %c16, %c64 : {COMPACT}\n" + taken("t", COMPACT)
PIECE = f"  %again = pto.subview %t[%c0, %c0] sizes [32, 64] valid [%c16, %c64] : {COMPACT} -> {COMPACT}\n"
ACROSS = part("pa", "av", 16, 16) + tile("t", SQUARE, "addr = %a0") + op("tload", "%pa", "%t")
ACROSS += tile("again", TURNED, "addr = %a0") + taken("again", TURNED, kind("left", 32, 32, "v_row=16, v_col=16"))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (in_boxes(16, COMPACT, AGAIN), Status.PROVED),
        (in_boxes(32, COMPACT, AGAIN), Status.UNKNOWN),
        (in_boxes(16, COMPACT, LESS), Status.PROVED),
        (in_boxes(32, COMPACT, LESS), Status.UNKNOWN),
        (in_boxes(32, PLAIN, LESS.replace(COMPACT, PLAIN)), Status.PROVED),
        (in_boxes(32, COMPACT, PIECE + taken("again", COMPACT)), Status.UNKNOWN),
        (in_boxes(32, PLAIN, (PIECE + taken("again", COMPACT)).replace(COMPACT, PLAIN)), Status.PROVED),
        (ACROSS, Status.UNKNOWN),
        (ACROSS.replace(", compact=1", ""), Status.PROVED),
    ],
)
def test_a_compact_tile_of_other_valid_rows_lies_in_other_cells(body: str, status: Status) -> None:
    verdict = check(body)
    assert verdict.status is status, verdict
    one_tile = any(said.endswith("are one tile") for said in verdict.conditions)
    try:
        found = run(body, one_tile=one_tile)
    except Beyond:
        found = {"open"}
    assert bool(found) == (status is Status.UNKNOWN)


OTHER = kind("vec", 16, 16, dtype="f16")
OTHERS = "  %h = pto.castptr %a : !pto.ptr<f32> -> !pto.ptr<f16>\n"
OTHERS += "  %hv = pto.make_tensor_view %h, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf16>\n"
OTHERS += part("ph", "hv", 16, 16, dtype="f16") + tile("u", OTHER, "addr = %a1024") + op("tload", "%ph", "%u")
ROUND = "  scf.for %i = %c0 to {high} step %c1 {{\n    %j = arith.index_cast %i : index to i64\n"
ROUND += "    %at = arith.muli %j, %a1024 : i64\n{body}  }}\n"
ONCE = "    %is = arith.cmpi eq, %i, %c0 : index\n    scf.if %is {\n" + op("tload", "%pa", "%t") + "    }\n"


@pytest.mark.parametrize(
    ("load", "status"), [(op("tload", "%pa", "%t"), Status.PROVED), (ONCE, Status.UNKNOWN)], ids=["each", "once"]
)
def test_a_tile_at_another_address_in_each_round_holds_nothing_of_the_last(load: str, status: Status) -> None:
    """In round 1 it lies on the bytes of a tile of another type."""
    start = part("pa", "av") + part("pb", "bv") + OTHERS
    body = start + ROUND.format(high="%n", body=tile("t", VEC, "addr = %at") + load + STORED)
    assert check(body, "// dmaverify: assume %n in 0..2\n").status is status
    assert ("definite" in run(body, n=2)) == (status is Status.UNKNOWN)


# ---------------------------------------------------------------- the other core

PUSHED = f"  pto.tpush_to_aic(%u : {VEC}) {{split = 0}}\n"


@pytest.mark.parametrize(("made", "found"), [(op("tabs", "%t", "%u"), []), ("", ["core/definite"])])
def test_a_tile_given_to_the_other_core_was_written(made: str, found: list[str]) -> None:
    body = moved() + STORED + tile("u") + made + PUSHED
    assert errors(check(body)) == found
    assert run(body) == {one.removeprefix("core/") for one in found}


def test_a_tile_that_is_given_to_the_other_core_is_known() -> None:
    assert check(moved() + STORED + PUSHED.replace("%u", "%nobody")).status is Status.UNKNOWN


POP = f"  %x{{0}} = pto.tpop_from_aic {{{{split = 0}}}} -> {VEC}\n"
FREE = "  pto.tfree_from_aic {split = 0}\n"
ENDS = part("pb", "bv")


def store(name: str) -> str:
    return op("tstore", f"%{name}", "%pb")


@pytest.mark.parametrize(
    ("body", "free"),
    [
        (POP.format(0) + store("x0") + FREE, True),
        (POP.format(0) + FREE + store("x0"), False),
        (POP.format(0) + POP.format(1) + FREE + store("x1") + FREE, True),  # the first slot is given back first
        (POP.format(0) + POP.format(1) + FREE + store("x0") + FREE, False),
        (POP.format(0) + "  pto.tfree_from_aiv {split = 0}\n" + store("x0"), True),
        ("  scf.for %i = %c0 to %n step %c1 {\n" + POP.format(0) + store("x0") + FREE + "  }\n", True),
        ("  scf.for %i = %c0 to %n step %c1 {\n" + POP.format(0) + FREE + store("x0") + "  }\n", False),
        (POP.format(0) + "  scf.if %on {\n" + FREE + "  }\n" + store("x0"), False),
    ],
)
def test_of_a_slot_that_is_given_back_nothing_is_known(body: str, free: bool) -> None:
    assert (check(ENDS + body).status is Status.PROVED) == free
    assert ("definite" in run(ENDS + body, n=2, on=1)) == (not free)


@pytest.mark.parametrize(
    ("kind", "supposed"), [(VEC, []), (OPEN, ["columns", "rows"]), (OPEN.replace("v_row=?", "v_row=8"), ["columns"])]
)
def test_a_tile_of_the_other_core_is_valid_whole_where_nobody_says_how_much_is(kind: str, supposed: list[str]) -> None:
    found = check(ENDS + POP.format(0).replace(VEC, kind) + store("x0") + FREE)
    assert found.status is Status.PROVED
    said = {"rows": "all 8 rows", "columns": "all 16 columns"}
    told = [f"{said[what]} of the tile that pto.tpop_from_aic gives are valid" for what in supposed]
    assert sorted(one for one in found.conditions if one.endswith("are valid")) == sorted(told)


KEPT = '  %kept = pto.reserve_buffer {name = "x", size = 512, location = #pto.address_space<vec>, base = 512} -> i32\n'


@pytest.mark.parametrize(
    ("at", "status"), [("%a0", Status.PROVED), ("%a512", Status.UNKNOWN), ("%a1024", Status.PROVED)]
)
@pytest.mark.parametrize("first", [True, False])
def test_a_tile_lies_outside_of_what_is_reserved_for_the_other_core(at: str, status: Status, first: bool) -> None:
    made = moved(f"addr = {at}")
    assert check((KEPT + made if first else made + KEPT) + STORED).status is status


def test_where_it_is_not_followed_which_slot_is_given_back_nothing_is_refuted() -> None:
    """A tile of the loop is given back behind it, not the last one."""
    often = "  scf.for %i = %c0 to %c2 step %c1 {\n" + POP.format(0) + "  }\n"
    body = ENDS + often + POP.format(1) + FREE + store("x1")
    assert check(body).status is Status.UNKNOWN
    assert run(body) == set()


# ---------------------------------------------------------------- barriers of the text's own


def barrier(pipe: str) -> str:
    return f"  pto.barrier #pto.pipe<PIPE_{pipe}>\n"


ADDED = op("tadd", "%t, %t", "%t")


@pytest.mark.parametrize(
    ("loaded", "added", "left"),
    [
        ("ALL", "ALL", ""),
        ("ALL", "", "MTE3 after V at lines 24 and 25"),
        ("V", "V", "V after MTE2 at lines 22 and 24, and 3 more"),  # of one pipe
        ("", "ALL", "V after MTE2 at lines 22 and 23, and 1 more"),
    ],
)
def test_what_the_barriers_of_a_text_without_flags_do_not_order_is_a_condition(
    loaded: str, added: str, left: str
) -> None:
    verdict = check(moved() + barrier(loaded) * bool(loaded) + ADDED + barrier(added) * bool(added) + STORED)
    assert verdict.status is Status.PROVED
    said = f"the assembler orders what the barriers of the text do not, {left}"
    assert verdict.conditions == ((said,) if left else ())
    assert ("in the order of the text" in verdict.claim) == bool(left)
    hazards = {o.id for o in verdict.obligations if "hazard" in o.id}
    assert len(hazards) == (0 if left else 3)


def test_a_text_without_barriers_or_flags_is_judged_in_its_own_order() -> None:
    verdict = check(moved() + ADDED + STORED)
    assert (verdict.status, verdict.conditions) == (Status.PROVED, ())
    assert "in the order of the text" in verdict.claim


HANDED = '  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n'
HANDED += HANDED.replace("set_flag", "wait_flag")
NEVER = "  %never = arith.constant false\n  scf.if %never {{\n{0}  }}\n"


@pytest.mark.parametrize(
    ("between", "status", "conditions"),
    [
        (HANDED, Status.PROVED, 0),
        (NEVER.format(HANDED), Status.REFUTED, 0),
        (barrier("ALL"), Status.PROVED, 0),
        (NEVER.format(barrier("ALL")), Status.PROVED, 1),
        (NEVER.format(STORED), Status.PROVED, 0),
    ],
)
def test_flags_and_barriers_count_where_they_never_run(between: str, status: Status, conditions: int) -> None:
    """Whoever wrote them orders the text by hand."""
    body = moved() + between + STORED
    verdict = check(body)
    assert (verdict.status, len(verdict.conditions)) == (status, conditions)
    assert ("raw" in run(body)) == (status is Status.REFUTED)


# ---------------------------------------------------------------- both sides in one text

SIDES = part("pl", "av", *LEFT) + part("pr", "av", *RIGHT) + part("po", "bv", 16, 16) + part("pd", "bv", 16, 16, 32)
CUBE = product()
for outside in (part("pl", "av", *LEFT), part("pr", "av", *RIGHT), part("po", "bv", *OUT)):
    CUBE = CUBE.replace(outside, "")
CUBE = f"  pto.section.cube {{\n{CUBE}  }}\n"
WIDE = kind("vec", 16, 16)


def vector(source: str, dest: str, before: str = "") -> str:
    inside = before + tile("w", WIDE) + op("tload", source, "%w") + op("tstore", "%w", dest)
    return f"  pto.section.vector {{\n{inside}  }}\n"


BARRIER = "  pto.barrier #pto.pipe<PIPE_ALL>\n"
ELSEWHERE = "  %cv = pto.make_tensor_view %c, shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>\n"


def both(body: str) -> Verdict:
    made = text(ELSEWHERE + part("pc", "cv", 16, 16) + SIDES + body).text
    made = made.replace("%b: !pto.ptr<f32>,", "%b: !pto.ptr<f32>, %c: !pto.ptr<f32>,")
    (verdict,) = check_text(Source("k.pto", f"// dmaverify: gm %c = 64x64xf32\n{made}"))
    return verdict


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (CUBE, Status.PROVED),
        (CUBE + vector("%pc", "%pc"), Status.PROVED),  # tensors of their own
        (CUBE + vector("%po", "%pc"), Status.UNKNOWN),  # what the other core may not have stored yet
        (vector("%pc", "%pd") + CUBE, Status.UNKNOWN),
        (CUBE + vector("%po", "%pc", BARRIER), Status.UNKNOWN),  # a barrier is of one core
        (CUBE + vector("%pc", "%pc", BARRIER), Status.UNKNOWN),
    ],
)
def test_sections_of_two_cores_are_judged_together_only_where_they_share_nothing(body: str, status: Status) -> None:
    assert both(body).status is status, both(body)


def test_flags_of_a_section_with_tiles_are_those_of_its_core() -> None:
    done = "  pto.sync.set #pto.pipe<PIPE_FIX>, 3\n"
    waits = "  pto.sync.wait #pto.pipe<PIPE_MTE2>, {0}\n"
    cube = CUBE.removesuffix("  }\n") + done + "  }\n"
    assert both(cube + vector("%pc", "%pc", waits.format(3))).status is Status.PROVED
    assert "core/flags" in errors(both(cube + vector("%pc", "%pc", waits.format(2))))


def called(body: str, name: str, attributes: str = "") -> str:
    return HEAD.replace("@k", f"@{name}").replace(" {\n", f" {attributes}{{\n", 1) + body + "  return\n}\n"


CALL = "  func.call @{0}(%a, %b, %n, %on) : (!pto.ptr<f32>, !pto.ptr<f32>, index, i1) -> ()\n"
MULTIPLIES = called(product(), "m", "attributes {pto.kernel_kind = #pto.kernel_kind<cube>} ")
MOVES = called(part("po", "bv", 16, 16) + part("pd", "bv", 16, 16, 32) + vector("%po", "%pd"), "v")


@pytest.mark.parametrize(
    ("calls", "status"), [(("m",), Status.PROVED), (("v",), Status.PROVED), (("m", "v"), Status.UNKNOWN)]
)
def test_a_function_of_the_cube_core_that_is_called_runs_beside_the_rest(
    calls: tuple[str, ...], status: Status
) -> None:
    body = "".join(map(CALL.format, calls))
    assert check(body, behind=MULTIPLIES + MOVES).status is status


# ---------------------------------------------------------------- elements


def element(tile_name: str, at: str) -> str:
    return f"  %v = pto.tgetval ins(%{tile_name}, {at} : {VEC}, index) outs : f32\n"


@pytest.mark.parametrize("at", ["", "addr = %a1024"])
@pytest.mark.parametrize(
    ("number", "status"),
    [("%c0", Status.PROVED), ("%n", Status.PROVED), ("%c64", Status.PROVED), ("%c256", Status.REFUTED)],
)
def test_an_element_by_its_number_is_one_of_its_tile(at: str, number: str, status: Status) -> None:
    notes = "// dmaverify: assume %n in 0..127\n"
    read = moved(at) + element("t", number) + STORED
    assert check(read, notes).status is status
    assert check(read.replace(element("t", number), set_to("t", number)), notes).status is status
    assert ("bounds" in run(read)) == (status is Status.REFUTED)
    assert check(read, notes.replace("127", "128")).status is (Status.REFUTED if number == "%n" else status)


def set_to(tile_name: str, at: str) -> str:
    return f"  pto.tsetval ins({at}, %c0 : index, index) outs(%{tile_name} : {VEC})\n"


@pytest.mark.parametrize(("made", "status"), [("", Status.UNKNOWN), (set_to("u", "%c4"), Status.PROVED)])
def test_an_element_that_is_read_was_written(made: str, status: Status) -> None:
    body = moved() + STORED + tile("u") + made + element("u", "%c4")
    assert check(body).status is status
    assert ("computed" in run(body)) == (status is Status.UNKNOWN)


@pytest.mark.parametrize("at", ["", "addr = %a1024"])
def test_the_scalar_unit_waits_for_the_load_of_a_tile(at: str) -> None:
    waits = FLAGS.replace("MTE3", "S").replace("ID0", "ID1")
    body = moved(at) + FLAGS + "{0}" + element("t", "%c4") + STORED
    assert check(body.format(waits)).status is Status.PROVED
    assert errors(check(body.format(""))) == ["core/hazard-raw"]


def test_the_claim_of_a_kernel_on_tiles_names_its_moves() -> None:
    assert check(moved() + FLAGS + STORED).claim == "every element of 2 tile moves, for all values and iterations"


@pytest.mark.parametrize(
    ("work", "ins", "kinds"),
    [
        ("tadd", "%t, %x", [VEC, VEC]),
        ("tadd", "%x, %t", [VEC, VEC]),
        ("tadds", "%x, %f", [VEC, "f32"]),
        ("tmov", "%x", [VEC]),
        ("", "", []),  # it is stored as it is
    ],
)
def test_a_tile_that_a_caller_gives_is_open_whatever_takes_it(work: str, ins: str, kinds: list[str]) -> None:
    """It is a tile, not a scalar, and which bytes it has is the caller's."""
    made = f"  pto.{work} ins({ins} : {', '.join(kinds)}) outs(%u : {VEC})\n" if work else ""
    body = moved() + tile("u") + made + op("tstore", "%u" if work else "%x", "%pb")
    (verdict,) = check_text(Source("k.mlir", text(body).text.replace("%on: i1)", f"%on: i1, %x: {VEC})")))
    assert (verdict.status, errors(verdict)) == (Status.UNKNOWN, [])
    assert any("not known" in finding.message for finding in verdict.findings)


@pytest.mark.parametrize(
    ("loads", "notes", "status"),
    [
        ("t", "", Status.PROVED),  # a tile has no more rows than its type, which is a condition
        ("t", "// dmaverify: assume %n in 1..8\n", Status.PROVED),
        ("late", "// dmaverify: assume %n in 1..8\n", Status.UNKNOWN),
    ],
)
def test_a_valid_region_that_nobody_bounds_reaches_no_further_than_its_tile(
    loads: str, notes: str, status: Status
) -> None:
    given, other = kind("vec", 8, 16, "v_row=?, v_col=16"), kind("vec", 16, 32)
    body = tile("t", given, "addr = %a0 valid_row = %n") + tile("late", other, "addr = %a0") + part("pl", "av", 16, 32)
    for name, view in (("p", "av"), ("q", "bv")):
        made = f"pto.partition_view %{view}, offsets = [%c0, %c0], sizes = [%n, %c16]"
        body += f"  %{name} = {made} : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<?x?xf32>\n"
    load, over = f"  pto.tload ins(%p : f) outs(%t : {given})\n", f"  pto.tload ins(%pl : f) outs(%late : {other})\n"
    first, last = (load, over) if loads == "t" else (load + over, "")
    found = check(f"{body}{first}  pto.tstore ins(%t : {given}) outs(%q : f)\n{last}", notes)
    assert found.status is status
    assert any("the tile has 8 rows" in said for said in found.conditions) == (not notes)


QUANTISED = product().replace(op("tstore", "%o", "%po"), "").replace(part("po", "bv", *OUT), "")


@pytest.mark.parametrize(
    ("dtype", "scalar", "status"),
    [
        ("f16", "", Status.PROVED),
        ("f16", "i64", Status.PROVED),
        ("i8", "i64", Status.PROVED),
        ("i8", "", Status.UNKNOWN),  # by what it would be quantised is not said
        ("i32", "i64", Status.UNKNOWN),
    ],
)
def test_a_product_is_stored_in_the_types_that_are_documented(dtype: str, scalar: str, status: Status) -> None:
    view = f"  %p = pto.castptr %b : !pto.ptr<f32> -> !pto.ptr<{dtype}>\n  %pv = pto.make_tensor_view %p, "
    view += f"shape = [%c64, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?x{dtype}>\n"
    ins = f"%o, %a512 : {kind('acc', *OUT)}, {scalar}" if scalar else f"%o : {kind('acc', *OUT)}"
    store = f"  pto.tstore ins({ins}) outs(%po : !pto.partition_tensor_view<?x?x{dtype}>)\n"
    assert check(QUANTISED + view + part("po", "pv", *OUT, dtype=dtype) + store).status is status


def test_a_scalar_of_quantization_is_for_results_of_products_alone() -> None:
    store = f"  pto.tstore ins(%t, %a512 : {VEC}, i64) outs(%pb : !pto.partition_tensor_view<?x?xf32>)\n"
    assert {f.rule for f in check(moved() + store).errors} == {"pto/operand-count"}


@pytest.mark.parametrize(("pad", "status"), [(0, Status.PROVED), (1, Status.PROVED), (2, Status.REFUTED)])
def test_elements_of_64_bits_are_padded_with_zero_alone(pad: int, status: Status) -> None:
    of = kind("vec", 8, 16, "v_row=8, v_col=15", "i64", f", pad={pad}")
    view = "  %p = pto.castptr %a : !pto.ptr<f32> -> !pto.ptr<i64>\n  %c15 = arith.constant 15 : index\n  %pv = "
    view += "pto.make_tensor_view %p, shape = [%c8, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xi64>\n"
    body = view + part("ph", "pv", 8, 15, dtype="i64") + tile("t", of) + f"  pto.tload ins(%ph : f) outs(%t : {of})\n"
    assert check(body).status is status
    narrow = body.replace("i64>", "i32>").replace("dtype=i64", "dtype=i32")
    assert check(narrow).status is Status.PROVED


@pytest.mark.parametrize("name", ["taddc", "tsubc", "taddsc", "tsubsc"])
def test_operations_on_three_operands_read_each(name: str) -> None:
    between = "%f" if name.endswith("sc") else "%t"
    kinds = ", ".join((VEC, "f32" if name.endswith("sc") else VEC, VEC))
    for last, status in (("%t", Status.PROVED), ("%v", Status.REFUTED)):
        work = f"  pto.{name} ins(%t, {between}, {last} : {kinds}) outs(%u : {VEC})\n"
        assert check(moved() + tile("u") + tile("v") + work + op("tstore", "%u", "%pb")).status is status


def test_a_number_in_place_of_a_value_shifts_no_types() -> None:
    """The types of three operands, of which two are named, are not those of the first two."""
    work = f"  pto.taddsc ins(%t, 1.0, %v : {VEC}, f32, {VEC}) outs(%u : {VEC})\n"
    verdict = check(moved() + tile("u") + tile("v") + work + op("tstore", "%u", "%pb"))
    assert verdict.status is not Status.PROVED
    assert any("names 2 values in ins(..), and 3 types" in f.message for f in verdict.findings)


@pytest.mark.parametrize(("source", "dest", "status"), [("i32", "i8", Status.PROVED), ("i16", "i32", Status.UNKNOWN)])
def test_a_tile_is_packed_into_one_of_narrower_elements(source: str, dest: str, status: Status) -> None:
    of, to = (kind("vec", 8, 32, dtype=one) for one in (source, dest))
    fill = f"  %one = arith.constant 1 : {source}\n  pto.texpands ins(%one : {source}) outs(%s : {of})\n"
    work = tile("s", of) + tile("d", to) + fill + f"  pto.tpack ins(%s : {of}) outs(%d : {to})\n"
    assert check(moved() + work).status is status


@pytest.mark.parametrize(("rows", "found"), [(4, set()), (8, {"core/definite"})])
def test_what_is_computed_of_nothing_in_part_is_garbage_in_part(rows: int, found: set[str]) -> None:
    """Four rows of eight are loaded; what is made of those alone may be stored."""
    of = kind("vec", 8, 16, "v_row=?, v_col=?")
    valid = "  pto.set_validshape {0}, %c{1}, %c8 : " + of + "\n"
    body = tile("t", of, "valid_row = %c4 valid_col = %c8") + tile("u", of, "valid_row = %c8 valid_col = %c8")
    body += part("pa", "av", 4, 8) + part("pb", "bv", rows, 8) + op("tload", "%pa", "%t") + valid.format("%t", 8)
    verdict = check(body + op("tabs", "%t", "%u") + valid.format("%u", rows) + op("tstore", "%u", "%pb"))
    assert verdict.status is not Status.PROVED
    assert {f.rule for f in verdict.errors} <= found


@pytest.mark.parametrize(
    ("loc", "layout", "status"),
    [
        ("left", "col_major, slayout=row_major", Status.PROVED),
        ("left", "row_major, slayout=col_major", Status.REFUTED),
        ("right", "row_major, slayout=col_major", Status.PROVED),
        ("right", "col_major, slayout=row_major", Status.REFUTED),
        ("acc", "col_major, slayout=col_major", Status.REFUTED),
    ],
)
def test_tiles_of_products_lie_as_is_documented(loc: str, layout: str, status: Status) -> None:
    body = product().replace(f"loc={loc}, ", f"loc={loc} , ")
    lines = [re.sub(r"blayout=\w+, slayout=\w+", f"blayout={layout}", one) if f"loc={loc} ," in one else one
             for one in body.splitlines()]  # fmt: skip
    verdict = check("\n".join(lines) + "\n")
    assert verdict.status is status
    assert {f.rule for f in verdict.errors} == ({"core/well-formed"} if status is Status.REFUTED else set())


def test_left_factors_in_rows_of_boxes_are_a_condition() -> None:
    rows = product().replace("loc=left, ", "loc=left , ").splitlines()
    turned = [one.replace("blayout=col_major", "blayout=row_major") if "loc=left ," in one else one for one in rows]
    verdict = check("\n".join(turned) + "\n")
    assert verdict.status is Status.PROVED
    assert any("lies as left factors of A5 do" in said for said in verdict.conditions)


@pytest.mark.parametrize(("inner", "found"), [(4064, False), (4096, True)])
def test_a_product_sums_as_many_elements_as_is_documented(inner: int, found: bool) -> None:
    left, right = kind("left", 16, inner, dtype="i8"), kind("right", inner, 16, dtype="i8")
    out = kind("acc", 16, 16, dtype="i32")
    body = moved() + tile("l", left) + tile("r", right) + tile("o", out)
    verdict = check(body + f"  pto.tmatmul ins(%l, %r : {left}, {right}) outs(%o : {out})\n")
    assert any("k is 1 to 4,095" in f.message for f in verdict.findings) is found


@pytest.mark.parametrize(("dtype", "found"), [("i32", set()), ("i64", {"documented are 8 bits, 16 bits, 32 bits"})])
def test_elements_of_up_to_four_bytes_are_filled_up(dtype: str, found: set[str]) -> None:
    of, to = kind("vec", 8, 16, "v_row=8, v_col=15", dtype), kind("vec", 8, 16, dtype=dtype, more=", pad=1")
    fill = f"  %one = arith.constant 1 : {dtype}\n  pto.texpands ins(%one : {dtype}) outs(%s : {of})\n"
    verdict = check(moved() + tile("s", of) + tile("d", to) + fill + f"  pto.tfillpad ins(%s : {of}) outs(%d : {to})\n")
    assert {said for said in found for f in verdict.findings if said in f.message} == found
    assert (verdict.status is Status.PROVED) is (not found)
