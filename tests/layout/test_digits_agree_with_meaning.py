"""Digits against the literal meaning: every expression up to a depth, every position, with the count asserted.

The two share no code: `meaning` is one case per constructor, digits are sums and guards.
"""

from __future__ import annotations

import itertools
import random

import pytest
from lab.draws import counted

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
    axes_of,
)
from dmaverify.language.meaning import Index, OutOfBounds, Pad, cell, finalize
from dmaverify.layout.digits import DigitForm, Gap, NotDigits, coalesce, compile_digits, digits_of
from dmaverify.layout.digits import finalize as finalize_form

SIZES = {"A": 4, "B": 3, "C": 6}


def cell_of_form(form: DigitForm, position: int) -> object:
    """The cell that the normal form gives, found by trying every digit vector: slow, and unlike any code under test."""
    found = [
        values
        for values in itertools.product(*(range(d.slots) for d in form.digits))
        if sum(d.step * v for d, v in zip(form.digits, values, strict=True)) == position
        and not any(g.kind is Gap.VOID and g.value(values) >= g.bound for g in form.guards)
    ]
    assert len(found) == 1, f"{len(found)} digit vectors at position {position}"
    for guard in form.guards:
        if guard.value(found[0]) >= guard.bound and guard.kind is not Gap.VOID:
            return Pad(Kind.TOP) if guard.kind is Gap.OUT else Pad(guard.kind)
    coordinates = dict(form.offsets)
    for digit, value in zip(form.digits, found[0], strict=True):
        if digit.axis is not None:
            coordinates[digit.axis] = coordinates.get(digit.axis, 0) + digit.weight * value
    return Index(tuple(sorted((a, v) for a, v in coordinates.items() if v)))


def leaves() -> list[Expr]:
    return [Symbol("A", 4), Symbol("B", 3), Symbol("C", 6), Broadcast(2)]


def grown(inner: Expr) -> list[Expr]:
    """Every legal or merely flagged constructor around `inner`, with parameters on both sides of every edge."""
    size = inner.size
    divisors = [k for k in range(1, size + 1) if size % k == 0]
    out: list[Expr] = [Stride(inner, k) for k in divisors] + [Modulo(inner, k) for k in divisors]
    out += [Resize(inner, n) for n in sorted({1, size - 1, size, size + 1, size + 2}) if n > 0]
    out += [Padding(inner, n, Kind.TOP) for n in sorted({size - 1, size, size + 1, 2 * size}) if n > 0]
    out += [Padding(inner, size + 1, Kind.ZERO), Padding(inner, 2 * size, Kind.BOTTOM)]
    out += [Drop(inner, k) for k in (1, 2) if k < size]
    return out


def one_step() -> list[Expr]:
    return [e for leaf in leaves() for e in grown(leaf)] + [Pair(a, b) for a in leaves() for b in leaves()]


def two_steps() -> list[Expr]:
    return [e for inner in one_step() for e in grown(inner)]


def agreements(exprs: list[Expr]) -> tuple[int, int]:
    """(expressions with digits, positions compared); raises at the first disagreement."""
    decided = positions = 0
    for expr in exprs:
        try:
            forms = [
                digits_of(expr),
                finalize_form(compile_digits(expr), axes_of(expr)),
            ]
        except NotDigits:
            continue
        decided += 1
        for position in range(expr.size):
            wanted = finalize(cell(expr, position), axes_of(expr))
            for form in forms:
                assert cell_of_form(form, position) == wanted, f"{expr} at {position}: {form}"
            positions += 1
    return decided, positions


def test_every_expression_of_one_step_has_digits_that_mean_the_same():
    exprs = one_step()
    assert len(exprs) == 88
    assert agreements(exprs) == (88, 490)


def test_every_expression_of_two_steps_means_the_same_wherever_it_has_digits():
    exprs = two_steps()
    decided, positions = agreements(exprs)
    assert (len(exprs), decided, positions) == (1542, 1498, 8320)


