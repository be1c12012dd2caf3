"""The second opinion: a proof that a run of the text contradicts is no verdict."""

from __future__ import annotations

import pytest

from dmaverify.errors import Disagreement
from dmaverify.jobs.retold import retell
from dmaverify.prove.options import Options
from dmaverify.verdict import Status, Verdict

TEXT = """
schema = 1
target = "rngd"
[axes]
A = {rows}
C = 64
[transfer.x]
dtype = "i8"
source = {{ tier = "hbm", base = 0, element = "A, C" }}
dest = {{ tier = "hbm", base = 1048576, element = "A, C" }}
stream = {{ time = "A = 3", packet = "C" }}
"""
PROVED = Verdict("x", "rngd", Status.PROVED)
SMALL = Options(cross_check=1 << 16)


def test_a_proof_that_a_run_contradicts_is_a_disagreement() -> None:
    with pytest.raises(Disagreement, match="core/covers"):
        retell(TEXT.format(rows=4), "x", "rngd", PROVED, SMALL)
    retell(TEXT.format(rows=3), "x", "rngd", PROVED, SMALL)


def test_only_proofs_of_small_moves_are_run() -> None:
    retell(TEXT.format(rows=1 << 20), "x", "rngd", PROVED, SMALL)
    retell(TEXT.format(rows=4), "x", "rngd", PROVED, Options(cross_check=0))
    retell(TEXT.format(rows=4), "x", "rngd", Verdict("x", "rngd", Status.UNKNOWN), SMALL)
