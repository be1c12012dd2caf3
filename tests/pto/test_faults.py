"""Faults planted in kernels that are right: each is refuted or an open question, none is proved."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.verdict import Status, Verdict

GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
F32, B32 = "!pto.vreg<64xf32>", "!pto.mask<b32>"
RIGHT = f"""// dmaverify: gm %in = 8192xf32
// dmaverify: gm %out = 8192xf32
// dmaverify: assume %n in 1..32
func.func @k(%in: {GM}, %out: {GM}, %n: i32) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2 : index
  %lanes = arith.constant 64 : index
  %tile = arith.constant 256 : index
  %size = arith.constant 1024 : index
  %half = arith.constant 8192 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %row = arith.constant 256 : i64
  %gap = arith.constant 256 : i64
  %m = arith.index_cast %n : i32 to index
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]
  pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  pto.set_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID1"]
  scf.for %i = %c0 to %m step %c1 {{
    %turn = arith.remui %i, %two : index
    %at = arith.muli %i, %tile : index
    %s = pto.addptr %in, %at : {GM} -> {GM}
    %d = pto.addptr %out, %at : {GM} -> {GM}
    %place = arith.muli %turn, %size : index
    %behind = arith.addi %place, %half : index
    %p0 = arith.index_cast %place : index to i64
    %p1 = arith.index_cast %behind : index to i64
    %b = pto.castptr %p0 : i64 -> {UB}
    %o = pto.castptr %p1 : i64 -> {UB}
    pto.wait_flag_dyn["PIPE_V", "PIPE_MTE2", %turn]
    pto.mte_gm_ub %s, %b, %z, %row nburst(%four, %row, %gap) : {GM}, {UB}, i64, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE2", "PIPE_V", %turn]
    pto.wait_flag_dyn["PIPE_MTE2", "PIPE_V", %turn]
    pto.wait_flag_dyn["PIPE_MTE3", "PIPE_V", %turn]
    pto.vecscope {{
      %all = pto.pset_b32 "PAT_ALL" : {B32}
      scf.for %j = %c0 to %tile step %lanes {{
        %v = pto.vlds %b[%j] : {UB} -> {F32}
        %w = pto.vabs %v, %all : {F32}, {B32} -> {F32}
        pto.vsts %w, %o[%j], %all : {F32}, {UB}, {B32}
      }}
    }}
    pto.set_flag_dyn["PIPE_V", "PIPE_MTE2", %turn]
    pto.set_flag_dyn["PIPE_V", "PIPE_MTE3", %turn]
    pto.wait_flag_dyn["PIPE_V", "PIPE_MTE3", %turn]
    pto.mte_ub_gm %o, %d, %row nburst(%four, %row, %row) : {UB}, {GM}, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE3", "PIPE_V", %turn]
  }}
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]
  pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID1"]
  return
}}
"""
LOAD = "pto.mte_gm_ub %s, %b, %z, %row nburst(%four, %row, %gap)"
STORE = "pto.mte_ub_gm %o, %d, %row nburst(%four, %row, %row)"
DYN = [("V", "MTE2"), ("MTE2", "V"), ("MTE3", "V"), ("V", "MTE3")]
FAULTS: list[tuple[str, str]] = [
    # what is moved
    (LOAD, LOAD.replace("%z, %row", "%z, %short")),
    (LOAD, LOAD.replace("nburst(%four", "nburst(%one")),
    (LOAD, LOAD.replace("%row, %gap)", "%row, %short)")),
    (LOAD, LOAD.replace("(%four, %row", "(%four, %far")),
    (LOAD, LOAD.replace("%z, %row", "%z, %longer")),
    (LOAD, ""),
    (STORE, STORE.replace("%d, %row", "%d, %longer")),
    (STORE, STORE.replace("nburst(%four", "nburst(%five")),
    (STORE, STORE.replace("%row, %row)", "%row, %short)")),
    (STORE, STORE.replace("%row, %row)", "%row, %far)")),
    (STORE, STORE.replace("%o,", "%b,")),
    ("mte_ub_gm %o, %d", "mte_ub_gm %d, %o"),
    # where
    ("%at = arith.muli %i, %tile", "%at = arith.muli %i, %size"),
    ("%tile = arith.constant 256 : index", "%tile = arith.constant 257 : index"),
    ("%size = arith.constant 1024", "%size = arith.constant 512"),
    ("%size = arith.constant 1024", "%size = arith.constant 1040"),
    ("%half = arith.constant 8192", "%half = arith.constant 1024"),
    ("%half = arith.constant 8192", "%half = arith.constant 261120"),
    ("%o = pto.castptr %p1", "%o = pto.castptr %p0"),
    ("vlds %b[%j]", "vlds %b[%tile]"),
    ("vsts %w, %o[%j]", "vsts %w, %o[%c0]"),
    ("vsts %w, %o[%j]", "vsts %w, %b[%j]"),
    ("to %tile step %lanes", "to %lanes step %lanes"),
    ('pset_b32 "PAT_ALL"', 'pset_b32 "PAT_VL32"'),
    # turns and bounds
    ("%turn = arith.remui %i, %two", "%turn = arith.remui %i, %three"),
    ("%place = arith.muli %turn,", "%place = arith.muli %c0,"),
    ("%place = arith.muli %turn,", "%place = arith.muli %c1,"),
    ("1..32", "1..33"),
    # widths
    ("arith.index_cast %place : index to i64", "arith.index_cast %place : index to i8"),
    # operations that are not known, registers
    (LOAD, "pto.magic_copy %s, %b"),
    ("%w = pto.vabs %v, %all", "%w = pto.vmagic %all"),
    (LOAD, "pto.set_loop_size_ubtoout %four, %one : i64, i64\n    " + LOAD),
    *((f'pto.{what}_flag_dyn["PIPE_{one}", "PIPE_{two}", %turn]', "") for one, two in DYN for what in ("set", "wait")),
    ('pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]', ""),
    ('pto.wait_flag["PIPE_MTE3", "PIPE_V", "EVENT_ID0"]', ""),
    ('pto.set_flag_dyn["PIPE_MTE2", "PIPE_V", %turn]', 'pto.set_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %turn]'),
    ('pto.set_flag_dyn["PIPE_V", "PIPE_MTE3", %turn]', 'pto.set_flag_dyn["PIPE_V", "PIPE_MTE3", %c0]'),
]  # fmt: skip
EXTRA = """  %three = arith.constant 3 : index
  %short = arith.constant 224 : i64
  %longer = arith.constant 288 : i64
  %five = arith.constant 5 : i64
  %far = arith.constant 4096 : i64
"""
ALIKE = [  # changes of the text that keep it right
    ("EVENT_ID0", "EVENT_ID0"),
    ("%size = arith.constant 1024", "%size = arith.constant 2048"),
    ("1..32", "1..31"),
]


def check(old: str, new: str) -> Verdict:
    assert old in RIGHT, old
    text = RIGHT.replace("  %m = arith.index_cast", EXTRA + "  %m = arith.index_cast").replace(old, new)
    (found,) = check_text(Source("k.mlir", text))
    return found


@pytest.mark.parametrize(("old", "new"), ALIKE)
def test_the_kernel_without_a_fault_is_proved(old: str, new: str) -> None:
    assert check(old, new).status is Status.PROVED


@pytest.mark.parametrize(("old", "new"), FAULTS)
def test_a_planted_fault_is_never_proved(old: str, new: str) -> None:
    found = check(old, new)
    assert found.status in (Status.REFUTED, Status.UNKNOWN)


def test_there_are_forty_kinds_of_faults() -> None:
    assert len(set(FAULTS)) >= 40
