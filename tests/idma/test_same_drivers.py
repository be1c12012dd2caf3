"""Two functions of C drivers are the same where nobody sees a difference, for all values of their arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.driver_pairs import answer, wrong
from lab.draws import counted, rest
from lab.driver_pairs import drawn_pair

from dmaverify.cli.app import invoke
from dmaverify.errors import Disagreement, InputError
from dmaverify.jobs.load import load
from dmaverify.jobs.same_drivers import same_driver_and_plan, same_drivers
from dmaverify.machines.idma.c import pairs
from dmaverify.machines.idma.c.arguments import Arguments, Symbols
from dmaverify.machines.idma.c.followed import followed
from dmaverify.machines.idma.same import driver_file
from dmaverify.prove.sameness import Sameness

HEAD = '#include "snrt.h"\n'
ONE = "snrt_dma_start_1d((void *)0x10000000, (void *)0x80000000, 64);"
OUT = "snrt_dma_start_1d((void *)0x90000000, (void *)0x10000000, 64);"
WAIT = "snrt_dma_wait_all();"


def compared(
    folder: Path,
    first: str,
    second: str,
    *defines: str,
    given: str = "void",
    other: str = "",
    engine: str = "manticore",
) -> Sameness:
    """The answer on two bodies of functions; `given` are the parameters of both."""
    names = []
    for name, body, parameters in (("one", first, given), ("two", second, other or given)):
        path = folder / f"{name}.c"
        path.write_text(body if "void f(" in body else f"{HEAD}void f({parameters}) {{ {body} }}\n")
        names.append(f"{path}::f")
    return same_drivers(names, rlimit=2_000_000, engine=[engine], defines=defines)[0]


def test_the_same_launches_with_the_same_complete_before_them_are_the_same_whatever_else_runs(tmp_path: Path) -> None:
    found = compared(
        tmp_path, f"{ONE} {WAIT} {OUT} {WAIT}", f"{ONE} {WAIT} {WAIT} {OUT.replace('64', '32 + 32')} {WAIT}"
    )
    assert (found.status, found.by, found.conditions) == ("proved", pairs.ACT_BY_ACT, ())


@pytest.mark.parametrize(
    ("second", "status", "said"),
    [
        (
            f"{ONE} {WAIT} {OUT.replace('64', '63')} {WAIT}",
            "refuted",
            "byte 2415919167 the first leaves what lay at mem",
        ),
        (f"{ONE} {WAIT} {OUT.replace('0x90000000', '0x90000001')} {WAIT}", "refuted", "byte 2415919104"),
        (f"{ONE} {OUT} {WAIT}", "unknown", "other launches are complete before launch 1"),
        (f"{ONE} {WAIT} {OUT}", "unknown", "launch 1 of f() may still run where it ends"),
        (f"{OUT} {WAIT} {ONE} {WAIT}", "refuted", "byte 2415919104 the first leaves what lay at mem, byte 2147483648"),
    ],
)
def test_what_differs_between_two_functions_is_shown_or_left_open(
    second: str, status: str, said: str, tmp_path: Path
) -> None:
    found = compared(tmp_path, f"{ONE} {WAIT} {OUT} {WAIT}", second)
    assert (found.status, said in found.why) == (status, True), found.why


def test_other_launches_that_leave_the_same_are_the_same_where_nothing_else_touches_that_memory(tmp_path: Path) -> None:
    row = "snrt_dma_start_1d((void *)(0x10000000 + 64 * i), (void *)(0x80000000 + 256 * i), 64);"
    rows = f"for (int i = 0; i < 4; i++) {row}"
    whole = "snrt_dma_start_2d((void *)0x10000000, (void *)0x80000000, 64, 64, 256, 4);"
    found = compared(tmp_path, f"{rows} {WAIT}", f"{whole} {WAIT}")
    assert (found.status, "a run of both texts" in found.by) == ("proved", True)
    assert found.conditions == ("no launch is in flight when f() begins", pairs.ALONE)
    at = [one.replace("0x80000000", "(0x80000000u + n * 16)") for one in (rows, whole)]
    found = compared(tmp_path, f"{at[0]} {WAIT}", f"assert(n < 64); {at[1]} {WAIT}", given="uint32_t n")
    assert (found.status, found.by) == ("proved", pairs.BY_ROWS)
    chained = f"{rows} {WAIT} snrt_dma_start_1d((void *)0x90000000, (void *)0x10000000, 256); {WAIT}"
    direct = f"{whole} {WAIT} snrt_dma_start_2d((void *)0x90000000, (void *)0x80000000, 64, 64, 256, 4); {WAIT}"
    found = compared(tmp_path, chained, direct)
    assert (found.status, "a run of both texts" in found.by) == ("proved", True)


def test_arguments_are_one_by_their_place_and_hold_for_all_values(tmp_path: Path) -> None:
    first = f"snrt_dma_start_1d((void *)0x10000000, (void *)(0x80000000u + n * 64), m); {WAIT}"
    second = f"snrt_dma_start_1d((void *)0x10000000, (void *)((k << 6) + 0x80000000u), len); {WAIT}"
    kinds = {"given": "uint32_t n, uint32_t m", "other": "uint32_t k, uint32_t len"}
    found = compared(tmp_path, f"assert(n < 9); {first}", f"assert(k < 9); {second}", **kinds)
    assert (found.status, found.why) == ("proved", "for all values of their arguments")
    assert found.conditions == ("assert(n < 9)", "assert(k < 9)")
    turned = compared(tmp_path, first, second, given="uint32_t n, uint32_t m", other="uint32_t len, uint32_t k")
    assert turned.status != "proved"
    wider = compared(tmp_path, first, second, given="uint32_t n, uint32_t m", other="uint64_t k, uint32_t len")
    assert "their arguments differ: (uint32_t, uint32_t) against (uint64_t, uint32_t)" in wider.why


def test_a_difference_at_some_values_is_told_with_them(tmp_path: Path) -> None:
    body = "if (n < LIMIT) { " + ONE + " " + WAIT + " } else { " + OUT + " " + WAIT + " }"
    found = compared(tmp_path, body.replace("LIMIT", "5"), body.replace("LIMIT", "6"), given="uint32_t n")
    assert (found.status, (found.witness or {})["arguments"]) == ("refuted", {"n": 5})
    assert compared(tmp_path, body.replace("LIMIT", "5"), body.replace("n < LIMIT", "!(n > 4)"), given="uint32_t n")


@pytest.mark.parametrize(
    ("calls", "status"),
    [
        ((f"compute(n); {ONE} {WAIT}", f"compute(n + 0); {ONE} {WAIT}"), "proved"),
        ((f"compute(n); {ONE} {WAIT}", f"compute(n + 1); {ONE} {WAIT}"), "unknown"),
        ((f"compute(n); {ONE} {WAIT}", f"{ONE} {WAIT} compute(n);"), "unknown"),
        ((f"compute(n); {ONE} {WAIT}", f"other(n); {ONE} {WAIT}"), "unknown"),
        ((f"{ONE} compute(n); {WAIT}", f"{ONE} {WAIT} compute(n);"), "unknown"),
        ((f"compute(n); {ONE} {WAIT}", f"compute(n); compute(n); {ONE} {WAIT}"), "unknown"),
        ((f"compute(n); {ONE} {WAIT}", f"compute(get()); {ONE} {WAIT}"), "unknown"),
    ],
)
def test_calls_that_are_not_read_have_to_be_the_same_between_the_same(
    calls: tuple[str, str], status: str, tmp_path: Path
) -> None:
    found = compared(tmp_path, *calls, given="uint32_t n")
    assert found.status == status, found.why
    assert ("compute() is the same in both files" in found.conditions) == (status == "proved")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("*(int *)0x10000000 = 5;", "is an access to memory by the core itself"),
        ("p[0] = 5;", "is an access to memory by the core itself"),
        ("int n = p[1];", "is an access to memory by the core itself"),
        ("seen = 5;", "`seen` is set, which lives on"),
        ("static int count; count = 5;", "`count` is set, which lives on"),
        ("table[1] = 5;", "`table` has a value that this file does not give"),
        ("snrt_dma_wait(7);", "which launches it waits for is not known"),
        ('asm volatile("csrw 0x7c0, zero");', "assembly"),
        ("if (other) { " + ONE + " }", "`other` has a value that this file does not give"),
        ("while (other) ;", "a loop that may wait for launches"),
        ("snrt_dma_start_1d((void *)local, (void *)0x80000000, 16);", "where `local` lies is not known"),
        ("compute(local);", "the value of `local` is not known"),
        ("goto out; out: ;", "goto"),
        ("for (uint32_t i = 0; i < snrt_cluster_num() + 9; i++) { " + ONE + " }", "more than"),
    ],
)
def test_what_is_not_followed_leaves_the_answer_open(body: str, said: str, tmp_path: Path) -> None:
    text = f"{HEAD}int seen; int table[4]; extern int other;\nvoid f(int *p) {{ int local[4]; {ONE} {body} {WAIT} }}\n"
    found = compared(tmp_path, text, text)
    assert (found.status, said in found.why) == ("unknown", True), found.why


def test_what_a_function_gives_back_is_seen(tmp_path: Path) -> None:
    texts = [f"{HEAD}int f(void) {{ {ONE} {WAIT} return {value}; }}\n" for value in ("3", "1 + 2", "4")]
    folder, names = tmp_path, []
    for at, text in enumerate(texts):
        (folder / f"{at}.c").write_text(text)
        names.append(f"{folder / f'{at}.c'}::f")
    assert same_drivers(names[:2], rlimit=2_000_000, engine=["manticore"])[0].status == "proved"
    found = same_drivers(names[1:], rlimit=2_000_000, engine=["manticore"])[0]
    assert (found.status, "`return` stands against `return`" in found.why) == ("unknown", True)


def test_a_launch_of_no_repetitions_is_none(tmp_path: Path) -> None:
    two = "snrt_dma_start_2d((void *)0x10000000, (void *)0x80000000, 64, 64, 64, {});" + WAIT
    assert compared(tmp_path, two.format(1), f"{ONE} {WAIT}").status == "proved"
    assert compared(tmp_path, two.format(0), f"{ONE} {WAIT}").status != "proved"


def test_rows_that_write_one_byte_are_the_same_in_one_order_alone(tmp_path: Path) -> None:
    call = "snrt_dma_start_2d((void *)(0x10000000 + n{}), (void *)0x8000{:04x}, {}, {}, {}, 2);" + WAIT
    for length, status in ((4, "proved"), (8, "unknown")):
        forth, back = call.format("", 0, length, 4, 64), call.format(" + 4", 64, length, "-4", "-64")
        found = compared(tmp_path, forth, back, "__SIZEOF_POINTER__=4", given="uint16_t n")
        assert (found.status == "proved") == (status == "proved"), found.why


def test_parts_of_structures_and_results_of_other_types_are_no_one_symbol(tmp_path: Path) -> None:
    call = f"snrt_dma_start_1d((void *)0x10000000, (void *)0x80000000, SIZE); {WAIT}"
    text = HEAD + "typedef struct {{ uint32_t a; uint32_t b; }} job;\nvoid f(job j) {{ {} }}\n"
    body = text.format(call.replace("SIZE", "j.a"))
    found = compared(tmp_path, body, body)
    assert (found.status, "a part of a structure" in found.why) == ("unknown", True), found.why
    texts = [f"{HEAD}{kind} get(void);\nvoid f(void) {{ {call.replace('SIZE', '8 + (get() & 7)')} }}\n"
             for kind in ("uint32_t", "uint64_t")]  # fmt: skip
    assert compared(tmp_path, texts[0], texts[0]).status == "proved"
    assert compared(tmp_path, texts[0], texts[1]).status == "unknown"


def test_a_parameter_without_a_name_is_one_all_the_same(tmp_path: Path) -> None:
    call = f"snrt_dma_start_1d((void *)0x10000000, (void *)0x80000000, n & 15); {WAIT}"
    found = compared(tmp_path, call, call, given="uint32_t n", other="uint32_t, uint32_t n")
    assert (found.status, "their arguments differ" in found.why) == ("unknown", True), found.why


def test_values_at_which_a_launch_is_not_right_for_the_engine_are_part_of_all(tmp_path: Path) -> None:
    call = f"snrt_dma_start_1d((void *)0x10000000, (void *)0x80000000, k); {WAIT}"
    wrapped, whole = f"uint8_t k = n + 1; {call}", f"uint32_t k = n + 1; {call}"
    found = compared(tmp_path, wrapped, whole, given="uint8_t n")  # 0 and 256 bytes at 255
    assert (found.status, found.why) == ("unknown", "launch 0 copies something else")
    assert compared(tmp_path, wrapped, wrapped, given="uint8_t n").status == "proved"


def test_launches_that_break_a_rule_leave_nothing_that_is_known(tmp_path: Path) -> None:
    first = f"snrt_dma_start_1d((void *)0x10000000, (void *)0x10000020, 64); {WAIT}"
    halves = "snrt_dma_start_1d((void *)0x10000000, (void *)0x10000020, 32);" + WAIT
    halves += "snrt_dma_start_1d((void *)0x10000020, (void *)0x10000040, 32);" + WAIT
    assert compared(tmp_path, first, halves).status == "unknown"


DRIVER = f"{HEAD}void f(void) {{ {ONE} {WAIT} {OUT} {WAIT} }}\n"
PLAN = """schema = 1
target = "idma"
axes = { N = 64 }
[transfer.load]
dtype = "i8"
source = { tier = "mem", base = 0x80000000, element = "N" }
dest = { tier = "mem", base = 0x10000000, element = "N" }
read = "[64:1]:64 mem@0x80000000"
write = "[64:1]:64 mem@0x10000000"
[transfer.store]
dtype = "i8"
source = { tier = "mem", base = 0x10000000, element = "N" }
dest = { tier = "mem", base = 0x90000000, element = "N" }
read = "[64:1]:64 mem@0x10000000"
write = "[64:1]:64 mem@0x90000000"
[program.p]
step = [{ transfer = "load" }, { transfer = "store", after = ["load"] }]
"""


@pytest.mark.parametrize(
    ("driver", "status", "said"),
    [
        (DRIVER, "proved", ""),
        (DRIVER.replace("64", "48"), "refuted", "byte 2147483696"),
        (DRIVER.replace(f"{WAIT} }}", "}"), "unknown", "may still run where it ends"),
        (DRIVER.replace(f"{ONE} {WAIT}", ONE), "unknown", "not right for the engine"),
        (DRIVER.replace(f"{OUT}", f"compute(); {OUT}"), "unknown", "it calls compute()"),
        (
            DRIVER.replace("void f(void)", "void f(unsigned n)").replace("64);", "n);", 1),
            "unknown",
            "n may be anything",
        ),
    ],
)
def test_a_driver_is_held_against_a_plan(driver: str, status: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "d.c").write_text(driver)
    plan = load(PLAN, "p")
    for first in (True, False):
        found = same_driver_and_plan(
            plan, f"{tmp_path / 'd.c'}", rlimit=2_000_000, plan_first=first, engine=["manticore"]
        )
        assert (found.status, said in found.why or first is False) == (status, True), found.why
    assert status != "proved" or pairs.ALONE in found.conditions


@pytest.mark.parametrize(("between", "edges"), [("", 0), (WAIT, 1), ("snrt_dma_wait_all_channel(1);", 0)])
def test_launches_of_a_plan_wait_for_those_that_are_complete(between: str, edges: int, tmp_path: Path) -> None:
    (tmp_path / "d.c").write_text(DRIVER.replace(f"{ONE} {WAIT}", f"{ONE} {between}"))
    file = driver_file(str(tmp_path / "d.c"), ["manticore"])
    symbols = Symbols()
    run = followed(file.function("f", symbols), Arguments(symbols, {}, generic=False))
    assert file.lowered("p", run, [0, 1]).count('after = ["launch-0"]') == edges


def test_functions_of_one_name_are_compared_and_others_are_named(tmp_path: Path) -> None:
    one, two = tmp_path / "one.c", tmp_path / "two.c"
    one.write_text(DRIVER + f"void g(void) {{ {ONE} {WAIT} }}\n")
    two.write_text(DRIVER + f"void g(void) {{ {OUT} {WAIT} }}\n")
    found, said = same_drivers([str(one), str(two)], rlimit=2_000_000, engine=["manticore"])
    assert (found.status, said.count("PROVED"), said.count("REFUTED")) == ("refuted", 1, 1)
    two.write_text(DRIVER + f"void h(void) {{ {OUT} {WAIT} }}\n")
    with pytest.raises(InputError, match="launch in other functions: g, h"):
        same_drivers([str(one), str(two)], rlimit=2_000_000)
    assert same_drivers([f"{one}::f", str(two)], rlimit=2_000_000, engine=["manticore"])[0].status == "proved"
    with pytest.raises(InputError, match="no function `ff` that launches"):
        same_drivers([f"{one}::ff", str(two)], rlimit=2_000_000)


def test_the_command_line_takes_drivers_and_says_what_it_does_not_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    driver, rust = tmp_path / "d.c", tmp_path / "k.rs"
    driver.write_text(DRIVER)
    rust.write_text("fn k() {}\n")
    assert invoke(["equiv", str(driver), str(driver), "--engine", "manticore"]) == 0
    assert "do the same" in capsys.readouterr().out
    for words, said in (
        ([str(driver), str(rust)], "these are of two machines"),
        ([str(driver), str(driver), "--tier", "mem"], "leave --tier out"),
        (["A", "A", "--axes", "A=8", "--define", "n=1"], "for drivers in C"),
        ([str(driver), str(tmp_path / "no.c")], "does not exist"),
    ):
        assert invoke(["equiv", *words]) == 2
        assert said in capsys.readouterr().err


def test_registers_that_are_left_otherwise_are_a_difference(tmp_path: Path) -> None:
    text = """#include <stdint.h>
