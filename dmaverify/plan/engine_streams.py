"""Streams that a transfer has by engine: cases over chip, cluster and dmn with i, j and k.

Knows: the table of cases, ranges of engines. Does not know: the rest of a transfer.
Law: one stream per engine and case, in the order of engines, cases of one engine in their order.

Source: "DMA Engine" (Heterogeneous Aggregate Operation, Example 6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

from dmaverify.errors import InputError
from dmaverify.language.toml_spans import Document, Path
from dmaverify.plan.printed import MOST_ENGINES
from dmaverify.plan.texts import Texts
from dmaverify.program.command import Engine
from dmaverify.program.move import EngineStream, Stream

if TYPE_CHECKING:
    from dmaverify.language.expr import Expr
    from dmaverify.plan import schema

_RANGE = re.compile(r"\s*([0-9]{1,6})\s*(?:\.\.\s*([0-9]{1,6})\s*)?")


def engine_streams(
    doc: Document, texts: Texts, path: Path, cases: Sequence[schema.CaseTable]
) -> tuple[EngineStream, ...]:
    """One stream per engine and case, in the order of engines, cases of one engine in their order."""
    found: list[EngineStream] = []
    for index, case in enumerate(cases):
        place = (*path, index)
        engines = _engines(doc, (*place, "when"), case.when)
        read: dict[object, Expr] = {}
        found += [EngineStream(engine, _stream(doc, texts, place, case, engine, read), index) for engine in engines]
        if len(found) > MOST_ENGINES:
            raise InputError(f"more than {MOST_ENGINES} commands", doc.span(place), "name fewer engines")
    return tuple(sorted(found, key=lambda one: (one.engine.chip, one.engine.cluster, one.engine.dmn, one.case)))


def _stream(
    doc: Document, texts: Texts, path: Path, case: schema.CaseTable, engine: Engine, read: dict[object, Expr]
) -> Stream:
    """The stream of one engine; `read` keeps what texts say to engines between which they do not tell."""
    params = {"i": engine.chip, "j": engine.cluster, "k": engine.dmn}

    def mapping(name: str) -> Expr:
        text: str = getattr(case, name)
        key = (name, *(value for letter, value in params.items() if letter in text))
        if key not in read:
            read[key] = texts.mapping((*path, name), text, params)
        return read[key]

    names = ("time", "packet", "chip", "cluster", "slice")
    if case.packet is None:
        raise InputError("the stream of a case has no packet", doc.span(path), 'write `packet = "..."`')
    parts = {name: mapping(name) for name in names}
    for name in names[2:]:
        if parts[name].size != 1:
            raise InputError(
                f"engine {engine} is given {parts[name].size} positions of `{getattr(case, name)}`",
                doc.span((*path, name)),
                f"pick its own: `... @ {'ijk'[names.index(name) - 2]} = 1`",
            )
    return Stream(**parts, span=doc.span(path))


def _engines(doc: Document, path: Path, when: schema.WhenTable) -> Iterator[Engine]:
    for chip, cluster, dmn in product(
        *(_numbers(doc, (*path, name), getattr(when, name)) for name in ("chip", "cluster", "dmn"))
    ):
        yield Engine(chip, cluster, dmn)


def _numbers(doc: Document, path: Path, given: list[int] | str) -> list[int]:
    if isinstance(given, list):
        return sorted(set(given))
    match = _RANGE.fullmatch(given)
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if low > high or high - low >= MOST_ENGINES:
        raise InputError(f'"{given}" is no range of engines', doc.span(path), 'write "0..3", or a list [0, 1, 2]')
    return list(range(low, high + 1))
