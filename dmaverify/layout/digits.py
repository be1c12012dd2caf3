"""The normal form of a mapping: positions and coordinates as sums of digits.

Knows: how each constructor of a mapping acts on digits, what padding becomes (guards), which neighbours are one
digit.
Does not know: addresses, tiers, commands, solvers.
Law: for every position of the mapping there is exactly one digit vector inside the box that no void guard excludes,
with `position = sum(step * d)`; its cell is the padding kind of the first guard that holds, else the index whose
coordinates are `offset + sum(weight * d)`, one sum an axis. The arithmetic of digits is `+`, `*` and comparison
alone.

A constructor that cuts inside a digit's carry (`[A, B] / 2` with B = 3) has no digits: `compile_digits` raises
`NotDigits`, and the caller takes the guarded encoding of the whole expression instead. Source: docs/design.md,
docs/machines/rngd.md 1.2 and 1.3.

Relied on (proofs/): bound-step, digits-unique-step, digits-unique-two, divide-inside-digit, euclid-existence,
euclid-uniqueness, merge-keeps-addresses, merge-needs-contiguity, modulo-is-resize, padding-off-boundary,
padding-on-boundary, recombine-off-boundary, recombine-on-boundary, refinement-step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache

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
    axes_of,
    pair,
    walk,
)
from dmaverify.language.numbers import Symbolic, may_reach, moves, same
from dmaverify.values import dataclass, replace


class NotDigits(Exception):
    """The expression is no mixed-radix form; `reason` says at which cut."""

    def __init__(self, reason: str, expr: Expr) -> None:
        super().__init__(reason)
        self.reason = reason
        self.expr = expr


class Gap(Enum):
    """What a guard makes of the positions it covers, besides the padding kinds."""

    VOID = "void"  # no such position
    OUT = "out-of-bounds"  # `=` beyond the size: a position without a cell


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit that walks 0..slots. `axis` None is a broadcast: it moves no coordinate.

    `step` is its weight on the position (later: on the address), `weight` its weight on the axis. `live` counts the
    values that single-digit padding leaves: hardware walks `slots`, the tensor has `live`.
    """

    axis: str | None
    weight: int
    step: int
    slots: int
    live: int


@dataclass(frozen=True, slots=True)
class Guard:
    """`constant + sum(coefficient * digit) >= bound` makes the cell `kind`. Coefficients are never negative."""

    terms: tuple[tuple[int, int], ...]  # (index of a digit, coefficient)
    bound: int
    kind: Kind | Gap
    constant: int = 0

    def value(self, digits: tuple[int, ...]) -> int:
        return self.constant + sum(coefficient * digits[index] for index, coefficient in self.terms)


@dataclass(frozen=True, slots=True)
class DigitForm:
    """Digits outermost first, guards in order of precedence, constant coordinates from `@`."""

    size: int
    digits: tuple[Digit, ...]
    guards: tuple[Guard, ...] = ()
    offsets: tuple[tuple[str, int], ...] = ()

    def values_at(self, position: int) -> tuple[int, ...]:
        """The digits of a position."""
        values = []
        for digit in self.digits:
            value, position = divmod(position, digit.step)
            values.append(value)
        return tuple(values)

    def pads(self, values: tuple[int, ...]) -> bool:
        """Whether the cell with these digits is padding."""
        return any(guard.value(values) >= guard.bound for guard in self.guards)

    @property
    def boxed(self) -> bool:
        """Whether each digit by itself decides where padding is: the live cells are all of a box (guards only grow)."""
        return not self.pads(tuple(digit.live - 1 for digit in self.digits))


# ---------------------------------------------------------------- one constructor at a time


