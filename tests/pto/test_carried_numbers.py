"""Numbers that loops carry and no form says: any value, from the first on where they only grow."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

TILE = "!pto.tile_buf<loc=vec, dtype=f32, rows=1, cols=32, v_row=1, v_col=32>"
TEXT = """// dmaverify: gm %a = 1024 bytes
// dmaverify: gm %b = 128 bytes
func.func @k(%a: !pto.ptr<i32>, %b: !pto.ptr<f32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %first = arith.constant {first} : index
  %most = arith.constant {rounds} : index
  %none = arith.constant 0 : i32
  %f = arith.constant 0.0 : f32
  %v = pto.make_tensor_view %b, shape = [%c1, %c32], strides = [%c32, %c1] : !pto.tensor_view<1x32xf32>
  %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c1, %c32]
    : !pto.tensor_view<1x32xf32> -> !pto.partition_tensor_view<1x32xf32>
  %t = pto.alloc_tile : {tile}
  %u = pto.alloc_tile : {tile}
  pto.texpands ins(%f : f32) outs(%t : {tile})
  %r = scf.for %i = %c0 to %most step %c1 iter_args(%x = %first) -> (index) {{
    {inside}
    {step}
    scf.yield %y : index
  }}
  {behind}
  pto.tstore ins(%t : {tile}) outs(%p : !pto.partition_tensor_view<1x32xf32>)
  return
}}
"""
SET = f"pto.tsetval ins(%x, %f : index, f32) outs(%t : {TILE})"
BY_MEMORY = """%w = pto.load_scalar %a[%i] : !pto.ptr<i32> -> i32
    %q = arith.cmpi sgt, %w, %none : i32
    %more = arith.addi %x, %c1 : index
    %y = arith.select %q, %more, %x : index"""
BY_COUNTER = BY_MEMORY.replace("arith.cmpi sgt, %w, %none : i32", "arith.cmpi ugt, %i, %c1 : index")
IN_TWOS = BY_COUNTER.replace("addi %x, %c1", "addi %x, %c2")
FILLED = f"scf.for %j = %c0 to %x step %c1 {{\n pto.texpands ins(%f : f32) outs(%u : {TILE})\n }}\n"
FILLED += f"pto.tabs ins(%u : {TILE}) outs(%t : {TILE})"


def text(rounds: int, inside: str, step: str, behind: str = "", first: int = 0) -> Source:
    whole = TEXT.format(rounds=rounds, inside=inside, step=step, behind=behind, first=first, tile=TILE)
    return Source("k.pto", whole)


def check(*parts: object, **more: object) -> Verdict:
    (found,) = check_text(text(*parts, **more))  # type: ignore[arg-type]
    return found


def bounds(found: Verdict) -> list[str]:
    return [said for said in found.conditions if "in-bounds" in said]


@pytest.mark.parametrize("behind", ["", SET.replace("%x", "%r")])
@pytest.mark.parametrize(("rounds", "first"), [(31, 0), (21, 10)])
def test_a_count_of_what_memory_holds_is_between_its_first_value_and_one_more_for_each_round(
    rounds: int, first: int, behind: str
) -> None:
    found = check(rounds, SET, BY_MEMORY, behind, first)
    assert (found.status, bounds(found)) == (Status.PROVED, [])
    found = check(rounds + 1, SET, BY_MEMORY, behind, first)
    assert found.status is Status.PROVED
    assert {one.split(" (")[0] for one in bounds(found)} == {"%x <= 31"}


def test_a_count_that_falls_is_no_more_than_its_first_value() -> None:
    falls = BY_MEMORY.replace("addi %x, %c1", "subi %x, %c1")
    assert bounds(check(8, SET, falls, first=8)) == []
    assert bounds(check(8, SET, falls, first=31)) == []
    assert len(bounds(check(9, SET, falls, first=8))) == 1
    assert check(8, SET, falls, first=32).status is Status.UNKNOWN  # in the first round


@pytest.mark.parametrize("rounds", [8, 33, 34, 66, 100])
def test_of_a_count_that_the_text_decides_nothing_is_supposed(rounds: int) -> None:
    found = check(rounds, SET, BY_COUNTER)
    assert found.status is (Status.PROVED if rounds < 32 else Status.UNKNOWN)
    _, (function,) = read_kernels(text(rounds, SET, BY_COUNTER))
    assert ("bounds" in run_kernel(function, {"a": 1024, "b": 128}).found) == (rounds > 34)


@pytest.mark.parametrize("step", [BY_MEMORY, BY_COUNTER])
def test_nothing_is_supposed_that_does_not_hold_of_the_value_a_loop_begins_with(step: str) -> None:
    """In the first round no iteration of the inner loop fills what is read behind it."""
    assert check(8, FILLED, step).status is Status.UNKNOWN
    assert check(8, FILLED, step, first=1).status is Status.PROVED
    found = check(8, SET.replace("%x", "%m").join(("%m = arith.subi %x, %c1 : index\n", "")), step)
    assert found.status is Status.UNKNOWN


def test_what_hangs_on_a_value_that_is_perhaps_not_reached_is_not_refuted() -> None:
    odd = f"%is = arith.cmpi eq, %x, %c3 : index\n scf.if %is {{\n {SET.replace('%x', '%c32')}\n }}"
    assert check(8, odd, IN_TWOS).status is Status.UNKNOWN
    assert check(8, odd, BY_MEMORY).status is Status.REFUTED


COPIED = """// dmaverify: gm %a = 4096 bytes
// dmaverify: assume %n in 0..100000
func.func @k(%a: !pto.ptr<f32, gm>, %n: index) {{
  %z = arith.constant 0 : i64
  %l = arith.constant 256 : i64
  %rows = arith.constant 8 : i64
  %c3 = arith.constant 3 : index
  %ub = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  {branches}
  pto.mte_gm_ub %a, %ub, %z, %l nburst(%rows, %l, %l) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  return
}}
"""


@pytest.mark.parametrize("nested", [False, True])
def test_branches_that_give_numbers_alone_are_no_paths(nested: bool) -> None:
    """Each of them would double the paths through what is behind."""
    lines = []
    for number in range(200):
        what = f"%m{number} = arith.muli %c3, %c3 : index"
        what = f"scf.if %s{number} {{\n {what}\n }}" if nested else what
        lines.append(f"%a{number} = arith.constant {number} : index")
        lines.append(f"%s{number} = arith.cmpi eq, %n, %a{number} : index")
        lines.append(f"%w{number} = scf.if %s{number} -> (index) {{\n {what}\n scf.yield %c3 : index\n }}")
        lines.append(" else {\n scf.yield %n : index\n }")
    (found,) = check_text(Source("k.pto", COPIED.format(branches="\n".join(lines))))
    assert found.status is Status.PROVED, found


def test_a_number_that_a_loop_carries_may_be_given_a_range() -> None:
    source = text(100, SET, BY_COUNTER)
    (found,) = check_text(source)
    (why,) = [one.why for one in found.obligations if one.id == "core/in-bounds"]
    assert "`// dmaverify: assume %x in 0..63`" in why
    for most, status in ((31, Status.PROVED), (32, Status.UNKNOWN)):
        (found,) = check_text(Source("k.pto", f"// dmaverify: assume %x in 0..{most}\n{source.text}"))
        assert found.status is status, found
