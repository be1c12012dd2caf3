"""Fits the profile `measured` to published points and says how well: `make calibrate` (make
calibrate).

Knows: which constants of the profile are fitted, on which rows, and by what norm.
Does not know: rows outside of the file it is given; nothing is tuned by hand.
Law: fitting the same file twice gives the same constants; the report names the error of every row, and the rows that
the model does not explain (more than 15 % off) by themselves.

The model is that of profile `book` with other constants: start-up + slices * setup + windows * issue, with another
issue where many slices read a window, one per engine that reads the same region, and for stores another start-up,
issue, and a price per window written in part. What a profile leaves to the channels (row switches, bank groups) is set
to nothing, because compiler schedules are blind to it (docs/machines/rngd.md 8.2). Two constants are no fit but a
published ratio
on silicon times the fitted issue (`RATIOS`): schedules are blind to stacks and DMNs too. The norm is the sum of
relative errors (each row counts alike), met by reweighted least squares. Every row is also predicted from a fit to the
other rows (`left_out`).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from dmaverify.cost.constants import TICKS, Constant, CostData, cost_data
from dmaverify.cost.model import cost
from dmaverify.cost.points import Point, commands_of, hardware_points, static_points
from dmaverify.cost.sides import Side, is_reread, pairs_of, region_of, slices_of
from dmaverify.targets.address_maps import data_file

BEGIN = "# ---- fitted by `make calibrate`; do not edit by hand, up to the next line of this form"
END = "# ---- end of what is fitted"
ROUNDS = 200
OLDER = "std0.5"
LOADS, STORES = 3, 3
"""Coefficients of a plain load and of a store: at least so many rows are needed to fit them."""

RATIOS = {
    "dm_request": (1.66, 1, "loads into half of the DMNs take 1.66 times as long"),
    "cluster_stack": (1.68, 4, "loads of a cluster from one stack take 1.68 times as long, over its four engines"),
}
"""Published ratios on silicon, the engines that share the resource, and what was compared (docs/machines/rngd.md
8.3).
"""


@dataclass(frozen=True, slots=True)
class Features:
    """What the busiest engine of a point does, as the model counts it; `readers`: engines that read its region, `whole`
    where these are all engines.
    """

    kind: str
    readers: int
    whole: bool
    slices: int
    windows: int
    partial: int
    ragged: int


@dataclass(frozen=True, slots=True)
class Fit:
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
    readers = sum(1 for other, _ in pairs if region_of(other) == region_of(read))
    return Features(
        _kind(point, read, readers, data),
        readers,
        readers == len(pairs),
        slices_of(dm.nest, dm, data),
        hbm.requests,
        hbm.windows.partial - hbm.windows.ragged,
        hbm.windows.ragged,
    )


def _kind(point: Point, read: Side, readers: int, data: CostData) -> str:
    if point.direction == "DM>HBM":
        return "store"
    if not is_reread(read, data):
        return "load"
    return "region" if readers > 1 else "reread"


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
    stores = [(p, f) for p, f in seen if f.kind == "store" and p.toolchain != OLDER]
    if len(loads) < LOADS or len(stores) < STORES:
        raise ValueError("the points hold too few loads or stores to fit")
    start, setup, issue = relative_fit([(1, f.slices, f.windows) for _, f in loads], [p.cycles for p, _ in loads])
    found = {"startup": start, "slice_setup": setup, "issue": issue}
    found |= _fit_rereads([(f, p.cycles - start - setup * f.slices) for p, f in seen], issue)
    rows = [(1, f.windows + f.partial, f.ragged) for _, f in stores]
    first, each, ragged = relative_fit(rows, [p.cycles - setup * f.slices for p, f in stores])
    own = {"startup_store": first, "issue_store": each, "issue_partial": each, "issue_ragged": ragged}
    return found | own


def _fit_rereads(left: Sequence[tuple[Features, float]], issue: float) -> dict[str, float]:
    """What windows that many slices read cost beyond start-up and setup. Schedules price a region that engines share
    only where all share it (docs/machines/rngd.md 8.2), so those rows alone are asked.
    """
    own = [(f, rest) for f, rest in left if f.kind == "reread"]
    if len(own) < 2:
        return {"startup_reread": 0.0, "issue_reread": issue, "issue_region": 0.0}
    start, again = relative_fit([(1, f.windows) for f, _ in own], [rest for _, rest in own])
    shared = [(rest - start) / f.readers / f.windows for f, rest in left if f.kind == "region" and f.whole]
    return {"startup_reread": start, "issue_reread": again, "issue_region": median(shared) if shared else 0.0}


def fit_older(seen: Seen, base: dict[str, float]) -> dict[str, float]:
    """The constants for an older compiler's stores: as `base`, with the issue of a load, and its own price of a window
    written in part (in blocks of 64 bytes or not) and start-up, for which the mean of both start-ups of `base` counts
    as a row.
    """
    stores = [(p, f) for p, f in seen if p.toolchain == OLDER and f.kind == "store"]
    if len(stores) < 2:
        return base
    fixed = [base["slice_setup"] * f.slices + base["issue"] * f.windows for _, f in stores]
    left = [p.cycles - known for (p, _), known in zip(stores, fixed, strict=True)]
    rows = [*((1, f.partial + f.ragged) for _, f in stores), (1, 0)]
    start, partial = relative_fit(rows, [*left, (base["startup"] + base["startup_store"]) / 2])
    own = {"startup_store": start, "issue_store": base["issue"], "issue_partial": partial, "issue_ragged": partial}
    return base | own


def section(constants: dict[str, float], name: str, profile: str) -> str:
    """The text of one fitted profile."""
    request = 16 / 3
    silent = {
        "hbm_request": (request, "Memory Performance, Peak Bandwidth: 256 B = 4 cycles at 0.75 GHz", "documented"),
        "hbm_row_switch": (request, "facts: compiler schedules are blind to rows; no switch is charged", "inferred"),
        "hbm_bank_group": (request, "facts: compiler schedules are blind to bank groups; none is charged", "inferred"),
        "hbm_slice_change": (
            0.0,
            "facts: compiler schedules are blind to slices of HBM; no change is charged",
            "inferred",
        ),
        "hbm_partial": (request, "facts: the engine pays for partial windows, see issue_partial", "inferred"),
        "dm_unaligned": (
            6.0,
            "DMA Engine, Alignment Constraints: a misaligned DM write triples the time",
            "documented",
        ),
        "spm_request": (2.0, "DMA Engine, Scratchpad Memory: 128 B/cycle", "documented"),
        "pcie_byte": (1 / 30, "DMA Engine, Inter-Chip Transfers: 30 B/cycle", "documented"),
    }
    lines = [f"[cost.{profile}]"]
    lines += [_line(key, value, f"fitted to {name}", "measured") for key, value in constants.items()]
    lines += [
        _line(key, value, f"silicon: {RATIOS[key][2]}, times the fitted issue", "measured")
        for key, value in from_ratios(constants["issue"]).items()
    ]
    lines += [_line(key, *rest) for key, rest in silent.items()]
    return "\n".join(lines) + "\n"


def from_ratios(issue: float) -> dict[str, float]:
    """The constants that are a ratio on silicon times the fitted issue."""
    return {key: ratio * issue / engines for key, (ratio, engines, _) in RATIOS.items()}


def _line(key: str, value: float, source: str, basis: str) -> str:
    return f'{key:<16} = {{ cycles = {value!r}, source = "{source}", basis = "{basis}" }}'


def written(text: str, new: str) -> str:
    """The data file with its fitted part replaced. Raises ValueError where it has none."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the data has no fitted part to replace")
    return f"{before}{BEGIN}\n{new}\n{END}{after}"


