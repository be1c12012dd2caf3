"""Tags against the literal meaning, regions against their addresses, batches against the loops they come from."""

from itertools import product

import numpy as np
import pytest
from lab.draws import rest

from dmaverify.execute.address import Batch, DeclaredRegion, batches, region_of
from dmaverify.execute.promise import Promise, cell_words, promise_of, steps_of
from dmaverify.language.expr import Broadcast, Expr, Kind, Stride, Symbol, axes_of, pair
from dmaverify.language.meaning import Pad, cell, finalize, live_indices
from dmaverify.language.parse import parse
from dmaverify.program.command import Command, Loop, Port, counters_at
from dmaverify.program.space import Space
from dmaverify.program.tensor import Tensor

AXES = {"A": 4, "B": 3, "C": 8}
TEXTS = [
    "A", "A, B", "B, A", "A % 2, A / 2", "B # 4 / 2, B # 4 % 2", "B #{0} 5, A #{!} 6", "A, 2, B", "1", "C / 2, B = 5",
    "A / 2, A", "[A, B] / 2, 2", "C @ 3, B # 4 #{0} 5", "A #{!} 5, B #{0} 4, C # 9", "2, 3", "A, A",
]  # fmt: skip


def m(text: str) -> Expr:
    return parse(text, AXES)


def literal(expr: Expr, position: int, axes: dict[str, int], fill: Kind) -> object:
    """The padding kind, or the coordinates on `axes`."""
    sizes = axes_of(expr)
    found = finalize(cell(expr, position), sizes, fill)
    if isinstance(found, Pad):
        return found.kind
    return frozenset(tuple((a, v) for a, v in one if a in axes) for one in live_indices(expr, position, sizes))


def as_promised(promise: Promise, source: Expr, dest: Expr, width: int) -> None:
    """Every pair of units serves or not exactly as the cells say."""
    axes = axes_of(source)
    ours = [literal(source, p, axes, Kind.TOP) for p in range(source.size)]
    theirs = [literal(dest, p, axes, Kind.BOTTOM) for p in range(dest.size)]
    tags = {Kind.TOP: -1, Kind.ZERO: -2}
    for u, v in product(range(source.size * width), range(dest.size * width)):
        have, want = ours[u // width], theirs[v // width]
        if isinstance(have, Kind):
            assert promise.source[u] == tags.get(have, -3)
        if isinstance(want, Kind):
            assert promise.dest[v] == tags.get(want, -4)
        if not isinstance(have, Kind) and not isinstance(want, Kind):
            same = have == want and u % width == v % width
            assert (promise.source[u] == promise.dest[v]) == same


@pytest.mark.parametrize("every", [6, *rest([2])])
@pytest.mark.parametrize("width", [1, *rest([2])])
def test_tags_are_equal_exactly_where_the_elements_are(width: int, every: int) -> None:
    for source, dest in product(TEXTS[::every], TEXTS):
        as_promised(promise_of(m(source), m(dest), width, False), m(source), m(dest), width)


def test_tags_of_huge_axes_are_exact_too() -> None:
    """Indices that do not fit 63 bits as one number, and sizes that do not fit 63 bits at all."""
    for size in (1 << 40, 1 << 62, 1 << 80):
        halves = [Stride(Symbol(name, size), size // 2) for name in "AB"]
        one, other = pair(*halves, Broadcast(2)), pair(*halves[::-1])
        as_promised(promise_of(one, other, 1, False), one, other, 1)
        assert promise_of(one, other, 1, False).dest_live == 4


def test_the_steps_of_a_set_of_coordinates_are_its_digits() -> None:
    assert steps_of(range(8)) == ((1, 8),)
    assert steps_of([0, 4, 8]) == ((4, 3),)
    assert steps_of([0, 1, 4, 5, 8, 9]) == ((1, 2), (4, 3))
    assert steps_of([0, 1, 4, 5, 8]) == ((1, 2), (4, 3))  # the last is not reached in full
    assert steps_of([0]) == ()
    assert steps_of([]) is None
    assert steps_of([1, 2, 3]) is None
    assert steps_of([0, 1, 2, 4, 5, 6]) is None  # 4 is no multiple of 3
    assert steps_of([0, 1, 4, 6]) is None


def test_a_cell_in_words() -> None:
    assert cell_words(m("C, A / 2"), 3) == ("live", {"A": 2, "C": 1})
    assert cell_words(m("B # 4"), 3) == ("top", None)
    assert cell_words(m("B #{0} 4"), 3) == ("zero", None)
    assert cell_words(m("B = 4"), 3) == ("out-of-bounds", None)
    assert cell_words(m("A / 2, A"), 7) == ("top", None)
    assert cell_words(Broadcast(2), 1) == ("live", {})


# ---------------------------------------------------------------- addresses


def test_unit_indices_and_addresses_name_each_other() -> None:
    space = Space("dm", ("chip", "cluster", "slice", "element"), (("slice", 64),))
    tensor = Tensor("dm", m("A, B"), chip=m("2"), slice=m("B"), base=5, at_cluster=1, at_slice=2)
    region = region_of(tensor, space, 16)
    assert region.units == 2 * 3 * 24
    every = [region.address_of(index) for index in range(region.units)]
    expected = [
        (chip << 56) + (1 << 52) + (2 + s) * 64 + 5 + byte for chip in range(2) for s in range(3) for byte in range(24)
    ]
    assert every == expected
    around = sorted({a + d for a in every for d in range(-70, 71)})
    index, inside = region.locate(np.array(around), around[0], around[-1])
    assert index.tolist() == [every.index(a) if a in every else -1 for a in around]
    assert not inside
    for address in around:
        found, _ = region.locate(np.array([address], object), address, address)
        assert found.tolist() == [every.index(address) if address in every else -1]


def test_a_region_of_half_bytes_begins_at_its_byte() -> None:
    assert region_of(Tensor("hbm", m("A"), base=3), Space("hbm", ("element",)), 4) == DeclaredRegion(
        6, (("element", 4, 1),)
    )


@pytest.mark.parametrize("chunk", [1, 4, 5, 6, 24, 1000])
def test_batches_are_the_copies_in_order(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmaverify.execute.address.CHUNK", chunk)
    loops = (Loop(3, 100, -7), Loop(1, 5, 5), Loop(2, 0, 50))
    command = Command(Port("hbm", 10, 1), Port("dm", 20, 0, 1), loops, 5, 5)
    idle = Command(Port("hbm", 0), Port("hbm", 0), (Loop(0, 1, 1),), 4, 4)
    found: list[Batch] = list(batches([idle, command]))
    assert [batch.first for batch in found] == [sum(len(b.read) for b in found[:n]) for n in range(len(found))]
    assert all(len(batch.read) <= max(chunk, 1) for batch in found)
    counters = list(product(range(3), range(1), range(2), range(5)))
    assert [counters_at([count for count, _, _ in command.nest], n) for n in range(30)] == counters
    reads = [(1 << 56) + 10 + 100 * i + e for i, _, _, e in counters]
    writes = [(1 << 52) + 20 - 7 * i + 50 * k + e for i, _, k, e in counters]
    assert [a for batch in found for a in batch.read.tolist()] == reads
    assert [a for batch in found for a in batch.write.tolist()] == writes
    for batch in found:
        assert batch.read_bounds[0] <= min(batch.read) <= max(batch.read) <= batch.read_bounds[1]
        assert batch.write_bounds[0] <= min(batch.write) <= max(batch.write) <= batch.write_bounds[1]


def test_an_undeclared_axis_has_no_cells() -> None:
    assert promise_of(Symbol("Q", 0), m("A"), 1, False).source.tolist() == []
