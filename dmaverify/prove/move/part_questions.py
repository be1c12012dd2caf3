"""Parts of tensors from definitions: the tile of a view at every turn, the row of a gather or scatter for every key.

Knows: the tensor that holds the part, where the part lies at each turn, the coordinates that it begins at.
Does not know: commands, the folding analysis of `views`, solvers.
Law: for every position of the part and every count of the turns, the same address in the tensor is inside, live where
the part is, and holds the element at the part's coordinates plus its start; all rows together are the whole tensor.
With proofs/view-shift.smt2 the obligations of the first iteration, or row, then hold of all.

Relied on (proofs/): view-shift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dmaverify.language.affine import Lin
from dmaverify.program.indirect import IndexList, RowDigits
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.program.tensor import Tensor
from dmaverify.program.turns import Affine
from dmaverify.program.views import View, Views
from dmaverify.prove.move.defined import NotCovered, address_of, cell_at, position_of
from dmaverify.prove.move.questions import address_by_steps, any_position
from dmaverify.prove.move.script import PLAIN, Script, ScriptWriter, SizesAsked, disjunction, text_of
from dmaverify.prove.move.views import offsets_of, shift_units
from dmaverify.prove.smt import number
from dmaverify.targets.target import Target
from dmaverify.values import dataclass

SPANNED = ("chip", "cluster")
MOST_LISTED = 4096


@dataclass(frozen=True, slots=True)
class PartOfTensor:
    """`shown` is the part at turn 0 of `whole`; `moved` is how far it moves, in units of its space, and `starts` the
    coordinate it begins at on each axis, both affine in turns of `counts`.
    """

    whole: Tensor
    shown: Tensor
    space: Space
    dtype_bits: int
    counts: tuple[int, ...]
    moved: Affine
    starts: Mapping[str, Affine]
    written: bool


def view_scripts(
    views: Views, spaces: tuple[Space, Space], dtype_bits: int, target: Target, definitions: str,
    sizes: SizesAsked = PLAIN,
) -> Iterator[Script]:  # fmt: skip
    """A script for each side that is a view, and one that both begin alike."""
    counts = tuple(turn.count for turn in views.turns)
    for side, view, space in (("source", views.source, spaces[0]), ("dest", views.dest, spaces[1])):
        if view is not None:
            moved = shift_units(view, views, target, unit_bits_of(dtype_bits))
            starts = {axis: offsets_of(view, axis, views.turns) for axis in _tiled(view)}
            part = PartOfTensor(view.base, view.shown, space, dtype_bits, counts, moved, starts, side == "dest")
            yield _part(ScriptWriter(f"view of the {side}", definitions, sizes), part)
    if views.source is not None and views.dest is not None:
        yield _alike(ScriptWriter("views alike", definitions, sizes), views, views.source, views.dest)


def row_scripts(
    rows: Mapping[str, tuple[RowDigits, Tensor, str, Space, bool]], dtype_bits: int, definitions: str
) -> Iterator[Script]:
    """Two scripts for each side of a gather or scatter (its rows, the tensor, the axis of rows, its space, whether it
    is written): every row is where the digits say, and there is nothing beside the rows. Raises NotCovered.
    """
    for side, (digits, tensor, axis, space, written) in rows.items():
        if any(d.place in SPANNED for d in digits.digits):
            raise NotCovered("rows over chips or clusters")
        counts = tuple(d.slots for d in digits.digits)
        starts = {axis: Affine(0, tuple(d.weight for d in digits.digits))}
        moved = Affine(0, tuple(digits.steps(space, dtype_bits)))
        part = PartOfTensor(tensor, digits.first, space, dtype_bits, counts, moved, starts, written)
        yield _part(ScriptWriter(f"rows of the {side}", definitions), part)
        yield _nothing_beside(ScriptWriter(f"all of the {side}", definitions), part, axis)


def index_script(index: IndexList, rows: int, pitch: int, scatter: bool, definitions: str) -> Script:
    """Every number of an index is a row of the table, `pitch` from the one before, a scatter's known one no row twice.
    Raises NotCovered.
    """
    values, writer = index.values, ScriptWriter("index", definitions)
    if values is None:
        assert index.low is not None, "else the verdict is open"
        assert index.high is not None
        named = text_of(writer.counter("promised", index.high - index.low + 1) + index.low)
        writer.claim("the rows promised", "core/in-bounds", f"(not (core/in-range {named} {number(rows)}))")
        return writer.script()
    if len(values) > MOST_LISTED:
        raise NotCovered(f"an index of {len(values):,} numbers, more than {MOST_LISTED:,}")
    for value in dict.fromkeys(values):
        row = value // pitch
        good = f"(and (core/multiple {number(value)} {number(pitch)} {row}) (core/in-range {row} {number(rows)}))"
        writer.claim(f"the number {value}", "core/in-bounds", f"(not {good})")
    if scatter and len(values) > 1:
        writer.claim("no row twice", "core/writes-once", f"(not (distinct {' '.join(map(number, values))}))")
    return writer.script()


def _tiled(view: View) -> list[str]:
    return sorted({str(window.axis) for window in view.windows if window.axis is not None})


def _turns(writer: ScriptWriter, counts: Sequence[int]) -> list[Lin]:
    return [writer.counter(f"turn{i}", count) for i, count in enumerate(counts)]


def _at(writer: ScriptWriter, name: str, base: Lin, amount: Affine, turns: Sequence[Lin]) -> Lin:
    """`base` moved by an amount that is affine in the turns."""
    return address_by_steps(writer, name, base + amount.constant, turns, amount.steps)


def _part(writer: ScriptWriter, part: PartOfTensor) -> Script:
    """What the part shows is what the tensor holds there."""
    turns = _turns(writer, part.counts)
    at = any_position(writer, part.shown, part.space, part.dtype_bits, "at")
    shown = cell_at(writer, "shown", part.shown, at)
    here = _at(writer, "address", address_of(part.shown, part.space, part.dtype_bits, at), part.moved, turns)
    chip, cluster = (at.places.get(place, Lin(0)) + getattr(part.shown, f"at_{place}") for place in SPANNED)
    there = position_of(writer, "whole", part.whole, part.space, part.dtype_bits, (chip, cluster), here)
    whole = cell_at(writer, "whole", part.whole, there)
    writer.possible("a live position", "core/not-vacuous", shown.live)
    writer.claim("inside", "core/in-bounds", f"(and {shown.live} (not (and {there.inside} {whole.live})))")
    differ = [f"(not (= {shown.byte} {whole.byte}))"]
    for axis in sorted({*shown.coordinates, *whole.coordinates}):
        start = _at(writer, f"start.{axis}", Lin(0), part.starts.get(axis, Affine(0, (0,) * len(turns))), turns)
        want = f"(+ {shown.coordinates.get(axis, '0')} {text_of(start)})"
        differ.append(f"(not (= {whole.coordinates.get(axis, '0')} {want}))")
    writer.claim("the same elements", "core/same-element", f"(and {shown.live} {there.inside} {disjunction(differ)})")
    if part.written:
        seen = f"(not (or {shown.zero} {shown.bottom} {shown.out}))"
        writer.claim("zero is asked for", "core/padding", f"(and {there.inside} {whole.zero} {seen})")
    else:
        writer.claim("zero is zero", "core/padding", f"(and {shown.zero} (not (and {there.inside} {whole.zero})))")
    return writer.script()


def _nothing_beside(writer: ScriptWriter, part: PartOfTensor, axis: str) -> Script:
    """A live cell of the tensor at the coordinate that turns give is a live cell of the part at those turns."""
    turns = _turns(writer, part.counts)
    at = any_position(writer, part.whole, part.space, part.dtype_bits, "at")
    whole = cell_at(writer, "whole", part.whole, at)
    back = Affine(-part.moved.constant, tuple(-step for step in part.moved.steps))
    here = _at(writer, "address", address_of(part.whole, part.space, part.dtype_bits, at), back, turns)
    row = _at(writer, "row", Lin(0), part.starts[axis], turns)
    chip, cluster = (at.places.get(place, Lin(0)) + getattr(part.whole, f"at_{place}") for place in SPANNED)
    first = position_of(writer, "first", part.shown, part.space, part.dtype_bits, (chip, cluster), here)
    shown = cell_at(writer, "first", part.shown, first)
    asked = f"(and {whole.live} (= {whole.coordinates.get(axis, '0')} {text_of(row)}))"
    writer.claim("all of a row", "core/covers", f"(and {asked} (not (and {first.inside} {shown.live})))")
    return writer.script()


def _alike(writer: ScriptWriter, views: Views, source: View, dest: View) -> Script:
    """Tiles of one axis on both sides begin at the same coordinate in every iteration."""
    turns = _turns(writer, [turn.count for turn in views.turns])
    for axis in (a for a in _tiled(source) if a in _tiled(dest)):
        ends = [_at(writer, f"{side}.{axis}", Lin(0), offsets_of(view, axis, views.turns), turns)
                for side, view in (("source", source), ("dest", dest))]  # fmt: skip
        writer.claim(f"starts on {axis}", "core/same-element", f"(not (= {text_of(ends[0])} {text_of(ends[1])}))")
    return writer.script()