def left_out(points: Sequence[Point], data: CostData) -> list[Fit]:
    """Every row as the model predicts it when fitted to the other rows alone. Rows of a kind that cannot be fitted
    without them are left out.
    """
    seen, found = seen_by(points), []
    for index, (point, _) in enumerate(seen):
        others = [*seen[:index], *seen[index + 1 :]]
        constants = fit(others)
        if point.toolchain == OLDER:
            constants = fit_older(others, constants)
        constants |= from_ratios(constants["issue"])
        now = {name: Constant(name, round(cycles * TICKS), "", "") for name, cycles in constants.items()}
        found.append(Fit(point, cost(commands_of(point), replace(data, constants={**data.constants, **now})).cycles))
    return found


def quality(points: Sequence[Point], data: CostData) -> list[Fit]:
    """The model beside every point."""
    older = cost_data("measured-older")
    return [Fit(p, cost(commands_of(p), older if p.toolchain == OLDER else data).cycles) for p in points]


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of them lie (the next higher one)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def rank_correlation(left: Sequence[float], right: Sequence[float]) -> float:
    """Spearman's rank correlation, ties by mean rank."""
    a, b = _ranks(left), _ranks(right)
    mean = (len(a) - 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    norm = (sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)) ** 0.5
    return top / norm if norm else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def _summary(rows: Sequence[Fit]) -> str:
    errors = [abs(f.error) for f in rows]
    return f"median error {median(errors):.1%}, 90th percentile {quantile(errors, 0.9):.1%}"


