"""Commands that differ by their bases alone, as one nest with lanes.

Knows: equal nests, bases on a grid. Does not know: engines' meaning, tensors, solvers.
Law: the units copied by a family are exactly those of its commands; lane counters choose the command. So a homogeneous
aggregate is proved once, with the engine as a symbol, not engine by engine.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.layout.refine import Nest
from dmaverify.program.command import Command
from dmaverify.program.space import nest_of
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """`nest` has the lanes as its outermost loops; `members[i]` is the command that lane position i stands for."""

    nest: Nest
    lanes: tuple[tuple[int, int, int], ...]
    loops: tuple[tuple[int, int, int], ...]
    members: tuple[int, ...]

    def member_at(self, counters: Sequence[int]) -> int:
        """The command (its index in the program) that the counters of the nest belong to."""
        position = 0
        for (count, _, _), value in zip(self.lanes, counters, strict=False):
            position = position * count + value
        return self.members[position]

    def loop_counters(self, counters: Sequence[int]) -> tuple[int, ...]:
        return tuple(counters[len(self.lanes) :])


def fold(commands: Sequence[Command]) -> list[Family]:
    """Families in order of their first command."""
    groups: dict[object, list[int]] = {}
    for index, command in enumerate(commands):
        key = (tuple((x.count, x.read, x.write) for x in command.loops), command.burst)
        groups.setdefault(key, []).append(index)
    families: list[Family] = []
    for members in groups.values():
        families.extend(_families(commands, members))
    return sorted(families, key=lambda f: min(f.members))


def _families(commands: Sequence[Command], members: list[int]) -> list[Family]:
    nests = {i: nest_of(commands[i]) for i in members}
    ordered = sorted(members, key=lambda i: (nests[i].write_base, nests[i].read_base, i))
    points = [(nests[i].read_base, nests[i].write_base) for i in ordered]
    lanes = _grid(points)
    if lanes is None:
        return [_family(nests[i], (), (i,)) for i in sorted(members)]
    return [_family(nests[ordered[0]], lanes, tuple(ordered))]


def _family(nest: Nest, lanes: tuple[tuple[int, int, int], ...], members: tuple[int, ...]) -> Family:
    loops = tuple((p.count, p.read, p.write) for p in nest.pieces)
    return Family(Nest.of(nest.read_base, nest.write_base, (*lanes, *loops)), lanes, loops, members)


def _grid(points: list[tuple[int, int]]) -> tuple[tuple[int, int, int], ...] | None:
    """(count, read step, write step) outer to inner so that the points are the grid in order; None if they are none."""
    if len(points) == 1:
        return ()
    step = (points[1][0] - points[0][0], points[1][1] - points[0][1])
    run = 1
    while run < len(points) and points[run] == (points[0][0] + run * step[0], points[0][1] + run * step[1]):
        run += 1
    if len(points) % run:
        return None
    for block in range(0, len(points), run):
        start = points[block]
        if any(points[block + i] != (start[0] + i * step[0], start[1] + i * step[1]) for i in range(run)):
            return None
    outer = _grid(points[::run])
    return None if outer is None else (*outer, (run, step[0], step[1]))
