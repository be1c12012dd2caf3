"""The laws of the language on random trees and random text (the profile of tests/conftest.py is derandomized)."""

from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.expr import (
    ONE,
    Broadcast,
    Drop,
    Expr,
    Kind,
    Modulo,
    Padding,
    Pair,
    Resize,
    Stride,
    Symbol,
    Window,
    walk,
)
from dmaverify.language.meaning import Cell, Index, cell, cells, combine, finalize
from dmaverify.language.numbers import largest_divisor
from dmaverify.language.parse import parse, parse_axes
from dmaverify.language.wellformed import problems

AXES = {"A": 8, "B": 4, "C": 3, "D": 6, "A'": 16, "Wp": 1, "X_1": 5}
PARAMS = {"i": 1, "two": 2}
NUMBERS = st.integers(0, 12) | st.sampled_from([10**6, 10**18])
LEAVES: st.SearchStrategy[Expr] = st.sampled_from([Symbol(name, size) for name, size in AXES.items()]) | st.builds(
    Broadcast, st.integers(0, 12)
)


def larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(Stride, inner, NUMBERS),
        st.builds(Modulo, inner, NUMBERS),
        st.builds(Resize, inner, NUMBERS),
        st.builds(Padding, inner, NUMBERS, st.sampled_from(Kind)),
        st.builds(Drop, inner, NUMBERS),
        st.builds(Pair, inner, inner),
        st.builds(Window, st.lists(st.tuples(inner, NUMBERS), min_size=1, max_size=3).map(tuple)),
    )


TREES = st.recursive(LEAVES, larger, max_leaves=12)


