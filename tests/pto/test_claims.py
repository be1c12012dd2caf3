"""What a kernel is claimed to make: padding byte for byte, what lies beside it, copies that may not run."""

from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.prove.flow import claimed_bytes, claims
from dmaverify.prove.options import Options

KERNEL = (Path(__file__).resolve().parents[2] / "examples" / "pto" / "example-3-corrected.mlir").read_text()
PLAN = """schema = 1
target = "pto"
[axes]
R = 64
C = 100
[kernel.k]
text = '''
{kernel}'''
gm = {{ src = "64x100xf16" }}
[[kernel.k.move]]
copies = [1]
dtype = "f16"
source = {{ tier = "gm", base = 0, element = "R, C" }}
dest = {{ tier = "ub", base = 0, element = "{dest}" }}
"""
COPY = "  pto.copy_gm_to_ubuf"
SOME = KERNEL.replace("%src: !pto.ptr<f16, gm>", "%src: !pto.ptr<f16, gm>, %n: index").replace(
    COPY, "  %i1 = arith.constant 1 : index\n  %c = arith.cmpi eq, %n, %i1 : index\n  scf.if %c {\n" + COPY
)
SOME = SOME.replace("i64, i1, i64, i64, i64\n", "i64, i1, i64, i64, i64\n  }\n")


LEFT: list[tuple[str, str, dict[str, str]]] = [
        (KERNEL, "R, C #{0} 128", {}),
        (KERNEL.replace("28 : i64", "12 : i64"), "R, C #{0} 128", {"core/padding": "is never written"}),
        (KERNEL.replace("0.0 : f16", "1.0 : f16"), "R, C #{0} 128", {"core/padding": "holds 0x"}),
        (KERNEL, "R, C # 128", {}),
        (KERNEL, "R, C #{!} 128", {"core/padding": "may not be touched are written"}),
        (KERNEL, "R, C #{0} 124 #{!} 128", {"core/padding": "may not be touched are written"}),
        (KERNEL.replace("%false = arith.constant false\n  %true = arith.constant true", "%true = arith.constant false"),
         "R, C #{!} 128", {"core/padding": "may not be touched are written"}),
        (KERNEL, "(R, C #{0} 128) = 8164", {"core/in-bounds": "outside of the destination"}),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "dest", "found"), LEFT)
def test_padding_of_a_claimed_move_is_what_the_copies_leave(kernel: str, dest: str, found: dict[str, str]) -> None:
    (verdict,) = api.check(PLAN.format(kernel=kernel, dest=dest), "k")
    said = {f.rule: f.message for f in verdict.errors}
    assert said.keys() >= found.keys(), (said, verdict.obligations)
    assert all(text in said[rule] for rule, text in found.items()), said
    assert bool(said) is bool(found), said


