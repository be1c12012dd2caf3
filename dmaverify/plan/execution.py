"""Plan files as the interpreter takes them: the tables of the text, mappings parsed, numbers as they stand.

Knows: the tables of a plan, which numbers of a printed configuration are addresses, the machine's numbers.
Does not know: views, digits, derived commands, verdicts.
Law: nothing that another part of the package made of the plan is used; the text is read anew.

Source: the plan file format, `schema = 1`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dmaverify.errors import InputError, Source
from dmaverify.execute.outcome import Beyond
from dmaverify.execute.work import (
    Flow,
    HeldTensor,
    Reach,
    RunMachine,
    RunMove,
    RunNest,
    RunPrintedRows,
    RunProgram,
    RunRows,
    RunStep,
    RunTile,
    RunWalk,
    loops_of,
)
from dmaverify.language.expr import ONE, Expr, axes_of
from dmaverify.language.parse import parse
from dmaverify.plan import schema
from dmaverify.plan.commands import Homogeneous, parse_command
from dmaverify.plan.config import parse_config, parse_paired
from dmaverify.plan.indirect import INDIRECT_LIST
from dmaverify.plan.machine_forms import formed_commands
from dmaverify.plan.machine_numbers import asked_by, machine_of, windows_of, word_of
from dmaverify.plan.printed import leaves_out, places_of, spelled_out
from dmaverify.plan.texts import units
from dmaverify.plan.validate import validate
from dmaverify.program.command import Sequencer
from dmaverify.program.space import SPAN
from dmaverify.targets.target import Target, load_target
from dmaverify.values import replace

Work = RunMove | Reach | RunRows | RunProgram
ENGINE_PLACES = ("chip", "cluster", "dmn")
MISSING = "core/same-element"


class PlanExecution:
    """One plan file, to be run by name. Raises Beyond for what the interpreter does not take."""

    def __init__(
        self, text: str, *, target: str | None = None, readings: Mapping[str, str] | None = None, most: int = 0
    ) -> None:
        table, complaints = validate(tomllib.loads(text))
        if table is None or complaints:
            raise Beyond("the plan cannot be read")
        self.table, self.override, self.readings = table, target, dict(readings or {})
        if any(not isinstance(size, int) or size < 1 for size in table.axes.values()):
            raise Beyond("an axis has no size")
        self.axes = {name: size for name, size in table.axes.items() if isinstance(size, int)}
        self.lets: dict[str, Expr] = {}
        for name, value in table.let.items():
            self.lets[name] = self.mapping(value)
        self.machines: dict[str, tuple[Target, RunMachine]] = {}
        self.most = most

    def names(self) -> list[str]:
        one = self.table
        return [*one.transfer, *one.access, *one.gather, *one.scatter, *one.program]

    def work(self, name: str) -> tuple[Work, RunMachine]:
        one = self.table
        if name in one.program:
            return self.program(name, one.program[name])
        if name in one.transfer:
            return self.move(name, one.transfer[name])
        if name in one.access:
            return self.access(name, one.access[name])
        if name in one.gather:
            return self.rows(name, one.gather[name], scatter=False)
        if name in one.scatter:
            return self.rows(name, one.scatter[name], scatter=True)
        raise Beyond(f"nothing is called {name}")

    # ------------------------------------------------------------ machines

    def machine(self, own: str | None) -> tuple[Target, RunMachine]:
        key = self.override or own or self.table.target
        if key is None:
            raise Beyond("no target")
        if key not in self.machines:
            try:
                target = load_target(key).under(self.readings)
            except InputError as error:
                raise Beyond(str(error)) from None
            machine = machine_of(target, self.readings)
            self.machines[key] = (target, replace(machine, most=self.most) if self.most else machine)
        return self.machines[key]

    # ------------------------------------------------------------ parts

    def mapping(self, text: str, params: Mapping[str, int] | None = None) -> Expr:
        try:
            found = parse(text, self.axes, lets=self.lets, params=params)
        except InputError as error:
            raise Beyond(str(error)) from None
        if found.size < 1 or any(size < 1 for size in axes_of(found).values()):
            raise Beyond(f"`{text}` has no positions")
        return found

    def held(self, table: schema.MemoryTable, target: Target) -> HeldTensor:
        if table.tier not in target.tiers:
            raise Beyond(f"no tier {table.tier}")
        places = target.tiers[table.tier].places
        for place in ("chip", "cluster", "slice"):
            if place not in places and getattr(table, place) != "1":
                raise Beyond(f"{table.tier} has no {place}")
        fields = tuple((place, self.mapping(getattr(table, place))) for place in (*places, "element"))
        base = table.base
        if isinstance(base, str):
            if not re.fullmatch(r"0[xX][0-9a-fA-F]+|0|[1-9][0-9]*", base):
                raise Beyond("a base in arithmetic")
            base = int(base, 0)
        first = () if isinstance(base, int) else tuple((p, int(getattr(base, p))) for p in places)
        byte = base if isinstance(base, int) else int(base.element)
        view = table.view if isinstance(table, schema.TensorTable) else None
        given = view if isinstance(view, list) else [] if view is None else [view]
        tiles = tuple(self.tile(one) for one in given if one.tile is not None)
        for tile in tiles:
            if not axes_of(tile.digit).keys() <= axes_of(dict(fields).get(tile.place, ONE)).keys():
                raise Beyond(f"`{tile.digit}` is no part of the {tile.place}")
        return HeldTensor(target.memory_of(table.tier), fields, first, byte, tiles)

    def tile(self, table: schema.ViewTable) -> RunTile:
        assert table.tile is not None
        return RunTile(self.mapping(table.tile), int(table.length), table.start, table.place, table.partial)

    def flow(self, table: schema.StreamTable, engine: str = "", params: Mapping[str, int] | None = None) -> Flow:
        texts = [getattr(table, name) for name in ("chip", "cluster", "slice", "time", "packet")]
        chip, cluster, slice_, time, packet = (ONE if t is None else self.mapping(t, params) for t in texts)
        return Flow(chip, cluster, slice_, time, packet, engine, open_packet=table.packet is None)

    def flows(self, given: schema.StreamTable | list[schema.CaseTable] | None) -> tuple[Flow, ...]:
        if given is None:
            return ()
        if isinstance(given, schema.StreamTable):
            return (self.flow(given),)
        out = []
        for case in given:
            for chip in _numbers(case.when.chip):
                for cluster in _numbers(case.when.cluster):
                    for dmn in _numbers(case.when.dmn):
                        engine = f"engine {chip} {cluster} {dmn}"
                        out.append(self.flow(case, engine, {"i": chip, "j": cluster, "k": dmn}))
        return tuple(out)

    # ------------------------------------------------------------ transfers

    def move(self, name: str, table: schema.TransferTable) -> tuple[RunMove, RunMachine]:
        target, machine = self.machine(table.target)
        bits = self.bits(target, table.dtype)
        source, dest = self.held(table.source, target), self.held(table.dest, target)
        flows = self.flows(table.stream)
        if table.engine is not None and len(flows) == 1:
            flows = (replace(flows[0], engine=_engine(table.engine)),)
        formed = table.commands is not None
        nests = tuple((self.formed if formed else self.nests)(table, target, source, dest))
        if formed and nests and (source.tiles or dest.tiles or table.loop):
            raise Beyond("printed commands of a view move with it")
        missing = self.readings.get(MISSING) == "broadcast-missing"
        word, windows = word_of(target, table.options), windows_of(target, table.options)
        nests = nests if formed else tuple(replace(one, windows=windows) for one in nests)
        loops, engine = loops_of(table.loop), "" if table.engine is None else _engine(table.engine)
        return RunMove(name, bits, source, dest, flows, nests, loops, missing, word, windows, engine), machine

    def bits(self, target: Target, dtype: str) -> int:
        if dtype not in target.dtypes or (target.dtypes[dtype] % 8 and target.dtypes[dtype] != 4):
            raise Beyond(f"no bytes of {dtype}")
        return target.dtypes[dtype]

    def nests(self, table: schema.TransferTable, target: Target, source: HeldTensor, dest: HeldTensor) -> list[RunNest]:
        tables: Sequence[schema.TransferTable | schema.CommandTable] = table.command or [table]
        tables = [one for part in tables for one in self.in_full(part, table, target)]
        out = []
        for one in tables:
            counted = units(target, table.dtype, one.unit or table.unit)
            if one.sequencer is not None:
                read, write = self.read(partial(parse_paired, **counted), one.sequencer)
            elif one.read is not None and one.write is not None:
                read, write = (self.read(partial(parse_config, **counted), text) for text in (one.read, one.write))
            elif table.command is None:
                return []
            else:
                raise Beyond("a command says nothing")
            out.append(self.nest((read, write), (source, dest), target, one.engine, counted["byte_units"]))
        return out

    def nest(
        self, texts: tuple[Sequencer, Sequencer], held: tuple[HeldTensor, HeldTensor], target: Target,
        engine: schema.EngineTable | None, byte_units: int,
    ) -> RunNest:  # fmt: skip
        read, write = (self.walk(text, at, target, engine, byte_units) for text, at in zip(texts, held, strict=True))
        if read.packet != write.packet:
            raise Beyond("two packets")
        return RunNest(read, write, "" if engine is None else _engine(engine))

    def in_full(
        self, one: schema.TransferTable | schema.CommandTable, table: schema.TransferTable, target: Target
    ) -> Sequence[schema.TransferTable | schema.CommandTable]:
        """A table that is written once for all engines, or leaves the packet out, as the commands it stands for."""
        if not leaves_out(one):
            return [one]
        counted = units(target, table.dtype, getattr(one, "unit", None) or table.unit)
        scale = counted["element_units"] if counted["unit_is_elements"] else counted["byte_units"]
        ranges = places_of((0, 1), (0, target.engines.clusters), (0, target.engines.per_cluster), 1)
        for side in (table.source, table.dest):
            if target.tiers[side.tier].is_sliced:
                sizes = [self.mapping(getattr(side, place)).size for place in ("chip", "cluster", "slice")]
                base = None if isinstance(side.base, int | str) else side.base
                first = [0 if base is None else int(getattr(base, place)) for place in ("chip", "cluster", "slice")]
                ranges = places_of(
                    (first[0], sizes[0]), (first[1], sizes[1]), (first[2], sizes[2]), target.engines.slices
                )
        read, pair = (partial(self.read, partial(how, **counted)) for how in (parse_config, parse_paired))
        most = target.limits.get("packet_max", 1) * counted["byte_units"]
        return list(spelled_out(one, ranges, read, pair, most, scale, 8 * counted["byte_units"]))

    def formed(
        self, table: schema.TransferTable, target: Target, source: HeldTensor, dest: HeldTensor
    ) -> list[RunNest]:
        """The commands of a text in a syntax of its own: the document's, or one of the machine's."""
        text = str(table.commands)
        unit = 4 if target.dtypes[table.dtype] == 4 else 8
        try:
            found = formed_commands(text, target, unit, Source("", text), 0, table.options)
            given = parse_command(text, self.axes, lets=self.lets, unit_bits=unit) if found is None else found.given
        except InputError as error:
            raise Beyond(str(error)) from None
        if isinstance(given, Homogeneous) or (found is not None and found.problems):
            raise Beyond("commands that are streams, or make no sense")
        out = []
        for number, one in enumerate(given):
            at = one.engine
            engine = None if at is None else schema.EngineTable(at.chip, at.cluster, at.dmn)
            nest = self.nest((one.read, one.write), (source, dest), target, engine, 8 // unit)
            out.append(replace(nest, windows=windows_of(target, {**asked_by(found, number), **table.options})))
        return out

    def read(self, how: Any, text: str) -> Any:
        try:
            return how(text, source=Source("", text))
        except InputError as error:
            raise Beyond(str(error)) from None

    def walk(
        self, seq: Sequencer, held: HeldTensor, target: Target, engine: schema.EngineTable | None, byte_units: int
    ) -> RunWalk:
        """Leading parts of a base that are left out come from the engine; no base is the tensor's own first byte."""
        if seq.tier is not None and target.memory_of(seq.tier) != held.tier:
            raise Beyond("another medium")
        tier = target.tiers[held.tier]
        named = dict.fromkeys(ENGINE_PLACES, 0) if engine is None else {p: getattr(engine, p) for p in ENGINE_PLACES}
        parts = tier.base_parts
        if len(seq.place) > len(parts):
            raise Beyond("a base with too many parts")
        named.update(zip(parts[len(parts) - len(seq.place) :], seq.place, strict=True))
        if seq.base is None:
            raise Beyond("no base")
        start = seq.base
        for part in parts:
            step = SPAN.get(part) or tier.part_strides.get(part, 0)
            start += named.get(part, 0) * step * byte_units
        if any(entry.count < 1 for entry in seq.entries):
            raise Beyond("a loop that does not run")
        return RunWalk(start, tuple((entry.count, entry.stride) for entry in seq.entries), seq.packet)

    # ------------------------------------------------------------ accesses and rows

    def access(self, name: str, table: schema.AccessTable) -> tuple[Reach, RunMachine]:
        target, machine = self.machine(table.target)
        bits = self.bits(target, table.dtype)
        memory = self.held(table.memory, target)
        config = None
        if table.config is not None:
            if memory.tiles or table.loop:
                raise Beyond("a printed configuration of a view moves with it")
            counted = units(target, table.dtype, table.unit)
            seq = self.read(partial(parse_config, **counted), table.config)
            if seq.place:
                raise Beyond("a base with parts")
            start = memory.base * counted["byte_units"] if seq.base is None else seq.base
            config = RunWalk(start, tuple((e.count, e.stride) for e in seq.entries), seq.packet)
        flow, loops = self.flow(table.stream), loops_of(table.loop)
        return Reach(name, bits, table.engine == "fetch", table.context, memory, flow, config, loops), machine

    def rows(self, name: str, table: schema.IndirectTable, *, scatter: bool) -> tuple[RunRows, RunMachine]:
        target, machine = self.machine(table.target)
        bits = self.bits(target, table.dtype)
        source, dest, index = (self.held(t, target) for t in (table.source, table.dest, table.index))
        picks, load = (dest, source) if scatter else (source, dest)
        axis = table.axis or next((a for a in _axes(picks) if a not in _axes(load) and self.axes[a] > 1), None)
        key = table.key or next(iter([a for a in _axes(index) if self.axes[a] > 1]), None)
        if axis is None or key is None:
            raise Beyond("no axis or no key")
        one = table.index
        values = None if one.values is None else tuple(one.values)
        promised = None if one.rows is None else (one.rows[0], one.rows[1])
        flow = None if table.stream is None else self.flow(table.stream)
        keys, rows = self.axes.get(key, 1), self.axes.get(axis, 1)
        if values is not None and len(values) != keys:
            raise Beyond("another number of values than keys")
        return RunRows(
            name, bits, scatter, source, dest, index, self.bits(target, one.dtype), axis, key, keys, rows, one.scaled,
            values, promised, one.distinct, flow,
            self.printed_rows(table, target, source, dest, scatter),
        ), machine  # fmt: skip

    def printed_rows(
        self, table: schema.IndirectTable, target: Target, source: HeldTensor, dest: HeldTensor, scatter: bool
    ) -> RunPrintedRows | None:
        """The printed configurations less the loop over the keys, and what that loop adds to each side."""
        if table.read is None or table.write is None:
            return None
        counted = units(target, table.dtype, table.unit)
        texts, lists = [table.read, table.write], int(scatter)
        found = list(INDIRECT_LIST.finditer(texts[lists]))
        if len(found) != 1:
            raise Beyond("no loop over the index, or several")
        start, end = found[0].span(1)
        texts[lists] = texts[lists][:start] + "0" + texts[lists][end:]
        sides: list[Sequencer] = [self.read(partial(parse_config, **counted), text) for text in texts]
        at = re.sub(r"[(\[][^()\[\]]*[)\]]", "", texts[lists][:start]).count(",")
        counts = [[entry.count for entry in side.entries[: at + 1]] for side in sides]
        if counts[0] != counts[1] or len(counts[0]) <= at:
            raise Beyond("the two sides have other loops")
        near, scale = sides[1 - lists].entries[at].stride, counted["byte_units"]
        scale = counted["element_units"] if counted["unit_is_elements"] else scale
        words = found[0]["list"]
        offsets = None if words is None else tuple(int(word.replace("_", "")) * scale for word in words.split(","))
        read, write = (replace(side, entries=side.entries[:at] + side.entries[at + 1 :]) for side in sides)
        nest = self.nest((read, write), (source, dest), target, None, counted["byte_units"])
        return RunPrintedRows(nest, near, offsets)

    # ------------------------------------------------------------ programs

    def program(self, name: str, table: schema.ProgramTable) -> tuple[RunProgram, RunMachine]:
        if table.regions:
            raise Beyond("regions")
        _, machine = self.machine(table.target)
        steps = tuple(self.step(f"step-{at}", one) for at, one in enumerate(table.step))
        return RunProgram(name, steps, table.order), machine

    def step(self, spare: str, table: schema.StepTable) -> RunStep:
        work, name = list[Any](), table.name
        if isinstance(table.transfer, str):
            work, name = [self.work(table.transfer)[0]], name or table.transfer
        elif table.transfer is not None:
            work = [self.move(name or spare, table.transfer)[0]]
        elif isinstance(table.access, (str, list)):
            names = [table.access] if isinstance(table.access, str) else table.access
            work, name = [self.work(one)[0] for one in names], name or "+".join(names)
        elif table.access is not None:
            work = [self.access(name or spare, table.access)[0]]
        elif table.gather or table.scatter:
            named = str(table.gather or table.scatter)
            work, name = [self.work(named)[0]], name or named
        loops = loops_of(table.loop)
        for one in work:
            loops = loops or one.loops
            if one.loops and one.loops != loops:
                raise Beyond("two loops")
        waits = tuple(table.after), loops, tuple(table.earlier.items())
        return RunStep(name or spare, tuple(work), table.context or "", *waits)


def _numbers(given: list[int] | str) -> list[int]:
    if isinstance(given, list):
        return sorted(set(given))
    low, _, high = given.partition("..")
    return list(range(int(low), int(high or low) + 1))


def _engine(table: schema.EngineTable) -> str:
    return f"engine {table.chip} {table.cluster} {table.dmn}"


def _axes(held: HeldTensor) -> dict[str, int]:
    return {name: size for _, expr in held.fields for name, size in axes_of(expr).items()}


__all__ = ["PlanExecution", "Work"]
