"""Lists of axes."""

import pytest

from dmaverify.errors import InputError, Source
from dmaverify.language.parse import parse_axes


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
