"""Fetch and Commit accesses as moves between one slice's memory and a stream of packets, and as commands.

Knows: the stream as a dense memory of its own, what of an access lies in one slice, the facts that rules ask for.
Does not know: rules, machines, solvers, how a plan is read.
Law: every slice runs the same program on its own memory, so one slice is judged for all. The stream side steps by the
volume inside each entry: position p of the stream is the mixed-radix counter of the entries.

Source: "Sequencer", Interface and Configuration; docs/machines/rngd.md 4.1 to 4.3; the plan file format (Fetch and
Commit accesses).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dmaverify.errors import InputError
from dmaverify.language.expr import ONE, Expr, axes_of, pair
from dmaverify.language.numbers import gcd, least, most, step_gcd
from dmaverify.language.served import TooManyCells, walked_again
from dmaverify.layout.addresses import BYTE
from dmaverify.layout.digits import Digit, Gap, NotDigits, compile_digits
from dmaverify.lower.derive import Fragment, command_of, derive
from dmaverify.lower.pairing import PortRule, Trouble
from dmaverify.lower.pairing import pair as pair_up
from dmaverify.program.access import Access
from dmaverify.program.command import Command, Entry, GivenCommand, Sequencer, coalesce
from dmaverify.program.move import Stream
from dmaverify.program.space import Space, divisor_bytes, unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.values import replace

STREAM = "stream"
LOCAL = PortRule((), {})  # an address of one slice, or of the stream, has no leading parts
COMMIT_BYTES = (8, 16, 24, 32)  # packets of a Commit
SUB_ACCESS_BYTES = 8  # the sub-context moves 8 bytes at once (docs/machines/rngd.md 4.3)


def is_fetch(access: Access) -> bool:
    """Whether the access reads memory (Fetch) rather than writes it (Commit)."""
    return access.engine == "fetch"


def as_move(access: Access) -> tuple[Tensor, Tensor]:
    """Source and destination: memory to stream for a Fetch, stream to memory for a Commit.

    The stream is a tensor of tier "stream" at base 0, its time and packet dense. The memory keeps its chip, cluster and
    slice mappings, as the plan says them; what one slice moves, and is judged by, is `slice_move`.
    """
    stream = Tensor(STREAM, pair(access.stream.time, access.stream.packet), span=access.stream.span)
    return (access.memory, stream) if is_fetch(access) else (stream, access.memory)


def slice_move(access: Access) -> tuple[Tensor, Tensor]:
    """`as_move` for one slice: the memory is its element mapping alone, at place 0, for every slice does the same."""
    source, dest = as_move(access)
    local = Tensor(
        access.memory.tier, access.memory.element, base=access.memory.base, span=access.memory.span,
        base_span=access.memory.base_span,
    )  # fmt: skip
    return (local, dest) if is_fetch(access) else (source, local)


# ---------------------------------------------------------------- what an access cannot say


def leaves_slice(access: Access) -> Trouble | None:
    """A stream that walks what chips, clusters or slices of the memory hold: no slice reaches another's memory."""
    memory = access.memory
    for place in PLACES[:-1]:
        named: Expr = getattr(access.stream, place)
        if named != ONE and named != memory.field(place):
            return Trouble(
                f"the {place} of the stream is `{named}`, of the memory `{memory.field(place)}`: an access stays in it",
                named.span or access.stream.span, f"leave `{place}` out of the stream, or make the two equal",
            )  # fmt: skip
        found = _shared(memory.field(place), pair(access.stream.time, access.stream.packet))
        if found is not None:
            return Trouble(
                f"the stream walks indices of {found} that lie over {place}s of the memory (`{memory.field(place)}`): "
                f"an access stays within its {place}",
                access.stream.span, "walk only the part of the axis that the element mapping holds", found,
            )  # fmt: skip
    return None


def _shared(place: Expr, stream: Expr) -> str | None:
    """An axis of which both hold some of the same values. Raises InputError where they are too many to be told."""
    try:
        held, walked = compile_digits(place).digits, compile_digits(stream).digits
    except NotDigits:
        common = sorted(axes_of(place).keys() & axes_of(stream).keys())
        try:
            return " and ".join(common) if common and walked_again(place, stream, common) else None
        except TooManyCells:
            said = f"whether the stream walks what lies over `{place}` is not known: too many places to be counted"
            raise InputError(said, stream.span or place.span, "name each axis in terms of its own") from None
    return next((str(a.axis) for a in held for b in walked if a.axis is not None and _overlap(a, b)), None)


