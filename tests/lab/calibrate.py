"""Fits the profiles `schedule`, `schedule-older` and `silicon` to published points and says how well (`make
calibrate`).

Knows: which constants of a profile are fitted, on which rows, and by what norm.
Does not know: rows outside of the files it is given, what becomes of errors (`leave_out`); nothing is tuned by hand.
Law: fitting the same file twice gives the same constants; the report names the error of every row, and the rows that
the model does not explain (more than 15 % off) by themselves.

The model is that of profile `book` with other constants: start-up + slices * setup + windows * issue, with another
issue where many slices read a window, one per engine that reads the same region. Stores have another start-up, issue, a
wait where two clusters store, and a price per window written in part, at which all engines take turns, and no setup.
What a profile leaves to the channels (row switches, bank groups) is set
to nothing, because compiler schedules are blind to it (docs/machines/rngd.md 8.2). Two constants are no fit but a
published ratio on silicon times the fitted issue (`RATIOS`): schedules are blind to stacks and DMNs too. The norm is
the sum of relative errors (each row counts alike), met by reweighted least squares. `silicon` is `schedule` in cycles
of the hardware's counter, whose clock is stated, not fitted (`CLOCK`), with one fitted constant: what a window of a
plain load costs there. Published figures beside it: the setup of a slice (`SETUP`), which goes on between requests and
so hides behind HBM, and what long runs cost (`DOUBLING`). What schedules are blind to is what the documents say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from statistics import median

from lab.points import Point, commands_of

from dmaverify.cost.bands import SCATTERED
from dmaverify.cost.constants import CostData, cost_data
from dmaverify.cost.model import cost
from dmaverify.cost.sides import SINGLE, SideCost, doublings, is_reread, pairs_of, region_of, run_of, slices_of

BEGIN = "# ---- fitted by `make calibrate`; do not edit by hand, up to the next line of this form"
END = "# ---- end of what is fitted"
ROUNDS = 200
OLDER = "std0.5"
CLOCK = 2.0
"""Cycles of the hardware's counter in one of the documents': inferred by kernel writers, stated by no vendor."""
DIGITS = 9
"""Of a constant in the data; what follows them depends on the machine that fits."""
LOADS, STORES = 3, 4
"""Coefficients of a plain load and of a store: at least so many rows are needed to fit them."""

RATIOS = {
    "dm_request": (1.66, 1, "loads into half of the DMNs take 1.66 times as long"),
    "cluster_stack": (1.68, 4, "loads of a cluster from one stack take 1.68 times as long, over its four engines"),
}
"""Published ratios on silicon, the engines that share the resource, and what was compared (docs/machines/rngd.md
8.3).
"""
SHARING = 120
"""Windows of a slice in the loads that were compared: 15.7 MB into 512 slices."""
SETUP = 8 * 21.0
"""Cycles of the counter that an engine needs for a slice: a descriptor more takes about 21, of eight engines (8.3)."""
LONG_RUN, LONG = 1.33, 30_720
"""How many times as long loads in runs of so many bytes take on silicon as in runs of one window (8.3 again)."""
DOUBLING = (LONG_RUN - 1) / log2(LONG / 256)
"""The share of a window's issue that each doubling of its run adds; 512 B to 2 KB (4 to 13 %) lie on the same line."""


@dataclass(frozen=True, slots=True)
class Features:
    """What the busiest engine of a point does, as the model counts it; `readers`: engines that read its region;
    `longer`: what a window costs on silicon of one whose run is one window.
    """

    kind: str
    readers: int
    slices: int
    windows: int
    partial: int
    ragged: int
    engines: int
    clusters: int
    longer: float


@dataclass(frozen=True, slots=True)
class FitRow:
    """One row of the report."""

    point: Point
    model: float

    @property
    def error(self) -> float:
        return self.model / self.point.cycles - 1


