"""Plan files: TOML to transfers and accesses, with everything parsed and every span into the file.

Knows: the plan file format, how texts in it become mappings and sequencers, what in it makes no sense by itself.
Does not know: whether a plan is right.
Law: a plan that can be read gives one `PlanTransfer` or `Access` per table, in the order of the file; one that cannot
gives `InputErrors` with all that is wrong. What can be read but makes no sense (a tier without that key, an axis of
size 0, a medium that is not the tensor's) is a `PlanProblem`, never an exception.

Source: the plan file format, `schema = 1`; "DMA Engine" and "Sequencer" for the texts in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from dmaverify.errors import InputError, InputErrors, Source, Span
from dmaverify.language.expr import Expr
from dmaverify.plan.tables import TableReader
from dmaverify.plan.texts import did_you_mean, units
from dmaverify.plan.toml_spans import Document, Path, parse_toml, read_source, source_of
from dmaverify.program.access import Access, PlanProblem
from dmaverify.program.command import GivenCommand
from dmaverify.program.move import Stream, Tensor, Told, Transfer
from dmaverify.targets.target import Target

if TYPE_CHECKING:
    from dmaverify.plan import schema
    from dmaverify.plan.kernels import PlanKernel
    from dmaverify.program.indirect import Indirect
    from dmaverify.program.schedule import Program, Region
    from dmaverify.program.views import Views
    from dmaverify.prove.sizes.facts import Template

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlanTransfer:
    """A transfer with what only the file knows. `key_spans` maps dotted keys (`dest.slice`) to the places of values."""

    transfer: Transfer
    key_spans: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)
    problems: tuple[PlanProblem, ...] = ()
    line: int = 0

    @property
    def name(self) -> str:
        return self.transfer.name

    @property
    def given(self) -> tuple[GivenCommand, ...]:
        return self.transfer.given


@dataclass(frozen=True, slots=True)
class Unread:
    """A transfer or access that cannot be read, and why."""

    name: str
    errors: tuple[InputError, ...]
    line: int


@dataclass(frozen=True)
class Plan:
    """A plan file. `targets` holds the loaded target of every name that a transfer or access has as its `target`.

    `problems` are axes of size 0, used or not; where a mapping uses one, `wellformed` (given `axes`) finds it too.
    """

    path: str
    source: Source
    name: str
    axes: Mapping[str, int]
    lets: Mapping[str, Expr]
    targets: Mapping[str, Target]
    transfers: tuple[PlanTransfer, ...]
    accesses: tuple[Access, ...]
    problems: tuple[PlanProblem, ...] = ()
    programs: tuple[Program, ...] = ()
    regions: tuple[Region, ...] = ()
    kernels: tuple[PlanKernel, ...] = ()
    indirects: tuple[Indirect, ...] = ()
    templates: tuple[Template, ...] = ()  # of a plan with symbols: its entries, which are nowhere else
    unread: tuple[Unread, ...] = ()  # what cannot be read, where the rest was asked for all the same

    @property
    def is_kernel(self) -> bool:
        """Whether the transfers were found in kernel source (`inputs.rust`), not written as a plan."""
        return False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of transfers, accesses, gathers and scatters, programs, kernels, each kind in the order of the file."""
        kinds = (self.transfers, self.accesses, self.indirects, self.programs, self.kernels, self.templates)
        return tuple(one.name for kind in (*kinds, self.unread) for one in kind)


def read_plan(path: str | FilePath, *, target: str | None = None, partly: bool = False) -> Plan:
    """Read a plan file. `target` overrides the file's own. Raises InputErrors, also where the file cannot be opened;
    `partly`: a transfer or access with a text that cannot be read is among the plan's `unread`, and the rest is there.
    """
    try:
        return _read(parse_toml(read_source(path)), FilePath(path).parent, target, partly)
    except InputError as error:
        raise InputErrors([error]) from None


