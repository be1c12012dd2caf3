"""Views and loops of a plan file: `view`, `loop`, and starts such as `4 * t + 2`.

Knows: starts as numbers, which turns of loops they need, how the tables of a view become operations.
Does not know: what a view shows (transfer.views), TOML, whether a move through it is right.
Law: a start denotes one sum of constant multiples of digits of loops, or raises one InputError at the characters to
blame. A view that shows nothing a machine could move is a `PlanProblem`, never an exception.

A start is arithmetic over loops, and over sizes in a plan with symbols. `/` and `%` cut a loop into digits (`t / 2`,
`t % 2`) and must divide its count; of anything else they must come out even.

Source: furiosa-opt v0.6.0 (tile, pad, unpad; loops around them), docs/machines/rngd.md 7.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, NoValue, Source, did_you_mean
from dmaverify.language import wellformed
from dmaverify.language.numbers import Symbolic, moves, same
from dmaverify.language.toml_spans import Path
from dmaverify.plan.arithmetic import Cursor
from dmaverify.program.access import PlanProblem
from dmaverify.program.tensor import Tensor
from dmaverify.program.turns import Affine, Turn, turns_of
from dmaverify.program.views import PadView, TileView, View, ViewError, Views, see
from dmaverify.values import dataclass

if TYPE_CHECKING:
    from dmaverify.plan import schema
    from dmaverify.plan.tables import TableReader

_MOST = 10**18

Range = tuple[str, int]
"""Of a loop: `(t, 2)` is `t / 2`, rounded down."""


class _NoStart(Exception):
    """What the numbers of a start cannot do; `ever`: at any sizes."""

    def __init__(self, message: str, hint: str, *, ever: bool = False) -> None:
        super().__init__(message)
        self.message, self.hint, self.ever = message, hint, ever


class Start(Symbolic):
    """A constant and multiples of ranges of loops, not yet cut into turns. `counts` are those of the loops."""

    __slots__ = ("constant", "counts", "parts")

    def __init__(self, counts: Mapping[str, int], constant: int, parts: Mapping[Range, int]) -> None:
        self.counts, self.constant = counts, constant
        self.parts = {part: factor for part, factor in parts.items() if not same(factor, 0)}

    def _with(self, constant: int, parts: Mapping[Range, int]) -> Any:
        found = Start(self.counts, constant, parts)
        return found if found.parts else constant

    def __add__(self, other: Start | int) -> Any:
        if not isinstance(other, Start):
            return self._with(self.constant + other, self.parts)
        sums = dict(self.parts)
        for part, factor in other.parts.items():
            sums[part] = sums.get(part, 0) + factor
        return self._with(self.constant + other.constant, sums)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Start | int) -> Any:
        return self + -other

    def __rsub__(self, other: int) -> Any:
        return -self + other

    def __mul__(self, by: Start | int) -> Any:
        if isinstance(by, Start):
            hint = "a start moves by the same step every iteration"
            raise _NoStart("two loop indices cannot be multiplied", hint, ever=True)
        return self._with(self.constant * by, {part: factor * by for part, factor in self.parts.items()})

    __rmul__ = __mul__

    def quotient_of(self, one: int, *, exact: bool) -> Any:
        raise _NoStart("a loop index divides", "write a number behind `/` and `%`", ever=True)

    def quotient(self, by: Any, *, exact: bool) -> Any:
        """Rounded down: multiples of `by` beside one range, which is cut where it has an even part of its loop."""
        if isinstance(by, Start) or by < 1:
            raise _NoStart("`/` and `%` need a number of at least 1 behind them", "write a number")
        whole = {part: factor // by for part, factor in self.parts.items() if factor % by == 0}
        rest = [(part, factor) for part, factor in self.parts.items() if part not in whole]
        odd = (exact or rest) and self.constant % by != 0
        if odd or len(rest) > 1 or any(factor != 1 for _, factor in rest):
            hint = "divide the loop index by itself, as in `4 * (t / 2)`, `t % 2`"
            raise _NoStart(f"a division by {by} does not come out even", hint)
        for (loop, low), _ in rest:
            count = self.counts[loop] // low
            if count % by:
                hint = f"loop over {count - count % by}, and move the rest in a transfer without a loop"
                raise _NoStart(
                    f"{count:,} counts of `{loop}` cannot be cut at {by}", f"use a divisor of {count}, or {hint}"
                )
            if not same(by, count):
                whole[loop, low * by] = whole.get((loop, low * by), 0) + 1
        return self._with(self.constant // by, whole)

    def cut(self, turns: Sequence[Turn]) -> Affine:
        steps = [0] * len(turns)
        for (loop, low), factor in self.parts.items():
            for index, turn in enumerate(turns):
                if turn.loop == loop and turn.weight >= low:
                    steps[index] += factor * (turn.weight // low)
        return Affine(self.constant, tuple(steps))


def _read_start(reader: TableReader, path: Path, text: str, loops: Mapping[str, int]) -> Start:
    def read(source: Source, offset: int) -> Start:
        named = {name: Start(loops, 0, {(name, 1): 1} if moves(count) else {}) for name, count in loops.items()}
        sizes: dict[str, Any] = {"": 0, **reader.texts.sizes, **named}
        cursor = Cursor(text, source, offset, {}, sizes)
        for token in cursor.tokens:
            if token.kind == "name" and token.text not in cursor.sizes:
                known = f"known: {', '.join(loops)}" if loops else f"add `loop = {{ {token.text} = 16 }}`"
                hint = did_you_mean(token.text, loops) or known
                cursor.fail(f"no loop `{token.shown}`", token.start, token.end, hint)
        try:
            found = cursor.count("number or loop index").plain
        except _NoStart as error:
            token = cursor.tokens[cursor.at - 1]
            blame = cursor.fail if error.ever else cursor.no_value
            blame(error.message, token.start, token.end, error.hint)
        if (behind := cursor.peek()) is not None:
            hint = "join its parts by + - * / or %"
            cursor.fail(f"`{behind.shown}` behind the start", behind.start, behind.end, hint)
        one = found if isinstance(found, Start) else Start(loops, found, {})
        if any(isinstance(n, int) and abs(n) > _MOST for n in (one.constant, *one.parts.values())):
            cursor.no_value("the number is too large", 0, len(text), "numbers go up to 10^18")
        return one

    return reader.texts.in_place(path, text, read)


# ---------------------------------------------------------------- tables


@dataclass(frozen=True, slots=True)
class _Op:
    """One operation with its start as read."""

    table: schema.ViewTable
    path: Path
    start: Start
    given: frozenset[str]  # the keys that are written


def read_views(
    reader: TableReader,
    loops: Mapping[str, int],
    sides: Mapping[str, tuple[Path, schema.TensorTable, Tensor]],
    dtype_bits: int,
    problems: list[PlanProblem],
) -> Views | None:
    """The views of a transfer's or access's sides (`source` is read, `dest` is written); None without view and loop."""
    ops = {side: _ops(reader, path, table, loops) for side, (path, table, _) in sides.items()}
    if not loops and not any(ops.values()):
        return None
    turns = turns_of(tuple(loops.items()), _cuts(reader, ops))
    made: dict[str, View] = {}
    for side, (path, _, tensor) in sides.items():
        if ops[side]:
            view = _view(reader, path, ops[side], tensor, side == "dest", dtype_bits, turns, problems)
            if view is not None:
                made[side] = view
    return Views(tuple(loops.items()), turns, made.get("source"), made.get("dest"))


def _ops(reader: TableReader, path: Path, table: schema.TensorTable, loops: Mapping[str, int]) -> list[_Op]:
    given = table.view
    if given is None:
        return []
    places = [(*path, "view", i) for i in range(len(given))] if isinstance(given, list) else [(*path, "view")]
    tables = given if isinstance(given, list) else [given]
    return [_op(reader, place, one, loops) for place, one in zip(places, tables, strict=True)]


def _op(reader: TableReader, path: Path, table: schema.ViewTable, loops: Mapping[str, int]) -> _Op:
    given = frozenset(key for key in table.__struct_fields__ if (*path, key) in reader.doc.values)
    said = [key for key in ("tile", "pad", "unpad") if getattr(table, key) not in (None, False)]
    if len(said) != 1:
        what = " and ".join(f"`{key}`" for key in said) or "neither `tile`, `pad` nor `unpad`"
        raise InputError(f"a view has {what}", reader.doc.span(path), "write one of them; a list of tables has several")
    if said != ["tile"]:
        for key in sorted(given - {said[0]}):
            raise InputError(
                f"`{key}` belongs to a tile", reader.doc.key_span((*path, key)), f"`{said[0]}` stands alone"
            )
    start = Start(loops, table.start, {}) if isinstance(table.start, int) else None
    return _Op(table, path, start or _read_start(reader, (*path, "start"), str(table.start), loops), given)


def _cuts(reader: TableReader, ops: Mapping[str, list[_Op]]) -> dict[str, list[int]]:
    """Where each loop is cut. Raises InputError where two cuts do not divide each other."""
    cuts: dict[str, set[int]] = {}
    for op in (one for found in ops.values() for one in found):
        for loop, low in op.start.parts:
            cuts.setdefault(loop, set()).add(low)
        for loop, found in cuts.items():
            for low, high in pairwise(sorted(found)):
                if high % low:
                    raise NoValue(
                        f"`{loop}` is cut at {low} and at {high}, which do not divide each other",
                        reader.doc.span((*op.path, "start")), "cut it alike in all starts",
                    )  # fmt: skip
    return {loop: sorted(found) for loop, found in cuts.items()}


def _view(
    reader: TableReader, path: Path, ops: Sequence[_Op], tensor: Tensor, writes: bool, dtype_bits: int,
    turns: Sequence[Turn], problems: list[PlanProblem],
) -> View | None:  # fmt: skip
    """The view, or None with what is wrong in `problems`; a tensor that makes no sense by itself is judged without."""
    done: list[TileView | PadView] = []
    for op in ops:
        span = reader.doc.span(op.path)
        if op.table.tile is None:
            to = 0 if op.table.pad is None else reader.texts.positive((*op.path, "pad"), op.table.pad)
            done.append(PadView(to, span))
            continue
        digit = reader.texts.mapping((*op.path, "tile"), op.table.tile)
        broken = [p for p in wellformed.problems(digit, reader.texts.axes) if p.fatal]
        if broken:
            problems.append(PlanProblem(broken[0].message, broken[0].span or span, broken[0].hint))
            return None
        start = reader.doc.span((*op.path, "start")) if "start" in op.given else span
        length = reader.texts.positive((*op.path, "length"), op.table.length)
        done.append(TileView(digit, length, op.start.cut(turns), op.table.place, span, start))
    if any(p.fatal for p in wellformed.problems(tensor.mapping, reader.texts.axes)):
        return None
    partial = any(op.table.partial for op in ops)
    try:
        return see(tensor, done, writes=writes, dtype_bits=dtype_bits, turns=turns, partial=partial)
    except ViewError as error:
        problems.append(PlanProblem(error.message, error.span or reader.doc.span(path), error.hint))
        return None
