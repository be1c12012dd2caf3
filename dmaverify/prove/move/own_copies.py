"""Whether copies of one step, or of one plan, meet in an order that nothing decides.

Knows: what each command, or each list of places, reads and writes, as walks or place by place; who does it, and when.
Does not know: other steps, what memory holds, what follows from an order that decides something.
Law: no clash is said only where no order that is allowed changes what the copies leave: nothing is written twice, or
read where something else is written. Where it is not known the answer is that the order decides.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dmaverify.language.distinct import distinct
from dmaverify.program.command import Command
from dmaverify.program.space import global_address
from dmaverify.prove.meet import TooDeep, Walk, collision, side_of, smallest_meeting
from dmaverify.targets.target import Target
from dmaverify.values import replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = Walk | NDArray[np.int64]

MOST_PAIRS = 1 << 14  # of accesses that may meet, one by one
STILL = Walk(0, ())


class OwnCopy(NamedTuple):
    """What one command, or one list of places, reads (None: nothing) and writes, each in a memory. `lane` does its
    copies one after the other; a `round` begins when all before it is done.
    """

    source: Hashable
    dest: Hashable
    read: Places | None
    write: Places
    lane: Hashable = None
    round: int = 0


class OwnAccess(NamedTuple):
    memory: Any
    low: int
    high: int
    writes: bool
    number: int
    at: Places


def of_commands(commands: Sequence[Command], target: Target, rounds: Sequence[int] = ()) -> list[OwnCopy]:
    """Each command by its walks. Loops in which it copies the same again are left out."""
    out = []
    for number, command in enumerate(commands):
        loops = tuple(loop for loop in command.loops if loop.count > 1 and (loop.read or loop.write))
        read, write = (side_of(replace(command, loops=loops), writes=writes) for writes in (False, True))
        out.append(
            OwnCopy(
                target.memory_of(command.read.tier),
                target.memory_of(command.write.tier),
                replace(read, base=global_address(command.read, read.base)),
                replace(write, base=global_address(command.write, write.base)),
                round=rounds[number] if rounds else 0,
            )
        )
    return out


def order_decides(
    copies: Sequence[OwnCopy],
    word: str = "command",
    *,
    in_any: bool = True,
    launched: bool = False,
    ahead: Walk = STILL,
) -> str:
    """What the order of copies decides, or may decide; empty where no order changes what they leave.

    `in_any`: all units of a round in any order; else each lane does those of its copies one after the other, and
    `launched` begins to read for a copy before what an earlier one wrote has arrived. `ahead`: how much further than
    the write sides the read sides are moved, in each iteration of loops around all of them. `word` names a copy.
    """
    accesses = list[OwnAccess]()
    for number, one in enumerate(copies):
        try:
            if in_any and _twice(one.write):
                return f"{word} {number}: one unit is written twice"
        except TooDeep:
            return f"{word} {number}: it is not known whether a unit is written twice"
        if one.read is not None and (ends := _ends(one.read)):
            low, high = ends
            accesses.append(OwnAccess(one.source, low + ahead.low, high + ahead.high, False, number, one.read))
        if ends := _ends(one.write):
            accesses.append(OwnAccess(one.dest, *ends, True, number, one.write))
    held = list[OwnAccess]()
    pairs = 0
    for access in sorted(accesses, key=lambda one: one[:5]):
        held = [one for one in held if one.memory == access.memory and one.high >= access.low]
        for other in held:
            before, after = sorted((access, other), key=lambda one: one.number)
            if not (before.writes or after.writes) or _ordered(copies, before, after, in_any, launched):
                continue
            pairs += 1
            who = f"{word}s {before.number} and {after.number}"
            who = f"{word} {after.number}" if before.number == after.number else who
            try:
                met = pairs <= MOST_PAIRS and _meet(before, after, ahead)
            except TooDeep:
                return f"{who}: it is not known whether units meet"
            if met:
                both = before.writes and after.writes
                return f"{who}: one unit is {'written twice' if both else 'written, and read for another'}"
        if pairs > MOST_PAIRS:
            return f"more than {MOST_PAIRS:,} pairs of {word}s may meet"
        held.append(access)
    return ""


def _ordered(copies: Sequence[OwnCopy], before: OwnAccess, after: OwnAccess, in_any: bool, launched: bool) -> bool:
    """Whether one access of two copies is over before the other begins, or writes land in their order."""
    one, other = copies[before.number], copies[after.number]
    if before.number == after.number or one.round != other.round:
        return before.number != after.number
    return not in_any and one.lane == other.lane and not (launched and before.writes and not after.writes)


def _meet(one: OwnAccess, other: OwnAccess, ahead: Walk) -> bool:
    """Whether two accesses have a unit in common, other than one that a copy puts onto itself. Raises TooDeep."""
    itself = one.number == other.number
    if isinstance(one.at, Walk) and isinstance(other.at, Walk):
        first = _moved(one.at, STILL if one.writes else ahead)
        second = _moved(other.at, STILL if other.writes else ahead)
        return not (itself and first == second) and smallest_meeting(first, second) is not None
    assert not isinstance(one.at, Walk)
    assert not isinstance(other.at, Walk)
    if ahead != STILL and one.writes != other.writes:
        return True  # in some iteration, by the ends of both
    import numpy as np

    if not itself:
        return bool(np.isin(one.at, other.at).any())
    read, write = (other.at, one.at) if one.writes else (one.at, other.at)
    moved = read != write  # else a unit is put onto itself
    return bool(np.isin(read[moved], write).any() or np.isin(read, write[moved]).any())


def _moved(walk: Walk, ahead: Walk) -> Walk:
    return Walk(walk.base + ahead.base, (*ahead.loops, *walk.loops))


def _twice(at: Places) -> bool:
    """Whether an address is there twice. Raises TooDeep."""
    if isinstance(at, Walk):
        *loops, (run, _) = at.loops
        return collision(loops, run) is not None
    return len(distinct(at)) < len(at)


def _ends(at: Places) -> tuple[int, int] | None:
    """The least and the greatest address; None where there is none."""
    if isinstance(at, Walk):
        return at.low, at.high
    return (int(at.min()), int(at.max())) if len(at) else None
