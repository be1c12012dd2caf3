"""Numbers of a copy that are right in another unit: bytes for elements, elements for bytes.

Knows: addresses and strides of a copy, the bytes of its elements.
Does not know: machines, rules.
Law: a unit is named only where the same number in the other unit mends what was found; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmaverify.language.affine import Cond, Lin, both, compare
from dmaverify.program.instructions import Copy
from dmaverify.prove.flow.accesses.ask import Asker


def wrong_reach(
    copy: Copy, side: str, ends: tuple[Lin, Lin], extent: int | Lin, asker: Asker, when: Sequence[Cond]
) -> Iterator[str]:
    """Why a side leaves its tensor, if an offset or a stride is one unit too large."""
    place = copy.read if side == "read" else copy.write
    item, (low, end) = place.item_bytes, ends
    if item < 2:
        return

    def fits(first: Lin, last: Lin) -> bool:
        return asker.surely(both([compare("le", -first), compare("le", last - extent)]), when)

    kind = f"{place.dtype} ({item} bytes)" if place.dtype else f"{item} bytes"
    at = place.address
    if (at.terms or at.const) and not any(n % (item * item) for n in (at.const, *(f for _, f in at.terms))):
        fewer = Lin(at.const // item, tuple((name, f // item) for name, f in at.terms))
        size = end - low
        apart = size.is_const and all(abs(f) >= size.const for _, f in fewer.terms)  # tiles would not overlap
        if apart and fits(low - at + fewer, end - at + fewer):
            yield f"offsets of pointers count elements of {kind}: as bytes, this one would stay in the tensor"
            return
    for step in copy.steps:
        stride = step.read if side == "read" else step.write
        if not (stride.is_const and step.count.is_const and copy.row.is_const) or stride.const % item:
            continue
        less = stride.const // item
        if less >= copy.row.const and fits(low, end - (step.count.const - 1) * (stride.const - less)):
            yield (
                f"strides count bytes: {less:,} instead of {stride.const:,} (times {item} once too often) would stay "
                "in the tensor"
            )
            return


def wrong_stride(copy: Copy) -> Iterator[str]:
    """Why rows overlap in the destination, if a stride is given in elements."""
    item = copy.write.item_bytes
    for step in copy.steps[:1]:
        stride, other = step.write, step.read
        if item < 2 or not (stride.is_const and copy.row.is_const) or not 0 < stride.const < copy.row.const:
            continue
        whole = stride.const * item
        if whole in (copy.row.const, other.const if other.is_const else 0):
            kind = copy.write.dtype or f"{item} bytes each"
            yield f"strides count bytes: {stride.const:,} elements of {kind} are {whole:,} bytes"
