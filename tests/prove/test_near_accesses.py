"""Which accesses may share a byte: those that lie alike have one set, however many they are."""

import pytest

from dmaverify.errors import Source, Span
from dmaverify.language.affine import Lin, World
from dmaverify.program.instructions import CopyTouch, Place, Use
from dmaverify.prove.flow.accesses.lifted import ends_of, near
from dmaverify.prove.flow.accesses.step_events import touch_of

SPAN = Span(Source("t", ""), 0, 0)


def access(number: int, base: int, pipe: str, *, writes: bool) -> Use:
    touch = touch_of(Place("mem", "", Lin(base)), ((64, 1),), writes=writes)
    return Use(number, pipe, (touch,), SPAN, f"access {number}", step=number)


def test_accesses_that_lie_alike_have_one_set_of_others() -> None:
    events = [access(n, 64 * (n % 2), "in" if n % 4 < 2 else "out", writes=n % 4 < 2) for n in range(400)]
    found = near(events, World(), ("in", "out"))
    assert set(found) == set(range(400))
    assert len({id(others) for others in found.values()}) == 4
    for number, others in found.items():  # the other pipe, in the same half
        assert others == {n for n in range(400) if n % 2 == number % 2 and (n % 4 < 2) != (number % 4 < 2)}
    apart = near([access(0, 0, "in", writes=True), access(1, 64, "out", writes=False)], World(), ())
    assert apart.get(1, frozenset()) == frozenset()


@pytest.mark.parametrize(
    ("count", "stride", "ends"),
    [
        ((4, 4), (32, 32), (100, 100 + 3 * 32 + 8)),
        ((None, 4), (32, 32), (100, 100 + 3 * 32 + 8)),  # of no rows nothing is reached
        ((1, None), (32, 32), (100, None)),
        ((None, 4), (0, 32), (100, 100 + 3 * 32 + 8)),
        ((2, 4), (-8, 32), (100 - 3 * 8, 100 + 3 * 32 + 8)),
        ((None, 4), (-8, -8), (100 - 3 * 8, 108)),
        ((2, 4), (None, 0), (None, 108)),
    ],
)
def test_the_bytes_that_rows_reach_begin_before_the_first_where_a_stride_may_be_negative(
    count: tuple[int | None, int | None], stride: tuple[int | None, int | None], ends: tuple[int | None, int | None]
) -> None:
    world = World()
    steps = ((world.free("n", *count), world.free("s", *stride)),)
    touch = CopyTouch("data", Place("mem", "", Lin(96)), Lin(4), Lin(8), steps)
    assert ends_of(touch, world) == ends
