"""Chains that drivers in C launch: when they run, what lies where the engine looks, what waits for them."""

import random
from itertools import pairwise
from pathlib import Path

import pytest
from lab.draws import counted

from dmaverify.machines.idma.check import verdict_of_file
from dmaverify.verdict import Verdict

HEAD = """#include <stdint.h>
typedef struct { uint32_t length; uint32_t flags; uint64_t next; uint64_t src; uint64_t dst; } desc_t;
#define DMA 0x50000000
#define DESC_ADDR (*(volatile uint64_t *)DMA)
#define STATUS (*(volatile uint32_t *)(DMA + 8))
#define END 0xFFFFFFFFFFFFFFFFull
#define MARK(d) (*(volatile uint64_t *)&(d))
"""
BY_NAME = "#define GO(d) DESC_ADDR = (uint64_t)(uintptr_t)&(d)\n"
ONE = "desc_t a = {.length = 64, .flags = 10, .next = END, .src = 0x1000, .dst = 0x2000};"
TWO = "desc_t b = {.length = 64, .flags = 10, .next = END, .src = 0x2000, .dst = 0x3000};"
APART = TWO.replace("0x2000", "0x5000")
PAIR = ONE + TWO


def judged(tmp_path: Path, body: str, *, before: str = "", launch: str = BY_NAME) -> Verdict:
    file = tmp_path / "d.c"
    file.write_text(f"{HEAD}{launch}{before}\nint main(void) {{ {body} return 0; }}\n", encoding="utf-8")
    found = verdict_of_file(str(file), engine=("cheshire",))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (f"{PAIR} GO(a); GO(b);", "refuted"),
        (f"{PAIR} GO(b); GO(a);", "proved"),  # what b reads is written behind it, on one engine
        (f"{ONE}{APART} GO(a); GO(b);", "proved"),
        (f"{PAIR} GO(a); while (MARK(a) != END); GO(b);", "proved"),
        (f"{PAIR} GO(a); while (MARK(b) != END); GO(b);", "unknown"),  # nobody marks b: it does not end
        (f"{PAIR} GO(a); while (MARK(a) == END); GO(b);", "unknown"),
        (f"{PAIR} GO(a); while (a.length != 0xFFFFFFFF) {{ }} GO(b);", "proved"),
        (f"{PAIR} GO(a); while (~a.flags) ; GO(b);", "proved"),
        (f"{PAIR} GO(a); while (a.length == 64); GO(b);", "proved"),
        (f"{PAIR} GO(a); while (a.length != 63); GO(b);", "unknown"),
        (f"{PAIR} GO(a); do {{ }} while (MARK(a) != END); GO(b);", "proved"),
        (f"{PAIR} GO(a); for (; MARK(a) != END; ) asm volatile(\"nop\"); GO(b);", "proved"),
        (f"{PAIR} int n = 9; GO(a); while (MARK(a) != END && n--); GO(b);", "unknown"),
        (f"{PAIR} GO(a); while (STATUS & 1); GO(b);", "proved"),
        (f"{PAIR} GO(a); while (STATUS); GO(b);", "proved"),
        (f"{PAIR} GO(a); while (STATUS & 2); GO(b);", "unknown"),
        (f"{PAIR} GO(a); while (STATUS & 1 && x); GO(b);", "unknown"),
        (f"{PAIR} while (STATUS & 1); GO(a); GO(b);", "refuted"),
        (f"{PAIR} GO(a); if (MARK(a) == END) GO(b);", "proved"),
        (f"{PAIR} GO(a); if (MARK(a) != END) GO(b);", "unknown"),
        (f"{PAIR} GO(a); interrupt(); GO(b);", "unknown"),
        (f"{PAIR} GO(a); *(volatile uint64_t *)0x60000000 = (uint64_t)&b;", "refuted"),  # another engine
        (f"{ONE}{APART} GO(a); *(volatile uint64_t *)0x60000000 = (uint64_t)&b;", "proved"),
        (f"{PAIR} GO(a); GO(a);", "unknown"),
        (f"{ONE} GO(a); while (MARK(a) != END); GO(a);", "refuted"),  # its first word is ones
        (f"{ONE} GO(a); while (MARK(a) != END); a.length = 64; a.flags = 10; GO(a);", "proved"),
        (f"{ONE} GO(a); a.src = 0x7000; while (MARK(a) != END);", "unknown"),
        (f"{ONE} GO(a); while (MARK(a) != END); a.src = 0x7000;", "proved"),
        (f"{ONE} DESC_ADDR = (uint64_t)&a; DESC_ADDR = 0x8000;", "unknown"),
        (f"{ONE} uint64_t at = (uint64_t)&a; DESC_ADDR = at;", "proved"),
        (f"{ONE} void *at = &a; DESC_ADDR = (uintptr_t)at;", "proved"),
        (f"{ONE} a.flags = 0; GO(a);", "refuted"),
        (f"{ONE} a.flags = 0x0100000a; GO(a);", "refuted"),
        (f"{ONE} a.length = 0; GO(a);", "refuted"),
        ("desc_t a; a.src = 0x1000; a.dst = 0x2000; a.length = 4; a.next = END; GO(a);", "unknown"),  # flags
    ],
)  # fmt: skip
def test_launches_are_read_in_the_order_of_the_program(tmp_path: Path, body: str, status: str) -> None:
    found = judged(tmp_path, body)
    assert found.status.value == status, f"{found}"


