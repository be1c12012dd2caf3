"""Arrays and structures of a driver: a cell has the value that C gives it, or none, with the reason."""

from pathlib import Path

import pytest

from dmaverify.errors import Source
from dmaverify.machines.idma.c.driver import Driver, read_driver
from dmaverify.machines.idma.check import verdict_of_file

HEAD = """#include <stdint.h>
#define GO(n) snrt_dma_start_1d((void *)0x2000, (void *)0x1000, n)
typedef struct { uint32_t to, from; uint8_t len; } job_t;
struct pair { job_t a, b; int16_t w[3]; };
int flag(void);
"""


def driver(body: str, before: str = "", word: str = "4", **defines: str) -> Driver:
    text = f"{HEAD}{before}\nvoid f(void) {{ {body} }}\n"
    return read_driver(Source("d.c", text), {"__SIZEOF_POINTER__": word, **defines})


def lengths(body: str, before: str = "", **more: str) -> list[int] | str:
    """Of every launch; why not, where something is not read."""
    found = driver(body, before, **more)
    why = [doubt.why for entry in found.entries for doubt in entry.doubts]
    return why[0] if why else [one.descriptor.request.length for entry in found.entries for one in entry.told]


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("int n[3] = {1, 2}; for (int i = 0; i < 3; i++) GO(n[i] + 1);", [2, 3, 1]),
        ("uint8_t n[] = {[2] = 300, 5, [0] = 7}; GO(n[0]); GO(n[2]); GO(n[3]); GO(sizeof(n));", [7, 44, 5, 4]),
        ("int n[2][3] = {{1}, [1] = {2, [2] = 4}}; GO(n[1][0]); GO(n[1][2]); GO(n[0][1] + 9);", [2, 4, 9]),
        ("int n[2][2] = {1, 2, 3}; GO(n[1][0]); GO(n[1][1] + 9);", [3, 9]),
        ("int n[3]; n[0] = n[1] = 4; n[2] = n[1]++ + 1; GO(n[0]); GO(n[1]); GO(n[2]);", [4, 5, 5]),
        ("uint8_t n[2]; n[0] = 257; n[1] = n[0]++; GO(n[0]); GO(n[1]);", [2, 1]),
        ("bool n[2] = {8}; n[1] = 256; GO(n[0] + n[1]);", [2]),
        ("int n[4] = {0}; int *p = n; p[1] = 5; *p = 6; GO(n[0]); GO(n[1]); GO(p[1]);", [6, 5, 5]),
        ("int n[2][2] = {{1, 2}, {3, 4}}; int *p = n[1]; p[0] += 4; GO(n[1][0]);", [7]),
        ("int k = 2; int n[k]; n[1] = 4; GO(n[k - 1]);", [4]),
        ("job_t j = {1, 2, 300}; GO(j.len); j.len += 300; GO(j.len);", [44, 88]),
        ("job_t j = {.len = 5}, k = j; j.len = 6; GO(k.len); k = j; GO(k.len); GO(k.to + 7);", [5, 6, 7]),
        ("job_t j[2] = {{.len = 5}, {1, 2, 3}}; j[0] = j[1]; GO(j[0].len); GO(j[0].to);", [3, 1]),
        ("struct pair p = {1, 2, 3, .b.len = 4, {7, [2] = 9}}; GO(p.a.len); GO(p.b.len); GO(p.w[2]);", [3, 4, 9]),
        ("struct pair p = {.a = {.len = 4}}; p.b = p.a; p.w[1] = -1; GO(p.b.len + p.w[1]);", [3]),
        ("struct { int n; struct { int x; } in[2]; } s = {1, {{2}, {3}}}; s.in[0].x++; GO(s.in[0].x);", [3]),
        ("job_t j = (job_t){.len = 6}; GO(j.len); j = (job_t){1}; GO(j.len + j.to);", [6, 1]),
    ],
)
def test_cells_hold_what_c_stores_in_them(body: str, want: list[int]) -> None:
    assert lengths(body, "#include <stdbool.h>") == want


