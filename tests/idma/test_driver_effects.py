"""What an expression or statement of a driver does beside its value, wherever C lets it: through parentheses, macros,
pointers, jumps and the preprocessor.
"""

import pytest

from dmaverify.errors import Source
from dmaverify.machines.idma.c.code import ended_directives
from dmaverify.machines.idma.c.driver import Driver, read_driver

GO = "snrt_dma_start_1d((void *)0x2000, (void *)0x1000, {});"


def driver(body: str, before: str = "", **defines: str) -> Driver:
    return read_driver(Source("d.c", f"{before}\nvoid f(void) {{ {body} }}\n"), defines)


def lengths(body: str, before: str = "", **defines: str) -> list[int] | str:
    """Of every launch; why not, where something is not read."""
    found = driver(body, before, **defines)
    why = [doubt.why for entry in found.entries for doubt in entry.doubts]
    return why[0] if why else [one.descriptor.request.length for entry in found.entries for one in entry.told]


@pytest.mark.parametrize(
    ("before", "body", "want"),
    [
        ("", "int x = 9; (x)--; ++(x); ((x)) += 3; (x)++;", 13),
        ("#define DEC(v) ((v)--)\n#define SET(v, n) ((v) = (n))", "int x = 0; SET(x, 5); DEC(x);", 4),
        ("#define I x", "int x = 5; I--; I += 2;", 6),
        ("", "uint8_t x = 255; int y = ++x; x = y + 3;", 3),
        ("", "int x = -1; if (x++ > 5) { x = 100; }", 0),
        ("", "int x = 3; while (x = x - 1, x > 1) ; ", 1),
        (
            "",
            "int x = 9; switch (x) { case 1: x = 2; break; case 9: x = 3; case 4: x += 4; break; default: x = 0; }",
            7,
        ),
        ("", "int x = 9; switch (x) { default: x = 5; break; case 1: x = 2; }", 5),
        ("", "int x = 9; switch (x & 1) { case 3: x = 5; }", 9),
        ("", "int x = 0; for (int i = 0; i < 3; i++) { switch (i) { case 1: continue; } x += 4; }", 8),
        ("", "int x = 4; here: x += 1; there: ;", 5),
        ("typedef uint32_t T;", "typedef uint8_t T; int x = (T)260;", 4),
        ("typedef uint8_t T;", "int x = (T)260; { typedef uint32_t T; x += (T)260; { typedef T T; } }", 264),
        ("typedef uint32_t T;", "int x; switch (1) { case 0: ; typedef uint8_t T; case 1: x = (T)260; }", 4),
        ("#define LOW(v) ((T)(v))", "typedef uint8_t T; int x = LOW(260); { typedef uint16_t T; x += LOW(260); }", 264),
        ("#define true 0\n#define NULL ((void *)4)", "int x = true ? 9 : (int)NULL;", 4),
        ("#define true 1\n#define inline", "int x = true ? 9 : 4;", 9),
        ("typedef uint8_t T;", "int x = (T)(256 + 7);", 7),
        ("typedef uint8_t T; static int g(int n) { return n; }", "int (*T)(int) = g; int x = (g)(260);", 260),
        ("typedef uint32_t T;\nstatic void other(void) { typedef uint8_t T; }", "int x = (T)260;", 260),
    ],
)
def test_variables_are_set_wherever_c_sets_them(before: str, body: str, want: int) -> None:
    assert lengths(f"{body} {GO.format('x')}", before) == [want]


@pytest.mark.parametrize(
    ("before", "body", "says"),
    [
        ("int flag(void);", "int x = 64, y; int *p = &(x); if (flag()) p = &y; *p = 0;", "the condition"),
        (
            "int flag(void);\n#define REF(v) &v\n#define TWICE(v) REF(v)",
            "int x = 64; int *p = TWICE(x); if (flag()) *p = 0;",
            "the condition",
        ),
        ("void keep(int *);", "int x; keep(&x); x = 64;", "the address of `x`"),
        ("void keep(int *);", "int x, *p = &x, **q = &p; keep(*q); x = 64;", "the address of `x`"),
        ("", "int x = 64; short *p = (short *)&x; *p = 0;", "the address of `x`"),
        ("", "static int x = 64; int *p = &x;", "changed elsewhere"),
        ("", "volatile int x = 64; volatile int *p = &x;", "changed elsewhere"),
        ("#define REF(v) & v ## x", "int x = 64; int *p = REF(); *p = 0;", "elsewhere"),
        ("int flag(void);", "int x = 64; if (flag()) (x) = 0;", "the condition"),
        ("int flag(void);\n#define SET(v) ((v) = 0)", "int x = 64; if (flag()) SET(x);", "depends on"),
        ("int flag(void);", "int x = 1; if (flag()) (x)--;", "the condition"),
        ("static const int *x = (const int *)64;", "", "changed elsewhere"),
        ("static const volatile int x = 64;", "", "changed elsewhere"),
        ("", "u8 x; x = 256;", "type is not known"),
        ("", "long double x; x = 7;", "type is not known"),
        ("typedef uint8_t T;", "int x = (T) - 1;", "`T` is a type"),
        ("", "{ typedef uint8_t T; } int x = (T)256;", "`T` is not known"),
        ("static void other(void) { typedef uint8_t T; }", "int x = (T)256;", "`T` is not known"),
        ("typedef uint32_t T;", "\n#if 0\ntypedef uint8_t T;\n#endif\nint x = (T)256;", "`T` is not known"),
        ("#define T8 typedef uint8_t T\ntypedef uint32_t T;", "T8; int x = (T)256;", "`T` is not known"),
    ],
)
def test_what_may_be_set_otherwise_has_no_value(before: str, body: str, says: str) -> None:
    found = lengths(f"{body} {GO.format('x')}", before)
    assert isinstance(found, str), found
    assert says in found


