"""All small moves: two axes of 1 to 3, every mapping of a family, every pair of mappings: meaning = digits = executor
= Z3. Axes of 4 to 6, larger paddings, two kinds of an outer padding, and what is left out of pairs are `make slow`.

The family holds every constructor around one axis, and both orders of both axes with every cut of either; the numbers
of moves are asserted. For each move the plain stream of the destination is derived where it has one, and proof and
execution must agree on every obligation; a move that keeps its promise must be proved.
"""

import itertools
from collections import Counter
from functools import cache

import pytest
from lab.draws import rest
from lab.oracle import compare

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
    axes_of,
    terms_of,
)
from dmaverify.language.meaning import Index, cell, finalize
from dmaverify.lower.derive import derive
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.move import Stream
from dmaverify.program.space import Space, layout_of
from dmaverify.program.tensor import Tensor

PADDED = [
    (Kind.ZERO, 22), (None, 7),
    pytest.param(Kind.TOP, 14, marks=pytest.mark.slow), pytest.param(Kind.BOTTOM, 7, marks=pytest.mark.slow),
]  # fmt: skip  # the outer source axis; moves proved of 64
SPACE = Space("host", ("element",))
FAR = 4096


def divisors(size: int) -> list[int]:
    return [k for k in range(1, size + 1) if size % k == 0]


def around(axis: Expr) -> list[Expr]:
    """The axis, and every constructor around it with numbers on both sides of each edge."""
    size = axis.size
    out: list[Expr] = [axis]
    out += [Stride(axis, k) for k in divisors(size)] + [Modulo(axis, k) for k in divisors(size)]
    out += [Resize(axis, n) for n in (1, size, size + 1)]
    out += [Padding(axis, n, kind) for n in (size, size + 1) for kind in Kind]
    out += [Drop(axis, k) for k in range(size)]
    return list(dict.fromkeys(out))


def cuts(axis: Expr) -> list[list[Expr]]:
    """The axis whole, and cut in two at every inner divisor."""
    inner = [k for k in divisors(axis.size) if 1 < k < axis.size]
    return [[axis], *([Stride(axis, k), Modulo(axis, k)] for k in inner)]


def orders(a: Expr, b: Expr) -> list[Expr]:
    """Every order of the pieces of two axes, for every cut of either."""
    out: list[Expr] = []
    for left, right in itertools.product(cuts(a), cuts(b)):
        for pieces in itertools.permutations([*left, *right]):
            first, *rest = reversed(pieces)
            expr = first
            for piece in rest:
                expr = Pair(piece, expr)
            out.append(expr)
    return out


@cache
def layout(expr: Expr) -> tuple[tuple[object, ...], ...]:
    """(kind of padding or coordinates) of every position, by meaning."""
    sizes = axes_of(expr)
    return tuple((finalize(cell(expr, position), sizes),) for position in range(expr.size))


def digits_agree(expr: Expr) -> bool | None:
    """Whether the layout's digits give what meaning gives at every address; None where the mapping has no digits."""
    found, opaque = layout_of(Tensor("host", expr), SPACE, 8)
    if opaque:
        return None
    for position, (wanted,) in enumerate(layout(expr)):
        values = found.values_at(position)
        assert values is not None
        assert found.address_of(values) == position
        kind = found.kind_at(values)
        if isinstance(wanted, Index):
            have = {a: v for a, v in found.coordinates(values).items() if v and a in axes_of(expr)}
            if kind is not None or have != dict(wanted.coords):
                return False
        elif kind is None:
            return False
    return found.values_at(expr.size) != found.values_at(0)


def judged(source: Expr, dest: Expr) -> str:
    """The outcome of one move, walked in the destination's order; raises where two opinions differ."""
    tensors = Tensor("host", source), Tensor("host", dest, base=FAR)
    spaces = (SPACE, SPACE)
    found = derive(*tensors, spaces, 8, Stream(dest, Broadcast(1)))
    if not hasattr(found, "commands"):
        return "not derivable"
    opinion = compare(*tensors, spaces, 8, found.commands)
    assert opinion is not None
    assert not opinion.disagreements, (str(source), str(dest), opinion.disagreements)
    assert opinion.outcome == ("refuted" if opinion.broken - {"core/consumes"} else "proved")
    return opinion.outcome


def sizes(most: int) -> list[tuple[Symbol, Symbol]]:
    return [(Symbol("A", a), Symbol("B", b)) for a in range(1, most + 1) for b in range(1, most + 1)]


