"""Questions in parts: a question can be met exactly where each of its parts can."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from dmaverify.prove import smt
from dmaverify.prove.smt import Query, Session, apart

RANGES = (("x", 0, 3), ("y", 0, 3), ("xy", 0, 3), ("z", 0, 3))


@pytest.mark.parametrize(
    ("constraints", "sizes"),
    [
        (("(< x y)", "(< z 2)"), [2, 1]),
        (("(< x y)", "(< y z)"), [3]),
        (("(< x 2)", "(< xy 2)"), [1, 1]),  # a name within another is another
        (("(< x y)", "(< z xy)", "(< y z)"), [4]),  # joined by what comes last
        (("(< x 1)", "false"), [1, 0]),  # a part without variables is asked as well
        ((), []),
    ],
)
def test_parts_share_no_variable_and_leave_none_out(constraints: tuple[str, ...], sizes: list[int]) -> None:
    parts = apart(Query(RANGES, constraints))
    assert [len(part.variables) for part in parts] == sizes
    assert sum(len(part.constraints) for part in parts) == len(constraints)


def test_equal_parts_have_equal_names() -> None:
    one, other = apart(Query(RANGES, ("(< x y)", "(< xy z)")))
    assert one == other
    one, other = apart(Query((*RANGES[:3], ("z", 0, 4)), ("(< x y)", "(< xy z)")))
    assert one != other  # another range is another question


def test_a_question_can_be_met_exactly_where_each_part_can() -> None:
    draw, session, seen = random.Random(5), Session(), []
    for _ in range(60):
        pairs = [(draw.choice("xyz"), draw.choice((*"xyz", "xy"))) for _ in range(draw.randint(1, 5))]
        relations = [(draw.choice(("<", "<=", "=")), draw.randint(0, 2)) for _ in pairs]
        texts = (f"({how} (+ {a} {more}) {b})" for (how, more), (a, b) in zip(relations, pairs, strict=True))
        query = Query(RANGES, tuple(texts))
        whole = session.ask(query, "whole").status
        parts = [session.ask(part, "part").status for part in apart(query)]
        assert (whole == "sat") == all(part == "sat" for part in parts), query
        seen.append((whole, len(parts) > 1))
    assert set(seen) == {("sat", True), ("sat", False), ("unsat", True), ("unsat", False)}


def test_the_version_of_the_solver_is_the_same_whether_it_is_loaded_or_not() -> None:
    code = "from dmaverify.prove.smt import solver_version as v; print(v()); import z3; print(v())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    assert said[0] == said[1] != ""


def test_a_smaller_counterexample_is_sought_only_so_long(monkeypatch):
    query = Query((("x", 0, 1000),), ("(> (* x x) 200)",))
    assert Session().smallest(query, ["x"]).model == {"x": 15}
    monkeypatch.setattr(smt, "_SMALLER", -1)
    found = Session().smallest(query, ["x"])
    assert found.status == "sat"
    assert found.model["x"] ** 2 > 200, "whatever it is, it is one"
