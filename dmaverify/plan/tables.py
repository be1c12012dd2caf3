"""Tables of a plan file that transfers, accesses and gathers share: tensors, streams, limits, options, commands.

Knows: the schema of these tables, where each value stands in the file, targets by name and folder.
Does not know: which transfers a plan has, programs, views.
Law: a table gives its part or an InputError at the place in the file; what can be read but makes no sense is a
`PlanProblem`.

Source: the plan file format, `schema = 1`; "DMA Engine" and "Sequencer" for the texts in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, TypeVar

from dmaverify.errors import InputError, did_you_mean
from dmaverify.language.expr import ONE
from dmaverify.language.files import OUTSIDE, is_inside
from dmaverify.language.toml_spans import Document, Path
from dmaverify.plan.engine_streams import engine_streams
from dmaverify.plan.printed import leaves_out, places_of, spelled_out
from dmaverify.plan.texts import Texts, units
from dmaverify.program.access import PlanProblem
from dmaverify.program.command import Engine, GivenCommand, Sequencer
from dmaverify.program.move import EngineStream, Stream
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.targets.modules import check_options, described_engine
from dmaverify.targets.target import Target, available_targets, load_target

if TYPE_CHECKING:
    from dmaverify.plan import schema

T = TypeVar("T")


class TableReader:
    """Reads tables of one file; collects errors instead of stopping at the first."""

    def __init__(
        self, doc: Document, table: schema.PlanTable, folder: FilePath, override: str | None, errors: list[InputError]
    ) -> None:
        self.doc = doc
        self.table = table
        self.folder = folder
        self.override = override
        self.errors = errors
        self.bind({})
        self.known: dict[str, tuple[str, Target]] = {}

    @property
    def has_symbols(self) -> bool:
        table = self.table
        return bool(table.free or table.assume) or any(not isinstance(size, int) for size in table.axes.values())

    def bind(self, sizes: Mapping[str, Any]) -> None:
        """Reads texts with these values of the symbols; none in a plan without symbols."""
        axes = {name: size if isinstance(size, int) else sizes.get(name, 0) for name, size in self.table.axes.items()}
        self.texts = Texts(self.doc, axes, self.table.let, {**axes, **sizes} if self.has_symbols else None)

    def collect(self, build: Callable[[], T]) -> T | None:
        """The result of `build`, or None and one more error."""
        try:
            return build()
        except InputError as error:
            self.errors.append(error)
            return None

    # --- parts of a transfer or access

    def target_of(self, path: Path, own: str | None) -> tuple[str, Target]:
        """The target's name (for a folder, its path) and the target."""
        name, place = (own, (*path, "target")) if own is not None else (self.table.target, ("target",))
        if self.override is not None:
            name = self.override
        if name is None:
            hint = f"known: {', '.join(available_targets())}; write `target = ...` at the top of the file"
            raise InputError("the target is missing", self.doc.span(()), hint)
        if name in self.known:
            return self.known[name]
        ships = name in available_targets()
        own_folder = self.override is None and not ships
        if own_folder and not is_inside(self.folder / name, self.folder):
            raise InputError(f"the target {name!r} lies outside of the project", self.doc.span(place), OUTSIDE)
        try:
            target = load_target(name, None if self.override is not None else self.folder)
        except InputError as error:
            if error.span is not None or self.override is not None:
                raise
            raise InputError(error.message, self.doc.span(place), error.hint) from None
        key = name if ships else str(target.folder)
        self.known[name] = key, target
        return key, target

    def check_dtype(self, path: Path, dtype: str, target: Target) -> None:
        if dtype in target.dtypes:
            return
        span = self.doc.span((*path, "dtype"))
        if dtype in target.internal_dtypes:
            raise InputError(f"no tensor in memory is `{dtype}`", span, target.internal_dtypes[dtype])
        known = f"known: {', '.join(target.dtypes)}"
        raise InputError(f"{target.name} has no type `{dtype}`", span, did_you_mean(dtype, target.dtypes) or known)

    def given(self, path: Path) -> frozenset[str]:
        """The keys that the file itself writes in the table at `path`; none where it has no such table."""
        here: Any = self.doc.data
        for part in path:
            here = here[part] if isinstance(here, list) and isinstance(part, int) else here.get(part, {})
        return frozenset(here)

    def tensor(self, path: Path, table: schema.MemoryTable, target: Target, problems: list[PlanProblem]) -> Tensor:
        if table.tier not in target.tiers:
            known = f"known: {', '.join(target.tiers)}"
            hint = did_you_mean(table.tier, target.tiers) or known
            raise InputError(f"{target.name} has no tier `{table.tier}`", self.doc.span((*path, "tier")), hint)
        base, whole = table.base, isinstance(table.base, int | str)
        start = self.texts.natural((*path, "base"), base) if isinstance(base, int | str) else 0
        if isinstance(start, int) and start >= 1 << 64:
            raise InputError(f"`base` is too large: {base}", self.doc.span((*path, "base")), "addresses have 64 bits")
        at = {
            place: 0 if whole else self.texts.natural((*path, "base", place), getattr(base, place)) for place in PLACES
        }
        places = target.tiers[table.tier].places
        records = [(path, self.given(path))]
        if not whole:
            records.append(((*path, "base"), self.given((*path, "base"))))
        for where, keys in records:
            foreign = [place for place in PLACES[:-1] if place in keys and place not in places]
            problems += [self.no_place((*where, place), table.tier, places) for place in foreign]
        mappings = {place: self.texts.mapping((*path, place), getattr(table, place)) for place in PLACES}
        return Tensor(
            tier=table.tier,
            **mappings,
            base=start if whole else at["element"],
            at_chip=at["chip"],
            at_cluster=at["cluster"],
            at_slice=at["slice"],
            span=self.doc.span(path),
            base_span=self.doc.span((*path, "base")),
        )

    def no_place(self, path: Path, tier: str, places: Iterable[str]) -> PlanProblem:
        hint = f"{tier} has {', '.join((*places, 'element'))}"
        return PlanProblem(f"{tier} has no {path[-1]}", self.doc.key_span(path), hint)

    def stream(self, path: Path, table: schema.StreamTable, packet: bool = True) -> Stream:
        """The stream; one without a packet only where it is not asked for, and then of packet `1`."""
        if table.packet is None and packet:
            raise InputError("the stream has no packet", self.doc.span(path), 'write `packet = "..."`')
        names = ("time", "packet", "chip", "cluster", "slice")
        mappings = {name: self.texts.mapping((*path, name), getattr(table, name) or "1") for name in names}
        return Stream(**mappings, span=self.doc.span(path))

    def streams(
        self, path: Path, given: schema.StreamTable | list[schema.CaseTable] | None
    ) -> Stream | tuple[EngineStream, ...] | None:
        if isinstance(given, list):
            return engine_streams(self.doc, self.texts, path, given)
        return None if given is None else self.stream(path, given, packet=False)

    def limits(self, path: Path, limits: Mapping[str, int], target: Target) -> tuple[tuple[str, int], ...]:
        for name, value in limits.items():
            target.limits_with([(name, value)], self.doc.key_span((*path, "limits", name)))
        return tuple(limits.items())

    def loops(self, path: Path, table: Mapping[str, int | str]) -> dict[str, int]:
        """The loops around the table at `path`, with their iterations."""
        return {name: self.texts.positive((*path, "loop", name), count) for name, count in table.items()}

    def options(
        self, path: Path, options: Mapping[str, int | str], target: Target
    ) -> tuple[tuple[str, int | str], ...]:
        for name, value in options.items():
            if isinstance(value, bool):
                raise InputError(f"option `{name}` is {value}", self.doc.key_span((*path, "options", name)), "0 or 1")
        written, engine = options, options.get("engine")
        if isinstance(engine, str):
            own = {name: value for name, value in options.items() if name != "engine"}
            options = {**self._described(path, engine, target), **own}
        try:
            check_options(target, options)
        except InputError as error:
            named = next((n for n in written if f"`{n}`" in error.message or f"{n} is" in error.message), None)
            place = (*path, "options") if named is None else (*path, "options", named)
            for name, value in written.items():
                if isinstance(value, str) and repr(value) in error.message:
                    raise InputError(error.message, self.doc.span((*path, "options", name)), error.hint) from None
            raise InputError(error.message, self.doc.key_span(place), error.hint) from None
        return tuple(options.items())

    def _described(self, path: Path, engine: str, target: Target) -> Mapping[str, int | str]:
        """The options of an engine in a file that a plan names, `FILE` or `FILE::ENTRY`."""
        file, both, entry = engine.partition("::")
        span = self.doc.span((*path, "options", "engine"))
        if not is_inside(self.folder / file, self.folder):
            raise InputError(f"{file} lies outside of the project", span, OUTSIDE)
        try:
            return described_engine(target, f"{self.folder / file}{both}{entry}")
        except InputError as error:
            raise InputError(error.message, span, error.hint) from None

    def expectation(self, expect: str | list[str] | None) -> tuple[str, ...] | None:
        """None where nothing is said, () for "proved", else the ids without repetition."""
        if expect is None:
            return None
        return () if isinstance(expect, str) else tuple(dict.fromkeys(expect))

    def all_of(self, steps: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        """Every step's result. All are taken before the first error ends the table; the other errors are collected."""
        made: dict[str, Any] = {}
        failed: list[InputError] = []
        for name, step in steps.items():
            try:
                made[name] = step()
            except InputError as error:
                failed.append(error)
        if failed:
            self.errors += failed[1:]
            raise failed[0]
        return made

    def commands(self, path: Path, table: schema.TransferTable, target: Target) -> tuple[GivenCommand, ...]:
        if table.command is None:
            return tuple(self.in_full(path, table, table, target))
        for key in ("read", "write", "sequencer", "engine"):
            if getattr(table, key) is not None:
                span = self.doc.key_span((*path, key))
                raise InputError(f"`{key}` beside [[transfer.{path[1]}.command]]", span, "write it in each command")
        commands: list[GivenCommand] = []
        for index, command in enumerate(table.command):
            place = (*path, "command", index)
            made = self.collect(partial(self.in_full, place, command, table, target))
            if made:
                commands += made
            elif command.read is command.write is command.sequencer is None:
                raise InputError("the command says nothing", self.doc.key_span(place), "add `read` and `write`")
        return tuple(commands)

    def in_full(
        self, path: Path, table: schema.TransferTable | schema.CommandTable, of: schema.TransferTable, target: Target
    ) -> list[GivenCommand]:
        """The commands of a table that has texts: one, or one of each engine where it is written once for all."""
        unit = getattr(table, "unit", None) or of.unit
        if not leaves_out(table):
            one = self.command(path, table, unit, target, of.dtype)
            return [] if one is None else [one]
        counted = units(target, of.dtype, unit)
        scale = counted["element_units"] if counted["unit_is_elements"] else counted["byte_units"]
        whole = spelled_out(
            table, self.engine_places(of, target),
            lambda text: self.texts.config((*path, "read"), text, counted),
            lambda text: self.texts.paired((*path, "sequencer"), text, counted),
            target.limits.get("packet_max", 1) * counted["byte_units"], scale, 8 * counted["byte_units"],
        )  # fmt: skip
        found = (self.command(path, one, unit, target, of.dtype) for one in whole)
        return [one for one in found if one is not None]

    def engine_places(self, table: schema.TransferTable, target: Target) -> dict[str, range]:
        """The engines of the side in data memory, else all of one chip."""
        engines = target.engines
        for name, side in (("dest", table.dest), ("source", table.source)):
            if side.tier in target.tiers and target.tiers[side.tier].is_sliced and engines.slices:
                sizes = [self.texts.mapping((name, p), getattr(side, p)).size for p in PLACES[:-1]]
                base = None if isinstance(side.base, int | str) else side.base
                first = [0, 0, 0]
                if base is not None:
                    first = [self.texts.natural((name, "base"), getattr(base, place)) for place in PLACES[:-1]]
                return places_of((first[0], sizes[0]), (first[1], sizes[1]), (first[2], sizes[2]), engines.slices)
        return places_of((0, 1), (0, engines.clusters), (0, engines.per_cluster), 1)

    def engine_of_stream(
        self, path: Path, table: schema.TransferTable, stream: Stream | tuple[EngineStream, ...] | None,
        given: tuple[GivenCommand, ...], problems: list[PlanProblem],
    ) -> Engine | None:  # fmt: skip
        """The engine that does what a stream says, where a plan names it beside the stream and prints no command."""
        if table.engine is None or given:
            return None
        places = [] if not isinstance(stream, Stream) else [stream.chip, stream.cluster, stream.slice]
        if isinstance(stream, tuple) or any(place != ONE for place in places):
            problems.append(
                PlanProblem(
                    "the stream names its engines, and `engine` one of them", self.doc.key_span((*path, "engine")),
                    "leave `engine` out, or the places (chip, cluster, slice, or `when`) of the stream",
                )
            )  # fmt: skip
            return None
        return self.engine((*path, "engine"), table.engine)

    def command(
        self,
        path: Path,
        table: schema.TransferTable | schema.CommandTable,
        unit: str,
        target: Target,
        dtype: str,
    ) -> GivenCommand | None:
        """The command of a table with read and write, or with a paired sequencer; None where it has neither."""
        counted = units(target, dtype, unit)
        engine = None if table.engine is None else self.engine((*path, "engine"), table.engine)
        span = self.doc.key_span(path)
        if table.sequencer is not None:
            for key in ("read", "write"):
                if getattr(table, key) is not None:
                    where = self.doc.key_span((*path, key))
                    raise InputError(f"`{key}` beside `sequencer`", where, "a sequencer is both sides; keep one form")
            read, write = self.texts.paired((*path, "sequencer"), table.sequencer, counted)
            return GivenCommand(engine, read, write, span)
        if table.read is None and table.write is None:
            return None
        if table.read is None or table.write is None:
            there, missing = ("read", "write") if table.write is None else ("write", "read")
            hint = f"add `{missing}`, or write both sides as one `sequencer`"
            raise InputError(f"`{there}` without `{missing}`", self.doc.key_span((*path, there)), hint)
        sides = {"read": table.read, "write": table.write}
        made = self.all_of(
            {key: partial(self.texts.config, (*path, key), text, counted) for key, text in sides.items()}
        )
        return GivenCommand(engine, made["read"], made["write"], span)

    def engine(self, path: Path, table: schema.EngineTable) -> Engine:
        return Engine(*(self.texts.natural((*path, part), getattr(table, part)) for part in ("chip", "cluster", "dmn")))

    def media(self, seq: Sequencer, tensor: Tensor, side: str, role: str, target: Target) -> list[PlanProblem]:
        """What a text says of its memory against where the tensor lies."""
        span = seq.medium_span or seq.span
        if span is None:
            return []
        parts = target.tiers[tensor.tier].base_parts
        if seq.tier is not None and seq.tier != tensor.tier:
            message = f"the {side} side names {seq.tier}, but the {role} lies in {tensor.tier}"
            text = (target.tiers[tensor.tier].text or tensor.tier).upper()
            return [PlanProblem(message, span, f"name {text}", fatal=len(seq.place) > len(parts))]
        if len(seq.place) > len(parts):
            message = f"the base has {len(seq.place) + 1} parts, {tensor.tier} has {len(parts) + 1}"
            return [PlanProblem(message, span, f"write ({', '.join((*parts, 'offset'))})")]
        return []
