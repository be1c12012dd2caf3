"""The obligations of a move as scripts from definitions: both mappings, the sequencers, the negated obligation.

Knows: which constants each obligation speaks of, which lemmas help it, how a cell finds the counter that writes it.
Does not know: digits, layouts, the folding claims of `obligations`, solvers.
Law: one script for each command, for each pair of commands, for the cells of the destination and for those of the
source; together they state every obligation of the move for every counter and every cell. What has no script raises
NotCovered or is named in `Questions.left`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.language.affine import Lin
from dmaverify.language.expr import Broadcast, Kind, Padding, walk
from dmaverify.language.numbers import Symbolic
from dmaverify.program.command import Command, Port
from dmaverify.program.space import Space
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.prove.move.defined import CellNames, NotCovered, Position, address_of, cell_at, position_of, width_of
from dmaverify.prove.move.script import (
    PLAIN,
    UNIQUE,
    Script,
    ScriptWriter,
    SizesAsked,
    conjunction,
    disjunction,
    text_of,
)
from dmaverify.prove.smt import number
from dmaverify.values import dataclass, replace

MOST_COMMANDS = 64


@dataclass(frozen=True, slots=True)
class QuestionSubject:
    """A move and the commands that are to make it. `definitions` are the core's, as text."""

    source: Tensor
    dest: Tensor
    spaces: tuple[Space, Space]
    dtype_bits: int
    commands: Sequence[Command]
    readings: Mapping[str, str]
    definitions: str
    status: Mapping[str, str]  # what the fast path proved of it: the rest is not asked
    name: str = ""  # before the names of scripts, where there are several programs
    sizes: SizesAsked = PLAIN
    buffers: tuple[Tensor, Tensor] | None = None  # of views, the whole tensors: what lies apart in all iterations

    @property
    def sides(self) -> tuple[tuple[str, Tensor, Space], tuple[str, Tensor, Space]]:
        return ("read", self.source, self.spaces[0]), ("write", self.dest, self.spaces[1])


@dataclass(frozen=True, slots=True)
class Questions:
    """The scripts of a move, and what they leave out, in words."""

    scripts: tuple[Script, ...]
    left: tuple[str, ...] = ()


def questions_of(subject: QuestionSubject) -> Questions:
    """All scripts of a move."""
    if len(subject.commands) > MOST_COMMANDS:
        return Questions((), (f"{len(subject.commands)} commands, more than {MOST_COMMANDS}",))
    if subject.readings.get("core/same-element", "") == "broadcast-missing":
        return Questions((), ("the reading core/same-element=broadcast-missing",))
    scripts: list[Script] = []
    left: list[str] = []
    try:
        scripts += [_command_script(subject, index) for index in range(len(subject.commands))]
        scripts += [once_script(writer_of(subject, f"command {i} twice"), c) for i, c in enumerate(subject.commands)]
        scripts += [apart_script(subject)] if len(subject.commands) > 1 else []
        scripts.append(_cells_script(subject))
        scripts += [overlap_script(subject)] if regions_apart(subject) else []
        consumed = _consumed_script(subject) if subject.status.get("core/consumes") == "proved" else None
        scripts += [consumed] if consumed is not None else []
    except NotCovered as why:
        return Questions((), (str(why),))
    left += sorted({name for name, said in subject.status.items() if said == "proved"} - _spoken_of(scripts))
    return Questions(tuple(scripts), tuple(left))


def _spoken_of(scripts: Sequence[Script]) -> set[str]:
    return {name for script in scripts for name in script.obligations}


# ---------------------------------------------------------------- commands


def _counters(writer: ScriptWriter, command: Command, prefix: str) -> list[Lin]:
    return [writer.counter(f"{prefix}{i}", count) for i, (count, _, _) in enumerate(command.nest)]


def address_by_steps(
    writer: ScriptWriter, name: str, base: int | Lin, counters: Sequence[Lin], strides: Sequence[int]
) -> Lin:
    """`base` moved by the strides of counters, by core/loop-step, as a named number."""
    value = base if isinstance(base, Lin) else Lin(base)
    text = text_of(value)
    for counter, stride in zip(counters, strides, strict=True):
        text = f"(core/loop-step {text} {text_of(counter)} {number(stride)})"
        value = value + counter * stride
    return writer.integer(name, text, value)


def _port(port: Port) -> tuple[int, int]:
    return port.chip, port.cluster


