"""Coverage: what the tiles of a program leave out, elements that no writer of an output writes in any iteration.

Knows: the union of tiles, whole tensors and rows of scatters on common digits, and what may be written otherwise.
Does not know: which elements are written twice (`tiles`), how a finding is shown.
Law: what is covered is the union of what is surely written (`tile_union`): tiles, whole tensors, the rows that a known
list names. What may be written (the rows of a list that is known at run time only, bytes that a step writes through
another declaration) fills no gap and opens none: a gap there is UNKNOWN. Tiles that nobody can list cover where all
pairs share nothing and they add up to the tensor (proofs/count-covers.smt2).

Relied on (proofs/): count-covers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from dmaverify.language.expr import axes_of
from dmaverify.language.meaning import Index, OutOfBounds, Pad, cell
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.program.turns import Affine
from dmaverify.prove.flow.accesses.tile_union import Boxes, Digit, Grid, grid, reach
from dmaverify.prove.flow.coverage.tile_outputs import Output, Tiles
from dmaverify.prove.flow.coverage.tiles_elsewhere import OtherDeclarations
from dmaverify.values import dataclass

MOST_GAPS = 4096  # cells of no tile that are looked at one by one, for padding and other writers


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Elements that no tile writes: how many (0: not counted), the first one known, and a start that would do."""

    count: int
    where: Mapping[str, int] | None
    better: str = ""


def covers(
    output: Output, apart: bool, made: Grid | None, elsewhere: OtherDeclarations
) -> tuple[str, Unwritten | None, str]:
    """Status, what is left out, and why it could not be decided."""
    if output.wholes:
        return "proved", None, ""
    if made is None:
        if apart and sum(_volume(t, output.digits) for t in output.tiles) == output.total and _inside(output):
            return "proved", None, ""
        return "unknown", None, "the tiles are too many to unite"
    named = [Boxes({}, (), (r.digit, r.named)) for r in output.rows if r.named]
    ranges = [
        (r.every, Boxes({r.digit: (Affine(r.possible[0]), r.possible[1] - r.possible[0] + 1)}, ()))
        for r in output.rows
        if r.possible is not None
    ]
    named += [box for every, box in ranges if every]
    perhaps = [box for every, box in ranges if not every]
    every = grid(output.digits, [*(t.boxes for t in output.tiles), *named, *perhaps]) if output.rows else made
    if every is None:
        return "unknown", None, "the tiles are too many to unite"
    return _gap(output, every, len(output.tiles) + len(named), elsewhere)


def _gap(output: Output, every: Grid, sure: int, elsewhere: OtherDeclarations) -> tuple[str, Unwritten | None, str]:
    """The first element that none of the first `sure` writers writes, nor may anybody else write."""
    count, where, open_, exact = 0, None, "", True
    for number_, at in enumerate(every.cells(every.left((), range(sure)))):
        if number_ >= MOST_GAPS:
            exact = False
            if where is None:
                open_ = open_ or "what no tile writes is too scattered to look at"
            break
        point = every.first(at)
        position = flat_position(output, point)
        if not is_element(output.tensor, position):
            continue
        if any(bool(maybe[at]) for maybe in every.covered[sure:]):
            open_ = "whether the rows of a scatter fill what the tiles leave is known at run time only"
            continue
        if elsewhere.may_write(output, position):
            open_ = "what the tiles leave may be written through another declaration of the memory"
            continue
        exact = exact and is_element(output.tensor, flat_position(output, every.last(at)))
        count += every.volume(at)
        if where is None:
            where = {output.label(d): value for d, value in point.items()}
    if where is not None:
        return "refuted", Unwritten(count if exact else 0, where, _better(output, output.total)), ""
    return ("unknown" if open_ else "proved"), None, open_


def flat_position(output: Output, point: Mapping[Digit, int]) -> int:
    """The position in the tensor's mapping of the first element at a point."""
    position = 0
    for place in PLACES:
        at = sum(value * stride for (where, stride, _), value in point.items() if where == place)
        position = position * output.tensor.field(place).size + at
    return position


def is_element(tensor: Tensor, position: int) -> bool:
    """Whether an element lies there. Of a run of positions the first one lives wherever one of them does."""
    found = cell(tensor.mapping, position)
    if isinstance(found, Pad | OutOfBounds):
        return False
    sizes = axes_of(tensor.mapping)
    every = (found.coords,) if isinstance(found, Index) else found.indices
    return any(all(value < sizes[axis] for axis, value in one) for one in every)


def _volume(tiles: Tiles, digits: Sequence[Digit]) -> int:
    return prod(tiles.window(d)[1] for d in digits) * prod(tiles.counts)


def _inside(output: Output) -> bool:
    """Whether all tiles lie on the tensor; where they do not, `core/in-bounds` says so."""
    for one in output.tiles:
        for (_, _, size), window in one.windows.items():
            low, end = reach(*window, one.counts)
            if low < 0 or end > size:
                return False
    return True


# ---------------------------------------------------------------- what would do


def _better(output: Output, total: int) -> str:
    """A start with which the same tiles follow each other without gap: proposed for one step and one digit, checked by
    counting.
    """
    if len(output.tiles) != 1 or len(output.digits) != 1:
        return ""
    (tiles,), (digit,) = output.tiles, output.digits
    start, length = tiles.window(digit)
    if tiles.extra or not tiles.moving or length * prod(tiles.turns[i].count for i in tiles.moving) != total:
        return ""
    step, parts, so_already = length, [], start.constant == 0
    for i in reversed(tiles.moving):
        name = str(tiles.turns[i])
        parts.append(f"{step} * {f'({name})' if ' ' in name else name}" if step > 1 else name)
        so_already = so_already and start.steps[i] == step
        step *= tiles.turns[i].count
    return "" if so_already else " + ".join(reversed(parts))