FOUR = "int n[4] = {4, 5, 6, 7}, *p = n;"


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("*(n + 1) = 9; GO(n[1]); GO(*(1 + n)); GO((n + 1)[2]);", [9, 9, 7]),
        ("p++; *p = 9; GO(n[1]); GO(*p++); GO(*p); GO(*--p); GO(p[-1]);", [9, 9, 6, 9, 4]),
        ("p += 3; *p = 9; p -= 2; GO(*p); GO(n[3]); p = p + 1; GO(*p);", [5, 9, 6]),
        ("for (int *q = n; q < n + 4; ++q) GO(*q); for (p = n + 4; p != n; ) GO(*--p);", [4, 5, 6, 7, 7, 6, 5, 4]),
        ("for (const int *q = n, *e = q + 2; q != e; q++) GO(*q + (e - q));", [6, 6]),
        (
            "int *q = &n[2]; GO(q - p); GO(p - q + 9); GO(q > p); GO((q >= n + 3) + 1); GO((p == n) + 1);",
            [2, 7, 1, 1, 2],
        ),
        (
            "int m[2][2] = {{1, 2}, {3, 4}}; GO(*(m[1] + 1)); int *q = m[1]; q++; GO(*q); GO(*(*(m + 1) + 1));",
            [4, 4, 4],
        ),
        (
            "job_t j[2] = {{.len = 4}}, *q = &j[1]; (q - 1)->len = 5; GO(j[0].len); q--; GO(q->len); GO((j + 1)->len);",
            [5, 5, 0],
        ),
        ("uint32_t at = 0x1000; at += 1; GO(at - 0x1000);", [1]),
        # behind the end, or of what is no array, nothing is known
        ("p += 4; GO(*p);", "is element 4, and `n` has 4 there"),
        ("p += 4; *p = 3; GO(n[0]);", "C leaves undefined"),
        ("p += 5; p -= 2; *p = 3; GO(n[0]);", "C leaves undefined"),
        ("p--; GO(*p);", "is element -1"),
        ("int k = 4, *q = &k; q++; GO(k);", [4]),
        ("int k = 4, *q = &k; q++; *q = 5; GO(k);", "C leaves undefined"),
        ("job_t j = {.len = 4}, *q = &j; q++; q->len = 3; GO(j.len);", "C leaves undefined"),
        ("p += flag(); *p = 3; GO(n[0]);", "`flag()`"),
        ("if (flag()) p++; *p = 3; GO(n[0]);", "the condition"),
        ("char *q = (char *)p; q++; *q = 1; GO(n[0]);", "the address of `n`"),
        ("int m[2] = {1}; GO(n < m ? 3 : 4);", "where `n` lies is not known"),
        ("int m[2] = {1}; GO(p - m);", "lies is not known"),
        ("p += *p++; GO(*p);", "`*p`"),
    ],
)
def test_pointers_move_within_their_array(body: str, want: list[int] | str) -> None:
    found = lengths(FOUR + body)
    assert found == want if isinstance(want, list) else want in found, found


TABLE = "static const job_t jobs[] = {{1, 2, 3}, [2] = {.len = 6}};"


