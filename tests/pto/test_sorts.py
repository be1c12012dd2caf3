"""Sorts of tiles: pairs of values and indices, in blocks of 32, and rows of sorted blocks merged."""

from __future__ import annotations

from typing import Any

import pytest

from dmaverify.errors import Source
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

HEAD = "".join(f"// dmaverify: gm %{name} = 65536 bytes\n" for name in "aib")
KINDS = {"f32": 2, "f16": 4}


def kind(cols: int, valid: object = "", rows: int = 4, dtype: str = "f32", v_rows: object = "", more: str = "") -> str:
    sizes = f"rows={rows}, cols={cols}, v_row={v_rows or rows}, v_col={valid or cols}"
    return f"!pto.tile_buf<loc=vec, dtype={dtype}, {sizes}{more}>"


def text(body: str, dtype: str = "f32", numbers: tuple[int, ...] = ()) -> Source:
    """`body` in a kernel on tensors of 64 rows and 256 columns."""
    constants = "".join(f"  %c{n} = arith.constant {n} : index\n" for n in sorted({0, 1, 64, 256, *numbers}))
    out = f"func.func @k(%a: !pto.ptr<{dtype}>, %i: !pto.ptr<i32>, %b: !pto.ptr<{dtype}>, %n: index) {{\n{constants}"
    for name, of in zip("aib", (dtype, "i32", dtype), strict=True):
        sizes = "shape = [%c64, %c256], strides = [%c256, %c1]"
        out += f"  %{name}v = pto.make_tensor_view %{name}, {sizes} : !pto.tensor_view<?x?x{of}>\n"
    return Source("k.pto", f"{HEAD}{out}{body}  return\n}}\n")


def moved(how: str, tile: str, of: str, view: str, rows: int, cols: int) -> str:
    part, shape = f"%{tile}_{how}", f"!pto.partition_tensor_view<{rows}x{cols}xf32>"
    out = f"  {part} = pto.partition_view %{view}v, offsets = [%c0, %c0], sizes = [%c{rows}, %c{cols}]"
    out += f" : !pto.tensor_view<?x?xf32> -> {shape}\n"
    sides = (f"{part} : {shape}", f"%{tile} : {of}")
    ins, outs = sides if how == "tload" else reversed(sides)
    return f"{out}  pto.{how} ins({ins}) outs({outs})\n"


def made(*tiles: tuple[str, str]) -> str:
    return "".join(f"  %{name} = pto.alloc_tile : {of}\n" for name, of in tiles)


def sorted_kernel(
    count: int = 32,
    *,
    cols: int = 32,
    room: int = 64,
    stored: int = 64,
    index_rows: int = 4,
    scratch: str = "",
    dtype: str = "f32",
    laid: str = "",
) -> Source:
    """A tile of 4 rows sorted, of which so many columns are stored."""
    values, index = kind(cols, count, dtype=dtype, more=laid), kind(cols, count, index_rows, "i32")
    pairs = kind(room, stored, dtype=dtype)
    third = [("s", scratch)] if scratch else []
    body = made(("t", values), ("x", index), ("p", pairs), *third)
    body += moved("tload", "t", values, "a", 4, count) + moved("tload", "x", index, "i", index_rows, count)
    names, kinds = ", ".join(["%t", "%x", *["%s"] * len(third)]), ", ".join([values, index, *(k for _, k in third)])
    body += f"  pto.tsort32 ins({names} : {kinds}) outs(%p : {pairs})\n" + moved("tstore", "p", pairs, "b", 4, stored)
    return text(body, dtype, (4, index_rows, count, stored))


def merged_kernel(cols: int, length: int, room: int = 0, rows: int = 1) -> Source:
    """A row of so many elements merged in blocks of `length`, of which the first are stored."""
    stored = min(room or cols, 64)
    values, result = kind(cols, rows=rows), kind(room or cols, stored, rows)
    body = made(("t", values), ("u", result)) + "  %f = arith.constant 0.0 : f32\n"
    body += f"  pto.texpands ins(%f : f32) outs(%t : {values})\n"
    body += f"  pto.tmrgsort ins(%t, %c{length} : {values}, index) outs(%u : {result})\n"
    return text(body + moved("tstore", "u", result, "b", rows, stored), numbers=(length, rows, stored))


