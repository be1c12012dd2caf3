"""What the tiles of a program make together: every element of an output written once, over all iterations of all loops.

Knows: windows that move with loops, boxes of windows, their overlap and their union.
Does not know: what is inside a tile (each iteration by itself is `core`'s business), how a finding is shown.
Law: `unsat` of the overlap question is the proof that no two tiles share an element; tiles that lie on the tensor,
share nothing and add up to it cover it (proofs/count-covers.smt2). No iteration is enumerated; a loop that does not
move the tile writes the same buffer anew and collects nothing.

Source: furiosa-opt v0.6.0 (views: overlapping starts compile and leave part of the output unwritten), facts/rngd 7.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from dmaverify.errors import Span
from dmaverify.lower.adapters import is_fetch
from dmaverify.program.access import Access
from dmaverify.program.move import Tensor, Transfer
from dmaverify.program.schedule import Order, Step
from dmaverify.program.views import Affine, Turn, View, Views, loop_values
from dmaverify.prove.smt import Query, Session, all_of, any_of, linear, number

MOST_JUMPS = 4096  # tiles that the search for the first unwritten element steps over

Digit = tuple[str, int, int]
"""A digit of a tensor: place, stride, positions that hold elements."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """The tiles of one step on one output: per digit where they start and how long they are (missing: all of it)."""

    step: int
    windows: Mapping[Digit, tuple[Affine, int]]
    labels: Mapping[Digit, str]
    turns: tuple[Turn, ...]
    moving: tuple[int, ...]  # the turns that move it
    partial: bool
    span: Span | None

    @property
    def volume(self) -> int:
        """Elements of all tiles, counted in positions of the digits of `windows`."""
        return prod(length for _, length in self.windows.values()) * prod(self.turns[i].count for i in self.moving)

    def window(self, digit: Digit) -> tuple[Affine, int]:
        return self.windows.get(digit, (Affine(0, (0,) * len(self.turns)), digit[2]))


@dataclass(frozen=True)
class Output:
    """A tensor that tiles write. `whole`: some step writes all of it as well."""

    tensor: Tensor
    tiles: tuple[Tiles, ...]
    whole: bool

    @property
    def digits(self) -> tuple[Digit, ...]:
        return tuple(dict.fromkeys(d for one in self.tiles for d in one.windows))

    def label(self, digit: Digit) -> str:
        return next(one.labels[digit] for one in self.tiles if digit in one.labels)


@dataclass(frozen=True, slots=True)
class Twice:
    """Two tiles that share an element: iterations (values of loops) of two steps, and the position on each digit."""

    first: Tiles
    second: Tiles
    first_at: Mapping[str, int]
    second_at: Mapping[str, int]
    where: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Unwritten:
    """Elements that no tile writes: how many (0: not counted), the first one known, and a start that would do."""

    count: int
    where: Mapping[str, int] | None
    better: str = ""


@dataclass(frozen=True)
class Together:
    """The judgement of one output; statuses are `proved`, `refuted`, `unknown`."""

    output: Output
    once: str
    covers: str
    twice: tuple[Twice, ...] = ()
    unwritten: Unwritten | None = None
    on_purpose: bool = False


# ---------------------------------------------------------------- outputs


def _written(step: Step) -> Iterator[tuple[Transfer | Access, Tensor, Views | None]]:
    if step.transfer is not None:
        yield step.transfer, step.transfer.dest, step.transfer.views
    for access in step.accesses:
        if not is_fetch(access):
            yield access, access.memory, access.views


def outputs(steps: Sequence[Step]) -> list[Output] | None:
    """Tensors that some step writes in tiles; None where two steps cut one tensor in ways that cannot be compared."""
    tiles: dict[Tensor, list[Tiles]] = {}
    whole: set[Tensor] = set()
    for index, step in enumerate(steps):
        for _, tensor, views in _written(step):
            view = None if views is None else views.dest
            if view is None or not view.windows:
                whole.add(_plain(tensor if view is None else view.base))
            else:
                assert views is not None
                tiles.setdefault(_plain(view.base), []).append(_tiles(index, views, view))
    out = []
    for tensor, found in tiles.items():
        alike = _in_common_digits(found)
        if alike is None:
            return None
        out.append(Output(tensor, tuple(alike), tensor in whole))
    return out


def read_tensors(step: Step) -> Iterator[Tensor]:
    """The whole tensors that a step reads."""
    if step.transfer is not None:
        view = step.transfer.views.source if step.transfer.views else None
        yield _plain(step.transfer.source if view is None else view.base)
    for access in step.accesses:
        if is_fetch(access):
            view = access.views.source if access.views else None
            yield _plain(access.memory if view is None else view.base)


def _plain(tensor: Tensor) -> Tensor:
    return replace(tensor, span=None, base_span=None)


def _tiles(step: int, views: Views, view: View) -> Tiles:
    windows = {(w.place, w.stride, w.live): (w.start, w.length) for w in view.windows}
    labels = {(w.place, w.stride, w.live): w.label for w in view.windows}
    moving = tuple(sorted(view.turning))
    return Tiles(step, windows, labels, views.turns, moving, view.partial, view.windows[0].span)


def _in_common_digits(found: Sequence[Tiles]) -> list[Tiles] | None:
    """The tiles of one tensor with windows on the same digits: one of a coarse digit is one of the finer."""
    every = sorted({d for one in found for d in one.windows}, key=lambda d: (d[0], d[1], -d[2]))
    into: dict[Digit, tuple[Digit, int]] = {}
    for digit in every:
        place, stride, size = digit
        wider = [
            d for d in every if d[0] == place and d[1] <= stride and d[1] * d[2] >= stride * size and stride % d[1] == 0
        ]
        best = max(wider, key=lambda d: (d[2] * d[1], -d[1]))
        into[digit] = (best, stride // best[1])
    kept = {best for best, _ in into.values()}
    for a in kept:
        for b in kept:
            if a != b and a[0] == b[0] and a[1] < b[1] * b[2] and b[1] < a[1] * a[2]:
                return None
    out = []
    for one in found:
        moved: dict[Digit, tuple[Affine, int]] = {}
        labels = dict(one.labels)
        for digit, (start, length) in one.windows.items():
            best, factor = into[digit]
            if best in moved or (factor > 1 and any(d != digit and into[d][0] == best for d in one.windows)):
                return None
            moved[best] = (start.times(factor), length * factor)
            labels[best] = next(x.labels[best] for x in found if best in x.labels)
        out.append(replace(one, windows=moved, labels=labels))
    return out


# ---------------------------------------------------------------- judging


def judge(output: Output, order: Order, readers: Sequence[int], session: Session) -> Together:
    """`readers` are the steps that read the tensor: what they saw may be overwritten after them."""
    twice: list[Twice] = []
    status = "proved"
    for i, first in enumerate(output.tiles):
        for second in output.tiles[i:]:
            if first is not second and _read_between(first.step, second.step, order, readers):
                continue
            answer = _twice(output, first, second, session)
            if isinstance(answer, Twice):
                twice.append(answer)
                status = "refuted"
            elif answer == "unknown" and status == "proved":
                status = "unknown"
    covers, unwritten = _covers(output, status, session)
    on_purpose = covers == "refuted" and all(one.partial for one in output.tiles)
    return Together(output, status, "proved" if on_purpose else covers, tuple(twice), unwritten, on_purpose)


def _read_between(first: int, second: int, order: Order, readers: Sequence[int]) -> bool:
    for a, b in ((first, second), (second, first)):
        if any(order.step_precedes(a, r) and order.step_precedes(r, b) for r in readers if r not in (a, b)):
            return True
    return False


def _twice(output: Output, first: Tiles, second: Tiles, session: Session) -> Twice | str:
    """Two tiles with a common element, "none" or "unknown"."""
    if first is second and not first.moving:
        return "none"
    query, order = _overlap_question(output, first, second)
    answer = session.ask(query, "core/tiles-once")
    if answer.status != "sat":
        return "none" if answer.status == "unsat" else "unknown"
    model = session.smallest(query, order, answer).model
    sides = []
    for tiles, letter in ((first, "a"), (second, "b")):
        sides.append([model.get(f"{letter}{i}", 0) for i in range(len(tiles.turns))])
    where = {}
    for digit in output.digits:
        starts = [t.window(digit)[0].at(at) for t, at in zip((first, second), sides, strict=True)]
        where[output.label(digit)] = max(starts)
    at = [loop_values(t.turns, side) for t, side in zip((first, second), sides, strict=True)]
    return Twice(first, second, at[0], at[1], where)


def _overlap_question(output: Output, first: Tiles, second: Tiles) -> tuple[Query, list[str]]:
    """Two iterations, not the same one, whose tiles meet on every digit."""
    variables: list[tuple[str, int | None, int | None]] = []
    terms: list[dict[int, str]] = []
    for tiles, letter in ((first, "a"), (second, "b")):
        names = {i: f"{letter}{i}" for i in tiles.moving if tiles.turns[i].count > 1}
        variables += [(name, 0, tiles.turns[i].count) for i, name in names.items()]
        terms.append(names)
    parts = []
    for digit in output.digits:
        (start_a, length_a), (start_b, length_b) = first.window(digit), second.window(digit)
        ahead = linear(
            start_b.constant - start_a.constant,
            [(start_b.steps[i], name) for i, name in terms[1].items()]
            + [(-start_a.steps[i], name) for i, name in terms[0].items()],
        )
        parts += [f"(< {ahead} {number(length_a)})", f"(< {number(-length_b)} {ahead})"]
    if first is second:
        parts.append(any_of([f"(not (= {terms[0][i]} {terms[1][i]}))" for i in terms[0]]))
    return Query(tuple(variables), tuple(p for p in parts if p != "true")), [name for name, _, _ in variables]


# ---------------------------------------------------------------- the union


def _covers(output: Output, once: str, session: Session) -> tuple[str, Unwritten | None]:
    if output.whole:
        return "proved", None
    digits = output.digits
    total = prod(digit[2] for digit in digits)
    volume = sum(_volume(one, digits) for one in output.tiles)
    if once == "proved" and volume == total and _inside(output):
        return "proved", None
    better = _better(output, total)
    if once == "proved" and volume < total:
        gap = _first_gap(output, session)
        return "refuted", Unwritten(total - volume, gap if isinstance(gap, dict) else None, better)
    gap = _first_gap(output, session)
    if isinstance(gap, dict):
        return "refuted", Unwritten(0, gap, better)
    if volume < total:
        return "refuted", Unwritten(0, None, better)
    return ("proved" if gap == "none" and len(digits) == 1 else "unknown"), None


def _volume(tiles: Tiles, digits: Sequence[Digit]) -> int:
    return prod(tiles.window(d)[1] for d in digits) * prod(tiles.turns[i].count for i in tiles.moving)


def _inside(output: Output) -> bool:
    """Whether all tiles lie on the tensor; where they do not, `core/in-bounds` says so."""
    return all(
        start.least(one.turns) >= 0 and start.most(one.turns) + length <= digit[2]
        for one in output.tiles
        for digit, (start, length) in one.windows.items()
    )


def _reach(tiles: Tiles, digit: Digit, start: int) -> int:
    """The first position from `start` on that the tiles leave out; `start` itself where that takes more than one digit
    to tell. Loops by rising step: each lengthens the run as long as it leaves no gap.
    """
    affine, length = tiles.window(digit)
    others = [a for d, (a, _) in tiles.windows.items() if d != digit]
    coupled = any(s and any(o.steps[i] for o in others) for i, s in enumerate(affine.steps))
    if coupled or affine.least(tiles.turns) != start:
        return start
    end = length
    steps = sorted((abs(s), t.count) for s, t in zip(affine.steps, tiles.turns, strict=True) if s and t.count > 1)
    for step, count in steps:
        if step > end:
            break
        end += step * (count - 1)
    return start + end


def _first_gap(output: Output, session: Session) -> dict[str, int] | str:
    """An element that no tile writes, looked for along each digit with the others at 0, checked against every step's
    tiles: the first one. "none" where there is none along them, "given up" after too many tiles.
    """
    digits = output.digits
    jumps = MOST_JUMPS
    for digit in digits:
        position = 0
        while position < digit[2]:
            point = dict.fromkeys(digits, 0) | {digit: position}
            holder = next((one for one in output.tiles if _holds(one, point, session)), None)
            if holder is None:
                return {output.label(d): value for d, value in point.items()}
            jumps -= 1
            if jumps < 0:
                return "given up"
            reach = _reach(holder, digit, position)
            position = reach if reach > position else _tile_end(holder, digit, point, session)
    return "none"


def _holds(tiles: Tiles, point: Mapping[Digit, int], session: Session) -> bool:
    return session.ask(_holding(tiles, point), "core/tiles-cover").status != "unsat"


def _holding(tiles: Tiles, point: Mapping[Digit, int]) -> Query:
    names = {i: f"t{i}" for i in tiles.moving if tiles.turns[i].count > 1}
    parts = []
    for digit, value in point.items():
        start, length = tiles.window(digit)
        at = linear(start.constant, [(start.steps[i], name) for i, name in names.items()])
        parts += [f"(<= {at} {number(value)})", f"(< {number(value - length)} {at})"]
    return Query(tuple((name, 0, tiles.turns[i].count) for i, name in names.items()), (all_of(parts),))


def _tile_end(tiles: Tiles, digit: Digit, point: Mapping[Digit, int], session: Session) -> int:
    answer = session.ask(_holding(tiles, point), "core/tiles-cover")
    start, length = tiles.window(digit)
    counters = [answer.model.get(f"t{i}", 0) for i in range(len(tiles.turns))]
    return max(point[digit] + 1, start.at(counters) + length)


# ---------------------------------------------------------------- what would do


def _better(output: Output, total: int) -> str:
    """A start with which the same tiles follow each other without gap: proposed for one step and one digit, checked by
    counting.
    """
    if len(output.tiles) != 1 or len(output.digits) != 1:
        return ""
    (tiles,), (digit,) = output.tiles, output.digits
    start, length = tiles.window(digit)
    if not tiles.moving or length * prod(tiles.turns[i].count for i in tiles.moving) != total:
        return ""
    step, parts = length, []
    for i in reversed(tiles.moving):
        name = str(tiles.turns[i])
        parts.append(f"{step} * {f'({name})' if ' ' in name else name}" if step > 1 else name)
        step *= tiles.turns[i].count
    text = " + ".join(reversed(parts))
    return "" if start == Affine(0, start.steps) and _steps_fit(start, tiles, length) else text


def _steps_fit(start: Affine, tiles: Tiles, length: int) -> bool:
    step = length
    for i in reversed(tiles.moving):
        if start.steps[i] != step:
            return False
        step *= tiles.turns[i].count
    return True


def worse(one: str | None, other: str) -> str:
    order = ("proved", "unknown", "refuted")
    return max(one or "proved", other, key=order.index)
