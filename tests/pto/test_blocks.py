"""Basic blocks: the same verdicts and runs as the loops and branches that they stand for, and what is refused."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from lab.basic_blocks import as_blocks
from lab.draws import rest

from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.read import read_kernels
from dmaverify.verdict import Status, Verdict

CORPUS = Path(__file__).parent / "corpus"
GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
HEAD = f"""func.func @k(%a: {GM}, %b: {GM}, %n: i64, %m: index) {{
%z = arith.constant 0 : i64
%one = arith.constant 1 : i64
%two = arith.constant 2 : i64
%four = arith.constant 4 : i64
%l = arith.constant 32 : i64
%far = arith.constant 64 : i64
%u = pto.castptr %z : i64 -> {UB}
%v = pto.castptr %far : i64 -> {UB}
%on = arith.cmpi slt, %n, %four : i64
"""
LOAD = f"pto.mte_gm_ub %a, %u, %z, %l nburst(%one, %l, %l) : {GM}, {UB}, i64, i64, i64, i64, i64\n"
OTHER = LOAD.replace("%u,", "%v,")
STORE = f"pto.mte_ub_gm %u, %b, %l nburst(%one, %l, %l) : {UB}, {GM}, i64, i64, i64, i64\n"
ALL = "pto.barrier #pto.pipe<PIPE_ALL>\n"


def check(body: str) -> Verdict:
    (found,) = check_text(Source("k.mlir", HEAD + body + "}\n"))
    return found


def said(verdict: Verdict) -> tuple[Status, set[str]]:
    return verdict.status, {f.rule for f in verdict.errors}


@cache
def said_of(text: str) -> list[tuple[Status, set[str]]]:
    return [said(v) for v in check_text(Source("k.mlir", text))]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        "two-numbers-of-rounds",
        "real-nested-parity",
        *rest(["real-heads"]),
        "helpers",
        "hand-over",
        "real-printed-narrowing",
    ],
)
def test_a_kernel_written_as_blocks_has_the_verdict_of_its_loops(name: str, turned: bool) -> None:
    text = (CORPUS / f"{name}.mlir").read_text(encoding="utf-8")
    flat = as_blocks(text, turned=turned)
    assert "cf.cond_br" in flat
    assert said_of(text) == [said(v) for v in check_text(Source("k.mlir", flat))]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("fault", ["", "wait_flag", "set_flag"])
def test_blocks_run_as_their_loops_do(turned: bool, fault: str) -> None:
    text = (CORPUS / "two-numbers-of-rounds.mlir").read_text(encoding="utf-8")
    lines = text.splitlines(True)
    drop = next((i for i, line in enumerate(lines) if fault and f"pto.{fault}_dyn" in line), -1)
    text = "".join(line for i, line in enumerate(lines) if i != drop)
    ran = []
    for written in (text, as_blocks(text, turned=turned)):
        _, (function,) = read_kernels(Source("k.mlir", written))
        sizes = {name.lstrip("%"): 1 << 16 for name, kind, _ in function.args if kind.kind == "pointer"}
        numbers = {name.lstrip("%"): 3 for name, kind, _ in function.args if kind.kind == "int"}
        run = run_kernel(function, sizes, numbers)
        ran.append((run.found, [c.number for c in run.copies], run.memory["ub"].held.tobytes()))
    assert ran[0] == ran[1]
    assert bool(ran[0][0]) == bool(fault)


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        (f"cf.cond_br %on, ^x, ^y\n^x:\n{LOAD}cf.br ^z\n^y:\n{OTHER}cf.br ^z\n^z:\nreturn\n", set()),
        (f"cf.cond_br %on, ^x, ^y\n^x:\n{LOAD}cf.br ^z\n^y:\nreturn\n^z:\n{LOAD}return\n", {"core/hazard-waw"}),
        (f"cf.cond_br %on, ^x, ^y\n^x:\n{LOAD}return\n^y:\n{LOAD}return\n", set()),
        (f"{LOAD}cf.br ^x\n^x:\ncf.br ^y\n^y:\n{ALL}{STORE}return\n", set()),
        (f"cf.cond_br %on, ^x, ^y\n^x:\n{LOAD}cf.br ^y\n^y:\n{ALL}{STORE}return\n", {"core/definite"}),
        (
            "cf.switch %n : i64, [default: ^d, 1: ^x, 2: ^x]\n^x:\n" + LOAD + f"cf.br ^e\n^d:\n{LOAD}cf.br ^e\n^e:\n"
            f"{ALL}{STORE}return\n",
            set(),
        ),
        (
            "cf.switch %n : i64, [default: ^d, 1: ^x, 2: ^e]\n^x:\n" + LOAD + f"cf.br ^e\n^d:\n{LOAD}cf.br ^e\n^e:\n"
            f"{ALL}{STORE}return\n",
            {"core/definite"},
        ),
        (
            (
                f'"cf.cond_br"(%on)[^x, ^y] <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : (i1) -> ()\n^x:\n{LOAD}'
                f'"cf.br"()[^y] : () -> ()\n^y:\n{LOAD}return\n'
            ),
            {"core/hazard-waw"},
        ),
        (
            (
                f"cf.br ^h(%z : i64)\n^h(%i: i64):\n{LOAD}{ALL}%j = arith.addi %i, %one : i64\n"
                "%c = arith.cmpi slt, %j, %four : i64\n"
                f"cf.cond_br %c, ^h(%j : i64), ^e\n^e:\n{STORE}return\n"
            ),
            set(),
        ),
        (
            (
                f"cf.br ^h(%z : i64)\n^h(%i: i64):\n%c = arith.cmpi slt, %i, %n : i64\n"
                f"cf.cond_br %c, ^x, ^e\n^x:\n{LOAD}{ALL}"
                f"%j = arith.addi %i, %one : i64\ncf.br ^h(%j : i64)\n^e:\n{STORE}return\n"
            ),
            set(),
        ),
    ],
)
def test_branches_meet_where_their_blocks_meet(body: str, rules: set[str]) -> None:
    assert {f.rule for f in check(body).errors} == rules


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (f"cf.br ^x\n^x:\n{LOAD}cf.br ^x\n", "never ends"),
        (
            f"cf.cond_br %on, ^x, ^y\n^x:\n{LOAD}cf.cond_br %on, ^y, ^e\n^y:\ncf.cond_br %on, ^x, ^e\n^e:\nreturn\n",
            "jump into each other",
        ),
        (
            f"cf.br ^h\n^h:\ncf.cond_br %on, ^x, ^e\n^x:\n{LOAD}cf.cond_br %on, ^h, ^e\n^e:\nreturn\n",
            "at several places",
        ),
        (f"cf.br ^h\n^h:\n{LOAD}cf.cond_br %on, ^h, ^e\n^e:\nreturn\n", "how often the loop of blocks"),
        (f"{LOAD}cf.br ^nowhere\n^x:\nreturn\n", "none of this region"),
        (f"{LOAD}cf.br ^x(%n : i64)\n^x:\nreturn\n", "takes 0 values"),
        (f"cf.br ^x\n^x:\n{LOAD}", "ends without saying where it goes on"),
        (f"cf.switch %n : i64, [1: ^x]\n^x:\n{LOAD}return\n", "one block to go on at otherwise"),
        (f"{LOAD}cf.br ^x\n{LOAD}^x:\nreturn\n", "the first block` ends without saying"),
    ],
)
def test_a_graph_that_is_not_followed_is_unknown_with_its_reason(body: str, why: str) -> None:
    found = check(body)
    assert found.status is not Status.PROVED
    assert any(why in f.message for f in found.findings), [f.message for f in found.findings]


def test_a_block_that_nothing_reaches_is_a_copy_that_never_runs() -> None:
    found = check(f"{LOAD}cf.br ^e\n^x:\n{LOAD}cf.br ^e\n^e:\nreturn\n")
    assert found.status is Status.PROVED
    assert "1 copy never runs" in found.claim


def test_a_region_of_an_unknown_operation_whose_block_takes_values_is_not_followed() -> None:
    loop = "%r = some.loop (%i = %n) : (i64) -> i64 {\nsome.condition(%on) %i : i64\n} do {\n^bb0(%x: i64):\n"
    found = check(f"{loop}{LOAD}scf.yield %x : i64\n}}\nreturn\n")
    assert found.status is Status.UNKNOWN
    assert any("some.loop" in f.message for f in found.findings)


SWITCH = "cf.switch %on : i1, [default: ^{default}, {case}: ^{to}]\n"


@pytest.mark.parametrize(("case", "on"), [("0", 0), ("1", 1), ("-1", 1)])
@pytest.mark.parametrize("stores", [0, 1])
def test_a_switch_on_one_bit_takes_the_case_that_it_names(case: str, on: int, stores: int) -> None:
    """The load is in the case, the store where the bit is `stores`."""
    ways = ("^s, ^e", "^e, ^s")[1 - stores]
    body = f"{SWITCH.format(default='a', case=case, to='b')}^b:\n{LOAD}cf.br ^a\n^a:\n{ALL}"
    body += f"cf.cond_br %on, {ways}\n^s:\n{STORE}cf.br ^e\n^e:\nreturn\n"
    assert said(check(body)) == ((Status.PROVED, set()) if on == stores else (Status.REFUTED, {"core/definite"}))
    _, (function,) = read_kernels(Source("k.mlir", HEAD + body + "}\n"))
    ran = [run_kernel(function, {"a": 64, "b": 64}, {"n": n}).found for n in (7, 1)]  # %on is 0, then 1
    assert ("definite" in ran[stores]) is (on != stores)
    assert not ran[1 - stores]


@pytest.mark.parametrize("case", ["0", "1"])
@pytest.mark.parametrize("stays", [True, False])
def test_a_loop_that_a_switch_ends_runs_while_its_case_says(case: str, stays: bool) -> None:
    to, default = ("x", "e") if stays else ("e", "x")
    body = "cf.br ^h(%z : i64)\n^h(%i: i64):\n%c = arith.cmpi slt, %i, %four : i64\n"
    body += SWITCH.replace("%on", "%c").format(default=default, case=case, to=to)
    body += f"^x:\n{LOAD}{ALL}%j = arith.addi %i, %one : i64\ncf.br ^h(%j : i64)\n^e:\n{STORE}return\n"
    runs = stays is (case == "1")  # else it is left at once, and nothing is loaded
    assert check(body).status is (Status.PROVED if runs else Status.REFUTED)