@st.composite
def sound(draw: st.DrawFn, depth: int = 4) -> Expr:
    """A function tree without a problem: every cut divides, every pad pads."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from([Symbol(name, size) for name, size in AXES.items()] + [ONE, Broadcast(3)]))
    inner = draw(sound(depth - 1))
    size = inner.size
    divisor = st.sampled_from([k for k in range(1, size + 1) if size % k == 0])
    match draw(st.integers(0, 5)):
        case 0:
            return Stride(inner, draw(divisor))
        case 1:
            return Modulo(inner, draw(divisor))
        case 2:
            return Resize(inner, draw(st.integers(1, size)))
        case 3:
            return Padding(inner, size + draw(st.integers(0, 5)), draw(st.sampled_from(Kind)))
        case 4:
            return Drop(inner, draw(st.integers(0, min(2, size - 1))))
    other = draw(sound(depth - 1))
    return Pair(inner, other) if size * other.size <= 300 else inner


def final(expr: Expr) -> list[Cell]:
    return [finalize(found, AXES) for found in cells(expr)]


def at_origin(expr: Expr) -> bool:
    """Whether position 0 is live and at coordinate 0 of every axis."""
    found = cell(expr, 0)
    return isinstance(found, Index) and not any(value for _, value in found.coords)


# -- text


@given(TREES)
def test_printed_trees_parse_to_themselves(tree):
    assert parse(str(tree), AXES) == tree


@st.composite
def spelled(draw: st.DrawFn, tree: Expr, grouped: bool = False) -> str:
    """Some text for `tree`, with the freedom that the grammar gives."""
    space = draw(st.sampled_from(["", " ", "  ", "\n", "\t "]))

    def number(value: int) -> str:
        names = [f"{{{space}{name}}}" for name, known in PARAMS.items() if known == value]
        return draw(st.sampled_from([str(value), f"0{value}", f"{{{value}{space}}}", *names]))

    def inner(part: Expr) -> str:
        return draw(spelled(part, grouped=isinstance(part, Pair)))

    match tree:
        case Symbol(name):
            text = name
        case Broadcast(size):
            text = f"{size}"
        case Stride(part, by):
            text = f"{inner(part)}{space}/{number(by)}"
        case Modulo(part, by):
            text = f"{inner(part)}%{space}{number(by)}"
        case Resize(part, to):
            text = f"{inner(part)} {draw(st.sampled_from('=!'))}{space}{number(to)}"
        case Drop(part, first):
            text = f"{inner(part)}{space}@{space}{number(first)}"
        case Padding(part, to, kind):
            mark = draw(st.sampled_from(MARKS[kind]))
            text = f"{inner(part)} {mark}{space}{number(to) if mark != '#' or to else '0'}"  # `#{0}` is a kind
            if kind is Kind.TOP and part.size <= to and draw(st.booleans()):
                text = f"{inner(part)} +{number(to - part.size)}{space}#"
        case Pair(left, right):
            sign = draw(st.sampled_from(",*"))
            text = f"{draw(spelled(left, grouped=isinstance(left, Pair)))}{space}{sign} {draw(spelled(right))}"
        case Window(terms):
            text = "$(" + ",".join(f"{inner(part)}:{space}{number(weight)}" for part, weight in terms) + ")"
    if grouped or draw(st.integers(0, 4)) == 0:
        left, right = draw(st.sampled_from(["()", "[]", "{}"]))
        comma = draw(st.sampled_from(["", ","]))
        return f"{left}{space}{text}{comma}{right}"
    return text


MARKS = {Kind.TOP: ["#", "#{*}"], Kind.ZERO: ["#{0}", "# { 0 }"], Kind.BOTTOM: ["#{!}", "#{ !}"]}


@settings(max_examples=60)
@given(st.data())
def test_every_spelling_of_a_tree_parses_to_it_and_every_span_holds_its_node(data):
    tree = data.draw(TREES)
    text = data.draw(spelled(tree))
    prefix = data.draw(st.sampled_from(["", "element = ", "\n\n  "]))
    source = Source("plan", f"{prefix}{text} tail")
    found = parse(text, AXES, params=PARAMS, source=source, offset=len(prefix))
    assert found == tree
    for node in walk(found):
        assert prefix == "" or node.span.start >= len(prefix)
        assert parse(node.span.text, AXES, params=PARAMS) == node


@settings(max_examples=50)
@given(TREES, TREES)
def test_a_name_means_its_mapping_in_brackets(value, body):
    named = parse(f"let N' = {value} in [{body}, N'] / 1", AXES)
    assert named == parse(f"[{body}, [{value}]] / 1", AXES)
    assert parse(f"[{body}, N'] / 1", AXES, lets={"N'": value}) == named


SIGNS = st.text(st.sampled_from("ABC12 ,*/%=#@!+:$(){}[]'0let in m-_.\n"), max_size=40)
WORDS = """A B Q X 8 0 1_0 , * /2 % =3 # #{0} #{!}9 @i ( ) [ ] { } m![ $( :2 +1# let in chip: axes![ ;
\N{MULTIPLICATION SIGN}"""
TOKENS = st.lists(st.sampled_from(WORDS.split()), max_size=25).map(" ".join)
GARBAGE = SIGNS | TOKENS | st.text(max_size=40)


@given(GARBAGE)
def test_garbage_is_a_tree_or_an_input_error_with_a_place_and_a_fix(text):
    for read in (
        lambda: parse(text, AXES, params=PARAMS),
        lambda: parse_axes(text),
    ):
        found = attempt(read)
        if isinstance(found, InputError):
            assert found.message
            assert found.hint
            assert isinstance(found.span, Span)
            assert 0 <= found.span.start <= found.span.end <= len(text)
            continue
        for tree in found.values() if isinstance(found, dict) else [found]:
            if not isinstance(tree, int):
                assert parse(str(tree), AXES) == tree
                problems(tree, AXES)


def attempt(read: Callable[[], object]) -> object:
    try:
        return read()
    except InputError as error:
        return error


# -- problems


@given(sound())
def test_a_tree_built_soundly_has_no_problem_but_perhaps_a_warning(tree):
    assert all(problem.warning for problem in problems(tree, AXES))


@given(TREES)
def test_a_tree_without_a_fatal_problem_has_positive_sizes(tree):
    if not any(problem.fatal for problem in problems(tree, AXES)):
        assert all(0 < node.size < 2**64 for node in walk(tree))


@given(TREES)
def test_a_tree_with_a_size_that_is_none_has_a_fatal_problem(tree):
    if any(node.size <= 0 or node.size >= 2**64 for node in walk(tree)):
        assert any(problem.fatal for problem in problems(tree, AXES))


# -- laws of cells (docs/machines/rngd.md 1.5)


@given(sound())
def test_one_is_the_identity_of_pairs(tree):
    assert final(Pair(tree, ONE)) == final(tree) == final(Pair(ONE, tree))


@settings(max_examples=60)
@given(sound(2), sound(2), sound(2))
def test_pairs_associate(one, two, three):
    assume(one.size * two.size * three.size <= 600)
    assert list(cells(Pair(Pair(one, two), three))) == list(cells(Pair(one, Pair(two, three))))


@given(sound())
def test_cuts_and_pads_to_the_own_size_change_nothing(tree):
    size = tree.size
    for same in (Stride(tree, 1), Modulo(tree, size), Padding(tree, size), Resize(tree, size), Drop(tree, 0)):
        assert list(cells(same)) == list(cells(tree))


@given(sound(), st.integers(1, 12))
def test_remainder_and_resize_have_the_same_cells(tree, number):
    assume(tree.size % number == 0)
    assert list(cells(Modulo(tree, number))) == list(cells(Resize(tree, number)))


@given(sound(3), sound(3))
def test_the_halves_of_a_pair_are_its_parts(left, right):
    assume(left.size * right.size <= 600)
    whole = Pair(left, right)
    if at_origin(right):
        assert final(Stride(whole, right.size)) == final(left)
    if at_origin(left):
        assert final(Modulo(whole, right.size)) == final(right)


@given(sound(3), sound(3))
def test_a_pair_cut_between_its_parts_is_put_together_again(left, right):
    assume(left.size * right.size <= 600 and at_origin(left) and at_origin(right))
    whole = Pair(left, right)
    assert final(Pair(Stride(whole, right.size), Modulo(whole, right.size))) == final(whole)


@given(sound())
def test_the_first_position_of_a_tree_at_the_origin_is_one(tree):
    assert (final(Modulo(tree, 1)) == final(ONE)) == (finalize(cell(tree, 0), AXES) == Index(()))


@given(sound(), st.integers(0, 5), st.integers(1, 5))
def test_dropping_and_keeping_is_a_slice(tree, first, count):
    assume(first + count <= tree.size)
    assert list(cells(Resize(Drop(tree, first), count))) == list(cells(tree, first, first + count))


@settings(max_examples=60)
@given(sound(3), sound(3))
def test_a_pair_is_the_window_with_the_weights_of_a_pair(left, right):
    assume(left.size * right.size <= 100)
    assert list(cells(Window(((left, right.size), (right, 1))))) == list(cells(Pair(left, right)))


@given(sound(2), sound(2), sound(2))
def test_combining_cells_associates(one, two, three):
    a, b, c = cell(one, one.size - 1), cell(two, two.size - 1), cell(three, three.size - 1)
    assert combine(combine(a, b), c) == combine(a, combine(b, c))


@given(st.integers(1, 5000), st.integers(1, 6000), st.sampled_from([1, 2, 8, 16]))
def test_the_largest_divisor_is_the_largest(number: int, most: int, step: int):
    wanted = max((d for d in range(step, most + 1, step) if number % d == 0), default=0)
    assert largest_divisor(number, most, step) == wanted


@pytest.mark.parametrize("number", [(1 << 61) - 1, 1 << 62, 999_999_000_001 * 7])
def test_the_largest_divisor_of_any_number_is_found_at_once(number: int):
    found = largest_divisor(number, 1 << 40)
    assert number % found == 0
    assert 1 <= found <= 1 << 40
