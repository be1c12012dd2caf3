"""A step that asks for a part of what it shows reads that part: the rest of a tile is written again unread."""

import pytest

import dmaverify.api as api
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.flow.accesses.live_cells import reads_all

HEAD = 'schema = 1\ntarget = "rngd"\n[axes]\n{c}\nD = 2\nE = 4\n'
RING = 'view = { tile = "D", start = "t % 2" }'
LOAD = """[transfer.load]
dtype = "i8"
loop = { t = 4 }
source = { tier = "hbm", element = "E, C", view = { tile = "E", start = "t" } }
dest = { tier = "TIER", base = 4096, element = "ALL", VIEW }
stream = { packet = "C" }
"""
USE = """[transfer.NAME]
dtype = "i8"
loop = { t = 4 }
source = { tier = "TIER", base = 4096, element = "ALL", VIEW }
dest = { tier = "hbm", base = 65536, element = "E, PART", view = { tile = "E", start = "t" } }
stream = { packet = "PART" }
"""
FETCH = """[access.use]
engine = "fetch"
dtype = "i8"
loop = { t = 4 }
memory = { tier = "dm", base = 4096, element = "ALL", VIEW }
stream = { packet = "PART" }
"""


def program(
    text: str, steps: str, *, tier: str = "hbm", part: str = "C", whole: bool = False, c: str = "C = 16"
) -> str:
    text = text.replace("TIER", tier).replace("PART", part)
    text = text.replace("ALL", "C" if whole else "D, C").replace(", VIEW", "" if whole else f", {RING}")
    return HEAD.format(c=c) + text + f'[program.p]\norder = "written"\nstep = [{steps}]\n'


def status(text: str) -> tuple[str, tuple[str, ...]]:
    (verdict,) = api.check(text, "p")
    return verdict.status.value, verdict.conditions


STEPS = '{ transfer = "load" }, { transfer = "use" }'


@pytest.mark.parametrize("c", ["C = 16", "C = { min = 16, max = 256, multiple_of = 16 }"])
@pytest.mark.parametrize(
    ("part", "proved"), [("C", True), ("C / 8, C % 8", True), ("C = 8", False), ("C @ 8 = 8", False)]
)
def test_a_move_that_takes_a_part_of_a_tile_leaves_the_rest_unread(part: str, proved: bool, c: str) -> None:
    told, conditions = status(program(LOAD + USE.replace("NAME", "use"), STEPS, part=part, c=c))
    assert (told == "proved" and not conditions) is proved
    assert told in ("proved", "unknown", "refuted")


@pytest.mark.parametrize(("part", "proved"), [("C", True), ("C = 8", False)])
def test_a_fetch_that_streams_a_part_of_a_tile_leaves_the_rest_unread(part: str, proved: bool) -> None:
    told, _ = status(program(LOAD + FETCH, '{ transfer = "load" }, { access = "use" }', tier="dm", part=part))
    assert (told == "proved") is proved


@pytest.mark.parametrize(("part", "said"), [("C", False), ("C = 8", True)])
def test_a_whole_tensor_of_which_a_part_is_read_may_be_written_again_unread(part: str, said: bool) -> None:
    told, conditions = status(program(LOAD + USE.replace("NAME", "use"), STEPS, part=part, whole=True))
    assert told == "proved"
    assert any("again before all" in one for one in conditions) is said


def test_two_moves_that_take_half_each_leave_nothing_unread() -> None:
    second = USE.replace("NAME", "rest").replace("65536", "131072").replace("PART", "C @ 8 = 8")
    steps = '{ transfer = "load" }, { transfer = "use" }, { transfer = "rest" }'
    told, _ = status(program(LOAD + USE.replace("NAME", "use") + second, steps, part="C = 8"))
    assert told in ("proved", "unknown")


@pytest.mark.parametrize(("source", "dest", "whole"), [
    ("C", "C / 8, C % 8", True), ("C", "C = 8", False),
    ("C = 8", "C = 8", True), ("C = 8", "C @ 8 = 8", False),
    ("D, E", "E, D", True), ("D, E", "[D, E] = 8", True), ("D, E", "[D, E] = 7 # 8", False),
])  # fmt: skip
def test_a_move_reads_all_of_its_source_where_its_destination_asks_for_each_element(
    source: str, dest: str, whole: bool
) -> None:
    plan = read_plan_text(
        HEAD.format(c="C = 16") + f'[transfer.t]\ndtype = "i8"\nsource = {{ tier = "hbm", element = "{source}" }}\n'
        f'dest = {{ tier = "hbm", base = 4096, element = "{dest}" }}\n'
    )  # fmt: skip
    assert reads_all(plan.transfers[0].transfer, plan.targets["rngd"]) is whole