def test_two_arguments_of_which_one_sets_what_the_other_uses_are_not_read() -> None:
    assert "compiler's" in str(lengths("unsigned k = 64; snrt_dma_start_1d((void *)0, (void *)(64 + (k -= 64)), k);"))
    two = "static int g(int n) { snrt_dma_start_1d((void *)0, (void *)64, n); return n; }"
    assert lengths("int x = g(1) + g(2);", two) == "C leaves the order open"


@pytest.mark.parametrize(
    ("before", "text", "want"),
    [
        ("static const int x = 64;", "x", 64),
        ("static int *const x = (int *)64;", "(uint32_t)x", 64),
        ("enum { N = 64 };", "N", 64),
        ("", "sizeof(uint32_t[16])", 64),
        ("", "sizeof(uint16_t[4][8])", 64),
        ("static int a[4][8];", "sizeof(a)", 128),
        ("static unsigned short int x[3];", "sizeof(x)", 6),
    ],
)
def test_sizes_and_constants_are_those_of_c(before: str, text: str, want: int) -> None:
    assert lengths(GO.format(text), before, __SIZEOF_POINTER__="4") == [want]


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("", f"switch (1) {{ case 0: {{ case 1: {GO.format(0)} }} }}"),
        ("", f"int k = 1; switch (3) {{ case 0: do {{ {GO.format(4)} case 3: {GO.format(0)} }} while (--k > 0); }}"),
        ("", f"switch (2) {{ case 1 ... 3: {GO.format(0)} break; default: {GO.format(4)} }}"),
        ("#define while if", "int i = 0; while (i < 3) i++;"),
        ("#define if(c) if (!(c))", "if (1) ;"),
        ("static void z(void) {}", "void (*p)(void) = z; p();"),
        ("static void z(void) {}", "(*z)();"),
        ("static void z(void) {}\ntypedef void (*call)(void);", "call p = z; p();"),
        ("struct s { void (*f)(void); };", "struct s *k = (struct s *)64; k->f();"),
        ("void (*p)(void);", "p();"),
        ("enum { DRAM = 0x80000000 };", GO.format("DRAM > 0x1000 ? 0 : 64")),
        ("#define TWO(n) snrt_dma_start_1d((void *)0, (void *)64, n); g()", "if (0) TWO(64);"),
        ("#define TWO(n) snrt_dma_start_1d((void *)0, (void *)64, n); g()", "if (1) ; else TWO(64);"),
        ("#define TWO(n) snrt_dma_start_1d((void *)0, (void *)64, n); g()", "for (int i = 0; i < 2; i++) TWO(64);"),
        ("#define WHEN(n) if (n) snrt_dma_start_1d((void *)0, (void *)64, n)", f"if (1) WHEN(0); else {GO.format(0)}"),
    ],
)
def test_statements_that_c_cuts_otherwise_than_they_look_are_not_read(before: str, body: str) -> None:
    found = lengths(f"{body} {GO.format(64)}", f"void g(void);\n{before}")
    assert isinstance(found, str), found


def test_a_macro_means_nothing_before_it_is_defined() -> None:
    found = read_driver(Source("d.c", f"void f(void) {{ int N = 0; {GO.format('N')} }}\n#define N 64\n"), {})
    assert [doubt.why for entry in found.entries for doubt in entry.doubts]


@pytest.mark.parametrize("call", ["(h)()", "GO()", "((GO))()"])
def test_a_function_is_called_by_any_name_it_has(call: str) -> None:
    before = f"static void h(void) {{ {GO.format(64)} }}\n#define GO h"
    assert lengths(f"{call};", before) == [64]


