"""Loops that are followed once for all iterations: a read finds what its own one wrote, not what later ones will."""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.verdict import Status

GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
HEAD = f"""// dmaverify: gm %a = 8192 bytes
// dmaverify: gm %o = 8192 bytes
// dmaverify: assume %n in 17..20
func.func @k(%a: {GM}, %o: {GM}, %n: index) {{
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %i2 = arith.constant 2 : index
  %i8 = arith.constant 8 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %row = arith.constant 32 : i64
  %long = arith.constant 40 : i64
  %ub = pto.castptr %z : i64 -> {UB}
  %last = arith.subi %n, %i1 : index
"""
BARRIER = "  pto.barrier #pto.pipe<PIPE_ALL>\n"


def loop(*body: str, rounds: str = "%n") -> str:
    """Rounds of %i, with its block of the buffer, %p, and the one that is as far from the end, %q."""
    return (
        f"  scf.for %i = %i0 to {rounds} step %i1 {{\n"
        "  %from = arith.subi %last, %i : index\n"
        "  %x = arith.muli %i, %i8 : index\n"
        "  %y = arith.muli %from, %i8 : index\n"
        f"  %p = pto.addptr %ub, %x : {UB} -> {UB}\n"
        f"  %q = pto.addptr %ub, %y : {UB} -> {UB}\n"
        f"{''.join(body)}  }}\n"
    )


def load(to: str, row: str = "%row") -> str:
    return f"  pto.mte_gm_ub %a, {to}, %z, {row} nburst(%one, %z, %z) : {GM}, {UB}, i64, i64, i64, i64, i64\n{BARRIER}"


def store(of: str, row: str = "%row") -> str:
    return f"  pto.mte_ub_gm {of}, %o, {row} nburst(%one, %z, %z) : {UB}, {GM}, i64, i64, i64, i64\n{BARRIER}"


def late(*body: str) -> str:
    """From the third round on: the first ones, which are followed one by one, see nothing of it."""
    return f"  %late = arith.cmpi sge, %i, %i2 : index\n  scf.if %late {{\n{''.join(body)}  }}\n"


def twice(body: str) -> str:
    return f"  scf.for %j = %i0 to %i2 step %i1 {{\n{body}  }}\n"


def first(one: str, other: str) -> str:
    """One in the first round around, the other in the next."""
    return f"  %begun = arith.cmpi eq, %j, %i0 : index\n  scf.if %begun {{\n{one}  }} else {{\n{other}  }}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(loop(load("%p"), late(store("%q"))), Status.REFUTED, id="of an iteration to come"),
        pytest.param(loop(load("%p"), late(store("%p"))), Status.PROVED, id="of its own iteration"),
        pytest.param(loop(load("%p")) + loop(late(store("%q"))), Status.PROVED, id="of a loop that is over"),
        pytest.param(twice(loop(first(load("%p"), store("%q")))), Status.PROVED, id="of an earlier run of its loop"),
        pytest.param(twice(loop(first(store("%q"), load("%p")))), Status.REFUTED, id="of a later run of its loop"),
    ],
)  # fmt: skip
def test_a_read_has_the_rows_that_are_written_when_it_reads(body: str, expected: Status) -> None:
    (verdict,) = check_text(Source("k.pto", f"{HEAD}{body}  return\n}}\n"))
    assert verdict.status is expected


def test_rows_that_tails_of_other_iterations_may_spoil_are_not_taken_for_unwritten() -> None:
    """Each round of the loop writes anew what the tail of the round before left."""
    text = HEAD + loop(load("%p", "%long")) + store("%ub", "%long") + "  return\n}\n"
    verdicts = [check_text(Source("k.pto", text.replace("17..20", f"17..{most}")))[0] for most in (20, 400)]
    assert [one.status for one in verdicts] == [Status.PROVED, Status.UNKNOWN]


@pytest.mark.parametrize(("most", "expected"), [(128, Status.PROVED), (129, Status.UNKNOWN)])
def test_rows_of_earlier_iterations_are_followed_for_so_many_rounds(most: int, expected: Status) -> None:
    """Each round stores what the first one loaded."""
    text = f"{HEAD}{loop(load('%p'), store('%ub'))}  return\n}}\n".replace("17..20", f"1..{most}")
    (verdict,) = check_text(Source("k.pto", text))
    assert verdict.status is expected