@pytest.mark.parametrize(
    ("before", "body", "want"),
    [
        (TABLE, "for (int i = 0; i < 3; i++) GO(jobs[i].len + 1);", [4, 1, 7]),
        (TABLE, "for (int i = 0; i < sizeof(jobs) / sizeof *jobs; i++) { const job_t *j = &jobs[i]; GO(j->len + 1); }",
         [4, 1, 7]),
        ("const uint16_t n[2] = {7};", "GO(n[0]); GO(n[1] + 1); helper(n); GO(n[0]);", [7, 1, 7]),
        ("static int go(const job_t *j) { if (!j || j == NULL) return 1; GO(j->len); return 0; }",
         "job_t j = {.len = 4}; go(&j); j.len = 5; go(&j); go(&(job_t){.len = 6});", [4, 5, 6]),
        ("static void go(job_t j) { j.len++; GO(j.len); }", "job_t j = {.len = 4}; go(j); GO(j.len);", [5, 4]),
        ("static void set(job_t *j, int n) { j->len = n; j = 0; }", "job_t j[2]; set(&j[1], 4); GO(j[1].len);", [4]),
        ("static void go(const int n[], int m) { while (m--) GO(n[m]); }", "int n[2] = {1, 2}; go(n, 2);", [2, 1]),
        ("static void go(int n[][2]) { n[1][1] = 8; }", "int n[2][2] = {{0}}; go(n); GO(n[1][1]);", [8]),
        ("static void set(void **t, size_t to) { t[0] = (void *)to; *(t + 1) = (void *)(to + 3); }",
         "void *t[2]; set(t, 5); for (int i = 0; i < 4; i++) GO((size_t)t[i % 2]);", [5, 8, 5, 8]),
        ("static void swap(int **a, int *b[]) { int *x = *a; *a = *b; b[0] = x; }",
         "int *t[2] = {(int *)4, (int *)6}; swap(&t[0], t + 1); GO((size_t)t[0]); GO((size_t)t[1]);", [6, 4]),
        ("static void set(int *p, int n) { *p += n; }", "int n = 3; set(&n, 4); GO(n); GO(n++); int *q = &n; GO(*q);",
         [7, 7, 8]),
        ("static void swap(void **a, void **b) { void *x = *a; *a = *b; *b = x; }",
         "void *p = (void *)4, *q = (void *)6; swap(&p, &q); GO((size_t)p); GO((size_t)q);", [6, 4]),
        ("static void set(int *p) { *p = 5; }\nstatic void go(int n) { GO(n); set(&n); GO(n); }", "go(3);", [3, 5]),
        ("static job_t mk(int n) { job_t j = {.len = n}; return j; }", "job_t j = mk(4); GO(j.len); GO(mk(5).len);",
         [4, 5]),
        ("static int down(int *n, int m) { int own[1] = {m}; if (m) down(own, m - 1); return n[0] += own[0]; }",
         "int n[1] = {1}; down(n, 3); GO(n[0]);", [7]),
        ("#define LEN(j) ((j)->len)\n#define J (&rows[i])",
         "job_t rows[2] = {{.len = 3}, {.len = 4}}; for (int i = 0; i < 2; i++) { LEN(J) += 1; GO(LEN(J)); }", [4, 5]),
    ],
)  # fmt: skip
def test_objects_are_followed_through_names_pointers_and_parameters(before: str, body: str, want: list[int]) -> None:
    assert lengths(body, before) == want


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("int n[2] = {4, 4}; GO(n[flag()]);", "flag()"),
        ("int n[2] = {4, 4}; n[flag()] = 5; GO(n[0]);", "sets what is not known"),
        ("int n[2] = {4, 4}; GO(n[2]);", "element 2, and `n` has 2"),
        ("int n[2] = {4, 4}; n[-1] = 0; GO(4);", "C leaves undefined"),
        ("int n[2]; n[0] = 4; GO(n[1]);", "no value here"),
        ("job_t j; j.to = 1; GO(j.len);", "no value here"),
        ("int n[2] = {4, 4}; if (flag()) n[1] = 5; GO(n[1]);", "the condition"),
        ("int n[2] = {4, 4}; while (flag()) { n[0]--; } GO(n[0]);", "the bound of a loop"),
        ("int n[2] = {4, 4}; switch (flag()) { case 1: n[0] = 1; } GO(n[0]);", "of a switch"),
        ("job_t j = {.len = 4}; flag() ? (j.len = 5) : 0; GO(j.len);", "the condition"),
        ("job_t j = {.len = 4}; job_t *p = &j; if (flag()) p->len = 5; GO(j.len);", "the condition"),
        ("job_t j = {.len = 4}, k = j; job_t *p = &j; if (flag()) p = &k; p->len = 5; GO(k.len);", "the condition"),
        ("job_t j = {.len = 4}; helper(&j); GO(j.len);", "the address of `j`"),
        ("int n[2] = {4, 4}; memcpy(n, helper, 4); GO(n[0]);", "the address of `n`"),
        ("int n[2] = {4, 4}; int *p = n; p = where(); *p = 5; GO(n[1]);", "not known"),
        ("int n[2] = {4, 4}; 1[n] = 5; GO(n[1]);", "depends on"),
        ("job_t j = {.len = 4}; uint8_t *p = (uint8_t *)&j; GO(j.len);", "the address of `j`"),
        ("job_t j = {.len = 4}; int *p = (int *)&j; GO(j.len);", "the address of `j`"),
        ("int n[2] = {4, 4}; static int *p; p = n; *p = 5; GO(n[0]);", "the address of `n`"),
        ("int n[2] = {4, 4}; int *p = n; int **q = &p; **q = 5; GO(n[0]);", "the address of `n`"),
        ("int n[2] = {4, 4}; int (*p)[2] = &n; (*p)[0] = 5; GO(n[0]);", "depends on"),
        ("int n[2] = {4, 4}; int *p[1] = {n}; *p[0] = 5; GO(n[0]);", "the address of `n`"),
        ("int n[2] = {4, 4}; int *p[1] = {n}; int **q = p; **q = 5; GO(n[0]);", "the address of `n`"),
        ("int n[2] = {4, 4}; int *p[2]; int **q = p + 1; *q = n; *p[1] = 5; GO(n[0]);", "the address of `n`"),
        ("int *p[2] = {0}; short **q = (short **)p; q[0] = (short *)8; GO((size_t)p[0]);", "the address of `p`"),
        ('int n[2] = {4, 4}; asm("x" : "=m"(n[0])); GO(n[0]);', "depends on"),
        ("int n[2] = {4, 4}; ({ n[0] = 5; }); GO(n[0]);", "depends on"),
        ("volatile int n[2] = {4, 4}; GO(n[0]);", "changed elsewhere"),
        ("static int n[2] = {4, 4}; GO(n[0]); n[0] = 5;", "changed elsewhere"),
        ("static int n = 4; GO(n); n++;", "changed elsewhere"),
        ("extern const int n[2]; GO(n[0]);", "`n[0]`"),
        ("int n[2] = {4, 4}; GO(n[0]++ + n[0]);", "the compiler's"),
        ("int n[2] = {n[0] = 4, n[0]}; GO(n[1]);", "the compiler's"),
        ("int n[3] = {[0 ... 2] = 4}; GO(n[1]);", "initializer of `n` is not read"),
        ("job_t j = {1, 2, 3, 4}; GO(j.len);", "one too many"),
        ("struct other j = {.len = 4}; GO(j.len);", "`struct other` is defined nowhere"),
        ("switch (1) { case 0: ; int n[2] = {4, 4}; case 1: GO(n[0]); }", "`n[0]`"),
    ],
)
def test_cells_that_may_hold_anything_else_have_no_value(body: str, says: str) -> None:
    found = lengths(body)
    assert isinstance(found, str), found
    assert says in found


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("#define E n[0]", "if (flag()) E = 5;"),
        ("#define E n", "if (flag()) E[0] = 5;"),
        ("#define E *m", "int m[1][2]; E[0] = 5; n[0] = m[0][0];"),
        ("#define SET(x, v) ((x) = (v))", "if (flag()) SET(n[0], 5);"),
        ("#define SET(x, ...) x = __VA_ARGS__", "SET(n[0], 5);"),
        ("#define CALL(...) helper(__VA_ARGS__)", "CALL(n, 4);"),
        ("#define HIDE(x) helper(n, #x)", "HIDE(a);"),
        ("#define CAT(a, b) a ## b", "CAT(n, )[0] = 5;"),
        ("#define REF(x) &x", "helper(REF(n[0]));"),
        ("#define INC n[0]++", "int y = INC + 1;"),
        ("#define SAME(x) x", "SAME(n[0]) = flag();"),
        ("static void set(int *p) { p[0] = 5; }", "if (flag()) set(n);"),
        ("static void set(int *p) { if (flag()) p[0] = 5; }", "set(n);"),
        ("static void set(int *p) { helper(p); }", "set(n);"),
        ("static void set(int n, ...) { }", "set(1, n);"),
        ("static int *set(int *p) { return p; }", "*set(n) = 5;"),
        ("static int *kept; static void set(int *p) { kept = p; }", "set(n); *kept = 5;"),
        ("struct list { int *p; };", "struct list l = {n}; *l.p = 5;"),
    ],
)  # fmt: skip
def test_macros_and_functions_change_objects_as_what_they_become_does(before: str, body: str) -> None:
    for whole in (f"int n[2] = {{4, 4}}; {body} GO(n[0]);", f"static int n[2] = {{4, 4}}; GO(n[0]); {body}"):
        found = lengths(whole, before)
        assert isinstance(found, str), found


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("int n[2] = {4, 4}; if (flag()) n[1] = 5; n[1] = 6; GO(n[1]);", 6),
        ("job_t j; j.to = 1; j.len = 4; GO(j.len);", 4),
        ("int n[2] = {4, 5}; if (flag()) helper(n[0], sizeof(n)); GO(n[1]);", 5),
        ("int n[2] = {4, 5}; helper(n[0], sizeof n); GO(n[1]);", 5),
        ("job_t j = {.len = 4}; helper(j); GO(j.len);", 4),
        ("job_t j = {.len = 4}, *p = &j; (void)p; assert(p); GO(p->len);", 4),
        ("int n[2] = {4, 5}; { int n[2] = {6}; n[1] = 7; helper(n); } GO(n[1]);", 5),
        ("int n[2] = {4, 5}; GO(n[0] + n[1]);", 9),
        ("static const int n[2] = {4, 5}; helper(n); GO(n[1]);", 5),
        ("static int n[2] = {4, 5}; helper(n[0], sizeof(n)); GO(n[1]);", 5),
        ("static job_t j[2] = {{.len = 4}, {.len = 5}}; GO(j[1].len);", 5),
        ("static int n = 4; { int n = 3; GO(n); }", 3),
        ("static int n = 4; helper(n); GO(n);", 4),
    ],
)
def test_what_reads_an_object_or_sets_it_again_leaves_its_values(body: str, want: int) -> None:
    assert lengths(body) == [want]


