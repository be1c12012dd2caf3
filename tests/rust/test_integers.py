"""Integers have a type: what fits it is exact, what may leave it is not followed, what loses bits loses them."""

# ruff: noqa: E501  (kernel text reads best on one line)

import random
import re
from collections.abc import Callable

import pytest
from kernels import HBM, NEW, plan, verdicts
from lab.draws import counted

from dmaverify.machines.rngd.rust.code import expression_of
from dmaverify.machines.rngd.rust.integers import INTEGERS
from dmaverify.machines.rngd.rust.lists import elements, listed
from dmaverify.machines.rngd.rust.numbers import number_of, truth_at
from dmaverify.machines.rngd.rust.values import Numbers, Sequence

OF_TYPE = {
    "b": Numbers(200, 200, type="u8"), "z": Numbers(0, 0, type="u8"), "s": Numbers(-128, -128, type="i8"), "m": Numbers(-1, -1, type="i8"),
    "n": Numbers(5, 5, type="usize"), "h": Numbers(7, 7, type="u16"), "w": Numbers(-5, -5, type="i32"),
    "i": Numbers(0, 7, 1, loops=frozenset((1,)), type="u8"), "j": Numbers(-4, 3, 1, loops=frozenset((2,)), type="i8"),
    "q": Numbers(3, 3), "k": Numbers(0, 7, 1, loops=frozenset((3,))),
}  # fmt: skip


def look(kind: str, text: str) -> Numbers | None:
    return OF_TYPE.get(text) if kind == "path" else None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("b + 55", 255), ("b + 56", None), ("b - 200", 0), ("b - 201", None), ("b * 1", 200), ("b * 2", None), ("b / 7", 28), ("b % 7", 4),
        ("s + 127", -1), ("s - 1", None), ("-s", None), ("-m", 1), ("s / m", None), ("s % m", None), ("s / 1", -128), ("m / m", 1), ("w / 2", -2), ("w % 2", -1),
        ("n - 5", 0), ("n - 6", None), ("n * 3689348814741910323", 2**64 - 1), ("n * 3689348814741910324", None),
        ("b << 1", 144), ("b << 7", 0), ("b << 8", None), ("b >> 7", 1), ("b >> 8", None), ("s >> 7", -1), ("m << 7", -128), ("h << 14", 49152), ("h << 16", None), ("(h << 14) >> 13", 6),
        ("b as usize + 56", 256), ("s as u8", 128), ("s as u16", 65408), ("m as usize", 2**64 - 1), ("b as i8", -56), ("b as i8 as i32", -56), ("300i32 as u8", 44),
        ("b.pow(1)", 200), ("b.pow(2)", None), ("2usize.pow(63)", 2**63), ("2usize.pow(64)", None), ("w.abs()", 5), ("s.abs()", None), ("s.unsigned_abs()", 128),
        ("b.wrapping_add(56)", 0), ("b.wrapping_mul(3)", 88), ("z.wrapping_sub(1)", 255), ("b.wrapping_shl(9)", 144), ("s.wrapping_neg()", -128), ("b.saturating_add(56)", 255), ("b.saturating_sub(201)", 0),
        ("s.saturating_sub(1)", -128), ("b.checked_add(55).unwrap()", 255), ("b.checked_add(56).unwrap()", None), ("b.checked_add(55)", None), ("w.rem_euclid(3)", 1), ("w.div_euclid(3)", -2), ("s.div_euclid(-1)", None), ("s.rem_euclid(-1)", None),
        ("s.abs_diff(127)", 255), ("b.div_ceil(7)", 29), ("b.next_multiple_of(64)", None), ("b.next_power_of_two()", None), ("z.next_power_of_two()", 1), ("n.next_power_of_two()", 8), ("b.min(3)", 3), ("b.max(3)", 200),
        ("!z", 255), ("!m", 0), ("!n", 2**64 - 6), ("!q", None), ("u8::MAX", 255), ("i8::MIN", -128), ("u8::MAX + 1", None), ("usize::BITS", 64), ("u8::MAX as usize + 1", 256),
        ("256u8", None), ("255u8", 255), ("-128i8", -128), ("-129i8", None), ("-1u8", None), ("1_000_u16", 1000), ("0xffu8", 255), ("0x100u8", None),
        ("b + n", None), ("b as usize + n", 205), ("usize::from(b) * 2", 400), ("usize::from(b * 2)", None), ("u8::from(n)", 5), ("b + q", 203), ("b + q + 53", None),
        ("(q * 42) as usize", 126), ("(q * 43) as usize", None), ("(q * 200 - 1) as usize", None), ("(q + 1000 - 999) as usize", 4), ("(q + 30000 + 3000) as usize", None), ("(200 + 100) as usize", 300), ("(1 << 30) as usize", 2**30), ("(1 << 31) as usize", None),
        ("(2147483647 + 1) as usize", None), ("2147483648 as usize", 2**31), ("3 - 4", -1), ("1 << 40", 2**40),
    ],
)  # fmt: skip
def test_an_operation_gives_what_every_build_gives_or_nothing(text: str, value: int | None) -> None:
    found = number_of(text, look)
    assert (found.single if found is not None else None) == value


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("i * 36", (0, 252)), ("i * 37", None), ("i + 248", (248, 255)), ("i + 249", None), ("7 - i", (0, 7)), ("6 - i", None), ("i - 0", (0, 7)), ("j * 32", (-128, 96)), ("j * 33", None),
        ("-j", (-3, 4)), ("-i", None), ("!i", (248, 255)), ("i << 5", (0, 224)), ("i << 6", None), ("i >> 1", (0, 3)), ("(i as usize) << 6", (0, 448)), ("i as usize * 64", (0, 448)),
        ("(i * 64) as usize", None), ("(j + 4) as u8", (0, 7)), ("j as u8", None), ("(j - 4) as u8", (248, 255)), ("(i + 248) as i8", (-8, -1)), ("i.wrapping_add(248)", (248, 255)),
        ("i.wrapping_sub(8)", (248, 255)), ("i.wrapping_sub(1)", None), ("i.saturating_add(250)", None), ("i.saturating_sub(9)", (0, 0)), ("k * 64", (0, 448)), ("(k * 18) as usize", (0, 126)),
        ("(k * 19) as usize", None), ("k * 64 + n", (5, 453)), ("(k * 64 + n) as u8", None), ("(k * 300 + w) as usize", None), ("k * 64 + z", None),
    ],
)  # fmt: skip
def test_a_loop_variable_is_followed_where_all_its_values_stay_inside(text: str, ends: tuple[int, int] | None) -> None:
    found = number_of(text, look)
    assert ((found.low, found.high) if found is not None else None) == ends


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("b + 55 == 255", True), ("b + 56 == 0", None), ("b + 56 > 3", None), ("z - 1 < n", None), ("m < 0", True), ("m as u8 > 254", True), ("q * 42 < 127", True), ("q * 43 < 300", True), ("q * 43 < 127", None),
        ("q * 100 < 400", True), ("b == n", None), ("3 * 100 == 300", True), ("300 * 10000000 > 0", None),
    ],
)  # fmt: skip
def test_a_condition_over_what_may_leave_its_type_is_not_decided(text: str, truth: bool | None) -> None:
    found = expression_of(text)
    assert found is not None
    assert truth_at(*found, look) is truth


