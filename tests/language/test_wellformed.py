"""What is wrong with a mapping: each problem once, at its place, with the fix; none where nothing is wrong."""

import itertools

import numpy as np
import pytest

from dmaverify.language.expr import Expr, Kind, Modulo, Padding, Pair, Stride, Symbol
from dmaverify.language.meaning import Index, cell, cells_array, finalize_array
from dmaverify.language.parse import parse
from dmaverify.language.wellformed import SIZE_LIMIT, problems

AXES = {"A": 8, "B": 3, "C": 3, "M": 2, "Row": 4, "Big": 2**32, "Half": 2**31}


def of(text: str) -> list[tuple[str, str]]:
    return [(found.code, found.span.text) for found in problems(parse(text, AXES), AXES)]


@pytest.mark.parametrize(
    ("text", "code", "at", "message", "hint"),
    [
        ("B, A / 3", "indivisible", "A / 3", "3 does not divide 8, the size of `A`", "`/ 2` or `/ 4`"),
        ("A % 5", "indivisible", "A % 5", "5 does not divide 8", "`% 4` or `% 8`"),
        ("A / 100", "indivisible", "A / 100", "100 does not divide 8", "`A # 100 / 100`"),
        ("[A, B] / 5", "indivisible", "[A, B] / 5", "the size of `A, B`", "`[A, B] # 25 / 5`"),
        ("A / 0", "zero-divisor", "A / 0", "divides by 0", "`/ 1`"),
        ("A % 0", "zero-divisor", "A % 0", "divides by 0", "`% 1`"),
        ("0, A", "size-zero", "0", "`0` has no positions", "write `1`"),
        ("A = 0", "size-zero", "A = 0", "has no positions", "`= 1`"),
        ("A # 0", "size-zero", "A # 0", "has no positions", "`# 8` or more"),
        ("A @ 8", "drop-beyond", "A @ 8", "drops 8 positions, and `A` has only 8 positions", "`@ 7`"),
        ("A @ 9", "drop-beyond", "A @ 9", "drops 9 positions", "`@ 7`"),
        ("1 @ 1", "drop-beyond", "1 @ 1", "drops 1 position", "leave the `@` out"),
        ("Big, Big", "overflow", "Big, Big", "18446744073709551616 positions", "smaller"),
        ("$(A:0, B:1)", "zero-weight", "$(A:0, B:1)", "weight 0", "1 or more"),
        ("$(Big:4294967296, Big:1)", "overflow", "$(Big:4294967296, Big:1)", "more than 64 bits", "smaller"),
        ("Ro, A", "unknown-axis", "Ro", "the axis `Ro` is not declared", "did you mean `Row`?"),
        ("ROW", "unknown-axis", "ROW", "not declared", "did you mean `Row`?"),
        ("Xyz / 2", "unknown-axis", "Xyz", "not declared", "the axes here are `A`, `B`"),
    ],
)
def test_what_has_no_meaning_is_fatal(text, code, at, message, hint):
    (found,) = problems(parse(text, AXES), AXES)
    assert (found.code, found.span.text, found.fatal, found.warning) == (code, at, True, False)
    assert message in found.message
    assert hint in found.hint


@pytest.mark.parametrize(
    ("text", "code", "at", "message", "hint", "warning"),
    [
        ("A # 4", "truncated", "A # 4", "to its first 4", "`# 8` or more", False),
        ("A # 16 # 12, B", "truncated", "A # 16 # 12", "which has 16 positions", "`= 12`", False),
        ("A = 16", "out-of-bounds", "A = 16", "the last 8 are out of bounds", "`# 16`", False),
        ("A ! 9", "out-of-bounds", "A ! 9", "9 positions of `A`, which has 8", "`# 9`", False),
        ("[A, B] / 2", "recombined", "[A, B] / 2", "cuts inside a term of `A, B`", "`/ 3`", True),
        ("C #{0} 4 / 2", "recombined", "C #{0} 4 / 2", "cuts inside a term of `C #{0} 4`", "cut the terms", True),
    ],
)
def test_what_has_a_meaning_that_is_rarely_meant_is_flagged_but_not_fatal(text, code, at, message, hint, warning):
    (found,) = problems(parse(text, AXES), AXES)
    assert (found.code, found.span.text, found.fatal, found.warning) == (code, at, False, warning)
    assert message in found.message
    assert hint in found.hint


@pytest.mark.parametrize(
    "text",
    [
        "A / 8, A % 1, A / 1",
        "A = 8, A # 8, A = 1",
        "A @ 7, A @ 0",
        "1",
        "1 # 64 / 8",
        "C # 4 / 2, C # 4 % 2",
        "C # 64 / 8",
        "[A, B] / 3, [A, B] % 3",
        "[A, B] / 6, [A, B] % 12",
        "[A / 2, A % 2] / 4",
        "[A, B] # 27 / 3",
        "A #{0} 16 / 4",
        "C #{!} 8 / 4",
        "[A, B] # 31 / 31 % 1 / 1",
        "Big, Half",
        "$(A:1, B:2, 1:0)",
    ],
)
def test_a_sound_mapping_has_no_problem(text):
    assert of(text) == []


