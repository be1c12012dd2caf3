"""Whether bytes read lie among bytes written before, where both depend on symbols.

Knows: one block of bytes, and the blocks that a loop writes one behind the other with a shorter last one.
Does not know: order of issue, states of bytes, machines.
Law: `covers` says yes only if for all values of the symbols every byte of the read is in some block of the write, and
the loops of the write have run: those around the read are at the same iteration, all others have ended.

Proof of the second form: blocks start at b, b + f, ..., one for each k below the trip; the read is [r, e), b <= r and
e <= b + f * trip. A byte x of it has k = floor((x - b) / f) in range; block k is at least f long, or reaches e.
"""

from __future__ import annotations

from collections.abc import Sequence

from dmaverify.language.affine import ONE, ZERO, Cond, Lin, both, compare
from dmaverify.program.instructions import CopyTouch
from dmaverify.prove.flow.ask import Asker
from dmaverify.prove.flow.pipe_state import reach_of

Lifted = tuple[tuple[str, Lin], ...]  # counters of loops that are followed once for all iterations, with their trips


def covers(
    asker: Asker, read: CopyTouch, around: Lifted, write: CopyTouch, loops: Lifted, when: Sequence[Cond]
) -> bool:
    """`read` has the counters of the loops `around` it as symbols; `write` has its `loops` as its last steps."""
    if read.place.memory != write.place.memory or write.open or read.open:
        return False
    inside = {name for name, _ in around}
    own = write.steps[: len(write.steps) - len(loops)]
    if any(count != ONE for count, _ in own):
        return False
    start = write.place.address + write.offset
    low, high = reach_of(read, asker.world)
    first = read.place.address + read.offset
    first, end = first + low, first + high
    claims: list[Cond] = []
    moving: list[tuple[str, Lin, Lin]] = []
    for (name, trip), (_, stride) in zip(loops, write.steps[len(own) :], strict=True):
        if name not in inside:
            claims.append(compare("le", ONE - trip))
        if stride != ZERO:
            moving.append((name, trip, stride))
    if not moving:
        claims += [compare("le", start - first), compare("le", end - start - write.length)]
    elif len(moving) == 1 and moving[0][2].is_const and moving[0][2].const > 0:
        name, trip, stride = moving[0]
        if name in inside or name in asker.world.roots(start) | asker.world.roots(end) | asker.world.roots(first):
            return False
        here = start + Lin(0, ((name, stride.const),))
        whole = compare("le", stride - write.length)
        claims += [
            compare("le", start - first),
            both([whole, compare("le", end - here - write.length)], "or"),
            compare("le", end - start - trip * stride.const),
        ]
    else:
        return False
    return all(asker.surely(claim, when) for claim in claims)
