"""What copies of a kernel leave in the padding of a destination, from definitions.

Knows: the writing touches of the copies as nests of numbers, the bytes that a fill repeats.
Does not know: data (`questions` states it), how scripts are asked.
Law: every Zero byte is reached by a fill of zeros and by nothing else that writes; no write reaches a Bottom byte; a
fill stays inside of the destination, and reaches no element. A fill that is not zero all through counts as other data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dmaverify.program.access import PlanMove
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.instructions import Copy, CopyTouch, KernelLoop
from dmaverify.program.space import Space
from dmaverify.prove.move.defined import address_of, cell_at, position_of
from dmaverify.prove.move.full import definitions
from dmaverify.prove.move.questions import address_by_steps, any_position, reaches
from dmaverify.prove.move.script import Script, ScriptWriter, disjunction, text_of
from dmaverify.values import replace

PADDING, BOUNDS, SAME = "core/padding", "core/in-bounds", "core/same-element"
OVER = "over an element"


def padding_script(
    claim: PlanMove, copies: Iterable[tuple[Copy, Sequence[KernelLoop]]], space: Space, dtype_bits: int, name: str
) -> Script:
    """The claims of one move whose copies have numbers throughout. Raises NotCovered."""
    writer = ScriptWriter(f"{name}padding", definitions())
    at = any_position(writer, claim.dest, space, dtype_bits, "at")
    cell = cell_at(writer, "write", claim.dest, at)
    here = address_of(claim.dest, space, dtype_bits, at)
    filled: list[str] = []
    mixed = False  # a fill of several values: its zeros are not told from the others
    for copy, loops in copies:
        for touch in (t for t in copy.touches if t.writes and t.place.memory == copy.write.memory):
            index = f"t{len(writer.steps)}_{len(filled)}"
            nest = _command(touch, loops, Port(claim.dest.tier, 0))
            counts = [*(loop.count for loop in nest.loops), nest.burst]
            counters = [writer.counter(f"{index}.c{i}", count) for i, count in enumerate(counts)]
            strides = [*(loop.write for loop in nest.loops), 1]
            there = address_by_steps(writer, f"{index}.address", nest.write.base, counters, strides)
            same = f"(= {text_of(here)} {text_of(there)})"
            writer.claim(f"bottom, {touch.kind}", PADDING, f"(and {cell.bottom} {same})")
            if touch.kind != "data":
                writer.claim(f"{OVER}, {touch.kind}", SAME, f"(and {cell.live} {same})")
            if touch.kind == "fill":
                inside = position_of(writer, f"{index}.at", claim.dest, space, dtype_bits, (0, 0), there).inside
                writer.claim("a fill, outside", BOUNDS, f"(not {inside})")
            if touch.kind == "fill" and touch.pattern is not None and not any(touch.pattern):
                filled.append(reaches(writer, f"{index}.zero", nest, 1, at, here, claim.dest))
            else:
                mixed = mixed or bool(touch.pattern)
                writer.claim(f"zero, {touch.kind}", PADDING, f"(and {cell.zero} {same})")
    writer.claim("zero, not filled", PADDING, f"(and {cell.zero} (not {disjunction(filled)}))")
    script = writer.script()
    last = len(script.steps) - 1  # a fill may reach a byte by other counters than its address names
    steps = (
        replace(step, stronger=mixed or i == last or step.name.startswith(OVER)) for i, step in enumerate(script.steps)
    )  # data that is written later may lie above a fill
    return replace(script, steps=tuple(steps))


def _command(touch: CopyTouch, loops: Sequence[KernelLoop], port: Port) -> Command:
    """A touch as the writes of a command, loops of the kernel outermost."""
    terms = dict(touch.place.address.terms)
    nest = [Loop(loop.trip.const, 0, terms.get(loop.counter, 0)) for loop in loops]
    nest += [Loop(count.const, 0, stride.const) for count, stride in reversed(touch.steps)]
    base = touch.place.address.const + touch.offset.const
    return Command(port, replace(port, base=base), tuple(nest), touch.length.const, touch.length.const)