@lru_cache(maxsize=8192)
def compile_digits(expr: Expr) -> DigitForm:
    """The digits of a well-formed mapping, not yet finalized (see `finalize`). Raises NotDigits."""
    match expr:
        case Symbol(name, size):
            return _normal(DigitForm(size, (Digit(name, 1, 1, size, size),)))
        case Broadcast(size):
            return _normal(DigitForm(size, (Digit(None, 0, 1, size, size),)))
        case Stride(inner, by):
            return _every(compile_digits(inner), by, expr)
        case Modulo(inner, by):
            return _first(compile_digits(inner), by)
        case Resize(inner, to):
            form = compile_digits(inner)
            return _first(form, to) if to <= form.size else _extend(form, to, Gap.OUT)
        case Padding(inner, to, kind):
            form = compile_digits(inner)
            return _first(form, to) if same(to, form.size) or to < form.size else _extend(form, to, kind)
        case Drop(inner, first):
            return _skip(compile_digits(inner), first, expr)
        case Pair(left, right):
            return _join(compile_digits(left), compile_digits(right))
        case Window():
            return compile_digits(_window_as_pair(expr))


def _join(left: DigitForm, right: DigitForm) -> DigitForm:
    outer = tuple(replace(d, step=d.step * right.size) for d in left.digits)
    moved = tuple(_shift(g, len(outer)) for g in right.guards)
    offsets = dict(left.offsets)
    for axis, value in right.offsets:
        offsets[axis] = offsets.get(axis, 0) + value
    return DigitForm(left.size * right.size, outer + right.digits, left.guards + moved, tuple(sorted(offsets.items())))


