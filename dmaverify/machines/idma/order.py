"""What descriptors do to memory that they share: with themselves, and with those before them.

Knows: descriptors as commands of one memory, launches in order, waits between them.
Does not know: moves, forms, verdicts.
Law: one engine reads and writes each in order, and reads of a launch may run before writes of the launches before it
until somebody waits for these. Whatever is neither shown to be apart nor shown to meet is open, and said.

Source: iDMA paper, 2.1 (synchronization by the id last completed), 2.3 (in-order transfers, decoupled reads and
writes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dmaverify.machines.idma.engine import NO_ADDRESS
from dmaverify.machines.idma.nd import Descriptor, absolute, extent, normal
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import ToldDescriptor
from dmaverify.program.command import Command, Loop, Port
from dmaverify.prove.meet import Walk, apart, difference, found_meeting, question
from dmaverify.prove.move.overlap import Early, written_early
from dmaverify.prove.smt import Session
from dmaverify.targets.modules import Derived

RLIMIT = 4_000_000
MOST_BEFORE = 64
"""Launches before one that are looked at; more are open."""


def command_of(descriptor: Descriptor, width: int) -> Command:
    """A descriptor as a command in one memory, in bytes."""
    request = descriptor.request
    dims = normal(absolute(descriptor.dims), width)
    loops = tuple(Loop(d.reps, d.src_stride, d.dst_stride) for d in reversed(dims) if d.reps > 1)
    return Command(Port("mem", request.src), Port("mem", request.dst), loops, request.length, request.length)


@dataclass(frozen=True, slots=True)
class OrderInstances:
    """The instances of scope `order` or `after` of one descriptor, what stayed open, and rules that are warnings where
    nothing is promised of the memory.
    """

    facts: tuple[Derived, ...] = ()
    open: str = ""
    mild: frozenset[str] = frozenset()


def itself(descriptor: Descriptor, setup: Setup, place: str = "") -> OrderInstances:
    """Whether a descriptor writes some byte of its source before it reads it."""
    request, width = descriptor.request, setup.backend.address_width
    if not descriptor.bytes or {request.src_protocol, request.dst_protocol} & NO_ADDRESS:
        return OrderInstances()
    read, write = extent(descriptor, "read", width), extent(descriptor, "write", width)
    if read.end <= write.low or write.end <= read.low:
        return OrderInstances()
    early = written_early([command_of(descriptor, width)], Session(RLIMIT), setup.backend.word)
    if early == "unknown":
        return OrderInstances((), "whether a byte is written before it is read depends on where bus words begin")
    if not isinstance(early, Early):
        return OrderInstances()
    inside = early.write[1][:-1] == early.read[1][:-1]
    facts = (Derived("order", {"early": early.address}, place),)
    return OrderInstances(facts, mild=frozenset() if inside else frozenset({"idma/overlap"}))


def behind(told: Sequence[ToldDescriptor], number: int, setup: Setup, waits: Sequence[int]) -> OrderInstances:
    """Whether a launch reads what an earlier one writes that nobody has waited for.

    `waits` are numbers of launches in front of which all before them are complete.
    """
    later, width = told[number].descriptor, setup.backend.address_width
    if not later.bytes or later.request.src_protocol in NO_ADDRESS:
        return OrderInstances()
    since = max((w for w in waits if w <= number), default=0)
    earlier = [n for n in range(since, number) if told[n].descriptor.bytes]
    span = extent(later, "read", width)
    read = _walk(command_of(later, width), writes=False)
    left = [n for n in earlier if _near(told[n].descriptor, span.low, span.end, width)]
    for n in left[:MOST_BEFORE]:
        write = _walk(command_of(told[n].descriptor, width), writes=True)
        eq = difference(write, read)
        if apart(eq):
            continue
        session = Session(RLIMIT)
        answer = session.ask(question(eq), "core/order")
        if answer.status == "unsat":
            continue
        met = found_meeting(write, read, session) if answer.status == "sat" else None
        if met is None:
            return OrderInstances((), f"whether it reads what launch {n} writes was not decided")
        return OrderInstances((Derived("after", {"early": met.address}, f"behind launch {n}"),))
    if len(left) > MOST_BEFORE:
        return OrderInstances((), f"it lies near {len(left):,} launches before it")
    return OrderInstances()


def _near(descriptor: Descriptor, low: int, end: int, width: int) -> bool:
    if descriptor.request.dst_protocol in NO_ADDRESS:
        return False
    write = extent(descriptor, "write", width)
    return write.low < end and low < write.end


def _walk(command: Command, *, writes: bool) -> Walk:
    port = command.write if writes else command.read
    loops = tuple((x.count, x.write if writes else x.read) for x in command.loops)
    return Walk(port.base, (*loops, (command.burst, 1)))