def _side(
    writer: ScriptWriter, subject: QuestionSubject, side: int, command: Command, counters: Sequence[Lin]
) -> tuple[Position, CellNames]:
    """Address, position and cell of one side of a command."""
    name, tensor, space = subject.sides[side]
    port = command.write if side else command.read
    strides = [loop[1 + side] for loop in command.nest]
    address = address_by_steps(writer, f"{name}.address", port.base, counters, strides)
    at = position_of(writer, name, tensor, space, subject.dtype_bits, _port(port), address)
    return at, cell_at(writer, name, tensor, at)


def _command_script(subject: QuestionSubject, index: int) -> Script:
    """One command, for every counter: bounds, the same element, what may be read and written."""
    command = subject.commands[index]
    writer = writer_of(subject, f"command {index}")
    counters = _counters(writer, command, "c")
    read_at, read = _side(writer, subject, 0, command, counters)
    write_at, write = _side(writer, subject, 1, command, counters)
    both = f"{read_at.inside} {write_at.inside}"
    writer.possible("a counter", "core/not-vacuous", "true")
    writer.claim("reads", "core/in-bounds", f"(not {read_at.inside})")
    writer.claim("writes", "core/in-bounds", f"(not {write_at.inside})")
    writer.claim("reads", "core/reads-live", f"(and {both} {write.live} (not {read.live}))")
    differ = [f"(not (= {read.byte} {write.byte}))"]
    differ += [f"(not (= {text} {write.coordinates.get(axis, '0')}))" for axis, text in read.coordinates.items()]
    wrong = f"(and {both} {write.live} {read.live} {disjunction(differ)})"
    writer.claim("every coordinate", "core/same-element", wrong)
    writer.claim("bottom, written", "core/padding", f"(and {both} (or {write.bottom} {write.out}))")
    writer.claim("bottom, read", "core/padding", f"(and {both} {read.bottom})")
    writer.claim("zero, overwritten", "core/padding", f"(and {both} {write.zero} (not {read.zero}))")
    return writer.script()


def writer_of(subject: QuestionSubject, name: str) -> ScriptWriter:
    return ScriptWriter(f"{subject.name}{name}", subject.definitions, sizes=subject.sizes)


# ---------------------------------------------------------------- no byte twice


def _writes(writer: ScriptWriter, command: Command, prefix: str) -> tuple[list[Lin], Lin]:
    """Counters of a command under their own names, and the address that they write."""
    counters = _counters(writer, command, prefix)
    strides = [loop[2] for loop in command.nest]
    return counters, address_by_steps(writer, f"{prefix}.address", command.write.base, counters, strides)


def once_script(writer: ScriptWriter, command: Command, says: str = "core/writes-once") -> Script:
    """Two counters of one command never write one address: from the longest stride on, they are equal."""
    (a, left), (b, right) = (_writes(writer, command, prefix) for prefix in "ab")
    writer.lines.append(f"(assert (= {text_of(left)} {text_of(right)}))")
    loops = command.nest
    symbols = any(isinstance(part, Symbolic) for loop in loops for part in loop)
    for end in (left, right) if symbols else ():
        writer.bounded(end)
    with writer.sizes.guessing():
        order = sorted(range(len(loops)), key=lambda i: -abs(loops[i][2]))
        for place, i in enumerate(order):
            inside = sum(abs(loops[j][2]) * (loops[j][0] - 1) for j in order[place + 1 :])
            if abs(loops[i][2]) <= inside:
                break
            if symbols:
                _cut_alike(writer, (a, b), [loop[2] for loop in loops], order[place:])
            writer.lemma(f"counter {i}", f"(= {text_of(a[i])} {text_of(b[i])})")
    differ = [f"(not (= {text_of(x)} {text_of(y)}))" for x, y in zip(a, b, strict=True)]
    writer.claim("no address twice", says, disjunction(differ))
    return writer.script()


def _cut_alike(
    writer: ScriptWriter, ends: tuple[Sequence[Lin], Sequence[Lin]], steps: Sequence[int], order: Sequence[int]
) -> None:
    """Two equal sums of counters, by the theorem on quotients: the longest step leaves the same counter and rest."""
    first, *others = order
    rests = []
    for counters in ends:
        rest = Lin(0)
        for i in others:
            rest = rest + counters[i] * steps[i]
        rests.append(rest)
    whole = text_of(ends[0][first] * steps[first] + rests[0])
    (a, b), (x, y) = (text_of(counters[first]) for counters in ends), map(text_of, rests)
    writer.instance("theorem/unique", UNIQUE, (whole, number(steps[first]), a, x, b, y))


