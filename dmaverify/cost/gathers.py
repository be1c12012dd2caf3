"""Gathers and scatters: one command whose loop takes offsets from a list, row by row.

Knows: the commands of a row, where rows lie where the list is known, the closed form's bounds.
Does not know: plans, how a list is written, what a list that is known at run time only will hold.
Law: the price is a lower bound: the engine issues every request of every row and of the list, and no memory is faster
than its busiest part. Of rows that are known at run time only the requests are counted as if each began a window, and
spread evenly over the channels, which no list beats. What the engine waits for an index before it asks for its row is
in no document, and is not in the number.

Source: "Sequencer" (Indirect Access: a loop with a list of offsets), "DMA Engine" (Performance).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dmaverify.cost.bands import Pair
from dmaverify.cost.bounds import Bound, by_memory, link_bounds, memory_bounds
from dmaverify.cost.constants import CostData, stated
from dmaverify.cost.model import Cost, composed, engine_of, issue_ticks
from dmaverify.cost.sides import SideCost, pairs_of
from dmaverify.program.command import Command, Engine, Loop
from dmaverify.program.even_runs import EvenRun, joined
from dmaverify.values import dataclass, replace

NO_DATA = (
    "has no price in this profile: one published row (934 cycles for 512 bytes) supports no formula; "
    "--profile book gives a lower bound"
)


@dataclass(frozen=True, slots=True)
class RowMoves:
    """The commands of row 0, how far every row lies from it in units on both sides (None: nothing is known of it), how
    many rows there are, the bytes of the list, and the engines that share the rows out. One distance alone: the
    commands go to every row by themselves.
    """

    commands: tuple[Command, ...]
    reads: tuple[int, ...] | None
    writes: tuple[int, ...] | None
    rows: int
    index_bytes: int
    engines: int = 1

    @property
    def known(self) -> bool:
        return self.reads is not None and self.writes is not None


def gather_cost(moves: RowMoves, profile: CostData | str = "book") -> Cost:
    """The least that the rows and the list take. Raises InputError for an unknown profile."""
    data = stated(profile)
    parts = [part for command in moves.commands for part in _all_rows(command, moves, data.hbm.window)]
    pairs = [
        (_loose(read, moves.reads is None), _loose(write, moves.writes is None))
        for read, write in pairs_of(parts, data)
    ]
    own: dict[Engine, list[Pair]] = {}
    for part, pair in zip(parts, pairs, strict=True):
        own.setdefault(engine_of(part), []).append(pair)
    listed = -(-moves.index_bytes // data.hbm.window)
    bounds = [bound for bound in _bounds(own, listed, moves, data) if bound.ticks > 0]
    first = max((read.startup for read, _ in pairs), default=0)
    total = first + max((bound.ticks for bound in bounds), default=0)
    best = max(bounds, key=lambda bound: bound.ticks, default=None)
    waits = Bound("start-up", first, "engine", "one command", data.source("startup"))
    return composed(
        total, waits, bounds, best, {engine: (len(held), total) for engine, held in own.items()}, pairs, data
    )


def _all_rows(command: Command, moves: RowMoves, window_bytes: int) -> Iterator[Command]:
    """The command for all rows, in the fewest loops over rows of equal distance. A side whose rows are not known stays
    at a window's begin, where a row touches the fewest.
    """
    many = max(len(moves.reads or ()), len(moves.writes or ())) or moves.rows
    reads, writes = moves.reads or (0,) * many, moves.writes or (0,) * many
    window = window_bytes * 8 // command.unit_bits
    read, write = command.read.base, command.write.base
    read -= read % window if moves.reads is None and command.read.tier == "hbm" else 0
    write -= write % window if moves.writes is None and command.write.tier == "hbm" else 0
    for run in joined([EvenRun(place) for place in zip(reads, writes, strict=True)]):
        rows = tuple(Loop(count, further, onward, "row") for count, (further, onward) in run.levels)
        yield replace(command.moved_to(read + run.at[0], write + run.at[1]), loops=(*rows, *command.loops))


def _loose(side: SideCost, unknown: bool) -> SideCost:
    """A side whose rows are not known: its requests count, their channels and DMNs do not."""
    if unknown and side.dm is not None:
        return side._replace(dm=replace(side.dm, dmns=None))
    if not unknown or side.hbm is None:
        return side
    free = replace(side.hbm, channels=None, partial=None, groups=None, vectors=None, rows=None)
    return side._replace(hbm=free)


def _bounds(own: Mapping[Engine, Sequence[Pair]], listed: int, moves: RowMoves, data: CostData) -> list[Bound]:
    """What the busiest engine issues, rows and list, and what the memories serve."""
    what = f"{moves.rows:,} rows" + ("" if moves.known else ", known at run time only")
    source = "Sequencer, Indirect Access; DMA Engine, Example 2"
    pairs = [pair for held in own.values() for pair in held]
    turns = all(data.in_turn(read.memory, write.memory) for read, write in pairs)
    found: list[Bound] = []
    for name, roles in (("issue", (0, 1)),) if turns else (("read issue", (0,)), ("write issue", (1,))):
        extra = listed * data.ticks("issue") if 0 in roles else 0
        loads = {e: sum(issue_ticks(pair[role]) for pair in held for role in roles) for e, held in own.items()}
        busiest = max(loads, key=lambda engine: loads[engine])
        many = -(-sum(pair[role].requests for pair in own[busiest] for role in roles) // moves.engines)
        why = f"{what}: {many:,} requests, and {listed:,} for the list"
        where = f"engine {busiest}" if moves.engines == 1 else f"each of {moves.engines} engines"
        found.append(Bound(name, -(-loads[busiest] // moves.engines) + extra, where, why, source))
    for sides in by_memory(pairs).values():
        found += [bound for bound in memory_bounds(sides, data) if not bound.name.endswith("order")]
    return [*found, *link_bounds(pairs, data, alone=len(pairs) == 1)]