LINKED = "desc_t r[3] = {{64, 10, END, 0x1000, 0x2000}, {64, 10, END, 0x3000, 0x4000}, {64, 10, END, 0x5000, 0x6000}};"


@pytest.mark.parametrize(
    ("body", "status", "launches"),
    [
        ("r[0].next = (uint64_t)&r[1]; GO(r[0]);", "proved", 2),
        ("r[0].next = (uint64_t)&r[2]; r[2].next = (uintptr_t)(void *)&r[1]; GO(r[0]);", "proved", 3),
        ("for (int i = 0; i < 2; i++) r[i].next = (uint64_t)&r[i + 1]; DESC_ADDR = (uint64_t)r;", "proved", 3),
        ("r[0].next = (uint64_t)&r[1]; r[1].src = 0x2000; GO(r[0]);", "refuted", 2),
        ("r[0].next = (uint64_t)&r[1]; r[0].src = 0x4000; GO(r[0]);", "proved", 2),
        ("r[0].next = (uint64_t)&r[0]; GO(r[0]);", "refuted", 1),  # a circle
        ("r[0].next = 0x9000; GO(r[0]);", "unknown", 0),
        ("r[2].src = 0x2000; GO(r[0]); GO(r[1]); while (MARK(r[0]) != END); GO(r[2]);", "proved", 3),
        ("r[2].src = 0x4000; GO(r[0]); GO(r[1]); while (MARK(r[0]) != END); GO(r[2]);", "refuted", 3),
        ("r[2].src = 0x2000; GO(r[0]); GO(r[1]); while (MARK(r[1]) != END); GO(r[2]);", "proved", 3),
        ("GO(r[0]); r[1].src = 0x7000; GO(r[1]);", "unknown", 2),  # fetched ahead
        ("GO(r[1]); r[0].src = 0x7000; GO(r[0]);", "proved", 2),
        ("desc_t *p = &r[1]; p->src = 0x2000; p->next = END; r[0].next = (uint64_t)p; GO(r[0]);", "refuted", 2),
    ],
)
def test_chains_are_followed_through_their_links(tmp_path: Path, body: str, status: str, launches: int) -> None:
    found = judged(tmp_path, LINKED + body)
    assert (found.status.value, f"all {launches} launches" in f"{found}" or status != "proved") == (status, True)


