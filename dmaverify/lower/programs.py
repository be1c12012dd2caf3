"""Programs of a transfer: the one derived from its stream, the one printed beside it, and whether both do the same.

Knows: derivation, pairing, comparing two programs.
Does not know: machines' rules, how a program is judged against the move.
Law: two programs are the same when they copy the same units; order of loops and commands is no difference. Equal
normal nests are the same; otherwise small programs are compared unit by unit, and a pair of programs of which one
keeps the promise and the other does not is different.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.errors import Span
from dmaverify.lower.adapters import STREAM
from dmaverify.lower.derive import derive
from dmaverify.lower.pairing import PortRule, Trouble, pair
from dmaverify.program.command import Command, Engine, GivenCommand, Sequencer, coalesce
from dmaverify.program.move import Stream, Transfer
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.targets.target import Target
from dmaverify.values import replace

COMPARE_UNITS = 1 << 20


def space_of(target: Target, tier: str) -> Space:
    if tier == STREAM:
        return Space(STREAM, ("element",))
    found = target.tiers[tier]
    strides = tuple((name, step) for name, step in found.strides.items() if name not in ("chip", "cluster"))
    places = tuple(p for p in found.places if p != "element")
    return Space(tier, (*places, "element"), strides, found.counts.get("slice", "slice"))


def port_rule(target: Target, tier: str, unit_bits: int) -> PortRule:
    found = target.tiers[tier]
    return PortRule(tuple(found.base_parts), {n: s * 8 // unit_bits for n, s in found.part_strides.items()})


def derived_program(
    source: Tensor,
    dest: Tensor,
    stream: Stream,
    dtype_bits: int,
    target: Target,
    engine_of: Sequence[GivenCommand] = (),
    engine: Engine | None = None,
) -> tuple[Command, ...] | Trouble:
    """The commands of a stream; their engine is the one named beside it, else that of the one printed command."""
    engine = engine or (engine_of[0].engine if len(engine_of) == 1 else None)
    spaces = (space_of(target, source.tier), space_of(target, dest.tier))
    found = derive(source, dest, spaces, dtype_bits, stream, engine)
    return found if isinstance(found, Trouble) else found.commands


def program_of_transfer(
    transfer: Transfer, dtype_bits: int, target: Target
) -> tuple[Command, ...] | list[Trouble] | None:
    """The commands that a plan means: the printed ones, else those of its stream or streams; None where it has
    neither.
    """
    if transfer.given:
        return given_program(transfer.given, transfer.source, transfer.dest, dtype_bits, target)
    found = streamed_program(transfer, dtype_bits, target)
    return [found] if isinstance(found, Trouble) else found


def streamed_program(transfer: Transfer, dtype_bits: int, target: Target) -> tuple[Command, ...] | Trouble | None:
    """The commands of the stream, or of the stream of each engine; None where there is none."""
    if transfer.stream is not None:
        return derived_program(
            transfer.source, transfer.dest, transfer.stream, dtype_bits, target, transfer.given, transfer.engine
        )
    if not transfer.streams:
        return None
    commands: list[Command] = []
    for one in transfer.streams:
        found = derived_program(transfer.source, transfer.dest, one.stream, dtype_bits, target)
        if isinstance(found, Trouble):
            return replace(found, message=f"engine {one.engine}: {found.message}")
        commands += [replace(command, engine=one.engine) for command in found]
    return tuple(commands)


def given_program(
    given: Sequence[GivenCommand], source: Tensor, dest: Tensor, dtype_bits: int, target: Target
) -> tuple[Command, ...] | list[Trouble]:
    unit_bits = unit_bits_of(dtype_bits)
    rules = (port_rule(target, source.tier, unit_bits), port_rule(target, dest.tier, unit_bits))
    commands: list[Command] = []
    troubles: list[Trouble] = []
    for index, one in enumerate(given):
        found = pair(one, source, dest, rules, unit_bits)
        if isinstance(found, Command):
            commands.append(found)
            continue
        word = f"command {index}: " if len(given) > 1 else ""
        troubles.extend(replace(one, message=word + one.message) for one in found)
    return troubles or tuple(commands)


# ---------------------------------------------------------------- comparing


def canonical(command: Command) -> tuple[object, ...]:
    """Bases and merged loops, ordered by stride: equal for nests that copy the same units, where writes do not
    collide.
    """
    loops = sorted(command.nest, key=lambda loop: (-abs(loop[2]), -abs(loop[1])))
    return (command.read, command.write, tuple(coalesce(loops)))


def same_nests(a: Sequence[Command], b: Sequence[Command]) -> bool:
    return sorted(map(repr, map(canonical, a))) == sorted(map(repr, map(canonical, b)))


WrongNumber = tuple[str, Span | None, int, int]
"""A number of a printed text that the stream would have otherwise: what, where, printed, wanted."""


def other_entries(side: str, text: Sequencer, ask: Sequencer) -> Iterator[WrongNumber]:
    """Counts and strides of a text, entry by entry; none of one with more or fewer entries."""
    if len(text.entries) != len(ask.entries):
        return
    for index, (one, other) in enumerate(zip(text.entries, ask.entries, strict=True)):
        name = f"{side} entry {index}" + (f" `{one.label}`" if one.label else "")
        if one.count != other.count:
            yield f"the count of {name}", one.count_span or one.span, one.count, other.count
        if one.stride != other.stride and other.count > 1:
            yield f"the stride of {name}", one.stride_span or one.span, one.stride, other.stride


def first_difference(given: Command, wanted: Command) -> WrongNumber | None:
    """The first number of the printed text that the stream would have otherwise."""
    for side in ("read", "write"):
        text = given.read_text if side == "read" else given.write_text
        ask = wanted.read_text if side == "read" else wanted.write_text
        if text is None or ask is None:
            continue
        for wrong in other_entries(side, text, ask):
            return wrong
        port = given.read if side == "read" else given.write
        asked = wanted.read if side == "read" else wanted.write
        if port.base != asked.base:
            return f"the {side} base", text.base_span or text.span, port.base, asked.base
    if given.packet != wanted.packet and given.read_text is not None:
        return "the packet", given.read_text.packet_span, given.packet, wanted.packet
    return None
