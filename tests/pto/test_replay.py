"""Verdicts on kernels beside a run of their text: a contradiction is an internal error, never a verdict."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from lab.kernels import kernel_of, mutant_of

from dmaverify.errors import Source
from dmaverify.machines.pto import replay
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.running import KernelRun
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
BESIDE = Options(cross_check=1 << 16)
TEXT = """func.func @k(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : i64
  %c8 = arith.constant 8 : i64
  %c128 = arith.constant 128 : i64
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %a, %u, %c0, %c128 nburst(%c8, %c128, %c128) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %u, %b, %c128 nburst(%c8, %c128, %c128) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64
  return
}
"""
RACE = "".join(line for line in TEXT.splitlines(keepends=True) if "_flag" not in line)


def check(text: str) -> Verdict:
    (verdict,) = check_text(Source("k.mlir", text), options=BESIDE)
    return verdict


def test_a_finding_that_no_run_shows_and_trouble_that_no_proof_knows_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert check(TEXT).status is Status.PROVED
    assert check(RACE).status is Status.REFUTED
    monkeypatch.setattr(replay, "run_kernel", lambda *_, **__: KernelRun())
    (told,) = check(RACE).findings
    assert told.rule == "core/disagreement"
    assert "core/hazard-raw is found, and a run of the text shows nothing of it" in told.message
    monkeypatch.setattr(replay, "run_kernel", lambda *_, **__: KernelRun({"war": ""}))
    (told,) = check(TEXT).findings
    assert "it is proved, and a run of the text finds war" in told.message


def test_a_kernel_with_symbols_has_no_single_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "run_kernel", lambda *_, **__: KernelRun({"war": ""}))
    symbolic = TEXT.replace("ptr<f32, gm>) {", "ptr<f32, gm>, %n: i64) {").replace("nburst(%c8", "nburst(%n")
    assert check(symbolic).status is Status.PROVED


@pytest.mark.parametrize("name", ["n", "true", "or", "as", "distinct"])
def test_an_argument_may_be_called_by_a_word_of_the_solver(name: str) -> None:
    text = TEXT.replace("ptr<f32, gm>) {", f"ptr<f32, gm>, %{name}: i64) {{").replace("nburst(%c8", f"nburst(%{name}")
    assert check(text).status is Status.PROVED
    assert check(f"// dmaverify: assume %{name} in 1..5000\n{text}").status is Status.REFUTED  # more than UB holds


def test_a_finding_with_values_of_symbols_is_held_against_a_run_at_them(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = """  scf.for %i = %i0 to %n step %i1 {
    %late = arith.cmpi sge, %i, %i2 : index
    scf.if %late {
      pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID1"]
    }
  }
  return
