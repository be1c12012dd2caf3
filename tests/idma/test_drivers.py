"""Drivers in C: what they launch is read as a C compiler reads it, or told as not read."""

from itertools import product
from pathlib import Path

import pytest

from dmaverify.cli import app as cli
from dmaverify.errors import Source
from dmaverify.language.numbers import Poly
from dmaverify.machines.idma.c import conditions
from dmaverify.machines.idma.c.conditions import MOST_OPEN, Clauses, strongest, told_clause, without_quotients
from dmaverify.machines.idma.c.driver import Driver, read_driver
from dmaverify.machines.idma.c.names import CALLS
from dmaverify.machines.idma.c.numbers import Value, binary, literal
from dmaverify.machines.idma.c.pulp import PULP_CALLS
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.prove.sizes.facts import (
    FloorQuotient,
    SizeFact,
    SizeRegion,
    SizeSymbol,
    Template,
    floor_name,
    with_floors,
)
from dmaverify.prove.smt import Answer
from dmaverify.verdict import Status

DRIVER = Path(__file__).parents[2] / "examples" / "idma" / "driver.c"


def driver(body: str, *, before: str = "", front_end: str = "", **defines: str) -> Driver:
    return read_driver(Source("d.c", f"{before}\nint main(void) {{ {body} }}\n"), defines, front_end)


def launched(body: str, **more: str) -> list[tuple[int, ...]]:
    """(dst, src, length, dims...) of every launch; fails where something was not read."""
    found = driver(body, **more)  # type: ignore[arg-type]
    assert not [d.why for e in found.entries for d in e.doubts]
    return [
        (r.dst, r.src, r.length, *(x for d in one.descriptor.dims for x in (d.reps, d.dst_stride, d.src_stride)))
        for e in found.entries for one in e.told for r in [one.descriptor.request]
    ]  # fmt: skip


def doubted(body: str, **more: str) -> list[str]:
    return [d.why for e in driver(body, **more).entries for d in e.doubts]  # type: ignore[arg-type]


def test_calls_become_descriptors() -> None:
    assert launched("snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 64);") == [(0x1000, 0x2000, 64)]
    assert launched("snrt_dma_start_2d((void*)0x1000, (void*)0x2000, 64, 128, -64, 4);") == [
        (0x1000, 0x2000, 64, 4, 128, -64)
    ]
    wide = "snrt_dma_start_1d_wideptr(0x100000000, 0x1000ull << 32, 8);"
    assert launched(wide) == [(0x100000000, 0x1000 << 32, 8)]


def test_macros_constants_and_loops_are_followed() -> None:
    before = """
#define BASE 0x10000000
#define ROW (16 * sizeof(uint32_t))
#define AT(i) (BASE + (i) * ROW)
#define COPY(d, s) do { snrt_dma_start_1d((void *)(d), (void *)(s), ROW); } while (0)
enum { FIRST = 2, SECOND };
static const int N = SECOND;
"""
    body = "for (int i = 0; i < N; ++i) { if (i == 1) continue; COPY(AT(i), 0x8000); }"
    assert launched(body, before=before) == [(0x10000000, 0x8000, 64), (0x10000080, 0x8000, 64)]
    helper = "static void go(uint32_t *d, int n) { while (n--) { snrt_dma_start_1d(d + n, (void *)0, 4); } }"
    assert launched("go((uint32_t *)0x100, 2);", before=helper) == [(0x104, 0, 4), (0x100, 0, 4)]


def test_conditions_of_the_preprocessor_choose() -> None:
    call = "snrt_dma_start_1d((void *)0, (void *)64, SIZE);"
    before = "#define BIG 1\n#if BIG > 0 && !defined(SMALL)\n#define SIZE 128\n#else\n#define SIZE 32\n#endif"
    assert launched(call, before=before) == [(0, 64, 128)]
    assert launched(call, before=before, SMALL="1") == [(0, 64, 32)]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("snrt_dma_start_1d((void *)0, buffer, 4);", "`buffer` has no value"),
        ("uint8_t b[4]; snrt_dma_start_1d((void *)0, b, sizeof(b));", "linker"),
        ("if (ready()) snrt_dma_start_1d((void *)0, (void *)64, 4);", "condition"),
        ("ready() && snrt_dma_start_1d((void *)0, (void *)64, 4);", "condition"),
        ("int x = ready() ? snrt_dma_start_1d((void *)0, (void *)64, 4) : 0;", "condition"),
        ("for (int i = 0; i < n; i++) snrt_dma_start_1d((void *)0, (void *)64, 4);", "bound of a loop"),
        ("int n = 4; set(&n); snrt_dma_start_1d((void *)0, (void *)64, n);", "`n`"),
        ("int n = 4; if (ready()) n = 8; snrt_dma_start_1d((void *)0, (void *)64, n);", "depends on"),
        ("volatile int n = 4; snrt_dma_start_1d((void *)0, (void *)64, n);", "changed elsewhere"),
        ("static int n = 4; snrt_dma_start_1d((void *)0, (void *)64, n++);", "changed elsewhere"),
        ("snrt_dma_start_1d((void *)0x100000000, (void *)64, 4);", "width of a pointer"),
        ("snrt_dma_start_1d((void *)0, (void *)64, 2147483647 + 1);", "overflows"),
        ("snrt_dma_start_2d((void *)0, (void *)64, 4, 0x100000000ull, 4, 2);", "cuts it"),
        ("switch (ready()) { case 1: snrt_dma_start_1d((void *)0, (void *)64, 4); }", "switch"),
        ("goto x; x: snrt_dma_start_1d((void *)0, (void *)64, 4);", "goto"),
        ('int n = 4; asm("x" : "=r"(n)); snrt_dma_start_1d((void *)0, (void *)64, n);', "assembly"),
        ("void *go = snrt_dma_start_1d; go((void *)0, (void *)64, 4);", "not called"),
        ("(snrt_dma_start_1d)((void *)0, (void *)64, 4);", "not called"),
        ("\n#define GO snrt_dma_start_1d\nGO((void *)0, (void *)64, 4);", "not called"),
        ("snrt_dma_load_2d_tile(1, 2, 3);", "not read"),
        ("while (1) { if (ready()) break; snrt_dma_start_1d((void *)0, (void *)64, 4); }", "condition"),
        ("snrt_dma_start_1d((void *)0, (void *)64, 4", "read as C"),
    ],
)
def test_what_is_no_constant_is_told(body: str, says: str) -> None:
    assert any(says in why for why in doubted(body)), doubted(body)


def test_a_macro_without_parentheses_is_not_computed_in_the_wrong_order() -> None:
    call = "snrt_dma_start_1d((void *)0, (void *)64, SUM * 3);"
    assert any("parentheses" in why for why in doubted(call, before="#define SUM 1 + 2"))
    assert launched("snrt_dma_start_1d((void *)0, (void *)64, SUM);", before="#define SUM 1 + 2") == [(0, 64, 3)]


