"""The campaign at small scale: mutants of kernels, proof against execution; `make fuzz-pto` is the large one."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path

import pytest
from lab.kernels import kernel_of, mutant_of

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


def test_claimed_moves_are_refuted_exactly_where_bytes_are_wrong() -> None:
    rng = random.Random(3)
    pairs = [(kernel, mutant_of(rng, kernel)) for kernel in (kernel_of(rng) for _ in range(14))]
    answers = [campaign.claim_agrees(*pair) for pair in pairs]
    assert answers.count(True) >= 4
    assert answers.count(False) == 0
