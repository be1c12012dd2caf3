"""Arrays of a driver: launches stay in them, and two of them share no byte while both are there."""

import re
from pathlib import Path

import pytest

from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.verdict import Status, Verdict

FILE = "uint8_t a[256], b[256];\n"
START = "snrt_dma_start_1d"


def verdict(tmp_path: Path, text: str, *defines: str) -> Verdict:
    (tmp_path / "d.c").write_text(f"#include <stdint.h>\n{text}\n")
    found = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"], defines=defines)
    assert found is not None
    return found


def rules(found: Verdict) -> set[str]:
    return {one.rule for one in found.findings if one.severity.value == "error"}


@pytest.mark.parametrize("core", ["", "if (snrt_global_core_idx() != 8) return; "])
def test_an_array_ends_in_memory(tmp_path: Path, core: str) -> None:
    """A condition on where each one lies, or UNKNOWN where a core was asked for: an array wrapped around the end."""
    text = f"{FILE}void f(void) {{ {core}{START}(a, b, sizeof(a)); snrt_dma_wait_all(); }}"
    said = [verdict(tmp_path, text, *stated) for stated in ((), ("__SIZEOF_POINTER__=4",))]
    assert [one.status for one in said] == [Status.PROVED] * 2
    assert [one.conditions for one in said] == [("objects of the file lie below 2^48",), ()]
    moved = text.replace("(a, b, sizeof(a))", "(a, p, sizeof(a))").replace("f(void)", "f(uint8_t *p)")
    assert any("p <= 2^48 - 256" in one for one in verdict(tmp_path, moved).conditions)


@pytest.mark.parametrize("where", ["file", "function", "structure"])
@pytest.mark.parametrize(("length", "status"), [(256, Status.PROVED), (257, Status.REFUTED)])
def test_a_launch_stays_in_the_arrays_that_it_begins_in(
    tmp_path: Path, where: str, length: int, status: Status
) -> None:
    """`PROVED if no launch leaves the 256 bytes of a`, whatever its length was, before; of functions, UNKNOWN."""
    body = f"{START}(a, b, {length}); snrt_dma_wait_all();"
    text = {
        "file": f"{FILE}void f(void) {{ {body} }}",
        "function": f"void f(void) {{ {FILE} {body} }}",
        "structure": "struct s { uint8_t a[256]; };\nvoid f(void) { struct s x, y; "
        + body.replace("(a, b", "(x.a, y.a")
        + " }",
    }[where]
    found = verdict(tmp_path, text)
    assert found.status is status
    assert rules(found) == ({"idma/leaves-array"} if status is Status.REFUTED else set())
    assert not any("leaves" in one for one in found.conditions)


@pytest.mark.parametrize(
    ("launch", "condition"),
    [
        (f"{START}(a, b, n)", "n <= 256"),
        (f"{START}(a + n, b, 64)", "n <= 192"),
        (f"{START}(a + 256 - n, b, 64)", "n >= 64"),
        ("snrt_dma_start_2d(a, b, 16, 32, 16, n)", "n <= 8"),
        (f"for (uint32_t i = 0; i < n; i++) {START}(a + 64 * i, b, 64)", "n <= 4"),
        (f"for (uint32_t i = 0; i < n; i++) {START}(a, &b[64 * i], 64)", "n <= 4"),
        (f"uint8_t r[16][64]; for (uint32_t i = 0; i < n; i++) {START}(r[i], a, 64)", "n <= 16"),
        (f"uint16_t h[64], *p = &h[64]; {START}(a, p - n, 32)", "n >= 16"),
    ],
)
@pytest.mark.parametrize("where", ["file", "function"])
def test_how_far_a_launch_may_reach_is_a_condition_on_the_arguments(
    tmp_path: Path, launch: str, condition: str, where: str
) -> None:
    text = f"void f(uint32_t n) {{ {launch}; snrt_dma_wait_all(); }}"
    found = verdict(tmp_path, f"{FILE}{text}" if where == "file" else text.replace("{ ", f"{{ {FILE}", 1))
    assert found.status is Status.PROVED
    assert any(condition in one for one in found.conditions)


@pytest.mark.parametrize(("length", "status"), [("256", Status.PROVED), ("257", Status.REFUTED), ("n", Status.PROVED)])
def test_a_launch_stays_in_an_array_whose_address_is_stated(tmp_path: Path, length: str, status: Status) -> None:
    text = f"{FILE}void f(uint32_t n) {{ {START}(a, b, {length}); snrt_dma_wait_all(); }}"
    found = verdict(tmp_path, text, "a=0x1000", "b=0x2000")
    assert found.status is status
    assert rules(found) == ({"idma/leaves-array"} if status is Status.REFUTED else set())
    assert any("n <= 256" in one for one in found.conditions) == (length == "n")


