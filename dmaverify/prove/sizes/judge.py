"""The structural judge: digits and pieces proposed by a run, checked by identities and inequalities of polynomials.

Knows: layouts, driven nests, what each core obligation asks of coefficients and ranges.
Does not know: how the proposal came about, regions, solvers.
Law: `Unproved` is raised unless every core obligation holds wherever the comparisons made here come out as they do;
nothing is refuted here.

What it rests on: a stride that is as long as all below it makes a sum that takes every value once (a ladder); two sums
are equal everywhere if their coefficients are; boxes that are disjoint in one digit and whose volumes add to the whole
are a partition; a guard whose form is at least another's implies it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any

from dmaverify.language.expr import (
    Broadcast,
    Drop,
    Expr,
    Kind,
    Modulo,
    Padding,
    Pair,
    Resize,
    Stride,
    Symbol,
    Window,
)
from dmaverify.language.numbers import moves, same
from dmaverify.language.wellformed import SIZE_LIMIT
from dmaverify.layout.addresses import Layout
from dmaverify.layout.digits import Gap, Guard
from dmaverify.layout.refine import Drive, Driven, Joint
from dmaverify.prove.sizes.trace import Stuck
from dmaverify.values import dataclass

Form = tuple[Any, dict[int, Any]]
"""A constant and coefficients of pieces."""


class Unproved(Exception):
    """Which obligation, and what of it is not shown."""

    def __init__(self, obligation: str, why: str) -> None:
        super().__init__(why)
        self.obligation = obligation
        self.why = why


def need(holds: Any, obligation: str, why: str) -> None:
    if not holds:
        raise Unproved(obligation, why)


@dataclass(frozen=True, slots=True)
class WrittenBox:
    """What a nest writes: per digit of the destination, where its values start and end."""

    starts: tuple[Any, ...]
    ends: tuple[Any, ...]


def cells_of(layout: Layout) -> Any:
    """How many cells a layout has, before it is cut; None where digits alone do not say."""
    if any(guard.kind is Gap.VOID for guard in layout.guards):
        return None
    return prod(digit.slots for at, digit in enumerate(layout.digits) if at not in layout.beyond_index)


def judge(
    joint: Joint, cells: Any, *, strict_consumes: bool = False, missing: bool = False, moving_source: bool = False
) -> None:
    """Every core obligation of nests over refined layouts. `cells` are those of the destination, if that is known.

    `moving_source`: a view moves the source, so that its holes may lie behind the tensor. Then nothing is read that is
    not live, padding of the source's own included: that asks for more than the plan must keep.
    """
    need(not missing, "core/same-element", "the reading broadcast-missing is not judged for all sizes")
    need(not (strict_consumes and joint.source.repeats_an_axis), "core/consumes", "an axis is named twice")
    boxes = []
    for entry in joint.nests:
        need(entry.plain, "digits", "a digit carries into the next")
        for piece in entry.nest.pieces:
            need(piece.count >= 1, "core/not-vacuous", "a loop that may not run")
        _side(entry, "read", joint.source)
        _side(entry, "write", joint.dest)
        read, write = (_forms(d) for d in (entry.read, entry.write))
        _same_element(joint, read, write)
        _reads_live(joint, entry, read, [] if moving_source else _dead(joint, write))
        _padding(joint, entry, read, write)
        boxes.append(_box(entry, entry.write, "core/writes-once"))
    _covered(joint.dest, joint.nests, boxes, cells)
    if strict_consumes:
        _consumed(joint)
    for guard in joint.dest.guards:
        if guard.kind is not Gap.VOID:
            need(guard.constant < guard.bound, "core/not-vacuous", "no cell of the destination is live")


# ---------------------------------------------------------------- forms over pieces


def _forms(drive: Drive) -> list[Form]:
    return [(c, dict(_summed(terms))) for c, terms in zip(drive.constants, drive.terms, strict=True)]


def _summed(terms: Sequence[tuple[int, Any]]) -> Mapping[int, Any]:
    out: dict[int, Any] = {}
    for index, k in terms:
        out[index] = out.get(index, 0) + k
    return out


def _upper(form: Form, entry: Driven) -> Any:
    """The greatest value over the box of the pieces."""
    top, terms = form
    for index, k in terms.items():
        if k > 0:
            top = top + k * (entry.nest.pieces[index].count - 1)
    return top


def _lower(form: Form, entry: Driven) -> Any:
    low, terms = form
    for index, k in terms.items():
        if k < 0:
            low = low + k * (entry.nest.pieces[index].count - 1)
    return low


def _guard_form(guard: Guard, digits: Sequence[Form]) -> Form:
    """`value - bound` of a guard, over pieces: it holds where this is at least 0."""
    constant: Any = guard.constant - guard.bound
    terms: dict[int, Any] = {}
    for index, k in guard.terms:
        own, parts = digits[index]
        constant = constant + k * own
        for piece, c in parts.items():
            terms[piece] = terms.get(piece, 0) + k * c
    return constant, terms


def _less(a: Form, b: Form) -> Form:
    terms = dict(a[1])
    for index, k in b[1].items():
        terms[index] = terms.get(index, 0) - k
    return a[0] - b[0], terms


def _own_guards(entry: Driven) -> list[Form]:
    """Counters that ragged cuts leave out: those where one of these is at least 0."""
    return [(-bound, dict(_summed(terms))) for terms, bound in entry.nest.guards]


def _never(form: Form, entry: Driven, implied: Sequence[Form]) -> bool:
    """Whether `form >= 0` at no counter, or only at counters where one of `implied` is at least 0."""
    if _upper(form, entry) < 0:
        return True
    return any(_upper(_less(form, other), entry) <= 0 for other in implied)


# ---------------------------------------------------------------- obligations


def _side(entry: Driven, side: str, layout: Layout) -> None:
    """The digits add up to the address, are in range, and none is beyond the region."""
    drive = entry.read if side == "read" else entry.write
    nest = entry.nest
    base = nest.read_base if side == "read" else nest.write_base
    start = layout.origin
    for digit, constant in zip(layout.digits, drive.constants, strict=True):
        start = start + digit.step * constant
    need(same(base, start), "digits", f"the {side} base is no sum of digits")
    forms = _forms(drive)
    for index, piece in enumerate(nest.pieces):
        if not moves(piece.count):
            continue
        step = piece.read if side == "read" else piece.write
        total: Any = 0
        for digit, (_, terms) in zip(layout.digits, forms, strict=True):
            total = total + digit.step * terms.get(index, 0)
        need(same(step, total), "digits", f"a {side} stride is no sum of digits")
    outside = layout.beyond_index
    void = [g for g in layout.guards if g.kind is Gap.VOID]
    for at, (form, digit) in enumerate(zip(forms, layout.digits, strict=True)):
        if at in outside:
            need(not form[1] and same(form[0], 0), "core/in-bounds", f"the {side} leaves its region")
            continue
        need(_lower(form, entry) >= 0, "core/in-bounds", f"a {side} digit falls below 0")
        top = _upper(form, entry)
        need(top < digit.slots or _bounded(form, digit.slots, entry), "core/in-bounds", f"a {side} digit runs over")
    for guard in void:
        inside = _never(_guard_form(guard, forms), entry, _own_guards(entry))
        need(inside, "core/in-bounds", f"the {side} reaches positions that are none")


def _bounded(form: Form, slots: Any, entry: Driven) -> bool:
    """Whether the guards of ragged cuts keep a digit below `slots`."""
    return _never((form[0] - slots, form[1]), entry, _own_guards(entry))


def _same_element(joint: Joint, read: Sequence[Form], write: Sequence[Form]) -> None:
    have, want = _coordinates(joint.source, read), _coordinates(joint.dest, write)
    for axis, form in have.items():
        difference = _less(form, want.get(axis, (0, {})))
        equal = same(difference[0], 0) and all(same(k, 0) for k in difference[1].values())
        need(equal, "core/same-element", f"the coordinate of {axis} differs")


def _coordinates(layout: Layout, forms: Sequence[Form]) -> dict[str, Form]:
    out: dict[str, Form] = {axis: (0, {}) for axis, _ in layout.sizes}
    out |= {axis: (value, {}) for axis, value in layout.offsets}
    for digit, (constant, terms) in zip(layout.digits, forms, strict=True):
        if digit.axis is None:
            continue
        base, parts = out[digit.axis]
        parts = dict(parts)
        for index, k in terms.items():
            parts[index] = parts.get(index, 0) + digit.weight * k
        out[digit.axis] = base + digit.weight * constant, parts
    return out


def _dead(joint: Joint, write: Sequence[Form]) -> list[Form]:
    """Where destination cells are not live."""
    return [_guard_form(g, write) for g in joint.dest.guards if g.kind is not Gap.VOID]


def _reads_live(joint: Joint, entry: Driven, read: Sequence[Form], dead: Sequence[Form]) -> None:
    """Whatever is not live in the source reaches no cell but `dead` ones."""
    others = [*dead, *_own_guards(entry)]
    for guard in joint.source.guards:
        if guard.kind is not Gap.VOID:
            form = _guard_form(guard, read)
            need(_never(form, entry, others), "core/reads-live", "padding of the source reaches a live cell")


def _padding(joint: Joint, entry: Driven, read: Sequence[Form], write: Sequence[Form]) -> None:
    """No Bottom cell is touched, nothing out of bounds written; Zero cells are written with Zero cells of the source.

    Where a destination has Zero padding, other padding on either side is not told from it: then nothing is proved.
    """
    own = _own_guards(entry)
    zeros = [_guard_form(g, read) for g in joint.source.guards if g.kind is Kind.ZERO]
    if any(guard.kind is Kind.ZERO for guard in joint.dest.guards):
        guards = (*joint.source.guards, *joint.dest.guards)
        alone = all(guard.kind in (Kind.ZERO, Gap.VOID) for guard in guards)
        need(alone, "core/padding", "zero padding beside padding of another kind")
    for guard in joint.dest.guards:
        if guard.kind is Kind.ZERO:
            zero = _never(_guard_form(guard, write), entry, [*zeros, *own])
            need(zero, "core/padding", "zero padding of the destination is written with something else")
    for layout, forms, kinds in (
        (joint.dest, write, (Kind.BOTTOM, Gap.OUT)),
        (joint.source, read, (Kind.BOTTOM,)),
    ):
        for guard in layout.guards:
            if guard.kind in kinds:
                untouched = _never(_guard_form(guard, forms), entry, own)
                need(untouched, "core/padding", f"{guard.kind.value} padding is touched")


def _box(entry: Driven, drive: Drive, obligation: str) -> WrittenBox:
    """The values of each digit; every piece moves one digit of its own, and the pieces of a digit are a ladder."""
    owners: dict[int, int] = {}
    starts, ends, counts = [], [], [piece.count for piece in entry.nest.pieces]
    for at, (constant, terms) in enumerate(zip(drive.constants, drive.terms, strict=True)):
        held = dict(_summed(terms))
        for index in held:
            need(index not in owners, obligation, "one loop moves two digits")
            owners[index] = at
        reach = ladder(held, counts, 1, obligation, "the steps of a digit leave gaps or meet")
        starts.append(constant)
        ends.append(constant + reach)
    for index, piece in enumerate(entry.nest.pieces):
        need(index in owners or not moves(piece.count), obligation, "a loop writes the same cells again")
    return WrittenBox(tuple(starts), tuple(ends))


def ladder(steps: Mapping[int, Any], counts: Sequence[Any], reach: Any, obligation: str, why: str) -> Any:
    """How many values, from 0 without a gap, these steps of runs of `reach` take together, each once."""
    left = dict(steps)
    while left:
        found = next((index for index, k in left.items() if same(k, reach)), None)
        need(found is not None, obligation, why)
        assert found is not None
        del left[found]
        reach = reach * counts[found]
    return reach


def _covered(layout: Layout, nests: Sequence[Driven], boxes: Sequence[WrittenBox], cells: Any) -> None:
    """Every live cell is written, no cell by two nests."""
    for a, b in combinations(boxes, 2):
        disjoint = any(_before(a, b, at) or _before(b, a, at) for at in range(len(layout.digits)))
        need(disjoint, "core/writes-once", "two commands may write one cell")
    wanted = _wanted(layout, boxes)
    inside = [i for i in range(len(layout.digits)) if i not in layout.beyond_index]
    if len(boxes) == 1:
        for at in inside:
            full = same(boxes[0].starts[at], 0) and boxes[0].ends[at] >= wanted[at]
            need(full, "core/covers", "a digit is not written to its end")
    elif any(entry.nest.guards for entry in nests) or not same(_volume(boxes, inside), cells):
        _partition(boxes, wanted, inside)
    for entry in nests:
        left_out = _own_guards(entry)
        forms = _forms(entry.write)
        dead = [_guard_form(g, forms) for g in layout.guards if g.kind is not Kind.ZERO]
        for form in left_out:
            need(_never(form, entry, dead), "core/covers", "a ragged cut leaves live cells out")


def _before(a: WrittenBox, b: WrittenBox, at: int) -> bool:
    """Whether the values of a end where those of b begin; equal numbers first, which decide nothing else."""
    return bool(same(a.ends[at], b.starts[at]) or (not same(a.starts[at], b.starts[at]) and a.ends[at] <= b.starts[at]))


def _wanted(layout: Layout, boxes: Sequence[WrittenBox]) -> list[Any]:
    """Per digit, how many of its values must be written: all, or those before its padding."""
    out: list[Any] = []
    for at, digit in enumerate(layout.digits):
        reach = boxes[0].ends[at]
        for box in boxes[1:]:
            if not same(box.ends[at], reach) and box.ends[at] > reach:
                reach = box.ends[at]
        if at in layout.beyond_index or same(reach, digit.slots):
            out.append(digit.slots)
        elif any(_dead_from(guard, at, reach) for guard in layout.guards):
            out.append(reach)
        else:
            out.append(digit.slots)
    return out


def _dead_from(guard: Guard, at: int, value: Any) -> bool:
    """Whether the guard holds for every cell whose digit `at` is at least `value`; no coefficient is negative."""
    k = dict(guard.terms).get(at)
    return k is not None and guard.kind is not Kind.ZERO and bool(guard.constant + k * value >= guard.bound)


def _volume(boxes: Sequence[WrittenBox], inside: Sequence[int]) -> Any:
    """How many cells boxes have that share none. As many as there are is all of them, ragged cuts or not."""
    return sum(prod(box.ends[at] - box.starts[at] for at in inside) for box in boxes)


def _partition(boxes: Sequence[WrittenBox], wanted: Sequence[Any], inside: Sequence[int]) -> None:
    for box in boxes:
        for at in inside:
            need(box.starts[at] >= 0 and box.ends[at] <= wanted[at], "core/covers", "a box leaves the region")
    volume = _volume(boxes, inside)
    whole: Any = 1
    for at in inside:
        whole = whole * wanted[at]
    need(same(volume, whole), "core/covers", "the commands do not add up to the destination")


def _consumed(joint: Joint) -> None:
    """Every live source cell is read: as coverage, on the read side."""
    boxes = [_box(entry, entry.read, "core/consumes") for entry in joint.nests]
    need(len(boxes) == 1 and not joint.source.replicas, "core/consumes", "what is read is not one box")
    wanted = _wanted(joint.source, boxes)
    for at in range(len(joint.source.digits)):
        if at not in joint.source.beyond_index:
            full = same(boxes[0].starts[at], 0) and boxes[0].ends[at] >= wanted[at]
            need(full, "core/consumes", "a digit is not read to its end")
    need(not any(entry.nest.guards for entry in joint.nests), "core/consumes", "a ragged cut")


def has_meaning(expr: Expr) -> bool:
    """Whether a mapping has no problem that is an error: positive sizes, even cuts, no `#` below, no `=` beyond."""
    match expr:
        case Symbol(_, size) | Broadcast(size):
            return bool(size > 0) and bool(size < SIZE_LIMIT)
        case Pair(left, right):
            return has_meaning(left) and has_meaning(right) and bool(expr.size < SIZE_LIMIT)
        case Stride(inner, by) | Modulo(inner, by):
            return has_meaning(inner) and bool(by > 0) and bool(inner.size % by == 0)
        case Resize(inner, to):
            return has_meaning(inner) and bool(to > 0) and bool(to <= inner.size)
        case Padding(inner, to, _):
            return has_meaning(inner) and bool(to >= inner.size) and bool(to < SIZE_LIMIT)
        case Drop(inner, first):
            return has_meaning(inner) and bool(first < inner.size)
        case Window():
            raise Stuck("windows are judged at single sizes only")