def read_plan_text(
    text: str, name: str = "<plan>", *, target: str | None = None, folder: FilePath | None = None, partly: bool = False
) -> Plan:
    """Read the text of a plan file; `name` is what messages call it, `folder` where paths in it begin. Raises
    InputErrors; `partly` as in `read_plan`.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        broken = InputError(f"{name} is no Unicode text at character {error.start}", None, "a plan is TOML, as UTF-8")
        raise InputErrors([broken]) from None
    try:
        return _read(parse_toml(source_of(data, name)), folder or FilePath(), target, partly)
    except InputError as error:
        raise InputErrors([error]) from None


def target_names(path: FilePath) -> set[str]:
    """The targets that a plan file names, wherever; none for a file that cannot be read."""
    from tomllib import loads

    try:
        data = loads(read_source(path).text)
    except (InputError, ValueError, RecursionError):
        return set()
    kinds = ("transfer", "access", "program", "gather", "scatter", "kernel")
    tables = [t for kind in kinds for t in _inner(data, kind)]
    steps = [step for t in tables for step in t.get("step", []) if isinstance(step, dict)]
    inner = [step[key] for step in steps for key in ("transfer", "access") if isinstance(step.get(key), dict)]
    return {name for t in (data, *tables, *inner) if isinstance(name := t.get("target"), str)}


def _inner(data: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    tables = data.get(kind)
    return [t for t in tables.values() if isinstance(t, dict)] if isinstance(tables, dict) else []


def select(plan: Plan, name: str | None) -> Plan:
    """The plan with only the transfer, access or program of that name, all for None. Raises InputError for another."""
    if name is None:
        return plan
    if name not in plan.names:
        hint = did_you_mean(name, plan.names) or f"it has {', '.join(plan.names)}"
        raise InputError(f"{plan.path} has no transfer, access or program `{name}`", None, hint)
    return replace(
        plan,
        transfers=tuple(transfer for transfer in plan.transfers if transfer.name == name),
        accesses=tuple(access for access in plan.accesses if access.name == name),
        programs=tuple(program for program in plan.programs if program.name == name),
        kernels=tuple(kernel for kernel in plan.kernels if kernel.name == name),
        indirects=tuple(one for one in plan.indirects if one.name == name),
        templates=tuple(one for one in plan.templates if one.name == name),
        unread=tuple(one for one in plan.unread if one.name == name),
    )


def all_read(plan: Plan) -> Plan:
    """The plan, if all of it was read. Raises InputErrors for the rest."""
    if plan.unread:
        raise InputErrors([error for one in plan.unread for error in one.errors])
    return plan


def has_numbers(plan: Plan) -> Plan:
    """The plan, if it has numbers and no symbols. Raises InputError for another."""
    if plan.templates:
        names = ", ".join(one.name for one in plan.templates[0].symbols)
        hint = "`check` and `conditions` judge all sizes; for all else write numbers in their place"
        raise InputError(f"{plan.path} has symbols ({names})", plan.templates[0].symbols[0].span, hint)
    return plan


# --- reading ---------------------------------------------------------------------------------------------------------


def _read(doc: Document, folder: FilePath, override: str | None, partly: bool = False) -> Plan:
    from dmaverify.plan.schema import validate

    table, complaints = validate(doc.data)
    errors = [_error(doc, complaint) for complaint in complaints]
    if table is None:
        raise InputErrors(errors)
    reader = PlanReader(doc, table, folder, override, errors)
    plan = reader.plan()
    own = {id(error) for one in plan.unread for error in one.errors}
    if errors and not (partly and all(id(error) in own for error in errors)):
        raise InputErrors(errors)
    return plan


def _error(doc: Document, complaint: schema.Complaint) -> InputError:
    span = doc.key_span(complaint.path) if complaint.at_key else doc.span(complaint.path)
    return InputError(complaint.message, span, complaint.hint)


class PlanReader(TableReader):
    """Builds a plan from validated tables."""

    def __init__(
        self, doc: Document, table: schema.PlanTable, folder: FilePath, override: str | None, errors: list[InputError]
    ) -> None:
        super().__init__(doc, table, folder, override, errors)
        self.key_spans = _key_spans(doc)

    def bound(self, sizes: Mapping[str, Any]) -> PlanReader:
        """The same file with numbers for its symbols, and no errors yet."""
        other = copy(self)
        other.errors = []
        other.bind(sizes)
        return other

    def _template_plan(self) -> Plan:
        from dmaverify.plan.symbols import templates_of

        found = self.collect(lambda: templates_of(self, self.errors)) or ()
        return Plan(
            path=self.doc.source.name,
            source=self.doc.source,
            name=self.table.name,
            axes=MappingProxyType({n: v for n, v in self.table.axes.items() if isinstance(v, int)}),
            lets=MappingProxyType({}),
            targets=MappingProxyType(dict(self.known.values())),
            transfers=(),
            accesses=(),
            templates=found,
        )

    def plan(self) -> Plan:
        self._check_whole()
        if self.has_symbols:
            return self._template_plan()
        for name in self.table.let:
            self.collect(partial(self.texts.define, name))
        unread: list[Unread] = []
        transfers = [self._entry("transfer", *item, self.transfer, unread) for item in self.table.transfer.items()]
        accesses = [self._entry("access", *item, self.access, unread) for item in self.table.access.items()]
        kept = [transfer for transfer in transfers if transfer is not None]
        taken = [access for access in accesses if access is not None]
        indirects = self._indirects()
        programs, regions = self._programs(kept, taken, indirects)
        kernels = self._kernels()
        return Plan(
            path=self.doc.source.name,
            source=self.doc.source,
            name=self.table.name,
            axes=MappingProxyType(self.texts.axes),
            lets=MappingProxyType(self.texts.lets),
            targets=MappingProxyType(dict(self.known.values())),
            transfers=tuple(kept),
            accesses=tuple(taken),
            problems=tuple(self._empty_axis(name) for name, size in self.texts.axes.items() if size == 0),
            programs=programs,
            regions=regions,
            kernels=kernels,
            indirects=indirects,
            unread=tuple(unread),
        )

    def _entry(self, kind: str, name: str, table: Any, read: Callable[[str, Any], T], unread: list[Unread]) -> T | None:
        """One transfer or access; what is wrong with it goes to `unread` too."""
        before = len(self.errors)
        found = self.collect(partial(read, name, table))
        if len(self.errors) > before:
            unread.append(Unread(name, tuple(self.errors[before:]), self.doc.key_span((kind, name)).line))
        return found

    def _indirects(self) -> tuple[Indirect, ...]:
        kinds = {"gather": self.table.gather, "scatter": self.table.scatter}
        if not any(kinds.values()):
            return ()
        from dmaverify.plan.indirect import read_indirect

        found = [
            self.collect(partial(read_indirect, self, kind, *item)) for kind in kinds for item in kinds[kind].items()
        ]
        return tuple(one for one in found if one is not None)

    def _programs(
        self, transfers: list[PlanTransfer], accesses: list[Access], indirects: tuple[Indirect, ...]
    ) -> tuple[tuple[Program, ...], tuple[Region, ...]]:
        if not self.table.region and not self.table.program:
            return (), ()
        from dmaverify.plan.programs import Parts, read_program, read_region

        regions = [self.collect(partial(read_region, self, *item)) for item in self.table.region.items()]
        found = Parts(
            {transfer.name: transfer for transfer in transfers},
            {access.name: access for access in accesses},
            {region.name: region for region in regions if region is not None},
            {one.name: one for one in indirects},
        )
        programs = [self.collect(partial(read_program, self, *item, found)) for item in self.table.program.items()]
        return tuple(p for p in programs if p is not None), tuple(found.regions.values())

    def _kernels(self) -> tuple[PlanKernel, ...]:
        if not self.table.kernel:
            return ()
        from dmaverify.plan.kernels import read_kernel

        kernels = [self.collect(partial(read_kernel, self, *item)) for item in self.table.kernel.items()]
        return tuple(kernel for kernel in kernels if kernel is not None)

    def _check_whole(self) -> None:
        kinds = {
            "transfer": "a transfer", "access": "an access", "program": "a program", "gather": "a gather",
            "scatter": "a scatter", "kernel": "a kernel",
        }  # fmt: skip
        for first, second in combinations(kinds, 2):
            for name in sorted(self.doc.data.get(first, {}).keys() & self.doc.data.get(second, {}).keys()):
                span = self.doc.key_span((second, name))
                message = f"`{name}` is {kinds[first]} and {kinds[second]}"
                self.errors.append(InputError(message, span, "give one another name"))
        if not any(self.doc.data.get(kind) for kind in kinds):
            hint = "add [transfer.NAME] with dtype, source and dest"
            self.errors.append(InputError(f"{self.doc.source.name} has nothing to check", None, hint))

    def _empty_axis(self, name: str) -> PlanProblem:
        return PlanProblem(f"axis `{name}` has size 0", self.doc.span(("axes", name)), "sizes start at 1")

    # --- transfers

    def transfer(self, name: str, table: schema.TransferTable, path: Path = ()) -> PlanTransfer:
        """A transfer of the plan, or one that is written at `path`."""
        path = path or ("transfer", name)
        key, target = self.target_of(path, table.target)
        self.check_dtype(path, table.dtype, target)
        problems: list[PlanProblem] = []
        steps: dict[str, Callable[[], Any]] = {
            "source": lambda: self.tensor((*path, "source"), table.source, target, problems),
            "dest": lambda: self.tensor((*path, "dest"), table.dest, target, problems),
            "stream": lambda: self.streams((*path, "stream"), table.stream),
            "given": lambda: self.commands(path, table, target),
            "limits": lambda: self.limits(path, table.limits, target),
            "options": lambda: self.options(path, table.options, target),
        }
        made = self.all_of(steps)
        sides = {side: ((*path, side), getattr(table, side), made[side]) for side in ("source", "dest")}
        views = self._views(table.loop, sides, target.dtypes[table.dtype], problems)
        source, dest = (_seen(views, side, made[side]) for side in ("source", "dest"))
        given, streams = made["given"], made["stream"] if isinstance(made["stream"], tuple) else ()
        options: tuple[tuple[str, int | str], ...] = made["options"]
        facts: tuple[Told, ...] = ()
        form = None
        if table.commands is not None:
            from dmaverify.plan.programs import written_commands

            written = written_commands(self, path, table, table.commands, (source, dest), target)
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

            made["stream"] = with_packet(made["stream"], source, dest, target.dtypes[table.dtype], target)
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
        views = self._views(table.loop, memory, target.dtypes[table.dtype], problems)
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
    view = None if views is None else views.source if side == "source" else views.dest
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
