"""Gathers and scatters: moves in which a list of numbers says which row of a table a key stands for.

Knows: tables, keys, index lists, how one row of each side lies in memory and how far the rows are apart.
Does not know: how they are written in a file, rules, solvers, whether an index is right.
Law: a gather makes `out[.., k, ..] = table[.., index[k], ..]`, a scatter the reverse. Every row is the same move, its
two places shifted: by the index on the table's side, by the digits of the key on the other. What is proved of row 0
relative to its places is proved of every row.

A scaled index holds byte offsets (row number times the bytes from row to row), an unscaled one row numbers.

Source: "Sequencer" (Indirect Access: a loop with a list of offsets), furiosa-opt v0.6.0 (dma_gather_scaled,
dma_gather_unscaled, dma_scatter), docs/machines/rngd.md 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from dmaverify.errors import Span
from dmaverify.language.expr import ONE, Expr, Kind, Padding, Symbol, axes_of, pair, rebuilt, terms_of
from dmaverify.layout.digits import NotDigits, compile_digits
from dmaverify.program.access import PlanProblem
from dmaverify.program.command import GivenCommand
from dmaverify.program.move import Stream, Transfer
from dmaverify.program.space import Space, unit_bits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.program.views import ViewError
from dmaverify.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class IndexList:
    """The numbers that a gather or scatter reads. `values` None: of no key is the number known; `low`, `high` and
    `distinct` are then what is promised of them (None, False: nothing), or `told` are some of them that decide for all:
    every other lies between two of these in their steps, and `repeats` says whether one stands at two keys (None: not
    known). `count` is how many numbers there are, where that is known; `unread` says why numbers that the program makes
    itself are not known: nobody promises them.
    """

    tensor: Tensor
    dtype: str
    scaled: bool
    entries: int
    values: tuple[int, ...] | None = None
    low: int | None = None
    high: int | None = None
    distinct: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    value_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    told: tuple[int, ...] = ()
    repeats: bool | None = False
    count: int | None = None
    unread: str = ""

    @property
    def known(self) -> bool:
        return self.values is not None

    @property
    def may_repeat(self) -> bool:
        """Whether a number may stand at two keys."""
        if self.values is not None:
            return len(set(self.values)) < len(self.values)
        return self.repeats is not False if self.told else not self.distinct and self.entries != 1

    @property
    def numbers(self) -> tuple[int, ...]:
        """What is known of the numbers themselves."""
        return self.told if self.values is None else self.values


@dataclass(frozen=True, slots=True)
class IndirectLoop:
    """The indirect loop of printed configurations: its offsets in units (None: the word `index` stands there), the
    stride that the other side has for it, and where both are written.
    """

    count: int
    offsets: tuple[int, ...] | None
    stride: int
    span: Span | None = field(default=None, compare=False, repr=False)
    stride_span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Indirect:
    """One named gather or scatter. The keys are the live cells of `keyed` on the axes `key_axes`: one axis as a whole
    in plans, any number of axes or of their parts in kernels, whose gathers do not state them (`key_said`). `given` is
    what is printed, less the indirect loop, which is `listed`. `row_counts`: the bytes by which a scaled number counts
    a row, where the text's library says so, whatever lies between rows.
    """

    name: str
    target: str
    scatter: bool
    dtype: str
    source: Tensor
    dest: Tensor
    axis: str
    key_axes: tuple[str, ...]
    keyed: Expr
    rows: int
    index: IndexList
    stream: Stream | None = None
    given: GivenCommand | None = None
    listed: IndirectLoop | None = None
    limits: tuple[tuple[str, int], ...] = ()
    expect: tuple[str, ...] | None = None
    problems: tuple[PlanProblem, ...] = ()
    line: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)
    key_said: bool = True
    row_counts: int | None = None

    @property
    def kind(self) -> str:
        return "scatter" if self.scatter else "gather"

    @property
    def key(self) -> str:
        return ", ".join(self.key_axes)

    @property
    def keys(self) -> int:
        """How many keys there are: the index has one number for each."""
        return self.index.entries

    @property
    def table(self) -> Tensor:
        return self.dest if self.scatter else self.source

    @property
    def payload(self) -> Tensor:
        """The side that has the key."""
        return self.source if self.scatter else self.dest

    @property
    def whole(self) -> Transfer:
        """The same as a transfer that says nothing of how it is made: it may touch all of both tensors."""
        return Transfer(
            self.name, self.target, self.dtype, self.source, self.dest, limits=self.limits, expect=self.expect,
            span=self.span,
        )  # fmt: skip


# ---------------------------------------------------------------- rows


@dataclass(frozen=True, slots=True)
class RowDigit:
    """A digit of the axis that counts rows: its place, its weight and values, positions from one to the next."""

    place: str
    weight: int
    slots: int
    stride: int


@dataclass(frozen=True, slots=True)
class RowDigits:
    """Row 0 of a tensor, the others as holes, and the digits that lead to them."""

    first: Tensor
    digits: tuple[RowDigit, ...]

    def units(self, row: int, space: Space, dtype_bits: int) -> int:
        """How far the row lies from row 0, in units of the tier's addresses; chips and clusters count by their span."""
        return sum(
            row // d.weight % d.slots * step for d, step in zip(self.digits, self.steps(space, dtype_bits), strict=True)
        )

    def steps(self, space: Space, dtype_bits: int) -> list[int]:
        """Units from one value of each digit to the next."""
        unit_bits = unit_bits_of(dtype_bits)
        width = dtype_bits // unit_bits
        return [d.stride * (width if d.place == "element" else space.stride(d.place, unit_bits)) for d in self.digits]