@pytest.mark.parametrize(
    ("type_", "four", "eight", "open_"),
    [
        ("job_t", 12, 12, 12), ("struct pair", 32, 32, 32), ("struct { uint8_t *p; uint8_t n; }", 8, 16, None),
        ("struct { uint32_t a; uint64_t b; }", None, 16, None), ("struct { uint64_t b; uint32_t a[2]; }", 16, 16, 16),
        ("struct __attribute__((packed)) { uint8_t n; uint64_t a; }", 9, 9, 9),
        ("struct __attribute__((aligned(64))) { int a; }", None, None, None),
        ("struct { int a : 3; }", None, None, None),
        ("struct { int a[]; }", None, None, None), ("struct { union { int a; } u; }", None, None, None),
    ],
)  # fmt: skip
def test_a_structure_is_as_long_as_its_layout(
    type_: str, four: int | None, eight: int | None, open_: int | None
) -> None:
    for word, want in (("4", four), ("8", eight), ("0", open_)):
        found = lengths(f"GO((int)sizeof({type_}));", word=word)
        assert found == [want] if want else isinstance(found, str), (word, found)
        if want:
            assert lengths(f"{type_} s[3]; GO((int)sizeof(s)); GO((int)sizeof s[0]);", word=word) == [3 * want, want]


