"""Where vector accesses may begin: at a block, or at an element, by their distribution."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status

X, H, B, M = "!pto.vreg<64xf32>", "!pto.vreg<128xf16>", "!pto.vreg<256xi8>", "!pto.mask<b32>"
F32, F16, I8 = ("f32", 4), ("f16", 2), ("i8", 1)
HEAD = """// dmaverify: gm %in = 8192 bytes
{notes}func.func @k(%in: !pto.ptr<{item}, gm>{arguments}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %at = arith.constant {at} : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 8192 : i64
  %far = arith.constant 16384 : i64
  %s = arith.constant 1 : i16
  %p = pto.castptr %z : i64 -> !pto.ptr<{item}, ub>
  %q = pto.castptr %far : i64 -> !pto.ptr<{item}, ub>
  pto.mte_gm_ub %in, %p, %z, %size nburst(%one, %size, %size) : !pto.ptr<{item}, gm>, !pto.ptr<{item}, ub>, i64 x5
  pto.barrier <PIPE_ALL>
  pto.vecscope {{
    {body}
  }}
  return
}}
"""


def text_of(body: str, item: str = "f32", at: int = 0, notes: str = "", arguments: str = "") -> str:
    return HEAD.format(body=body, item=item, at=at, notes=notes, arguments=arguments)


def errors(text: str) -> list[tuple[str, int]]:
    (found,) = check_text(Source("k.mlir", text))
    assert found.status is (Status.REFUTED if found.errors else Status.PROVED)
    return [(f.rule, f.span.line) for f in found.errors]


def load(dist: str, register: str, item: str) -> str:
    return f'%v = pto.vlds %p[%at] {{dist = "{dist}"}} : !pto.ptr<{item}, ub> -> {register}'


def store(dist: str, register: str, item: str) -> str:
    into = f'pto.vsts %v, %q[%at] {{dist = "{dist}"}} : {register}, !pto.ptr<{item}, ub>'
    return f"%v = pto.vlds %p[%c0] : !pto.ptr<{item}, ub> -> {register}\n    {into}"


PAIR = f'%v, %w = pto.vldsx2 %p[%at], "DINTLV_B32" : !pto.ptr<f32, ub>, index -> {X}, {X}'
BLOCKS = f'%m = pto.pset_b32 "PAT_ALL" : {M}\n    %p1 = pto.addptr %p, %at : !pto.ptr<f32, ub> -> <f32, ub>\n'
BLOCKS += f"    %v = pto.vsldb %p1, %s, %s, %m : !pto.ptr<f32, ub>, i16, i16, {M} -> {X}"


@pytest.mark.parametrize(
    ("body", "kind", "multiple"),
    [
        (load("NORM", X, "f32"), F32, 32),
        (load("UNPK_B16", H, "f16"), F16, 32),
        (load("BRC_B32", X, "f32"), F32, 4),
        (load("BRC_BLK", X, "f32"), F32, 32),
        (load("E2B_B16", H, "f16"), F16, 16),
        (load("UNPK4", B, "i8"), I8, 32),
        (store("NORM_B32", X, "f32"), F32, 32),
        (store("PK_B32", X, "f32"), F32, 32),
        (store("1PT_B32", X, "f32"), F32, 4),
        (PAIR, F32, 32),
        (BLOCKS, F32, 32),
    ],
)
def test_an_access_begins_at_a_multiple_of_what_its_distribution_asks_for(
    body: str, kind: tuple[str, int], multiple: int
) -> None:
    item, width = kind
    for at in (16 // width, 32 // width, 1):
        text = text_of(body, item, at)
        right = at * width % multiple == 0
        found = errors(text)
        assert [rule for rule, _ in found] == ([] if right else ["pto/vector-align"])
        _, (function,) = read_kernels(Source("k.mlir", text))
        assert ("align" in run_kernel(function, {"in": 8192}).found) != right


def test_where_channels_that_are_taken_apart_begin_is_stated_nowhere() -> None:
    assert errors(text_of(load("SPLT4CHN_B8", B, "i8"), "i8", 1)) == []


def test_every_iteration_begins_where_it_may() -> None:
    for step, right in (("%c4", False), ("%c8", True)):
        lines = (
            "%c8 = arith.constant 8 : index",
            "scf.for %i = %c0 to %c4 step %c1 {",
            f"%j = arith.muli %i, {step} : index",
            f"%v = pto.vlds %p[%j] : !pto.ptr<f32, ub> -> {X}",
            "}",
        )
        assert errors(text_of("\n    ".join(lines))) == ([] if right else [("pto/vector-align", 20)])


def test_an_offset_that_an_argument_gives_is_asked_for_all_its_values() -> None:
    stated = {"notes": "// dmaverify: assume %n in 0..64\n", "arguments": ", %n: index"}
    body = f"%v = pto.vlds %p[%n] : !pto.ptr<f32, ub> -> {X}"
    assert errors(text_of(body, **stated)) == [("pto/vector-align", 18)]
    eight = f"%c8 = arith.constant 8 : index\n    %j = arith.muli %n, %c8 : index\n    {body.replace('%n', '%j')}"
    assert errors(text_of(eight, **stated)) == []
