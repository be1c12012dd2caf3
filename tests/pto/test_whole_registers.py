"""Vector code that works on whole registers, behind the data too: what it stores is known as far as the data went."""

from __future__ import annotations

import pytest
from lab.draws import rest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.verdict import Status

GM, UB, REG, MASK = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>", "!pto.vreg<64xf32>", "!pto.mask<b32>"
MOST = 15000
HEAD = f"""// dmaverify: gm %a = 65536 bytes
// dmaverify: gm %o = 65536 bytes
// dmaverify: assume %n in {{least}}..{{most}}
func.func @k(%a: {GM}, %o: {GM}, %n: index, %s: f32) {{{{
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i4 = arith.constant 4 : index
  %i7 = arith.constant 7 : index
  %i8 = arith.constant 8 : index
  %i32 = arith.constant 32 : index
  %i64 = arith.constant 64 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %zero = arith.constant 0.0 : f32
  %x64 = arith.constant 64000 : i64
  %x128 = arith.constant 128000 : i64
  %x192 = arith.constant 192000 : i64
  %pa = pto.castptr %z : i64 -> {UB}
  %pb = pto.castptr %x64 : i64 -> {UB}
  %po = pto.castptr %x128 : i64 -> {UB}
  %pt = pto.castptr %x192 : i64 -> {UB}
  %less = arith.subi %n, %i1 : index
  %more = arith.addi %n, %i1 : index
  %high = arith.addi %n, %i7 : index
  %blocks = arith.divui %high, %i8 : index
  %rounded = arith.muli %blocks, %i8 : index
  %registers = arith.ceildivui %n, %i64 : index
  %full = arith.divui %n, %i64 : index
  %before = arith.muli %full, %i64 : index
  %left = arith.subi %n, %before : index
  %some = arith.cmpi sgt, %left, %i0 : index
  %later = arith.addi %before, %i8 : index
  %early = arith.subi %before, %i32 : index
  %all = pto.pset_b32 "PAT_ALL" : {MASK}
"""


def copied(count: str, name: str, *, store: str = "", pad: bool = False) -> str:
    """So many elements loaded into a buffer, or stored from one."""
    sizes = f"  %b{name} = arith.muli {count}, %i4 : index\n  %l{name} = arith.index_cast %b{name} : index to i64\n"
    tail, kind = (" pad(%zero, %z, %z)", ", pad f32, i64, i64") if pad else ("", "")
    if store:
        line = f"  pto.mte_ub_gm {store}, %o, %l{name} nburst(%one, %z, %z) : {UB}, {GM}, i64, i64, i64, i64\n"
    else:
        types = f"{GM}, {UB}, i64, i64, i64, i64, i64{kind}"
        line = f"  pto.mte_gm_ub %a, %{name}, %z, %l{name} nburst(%one, %z, %z){tail} : {types}\n"
    return f"{sizes}{line}  pto.barrier #pto.pipe<PIPE_ALL>\n"


def registers(rounds: str, sources: str, to: str, at: str = "") -> str:
    """The sum of whole registers of each buffer (a, b or o), stored whole; in a loop, or once `at` an element."""
    begin = f"  pto.vecscope {{\n  scf.for %i = %i0 to {rounds} step %i1 {{\n  %at = arith.muli %i, %i64 : index\n"
    lines = [] if at else [begin]
    lines += [f"  scf.if {rounds} {{\n  pto.vecscope {{\n"] if at else []
    here, names = at.split("=")[0] if at else "%at", []
    there = at.split("=")[-1] if at else "%at"
    for source in sources:
        lines.append(f"  %v{source} = pto.vlds %p{source}[{here}] : {UB} -> {REG}\n")
        names.append(f"%v{source}")
    added = f"{names[0]}, {names[-1]}, %all : {REG}, {REG}, {MASK} -> {REG}"
    lines += [f"  %w = pto.vadd {added}\n", f"  pto.vsts %w, %{to}[{there}], %all : {REG}, {UB}, {MASK}\n"]
    return "".join([*lines, "  }\n  }\n  pto.barrier #pto.pipe<PIPE_ALL>\n"])


