"""The parts of a target: memories, engines, routes, choices of reading, figures with their sources.

Knows: tables of target.toml. Does not know: rules, plans.
Law: a part is read whole or refused with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from types import MappingProxyType

from dmaverify.errors import did_you_mean
from dmaverify.program.space import SPAN
from dmaverify.program.tensor import PLACES
from dmaverify.targets.rule import Figure
from dmaverify.targets.rulebook import basis_of, declared_tiers
from dmaverify.targets.table import Table
from dmaverify.values import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Tier:
    """A memory. `sizes` bounds each place, `strides` is the address distance between neighbouring places, in bytes.

    `places` are outer to inner; `capacity_bytes` counts in the innermost place (None: not published); `text` names the
    memory in configuration text, `base_parts` the leading parts of a base there, `part_strides` the bytes a part adds.
    `counts` says what a place counts where that is not its name. `readings`: the places under each reading of it.
    Tiers of one `memory` share their addresses. `empty_at_start`: nothing is in it when a program begins, unless
    somebody says so.
    """

    name: str
    title: str
    text: str
    places: tuple[str, ...]
    sizes: Mapping[str, int]
    capacity_bytes: int | None
    strides: Mapping[str, int]
    base_parts: tuple[str, ...]
    part_strides: Mapping[str, int]
    source: str
    basis: str
    counts: Mapping[str, str] = field(default_factory=dict)
    readings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reading: str = ""
    memory: str = ""
    empty_at_start: bool = False

    @property
    def is_sliced(self) -> bool:
        """Whether it has slices, each with banks of its own (what counts DMNs has not)."""
        return "slice" in self.places and self.counts.get("slice", "slice") == "slice"

    @property
    def walked(self) -> tuple[str, ...]:
        """The places that the addresses of one command run over: all but those of which each is a memory of its own."""
        return tuple(place for place in self.places if place not in self.counts)

    def under(self, name: str) -> Tier:
        """The memory as a reading takes it: places that it does not have lie all at one address."""
        places = self.readings[name]
        kept = {place: step for place, step in self.strides.items() if place in places}
        parts = {part: step for part, step in self.part_strides.items() if part in places or part not in self.places}
        sizes = {place: size for place, size in self.sizes.items() if place in places}
        return replace(self, places=places, strides=kept, part_strides=parts, sizes=sizes)

    @property
    def slice_stride_bytes(self) -> int:
        """Bytes between the first addresses of neighbouring slices; 0 where the tier has no slices."""
        return self.strides.get("slice", 0)


@dataclass(frozen=True, slots=True)
class Engines:
    """Who moves data: the kinds of engine, and the geometry of the DMA engines."""

    kinds: tuple[str, ...]
    chips: int
    clusters: int
    per_cluster: int
    slices: int
    dmns: int
    source: str
    basis: str
    launched: bool = False  # whether a transfer may begin to read before what one before it writes has arrived
    swaps: bool = False  # whether two transfers of one queue of a route may swap where they touch the same bytes
    context_is_engine: bool = False  # whether a step's `context` names its engine; else a queue in front of its engines
    lane: str = ""  # how timelines call the one lane of transfers that name no engine; "": the first of the kinds


@dataclass(frozen=True, slots=True)
class Route:
    """A legal pair of tiers. `engine` is what rules call what moves there, `queue` the queue of its transfers (empty:
    that of the engine that a plan names, or one for all). On a machine that moves by copy instructions, `levels` is how
    many loops one has, rows included (0: it has commands); `block` the bytes in which it counts rows and gaps (0: it
    counts bytes), `fills` the bytes up to whose next multiple a row changes what lies behind it (0: nothing).
    """

    source_tier: str
    dest_tier: str
    says: str
    source: str
    basis: str
    engine: str = "dma"
    queue: str = ""
    levels: int = 0
    block: int = 0
    fills: int = 0


@dataclass(frozen=True, slots=True)
class Knob:
    """A reading that many rules share, such as `alignment`: its options with what each means."""

    name: str
    default: str
    options: Mapping[str, str]
    why: str


def _figures(table: Table, key: str, least: int) -> dict[str, Figure]:
    """Named numbers, each with what it is and how we know."""
    figures: dict[str, Figure] = {}
    for name, part in table.tables(key):
        value = part.integer("value", least=least)
        unit, says, source = part.text("unit"), part.text("says"), part.text("source")
        figures[name] = Figure(name, value, unit, says, source, basis_of(part))
        part.finish()
    return figures


def _limit(table: Table, key: str, name: str, limits: Mapping[str, Figure]) -> int:
    if name not in limits:
        table.refuse(f"`{key}` names {name!r}, which is no limit", key, did_you_mean(name, limits), name)
    return limits[name].value


def _tier(name: str, table: Table, limits: Mapping[str, Figure]) -> Tier:
    places = table.texts("places")
    sizes, strides = table.strings("sizes", {}), table.integers("strides", {}, least=1)
    _check_places(table, places, sizes, strides)
    capacity = table.text("capacity", "")
    readings = {key: _tier_reading(part, places) for key, part in table.tables("reading")}
    default, why = table.text("reading_default", ""), table.text("reading_why", "")
    if bool(readings) != bool(default) or bool(default) != bool(why) or (default and default not in readings):
        table.refuse("`reading_default`, `reading_why` and [tier....reading....] come together")
    tier = Tier(
        name=name,
        title=table.text("title"),
        text=table.text("text", ""),
        places=places,
        sizes=MappingProxyType({place: _limit(table, "sizes", limit, limits) for place, limit in sizes.items()}),
        capacity_bytes=_limit(table, "capacity", capacity, limits) if capacity else None,
        strides=MappingProxyType(strides),
        base_parts=table.texts("base_parts", ()),
        part_strides=MappingProxyType(table.integers("part_strides", {})),
        source=table.text("source"),
        basis=basis_of(table),
        counts=MappingProxyType(table.strings("counts", {})),
        readings=MappingProxyType(readings),
        reading=default,
        memory=table.text("memory", name),
        empty_at_start=bool(table.integer("empty_at_start", 0)),
    )
    table.finish()
    return tier


def _check_places(table: Table, places: Sequence[str], sizes: Iterable[str], strides: Iterable[str]) -> None:
    """Refuses places that no tensor can name, and sizes and strides that are not those of the places: each has a size,
    each that an address reaches a stride.
    """
    named = PLACES[:-1]
    for place in places:
        if place not in named:
            table.refuse(f"no tensor has a place {place!r}", "places", f"some of {', '.join(named)}", place)
    for key, given, wanted in (("sizes", sizes, places), ("strides", strides, [p for p in places if p not in SPAN])):
        for place in given:
            if place not in wanted:
                hint = did_you_mean(place, wanted) or f"it gives those of {', '.join(wanted) or 'no place'}"
                table.refuse(f"`{key}` gives one of {place!r}, which has none", key, hint, place)
        for place in wanted:
            if place not in given:
                table.refuse(f"`{key}` has no {place}", key)


def _tiers(table: Table, limits: Mapping[str, Figure]) -> dict[str, Tier]:
    """Every tier. Tiers of one memory have one address for one place: refused where they count places otherwise, or
    where the memory that a tier names is only another name of a third one.
    """
    parts = dict(table.tables("tier"))
    tiers = {name: _tier(name, part, limits) for name, part in parts.items()}
    first: dict[str, Tier] = {}
    for name, tier in tiers.items():
        own = tiers.get(tier.memory, tier).memory
        if own != tier.memory:
            parts[name].refuse(f"`memory` is {tier.memory!r}, whose own is {own!r}", "memory", f"name {own!r}")
        shared = first.setdefault(own, tier)
        if (tier.places, tier.strides, tier.readings) != (shared.places, shared.strides, shared.readings):
            parts[name].refuse(f"it shares the addresses of {shared.name!r} and has other places or strides", "places")
    return tiers


def _tier_reading(table: Table, places: tuple[str, ...]) -> tuple[str, ...]:
    """The places of a memory under one reading, some of all of them."""
    found = table.texts("places", places)
    if not set(found) <= set(places):
        table.refuse(f"places are some of {', '.join(places)}", "places")
    table.text("says")
    table.finish()
    return found


def _engines(table: Table) -> Engines:
    kinds = table.texts("kinds")
    if not kinds:
        table.refuse("`kinds` is empty", "kinds", 'name those that rules filter by: kinds = ["dma"]')
    engines = Engines(
        kinds=kinds,
        chips=table.integer("chips", least=1),
        clusters=table.integer("clusters", least=1),
        per_cluster=table.integer("per_cluster", least=1),
        slices=table.integer("slices", 0, least=0),
        dmns=table.integer("dmns", 0, least=0),
        source=table.text("source"),
        basis=basis_of(table),
        launched=bool(table.integer("launched", 0)),
        swaps=bool(table.integer("swaps", 0)),
        context_is_engine=bool(table.integer("context_is_engine", 0)),
        lane=table.text("lane", kinds[0]),
    )
    table.finish()
    return engines


def _routes(
    table: Table, tiers: Mapping[str, Tier], kinds: Sequence[str], limits: Mapping[str, Figure]
) -> dict[tuple[str, str], Route]:
    routes: dict[tuple[str, str], Route] = {}
    for part in table.list_of_tables("route"):
        sources, dests = part.texts("source_tiers"), part.texts("dest_tiers")
        says, source, basis = part.text("says"), part.text("source"), basis_of(part)
        engine, queue = part.choice("engine", kinds, "dma"), part.text("queue", "")
        levels = part.integer("levels", 0)
        block, fills = (limits[name].value if name else 0 for name in (
            part.choice(key, limits, "") for key in ("block", "fills")
        ))  # fmt: skip
        part.finish()
        for key, names in (("source_tiers", sources), ("dest_tiers", dests)):
            declared_tiers(part, key, names, tiers)
        for pair in product(sources, dests):
            if pair in routes:
                part.refuse(
                    "a second route from {} to {}".format(*pair), "dest_tiers", "one route for each pair", pair[1]
                )
            routes[pair] = Route(*pair, says, source, basis, engine, queue, levels, block, fills)
    return routes


def _knob(name: str, table: Table) -> Knob:
    options = table.strings("options")
    knob = Knob(name, table.choice("default", options), MappingProxyType(options), table.text("why"))
    table.finish()
    return knob
