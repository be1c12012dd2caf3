"""Views: a part of a tensor, or the tensor declared otherwise, at a place that a loop may move.

Knows: tiles of one digit, padding and unpadding of the outermost factor.
Does not know: how a view is written, what is moved through it, machines, solvers.
Law: a view shows the same bytes as its tensor, the parts beside the tile as holes (Top when read, Bottom when
written). Every iteration shows the same mapping; only its place moves, by the same step for every count of a digit of a
loop. So what is proved of one iteration relative to its place is proved of all.

A tile of the digit I with length n replaces I by `I = n` padded back to the size of I and moves the place by `start`
positions of I; coordinates within a tile count from its start. `pad` widens the outermost factor by Top padding,
`unpad` takes Top padding off it; addresses stay. Tiles of tiles add their starts.

Source: furiosa-opt v0.6.0 (views: tile, chip_tile, cluster_tile, slice_tile, pad, unpad), docs/machines/rngd.md 7.2.

Relied on (proofs/): alignment-step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from dmaverify.errors import Span
from dmaverify.language.expr import Expr, Kind, Modulo, Padding, Resize, Stride, axes_of, pair, terms_of
from dmaverify.language.numbers import moves
from dmaverify.layout.digits import DigitForm, Gap, NotDigits, compile_digits, finalized
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.program.turns import Affine, Turn, fixed, turns_of
from dmaverify.values import dataclass, field, replace


class ViewError(Exception):
    """A view that can be read but shows nothing that a machine could move: what, where, what to do instead."""

    def __init__(self, message: str, span: Span | None, hint: str) -> None:
        super().__init__(message)
        self.message, self.span, self.hint = message, span, hint


# ---------------------------------------------------------------- what a view says


@dataclass(frozen=True, slots=True)
class TileView:
    """`length` positions of the digit `digit` of one class of place, from `start` on."""

    digit: Expr
    length: int
    start: Affine
    place: str = "element"
    span: Span | None = field(default=None, compare=False, repr=False)
    start_span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PadView:
    """The outermost factor widened to `to` positions; `to` 0 takes its Top padding off (unpad)."""

    to: int
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TileWindow:
    """Where a view looks along one digit of its tensor: positions `start..start + length` of `size`, in steps of
    `stride` positions of the place. `live` positions from 0 on hold nothing but elements, as far as this digit goes.
    """

    place: str
    label: str
    stride: int
    size: int
    live: int
    length: int
    start: Affine
    axis: str | None
    weight: int
    room: int  # positions that the digit has with its padding
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class View:
    """A tensor seen through its operations. `shown` is what the first iteration moves; `shift` is how its place moves:
    units of chip, cluster and slice, and bytes. `buffer` is the memory it lies in. `partial`: the rest of the tensor is
    left as it is, on purpose. `windows` say where it looks, one per digit; `steps` has the window of every tile by
    itself, for a tile of a tile must lie within that tile.
    """

    base: Tensor
    shown: Tensor
    buffer: Tensor
    windows: tuple[TileWindow, ...]
    shift: tuple[Affine, Affine, Affine, Affine]
    partial: bool = False
    steps: tuple[TileWindow, ...] = ()

    def visible(self, place: str) -> tuple[tuple[int, int], ...]:
        """Positions of a class of place that the view shows, as loops (count, stride) from where it begins."""
        return visible_positions(self.base.field(place).size, [w for w in self.windows if w.place == place])

    def moved(self, counters: Sequence[int]) -> Tensor:
        """What the iteration at `counters` moves."""
        now, first = ([a.at(at) for a in self.shift] for at in (counters, (0,) * len(counters)))
        chip, cluster, slice_, byte = (a - b for a, b in zip(now, first, strict=True))
        one = self.shown
        return replace(
            one, at_chip=one.at_chip + chip, at_cluster=one.at_cluster + cluster, at_slice=one.at_slice + slice_,
            base=one.base + byte,
        )  # fmt: skip

    @property
    def turning(self) -> frozenset[int]:
        """The turns that move it."""
        return frozenset(i for w in self.windows for i, step in enumerate(w.start.steps) if step)


def visible_positions(size: int, windows: Sequence[TileWindow]) -> tuple[tuple[int, int], ...]:
    """The positions that windows on digits of `size` positions leave, as loops (count, stride), outer to inner."""
    out: list[tuple[int, int]] = []
    below = 1
    for window in sorted(windows, key=lambda w: w.stride):
        if window.size == 1 or window.stride < below:
            continue  # of a digit that an inner window has cut already, all is shown
        out += [(window.stride // below, below), (window.length, window.stride)]
        below = window.stride * window.room
    out.append((size // below, below))
    return tuple((count, stride) for count, stride in reversed(out) if count != 1)


@dataclass(frozen=True, slots=True)
class Views:
    """The views of a transfer's two sides (None: the tensor itself) and the loops around it, outer to inner."""

    loops: tuple[tuple[str, int], ...] = ()
    turns: tuple[Turn, ...] = ()
    source: View | None = None
    dest: View | None = None

    def around(self, loops: tuple[tuple[str, int], ...]) -> Views:
        """These views, which have no loops, in loops that move none of them."""
        turns = turns_of(loops, {})

        def still(view: View | None) -> View | None:
            if view is None:
                return None
            windows, steps = (
                tuple(replace(one, start=fixed(one.start.constant, turns)) for one in some)
                for some in (view.windows, view.steps)
            )
            chip, cluster, slice_, byte = (fixed(one.constant, turns) for one in view.shift)
            return replace(view, windows=windows, steps=steps, shift=(chip, cluster, slice_, byte))

        return Views(loops, turns, still(self.source), still(self.dest))

    @property
    def count(self) -> int:
        return prod(count for _, count in self.loops)

    def on(self, side: str) -> View | None:
        """The view of the `source` or the `dest`."""
        return self.source if side == "source" else self.dest


