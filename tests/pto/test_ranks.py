"""Copies and signals between ranks, cache maintenance and fences: what they touch here, and what they rest on."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.execute.outcome import Beyond
from dmaverify.jobs.same_kernels import same_functions, same_left
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.named import named_in
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

NOTES = "// dmaverify: gm %a = 32x64xf32\n// dmaverify: gm %b = 32x64xf32\n// dmaverify: gm %s = 4xi32\n"
HEAD = "func.func @k(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %s: !pto.ptr<i32>, %n: index) {\n"
HEAD += "".join(f"  %c{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 3, 4, 6, 29, 32, 64))
HEAD += "  %one = arith.constant 1 : i32\n"
HEAD += "".join(
    f"  %{v}v = pto.make_tensor_view %{v}, shape = [%c32, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>\n"
    for v in "ab"
)
HEAD += "  %sv = pto.make_tensor_view %s, shape = [%c4], strides = [%c1] : !pto.tensor_view<?xi32>\n"
PART = "!pto.partition_tensor_view<?x?xf32>"
SIGNAL = "!pto.partition_tensor_view<?xi32>"


def part(name: str, of: str = "av", row: str = "%c0", rows: str = "%c4", cols: str = "%c64") -> str:
    made = f"pto.partition_view %{of}, offsets = [{row}, %c0], sizes = [{rows}, {cols}]"
    return f"  %{name} = {made} : !pto.tensor_view<?x?xf32> -> {PART}\n"


def kind(rows: int = 4, valid: object = 4, dtype: str = "f32", more: str = "") -> str:
    return f"!pto.tile_buf<loc=vec, dtype={dtype}, rows={rows}, cols=64, v_row={valid}, v_col=64{more}>"


def tile(name: str, of: str = "", given: str = "") -> str:
    return f"  %{name} = pto.alloc_tile {given}: {of or kind()}\n"


def put(*tiles: str, of: str = "", mode: str = "none", name: str = "tput", dest: str = "q") -> str:
    kinds = ", ".join([PART, PART, *[of or kind()] * len(tiles)])
    through = ", ".join(f"%{one}" for one in tiles)
    how = f" {{atomicType = #pto<atomic_type atomic_{mode}>}}" if name == "tput" else ""
    return f"  pto.comm.{name}(%{dest}, %p, buf({through}) : {kinds}){how}\n"


def signal(name: str, how: str, count: str = "%c1", at: str = "%c0") -> str:
    made = f"  %{name}s = pto.partition_view %sv, offsets = [{at}], sizes = [{count}]"
    made += f" : !pto.tensor_view<?xi32> -> {SIGNAL}\n"
    result, ends = ("%ok = ", " -> i1") if name == "ttest" else ("", "")
    return f"{made}  {result}pto.comm.{name}(%{name}s, %one : {SIGNAL}, i32) {{{how}}}{ends}\n"


def source(body: str) -> Source:
    return Source("k.pto", f"{NOTES}{HEAD}{body}  return\n}}\n")


def check(body: str) -> Verdict:
    (found,) = check_text(source(body))
    return found


def run(body: str, n: int = 0) -> set[str]:
    """What a run finds; `open` where it cannot say."""
    _, (function,) = read_kernels(source(body))
    try:
        return set(run_kernel(function, {"a": 8192, "b": 8192, "s": 16}, {"n": n}).found)
    except Beyond:
        return {"open"}


def same(body: str, status: Status, *found: str) -> Verdict:
    """What is found, as a run finds it."""
    verdict = check(body)
    assert verdict.status is status, verdict
    assert run(body) == set(found)
    return verdict


ENDS = part("p") + part("q", "bv")
NOTIFY, WAIT = "notifyOp = #pto<notify_op {}>", "cmp = #pto<wait_cmp ge>"


# ---------------------------------------------------------------- copies


@pytest.mark.parametrize("name", ["tput", "tget"])
@pytest.mark.parametrize("tiles", [("t",), ("t", "u")])
def test_a_copy_between_ranks_reads_one_part_and_writes_the_other(name: str, tiles: tuple[str, ...]) -> None:
    same(ENDS + "".join(map(tile, tiles)) + put(*tiles, name=name), Status.PROVED)


@pytest.mark.parametrize(("row", "status", "found"), [("28", Status.PROVED, []), ("29", Status.REFUTED, ["bounds"])])
def test_both_ends_lie_within_their_tensors(row: str, status: Status, found: list[str]) -> None:
    at = f"  %at = arith.constant {row} : index\n" + tile("far", kind(64, 64))  # the tile lies behind byte 8,192
    same(at + part("p", row="%at") + part("q", "bv") + tile("t") + put("t"), status, *found)
    same(at + part("p") + part("q", "bv", "%at") + tile("t") + put("t"), status, *found)


def test_a_tile_that_was_moved_through_holds_nothing_known() -> None:
    load = f"  pto.tload ins(%p : {PART}) outs(%t : {kind()})\n"
    store = f"  pto.tstore ins(%t : {kind()}) outs(%q : {PART})\n"
    same(ENDS + tile("t") + put("t") + load + store, Status.PROVED)
    body = ENDS + tile("t") + load + put("t") + store
    assert {f.rule for f in same(body, Status.REFUTED, "definite").errors} == {"core/definite"}


def test_rows_that_overlap_where_they_are_written_are_refuted() -> None:
    of = "!pto.tensor_view<?x?xf32>"
    view = f"  %wv = pto.make_tensor_view %b, shape = [%c32, %c64], strides = [%c32, %c1] : {of}\n"
    assert check(view + part("p") + part("q", "wv") + tile("t") + put("t")).status is Status.REFUTED
    assert "rows" in run(view + part("p") + part("q", "wv") + tile("t") + put("t"))
    body = view + part("q") + part("p", "wv") + tile("t") + put("t")
    same(body, Status.PROVED)


@pytest.mark.parametrize(
    ("of", "given", "status"),
    [
        (kind(2, 2), "", Status.PROVED),
        (kind(3, 3), "", Status.UNKNOWN),  # 4 rows in chunks of 3
        (kind(3, "?"), "valid_row = %c3 ", Status.PROVED),  # a last chunk may be smaller
        (kind(8, 6), "", Status.PROVED),  # no chunks
        (kind(4, 4, more=", blayout=col_major"), "", Status.UNKNOWN),
    ],
)
def test_chunks_of_a_stated_valid_region_are_whole(of: str, given: str, status: Status) -> None:
    same(ENDS + tile("t", of, given) + put("t", of=of), status, *(["open"] if status is Status.UNKNOWN else []))


def test_a_copy_whose_parts_or_tiles_do_not_fit_each_other_is_not_followed() -> None:
    same(part("p") + part("q", "bv", rows="%c3") + tile("t") + put("t"), Status.UNKNOWN, "open")
    same(ENDS + tile("t") + put("t", "t"), Status.UNKNOWN, "open")
    at = "  %at = arith.constant 32 : i64\n  %to = arith.constant 0 : i64\n"
    over = at + tile("t", given="addr = %at ") + tile("u", given="addr = %to ")
    same(ENDS + over + put("t", "u"), Status.UNKNOWN, "open")
    same(ENDS + over.replace("32 : i64", "1024 : i64") + put("t", "u"), Status.PROVED)
    wide = kind(4, 4, "f16")
    same(ENDS + tile("t", wide) + put("t", of=wide), Status.REFUTED, "form")


def test_parts_of_one_tensor_are_of_two_ranks_by_a_condition() -> None:
    body = part("p") + part("q", "av", "%n") + tile("t") + put("t")
    assert any("lies on another rank" in said for said in check(body).conditions)
    assert not any("another rank" in said for said in check(ENDS + tile("t") + put("t")).conditions)


def test_a_copy_beside_flags_of_the_text_is_open() -> None:
    flags = "".join(f"  pto.{name}_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]\n" for name in ("set", "wait"))
    found = same(ENDS + tile("t") + flags + put("t"), Status.UNKNOWN, "open")
    assert [f.message for f in found.findings] == [
        "pto.comm.tput: which flags it uses is not documented, and the text has flags of its own"
    ]


@pytest.mark.parametrize("mode", ["none", "add"])
def test_copies_through_one_tile_are_ordered_by_barriers_of_all_pipes(mode: str) -> None:
    """The assembler orders what they leave open. Sums in one place need no order; a tile that they go through does."""
    barrier, after = "  pto.barrier #pto.pipe<PIPE_ALL>\n", "the assembler orders what the barriers of the text do not"
    once = put("t", mode=mode)
    for body, left in ((once + barrier + once, False), (barrier + once + once, True)):
        found = check(ENDS + tile("t") + body)
        assert found.status is Status.PROVED
        assert any(after in said for said in found.conditions) == left
    apart = check(ENDS + tile("t") + tile("u") + barrier + once + put("u", mode=mode))
    assert any(after in said for said in apart.conditions) == (mode == "none")


def test_copies_that_no_barrier_orders_are_in_the_order_of_the_text() -> None:
    """The assembler orders them; a run found that two of them meet (exit 4)."""
    same(ENDS + tile("t") + put("t") + put("t", mode="add"), Status.PROVED)
    same(ENDS + part("e", "bv", "%c2") + tile("t") + tile("u") + put("t") + put("u", dest="e"), Status.PROVED)
    loop = f"  scf.for %i = %c0 to %c4 step %c1 {{\n{put('t')}  }}\n"
    same(ENDS + tile("t") + loop, Status.PROVED)


# ---------------------------------------------------------------- signals


def test_a_wait_rests_on_other_ranks_and_a_set_on_nothing() -> None:
    found = same(signal("twait", WAIT, "%c4"), Status.PROVED)
    assert [c for c in found.conditions if "twait" in c] == [
        "pto.comm.twait at line 19 ends, and what other ranks write is there by then"
    ]
    for how in ("set", "atomic_add"):
        assert same(signal("tnotify", NOTIFY.format(how)), Status.PROVED).conditions == ()


@pytest.mark.parametrize(
    ("body", "status", "found"),
    [
        (signal("tnotify", NOTIFY.format("set"), at="%c3"), Status.PROVED, []),
        (signal("tnotify", NOTIFY.format("set"), at="%c4"), Status.REFUTED, ["bounds"]),
        (signal("twait", WAIT, "%c4", "%c1"), Status.REFUTED, ["bounds"]),
        (signal("tnotify", NOTIFY.format("set"), "%c2"), Status.UNKNOWN, ["open"]),  # which of them is not told
        (signal("tnotify", NOTIFY.format("max")), Status.UNKNOWN, ["open"]),
        (signal("ttest", WAIT) + "  scf.if %ok {\n  }\n", Status.PROVED, ["open"]),  # a value of another rank
        (signal("twait", WAIT).replace("%sv,", "%av,").replace("[%c0], sizes = [%c1]",
         "[%c0, %c0], sizes = [%c1, %c1]"), Status.PROVED, []),
    ],
)  # fmt: skip
def test_a_signal_lies_in_its_tensor_and_is_set_one_at_a_time(body: str, status: Status, found: list[str]) -> None:
    same(body, status, *found)


def test_a_signal_has_elements_of_four_bytes() -> None:
    wide = HEAD.replace("%s: !pto.ptr<i32>", "%s: !pto.ptr<i64>").replace("?xi32>", "?xi64>")
    text = f"{NOTES}{wide}{signal('twait', WAIT)}  return\n}}\n"
    (found,) = check_text(Source("k.pto", text))
    assert (found.status, [f.rule for f in found.errors]) == (Status.REFUTED, ["core/well-formed"])


LANES = """  %x = arith.constant 1.0 : f32
  %l0 = arith.constant 0 : i64
  %u = pto.castptr %l0 : i64 -> !pto.ptr<f32, ub>
  pto.vecscope {
    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    %v = pto.vdup %x : f32 -> !pto.vreg<64xf32>
    pto.vsts %v, %u[%c0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
  }
"""


@pytest.mark.parametrize("told", [signal("twait", WAIT), signal("tnotify", NOTIFY.format("set"))])
def test_a_signal_alone_leaves_no_order_to_the_assembler(told: str) -> None:
    """There is no tile that it lowers (PROVED, exit 4): the text orders its pipes itself."""
    read = "  %y = pto.load_scalar %u[%c0] : !pto.ptr<f32, ub> -> f32\n"
    same(told + LANES + read, Status.REFUTED, "raw")
    same(told + LANES + "  pto.barrier #pto.pipe<PIPE_ALL>\n" + read, Status.PROVED)


# ---------------------------------------------------------------- order, and what is seen

COPIES = "  %l0 = arith.constant 0 : i64\n  %l1 = arith.constant 1 : i64\n  %l64 = arith.constant 64 : i64\n"
COPIES += "  %u = pto.castptr %l0 : i64 -> !pto.ptr<f32, ub>\n"
LOAD = "  pto.mte_gm_ub %a, %u, %l0, %l64 nburst(%l1, %l64, %l64)"
LOAD += " : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64\n"
STORE = (
    "  pto.mte_ub_gm %u, %b, %l64 nburst(%l1, %l64, %l64) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64\n"
)
FLAGS = "".join(f"  pto.{name}_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]\n" for name in ("set", "wait"))
FENCE = "  pto.fence.barrier_all #pto.fence_scope<gm>\n"


def test_a_fence_drains_its_pipes_each_for_itself() -> None:
    once = COPIES + LOAD + FLAGS + STORE
    same(once + FENCE + STORE, Status.PROVED)
    same(once + STORE, Status.REFUTED, "waw")


def test_what_else_a_fence_orders_is_open() -> None:
    found = same(COPIES + LOAD + FENCE + STORE, Status.UNKNOWN, "raw")
    assert any("what else the fence at line" in o.why for o in found.obligations if o.id == "core/hazard-raw")
    same(COPIES + LOAD + STORE, Status.REFUTED, "raw")


def test_cache_maintenance_changes_no_byte_by_a_condition() -> None:
    rule = "pto.cmo.cacheinvalid changes no byte: lines that were written are written back"
    for form in ("all #pto.address_space<gm>", f"%q single_cache_line : {PART}"):
        body = f"{ENDS}{tile('t')}{put('t')}  pto.cmo.cacheinvalid {form}\n"
        assert rule in same(body, Status.PROVED).conditions
    same(f"{ENDS}{tile('t')}{put('t')}  pto.cmo.cacheinvalid %q : {PART}\n", Status.UNKNOWN, "open")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bv, offsets = [%c0", "bv, offsets = [%c1"),
        ("atomic_none", "atomic_add"),
        ("notify_op set", "notify_op atomic_add"),
        ("%tnotifys, %one", "%tnotifys, %two"),
        ("wait_cmp ge", "wait_cmp eq"),
        ("", ""),
    ],
)
def test_kernels_that_tell_other_ranks_other_things_are_not_equal(old: str, new: str) -> None:
    body = "  %two = arith.constant 2 : i32\n" + ENDS + tile("t") + put("t")
    body += signal("tnotify", NOTIFY.format("set")) + signal("twait", WAIT)
    (one,), (other,) = (named_in(source(text)) for text in (body, body.replace(old, new)))
    assert (same_functions(one, other).status == "proved") == (old == new)
    assert same_left(one, other).status == ("proved" if old == new else "unknown")
