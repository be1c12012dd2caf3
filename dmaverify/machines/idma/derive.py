"""What the rules of iDMA's own scopes look at: each command as a descriptor.

Knows: dimensions, corners and words of a command on the engine that the options mean.
Does not know: rules, findings, plan files.
Law: ports are numbers of all 1D transfers of a command at once, worked out loop by loop, never transfer by transfer.

Source: `encodings/idma/target.toml`, scopes `descriptor` and `side`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from dmaverify.errors import InputError, Span
from dmaverify.machines.idma.built import SUFFIXES, built_options, is_built
from dmaverify.machines.idma.engine import AXI, INIT, NAMES, NO_ADDRESS, TILELINK, Request, bus_limits
from dmaverify.machines.idma.judge import own_bursts, starts_of
from dmaverify.machines.idma.legalizer import tilelink_page_bits
from dmaverify.machines.idma.nd import Descriptor, Dim, corners, relative
from dmaverify.machines.idma.order import beside, moved_within, scattered, windows_of
from dmaverify.machines.idma.released import ReleaseCase, release_facts
from dmaverify.machines.idma.setup import (
    OF_BURSTS,
    OF_ENGINE,
    SPECIFICATION,
    Setup,
    full_options,
    setup_of,
    setup_of_commands,
)
from dmaverify.machines.idma.text import Image, ToldDescriptor
from dmaverify.program.command import Command
from dmaverify.program.form import part_spans
from dmaverify.program.move import Transfer
from dmaverify.targets.modules import Derived, LaterPorts
from dmaverify.targets.target import Target
from dmaverify.values import fields, replace

REPS_MAX = (1 << 32) - 1
"""Largest number of repetitions of a register. Source: iDMA v0.7.0, register maps."""

NO_BYTES = frozenset({
    "backend", "request", "src", "dst", "length", "last", "each", "version_given",
    "variant", "data_width", "burst_len", "ax_in_flight", "buffer_depth", "system_depth", "reject_zero", "page_bytes",
    "tilelink_ul", "dims", "front_end", "memory", "memory_latency", "memory_outstanding", "nd_latency", "events",
    "fetch_width", "fetch_given", "chain_head", "head_given", "midends", "region", "backends", "channels",
    "channels_given", "channel", "arbitration", *OF_BURSTS,
})  # fmt: skip
"""Fields of an engine and its requests that change when and in which bursts bytes move, not which: a new one is none
of them until somebody says so. Whether launches keep their order is asked for itself.
"""


def _only_axi(request: Request) -> bool:
    return request.src_protocol == AXI == request.dst_protocol


def check_options(target: Target, options: Mapping[str, int | str]) -> None:
    """Raises InputError for options that mean no engine or no request."""
    setup_of(target, options)


def described_engine(word: str) -> Mapping[str, int | str]:
    """The options of an engine that a file of the generator describes. Raises InputError."""
    if not is_built(word):
        raise InputError(f"{word} is no file of iDMA's generator", None, f"jobs.json, or one that ends with {SUFFIXES}")
    return built_options(word)


def word_bytes(target: Target, options: Mapping[str, int | str]) -> int:
    """A bus word: the engine reads and writes in order, word by word, and holds no transfer as a whole."""
    return setup_of(target, options).backend.word


def address_space(target: Target, transfer: Transfer, *, reads: bool) -> int:
    """Bytes that addresses of the engine name; behind the last one it goes on at 0. None of a stream or a pattern."""
    setup = setup_of(target, transfer.options)
    protocol = setup.request.src_protocol if reads else setup.request.dst_protocol
    return 0 if protocol in NO_ADDRESS else setup.space


def burst_windows(target: Target, options: Mapping[str, int | str]) -> tuple[int, ...] | None:
    """As `windows_of`, of the engine that options mean."""
    return windows_of(setup_of(target, options))


def atom_bytes(target: Target, transfer: Transfer) -> int:
    return word_bytes(target, dict(transfer.options))


def queue_of(target: Target, transfer: Transfer) -> str | None:
    """The engine and channel that a transfer is launched on; None where an arbiter or several back-ends share it out.

    Options that mean another engine mean another queue.
    """
    setup = setup_of(target, transfer.options)
    if setup.unordered or setup.channel < 0:
        return None
    own, usual = full_options(target, dict(transfer.options)), full_options(target, {})
    said = [f"{name} {own[name]}" for name in OF_ENGINE if own.get(name) != usual.get(name)]
    said += [f"channel {setup.channel}"] if setup.channel else []
    return f"engine of {', '.join(said)}" if said else ""


def kept_memory(target: Target, transfer: Transfer) -> Iterator[tuple[str, str, int, int]]:
    """The descriptors of a chain: they are fetched when their turn comes, and marked behind it."""
    for scope, values, _, _ in transfer.facts:
        if scope == "chain":
            place = dict(values)["place"]
            yield "idma/desc-clobbered", "mem", place, place + target.limits["desc_bytes"]


def write_port(target: Target, transfer: Transfer) -> str:
    """The protocol that a transfer writes with."""
    return NAMES[setup_of(target, transfer.options).request.dst_protocol]


def what_decides(target: Target, transfer: Transfer, commands: Sequence[Command]) -> Mapping[str, object]:
    """All of the engine and of its requests that is not known to leave the bytes as they are; widths of fields only
    where a command does not fit into them. Of a side that is a stream the commands too: its bytes are handed out in
    their order, whatever address they name.
    """
    setup = setup_of(target, transfer.options)
    parts = (setup, setup.backend, setup.request)
    found: dict[str, object] = {x.name: getattr(part, x.name) for part in parts for x in fields(part)}
    found = {name: value for name, value in found.items() if name not in NO_BYTES}
    found |= {name: NAMES[getattr(setup.request, name)] for name in ("src_protocol", "dst_protocol")}
    found["launched in order"] = queue_of(target, transfer) is not None
    ends = [(end * c.unit_bits // 8) for c in commands for writes in (False, True) for end in c.reach(writes=writes)]
    if all(0 <= end < setup.space for end in ends) and all(length_of(c) <= setup.length_max for c in commands):
        found |= {"address_width": "wide enough", "length_width": "wide enough"}
    laid = all(c.read.base == c.write.base and all(x.read == x.write for x in c.loops) for c in commands)
    filled = setup.request.src_protocol == INIT and setup.pattern == "constant" and laid
    if {setup.request.src_protocol, setup.request.dst_protocol} & NO_ADDRESS and not filled:
        found["how a stream is cut"] = tuple(command.normal for command in commands)
    return found


def dims_of(command: Command) -> tuple[Dim, ...]:
    """The loops around the packet, innermost first, strides per index in bytes, neighbours merged.

    A packet that is not contiguous on both sides is the loop's own: then the length is the contiguous part.
    """
    unit = command.unit_bits
    out: list[Dim] = []
    for loop in reversed(command.loops):
        if loop.count == 1:
            continue
        src, dst = loop.read * unit // 8, loop.write * unit // 8
        if out and (src, dst) == (out[-1].reps * out[-1].src_stride, out[-1].reps * out[-1].dst_stride):
            out[-1] = Dim(out[-1].reps * loop.count, out[-1].src_stride, out[-1].dst_stride)
        else:
            out.append(Dim(loop.count, src, dst))
    return tuple(out)


def length_of(command: Command) -> int:
    """Bytes of a 1D transfer: the contiguous part of a packet."""
    return command.burst * command.unit_bits // 8


def descriptor_of(setup: Setup, command: Command) -> Descriptor:
    """The command as the engine is told: strides relative, addresses within the address space."""
    unit, space = command.unit_bits, setup.space
    src, dst = command.read.base * unit // 8, command.write.base * unit // 8
    return Descriptor(setup.at(src % space, dst % space, length_of(command)), relative(dims_of(command)))


def derived(transfer: Transfer, target: Target, commands: Sequence[Command]) -> list[Derived]:
    """The instances of scopes `descriptor` and `side` of a transfer."""
    setup = setup_of_commands(target, transfer)
    out: list[Derived] = []
    for number, command in enumerate(commands):
        place = f"command {number}" if len(commands) > 1 else "command"
        facts = _of_command(setup.own(number), transfer, target, command, place)
        words = transfer.form.commands[number] if transfer.form and number < len(transfer.form.commands) else ()
        spans = part_spans(words)
        out += [replace(fact, spans=_placed(fact, spans)) for fact in facts]
    told = [ToldDescriptor(descriptor_of(setup.own(n), command)) for n, command in enumerate(commands)]
    out += release_facts(target, [ReleaseCase(setup.own(n), one.descriptor) for n, one in enumerate(told)])
    for number, one in enumerate(told):
        parted = scattered(one.descriptor, setup, f"command {number}")
        if parted.open:
            raise InputError(f"command {number}: {parted.open}", None, "move it in parts, or through another buffer")
        out += parted.facts
    return out + ([] if transfer.form else beside(Image(tuple(told)), setup))


def _placed(fact: Derived, spans: Mapping[str, Span]) -> tuple[tuple[str, Span], ...]:
    """Which characters each port of a fact comes from, where the commands were told in a form."""
    own = "src" if fact.side == "read" else "dst"
    parts = {
        "length": ("length",), "dims": ("conf",), "reps_high": ("reps0", "reps1"), "on_error": ("conf",),
        "decoupled": ("rw_decoupled", "conf", "flags"), "computes": ("compute",), "inert_llen": ("conf",),
        "port": (f"{own}_protocol", "conf"), "memory": (f"{own}_protocol", "conf"), "low": (own,), "over": ("src",),
        "burst_type": ("flags",),
    }  # fmt: skip
    found = [(port, next((spans[name] for name in names if name in spans), None)) for port, names in parts.items()]
    return tuple((port, span) for port, span in found if span is not None and port in fact.values)


def _of_command(setup: Setup, transfer: Transfer, target: Target, command: Command, place: str) -> Iterator[Derived]:
    unit = command.unit_bits
    source = transfer.source
    tensor = (source.base, source.base + -(-source.element.size * target.dtypes[transfer.dtype] // 8))
    src, dst = command.read.base * unit // 8, command.write.base * unit // 8
    yield from descriptor_facts(setup, src, dst, length_of(command), dims_of(command), place, tensor=tensor)
    yield Derived("source", _source_of(setup, transfer), place)


def _source_of(setup: Setup, transfer: Transfer) -> dict[str, int]:
    """Whether the tier of the source is a pattern, and its protocol; and whether a constant pattern stands where it is
    written.
    """
    filled = transfer.source.tier == "init"
    made = setup.request.src_protocol == INIT and setup.pattern != "none"
    source, dest = transfer.source, transfer.dest
    laid = not made or setup.pattern != "constant" or (source.element == dest.element and source.base == dest.base)
    return {"tier_pattern": int(filled), "protocol_pattern": int(made), "laid": int(laid)}


def descriptor_facts(
    setup: Setup, src: int, dst: int, length: int, dims: Sequence[Dim], place: str, *,
    tensor: tuple[int, int] | None = None, promised: bool = True,
) -> Iterator[Derived]:  # fmt: skip
    """The instances of one descriptor with strides per index.

    `tensor` is the source's first byte and end, where there is one. Where no move is `promised`, a side may as well be
    a pattern or a stream.
    """
    request, backend, word = setup.request, setup.backend, setup.backend.word
    reps = [d.reps for d in dims]
    filled = request.src_protocol == INIT and setup.pattern != "none"
    streamed = {request.src_protocol, request.dst_protocol} & NO_ADDRESS
    strides = {"read": [d.src_stride for d in dims], "write": [d.dst_stride for d in dims]}
    ends = {
        "read": corners(src, reps, strides["read"], length),
        "write": corners(dst, reps, strides["write"], length),
    }
    inert = (request.src_max_llen and not request.src_reduce_len) or (
        request.dst_max_llen and not request.dst_reduce_len
    )
    values: dict[str, int | Callable[[], int]] = {
        "length": length,
        "length_max": setup.length_max,
        "dims": len([d for d in dims if d.reps > 1]),
        "dims_max": setup.outer,
        "reps_high": max(reps, default=1),
        "reps_max": REPS_MAX,
        "word": word,
        "over": lambda: _over(ends["read"], tensor or ends["read"], word),
        "torn": lambda: int(any(value % word != 0 for value in (src, *strides["read"], length))),  # a run within words
        "computes": int(request.compute and promised),
        "shared_out": int(setup.region is not None and setup.version != SPECIFICATION),
        "unshared": int(setup.region is None and bool({"mp_split", "mp_dist"} & set(setup.midends))),
        "on_error": setup.on_error,
        "handled": int(setup.error_handler and _only_axi(request) and not request.compute),
        "transfers": prod(reps),
        "decoupled": int(request.decouple_rw),
        "buffer": backend.buffer_depth * word,
        "inert_llen": int(bool(inert)),
        "shared": lambda: 0 if streamed else moved_within(src, dst, length, dims),
    }
    yield Derived("descriptor", LaterPorts(values), place)
    for side, protocol, have, burst in (
        ("read", request.src_protocol, backend.variant.reads, setup.src_burst),
        ("write", request.dst_protocol, backend.variant.writes, setup.dst_burst),
    ):
        own = {
            "addressed": int(protocol not in NO_ADDRESS),
            "low": ends[side][0],
            "end": ends[side][1],
            "space": setup.space,
            "port": int(protocol in have),
            "memory": int(protocol not in NO_ADDRESS or not promised or (side == "read" and filled)),
            "burst_type": burst,
        }
        yield Derived("side", own, f"{place}, {side} side" if place else f"{side} side", side)
    yield from _own_bursts(setup, {"read": src, "write": dst}, dims, length)


def _own_bursts(setup: Setup, bases: Mapping[str, int], dims: Sequence[Dim], length: int) -> Iterator[Derived]:
    """The bursts of sides that are not legal by proof (proofs/idma-page-*.smt2, proofs/idma-window-*.smt2): all without
    a legalizer, TileLink, and AXI that is built with larger pages; each side alone, so that no burst is shorter for the
    other's sake. Lists repeat with the address modulo two pages.
    """
    backend, most = setup.backend, bus_limits()["page_bytes"]
    for side, protocol in (("read", setup.request.src_protocol), ("write", setup.request.dst_protocol)):
        large = protocol == AXI and 1 << backend.page_bits > most
        if length < 1 or (backend.legalizer and protocol != TILELINK and not large):
            continue
        strides = [(d.reps, d.src_stride if side == "read" else d.dst_stride) for d in dims]
        page = 2 * max(most, backend.word, 1 << tilelink_page_bits(backend))
        at = replace(setup.at(0, 0, length), decouple_rw=large or setup.request.decouple_rw)
        yield from own_bursts(setup, at, side, sorted(starts_of(bases[side], strides, page)))


def _over(reached: tuple[int, int], tensor: tuple[int, int], word: int) -> int:
    """Bytes outside the tensor at both ends that whole words take with them."""
    low, end = reached
    head = min(tensor[0], low) - (low - low % word)
    tail = -(-end // word) * word - max(tensor[1], end)
    return max(0, head) + max(0, tail)
