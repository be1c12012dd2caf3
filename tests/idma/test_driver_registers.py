"""Registers that a driver accesses in any way: whatever may launch is a launch, is told, or is a named condition."""

from pathlib import Path

import pytest

from dmaverify.errors import Source
from dmaverify.machines.idma.c.driver import read_driver
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.verdict import Verdict

HEAD = """#include <stdint.h>
#define BASE 0x10000000u
#define R(o) (*(volatile uint32_t *)(BASE + (o)))
"""
SET = "R(0) = 0; R(0xF8) = 0; R(0xD0) = 0x20000; R(0xD4) = 0x30000; R(0xD8) = 64;"
GOOD = f"void good(void) {{ {SET} (void)R(0x44); }}\n"
REGS = "typedef struct { volatile uint32_t conf, status[16], next[16], done[16], pad[3], d_lo, s_lo, n_lo; } regs_t;\n"
THROUGH = "r->conf = 0; r->d_lo = 0x20000; r->s_lo = 0x30000; r->n_lo = 64; (void)r->next[0];"
BROKEN = THROUGH.replace("64", "0")


def judged(tmp_path: Path, text: str, engine: str = "front_end=reg32_3d") -> Verdict:
    (tmp_path / "d.c").write_text(HEAD + text)
    verdict = verdict_of_file(str(tmp_path / "d.c"), engine=[engine])
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(
    ("text", "status", "conditions"),
    [
        ("uint32_t launch(void) { return R(0x44); }", "unknown", []),
        ("uint32_t launch(volatile uint32_t *dma) { return dma[0x11]; }", "unknown", []),
        ("uint32_t wide(uintptr_t dma) { return *(volatile uint64_t *)(dma + 0x40); }", "unknown", []),
        ("uint32_t other(void) { return *(volatile uint32_t *)0x50000044; }", "proved",
         ["`*(volatile uint32_t *)0x50000044` is no read of `next_id`"]),
        ("uint32_t poll(void) { return R(0x84); }", "proved", []),
        ("uint32_t poll(volatile uint32_t *dma) { return dma[0x21]; }", "proved",
         ["poll(): dma % 4096 == 0 and dma <= 2^32 - 133"]),
        ("uint32_t one(volatile uint32_t *at) { return *at; }", "proved",
         ["one(): at % 4096 == 0", "`*at` is no read of `next_id`"]),
        ("uint32_t sum(uint32_t *t) { return t[0x11] + t[3]; }", "proved", ["`t` points at no registers"]),
        ("uint32_t t[64]; uint32_t sum(int i) { return t[0x11] + t[i]; }", "proved", []),
    ],
)  # fmt: skip
def test_a_read_that_may_launch_is_told_wherever_its_registers_are_written(
    tmp_path: Path, text: str, status: str, conditions: list[str]
) -> None:
    verdict = judged(tmp_path, GOOD + text)
    assert verdict.status.value == status
    assert list(verdict.conditions) == conditions


WHOLE = f"{SET.replace('R(0) = 0; ', '')} (void)R(0x44);"


@pytest.mark.parametrize(
    ("text", "status", "conditions"),
    [
        (f"int main(void) {{ {WHOLE} }}", "proved", []),
        (f"void setup(void) {{ R(0) = 0xFFFF; }}\nvoid whole(void) {{ {WHOLE} }}", "proved",
         ["conf is 0 where whole() begins"]),
        (f"{GOOD}void again(void) {{ R(0) = 0; R(0xD0) = 0x40000; R(0xD8) = 64; (void)R(0x44); }}", "unknown", []),
        (f"{GOOD}void again(void) {{ R(0) = 0; R(0xD0) = 0x40000; R(0xD4) = 0x50000; (void)R(0x44); }}", "unknown", []),
        (f"void rows(void) {{ {SET.replace('R(0) = 0', 'R(0) = 1u << 10')} (void)R(0x44); }}", "unknown", []),
        ("uint32_t f(volatile uint32_t *dma) { dma[52] = 0x20000; dma[53] = 0x30000; dma[54] = 64; return dma[17]; }",
         "proved",
         ["f(): dma % 4096 == 0 and dma <= 2^32 - 217", "conf is 0 where f() begins", "compute is 0 where f() begins",
          "no launch is in flight when f() begins"]),
        (GOOD, "proved", []),
        (GOOD.replace("R(0xF8) = 0;", ""), "proved", ["compute is 0 where good() begins"]),
    ],
)  # fmt: skip
def test_registers_that_a_function_does_not_write_hold_what_others_left(
    tmp_path: Path, text: str, status: str, conditions: list[str]
) -> None:
    verdict = judged(tmp_path, text)
    assert verdict.status.value == status
    assert list(verdict.conditions) == conditions