def _every(form: DigitForm, by: int, expr: Expr) -> DigitForm:
    """`e / by`: keeps digits whose step is a multiple of `by`, cuts the one that `by` falls into, drops the rest."""
    changes: dict[int, tuple[int, Digit | None]] = {}
    for index, digit in enumerate(form.digits):
        if _is_multiple(digit.step, by):
            changes[index] = (1, replace(digit, step=digit.step // by))
        elif by % digit.step == 0:
            ratio = by // digit.step
            slots = -(-digit.slots // ratio)
            kept = Digit(digit.axis, digit.weight * ratio, 1, slots, -(-digit.live // ratio))
            changes[index] = (ratio, kept if moves(slots) else None)
            for rest in range(index + 1, len(form.digits)):
                changes[rest] = (0, None)
            break
        else:
            raise NotDigits(f"the cut at {by} falls inside a digit of step {digit.step}", expr)
    return _rebuilt(form, form.size // by, changes)


def _is_multiple(step: int, by: int) -> bool:
    """Whether a digit is kept as it is. A step of 1 is cut at any symbolic number: at 1 that is the same digit."""
    return not (isinstance(by, Symbolic) and same(step, 1)) and step % by == 0


def _first(form: DigitForm, count: int) -> DigitForm:
    """`e % count` and `e = count` up to the size: the first `count` positions."""
    if same(count, form.size):
        return form
    changes: dict[int, tuple[int, Digit | None]] = {}
    exact = True
    for index, digit in enumerate(form.digits):
        if not (isinstance(count, Symbolic) and same(digit.step, 1)) and digit.step >= count:
            changes[index] = (0, None)
            continue
        slots = min(-(-count // digit.step), digit.slots)
        changes[index] = (1, replace(digit, slots=slots, live=min(slots, digit.live)) if moves(slots) else None)
        exact = count % digit.step == 0
        break
    guards = form.guards
    if not exact:
        guards = (*guards, Guard(tuple((i, d.step) for i, d in enumerate(form.digits)), count, Gap.VOID))
    return _rebuilt(replace(form, guards=guards), count, changes)


def _extend(form: DigitForm, size: int, kind: Kind | Gap) -> DigitForm:
    """`e # size`: positions beyond the size of e are `kind`, whatever e itself says of them."""
    if not form.digits:
        return DigitForm(size, (Digit(None, 0, 1, size, 1),), (Guard(((0, 1),), 1, kind), *form.guards), form.offsets)
    top = form.digits[0]
    slots = -(-size // top.step)
    flat = tuple((i, d.step) for i, d in enumerate(form.digits))
    inner = tuple(g for g in form.guards if not (g.kind is Gap.VOID and any(i == 0 for i, _ in g.terms)))
    outside = (
        Guard(((0, 1),), form.size // top.step, kind) if form.size % top.step == 0 else Guard(flat, form.size, kind)
    )
    ragged = (Guard(flat, size, Gap.VOID),) if size % top.step else ()
    return _normal(
        DigitForm(size, (replace(top, slots=slots), *form.digits[1:]), (*ragged, outside, *inner), form.offsets)
    )


def _skip(form: DigitForm, first: int, expr: Expr) -> DigitForm:
    """`e @ first`: the outermost digit starts later."""
    if first == 0:
        return form
    if not form.digits or first % form.digits[0].step:
        raise NotDigits(f"`@ {first}` starts inside a digit", expr)
    top = form.digits[0]
    start = first // top.step
    offsets = dict(form.offsets)
    if top.axis is not None:
        offsets[top.axis] = offsets.get(top.axis, 0) + top.weight * start
    guards = tuple(replace(g, constant=g.constant + start * sum(k for i, k in g.terms if i == 0)) for g in form.guards)
    kept = replace(top, slots=top.slots - start, live=max(0, top.live - start))
    return _normal(DigitForm(form.size - first, (kept, *form.digits[1:]), guards, tuple(sorted(offsets.items()))))


def _window_as_pair(expr: Window) -> Expr:
    """`$(a : size(b), b : 1)` is `a, b`; any other weights overlap or leave gaps, which no digits say."""
    ordered = sorted(expr.terms, key=lambda term: -term[1])
    volume = 1
    for term, weight in reversed(ordered):
        if term.size == 1:
            continue
        if weight != volume:
            raise NotDigits(f"the weight {weight} in `{expr}` is not the volume {volume} inside it", expr)
        volume *= term.size
    return pair(*(term for term, _ in ordered))


# ---------------------------------------------------------------- bookkeeping


def _shift(guard: Guard, by: int) -> Guard:
    return replace(guard, terms=tuple((i + by, k) for i, k in guard.terms))


def _rebuilt(form: DigitForm, size: int, changes: Mapping[int, tuple[int, Digit | None]]) -> DigitForm:
    """Digit i becomes `factor * new`, or 0 where new is None; guards follow."""
    digits: list[Digit] = []
    place: dict[int, tuple[int, int] | None] = {}
    for index, digit in enumerate(form.digits):
        factor, new = changes.get(index, (1, digit))
        if new is None:
            place[index] = None
        else:
            place[index] = (len(digits), factor)
            digits.append(new)
    guards = []
    for guard in form.guards:
        terms = []
        for index, coefficient in guard.terms:
            at = place[index]
            if at is not None:
                terms.append((at[0], coefficient * at[1]))
        guards.append(replace(guard, terms=tuple(terms)))
    return _normal(DigitForm(size, tuple(digits), tuple(guards), form.offsets))


def _normal(form: DigitForm) -> DigitForm:
    """Drops digits that never move and guards that never hold."""
    if any(not moves(d.slots) for d in form.digits):
        return _rebuilt(form, form.size, {i: (0, None) for i, d in enumerate(form.digits) if not moves(d.slots)})
    guards: list[Guard] = []
    for guard in form.guards:
        reached = may_reach(_most(guard, form.digits), guard.bound)
        if reached and not any(_shadows(earlier, guard) for earlier in guards):
            guards.append(guard)
    return replace(form, guards=tuple(guards), digits=_with_live(form.digits, guards))


def _shadows(earlier: Guard, later: Guard) -> bool:
    """Wherever `later` holds, `earlier` holds too, and says all of it: no padding is no position."""
    says = later.kind is not Gap.VOID or earlier.kind is Gap.VOID
    return says and earlier.terms == later.terms and earlier.bound - earlier.constant <= later.bound - later.constant


def _most(guard: Guard, digits: tuple[Digit, ...]) -> int:
    return guard.constant + sum(k * (digits[i].slots - 1) for i, k in guard.terms)


def _with_live(digits: tuple[Digit, ...], guards: Sequence[Guard]) -> tuple[Digit, ...]:
    live = [d.slots for d in digits]
    for guard in guards:
        if len(guard.terms) == 1 and guard.kind is not Gap.VOID:
            index, coefficient = guard.terms[0]
            live[index] = min(max(0, -(-(guard.bound - guard.constant) // coefficient)), live[index])
    return tuple(d if d.live == n else replace(d, live=n) for d, n in zip(digits, live, strict=True))


def finalize(form: DigitForm, sizes: Mapping[str, int]) -> DigitForm:
    """Adds what finalization adds: an index whose sum on an axis reaches the axis size is Top padding
    (docs/machines/rngd.md 1.3, 8-9).
    """
    guards = list(form.guards)
    offsets = dict(form.offsets)
    for axis in dict.fromkeys([d.axis for d in form.digits if d.axis is not None] + list(offsets)):
        terms = tuple((i, d.weight) for i, d in enumerate(form.digits) if d.axis == axis)
        guards.append(Guard(terms, sizes[axis], Kind.TOP, offsets.get(axis, 0)))
    return _normal(replace(form, guards=tuple(guards)))


def coalesce(form: DigitForm) -> DigitForm:
    """Neighbours that are one digit become one: a cut that changes no address is no cut.

    `outer` and `inner` are one when inner has all its values, `outer.step = inner.slots * inner.step`, the same holds
    for their weights on one axis (both None, or equal), and every guard can be said of the merged digit.
    """
    digits = list(form.digits)
    guards = list(form.guards)
    index = len(digits) - 1
    while index > 0:
        outer, inner = digits[index - 1], digits[index]
        ratio = inner.slots
        if _one_digit(outer, inner) and all(_mergeable(g, index - 1, index, ratio, outer.axis) for g in guards):
            digits[index - 1 : index + 1] = [
                Digit(outer.axis, inner.weight, inner.step, outer.slots * inner.slots, outer.slots * inner.slots)
            ]
            guards = [_merge_terms(g, index, inner.slots) for g in guards]
        index -= 1
    done = tuple(digits)
    return replace(form, digits=_with_live(done, guards), guards=tuple(guards))


def _one_digit(outer: Digit, inner: Digit) -> bool:
    return (
        outer.axis == inner.axis
        and same(outer.step, inner.slots * inner.step)
        and (outer.axis is None or same(outer.weight, inner.slots * inner.weight))
    )


def _mergeable(guard: Guard, outer: int, inner: int, ratio: int, axis: str | None) -> bool:
    """Whether the guard can be said of `ratio * outer + inner`: it weighs both so, or it is about the outer digit
    alone.

    A padded broadcast beside a plain one stays apart: one is a hole, the other replicas that a stream can name.
    """
    terms = dict(guard.terms)
    if terms.get(outer, 0) == ratio * terms.get(inner, 0):
        return True
    return axis is not None and len(terms) == 1 and outer in terms


def _merge_terms(guard: Guard, inner: int, ratio: int) -> Guard:
    """Digit `inner - 1` and `inner` became one at `inner - 1`, counted in steps of the inner one."""
    terms = dict(guard.terms)
    if inner not in terms and inner - 1 in terms:  # outer >= n is merged >= n * ratio
        least = -(-(guard.bound - guard.constant) // terms[inner - 1])
        return replace(guard, terms=((inner - 1, 1),), bound=least * ratio, constant=0)
    moved = {i - 1 if i >= inner else i: k for i, k in terms.items() if i != inner - 1}
    return replace(guard, terms=tuple(sorted(moved.items())))


def finalized(expr: Expr) -> DigitForm:
    """The digits of a mapping with the padding that its axes' sizes make. Raises NotDigits."""
    return _normal_forms(expr)[0]


def digits_of(expr: Expr) -> DigitForm:
    """Compiled, finalized and coalesced: the normal form of one mapping. Raises NotDigits."""
    return _normal_forms(expr)[1]


def _normal_forms(expr: Expr) -> tuple[DigitForm, DigitForm]:
    """Both forms, cached for mappings without symbols: those of others depend on what is known of the symbols."""
    return _kept_forms(expr) if _plain(expr) else _forms(expr)


def _forms(expr: Expr) -> tuple[DigitForm, DigitForm]:
    made = finalize(compile_digits(expr), axes_of(expr))
    return made, coalesce(made)


_kept_forms = lru_cache(maxsize=4096)(_forms)


@lru_cache(maxsize=4096)
def _plain(expr: Expr) -> bool:
    return all(type(node.size) is int for node in walk(expr))
