"""All sizes of what lies where symbols say: memories by number, later iterations of a loop, loops of one turn."""

import random
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from lab.draws import counted

import dmaverify.api as api
from dmaverify.plan.read import read_plan_text
from dmaverify.prove.options import Options
from dmaverify.prove.sizes.attempt import attempt
from dmaverify.prove.sizes.check import verdict_at
from dmaverify.prove.sizes.conditions import conditions
from dmaverify.prove.sizes.facts import with_floors
from dmaverify.verdict import Status

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
from placed import placed
from sizes import compared, run_at

HEAD = """schema = 1
target = "rngd"
[axes]
A = { min = 2, max = 64, multiple_of = 2 }
C = { min = 8, max = 64, multiple_of = 8 }
"""
BESIDE = """[free]
I = {{ min = 0, max = 1 }}
J = {{ min = 0, max = 1 }}
[transfer.one]
dtype = "i8"
source = {{ tier = "{tier}", element = "A, C" }}
dest = {{ tier = "{other}", base = {first}, element = "A, C" }}
stream = {{ time = "A", packet = "C" }}
[transfer.two]
dtype = "i8"
source = {{ tier = "{tier}", base = 65536, element = "A, C" }}
dest = {{ tier = "{other}", base = {second}, element = "A, C" }}
stream = {{ time = "A", packet = "C" }}
[program.p]
holds = ["{tier}"]
step = [{{ transfer = "one", context = "a" }}, {{ transfer = "two", context = "b" }}]
"""


@pytest.mark.parametrize(
    ("other", "first", "second", "status"),
    [
        ("hbm", '"A*C - 8"', "0", "refuted"), ("hbm", '"2*A*C - 8"', "0", "proved"),
        ("hbm", '{ chip = "I" }', '{ chip = "J" }', "refuted"),
        ("hbm", '{ chip = "I" }', '{ chip = "1 - I" }', "proved"),
        ("dm", '{ cluster = "I" }', '{ cluster = "J" }', "refuted"),
        ("dm", '{ cluster = "I" }', '{ cluster = "1 - I" }', "proved"),
        ("dm", '{ cluster = "I" }', "{ cluster = 0 }", "refuted"),
        ("dm", "{ cluster = 1 }", "{ cluster = 0 }", "proved"),
    ],
)  # fmt: skip
def test_two_places_are_one_memory_where_their_numbers_are_equal(
    other: str, first: str, second: str, status: str
) -> None:
    tier = "hbm" if other == "dm" else "dm"
    (verdict,) = api.check(HEAD + BESIDE.format(tier=tier, other=other, first=first, second=second), "p")
    assert verdict.status.value == status
    assert {finding.rule for finding in verdict.errors} == ({"core/hazard-waw"} if status == "refuted" else set())


MOVED = """[transfer.m]
dtype = "i8"
loop = {{ t = "{count}" }}
source = {{ tier = "{tiers[0]}", element = "A, C", view = {{ tile = "A", length = 2, start = "{starts[0]}" }} }}

[transfer.m.dest]
tier = "{tiers[1]}"
base = "2^16"
element = "A, C"
view = {{ tile = "A", length = 2, start = "{starts[1]}" }}
"""
FINE = """[transfer.m]
dtype = "i8"
loop = {{ t = {count} }}
source = {{ tier = "hbm", element = "A", view = {{ tile = "A", length = 8, start = "{step}*t" }} }}
dest = {{ tier = "dm", element = "A", view = {{ tile = "A", length = 8, start = "{step}*t" }} }}
"""


@pytest.mark.parametrize("tiers", [("hbm", "dm"), ("dm", "hbm")])
@pytest.mark.parametrize(
    ("count", "starts", "rules"),
    [
        ("A / 2", ("2*t", "2*t"), set()), ("A / 2", ("A - 2 - 2*t", "A - 2 - 2*t"), set()),
        ("A / 2", ("2*t", "A - 2 - 2*t"), {"core/same-element"}), ("A / 2 + 1", ("2*t", "2*t"), {"core/in-bounds"}),
        ("A", ("2*t", "2*t"), {"core/in-bounds"}),
    ],
)  # fmt: skip
def test_a_move_that_nothing_carries_out_is_judged_in_all_iterations_at_all_sizes(
    count: str, starts: tuple[str, str], rules: set[str], tiers: tuple[str, str]
) -> None:
    (verdict,) = api.check(HEAD + MOVED.format(count=count, starts=starts, tiers=tiers))
    assert {finding.rule for finding in verdict.errors} == rules
    assert verdict.status.value == ("refuted" if rules else "proved")


