"""Registers that a driver accesses in any way: whatever may launch is a launch, is told, or is a named condition."""

from pathlib import Path

import pytest

from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.verdict import Verdict

HEAD = """#include <stdint.h>
#define BASE 0x10000000u
#define R(o) (*(volatile uint32_t *)(BASE + (o)))
"""
SET = "R(0) = 0; R(0xD0) = 0x20000; R(0xD4) = 0x30000; R(0xD8) = 64;"
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
         ["poll(): dma % 4096 == 0 and dma <= 4294967163"]),
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
         ["f(): dma % 4096 == 0 and dma <= 4294967227", "conf is 0 where f() begins",
          "no launch is in flight when f() begins"]),
        (GOOD, "proved", []),
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
    assert list(verdict.conditions) == [f"the upper half of {end} is 0 where f() begins" for end in ("dst", "src")]


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
