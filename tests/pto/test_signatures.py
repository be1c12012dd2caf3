"""Operands that operations take: how many, of which types, masks of which width."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.distributions import vector_unit
from dmaverify.machines.pto.limits import shipped
from dmaverify.machines.pto.signatures import seen_of, signatures
from dmaverify.machines.pto.tiles import tile_work
from dmaverify.machines.pto.typed import MASK, SCALAR, TILE, TypedOperand, TypedUse
from dmaverify.targets.target import load_target
from dmaverify.verdict import Status, Verdict

HEAD = """func.func @k(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %on: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %f = arith.constant 1.0 : f32
  %i = arith.constant 1 : i32
  %av = pto.make_tensor_view %a, shape = [%c8, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
  %bv = pto.make_tensor_view %b, shape = [%c8, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
  %pa = pto.partition_view %av, offsets = [%c0, %c0], sizes = [%c8, %c32]
    : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<8x32xf32>
  %pb = pto.partition_view %bv, offsets = [%c0, %c0], sizes = [%c8, %c32]
    : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<8x32xf32>
"""
KINDS = {"i8": "i8", "u8": "ui8", "s8": "si8", "h": "f16", "e": "f8E4M3FN"}


def of(kind: str) -> str:
    return f"!pto.tile_buf<vec, 8x32x{kind}>"


def op(name: str, ins: str, out: str) -> str:
    kinds = {"%f": "f32", "%i": "i32"} | {f"%{name}": of(kind) for name, kind in KINDS.items()}
    written = ", ".join(kinds.get(one.strip(), of("f32")) for one in ins.split(","))
    return f"  pto.{name} ins({ins} : {written}) outs({out} : {kinds.get(out, of('f32'))})\n"


def check(body: str) -> Verdict:
    """A tile %t is loaded, others are made of it; %t is stored behind the body."""
    made = f"  %t = pto.alloc_tile : {of('f32')}\n" + op("tload", "%pa", "%t")
    for name, kind in KINDS.items():
        made += f"  %{name} = pto.alloc_tile : {of(kind)}\n" + op("tcvt", "%t", f"%{name}")
    (found,) = check_text(Source("k.pto", f"{HEAD}{made}{body}{op('tstore', '%t', '%pb')}  return\n}}\n"))
    return found


def errors(verdict: Verdict) -> list[str]:
    return sorted({f.rule for f in verdict.errors})


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (op("tadd", "%t, %t", "%t"), ""),
        (op("tadd", "%t, %i8", "%t"), "pto/operand-types"),
        (op("tadd", "%t, %t", "%i8"), "pto/operand-types"),
        (op("tadd", "%t, %h", "%t"), "pto/operand-types"),
        (op("tadd", "%u8, %s8", "%i8"), ""),  # signs are no other type
        (op("tadd", "%t", "%t"), "pto/operand-count"),
        (op("tadd", "%t, %t, %t", "%t"), "pto/operand-count"),
        (op("tadd", "%t, %f", "%t"), "pto/operand-count"),  # a scalar is no tile
        (op("tadds", "%t, %f", "%t"), ""),
        (op("tadds", "%t, %t", "%t"), "pto/operand-count"),
        (op("tdivs", "%f, %t", "%t"), ""),  # in either order
        (op("texpands", "%f", "%t"), ""),
        (op("texpands", "%i", "%t"), "pto/operand-types"),
        (op("tabs", "%t", "%h"), "pto/operand-types"),
        (op("tcvt", "%t", "%h"), ""),  # it is there for that
        (op("tmov", "%t", "%h"), "pto/operand-types"),
        (op("tmov", "%t", "%t"), ""),
        (op("trowsum", "%t, %h", "%t"), ""),  # scratch of any type
        (op("trowsum", "%h, %t", "%t"), "pto/operand-types"),
        (op("tfillpad", "%u8", "%e"), ""),  # as many bits
        (op("tfillpad", "%u8", "%h"), "pto/operand-types"),
        (op("tcmp", "%t, %t", "%u8"), ""),
    ],
)
def test_operands_have_the_number_and_the_types_that_an_operation_takes(body: str, found: str) -> None:
    verdict = check(body)
    assert errors(verdict) == [found] * bool(found), verdict
    assert (verdict.status is Status.PROVED) is not bool(found)
    assert {f.span.line for f in verdict.errors if f.span} == ({26} if found else set())


@pytest.mark.parametrize(
    "body",
    [
        op("texp", "%i8", "%i8"),  # of numbers with a fraction alone
        op("tand", "%t, %t", "%t"),  # of integers alone
        op("tcmp", "%t, %t", "%t"),  # packed bits are bytes
    ],
)
def test_types_that_no_document_gives_an_operation_leave_it_open(body: str) -> None:
    verdict = check(body)
    assert not [one for one in errors(verdict) if one.startswith("pto/")]
    assert verdict.status is not Status.PROVED
    assert "documented are" in "".join(f.message for f in verdict.findings)


SMALL = "  %small = arith.cmpi slt, %n, %c1 : index\n  %large = arith.cmpi sgt, %n, %c8 : index\n"


@pytest.mark.parametrize(
    ("around", "status"),
    [
        ("  scf.if %small {{\n{0}  }}\n", Status.REFUTED),
        ("  scf.if %small {{\n  scf.if %large {{\n{0}  }}\n  }}\n", Status.PROVED),
        ("  scf.for %k = %c1 to %c1 step %c1 {{\n{0}  }}\n", Status.PROVED),
    ],
)
def test_operands_are_judged_where_an_operation_runs(around: str, status: Status) -> None:
    assert check(SMALL + around.format(op("tadd", "%t, %i8", "%t"))).status is status


# ---------------------------------------------------------------- registers

SCOPE = """func.func @k() {{
  %c0 = arith.constant 0 : index
  %c0_i64 = arith.constant 0 : i64
  %f = arith.constant 1.0 : f32
  %ub = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  pto.vecscope {{
    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    %m16 = pto.pset_b16 "PAT_ALL" : !pto.mask<b16>
    %x = pto.vbr %f : f32 -> !pto.vreg<64xf32>
    %h = pto.vcvt %x, %m {{part = "EVEN"}} : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<128xf16>
    %l = pto.vcvt %x, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<32xi64>
    {0}
    pto.vsts %x, %ub[%c0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
  }}
  pto.barrier #pto.pipe<PIPE_ALL>
  %gm = arith.constant 0 : i64
  return
}}
"""
X, H, M, M16 = "!pto.vreg<64xf32>", "!pto.vreg<128xf16>", "!pto.mask<b32>", "!pto.mask<b16>"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"%y = pto.vadd %x, %x, %m : {X}, {X}, {M} -> {X}", ""),
        (f"%y = pto.vadd %x, %h, %m : {X}, {H}, {M} -> {X}", "pto/operand-types"),
        (f"%y = pto.vadd %x, %x, %m : {X}, {X}, {M} -> !pto.vreg<64xi32>", "pto/operand-types"),
        (f"%y = pto.vadd %x, %x, %m16 : {X}, {X}, {M16} -> {X}", "pto/mask-width"),
        (f"%y = pto.vadd %h, %h, %m16 : {H}, {H}, {M16} -> {H}", ""),
        (f"%y = pto.vadd %x, %x, %x, %m : {X}, {X}, {X}, {M} -> {X}", "pto/operand-count"),
        (f"%y = pto.vadd %x, %m : {X}, {M} -> {X}", "pto/operand-count"),
        (f"%y = pto.vadds %x, %f, %m : {X}, f32, {M} -> {X}", ""),
        (f'%y = pto.vcmp %x, %x, %m, "lt" : {X}, {X}, {M} -> {M}', ""),
        (f'%y = pto.vcmp %x, %x, %m, "lt" : {X}, {X}, {M} -> {M16}', "pto/mask-width"),
        (f"%y = pto.vsel %x, %x, %m16 : {X}, {X}, {M16} -> {X}", "pto/mask-width"),
        (f'%y = pto.vcvt %h, %m16 {{part = "EVEN"}} : {H}, {M16} -> {X}', ""),
        (f'%y = pto.vcvt %h, %m {{part = "EVEN"}} : {H}, {M} -> {X}', "pto/mask-width"),
        (f"%y = pto.vcvt %l, %m : !pto.vreg<32xi64>, {M} -> {X}", ""),  # no mask is wider
        (f"%y = pto.vcvt %l, %m16 : !pto.vreg<32xi64>, {M16} -> {X}", "pto/mask-width"),
        (f"%y = pto.vbrandnew %x, %h, %m16 : {X}, {H}, {M16} -> {X}", ""),  # what it takes nobody says
    ],
)
def test_registers_and_masks_fit_the_operation(text: str, found: str) -> None:
    copy = "  pto.mte_ub_gm %ub, %out, %n nburst(%one, %n, %n) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>"
    copy += ", i64, i64, i64, i64\n"
    body = SCOPE.format(text).replace("@k()", "@k(%out: !pto.ptr<f32, gm>)").replace("  return", f"{copy}  return")
    body = body.replace("  %gm = arith.constant 0", "  %one = arith.constant 1 : i64\n  %n = arith.constant 256")
    (verdict,) = check_text(Source("k.pto", body))
    assert [one for one in errors(verdict) if one.startswith("pto/op") or one == "pto/mask-width"] == [found] * bool(
        found
    )
    assert (verdict.status is Status.PROVED) is not bool(found), verdict


# ---------------------------------------------------------------- products


def product(left: str, right: str, made: str, added: str = "") -> set[str]:
    """Rules that refuse a product of these types, and `open` where no document lists one."""
    ins = [TypedOperand(TILE, name, kind) for name, kind in (("%l", left), ("%r", right))]
    ins = [TypedOperand(TILE, "%q", added), *ins] if added else ins
    use = TypedUse("pto.tmatmul.acc" if added else "pto.tmatmul", tuple(ins), (TypedOperand(TILE, "%o", made),))
    rules = load_target("pto").rules
    found = set()
    for seen in seen_of(use, shipped()):
        found |= {"open"} if seen.unlisted else set()
        asked = [
            one for one in ("pto/operand-types", "pto/operand-count") if set(rules[one].ports) == seen.ports.keys()
        ]
        found |= {one for one in asked if not rules[one].holds(seen.ports)}
    return found


@pytest.mark.parametrize(
    ("types", "found"),
    [
        (("f16", "f16", "f32"), set()),
        (("i8", "i8", "i32"), set()),
        (("i8", "i8", "f32"), {"pto/operand-types"}),
        (("f16", "f16", "i32"), {"pto/operand-types"}),
        (("f16", "bf16", "f32"), {"pto/operand-types"}),
        (("f8E4M3FN", "f8E5M2", "f32"), set()),
        (("f16", "f16", "f32", "i32"), {"pto/operand-types"}),
        (("f16", "f16", "f32", "f32"), set()),
        (("i16", "i16", "i32"), {"open"}),
        (("f16", "f16", ""), set()),
    ],
)
def test_a_product_has_the_type_of_its_factors(types: tuple[str, ...], found: set[str]) -> None:
    assert product(*types) == found


@pytest.mark.parametrize(("memories", "found"), [("left+mat", {2}), ("vec", {2}), ("acc+vec", set())])
def test_moves_from_the_result_of_a_product_may_convert(memories: str, found: set[int]) -> None:
    use = TypedUse("pto.tmov", (TypedOperand(TILE, "%a", "f32"),), (TypedOperand(TILE, "%b", "f16"),), memories)
    assert {seen.ports["types"] for seen in seen_of(use, shipped()) if "types" in seen.ports} == found


def test_every_signature_is_of_an_operation_that_is_known_and_takes_what_it_says_in_one_order() -> None:
    for name, one in ((name, form) for name, forms in signatures(shipped()).items() for form in forms):
        assert f"pto.{name}" in tile_work(shipped()) or name in vector_unit(shipped()).lanes or name[0] == "v", name
        for words in (one.takes, one.makes):
            for kind in (TILE, SCALAR, MASK):
                letters = [w for w in words if {"s": SCALAR, "m": MASK}.get(w[0], TILE) == kind]
                assert [w.endswith("?") for w in letters] == sorted(w.endswith("?") for w in letters), name
