"""Dead stores: whether what a step writes is read before it is written again, which excuses the second write.

Knows: which steps stand between two writes: in one iteration, in the next one, behind a loop or ahead of it.
Does not know: whether two writes meet, what a step reads (its callers say that: of tiles, of declarations, of sizes
that are symbols).
Law: yes is a proof for programs without hazards: steps that share bytes are ordered, which of them is first in the next
iteration is told there. A step in the body of a write is asked at one iteration of both; of one at another iteration
than the write counts only what it reads in every one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from dmaverify.program.schedule import Order


class StepWrite(Protocol):
    """What a step writes."""

    @property
    def step(self) -> int: ...


W = TypeVar("W", bound=StepWrite)
HasAll = Callable[[W, Sequence[int], Sequence[int]], bool]
"""Whether steps read, together, all of a write: some at its iteration (all of their own where they are in no loop with
it), others in every iteration.
"""


def read_before(
    first: W, second: W, readers: Iterable[int], order: Order, has_all: HasAll[W], *, in_place: bool = False
) -> bool:
    """Whether some of these steps read all that `first` wrote, or all that `second` writes, between the two; of one
    write and itself, between two iterations of it. What the second step reads itself, it reads before it writes.
    `in_place`: the one write has each element in one place alone, and is read as loops move it: reads behind it in one
    iteration and ahead of it in the next are as one.
    """
    body, precedes = order.steps_of_one_body, order.step_precedes
    one, two = first.step, second.step
    near = [r for r in readers if r != one or one == two]
    if body(one, two) and not precedes(one, two):  # the second one comes around
        near = [r for r in near if body(r, one)]
        behind, ahead = [r for r in near if precedes(one, r)], [r for r in near if r == two or precedes(r, two)]
        whole = in_place and has_all(first, near, ())
        return whole or has_all(first, behind, ahead) or has_all(second, ahead, behind)
    between = [r for r in near if precedes(one, r) and (r == two or precedes(r, two))]
    for write, other in ((first, second), (second, first)):
        alone = [r for r in between if body(r, other.step) and not body(r, write.step)]
        if has_all(write, [r for r in between if r not in alone], alone):
            return True
    return False
