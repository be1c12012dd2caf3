"""What descriptors do to memory that they share: with themselves, and with those before them.

Knows: descriptors as commands of one memory, launches in order, waits between them.
Does not know: moves, forms, verdicts.
Law: one channel reads and writes each in order, and reads of a launch may run before writes of the launches before it
until somebody waits for these; two channels, two write ports and back-ends that an arbiter chooses are not ordered at
all. Whatever is neither shown to be apart nor shown to meet is open, and said.

Source: iDMA paper, 2.1 (synchronization by the id last completed), 2.3 (in-order transfers, decoupled reads and
writes).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from dmaverify.errors import InputError
from dmaverify.machines.idma.engine import NO_ADDRESS
from dmaverify.machines.idma.nd import Descriptor, extent, placed, requests
from dmaverify.machines.idma.path import pieces
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import Image, ToldDescriptor
from dmaverify.program.command import Command, Loop, Port
from dmaverify.prove.meet import Walk, apart, difference, found_meeting, question
from dmaverify.prove.move.overlap import Early, written_early
from dmaverify.prove.smt import Session
from dmaverify.targets.modules import Derived
from dmaverify.values import dataclass

RLIMIT = 4_000_000
MOST_BEFORE = 64
"""Launches before one that are looked at; more are open."""
MOST_PIECES = 1 << 16
"""Pieces of one descriptor that are looked at, one by one."""


def command_of(descriptor: Descriptor, width: int) -> Command:
    """A descriptor as a command in one memory, in bytes."""
    request = descriptor.request
    dims = placed(descriptor, width)
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
    parted = scattered(descriptor, setup, place)
    if parted.facts or parted.open:
        return parted
    early = written_early([command_of(descriptor, width)], Session(RLIMIT), setup.backend.word)
    if early == "unknown":
        return OrderInstances((), "whether a byte is written before it is read depends on where bus words begin")
    if not isinstance(early, Early):
        return OrderInstances()
    inside = early.write[1][:-1] == early.read[1][:-1]
    facts = (Derived("order", {"early": early.address}, place),)
    return OrderInstances(facts, mild=frozenset() if inside else frozenset({"idma/overlap"}))


def scattered(descriptor: Descriptor, setup: Setup, place: str = "") -> OrderInstances:
    """Whether one back-end writes what another one reads of the same descriptor: nothing orders back-ends.

    Looked at piece by piece, up to `MOST_PIECES`; more are open where the sides share memory at all.
    """
    width = setup.backend.address_width
    if setup.region is None or setup.backends < 2 or not descriptor.bytes:
        return OrderInstances()
    read, write = extent(descriptor, "read", width), extent(descriptor, "write", width)
    if read.end <= write.low or write.end <= read.low or {
        descriptor.request.src_protocol, descriptor.request.dst_protocol
    } & NO_ADDRESS:  # fmt: skip
        return OrderInstances()
    if descriptor.transfers * (descriptor.request.length // setup.region.width + 2) > MOST_PIECES:
        return OrderInstances((), f"more than {MOST_PIECES:,} pieces on several back-ends share memory")
    found = [pair for request in requests(descriptor, width) for pair in pieces(setup, request)]
    writes = sorted((one.dst, one.dst + one.length, number) for number, one in found)
    longest = max(end - low for low, end, _ in writes)
    for number, one in found:
        end = one.src + one.length
        for low, high, writer in writes[bisect_left(writes, (one.src - longest + 1,)) :]:
            if low >= end:
                break
            if high > one.src and writer != number:
                values = {"early": -1, "reread": max(low, one.src), "rewritten": -1}
                where = f"{place}, back-end {writer} beside back-end {number}".removeprefix(", ")
                return OrderInstances((Derived("after", values, where),))
    return OrderInstances()


def behind(image: Image, number: int, setup: Setup) -> OrderInstances:
    """Whether a launch meets an earlier one that nobody has waited for: reads what that writes, and where nothing else
    orders the two, writes what that reads or writes. Descriptors that are launched at some time or other meet all.
    """
    told, later = image.told, image.told[number]
    if not later.descriptor.bytes:
        return OrderInstances()
    since = {one: max((w for w, c in image.partly if w <= number and c == one), default=0) for _, one in image.partly}
    whole = max((w for w in image.waits if w <= number), default=0)
    earlier = [
        n for n in range(0 if image.loose else whole, number)
        if told[n].descriptor.bytes
        and (n >= max(whole, since.get(told[n].channel, 0)) or min(told[n].channel, later.channel) < 0)
    ]  # fmt: skip
    spans = {side: extent(later.descriptor, side, setup.backend.address_width) for side in ("read", "write")}
    left = []
    for n in earlier:
        for kind, writes, other in _meetings(told[n], later, setup):
            span = spans["write" if writes else "read"]
            if _near(told[n].descriptor, other, span.low, span.end, setup.backend.address_width):
                left.append((n, kind, writes, other))
    for n, kind, writes, other in left[:MOST_BEFORE]:
        found = _met(told[n].descriptor, other, later.descriptor, writes, setup.backend.address_width)
        if found is None or (found >= 0 and kind != "early" and setup.backends > 1 and setup.region is not None
                             and told[n].channel == later.channel):  # fmt: skip
            return OrderInstances((), f"whether it meets what launch {n} still does was not decided")
        if found >= 0 and min(told[n].channel, later.channel) < 0:
            return OrderInstances((), f"it meets launch {n}, and when a descriptor in memory is launched is not read")
        if found >= 0:
            values = {"early": -1, "reread": -1, "rewritten": -1, kind: found}
            return OrderInstances((Derived("after", values, f"behind launch {n}"),))
    if len(left) > MOST_BEFORE:
        return OrderInstances((), f"it lies near {len(left):,} launches before it")
    return OrderInstances()


def beside(image: Image, setup: Setup) -> list[Derived]:
    """The instances of scope `after` of an image that is one move: launches that nothing orders."""
    channels = {one.channel for one in image.told}
    if not image.ordered or (len(channels) < 2 and not setup.unordered):
        return []
    found = [behind(image, number, setup) for number in range(len(image.told))]
    undecided = next((number for number, one in enumerate(found) if one.open), None)
    if undecided is not None:
        raise InputError(
            f"launch {undecided}: {found[undecided].open}", image.told[undecided].span,
            "wait before it, or give it memory of its own",
        )  # fmt: skip
    return [fact for one in found for fact in one.facts]


def _meetings(one: ToldDescriptor, later: ToldDescriptor, setup: Setup) -> Iterator[tuple[str, bool, bool]]:
    """What of two launches nothing orders: the port of the finding, whether the later one writes, and whether the
    earlier one does.
    """
    first, second = one.descriptor.request, later.descriptor.request
    apart_ = one.channel != later.channel or setup.unordered
    if second.src_protocol not in NO_ADDRESS and first.dst_protocol not in NO_ADDRESS:
        yield "early", False, True
    if second.dst_protocol in NO_ADDRESS:
        return
    if apart_ and first.src_protocol not in NO_ADDRESS:
        yield "reread", True, False
    if first.dst_protocol not in NO_ADDRESS and (apart_ or first.dst_protocol != second.dst_protocol):
        yield "rewritten", True, True


def _met(first: Descriptor, first_writes: bool, later: Descriptor, writes: bool, width: int) -> int | None:
    """An address that both touch, -1 where there is none, None where that was not decided."""
    one = walk_of(command_of(first, width), writes=first_writes)
    other = walk_of(command_of(later, width), writes=writes)
    eq = difference(one, other)
    if apart(eq):
        return -1
    session = Session(RLIMIT)
    answer = session.ask(question(eq), "core/order")
    if answer.status == "unsat":
        return -1
    met = found_meeting(one, other, session) if answer.status == "sat" else None
    return None if met is None else met.address


def _near(descriptor: Descriptor, writes: bool, low: int, end: int, width: int) -> bool:
    own = extent(descriptor, "write" if writes else "read", width)
    return own.low < end and low < own.end


def walk_of(command: Command, *, writes: bool) -> Walk:
    """What one side of a command touches."""
    port = command.write if writes else command.read
    loops = tuple((x.count, x.write if writes else x.read) for x in command.loops)
    return Walk(port.base, (*loops, (command.burst, 1)))


