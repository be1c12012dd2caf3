"""Where parts meet: loops, branches, carried values, masks and flags judged once for all values of an argument, and run
byte by byte for each of them. What some run shows is refuted; what no run shows is proved.
"""

from __future__ import annotations

import pytest

from dmaverify.errors import Source
from dmaverify.language.affine import Lin
from dmaverify.machines.pto.check import check_text
from dmaverify.machines.pto.execute import run_kernel
from dmaverify.machines.pto.named import named_in
from dmaverify.machines.pto.read import read_kernels
from dmaverify.program.rewrite import put_in
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.order.pipes import PipeJudge
from dmaverify.verdict import Status

GM, UB = "!pto.ptr<f32, gm>", "!pto.ptr<f32, ub>"
REGISTER, MASK = "!pto.vreg<64xf32>", "!pto.mask<b32>"
CATEGORY = {
    "core/definite": "definite",
    "core/flags": "flags",
    "core/hazard-raw": "raw",
    "core/hazard-war": "war",
    "core/hazard-waw": "waw",
    "core/in-bounds": "bounds",
    "pto/ub-capacity": "capacity",
}
HEAD = (
    "// dmaverify: gm %g = 65536 bytes\n// dmaverify: gm %h = 4096 bytes\n"
    f"func.func @k(%g: {GM}, %h: {GM}, %n: index, %b: i1) {{\n"
    + "".join(f"  %c{i} = arith.constant {i} : index\n" for i in (0, 1, 2, 3, 4, 5, 64))
    + "".join(f"  %l{i} = arith.constant {i} : i64\n" for i in (0, 1, 200, 224, 256))
    + "  %far = arith.constant 32768 : i64\n"
    + f"  %p = pto.castptr %l0 : i64 -> {UB}\n  %q = pto.castptr %far : i64 -> {UB}\n"
)
ALL = "pto.barrier #pto.pipe<PIPE_ALL>\n"


def load(ub: str, gm: str = "%g", size: int = 256, *, alone: bool = True) -> str:
    row = f"%l{size} nburst(%l1, %l256, %l256)"
    return f"pto.mte_gm_ub {gm}, {ub}, %l0, {row} : {GM}, {UB}, i64, i64, i64, i64, i64\n" + (ALL if alone else "")


def store(ub: str, gm: str = "%h", size: int = 256, *, alone: bool = True) -> str:
    row = f"%l{size} nburst(%l1, %l256, %l256)"
    return f"pto.mte_ub_gm {ub}, {gm}, {row} : {UB}, {GM}, i64, i64, i64, i64\n" + (ALL if alone else "")


def at(name: str, index: str, base: str = "%p", kind: str = UB) -> str:
    """A row of 256 bytes further on for each of `index`."""
    return f"%o{name} = arith.muli {index}, %c64 : index\n%{name} = pto.addptr {base}, %o{name} : {kind} -> {kind}\n"


def loop(body: str, high: str = "%n", counter: str = "%i", low: str = "%c0") -> str:
    return f"scf.for {counter} = {low} to {high} step %c1 {{\n{body}}}\n"


def when(predicate: str, left: str, right: str, then: str, other: str = "") -> str:
    name = f"%if{abs(hash((predicate, left, right, then, other))) % 100000}"
    behind = f"}} else {{\n{other}" if other else ""
    return f"{name} = arith.cmpi {predicate}, {left}, {right} : index\nscf.if {name} {{\n{then}{behind}}}\n"


def vector(ub: str) -> str:
    name = f"%v{abs(hash(ub)) % 1000}"
    return f"{name} = pto.vlds %q[%c0] : {UB} -> {REGISTER}\npto.vsts {name}, {ub}[%c0] : {REGISTER}, {UB}\n"


def flag(action: str, event: str, one: str = "MTE2", two: str = "MTE3") -> str:
    return f'pto.{action}_flag["PIPE_{one}", "PIPE_{two}", "EVENT_ID{event}"]\n'


