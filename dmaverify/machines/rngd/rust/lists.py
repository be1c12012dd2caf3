"""Lists of values: what arrays, ranges and iterators give one after another.

Knows: which elements a list has, in order, where they can be counted; what `zip`, `enumerate`, `rev`, `step_by`,
`skip`, `take`, `chunks` and `windows` make of them.
Does not know: syntax, closures.
Law: elements are all of them or none; a list whose elements are not known keeps only what holds for every one.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from dmaverify.machines.rngd.rust.values import Numbers, Sequence, Tuple, Unknown, Value

MAX_LISTED = 4096  # elements of a list that is written out
MAX_SPREAD = 512  # numbers of a range that are taken one by one


def listed(parts: tuple[Value, ...] | list[Value], wanted: Value | None = None) -> Sequence:
    """A list that is written out: numbers as all of them, anything else as its first part."""
    items = tuple(parts)
    numbers = [part for part in items if isinstance(part, Numbers)]
    singles = [part.low for part in numbers if part.single is not None]
    kept = items if 0 < len(items) <= MAX_LISTED else None
    if not items or len(singles) < len(items):
        return Sequence(items[0] if items else wanted or Unknown(""), len(items), kept)
    low, high = min(singles), max(singles)
    step = gcd(*(value - low for value in singles))
    count = (high - low) // step + 1 if step else 1
    whole = len(set(singles)) == count and len(singles) == count
    return Sequence(Numbers(low, high, step, whole), len(items), kept)


def elements(value: Sequence) -> tuple[Value, ...] | None:
    """The elements in order, or None."""
    if value.items is not None:
        return value.items
    part = value.part
    if isinstance(part, Numbers) and part.exact and value.count is not None and value.count <= MAX_SPREAD:
        found = range(part.low, part.high + 1, part.step or 1)
        return tuple(map(Numbers.of, found)) if len(found) == value.count else None
    return None


def range_of(numbers: Numbers) -> Sequence:
    """The list of a range."""
    return Sequence(numbers, (numbers.high - numbers.low) // numbers.step + 1 if numbers.step else 1)


def reshaped_list(name: str, value: Sequence, given: list[Value]) -> Sequence | None:
    """What an adapter makes of a list; None for one that is not known."""
    number = given[0].single if given and isinstance(given[0], Numbers) else None
    own = elements(value)
    if name == "zip":
        other = given[0] if given else None
        if not isinstance(other, Sequence):
            return None
        theirs = elements(other)
        pair = Tuple((value.part, other.part))
        return Sequence(pair) if own is None or theirs is None else _of(pair, own, theirs)
    if name == "enumerate":
        last = (value.count or 1) - 1
        count = Numbers(0, last, 1 if last else 0) if value.count else Unknown("its place in the list")
        pair = Tuple((count, value.part))
        places = tuple(map(Numbers.of, range(len(own)))) if own is not None else ()
        return Sequence(pair, value.count) if own is None else _of(pair, places, own)
    if name == "rev":
        return value if own is None or value.items is None else replace(value, items=own[::-1])
    if name in ("step_by", "skip", "take", "chunks", "chunks_exact", "windows"):
        if own is None or number is None or number < 1:
            return _loose(value)
        return _cut(name, own, number)
    return _loose(value) if name in ("filter", "take_while", "skip_while", "drain", "peekable") else None


def _of(part: Value, first: tuple[Value, ...], second: tuple[Value, ...]) -> Sequence:
    pairs = tuple(Tuple(both) for both in zip(first, second, strict=False))
    return Sequence(part, len(pairs), pairs)


def _cut(name: str, own: tuple[Value, ...], number: int) -> Sequence:
    if name == "step_by":
        return listed(own[::number])
    if name in ("skip", "take"):
        return listed(own[number:] if name == "skip" else own[:number])
    step = 1 if name == "windows" else number
    parts = [own[at : at + number] for at in range(0, len(own), step)]
    if name != "chunks":
        parts = [part for part in parts if len(part) == number]
    return listed([listed(part) for part in parts])


def _loose(value: Sequence) -> Sequence:
    """A list of which some elements may be left out."""
    part = replace(value.part, exact=False) if isinstance(value.part, Numbers) else value.part
    return Sequence(part)
