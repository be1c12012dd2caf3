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

TYPES = ("int", "uint32_t", "uint8_t", "int16_t", "uint64_t", "int8_t", "uint16_t", "bool", "short", "long long")
NUMBERS = ("0", "1", "2", "3", "7", "16", "255", "256", "0x10u", "100", "1000u", "0x7FFF", "65535u", "(-1)", "(-3)",
           "0xFFFFFFFFu", "(uint8_t)200", "sizeof(uint32_t)", "SIX", "ADD(3, 4)")  # fmt: skip
HEAD = """#include <stdint.h>
#include <stddef.h>
#include <stdbool.h>
#define SIX (2 * 3)
#define ADD(a, b) ((a) + (b))
#define GO(d, n) snrt_dma_start_1d((void *)(uint32_t)((d) & 0xFFFF), (void *)0x30000, ((n) & 63) + 1)
#define GOIF(c, d) if (c) GO(d, 7)
#define TWICE(d) do { GO(d, 1); GO((d) + 64, 2); } while (0)
extern void snrt_dma_start_1d(void *, void *, size_t);
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
"""


class Drawn:
    """The text of one driver."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.names, self.functions = rng, 0, list[str]()
        functions = "".join(self.function(n) for n in range(rng.randrange(3)))
        self.text = f"{HEAD}{functions}int main(void) {{\nstep(3, 255);\n{self.block([], 0, 7)}return 0; }}\n"

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

    def block(self, known: list[str], depth: int, most: int, fixed: tuple[str, ...] = ()) -> str:
        rng, known, out = self.rng, list(known), []
        for _ in range(rng.randrange(1, most + 1)):
            kind, free = rng.random(), [one for one in known if one not in fixed]
            if kind < 0.3:
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
    """(dst, src, length) of every launch; None where something is told as not read."""
    try:
        found = read_driver(Source("d.c", text), {}, "")
    except InputErrors:
        return None
    if any(True for entry in found.entries for _ in entry.doubts):
        return None
    told = [one.descriptor.request for entry in found.entries for one in entry.told]
    return [(one.dst, one.src, one.length) for one in told]


def ran(text: str, folder: Path) -> list[tuple[int, ...]] | None:
    """The launches of a run; None where it is not defined, or too long."""
    (folder / "d.c").write_text(text)
    (folder / "log.c").write_text(LOG)
    undefined = ["-fsanitize=undefined", "-fno-sanitize-recover=all", "-fno-sanitize=shift"]
    subprocess.run(["gcc", "-w", *undefined, "d.c", "log.c", "-o", "d"], cwd=folder, check=True)
    found = subprocess.run([str(folder / "d")], capture_output=True, text=True, check=False, timeout=20)
    return None if found.returncode else [tuple(map(int, line.split())) for line in found.stdout.splitlines()]


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
