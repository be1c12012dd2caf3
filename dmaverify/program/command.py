"""Commands: loop nests with a read and a write stride per loop, and the printed sequencers they come from.

Knows: loops, ports, engines, sequencer text as data, how a read and a write sequencer pair up.
Does not know: mappings, tensors, machines, solvers.
Law: a command copies, for every counter in the box of its loops, the unit at `read.base + sum(c * loop.read)` to
`write.base + sum(c * loop.write)`, `burst` units in a row; loops are outer to inner, their order never changes *what*
is copied.

Numbers of addresses, strides, counts and bursts are in *units*: bytes, or half bytes where `unit_bits` is 4.
Source: "DMA Engine" (DMA Command Syntax, DMA Sequencer Internals), "Sequencer" (Configuration), docs/machines/rngd.md
1.6.

Relied on (proofs/): merge-keeps-addresses, merge-needs-contiguity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeVar

from dmaverify.errors import Span
from dmaverify.values import dataclass, field, replace

Level = TypeVar("Level")


@dataclass(frozen=True, slots=True)
class Engine:
    """Which engine does the work. `dmn` counts the engines of a cluster (0..3 on RNGD)."""

    chip: int = 0
    cluster: int = 0
    dmn: int = 0

    def __str__(self) -> str:
        return f"({self.chip}, {self.cluster}, {self.dmn})"


@dataclass(frozen=True, slots=True)
class Port:
    """One side of a command: a memory (tier at a chip and cluster) and the base address there, in units.

    `chip` and `cluster` are 0 where the tier has no such place. On DM the address is slice * slice_stride + byte in
    slice.
    """

    tier: str
    base: int
    chip: int = 0
    cluster: int = 0


@dataclass(frozen=True, slots=True)
class Loop:
    """`count` iterations that move the read address by `read` and the write address by `write` units each."""

    count: int
    read: int
    write: int
    label: str = field(default="", compare=False)
    read_span: Span | None = field(default=None, compare=False, repr=False)
    write_span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a printed sequencer: `label=count:stride`, in the unit of its text already turned into units."""

    count: int
    stride: int
    label: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)  # the whole entry
    count_span: Span | None = field(default=None, compare=False, repr=False)
    stride_span: Span | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.label}={self.count}:{self.stride}" if self.label else f"{self.count}:{self.stride}"


@dataclass(frozen=True, slots=True)
class Sequencer:
    """`[entries]:packet TIER@base`. The innermost entry counts units and is walked `packet` units at a time.

    Entries are outer to inner. Where a text counts in elements wider than a unit, reading it adds the innermost entry
    `width:1` (or widens an innermost stride-1 entry), so that counts are always units. `tier` and `base` are None
    where the text names no medium. `place` holds the leading parts of a base such as `(chip, cluster, dmn, offset)`,
    as far as written.
    """

    entries: tuple[Entry, ...]
    packet: int
    tier: str | None = None
    base: int | None = None
    place: tuple[int, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    packet_span: Span | None = field(default=None, compare=False, repr=False)
    medium_span: Span | None = field(default=None, compare=False, repr=False)
    base_span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def amount(self) -> int:
        """How many units the nest moves."""
        return prod(entry.count for entry in self.entries)


@dataclass(frozen=True, slots=True)
class GivenCommand:
    """What a plan prints for one engine: the read and the write sequencer, not yet paired."""

    engine: Engine | None
    read: Sequencer
    write: Sequencer
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Command:
    """What one engine is told: see the module's law. `packet` is the size moved at once, a multiple of `burst` or 1.

    `burst` is the innermost run that is contiguous (stride 1) on both sides; `packet` is what the text says. The
    printed sequencers stay beside the loops they were paired into, for the rules that speak of entries and for
    messages.
    """

    read: Port
    write: Port
    loops: tuple[Loop, ...]
    burst: int
    packet: int
    engine: Engine | None = None
    unit_bits: int = 8
    read_text: Sequencer | None = field(default=None, compare=False)
    write_text: Sequencer | None = field(default=None, compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def amount(self) -> int:
        """Units moved."""
        return prod((loop.count for loop in self.loops), start=self.burst)

    @property
    def nest(self) -> tuple[tuple[int, int, int], ...]:
        """(count, read step, write step) outer to inner, the burst innermost, in units."""
        return (*((loop.count, loop.read, loop.write) for loop in self.loops), (self.burst, 1, 1))

    @property
    def normal(self) -> Command:
        """The same requests in the same order with the fewest loops: loops of one turn dropped, loops that step as one
        on both sides merged, and merged into the burst where they continue it.
        """
        loops = fewest(self.loops)
        on = bool(loops) and loops[-1].read == loops[-1].write == self.burst
        burst = self.burst * loops.pop().count if on else self.burst
        return self if len(loops) == len(self.loops) else replace(self, loops=tuple(loops), burst=burst)

    def reach(self, *, writes: bool) -> tuple[int, int]:
        """Least and greatest address that a side visits, in units; exact, since every loop moves by itself."""
        low = high = self.write.base if writes else self.read.base
        for loop in self.loops:
            far = (loop.write if writes else loop.read) * (loop.count - 1)
            low, high = (low + far, high) if far < 0 else (low, high + far)
        return low, high + self.burst - 1

    def moved_to(self, read_base: int, write_base: int) -> Command:
        """The same nest at other base addresses."""
        return replace(self, read=replace(self.read, base=read_base), write=replace(self.write, base=write_base))


def in_step(loops: Sequence[Level], numbers: Callable[[Level], Sequence[int]]) -> list[list[Level]]:
    """Loops (a count and the steps of all sides by `numbers`), outer to inner, in groups that are one loop each: on
    every side one goes on where that inside of it ends ("Sequencer", Merging Entries). Those of one turn are left out.
    """
    groups: list[list[Level]] = []
    inner: tuple[int, ...] = ()
    for loop in reversed(loops):
        count, *steps = numbers(loop)
        if count == 1:
            continue
        if groups and all(far == inner[0] * near for far, near in zip(steps, inner[1:], strict=True)):
            groups[-1].insert(0, loop)
            inner = (inner[0] * count, *inner[1:])
        else:
            groups.append([loop])
            inner = (count, *steps)
    return groups[::-1]


def coalesce(loops: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Loops `(count, step, ...)`, outer to inner, as few as take the same steps."""
    return [(prod(loop[0] for loop in group), *group[-1][1:]) for group in in_step(loops, tuple)]


def fewest(loops: Sequence[Loop]) -> list[Loop]:
    """As `coalesce`, of the loops of a command."""
    groups = in_step(loops, lambda loop: (loop.count, loop.read, loop.write))
    return [replace(group[-1], count=prod(loop.count for loop in group)) for group in groups]


def counters_at(counts: Sequence[int], position: int) -> tuple[int, ...]:
    """The counters of nested loops, outer to inner, at the turn number `position` of all of them."""
    found = []
    for count in reversed(counts):
        position, counter = divmod(position, count)
        found.append(counter)
    return tuple(reversed(found))
