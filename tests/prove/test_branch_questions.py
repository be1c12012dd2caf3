"""Kernels whose copies stand in branches, asked from definitions: confirmed where every way holds, nowhere else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from lab.blind import DEFINITE, ORDER, blind, confirmed
from lab.draws import counted

from dmaverify import api
from dmaverify.prove.options import Options
from dmaverify.verdict import Verdict

HEAD = """\
// dmaverify: gm %in = 4096 bytes
// dmaverify: gm %out = 4096 bytes
func.func @k(%in: !pto.ptr<i8, gm>, %out: !pto.ptr<i8, gm>, %a: i1, %b: i1, %n: index) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %len = arith.constant 64 : i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
"""
PLACES = "".join(f"  %x{n} = arith.constant {64 * n} : i64\n" for n in range(4))
PLACES += "".join(f"  %p{n} = pto.castptr %x{n} : i64 -> !pto.ptr<i8, ub>\n" for n in range(4))
FENCE = 'pto.pipe_barrier "PIPE_ALL"\n'
FLAG = 'pto.{0}_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n'


def kernel(*body: str) -> str:
    return HEAD + PLACES + "".join(body) + "  return\n}\n"


def load(place: int) -> str:
    types = "!pto.ptr<i8, gm>, !pto.ptr<i8, ub>, i64, i64, i64, i64, i64"
    return f"pto.mte_gm_ub %in, %p{place}, %zero, %len nburst(%one, %len, %len) : {types}\n"


def store(place: int) -> str:
    types = "!pto.ptr<i8, ub>, !pto.ptr<i8, gm>, i64, i64, i64, i64"
    return f"pto.mte_ub_gm %p{place}, %out, %len nburst(%one, %len, %len) : {types}\n"


def branch(condition: str, then: str, other: str = "") -> str:
    return f"scf.if %{condition} {{\n{then}}} else {{\n{other}}}\n"


def loop(body: str) -> str:
    return f"scf.for %i = %c0 to %n step %c1 {{\n{body}}}\n"


def judged(folder: Path, text: str, prove: str = "full") -> Verdict:
    (folder / "kernel.mlir").write_text(text, encoding="utf-8")
    (verdict,) = api.check(str(folder / "kernel.mlir"), options=Options(prove=prove, cross_check=0, repair=False))
    return verdict


HOLDS = {
    "loaded on both ways": kernel(branch("a", load(0), load(0)), FENCE, store(0)),
    "stored where it was loaded": kernel(branch("a", load(0), load(1)), FENCE, branch("a", store(0), store(1))),
    "a flag around a branch": kernel(branch("a", load(0), load(0)), FLAG.format("set"), FLAG.format("wait"), store(0)),
    "branches in branches": kernel(
        branch("a", branch("b", load(0), load(1)), load(2)),
        FENCE,
        branch("a", branch("b", store(0), store(1)), store(2)),
    ),
    "in each iteration": kernel(loop(branch("a", load(0), load(0)) + FENCE + branch("b", store(0)) + FENCE)),
}
WRONG = {
    "loaded on one way": (kernel(branch("a", load(0)), FENCE, store(0)), {DEFINITE}),
    "loaded on the other way": (kernel(branch("a", load(0)), FENCE, branch("a", "", store(0))), {DEFINITE}),
    "stored on another condition": (kernel(branch("a", load(0)), FENCE, branch("b", store(0))), {DEFINITE}),
    "no order on one way": (kernel(load(0), FENCE, branch("a", load(0) + store(0))), {"core/hazard-raw"}),
    "no order on the other way": (kernel(load(0), FENCE, branch("a", "", load(0) + store(0))), {"core/hazard-raw"}),
    "an order on one way": (kernel(load(0), branch("a", FENCE), store(0)), {"core/hazard-raw"}),
    "overwritten on one way": (kernel(load(0), FENCE, store(0), branch("a", load(0))), {"core/hazard-war"}),
    "the next iteration": (kernel(loop(branch("a", load(0), load(0)) + FENCE + store(0))), {"core/hazard-war"}),
}


@pytest.mark.parametrize("name", HOLDS)
def test_copies_in_branches_are_confirmed(name: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, HOLDS[name])
    assert verdict.status.value == "proved", verdict.errors
    assert confirmed(verdict) == {*ORDER, DEFINITE}, verdict.assumptions


@pytest.mark.parametrize("name", WRONG)
def test_what_one_way_breaks_is_not_confirmed_whatever_was_followed(name: str, tmp_path: Path) -> None:
    text, rules = WRONG[name]
    assert {finding.rule for finding in judged(tmp_path, text, "fast").errors} == rules
    with blind():
        assert not rules & confirmed(judged(tmp_path, text))


@pytest.mark.parametrize("body", [FENCE, FLAG.format("set") + FLAG.format("wait")])
def test_an_order_that_stands_in_a_branch_is_named_as_not_asked(body: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, kernel(branch("a", load(0) + body + store(0))))
    assert verdict.status.value == "proved", verdict.errors
    assert any("branches that order something" in said for said in verdict.assumptions if "not asked" in said)


def drawn(draw: random.Random, depth: int = 0) -> str:
    out = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(("load", "store", "branch", "both", *(("loop",) if depth == 0 else ())))
        if kind == "branch" and depth < 2:
            out.append(branch(draw.choice("ab"), drawn(draw, depth + 1), drawn(draw, depth + 1)))
        elif kind == "loop":
            out.append(loop(branch(draw.choice("ab"), load(0), load(draw.randrange(2))) + FENCE + store(0) + FENCE))
        elif kind == "both":
            out.append(load(at := draw.randrange(3)) + (FENCE if depth == 0 else "") + store(at))
        else:
            out.append((load if kind == "load" else store)(draw.randrange(3)))
        out += [FENCE] if depth == 0 and draw.random() < 0.8 else []
    return "".join(out)


@pytest.mark.parametrize("count", counted(6, 1500))
def test_drawn_branches_are_confirmed_where_they_hold_and_nowhere_else(count: int, tmp_path: Path) -> None:
    held = wrong = 0
    for seed in range(count):
        text = kernel(*(load(place) + FENCE for place in range(seed % 3)), drawn(random.Random(f"branches {seed}")))
        before = {o.id: o.status for o in judged(tmp_path, text, "fast").obligations}
        with blind():
            found = confirmed(judged(tmp_path, text))
        assert all(before.get(name) != "refuted" for name in found), (text, found)
        held += len(found)
        wrong += sum(before.get(name) == "refuted" for name in (*ORDER, DEFINITE))
    assert held > count
    assert wrong > count // 4
