"""A range of an axis as boxes of its digits: what lies in [low, high), cut from above or from below.

Knows: digits as (weight, count), largest first. Does not know: addresses, padding, why a range ends where it does.
Law: the values of the boxes together are those of the digits in the range, each once.
"""

from __future__ import annotations

from collections.abc import Sequence


def reach(digits: Sequence[tuple[int, int]]) -> int:
    """One more than the greatest value."""
    return 1 + sum(w * (n - 1) for w, n in digits)


def ranges(digits: Sequence[tuple[int, int]], low: int, high: int) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
    """Boxes (first value, digits) whose values are those of the digits in [low, high), the largest digit cut first."""
    end = reach(digits)
    if low <= 0 and end <= high:
        return [(0, tuple(digits))]
    if not digits or low >= end or high <= 0:
        return []
    (weight, count), rest = digits[0], digits[1:]
    span = reach(rest)
    out: list[tuple[int, tuple[tuple[int, int], ...]]] = []
    first = min(count, max(0, -(-low // weight)))
    last = min(count, max(first, (high - span) // weight + 1 if high >= span else first))
    partial = [v for v in (first - 1,) if v >= 0] + [v for v in (last,) if v < count]
    if last > first:
        out.append((first * weight, ((weight, last - first), *rest)))
    for value in partial:
        out += [
            (value * weight + x, ((weight, 1), *s))
            for x, s in ranges(rest, low - value * weight, high - value * weight)
        ]
    return out


def low_first(digits: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
    """The values below the limit, cut at the smaller digits: each value of them with as many of the largest as fit."""
    if not digits or reach(digits) <= limit:
        return ranges(digits, 0, limit)
    (weight, count), rest = digits[0], digits[1:]
    whole, over = divmod(limit, weight)
    if whole >= count or reach(rest) > weight or not over or not whole:
        return ranges(digits, 0, limit)
    out = [(x, ((weight, whole + 1), *shape)) for x, shape in ranges(rest, 0, over)]
    return out + [(x, ((weight, whole), *shape)) for x, shape in ranges(rest, over, weight)]