def test_the_upper_half_of_an_address_is_what_others_left(tmp_path: Path) -> None:
    text = "void f(void) { R(0) = 0; R(0xD0) = 0x20000; R(0xD8) = 0x30000; R(0xE0) = 64; R(0xE4) = 0; (void)R(0x44); }"
    verdict = judged(tmp_path, text, "front_end=reg64_1d")
    assert verdict.status.value == "proved"
    assert list(verdict.conditions) == [
        f"{what} is 0 where f() begins" for what in ("the upper half of dst", "the upper half of src", "compute")
    ]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (f"void bad(regs_t *r) {{ {BROKEN} }}", "refuted"),
        (f"void bad(void) {{ regs_t *r = (regs_t *)BASE; {BROKEN} }}", "refuted"),
        (f"void ok(regs_t *r) {{ {THROUGH} while (r->done[0] < 2); }}", "proved"),
        (f"void ok(void) {{ regs_t *r = (regs_t *)BASE; {THROUGH} while (r->done[0] < 2); }}", "proved"),
        (f"#define D ((regs_t *)BASE)\nvoid ok(void) {{ {THROUGH.replace('r->', 'D->')} }}", "proved"),
        (f"void maybe(regs_t *r, int *n) {{ {THROUGH} if (*n) (void)r->next[0]; }}", "unknown"),
        ("struct other { volatile uint32_t x; }; void f(struct other o[], int *n) { (void)o[*n].x; }", "unknown"),
    ],
)
def test_registers_that_are_members_are_registers_whatever_their_names(
    tmp_path: Path, body: str, status: str
) -> None:  # fmt: skip
    assert judged(tmp_path, REGS + GOOD + body).status.value == status


def test_a_structure_of_an_unread_header_is_no_registers_on_a_condition(tmp_path: Path) -> None:
    found = judged(tmp_path, f"{GOOD}void f(other_t *r) {{ r->n_lo = 0; (void)r->go[0]; }}")
    assert list(found.conditions) == ["`r` points at no registers"]
    assert judged(tmp_path, f"{GOOD}void f(other_t *r) {{ (void)r->next_id; }}").status.value == "unknown"


@pytest.mark.parametrize(
    ("between", "status", "conditions"),
    [
        ("memset((void *)(BASE + 0xD8), 0, 4);", "unknown", []),
        ("memset((void *)(BASE - 64), 0, n);", "unknown", []),
        ("if (n) memset((void *)(BASE + 0xD8), 0, 4);", "unknown", []),
        ("memset((void *)0x80000000, 0, 4);", "proved", []),
        ("memset(local, 0, 4);", "proved", []),
        ("memset(p, 0, 4);", "proved", ["`p` points at no registers"]),
        ("helper();", "proved", ["helper() launches nothing and writes no registers"]),
    ],
)
def test_memory_that_is_filled_may_be_registers(
    tmp_path: Path, between: str, status: str, conditions: list[str]
) -> None:  # fmt: skip
    verdict = judged(tmp_path, f"char local[64];\nvoid f(int n, void *p) {{ {SET} {between} (void)R(0x44); }}")
    assert verdict.status.value == status
    assert list(verdict.conditions) == conditions


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("volatile uint32_t *go = &R(0x44); (void)*go;", "proved"),
        ("R(0xD8) = 0; volatile uint32_t *go = &R(0x44); (void)*go;", "refuted"),
        ("volatile uint32_t *at = &R(0xD8); *at = 0; (void)R(0x44);", "refuted"),
        ("volatile uint32_t *at = &(*(volatile uint32_t *)(BASE + 0xD0)); at[2] = 0; (void)R(0x44);", "refuted"),
        ("volatile uint32_t *const at = &((volatile uint32_t *)BASE)[52]; at[2] = 0; (void)R(0x44);", "refuted"),
    ],
)
def test_the_address_of_a_register_is_where_it_lies(tmp_path: Path, body: str, status: str) -> None:
    assert judged(tmp_path, f"{GOOD}void f(void) {{ {SET} {body} }}").status.value == status


