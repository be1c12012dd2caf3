"""Parts of tiles (`pto.subview`): cells of the whole, in rows as far apart as there; drawn kernels and their runs."""

from __future__ import annotations

import random

import pytest
from lab.draws import seeds

from dmaverify.errors import Source
from dmaverify.execute.outcome import Beyond
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

ROWS, COLS = 8, 32
HEAD = "// dmaverify: gm %a = 8x32xf32\n// dmaverify: gm %b = 8x32xf32\n"
HEAD += "func.func @k(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %n: index) {\n"
HEAD += "".join(f"  %c{n} = arith.constant {n} : index\n" for n in range(33))
HEAD += "  %z = arith.constant 0 : i64\n"
HEAD += "".join(
    f"  %{v}v = pto.make_tensor_view %{v}, shape = [%c8, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>\n"
    for v in "ab"
)


def kind(rows: int, cols: int, valid: str = "", layout: str = "row_major, slayout=none_box", loc: str = "vec") -> str:
    valid = valid or f"v_row={rows}, v_col={cols}"
    return f"!pto.tile_buf<loc={loc}, dtype=f32, rows={rows}, cols={cols}, {valid}, blayout={layout}>"


WHOLE = kind(ROWS, COLS)
TILE = f"  %t = pto.alloc_tile : {WHOLE}\n"


def part(name: str, at: tuple[object, object], size: tuple[int, int], more: str = "", of: str = "t") -> str:
    source = WHOLE if of == "t" else kind(4, 16)
    row, col = (f"%c{one}" if isinstance(one, int) else one for one in at)
    made = f"pto.subview %{of}[{row}, {col}] sizes [{size[0]}, {size[1]}]{more}"
    return f"  %{name} = {made} : {source} -> {kind(*size)}\n"


def moved(name: str, tile: str, size: tuple[int, int], at: tuple[int, int] = (0, 0), of: str = WHOLE) -> str:
    view = "a" if name == "tload" else "b"
    given = "!pto.partition_tensor_view<?x?xf32>"
    cut = f"offsets = [%c{at[0]}, %c{at[1]}], sizes = [%c{size[0]}, %c{size[1]}]"
    sides = [("p" + view, given), (tile, of)]
    ins, outs = sides if name == "tload" else sides[::-1]
    made = f"  %p{view} = pto.partition_view %{view}v, {cut} : !pto.tensor_view<?x?xf32> -> {given}\n"
    return f"{made}  pto.{name} ins(%{ins[0]} : {ins[1]}) outs(%{outs[0]} : {outs[1]})\n"


def into(name: str, size: tuple[int, int], at: tuple[int, int] = (0, 0)) -> str:
    return moved("tload", name, size, at, kind(*size))


def added(one: str, two: str, out: str, size: tuple[int, int]) -> str:
    of = kind(*size)
    return f"  pto.tadd ins(%{one}, %{two} : {of}, {of}) outs(%{out} : {of})\n"


def check(body: str, notes: str = "") -> Verdict:
    (verdict,) = check_text(Source("k.pto", f"{notes}{HEAD}{body}  return\n}}\n"))
    return verdict


def run(body: str, n: int = 0) -> set[str]:
    _, (function, *_) = read_kernels(Source("k.pto", f"{HEAD}{body}  return\n}}\n"))
    return run_kernel(function, {"a": 1024, "b": 1024}, {"n": n}).found


STORED = moved("tstore", "t", (ROWS, COLS))
HALVES = part("u", (0, 0), (8, 16)) + part("v", (0, 16), (8, 16))


@pytest.mark.parametrize("at", ["", "addr = %z "])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (HALVES + into("u", (8, 16)) + into("v", (8, 16), (0, 16)), Status.PROVED),
        (HALVES + into("u", (8, 16)), Status.REFUTED),  # the other half is nobody's
        (part("u", (0, 0), (4, 32)) + part("v", (4, 0), (4, 32)) + into("u", (4, 32)) + into("v", (4, 32), (4, 0)),
         Status.PROVED),
        (part("u", (0, 0), (4, 32)) + part("v", (3, 0), (4, 32)) + into("u", (4, 32)) + into("v", (4, 32), (4, 0)),
         Status.REFUTED),  # the last row
    ],
    ids=("columns", "one half", "rows", "rows too high"),
)  # fmt: skip
def test_parts_make_the_whole_where_they_cover_it(body: str, status: Status, at: str) -> None:
    body = TILE.replace(" : ", f" {at}: ") + body + STORED
    verdict = check(body)
    assert verdict.status is status, verdict
    assert ("definite" in run(body)) == (status is Status.REFUTED)


