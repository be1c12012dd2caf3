"""What is found about a program: the status of each core obligation, and the violated claims.

Knows: the obligations in their order, how a violation is located (command, counters, cell).
Does not know: how anything is decided or told.
Law: counters belong to their command, loops outer to inner, then the unit in the burst.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmaverify.layout.refine import Joint
from dmaverify.values import dataclass, field

OBLIGATIONS = (
    "core/in-bounds",
    "core/same-element",
    "core/covers",
    "core/writes-once",
    "core/reads-live",
    "core/padding",
    "core/consumes",
    "core/not-vacuous",
)


@dataclass(frozen=True, slots=True)
class Broken:
    """A violated claim. Counters belong to `command` (loops outer to inner, then the unit in the burst)."""

    obligation: str
    part: str
    command: int | None = None
    counters: tuple[int, ...] | None = None
    other: tuple[int, tuple[int, ...]] | None = None  # the second writer of a double write
    position: int | None = None  # global address of a cell (covers, consumes, zero-unwritten)
    count: int | None = None  # how many units, where an enumeration counted them


@dataclass(frozen=True)
class CoreResult:
    """`status` per obligation id; `broken` in the order of the obligations."""

    status: Mapping[str, str]
    broken: tuple[Broken, ...]
    by: str
    why: str = ""
    joint: Joint | None = None
    units: int = 0
    decided: Mapping[str, str] = field(default_factory=dict)  # who decided an obligation, where that is not `by`

    def by_of(self, name: str) -> str:
        """The label of one obligation."""
        said = self.decided.get(name, self.by)
        return f"{said} ({self.why})".strip() if self.why else said
