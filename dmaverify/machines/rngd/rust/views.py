"""Views: what `tile`, `pad`, `unpad` and `reshape` make of a tensor's mapping, and where their window starts.

Knows: the window of a tile (its digit, length and start), what the view's mapping must then be, in which order a
reshape may rename elements.
Does not know: Rust text, transfers.
Law: a view keeps the positions of its buffer, so that a window is an offset in the buffer's own positions; a mapping
that does not follow from the tile, a window beyond the axis, a reshape that permutes are problems of the transfer that
uses the view. What cannot be decided is said, never passed over.

Source: docs/machines/rngd.md 7.2 (furiosa-opt v0.6.0: `config_tile`, `config_pad`, `retile`, `reshape`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import gcd, prod

from dmaverify.errors import Span
from dmaverify.language.expr import (
    Expr,
    Kind,
    Modulo,
    Padding,
    Pair,
    Resize,
    Stride,
    Symbol,
    axes_of,
    rebuilt,
    terms_of,
    walk,
)
from dmaverify.language.meaning import Index, cell
from dmaverify.layout.digits import DigitForm
from dmaverify.machines.rngd.rust.escapes import clip
from dmaverify.machines.rngd.rust.library import NEWEST, Library
from dmaverify.machines.rngd.rust.tile_shapes import (
    bare,
    begins_alike,
    extent,
    fits,
    form_of,
    moves_an_axis,
    shows_padding,
    shows_padding_at,
)
from dmaverify.machines.rngd.rust.values import (
    PLACES,
    Dtype,
    Map,
    Numbers,
    Record,
    RustTensor,
    Unknown,
    Value,
    forgotten,
)
from dmaverify.program.access import PlanProblem
from dmaverify.program.ways import OnWay
from dmaverify.prove.flow.accesses.ways import can_happen
from dmaverify.values import dataclass, replace

MOST_STARTS = 4096


@dataclass(frozen=True)
class TileCall:
    """`place.tile::<index, length, new>(start)` as written."""

    place: str
    index: Map | Unknown
    length: int | None
    new: Map | Unknown
    start: Numbers | None
    span: Span
    start_span: Span
    library: Library = NEWEST
    when: OnWay = OnWay()  # what has to be chosen for it to be made
    passed: bool = False  # this turn is left before
    doubt: str = ""  # why its start is not known, where something in it may leave its type
    stops: str = ""  # why there is none: the element of a list that it would be is not there


def live_cells(expr: Expr) -> int:
    """Positions of a mapping that hold elements; all of them where digits cannot tell."""
    form = form_of(expr)
    return prod(d.live for d in form.digits) if form is not None else expr.size


def tiled(tensor: RustTensor, tile: TileCall) -> RustTensor:
    """The view through a tile."""
    old = tensor.fields[tile.place]
    made = tensor.with_field(tile.place, tile.new)
    if isinstance(old, Unknown) or isinstance(tile.new, Unknown):
        return made
    if isinstance(tile.index, Unknown) or tile.length is None:
        why = tile.index.reason if isinstance(tile.index, Unknown) else "the length of the tile is no known number"
        return made.with_field(tile.place, Unknown(why or "the index of the tile is left to inference", tile.span))
    mutable = tensor.view == "view_mut"
    index, length, whole, new = tile.index.expr, tile.length, old.expr, tile.new.expr
    if tile.library.keeps_compounds:
        whole, index, new = kept_whole((whole, index, new))
    shape = _shape_problems(whole, index, length, new, tile, mutable)
    if shape is None:
        said = f"whether `{plain(new)}` is `{plain(whole)}` with a window of {length} of `{plain(index)}`"
        return made.with_field(tile.place, Unknown(f"{said} is not decided", tile.span))
    live = extent(whole, index)
    if live is None:
        return made.with_field(tile.place, Unknown(f"which starts of `{plain(index)}` exist is not decided", tile.span))
    problems = shape
    start, given, fits, last = tile.start, "", length <= index.size, max(0, live - length)
    if start is None:
        start = Numbers(0, last, 1 if last else 0, False)
        surely = tile.when.always and all(tile.when.turns.values()) and not tile.passed
        given = "" if tile.stops and surely else _range_of(tile, last)
        if not given:
            said, hint = f"{tile.stops}: the kernel stops here", "an index below the length of the list"
            problems = [*problems, PlanProblem(said, tile.start_span, hint, fatal=False)]
    outside = [] if tile.passed else list(_start_problems(index, live, length, start, tile, mutable))
    if outside and not given and (not start.reached or (tile.when.loose and start.single is None)):
        given = _range_of(tile, last)  # a condition may keep the others away
    elif outside and not given and fits and not can_happen(tile.when):
        why = f"{outside[0].message}, if it is made at all: a condition that is not followed decides"
        return made.with_field(tile.place, Unknown(why, tile.start_span))
    problems += outside if not given or not fits else ()
    offset = positions(whole, index, start)
    known = offset is not None and not given
    if offset is None:
        offset = Numbers(0, whole.size, 1, False)
    shown = mutable or bool(problems) or _shows_elements(whole, index, new, offset)
    if not shown:
        said = f"whether `{plain(new)}` shows elements alone wherever its tile starts is not known: `{plain(whole)}`"
        return made.with_field(tile.place, Unknown(f"{said} has padding there", tile.start_span))
    window = tensor.window.moved(tile.place, offset, open=not known, given=given)
    return replace(made, window=window, problems=(*tensor.problems, *problems), holds=forgotten(tensor.holds))


def _shows_elements(whole: Expr, index: Expr, new: Expr, offset: Numbers) -> bool:
    """Whether a view shows no padding of what it looks at as elements, wherever it is moved."""
    places = range(offset.low, offset.high + 1, max(1, offset.step))
    return shows_padding_at(whole, index, new, places) is False


def _range_of(tile: TileCall, last: int) -> str:
    index = f" of `{plain(tile.index.expr)}`" if isinstance(tile.index, Map) else ""
    starts = f"in 0..={last}" if last else "0"
    why = f" ({tile.doubt})" if tile.doubt and tile.start is None else ""
    return f"the start of the tile{index} in line {tile.span.line} is {starts}{why}"


def positions(expr: Expr, index: Expr, start: Numbers) -> Numbers | None:
    """Where in `expr` the positions `start` of `index` lie; None where that cannot be said."""
    form = form_of(expr)
    if form is None or start.low < 0:
        return None
    if start.count > MOST_STARTS:
        return _along_one_digit(form, index, start)
    found = []
    for number in range(start.count):
        at = start.low + number * start.step
        if at >= index.size:
            break
        known = cell(index, at)
        if not isinstance(known, Index):
            return None
        found.append(sum(_position(form, axis, value) for axis, value in known.coords if value))
    if not found:
        return Numbers.of(0)
    low, high = min(found), max(found)
    step = gcd(*(value - low for value in found))
    every = len(set(found)) == ((high - low) // step + 1 if step else 1)
    ordered = all(b - a == step for a, b in pairwise(found))
    loops = start.loops if ordered else start.loops | {0}
    return Numbers(low, high, step, start.exact and every, loops, form=(index, start.shape))


def _along_one_digit(form: DigitForm, index: Expr, start: Numbers) -> Numbers | None:
    """Where a long progression of positions lies, if `index` is one digit and lies within one digit of the form."""
    own = form_of(index)
    if own is None or len(own.digits) != 1 or start.high >= own.digits[0].live:
        return None
    moved = own.digits[0]
    inside = [
        d for d in form.digits
        if d.axis == moved.axis and d.weight <= moved.weight and moved.weight * moved.live <= d.weight * d.live
    ]  # fmt: skip
    if len(inside) != 1 or moved.weight % inside[0].weight:
        return None
    return start.times(moved.weight // inside[0].weight * inside[0].step)


def _position(form: DigitForm, axis: str, coordinate: int) -> int:
    """Where a coordinate lies; the outermost of the digits that hold it counts on beyond its slots."""
    total, rest = 0, coordinate
    for number, digit in enumerate(sorted((d for d in form.digits if d.axis == axis), key=lambda d: -d.weight)):
        value = rest // digit.weight if number == 0 else min(rest // digit.weight, digit.slots - 1)
        total, rest = total + value * digit.step, rest - value * digit.weight
    return total


def kept_whole(exprs: Sequence[Expr]) -> list[Expr]:
    """The mappings with every compound that one of them cuts inside its parts as one axis; unchanged where its axes
    stand outside of it too.
    """
    made = list(exprs)
    for compound in dict.fromkeys(_cut_compounds(made)):
        name = "".join(str(part).split("~")[0] for part in terms_of(compound))
        one = Symbol(f"{name}~whole", compound.size)
        tried = [rebuilt(expr, partial(_in_place_of, compound, one)) for expr in made]
        if not any(axis in axes_of(expr) for axis in axes_of(compound) for expr in tried):
            made = tried
    return made


def _cut_compounds(exprs: Iterable[Expr]) -> Iterator[Pair]:
    for expr in (inner for one in exprs for inner in walk(one)):
        inner = expr
        while isinstance(inner, (Stride, Modulo, Resize, Padding)):
            inner = inner.inner
        whole = isinstance(inner, Pair) and all(isinstance(part, Symbol) for part in terms_of(inner))
        if isinstance(expr, (Stride, Modulo)) and isinstance(inner, Pair) and whole:
            yield inner


def _in_place_of(old: Expr, new: Expr, part: Expr) -> Expr | None:
    return new if part == old else None


# ---------------------------------------------------------------- what is wrong with a tile


def _shape_problems(
    old: Expr, index: Expr, length: int, new: Expr, tile: TileCall, mutable: bool
) -> list[PlanProblem] | None:
    """What is wrong with the mapping of a view; None where that is not decided."""
    at = new.span or tile.span
    if new.size != old.size:
        return [PlanProblem(
            f"the view has {new.size:,} positions, what it looks at has {old.size:,}", at,
            "a tile keeps every position: pad the window back to the full size of its digit", fatal=False,
        )]  # fmt: skip
    fit = fits(old, index, length, new, Kind.BOTTOM if mutable else Kind.TOP)
    if fit is False and mutable and not tile.library.marks_written_tiles:
        fit = fits(old, index, length, new, Kind.TOP)
    if fit is not False:
        return [] if fit else None
    mark = "#{!}" if mutable else "#"
    return [PlanProblem(
        f"`{plain(new)}` is not `{plain(old)}` with a window of {length} of `{plain(index)}`", at,
        f"write the digit as `{plain(index)} = {length} {mark} {index.size}` (for one position: `1 {mark} "
        f"{index.size}`) and leave the rest as it is", fatal=False,
    )]  # fmt: skip


def _start_problems(
    index: Expr, live: int, length: int, start: Numbers, tile: TileCall, mutable: bool
) -> Iterable[PlanProblem]:
    if length > index.size:
        yield PlanProblem(
            f"a window of {length} of `{plain(index)}`, which has {index.size} positions", tile.span,
            f"at most {index.size}", fatal=False,
        )  # fmt: skip
    elif start.high + length > max(live, length) or start.low < 0:  # from 0 on the mapping shows what is padding
        last = start.high if start.high + length > live else start.low
        yield PlanProblem(
            f"the tile starts at {last} and keeps {length}, beyond the {live} positions of `{plain(index)}`",
            tile.start_span,
            f"starts are positions of `{plain(index)}`, from 0 to {max(0, live - length)}; the library does not check",
            fatal=False,
        )  # fmt: skip
    elif mutable and start.exact and 0 < start.step < length:
        yield PlanProblem(
            f"windows of {length} start {start.step} apart: they overlap, and are written more than once",
            tile.start_span,
            f"starts are not multiplied by the length: write `{length} * i`, or tile by `{plain(index)} / {length}`",
            fatal=False,
        )  # fmt: skip


# ---------------------------------------------------------------- pad, unpad, reshape


def padded(tensor: RustTensor, new: Map | Unknown, span: Span, *, back: bool = False) -> RustTensor:
    """`pad`: the same cells within a larger outermost factor; `back`: `unpad`, its inverse."""
    old = tensor.fields["element"]
    made = tensor.with_field("element", new)
    if isinstance(old, Unknown) or isinstance(new, Unknown):
        return made
    small, large = (new.expr, old.expr) if back else (old.expr, new.expr)
    only, word = _outermost(small, large), "unpad" if back else "pad"
    if only is None:
        why = f"whether `{word}` from `{plain(old.expr)}` to `{plain(new.expr)}` changes padding alone is not decided"
        return made.with_field("element", Unknown(why, span))
    if not only:
        problem = PlanProblem(
            f"`{word}` from `{plain(old.expr)}` to `{plain(new.expr)}` changes more than padding of the outermost part",
            new.expr.span or span, "only the outermost factor may be padded: `A, B` as `A # n, B`", fatal=False,
        )  # fmt: skip
        made = replace(made, problems=(*made.problems, problem))
    return made


def _outermost(small: Expr, large: Expr) -> bool | None:
    """Whether `large` is `small` with Top padding on its outermost digit."""
    a, b = form_of(small), form_of(large)
    if a is None or b is None:
        return begins_alike(small, large)
    if not a.digits or not b.digits:
        return small.size <= large.size
    first, rest = bare([a.digits[0]]), bare(list(a.digits[1:]))
    other, others = bare([b.digits[0]]), bare(list(b.digits[1:]))
    if rest == others:
        return bool(first and other) and first[0][2] == other[0][2] and first[0][3] <= other[0][3]
    return bare(list(a.digits)) == others  # a factor of one live position was put around


def reshaped(tensor: RustTensor, target: RustTensor, span: Span) -> RustTensor:
    """`reshape`: other mappings on the same cells."""
    made = replace(tensor, fields={**tensor.fields, **target.fields}, span=target.span or tensor.span)
    problems = []
    for place in PLACES[tensor.tier]:
        old, new = tensor.fields[place], made.fields[place]
        if isinstance(old, Unknown) or isinstance(new, Unknown):
            continue
        if old.expr.size != new.expr.size:
            problems.append(PlanProblem(
                f"the reshape changes the size of `{place}` from {old.expr.size:,} to {new.expr.size:,}",
                new.expr.span or span, "a reshape keeps the size of every class of place", fatal=False,
            ))  # fmt: skip
            continue
        named = f"the reshape from `{plain(old.expr)}` to `{plain(new.expr)}`"
        permutes = _permutes(old.expr, new.expr)
        padding = tensor.view != "view_mut" and shows_padding(old.expr, new.expr)
        if padding:
            problems.append(PlanProblem(
                f"{named} takes padding for elements", new.expr.span or span,
                "keep the padding in the new mapping, or write it first: `#{0}`", fatal=False,
            ))  # fmt: skip
        if permutes is None or padding is None:
            what = "moves elements" if permutes is None else "takes padding for elements"
            made = made.with_field(place, Unknown(f"whether {named} {what} is not decided", span))
        elif permutes:
            problems.append(PlanProblem(
                f"{named} moves elements to other coordinates",
                new.expr.span or span, "a reshape may regroup, not permute: move the data, or name the parts anew",
                fatal=False,
            ))  # fmt: skip
    return replace(made, problems=(*made.problems, *problems))


def _permutes(old: Expr, new: Expr) -> bool | None:
    """Whether an axis that both name lies elsewhere; None where neither digits nor cells tell."""
    a, b = form_of(old), form_of(new)
    if a is None or b is None:
        return moves_an_axis(old, new)
    for axis in {d.axis for d in a.digits if d.axis} & {d.axis for d in b.digits if d.axis}:
        own, other = ([d for d in form.digits if d.axis == axis] for form in (a, b))
        cuts = sorted({c for d in own + other for c in (d.weight, d.weight * d.slots)})
        if any(high % low for low, high in pairwise(cuts)):
            return moves_an_axis(old, new)
        if [_position(a, axis, c) for c in cuts[:-1]] != [_position(b, axis, c) for c in cuts[:-1]]:
            return True
    return False


def plain(expr: Expr) -> str:
    """A mapping as its author wrote the names."""
    return re.sub(r"~\d+", "", str(expr))


def told_value(value: Value, exact: bool = False) -> str:
    """A generic argument in words."""
    if isinstance(value, Map):
        return f"m![{value.expr if exact else plain(value.expr)}]"
    if isinstance(value, Dtype):
        return value.name
    if isinstance(value, Numbers):
        return str(value.low) if value.single is not None else f"{value.low}..={value.high}"
    if isinstance(value, Record):
        return value.item.name
    return clip(str(value))