def test_the_largest_size_is_just_below_64_bits():
    axes = {"A": SIZE_LIMIT - 1, "B": SIZE_LIMIT}
    assert problems(parse("A", axes), axes) == ()
    assert [found.code for found in problems(parse("B", axes), axes)] == ["overflow"]


def test_problems_come_in_the_order_of_the_text_and_each_once():
    assert of("Q, A / 3 # 4, B % 2, A = 9") == [
        ("unknown-axis", "Q"),
        ("indivisible", "A / 3"),
        ("indivisible", "B % 2"),
        ("out-of-bounds", "A = 9"),
    ]


def test_what_is_wrong_below_is_not_reported_again_above():
    assert of("[A / 3, B] / 7 @ 99") == [("indivisible", "A / 3")]
    assert of("A / 3 / 0") == [("indivisible", "A / 3"), ("zero-divisor", "A / 3 / 0")]
    assert of("A / 3 = 4 % 3") == [("indivisible", "A / 3"), ("indivisible", "A / 3 = 4 % 3")]


def test_a_problem_in_a_name_is_reported_once_for_all_its_uses():
    assert of("let X = A / 3 in X, X") == [("indivisible", "X")]
    assert of("let X = [A / 3, B] in X, X") == [("indivisible", "A / 3")]
    assert of("A / 3, A / 3") == [("indivisible", "A / 3")] * 2


def test_an_axis_declared_with_size_0_is_not_unknown():
    (found,) = problems(parse("A", {"A": 0}), {"A": 0})
    assert (found.code, found.fatal) == ("size-zero", True)


def test_without_declared_axes_those_of_the_mapping_are_suggested():
    (found,) = problems(parse("Row, Roww", AXES))
    assert found.hint == "did you mean `Row`?"
    (found,) = problems(parse("Row", {}))
    assert found.hint == "declare it with its size"


def test_a_hint_names_the_nearest_divisors():
    axes = {"A": 96}
    for by, expected in [(5, "`/ 4` or `/ 6`"), (7, "`/ 6` or `/ 8`"), (95, "`/ 48` or `/ 96`"), (97, "`/ 96`,")]:
        (found,) = problems(parse(f"A / {by}", axes), axes)
        assert f"write {expected}" in found.hint


def test_a_hint_for_a_huge_size_does_not_search_for_ever():
    axes = {"A": 10**18 + 9}  # a prime
    (found,) = problems(parse("A / 500000000000000000", axes), axes)
    assert "pad first" in found.hint


def test_many_problems_in_a_large_mapping_are_all_found():
    block = "[" + ", ".join(["[A / 3, B / 2, A % 5]"] * 30) + "]"
    found = problems(parse(", ".join([block] * 30), AXES), AXES)
    assert len(found) == 30 * 30 * 3


def halves_meet(expr: Expr, by: int) -> bool:
    """Whether `e / by, e % by` has the finalized cells of e."""
    positions = np.arange(expr.size)
    halves = Pair(Stride(expr, by), Modulo(expr, by))
    again, whole = (finalize_array(cells_array(one, positions), AXES) for one in (halves, expr))
    same = (again.kind == whole.kind).all()
    return bool(same and all((again.coords[axis] == whole.coords[axis]).all() for axis in whole.coords))


def compounds() -> list[Expr]:
    a, b, m = Symbol("A", 8), Symbol("B", 3), Symbol("M", 2)
    parts: list[Expr] = [a, b, m, Stride(a, 2), Modulo(a, 4)]
    parts += [Padding(inner, to, kind) for inner, to in ((b, 4), (m, 4)) for kind in (Kind.TOP, Kind.ZERO)]
    pairs: list[Expr] = [Pair(left, right) for left, right in itertools.product(parts, repeat=2)]
    padded: list[Expr] = [Padding(one, one.size + 4) for one in pairs]
    triples: list[Expr] = [Pair(one, other) for one in (b, m) for other in pairs[:40]]
    return parts + pairs + padded + triples


def test_a_cut_that_is_not_flagged_recombines():
    """The warning is never missing: every unflagged cut of these compounds adds up to the compound again."""
    flagged = clean = harmless = 0
    for expr in compounds():
        for by in (k for k in range(1, expr.size + 1) if expr.size % k == 0):
            found = problems(Stride(expr, by), AXES)
            assert {problem.code for problem in found} <= {"recombined"}
            assert [p.code for p in found] == [p.code for p in problems(Modulo(expr, by), AXES)]
            meets = halves_meet(expr, by)
            assert meets or found, (str(expr), by)
            flagged += bool(found) and not meets
            clean += not found
            harmless += bool(found) and meets
    assert flagged > 400
    assert clean > 1000
    assert harmless < flagged / 4


def test_the_flagged_example_of_the_documents_does_not_recombine():
    expr = Pair(Symbol("M", 2), Symbol("B", 3))
    assert problems(Stride(expr, 2))[0].code == "recombined"
    assert not halves_meet(expr, 2)
    assert cell(expr, 3) == Index((("B", 0), ("M", 1)))