# ---------------------------------------------------------------- generated expressions

Tree = tuple[str, ...] | tuple[str, "Tree", "Tree"]
OPERATORS = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]
WAYS = ["wrapping_add", "wrapping_sub", "wrapping_mul", "saturating_add", "saturating_sub", "min", "max", "abs_diff"]
VALUES = (0, 1, 2, 3, 7, 8, 63, 64, 100, 127, 128, 200, 255, 32767, 65535, 2**31 - 1, 2**31, 2**63, 2**64 - 1)


class Stops(Exception):
    """A debug build stops, and perhaps every build."""


def bits(kind: str) -> int:
    return int(kind[1:].replace("size", "64"))


def cut(value: int, kind: str) -> int:
    """The low bits, by the text of the language's reference and not by the reader's tables."""
    low = value & (2 ** bits(kind) - 1)
    return low - 2 ** bits(kind) if kind[0] == "i" and low >> (bits(kind) - 1) else low


def checked(value: int, kind: str) -> int:
    if cut(value, kind) != value:
        raise Stops
    return value


def binary(sign: str, a: int, b: int, kind: str) -> int:
    """One operator or method as a debug build runs it."""
    if sign in ("<<", ">>"):
        if not 0 <= b < bits(kind):
            raise Stops
        return cut(a << b, kind) if sign == "<<" else a >> b
    if sign in ("/", "%"):
        if b == 0 or (b == -1 and a == -(2 ** (bits(kind) - 1)) and kind[0] == "i"):
            raise Stops
        whole = abs(a) // abs(b) * (-1 if (a < 0) is not (b < 0) else 1)
        return whole if sign == "/" else a - b * whole
    exact: dict[str, Callable[[int, int], int]] = {
        "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "&": int.__and__, "|": int.__or__, "^": int.__xor__, "add": int.__add__, "sub": int.__sub__, "mul": int.__mul__,
        "min": min, "max": max, "abs_diff": lambda x, y: abs(x - y),
    }  # fmt: skip
    way, _, name = sign.partition("_")
    made = exact[name if way in ("wrapping", "saturating") else sign](a, b)
    if way == "wrapping":
        return cut(made, kind)
    if way == "saturating":
        ends = (-(2 ** (bits(kind) - 1)), 2 ** (bits(kind) - 1) - 1) if kind[0] == "i" else (0, 2 ** bits(kind) - 1)
        return min(max(made, ends[0]), ends[1])
    return checked(made, kind)


