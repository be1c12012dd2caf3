"""Accesses of one memory fall into groups that share no byte and no register."""

import pytest

from dmaverify.errors import Source, Span
from dmaverify.language.affine import Lin, World, compare
from dmaverify.program.instructions import Arrival, Branch, CopyTouch, Event, KernelLoop, Place, StoredSource, Use
from dmaverify.prove.flow.accesses.separate import separated

SPAN = Span(Source("t", ""), 0, 0)


def access(
    number: int, base: Lin | int, *, load: int = 0, source: int = 0, space: str = "ub", open_: bool = False
) -> Use:
    at = base if isinstance(base, Lin) else Lin(base)
    touch = CopyTouch("data", Place(space, "", at), Lin(), Lin(64), (), open=open_)
    sources = (StoredSource(source),) if source else ()
    return Use(number, "V", (touch,), SPAN, "", load=load, sources=sources)


def groups(*events: Event, world: World | None = None) -> list[list[int]]:
    """The numbers of the accesses of each group."""
    made = separated(events, world or World(), lambda touch: touch.place.space == "ub")
    return [[one.number for one in group if isinstance(one, Use)] for group in made]


def test_accesses_are_apart_where_no_byte_and_no_register_is_of_both() -> None:
    assert groups(access(1, 0), access(2, 64)) == [[1], [2]]
    assert groups(access(1, 0), access(2, 63)) == [[1, 2]]
    assert groups(access(1, 0), access(2, 100), access(3, 50)) == [[1, 2, 3]]  # by the third
    assert groups(access(1, 0, load=1), access(2, 64, load=2), access(3, 128, source=1)) == [[1, 3], [2]]
    assert groups(access(1, 0, load=1), access(2, 64, space="gm", source=1), access(3, 64)) == [[1, 2], [3]]
    assert groups(access(1, 0), access(2, 64, open_=True)) == [[1, 2]]


@pytest.mark.parametrize(("most", "expected"), [(0, [[1], [2]]), (1, [[1, 2]]), (None, [[1, 2]])])
def test_an_address_over_symbols_reaches_all_that_it_may_be(most: int | None, expected: list[list[int]]) -> None:
    world = World()
    assert groups(access(1, world.free("n", 0, most)), access(2, 64), world=world) == expected


def test_each_group_keeps_its_loops_its_branches_and_every_arrival() -> None:
    world = World()
    when = compare("lt", world.free("n", 0, 9) - 4)
    one, two, three, arrival = access(1, 0), access(2, 64), access(3, 0), Arrival("wait", SPAN)
    loop = KernelLoop("i", Lin(4), (Branch(when, (one,), (two, arrival), SPAN),), SPAN)
    first, second = separated((loop, three), world, lambda touch: True)
    for group, then, other, rest in ((first, (one,), (arrival,), [three]), (second, (), (two, arrival), [])):
        begun, *behind = group
        assert isinstance(begun, KernelLoop)
        (branch,) = begun.body
        assert isinstance(branch, Branch)
        assert (branch.when, branch.then, branch.other, behind) == (when, then, other, rest)
