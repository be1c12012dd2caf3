"""Tiles of a program from definitions: over all iterations no cell of an output is written twice, each live one once.

Knows: the walks with which steps write an output, the loops around them as their first counters.
Does not know: the grid of boxes on which tiles are judged, order, how scripts are asked.
Law: two iterations and positions that write one address are asked for, and a live cell that the counters named by its
address do not write. An output that is also written whole, by rows, on purpose in part, anew in each iteration, or in
tiles of several chips or clusters has no question: it is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.lower.programs import space_of
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.schedule import Program
from dmaverify.prove.flow.tile_outputs import Output, outputs
from dmaverify.prove.flow.touches import StepWork, Touch
from dmaverify.prove.move.defined import NotCovered
from dmaverify.prove.move.full import definitions
from dmaverify.prove.move.part_questions import SPANNED
from dmaverify.prove.move.questions import MOST_COMMANDS, QuestionSubject, apart_script, images, once_script
from dmaverify.prove.move.script import Script, ScriptWriter, disjunction
from dmaverify.targets.target import Target
from dmaverify.values import replace

TILES = ("core/tiles-once", "core/tiles-cover")


def tile_scripts(program: Program, works: Sequence[StepWork], target: Target) -> Iterator[Script | str]:
    """The scripts of every output in tiles, or why it has none."""
    for number, output in enumerate(outputs(program.steps, target)):
        if not isinstance(output, Output):
            yield f"tiles of output {number}: no common digits"
        elif output.tiles:
            try:
                yield from list(_of_output(f"output {number}", output, works, target))
            except NotCovered as why:
                yield f"tiles of output {number}: {why}"


def _of_output(name: str, output: Output, works: Sequence[StepWork], target: Target) -> Iterator[Script]:
    """Raises NotCovered."""
    steps = {one.step for one in output.tiles}
    still = any(turn.count > 1 and i not in one.moving for one in output.tiles for i, turn in enumerate(one.turns))
    if output.rows or output.wholes or still or any(one.partial for one in output.tiles):
        raise NotCovered("written again, whole, by rows, or in part on purpose")
    if any(digit[0] in SPANNED for one in output.tiles for digit in one.windows):
        raise NotCovered("tiles over chips or clusters")
    touches = [touch for step in sorted(steps) for touch in works[step].touches if touch.writes]
    if len(touches) > MOST_COMMANDS or any(len(works[step].accesses) > 1 for step in steps):
        raise NotCovered("written by several accesses or too many commands")
    space = (space_of(target, output.tensor.tier),) * 2
    commands = [_command(touch) for touch in touches]
    subject = QuestionSubject(
        output.tensor, output.tensor, space, output.bits, commands, {}, definitions(), {}, f"{name}, "
    )
    for index, command in enumerate(commands):
        yield once_script(ScriptWriter(f"{name}, access {index} in two iterations", definitions()), command, TILES[0])
    if len(commands) > 1:
        pairs = apart_script(subject, TILES[0])  # a step may read between two that write
        stronger = tuple(replace(one, stronger=len(steps) > 1) for one in pairs.steps)
        yield replace(pairs, steps=stronger)
    writer = ScriptWriter(f"{name}, every cell", definitions())
    cell, reached = images(writer, subject, 1)
    writer.possible("a live cell", "core/not-vacuous", cell.live)
    writer.claim("every live cell", TILES[1], f"(and {cell.live} (not {disjunction(reached)}))")
    yield writer.script()


def _command(touch: Touch) -> Command:
    port = Port(touch.memory[0], touch.walk.base, touch.memory[1], touch.memory[2])
    loops = tuple(Loop(count, stride, stride) for count, stride in touch.walk.loops if count > 1)
    return Command(port, port, loops, 1, 1, unit_bits=touch.unit_bits)
