"""Views and loops of a plan file: `view`, `loop`, and starts such as `4 * t + 2`.

Knows: the grammar of starts, which turns of loops they need, how the tables of a view become operations.
Does not know: what a view shows (transfer.views), TOML, whether a move through it is right.
Law: a start denotes one sum of constant multiples of digits of loops, or raises one InputError at the characters to
blame. A view that shows nothing a machine could move is a `PlanProblem`, never an exception.

    start   := product { ("+" | "-") product }          product := atom { ("*" | "/" | "%") atom }
    atom    := integer | loop | "(" start ")"           loops are names of small letters, digits and _

`/` and `%` cut a loop into digits (`t / 2`, `t % 2`) and must divide its count; of anything else they must come out
even.

Source: furiosa-opt v0.6.0 (tile, pad, unpad; loops around them), docs/machines/rngd.md 7.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

from dmaverify.errors import InputError
from dmaverify.language import wellformed
from dmaverify.plan.texts import did_you_mean
from dmaverify.plan.toml_spans import Path
from dmaverify.program.access import PlanProblem
from dmaverify.program.tensor import Tensor
from dmaverify.program.views import Affine, PadView, TileView, Turn, View, ViewError, Views, see, turns_of

if TYPE_CHECKING:
    from dmaverify.plan import schema
    from dmaverify.plan.tables import TableReader

_TOKEN = re.compile(r"\s*(?:(?P<number>[0-9][0-9_]*)|(?P<name>[a-z][a-z0-9_]*)|(?P<sign>[-+*/%()])|(?P<bad>\S))")
_MOST = 10**18
_DEEP = 64

Range = tuple[str, int, int]
"""Of a loop: `(t, 2, 8)` is `t / 2 % 4`, the digits of weight 2 up to 8."""


@dataclass(frozen=True, slots=True)
class Start:
    """A constant and multiples of ranges of loops, not yet cut into turns."""

    constant: int
    parts: tuple[tuple[Range, int], ...] = ()

    def plus(self, other: Start, sign: int) -> Start:
        sums = dict(self.parts)
        for part, factor in other.parts:
            sums[part] = sums.get(part, 0) + sign * factor
        return Start(self.constant + sign * other.constant, tuple((p, f) for p, f in sums.items() if f))

    def cut(self, turns: Sequence[Turn]) -> Affine:
        steps = [0] * len(turns)
        for (loop, low, high), factor in self.parts:
            for index, turn in enumerate(turns):
                if turn.loop == loop and low <= turn.weight < high:
                    steps[index] += factor * (turn.weight // low)
        return Affine(self.constant, tuple(steps))


class _Starts:
    """One text, read to the end."""

    def __init__(self, reader: TableReader, path: Path, text: str, loops: Mapping[str, int]) -> None:
        self.reader, self.path, self.text, self.loops = reader, path, text, loops
        self.tokens = [
            (m.lastgroup or "", m[m.lastgroup or 0], m.start(m.lastgroup or 0)) for m in _TOKEN.finditer(text)
        ]
        self.at = self.depth = 0

    def read(self) -> Start:
        found = self._sum()
        if self.at < len(self.tokens):
            self.fail(f"`{self.tokens[self.at][1]}` behind the start", "join its parts by + - * / or %")
        return found

    def fail(self, message: str, hint: str, at: int | None = None) -> NoReturn:
        _, word, start = (
            self.tokens[self.at if at is None else at] if (self.at if at is None else at) < len(self.tokens)
            else ("", "", len(self.text.rstrip()))
        )  # fmt: skip
        content = self.reader.doc.content(self.path, self.text)
        raise InputError(message, content.part(start, start + len(word)), hint)

    def _sum(self) -> Start:
        left = self._product()
        while self._sees("+", "-"):
            sign = 1 if self.tokens[self.at][1] == "+" else -1
            self.at += 1
            left = self._checked(left.plus(self._product(), sign))
        return left

    def _product(self) -> Start:
        left = self._atom()
        while self._sees("*", "/", "%"):
            at, sign = self.at, self.tokens[self.at][1]
            self.at += 1
            right = self._atom()
            left = self._checked(self._times(left, right, at) if sign == "*" else self._cut(left, right, sign, at))
        return left

    def _times(self, left: Start, right: Start, at: int) -> Start:
        if left.parts and right.parts:
            self.fail("two loop indices cannot be multiplied", "a start moves by the same step every iteration", at)
        many, factor = (left, right.constant) if left.parts else (right, left.constant)
        return Start(many.constant * factor, tuple((p, f * factor) for p, f in many.parts if factor))

    def _cut(self, left: Start, right: Start, sign: str, at: int) -> Start:
        if right.parts or right.constant < 1:
            self.fail(f"`{sign}` needs a number of at least 1 behind it", "write a number", at)
        by = right.constant
        if len(left.parts) == 1 and left.constant == 0 and left.parts[0][1] == 1:
            return self._digits(left.parts[0][0], by, sign, at)
        if all(factor % by == 0 for _, factor in left.parts) and (left.constant % by == 0 or sign == "%"):
            if sign == "%":
                return Start(left.constant % by)
            return Start(left.constant // by, tuple((p, f // by) for p, f in left.parts))
        return self.fail(
            f"`{sign} {by}` does not come out even", "divide the loop index by itself, as in `4 * (t / 2)`, `t % 2`", at
        )

    def _digits(self, part: Range, by: int, sign: str, at: int) -> Start:
        loop, low, high = part
        if (high // low) % by:
            hint = f"use a divisor of {high // low}"
            self.fail(f"{high // low:,} counts of `{loop}` cannot be cut at {by}", hint, at)
        kept = (loop, low * by, high) if sign == "/" else (loop, low, low * by)
        return Start(0, ((kept, 1),)) if kept[1] < kept[2] else Start(0)

    def _atom(self) -> Start:
        if self.at >= len(self.tokens):
            self.fail("the start ends too early", "write a number or a loop index, such as `4 * t`")
        kind, word, _ = self.tokens[self.at]
        if kind == "number":
            self.at += 1
            return self._checked(Start(int(word.replace("_", ""))))
        if kind == "name":
            if word not in self.loops:
                close = did_you_mean(word, self.loops)
                known = f"known: {', '.join(self.loops)}" if self.loops else f"add `loop = {{ {word} = 16 }}`"
                self.fail(f"no loop `{word}`", close or known)
            self.at += 1
            return Start(0, (((word, 1, self.loops[word]), 1),)) if self.loops[word] > 1 else Start(0)
        if word != "(":
            self.fail(f"`{word}` where a number or a loop index should be", "write a start such as `4 * t + 2`")
        opened, self.at, self.depth = self.at, self.at + 1, self.depth + 1
        if self.depth > _DEEP:
            self.fail(f"more than {_DEEP} nested parentheses", "write it simpler", opened)
        inner = self._sum()
        if not self._sees(")"):
            self.fail("this parenthesis is not closed", "add `)`", opened)
        self.at, self.depth = self.at + 1, self.depth - 1
        return inner

    def _sees(self, *signs: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at][1] in signs

    def _checked(self, value: Start) -> Start:
        if max([abs(value.constant), *(abs(f) for _, f in value.parts)]) > _MOST:
            self.at = min(self.at, len(self.tokens)) - 1
            self.fail("the number is too large", "numbers go up to 10^18")
        return value


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
    turns = turns_of(tuple(loops.items()), _cuts(reader, ops, sides))
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
    start = Start(table.start) if isinstance(table.start, int) else Start(0)
    if isinstance(table.start, str):
        start = _Starts(reader, (*path, "start"), table.start, loops).read()
    return _Op(table, path, start, given)


def _cuts(
    reader: TableReader, ops: Mapping[str, list[_Op]], sides: Mapping[str, tuple[Path, schema.TensorTable, Tensor]]
) -> dict[str, list[int]]:
    """Where each loop is cut. Raises InputError where two cuts do not divide each other."""
    cuts: dict[str, set[int]] = {}
    for op in (one for found in ops.values() for one in found):
        for (loop, low, high), _ in op.start.parts:
            cuts.setdefault(loop, set()).update((low, high))
        for loop, found in cuts.items():
            rising = sorted(found)
            for low, high in pairwise(rising):
                if high % low:
                    raise InputError(
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
            done.append(PadView(op.table.pad or 0, span))
            continue
        digit = reader.texts.mapping((*op.path, "tile"), op.table.tile)
        broken = [p for p in wellformed.problems(digit, reader.texts.axes) if p.fatal]
        if broken:
            problems.append(PlanProblem(broken[0].message, broken[0].span or span, broken[0].hint))
            return None
        start = reader.doc.span((*op.path, "start")) if "start" in op.given else span
        done.append(TileView(digit, op.table.length, op.start.cut(turns), op.table.place, span, start))
    if any(p.fatal for p in wellformed.problems(tensor.mapping, reader.texts.axes)):
        return None
    partial = any(op.table.partial for op in ops)
    try:
        return see(tensor, done, writes=writes, dtype_bits=dtype_bits, turns=turns, partial=partial)
    except ViewError as error:
        problems.append(PlanProblem(error.message, error.span or reader.doc.span(path), error.hint))
        return None