def test_what_another_file_holds_lies_at_an_address_of_its_own(tmp_path: Path) -> None:
    """A `main` that hands `&args` of a header that is not there to a job of this file; UNKNOWN before."""
    body = f"{START}(to, args, 16); snrt_dma_wait_all();"
    job = (
        f"static void job(int *args, char *to) {{ {body} }}\nint main(void) {{ job(&args, (char *)0x1000); return 0; }}"
    )
    found = verdict(tmp_path, job)
    assert found.status is Status.PROVED
    assert "no launch leaves &args" in found.conditions
    assert any("&args" in one and one.startswith("main(): ") for one in found.conditions)
    assert verdict(tmp_path, job.replace("job(&args", "int args = 4; job(&args")).status is Status.REFUTED


def test_arrays_that_other_files_may_lay_out_leave_a_condition(tmp_path: Path) -> None:
    for said in ("extern uint8_t a[256];", '__attribute__((section(".l1"))) uint8_t a[256];'):
        found = verdict(
            tmp_path, f"{said} uint8_t b[256];\nvoid f(void) {{ {START}(a, b, 256); snrt_dma_wait_all(); }}"
        )
        assert "no launch leaves the 256 bytes of a" in found.conditions


@pytest.mark.parametrize(
    "body",
    [
        f"uint8_t t[64]; {START}(t, a, 64); @",
        f"{{ uint8_t t[64]; {START}(t, a, 64); @ }}",
        f"for (uint32_t i = 0; i < n; i++) {{ uint8_t t[64]; {START}(t, a, 64); @ }}",
        f"struct s o; g(o); {START}(b, o.a, 64); snrt_dma_wait_all();",
        f"uint32_t v = 1; {START}(a, &v, 4); @",
        f"uint8_t t[n]; {START}(t, a, 64); @",
    ],
)
def test_launches_are_complete_where_the_block_of_their_array_ends(tmp_path: Path, body: str) -> None:
    """Where the array was, anything else may be (PROVED)."""
    structure = f"struct s {{ uint8_t a[64]; }};\nstatic void g(struct s x) {{ {START}(x.a, a, 64); @ }}\n"
    text = f"{FILE}{structure}void f(uint32_t n) {{ {body} }}"
    assert verdict(tmp_path, text.replace("@", "snrt_dma_wait_all();")).status is Status.PROVED
    assert verdict(tmp_path, text.replace("@", "")).status is Status.UNKNOWN


def test_no_launch_begins_in_an_array_whose_block_has_ended(tmp_path: Path) -> None:
    """`p` points at nothing (PROVED)."""
    text = f"{FILE}void f(void) {{ uint8_t *p; {{ uint8_t t[64]; p = t; @ }} # snrt_dma_wait_all(); }}"
    launch = f"{START}(p, a, 64);"
    assert verdict(tmp_path, text.replace("#", launch).replace("@", "")).status is Status.UNKNOWN
    wait = f"{launch} snrt_dma_wait_all();"
    assert verdict(tmp_path, text.replace("@", wait).replace("#", f"{START}(b, a, 64);")).status is Status.PROVED


@pytest.mark.parametrize("kind", ["static", "extern"])
def test_arrays_that_do_not_end_with_their_block_may_be_in_flight_behind_it(tmp_path: Path, kind: str) -> None:
    text = f"{FILE}void f(void) {{ {{ {kind} uint8_t t[64]; {START}(t, a, 64); }} snrt_dma_wait_all(); }}"
    assert verdict(tmp_path, text).status is Status.PROVED
    assert verdict(tmp_path, text.replace(f"{kind} ", "")).status is Status.UNKNOWN


@pytest.mark.parametrize("file", ["", "extern uint8_t t[];\n", "static uint8_t t[64];\n"])
def test_an_extern_array_is_the_same_in_every_block(tmp_path: Path, file: str) -> None:
    """Two arrays, which lie apart (PROVED if `t' >= t + 64`), before."""
    first, second = (f"{{ extern uint8_t t[64]; {START}({one}, 64); }}" for one in ("t, a", "b, t"))
    text = f"{FILE}{file}void f(void) {{ {first} @ {second} snrt_dma_wait_all(); }}"
    found = verdict(tmp_path, text.replace("@", ""))
    assert (found.status, rules(found)) == (Status.REFUTED, {"idma/wait"})
    assert verdict(tmp_path, text.replace("@", "snrt_dma_wait_all();")).status is Status.PROVED


def test_a_static_array_is_the_same_in_every_call(tmp_path: Path) -> None:
    body = f"static uint8_t u[64]; if (out) {START}(x, u, 64); else {START}(u, x, 64);"
    text = f"{FILE}static void s(uint8_t *x, int out) {{ {body} }}\n"
    found = verdict(tmp_path, f"{text}void f(void) {{ s(a, 0); s(b, 1); snrt_dma_wait_all(); }}")
    assert (found.status, rules(found)) == (Status.REFUTED, {"idma/wait"})


