"""The normal form of mappings and layouts, number by number: what a cut, a pad, a resize, a drop leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import gcd

import pytest

from dmaverify.language.expr import Expr, Kind
from dmaverify.language.meaning import Index, cell, finalize
from dmaverify.language.parse import parse
from dmaverify.layout.addresses import cut_digit
from dmaverify.layout.digits import DigitForm, Gap, compile_digits, digits_of
from dmaverify.layout.refine import Nest, _separable, cut_piece, drive, missing_cell
from dmaverify.program.space import Space, layout_of
from dmaverify.program.tensor import Tensor
from dmaverify.testing.draw import Seeded
from dmaverify.testing.random_mappings import axes, mapping

AXES = {"A": 5, "B": 4, "C": 6}
HOST = Space("host", ("element",))
DM = Space("dm", ("slice", "element"), (("slice", 16),))


def form(text: str) -> DigitForm:
    return digits_of(parse(text, AXES))


def kind_at(found: DigitForm, *values: int) -> object:
    return next((g.kind for g in found.guards if g.value(values) >= g.bound), None)


@pytest.mark.parametrize(
    ("text", "live"), [("A # 8 / 2", 3), ("A # 8 / 4", 2), ("C", 6), ("C # 8", 6), ("C # 8 # 10", 6), ("C = 4", 4)]
)
def test_a_cut_keeps_the_values_that_begin_inside(text: str, live: int) -> None:
    assert [digit.live for digit in form(text).digits] == [live]


def test_padding_begins_behind_the_last_element() -> None:
    for text, last in (("A # 8", 4), ("C #{0} 9", 5), ("C #{!} 7", 5)):
        assert kind_at(form(text), last) is None
        assert kind_at(form(text), last + 1) is not None


def test_padding_around_padding_keeps_the_inner_kind() -> None:
    found = form("A #{0} 7 #{!} 9")
    assert [kind_at(found, at) for at in (4, 5, 6, 7, 8)] == [None, Kind.ZERO, Kind.ZERO, Kind.BOTTOM, Kind.BOTTOM]
    other = form("A #{!} 7 #{0} 9")
    assert [kind_at(other, at) for at in (5, 7)] == [Kind.BOTTOM, Kind.ZERO]


def test_a_drop_moves_coordinates_by_weights_and_the_end_with_them() -> None:
    found = compile_digits(parse("C / 2 @ 1", AXES))
    assert dict(found.offsets) == {"C": 2}
    padded = form("A # 8 @ 2")
    assert kind_at(padded, 2) is None
    assert kind_at(padded, 3) is not None


def test_overshoot_by_one_value_is_a_hole() -> None:
    """`A # 6 / 2, A # 6 % 2` counts to 5, which is no element of five."""
    found = form("A # 6 / 2, A # 6 % 2")
    assert [digit.slots for digit in found.digits] == [6]
    assert kind_at(found, 4) is None
    assert kind_at(found, 5) is Kind.TOP


def test_neighbours_are_one_digit_only_with_weights_that_follow() -> None:
    assert len(form("C / 2, C % 2").digits) == 1
    assert len(form("C % 2, C / 2").digits) == 2
    assert len(form("C / 3, C % 2").digits) == 2


def test_a_padded_broadcast_stays_beside_a_plain_one() -> None:
    assert len(form("1 # 2, 3").digits) == 2
    assert len(form("2, 3").digits) == 1


def test_an_uneven_resize_leaves_positions_that_do_not_exist() -> None:
    found = compile_digits(parse("[C, B] = 22", AXES))
    assert any(g.value((5, 2)) >= g.bound for g in found.guards)
    assert not any(g.value((5, 1)) >= g.bound for g in found.guards)
    padded = compile_digits(parse("[A, B] # 22", AXES))
    assert next(g.kind for g in padded.guards if g.value((5, 2)) >= g.bound) is Gap.VOID
    assert not any(g.kind is Gap.VOID and g.value((5, 1)) >= g.bound for g in padded.guards)


@pytest.mark.parametrize(
    ("text", "size"), [("[C, B] = 22 # 24", 24), ("[C, B] = 22 # 24 = 22", 22), ("[C, B] = 22 #{0} 24 = 22", 22)]
)
def test_padding_that_is_cut_off_again_leaves_positions_that_do_not_exist(text: str, size: int) -> None:
    found = form(text)
    values = product(*(range(digit.slots) for digit in found.digits))
    inside = [v for v in values if not any(g.kind is Gap.VOID and g.value(v) >= g.bound for g in found.guards)]
    assert sorted(sum(d.step * n for d, n in zip(found.digits, v, strict=True)) for v in inside) == [*range(size)]


def test_an_uneven_cut_of_a_digit_leaves_no_position_behind_its_end() -> None:
    found = layout_of(Tensor("host", parse("A", AXES)), HOST, 8)[0]
    index = next(i for i, d in enumerate(found.digits) if d.axis == "A")
    cut = cut_digit(found, index, 2)
    values = [(a, b) for a in range(3) for b in range(2)]
    inside = [v for v in values if not any(g.value((*(0,) * index, *v)) >= g.bound for g in cut.guards)]
    assert len(inside) == 5


def test_the_first_place_moves_the_first_address() -> None:
    plain = layout_of(Tensor("dm", parse("B", AXES), slice=parse("A", AXES)), DM, 8)[0]
    moved = layout_of(Tensor("dm", parse("B", AXES), slice=parse("A", AXES), at_slice=2, base=3), DM, 8)[0]
    assert moved.origin - plain.origin == 2 * 16 + 3


def test_the_end_of_a_slice_is_outside_and_the_next_slice_is_not() -> None:
    found = layout_of(Tensor("dm", parse("B", AXES), slice=parse("A", AXES)), DM, 8)[0]
    inside = found.values_at(16 + 3)
    beyond = found.values_at(16 + 4)
    assert inside is not None
    assert all(inside[i] == 0 for i in found.beyond_index)
    assert beyond is not None
    assert any(beyond[i] for i in found.beyond_index)


def test_a_room_has_as_many_places_as_its_distance_holds() -> None:
    """Rows of four in slices of sixteen: three times four behind them, the next address is the next slice."""
    found = layout_of(Tensor("dm", parse("B", AXES), slice=parse("A", AXES)), DM, 8)[0]
    limits = [limit for _, name, limit in found.beyond if name == "element"]
    assert limits == [4]
    assert found.values_at(15) is not None
    values = found.values_at(16)
    assert values is not None
    assert not any(values[i] for i in found.beyond_index)


def test_what_is_left_at_the_end_of_a_room_is_nobodys() -> None:
    """Slices of eighteen with rows of four: the last two bytes of each are no row."""
    odd = Space("dm", ("slice", "element"), (("slice", 18),))
    found = layout_of(Tensor("dm", parse("B", AXES), slice=parse("A", AXES)), odd, 8)[0]
    assert found.values_at(15) is not None
    assert found.values_at(16) is None
    assert found.values_at(18) is not None


def last_of_the_cells(expr: Expr, sizes: Mapping[str, int]) -> int | None:
    """The last position that holds an element, cell by cell, as the meaning of a mapping says it."""
    live = [at for at in range(expr.size) if isinstance(finalize(cell(expr, at), sizes), Index)]
    return max(live, default=None)


@pytest.mark.parametrize("text", ["A # 8 / 2, C # 7", "(A, B) # 23", "(A # 6, B) = 18", "(A, B # 5) = 21 # 30"])
def test_the_last_live_cell_is_that_of_the_cells(text: str) -> None:
    expr = parse(text, AXES)
    found, opaque = layout_of(Tensor("host", expr, base=7), HOST, 16)
    assert opaque or found.last_live == 7 + 2 * last_of_the_cells(expr, AXES) + 1  # its second byte


def test_the_last_live_cell_of_drawn_mappings_is_that_of_the_cells() -> None:
    compared = 0
    for seed in range(400):
        draw = Seeded(seed)
        sizes = axes(draw)
        expr = mapping(draw, sizes, 4)
        found, opaque = layout_of(Tensor("host", expr, base=3), HOST, 8)
        last = last_of_the_cells(expr, sizes)
        if not opaque and last is not None:
            assert found.last_live == 3 + last, (expr, sizes)
            compared += 1
    assert compared > 300


def test_padding_is_no_replica() -> None:
    plain = layout_of(Tensor("host", parse("3, B", AXES)), HOST, 8)[0]
    hole = layout_of(Tensor("host", parse("1 # 3, B", AXES)), HOST, 8)[0]
    assert len(plain.replicas) == 1
    assert not hole.replicas


def test_an_axis_named_twice_is_noticed() -> None:
    assert layout_of(Tensor("host", parse("C / 2, C", AXES)), HOST, 8)[0].repeats_an_axis
    assert not layout_of(Tensor("host", parse("C / 2, C % 2", AXES)), HOST, 8)[0].repeats_an_axis


# ---------------------------------------------------------------- loops


def test_an_uneven_cut_of_a_loop_ends_where_the_loop_does() -> None:
    cut = cut_piece(Nest.of(0, 0, [(5, 4, 4)]), 0, 2)
    assert [p.count for p in cut.pieces] == [3, 2]
    pairs = [(a, b) for a in range(3) for b in range(2)]
    inside = [v for v in pairs if all(sum(k * v[i] for i, k in terms) < bound for terms, bound in cut.guards)]
    assert len(inside) == 5


@pytest.mark.parametrize(
    ("loops", "base", "carries"),
    [
        ([(6, 4), (4, 1)], 0, False), ([(5, 4), (4, 1)], 1, True), ([(6, -4), (4, 1)], 20, False),
        ([(6, 4), (4, -1)], 3, False), ([(6, 4), (4, -1)], 2, True),
    ],
)  # fmt: skip
def test_a_digit_carries_exactly_where_its_sum_leaves_it(
    loops: list[tuple[int, int]], base: int, carries: bool
) -> None:
    found = layout_of(Tensor("host", parse("C, B", AXES)), HOST, 8)[0]
    joint = drive(found, found, [Nest.of(base, base, [(n, s, s) for n, s in loops])])
    assert joint.plain != carries


@pytest.mark.parametrize(("count", "missing"), [(3, "none"), (2, 16)])
def test_values_that_no_loop_reaches_are_missing(count: int, missing: object) -> None:
    """Runs of eight over rows of four carry from the inner digit into the outer one."""
    found = layout_of(Tensor("host", parse("C, B", AXES)), HOST, 8)[0]
    joint = drive(found, found, [Nest.of(0, 0, [(count, 8, 8), (8, 1, 1)])])
    assert missing_cell(joint.nests[0], joint.dest) == missing


def test_digits_carry_down_to_where_every_carried_step_is_a_multiple() -> None:
    """Slices of eighteen with rows of four: what carries into the slice is no number of rows, so that bytes carry."""
    odd = Space("dm", ("slice", "element"), (("slice", 18),))
    found = layout_of(Tensor("dm", parse("B", AXES), slice=parse("A", AXES)), odd, 8)[0]
    even = layout_of(Tensor("dm", parse("B", AXES), slice=parse("A", AXES)), DM, 8)[0]
    assert gcd(*[d.step for d in found.digits][: _separable(found, 3)]) == 1
    assert [d.step for d in even.digits][_separable(even, 3) - 1] == 4


@pytest.mark.parametrize(("text", "boxed"), [
    ("A % 4, A / 4 # 6", True), ("A # 20 / 4, A # 20 % 4", True), ("A # 20 % 5, A # 20 / 5", False), ("A, B # 6", True),
    ("(A, B) # 40", True), ("A # 20 % 10, B, A # 20 / 10", False),
])  # fmt: skip
def test_the_live_cells_are_those_of_a_box_where_its_last_one_is_live(text: str, boxed: bool) -> None:
    assert digits_of(parse(text, {"A": 16, "B": 2})).boxed is boxed
