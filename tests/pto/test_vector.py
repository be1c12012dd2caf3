"""What vector and scalar accesses touch: each distribution and mask to the byte, demand, order of the scalar pipe.

A buffer that nothing orders with the access lies at 8,192: where the access reaches it, that is a hazard. Edges are met
to the byte, by addresses at which most distributions may not begin: that is judged by its own test alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.draws import rest

from dmaverify.errors import Source
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.distributions import vector_unit
from dmaverify.machines.pto.limits import shipped
from dmaverify.machines.pto.meaning import meaning_of
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.stated import Setting
from dmaverify.program.instructions import Use
from dmaverify.verdict import Status, Verdict

F32, F16, U8 = ("64xf32", "f32"), ("128xf16", "f16"), ("256xi8", "i8")
BESIDE = 8192
HEAD = """func.func @k(%g: !pto.ptr<f32, gm>, %h: !pto.ptr<f32, gm>, %n: i32, %x: f32, %b: i1) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c1000 = arith.constant 1000 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %k32 = arith.constant 32 : i64
  %k256 = arith.constant 256 : i64
  %k1024 = arith.constant 1024 : i64
  %k4000 = arith.constant 4000 : i64
  %beside = arith.constant 8192 : i64
  %far = arith.constant 65536 : i64
  %at = arith.constant {at} : i64
  %q = pto.castptr %beside : i64 -> !pto.ptr<f32, ub>
  %o = pto.castptr %far : i64 -> !pto.ptr<{item}, ub>
  %p = pto.castptr %at : i64 -> !pto.ptr<{item}, ub>