def features(point: Point, data: CostData) -> Features:
    """Counts of the busiest engine; `kind` is which issue the model uses."""
    pairs = pairs_of(commands_of(point), data)
    read, write = max(pairs, key=lambda pair: pair[0].requests + pair[1].requests)
    hbm, dm = (read, write) if point.direction == "HBM>DM" else (write, read)
    times, of = doublings(run_of(commands_of(point)[0].normal), data.hbm.window)
    readers = sum(1 for other, _ in pairs if region_of(other) == region_of(read))
    return Features(
        _kind(point, read, 1 < readers == len(pairs), data),
        readers,
        slices_of(dm.nest, dm, data),
        hbm.requests,
        hbm.windows.partial - hbm.windows.ragged,
        hbm.windows.ragged,
        len(pairs),
        point.clusters,
        1 + DOUBLING * times / of,
    )


def _kind(point: Point, read: SideCost, whole: bool, data: CostData) -> str:
    if point.direction == "DM>HBM":
        return "store"
    if not is_reread(read, data):
        return "load"
    return "region" if whole else "reread"


def relative_fit(rows: Sequence[Sequence[float]], cycles: Sequence[float]) -> list[float]:
    """Coefficients >= 0 that bring the sum of relative errors down, by reweighted least squares from 1 on."""
    import numpy as np

    a, y = np.array(rows, dtype=float), np.array(cycles, dtype=float)
    weights = np.ones(len(y))
    columns = list(range(a.shape[1]))
    best = np.zeros(a.shape[1])
    for _ in range(ROUNDS):
        scale = np.sqrt(weights) / y
        found, *_ = np.linalg.lstsq(a[:, columns] * scale[:, None], y * scale, rcond=None)
        if (found < 0).any():
            columns.pop(int(np.argmin(found)))
            weights = np.ones(len(y))
            continue
        best = np.zeros(a.shape[1])
        best[columns] = found
        weights = 1 / np.maximum(np.abs(a @ best / y - 1), 1e-3)
    return [float(value) for value in best]


Seen = Sequence[tuple[Point, Features]]


def seen_by(points: Sequence[Point]) -> Seen:
    """The points with what the model counts of each."""
    return [(point, features(point, cost_data("book"))) for point in points]


def fit(seen: Seen) -> dict[str, float]:
    """The fitted constants, cycles each. Raises ValueError where a kind of row is missing."""
    loads = [(p, f) for p, f in seen if f.kind == "load"]
    stores = [(p, f) for p, f in seen if _is_store(p, f) and p.toolchain != OLDER]
    if len(loads) < LOADS or len(stores) < STORES:
        raise ValueError("the points hold too few loads or stores to fit")
    start, setup, issue = relative_fit([(1, f.slices, f.windows) for _, f in loads], [p.cycles for p, _ in loads])
    found = {"startup": start, "slice_setup": setup, "issue": issue}
    found |= _fit_rereads([(f, p.cycles - start - setup * f.slices) for p, f in seen], issue)
    rows = [(1, f.clusters > 1, f.windows, f.engines * (f.partial + f.ragged)) for _, f in stores]
    first, second, each, part = relative_fit(rows, [p.cycles for p, _ in stores])
    own = {"startup_store": first, "startup_clusters": second, "issue_store": each, "issue_partial": part}
    return found | own | {"issue_ragged": part} | _fit_singles(seen, own)


def _fit_singles(seen: Seen, own: Mapping[str, float]) -> dict[str, float]:
    """What a window costs that is written for an element alone: two published rows, of the two compilers."""
    rows = [(p, f) for p, f in seen if f.kind == "store" and p.run_bytes < SINGLE]
    if not rows:
        return {}
    rest = [
        p.cycles - own["startup_store"] - own["startup_clusters"] * (f.clusters > 1) - own["issue_store"] * f.windows
        for p, f in rows
    ]
    (each,) = relative_fit([(f.engines * (f.partial + f.ragged),) for _, f in rows], rest)
    return {"issue_single": each}


def _is_store(point: Point, features: Features) -> bool:
    """Stores that the model speaks of; scattered ones are a class without a price."""
    return features.kind == "store" and point.run_bytes >= SCATTERED