@pytest.mark.parametrize(
    ("before", "body", "status"),
    [
        # helpers of the file, registers as a structure, raw words
        ("static void go(desc_t *d) { DESC_ADDR = (uint64_t)d; while (d->length != ~0u); }",
         f"{PAIR} go(&a); go(&b);", "proved"),
        ("static void go(uint64_t at) { DESC_ADDR = at; }", f"{PAIR} go((uint64_t)&a); go((uint64_t)&b);", "refuted"),
        ("static int done(desc_t *d) { return MARK(*d) == END; }",
         f"{PAIR} GO(a); while (!done(&a)); GO(b);", "proved"),
        ("typedef struct { volatile uint64_t desc_addr; volatile uint32_t status; } regs_t;\n#define R ((regs_t *)DMA)",
         f"{PAIR} R->desc_addr = (uint64_t)&a; while (R->status & 1); R->desc_addr = (uint64_t)&b;", "proved"),
        ("typedef struct { volatile uint64_t desc_addr, status; } regs_t;",
         f"{PAIR} regs_t *r = (regs_t *)DMA; r->desc_addr = (uint64_t)&a; r->desc_addr = (uint64_t)&b;", "refuted"),
        ("", "uint64_t w[4] = {64 | 10ull << 32, END, 0x1000, 0x2000}; DESC_ADDR = (uint64_t)w;", "proved"),
        ("", "uint64_t w[4] = {64, END, 0x1000, 0x2000}; DESC_ADDR = (uint64_t)w;", "refuted"),
        # objects of the file, which hold anything where more than one function runs
        (f"static volatile {LINKED}", "GO(r[0]);", "proved"),
        (f"static {LINKED} void other(void) {{ r[0].src = 0x100; }}", "GO(r[0]);", "unknown"),
        (f"static {LINKED} static void own(void) {{ r[0].flags = 0; }}", "own(); GO(r[0]);", "refuted"),
        (f"{LINKED}", "helper(); GO(r[0]);", "unknown"),
        ("static desc_t g;", "g.length = 8; g.flags = 10; g.next = END; g.src = 64; g.dst = 128; GO(g);", "proved"),
        ("static desc_t g;", "g.length = 256; g.flags = 10; g.next = END; g.src = 64; g.dst = 128; GO(g);", "refuted"),
        # what nobody launches here is launched some time
        ("static desc_t g;", f"{ONE} g.length = 8; g.flags = 10; g.next = END; g.src = 0x2000; g.dst = 8; GO(a);",
         "unknown"),
        ("", f"{PAIR} GO(a); keep(&b);", "unknown"),
        ("", f"{PAIR} desc_t c = {{8, 10, END, 0, 8}}; c.next = (uint64_t)&b; GO(a); keep(&c);", "unknown"),
        ("", f"{ONE}{APART} GO(a); keep(&b);", "proved"),
        ("", f"{ONE} GO(a); wait_for(&a);", "proved"),
        # what lies on the stack of a function ends with it, and what is kept from call to call is not as it began
        (f"static void own(void) {{ {ONE} GO(a); }}", "own();", "unknown"),
        (f"static void own(void) {{ {ONE} GO(a); while (MARK(a) != END); }}", "own(); own();", "proved"),
        (f"static void own(void) {{ static {ONE} GO(a); while (MARK(a) != END); }}", f"own(); own(); {APART} GO(b);",
         "unknown"),
        # where variables lie, and addresses that a condition chooses
        ("", f"{ONE.replace('a =', 'a __attribute__((aligned(64))) =')}{TWO} GO(a); GO(b);", "refuted"),
        (f"static {LINKED.replace('r[3]', 'r[3] __attribute__((aligned(32), used))')}",
         "r[0].next = (uint64_t)&r[2]; r[2].src = 0x2000; GO(r[0]);", "refuted"),
        ("", f"{LINKED} for (int i = 0; i < 3; i++) r[i].next = i == 2 ? END : (uint64_t)&r[i + 1]; GO(r[0]);",
         "proved"),
    ],
)  # fmt: skip
def test_drivers_launch_in_their_own_ways(tmp_path: Path, before: str, body: str, status: str) -> None:
    found = judged(tmp_path, body, before=before)
    assert found.status.value == status, f"{found}"


@pytest.mark.parametrize(
    ("engine", "order", "status"),
    [
        ("fetch_width=64", "length flags next src dst", "proved"),
        ("fetch_width=64", "flags length next src dst", "refuted"),
        ("fetch_width=64", "length flags next dst src", "proved"),  # it copies the other way
        ("fetch_width=128", "next length flags dst src", "proved"),
        ("fetch_width=128", "length flags next src dst", "unknown"),  # it goes on where its length says
        ("fetch_width=256", "dst src next length flags", "proved"),
    ],
)
def test_a_structure_lies_as_the_engine_fetches_it(tmp_path: Path, engine: str, order: str, status: str) -> None:
    members = "".join(f"uint{32 if name in ('length', 'flags') else 64}_t {name}; " for name in order.split())
    file = tmp_path / "d.c"
    values = ".length = 64, .flags = 10, .next = -1, .src = 0x100000, .dst = 0x200000"
    launch = "*(volatile uint64_t *)0x50000000 = (uint64_t)&d;"
    file.write_text(f"#include <stdint.h>\nstruct s {{ {members}}};\nint main(void) {{ struct s d = {{{values}}}; "
                    f"{launch} while (*(volatile uint64_t *)&d != -1ull); }}\n")  # fmt: skip
    found = verdict_of_file(str(file), engine=("front_end=desc64", engine))
    assert found is not None
    assert found.status.value == status, f"{found}"


