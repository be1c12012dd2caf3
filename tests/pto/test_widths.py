"""Integers have the bits of their types: sums, products and casts wrap in the proof and in the run alike."""

from __future__ import annotations

import pytest

from dmaverify.errors import InputError, Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

GM, UB = "!pto.ptr<i8, gm>", "!pto.ptr<i8, ub>"


def text_of(kind: str, lines: str, notes: str = "") -> str:
    body = "".join(f"  {line}\n" for line in lines.split("; "))
    return f"""// dmaverify: gm %in = 1000 bytes
{notes}func.func @k(%in: {GM}, %n: {kind}) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %l = arith.constant 32 : i64
  %b = pto.castptr %z : i64 -> {UB}
{body}  %s = pto.addptr %in, %at : {GM} -> {GM}
  pto.mte_gm_ub %s, %b, %z, %l nburst(%one, %l, %l) : {GM}, {UB}, i64, i64, i64, i64, i64
  return
}}
"""


def check(kind: str, lines: str, notes: str = "") -> Verdict:
    (found,) = check_text(Source("k.mlir", text_of(kind, lines, notes)))
    return found


TIMES = "%k = arith.constant {by} : {t}; %m = arith.muli %n, %k : {t}; %at = arith.{cast} %m : {t} to index"
ROUND = "%k = arith.constant {by} : {t}; %m = arith.muli %n, %k : {t}; %at = arith.divsi %m, %k : {t}"
CUT = "%m = arith.trunci %n : {t} to {less}; %at = arith.{cast} %m : {less} to index"
UNDER = "%k = arith.constant {by} : {t}; %m = arith.subi %n, %k : {t}; %at = arith.{cast} %m : {t} to index"
NARROW = (
    "%k = arith.constant {by} : index; %m = arith.addi %n, %k : index; "
    "%c = arith.index_castui %m : index to i8; %at = arith.index_cast %c : i8 to index"
)
CASES = [
    ("i32", TIMES.format(by=65536, t="i32", cast="index_cast"), 0, [0], Status.PROVED),
    ("i32", TIMES.format(by=65536, t="i32", cast="index_cast"), 1, [0, 1], Status.REFUTED),
    ("i16", TIMES.format(by=256, t="i16", cast="index_cast"), 3, [0, 3], Status.PROVED),
    ("i16", TIMES.format(by=256, t="i16", cast="index_cast"), 4, [4], Status.REFUTED),
    ("i16", TIMES.format(by=-32768, t="i16", cast="index_cast"), 1, [1], Status.REFUTED),
    ("i16", TIMES.format(by=-32768, t="i16", cast="index_castui"), 1, [1], Status.REFUTED),
    ("i16", ROUND.format(by=128, t="i16"), 255, [255], Status.PROVED),
    ("i16", ROUND.format(by=128, t="i16"), 256, [256], Status.REFUTED),  # 32,768 in i16 is -32,768: -256
    ("i32", CUT.format(t="i32", less="i8", cast="index_castui"), 70000, [255, 256], Status.PROVED),
    ("i32", CUT.format(t="i32", less="i8", cast="index_cast"), 127, [127], Status.PROVED),
    ("i32", CUT.format(t="i32", less="i8", cast="index_cast"), 128, [128], Status.REFUTED),
    ("i32", UNDER.format(by=0, t="i32", cast="index_castui"), 900, [900], Status.PROVED),
    ("i32", UNDER.format(by=1, t="i32", cast="index_castui"), 900, [0], Status.REFUTED),
    ("i8", UNDER.format(by=1, t="i8", cast="index_castui"), 100, [0], Status.PROVED),  # -1 is 255
    ("index", NARROW.format(by=-256), 100, [0, 100], Status.PROVED),  # 64 bits are cut off to 8
    ("index", NARROW.format(by=-257), 100, [0], Status.REFUTED),
    ("index", NARROW.format(by=256), 127, [127], Status.PROVED),
    ("index", NARROW.format(by=256), 128, [128], Status.REFUTED),
]


@pytest.mark.parametrize(("kind", "lines", "most", "values", "status"), CASES)
def test_what_does_not_fit_wraps(kind: str, lines: str, most: int, values: list[int], status: Status) -> None:
    found = check(kind, lines, f"// dmaverify: assume %n in 0..{most}\n")
    assert found.status is status, [f.message for f in found.findings]
    _, (function,) = read_kernels(Source("k.mlir", text_of(kind, lines)))
    wrong = [n for n in values if "bounds" in run_kernel(function, {"in": 1000}, {"n": n}).found]
    assert bool(wrong) is (status is Status.REFUTED)


def test_a_value_that_wraps_is_told() -> None:
    found = check("i32", CASES[0][1], "// dmaverify: assume %n in 0..100000\n")
    assert any("muli can give 6,553,600,000, which i32 does not hold: it wraps" in f.message for f in found.findings)


def test_what_nobody_bounds_is_assumed_to_fit_and_said() -> None:
    double = TIMES.format(by=1, t="i16", cast="index_cast").replace("muli %n, %k", "addi %n, %n")
    assert not any("no-wrap" in a for a in check("i16", double).assumptions)  # what the tensor holds bounds it
    (narrow,) = check_text(Source("k.mlir", text_of("i16", double).replace("1000 bytes", "100000 bytes")))
    assert any("core/no-wrap: i16 holds it" in a for a in narrow.assumptions)
    cut = check("index", NARROW.format(by=0))
    assert any("core/no-wrap: i8 holds it" in a for a in cut.assumptions)
    wide = check("i64", TIMES.format(by=1 << 40, t="i64", cast="index_cast"))
    assert not any("no-wrap" in a for a in wide.assumptions)


@pytest.mark.parametrize(("size", "good"), [(1 << 64, True), ((1 << 64) + 1, False)])
def test_a_tensor_fits_the_address_space(size: int, good: bool) -> None:
    text = text_of("i64", "%at = arith.index_cast %z : i64 to index").replace("1000 bytes", f"{size} bytes")
    if good:
        assert check_text(Source("k.mlir", text))[0].status is Status.PROVED
    else:
        with pytest.raises(InputError, match="more than 64 bits can address"):
            check_text(Source("k.mlir", text))


def test_a_stated_range_fits_its_type() -> None:
    found = check("i8", UNDER.format(by=0, t="i8", cast="index_cast"), "// dmaverify: assume %n in 0..128\n")
    assert any("i8 does not hold all of 0..128" in f.message for f in found.errors)