LOADED = TILE + moved("tload", "t", (ROWS, COLS))
COLUMNS = "!pto.tile_buf<loc=vec, dtype=f32, rows=8, cols=32, v_row=8, v_col=32, blayout=col_major"


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (part("u", (4, 8), (4, 24)), Status.PROVED),
        (part("u", (5, 8), (4, 24)), Status.REFUTED),  # a row too many
        (part("u", (4, 16), (4, 24)), Status.REFUTED),
        (part("u", (4, 4), (4, 24)), Status.UNKNOWN),  # inside of a block of 32 bytes
        (part("u", ("%n", 8), (4, 24)), Status.PROVED),  # where its rows are some of the tile
        (part("w", (4, 16), (4, 16)) + part("u", (2, 8), (2, 8), of="w"), Status.PROVED),  # a part of a part
        (part("u", (4, 8), (4, 24)).replace("sizes [4, 24]", "sizes [4, 16]"), Status.UNKNOWN),
        (part("u", (0, 0), (8, 32)).replace("-> !pto.tile_buf<loc=vec, dtype=f32, rows=8, cols=32, v_row=8, v_col=32, "
         "blayout=row_major", f"-> {COLUMNS}"), Status.UNKNOWN),
    ],
    ids=("inside", "rows", "columns", "block", "any row", "nested", "another size", "columns first"),
)  # fmt: skip
def test_a_part_lies_in_its_tile_on_blocks(made: str, status: Status) -> None:
    size = (2, 8) if "%w" in made else (8, 32) if "[8, 32]" in made else (4, 24)
    of = made.rsplit("-> ", 1)[1].strip()
    verdict = check(LOADED + made + moved("tstore", "u", size, of=of))
    assert verdict.status is status, verdict


BOXES = "col_major, slayout=row_major"


@pytest.mark.parametrize("layout", [BOXES, "col_major, slayout=none_box"])
@pytest.mark.parametrize(
    ("at", "shape", "valid", "other", "status"),
    [
        ((0, 0), (8, 32), (8, 32), "", Status.PROVED),
        ((0, 0), (8, 32), (4, 24), "", Status.PROVED),
        ((0, 0), (4, 32), (4, 32), "", Status.UNKNOWN),
        ((0, 8), (8, 24), (8, 24), "", Status.UNKNOWN),
        ((0, 0), (8, 32), (8, 32), "row_major, slayout=row_major", Status.UNKNOWN),
    ],
    ids=("whole", "less of it", "rows", "columns", "another layout"),
)
def test_of_a_tile_in_boxes_or_columns_all_of_it_is_a_part(
    at: tuple[int, int], shape: tuple[int, int], valid: tuple[int, int], other: str, status: Status, layout: str
) -> None:
    whole = kind(ROWS, COLS, layout=layout)
    of = kind(*shape, valid=f"v_row={valid[0]}, v_col={valid[1]}", layout=other or layout)
    body = f"  %t = pto.alloc_tile : {whole}\n" + moved("tload", "t", (ROWS, COLS), of=whole)
    body += f"  %u = pto.subview %t[%c{at[0]}, %c{at[1]}] sizes [{shape[0]}, {shape[1]}] : {whole} -> {of}\n"
    body += moved("tstore", "u", valid, of=of)
    assert check(body).status is status, check(body)
    assert status is Status.UNKNOWN or not run(body)


GRID = kind(32, 32, layout=BOXES, loc="mat")
GIVEN = "  %wide = pto.make_tensor_view %a, shape = [%c32, %c32], strides = [%c32, %c1] : f\n"
GIVEN += f"  %t = pto.alloc_tile : {GRID}\n"