@pytest.mark.parametrize(("kernel", "dest", "found"), LEFT)
def test_padding_is_asked_from_definitions_whatever_the_fast_path_says(
    kernel: str, dest: str, found: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def laid(claim: object, left: object, out: claims.ClaimResult, width: object) -> None:
        out.status["core/padding"] = "proved"

    monkeypatch.setattr(claims, "_bytes", laid)
    (verdict,) = api.check(PLAN.format(kernel=kernel, dest=dest), "k", options=Options(prove="full"))
    told = " ".join(finding.message for finding in verdict.findings)
    by = {one.id: one.by for one in verdict.obligations}
    (rule,) = found or {"core/padding": ""}
    assert (by.get(rule) == "z3") is not found
    contradicted = "z3 says sat from definitions" in told
    never_filled = any("core/padding, in move 1, padding" in said for said in verdict.assumptions)
    asked = verdict.status.value in ("proved", "error")
    assert (contradicted or never_filled or not asked) is bool(found), (told, verdict.assumptions)


def test_a_copy_that_may_not_run_is_not_claimed_to_have_run() -> None:
    (verdict,) = api.check(PLAN.format(kernel=SOME, dest="R, C #{0} 128"), "k")
    assert verdict.status.value == "unknown"
    assert any("depend on values that are not numbers" in f.message for f in verdict.findings)


@pytest.mark.parametrize(
    ("dest", "said"),
    [
        ("R, C / 10, C % 10", ""),
        ("R, C / 30, C % 30", "30 does not divide 100"),
        ("R, C, Z", "the axis `Z` is not declared"),
        ("R, C # 0", "`C # 0` has no positions"),
        ("R, C @ 100", "drops 100 positions"),
        ("R, C # 99", "cuts `C`, which has 100 positions"),
    ],
)
def test_a_claimed_move_that_makes_no_sense_is_refuted_where_it_is_written(dest: str, said: str) -> None:
    (verdict,) = api.check(PLAN.format(kernel=KERNEL, dest=dest), "k")
    ill = [finding for finding in verdict.errors if finding.rule == "core/well-formed"]
    assert {said in finding.message for finding in ill} == {True} if said else not ill
    assert all(one.span is not None and one.span.source.line_text(one.span.line).startswith("dest") for one in ill)


def test_a_tile_without_positions_holds_what_no_kernel_moves() -> None:
    (verdict,) = api.check(PLAN.replace("R = 64", "R = 0").format(kernel=KERNEL, dest="R, C"), "k")
    assert [finding.message for finding in verdict.errors] == ["the axis `R` has size 0"]


@pytest.mark.parametrize(("columns", "ill"), [(96, False), (100, True)])
def test_a_cut_that_does_not_divide_is_no_move_though_the_kernel_copies_its_slots(columns: int, ill: bool) -> None:
    kernel = KERNEL.replace("200 :", "192 :").replace("256 :", "192 :").replace("28 :", "0 :")
    plan = PLAN.format(kernel=kernel, dest="R, C").replace("C = 100", f"C = {columns}").replace("x100x", "x96x")
    (verdict,) = api.check(plan.replace('"R, C"', '"R, C / 32, C % 32"'), "k")
    assert {finding.rule for finding in verdict.errors} == ({"core/well-formed"} if ill else set())
    assert verdict.status.value == ("refuted" if ill else "proved"), verdict.findings


# ---------------------------------------------------------------- several copies, values of arguments

ROWS = """schema = 1
target = "pto"
[axes]
R = 4
C = 8
[kernel.k]
gm = {{ x = "128 bytes", y = "128 bytes" }}
{stated}
text = '''
func.func @k(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>, %n: i64, %p: i64) {{
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %c4 = arith.constant 4 : i64
  %c8 = arith.constant 8 : i64
  %c16 = arith.constant 16 : i64
  %c24 = arith.constant 24 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c128 = arith.constant 128 : i64
  %ub = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  %d = pto.castptr %c64 : i64 -> !pto.ptr<f32, ub>
  %rest = pto.addptr %x, %c8 : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  %half = pto.addptr %x, %c16 : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
{body}  return
}}
'''
[[kernel.k.move]]
copies = {copies}
dtype = "f32"
source = {{ tier = "{source}", element = "R, C" }}
dest = {{ tier = "{dest}", element = "R, C{pad}" }}
"""
TYPES = " : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64"
BARRIER = '  pto.pipe_barrier "PIPE_MTE2"\n'


def load(source: str, dest: str, rows: str, more: str = "", types: str = "") -> str:
    pitch = "%c64" if more or types == "wide" else "%c32"
    tail = TYPES + types.removeprefix("wide")
    return f"  pto.mte_gm_ub {source}, {dest}, %c0, %c32 nburst({rows}, %c32, {pitch}){more}{tail}\n"


FILLED = load("%x", "%ub", "%c1", " pad(%z, %c0, %c24)", ", pad f32, i64, i64")  # fills the second row, too
LATER = load("%rest", "%d", "%c3", "", "wide")
ALL, OUT, RANGE = load("%x", "%ub", "%n"), "core/covers", 'assume = {{ n = "{}" }}'
EACH = (
    "  scf.for %i = %c0 to %c4 step %c1 : i64 {\n    %o = arith.muli %i, %c32 : i64\n"
    "    %e = arith.shrui %o, %c2 : i64\n    %left = arith.subi %n, %i : i64\n    %m = arith.minsi %left, %c1 : i64\n"
    "    %p = pto.addptr %x, %e : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n"
    f"    %q = pto.castptr %o : i64 -> !pto.ptr<f32, ub>\n  {load('%p', '%q', '%m')}  }}\n"
)
MANY = 'assume = { n = "20..26", p = "0..2" }'
BUT_24 = f"  %is = arith.cmpi ne, %n, %c24 : i64\n  scf.if %is {{\n  {load('%x', '%ub', '%c4')}  }}\n"


def given(relation: str) -> str:
    return f"  // dmaverify: assume {relation}\n{BUT_24}"


EITHER = BUT_24.removesuffix("  }\n") + f"  }} else {{\n  {load('%x', '%ub', '%c4')}  }}\n"
AGAIN = load("%x", "%ub", "%c2") + BARRIER + load("%y", "%ub", "%c1") + load("%half", "%d", "%c2")


@pytest.mark.parametrize(
    ("body", "stated", "copies", "ends", "pad", "rules"),
    [
        (FILLED + BARRIER + LATER, "", [1, 2], "gm ub", " # 16", ""),
        (FILLED + BARRIER + LATER, "", [2, 1], "gm ub", " # 16", ""),
        (LATER + BARRIER + FILLED, "", [1, 2], "gm ub", " # 16", "core/same-element"),
        (ALL, RANGE.format("4..4"), [1], "gm ub", "", ""),
        (ALL, RANGE.format("3..4"), [1], "gm ub", "", OUT),
        (BUT_24, RANGE.format("1..23"), [1], "gm ub", "", ""),
        (BUT_24, RANGE.format("1..24"), [1], "gm ub", "", OUT),
        (ALL, "", [1], "gm ub", "", "unknown"),
        (BUT_24, RANGE.format("1..4000"), [1], "gm ub", "", "unknown"),
        (EACH, RANGE.format("4..40"), [1], "gm ub", "", ""),
        (ALL, RANGE.format("4..4"), [1], "ub gm", "", "core/well-formed"),
        (load("%x", "%ub", "%c2") + load("%half", "%d", "%c2"), "", [1, 2], "gm ub", "", ""),
        (load("%x", "%ub", "%c2") + load("%y", "%d", "%c2"), "", [1, 2], "gm ub", "", "unknown"),
        (AGAIN, "", [1, 3], "gm ub", "", "unknown"),
        (AGAIN.replace("(%c1,", "(%n,"), RANGE.format("1..2"), [1, 3], "gm ub", "", "unknown"),
        (given("%n + %p >= 27"), MANY, [1], "gm ub", "", ""),
        (given("%n + %p >= 26"), MANY, [1], "gm ub", "", OUT),
        (given("%n >= 25"), MANY, [1], "gm ub", "", ""),
        (given("%n >= 24"), MANY, [1], "gm ub", "", OUT),
        (EITHER, RANGE.format("1..30"), [1, 2], "gm ub", "", ""),
        (EITHER, RANGE.format("23..23"), [1, 2], "gm ub", "", ""),
        (EITHER, RANGE.format("23..23"), [1], "gm ub", "", ""),
        (EITHER, RANGE.format("24..24"), [1], "gm ub", "", OUT),
        (EITHER, RANGE.format("24..24"), [3], "gm ub", "", "core/well-formed"),
        (BUT_24, RANGE.format("24..24"), [1], "gm ub", "", OUT),
    ],
)  # fmt: skip
def test_copies_make_a_move_where_they_do_for_all_stated_values(
    body: str, stated: str, copies: list[int], ends: str, pad: str, rules: str
) -> None:
    source, dest = ends.split()
    plan = ROWS.format(body=body, stated=stated, copies=copies, source=source, dest=dest, pad=pad)
    (verdict,) = api.check(plan, "k")
    assert verdict.status.value == {"": "proved", "unknown": "unknown"}.get(rules, "refuted"), verdict.findings
    assert verdict.status.value != "refuted" or {f.rule for f in verdict.errors} == {rules}


@pytest.mark.parametrize(
    ("between", "pad", "wanted"), [("", "", "proved"), ("again", "", "unknown"), ("", "fill", "unknown")]
)
def test_of_more_bytes_than_are_followed_no_overwriting_is_excluded(
    between: str, pad: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimed_bytes, "MOST_BYTES", 127)
    other = BARRIER + load("%y", "%ub", "%c1") if between else ""
    body = load("%x", "%ub", "%c2") + other + load("%half", "%d", "%c2")
    if pad:
        body = FILLED + BARRIER + LATER
    plan = ROWS.format(
        body=body, stated="", copies=[1, 3] if between else [1, 2], source="gm", dest="ub", pad=" # 16" if pad else ""
    )
    (verdict,) = api.check(plan, "k")
    assert verdict.status.value == wanted, verdict.findings
    assert {one.status for one in verdict.obligations if one.id == "core/same-element"} == {wanted}


@pytest.mark.parametrize(("first", "other", "status"), [
    ("0.0", "0.0", "proved"), ("0.0", "1.0", "refuted"), ("1.0", "0.0", "refuted"),
])  # fmt: skip
def test_padding_of_a_value_that_a_branch_chooses_is_zero_where_both_are(first: str, other: str, status: str) -> None:
    (line,) = [one for one in KERNEL.splitlines() if "pto.set_mov_pad_val" in one]
    value = line.split()[1]
    second = f"  %other = arith.constant {other} : f16\n{line.replace(value, '%other')}"
    sides = f"  scf.if %on {{\n{line}\n  }} else {{\n{second}\n  }}"
    kernel = KERNEL.replace("%src: !pto.ptr<f16, gm>", "%src: !pto.ptr<f16, gm>, %on: i1").replace(line, sides)
    kernel = kernel.replace("%zero = arith.constant 0.0", f"%zero = arith.constant {first}")
    (verdict,) = api.check(PLAN.format(kernel=kernel, dest="R, C #{0} 128"), "k")
    assert verdict.status.value == status, verdict.findings
