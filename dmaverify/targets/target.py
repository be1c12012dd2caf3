"""Machines as data: reads `target.toml` and `rules.smt2` of a folder into one frozen `Target`, or says why not.

Knows: where encodings lie, what a target's tables are, what makes a rule well-formed, the core's obligations as text.
Does not know: any machine by name, how facts are computed, solvers, printing.
Law: a rule that is loaded is whole: predicate and data on both sides, ports that are produced, says, source, basis,
edges, no divisor that can be zero; predicates of a machine of one's own keep their edges. What `lint_target` asks on
top (edges of all machines, texts that render) holds for every machine that ships.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext, suppress
from functools import cache, cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dmaverify.errors import InputError, Source, Span, did_you_mean
from dmaverify.language.asked import unheard
from dmaverify.language.files import is_file, resolved, shipped
from dmaverify.language.toml_spans import read_source
from dmaverify.targets.facts import Scope, read_scope
from dmaverify.targets.parts import Engines, Knob, Route, Tier, _engines, _figures, _knob, _routes, _tiers
from dmaverify.targets.rule import Figure, Readings, Rule
from dmaverify.targets.rulebook import SEVERITIES, Names, basis_of, read_rules
from dmaverify.targets.table import Table, shipped_toml
from dmaverify.values import dataclass, field, replace
from dmaverify.verdict import Severity

LATER_SECTIONS = ("cost", "machine", "memory", "operands", "profile", "starvation", "tile", "vector")
"""Top-level tables that are other rooms' business: kept in `Target.raw`, not read here."""