def _overlap(a: Digit, b: Digit) -> bool:
    if a.axis != b.axis:
        return False
    # padding reaches no values, so a digit ends where its live values do
    ends = [d.weight * d.live for d in (a, b)]
    return a.live > 1 and b.live > 1 and a.weight < ends[1] and b.weight < ends[0]


# ---------------------------------------------------------------- commands


def derived_access(access: Access, space: Space, dtype_bits: int) -> Command | Trouble:
    """The command of the access's stream, or why there is none. Addresses are those of one slice."""
    problem = leaves_slice(access)
    if problem is not None:
        return problem
    stream = Stream(access.stream.time, access.stream.packet, span=access.stream.span)
    memory = next(t for t in slice_move(access) if t.tier != STREAM)
    # both sides are the memory: the stream side needs no layout, it is dense by construction
    found = derive(memory, memory, (space, space), dtype_bits, stream)
    if isinstance(found, Trouble):
        return found
    fetch = is_fetch(access)
    width = dtype_bits // unit_bits_of(dtype_bits)
    fragments: list[Fragment] = []
    inside = width
    for fragment in reversed(found.fragments):
        step = fragment.read if fetch else fragment.write
        fragments.append(replace(fragment, read=step if fetch else inside, write=inside if fetch else step))
        inside *= fragment.count
    if inside != access.stream.time.size * access.stream.packet.size * width:
        return Trouble("the entries do not count the stream: a term is no box of loops", access.stream.span)
    near, far = found.commands[0].read, replace(found.commands[0].read, tier=STREAM, base=0)
    ports = (near, far) if fetch else (far, near)
    packet = access.stream.packet.size * width
    return command_of(fragments[::-1], *ports, packet, dtype_bits, None)


def given_access(access: Access, dtype_bits: int) -> Command | list[Trouble]:
    """The command of the printed configuration, the stream side dense with the same counts, or what makes no sense.

    A printed base of the memory is an address within the slice; one with a place, as `DM/D@(0, 1, 64)`, is refused. The
    printed packet is kept as it is: whether it fits the stream's is for rules to say. Raises ValueError where there is
    no configuration.
    """
    config = access.config
    if config is None:
        raise ValueError(f"access {access.name} has no configuration")
    problems = _misfits(access, config, dtype_bits)
    if problems:
        return problems
    other = _dense(config)
    given = GivenCommand(None, *((config, other) if is_fetch(access) else (other, config)), config.span)
    return pair_up(given, *slice_move(access), (LOCAL, LOCAL), unit_bits_of(dtype_bits))


def _misfits(access: Access, config: Sequencer, dtype_bits: int) -> list[Trouble]:
    width = dtype_bits // unit_bits_of(dtype_bits)
    wanted = access.stream.time.size * access.stream.packet.size * width
    out = []
    if config.place:
        out.append(
            Trouble(
                "the base names a place, but every slice runs the same access on its own memory",
                config.base_span or config.medium_span or config.span,
                "write the byte address within the slice alone",
            )
        )  # fmt: skip
    if all(entry.count >= 1 for entry in config.entries) and config.amount != wanted:
        word = "reads" if is_fetch(access) else "writes"
        packets = f"{access.stream.time.size} * {access.stream.packet.size}"
        out.append(
            Trouble(
                f"the configuration {word} {config.amount // width} elements, the stream has {packets}",
                config.span, "the counts of the entries multiply to the elements of the stream",
                other=access.stream.span, other_text="the stream",
            )
        )  # fmt: skip
    problem = leaves_slice(access)
    return out if problem is None else [*out, problem]


def _dense(config: Sequencer) -> Sequencer:
    """The stream's side: the counts of the configuration with row-major strides."""
    entries: list[Entry] = []
    inside = 1
    for entry in reversed(config.entries):
        entries.append(Entry(entry.count, inside, entry.label))
        inside *= entry.count
    return Sequencer(tuple(entries[::-1]), config.packet, STREAM, 0)


# ---------------------------------------------------------------- facts


