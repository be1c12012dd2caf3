"""Operations that move elements of tiles elsewhere: gathers by indices, columns side by side, transposes."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.execute.outcome import Beyond
from dmaverify.jobs.same_kernels import same_left
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.named import NamedFunction, named_in
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

ROWS, COLS = 8, 32
HEAD = "func.func @k(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %n: index) {\n"
HEAD += "".join(f"  %c{n} = arith.constant {n} : index\n" for n in (0, 1, 4, 8, 16, 32))
HEAD += "  %f = arith.constant 0.0 : f32\n"
HEAD += "".join(
    f"  %{v}v = pto.make_tensor_view %{v}, shape = [%c32, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>\n"
    for v in "ab"
)
NOTES = "// dmaverify: gm %a = 32x32xf32\n// dmaverify: gm %b = 32x32xf32\n"


def kind(rows: int, cols: int, valid: tuple[object, object] | None = None, dtype: str = "f32", of: str = "") -> str:
    v_row, v_col = valid or (rows, cols)
    layout = of or "row_major, slayout=none_box"
    size = f"rows={rows}, cols={cols}, v_row={v_row}, v_col={v_col}"
    return f"!pto.tile_buf<loc=vec, dtype={dtype}, {size}, blayout={layout}>"


def made(name: str, of: str, rows: int = 0, cols: int = 0) -> str:
    """A tile; with its first rows and columns loaded where there are some."""
    out = f"  %{name} = pto.alloc_tile : {of}\n"
    return out + (moved(name, rows, cols, of, "tload") if rows else "")


def moved(name: str, rows: int, cols: int, of: str, how: str = "tstore") -> str:
    view = "a" if how == "tload" else "b"
    shape = f"!pto.partition_tensor_view<{rows}x{cols}xf32>"
    part = f"  %{name}_{view} = pto.partition_view %{view}v, offsets = [%c0, %c0], sizes = [%c{rows}, %c{cols}]"
    part += f" : !pto.tensor_view<?x?xf32> -> {shape}\n"
    sides = (f"%{name}_{view} : {shape}", f"%{name} : {of}")
    ins, outs = sides if how == "tload" else reversed(sides)
    return part + f"  pto.{how} ins({ins}) outs({outs})\n"


def work(name: str, ins: list[tuple[str, str]], out: tuple[str, str], more: str = "") -> str:
    names, kinds = (", ".join(column) for column in zip(*ins, strict=True))
    return f"  pto.{name} ins({names}{more} : {kinds}) outs({out[0]} : {out[1]})\n"


def source(body: str, notes: str = NOTES) -> Source:
    return Source("k.pto", f"{notes}{HEAD}{body}  return\n}}\n")


def check(body: str) -> Verdict:
    (found,) = check_text(source(body))
    return found


def run(body: str) -> set[str]:
    _, (function,) = read_kernels(source(body))
    return run_kernel(function, {"a": 4096, "b": 4096}, {"n": 4}).found


def same(body: str, status: Status) -> Verdict:
    """What is found, as a run finds it."""
    found = check(body)
    assert found.status is status, found
    assert run(body).isdisjoint(("definite", "computed")) == (status is Status.PROVED)
    return found


# ---------------------------------------------------------------- gathers

WHOLE, INDEX = kind(ROWS, COLS), kind(ROWS, COLS, dtype="i32")
FILLED = "  %z = arith.constant 0 : i32\n  pto.tci ins(%z : i32) outs(%i : " + INDEX + ")\n"
RULE = "indices of pto.tgather at line {} name valid elements of `%t`"


def gathered(source: str, index: str = FILLED, third: bool = False, of: str = WHOLE) -> str:
    body = source + made("i", INDEX) + index + made("u", WHOLE) + made("w", INDEX)
    ins = [("%t", of), ("%i", INDEX), ("%w", INDEX)][: 2 + third]
    return body + work("tgather", ins, ("%u", WHOLE)) + moved("u", ROWS, COLS, WHOLE)


@pytest.mark.parametrize("third", [False, True])
@pytest.mark.parametrize(
    ("loaded", "index", "status"),
    [
        (made("t", WHOLE, ROWS, COLS), FILLED, Status.PROVED),
        (made("t", kind(ROWS, COLS, (4, COLS)), 4, COLS), FILLED, Status.PROVED),
        (made("t", WHOLE), FILLED, Status.UNKNOWN),  # any element of it may be the one
        (made("t", WHOLE, ROWS, COLS), "", Status.UNKNOWN),
    ],
)
def test_a_gather_takes_elements_of_its_tile_for_indices_that_were_written(
    loaded: str, index: str, status: Status, third: bool
) -> None:
    of = loaded[loaded.index("!pto") : loaded.index(">") + 1]
    body = gathered(loaded, index, third, of)
    found = same(body, status)
    line = 1 + source(body).text[: source(body).text.index("pto.tgather")].count("\n")
    assert RULE.format(line) in found.conditions


def test_what_a_gather_has_as_scratch_is_not_what_it_was() -> None:
    body = gathered(made("t", WHOLE, ROWS, COLS), third=True)
    late = body + work("tabs", [("%w", INDEX)], ("%w", INDEX))
    of = (
        "  pto.tcvt ins(%w : "
        + INDEX
        + ") outs(%u : "
        + WHOLE
        + ")\n"
        + moved("u", ROWS, COLS, WHOLE).replace("_b", "_c")
    )
    same(late + of, Status.UNKNOWN)


IN_BOXES = "col_major, slayout=row_major"


@pytest.mark.parametrize(
    "body",
    [
        gathered(made("t", kind(ROWS, COLS, of=IN_BOXES), ROWS, COLS), of=kind(ROWS, COLS, of=IN_BOXES)),
        gathered(made("t", WHOLE, ROWS, COLS)).replace("outs(%u :", "outs(%t :").replace("ins(%u :", "ins(%t :"),
        gathered(made("t", WHOLE, ROWS, COLS)).replace(
            "ins(%t, %i : " + WHOLE + ", ", "ins(%t, %i, %f : " + WHOLE + ", f32, "
        ),
        gathered(made("t", WHOLE, ROWS, COLS)).replace("ins(%t, %i : " + WHOLE + ", " + INDEX, "ins(%t : " + WHOLE),
    ],
    ids=["in boxes", "in place", "compared", "masked"],
)
def test_gathers_of_other_forms_are_open(body: str) -> None:
    assert check(body).status is Status.UNKNOWN


@pytest.mark.parametrize(("dtype", "status"), [("i32", Status.PROVED), ("i16", Status.PROVED), ("f32", Status.UNKNOWN)])
def test_indices_of_a_gather_are_whole_numbers(dtype: str, status: Status) -> None:
    value = "arith.constant 0.0 : f32" if dtype == "f32" else f"arith.constant 0 : {dtype}"
    filled = f"  %z = {value}\n  pto.texpands ins(%z : {dtype}) outs(%i : {INDEX})\n"
    body = gathered(made("t", WHOLE, ROWS, COLS), filled).replace(INDEX, kind(ROWS, COLS, dtype=dtype))
    assert check(body).status is status


ADDRESSES = "".join(f"  %at{n} = arith.constant {n} : i64\n" for n in (0, 512, 1024, 2048, 2560, 3072))
CELLS = kind(ROWS, COLS)  # of 1,024 bytes
ON_OTHERS = [
    ("tgather", (0, 1024, 2048), 3072, Status.PROVED),
    ("tgather", (0, 1024, 2048), 0, Status.UNKNOWN),
    ("tgather", (0, 1024, 2048), 1024, Status.UNKNOWN),
    ("tgather", (0, 1024, 512), 3072, Status.UNKNOWN),  # scratch on an operand
    ("tgather", (0, 1024, 2560), 3072, Status.UNKNOWN),  # on the result
    ("tcolsum", (0, 1024), 2048, Status.PROVED),
    ("tcolsum", (0, 512), 2048, Status.UNKNOWN),
    ("tcolsum", (0, 0), 2048, Status.UNKNOWN),
    ("tadd", (0, 1024), 0, Status.PROVED),
    ("tadd", (0, 1024), 512, Status.UNKNOWN),
]


@pytest.mark.parametrize(("name", "at", "out", "status"), ON_OTHERS)
def test_what_is_written_of_a_tile_lies_on_no_operand_that_is_read(
    name: str, at: tuple[int, ...], out: int, status: Status
) -> None:
    of = kind(1, COLS) if name == "tcolsum" else CELLS
    kinds = [CELLS, INDEX, INDEX][: len(at)] if name == "tgather" else [CELLS] * len(at)
    body = ADDRESSES
    for number, (begin, one) in enumerate(zip((*at, out), (*kinds, of), strict=True)):
        body += made(f"t{number}", one).replace("alloc_tile ", f"alloc_tile addr = %at{begin} ")
    body += moved("t0", ROWS, COLS, CELLS, "tload")
    second = {"tgather": FILLED.replace("%i", "%t1"), "tadd": moved("t1", ROWS, COLS, CELLS, "tload")}
    body += second.get(name, "")
    body += work(name, [(f"%t{number}", one) for number, one in enumerate(kinds)], (f"%t{len(at)}", of))
    assert check(body).status is status, check(body)
    if status is Status.PROVED:
        assert not run(body)
    else:
        with pytest.raises(Beyond):
            run(body)


# ---------------------------------------------------------------- side by side

HALF = kind(ROWS, 16)


def beside(left: str, right: str, rows: int = ROWS, cols: int = COLS, out: str = WHOLE) -> str:
    parts = [one[one.index("!pto") : one.index(">") + 1] for one in (left, right)]
    body = left + right + made("u", out) + work("tconcat", list(zip(("%t", "%s"), parts, strict=True)), ("%u", out))
    return body + moved("u", rows, cols, out)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (beside(made("t", HALF, ROWS, 16), made("s", HALF, ROWS, 16)), Status.PROVED),
        (beside(made("t", HALF, ROWS, 16), made("s", kind(ROWS, 16, (ROWS, 8)), ROWS, 8)), Status.REFUTED),
        (beside(made("t", HALF, ROWS, 16), made("s", HALF)), Status.UNKNOWN),
        (beside(made("t", kind(ROWS, 32), ROWS, 32), made("s", HALF, ROWS, 16)), Status.REFUTED),  # 48 columns
        (beside(made("t", kind(ROWS, 16, (4, 16)), 4, 16), made("s", HALF, ROWS, 16)), Status.UNKNOWN),  # 4 rows
    ],
    ids=["whole", "fewer", "unwritten", "more", "rows"],
)
def test_columns_side_by_side_are_as_many_as_both_have(body: str, status: Status) -> None:
    found = check(body)
    assert found.status is status, found
    assert bool(run(body)) == (status is Status.REFUTED) or status is Status.UNKNOWN


# ---------------------------------------------------------------- transposes

TALL = kind(COLS, ROWS)


def turned(loaded: str, rows: int = COLS, cols: int = ROWS, out: str = TALL, valid: str = "") -> str:
    of = loaded[loaded.index("!pto") : loaded.index(">") + 1]
    body = loaded + made("w", of) + made("u", out)
    return body + work("ttrans", [("%t", of), ("%w", of)], ("%u", out)) + valid + moved("u", rows, cols, out)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (turned(made("t", WHOLE, ROWS, COLS)), Status.PROVED),
        (turned(made("t", kind(ROWS, COLS, (4, COLS)), 4, COLS), COLS, 4, kind(COLS, ROWS, (COLS, 4))), Status.PROVED),
        (turned(made("t", WHOLE), COLS, ROWS), Status.UNKNOWN),
        (turned(made("t", kind(ROWS, COLS, (4, COLS)), 4, COLS)), Status.UNKNOWN),  # four rows for eight columns
        (turned(made("t", WHOLE, ROWS, COLS), 16, ROWS, kind(16, ROWS)), Status.UNKNOWN),  # no place for all
        (turned(made("t", WHOLE, ROWS, COLS)).replace("outs(%u", "outs(%t"), Status.UNKNOWN),
    ],
    ids=["whole", "part", "unwritten", "rows", "place", "in place"],
)
def test_a_transpose_has_the_columns_of_its_tile_as_rows(body: str, status: Status) -> None:
    found = check(body)
    assert found.status is status, found
    assert status is Status.UNKNOWN or not run(body)


def test_a_transpose_may_do_without_a_second_tile() -> None:
    body = turned(made("t", WHOLE, ROWS, COLS))
    same(body.replace(f"ins(%t, %w : {WHOLE}, {WHOLE})", f"ins(%t : {WHOLE})"), Status.PROVED)


# ---------------------------------------------------------------- onto what is there


def added(loaded: str, of: str = WHOLE, into: str = WHOLE, rows: int = ROWS) -> str:
    """`%u += %t * %f`, `%u` as the text leaves it before."""
    body = loaded + f"  pto.taxpy ins(%t, %f : {of}, f32) outs(%u : {into})\n"
    return body + moved("u", rows, COLS, into)


HALVED = kind(ROWS, COLS, (4, COLS))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (added(made("t", WHOLE, ROWS, COLS) + made("u", WHOLE, ROWS, COLS)), Status.PROVED),
        (added(made("t", WHOLE, ROWS, COLS) + made("u", WHOLE)), Status.REFUTED),  # nothing is there
        (added(made("t", WHOLE) + made("u", WHOLE, ROWS, COLS)), Status.REFUTED),
        (added(made("t", HALVED, 4, COLS) + made("u", WHOLE, ROWS, COLS), HALVED), Status.UNKNOWN),
        (added(made("t", WHOLE, ROWS, COLS) + made("u", HALVED, 4, COLS), into=HALVED, rows=4), Status.PROVED),
    ],
    ids=["both", "result", "operand", "fewer", "more"],
)
def test_what_adds_to_its_result_reads_it(body: str, status: Status) -> None:
    same(body, status)


def test_what_adds_to_its_result_waits_for_it() -> None:
    flags = "  pto.{0}_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]\n"
    late = "  pto.{0}_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]\n"
    at = "".join(f"  %at{n} = arith.constant {n} : i64\n" for n in (0, 1024))
    tiles = "".join(
        made(n, WHOLE, ROWS, COLS).replace("alloc_tile", f"alloc_tile addr = %at{a}")
        for n, a in (("t", 0), ("u", 1024))
    )
    half = at + made("t", WHOLE, ROWS, COLS).replace("alloc_tile", "alloc_tile addr = %at0")
    second = made("u", WHOLE, ROWS, COLS).replace("alloc_tile", "alloc_tile addr = %at1024")
    both = [flags.format(word) for word in ("set", "wait")]
    ends = "".join(late.format(word) for word in ("set", "wait"))
    axpy = f"  pto.taxpy ins(%t, %f : {WHOLE}, f32) outs(%u : {WHOLE})\n" + ends + moved("u", ROWS, COLS, WHOLE)
    assert check(at + tiles + "".join(both) + axpy).status is Status.PROVED
    assert (
        check(half + both[0] + second + both[1] + axpy).status is Status.REFUTED
    )  # of the other tile it does not know


def test_what_was_there_is_part_of_what_is_left() -> None:
    def left(value: str) -> NamedFunction:
        filled = f"  %g = arith.constant 1.0 : f32\n  pto.texpands ins({value} : f32) outs(%u : {WHOLE})\n"
        (one,) = named_in(source(added(made("t", WHOLE, ROWS, COLS) + made("u", WHOLE) + filled)))
        return one

    assert same_left(left("%f"), left("%f")).status == "proved"
    assert same_left(left("%f"), left("%g")).status != "proved"


def test_a_transpose_writes_what_is_not_valid_of_its_result() -> None:
    """Rows that held something before hold something else now."""
    small, whole = kind(COLS, ROWS, ("?", "?")), f"  pto.texpands ins(%f : f32) outs(%u : {TALL})\n"
    body = made("t", kind(ROWS, COLS, (4, COLS)), 4, COLS) + made("w", WHOLE)
    body += f"  %u = pto.alloc_tile valid_row = %c32 valid_col = %c8 : {small}\n" + whole.replace(TALL, small)
    shrunk = f"  pto.set_validshape %u, %c32, %c4 : {small}\n"
    grown = f"  pto.set_validshape %u, %c32, %c8 : {small}\n"
    of = kind(ROWS, COLS, (4, COLS))
    turns = work("ttrans", [("%t", of), ("%w", WHOLE)], ("%u", small))
    same(body + shrunk + grown + moved("u", COLS, ROWS, small), Status.PROVED)
    same(body + shrunk + turns + moved("u", COLS, 4, small), Status.PROVED)
    same(body + shrunk + turns + grown + moved("u", COLS, ROWS, small), Status.REFUTED)
