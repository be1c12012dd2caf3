"""Cells of buffers: which positions a view of a tensor covers for all starts of its window, as a walk.

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
from dmaverify.prove.flow.buffers import HeldAccess, HeldBuffer
from dmaverify.prove.flow.tile_union import Run
from dmaverify.prove.meet import Walk
from dmaverify.values import replace


def sizes_of(tensor: RustTensor) -> list[int]:
    """How many positions each place of a tensor has; 0 where that is not known."""
    parts = [tensor.fields.get(place) for place in PLACES[tensor.tier]]
    return [part.expr.size if isinstance(part, Map) else 0 for part in parts]


def certain(tensor: RustTensor) -> bool:
    """Whether every start of a view is known and occurs."""
    return not tensor.window.open and _moves(tensor, dict.fromkeys(PLACES[tensor.tier], 1)) is not None


def _moves(tensor: RustTensor, scales: Mapping[str, int]) -> list[Run] | None:
    """How the starts of a view move in its buffer: one run for each loop; None where that is not known."""
    runs: dict[frozenset[int], Run] = {}
    seen: set[int] = set()
    for place, numbers in tensor.window.parts:
        if not numbers.exact:
            return None
        if not numbers.step:
            continue
        key, step = numbers.loops, numbers.step * scales[place]
        if key in runs and key and 0 not in key and runs[key][0] == numbers.count:
            runs[key] = (numbers.count, runs[key][1] + step)  # one loop moves both
            continue
        own = {abs(loop) for loop in key} or {0}
        if own & seen or (seen and 0 in own):
            return None
        seen |= own
        runs[key] = (numbers.count, step)
    return list(runs.values())


def cover_of(tensor: RustTensor, sizes: Sequence[int]) -> Walk | None:
    """The live positions of a view in its buffer, whose places have these sizes, the furthest apart first; None where
    digits cannot tell.
    """
    if not all(isinstance(tensor.fields[place], Map) for place in PLACES[tensor.tier]) or not certain(tensor):
        return None
    scale = 1
    runs: list[Run] = []
    scales: dict[str, int] = {}
    for place, size in zip(reversed(PLACES[tensor.tier]), reversed(sizes), strict=True):
        expr = tensor.expr(place)
        form = form_of(expr)
        if form is None or expr.size != size or any(len(guard.terms) > 1 for guard in form.guards):
            return None
        scales[place] = scale
        runs += [(digit.live, digit.step * scale) for digit in form.digits if digit.live > 1]
        scale *= size
    base = sum(numbers.low * scales[place] for place, numbers in tensor.window.parts)
    moves = _moves(tensor, scales)
    if moves is None:
        return None
    made = Walk(base, tuple(sorted((*runs, *moves), key=lambda run: (run[1], run[0]), reverse=True)))
    return made if made.low >= 0 and made.high < scale else None


def held_buffer(
    whole: RustTensor, writes: Sequence[tuple[int, Effect]], needs: Sequence[HeldNeed], *, own: bool, alone: bool
) -> HeldBuffer:
    """A buffer and what is done with it, in cells."""
    buffer, sizes = whole.buffer, sizes_of(whole)
    tiled = any(effect.tensor.window.tiled for _, effect in writes)

    def cells(tensor: RustTensor) -> Walk | None:
        return cover_of(tensor, sizes) if tiled else Walk(0, ())

    def access(one: Effect | HeldNeed, at: int, site: Site | None) -> HeldAccess:
        own = one.tensor.window.parts
        return HeldAccess(
            at, one.when, cells(one.tensor), site.span.line if site is not None else 0, certain(one.tensor),
            one.tensor.window.open, one.tensor.window.tiled,
            moving=frozenset(abs(loop) for _, numbers in own for loop in numbers.loops if numbers.step),
            starts=tuple((place, numbers.shape) for place, numbers in own),
            repeats=next(((numbers.turns, numbers.count) for _, numbers in own if numbers.repeats), None), of=one,
        )  # fmt: skip

    return HeldBuffer(
        buffer.name if buffer is not None else "the tensor", prod(sizes) if tiled else 1, cells(whole),
        tuple(replace(access(one, at, one.site), partial=one.partial) for at, one in writes),
        tuple(replace(access(one, one.after, one.site), soft=one.soft) for one in needs),
        own, alone, buffer.serial if buffer is not None else 0,
    )  # fmt: skip