def test_a_pragma_that_packs_leaves_no_layout() -> None:
    struct = "struct s { char c; int x; };"
    assert lengths("GO(sizeof(struct s));", struct) == [8]
    assert "not known" in str(lengths("GO(sizeof(struct s));", f"#pragma pack(push, 1)\n{struct}\n#pragma pack(pop)"))


@pytest.mark.parametrize(
    ("members", "name", "says"),
    [
        ("unsigned a : 3; int b;", "a", "bit-field"),
        ("union { int x; } a; int b;", "a", "a union"),
        ("enum e a; int b;", "a", "an enumeration"),
        ("volatile int a; int b;", "a", "changed elsewhere"),
        ("bus_t a; int b;", "a", "`bus_t` is not known"),
    ],
)
def test_a_member_that_is_not_read_is_told_and_others_are_read(members: str, name: str, says: str) -> None:
    assert lengths(f"struct {{ {members} }} s = {{.b = 4}}; GO(s.b);") == [4]
    found = lengths(f"struct {{ {members} }} s = {{.b = 4}}; s.{name} = 1; GO(s.{name});")
    assert isinstance(found, str), found
    assert says in found


@pytest.mark.parametrize(
    "before",
    [
        "#if A\nstruct s { int n; };\n#endif",
        "struct s { int n; };\nstatic void g(void) { struct s { char n; }; }",
        "static void g(void) { struct s { int n; }; }",
    ],
)
def test_a_structure_that_may_be_another_one_is_not_read(before: str) -> None:
    assert "more than one place" in str(lengths("struct s x = {4}; GO(x.n);", before))
    assert lengths("struct s x = {4}; GO(x.n);", "struct s { int n; };") == [4]


