"""What two programs leave in memory, piece by piece: where they part, and what confirms it (core/same-program).

Knows: what each leaves (`contents`), units traced back.
Does not know: how plans are written, which orders they allow, how one program's pieces are followed.
Law: `proved` is said where every piece that either writes holds the same in the end, whatever lay in memory at the
beginning. `refuted` needs a place that holds two pieces of the beginning, or one and zero. What may be anything, and
what accesses made of other data, is no difference and no sameness; neither is a difference that no run of both texts
showed, and that cannot be traced back unit by unit (`traced`). All of it speaks of one order that each allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from dmaverify.language.distinct import distinct
from dmaverify.prove.flow.accesses.alone_copies import NoCopies
from dmaverify.prove.flow.accesses.step_events import blocks_in_order
from dmaverify.prove.flow.accesses.touches import Memory, place_in
from dmaverify.prove.flow.equality.contents import (
    ANYTHING,
    MADE,
    ZERO,
    Filled,
    Numbering,
    TakenApart,
    common_piece,
    left_behind,
    with_copies,
    written,
)
from dmaverify.prove.flow.equality.traced import traced
from dmaverify.prove.sameness import WORDS, Sameness
from dmaverify.targets.modules import what_decides
from dmaverify.values import replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

NOTHING_OF_PADDING = "accesses make nothing of what padding holds"
Confirm = Callable[[int, Numbering, Mapping[Memory, Filled]], bool]
"""Whether a run of a program (the first is 0) left the same behind; False where there was none. Raises Disagreement."""


def _ways(side: TakenApart) -> set[str]:
    """What decides bytes besides which units are copied."""
    steps = zip(side.program.steps, side.works, strict=True)
    ways = [what_decides(side.target, s.transfer, w.commands) for s, w in steps if s.transfer is not None]
    return {repr(sorted(way.items(), key=lambda item: item[0])) for way in ways}


def by_contents(
    one: TakenApart, other: TakenApart, tiers: Sequence[str], conditions: Sequence[str], confirm: Confirm | None,
    ends: Mapping[str, int] | None = None,
) -> Sameness:  # fmt: skip
    """Whether two programs leave the same, of `tiers` alone where some are named, and of these what lies before their
    `ends`, in bytes. Raises NoCopies, Disagreement.
    """
    import numpy as np

    if len(_ways(one) | _ways(other)) > 1:
        raise NoCopies("what decides the bytes that steps move, besides their commands, differs between them")
    bits = min(one.unit_bits, other.unit_bits)
    sides = [with_copies(side, bits) for side in (one, other)]
    piece = np.gcd.reduce([common_piece(side, bits) for side in sides])
    world = Numbering(bits, int(piece) or 1)
    places: dict[Memory, list[Numbers]] = {}
    for side in sides:
        for memory, found in written(side, world).items():
            places.setdefault(memory, []).extend(found)
    every = {memory: distinct(np.concatenate(found)) for memory, found in places.items()}
    held = [left_behind(side, world, every) for side in sides]
    ran = (
        [confirm(number, world, found) for number, found in enumerate(held)] if confirm is not None else [False, False]
    )
    compared = _Compared(sides, world, held, tiers, ends or {})
    answer = compared.answer(conditions)
    if all(ran) and answer.by:
        return replace(answer, by=f"{answer.by}, and a run of both texts")
    if answer.status != "refuted":
        return answer
    if not compared.confirmed(ran):
        return replace(answer, status="unknown", why=f"{answer.why}; no run and no trace confirms it", by="")
    how = (
        "that one traced back through both"
        if not any(ran)
        else "that one traced back through one, and a run of the other"
    )
    return replace(answer, by=f"{answer.by}; {how}")


class _Compared:
    """What both leave in the places that either writes."""

    def __init__(
        self,
        sides: Sequence[TakenApart],
        world: Numbering,
        held: Sequence[Mapping[Memory, Filled]],
        tiers: Sequence[str],
        ends: Mapping[str, int],
    ) -> None:
        self.sides, self.world, self.held, self.ends = sides, world, held, ends
        named = {one.target.memory_of(tier) for one in sides for tier in tiers if tier in one.target.tiers}
        self.memories = [m for m in sorted(held[0]) if not tiers or m[0] in named]
        self.first: tuple[Memory, int] | None = None

    def answer(self, conditions: Sequence[str]) -> Sameness:
        import numpy as np

        count, first, open_ = 0, None, None
        differ = set()
        for memory in self.memories:
            one, other = (side[memory] for side in self.held)
            seen = one.places * self.world.piece * self.world.unit_bits < 8 * self.ends.get(memory[0], 1 << 59)
            count += int(seen.sum())
            odd = (one.origin != other.origin) | (one.at != other.at)
            odd |= (one.origin == ANYTHING) & (one.at != one.places)  # brought from padding
            odd &= seen
            loose = np.minimum(one.origin, other.origin) <= ANYTHING
            for at in np.flatnonzero(odd & ~loose)[:1].tolist():
                first = first or (memory, at)
            for at in np.flatnonzero(odd & loose)[:1].tolist():
                open_ = open_ or (memory, at)
            differ |= {memory[0]} if odd.any() else set()
        size = self.world.piece * self.world.unit_bits
        by = f"comparison of all {count:,} pieces of {size // 8 if size % 8 == 0 else size / 8:,} B that either writes"
        alike = sorted({memory[0] for memory in self.memories} - differ)
        if first is not None:
            self.first = first
            told, witness = self._told(*first)
            notes = (f"what is left in {' and '.join(alike)} is the same (`--tier {alike[0]}`)",) if alike else ()
            return Sameness("refuted", told, witness, by, notes=notes)
        if open_ is not None:
            told, witness = self._told(*open_)
            return Sameness("unknown", told, witness)
        bytes_ = count * size // 8
        why = f"both leave the same in {', '.join(alike) or 'memory'} ({bytes_:,} bytes that either writes)"
        rests = [*conditions, *([NOTHING_OF_PADDING] if self.world.padding_read else [])]
        return Sameness("proved", why, None, by, conditions=tuple(dict.fromkeys(rests)))

    def confirmed(self, ran: Sequence[bool]) -> bool:
        """Whether the first difference, traced back through the commands of each that no run showed, is what was
        found.
        """
        assert self.first is not None
        memory, index = self.first
        for side, held in ((self.sides[n], self.held[n][memory]) for n, done in enumerate(ran) if not done):
            place, origin, at = (
                int(column[index]) * self.world.piece for column in (held.places, held.origin, held.at)
            )
            blocks = blocks_in_order(side.order)
            if origin < 0 or blocks is None:
                return False
            touched = [[t.memory for t in work.touches if t.writes] for work in side.works]
            turns = [prod(count for _, count in step.loops) for step in side.program.steps]
            try:
                found = traced(side.copies, touched, turns, blocks, side.target, (memory, place))
            except NoCopies:
                return False
            if found != (self.world.name(int(held.origin[index])), at):
                return False
        return True

    def _told(self, memory: Memory, index: int) -> tuple[str, dict[str, Any]]:
        where = self._place(memory, int(self.held[0][memory].places[index]))
        held = [self._held(number, side[memory], index) for number, side in enumerate(self.held)]
        witness: dict[str, Any] = {"memory": memory[0], "place": where}
        witness |= dict(zip(WORDS, held, strict=True))
        return f"at {where} the first leaves {held[0]}, the second {held[1]}", witness

    def _place(self, memory: Memory, piece: int) -> str:
        machine = next(side.target for side in self.sides if memory[0] in side.target.tiers)  # perhaps of one alone
        return place_in(memory, piece * self.world.piece, self.world.unit_bits, machine)

    def _held(self, number: int, held: Filled, index: int) -> str:
        origin, at, by = (int(column[index]) for column in (held.origin, held.at, held.by))
        if by < 0:
            return "what lay there"
        name = f"`{self.sides[number].program.steps[by].name}`"
        if origin == ZERO:
            return f"zero (by {name})"
        if origin == ANYTHING:
            return f"anything (by {name}, which nothing says how to do)"
        if origin <= MADE:
            return f"what an access made, or rows of unknown numbers (by {name})"
        return f"what lay at {self._place(self.world.name(origin), at)} (by {name})"
