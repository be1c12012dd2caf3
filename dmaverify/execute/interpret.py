"""The interpreter: whatever a plan writes, run byte by byte, in every order.

Knows: which kind of work is run by whom. Does not know: plan files, proofs.
Law: the answer follows from the text and the literal meaning of mappings; what is too large, or has no meaning that any
source settles, is `Beyond`, never an answer.
"""

from __future__ import annotations

from dmaverify.execute.accesses import run_access
from dmaverify.execute.moves import run_move
from dmaverify.execute.outcome import Outcome
from dmaverify.execute.programs import run_program
from dmaverify.execute.rows import run_rows
from dmaverify.execute.work import Beyond, Reach, RunMachine, RunMove, RunProgram, RunRows

__all__ = ["Beyond", "Outcome", "interpret"]


def interpret(work: RunMove | Reach | RunRows | RunProgram, machine: RunMachine) -> Outcome:
    """What running it shows. Raises Beyond."""
    if isinstance(work, RunProgram):
        return run_program(work, machine)
    if isinstance(work, RunRows):
        return run_rows(work, machine)
    return run_move(work, machine) if isinstance(work, RunMove) else run_access(work, machine)