ASKS = {
    "done(": "static bool done(uint32_t id) { return R(0x84) >= id; }",
    "busy(": "static int busy(void) { return R(4) != 0; }",
    "last(": "static uint32_t last(void) { return R(0x84); }",
}
READS_IT = "R(0xD0) = 0x40000; R(0xD4) = 0x20000; return R(0x44);"
BELOW = "ids of launches are below 2^31 where `{}` compares them"
IDLE = "`{}` ends only where its channel has nothing left to do"


def waited(tmp_path: Path, wait: str, function: str = "int main(void)") -> Verdict:
    """A launch, what waits for it, and a launch that reads what it wrote."""
    asks = "\n".join(["#include <stdbool.h>", *(text for name, text in ASKS.items() if name in wait), ""])
    return judged(tmp_path, f"{asks}{function} {{ {SET} uint32_t id = R(0x44); {wait} {READS_IT} }}")


@pytest.mark.parametrize(
    ("wait", "condition"),
    [
        ("while (R(0x84) < id);", BELOW.format("(R(0x84) < id)")),
        ("while (id > R(0x84)) { }", BELOW.format("(id > R(0x84))")),
        ("do ; while (!(R(0x84) >= id));", BELOW.format("(!(R(0x84) >= id))")),
        ("while (!done(id));", BELOW.format("(!done(id))")),
        ('while (done(id) == false) asm volatile("nop");', BELOW.format("(done(id) == false)")),
        ("for (; last() < id; ) ;", BELOW.format("last() < id")),
        # ids may pass 0
        ("while (R(0x84) != id);", ""),
        ("while (id - last());", ""),
        ("while ((R(0x84) == id) == 0);", ""),
        ("while ((int32_t)(R(0x84) - id) < 0);", ""),
        ("while ((int32_t)(id - R(0x84)) > 0);", ""),
        # flags
        ("while (R(4));", IDLE.format("(R(4))")),
        ("while ((R(4) & 0x3FF) != 0);", IDLE.format("((R(4) & 0x3FF) != 0)")),
        ("while (busy());", IDLE.format("(busy())")),
        ("do { } while (!(R(4) == 0));", IDLE.format("(!(R(4) == 0))")),
    ],
)
def test_a_loop_over_what_the_engine_reports_waits(tmp_path: Path, wait: str, condition: str) -> None:
    alone, called = waited(tmp_path, wait), waited(tmp_path, wait, "uint32_t f(void)")
    assert (alone.status.value, called.status.value) == ("proved", "proved"), f"{called}"
    assert list(called.conditions) == [*filter(None, [condition])]
    assert list(alone.conditions) == [one for one in [condition] if "nothing left" in one]  # ids begin at 2


@pytest.mark.parametrize(
    "wait",
    [
        "", "if (R(0x84) < id) ;", "while (R(0x84) > id);", "while (R(0x84) == id);", "while (done(id));",
        "while (!id);", "while (R(0x84) <= id - 1);", "while (R(0x88) < id);", "while (R(0x84) < 1);",
        "while (R(0x84) * 2 < id);",
        # what a narrower type leaves of an id
        "while (R(0x84) < (uint8_t)id);", "while ((uint8_t)R(0x84) < id);", "uint16_t k = id; while (R(0x84) < k);",
        "bool k = id; while (R(0x84) != k);", "while ((R(0x84) & 0xFF) != (id & 0xFF));",
        # differences without a sign, of more bits than ids have, or of fewer
        "while (R(0x84) - id < 0);", "while ((int64_t)(R(0x84) - id) < 0);", "while ((int16_t)(R(0x84) - id) < 0);",
        "while ((int32_t)(R(0x84) - id) > 0);",
        # operators that leave nothing of it
        "while (R(0x84) < -id);", "while (R(0x84) < !id);", "while ((R(0x84) < id) && 0);", "while (R(0x84) ? 0 : id);",
        "int n = 9; while (R(0x84) < id && n--);", "while ((R(0x84) < id) - 1);", "while (R(0x84) < id) break;",
        "while (R(8));", "while (R(4) & 1);", "while (R(4) == 0x3FF);", "while (R(4) > 1);", "while (!R(4));",
        "while (~R(4));",
        "while (-R(4));", "while (R(4) << 30);", "while ((uint8_t)R(4));", "while (busy() == 0);",
        "while (R(0x84) < R(0x44));",
    ],
)  # fmt: skip
def test_a_loop_that_may_end_before_the_launch_does_not_wait(tmp_path: Path, wait: str) -> None:
    assert waited(tmp_path, wait).status.value in ("unknown", "refuted")