@pytest.mark.parametrize(
    ("a", "op", "b", "is_"),
    [
        ("0xFFFFFFFF", "+", "1", 0), ("0", "-", "1", -1), ("0u", "-", "1", (1 << 32) - 1), ("7", "/", "2", 3),
        ("0x80000000", ">>", "4", 0x8000000), ("1", "<<", "31", None), ("1u", "<<", "31", 1 << 31),
        ("1", "/", "0", None),
        ("4294967296", "+", "0", 1 << 32), ("010", "+", "0", 8), ("1u", ">", "2", 0), ("1", "<<", "32", None),
    ],
)  # fmt: skip
def test_integers_are_those_of_c(a: str, op: str, b: str, is_: int | None) -> None:
    assert binary(op, literal(a), literal(b)).number == is_
    assert binary("/", Value(-7), Value(2)).number == -3
    assert binary("<", Value(-1), literal("1u")).number == 0


@pytest.mark.parametrize(
    ("before", "length", "is_"),
    [
        ("", "(1 ? -8 : 0u) / 0x10000000", 15),  # both operands of ?: have one type, here unsigned int
        ("", "(0 ? f() : -8) / -4", 2), ("unsigned f(void);", "(0 ? 1u << 3 : -8) / 0x10000000", 15),
        ("", "(0 ? x == 1u : -8) / -4", 2),
        ("#define MAX(a, b) ((a) > (b) ? (a) : (b))", "MAX(-1, 1u) / 0x10000000", 15),
        ("static uint64_t f(void) { return 0; }", "(0 ? f() : 4 - 5u) >> 28", 15),
        ("", "(0 ? g() : -8) / 0x10000000", None), ("int x;", "(0 ? x++ : 7)", None),
        ("static bool b = 1;", "(bool)256 + 15", 16),
        ("", "({ 0; })", None), ("", "(char)65", 65), ("", "(char)200", None),
        ("", "(signed char)200 + 100", 44), ("", "(long)4 + 4u", None), ("", "(long)4 < 5u", 1),
        ("", "(long)-4 < 5u", None),
        ("", "sizeof(int) + 4u", 8), ("", "sizeof(int) - 3LL", None), ("", "sizeof(char) + sizeof(bool)", 2),
    ],
)  # fmt: skip
def test_types_of_c_are_kept_through_operators(before: str, length: str, is_: int | None) -> None:
    """(`f`, `g` and `x` without a text have no type that is known.)"""
    call = f"snrt_dma_start_1d((void *)0, (void *)64, {length});"
    if is_ is None or ("f()" in length and "{" not in before):
        assert doubted(call, before=before)
    else:
        assert launched(call, before=before) == [(0, 64, is_)]


def test_an_assignment_has_the_value_that_was_stored() -> None:
    body = "uint8_t a; int b = (a = 300); snrt_dma_start_1d((void *)0, (void *)64, b);"
    assert launched(body) == [(0, 64, 44)]
    assert launched("bool a = 1; a += 255; snrt_dma_start_1d((void *)0, (void *)64, a);") == [(0, 64, 1)]


def test_a_macro_of_nothing_does_nothing() -> None:
    assert launched("NOTHING; snrt_dma_start_1d((void *)0, (void *)64, 4);", before="#define NOTHING") == [(0, 64, 4)]


def test_registers_launch_by_a_read() -> None:
    before = "#define REG(o) (*(volatile uint32_t *)(0x1000 + (o)))"
    body = "REG(0xD0) = 0x200; REG(0xD4) = 0x400; REG(0xD8) = 64; uint32_t id = REG(0x44);"
    assert launched(body, before=before, front_end="reg32_3d") == [(0x200, 0x400, 64)]
    unknown = body.replace("64", "n")
    assert any("0xD8" in why for why in doubted(unknown, before=before, front_end="reg32_3d"))
    maybe = body.replace("uint32_t", "if (ready()) REG(0xD8) = 8; uint32_t")
    assert doubted(maybe, before=before, front_end="reg32_3d")


ROWS = """
schema = 1
target = "idma"
[axes]
R = 4
C = 64
[transfer.t]
dtype = "i8"
source = {{ tier = "mem", base = {src}, element = "R # 5, C # 80" }}
dest = {{ tier = "mem", base = 131072, element = "R, C" }}
options = {{ {options} }}
read = "[R=4:80, C=64:1]:64 @{src}"
write = "[R=4:64, C=64:1]:64 @131072"
"""


@pytest.mark.parametrize(
    ("options", "src", "says"),
    [
        ('preset = "manticore"', 4096, "snrt_dma_start_2d((void *)0x20000, (void *)0x1000, 64, 64, 80, 4)"),
        ('preset = "manticore"', 1 << 33, "snrt_dma_start_2d_wideptr(0x20000ull, 0x200000000ull, 64, 64, 80, 4)"),
        ('preset = "manticore", channel = 2', 4096, "snrt_dma_start_2d_channel((void *)0x20000, "),
        ('preset = "cheshire"', 4096, "sys_dma_memcpy(0x200c0ull, 0x10f0ull, 64)"),
        ('preset = "pulp-open"', 4096, "return *(volatile uint32_t *)(dma + 0x44)"),
        ('front_end = "reg64_2d", decouple_rw = 1', 4096, "(dma + 0x00) = 0x00000402u"),
        ('front_end = "reg32_1d"', 4096, None),
        ('preset = "manticore", decouple_rw = 1', 4096, None),
        ('preset = "manticore", dst_protocol = "obi"', 4096, None),
        ("", 4096, None),
    ],
)
def test_drivers_are_written_as_they_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str, src: int, says: str | None
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(ROWS.format(options=options, src=src))
    assert cli.invoke(["emit", f"{file}::t", "--as", "c"]) == (2 if says is None else 0)
    text = capsys.readouterr().out
    if says is not None:
        assert says in text
        (tmp_path / "d.c").write_text(text)
        engine = [word for one in options.replace('"', "").split(", ") for word in ("--engine", one.replace(" ", ""))]
        assert cli.invoke(["check", "--no-cache", str(tmp_path / "d.c"), "--define", "dma=0", *engine]) == 0


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("d->src = 0x1000; d->dst = 0x2000; d->length = 64;", [(0x2000, 0x1000, 64)]),
        ("d.src_addr = 0x1000; d.dest = 0x2000; d.len = 64;", [(0x2000, 0x1000, 64)]),
        ("for (int i = 0; i < 2; i++) { r[i].src = i * 64; r[i].dst = 4096 + i; r[i].length = 8; }",
         [(4096, 0, 8), (4097, 64, 8)]),
        ("d->src = 0; d->dst = 2; d->length = 4; d = e; d->src = 8; d->dst = 6; d->length = 4;",
         [(2, 0, 4), (6, 8, 4)]),
    ],
)  # fmt: skip
def test_descriptors_in_memory_are_read_field_by_field(body: str, want: list[tuple[int, ...]]) -> None:
    assert launched(f"desc_t *d = get(), *e; {body}") == want


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("d->src = 0; d->dst = 2; d->length = 4; d->length = 8;", "written again"),
        ("d->src = 0; d->dst = 2; d->length += 4;", "in place"),
        ("if (x()) d->src = 0; d->dst = 2; d->length = 4;", "or not"),
        ("r[n].src = 0; r[n].dst = 2; r[n].length = 4;", "`n`"),
    ],
)
def test_descriptors_that_may_be_others_are_told(body: str, says: str) -> None:
    assert any(says in why for why in doubted(f"desc_t *d = get(); {body}")), doubted(body)


GO = "snrt_dma_start_1d_channel((void *){d}, (void *){s}, 64, {c});"
FIRST = "snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 64);"


