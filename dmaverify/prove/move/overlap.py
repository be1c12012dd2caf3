"""Moves within one memory: whether some byte is written before it is read, in the order of the commands.

Knows: commands, engines as sequences, the order of the loops of a command.
Does not know: tensors, machines, how a finding is shown.
Law: `None` means that every byte is read, by whoever reads it, before any command writes it: the move is as safe as one
between two memories. Every pair of a command that writes and one that reads is decided, a command with itself too.

A command moves burst by burst in the order of its loops, each burst read before it is written. So byte b is at risk
when iteration p writes it and a later iteration q reads it. For each loop d: the loops outside agree, at d p is below
q, the loops inside are free; that is one equation of bounded integers. Commands of one engine follow each other in the
written order; those of two engines are not ordered, so any shared byte is at risk.

Source: "DMA Engine" (DMA Sequencer Internals; Implementation Details), DESIGN section 4 (core/overlap).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dmaverify.program.command import Command
from dmaverify.program.space import global_address
from dmaverify.prove.meet import Walk, apart, difference, equation, found_meeting, question
from dmaverify.prove.smt import Query, Session, linear, number


@dataclass(frozen=True, slots=True)
class Early:
    """A byte (global address, in units) that `write` puts there before `read` has read it: (command, counters)."""

    write: tuple[int, tuple[int, ...]]
    read: tuple[int, tuple[int, ...]]
    address: int


def written_early(commands: Sequence[Command], session: Session) -> Early | str | None:
    """A byte that is written before it is read, None if there is none, or "unknown"."""
    open_ = False
    reads = [_walk(c, writes=False) for c in commands]
    writes = [_walk(c, writes=True) for c in commands]
    for i, writer in enumerate(commands):
        for j, reader in enumerate(commands):
            if writer.write.tier != reader.read.tier or apart(difference(writes[i], reads[j])):
                continue
            if i == j:
                found = _within(i, writer, session)
            elif writer.engine != reader.engine or i < j:
                found = _across(i, j, writes[i], reads[j], session)
            else:
                continue
            if isinstance(found, Early):
                return found
            open_ = open_ or found == "unknown"
    return "unknown" if open_ else None


def _walk(command: Command, *, writes: bool) -> Walk:
    port = command.write if writes else command.read
    loops = tuple((x.count, x.write if writes else x.read) for x in command.loops)
    return Walk(global_address(port, port.base), (*loops, (command.burst, 1)))


def _across(i: int, j: int, write: Walk, read: Walk, session: Session) -> Early | str | None:
    """Any shared byte is at risk."""
    status = session.ask(question(difference(write, read)), "core/overlap").status
    if status != "sat":
        return "unknown" if status == "unknown" else None
    met = found_meeting(write, read, session)
    if met is None:
        return "unknown"
    return Early((i, met.first), (j, met.second), met.address)


def _within(index: int, command: Command, session: Session) -> Early | str | None:
    """Level by level, from the innermost loop: an iteration that writes what a later one reads."""
    open_ = False
    for level in reversed(range(len(command.loops))):
        if command.loops[level].count < 2:
            continue
        names, variables, parts = _level(command, level)
        target = global_address(command.read, command.read.base) - global_address(command.write, command.write.base)
        count = command.loops[level].count
        if apart(
            equation([(k, low, high - 1) for (k, _), (_, low, high) in zip(parts, variables, strict=True)], target)
        ):
            continue
        total = linear(0, parts)
        query = Query(variables, (f"(= {total} {number(target)})", f"(< (+ p gap) {count - 1})"))
        answer = session.ask(query, "core/overlap")
        if answer.status == "unknown":
            open_ = True
        elif answer.status == "sat":
            best = session.smallest(query, names, answer).model
            return _early(index, command, level, best)
    return "unknown" if open_ else None


def _level(command: Command, level: int) -> tuple[list[str], tuple[tuple[str, int, int], ...], list[tuple[int, str]]]:
    """Variables and the terms of `write address - read address`, base left out; q at the level is `p + 1 + gap`."""
    variables: list[tuple[str, int, int]] = []
    parts: list[tuple[int, str]] = []

    def add(name: str, high: int, coefficient: int) -> None:
        variables.append((name, 0, high))
        parts.append((coefficient, name))

    for i, loop in enumerate(command.loops):
        if i < level:
            add(f"x{i}", loop.count, loop.write - loop.read)
        elif i == level:
            add("p", loop.count - 1, loop.write - loop.read)
            add("gap", loop.count - 1, -loop.read)
        else:
            add(f"a{i}", loop.count, loop.write)
            add(f"b{i}", loop.count, -loop.read)
    add("u", command.burst, 1)
    add("v", command.burst, -1)
    variables.append(("one", 1, 2))
    parts.append((-command.loops[level].read, "one"))
    return [name for name, _, _ in variables], tuple(variables), parts


def _early(index: int, command: Command, level: int, model: object) -> Early:
    values: dict[str, int] = dict(model)  # type: ignore[call-overload]
    first, second = [], []
    for i in range(len(command.loops)):
        if i < level:
            first.append(values[f"x{i}"])
            second.append(values[f"x{i}"])
        elif i == level:
            first.append(values["p"])
            second.append(values["p"] + 1 + values["gap"])
        else:
            first.append(values[f"a{i}"])
            second.append(values[f"b{i}"])
    write, read = (*first, values["u"]), (*second, values["v"])
    address = _walk(command, writes=True).address(write)
    if address != _walk(command, writes=False).address(read):
        raise ArithmeticError("the two counters do not name one byte")
    return Early((index, write), (index, read), address)
