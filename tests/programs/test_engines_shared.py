"""Transfers that name no engine are taken to share one: whatever a verdict owes to that is a condition of it."""

from __future__ import annotations

import pytest

from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.flow.order.hazards_told import ONE_ENGINE
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

LOADS = """schema = 1
target = "rngd"
axes = { O = 70, W = 8, A = 64, C = 64 }
[transfer.load]
dtype = "i8"
source = { tier = "hbm", base = 0, element = "A, C" }
dest = { tier = "dm", base = 262144, slice = "A", element = "C" }
stream = { time = "A", packet = "C" }
[transfer.load2]
dtype = "i8"
source = { tier = "hbm", base = 65536, element = "A, C" }
dest = { tier = "dm", base = 270336, slice = "A", element = "C" }
stream = { time = "A", packet = "C" }
[access.big]
engine = "fetch"
dtype = "i8"
memory = { tier = "dm", base = 0, slice = "64", element = "O, W # 128" }
stream = { time = "O", packet = "W" }
[program.p]
"""
REGIONS = """schema = 1
target = "rngd"
axes = { A = 64, B = 32 }
[region.x]
tier = "dm"
extent = { slice = 64 }
base = 0
size = 64
lifetime = ["a", "a"]
[region.y]
tier = "dm"
extent = { slice = 64 }
base = 0
size = 64
lifetime = ["b", "b"]
[transfer.a]
dtype = "i8"
source = { tier = "hbm", element = "A, B" }
dest = { tier = "dm", slice = "A", element = "B" }
stream = { time = "A", packet = "B" }
[transfer.b]
dtype = "i8"
source = { tier = "hbm", base = 8192, element = "A, B" }
dest = { tier = "dm", slice = "A", base = 32, element = "B" }
stream = { time = "A", packet = "B" }
[program.p]
regions = ["x", "y"]
"""


def judged(text: str) -> Verdict:
    return next(one for one in verdicts_of(read_plan_text(text), Options()) if one.name == "p")


CASES = {
    "starvation": LOADS
    + 'step = [{ transfer = "load" }, { transfer = "load2" }, { access = "big", after = ["load2"] }]',
    "regions": REGIONS + 'step = [{ transfer = "a", writes = "x" }, { transfer = "b", writes = "y" }]',
}
ORDERED = {
    name: text.replace('{ transfer = "load2" }', '{ transfer = "load2", after = ["load"] }').replace(
        'writes = "y" }', 'writes = "y", after = ["a"] }'
    )
    for name, text in CASES.items()
}


@pytest.mark.parametrize("name", CASES)
def test_what_rests_on_one_engine_for_transfers_that_name_none_is_a_condition(name: str) -> None:
    """Bytes of the transfers never meet, so that no hazard says it."""
    found = judged(CASES[name])
    assert found.status is Status.PROVED
    assert ONE_ENGINE in found.conditions


@pytest.mark.parametrize("name", CASES)
def test_what_the_plan_orders_rests_on_no_engine(name: str) -> None:
    found = judged(ORDERED[name])
    assert found.status is Status.PROVED
    assert ONE_ENGINE not in found.conditions


@pytest.mark.parametrize(("engines", "status"), [((0, 2), Status.REFUTED), ((2, 2), Status.PROVED)])
def test_a_move_that_nothing_says_how_to_do_is_done_by_the_engine_that_it_names(
    engines: tuple[int, int], status: Status
) -> None:
    text = REGIONS.replace('stream = { time = "A", packet = "B" }\n', "engine = { dmn = % }\n").replace(
        "base = 32, ", "base = 0, "
    )
    first, second = (f"engine = {{ dmn = {engine} }}" for engine in engines)
    text = text.replace("engine = { dmn = % }", first, 1).replace("engine = { dmn = % }", second)
    verdict = judged(text.replace("regions", "#") + 'step = [{ transfer = "a" }, { transfer = "b" }]')
    assert verdict.status is status, verdict
    assert not [one for one in verdict.conditions if ONE_ENGINE in one]
