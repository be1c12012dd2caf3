"""Whether bytes read lie among bytes written before, where both depend on symbols.

Knows: rows of two nests, the blocks that a loop writes one behind the other with a shorter last one, rows that follow
each other.
Does not know: order of issue, states of bytes, machines, which loops are around both.
Law: yes is said only where for all values of the symbols every byte of the read is in some row of the write, whose
loops have run. A level of the read goes with a level of the write that steps alike at least as often; of all others the
read counts from its first to its last byte, the write at its first index, but for one whose blocks leave no gap.

Proof of the last form: blocks start at b, b + f, ..., one for each k below the trip; the read is [r, e), b <= r and
e <= b + f * trip. A byte x of it has k = floor((x - b) / f) in range; block k is at least f long, or reaches e.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.language.affine import ONE, ZERO, Cond, Lin, World, both, compare
from dmaverify.program.instructions import CopyTouch
from dmaverify.prove.flow.accesses.ask import Asker
from dmaverify.prove.flow.accesses.reached import reach_of
from dmaverify.values import replace

Level = tuple[tuple[Lin, Lin], str]  # how often and how far a write steps, and for which counter of a loop
Lifted = tuple[tuple[str, Lin], ...]  # counters of loops that are followed once for all iterations, with their trips


def holds_all(
    asker: Asker, read: CopyTouch, write: CopyTouch, loops: Lifted, when: Sequence[Cond], *, alike: bool
) -> bool:
    """`write` has its `loops`, which the read is not in, as its last steps; levels are compared where they are
    `alike`.
    """
    if read.place.memory != write.place.memory or read.open or write.open:
        return False
    names = [*([""] * (len(write.steps) - len(loops))), *(name for name, _ in loops)]
    left, rest = list(zip(write.steps, names, strict=True)), []
    for count, stride in read.steps:
        found = (
            level for level in left
            if alike and level[0][1] == stride
            and (level[0][0] == count or asker.surely(compare("le", count - level[0][0]), when))
        )  # fmt: skip
        if (level := next(found, None)) is not None:
            left.remove(level)
        elif count != ONE:
            rest.append((count, stride))
    low, high = reach_of(replace(read, steps=tuple(rest)), asker.world)
    start, first = write.place.address + write.offset, read.place.address + read.offset
    end, first = first + high, first + low
    return _held_by(asker, (start, write.length), (first, end), left, when) or (
        (row := _row_of((start, write.length), first, left, asker.world)) is not None
        and all(asker.surely(claim, when) for claim in row[2])
        and _held_by(asker, row[0], (first, end), row[1], when)
    )


def _row_of(
    write: tuple[Lin, Lin], first: Lin, levels: Sequence[Level], world: World
) -> tuple[tuple[Lin, Lin], list[Level], list[Cond]] | None:
    """The row of a write at the index that the first byte of a read tells by its terms, where there is that row; None
    where that is the first one.
    """
    (start, length), left, claims = write, list[Level](), list[Cond]()
    for level in sorted(levels, key=lambda one: one[0][1].const, reverse=True):
        (count, stride), name = level
        gap, step = first - start, stride.const
        at = ZERO
        if stride.is_const and step > 0 and name not in world.roots(start):
            at = Lin(gap.const // step, tuple((n, f // step) for n, f in gap.terms if f % step == 0))
        if at == ZERO:
            left.append(level)
            continue
        claims += [compare("le", -at), compare("le", at + ONE - count)]
        start = start + at * step
        length = world.put(length, {name: at}) if name else length
    return ((start, length), left, claims) if claims else None


def _held_by(
    asker: Asker, write: tuple[Lin, Lin], read: tuple[Lin, Lin], left: Sequence[Level], when: Sequence[Cond]
) -> bool:
    """Whether the first row of a write, or blocks of one of its levels, hold all from one byte to another, if any."""
    (start, length), (first, end) = write, read
    claims = [compare("le", start - first), *(compare("le", ONE - count) for (count, _), _ in left)]
    if any(asker.world.decide(claim) is False for claim in claims):
        return False
    if not all(asker.surely(claim, when) for claim in claims):
        return False
    none = compare("le", end - first)
    if asker.surely(both([compare("le", end - start - length), none], "or"), when):
        return True
    moved = set[str]().union(*map(asker.world.roots, (start, first, end)))
    for (trip, stride), name in left:
        if not stride.is_const or stride.const <= 0 or name in moved:
            continue
        here = start + Lin(0, ((name, stride.const),)) if name else start
        whole = both([compare("le", stride - length), compare("le", end - here - length), none], "or")
        reaches = both([compare("le", end - start - trip * stride.const), none], "or")
        if all(asker.surely(claim, when) for claim in (whole, reaches)):
            return True
    return False


def runs_around(
    asker: Asker,
    write: CopyTouch,
    loops: Lifted,
    first: Lin,
    when: Sequence[Cond],
    steps: Sequence[tuple[Lin, Lin]] = (),
) -> Iterator[tuple[Lin, Lin]]:
    """From where to where a write leaves no byte out, which may be none: all of it, or its row around a byte; at one
    index of levels (`steps`) of a read, each of which the write has as well.
    """
    names = [*([""] * (len(write.steps) - len(loops))), *(name for name, _ in loops)]
    start, left = write.place.address + write.offset, list(zip(write.steps, names, strict=True))
    for count, stride in steps:
        same = (one for one in left if one[0][1] == stride and one[1] not in asker.world.roots(write.length))
        level = next((one for one in same if asker.surely(compare("le", count - one[0][0]), when)), None)
        if level is None:
            return
        left.remove(level)
    found = [((start, write.length), left)]
    row = _row_of(found[0][0], first, left, asker.world)
    if row is not None and all(asker.surely(claim, when) for claim in row[2]):
        found.append(row[:2])
    for (begin, length), levels in found:
        if (whole := _without_gaps(length, levels, asker.world)) is not None and not write.open:
            yield begin, begin + whole


def _without_gaps(length: Lin, levels: Sequence[Level], world: World) -> Lin | None:
    """How long rows are together that leave no gap; None where they may leave one."""
    moved = world.roots(length)
    for (count, stride), name in levels:
        if count == ONE:
            continue
        gap = world.interval(length - stride)[0]
        if name in moved or not stride.is_const or stride.const <= 0 or gap is None or gap < 0:
            return None
        length = world.times(count, stride)
    return length


def holds_in_turn(asker: Asker, read: CopyTouch, runs: Sequence[tuple[Lin, Lin]], when: Sequence[Cond]) -> bool:
    """Whether all from the first byte of a read to its last lies in runs, each of which begins where others end; where
    they surely get further that way, that first.
    """

    def at_most(one: Lin, other: Lin) -> bool:
        claim = compare("le", one - other)
        known = asker.world.decide(claim)
        return asker.surely(claim, when) if known is None else known

    low, high = reach_of(read, asker.world)
    start = read.place.address + read.offset
    here, end = start + low, start + high
    left = [run for run in runs if asker.world.decide(compare("le", run[1] - here)) is not True]
    done = compare("le", end - here)  # where it ends before all that was reached, no more is needed
    while True:
        near = [run for run in left if asker.world.decide(compare("le", run[0] - here)) is not False]
        near = [run for run in near if asker.surely(both([compare("le", run[0] - here), done], "or"), when)]
        if not near:
            return False
        run = next((run for run in near if at_most(here, run[1])), near[0])
        left.remove(run)
        here = run[1]
        done = both([done, compare("le", end - here)], "or")
        if asker.surely(done, when):
            return True
