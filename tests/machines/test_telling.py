"""Which rules a few iterations tell for all: multiples and bounds; any other shape is asked at each, or is open."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.errors import Source
from dmaverify.prove.move.check import Options
from dmaverify.targets.smtlib import read_functions
from dmaverify.targets.smtlib_eval import compile_bool
from dmaverify.targets.target import load_target
from dmaverify.targets.telling import told_by_ends

TOY = Path(__file__).resolve().parents[2] / "encodings" / "toy"
RULE = """
[rule."toy/odd"]
title = "an odd rule"
scope = "command"
ports = ["read_gcd"]
says = "odd: {read_gcd}"
hint = "none"
why = "none"
source = "toy manual, 9"
basis = "documented"
wrong = "none"
right = "none"

[rule."toy/odd".edge]
"""
VALUES = (0, 1, 24, 64, 191, 192, 5000, 64_000_064)
LOOPED = """
schema = 1
target = "{target}"

[axes]
N = {size}
C = 64

[transfer.t]
dtype = "i8"
loop = {{ t = {turns} }}
source = {{ tier = "gm", element = "N, C", view = {{ tile = "N", length = 1, start = "t" }} }}
dest = {{ tier = "ub", element = "C" }}
stream = {{ time = "1", packet = "C" }}
"""


def machine(folder: Path, predicate: str, rule: str = RULE) -> str:
    """The toy with one rule more, whose edge is what its predicate says of some values."""
    shutil.copytree(TOY, folder, dirs_exist_ok=True)
    ports = rule.split("ports = [")[1].split("]")[0].replace('"', "").split(", ")
    declared = " ".join(f"({port} Int)" for port in ports)
    predicates = f"{(TOY / 'rules.smt2').read_text()}\n(define-fun toy/odd ({declared}) Bool {predicate})\n"
    (folder / "rules.smt2").write_text(predicates)
    function = read_functions(Source("rules.smt2", predicates))[-1]
    holds = {compile_bool(function)(*values): values for values in product(VALUES, repeat=len(ports))}
    for side, good in (("last_ok", True), ("first_bad", False)):
        edge = ", ".join(f"{port} = {value}" for port, value in zip(ports, holds[good], strict=True))
        rule += f"{side} = {{ {edge} }}\n"
    (folder / "target.toml").write_text((TOY / "target.toml").read_text() + rule)
    return str(folder)


@pytest.mark.parametrize(
    ("predicate", "told"),
    [
        ("(= 0 (mod read_gcd 64))", True),
        ("(= (mod read_gcd 64) 0)", True),
        ("(and (= 0 (mod read_gcd 8)) (= 0 (mod read_gcd 12)))", True),
        ("(or (= 0 (mod read_gcd 8)) (= 0 (mod read_gcd 12)))", False),
        ("(= 0 (mod (* read_gcd read_gcd) 64))", False),
        ("(= 1 (mod read_gcd 64))", False),
        ("(distinct read_gcd 192)", False),
        ("(not (= 0 (mod read_gcd 64)))", False),
        ("(<= read_gcd 4096)", False),  # a divisor may be larger between the ends
    ],
)
def test_multiples_are_told_by_first_steps_and_no_other_question_to_a_divisor(
    tmp_path: Path, predicate: str, told: bool
) -> None:
    target = load_target(machine(tmp_path, predicate))
    assert told_by_ends(target.rules["toy/odd"], target) == told


@pytest.mark.parametrize(
    ("predicate", "told"),
    [
        ("(and (<= 0 low_bytes 4096) (<= base_bytes 4096))", True),
        ("(or (= 0 base_bytes) (<= low_bytes 4096))", False),
        ("(or (<= low_bytes 64) (<= 4096 base_bytes))", False),
        ("(< (+ low_bytes base_bytes) 64)", False),
        ("(=> (< 1 2) (<= low_bytes base_bytes))", False),
        ("(=> (< 1 2) (and (<= low_bytes 64) (= 0 (mod base_bytes 32))))", True),
    ],
)
def test_bounds_of_sums_are_told_by_the_ends_of_loops(tmp_path: Path, predicate: str, told: bool) -> None:
    rule = RULE.replace('scope = "command"', 'scope = "reach"').replace('"read_gcd"]', '"low_bytes", "base_bytes"]')
    rule = rule.replace("{read_gcd}", "{low_bytes}")
    target = load_target(machine(tmp_path, predicate, rule))
    assert told_by_ends(target.rules["toy/odd"], target) == told


def status(folder: Path, predicate: str, size: str, turns: str) -> str:
    machine(folder / "odd", predicate)
    plan = folder / "looped.toml"
    plan.write_text(LOOPED.format(target="./odd", size=size, turns=turns))
    (verdict,) = api.check(plan, options=Options(repair=False))
    return verdict.status.name


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        (3, "PROVED"),  # rows at 0, 64 and 128
        (8, "REFUTED"),  # the row at 192 lies between the ends
        (64, "REFUTED"),
        (65, "UNKNOWN"),  # more than are asked one by one
    ],
)
def test_a_rule_of_another_shape_is_asked_at_every_iteration_or_is_open(tmp_path: Path, turns: int, says: str) -> None:
    assert status(tmp_path, "(distinct read_gcd 192)", str(turns), str(turns)) == says


@pytest.mark.parametrize(
    ("predicate", "says"), [("(= 0 (mod read_gcd 64))", "PROVED"), ("(distinct read_gcd 64000064)", "UNKNOWN")]
)
def test_for_all_sizes_too(tmp_path: Path, predicate: str, says: str) -> None:
    """The row at 64,000,064 is one of a loop that no small size has."""
    assert status(tmp_path, predicate, "{ min = 1, max = 4000000 }", '"N"') == says