def apart_script(subject: QuestionSubject, says: str = "core/writes-once") -> Script:
    """No two commands write one address."""
    writer = writer_of(subject, "commands apart")
    ends = [_writes(writer, command, f"n{i}_")[1] for i, command in enumerate(subject.commands)]
    for b, other in enumerate(subject.commands):
        for a, one in enumerate(subject.commands[:b]):
            same = [f"(= {x} {y})" for x, y in zip(_port(one.write), _port(other.write), strict=True)]
            both = conjunction([*same, f"(= {text_of(ends[a])} {text_of(ends[b])})"])
            writer.claim(f"commands {a} and {b}", says, both)
    return writer.script()


def regions_apart(subject: QuestionSubject) -> bool:
    """Whether source and destination share a memory, so that their regions could meet, and were shown apart."""
    return subject.status.get("core/overlap") == "proved"


def overlap_script(subject: QuestionSubject) -> Script:
    """No address of the source is one of the destination, in the same place; behind views, of the whole tensors."""
    writer = writer_of(subject, "regions apart")
    ends: list[tuple[Position, Lin]] = []
    tensors = subject.buffers or (subject.source, subject.dest)
    sides = [(name, tensor, space) for (name, _, space), tensor in zip(subject.sides, tensors, strict=True)]
    for name, tensor, space in sides:
        at = any_position(writer, tensor, space, subject.dtype_bits, f"{name}.at")
        ends.append((at, address_of(tensor, space, subject.dtype_bits, at)))
    same = [f"(= {text_of(ends[0][1])} {text_of(ends[1][1])})"]
    for place in ("chip", "cluster"):
        if place in ends[0][0].places:
            a, b = (
                at.places[place] + getattr(tensor, f"at_{place}")
                for (at, _), (_, tensor, _) in zip(ends, sides, strict=True)
            )
            same.append(f"(= {text_of(a)} {text_of(b)})")
    writer.claim("regions", "core/overlap", conjunction(same))
    return writer.script()


# ---------------------------------------------------------------- every cell


def _cells_script(subject: QuestionSubject) -> Script:
    """Every live cell of the destination, and every Zero one, is written: by the counters that its address names."""
    writer = writer_of(subject, "cells of the destination")
    cell, counters = images(writer, subject, 1)
    reached = writer.truth("written", disjunction(counters))
    writer.possible("a live cell", "core/not-vacuous", cell.live)
    writer.claim("every live cell", "core/covers", f"(and {cell.live} (not {reached}))")
    writer.claim("zero, unwritten", "core/padding", f"(and {cell.zero} (not {reached}))")
    return writer.script()


def _consumed_script(subject: QuestionSubject) -> Script | None:
    """Every live cell of the source is read; None where one of several replicas would do. Where an axis is named twice,
    one cell of each element would do.
    """
    for place in PLACES:
        if any(isinstance(node, Broadcast) and node.size > 1 for node in walk(subject.source.field(place))):
            return None
    writer = writer_of(subject, "cells of the source")
    cell, counters = images(writer, subject, 0)
    writer.claim("every live cell", "core/consumes", f"(and {cell.live} (not {disjunction(counters)}))")
    script = writer.script()
    return replace(script, steps=tuple(replace(step, stronger=bool(step.obligation)) for step in script.steps))


def images(writer: ScriptWriter, subject: QuestionSubject, side: int) -> tuple[CellNames, list[str]]:
    """A cell of a side, and for each command the condition that the counters which its address names reach it."""
    name, tensor, space = subject.sides[side]
    at = any_position(writer, tensor, space, subject.dtype_bits, "at")
    cell = cell_at(writer, name, tensor, at)
    _without_top(writer, tensor, at, cell)
    here = address_of(tensor, space, subject.dtype_bits, at)
    return cell, [reaches(writer, f"w{i}", c, side, at, here, tensor) for i, c in enumerate(subject.commands)]


