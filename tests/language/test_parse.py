"""Text to trees: the grammar of `m![...]`, the notation of the documents, spans, and errors that say what to write."""

import pytest

from dmaverify.errors import InputError, Source
from dmaverify.language.expr import (
    Broadcast,
    Drop,
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
from dmaverify.language.parse import MAX_DEPTH, MAX_NODES, parse
from dmaverify.language.wellformed import problems

AXES = {"A": 8, "B": 4, "C": 3, "D": 6, "Wp": 5}
A, B, C, D = (Symbol(name, AXES[name]) for name in "ABCD")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A", A),
        ("Wp", Symbol("Wp", 5)),
        ("7", Broadcast(7)),
        ("007", Broadcast(7)),
        ("A / 2 % 2 # 4 = 3", Resize(Padding(Modulo(Stride(A, 2), 2), 4), 3)),
        ("D = 32 / 8", Stride(Resize(D, 32), 8)),
        ("A # 4 / 2", Stride(Padding(A, 4), 2)),
        ("B, C # 8", Pair(B, Padding(C, 8))),
        ("1 # 2, A", Pair(Padding(Broadcast(1), 2), A)),
        ("A, B, C", Pair(A, Pair(B, C))),
        ("A, (B, C)", Pair(A, Pair(B, C))),
        ("(A, B), C", Pair(Pair(A, B), C)),
        ("[A, B], C", Pair(Pair(A, B), C)),
        ("[A, B,] / 2,", Stride(Pair(A, B), 2)),
        ("(((A)))", A),
        ("A # 16", Padding(A, 16)),
        ("A #{*} 16", Padding(A, 16)),
        ("A #{0} 16", Padding(A, 16, Kind.ZERO)),
        ("A # { ! } 16", Padding(A, 16, Kind.BOTTOM)),
        ("A # {16}", Padding(A, 16)),
        ("A #{0} {16} / {2}", Stride(Padding(A, 16, Kind.ZERO), 2)),
        ("A #{00}", Padding(A, 0)),
        ("{ A, B } / 2", Stride(Pair(A, B), 2)),
        ("{ 8 }", Broadcast(8)),
        ("m![A / 2, B]", Pair(Stride(A, 2), B)),
        (" m ! [ A ] ", A),
        ("{ m![A, B] } % 2", Modulo(Pair(A, B), 2)),
        ("A/2\n,\tB", Pair(Stride(A, 2), B)),
    ],
)
def test_the_macro_grammar_is_read(text, tree):
    assert parse(text, AXES) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A @ 2", Drop(A, 2)),
        ("A@2!1", Resize(Drop(A, 2), 1)),
        ("A @ 2 = 3", Resize(Drop(A, 2), 3)),
        ("A!4", Resize(A, 4)),
        ("A % 4 * B", Pair(Modulo(A, 4), B)),
        ("A * B, C", Pair(A, Pair(B, C))),
        ("A + 1#", Padding(A, 9)),
        ("[A, B] + 3#", Padding(Pair(A, B), 35)),
        ("A / 2 + 1# / 5", Stride(Padding(Stride(A, 2), 5), 5)),
        ("A @ 2 + 1#", Padding(Drop(A, 2), 7)),
        ("$(A:1, B:2) + 1#", Padding(Window(((A, 1), (B, 2))), 15)),
        ("A + 1#{0}", Padding(A, 9, Kind.ZERO)),
        ("let A' = A + 1# in A' / 3, A' % 3", Pair(Stride(Padding(A, 9), 3), Modulo(Padding(A, 9), 3))),
        ("let A' = A, B in A' / 2", Stride(Pair(A, B), 2)),
        ("let X = let Y = A in Y / 2 in [X, X]", Pair(Stride(A, 2), Stride(A, 2))),
        ("[let X = B in X / 2], X", Pair(Stride(B, 2), Symbol("X", 0))),
        ("let A = B in A", B),
        ("let X = A in let X = X / 2 in X", Stride(A, 2)),
        ("$(A:1, B:2)", Window(((A, 1), (B, 2)))),
        ("$([A, B] / 2 : 4, 3:1,)", Window(((Stride(Pair(A, B), 2), 4), (Broadcast(3), 1)))),
        ("$(A:1) % 2", Modulo(Window(((A, 1),)), 2)),
    ],
)
def test_the_notation_of_the_documents_is_read(text, tree):
    assert parse(text, AXES) == tree


