"""Loops of steps on pipes that may swap two copies: a plan's loop, its steps written out and a kernel say the same."""

from __future__ import annotations

import pytest

from dmaverify import api
from dmaverify.errors import Source
from dmaverify.machines.pto.check import check_text
from dmaverify.verdict import Status, Verdict

ROWS = 4
HEAD = 'schema = 1\ntarget = "pto"\naxes = { A = 16, C = 64 }\n'
WAR, WAW = ("core/hazard-war",), ("core/hazard-waw",)

CASES = {  # where the source and the destination of iteration t begin, in rows: first, and by how much they move
    "rows down": ((1, 1), (0, 1), WAR),
    "rows down, two at once": ((2, 2), (0, 2), WAR),
    "rows down, each on its own": ((16, 1), (0, 1), ()),
    "one row again": ((16, 1), (0, 0), WAW),
    "from one row": ((16, 0), (0, 1), ()),
    "from one row, onto itself too": ((1, 0), (0, 1), ("core/hazard-raw", *WAR)),
}


def side(name: str, first: int, step: int) -> str:
    at, shown = ("0", "A = 1, C") if not step else (f"{step} * t", f"A = {step * ROWS}, C")
    view = f', view = {{ tile = "A = {step * ROWS}", length = 1, start = "{at}", partial = true }}' if step else ""
    return f'{name} = {{ tier = "ub", base = {64 * first}, element = "{shown}"{view} }}\n'


def looped(read: tuple[int, int], write: tuple[int, int], how: str = "", stream: str = "C") -> list[Verdict]:
    flow = f'stream = {{ packet = "{stream}" }}\n' if stream else ""
    move = f'[transfer.t]\ndtype = "i8"\nloop = {{ t = {ROWS} }}\n{flow}{side("source", *read)}{side("dest", *write)}'
    order = 'order = "written"\n' if how == "written" else ""
    context = ', context = "c"' if how == "context" else ""
    return api.check(f'{HEAD}{move}[program.p]\n{order}holds = ["ub"]\nstep = [{{ transfer = "t"{context} }}]\n')


def written_out(read: tuple[int, int], write: tuple[int, int]) -> Verdict:
    text, steps = HEAD, []
    for t in range(ROWS):
        text += f'[transfer.t{t}]\ndtype = "i8"\nstream = {{ packet = "C" }}\n'
        text += "".join(side(name, one[0] + t * one[1], 0) for name, one in (("source", read), ("dest", write)))
        steps.append(f'{{ transfer = "t{t}" }}')
    return api.check(f'{text}[program.p]\nholds = ["ub"]\nstep = [{", ".join(steps)}]\n', "p")[0]


def kernel(read: tuple[int, int], write: tuple[int, int]) -> Verdict:
    lines = ["func.func @k() {", *(f"%c{n} = arith.constant {n} : index" for n in (0, 1, ROWS))]
    lines += [f"%l{n} = arith.constant {n} : i64" for n in (0, 1, 2)]
    body = ["%i = arith.index_cast %t : index to i64"]
    for name, (first, step) in (("s", read), ("d", write)):
        lines += [f"%{name}0 = arith.constant {64 * first} : i64", f"%{name}1 = arith.constant {64 * step} : i64"]
        body += [f"%{name}2 = arith.muli %i, %{name}1 : i64", f"%{name}3 = arith.addi %{name}2, %{name}0 : i64"]
        body.append(f"%{name} = pto.castptr %{name}3 : i64 -> !pto.ptr<i8, ub>")
    types = "!pto.ptr<i8, ub>, !pto.ptr<i8, ub>, i64, i64, i64, i64"
    body.append(f"pto.mte_ub_ub %s, %d, %l2 nburst(%l1, %l0, %l0) : {types}")
    lines += [f"scf.for %t = %c0 to %c{ROWS} step %c1 {{", *body, "}", "return", "}", ""]
    return check_text(Source("k.mlir", "\n".join(lines)))[0]


def hazards(verdict: Verdict) -> tuple[str, ...]:
    return tuple(sorted({one.rule for one in verdict.errors if one.rule.startswith("core/hazard")}))


@pytest.mark.parametrize("name", CASES)
def test_a_loop_of_copies_on_one_pipe_is_in_no_other_order_than_its_steps_written_out(name: str) -> None:
    *sides, wanted = CASES[name]
    _, program = looped(*sides)
    assert hazards(program) == hazards(written_out(*sides)) == hazards(kernel(*sides)) == wanted
    assert (program.status is Status.REFUTED) is bool(wanted)


@pytest.mark.parametrize("how", ["written", "context"])
def test_what_states_the_order_of_copies_orders_the_iterations_of_one(how: str) -> None:
    for read, write, _ in CASES.values():
        assert looped(read, write, how)[1].status is Status.PROVED


@pytest.mark.parametrize("stream", ["C", ""])
@pytest.mark.parametrize("name", ["rows down", "rows down, two at once", "rows down, each on its own"])
def test_a_looped_copy_by_itself_reads_nothing_that_another_iteration_writes(name: str, stream: str) -> None:
    *sides, wanted = CASES[name]
    move, _ = looped(*sides, stream=stream)
    assert {one.rule for one in move.errors} == ({"core/overlap"} if wanted else set())
