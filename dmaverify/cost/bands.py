"""How far a profile's price may be off: classes of transfers, and the band that each class has shown.

Knows: the class of a transfer (load or store, length of its runs, regions read, live slices), the bands in a
profile's data.
Does not know: how bands are computed (`tests/lab/leave_out.py`), how they are printed.
Law: a band is that of the narrowest class that the transfer is in and the data support; where none is, the band says
how many rows there are and gives no numbers. A program of several classes has the widest of their bands, and none
where one of them has none.

A run is contiguous in both memories, whatever the order of the loops; slices are those of all engines together. In all
published rows a cluster's slices are served by its own engines, and slices that share what they read each by one: what
engines of another cluster do there, and parts of a shared region read by several engines for one slice, have no rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from math import log, prod
from typing import Any

from dmaverify.cost.constants import CostData
from dmaverify.cost.sides import SINGLE, SideCost, is_reread, region_of, run_of, slices_of
from dmaverify.program.command import Command, Engine
from dmaverify.values import dataclass

WINDOW = 256
SCATTERED = 16
"""Runs below so many bytes are a class of their own, without a published row; below `SINGLE` two stores, which one
price of an element explains.
"""
FEW_SLICES = 64
MOST_SLICES = 4096
BULK = 8192
"""Bytes a slice from which on loads of windows of their own into many slices are a class of their own: nine published
rows, all within 2 %, where smaller ones lie up to 16 % off.
"""
OWN = "loads of windows of their own"
"""Loads whose windows are read about once, which one formula prices whatever their runs."""
STORES = "stores of runs of 16 B and more"
"""Stores of whatever runs but scattered ones: what is said where their own class has too few rows."""
Pair = tuple[SideCost, SideCost]


@dataclass(frozen=True, slots=True)
class Band:
    """What a class showed: factors of the model's figure between which nine of ten rows not fitted are expected (None:
    no data), and how many rows that stands on.
    """

    name: str
    rows: int
    low: float | None = None
    high: float | None = None

    @property
    def modelled(self) -> bool:
        return self.low is not None and self.high is not None

    def as_data(self, cycles: float) -> dict[str, Any]:
        """JSON: `low` and `high` in cycles."""
        ends = [round(cycles * end, 1) if end is not None else None for end in (self.low, self.high)]
        return {"low": ends[0], "high": ends[1], "class": self.name, "rows": self.rows}


def classes_of(commands: Sequence[Command], pairs: Sequence[Pair], data: CostData) -> list[tuple[str, ...]]:
    """For each kind of command in the program: its classes, the narrowest first."""
    ends = [write if write.port.tier == "dm" else read for read, write in pairs]
    slices = sum(slices_of(side.nest, side, data) or 1 for side in ends)
    each = sum(side.nest.packets * side.nest.size for side in ends) // slices if ends else 0
    size = slices, each, _served_by_several(commands, pairs, data)
    both = zip(commands, pairs, strict=True)
    return list(dict.fromkeys(_classes(command, pair, pairs, size, data) for command, pair in both))


def _served_by_several(commands: Sequence[Command], pairs: Sequence[Pair], data: CostData) -> bool:
    """Whether several engines write into one slice; also where the slices are more than a machine has."""
    servers: dict[tuple[int, int, int], set[Engine]] = defaultdict(set)
    stride = data.dm.slice_stride
    for command, (_, write) in zip(commands, pairs, strict=True):
        loops = [(n, step // stride) for n, step in write.nest.loops if step and step % stride == 0]
        if prod(n for n, _ in loops) > MOST_SLICES:
            return True
        place = write.port.chip, write.port.cluster
        for turn in product(*(range(0, n * step, step) for n, step in loops)):
            servers[(*place, write.nest.base // stride + sum(turn))].add(command.engine or Engine())
    return any(len(engines) > 1 for engines in servers.values())


def _classes(
    command: Command, pair: Pair, pairs: Sequence[Pair], size: tuple[int, int, bool], data: CostData
) -> tuple[str, ...]:
    """`size`: the slices of the program, the bytes of each, and whether several engines write into one."""
    slices, each, several = size
    read, write = pair
    tiers = read.port.tier, write.port.tier
    if tiers not in (("hbm", "dm"), ("dm", "hbm")) or read.port.chip != write.port.chip:
        return (_other(read, write),)
    store = tiers == ("dm", "hbm")
    if command.engine is not None and command.engine.cluster != (read if store else write).port.cluster:
        return (f"{'stores' if store else 'loads'} by engines of another cluster",)
    runs = _runs(run_of(command) * command.unit_bits // 8, write if store else read)
    shared = "" if store else _regions(read, pairs, data)
    if shared and several:
        return (f"loads{shared}, several engines for one slice",)
    head = f"{'stores' if store else 'loads'} of {runs}{shared}"
    many = slices > FEW_SLICES
    live = f"more than {FEW_SLICES} slices" if many else f"up to {FEW_SLICES} slices"
    plain = not store and not shared and run_of(command) * command.unit_bits >= SCATTERED * 8
    if plain and many and each >= BULK:
        return tuple(f"{name}, {live} of {BULK:,} B and more" for name in (head, OWN))
    if plain:
        narrow, wide = f" below {BULK:,} B" if many else "", f"up to {FEW_SLICES} slices or below {BULK:,} B each"
        return f"{head}, {live}{narrow}", f"{head}, {wide}", f"{OWN}, {wide}"
    plainest = (STORES,) if store and run_of(command) * command.unit_bits >= SCATTERED * 8 else ()
    return f"{head}, {live}", head, *plainest


def _other(read: SideCost, write: SideCost) -> str:
    if read.port.chip != write.port.chip:
        return "moves between chips"
    names = [side.port.tier.upper() for side in (read, write)]
    return f"moves within {names[0]}" if names[0] == names[1] else f"moves from {names[0]} to {names[1]}"


def _runs(run: int, side: SideCost) -> str:
    least = next((most for most in (SINGLE, SCATTERED, WINDOW) if run < most), None)
    if least is not None:
        return f"runs below {least} B"
    partial = side.windows.partial or side.windows.crossing
    return "runs with windows in part" if partial else "whole windows"


def _regions(read: SideCost, pairs: Sequence[Pair], data: CostData) -> str:
    if not is_reread(read, data):
        return ""
    readers = sum(1 for other, _ in pairs if region_of(other) == region_of(read))
    return " that all engines share" if 1 < readers == len(pairs) else " that slices share"


def band_of(commands: Sequence[Command], pairs: Sequence[Pair], data: CostData) -> Band | None:
    """The band of a program; None where the profile states none (it predicts documents, not measurements)."""
    if not data.bands or not commands:
        return None
    plain = [command.normal for command in commands]
    return widest([_known(names, data) for names in classes_of(plain, pairs, data)])


def widest(bands: Sequence[Band]) -> Band | None:
    """The first of several bands that has no numbers, else the one that is furthest off; None of none."""
    missing = [band for band in bands if not band.modelled]
    return missing[0] if missing else max(bands, key=lambda b: log((b.high or 1) / (b.low or 1)), default=None)


def _known(names: tuple[str, ...], data: CostData) -> Band:
    for name in names:
        if name in data.bands:
            rows, low, high = data.bands[name]
            return Band(name, rows, low, high)
    return Band(names[-1], data.thin.get(names[-1], 0))
