"""When a covered destination proves that the whole source was read: both sides hold the same elements, once each."""

import pytest

from dmaverify.language.parse import parse
from dmaverify.program.space import Space, layout_of
from dmaverify.program.tensor import Tensor
from dmaverify.prove.move.core import _one_to_one

HOST = Space("host", ("element",))


@pytest.mark.parametrize(
    ("source", "dest", "whole"),
    [
        ("A, B", "B, A", True),
        ("A, B", "A, X", False),  # X is no axis of the source: B = 0 alone would serve every cell
        ("A, B", "A, B % 4", False),
        ("A, B", "A, B # 16", False),
        ("A, 8", "A, B", False),
        ("A, B", "A, B / 4, B % 4", True),
    ],
)
def test_equal_sizes_say_something_only_of_equal_axes(source: str, dest: str, whole: bool) -> None:
    axes = {"A": 4, "B": 8, "X": 8}
    sides = [layout_of(Tensor("host", base=0, element=parse(text, axes)), HOST, 8)[0] for text in (source, dest)]
    assert _one_to_one(*sides) is whole
