"""Records of mappings, one for each class of place, and lists of axes."""

import pytest

from dmaverify.errors import InputError, Source
from dmaverify.language.expr import Modulo, Padding, Pair, Stride, Symbol
from dmaverify.language.parse import parse_axes, parse_record

AXES = {"A": 15, "B": 32, "C": 256, "D": 8}
A, B, C, D = (Symbol(name, AXES[name]) for name in "ABCD")


def test_a_record_gives_its_fields_in_order():
    found = parse_record("{ chip: m![D / 2], slice: m![B, A], element: m![C] }", AXES)
    assert list(found.items()) == [("chip", Stride(D, 2)), ("slice", Pair(B, A)), ("element", C)]


def test_a_record_needs_neither_macros_nor_braces():
    assert parse_record("slice: A, B, element: C,", AXES) == {"slice": Pair(A, B), "element": C}
    assert parse_record("{ time: A, packet: C, }", AXES) == {"time": A, "packet": C}


def test_an_empty_record_has_no_fields():
    assert parse_record("{}", AXES) == {}


def test_the_input_of_example_6_is_read_with_its_let():
    text = """let A' = A + 1# in
      { chip: m![D / 2], cluster: m![D % 2], slice: m![A' / 4, A' / 2 % 2, B],
        element: m![A' % 2, C] }"""
    padded = Padding(A, 16)
    assert parse_record(text, AXES) == {
        "chip": Stride(D, 2),
        "cluster": Modulo(D, 2),
        "slice": Pair(Stride(padded, 4), Pair(Modulo(Stride(padded, 2), 2), B)),
        "element": Pair(Modulo(padded, 2), C),
    }


def test_the_stream_of_example_6_is_read_with_its_engine():
    text = "{ chip: m![(D / 2) @ i = 1], slice: m![(A' / 4) @ k = 1], time: m![A' = 1, B, A' / 2 % 2 @ 1, C] }"
    found = parse_record(text, AXES, lets={"A'": Padding(A, 16)}, params={"i": 2, "k": 3})
    assert str(found["chip"]) == "D / 2 @ 2 = 1"
    assert str(found["time"]) == "A # 16 = 1, B, A # 16 / 2 % 2 @ 1, C"


def test_the_fields_of_a_record_carry_their_places():
    source = Source("plan", "in = { slice: m![A / 5], element: B }")
    found = parse_record("{ slice: m![A / 5], element: B }", AXES, source=source, offset=5)
    assert [tree.span.text for tree in found.values()] == ["A / 5", "B"]


@pytest.mark.parametrize(
    ("text", "at", "message", "hint"),
    [
        ("{ slices: A }", "slices", "expected the name of a field", "did you mean `slice`?"),
        ("{ b_in: A }", "b_in", "expected the name of a field", "chip, cluster"),
        ("{ A }", "A", "expected the name of a field", "chip, cluster"),
        ("{ slice: A, slice: B }", "slice", "given twice", "one"),
        ("{ slice A }", "A", "expected `:` after `slice`", "`slice: m![A]`"),
        ("{ slice: A", "{", "`{` is never closed", "add `}`"),
        ("{ slice: }", "}", "the mapping is empty", "write `1`"),
        ("{ slice: A } B", "B", "expected the end of the record", "one pair of braces"),
        ("{ slice: A element: B }", "element", "expected `,` or an operator", "put a `,`"),
        ("let A' = A + 1#", "let", "has no `in`", "`let A'"),
    ],
)
def test_an_unreadable_record_is_refused_with_its_place_and_the_fix(text, at, message, hint):
    with pytest.raises(InputError) as caught:
        parse_record(text, AXES)
    assert caught.value.span.text == at
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ("axes![A = 8, B = 3]", {"A": 8, "B": 3}),
        ("axes![A = 65_536, B' = 0x10, Wp = 8usize,];", {"A": 65536, "B'": 16, "Wp": 8}),
        ("axes!(A = 0b101, B = 0o17)", {"A": 5, "B": 15}),
        ("axes![]", {}),
        ("A=8,B=3", {"A": 8, "B": 3}),
        (" A = 1000000000000000000 ", {"A": 10**18}),
        ("", {}),
    ],
)
def test_axes_are_read(text, axes):
    assert parse_axes(text) == axes


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("A=8,A=3", "A", "the axis `A` is declared twice"),
        ("A=0", "0", "size 0"),
        ("axes![A = 0x0]", "0x0", "size 0"),
        ("A=1000000000000000001", "1000000000000000001", "beyond 10^18"),
        ("A=" + "f" * 3, "fff", "expected a size"),
        ("A=0xg", "0xg", "not an integer"),
        ("A=-1", "-", "not part of the language"),
        ("A=B", "B", "expected a size"),
        ("a=1", "a", "expected the name of an axis"),
        ("A", "", "expected `=` after `A`"),
        ("A=8 B=3", "B", "expected `,` after `A = 8`"),
        ("A=8,,B=3", ",", "expected the name of an axis"),
        ("axes![A = 8", "", "expected `]` at the end"),
        ("axes![A = 8)", ")", "expected `,`"),
        ("axes A = 8", "A", "expected `!` after `axes`"),
        ("axes! A = 8", "A", "expected `[` after `axes!`"),
        ("axes![A = 8] B", "B", "expected the end"),
    ],
)
def test_unreadable_axes_are_refused_with_their_place(text, at, message):
    with pytest.raises(InputError) as caught:
        parse_axes(text)
    assert caught.value.span.text == at
    assert message in caught.value.message
    assert caught.value.hint


def test_the_axis_given_twice_is_underlined_where_it_comes_again():
    with pytest.raises(InputError) as caught:
        parse_axes("A=8,A=3", source=Source("--axes", "--axes A=8,A=3"), offset=7)
    assert caught.value.span.column == 12