def test_names_of_a_block_are_its_own() -> None:
    body = f"{{ enum {{ N = 5 }}; {GO.format('N')} }} {GO.format('N')}"
    assert lengths(body, "enum { N = 64 };") == [5, 64]


@pytest.mark.parametrize("kind", ["unsigned short int", "short unsigned", "uint_least16_t", "int short unsigned"])
def test_words_of_a_type_stand_in_any_order(kind: str) -> None:
    assert lengths(f"{kind} x; x = 65537; {GO.format('x')}") == [1]


def test_a_row_of_an_array_is_a_step_of_its_address() -> None:
    body = "snrt_dma_start_1d(a + 1, b[1] + 0, 4);"
    (entry,) = driver(body, "extern char a[4][64];", a="0x1000").entries
    assert not entry.told
    (entry,) = driver("snrt_dma_start_1d(a + 1, (void *)0, 4);", "extern char a[4][64];", a="0x1000").entries
    assert entry.told[0].descriptor.request.dst == 0x1040


@pytest.mark.parametrize(
    ("head", "want"),
    [
        ("#define BASE 0x80000000\n#if BASE > 0x1000", 1),
        ("#if 1 << 40", 1),
        ("#if -1 > 0u", 1),
        ("#if -1 > 0", 2),
        ("#if 0xFFFFFFFFFFFFFFFF > 0", 1),
        ("#define X 1\n#undef X\n#ifdef X", 2),
        ("#define X 1\n#undef X\n#define X 2\n#ifdef X", 1),
        ("#ifdef LATER", 2),
        ("#define ADD(a, b) ((a) + (b))\n#if ADD(1, 2) == 3 ? 0 : 1", 2),
        ("enum { N = 1 };\n#if N", 2),
    ],
)
def test_the_preprocessor_computes_in_the_widest_integers_where_it_stands(head: str, want: int) -> None:
    before = f"{head}\n#define SIZE 1\n#else\n#define SIZE 2\n#endif\n#define LATER\n"
    assert lengths(GO.format("SIZE"), before) == [want]


def test_what_an_if_of_the_preprocessor_does_not_say_is_a_condition() -> None:
    text = "#if {}\n#define SIZE 1\n#else\n#define SIZE 2\n#endif"
    assert "`GCC_VERSION(4)` is 0" in driver(GO.format("SIZE"), text.format("GCC_VERSION(4)")).conditions
    assert "RISCV is not defined" in driver(GO.format("SIZE"), text.format("RISCV > 2")).conditions
    assert "more than one way" in str(lengths(GO.format("SIZE"), text.format('__has_include("x.h")')))


@pytest.mark.parametrize(("a", "b", "want"), [(1, 0, 4), (0, 1, 8), (0, 0, 16)])
def test_an_elif_within_a_function_chooses(a: int, b: int, want: int) -> None:
    sides = f"{GO.format(4)}\n#elif B\n{GO.format(8)}\n#else\n{GO.format(16)}"
    assert lengths(f"\n#if A\n{sides}\n#endif\n", f"#define A {a}\n#define B {b}") == [want]


WAIT = "snrt_dma_wait_all();"


@pytest.mark.parametrize(
    "jump",
    [
        "switch (flag()) { case 1: goto out; }",
        "for (int i = 0; i < 4; i++) { if (i == 2) goto out; }",
        "do { goto out; } while (0);",
        "if (flag()) LEAVE;",
        "for (int i = 0; i < 2; i++) { if (flag()) goto out; }",
        "if (flag()) { for (;;) { goto out; } }",
        "while (flag()) { goto out; }",
        "for (int i = 0; i < 2; i++) { MACRO_THAT_IS_NOT_KNOWN { goto out; } }",
    ],
)
def test_what_a_jump_may_skip_is_not_taken_to_run(jump: str) -> None:
    body = f"{GO.format(4)} {jump} {WAIT} out: ; {GO.format(8)}"
    found = lengths(body, "int flag(void);\n#define LEAVE goto out")
    assert isinstance(found, str), found


def test_a_return_in_a_switch_ends_the_function() -> None:
    assert lengths(f"{GO.format(4)} switch (1) {{ case 1: return; }} {GO.format(0)}") == [4]
    assert driver(f"{GO.format(4)} if (flag()) RET; {GO.format(8)}", "int flag(void);\n#define RET return").conditions


def test_a_variable_that_a_loop_moves_behind_parentheses_moves() -> None:
    body = f"uint32_t o = 64; for (int i = 0; i < 6; i++) {{ (o) += 64; }} {GO.format('o')}"
    assert lengths(body) == [448]


