"""Members in the simulator: whole where they are small, else a prefix of their outer loops; which one is best under
both the closed form and the simulator, and whether the simulator would rank a dearer one first.

Knows: how to shorten a program so that its start is what the whole starts with, members with their prices.
Does not know: how the simulator works, proofs.
Law: a shortened program has the same nests with fewer turns of outer loops; its cycles are never given for the whole
without saying so (`Played.share`). The closed form ranks first; the simulator decides among members that it cannot
tell apart.

Source: docs/design.md (two evaluators of one model).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from dmaverify.cost.constants import CostData
from dmaverify.cost.simulate import simulate
from dmaverify.program.command import Command
from dmaverify.synth.members import Member, SearchFound
from dmaverify.synth.result import Played
from dmaverify.synth.sketch import sketch
from dmaverify.values import dataclass, replace

MOST_PACKETS = 1 << 13
"""Requests of a first simulation; a program with more is played in part."""
MORE_PACKETS = 1 << 16
"""Requests of the second, of the best few of the first."""
WHOLE = 1 << 21
"""Requests up to which the winner, the runner-up and the plan's own program are played whole."""
TIES = 6
"""Members of least cost that are ranked by a sketch, or played a second time."""
CLEAR = 0.98
"""A dearer member counts as ranked first by the simulator when it needs less than this share of the winner's time."""


@dataclass(frozen=True)
class Contest:
    """Members, the best first, with what the simulator says of each (by place); `rival` is a dearer member that it
    ranks first.
    """

    ranked: tuple[Member, ...]
    plays: tuple[Played | None, ...]
    rival: tuple[Member, Played] | None = None


def contest(found: SearchFound, data: CostData, simulated: bool) -> Contest:
    """The winners by closed form, in the order of the simulator, or of a sketch without it; dearer ones behind."""
    if not simulated:
        first = sorted(found.winners, key=lambda m: m.rank)[:TIES]
        first.sort(key=lambda m: (m.cycles, sketch(m.commands, data), *m.rank[1:]))
        return Contest((*first, *found.near), (None,) * (len(first) + len(found.near)))
    tried = sorted(((expected(played(m.commands, data)), m.rank, i) for i, m in enumerate(found.winners)))
    best = [found.winners[i] for _, _, i in tried[:TIES]]
    again = {id(m): played(m.commands, data, MORE_PACKETS) for m in (*best, *found.near)}
    best.sort(key=lambda m: (expected(again[id(m)]), m.rank))
    for member in (*best[:2], *found.near[:1]):
        again[id(member)] = played(member.commands, data, WHOLE)
    if len(best) > 1 and expected(again[id(best[1])]) < expected(again[id(best[0])]):
        best[:2] = best[1::-1]
    rivals = [m for m in found.near if expected(again[id(m)]) < CLEAR * expected(again[id(best[0])])]
    rival = min(rivals, key=lambda m: expected(again[id(m)]), default=None)
    ranked = (*best, *found.near)
    return Contest(
        ranked, tuple(again[id(m)] for m in ranked), (rival, again[id(rival)]) if rival is not None else None
    )


def expected(one: Played) -> float:
    """Cycles of the whole, if it goes on as it began."""
    return one.cycles if one.share >= 1 else one.cycles / one.share


def played(commands: Sequence[Command], data: CostData, most: int = MOST_PACKETS) -> Played:
    """Simulated cycles of a program, or of a prefix of it."""
    total = sum(_packets(c, data) for c in commands)
    if total <= most:
        return Played(simulate(commands, data).cycles)
    each = max(1, most // len(commands))
    short = [_shortened(c, each, data) for c in commands]
    return Played(simulate(short, data).cycles, sum(c.amount for c in short) / sum(c.amount for c in commands))


def _packets(one: Command, data: CostData) -> int:
    """Requests of a command: packets, and their parts of at most a window."""
    return (
        prod(loop.count for loop in one.loops)
        * max(1, one.burst // max(1, one.packet))
        * -(-one.packet * one.unit_bits // (8 * data.hbm.window))
    )


def _shortened(one: Command, most: int, data: CostData) -> Command:
    """Outer loops with fewer turns, from the outermost, until the packets are few enough."""
    loops = list(one.loops)
    for index, loop in enumerate(loops):
        inside = prod(x.count for x in loops[index + 1 :]) * _packets(replace(one, loops=()), data)
        loops[index] = replace(loop, count=max(1, min(loop.count, most // max(1, inside))))
        if loops[index].count > 1:
            break
    return replace(one, loops=tuple(loops))