def test_an_array_is_apart_from_no_pointer_of_a_caller(tmp_path: Path) -> None:
    found = verdict(tmp_path, f"void f(uint8_t *x) {{ {FILE} {START}(a, x, 256); snrt_dma_wait_all(); }}")
    assert found.status is Status.PROVED
    assert any("a >= x + 256" in one and "x >= a + 256" in one for one in found.conditions)


HELD = "struct s { uint32_t n; uint8_t buf[64]; uint16_t m[4][8]; };\n"


def leaves(found: Verdict) -> list[str]:
    return [one for one in found.conditions if "leaves" in one]


@pytest.mark.parametrize(
    ("arguments", "place", "begins", "long"),
    [
        ("struct s *p", "p->buf", 4, 64),
        ("struct s *p", "&p->buf[8]", 12, 56),
        ("struct s *p", "p->m[1]", 84, 48),
        ("struct s *p", "&p->m[1][2]", 88, 44),
        ("struct s *p", "p[2].buf", 268, 64),
        ("struct s *p", "&(*p).m", 68, 64),
        ("struct s *p", "(p + 1)->buf", 136, 64),
    ],
)
def test_a_launch_stays_in_the_array_that_is_named_through_a_pointer(
    tmp_path: Path, arguments: str, place: str, begins: int, long: int
) -> None:
    """`PROVED if no launch leaves the 64 bytes of p->buf`, whatever its length was, before."""
    body = f"{START}((void *)0x80000000, {place}, @); snrt_dma_wait_all();"
    text = f"{HELD}void f({arguments}) {{ {body} }}"
    found = verdict(tmp_path, text.replace("@", str(long)), "__SIZEOF_POINTER__=4")
    assert (found.status, leaves(found)) == (Status.PROVED, [])
    assert any(f"p <= 2^31 - {begins + long};" in one for one in found.conditions)
    found = verdict(tmp_path, text.replace("@", str(long + 1)), "__SIZEOF_POINTER__=4")
    assert (found.status, rules(found)) == (Status.REFUTED, {"idma/leaves-array"})


@pytest.mark.parametrize(
    ("place", "long"), [("s.a", 64), ("&s.a[8]", 56), ("s.r[1]", 48), ("&s", 132), ("t[1]", 192), ("(void *)&s.a", 64)]
)
def test_a_launch_stays_in_the_member_of_a_structure_of_the_driver(tmp_path: Path, place: str, long: int) -> None:
    local = "struct { uint8_t a[64], r[4][16]; uint32_t n; } s; uint8_t t[4][64];"
    text = f"void f(void) {{ {local} {START}((void *)0x1000, {place}, @); snrt_dma_wait_all(); }}"
    found = verdict(tmp_path, text.replace("@", str(long)))
    assert (found.status, leaves(found)) == (Status.PROVED, [])
    found = verdict(tmp_path, text.replace("@", str(long + 1)))
    assert (found.status, rules(found)) == (Status.REFUTED, {"idma/leaves-array"})


@pytest.mark.parametrize(
    ("place", "long", "within"),
    [
        ("&p->n", 4, []),
        ("&p->n", 5, ["no launch leaves what holds `p->n`"]),  # a caller may mean what lies behind it
        ("&p->buf[n]", 1, []),
        ("r[2]", 16, []),
        ("r[2]", 32, ["no launch leaves what holds `r[2]`"]),  # nobody says how many rows there are
    ],
)
def test_what_lies_around_a_number_or_a_row_behind_a_pointer_the_caller_knows(
    tmp_path: Path, place: str, long: int, within: list[str]
) -> None:
    text = (
        f"{HELD}void f(struct s *p, uint8_t r[4][16], uint32_t n) {{ {START}((void *)0x80000000, {place}, {long}); }}"
    )
    found = verdict(tmp_path, text, "__SIZEOF_POINTER__=4")
    assert (found.status, leaves(found)) == (Status.PROVED, within)
    assert any("n <= 63" in one for one in found.conditions) == ("[n]" in place)