@dataclass(frozen=True, eq=False)
class Target:
    """One machine. `raw` is the whole TOML text as data, for sections that other rooms read."""

    name: str
    title: str
    version: str
    folder: Path
    figures: Mapping[str, Figure]
    limit_figures: Mapping[str, Figure]
    constant_figures: Mapping[str, Figure]
    tiers: Mapping[str, Tier]
    engines: Engines
    dtypes: Mapping[str, int]
    removed_dtypes: Mapping[str, str]
    internal_dtypes: Mapping[str, str]
    routes: Mapping[tuple[str, str], Route]
    knobs: Mapping[str, Knob]
    rules: Mapping[str, Rule]
    scopes: Mapping[str, Scope]
    raw: Mapping[str, Any] = field(repr=False)

    @cached_property
    def limits(self) -> Mapping[str, int]:
        """The named limits: rules use them as ports."""
        return MappingProxyType({name: figure.value for name, figure in self.limit_figures.items()})

    @cached_property
    def constants(self) -> Mapping[str, int]:
        """Names that configuration text may use, in bytes."""
        return MappingProxyType({name: figure.value for name, figure in self.constant_figures.items()})

    @cached_property
    def geometry(self) -> Mapping[str, int]:
        """Figures of the machine that no rule limits."""
        return MappingProxyType({name: figure.value for name, figure in self.figures.items()})

    def limits_with(self, overrides: Iterable[tuple[str, int]], span: Span | None = None) -> dict[str, int]:
        """The limits with a plan's own values; `entries` means `entries_max`. Raises InputError for other names."""
        limits = dict(self.limits)
        for name, value in overrides:
            full = name if name in limits else f"{name}_max"
            if full not in limits:
                raise InputError(
                    f"{self.name} has no limit {name!r}",
                    span,
                    did_you_mean(name, limits) or "`dmaverify targets` has them",
                )
            if value < 1:
                raise InputError(f"the limit {name} must be at least 1, not {value}", span, "write 1 or more")
            limits[full] = value
        return limits

    def dtype_facts(self, dtype: str) -> dict[str, int]:
        """`dtype_bits` (where it has one), `dtype_known` and `dtype_current` of a type's name."""
        facts = {"dtype_known": int(dtype in self.dtypes), "dtype_current": int(dtype not in self.removed_dtypes)}
        return {**facts, "dtype_bits": self.dtypes[dtype]} if dtype in self.dtypes else facts

    @property
    def cites(self) -> Mapping[str, str]:
        """Where what obligations of every machine ask is written for this one."""
        found: Mapping[str, str] = self.raw.get("machine", {}).get("cites", {})
        return found

    def source_of(self, rule: str, said: str = "") -> str:
        """What a finding of that rule rests on: this machine's documents, what the finding says, or the rule's own."""
        record = self.rules.get(rule) or load_obligations().get(rule)
        return self.cites.get(rule) or said or (record.source if record else "")

    def copies_of(self, source_tier: str, dest_tier: str) -> Route | None:
        """The route from one tier to another, where the machine moves there by copy instructions."""
        route = self.routes.get((source_tier, dest_tier))
        return route if route is not None and route.levels else None

    def engine_of(self, source_tier: str, dest_tier: str) -> str:
        """What rules call the engine that moves from one tier to another."""
        route = self.routes.get((source_tier, dest_tier))
        return "dma" if route is None else route.engine

    def swaps(self, source_tier: str, dest_tier: str) -> bool:
        """Whether two moves from one tier to another that touch the same bytes may swap, as nothing but a queue orders
        them.
        """
        route = self.routes.get((source_tier, dest_tier))
        return route is not None and bool(route.queue) and self.engines.swaps

    def memory_of(self, tier: str) -> str:
        """The memory whose addresses a tier has."""
        return self.tiers[tier].memory if tier in self.tiers else tier

    def check_readings(self, readings: Readings) -> None:
        """Raises InputError unless every key is a rule, obligation or knob with readings, every value one of them."""
        known = self.readings
        for key, name in readings.items():
            if key not in known:
                hint = did_you_mean(key, known) or f"readings exist for {', '.join(sorted(known))}"
                raise InputError(f"{key!r} has no readings", hint=hint)
            if name not in known[key]:
                hint = did_you_mean(name, known[key]) or f"it has {', '.join(known[key])}"
                raise InputError(f"{key} has no reading {name!r}", hint=hint)

    def under(self, readings: Readings) -> Target:
        """The machine with its memories as the readings `tier/...` take them."""
        asked = {t.name: readings[f"tier/{t.name}"] for t in self.tiers.values() if f"tier/{t.name}" in readings}
        asked = {name: one for name, one in asked.items() if one != self.tiers[name].reading}
        if not asked:
            return self
        tiers = {name: tier.under(asked[name]) if name in asked else tier for name, tier in self.tiers.items()}
        return replace(self, tiers=MappingProxyType(tiers))

    @cached_property
    def readings(self) -> Mapping[str, tuple[str, ...]]:
        """Everything that has readings, with their names, the default first."""
        known = {name: _default_first(knob.default, knob.options) for name, knob in self.knobs.items()}
        known |= {rule.id: _default_first(rule.reading, rule.readings) for rule in self.rules.values() if rule.readings}
        known |= {ob.id: _default_first(ob.reading, ob.readings) for ob in load_obligations().values() if ob.readings}
        for tier in self.tiers.values():
            if tier.readings:
                known[f"tier/{tier.name}"] = _default_first(tier.reading, tier.readings)
        for name, part in self.raw.get("memory", {}).items():
            for key, one in part.items() if isinstance(part, dict) else ():
                if isinstance(one, dict) and "default" in one:
                    names = one.get("option") or [option for option, bits in one.items() if isinstance(bits, list)]
                    known[f"memory/{name}-{key}"] = _default_first(one["default"], names)
        for name, part in self.raw.get("starvation", {}).get("reading", {}).items():
            known[f"starvation/{name}"] = _default_first(part["default"], part["option"])
        return MappingProxyType(known)


def _default_first(default: str, names: Iterable[str]) -> tuple[str, ...]:
    return (default, *(name for name in names if name != default))


# ------------------------------------------------------------------------------------------ where targets lie


@cache
def _roots() -> tuple[Path, ...]:
    """Folders of encodings."""
    return shipped("encodings")


def available_targets() -> tuple[str, ...]:
    """Names of the machines that ship, sorted."""
    folders = [folder for root in _roots() if os.path.isdir(root) for folder in os.scandir(root)]
    return tuple(sorted({one.name for one in folders if os.path.exists(os.path.join(one.path, "target.toml"))}))


def _find(name_or_path: str, relative_to: Path | None) -> Path:
    with suppress(OSError, RuntimeError):  # a name too long for a file, a user that does not exist
        for root in _roots() if name_or_path.isidentifier() else ():
            if (root / name_or_path / "target.toml").is_file():
                return root / name_or_path
        folder = Path(relative_to or "") / Path(name_or_path).expanduser()
        if is_file(folder / "target.toml"):
            return resolved(folder)
    names = available_targets()
    hint = did_you_mean(name_or_path, names) or f"known: {', '.join(names)}; or the path of a folder with a target.toml"
    raise InputError(f"no target {name_or_path!r}", hint=hint)


