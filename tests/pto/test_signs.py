"""Bits have one value: what an unsigned operation gives, the next signed one reads signed."""

from __future__ import annotations

import pytest
from lab.draws import rest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status

KERNEL = """// dmaverify: gm %in = {size}xi8
// dmaverify: assume %n in {low}..{high}
func.func @k(%in: !pto.ptr<i8, gm>, %n: i32) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %b = pto.castptr %z : i64 -> !pto.ptr<i8, ub>
  %c = arith.constant {constant} : i32
  %d = arith.constant {second} : i32
  %t = {first} %n, %c : i32
  %u = {then} %t, %d : i32
  %i = arith.index_cast %u : i32 to index
  %s = pto.addptr %in, %i : !pto.ptr<i8, gm> -> !pto.ptr<i8, gm>
  pto.mte_gm_ub %s, %b, %z, %one nburst(%one, %one, %one) : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64
  return
}}
"""


@pytest.mark.parametrize(
    ("first", "constant", "then", "second", "low", "high", "size", "status"),
    [
        ("arith.maxui", 5, "arith.maxsi", 0, -9, -1, 1, "proved"),  # a negative i32, so that 0 is the greater
        ("arith.maxui", 5, "arith.remsi", 2, -1, -1, 3, "refuted"),  # -1 rem 2 is -1
        ("arith.divui", 1, "arith.minsi", 7, 3, 9, 8, "proved"),
        ("arith.divui", 1, "arith.minsi", 7, -2, 9, 8, "refuted"),  # -2 stays -2
        ("arith.shrui", 28, "arith.minsi", 15, -9, -1, 16, "proved"),
        ("arith.shrui", 28, "arith.minsi", 15, -9, -1, 15, "refuted"),
    ],
)
def test_an_unsigned_result_is_read_signed_by_a_signed_operation(
    first: str, constant: int, then: str, second: int, low: int, high: int, size: int, status: str
) -> None:
    text = KERNEL.format(first=first, constant=constant, then=then, second=second, low=low, high=high, size=size)
    (verdict,) = check_text(Source("k.mlir", text), None)
    assert verdict.status.value == status, [f.message for f in verdict.findings]


MASKS = [-14, -8, -1, 0, 1, 7, 22, 4294967288]
OPS = ["andi", "ori", "xori"]
TURNED = [("andi", 7), ("ori", 1), ("xori", -8)]


@pytest.mark.parametrize(
    ("op", "mask", "turned"),
    [
        *((op, mask, False) for op in OPS for mask in MASKS),
        *((op, mask, True) for op, mask in TURNED),
        *rest((op, mask, True) for op in OPS for mask in MASKS if (op, mask) not in TURNED),
    ],
)
def test_bits_of_a_value_are_masked_as_its_bits_say(op: str, mask: int, turned: bool) -> None:
    """Proved for the tensor that ends at the greatest value, refuted for one of a byte less; %n is -21..22."""
    low, high, number = -21, 22, mask - (1 << 32) if mask > 1 << 31 else mask
    made = [{"andi": n & number, "ori": n | number, "xori": n ^ number}[op] for n in range(low, high + 1)]
    size, then = max(made) - min(made) + 1, {"then": "arith.addi", "second": -min(made)}
    for bytes_, status in ((size, "proved"), (size - 1, "refuted")):
        text = KERNEL.format(first=f"arith.{op}", constant=mask, low=low, high=high, size=bytes_, **then)
        text = text.replace("%n, %c :", "%c, %n :") if turned else text
        if bytes_:
            (verdict,) = check_text(Source("k.mlir", text), None)
            assert verdict.status.value == status, [f.message for f in verdict.findings]


CHOSEN = """// dmaverify: gm %in = 32xi8
// dmaverify: assume %x in 1..16
func.func @k(%in: !pto.ptr<i8, gm>, %x: i32) {{
  %z = arith.constant 0 : i64
  %len = arith.constant 32 : i64
  %one = arith.constant 1 : i64
  %b = pto.castptr %z : i64 -> !pto.ptr<i8, ub>
  %less = arith.constant -1 : i32
  %seven = arith.constant 7 : i32
  %edge = arith.constant {edge} : i32
  %small = arith.cmpi sle, %x, %edge : i32
  %d = arith.select %small, %x, %less : i32
  %q = arith.{divides} %seven, %d : i32
  %t = arith.addi %q, %seven : i32
  %i = arith.index_cast %t : i32 to index
  %s = pto.addptr %in, %i : !pto.ptr<i8, gm> -> !pto.ptr<i8, gm>
  pto.mte_gm_ub %s, %b, %z, %len nburst(%one, %len, %len) : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64
  return
}}
"""