def drawn_value(drawn: random.Random, kind: str) -> int:
    value = cut(drawn.choice(VALUES) * drawn.choice([1, 1, -1]), kind)
    return value if kind[0] == "i" else abs(value)


def expression(drawn: random.Random, kind: str, depth: int, names: dict[str, Numbers]) -> tuple[str, Callable[[], int]]:
    """The text of an expression of a type, and what it gives; Stops is raised where a build may stop."""
    choice = drawn.random()
    if depth == 0 or choice < 0.15:
        value = drawn_value(drawn, kind)
        if drawn.random() < 0.6:
            name = f"v{len(names)}"
            names[name] = Numbers(value, value, type=kind)
            return name, lambda: value
        return (f"({value}{kind})" if value < 0 or drawn.random() < 0.5 else f"{value}{kind}"), lambda: value
    if choice < 0.3:
        other = drawn.choice(list(INTEGERS))
        text, inner = expression(drawn, other, depth - 1, names)
        return f"(({text}) as {kind})", lambda: cut(inner(), kind)
    if choice < 0.4:
        text, inner = expression(drawn, kind, depth - 1, names)
        if drawn.random() < 0.5 and kind[0] == "i":
            return f"(-({text}))", lambda: checked(-inner(), kind)
        return f"(!({text}))", lambda: cut(~inner(), kind)
    left, x = expression(drawn, kind, depth - 1, names)
    if choice < 0.6 and kind[0] == "u":
        sign = drawn.choice(WAYS)
        right, y = expression(drawn, kind, depth - 1, names)
        return f"({left}).{sign}({right})", lambda: binary(sign, x(), y(), kind)
    sign = drawn.choice(OPERATORS)
    right, y = (
        expression(drawn, drawn.choice(["u8", "i32", "usize"]), 0, names) if sign in ("<<", ">>")
        else expression(drawn, kind, depth - 1, names)
    )  # fmt: skip
    return f"({left} {sign} {right})", lambda: binary(sign, x(), y(), kind)


@pytest.mark.parametrize("count", counted(1500, 4000))
def test_generated_expressions_are_what_rust_makes_of_them(count: int) -> None:
    drawn, seen, stopped = random.Random(7), 0, 0
    for _ in range(count):
        names: dict[str, Numbers] = {}
        kind = drawn.choice(list(INTEGERS))
        text, made = expression(drawn, kind, drawn.randrange(1, 4), names)
        found = number_of(text, lambda asked, name, names=names: names.get(name) if asked == "path" else None)
        try:
            wanted = made()
        except Stops:
            stopped += 1
            assert found is None, text
            continue
        if "128" not in " ".join((text, kind, *(one.type for one in names.values()))):  # what has 128 bits is too wide
            seen += 1
            assert found is not None, (text, names)
        if found is not None:
            assert (found.single, found.type) == (wanted, kind), (text, names)
    assert seen > count // 5
    assert stopped > count // 8


def test_a_generated_loop_variable_is_followed_only_where_each_of_its_values_is() -> None:
    """Each value of the variable by itself, as the reference has it, against the number that stands for all of them."""
    drawn, seen, left = random.Random(9), 0, 0
    for _ in range(3000):
        kind = drawn.choice(["u8", "i8", "u16", "usize", "i32"])
        low, count, step = drawn.choice([0, 0, 1, -4, 100]), drawn.choice([2, 4, 8]), drawn.choice([1, 1, 2, 16])
        values = [low + step * turn for turn in range(count)]
        if any(cut(value, kind) != value for value in values):
            continue
        loop = Numbers(values[0], values[-1], step, loops=frozenset((1,)), type=kind)
        parts = [
            (
                drawn.choice(["+", "-", "*", "<<", ">>", "/", "%", "wrapping_add", "as"]),
                drawn.choice([1, 2, 3, 8, 32, 64, 100]),
            )
            for _ in range(drawn.randrange(1, 4))
        ]
        text, own, ends, stops = "i", kind, list(values), False
        for sign, number in parts:
            if sign == "as":
                own = drawn.choice(["u8", "i8", "u16", "usize", "i32"])
                text, ends = f"({text} as {own})", [cut(value, own) for value in ends]
                continue
            amount = cut(number, own)
            text = (
                f"({text}).{sign}({amount})"
                if "_" in sign
                else f"({text} {sign} {amount if amount >= 0 else f'({amount})'})"
            )
            try:
                ends = [binary(sign, value, amount, own) for value in ends]
            except Stops:
                stops = True
                break
        found = number_of(text, lambda asked, name, loop=loop: loop if (asked, name) == ("path", "i") else None)
        if stops:
            left += 1
            assert found is None, (text, kind, values)
        elif found is not None:
            seen += 1
            assert found.type == own, text
            assert all(
                found.low <= value <= found.high and (value - found.low) % (found.step or 1) == 0 for value in ends
            ), (text, kind, values)
            assert not found.exact or {*range(found.low, found.high + 1, found.step or 1)} == {*ends}, (
                text,
                kind,
                values,
            )
    assert seen > 500
    assert left > 500


