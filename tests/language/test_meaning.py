"""Cells: against the vendor's own, against the consequences that the documents spell out, one by one and as arrays."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from lab.meaning import live_index

from dmaverify.language import meaning
from dmaverify.language.expr import (
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
)
from dmaverify.language.meaning import (
    OUT,
    Index,
    OutOfBounds,
    Pad,
    Several,
    cell,
    cell_json,
    cells,
    cells_array,
    cells_json,
    combine,
    finalize,
    finalize_array,
    live_indices,
    vendor_text,
)
from dmaverify.language.parse import parse
from dmaverify.language.wellformed import problems

AXES = {"A": 8, "B": 4, "C": 3, "D": 6, "N": 5, "F": 3, "R": 3}
SAMPLE = Path(__file__).parent.parent / "data" / "rngd_cells_sample.jsonl"
ROWS = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
TOP, ZERO, BOTTOM = Pad(Kind.TOP), Pad(Kind.ZERO), Pad(Kind.BOTTOM)


def at(**coords: int) -> Index:
    return Index(tuple(sorted(coords.items())))


def row(text: str) -> list[str]:
    """The finalized cells, short: `A3B1`, `-` for the origin, Top, Zero, Bottom, OOB."""
    out = []
    for raw in cells(parse(text, AXES)):
        found = raw if isinstance(raw, OutOfBounds) else finalize(raw, AXES)
        if isinstance(found, Index):
            out.append("".join(f"{axis}{value}" for axis, value in found.coords) or "-")
        else:
            out.append("OOB" if isinstance(found, OutOfBounds) else found.kind.value.capitalize())
    return out


def test_the_sample_has_all_its_rows():
    assert len(ROWS) == 90


@pytest.mark.parametrize("sample", ROWS, ids=lambda sample: sample["expr"])
def test_raw_cells_are_those_of_the_vendor(sample):
    expr = parse(sample["expr"], sample["axes"])
    assert expr.size == sample["size"]
    assert [vendor_text(found) for found in cells(expr)] == sample["cells"]
    assert [vendor_text(cells_array(expr, np.arange(expr.size)).at(i)) for i in range(expr.size)] == sample["cells"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C # 8 / 2", ["-", "C2", "Top", "Top"]),
        ("C # 8 % 4", ["-", "C1", "C2", "Top"]),
        ("R # 64 / 8", ["-"] + ["Top"] * 7),
        ("C = 5", ["-", "C1", "C2", "OOB", "OOB"]),
        ("A = 16 / 4", ["-", "A4", "OOB", "OOB"]),
        ("C = 5 # 6", ["-", "C1", "C2", "OOB", "OOB", "Top"]),
        ("C # 2", ["-", "C1"]),
        ("A # 8 # 4", ["-", "A1", "A2", "A3"]),
        ("C # 4 #{0} 6 #{!} 8", ["-", "C1", "C2", "Top", "Zero", "Zero", "Bottom", "Bottom"]),
        ("C #{0} 4, 1 #{!} 2", ["-", "Bottom", "C1", "Bottom", "C2", "Bottom", "Zero", "Zero"]),
        ("1 # 3", ["-", "Top", "Top"]),
        ("3", ["-", "-", "-"]),
        ("C # 4 / 2, C # 4 % 2", ["-", "C1", "C2", "Top"]),
        ("A @ 5", ["A5", "A6", "A7"]),
        ("A @ 5 = 2", ["A5", "A6"]),
        ("A @ 2 ! 1", ["A2"]),
        ("C # 5 @ 2", ["C2", "Top", "Top"]),
        ("A @ 6 = 3", ["A6", "A7", "OOB"]),
    ],
)
def test_the_consequences_in_the_documents_hold(text, expected):
    assert row(text) == expected


def test_padding_is_not_broadcast():
    assert [live_index(parse("1 # 3", AXES), i, AXES) for i in range(3)] == [{}, None, None]
    assert [live_index(parse("3", AXES), i, AXES) for i in range(3)] == [{}, {}, {}]


def test_the_same_axis_twice_adds_up_and_overshoot_shows_when_finalized():
    expr = parse("A / 2, A", AXES)
    assert max(found.coords[0][1] for found in cells(expr)) == 13
    assert cell(parse("C # 4 / 2, C # 4 % 2", AXES), 3) == at(C=3)
    assert finalize(at(C=3), AXES) == TOP
    assert finalize(at(C=2), AXES) == at(C=2)


def test_a_compound_cut_inside_a_term_overshoots_where_the_compound_does_not():
    """docs/machines/rngd.md 1.3 item 8, with A = 2 and B = 3."""
    sizes = {"A": 2, "B": 3}
    assert cell(parse("[A, B] / 2, [A, B] % 2", sizes), 3) == at(A=0, B=3)
    assert cell(parse("A, B", sizes), 3) == at(A=1, B=0)


def test_finalizing_drops_zeros_and_fills_what_is_out_of_bounds():
    assert finalize(at(A=0, B=2), AXES) == at(B=2)
    assert finalize(OUT, AXES) == TOP
    assert finalize(OUT, AXES, Kind.BOTTOM) == BOTTOM
    assert finalize(ZERO, AXES, Kind.BOTTOM) == ZERO


@pytest.mark.parametrize("text", ["A", "4", "A / 2", "A % 4", "A = 16", "A # 16", "A, B", "A @ 3", "$(N:1, F:2)"])
def test_outside_the_size_there_is_no_cell(text):
    expr = parse(text, AXES)
    assert cell(expr, -1) == OUT
    assert cell(expr, expr.size) == OUT
    assert cell(expr, expr.size - 1) != OUT or text == "A = 16"


def test_the_major_cell_decides_when_it_is_no_index():
    assert combine(BOTTOM, ZERO) == BOTTOM
    assert combine(OUT, ZERO) == OUT
    assert combine(at(A=1), ZERO) == ZERO
    assert combine(at(A=1), at(A=2, B=1)) == at(A=3, B=1)
    assert combine(Several(frozenset({(("A", 1),), (("A", 2),)})), BOTTOM) == BOTTOM


def test_illegal_trees_have_cells_too():
    assert list(cells(parse("A / 3", AXES))) == [at(A=0), at(A=3)]
    assert list(cells(parse("A / 0, B", AXES))) == []
    assert list(cells(parse("Q % 2", AXES))) == [OUT, OUT]
    assert list(cells(parse("A @ 9", AXES))) == []


# -- windows


def test_overlapping_windows_stand_for_several_indices():
    """docs/machines/rngd.md 1.6, with N = 5 and F = 3."""
    expr = parse("$(N:1, F:2)", AXES)
    assert expr.size == 9
    assert cell(expr, 0) == at(N=0, F=0)
    assert live_indices(expr, 4, AXES) == {(("N", 4),), (("F", 1), ("N", 2)), (("F", 2),)}
    assert live_index(expr, 0, AXES) == {}
    with pytest.raises(ValueError, match="3 indices"):
        live_index(expr, 4, AXES)


def test_a_window_relates_every_sum_of_its_parts_and_nothing_else():
    sizes = {"N": 4, "F": 3, "G": 2}
    expr = parse("$(N:3, F:1, G:2)", sizes)
    for position in range(expr.size):
        expected = {
            (("F", f), ("G", g), ("N", n))
            for n in range(4)
            for f in range(3)
            for g in range(2)
            if 3 * n + f + 2 * g == position
        }
        found = cell(expr, position)
        assert expected == (set(found.indices) if isinstance(found, Several) else {found.coords})


@pytest.mark.parametrize("text", ["A, B", "A, C #{0} 4", "C #{!} 4, B # 6", "A / 2, A % 2"])
def test_a_window_with_the_weights_of_a_pair_is_the_pair(text):
    plain = parse(text, AXES)
    window = Window(((plain.left, plain.right.size), (plain.right, 1)))
    assert list(cells(window)) == list(cells(plain))


def test_a_gap_of_a_window_is_padding():
    assert list(cells(parse("$(C:2)", AXES))) == [at(C=0), TOP, at(C=1), TOP, at(C=2)]
    assert cell(parse("$(C #{0} 4:1, 2:1)", AXES), 4) == ZERO


def test_pairs_and_cuts_of_windows_keep_all_indices():
    sizes = {"N": 2, "F": 2, "B": 2}
    assert cell(parse("$(N:1, F:1), B", sizes), 3) == Several(
        frozenset({(("B", 1), ("F", 0), ("N", 1)), (("B", 1), ("F", 1), ("N", 0))})
    )
    assert cell(parse("$(N:1, F:1) @ 1 # 4", sizes), 0) == cell(parse("$(N:1, F:1)", sizes), 1)


def test_indices_of_a_window_beyond_an_axis_are_dropped():
    found = Several(frozenset({(("C", 3),), (("C", 2),), (("C", 0),)}))
    assert finalize(found, AXES) == Several(frozenset({(("C", 2),), ()}))
    assert finalize(Several(frozenset({(("C", 3),), (("C", 2),)})), AXES) == at(C=2)
    assert finalize(Several(frozenset({(("C", 3),), (("C", 4),)})), AXES) == TOP


# -- shown


def test_cells_are_shown_as_the_vendor_prints_them():
    assert vendor_text(at(B=0, A=3)) == "Index[A = 3, B = 0]"
    assert [vendor_text(found) for found in (at(), TOP, ZERO, BOTTOM, OUT)] == [
        "Index[]",
        "Padding(Top)",
        "Padding(Zero)",
        "Padding(Bottom)",
        "OutOfBounds",
    ]
    assert vendor_text(Several(frozenset({(("A", 2),), (("A", 1),)}))) == "Index[A = 1] | Index[A = 2]"


def test_json_keeps_zero_coordinates_and_shows_overshoot_as_padding_unless_raw():
    assert cell_json(at(A=0), False, AXES) == {"index": {"A": 0}}
    assert cell_json(at(C=3), False, AXES) == {"padding": "top"}
    assert cell_json(at(C=3), True, AXES) == {"index": {"C": 3}}
    assert cell_json(ZERO, False, AXES) == {"padding": "zero"}
    assert cell_json(OUT, False, AXES) == cell_json(OUT, True, AXES) == "out-of-bounds"


def test_json_of_several_indices_is_sorted():
    found = Several(frozenset({(("C", 3),), (("C", 2),), (("C", 1),)}))
    assert cell_json(found, True, AXES) == {"indices": [{"C": 1}, {"C": 2}, {"C": 3}]}
    assert cell_json(found, False, AXES) == {"indices": [{"C": 1}, {"C": 2}]}


def test_a_part_of_the_cells_can_be_asked_for():
    assert list(cells(parse("A", AXES), 6, 9)) == [at(A=6), at(A=7), OUT]


def test_depth_is_no_problem():
    deep: Expr = Symbol("A", 8)
    for _ in range(99):
        deep = Stride(Padding(deep, 8), 1)
    assert live_index(deep, 5, AXES) == {"A": 5}
    assert cells_array(deep, np.arange(8)).coords["A"].tolist() == list(range(8))


# -- arrays


def some_tree(draw: random.Random, depth: int) -> Expr:
    """Any function tree of at most about 200 positions, legal or not."""
    if depth == 0 or draw.random() < 0.15:
        name = draw.choice("ABCDQ")
        return Symbol(name, AXES.get(name, 0)) if draw.random() < 0.8 else Broadcast(draw.randint(0, 4))
    inner = some_tree(draw, depth - 1)
    number = draw.choice([0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 9])
    match draw.randrange(8):
        case 0:
            return Stride(inner, number)
        case 1:
            return Modulo(inner, number)
        case 2:
            return Resize(inner, number + draw.randint(0, 5))
        case 3:
            return Padding(inner, number + draw.randint(0, 5), draw.choice(list(Kind)))
        case 4:
            return Drop(inner, draw.randint(0, 3))
    other = some_tree(draw, depth - 2 if depth > 1 else 0)
    return Pair(inner, other) if inner.size * other.size <= 200 else inner


def test_arrays_hold_the_same_cells_on_hundreds_of_trees():
    draw = random.Random(7)
    trees = {some_tree(draw, 5) for _ in range(1200)}
    assert len(trees) > 600
    sizes = {**AXES, "Q": 1}
    legal = compared = 0
    for tree in trees:
        positions = np.arange(-2, tree.size + 2)
        found = cells_array(tree, positions)
        final = finalize_array(found, sizes, Kind.BOTTOM)
        for place, position in enumerate(positions.tolist()):
            one = cell(tree, position)
            assert found.at(place) == one, (str(tree), position)
            assert finalize(final.at(place), sizes) == finalize(one, sizes, Kind.BOTTOM)
        legal += not any(problem.fatal for problem in problems(tree, AXES))
        compared += len(positions)
    assert legal > 200
    assert compared > 8_000


def test_cells_are_shown_alike_one_by_one_and_many_at_once(monkeypatch):
    monkeypatch.setattr(meaning, "_FEW", 0)
    for text in ("A / 2, B % 3", "A # 16 = 9", "$(A:2, B:3)", "B, A # 24", "D % 4 # 6, C", "1 # 8", "A # 16 / 3"):
        tree = parse(text, AXES)
        for raw in (False, True):
            one_by_one = [cell_json(found, raw, {**AXES, "D": 3}) for found in cells(tree)]
            assert cells_json(tree, 0, tree.size, raw, {**AXES, "D": 3}) == one_by_one


def test_arrays_keep_the_shape_of_the_positions():
    found = cells_array(parse("A, B # 5", AXES), np.arange(40).reshape(8, 5))
    assert found.kind.shape == found.coords["A"].shape == (8, 5)
    assert (found.kind[:, 4] == 1).all()
    assert (found.coords["B"][:, 4] == 0).all()


def test_arrays_refuse_windows_and_sizes_beyond_63_bits():
    with pytest.raises(ValueError, match="several indices"):
        cells_array(parse("$(N:1, F:2)", AXES), np.arange(3))
    huge = {"A": 2**62, "B": 2}
    with pytest.raises(ValueError, match="63 bits"):
        cells_array(parse("A, B", huge), np.arange(3))
    assert cells_array(parse("A", huge), np.array([2**62 - 1, 2**62])).kind.tolist() == [0, 4]