def rows_of(tensor: Tensor, axis: str, size: int, *, written: bool) -> RowDigits:
    """The rows of a tensor along an axis. Raises ViewError where it has no such rows."""
    hole = Kind.BOTTOM if written else Kind.TOP
    digits: list[RowDigit] = []
    changed: dict[str, Expr] = {}
    for place in PLACES:
        terms = list(terms_of(tensor.field(place)))
        inside = 1
        for at in reversed(range(len(terms))):
            term = terms[at]
            if axis in axes_of(term):
                digits += _digits(term, axis, place, inside, tensor)
                terms[at] = _first_row(term, axis, hole)
            inside *= term.size
        changed[place] = pair(*terms)
    _whole(digits, axis, size, tensor)
    return RowDigits(replace(tensor, **changed), _joined(digits))  # type: ignore[arg-type]


def rows_of_keys(tensor: Tensor, axes: Mapping[str, int], *, written: bool) -> RowDigits:
    """The rows of a tensor by the number of their key, of which the last axis counts single keys. Raises ViewError."""
    first, digits, inner = tensor, list[RowDigit](), 1
    for axis, size in reversed(list(axes.items())):
        own = rows_of(first, axis, size, written=written)
        if len(axes) > 1 and prod(d.slots for d in own.digits) != size:
            raise ViewError(f"the digits of {axis} hold more than its {size} values", tensor.span, f"name {axis} whole")
        first, digits = own.first, [*(replace(d, weight=d.weight * inner) for d in own.digits), *digits]
        inner *= size
    return RowDigits(first, _joined(digits))


def _joined(digits: Sequence[RowDigit]) -> tuple[RowDigit, ...]:
    """Digits from the highest on, those that go on where the next one ends as one."""
    out: list[RowDigit] = []
    for digit in sorted(digits, key=lambda d: -d.weight):
        above = out[-1] if out else None
        ends = (digit.place, digit.weight * digit.slots, digit.stride * digit.slots)
        if above is not None and (above.place, above.weight, above.stride) == ends:
            digit = replace(digit, slots=digit.slots * out.pop().slots)
        out.append(digit)
    return tuple(out)


def _digits(term: Expr, axis: str, place: str, inside: int, tensor: Tensor) -> list[RowDigit]:
    inner = term
    while isinstance(inner, Padding) and inner.size >= inner.inner.size:  # padding behind all of it moves no cell
        inner = inner.inner
    try:
        form = compile_digits(inner)
    except NotDigits as error:
        raise ViewError(
            f"`{term}` has no digits: {error.reason}", term.span or tensor.span, "use a plain digit"
        ) from None
    own = {number for number, digit in enumerate(form.digits) if digit.axis == axis}
    for guard in form.guards:
        if len(own.intersection(number for number, _ in guard.terms)) not in (0, len(guard.terms)):
            said, at = f"`{term}` pads {axis} and other axes together", term.span or tensor.span
            raise ViewError(said, at, f"give {axis} terms of its own")
    return [RowDigit(place, d.weight, d.live, d.step * inside) for d in form.digits if d.axis == axis]


def _first_row(expr: Expr, axis: str, hole: Kind) -> Expr:
    """The mapping with position 0 of an axis alone; what lies at others, or beyond all of them, is a hole."""
    if set(axes_of(expr)) == {axis}:
        return Padding(ONE, expr.size, hole) if expr.size > 1 else ONE

    def own(one: Expr) -> Expr | None:
        if axis not in axes_of(one):
            return one
        if isinstance(one, Padding):
            return replace(one, inner=_first_row(one.inner, axis, hole), kind=hole)
        return _first_row(one, axis, hole) if isinstance(one, Symbol) else None

    return rebuilt(expr, own)


def _whole(digits: Sequence[RowDigit], axis: str, size: int, tensor: Tensor) -> None:
    """Every value from 0 to size lies at exactly one place."""
    reach = 1
    for digit in sorted(digits, key=lambda d: d.weight):
        if digit.weight != reach:
            raise ViewError(
                f"the digits of {axis} do not follow each other", tensor.span, f"name {axis} whole, or as `{axis} / k` "
                f"and `{axis} % k`",
            )  # fmt: skip
        reach *= digit.slots
    if reach < size:
        raise ViewError(
            f"the mapping holds {reach} values of {axis}, which has {size}", tensor.span, f"name all of {axis}"
        )


def without_axis(stream: Stream, axis: str) -> Stream:
    """The stream of one row: terms that walk the axis left out. Raises ViewError where a term mixes it with others."""
    parts = {}
    for name in ("time", "packet", "chip", "cluster", "slice"):
        expr: Expr = getattr(stream, name)
        kept = [term for term in terms_of(expr) if axis not in axes_of(term)]
        for term in terms_of(expr):
            if axis in axes_of(term) and set(axes_of(term)) != {axis}:
                raise ViewError(
                    f"`{term}` of the stream mixes {axis} with other axes",
                    term.span or stream.span,
                    f"split {axis} off",
                )
        parts[name] = pair(*kept)
    if parts["packet"].size == 1 and stream.packet.size > 1:
        raise ViewError(
            f"the packet walks {axis}, which the index takes apart", stream.packet.span or stream.span,
            "a packet lies within a row",
        )  # fmt: skip
    return Stream(**parts, span=stream.span)


def first_axis(table: Mapping[str, int], payload: Iterable[str], keys: Iterable[str]) -> str | None:
    """The axis that the index picks: the first live one of the table that a row does not have, where a row has what the
    payload has without the keys (docs/machines/rngd.md 5).
    """
    row = set(payload) - set(keys)
    return next((axis for axis, size in table.items() if size > 1 and axis not in row), None)