@pytest.mark.parametrize(
    ("head", "argument", "leaving"),
    [
        ("", "p", []),
        ("", "(uint64_t)p", []),
        ("void *q = p;", "q", ["no launch leaves the 64 bytes of `p->buf`"]),
        ("", "(uint8_t *)p", []),
        ("", "p->buf", None),
        ("", "(void *)&p->buf[0]", None),
        ("", "(uint8_t *)(p->buf + 0)", None),
        ("uint8_t *q = (uint8_t *)p;", "q", ["no launch leaves the 64 bytes of `p->buf`"]),
        ("uint8_t *q = p->buf;", "q", ["no launch leaves the 64 bytes of `p->buf`"]),
        ("uint8_t *q = p->buf + 1;", "q", None),
        ("*a = p->buf; uint8_t *q = *a;", "q", ["no launch leaves the 64 bytes of `p->buf`"]),
    ],
)
def test_a_launch_that_begins_where_a_structure_does_may_mean_the_structure(
    tmp_path: Path, head: str, argument: str, leaving: list[str] | None
) -> None:
    """Its type says what a pointer means, or nothing does, and that it is no array that is left is a condition."""
    first = "struct s { uint8_t buf[64]; uint32_t n; };\n"
    begin = f"{START}((void *)0x90000000, p->buf, 64); snrt_dma_wait_all(); {head}"
    body = f"{begin} {START}((void *)0x80000000, {argument}, 68); snrt_dma_wait_all();"
    text = f"{first}void f(struct s *p, uint8_t **a) {{ {body} }}"
    found = verdict(tmp_path, text, "__SIZEOF_POINTER__=4")
    assert found.status is (Status.REFUTED if leaving is None else Status.PROVED)
    assert leaves(found) == (leaving or [])


def test_a_number_behind_a_pointer_is_read_and_no_address(tmp_path: Path) -> None:
    text = f"struct s {{ uint32_t n, m; }};\nvoid f(struct s *p) {{ {START}((void *)0x1000, (void *)0x8000, p->m); }}"
    assert any("p->m" in one for one in verdict(tmp_path, text).conditions)


def test_what_is_right_at_some_values_alone_is_told_by_those_that_differ(tmp_path: Path) -> None:
    """All values of a run that is right, and all of one that is wrong, before: forty of a kernel's."""
    launch = f"{START}((void *)0x1000, (void *)(0x8000 + m), n == 64 ? 16 : 0);"
    found = verdict(tmp_path, f"void f(uint32_t n, uint32_t m) {{ {launch} snrt_dma_wait_all(); }}")
    assert found.status is Status.UNKNOWN
    said = " ".join(one.why for one in found.obligations)
    assert "with arguments: it is wrong where n = 0, and right where n = 64" in said


def test_what_is_not_read_in_each_round_of_a_loop_is_told_once(tmp_path: Path) -> None:
    loop = f"for (int i = 0; i < 9; i++) {START}(a, b, (int)(1.5 * i));"
    found = verdict(tmp_path, f"{FILE}void f(void) {{ {loop} snrt_dma_wait_all(); }}")
    assert found.status is Status.UNKNOWN
    assert sum(one.why.count("not read") for one in found.obligations) == 1


@pytest.mark.parametrize(("length", "status"), [(3, Status.PROVED), (4, Status.REFUTED)])
@pytest.mark.parametrize("at", ["p - 3", "r[4] - 3"])
def test_an_address_before_the_end_of_an_array_lies_in_it(tmp_path: Path, at: str, length: int, status: Status) -> None:
    """`p - 3` lay at the end, and `r[4] - 3` in the second row (`idma/leaves-array`)."""
    arrays = "uint8_t b[4], r[4][64], *p = r[3] + 64;"
    found = verdict(tmp_path, f"void f(void) {{ {arrays} {START}(b, {at}, {length}); snrt_dma_wait_all(); }}")
    assert found.status is status
    assert rules(found) == ({"idma/leaves-array"} if status is Status.REFUTED else set())


@pytest.mark.parametrize("where", ["file", "function"])
@pytest.mark.parametrize(
    ("to", "status"),
    [("r[3]", Status.PROVED), ("&r[3][0]", Status.PROVED), ("&r[3][1]", Status.REFUTED), ("r[4]", Status.REFUTED)],
)
def test_a_row_of_an_array_of_rows_is_an_address(tmp_path: Path, where: str, to: str, status: Status) -> None:
    """Of the file: UNKNOWN, "`r` has no initializer here"."""
    rows, launch = "uint8_t r[4][64], b[64];", f"{START}({to}, b, 64); snrt_dma_wait_all();"
    text = {"file": f"{rows}\nvoid f(void) {{ {launch} }}", "function": f"void f(void) {{ {rows} {launch} }}"}[where]
    found = verdict(tmp_path, text)
    assert found.status is status
    assert rules(found) == ({"idma/leaves-array"} if status is Status.REFUTED else set())


@pytest.mark.parametrize("at", ["end->x - 3", "&end->n - 2"])
def test_a_member_of_what_is_behind_an_array_is_no_element_of_it(tmp_path: Path, at: str) -> None:
    """`end->x - 3` was `o[1]`, with all that lies behind that (PROVED)."""
    text = "struct s { uint32_t n; uint8_t x[8]; };\nvoid f(void) { uint8_t b[4]; struct s o[4], *end = &o[4];"
    found = verdict(tmp_path, f"{text} {START}(b, {at}, 4); snrt_dma_wait_all(); }}")
    assert found.status is Status.UNKNOWN


