"""The moves of "Sequencer", Configuration Examples: the buffer moved into the order of its stream, as a move in HBM."""

from __future__ import annotations

import pytest
from moves import move

from dmaverify.synth.synthesize import synthesize
from dmaverify.targets.target import load_target

RNGD = load_target("rngd")
TABLES = {
    "rearranging": ({"A": 8, "B": 8, "C": 8}, "A, B, C # 32", "B, A", "C # 16"),
    "splitting": ({"A": 8, "B": 8, "C": 4}, "A, B, C # 8", "A % 2, B % 4, A / 2, B / 4", "C"),
    "slicing": ({"A": 16, "B": 8, "C": 8}, "A, B, C", "A / 4, A % 4 = 3, B / 4, B % 4 = 2", "C"),
    "broadcasting": ({"A": 16, "T": 4, "P": 4}, "A", "T, A", "P"),
    "merging": (
        {"N": 8, "C": 8, "H": 8, "W": 32},
        "N, C, H, W",
        "W / 16, H % 2, H / 2, C / 2, C % 2, N / 2, N % 2, W / 8 % 2",
        "W % 8",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_move_of_the_document_is_proved_and_no_dearer_than_its_stream(name):
    axes, buffer, order, packet = TABLES[name]
    stream = {"time": order, "packet": packet}
    moved = move(
        axes,
        {"tier": "hbm", "element": buffer},
        {"tier": "hbm", "base": 1 << 20, "element": f"{order}, {packet}"},
        stream=stream,
    )
    found = synthesize(moved, RNGD, axes=axes, advise=False)
    assert found.found, found.refused
    assert found.verdict is not None
    assert found.verdict.status.value == "proved"
    assert found.bound <= found.cycles
    if found.before is not None:
        assert found.cycles <= found.before.cycles
