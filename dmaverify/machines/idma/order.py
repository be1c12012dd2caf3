"""What descriptors do to memory that they share: with themselves, and with those before them.

Knows: descriptors as commands of one memory, launches in order, waits between them.
Does not know: moves, forms, verdicts, how order is followed (`prove.flow.pipes`, as for programs and kernels).
Law: one channel reads and writes each in order, and reads of a launch may run before writes of the launches before it
until somebody waits for these; two channels, two write ports and back-ends that an arbiter chooses are not ordered at
all. Whatever is neither shown to be apart nor shown to meet is open, and said.

Source: iDMA paper, 2.1 (synchronization by the id last completed), 2.3 (in-order transfers, decoupled reads and
writes).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import count

from dmaverify.errors import InputError
from dmaverify.language.affine import Lin, World
from dmaverify.machines.idma.engine import AXI, NO_ADDRESS, TILELINK
from dmaverify.machines.idma.legalizer import is_coupled, window_bits
from dmaverify.machines.idma.nd import Descriptor, Dim, extent, placed, requests
from dmaverify.machines.idma.path import pieces
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import Image
from dmaverify.program.command import Command, Loop, Port
from dmaverify.program.instructions import Event, Fence, Place, Signal, Use
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.step_events import NOWHERE, hand, touch_of
from dmaverify.prove.flow.order.hazards import StepJudge
from dmaverify.prove.flow.order.pipe_state import Encounter
from dmaverify.prove.meet import Walk, apart, equation, found_meeting, side_of
from dmaverify.prove.move.overlap import Early, Streams, written_early
from dmaverify.prove.smt import Query, Session, linear
from dmaverify.targets.modules import Derived
from dmaverify.values import dataclass, replace

RLIMIT = 4_000_000
MOST_LOOSE = 200  # descriptors in memory that are held against every launch
PORTS = ("early", "reread", "rewritten")
"""How a launch meets an earlier one, as rules call it."""
OF_KIND = dict(zip(("raw", "war", "waw"), PORTS, strict=True))
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


def _shares(descriptor: Descriptor, width: int) -> bool:
    """Whether the ranges of both sides have memory in common."""
    request = descriptor.request
    if not descriptor.bytes or {request.src_protocol, request.dst_protocol} & NO_ADDRESS:
        return False
    read, write = extent(descriptor, "read", width), extent(descriptor, "write", width)
    return write.low < read.end and read.low < write.end


def itself(descriptor: Descriptor, setup: Setup, place: str = "") -> OrderInstances:
    """Whether a descriptor writes some byte of its source before it reads it."""
    width = setup.backend.address_width
    if not _shares(descriptor, width):
        return OrderInstances()
    parted = scattered(descriptor, setup, place)
    if parted.facts or parted.open:
        return parted
    streams = Streams(setup.backend.word, windows_of(replace(setup, request=descriptor.request)))
    early = written_early([command_of(descriptor, width)], Session(RLIMIT), [streams])
    if early == "unknown":
        return OrderInstances((), "whether a byte is written before it is read depends on where bus words begin")
    if not isinstance(early, Early):
        return OrderInstances()
    inside = early.write[1][:-1] == early.read[1][:-1]
    facts = (Derived("order", {"early": early.address}, place),)
    return OrderInstances(facts, mild=frozenset() if inside else frozenset({"idma/overlap"}))


def rows_twice(descriptor: Descriptor, setup: Setup, place: str = "") -> OrderInstances:
    """Whether two rows of a descriptor write one byte; of both, the later one stays."""
    if descriptor.request.dst_protocol in NO_ADDRESS:
        return OrderInstances()
    base, length, session = descriptor.request.dst, descriptor.request.length, Session(RLIMIT)
    steps = [(f"i{k}", d.reps, d.dst_stride) for k, d in enumerate(placed(descriptor, setup.backend.address_width))]
    for k, (outer, reps, stride) in enumerate(steps):
        if reps < 2:
            continue
        inner = [one for one in steps[:k] if one[1] > 1]
        variables = ((outer, 1, reps), *((n, 1 - many, many) for n, many, _ in inner), ("gap", 1 - length, length))
        parts = [(stride, outer), *((step, name) for name, _, step in inner), (-1, "gap")]
        sizes = [(part, low, end - 1) for (part, _), (_, low, end) in zip(parts, variables, strict=True)]
        if apart(equation(sizes, 0)):
            continue
        answer = session.ask(Query(variables, (f"(= {linear(0, parts)} 0)",)), "idma/rows-twice")
        if answer.status == "unknown":
            return OrderInstances((), "whether two rows write one byte was not decided")
        if answer.status == "sat":
            at = {name: answer.model.get(name, 0) for name, *_ in (*inner, steps[k])}
            first = base + sum(step * max(0, -at[name]) for name, _, step in (*inner, steps[k]))
            return OrderInstances((Derived("rows", {"twice": first + max(0, answer.model["gap"])}, place),))
    return OrderInstances()


def moved_within(src: int, dst: int, length: int, dims: Sequence[Dim]) -> int:
    """Most bytes that one 1D transfer both reads and writes, at different places of it; 0 if there are none. `dims`
    have strides per index. Not decided counts as a byte.
    """
    steps = [(f"i{k}", d.reps, d.dst_stride - d.src_stride) for k, d in enumerate(dims) if d.reps > 1]
    steps = [one for one in steps if one[2]]
    nearest = length
    for sign in (1, -1):
        parts = [*((step, name) for name, _, step in steps), (-sign, "gap")]
        variables = (*((name, 0, reps) for name, reps, _ in steps), ("gap", 1, nearest))
        if nearest < 2 or apart(
            equation([(k, a, b - 1) for (k, _), (_, a, b) in zip(parts, variables, strict=True)], src - dst)
        ):
            continue
        session = Session(RLIMIT)
        query = Query(variables, (f"(= {linear(dst - src, parts)} 0)",))
        answer = session.ask(query, "idma/in-place")
        if answer.status == "unknown":
            return max(1, length - nearest)
        if answer.status == "sat":
            nearest = session.smallest(query, ["gap"], answer).model["gap"]
    return length - nearest


def windows_of(setup: Setup) -> tuple[int, ...] | None:
    """The windows of both sides where reads and writes are cut together; none where each side is cut between words
    (each word is then read once). None where words are cut, or it is not known where.
    """
    request, backend = setup.request, setup.backend
    if TILELINK in (request.src_protocol, request.dst_protocol) or setup.region is not None or request.compute:
        return None
    if not backend.legalizer or not is_coupled(request):
        return ()
    sides = (request.src_reduce_len, request.src_max_llen), (request.dst_reduce_len, request.dst_max_llen)
    return tuple(1 << window_bits(backend, AXI, bool(reduced), int(most)) for reduced, most in sides)


def scattered(descriptor: Descriptor, setup: Setup, place: str = "") -> OrderInstances:
    """Whether one back-end writes what another one reads of the same descriptor: nothing orders back-ends.

    Looked at piece by piece, up to `MOST_PIECES`; more are open where the sides share memory at all.
    """
    width = setup.backend.address_width
    if setup.region is None or setup.backends < 2 or not _shares(descriptor, width):
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


def meetings(image: Image, setups: Sequence[Setup]) -> list[OrderInstances]:
    """Of every launch, whether it meets an earlier one that nobody has waited for. Of descriptors that are launched at
    some time or other (channels below 0) no wait is taken to speak.
    """
    found = _unwaited(image, setups)
    if image.loose:
        loose = frozenset(number for number, one in enumerate(image.told) if one.channel < 0)
        if len(loose) > MOST_LOOSE:
            hit: tuple[int, str, int | None] = (min(loose), PORTS[0], None)
            more = {number: [hit] for number in range(len(image.told)) if number != min(loose)}
        else:
            more = _unwaited(replace(image, waits=(), partly=(), until=()), setups, loose)
        for number, own in more.items():
            found.setdefault(number, []).extend(own)
    return [_instances(image, setups[n], n, found.get(n, ())) for n in range(len(image.told))]


def meets_from(image: Image, setups: Sequence[Setup], first: int) -> bool:
    """Whether some launch from `first` on meets one before it, or may, while nothing orders the two."""
    found = _unwaited(image, setups, frozenset(range(first)))
    return any(number >= first and hits for number, hits in found.items())


def unordered(image: Image, setups: Sequence[Setup]) -> list[tuple[int, int, str]] | None:
    """Launches (earlier, later, kind of hazard) that nothing orders, whatever bytes they touch; None where the order
    could not be followed.
    """
    told: list[tuple[Image, frozenset[int] | None]] = [(image, None)]
    loose = frozenset(number for number, one in enumerate(image.told) if one.channel < 0)
    if loose:  # no wait is taken to speak of them
        told.append((replace(image, waits=(), partly=(), until=()), loose))
    out: dict[tuple[int, int, str], None] = {}
    for own, about in told:
        events = tuple(_events(own, setups, None))
        judge = StepJudge(Asker(World(), 1), _pipes_of(events), most_steps=len(events))
        judge.judge(events)
        if judge.why or judge.open_:
            return None
        for hit in judge.met.values():
            if about is None or about.intersection(hit.steps):
                out[hit.steps[0], hit.steps[1], hit.kind] = None
    return sorted(out, key=lambda pair: (pair[1], pair[0], pair[2] != "raw", pair[2]))


def _instances(image: Image, setup: Setup, number: int, hits: Sequence[tuple[int, str, int | None]]) -> OrderInstances:
    if not hits:
        return OrderInstances()
    n, port, address = min(hits, key=lambda hit: (hit[0], PORTS.index(hit[1])))
    channels = image.told[n].channel, image.told[number].channel
    pieces_apart = port != "early" and setup.backends > 1 and setup.region is not None and channels[0] == channels[1]
    if address is None or pieces_apart:
        return OrderInstances((), f"whether it meets what launch {n} still does was not decided")
    if min(channels) < 0:
        return OrderInstances((), f"it meets launch {n}, and when a descriptor in memory is launched is not read")
    values = {**dict.fromkeys(PORTS, -1), port: address}
    return OrderInstances((Derived("after", values, f"behind launch {n}"),))


def _unwaited(
    image: Image, setups: Sequence[Setup], about: frozenset[int] | None = None
) -> dict[int, list[tuple[int, str, int | None]]]:
    """Per launch, the earlier ones that it meets while nothing orders them: which, how (a port), and where (None: that
    is not known). One of the two is one of those that are asked `about`.
    """
    walks: dict[int, Walk] = {}
    world = World()
    events = tuple(_events(image, setups, walks))
    judge = LaunchJudge(Asker(world, RLIMIT), _pipes_of(events), most_steps=len(events), about=about)
    judge.judge(events)
    out: dict[int, list[tuple[int, str, int | None]]] = {}
    for hits, met in ((judge.met, True), (judge.open_, False)):
        for hit in hits.values():
            walk, other = (walks[number] for number, _ in hit.sides)
            at = found_meeting(walk, other, judge.asker.session) if met else None
            own = (hit.steps[0], OF_KIND[hit.kind], None if at is None else at.address)
            out.setdefault(hit.steps[1], []).append(own)
    if judge.why:  # what is not followed to its end leaves every launch behind the first open
        for number in range(1, len(image.told)):
            out.setdefault(number, []).append((number - 1, PORTS[0], None))
    return out


@dataclass
class LaunchJudge(StepJudge):
    """Puts down the first launch that a later one meets in each way; one of the two is one that is asked `about`."""

    about: frozenset[int] | None = None

    def _told(self, both: Encounter) -> bool:
        asked = self.about is None or self.about.intersection(both.steps)
        return not asked or super()._told(both)

    def _key(self, both: Encounter) -> object:
        return both.kind, both.steps[1]


def _pipes_of(events: Sequence[Event]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(event.pipe for event in events if isinstance(event, Use)))


def _events(image: Image, setups: Sequence[Setup], walks: dict[int, Walk] | None) -> Iterator[Event]:
    """The launches of an image as events: what a channel reads and what each of its ports writes are pipes, and the
    software that launches and waits is one more. Without `walks`, all launches touch one byte.
    """
    numbers = count(1)
    lanes: dict[int, dict[str, None]] = {}
    waited: dict[tuple[str, int], int] = {}  # flags (pipe, launch) by the launch in front of which they are waited for
    first = {launch: before for before, launch in reversed(image.until)}
    partly: dict[int, list[int]] = {}
    for before, channel in image.partly:
        partly.setdefault(before, []).append(channel)
    for number, (told, setup) in enumerate(zip(image.told, setups, strict=True)):
        if number in image.waits:
            yield Fence("ALL", NOWHERE)
        for channel in partly.get(number, ()):
            for pipe in lanes.get(channel, ()):
                yield from hand(pipe, "software")
        for flag in [flag for flag, before in waited.items() if before == number]:
            yield Signal("wait", flag[0], "software", Lin(flag[1] + 1), NOWHERE)
        if walks is not None and not told.descriptor.bytes:
            continue
        request = told.descriptor.request
        lane = f"launch {number}" if setup.unordered else f"channel {told.channel}"
        pipes = (f"{lane}, reads", f"{lane}, writes {request.dst_protocol}")
        yield from hand("software", pipes[0])
        command = None if walks is None else command_of(told.descriptor, setup.backend.address_width)
        for pipe, protocol in zip(pipes, (request.src_protocol, request.dst_protocol), strict=True):
            writes = pipe == pipes[1]
            if writes:
                yield from hand(pipes[0], pipe)
            lanes.setdefault(told.channel, {})[pipe] = None
            if protocol not in NO_ADDRESS:
                access, walk = next(numbers), Walk(0, ()) if command is None else side_of(command, writes=writes)
                if walks is not None:
                    walks[access] = walk
                touch = touch_of(Place("mem", "", Lin(walk.base)), walk.loops, writes=writes)
                yield Use(access, pipe, (touch,), told.span or NOWHERE, f"launch {number}", step=number)
        for pipe in () if number not in first else pipes if setup.unordered else lanes[told.channel]:
            waited[pipe, number] = first[number]
            yield Signal("set", pipe, "software", Lin(number + 1), NOWHERE)


def beside(image: Image, setup: Setup) -> list[Derived]:
    """The instances of scope `after` of an image that is one move: launches that nothing orders."""
    channels = {one.channel for one in image.told}
    if not image.ordered or (len(channels) < 2 and not setup.unordered):
        return []
    found = meetings(image, [setup] * len(image.told))
    undecided = next((number for number, one in enumerate(found) if one.open), None)
    if undecided is not None:
        raise InputError(
            f"launch {undecided}: {found[undecided].open}", image.told[undecided].span,
            "wait before it, or give it memory of its own",
        )  # fmt: skip
    return [fact for one in found for fact in one.facts]