# ---------------------------------------------------------------- kernels

GRID = "HbmTensor<i8, Chip, m![D, B]>"


def copied(lines: str) -> str:
    """Statements where each `COPY(at)` is the copy of a window of 64 of 512 rows."""
    while "COPY(" in lines:
        start = lines.index("COPY(")
        end = start + 5
        while lines[start:end].count("(") > lines[start:end].count(")"):
            end += 1
        at = lines[start + 5 : end - 1]
        move = f"x.view().tile::<m![D], 64, m![D = 64 # 512, B]>({at}).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![D], 64, m![D = 64 #{{!}} 512, B]>({at}))"
        lines = lines[:start] + move + lines[end:]
    return lines


def told(lines: str, before: str = "") -> str:
    """The status of a kernel that copies windows of 64 of 512 rows; `given` where a proof rests on a condition."""
    text = f"{before}\n#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &{GRID}) -> {GRID} {{ let mut y = {GRID.replace('Tensor<', 'Tensor::<')}::new(); {copied(lines)}\ny }}\n"
    found = verdicts(plan(text))
    status = {v.status.value for v in found}
    return next((one for one in ("error", "refuted", "unknown") if one in status), "proved")


@pytest.mark.parametrize(
    ("lines", "before", "status"),
    [
        ("let mut i: u8 = 0; while i < 8 { COPY((i * 64) as usize); i += 1; }", "", "unknown"), ("let mut i: u16 = 0; while i < 8 { COPY((i * 64) as usize); i += 1; }", "", "proved"),
        ("let mut i: u8 = 0; while i < 8 { COPY(i as usize * 64); i += 1; }", "", "proved"), ("let mut i = 0; while i < 8 { COPY((i * 64) as usize); i += 1; }", "", "proved"),
        ("let mut i = 0; while i < 8 { COPY((i * 64) as usize); i += 1u8; }", "", "unknown"), ("let mut i = 0; while i < N { COPY((i * 64) as usize); i += 1; }", "const N: u8 = 8;", "unknown"),
        ("for i in 0u8..8 { COPY((i * 32 * 2) as usize); }", "", "unknown"), ("for i in 0..8u8 { COPY((i * 64) as usize); }", "", "unknown"), ("for i in 0..8u16 { COPY((i * 64) as usize); }", "", "proved"),
        ("for i in 0..8 { COPY((i * 64) as usize); }", "", "proved"), ("for i in 0..8 { COPY(i * 64); }", "", "proved"), ("for i in 0..8 { take(i); COPY((i * 64) as usize); }", "fn take(i: u8) {}", "unknown"),
        ("for i in 0..8 { take(i); COPY((i * 64) as usize); }", "fn take(i: u32) {}", "proved"), ("for i in 0..8 { other::take(i); COPY((i * 64) as usize); }", "", "unknown"),
        ("for i in 0..8 { other::take(i); COPY(i * 64); }", "", "proved"), ("for i in 0..8 { check!(i); COPY((i * 64) as usize); }", "", "unknown"), ("for i in 0..8 { assert_ne!(i, 9); COPY((i * 64) as usize); }", "", "proved"),
        ("for i in 0..8 { assert!(i < N); COPY((i * 64) as usize); }", "const N: u8 = 8;", "unknown"), ("for i in 0..8 { assert!(i < N); COPY((i * 64) as usize); }", "const N: i64 = 8;", "proved"),
        ("for i in 0..4u8 { for j in 0..2u8 { COPY((i * 128 + j * 64) as usize); } }", "", "unknown"), ("for i in 0..4u8 { for j in 0..2u8 { COPY((i * 2 + j) as usize * 64); } }", "", "proved"),
        ("for i in 0..8 { COPY((i * S) as usize); }", "const S: u8 = 64;", "unknown"), ("for i in 0..8 { COPY((i * S) as usize); }", "const S: u32 = 64;", "proved"), ("for i in 0..8 { COPY(i * S); }", "const S: usize = 64;", "proved"),
        ("for i in 0..8i8 { COPY((i * 64) as usize); }", "", "unknown"), ("for i in (0..8u8).map(|i| i * 64) { COPY(i as usize); }", "", "unknown"), ("for i in (0..8u16).map(|i| i * 64) { COPY(i as usize); }", "", "proved"),
        ("for i in 0..8u8 { let j = i * 64; COPY(usize::from(j)); }", "", "unknown"), ("for i in 0..8u8 { let j = usize::from(i); COPY(j * 64); }", "", "proved"), ("for i in 0..8u8 { let j: usize = (i * 64).into(); COPY(j); }", "", "unknown"),
        ("for i in 0..8u8 { let j: usize = i.into(); COPY(j * 64); }", "", "proved"), ("let t: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7]; for i in t { COPY((i * 64) as usize); }", "", "unknown"),
        ("let t: [u16; 8] = [0, 1, 2, 3, 4, 5, 6, 7]; for i in t { COPY((i * 64) as usize); }", "", "proved"), ("let t = [0, 1, 2, 3, 4, 5, 6, 7]; for i in t { COPY((i * 64) as usize); }", "", "proved"),
        ("let t = [0, 1, 2, 3, 4, 5, 6, 7u8]; for i in t { COPY((i * 64) as usize); }", "", "unknown"), ("for i in T { COPY((i * 64) as usize); }", "const T: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];", "unknown"),
        ("for i in T { COPY((i * 64) as usize); }", "const T: [u16; 8] = [0, 1, 2, 3, 4, 5, 6, 7];", "proved"), ("for i in 0..8usize { let j: u8 = (i as u8) * 64; COPY(j as usize); }", "", "unknown"),
        ("for i in 0..8usize { let j: u16 = (i as u16) * 64; COPY(j as usize); }", "", "proved"), ("let n: u8 = 16; let m = n.pow(2) as usize / 32; for i in 0..m { COPY(i * 64); }", "", "unknown"),
        ("let n: u16 = 16; let m = n.pow(2) as usize / 32; for i in 0..m { COPY(i * 64); }", "", "proved"), ("let k: u8 = 128; for i in 0..8 { COPY(64 * i + (k << 1) as usize); }", "", "proved"),
        ("let k: u16 = 128; for i in 0..8 { COPY(64 * i + (k << 1) as usize); }", "", "refuted"), ("let m = (K << 1) as usize + 6; for i in 0..m { COPY(i * 64); }", "const K: u8 = 0x81;", "proved"),
        ("for i in 0..8 { COPY((at(i)) as usize); }", "const fn at(i: u8) -> u8 { i * 64 }", "unknown"), ("let m = at(4) as usize; for i in 0..m { COPY(i * 64); }", "const fn at(i: u8) -> u8 { i * 64 / 32 }", "unknown"),
        ("let m = at(4) as usize; for i in 0..m { COPY(i * 64); }", "const fn at(i: u16) -> u16 { i * 64 / 32 }", "proved"), ("let m = at() + 0; for i in 0..m { COPY(i * 64); }", "const fn at() -> usize { let mut a = 200u8; a += 100; a as usize / 32 }", "unknown"),
        ("let m = at() + 0; for i in 0..m { COPY(i * 64); }", "const fn at() -> usize { let mut a = 200; a = 250; let b: u8 = a; (a + 6) as usize / 32 }", "unknown"),
        ("let m = at() + 0; for i in 0..m { COPY(i * 64); }", "const fn at() -> usize { let mut a = 200; a = 250; let b: u16 = a; (a + 6) as usize / 32 }", "proved"),
        ("let n = 4; let z: u8 = n; let m = (n * 64) as usize / 32; for i in 0..m { COPY(i * 64); }", "", "unknown"), ("let n = 4; let z: u16 = n; let m = (n * 64) as usize / 32; for i in 0..m { COPY(i * 64); }", "", "proved"),
        ("let n = 4; let z = Q { n }; let m = (n * 64) as usize / 32; for i in 0..m { COPY(i * 64); }", "struct Q { n: u8 }", "unknown"), ("let n = 4; { let n: u8 = 3; } let m = (n * 64) as usize / 32; for i in 0..m { COPY(i * 64); }", "", "proved"),
        ("let q = Q { n: 4 }; let m = (q.n * 64) as usize / 32; for i in 0..m { COPY(i * 64); }", "struct Q { n: u8 }", "unknown"), ("let q = Q { n: 4 }; let m = (q.n * 64) as usize / 32; for i in 0..m { COPY(i * 64); }", "struct Q { n: u16 }", "proved"),
        ("let (a, b) = (4, 2u8); let m = (b * 128) as usize / 32; for i in 0..m { COPY(i * 64); }", "", "unknown"), ("let (a, b) = (4, 2u8); let m = (a * 128) as usize / 64; for i in 0..m { COPY(i * 64); }", "", "proved"),
        ("const S: u8 = 64; for i in 0..8 { COPY((i * S) as usize); }", "const S: usize = 64;", "unknown"), ("let mut i: u8 = 0; while i <= 224 { COPY(i as usize * 2); i += 32; }", "", "unknown"), ("let mut i: u8 = 0; while i <= 252 { COPY(i as usize); i += 4; }", "", "unknown"),
        ("let mut i: u8 = 0; while i < 224 { COPY(i as usize * 2); i += 32; } COPY(448);", "", "proved"), ("for i in (0..=224u8).step_by(32) { COPY(i as usize * 2); }", "", "proved"),
    ],
)  # fmt: skip
def test_a_kernel_is_followed_as_far_as_its_integers_stay_in_their_types(lines: str, before: str, status: str) -> None:
    assert told(lines, before) == status


