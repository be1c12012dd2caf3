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

from collections.abc import Iterator, Sequence

from dmaverify.cost.bounds import Bound, by_memory, link_bounds, memory_bounds
from dmaverify.cost.constants import TICKS, CostData, cost_data
from dmaverify.cost.model import Cost, EngineCost, Term, engine_of, issue_ticks
from dmaverify.cost.sides import SideCost, pairs_of
from dmaverify.program.command import Command, Loop
from dmaverify.values import dataclass, replace

NO_DATA = (
    "has no price in this profile: one published row (934 cycles for 512 bytes) supports no formula; "
    "--profile book gives a lower bound"
)


@dataclass(frozen=True, slots=True)
class RowMoves:
    """The commands of row 0, how far every row lies from it in units on both sides (None: nothing is known of it), how
    many rows there are, and the bytes of the list. One distance alone: the commands go to every row by themselves.
    """

    commands: tuple[Command, ...]
    reads: tuple[int, ...] | None
    writes: tuple[int, ...] | None
    rows: int
    index_bytes: int

    @property
    def known(self) -> bool:
        return self.reads is not None and self.writes is not None


def gather_cost(moves: RowMoves, target: CostData | str = "rngd", profile: str = "book") -> Cost:
    """The least that the rows and the list take. Raises InputError for an unknown profile."""
    data = target if isinstance(target, CostData) else cost_data(profile)
    pairs = [
        (_loose(read, moves.reads is None), _loose(write, moves.writes is None))
        for read, write in pairs_of([part for command in moves.commands for part in _all_rows(command, moves)], data)
    ]
    listed = -(-moves.index_bytes // data.hbm.window)
    bounds = [bound for bound in _bounds(pairs, listed, moves, data) if bound.ticks > 0]
    first = max((read.startup for read, _ in pairs), default=0)
    total = first + max((bound.ticks for bound in bounds), default=0)
    best = max(bounds, key=lambda bound: bound.ticks, default=None)
    start = Bound("start-up", first, "engine", "one command", data.source("startup"))
    terms = [start, *sorted(bounds, key=lambda bound: -bound.ticks)]
    return Cost(
        total / TICKS,
        tuple(Term(b.name, b.ticks / TICKS, b.resource, b.why, b.source) for b in terms),
        False,
        best.name if best is not None and best.ticks > first else "start-up",
        data.profile,
        tuple(EngineCost(engine_of(c), 1, total / TICKS) for c in moves.commands[:1]),
        tuple(pairs),
    )


def _all_rows(command: Command, moves: RowMoves) -> Iterator[Command]:
    """The command for all rows, in the fewest loops over rows of equal distance. A side whose rows are not known stays
    at a window's begin, where a row touches the fewest.
    """
    many = max(len(moves.reads or ()), len(moves.writes or ())) or moves.rows
    reads, writes = moves.reads or (0,) * many, moves.writes or (0,) * many
    window = 256 * 8 // command.unit_bits
    read, write = command.read.base, command.write.base
    read -= read % window if moves.reads is None and command.read.tier == "hbm" else 0
    write -= write % window if moves.writes is None and command.write.tier == "hbm" else 0
    for at, count, step in _runs(list(zip(reads, writes, strict=True))):
        loops = (Loop(count, *step, "row"), *command.loops) if count > 1 else command.loops
        yield replace(command.moved_to(read + at[0], write + at[1]), loops=loops)


Place = tuple[int, int]


def _runs(places: Sequence[Place]) -> list[tuple[Place, int, Place]]:
    """Places in order as runs of equal steps: first, how many, step."""
    out: list[tuple[Place, int, Place]] = []
    for place in places:
        if out:
            first, count, step = out[-1]
            gap = tuple(here - start - (count - 1) * far for here, start, far in zip(place, first, step, strict=True))
            if count == 1 or gap == step:
                out[-1] = (first, count + 1, (gap[0], gap[1]))
                continue
        out.append((place, 1, (0, 0)))
    return out


def _loose(side: SideCost, unknown: bool) -> SideCost:
    """A side whose rows are not known: its requests count, their channels and DMNs do not."""
    if unknown and side.dm is not None:
        return replace(side, dm=replace(side.dm, dmns=None))
    if not unknown or side.hbm is None:
        return side
    free = replace(side.hbm, channels=None, partial=None, groups=None, vectors=None, rows=None)
    return replace(side, hbm=free)


def _bounds(pairs: Sequence[tuple[SideCost, SideCost]], listed: int, moves: RowMoves, data: CostData) -> list[Bound]:
    where = f"engine {engine_of(moves.commands[0])}"
    loads = [sum(issue_ticks(pair[role]) for pair in pairs) for role in range(2)]
    loads[0] += listed * data.ticks("issue")
    what = f"{moves.rows:,} rows" + ("" if moves.known else ", known at run time only")
    why = f"{what}: {{:,}} requests, and {listed:,} for the list"
    many = [sum(pair[role].requests for pair in pairs) for role in range(2)]
    source = "Sequencer, Indirect Access; DMA Engine, Example 2"
    if all(data.in_turn(read.memory, write.memory) for read, write in pairs):
        found = [Bound("issue", sum(loads), where, why.format(sum(many)), source)]
    else:
        names = zip(("read issue", "write issue"), loads, many, strict=True)
        found = [Bound(name, load, where, why.format(count), source) for name, load, count in names]
    for sides in by_memory(pairs).values():
        found += [bound for bound in memory_bounds(sides, data) if not bound.name.endswith("order")]
    return [*found, *link_bounds(pairs, data)]