def test_parameters_stand_for_numbers():
    assert parse("(D / 2) @ i = n", AXES, params={"i": 1, "n": 2}) == Resize(Drop(Stride(D, 2), 1), 2)
    assert parse("i, A @ {i}, $(A:i)", AXES, params={"i": 1}) == Pair(Broadcast(1), Pair(Drop(A, 1), Window(((A, 1),))))


def test_given_names_stand_for_their_mappings_and_hide_axes():
    lets = {"A'": Padding(A, 16), "B": C}
    assert parse("A' / 4, B", AXES, lets=lets) == Pair(Stride(Padding(A, 16), 4), C)


def test_an_undeclared_axis_is_a_symbol_of_size_0():
    assert parse("Q / 2", AXES) == Stride(Symbol("Q", 0), 2)
    assert parse("A'", AXES) == Symbol("A'", 0)


def test_every_node_carries_its_place_in_the_source():
    source = Source("plan.toml", 'element = "[A / 2, B] # 64"\n')
    text = "[A / 2, B] # 64"
    tree = parse(text, AXES, source=source, offset=11)
    assert [node.span.text for node in walk(tree)] == ["[A / 2, B] # 64", "A / 2, B", "A / 2", "A", "B"]
    assert all(node.span.source is source for node in walk(tree))
    assert (tree.span.line, tree.span.column, tree.span.length) == (1, 12, len(text))


def test_a_pair_of_grouped_parts_starts_and_ends_with_their_brackets():
    tree = parse("(A, B), [C],", AXES)
    assert tree.span.text == "(A, B), [C]"
    assert tree.right.span.text == "C"


def test_a_name_carries_the_place_of_its_use_and_its_parts_that_of_the_definition():
    tree = parse("let A' = A + 1# in A' / 3, A'", AXES)
    assert [node.span.text for node in walk(tree)] == ["A' / 3, A'", "A' / 3", "A'", "A", "A'", "A"]
    assert tree.left.inner.inner.span.start == 9


def test_an_error_carries_its_place_in_the_source():
    source = Source("plan.toml", 'x = 1\nelement = "A / B"\n')
    with pytest.raises(InputError) as caught:
        parse("A / B", AXES, source=source, offset=17)
    assert (caught.value.span.line, caught.value.span.column, caught.value.span.text) == (2, 16, "B")
    assert str(caught.value).startswith("plan.toml:2:16: ")