FIELDS = "r[1].length = 64; r[1].flags = 10; r[1].next = END; r[1].src = 64; r[1].dst = 0x200;"
FILLED = "FILL(0x8000, 0x1000, 0x2000);"


@pytest.mark.parametrize(
    ("body", "status", "rules"),
    [
        (f"{FILLED} GO(0x8000);", "proved", set()),
        ("FILL(0x8010, 0x1000, 0x2000); GO(0x8010);", "refuted", {"idma/desc-aligned"}),
        ("FILL(0x8000, 0x1000, 0x7FF0); GO(0x8000);", "refuted", {"idma/desc-clobbered"}),
        ("FILL(0x8000, 0x8010, 0x2000); GO(0x8000);", "refuted", {"idma/desc-sourced"}),
        (f"{FILLED} FILL(0x8020, 0x2000, 0x3000); GO(0x8000); GO(0x8020);", "refuted", {"idma/wait"}),
        (f"{FILLED} FILL(0x8020, 0x2000, 0x3000); GO(0x8000); WAIT(0x8000); GO(0x8020);", "proved", set()),
        (f"{FILLED} D(0x8000)->next = 0x8020; FILL(0x8020, 0x2000, 0x3000); GO(0x8000);", "refuted", {"idma/wait"}),
        (f"{FILLED} FILL(0x8100, 0x1000, 0x7FF0); GO(0x8000); GO(0x8100);", "refuted", {"idma/desc-clobbered"}),
        (f"{FILLED} GO(0x8000); WAIT(0x8000); FILL(0x8100, 0x1000, 0x7FF0); GO(0x8100);", "proved", set()),
        (f"{FILLED} GO(0x8000); FILL(0x8000, 0x1000, 0x4000); GO(0x8000);", "unknown", set()),
        (f"{FILLED} GO(0x8000); WAIT(0x8000); FILL(0x8000, 0x2000, 0x4000); GO(0x8000);", "proved", set()),
        (f"{FILLED} GO(0x8000); WAIT(0x8000); GO(0x8000);", "refuted", None),
        (f"volatile desc_t *r = (desc_t *)0x8000; {FIELDS} DESC_ADDR = (uint64_t)&r[1];", "proved", set()),
        (f"volatile desc_t *r = (desc_t *)0x8000; {FIELDS} DESC_ADDR = (uint64_t)r;", "unknown", set()),
    ],
)  # fmt: skip
def test_descriptors_at_addresses_are_launched_where_they_lie(
    tmp_path: Path, body: str, status: str, rules: set[str] | None
) -> None:
    launch = """#define D(at) ((volatile desc_t *)(at))
#define FILL(at, s, d) D(at)->length = 64; D(at)->flags = 10; D(at)->next = END; D(at)->src = s; D(at)->dst = d
#define GO(at) DESC_ADDR = at
#define WAIT(at) while (D(at)->length != 0xFFFFFFFF)
"""
    found = judged(tmp_path, body, launch=launch)
    assert found.status.value == status, f"{found}"
    assert rules is None or {one.rule for one in found.errors} == rules


def test_arguments_of_a_driver_of_chains_become_conditions(tmp_path: Path) -> None:
    file = tmp_path / "d.c"
    fill = "d->length = n; d->flags = 10; d->next = END; d->src = s; d->dst = t; DESC_ADDR = (uint64_t)d;"
    file.write_text(f"{HEAD}void move(desc_t *d, uint64_t s, uint64_t t, uint32_t n) {{ {fill} }}\n")
    found = verdict_of_file(str(file), engine=("cheshire",))
    assert found is not None
    assert found.status.value == "proved"
    assert "n >= 1" in f"{found}"


