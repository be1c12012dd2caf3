"""The interpreter: whatever a plan writes, and the commands of one move, run byte by byte, in every order.

Knows: which kind of work is run by whom. Does not know: plan files, proofs.
Law: the answer follows from the text and the literal meaning of mappings; what is too large, or has no meaning that any
source settles, is `Beyond`, never an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dmaverify.execute.accesses import run_access
from dmaverify.execute.address import TooLarge, batches, mapping_of, region_of
from dmaverify.execute.judge import UnitJudge
from dmaverify.execute.moves import run_move
from dmaverify.execute.outcome import AT_ONCE, Beyond, Outcome
from dmaverify.execute.programs import run_program
from dmaverify.execute.promise import promise_of
from dmaverify.execute.result import Execution
from dmaverify.execute.rows import run_rows
from dmaverify.execute.work import Reach, RunMachine, RunMove, RunProgram, RunRows
from dmaverify.program.command import Command
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.program.tensor import Tensor

__all__ = ["Beyond", "Outcome", "execute", "interpret"]
NO_READINGS: Mapping[str, str] = MappingProxyType({})


def interpret(work: RunMove | Reach | RunRows | RunProgram, machine: RunMachine) -> Outcome:
    """What running it shows. Raises Beyond."""
    if isinstance(work, RunProgram):
        return run_program(work, machine)
    if isinstance(work, RunRows):
        return run_rows(work, machine)
    return run_move(work, machine) if isinstance(work, RunMove) else run_access(work, machine)


def execute(
    source: Tensor,
    dest: Tensor,
    source_space: Space,
    dest_space: Space,
    dtype_bits: int,
    commands: Sequence[Command],
    *,
    readings: Mapping[str, str] = NO_READINGS,
    limit_units: int = AT_ONCE,
) -> Execution:
    """Runs `commands` in order and judges the result against the move from `source` to `dest`.

    A unit is a byte, or half a byte of a 4-bit dtype. Of the readings only `core/same-element` = `broadcast-missing`
    speaks to the executor. Raises TooLarge above `limit_units` units in the commands or in a region, and where a tensor
    has two positions at one address (Aliased).
    """
    regions = (region_of(source, source_space, dtype_bits), region_of(dest, dest_space, dtype_bits))
    moved = sum(max(0, command.amount) for command in commands)
    units = max(moved, regions[0].units, regions[1].units)
    if units > limit_units:
        raise TooLarge(units)
    mappings = (mapping_of(source, source_space), mapping_of(dest, dest_space))
    missing = readings.get("core/same-element") == "broadcast-missing"
    promise = promise_of(*mappings, dtype_bits // unit_bits_of(dtype_bits), missing)
    run = UnitJudge(promise, *regions)
    for batch in batches(commands):
        run.take(batch)
    run.finish(moved)
    spaces = (source_space, dest_space)
    return Execution(tuple(commands), dtype_bits, regions, mappings, spaces, run.marks, moved, promise, run.provenance)