def of_grid(name: str, at: tuple[object, int], size: tuple[int, int]) -> str:
    row, col = (f"%c{n}" if isinstance(n, int) else n for n in at)
    of = kind(*size, layout=BOXES, loc="mat")
    return f"  %{name} = pto.subview %t[{row}, {col}] sizes [{size[0]}, {size[1]}] : {GRID} -> {of}\n"


def filled(name: str, rows: int = 32) -> str:
    """Loaded with as many rows of a tensor."""
    part = f"  %{name}_p = pto.partition_view %wide, offsets = [%c0, %c0], sizes = [%c{rows}, %c32] : f\n"
    return f"{part}  pto.tload ins(%{name}_p : f) outs(%{name} : {kind(rows, 32, layout=BOXES, loc='mat')})\n"


def pushed(name: str) -> str:
    return f"  pto.tpush_to_aiv(%{name} : {GRID}) {{split = 0}}\n"


UPPER, LOWER = of_grid("u", (0, 0), (16, 32)), of_grid("v", (16, 0), (16, 32))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (UPPER + filled("u", 16) + pushed("u"), Status.PROVED),
        (UPPER + LOWER + filled("u", 16) + pushed("v"), Status.REFUTED),
        (UPPER + filled("u", 16) + pushed("t"), Status.REFUTED),
        (UPPER + LOWER + filled("u", 16) + filled("v", 16) + pushed("t"), Status.PROVED),
        (filled("t") + LOWER + pushed("v"), Status.PROVED),
        (filled("t") + of_grid("w", (0, 8), (32, 8)) + pushed("w"), Status.PROVED),
        (filled("t") + of_grid("w", (8, 0), (16, 32)) + pushed("w"), Status.UNKNOWN),  # it cuts boxes, as those below
        (filled("t") + of_grid("w", (0, 4), (32, 8)) + pushed("w"), Status.UNKNOWN),
        (filled("t") + of_grid("w", (0, 0), (8, 32)) + pushed("w"), Status.UNKNOWN),
        (filled("t") + of_grid("w", (0, 0), (32, 4)) + pushed("w"), Status.UNKNOWN),
        (filled("t") + of_grid("w", ("%n", 0), (16, 32)) + pushed("w"), Status.UNKNOWN),
    ],
)
def test_a_part_of_a_tile_of_a_cube_memory_is_whole_boxes(body: str, status: Status) -> None:
    source = Source("k.pto", f"{HEAD.replace('8x32xf32', '32x32xf32')}{GIVEN}{body}  return\n}}\n")
    (verdict,) = check_text(source)
    assert verdict.status is status, verdict
    _, (function,) = read_kernels(source)
    try:
        found = bool(run_kernel(function, {"a": 4096, "b": 4096}, {"n": 4}).found)
    except Beyond:
        assert status is Status.UNKNOWN
        return
    assert found == (status is Status.REFUTED)


@pytest.mark.parametrize(("most", "status"), [(4, Status.PROVED), (5, Status.REFUTED)])
@pytest.mark.parametrize("stores", [True, False])
def test_a_part_at_any_row_lies_in_its_tile(most: int, stores: bool, status: Status) -> None:
    body = LOADED if stores else TILE
    body += part("u", ("%n", 8), (4, 24)) + moved("tstore" if stores else "tload", "u", (4, 24), of=kind(4, 24))
    verdict = check(body, f"// dmaverify: assume %n in 0..{most}\n")
    assert verdict.status is status
    assert ("core/in-bounds" in {f.rule for f in verdict.errors}) == (status is Status.REFUTED)


def flag(source: str, dest: str) -> str:
    return "".join(f'  pto.{one}_flag["PIPE_{source}", "PIPE_{dest}", "EVENT_ID0"]\n' for one in ("set", "wait"))


@pytest.mark.parametrize(("row", "rules"), [(4, set()), (3, {"core/hazard-war", "core/hazard-waw"})])
@pytest.mark.parametrize("at", ["", "addr = %z "])
def test_only_parts_that_share_a_byte_have_to_be_ordered(row: int, rules: set[str], at: str) -> None:
    size = (4, 32)
    body = f"  %t = pto.alloc_tile {at}: {WHOLE}\n" + part("u", (0, 0), size) + part("v", (row, 0), size)
    body += into("u", size) + flag("MTE2", "V") + added("u", "u", "u", size)
    body += into("v", size) + flag("V", "MTE3") + flag("MTE2", "MTE3") + STORED
    assert {f.rule for f in check(body).errors} - {"core/definite"} == rules
    assert {f"core/hazard-{one}" for one in run(body) if one in ("raw", "war", "waw")} == rules


