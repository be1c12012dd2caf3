"""Kernels of the Snitch runtime: what other files give is a number of which nothing but the type is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.draws import rest

from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.verdict import Status, Verdict


def judged(tmp_path: Path, text: str, *defines: str, **headers: str) -> Verdict:
    for name, content in headers.items():
        (tmp_path / f"{name}.h").write_text(content)
    (tmp_path / "k.c").write_text(text)
    verdict = verdict_of_file(str(tmp_path / "k.c"), engine=["manticore"], defines=defines)
    assert verdict is not None
    return verdict


IN_FLIGHT = "no launch is in flight when f() begins"
ROW = "snrt_dma_start_1d(to, from, 64);"


def test_an_id_of_a_launch_is_declared_with_its_own_type(tmp_path: Path) -> None:
    text = "void f(void) { snrt_dma_txid_t id = snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 64);"
    then = "snrt_dma_start_1d((void *)0x3000, (void *)0x1000, 64); }"
    assert judged(tmp_path, f"{text} snrt_dma_wait(id); {then}").status is Status.PROVED
    assert judged(tmp_path, f"{text} {then}").status is Status.REFUTED


@pytest.mark.parametrize(
    ("body", "condition"),
    [
        (f"char *to = (char *)snrt_l1_next(), *from = (char *)0x100; {ROW}",
         "f(): snrt_l1_next() >= 320; or snrt_l1_next() <= 192"),
        (f"char *to, *from = (char *)0x100; to = (char *)snrt_l1_next(); {ROW}",
         "f(): snrt_l1_next() >= 320; or snrt_l1_next() <= 192"),
        (f"char *to; to = A + 3; char *from = (char *)0x100; {ROW}", "f(): to >= 320; or to <= 192"),
        (f"char *to = (char *)0x1000; char *from = (char *)0x2000 + 64 * snrt_cluster_idx(); {ROW}",
         "f(): snrt_cluster_idx() <= 2^26 - 129"),
        ("snrt_dma_start_1d((void *)0x1000, (void *)0x2000, sizeof(job_t));", None),
        ("snrt_dma_start_1d((void *)0x1000, (void *)0x90000000, 4 * get_count());",
         "f(): get_count() >= 1 and get_count() <= 603978752"),
    ],
)  # fmt: skip
def test_what_other_files_give_is_any_value_of_its_type(tmp_path: Path, body: str, condition: str | None) -> None:
    verdict = judged(
        tmp_path, f'#include "snrt.h"\nunsigned get_count(void);\nvoid f(void) {{ {body} }}', "__SIZEOF_POINTER__=4"
    )
    assert verdict.status is Status.PROVED
    said = [text for text in verdict.conditions if "f():" in text]
    if condition is not None:
        assert len(said) == 1
        assert said[0].startswith(condition)


def test_a_core_calls_itself_by_one_number(tmp_path: Path) -> None:
    at = "(void *)(0x1000 + 64 * snrt_cluster_idx())"
    both = f"snrt_dma_start_1d({at}, (void *)0x80000000, 64);"
    back = f"snrt_dma_start_1d((void *)0x90000000, {at}, 64);"
    head = "assert(snrt_cluster_idx() < 16);"
    assert judged(tmp_path, f"void f(void) {{ {head} {both} snrt_dma_wait_all(); {back} }}").status is Status.PROVED
    assert judged(tmp_path, f"void f(void) {{ {head} {both} {back} }}").status is Status.REFUTED


def test_values_of_other_files_refute_only_what_is_wrong_whatever_they_are(tmp_path: Path) -> None:
    wrong = "snrt_dma_start_1d((void *)0x1400, (void *)(0x1000 + n), 4096);"
    head = "unsigned char get(void);\nvoid f(void)"
    assert judged(tmp_path, f"{head} {{ unsigned char n = get(); assert(n < 8); {wrong} }}").status is Status.UNKNOWN
    maybe = "unsigned char n = get(); snrt_dma_start_1d((void *)0x1000, (void *)0x8000, n - n);"
    assert judged(tmp_path, f"{head} {{ {maybe} }}").status is Status.REFUTED
    given = judged(tmp_path, f"{head} {{ if (get() > 200) snrt_dma_start_1d((void *)0x1020, (void *)0x1000, 64); }}")
    assert given.status is Status.UNKNOWN


MODE = "typedef struct {{ uint32_t at, mode, rows; }} args_t;\nvoid f(const args_t *args) {{ {} }}"


@pytest.mark.parametrize(
    ("body", "condition"),
    [
        ("uint32_t to = 0x10000; if (args->mode == 0) to = args->at; GO",
         "f(): args->mode != 0; or args->at <= 2^21 - 64; or args->at >= 2^21 + 64"),
        ("uint32_t to = 0x10000; if (args->rows == 0) to = args->at; if (args->rows > 5) to = 0x20000; GO",
         "f(): args->rows != 0"),  # a number that is compared is no mode
        ("uint32_t to = args->mode ? 0x200020 : 0x10000; GO", None),  # which way alone is right is nobody's condition
    ],
)  # fmt: skip
def test_a_mode_stands_in_a_condition_beside_its_other_ways_alone(
    tmp_path: Path, body: str, condition: str | None
) -> None:
    go = "{ snrt_dma_start_1d((void *)to, (void *)0x200000, 64); snrt_dma_wait_all(); }"
    found = judged(tmp_path, MODE.format(body.replace("GO", go)), "__SIZEOF_POINTER__=4")
    told = next((one for one in found.conditions if one.startswith("f(): ")), None)
    assert (found.status is Status.PROVED, told) == (condition is not None, condition)


def test_both_ways_of_a_condition_of_another_file_are_judged(tmp_path: Path) -> None:
    first = "snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 64);"
    then = "snrt_dma_start_1d((void *)0x3000, (void *)0x1000, 64);"
    right = judged(tmp_path, f"void f(void) {{ {first} snrt_dma_wait_all(); if (ready()) {{ {then} }} }}")
    assert right.status is Status.PROVED
    assert list(right.conditions) == ["ready() launches nothing", IN_FLIGHT]
    other = judged(tmp_path, f"void f(void) {{ {first} if (ready()) {{ {then} }} }}")
    assert "f(): ready() == 0" in other.conditions


JOB = "typedef struct { unsigned n; char *from, *to; double scale; } job_t;\n"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("snrt_dma_start_1d(j->to, j->from, j->n); snrt_dma_wait_all(); snrt_dma_start_1d(j->from, j->to, j->n);",
         "proved"),
        ("unsigned n = j->n; j->n = 4; if (n == j->n) snrt_dma_start_1d(j->to, j->from, 64);", "proved"),
        ("snrt_dma_start_1d(j->to + 1024, j->to, 4096);", "refuted"),
        ("snrt_dma_start_1d((char *)0x1000, (char *)0x2000, j->scale);", "unknown"),
    ],
)  # fmt: skip
def test_what_lies_behind_a_pointer_is_one_value_while_nothing_writes_it(
    tmp_path: Path, body: str, status: str
) -> None:
    verdict = judged(tmp_path, f"{JOB}void f(job_t *j) {{ {body} }}")
    assert verdict.status.value == status
    if status == "proved":
        assert "what `j` points at does not change while f() runs" in verdict.conditions


def test_what_the_function_writes_behind_a_pointer_is_another_value(tmp_path: Path) -> None:
    body = "if (j->n < 100) { j->n = 8192; snrt_dma_start_1d((char *)0x1000, (char *)0x2000, j->n); }"
    verdict = judged(tmp_path, f"{JOB}void f(job_t *j) {{ {body} }}")
    assert any("j->n' >= 1 and j->n' <= 4096" in text for text in verdict.conditions)


GIVEN = "char *d = (char *)0x10000, *s = (char *)0x80000000;"


@pytest.mark.parametrize(
    ("call", "same"),
    [
        ("snrt_dma_load_1d_tile(d, s, 3, 16, 4)", "snrt_dma_start_1d(d, s + 192, 64)"),
        ("snrt_dma_store_1d_tile(s, d, 3, 16, 4)", "snrt_dma_start_1d(s + 192, d, 64)"),
        ("snrt_dma_1d_to_2d(d, s, 256, 64, 128)", "snrt_dma_start_2d(d, s, 64, 128, 64, 4)"),
        ("snrt_dma_2d_to_1d(d, s, 256, 64, 128)", "snrt_dma_start_2d(d, s, 64, 64, 128, 4)"),
        ("snrt_dma_load_2d_tile(d, s, 2, 3, 4, 8, 64, 8)",
         "snrt_dma_start_2d(d, s + (3 * 8 + 2 * 4 * 64) * 8, 64, 64, 512, 4)"),
        ("snrt_dma_load_2d_tile(d, s, 2, 3, 4, 8, 64, 8, 96)",
         "snrt_dma_start_2d(d, s + (3 * 8 + 2 * 4 * 64) * 8, 64, 96, 512, 4)"),
        ("snrt_dma_store_2d_tile(s, d, 2, 3, 4, 8, 64, 8)",
         "snrt_dma_start_2d(s + (3 * 8 + 2 * 4 * 64) * 8, d, 64, 512, 64, 4)"),
        ("snrt_dma_store_2d_tile(s, d, 2, 3, 4, 8, 64, 8, 96)",
         "snrt_dma_start_2d(s + (3 * 8 + 2 * 4 * 64) * 8, d, 64, 512, 96, 4)"),
        ("snrt_dma_start_1d(d, s, 64, 0)", "snrt_dma_start_1d(d, s, 64)"),
        ("snrt_dma_start_2d(d, s, 64, 128, 64, 4, 0)", "snrt_dma_start_2d(d, s, 64, 128, 64, 4)"),
    ],
)  # fmt: skip
def test_calls_for_tiles_are_the_calls_that_they_are_made_of(call: str, same: str) -> None:
    from dmaverify.errors import Source
    from dmaverify.machines.idma.c.driver import read_driver

    found = []
    for text in (call, same):
        driver = read_driver(Source("k.c", f"void f(void) {{ {GIVEN} {text}; }}"), {"__SIZEOF_POINTER__": "4"})
        assert not [doubt for entry in driver.entries for doubt in entry.doubts]
        found.append([one.descriptor for entry in driver.entries for one in entry.told])
    assert found[0] == found[1]
    assert found[0]


TILED = """void f(unsigned n, char *from, char *to, char *l1) {{
  assert(n > 0 && n < 4096 && from == (char *)0x80000000 && to == (char *)0x90000000 && l1 == (char *)0x10000);
  char *in[2], *out[2];
  in[0] = l1; in[1] = l1 + 1024; out[0] = l1 + 2048; out[1] = l1 + 3072;
  for (unsigned i = 0; i < n + 2; i++) {{
    if ({first}) {{ snrt_dma_start_1d(in[i % 2], from + 1024 * i, 1024); }}
    if ({last}) {{ unsigned k = i - 2; snrt_dma_start_1d(to + 1024 * k, {buffer}, 1024); }}
    {wait}
  }}
}}
"""
RIGHT = {"first": "i < n", "last": "i > 1", "buffer": "out[k % 2]", "wait": "snrt_dma_wait_all();"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ({}, "proved"),
        ({"first": "i <= n - 1", "last": "i >= 2"}, "proved"),
        ({"last": "!(i == 0 || i == 1)"}, "proved"),
        ({"buffer": "in[k % 2]"}, "refuted"),  # round i reads what it loads
        ({"buffer": "in[(k + 1) % 2]"}, "proved"),
        ({"buffer": "in[(k + 1) % 2]", "wait": ""}, "refuted"),
    ],
)
def test_a_loop_is_looked_at_in_parts_and_turns(tmp_path: Path, fault: dict[str, str], status: str) -> None:
    verdict = judged(tmp_path, TILED.format(**{**RIGHT, **fault}), "__SIZEOF_POINTER__=4")
    assert verdict.status.value == status, (verdict.conditions, verdict.obligations)
    assert not verdict.conditions


STEPS = "unsigned w = 0; for (unsigned i = 0; i < n; i++) {{ {first} {go} w += 64; {last} }}"
FIRST = "snrt_dma_start_1d((char *)0x10000 + w, (char *)0x80000000 + w, 64);"


@pytest.mark.parametrize(
    ("first", "last", "status"),
    [
        ("", "", "proved"),
        ("if (i < 4) { snrt_dma_wait_all(); }", "", "proved"),
        ("if (i < 4) continue;", "", "unknown"),  # `w` is four steps behind
        ("", "if (i < 4) continue;", "unknown"),
    ],
)
def test_a_variable_moves_by_a_step_in_rounds_that_reach_it(tmp_path: Path, first: str, last: str, status: str) -> None:
    body = STEPS.format(first=first, last=last, go=FIRST)
    text = f"void f(unsigned n) {{ assert(n > 8 && n < 999); {body} snrt_dma_wait_all(); }}"
    assert judged(tmp_path, text, "__SIZEOF_POINTER__=4").status.value == status


LAST_ROW = "62 * columns >= columns * rows and [columns * rows] % 2 == 0"
ROWS = """void f(unsigned rows, unsigned columns) {{
  assert(rows > 0 && rows < 64 && columns > 0 && columns < 64);
  for (unsigned i = 0; i < rows * columns; i++) {{
    unsigned row = i / columns, column = i % columns;
    snrt_dma_start_2d((char *)0x10000 + 4096 * (i % 2), (char *)0x80000000 + {at}, 64, 64, 4096, 64);
    {wait}
  }}
}}
"""


@pytest.mark.parametrize(
    ("at", "wait", "status"),
    [
        ("row * 64 * 4096 + column * 64", "snrt_dma_wait_all();", "proved"),
        *rest(
            [
                ("row * 64 * 4096 + column * 64", "", "proved"),
                ("row * 0x2000000", "snrt_dma_wait_all();", "proved"),
            ]
        ),
        ("0xFC010000 - row * 0x2000000", "snrt_dma_wait_all();", "some"),  # row 62 is what is written
        ("(i / columns) / 2 * 4096", "snrt_dma_wait_all();", "some"),  # a quotient of one
        ("row * row * 64", "snrt_dma_wait_all();", "some"),
        ("row * 64 * 4096 - 0x7FFF8000", "snrt_dma_wait_all();", "refuted"),  # row 0 is what is written
    ],
)
def test_rounds_by_rows_of_any_length_are_looked_at_by_row_and_place(
    tmp_path: Path, at: str, wait: str, status: str
) -> None:
    verdict = judged(tmp_path, ROWS.format(at=at, wait=wait), "__SIZEOF_POINTER__=4")
    some = any("columns" in text for text in verdict.conditions)
    assert (verdict.status.value, some) == ("proved" if status == "some" else status, status == "some")
    assert "0xFC010000" not in at or any(LAST_ROW in text for text in verdict.conditions)


@pytest.mark.parametrize(
    ("loop", "status"),
    [
        (
            "for (unsigned i = 0; i < n + m; i++) { GO snrt_dma_start_1d((char *)0, (char *)0x14B00, 64); n = 3 * m; }",
            "unknown",
        ),
        ("for (unsigned i = 0; i < n + m; i++) { GO }", "proved"),
        ("for (unsigned i = 0; i < get(); i++) { GO }", "unknown"),
        ("unsigned last = 0; for (unsigned i = 0; i < n; i++) { if (i > 1) { USE(last) } GO last = i; }", "unknown"),
    ],
)
def test_what_rounds_change_of_a_loop_is_not_taken_from_another_round(tmp_path: Path, loop: str, status: str) -> None:
    go = "snrt_dma_start_1d((char *)0x10000 + 64 * i, (char *)0x80000000 + 64 * i, 64);"
    text = loop.replace("GO", go).replace("USE(last)", "snrt_dma_start_1d((char *)0x20000000 + last, (char *)0, 64);")
    assert (
        judged(
            tmp_path,
            f"void f(unsigned n, unsigned m) {{ assert(n > 8 && n < 99 && m < 99); {text} }}",
            "__SIZEOF_POINTER__=4",
        ).status.value
        == status
    )


HEAD = "#ifndef JOB_H\n#define JOB_H\n#define LENGTH 64\ntypedef struct { unsigned n; char *from, *to; } job_t;\n"
CALL = (
    '#include "job.h"\n#include "job.h"\nvoid f(void) { snrt_dma_start_1d((void *)0x1000, (void *)0x2000, LENGTH); }\n'
)


def test_headers_of_the_project_are_read_and_said(tmp_path: Path) -> None:
    verdict = judged(tmp_path, CALL, job=f"{HEAD}#endif\n")
    assert verdict.status is Status.PROVED
    assert "headers of the project are read: job.h" in verdict.assumptions
    assert judged(tmp_path, CALL, job=f"{HEAD}#endif\n".replace("64", "0")).status is Status.REFUTED
    assert "`LENGTH` launches nothing" in judged(tmp_path, CALL.replace("job.h", "gone.h")).conditions


@pytest.mark.parametrize(
    ("include", "status"),
    [("", "unknown"), ("#include <stdint.h>\n", "unknown"), ("#include <snrt.h>\n", "proved")],
)
def test_a_name_comes_from_a_header_that_is_not_read_or_from_nowhere(tmp_path: Path, include: str, status: str) -> None:
    text = f"{include}void f(void) {{ snrt_dma_start_1d((void *)0x1000, (void *)0x2000, ROW); }}\n"
    verdict = judged(tmp_path, text)
    assert verdict.status.value == status
    assert status == "proved" or "--define ROW=" in verdict.obligations[0].why


def test_what_a_header_launches_is_told_where_it_stands(tmp_path: Path) -> None:
    copy = "static inline void copy(unsigned n) {\n  snrt_dma_start_1d((void *)0x1400, (void *)0x1000, 64 * n);\n}\n"
    verdict = judged(tmp_path, '#include "copy.h"\nvoid f(void) { copy(64); }\n', copy=copy)
    assert verdict.status is Status.REFUTED
    span = verdict.findings[0].span
    assert span is not None
    assert (Path(span.source.name).name, span.line) == ("copy.h", 2)


def test_functions_of_headers_begin_where_they_are_called(tmp_path: Path) -> None:
    unused = "static inline void bad(void) { snrt_dma_start_1d((void *)0x1400, (void *)0x1000, 4096); }\n"
    good = '#include "more.h"\nvoid f(void) { snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 64); }\n'
    assert judged(tmp_path, good, more=unused).status is Status.PROVED


def test_a_header_that_is_the_runtime_is_known_by_its_names(tmp_path: Path) -> None:
    runtime = 'static inline uint32_t snrt_dma_start_1d(void *d, void *s, size_t n) { asm volatile("dmcpyi"); }\n'
    text = '#include "snrt.h"\nvoid f(void) { snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 64); }\n'
    assert judged(tmp_path, text, snrt=runtime).status is Status.PROVED


def test_headers_outside_of_the_project_stay_other_files(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "job.h").write_text(f"{HEAD}#endif\n")
    inner = tmp_path / "in"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("")
    verdict = judged(inner, CALL.replace("job.h", "../out/job.h"))
    assert "`LENGTH` launches nothing" in verdict.conditions


@pytest.mark.parametrize("call", ["plp_dma_memcpy", "mchan_transfer", "snrt_dma_load_2d_tile", "sys_dma_memcpy"])
def test_a_folder_has_the_drivers_that_name_a_call(tmp_path: Path, call: str) -> None:
    from dmaverify.jobs.walk import walked

    (tmp_path / "k.c").write_text(f"void f(void) {{ {call}(); }}")
    (tmp_path / "other.c").write_text("void g(void) { copy(); }")
    found = {Path(one.path).name: one.taken for one in walked(str(tmp_path), lists=True)}
    assert found == {"k.c": True, "other.c": False}


@pytest.mark.parametrize("define", ["#define COPY(n) copy(n)", "static void twice(void) { copy(1); copy(1); }"])
def test_a_folder_has_the_drivers_that_launch_by_a_header(tmp_path: Path, define: str) -> None:
    from dmaverify.jobs.walk import walked

    copy = "static void copy(unsigned n) { snrt_dma_start_1d((char *)0x1000, (char *)0x2000, n); }"
    (tmp_path / "copy.h").write_text(f"{copy}\nstatic int other(void) {{ return 4; }}\n{define}\n")
    used = "COPY(0);" if "COPY" in define else "twice();"
    bodies = {"by.c": used, "none.c": "other();", "copies.c": "copy(3);"}
    for name, body in bodies.items():
        (tmp_path / name).write_text(f'#include "copy.h"\nvoid f(void) {{ {body} }}')
    found = {Path(one.path).name: one.taken for one in walked(str(tmp_path), lists=True)}
    assert found == {"by.c": True, "none.c": False, "copies.c": True, "copy.h": True}


SCALE = Path(__file__).parents[2] / "examples" / "idma"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("", "", Status.PROVED),
        *rest(
            [
                (
                    "out[i % 2], i - 2",
                    "in[i % 2], i - 2",
                    Status.UNKNOWN,
                ),  # what the same round loads; right of one tile
                ("in[i % 2]", "in[i % 3]", Status.UNKNOWN),
            ]
        ),
    ],
)
def test_the_kernel_among_the_examples_is_right_for_any_number_of_tiles(
    tmp_path: Path, old: str, new: str, status: Status
) -> None:
    text = (SCALE / "scale.c").read_text(encoding="utf-8")
    assert old in text
    verdict = judged(tmp_path, text.replace(old, new, 1) if old else text, scale=(SCALE / "scale.h").read_text())
    assert verdict.status is status
    told = [one.replace("args->n <= 2^20", "") for one in verdict.conditions]  # above, 4096 * n leaves its type
    assert not any("args->n >=" in one or "args->n <=" in one for one in told)


LAUNCH = "snrt_dma_start_1d((char *)0x1000, (char *)0x90000000, {});"
CHECKED = "if (j->n == 0 || j->n > 64) return;"


@pytest.mark.parametrize(
    "write",
    [
        "if (X) j->n = 0;",
        "if (X) clear(j);",
        "if (X) CLEAR(j);",
        "memset(j, 0, sizeof(*j));",
        "n = X ? j->n-- : 5;",
        "switch (X) { case 3: j->n = 0; }",
        "clear(j);",
        "*(&j->n) = 0;",
    ],
)
def test_what_the_file_itself_may_write_is_not_what_was_read_before(tmp_path: Path, write: str) -> None:
    head = f"{JOB}#define CLEAR(job) ((job)->n = 0)\nstatic void clear(job_t *j) {{ j->n = 0; }}\n"
    verdict = judged(tmp_path, f"{head}void f(job_t *j, int n) {{ {CHECKED} {write} {LAUNCH.format('j->n')} }}")
    assert verdict.status is Status.PROVED
    assert any("j->n' >= 1" in text for text in verdict.conditions)


@pytest.mark.parametrize(("to", "other"), [("own", True), ("(char *)own - 32", True), ("own + 1", False)])
def test_what_a_launch_writes_is_not_what_was_read_before(tmp_path: Path, to: str, other: bool) -> None:
    load = f"snrt_dma_start_1d({to}, j, 64); snrt_dma_wait_all();"
    body = f"assert(own > (job_t *)0x10000); if (own->n == 0 || own->n > 64) return; {load} {LAUNCH.format('own->n')}"
    head = "void f(const job_t *j, job_t *own) { assert(j >= (job_t *)0x80000000 && own < (job_t *)0x20000);"
    verdict = judged(tmp_path, f"{JOB.replace('double', 'unsigned')}{head} {body} }}", "__SIZEOF_POINTER__=4")
    assert verdict.status is Status.PROVED
    assert any("own->n' >= 1" in text for text in verdict.conditions) is other


def test_what_is_stated_of_a_member_is_stated_of_what_the_caller_gives(tmp_path: Path) -> None:
    body = LAUNCH.format("j->n")
    given = judged(tmp_path, f"{JOB}void f(job_t *j) {{ {body} }}", "j->n=1..64")
    assert not any("f():" in text for text in given.conditions)
    assert "f: j->n is 1..64" in given.assumptions
    wrote = judged(tmp_path, f"{JOB}void f(job_t *j) {{ j->n = 0; {body} }}", "j->n=1..64")
    assert any("j->n' >= 1" in text for text in wrote.conditions)


LENGTH = "static unsigned length(job_t *a) { return a->n; }\n"


@pytest.mark.parametrize(
    ("first", "bytes_", "all_"),
    [
        ("unsigned n = j->n;", "64 + n - length(j)", True),
        ("unsigned n = j->n;", "64 + length(m) - length(m)", True),
        ("unsigned n = j->n;", "64 + length(j) - length(m)", False),
        ("", "64 + length(j) - length(m)", False),
    ],
)
def test_a_member_is_one_value_by_whatever_name_it_is_reached(
    tmp_path: Path, first: str, bytes_: str, all_: bool
) -> None:
    body = f"{first} {LAUNCH.format(bytes_)}"
    verdict = judged(tmp_path, f"{JOB}{LENGTH}void f(job_t *j, job_t *m) {{ {body} }}", "__SIZEOF_POINTER__=4")
    assert verdict.status is Status.PROVED
    assert any("f():" in text for text in verdict.conditions) is not all_


CARRIED = """typedef struct {{ unsigned at, done; }} job_t;
void f(job_t *j, unsigned n) {{
  assert(n > 8 && n < 20 && j->at == 0);
  for (unsigned i = 0; i < n; i++) {{
    unsigned at = {at};
    assert(at < 0x10000);
    snrt_dma_start_1d((char *)0x10000 + at, (char *)0x80000000, 64);
    if (at >= 0x800) snrt_dma_start_1d((char *)0x90000000, (char *)0x10000 + at - 0x400, 64);
    {store}
  }}
}}
"""


@pytest.mark.parametrize(
    ("at", "store", "status"),
    [
        ("j->at", "j->at = at + 0x400;", "unknown"),  # round 2 reads what round 1 writes, and round 0 does not
        ("j->at", "", "proved"),
        ("0", "j->done = i;", "proved"),
    ],
)
def test_what_a_round_reads_another_one_may_have_written(tmp_path: Path, at: str, store: str, status: str) -> None:
    verdict = judged(tmp_path, CARRIED.format(at=at, store=store), "__SIZEOF_POINTER__=4")
    assert verdict.status.value == status


@pytest.mark.parametrize(("step", "all_"), [("p += 16", True), ("p += 8", False), ("p++", False)])
def test_a_counter_that_is_a_pointer_moves_by_what_it_points_at(tmp_path: Path, step: str, all_: bool) -> None:
    head = "void f(uint32_t *a, unsigned n) { assert(n > 8 && n < 99 && a == (uint32_t *)0x10000);"
    loop = f"for (uint32_t *p = a; p < a + 16 * n; {step})"
    row = "{ snrt_dma_start_1d((char *)0x90000000 + at, (char *)0x90000800, 32); snrt_dma_wait_all(); at += 20; }"
    verdict = judged(tmp_path, f"{head} unsigned at = 0; {loop} {row} }}", "__SIZEOF_POINTER__=4")
    assert (verdict.status is Status.PROVED and not any("f():" in text for text in verdict.conditions)) is all_


DEFAULT = "#ifndef N\n#define N 64\n#endif\nROW(N);\n"
GUARDED = "#ifndef H\n#define H\n#ifdef X\nROW(0);\n#else\nROW(64);\n#endif\n#endif\n"
AGAIN = '#include "h.h"\n#undef N\n#define N 0\n#include "h.h"\n'


@pytest.mark.parametrize(
    ("text", "header", "status"),
    [
        (AGAIN, DEFAULT, "unknown"),  # which N is meant is not known
        ('#include "h.h"\n', DEFAULT, "proved"),
        ('#include "h.h"\n#include "h.h"\n', GUARDED, "proved"),
        ('#include "h.h"\n#include "h.h"\n', f"{GUARDED}ROW(64);\n", "refuted"),
    ],
)
def test_a_header_stands_once_where_its_guard_is_around_all_of_it(
    tmp_path: Path, text: str, header: str, status: str
) -> None:
    row = "#define ROW(n) snrt_dma_start_1d(to += 0x400, (char *)0x10b80, 4 * (n))\n"
    verdict = judged(tmp_path, f"{row}void f(void) {{\nchar *to = (char *)0x10000;\n{text}}}\n", h=header)
    assert verdict.status.value == status


@pytest.mark.parametrize("guard", ["#pragma once\n{}", "#ifndef H\n#define H\n{}#endif\n"])
@pytest.mark.parametrize("before", ["", '#if 0\n#include "h.h"\n#endif\n', '#include "between.h"\n'])
@pytest.mark.parametrize(("length", "status"), [("0", Status.REFUTED), ("64", Status.PROVED)])
def test_a_header_that_only_a_condition_includes_is_not_there_yet(
    tmp_path: Path, guard: str, before: str, length: str, status: Status
) -> None:
    go = f"static void go(void) {{ {LAUNCH.format(length)} }}\n"
    between = '#ifdef NEVER\n#include "h.h"\n#endif\n'
    text = f'{before}#include "h.h"\nvoid f(void) {{ go(); }}\n'
    assert judged(tmp_path, text, h=guard.format(go), between=between).status is status


def test_a_header_that_asks_the_runtime_is_not_the_runtime(tmp_path: Path) -> None:
    go = "static void go(void) {\n  if (snrt_dma_start_1d((char *)0x1000, (char *)0x90000000, 0)) { return; }\n}\n"
    assert judged(tmp_path, '#include "h.h"\nvoid f(void) { go(); }\n', h=go).status is Status.REFUTED


ASKED = """unsigned get(void);
void f(unsigned n) {{
  assert(n > 8 && n < 40);
  {before}
  for (unsigned i = 0; i < n; i++) {{
    {inside}
    if (k < 64) {{
      snrt_dma_start_1d((char *)0x10000 + 64 * k, (char *)0x80000000, 64);
      snrt_dma_start_1d((char *)0x90000000, (char *)0x10000 + 64 * k + {next_}, 64);
    }}
  }}
}}
"""
ASK = "unsigned k = get();"


@pytest.mark.parametrize(
    ("before", "inside", "next_", "condition"),
    [
        ("", ASK, 64, "in any two rounds of a loop, get() >= 64; or get()' >= get(); or get() >= get()' + 2"),
        ("", ASK, 8192, ""),
        (ASK, "", 64, ""),
    ],
)
def test_what_another_file_gives_in_each_round_is_told_of_any_two(
    tmp_path: Path, before: str, inside: str, next_: int, condition: str
) -> None:
    text = ASKED.format(before=before, inside=inside, next_=next_)
    verdict = judged(tmp_path, text, "__SIZEOF_POINTER__=4")
    said = [one for one in verdict.conditions if "f():" in one]
    assert verdict.status is Status.PROVED
    assert said == ([f"f(): {condition}"] if condition else [])


def test_what_is_given_in_any_round_is_not_what_is_given_in_the_first() -> None:
    from dmaverify.machines.idma.c.arguments import Arguments, Symbols
    from dmaverify.machines.idma.c.numbers import UINT

    symbols = Symbols()
    in_rounds = Arguments(symbols, {}, rounds=1)
    first, later = (in_rounds.fresh("get()", UINT, 7) for _ in range(2))
    assert (first.number, later.number) == (64, 64)
    assert list(symbols.known) == ["get()", "get()'"]
    one_by_one = Arguments(symbols, {"get()": 3})
    assert one_by_one.fresh("get()", UINT, 7).number == 3  # as in a round, where nothing else is said
    assert list(symbols.known) == ["get()", "get()'", "get()''"]


@pytest.mark.parametrize(
    ("of", "told"), [("job_t *q = j + i;", ["in any two rounds of a loop"]), ("job_t *q = j;", [])]
)
def test_a_member_of_another_structure_in_each_round_is_told_of_any_two(
    tmp_path: Path, of: str, told: list[str]
) -> None:
    both = "snrt_dma_start_1d((char *)0x10000 + at, (char *)0x80000000, 64);"
    both += "snrt_dma_start_1d((char *)0x90000000, (char *)0x10040 + at, 64);"
    loop = f"for (unsigned i = 0; i < n; i++) {{ {of} unsigned at = q->n; if (at <= 0x10000) {{ {both} }} }}"
    head = "void f(job_t *j, unsigned n) { assert(n > 8 && n < 40 && j < (job_t *)0x1000);"
    verdict = judged(tmp_path, f"{JOB}{head} {loop} }}", "__SIZEOF_POINTER__=4")
    assert verdict.status is Status.PROVED
    said = [one for one in verdict.conditions if "f():" in one]
    assert [one.removeprefix("f(): ").partition(",")[0] for one in said] == told


BOUND = """typedef struct {{ unsigned n, done; }} job_t;
void f(job_t *j, char *from, char *to) {{
  for (unsigned i = 0; i < j->n; i++) {{ snrt_dma_start_1d({to}, from, 4); snrt_dma_wait_all(); }}
}}
"""


@pytest.mark.parametrize(
    ("to", "status"), [("&j->n", "unknown"), ("(char *)j + 8", "proved"), ("to", "proved"), *rest([("j", "unknown")])]
)
def test_a_loop_that_writes_its_own_bound_has_no_number_of_rounds(tmp_path: Path, to: str, status: str) -> None:
    assert judged(tmp_path, BOUND.format(to=to), "__SIZEOF_POINTER__=4").status.value == status


FILL, WAIT = "snrt_dma_start_1d((void *)0x1000, (void *)0x2000, 64);", "snrt_dma_wait_all();"
TAKE = "snrt_dma_start_1d((void *)0x3000, (void *)0x1000, 64);"
DM = "snrt_is_dm_core()"


@pytest.mark.parametrize(
    ("body", "of_a_core"),
    [
        (f"if ({DM}) {{ {FILL} {WAIT} {TAKE} }}", False),
        (f"if (!{DM}) return; {FILL} {WAIT} {TAKE}", False),
        (f"if (!{DM}) {{ work(); }} else {{ {FILL} }}", False),
        (f"if ({DM}) {{ {FILL} }} else {{ return; }} {WAIT} {TAKE}", False),
        (f"{FILL} {WAIT} {TAKE}", False),
        (f"{FILL} if ({DM}) {WAIT} {TAKE}", True),  # another core does not wait
        (f"if (!{DM}) {{ return; work(); }} {FILL}", True),
        (f"if ({DM}) {{ {FILL} {WAIT} return; }} {TAKE}", True),
        (f"for (int i = 0; i < 3; i++) {{ if ({DM}) {{ {WAIT} continue; }} }} {FILL}", True),
        (f"once(); {FILL}", True),
    ],
)
def test_a_launch_that_other_cores_reach_too_is_judged_of_the_core_that_moves_data(
    tmp_path: Path, body: str, of_a_core: bool
) -> None:
    once = f"static void once(void) {{ if (!{DM}) return; work(); }}"
    verdict = judged(tmp_path, f"void work(void);\n{once}\nvoid f(void) {{ {body} }}")
    assert verdict.status is Status.PROVED
    assert ("f() runs on the core that moves data" in verdict.conditions) is of_a_core
    assert not any("core" in text for text in verdict.assumptions)


def test_a_loop_whose_rounds_end_with_a_step_is_counted(tmp_path: Path) -> None:
    """`while` is followed for any count as `for` is; not where the step is another one, or not the last of a round."""
    head, row = (
        "void f(char *to, const char *from, int n) { int i = 0; ",
        "snrt_dma_start_1d(to + 64 * i, from + 64 * i, 64);",
    )
    loops = "for (; i < n; i++) { %s }", "while (i < n) { %s i++; }", "while (i < n) { i++; %s }"
    ways = [judged(tmp_path, f"{head}{loop.replace('%s', row)} }}", "n=0..100") for loop in loops]
    assert [one.status.value for one in ways] == ["proved", "proved", "unknown"]
    assert ways[0].conditions == ways[1].conditions