@pytest.mark.parametrize(
    ("before", "body", "want"),
    [
        ("#define PAIR 4, 8\nstatic void go(int n, int m, int k) { GO(m); }", "go(PAIR, 9);", None),
        ("#define ALL 4, 8", "int n[] = {ALL}; GO(sizeof(n));", None),
        ("#define ONE 4", "int n[] = {ONE, ONE}; GO(sizeof(n));", [8]),
        ("", "int n[] = {1, 2, 3, flag()}; GO(sizeof(n));", [16]),
        ("static int n[COUNT];", "GO(sizeof(n));", None),
        ("static char n[6]; static short m[2][3];", "GO(sizeof n / sizeof *n); GO(sizeof m / sizeof(m[0]));", [6, 2]),
        ("static int n[6];", "short *n = 0; GO(sizeof *n);", [2]),
        ("", "static int x; x = 4; helper(); GO(x);", None),
        ("", "volatile int x; x = 4; GO(x);", None),
        ("", "int x = 3; switch (1) { case 0: ; int x; case 1: x = 7; } GO(x);", [3]),
        ("", "int n = 4; volatile int a[1] = {n++}; GO(n);", None),
        ("#define SET(x, ...) x = __VA_ARGS__", "int n = 4; SET(n, 7); GO(n);", None),
        ("#define LOG(...) printf(__VA_ARGS__)", 'int n = 4; LOG("n = %d", n); GO(n);', [4]),
        ("#define INC n++", "int n = 4; int y = INC + 1; GO(n);", None),
    ],
)
def test_variables_are_not_known_where_a_macro_or_a_jump_may_set_them(
    before: str, body: str, want: list[int] | None
) -> None:
    found = lengths(body, before)
    assert isinstance(found, str) if want is None else found == want, found


DESC = "typedef struct { uint64_t src, dst; uint32_t length; } desc_t;"
ONE = "{.src = 0x1000, .dst = 0x2000, .length = 64}"


