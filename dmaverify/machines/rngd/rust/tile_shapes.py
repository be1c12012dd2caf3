"""Whether a view is its buffer with a window of one index: by digits, and cell by cell where these do not say yes.

Knows: digits and cells of mappings. Does not know: starts, Rust text, transfers.
Law: of cells, yes only where every position of the window lies as far from its first one as its index says, in every
part of the buffer alike, and the view has those cells and padding of the asked kind in place of all others; no only
where a cell differs; all else is not said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmaverify.language.expr import Expr, Kind, Padding, Symbol, walk
from dmaverify.language.meaning import BOTTOM, INDEX, TOP, ZERO, CellArray, cells_array, finalize_array
from dmaverify.layout.digits import Digit, DigitForm, NotDigits, digits_of
from dmaverify.values import replace

MOST_CELLS = 1 << 20


def form_of(expr: Expr) -> DigitForm | None:
    """The digits of a mapping; None where it has none or makes no sense."""
    try:
        return digits_of(expr)
    except (NotDigits, ZeroDivisionError, KeyError, RecursionError):
        return None


def padding_kinds(expr: Expr) -> set[Kind]:
    """The kinds of padding that a mapping shows: by its digits, else by its cells; all that it names where these are
    too many.
    """
    form = form_of(expr) if expr.size > 1 else None
    if form is not None or expr.size <= 1:
        return {one.kind for one in form.guards if isinstance(one.kind, Kind)} if form is not None else set()
    found = _both(expr, expr)
    if found is None:
        return {part.kind for part in walk(expr) if isinstance(part, Padding)}
    codes = {TOP: Kind.TOP, ZERO: Kind.ZERO, BOTTOM: Kind.BOTTOM}
    return {kind for code, kind in codes.items() if (found[0].kind == code).any()}


def fits(old: Expr, index: Expr, length: int, new: Expr, kind: Kind) -> bool | None:
    """Whether `new` is `old` with the digit `index` cut to `length` and padded back: by digits, else cell by cell."""
    told = _fits_by_digits(old, index, length, new, kind)
    digits = None if told else form_of(index)
    by_cells = None if digits is None else _by_cells(old, digits, length, new, kind)
    return told if by_cells is None else by_cells


def _fits_by_digits(old: Expr, index: Expr, length: int, new: Expr, kind: Kind) -> bool | None:
    forms = [form_of(old), form_of(index), form_of(new)]
    if any(form is None or any(len(guard.terms) > 1 for guard in form.guards) for form in forms):
        return None
    before, digit, after = (form for form in forms if form is not None)
    if not digit.digits:
        return None if length != 1 else _same(list(before.digits), list(after.digits))
    if len(digit.digits) != 1 or digit.digits[0].axis is None:
        return None
    axis, low = digit.digits[0].axis, digit.digits[0].weight
    cuts = (low, low * digit.digits[0].slots)
    split = [_split(list(form.digits), axis, cuts) for form in (before, after)]
    if split[0] is None or split[1] is None:
        return None
    held = [i for i, d in enumerate(split[0]) if d.axis == axis and cuts[0] <= d.weight < cuts[1]]
    if len(held) != 1 and length != 1:
        return None
    expected = [
        replace(d, live=min(d.live, length if length > 1 else 1)) if i in held else d for i, d in enumerate(split[0])
    ]
    return _same(expected, split[1]) and _padded_with(after, {split[0][i].step for i in held}, kind)


def _split(digits: list[Digit], axis: str, cuts: tuple[int, int]) -> list[Digit] | None:
    out: list[Digit] = []
    for digit in digits:
        own = [digit]
        for cut in sorted(cuts):
            top = own[0]
            if digit.axis != axis or not top.weight < cut < top.weight * top.slots:
                continue
            ratio = cut // top.weight
            if cut % top.weight or top.slots % ratio or (top.live % ratio and top.live > ratio):
                return None
            outer = Digit(axis, cut, top.step * ratio, top.slots // ratio, -(-top.live // ratio))
            own = [outer, Digit(axis, top.weight, top.step, ratio, min(top.live, ratio)), *own[1:]]
        out += own
    return out


def _same(a: list[Digit], b: list[Digit]) -> bool:
    return bare(a) == bare(b)


def bare(digits: list[Digit]) -> list[tuple[str, int, int, int, int]]:
    """Digits without those that never move; one live value names no axis; neighbours of that kind are one."""
    out: list[tuple[str, int, int, int, int]] = []
    for d in digits:
        if d.slots == 1:
            continue
        one = (d.axis or "", d.weight, d.step, d.slots, d.live) if d.live > 1 else ("", 0, d.step, d.slots, 1)
        if out and one[4] == 1 == out[-1][4] and out[-1][2] == one[2] * one[3]:
            out[-1] = ("", 0, one[2], out[-1][3] * one[3], 1)
        else:
            out.append(one)
    return out


def _padded_with(form: DigitForm, steps: set[int], kind: Kind) -> bool:
    """Whether the padding of the digits at these steps is of this kind."""
    for guard in form.guards:
        for number, _ in guard.terms:
            digit = form.digits[number]
            if digit.step in steps and digit.live < digit.slots and guard.bound == digit.live:
                return guard.kind is kind or guard.kind is Kind.TOP is kind
    return True


def _by_cells(old: Expr, index: DigitForm, length: int, new: Expr, kind: Kind) -> bool | None:
    """Whether `new` is `old` with all cells but those at 0 to `length - 1` of `index` taken out; None: not said."""
    import numpy as np

    found = _both(old, new) if new.size == old.size else None
    if found is None:
        return None
    (before, after), every = found, np.arange(old.size, dtype=np.int64)
    live = before.kind == INDEX
    at, rest = np.zeros(old.size, np.int64), {axis: values[live] for axis, values in before.coords.items()}
    for digit in index.digits:
        if digit.axis is None:
            continue
        if digit.axis not in before.coords:
            return None
        value = before.coords[digit.axis] // digit.weight % digit.slots
        at += value * digit.step
        rest[digit.axis] = rest[digit.axis] - (value * digit.weight)[live]
    if not _in_line(every[live], at[live], list(rest.values())):
        return None
    inside = live & (at < length)
    taken = TOP if kind is Kind.TOP else BOTTOM
    alike = _equal(before, after, inside) and not (after.kind[~inside] == INDEX).any()
    return bool(alike and (after.kind[live & ~inside] == taken).all())


def extent(old: Expr, index: Expr) -> int | None:
    """How many positions of `index` from 0 on have elements in `old`; None where that is not known."""
    import numpy as np

    form = form_of(index)
    told = _extent_by_digits(form_of(old), form)
    found = _both(old, old) if told is None and form is not None else None
    if form is None or found is None:
        return told
    cells = found[0]
    live = cells.kind == INDEX
    at = np.zeros(old.size, np.int64)
    for digit in form.digits:
        if digit.axis is not None and digit.axis in cells.coords:
            at += cells.coords[digit.axis] // digit.weight % digit.slots * digit.step
    return int(at[live].max(initial=-1)) + 1


def _extent_by_digits(old: DigitForm | None, index: DigitForm | None) -> int | None:
    """The same for an index of one digit in a mapping whose digits do not depend on one another."""
    if old is None or index is None or len(index.digits) != 1 or not old.boxed:
        return None
    one = index.digits[0]
    if one.axis is None:
        return one.live
    end = one.weight * one.slots
    within = [d for d in old.digits if d.axis == one.axis and d.weight < end]
    if any(end % d.weight for d in within):
        return None
    last = sum((min(d.live, end // d.weight) - 1) * d.weight for d in within)
    return min(one.live, last // one.weight + 1)


def shows_padding_at(old: Expr, index: Expr, new: Expr, places: Sequence[int]) -> bool | None:
    """Whether what `new` shows as elements is padding of `old` where it is moved to one of these places; None where
    that is not known.
    """
    form, by = form_of(old), form_of(index)
    if form is not None and form.boxed and by is not None and len(by.digits) == 1:
        end, axis = by.digits[0].weight * by.digits[0].slots, by.digits[0].axis
        held = [d.weight * d.live for d in form.digits if d.axis == axis and d.weight < end]
        if all(last <= end or last % end == 0 for last in held):
            return False  # how far the index goes is the same everywhere
    found = _both(old, new)
    if found is None or len(places) * new.size > MOST_CELLS:
        return None
    shown, live = (found[1].kind == INDEX).nonzero()[0], found[0].kind == INDEX
    return any(bool((shown + place >= live.size).any() or not live[shown + place].all()) for place in places)


def begins_alike(small: Expr, large: Expr) -> bool | None:
    """Whether the cells of `large` are those of `small`, and padding from there on; None where there are too many."""
    found = _both(small, large)
    if found is None:
        return None
    import numpy as np

    one, other = found
    every = np.arange(len(other.kind)) < small.size
    alike = (one.kind[: small.size] == other.kind[: small.size]).all() and _equal(one, other, one.kind == INDEX)
    return bool(alike and (other.kind[~every] == TOP).all())


def moves_an_axis(old: Expr, new: Expr) -> bool | None:
    """Whether a position of two live cells has another coordinate of an axis that both name; None: too many."""
    found = _both(old, new)
    if found is None:
        return None
    one, other = found
    live = (one.kind == INDEX) & (other.kind == INDEX)
    shared = one.coords.keys() & other.coords.keys()
    return any(bool((one.coords[axis][live] != other.coords[axis][live]).any()) for axis in shared)


def shows_padding(old: Expr, new: Expr) -> bool | None:
    """Whether a position that holds nothing certain in `old` is an element of `new`; None where that is not known."""
    forms = [form_of(expr) for expr in (old, new)]
    if forms[0] is not None and all(d.live == d.slots for d in forms[0].digits) and not forms[0].guards:
        return False
    found = _both(old, new)
    if found is not None:
        one, other = found
        return bool(((other.kind == INDEX) & (one.kind != INDEX) & (one.kind != ZERO)).any())
    padded = [f and sorted((d.step, d.slots, d.live) for d in f.digits if d.live < d.slots) for f in forms]
    return False if forms[0] is not None and padded[0] == padded[1] else None


def _both(one: Expr, other: Expr) -> tuple[CellArray, CellArray] | None:
    """The cells of both, up to the size of the greater one."""
    size = max(one.size, other.size)
    made = cells_of(one, size), cells_of(other, size)
    return (made[0], made[1]) if made[0] is not None and made[1] is not None else None


def cells_of(expr: Expr, size: int) -> CellArray | None:
    """The finalized cells of the positions below `size`; None where these are too many, or no function of those."""
    import numpy as np

    if size > MOST_CELLS:
        return None
    try:
        made = cells_array(expr, np.arange(size, dtype=np.int64))
    except ValueError:
        return None
    return finalize_array(made, {part.name: part.size for part in walk(expr) if isinstance(part, Symbol)})


def _in_line(places: Any, at: Any, rest: list[Any]) -> bool:
    """Whether positions of the index are equally far apart, from a first one on, wherever the other coordinates are."""
    import numpy as np

    key = np.zeros(len(places), np.int64)
    for values in rest:
        key = np.unique(key * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1].astype(np.int64)
    first = np.full(int(key.max(initial=-1)) + 1, -1, np.int64)
    first[key[at == 0]] = places[at == 0]
    if (first < 0).any():
        return False
    apart = places - first[key]
    moved = at > 0
    step = int(apart[moved][0] // at[moved][0]) if moved.any() else 0
    return bool((apart == step * at).all())


def _equal(one: CellArray, other: CellArray, where: Any) -> bool:
    """Whether both have the same index at these positions; an axis that one does not name is 0 there."""
    if (other.kind[where] != INDEX).any():
        return False
    none = 0 * one.kind[where]
    return all(
        (one.coords[axis][where] if axis in one.coords else none).tolist()
        == (other.coords[axis][where] if axis in other.coords else none).tolist()
        for axis in one.coords.keys() | other.coords.keys()
    )
