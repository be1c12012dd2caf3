"""Whether what is used of a buffer was written before, on every way through the function, and no cell of it twice.

Knows: which access happens on which way, which cells it covers.
Does not know: Rust text, single moves, the schedule.
Law: a cell counts as written only where no way leads past all of its certain writes; it is called unwritten only on a
way that a run can take, past all that may write it. All else is unjudged, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from dmaverify.language.distinct import distinct
from dmaverify.language.meaning import Index, cell
from dmaverify.machines.rngd.rust.accesses import Effect, HeldNeed, Unjudged, UsedBuffer
from dmaverify.machines.rngd.rust.cells import CellSpace, certain, cover_of
from dmaverify.machines.rngd.rust.moves import Site
from dmaverify.machines.rngd.rust.values import PLACES, Map
from dmaverify.machines.rngd.rust.views import plain
from dmaverify.prove.flow.ways import OnWay, Passed, WaysUndecided, way_past
from dmaverify.prove.meet import Walk
from dmaverify.values import replace
from dmaverify.verdict import Finding, Label, Severity

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_GROUPS = 512  # sets of cells that the same branches write
MOST_WAYS = 32  # of writes, any two of which are compared
_OVERLAP = "furiosa-opt v0.6.0, tile (starts are not multiplied by the length, and are not checked)"
_FRESH = "furiosa-opt v0.6.0, HbmTensor::new (memory that is not initialized)"
COVER, ONCE, DEFINITE = "core/tiles-cover", "core/tiles-once", "core/definite"

_SETTLES = {
    "takes no turn": "a bound that is a constant here would settle it, or a write before the loop",
    "knows where the tile": "a start made of constants and loop variables would settle it",
    "follow no progression": "a start made of constants and loop variables would settle it",
    "condition of each turn": "a condition that no turn changes would settle it",
    "too many": "tiles of equal steps over fewer cells would settle it",
    "no digits": "mappings whose cuts divide each other would settle it",
}

Told = tuple[Site, "Finding | Unjudged"]


def judged(buffer: UsedBuffer) -> Iterator[Told]:
    """What is wrong with the writes of a buffer, or could not be said."""
    if buffer.own:
        yield from _used(buffer)
    elif way_past(OnWay(), [effect.when for _, effect in buffer.writes]) is not None:
        said = f"that `{buffer.name}` is written on every way is not claimed"
        yield buffer.last, Unjudged(DEFINITE, said, False)
    if buffer.tiled:
        yield from _counted(buffer)


# ---------------------------------------------------------------- written before it is used


def _used(buffer: UsedBuffer) -> Iterator[Told]:
    """The first use of cells that are not written on some way to it."""
    cells = _Cells(buffer) if buffer.tiled else None
    doubt: Told | None = None
    for need in buffer.needs:
        try:
            found = _unmet(buffer, cells, need)
        except WaysUndecided:
            found = _open(buffer, need, "there are too many ways through the function")
        if found is None:
            continue
        if isinstance(found[1], Finding):
            yield found
            return
        doubt = doubt or found
    if doubt is not None:
        yield doubt


def _unmet(buffer: UsedBuffer, cells: _Cells | None, need: HeldNeed) -> Told | None:
    before = [effect for at, effect in buffer.writes if at < need.after]
    whole = [one.when for one in before if not one.tensor.window.tiled and not one.may]
    if way_past(need.when, whole) is None:
        return None
    before = [replace(one, partial=True) if _elsewhere(one, need) else one for one in before]
    doubtful = [one.when for one in before if one.may or not certain(one.tensor)]
    if cells is None or not cells.space.fits:
        if cells is not None:
            if way_past(need.when, [one.when for one in before]) is None:
                return _open(buffer, need, cells.why)
            return _open(buffer, need, cells.why)
        passed = way_past(need.when, [*whole, *doubtful])
        return _told(buffer, need, passed, None) if passed is not None else _open(buffer, need, _doubt(before))
    return _by_cells(buffer, cells, need, before, doubtful)


def _elsewhere(effect: Effect, need: HeldNeed) -> bool:
    """Whether a use in a loop that is read once may see less than all turns of a write in it have written: it goes
    through another window.
    """
    moving = {abs(loop) for _, numbers in effect.tensor.window.parts for loop in numbers.loops if numbers.step}
    here, there = ([(own, own[1].loops) for own in one.tensor.window.parts] for one in (effect, need))
    return bool(moving & need.when.turns.keys()) and here != there


def _by_cells(
    buffer: UsedBuffer, cells: _Cells, need: HeldNeed, before: Sequence[Effect], doubtful: Sequence[OnWay]
) -> Told | None:
    import numpy as np

    required = cells.required(need)
    if required is None:
        return _open(buffer, need, "the digits of its mapping depend on one another")
    always = np.zeros(cells.space.size, dtype=bool)
    some: list[tuple[OnWay, NDArray[Any]]] = []
    for effect in before:
        made = cells.written(effect)
        if made is None:
            continue
        if not effect.when.exits and set(effect.when.path) <= set(need.when.path):
            always[made] = True
        else:
            mask = np.zeros(cells.space.size, dtype=bool)
            mask[made] = True
            some.append((effect.when, mask))
    left = distinct(required[~always[required]])
    maybe = not certain(need.tensor) and left.size < distinct(required).size  # what is read may be what was written
    doubt: Told | None = None
    missed: dict[str, list[int]] = {}
    ways: dict[str, Passed] = {}
    for writers, own in _groups(left, some):
        if way_past(need.when, writers) is None:
            continue
        passed = way_past(need.when, [*writers, *doubtful])
        if passed is None or not passed.certain or need.soft or maybe:
            why = _doubt(before) if passed is None else _way(passed)
            doubt = doubt or _open(buffer, need, why)
            continue
        ways[passed.told] = passed
        missed.setdefault(passed.told, []).extend(own)
    if missed:
        told = max(missed, key=lambda one: len(missed[one]))
        return _told(buffer, need, ways[told], sorted(missed[told]), cells, len(distinct(required)))
    return doubt


def _groups(left: NDArray[Any], some: Sequence[tuple[OnWay, NDArray[Any]]]) -> Iterator[tuple[list[OnWay], list[int]]]:
    """Cells that the same accesses write. Raises WaysUndecided."""
    found: dict[tuple[int, ...], list[int]] = {(): left.tolist()} if left.size else {}
    for number, (_, mask) in enumerate(some):
        made: dict[tuple[int, ...], list[int]] = {}
        for key, own in found.items():
            hit = mask[own]
            for one, is_hit in zip(own, hit.tolist(), strict=True):
                made.setdefault((*key, number) if is_hit else key, []).append(one)
        found = made
        if len(found) > MOST_GROUPS:
            raise WaysUndecided
    for key, own in found.items():
        yield [some[number][0] for number in key], own


class _Cells:
    """The cells of a buffer as its tiles share them."""

    def __init__(self, buffer: UsedBuffer) -> None:
        parts = [buffer.whole.fields[place] for place in PLACES[buffer.whole.tier]]
        self.sizes = [part.expr.size if isinstance(part, Map) else 0 for part in parts]
        self.whole = cover_of(buffer.whole, self.sizes)
        self.covers: dict[int, Walk | None] = {id(e.tensor): cover_of(e.tensor, self.sizes) for _, e in buffer.writes}
        for need in buffer.needs:
            self.covers[id(need.tensor)] = cover_of(need.tensor, self.sizes)
        every = [cover for cover in (self.whole, *self.covers.values()) if cover is not None]
        total = prod(self.sizes)
        self.space = CellSpace(max(1, total), every)
        self.why = f"its {total:,} cells are too many to be counted"

    def written(self, effect: Effect) -> NDArray[Any] | None:
        """The cells that certainly are written where the access happens."""
        cover = self.covers[id(effect.tensor)] if not effect.may else None
        return self.space.positions(cover) if cover is not None else None

    def required(self, need: HeldNeed) -> NDArray[Any] | None:
        cover = self.covers[id(need.tensor)] if certain(need.tensor) else self.whole
        return self.space.positions(cover) if cover is not None else None


def _doubt(before: Sequence[Effect]) -> str:
    """Why the writes do not settle it."""
    for one in before:
        if one.tensor.window.open:
            return f"only the running program knows where the tile in line {one.site.span.line} starts"
        if not certain(one.tensor):
            return f"the starts of the tile in line {one.site.span.line} follow no progression that is known"
        if one.may:
            return f"the write in line {one.site.span.line} stands behind a condition of each turn of a loop"
    return "its tiles have no digits that could be counted"


def _way(passed: Passed) -> str:
    return f"nothing writes it where {passed.told}" if passed.told else "it is not clear which branches are taken"


def _open(buffer: UsedBuffer, need: HeldNeed, why: str) -> Told:
    what = "read" if need.site is not None else "given away"
    line = f" in line {need.site.span.line}" if need.site is not None else ""
    settles = next((told for sign, told in _SETTLES.items() if sign in why), "a write on every way would settle it")
    reason = f"that all of `{buffer.name}` is written before it is {what}{line} is not decided: {why}; {settles}"
    return buffer.last, Unjudged(COVER if buffer.tiled else DEFINITE, reason, True)


def _told(
    buffer: UsedBuffer, need: HeldNeed, passed: Passed | None, missed: Sequence[int] | None,
    cells: _Cells | None = None, live: int = 0,
) -> Told:  # fmt: skip
    """The finding on cells that are used and not written on a way."""
    assert passed is not None
    if not passed.certain or need.soft:
        return _open(buffer, need, _way(passed))
    where = f"where {passed.told}, " if passed.told else ""
    later = any(at >= need.after for at, _ in buffer.writes)
    what = "read here" if need.site is not None else "given away"
    site = need.site if need.site is not None else buffer.last
    labels = tuple(Label(e.site.span, "a write") for _, e in buffer.writes[:3])
    if missed is None or cells is None:
        order = "nothing writes it before" if later else "nothing writes it"
        message = f"`{buffer.name}` is {what}, and {where}{order}: it holds whatever lay in memory"
        return site, Finding(
            DEFINITE, Severity.ERROR, message, "source" if need.site is not None else "destination", site.span,
            {"tensor": buffer.name}, source=_FRESH, hint="write it on every way, or give away another tensor",
            labels=labels,
        )  # fmt: skip
    each = cells.space.each
    order = f"not written before the tensor is {what}" if later or where else "never written by its tiles"
    message = f"{where}{len(missed) * each:,} of {live * each:,} elements of `{buffer.name}` are {order}"
    hint = "let the tiles cover the tensor, or write it whole first"
    return site, _cell_finding(
        COVER, message, "first unwritten", cells.space.position(missed[0]), buffer, hint, True, site
    )


# ---------------------------------------------------------------- counted


def _counted(buffer: UsedBuffer) -> Iterator[Told]:
    """Cells that tiles write twice; of a tensor that the function was given, cells that they leave as well."""
    import numpy as np

    cells = _Cells(buffer)
    clear = [effect for _, effect in buffer.writes if certain(effect.tensor) and not effect.may]
    covers = [cells.covers[id(effect.tensor)] for effect in clear]
    settled = len(clear) == len(buffer.writes) and None not in covers and cells.whole is not None and cells.space.fits
    if not settled or cells.whole is None:
        if not buffer.own:
            why = cells.why if not cells.space.fits else _doubt([effect for _, effect in buffer.writes])
            said = f"that the tiles cover `{buffer.name}`, no part of it twice, is not judged: {why}"
            yield buffer.last, Unjudged(COVER, said, False)
        return
    live = distinct(cells.space.positions(cells.whole))
    count = {when: np.zeros(cells.space.size, dtype=np.int64) for when in dict.fromkeys(e.when for e in clear)}
    for effect, cover in zip(clear, covers, strict=True):
        assert cover is not None
        count[effect.when] += np.bincount(cells.space.positions(cover), minlength=cells.space.size)
    every = sum(count.values(), np.zeros(cells.space.size, dtype=np.int64))
    each = cells.space.each
    unwritten = live[every[live] == 0]
    if unwritten.size and not (buffer.own and buffer.needs):
        message = f"{unwritten.size * each:,} of {live.size * each:,} elements of `{buffer.name}` are never written by"
        yield buffer.last, _cell_finding(
            COVER, f"{message} its tiles", "first unwritten", cells.space.position(int(unwritten[0])), buffer,
            "let the tiles cover the tensor, or write it whole first", False, buffer.last,
        )  # fmt: skip
    if any(not effect.tensor.window.tiled for _, effect in buffer.writes):
        return  # written as a whole and then in part: meant as it stands
    again = next((told for told in map(partial(_again, buffer), clear) if told is not None), None)
    if again is not None:
        yield again
        return
    doubt: Told | None = None
    once = f"that no element of `{buffer.name}` is written twice is not decided"
    if len(count) > MOST_WAYS and buffer.alone:
        doubt = buffer.last, Unjudged(ONCE, f"{once}: its writes stand behind too many conditions", True)
    for when, other, twice in _twice(count, live) if len(count) <= MOST_WAYS else ():
        always = when.always and other.always
        why = "" if always else _on_one_way(when, other)
        if always or (why and not buffer.alone):
            message = f"{twice.size * each:,} elements of `{buffer.name}` are written more than once by its tiles"
            yield buffer.last, _cell_finding(
                ONCE, message, "first written twice", cells.space.position(int(twice[0])), buffer,
                "starts are positions of the digit that the tile cuts", buffer.alone, buffer.last,
            )  # fmt: skip
            return
        doubt = doubt or ((buffer.last, Unjudged(ONCE, f"{once}: {why}", True)) if why else None)
    if doubt is not None:
        yield doubt


def _twice(count: Mapping[OnWay, NDArray[Any]], live: NDArray[Any]) -> Iterator[tuple[OnWay, OnWay, NDArray[Any]]]:
    """Two ways of writes with the cells that they write more than once together; one that always happens first."""
    ways = sorted(count, key=lambda when: not when.always)
    for number, when in enumerate(ways):
        for other in ways[number:]:
            both = count[when] if other is when else count[when] + count[other]
            twice = live[both[live] > 1]
            if twice.size:
                yield when, other, twice


def _on_one_way(one: OnWay, other: OnWay) -> str:
    """Why both may happen in one run; nothing where they cannot."""
    try:
        passed = way_past(OnWay((*one.path, *other.path), (*one.exits, *other.exits)), ())
    except WaysUndecided:
        return "there are too many ways through the function"
    if passed is None:
        return ""
    return f"some are where {passed.told}" if passed.told else "it is not clear which branches are taken"


def _again(buffer: UsedBuffer, effect: Effect) -> Told | None:
    """What is told of a write whose loops write one window in several turns; None where each turn has its own."""
    parts = [numbers for _, numbers in effect.tensor.window.parts]
    still = _still(buffer, effect, {abs(loop) for numbers in parts for loop in numbers.loops})
    more = next((numbers for numbers in parts if numbers.repeats), None)
    if more is None and not still:
        return None
    once = f"that the tile in line {effect.site.span.line} writes `{buffer.name}` once"
    if more is None and not any(effect.when.turns[loop] > 1 for loop in still):
        return effect.site, Unjudged(ONCE, f"{once} is not decided: a loop around it does not move it", True)
    said = "a loop around it writes the same window in every turn, and reads nothing of it"
    if more is not None:
        said = f"{more.turns:,} turns of its loops write {more.count:,} windows of it: some are written more than once"
    return effect.site, Finding(
        ONCE, Severity.ERROR if buffer.alone and effect.when.always else Severity.WARNING, f"`{buffer.name}`: {said}",
        "destination", effect.site.span, {"first": sum(numbers.low for numbers in parts)}, source=_OVERLAP,
        hint="let each turn start where no other one does",
    )  # fmt: skip


def _still(buffer: UsedBuffer, effect: Effect, moving: set[int]) -> set[int]:
    """The loops of more than one turn around a tile that neither move it, nor read the buffer, nor make it anew."""
    read = {loop for need in buffer.needs for loop in need.when.turns}
    since = buffer.whole.buffer.serial if buffer.whole.buffer is not None else 0
    return {loop for loop, count in effect.when.turns.items() if loop >= since and count != 1} - moving - read


def _cell_finding(
    rule: str, message: str, word: str, position: int, buffer: UsedBuffer, hint: str, error: bool, site: Site
) -> Finding:
    coordinates: dict[str, int] = {}
    for place in reversed(PLACES[buffer.whole.tier]):
        expr = buffer.whole.expr(place)
        at = cell(expr, position % expr.size)
        position //= expr.size
        if isinstance(at, Index):
            coordinates = {**{a.split("~")[0]: v for a, v in at.coords}, **coordinates}
    told = ", ".join(f"{axis} = {value}" for axis, value in coordinates.items())
    places = [plain(buffer.whole.expr(place)) for place in PLACES[buffer.whole.tier]]
    within = ", ".join(text for text in places if not text.isdigit() and "1 #" not in text)
    labels = tuple(Label(e.site.span, "a write") for _, e in buffer.writes[:3])
    return Finding(
        rule, Severity.ERROR if error else Severity.WARNING, f"{message}; {word}: {told or 'position 0'}",
        "destination", site.span, {"position": position},
        {"coordinates": coordinates, "within": within}, _OVERLAP, hint=hint, labels=labels,
    )  # fmt: skip