def _fit_rereads(left: Sequence[tuple[Features, float]], issue: float) -> dict[str, float]:
    """What windows that many slices read cost beyond start-up and setup. Schedules price a region that engines share
    only where all share it (docs/machines/rngd.md 8.2), so those rows alone are asked.
    """
    own = [(f, rest) for f, rest in left if f.kind == "reread"]
    if len(own) < 2:
        return {"startup_reread": 0.0, "issue_reread": issue, "issue_region": 0.0}
    start, again = relative_fit([(1, f.windows) for f, _ in own], [rest for _, rest in own])
    shared = [(rest - start) / f.readers / f.windows for f, rest in left if f.kind == "region"]
    return {"startup_reread": start, "issue_reread": again, "issue_region": median(shared) if shared else 0.0}


def fit_older(seen: Seen, base: dict[str, float]) -> dict[str, float]:
    """The constants for an older compiler's stores: as `base`, with the issue of a load, and its own price of a window
    written in part that is not in blocks of 64 bytes: the median of what its rows leave for that.
    """
    stores = [(p, f) for p, f in seen if p.toolchain == OLDER and _is_store(p, f)]
    own = base | {"issue_store": base["issue"]}
    left = [
        (point.cycles - own["startup_store"] - own["issue_store"] * f.windows) / f.engines
        - own["issue_partial"] * f.partial
        for point, f in stores
    ]
    ragged = [rest / f.ragged for rest, (_, f) in zip(left, stores, strict=True) if f.ragged]
    return own | {"issue_ragged": median(ragged)} if ragged else own


PREDICTS = {
    "schedule": "cycles that the vendor's compiler (0.6.0) prints in its schedule",
    "schedule-older": "cycles that an older compiler (std 0.5) prints in its schedule",
    "silicon": "cycles of the hardware's counter, of which about two make one of the documents'",
}
"""What the number of a fitted profile stands for."""
REQUEST = 16 / 3
SAID = {
    "hbm_request": (REQUEST, "Memory Performance, Peak Bandwidth: 256 B = 4 cycles at 0.75 GHz", "documented"),
    "hbm_row_switch": (REQUEST, "facts: compiler schedules are blind to rows; no switch is charged", "inferred"),
    "hbm_bank_group": (REQUEST, "facts: compiler schedules are blind to bank groups; none is charged", "inferred"),
    "hbm_slice_change": (
        0.0,
        "facts: compiler schedules are blind to slices of HBM; no change is charged",
        "inferred",
    ),
    "hbm_partial": (REQUEST, "facts: the engine pays for partial windows, see issue_partial", "inferred"),
    "dm_unaligned": (6.0, "DMA Engine, Alignment Constraints: a misaligned DM write triples the time", "documented"),
    "spm_request": (2.0, "DMA Engine, Scratchpad Memory: 128 B/cycle", "documented"),
    "pcie_byte": (1 / 30, "DMA Engine, Inter-Chip Transfers: 30 B/cycle", "documented"),
}
"""What a schedule does not tell: cycles, source, basis."""
SEEN_BY_SILICON = ("hbm_row_switch", "hbm_bank_group", "hbm_slice_change")
"""What schedules are blind to and silicon is not: the constants of the documents hold there."""


def section(constants: dict[str, float], name: str, profile: str) -> str:
    """The text of one fitted profile."""
    lines = _head(profile)
    lines += [_line(key, value, f"fitted to {name}", "measured") for key, value in constants.items()]
    lines += [
        _line(key, value, f"silicon: {RATIOS[key][2]}, times the fitted issue", "measured")
        for key, value in from_ratios(constants).items()
    ]
    lines += [_line(key, *rest) for key, rest in SAID.items()]
    return "\n".join(lines) + "\n"


def _head(profile: str) -> list[str]:
    said = PREDICTS.get(profile)
    turns = [] if profile == "silicon" else ['regions_in_turn  = "of all engines"']
    return [f"[cost.{profile}]", *([f'predicts         = "{said}"'] if said else []), *turns]


