"""Regions of a program at every size: what steps put into them, and memory that they share one after the other."""

import pytest

import dmaverify.api as api
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.conditions import conditions

PLAN = """schema = 1
target = "rngd"
assume = ["A % K == 0"]
[axes]
A = {{ min = 1, max = 512 }}
K = {{ min = 1, max = {most} }}
C = 64
[transfer.load]
dtype = "i8"
loop = {{ t = "A / K" }}
source = {{ tier = "hbm", element = "A, C", view = {{ tile = "A", length = "K", start = "K * t" }} }}
dest = {{ tier = "dm", base = 64, element = "A = K, C" }}
stream = {{ time = "A = K", packet = "C" }}
[transfer.store]
dtype = "i8"
loop = {{ t = "A / K" }}
source = {{ tier = "dm", base = 64, element = "A = K, C" }}
dest = {{ tier = "hbm", base = 65536, element = "A, C", view = {{ tile = "A", length = "K", start = "K * t" }} }}
stream = {{ time = "A = K", packet = "C" }}
[transfer.next]
dtype = "i8"
source = {{ tier = "hbm", base = 131072, element = "C" }}
dest = {{ tier = "dm", base = 64, element = "C" }}
stream = {{ packet = "C" }}
[region.tile]
tier = "dm"
base = 64
size = {size}
{life}
[region.beside]
tier = "dm"
base = {beside}
size = 64
{other}
[program.p]
regions = ["tile", "beside"]
step = [{{ transfer = "load"{named} }}, {{ transfer = "store", after = ["load"] }}{more}]
"""
GIVEN = {"most": 2, "size": 128, "beside": 192, "life": "", "other": "", "named": ', writes = "tile"', "more": ""}


def status(**given: object) -> str:
    (verdict,) = api.check(PLAN.format(**{**GIVEN, **given}), "p", options=Options(repair=False))
    if verdict.status.value == "proved":
        assert {"core/regions", "core/region-capacity"} <= {one.id for one in verdict.obligations}
    return verdict.status.value


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, "proved"),
        ({"size": 127}, "refuted"),
        ({"most": 3}, "refuted"),
        ({"named": ""}, "proved"),
        ({"named": "", "size": 127, "beside": 191}, "refuted"),  # one byte beyond both of them
        ({"beside": 191}, "refuted"),  # two regions share a byte
        ({"beside": 0}, "proved"),
        ({"size": 524288 - 63, "beside": 0}, "refuted"),  # the end of a slice
    ],
)
def test_a_region_holds_what_steps_put_into_it_at_every_size(given: dict[str, object], wanted: str) -> None:
    assert status(**given) == wanted


@pytest.mark.parametrize(("after", "wanted"), [("store", "proved"), ("load", "refuted")])
def test_regions_share_memory_one_after_the_other_at_every_size(after: str, wanted: str) -> None:
    """Memory that the tiles of a loop have, and behind the loop another tensor."""
    given = {
        "beside": 64, "life": 'lifetime = ["load", "store"]', "other": 'lifetime = ["next", "next"]',
        "more": f', {{ transfer = "next", context = "other", after = ["{after}"] }}',
    }  # fmt: skip
    assert status(**given) == wanted


def test_the_sizes_that_a_region_holds_are_exact() -> None:
    plan = read_plan_text(PLAN.format(**{**GIVEN, "most": 8}))
    found = conditions(next(t for t in plan.templates if t.name == "p"), Options(repair=False))
    assert found.status == "exact"
    assert [[fact.text for fact in every] for every in found.any] == [["K <= 2"]]


@pytest.mark.parametrize(("after", "said"), [("", True), (', after = ["one"]', False)])
def test_what_regions_rest_on_is_said_at_every_size(after: str, said: bool) -> None:
    """Two lives of one room on chips apart, one after the other on a queue that no document promises, or by `after`."""
    text = 'schema = 1\ntarget = "rngd"\n[axes]\nA = { min = 1, max = 512 }\nC = 64\n'
    for chip, name in enumerate(("one", "two")):
        text += (
            f'[transfer.{name}]\ndtype = "i8"\nsource = {{ tier = "hbm", element = "A, C" }}\n'
            f'dest = {{ tier = "dm", base = {{ chip = {chip}, element = 0 }}, element = "A, C" }}\n'
            'stream = { time = "A", packet = "C" }\n'
            f'[region.{name}]\ntier = "dm"\nsize = 32768\nextent = {{ chip = 2 }}\nlifetime = ["{name}", "{name}"]\n'
        )
    text += f'[program.p]\nregions = ["one", "two"]\nstep = [{{ transfer = "one" }}, {{ transfer = "two"{after} }}]\n'
    (verdict,) = api.check(text, "p", options=Options(repair=False))
    assert verdict.status.value == "proved"
    assert any("share one" in one for one in verdict.conditions) is said
