"""The digits of a compound, as far as one question needs them: does a cut fall between its terms?

Knows: how cuts, pads and pairs act on digits whose coordinates start at 0.
Does not know: addresses, the normal form of a move (`layout`), what to say about a bad cut (`wellformed`).
Law: where `cuts_clean` holds for the digits of `e`, `e / k, e % k` has the finalized cells of `e`. The digits may be
given up (None) at any point, never guessed.

Source: docs/machines/rngd.md 1.3, item 8, and 1.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from dmaverify.language.expr import Kind
from dmaverify.values import dataclass, replace

_MAX_STEPS = 64  # a compound of more digits is given up


@dataclass(frozen=True, slots=True)
class CompoundDigit:
    """A digit of a compound: `slots` positions, each `weight` further on `axis` (None: broadcast), the first `live`
    not padding."""

    axis: str | None
    weight: int
    extent: int  # the size of the axis
    slots: int
    live: int
    kind: Kind | None = None  # of the padding behind `live`; None where there is none, or more than one kind


Form = tuple[CompoundDigit, ...] | None
"""Digits, innermost first; None: not followed."""


def leaf(axis: str | None, size: int) -> Form:
    return (CompoundDigit(axis, 1, size, size, size),) if size > 1 else ()


def joined(minor: tuple[CompoundDigit, ...], major: tuple[CompoundDigit, ...]) -> Form:
    """Minor digits below major ones; two that count on as one digit become one."""
    if len(minor) + len(major) > _MAX_STEPS:
        return None
    if minor and major and _continues(minor[-1], major[0]):
        low, high = minor[-1], major[0]
        one = replace(high, weight=low.weight, slots=low.slots * high.slots, live=low.slots * high.live)
        return (*minor[:-1], one, *major[1:])
    return minor + major


def _continues(low: CompoundDigit, high: CompoundDigit) -> bool:
    if low.axis != high.axis or low.live != low.slots:
        return False
    return low.axis is None or high.weight == low.weight * low.slots


def cuts_clean(form: tuple[CompoundDigit, ...], by: int) -> bool:
    """Whether the halves `/ by` and `% by` add up to the whole again, padding that turns into Top apart."""
    for place, step in enumerate(form):
        if by % step.slots == 0:
            by //= step.slots
            continue
        return by == 1 or (step.slots % by == 0 and _pads_clean(step, by, form[:place]))
    return True


def _pads_clean(step: CompoundDigit, by: int, below: tuple[CompoundDigit, ...]) -> bool:
    """Whether the padding of a digit survives a cut inside it: the cut falls on its edge, or the sums of the halves
    overshoot the axis and so are Top again, unless a digit below makes them something else."""
    if step.live == step.slots or (step.kind is not None and (step.live % by == 0 or step.live <= by)):
        return True
    overshoots = step.axis is not None and step.weight * step.live >= step.extent
    return overshoots and all(one.live == one.slots or one.kind is Kind.TOP for one in (step, *below))


def coarse(form: Form, by: int) -> Form:
    """The digits of `/ by`, a clean cut."""
    if form is None:
        return None
    for place, step in enumerate(form):
        if by % step.slots:
            live = -(-step.live // by)
            return (replace(step, weight=step.weight * by, slots=step.slots // by, live=live), *form[place + 1 :])
        by //= step.slots
    return ()


def kept(form: Form, to: int) -> Form:
    """The digits of the first `to` positions; the outermost may be walked in part only."""
    if form is None:
        return None
    out: list[CompoundDigit] = []
    below = 1
    for step in form:
        slots = min(step.slots, -(-to // below))
        if slots > 1:
            out.append(replace(step, slots=slots, live=min(step.live, slots)))
        below *= step.slots
        if below >= to:
            break
    return tuple(out)


def widened(form: Form, size: int | None, to: int, kind: Kind) -> Form:
    """The digits with the outermost walked on into padding."""
    if form is None or size is None or to == size:
        return form
    if prod(step.slots for step in form) != size:
        return None
    if not form:
        return (CompoundDigit(None, 1, 1, to, 1, kind),)
    top, below = form[-1], prod(step.slots for step in form[:-1])
    only = kind if top.live == top.slots or top.kind is kind else None
    return (*form[:-1], replace(top, slots=-(-to // below), kind=only))


def boundaries(form: tuple[CompoundDigit, ...]) -> Iterator[int]:
    below = 1
    for step in form:
        below *= step.slots
        yield below
