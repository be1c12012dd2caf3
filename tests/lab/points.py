"""Published measurements as commands: what a row says of a transfer's geometry, built so that the model can price it.

Knows: the columns of the two files of points (tests/data/README_cost.md), how such a transfer is usually laid out.
Does not know: constants, how a cost is computed.
Law: a row becomes commands only where it states direction, live clusters and slices, run length and number of runs;
nothing is guessed from its cycles. Where a row leaves something open the plainest choice is made, and named here:

- slices are live from the first engine of each cluster on, 64 to an engine and spread over both of its DMNs; every
  slice has the same number of runs;
- the runs of a slice are contiguous in it, and HBM holds the runs one after the other in the order of the slices (a
  run of bytes per slice, then the next run of each), so that offsets mod 256 follow from the run length;
- silicon rows: what their words say of clusters, live slices, DMNs, stacks and commands (`WORDS`); cycles are those of
  the load alone where the row states them beside a longer span, and the other rows that were measured like it (the same
  words in the column `stat`) hold as much beside their load;
- `N regions` and `all same` in the offsets: the slices read N distinct runs, readers next to each other;
- consecutive packets go to different slices, in turns to both DMNs of the engine; a packet is 256 bytes of a run that
  is a multiple of 256, else (loads) the run in its largest packets of at most 1,024 bytes (docs/machines/rngd.md 8.2:
  1,920 as two of 960), or (stores) the run.

Source: docs/machines/rngd.md 8.2 and 8.3; the files' own source columns.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from dmaverify.program.command import Command, Engine, Loop, Port

SLICE = 1 << 22
ENGINE_SLICES = 64
DMN_SLICES = 32
CLUSTER_SLICES = 256
STACK = 256
"""Bytes after which HBM changes the stack: address bit 8."""


@dataclass(frozen=True, slots=True)
class Point:
    """One measured transfer. `cycles` in the clock of its file; `regions` distinct runs read, 0: every run its own;
    `spread`: live slices lie evenly over all engines of a cluster, else from its first slice on; `serial`: one
    command per cluster, which the schedule runs one after the other; `half_dmns`: one DMN of each engine;
    `one_stack`: HBM holds what a cluster reads in one stack of its own; `beside`: cycles that the file's figure holds
    beside the transfer, already taken off `cycles`.
    """

    id: str
    direction: str
    clusters: int
    slices: int
    run_bytes: int
    runs: int
    regions: int
    cycles: float
    toolchain: str = ""
    spread: bool = False
    serial: bool = False
    half_dmns: bool = False
    one_stack: bool = False
    beside: float = 0.0


def _number(text: str) -> int:
    return int(text) if text.strip().isdecimal() else 0


def regions_of(offsets: str, slices: int) -> int:
    """How many distinct runs the slices read, from the words of the offsets column; 0 where each reads its own."""
    if "all" in offsets and "same" in offsets:
        return 1
    found = re.search(r"(\d+) regions", offsets)
    return int(found.group(1)) if found and int(found.group(1)) < slices else 0


def static_points(path: Path) -> list[Point]:
    """The rows of a file of compiler schedules that state their geometry: loads and stores between HBM and DM."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = []
    for row in rows:
        numbers = [_number(row[name]) for name in ("live_clusters", "live_slices_total", "run_bytes", "runs_total")]
        if row["dir"] in ("HBM>DM", "DM>HBM") and all(numbers):
            clusters, slices, run, runs = numbers
            regions = regions_of(row["start_offsets_mod256"], slices) if row["dir"] == "HBM>DM" else 0
            found.append(
                Point(
                    row["id"],
                    row["dir"],
                    clusters,
                    slices,
                    run,
                    runs,
                    regions,
                    float(row["static_cycles"]),
                    row["toolchain"],
                )
            )
    return found


WORDS = {
    "serial": r"per-cluster commands|commands serialise",
    "half_dmns": r"half (of )?(the )?DMNs|\b(4 of 8|half) DMN",
    "one_stack": r"one (HBM )?stack per cluster",
}
"""What the columns of a silicon row say of its layout, as patterns: see `Point`."""
OWN_LOAD = re.compile(r"\bload [\d.]+k -> ([\d.]+)k\b")
"""What a load took by itself, in thousands of cycles, before a change and in the row that the words stand in."""


