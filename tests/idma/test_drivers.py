"""Drivers in C: what they launch is read as a C compiler reads it, or told as not read."""

from pathlib import Path

import pytest

from dmaverify.cli import app as cli
from dmaverify.errors import InputError, Source
from dmaverify.machines.idma.c.launches import Driver, read_driver
from dmaverify.machines.idma.c.numbers import Value, binary, literal
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.verdict import Status


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
        ("static int n = 4; snrt_dma_start_1d((void *)0, (void *)64, n);", "changed elsewhere"),
        ("snrt_dma_start_1d((void *)0x100000000, (void *)64, 4);", "width of a pointer"),
        ("snrt_dma_start_1d((void *)0, (void *)64, 2147483647 + 1);", "overflows"),
        ("snrt_dma_start_2d((void *)0, (void *)64, 4, 0x100000000ull, 4, 2);", "cuts it"),
        ("switch (ready()) { case 1: snrt_dma_start_1d((void *)0, (void *)64, 4); }", "switch"),
        ("goto x; x: snrt_dma_start_1d((void *)0, (void *)64, 4);", "goto"),
        ("int n = 4; asm(\"x\" : \"=r\"(n)); snrt_dma_start_1d((void *)0, (void *)64, n);", "assembly"),
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


def test_registers_launch_by_a_read() -> None:
    before = "#define REG(o) (*(volatile uint32_t *)(0x1000 + (o)))"
    body = "REG(0xD0) = 0x200; REG(0xD4) = 0x400; REG(0xD8) = 64; uint32_t id = REG(0x44);"
    assert launched(body, before=before, front_end="reg32_3d") == [(0x200, 0x400, 64)]
    unknown = body.replace("64", "n")
    assert any("0xD8" in why for why in doubted(unknown, before=before, front_end="reg32_3d"))
    maybe = body.replace("uint32_t", "if (ready()) REG(0xD8) = 8; uint32_t")
    assert doubted(maybe, before=before, front_end="reg32_3d")


def test_initialized_descriptors_are_transfers() -> None:
    body = "struct d x = {.length = 64, .src = 0x1000, .dst = 0x2000, .next = -1};"
    assert launched(body) == [(0x2000, 0x1000, 64)]


def test_a_driver_is_judged_with_its_waits(tmp_path: Path) -> None:
    one = "snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 64);"
    two = "snrt_dma_start_1d((void *)0x3000, (void *)0x1000, 64);"
    wanted = {"": Status.REFUTED, "snrt_dma_wait_all();": Status.PROVED, "other();": Status.UNKNOWN}
    wanted |= {"if (x()) snrt_dma_wait_all();": Status.UNKNOWN, "if (0) other();": Status.REFUTED}
    wanted |= {"asm volatile(\"wait\");": Status.UNKNOWN, "if (1) { snrt_dma_wait_all(); }": Status.PROVED}
    for between, status in wanted.items():
        path = tmp_path / "d.c"
        path.write_text(f"int main(void) {{ {one} {between} {two} }}\n")
        verdict = verdict_of_file(str(path))
        assert verdict is not None
        assert verdict.status is status, between
    path.write_text("void f(int n) { snrt_dma_start_1d((void *)0, (void *)64, n); }")
    for more, code in (([], 3), (["--define", "n=8"], 0), (["--define", "n=0"], 1)):
        with pytest.raises(SystemExit) as left:
            cli.main(["check", str(path), *more])
        assert left.value.code == code


def test_a_file_that_launches_nothing_is_no_pass() -> None:
    with pytest.raises(InputError, match="launches nothing"):
        driver("return 0;")
