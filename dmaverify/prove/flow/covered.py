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

from collections.abc import Sequence

from dmaverify.language.affine import ONE, Cond, Lin, both, compare
from dmaverify.program.instructions import CopyTouch
from dmaverify.prove.flow.ask import Asker
from dmaverify.prove.flow.pipe_state import reach_of
from dmaverify.values import replace

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
    claims = [compare("le", start - first), *(compare("le", ONE - count) for (count, _), _ in left)]
    if any(asker.world.decide(claim) is False for claim in claims):
        return False
    if not all(asker.surely(claim, when) for claim in claims):
        return False
    if asker.surely(compare("le", end - start - write.length), when):
        return True
    moved = set[str]().union(*map(asker.world.roots, (start, first, end)))
    for (trip, stride), name in left:
        if not stride.is_const or stride.const <= 0 or name in moved:
            continue
        here = start + Lin(0, ((name, stride.const),)) if name else start
        whole = both([compare("le", stride - write.length), compare("le", end - here - write.length)], "or")
        reaches = compare("le", end - start - trip * stride.const)
        if all(asker.surely(claim, when) for claim in (whole, reaches)):
            return True
    return False


def run_of(write: CopyTouch, loops: Lifted, asker: Asker) -> tuple[Lin, Lin] | None:
    """From where to where a write leaves no byte out, which may be none; None where its levels may leave a gap."""
    world, length = asker.world, write.length
    names = [*([""] * (len(write.steps) - len(loops))), *(name for name, _ in loops)]
    start = write.place.address + write.offset
    moved = world.roots(length) | world.roots(start)
    for (count, stride), name in zip(write.steps, names, strict=True):
        if count == ONE:
            continue
        gap = world.interval(length - stride)[0]
        if name in moved or not stride.is_const or stride.const <= 0 or gap is None or gap < 0:
            return None
        length = world.times(count, stride)
    return None if write.open else (start, start + length)


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
    while near := [run for run in left if at_most(run[0], here)]:
        run = next((run for run in near if at_most(here, run[1])), near[0])
        left.remove(run)
        here = run[1]
        if at_most(end, here):
            return True
    return False