@pytest.mark.parametrize(("most", "count"), [(3, 2124), *rest([(4, 4443), (6, 12348)])])
def test_every_mapping_of_the_family_has_digits_that_mean_the_same(most: int, count: int) -> None:
    every = {e for a, b in sizes(most) for e in [*around(a), *around(b), *orders(a, b)]}
    every |= {Pair(x, y) for a, b in sizes(most) for x in around(a) for y in around(b)}
    answers = Counter(digits_agree(expr) for expr in every)
    assert answers == Counter({True: count})


ONE_AXIS = [
    ((1, 4), 4, {"proved": 77, "refuted": 55, "not derivable": 4}),  # sizes, each so-many-th pair, outcomes
    *rest(
        [
            ((1, 4), 1, {"proved": 327, "refuted": 190, "not derivable": 27}),
            ((2, 3, 5, 6), 1, {"proved": 818, "refuted": 557, "not derivable": 107}),
        ]
    ),
]


@pytest.mark.parametrize(("of", "step", "wanted"), ONE_AXIS)
def test_every_move_of_one_axis_is_judged_alike_by_proof_and_by_running_it(
    of: tuple[int, ...], step: int, wanted: dict[str, int]
) -> None:
    outcomes: Counter[str] = Counter()
    for size in of:
        a = Symbol("A", size)
        pairs = itertools.islice(itertools.product(around(a), repeat=2), 0, None, step)
        outcomes += Counter(judged(x, y) for x, y in pairs)
    assert outcomes == Counter(wanted)


@pytest.mark.parametrize(
    ("most", "wanted"),
    [(3, {"proved": 36}), *rest([(4, {"proved": 712}), (6, {"proved": 4128, "not derivable": 552})])],
)
def test_every_relayout_of_two_axes_is_proved_where_both_sides_cut_alike(most: int, wanted: dict[str, int]) -> None:
    """Any order of up to six pieces on both sides together. `6 = 2 * 3` against `6 = 3 * 2` has no common loops."""
    outcomes: Counter[str] = Counter()
    for a, b in sizes(most):
        every = orders(a, b)
        outcomes += Counter(judged(x, y) for x in every for y in every if len(terms_of(x)) + len(terms_of(y)) < 7)
    assert outcomes == Counter(wanted)


@pytest.mark.parametrize(
    "sizes", [(2, 3), *(pytest.param(s, marks=pytest.mark.slow) for s in ((2, 2), (3, 2), (3, 3)))]
)
@pytest.mark.parametrize(("outer", "proved"), PADDED)
def test_every_padding_of_either_side_is_judged_alike(outer: Kind | None, proved: int, sizes: tuple[int, int]) -> None:
    """`A # a, B # b` against `B # b', A # a'` for every kind."""
    outcomes: Counter[str] = Counter()
    kinds = (None, *Kind)
    axis = Symbol("A", sizes[0]), Symbol("B", sizes[1])
    for one, other in itertools.product(kinds, repeat=2):
        source = Pair(padded(axis[0], outer), padded(axis[1], one))
        for last in kinds:
            dest = Pair(padded(axis[1], other), padded(axis[0], last))
            outcomes[judged(source, dest)] += 1
    assert outcomes == Counter({"proved": proved, "refuted": 64 - proved})


def padded(axis: Expr, kind: Kind | None) -> Expr:
    return axis if kind is None else Padding(axis, axis.size + 1, kind)


@pytest.mark.parametrize(("reads", "refuted"), [((1, 2), 62), *rest([((-1, 0, 1, 2), 254)])])
def test_every_nest_of_two_loops_on_a_small_matrix_is_judged_alike(reads: tuple[int, ...], refuted: int) -> None:
    """All strides from -1 to 2 on both sides of two loops of 2 over `A, B` to `B, A`: right, wrong, out of bounds."""
    a, b = Symbol("A", 2), Symbol("B", 2)
    source, dest = Tensor("host", Pair(a, b)), Tensor("host", Pair(b, a), base=FAR)
    outcomes: Counter[str] = Counter()
    for steps in itertools.product(*(reads, range(-1, 3)) * 2):
        loops = (Loop(2, steps[0], steps[1]), Loop(2, steps[2], steps[3]))
        command = Command(Port("host", 0), Port("host", FAR), loops, 1, 1)
        opinion = compare(source, dest, (SPACE, SPACE), 8, [command])
        assert opinion is not None
        assert not opinion.disagreements, (steps, opinion.disagreements)
        outcomes[opinion.outcome] += 1
    assert outcomes == Counter({"proved": 2, "refuted": refuted})