def test_a_wait_for_an_earlier_launch_leaves_the_later_one(tmp_path: Path) -> None:
    text = "int main(void) {{ {set} uint32_t a = R(0x44); R(0xD0) = 0x50000; uint32_t b = R(0x44); {wait} {read} }}"
    found = [
        judged(tmp_path, text.format(set=SET, wait=f"while (R(0x84) != {who});", read=READS_IT.replace("0x20000", at)))
        for who in "ab" for at in ("0x20000", "0x50000")
    ]  # fmt: skip
    assert [one.status.value for one in found] == ["proved", "refuted", "proved", "proved"]


OTHER = "#define O(o) (*(volatile uint32_t *)(0x50000000u + (o)))\n"
ON_OTHER = "O(0) = 0; O(0xF8) = 0; O(0xD0) = {}; O(0xD4) = {}; O(0xD8) = 64; (void)O(0x44);"


@pytest.mark.parametrize(
    ("to", "from_", "status"),
    [("0x20000", "0x70000", "refuted"), ("0x30000", "0x70000", "refuted"), ("0x60000", "0x20000", "refuted"),
     ("0x60000", "0x70000", "proved")],
)  # fmt: skip
def test_engines_at_two_addresses_are_not_ordered(tmp_path: Path, to: str, from_: str, status: str) -> None:
    there = ON_OTHER.format(to, from_)
    together = judged(tmp_path, f"{OTHER}int main(void) {{ {SET} (void)R(0x44); {there} }}")
    assert together.status.value == status
    assert not any("channel" in finding.message for finding in together.findings)
    apart = judged(tmp_path, f"{OTHER}{GOOD}void other(void) {{ {there} }}")
    assert any("other() begins" in one for one in apart.conditions) == (status == "refuted")


def test_the_other_engine_is_not_waited_for(tmp_path: Path) -> None:
    there = ON_OTHER.format("0x20000", "0x70000")
    text = f"{OTHER}int main(void) {{{{ {SET} uint32_t id = R(0x44); while ({{}}(0x84) != id); {there} }}}}"
    assert [judged(tmp_path, text.format(which)).status.value for which in "RO"] == ["proved", "unknown"]


@pytest.mark.parametrize(
    ("macro", "use"),
    [
        ("NEXT (void)R(0x44);", "NEXT"),
        ("NEXT (void)R(0x44);", "NEXT return;"),
        ("NEXT (void)R(0x44);", "if (1) { NEXT }"),
        ("NEXT(n) R(0x4##n)", "NEXT(4);"),
        ("NEXT(n) R(0x4##n)", "int id = NEXT(4) + 1;"),
        ("NEXT(n) R(0x4##n)", "if (flag()) (void)NEXT(4);"),
        ("NEXT(...) (void)R(0x44)", "NEXT(1, 2);"),
        ("NEXT(...) __VA_ARGS__", "NEXT(R(0x44));"),
        ("NEXT(n) (void)sizeof(#n), n", "NEXT(R(0x44));"),
    ],
)
def test_a_macro_that_is_not_read_may_launch(tmp_path: Path, macro: str, use: str) -> None:
    text = f"#define {macro}\nvoid f(void) {{ {SET} (void)R(0x44); R(0xD8) = 0; {use} }}"
    assert judged(tmp_path, text).status.value == "unknown"


def test_a_macro_that_reads_no_register_launches_nothing(tmp_path: Path) -> None:
    note = "#define NOTE(f, ...) printf(f, #__VA_ARGS__, ##__VA_ARGS__)\n"
    text = f"void f(int n) {{ {SET} NOTE(0, n, 3); (void)R(0x44); }}"
    assert judged(tmp_path, note + text).status.value == "proved"


@pytest.mark.parametrize(
    ("call", "status"),
    [
        ("memcpy(&v, (void *)(BASE + 0x44), 4);", "unknown"),
        ("memcpy(&v, (void *)(BASE + 0x40), 8);", "unknown"),
        ("memcpy(&v, (void *)(BASE + 0x40), 4);", "proved"),
        ("__builtin_memmove(&v, (void *)BASE, n);", "unknown"),
        ("v = __atomic_load_n(&R(0x44), 0);", "unknown"),
        ("v = __atomic_load_n(&R(0x84), 0);", "proved"),
        ("helper(BASE);", "proved"),
    ],
)
def test_the_address_of_next_id_that_others_are_given_may_launch(tmp_path: Path, call: str, status: str) -> None:
    assert judged(tmp_path, f"void f(int n) {{ uint32_t v; {SET} (void)R(0x44); {call} }}").status.value == status