@pytest.mark.parametrize(("kind", "status"), [("u8", "unknown"), ("u16", "proved")])
@pytest.mark.parametrize("call", ["put(ctx, x, &mut y, i)", "put::<4>(ctx, x, &mut y, i)"])
def test_a_parameter_is_of_the_type_that_its_function_declares(kind: str, status: str, call: str) -> None:
    generic = "<const N: usize>" if "::<" in call else ""
    move = "x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(AT).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![A, B = 16 #{!} 64]>(AT));"
    helper = f"fn put{generic}(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, i: {kind}) {{ {move.replace('AT', '(i * 128) as usize / 8')} }}"
    text = f"{helper}\n#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &{HBM}) -> {HBM} {{ let mut y = {NEW}; for i in 0..4 {{ {call}; }} y }}"
    found = {v.status.value for v in verdicts(plan(text))}
    assert found == {status}


@pytest.mark.parametrize(("kind", "status"), [("u8", "unknown"), ("u16", "proved"), ("usize", "proved")])
def test_a_constant_parameter_is_of_the_type_that_is_declared_for_it(kind: str, status: str) -> None:
    move = "x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(AT).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![A, B = 16 #{!} 64]>(AT));"
    helper = f"fn put<const N: {kind}>(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}) {{ for i in 0..4 {{ {move.replace('AT', '(N * 4) as usize / 32 * i')} }} }}"
    text = f"{helper}\n#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &{HBM}) -> {HBM} {{ let mut y = {NEW}; put::<128>(ctx, x, &mut y); y }}"
    assert {v.status.value for v in verdicts(plan(text))} == {status}