def same(source: Source, status: Status, *found: str) -> Verdict:
    """What is found, as a run finds it; `open` where it cannot say."""
    (verdict,) = check_text(source)
    assert verdict.status is status, verdict
    _, (function,) = read_kernels(source)
    try:
        ran = set(run_kernel(function, dict.fromkeys("aib", 65536), {"n": 0}).found)
    except Beyond:
        ran = {"open"}
    assert ran == set(found)
    return verdict


ROOM = kind(32, rows=1)


@pytest.mark.parametrize(("dtype", "each"), KINDS.items())
def test_each_value_and_its_index_become_a_pair_of_eight_bytes(dtype: str, each: int) -> None:
    same(sorted_kernel(dtype=dtype, room=32 * each, stored=32 * each), Status.PROVED)
    wide = sorted_kernel(dtype=dtype, room=64 * each, stored=32 * each + 8)
    assert {f.rule for f in same(wide, Status.REFUTED, "definite").errors} == {"core/definite"}


@pytest.mark.parametrize(("rows", "status"), [(1, Status.PROVED), (2, Status.UNKNOWN), (4, Status.PROVED)])
def test_one_row_of_indices_serves_all_rows_or_each_has_its_own(rows: int, status: Status) -> None:
    same(sorted_kernel(index_rows=rows), status, *(["open"] if status is Status.UNKNOWN else []))


@pytest.mark.parametrize(
    ("count", "scratch", "stored", "status", "found"),
    [
        (24, ROOM, 48, Status.PROVED, []),
        (24, ROOM, 56, Status.REFUTED, ["definite"]),  # what fills the last block up
        (24, "", 48, Status.UNKNOWN, ["open"]),
        (24, kind(24, rows=1), 48, Status.UNKNOWN, ["open"]),  # no room for a block
        (32, ROOM, 64, Status.PROVED, []),
    ],
)
def test_a_last_block_that_is_not_full_needs_a_third_tile(
    count: int, scratch: str, stored: int, status: Status, found: list[str]
) -> None:
    same(sorted_kernel(count, scratch=scratch, stored=stored), status, *found)


def test_rows_of_the_result_have_room_for_whole_blocks() -> None:
    same(sorted_kernel(24, scratch=ROOM, room=56, stored=48), Status.UNKNOWN, "open")
    same(sorted_kernel(laid=", blayout=col_major"), Status.UNKNOWN, "open")


def test_the_scratch_of_a_sort_holds_nothing_known() -> None:
    source = sorted_kernel(24, scratch=ROOM, stored=48)
    late = source.text.replace("  return", moved("tstore", "s", ROOM, "a", 1, 32) + "  return").replace(
        "  %c64 =", "  %c32 = arith.constant 32 : index\n  %c64 ="
    )
    same(Source("k.pto", late), Status.REFUTED, "definite")


@pytest.mark.parametrize(
    ("cols", "length", "status"),
    [
        (256, 64, Status.PROVED),
        (1024, 256, Status.PROVED),
        (512, 64, Status.PROVED),
        (320, 64, Status.UNKNOWN),  # not four blocks
        (256, 32, Status.UNKNOWN),
        (256, 0, Status.UNKNOWN),
        (4 * 64 * 255, 64, Status.PROVED),
        (4 * 64 * 256, 64, Status.UNKNOWN),  # more often than it counts
    ],
)
def test_four_sorted_blocks_at_a_time_become_one(cols: int, length: int, status: Status) -> None:
    if cols * 8 > 262144:  # two of them have no room in UB
        (found,) = check_text(merged_kernel(cols, length))
        assert any("what it does is not documented" in f.message for f in found.findings) == (
            status is not Status.PROVED
        )
        return
    same(merged_kernel(cols, length), status, *(["open"] if status is Status.UNKNOWN else []))


def test_a_merge_writes_as_much_as_it_reads_of_one_row() -> None:
    same(merged_kernel(256, 64, room=248), Status.REFUTED, "bounds")
    same(merged_kernel(256, 64, rows=2), Status.UNKNOWN, "open")


