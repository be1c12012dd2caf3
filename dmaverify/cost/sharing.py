"""Several moves at once: what each asks of the parts of memory that they share, and how they slow each other down.

Knows: loads of channels, DMNs, scratchpads and links, pieces of work with what must end before they begin.
Does not know: programs, plans, the simulator.
Law: a piece that shares nothing that is full takes its own time; while pieces together ask a part for more than it
serves, each that needs it is slowed by the same factor. Two whose commands together cost more than the longer of them
slow each other by as much more, whatever it is that they share (rows of a bank, turns at windows written in part), and
of three and more those that share are slowed until all together take what all of their commands cost. Of more than
`PAIRED` at once what parts serve and what all commands cost decide, without a look at each two. The end is never before
that of the pieces without sharing, nor before what all commands of all pieces cost together.

This is an estimate between two bounds, not one of them: the parts of a piece are taken to be busy evenly over its time.
Source: "DMA Engine" (Memory Bandwidth Limits, Example 1: engines share the bandwidth of HBM), "Memory Performance".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from dmaverify.cost.bounds import ALL_ENGINES, links_of
from dmaverify.cost.constants import TICKS, CostData, stated
from dmaverify.cost.model import Cost, cost
from dmaverify.cost.sides import SideCost, pairs_of
from dmaverify.program.command import Command, Engine
from dmaverify.values import dataclass, field, replace

HAIR = 1e-9
PAIRED = 32
"""Steps at work at once of which every two are priced: their number grows with its square."""
Loads = Mapping[str, float]
"""Cycles that each part of memory is busy with a piece."""


def loads_of(commands: Sequence[Command], profile: CostData | str = "book") -> Loads:
    """What commands ask of every part that others may ask too. Raises InputError for an unknown profile."""
    data = stated(profile)
    total: dict[str, int] = defaultdict(int)
    for pair in pairs_of(commands, data):
        for side in pair:
            for part, ticks in _side_loads(side, data):
                total[part] += ticks
        for chip, way in links_of(*pair):
            total[f"PCIe that {way}s chip {chip}"] += pair[0].nest.packets * pair[0].nest.size * data.ticks("pcie_byte")
    return {part: ticks / TICKS for part, ticks in total.items() if ticks}


def _side_loads(side: SideCost, data: CostData) -> list[tuple[str, int]]:
    chip, cluster = side.port.chip, side.port.cluster
    if side.hbm is not None:
        one, extra = data.ticks("hbm_request"), data.ticks("hbm_partial") - data.ticks("hbm_request")
        even = [side.requests / data.hbm_channels] * data.hbm_channels
        channels, partial = side.hbm.channels or even, side.hbm.partial or (0,) * data.hbm_channels
        loads = [round(n * one + p * extra) for n, p in zip(channels, partial, strict=True)]
        return [(f"channel {index} of chip {chip}", load) for index, load in enumerate(loads)]
    if side.dm is not None:
        one = data.ticks("dm_unaligned" if side.dm.unaligned else "dm_request")
        place = f"of chip {chip}, cluster {cluster}"
        return [(f"DMN {index} {place}", n * one) for index, n in enumerate(side.dm.dmns or ())]
    if side.port.tier == "host":
        return []
    each = side.requests // side.parts * data.ticks("spm_request")
    return [(f"SPM of chip {chip}, cluster {cluster}, DMN {number}", each) for number in _spms(side, data)]


def _spms(side: SideCost, data: CostData) -> list[int]:
    """The DMNs whose SPM a side goes through."""
    found = [side.part]
    for count, stride in side.nest.loops:
        if stride and stride % data.spm_stride == 0:
            found = [number + turn * (stride // data.spm_stride) for number in found for turn in range(count)]
    return found


# ---------------------------------------------------------------- in time


@dataclass(frozen=True, slots=True)
class WorkPiece:
    """Work of `cycles` by itself that begins when all of `after` (numbers of pieces) have ended. `commands` are what it
    does together with the other pieces of its `step`; `again`: it is that of a later iteration.
    """

    cycles: float
    after: tuple[int, ...] = ()
    loads: Loads = field(default_factory=dict)
    step: int = -1
    commands: tuple[Command, ...] = ()
    again: bool = False


@dataclass(frozen=True, slots=True)
class Timed:
    """When a piece works, and the part of memory that slowed it most ('' where none did)."""

    start: float
    end: float
    slowed_by: str = ""


Slowed = tuple[float, str]
"""How much of the shorter of two pieces comes on top, and what they share."""


def on_own_engines(programs: Sequence[Sequence[Command]]) -> list[Command]:
    """Commands of several programs, where none of two programs are on one engine."""
    used: set[Engine] = set()
    out = []
    for program in programs:
        apart: dict[Engine, Engine] = {}
        for engine in dict.fromkeys(command.engine or Engine() for command in program):
            apart[engine] = engine
            while apart[engine] in used:
                apart[engine] = replace(apart[engine], dmn=apart[engine].dmn + 1)
            used.add(apart[engine])
        out += [replace(command, engine=apart[command.engine or Engine()]) for command in program]
    return out


def _fullest(both: Cost) -> str:
    """What all engines of a program are busy with longest, and where; else what binds it."""
    for term in both.terms:  # the longest first, behind the start-up
        if term.name.endswith(ALL_ENGINES):
            return f"{term.name.removesuffix(ALL_ENGINES)} ({term.resource})"
    return both.binding


class _Crowds:
    """What steps that are at work at once take from each other, each set of them priced once."""

    def __init__(self, pieces: Sequence[WorkPiece], data: CostData) -> None:
        self.data = data
        self.pieces = {step: [p for p in pieces if p.step == step and not p.again] for step in {p.step for p in pieces}}
        self.alone: dict[int, float] = {}
        self.pairs: dict[tuple[int, int], Slowed] = {}
        self.sets: dict[frozenset[int], float] = {}

    @cached_property
    def least(self) -> float:
        """What all commands together cost, in whatever order: no program is shorter."""
        return cost(on_own_engines([own[0].commands for _, own in sorted(self.pieces.items())]), self.data).cycles

    def slowed(self, step: int, at_work: frozenset[int]) -> Slowed:
        """How much longer a step takes beside the others, by twos, and what it shares most."""
        if len(at_work) > PAIRED:
            return 1.0, ""
        found = [self._pair(step, other) for other in sorted(at_work - {step})]
        return 1.0 + sum(share for share, _ in found), max(found, default=(0.0, ""))[1]

    def _pair(self, one: int, other: int) -> Slowed:
        key = min(one, other), max(one, other)
        if key not in self.pairs:
            self.pairs[key] = self._crowding(*key)
        return self.pairs[key]

    def _crowding(self, one: int, other: int) -> Slowed:
        """What two steps at once, each on engines of its own, take beyond the longer of them, as a share of the shorter
        one.
        """
        programs = [self.pieces[step][0].commands for step in (one, other)]
        if not all(programs):
            return 0.0, ""
        shorter, longer = sorted((self._alone(one), self._alone(other)))
        both = cost(on_own_engines(programs), self.data)
        share = (both.cycles - longer) / shorter if shorter else 0.0
        return min(1.0, max(0.0, share)), _fullest(both)

    def _alone(self, step: int) -> float:
        if step not in self.alone:
            self.alone[step] = cost(self.pieces[step][0].commands, self.data).cycles
        return self.alone[step]

    def more(self, at_work: frozenset[int]) -> float:
        """How much longer three and more take than by twos."""
        if at_work not in self.sets:
            self.sets[at_work] = 1.0
            commands = on_own_engines([self.pieces[step][0].commands for step in sorted(at_work)])
            if len(at_work) > 2 and commands:
                apart = [replace(p, after=()) for step in sorted(at_work) for p in self.pieces[step]]
                by_twos = max(timed.end for timed in _laid(apart, self))
                self.sets[at_work] = max(1.0, cost(commands, self.data).cycles / by_twos)
        return self.sets[at_work]


def in_time(pieces: Sequence[WorkPiece], data: CostData | None = None) -> list[Timed]:
    """Every piece as early as its predecessors and what it shares allow; by `data` also what commands share. The
    predecessors make no circle.
    """
    crowds = _Crowds(pieces, data) if data is not None else None
    timed = _laid(pieces, crowds)
    least = crowds.least if crowds is not None else 0.0
    late = least / max((one.end for one in timed), default=0.0) if least else 1.0
    return [replace(one, start=one.start * late, end=one.end * late) for one in timed] if late > 1 else timed


def _laid(pieces: Sequence[WorkPiece], crowds: _Crowds | None) -> list[Timed]:
    waiting = {number: set(piece.after) for number, piece in enumerate(pieces)}
    left: dict[int, float] = {}
    begun: dict[int, float] = {}
    slowed: dict[int, str] = {}
    done: dict[int, Timed] = {}
    now = 0.0
    while len(done) < len(pieces):
        for number in [n for n, after in waiting.items() if after <= done.keys()]:
            del waiting[number]
            left[number], begun[number] = pieces[number].cycles, now
        rates = _rates(pieces, left, crowds)
        for number, (rate, part) in rates.items():
            if rate < 1:
                slowed.setdefault(number, part)
        ends = {number: _end(number, pieces, left, begun, slowed, now, rates[number][0]) for number in left}
        then = min(ends.values())
        for number in list(left):
            left[number] -= (then - now) * rates[number][0]
            if ends[number] <= then:
                del left[number]
                done[number] = Timed(begun[number], then, slowed.get(number, ""))
        now = then
    return [done[number] for number in range(len(pieces))]


def _end(
    number: int, pieces: Sequence[WorkPiece], left: Mapping[int, float], begun: Mapping[int, float],
    slowed: Mapping[int, str], now: float, rate: float,
) -> float:  # fmt: skip
    """When a piece ends at its present rate; one that nothing slowed ends after its own time, to the last digit."""
    if number not in slowed:
        return max(now, begun[number] + pieces[number].cycles)
    return now + max(0.0, left[number]) / rate


def _rates(
    pieces: Sequence[WorkPiece], left: Mapping[int, float], crowds: _Crowds | None
) -> dict[int, tuple[float, str]]:
    """How fast each piece at work goes (1: as by itself), and the fullest part that it needs."""
    asked: dict[str, float] = defaultdict(float)
    for number in left:
        for part, busy in pieces[number].loads.items():
            asked[part] += busy / pieces[number].cycles if pieces[number].cycles else 0.0
    found = {}
    at_work = frozenset(pieces[number].step for number in left)
    for number in left:
        part = max(pieces[number].loads, key=lambda one: (asked[one], one), default="")
        slowed = max(1.0, asked[part] if part else 0.0)
        if crowds is not None:
            share, name = crowds.slowed(pieces[number].step, at_work)
            part, slowed = (part if slowed > 1 + HAIR else name, share) if share > slowed + HAIR else (part, slowed)
            slowed *= crowds.more(at_work) if slowed > 1 + HAIR else 1.0
        found[number] = 1 / slowed, part
    return found
