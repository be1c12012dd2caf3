"""Kernels of a plan file: `[kernel.NAME]` with its text, extents, ranges and the moves that its copies make.

Knows: where the text is, how extents and ranges are written.
Does not know: the language of the text, whether anything holds.
Law: as `plan`: what cannot be read is an InputError at its place in the plan.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dmaverify.errors import InputError, Source, Span
from dmaverify.language.files import OUTSIDE, is_inside
from dmaverify.language.numbers import Poly
from dmaverify.language.toml_spans import read_source
from dmaverify.plan.notes import extent_of
from dmaverify.program.access import PlanMove
from dmaverify.values import dataclass, field

if TYPE_CHECKING:
    from dmaverify.plan import schema
    from dmaverify.plan.tables import TableReader
    from dmaverify.program.access import PlanProblem

_RANGE = re.compile(r"\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*")


@dataclass(frozen=True, slots=True)
class PlanKernel:
    """A kernel of a plan. `under` maps `RULE=NAME` to the expectation there."""

    name: str
    target: str
    source: Source
    function: str | None
    extents: Mapping[str, int | Poly]
    ranges: Mapping[str, tuple[int, int]]
    moves: tuple[PlanMove, ...]
    expect: tuple[str, ...] | None
    under: Mapping[str, tuple[str, ...] | None]
    line: int
    span: Span = field(compare=False, repr=False)


def read_kernel(reader: TableReader, name: str, table: schema.KernelTable) -> PlanKernel:
    """The kernel of one table. Raises InputError."""
    path = ("kernel", name)
    key, target = reader.target_of(path, table.target)
    source = _text(reader, name, table)
    moves = []
    for index, move in enumerate(table.move):
        here = (*path, "move", index)
        reader.check_dtype(here, move.dtype, target)
        problems: list[PlanProblem] = []
        tensors = [reader.tensor((*here, side), getattr(move, side), target, problems) for side in ("source", "dest")]
        moves.append(
            PlanMove(
                tuple(move.copies),
                move.dtype,
                tensors[0],
                tensors[1],
                reader.doc.key_span(here),
                tuple(problems),
                reader.doc.span((*here, "copies")),
            )
        )
    extents = {arg.lstrip("%"): extent_of(text, reader.doc.span((*path, "gm", arg))) for arg, text in table.gm.items()}
    ranges = {
        arg.lstrip("%"): _range(text, reader.doc.span((*path, "assume", arg))) for arg, text in table.assume.items()
    }
    under = {}
    for reading, expect in table.under.items():
        at = reader.doc.key_span((*path, "under", reading))
        if reading.count("=") != 1:
            raise InputError(f"`{reading}` is not RULE=NAME", at, 'for example "pad-extent=gap"')
        try:
            target.check_readings(dict([reading.split("=")]))
        except InputError as error:
            raise InputError(error.message, at, error.hint) from None
        under[reading] = reader.expectation(expect)
    line = reader.doc.key_span(path).line
    return PlanKernel(
        name,
        key,
        source,
        table.function,
        extents,
        ranges,
        tuple(moves),
        reader.expectation(table.expect),
        under,
        line,
        reader.doc.key_span(path),
    )


def _text(reader: TableReader, name: str, table: schema.KernelTable) -> Source:
    path = ("kernel", name)
    if (table.file is None) == (table.text is None):
        hint = "leave one of them out" if table.text is not None else f'write `file = "{name}.mlir"` in [kernel.{name}]'
        raise InputError("a kernel has either `file` or `text`", reader.doc.key_span(path), hint)
    if table.text is not None:
        return Source(f"{reader.doc.source.name}::{name}", table.text)
    file = reader.folder / str(table.file)
    span = reader.doc.span((*path, "file"))
    if file.suffix not in (".pto", ".mlir"):
        raise InputError(f"{table.file} is no kernel", span, "a kernel is PTO text: *.pto or *.mlir")
    if not is_inside(file, reader.folder):
        raise InputError(f"{table.file} lies outside of the project", span, OUTSIDE)
    try:
        return read_source(file, toml=False)
    except InputError as error:  # told where the plan names it, unless it is told within the file
        raise InputError(error.message, error.span or span, error.hint) from error


def _range(text: str, span: Span) -> tuple[int, int]:
    found = _RANGE.fullmatch(text)
    if found is None or int(found[1]) > int(found[2]):
        raise InputError(f"`{text}` is no range", span, "write 1..64")
    return int(found[1]), int(found[2])