def test_pairs_of_grown_parts_mean_the_same():
    parts = [e for leaf in leaves()[:2] for e in grown(leaf)]
    exprs: list[Expr] = [Pair(a, b) for a in parts for b in parts]
    exprs += [Padding(Pair(a, b), a.size * b.size + 3) for a in parts[:6] for b in parts]
    assert agreements(exprs) == (1512, 17240)


@pytest.mark.parametrize("count", counted(400, 1500))
def test_deeper_random_expressions_mean_the_same(count: int):
    rng = random.Random(11)
    exprs: list[Expr] = []
    while len(exprs) < count:
        expr: Expr = rng.choice(leaves())
        for _ in range(rng.randint(3, 5)):
            expr = (
                rng.choice(grown(expr)) if rng.random() < 0.7 else Pair(expr, rng.choice(grown(rng.choice(leaves()))))
            )
            if expr.size > 60:
                break
        if expr.size <= 60:
            exprs.append(expr)
    decided, positions = agreements(exprs)
    assert decided > 4 * count // 5
    assert positions > 6 * count


@pytest.mark.parametrize(
    "expr",
    [
        Stride(Pair(Symbol("A", 2), Symbol("B", 3)), 2),
        Drop(Pair(Symbol("A", 2), Symbol("B", 3)), 2),
        Window(((Symbol("A", 4), 1), (Symbol("B", 3), 2))),
    ],
    ids=str,
)
def test_a_cut_inside_a_carry_has_no_digits_and_says_so(expr: Expr):
    with pytest.raises(NotDigits):
        compile_digits(expr)


def test_a_window_whose_weights_are_volumes_is_a_pair():
    window = Window(((Symbol("A", 4), 3), (Symbol("B", 3), 1)))
    assert digits_of(window) == digits_of(Pair(Symbol("A", 4), Symbol("B", 3)))


def test_a_cut_that_changes_no_address_is_no_cut():
    a = Symbol("A", 12)
    assert digits_of(Pair(Stride(a, 4), Modulo(a, 4))) == digits_of(a)
    assert digits_of(Pair(Stride(a, 6), Pair(Modulo(Stride(a, 2), 3), Modulo(a, 2)))) == digits_of(a)


def test_a_cut_that_moves_an_axis_stays_a_cut():
    a = Symbol("A", 12)
    assert len(digits_of(Pair(Modulo(a, 4), Stride(a, 4))).digits) == 2


def test_hardware_walks_slots_and_the_tensor_has_live():
    form = digits_of(Padding(Symbol("A", 3), 8))
    assert [(d.slots, d.live) for d in form.digits] == [(8, 3)]
    padded = Padding(Symbol("A", 15), 16)
    form = digits_of(Pair(Stride(padded, 4), Modulo(padded, 4)))
    assert [(d.slots, d.live) for d in form.digits] == [(16, 15)]


def test_a_padded_axis_in_the_other_order_keeps_a_compound_guard():
    padded = Padding(Symbol("A", 15), 16)
    form = coalesce(finalize_form(compile_digits(Pair(Modulo(padded, 4), Stride(padded, 4))), {"A": 15}))
    assert [(d.slots, d.live) for d in form.digits] == [(4, 4), (4, 4)]
    assert [(g.terms, g.bound, g.kind) for g in form.guards] == [(((0, 1), (1, 4)), 15, Kind.TOP)]


def test_out_of_bounds_cells_are_kept_apart_from_padding():
    form = digits_of(Resize(Symbol("A", 4), 6))
    assert [g.kind for g in form.guards] == [Gap.OUT]
    assert finalize(cell(Resize(Symbol("A", 4), 6), 5), {"A": 4}) == Pad(Kind.TOP)
    assert isinstance(cell(Resize(Symbol("A", 4), 6), 5), OutOfBounds)
