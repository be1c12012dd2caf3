"""A buffer as the tables of the documents show it: pieces of axes, outer to inner, from which terms are taken.

Knows: pieces with their distance, holes, how neighbours join again, how the rest is written as a mapping.
Does not know: streams, sequencers, what an entry is.
Law: pieces and holes fill the buffer; what a term takes leaves a hole of the same length behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.language.expr import (
    ONE,
    Broadcast,
    Expr,
    Kind,
    Modulo,
    Padding,
    Pair,
    Stride,
    Symbol,
    axes_of,
    pair,
    terms_of,
    walk,
)
from dmaverify.layout.digits import Digit, NotDigits, compile_digits
from dmaverify.lower.pairing import Trouble
from dmaverify.lower.stream_places import Incompatible
from dmaverify.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class BufferPiece:
    """A digit of the buffer, `step` elements from one value to the next. Holes are what was taken, or `1 # n`."""

    axis: str | None
    weight: int
    slots: int
    live: int
    step: int
    expr: Expr
    axis_size: int = 0
    plain: bool = True  # the text follows from axis, weight and slots
    hole: bool = False

    @property
    def end(self) -> int:
        return self.weight * self.slots


def hole_of(slots: int, step: int) -> BufferPiece:
    return BufferPiece(None, 0, slots, 1, step, Padding(ONE, slots), hole=True)


def axis_expr(axis: str, size: int, weight: int, slots: int) -> Expr:
    """`A / w % n` with no operator that changes nothing, on a padded axis where the piece does not fit the axis."""
    end = weight * slots
    base: Expr = Symbol(axis, size)
    if size % end:
        base = Padding(base, -(-size // end) * end)
    divided = Stride(base, weight) if weight > 1 else base
    return divided if base.size == end else Modulo(divided, slots)


def part_of(piece: BufferPiece, ratio: int, count: int) -> BufferPiece:
    """`count` values of a piece, `ratio` of its values each."""
    weight = piece.weight * ratio
    live = min(count, -(-piece.live // ratio))
    if piece.plain and piece.axis is not None:
        expr = axis_expr(piece.axis, piece.axis_size, weight, count)
    else:
        divided: Expr = Stride(piece.expr, ratio) if ratio > 1 else piece.expr
        expr = divided if divided.size == count else Modulo(divided, count)
    return replace(piece, weight=weight, slots=count, live=live, step=piece.step * ratio, expr=expr)


def pieces_of(buffer: Expr) -> tuple[BufferPiece, ...]:
    """Outer to inner. Raises Incompatible where the buffer has no digits."""
    sizes = axes_of(buffer)
    out: list[BufferPiece] = []
    step = buffer.size
    for term in terms_of(buffer):
        try:
            form = compile_digits(term)
        except NotDigits as error:
            message = f"the buffer `{term}` cannot be walked by loops: {error.reason}"
            raise Incompatible(Trouble(message, term.span)) from None
        step //= max(1, term.size)
        plain = not form.offsets and all(
            isinstance(node, (Symbol, Stride, Modulo, Pair)) or (isinstance(node, Padding) and node.kind is Kind.TOP)
            for node in walk(term)
        )
        out.extend(_piece(d, term, len(form.digits) == 1, plain, step, sizes) for d in form.digits)
    return joined_pieces(out)


def _piece(digit: Digit, term: Expr, alone: bool, plain: bool, step: int, sizes: Mapping[str, int]) -> BufferPiece:
    if digit.axis is None:
        if digit.live == 1:
            return hole_of(digit.slots, step * digit.step)
        number: Expr = Broadcast(digit.live)
        expr = term if alone else (number if digit.live == digit.slots else Padding(number, digit.slots))
        return BufferPiece(None, 0, digit.slots, digit.live, step * digit.step, expr, plain=False)
    size = sizes[digit.axis]
    expr = term if alone else axis_expr(digit.axis, size, digit.weight, digit.slots)
    live = min(digit.live, -(-size // digit.weight))
    return BufferPiece(digit.axis, digit.weight, digit.slots, live, step * digit.step, expr, size, plain or not alone)


def joined_pieces(pieces: Sequence[BufferPiece]) -> tuple[BufferPiece, ...]:
    """Neighbouring holes are one, and so are neighbours of one axis that a cut parts without moving anything."""
    out: list[BufferPiece] = []
    for piece in pieces:
        last = out[-1] if out else None
        if last is None or last.step != piece.step * piece.slots:
            out.append(piece)
        elif last.hole and piece.hole:
            out[-1] = hole_of(last.slots * piece.slots, piece.step)
        elif last.axis is not None and last.axis == piece.axis and last.weight == piece.end:
            out[-1] = _rejoined(last, piece)
        else:
            out.append(piece)
    return tuple(out)


def _rejoined(outer: BufferPiece, inner: BufferPiece) -> BufferPiece:
    slots = outer.slots * inner.slots
    plain = outer.plain and inner.plain
    assert inner.axis is not None
    expr = axis_expr(inner.axis, inner.axis_size, inner.weight, slots) if plain else Pair(outer.expr, inner.expr)
    live = min(slots, (outer.live - 1) * inner.slots + inner.live, -(-inner.axis_size // inner.weight))
    return replace(inner, slots=slots, live=live, expr=expr, plain=plain)


def buffer_text(pieces: Sequence[BufferPiece]) -> str:
    if len(pieces) == 1 and pieces[0].hole:
        return str(pieces[0].expr)
    return f"m![{pair(*(p.expr for p in pieces))}]"