@pytest.mark.parametrize(
    ("declared", "own", "define", "status"),
    [
        ("desc_t d", "d", "&d=0x8000", "refuted"),
        ("desc_t d", "d", "&d=0x9000", "proved"),
        ("desc_t d[2]", "d[1]", "d=0x7FE0", "refuted"),
        ("desc_t d[2]", "d[1]", "d=0x8000", "proved"),
        ("desc_t d[2]", "d[1]", "d=0x8FF0", "refuted"),  # at 0x9010
    ],
)
def test_where_the_linker_puts_a_descriptor_can_be_stated(
    tmp_path: Path, declared: str, own: str, define: str, status: str
) -> None:
    file = tmp_path / "d.c"
    fill = f"{own}.length = 32; {own}.flags = 10; {own}.next = END; {own}.src = 0x8000; {own}.dst = 0x2000;"
    file.write_text(f"{HEAD}static {declared};\nint main(void) {{ {fill} DESC_ADDR = (uint64_t)&{own}; }}\n")
    found = verdict_of_file(str(file), engine=("cheshire",), defines=(define,))
    assert found is not None
    assert (found.status.value, "apart" in f"{found.conditions}") == (status, False)


def drawn(draw: random.Random) -> tuple[str, bool]:
    """A driver of some chains with waits, and whether a transfer reads what an earlier one may still have to write."""
    count = draw.randint(2, 5)
    spots = [[0x1000 * draw.randint(1, 5) + draw.choice([0, 0, 32]) for _ in range(2)] for _ in range(count)]
    sizes, left = [draw.choice([32, 64]) for _ in range(count)], draw.sample(range(count), count)
    chains = []
    while left:
        many = draw.choice([1, 1, 2, 3])
        chains.append(left[:many])
        left = left[many:]
    links = {a: f"(uint64_t)(uintptr_t)&r[{b}]" for chain in chains for a, b in pairwise(chain)}
    lines = []
    for n, ((src, dst), size) in enumerate(zip(spots, sizes, strict=True)):
        given = {"length": size, "flags": 10, "next": links.get(n, "END"), "src": src, "dst": dst}
        lines += [f"r[{n}].{name} = {value};" for name, value in given.items()]
    draw.shuffle(lines)
    launched: list[int] = []
    waited, wrong = 0, False
    for chain in chains:
        lines.append(f"GO(r[{chain[0]}]);")
        for n in chain:
            src, dst = spots[n]
            pending = [(spots[m][1], sizes[m]) for m in launched[waited:]]
            wrong |= any(src < at + size and at < src + sizes[n] for at, size in pending) or 0 < dst - src < sizes[n]
            launched.append(n)
        way = draw.choice(["", "", f"r[{launched[-1]}]", f"r[{draw.choice(launched)}]", "STATUS"])
        if way:
            lines.append("while (STATUS & 1);" if way == "STATUS" else f"while (MARK({way}) != END);")
            waited = max(waited, len(launched) if way == "STATUS" else 1 + launched.index(int(way[2:-1])))
    return f"volatile desc_t r[{count}]; {' '.join(lines)}", wrong


@pytest.mark.parametrize("count", counted(20, 60))
def test_drawn_drivers_are_judged_as_their_chains_run(tmp_path: Path, count: int) -> None:
    draw, seen = random.Random(3), set()
    for _ in range(count):
        body, wrong = drawn(draw)
        found = judged(tmp_path, body)
        assert found.status.value == ("refuted" if wrong else "proved"), body
        seen.add(wrong)
    assert seen == {True, False}


HANDED = "`a` is launched as it was when its address was given away"
POINTERS = "desc_t r[3]; desc_t *p = r; for (int i = 0; i < 3; i++) { *p = (desc_t){64, 10, END, i << 12, "


