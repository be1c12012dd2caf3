"""A box of a move as an engine takes it: runs that the length field holds, and the loops around them.

Knows: boxes of loops, the largest length of a run, dimensions of the mid-end, the last live byte of a run.
Does not know: descriptors, prices, which list of them is the cheapest.
Law: a nest moves the bytes of its box, each once, but for padding behind the last live byte of a run where it is
trimmed.

Source: iDMA paper, 2.2 and 3.1 (higher-dimensional transfers in software).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

from dmaverify.language.numbers import largest_part
from dmaverify.layout.addresses import Layout
from dmaverify.program.command import Loop
from dmaverify.synth.regions import AtomNest
from dmaverify.values import dataclass, replace

TRIMMED = 1 << 16
"""Bytes at the end of a run that are looked at for its last live one."""


@dataclass(frozen=True, slots=True)
class BoxNest:
    """A box as a contiguous run of `length` units under loops, at its base addresses."""

    read: int
    write: int
    length: int
    loops: tuple[Loop, ...]


def in_fields(box: AtomNest, field: int) -> list[BoxNest]:
    """The runs of a box as whole fields and a rest."""
    run, chain = box.chain
    loops = [Loop(a.count, a.read, a.write, a.label) for a in box.atoms if a.count > 1 and a not in chain]
    whole, rest = divmod(run, field)
    fields = [Loop(whole, field, field)] if whole > 1 else []
    parts = [(0, field, [*loops, *fields])] * (whole > 0) + [(whole * field, rest, loops)] * (rest > 0)
    return [BoxNest(box.read + at, box.write + at, length, written_order(own)) for at, length, own in parts]


def written_order(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    return tuple(sorted(_merged(loops), key=lambda x: (-abs(x.write), -abs(x.read))))


def nest_of(box: AtomNest, length_max: int) -> BoxNest:
    """The longest contiguous run of a box that fits the length field, and the rest as loops, merged where they can be,
    the largest write stride first.
    """
    loops = [Loop(a.count, a.read, a.write, a.label) for a in box.atoms if a.count > 1]
    length = 1
    while True:
        inner = next((x for x in loops if x.read == x.write == length), None)
        if inner is None:
            break
        loops.remove(inner)
        fits = largest_part(inner.count, length_max // length, 1)
        if fits < inner.count:
            loops.append(Loop(inner.count // fits, length * fits, length * fits, inner.label))
            length *= fits
            break
        length *= inner.count
    return BoxNest(box.read, box.write, length, written_order(loops))


def trimmed(nest: BoxNest, dest: Layout) -> BoxNest:
    """The nest with runs that end at their last live byte: padding behind it need not move.

    Iterations further out have no more live bytes than the first: live values are those below a bound, digit by digit
    and in sum.
    """
    length = nest.length
    for last in range(length - 1, max(-1, length - 1 - TRIMMED), -1):
        values = dest.values_at(nest.write + last)
        if values is not None and dest.kind_at(values) is None:
            return replace(nest, length=last + 1)
    return nest


def _merged(loops: Sequence[Loop]) -> list[Loop]:
    """Any two loops that step as one, as one: order has no meaning here."""
    out = list(loops)
    while True:
        pair = next(
            (
                (a, b) for a in out for b in out
                if a is not b and a.read == b.read * b.count and a.write == b.write * b.count
            ),
            None,
        )  # fmt: skip
        if pair is None:
            return out
        a, b = pair
        out = [x for x in out if x is not a and x is not b]
        label = " ".join(name for name in (a.label, b.label) if name)
        out.append(Loop(a.count * b.count, b.read, b.write, label))


def fewest_unrolled(nest: BoxNest, outer: int) -> tuple[tuple[Loop, ...], tuple[Loop, ...]]:
    """The loops that the mid-end takes, and those that software unrolls: the choice with the fewest descriptors."""
    more = len(nest.loops) - outer
    if more <= 0:
        return nest.loops, ()
    unrolled = min(combinations(nest.loops, more), key=lambda chosen: prod(loop.count for loop in chosen))
    return tuple(loop for loop in nest.loops if not any(loop is other for other in unrolled)), unrolled
