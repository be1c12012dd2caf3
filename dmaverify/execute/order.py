"""Who waits for whom: loop bodies, everything that precedes a piece, sets that may run at once.

Knows: pieces as numbers, waiting as bits. Does not know: what a piece does.
Law: bit i of entry j says that piece i ends before piece j begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from dmaverify.execute.outcome import Beyond
from dmaverify.execute.work import RunStep


def bodies_of(steps: Sequence[RunStep]) -> list[int]:
    """Steps in a row with the same loops have one number; a step without loops has its own, below 0."""
    out: list[int] = []
    for index, step in enumerate(steps):
        if not step.loops:
            out.append(-1 - index)
        elif index and out[-1] >= 0 and steps[index - 1].loops == step.loops:
            out.append(out[-1])
        else:
            out.append(index)
    return out


def mask(numbers: Sequence[int]) -> int:
    total = 0
    for number in numbers:
        total |= 1 << number
    return total


def closed(direct: Sequence[int]) -> list[int] | None:
    """Everything that precedes each piece."""
    out: list[int | None] = [None] * len(direct)
    state = [0] * len(direct)
    for root in range(len(direct)):
        stack = [root]
        while stack:
            node = stack[-1]
            if state[node] == 2:
                stack.pop()
                continue
            state[node] = 1
            waiting = [n for n in bits(direct[node]) if state[n] != 2]
            if any(state[n] == 1 for n in waiting):
                return None
            if waiting:
                stack += waiting
                continue
            found = direct[node]
            for n in bits(direct[node]):
                found |= out[n] or 0
            out[node], state[node] = found, 2
            stack.pop()
    return [found or 0 for found in out]


def bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def cliques(near: Sequence[int], beside: Mapping[int, set[int]]) -> Iterator[list[int]]:
    """Every set of steps that may all run at once; the largest ones suffice, since sums only grow."""
    if len(near) > 12:
        raise Beyond("too many accesses beside a transfer")
    for size in range(len(near), 0, -1):
        for group in combinations(near, size):
            if all(b in beside[a] for a, b in combinations(group, 2)):
                yield list(group)
