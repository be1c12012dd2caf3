"""The outputs of a program that are written in tiles, or twice: who writes and reads which part, on digits of all.

Knows: windows of views, the rows of a scatter, how windows on several digits of one axis become runs of one.
Does not know: order, what tiles make together (`tiles`), solvers.
Law: the parts of an output are exactly what the views show, in positions of digits that all of them share; where steps
cut a tensor so that no such digits exist, the bare tensor is given instead, and nothing is guessed. Declarations that
put the same elements on the same places are of one tensor, however much padding follows.

Source: furiosa-opt v0.6.0 (views), docs/machines/rngd.md 7.2.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import gcd, lcm, prod

from dmaverify.errors import Span
from dmaverify.language.expr import Expr
from dmaverify.language.meaning import Index, cell
from dmaverify.program.indirect import Indirect, rows_of
from dmaverify.program.schedule import Step
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.program.turns import Affine, Turn
from dmaverify.program.views import TileWindow, View, ViewError, Views
from dmaverify.prove.flow.accesses.sides import bare, cutting, dtypes_of, places_of, plain, sides_of, whole_readers
from dmaverify.prove.flow.accesses.tile_union import Boxes, Digit
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Tiles:
    """The tiles of one step on one output: per digit where they start and how long they are (missing: all of it).

    `turns` are those of the step's loops; `extra` are loops of a tile itself, where a window on an inner digit repeats
    over the outer one. Starts have a step for each of both. `moving` are the turns that move it.
    """

    step: int
    windows: Mapping[Digit, tuple[Affine, int]]
    labels: Mapping[Digit, str]
    turns: tuple[Turn, ...]
    moving: tuple[int, ...]
    partial: bool
    span: Span | None
    extra: tuple[int, ...] = ()

    def window(self, digit: Digit) -> tuple[Affine, int]:
        return self.boxes.window(digit)

    @property
    def counts(self) -> tuple[int, ...]:
        """Of every loop; those that do not move the tile count once."""
        own = (turn.count if i in self.moving else 1 for i, turn in enumerate(self.turns))
        return (*own, *self.extra)

    @property
    def boxes(self) -> Boxes:
        return Boxes(self.windows, self.counts)


@dataclass(frozen=True)
class ScatteredRows:
    """The rows that a scatter writes: `named` surely, `possible` perhaps (first and last; None: none beside those).
    `every`: it writes all possible ones, each once, in an order that is known at run time.
    """

    step: int
    digit: Digit
    named: tuple[int, ...]
    possible: tuple[int, int] | None = None
    every: bool = False


@dataclass(frozen=True)
class Output:
    """A tensor that tiles write, or that is written whole and again. `wholes` are the steps that write all of it;
    `reads` are the parts that steps read; `bits` are those of an element.
    """

    tensor: Tensor
    bits: int
    tiles: tuple[Tiles, ...]
    wholes: tuple[Tiles, ...]
    digits: tuple[Digit, ...]
    rows: tuple[ScatteredRows, ...] = ()
    reads: tuple[Tiles, ...] = ()

    def label(self, digit: Digit) -> str:
        return next((one.labels[digit] for one in self.tiles if digit in one.labels), digit[0])

    @property
    def total(self) -> int:
        return prod(digit[2] for digit in self.digits)


# ---------------------------------------------------------------- outputs


@dataclass
class _Found:
    """Windows on one tensor, before their digits are common."""

    tiles: list[tuple[int, Views, View]] = field(default_factory=list)
    reads: list[tuple[int, Views | None, View | None]] = field(default_factory=list)
    scatters: list[tuple[int, Indirect]] = field(default_factory=list)
    wholes: list[tuple[int, Views | None]] = field(default_factory=list)

    @property
    def again(self) -> bool:
        """Whether something may be written twice."""
        loops = any(views is not None and any(t.count > 1 for t in views.turns) for _, views in self.wholes)
        return bool(self.tiles) or len(self.wholes) > 1 or loops


def outputs(steps: Sequence[Step], target: Target) -> list[Output | Tensor]:
    """Tensors that some step writes in tiles, or that are written whole and again; the bare tensor where steps cut it
    in ways that cannot be compared.
    """
    alike: dict[tuple[Hashable, int], list[_DeclaredPart]] = {}
    for index, step in enumerate(steps):
        every = zip(sides_of(step), dtypes_of(step), whole_readers(step, target), strict=True)
        for (tensor, views, view, writes), dtype, whole in every:
            own = plain(tensor if view is None else view.base)
            side = _DeclaredPart(index, step, own, views, view, writes, whole, bare(own, view))
            length = None if side.bare is not None else side.length
            alike.setdefault(((places_of(own), length), target.dtypes[dtype]), []).append(side)
    found = [(_found(_of_one_length(sides)), bits) for (_, bits), sides in alike.items()]
    return [_output(tensor, bits, one, target) for (tensor, one), bits in found if one.again]


@dataclass(frozen=True)
class _DeclaredPart:
    """A tensor as one step declares it; `whole`: all that a read shows is read; `bare`: without padding behind it."""

    index: int
    step: Step
    tensor: Tensor
    views: Views | None
    view: View | None
    writes: bool
    whole: bool
    bare: tuple[Tensor, View | None] | None

    @property
    def length(self) -> tuple[int, ...]:
        return tuple(self.tensor.field(place).size for place in PLACES)


def _of_one_length(sides: Sequence[_DeclaredPart]) -> Sequence[_DeclaredPart]:
    """The declarations of one tensor, without the padding behind it where that differs; by the shortest of them."""
    ends = [side.bare for side in sides if side.bare is not None]
    if len({side.length for side in sides}) == 1 or len(ends) < len(sides):
        return sides
    tensor = min((one for one, _ in ends), key=lambda one: len(str(one.mapping)))
    return [replace(side, tensor=tensor, view=view) for side, (_, view) in zip(sides, ends, strict=True)]


def _found(sides: Sequence[_DeclaredPart]) -> tuple[Tensor, _Found]:
    one = _Found()
    for side in sides:
        if not side.writes:
            if side.whole:
                one.reads.append((side.index, side.views, side.view))
        elif side.step.indirect is not None and side.step.indirect.scatter:
            one.scatters.append((side.index, side.step.indirect))
        elif side.view is None or not cutting(side.view):
            one.wholes.append((side.index, side.views))
        else:
            assert side.views is not None
            one.tiles.append((side.index, side.views, side.view))
    return sides[0].tensor, one


def _output(tensor: Tensor, bits: int, found: _Found, target: Target) -> Output | Tensor:
    rows = []
    for step, move in found.scatters if found.tiles else ():
        if move.rows == 1:
            continue  # no digit tells the row: it is looked for in its bytes, as other declarations are
        one = _rows(step, move, target)
        if one is None:
            return tensor
        rows.append(one)
    ranges = {(w.place, w.stride, w.stride * w.room) for _, _, view in found.tiles for w in cutting(view)}
    ranges |= {(w.place, w.stride, w.stride * w.room) for _, _, v in found.reads if v for w in cutting(v)}
    ranges |= {(r.digit[0], r.digit[1], r.digit[1] * r.digit[2]) for r in rows}
    digits = _common(ranges, tensor)
    seen = [] if digits is None else found.reads
    if not found.tiles:  # written whole alone: reads that cannot be compared count as none
        digits = digits or (("element", 1, tensor.element.size),)
    if digits is None or any(r.digit not in digits for r in rows):
        return tensor
    tiles = tuple(_tiles(step, views, view, digits) for step, views, view in found.tiles)
    reads = tuple(
        Tiles(step, {}, {}, (), (), False, None) if view is None or views is None else _tiles(step, views, view, digits)
        for step, views, view in seen
    )
    turns = [(step, () if views is None else views.turns) for step, views in found.wholes]
    wholes = tuple(Tiles(step, {}, {}, of, (), False, None) for step, of in turns)
    return Output(tensor, bits, tiles, wholes, digits, tuple(rows), reads)


def _rows(step: int, move: Indirect, target: Target) -> ScatteredRows | None:
    """The rows of a scatter on the one digit of its table; None where the table has no such digit."""
    try:
        digits = rows_of(move.table, move.axis, move.rows, written=True).digits
    except ViewError:
        return None
    if len(digits) != 1:
        return None
    (digit,) = digits
    at, index = (digit.place, digit.stride, digit.slots), move.index
    if index.values is None:
        low, high = index.low or 0, move.rows - 1 if index.high is None else index.high
        every = index.distinct and move.keys == high - low + 1 and low >= 0 and high < move.rows
        return ScatteredRows(step, at, (), (max(0, low), min(move.rows - 1, high)), every)
    unit = digit.stride * target.dtypes[move.dtype] // 8 if index.scaled else 1
    # an offset between two rows is refuted where the scatter is judged by itself; it names none here
    return ScatteredRows(step, at, tuple(v // unit for v in index.values if unit and v % unit == 0))


def _common(ranges: set[tuple[str, int, int]], tensor: Tensor) -> tuple[Digit, ...] | None:
    """Digits such that every range of strides lies in one of them, in steps of what divides all of its strides and as
    long as what all of its ends divide; None where that does not divide the tensor.
    """
    out: list[tuple[str, int, int]] = []
    for place, low, high in sorted(ranges, key=lambda r: (r[0], r[1], -r[2])):
        while out and out[-1][0] == place and low < out[-1][2]:
            _, under, end = out.pop()
            low, high = gcd(low, under), lcm(high, end)
            if high > end and tensor.field(place).size % high:
                return None
        out.append((place, low, high))
    return tuple((place, low, high // low) for place, low, high in out)


def _tiles(step: int, views: Views, view: View, digits: Sequence[Digit]) -> Tiles:
    """A view on common digits: what a digit's windows show is a run, repeated by loops of its own where an inner digit
    is cut and an outer one is not.
    """
    turns = len(views.turns)
    extra: list[int] = []
    raw: dict[Digit, tuple[Affine, int, list[tuple[int, int]]]] = {}
    labels: dict[Digit, str] = {}
    cut = cutting(view)
    for digit in digits:
        place, unit, size = digit
        mine = sorted((w for w in cut if w.place == place and unit <= w.stride < unit * size), key=lambda w: w.stride)
        if mine:
            raw[digit] = _run(mine, unit, size, turns)
            labels[digit] = _label(mine, digit, view.base)
            extra += [count for count, _ in raw[digit][2]]
    windows: dict[Digit, tuple[Affine, int]] = {}
    at = 0
    for digit, (start, length, loops) in raw.items():
        steps = [0] * len(extra)
        for index, (_, stride) in enumerate(loops):
            steps[at + index] = stride
        at += len(loops)
        windows[digit] = (Affine(start.constant, (*start.steps, *steps)), length)
    moving = tuple(sorted(view.turning))
    span = view.windows[0].span if view.windows else None
    return Tiles(step, windows, labels, views.turns, moving, view.partial, span, tuple(extra))


def _run(windows: Sequence[TileWindow], unit: int, size: int, turns: int) -> tuple[Affine, int, list[tuple[int, int]]]:
    """Start, length and loops (count, step) of the positions that windows within one digit show, innermost first."""
    start, length, loops = Affine(0, (0,) * turns), 1, []
    below = 1  # positions of the digit that are decided so far

    def add(count: int, stride: int) -> None:
        nonlocal length
        if length == stride:  # what is below is a run without gap
            length *= count
        elif count > 1:
            loops.append((count, stride))

    for window in windows:
        stride = window.stride // unit
        add(stride // below, below)
        start = start.plus(window.start.times(stride))
        add(window.length, stride)
        below = stride * window.room
    add(size // below, below)
    return start, length, loops


def _label(windows: Sequence[TileWindow], digit: Digit, tensor: Tensor) -> str:
    widest = windows[-1]
    if len(windows) == 1 and (widest.stride, widest.room) == (digit[1], digit[2]):
        return widest.label
    inner = windows[0]
    if inner.axis is not None and inner.stride == digit[1]:
        return inner.axis if inner.weight == 1 else f"{inner.axis} / {inner.weight}"
    one, last = (_coordinates(tensor.field(digit[0]), digit[1] * n) for n in (1, digit[2] - 1))
    if len(one) != 1 or last != {axis: weight * (digit[2] - 1) for axis, weight in one.items()}:
        return f"{widest.label} in steps of {digit[1]}"
    ((axis, weight),) = one.items()
    return axis if weight == 1 else f"{axis} / {weight}"


def _coordinates(mapping: Expr, position: int) -> dict[str, int]:
    """What is not 0 of the index at a position; nothing where there is none."""
    found = cell(mapping, position)
    return {axis: n for axis, n in found.coords if n} if isinstance(found, Index) else {}