@pytest.mark.parametrize(
    ("body", "status", "scope"),
    [
        (FIRST + GO.format(d="0x3000", s="0x5000", c=1), Status.PROVED, ""),
        (FIRST + GO.format(d="0x2000", s="0x5000", c=1), Status.REFUTED, ""),
        (FIRST + GO.format(d="0x2000", s="0x5000", c=0), Status.PROVED, ""),
        (FIRST + "snrt_dma_wait_all_channel(1);" + GO.format(d="0x2000", s="0x5000", c=1), Status.REFUTED, ""),
        (FIRST + "snrt_dma_wait_all_channel(0);" + GO.format(d="0x2000", s="0x5000", c=1), Status.PROVED, ""),
        (FIRST + "snrt_dma_wait_all_channels(2);" + GO.format(d="0x2000", s="0x5000", c=1), Status.PROVED, ""),
        (GO.format(d="0x1000", s="0x2000", c=1) + "snrt_dma_wait_all();" + FIRST.replace("0x2000", "0x1000")
         .replace("0x1000,", "0x3000,", 1), Status.REFUTED, ""),  # that waits for channel 0
        (FIRST + GO.format(d="0x2000", s="0x5000", c="n"), Status.UNKNOWN, ""),
        ("struct d x = {.src = 0x1000, .dst = 0x4000, .length = 8};" + FIRST, Status.UNKNOWN, ""),
        ("struct d x = {.src = 0x7000, .dst = 0x4000, .length = 8};" + FIRST, Status.PROVED, ""),
        (FIRST + "helper();", Status.PROVED, "helper() launches nothing"),
        (FIRST + "printf(0);", Status.PROVED, ""),
        (FIRST + "if (n) return 0;" + FIRST, Status.PROVED, ""),
        (FIRST + "if (n & x) return 0;" + FIRST, Status.PROVED, ""),
        (FIRST + 'if (x) asm volatile("y");', Status.PROVED, "assembly launches nothing"),
        (FIRST + 'if (x) asm volatile("fence" ::: "memory");', Status.PROVED, ""),
        (FIRST + "d->src = 0;", Status.PROVED, "`d` without dst and length is no descriptor"),
        (FIRST + "\n#ifdef LATE\n#endif\n", Status.PROVED, "LATE is not defined"),
    ],
)  # fmt: skip
def test_what_a_driver_leaves_open_is_in_its_verdict(tmp_path: Path, body: str, status: Status, scope: str) -> None:
    path = tmp_path / "d.c"
    path.write_text(f"int main(int n, int x) {{ {body} }}\n")
    verdict = verdict_of_file(str(path), engine=["manticore"])
    assert verdict is not None
    assert (verdict.status, " and ".join(verdict.conditions)) == (status, scope)
    assert not scope or cli.invoke(["check", "--no-cache", "--strict", str(path), "--engine", "manticore"]) == 1


def test_no_wait_speaks_of_a_descriptor_in_memory_with_arguments_either(tmp_path: Path) -> None:
    launch = "snrt_dma_start_1d((void *)0x1000, (void *)0x2000, n); snrt_dma_wait_all();"
    own = "struct d x = {.src = p, .dst = 0x4000, .length = 8};"
    (tmp_path / "driver.c").write_text(f"void f(uint32_t n, uint32_t p) {{ {launch} {own} }}")
    found = verdict_of_file(str(tmp_path / "driver.c"))
    assert found is not None
    assert found.status is Status.PROVED
    assert "n <= 4096 and p <= 4088;" in found.conditions[0]  # below what the launch writes, whoever waited for it


@pytest.mark.parametrize(
    ("call", "conditions"),
    [
        ("memset_dma(1);", ["memset_dma() launches nothing"]),
        ("snrt_copy_block(2);", ["snrt_copy_block() launches nothing"]),
        ("free_slot_and_start_copy(3);", ["free_slot_and_start_copy() launches nothing"]),
        ("START_DMA;", ["`START_DMA` launches nothing"]),
        ("int id = START_DMA;", ["`START_DMA` launches nothing"]),
        ("if (x) START_DMA;", ["`START_DMA` launches nothing"]),
        ("if (x) { int id = START_DMA; id++; }", ["`START_DMA` launches nothing"]),
        (
            'if (x) asm volatile("add %[a], %[b]" : [a] "+r"(x) : [b] "r"(START_DMA));',
            ["assembly launches nothing", "`START_DMA` launches nothing"],
        ),
        ("memcpy(&x, &x, 4);", ["memcpy() launches nothing"]),
        ("memset(&x, 0, 4); free(0); snrt_cluster_hw_barrier(); printf(0);", []),
        ("x; (void)x; x = UINT32_MAX;", []),
    ],
)
def test_what_other_files_define_launches_nothing_on_a_condition(
    tmp_path: Path, call: str, conditions: list[str]
) -> None:  # fmt: skip
    (tmp_path / "d.c").write_text(f"void f(int x) {{ {FIRST} {call} }}\n")
    verdict = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"])
    assert verdict is not None
    assert (verdict.status, list(verdict.conditions)) == (Status.PROVED, conditions)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("dmsrc %0, %1", Status.UNKNOWN),
        ("dmcpyi %0, %1, 0", Status.UNKNOWN),
        (".word (0b0101011 << 0)", Status.UNKNOWN),
        (".insn r 0x2b, 0, 2, %0, %1, x0", Status.UNKNOWN),
        ("csrr %0, mcycle", Status.PROVED),
        ("admcpy %0", Status.PROVED),
    ],
)
def test_assembly_that_names_an_instruction_of_the_engine_is_told(tmp_path: Path, text: str, status: Status) -> None:
    (tmp_path / "d.c").write_text(f'void f(int x) {{ {FIRST} asm volatile("{text}" : "=r"(x) : "r"(x)); }}\n')
    verdict = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"])
    assert verdict is not None
    assert verdict.status is status
    assert status is not Status.PROVED or verdict.conditions == ("assembly launches nothing",)


TWICE = (
    "{kind} id = snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 64); {wait} "
    "snrt_dma_start_1d((void *)0x3000, (void *)0x1000, 64);"
)


