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
from functools import partial
from itertools import combinations
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from dmaverify.errors import InputError, InputErrors
from dmaverify.language.toml_spans import Document, parse_toml, read_source, source_of
from dmaverify.plan.entries import EntryReader
from dmaverify.plan.plan import Plan, PlanTransfer, Unread
from dmaverify.program.access import Access

if TYPE_CHECKING:
    from dmaverify.plan import schema
    from dmaverify.plan.kernels import PlanKernel
    from dmaverify.program.indirect import Indirect
    from dmaverify.program.regions import Region
    from dmaverify.program.schedule import Program

T = TypeVar("T")

_START = 'start with `schema = 1`, `target = "rngd"`, then [axes] and [transfer.NAME]'


def read_plan(path: str | FilePath, *, target: str | None = None, partly: bool = False) -> Plan:
    """Read a plan file. `target` overrides the file's own. Raises InputErrors, also where the file cannot be opened;
    `partly`: a transfer or access with a text that cannot be read is among the plan's `unread`, and the rest is there.
    """
    try:
        source = read_source(path)
        if FilePath(path).suffix not in ("", ".toml") and "schema" not in source.text:
            hint = "a plan is a .toml file (`dmaverify new`); `dmaverify check` takes kernels and files of engines, too"
            raise InputError(f"{path} is no plan file", None, hint)
        return _read(parse_toml(source, _START), FilePath(path).parent, target, partly)
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
        return _read(parse_toml(source_of(data, name), _START), folder or FilePath(), target, partly)
    except InputError as error:
        raise InputErrors([error]) from None


# --- what a plan names, as far as its data have the form of one ------------------------------------------------------


def target_names(path: FilePath) -> set[str]:
    """The targets that a plan file names, wherever; none for a file that cannot be read."""
    from tomllib import loads

    try:
        return targets_named(loads(read_source(path).text))
    except (InputError, ValueError, RecursionError):
        return set()


def targets_named(data: Mapping[str, Any]) -> set[str]:
    """The targets that the data of a plan file name, wherever."""
    tables = [table for kind in data.values() for table in _tables(kind)]
    inner = [step[kind] for step in _steps(data) for kind in ("transfer", "access") if isinstance(step.get(kind), dict)]
    return {name for table in (data, *tables, *inner) if isinstance(name := table.get("target"), str)}


def files_named(data: Mapping[str, Any]) -> list[str]:
    """The files of kernels and engines that the data of a plan file name, as they name them."""
    kernels = [kernel.get("file") for kernel in _tables(data.get("kernel"))]
    inner = [step["transfer"] for step in _steps(data) if isinstance(step.get("transfer"), dict)]
    options = [move.get("options") for move in (*_tables(data.get("transfer")), *inner)]
    engines = [own.get("engine") for own in options if isinstance(own, dict)]
    return [*(one for one in kernels if isinstance(one, str)),
            *(one.partition("::")[0] for one in engines if isinstance(one, str))]  # fmt: skip


def _steps(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps of programs that are tables; of all others the reader complains."""
    lists = [steps for program in _tables(data.get("program")) if isinstance(steps := program.get("step"), list)]
    return [step for steps in lists for step in steps if isinstance(step, dict)]


def _tables(value: Any) -> list[dict[str, Any]]:
    return [part for part in value.values() if isinstance(part, dict)] if isinstance(value, dict) else []


# --- reading ---------------------------------------------------------------------------------------------------------


def _read(doc: Document, folder: FilePath, override: str | None, partly: bool = False) -> Plan:
    from dmaverify.plan.validate import validate

    if {"tier", "engines"} <= set(doc.data) and not {"axes", "transfer", "target"} & set(doc.data):
        hint = (
            f'name its folder in a plan (`target = "./{folder.name or "FOLDER"}"`); `dmaverify rules --target` reads it'
        )
        raise InputError("this is the data of a machine, no plan", doc.key_span(("tier",)), hint)
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


def _used(table: schema.ProgramTable) -> set[str]:
    """Names of the transfers and accesses that the steps do."""
    said = [one for step in table.step for one in (step.transfer, step.access)]
    lists = [one for one in said if isinstance(one, list)]
    return {one for one in said if isinstance(one, str)} | {name for names in lists for name in names}


def _error(doc: Document, complaint: schema.Complaint) -> InputError:
    span = doc.key_span(complaint.path) if complaint.at_key else doc.span(complaint.path)
    return InputError(complaint.message, span, complaint.hint)


class PlanReader(EntryReader):
    """Builds a plan from validated tables."""

    def _template_plan(self) -> Plan:
        from dmaverify.plan.symbols import kernels_beside, templates_of

        found = self.collect(lambda: templates_of(self, self.errors)) or ()
        kernels = self.collect(lambda: kernels_beside(self)) or ()
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
            kernels=kernels,
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
        programs, regions = self._programs(kept, taken, indirects, unread)
        kernels = self._kernels()
        left = {one.name for one in unread}  # judged by what was read of it, a verdict would be one of another entry
        return Plan(
            path=self.doc.source.name,
            source=self.doc.source,
            name=self.table.name,
            axes=MappingProxyType(self.texts.axes),
            lets=MappingProxyType(self.texts.lets),
            targets=MappingProxyType(dict(self.known.values())),
            transfers=tuple(one for one in kept if one.name not in left),
            accesses=tuple(one for one in taken if one.name not in left),
            problems=tuple(self.empty_axis(name) for name, size in self.texts.axes.items() if size == 0),
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
        self, transfers: list[PlanTransfer], accesses: list[Access], indirects: tuple[Indirect, ...],
        unread: list[Unread],
    ) -> tuple[tuple[Program, ...], tuple[Region, ...]]:  # fmt: skip
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
        programs = []
        for name, table in self.table.program.items():
            lost = [one.name for one in unread if one.name in _used(table)]
            whole = all(one in found.transfers or one in found.accesses for one in lost)
            program = self.collect(partial(read_program, self, name, table, found)) if whole else None
            if lost:
                span = self.doc.key_span(("program", name))
                error = InputError(f"a step does `{lost[0]}`, which cannot be read", span, "mend that first")
                unread.append(Unread(name, (error,), span.line))
            elif program is not None:
                programs.append(program)
        return tuple(programs), tuple(found.regions.values())

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