LOADED = copied("%n", "pa")
CASES = [
    (LOADED, registers("%registers", "a", "po"), "%n", True),
    (LOADED, registers("%registers", "a", "po"), "%more", False),  # a lane behind the data
    (LOADED + copied("%n", "pb"), registers("%registers", "ab", "po"), "%n", True),
    (LOADED + copied("%less", "pb"), registers("%registers", "ab", "po"), "%n", False),  # the second ends earlier
    (LOADED + copied("%less", "pb"), registers("%registers", "ab", "po"), "%less", True),
    (copied("%n", "pa", pad=True), registers("%registers", "a", "po"), "%rounded", True),  # padded up to its block
    (LOADED, registers("%registers", "a", "po"), "%rounded", False),
    (LOADED, registers("%full", "a", "po") + registers("%some", "a", "po", "%before"), "%n", True),
    (LOADED, registers("%full", "a", "po"), "%n", False),  # the last register is left out
    (LOADED, registers("%full", "a", "po") + registers("%some", "a", "po", "%before=%later"), "%n", False),  # a gap
    (LOADED, registers("%full", "a", "po") + registers("%some", "a", "po", "%before=%early"), "%before", False),
    (LOADED, registers("%full", "a", "po") + registers("%some", "a", "po", "%before=%later"), "%before", True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("most", "case"),
    [
        *((MOST, one) for one in (0, 3, 5, 7, 9, 10)),
        *rest([*((MOST, one) for one in (1, 2, 4, 6, 8, 11)), *((200, one) for one in (0, 1, 3, 7))]),
    ],
)
def test_what_whole_registers_store_is_known_as_far_as_their_data(most: int, case: int) -> None:
    loads, work, stored, right = CASES[case]
    text = (
        HEAD.format(least=64 if "%later" in work or "%early" in work else 2, most=most)
        + loads
        + work
        + copied(stored, "end", store="%po")
        + "  return\n}\n"
    )
    (found,) = check_text(Source("k.mlir", text), None)
    assert (found.status is Status.PROVED) == right, [f.message for f in found.findings]


@pytest.mark.parametrize(("stored", "right"), [("%n", True), *rest([("%more", False)])])
def test_a_second_stage_of_whole_registers_knows_as_much_as_the_first(stored: str, right: bool) -> None:
    work = registers("%registers", "a", "po") + registers("%registers", "o", "pt").replace("%w", "%u")
    text = HEAD.format(least=2, most=MOST) + LOADED + work + copied(stored, "end", store="%pt") + "  return\n}\n"
    (found,) = check_text(Source("k.mlir", text), None)
    assert (found.status is Status.PROVED) == right, [f.message for f in found.findings]


ROWS = f"""// dmaverify: gm %a = 65536 bytes
// dmaverify: gm %o = 65536 bytes
// dmaverify: assume %n in {{columns}}
// dmaverify: assume %r in 2..3
func.func @k(%a: {GM}, %o: {GM}, %n: index, %r: index) {{{{
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %i4 = arith.constant 4 : index
  %i64 = arith.constant 64 : index
  %i192 = arith.constant 192 : index
  %z = arith.constant 0 : i64
  %pitch = arith.constant 768 : i64
  %x128 = arith.constant 128000 : i64
  %pa = pto.castptr %z : i64 -> {UB}
  %po = pto.castptr %x128 : i64 -> {UB}
  %less = arith.subi %r, %i1 : index
  %bytes = arith.muli %n, %i4 : index
  %l = arith.index_cast %bytes : index to i64
  %loaded = arith.index_cast {{loaded}} : index to i64
  %stored = arith.index_cast {{stored}} : index to i64
  %m = arith.index_cast %n : index to i32
  %registers = arith.ceildivui %n, %i64 : index
  pto.mte_gm_ub %a, %pa, %z, %l nburst(%loaded, %l, %pitch) : {GM}, {UB}, i64, i64, i64, i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  pto.vecscope {{{{
  %all = pto.pset_b32 "PAT_ALL" : {MASK}
  scf.for %i = %i0 to {{rows}} step %i1 {{{{
  %row = arith.muli %i, %i192 : index
  %left = scf.for %j = %i0 to %registers step %i1 iter_args(%have = %m) -> (i32) {{{{
  %mask, %rest = pto.plt_b32 %have : i32 -> {MASK}, i32
  %column = arith.muli %j, %i64 : index
  %at = arith.addi %row, %column : index
  %v = pto.vlds %pa[%at] : {UB} -> {REG}
  %w = pto.vabs %v, %{{lanes}} : {REG}, {MASK} -> {REG}
  pto.vsts %w, %po[%at], %{{lanes}} : {REG}, {UB}, {MASK}
  scf.yield %rest : i32
  }}}}
  }}}}
  }}}}
  pto.barrier #pto.pipe<PIPE_ALL>
  pto.mte_ub_gm %po, %o, %l nburst(%stored, %pitch, %l) : {UB}, {GM}, i64, i64, i64, i64
  return
}}}}
"""


@pytest.mark.parametrize(
    ("loaded", "rows", "stored", "lanes", "columns", "right"),
    [
        ("%r", "%r", "%r", "mask", "1..192", True),
        ("%r", "%r", "%r", "all", "1..128", True),
        ("%less", "%r", "%r", "mask", "191..191", False),  # a row behind those that were loaded
        ("%i2", "%i2", "%i2", "mask", "1..192", True),
        ("%i2", "%i1", "%i2", "mask", "1..192", False),  # a row that nothing computed
        ("%r", "%r", "%r", "all", "191..191", True),  # three registers a row, the last one not all of it
        ("%r", "%less", "%r", "all", "191..191", False),
        *rest([("%r", "%less", "%r", "mask", "1..192", False), ("%r", "%r", "%less", "all", "1..192", True)]),
    ],
)
def test_rows_of_a_length_that_is_an_argument_are_known_each_as_far_as_it_goes(
    loaded: str, rows: str, stored: str, lanes: str, columns: str, right: bool
) -> None:
    text = ROWS.format(loaded=loaded, rows=rows, stored=stored, lanes=lanes, columns=columns)
    (found,) = check_text(Source("k.mlir", text), None)
    assert (found.status is Status.PROVED) == right, [f.message for f in found.findings]
