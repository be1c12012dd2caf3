"""Waits of drivers that are written with conditions and jumps: what the engine says on the way that a run goes."""

from pathlib import Path

import pytest

from dmaverify.machines.idma.check import verdict_of_file

HEAD = """#include <stdint.h>
#define DMA ((volatile uint32_t *)0x50000000)
#define DONE DMA[0x84 / 4]
#define BUSY (DMA[1] & 0x3FF)
int hook(uint32_t *n);
static uint32_t go(uint32_t d, uint32_t s, uint32_t n) {
  DMA[0] = 0; DMA[0xF8 / 4] = 0; DMA[0xD0 / 4] = d; DMA[0xD4 / 4] = s; DMA[0xD8 / 4] = n; return DMA[0x44 / 4]; }
static int done(uint32_t id) { if (DONE == id) return 1; return 0; }
"""
FIRST, READS_IT = "uint32_t n = 64, t = 0, id = go(0x1000, 0x2000, n), s = 0; ", " go(0x3000, 0x1000, n); "


def judged(tmp_path: Path, *bodies: str) -> tuple[str, tuple[str, ...]]:
    """Status and conditions of functions that launch, do one of `bodies`, and go on."""
    functions = (f"int f{n}(int p) {{ {FIRST}{body}; return 0; }}\n" for n, body in enumerate(bodies))
    path = tmp_path / "d.c"
    path.write_text(HEAD + "".join(functions))
    found = verdict_of_file(str(path), engine=["front_end=reg32_3d"])
    assert found is not None
    return found.status.value, tuple(one for one in found.conditions if "in flight when" not in one)


def test_what_is_behind_a_wait_runs_where_the_launch_is_complete(tmp_path: Path) -> None:
    waits = [
        "for (;;) { if (DONE == id) break; }", "while (1) { if (!(DONE != id)) break; }",
        "do { s = DONE; if (s == id) break; } while (1);",
        "for (;;) { uint32_t k = DONE; if (k != id) continue; break; }", "if (DONE != id) return 1;",
        "if (p && DONE != id) { return 1; } else if (DONE != id) return 2;",
        "for (;;) { if (done(id)) break; }", "while (!done(id));", "while (DONE != id) t++;",
        "for (;;) { if (DONE == id) break; t += hook(0); }",
    ]  # fmt: skip
    status, conditions = judged(tmp_path, *(wait + READS_IT for wait in waits))
    assert (status, set(conditions)) == ("proved", {"hook() launches nothing and writes no registers"})


def test_a_launch_that_runs_where_another_is_complete_reads_what_that_wrote(tmp_path: Path) -> None:
    ifs = "if (DONE == id) {%s}", "if (p && DONE == id) {%s}", "if (!(p || DONE != id)) {%s}"
    assert judged(tmp_path, *(one.replace("%s", READS_IT) for one in ifs)) == ("proved", ())


@pytest.mark.parametrize(
    ("jump", "status"),
    [
        ("again: if (DONE != id) goto again;", "proved"),
        ("again: if (BUSY) { goto again; }", "proved"),
        ("again: if (DONE == id) goto again;", "unknown"),
        ("again: if (DONE != id) { goto again; } else { hook(0); }", "unknown"),
        ("again: if (DONE != id) { t++; goto again; }", "unknown"),
        ("again: if (DONE != id) goto out; out: ;", "unknown"),
    ],
)
def test_a_jump_back_to_its_own_condition_is_a_loop(tmp_path: Path, jump: str, status: str) -> None:
    """UNKNOWN, as every `goto` that may run, before."""
    assert judged(tmp_path, jump + READS_IT)[0] == status


@pytest.mark.parametrize(
    "body",
    [
        "for (;;) { if (DONE != id) break; }", "while (DONE != id) { if (t++ > 100) break; }",
        "if (DONE == id) return 1;", "if (DONE != id && p) return 1;",
        "s = BUSY; id = go(0x1000, 0x6000, n); if (s) return 1;", "if (DMA[1] & 1) return 1;",
        "while (DONE != id) id = t;", "int b = DONE == id ? 1 : 0; if (!b) return 1;",
        "if (s == id) { while (DONE != id); }", "if (done(t)) { while (DONE != id); }",
        "for (;;) { if (DONE == id) break; if (p) break; }",
    ],
)  # fmt: skip
def test_what_may_be_said_of_a_launch_neither_waits_nor_is_a_missing_wait(tmp_path: Path, body: str) -> None:
    """Not refuted, as the way to the second launch may be one on which the first is complete."""
    found, conditions = judged(tmp_path, body + READS_IT)
    assert found == "unknown"
    assert not [one for one in conditions if one.startswith("f0(): ")]


def test_what_a_round_of_a_wait_changes_is_not_known_behind_it(tmp_path: Path) -> None:
    wait = "for (;;) {{ if (DONE == id) break; {} }} go(0x3000, 0x1000, n);"
    found = [judged(tmp_path, wait.format(text))[0] for text in ("s = n", "hook(&n)", "n = 0")]
    assert found == ["proved", "unknown", "unknown"]


@pytest.mark.parametrize("value", ["p", "!p"])
def test_a_function_that_launches_for_some_arguments_is_judged_by_these(tmp_path: Path, value: str) -> None:
    path = tmp_path / "d.c"
    path.write_text(f"{HEAD}void f(int p) {{ if ({value}) {{ {FIRST}{READS_IT} }} }}\n")
    found = verdict_of_file(str(path), engine=["front_end=reg32_3d"])
    assert found is not None
    assert found.status.value == "refuted"


def test_a_function_may_end_in_a_loop_that_launches_nothing(tmp_path: Path) -> None:
    ends = "for (;;) { t++; }", "while (p) { }", "while (1) { if (t) s = DONE; }"
    assert judged(tmp_path, *ends) == ("proved", ())


CHAINS = """#include <stdint.h>
struct desc { uint32_t length, flags; uint64_t next, src, dst; };
#define REG ((volatile uint64_t *)0x50000000)
#define A ((volatile struct desc *)0x8000)
#define B ((volatile struct desc *)0x9000)
static void go(volatile struct desc *d, uint64_t dst, uint64_t src) {
  d->length = 64; d->flags = 0x0A; d->next = ~(uint64_t)0; d->src = src; d->dst = dst; REG[0] = (uint64_t)d; }
void f(int p) { uint32_t n = 0; go(A, 0x1000, 0x2000); %s go(B, 0x3000, 0x1000); }
"""


@pytest.mark.parametrize(
    ("wait", "status"),
    [
        ("for (;;) { if (A->length == 0xFFFFFFFF) break; }", "proved"), ("if (REG[1] & 1) return;", "proved"),
        ("while (A->length != 0xFFFFFFFF) n++;", "proved"), ("if (A->length != 0xFFFFFFFF) return;", "proved"),
        ("if (A->length == 0xFFFFFFFF) return;", "unknown"), ("for (;;) { if (REG[1] & 1) break; }", "unknown"),
        ("n = A->length; if (n + 1) return;", "unknown"),
        ("while (A->length != 0xFFFFFFFF) { if (n++) break; }", "unknown"), ("if (A->length == 63) return;", "unknown"),
        ("", "refuted"),
    ],
)  # fmt: skip
def test_what_a_chain_marks_is_known_behind_a_condition_on_it(tmp_path: Path, wait: str, status: str) -> None:
    path = tmp_path / "d.c"
    path.write_text(CHAINS.replace("%s", wait))
    found = verdict_of_file(str(path), engine=["cheshire"])
    assert found is not None
    assert found.status.value == status
    assert not [one for one in found.conditions if one.startswith("f(): ")]