def fit_silicon(timed: Sequence[Point], constants: dict[str, float]) -> float:
    """How many times as long as in a schedule a window takes, from the plain loads among the rows. Raises ValueError
    where there are too few.
    """
    seen = [(p, f) for p, f in seen_by(timed) if f.kind == "load" and not p.one_stack and not p.half_dmns]
    if len(seen) < LOADS:
        raise ValueError("the points hold too few loads on silicon to fit")
    times = [p.clusters if p.serial else 1 for p, _ in seen]
    start = constants["startup"] * CLOCK
    rows = [(n * f.windows * f.longer,) for n, (_, f) in zip(times, seen, strict=True)]
    rest = [p.cycles - n * (start + SETUP * f.slices) for n, (p, f) in zip(times, seen, strict=True)]
    (window,) = relative_fit(rows, rest)
    return window / constants["issue"]


def silicon_constants(constants: dict[str, float], scale: float) -> dict[str, float]:
    """`schedule` in cycles of the counter; a window of a plain load takes `scale` times as long, and slices are set
    up.
    """
    issue = constants["issue"] * scale
    fitted = {key: value * CLOCK for key, value in constants.items()}
    fitted |= {"issue": issue, "issue_doubling": issue * DOUBLING, "slice_setup": 0.0, "issue_slice": SETUP}
    fitted |= from_ratios(fitted)
    book = cost_data("book")
    told = {key: book.constants[key].cycles if key in SEEN_BY_SILICON else SAID[key][0] for key in SAID}
    return fitted | {key: value * CLOCK for key, value in told.items()}


def silicon_section(constants: dict[str, float], scale: float, name: str) -> str:
    """The text of the profile `silicon`."""
    own = {
        "issue": f"schedule times {scale:.3f}, fitted to {name}",
        "issue_doubling": f"silicon: loads in runs of 30 KB take {LONG_RUN} times as long as of 256 B, by doublings",
        "slice_setup": "silicon: slices are set up between requests, see issue_slice",
        "issue_slice": "silicon: a descriptor more takes about 21 cycles, of eight engines; spread over its requests",
        **{key: f"silicon: {RATIOS[key][2]}, times what a window costs" for key in RATIOS},
    }
    clocked = f"schedule times {CLOCK:g}, the clock"
    book, lines = cost_data("book"), _head("silicon")
    clock = "counter of 2 GHz, documents of 1 GHz: inferred by kernel writers, no vendor text says so"
    lines.append(f'clock            = {{ counter_cycles = {CLOCK!r}, source = "{clock}", basis = "contested" }}')
    for key, value in silicon_constants(constants, scale).items():
        source, basis = (own.get(key, clocked), "measured") if key not in SAID else SAID[key][1:]
        if key in SEEN_BY_SILICON:
            source, basis = book.constants[key].source, book.constants[key].basis
        lines.append(_line(key, value, source if key not in SAID else f"{source}; times the clock", basis))
    return "\n".join(lines) + "\n"


def from_ratios(constants: Mapping[str, float]) -> dict[str, float]:
    """The constants that are a ratio on silicon times what a window costs, with its share of its slice's setup."""
    window = constants["issue"] + constants.get("issue_slice", 0.0) / SHARING
    return {key: ratio * window / engines for key, (ratio, engines, _) in RATIOS.items()}


def _line(key: str, value: float, source: str, basis: str) -> str:
    return f'{key:<16} = {{ cycles = {value:.{DIGITS}g}, source = "{source}", basis = "{basis}" }}'


def written(text: str, new: str) -> str:
    """The data file with its fitted part replaced. Raises ValueError where it has none."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the data has no fitted part to replace")
    return f"{before}{BEGIN}\n{new}\n{END}{after}"


def quality(points: Sequence[Point], data: CostData) -> list[FitRow]:
    """The model beside every point."""
    older = cost_data("schedule-older")
    return [FitRow(p, cost(commands_of(p), older if p.toolchain == OLDER else data).cycles) for p in points]