WIDE = "#define W(o) (*(volatile uint64_t *)(uintptr_t)(BASE + (o)))\n"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("W(0xD0) = 0x120000; W(0xD8) = 0x30000; W(0xE0) = 64; (void)R(0x44);", [(0x120000, 64)]),
        (
            "W(0xD0) = 1ull << 40 | 32; W(0xD8) = 0x30000; W(0xE0) = 64; (void)R(0x44); R(0xD4) = 0; (void)R(0x44);",
            [((1 << 40) + 32, 64), (32, 64)],
        ),
        ("W(0xD0) = (int32_t)0x80000000; W(0xD8) = 0; W(0xE0) = 8; (void)R(0x44);", [(0xFFFFFFFF80000000, 8)]),
        ("W(0xD0) = 32; W(0xD8) = 0; W(0xE0) = 8; W(0xD4) = 3; (void)R(0x44);", None),
        ("W(0xD0) = 32; W(0xD8) = 0; W(0xE0) = 8; W(0) = 3; (void)R(0x44);", None),
        ("W(0xD0) = 32; W(0xD8) = 0; W(0xE0) = 8; (void)W(0x40);", None),
    ],
)
def test_a_register_of_64_bits_is_written_as_a_whole(body: str, found: list[tuple[int, int]] | None) -> None:
    text = f"{HEAD}{WIDE}int main(void) {{ R(0) = 0; {body} }}"
    (entry,) = read_driver(Source("d.c", text), {}, "reg64_1d").entries
    told = [(one.descriptor.request.dst, one.descriptor.request.length) for one in entry.told]
    assert bool(entry.doubts) == (found is None)
    assert found is None or told == found


CALL = "snrt_dma_start_1d((void *){}, (void *)0x40000, 64);"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (f"int main(void) {{ {SET} (void)R(0x44); {CALL.format('0x20000')} }}", "unknown"),
        (f"int main(void) {{ {CALL.format('0x20000')} {SET} (void)R(0x44); }}", "unknown"),
        (f"{GOOD}void f(void) {{ {CALL.format('0x20000')} }}", "unknown"),
        (f"void f(void) {{ {CALL.format('0x20000')} }}", "proved"),
    ],
)
def test_calls_and_registers_are_not_one_engine(tmp_path: Path, text: str, status: str) -> None:
    assert judged(tmp_path, text).status.value == status


SETTERS = """static uint32_t rd(void) { return R(0x44); }
static uint32_t len(uint32_t n) { R(0xD8) = n; return n; }
static void both(uint32_t a, uint32_t b) { }
static uint32_t w[4];
"""


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("both(len(32), rd());", "unknown"),
        ("both(len(8), len(16)); rd();", "unknown"),
        ("uint32_t x = rd() + len(8);", "unknown"),
        ("uint32_t x[] = {[1] = rd(), [0] = len(8)};", "unknown"),
        ("uint32_t i = 4; both(i++, len(i)); rd();", "unknown"),
        ("*(len(8), &w[0]) = rd();", "unknown"),
        ("w[len(3)] += rd();", "unknown"),
        ("if (rd() > len(9)) { }", "unknown"),
        # C says what is first
        ("uint32_t x = (len(8), rd());", "proved"),
        ("uint32_t x = len(8) && rd();", "proved"),
        ("uint32_t x = len(8) ? rd() : 0;", "proved"),
        ("uint32_t a = len(8), b = rd();", "proved"),
        ("both(len(8), 3); rd();", "proved"),
        ("w[3] = rd();", "proved"),
        ("uint32_t n = 0, id[2]; id[n++] = rd(); len(n * 4); id[n++] = rd();", "proved"),
    ],
)
def test_an_order_that_c_leaves_open_leaves_registers_open(tmp_path: Path, statement: str, status: str) -> None:
    helpers = "".join(f"{one}\n" for one in SETTERS.splitlines() if (name := one.split("(")[0].split()[-1]) in statement
                      or name == "w[4];")  # fmt: skip
    assert judged(tmp_path, f"{helpers}int main(void) {{ {SET} {statement} }}").status.value == status


