"""Fits the profile `measured` to published points and says how well: `make calibrate` (make
calibrate).

Knows: which constants of the profile are fitted, on which rows, and by what norm.
Does not know: rows outside of the file it is given; nothing is tuned by hand.
Law: fitting the same file twice gives the same constants; the report names the error of every row, and the rows that
the model does not explain (more than 15 % off) by themselves.

The model is that of profile `book` with other constants: start-up + slices * setup + windows * issue, with another
issue where many slices read a window, and for stores another start-up, issue, and a price per window written in part.
What a profile leaves to the channels (row switches, bank groups) is set to nothing, because compiler schedules are
blind to it (facts/rngd 8.2). The norm is the sum of relative errors (each row counts alike), met by reweighted least
squares.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from dmaverify.cost.constants import CostData, cost_data
from dmaverify.cost.model import cost
from dmaverify.cost.points import Point, commands_of, hardware_points, static_points
from dmaverify.cost.sides import Side, pairs_of, slices_of
from dmaverify.machines.rngd import data_file

BEGIN = "# ---- fitted by `make calibrate`; do not edit by hand"
ROUNDS = 200
OLDER = "std0.5"


@dataclass(frozen=True, slots=True)
class Features:
    """What the busiest engine of a point does, as the model counts it."""

    kind: str
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
    return Features(
        _kind(point, read, pairs, data),
        slices_of(dm.nest, dm, data),
        hbm.requests,
        hbm.windows.partial - hbm.windows.ragged,
        hbm.windows.ragged,
    )


def _kind(point: Point, read: Side, pairs: Sequence[tuple[Side, Side]], data: CostData) -> str:
    if point.direction == "DM>HBM":
        return "store"
    names = {data.ticks("issue_reread"): "reread", data.ticks("issue_region"): "region"}
    return names.get(read.issue, "load") if read.issue != data.ticks("issue") else "load"


def marked() -> CostData:
    """The data of profile `book` with issues that tell the kinds apart."""
    book = cost_data("book")
    one = book.constants["issue"]
    told = {
        name: type(one)(name, one.ticks + step, "", "") for step, name in ((1, "issue_reread"), (2, "issue_region"))
    }
    return CostData(
        **{**{f: getattr(book, f) for f in book.__dataclass_fields__}, "constants": {**book.constants, **told}}
    )


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


def fit(points: Sequence[Point]) -> dict[str, float]:
    """The fitted constants, cycles each. Raises ValueError where a kind of row is missing."""
    seen = [(point, features(point, marked())) for point in points]
    newer = [point for point in points if point.toolchain != OLDER]
    loads = [(p, f) for p, f in seen if f.kind == "load"]
    stores = [(p, f) for p, f in seen if f.kind == "store" and p in newer]
    if len(loads) < 3 or len(stores) < 4:
        raise ValueError("the points hold too few loads or stores to fit")
    start, setup, issue = relative_fit([(1, f.slices, f.windows) for _, f in loads], [p.cycles for p, _ in loads])
    found = {"startup": start, "slice_setup": setup, "issue": issue}
    for kind in ("reread", "region"):
        rest = [(p.cycles, start + setup * f.slices, f.windows) for p, f in seen if f.kind == kind]
        found[f"issue_{kind}"] = least_worst(rest) if rest else issue
    names = ("startup_store", "issue_store", "issue_partial", "issue_ragged")
    values = relative_fit([_store_row(f) for _, f in stores], [p.cycles - setup * f.slices for p, f in stores])
    return found | dict(zip(names, values, strict=True))


def _store_row(f: Features) -> tuple[int, int, int, int]:
    return 1, f.windows, f.partial, f.ragged


def least_worst(rows: Sequence[tuple[float, float, int]]) -> float:
    """The price per window for which the worst relative error of (cycles, fixed cycles, windows) is least."""
    low, high = 0.0, max(cycles / count for cycles, _, count in rows)
    for _ in range(100):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        worst = [max(abs((fixed + price * count) / cycles - 1) for cycles, fixed, count in rows) for price in (a, b)]
        low, high = (low, b) if worst[0] < worst[1] else (a, high)
    return (low + high) / 2


def fit_older(points: Sequence[Point], base: dict[str, float]) -> dict[str, float]:
    """The constants for an older compiler's stores: as `base`, with its own price of a ragged window."""
    rest = []
    for point in points:
        f = features(point, marked())
        fixed = base["startup_store"] + base["slice_setup"] * f.slices + base["issue_store"] * f.windows
        if f.kind == "store" and f.ragged:
            rest.append((point.cycles, fixed + base["issue_partial"] * f.partial, f.ragged))
    return base | ({"issue_ragged": least_worst(rest)} if rest else {})


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
        "dm_request": (2.0, "DMA Engine, Example 2: 128 B/cycle per DMN, two cycles for 256 bytes", "documented"),
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
    lines += [_line(key, *rest) for key, rest in silent.items()]
    return "\n".join(lines) + "\n"


def _line(key: str, value: float, source: str, basis: str) -> str:
    return f'{key:<16} = {{ cycles = {value!r}, source = "{source}", basis = "{basis}" }}'


def written(text: str, new: str) -> str:
    """The data file with its fitted part replaced (it is the last part)."""
    return text.partition(BEGIN)[0].rstrip("\n") + "\n\n" + new


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


def report(static: Sequence[Fit], hardware: Sequence[Fit]) -> str:
    """The error of every row, the summary, and what is not explained."""
    lines = ["row     measured     model    error"]
    lines += [f"{f.point.id:<6} {f.point.cycles:>9,.0f} {f.model:>9,.0f}  {f.error:>+7.1%}" for f in static]
    errors = [abs(f.error) for f in static]
    lines.append(f"{len(errors)} rows: median error {median(errors):.1%}, 90th percentile {quantile(errors, 0.9):.1%}")
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
    options = parser.parse_args(arguments)
    points = static_points(options.static)
    if not options.check:
        file = data_file("cost.toml")
        found, name = fit(points), options.static.name
        older = fit_older([point for point in points if point.toolchain == OLDER], found)
        text = f"{BEGIN}\n{section(found, name, 'measured')}\n{section(older, name, 'measured-older')}"
        file.write_text(written(file.read_text(), text))
        cost_data.cache_clear()
        from dmaverify.machines import rngd

        rngd.data.cache_clear()
    data = cost_data("measured")
    return report(quality(points, data), quality(hardware_points(options.hardware), data))

