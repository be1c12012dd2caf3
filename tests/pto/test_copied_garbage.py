"""Bytes that nothing wrote, through copies inside of UB: they move whole blocks, tails of rows included."""

from __future__ import annotations

import random

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

UB, GM = "!pto.ptr<f32, ub>", "!pto.ptr<f32, gm>"
PROVED, REFUTED, UNKNOWN = Status.PROVED, Status.REFUTED, Status.UNKNOWN
ALL = "pto.barrier #pto.pipe<PIPE_ALL>"
NUMBERS = (0, 1, 2, 3, 4, 8, 32, 40, 44, 64, 72, 96, 128, 224, 256, 512, 1024)


def load(at: int, size: int, rows: int = 1, pitch: int = 64) -> str:
    ends = f"%in, %b{at}, %n0, %n{size} nburst(%n{rows}, %n{size}, %n{pitch})"
    return f"pto.mte_gm_ub {ends} : {GM}, {UB}, i64, i64, i64, i64, i64"


def store(at: int, size: int, rows: int = 1, pitch: int = 64) -> str:
    ends = f"%b{at}, %out, %n{size} nburst(%n{rows}, %n{pitch}, %n{size})"
    return f"pto.mte_ub_gm {ends} : {UB}, {GM}, i64, i64, i64, i64"


def copy(source: int, dest: int, blocks: int, rows: int | str = 1, gaps: tuple[int, int] = (0, 0)) -> str:
    count = f"%n{rows}" if isinstance(rows, int) else rows
    ends = f"%b{source}, %b{dest}, %n{blocks} nburst({count}, %n{gaps[0]}, %n{gaps[1]})"
    return f"pto.mte_ub_ub {ends} : {UB}, {UB}, i64, i64, i64, i64"


def text_of(*body: str, notes: str = "", arguments: str = "") -> str:
    made = [f"%n{n} = arith.constant {n} : i64" for n in NUMBERS]
    made += [f"%b{n} = pto.castptr %n{n} : i64 -> {UB}" for n in NUMBERS if n % 32 == 0]
    lines = "\n  ".join([*made, *(line for one in body for line in (one, ALL))])
    head = f"// dmaverify: gm %in = 4096 bytes\n// dmaverify: gm %out = 4096 bytes\n{notes}"
    return f"{head}func.func @k(%in: {GM}, %out: {GM}{arguments}) {{\n  {lines}\n  return\n}}\n"


def check(*body: str, notes: str = "", arguments: str = "") -> Verdict:
    (found,) = check_text(Source("k.mlir", text_of(*body, notes=notes, arguments=arguments)))
    return found


def test_a_copy_inside_of_ub_may_carry_the_unknown_tail_of_a_row_that_nobody_stores() -> None:
    assert check(load(0, 40), copy(0, 256, 2), store(256, 40)).status is PROVED
    found = check(load(0, 40), copy(0, 256, 2), store(256, 44))
    assert found.status is REFUTED
    assert [(f.rule, f.values["first"]) for f in found.findings if f.rule == "core/definite"] == [
        ("core/definite", 296)
    ]


def test_a_copy_of_bytes_that_nothing_wrote_is_found_where_they_are_stored() -> None:
    assert check(copy(0, 256, 2)).status is PROVED
    found = check(copy(0, 256, 2), store(256, 64))
    assert found.status is REFUTED
    assert "copied from bytes that nothing wrote" in found.findings[0].message


def test_garbage_that_is_copied_over_data_is_garbage() -> None:
    assert check(load(256, 64), copy(0, 256, 1), store(256, 64)).status is REFUTED
    assert check(load(256, 64), copy(0, 512, 1), store(256, 64)).status is PROVED


def test_rows_of_a_copy_inside_of_ub_are_followed_one_by_one() -> None:
    rows = load(0, 40, rows=4), copy(0, 512, 1, rows=8)
    assert check(*rows, store(512, 40, rows=4)).status is PROVED
    assert check(*rows, store(512, 44, rows=4)).status is REFUTED
    assert check(load(0, 32, rows=4), copy(0, 512, 1, rows=4, gaps=(1, 0)), store(512, 128)).status is PROVED


def test_a_copy_of_a_number_of_rows_that_nobody_knows_leaves_what_it_brings_open() -> None:
    stated = {"notes": "// dmaverify: assume %r in 1..4\n", "arguments": ", %r: i64"}
    assert check(load(0, 40), copy(0, 256, 2, rows="%r"), store(256, 40), **stated).status is UNKNOWN
    assert check(load(0, 256), copy(0, 512, 2, rows="%r"), store(512, 64), **stated).status is PROVED


def test_what_is_proved_of_drawn_chains_of_copies_is_what_their_bytes_say() -> None:
    rng = random.Random(5)
    met = set()
    for _ in range(20):
        size, stored = rng.choice([32, 40, 64, 72, 96]), rng.choice([32, 40, 44, 64, 72])
        blocks = rng.choice([1, 2, 3]), rng.choice([1, 2, 3])
        body = load(0, size), copy(0, 256, blocks[0]), copy(256, 512, blocks[1]), store(512, stored)
        right = stored <= min(size, 32 * min(blocks))
        assert check(*body).status is (PROVED if right else REFUTED)
        _, (function,) = read_kernels(Source("k.mlir", text_of(*body)))
        assert ("definite" not in run_kernel(function, {"in": 4096, "out": 4096}).found) == right
        met.add(right)
    assert met == {True, False}
