"""What steps do to the bytes of an output through other declarations of its memory than the output's own.

Knows: where an element lies, walks of steps.
Does not know: tiles, order, rules.
Law: "no" is a proof that no walk reaches a byte of the element; "yes" may be wrong where the search takes too long, or
where a step may touch more than it does. So an answer of yes leaves a claim open, and never decides it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.lower.programs import space_of
from dmaverify.program.schedule import Order, Step
from dmaverify.program.tensor import PLACES
from dmaverify.prove.flow.accesses.touches import Memory, Touch
from dmaverify.prove.flow.coverage.tile_outputs import Output, Tiles
from dmaverify.prove.flow.initialization.unwritten import StepRow, step_rows_met
from dmaverify.prove.meet import Walk, decided, difference
from dmaverify.targets.target import Target
from dmaverify.values import dataclass


@dataclass(frozen=True)
class OtherDeclarations:
    """The steps of a program and what they touch."""

    steps: Sequence[Step]
    touches: Sequence[Touch]
    target: Target

    def reads_all(self, tiles: Tiles, steps: Sequence[int], order: Order) -> bool:
        """Whether steps surely read all that another step writes, together."""
        own = [touch for touch in self.touches if touch.writes and touch.step == tiles.step]
        sure = [touch for touch in self.touches if not touch.writes and touch.sure and touch.step in steps]
        reads = [touch for touch in sure if self.steps[touch.step].indirect is None]
        return bool(own) and all(step_rows_met(_row(touch), _near(touch, reads), order) for touch in own)

    def readers(self, tier: str) -> set[int]:
        """The steps that read a memory."""
        memory = self.target.memory_of(tier)
        return {touch.step for touch in self.touches if not touch.writes and touch.memory[0] == memory}

    def reads_once(self, step: int) -> bool:
        """Whether a step reads one tensor alone, through one declaration."""
        return self.steps[step].transfer is not None and self.steps[step].indirect is None

    def may_write(self, output: Output, position: int) -> bool:
        """Whether the element at a flat position of the output may be written so."""
        own = {tiles.step for tiles in (*output.tiles, *output.wholes)} | {rows.step for rows in output.rows}
        return any(t.writes and t.step not in own and self._meets(output, position, t) for t in self.touches)

    def may_read(self, output: Output, position: int, steps: Sequence[int]) -> bool:
        """Whether one of these steps may read it."""
        return any(not t.writes and t.step in steps and self._meets(output, position, t) for t in self.touches)

    def _meets(self, output: Output, position: int, touch: Touch) -> bool:
        memory, place = self._place(output, position, touch.unit_bits)
        if touch.memory != memory:
            return False
        eq = difference(place, touch.walk)
        return decided(eq) != "unsat"

    def _place(self, output: Output, position: int, unit_bits: int) -> tuple[Memory, Walk]:
        """The memory and the units of an element."""
        tensor, bits = output.tensor, output.bits
        space = space_of(self.target, tensor.tier)
        at: dict[str, int] = {}
        for place in reversed(PLACES):
            position, at[place] = divmod(position, tensor.field(place).size)
        first = tensor.base * 8 + at["element"] * bits
        base, end = first // unit_bits, -(-(first + bits) // unit_bits)
        walk = Walk(base, ((end - base, 1),))
        memory = {"chip": 0, "cluster": 0}
        for place in PLACES[:-1]:
            if place not in space.places:
                continue
            here = getattr(tensor, f"at_{place}") + at[place]
            if place in memory:
                memory[place] = here
            else:
                walk = Walk(walk.base + here * space.stride(place, unit_bits), walk.loops)
        return (tensor.tier, memory["chip"], memory["cluster"]), walk


def _near(one: Touch, others: Sequence[Touch]) -> list[StepRow]:
    """Those in the memory of a touch, counted in its unit."""
    return [_row(other) for other in others if (other.memory, other.unit_bits) == (one.memory, one.unit_bits)]


def _row(touch: Touch) -> StepRow:
    return StepRow(touch.step, touch.walk, touch.turns)
