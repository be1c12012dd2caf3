"""The digits of a tensor as loops that step over pieces of its axes.

Knows: the digits of a mapping, the cuts that the other sides of its moves make.
Does not know: layouts, moves, machines.
Law: the pieces of a tensor hold each of its elements once, in the order in which it lies; None where padding that is
not free or replicas are part of what it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dmaverify.language.expr import ONE, Kind, Padding, axes_of, walk
from dmaverify.layout.digits import Digit, NotDigits, compile_digits
from dmaverify.program.tensor import Tensor
from dmaverify.synth.atoms import Atom


def pieces_of(tensor: Tensor, others: Sequence[Tensor]) -> list[Atom] | None:
    """The digits of a tensor, cut where the other sides cut; None where padding or replicas are part of what it holds,
    or where it has no digits.
    """
    kinds = {one.kind for one in walk(tensor.mapping) if isinstance(one, Padding)}
    try:
        form = compile_digits(tensor.mapping)
    except NotDigits:
        return None
    live = [d for d in form.digits if d.live > 1]
    if kinds - {Kind.TOP} or any(d.axis is None for d in live) or tensor.chip != ONE:
        return None
    out: list[Atom] = []
    sizes = axes_of(tensor.mapping)
    for digit in live:
        assert digit.axis is not None
        for weight, count in cut_at(digit, cuts_of(digit.axis, others)):
            out.append(Atom(digit.axis, weight, count, digit.step * weight // digit.weight, 0, sizes[digit.axis]))
    return sorted(out, key=lambda a: -a.read)


def cuts_of(axis: str, others: Sequence[Tensor]) -> set[int]:
    """Where the other sides cut an axis."""
    out: set[int] = set()
    for other in others:
        try:
            digits = compile_digits(other.mapping).digits
        except NotDigits:
            continue
        out |= {n for d in digits if d.axis == axis for n in (d.weight, d.weight * d.live)}
    return out


def cut_at(digit: Digit, cuts: set[int]) -> list[tuple[int, int]]:
    """(weight, count) of the parts of a digit, outer to inner; whole where the cuts are no chain."""
    top = digit.weight * digit.live
    chain = [digit.weight, *sorted(c for c in cuts if digit.weight < c < top), top]
    if digit.live != digit.slots or any(high % low for low, high in pairwise(chain)):
        return [(digit.weight, digit.live)]
    return [(low, high // low) for low, high in pairwise(chain)][::-1]
