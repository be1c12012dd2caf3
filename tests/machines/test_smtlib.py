"""The SMT-LIB subset: what it means (against z3), what it refuses (with the line), which divisors it does not trust."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import z3

from dmaverify.errors import InputError, Source
from dmaverify.targets.smtlib import Literal, Sort, read_functions
from dmaverify.targets.smtlib_eval import (
    compile_bool,
    compile_function,
    euclid_div,
    euclid_mod,
    infix,
    names_in,
    unguarded_divisors,
)

MEANINGS = [
    "(define-fun f ((a Int) (b Int)) Bool (= 0 (mod a 7)))",
    "(define-fun f ((a Int) (b Int)) Bool (< (div a (- 3)) b))",
    "(define-fun f ((a Int) (b Int)) Bool (= (mod a (- 5)) (mod b 5)))",
    "(define-fun f ((a Int) (b Int)) Bool (<= 1 a b 9))",
    "(define-fun f ((a Int) (b Int)) Bool (= a b 3))",
    "(define-fun f ((a Int) (b Int)) Bool (distinct a b 2))",
    "(define-fun f ((a Int) (b Int)) Bool (=> (> a 0) (> b 0) (> a b)))",
    "(define-fun f ((a Int) (b Int)) Bool (> (abs (- a b)) (+ 1 2 (* 2 a))))",
    "(define-fun f ((a Int) (b Int)) Bool (ite (= a b) (> a 1) (not (>= b (- a 1 2)))))",
    "(define-fun f ((a Int) (b Int)) Bool (let ((a b) (b a)) (let ((c (- a b))) (< c (ite (> a 0) a b)))))",
    "(define-fun f ((a Int) (b Int)) Bool (= (let ((c (+ a 1))) (* c c)) (+ (let ((c b)) c) a)))",
    "(define-fun f ((a Int) (b Int)) Bool (or (= b 0) (= 0 (mod a b)) (= (div a b 2) 1)))",
    "(define-fun f ((a Int) (b Int)) Bool (= (= a 1) (> b 2) true))",
    "(define-fun f ((a Int) (b Int)) Bool (and (or (= a 1) (= a 2)) (distinct b a) (<= (- a) b)))",
]


GRID = [(a, b) for a in range(-5, 6) for b in range(-5, 6)]


def compile_predicate(text: str) -> Callable[..., bool]:
    """The one Bool `define-fun` of `text` as a Python function of its parameters, in order.

    Raises InputError where the text is not that, or where a divisor could be zero.
    """
    functions = read_functions(Source("<rule>", text))
    if len(functions) != 1 or functions[0].sort is not Sort.BOOL:
        raise InputError("a predicate is exactly one `define-fun` of sort Bool")
    for divisor in unguarded_divisors(functions[0]):
        raise InputError(f"the divisor {infix(divisor)} could be zero", functions[0].span)
    return compile_bool(functions[0])


def by_z3(text: str) -> list[bool]:
    """The answers on the grid, each by substitution into the parsed text; the texts keep `b = 0` from divisors."""
    context = z3.Context()
    query = f"{text}\n(declare-const a Int) (declare-const b Int) (assert (f a b))"
    (claim,) = z3.parse_smt2_string(query, ctx=context)
    names = z3.Int("a", ctx=context), z3.Int("b", ctx=context)
    answers = []
    for point in GRID:
        values = [z3.IntVal(value, ctx=context) for value in point]
        answer = z3.simplify(z3.substitute(claim, *zip(names, values, strict=True)))
        assert z3.is_true(answer) or z3.is_false(answer)
        answers.append(z3.is_true(answer))
    return answers


@pytest.mark.parametrize("text", MEANINGS)
def test_python_and_z3_agree_on_every_operator(text: str) -> None:
    predicate = compile_predicate(text)
    answers = [predicate(a, b) for a, b in GRID]
    assert answers == by_z3(text)
    assert len(set(answers)) == 2, "the grid must show both answers"


def read(text: str):
    return read_functions(Source("rules.smt2", text))[0]


@pytest.mark.parametrize("a", [-9, -8, -1, 0, 1, 7, 8, 9])
@pytest.mark.parametrize("b", [-8, -3, -1, 1, 3, 8])
def test_division_is_euclidean(a: int, b: int) -> None:
    assert a == b * euclid_div(a, b) + euclid_mod(a, b)
    assert 0 <= euclid_mod(a, b) < abs(b)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("(assert true)", 1, "define-fun"),
        ("; fine\n(define-fun f ((a Int)) Bool (forall ((x Int)) true))", 2, "forall"),
        ("(define-fun f ((a Int)) Bool\n  (bvand a a))", 2, "`bvand` is not an operator"),
        ("(define-fun f ((a Int)) Bool\n  (= a b))", 2, "'b' is neither a parameter"),
        ("(define-fun f ((a Int)) Bool\n  (= a -1))", 2, "not an SMT-LIB numeral"),
        ("(define-fun f ((a Int)) Bool (= a 1.5))", 1, "integers only"),
        ("(define-fun f ((a Int)) Bool (= a #x10))", 1, "integers only"),
        ("(define-fun f ((a Real)) Bool (= a a))", 1, "Int or Bool"),
        ("(define-fun f ((a Int)) Bool\n\n  (+ a 1))", 3, "declared Bool, its body is Int"),
        ("(define-fun f ((a Int)) Bool (and a true))", 1, "takes Bool here"),
        ("(define-fun f ((a Int)) Bool (mod a 2 3))", 1, "takes 2 arguments"),
        ("(define-fun f ((a Int)) Bool (= a))", 1, "at least 2"),
        ("(define-fun f ((a Int)) Bool (ite a a a))", 1, "condition of `ite`"),
        ("(define-fun f ((a Int)) Bool (= 1 (ite true 1 false)))", 1, "one sort"),
        ("(define-fun f ((a Int) (a Int)) Bool true)", 1, "twice"),
        ("(define-fun f () Bool true)\n(define-fun f () Bool true)", 2, "defined twice"),
        ("(define-fun f ((a Int)) Bool (let ((x 1) (x 2)) true))", 1, "binds 'x' twice"),
        ("(define-fun f ((a Int)) Bool (= a 1)", 1, "never closed"),
        ("(define-fun f ((a Int)) Bool (= a 1)))", 1, "closes nothing"),
        ("(define-fun f ((a Int)) Bool ((= a 1)))", 1, "operator must stand first"),
        ("(define-fun mod ((a Int)) Bool true)", 1, "meaning of its own"),
        ('(define-fun f ((a Int)) Bool "x")', 1, "starts nothing"),
        ("(define-fun f ((a Int)) Bool " + "(not " * 200 + "true" + ")" * 201, 1, "deeper than"),
        ("f", 1, "define-fun"),
    ],
)
def test_what_is_not_in_the_subset_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(InputError) as refusal:
        read_functions(Source("rules.smt2", text))
    assert says in refusal.value.message
    assert refusal.value.span is not None
    assert refusal.value.span.line == line


@pytest.mark.parametrize(
    ("body", "unguarded"),
    [
        ("(= 0 (mod n 8))", []),
        ("(= 0 (mod n 0))", ["0"]),
        ("(= 0 (mod n d))", ["d"]),
        ("(= 0 (div n 2 d))", ["d"]),
        ("(= 0 (mod n (+ d 1)))", ["d + 1"]),
        ("(= 0 (mod n (* 8 8)))", []),
        ("(or (= d 0) (= 0 (mod n d)))", []),
        ("(or (= d 1) (= 0 (mod n d)))", ["d"]),
        ("(or (<= d 1) (= 0 (mod n d)))", []),
        ("(or (< d 1) (= 0 (mod n d)))", []),
        ("(or (< d 0) (= 0 (mod n d)))", ["d"]),
        ("(or (= 0 (mod n d)) (= d 0))", ["d"]),
        ("(and (>= d 1) (= 0 (mod n d)))", []),
        ("(and (>= d 0) (= 0 (mod n d)))", ["d"]),
        ("(and (> 0 d) (= 0 (mod n (abs d))))", []),
        ("(=> (distinct 0 d) (= 0 (mod n (- d))))", []),
        ("(=> (not (= d 0)) (= 0 (mod n d)))", []),
        ("(ite (= d 0) true (= 0 (mod n d)))", []),
        ("(ite (= d 0) (= 0 (mod n d)) true)", ["d"]),
        ("(let ((e 4)) (= 0 (mod n e)))", []),
        ("(and (> d 0) (let ((d n)) (= 0 (mod n d))))", ["d"]),
    ],
)
def test_a_divisor_that_could_be_zero_is_reported(body: str, unguarded: list[str]) -> None:
    function = read(f"(define-fun f ((n Int) (d Int)) Bool {body})")
    assert [infix(node) for node in unguarded_divisors(function)] == unguarded


def test_a_divisor_known_to_be_positive_needs_no_guard() -> None:
    function = read("(define-fun f ((n Int) (d Int)) Bool (= 0 (mod n d)))")
    assert unguarded_divisors(function, frozenset({"d"})) == ()
    assert [infix(node) for node in unguarded_divisors(function, frozenset({"n"}))] == ["d"]


def test_compile_predicate_refuses_a_divisor_that_could_be_zero() -> None:
    with pytest.raises(InputError, match="the divisor d could be zero"):
        compile_predicate("(define-fun f ((n Int) (d Int)) Bool (= 0 (mod n d)))")


@pytest.mark.parametrize(
    "text", ["", "(define-fun f ((n Int)) Int n)", "(define-fun f () Bool true) (define-fun g () Bool true)"]
)
def test_a_predicate_is_exactly_one_bool_function(text: str) -> None:
    with pytest.raises(InputError, match="exactly one"):
        compile_predicate(text)


def test_a_function_keeps_its_text_name_and_parameters() -> None:
    text = "(define-fun |rngd/x-1| ((a Int) (b Bool)) Int (ite b a 0))"
    function = read(f"; comment\n{text} ; end")
    assert (function.name, function.ports, function.sort, function.text) == ("rngd/x-1", ("a", "b"), Sort.INT, text)
    assert [param.sort for param in function.params] == [Sort.INT, Sort.BOOL]
    assert names_in(function.body) == {"a", "b"}
    assert function.body.args[2] == Literal(0, Sort.INT)
    assert compile_function(function)(7, True) == 7


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("(= 0 (mod a 8))", "a mod 8 = 0"),
        ("(<= 1 a b)", "1 <= a <= b"),
        ("(and (or (= a 1) (= b 2)) (not (= a b)))", "(a = 1 or b = 2) and not (a = b)"),
        ("(= (* 2 (+ a b)) (- a))", "2 * (a + b) = -a"),
        ("(=> (distinct a b) (> (abs a) (ite (= a 1) 2 3)))", "a != b => |a| > (if a = 1 then 2 else 3)"),
        ("(let ((c a)) (< c b))", "(c < b where c = a)"),
    ],
)
def test_formulas_read_as_people_write_them(body: str, shown: str) -> None:
    assert infix(read(f"(define-fun f ((a Int) (b Int)) Bool {body})").body) == shown
