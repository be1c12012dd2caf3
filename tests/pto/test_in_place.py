"""What lies on what in an operation on tiles: results in place of an operand, cells that are not valid."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status

ITEMS = {"f32": 4, "f16": 2, "i32": 4}
IN_ROWS, IN_COLUMNS, IN_BOXES = "row_major", "col_major", "col_major, slayout=row_major"


def kind(dtype: str, rows: int, cols: int, of: str = IN_ROWS, valid: tuple[int, int] | None = None) -> str:
    v_row, v_col = valid or (rows, cols)
    return (
        f"!pto.tile_buf<loc=vec, dtype={dtype}, rows={rows}, cols={cols}, v_row={v_row}, v_col={v_col}, blayout={of}>"
    )


def text(work: str, tiles: list[tuple[int, str]], filled: int) -> Source:
    """Tiles at their addresses, `filled` of them filled one by one, then the operation."""
    lines = ["func.func @k(%n: index) {", "  %c0 = arith.constant 0 : index", "  %c1 = arith.constant 1 : index"]
    lines += ["  %f = arith.constant 0.0 : f32", "  %h = arith.constant 0.0 : f16", "  %z = arith.constant 0 : i32"]
    for number, (at, of) in enumerate(tiles):
        lines.append(f"  %at{number} = arith.constant {at} : i64")
        lines.append(f"  %t{number} = pto.alloc_tile addr = %at{number} : {of}")
    for number, (_, of) in enumerate(tiles[:filled]):
        value, dtype = {"f32": ("%f", "f32"), "f16": ("%h", "f16"), "i32": ("%z", "i32")}[of.split("dtype=")[1][:3]]
        lines.append(f"  pto.texpands ins({value} : {dtype}) outs(%t{number} : {of})")
    name, *words = work.split()
    ins = words[:-1]
    kinds = [tiles[int(word[2:])][1] if word[:2] == "%t" else "index" for word in ins]
    out = words[-1]
    lines.append(f"  pto.{name} ins({', '.join(ins)} : {', '.join(kinds)}) outs({out} : {tiles[int(out[2:])][1]})")
    if "slayout" not in (of := tiles[int(out[2:])][1]):
        lines.append(f"  %v = pto.tgetval ins({out}, %c0 : {of}, index) outs : f32")
    head = "// dmaverify: gm %a = 8x32xf32\n"
    move = (
        f"  %b = pto.alloc_tile : {kind('f32', 8, 32)}\n  pto.tload ins(%a : memref<8x32xf32, #pto.address_space<gm>>)"
    )
    move += f" outs(%b : {kind('f32', 8, 32)})\n"
    body = "\n".join(lines).replace("(%n: index)", "(%a: memref<8x32xf32, #pto.address_space<gm>>)")
    return Source("k.pto", f"{head}{body}\n{move}  return\n}}\n")


F32, F16 = kind("f32", 8, 32), kind("f16", 8, 32)
CASES = [
    ("tabs %t0 %t1", [(0, F32), (0, F32)], True),
    ("tcvt %t0 %t1", [(0, F32), (0, F16)], True),  # narrower ones lie behind what is read
    ("tcvt %t0 %t1", [(0, F16), (0, F32)], False),  # wider ones on what is read later
    ("tcvt %t0 %t1", [(0, kind("i32", 8, 32)), (0, F32)], True),
    ("tmov %t0 %t1", [(0, kind("f32", 8, 32, valid=(8, 16))), (0, kind("f32", 8, 16))], True),
    ("tmov %t0 %t1", [(0, kind("f32", 8, 16)), (0, kind("f32", 8, 32, valid=(8, 16)))], False),  # rows further apart
    ("tmov %t0 %t1", [(0, kind("f32", 1, 16)), (0, kind("f32", 8, 32, valid=(1, 16)))], True),  # of one row
    ("tabs %t0 %t1", [(0, F32), (0, kind("f32", 8, 32, IN_COLUMNS))], False),
    ("tabs %t0 %t1", [(0, kind("f32", 8, 32, IN_COLUMNS)), (0, kind("f32", 8, 32, IN_COLUMNS))], True),
    ("tabs %t0 %t1", [(0, kind("f32", 16, 16, IN_BOXES)), (0, kind("f32", 16, 16, IN_BOXES))], True),
    ("tabs %t0 %t1", [(0, kind("f32", 16, 16, IN_BOXES)), (0, kind("f32", 16, 16))], False),
    ("trowmax %t0 %t1", [(0, F32), (0, kind("f32", 8, 32, valid=(8, 1)))], True),
    ("tcolexpandmul %t0 %t1 %t2", [(0, F32), (1024, kind("f32", 1, 32)), (0, F32)], True),
    ("tcolexpandmul %t0 %t1 %t2", [(0, F32), (1024, F32), (1024, F32)], False),  # the row is read for each row
    ("tcolexpand %t0 %t1", [(0, F32), (0, F32)], True),  # it is written as it was
    ("trowexpand %t0 %t1", [(0, kind("f32", 8, 1, IN_COLUMNS)), (0, F32)], False),
    ("textract %t0 %c1 %c0 %t1", [(0, F32), (0, kind("f32", 7, 32))], True),
    ("tinsert %t0 %c1 %c0 %t1", [(0, kind("f32", 7, 32)), (0, F32)], False),
]


@pytest.mark.parametrize(("work", "tiles", "right"), CASES)
def test_a_result_in_place_of_an_operand_reaches_nothing_before_it_was_read(
    work: str, tiles: list[tuple[int, str]], right: bool
) -> None:
    same(text(work, tiles, len(tiles) - 1), right)


def same(source: Source, right: bool) -> None:
    (found,) = check_text(source)
    assert (found.status is Status.PROVED) == right, found
    said = [one.message for one in found.findings if "share bytes" in one.message]
    assert bool(said) != right
    _, (function,) = read_kernels(source)
    if right:
        assert not run_kernel(function, {"a": 1024}).found
    else:
        with pytest.raises(Beyond):
            run_kernel(function, {"a": 1024})


HALF = kind("f32", 8, 32, valid=(4, 32))
BESIDE = [
    ("tabs %t0 %t1", [(0, HALF), (512, HALF)], True),  # 4 rows of 128 bytes
    ("tabs %t0 %t1", [(0, HALF), (480, HALF)], False),
    ("tabs %t0 %t1", [(0, kind("f32", 8, 32, valid=(8, 8))), (32, kind("f32", 8, 32, valid=(8, 8)))], True),
    ("tabs %t0 %t1", [(0, kind("f32", 8, 32, valid=(8, 16))), (32, kind("f32", 8, 32, valid=(8, 16)))], False),
    ("tfillpad %t0 %t1", [(0, HALF), (512, kind("f32", 8, 32))], True),
    ("tfillpad %t0 %t1", [(512, HALF), (0, kind("f32", 8, 32))], False),  # all of the result is written
    ("tfillpad %t0 %t1", [(512, HALF), (0, kind("f32", 8, 32, f"{IN_ROWS}, pad=1", valid=(4, 32)))], False),
    ("textract %t0 %c1 %c0 %t1", [(0, HALF), (512, HALF)], False),
]


@pytest.mark.parametrize(("work", "tiles", "right"), BESIDE)
def test_cells_that_are_not_valid_are_no_operands(work: str, tiles: list[tuple[int, str]], right: bool) -> None:
    (found,) = check_text(text(work, tiles, len(tiles) - 1))
    assert right != any("share bytes" in one.message for one in found.findings)
