"""Limits of memory: what begins beyond them ends no process.

Knows: the process's own limit, the command line in a process of its own. Does not know: what is judged.
Law: whatever amount is allowed, a verdict is one of the four, and the exit code is that of the verdict.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from dmaverify.prove.limits import Limits, bounded, solver_at_work

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def limit() -> int:
    return resource.getrlimit(resource.RLIMIT_DATA)[0]


def test_the_solver_of_a_block_in_a_block_has_the_limit_that_the_process_began_with() -> None:
    whole = limit()
    with bounded(Limits(memory=64 << 20)):
        assert limit() != whole
        with bounded(Limits(memory=64 << 20)):
            with solver_at_work():
                assert limit() == whole
            assert limit() != whole
        assert limit() != whole
    assert limit() == whole


@pytest.mark.parametrize(
    ("path", "memory"), [("first.toml", "24M"), ("first.toml", "1M"), ("pto/example-1.mlir", "16M")]
)
def test_a_small_amount_of_memory_leaves_a_verdict_open_and_ends_no_process(path: str, memory: str) -> None:
    """The solver begins beyond the limit, or a library is loaded there: either ended the process."""
    words = ["check", str(EXAMPLES / path), "--memory", memory, "--prove", "full", "--no-cache"]
    done = subprocess.run([sys.executable, "-m", "dmaverify", *words], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stdout + done.stderr
