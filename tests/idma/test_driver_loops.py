"""Loops of drivers that never end, or go on for long without a launch: known by their rounds, or given up early."""

import re
from pathlib import Path

import pytest

from dmaverify.machines.idma.c import endless
from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.verdict import Status, Verdict

COPY = "snrt_dma_start_1d((void *)0x1000, (void *)0x8000, {});"
WAIT = "snrt_dma_wait_all();"


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endless, "MOST_QUIET", 300)
    monkeypatch.setattr(endless, "MOST_ROUNDS", 12)


def verdict(tmp_path: Path, body: str, before: str = "", engine: str = "manticore") -> Verdict:
    (tmp_path / "d.c").write_text(f"#include <stdint.h>\n{before}\nint main(void) {{ {body} }}\n")
    found = verdict_of_file(str(tmp_path / "d.c"), engine=[engine])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("int i = 0; for (;;) { COPY(4 - i) WAIT i = (i + 1) % 4; }", Status.PROVED),
        ("int i = 0; for (;;) { COPY(4 - i) WAIT i = (i + 1) % 5; }", Status.REFUTED),
        ("int i = 0; for (;;) { COPY(4 - i) WAIT if (i < 3) i++; }", Status.PROVED),
        ("int i = 0; for (;;) { COPY(4 - i) WAIT if (i < 4) i++; }", Status.REFUTED),
        ("int i = 0; while (1) { COPY(4 - i) WAIT while (1) { COPY(8) WAIT } i = 4; }", Status.PROVED),
        ("for (;;) { COPY(8) WAIT } COPY(0) ", Status.PROVED),
        ("unsigned i = 1; for (;;) { COPY(i) WAIT i++; }", Status.UNKNOWN),
        ("int i = 0; for (;;) { COPY(4 - i) i = (i + 1) % 4; }", Status.UNKNOWN),
        ("int i[2] = {0, 0}; for (;;) { COPY(4 - i[1]) WAIT i[1]++; }", Status.REFUTED),
        ("int i = 0, *p = &i; for (;;) { COPY(4 - i) WAIT ++*p; }", Status.REFUTED),
        ("struct { int i; } s = {0}; for (;;) { COPY(4 - s.i) WAIT s.i++; }", Status.REFUTED),
        ("static int i = 0; for (;;) { COPY(4 - i) WAIT i++; }", Status.UNKNOWN),
        ("for (;;) { COPY(4 - next()) WAIT }", Status.UNKNOWN),
    ],
)
def test_a_loop_without_an_end_is_known_once_a_round_begins_as_an_earlier_one(
    tmp_path: Path, body: str, status: Status
) -> None:
    """UNKNOWN behind 150,000 steps, before; nothing behind such a loop runs."""
    text = re.sub(r"COPY\((.*?)\) ", lambda m: COPY.format(m[1]) + " ", body.replace("WAIT", WAIT))
    before = "static int next(void) { static int k = 0; return k++; }" if "next" in body else ""
    found = verdict(tmp_path, text, before)
    assert found.status is status, (found.conditions, found.obligations)


def test_registers_are_part_of_how_a_round_begins(tmp_path: Path) -> None:
    """A length that each round adds to its register is another one in each."""
    start = "volatile uint32_t *d = (uint32_t *)0x50000000; uint32_t n = 64; d[0] = 0;"
    start += " d[0x34] = 0x1000; d[0x35] = 0x8000;"
    launch = "d[0x36] = n; id = d[0x11]; while (d[0x21] != id) ;"
    for change, status in (("n = 128;", Status.PROVED), ("n -= 32;", Status.REFUTED)):
        body = f"{start} d[0x3E] = 0; uint32_t id; for (;;) {{ {launch} {change} }}"
        assert verdict(tmp_path, body, engine="front_end=reg32_3d").status is status


@pytest.mark.parametrize(
    ("loop", "status"),
    [
        ("for (int i = 0; i < 65536; i++) { a[i] = i; }", Status.PROVED),
        ("for (int i = 65536; i > 0; i -= 1) { a[i - 1] = i; }", Status.PROVED),
        ("for (int i = 0; i < 65536; i++) { a[i] = i; n = 0; }", Status.UNKNOWN),
        ("for (int i = 0; i < 100; i++) { a[i] = i; n = 4; }", Status.PROVED),
        ("for (int i = 0; i < 65536; i++) { if (i == 60000) return 0; } n = 0;", Status.UNKNOWN),
        ("for (uint8_t i = 0; i < 300; i++) { a[i] = i; n = 0; }", Status.UNKNOWN),
        ("n = 0; for (uint8_t i = 0; i < 300; i++) { a[i] = i; }", Status.UNKNOWN),
        ("int i = 1; while (i < 10) { i = i * 2 % 9; n = 0; }", Status.UNKNOWN),
    ],
)
def test_a_long_loop_that_launches_nothing_leaves_what_it_sets_unknown(
    tmp_path: Path, loop: str, status: Status
) -> None:
    """UNKNOWN behind 150,000 steps, or half a minute, before."""
    body = f"int n = 8; {loop} {COPY.format('n')} {WAIT}"
    assert verdict(tmp_path, body, "int a[65536];").status is status


@pytest.mark.parametrize("loop", ["for (;;) { }", "while (1);", "int n = 3; while (n) { int m = n; }", "stop();"])
def test_nothing_behind_a_loop_that_never_ends_is_judged(tmp_path: Path, loop: str) -> None:
    """REFUTED for what never runs, before; a loop that ends is one behind which all runs."""
    before = f"#define COPY {COPY.format(0)}\nvoid stop(void) {{ while (1) {{ }} }}"
    assert verdict(tmp_path, f"{COPY.format(8)} {WAIT} {loop} COPY", before).status is Status.PROVED


def test_what_is_behind_a_loop_that_ends_or_that_may_not_run_is_judged(tmp_path: Path) -> None:
    wrong = COPY.format(0)
    assert verdict(tmp_path, f"int n = 3; while (n) n--; {wrong}").status is Status.REFUTED
    assert verdict(tmp_path, f"if (run()) {{ for (;;) {{ }} }} {wrong}", "int run(void);").status is not Status.PROVED


def test_a_macro_of_another_file_may_leave_a_loop_and_a_declared_function_may_not(tmp_path: Path) -> None:
    for loop in (f"for (;;) {{ {COPY.format(8)} {WAIT} CALL; }}", "while (1) { CALL; }"):
        body, left = f"{loop} {COPY.format(0)}", "`check` does not leave the loop around it"
        for before, told in (("", True), ("int check(void);", False)):
            found = verdict(tmp_path, f"{COPY.format(8)} {WAIT} {body.replace('CALL', 'check()')}", before)
            assert (found.status, left in found.conditions) == (Status.PROVED, told)
    name = verdict(tmp_path, f"{COPY.format(8)} {WAIT} for (;;) {{ NEXT; }} {COPY.format(0)}")
    assert "`NEXT` does not leave the loop around it" in name.conditions
