"""Kernels on several cores: steps and shares by the number of cores, turns of buffers, what is read from tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lab.draws import rest

from dmaverify.errors import Source
from dmaverify.jobs.same_kernels import same_functions
from dmaverify.language.affine import Lin, World
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.named import named_in
from dmaverify.machines.pto.read import read_kernels
from dmaverify.machines.pto.surfaces import in_surface
from dmaverify.verdict import Status, Verdict

CORPUS = Path(__file__).parent / "corpus"
REAL = sorted(CORPUS.glob("real-*.mlir"))
HEAD = """func.func @k(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>, %n: index, %m: index, %w: i64) {
  %bid64 = pto.get_block_idx
  %num64 = pto.get_block_num
  %bid = arith.index_cast %bid64 : i64 to index
  %num = arith.index_cast %num64 : i64 to index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c256 = arith.constant 256 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %half = arith.constant 512 : i64
  %k = arith.constant 1024 : i64
  %u = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
"""
TAIL = "  return\n}\n"
TYPES = ": !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64"
BACK = ": !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64"
LOAD = f"  pto.mte_gm_ub %s, %t, %z, %k nburst(%one, %k, %k) {TYPES}\n"
STORE = f"  pto.mte_ub_gm %t, %d, %k nburst(%one, %k, %k) {BACK}\n"
ROW = """  %at = arith.muli %row, %c256 : index
  %s = pto.addptr %a, %at : <f32, gm> -> <f32, gm>
  %d = pto.addptr %b, %at : <f32, gm> -> <f32, gm>
"""
HERE = "  %t = pto.addptr %u, %c0 : <f32, ub> -> <f32, ub>\n"
THERE = (
    '  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]\n'
)
AGAIN = (
    '  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]\n  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]\n'
)
COPY = ROW + HERE + LOAD + THERE + STORE + AGAIN


def notes(rows: int, more: str = "") -> str:
    return f"// dmaverify: gm %a = {rows}x256xf32\n// dmaverify: gm %b = {rows}x256xf32\n{more}"


def assume(name: str, low: int, high: int) -> str:
    return f"// dmaverify: assume %{name} in {low}..{high}\n"


def check(inside: str, said: str = "") -> Verdict:
    (verdict,) = check_text(Source("k.mlir", said + HEAD + inside + TAIL))
    return verdict


def errors(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.errors}


def proved(verdict: Verdict) -> None:
    assert verdict.status is Status.PROVED, [f.message for f in verdict.findings] + [
        (o.id, o.why) for o in verdict.obligations if o.status == "unknown"
    ]


# ---------------------------------------------------------------- steps and shares


def strided(step: str = "%num", high: str = "%n", body: str = COPY) -> str:
    return f"  scf.for %row = %bid to {high} step {step} {{\n{body}  }}\n"


def test_every_core_takes_each_so_many_th_row() -> None:
    proved(check(strided(), notes(100, assume("n", 0, 100))))
    assert errors(check(strided(), notes(99, assume("n", 0, 100)))) == {"core/in-bounds"}
    without = COPY.replace(AGAIN, "")
    assert "core/hazard-war" in errors(check(strided(body=without), notes(100, assume("n", 0, 100))))


def test_a_step_that_is_an_argument_is_taken_to_be_positive_and_that_is_said() -> None:
    verdict = check(strided("%m"), notes(100, assume("n", 0, 100)))
    proved(verdict)
    assert any("`%m`" in a and "at least 1" in a for a in verdict.assumptions)
    stated = check(strided("%m"), notes(100, assume("n", 0, 100) + assume("m", 1, 8)))
    assert not any("at least 1" in a for a in stated.assumptions)


def test_a_step_that_is_never_positive_is_unresolved() -> None:
    for step in ("%c0", "%m"):
        verdict = check(strided(step), notes(100, assume("n", 0, 100) + assume("m", -3, 0)))
        assert verdict.status is Status.UNKNOWN
        assert any("at least 1" in f.message for f in verdict.findings)


SHARE = """  %per = arith.divui %n, %num : index
  %lo = arith.muli %bid, %per : index
  %hi = arith.addi %lo, %per : index
  scf.for %row = %lo to %hi step %c1 {
"""


def test_whole_shares_of_a_number_of_rows_stay_within_them() -> None:
    """No more rows than all cores together are reached, as a core's number is less than their count."""
    proved(check(SHARE + COPY + "  }\n", notes(100, assume("n", 1, 100))))
    bad = check(SHARE + COPY + "  }\n", notes(99, assume("n", 1, 100)))
    assert errors(bad) == {"core/in-bounds"}
    more = SHARE.replace(
        "%hi = arith.addi %lo, %per", "%more = arith.addi %per, %c1 : index\n  %hi = arith.addi %lo, %more"
    )
    assert errors(check(more + COPY + "  }\n", notes(100, assume("n", 1, 100)))) == {"core/in-bounds"}


def test_rounded_up_shares_need_the_end_as_a_limit() -> None:
    up = SHARE.replace("divui", "ceildivui")
    limited = up.replace("  scf.for", "  %end = arith.minui %hi, %n : index\n  scf.for").replace("to %hi", "to %end")
    proved(check(limited + COPY + "  }\n", notes(100, assume("n", 1, 100))))
    assert errors(check(up + COPY + "  }\n", notes(100, assume("n", 1, 100) + assume("num64", 3, 3)))) == {
        "core/in-bounds"
    }


def test_quotient_and_remainder_by_an_argument_give_the_number_back() -> None:
    body = """  %q = arith.divui %r, %m : index
  %e = arith.remui %r, %m : index
  %f = arith.muli %q, %m : index
  %row = arith.addi %f, %e : index
"""
    loop = strided(body=body + COPY).replace("%row = %bid", "%r = %bid")
    proved(check(loop, notes(100, assume("n", 0, 100) + assume("m", 1, 7))))
    wrong = loop.replace("%row = arith.addi %f, %e", "%row = arith.addi %f, %m")
    assert errors(check(wrong, notes(100, assume("n", 0, 100) + assume("m", 1, 7)))) == {"core/in-bounds"}


def test_the_number_of_cores_is_the_same_wherever_it_is_asked_for() -> None:
    again = "  %other64 = pto.get_block_num\n  %other = arith.index_cast %other64 : i64 to index\n"
    apart = "  %gap = arith.subi %other, %num : index\n  %row = arith.addi %bid, %gap : index\n"
    proved(check(again + apart + COPY, notes(8, assume("bid64", 0, 7))))


NEAR = COPY.replace(ROW, ROW.replace("%c256", "%c3"))
FROM_B = COPY.replace("%s = pto.addptr %a", "%s = pto.addptr %b")
FIRST = "  %on = arith.cmpi eq, %bid, %c0 : index\n  %row = arith.addi %c0, %c0 : index\n  scf.if %on {\n"
ADDED = COPY.replace(STORE, f"  pto.set_atomic_add\n  pto.set_atomic_f32\n{STORE}  pto.set_atomic_none\n")
PERHAPS = (
    "  %on = arith.cmpi eq, %m, %c1 : index\n  scf.if %on {\n    pto.set_atomic_add\n    pto.set_atomic_f32\n  }\n"
)
PERHAPS_ADDED = COPY.replace(STORE, f"{PERHAPS}{STORE}  pto.set_atomic_none\n")
ALL = strided("%c1").replace("%row = %bid", "%row = %c0")
SHORT = """  scf.for %row = %c0 to %n step %c1 {
  %p = arith.muli %row, %num : index
  %q = arith.muli %p, %c3 : index
  %e = arith.muli %bid, %c256 : index
  %at = arith.addi %q, %e : index
"""
ROWLESS = COPY.replace("  %at = arith.muli %row, %c256 : index\n", "")
NEXT = FROM_B.replace("%d = pto.addptr %b, %at", "%up = arith.addi %at, %c256 : index\n  %d = pto.addptr %b, %up")


@pytest.mark.parametrize(
    ("body", "meet"),
    [
        (strided(), False),
        (strided(body=NEAR), True),  # rows of 12 bytes more, 1,024 bytes each
        (ALL, True),
        (strided("%m"), True),
        (SHORT + ROWLESS + "  }\n", True),  # rounds lie 12 bytes apart for each core, places 1,024
        (SHORT.replace("%c3", "%c256") + ROWLESS + "  }\n", False),
        (strided("%c1"), True),  # the next row of one core is the first of another
        (ALL.replace(COPY, ADDED), False),  # each adds, in whatever order
        (ALL.replace(COPY, PERHAPS_ADDED), True),  # where %m is not 1, each overwrites
        (
            ALL.replace(STORE, "").replace(THERE, "").replace(AGAIN, "  pto.barrier #pto.pipe<PIPE_ALL>\n"),
            False,
        ),  # nobody writes
        (SHARE + COPY + "  }\n", False),
        (SHARE.replace("to %hi", "to %n") + COPY + "  }\n", True),
        (FIRST + COPY + "  }\n", False),
        (FIRST + "  } else {\n" + COPY + "  }\n", True),
        (FIRST.replace("eq,", "ne,") + COPY + "  }\n", True),
        ("  %row = arith.muli %bid, %c2 : index\n" + COPY, False),
        ("  %row = arith.divui %bid, %c2 : index\n" + COPY, True),
    ],
)
def test_cores_that_may_meet_in_global_memory_are_a_condition(body: str, meet: bool) -> None:
    verdict = check(
        body, notes(20000, assume("n", 0, 100) + assume("bid64", 0, 90) + assume("m", 1, 9) + assume("num64", 1, 91))
    )
    proved(verdict)
    assert any("no two cores of a launch" in said for said in verdict.conditions) is meet, verdict.conditions


ONE_PLACE = COPY.replace("%d = pto.addptr %b, %at", "%d = pto.addptr %b, %c0")
OWN = "  %row = arith.addi %bid, %c0 : index\n"
LEFT = OWN.replace("%c0", "%c1")
BEHIND = LEFT + FROM_B.replace(
    "%d = pto.addptr %b, %at", "%up = arith.muli %bid, %c256 : index\n  %d = pto.addptr %b, %up"
)
SYNCED = "  pto.sync.set <PIPE_MTE3>, 0\n"
OPAQUE = "  vendor.meet()\n"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (OWN + ONE_PLACE, "the first leaves what lay at %a, byte 0, the second what lay at %a, byte 1,024"),
        (OWN.replace("%bid", "%c0") + ONE_PLACE, ""),  # both leave the same
        (OWN + ONE_PLACE.replace(STORE, f"  pto.set_atomic_add\n  pto.set_atomic_f32\n{STORE}"), ""),
        (OWN + ONE_PLACE + SYNCED, ""),  # works with another core
        (OWN + ONE_PLACE + OPAQUE, ""),  # which may be what orders them
        (strided(body=NEXT), "of %b, which the"),  # one core reads the row that the other writes
        (BEHIND, "of %b, which the"),
        (OWN + FROM_B, ""),  # each its own row, in place
        (strided("%c1", body=FROM_B), ""),  # rows of others too, where each stores what lay there
        (strided().replace("%num", "%c2"), ""),  # of three cores two take the same rows, and leave the same there
    ],
)
def test_cores_whose_order_decides_what_a_byte_holds_are_refuted(body: str, found: str) -> None:
    ranges = assume("n", 0, 8) + assume("bid64", 0, 2) + assume("m", 1, 2) + assume("num64", 1, 3)
    verdict = check(body, notes(20, ranges))
    assert errors(verdict) == ({"core/cores-apart"} if found else set())
    assert not found or found in verdict.errors[0].message
    one = check(body, notes(20, ranges.replace("%bid64 in 0..2", "%bid64 in 0..0")))
    assert not errors(one)
    assert not any("no two cores" in said for said in one.conditions)


