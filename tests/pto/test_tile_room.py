"""Tiles without an address that live at once fit their memory; those that do not may share bytes."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.verdict import Status, Verdict

HEAD = """func.func @k(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %n: index, %on: i1) {
  %f = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %a0 = arith.constant 0 : i64
  %av = pto.make_tensor_view %a, shape = [%c4, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
  %pa = pto.partition_view %av, offsets = [%c0, %c0], sizes = [%c4, %c16]
    : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<4x16xf32>
"""
SMALL = "!pto.tile_buf<vec, 4x16xf32>"
FITS, BEYOND = 341, 342  # rows of 64: 87,296 and 87,552 bytes


def of(rows: int) -> str:
    return f"!pto.tile_buf<vec, {rows}x64xf32>"


def tiles(names: str, rows: int = BEYOND, given: str = "") -> str:
    return "".join(f"  %{name} = pto.alloc_tile {given} : {of(rows)}\n" for name in names)


def fill(*names: str) -> str:
    return "".join(f"  pto.texpands ins(%f : f32) outs(%{name} : {of(BEYOND)})\n" for name in names)


def add(one: str, other: str, out: str) -> str:
    return f"  pto.tadd ins(%{one}, %{other} : {of(BEYOND)}, {of(BEYOND)}) outs(%{out} : {of(BEYOND)})\n"


def loop(body: str, end: str = "%c4") -> str:
    return f"  scf.for %i = %c0 to {end} step %c1 {{\n{body}  }}\n"


def branch(body: str, other: str = "") -> str:
    return f"  scf.if %on {{\n{body}  }} else {{\n{other}  }}\n"


def check(body: str) -> Verdict:
    moved = f"  %t = pto.alloc_tile : {SMALL}\n"
    moved += f"  pto.tload ins(%pa : !pto.partition_tensor_view<4x16xf32>) outs(%t : {SMALL})\n"
    stored = f"  pto.tstore ins(%t : {SMALL}) outs(%pa : !pto.partition_tensor_view<4x16xf32>)\n"
    (found,) = check_text(Source("k.pto", f"{HEAD}{moved}{stored}{body}  return\n}}\n"))
    return found


ALL = fill("x", "y", "z") + add("x", "y", "x") + add("x", "z", "x")
IN_TURN = fill("x", "y") + add("x", "y", "x") + fill("z") + add("x", "z", "x")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (tiles("xyz") + ALL, Status.REFUTED),
        (tiles("xyz", FITS) + ALL, Status.PROVED),
        (tiles("xyz") + IN_TURN, Status.PROVED),  # %z where %y was
        (tiles("xy") + fill("x", "y") + add("x", "y", "x"), Status.PROVED),
        (tiles("xyz") + fill("x", "y", "z"), Status.PROVED),  # nobody reads them
        (tiles("xyz") + fill("x", "y", "z", "x", "y") + add("x", "y", "x"), Status.UNKNOWN),  # %z is never read
        (tiles("xyz") + fill("x", "y", "z") + fill("x") + add("x", "y", "x") + add("x", "z", "x"), Status.REFUTED),
        (tiles("xyz") + loop(ALL), Status.REFUTED),
        (tiles("xyz") + loop(ALL, "%n"), Status.REFUTED),
        (
            tiles("xyz") + fill("x", "y") + loop(fill("z") + add("x", "z", "z"), "%n") + add("x", "y", "x"),
            Status.REFUTED,
        ),
        (tiles("xyz") + loop(IN_TURN), Status.UNKNOWN),  # what the last round left may be read in the next
        (loop(tiles("xyz") + IN_TURN), Status.PROVED),
        (loop(tiles("xyz") + ALL), Status.REFUTED),
        (tiles("xyz") + fill("x", "y") + branch(fill("z") + add("x", "z", "x")) + add("x", "y", "x"), Status.REFUTED),
        (tiles("xyz") + fill("x", "y") + branch(fill("y")) + fill("z") + add("x", "z", "x"), Status.PROVED),
        (
            tiles("xyz") + fill("x", "y", "z") + branch(fill("y"), add("x", "z", "x")) + add("x", "y", "x"),
            Status.REFUTED,
        ),
        (tiles("x", 342, "addr = %a0") + tiles("yz") + fill("x", "y", "z") + add("y", "z", "y"), Status.UNKNOWN),
        (tiles("x", 340, "addr = %a0") + tiles("yz", 340) + fill("x", "y", "z") + add("y", "z", "y"), Status.PROVED),
    ],
)
def test_tiles_that_live_at_once_fit_their_memory(body: str, status: Status) -> None:
    """%t is two blocks of 128 bytes, and read before the others are written."""
    verdict = check(body)
    assert verdict.status is status, verdict
    assert {f.rule for f in verdict.errors} == ({"pto/tile-room"} if status is Status.REFUTED else set())
    left = [o.id for o in verdict.obligations if o.status == "unknown"]
    assert left == ["core/region-capacity"] * (status is not Status.PROVED)


def test_tiles_that_do_not_fit_are_named_with_their_bytes() -> None:
    (found,) = check(tiles("xyz") + ALL).errors
    assert found.values == {"live_bytes": 3 * 87_552, "room_bytes": 262_144}
    assert "`%x` 87,552, `%y` 87,552, `%z` 87,552" in found.message


def test_a_branch_that_never_runs_holds_nothing() -> None:
    conditions = "  %small = arith.cmpi slt, %n, %c1 : index\n  %large = arith.cmpi sgt, %n, %c4 : index\n"
    inner = f"  scf.if %small {{\n  scf.if %large {{\n{fill('z')}{add('x', 'z', 'x')}  }}\n  }}\n"
    verdict = check(conditions + tiles("xyz") + fill("x", "y") + inner + add("x", "y", "x"))
    assert verdict.status is Status.UNKNOWN, verdict


def test_what_is_read_behind_a_loop_lives_in_its_last_round() -> None:
    """Of a branch that another round may take nothing is known."""
    body = loop(fill("z") + branch(fill("x", "y") + add("x", "y", "x"))) + add("z", "z", "z")
    assert check(tiles("xyz") + body).status is Status.UNKNOWN


@pytest.mark.parametrize(("size", "status"), [(87_360, Status.PROVED), (87_361, Status.REFUTED)])
def test_tiles_begin_in_blocks_of_their_own(size: int, status: Status) -> None:
    """Of 87,360 bytes three lie in UB; of one more three have 262,083 bytes, and begin in blocks of 32."""
    one = f"!pto.tile_buf<vec, 1x{size}xi8>"
    body = "  %g = arith.constant 1 : i8\n" + "".join(f"  %{name} = pto.alloc_tile : {one}\n" for name in "xyz")
    body += "".join(f"  pto.texpands ins(%g : i8) outs(%{name} : {one})\n" for name in "xyz")
    body += "".join(f"  pto.tadds ins(%{name}, %g : {one}, i8) outs(%{name} : {one})\n" for name in "xyz")
    assert check(body).status is status


@pytest.mark.parametrize(("name", "status"), [("trowsum", Status.PROVED), ("tcolsum", Status.UNKNOWN)])
def test_scratch_that_the_machine_leaves_alone_needs_no_bytes(name: str, status: Status) -> None:
    body = tiles("xyz") + fill("x") + f"  pto.{name} ins(%x, %y : {of(BEYOND)}, {of(BEYOND)}) outs(%z : {of(BEYOND)})\n"
    assert check(body).status is status


ARRIVED = """  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
"""


@pytest.mark.parametrize(("name", "found"), [("trowsum", []), ("tcolsum", ["core/hazard-waw"])])
def test_scratch_that_the_machine_leaves_alone_is_no_access(name: str, found: list[str]) -> None:
    """%u is loaded behind the flag, on the bytes of the scratch."""
    places, part = {"x": 0, "y": 1024, "z": 2048, "u": 1024}, "!pto.partition_tensor_view<4x16xf32>"
    body = "".join(f"  %at_{n} = arith.constant {at} : i64\n" for n, at in places.items())
    body += "".join(f"  %{n} = pto.alloc_tile addr = %at_{n} : {SMALL}\n" for n in places)
    body += f"  pto.tload ins(%pa : {part}) outs(%x : {SMALL})\n{ARRIVED}"
    body += f"  pto.tload ins(%pa : {part}) outs(%u : {SMALL})\n"
    body += f"  pto.{name} ins(%x, %y : {SMALL}, {SMALL}) outs(%z : {SMALL})\n"
    (verdict,) = check_text(Source("k.pto", f"{HEAD}{body}  return\n}}\n"))
    assert sorted({f.rule for f in verdict.errors}) == found, verdict


@pytest.mark.parametrize("name", ["trowsum", "tcolsum"])
def test_scratch_holds_nothing_that_is_known(name: str) -> None:
    made = tiles("xyz", 4) + fill("x", "y")
    work = f"  pto.{name} ins(%x, %y : {of(4)}, {of(4)}) outs(%z : {of(4)})\n"
    assert check(made + work + add("y", "y", "x")).status is Status.UNKNOWN
    assert check(made + work + fill("y") + add("y", "y", "x")).status is Status.PROVED


LAYOUT = {"right": "row_major, slayout=col_major"}


@pytest.mark.parametrize(("rows", "status"), [(128, Status.PROVED), (144, Status.REFUTED)])
def test_factors_of_a_product_fit_their_own_memory(rows: int, status: Status) -> None:
    """64 KB of left factors: 128 rows of 128 f32 are all of it."""

    def kind(loc: str, rows: int, cols: int) -> str:
        layout = LAYOUT.get(loc, "col_major, slayout=row_major")
        sizes = f"rows={rows}, cols={cols}, v_row={rows}, v_col={cols}"
        return f"!pto.tile_buf<loc={loc}, dtype=f32, {sizes}, blayout={layout}>"

    mat, left, out, side = (
        kind("mat", rows, 128),
        kind("left", rows, 128),
        kind("acc", rows, 16),
        kind("right", 128, 16),
    )
    right = kind("mat", 128, 16)
    body = f"  %m = pto.alloc_tile : {mat}\n  %l = pto.alloc_tile : {left}\n  %o = pto.alloc_tile : {out}\n"
    body += f"  %r = pto.alloc_tile : {side}\n  %q = pto.alloc_tile : {right}\n"
    body += f"  pto.texpands ins(%f : f32) outs(%m : {mat})\n  pto.texpands ins(%f : f32) outs(%q : {right})\n"
    body += f"  pto.tmov ins(%m : {mat}) outs(%l : {left})\n  pto.tmov ins(%q : {right}) outs(%r : {side})\n"
    body += f"  pto.tmatmul ins(%l, %r : {left}, {side}) outs(%o : {out})\n"
    verdict = check(body)
    assert verdict.status is status, verdict
    assert {f.rule for f in verdict.errors} == ({"pto/tile-room"} if status is Status.REFUTED else set())


VIEW = "!pto.tensor_view<?x?xf32>"
LATER = """  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
"""
MOVED = """  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
"""


@pytest.mark.parametrize(
    ("rows", "between", "status"),
    [
        (512, LATER, Status.PROVED),
        (512, "", Status.PROVED),  # both have room
        (513, LATER, Status.PROVED),
        (513, "", Status.UNKNOWN),  # the second is loaded where the first may still be read
    ],
)
def test_tiles_that_have_to_share_bytes_wait_for_each_other_where_the_text_has_flags(
    rows: int, between: str, status: Status
) -> None:
    """Two tiles of 512 rows of 256 bytes are all of UB."""
    verdict = moved_twice(rows, between, MOVED)
    assert verdict.status is status, verdict
    assert "tiles without an address lie apart from each other where they have room to" in verdict.assumptions
    room = [(o.status, o.why) for o in verdict.obligations if o.id == "core/region-capacity"]
    assert [said for said, _ in room] == [status.value] * (rows > 512)
    assert all("(lines 18 and 23) is not ordered then" in why for said, why in room if said == "unknown")


@pytest.mark.parametrize(("rows", "left"), [(512, 0), (513, 1)])
def test_tiles_that_have_to_share_bytes_are_left_to_the_assembler_where_barriers_do_not_order_them(
    rows: int, left: int
) -> None:
    whole = "  pto.barrier <PIPE_ALL>\n"
    for between, wanted in ((whole, 0), ("", left)):
        verdict = moved_twice(rows, between, whole)
        said = [one for one in verdict.conditions if one.startswith("the assembler orders what the barriers")]
        assert (verdict.status, len(said)) == (Status.PROVED, wanted)
        assert ("lie apart" in " ".join(verdict.assumptions)) == (not wanted)


def moved_twice(rows: int, between: str, moved: str) -> Verdict:
    """Two tiles, loaded and the first one stored."""
    part = f"!pto.partition_tensor_view<{rows}x64xf32>"
    body = f"  %rows = arith.constant {rows} : index\n  %c64 = arith.constant 64 : index\n"
    for v in "ab":
        body += f"  %m{v} = pto.make_tensor_view %{v}, shape = [%rows, %c64], strides = [%c64, %c1] : {VIEW}\n"
        body += f"  %p{v}m = pto.partition_view %m{v}, offsets = [%c0, %c0], sizes = [%rows, %c64] : {VIEW} -> {part}\n"
    for name, before in (("x", ""), ("y", between)):
        body += f"{before}{tiles(name, rows)}  pto.tload ins(%pam : {part}) outs(%{name} : {of(rows)})\n{moved}"
        body += f"  pto.tstore ins(%{name} : {of(rows)}) outs(%pbm : {part})\n" if name == "x" else ""
    (verdict,) = check_text(Source("k.pto", f"{HEAD}{body}  return\n}}\n"))
    return verdict