def agree(body: str, low: int, high: int, expected: set[str]) -> None:
    """The verdict for low..high is what runs for every value show."""
    source = Source("k.mlir", f"// dmaverify: assume %n in {low}..{high}\n{HEAD}{body}return\n}}\n")
    (verdict,) = check_text(source)
    _, (function,) = read_kernels(source)
    ran: set[str] = set()
    for n in range(low, high + 1):
        for bit in (0, 1):
            ran |= run_kernel(function, {"g": 65536, "h": 4096}, {"n": n, "b": bit}).found
    assert ran == expected
    assert {CATEGORY[f.rule] for f in verdict.errors} == ran
    assert verdict.status is (Status.REFUTED if ran else Status.PROVED)
    assert not any("written before" in said for said in verdict.assumptions)


# ---------------------------------------------------------------- bytes that nothing wrote


@pytest.mark.parametrize("least", [0, 1])
def test_an_inner_loop_that_may_not_run_writes_nothing_surely(least: int) -> None:
    inner = loop(vector("%p"), counter="%j")
    body = load("%q") + "pto.vecscope {\n" + loop(inner, high="%c4") + "}\n" + ALL + store("%p")
    agree(body, least, 3, set() if least else {"definite"})


@pytest.mark.parametrize("high", [6, 20])
def test_an_inner_loop_runs_in_some_iterations_and_not_in_others(high: int) -> None:
    """Round i of the outer loop writes i rows: with two rounds row 0 is written, though the first one writes none."""
    rows = loop(loop(at("x", "%k") + load("%x"), high="%i", counter="%k"))
    agree(rows + store("%p"), 1, high, {"definite"})
    agree(rows + store("%p"), 2, high, set())


@pytest.mark.parametrize("high", [5, 6])
def test_what_only_later_iterations_do_is_judged(high: int) -> None:
    body = load("%q") + loop(when("sge", "%i", "%c5", store("%p")))
    agree(body, 1, high, {"definite"} if high > 5 else set())


@pytest.mark.parametrize("high", [5, 9])
def test_what_holds_where_a_loop_ends_early_holds_nowhere_else(high: int) -> None:
    body = loop(load("%p") + store("%p")) + when("sgt", "%n", "%c5", store("%q"))
    agree(body, 2, high, {"definite"} if high > 5 else set())


def test_each_iteration_takes_its_own_side_of_a_branch() -> None:
    even = "%m = arith.remui %i, %c2 : index\n"
    ahead = "%i1 = arith.addi %i, %c1 : index\n" + at("y", "%i1") + load("%y")
    rest = loop(at("z", "%k") + store("%z"), counter="%k", low="%c1")
    agree(loop(even + when("eq", "%m", "%c0", at("x", "%i") + load("%x"), ahead)) + rest, 2, 6, {"definite"})
    agree(
        loop(even + when("eq", "%m", "%c0", at("x", "%i") + load("%x"), at("y", "%i") + load("%y"))) + rest, 2, 6, set()
    )


def test_only_the_first_iteration_does_what_is_said_of_it() -> None:
    again = loop(at("y", "%k") + store("%y"), counter="%k")
    agree(loop(when("eq", "%i", "%c0", at("x", "%i") + load("%x"))) + again, 1, 1, set())
    agree(loop(when("eq", "%i", "%c0", at("x", "%i") + load("%x"))) + again, 1, 2, {"definite"})


@pytest.mark.parametrize(("index", "found"), [("%i", set()), ("%e", {"definite"})])
def test_an_iteration_reads_what_it_wrote_itself_not_what_others_will(index: str, found: set[str]) -> None:
    inner = at("x", "%i") + load("%x") + "%e = arith.subi %c3, %i : index\n" + at("y", index) + store("%y")
    body = loop(at("f", "%r", "%q") + load("%f") + loop(inner, high="%c4"), counter="%r")
    agree(body, 1, 9 if not found else 4, found)


