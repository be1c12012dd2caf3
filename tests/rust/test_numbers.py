"""Constant expressions and loop variables as numbers; what is not known is None, whatever the text."""

# ruff: noqa: E501  (kernel text reads best on one line)

import random

import pytest

from dmaverify.machines.rngd.rust.numbers import number_of
from dmaverify.machines.rngd.rust.values import Numbers

NAMES = {"N": Numbers.of(8), "i": Numbers(0, 6, 2), "j": Numbers(0, 1, 1)}


def look(kind: str, text: str) -> Numbers | None:
    if kind == "path":
        return NAMES.get(text)
    return Numbers.of({"size": 32, "bytes": 2}[kind]) if text in ("m![A]", "A", "bf16") else None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("0x10 + 1_000", 1016), ("7usize / 2", 3), ("7 % 4 as usize", 3),
        ("1 << 4 | 3", 19), ("N * N - 1", 63), ("<m![A]>::SIZE / 8", 4), ("A::SIZE * size_of::<bf16>()", 64),
        ("const { N + 1 }", 9), ("-3 + N", 5), ("N.min(3)", 3), ("N.div_ceil(3)", 3), ("core::mem::size_of::<bf16>()", 2),
        ("{ N }", 8), (" 4 ", 4), ("4 // rows", 4), ("1" + " + 1" * 400, 401), ("8 - 2 - 1", 5), ("std::cmp::max(N, 9)", 9),
    ],
)  # fmt: skip
def test_an_expression_has_the_value_that_rust_gives_it(text: str, value: int) -> None:
    found = number_of(text, look)
    assert found is not None
    assert found.single == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "M",
        "1 +",
        "1 / 0",
        "f(3)",
        "N as",
        "((((",
        "a.b",
        "1 << 999",
        "<m![Q]>::SIZE",
        "9" * 40,
        "1); g(2",
        "1, 2",
        "2; 3",
        "1)",
        "3 < 4",
        "{ 3; }",
        "1.5",
    ],
)
def test_what_is_not_known_is_none(text: str) -> None:
    assert number_of(text, look) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("i", (0, 6, 2)),
        ("i * 4 + 1", (1, 25, 8)),
        ("i + j", (0, 7, 1)),
        ("i / 2", (0, 3, 1)),
        ("i % 2", (0, 0, 0)),
        ("8 - i", (2, 8, 2)),
    ],
)
def test_a_loop_variable_is_all_its_values_at_once(text: str, wanted: tuple[int, int, int]) -> None:
    found = number_of(text, look)
    assert found is not None
    assert (found.low, found.high) == wanted[:2]
    values = {eval(text.replace("/", "//"), {"i": i, "j": j}) for i in (0, 2, 4, 6) for j in (0, 1)}
    assert min(values) == found.low
    assert max(values) == found.high
    assert all((value - found.low) % (found.step or 1) == 0 for value in values)


def expression(drawn: random.Random, depth: int) -> str:
    if depth == 0 or drawn.random() < 0.2:
        return str(drawn.choice([1, 2, 3, 7, 12]))
    inner = f"{expression(drawn, depth - 1)} {drawn.choice('+*/%')} {expression(drawn, depth - 1)}"
    return f"({inner})" if drawn.random() < 0.4 else inner


def test_random_expressions_agree_with_python() -> None:
    drawn = random.Random(11)
    seen = 0
    for _ in range(300):
        text = expression(drawn, 3)
        found = number_of(text, look)
        try:
            wanted = eval(text.replace("/", "//"))
        except ZeroDivisionError:
            assert found is None, text
            continue
        seen += 1
        assert found is not None, text
        assert found.single == wanted, text
    assert seen > 250


@pytest.mark.parametrize(
    ("text", "ends"),
    [("15 * i + 4 * j - 16", True), ("20 * i + 21 * (3 - i)", False), ("7 * (i / 2) + 5 * j", True), ("30 * (i / 2) + 10 * (3 - i)", False)],
)  # fmt: skip
def test_numbers_of_different_loops_reach_their_ends_together(text: str, ends: bool) -> None:
    loops = {"i": Numbers(0, 3, 1, True, frozenset({5})), "j": Numbers(0, 3, 1, True, frozenset({6}))}
    found = number_of(text, lambda _, name: loops.get(name))
    assert found is not None
    assert (found.exact, found.reached) == (False, ends)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("value", [0, 1, 44, 127, 128, 255, 256, 300, 65535, 70000, 2**31, 2**32 + 4, 2**63, 2**64 + 3])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_cast_keeps_the_low_bits(bits: int, value: int, sign: int) -> None:
    text = f"({value})" if sign > 0 else f"(0 - {value}i128)"
    low = sign * value % (1 << bits)
    for kind, wanted in (("u", low), ("i", low - (low >> bits - 1 << bits))):
        found = number_of(f"{text} as {kind}{bits}", lambda *_: None)
        assert found is not None
        assert found.single == wanted
