"""Cells of buffers: which positions a view of a tensor covers, and how loops move it.

Knows: digits of mappings of every class of place, starts that are progressions.
Does not know: order, branches, what cells decide (`prove.flow.buffers`), findings.
Law: a walk is exact or there is none. Starts that one loop moves in two places, or that are not all known, give none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from dmaverify.machines.rngd.rust.accesses import Effect, HeldNeed
from dmaverify.machines.rngd.rust.moves import Site
from dmaverify.machines.rngd.rust.tile_shapes import form_of
from dmaverify.machines.rngd.rust.values import PLACES, Map, RustTensor
from dmaverify.prove.flow.accesses.tile_union import Run
from dmaverify.prove.flow.coverage.buffers import HeldAccess, HeldBuffer
from dmaverify.prove.flow.initialization.unwritten import LoopMove, RowAccess
from dmaverify.prove.meet import Walk, decided, difference
from dmaverify.values import replace


def sizes_of(tensor: RustTensor) -> list[int]:
    """How many positions each place of a tensor has; 0 where that is not known."""
    parts = [tensor.fields.get(place) for place in PLACES[tensor.tier]]
    return [part.expr.size if isinstance(part, Map) else 0 for part in parts]


def certain(tensor: RustTensor) -> bool:
    """Whether every start of a view is known and occurs."""
    return not tensor.window.open and _moves(tensor, dict.fromkeys(PLACES[tensor.tier], 1)) is not None


def _moves(tensor: RustTensor, scales: Mapping[str, int]) -> list[LoopMove] | None:
    """How loops move a view in its buffer, from the lowest of its starts where they come in no order; None where that
    is not known.
    """
    moves: dict[frozenset[int], LoopMove] = {}
    seen: set[int] = set()
    for place, numbers in tensor.window.parts:
        if not numbers.exact:
            return None
        if not numbers.step:
            continue
        key, step = numbers.loops, numbers.step * scales[place]
        (loop,) = key if len(key) == 1 else (0,)
        step = -step if loop < 0 else step
        if loop and key in moves and moves[key].count == numbers.count:  # one loop moves both
            moves[key] = replace(moves[key], step=moves[key].step + step)
            continue
        own = set(map(abs, key)) or {0}
        if own & seen or (seen and 0 in own):
            return None
        seen |= own
        moves[key] = LoopMove(abs(loop) or numbers.shape, frozenset(own) - {0}, numbers.count, step)
    return list(moves.values())


def cover_of(tensor: RustTensor, sizes: Sequence[int]) -> RowAccess | None:
    """The live positions of a view in its buffer, whose places have these sizes; None where digits cannot tell."""
    if not all(isinstance(tensor.fields[place], Map) for place in PLACES[tensor.tier]) or not certain(tensor):
        return None
    scale = 1
    runs: list[Run] = []
    scales: dict[str, int] = {}
    for place, size in zip(reversed(PLACES[tensor.tier]), reversed(sizes), strict=True):
        expr = tensor.expr(place)
        form = form_of(expr)
        if form is None or expr.size != size or not form.boxed:
            return None
        scales[place] = scale
        runs += [(digit.live, digit.step * scale) for digit in form.digits if digit.live > 1]
        scale *= size
    moves = _moves(tensor, scales)
    if moves is None:
        return None
    base = sum(numbers.low * scales[place] for place, numbers in tensor.window.parts)
    base -= sum((move.count - 1) * move.step for move in moves if move.step < 0)  # where the first turn is
    made = RowAccess(Walk(base, tuple(runs)), frozenset(moves))
    return made if made.cells.low >= 0 and made.cells.high < scale else None


def share_cells(one: RustTensor, other: RustTensor) -> bool | None:
    """Whether two views of one buffer have a cell in common; None where that is not known."""
    if not (one.window.tiled and other.window.tiled):
        return True
    sizes = sizes_of(one), sizes_of(other)
    walks = [cover_of(tensor, sizes[0]) for tensor in (one, other)]
    if walks[0] is None or walks[1] is None or sizes[0] != sizes[1] or not prod(sizes[0]):
        return None
    return {"sat": True, "unsat": False}.get(decided(difference(walks[0].cells, walks[1].cells)))


def held_buffer(
    whole: RustTensor, writes: Sequence[tuple[int, Effect]], needs: Sequence[HeldNeed], *, own: bool, alone: bool
) -> HeldBuffer:
    """A buffer and what is done with it, in cells."""
    buffer, sizes = whole.buffer, sizes_of(whole)
    tiled = any(effect.tensor.window.tiled for _, effect in writes)

    def cells(tensor: RustTensor) -> RowAccess | None:
        return cover_of(tensor, sizes) if tiled else RowAccess(Walk(0, ()))

    def access(one: Effect | HeldNeed, at: int, site: Site | None) -> HeldAccess:
        window = one.tensor.window
        return HeldAccess(
            at, one.when, cells(one.tensor), site.span.line if site is not None else 0, certain(one.tensor),
            window.open, window.tiled, of=one,
        )  # fmt: skip

    shown = cells(whole)
    return HeldBuffer(
        buffer.name if buffer is not None and buffer.name else "the tensor", prod(sizes) if tiled else 1,
        None if shown is None else shown.cells,
        tuple(replace(access(one, at, one.site), partial=one.partial) for at, one in writes),
        tuple(replace(access(one, one.after, one.site), soft=one.soft) for one in needs),
        own, alone, buffer.serial if buffer is not None else 0,
    )  # fmt: skip