@pytest.mark.parametrize(
    ("kind", "wait", "status"),
    [
        ("uint32_t", "snrt_dma_wait(id);", "proved"),
        ("int", "snrt_dma_wait((uint32_t)id);", "proved"),
        ("uint32_t", "snrt_dma_wait_channel(id, 0);", "proved"),
        ("uint32_t", "snrt_dma_wait_channel(id, 1);", "unknown"),
        # an id of fewer bits, or made of it, is the id of another launch
        ("uint8_t", "snrt_dma_wait(id);", "unknown"),
        ("uint16_t", "snrt_dma_wait(id);", "unknown"),
        ("_Bool", "snrt_dma_wait(id);", "unknown"),
        ("int", "uint8_t own; own = id; snrt_dma_wait(own);", "unknown"),
        ("int", "uint32_t own; own = id; snrt_dma_wait(own);", "proved"),
        ("int", "struct { uint8_t own; } s; s.own = id; snrt_dma_wait(s.own);", "unknown"),
        ("int", "uint8_t own[2]; own[1] = id; snrt_dma_wait(own[1]);", "unknown"),
        ("float", "snrt_dma_wait(id);", "unknown"),
        ("int", "snrt_dma_wait((uint8_t)id);", "unknown"),
        ("int", "snrt_dma_wait(-id);", "unknown"),
        ("int", "snrt_dma_wait(~id);", "unknown"),
        ("int", "snrt_dma_wait(!id);", "unknown"),
        ("int", "snrt_dma_wait(id && 1);", "unknown"),
        ("int", "snrt_dma_wait(id || 0);", "unknown"),
        ("int", "snrt_dma_wait(id ? 0 : 1);", "unknown"),
        # launches of a channel are complete in their order
        ("int", "snrt_dma_start_1d((void *)0x5000, (void *)0x7000, 64); snrt_dma_wait(id);", "proved"),
        ("int", "snrt_dma_start_1d((void *)0x1000, (void *)0x7000, 64); snrt_dma_wait(id);", "refuted"),
        ("int", "id = snrt_dma_start_1d_channel((void *)0x5000, (void *)0x7000, 64, 1); snrt_dma_wait(id);", "unknown"),
    ],
)
def test_a_wait_is_for_the_launch_whose_id_it_is_given(tmp_path: Path, kind: str, wait: str, status: str) -> None:
    (tmp_path / "d.c").write_text(f"int main(void) {{ {TWICE.format(kind=kind, wait=wait)} }}\n")
    verdict = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"])
    assert verdict is not None
    assert verdict.status.value == status


@pytest.mark.parametrize(
    "macro",
    ["CHECK(x) do { if (!(x)) fail(#x); } while (0)", "CHECK(...) __VA_ARGS__", "CHECK(x) (void)sizeof(#x), x",
     "CHECK(x) note_##x"],
)  # fmt: skip
def test_a_launch_in_the_arguments_of_a_macro_that_is_not_read_is_told(macro: str) -> None:
    text = f"#define {macro}\nvoid f(void) {{ CHECK(snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 0)); }}"
    (entry,) = read_driver(Source("d.c", text), {}).entries
    assert entry.doubts


LAST = "snrt_dma_start_1d((void *)0x3000, (void *)0x1000, 64);"
BESIDE = "no launch is in flight when f() begins"  # of functions with arguments no two calls are held together
NONE = "snrt_dma_start_1d((void *)0x3000, (void *)0x1000, 0);"


@pytest.mark.parametrize(
    ("text", "status", "conditions"),
    [
        (f"void snrt_dma_wait_all(void) {{}}\nvoid f(void) {{ {FIRST} snrt_dma_wait_all(); {LAST} }}", "refuted", []),
        (f"void f(void) {{ {FIRST} snrt_dma_wait_all(); {LAST} }}", "proved", []),
        (f"void f(void) {{ {FIRST} WAIT_DMA; {LAST} }}", "unknown", ["`WAIT_DMA` launches nothing"]),
        (f"void h(void) {{ {NONE} }}\nvoid f(void) {{ {FIRST} if (0) h(); }}", "refuted", []),
        (f"static void h(void) {{ {NONE} }}\nvoid f(void) {{ {FIRST} if (0) h(); }}", "proved", []),
        (f"void h(void) {{ {NONE} }}\nvoid g(void) {{ if (0) h(); }}\nvoid f(void) {{ {FIRST} g(); }}", "refuted",
         []),
        (f"void h(void) {{ {FIRST} }}\nvoid f(void) {{ h(); }}", "proved", []),
        (f"void h(void) {{ {FIRST} }}\nvoid f(uint8_t n) {{ if (n > 3) h(); }}", "proved",
         ["no other file calls h()", BESIDE, "no launch is in flight when h() begins"]),
        (f"static void h(void) {{ {FIRST} }}\nvoid f(uint8_t n) {{ if (n > 3) h(); }}", "proved", [BESIDE]),
        (f"void sys_dma_memcpy(uint64_t d, uint64_t s, uint64_t n) {{ {NONE} }}", "refuted", []),
        (f"void my_memcpy(uint64_t d, uint64_t s, uint64_t n) {{ {NONE} }}", "refuted", []),
    ],
)  # fmt: skip
def test_functions_of_the_file_are_run_as_they_stand_there(
    tmp_path: Path, text: str, status: str, conditions: list[str]
) -> None:
    (tmp_path / "d.c").write_text(f"{text}\n")
    verdict = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"])
    assert verdict is not None
    assert (verdict.status.value, list(verdict.conditions)) == (status, conditions)


DESCRIPTOR = """#include <stdint.h>
typedef struct { uint32_t length; uint32_t flags; uint64_t next; uint64_t src; uint64_t dst; } desc_t;
"""
FILLED = "d->src = 0x1000; d->dst = 0x2000; d->length = 64;"


@pytest.mark.parametrize(
    ("text", "status", "rules", "says"),
    [
        ("desc_t d = { .length = 64, .flags = 0x0a, .next = -1, .src = 0x1000, .dst = 0x2000 };", "proved", set(), ""),
        ("void f(void) { desc_t d = { .length = 64, .next = -1, .src = 0x1000, .dst = 0x2000 }; g(&d); }",
         "refuted", {"idma/burst-incr"}, ""),
        (f"void f(desc_t *d) {{ d->flags = 0; {FILLED} d->next = -1; }}", "refuted", {"idma/burst-incr"}, ""),
        (f"void f(desc_t *d) {{ {FILLED} d->next = -1; d->flags = 0x12; }}", "refuted", {"idma/burst-incr"}, ""),
        (f"void f(desc_t *d) {{ {FILLED} d->flags = 0x0100000a; }}", "refuted", {"idma/reserved-bits"}, ""),
        (f"void f(desc_t *d, int x) {{ {FILLED} d->flags = x ? 8 : 10; }}", "unknown", set(), "flags: "),
        (f"void f(desc_t *d) {{ {FILLED} d->flags = 10; d->next = 0; }}", "unknown", set(), "goes on at 0x0"),
        (f"void f(desc_t *d) {{ {FILLED} }}", "proved", set(), "the flags of `d` ask for INCR bursts"),
    ],
)  # fmt: skip
def test_flags_and_links_of_descriptors_in_memory_are_judged(
    tmp_path: Path, text: str, status: str, rules: set[str], says: str
) -> None:
    file = tmp_path / "d.c"
    file.write_text(DESCRIPTOR + text, encoding="utf-8")
    verdict = verdict_of_file(str(file), engine=("cheshire",))
    assert verdict is not None
    assert verdict.status.value == status
    assert {finding.rule for finding in verdict.errors} == rules
    assert says in f"{verdict}"
    other = verdict_of_file(str(file), engine=("rw_axi",))
    assert other is not None
    assert other.status.value == "proved"  # no engine that has flags


def test_initialized_descriptors_are_transfers() -> None:
    body = "struct d x = {.length = 64, .src = 0x1000, .dst = 0x2000, .next = -1};"
    assert launched(body) == [(0x2000, 0x1000, 64)]