def test_a_start_that_may_leave_its_type_is_told_with_the_operation() -> None:
    move = "x.view().tile::<m![B], 16, m![A, B = 16 # 64]>(AT).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![A, B = 16 #{!} 64]>(AT));"
    for lines in (
        move.replace("AT", "(i * 128) as usize / 8"),
        f"let j = i * 128; {move.replace('AT', 'j as usize / 8')}",
    ):
        text = f"#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &{HBM}) -> {HBM} {{ let mut y = {NEW}; for i in 0..4u8 {{ {lines} }} y }}"
        (one,) = verdicts(plan(text))
        assert "`i * 128` may leave `u8`" in one.conditions[0]


WAYS_OUT = [
    "other::take(i);", "x.other(i);", "let q = Q { i };", "let q = other!(i);", "let q = &i; other::take(q);", "let t = [i]; other::take(t);", "let t = (i, 1); other::take(t);",
    "let t = [i, 1]; for j in t { other::take(j); }", "match 3 { n if other::take(i) => {} _ => {} }", "match i { other::N => {} _ => {} }", "let c = |n| other::take(n + i);", "let t = 0..i; other::take(t);",
    "let j = other::give() + i;", "let j: Option<_> = other::give(i);", "let t: Other = [i].into();", "if i == other::N {}", "let mut j = i; other::take(&mut j);", "let t = [i]; let u = other::one_of(t);",
    "let mut t = [i]; t = other::give();", "for j in 0..i { other::take(j); }", "let (a, b) = (i, 2); other::take(a);", "let j = if x.is() { i } else { other::give() };", "let v = vec![i];", "fn own<T>(n: T) {} own(i);", "let t = [[i]]; other::take(t);",
]  # fmt: skip


@pytest.mark.parametrize("use", WAYS_OUT)
def test_what_unknown_code_gets_has_no_type_that_is_known(use: str) -> None:
    """It may be `u8`; where the variable is an argument of `tile` too, or is declared, it is of that type."""
    loop = "let i = 4; {} let m = (i * 64) as usize / 32; for n in 0..m {{ COPY(n * 64); }}"
    assert told(loop.format(use)) == "unknown"
    assert (
        told(loop.format(use).replace("let i", "let i: u16")) != "unknown"
        or "x." in use
        or "match" in use
        or "if " in use
    )


@pytest.mark.parametrize(
    ("lines", "before"),
    [
        ("let i = 4; {{ const S: {0} = 1; let j = i + S; }}", ""), ("{{ const S: u16 = 1; let q = S; }} let i = 4; let j = i + S;", "const S: {0} = 1;"),
        ("{{ const S: u16 = 1; let q = 3; }} let i = 4; if i == S {{}}", "const S: {0} = 1;"), ("let i = 4; take(i);", "fn take(i: {0}) {{}}"),
    ],
)  # fmt: skip
def test_a_name_gives_the_type_that_it_has_where_it_stands(lines: str, before: str) -> None:
    rest = " let m = (i * 64) as usize / 32; for n in 0..m { COPY(n * 64); }"
    assert [told(lines.format(kind) + rest, before.format(kind)) for kind in ("u8", "u16")] == ["unknown", "proved"]


