"""What copy instructions cost, as named terms with their basis: instructions, bytes in the buffer, lines in memory.

Knows: the parametric model (issue, rounded bytes, lines of global memory) and its constants from a target's data.
Does not know: contention, overlap of pipes beyond the largest, any measured figure of the machine.
Law: every term says what it counts, its resource and where its constant comes from; nothing is passed off as measured.

Source: the target's `[cost]` table (A2/A3 model figures; no A5 figure is public).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmaverify.errors import InputError
from dmaverify.transfer.instructions import Copy, Loop, Touch

MOST_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a cost in cycles: what it counts, how many of it, the resource, why, where the constant comes from."""

    name: str
    cycles: float
    resource: str
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class CopyCost:
    """Terms of one copy, times the iterations of the loops around it."""

    line: int
    pipe: str
    times: int
    terms: tuple[Term, ...]

    @property
    def cycles(self) -> float:
        return self.times * sum(term.cycles for term in self.terms)


def price(copies: Sequence[tuple[Copy, tuple[Loop, ...]]], constants: Mapping[str, Any]) -> list[CopyCost]:
    """The cost of every copy. Raises InputError where a count or a length is no number."""
    return [_one(copy, loops, constants) for copy, loops in copies]


def _one(copy: Copy, loops: Sequence[Loop], constants: Mapping[str, Any]) -> CopyCost:
    times = 1
    for loop in loops:
        if not loop.trip.is_const:
            raise InputError(
                "a loop around this copy has no fixed number of iterations", copy.span, "give its bounds as numbers"
            )
        times *= loop.trip.const
    numbers = [copy.row, *(n for step in copy.steps for n in (step.count, step.read, step.write))]
    if not all(n.is_const for n in numbers):
        raise InputError(
            "an operand of this copy is no number, so it has no price", copy.span, "give its arguments as numbers"
        )
    rows = 1
    for step in copy.steps:
        rows *= step.count.const
    source, basis = str(constants["source"]), str(constants["basis"])
    block = sum(t.length.const * _count(t) for t in copy.touches if t.writes or t.kind == "surplus")
    block = max(block, -(-copy.row.const // 32) * 32 * rows)
    rate = float(constants["ub_bytes_per_cycle"])
    terms = [
        Term(
            "issue",
            float(constants["issue_cycles"]),
            copy.pipe,
            "one instruction, its registers included",
            f"parameter; {basis}",
        ),
        Term(
            "buffer",
            block / rate,
            "UB",
            f"{block:,} bytes in blocks of 32, tails and padding included",
            f"parameter; {basis}",
        ),
    ]
    if copy.kind != "local":
        gm = next(t for t in copy.touches if t.place.space == "gm" and t.kind in ("read", "data"))
        line = int(constants["gm_line_bytes"])
        lines = _lines(gm, line)
        speed = float(constants[f"{copy.kind}_bytes_per_cycle"])
        terms.append(
            Term(
                "lines",
                lines * line / speed,
                "GM",
                f"{lines:,} lines of {line} bytes for {rows * copy.row.const:,} bytes",
                source,
            )
        )
    return CopyCost(copy.span.line, copy.pipe, times, tuple(terms))


def _count(touch: Touch) -> int:
    total = 1
    for count, _ in touch.steps:
        total *= count.const
    return total


def _lines(touch: Touch, line: int) -> int:
    """Lines that the rows touch, each row by itself; from the worst row on where there are very many."""
    base = touch.place.address.const + touch.offset.const if touch.place.address.is_const else 0
    starts = [base]
    for count, stride in touch.steps:
        if len(starts) * count.const > MOST_ROWS:
            return _count(touch) * ((touch.length.const + line - 2) // line + 1)
        starts = [s + stride.const * i for i in range(count.const) for s in starts]
    return sum((s + touch.length.const - 1) // line - s // line + 1 for s in starts)


def as_data(costs: Sequence[CopyCost]) -> dict[str, Any]:
    """`cycles` is the busiest pipe: pipes run beside each other where flags let them."""
    pipes: dict[str, float] = {}
    for cost in costs:
        pipes[cost.pipe] = pipes.get(cost.pipe, 0.0) + cost.cycles
    terms = [
        {
            "name": f"line {c.line} {t.name}",
            "cycles": t.cycles * c.times,
            "resource": t.resource,
            "why": t.why,
            "source": t.source,
        }
        for c in costs
        for t in c.terms
    ]
    return {
        "cycles": max(pipes.values(), default=0.0),
        "profile": "book",
        "pipes": pipes,
        "terms": terms,
        "exact": False,
    }