@pytest.mark.parametrize(
    ("text", "at", "message", "hint"),
    [
        ("", "", "the mapping is empty", "write `1`"),
        ("  ", "", "the mapping is empty", "write `1`"),
        ("m![]", "]", "nothing in these brackets", "write `1`"),
        ("m![,]", ",", "nothing stands before this `,`", "term"),
        ("A,,B", ",", "nothing stands between `,` and `,`", "remove one"),
        ("A *", "*", "nothing follows `*`", "another term"),
        ("A * , B", ",", "nothing stands between `*` and `,`", "remove one"),
        ("/ 2", "/", "`/` has nothing on its left", "`A / 4`"),
        ("A /", "", "expected a number after `/`, found the end of the text", "such as `4`"),
        ("A / B", "B", "cannot divide by `B`: only by a number", "`B` has 4 positions"),
        ("A / Q", "Q", "cannot divide by `Q`", "write a number"),
        ("A / (2)", "(", "expected a number after `/`", "write a number"),
        ("A // 2", "/", "expected a number after `/`, found `/`", "write a number"),
        ("A == 3", "=", "expected a number after `=`", "a single `=`"),
        ("A % -1", "-", "expected a number after `%`, found `-`", "never negative"),
        ("-1", "-", "`-` is not part of the language", "never negative"),
        ("A - 1", "-", "`-` is not part of the language", "`A @ k`"),
        ("A \N{MINUS SIGN} 1", "\N{MINUS SIGN}", "not part of the language", "`A @ k`"),
        ("A + B", "B", "expected a number after `+`", "`A, B`"),
        ("A + 1", "", "expected `#` after `+ 1`", "write `A + 1#`"),
        ("1_0", "1_0", "not a plain decimal number", "write `10`"),
        ("A / 0x2", "0x2", "not a plain decimal number", "write `2`"),
        ("8usize", "8usize", "not a plain decimal number", "write `8`"),
        ("1.5", "1.5", "not a plain decimal number", "digits only"),
        ("4A", "4A", "not a plain decimal number", "`4, A`"),
        ("A #{1} 8", "1", "`1` is no kind of padding", "`#{0}`"),
        ("A #{?} 8", "?", "`?` is not part of the language", "`#{0}`"),
        ("A #{A} 8", "A", "`A` is no kind of padding", "`#{0}`"),
        ("A #{*}", "", "expected a number after `#`", "such as `4`"),
        ("A #* 8", "*", "expected a number after `#`", "`#{*}`"),
        ("A / {}", "}", "expected a number after `/`", "in the braces"),
        ("A / {2 + 2}", "+", "expected `}` after the number", "`{ }`"),
        ("(A", "(", "`(` is never closed", "add `)`"),
        ("m![A", "m", "`m![` is never closed", "add `]`"),
        ("A]", "]", "`]` closes nothing", "remove it"),
        ("[A)", ")", "`[` is closed by `)`", "write `]`"),
        ("[]", "]", "nothing in these brackets", "write `1`"),
        ("A B", "B", "expected `,` or an operator, found `B`", "put a `,`"),
        ("A 4", "4", "expected `,` or an operator, found `4`", "put a `,`"),
        ("A (B)", "(", "expected `,` or an operator", "put a `,`"),
        ("a / 2", "a", "unknown name `a`", "write `A`"),
        ("A / k", "k", "unknown name `k`", "parameters"),
        ("A \N{MULTIPLICATION SIGN} B", "\N{MULTIPLICATION SIGN}", "multiplication sign", "write `*`"),
        ("A\N{RIGHT SINGLE QUOTATION MARK} / 2", "\N{RIGHT SINGLE QUOTATION MARK}", "U+2019", "write `'`"),
        ("A\N{PRIME} / 2", "\N{PRIME}", "U+2032", "write `'`"),
        ("A\N{NO-BREAK SPACE}, B", "\N{NO-BREAK SPACE}", "no-break space", "plain space"),
        ("\N{GREEK CAPITAL LETTER ALPHA}", "\N{GREEK CAPITAL LETTER ALPHA}", "greek capital letter alpha", "ASCII"),
        ("A\0", "\0", "U+0000", "ASCII"),
        ("A; B", ";", "`;` is not part of the language", "`,`"),
        ('"A"', '"', "not part of the language", "without quotes"),
        ("$e / 2", "e", "expected `(` after `$`", "`$(A:1, B:2)`"),
        ("$()", ")", "this window is empty", "`$(A:1, B:2)`"),
        ("$(A)", ")", "expected `:` after a part of a window", "`A:1`"),
        ("$(A * B:1)", "*", "`*` cannot join the parts of a window", "`$([A, B]:1)`"),
        ("$(A:B)", "B", "expected a number after `:`", "4 positions"),
        ("$(A:1", "$", "`$(` is never closed", "add `)`"),
        ("A:1", ":", "`:` is out of place here", "windows"),
        ("let A = B", "let", "this `let` has no `in`", "`let A'"),
        ("let a = B in A", "a", "expected a name after `let`", "uppercase"),
        ("let A B", "B", "expected `=` after `let A`", "`let A'"),
        ("let A = in A", "in", "no mapping between `=` and `in`", "`let A'"),
        ("let A = [B in A", "in", "`in` is out of place here", "`let A'"),
        ("let A = B] in A", "]", "expected `in` before `]`", "`let A'"),
        ("A, let B = C in B", "let", "`let` is out of place here", "start"),
        ("1000000000000000001", "1000000000000000001", "beyond 10^18", "up to 10^18"),
        ("A / " + "9" * 5000, "9" * 5000, "beyond 10^18", "up to 10^18"),
        ("1000000000000000000 + 1#", "1000000000000000000 + 1#", "beyond 10^18", "pad by less"),
    ],
)
def test_an_unreadable_mapping_is_refused_with_its_place_and_the_fix(text, at, message, hint):
    with pytest.raises(InputError) as caught:
        parse(text, AXES)
    error = caught.value
    assert error.span.text == at
    assert message in error.message
    assert hint in error.hint


