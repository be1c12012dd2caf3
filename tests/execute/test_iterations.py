"""Iterations of one transfer within a memory: what one reads that one before it has written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmaverify import api
from dmaverify.prove.options import Options
from dmaverify.verdict import Status

ROWS = """schema = 1
target = "rngd"
axes = {{ A = 16, C = 256 }}
[transfer.t]
dtype = "i8"
loop = {{ t = {turns} }}
source = {{ tier = "hbm", base = {source}, element = "A, C", view = {{ tile = "A", length = 1, start = "t" }} }}
stream = {{ packet = "C" }}
engine = {{ chip = 0, cluster = 0, dmn = 0 }}
[transfer.t.dest]
tier = "hbm"
base = {dest}
element = "A, C"
view = {{ tile = "A", length = 1, start = "t", partial = true }}
[program.p]
step = [{{ transfer = "t" }}]
"""


@pytest.mark.parametrize(
    ("source", "dest", "turns", "overlaps"),
    [
        (1024, 2048, 6, True),  # iteration 4 reads what iteration 0 wrote
        (1024, 2048, 5, True),
        (1024, 2048, 4, False),
        (1024, 8192, 6, False),
        (2048, 1024, 6, False),  # what is written was read before
        (1024, 1024, 6, False),  # to itself
    ],
)
def test_an_iteration_that_reads_what_one_before_it_wrote_is_refuted_and_the_run_agrees(
    source: int, dest: int, turns: int, overlaps: bool, tmp_path: Path
) -> None:
    (tmp_path / "plan.toml").write_text(ROWS.format(source=source, dest=dest, turns=turns), encoding="utf-8")
    for found in api.check(str(tmp_path / "plan.toml"), options=Options(cross_check=1 << 16, repair=True)):
        if overlaps:
            assert found.status is Status.REFUTED
            assert found.confirmed == "a run of the text"
        else:
            assert found.status is not Status.ERROR, found.findings
            assert not any("overlap" in f.rule for f in found.errors)
