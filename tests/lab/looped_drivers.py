"""Drivers of loops whose counts are arguments, drawn at random, and what each of them launches at chosen values.

Knows: how to draw counted loops, conditions on rounds, `continue`, variables that move, buffers that take turns; how to
run such a driver, word by word of C.
Does not know: how a driver is read, regions of arguments, any module of the package.
Law: a driver is wrong at values where a launch has no bytes, leaves the address space or the array that it begins in,
overlaps itself, reads what one in flight writes, or runs on when its array is gone. A driver that divides by 0 there
says nothing.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

WORD = 1 << 32
MOST_STEPS = 3_000
HEAD = """#include <stdint.h>
struct given { uint32_t n, m; };
%svoid f(uint32_t n, uint32_t m, uint32_t k, struct given *g%s) {
%s  uint8_t *l = (uint8_t *)snrt_l1_next(), *q[2];
  q[0] = l; q[1] = l + 64 * k;
  uint32_t t = 0, u = 1, w = 0;
"""
LENGTHS: tuple = (16, 32, 64, 64, ("k",), ("+", ("m",), 1), ("*", ("k",), 2), ("g->m",))
BOUNDS: tuple = (
    ("n",),
    ("n",),
    ("+", ("n",), 2),
    ("*", ("m",), ("n",)),
    ("m",),
    3,
    5,
    ("g->n",),
    ("+", ("g->n",), ("m",)),
)
COUNTS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 17, 20, 33, 64)
PLACES = (0x1000, 0x1040, 0x1100, 0x2000, 0x8000, 0x20000, 0x100000, 0x10000000)
OPS: dict[str, Callable[[int, int], int]] = {
    "+": lambda x, y: (x + y) % WORD, "-": lambda x, y: (x - y) % WORD, "*": lambda x, y: x * y % WORD,
    "/": lambda x, y: x // y, "%": lambda x, y: x % y, "<": lambda x, y: x < y, ">": lambda x, y: x > y,
    "<=": lambda x, y: x <= y, ">=": lambda x, y: x >= y, "==": lambda x, y: x == y, "!=": lambda x, y: x != y,
    "&": lambda x, y: x & y, "|": lambda x, y: x | y, "^": lambda x, y: x ^ y,
}  # fmt: skip


class _Continue(Exception):
    pass


@dataclass(frozen=True, slots=True)
class LoopedDriver:
    """A driver: its statements, each a tuple of what it is and what stands in it."""

    body: tuple[tuple, ...]
    arrays: dict[str, int]  # how long `a` and `b` are, where they are no pointers that a caller gives
    outside: bool = True  # they are the file's, not the function's

    @property
    def text(self) -> str:
        said = "".join(f"uint8_t {name}[{long}];\n" for name, long in self.arrays.items())
        own = "" if self.arrays else ", uint8_t *a, uint8_t *b"
        head = HEAD % ((said, own, "") if self.outside else ("", own, said))
        return head + "".join(_lines(one, "  ") for one in self.body) + "}\n"

    def wrong_at(self, values: dict[str, int]) -> str:
        """What is wrong with its launches at values; nothing where it is right, or undefined, or too long."""
        run = _Run({**values, "t": 0, "u": 1, "w": 0}, self.arrays)
        try:
            run.block(self.body)
        except (ZeroDivisionError, TimeoutError):
            return ""
        ends = "a launch runs on when its array is gone" if run.running and not self.outside else ""
        return run.left or _wrong(run.launched) or ends


@dataclass
class _Run:
    held: dict[str, int]
    arrays: dict[str, int]
    left: str = ""  # which array a launch leaves
    launched: list[tuple[int, int, int] | None] = field(default_factory=list)  # None: a wait
    running: bool = False  # of one of the arrays, when the function ends
    steps: int = 0

    def value(self, said: object) -> int:
        if isinstance(said, int):
            return said
        assert isinstance(said, tuple)
        return self.held[said[0]] if len(said) == 1 else int(OPS[said[0]](self.value(said[1]), self.value(said[2])))

    def place(self, said: tuple) -> int:
        base, offset = said
        if not isinstance(base, str):
            base = ("q0", "q1")[self.value(base)]
        named = {"q0": self.held["l"], "q1": self.held["l"] + 64 * self.held["k"]}
        return named.get(base, self.held.get(base, 0)) + self.value(offset)

    def block(self, statements: Sequence[tuple]) -> None:
        for one in statements:
            self.step()
            match one:
                case ("launch", to, source, length):
                    many = self.value(length)
                    self.launched.append((self.place(to), self.place(source), many))
                    self.running |= not {to[0], source[0]}.isdisjoint(self.arrays)
                    for base, offset in (to, source):
                        if base in self.arrays and self.value(offset) + many > self.arrays[base]:
                            self.left = f"a launch leaves {base}"
                case ("wait",):
                    self.launched.append(None)
                    self.running = False
                case ("if", test, yes, no):
                    self.block(yes if self.value(test) else no)
                case ("set", name, said):
                    self.held[name] = self.value(said)
                case ("add", name, by):
                    self.held[name] = (self.held[name] + by) % WORD
                case ("continue",):
                    raise _Continue
                case ("for", name, start, op, bound, by, body):
                    self.held[name] = start
                    while OPS[op](self.held[name], self.value(bound)):
                        self.step()
                        with contextlib.suppress(_Continue):
                            self.block(body)
                        self.held[name] = (self.held[name] + by) % WORD

    def step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TimeoutError


def _wrong(launched: Sequence[tuple[int, int, int] | None]) -> str:
    flying: list[tuple[int, int]] = []
    for one in launched:
        if one is None:
            flying = []
            continue
        to, source, length = one
        if not length:
            return "a launch of no bytes"
        if max(to, source) + length > 1 << 64:
            return "a launch that leaves the address space"
        others = flying if to == source else [*flying, (to, length)]  # onto itself: nothing changes
        if any(at < source + length and source < at + size for at, size in others):
            return f"{source:#x} is read while it is written"
        flying.append((to, length))
    return ""


def some_values(rng: random.Random, arrays: bool = False) -> dict[str, int]:
    """Arguments of a driver, members of what it is given, and where `snrt_l1_next()` and its arrays lie."""
    places = {name: rng.choice(PLACES) + rng.choice((0, 0, 16, 32, 64)) for name in "abl"}
    numbers = {name: rng.choice(COUNTS[:most]) for name, most in (("n", 19), ("m", 17), ("g->n", 19), ("g->m", 17))}
    places |= {"a": 0x4000_0000, "b": 0x5000_0000} if arrays else {}
    return {**numbers, "k": rng.choice((1, 16, 32, 64, 128)), **places, "g": 0xF000_0000}


# ---------------------------------------------------------------- drawing


def looped_driver(rng: random.Random) -> LoopedDriver:
    """A driver with at least one loop."""
    drawn = _Drawn(rng)
    body = [drawn.statement(0) for _ in range(rng.randint(1, 2))]
    long = {name: rng.choice((64, 256, 1024, 4096)) for name in "ab"} if rng.random() < 0.35 else {}
    outside = rng.random() < 0.5
    body += [drawn.loop(0), *([("wait",)] if long and not outside and rng.random() < 0.8 else [])]
    return LoopedDriver(tuple(body), long, outside)


class _Drawn:
    def __init__(self, rng: random.Random) -> None:
        self.rng, self.counters, self.names = rng, list[str](), ["n", "m", "k", "w", "w", "g->n", "g->m"]

    def number(self, depth: int = 0) -> object:
        rng, drawn = self.rng, self.rng.random()
        if depth > 2 or drawn < 0.35:
            return rng.choice((0, 1, 2, 3, 4, 8, 16, 32, 64))
        if drawn < 0.75:
            return (rng.choice(self.names + self.counters * 3),)
        op = rng.choice("+*-%/&|^" if self.counters else "+*+*&|^")
        if op in "&|^":
            one, mask = self.number(depth + 1), rng.choice((1, 7, 12, 15, 48, 63, 64, 0x5A, 0xFFFFFFF0))
            return (op, one, one if rng.random() < 0.2 else self.number(depth + 1) if rng.random() < 0.2 else mask)
        if op in "%/":
            of = self.number(depth + 1) if rng.random() < 0.5 else (rng.choice(self.counters),)
            return (op, of, ("m",) if rng.random() < 0.5 else rng.choice((2, 2, 3, 4)))
        return (op, self.number(depth + 1), self.number(depth + 1) if op != "*" else rng.choice((2, 4, 8, 16, 64)))

    def test(self) -> tuple:
        rng = self.rng
        name = (rng.choice(self.counters or self.names),)
        if rng.random() < 0.25:
            return ("==", ("%", name, rng.choice((2, 2, 3))), rng.choice((0, 1)))
        other = rng.choice((rng.randrange(4), ("n",), ("m",), ("-", ("n",), rng.choice((1, 2))), ("+", ("m",), 1)))
        return (rng.choice(("<", ">", "<=", ">=", "==", "!=")), name, other)

    def place(self) -> tuple:
        rng = self.rng
        one = (rng.choice(self.counters or ["n"]),)
        offset = rng.choice((0, 0, ("*", one, rng.choice((16, 32, 64))), ("*", one, 64), self.number()))
        return rng.choice(("a", "b", "l", "q0", "q1", ("%", one, 2))), offset

    def statement(self, depth: int) -> tuple:
        rng, drawn = self.rng, self.rng.random()
        if drawn < 0.42:
            return ("launch", self.place(), self.place(), rng.choice(LENGTHS))
        if drawn >= 0.58 and drawn < 0.74:
            return ("if", self.test(), self.block(depth + 1), self.block(depth + 1) if rng.random() < 0.4 else ())
        if drawn >= 0.74 and self.counters:
            if drawn < 0.82:
                name = rng.choice(("t", "u", "t", "u", "g->n", "g->m"))
                said = ("set", name, self.number())
                self.names += [name] if name not in self.names else []
                return said
            if drawn < 0.845:
                return ("if", self.test(), (("continue",),), ())
            if drawn < 0.9:
                return ("add", "w", rng.choice((1, 16, 64)))
        return self.loop(depth) if drawn >= 0.9 and depth < 2 and len(self.counters) < 2 else ("wait",)

    def loop(self, depth: int) -> tuple:
        rng, names = self.rng, list(self.names)
        name = "ij"[len(self.counters)]
        self.counters.append(name)
        body = self.block(depth + 1, 4)
        self.counters.pop()
        self.names = names
        ends = rng.choice(("<", "<", "<=")), rng.choice(BOUNDS)
        return ("for", name, rng.choice((0, 0, 0, 1)), *ends, rng.choice((1, 1, 1, 2)), body)

    def block(self, depth: int, most: int = 2) -> tuple[tuple, ...]:
        return tuple(self.statement(depth) for _ in range(self.rng.randint(1, most)))


# ---------------------------------------------------------------- text


def _shown(said: object) -> str:
    if not isinstance(said, tuple):
        return f"{said}u"
    return said[0] if len(said) == 1 else f"({_shown(said[1])} {said[0]} {_shown(said[2])})"


def _place(said: tuple) -> str:
    base, offset = said
    named = f"q[{_shown(base)}]" if not isinstance(base, str) else {"q0": "q[0]", "q1": "q[1]"}.get(base, base)
    return named if not offset else f"({named} + {_shown(offset)})"


def _lines(one: tuple, margin: str) -> str:
    def inner(statements: Sequence[tuple]) -> str:
        return "{\n" + "".join(_lines(each, f"{margin}  ") for each in statements) + f"{margin}}}"

    match one:
        case ("launch", to, source, length):
            said = f"snrt_dma_start_1d({_place(to)}, {_place(source)}, {_shown(length)});"
        case ("wait",):
            said = "snrt_dma_wait_all();"
        case ("if", test, yes, no):
            said = f"if ({_shown(test)}) {inner(yes)}" + (f" else {inner(no)}" if no else "")
        case ("set", name, value):
            said = f"{name} = {_shown(value)};"
        case ("add", name, by):
            said = f"{name} += {by};"
        case ("continue",):
            said = "continue;"
        case ("for", name, start, op, bound, by, body):
            head = f"uint32_t {name} = {start}; {name} {op} {_shown(bound)}; {name} += {by}"
            said = f"for ({head}) {inner(body)}"
    return f"{margin}{said}\n"
