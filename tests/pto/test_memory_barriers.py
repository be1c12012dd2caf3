"""A vector load that reads what its scope has stored waits for that by a barrier of memory, or under a condition."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmaverify.errors import Source
from dmaverify.jobs.kernels import same_kernels
from dmaverify.machines.pto.check import check_text

HEAD = """\
func.func @k(%a: !pto.ptr<f32, gm>, %o: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %row = arith.constant 1024 : i64
  %far = arith.constant 4096 : i64
  %u = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %t = pto.castptr %far : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %a, %u, %z, %row nburst(%one, %row, %row)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
  pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
"""
TAIL = """\
  pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
  pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
  pto.mte_ub_gm %u, %o, %row nburst(%one, %row, %row)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}
"""
ALL = '%all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>'
BAR, OTHER = 'pto.mem_bar "VST_VLD"', 'pto.mem_bar "VLD_VST"'


def pass_(source: str, dest: str, *inside: str, ahead: int = 0) -> str:
    """A loop over four registers of 64 values from one buffer to the other; `ahead` registers on, what is stored."""
    lines = [
        "scf.for %i = %c0 to %c4 step %c1 {",
        "  %j = arith.muli %i, %c64 : index",
        f"  %n = arith.constant {64 * ahead} : index",
        "  %s = arith.addi %j, %n : index",
        f"  %v = pto.vlds %{source}[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>",
        f"  pto.vsts %v, %{dest}[%s], %all : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>",
        *inside,
        "}",
    ]
    return "\n".join(lines)


def scope(*parts: str) -> str:
    return "\n".join(["pto.vecscope {", ALL, *parts, "}"])


def conditions(*scopes: str) -> list[str]:
    (verdict,) = check_text(Source("k.mlir", HEAD + "\n".join(scopes) + "\n" + TAIL))
    assert verdict.status.value == "proved", verdict.errors
    return [one for one in verdict.conditions if "mem_bar" in one]


THERE, BACK = pass_("u", "t"), pass_("t", "u")


@pytest.mark.parametrize(
    ("scopes", "named"),
    [
        ([scope(THERE, BACK)], 1),
        ([scope(THERE, BAR, BACK)], 0),
        ([scope(THERE, 'pto.mem_bar "VV_ALL"', BACK)], 0),
        ([scope(THERE, OTHER, BACK)], 1),  # stores wait for loads, not loads for stores
        ([scope(THERE), scope(BACK)], 0),  # scopes follow each other
        ([scope(pass_("u", "u"))], 0),  # in place, register by register
        ([scope(pass_("u", "u", ahead=1))], 1),  # the next round loads what this one stored
        ([scope(pass_("u", "u", BAR, ahead=1))], 0),
        ([scope(THERE, f"scf.if %cond {{\n{BAR}\n}}", BACK)], 1),  # on one path alone
        ([scope("scf.for %k = %c0 to %c4 step %c1 {", THERE, BAR, BACK, BAR, "}")], 0),
        ([scope("scf.for %k = %c0 to %c4 step %c1 {", THERE, BAR, BACK, "}")], 1),  # around the loop
    ],
)
def test_a_load_behind_a_store_of_its_scope_needs_a_barrier(scopes: list[str], named: int) -> None:
    text = ["%q = pto.get_block_idx : i64", "%cond = arith.cmpi eq, %q, %z : i64", *scopes]
    assert len(conditions(*text)) == named


def test_the_condition_names_both_lines_and_equality_supposes_it(tmp_path: Path) -> None:
    (said,) = conditions(scope(THERE, BACK))
    text = HEAD + scope(THERE, BACK) + "\n" + TAIL
    lines = [n for n, line in enumerate(text.split("\n"), 1) if "vsts" in line or "vlds" in line]
    assert said.endswith(f"between: line {lines[2]} behind line {lines[1]}")
    files = []
    for name, bar in (("one", ""), ("two", BAR)):
        files.append(str(tmp_path / f"{name}.mlir"))
        Path(files[-1]).write_text(HEAD + scope(THERE, bar, BACK) + "\n" + TAIL)
    for file, named in zip(files, (True, False), strict=True):
        found, _ = same_kernels(file, file)
        assert found.status == "proved"
        assert any("mem_bar" in one for one in found.conditions) == named
    assert same_kernels(files[0], files[1])[0].status == "unknown"


CONST = "%f = arith.constant 1.0 : f32\n%k = pto.vdups %f, %all : f32, !pto.mask<b32> -> !pto.vreg<64xf32>"


def at(value: str, where: str, *, load: bool = False) -> str:
    if load:
        return f"{value} = pto.vlds {where}[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>"
    return f"pto.vsts {value}, {where}[%c0], %all : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>"


@pytest.mark.parametrize("between", ["", BAR, OTHER, 'pto.mem_bar "VST_VST"', 'pto.mem_bar "VV_ALL"'])
def test_a_store_of_its_own_over_what_the_scope_has_loaded_or_stored_needs_a_barrier(between: str) -> None:
    taken, kept = at("%v", "%u", load=True), at("%v", "%t")
    behind_load = conditions(scope(CONST, taken, between, at("%k", "%u"), kept))
    assert [one for one in behind_load if "VLD_VST" in one] == behind_load
    assert bool(behind_load) == ("VLD_VST" not in between and "VV_ALL" not in between)
    behind_store = conditions(scope(CONST, taken, at("%v", "%t"), between, at("%k", "%t")))
    assert [one for one in behind_store if "VST_VST" in one] == behind_store
    assert bool(behind_store) == ("VST_VST" not in between and "VV_ALL" not in between)


def test_a_store_that_is_made_of_a_load_waits_for_it_and_for_what_that_waited_for() -> None:
    taken = at("%v", "%u", load=True)
    assert conditions(scope(taken, at("%v", "%u"))) == []
    inside = [CONST, at("%k", "%u"), "scf.for %i = %c0 to %c4 step %c1 {", BAR, taken, at("%v", "%u"), "}"]
    assert conditions(scope(*inside)) == []
    assert len(conditions(scope(*[line for line in inside if line != BAR]))) == 2
