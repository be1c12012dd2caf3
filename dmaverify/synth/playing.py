"""Members in the simulator: whole where they are small, else a prefix of their outer loops.

Knows: how to shorten a program so that its start is what the whole starts with.
Does not know: how the simulator works, which member wins.
Law: a shortened program has the same nests with fewer turns of outer loops; its cycles are never given for the whole
without
saying so (`Played.share`).

Source: DESIGN section 6 (two evaluators of one model).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from dmaverify.cost.constants import CostData
from dmaverify.cost.simulate import simulate
from dmaverify.synth.result import Played
from dmaverify.transfer.command import Command

MOST_PACKETS = 8192
"""Packets of a simulation; a program with more is played in part."""


def played(commands: Sequence[Command], data: CostData, most: int = MOST_PACKETS) -> Played:
    """Simulated cycles of a program, or of a prefix of it."""
    total = sum(_packets(c) for c in commands)
    if total <= most:
        return Played(simulate(commands, data).cycles)
    each = max(1, most // len(commands))
    short = [_shortened(c, each) for c in commands]
    return Played(simulate(short, data).cycles, sum(c.amount for c in short) / sum(c.amount for c in commands))


def _packets(one: Command) -> int:
    """Requests of a command: packets, and their parts of at most 256 bytes."""
    return (
        prod(loop.count for loop in one.loops)
        * max(1, one.burst // max(1, one.packet))
        * -(-one.packet * one.unit_bits // 2048)
    )


def _shortened(one: Command, most: int) -> Command:
    """Outer loops with fewer turns, from the outermost, until the packets are few enough."""
    loops = list(one.loops)
    for index, loop in enumerate(loops):
        inside = prod(x.count for x in loops[index + 1 :]) * _packets(replace(one, loops=()))
        loops[index] = replace(loop, count=max(1, min(loop.count, most // max(1, inside))))
        if loops[index].count > 1:
            break
    return replace(one, loops=tuple(loops))