def test_the_first_error_of_a_text_is_the_one_reported():
    with pytest.raises(InputError) as caught:
        parse("A / B, ;", AXES)
    assert caught.value.span.text == "B"


def test_an_unknown_parameter_is_answered_with_those_that_exist():
    with pytest.raises(InputError) as caught:
        parse("A @ k", AXES, params={"i": 1, "j": 2})
    assert "`i`, `j`" in caught.value.hint


def test_a_negative_parameter_is_refused():
    with pytest.raises(InputError, match="negative"):
        parse("A @ i", AXES, params={"i": -1})


def test_the_largest_number_is_read():
    assert parse("A # 1000000000000000000", AXES) == Padding(A, 10**18)


def test_lists_brackets_and_operators_nest_up_to_the_limit():
    assert parse("[" * MAX_DEPTH + "A" + "]" * MAX_DEPTH, AXES) == A
    assert sum(1 for _ in walk(parse(", ".join("A" * MAX_DEPTH), AXES))) == 2 * MAX_DEPTH - 1
    assert sum(1 for _ in walk(parse("A" + " / 1" * (MAX_DEPTH - 1), AXES))) == MAX_DEPTH


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * (MAX_DEPTH + 1) + "A" + "]" * (MAX_DEPTH + 1), "nest more than"),
        (", ".join("A" * (MAX_DEPTH + 1)), "terms in one list"),
        ("A" + " / 1" * MAX_DEPTH, "nests more than"),
        ("$(" + "A:1," * (MAX_DEPTH + 1) + ")", "terms in one list"),
        ("A" * 100_001, "too many for one mapping"),
        ("let X0 = A in " + "".join(f"let X{i + 1} = [X{i}, X{i}] in " for i in range(60)) + "X60", "parts once"),
    ],
    ids=["brackets", "list", "operators", "window", "characters", "names"],
)
def test_beyond_a_limit_a_mapping_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        parse(text, AXES)


@pytest.mark.parametrize(
    "text",
    ["[" * 99_999, "(" * 50_000 + "A" + ")" * 49_999, "$(" * 50_000, "A" + "+1#" * 33_000, "A," * 50_000, "#{" * 9_999],
    ids=lambda text: text[:4],
)
def test_long_nonsense_is_refused_too(text):
    with pytest.raises(InputError):
        parse(text, AXES)


def test_a_given_name_that_is_too_large_is_refused():
    deep = A
    for _ in range(MAX_DEPTH):
        deep = Stride(deep, 1)
    with pytest.raises(InputError, match="larger than"):
        parse("X", AXES, lets={"X": deep})
    shared = A
    for _ in range(MAX_NODES.bit_length()):
        shared = Pair(shared, shared)
    with pytest.raises(InputError, match="larger than"):
        parse("X", AXES, lets={"X": shared})


def test_the_hints_of_this_file_can_be_followed():
    """The corrected forms that the hints above show are themselves mappings without a fatal problem."""
    for text in ("A, B", "A @ 1", "A + 1#", "4, A", "$([A, B]:1)", "let A' = A + 1# in A' / 3", "A #{0} 8", "1"):
        assert not any(problem.fatal for problem in problems(parse(text, AXES)))


def test_trees_as_deep_as_the_limit_print_and_compare():
    tree = A
    for _ in range(MAX_DEPTH - 1):
        tree = Pair(tree, B)
    assert parse(str(tree), AXES) == tree