def test_a_driver_is_judged_with_its_waits(tmp_path: Path) -> None:
    one = "snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 64);"
    two = "snrt_dma_start_1d((void *)0x3000, (void *)0x1000, 64);"
    wanted = {"": Status.REFUTED, "snrt_dma_wait_all();": Status.PROVED, "other();": Status.UNKNOWN}
    wanted |= {"if (x()) snrt_dma_wait_all();": Status.PROVED, "if (0) other();": Status.REFUTED}
    wanted |= {'asm volatile("fence rw, rw");': Status.REFUTED, "while (x());": Status.UNKNOWN}
    wanted |= {'asm volatile("wait");': Status.UNKNOWN, "if (1) { snrt_dma_wait_all(); }": Status.PROVED}
    for between, status in wanted.items():
        path = tmp_path / "d.c"
        path.write_text(f"int main(void) {{ {one} {between} {two} }}\n")
        verdict = verdict_of_file(str(path))
        assert verdict is not None
        assert verdict.status is status, between
    path.write_text("void f(int n) { snrt_dma_start_1d((void *)0, (void *)64, n); }")
    ranges = ((["--define", "n=1..64"], 0), (["--define", "n=1..65"], 0), (["--define", "n=1..65", "--strict"], 1))
    for more, code in (([], 0), (["--strict"], 1), (["--define", "n=8"], 0), (["--define", "n=0"], 1), *ranges):
        with pytest.raises(SystemExit) as left:
            cli.main(["check", str(path), *more])
        assert left.value.code == code


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("int main(void) { return 0; }", "1:1"),
        ("", "1:1"),
        ("void f(void) {\n  log(1);\n  dma_go(0, 64, 64);\n}", "3:3"),
        ("void f(void) {\n  r[0] = 5;\n}", "2:3"),
        ("void f(void) { x(); }\n#define GO snrt_dma_start_1d\n", "2:9"),
        (f"void f(int *n) {{\n  while (*n) {FIRST}\n}}", "2:14"),
        (f"void f(int *n) {{\n  switch (*n) {{ case 1: {FIRST} }}\n}}", "2:25"),
        (f"#define ONE {FIRST}\nvoid f(int *n) {{\n  while (*n) {{ ONE }}\n}}", "3:16"),
        (f"void g(void) {{\n  {FIRST}\n}}\nvoid f(int *n) {{\n  while (*n) g();\n}}", "5:14"),
        ("int (*go)(int) = snrt_dma_start_1d;\nvoid f(void) { go(1); }", "1:18"),
        (f"#define ONE {FIRST}\nvoid f(int *n) {{ {FIRST}\n  ONE\n  n = 0; }}", "3:3"),
        (f"#define ONE {FIRST}\nvoid f(int *n) {{ {FIRST}\n  if (*n) ONE; }}", "3:11"),
        (f"#define TWO g()\nvoid g(void) {{ {FIRST} }}\nvoid f(int *n) {{ {FIRST}\n  while (*n) TWO; }}", "4:14"),
        (f"#define GO(k) snrt_dma_start_##k(0, 64, 64)\nvoid f(void) {{ {FIRST}\n  GO(1d); }}", "3:3"),
        (f"#define ALL for (int i = 0; i < 4; i++)\nvoid f(void) {{\n  ALL {{ {FIRST} }}\n}}", "3:9"),
        (f"#define N(n) for (int i = 0; i < n; i++)\nvoid f(void) {{\n  int x = 0; N(4) {{ {FIRST} }}\n}}", "3:21"),
        (f"void f(void) {{\n  WHILE (x) {{ {FIRST} }}\n}}", "2:15"),
        (f"void f(void) {{ {FIRST}\n  IF_DM snrt_dma_start_1d(p, q, 64);\n}}", "2:9"),
        (f"void f(void) {{\n  IF (x) return;\n  int y = 0;\n  {FIRST}\n}}", "4:3"),
        (f"void f(void) {{\n  IF (x) {{ return; }}\n  {FIRST}\n}}", "3:3"),
    ],
)
def test_what_is_not_read_of_a_driver_is_no_pass_and_stands_where_it_was_written(
    tmp_path: Path, text: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "d.c"
    path.write_text(text)
    code = cli.invoke(["check", "--no-cache", str(path), "--format", "concise"])
    first = capsys.readouterr().out.splitlines()[0]
    word = {2: "error[core/input] ", 3: "unknown[core/unresolved-copy] "}[code]
    assert first.startswith(f"{path}:{place}: {word}")


REG = "#define R(o) (*(volatile uint32_t *)(dma + (o)))\n"
ROW = "snrt_dma_start_1d((void *)(0x1000 + 64 * i), (void *)(0x20000 + 64 * i), 64);"
BACK = "snrt_dma_start_1d((void *)(0x100000 + 64 * i), (void *)(0x1000 + 64 * i), 64);"
NEXT = "snrt_dma_start_1d((void *)(0x1040 + 64 * i), (void *)(0x200000 + 64 * i), 64);"
WAIT = "snrt_dma_wait_all();"
DOWN = "snrt_dma_start_1d(p, p + 64, 64);"
UP = "snrt_dma_start_1d(p + 64, p, 64);"
AHEAD = "snrt_dma_start_1d((void *)(0x10000 + {} * i), (void *)(0x{} + {} * i), 64);"
THEN = "snrt_dma_start_1d((void *)0x1000, (void *)0x100000, 64);"
FEW = "assert(n <= 999); uint8_t *p = (void *)0x1000;"
LOOP = "for (uint32_t i = 0; i < n; i++)"
ONE = "snrt_dma_start_1d((void *)0x1000, (void *)0x20000, {n});"


@pytest.mark.parametrize(
    ("text", "status", "conditions"),
    [
        (f"void f(uint32_t n) {{ {ONE.format(n='n')} }}", "proved",
         ["f(): n >= 1 and n <= 126976", BESIDE]),
        (f"void f(uint32_t n) {{ assert(n > 0 && n <= 64); {ONE.format(n='n')} }}", "proved", [BESIDE]),
        (f"void f(uint32_t n) {{ __builtin_assume(n <= 64); {ONE.format(n='n')} }}", "proved",
         ["f(): n >= 1", BESIDE]),
        (f"void f(uint32_t n) {{ assert(n <= 64); {ONE.format(n='4 * (n / 4) + 4')} }}", "proved", [BESIDE]),
        (f"void f(void) {{ uint32_t n = get(); {ONE.format(n='n & 7')} }}", "proved", None),
        (f"void f(uint8_t n) {{ if (n > 4) {ONE.format(n='n - 4')} }}", "proved", [BESIDE]),
        (f"void f(int n) {{ assert(n < 64 && n != 0); {ONE.format(n='n')} }}", "proved", None),
        (f"void f(double n) {{ {ONE.format(n='n')} }}", "unknown", []),
        (f"void f(uint32_t n) {{ g(&n); {ONE.format(n='n')} }}", "unknown", ["g() launches nothing"]),
        (f"void f(uint8_t n) {{ assert(n < 8); for (int i = 0; i < n; i++) {ROW} }}", "proved", [BESIDE]),
        (f"void f(uint32_t n) {{ {LOOP} {ROW} }}", "proved", ["f(): n <= 2^26 - 2048", BESIDE]),
        (f"void f(uint32_t n) {{ {FEW} {LOOP.replace('i++', 'i += 2')} {ROW} }}", "proved", [BESIDE]),
        (f"void f(uint32_t n) {{ {FEW} {LOOP} {{ {ROW} {BACK} }} }}", "refuted", []),
        (f"void f(uint32_t n) {{ {FEW} {LOOP} {{ {ROW} {WAIT} {BACK} }} }}", "proved", [BESIDE]),
        (f"void f(uint32_t n) {{ {FEW} {LOOP} {{ {BACK} {WAIT} {NEXT} }} }}", "refuted", []),
        (f"void f(uint32_t n) {{ {FEW} {LOOP} {{ {WAIT} {DOWN} p += 64; }} }}", "proved", []),
        (f"void f(uint32_t n) {{ {FEW} {LOOP} {{ {UP} p += 64; }} }}", "refuted", []),
        (f"void f(uint32_t n) {{ {FEW} {LOOP} {{ {WAIT} {BACK} }} {THEN} }}", "proved", ["f(): n >= 2", BESIDE]),
        (f"void f(uint32_t n) {{ {FEW} {LOOP} {{ {BACK} {WAIT} }} {THEN} }}", "proved", [BESIDE]),
        (f"void f(uint32_t n) {{ {FEW} {LOOP} {AHEAD.format(64, 'C000', 64)} }}", "proved", ["f(): n <= 256", BESIDE]),
        (f"void f(uint32_t n) {{ {FEW} {LOOP} {AHEAD.format(128, '20000', 0)} }}", "proved", ["f(): n <= 512", BESIDE]),
        ("void f(void *d, void *s) { snrt_dma_start_1d(d, s, 64); snrt_dma_start_1d(s, d, 64); }", "refuted", []),
        ("void f(uint32_t n) { snrt_dma_start_1d((void *)0x1000, (void *)0x1001, n + 1); }", "unknown", []),
        ("void f(uint8_t n) { snrt_dma_start_1d((void *)0x1800, (void *)0x1000, n + 4096); }", "refuted", []),
        ("void f(void *d, void *s) { snrt_dma_start_1d(d, s, 64); }", "proved", None),
        ("void f(uint8_t n) { if (n + 8 > (n & 3)) snrt_dma_start_1d((void *)0, (void *)4096, n & 127); }",
         "proved", None),
    ],
)  # fmt: skip
def test_arguments_are_judged_for_all_values(
    tmp_path: Path, text: str, status: str, conditions: list[str] | None
) -> None:
    (tmp_path / "d.c").write_text(text)
    verdict = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"])
    assert verdict is not None
    assert verdict.status.value == status
    assert conditions is None or list(verdict.conditions) == conditions
    assert conditions is not None or verdict.conditional


@pytest.mark.parametrize("carried", ["p += q; q += 64;", "g(&p);"])
def test_what_rounds_carry_over_has_no_value(tmp_path: Path, carried: str) -> None:
    row = GO.format(d="(0x9000 + p)", s="0x100", c=0)
    body = f"assert(n < 999); uint32_t p = 0, q = 0; {LOOP} {{ {row} {carried} }}"
    (tmp_path / "d.c").write_text(f"void f(uint32_t n) {{ {body} }}")
    verdict = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"])
    assert verdict is not None
    assert verdict.status is Status.UNKNOWN


def test_a_solver_that_gives_up_leaves_values_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmaverify.machines.idma.c.symbolic.outside_all", lambda *_: Answer("unknown", {}))
    (tmp_path / "d.c").write_text(f"void f(uint32_t n) {{ assert(n > 0 && n <= 64); {ONE.format(n='n')} }}")
    verdict = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"])
    assert verdict is None or any(text.startswith("f():") for text in verdict.conditions)


HELPERS = {
    "GO(": "#define GO() R(0x44)", "NEXT(": "#define NEXT() do { d += 64; } while (0)",
    "go(": "static uint32_t go(uintptr_t dma) { return R(0x44); }",
    "poll(": "static uint32_t poll(uintptr_t dma) { return R(0x84); }",
    "set(": "static void set(uintptr_t dma, uint32_t to) { R(0xD0) = to; }",
}  # fmt: skip


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; return R(0x44);", "proved"),
        ("R(0) = 1u << 30; R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; return R(0x44);", "refuted"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; return e[0x44 / 4];", "unknown"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; return e->next_id;", "unknown"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; *(volatile uint64_t *)(dma + 0xD0) = 0; return R(0x44);", "unknown"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; return *(volatile uint64_t *)(dma + 0x40);", "unknown"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; (void)R(0x44); if (g()) (void)R(0x44); return 0;", "unknown"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; (void)R(0x44); while (R(0x84) < 2); return 0;", "proved"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; (void)R(0x44); while (R(0x84) < R(0x44)); return 0;", "unknown"),
        ("e[0xD0 / 4] = d; e[0xD4 / 4] = s; e[0xD8 / 4] = n; return e[0x44 / 4];", "proved"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; (void)R(0x44); if (g()) go(dma); return 0;", "unknown"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; (void)R(0x44); if (g()) GO(); return 0;", "unknown"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; if (g()) set(dma, d); return R(0x44);", "unknown"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; if (g()) NEXT(); R(0xD0) = d; return R(0x44);", "unknown"),
        ("R(0xD0) = d; R(0xD4) = s; R(0xD8) = n; (void)R(0x44); while (poll(dma) < 2); return 0;", "proved"),
    ],
)
def test_registers_behind_an_argument_launch_too(tmp_path: Path, body: str, status: str) -> None:
    head = "uint32_t f(uintptr_t dma, volatile uint32_t *e, uint32_t d, uint32_t s, uint32_t n)"
    helpers = "".join(f"{text}\n" for name, text in HELPERS.items() if name in body)
    (tmp_path / "d.c").write_text(f"{REG}{helpers}{head} {{ {body} }}\n")
    verdict = verdict_of_file(str(tmp_path / "d.c"), engine=["front_end=reg32_3d"])
    assert verdict is not None
    assert verdict.status.value == status, verdict.obligations