@pytest.mark.parametrize(
    "lines",
    [
        "fn take(i: u8) {} let i = 4; take(i);", "let i = 4; { fn take(i: u8) {} take(i); }", "use inner::take; let i = 4; take(i);", "use inner::*; let i = 4; take(i);",
        "type B = u8; let i = 4; let j: B = i;", "names!(); let i = 4; take(i);", "let n: u16 = 4; bound!(n); let i = 4; let j = i + n;",
    ],
)  # fmt: skip
def test_a_name_of_a_block_hides_those_around(lines: str) -> None:
    before = "fn take(i: u16) {}\ntype B = u16;\nmod inner { pub fn take(i: u8) {} }\nmacro_rules! names { () => { fn take(i: u8) {} } }\nmacro_rules! bound { ($n:ident) => { let $n: u8 = 1; } }\n"
    assert told(f"{lines} let m = (i * 64) as usize / 32; for n in 0..m {{ COPY(n * 64); }}", before) == "unknown"


def test_what_a_const_fn_gives_is_of_its_type() -> None:
    before = "const fn at() -> {} {{ 200 }}"
    lines = "let m = (at() + 56) as usize / 32; for n in 0..m {{ COPY(n * 64); }}".replace("{{", "{").replace("}}", "}")
    assert [told(lines, before.format(kind)) for kind in ("u8", "u16")] == ["unknown", "proved"]


def test_elements_keep_the_type_of_their_list() -> None:
    own = elements(Sequence(Numbers(0, 7, 1, type="u8"), 8)) or ()
    assert [one.type for one in own if isinstance(one, Numbers)] == ["u8"] * 8
    both = listed((*own, Numbers(3, 3))).part
    assert isinstance(both, Numbers)
    assert both.type == "u8"


def test_a_macro_binds_what_its_range_says() -> None:
    move = "$x.view().tile::<m![D], 64, m![D = 64 # 512, B]>((i * 64) as usize).to_hbm_view(&mut $c.tdma, $y.view_mut().tile::<m![D], 64, m![D = 64 #{!} 512, B]>((i * 64) as usize))"
    before = "macro_rules! all { ($x:expr, $y:expr, $c:expr) => { for i in 0..8KIND { " + move + "; } } }\n"
    assert [told("all!(x, y, ctx);", before.replace("KIND", kind)) for kind in ("u8", "u16")] == ["unknown", "proved"]


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ("for i in 0..8 { let j = i * 64; AT(usize::from(j)); }", "unknown"), ("for i in 0..8 { AT(usize::from(i * 64)); }", "unknown"), ("for i in 0..8 { let j: usize = (i * 64).into(); AT(j); }", "unknown"),
        ("for i in 0..8 { let j = i * 64; let k: usize = j.into(); AT(k); }", "unknown"), ("for i in 0..8 { let k: usize = i.into(); AT(k * 64); }", "proved"), ("for i in 0..8 { AT(usize::from(i) * 64); }", "proved"),
        ("for i in 0..8 { AT(i * 64); }", "proved"), ("for i in 0..8 { let j = i * 64; AT(j); }", "proved"), ("for i in 0..8 { AT((i * 64) as usize); }", "unknown"), ("let mut i = 0; while i < 512 { AT(i); i += 64; }", "proved"),
        ("for i in 0..8 { match i * 64 { 448 => { AT(448); } _ => { AT(i * 64); } } }", "proved"), ("for i in 0..8 { match i { 7 => { AT(448); } _ => { AT(i * 64); } } }", "proved"),
    ],
)  # fmt: skip
def test_in_a_text_that_a_macro_made_a_variable_has_a_type_only_where_its_place_gives_it(
    lines: str, status: str
) -> None:
    move = "$x.view().tile::<m![D], 64, m![D = 64 # 512, B]>({0}).to_hbm_view(&mut $c.tdma, $y.view_mut().tile::<m![D], 64, m![D = 64 #{{!}} 512, B]>({0}))"
    text = re.sub(r"AT(\(.*?\));", lambda found: move.format(found[1]) + ";", lines)
    before = "macro_rules! all { ($x:expr, $y:expr, $c:expr) => { " + text + " } }\n"
    assert told("all!(x, y, ctx);", before) == status


