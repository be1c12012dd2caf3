"""Tiles of a program from definitions: over all iterations each live cell of an output is written, and none twice
unless a step reads it in between.

Knows: the walks with which steps write an output and read its bytes, the loops around them as their first counters.
Does not know: the grid of boxes on which tiles are judged, how scripts are asked.
Law: two iterations and positions that write one address are asked for, and a live cell that the counters named by its
address do not write. What two steps write, a third one reads that is asked to stand between them: at its own counters,
or, where it is in the body of one of them, in the same iteration. What a loop writes anew a step of its body reads in
each iteration, before the next one that writes it. An output that is also written whole, by rows, on purpose in part,
or in tiles of several chips or clusters has no question: it is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.language.affine import Lin
from dmaverify.lower.programs import space_of
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.schedule import Program
from dmaverify.prove.flow.accesses.program_times import Times
from dmaverify.prove.flow.accesses.touches import StepWork, Touch, flat_weights
from dmaverify.prove.flow.coverage.tile_outputs import Output, outputs
from dmaverify.prove.move.defined import NotCovered, Position
from dmaverify.prove.move.full import definitions
from dmaverify.prove.move.part_questions import SPANNED
from dmaverify.prove.move.questions import (
    MOST_COMMANDS,
    QuestionSubject,
    address_by_steps,
    images,
    once_script,
    reaches,
    writer_of,
)
from dmaverify.prove.move.script import Script, ScriptWriter, conjunction, disjunction, text_of
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

TILES = ("core/tiles-once", "core/tiles-cover")


def tile_scripts(program: Program, works: Sequence[StepWork], target: Target, times: Times) -> Iterator[Script | str]:
    """The scripts of every output in tiles, or why it has none."""
    for number_of, output in enumerate(outputs(program.steps, target)):
        if not isinstance(output, Output):
            yield f"tiles of output {number_of}: no common digits"
        elif output.tiles:
            try:
                yield from list(_of_output(f"output {number_of}", output, works, target, times))
            except NotCovered as why:
                yield f"tiles of output {number_of}: {why}"


def _of_output(name: str, output: Output, works: Sequence[StepWork], target: Target, times: Times) -> Iterator[Script]:
    """Raises NotCovered."""
    steps = {one.step for one in output.tiles}
    if output.rows or output.wholes or any(one.partial for one in output.tiles):
        raise NotCovered("written whole, by rows, or in part on purpose")
    if any(digit[0] in SPANNED for one in output.tiles for digit in one.windows):
        raise NotCovered("tiles over chips or clusters")
    touches = [touch for step in sorted(steps) for touch in works[step].touches if touch.writes]
    if not all(touch.sure for touch in touches):
        raise NotCovered("no command says what is written")
    if len(touches) > MOST_COMMANDS or any(len(works[step].accesses) > 1 for step in steps):
        raise NotCovered("written by several accesses or too many commands")
    space = (space_of(target, output.tensor.tier),) * 2
    commands = [_command(touch) for touch in touches]
    subject = QuestionSubject(
        output.tensor, output.tensor, space, output.bits, commands, {}, definitions(), {}, f"{name}, "
    )
    between = _Between(subject, touches, [t for work in works for t in work.touches if t.sure and not t.writes], times)
    for index, (command, touch) in enumerate(zip(commands, touches, strict=True)):
        once = once_script(ScriptWriter(f"{name}, access {index} in two iterations", definitions()), command, TILES[0])
        read = bool(between.mates_of(index))  # what two iterations write may be read in the first
        yield replace(once, steps=tuple(replace(one, stronger=read) for one in once.steps))
        if any(count > 1 and not stride for count, stride in touch.walk.loops[: len(touch.turns)]):
            yield between.anew(ScriptWriter(f"{name}, access {index} anew", definitions()), index)
    if len(commands) > 1:
        pairs = between.apart()
        stronger = tuple(replace(one, stronger=len(steps) > 1) for one in pairs.steps)
        yield replace(pairs, steps=stronger)
    writer = ScriptWriter(f"{name}, every cell", definitions())
    cell, reached = images(writer, subject, 1)
    writer.possible("a live cell", "core/not-vacuous", cell.live)
    writer.claim("every live cell", TILES[1], f"(and {cell.live} (not {disjunction(reached)}))")
    yield writer.script()


def _command(touch: Touch, *, fixed: int = 0) -> Command:
    """What a touch touches as the writes of a command, without the first `fixed` loops, and without those around it
    that do not move it.
    """
    port = Port(touch.memory[0], touch.walk.base, touch.memory[1], touch.memory[2])
    loops = [
        Loop(count, stride, stride)
        for i, (count, stride) in enumerate(touch.walk.loops)
        if i >= fixed and count > 1 and (stride or i >= len(touch.turns))
    ]
    return Command(port, port, tuple(loops), 1, 1, unit_bits=touch.unit_bits)


@dataclass(frozen=True)
class _Between:
    """What one output is written by, and what may read it in between."""

    subject: QuestionSubject
    writes: Sequence[Touch]
    reads: Sequence[Touch]
    times: Times

    def apart(self) -> Script:
        """No two of them write one address, but what is read between the two."""
        writer = writer_of(self.subject, "commands apart")
        ends = [self._written(writer, i) for i in range(len(self.writes))]
        used: dict[tuple[int, int, int], None] = {}
        for b, other in enumerate(self.writes):
            for a, one in enumerate(self.writes[:b]):
                both = f"(= {text_of(ends[a][1])} {text_of(ends[b][1])})" if one.memory == other.memory else "false"
                reached = []
                for r in self._readers(one, other) if both != "false" else ():
                    with_ = a if self._mates(one, self.reads[r]) else b if self._mates(other, self.reads[r]) else -1
                    reached.append(
                        self._reached(writer, f"r{a}.{b}.{r}", r, ends[a][1], ends[with_] if with_ >= 0 else None)
                    )
                    used[a, b, r] = None
                unread = [f"(not {disjunction(reached)})"] if reached else []
                writer.claim(f"commands {a} and {b}", TILES[0], conjunction([both, *unread]))
        if used:
            self.times.declare(writer)
            writer.possible("an order of the steps", "core/not-vacuous", "true")
        for a, b, r in used:
            said = f"command {a}, what reads it, command {b}"
            ways = [self._in_turn(*three) for three in ((a, r, b), (b, r, a))]
            writer.claim(said, TILES[0], f"(not {disjunction(ways)})")
        return writer.script()

    def anew(self, writer: ScriptWriter, index: int) -> Script:
        """What one writes in an iteration a step of its body reads in it, before it is written again. Raises
        NotCovered.
        """
        touch = self.writes[index]
        own = self.mates_of(index)
        if not own or not self.times.reach:
            raise NotCovered("written anew in each iteration, and no step of the body reads all of it")
        counters, end = self._written(writer, index)
        reached = [self._reached(writer, f"r{r}", r, end, (counters, end)) for r in own]
        writer.claim("read in each iteration", TILES[0], f"(not {disjunction(reached)})")
        self.times.declare(writer)
        writer.possible("an order of the steps", "core/not-vacuous", "true")
        weights = flat_weights(touch.turns)
        still = [w for w, (n, stride) in zip(weights, touch.walk.loops, strict=False) if n > 1 and not stride]
        again = min(self.times.reach, *still)
        writes = [self.times.at(self.times.of_touch(touch), i) for i in (0, again)]
        for r in own:
            reads = [self.times.at(self.times.of_touch(self.reads[r]), i) for i in (0, again)]
            behind = f"(and (<= end{writes[0]} begin{reads[0]}) (<= end{reads[0]} begin{writes[1]}))"
            before = f"(and (<= end{reads[0]} begin{writes[0]}) (<= end{writes[0]} begin{reads[1]}))"
            writer.claim("before it is written again", TILES[0], f"(not (or {behind} {before}))")
        script = writer.script()
        return replace(script, steps=tuple(replace(one, stronger=True) for one in script.steps))

    # ------------------------------------------------------------ who reads

    def mates_of(self, index: int) -> list[int]:
        """Reads by other steps of the body of a write, which may reach what it writes."""
        touch = self.writes[index]
        return [r for r, read in enumerate(self.reads) if self._comparable(touch, read) and self._mates(touch, read)]

    def _readers(self, one: Touch, other: Touch) -> list[int]:
        """Reads by steps between two others: a guess at what to claim."""
        order = self.times.order

        def stands(step: int) -> bool:
            ways = ((one.step, other.step), (other.step, one.step))
            return any(order.step_precedes(a, step) and order.step_precedes(step, b) for a, b in ways)

        if self._mates(one, other):
            return []
        return [
            r for r, read in enumerate(self.reads)
            if read.step not in (one.step, other.step) and self._comparable(one, read) and stands(read.step)
            and (read.turns == one.turns or not self._mates(one, read))
            and (read.turns == other.turns or not self._mates(other, read))
        ]  # fmt: skip

    def _comparable(self, one: Touch, read: Touch) -> bool:
        same = (one.memory, one.unit_bits) == (read.memory, read.unit_bits)
        return same and read.walk.low <= one.walk.high and one.walk.low <= read.walk.high

    def _mates(self, one: Touch, other: Touch) -> bool:
        """Whether two are in one body of a loop."""
        return one.step != other.step and self.times.order.steps_of_one_body(one.step, other.step)

    # ------------------------------------------------------------ addresses

    def _written(self, writer: ScriptWriter, index: int) -> tuple[list[Lin], Lin]:
        """All counters of a write, and its address."""
        walk = self.writes[index].walk
        counters = [writer.counter(f"n{index}.{i}", count) for i, (count, _) in enumerate(walk.loops)]
        strides = [stride for _, stride in walk.loops]
        return counters, address_by_steps(writer, f"n{index}.address", walk.base, counters, strides)

    def _reached(self, writer: ScriptWriter, name: str, r: int, here: Lin, mate: tuple[list[Lin], Lin] | None) -> str:
        """That a read touches an address: at any of its counters, or in the iteration of a mate."""
        read = self.reads[r]
        turns = len(read.turns) if mate is not None else 0
        moved = Lin(0)
        for counter, (_, stride) in zip(mate[0][:turns] if mate else (), read.walk.loops, strict=False):
            moved = moved + counter * stride
        return reaches(
            writer, name, _command(read, fixed=turns), 1, Position({}, Lin(0), "true"), here - moved, self.subject.dest
        )

    def _in_turn(self, first: int, r: int, last: int) -> str:
        """One write, a read, another write: in this order, of two in one body in each iteration."""
        works = [self.writes[first], self.reads[r], self.writes[last]]
        return conjunction([*self._one_behind(works[0], works[1]), *self._one_behind(works[1], works[2])])

    def _one_behind(self, one: Touch, other: Touch) -> Iterator[str]:
        p, q = self.times.of_touch(one), self.times.of_touch(other)
        for i in self.times.iterations(p.piece):
            for j in self.times.iterations(q.piece):
                if i == j or not self._mates(one, other):
                    yield f"(<= end{self.times.at(p, i)} begin{self.times.at(q, j)})"