def test_a_valid_region_is_that_of_the_part() -> None:
    small = kind(4, 32, "v_row=?, v_col=?")
    made = part("u", (4, 0), (4, 32), " valid [%c2, %c32]").replace(kind(4, 32), small)
    assert check(LOADED + made + moved("tstore", "u", (2, 32), of=small)).status is Status.PROVED
    assert check(TILE + made + moved("tload", "u", (2, 32), of=small) + STORED).status is Status.REFUTED


def test_a_part_is_not_reshaped() -> None:
    made = part("w", (4, 16), (4, 16)) + f"  %u = pto.treshape %w : {kind(4, 16)} -> {kind(8, 8)}\n"
    assert check(LOADED + made + moved("tstore", "u", (8, 8), of=kind(8, 8))).status is Status.UNKNOWN


def drawn(rng: random.Random) -> str:
    """Loads into parts, sums of parts, and a store of the whole or of a part."""
    at = "addr = %z " if rng.random() < 0.4 else ""
    body, sized = f"  %t = pto.alloc_tile {at}: {WHOLE}\n", {"t": (ROWS, COLS)}
    for number in range(rng.randrange(2, 6)):
        size = rng.choice([(8, 16), (4, 32), (4, 16), (2, 8), (8, 8), (1, 24)])
        row, col = rng.randrange(0, ROWS - size[0] + 1), 8 * rng.randrange(0, (COLS - size[1]) // 8 + 1)
        body += part(f"s{number}", (row, col), size)
        sized[f"s{number}"] = size
    for _ in range(rng.randrange(2, 8)):
        name = rng.choice(list(sized))
        if rng.random() < 0.65:
            body += into(name, sized[name])
        else:
            alike = [one for one in sized if sized[one] == sized[name]]
            body += added(name, rng.choice(alike), rng.choice(alike), sized[name])
    last = rng.choice(["t", *sized])
    return body + moved("tstore", last, sized[last], of=kind(*sized[last]))


@pytest.mark.parametrize("seed", seeds(30, 2000))
def test_a_run_and_the_proof_of_drawn_parts_agree(seed: int) -> None:
    """What is computed from cells that nobody wrote is open where it is not stored, and so is a sum that lies on one of
    its operands and begins elsewhere.
    """
    body = drawn(random.Random(seed))
    verdict = check(body)
    try:
        found = run(body)
    except Beyond:
        found = {"open"}
    assert (verdict.status is Status.PROVED) == (not found), (found, verdict, body)
    assert verdict.status is not Status.REFUTED or found & {"definite", "open"}


@pytest.mark.parametrize(
    ("one", "out", "status"),
    [
        ((0, 0), (0, 0), Status.PROVED),  # in place
        ((0, 0), (4, 0), Status.PROVED),
        ((0, 0), (0, 16), Status.PROVED),
        ((0, 16), (2, 0), Status.PROVED),
        ((0, 0), (0, 8), Status.UNKNOWN),
        ((1, 0), (0, 0), Status.UNKNOWN),
        ((3, 16), (0, 8), Status.UNKNOWN),
        ((0, 0), ("%n", 0), Status.UNKNOWN),
        ((0, 0), ("%n", 16), Status.PROVED),
    ],
)
@pytest.mark.parametrize("at", ["", "addr = %z "])
def test_a_result_lies_where_its_operand_does_or_apart_from_it(
    at: str, one: tuple[int, int], out: tuple[int | str, int], status: Status
) -> None:
    size = (4, 16)
    body = LOADED.replace("pto.alloc_tile ", f"pto.alloc_tile {at}") + part("u", one, size) + part("v", out, size)
    body += added("u", "u", "v", size) + STORED
    assert check(body, "// dmaverify: assume %n in 0..4\n").status is status
    if status is Status.UNKNOWN and "%n" not in out:
        with pytest.raises(Beyond):
            run(body)
    else:
        assert not run(body)


def test_the_valid_region_of_a_tile_that_a_caller_gives_is_told_as_that() -> None:
    source = f"{HEAD}  pto.set_validshape %x, %c1, %c1 : {WHOLE}\n{LOADED}{STORED}  return\n}}\n"
    (verdict,) = check_text(Source("k.pto", source.replace("%n: index)", f"%n: index, %x: {WHOLE})")))
    assert verdict.status is Status.UNKNOWN
    assert any("the tile `%x`, or how much of it" in finding.message for finding in verdict.findings)


@pytest.mark.parametrize(
    ("at", "first", "fine"),
    [
        ("%z", 1, True),
        ("%z", 0, False),
        ("%c256", 0, False),
        ("%c256", 2, False),
        ("%c256", 3, True),
        ("%c896", 3, True),
        ("%c896", 4, False),
    ],
)
@pytest.mark.parametrize("layout", ["row_major, slayout=none_box", BOXES])
def test_a_tile_that_is_written_takes_of_another_the_bytes_that_they_share(
    at: str, first: int, fine: bool, layout: str
) -> None:
    """A row has 128 bytes, the other tile a block of 32; of one in boxes nobody says which elements they are."""
    whole, block = kind(ROWS, COLS, layout=layout), kind(1, 8)
    numbers = "".join(f"  %c{n} = arith.constant {n} : i64\n" for n in (256, 896))
    body = numbers + f"  %t = pto.alloc_tile addr = %z : {whole}\n" + moved("tload", "t", (ROWS, COLS), of=whole)
    body += f"  %v = pto.alloc_tile addr = {at} : {block}\n" + moved("tload", "v", (1, 8), of=block)
    of = kind(4, COLS, layout=layout)
    body += f"  %w = pto.alloc_tile : {of}\n  %r = arith.constant {first} : index\n"
    body += f"  pto.textract ins(%t, %r, %c0 : {whole}, index, index) outs(%w : {of})\n"
    body += moved("tstore", "w", (4, COLS), of=of)
    fine = fine and layout != BOXES
    assert (check(body).status is Status.PROVED) == fine
    assert run(body).isdisjoint(("definite", "computed")) == fine or layout == BOXES


def subset(row: object, col: int, rows: int, cols: int, valid: int = ROWS) -> str:
    """A part whose type nobody writes, of a tile of which so many rows are loaded and valid."""
    of, at = kind(ROWS, COLS, f"v_row={valid}, v_col={COLS}"), f"%c{row}" if isinstance(row, int) else row
    body = f"  %t = pto.alloc_tile : {of}\n" + moved("tload", "t", (valid, COLS), of=of)
    return body + f"  %u = pto.subset %t[{at}, %c{col}] sizes [{rows}, {cols}] : {of}\n"


@pytest.mark.parametrize(
    ("body", "status", "found"),
    [
        (subset(0, 0, 4, 16) + moved("tstore", "u", (4, 16)), Status.PROVED, set()),
        (subset(4, 16, 4, 16) + moved("tstore", "u", (4, 16)), Status.PROVED, set()),
        (subset("%n", 0, 4, 16) + moved("tstore", "u", (4, 16)), Status.PROVED, set()),
        (subset(4, 0, 4, 16, 6) + moved("tstore", "u", (2, 16)), Status.PROVED, set()),  # two rows of it are valid
        (subset("%n", 0, 4, 16, 6) + moved("tstore", "u", (4, 16)), Status.UNKNOWN, set()),
        (subset(5, 0, 4, 16) + moved("tstore", "u", (4, 16)), Status.REFUTED, {"bounds"}),
        (subset(0, 4, 4, 16) + moved("tstore", "u", (4, 16)), Status.UNKNOWN, {"open"}),  # inside of a block
    ],
    ids=["first", "last", "any", "valid", "open", "beyond", "in a block"],
)
def test_a_part_without_a_type_is_as_valid_as_what_it_is_of(body: str, status: Status, found: set[str]) -> None:
    verdict = check(body, "// dmaverify: assume %n in 0..4\n")
    assert verdict.status is status
    try:
        assert run(body) == found
    except Beyond:
        assert found == {"open"}
