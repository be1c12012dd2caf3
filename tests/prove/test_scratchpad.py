"""Scratchpads: one of each DMN, or one of a cluster, by the reading `tier/spm`."""

from __future__ import annotations

import pytest

from dmaverify.api import load, program_of
from dmaverify.cost.model import cost
from dmaverify.cost.simulate import simulate
from dmaverify.jobs.verdicts import verdicts_of
from dmaverify.prove.options import Options
from dmaverify.verdict import Verdict

HEAD = """schema = 1
target = "rngd"
[axes]
A = 64
C = 256
[transfer.t]
dtype  = "i8"
source = { tier = "hbm", element = "A, C" }
dest   = { tier = "spm", PLACE }
"""
HALF = """[[transfer.t.command]]
read  = "[A=32:256, C=256:1]:256 HBM/D@AT"
write = "[A=32:256, C=256:1]:256 SPM/D@(0, 0, DMN, TO)"
"""
ONE, TWO = 'element = "A, C"', 'slice = "A / 32", element = "A % 32, C"'


def halves(place: str, dmn: int, to: int) -> str:
    first = HALF.replace("AT", "0").replace("DMN", "0").replace("TO", "0")
    second = HALF.replace("AT", "8192").replace("DMN", str(dmn)).replace("TO", str(to))
    return HEAD.replace("PLACE", place) + first + second


def judged(text: str, **readings: str) -> Verdict:
    named = {f"tier/{tier}": name for tier, name in readings.items()}
    (found,) = verdicts_of(load(text), Options(readings=named))
    return found


def broken(verdict: Verdict) -> set[str]:
    return {finding.rule for finding in verdict.errors}


@pytest.mark.parametrize(
    ("place", "dmn", "to", "by_dmn", "by_cluster"),
    [
        (ONE, 0, 8192, set(), set()),
        (ONE, 1, 8192, {"core/covers", "core/in-bounds"}, set()),
        (ONE, 1, 0, {"core/covers", "core/in-bounds"}, {"core/covers", "core/same-element", "core/writes-once"}),
        (TWO, 1, 0, set(), {"core/well-formed"}),
        (TWO, 1, 8, {"core/covers", "core/in-bounds", "core/same-element"}, {"core/well-formed"}),
        (TWO, 0, 0, {"core/covers", "core/same-element", "core/writes-once"}, {"core/well-formed"}),
    ],
)  # fmt: skip
def test_halves_in_two_scratchpads_are_one_region_of_a_cluster_or_two_of_its_dmns(
    place: str, dmn: int, to: int, by_dmn: set[str], by_cluster: set[str]
):
    text = halves(place, dmn, to)
    own, shared = judged(text), judged(text, spm="cluster")
    assert (broken(own), broken(shared)) == (by_dmn, by_cluster)
    said = [line for verdict in (own, shared) for line in verdict.assumptions if line.startswith("tier/spm: ")]
    assert len(said) == (2 if bool(by_dmn) != bool(by_cluster) else 0)


@pytest.mark.parametrize("dmns", [8, 9])
def test_a_cluster_has_eight_scratchpads(dmns: int):
    text = HEAD.replace("PLACE", f'base = {{ slice = {dmns - 8} }}, slice = "A / 8", element = "A % 8, C"')
    assert broken(judged(text)) == (set() if dmns == 8 else {"rngd/spm-dmns"})


def test_one_command_does_not_lead_from_one_scratchpad_to_another():
    text = HEAD.replace("PLACE", TWO) + 'stream = { time = "A", packet = "C" }\n'
    assert broken(judged(text)) == {"rngd/spm-one-dmn"}


def test_scratchpads_of_two_dmns_are_twice_as_fast_as_one_unless_the_cluster_shares_one():
    text = HEAD.replace("PLACE", TWO) + "".join(
        HALF.replace("AT", str(8192 * n))
        .replace("DMN", str(n))
        .replace("TO", "0")
        .replace("read ", f"engine = {{ dmn = {n} }}\nread ")
        for n in (0, 1)
    )
    plan = load(text)
    apart = program_of(plan, "t")
    together = program_of(load(text.replace(TWO, ONE).replace("SPM/D@(0, 0, 1,", "SPM/D@(0, 0, 0,")), "t")
    for price in (cost, simulate):
        own, shared = price(apart).cycles, price(together).cycles
        assert own - 500 == pytest.approx((shared - 500) / 2, abs=1)
