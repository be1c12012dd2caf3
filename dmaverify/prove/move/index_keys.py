"""The cells of an index against the keys of its gather or scatter: one number for each key, and none beside them.

Knows: the literal cells of mappings, the digits of a key. Does not know: what the numbers are, rows, machines, where a
mapping is written.
Law: no fault means that every key has exactly one place in the element mapping of the index, alike in all of its outer
places (copies of a list over slices or chips are one list), and that the index holds nothing else. A fault names a key
that has no number or several, or a number that no key asks for.

Source: docs/machines/rngd.md 5 (`out[.., k, ..] = table[.., index[k], ..]`), 7.1 (a read leaves no live cell).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from math import prod

from dmaverify.language.expr import Expr, axes_of, pair, terms_of
from dmaverify.language.served import first_repeated, first_unserved
from dmaverify.layout.digits import NotDigits, compile_digits
from dmaverify.values import dataclass


class Lack(Enum):
    """What is wrong with the numbers of a key."""

    NO_KEY = "has a number in the index, and is no key"
    NONE = "has no number in the index"
    MANY = "has several numbers in the index"


@dataclass(frozen=True, slots=True)
class KeyFault:
    """The first place where an index and its keys part."""

    lack: Lack
    at: Mapping[str, int]

    @property
    def told(self) -> str:
        where = ", ".join(f"{axis.split('~')[0]} = {value}" for axis, value in self.at.items()) or "the one key"
        return f"{where} {self.lack.value}"


def key_fault(places: Sequence[Expr], element: Expr, wanted: Expr, keys: Sequence[str]) -> KeyFault | None:
    """What parts an index (its outer places, its element mapping) from the keys, which are the cells of `wanted` on the
    axes `keys`. Raises TooManyCells.
    """
    index = pair(*(term for place in places for term in terms_of(place) if axes_of(term)), element)
    wanted = pair(*(term for term in terms_of(wanted) if not axes_of(term).keys().isdisjoint(keys)))
    own = [*keys, *(axis for axis, size in axes_of(index).items() if size > 1 and axis not in keys)]
    for lack, found, axes in (
        (Lack.NO_KEY, first_unserved(wanted, index, own), own),
        (Lack.NONE, first_unserved(index, wanted, keys), keys),
        (Lack.MANY, first_repeated(index, element.size), own),
    ):
        if found is not None:
            named = {axis: value for axis, value in found.items() if axis in axes}
            return KeyFault(lack, named or dict.fromkeys(axes, 0))
    return None


def copied_within(element: Expr, places: Sequence[Expr], keys: Sequence[str]) -> bool:
    """Whether the lowest digits of some key, which an index (all its places) lacks, all lie in one element mapping."""
    try:
        held, listed = compile_digits(element).digits, compile_digits(pair(*places)).digits
    except NotDigits:
        return False
    for key in keys:
        lowest = min([d.weight for d in listed if d.axis == key] or [1])
        if 1 < lowest == prod(d.live for d in held if d.axis == key and d.weight < lowest):
            return True
    return False
