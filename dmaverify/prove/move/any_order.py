"""Moves within one memory that nothing carries out: whether they are safe in whatever order cells are read and written.

Knows: which cells of the source hold elements, which of the destination may and which must be written, in every
iteration of the loops around the move.
Does not know: commands and their order (`overlap`), regions that lie apart by their ends (`in_place`).
Law: `proved` where no cell that may be written holds anything but what it is written with, in this iteration or one
that comes later (in whatever one, where iterations swap); `refuted` by a byte where `meaning` says that the source has
an element that the destination asks for, and the destination another one, or a zero; else unknown. Nothing writes
Bottom padding and what a view does not show. Top padding may be written or not, and alone decides nothing.

Source: the plan file format (What is judged), the obligation core/overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from dmaverify.language.expr import Kind
from dmaverify.layout.addresses import Layout
from dmaverify.layout.digits import Gap, Guard
from dmaverify.program.space import layout_of, local_address, unit_bits_of
from dmaverify.program.views import Views
from dmaverify.prove.meet import Meeting, Walk, apart, counter_names, difference, met_where
from dmaverify.prove.move.scene import Side, show_cell
from dmaverify.prove.move.views import shift_units
from dmaverify.prove.smt import Session, linear, number
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from dmaverify.prove.move.case import Case

NO_ELEMENT = "the order, whatever it is: no cell that may be written holds what is still to be moved"
PADDING = (
    "padding of one lies where the other has elements or zeros: nothing says what is done to it"
    " (`#{!}` is padding that nothing writes)"
)
OPEN = "the order of their reads and writes was not decided"


When = Literal["now", "before", "whenever"]
"""Of the iteration that writes: it is the one that reads, that one or one before it, or any."""


def judge_any_order(case: Case, session: Session, *, swap: bool) -> tuple[str, str, Mapping[str, Any] | None, When]:
    """The status, why it is so, a byte that is written too early, and in which iterations. `swap`: nothing orders the
    iterations of loops around.
    """
    regions = Regions.of(case)
    every: tuple[When, ...] = ("now", "before", "whenever") if swap else ("now", "before")
    every = every if regions.around else every[:1]
    if regions.met(session, sure=False, when=every[-1])[0] == "unsat":
        return "proved", NO_ELEMENT, None, "now"
    for when in every:
        status, met = regions.met(session, sure=True, when=when)
        witness = None if met is None else regions.confirmed(case, met)
        if witness is not None:
            return "refuted", "", witness, when
        if status != "unsat":
            return "unknown", OPEN, None, "now"
    return "unknown", PADDING, None, "now"


@dataclass(frozen=True, slots=True)
class SideCells:
    """The cells of one side, by the digits of `layout`, with the loops around the move before them."""

    layout: Layout
    turns: tuple[tuple[int, int], ...]  # (count, how far the side moves)

    @property
    def digits(self) -> list[int]:
        return [i for i in range(len(self.layout.digits)) if i not in self.layout.beyond_index]

    @property
    def loops(self) -> list[tuple[int, int]]:
        return [(self.layout.digits[i].slots, self.layout.digits[i].step) for i in self.digits]

    def bounds(self, guards: Iterable[Guard], names: Sequence[str]) -> list[str]:
        """That none of some guards holds; a position that is none is never meant."""
        named = dict(zip(self.digits, names, strict=True))
        every = dict.fromkeys((*guards, *(guard for guard in self.layout.guards if guard.kind is Gap.VOID)))
        return [f"(< {linear(g.constant, [(k, named[i]) for i, k in g.terms])} {number(g.bound)})" for g in every]

    def coordinates(self, names: Sequence[str]) -> dict[str, str]:
        """Each axis as a sum of counters."""
        sums: dict[str, list[tuple[int, str]]] = {axis: [] for axis, _ in self.layout.offsets}
        for index, name in zip(self.digits, names, strict=True):
            digit = self.layout.digits[index]
            if digit.axis is not None:
                sums.setdefault(digit.axis, []).append((digit.weight, name))
        return {axis: linear(dict(self.layout.offsets).get(axis, 0), parts) for axis, parts in sums.items()}


@dataclass(frozen=True, slots=True)
class Regions:
    """Source and destination of a move in one memory. `opaque`: which cell has which element, no digits say."""

    source: SideCells
    dest: SideCells
    opaque: bool
    around: int  # loops around the move

    @classmethod
    def of(cls, case: Case) -> Regions:
        views, sides, opaque = case.transfer.views or Views(), [], False
        for side, space in zip(("source", "dest"), case.spaces, strict=True):
            layout, none = layout_of(getattr(case.transfer, side), space, case.bits)
            steps = shift_units(views.on(side), views, case.target, unit_bits_of(case.bits)).steps
            turns = zip((turn.count for turn in views.turns), steps, strict=True)
            sides.append(SideCells(layout, tuple(turns)))
            opaque = opaque or none
        return cls(sides[0], sides[1], opaque, len(views.turns))

    def met(self, session: Session, *, sure: bool, when: When) -> tuple[str, Meeting | None]:
        """Whether a cell that may be written (`sure`: must) lies where the source has another element that the
        destination asks for (or perhaps a zero).
        """
        source, dest = self.source, self.dest
        held, written = source.layout.guards, dest.layout.guards
        zeros = [guard for guard in written if guard.kind is Kind.ZERO]
        asks = [(count, 0) for count, _ in dest.loops]  # of the cell that asks for the element
        read = Walk(source.layout.origin, (*source.turns, *source.loops))
        write = Walk(dest.layout.origin, (*dest.turns, *dest.loops, *asks))
        if apart(difference(read, write)):
            return "unsat", None
        names = counter_names(read, write)
        turns, reads = names[: self.around], names[self.around : len(read.loops)]
        others, writes = names[len(read.loops) :][: self.around], names[len(read.loops) :][self.around :]
        writes, asking = writes[: len(dest.loops)], writes[len(dest.loops) :]
        if sure:
            holds = [*source.bounds(held, reads), *dest.bounds([g for g in written if g not in zeros], writes)]
        else:
            holds = source.bounds(takewhile(lambda g: g.kind is not Kind.ZERO or not zeros, held), reads)
            holds += dest.bounds(takewhile(lambda g: g.kind not in (Kind.TOP, Kind.ZERO), written), writes)
        if sure or not (zeros or self.opaque):
            holds += [*dest.bounds(written, asking), *self._same(reads, asking)]
        fixed = not any(step for _, step in source.turns)
        onto_itself = [*dest.bounds(written, writes), *self._same(reads, writes)]
        if not fixed:  # coordinates count from the start of the tile
            onto_itself += [f"(= {a} {b})" for a, b in zip(turns, others, strict=True)]
        if not self.opaque:
            holds.append(f"(not (and true {' '.join([*source.bounds(held, reads), *onto_itself])}))")
        order = "true"
        for a, b in reversed(list(zip(turns, others, strict=True))) if when != "whenever" else ():
            order = f"(and (= {b} {a}) {order})"
            order = f"(or (< {b} {a}) {order})" if when == "before" else order
        return met_where(read, write, session, [*holds, order], "core/overlap")

    def _same(self, reads: Sequence[str], others: Sequence[str]) -> list[str]:
        """That a cell of the destination asks for what one of the source has; 0 of axes that it does not name."""
        asked = self.dest.coordinates(others)
        return [f"(= {sum_} {asked.get(axis, '0')})" for axis, sum_ in self.source.coordinates(reads).items()]

    def confirmed(self, case: Case, met: Meeting) -> dict[str, Any] | None:
        """The byte, if the cells are what the question took them for."""
        views, sides = case.transfer.views or Views(), []
        for side, counters in (("source", met.first), ("dest", met.second)):
            view, tensor = views.on(side), getattr(case.transfer, side)
            moved = tensor if view is None else view.moved(counters[: self.around])
            sides.append(Side(moved, case.spaces[side == "dest"], case.bits))
        held, asked = (side.cell_at(met.address) for side in sides)
        loops = [step for _, step in (*self.dest.turns, *self.dest.loops)]
        asking = (*met.second[: self.around], *met.second[len(loops) :])
        at = sum(n * step for n, step in zip(asking, loops, strict=True))
        later = sides[1].cell_at(self.dest.layout.origin + at)
        if held.index is None or later.index is None or (asked.index is None and asked.kind != Kind.ZERO.value):
            return None
        if self.opaque or any(held.index.get(axis, n) != n for axis, n in later.index.items()):
            return None
        address = local_address(case.spaces[0], met.address)
        return {"address": address, "holds": show_cell(held), "asks": show_cell(asked)}