@pytest.mark.parametrize(("first", "status"), [("r[0] + 32", Status.REFUTED), ("r[1]", Status.PROVED)])
def test_an_address_before_the_end_of_a_row_is_none_of_the_next_row(tmp_path: Path, first: str, status: Status) -> None:
    """The second launch reads what the first one may still write (PROVED)."""
    launches = f"{START}({first}, b, 32); {START}(c, p - 32, 32); snrt_dma_wait_all();"
    found = verdict(tmp_path, f"void f(void) {{ uint8_t r[4][64], b[64], c[64], *p = r[0] + 64; {launches} }}")
    assert found.status is status
    assert rules(found) == ({"idma/wait"} if status is Status.REFUTED else set())


@pytest.mark.parametrize("where", ["file", "function"])
@pytest.mark.parametrize(
    ("address", "length", "condition"),
    [
        ("(uintptr_t)a + 63 & ~(uintptr_t)63", 192, "a <= 2^32 - 64"),
        ("(uintptr_t)a + 63 & ~(uintptr_t)63", 193, "a <= 2^32 - 64"),  # 63 bytes are skipped at most
        ("(uintptr_t)a + 63 & ~(uintptr_t)63", 194, "a + 62 >= 64 * [[a + 63] // 64]"),
        ("((uintptr_t)a + 63 & ~(uintptr_t)63) + 16 * n", 16, "n <= 11"),
        ("(uintptr_t)a + ((uintptr_t)b & 63)", 193, ""),
    ],
)
def test_an_address_that_is_rounded_is_one_of_its_array(
    tmp_path: Path, address: str, length: int, condition: str, where: str
) -> None:
    """How far such a launch may reach was asked of nobody (PROVED, of 256 bytes of `a`, too)."""
    arrays = "uint8_t a[256], b[256], c[256];\n"
    body = f"{START}(c, (void *)({address}), {length}); snrt_dma_wait_all();"
    file, function = (arrays, "") if where == "file" else ("", arrays)
    found = verdict(tmp_path, f"{file}void f(uint32_t n) {{ {function} {body} }}", "__SIZEOF_POINTER__=8")
    assert found.status is Status.PROVED
    assert any(condition in one for one in found.conditions)
    further = f"{file}void f(uint32_t n) {{ {function} {body.replace(f', {length})', ', 257)')} }}"
    assert verdict(tmp_path, further, "__SIZEOF_POINTER__=8").status is not Status.PROVED


def test_an_address_that_goes_with_that_of_an_array_in_another_way_is_open(tmp_path: Path) -> None:
    """It lay in no array (`PROVED if` it lies behind `b`)."""
    for address, status in (
        ("(uintptr_t)a * 3", Status.UNKNOWN),
        ("(uintptr_t)a * 3 - 2 * (uintptr_t)a", Status.PROVED),
    ):
        text = f"{FILE}void f(void) {{ {START}(b, (void *)({address}), 64); snrt_dma_wait_all(); }}"
        assert verdict(tmp_path, text, "__SIZEOF_POINTER__=8").status is status


@pytest.mark.parametrize(
    ("place", "long", "status", "within"),
    [
        ("&p->in", 16, Status.PROVED, []),
        ("&p->in", 17, Status.PROVED, ["no launch leaves what holds `p->in`"]),
        ("p->many", 64, Status.PROVED, []),
        ("&p->many[1]", 48, Status.PROVED, []),
        ("&p->many[1]", 49, Status.REFUTED, []),
        ("p", 148, Status.PROVED, []),  # how many there are, the caller knows
        ("x + 0x1004", 128, Status.PROVED, ["no launch leaves the 64 bytes of `q->b`"]),
    ],
)
def test_a_pointer_to_structures_means_the_member_that_holds_such_ones(
    tmp_path: Path, place: str, long: int, status: Status, within: list[str]
) -> None:
    """Where a launch of `&p->in` ends was nothing that is asked; `x + 0x1004` began in an array at 0x1000, whatever `x`
    is.
    """
    head = (
        "struct in { uint32_t k; uint8_t b[12]; };\nstruct s { uint32_t n; struct in in, many[4]; uint8_t t[64]; };\n"
    )
    head += "struct q { uint32_t n; uint8_t b[64]; };\n"
    first = f"struct q *q = (struct q *)0x1000; {START}((void *)0x70000000, q->b, 64); snrt_dma_wait_all();"
    body = f"{first if 'q' in place or 'x' in place else ''} {START}((void *)0x80000000, {place}, {long});"
    found = verdict(tmp_path, f"{head}void f(struct s *p, uint8_t *x) {{ {body} }}", "__SIZEOF_POINTER__=4")
    assert (found.status, leaves(found)) == (status, within)
    assert (rules(found) == {"idma/leaves-array"}) == (status is Status.REFUTED)


STRUCTURES = "struct s { uint32_t n; uint8_t buf[64]; };\nstruct s g; static struct s h[4]; extern struct s e;\n"


