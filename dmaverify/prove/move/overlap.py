"""Moves within one memory: whether some byte is written before it is read, in the order of the commands.

Knows: commands, engines as sequences, the order of the loops of a command.
Does not know: tensors, machines, how a finding is shown.
Law: `None` means that every byte is read, by whoever reads it, before any command changes it: the move is as safe as
one between two memories. Every pair of a command that writes and one that reads is decided, a command with itself too.
An iteration that writes a byte back where it read it changes none: if all others come behind the reads of a byte, what
it writes back is what was there at first.

A command moves request by request in the order of its loops, each request read before it is written; a burst longer
than the machine's requests is several of them. So byte b is at risk when request p writes it and a later one q reads
it. For each loop d: the loops outside agree, at d p is below q, the loops inside are free; that is one equation of
bounded integers. Commands of one engine follow each other in the written order; those of two engines are not ordered,
so any shared byte is at risk. Commands that name no engine are taken to share one: `relies_on_order` says where that
matters. Loops `around` all commands are the outermost ones of each: in one of their iterations all are done, and those
of one engine before those of its next iteration.

A machine without requests (`Streams`) does not read a burst as a whole before it is written either: it moves words,
which are aligned in memory, in order, and reads no further than it must. Let the destination lie `gap` units above the
source, inside of the burst. Writing a word takes what is read up to its last unit, `gap` below it. With a gap of a word
or more that is no unit of the word itself, which may so be overwritten before it is read. With less it is: the word is
read, as a whole, before it is written, and nothing is lost, unless it is read twice. That comes where reads and writes
are cut together (`windows`): at a place where one side begins a window, the other is within a word, so that either this
word is read again, or written in part before it is read. Where it is not known how a machine cuts, and inside of words
too, a gap is far from two words less a unit on, and nearer ones are unknown. Destinations below their source are safe
at every granularity: what is read, and read again, lies above all that is written. Where nothing is known of the
granularity, words may be of any length (`ANY_WORD`), and whatever lands on the rest of its own burst is unknown.

Copy instructions (`unordered`) promise no order at all, neither of rows nor of two copies: any byte that one of them
changes and one of them reads is at risk, in one iteration of the loops around; where iterations of these may `swap`, in
any two.

Source: "DMA Engine" (Packet size and internal DMA requests: an n-byte packet becomes ceil(n / 256) requests; DMA
Sequencer Internals; Implementation Details), the obligation core/overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from dmaverify.program.command import Command, Loop
from dmaverify.program.space import global_address
from dmaverify.prove.meet import (
    Walk,
    apart,
    counter_names,
    difference,
    equation,
    found_meeting,
    met_where,
    shared,
    side_of,
)
from dmaverify.prove.smt import Answer, Query, Session, linear, number
from dmaverify.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Early:
    """A byte (global address, in units) that `write` puts there before `read` has read it: (command, counters); `later`
    where only another iteration of the loops around all commands reads it, `swapped` where that one may come first.
    """

    write: tuple[int, tuple[int, ...]]
    read: tuple[int, tuple[int, ...]]
    address: int
    later: bool = False
    swapped: bool = False


@dataclass(frozen=True, slots=True)
class Streams:
    """A machine that streams `word` units at once. `windows` are those of its sides, where both are cut at the places
    where one of them begins another; none where each is cut for itself, between words. None: nobody knows.
    """

    word: int
    windows: tuple[int, ...] | None = None


ANY_WORD = Streams(1 << 62)
"""A machine of which nobody knows how much it reads before it writes."""


def written_early(
    commands: Sequence[Command],
    session: Session,
    streams: Sequence[Streams] = (),
    request_units: int = 0,
    around: int = 0,
    *,
    unordered: bool = False,
    swap: bool = False,
) -> Early | str | None:
    """A byte that is written before it is read, None if there is none, or "unknown". `streams`: how a machine moves the
    units of each command, of all where it is one; `request_units`: units of a request, which is read before it is
    written; without either it is ANY_WORD. `around`: how many loops are around all commands; `unordered`: nothing else
    orders what they do; `swap`: nothing orders the iterations of these loops.
    """
    streams = streams or (() if request_units else (ANY_WORD,))
    reads = [_walk(c, writes=False) for c in commands]
    writes = [_walk(c, writes=True) for c in commands]
    pairs = [
        (i, j)
        for i, j in product(range(len(commands)), repeat=2)
        if commands[i].write.tier == commands[j].read.tier and not apart(difference(writes[i], reads[j]))
    ]

    def once(i: int, j: int) -> Early | str | None:
        """In one iteration of the loops around, or where nothing orders any two."""
        writer, reader = commands[i], commands[j]
        if i == j and not unordered:
            found = _within(i, writer, session, streams[min(i, len(streams) - 1)] if streams else None, around)
            if found is None and 0 < request_units < writer.burst:
                found = _in_burst(i, writer, request_units, session)
            return found
        if not unordered and (writer.engine != reader.engine or (i < j and not around)):
            return _across(i, j, writer, writes[i], reads[j], session)
        return _levels((i, j), (writer, reader), [(around, False)], session) if i < j or unordered else None

    def again(i: int, j: int) -> Early | str | None:
        """In a later one."""
        writer, reader = commands[i], commands[j]
        levels = [(level, True) for level in reversed(range(around))]
        found = _levels((i, j), (writer, reader), levels, session) if writer.engine == reader.engine else None
        return replace(found, later=True) if isinstance(found, Early) else found

    def whenever(i: int, j: int) -> Early | str | None:
        """In any other one: what nobody changes in one iteration is known by now."""
        found = _levels((i, j), (commands[i], commands[j]), [(0, False)], session)
        if not isinstance(found, Early):
            return found
        return replace(found, later=True, swapped=True) if unordered else "unknown"

    for ask in (once, again, whenever) if swap and around else (once, again):
        open_ = False
        for pair in pairs:
            found = ask(*pair)
            if isinstance(found, Early):
                return found
            open_ = open_ or found == "unknown"
        if open_:
            return "unknown"
    return None


def relies_on_order(commands: Sequence[Command], session: Session) -> bool:
    """Whether a command that names no engine reads what a later one that names none writes: in parallel they race."""
    for j, reader in enumerate(commands):
        for writer in commands[j + 1 :]:
            if reader.engine is not None or writer.engine is not None or writer.write.tier != reader.read.tier:
                continue
            sides = _walk(writer, writes=True), _walk(reader, writes=False)
            if shared(*sides, session, "core/overlap") != "unsat":
                return True
    return False


def _walk(command: Command, *, writes: bool) -> Walk:
    walk = side_of(command, writes=writes)
    return Walk(global_address(command.write if writes else command.read, walk.base), walk.loops)


def _across(i: int, j: int, writer: Command, write: Walk, read: Walk, session: Session) -> Early | str | None:
    """Any shared byte that the writer changes is at risk."""
    status = shared(write, read, session, "core/overlap")
    if status != "sat":
        return "unknown" if status == "unknown" else None
    met = found_meeting(write, read, session)
    if met is None:
        return "unknown"
    if _writes_back(writer, met.first):
        status, met = met_where(write, read, session, [_changes(writer, counter_names(write, read))], "core/overlap")
        if met is None:
            return "unknown" if status == "unknown" else None
    return Early((i, met.first), (j, met.second), met.address)


def _writes_back(command: Command, counters: Sequence[int]) -> bool:
    """Whether an iteration writes each byte where it read it."""
    moved = sum(n * (loop.write - loop.read) for n, loop in zip(counters, command.loops, strict=False))
    return moved == _back(command)


def _changes(command: Command, names: Sequence[str]) -> str:
    """That the iteration with these counters does not write back what it read."""
    parts = [(loop.write - loop.read, name) for loop, name in zip(command.loops, names, strict=False)]
    return f"(distinct {linear(0, parts)} {number(_back(command))})"


def _back(command: Command) -> int:
    """From where a command begins to write to where it begins to read."""
    return global_address(command.read, command.read.base) - global_address(command.write, command.write.base)


def _inside(index: int, command: Command, session: Session, streams: Streams) -> Early | str | None:
    """A burst that lands on its own rest: the destination is `gap` units above the source, inside the burst."""
    word, windows = streams.word, streams.windows
    far = 2 * word - 1 if windows is None else word
    for low, high, near in ((far, command.burst, False), (1, min(far, command.burst), True)):
        if low >= high or (near and windows == ()):
            continue
        names = [f"x{i}" for i in range(len(command.loops))]
        variables = [(name, 0, loop.count) for name, loop in zip(names, command.loops, strict=True)]
        parts = [(loop.write - loop.read, name) for name, loop in zip(names, command.loops, strict=True)]
        variables, parts, names = [*variables, ("gap", low, high)], [*parts, (-1, "gap")], [*names, "gap"]
        query, answer = _asked(
            variables, parts, (command, command), session, *(_cut(command, names[:-1], windows) if near else ())
        )
        if answer.status == "unsat":
            continue
        if (near and windows is None) or answer.status == "unknown":
            return "unknown"
        best = session.smallest(query, names, answer).model
        outer = tuple(best[name] for name in names[:-1])
        if not near:
            return _met((index, index), (command, command), (*outer, 0), (*outer, best["gap"]))
        cut, gap = _first_cut(command, outer, windows or ()), best["gap"]
        return _met((index, index), (command, command), (*outer, max(cut - gap, 0)), (*outer, max(cut, gap)))
    return None


def _cut(command: Command, names: Sequence[str], windows: tuple[int, ...] | None) -> tuple[str, ...]:
    """That some side begins another window inside of the burst."""
    if windows is None:
        return ()
    found = []
    for side, window in zip(("read", "write"), windows, strict=True):
        port = command.read if side == "read" else command.write
        parts = [(getattr(loop, side), name) for loop, name in zip(command.loops, names, strict=True)]
        at = linear(global_address(port, port.base), parts)
        found.append(f"(> (+ (mod {at} {window}) {command.burst}) {window})")
    return (f"(or {' '.join(found)})",)


def _first_cut(command: Command, counters: Sequence[int], windows: Sequence[int]) -> int:
    """Where the first burst of an iteration ends."""
    ends: list[int] = []
    for side, window in zip(("read", "write"), windows, strict=True):
        port = command.read if side == "read" else command.write
        at = global_address(port, port.base)
        at += sum(n * getattr(loop, side) for n, loop in zip(counters, command.loops, strict=True))
        ends.append(window - at % window)
    return min(ends)


def _within(index: int, command: Command, session: Session, streams: Streams | None, around: int) -> Early | str | None:
    """Level by level, from the innermost loop: an iteration that writes what a later one reads."""
    inside = None if streams is None else _inside(index, command, session, streams)
    if isinstance(inside, Early):
        return inside
    levels = [(level, True) for level in reversed(range(around, len(command.loops)))]
    return _levels((index, index), (command, command), levels, session) or inside


def _levels(
    at: tuple[int, int], pair: tuple[Command, Command], levels: Sequence[tuple[int, bool]], session: Session
) -> Early | str | None:
    """What the first of two commands writes before the other reads it: the loops outside a level agree, at it the first
    is in an earlier iteration, or (False) it is free as those inside are.
    """
    open_ = False
    for level, split in levels:
        count = pair[0].loops[level].count if split else 0
        if split and count < 2:
            continue
        names, variables, parts = _level(pair, level, split=split)
        later = (f"(< (+ p gap) {count - 1})",) if split else ()
        query, answer = _asked(variables, parts, pair, session, *later)
        if answer.status == "unknown":
            open_ = True
        elif answer.status == "sat":
            early = _early(at, pair, level, session.smallest(query, names, answer).model, split=split)
            if not _writes_back(pair[0], early.write[1]):
                return early
            query = Query(variables, (*query.constraints, _changes(pair[0], _writer(pair[0], level, split=split))))
            answer = session.ask(query, "core/overlap")
            if answer.status == "sat":
                return _early(at, pair, level, session.smallest(query, names, answer).model, split=split)
            open_ = open_ or answer.status == "unknown"
    return "unknown" if open_ else None


def _writer(command: Command, level: int, *, split: bool) -> list[str]:
    """The counters of the iteration that writes, as `_level` names them."""
    return ["p" if i == level and split else f"{'x' if i < level else 'a'}{i}" for i in range(len(command.loops))]


def _in_burst(index: int, command: Command, request: int, session: Session) -> Early | str | None:
    """Two requests of one burst, the loops around it the same: the earlier writes what the later reads."""
    whole = replace(
        command, loops=(*command.loops, Loop(-(-command.burst // request), request, request)), burst=request
    )
    level, pair = len(command.loops), (whole, whole)
    names, variables, parts = _level(pair, level)
    tails = (
        f"(< (+ p gap) {whole.loops[level].count - 1})",
        f"(< {linear(0, ((request, 'p'), (1, 'u')))} {command.burst})",
        f"(< {linear(request, ((request, 'p'), (request, 'gap'), (1, 'v')))} {command.burst})",
    )
    query, answer = _asked(variables, parts, pair, session, *tails)
    if answer.status != "sat":
        return "unknown" if answer.status == "unknown" else None
    early = _early((index, index), pair, level, session.smallest(query, names, answer).model)

    def joined(counters: tuple[int, ...]) -> tuple[int, ...]:
        return (*counters[:level], counters[level] * request + counters[level + 1])

    return replace(early, write=(index, joined(early.write[1])), read=(index, joined(early.read[1])))


def _asked(
    variables: Sequence[tuple[str, int, int]],
    parts: Sequence[tuple[int, str]],
    pair: tuple[Command, Command],
    session: Session,
    *when: str,
) -> tuple[Query, Answer]:
    """Whether a byte that the first command writes lies where the second reads, `parts` further on, under conditions on
    both.
    """
    writer, reader = pair
    target = global_address(reader.read, reader.read.base) - global_address(writer.write, writer.write.base)
    query = Query(tuple(variables), (f"(= {linear(0, parts)} {number(target)})", *when))
    ends = [(k, low, high - 1) for (k, _), (_, low, high) in zip(parts, variables, strict=True)]
    return query, Answer("unsat") if apart(equation(ends, target)) else session.ask(query, "core/overlap")


def _level(
    pair: tuple[Command, Command], level: int, *, split: bool = True
) -> tuple[list[str], tuple[tuple[str, int, int], ...], list[tuple[int, str]]]:
    """Variables and the terms of `write address - read address`, bases left out; where the level is `split`, the
    reader's counter at it is `p + 1 + gap`.
    """
    variables: list[tuple[str, int, int]] = []
    parts: list[tuple[int, str]] = []

    def add(name: str, high: int, coefficient: int) -> None:
        variables.append((name, 0, high))
        parts.append((coefficient, name))

    writer, reader = pair
    for i in range(max(len(writer.loops), len(reader.loops))):
        if i > level or (i == level and not split):
            for name, command, far in (("a", writer, 1), ("b", reader, -1)):
                if i < len(command.loops):
                    loop = command.loops[i]
                    add(f"{name}{i}", loop.count, far * (loop.write if far > 0 else loop.read))
            continue
        count, by = writer.loops[i].count, reader.loops[i].read
        if i < level:
            add(f"x{i}", count, writer.loops[i].write - by)
        else:
            add("p", count - 1, writer.loops[i].write - by)
            add("gap", count - 1, -by)
    add("u", writer.burst, 1)
    add("v", reader.burst, -1)
    if split:
        variables.append(("one", 1, 2))
        parts.append((-reader.loops[level].read, "one"))
    return [name for name, _, _ in variables], tuple(variables), parts


def _early(
    at: tuple[int, int], pair: tuple[Command, Command], level: int, model: object, *, split: bool = True
) -> Early:
    values: dict[str, int] = dict(model)  # type: ignore[call-overload]
    sides = []
    for command, own, last in zip(pair, "ab", "uv", strict=True):
        counters = [
            values[f"{'x' if i < level else own}{i}"] for i in range(len(command.loops)) if i != level or not split
        ]
        if split:
            counters.insert(level, values["p"] if own == "a" else values["p"] + 1 + values["gap"])
        sides.append((*counters, values[last]))
    return _met(at, pair, *sides)


def _met(at: tuple[int, int], pair: tuple[Command, Command], write: tuple[int, ...], read: tuple[int, ...]) -> Early:
    address = _walk(pair[0], writes=True).address(write)
    if address != _walk(pair[1], writes=False).address(read):
        raise ArithmeticError("the two counters do not name one byte")
    return Early((at[0], write), (at[1], read), address)