@pytest.mark.parametrize(("wait", "proved"), [("while (R(0x84) != a);", True), ("", False)])
def test_a_wait_for_a_launch_speaks_of_launches_with_arguments_too(tmp_path: Path, wait: str, proved: bool) -> None:
    launch = "R(0xD0) = {to}; R(0xD4) = {source}; uint32_t {name} = R(0x44);"
    first, second, reads = (
        launch.format(name=name, to=to, source=source)
        for name, to, source in (("a", "0x20000", "0x10000"), ("b", "0x50000", "0x10000"), ("c", "0x60000", "0x20000"))
    )
    found = judged(tmp_path, f"void f(uint32_t n) {{ {SET} R(0xD8) = n; {first} {second} {wait} {reads} }}")
    assert (found.status.value == "proved") is proved, found.findings
    assert not proved or any("n >= 1" in one for one in found.conditions), found.conditions


@pytest.mark.parametrize("of", ["", "volatile "])
@pytest.mark.parametrize(
    "text",
    [
        f"{SET} uint32_t i = R(0x44); of uint32_t *p = (of uint32_t *)(BASE + 0x84); while (*p != i);",
        f"of uint32_t *p = (of uint32_t *)BASE; *p = 0; {SET} (void)R(0x44);",
        f"{SET} of uint32_t *p = (of uint32_t *)(BASE + 0x44); (void)*p;",
    ],
)
def test_a_compiler_may_drop_what_is_not_volatile(tmp_path: Path, text: str, of: str) -> None:
    found = judged(tmp_path, f"int main(void) {{ {text} }}".replace("of ", of))
    dropped = "accesses to the engine that are not volatile are compiled as they are written"
    assert (found.status.value, found.conditions) == ("proved", () if of else (dropped,))


AGAIN = "R(0xD0) = 0x40000; R(0xD4) = 0x20000; (void)R(0x44);"


@pytest.mark.parametrize(
    ("first", "then", "status"),
    [
        ("", "busy = R(4); while (busy & 0x3FF);", "proved"),
        ("busy = R(4);", "while (busy & 0x3FF);", "unknown"),
        ("busy = !(R(4) & 0x3FF);", "while (!busy);", "unknown"),
        ("busy = R(4);", "while (R(4) & 0x3FF);", "proved"),
    ],
)
def test_flags_that_were_read_before_a_launch_say_nothing_of_it(
    tmp_path: Path, first: str, then: str, status: str
) -> None:
    before = "R(0) = 0; R(0xF8) = 0; R(0xD0) = 0x70000; R(0xD4) = 0x80000; R(0xD8) = 64; (void)R(0x44);"
    found = judged(
        tmp_path, f"int main(void) {{ uint32_t busy; {before} {first} {SET} (void)R(0x44); {then} {AGAIN} }}"
    )
    assert found.status.value == status


@pytest.mark.parametrize(
    ("wait", "status"),
    [
        ("do { s = R(0x84); } while (s != id);", "proved"),
        ("while ((s = R(0x84)) != id);", "proved"),
        ("uint32_t f = R(4); while (f & 0x3FF) { f = R(4); }", "proved"),
        ("do { s = R(0x88); } while (s != id);", "unknown"),  # of another channel
        ("do { s = R(0x84); n = n + 1; } while (s != id && n < 9);", "unknown"),
        ("do { s = R(0x84); id = s; } while (s != id);", "unknown"),
        ("s = R(0x84); while (s != id) { s = n; n = R(0x84); }", "unknown"),  # n is 0 at first, which id may be
        ("uint32_t m = s = R(0x84); while (s != id) { s = m; m = n; n = R(0x84); }", "unknown"),
        ("s = R(0x84); while (s != id) { s = id; }", "unknown"),
        ("uint8_t b; do { b = R(0x84); } while (b != id);", "unknown"),
        ("uint8_t b; while ((b = R(0x84)) != id);", "unknown"),
        ("volatile uint32_t v; do { v = R(0x84); } while (v != id);", "unknown"),
    ],
)
def test_a_wait_may_go_through_a_variable_that_each_round_reads_again(tmp_path: Path, wait: str, status: str) -> None:
    text = f"int main(void) {{ uint32_t s, n = 0; {SET} uint32_t id = R(0x44); {wait} {AGAIN} }}"
    assert judged(tmp_path, text).status.value == status
