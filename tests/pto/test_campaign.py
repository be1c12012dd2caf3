"""The campaign at small scale: mutants of kernels, proof against execution; `make fuzz-pto` is the large one."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path

import pytest
from lab.draws import seeds
from lab.kernels import kernel_of, mutant_of
from lab.tile_kernels import Work, tile_kernel_of

from dmaverify.machines.pto.limits import shipped
from dmaverify.machines.pto.tiles import tile_work
from dmaverify.verdict import Status

FILE = Path(__file__).with_name("campaign.py")
SPEC = importlib.util.spec_from_file_location("pto_campaign", FILE)
assert SPEC is not None
assert SPEC.loader is not None
campaign = importlib.util.module_from_spec(SPEC)
sys.modules["pto_campaign"] = campaign
SPEC.loader.exec_module(campaign)


def test_correct_kernels_raise_no_alarm() -> None:
    rng = random.Random(5)
    outcomes = [campaign.outcome(kernel_of(rng)) for _ in range(7)]
    assert [o for o in outcomes if o.proved or o.ran] == []


@pytest.mark.parametrize("seed", range(2))
def test_proof_and_execution_agree_on_mutants(seed: int) -> None:
    rng = random.Random(seed)
    outcomes = [campaign.outcome(mutant_of(rng, kernel_of(rng))) for _ in range(11)]
    assert [o for o in outcomes if not o.agree] == []
    assert sum(bool(o.ran) for o in outcomes) > 4


@pytest.mark.parametrize("whole", [True, False])
def test_claimed_moves_are_refuted_exactly_where_bytes_are_wrong(whole: bool) -> None:
    rng = random.Random(3)
    pairs = [(kernel, mutant_of(rng, kernel)) for kernel in (kernel_of(rng) for _ in range(14))]
    answers = [campaign.claim_agrees(*pair, whole=whole) for pair in pairs]
    assert answers.count(True) >= 4
    assert answers.count(False) == 0


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_proof_and_run_agree_on_kernels_of_tiles_with_and_without_a_fault(seed: int) -> None:
    outcomes = list(campaign.tile_outcomes(40, seed))
    assert [o for o in outcomes if not o.agree] == []
    assert sum(bool(o.ran) for o in outcomes) >= 40 // 5
    assert {o.status for o in outcomes if not o.note} == {Status.PROVED}


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_proof_and_run_agree_on_kernels_of_tiles_in_loops(seed: int) -> None:
    outcomes = list(campaign.looped_outcomes(12, seed))
    assert [o for o in outcomes if not o.agree] == []
    assert any(o.ran for o in outcomes)


def test_a_run_knows_every_operation_on_tiles() -> None:
    words = {word for work in tile_work(shipped()).values() for word in (*work.reads, work.writes)}
    known = ("own", "each", "column", "row", "mask", "window", "scratch", "move", "whole", "part", "cover")
    assert words == {*known, "any", "beside", "turned", "pairs", "merged", "indexed"}
    by_indices = {
        name for name, work in tile_work(shipped()).items() if work.writes == "indexed"
    }  # a test of their own
    left, seed = set(tile_work(shipped())) - {"pto.tload", "pto.tstore"} - by_indices, 0
    while left and seed < 4000:
        left -= {p.name for p in tile_kernel_of(random.Random(seed)).before if isinstance(p, Work)}
        seed += 1
    assert not left
