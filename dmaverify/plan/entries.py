"""Transfers and accesses of a plan file, from their tables.

Knows: the tables of one entry, what in it makes no sense by itself.
Does not know: which entries a plan has, programs, files.
Law: a table gives one `PlanTransfer` or `Access`, or InputErrors with all that is wrong with it.

Source: the plan file format, `schema = 1`; "DMA Engine" and "Sequencer" for the texts in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError, Span
from dmaverify.language.toml_spans import Document, Path
from dmaverify.plan.plan import PlanTransfer
from dmaverify.plan.tables import TableReader
from dmaverify.plan.texts import units
from dmaverify.program.access import Access, PlanProblem
from dmaverify.program.move import Stream, Told, Transfer
from dmaverify.program.tensor import Tensor

if TYPE_CHECKING:
    from dmaverify.plan import schema
    from dmaverify.program.views import Views


class EntryReader(TableReader):
    """Reads the entries of one file, each by itself."""

    def __init__(
        self, doc: Document, table: schema.PlanTable, folder: FilePath, override: str | None, errors: list[InputError]
    ) -> None:
        super().__init__(doc, table, folder, override, errors)
        self.key_spans = _key_spans(doc)

    def bound(self, sizes: Mapping[str, Any]) -> EntryReader:
        """The same file with numbers for its symbols, and no errors yet."""
        other = copy(self)
        other.errors = []
        other.bind(sizes)
        return other

    def empty_axis(self, name: str) -> PlanProblem:
        return PlanProblem(f"the axis `{name}` has size 0", self.doc.span(("axes", name)), "sizes start at 1")

    # --- transfers

    def transfer(self, name: str, table: schema.TransferTable, path: Path = ()) -> PlanTransfer:
        """A transfer of the plan, or one that is written at `path`."""
        path = path or ("transfer", name)
        key, target = self.target_of(path, table.target)
        self.check_dtype(path, table.dtype, target)
        problems: list[PlanProblem] = []
        self.texts.used.clear()
        steps: dict[str, Callable[[], Any]] = {
            "source": lambda: self.tensor((*path, "source"), table.source, target, problems),
            "dest": lambda: self.tensor((*path, "dest"), table.dest, target, problems),
            "stream": lambda: self.streams((*path, "stream"), table.stream),
            "given": lambda: self.commands(path, table, target),
            "limits": lambda: self.limits(path, table.limits, target),
            "options": lambda: self.options(path, table.options, target),
        }
        made = self.all_of(steps)
        problems += [self.empty_axis(axis) for axis in sorted(self.texts.used) if self.texts.axes.get(axis) == 0]
        sides = {side: ((*path, side), getattr(table, side), made[side]) for side in ("source", "dest")}
        views = self._views(self.loops(path, table.loop), sides, target.dtypes[table.dtype], problems)
        source, dest = (_seen(views, side, made[side]) for side in ("source", "dest"))
        given, streams = made["given"], made["stream"] if isinstance(made["stream"], tuple) else ()
        options: tuple[tuple[str, int | str], ...] = made["options"]
        facts: tuple[Told, ...] = ()
        form = None
        if table.commands is not None:
            from dmaverify.plan.written_commands import written_commands

            written = written_commands(self, path, table, dict(options), (source, dest), target)
            problems += written.problems
            given, streams = given or written.given, streams or written.streams
            options = tuple(written.options.items()) or options
            facts = tuple((one.scope, tuple(one.values.items()), one.place, one.spans) for one in written.facts)
            form = written.form
        for command in given:
            problems += self.media(command.read, source, "read", "source", target)
            problems += self.media(command.write, dest, "write", "dest", target)
        engine = self.engine_of_stream(path, table, made["stream"], given, problems)
        if isinstance(made["stream"], Stream) and getattr(table.stream, "packet", None) is None:
            from dmaverify.lower.inferred import with_packet

            bits = target.dtypes[table.dtype]
            made["stream"] = with_packet(made["stream"], source, dest, bits, target, self.texts.axes)
        transfer = Transfer(
            name=name,
            target=key,
            dtype=table.dtype,
            source=source,
            dest=dest,
            stream=made["stream"] if isinstance(made["stream"], Stream) else None,
            streams=streams,
            given=given,
            limits=made["limits"],
            options=options,
            facts=facts,
            form=form,
            expect=self.expectation(table.expect),
            span=self.doc.key_span(path),
            views=views,
            engine=engine,
        )
        return PlanTransfer(transfer, self.key_spans.get(path, {}), tuple(problems), self.doc.key_span(path).line)

    # --- accesses

    def access(self, name: str, table: schema.AccessTable, path: Path = ()) -> Access:
        path = path or ("access", name)
        key, target = self.target_of(path, table.target)
        self.check_dtype(path, table.dtype, target)
        problems: list[PlanProblem] = []
        counted = units(target, table.dtype, table.unit)
        steps: dict[str, Callable[[], Any]] = {
            "memory": lambda: self.tensor((*path, "memory"), table.memory, target, problems),
            "stream": lambda: self.stream((*path, "stream"), table.stream),
            "config": lambda: (
                None if table.config is None else self.texts.config((*path, "config"), table.config, counted)
            ),
            "limits": lambda: self.limits(path, table.limits, target),
        }
        made = self.all_of(steps)
        if made["config"] is not None:
            problems += self.media(made["config"], made["memory"], "config", "memory", target)
        side = "source" if table.engine == "fetch" else "dest"
        memory = {side: ((*path, "memory"), table.memory, made["memory"])}
        views = self._views(self.loops(path, table.loop), memory, target.dtypes[table.dtype], problems)
        made["memory"] = _seen(views, side, made["memory"])
        return Access(
            name=name,
            target=key,
            engine=table.engine,
            context=table.context,
            dtype=table.dtype,
            **made,
            expect=self.expectation(table.expect),
            problems=tuple(problems),
            line=self.doc.key_span(path).line,
            span=self.doc.key_span(path),
            key_spans=self.key_spans.get(path, {}),
            views=views,
        )

    def _views(
        self, loop: Mapping[str, int], sides: Mapping[str, tuple[Path, schema.TensorTable, Tensor]], dtype_bits: int,
        problems: list[PlanProblem],
    ) -> Views | None:  # fmt: skip
        if not loop and all(table.view is None for _, table, _ in sides.values()):
            return None
        from dmaverify.plan.views import read_views

        return read_views(self, loop, sides, dtype_bits, problems)


def _seen(views: Views | None, side: str, tensor: Tensor) -> Tensor:
    """What the first iteration moves on that side."""
    view = None if views is None else views.on(side)
    return tensor if view is None else view.shown


def _key_spans(doc: Document) -> dict[Path, dict[str, Span]]:
    """Per transfer and access, the spans of its values by dotted key."""
    spans: dict[Path, dict[str, Span]] = {}
    for kind in ("transfer", "access", "gather", "scatter"):
        tables = doc.data.get(kind)
        spans |= {(kind, name): {} for name in tables} if isinstance(tables, dict) else {}
    for path in doc.values:
        if path[:2] in spans and len(path) > 2:
            spans[path[:2]][".".join(map(str, path[2:]))] = doc.span(path)
    return spans
