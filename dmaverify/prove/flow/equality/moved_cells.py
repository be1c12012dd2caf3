"""What a move that nothing says how to do touches where it touches no more than the cells that it moves.

Knows: the cells of a move, as lists of places. Does not know: who says that nothing else is touched, order, steps.
Law: exact: every cell that is read or written is in a walk, and nothing else is. Padding that holds anything in the end
is touched by nothing else. Cells that are no nest, and moves that say how they are done, are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.program.schedule import Step
from dmaverify.program.space import unit_bits_of
from dmaverify.prove.flow.accesses.alone_copies import NoCopies, alone, cells_of
from dmaverify.prove.flow.accesses.step_copies import in_row
from dmaverify.prove.flow.accesses.touches import Memory, StepWork, Touch
from dmaverify.prove.flow.equality.copy_events import nest_of
from dmaverify.prove.meet import Walk
from dmaverify.targets.target import Target
from dmaverify.values import replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


MOST_UNITS = 1 << 24
"""Units of padding, and of cells that are moved, that are held against each other."""
Cells = tuple[bool, Memory, "Numbers", int, str]
"""Whether they are written, where, where runs begin, units of a run, and what the cells hold then but elements."""


def of_moved_cells(steps: Sequence[Step], works: Sequence[StepWork], target: Target) -> list[StepWork]:
    """The works of steps with what they touch made exact. Padding that may hold anything behind a move is no touch:
    it is refused where a move reads or writes there. Raises InputError.
    """
    out, every = [], list[Cells]()
    for step, work in zip(steps, works, strict=True):
        if step.transfer is None or step.indirect is not None or step.loops or not work.whole:
            raise InputError(f"which cells `{step.name}` moves is not listed", step.span)
        try:
            own = list(_cells(step, target))
            out.append(replace(work, touches=tuple(_touches(step, work, own, target))))
        except NoCopies as why:
            raise InputError(f"which cells `{step.name}` moves is not known: {why}", step.span) from None
        every += own
    if _meet([one for one in every if one[4] == "anything"], [one for one in every if one[4] != "anything"]):
        raise InputError("a move may leave anything in padding where another one moves cells", None)
    return out


def _cells(step: Step, target: Target) -> Iterator[Cells]:
    assert step.transfer is not None
    move = alone(step.transfer, target)
    for source, dest, at, fill in cells_of(move, target):
        if source is not None:
            yield False, source[0], source[1], move.run, ""
        yield True, dest, at, move.run, fill


def _touches(step: Step, work: StepWork, cells: Sequence[Cells], target: Target) -> Iterator[Touch]:
    assert step.transfer is not None
    bits = unit_bits_of(target.dtypes[step.transfer.dtype])
    like = {touch.writes: touch for touch in work.touches}
    for writes, memory, places, run, fill in cells:
        if fill != "anything":
            walk = _walk(places, run)
            names = tuple(f"in tensor {n}" for n in range(len(walk.loops)))
            yield replace(like[writes], memory=memory, walk=walk, names=names, unit_bits=bits, sure=True, fixed=True)


def _meet(padding: Sequence[Cells], moved: Sequence[Cells]) -> bool:
    """Whether some of both share a unit. Raises InputError for too many."""
    import numpy as np

    if sum(len(at) * run for _, _, at, run, _ in (*padding, *moved)) > MOST_UNITS and padding:
        raise InputError(f"more than {MOST_UNITS:,} units of padding and cells", None)
    for memory in {one[1] for one in padding}:
        sides = [
            np.concatenate([np.zeros(0, np.int64), *(in_row(at, run) for _, m, at, run, _ in own if m == memory)])
            for own in (padding, moved)
        ]
        if np.isin(sides[0], sides[1]).any():
            return True
    return False


def _walk(places: Numbers, run: int) -> Walk:
    """Sorted places, and so many units behind each, as a walk. Raises NoCopies."""
    import numpy as np

    at = np.unique(places)
    loops = nest_of(at, at)
    if loops is None:
        raise NoCopies("its cells are no nest")
    return Walk(int(at[0]), (*((count, step) for count, step, _ in reversed(loops)), (run, 1)))