def lists_kernel(
    *cols: int,
    room: int = 0,
    made: int = 0,
    stored: int = 0,
    dtype: str = "f32",
    how: str = "{exhausted = false}",
    more: str = "",
    late: str = "",
) -> Source:
    """Rows of so many elements merged through a tile of `room`, of which the first `stored` of `made` are stored."""
    made, room = made or sum(cols), room or sum(cols)
    kinds = [kind(n, rows=1, dtype=dtype) for n in cols]
    scratch, result = kind(room, rows=1, dtype=dtype), kind(made, stored or made, 1, dtype, more=more)
    names = [f"l{n}" for n in range(len(cols))]
    body = "".join(f"  %{n} = pto.alloc_tile : {of}\n" for n, of in zip(names, kinds, strict=True))
    body += f"  %s = pto.alloc_tile : {scratch}\n  %u = pto.alloc_tile : {result}\n"
    body += "".join(moved("tload", n, of, "a", 1, c) for n, of, c in zip(names, kinds, cols, strict=True))
    given = f"{', '.join(f'%{n}' for n in names)}, %s {how} : {', '.join([*kinds, scratch])}"
    body += f"  pto.tmrgsort ins({given}) outs(%u, %took : {result}, vector<4xi16>)\n"
    body += moved("tstore", "u", result, "b", 1, stored or made) + late
    source = text(body, dtype, (*cols, made, stored or made, room))
    return Source("k.pto", source.text.replace("%n: index)", "%n: index, %took: vector<4xi16>)"))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_two_to_four_lists_become_one(count: int, dtype: str) -> None:
    same(lists_kernel(*[64] * count, dtype=dtype), Status.PROVED)
    same(lists_kernel(*[64] * count, dtype=dtype, made=256, stored=64), Status.PROVED)  # the first of them


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"cols": (64,)}, Status.UNKNOWN),
        ({"cols": (64, 64), "room": 120}, Status.UNKNOWN),  # no room for both
        ({"cols": (64, 64), "made": 136}, Status.UNKNOWN),  # more than is merged
        ({"cols": (64, 64), "how": "{exhausted = true}"}, Status.UNKNOWN),
        ({"cols": (64, 64), "how": ""}, Status.UNKNOWN),
        ({"cols": (64, 64), "how": "no_tmp {exhausted = false}"}, Status.UNKNOWN),
        ({"cols": (64, 64), "more": ", blayout=col_major"}, Status.UNKNOWN),
        ({"cols": (64, 192)}, Status.PROVED),
    ],
)
def test_what_a_merge_of_other_lists_leaves_is_open(given: dict[str, Any], status: Status) -> None:
    given = dict(given)
    same(lists_kernel(*given.pop("cols"), **given), status, *(["open"] if status is Status.UNKNOWN else []))


def test_what_was_merged_lies_in_the_result_and_not_in_the_scratch() -> None:
    late = moved("tstore", "s", kind(128, rows=1), "b", 1, 128)
    same(lists_kernel(64, 64, late=late), Status.REFUTED, "definite")


@pytest.mark.parametrize(
    ("read", "status"), [(10, Status.PROVED), (12, Status.UNKNOWN), (14, Status.REFUTED), (16, Status.REFUTED)]
)
def test_behind_what_was_merged_the_rest_of_a_block_is_garbage(read: int, status: Status) -> None:
    """Of two lists of 6 elements 10 are asked for: two more are merged, and four more are in the last block."""
    full, wide = kind(8, rows=1), kind(16, 10, 1)
    text = lists_kernel(8, 8, stored=10).text.replace(
        "  return", f"  pto.tstore ins(%u : {wide}) outs(%bp : f)\n  return"
    )
    text = text.replace(f": {full}\n", f": {kind(8, 6, 1)}\n").replace("sizes = [%c1, %c8]", "sizes = [%c1, %c6]")
    text = text.replace(
        "  %c8 =", f"  %c6 = arith.constant 6 : index\n  %read = arith.constant {read} : index\n  %c8 ="
    )
    later = f"  pto.set_validshape %u, %c1, %read : {wide}\n  %bp = pto.partition_view %bv, offsets = [%c0, %c0],"
    later += " sizes = [%c1, %read] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<?x?xf32>\n"
    (found,) = check_text(
        Source(
            "k.pto",
            text.replace("  pto.tstore ins(%u : " + wide + ") outs(%bp", f"{later}  pto.tstore ins(%u : f) outs(%bp"),
        )
    )
    assert found.status is status, found


def test_each_list_that_is_merged_was_written() -> None:
    source = lists_kernel(64, 64)
    load = next(line for line in source.text.splitlines() if "pto.tload" in line and "%l1" in line)
    same(Source("k.pto", source.text.replace(load + "\n", "")), Status.UNKNOWN, "computed", "definite")
