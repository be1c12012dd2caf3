"""PTO text: what is read, what is refused, and that nothing that concerns DMA disappears."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lab.draws import rest

from dmaverify.api import check as check_plan
from dmaverify.errors import InputError, Source
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.mlir import read_mlir, walk
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

HEAD = """func.func @k(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>, %n: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %c128 = arith.constant 128 : i64
  %off = arith.constant false
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
"""
LOAD = """  pto.mte_gm_ub %a, %u, %c0, %c128 nburst(%c8, %c128, %c128)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
"""


def statements(body: str) -> list[ops.Stmt]:
    _, (function,) = read_kernels(Source("k.mlir", f"{HEAD}{body}  return\n}}\n"))
    return [s for s in function.body if not isinstance(s, (ops.Const, ops.CastPtr))]


def verdict(body: str) -> Verdict:
    (found,) = check_text(Source("k.mlir", f"{HEAD}{body}  return\n}}\n"))
    return found


def test_both_surfaces_are_read_over_several_lines_with_comments_between_operands() -> None:
    (load,) = statements(LOAD)
    assert isinstance(load, ops.CopyOp)
    assert (load.kind, load.inline, len(load.levels)) == ("load", True, 1)
    (copy,) = statements(
        "  pto.copy_gm_to_ubuf %a, %u,   // from, to\n      %c0, %c8, %c128, // stream, rows, bytes\n"
        "      %c0, %c0, %off, %c0, %c128, %c128 {has_pad}\n      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64,\n"
        "        i64, i64, i64, i1, i64, i64, i64\n"
    )
    assert isinstance(copy, ops.CopyOp)
    assert not copy.inline
    assert copy.roles["dst_stride"].name == "%c128"


def test_the_generic_form_of_a_copy_is_read() -> None:
    (copy,) = statements('  "pto.copy_ubuf_to_gm"(%u, %a, %c0, %c8, %c128, %c0, %c128, %c128) : (i64) -> ()\n')
    assert isinstance(copy, ops.CopyOp)
    assert copy.kind == "store"


@pytest.mark.parametrize(
    "flag",
    [
        'pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID3"]',
        "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID3>]",
    ],
)
def test_flags_are_read_in_either_spelling(flag: str) -> None:
    (found,) = statements(f"  {flag}\n")
    assert isinstance(found, ops.Flag)
    assert (found.action, found.source, found.dest, found.event.value) == ("set", "MTE2", "V", 3)


@pytest.mark.parametrize(
    ("text", "pipe"),
    [
        ("pto.barrier #pto.pipe<PIPE_ALL>", "ALL"),
        ("pto.barrier <PIPE_V>", "V"),
        ('pto.pipe_barrier "PIPE_MTE3"', "MTE3"),
        ("pto.barrier_sync[#pto.sync_op_type<TVEC>]", "V"),
        ("pto.barrier_sync[<TMATMUL>]", "M"),
    ],
)
def test_barriers_are_read_in_every_spelling(text: str, pipe: str) -> None:
    (found,) = statements(f"  {text}\n")
    assert isinstance(found, ops.Barrier)
    assert found.pipe == pipe


def test_loop_groups_are_aliases_and_pad_takes_one_or_three_values() -> None:
    (load,) = statements(
        "  pto.mte_gm_ub %a, %u, %c0, %c128 nburst(%c8, %c128, %c128) loop1(%c1, %c0, %c0) loop(%c1, %c0, %c0)\n"
        "    pad(%c0, %c0, %c1) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, pad i64, i64, i64\n"
    )
    assert isinstance(load, ops.CopyOp)
    assert len(load.levels) == 3
    assert load.pad is not None
    assert load.pad.right is not None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("  pto.mte_gm_ub %a, %u, %c0 nburst(%c8, %c128, %c128)\n", "takes 4 operands before its groups, not 3"),
        ("  pto.mte_gm_ub %a, %u, %c0, %c128\n", "without nburst"),
        ("  pto.mte_gm_ub %u, %a, %c0, %c128 nburst(%c8, %c128, %c128)\n", "points into ub, not gm"),
        ("  pto.copy_ubuf_to_gm %u, %a, %c0, %c8, %c128, %c0, %c128\n", "takes 8 operands, not 7"),
        ("  arith.constant 5 : i64\n", "gives one value, not 0"),
        ("  %x = arith.constant 1e999 : i64\n", "is no integer"),
        ("  pto.dma_gather %a, %u, %c128\n", "pto.dma_gather is not understood"),
        ("  pto.set_loop3_stride_outtoub %c0, %c0 : i64, i64\n", "no loop register"),
        ('  pto.set_flag["PIPE_MTE2", "EVENT_ID0"]\n', "needs two pipes and an event"),
        ("  pto.mte_gm_ub %a, %u, %c0, %c128 nburst(%c8, %c128, %c128) [%c8]\n", "`[` stands behind all operands"),
        ("  pto.copy_ubuf_to_gm %u, %a, %c0, %c8, %c128, %c0, %c128, %c128 (%c8)\n", "`(` stands behind all operands"),
        ("  pto.set_loop_size_outtoub %c8, %c8 [%c128] : i64, i64\n", "`[` stands behind all operands"),
        ("  pto.set_mov_pad_val %c0 [%c8] : i64\n", "`[` stands behind all operands"),
        ("  pto.wait_event[#pto.sync_op_type<TLOAD>, #pto.event<EVENT_ID0>]\n", "names two kinds of operations"),
    ],
)
def test_what_cannot_be_read_is_a_finding_at_its_line_and_never_a_pass(body: str, said: str) -> None:
    found = verdict(LOAD + body)
    (finding,) = [f for f in found.findings if f.rule == "core/unresolved-copy"]
    assert said in finding.message
    assert finding.span is not None
    assert finding.span.line == 10
    assert found.status is Status.UNKNOWN


def test_a_value_that_nothing_gives_makes_its_copy_unresolved() -> None:
    found = verdict("  %x = pto.mystery : i64\n" + LOAD.replace("%c128 nburst", "%x nburst"))
    assert found.status is Status.UNKNOWN
    assert "cannot be resolved" in found.findings[0].message


def test_operations_that_do_not_concern_dma_pass_and_are_counted() -> None:
    _, (function,) = read_kernels(Source("k.mlir", f"{HEAD}  %v = pto.vadd %n, %n : i64\n{LOAD}  return\n}}\n"))
    assert ("pto.vadd", 1) in function.passed


@pytest.mark.parametrize(
    ("name", "status"),
    [("reserve_buffer", Status.PROVED), ("acquire_buf", Status.UNKNOWN), ("sync.all", Status.UNKNOWN)],
)
def test_an_operation_of_pto_that_sounds_like_an_order_is_open(name: str, status: Status) -> None:
    assert verdict(f"  pto.{name} {{size = 8 : i32}}\n{LOAD}").status is status


def test_dma_in_a_region_that_is_not_understood_is_reported() -> None:
    found = verdict(f"  pto.strange {{\n{LOAD}  }}\n{LOAD}")
    assert found.status is Status.UNKNOWN
    assert "its region holds DMA operations" in found.findings[0].message


def test_dead_code_raises_nothing() -> None:
    bad = LOAD.replace("nburst(%c8", "nburst(%c0")
    assert verdict(f"  scf.if %off {{\n{bad}  }}\n{LOAD}").status is Status.PROVED
    assert verdict(bad).status is Status.REFUTED


PAIRS = sorted((Path(__file__).resolve().parent / "pairs").glob("*.mlir"))


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: path.name.removesuffix(".mlir"))
@pytest.mark.parametrize("change", ["left out", "without its dot", "misspelled"])
@pytest.mark.parametrize("of", ["one of each", *rest(["all"])])
def test_an_operation_whose_name_is_broken_never_disappears(path: Path, change: str, of: str) -> None:
    text = path.read_text()
    tried: set[tuple[str, int]] = set()
    for found in re.finditer(r"pto\.((?:copy|mte|set|wait|barrier|pipe_barrier)\w*)", text):
        one = found[1], found.start() if of == "all" else 0
        if one in tried:
            continue
        tried.add(one)
        new = {"left out": "", "without its dot": f"pto{found[1]}", "misspelled": f"pto.{found[1]}x"}[change]
        broken = text[: found.start()] + new + text[found.end() :]
        if "barrier" in found[1] and "pto." not in text[found.end() :].replace("pto.pipe", ""):
            continue  # behind everything: whether it is there makes no difference
        if change == "misspelled" and found[1] == "set_mov_pad_val":
            continue  # an operation of another name, which passes; that the value was never set is said
        said: list[object] = []
        try:
            said = [v.status for v in check_text(Source("k.mlir", broken))]
        except InputError as error:
            said = [error.span]
        assert said not in ([Status.PROVED], [None]), broken[found.start() - 80 : found.start() + 80]
    assert len(tried) >= (4 if of == "all" else 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("func.func @k() {\n", "never closed"),
        ("}\n", "closes nothing"),
        ("func.func @k(%a: !pto.ptr<f32, gm> {\n", "closes|never closed"),
        ("`\n", "begins nothing"),
        ("func.func @k() {\n  return\n}\n", "no DMA operation"),
    ],
)
def test_text_that_is_no_kernel_is_one_error_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_text(Source("k.mlir", text))


def test_every_token_belongs_to_one_operation() -> None:
    text = read_mlir(Source("k.mlir", f"module {{\n{HEAD}{LOAD}  return\n}}\n}}\n"))
    names = [op.name for op in walk(text.ops)]
    assert names[:2] == ["module", "func.func"]
    assert names[-2:] == ["pto.mte_gm_ub", "return"]


def test_a_fragment_has_the_constants_that_its_names_say() -> None:
    text = (
        "pto.set_loop_size_outtoub %c1_i64, %c1_i64 : i64, i64\n"
        "pto.copy_gm_to_ubuf %arg0, %ub_in, %c0_i64, %c32_i64, %c128_i64, %c0_i64, %c0_i64, %false, %c0_i64,\n"
        "  %c128_i64, %c128_i64 : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64\n"
    )
    (found,) = check_text(Source("snippet.pto", text))
    assert found.status is Status.PROVED
    assert any("value in their name" in a for a in found.assumptions)
    assert any("4,096 bytes" in a for a in found.assumptions)


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("// dmaverify: gm %a = 12", "is no extent"),
        ("// dmaverify: assume %n in 5..1", "empty"),
        ("// dmaverify: allow(pto/tail-block)", "without a reason"),
        ("// dmaverify: expect nonsense", "expect takes"),
    ],
)
def test_a_note_that_is_not_understood_is_refused(note: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_text(Source("k.mlir", f"{note}\n{HEAD}{LOAD}  return\n}}\n"))


@pytest.mark.parametrize(
    ("note", "idle"),
    [
        ("assume %n in 0..4", False),
        ("assume %m in 0..4", True),
        ("assume %off in 0..1", True),  # computed here
        ("gm %a = 1024 bytes", False),
        ("gm %u = 1024 bytes", True),
    ],
)
def test_a_note_on_a_value_that_the_kernel_is_not_given_is_told(note: str, idle: bool) -> None:
    (found,) = check_text(Source("k.mlir", f"// dmaverify: {note}\n{HEAD}{LOAD}  return\n}}\n"))
    assert [f.rule for f in found.findings] == (["core/note"] if idle else [])
    assert all("says nothing" in f.message for f in found.findings)


@pytest.mark.parametrize("line", ['gm = { z = "64xf32" }', 'assume = { z = "1..4" }'])
def test_what_a_plan_says_of_a_value_that_its_kernel_is_not_given_is_told(line: str, tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text(f"{HEAD}{LOAD}  return\n}}\n", encoding="utf-8")
    (tmp_path / "k.toml").write_text(
        f'schema = 1\ntarget = "pto"\n\n[axes]\n\n[kernel.k]\nfile = "k.mlir"\n{line}\n', encoding="utf-8"
    )
    (found,) = check_plan(tmp_path / "k.toml")
    assert [f.rule for f in found.findings] == ["core/note"]


def test_a_suppression_needs_something_to_suppress() -> None:
    odd = LOAD.replace("%c128 nburst", "%c8 nburst")
    allowed = f"// dmaverify: allow(pto/tail-block) nobody reads it\n{HEAD}{odd}  return\n}}\n"
    (found,) = check_text(Source("k.mlir", allowed))
    assert not found.findings
    assert any("nobody reads it" in a for a in found.assumptions)
    (found,) = check_text(Source("k.mlir", f"// dmaverify: allow(pto/ub-align) why not\n{HEAD}{LOAD}  return\n}}\n"))
    assert [f.rule for f in found.findings] == ["core/unused-suppression"]