@pytest.mark.parametrize(
    "line",
    [
        "#define EXPORT ", "#define EXPORT\t", "#define LOG(...)  ", "#define DEBUG\r", "#define A // nothing",
        "#define A /* nothing */ ", "#pragma ", "#warning ", "#", "#undef A ", "#if 1 \n#endif ",
        "#include <stdbool.h> ",
        "#define URL \"//\" ", "/*\n#define B // */",
    ],
)  # fmt: skip
def test_a_directive_ends_with_its_line(line: str) -> None:
    """The grammar takes what follows a blank line end for the text of a macro."""
    text = f"{line}\nvoid f(void) {{ {GO.format(8)} }}\nvoid g(void) {{\n#define DEBUG \n {GO.format(4)} }}\n"
    found = read_driver(Source("d.c", text), {})
    assert [one.descriptor.request.length for entry in found.entries for one in entry.told] == [8, 4]
    assert len(ended_directives(text)) == len(text)
    assert all(
        one.span.text == GO.format(8 - 4 * at)[:-1] for at, entry in enumerate(found.entries) for one in entry.told
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [("-1u > 0 ? 4 : 8", 4), ("-0x80000000 > 0 ? 4 : 8", 4), ("(-1u >> 31) + 1", 2), ("-3 < 0 ? 4 : 8", 4)],
)
def test_a_sign_is_an_operator(text: str, want: int) -> None:
    assert lengths(GO.format(text)) == [want]


def test_a_name_is_known_in_its_own_initializer() -> None:
    assert lengths(f"uint32_t x = 64; {{ uint8_t x = sizeof(x); {GO.format('x')} }}") == [1]


@pytest.mark.parametrize(
    ("text", "told"), [("go(n)", 1), ("*n", 1), ("n = 4", 1), ("((n) * (4))", 0), ("sizeof(n)", 0)]
)
def test_a_macro_of_two_meanings_may_launch(text: str, told: int) -> None:
    before = f"#define STEP(n) ({text})\n#undef STEP\n#define STEP(n) (n)\n"
    found = read_driver(Source("d.c", f"{before}void f(void) {{ STEP(4); {GO.format(64)} }}\n"), {})
    assert sum(len(entry.doubts) for entry in found.entries) == told


def test_text_that_is_no_c_is_told_by_its_line() -> None:
    assert lengths(f"\nint x = ;\n{GO.format('x')}") == "line 3 is not read as C: `int x = ;`"
    assert lengths(f"\nint x = 3;\n{GO.format('x')}") == [3]


@pytest.mark.parametrize(
    ("pragma", "supposed"),
    [
        ("#pragma omp parallel for", "`#pragma omp parallel for` changes nothing of what is launched"),
        ("  # pragma weak f = g", "`#pragma weak f = g` changes nothing of what is launched"),
        ("#pragma GCC unroll 4", None),
        ("#pragma pack(push, 1)", None),  # of layout: what it lays out is not known
    ],
)
def test_that_a_pragma_changes_nothing_of_what_is_launched_is_a_condition(pragma: str, supposed: str | None) -> None:
    """`omp parallel` runs the statement behind it once on every core."""
    found = driver(f"\n{pragma}\nfor (int i = 0; i < 2; i++) {GO.format(64)}\n")
    assert list(found.conditions) == ([] if supposed is None else [supposed])


@pytest.mark.parametrize(
    ("attribute", "supposed"),
    [
        ("__attribute__((weak))", "__attribute__((weak))"),
        ("__attribute__ ((unused, __cleanup__ (done)))", "__attribute__((__cleanup__ (done)))"),
        ('__attribute__((noinline, section(".text.l1")))', None),
        ("[[gnu::weak, nodiscard]]", "[[gnu::weak]]"),
        ("[[gnu::noinline]]", None),
    ],
)
def test_that_an_attribute_changes_nothing_of_what_is_launched_is_a_condition(
    attribute: str, supposed: str | None
) -> None:
    """What is weak may be another function, `cleanup` calls one, `mode` makes another type."""
    found = driver(f"wait(); {GO.format(64)}", f"{attribute} void wait(void) {{ snrt_dma_wait_all(); }}\n")
    assert [one for one in found.conditions if "of what is launched" in one] == (
        [] if supposed is None else [f"`{supposed}` changes nothing of what is launched"]
    )


@pytest.mark.parametrize("label", ['__asm__("other")', "", 'asm ( "other" )'])
def test_that_a_function_with_a_name_for_the_assembler_is_what_its_name_says_is_a_condition(label: str) -> None:
    found = driver(GO.format(64), f"void wait(const void *at, int n)\n    {label};\n")
    said = ['`wait`, which is "other" for the assembler, is what its name says'] if label else []
    assert [one for one in found.conditions if "assembler" in one] == said