IN, OUT = "plp_dma_extToL1({loc}, {ext}, 64)", "plp_dma_l1ToExt({ext}, {loc}, 64)"
FIRST_IN = IN.format(loc="0x10000000", ext="0x1c000000")
OTHER_IN = IN.format(loc="0x10001000", ext="0x1c000000")
THEN_OUT = OUT.format(loc="0x10000000", ext="0x1c002000")
V5 = "mchan_transfer(64, {to}, 1, 1, 0x1c000000, 0x10000000, 16, 32)"
QUEUED = "mchan_transfer(16, {to}, 1, 0, 0, 1, 0, 0, {ext}, 0x10000000, 0, 0, 0, 0);"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (f"int a = {FIRST_IN}; plp_dma_wait(a); {THEN_OUT};", "proved"),
        (f"{FIRST_IN}; {THEN_OUT};", "refuted"),
        (f"int a = {FIRST_IN}; int b = {OTHER_IN}; plp_dma_wait(a); {THEN_OUT};", "proved"),
        (f"int a = {FIRST_IN}; int b = {OTHER_IN}; plp_dma_wait(b); {THEN_OUT};", "refuted"),
        (f"{FIRST_IN}; plp_dma_barrier(); {THEN_OUT};", "proved"),
        (f"{FIRST_IN}; {IN.format(loc='0x10000020', ext='0x1c000000')};", "refuted"),
        (f"int a = {FIRST_IN}; plp_dma_wait(n); {THEN_OUT};", "unknown"),
        ("int i = mchan_alloc(); " + QUEUED.format(to=1, ext="0x1c000000") + "mchan_barrier(i); mchan_alloc();"
         + QUEUED.format(to=0, ext="0x1c001000"), "proved"),
        ("int i = mchan_alloc(); " + QUEUED.format(to=1, ext="0x1c000000") + "mchan_free(i); mchan_alloc();"
         + QUEUED.format(to=0, ext="0x1c001000"), "refuted"),
        (QUEUED.format(to=1, ext="0x1c000000"), "unknown"),
        (f"int i = {V5.format(to=1)}; mchan_barrier(i); {V5.format(to=0)};", "proved"),
        (f"int i = {V5.format(to=1)}; {V5.format(to=0)};", "refuted"),
        ("mchan_alloc();" + QUEUED.format(to=2, ext="0x1c000000"), "unknown"),
        (f"{FIRST_IN}; plp_dma_cmd_push(1, 2, 3);", "unknown"),
        ("plp_dma_memcpy(0x1c000000, 0x10000000, 65536, PLP_DMA_EXT2LOC);", "unknown"),
        ("plp_dma_memcpy_2d(0x1c000000, 0x10000000, 100, 64, 16, 1);", "unknown"),
    ],
)  # fmt: skip
def test_calls_of_the_pulp_runtime_are_complete_with_their_counter(tmp_path: Path, body: str, status: str) -> None:
    (tmp_path / "d.c").write_text(f"void f(int n) {{ {body} }}")
    verdict = verdict_of_file(str(tmp_path / "d.c"), engine=["pulp-open"])
    assert verdict is not None
    assert verdict.status.value == status


