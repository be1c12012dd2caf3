"""Faults planted in the kernels of the corpus, at small scale; `make fuzz-pto` is the large one."""

from __future__ import annotations

import importlib.util
import random
import signal
import sys
from pathlib import Path

import pytest
from lab.draws import rest

from dmaverify.verdict import Status, Verdict

FILE = Path(__file__).with_name("planted.py")
SPEC = importlib.util.spec_from_file_location("pto_planted", FILE)
assert SPEC is not None
assert SPEC.loader is not None
planted = importlib.util.module_from_spec(SPEC)
sys.modules["pto_planted"] = planted
SPEC.loader.exec_module(planted)

QUICK = ("views", "vector-abs", "scale_rows", "tile_of_matrix", "tokens", "early_registers")


def test_there_are_forty_kinds_of_faults_in_two_dozen_kernels() -> None:
    found = [(one.name, one.kind) for path in planted.CORPUS.glob("*.mlir") for one in planted.faults_of(path)]
    assert len({kind for _, kind in found}) >= 40
    assert len({name for name, _ in found}) >= 24


@pytest.mark.parametrize("name", [*QUICK[::2], *rest(QUICK[1::2])])
def test_a_fault_that_a_run_shows_is_never_proved(name: str) -> None:
    outside = signal.signal(signal.SIGVTALRM, planted._late)
    faults = list(planted.faults_of(planted.CORPUS / f"{name}.mlir"))
    answers = [planted.answers_of(one.text) for one in random.Random(7).sample(faults, 4 + 8 * (name == "views"))]
    signal.signal(signal.SIGVTALRM, outside)
    assert [a for a in answers if a[0] == "proved" and a[1] not in ("nothing", "open")] == []
    assert any(ran not in ("nothing", "open") for _, ran in answers)


@pytest.mark.parametrize(("name", "asked"), [("arg0", 4096), ("arg", 0)])
def test_a_tensor_is_as_large_as_the_proof_supposes(name: str, asked: int) -> None:
    verdict = Verdict("k", "pto", Status.PROVED, conditions=("`arg0` holds at least 4,096 bytes (nobody says)",))
    assert planted.asked_of(name, verdict) == asked
