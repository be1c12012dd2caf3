"""What launches of a driver copy, as rows of bytes: which of them lie apart, and where rows go on as one.

Knows: launches with symbols in their addresses and lengths, what is complete before each.
Does not know: who compares them, C.
Law: two sets of rows are one where their launches leave the same in memory, in whatever order those run that
`phases_of` puts together: these touch no byte that another one of them writes, as ranges. Raises MayMeet else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Any

from dmaverify.language.numbers import Poly
from dmaverify.machines.idma.c.arrays import MayMeet
from dmaverify.machines.idma.c.followed import DriverRun
from dmaverify.machines.idma.nd import extent, placed
from dmaverify.machines.idma.setup import Setup
from dmaverify.machines.idma.text import ToldDescriptor
from dmaverify.prove.sizes.shadow import poly_of

MOST_ROWS = 1 << 12


def nest_of(told: ToldDescriptor, width: int) -> tuple[Any, ...]:
    """Where a launch begins, its length, and the loops that run again."""
    d = told.descriptor
    dims = tuple((x.reps, x.src_stride, x.dst_stride) for x in placed(d, width) if x.reps != 1)
    return d.request.src, d.request.dst, 0 if d.empty else d.request.length, dims


def phases_of(run: DriverRun, numbers: Sequence[int], setups: Sequence[Setup]) -> list[list[int]]:
    """Launches that lie apart, however they are ordered: all of them, else those between two waits for all. Raises
    MayMeet.
    """
    try:
        _lie_apart(run, numbers, setups)
        return [list(numbers)]
    except MayMeet:
        pass
    out: list[list[int]] = []
    complete = {act.launch: act.complete for act in run.acts}
    for number in numbers:
        if not out or all(n in complete[number] for n in numbers if n < number):
            out.append([])
        out[-1].append(number)
    for phase in out:
        _lie_apart(run, phase, setups)
    return out


def _lie_apart(run: DriverRun, numbers: Sequence[int], setups: Sequence[Setup]) -> None:
    sides = {}
    for n in numbers:
        d, width = run.image.told[n].descriptor, setups[n].backend.address_width
        sides[n] = extent(d, "read", width), extent(d, "write", width)
        _apart(sides[n], sides[n])
    for one, other in combinations(numbers, 2):
        _apart(sides[one], sides[other], writes=True)


def _apart(one: Any, other: Any, *, writes: bool = False) -> None:
    pairs = [(one[0], other[1]), (one[1], other[0]), *([(one[1], other[1])] if writes else [])]
    for first, second in pairs:
        if not (first.end <= second.low or second.end <= first.low):
            raise MayMeet("two launches may share memory")


def _rows_apart(length: Any, dims: Sequence[tuple[Any, Any, Any]]) -> bool:
    """Whether no two rows of a launch write one byte, for each dimension is wider than all within it."""
    reach = length
    for reps, _, wide in dims:
        if not (wide >= reach or -wide >= reach):
            return False
        reach = reach + (reps - 1) * abs(wide)
    return True


def rows_of(told: Sequence[ToldDescriptor], setups: Sequence[Setup]) -> dict[tuple[Any, ...], int]:
    """What launches copy: rows by where they begin, those that follow each other on both sides as one, how often."""
    rows: list[tuple[Poly, Poly, Poly]] = []
    nests: dict[tuple[Any, ...], int] = {}
    for one in told:
        width = max(setup.backend.address_width for setup in setups)
        src, dst, length, dims = nest_of(one, width)
        if not _rows_apart(length, dims):
            raise MayMeet("rows of one launch may write the same")
        counts = [reps for reps, _, _ in dims]
        if any(not isinstance(reps, int) for reps in counts) or prod(counts) + len(rows) > MOST_ROWS:
            polys = tuple(tuple(map(poly_of, dim)) for dim in dims)
            key = (poly_of(src), poly_of(dst), poly_of(length), polys)
            nests[key] = nests.get(key, 0) + 1
            continue
        starts = [(poly_of(src), poly_of(dst))]
        for reps, far, wide in reversed(dims):
            steps = poly_of(far), poly_of(wide)
            starts = [(a + steps[0].scaled(i), b + steps[1].scaled(i)) for a, b in starts for i in range(reps)]
        rows += [(a, b, poly_of(length)) for a, b in starts]
    begins = {(a, b): n for a, b, n in rows}
    if len(begins) < len(rows):
        raise MayMeet("two rows begin at one place")
    ends = {(a + n, b + n): (a, b) for (a, b), n in begins.items()}
    for at in [at for at in begins if at not in ends or ends[at] == at]:
        while (behind := (at[0] + begins[at], at[1] + begins[at])) in begins and behind != at:
            begins[at] = begins[at] + begins.pop(behind)
    return {(*at, n): 1 for at, n in begins.items()} | nests
