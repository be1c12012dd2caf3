"""The constants of a cost profile, read from the machine's data and turned into ticks.

Knows: profiles, constants with source and basis, the tick, where a machine states its own.
Does not know: commands, address maps, how a cost is composed.
Law: a cycle is 30,000 ticks and every constant is a whole number of them, so that the closed form and the simulator
add the same integers; the documents' rates (16/3 cycles, 1/30 cycle, 2/3 cycle) are exact. A machine is priced by the
data in its own folder, never by that of another.

Source: docs/machines/rngd.md 8.1 for what the constants are; each one's own source stands beside it in
`encodings/rngd/target.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

from dmaverify.errors import InputError, did_you_mean
from dmaverify.targets.address_maps import DmMap, HbmMap, data, data_file, dm_map, hbm_map
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field

TICKS = 30_000
"""Ticks of one cycle."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One number of the model, in ticks, with where it is from."""

    name: str
    ticks: int
    source: str
    basis: str

    @property
    def cycles(self) -> float:
        return self.ticks / TICKS


@dataclass(frozen=True, eq=False)
class CostData:
    """A machine as the cost model sees it: both maps, one profile's constants, a few counts. Equal to itself only, so
    that what was counted for it can be kept. `packet_max` (0: no limit of that name) and `dm_align`: bytes of packets.
    `bands`: rows and factors (low, high) by class of transfer; `thin`: rows of the classes that have too few for a
    band. `region_of_all`: engines take turns at a region that all of them read (`issue_region`), and at no other.
    """

    profile: str
    hbm: HbmMap
    dm: DmMap
    constants: Mapping[str, Constant]
    hbm_turns: bool
    hbm_channels: int
    hbm_queue: int
    slice_queue: int
    spm_stride: int
    packet_max: int = 0
    dm_align: int = 1
    sources: Mapping[str, str] = field(default_factory=dict)
    predicts: str = ""
    region_of_all: bool = False
    bands: Mapping[str, tuple[int, float, float]] = field(default_factory=dict)
    thin: Mapping[str, int] = field(default_factory=dict)

    def in_turn(self, one: tuple[object, ...], other: tuple[object, ...]) -> bool:
        """Whether requests to two memories take turns at an engine: in one memory, unless a reading says otherwise of
        its tier.
        """
        return one == other and (one[0] != "hbm" or self.hbm_turns)

    @property
    def charges_rows(self) -> bool:
        """Whether a change of row costs more than the request that makes it; schedules are blind to rows."""
        return self.ticks("hbm_row_switch") > self.ticks("hbm_request")

    def ticks(self, name: str) -> int:
        """A constant in ticks; an optional one that the profile leaves out is what `OPTIONAL` says."""
        return self._ticks[name]

    @cached_property
    def _ticks(self) -> Mapping[str, int]:
        found = {name: one.ticks for name, one in self.constants.items()}
        for name, fallback in OPTIONAL.items():
            found.setdefault(name, found[fallback] if fallback else 0)
        return found

    def source(self, name: str) -> str:
        while name not in self.constants and OPTIONAL.get(name):
            name = str(OPTIONAL[name])
        return self.constants[name].source if name in self.constants else ""


NEEDED = (
    "startup", "issue", "hbm_request", "hbm_row_switch", "hbm_bank_group", "hbm_slice_change", "hbm_partial",
    "dm_request", "dm_unaligned", "spm_request", "pcie_byte",
)  # fmt: skip
"""What every profile must give."""

SPENT = ("issue", "issue_store", "issue_reread", "hbm_request", "dm_request", "spm_request")
"""What every request spends of what it needs: without it, nothing would bound how many there are at a time."""

OPTIONAL = {
    "startup_store": "startup",
    "startup_reread": None,
    "startup_clusters": None,
    "slice_setup": None,
    "issue_store": "issue",
    "issue_reread": "issue",
    "issue_region": None,
    "issue_doubling": None,
    "issue_slice": None,
    "cluster_stack": None,
    "issue_partial": None,
    "issue_ragged": "issue_partial",
    "issue_single": "issue_ragged",
}
"""What a profile may refine, and what holds where it does not (None: 0)."""


def profiles(machine: Target | None = None) -> tuple[str, ...]:
    """The names of the profiles of a machine (None: the shipped one), sorted; other names of them (`same`) left out."""
    return tuple(sorted(name for name, table in _stated(machine).profiles.items() if "same" not in table))


@dataclass(frozen=True, eq=False)
class _Stated:
    """The data of one machine; equal where the tables are the same object."""

    name: str
    tables: Mapping[str, Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Stated) and other.tables is self.tables

    def __hash__(self) -> int:
        return id(self.tables)

    @property
    def profiles(self) -> Mapping[str, Mapping[str, Any]]:
        """The tables of `[cost]` that state constants, or whose they are (`same`)."""
        cost = self.tables.get("cost")
        named = cost.items() if isinstance(cost, Mapping) else ()
        return {name: one for name, one in named if isinstance(one, Mapping) and ("same" in one or _priced(one))}


def _priced(table: Mapping[str, Any]) -> bool:
    return any(isinstance(one, Mapping) and "cycles" in one for one in table.values())


def _stated(machine: Target | None) -> _Stated:
    """What a machine states; of one that ships, and of none, the shipped tables: they are read once."""
    if machine is None or machine.folder == data_file("target.toml").parent:
        return _Stated("", data())
    return _Stated(machine.name, machine.raw)


