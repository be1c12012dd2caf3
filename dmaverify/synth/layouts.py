"""Layouts that a tensor could have: other orders of its digits, rows padded to windows, copies of what is broadcast.

Knows: the pieces of a tensor's mapping, the cuts that the other sides of its moves make, slices and clusters.
Does not know: prices, plan files, which layout is best.
Law: a layout holds every live cell of the tensor once (copies: once a copy). A tensor that comes in or goes out keeps
the order of the elements that its moves reorder: only what is free may be ordered anew, so that no transpose of the
user is pushed out of sight. Nothing rests on a layout: its moves are searched and proved like any other.

Source: "Memory Performance" (Channel interleaving, Misaligned Access), "DMA Engine" (Tensor Memory Mapping);
docs/design.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import prod

from dmaverify.language.expr import ONE, Expr, Padding, axes_of, pair, terms_of
from dmaverify.layout.digits import Digit, NotDigits, compile_digits, digits_of
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.synth.atoms import Atom
from dmaverify.synth.pieces import cut_at, cuts_of, pieces_of
from dmaverify.synth.routes import spread
from dmaverify.synth.streams import piece
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

ROOM = 128 << 10
"""Bytes that padding or copies may always add; beyond it a tensor at most doubles."""
MOST_ORDERED = 4
"""Digits of which every order is tried; of more, the orders of the other sides and single moves."""
COPIES = 64
"""Copies at most. A move reads each value of the axis that it broadcasts from a copy of its own, or all from one."""

Row = tuple[Expr, tuple[str, int, int, int] | None]
"""A piece of an element mapping, and (axis, weight, count, size of the axis) where it is a plain one."""


@dataclass(frozen=True)
class TensorLayout:
    """A layout of a tensor: what changes, in words. `alone` is what moves see that know nothing of its copies."""

    what: str
    tensor: Tensor
    alone: Tensor | None = None

    def seen_from(self, other: Tensor) -> Tensor:
        """The tensor as a move with that other side has it."""
        copies = axes_of(self.tensor.mapping).keys() - axes_of((self.alone or self.tensor).mapping).keys()
        return self.alone if self.alone is not None and not copies <= axes_of(other.mapping).keys() else self.tensor


def layouts(
    tensor: Tensor, others: Sequence[Tensor], target: Target, bits: int, window: int, *, free: bool
) -> Iterator[TensorLayout]:
    """Layouts of a tensor whose moves have `others` as their other sides. `free`: no one else reads or writes it.
    `window`: bytes of a row that memory serves as a whole.
    """
    seen = {str(tensor)}
    for one in _layouts(tensor, others, target, bits, window, free):
        if str(one.tensor) not in seen and _fits(one.tensor, tensor, bits):
            seen.add(str(one.tensor))
            yield one


def _layouts(
    tensor: Tensor, others: Sequence[Tensor], target: Target, bits: int, window: int, free: bool
) -> Iterator[TensorLayout]:
    sliced = target.tiers[tensor.tier].is_sliced
    parts = pieces_of(tensor, others) if free else None
    if parts is not None:
        for outer in orders(parts, others):
            how = "its digits in another order"
            yield from (TensorLayout(how, one) for one in _placed(tensor, target, outer, parts) if _like(one, tensor))
    if sliced:
        return
    rows = _terms(tensor.element, others)
    idle = [row for row in rows if not _moved(row[0], others)]
    first = [*idle, *(row for row in rows if row not in idle)]
    ways = [("", rows)]
    if idle and first != rows:
        how = "what does not move lies outermost"
        yield TensorLayout(how, replace(tensor, element=_whole(first)))
        ways.append((f"{how}, ", first))
    for how, ordered in ways:
        for said, element in padded(ordered, bits, window):
            yield TensorLayout(how + said, replace(tensor, element=element))
    yield from _copied(tensor, others, bits, window)


def _fits(new: Tensor, old: Tensor, bits: int) -> bool:
    """Whether it is no larger than padding and copies may make it."""
    sizes = [one.mapping.size * bits // 8 for one in (new, old)]
    return sizes[0] <= max(2 * sizes[1], sizes[1] + ROOM)


def lies_in(new: Tensor, old: Tensor) -> bool:
    """Whether a layout from the same base on takes only places and bytes that the old one surely fills: what padding
    leaves free, another tensor may hold meanwhile.
    """
    sizes = [(_extent(new.field(place)), _extent(old.field(place))) for place in PLACES]
    return all(own[0] <= known[0] == known[1] for own, known in sizes)


def _extent(expr: Expr) -> tuple[int, int]:
    """Positions up to the last live one, and how many of them are surely live; none where no single digit tells."""
    try:
        form = digits_of(expr)
    except NotDigits:
        return expr.size, 0
    whole = all(sum(factor > 0 for _, factor in guard.terms) == 1 for guard in form.guards)
    return 1 + sum((d.live - 1) * d.step for d in form.digits), prod(d.live for d in form.digits) if whole else 0


# ---------------------------------------------------------------- pieces


def _terms(element: Expr, others: Sequence[Tensor]) -> list[Row]:
    """The pieces of an element mapping as they stand, plain ones cut where the other sides cut."""
    out: list[Row] = []
    sizes = axes_of(element)
    for term in terms_of(element):
        try:
            digits = compile_digits(term).digits
        except NotDigits:
            digits = ()
        plain = len(digits) == 1 and digits[0].axis is not None and digits[0].slots == digits[0].live == term.size
        if not plain:
            out.append((term, None))
            continue
        (digit,) = digits
        assert digit.axis is not None
        cut = cut_at(digit, cuts_of(digit.axis, others))
        names = [(digit.axis, *part, sizes[digit.axis]) for part in cut]
        out += [(piece(*name), name) for name in names] if len(cut) > 1 else [(term, names[0])]
    return out


def _whole(rows: Sequence[Row]) -> Expr:
    """Rows as one mapping; neighbours that are one piece of their axis are written as one."""
    out: list[Row] = []
    for term, name in rows:
        above = out[-1][1] if out else None
        if above is not None and name is not None and above[0] == name[0] and above[1] == name[1] * name[2]:
            both = (name[0], name[1], above[2] * name[2], name[3])
            out[-1] = piece(*both), both
        else:
            out.append((term, name))
    return pair(*(term for term, _ in out))


def _moved(term: Expr, others: Sequence[Tensor]) -> bool:
    """Whether a move touches more than one value of a piece."""
    try:
        own = [d for d in compile_digits(term).digits if d.axis is not None and d.live > 1]
    except NotDigits:
        return True
    held = [(d, *_span(d)) for other in others for d in _digits(other.mapping)]
    return any(d.axis == o.axis and low < d.weight * d.live and d.weight < high for d in own for o, low, high in held)


def _digits(expr: Expr) -> Sequence[Digit]:
    try:
        return [d for d in compile_digits(expr).digits if d.live > 1]
    except NotDigits:
        return [Digit(axis, 1, 1, size, size) for axis, size in axes_of(expr).items()]


def _span(digit: Digit) -> tuple[int, int]:
    return digit.weight, digit.weight * digit.live


# ---------------------------------------------------------------- orders, of what is free


def orders(parts: Sequence[Atom], others: Sequence[Tensor]) -> list[tuple[Atom, ...]]:
    """Orders of the digits, outermost first: all of a few; of many, those of the other sides and single moves."""
    if len(parts) <= MOST_ORDERED:
        return list(permutations(parts))
    found: dict[tuple[Atom, ...], None] = {tuple(parts): None}
    for other in others:
        place = {(d.axis, d.weight): d.step for d in _digits(other.mapping)}
        rank = {id(a): max((s for (x, w), s in place.items() if x == a.axis and w <= a.weight), default=-1)
                for a in parts}  # fmt: skip
        found.setdefault(tuple(sorted(parts, key=lambda a: (-rank[id(a)], -a.weight))))
    for index, one in enumerate(parts):
        rest = [*parts[:index], *parts[index + 1 :]]
        found.setdefault((one, *rest))
        found.setdefault((*rest, one))
    return list(found)


def _placed(tensor: Tensor, target: Target, outer: Sequence[Atom], inner: Sequence[Atom]) -> Iterator[Tensor]:
    """Tensors of the same memory and base with the digits in that order, over slices where the memory has them."""
    for order in (outer, inner) if target.tiers[tensor.tier].is_sliced else (outer,):
        for made in spread(target.tiers[tensor.tier], outer, order, tensor.base):
            yield replace(tensor, element=made.element, slice=made.slice, cluster=made.cluster)


def _like(new: Tensor, old: Tensor) -> bool:
    """Whether clusters and slices are declared as before: as many places, padded or not."""
    return new.cluster.size == old.cluster.size or old.cluster == ONE


# ---------------------------------------------------------------- padding and copies


def padded(rows: Sequence[Row], bits: int, window: int) -> Iterator[tuple[str, Expr]]:
    """Rows (the last pieces, from any one on) up to whole windows, and to an odd number of them."""
    for start in range(len(rows) - 1, 0, -1):
        row = _whole(rows[start:])
        size = row.size * bits // 8
        whole = -(-size // window) * window
        for wide in dict.fromkeys((whole, whole + window * (whole // window % 2 == 0))):
            if wide != size and wide * 8 % bits == 0:
                made = Padding(row, wide * 8 // bits)
                yield f"rows of {wide:,} B instead of {size:,} B", pair(_whole(rows[:start]), made)


def _copied(tensor: Tensor, others: Sequence[Tensor], bits: int, window: int) -> Iterator[TensorLayout]:
    """A copy for each value of an axis that a move broadcasts, an odd number of windows apart."""
    named = axes_of(tensor.mapping)
    size = tensor.element.size * bits // 8
    whole = -(-size // window) * window
    apart = whole + window * (whole // window % 2 == 0)
    if tensor.chip != ONE or apart * 8 % bits:
        return
    for other in others:
        sizes = axes_of(other.mapping)
        for axis in [name for name in sizes if name not in named]:
            digits = sorted((d for d in _digits(other.mapping) if d.axis == axis), key=lambda d: -d.weight)
            count = prod(d.live for d in digits)
            if not 1 < count <= COPIES or any(d.live != d.slots for d in digits):
                continue
            which = [piece(axis, d.weight, d.live, sizes[axis]) for d in digits]
            made = Padding(tensor.element, apart * 8 // bits) if apart != size else tensor.element
            copies = replace(tensor, element=pair(*which, made))
            yield TensorLayout(f"{count} copies, {apart:,} B apart", copies, tensor)
