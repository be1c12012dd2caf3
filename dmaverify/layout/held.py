"""Which coordinates of an axis digits hold, and the first that one side asks for and the other lacks.

Knows: digits of one axis as sums of arithmetic progressions.
Does not know: addresses, machines; what guards of several digits leave.
Law: `first_absent` gives the least coordinate that is a sum of `wanted` and no sum of `offered`, or None where there is
none; both sides hold 0. It cuts both at weights that divide all weights above them, so that what is listed are the
values between two such cuts, not the values of the axis; beyond MOST_VALUES it raises `TooMany`.

Progressions are (weight, values): {0, weight, .., weight * (values - 1)}.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dmaverify.layout.addresses import Layout
from dmaverify.layout.digits import Gap

MOST_VALUES = 1 << 20
Progression = tuple[int, int]


class TooMany(Exception):
    """The values between two common cuts are too many to be listed."""


def first_absent(wanted: Sequence[Progression], offered: Sequence[Progression]) -> int | None:
    """The least sum of `wanted` that is no sum of `offered`. Raises TooMany."""
    wanted, offered = ([p for p in side if p[1] > 1] for side in (wanted, offered))
    scale, best = 1, None
    while wanted or offered:
        cut = _cut(wanted, offered)
        low = [[p for p in side if cut is None or p[0] < cut] for side in (wanted, offered)]
        absent = _listed(low[0], low[1])
        if absent is not None and (best is None or absent * scale < best):
            best = absent * scale
        if cut is None:
            break
        wanted, offered = ([(w // cut, n) for w, n in side if w >= cut] for side in (wanted, offered))
        scale *= cut
    return best


def tells_held(source: Layout, dest: Layout) -> bool:
    """Whether each digit of the destination is held by the source as a whole, or moves nothing that it holds."""
    if source.offsets or any(len(guard.terms) > 1 and guard.kind is not Gap.VOID for guard in source.guards):
        return False
    held: dict[str | None, list[Progression]] = {}
    for digit in source.digits:
        held.setdefault(digit.axis, []).append((digit.weight, digit.live))
    return all(
        digit.weight * digit.live <= low
        or (digit.weight % low == 0 and digit.weight * digit.live <= low * count)
        or digit.weight % (low * count) == 0
        for digit in dest.digits
        if digit.axis is not None
        for low, count in _joined(held.get(digit.axis, ()))
    )


def _cut(wanted: Iterable[Progression], offered: Iterable[Progression]) -> int | None:
    """The least weight above which all weights are its multiples, and below which no side reaches it."""
    every = [*wanted, *offered]
    for cut in sorted({w for w, _ in every if w > 1}):
        above = all(w % cut == 0 for w, _ in every if w >= cut)
        reaches = [sum(w * (n - 1) for w, n in side if w < cut) for side in (wanted, offered)]
        if above and max(reaches) < cut:
            return cut
    return None


def _listed(wanted: Sequence[Progression], offered: Sequence[Progression]) -> int | None:
    wanted, offered = _joined(wanted), _joined(offered)
    if len(wanted) <= 1 and len(offered) <= 1 and all(w == 1 for w, _ in (*wanted, *offered)):
        here, there = (side[0][1] if side else 1 for side in (wanted, offered))
        return there if here > there else None
    if not Counter(wanted) - Counter(offered):
        return None
    return min(values_of(wanted) - values_of(offered), default=None)


def _joined(digits: Iterable[Progression]) -> list[Progression]:
    """The same sums with progressions that continue each other as one."""
    out: list[Progression] = []
    for weight, count in sorted(digits):
        if out and out[-1][0] * out[-1][1] == weight:
            weight, count = out[-1][0], out.pop()[1] * count
        out.append((weight, count))
    return out


def values_of(digits: Iterable[Progression]) -> set[int]:
    """Every sum. Raises TooMany."""
    out = {0}
    for weight, count in digits:
        if len(out) * count > MOST_VALUES:
            raise TooMany
        out = {value + weight * i for value in out for i in range(count)}
    return out


def one_nest(points: Sequence[tuple[int, ...]]) -> bool:
    """Whether the points are the sums of progressions, each point once: what one nest of loops visits.

    The first components must differ and the points be sorted. The least difference to the first point is then a step
    of the nest, so only its count has to be tried.
    """
    if len(points) == 1:
        return True
    first, step = points[0], tuple(b - a for a, b in zip(points[0], points[1], strict=True))
    known = set(points)
    run = 1
    while tuple(a + run * s for a, s in zip(first, step, strict=True)) in known:
        run += 1
    for count in range(run, 1, -1):
        if len(points) % count == 0:
            starts = _starts(points, step, count)
            if starts is not None and one_nest(starts):
                return True
    return False


def _starts(points: Sequence[tuple[int, ...]], step: tuple[int, ...], count: int) -> list[tuple[int, ...]] | None:
    """The first points of runs of `count` steps that partition the points; None where they do not."""
    left, out = set(points), []
    for point in points:
        if point not in left:
            continue
        run = {tuple(a + i * s for a, s in zip(point, step, strict=True)) for i in range(count)}
        if not run <= left:
            return None
        left -= run
        out.append(point)
    return out