@pytest.mark.parametrize(("axis", "count"), [("A = 32", "3"), (HEAD.split("\n")[3], '"A / 8 - 1"')])
@pytest.mark.parametrize(("step", "rules"), [(8, set()), (4, {"rngd/dm-write-align", "rngd/hbm-dm-align"})])
def test_no_stream_writes_at_an_address_that_only_a_later_iteration_has(
    axis: str, count: str, step: int, rules: set[str]
) -> None:
    axis = axis.replace("min = 2, max = 64, multiple_of = 2", "min = 24, max = 4096, multiple_of = 8")
    (verdict,) = api.check(f'schema = 1\ntarget = "rngd"\n[axes]\n{axis}\n' + FINE.format(count=count, step=step))
    assert {finding.rule for finding in verdict.errors} == rules
    assert verdict.status.value == ("refuted" if rules else "proved")


@pytest.mark.slow
@pytest.mark.parametrize("count", counted(1, 60))
def test_drawn_steps_in_places_that_symbols_say_are_judged_as_each_size_is(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sizes.MOST_SIZES", 20)
    counts: Counter[str] = Counter()
    for seed in range(count):
        drawn = placed(random.Random(seed))
        for one in read_plan_text(drawn.text).templates:
            assert (
                compared(seed, one, partial(run_at, drawn, counts=counts), counts, searches=True, kind="places") == []
            )
    assert min(counts["size proved"], counts["size refuted"], counts["run proved"]) > 0


RING = """schema = 1
target = "rngd"
[axes]
A = { min = 1, max = 64 }
C = { min = 8, max = 64, multiple_of = 8 }
D = 2
[transfer.load]
dtype = "i8"
loop = { t = "A" }
source = { tier = "hbm", element = "A, C", view = { tile = "A", length = 1, start = "t" } }
dest = { tier = "dm", slice = "1 # 64", element = "D, C", view = { tile = "D", start = "RING" } }
stream = { time = "1", packet = "C" }
"""


@pytest.mark.parametrize("ring", ["t % 2", "(t * 3) % 2"])
def test_a_ring_of_one_turn_needs_no_cut(ring: str) -> None:
    (template,) = read_plan_text(RING.replace("RING", ring)).templates
    found = conditions(template, Options())
    assert found.status == "exact"
    for turns in range(1, 20):
        sizes = {"A": turns, "C": 16}
        held = any(all(fact.holds(with_floors(sizes, found.floors)) for fact in facts) for facts in found.any)
        assert held is (verdict_at(template, sizes, Options()).status is Status.PROVED), turns


@pytest.mark.parametrize("generic", [False, True])
def test_a_broken_rule_is_broken_at_every_size_of_its_region(generic: bool) -> None:
    text = (
        'schema = 1\ntarget = "pto"\n[axes]\nR = 4\nC = { min = 8, max = 2048, multiple_of = 8 }\n[transfer.a]\n'
        'dtype = "i8"\nsource = { tier = "ub", element = "R, C # 4096" }\n'
        'dest = { tier = "ub", base = 65536, element = "R, C # 4096" }\nstream = { time = "R", packet = "C" }\n'
    )
    (template,) = read_plan_text(text).templates
    assert verdict_at(template, {"C": 32}, Options()).status is Status.PROVED
    for size in (8, 16, 40, 64):
        done = attempt(template, {"C": size}, Options(), generic=generic, breaking=True)
        assert done.status != "broken" or not done.region.holds({"C": 32})


def test_sizes_of_one_position_take_no_part_in_what_makes_copies_or_crosses_chips() -> None:
    head = (
        'schema = 1\ntarget = "rngd"\n[axes]\nX = { min = 1, max = 4 }\nC = { min = 8, max = 4096, multiple_of = 8 }\n'
    )
    move = '[transfer.t]\ndtype = "i8"\nsource = {{ tier = "{0}", {1}element = "C" }}\n'
    move += 'dest = {{ tier = "hbm", element = "{2}" }}\n'
    for sides in (("dm", "", "X, C"), ("spm", 'chip = "X", ', "X, C")):
        (template,) = read_plan_text(head + move.format(*sides)).templates
        found = conditions(template, Options())
        for size in (1, 2, 3):
            sizes = {"X": size, "C": 64}
            held = any(all(fact.holds(with_floors(sizes, found.floors)) for fact in facts) for facts in found.any)
            proved = verdict_at(template, sizes, Options()).status is Status.PROVED
            assert proved is (size == 1)
            assert held is proved or (proved and found.status != "exact")
