"""Symbols of a plan file: sizes with ranges, relations between them, and its entries as templates.

Knows: `[axes]` and `free` with ranges, `assume`, how an entry is read at chosen sizes.
Does not know: how all sizes are judged at once.
Law: a relation holds at sizes exactly when its facts do; a template read at sizes is the plan with the numbers written.

    clause   := sum { ("<=" | "<" | ">=" | ">" | "==") sum } | sum "|" sum          clauses are joined by `and`
    sum      := see `arithmetic`

Source: the plan file format, Symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, NoValue, Source, Span
from dmaverify.language.numbers import Poly, Symbolic, divided
from dmaverify.plan.arithmetic import Cursor
from dmaverify.prove.sizes.facts import (
    FactReason,
    FloorQuotient,
    SizedEntry,
    SizeFact,
    SizeSymbol,
    Template,
    floor_name,
)

if TYPE_CHECKING:
    from dmaverify.plan import schema
    from dmaverify.plan.entries import EntryReader
    from dmaverify.program.schedule import Program

_JOIN = re.compile(r"\band\b")
_SIGN = re.compile(r"<=|>=|==|<|>|\|")
_ASSUMED = FactReason("assume", "the plan")


def symbols_of(reader: EntryReader) -> tuple[SizeSymbol, ...]:
    """The symbols of a file in the order of declaration. Raises InputError for a range that holds nothing."""
    out: list[SizeSymbol] = []
    for where, table in (("axes", reader.table.axes), ("free", reader.table.free)):
        for name, value in table.items():
            span = reader.doc.key_span((where, name))
            if where == "free" and name in reader.table.axes:
                raise InputError(f"`{name}` is an axis already", span, "give the symbol another name")
            if not isinstance(value, int):
                out.append(_symbol(name, value, where == "axes", span))
    return tuple(out)


def _symbol(name: str, table: schema.SymbolTable, axis: bool, span: Span) -> SizeSymbol:
    least = table.min if table.min is not None else (1 if axis else 0)
    if axis and least == 0:
        raise InputError(f"`{name}` may be 0", span, "an axis has at least one position: write `min = 1`")
    one = SizeSymbol(name, least, table.max, table.multiple_of, axis, span)
    if one.last is not None and one.last < one.first:
        multiple = f" a multiple of {one.multiple}" if one.multiple > 1 else ""
        raise InputError(f"no number from {least} to {one.most} is{multiple or ' there'}", span, "widen the range")
    return one


# ---------------------------------------------------------------- relations


class _Term(Symbolic):
    """Arithmetic over symbols as a polynomial, quotients that are none named."""

    __slots__ = ("floors", "poly")

    def __init__(self, poly: Poly, floors: dict[str, FloorQuotient]) -> None:
        self.poly = poly
        self.floors = floors

    def _made(self, poly: Poly) -> Any:
        return _Term(poly, self.floors) if poly.constant is None else poly.constant

    def __add__(self, other: Any) -> Any:
        return self._made(self.poly + _poly(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._made(self.poly - _poly(other))

    def __rsub__(self, other: Any) -> Any:
        return self._made(_poly(other) - self.poly)

    def __mul__(self, other: Any) -> Any:
        return self._made(self.poly * _poly(other))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return self.poly.constant is not None and self.poly.constant == other

    def __bool__(self) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(self.poly)

    def quotient(self, by: Any, *, exact: bool) -> Any:
        return _quotient(self.poly, _poly(by), self.floors)

    def quotient_of(self, one: int, *, exact: bool) -> Any:
        return _quotient(Poly.of(one), self.poly, self.floors)


def _poly(value: Any) -> Poly:
    return value.poly if isinstance(value, _Term) else Poly.of(value)


def _quotient(top: Poly, by: Poly, floors: dict[str, FloorQuotient]) -> Any:
    quotient, rest = divided(top, by)
    if not rest.terms:
        return _Term(quotient, floors) if quotient.constant is None else quotient.constant
    name = floor_name(top, by)
    floors[name] = FloorQuotient(name, top, by)
    return _Term(Poly.symbol(name), floors)


def relations_of(
    reader: EntryReader, names: Sequence[str], sizes: Mapping[str, int]
) -> tuple[list[SizeFact], tuple[FloorQuotient, ...]]:
    """The facts of every relation of the file. Raises InputError at what cannot be read."""
    floors: dict[str, FloorQuotient] = {}
    known: dict[str, Any] = {**sizes, **{name: _Term(Poly.symbol(name), floors) for name in names}}
    facts: list[SizeFact] = []
    for index, text in enumerate(reader.table.assume):
        at = ("assume", index)

        def read(source: Source, offset: int, text: str = text) -> list[SizeFact]:
            return _clauses(text, known, source, offset)

        facts += reader.texts._in_place(at, text, read)
    return facts, tuple(floors.values())


def _clauses(text: str, known: Mapping[str, Any], source: Source, offset: int) -> list[SizeFact]:
    out: list[SizeFact] = []
    start = 0
    for end in (*(m.span() for m in _JOIN.finditer(text)), (len(text), len(text))):
        out += _clause(text[start : end[0]], known, source, offset + start)
        start = end[1]
    return out


def _clause(text: str, known: Mapping[str, Any], source: Source, offset: int) -> list[SizeFact]:
    signs = list(_SIGN.finditer(text))
    whole = Span(source, offset, offset + len(text))
    if not signs:
        hint = "write a comparison such as `C * N <= 2^20`, or `32 | C`"
        raise InputError("a relation compares two numbers", whole, hint)
    starts = [0, *(m.end() for m in signs)]
    ends = [*(m.start() for m in signs), len(text)]
    terms = [_side(text[a:b], known, source, offset + a) for a, b in zip(starts, ends, strict=True)]
    texts = [text[a:b] for a, b in zip(starts, ends, strict=True)]
    out: list[SizeFact] = []
    for number, sign in enumerate(signs):
        pair = terms[number], terms[number + 1]
        out.append(_fact(pair, sign[0], (texts[number], texts[number + 1]), known, source, offset + starts[number]))
    return out


def _side(text: str, known: Mapping[str, Any], source: Source, offset: int) -> Any:
    cursor = Cursor(text, source, offset, {}, known)
    value = cursor.count("number").plain
    token = cursor.peek()
    if token is not None:
        hint = "relations are comparisons of sums and products, joined by `and`"
        cursor.fail(f"`{token.shown}` after the number", token.start, token.end, hint)
    return value


def _fact(
    pair: tuple[Any, Any], sign: str, texts: tuple[str, str], known: Mapping[str, Any], source: Source, offset: int
) -> SizeFact:
    left, right = pair
    if sign == "|":
        return SizeFact("div", _poly(right), _poly(left), _ASSUMED)
    if sign == "==":
        cut = _remainder(texts[0], known, source, offset)
        if cut is not None and not isinstance(right, _Term):
            return SizeFact("div", cut[0] - Poly.of(right), cut[1], _ASSUMED)
        return SizeFact("eq", _poly(left) - _poly(right), None, _ASSUMED)
    if sign in ("<", "<="):
        left, right = right, left
    one = Poly.of(1 if sign in ("<", ">") else 0)
    return SizeFact("ge", _poly(left) - _poly(right) - one, None, _ASSUMED)


def _remainder(text: str, known: Mapping[str, Any], source: Source, offset: int) -> tuple[Poly, Poly] | None:
    """(dividend, divisor) of a text that is one remainder, `C % 32`."""
    cursor = Cursor(text, source, offset, {}, known)
    depth, marks = 0, []
    for index, token in enumerate(cursor.tokens):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.text == "%":
            marks.append(index)
        elif depth == 0 and token.text in ("+", "-"):
            return None
    if len(marks) != 1:
        return None
    mark = cursor.tokens[marks[0]]
    if any(t.text in ("*", "/", "//") for t in cursor.tokens[marks[0] + 1 :]):
        return None
    left, right = (_side(part, known, source, offset) for part in (text[: mark.start], text[mark.end :]))
    return _poly(left), _poly(right)


# ---------------------------------------------------------------- entries


def templates_of(reader: EntryReader, errors: list[InputError]) -> tuple[Template, ...]:
    """Every transfer, access and program of the file; `errors` receives what cannot be read at any size."""
    symbols = symbols_of(reader)
    sizes = {name: value for name, value in reader.table.axes.items() if isinstance(value, int)}
    names = [one.name for one in symbols]
    facts, floors = relations_of(reader, names, sizes)
    out: list[Template] = []
    kinds: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("transfer", reader.table.transfer),
        ("access", reader.table.access),
        ("program", reader.table.program),
    )
    first = {one.name: one.first for one in symbols}
    for kind, tables in kinds:
        for name, table in tables.items():
            read = partial(_entry, reader, kind, name, table)
            try:
                read(first)
            except NoValue:
                pass
            except InputError as error:
                errors += [error, *getattr(error, "others", ())]
                continue
            key, machine = reader.target_of((kind, name), table.target)
            out.append(
                Template(
                    kind, name, reader.doc.source.name, reader.doc.key_span((kind, name)).line, key,
                    reader.expectation(table.expect), symbols, tuple(facts), floors, read, machine,
                    reader.doc.key_span((kind, name)), bool(getattr(table, "loop", None)),
                )
            )  # fmt: skip
    others = {k: getattr(reader.table, k) for k in ("gather", "scatter", "kernel")}
    for kind, tables in others.items():
        for name in tables:
            hint = "symbols are for transfers, accesses and programs; write numbers in a file of its own for this"
            errors.append(InputError(f"a {kind} in a plan with symbols", reader.doc.key_span((kind, name)), hint))
    return tuple(out)


def _entry(reader: EntryReader, kind: str, name: str, table: Any, sizes: Mapping[str, Any]) -> SizedEntry:
    """The entry at sizes. Raises InputError, with the further ones as `others`; NoValue where sizes give no meaning."""
    bound = reader.bound(sizes)
    for let in reader.table.let:
        bound.texts.define(let)
    makers = {"transfer": bound.transfer, "access": bound.access, "program": partial(_program, bound)}
    read: Callable[..., Any] = makers[kind]  # type: ignore[assignment]
    try:
        item = read(name, table)
    except InputError as error:
        bound.errors.insert(0, error)
        item = None
    if bound.errors:
        told = next((e for e in bound.errors if not isinstance(e, NoValue)), bound.errors[0])
        told.others = [e for e in bound.errors if e is not told and not isinstance(e, NoValue)]  # type: ignore[attr-defined]
        raise told
    if kind == "transfer":
        return SizedEntry(item.transfer, item.problems, bound.texts.axes)
    return SizedEntry(item, item.problems, bound.texts.axes)


def _program(reader: EntryReader, name: str, table: schema.ProgramTable) -> Program:
    """The program with what its steps name, and nothing else of the file."""
    from dmaverify.plan.programs import Parts, read_program, read_region

    whole = reader.table
    named = {one for step in table.step for one in (step.transfer, *_listed(step.access)) if isinstance(one, str)}
    parts = Parts(
        {n: reader.transfer(n, whole.transfer[n]) for n in whole.transfer if n in named},
        {n: reader.access(n, whole.access[n]) for n in whole.access if n in named},
        {n: read_region(reader, n, whole.region[n]) for n in table.regions if n in whole.region},
        {},
    )
    return read_program(reader, name, table, parts)


def _listed(given: object) -> list[object]:
    return given if isinstance(given, list) else [given]