@pytest.mark.parametrize("gate", ["%c0", "%c1"])
def test_a_condition_keeps_what_a_loop_told_of_the_same_value(gate: str) -> None:
    agree(loop(load("%p")) + when("sgt", "%n", gate, store("%p")), 0, 8, set())
    agree(loop(load("%p")) + when("sge", "%n", "%c0", store("%p")), 0, 8, {"definite"})


def test_a_tail_that_the_next_iteration_leaves_is_unknown_again() -> None:
    one = "%m = arith.minsi %i, %c1 : index\n" + at("x", "%m")
    agree(loop(load("%p", size=200) + one + load("%x")) + store("%p"), 1, 1, set())
    agree(loop(load("%p", size=200) + one + load("%x")) + store("%p"), 1, 2, {"definite"})


# ---------------------------------------------------------------- carried values


@pytest.mark.parametrize("most", [2, 3, 5])
def test_a_carried_value_behind_its_loop_is_that_of_the_last_iteration(most: int) -> None:
    swap = f"%r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %p, %y = %q) -> ({UB}, {UB}) {{\n"
    swap += f"scf.yield %y, %x : {UB}, {UB}\n}}\n"
    agree(load("%p") + load("%q") + swap + store("%r#0") + store("%r#1"), 0, most, set())
    agree(load("%p") + swap + store("%r#0"), 0, most, {"definite"})
    bit = "%r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c1) -> (index) {\n%y = arith.subi %c1, %x : index\n"
    agree(load("%p") + bit + "scf.yield %y : index\n}\n" + at("z", "%r", "%h", GM) + store("%p", "%z"), 0, most, set())


# ---------------------------------------------------------------- flags and tokens


def test_what_one_condition_sets_the_same_condition_waits_for_behind_a_loop() -> None:
    between = loop(load("%q") + flag("set", "3") + flag("wait", "3"))
    first = when("sgt", "%n", "%c2", load("%p", alone=False) + flag("set", "0"))
    agree(first + between + when("sgt", "%n", "%c2", flag("wait", "0") + store("%p")), 0, 20, set())
    agree(first + between + when("sgt", "%n", "%c1", flag("wait", "0") + store("%p")), 3, 20, set())
    agree(first + between + when("sgt", "%n", "%c3", flag("wait", "0") + store("%p")), 0, 20, {"flags"})


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize(("sets", "waits", "found"), [(2, 2, set()), (1, 2, {"flags"}), (2, 1, {"flags"})])
def test_a_ring_without_prime_waits_where_it_comes_round(outer: bool, sets: int, waits: int, found: set[str]) -> None:
    """Waits begin with iteration `waits`; flags of the last `sets` iterations are waited for behind the loop."""
    ring = "%m = arith.remui %i, %c2 : index\n%e = arith.index_cast %m : index to i64\n" + at("x", "%m")

    def dyn(action: str, one: str, two: str) -> str:
        return f'pto.{action}_flag_dyn["PIPE_{one}", "PIPE_{two}", %e]\n'

    body = ring + when("sge", "%i", f"%c{waits}", dyn("wait", "MTE3", "MTE2"))
    body += at("s", "%i").replace("%p,", "%g,").replace(UB, GM) + at("d", "%i").replace("%p,", "%h,").replace(UB, GM)
    body += load("%x", "%s", alone=False) + dyn("set", "MTE2", "MTE3") + dyn("wait", "MTE2", "MTE3")
    body += store("%x", "%d", alone=False) + dyn("set", "MTE3", "MTE2")
    drain = "".join(when("sgt", "%n", f"%c{k}", flag("wait", str(k), "MTE3", "MTE2")) for k in range(sets))
    whole = loop(body) + drain
    agree(loop(whole + ALL, "%c3", "%o") if outer else whole, 0, 6, found)


@pytest.mark.parametrize(("token", "found"), [("%e", set()), ("%z", {"raw"})])
def test_a_token_that_an_argument_chooses_is_told_apart(token: str, found: set[str]) -> None:
    chosen = "%m = arith.remui %n, %c2 : index\n%e = arith.index_cast %m : index to i64\n"
    chosen += "%z = arith.subi %l1, %e : i64\n"

    def held(pipe: str, work: str, name: str) -> str:
        get, rls = (f'pto.{action}_buf_dyn "PIPE_{pipe}", {name}, %l0 : i64, i64\n' for action in ("get", "rls"))
        return get + work + rls

    body = chosen + held("MTE2", load("%p", alone=False), "%e") + held("MTE3", store("%p", alone=False), token)
    agree(body, 0, 5, found)


