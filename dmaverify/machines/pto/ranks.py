"""Statements by which ranks talk through global memory: signals, copies to and from other ranks, visibility fences.

Knows: what each names. Does not know: texts (`rank_reader`), values, order.
Law: as of all statements, nothing is computed here.

Source: PTO IR manual, communication operations; PTO toolchain, memory consistency (2026-08).
"""

from __future__ import annotations

from dmaverify.machines.pto.ops import Operand, Stmt
from dmaverify.values import dataclass

COMM = "COMM"
"""The lane of copies between ranks: which pipes run them is not documented, so that barriers of all pipes alone order
them.
"""
FENCED = ("MTE2", "MTE3", "FIX")
"""Pipes that a visibility fence drains, each for itself."""


@dataclass(frozen=True, slots=True, eq=False)
class RankSignal(Stmt):
    """Elements of a signal that the scalar unit reads (a wait, a test), or one that it sets or adds to."""

    name: str = ""
    signal: Operand = None  # type: ignore[assignment]
    writes: bool = False
    adds: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class RankCopy(Stmt):
    """Each element of one part of a tensor to its place in another, through tiles whose contents are lost."""

    name: str = ""
    source: Operand = None  # type: ignore[assignment]
    dest: Operand = None  # type: ignore[assignment]
    through: tuple[Operand, ...] = ()
    adds: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class VisibilityFence(Stmt):
    """What MTE2, MTE3 and FIX were given before is done before what each of them is given next."""