@pytest.mark.parametrize(
    ("place", "long"),
    [("g.buf", 64), ("&g", 68), ("&g.buf[8]", 56), ("h[1].buf", 64), ("&h[1]", 204), ("h[3].buf", 64), ("e.buf", 64)],
)
def test_structures_of_the_file_have_addresses(tmp_path: Path, place: str, long: int) -> None:
    """UNKNOWN, "`g` has no initializer here", before."""
    text = f"{STRUCTURES}void f(void) {{ {START}((void *)0x80000000, {place}, @); snrt_dma_wait_all(); }}"
    found = verdict(tmp_path, text.replace("@", str(long)), "__SIZEOF_POINTER__=4")
    assert (found.status, leaves(found)) == (Status.PROVED, [])
    found = verdict(tmp_path, text.replace("@", str(long + 1)), "__SIZEOF_POINTER__=4")
    assert (found.status, rules(found)) == (Status.REFUTED, {"idma/leaves-array"})


@pytest.mark.parametrize(
    ("body", "held"),
    [
        (f"{START}(x, y, g.n);", "g.n"),
        (f"{START}(x, y, h[2].n);", "h[2].n"),
        (f"{START}(x, y, p->s.n);", "p->s.n"),
        (f"g.n = 4; {START}(x, y, g.n);", "g.n'"),  # the file writes memory that is not followed
        (f"{START}(&g, y, 68); snrt_dma_wait_all(); {START}(x, y, g.n);", "g.n'"),
        (f"g = h[0]; {START}(x, y, g.n);", "g.n'"),  # g.n, before: of which the text may have asked more
        (f"if (p) g = h[0]; {START}(x, y, g.n);", "g.n'"),
        (f"struct s g = {{8}}; {START}(x, y, g.n);", ""),
    ],
)
def test_what_structures_of_the_file_hold_is_a_number_that_nobody_knows(tmp_path: Path, body: str, held: str) -> None:
    head = f"{STRUCTURES}struct t {{ uint32_t k; struct s s; }};\n"
    text = f"{head}void f(uint8_t *x, uint8_t *y, struct t *p) {{ {body} snrt_dma_wait_all(); }}"
    found = verdict(tmp_path, text, "__SIZEOF_POINTER__=4")
    assert found.status is Status.PROVED
    assert any(f"{held} >= 1" in one for one in found.conditions) or not held
    assert any("does not change while f() runs" in one for one in found.conditions) == bool(held)


def test_a_structure_of_a_function_that_others_may_change_is_not_that_of_the_file(tmp_path: Path) -> None:
    text = f"{STRUCTURES}void f(uint8_t *x) {{ static struct s g; {START}(x, g.buf, 64); snrt_dma_wait_all(); }}"
    assert verdict(tmp_path, text, "__SIZEOF_POINTER__=4").status is Status.UNKNOWN
    text = text.replace("static struct s g; ", "")
    assert verdict(tmp_path, text, "__SIZEOF_POINTER__=4").status is Status.PROVED


@pytest.mark.parametrize(("pointer", "array"), [("(*d)[64]", "d[][64]"), ("(*d)[2][32]", "d[][2][32]")])
def test_a_pointer_to_arrays_is_an_argument_that_is_written_as_an_array(
    pointer: str, array: str, tmp_path: Path
) -> None:
    """UNKNOWN, before: the argument had no type."""
    text = f"void f(uint8_t @, uint8_t *x) {{ {START}(d + 1, x, 65); {START}(d[2], x, 64); snrt_dma_wait_all(); }}"
    found = [verdict(tmp_path, text.replace("@", one), "__SIZEOF_POINTER__=4") for one in (pointer, array)]
    assert found[0].status is found[1].status is Status.PROVED
    assert found[0].conditions == found[1].conditions != ()


def test_two_names_of_one_structure_of_the_file_are_one_place(tmp_path: Path) -> None:
    text = f"{STRUCTURES}void f(void) {{ {START}(g.buf, &h[0], 64); @ {START}(&e, (uint8_t *)&g + 4, 64); # }}"
    found = verdict(tmp_path, text.replace("@", "").replace("#", "snrt_dma_wait_all();"), "__SIZEOF_POINTER__=4")
    assert (found.status, rules(found)) == (Status.REFUTED, {"idma/wait"})
    found = verdict(tmp_path, text.replace("@", "snrt_dma_wait_all();").replace("#", ""), "__SIZEOF_POINTER__=4")
    assert found.status is Status.PROVED


