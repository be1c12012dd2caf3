"""Of many equal accesses only the last few are kept pending: the verdict is that of a judge that keeps them all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given, settings
from hypothesis import strategies as st

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.prove.flow.order import pipe_steps

GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
PARTS = {
    "load": f"  pto.mte_gm_ub %a, %u, %c0, %c128 nburst(%c2, %c128, %c128) : {GM}, {UB}, i64\n",
    "other load": f"  pto.mte_gm_ub %a, %w, %c0, %c128 nburst(%c1, %c128, %c128) : {GM}, {UB}, i64\n",
    "store": f"  pto.mte_ub_gm %u, %b, %c128 nburst(%c2, %c128, %c128) : {UB}, {GM}, i64\n",
    "on": "  scf.if %on {\n",
    "end": "  }\n",
    "loop": "  scf.for %i = %lo to %hi step %one {\n",
}
PARTS |= {f"fence {p}": f'  pto.pipe_barrier "PIPE_{p}"\n' for p in ("MTE2", "MTE3", "ALL")}
FLAGS = [(a, b, n) for a, b in (("MTE2", "MTE3"), ("MTE3", "MTE2")) for n in (0, 1)]
PARTS |= {
    f"{do} {a} {b} {n}": f'  pto.{do}_flag["PIPE_{a}", "PIPE_{b}", "EVENT_ID{n}"]\n'
    for do in ("set", "wait")
    for a, b, n in FLAGS
}
HEAD = f"""// dmaverify: gm %a = 512 bytes
// dmaverify: gm %b = 512 bytes
func.func @k(%a: {GM}, %b: {GM}, %on: i1) {{
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c128 = arith.constant 128 : i64
  %lo = arith.constant 0 : index
  %one = arith.constant 1 : index
  %hi = arith.constant 3 : index
  %u = pto.castptr %c0 : i64 -> {UB}
  %w = pto.castptr %c128 : i64 -> {UB}
"""


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """Accesses, most of them equal, among flags and fences, some in a loop or a branch."""
    orders = [name for name in PARTS if name.startswith(("fence", "set", "wait"))]
    work = st.one_of(st.sampled_from(["load", "load", "store", "other load"]), st.sampled_from(orders))
    parts = [PARTS[name] for name in draw(st.lists(work, min_size=6, max_size=18))]
    if draw(st.booleans()):
        first, last = sorted(draw(st.tuples(*[st.integers(0, len(parts))] * 2)))
        around = PARTS[draw(st.sampled_from(["loop", "on"]))]
        parts = [*parts[:first], around, *parts[first:last], PARTS["end"], *parts[last:]]
    return "".join([*parts, PARTS["store"]])


@contextmanager
def alike(most: int) -> Iterator[None]:
    before, pipe_steps.MOST_ALIKE = pipe_steps.MOST_ALIKE, most
    try:
        yield
    finally:
        pipe_steps.MOST_ALIKE = before


def answers(body: str, most: int) -> dict[str, str]:
    with alike(most):
        (verdict,) = check_text(Source("k.mlir", f"{HEAD}{body}  return\n}}\n"))
    return {o.id: o.status for o in verdict.obligations if o.id.startswith(("core/hazard", "core/flags"))}


@settings(max_examples=settings.default.max_examples // 3)
@given(bodies())
def test_dropping_equal_accesses_changes_no_answer(body: str) -> None:
    kept = answers(body, 10**6)
    assert kept
    assert [answers(body, most) for most in (1, 4)] == [kept, kept]
