"""Rows and elements of tensors that a tile of indices names: gathered into a tile, scattered from one."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from dmaverify.errors import Source
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Verdict

VIEW = "!pto.tensor_view<?x?xi32>"


def tile(rows: int, cols: int, valid: tuple[int, int] | None = None, more: str = "blayout=row_major") -> str:
    v_row, v_col = valid or (rows, cols)
    shape = f"dtype=i32, rows={rows}, cols={cols}, v_row={v_row}, v_col={v_col}"
    return f"!pto.tile_buf<loc=vec, {shape}, {more}, slayout=none_box, fractal=512, pad=0>"


def view(name: str, rows: int, cols: int, apart: int = 0) -> list[str]:
    whole = f"%{name}v = pto.make_tensor_view %{name}, shape = [%c{rows}, %c{cols}], strides = [%c{apart or cols}, %c1]"
    part = f"%{name}p = pto.partition_view %{name}v, offsets = [%c0, %c0], sizes = [%c{rows}, %c{cols}]"
    return [f"{whole} : {VIEW}", f"{part} : {VIEW} -> !pto.partition_tensor_view<{rows}x{cols}xi32>"]


def part(name: str, rows: int, cols: int) -> tuple[str, str]:
    return f"%{name}p", f"!pto.partition_tensor_view<{rows}x{cols}xi32>"


def operation(name: str, ins: list[tuple[str, str]], out: tuple[str, str], modes: str = "") -> str:
    given = f"{', '.join(n for n, _ in ins)} : {', '.join(t for _, t in ins)}"
    return f"pto.{name} ins({given}) outs({out[0]} : {out[1]}) {modes}"


TABLE, OUT, LIST = part("t", 64, 32), part("o", 8, 32), part("i", 1, 8)
INDEX, DATA = ("%x", tile(1, 8)), ("%d", tile(8, 32))
ASIDE = tile(1, 8, more="blayout=col_major")
ROWS = "{coalesce = #pto<coalesce row>}"


def text_of(*lines: str, index: str = INDEX[1], data: str = DATA[1], apart: int = 0) -> str:
    numbers = [f"%c{n} = arith.constant {n} : index" for n in (0, 1, 8, 32, 64, 40)]
    views = [*view("t", 64, 32, apart), *view("o", 8, 32), *view("i", 1, 8)]
    made = [f"%x = pto.alloc_tile : {index}", f"%d = pto.alloc_tile : {data}"]
    arguments = ", ".join(f"%{name}: !pto.ptr<i32, gm>" for name in "toi")
    notes = [f"// dmaverify: gm %{name} = 16384 bytes" for name in "toi"]
    body = [f"func.func @k({arguments}) {{", *numbers, *views, *made, *lines, "return", "}", ""]
    return "\n".join([*notes, *body])


def check(*lines: str, **more: Any) -> Verdict:
    """The verdict, which a run of the text does not contradict."""
    text = text_of(*lines, **more)
    (found,) = check_text(Source("k.mlir", text))
    _, (function,) = read_kernels(Source("k.mlir", text))
    with contextlib.suppress(Beyond):
        seen = run_kernel(function, dict.fromkeys("toi", 16384)).found
        assert not (seen and found.status.value == "proved")
        assert "definite" in seen or found.status.value != "refuted"
    return found


LOADED = operation("tload", [LIST], INDEX)
STORED = operation("tstore", [DATA], OUT)
FILLED = operation("tload", [OUT], DATA)


def gather(modes: str = ROWS, index: str = INDEX[1], data: str = DATA[1]) -> str:
    return operation("mgather", [TABLE, ("%x", index)], ("%d", data), modes)


def scatter(modes: str = ROWS) -> str:
    return operation("mscatter", [DATA, INDEX], TABLE, modes)


def indices(found: Verdict) -> list[str]:
    return [one for one in found.conditions if "indices" in one]


def test_a_gather_is_proved_where_its_indices_name_rows() -> None:
    found = check(LOADED, gather(), STORED)
    assert found.status.value == "proved"
    assert indices(found) == ["indices of pto.mgather at line 20 name rows of the tensor"]
    guarded = check(LOADED, gather("{coalesce = #pto<coalesce row>, gatherOob = #pto<gather_oob clamp>}"), STORED)
    assert (guarded.status.value, indices(guarded)) == ("proved", [])


def test_a_gather_writes_the_valid_rows_alone() -> None:
    few = tile(8, 32, (7, 32))
    assert check(LOADED, gather(data=few), STORED, data=few).status.value == "unknown"  # seven rows, eight indices
    assert check(gather(), STORED).status.value == "unknown"  # nobody wrote the indices
    assert check(LOADED, STORED).status.value == "refuted"


def test_elements_are_gathered_by_an_index_each() -> None:
    whole = tile(8, 32)
    by_one = operation("tload", [OUT], ("%x", whole)), gather("{coalesce = #pto<coalesce elem>}", whole), STORED
    assert check(*by_one, index=whole).status.value == "proved"
    assert check(LOADED, gather("{coalesce = #pto<coalesce elem>}"), STORED).status.value == "unknown"


@pytest.mark.parametrize(
    ("lines", "more"),
    [
        ((LOADED, gather(""), STORED), {}),  # rows or elements?
        ((LOADED, gather(), STORED), {"apart": 40}),  # rows of the tensor lie apart
        ((LOADED, gather(index=ASIDE), STORED), {"index": ASIDE}),  # indices of one row, in columns
    ],
)
def test_what_no_document_says_is_open(lines: tuple[str, ...], more: dict[str, Any]) -> None:
    assert check(*lines, **more).status.value == "unknown"


def test_a_scatter_is_proved_where_no_two_indices_are_the_same_or_it_adds() -> None:
    found = check(LOADED, FILLED, scatter())
    assert found.status.value == "proved"
    assert [one.split(" of ")[0] for one in indices(found)] == ["indices", "no two indices"]
    adds = "{coalesce = #pto<coalesce row>, scatterAtomicOp = #pto<scatter_atomic_op add>}"
    assert len(indices(check(LOADED, FILLED, scatter(adds)))) == 1
    assert [f.rule for f in check(LOADED, scatter()).errors] == ["core/definite"]


def test_what_a_scatter_may_write_is_in_order_with_other_accesses_by_flags_or_open() -> None:
    def pair(one: str, two: str) -> list[str]:
        return [f"pto.{act}_flag[<PIPE_{one}>, <PIPE_{two}>, <EVENT_ID0>]" for act in ("set", "wait")]

    again = operation("tload", [part("t", 64, 32)], ("%e", tile(64, 32)))
    made = f"%e = pto.alloc_tile : {tile(64, 32)}"
    begin = [made, LOADED, FILLED, *pair("MTE2", "V"), scatter()]
    assert check(*begin, *pair("V", "MTE2"), again).status.value == "proved"
    assert check(*begin, again).status.value == "unknown"