@pytest.mark.parametrize(
    ("head", "long"),
    [
        ("struct s { uint8_t c; uint32_t n; } __attribute__((packed));", 5),
        ("struct s { uint8_t c; uint32_t n; } other;\nuint32_t m(void) { return other.n; }", 8),
        ("struct s { uint8_t c; uint32_t n; } __packed;", 0),  # of a header that is not read, or a variable
        ("// __packed: as gcc has it\nstruct s { uint8_t c; uint32_t n; } __packed;\nextern uint8_t q __packed;", 0),
        ("#define PACKED __attribute__((packed))\nstruct s { uint8_t c; uint32_t n; } PACKED;", 0),
        ("typedef uint32_t word __attribute__((aligned(1)));\nstruct s { uint8_t c; word n; };", 0),
        ("typedef uint32_t word;\nstruct s { uint8_t c; word n; };", 8),
    ],
)
def test_what_a_macro_or_an_attribute_may_lay_out_has_no_known_length(tmp_path: Path, head: str, long: int) -> None:
    """8 bytes, before, of what has 5: PROVED for a launch of 8."""
    text = f"{head}\nstruct s g;\nvoid f(void) {{ {START}((void *)0x80000000, &g, @); snrt_dma_wait_all(); }}"
    found = verdict(tmp_path, text.replace("@", f"{long or 8}"), "__SIZEOF_POINTER__=4")
    assert (found.status, leaves(found)) == (Status.PROVED, [] if long else ["no launch leaves &g"])
    assert verdict(tmp_path, text.replace("@", "9"), "__SIZEOF_POINTER__=4").status is (
        Status.REFUTED if long else Status.PROVED
    )


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ("uint32_t n; uint8_t buf[1];", Status.PROVED),
        ("uint32_t n; uint8_t buf[2];", Status.REFUTED),
        ("uint8_t buf[1]; uint32_t n;", Status.REFUTED),
    ],
)
def test_an_array_of_one_element_that_ends_a_structure_stands_for_more(
    tmp_path: Path, members: str, status: Status
) -> None:
    """`idma/leaves-array`, before: how many there are, the caller knows; of a structure of the file, its type says."""
    launch = f"{START}((void *)0x80000000, p->buf, 64); snrt_dma_wait_all();"
    text = f"struct s {{ {members} }};\nstruct s g;\nvoid f(struct s *p) {{ {launch} }}"
    found = verdict(tmp_path, text, "__SIZEOF_POINTER__=4")
    assert (found.status, leaves(found)) == (
        status, ["no launch leaves what holds `p->buf`"] if status is Status.PROVED else []
    )  # fmt: skip
    assert rules(verdict(tmp_path, text.replace("p->", "g."), "__SIZEOF_POINTER__=4")) == {"idma/leaves-array"}


@pytest.mark.parametrize(
    ("before", "held"),
    [
        (f"{START}(h[2].buf, y, 64);", "h[2].n"),
        (f"{START}(&h[2], y, 64);", "h[2].n'"),
        ("snrt_dma_start_2d(h, y, 4, 68, 4, 3);", "h[2].n'"),
        ("snrt_dma_start_2d(h, y, 4, 68, 4, 2);", "h[2].n"),
        (f"{START}(h, y, k);", "h[2].n'"),
        (f"{START}(h[2].buf + k, y, 8);", "h[2].n"),
        (f"{START}(&h[k], y, 8);", "h[2].n'"),
        ("snrt_dma_start_2d(h, y, 4, 4 * k, 4, 3);", "h[2].n'"),
        ("snrt_dma_start_2d(h[2].buf, y, 4, 4 * k, 4, 2 * k);", "h[2].n"),
        ("snrt_dma_start_2d(h + 3, y, 4, -68, 4, k);", "h[2].n'"),
        (f"{START}(y, x, 64);", "h[2].n"),  # that nothing else writes there is a condition
    ],
)
def test_what_a_launch_may_write_holds_something_else_behind_it(tmp_path: Path, before: str, held: str) -> None:
    """h[2].n, before, where the launch begins elsewhere in `h`: of which the text may have asked more."""
    body = f"{before} snrt_dma_wait_all(); {START}(x, g.buf, h[2].n); snrt_dma_wait_all();"
    found = verdict(
        tmp_path, f"{STRUCTURES}void f(uint8_t *x, uint8_t *y, uint32_t k) {{ {body} }}", "__SIZEOF_POINTER__=4"
    )
    assert found.status is Status.PROVED
    assert any(f"{held} >= 1" in one for one in found.conditions)


@pytest.mark.parametrize(("stride", "held"), [(68, "h[2].n"), (-68, "h[2].n"), (0xFFFF_FFBC, "h[2].n'")])
def test_strides_have_a_sign_where_nobody_says_how_wide_a_pointer_is(tmp_path: Path, stride: int, held: str) -> None:
    """A `core/internal` (exit 4), before: a stride of 32 bits may be one below 0."""
    body = f"snrt_dma_start_2d(h, y, 4, {stride}, 4, 2); snrt_dma_wait_all(); {START}(x, g.buf, h[2].n);"
    found = verdict(tmp_path, f"{STRUCTURES}void f(uint8_t *x, uint8_t *y) {{ {body} snrt_dma_wait_all(); }}")
    told = "; ".join(found.conditions) + "; ".join(one.message for one in found.findings)
    assert "core/internal" not in rules(found)
    assert found.status is not Status.PROVED or f"{held} >= 1" in told