def hardware_points(path: Path) -> list[Point]:
    """The rows of a file of silicon timings that state bytes, run length and cycles of one transfer; over two clusters
    unless the row says one, and over as many slices as its words or its runs allow.
    """
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    beside, found = _beside_loads(rows), []
    for row in rows:
        size, run, cycles = (_number(row[name]) for name in ("bytes", "run_bytes", "hw_cycles_2GHz"))
        if size and run and cycles and size % run == 0:
            more = beside.get(row.get("stat") or "", 0.0)
            point = _hardware_point(row, run, size // run, cycles)
            found.append(replace(point, cycles=cycles - more, beside=more))
    return found


def _beside_loads(rows: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """By the words of the column `stat`: cycles that rows measured so hold beside their load, from rows that state
    both.
    """
    seen = defaultdict(list)
    for row in rows:
        own = OWN_LOAD.search(row.get("note") or "")
        if own and row.get("stat"):
            seen[row["stat"]].append(_number(row["hw_cycles_2GHz"]) - 1000 * float(own[1]))
    return {stat: median(rests) for stat, rests in seen.items() if median(rests) > 0}


def _hardware_point(row: Mapping[str, str], run: int, runs: int, cycles: int) -> Point:
    said = " ".join(row.get(name) or "" for name in ("source", "what", "note"))
    told = {name: bool(re.search(pattern, said, re.IGNORECASE)) for name, pattern in WORDS.items()}
    clusters = 1 if re.search(r"\bc\d only|\bone cluster\b", said) else 2
    live = re.search(r"(\d+) live/cl", said)
    most = clusters * (int(live.group(1)) if live else CLUSTER_SLICES // 2 if told["half_dmns"] else CLUSTER_SLICES)
    slices = next(n for n in (most, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1) if n <= most and runs % n == 0)
    shared = re.search(r"(\d+) regions", said)
    regions = int(shared.group(1)) if shared else int("one region" in said or "same region" in said)
    direction = "DM>HBM" if "store" in row["what"] else "HBM>DM"
    plain = Point(row["id"], direction, clusters, slices, run, runs, regions, float(cycles), spread=True)
    return replace(plain, serial=told["serial"], half_dmns=told["half_dmns"], one_stack=told["one_stack"])


def packet_of(run: int, direction: str) -> int:
    """The packet of a run of contiguous bytes; see the module's docstring."""
    if run % 256 == 0:
        return 256
    most = 1024 if direction == "HBM>DM" else 4096
    if run <= most:
        return run
    fits = [size for size in range(most, 0, -1) if run % size == 0]
    return next((size for size in fits if size % 8 == 0), fits[0])


def commands_of(point: Point) -> tuple[Command, ...]:
    """The commands of a point, one an engine. Source of the layout: this module's docstring."""
    per_cluster = -(-point.slices // point.clusters)
    found = []
    for index in range(0, point.slices, per_cluster):
        cluster = index // per_cluster
        here = min(per_cluster, point.slices - index)
        engines = CLUSTER_SLICES // ENGINE_SLICES
        each = here // engines if point.spread and here % engines == 0 else ENGINE_SLICES
        for number, first in enumerate(range(0, here, each)):
            command = _command(point, cluster, number * ENGINE_SLICES, min(each, here - first), index + first)
            found.append(replace(command, engine=Engine(0, 0, number)) if point.serial else command)
    return tuple(found)


def _command(point: Point, cluster: int, first: int, slices: int, before: int) -> Command:
    run, each = point.run_bytes, max(1, point.runs // point.slices)
    packet = packet_of(run, point.direction)
    base, walk = before * run, _slice_loops(slices, run, 1 if point.half_dmns else 2)
    stride = point.slices * run
    if point.regions:
        readers = -(-point.slices // point.regions)
        inner, half = min(readers, slices), slices // 2
        walk = (Loop(slices // inner, run, inner * SLICE), *_slice_loops(inner, 0))
        if inner <= half:  # each DMN has regions of its own
            walk = (Loop(half // inner, run, inner * SLICE), Loop(inner, 0, SLICE))
            walk += (Loop(2, half // inner * run, DMN_SLICES * SLICE),)
        base, stride = before // readers * run, point.regions * run
    loops = (Loop(each, stride, run), Loop(run // packet, packet, packet), *walk)
    if point.one_stack and packet == STACK:
        base, loops = 2 * base + cluster * STACK, tuple(Loop(n.count, 2 * n.read, n.write) for n in loops)
    hbm, dm = Port("hbm", base), Port("dm", first * SLICE, cluster=cluster)
    loops = tuple(loop for loop in loops if loop.count > 1)
    engine = Engine(0, cluster, first // ENGINE_SLICES)
    if point.direction == "HBM>DM":
        return Command(hbm, dm, loops, packet, packet, engine)
    swapped = tuple(Loop(loop.count, loop.write, loop.read) for loop in loops)
    return Command(dm, hbm, swapped, packet, packet, engine)


def _slice_loops(slices: int, run: int, dmns: int = 2) -> tuple[Loop, ...]:
    """All slices of an engine, its two DMNs in turns; an odd number stays in one."""
    if slices % 2 or dmns == 1:
        return (Loop(slices, run, SLICE),)
    return Loop(slices // 2, run, SLICE), Loop(2, slices // 2 * run, DMN_SLICES * SLICE)