"""
    numbers = "".join(f"  %i{n} = arith.constant {n} : index\n" for n in range(3))
    text = "// dmaverify: assume %n in 1..9\n" + TEXT.replace(
        "ptr<f32, gm>) {\n", f"ptr<f32, gm>, %n: index) {{\n{numbers}"
    )
    text = text.replace("  return\n", turns)
    ran: list[dict[str, int]] = []
    monkeypatch.setattr(replay, "run_kernel", lambda *a, **k: ran.append(a[2]) or run_kernel(*a, **k))
    found = check(text).errors
    assert {f.rule for f in found} == {"core/flags"}
    assert [{f"%{name}": value for name, value in one.items()} for one in ran] == [f.witness for f in found]
    monkeypatch.setattr(replay, "run_kernel", lambda *_, **__: KernelRun())
    (told,) = check(text).findings
    assert f"shows nothing of it, where %n = {found[0].values['%n']}" in told.message


def test_a_kernel_with_branches_is_run_beside_its_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    true = "  %true = arith.constant true\n  %c0 = "
    branch = RACE.replace("  %c0 = ", true).replace("  pto.mte_ub_gm", "  scf.if %true {\n  pto.mte_ub_gm")
    branch = branch.replace("  return", "  }\n  return")
    looped = f"""{branch[: branch.index("  scf.if")]}  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  scf.for %i = %i0 to %i2 step %i1 {{
    %late = arith.cmpi sge, %i, %i1 : index
{branch[branch.index("  scf.if") :].replace("%true", "%late").replace("  return", "  }" + chr(10) + "  return")}"""
    assert {f.rule for f in check(looped).errors} == {"core/hazard-raw"}
    monkeypatch.setattr(replay, "run_kernel", lambda *_, **__: KernelRun())
    (told,) = check(looped).findings
    assert told.rule == "core/disagreement"


def test_random_kernels_and_mutants_are_never_contradicted() -> None:
    rng = random.Random(5)
    for number in range(12):
        kernel = kernel_of(rng)
        verdict = check((mutant_of(rng, kernel) if number % 2 else kernel).text())
        assert not [f for f in verdict.findings if f.rule == "core/disagreement"]


def test_a_contradiction_ends_in_the_exit_code_of_internal_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dmaverify.cli.app import invoke

    (tmp_path / "k.mlir").write_text(RACE, encoding="utf-8")
    monkeypatch.setattr(replay, "run_kernel", lambda *_, **__: KernelRun())
    monkeypatch.chdir(tmp_path)
    assert invoke(["check", "-j", "1", "--no-cache", str(tmp_path / "k.mlir")]) == 4


REGISTERS = f"""func.func @k(%a: {GM}, %b: {GM}) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %l = arith.constant 64 : i64
  %off = arith.constant false
  %u = pto.castptr %z : i64 -> {UB}
  FIRST
  pto.copy_gm_to_ubuf %a, %u, %z, %one, %l, %z, %z, %off, %z, %l, %l
      : {GM}, {UB}, i64, i64, i64, i64, i64, i1, i64, i64, i64
  pto.set_loop_size_outtoub %one, %one : i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  pto.mte_ub_gm %u, %b, %l nburst(ROWS, %l, %l) : {UB}, {GM}, i64, i64, i64, i64
  return
}}
"""
SIZE = "pto.set_loop_size_outtoub %two, %one : i64, i64"
STRIDE = "pto.set_loop1_stride_outtoub %l, %l : i64, i64"
INLINE = f"pto.mte_gm_ub %a, %u, %z, %l nburst(%one, %l, %l) : {GM}, {UB}, i64, i64, i64, i64, i64"
BARRIER = "pto.barrier #pto.pipe<PIPE_ALL>"


@pytest.mark.parametrize(
    ("first", "rows", "rules"),
    [
        ([SIZE], "%one", {"core/registers"}),  # whatever the stride is, the copy writes its first row
        ([SIZE], "%two", {"core/registers"}),
        ([SIZE, STRIDE], "%two", set()),
        ([STRIDE], "%two", {"core/definite"}),
        ([STRIDE, SIZE, INLINE, BARRIER], "%one", {"core/registers"}),
        ([STRIDE, SIZE, INLINE, BARRIER], "%two", {"core/registers", "core/definite"}),  # the sizes are (1, 1) again
    ],
)
def test_a_copy_whose_registers_are_not_known_may_have_written(first: list[str], rows: str, rules: set[str]) -> None:
    found = check(REGISTERS.replace("FIRST", "\n  ".join(first)).replace("ROWS", rows))
    assert {f.rule for f in found.errors} == rules
    assert found.status is (Status.REFUTED if rules else Status.PROVED)


LOCAL = f"pto.copy_ubuf_to_ubuf %u, %v, %c0, %c1, LENGTH, %c0, %c0 : {UB}, {UB}, i64, i64, i64, i64, i64"
UNITS = f"""// dmaverify: gm %a = 80 bytes
// dmaverify: gm %b = 48 bytes
func.func @k(%a: {GM}, %b: {GM}) {{
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c3 = arith.constant 3 : i64
  %c48 = arith.constant 48 : i64
  %c80 = arith.constant 80 : i64
  %far = arith.constant 4096 : i64
  %u = pto.castptr %c0 : i64 -> {UB}
  %v = pto.castptr %far : i64 -> {UB}
  pto.mte_gm_ub %a, %u, %c0, %c80 nburst(%c1, %c80, %c80) : {GM}, {UB}, i64, i64, i64, i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  {LOCAL}
  pto.barrier #pto.pipe<PIPE_ALL>
  pto.mte_ub_gm %v, %b, %c48 nburst(%c1, %c48, %c48) : {UB}, {GM}, i64, i64, i64, i64
  return
}}
"""


@pytest.mark.parametrize(
    ("reading", "length", "rules"),
    [
        ("local-unit=blocks", "%c3", set()),  # 96 bytes, of which 80 are loaded and 48 stored
        ("local-unit=bytes", "%c48", set()),
        ("local-unit=bytes", "%c3", {"core/definite"}),  # 48 bytes are stored, 3 were copied
        ("over-read=none", "%c1", {"core/definite"}),
        ("over-read=block", "%c1", {"core/definite", "core/in-bounds"}),  # 96 bytes of a tensor of 80
    ],
)
def test_a_run_knows_the_readings_that_the_proof_knows(reading: str, length: str, rules: set[str]) -> None:
    name, _, option = reading.partition("=")
    options = Options(cross_check=1 << 16, readings={name: option})
    (found,) = check_text(Source("k.mlir", UNITS.replace("LENGTH", length)), options=options)
    assert {f.rule for f in found.errors} == rules


FAR = TEXT.replace("castptr %c0", "castptr %far").replace("  %c8 =", "  %far = arith.constant 4096 : i64\n  %c8 =")
TILE = "!pto.tile_buf<loc=mat, dtype=f32, rows=16, cols=16, blayout=col_major, slayout=row_major>"
MATRIX = f"""func.func @k(%NAME: !pto.ptr<f32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %far = arith.constant 65536 : i64
  %v = pto.make_tensor_view %NAME, shape = [%c16, %c16], strides = [%c16, %c1] : !pto.tensor_view<16x16xf32>
  %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c16] : !pto.tensor_view<16x16xf32>
  %t = pto.alloc_tile addr = %far : {TILE}
  pto.tload ins(%p : !pto.partition_tensor_view<16x16xf32>) outs(%t : {TILE})
  return
}}
"""


@pytest.mark.parametrize("name", ["a", "ub", "mat"])
@pytest.mark.parametrize(("left_out", "rules"), [("nothing", set()), ("_flag", {"core/hazard-raw"})])
def test_a_tensor_is_no_memory_of_the_machine_whatever_it_is_called(name: str, left_out: str, rules: set[str]) -> None:
    text = "".join(line for line in FAR.splitlines(keepends=True) if left_out not in line)
    notes = f"// dmaverify: gm %{name} = 1024 bytes\n// dmaverify: gm %b = 1024 bytes\n"
    assert {f.rule for f in check(notes + text.replace("%a", f"%{name}")).errors} == rules
    _, (function,) = read_kernels(Source("k.mlir", MATRIX.replace("NAME", name)))
    assert run_kernel(function, {name: 1024}).found == set()