@pytest.mark.parametrize(("left", "divisor"), [(17, 5), (0, 3), (-7, 2), (12, 12), (5, 9)])
def test_a_quotient_by_a_term_is_the_floor_for_every_value(left: int, divisor: int) -> None:
    world = World()
    a, b = world.free("a", -20, 20), world.free("b", 1, 12)
    q = world.quotient(a, b)
    values = {"a": Lin(left), "b": Lin(divisor)}
    assert world.put(q, values) == Lin(left // divisor)
    low, high = world.interval(q)
    assert low is not None
    assert high is not None
    assert low <= left // divisor <= high
    assert all(world.put_cond(fact, values).known for fact in world.quotient_facts(q.terms[0][0]))


# ---------------------------------------------------------------- whose turn it is


TURN = """  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID2"]
  %r = scf.for %row = %c0 to %n step %c1 iter_args(%turn = %c0) -> (index) {
    %skip = arith.muli %turn, %c256 : index
    %t = pto.addptr %u, %skip : <f32, ub> -> <f32, ub>
    pto.wait_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]
"""
TURNED = """    pto.set_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %turn]
    pto.wait_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %turn]
"""
DONE = '    pto.set_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]\n    %up = arith.addi %turn, %c1 : index\n'
DRAIN = """    scf.yield %next : index
  }
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID2"]
"""
WRAPS = {
    "equal": "%w0 = arith.cmpi eq, %up, %c3 : index\n  %next = arith.select %w0, %c0, %up : index\n",
    "unlike": "%w0 = arith.cmpi ne, %up, %c3 : index\n  %next = arith.select %w0, %up, %c0 : index\n",
    "reached": "%w0 = arith.cmpi uge, %up, %c3 : index\n  %next = arith.select %w0, %c0, %up : index\n",
    "below": "%w0 = arith.cmpi ult, %up, %c3 : index\n  %next = arith.select %w0, %up, %c0 : index\n",
    "remainder": "%next = arith.remui %up, %c3 : index\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("wrap", WRAPS)
def test_three_buffers_in_turn_however_the_turn_is_counted(wrap: str) -> None:
    kernel = TURN + ROW + LOAD + TURNED + STORE + DONE + "    " + WRAPS[wrap] + DRAIN
    proved(check(kernel, notes(50, assume("n", 0, 50))))
    beyond = kernel.replace("%c3 :", "%c256 :")
    assert "core/flags" in errors(check(beyond, notes(50, assume("n", 5, 8))))
    closer = kernel.replace("%skip = arith.muli %turn, %c256", "%skip = arith.muli %c0, %c256")
    assert "core/hazard-war" in errors(check(closer, notes(50, assume("n", 0, 8))))


# ---------------------------------------------------------------- what is tried with numbers


def rows(loaded: str, stored: str, count: str = "%w") -> str:
    return (
        f"  pto.mte_gm_ub %a, %u, %z, {loaded} nburst({count}, %k, %k) {TYPES}\n{THERE}"
        f"  pto.mte_ub_gm %u, %b, {stored} nburst({count}, %k, %k) {BACK}\n"
    )


@pytest.mark.parametrize("range_", [assume("w", 1, 100), ""])
def test_rows_stored_longer_than_they_were_loaded_are_found_for_any_number_of_rows(range_: str) -> None:
    proved(check(rows("%k", "%half"), notes(100, range_)))
    verdict = check(rows("%half", "%k"), notes(100, range_))
    assert errors(verdict) == {"core/definite"}
    assert any("%w = " in f.message for f in verdict.errors)


def test_a_buffer_that_some_unstated_number_of_rows_fills_is_no_error() -> None:
    fill = "  scf.for %row = %c0 to %n step %c1 {\n" + COPY.replace(STORE, "").replace(THERE, "") + "  }\n"
    kernel = fill + THERE + f"  pto.mte_ub_gm %u, %b, %k nburst(%one, %k, %k) {BACK}\n"
    assert "core/definite" not in errors(check(kernel, notes(100)))
    assert "core/definite" in errors(check(kernel, notes(100, assume("n", 0, 100))))
    assert "core/definite" not in errors(check(kernel, notes(100, assume("n", 1, 100))))


def test_rows_that_overlap_by_a_distance_that_is_an_argument_are_found() -> None:
    padded = TYPES + ", pad f32, i64, i64"
    load = f"  pto.mte_gm_ub %a, %u, %z, %k nburst(%two, %k, %wide) pad(%nought, %z, %c32) {padded}\n"
    wide = "  %c32 = arith.constant 32 : i64\n  %wide = arith.muli %w, %c32 : i64\n"
    wide += "  %nought = arith.constant 0.0 : f32\n"
    proved(check(wide + load, assume("w", 36, 64)))
    assert errors(check(wide + load, assume("w", 35, 64))) == {"core/writes-once"}


# ---------------------------------------------------------------- equality


LARGE = ("real-heads", "real-softmax")


@pytest.mark.parametrize("path", [p if p.stem not in LARGE else rest([p])[0] for p in REAL], ids=lambda p: p.stem)
def test_a_whole_kernel_in_the_other_surface_is_proved_and_equal(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    (function,) = named_in(Source(path.name, text))
    other = in_surface([function], "inline" if "copy_gm_to_ubuf" in text else "registers")
    (second,) = named_in(Source("other.mlir", other))
    assert same_functions(function, second).status == "proved"
    said = "".join(re.findall(r"// dmaverify: (?:gm|assume) .*\n", text))
    (verdict,) = check_text(Source("other.mlir", said + other))
    proved(verdict)


TABLE = "  %id = pto.load_scalar %ids[{0}] : !pto.ptr<i32, ub> -> i32\n  %row = arith.index_cast %id : i32 to index\n"
IDS = "  %ids = pto.castptr %k : i64 -> !pto.ptr<i32, ub>\n"


def same(one: str, other: str) -> str:
    sides = [named_in(Source("k.mlir", HEAD + text + TAIL))[0] for text in (one, other)]
    return same_functions(*sides).status


def test_rows_by_numbers_from_one_table_are_the_same_rows() -> None:
    one = IDS + "  scf.for %i = %c0 to %n step %c1 {\n" + TABLE.format("%i") + COPY + "  }\n"
    assert same(one, one.replace("%id", "%named").replace("%nameds", "%ids")) == "proved"
    assert same(one, one.replace("%ids[%i]", "%ids[%c1]")) != "proved"
    assert same(one, one.replace("%row, %c256", "%row, %c2")) == "refuted"


def test_values_of_two_iterations_are_not_taken_for_one() -> None:
    """One kernel uses the first number twice: its text has as many loads, but other rows."""
    loop = IDS + "  scf.for %i = %c0 to %c2 step %c1 {\n" + TABLE.format("%i") + COPY + "  }\n"
    first = TABLE.format("%c0") + COPY
    second = TABLE.format("%c1") + COPY
    for name in ("%id ", "%row", "%at", "%s", "%d", "%t"):
        second = re.sub(re.escape(name.strip()) + r"\b", name.strip() + "_2", second)
    wrong = second.replace("arith.muli %row_2", "arith.muli %row")
    assert same(loop, IDS + first + wrong) != "proved"


# ---------------------------------------------------------------- the executor


@pytest.mark.parametrize(("core", "cores"), [(0, 1), (2, 3), (1, 4)])
def test_a_run_on_one_of_several_cores_finds_nothing_and_moves_its_rows(core: int, cores: int) -> None:
    _, (function,) = read_kernels(Source("k.mlir", HEAD + strided() + TAIL))
    size = {"a": 10 * 1024, "b": 10 * 1024}
    run = run_kernel(function, size, {"n": 10, "bid64": core, "num64": cores})
    assert run.found == set()
    assert len(run.copies) == 2 * len(range(core, 10, cores))


# ---------------------------------------------------------------- turns by the number of a row

PARITY = """  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  scf.for %row = {low} to %n step {step} {{
    %turn = {turn} : index
    %skip = arith.muli %turn, %c256 : index
    %t = pto.addptr %u, %skip : <f32, ub> -> <f32, ub>
    pto.wait_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]
"""
CLOSED = """    pto.set_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]
  }
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
"""


@pytest.mark.parametrize(("low", "step"), [("%m", "%c1"), ("%bid", "%num"), ("%c1", "%c1"), ("%bid", "%c3")])
def test_two_buffers_by_the_parity_of_a_row_that_starts_anywhere(low: str, step: str) -> None:
    said = notes(50, assume("n", 0, 50) + assume("m", 0, 50))
    kernel = PARITY.format(low=low, step=step, turn="arith.andi %row, %c1") + ROW + LOAD + TURNED + STORE + CLOSED
    proved(check(kernel, said))
    one_buffer = kernel.replace("arith.muli %turn", "arith.muli %c0")
    few = notes(50, assume("n", 0, 6) + assume("m", 0, 6))
    assert (low, step) == ("%bid", "%num") or "core/hazard-war" in errors(check(one_buffer, few))
    lost = kernel.replace(
        'wait_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]', 'wait_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %c0]'
    )
    assert "core/flags" in errors(check(lost, few))


def test_turns_by_the_number_of_the_round_are_those_of_the_rows() -> None:
    rounds = "arith.andi %round, %c1"
    count = "    %gone = arith.subi %row, %bid : index\n    %round = arith.divui %gone, %num : index\n    %turn ="
    kernel = PARITY.format(low="%bid", step="%num", turn=rounds).replace("    %turn =", count)
    proved(check(kernel + ROW + LOAD + TURNED + STORE + CLOSED, notes(50, assume("n", 0, 50))))


@pytest.mark.parametrize("value", range(-6, 7))
def test_remainders_of_sums_products_and_remainders_are_exact(value: int) -> None:
    world = World()
    a, b = world.free("a", -9, 9), world.free("b", -9, 9)
    product = world.times(a * 2 + 1, b)
    put = {"a": Lin(value), "b": Lin(value + 3)}
    for term in (a + 1, a + b, product, product + a, world.modulo(a, 4) + b, world.modulo(a, 6) * 5 - b):
        for divisor in (2, 3, 4):
            whole = world.put(term, put)
            assert world.put(world.modulo(term, divisor), put) == Lin(whole.const % divisor)


PICKED = """  %w = pto.castptr %half : i64 -> !pto.ptr<i32, ub>
  pto.mte_gm_ub %a, %u, %z, %half nburst(%one, %half, %half) {types}
  pto.barrier #pto.pipe<PIPE_ALL>
  %id = pto.load_scalar {base}[%c2] : !pto.ptr<i32, ub> -> i32
  %low = arith.andi %id, %few : i32
  %row = arith.index_cast {by} : i32 to index
"""


@pytest.mark.parametrize(
    ("base", "by", "status"),
    [
        ("%w", "%low", Status.UNKNOWN),  # of bytes that nothing wrote
        ("%v", "%low", Status.PROVED),
        ("%w", "%few", Status.PROVED),  # nothing follows from it
    ],
)
def test_a_number_that_decides_an_address_was_written_before_it_is_read(base: str, by: str, status: Status) -> None:
    head = "  %few = arith.constant 15 : i32\n  %v = pto.castptr %z : i64 -> !pto.ptr<i32, ub>\n"
    body = head + PICKED.format(types=TYPES, base=base, by=by) + "  pto.barrier #pto.pipe<PIPE_ALL>\n" + COPY
    verdict = check(body, notes(16))
    assert verdict.status is status, [f.message for f in verdict.findings]
    assert (status is not Status.UNKNOWN) or "numbers of the kernel depend on them" in str(verdict.obligations)
