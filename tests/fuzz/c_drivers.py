"""Drawn C drivers: what is read of them against what they launch when a C compiler's code runs.

    python tests/fuzz/c_drivers.py [COUNT] [SEED]

Needs gcc. Variables of all integer types, conversions, conditional expressions, loops, functions and macros decide
the addresses and lengths of launches. A driver that is told as not read, or whose run is undefined, is counted and
left; every other one has the launches that were logged. Prints what differs, with its text; exits with 1 then.
"""

import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from dmaverify.errors import InputErrors, Source
from dmaverify.machines.idma.c.driver import read_driver

TYPES = ("int", "uint32_t", "uint8_t", "int16_t", "uint64_t", "int8_t", "uint16_t", "bool", "short", "long long",
         "unsigned short int", "long long int", "unsigned", "signed char", "int unsigned")  # fmt: skip
NUMBERS = ("0", "1", "2", "3", "7", "16", "255", "256", "0x10u", "100", "1000u", "0x7FFF", "65535u", "(-1)", "(-3)",
           "0xFFFFFFFFu", "(uint8_t)200", "sizeof(uint32_t)", "SIX", "ADD(3, 4)", "K", "sizeof(uint16_t[5])",
           "sizeof(table)")  # fmt: skip
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
"""


class Drawn:
    """The text of one driver."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.names, self.functions = rng, 0, list[str]()
        functions = "".join(self.function(n) for n in range(rng.randrange(3)))
        self.text = (
            f"{HEAD}{functions}int main(void) {{\nstep(3, 255);\n{self.block([], 0, 7)}out: ; GO(1, 1);\nreturn 0; }}\n"
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

    def scoped(self) -> str:
        """Names that mean something else in a block, and what the preprocessor chooses."""
        number = self.rng.randrange(1, 60)
        return self.rng.choice((
            f"{{ enum {{ K = {number} }}; GO(K, K); }}", f"{{ typedef uint8_t byte; GO((byte){number * 9}, 3); }}",
            f"GO((kind){number * 5000}, 4);", "snrt_dma_wait_all();",
            f"\n#if {self.rng.choice(CHOSEN)}\nGO({number}, 5);\n#else\nGO({number}, 6);\n#endif\n",
            f"\n#if{self.rng.choice(('', 'n'))}def {self.rng.choice(('SIX', 'GONE', 'K'))}\nGO({number}, 7);\n#endif\n",
        ))  # fmt: skip

    def cases(self, known: list[str], depth: int, fixed: tuple[str, ...]) -> str:
        ends = ("break;", "", "break;", "continue;" if fixed else "break;")
        inside = "".join(
            f"{label} {{\n{self.block(known, depth + 1, 2, fixed)}}} {self.rng.choice(ends)}\n"
            for label in self.rng.sample(("case 0:", "case 1:", "case SIX:", "default:", "case 2 + 1:"), 3)
        )
        return f"switch (({self.number(known)}) & 3) {{\n{inside}}}"

    def block(self, known: list[str], depth: int, most: int, fixed: tuple[str, ...] = ()) -> str:
        rng, known, out = self.rng, list(known), []
        for _ in range(rng.randrange(1, most + 1)):
            kind, free = rng.random(), [one for one in known if one not in fixed]
            if (rare := rng.random()) < 0.1:
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
                inner = self.block([*known, turn], depth + 1, 3, (*fixed, turn))
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
            text = Drawn(random.Random(f"{seed}-{number}")).text
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
