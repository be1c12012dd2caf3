"""Copies that happen on conditions: as many as a kernel has, and which of them can meet."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.verdict import Status, Verdict

LOADS = "!pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64"
STORES = "!pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64"
ORDERED = (
    '  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]'
)


def load(buffer: int) -> str:
    return f"  pto.mte_gm_ub %x, %b{buffer}, %z, %len nburst(%one, %len, %len) : {LOADS}"


def store(buffer: int) -> str:
    return f"  pto.mte_ub_gm %b{buffer}, %y{buffer}, %len nburst(%one, %len, %len) : {STORES}"


def on(side: str, *lines: str, other: Sequence[str] = ()) -> str:
    return "\n".join([f"  scf.if %{side} {{", *lines, *(["  } else {", *other] if other else []), "  }"])


def judged(lines: list[str], buffers: int, conditions: dict[str, str]) -> Verdict:
    """A kernel of buffers of 256 bytes; each condition is told of %n by a line."""
    head = ["// dmaverify: gm %x = 256 bytes", f"// dmaverify: gm %y = {256 * buffers} bytes"]
    head += ["// dmaverify: assume %n in 1..4096"]
    head += [
        "func.func @k(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>, %n: index) {",
        "  %c0 = arith.constant 0 : i64",
    ]
    head += [f"  %{name} = arith.constant {value} : i64" for name, value in (("z", 0), ("one", 1), ("len", 256))]
    for number in range(buffers):
        head += [
            f"  %k{number} = arith.constant {number} : index",
            f"  %a{number} = arith.constant {256 * number} : i64",
        ]
        head += [f"  %o{number} = arith.constant {64 * number} : index"]
        head += [f"  %b{number} = pto.castptr %a{number} : i64 -> !pto.ptr<f32, ub>"]
        head += [f"  %y{number} = pto.addptr %y, %o{number} : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>"]
    head += [f"  %{name} = {told}" for name, told in conditions.items()]
    return check_text(Source("k.pto", "\n".join([*head, *lines, "  return", "}", ""])))[0]


def remainders(count: int) -> dict[str, str]:
    """Conditions that say little of one another: `n mod (i + 2) == 1`."""
    out = {}
    for number in range(count):
        out[f"m{number}"] = f"arith.constant {number + 2} : index"
        out[f"r{number}"] = f"arith.remui %n, %m{number} : index"
        out[f"q{number}"] = f"arith.cmpi eq, %r{number}, %k1 : index"
    return out


@pytest.mark.parametrize(
    ("left", "expected"), [(None, Status.PROVED), (7, Status.REFUTED)], ids=["each", "one-on-the-condition-beside"]
)
def test_copies_on_conditions_of_their_own_are_followed_each_by_itself(left: int | None, expected: Status) -> None:
    """Of 2 ** 12 ways. Each copy says when it happens; what a buffer holds depends on its own copies alone."""
    loads = [on(f"q{number}", load(number)) for number in range(12)]
    stores = [on(f"q{number + 1 if number == left else number}", store(number)) for number in range(12)]
    verdict = judged([*loads, ORDERED, *stores], 12, remainders(12))
    assert verdict.status is expected


MORE = {"q": "arith.cmpi sgt, %n, %k1 : index"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([on("q", load(0), other=[load(0)])], Status.PROVED),  # one or the other
        ([on("q", load(0)), load(0)], Status.REFUTED),
        ([load(0), on("q", load(1), other=[store(0)])], Status.REFUTED),  # on the side that has no second load
        ([load(0), on("q", load(1)), on("q", ORDERED), on("q", store(1))], Status.PROVED),
        ([load(0), on("q", load(1)), on("q", store(1))], Status.REFUTED),
        ([load(0), on("q", load(1)), on("q", ORDERED, other=[store(0)])], Status.REFUTED),
        ([load(0), on("q", load(1), ORDERED, other=[ORDERED]), store(0)], Status.PROVED),
        ([load(0), on("q", load(1), ORDERED), store(0)], Status.REFUTED),  # ordered on one side alone
    ],
)
def test_two_copies_meet_where_both_happen(lines: list[str], expected: Status) -> None:
    verdict = judged(lines, 2, MORE)
    assert verdict.status is expected, [f.message for f in verdict.findings]