@pytest.mark.parametrize("divides", ["divsi", "floordivsi"])
@pytest.mark.parametrize(("edge", "status"), [(0, "unknown"), (16, "refuted"), (8, "refuted")])
def test_a_divisor_that_is_never_positive_is_not_supposed_to_be(divides: str, edge: int, status: str) -> None:
    """With `edge` 0 it is -1, 7 / -1 + 7 is 0 and the copy right; positive ones read past the end."""
    (verdict,) = check_text(Source("k.mlir", CHOSEN.format(edge=edge, divides=divides)), None)
    assert verdict.status.value == status, [f.message for f in verdict.findings]


@pytest.mark.parametrize(("size", "status"), [(32, "proved"), (31, "refuted")])
def test_a_divisor_that_may_be_negative_refutes_nothing_where_it_is(size: int, status: str) -> None:
    """%d rem %d is 0; how it is followed holds of divisors from 1 on, which is said."""
    text = CHOSEN.format(edge=8, divides="remui").replace("%seven, %d", "%d, %d").replace("addi %q", "minsi %q")
    (verdict,) = check_text(Source("k.mlir", text.replace("32xi8", f"{size}xi8")), None)
    assert verdict.status.value == status, [f.message for f in verdict.findings]
    assert verdict.conditions == ("`%d`, which `%q` divides by, is at least 1",)


@pytest.mark.parametrize("op", ["shli", "shrui", "shrsi"])
@pytest.mark.parametrize(("by", "status"), [(31, "proved"), (32, "unknown"), (64, "unknown"), (-1, "unknown")])
def test_a_shift_by_as_many_bits_as_there_are_has_no_meaning(op: str, by: int, status: str) -> None:
    text = KERNEL.format(first=f"arith.{op}", constant=by, then="arith.minsi", second=0, low=2, high=2, size=1)
    (verdict,) = check_text(Source("k.mlir", text), None)
    assert verdict.status.value == status, [f.message for f in verdict.findings]


@pytest.mark.parametrize("op", ["shli", "shrui", "shrsi"])
@pytest.mark.parametrize(("low", "high", "status"), [(0, 31, "proved"), (0, 32, "unknown"), (-1, 3, "unknown")])
def test_a_shift_by_a_value_that_may_be_too_many_bits_has_no_meaning(op: str, low: int, high: int, status: str) -> None:
    text = KERNEL.format(first=f"arith.{op}", constant=1, then="arith.andi", second=0, low=low, high=high, size=1)
    (verdict,) = check_text(Source("k.mlir", text.replace("%n, %c", "%c, %n")), None)
    assert verdict.status.value == status, [f.message for f in verdict.findings]


def test_a_shift_by_a_value_that_nobody_bounds_is_supposed_to_be_one() -> None:
    text = KERNEL.format(first="arith.shrui", constant=1, then="arith.andi", second=0, low=0, high=9, size=1)
    free = text.replace("// dmaverify: assume %n in 0..9\n", "").replace("%n, %c", "%c, %n")
    (verdict,) = check_text(Source("k.mlir", free), None)
    assert (verdict.status.value, verdict.conditions) == ("proved", ("`%n`, by which `%t` shifts, is 0 to 31",))


def test_an_unsigned_result_that_is_surely_great_is_a_negative_number() -> None:
    text = KERNEL.format(first="arith.xori", constant=3, then="arith.maxui", second=-2, low=0, high=4, size=64)
    text = text.replace(
        "%i = arith.index_cast %u : i32", "%v = arith.addi %u, %two : i32\n  %i = arith.index_cast %v : i32"
    )
    text = text.replace("  %t = ", "  %two = arith.constant 2 : i32\n  %t = ")
    (verdict,) = check_text(Source("k.mlir", text), None)
    assert verdict.status.value != "refuted", [f.message for f in verdict.findings]  # -2 or -1, and 2


GUARDED = """// dmaverify: gm %in = {size}xi8
// dmaverify: assume %n in 0..5
// dmaverify: assume %p in 0..1
func.func @k(%in: !pto.ptr<i8, gm>, %n: index, %p: index) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : index
  %c = arith.constant 20 : index
  %else = arith.constant 40 : index
  %b = pto.castptr %z : i64 -> !pto.ptr<i8, ub>
  %some = arith.cmpi {compared} : index
  %i = scf.if %some -> index {{
    %q = arith.divui %c, %n : index
    scf.yield %q : index
  }} else {{
    scf.yield %else : index
  }}
  %s = pto.addptr %in, %i : !pto.ptr<i8, gm> -> !pto.ptr<i8, gm>
  pto.mte_gm_ub %s, %b, %z, %one nburst(%one, %one, %one) : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64
  return
}}
"""


