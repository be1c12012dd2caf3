"""Programs of tiles, loops and buffers in turns: the proof alone, without a run beside it, against every byte."""

from __future__ import annotations

from collections import Counter

import pytest
from lab.tiled_programs import tiled_disagreement

SAMPLE = (2, 4, 5, 6, 13, 14, 15, 17, 20, 28, 66, 83, 159)
BROKEN = {"core/definite", "core/tiles-cover", "core/tiles-once", "hazard rw", "hazard waw"}


@pytest.mark.parametrize("seed", SAMPLE)
def test_drawn_programs_of_tiles_are_judged_by_proof_as_their_bytes_say(seed: int) -> None:
    assert tiled_disagreement(seed)[1] == ""


@pytest.mark.slow
def test_many_drawn_programs_of_tiles_are_judged_by_proof_as_their_bytes_say() -> None:
    seen = Counter[str]()
    for seed in range(400):
        how, said = tiled_disagreement(seed)
        assert said == "", seed
        seen[how.partition(": ")[2]] += 1
    assert seen["right"] > 80
    assert min(seen[promise] for promise in BROKEN) > 0
