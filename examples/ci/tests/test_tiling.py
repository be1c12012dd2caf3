"""Property tests of `tiling`: whatever sizes Hypothesis draws, the nests are proved to cut the matrix, every byte.

Run with `pytest`. A failure shows the smallest sizes, the counterexample in them, and the number to change.
"""

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmaverify.targets.target import load_target
from dmaverify.testing import faults, plans
from dmaverify.testing.plugin import PlanFailed, assert_equivalent, assert_plan

sys.path.insert(0, str(Path(__file__).parents[1]))
from tiling import bytes_moved, tiled, tiling_nests

RNGD = load_target("rngd")
PLAN = """\
schema = 1
target = "rngd"

[axes]
R = {rows}
C = {columns}

[transfer.tiling]
dtype  = "i8"
source = {{ tier = "hbm", base = 0, element = "R, C" }}
dest   = {{ tier = "hbm", base = 1048576, element = "{mapping}" }}
read   = "{read} HBM/D@0"
write  = "{write} HBM/D@1048576"
"""


@given(tile=st.sampled_from([4, 8, 32]), down=st.integers(1, 9), across=st.integers(1, 9))
@settings(deadline=None, max_examples=15)
def test_tiling_keeps_every_element(tile: int, down: int, across: int) -> None:
    rows, columns = tile * down, tile * across
    read, write = tiling_nests(rows, columns, tile)
    mapping = tiled("R", "C", tile)
    assert_plan(PLAN.format(rows=rows, columns=columns, mapping=mapping, read=read, write=write))


@given(tile=st.sampled_from([2, 4]), down=st.integers(1, 4), across=st.integers(1, 4))
@settings(deadline=None, max_examples=15)
def test_tiles_of_tiles_are_smaller_tiles(tile: int, down: int, across: int) -> None:
    """Two ways to write one mapping."""
    axes = {"R": tile * tile * down, "C": tile * tile * across}
    twice = f"R / {tile} / {tile}, C / {tile * tile}, R % {tile * tile}, C % {tile * tile}"
    assert_equivalent(twice, tiled("R", "C", tile * tile), axes)


def amounts(text: str, side: str) -> list[int]:
    """What each command of a plan's text reads or writes, by `bytes_moved`."""
    return [bytes_moved(nest) for nest in re.findall(rf'^{side} *= "(.*)"', text, re.M)]


@given(plan=plans(RNGD, valid=True))
@settings(deadline=None, max_examples=10)
def test_a_reader_of_plans_reads_every_valid_one(plan) -> None:
    """A strategy for other tools: plans that are right by construction, with everything that a real one can have."""
    text = plan.text(RNGD)
    assert amounts(text, "read") == amounts(text, "write") != []


@given(pair=faults(RNGD, names=["size"]))
@settings(deadline=None, max_examples=10)
def test_a_wrong_count_is_seen_by_the_reader_or_by_the_proof(pair) -> None:
    """The reverse: one count is wrong, and somebody has to say so."""
    _, wrong = pair
    text = wrong.text(RNGD)
    if amounts(text, "read") == amounts(text, "write"):
        return
    with pytest.raises(PlanFailed, match=r"error\["):
        assert_plan(text)