@pytest.mark.parametrize(("member", "again"), [("&h[i]", True), ("h[0].buf + i", False)])
def test_what_rounds_launch_may_write_is_another_number_in_each_round(tmp_path: Path, member: str, again: bool) -> None:
    """The number that was asked for before the loop, before: the first round changes it."""
    round_ = f"{START}(x, h[0].buf, h[0].n); snrt_dma_wait_all(); {START}({member}, y, 4); snrt_dma_wait_all();"
    body = f"if (h[0].n && h[0].n <= 64) for (uint32_t i = 0; i < n; i++) {{ {round_} }}"
    found = verdict(
        tmp_path, f"{STRUCTURES}void f(uint8_t *x, uint8_t *y, uint32_t n) {{ {body} }}", "__SIZEOF_POINTER__=4"
    )
    assert found.status is Status.PROVED
    assert any("h[0].n'' <= 64" in one for one in found.conditions) is again


@pytest.mark.parametrize(("skipped", "named"), [("sizeof(struct q)", "l->n'"), ("8", "l->n''")])
def test_rounds_behind_a_structure_of_unknown_size_leave_what_it_holds(
    tmp_path: Path, skipped: str, named: str
) -> None:
    """Each read of `l->n` was another number: how long a pointer is, and so the structure, is not stated."""
    copied = f"struct q *l = (struct q *)snrt_l1_next(); {START}(l, p, sizeof(struct q)); snrt_dma_wait_all();"
    round_ = f"{START}((uint8_t *)l + {skipped}, y, l->n); snrt_dma_wait_all();"
    text = f"struct q {{ uint8_t *a; uint32_t n; }};\nvoid f(struct q *p, uint8_t *y, uint32_t m) {{ {copied} "
    found = verdict(tmp_path, f"{text}for (uint32_t i = 0; i < m; i++) {{ {round_} }} }}")
    assert found.status is Status.PROVED
    assert set(re.findall(r"l->n'*", " ".join(found.conditions))) == {"l->n'", named}


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ("snrt_dma_start_2d(p, p, 64, 64, 0, n / 64)", Status.PROVED),
        ("snrt_dma_start_2d(p, p, 64, 63, 0, n / 64)", Status.REFUTED),
        ("snrt_dma_start_2d(p, p, 64, n, n, 4)", Status.PROVED),
        ("snrt_dma_start_2d(p, p, 64, n, n + 1, 4)", Status.REFUTED),
        ("snrt_dma_start_2d(p, p + 1, 64, 64, 0, n / 64)", Status.REFUTED),
        (f"{START}(p, p, n)", Status.PROVED),
    ],
)
def test_rows_that_are_moved_onto_themselves_leave_their_source(tmp_path: Path, rows: str, status: Status) -> None:
    """REFUTED where nothing is moved (`n` below 64), of a memory that is filled from its first row, before."""
    found = verdict(tmp_path, f"void f(uint8_t *p, uint32_t n) {{ {rows}; snrt_dma_wait_all(); }}")
    assert found.status is status


@pytest.mark.parametrize(
    ("size", "body", "width", "refuted"),
    [
        (64, "GO(a, b, 64); GO(c, e, ((n ^ m) & 63) + 1);", 20, False),
        (64, "GO(a, b, 64); GO(c, a, ((n ^ m) & 63) + 1);", 20, True),
        (1 << 26, "GO(a, c, 64); WAIT GO(b, a, 1 << 26); WAIT GO(c, e, ((n ^ m) & 63) + 1);", 32, False),
        (1 << 22, "GO(a, c, 64); WAIT GO(b, a, 1 << 22); GO(c, b, ((n ^ m) & 63) + 1);", 32, True),
    ],
)
def test_arrays_refute_a_driver_only_where_they_lie_apart(
    tmp_path: Path, size: int, body: str, width: int, refuted: bool
) -> None:
    """REFUTED where the places that are tried first lie within the length of the arrays, or behind the last address."""
    wait = "snrt_dma_wait_all();"
    text = f"uint8_t a[{size}], b[{size}], c[{size}], e[{size}];\nvoid f(uint32_t n, uint32_t m) {{ {body} WAIT }}"
    (tmp_path / "d.c").write_text(f"#include <stdint.h>\n{text.replace('GO', START).replace('WAIT', wait)}\n")
    found = verdict_of_file(str(tmp_path / "d.c"), engine=["variant=rw_axi", f"address_width={width}"])
    assert found is not None
    assert (found.status is Status.REFUTED) == refuted, found.obligations
