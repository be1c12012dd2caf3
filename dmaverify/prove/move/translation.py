"""Copies of bytes as they lie: every byte moved by one distance, in pieces that together are the region.

Knows: layouts, commands as lists of runs of bytes.
Does not know: obligations one by one, solvers, machines.
Law: where two layouts are the same function of the distance from their origins, and every command moves every unit by
the distance between the origins, each cell gets the unit of its own element, padding as padding. What is left to ask
is which units are moved: the runs of all commands, sorted, must not meet, must lie in the region, and what they leave
out must be padding that may hold anything. Outer loops that all commands share are looked at once. Runs are listed
(their number grows with the pieces, not with the bytes); None where there are too many, or where the commands are no
such copy. Whatever is copied, an element in no run of what commands write is written by none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal

from dmaverify.language.expr import Kind
from dmaverify.layout.addresses import Layout
from dmaverify.program.command import Command
from dmaverify.program.space import global_address

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Nest = tuple[int, list[tuple[int, int]]]  # base; count and step of each loop
    Runs = tuple[NDArray[np.int64], NDArray[np.int64]]  # first and end of each run, sorted

MOST_RUNS = 1 << 20
MOST_ADDRESS = 1 << 62
MOST_GAPS = 1 << 12  # units that no command moves, looked at one by one


def copies_bytes(source: Layout, dest: Layout, commands: Sequence[Command]) -> Literal["all"] | int | None:
    """ "all" where every obligation of a move holds because it is such a copy; the address of an element that none of
    the commands moves; None where this does not tell. Both layouts must be those of mappings with digits.
    """
    if not commands or not _alike(source, dest):
        return None
    distance = dest.origin - source.origin
    for command in commands:
        if any(loop.count > 1 and loop.read != loop.write for loop in command.loops):
            return None
        first = (global_address(port, port.base) for port in (command.read, command.write))
        if next(first) + distance != next(first):
            return None
    digits, nests = _of_one_turn(dest, _written(dest, commands))
    region, moved = _runs([(0, digits)]), _runs(nests)
    if region is None or moved is None or dest.kind_at((0,) * len(dest.digits)) is not None:
        return None
    gaps = _left_out(_joined(region), _joined(moved))
    left = chain.from_iterable(range(first, end) for first, end in gaps or ())
    for unit in (dest.origin + one for one in islice(left, MOST_GAPS)):
        values = dest.values_at(unit)
        kind = Kind.BOTTOM if values is None else dest.kind_at(values)
        if kind is None:
            return unit
        if kind is not Kind.TOP:
            return None
    return "all" if gaps is not None and next(left, None) is None else None


def unwritten(dest: Layout, commands: Sequence[Command], kind: Kind | None = None) -> Literal["none"] | int | None:
    """The address of an element (or of padding of a kind) that no command writes, wherever the commands write besides,
    and once or more often; "none" where every one is written; None where this does not tell.
    """
    import numpy as np

    region, written = _runs([(0, [(d.slots, d.step) for d in dest.digits])]), _runs(_written(dest, commands))
    if region is None or written is None:
        return None
    last = np.concatenate(([-MOST_ADDRESS], np.maximum.accumulate(written[1])))
    first = np.concatenate((written[0], [MOST_ADDRESS]))
    gaps, at = np.flatnonzero(last < first), 0
    left = MOST_GAPS
    for here, stop in zip(*(side.tolist() for side in region), strict=True):
        while at < len(gaps) and first[gaps[at]] <= here:
            at += 1
        for low, high in ((int(last[gap]), int(first[gap])) for gap in gaps[at:]):
            if low >= stop:
                break
            for unit in range(max(here, low), min(stop, high)):
                values = dest.values_at(dest.origin + unit)
                inside = values is not None and not any(values[i] for i in dest.beyond_index)
                if values is not None and inside and dest.kind_at(values) is kind:
                    return dest.origin + unit
                left -= 1
                if not left:
                    return None
    return "none"


def _written(dest: Layout, commands: Sequence[Command]) -> list[Nest]:
    """What commands write, as nests from where the region begins."""
    return [(global_address(c.write, c.write.base) - dest.origin, _loops(c)) for c in commands]


def _loops(command: Command) -> list[tuple[int, int]]:
    return [*((loop.count, loop.write) for loop in command.loops), (command.burst, 1)]


def _alike(source: Layout, dest: Layout) -> bool:
    """Whether both are one function of the distance from the origin, with padding that a copy keeps."""
    same = (source.digits, source.guards, source.offsets, source.beyond, source.room_limits)
    plain = all(guard.kind in (Kind.TOP, Kind.ZERO) for guard in dest.guards)
    return plain and same == (dest.digits, dest.guards, dest.offsets, dest.beyond, dest.room_limits)


def _of_one_turn(dest: Layout, nests: list[Nest]) -> tuple[list[tuple[int, int]], list[Nest]]:
    """Counts and steps of the region, and the nests, without the outer turns that all of them make alike.

    Turns of the region that no guard looks at, each beyond the reach of what is inside: what is moved in one turn is
    moved in every other, and no two turns meet.
    """
    digits = [(d.slots, d.step) for d in dest.digits]
    guarded = {index for guard in dest.guards for index, _ in guard.terms}
    while digits:
        turn, *inside = digits
        reach = sum((slots - 1) * step for slots, step in inside)
        alike = all(turn in loops for _, loops in nests)
        if turn[0] > 1 and (len(dest.digits) - len(digits) in guarded or reach >= turn[1] or not alike):
            break
        if turn[0] > 1:
            nests = [(base, _without(loops, turn)) for base, loops in nests]
        digits = inside
    return digits, nests


def _without(loops: list[tuple[int, int]], turn: tuple[int, int]) -> list[tuple[int, int]]:
    at = loops.index(turn)
    return [*loops[:at], *loops[at + 1 :]]


def _runs(nests: Iterable[Nest]) -> Runs | None:
    """The runs of nests (base, loops of count and step), sorted. None where there are too many, or too far apart."""
    import numpy as np

    firsts, ends = [], []
    for base, loops in nests:
        length = 1
        if abs(base) + sum(count * abs(step) for count, step in loops) > MOST_ADDRESS:
            return None
        starts = np.array([base], dtype=np.int64)
        for count, step in sorted(((n, s) for n, s in loops if n > 1), key=lambda loop: abs(loop[1])):
            if step < 0:
                starts = starts + step * (count - 1)
            if abs(step) == length and len(starts) == 1:
                length *= count
                continue
            if len(starts) * count > MOST_RUNS:
                return None
            starts = (starts[:, None] + abs(step) * np.arange(count, dtype=np.int64)).ravel()
        firsts.append(starts)
        ends.append(starts + length)
    first, end = np.concatenate(firsts), np.concatenate(ends)
    order = np.argsort(first, kind="stable")
    return first[order], end[order]


def _joined(runs: Runs) -> Runs | None:
    """Runs that follow each other as one; None where two of them meet."""
    import numpy as np

    first, end = runs
    if (first[1:] < end[:-1]).any():
        return None
    breaks = np.flatnonzero(first[1:] != end[:-1])
    keep = np.concatenate(([0], breaks + 1))
    last = np.concatenate((breaks, [len(first) - 1]))
    return first[keep], end[last]


def _left_out(region: Runs | None, moved: Runs | None) -> list[tuple[int, int]] | None:
    """The runs of the region that are not moved; None where something beyond the region is, or runs meet."""
    if region is None or moved is None:
        return None
    out: list[tuple[int, int]] = []
    parts = list(zip(*(side.tolist() for side in moved), strict=True))
    at = 0
    for first, end in zip(*(side.tolist() for side in region), strict=True):
        here = first
        while at < len(parts) and parts[at][0] < end:
            low, high = parts[at]
            if low < here or high > end:
                return None
            if low > here:
                out.append((here, low))
            here = high
            at += 1
        if here < end:
            out.append((here, end))
    return out if at == len(parts) else None
