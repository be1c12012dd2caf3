"""Drawn C drivers: what is read of them against what they launch when a C compiler's code runs.

    python tests/fuzz/c_drivers.py [COUNT] [SEED]

Needs gcc. Variables of all integer types, arrays, structures, conversions, conditional expressions, loops, functions
and macros decide the addresses and lengths of launches. A driver that is told as not read, or whose run is undefined,
is counted and left; every other one has the launches that were logged. Prints what differs, with its text; exits with
1 then.
"""

import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dmaverify.errors import InputErrors, Source
from dmaverify.machines.idma.c.driver import read_driver

TYPES = ("int", "uint32_t", "uint8_t", "int16_t", "uint64_t", "int8_t", "uint16_t", "bool", "short", "long long",
         "unsigned short int", "long long int", "unsigned", "signed char", "int unsigned")  # fmt: skip
NUMBERS = ("0", "1", "2", "3", "7", "16", "255", "256", "0x10u", "100", "1000u", "0x7FFF", "65535u", "(-1)", "(-3)",
           "0xFFFFFFFFu", "(uint8_t)200", "sizeof(uint32_t)", "SIX", "ADD(3, 4)", "K", "sizeof(uint16_t[5])",
           "sizeof(table)")  # fmt: skip
MEMBERS = ("to", "tag", "many", "w[1]", "w[2]", "at.x", "at.y", "on")
CHOSEN = ("SIX > 5", "BASE > 0x1000", "(1 << 40)", "-1 > 0u", "defined(SIX) && !defined(GONE)", "GONE",
          "ADD(2, 3) == 5 ? 0 : 1", "K", "BASE - 1 < 0")  # fmt: skip
HEAD = """#include <stdint.h>
#include <stddef.h>
#include <stdbool.h>
#define SIX (2 * 3)
#define BASE 0x80000000
#define GONE 1
#undef GONE
#define DEC(v) ((v)--)
#define SET(v, n) ((v) = (n))
#define REF(v) &v
#define LEAVE goto out
enum { K = 9 };
typedef int16_t kind;
static int table[3][5];
#define ADD(a, b) ((a) + (b))
#define GO(d, n) snrt_dma_start_1d((void *)(uint32_t)((d) & 0xFFFF), (void *)0x30000, ((n) & 63) + 1)
#define GOIF(c, d) if (c) GO(d, 7)
#define TWICE(d) do { GO(d, 1); GO((d) + 64, 2); } while (0)
extern void snrt_dma_start_1d(void *, void *, size_t);
extern void snrt_dma_wait_all(void);
struct point { int16_t x, y; };
typedef struct { uint16_t to; int8_t tag; uint32_t many; uint8_t w[3]; struct point at; bool on; } job;
struct __attribute__((packed)) odd { unsigned low : 3; uint8_t small; uint64_t wide; union { int a; char b; } u; };
extern int flag(void);
extern void poke(void *, size_t);
extern void keep(void *, size_t);
extern void later(void);
#define MANY(t) (sizeof(t) / sizeof((t)[0]))
#define FIRST(t) (*(t))
#define TAG(j) (j).tag
#define TO(p) ((p)->to)
#define POKE(v) poke(&(v), sizeof(v))
#define NOTE(...) poke(0, sizeof(#__VA_ARGS__))
static uint32_t weigh(job j, int n) { j.many ^= n; j.w[n & 1] += n; return j.to + j.many + j.w[0]; }
static void bump(job *j, int n) { if (j == NULL) return; j->many += n; if (n & 1) j->to = n; else j->at.x--; }
static int total(const int16_t *t, int n) { int s = 0; for (int i = 0; i < n; i++) s += t[i]; return s; }
static job mixed(job a, const job *b) { a.many = b->many; a.at = b->at; return a; }
static void fill(int16_t t[], int n) { for (int i = 0; i < 4; i++) t[i] = n - i; }
static void set(uint32_t *p, uint32_t n) { *p = n; }
static uint32_t next(uint32_t *p) { return ++*p; }
static void trade(uint32_t *a, uint32_t *b) { uint32_t c = *a; *a = *b; *b = c; }
static void spread(uint32_t n) { set(&n, n + 3); GO(n, 4); if (flag()) set(&n, 9); }
static uint32_t *same(uint32_t *p) { return p; }
static void turn(int16_t **t, int n) { int16_t *x = t[0]; t[0] = t[1]; t[1] = x; if (n & 1) *t[0] = n; }
static void place(void **t, uint32_t n) { void **q = t; if (n & 1) q++; *q = (void *)(uintptr_t)n; }
static uint32_t placed(void *const *t, int n) { return (uint32_t)(uintptr_t)t[n & 1]; }
static void hand(uint8_t *t[], uint8_t *p) { t[1] = p; *(t + 0) = t[1] + 3; }
static const job jobs[] = {{1, 2, 3}, [2] = {.to = 300, .many = 77, .at = {.y = -1}}, {.w = {1, 2, 300}, .on = 5}};
static const int16_t steps[4] = {5, [2] = -7};
static job changed[2] = {{1, 2, 3}};
static void step(uint16_t d, uint8_t n) { while (n > 250) { TWICE(d); n -= 2; } if (n & 1) return; GO(d + 4, n); }
"""
LOG = """#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
static int all;
void snrt_dma_start_1d(void *d, void *s, size_t n) {
  if (++all > 60) exit(3);
  printf("%zu %zu %zu\\n", (size_t)d, (size_t)s, n);
}
void snrt_dma_wait_all(void) { printf("\\n"); }
static int flags;
static unsigned char *kept;
static size_t size;
int flag(void) { return ++flags % 3 == 1; }
void poke(void *p, size_t n) { for (size_t i = 0; p && i < n; i++) ((unsigned char *)p)[i] ^= 1; }
void keep(void *p, size_t n) { kept = p; size = n; }
void later(void) { poke(kept, size); }
"""