def load_target(name_or_path: str, relative_to: Path | None = None) -> Target:
    """The target of that name, or of the folder at that path (below `relative_to`). Read again when its files change.

    Raises InputError with one line and the place for whatever is missing or wrong in it.

    >>> import dmaverify as dv
    >>> machine = dv.load_target("rngd")
    >>> machine.name, machine.limits["packet_max"], machine.dtypes["bf16"]
    ('rngd', 4096, 16)
    """
    if not isinstance(relative_to, str | Path | None):
        raise InputError("`relative_to` is no folder", None, f"it is of type {type(relative_to).__name__}")
    if not isinstance(name_or_path, str):
        raise InputError(f"{name_or_path!r} is not the name or the path of a machine", None, 'write a text: "rngd"')
    folder = _find(name_or_path, relative_to)
    files = (folder / "target.toml", folder / "rules.smt2")
    if folder.parent not in _roots():  # of the user's own: read each time, so that who uses it has asked for it
        return _of_texts(folder, *(_read(file).text for file in files))
    return _load(folder, tuple(file.stat().st_mtime_ns if file.is_file() else 0 for file in files))


def _read(file: Path) -> Source:
    with unheard() if file.parent.parent in _roots() else nullcontext():
        return read_source(file)


@lru_cache(maxsize=32)
def _load(folder: Path, stamp: tuple[int, ...]) -> Target:
    del stamp  # part of the key: changed files are read again
    return read_target(_read(folder / "target.toml"), _read(folder / "rules.smt2"), folder)


@lru_cache(maxsize=32)
def _of_texts(folder: Path, data: str, predicates: str) -> Target:
    own = Source(str(folder / "target.toml"), data)
    return read_target(own, Source(str(folder / "rules.smt2"), predicates), folder)


# ------------------------------------------------------------------------------------------ target.toml to values


def read_target(data: Source, predicates: Source, folder: Path = Path()) -> Target:
    """A target from the texts of its two files. Raises InputError as `load_target` does."""
    table = Table.parse(data, ships=folder.parent in _roots() and data.name == str(folder / "target.toml"))
    schema = table.integer("schema")
    if schema != 1:
        table.refuse(f"schema is {schema}; this version reads schema 1", "schema")
    limits = _figures(table, "limit", least=1)
    core = core_scopes()
    for name, figure in limits.items():
        if any(name in scope.ports for scope in core.values()):
            dict(table.tables("limit"))[name].refuse("it has the name of a port", hint=f"call it {figure.name}_max")
    tiers = _tiers(table, limits)
    engines = _engines(table.table("engines"))
    dtypes = _dtypes(table.table("dtypes"))
    knobs = {name: _knob(name, part) for name, part in table.tables("reading")}
    scopes = dict(core)
    for name, part in table.tables("scope"):
        if name in core:
            part.refuse(f"scope {name} is one of the core's")
        scopes[name] = read_scope(name, part)
    own = folder.parent not in _roots()
    names = Names(limits, tuple(tiers), engines.kinds, tuple(knobs), scopes, own)
    target = Target(
        name=table.text("name"),
        title=table.text("title"),
        version=table.text("version"),
        folder=folder,
        figures=MappingProxyType(_figures(table, "geometry", least=0)),
        limit_figures=MappingProxyType(limits),
        constant_figures=MappingProxyType(_figures(table, "constant", least=0)),
        tiers=MappingProxyType(tiers),
        engines=engines,
        dtypes=MappingProxyType(dtypes[0]),
        removed_dtypes=MappingProxyType(dtypes[1]),
        internal_dtypes=MappingProxyType(dtypes[2]),
        routes=MappingProxyType(_routes(table, tiers, engines.kinds, limits)),
        knobs=MappingProxyType(knobs),
        rules=MappingProxyType(read_rules(table, predicates, names)),
        scopes=MappingProxyType(scopes),
        raw=MappingProxyType(dict(table.data)),
    )
    table.finish(ignored=LATER_SECTIONS)
    if not own:
        return target
    return replace(target, raw=MappingProxyType(_held_sections(table)))