def _without_top(writer: ScriptWriter, tensor: Tensor, at: Position, cell: CellNames) -> None:
    """Leaves out the positions behind the padding of a whole place: what claims speak of, live and Zero, is before it,
    which is asked first.
    """
    for place, where in at.places.items():
        expr = tensor.field(place)
        if isinstance(expr, Padding) and expr.kind is Kind.TOP:
            before = f"(core/in-range {text_of(where)} {number(expr.inner.size)})"
            writer.lemma(f"{place}: before its padding", f"(=> (or {cell.live} {cell.zero}) {before})")
            writer.lines.append(f"(assert {before})")
            if expr.inner.size == 1:
                writer.values[text_of(where)] = Lin(0)


def any_position(writer: ScriptWriter, tensor: Tensor, space: Space, dtype_bits: int, prefix: str) -> Position:
    """A position of a tensor, each of its parts any that it has."""
    found = {}
    for place in space.places:
        found[place] = writer.counter(f"{prefix}.{place}", tensor.field(place).size)
    width = width_of(dtype_bits)
    byte = writer.counter(f"{prefix}.unit", width) if width > 1 else Lin(0)
    return Position(found, byte, "true")


def reaches(
    writer: ScriptWriter, name: str, command: Command, side: int, at: Position, here: Lin, tensor: Tensor
) -> str:
    """The counters of a command that the address names, digit by digit from the longest stride, do reach it."""
    port = command.write if side else command.read
    loops = [(loop[0], loop[1 + side]) for loop in command.nest]
    with writer.sizes.guessing():
        chosen = _named_counters(writer, name, loops, port.base, here)
    text, value = number(port.base), Lin(port.base)
    for i, (_, stride) in enumerate(loops):
        text = f"(core/loop-step {text} {text_of(chosen[i])} {number(stride)})"
        value = value + chosen[i] * stride
    sure: list[str] = []
    open_: list[str] = []
    for i, (count, _) in enumerate(loops):
        with writer.sizes.guessing():
            bounds = writer.bounds(writer.value(chosen[i]))
            always = bounds is not None and bounds[0] >= 0 and bounds[1] < count
        (sure if always else open_).append(f"(core/in-range {text_of(chosen[i])} {number(count)})")
    with writer.sizes.guessing():
        same = writer.value(value) == writer.value(here)
    (sure if same else open_).append(f"(= {text_of(here)} {text})")
    open_ += [
        f"(= {text_of(at.places[p] + getattr(tensor, f'at_{p}'))} {number(own)})"
        for p, own in zip(("chip", "cluster"), _port(port), strict=True)
        if p in at.places
    ]
    if sure:  # a lemma of its own, so that what is left to decide is short
        writer.lemma(f"{name}: digits in range", writer.truth(f"{name}.sure", conjunction(sure)))
        open_.append(f"{name}.sure")
    return writer.truth(name, conjunction(open_))


def _named_counters(
    writer: ScriptWriter, name: str, loops: Sequence[tuple[int, int]], base: int, here: Lin
) -> dict[int, Lin]:
    """The counter of each loop that an address names. Where no sum of base and counters carries, the address and the
    base are taken apart by themselves, so that commands with other bases share the parts of the address.
    """
    least = base + sum(stride * (count - 1) for count, stride in loops if stride < 0)
    moving = [i for i in sorted(range(len(loops)), key=lambda i: -abs(loops[i][1])) if loops[i][0] > 1 and loops[i][1]]
    symbols = any(isinstance(part, Symbolic) for part in (base, *(part for loop in loops for part in loop)))
    apart = not symbols and _without_carry([(loops[i][0], abs(loops[i][1])) for i in moving], least)
    rest, offset = (here, least) if apart else (here + -least, 0)
    chosen = dict.fromkeys(range(len(loops)), Lin(0))
    for i in moving:
        count, stride = loops[i]
        start, offset = divmod(offset, abs(stride))
        digit, rest = writer.split(f"{name}.{i}", rest, abs(stride)) if abs(stride) > 1 else (rest, Lin(0))
        digit = digit + -start
        chosen[i] = digit if stride > 0 else digit * -1 + (count - 1)
    return chosen


def _without_carry(loops: Sequence[tuple[int, int]], base: int) -> bool:
    """Whether base and counters add up digit by digit."""
    outer = None
    for count, stride in loops:
        digit, base = divmod(base, stride)
        parts, rest = divmod(outer, stride) if outer is not None else (digit + count, 0)
        if rest != 0 or digit + count > parts:
            return False
        outer = stride
    return True