def memory_text(command: Command, access: Access) -> Sequencer:
    """The sequencer of the memory side, as printed or as derived."""
    text = command.read_text if is_fetch(access) else command.write_text
    assert text is not None, "a command of an access carries its texts"
    return text


def packet_units(command: Command, access: Access, dtype_bits: int) -> int:
    """Units of a packet: the stream's, or the printed one where merging made it a multiple of that.

    Source: "Sequencer", Merging Entries (the packet grows from 8 to 16). A printed packet below the stream's is an
    access, no packet.
    """
    own = access.stream.packet.size * dtype_bits // command.unit_bits
    return command.packet if command.packet % own == 0 else own


def descriptors(entries: Sequence[tuple[int, int]], packet: int) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Time and packet entries, (count, stride), each merged within itself and never across (docs/machines/rngd.md 4.2).

    An entry that holds the boundary is cut there; one that the boundary does not divide counts as time.
    """
    time: list[tuple[int, ...]] = []
    inner: list[tuple[int, ...]] = []
    inside = 1
    for count, stride in reversed(entries):
        left = packet // inside if packet % inside == 0 else 1
        if count <= left and left % count == 0:
            inner.append((count, stride))
        elif left > 1 and count % left == 0:
            inner.append((left, stride))
            time.append((count // left, stride * left))
        else:
            time.append((count, stride))
        inside *= count
    return coalesce(time[::-1]), coalesce(inner[::-1])


def _entries(command: Command, access: Access) -> tuple[tuple[int, int], ...]:
    return tuple((e.count, e.stride) for e in memory_text(command, access).entries)


def access_bytes(command: Command, access: Access, dtype_bits: int) -> int:
    """Bytes of one memory access; 0 where none fits.

    `gcd(packet, contiguous run)`, its largest divisor of 1 to 32 bytes. The sub-context moves 8 bytes, or nothing fits.
    A Commit writes `gcd(access, live part of the packet)` (docs/machines/rngd.md 4.3; that the live part is the prefix
    of the packet before its padding is inferred).
    """
    from dmaverify.lower.tables import access_bytes_of

    packet = packet_units(command, access, dtype_bits)
    widest = gcd(packet, _run(_entries(command, access), dtype_bits // command.unit_bits)) * command.unit_bits
    if not is_fetch(access):
        widest = gcd(widest, live_prefix(access.stream.packet) * dtype_bits)
    if access.context == "sub":
        return SUB_ACCESS_BYTES if widest % (8 * SUB_ACCESS_BYTES) == 0 else 0
    return access_bytes_of(widest)


def bank_bytes(command: Command, access: Access, dtype_bits: int) -> int:
    """Bytes that the banks see at once; 0 where nothing fits.

    A Commit of the main context writes a packet in one go where its memory is contiguous, also one of 24 bytes
    (docs/machines/rngd.md 4.3); everything else goes access by access.
    """
    packet = packet_units(command, access, dtype_bits)
    whole = packet * command.unit_bits // 8
    alone = not is_fetch(access) and access.context == "main" and runs_per_packet(command, access, dtype_bits) == 1
    if alone and whole in COMMIT_BYTES and live_prefix(access.stream.packet) == access.stream.packet.size:
        return whole
    return access_bytes(command, access, dtype_bits)


def runs_per_packet(command: Command, access: Access, dtype_bits: int) -> int:
    """Contiguous runs of memory that a packet lies in; 1 where all of it follows itself."""
    packet = packet_units(command, access, dtype_bits)
    run = _run(_entries(command, access), dtype_bits // command.unit_bits)
    return packet // (gcd(packet, run) or 1)


def _run(entries: Sequence[tuple[int, int]], width: int) -> int:
    """Units of the contiguous run; an element that repeats (stride 0 just above its bytes) repeats as a whole."""
    from dmaverify.lower.tables import contiguous_run

    moving = [entry for entry in entries if entry[0] != 1]
    if width > 1 and len(moving) > 1 and moving[-1] == (width, 1) and moving[-2][1] == 0:
        return contiguous_run(moving[:-1]) * width
    return contiguous_run(moving)


def live_prefix(packet: Expr) -> int:
    """Positions of a packet before its first padding."""
    try:
        form = compile_digits(packet)
    except NotDigits:
        return packet.size
    prefix = packet.size
    for guard in form.guards:
        if guard.kind is Gap.VOID or not guard.terms:
            continue
        steps = [(form.digits[i].step, k) for i, k in guard.terms]
        if len(steps) == 1:
            step, k = steps[0]
            prefix = min(prefix, max(0, step * -(-(guard.bound - guard.constant) // k)))
        elif all(step * steps[0][1] == k * steps[0][0] for step, k in steps):  # in order of positions
            prefix = min(prefix, max(0, -(-(guard.bound - guard.constant) * steps[0][0] // steps[0][1])))
    return prefix


def access_facts(
    command: Command,
    access: Access,
    dtype_bits: int,
    only: Collection[str] | None = None,
    *,
    sliced: bool = True,
) -> dict[str, int]:
    """The ports of scope "access": entries merged within time and within packet, never across."""
    packet = packet_units(command, access, dtype_bits)
    time, inner = descriptors(_entries(command, access), packet)
    return {
        "base_bytes": (command.read if is_fetch(access) else command.write).base * command.unit_bits // 8,
        "access_bytes": access_bytes(command, access, dtype_bits) if only is None or "access_bytes" in only else 1,
        "packet_bytes": packet * command.unit_bits // 8,
        "stride_gcd": divisor_bytes(step_gcd(0, [(stride, 2) for _, stride in time]) * command.unit_bits),
        "entries": max(1, len(time) + len(inner)),
        "iterations": most([1, *(count for count, _ in (*time, *inner))]),
        "time_size": command.amount // packet,
        "runs_per_packet": (
            runs_per_packet(command, access, dtype_bits) if only is None or "runs_per_packet" in only else 1
        ),
        "sub_context": int(access.context == "sub"),
        "sliced": int(sliced),
    }


def memory_facts(
    command: Command, access: Access, limits: Mapping[str, int], dtype_bits: int, only: Collection[str] | None = None
) -> dict[str, int]:
    """The ports of scope "sequencer" for the memory side, counted in elements where the entries allow it.

    Entries and iterations are as written where that fits the limits `access_entries_max` and `access_iterations_max`,
    else merged within time and within packet.
    """
    text = memory_text(command, access)
    width = dtype_bits // command.unit_bits
    entries, packet, scale = _in_elements(text, width)
    count, stride = entries[-1]
    run = count if stride in (0, 1) else 1
    bits = command.unit_bits * scale
    time, inner = descriptors(_entries(command, access), packet_units(command, access, dtype_bits))
    written = [entry[0] for entry in entries[:-1]] + [-(-count // (packet or 1))]
    number, iterations = len(entries), most(written)
    counted = only is None or "entries" in only or "iterations" in only
    over = counted and "access_iterations_max" in limits and iterations > limits["access_iterations_max"]
    if counted and (over or number > limits.get("access_entries_max", number)):
        number, iterations = len(time) + len(inner), most([1, *(entry[0] for entry in (*time, *inner))])
    return {
        "entries": max(1, number),
        "iterations": most([1, iterations]),
        "inner_count": count,
        "inner_stride": stride,
        "packet_units": packet,
        "packet_bytes": text.packet * command.unit_bits // 8,
        "packet_run_bytes": run * bits // 8,
        "stride_gcd": divisor_bytes(step_gcd(0, [(step, 2) for _, step in time]) * command.unit_bits),
        "stride_low": least(step * bits // 8 for _, step in entries),
        "stride_high": most(step * bits // 8 for _, step in entries),
    }


def _in_elements(text: Sequencer, width: int) -> tuple[list[tuple[int, int]], int, int]:
    """Entries and packet in elements and the units of an element; in units (1) where they are no whole elements."""
    entries = [(e.count, e.stride) for e in text.entries] or [(1, 1)]
    if width == 1:
        return entries, text.packet, 1
    last, (count, stride) = text.entries[-1] if text.entries else None, entries[-1]
    outer = entries[:-1]
    whole = text.packet % width == 0 and all(step % width == 0 for _, step in outer)
    if not whole or stride != 1 or count % width:
        return entries, text.packet, 1
    moved = [(n, step // width) for n, step in outer]
    if count > width or not moved or last is None or last.label not in ("", BYTE):
        moved.append((count // width, 1))
    return moved, text.packet // width, width