class Known(list[str]):
    """Numbers that are known by an expression, and arrays and structures as a whole: (kind, name)."""

    def __init__(self, numbers: Sequence[str] = (), wholes: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(numbers)
        self.wholes = [*wholes, *getattr(numbers, "wholes", ())]


class Drawn:
    """The text of one driver."""

    def __init__(self, rng: random.Random, wholes: float = 0.4, pointers: float = 0.0) -> None:
        self.wholes, self.pointers = wholes, pointers
        self.rng, self.names, self.functions = rng, 0, list[str]()
        functions = "".join(self.function(n) for n in range(rng.randrange(3)))
        body = self.block(Known(), 0, 9)
        self.text = (
            f"{HEAD}{functions}int main(void) {{\nstep(3, 255);\nspread(2);\n{body}out: ; GO(1, 1);\nreturn 0; }}\n"
        )

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def function(self, number: int) -> str:
        kind, one, two = (self.rng.choice(TYPES) for _ in range(3))
        name, known = f"f{number}", ["a", "b"]
        body = "".join(f"{self.rng.choice(known)} ^= {self.number(known)};\n" for _ in range(self.rng.randrange(3)))
        found = f"static {kind} {name}({one} a, {two} b) {{\n{body}return {self.number(known)}; }}\n"
        self.functions.append(name)
        return found

    def number(self, known: list[str], depth: int = 0) -> str:
        rng, kind = self.rng, self.rng.random()
        if depth > 3 or kind < 0.3:
            return rng.choice(known) if known and rng.random() < 0.65 else rng.choice(NUMBERS)
        one, two = self.number(known, depth + 1), self.number(known, depth + 1)
        if kind < 0.7:
            sign = rng.choice("+-*&|^+-</%>")
            two = {"<": str(rng.randrange(9)), ">": str(rng.randrange(9)), "/": rng.choice(("2", "3u", "(-4)")),
                   "%": rng.choice(("7", "16", "255"))}.get(sign, two)  # fmt: skip
            return f"({one} {sign * 2 if sign in '<>' else sign} {two})"
        if kind < 0.8:
            return f"(({rng.choice(TYPES)})({one}))"
        if kind < 0.9:
            return f"({self.truth(known, depth + 1)} ? {one} : {two})"
        if kind < 0.95 and self.functions:
            return f"{rng.choice(self.functions)}({one}, {two})"
        return f"{rng.choice('-~!')}({one})"

    def truth(self, known: list[str], depth: int = 0) -> str:
        sign = self.rng.choice(("<", "<=", ">", ">=", "==", "!=", "&&", "||"))
        return f"({self.number(known, depth + 1)} {sign} {self.number(known, depth + 1)})"

    def launch(self, known: list[str]) -> str:
        one, two = self.number(known), self.number(known)
        return self.rng.choice((
            f"GO({one}, {two});", f"GOIF({self.truth(known)}, {one});", f"TWICE({one});", f"step({one}, {two});",
            f"if {self.truth(known)} TWICE({one}); else GO({two}, 9);",
        ))  # fmt: skip

    def step(self, free: list[str], known: list[str]) -> str:
        """A variable that is set, behind parentheses, macros or a pointer, or on the way."""
        one, other, number = self.rng.choice(free), self.rng.choice(free), self.number(known)
        return self.rng.choice((
            f"{one}++;", f"({one})--;", f"DEC({one});", f"SET({one}, {number});", f"({one}) += {number};",
            f"{one} = ++{other};", f"if ({one}++ > 3) GO({one}, 1); else GO({other}, 2);", f"*REF({one}) = {number};",
            f"{one} = ({other}--, {number});", f"{{ int *p = (int *)&({one}); (void)p; }}",
        ))  # fmt: skip

    def made(self, known: Known, fixed: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """An array or a structure, and what of it is not to be set."""
        rng, name = self.rng, self.name()
        one, two, three = (self.number(known) for _ in range(3))
        kind = rng.choice(("row", "row", "table", "job", "job", "jobs", "odd", "pointer"))
        constant = rng.random() < 0.3
        if kind == "row":
            type_, known_type = rng.choice(((rng.choice(TYPES), False), ("int16_t", True)))
            size = rng.choice(("4", "4", "")) if not known_type else "4"
            first = rng.choice((f"{one}, {two}, [3] = {three}", f"[1] = {one}, {two}, [3] = 1", f"1, 2, 3, {one}"))
            text = f"{'const ' * constant}{type_} {name}[{size}] = {{{first}}};"
            cells = [f"{name}[{n}]" for n in range(4)]
            if known_type:
                known.wholes.append(("const row" if constant else "row", name))
        elif kind == "table":
            first = rng.choice((f"{{{one}}}, {{{two}, 3}}", f"{one}, {two}, 5, {three}", f"[1] = {{[2] = {one}}}"))
            text = f"{'const ' * constant}{rng.choice(TYPES)} {name}[2][3] = {{{first}}};"
            cells = [f"{name}[{n}][{m}]" for n in range(2) for m in range(3)]
        elif kind == "odd":
            first = rng.choice((f"{one}, {two}, {three}", f".wide = {one}, .small = {two}", f"1, {one}, 2, {{5}}"))
            text = f"{'const ' * constant}struct odd {name} = {{{first}}};"
            cells = [f"{name}.small", f"{name}.wide", rng.choice((f"{name}.wide", f"{name}.low"))]
        elif kind == "pointer":
            wholes = [(kind, one) for kind, one in known.wholes if kind in ("job", "const job")]
            wholes += [("const job", f"jobs[{n}]") for n in range(4)]
            kind, of = rng.choice(wholes)
            constant = kind == "const job"
            text = f"{'const ' * constant}job *{name} = &{of};"
            cells = [f"{name}->{member}" for member in MEMBERS]
            known.wholes.append((kind, f"(*{name})"))
        else:
            first = rng.choice((
                f"{one}, {two}, .w = {{1, {three}}}, {{4}}", f".many = {one}, .at.y = {two}, .on = {three}",
                f"{one}, 2, 3, 4, 5, 6, {two}, {three}",
            ))  # fmt: skip
            first = f"{{{first}}}"
            own = [other for kind, other in known.wholes if kind in ("job", "const job")]
            more = [*own, "jobs[2]", f"mixed(jobs[1], &{rng.choice([*own, 'jobs[3]'])})", f"(job){first}"]
            if kind == "jobs":
                text = f"{'const ' * constant}job {name}[3] = {{{first}, [2] = {rng.choice([first, *more])}}};"
                places = [f"{name}[{n}]" for n in range(3)]
            else:
                text = f"{'const ' * constant}job {name} = {rng.choice([first, first, *more])};"
                places = [name]
            known.wholes += [("const job" if constant else "job", place) for place in places]
            cells = [f"{place}.{member}" for place in places for member in MEMBERS]
        turns = [f"{name}[{turn}]" for turn in fixed if turn.startswith("v") and turn.isalnum()]
        if kind == "row":
            cells += turns
        known += cells
        return text, tuple(one for one in cells if constant or one.endswith(".low"))  # bit-fields have no address

    def whole(self, known: Known) -> str:
        """What is done with arrays and structures as a whole; and what may change them unseen."""
        rng, number = self.rng, self.number(known)
        jobs_ = [name for kind, name in known.wholes if kind == "job"]
        every = [
            *(name for kind, name in known.wholes if kind in ("job", "const job")),
            "jobs[1]",
            f"jobs[({number}) & 3]",
        ]
        rows = [name for kind, name in known.wholes if kind == "row"]
        read = [*(name for kind, name in known.wholes if kind in ("row", "const row")), "steps"]
        one, row, seen = rng.choice(every), rng.choice(read), rng.choice(known or ["K"])
        out = [
            f"GO(weigh({one}, {number}), 3);", f"GO(total({row}, {rng.randrange(5)}), {row}[({number}) & 3]);",
            f"for (unsigned u = 0; u < MANY({row}); u++) GO({row}[u], u);", f"GO({one}.to, TAG({one}));",
            f"GO(sizeof({one}), sizeof(struct point));", f"GO(TO(&{one}), FIRST({row}));", f"NOTE({seen});",
            rng.choice(("GO(changed[1].to, 9);", *[f"GO({row}[3], {one}.tag);"] * 9)),
            f"GO(mixed({one}, &jobs[3]).many, 2);",
            "for (int i = 0; i < 4; i++) { const job *q = &jobs[i]; GO(q->to, q->many); }",
            f"for (const int16_t *q = {row}, *e = q + 4; q != e; ++q) GO(*q, e - q);",
            f"{{ const int16_t *q = {row} + 3; q -= {rng.randrange(5)}; GO(*q--, q < {row} ? 5 : 6); }}",
            "{ const job *q = 1 + jobs; GO((q + 1)->to, (++q)->many); GO(q++->tag, q[-1].many); }",
            f"switch (2) {{ case 1: ; int16_t {row if row.isalnum() else 'steps'}[4]; default: GO(3, 4); }}",
        ]  # fmt: skip
        if jobs_:
            to = rng.choice(jobs_)
            out += [
                f"bump(&{to}, {number});", f"{to} = {one};", f"{to} = mixed({one}, &{to});", f"{to}.at = {one}.at;",
                f"if (flag()) {to}.many = {number};", f"if (flag()) bump(&{to}, 3);", f"if (flag()) {to} = jobs[2];",
                f"{to}.w[({number}) & 1] = 9;", f"GO({to}.many++, {to}.to);", f"{to}.tag = ({to}.many = {number});",
            ]  # fmt: skip
            if rng.random() < 0.3:
                out = [
                    f"poke(&{to}, sizeof({to}));", f"POKE({to}.many);", f"{{ job *q = &{to}; q++; q[-1].to = 5; }}",
                    f"{{ keep(&{to}, sizeof({to})); {to}.to = 7; later(); }}", f"if (flag()) POKE({to});",
                    f"{{ uint8_t *q = (uint8_t *)&{to}; q[0] ^= 1; }}", f"*REF({to}.to) = 6;",
                    f"{{ job *q = flag() ? &{to} : NULL; if (q) q->many = 8; }}", f"(&{to})->to += 3;",
                ]  # fmt: skip
        arrays = [name.partition("[")[0] for name in jobs_ if name.endswith("]")]
        if arrays and rng.random() < 0.3:
            to = rng.choice(arrays)
            out = [
                f"for (job *q = {to}; q < {to} + 3; q++) q->to ^= {number};", f"({to} + 1)->many = {number};",
                f"{{ job *q = {to} + 2; *q-- = jobs[2]; q->tag++; GO(q[1].to, q - {to}); }}",
                f"{{ job *q = {to}; if (flag()) q++; q->to = 3; }}", f"bump({to} + {rng.randrange(3)}, {number});",
                f"{{ job *q = {to} + 3; while (q-- > {to}) GO(q->to, q->many); }}",
            ]  # fmt: skip
        if rows and (not jobs_ or rng.random() < 0.4):
            to = rng.choice(rows)
            out = [
                f"fill({to}, {number});", f"if (flag()) {to}[2] = 1;", f"while (flag()) {to}[1]--;",
                f"{to}[flag()] = 4;", f"{{ int16_t *q = {to}; q[2] = {number}; GO(*q, q[3]); }}",
                f"fill({to} + 0, 9);", f"poke({to}, 2);", f"SET({to}[1], {number});", f"DEC(FIRST({to}));",
                f"*({to} + 1) = 7;", f"if (flag()) fill({to}, 2);", f"{to}[{rng.choice('01234')}] = 8;",
                f"{{ int16_t *q = {to}; q += 1; *q = 5; }}",
                f"{{ int16_t *q = &{to}[1]; *q++ = {number}; *++q -= 2; q[-2] = *q--; GO(q - {to}, *(q + 1)); }}",
                f"for (int16_t *q = {to} + 4; q > {to}; ) *--q += {number};",
                f"{{ int16_t *q = {to}; if (flag()) q = 0; if (q) q[1] = 6; }}",
                f"GO({to}[0]++, {to}[1]);", f"if (flag()) SET({to}[3], 9); {to}[3] = {number};",
            ]  # fmt: skip
        return rng.choice(out)

    def pointed(self, known: Known) -> str:
        """An array of pointers or of addresses, or what is done with one."""
        rng, number, name = self.rng, self.number(known), self.name()
        rows = [name for kind, name in known.wholes if kind == "row"]
        held = [(kind, name) for kind, name in known.wholes if kind in ("places", "rows", "spot")]
        if not held or rng.random() < 0.2:
            if rng.random() < 0.5:
                known.wholes.append(("spot", name))
                known.append(name)
                return f"uint32_t {name} = {number};"
            if rng.random() < 0.6:
                known.wholes += [("rows", name), ("row", f"{name}of")]
                two = f"{{{rng.choice([*rows, f'{name}of'])}, {name}of + {rng.randrange(4)}}}"
                return f"int16_t {name}of[4] = {{5, {number}, 6}}; int16_t *{name}[2] = {two};"
            known.wholes.append(("places", name))
            return f"void *{name}[2] = {{(void *)(uintptr_t)({number}), (void *)(uintptr_t)({self.number(known)})}};"
        kind, to = rng.choice(held)
        out = [
            f"place({to}, {number});", f"GO(placed({to}, {number}), 3);", f"GO((uintptr_t){to}[1], 2);",
            f"{to}[({number}) & 1] = {to}[0];", f"GO((uintptr_t){to}[0], (uintptr_t){to}[1]);",
            f"{{ void **q = &{to}[1]; q[-1] = *q; GO((uintptr_t)*--q, 4); }}",
            f"for (int i = 0; i < 3; i++) {{ GO((uintptr_t){to}[i & 1], 5); place({to}, i + {number}); }}",
        ]  # fmt: skip
        if kind == "rows":
            out = [
                f"turn({to}, {number});", f"GO(*{to}[0], {to}[1][0]);", f"*{to}[1] = {number};", f"{to}[0] = {to}[1];",
                f"{{ int16_t **q = {to} + 1; **q = 5; q[-1] = *q; GO(*{to}[0], 6); }}", f"fill({to}[0], 3);",
                f"{{ int16_t *q = {to}[0]; *q ^= {number}; GO(*{to}[0], *q); }}", f"GO({to}[0] == {to}[1], 3);",
                f"{{ int16_t *const *q = {to}; (*q)[0] = 6; GO(**q, 7); }}", f"GO({to}[1] - {to}[0], 5);",
            ]  # fmt: skip
        if kind == "spot":
            other = rng.choice([name for kind, name in held if kind == "spot"])
            out = [
                f"set(&{to}, {number});", f"GO(next(&{to}), {other});", f"trade(&{to}, &{other});", f"spread({to});",
                f"{{ uint32_t *q = &{to}; *q += {number}; GO(*q, {to}); }}", f"*same(&{to}) = {number};",
                f"for (int i = 0; i < 3; i++) {{ set(&{to}, {other} + i); GO({to}, i); }}", f"{to} = {number};",
                f"{{ uint32_t *q = &{to}, *r = q; (*r)++; q = &{other}; *q ^= 5; GO({to}, {other}); }}",
                f"GO({to}++, {other});", f"{{ uint32_t *q = &{to}; q[0] = {number}; GO((*q)--, {to}); }}",
            ]  # fmt: skip
            if rng.random() < 0.4:
                out = [
                    f"if (flag()) set(&{to}, 3);", f"poke(&{to}, 4);", f"if (flag()) GO({to} + {other}, 5);",
                    f"{{ keep(&{to}, sizeof({to})); {to} = 7; later(); }}", f"GO({to} + next(&{to}), 1);",
                    f"{{ uint32_t *q = flag() ? &{to} : 0; if (q) *q = 7; }}", f"if (flag()) {to} = {number};",
                    f"{{ uint32_t *q = &{to}, **r = &q; **r = {number}; *q ^= 3; }}", f"while (flag()) {to}--;",
                    f"{{ uint8_t *q = (uint8_t *)&{to}; q[1] ^= 3; }}", f'asm volatile("" : "+r"({to}));',
                    f"{{ uint32_t *q = &{to}; if (flag()) q = &{other}; *q = 8; }}", f"if (flag()) spread({to});",
                    f"{{ uint32_t *q = (&{to}) + 1; q--; *q = 4; }}", f"{{ uintptr_t a = (uintptr_t)&{to}; (void)a; }}",
                    f"{{ struct {{ uint32_t *p; }} s = {{&{to}}}; *s.p = 6; }}", f"{to} = {to} + ({other} = 3);",
                ]  # fmt: skip
        elif rng.random() < 0.15:
            out = [
                f"poke({to}, 1);", f"if (flag()) place({to}, 5);", f"hand((uint8_t **){to}, (uint8_t *)0x700);",
                f"{{ void **q = (void **){to}; void ***r = &q; **r = 0; }}", f"{to}[flag() & 1] = 0;",
            ]  # fmt: skip
        return rng.choice(out)

    def scoped(self) -> str:
        """Names that mean something else in a block, and what the preprocessor chooses."""
        number = self.rng.randrange(1, 60)
        return self.rng.choice((
            f"{{ enum {{ K = {number} }}; GO(K, K); }}", f"{{ typedef uint8_t byte; GO((byte){number * 9}, 3); }}",
            f"GO((kind){number * 5000}, 4);", "snrt_dma_wait_all();",
            f"\n#if {self.rng.choice(CHOSEN)}\nGO({number}, 5);\n#else\nGO({number}, 6);\n#endif\n",
            f"\n#if{self.rng.choice(('', 'n'))}def {self.rng.choice(('SIX', 'GONE', 'K'))}\nGO({number}, 7);\n#endif\n",
        ))  # fmt: skip

    def cases(self, known: Known, depth: int, fixed: tuple[str, ...]) -> str:
        ends = ("break;", "", "break;", "continue;" if any(map(str.isalnum, fixed)) else "break;")
        inside = "".join(
            f"{label} {{\n{self.block(known, depth + 1, 2, fixed)}}} {self.rng.choice(ends)}\n"
            for label in self.rng.sample(("case 0:", "case 1:", "case SIX:", "default:", "case 2 + 1:"), 3)
        )
        return f"switch (({self.number(known)}) & 3) {{\n{inside}}}"

    def block(self, known: Known, depth: int, most: int, fixed: tuple[str, ...] = ()) -> str:
        rng, known, out = self.rng, Known(known), []
        for _ in range(rng.randrange(1, most + 1)):
            kind, free = rng.random(), [one for one in known if one not in fixed]
            if rng.random() < self.pointers:
                out.append(self.pointed(known))
            elif rng.random() < self.wholes:
                if rng.random() < 0.5:
                    text, constant = self.made(known, fixed)
                    fixed = (*fixed, *constant)
                else:
                    text = self.whole(known)
                out.append(text)
            elif (rare := rng.random()) < 0.1:
                out.append(self.scoped())
            elif rare < 0.2 and free:
                out.append(self.step(free, known))
            elif rare < 0.25 and depth < 2:
                out.append(self.cases(known, depth, fixed))
            elif rare < 0.26:
                out.append(f"if {self.truth(known)} {rng.choice(('LEAVE;', 'goto out;'))}")
            elif kind < 0.3:
                out.append(f"{rng.choice(TYPES)} {(new := self.name())} = {self.number(known)};")
                known.append(new)
            elif kind < 0.45 and free:
                sign = rng.choice(("=", "+=", "-=", "*=", "^=", "|=", "&="))
                out.append(f"{rng.choice(free)} {sign} {self.number(known)};")
            elif kind < 0.6 and depth < 2:
                turn = self.name()
                inner = self.block(Known([*known, turn], known.wholes), depth + 1, 3, (*fixed, turn))
                out.append(f"for (int {turn} = 0; {turn} < {rng.randrange(1, 4)}; ++{turn}) {{\n{inner}}}")
            elif kind < 0.75 and depth < 3:
                other = f" else {{\n{self.block(known, depth + 1, 2, fixed)}}}" if rng.random() < 0.5 else ""
                out.append(f"if {self.truth(known)} {{\n{self.block(known, depth + 1, 2, fixed)}}}{other}")
            else:
                out.append(self.launch(known))
        return "".join(f"{line}\n" for line in out)


def read(text: str) -> list[tuple[int, ...]] | None:
    """(dst, src, length) of every launch, () of waits; None where something is told as not read."""
    try:
        found = read_driver(Source("d.c", text), {"__SIZEOF_POINTER__": "8"}, "")
    except InputErrors:
        return None
    if any(True for entry in found.entries for _ in entry.doubts):
        return None
    out: list[tuple[int, ...]] = []
    for entry in found.entries:
        for number, one in enumerate((*entry.told, None)):
            out += [()] if (number, 0) in entry.partly else []
            out += (
                [(one.descriptor.request.dst, one.descriptor.request.src, one.descriptor.request.length)] if one else []
            )
    return out


def ran(text: str, folder: Path) -> list[tuple[int, ...]] | None:
    """The launches of a run; None where it is not defined, or too long."""
    (folder / "d.c").write_text(text)
    (folder / "log.c").write_text(LOG)
    undefined = ["-fsanitize=undefined", "-fno-sanitize-recover=all", "-fno-sanitize=shift"]
    subprocess.run(["gcc", "-w", *undefined, "d.c", "log.c", "-o", "d"], cwd=folder, check=True)
    found = subprocess.run([str(folder / "d")], capture_output=True, text=True, check=False, timeout=20)
    events = [tuple(map(int, line.split())) for line in found.stdout.splitlines()]  # a wait has no numbers
    twice = [one for one, before in zip(events, [None, *events], strict=False) if one or before]
    return None if found.returncode else twice


def main() -> int:
    given = [int(one) for one in sys.argv[1:]]
    count, seed = [*given, *(300, 1)[len(given) :]]
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        for number in range(count):
            text = Drawn(random.Random(f"{seed}-{number}"), pointers=number % 2 / 4).text
            told = read(text)
            logged = ran(text, Path(place)) if told is not None else None
            kind = "not read" if told is None else "not defined" if logged is None else "same" if told == logged else ""
            seen[kind or "DIFFERENT"] += 1
            if not kind:
                print(f"{text}\nread: {told}\nrun:  {logged}")
    print(", ".join(f"{kind} {many}" for kind, many in sorted(seen.items())))
    return 1 if seen["DIFFERENT"] or not seen["same"] else 0


if __name__ == "__main__":
    sys.exit(main())