@pytest.mark.parametrize(
    ("before", "body", "want"),
    [
        ("", f"desc_t d = {ONE}; GO(d.length);", [64]),
        ("", f"desc_t d = {ONE}; ring((uintptr_t)&d);", [64]),
        ("", "desc_t d; d.src = 1; d.dst = 2; d.length = 3; ring(&d);", [3]),
        ("", "desc_t d, *p = &d; ring(p); d.src = 1; d.dst = 2; d.length = 3;", [3]),
        ("", f"desc_t d[2] = {{{ONE}, {ONE}}}; d[1].length = 5; ring(d);", [64, 5]),
        ("", f"desc_t d = {ONE}; GO(4);", [4]),
        (f"static const desc_t d = {ONE};", "GO(d.length);", [64]),
        (f"static const desc_t d = {ONE};", "ring(&d); GO(4);", [64, 4]),
        (f"const desc_t d = {ONE};", "GO(4);", [4, 64]),
        (f"desc_t d = {ONE};", "GO(4);", [64, 4]),
    ],
)
def test_a_structure_is_a_descriptor_where_its_address_is_given_away(before: str, body: str, want: list[int]) -> None:
    assert lengths(body, f"{DESC}\n{before}") == want
    if "ring" in body and not before:
        assert isinstance(lengths(body.replace("64", "flag()").replace("3", "flag()"), DESC), str)


@pytest.mark.parametrize(("words", "condition"), [("static const", ()), ("const", ("no other file launches `d`",))])
def test_what_another_file_may_launch_is_a_condition(words: str, condition: tuple[str, ...]) -> None:
    assert driver("GO(d[0].length);", f"{DESC}\n{words} desc_t d[] = {{{ONE}}};").conditions == condition
    assert driver("GO(d[0]);", f"{words} int d[] = {{4}};").conditions == ()


COPY = "snrt_dma_start_1d((void *)j{0}to, (void *)j{0}from, j{0}len);"
ROW = "job_t j = {0x1000 + 64 * i, 0x20000 + 64 * i, 64};"
LOOP = "assert(n <= 9); uint32_t o[1] = {0}; for (uint32_t i = 0; i < n; i++)"
MOVE = "snrt_dma_start_1d((void *)({} + o[0]), (void *)({} + o[0]), 64);"
PART = "snrt_dma_start_1d((void *)0x1000, (void *)0x20000, {});"
IN_FLIGHT = "no launch is in flight when f() begins"


@pytest.mark.parametrize(
    ("text", "status", "conditions"),
    [
        (f"void f(job_t j) {{ assert(j.len > 0); {COPY.format('.')} }}", "proved", 2),
        (f"void f(const job_t *j) {{ {COPY.format('->')} }}", "proved", 3),
        (f"void f(uint32_t n) {{ int i = 0; {ROW} if (n > 4) j.len = 32; {COPY.format('.')} }}", "proved", 1),
        (f"void f(uint32_t n) {{ uint8_t l[2] = {{n}}; assert(n); {PART.format('l[0]')} }}", "proved", 2),
        (f"void f(uint32_t n) {{ {LOOP} {{ {ROW} {COPY.format('.')} }} }}", "proved", 1),
        (f"void f(uint32_t n) {{ {LOOP} {{ {MOVE.format('0x1000', '0x20000')} o[0] += 64; }} }}", "proved", 1),
        (f"void f(uint32_t n) {{ {LOOP} {{ {MOVE.format('0x1080', '0x1000')} o[0] += 64; }} }}", "refuted", 0),
        (f"void f(uint32_t n) {{ uint32_t l[2] = {{64, 64}}; assert(n < 2); {PART.format('l[n]')} }}",
         "proved", 1),
    ],
)  # fmt: skip
def test_objects_of_arguments_are_judged_for_all_values(
    tmp_path: Path, text: str, status: str, conditions: int
) -> None:
    (tmp_path / "d.c").write_text(f"{HEAD}{text}\n".replace("uint8_t len", "uint32_t len"))
    verdict = verdict_of_file(str(tmp_path / "d.c"), engine=["manticore"])
    assert verdict is not None
    assert (verdict.status.value, len(verdict.conditions)) == (status, conditions), verdict.conditions
    assert status != "proved" or IN_FLIGHT in verdict.conditions