"""
LOAD = (
    "  pto.mte_gm_ub %g, %q, %z, %k1024 nburst(%one, %k1024, %k1024)"
    " : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64\n"
)
STORE = (
    "  pto.mte_ub_gm %q, %h, %k1024 nburst(%one, %k1024, %k1024)"
    " : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64\n"
)


def check(body: str, at: int = 0, item: str = "f32", notes: str = "") -> Verdict:
    (found,) = check_text(Source("k.mlir", f"{notes}{HEAD.format(at=at, item=item)}{body}  return\n}}\n"))
    return found


def errors(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.errors} - {"pto/vector-align"}


def flags(one: str, two: str) -> str:
    return "".join(f'  pto.{a}_flag["PIPE_{one}", "PIPE_{two}", "EVENT_ID0"]\n' for a in ("set", "wait"))


def scope(*lines: str) -> str:
    return "".join(["  pto.vecscope {\n", *(f"    {line}\n" for line in lines), "  }\n"])


# ---------------------------------------------------------------- distributions


LOADS = [
    ("NORM", F32, 256),
    ("", F16, 256),
    ("BRC_B8", U8, 1),
    ("BRC_B16", F16, 2),
    ("BRC_B32", F32, 4),
    ("US_B8", U8, 128),
    ("US_B16", F16, 128),
    ("DS_B8", U8, 512),
    ("DS_B16", F16, 512),
    ("UNPK_B8", U8, 128),
    ("UNPK_B16", F16, 128),
    ("UNPK_B32", F32, 128),
    ("UNPK4_B8", U8, 64),
    ("BRC_BLK", F32, 32),
    ("BLK", F32, 32),
    ("E2B_B16", F16, 16),
    ("E2B_B32", F32, 32),
    ("SPLT4CHN_B8", U8, 1024),
]


def loaded(dist: str, kind: tuple[str, str], at: int) -> Verdict:
    register, item = kind
    named = f' {{dist = "{dist}"}}' if dist else ""
    lines = (
        f"%v = pto.vlds %p[%c0]{named} : !pto.ptr<{item}, ub> -> !pto.vreg<{register}>",
        f"pto.vsts %v, %o[%c0] : !pto.vreg<{register}>, !pto.ptr<{item}, ub>",
    )
    return check(LOAD + scope(*lines), at, item)


@pytest.mark.parametrize(("dist", "kind", "size"), LOADS)
def test_a_load_reads_exactly_the_bytes_of_its_distribution(dist: str, kind: tuple[str, str], size: int) -> None:
    assert errors(loaded(dist, kind, BESIDE - size)) == set()
    assert errors(loaded(dist, kind, BESIDE - size + 1)) == {"core/hazard-raw"}


def test_two_registers_are_loaded_from_512_bytes() -> None:
    lines = (
        '%a, %w = pto.vldsx2 %p[%c0], "DINTLV_B32" : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>, !pto.vreg<64xf32>',
        "pto.vsts %w, %o[%c0] : !pto.vreg<64xf32>, !pto.ptr<f32, ub>",
    )
    assert errors(check(LOAD + scope(*lines), BESIDE - 512)) == set()
    assert errors(check(LOAD + scope(*lines), BESIDE - 508)) == {"core/hazard-raw"}


STORES = [
    ("", F32, "", 256),
    ("NORM_B32", F32, "PAT_ALL", 256),
    ("NORM_B32", F32, "PAT_VL1", 4),
    ("NORM_B32", F32, "PAT_VL8", 32),
    ("NORM_B16", F16, "PAT_VL3", 6),
    ("NORM_B8", U8, "PAT_VL128", 128),
    ("NORM_B32", F32, "PAT_VL128", 256),
    ("NORM_B32", F32, "PAT_H", 128),
    ("NORM_B16", F16, "PAT_Q", 64),
    ("NORM_B32", F32, "PAT_M4", 256),
    ("1PT_B8", U8, "PAT_ALL", 1),
    ("1PT_B16", F16, "", 2),
    ("ONEPT_B32", F32, "PAT_VL1", 4),
    ("PK_B16", F16, "PAT_ALL", 128),
    ("PK_B32", F32, "PAT_VL8", 16),
    ("PK4_B32", F32, "PAT_ALL", 64),
    ("PK4_B32", F32, "PAT_VL8", 8),
    ("MRG2CHN_B8", U8, "PAT_VL1", 256),
]


def stored(dist: str, kind: tuple[str, str], pattern: str, at: int) -> Verdict:
    register, item = kind
    bits = {"f32": 32, "f16": 16, "i8": 8}[item]
    mask, tail = (", %m", f", !pto.mask<b{bits}>") if pattern else ("", "")
    named = f' {{dist = "{dist}"}}' if dist else ""
    lines = [f'%m = pto.pset_b{bits} "{pattern}" : !pto.mask<b{bits}>'] if pattern else []
    lines += [
        f"%v = pto.vbr %x : f32 -> !pto.vreg<{register}>",
        f"pto.vsts %v, %p[%c0]{mask}{named} : !pto.vreg<{register}>, !pto.ptr<{item}, ub>{tail}",
    ]
    return check(LOAD + scope(*lines), at, item)


@pytest.mark.parametrize(("dist", "kind", "pattern", "size"), STORES)
def test_a_store_writes_exactly_the_lanes_of_its_mask(
    dist: str, kind: tuple[str, str], pattern: str, size: int
) -> None:
    assert errors(stored(dist, kind, pattern, BESIDE - size)) == set()
    assert errors(stored(dist, kind, pattern, BESIDE - size + 1)) == {"core/hazard-waw"}


def test_a_store_without_active_lanes_touches_nothing() -> None:
    assert errors(stored("NORM_B32", F32, "PAT_ALLF", BESIDE)) == set()


def test_a_distribution_that_is_not_known_is_open_and_said() -> None:
    verdict = stored("NEW_B32", F32, "PAT_ALL", BESIDE)
    assert errors(verdict) == {"core/hazard-waw"}
    assert any("stays in the buffer" in a for a in verdict.assumptions)


def test_every_distribution_says_where_it_is_written() -> None:
    unit = vector_unit(shipped())
    assert {d.bytes for d in (*unit.loads.values(), *unit.stores.values())} <= {
        *(1 << n for n in range(11)),
    }
    assert unit.register_bytes == 256


@pytest.mark.parametrize(("stride", "free", "touched"), [(1, 256, 224), (2, 512, 448), (4, 1024, 896)])
def test_blocks_lie_their_stride_apart(stride: int, free: int, touched: int) -> None:
    lines = (
        '%m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>',
        "%v = pto.vbr %x : f32 -> !pto.vreg<64xf32>",
        f"%bs = arith.constant {stride} : i32",
        "%rs = arith.constant 0 : i32",
        "pto.vsstb %v, %p, %bs, %rs, %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, i32, i32, !pto.mask<b32>",
    )
    assert errors(check(LOAD + scope(*lines), BESIDE - free)) == set()
    assert errors(check(LOAD + scope(*lines), BESIDE - touched)) == {"core/hazard-waw"}
    between = BESIDE + 1024 - 32  # the first block is the last of the buffer beside
    assert errors(check(LOAD + scope(*lines), between)) == {"core/hazard-waw"}


def test_blocks_without_an_active_lane_are_not_touched() -> None:
    lines = (
        '%m = pto.pset_b32 "PAT_VL16" : !pto.mask<b32>',
        "%v = pto.vbr %x : f32 -> !pto.vreg<64xf32>",
        "%bs = arith.constant 4 : i32",
        "%rs = arith.constant 0 : i32",
        "pto.vsstb %v, %p, %bs, %rs, %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, i32, i32, !pto.mask<b32>",
    )
    assert errors(check(LOAD + scope(*lines), BESIDE - 160)) == set()
    assert errors(check(LOAD + scope(*lines), BESIDE - 128)) == {"core/hazard-waw"}


def test_a_scatter_and_a_stream_belong_to_the_buffer_that_they_name() -> None:
    scatter = (
        "%v = pto.vbr %x : f32 -> !pto.vreg<64xf32>",
        "%i = pto.vci %n : i32 -> !pto.vreg<64xi32>",
        '%m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>',
        "pto.vscatter %v, %p, %i, %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.vreg<64xi32>, !pto.mask<b32>",
    )
    assert errors(check(LOAD + scope(*scatter), BESIDE)) == {"core/hazard-waw"}
    assert errors(check(LOAD + scope(*scatter), BESIDE + 2048)) == set()
    stream = ("pto.vstar %al, %p : !pto.align, !pto.ptr<f32, ub>",)
    assert errors(check(LOAD + scope("%al = pto.init_align : !pto.align", *stream), BESIDE)) == {"core/hazard-waw"}


def test_a_predicate_is_32_bytes_and_packed_16() -> None:
    line = '%m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>'
    store = 'pto.psts %m, %p[%c0], "{0}" : !pto.mask<b32>, !pto.ptr<i8, ub>'
    assert errors(check(LOAD + scope(line, store.format("NORM")), BESIDE - 32, "i8")) == set()
    assert errors(check(LOAD + scope(line, store.format("NORM")), BESIDE - 31, "i8")) == {"core/hazard-waw"}
    assert errors(check(LOAD + scope(line, store.format("PK")), BESIDE - 16, "i8")) == set()
    assert errors(check(LOAD + scope(line, store.format("PK")), BESIDE - 15, "i8")) == {"core/hazard-waw"}


def definite(way: str, name: str, size: int) -> bool:
    """Whether all bytes are there: a load takes `size` from GM first, of a store `size` are copied to GM."""
    bits = int(name.rpartition("_B")[2]) if "_B" in name else 8
    item, lanes, b = f"i{bits}", 2048 // bits, min(bits, 32)
    reg, ptr, mask = f"!pto.vreg<{lanes}x{item}>", f"!pto.ptr<{item}, ub>", f"!pto.mask<b{b}>"
    plain, pair = name.removeprefix("PRED_"), vector_unit(shipped()).distribution(way, name).bytes == 512
    number = f"  %size = arith.constant {size} : i64\n"
    lines = [f"%v = pto.vci %n : i32 -> {reg}", f'%m = pto.pset_b{b} "PAT_ALL" : {mask}']
    store = {
        True: f'pto.vstsx2 %v, %v, %o[%c0], "{plain}", %m : {reg}, {reg}, {ptr}, index, {mask}',
        False: f'pto.vsts %v, %o[%c0], %m {{dist = "{plain}"}} : {reg}, {ptr}, {mask}',
    }[pair]
    if name.startswith("PRED_"):
        store = f'pto.psts %m, %o[%c0], "{plain}" : {mask}, {ptr}'
    out = f"  pto.mte_ub_gm %o, %h, %size nburst(%one, %size, %size) : {ptr}, !pto.ptr<f32, gm>, i64, i64, i64, i64\n"
    return "core/definite" not in errors(check(number + scope(*lines, store) + flags("V", "MTE3") + out, item=item))


@pytest.mark.parametrize("name", sorted(vector_unit(shipped()).stores))
def test_every_distribution_of_a_store_writes_what_a_run_says(name: str) -> None:
    size = vector_unit(shipped()).stores[name].bytes
    assert (definite("w", name, size), definite("w", name, size + 1)) == (True, False)


@pytest.mark.parametrize(
    ("index", "status"), [("%c0", "refuted"), ("%c64", "refuted"), ("j", "unknown"), ("", "unknown")]
)
def test_a_store_at_an_index_without_a_value_meets_nothing_for_sure(index: str, status: str) -> None:
    store = f"pto.vsts %v, %q[{index}] : !pto.vreg<64xf32>, !pto.ptr<f32, ub>"
    found = check(scope("%v = pto.vbr %x : f32 -> !pto.vreg<64xf32>", store) + STORE)
    assert {o.status for o in found.obligations if o.id == "core/hazard-raw"} == {status}


def test_a_logical_register_is_its_lanes() -> None:
    lines = (
        "%v = pto.vmi.vload %p[%c0] : !pto.ptr<f16, ub> -> !pto.vmi.vreg<512xf16>",
        "pto.vmi.vstore %v, %o[%c0] : !pto.vmi.vreg<512xf16>, !pto.ptr<f16, ub>",
    )
    assert errors(check(LOAD + scope(*lines), BESIDE - 1024, "f16")) == set()
    assert errors(check(LOAD + scope(*lines), BESIDE - 1023, "f16")) == {"core/hazard-raw"}


def test_accesses_end_where_ub_ends() -> None:
    assert "pto/ub-capacity" not in errors(stored("NORM_B32", F32, "PAT_VL8", 262_144 - 32))
    assert errors(stored("NORM_B32", F32, "PAT_VL8", 262_144 - 28)) == {"pto/ub-capacity"}


# ---------------------------------------------------------------- the rest of a loop


def remainder(*, masked: bool = True, count: str = "%left0", start: int = 1000, kind: str = "vabs") -> str:
    mask, tail = (", %m", ", !pto.mask<b32>") if masked else ("", "")
    return f"  %left0 = arith.constant {start} : i32\n" + scope(
        f"%last = scf.for %j = %c0 to %c1000 step %c64 iter_args(%r = {count}) -> (i32) {{",
        "  %m, %rest = pto.plt_b32 %r : i32 -> !pto.mask<b32>, i32",
        "  %v = pto.vlds %p[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>",
        f"  %w = pto.{kind} %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>",
        f"  pto.vsts %w, %p[%j]{mask} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>{tail}",
        "  scf.yield %rest : i32",
        "}",
    )


def test_the_last_register_of_1000_numbers_leaves_the_buffer_behind_them_alone() -> None:
    assert errors(check(LOAD + remainder(), BESIDE - 4000)) == set()
    assert errors(check(LOAD + remainder(), BESIDE - 3996)) >= {"core/hazard-waw"}
    assert errors(check(LOAD + remainder(masked=False), BESIDE - 4000)) == {"core/hazard-waw"}
    assert errors(check(LOAD + remainder(start=1001), BESIDE - 4000)) >= {"core/hazard-waw"}
    assert errors(check(LOAD + remainder(start=999), BESIDE - 4000)) == set()


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65])
def test_few_lanes_are_few_in_every_iteration(count: int) -> None:
    assert errors(check(LOAD + remainder(start=count), BESIDE - 4 * count)) == set()
    if count:
        assert errors(check(LOAD + remainder(start=count), BESIDE - 4 * count + 4)) >= {"core/hazard-waw"}


@pytest.mark.parametrize("start", [0, 1])
def test_a_ring_of_three_that_starts_at_0_or_1_is_no_bit(start: int) -> None:
    body = "  %c3 = arith.constant 3 : index\n" + scope(
        f"%e = scf.for %j = %c0 to %c64 step %c1 iter_args(%r = %c{start}) -> (index) {{",
        "  %off = arith.muli %r, %c64 : index",
        "  %v = pto.vlds %p[%off] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>",
        "  pto.vsts %v, %o[%c0] : !pto.vreg<64xf32>, !pto.ptr<f32, ub>",
        "  %up = arith.addi %r, %c1 : index",
        "  %k = arith.remui %up, %c3 : index",
        "  scf.yield %k : index",
        "}",
    )
    assert errors(check(LOAD + body, BESIDE - 768)) == set()
    assert errors(check(LOAD + body, BESIDE - 764)) == {"core/hazard-raw"}


def test_what_is_left_over_is_followed_for_every_count() -> None:
    body = scope(
        "%e = arith.index_cast %n : i32 to index",
        "%last = scf.for %j = %c0 to %e step %c64 iter_args(%r = %n) -> (i32) {",
        "  %i = arith.index_cast %r : i32 to index",
        "  %again = arith.index_cast %i : index to i32",
        "  %m, %rest = pto.plt_b32 %again : i32 -> !pto.mask<b32>, i32",
        "  %v = pto.vlds %p[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>",
        "  pto.vsts %v, %p[%j], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>",
        "  scf.yield %rest : i32",
        "}",
    )
    for most, found in ((1000, set()), (1001, {"core/hazard-raw", "core/hazard-waw"})):
        verdict = check(LOAD + body, BESIDE - 4000, notes=f"// dmaverify: assume %n in 1..{most}\n")
        assert errors(verdict) == found, most
        assert verdict.status is (Status.REFUTED if found else Status.PROVED)


def test_what_is_left_behind_a_loop_has_a_value() -> None:
    text = (
        HEAD.format(at=0, item="f32")
        + remainder(start=1064)
        + (
            "  %m2, %none = pto.plt_b32 %last : i32 -> !pto.mask<b32>, i32\n"
            "  %v2 = pto.vlds %p[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>\n"
            "  pto.vsts %v2, %o[%c0], %m2 : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>\n"
        )
    )
    text = text.replace("pto.vecscope {", "").replace("    }\n  }\n", "    }\n")
    _, (function,) = read_kernels(Source("k.mlir", text + "  return\n}\n"))
    uses = [e for e in meaning_of(function, Setting()).events if isinstance(e, Use)]
    assert [t.length.const for t in uses[-1].touches] == [4 * (1064 - 16 * 64)]


# ---------------------------------------------------------------- lanes that matter


def used(*lines: str, mask: str = "PAT_VL8") -> str:
    load = "%v = pto.vlds %p[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>"
    return LOAD + scope(f'%m = pto.pset_b32 "{mask}" : !pto.mask<b32>', load, *lines)


KEEP = "pto.vsts %w, %o[%c0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>"
WHOLE = "pto.vsts %w, %o[%c0] : !pto.vreg<64xf32>, !pto.ptr<f32, ub>"
POINT = 'pto.vsts %w, %o[%c0] {dist = "1PT_B32"} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>'
ABS = "%w = pto.vabs %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>"
PLAIN = "%w = pto.vabs %v : !pto.vreg<64xf32> -> !pto.vreg<64xf32>"
SUM = "%w = pto.vcadd %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>"
SHUFFLE = "%w = pto.vslide %v, %n : !pto.vreg<64xf32>, i32 -> !pto.vreg<64xf32>"
FIRST = '%w = pto.vdup %v, %m {position = "LOWEST"} : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>'
SELECT = "%w = pto.vsel %v, %v, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>"
CALL = "func.call @f(%v) : (!pto.vreg<64xf32>) -> ()"


@pytest.mark.parametrize(
    ("lines", "needed"),
    [
        ((ABS, WHOLE), 32),
        ((PLAIN, KEEP), 32),
        ((PLAIN, WHOLE), 256),
        ((PLAIN, POINT), 4),
        ((SUM, POINT), 32),
        ((SUM, WHOLE), 32),
        ((SHUFFLE, KEEP), 256),
        ((FIRST, WHOLE), 4),
        ((SELECT, WHOLE), 256),
        ((SELECT, KEEP), 32),
        ((ABS, CALL), 256),
        ((KEEP.replace("%w", "%v"),), 32),
        ((ABS,), 0),
    ],
)
def test_lanes_that_reach_nothing_are_read_but_not_needed(lines: tuple[str, ...], needed: int) -> None:
    assert errors(check(used(*lines), BESIDE - needed)) == set()
    if needed:
        assert errors(check(used(*lines), BESIDE - needed + 4)) == {"core/hazard-raw"}


def test_the_most_that_any_use_needs_is_needed() -> None:
    two = (ABS, KEEP, "%s = pto.vmuls %v, %x, %m2 : !pto.vreg<64xf32>, f32, !pto.mask<b32> -> !pto.vreg<64xf32>")
    two += (WHOLE.replace("%w", "%s"), '%m2 = pto.pset_b32 "PAT_VL16" : !pto.mask<b32>')
    reordered = (two[-1], *two[:-1])
    for lines in (two, reordered):
        assert errors(check(used(*lines), BESIDE - 64)) == set()
        assert errors(check(used(*lines), BESIDE - 60)) == {"core/hazard-raw"}


def test_a_value_that_a_loop_carries_is_needed_whole() -> None:
    lines = (
        "%end = scf.for %j = %c0 to %c2 step %c1 iter_args(%acc = %v) -> (!pto.vreg<64xf32>) {",
        "  %more = pto.vadd %acc, %acc, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>",
        "  scf.yield %more : !pto.vreg<64xf32>",
        "}",
    )
    assert errors(check(used(*lines), BESIDE - 256)) == set()
    assert errors(check(used(*lines), BESIDE - 252)) == {"core/hazard-raw"}


def test_a_mask_that_changes_while_the_value_stays_bounds_nothing() -> None:
    lines = (
        "%end = scf.for %j = %c0 to %c2 step %c1 iter_args(%r = %n) -> (i32) {",
        "  %own, %rest = pto.plt_b32 %r : i32 -> !pto.mask<b32>, i32",
        "  %w = pto.vabs %v, %own : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>",
        "  pto.vsts %w, %o[%c0], %own : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>",
        "  scf.yield %rest : i32",
        "}",
    )
    note = "// dmaverify: assume %n in 1..8\n"
    assert errors(check(used(*lines), BESIDE - 256, notes=note)) == set()
    assert errors(check(used(*lines), BESIDE - 252, notes=note)) == {"core/hazard-raw"}


def test_a_name_used_again_in_another_scope_is_another_value() -> None:
    inner = '%m = pto.pset_b32 "{0}" : !pto.mask<b32>'
    load = "%v = pto.vlds %p[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>"
    body = LOAD + scope(inner.format("PAT_VL8"), load, ABS, WHOLE) + scope(inner.format("PAT_VL16"), load, ABS, WHOLE)
    assert errors(check(body, BESIDE - 64)) == set()
    assert errors(check(body, BESIDE - 60)) == {"core/hazard-raw"}
    assert [f.span.line for f in check(body, BESIDE - 60).errors if f.rule == "core/hazard-raw"] == [28]


# ---------------------------------------------------------------- values that are written


def test_a_store_under_an_unknown_mask_may_write_and_does_not_surely() -> None:
    load = "%v = pto.vlds %q[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>"
    compared = (
        '%m = pto.vcmp %v, %v, %all, "lt" : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.mask<b32>'
    )
    every = '%all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>'
    out = (
        "  pto.mte_ub_gm %o, %h, %k256 nburst(%one, %k256, %k256)"
        " : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64\n"
    )
    body = LOAD + flags("MTE2", "V") + scope(every, load, compared, KEEP.replace("%w", "%v"))
    unsure = check(body + flags("V", "MTE3") + out)
    assert unsure.status is Status.UNKNOWN
    assert [o.id for o in unsure.obligations if o.status == "unknown"] == ["core/definite"]
    sure = check(body.replace("%o[%c0], %m", "%o[%c0], %all") + flags("V", "MTE3") + out)
    assert sure.status is Status.PROVED
    assert errors(check(body + out)) >= {"core/hazard-raw"}


def test_fewer_lanes_written_than_stored_is_found() -> None:
    made = "%w = pto.vbr %x : f32 -> !pto.vreg<64xf32>"
    out = (
        "  pto.mte_ub_gm %o, %h, %k256 nburst(%one, %k256, %k256)"
        " : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64\n"
    )
    for pattern, found in (("PAT_ALL", set()), ("PAT_VL32", {"core/definite"})):
        mask = f'%m = pto.pset_b32 "{pattern}" : !pto.mask<b32>'
        assert errors(check(scope(mask, made, KEEP) + flags("V", "MTE3") + out)) == found


@pytest.mark.parametrize(("range_", "found"), [("1..40", True), ("0..40", False), (None, None)])
def test_a_loop_that_may_not_run_writes_nothing_surely(range_: str | None, found: bool | None) -> None:
    loop = (
        "  %e = arith.index_cast %n : i32 to index\n  scf.for %i = %c0 to %e step %c1 {\n"
        "    %w = arith.index_cast %i : index to i64\n    %y = arith.addi %w, %k256 : i64\n"
        "    %l = arith.muli %y, %k32 : i64\n"
        + LOAD.replace("%k1024", "%l")
        + '    pto.pipe_barrier "PIPE_MTE2"\n  }\n'
    )
    notes = f"// dmaverify: assume %n in {range_}\n" if range_ else ""
    verdict = check(loop + flags("MTE2", "MTE3") + STORE, notes=notes)
    assert errors(verdict) == ({"core/definite"} if found is False else set())
    assert any("-1 * n + 1" in a or "core/definite" in a for a in verdict.assumptions) is (found is None)
    assert any("%n = 0" in f.message for f in verdict.errors) is (found is False)


ANY = (Path(__file__).parent / "corpus" / "vector-any-length.mlir").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "judged"),
    [
        ("", "", True),
        ("iter_args(%left = %left0)", "iter_args(%left = %less)", False),
        ("%b[%j], %m", "%b[%j], %one32", False),
        *rest(
            [
                ("pto.mte_gm_ub %in, %a, %z, %len", "pto.mte_gm_ub %in, %a, %z, %less4", False),
                ("scf.for %j = %c0 to", "scf.for %j = %c64 to", False),
                ("mte_ub_gm %b, %out, %len", "mte_ub_gm %b, %out, %more", False),
                ("assume %n in 1..1000", "assume %n in 64..1000", True),
            ]
        ),
    ],
)
def test_rows_of_a_loop_with_any_count_cover_what_is_stored(old: str, new: str, judged: bool) -> None:
    extra = (
        "  %i1 = arith.constant 1 : i32\n  %less = arith.subi %left0, %i1 : i32\n"
        "  %more = arith.addi %len, %c4 : i64\n  %less4 = arith.subi %len, %c4 : i64\n"
        '  %one32 = pto.pset_b32 "PAT_VL32" : !pto.mask<b32>\n'
    )
    text = ANY.replace("  %a = pto.castptr", extra + "  %a = pto.castptr").replace("expect proved", "allow(x/y) z")
    text = text.replace("// dmaverify: allow(x/y) z\n", "").replace(old or "\0", new)
    (verdict,) = check_text(Source("k.mlir", text))
    surely = not any("written before" in a for a in verdict.assumptions) and "core/definite" not in errors(verdict)
    assert surely is judged, (verdict.assumptions, [f.message for f in verdict.findings])


def test_the_tail_of_a_shorter_row_takes_back_what_a_longer_one_wrote() -> None:
    short = LOAD.replace("%k1024", "%l")
    counted = "  %w = arith.extsi %n : i32 to i64\n  %l = arith.muli %w, %k4 : i64\n  %k4 = arith.constant 4 : i64\n"
    counted = "".join(sorted(counted.splitlines(True), key=lambda line: "constant" not in line))
    long = counted + short + '  pto.pipe_barrier "PIPE_MTE2"\n'
    last = LOAD.replace("%k1024", "%k4") + flags("MTE2", "MTE3")
    store = STORE.replace("%k1024", "%k32")
    notes = "// dmaverify: assume %n in 8..100\n"
    one = check(long + flags("MTE2", "MTE3") + store, notes=notes)
    assert not any("written before" in a for a in one.assumptions)
    two = check(long + last + store, notes=notes)
    assert any("written before" in a for a in two.assumptions) or errors(two) == {"core/definite"}


# ---------------------------------------------------------------- pointers that move, memrefs, scalars


def test_a_pointer_that_moves_on_is_the_base_of_the_next_access() -> None:
    chain = (
        "%v, %p1 = pto.vlds %p[%c64] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>, !pto.ptr<f32, ub>",
        "%w = pto.vlds %p1[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>",
        WHOLE,
    )
    assert errors(check(LOAD + scope(*chain), BESIDE - 512)) == set()
    assert errors(check(LOAD + scope(*chain), BESIDE - 508)) == {"core/hazard-raw"}


def test_a_pointer_that_a_loop_moves_on_is_followed() -> None:
    body = scope(
        "%e = scf.for %j = %c0 to %c2 step %c1 iter_args(%w = %p) -> (!pto.ptr<f32, ub>) {",
        "  %v, %next = pto.vlds %w[%c64] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>, !pto.ptr<f32, ub>",
        "  pto.vsts %v, %o[%c0] : !pto.vreg<64xf32>, !pto.ptr<f32, ub>",
        "  scf.yield %next : !pto.ptr<f32, ub>",
        "}",
    )
    assert errors(check(LOAD + body, BESIDE - 512)) == set()
    assert errors(check(LOAD + body, BESIDE - 508)) == {"core/hazard-raw"}


def test_whether_the_access_is_at_the_base_or_behind_the_step_is_left_open() -> None:
    line = "%p1 = pto.vsts %w, %p[%c64] : !pto.vreg<64xf32>, !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>"
    body = LOAD + scope("%w = pto.vbr %x : f32 -> !pto.vreg<64xf32>", line)
    at_base = check(body, BESIDE)
    assert errors(at_base) == {"core/hazard-waw"}
    behind = check(body, BESIDE - 256)
    assert errors(behind) == set()
    assert [f.basis for f in behind.findings if f.rule == "core/hazard-waw"] == ["inferred"]
    assert behind.status is Status.UNKNOWN
    assert [f for f in check(body, BESIDE - 512).findings if "hazard" in f.rule] == []


def test_the_generic_form_has_its_offset_among_the_operands() -> None:
    lines = (
        '%m = "pto.pset_b32"() {pattern = "PAT_VL8"} : () -> !pto.mask<b32>',
        '%v = "pto.vlds"(%p, %c64) <{dist = "NORM"}> : (!pto.ptr<f32, ub>, index) -> !pto.vreg<64xf32>',
        '"pto.vsts"(%v, %o, %c0, %m) : (!pto.vreg<64xf32>, !pto.ptr<f32, ub>, index, !pto.mask<b32>) -> ()',
    )
    assert errors(check(LOAD + scope(*lines), BESIDE - 256 - 32)) == set()
    assert errors(check(LOAD + scope(*lines), BESIDE - 256 - 31)) == {"core/hazard-raw"}


@pytest.mark.parametrize(
    ("kind", "strides"),
    [
        ("memref<16x64xf32, #pto.address_space<vec>>", (64, 1)),
        ("memref<16x64xf32, strided<[80, 1]>, #pto.address_space<vec>>", (80, 1)),
        ("memref<2x16x64xf32, strided<[2048, 128, 2], offset: ?>, #pto.address_space<vec>>", (2048, 128, 2)),
    ],
)
def test_indices_of_a_memref_count_its_strides(kind: str, strides: tuple[int, ...]) -> None:
    indices = ", ".join(["%c1", "%c0", "%c2"][: len(strides)])
    text = f"""func.func @k(%m: {kind}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %v = pto.vlds %m[{indices}] : {kind} -> !pto.vreg<64xf32>
  return
}}
"""
    _, (function,) = read_kernels(Source("k.mlir", text))
    (access,) = [s for s in function.body if isinstance(s, ops.AccessOp)]
    assert tuple(n for _, n in access.offsets) == strides
    assert (access.form, access.item_bytes, access.pointer.name) == ("vector", 4, "%m")


def test_a_memref_whose_strides_are_not_numbers_is_open() -> None:
    kind = "memref<16x64xf32, strided<[?, 1]>, #pto.address_space<vec>>"
    text = f"func.func @k(%m: {kind}, %i: index) {{\n  %v = pto.vlds %m[%i, %i] : {kind} -> !pto.vreg<64xf32>\n}}\n"
    _, (function,) = read_kernels(Source("k.mlir", text))
    (access,) = [s for s in function.body if isinstance(s, ops.AccessOp)]
    assert access.form == "open"


SCALAR = "%s = pto.load_scalar %q[%c0] : !pto.ptr<f32, ub> -> f32"


def hazards(verdict: Verdict) -> list[tuple[str, str]]:
    return [(f.rule, f.severity.value) for f in verdict.findings if "hazard" in f.rule]


def test_the_scalar_pipe_waits_as_any_other_and_what_does_not_wait_for_it_is_not_proved() -> None:
    assert hazards(check(LOAD + f"  {SCALAR}\n")) == [("core/hazard-raw", "error")]
    assert hazards(check(LOAD + flags("MTE2", "S") + f"  {SCALAR}\n")) == []
    assert hazards(check(LOAD + flags("MTE2", "V") + f"  {SCALAR}\n")) == [("core/hazard-raw", "error")]
    assert hazards(check(LOAD + "  pto.barrier #pto.pipe<PIPE_ALL>\n" + f"  {SCALAR}\n")) == []
    put = "  pto.store_scalar %x, %q[%c1] : !pto.ptr<f32, ub>, f32\n"
    loaded = LOAD + flags("MTE2", "MTE3") + flags("MTE2", "S")
    assert hazards(check(loaded + put + STORE)) == [("core/hazard-raw", "warning")]
    assert unknown(loaded + put + STORE) == {"core/hazard-raw"}
    assert hazards(check(loaded + put + flags("S", "MTE3") + STORE)) == []
    assert check(loaded + put + flags("S", "MTE3") + STORE).status is Status.PROVED
    read = LOAD + flags("MTE2", "S") + f"  {SCALAR}\n"
    assert unknown(read + "  pto.barrier <PIPE_MTE2>\n" + LOAD) == {"core/hazard-war"}
    assert check(read + flags("S", "MTE2") + LOAD).status is Status.PROVED


def unknown(body: str) -> set[str]:
    verdict = check(body)
    assert verdict.status is Status.UNKNOWN
    return {o.id for o in verdict.obligations if o.status == "unknown"}


def test_within_a_vector_scope_scalars_belong_to_the_vector_pipe() -> None:
    assert hazards(check(LOAD + scope(SCALAR))) == [("core/hazard-raw", "error")]
    assert hazards(check(LOAD + flags("MTE2", "V") + scope(SCALAR))) == []


def test_a_scalar_is_one_element() -> None:
    body = LOAD + "  %s = pto.load_scalar %p[%c1] : !pto.ptr<f32, ub> -> f32\n"
    assert hazards(check(body, BESIDE - 8)) == []
    assert hazards(check(body, BESIDE - 7)) == [("core/hazard-raw", "error")]


def test_scalars_of_a_tensor_lie_in_it() -> None:
    body = LOAD + "  %s = pto.ldg %g[%c64] : !pto.ptr<f32, gm> -> f32\n"
    notes = "// dmaverify: gm %g = {0} bytes\n"
    assert errors(check(body.replace("%g[%c64]", "%h[%c64]"), notes="// dmaverify: gm %h = 260 bytes\n")) == set()
    verdict = check(body.replace("%g[%c64]", "%h[%c64]"), notes="// dmaverify: gm %h = 256 bytes\n")
    assert errors(verdict) == {"core/in-bounds"}
    assert errors(check(body, notes=notes.format(1024))) == set()
