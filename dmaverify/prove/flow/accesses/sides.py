"""The sides of a step: every tensor that it touches, with its view, its type, and whether all of it is read.

Knows: transfers, accesses, rows of unknown numbers. Does not know: order, what tiles make together, addresses.
Law: sides come in one order, in each of these lists.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from dmaverify.language.expr import Expr, Kind, Resize
from dmaverify.language.numbers import same
from dmaverify.layout.digits import NotDigits, digits_of
from dmaverify.lower.adapters import is_fetch
from dmaverify.program.schedule import Step
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.program.views import TileWindow, View, Views
from dmaverify.prove.flow.accesses.live_cells import reads_all
from dmaverify.targets.target import Target
from dmaverify.values import replace


def sides_of(step: Step) -> Iterator[tuple[Tensor, Views | None, View | None, bool]]:
    """Every tensor that a step touches, with its view and whether it is written."""
    if step.transfer is not None:
        views = step.transfer.views
        yield step.transfer.source, views, views.source if views else None, False
        yield step.transfer.dest, views, views.dest if views else None, True
    for access in step.accesses:
        yield access.memory, access.views, access.view, not is_fetch(access)


def dtypes_of(step: Step) -> list[str]:
    """The type of each side."""
    both = [] if step.transfer is None else [step.transfer.dtype] * 2
    return both + [access.dtype for access in step.accesses]


def whole_readers(step: Step, target: Target) -> list[bool]:
    """Of each side, whether all that it shows is read: a move or a Fetch may ask for a part, a gather for few rows."""
    moved = step.transfer
    scatters = step.indirect is not None and step.indirect.scatter
    whole = scatters or (moved is not None and step.indirect is None and reads_all(moved, target))
    both = [] if moved is None else [whole, False]
    return both + [is_fetch(access) and reads_all(access, target) for access in step.accesses]


def cutting(view: View) -> list[TileWindow]:
    """The windows that leave an element out, or begin elsewhere."""
    return [w for w in view.windows if w.size > 1 and (w.length < w.size or w.start.constant)]


def plain(tensor: Tensor) -> Tensor:
    return replace(tensor, span=None, base_span=None)


def bare(tensor: Tensor, view: View | None) -> tuple[Tensor, View | None] | None:
    """A tensor without the Top padding behind its elements, place by place, and its view; None where a window's digit
    would end within one of its positions, and without digits.
    """
    try:
        own = replace(tensor, **{place: _unpadded(tensor.field(place)) for place in PLACES})  # type: ignore[arg-type]
    except NotDigits:
        return None
    windows = []
    for window in () if view is None else view.windows:
        room, rest = divmod(own.field(window.place).size, window.stride)
        if room < window.room and rest:
            return None
        room = min(room, window.room)
        windows.append(replace(window, size=min(window.size, room), room=room))
    return own, None if view is None else replace(view, base=own, windows=tuple(windows))


def _unpadded(expr: Expr) -> Expr:
    """The mapping without the padding that is last in it, which holds no element. Raises NotDigits."""
    form = digits_of(expr)
    top = next(iter(form.digits), None)
    if top is None or same(top.live, top.slots):
        return expr
    behind = [guard for guard in form.guards if any(index == 0 for index, _ in guard.terms)]
    plain = all(len(guard.terms) == 1 and guard.kind is Kind.TOP for guard in behind)
    return Resize(expr, top.live * top.step) if plain and top.live > 0 else expr


def places_of(tensor: Tensor) -> Hashable:
    """Which elements a tensor has on which places: equal of two that have the same, however they are cut and
    however much Top padding follows.
    """
    forms: list[Hashable] = []
    for place in PLACES:
        expr = tensor.field(place)
        try:
            forms.append(digits_of(_unpadded(expr)))
        except NotDigits:
            forms.append(expr)
    return (tensor.tier, tensor.base, *(getattr(tensor, f"at_{place}") for place in PLACES[:-1]), *forms)
