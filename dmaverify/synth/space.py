"""One member of the space: a part of the move on an engine, in packets, its loops in an order, as a command.

Knows: boxes, places and engines of a chip, packets, merging of loops under the limit of iterations.
Does not know: how a move is shared out, what anything costs, rules of a machine by name, streams as text.
Law: a command copies exactly the units of its part: packets and order only rearrange the counters of the same nest.

Source: docs/design.md; "DMA Engine", DMA Command Syntax; "Sequencer", Merging Entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from dmaverify.language.numbers import largest_divisor
from dmaverify.lower.derive import Fragment, command_of
from dmaverify.program.command import Command, Engine, Port, Sequencer
from dmaverify.program.space import Space, port_at, unit_bits_of
from dmaverify.synth.atoms import Atom
from dmaverify.synth.packets import packets_of
from dmaverify.synth.regions import AtomNest
from dmaverify.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class SynthMachine:
    """What the space needs of a target: engines of a chip in order of use, packet limit, distances where a digit is
    cut.
    """

    engines: tuple[Engine, ...]
    packet_max: int
    cuts: tuple[int, ...]
    unit_bits: int
    dtype_bits: int
    spaces: tuple[Space, Space]
    tiers: tuple[str, str]
    iterations: int = 1 << 16
    window: int = 1 << 33
    """Units of a request at most."""
    apart: int = 0
    """Units from slice to slice, where slices that read one region are each served by one engine alone; 0: by any."""

    def packets(self, run: int) -> tuple[int, ...]:
        """The packets of a run that is contiguous on both sides."""
        width = self.dtype_bits // self.unit_bits
        return packets_of(run, self.unit_bits, self.packet_max, width, self.window)

    @property
    def per_chip(self) -> int:
        return len({(e.cluster, e.dmn) for e in self.engines})


@dataclass(frozen=True, slots=True)
class Work:
    """Part of a box on one engine."""

    engine: Engine
    box: AtomNest


@dataclass(frozen=True, slots=True)
class Nested:
    """A part with its packet: `loops` in the destination's order, `inside` the atoms of the packet, outer to inner."""

    work: Work
    packet: int
    loops: tuple[Atom, ...]
    inside: tuple[Atom, ...]


def nested(work: Work, packet: int, iterations: int = 1 << 16) -> Nested | None:
    """The loops around packets of `packet` units, none longer than `iterations` where its count has a divisor; None
    where a packet is no whole inner digits and a part of the next.
    """
    _, chain = work.box.chain
    inside: list[Atom] = []
    loops = [a for a in work.box.atoms if a.count > 1 and a not in chain]
    left, rest = packet, list(chain)
    while rest and left > 1:
        atom = rest.pop(0)
        if left % atom.count == 0:
            inside.append(atom)
            left //= atom.count
        elif atom.count % left == 0:
            high, low = atom.cut(left)
            inside.append(low)
            rest.insert(0, high)
            left = 1
        else:
            return None
    if left > 1:
        return None
    loops = [part for a in (*loops, *rest) if a.count > 1 for part in _within(a, iterations)]
    loops.sort(key=lambda a: (-abs(a.write), -abs(a.read)))
    return Nested(work, packet, tuple(loops), tuple(reversed(inside)))


def _within(atom: Atom, iterations: int) -> list[Atom]:
    """The loop, cut so that no part has more turns than a sequencer counts."""
    if atom.count <= iterations:
        return [atom]
    low = largest_divisor(atom.count, iterations)
    if low == 1:
        return [atom]
    high, inner = atom.cut(low)
    return [*_within(high, iterations), inner]


def command(item: Nested, order: Sequence[Atom], machine: SynthMachine) -> Command:
    """The command of one part with its loops in that order, neighbours that step as one merged (as far as a sequencer
    counts).
    """
    box = item.work.box
    read, write = (
        port_at(tier, base, space)
        for tier, base, space in zip(machine.tiers, (box.read, box.write), machine.spaces, strict=True)
    )
    first = _command(tuple(order), item.inside, item.packet, machine.iterations, machine.dtype_bits)
    assert first.read_text is not None
    assert first.write_text is not None
    return Command(
        read, write, first.loops, first.burst, first.packet, item.work.engine, first.unit_bits,
        Sequencer(first.read_text.entries, first.packet, read.tier, read.base),
        Sequencer(first.write_text.entries, first.packet, write.tier, write.base),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _command(
    order: tuple[Atom, ...], inside: tuple[Atom, ...], packet: int, iterations: int, dtype_bits: int
) -> Command:
    """The command at address 0: parts that differ by place and engine alone share it."""
    merged: list[Fragment] = []
    for one in reversed([_fragment(atom) for atom in order]):
        low = merged[-1] if merged else None
        joins = low is not None and low.count * one.count <= iterations and one.count > 1
        if joins and low is not None and _steps_on(one, low):
            label = _joined_label(one, low)
            merged[-1] = replace(low, count=low.count * one.count, label=label)
            continue
        merged.append(one)
    fragments = [*reversed(merged), *_packet(inside, packet, dtype_bits // unit_bits_of(dtype_bits))]
    return command_of(fragments, Port("", 0), Port("", 0), packet, dtype_bits, None)


def _steps_on(high: Fragment, low: Fragment) -> bool:
    return high.read == low.count * low.read and high.write == low.count * low.write


def _packet(inside: Sequence[Atom], packet: int, width: int) -> list[Fragment]:
    """The innermost entry: the packet's pieces as one run of elements."""
    if packet <= width:
        return []
    label = " x ".join(a.label for a in inside if a.label)
    return [Fragment(label, packet // width, width, width, 0, True)]


def _joined_label(high: Fragment, low: Fragment) -> str:
    """The label of two loops that are one: the piece of axis where it is one, else both names."""
    if high.axis == low.axis and high.axis is not None and high.weight == low.count * low.weight:
        return low.label.split("%")[0] + (f"%{low.count * high.count}" if "%" in high.label else "")
    return f"{high.label} x {low.label}"


def _fragment(atom: Atom) -> Fragment:
    return Fragment(atom.label, atom.count, atom.read, atom.write, 0, False, atom.axis, atom.weight)