@pytest.mark.parametrize(
    ("body", "status", "conditions"),
    [
        # what is given to a function of another file is as it was there, unless this one writes it
        (f"{ONE} flush(&a); GO(a);", "proved", [HANDED, "flush() launches nothing"]),
        (f"{ONE} flush((void *)&a); GO(a);", "proved", [HANDED, "flush() launches nothing"]),
        (f"{ONE} flush(&a); flush(&a); GO(a);", "proved", [HANDED, "flush() launches nothing"]),
        (f"{ONE} flush(&a); a.length = 0; GO(a);", "unknown", []),
        (f"{ONE} flush(&a); *(uint32_t *)&a = 0; GO(a);", "unknown", []),
        (f"{ONE} uint8_t *w = (uint8_t *)&a; w[0] = 0; GO(a);", "unknown", []),
        (f"{ONE} uint64_t at = (uint64_t)&a; at += 16; *(uint64_t *)at = 0x2020; GO(a);", "unknown", []),
        # pointers that move are followed
        (POINTERS + "0x8000 + (i << 8)}; if (i) p[-1].next = (uint64_t)p; p++; } GO(r[0]);", "proved", []),
        (POINTERS + "(i << 12) + 0x1000}; if (i) p[-1].next = (uint64_t)p; p++; } GO(*r);", "refuted", []),
        (f"{LINKED} for (desc_t *d = r; d != r + 2; ++d) d->next = (uint64_t)(d + 1); DESC_ADDR = (uint64_t)r;",
         "proved", []),
        # an address that is not followed may be launched
        (f"{ONE} *(desc_t *volatile *)DMA = &a;", "unknown", []),
        (f"{ONE} void *volatile *at = (void *volatile *)DMA; *at = &a;", "unknown", []),
        (f"{ONE} uint64_t at = (uint64_t)&a; at += 32; at -= 32; DESC_ADDR = at;", "unknown", []),
        (f"{ONE} *(volatile uint32_t *)DMA = (uint32_t)(uintptr_t)&a;", "unknown", []),
        (f"{LINKED} desc_t *l[] = {{&r[2], &r[0]}}; l[0]->next = (uint64_t)l[1]; DESC_ADDR = (uint64_t)l[0];",
         "unknown", []),
        (f"{ONE}{APART} GO(a); while (MARK(a) != END); __atomic_store_n(&DESC_ADDR, (uint64_t)&b, 0);", "unknown", []),
        (f"{ONE}{APART} GO(a); while (MARK(a) != END); uint64_t at = (uint64_t)&b; memcpy((void *)DMA, &at, 8);",
         "unknown", []),
        (f"{ONE} GO(a); helper(DMA + 8);", "proved", ["helper() launches nothing"]),
        (f"{ONE} GO(a); *(volatile uint32_t *)0x60000000 = x;", "proved",
         ["`*(volatile uint32_t *)0x60000000` is no `desc_addr` of the engine"]),
    ],
)  # fmt: skip
def test_what_is_launched_is_what_the_text_left_there(
    tmp_path: Path, body: str, status: str, conditions: list[str]
) -> None:
    found = judged(tmp_path, body)
    assert found.status.value == status, f"{found}"
    own = [one for one in found.conditions if "aligned to" not in one and "`x`" not in one]
    assert status != "proved" or sorted(own) == sorted(conditions)


@pytest.mark.parametrize(
    ("macro", "use"),
    [
        ("KICK GO(b);", "KICK"),
        ("KICK GO(b);", "KICK return 0;"),
        ("KICK(x) DESC_ADDR = (uint64_t)&b; (void)#x", "KICK(1);"),
        ("KICK(...) __VA_ARGS__", "KICK(GO(b));"),
        ("KICK(x) GO(x##b)", "KICK();"),
    ],
)
def test_a_macro_that_is_not_read_may_launch_a_chain(tmp_path: Path, macro: str, use: str) -> None:
    body = f"{PAIR} b.length = 0; GO(a); while (MARK(a) != END); {use}"
    assert judged(tmp_path, body, before=f"#define {macro}").status.value in ("unknown", "refuted")


def test_a_descriptor_that_is_set_and_launched_in_no_order_is_told(tmp_path: Path) -> None:
    before = """static int set(desc_t *d) { d->length = 0; return 0; }
static int go(desc_t *d) { DESC_ADDR = (uint64_t)d; return 0; }
static void both(int a, int b) { }
"""
    assert [
        judged(tmp_path, f"{ONE} {body}", before=before).status.value
        for body in ("both(go(&a), set(&a));", "both(go(&a), 0);", "go(&a), set(&a);")
    ] == ["unknown", "proved", "unknown"]


@pytest.mark.parametrize(("mark", "conditions"), [("MARK(a) != END", 0), ("a.length == 64", 1)])
def test_a_mark_that_is_not_volatile_is_read_on_a_condition(tmp_path: Path, mark: str, conditions: int) -> None:
    found = judged(tmp_path, f"{PAIR} GO(a); while ({mark}); GO(b);")
    assert found.status.value == "proved"
    assert sum("not volatile" in text for text in found.conditions) == conditions
