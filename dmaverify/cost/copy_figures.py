"""The figures by which copy instructions are priced, read from a machine's data.

Knows: `[cost]` of a machine that moves by copy instructions. Does not know: copies, how a cost is composed, kinds of
values (`targets.sections`).
Law: a figure that is missing, or that no copy could take, is refused with what stands in its place; nothing is priced
by another machine's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmaverify.errors import InputError
from dmaverify.targets.sections import MOST
from dmaverify.targets.target import Target
from dmaverify.values import dataclass

FIGURES = ("issue_cycles", "ub_bytes_per_cycle", "gm_line_bytes")
RATES = ("load", "store", "local")


@dataclass(frozen=True, slots=True)
class CopyFigures:
    """Cycles of an instruction, bytes a cycle of the buffer and of each kind of copy, bytes of a line, their origin."""

    issue: float
    buffer: float
    line: int
    rates: Mapping[str, float]
    source: str
    basis: str


def states_copies(target: Target) -> bool:
    """Whether a machine states what its copy instructions cost."""
    table = target.raw.get("cost", {})
    return any(name in table for name in FIGURES)


def copy_figures(target: Target) -> CopyFigures:
    """The figures of a machine. Raises InputError for the first that is missing, or that no copy could take."""
    table: Mapping[str, Any] = target.raw.get("cost", {})

    def stated(name: str, least: str) -> Any:
        if name not in table:
            raise InputError(f"{target.name}: [cost] has no `{name}`", None, f"state `{name}`, {least}")
        return table[name]

    def number(name: str, least: str = "a number of bytes a cycle above 0", *, from_0: bool = False) -> Any:
        value = stated(name, least)
        if value < 0 or (value < 1 / MOST and not from_0):
            raise InputError(f"{target.name}: [cost] says {name} = {value}", None, f"state {least}")
        return value

    issue, buffer, line = FIGURES
    return CopyFigures(
        float(number(issue, "a number of cycles, 0 or more", from_0=True)),
        float(number(buffer)),
        number(line, "a whole number of bytes above 0"),
        {kind: float(number(f"{kind}_bytes_per_cycle")) for kind in RATES},
        stated("source", "where the figures are from"),
        stated("basis", "what they rest on"),
    )