def _constants(profile: str, table: Mapping[str, Any]) -> dict[str, Constant]:
    found = {
        name: Constant(name, round(value["cycles"] * TICKS), value["source"], value["basis"])
        for name, value in table.items()
        if isinstance(value, dict) and "cycles" in value
    }
    missing = [name for name in NEEDED if name not in found]
    if missing:
        raise InputError(f"profile {profile} lacks {', '.join(missing)}", None, "state cycles, source and basis of it")
    for one in found.values():
        if one.ticks < 0 or (one.ticks == 0 and one.name in SPENT):
            least = f"{1 / TICKS:g} or more" if one.name in SPENT else "no less than 0"
            raise InputError(f"profile {profile}: {one.name} takes {one.cycles:g} cycles", None, f"state {least}")
    return found


PROFILE = "book"
"""The profile of whoever names none."""


def cost_data(
    profile: str = PROFILE, readings: Mapping[str, str] | None = None, machine: Target | None = None
) -> CostData:
    """The data of a machine's profile (of the shipped one without a machine) under those of the readings that memories
    have (`memory/...`). Raises InputError for a profile or a reading of the channel bits that does not exist, and for
    a machine whose data do not say what the model asks.
    """
    asked = tuple(sorted(one for one in (readings or {}).items() if one[0].startswith("memory/")))
    return profile_data(profile, asked, _stated(machine))


def stated(profile: CostData | str) -> CostData:
    """The data itself, or those of a profile of the shipped machine, by its name."""
    return profile if isinstance(profile, CostData) else cost_data(profile)


@lru_cache(maxsize=32)
def profile_data(profile: str, asked: tuple[tuple[str, str], ...], of: _Stated) -> CostData:
    """`cost_data`, kept: once for each profile, readings and machine."""
    known = of.profiles
    if profile not in known:
        names = [name for name, table in known.items() if "same" not in table]
        hint = did_you_mean(profile, names) or (f"one of {', '.join(sorted(names))}" if names else LACKING)
        raise InputError(f"{f'{of.name} has ' if of.name else ''}no cost profile `{profile}`", hint=hint)
    try:
        found = _read(profile, known, dict(asked), of.tables)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        said = f"has no {error}" if isinstance(error, KeyError) else f"cannot be read: {error}"
        raise InputError(f"{of.name}: [cost.{profile}] with [memory] {said}", None, LACKING) from error
    if (wrong := _shape(found)) is not None:
        raise InputError(f"{of.name}: [memory] {wrong[0]}", None, wrong[1])
    return found


def _shape(data: CostData) -> tuple[str, str] | None:
    """What of a machine's memories the model could not count, and what it can; None where it counts all of them."""
    bits, dm = len(data.hbm.channel_masks), data.dm
    if (
        min(data.hbm.window, data.hbm_queue, data.slice_queue, data.spm_stride) < 1
        or data.hbm.window & data.hbm.window - 1
    ):
        said = f"says a window of {data.hbm.window} B, queues of {data.hbm_queue} and {data.slice_queue}"
        return said, "a window is a power of two, a queue has one entry or more"
    if data.hbm_queue > QUEUE:
        return f"says a queue of {data.hbm_queue:,} entries", f"the model holds {QUEUE:,} of a channel"
    if 1 << bits != data.hbm_channels:
        return f"says {data.hbm_channels} channels and {bits} bits of their number", f"{1 << bits} channels have {bits}"
    if (1 << len(dm.dmn), dm.dmn_slices * DMNS) != (DMNS, dm.slices):
        said = f"says {dm.slices} slices, {dm.dmn_slices} of a DMN, {len(dm.dmn)} bits of the DMN"
        return said, f"the model has {DMNS} DMNs a cluster"
    if any(one & (one - 1) for one in (dm.slice_stride, dm.dmn_slices)):
        return "says distances that are no powers of two", "slice_stride and dmn_slices are powers of two"
    return None


LACKING = "state [memory.hbm], [memory.dm], [memory.spm] and [cost.book] as rngd does, or [cost.simple]"
QUEUE = 1 << 12
"""Most entries of a channel's queue: the simulator has a table of them for each channel."""
DMNS = 8
"""DMNs of a cluster, which the simulator's tables have room for."""


def _read(
    profile: str, known: Mapping[str, Mapping[str, Any]], readings: Mapping[str, str], tables: Mapping[str, Any]
) -> CostData:
    table, memory = known[profile], tables["memory"]
    table = known[table["same"]] if "same" in table else table
    seen, copy = table.get("band", []), memory["hbm"]["copy"]
    return CostData(
        profile=profile,
        hbm=hbm_map(readings.get("memory/hbm-channel"), tables),
        dm=dm_map(tables),
        constants=_constants(profile, table),
        hbm_turns=copy["option"][readings.get("memory/hbm-copy", copy["default"])]["in_turn"],
        hbm_channels=memory["hbm"]["channels"],
        hbm_queue=memory["hbm"]["queue"],
        slice_queue=memory["dm"]["queue"],
        spm_stride=memory["spm"]["dmn_stride"],
        packet_max=tables.get("limit", {}).get("packet_max", {}).get("value", 0),
        dm_align=tables.get("limit", {}).get("dm_align", {}).get("value", 1),
        sources={name: memory[name]["source"] for name in ("hbm", "dm", "spm")},
        predicts=table.get("predicts", ""),
        region_of_all=table.get("regions_in_turn") == "of all engines",
        bands={one["class"]: (one["rows"], one["low"], one["high"]) for one in seen if "low" in one},
        thin={one["class"]: one["rows"] for one in seen if "low" not in one},
    )
