"""Symbols of a plan file: sizes with ranges, relations between them, and its entries as templates.

Knows: `[axes]` and `free` with ranges, `assume`, how an entry is read at chosen sizes.
Does not know: how all sizes are judged at once.
Law: a relation holds at sizes exactly when its facts do; a template read at sizes is the plan with the numbers written.

Source: the plan file format, Symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, InputErrors, NoValue, Span
from dmaverify.language.numbers import Poly
from dmaverify.plan.relations import SizeTerm, clauses_of
from dmaverify.prove.sizes.facts import FloorQuotient, SizedEntry, SizeFact, SizeSymbol, Template

if TYPE_CHECKING:
    from dmaverify.plan import schema
    from dmaverify.plan.entries import EntryReader
    from dmaverify.plan.kernels import PlanKernel
    from dmaverify.program.indirect import Indirect
    from dmaverify.program.schedule import Program


_WORD = re.compile(r"[A-Za-z_]\w*")  # without the marks behind a name: the quotes of a text are such, too


def symbols_of(reader: EntryReader) -> tuple[SizeSymbol, ...]:
    """The symbols of a file in the order of declaration. Raises InputError for a range that holds nothing."""
    out: list[SizeSymbol] = []
    for where, table in (("axes", reader.table.axes), ("free", reader.table.free)):
        for name, value in table.items():
            span = reader.doc.key_span((where, name))
            if where == "free" and name in reader.table.axes:
                raise InputError(f"`{name}` is an axis already", span, "give the symbol another name")
            if not isinstance(value, int):
                out.append(_symbol(name, value, where == "axes", span, reader.doc.span((where, name, "max"))))
    return tuple(out)


def _symbol(name: str, table: schema.SymbolTable, axis: bool, span: Span, end: Span) -> SizeSymbol:
    least = table.min if table.min is not None else (1 if axis else 0)
    if axis and least == 0:
        raise InputError(f"`{name}` may be 0", span, "an axis has at least one position: write `min = 1`")
    one = SizeSymbol(name, least, table.max, table.multiple_of, axis, span)
    if one.last is not None and one.last < one.first:
        multiple = f" a multiple of {one.multiple}" if one.multiple > 1 else ""
        raise InputError(f"no number from {least} to {one.most} is{multiple or ' there'}", end, "widen the range")
    return one


def relations_of(
    reader: EntryReader, names: Sequence[str], sizes: Mapping[str, int]
) -> tuple[list[SizeFact], tuple[FloorQuotient, ...]]:
    """The facts of every relation of the file. Raises InputError at what cannot be read."""
    floors: dict[str, FloorQuotient] = {}
    known: dict[str, Any] = {**sizes, **{name: SizeTerm(Poly.symbol(name), floors) for name in names}}
    facts: list[SizeFact] = []
    for index, text in enumerate(reader.table.assume):
        at = ("assume", index)
        facts += reader.texts.in_place(at, text, partial(clauses_of, text, known))
    return facts, tuple(floors.values())


# ---------------------------------------------------------------- entries


def templates_of(reader: EntryReader, errors: list[InputError]) -> tuple[Template, ...]:
    """Every entry of the file but its kernels; `errors` receives what cannot be read at any size."""
    symbols = symbols_of(reader)
    sizes = {name: value for name, value in reader.table.axes.items() if isinstance(value, int)}
    names = [one.name for one in symbols]
    facts, floors = relations_of(reader, names, sizes)
    out: list[Template] = []
    kinds: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("transfer", reader.table.transfer),
        ("access", reader.table.access),
        ("program", reader.table.program),
        ("gather", reader.table.gather),
        ("scatter", reader.table.scatter),
    )
    first = {one.name: one.first for one in symbols}
    for kind, tables in kinds:
        for name, table in tables.items():
            by_size = _by_size(kind, table)
            said = symbols if not by_size else _spoken_of(reader, kind, name, table, symbols)
            read = partial(_entry, reader, kind, name, table, first)
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
                    reader.expectation(table.expect), said, tuple(facts), floors, read, machine,
                    reader.doc.key_span((kind, name)), bool(getattr(table, "loop", None)), by_size,
                    reader.doc.data,
                )
            )  # fmt: skip
    return tuple(out)


def kernels_beside(reader: EntryReader) -> tuple[PlanKernel, ...]:
    """The kernels of a plan with symbols. Raises InputErrors: theirs, and for one whose moves depend on a symbol."""
    if not reader.table.kernel:
        return ()
    from dmaverify.plan.kernels import read_kernel

    symbols = symbols_of(reader)
    bound = reader.bound({one.name: one.first for one in symbols})
    out = []
    for name, table in reader.table.kernel.items():
        said = _named_in([reader.doc.data["kernel"][name].get("move"), reader.doc.data.get("let")], symbols)
        if said:
            hint = "write numbers for it, in a file of its own"
            message = f"the moves of a kernel, or what it may name, depend on `{said[0].name}`, which is a range"
            bound.errors.append(InputError(message, reader.doc.key_span(("kernel", name)), hint))
            continue
        out.append(bound.collect(partial(read_kernel, bound, name, table)))
    if bound.errors:
        raise InputErrors(bound.errors)
    return tuple(one for one in out if one is not None)


def _by_size(kind: str, table: Any) -> str:
    """Why the entry is judged at single sizes only: its rows are counted, and their numbers are."""
    rows = kind in ("gather", "scatter") or (
        kind == "program" and any(step.gather is not None or step.scatter is not None for step in table.step)
    )
    return "gathers and scatters are judged at single sizes only" if rows else ""


def _spoken_of(
    reader: EntryReader, kind: str, name: str, table: Any, symbols: Sequence[SizeSymbol]
) -> tuple[SizeSymbol, ...]:
    """The symbols that an entry, what it names, or a relation may depend on: those whose names stand there."""
    data = reader.doc.data
    texts: list[Any] = [data[kind][name], data.get("assume"), data.get("let")]
    for step in table.step if kind == "program" else ():
        used = [(one, getattr(step, one)) for one in ("transfer", "access", "gather", "scatter")]
        texts += [data[one].get(n) for one, given in used for n in _listed(given) if isinstance(n, str) and one in data]
    texts += [data["region"].get(n) for n in getattr(table, "regions", ()) if "region" in data]
    return _named_in(texts, symbols)


def _named_in(texts: Sequence[Any], symbols: Sequence[SizeSymbol]) -> tuple[SizeSymbol, ...]:
    words = set(_WORD.findall(repr(texts)))
    return tuple(one for one in symbols if one.name.rstrip("'") in words)


def _entry(
    reader: EntryReader, kind: str, name: str, table: Any, first: Mapping[str, int], sizes: Mapping[str, Any]
) -> SizedEntry:
    """The entry at sizes; those that are not given are the first. Raises InputError, with the further ones as `others`;
    NoValue where sizes give no meaning.
    """
    bound = reader.bound({**first, **sizes})
    for let in reader.table.let:
        bound.texts.define(let)
    makers = {
        "transfer": bound.transfer, "access": bound.access, "program": partial(_program, bound),
        "gather": partial(_indirect, bound, "gather"), "scatter": partial(_indirect, bound, "scatter"),
    }  # fmt: skip
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


def _indirect(reader: EntryReader, kind: str, name: str, table: schema.IndirectTable) -> Indirect:
    from dmaverify.plan.indirect import read_indirect

    return read_indirect(reader, kind, name, table)


def _program(reader: EntryReader, name: str, table: schema.ProgramTable) -> Program:
    """The program with what its steps name, and nothing else of the file."""
    from dmaverify.plan.programs import Parts, read_program, read_region

    whole = reader.table
    rows = {"gather": whole.gather, "scatter": whole.scatter}
    named = {one for step in table.step for one in (step.transfer, *_listed(step.access)) if isinstance(one, str)}
    parts = Parts(
        {n: reader.transfer(n, whole.transfer[n]) for n in whole.transfer if n in named},
        {n: reader.access(n, whole.access[n]) for n in whole.access if n in named},
        {n: read_region(reader, n, whole.region[n]) for n in table.regions if n in whole.region},
        {
            n: _indirect(reader, kind, n, tables[n]) for kind, tables in rows.items() for n in tables
            if n in {getattr(step, kind) for step in table.step}
        },
    )  # fmt: skip
    return read_program(reader, name, table, parts)


def _listed(given: object) -> list[object]:
    return given if isinstance(given, list) else [given]
