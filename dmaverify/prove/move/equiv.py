"""Equivalence of two mappings: the same cell at every position.

Knows: the tree of a mapping as solver text, digits as an explanation, the meaning as the judge of every witness.
Does not know: how mappings and plans are written, how machines judge them.
Law: `proved` is said of mappings after an `unsat` for "some position differs" or after every position was compared,
never because two texts or two normal forms look alike; a witness is evaluated by `meaning` before it is given; what
stays open is `unknown`, exit code 3.

Two mappings are equal where all their finalized cells are: coordinates, and the kind of every padding. A position
without a cell (`=` beyond the size) is a kind of its own, since it reads as Top and is written as Bottom.
Source: docs/machines/rngd.md 1.2 and 1.3; docs/design.md (`core/same-program`) and 9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmaverify.errors import Disagreement, InputError
from dmaverify.language.expr import Expr, Kind, Window, axes_of, walk
from dmaverify.language.meaning import Cell, cell, cell_json, cells_array, finalize, finalize_array
from dmaverify.prove.limits import RLIMIT
from dmaverify.prove.move.cells import Quotients, tree_text
from dmaverify.prove.move.unlike import _left, _moved, _other_kind, explanation
from dmaverify.prove.sameness import Sameness
from dmaverify.prove.smt import Query, Session, any_of
from dmaverify.values import dataclass, replace

ENUMERATE = 1 << 20  # positions compared one by one where the solver has no answer
CROSS_CHECK = 1 << 12  # positions that are always compared as well

# ---------------------------------------------------------------- mappings


def equivalent_mappings(first: Expr, second: Expr, *, rlimit: int = RLIMIT) -> Sameness:
    """Whether both have the same size and the same finalized cell at every position. Both must be well-formed.

    Raises InputError where an axis has two sizes: the two speak of different tensors. Raises Disagreement where solver
    and meaning contradict each other.
    """
    sizes = axes_of(first)
    for axis, size in axes_of(second).items():
        if sizes.setdefault(axis, size) != size:
            raise InputError(f"axis `{axis}` has size {sizes[axis]} in one mapping and {size} in the other")
    pair = _Two(first, second, sizes)
    session = Session(rlimit)
    answer = pair.decided(session)
    if first.size != second.size:
        witness = answer.witness or pair.witness(pair.size)
        why = f"{first.size:,} positions against {second.size:,}"
        shown = {key: value for key, value in witness.items() if key != "only_padding"}
        answer = Sameness("refuted", why, shown, f"sizes, {answer.by}" if answer.by else "sizes")
    return replace(answer, kind="mappings", asked=tuple(session.asked))


@dataclass(frozen=True)
class _Two:
    """Two mappings over the same axes, compared at the positions that both have."""

    first: Expr
    second: Expr
    sizes: Mapping[str, int]

    @property
    def size(self) -> int:
        return min(self.first.size, self.second.size)

    def decided(self, session: Session) -> Sameness:
        if any(isinstance(node, Window) for expr in (self.first, self.second) for node in walk(expr)):
            return self.enumerated("overlapping windows are a relation")
        answer = self.solved(session)
        if answer is None:
            return self.enumerated("the solver gave no answer")
        return self.cross_checked(answer) if self.size <= CROSS_CHECK else answer

    # ------------------------------------------------------------ by meaning

    def cells(self, position: int) -> tuple[Cell, Cell]:
        """Finalized, but a position without a cell stays one."""
        found = [cell(expr, position) for expr in (self.first, self.second)]
        top, bottom = ([finalize(one, self.sizes, fill) for one in found] for fill in (Kind.TOP, Kind.BOTTOM))
        kept = [one if a != b else a for one, a, b in zip(found, top, bottom, strict=True)]
        return kept[0], kept[1]

    def differ(self, position: int) -> bool:
        one, other = self.cells(position)
        return one != other

    def witness(self, position: int) -> dict[str, Any]:
        shown = [cell_json(cell(expr, position), False, self.sizes) for expr in (self.first, self.second)]
        return {"position": position, "first": shown[0], "second": shown[1]}

    # ------------------------------------------------------------ by the solver

    def solved(self, session: Session) -> Sameness | None:
        """None where the solver has no answer."""
        quotients = Quotients("")
        one, other = (tree_text(_left(expr), "x", quotients) for expr in (self.first, self.second))
        domain = Query((("x", 0, self.size), *quotients.variables), tuple(quotients.constraints))
        moved = _moved(one, other)
        question = domain.with_constraints(any_of([moved, _other_kind(one, other)]))
        answer = session.ask(question, "a position with different cells")
        if answer.status == "unknown":
            return None
        if answer.status == "unsat":
            return Sameness("proved", f"at all {self.size:,} positions", None, "z3")
        position = session.smallest(question, ("x",), answer).model["x"]
        if not self.differ(position):
            raise Disagreement(f"`{self.first}` and `{self.second}`: z3 says {position} differs, their cells say no")
        live = session.ask(domain.with_constraints(moved), "a position with different elements")
        return self.refuted(position, "z3", {"unsat": True, "sat": False}.get(live.status))

    def refuted(self, position: int, by: str, only_padding: bool | None) -> Sameness:
        witness = self.witness(position)
        if only_padding is not None:
            witness["only_padding"] = only_padding
        if only_padding:
            why = "the same elements at every position; the kind of padding differs"
        else:
            why = explanation(self.first, self.second)
        return Sameness("refuted", why, witness, by)

    # ------------------------------------------------------------ one by one

    def enumerated(self, reason: str) -> Sameness:
        size = self.size
        if size > ENUMERATE:
            return Sameness("unknown", f"{reason}, and {size:,} positions are too many to compare one by one")
        by = f"comparison of all {size:,} positions"
        odd = [p for p in self._suspects() if self.differ(p)]
        if not odd:
            return Sameness("proved", f"at all {size:,} positions", None, by)
        return self.refuted(odd[0], by, all(not _is_live(c) for p in odd for c in self.cells(p)))

    def cross_checked(self, answer: Sameness) -> Sameness:
        again = self.enumerated("")
        smallest = [None if found.witness is None else found.witness["position"] for found in (answer, again)]
        if answer.status != again.status or (smallest[0] or 0) < (smallest[1] or 0):
            said = f"z3 says {answer.status} ({smallest[0]}), their cells say {again.status} ({smallest[1]})"
            raise Disagreement(f"`{self.first}` and `{self.second}`: {said}")
        first = answer if smallest[0] == smallest[1] else again  # the solver may give up before the smallest
        return replace(first, by=f"{answer.by}, and {again.by}")

    def _suspects(self) -> Sequence[int]:
        """Positions whose cells may differ: by arrays where that works, else all of them."""
        import numpy as np

        try:
            raw = [cells_array(expr, np.arange(self.size, dtype=np.int64)) for expr in (self.first, self.second)]
        except ValueError:
            return range(self.size)
        odd = raw[0].kind != raw[1].kind
        one, other = (finalize_array(found, self.sizes) for found in raw)
        odd |= one.kind != other.kind
        for axis in self.sizes:
            odd |= one.coords.get(axis, np.int64(0)) != other.coords.get(axis, np.int64(0))
        return [int(p) for p in np.flatnonzero(odd)]


def _is_live(found: Cell) -> bool:
    return hasattr(found, "coords") or hasattr(found, "indices")
