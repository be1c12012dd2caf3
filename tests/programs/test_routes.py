"""Routes: every pair of tiers, chips, clusters and DMNs; hops that nobody needs."""

from __future__ import annotations

from itertools import product

import pytest

from dmaverify import api
from dmaverify.prove.move.check import Options
from dmaverify.verdict import Severity, Status, Verdict

HEAD = 'schema = 1\ntarget = "rngd"\n[axes]\nA = 64\nC = 64\nD = 2\n'
TIERS = {
    "hbm": '{ tier = "hbm", base = %d, element = "A, C" }',
    "spm": '{ tier = "spm", base = %d, element = "A, C" }',
    "dm": '{ tier = "dm", base = %d, slice = "A", element = "C" }',
}


def judged(text: str, name: str, **readings: str) -> Verdict:
    (verdict,) = api.check(HEAD + text, name, options=Options(readings=readings))
    return verdict


def transfer(source: str, dest: str, *, name: str = "t", stream: str = 'time = "A", packet = "C"') -> str:
    return f'[transfer.{name}]\ndtype = "i8"\nsource = {source}\ndest = {dest}\nstream = {{ {stream} }}\n'


def told(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.findings}


@pytest.mark.parametrize(("source", "dest"), list(product(TIERS, TIERS)))
def test_all_nine_pairs_of_tiers_are_routes(source: str, dest: str) -> None:
    found = judged(transfer(TIERS[source] % 0, TIERS[dest] % 65536), "t")
    assert found.status is Status.PROVED
    assert not told(found) & {"rngd/route", "rngd/host-route", "core/overlap"}


@pytest.mark.parametrize(
    ("source", "dest", "rule"), [("host", "hbm", None), ("hbm", "host", None), ("host", "dm", "rngd/host-route"),
                                 ("spm", "host", "rngd/host-route")],
)  # fmt: skip
def test_the_host_reaches_hbm_only(source: str, dest: str, rule: str | None) -> None:
    tiers = {**TIERS, "host": '{ tier = "host", base = %d, element = "A, C" }'}
    found = judged(transfer(tiers[source] % 0, tiers[dest] % 0), "t")
    assert {f.rule for f in found.errors} == ({rule} if rule else set())


def dm(**places: int) -> str:
    base = ", ".join(f"{place} = {value}" for place, value in places.items())
    return f'{{ tier = "dm", base = {{ {base} }}, slice = "A", element = "C" }}'


def test_moves_between_dmns_clusters_and_chips_are_right_and_say_what_they_cost() -> None:
    here = dm(element=0)
    for there, rule in (
        (dm(element=4096), None),
        (dm(slice=64), "rngd/dmn-local"),
        (dm(cluster=1), "rngd/cross-cluster-sync"),
        (dm(chip=1), "rngd/pcie"),
    ):
        found = judged(transfer(here, there), "t")
        assert found.status is Status.PROVED
        costs = told(found) & {"rngd/dmn-local", "rngd/cross-cluster-sync", "rngd/pcie"}
        assert rule in costs if rule else not costs
        assert all(f.severity is not Severity.ERROR for f in found.findings)
    refused = judged(transfer(here, dm(cluster=1)), "t", **{"rngd/cross-cluster-sync": "refused"})
    assert {f.rule for f in refused.errors} == {"rngd/cross-cluster-sync"}


def test_slices_that_trade_places_over_dmns_are_seen() -> None:
    turned = transfer(dm(element=0), '{ tier = "dm", base = 4096, slice = "A % 2, A / 2", element = "C" }')
    assert "rngd/dmn-local" in told(judged(turned, "t"))


def test_the_scratchpad_stays_on_its_chip() -> None:
    spm = '{ tier = "spm", base = { chip = %d }, element = "A, C" }'
    assert judged(transfer(spm % 0, TIERS["hbm"] % 0), "t").status is Status.PROVED
    found = judged(transfer(spm % 1, TIERS["hbm"] % 0), "t")
    assert {f.rule for f in found.errors} == {"rngd/spm-same-chip"}


# ---------------------------------------------------------------- hops

PAIRS = [(a, b, c) for a, b, c in product(TIERS, TIERS, TIERS) if len({a, b, c}) == 3]


@pytest.mark.parametrize(("source", "between", "dest"), PAIRS)
def test_a_hop_through_another_tier_is_advised_against_with_the_direct_route(
    source: str, between: str, dest: str
) -> None:
    first = transfer(TIERS[source] % 0, TIERS[between] % 0, name="first")
    second = transfer(TIERS[between] % 0, TIERS[dest] % 0, name="second")
    steps = '[program.p]\nstep = [{ transfer = "first" }, { transfer = "second", after = ["first"] }]\n'
    found = judged(first + second + steps, "p")
    assert found.status is Status.PROVED
    (advice,) = [f for f in found.findings if f.rule == "core/needless-hop"]
    assert advice.severity is Severity.ADVICE
    assert f"from {source} to {dest} through {between}" in advice.message
    assert f'source = {{ tier = "{source}"' in advice.hint
    assert f'dest = {{ tier = "{dest}"' in advice.hint


def test_a_hop_within_one_tier_is_one_too() -> None:
    first = transfer(TIERS["hbm"] % 0, TIERS["hbm"] % 8192, name="first")
    second = transfer(TIERS["hbm"] % 8192, TIERS["dm"] % 0, name="second")
    steps = '[program.p]\nstep = [{ transfer = "first" }, { transfer = "second", after = ["first"] }]\n'
    assert "core/needless-hop" in told(judged(first + second + steps, "p"))


def test_a_tensor_that_is_used_between_is_no_hop() -> None:
    first = transfer(TIERS["hbm"] % 0, TIERS["dm"] % 0, name="first")
    second = transfer(TIERS["dm"] % 0, TIERS["spm"] % 0, name="second")
    use = (
        '[access.use]\nengine = "fetch"\ndtype = "i8"\nmemory = { tier = "dm", slice = "A", element = "C" }\n'
        'stream = { time = "C / 32", packet = "C % 32" }\n'
    )
    steps = (
        '[program.p]\nstep = [{ transfer = "first" }, { access = "use", after = ["first"] }, '
        '{ transfer = "second", after = ["first"] }]\n'
    )
    found = judged(first + second + use + steps, "p")
    assert found.status is Status.PROVED
    assert "core/needless-hop" not in told(found)


def test_a_hop_that_no_single_move_could_make_is_no_needless_one() -> None:
    """SPM of chip 1 from chip 0: the scratchpad stays on its chip, so HBM between is needed."""
    first = transfer(TIERS["spm"] % 0, '{ tier = "hbm", base = 0, element = "A, C" }', name="first")
    second = transfer(
        '{ tier = "hbm", base = 0, element = "A, C" }',
        '{ tier = "hbm", base = { chip = 1 }, element = "A, C" }',
        name="second",
    )
    steps = '[program.p]\nstep = [{ transfer = "first" }, { transfer = "second", after = ["first"] }]\n'
    assert "core/needless-hop" not in told(judged(first + second + steps, "p"))
