"""The closed form: what a program of DMA commands costs, as named terms, without walking an address.

Knows: start-up, issue, shared memories, overlap within a command, order of commands, several engines.
Does not know: how loads are counted, requests one by one, mappings.
Law: `cost` never exceeds what `simulate` measures for the same program, and equals it where it says `exact`. The
number is the start-up plus the term that binds; every term is a bound by itself, with its resource, reason and
source.

Composition ("DMA Engine", Examples 1 to 6; docs/machines/rngd.md 8.1): a command that reads one memory and writes
another
overlaps the two (the larger counts), within one memory they add; commands of one engine follow each other, each with
its start-up; the slowest engine decides, and no shared memory is faster than its busiest channel or DMN. The start-up
is the latency of an empty pipeline: a command of n requests that nothing holds up ends n issues after it (so that
Examples 1 to 3 come out as printed), and a resource that serves n requests of s cycles is charged n * s less what of
it the start-up holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

from dmaverify.cost.bounds import ALL_ENGINES, by_memory, link_bounds, memory_bounds, port_bounds
from dmaverify.cost.bounds import Bound as Bound
from dmaverify.cost.constants import TICKS, CostData, stated
from dmaverify.cost.exact import is_exact
from dmaverify.cost.sides import SideCost, pairs_of
from dmaverify.program.command import Command, Engine
from dmaverify.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Term:
    """One bound of the cost. `resource` is what is busy that long; terms of different resources overlap."""

    name: str
    cycles: float
    resource: str
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class EngineCost:
    """What one engine needs by itself: start-ups and its commands one after the other."""

    engine: Engine
    commands: int
    cycles: float


@dataclass(frozen=True)
class Cost:
    """The closed form of a program. `binding` names the term that decides; `exact`: the simulator gives the same
    number.
    """

    cycles: float
    terms: tuple[Term, ...]
    exact: bool
    binding: str
    profile: str
    engines: tuple[EngineCost, ...]
    sides: tuple[tuple[SideCost, SideCost], ...] = field(default=(), repr=False, compare=False)

    def as_data(self) -> dict[str, object]:
        """The JSON of the command line: cycles, profile, terms, exact, binding, engines."""
        names = ("name", "cycles", "resource", "why", "source")
        return {
            "cycles": self.cycles,
            "profile": self.profile,
            "terms": [{name: getattr(term, name) for name in names} for term in self.terms],
            "exact": self.exact,
            "binding": self.binding,
            "engines": [
                {"engine": [e.engine.chip, e.engine.cluster, e.engine.dmn], "commands": e.commands, "cycles": e.cycles}
                for e in self.engines
            ],
        }


def engine_of(command: Command) -> Engine:
    """The engine that issues a command; without one, the first engine of the chip."""
    return command.engine or Engine()


def cost(commands: Sequence[Command], profile: CostData | str = "book") -> Cost:
    """The cost of commands in cycles, each issued by its engine, engines in parallel.

    `profile` is the data, or the name of a profile of the shipped machine. Raises InputError for an unknown one.
    Source: "DMA Engine", Performance and Examples; "Memory Performance".
    """
    data = stated(profile)
    pairs = pairs_of(commands, data)
    by_engine: dict[Engine, list[tuple[Command, tuple[SideCost, SideCost]]]] = defaultdict(list)
    for command, pair in zip(commands, pairs, strict=True):
        by_engine[engine_of(command)].append((command, pair))
    alone = {
        engine: sum(
            pair[0].startup + _longest(_Alone(_form(pair), len(own) > 1, command, pair), data) for command, pair in own
        )
        for engine, own in by_engine.items()
    }
    begins = {engine: own[0][1][0].startup for engine, own in by_engine.items()}
    shared = _shared([(begins[engine_of(command)], pair) for command, pair in zip(commands, pairs, strict=True)], data)
    slowest = max(sorted(alone, key=_order), key=lambda engine: alone[engine], default=Engine())
    its = by_engine.get(slowest, [])
    own = [(pair[0].startup, own_bounds(command, pair, data, in_sequence=len(its) > 1)) for command, pair in its]
    bounds = [*_engine_terms([b for _, b in own], slowest), *shared]
    first, least = sum(startup for startup, _ in own), min(begins.values(), default=0)
    best = max(bounds, key=lambda bound: bound.ticks + (least if bound in shared else first), default=None)
    total = max([*alone.values(), *(least + bound.ticks for bound in shared)], default=0)
    waits = Bound("start-up", first, "engine", _startup_why(own), data.source("startup"))
    engines = {engine: (len(by_engine[engine]), alone[engine]) for engine in sorted(by_engine, key=_order)}
    return composed(total, waits, bounds, best, engines, pairs, data, exact=is_exact(commands, pairs, data))


def composed(
    total: int, waits: Bound, bounds: Sequence[Bound], best: Bound | None, engines: Mapping[Engine, tuple[int, int]],
    pairs: Sequence[tuple[SideCost, SideCost]], data: CostData, *, exact: bool = False,
) -> Cost:  # fmt: skip
    """A cost in cycles from its bounds in ticks: the start-up first, the longest of the others next; `best` binds where
    it is longer than the start-up. `engines`: commands and ticks of each.
    """
    terms = [waits, *sorted(bounds, key=lambda bound: -bound.ticks)] if engines else []
    return Cost(
        total / TICKS,
        tuple(Term(b.name, b.ticks / TICKS, b.resource, b.why, b.source) for b in terms),
        exact,
        best.name if best is not None and best.ticks > waits.ticks else "start-up",
        data.profile,
        tuple(EngineCost(engine, many, ticks / TICKS) for engine, (many, ticks) in engines.items()),
        tuple(pairs),
    )


@dataclass(frozen=True, slots=True)
class _Alone:
    """A command by itself: commands of one form are equal here, for their bounds are."""

    form: tuple[object, ...]
    in_sequence: bool
    command: Command = field(compare=False)
    pair: tuple[SideCost, SideCost] = field(compare=False)


@lru_cache(maxsize=4096)
def _longest(one: _Alone, data: CostData) -> int:
    """The ticks of a command by itself."""
    return max((b.ticks for b in own_bounds(one.command, one.pair, data, in_sequence=one.in_sequence)), default=0)


def _shared(pairs: Sequence[tuple[int, tuple[SideCost, SideCost]]], data: CostData) -> list[Bound]:
    """What engines ask of memories together, in ticks after the first of them begins: nothing of those that begin later
    is served before they do.
    """
    begins = sorted({begin for begin, _ in pairs})
    found: dict[tuple[str, str], Bound] = {}
    for begin in begins:
        for bound in shared_bounds([pair for own, pair in pairs if own >= begin], data):
            late = replace(bound, ticks=bound.ticks + begin - begins[0]) if begin > begins[0] else bound
            key = bound.name, bound.resource
            if key not in found or found[key].ticks < late.ticks:
                found[key] = late
    return list(found.values())


def _order(engine: Engine) -> tuple[int, int, int]:
    return engine.chip, engine.cluster, engine.dmn


def _startup_why(commands: Sequence[object]) -> str:
    return "one command" if len(commands) == 1 else f"{len(commands)} commands, one after the other"


def _engine_terms(commands: Sequence[Sequence[Bound]], engine: Engine) -> list[Bound]:
    """The bounds of the slowest engine; of several commands, each resource is added up."""
    if len(commands) <= 1:
        return [bound for bounds in commands for bound in bounds]
    total: dict[str, Bound] = {}
    for bounds in commands:
        for b in bounds:
            seen = total[b.name].ticks if b.name in total else 0
            total[b.name] = Bound(b.name, seen + b.ticks, b.resource, b.why, b.source)
    each = sum(max((b.ticks for b in bounds), default=0) for bounds in commands)
    why = "each command ends before the next begins; the slowest part of each counts"
    sequence = Bound("sequence", each, f"engine {engine}", why, "DMA Engine, Example 6")
    return [sequence, *total.values()]


# ---------------------------------------------------------------- one command


def own_bounds(
    command: Command,
    pair: tuple[SideCost, SideCost],
    data: CostData,
    *,
    ordered: bool = True,
    in_sequence: bool = False,
) -> list[Bound]:
    """The bounds of one command beside nothing else, in ticks after its start-up; `ordered` as in `memory_bounds`.

    Of one of several commands of an engine (`in_sequence`) bank groups count where its addresses are linear: counted
    for any, 32 rows of "DMA Engine", Example 6 would take 76 cycles where 64 are printed. Of all commands together
    they always count.
    """
    if in_sequence:
        pair = _without_groups(pair[0]), _without_groups(pair[1])
    read, write = pair
    same = data.in_turn(read.memory, write.memory)
    found = [*_issue(command, read, write, same, data)]
    for sides in by_memory([pair]).values():
        found += memory_bounds(sides, data, ordered=ordered)
    found += [*link_bounds([pair], data, alone=True), *port_bounds([pair], data)]
    return [bound for bound in found if bound.ticks > 0]


def _without_groups(side: SideCost) -> SideCost:
    """The side, without loads of bank groups where its addresses are not linear."""
    use = side.hbm
    return side._replace(hbm=replace(use, groups=None)) if use is not None and use.vectors is None else side


def _form(pair: tuple[SideCost, SideCost]) -> tuple[object, ...]:
    """What the bounds of one command depend on. Where a linear stream has a memory to itself, its base does not matter:
    it exchanges channels and banks for others.
    """
    read, write = pair
    apart = read.memory != write.memory
    return apart, read.port.chip == write.port.chip, _side_form(read, apart), _side_form(write, apart)


def _side_form(side: SideCost, apart: bool) -> tuple[object, ...]:
    place = side.head, side.tail, side.issue, side.issue_partial, side.issue_ragged, side.startup
    if not apart or (side.hbm is not None and (side.hbm.vectors is None or side.windows.partial)):
        return side.port.tier, side.nest, *place
    rows = (side.hbm.vectors, side.hbm.high) if side.hbm is not None else ()
    dm = side.dm and (
        side.dm.dmns and tuple(sorted(side.dm.dmns)),
        side.dm.unaligned,
        side.dm.block,
        side.dm.block_slices,
    )
    return side.port.tier, side.nest.size, side.requests, rows, dm, *place


def _issue(command: Command, read: SideCost, write: SideCost, same: bool, data: CostData) -> list[Bound]:
    where, source = f"engine {engine_of(command)}", data.source(_issue_name(read, write))
    loads = [issue_ticks(side) for side in (read, write)]
    if same:
        why = f"{read.requests:,} reads and {write.requests:,} writes in one memory take turns, one request per issue"
        return [Bound("issue", sum(loads), where, why, source)]
    return [
        Bound(f"{side.role} issue", load, where, _requests_why(side) + _again_why(side), source)
        for side, load in zip((read, write), loads, strict=True)
    ]


def _issue_name(read: SideCost, write: SideCost) -> str:
    """The constant that prices the requests of a command."""
    if write.port.tier == "hbm":
        return "issue_store"
    if not read.again:
        return "issue"
    return "issue_region" if read.again > 1 else "issue_reread"


def _again_why(side: SideCost) -> str:
    """What makes a request of the side dearer than one of a plain load, as the end of a sentence."""
    told = ""
    if side.again:
        told = f"; {side.again} engines read the same windows in turn"
        told = told if side.again > 1 else "; each window is read many times"
    if side.longer:
        told += f"; windows of long runs take {side.longer / TICKS:.2f} cycles more each"
    if side.setup:
        told += f"; of each, {side.setup / TICKS:.2f} cycles are the setup of the slices"
    for many, more in _in_part(side):
        if many and more:
            told += f"; {many:,} of them write a window in part, which takes {more / TICKS:.2f} cycles more"
    return told


def _in_part(side: SideCost) -> list[tuple[int, int]]:
    """Windows of HBM that a side writes in part, in blocks of 64 bytes and others, and what each takes more."""
    whole = side.windows.partial - side.windows.ragged
    found = [(whole, side.issue_partial), (side.windows.ragged, side.issue_ragged)]
    return [(side.windows.partial, found[0][1])] if found[0][1] == found[1][1] else [one for one in found if one[0]]


def issue_ticks(side: SideCost) -> int:
    """Ticks that the engine needs to issue all requests of a side."""
    return side.requests * side.issue + sum(many * more for many, more in _in_part(side))


def _requests_why(side: SideCost) -> str:
    what = "aligned 256-byte windows touched" if side.port.tier == "hbm" else "parts of at most 256 bytes"
    return f"{side.nest.packets:,} packets of {side.nest.size} bytes are {side.requests:,} requests ({what})"


# ---------------------------------------------------------------- all engines together


def shared_bounds(pairs: Sequence[tuple[SideCost, SideCost]], data: CostData, *, ordered: bool = True) -> list[Bound]:
    """What all commands together ask of each memory, in ticks after the first start-up; empty for one command."""
    if len(pairs) < 2:
        return []
    found: list[Bound] = []
    for sides in by_memory(pairs).values():
        found += [b for b in memory_bounds(sides, data, ordered=ordered) if not b.name.endswith("order")]
    found += [*link_bounds(pairs, data), *port_bounds(pairs, data)]
    return [replace(bound, name=f"{bound.name}{ALL_ENGINES}") for bound in found if bound.ticks > 0]