@pytest.mark.parametrize(
    ("call", "want"),
    [
        ("plp_dma_memcpy(0x1c000000, 0x100, 64, PLP_DMA_EXT2LOC);", (0x100, 0x1C000000, 64)),
        ("plp_dma_memcpy(0x1c000000, 0x100, 64, PLP_DMA_LOC2EXT);", (0x1C000000, 0x100, 64)),
        ("plp_dma_extToL1_2d(0x100, 0x1c000000, 64, 128, 16);", (0x100, 0x1C000000, 16, 4, 16, 128)),
        ("plp_dma_l1ToExt_2d(0x1c000000, 0x100, 64, 128, 16);", (0x1C000000, 0x100, 16, 4, 128, 16)),
        ("mchan_alloc(); mchan_transfer(64, 1, 1, 1, 0, 1, 0, 0x1c000000, 0x100, 16, 32);",
         (0x100, 0x1C000000, 16, 4, 16, 32)),
        ("mchan_alloc(); mchan_transfer(64, 0, 1, 1, 1, 0, 1, 0, 0x1c000000, 0x100, 16, 32, 16, 48);",
         (0x1C000000, 0x100, 16, 4, 32, 48)),
        ("mchan_alloc(); mchan_transfer(64, 1, 1, 0, 1, 0, 1, 0, 0x1c000000, 0x100, 0, 0, 16, 48);",
         (0x100, 0x1C000000, 16, 4, 48, 16)),
    ],
)  # fmt: skip
def test_calls_of_the_pulp_runtime_become_descriptors(call: str, want: tuple[int, ...]) -> None:
    assert launched(call) == [want]


def test_what_an_array_holds_is_a_condition_where_its_address_is_given() -> None:
    go = "snrt_dma_start_1d(l1, (void *)0x80000000, 4096);"
    assert driver(go, before="static char l1[4096];", l1="0x1000").conditions == (
        "no launch leaves the 4,096 bytes of l1",
    )
    assert driver(go, before="static char l1[N];", l1="0x1000").conditions == ("no launch leaves l1",)
    assert driver(go, before="static char *l1;", l1="0x1000").conditions == ()


# ---------------------------------------------------------------- the table of the documents

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "drivers.md").read_text(encoding="utf-8")
TABLE = [
    [cell.strip("` ") for cell in line.strip("| ").split(" | ")]
    for line in PAGE.partition("## Calls\n")[2].partition("## ")[0].splitlines()
    if line.startswith("| `")
]
GIVEN = {
    "dst": 0x1000, "src": 0x20000, "size": 64, "dst_stride": 80, "src_stride": 96, "reps": 4, "channel": 3,
    "ext": 0x40000, "loc": 0x8000, "ext2loc": 1, "2d": 1, "loc_2d": 1, "row": 16, "stride": 48, "loc_stride": 32,
    "_": 0, "1": 1,
}  # fmt: skip


def told_in(text: str) -> tuple[int, ...]:
    """The launch that a row states, as `launched` gives it, with the values above."""
    ends, _, more = text.partition("; ")
    first, _, length = ends.partition(", ")
    out = [GIVEN[word] for word in (*first.split(" <- "), length)]
    if more:
        times, _, strides = more.partition(" x ")
        top, _, by = times.partition(" / ")
        out += [GIVEN[top] // (GIVEN[by] if by else 1), *(GIVEN[one] for one in strides.strip("()").split(", "))]
    return tuple(out)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}({row[1]})")
def test_a_call_moves_what_the_table_of_the_documents_says(row: list[str]) -> None:
    call, arguments, says, of = row
    before = "int id = mchan_alloc(); " if "mchan_alloc" in of else ""
    text = ", ".join(str(GIVEN[one]) for one in arguments.split(", "))
    assert launched(f"{before}{call}({text});") == [told_in(says)]


def test_the_table_of_the_documents_has_every_call_that_is_read() -> None:
    plain = {name.replace("_wideptr", "").replace("_irq", "") for name in (*CALLS, *PULP_CALLS)}
    assert plain - {row[0] for row in TABLE} == {"plp_dma_cmd_push", "plp_dma_cmd_push_2d", "sys_dma_2d_blk_memcpy"}


N, M, J, AB, Q = (Poly.symbol(name) for name in ("n", "m", "j->n", "get()", "q"))


@pytest.mark.parametrize(
    ("op", "poly", "quotient", "says"),
    [
        ("ge", Poly.of(2**32 - 1) - N, None, "n <= 2^32 - 1"),
        ("ge", Poly.of(2**26 - 65) - N, None, "n <= 2^26 - 65"),
        ("ge", Poly.of(67_000_000) - N, None, "n <= 67000000"),
        ("ge", M.scaled(2**32 - 1) + N.scaled(2**16) - Poly.of(5), None, "4294967295 * m + 2^16 * n >= 5"),
        ("eq", N - Q.scaled(2), (N, 2), "n % 2 == 0"),
        ("ne", N - Q.scaled(2**17 - 1), (N, 2**17 - 1), "n % 131071 != 0"),  # no `n % 2^17 - 1`
        ("ne", N - Q.scaled(2), (N, 2), "n % 2 != 0"),
        ("eq", N - Q.scaled(2), (N + Poly.of(1), 2), "n % 2 == 0"),
        ("eq", N - Q.scaled(2), (N + Poly.of(2), 2), "n == 2 * q"),  # never
        ("eq", Q.scaled(4) + Poly.of(3) - J, (J, 4), "j->n % 4 == 3"),
        ("eq", N * M - Q.scaled(2**16), (N * M, 2**16), "[m * n] % 2^16 == 0"),
        ("eq", AB - Q.scaled(2), (AB, 2), "get() % 2 == 0"),
        ("ge", N - Q.scaled(2), (N, 2), "n >= 2 * q"),
        ("eq", N - Q.scaled(2), (M, 2), "n == 2 * q"),
    ],
)
def test_a_condition_is_told_in_remainders_and_powers_of_two(
    op: str, poly: Poly, quotient: tuple[Poly, int] | None, says: str
) -> None:
    floors = () if quotient is None else (FloorQuotient("q", quotient[0], Poly.of(quotient[1])),)
    assert told_clause(SizeRegion((SizeFact(op, poly),), floors)) == says