# ---------------------------------------------------------------- arithmetic


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("%x = arith.minui %d, %c3 : index\n", set()),  # -1 is the largest of all
        ("%x = arith.minsi %d, %c3 : index\n", {"bounds"}),
        ("%x = arith.maxsi %d, %c0 : index\n", set()),
        ("%x = arith.divsi %d, %c2 : index\n", set()),  # towards zero: -1 / 2 is 0
        ("%x = arith.floordivsi %d, %c2 : index\n", {"bounds"}),
        ("%x = arith.remsi %d, %c2 : index\n", {"bounds"}),
        ("%x = arith.remui %d, %c2 : index\n", set()),
        ("%x = arith.divui %d, %c2 : index\n", {"bounds"}),
        ("%t = arith.trunci %n : index to i1\n%x = arith.extui %t : i1 to index\n", set()),
        ("%t = arith.trunci %n : index to i1\n%x = arith.extsi %t : i1 to index\n", {"bounds"}),
        ("%t = arith.cmpi ult, %d, %c4 : index\n%x = arith.select %t, %d, %c0 : index\n", set()),
        ("%t = arith.cmpi slt, %d, %c4 : index\n%x = arith.select %t, %d, %c0 : index\n", {"bounds"}),
    ],
)
def test_arithmetic_of_negative_values_is_that_of_the_machine(lines: str, found: set[str]) -> None:
    before = "%d = arith.subi %n, %c1 : index\n"
    agree(load("%p") + before + lines + at("y", "%x", "%h", GM) + store("%p", "%y"), 0, 6, found)


def test_a_flag_argument_is_zero_or_one() -> None:
    x = "%x = arith.select %b, %n, %c0 : index\n" + at("y", "%x", "%h", GM)
    agree(load("%p") + x + store("%p", "%y"), 0, 15, set())
    agree(load("%p") + x + store("%p", "%y"), 0, 16, {"bounds"})


def test_what_a_loop_told_of_an_argument_holds_behind_it() -> None:
    """Where the argument is odd all is waited for; where it is even the store lies beside the row that is read."""
    odd = "%m = arith.remui %n, %c2 : index\n"
    ahead = at("w", "%n", "%h", GM) + store("%p", "%w", alone=False) + when("eq", "%m", "%c1", ALL)
    turns = 'pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]\npto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID0"]\n'
    fence = 'pto.pipe_barrier "PIPE_MTE3"\n'
    behind = at("r", "%m", "%h", GM) + load("%q", "%r")
    agree(load("%p") + odd + loop(fence + ahead + turns) + behind, 1, 4, set())
    agree(load("%p") + odd + loop(fence + ahead + turns) + load("%q", "%w2").replace("%w2", "%h"), 0, 4, set())
    twice = at("r", "%e2", "%h", GM) + load("%q", "%r")
    agree(load("%p") + odd + "%e2 = arith.addi %m, %c2 : index\n" + loop(fence + ahead + turns) + twice, 1, 4, {"raw"})


def test_tails_between_the_rows_of_a_loop_leave_what_is_stored() -> None:
    short = loop(at("x", "%i") + load("%x", size=200))
    agree(short + loop(at("y", "%k") + store("%y", size=200), counter="%k"), 1, 6, set())
    agree(short + loop(at("y", "%k") + store("%y", size=224), counter="%k"), 1, 6, {"definite"})


