"""Cycles of Fetch and Commit accesses, and what main and sub take from each other."""

from __future__ import annotations

import pytest

from dmaverify.api import load
from dmaverify.cli.priced import Chosen, priced_entries
from dmaverify.jobs.accesses import priced_access

HEAD = """schema = 1
target = "rngd"
[axes]
A = 8
B = 512
"""


def access(dtype: str, context: str, engine: str, packet: str) -> str:
    return f"""[access.a]
engine = "{engine}"
context = "{context}"
dtype = "{dtype}"
memory = {{ tier = "dm", slice = "1", element = "A, B" }}
stream = {{ time = "A, B / {packet}", packet = "B % {packet}" }}
"""


@pytest.mark.parametrize(
    ("dtype", "context", "engine", "packet", "at_once", "cycles"),
    [
        ("i8", "main", "fetch", 32, 32, 128),
        ("i8", "main", "fetch", 64, 32, 128),
        ("bf16", "main", "fetch", 32, 32, 256),
        ("i8", "main", "fetch", 4, 4, 1024),
        ("i8", "sub", "fetch", 32, 8, 512),
        ("i8", "main", "commit", 32, 32, 128),
        ("i8", "sub", "commit", 32, 8, 512),
    ],
)
def test_an_access_takes_a_cycle_for_each_part_of_a_packet(
    dtype: str, context: str, engine: str, packet: int, at_once: int, cycles: int
):
    plan = load(HEAD + access(dtype, context, engine, str(packet)))
    price = priced_access(plan.accesses[0], plan.axes, next(iter(plan.targets.values())))
    assert (price.access_bytes, price.cycles) == (at_once, cycles)


def test_main_and_sub_add_where_they_share_a_bank_and_overlap_where_they_do_not():
    plan = load("examples/programs/cumulative.toml")
    told = {one.data["name"]: one.data.get("contexts", []) for one in priced_entries(plan, Chosen(), False)}
    assert told["sum-63"] == ["  main-32 and sub-30 share bank 0: 32.0 to 62.0 cycles together, main first"]
    assert told["other-banks"] == ["  main-35 and sub-other-bank touch other banks: 35.0 cycles together"]
    assert told["single-62"] == []