def test_a_quotient_that_is_named_more_than_once_has_a_name() -> None:
    inner, outer = floor_name(N, Poly.of(4)), floor_name(Poly.symbol(floor_name(N, Poly.of(4))) + M, M)
    floors = (
        FloorQuotient(inner, N, Poly.of(4)),
        FloorQuotient(outer, Poly.symbol(inner) + M, M),
    )
    once = (SizeFact("ge", Poly.symbol(outer) - J),)
    assert told_clause(SizeRegion(once, floors)) == "[[[[n] // 4] + m] // m] >= j->n"
    twice = (*once, SizeFact("ge", Poly.symbol(outer).scaled(2) - M), SizeFact("ge", Poly.symbol("q1") - Poly.of(1)))
    told = "q2 >= j->n and 2 * q2 >= m and q1 >= 1 where q2 = [[[n] // 4] + m] // m"
    assert told_clause(SizeRegion(twice, floors)) == told
    of_q1 = FloorQuotient(floor_name(Poly.symbol("q1"), M), Poly.symbol("q1"), M)
    own = tuple(SizeFact("ge", Poly.symbol(of_q1.name).scaled(n) - M) for n in (1, 2))
    assert told_clause(SizeRegion(own, (of_q1,))).endswith(" where q2 = [q1] // m")
    both = (*twice, SizeFact("ge", M - Poly.symbol(inner)))
    assert told_clause(SizeRegion(both, floors)).endswith("m >= q3 where q2 = [q3 + m] // m, q3 = [n] // 4")


@pytest.mark.parametrize(
    ("poly", "least", "implied"),
    [
        (N - Poly.of(4), 0, True),
        (N - Poly.of(6), 0, False),
        (N - Poly.of(5) + M, 0, True),
        (N - Poly.of(5) + M, -9, False),
        (N - Poly.of(5) + N * Q, 0, True),  # a quotient of what is nowhere below 0
        (N - Poly.of(5) - M, 0, False),
        (M * M.scaled(3), 0, True),  # of nothing
        (M * M * M, -9, False),
    ],
)
def test_a_fact_that_another_implies_by_products_of_what_is_not_below_0_is_left_out(
    poly: Poly, least: int, implied: bool
) -> None:
    symbols = (SizeSymbol("n", 0, 99), SizeSymbol("m", least, 99))
    floors = (FloorQuotient("q", M, Poly.of(2)),)
    given = SizeFact("ge", N - Poly.of(5))
    found = strongest([given, SizeFact("ge", poly), given], floors, symbols)
    assert (SizeFact("ge", poly) not in found) == implied
    for n, m in product(range(12), range(least, 12)):
        values = with_floors({"n": n, "m": m}, floors)
        assert not all(one.holds(values) for one in found) or SizeFact("ge", poly).holds(values)


def test_facts_stay_in_a_condition_where_the_solver_leaves_open_whether_they_may_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    symbols, asked = (SizeSymbol("n", 0, 999), SizeSymbol("m", 0, 999)), list[object]()

    def starved(*question: object) -> Answer:
        asked.append(question)
        return Answer("unknown")

    one = SizeRegion(tuple(SizeFact("ge", Poly.of(n) - N.scaled(n * n) - M) for n in range(1, 40)))
    template = Template("driver", "f", "", 0, "idma", None, symbols, (), (), lambda values: None)
    assert len(Clauses(template, [one]).of(one, {"n": 0, "m": 0}).facts) < len(one.facts)
    monkeypatch.setattr(conditions, "outside_all", starved)
    clauses = Clauses(template, [one])
    assert clauses.of(one, {"n": 0, "m": 0}) == clauses.of(one, {"n": 0, "m": 0}) == one
    assert len(asked) == MOST_OPEN


@pytest.mark.parametrize(
    ("poly", "plain"),
    [
        (Q.scaled(8) + M, N.scaled(4) + M - Poly.of(4)),  # n // 2 is at least (n - 1) / 2
        (M - Q.scaled(8), M - N.scaled(4)),
        (M - Q, M.scaled(2) - N),
        (M - N * Q, None),
    ],
)
def test_a_comparison_without_quotients_implies_the_one_with_them(poly: Poly, plain: Poly | None) -> None:
    floors = (FloorQuotient("q", N, Poly.of(2)),)
    found = without_quotients(SizeFact("ge", poly), floors)
    assert found == (None if plain is None else SizeFact("ge", plain))
    for n, m in product(range(12), range(-30, 60, 5)):
        values = with_floors({"n": n, "m": m}, floors)
        assert found is None or not found.holds(values) or SizeFact("ge", poly).holds(values)


def test_the_driver_among_the_examples_waits_where_it_must(tmp_path: Path) -> None:
    text = DRIVER.read_text(encoding="utf-8")
    hasty = text.replace("snrt_dma_wait_all();\n        snrt", "snrt", 1)
    assert hasty != text
    (tmp_path / "hasty.c").write_text(hasty, encoding="utf-8")
    right, wrong = (verdict_of_file(str(file)) for file in (DRIVER, tmp_path / "hasty.c"))
    assert right is not None
    assert wrong is not None
    assert right.status is Status.PROVED
    assert {found.rule for found in wrong.errors} == {"idma/wait"}


FETCHES = "snrt_dma_start_1d((void *)(0x10000 + 8 * i), (void *)(0x80000004 + 8 * i), 8);"


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (f"for (int i = 0; i < 100; i++) {{ {FETCHES} }}", {"and 99 more here": 100}),
        (f"int i = 0; {FETCHES} i = 1; {FETCHES}", {"": 1, " ": 1}),
    ],
)
def test_what_a_statement_launches_is_told_once(tmp_path: Path, body: str, lines: dict[str, int]) -> None:
    (tmp_path / "d.c").write_text(f"void f(void) {{ {body} snrt_dma_wait_all(); }}")
    found = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"])
    assert found is not None
    told = [one for one in found.findings if one.rule == "idma/over-fetch"]
    assert [(one.notes[-1:], one.count) for one in told] == [((n,) if n.strip() else (), c) for n, c in lines.items()]


def test_values_that_stand_for_others_give_no_advice_and_no_number_of_launches(tmp_path: Path) -> None:
    (tmp_path / "d.c").write_text(f"void f(unsigned n) {{ for (unsigned i = 0; i < n; i++) {{ {FETCHES} }} }}")
    found = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"])
    assert found is not None
    assert (found.status, found.findings, found.claim) == (Status.PROVED, (), "all launches")


def test_a_constant_of_the_pulp_runtime_that_no_file_defines_is_a_condition(tmp_path: Path) -> None:
    body = "int main(void) { plp_dma_memcpy(0x1c000000, 0x10000000, 64, PLP_DMA_EXT2LOC); }"
    said = []
    for head in ("", "#define PLP_DMA_EXT2LOC 1\n"):
        (tmp_path / "d.c").write_text(f"{head}{body}")
        found = verdict_of_file(str(tmp_path / "d.c"))
        assert found is not None
        assert found.status is Status.PROVED
        said.append(list(found.conditions))
    assert said == [["PLP_DMA_EXT2LOC is 1, as in the PULP runtime"], []]