@pytest.mark.parametrize(
    ("compared", "size", "status"),
    [
        ("sgt, %n, %zero", 41, "proved"),
        ("sgt, %n, %zero", 40, "refuted"),  # at %n = 0, which divides nothing and is no less a value
        ("sge, %n, %zero", 41, "proved"),  # always: supposed, and said
        ("sgt, %p, %zero", 41, "unknown"),  # it may divide by 0 there, and %n may be 0 elsewhere
    ],
)
def test_what_a_branch_divides_by_is_supposed_of_no_value_that_it_keeps_out(
    compared: str, size: int, status: str
) -> None:
    (verdict,) = check_text(Source("k.mlir", GUARDED.format(compared=compared, size=size)), None)
    assert verdict.status.value == status, [f.message for f in verdict.findings]
    assert any("divides by" in said for said in verdict.conditions) is compared.startswith("sge")


BIT = """// dmaverify: gm %in = 64xi8
// dmaverify: gm %out = 64xi8
func.func @k(%in: !pto.ptr<i8, gm>, %out: !pto.ptr<i8, gm>, %f: i1) {{
  %z = arith.constant 0 : i64
  %len = arith.constant 32 : i64
  %one = arith.constant 1 : i64
  %on = arith.constant true
  %off = arith.constant false
  %zero = arith.constant 0 : i8
  %b = pto.castptr %z : i64 -> !pto.ptr<i8, ub>
  {made}
  scf.if %loads {{
    pto.mte_gm_ub %in, %b, %z, %len nburst(%one, %len, %len)
        : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64
  }}
  pto.barrier #pto.pipe<PIPE_ALL>
  scf.if {stores} {{
    pto.mte_ub_gm %b, %out, %len nburst(%one, %len, %len) : !pto.ptr<i8, ub>, !pto.ptr<i8, gm>, i64, i64, i64, i64
  }}
  return
}}
"""


@pytest.mark.parametrize(
    ("made", "loads"),
    [
        ("%loads = arith.addi %f, %on : i1", (0,)),  # 1 + 1 is 0 in one bit
        ("%loads = arith.addi %f, %off : i1", (1,)),
        ("%loads = arith.subi %off, %f : i1", (1,)),
        ("%loads = arith.muli %f, %f : i1", (1,)),
        ("%loads = arith.cmpi slt, %f, %off : i1", (1,)),  # true is -1
        ("%loads = arith.cmpi sgt, %f, %off : i1", ()),
        ("%loads = arith.cmpi sle, %off, %f : i1", (0,)),
        ("%loads = arith.cmpi ult, %f, %on : i1", (0,)),
        ("%loads = arith.minsi %f, %off : i1", (1,)),
        ("%loads = arith.maxsi %f, %off : i1", ()),
        ("%loads = arith.maxui %f, %off : i1", (1,)),
        (
            "%x = arith.index_cast %f : i1 to i8\n  %loads = arith.cmpi slt, %x, %zero : i8",
            (1,),
        ),
        (
            "%x = arith.index_castui %f : i1 to i8\n  %loads = arith.cmpi sgt, %x, %zero : i8",
            (1,),
        ),
        (
            "%x = arith.extui %f : i1 to i32\n  %y = arith.addi %x, %x : i32\n  %loads = arith.trunci %y : i32 to i1",
            (),
        ),
        ("%loads = arith.constant -1 : i1", (0, 1)),
    ],
)
def test_one_bit_wraps_and_is_its_own_sign(made: str, loads: tuple[int, ...]) -> None:
    for stores, reads in (("%f", {1}), ("%not", {0}), ("%on", {0, 1})):
        more = made + "\n  %not = arith.xori %f, %on : i1"
        source = Source("k.mlir", BIT.format(made=more, stores=stores))
        (verdict,) = check_text(source)
        assert verdict.status is (Status.PROVED if reads <= set(loads) else Status.REFUTED), verdict.findings
        _, (function,) = read_kernels(source)
        ran = [run_kernel(function, {"in": 64, "out": 64}, {"f": f}) for f in (0, 1)]
        assert {f for f in (0, 1) if "definite" in ran[f].found} == reads - set(loads)