#define DMA ((volatile uint32_t *)0x50000000)
void f(void) {
    DMA[0x00 / 4] = 0; DMA[0xD0 / 4] = 0x10000000; DMA[0xD4 / 4] = 0x20000000; DMA[0xD8 / 4] = 64;
    uint32_t id = DMA[0x44 / 4];
    while (DMA[0x84 / 4] != id) ;
    AFTER
}
"""
    for after, status in (("", "proved"), ("DMA[0xD8 / 4] = 32;", "unknown"), ("*(int *)0x60000000 = 1;", "unknown")):
        found = compared(tmp_path, text.replace("AFTER", ""), text.replace("AFTER", after), engine="front_end=reg32_3d")
        assert found.status == status, found.why


STEP = "static void x(void) { snrt_dma_start_1d((void *)0x10000000, (void *)0x80000000, 64); snrt_dma_wait_all(); }\n"


@pytest.mark.parametrize(
    ("other", "proved"),
    [
        ("for (uint32_t k = 0; k < n; ++k) { x(); x(); }", True),
        ("x(); x(); for (uint32_t i = 0; i < n; i++) { x(); }", False),
        *rest(
            [
                ("uint32_t k; for (k = 1; k <= n; k += 1) { x(); x(); }", True),
                ("for (uint32_t i = 0; i < n; i++) { x(); } x(); x();", False),
            ]
        ),
        ("for (uint32_t i = 0; i < n + 1; i++) { x(); x(); }", False),
        pytest.param(
            "for (uint32_t i = 0; i < (n > 9 && n < 99 ? n + 1 : n); i++) { x(); x(); }", False, id="one-more"
        ),
        pytest.param(
            "if (n < 10) { for (uint32_t i = 0; i < n; i++) { x(); x(); } return; } "
            "x(); x(); for (uint32_t i = 0; i < n; i++) { x(); }",
            False,
            id="two-before",
        ),
        ("for (uint32_t i = 0; i < n; i++) { x(); x(); } x();", False),
    ],
)
def test_loops_of_any_count_are_the_same_round_by_round(other: str, proved: bool, tmp_path: Path) -> None:
    texts = [f"{HEAD}{STEP}void f(uint32_t n) {{ {body} }}\n"
             for body in ("for (uint32_t i = 0; i < n; i++) { x(); x(); }", other)]  # fmt: skip
    found = compared(tmp_path, texts[0], texts[1])
    assert (found.status == "proved") == proved, found.why


@pytest.mark.slow
def test_how_far_a_proof_goes_is_a_condition_and_where_two_that_differ_agree_is_none(tmp_path: Path) -> None:
    tiles = (
        "for (uint32_t i = 0; i < n; i++) { snrt_dma_start_1d((void *)0x10000000, (void *)(FROM), 4096); " + WAIT + " }"
    )
    at = ("0x80000000 + i * 4096", "0x80000000 + (i << 12)", "0x80000000 + i * 4097")
    first, again, other = (tiles.replace("FROM", one) for one in at)
    found = compared(tmp_path, first, again, given="uint32_t n")
    assert (found.status, found.why) == ("proved", "for these values of their arguments")
    assert found.conditions == ("f(): n <= 2^19",), found.conditions
    assert compared(tmp_path, first, other, given="uint32_t n").status != "proved"


MEMORY = '#include "snrt.h"\ntypedef struct {{ {0} }} args_t;\nvoid f({1}) {{ {2} {3} }}\n'
MEMBERS, TAKES = "uint32_t n; uint32_t m;", "args_t *a, args_t *b"


@pytest.mark.parametrize(
    ("members", "takes", "read", "proved"),
    [
        (MEMBERS, "args_t *x, args_t *b", "x->n", True),
        (MEMBERS, TAKES, "b->n", False),
        (MEMBERS, "args_t *b, args_t *a", "a->n", False),
        (MEMBERS, TAKES, "a->m", False),
        ("uint32_t m; uint32_t n;", TAKES, "a->n", False),
        ("uint64_t n; uint32_t m;", TAKES, "a->n", False),
    ],
)
def test_what_is_read_behind_a_pointer_is_one_by_the_pointer_and_its_place(
    members: str, takes: str, read: str, proved: bool, tmp_path: Path
) -> None:
    launch = "snrt_dma_start_1d((void *)0x10000000, (void *)0x80000000, {} & 15);"
    first = MEMORY.format(MEMBERS, TAKES, launch.format("a->n"), WAIT)
    found = compared(tmp_path, first, MEMORY.format(members, takes, launch.format(read), WAIT))
    assert (found.status == "proved") == proved, found.why
    if proved:
        assert "what `a` points at does not change while f() runs" in found.conditions


@pytest.mark.slow
def test_a_kernel_of_any_number_of_tiles_is_the_same_under_other_names(tmp_path: Path) -> None:
    (tmp_path / "scale.h").write_text(Path("examples/idma/scale.h").read_text())
    one, two = tmp_path / "one.c", tmp_path / "two.c"
    text = Path("examples/idma/scale.c").read_text()
    one.write_text(text)
    two.write_text(text.replace("*args", "*job").replace("args->", "job->").replace("i - 2", "(i) - 2"))
    found = same_drivers([str(one), str(two)], rlimit=2_000_000, engine=["manticore"])[0]
    assert (found.status, any("4096 * args->n + args->x" in c for c in found.conditions)) == ("proved", True), found.why
    two.write_text(two.read_text().replace("job->y, out", "job->x, out"))
    assert same_drivers([str(one), str(two)], rlimit=2_000_000, engine=["manticore"])[0].status == "unknown"


def test_a_run_at_some_arguments_is_held_against_a_proof_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        f"snrt_dma_start_1d((void *)(0x10000000 + n), (void *)0x80000000, {many}); {WAIT}" for many in (8, 9)
    )
    assert compared(tmp_path, first, second, "__SIZEOF_POINTER__=4", given="uint16_t n").status == "refuted"
    monkeypatch.setattr(pairs, "rows_of", lambda *_: {})
    with pytest.raises(Disagreement, match=r"runs of both part \(n = \d+\): at mem, byte"):
        compared(tmp_path, first, second, "__SIZEOF_POINTER__=4", given="uint16_t n")


@pytest.mark.parametrize("count", counted(5, 40))
def test_drawn_pairs_are_the_same_where_a_run_sees_no_difference(tmp_path: Path, count: int) -> None:
    found = []
    for seed in (0, *range(22, 22 + count)):
        pair = drawn_pair(seed)
        found.append(answer(pair, tmp_path))
        assert wrong(pair, found[-1]) == "", found[-1].text(*pair.texts)
    told = [one.status for one in found]
    assert told.count("proved") >= count // 3
    assert told.count("refuted") >= 1


def test_what_never_ends_is_no_assertion_behind_which_all_is_the_same(tmp_path: Path) -> None:
    for loop in ("while (1) { }", f"while (1) {{ {OUT} {WAIT} }}"):
        first = f"{ONE} {WAIT} {loop}"
        assert compared(tmp_path, first, first.replace("64", "32", 1), given="uint32_t n").status != "proved"


def test_drivers_of_which_no_function_is_read_have_none_to_compare(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(f"{HEAD}void1f(int i) {{ {ONE} }}\n")
    with pytest.raises(InputError, match="has no function that launches") as told:
        same_drivers([str(path), str(path)], rlimit=2_000_000)
    assert "is not read as C" in str(told.value.hint)
