"""Walks that reach what others reach, loop by loop; where two meet is tested with what asks it."""

from __future__ import annotations

import pytest

from dmaverify.prove.meet import among


@pytest.mark.parametrize(
    ("few", "many", "found"),
    [
        ([(4, 8), (2, 64)], [(2, 64), (4, 8)], True),  # in another order
        ([(8, 1)], [(3, 64), (2, 4), (4, 1)], True),  # in more loops, and others around
        ([(3, 64), (2, 4), (4, 1)], [(8, 1)], False),
        ([(4, 8), (1, 7), (9, 0)], [(4, 8)], True),  # loops that do not move
        ([(2, 8), (2, 8)], [(2, 8)], False),  # one loop is not two
        ([(4, 8)], [(4, 16)], False),
        ([(4, 8)], [(3, 8)], False),
        ([(4, 8)], [(8, 8)], False),  # it does, and is not seen
    ],
)
def test_loops_reach_what_others_reach_where_each_has_one_of_its_own(
    few: list[tuple[int, int]], many: list[tuple[int, int]], found: bool
) -> None:
    assert among(few, many) == found