@pytest.mark.parametrize("first", ["u16", "u8"])
def test_a_parameter_of_a_generic_type_has_none_that_another_call_gave_it(first: str) -> None:
    move = "x.view().tile::<m![B], 16, m![A, B = 16 # 64]>((i * 128) as usize / 32).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 16, m![A, B = 16 #{!} 64]>((i * 128) as usize / 32));"
    helper = f"fn put<X>(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, i: X) {{ {move} }}"
    calls = " ".join(f"put::<{'u8' if at else first}>(ctx, x, &mut y, {at});" for at in (0, 4, 8, 12))
    text = (
        f"{helper}\n#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &{HBM}) -> {HBM} {{ let mut y = {NEW}; {calls} y }}"
    )
    assert any(v.status.value == "unknown" or v.conditions for v in verdicts(plan(text)))


OWN_GET = "trait Own {{ fn {}(self) -> usize; }}\nimpl Own for usize {{ fn {}(self) -> usize {{ 0 }} }}"


@pytest.mark.parametrize("use", ["i.get() * 64", "i.clone() * 64"])
def test_a_method_of_a_number_is_the_standard_librarys_only_where_the_input_has_none(use: str) -> None:
    name = use[2 : use.index("(")]
    lines = f"for i in 0..8usize {{ COPY({use}); }}"
    every = [told(lines, before) for before in ("", OWN_GET.format("other", "other"), OWN_GET.format(name, name))]
    assert every == ["proved", "proved", "unknown"]


@pytest.mark.parametrize(("name", "status"), [("get", "unknown"), ("other", "proved")])
def test_a_macro_in_a_block_may_declare_a_method_of_a_number(name: str, status: str) -> None:
    before = "macro_rules! own { ($n:ident) => { trait Own { fn $n(self) -> usize; } impl Own for usize { fn $n(self) -> usize { 0 } } } }"
    assert told(f"own!({name}); for i in 0..8usize {{ COPY(i.get() * 64); }}", before) == status


@pytest.mark.parametrize(
    ("own", "status"),
    [
        ("trait Len { fn  count(&self) -> u8; }", "unknown"), ("trait Len { fn size(&self) -> u8; }", "proved"), ("fn count() {}", "proved"),
        ("macro_rules! lens { ($n:ident) => { trait Len { fn $n(&self) -> u8; } } }\nlens!(count);", "unknown"),
    ],
)  # fmt: skip
def test_a_method_that_the_input_may_declare_gives_no_type_that_is_known(own: str, status: str) -> None:
    assert (
        told("let i = 4; let b = i > x.count(); let m = (i * 64) as usize / 32; for n in 0..m { COPY(n * 64); }", own)
        == status
    )


@pytest.mark.parametrize(("method", "known"), [("checked_add(3).unwrap()", True), ("checked_ilog2().unwrap()", False), ("wrapping_add_signed(3)", False), ("saturating_rem(3)", False)])  # fmt: skip
def test_a_method_gives_the_type_of_its_number_only_where_it_is_known_to(method: str, known: bool) -> None:
    lines = f"let a: u16 = 9; let i = 4; let b = i > a.{method}; let m = (i * 64) as usize / 32; for n in 0..m {{ COPY(n * 64); }}"
    assert told(lines) == ("proved" if known else "unknown")


@pytest.mark.parametrize(
    "lines",
    ["match i { K => {} _ => {} }", "if let K = i {}", "let K = i else { panic!() };", "while let K = i { break; }", "match (i, 1) { (K, 1) => {} _ => {} }", 'println!("{}", show(i));', 'assert!(true, "{}", show(i));', "if i < cfg::SIZE {}", "if i < cfg::BITS {}"],
)  # fmt: skip
def test_what_patterns_constants_and_printed_calls_say_of_a_type_counts(lines: str) -> None:
    before = "const K: {0} = 5; fn show(n: {0}) -> {0} {{ n }} mod cfg {{ pub const SIZE: {0} = 9; pub const BITS: {0} = 9; }}"
    rest = " let m = (i * 64) as usize / 32; for n in 0..m { COPY(n * 64); }"
    assert [told(f"let i = 4; {lines}{rest}", before.format(kind)) == "proved" for kind in ("u8", "u16")] == [
        False,
        True,
    ]


@pytest.mark.parametrize(("head", "width"), [("impl<const K: u8> S<K> { fn go", "u8"), ("impl<const K: u32> S<K> { fn go", "u32"), ("impl S<3> { fn go<const K: u8>", "u8")])  # fmt: skip
def test_a_constant_of_an_impl_gives_its_type_to_the_functions_within(head: str, width: str) -> None:
    body = "let s = 128; let big = s > K; for i in 0..4 { COPY(i * 64); } for i in 0..4 { COPY(i * 64 + (s << 1) as usize); }"
    before = (
        f"struct S<const K: {width}>;\n{head}(ctx: &mut Context, x: &{GRID}, y: &mut {GRID}) {{ {copied(body)} }} }}"
    )
    assert told(f"S::<3>::go{'::<3>' if 'go<' in head else ''}(ctx, x, &mut y);", before) == (
        "proved" if width == "u32" else "refuted"
    )