def _held_sections(table: Table) -> dict[str, Any]:
    """The data of a machine of one's own, of which no key is read that is not there. Raises InputError where a section
    that other rooms read is of another kind than in the machines that ship.
    """
    from dmaverify.targets.sections import Section, held_to

    files = [load_target(name).folder / "target.toml" for name in available_targets()]
    models = [shipped_toml(file, _read(file).text) for file in files]
    for name in LATER_SECTIONS:
        if name in table.data:
            held_to(table, name, [{}, *(one[name] for one in models if name in one)])
    return Section(table.data, "")


def _dtypes(table: Table) -> tuple[dict[str, int], dict[str, str], dict[str, str]]:
    """Bits of each type, then those removed and those that no tensor in memory has, each with its reason."""
    bits, removed = table.integers("bits"), table.strings("removed", {})
    internal = table.strings("internal", {})
    table.text("source")
    basis_of(table)
    for name, count in bits.items():
        if count < 1:
            table.refuse(f"`bits.{name}` must be at least 1", "bits", part=name)
        elif count != 4 and count % 8:
            table.refuse(f"`bits.{name}`: {count} bits do not pack into bytes", "bits", "4 or a multiple of 8", name)
    for name in removed:
        if name not in bits:
            table.refuse(
                f"`removed` names {name!r}, which `bits` does not have", "removed", did_you_mean(name, bits), name
            )
    table.finish()
    return bits, removed, internal


# ------------------------------------------------------------------------------------------ the core's data


@lru_cache(maxsize=1)
def core_scopes() -> Mapping[str, Scope]:
    """What rules of every machine may speak of. Raises InputError where its file is not whole."""
    table = Table.parse(_read(core_folder() / "scopes.toml"), ships=True)
    scopes = {name: read_scope(name, part, moving=True) for name, part in table.tables("scope")}
    table.finish()
    return MappingProxyType(scopes)


@dataclass(frozen=True, slots=True)
class CoreObligation:
    """One of the core's obligations, in words: see docs/design.md. `readings` maps a name to what it means."""

    id: str
    title: str
    why: str
    proof: str
    wrong: str
    right: str
    hint: str
    source: str
    severity: Severity
    readings: Mapping[str, str]
    reading: str
    reading_why: str


@lru_cache(maxsize=1)
def load_obligations() -> Mapping[str, CoreObligation]:
    """The core's obligations in the order in which they are judged. Raises InputError where their file is not whole."""
    return read_obligations(_read(core_folder() / "obligations.toml"))


def core_folder() -> Path:
    """Where the core's encodings lie. Raises InputError where they are not installed."""
    folder = next((root / "core" for root in _roots() if (root / "core").is_dir()), None)
    if folder is None:
        raise InputError("the encodings of the core are not installed")
    return folder


@lru_cache(maxsize=8)
def core_definitions(*files: str) -> str:
    """The definitions of the core's SMT-LIB files, without their comments. Raises InputError where one is missing."""
    folder = core_folder()
    lines = [line for file in files for line in _read(folder / file).text.splitlines()]
    return "".join(f"{line}\n" for line in lines if line.strip() and not line.startswith(";"))


def read_obligations(source: Source) -> Mapping[str, CoreObligation]:
    """Obligations from the text of `core/obligations.toml`."""
    table = Table.parse(source, ships=source.name == str(core_folder() / "obligations.toml"))
    obligations = {name: _obligation(name, part) for name, part in table.tables("obligation")}
    table.finish()
    return MappingProxyType(obligations)


def _obligation(name: str, table: Table) -> CoreObligation:
    readings = table.strings("readings", {})
    default, why = table.text("reading_default", ""), table.text("reading_why", "")
    if bool(readings) != bool(default) or (default and default not in readings) or bool(default) != bool(why):
        table.refuse("`readings`, `reading_default` and `reading_why` come together")
    obligation = CoreObligation(
        id=name,
        title=table.text("title"),
        why=table.text("why"),
        proof=table.text("proof"),
        wrong=table.text("wrong"),
        right=table.text("right"),
        hint=table.text("hint"),
        source=table.text("source"),
        severity=Severity(table.choice("severity", SEVERITIES)),
        readings=MappingProxyType(readings),
        reading=default,
        reading_why=why,
    )
    table.finish()
    return obligation