# ---------------------------------------------------------------- seeing


def see(
    base: Tensor,
    ops: Sequence[TileView | PadView],
    *,
    writes: bool,
    dtype_bits: int,
    turns: Sequence[Turn],
    partial: bool,
) -> View:
    """The tensor through all operations, first to last. Raises ViewError."""
    hole = Kind.BOTTOM if writes else Kind.TOP
    shown = buffer = base
    windows: list[TileWindow] = []
    steps: list[TileWindow] = []
    shift = [fixed(0, turns)] * 4
    for op in ops:
        if isinstance(op, PadView):
            shown, buffer = _padded(shown, op), _padded(buffer, op)
            continue
        shown, window = _tiled(shown, op, hole)
        steps.append(window)
        _add(windows, window)
        amount = window.start.times(window.stride)
        at = PLACES.index(op.place)
        if op.place == "element":
            amount = _in_bytes(amount, dtype_bits, op)
        elif op.place != "slice" and any(amount.steps):
            raise ViewError(
                f"a tile of the {op.place}s cannot move with a loop", op.start_span or op.span,
                f"write one transfer for each {op.place}, its start a number",
            )  # fmt: skip
        shift[at] = shift[at].plus(amount)
    first = [a.constant for a in shift]
    shown = replace(
        shown, at_chip=shown.at_chip + first[0], at_cluster=shown.at_cluster + first[1],
        at_slice=shown.at_slice + first[2], base=shown.base + first[3],
    )  # fmt: skip
    moves = (shift[0], shift[1], shift[2], shift[3])
    return View(base, shown, buffer, tuple(windows), moves, partial, tuple(steps))