UNDIVIDED = """// dmaverify: gm %in = 32xi8
// dmaverify: assume %m in {low}..4
func.func @k(%in: !pto.ptr<i8, gm>, %n: index, %m: index) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %long = arith.constant 32 : i64
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %b = pto.castptr %z : i64 -> !pto.ptr<i8, ub>
  %some = arith.cmpi {asks}, %m, %{than} : index
  scf.if %some {{
    %q = arith.{op} %n, %{by} : index
    %odd = arith.cmpi ne, %q, %c3 : index
    scf.if %odd {{
      pto.mte_gm_ub %in, %b, %z, %long nburst(%one, %long, %long)
        : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64
    }}
  }}
  return
}}
"""


@pytest.mark.parametrize("op", ["divui", "remui", "remsi", "ceildivui"])
@pytest.mark.parametrize(
    ("by", "asks", "than", "low", "open_"),
    [
        ("c3", "ult", "c3", 0, False),
        ("c0", "ult", "c3", 0, True),
        ("m", "ult", "c3", 0, True),
        ("m", "ult", "c3", 1, False),
        ("m", "ne", "c0", 0, False),
    ],
)
def test_what_divides_by_zero_has_no_meaning(op: str, by: str, asks: str, than: str, low: int, open_: bool) -> None:
    """Whatever its result decides."""
    text = UNDIVIDED.format(op=op, by=by, asks=asks, than=than, low=low)
    (verdict,) = check_text(Source("k.mlir", text), None)
    said = [f.message for f in verdict.findings]
    assert ["by 0: what that gives is not defined" in one for one in said] == [True] * open_
    assert verdict.status is (Status.UNKNOWN if open_ else Status.PROVED), verdict


COUNTED = """// dmaverify: gm %in = 32xi8
func.func @k(%in: !pto.ptr<i8, gm>, %n: index, %m: index) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %long = arith.constant 32 : i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %b = pto.castptr %z : i64 -> !pto.ptr<i8, ub>
  scf.for %i = %{low} to %n step %c1 {{
    %d = {made}
    %on = arith.cmpi {asks} : index
    scf.if %on {{
      %q = arith.divui %c64, %d : index
    }}
  }}
  pto.mte_gm_ub %in, %b, %z, %long nburst(%one, %long, %long)
    : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64
  return
}}
"""


@pytest.mark.parametrize(
    ("low", "made", "asks", "open_"),
    [
        ("c0", "arith.muli %i, %c1 : index", "sge, %n, %c0", True),  # in the first iteration of every run
        ("c0", "arith.muli %i, %c1 : index", "eq, %m, %c0", True),  # or of those with %m = 0
        ("c0", "arith.muli %i, %c1 : index", "ne, %i, %c0", False),
        ("c1", "arith.muli %i, %c1 : index", "sge, %n, %c0", False),
        ("m", "arith.muli %i, %c1 : index", "sge, %n, %c0", False),  # on the condition that it is not so
        ("c0", "arith.subi %m, %i : index", "sge, %n, %c0", False),
        ("c0", "arith.subi %n, %i : index", "sge, %n, %c0", False),
    ],
)
def test_no_counter_that_begins_with_zero_is_supposed_to_be_more(low: str, made: str, asks: str, open_: bool) -> None:
    (verdict,) = check_text(Source("k.mlir", COUNTED.format(low=low, made=made, asks=asks)), None)
    assert ["by 0" in f.message for f in verdict.findings] == [True] * open_
    assert verdict.status is (Status.UNKNOWN if open_ else Status.PROVED), verdict


@pytest.mark.parametrize(
    ("by", "open_"),
    [("%core", True), ("%next", False), ("%count", False), ("%n", False)],
)
def test_no_number_of_a_core_is_supposed_to_be_more_than_zero(by: str, open_: bool) -> None:
    """Every launch has a first core; PROVED where its number "is at least 1", before."""
    text = f"""func.func @k(%in: !pto.ptr<i8, gm>, %n: i64) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %many = arith.constant 64 : i64
  %core = pto.get_block_idx -> i64
  %count = pto.get_block_num -> i64
  %next = arith.addi %core, %one : i64
  %long = arith.divui %many, {by} : i64
  %b = pto.castptr %z : i64 -> !pto.ptr<i8, ub>
  pto.mte_gm_ub %in, %b, %z, %long nburst(%one, %long, %long)
    : !pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64
  return
}}
"""
    (verdict,) = check_text(Source("k.mlir", text), None)
    assert any("by 0" in one.message for one in verdict.findings) == open_
    assert verdict.status is (Status.UNKNOWN if open_ else Status.PROVED), verdict
