"""Axes joined on both sides of a move: every address keeps its element, only its name changes."""

from __future__ import annotations

import random

import pytest

from dmaverify.language.parse import parse
from dmaverify.layout.addresses import Layout
from dmaverify.layout.fuse import fuse, parts_of
from dmaverify.program.space import Space, layout_of
from dmaverify.program.tensor import Tensor

MEMORY = Space("mem", ("element",))


def laid(text: str, axes: dict[str, int]) -> Layout:
    return layout_of(Tensor("mem", parse(text, axes)), MEMORY, 8)[0]


def elements(layout: Layout, span: int) -> dict[int, dict[str, int]]:
    """The coordinates at every address that has digits."""
    found = {}
    for address in range(span):
        values = layout.values_at(address)
        if values is not None and not any(values[i] for i in layout.beyond_index) and layout.kind_at(values) is None:
            found[address] = {a: v for a, v in layout.coordinates(values).items() if not a.startswith("<")}
    return found


def unfused(coordinates: dict[str, int]) -> dict[str, int]:
    out: dict[str, int] = {}
    for axis, value in coordinates.items():
        rest = value
        for name, size in reversed(parts_of(axis) or [(axis, value + 1)]):
            rest, out[name] = divmod(rest, size)
    return {axis: value for axis, value in out.items() if value}


def drawn(seed: int) -> tuple[dict[str, int], list[str]]:
    rng = random.Random(seed)
    axes = {name: rng.choice((2, 3, 4, 6)) for name in "ABC"}
    texts = []
    for _ in range(2):
        order = rng.choice(("ABC", "ABC", "CAB"))
        terms = [piece for name in order for piece in cut(name, axes, rng)]
        texts.append(", ".join(terms))
    return axes, texts


def cut(name: str, axes: dict[str, int], rng: random.Random) -> list[str]:
    size = axes[name]
    if size % 2 == 0 and size > 2 and rng.random() < 0.3:
        pieces = [f"{name} / 2", f"{name} % 2"]
        return pieces if rng.random() < 0.7 else pieces[::-1]
    return [f"{name} # {size + 1}"] if rng.random() < 0.2 else [name]


def test_a_fused_layout_holds_the_same_elements_at_the_same_addresses():
    joined = 0
    for seed in range(300):
        axes, texts = drawn(seed)
        layouts = [laid(text, axes) for text in texts]
        found = fuse(layouts[0], layouts[1])
        if found is None:
            continue
        joined += 1
        for before, after in zip(layouts, found, strict=True):
            span = before.size + 8
            old = {a: {k: v for k, v in c.items() if v} for a, c in elements(before, span).items()}
            assert {a: unfused(c) for a, c in elements(after, span).items()} == old, (axes, texts)
    assert joined > 100


@pytest.mark.parametrize(
    ("one", "other", "joins"),
    [
        ("A, B", "A, B", True),
        ("A, B", "B, A", False),
        ("A, B # 5", "A, B # 5", False),  # padding is between the rows: they are no run
        ("A, B", "A, B # 5", False),
        ("A % 2, A / 2, B", "A % 2, A / 2, B", False),  # the unit of A is not next to B
        ("C, A, B", "A, C, B", False),
        ("A, B % 2", "A, B % 2", False),  # B is not whole: two of its values have no place
    ],
)
def test_axes_are_joined_only_where_one_lies_right_inside_the_other_on_both_sides(one, other, joins):
    axes = {"A": 4, "B": 4, "C": 3}
    assert (fuse(laid(one, axes), laid(other, axes)) is not None) == joins