def report(static: Sequence[Fit], hardware: Sequence[Fit], alone: Sequence[Fit] = ()) -> str:
    """The error of every row (`alone`: fitted without it), the summary, and what is not explained."""
    without = {f.point.id: f"{f.error:>+9.1%}" for f in alone}
    lines = [f"row     measured     model    error{'  left out' if alone else ''}"]
    lines += [
        f"{f.point.id:<6} {f.point.cycles:>9,.0f} {f.model:>9,.0f}  {f.error:>+7.1%}{without.get(f.point.id, '')}"
        for f in static
    ]
    lines.append(f"{len(static)} rows: {_summary(static)}")
    if alone:
        lines.append(f"each predicted from the other rows: {_summary(alone)}")
    far = ", ".join(f"{f.point.id} ({f.error:+.0%})" for f in static if abs(f.error) > 0.15)
    lines.append(f"not explained (more than 15 % off): {far or 'none'}")
    if hardware:
        rank = rank_correlation([f.point.cycles for f in hardware], [f.model for f in hardware])
        lines.append(f"silicon: {len(hardware)} rows, rank correlation {rank:.2f}")
        lines += [f"{f.point.id:<6} {f.point.cycles:>9,.0f} {f.model:>9,.0f}" for f in hardware]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> str:
    """Fits, rewrites the data file unless `--check`, and returns the report."""
    parser = argparse.ArgumentParser(prog="make calibrate")
    parser.add_argument("--static", type=Path, default=Path("tests/data/rngd_static_points_sample.csv"))
    parser.add_argument("--hardware", type=Path, default=Path("tests/data/rngd_hw_points_sample.csv"))
    parser.add_argument("--check", action="store_true", help="report only, leave the data file alone")
    parser.add_argument("--leave-one-out", action="store_true", help="predict every row from the others too")
    options = parser.parse_args(arguments)
    points = static_points(options.static)
    if not options.check:
        file = data_file("target.toml")
        seen, name = seen_by(points), options.static.name
        found = fit(seen)
        older = fit_older(seen, found)
        text = f"{section(found, name, 'measured')}\n{section(older, name, 'measured-older')}"
        file.write_text(written(file.read_text(), text))
        cost_data.cache_clear()
        from dmaverify.targets import address_maps as rngd

        rngd.data.cache_clear()
    data = cost_data("measured")
    alone = left_out(points, data) if options.leave_one_out else []
    return report(quality(points, data), quality(hardware_points(options.hardware), data), alone)
