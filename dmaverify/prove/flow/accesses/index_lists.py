"""Whether lists of gathers and scatters that lie in the same bytes can be what the plan states of each of them.

Knows: the numbers or rows that steps state of their lists, the bytes of a list, which steps may write them.
Does not know: what a step writes into a list, whether numbers name rows of their table.
Law: two lists of the same bytes that no step may write between are one list. Where no list is as both state, the plan
assumes what cannot hold; where two lists share bytes otherwise, that they agree is a condition. Pairs alone are asked.

Source: docs/machines/rngd.md 5; docs/design.md (a check proves that its assumptions can hold at all).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import lcm

from dmaverify.lower.programs import space_of
from dmaverify.program.indirect import Indirect, rows_of
from dmaverify.program.schedule import Order, Step
from dmaverify.program.space import unit_bits_of
from dmaverify.program.views import ViewError
from dmaverify.prove.flow.accesses.declarations import list_of, may_share, same_places
from dmaverify.prove.flow.accesses.touches import INDEX, StepWork, Touch
from dmaverify.targets.target import Target
from dmaverify.verdict import Finding, Severity


def shared_lists(
    steps: Sequence[Step], works: Sequence[StepWork], order: Order, target: Target
) -> Iterator[Finding | str]:
    """Lists that share bytes and cannot be what both steps state; in words, those of which that is not known."""
    lists = [(i, step.indirect) for i, step in enumerate(steps) if step.indirect is not None]
    for (i, one), (j, other) in combinations(lists, 2):
        own = [[t for t in works[step].touches if t.what == INDEX] for step in (i, j)]
        if not any(a.memory == b.memory and may_share((a, b)) for a, b in product(*own)):
            continue
        if _written_between(i, j, [*own[0], *own[1]], works, order):
            continue
        both = f"the lists of `{steps[i].name}` and `{steps[j].name}`"
        if not same_places(list_of(i, one, target), list_of(j, other, target)):
            yield f"{both}, which share bytes, are what both state"
        elif why := _conflict(one, other, target):
            said = f"{both} are in the same bytes, nothing writes them in between, and no list is both: {why}"
            yield Finding(
                "core/not-vacuous", Severity.ERROR, said, f"step {steps[j].name}", other.index.span,
                {"first": steps[i].name, "second": steps[j].name},
                hint="give one of them bytes of its own, or say what writes it",
            )  # fmt: skip


def _written_between(i: int, j: int, lists: Sequence[Touch], works: Sequence[StepWork], order: Order) -> bool:
    """Whether a step may write into one of the lists after one step read it and before the other does: of steps in one
    loop in the same iteration.
    """
    for step, work in enumerate(works):
        ways = ((step, i), (step, j)), ((i, step), (j, step))
        apart = any(all(order.step_precedes(a, b) for a, b in way) for way in ways)
        writes = [] if apart else [touch for touch in work.touches if touch.writes]
        if any(w.memory == t.memory and may_share((w, t)) for w, t in product(writes, lists)):
            return True
    return False


def _conflict(one: Indirect, other: Indirect, target: Target) -> str | None:
    """Why no list is as both state, if none is."""
    lists, distinct = (one.index, other.index), one.index.distinct or other.index.distinct
    known = [index.values for index in lists if index.values is not None]
    for values in known:
        for at, pair in enumerate(zip(values, known[-1], strict=False)):
            if pair[0] != pair[1]:
                return f"{one.key} = {at} is {pair[0]} and {pair[1]}"
        if distinct and len(set(values)) < len(values):
            return "a number stands twice, and all are promised to differ"
    promised = [found for move in (one, other) if (found := _promised(move, target)) is not None]
    for (low, high, unit), values in product(promised, known):
        out = next((v for v in values if not low <= v <= high or v % unit), None)
        if out is not None:
            return f"{out} is none of the promised numbers, {low} to {high}"
    if len(promised) == 2:
        unit = lcm(promised[0][2], promised[1][2])
        low, high = max(low for low, _, _ in promised), min(high for _, high, _ in promised)
        if max(0, high // unit - -(-low // unit) + 1) < (one.index.entries if distinct else 1):
            return "no numbers, or too few, are promised by both"
    return None


def _promised(move: Indirect, target: Target) -> tuple[int, int, int] | None:
    """The least and the greatest number that a promise of rows admits, and what all are multiples of."""
    index, unit = move.index, 1
    if index.values is not None or index.low is None or index.high is None:
        return None
    if index.scaled:
        bits = target.dtypes[move.dtype]
        try:
            found = rows_of(move.table, move.axis, move.rows, written=move.scatter)
        except ViewError:
            return None  # refused where the step is judged by itself
        (step,) = found.steps(space_of(target, move.table.tier), bits) or [0]
        unit = step * unit_bits_of(bits) // 8 or 1
    return index.low * unit, index.high * unit, unit