def _in_bytes(amount: Affine, dtype_bits: int, op: TileView) -> Affine:
    bits = amount.times(dtype_bits)
    if bits.constant % 8 or any(step % 8 for step in bits.steps):
        raise ViewError(
            f"the tile of `{op.digit}` starts within a byte", op.start_span or op.span, "start it at a whole byte"
        )
    return Affine(bits.constant // 8, tuple(step // 8 for step in bits.steps))


def _add(windows: list[TileWindow], new: TileWindow) -> None:
    """A tile of a tile looks further into the same digit; digits of one position share their stride with others, and
    are not them.
    """
    mine = (new.place, new.stride, new.axis, new.weight)
    for index, old in enumerate(windows):
        if (old.place, old.stride, old.axis, old.weight) == mine and old.length == new.size and old.size > 1:
            windows[index] = replace(old, start=old.start.plus(new.start), length=new.length)
            return
    windows.append(new)


def _padded(tensor: Tensor, op: PadView) -> Tensor:
    first, *rest = terms_of(tensor.element)
    bare = first.inner if isinstance(first, Padding) and first.kind is Kind.TOP else None
    if not op.to and bare is None:
        raise ViewError(
            f"the outermost factor `{first}` has no Top padding to take off", op.span, "unpad takes off what pad adds"
        )
    if op.to and op.to < first.size:
        raise ViewError(
            f"`{first}` has {first.size} positions already", op.span, f"pad to {first.size} or more, or use a tile"
        )
    outer = Padding(bare or first, op.to, span=op.span) if op.to else bare or first
    return replace(tensor, element=pair(outer, *rest))


def _tiled(tensor: Tensor, op: TileView, hole: Kind) -> tuple[Tensor, TileWindow]:
    op = replace(op, digit=_as_shown(tensor.field(op.place), op.digit))
    terms, at = _isolated(tensor.field(op.place), op)
    digit, size = op.digit, op.digit.size
    if op.length > size:
        raise ViewError(f"a tile of {op.length} of `{digit}`, which has {size}", op.span, f"at most {size}")
    stride = prod(term.size for term in terms[at + 1 :])
    outside, _ = _paddings(terms[at], digit)
    axis, weight = _digit_of(digit, op)
    live = _live(tensor, op, terms, at, stride)
    part: Expr = Resize(digit, op.length) if op.length < size else digit
    around = [*outside, (size, hole)] if op.length < size else outside
    for index, (to, kind) in reversed(list(enumerate(around))):
        if index == 0 or around[index - 1][1] is not kind:  # padding of one kind is one padding
            part = Padding(part, to, kind)
    changed = pair(*terms[:at], part, *terms[at + 1 :])
    window = TileWindow(
        op.place, str(digit), stride, size, live, op.length, op.start, axis, weight,
        outside[0][0] if outside else size, op.start_span or op.span,
    )  # fmt: skip
    return _with(tensor, op.place, changed), window


def _with(tensor: Tensor, place: str, expr: Expr) -> Tensor:
    return replace(tensor, **{place: expr})  # type: ignore[arg-type]


def _paddings(term: Expr, digit: Expr | None = None) -> tuple[list[tuple[int, Kind]], Expr]:
    """The paddings around a term, outermost first (down to `digit`), and what they are around."""
    levels: list[tuple[int, Kind]] = []
    while isinstance(term, Padding) and term != digit:
        levels.append((term.to, term.kind))
        term = term.inner
    return levels, term


def _as_shown(mapping: Expr, digit: Expr) -> Expr:
    """The digit as earlier tiles left it: after a tile of 4 of `A`, `A` names those 4, and `A / 2` is cut from them."""
    for term in terms_of(mapping):
        _, bare = _paddings(term, digit)
        inner = bare
        while isinstance(inner, Resize):
            inner = inner.inner
        if bare not in (inner, digit) and (found := _renamed(digit, inner, bare)) is not None:
            return found
    return digit


def _renamed(digit: Expr, old: Expr, new: Expr) -> Expr | None:
    """The digit with `new` for `old` in it; None where it does not hold `old`, or does not divide `new`."""
    if digit == old:
        return new
    if isinstance(digit, (Stride, Modulo)):
        inner = _renamed(digit.inner, old, new)
        if inner is not None and digit.by and inner.size % digit.by == 0:
            return replace(digit, inner=inner)
    return None


def _isolated(mapping: Expr, op: TileView) -> tuple[list[Expr], int]:
    """The terms of the mapping, the tile's digit a term of its own (perhaps padded), and its index."""
    terms = list(terms_of(mapping))
    for index, term in enumerate(terms):
        if _paddings(term, op.digit)[1] == op.digit:
            return terms, index
        for parts, at in _splits(op.digit):
            outside, bare = _paddings(term, parts[0])
            first, rest = parts[1], parts[2:]
            below = prod(part.size for part in rest)
            if bare == parts[0] and all(to % below == 0 for to, _ in outside):
                for to, kind in reversed(outside):
                    first = Padding(first, to // below, kind)
                return [*terms[:index], first, *rest, *terms[index + 1 :]], index + at
    shown = ", ".join(f"`{term}`" for term in terms)
    raise ViewError(
        f"`{op.digit}` is no digit of `{mapping}`", op.digit.span or op.span, f"tile one of {shown}, or a part of one"
    )


def _splits(digit: Expr) -> Iterator[tuple[tuple[Expr, ...], int]]:
    """What the digit may be a part of: the whole, then its parts from the outermost, and which of them it is."""
    if isinstance(digit, Stride):
        yield (digit.inner, digit, Modulo(digit.inner, digit.by)), 0
    if isinstance(digit, Modulo) and digit.by and digit.inner.size % digit.by == 0:
        yield (digit.inner, Stride(digit.inner, digit.by), digit), 1
        if isinstance(digit.inner, Stride):
            whole, by = digit.inner.inner, digit.inner.by
            yield (whole, Stride(whole, by * digit.by), digit, Modulo(whole, by)), 1


def _digit_of(digit: Expr, op: TileView) -> tuple[str | None, int]:
    """The axis that the digit moves, and by how much. A broadcast moves none."""
    try:
        digits = compile_digits(digit).digits
    except NotDigits as error:
        raise ViewError(
            f"`{digit}` has no digits: {error.reason}", digit.span or op.span, "tile a plain digit"
        ) from None
    if len(digits) > 1:
        raise ViewError(
            f"`{digit}` is {len(digits)} digits",
            digit.span or op.span,
            "a tile cuts one digit; write one tile for each",
        )
    return (digits[0].axis, digits[0].weight) if digits else (None, 0)


def _live(tensor: Tensor, op: TileView, terms: Sequence[Expr], at: int, stride: int) -> int:
    """Positions of the digit, from 0 on, at which its padding leaves every element, whatever the other digits are.
    Where other terms have no digits, its own term tells, unless they hold its axis too. Raises ViewError.
    """
    whole, size = _with(tensor, op.place, pair(*terms)), op.digit.size
    inner = prod(whole.field(p).size for p in PLACES[PLACES.index(op.place) + 1 :])
    try:
        return min([size, *_guarded(finalized(whole.mapping), inner * stride)])
    except NotDigits as error:
        others = pair(*terms[:at], *terms[at + 1 :], *(tensor.field(p) for p in PLACES if p != op.place))
        if axes_of(terms[at]).keys() & axes_of(others).keys():
            raise ViewError(
                f"which positions of `{op.digit}` hold elements is not known: {error.reason}",
                op.start_span or op.span,
                "tile an axis that stands in one term alone",
            ) from None
    return min([size, *_guarded(finalized(terms[at]), 1)])


def _guarded(form: DigitForm, step: int) -> Iterator[int]:
    for guard in form.guards:
        mine = [(i, k) for i, k in guard.terms if form.digits[i].step == step]
        if guard.kind is Gap.VOID or not mine:
            continue
        (_, k), *_ = mine
        others = sum(c * (form.digits[i].live - 1) for i, c in guard.terms if (i, c) not in mine)
        yield max(0, (guard.bound - 1 - guard.constant - others) // k + 1)


# ---------------------------------------------------------------- iterations worth looking at


def corners(views: Views) -> Iterator[tuple[int, ...]]:
    """The first iteration, and for each turn the one that it alone moves once: a multiple everywhere is one there."""
    zero = (0,) * len(views.turns)
    yield zero
    for index, turn in enumerate(views.turns):
        if moves(turn.count):
            yield (*zero[:index], 1, *zero[index + 1 :])
