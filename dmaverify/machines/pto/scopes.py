"""Statements of vector scopes that are no accesses: barriers of memory.

Knows: their kinds. Does not know: what a kind orders.
Law: as of all statements, nothing is computed here.

Source: PTO v0.6 (`mem_bar`).
"""

from __future__ import annotations

from dmaverify.machines.pto.ops import Stmt
from dmaverify.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class MemoryBarrier(Stmt):
    """Which accesses of UB wait for which before them, by the name of the kind (`VST_VLD`: loads for stores)."""

    kind: str = ""
