"""Conditions that bound one and the same sum of symbols: which of them say what, without a solver.

Knows: comparisons with the same terms as bounds of one sum. Does not know: what the symbols are, any other condition.
Law: facts that come back say together what those that went in said; what is not told by bounds alone is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dmaverify.language.affine import Cond, Lin, compare

Terms = tuple[tuple[str, int], ...]
Bounds = tuple[int | None, int | None]


def bound_of(condition: Cond) -> tuple[Terms, Bounds] | None:
    """A comparison as the least and the greatest value of a sum whose first factor is positive."""
    if condition.op not in ("lt", "le") or not condition.left.terms:
        return None
    left = condition.left
    most = -left.const - (condition.op == "lt")
    if left.terms[0][1] > 0:
        return left.terms, (None, most)
    return (-left).terms, (-most, None)


def told(facts: Iterable[Cond], condition: Cond) -> bool | None:
    """Whether the bounds among facts that hold together make the condition true, or false."""
    found = bound_of(condition)
    if found is None:
        return None
    terms, (low, high) = found
    for fact in facts:
        known = bound_of(fact)
        if known is None or known[0] != terms:
            continue
        least, most = known[1]
        if (high is not None and most is not None and most <= high) or (
            low is not None and least is not None and least >= low
        ):
            return True
        if (high is not None and least is not None and least > high) or (
            low is not None and most is not None and most < low
        ):
            return False
    return None


def narrowed(facts: Sequence[Cond], condition: Cond) -> tuple[Cond, ...]:
    """Facts with one more, without those that it makes true; as they were where they make it true."""
    if told(facts, condition):
        return tuple(facts)
    return (*(fact for fact in facts if not told((condition,), fact)), condition)


def united(cases: Sequence[Sequence[Cond]]) -> tuple[Cond, ...] | None:
    """What all cases say together where each bounds the same sum, and they leave no gap; None elsewhere."""
    ranges: list[Bounds] = []
    sums: set[Terms] = set()
    for case in cases:
        low: int | None = None
        high: int | None = None
        for fact in case:
            found = bound_of(fact)
            if found is None:
                return None
            sums.add(found[0])
            least, most = found[1]
            low = least if low is None else low if least is None else max(low, least)
            high = most if high is None else high if most is None else min(high, most)
        ranges.append((low, high))
    if len(sums) != 1:
        return None
    ranges.sort(key=lambda one: (one[0] is not None, one[0] or 0))
    first, end = ranges[0]
    for low, high in ranges[1:]:
        if end is not None and low is not None and low > end + 1:
            return None
        end = None if end is None or high is None else max(end, high)
    total = Lin(0, sums.pop())
    made = [compare("le", Lin(first) - total)] if first is not None else []
    return tuple([*made, compare("le", total - end)] if end is not None else made)