@pytest.mark.parametrize(("least", "found"), [(2, set()), (1, {"flags"}), (3, {"flags", "war", "waw"})])
def test_the_first_rounds_wait_for_nothing_and_the_last_ones_leave_nothing(least: int, found: set[str]) -> None:
    """Two buffers in turn without flags before and behind the loop: round i waits for the one two rounds before."""
    event = "PIPE_MTE3, PIPE_MTE2, %m"
    wait = when("uge", "%i", "%c2", f"pto.wait_flag_dyn[{event}]\n")
    left = "%left = arith.subi %n, %i : index\n"
    give = left + when("ugt", "%left", f"%c{least}", f"pto.set_flag_dyn[{event}]\n")
    turn = "%m = arith.remui %i, %c2 : index\n" + at("x", "%m") + wait
    rows = load("%x", alone=False) + flag("set", 0) + flag("wait", 0) + at("y", "%m", "%h", GM)
    fence = 'pto.pipe_barrier "PIPE_MTE3"\n'
    agree(loop(turn + rows + fence + store("%x", "%y", alone=False) + give) + ALL, 3, 8, found)


# ---------------------------------------------------------------- what a loop does before it knows whether it goes on


def until(before: str, body: str, *, square: bool = False) -> str:
    """`scf.while` with accesses in both of its regions; how often a square stays below %n no form says."""
    test = "%w = arith.muli %u, %u : index\n" if square else ""
    return (
        f"%end = scf.while (%u = %c0) : (index) -> (index) {{\n{before}{test}"
        f"%more = arith.cmpi ult, {'%w' if square else '%u'}, %n : index\n"
        "scf.condition(%more) %u : index\n} do {\n^bb0(%t: index):\n"
        f"{body}%next = arith.addi %t, %c1 : index\nscf.yield %next : index\n}}\n"
    )


@pytest.mark.parametrize("square", [False, True])
def test_what_stands_before_the_condition_runs_once_more_than_the_body(square: bool) -> None:
    """Row 0 is written even where the body never runs, and the row behind the last as well."""
    ahead = at("x", "%u") + load("%x")
    agree(until(ahead, "", square=square) + store("%p"), 0, 5, set())
    agree(until("", at("x", "%t") + load("%x"), square=square) + store("%p"), 0, 5, {"definite"})
    agree(until(ahead, "", square=square) + store("%far2").replace("%far2", "%q"), 0, 5, {"definite"})
    last = "%l4 = arith.constant 4 : i64\n"
    flow = load("%p", alone=False) + "\n"
    agree(until(flow, ALL, square=square), 0, 5, set())
    agree(until(flow, "", square=square), 0, 5, {"waw"})
    agree(until("", flow + ALL, square=square) + last + load("%p"), 0, 5, set())


@pytest.mark.parametrize("square", [False, True])
def test_a_loop_ends_before_what_its_condition_forbids(square: bool) -> None:
    """261,120 is the last row but three: the third round's is the last that fits, and what comes behind does not."""
    high = "%top = arith.constant 261376 : i64\n" + f"%last = pto.castptr %top : i64 -> {UB}\n"
    ahead, most = at("x", "%u", "%last") + load("%x"), 4 if square else 2
    agree(high + until(ahead, "", square=square), 0, most, set())
    agree(high + until(ahead, "", square=square), 0, most + 1, {"capacity"})
    rows = at("x", "%t", "%last") + load("%x")
    agree(high + until("", rows, square=square), 0, 9 if square else 3, set())
    agree(high + until("", rows, square=square), 0, 10 if square else 4, {"capacity"})


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_flattened_loop_that_does_not_run_touches_nothing(n: int) -> None:
    """The row behind the last is that of the first round, where there is none."""
    rows = at("x", "%i", "%h", GM) + store("%p", "%x", alone=False)
    text = HEAD + loop(rows) + at("y", "%n", "%h", GM) + store("%p", "%y", alone=False) + "return\n}\n"
    (named,) = named_in(Source("k.mlir", text))
    kernel = named.kernel()
    judge = PipeJudge(Asker(kernel.world, 1_000_000), ("V", "S"), ("gm",), coarse=True)
    judge.judge([put_in(event, kernel.world, {"n": Lin(n)}) for event in kernel.events])
    assert not judge.findings
