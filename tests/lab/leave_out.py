"""How good fitted profiles are on rows they were not fitted to: errors, bands of classes, the report, the command.

Knows: rows left out one at a time, what a class of transfers showed, which rows a constant stands on.
Does not know: how constants are fitted (`calibrate`), how bands are looked up (`bands`).
Law: a band is made of errors of rows that took no part in the fit that predicts them; a class without two such rows
has none, and one whose band would be wider than `WIDEST` has none either: that is no prediction.

The band is that of nine rows in ten: Student's t on logarithms of measured over predicted, about no error, where each
class also counts `PRIOR` rows of the spread that all loads (or all stores) show, because a few rows that happen to
agree prove little. No band is narrower than what holds nine of ten rows of its widest class, where that has nine, else
nine of ten of all loads (or all stores) of such classes: of n rows the one at rank 0.9 (n + 1), so that another row of
the same kinds lies in it nine times in ten, whatever law errors follow. Rows that the model prices alike and that
measured alike are left out together: one that stayed would give the other away. A wide class speaks of transfers whose
own narrow class has no band; where its rows are all of one narrow class, which is then another one, its band is no
narrower than what holds nine of ten rows that are predicted without any row of their narrow class; nor is the class of
all stores, which stands behind theirs.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from math import ceil, exp, log
from pathlib import Path
from statistics import mean, median

from lab.calibrate import (
    OLDER,
    FitRow,
    Seen,
    fit,
    fit_older,
    fit_silicon,
    from_ratios,
    quality,
    section,
    seen_by,
    silicon_constants,
    silicon_section,
    written,
)
from lab.points import Point, commands_of, hardware_points, static_points

from dmaverify.cost.bands import SCATTERED, STORES, classes_of
from dmaverify.cost.constants import TICKS, Constant, CostData, cost_data, profile_data
from dmaverify.cost.model import cost
from dmaverify.cost.sides import SINGLE, pairs_of
from dmaverify.targets.address_maps import data as tables
from dmaverify.targets.address_maps import data_file

WAYS = {"HBM>DM": "loads", "DM>HBM": "stores"}
SHARE = 0.9
"""Of rows never seen, how many a band is to hold."""
ENOUGH = 9
"""Rows of which the largest error tells that share."""
PRIOR = 2
LEAST_ROWS = 2
WIDEST = 4.0
QUANTILES = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812)
"""Student's t at 95 % for 1 to 10 degrees of freedom; beyond them about 1.7."""
SAMPLE = Path("tests/data")
ALIASES = (
    '[cost.measured]\nsame             = "schedule"\n\n[cost.measured-older]\nsame             = "schedule-older"\n'
)


def with_constants(data: CostData, constants: Mapping[str, float]) -> CostData:
    """The profile with other constants, cycles each."""
    now = {name: Constant(name, round(cycles * TICKS), "", "") for name, cycles in constants.items()}
    return replace(data, constants={**data.constants, **now})


def left_out(points: Sequence[Point], data: CostData, stated: Sequence[Point] = ()) -> list[FitRow]:
    """Every row as the model predicts it when fitted to the other rows alone; `stated` rows are in no fit. Raises
    ValueError where a kind of row cannot be fitted without one.
    """
    own = with_constants(data, fit(seen_by(points)))
    found = [FitRow(point, cost(commands_of(point), own).cycles) for point in stated]
    every = list(zip(seen_by(points), quality(points, data), strict=True))
    for (point, _), own in every:
        others = [seen for seen, row in every if not is_same(row, own)]
        constants = fit(others)
        if point.toolchain == OLDER:
            constants = fit_older(others, constants)
        constants |= from_ratios(constants)
        found.append(FitRow(point, cost(commands_of(point), with_constants(data, constants)).cycles))
    return found


def classes_left_out(points: Sequence[Point], data: CostData) -> list[FitRow]:
    """Every row as the model predicts it when fitted without the rows of its narrowest class; none of a kind of row
    that cannot be fitted so.
    """
    seen, found = seen_by(points), []
    for point, own in seen:
        others = [(p, f) for p, f in seen if classes_of_row(p)[0] != classes_of_row(point)[0]]
        if point.run_bytes < SCATTERED or own.kind not in {f.kind for _, f in others}:
            continue
        constants = fit(others)
        if point.toolchain == OLDER:
            constants = fit_older(others, constants)
        constants |= from_ratios(constants)
        found.append(FitRow(point, cost(commands_of(point), with_constants(data, constants)).cycles))
    return found


def is_same(one: FitRow, other: FitRow) -> bool:
    """Whether two rows are one measurement to the model: the same price, the same cycles."""
    return (one.point.direction, one.point.cycles, round(one.model)) == (
        other.point.direction, other.point.cycles, round(other.model),
    )  # fmt: skip


def silicon_left_out(timed: Sequence[Point], constants: dict[str, float], data: CostData) -> list[FitRow]:
    """Every row of silicon, with its constant fitted to the other rows."""
    found = []
    for index, point in enumerate(timed):
        silicon = fit_silicon([*timed[:index], *timed[index + 1 :]], constants)
        own = with_constants(data, silicon_constants(constants, silicon))
        found.append(FitRow(point, cost(commands_of(point), own).cycles))
    return found


# ---------------------------------------------------------------- bands


def spread_of(errors: Sequence[float], common: float) -> float:
    """The half width of a class's band, as a logarithm: see the module's docstring."""
    degrees = len(errors) + PRIOR
    square = (sum(e * e for e in errors) + PRIOR * common * common) / degrees
    factor = QUANTILES[degrees - 1] if degrees <= len(QUANTILES) else 1.7 + 1.1 / degrees
    return float(factor * square**0.5)


@cache
def classes_of_row(point: Point) -> tuple[str, ...]:
    """The classes of a row, the narrowest first."""
    data, commands = cost_data("book"), [command.normal for command in commands_of(point)]
    return tuple(dict.fromkeys(n for names in classes_of(commands, pairs_of(commands, data), data) for n in names))


Bands = list[tuple[str, int, float | None]]


def bands(rows: Sequence[FitRow], apart: Sequence[FitRow] = ()) -> Bands:
    """Of every class of the rows, narrow and wide: its name, its rows, and the half width (None: no band). `apart`:
    rows predicted without their narrow class.
    """
    found: Bands = []
    for way in WAYS:
        own = [row for row in rows if row.point.direction == way]
        least, lent = _least_widths(own), _share_width([row for row in apart if row.point.direction == way])
        for name, n, width in _by_class(own):
            floor = max(least[name], lent if _is_lent(name, own) else 0.0)
            found.append((name, n, None if width is None else max(width, floor)))
    return sorted(found)


def _is_lent(name: str, rows: Sequence[FitRow]) -> bool:
    """Whether a class is only asked of others than its rows: all of them are of one narrower class, or it is the one
    behind all classes of stores.
    """
    if name == STORES:
        return True
    every = [classes_of_row(row.point) for row in rows]
    inside = [names[: names.index(name)] for names in every if name in names]
    return all(inside) and len({names[-1] for names in inside}) == 1


def _least_widths(rows: Sequence[FitRow]) -> dict[str, float]:
    """For every class the half width that nine of ten rows of its widest class need, or nine of ten of all rows whose
    widest class has too few to tell.
    """
    own, few, families = _by_class(rows), [], defaultdict(list)
    for row in rows:
        families[classes_of_row(row.point)[-1]].append(row)
    widths = {}
    for family, members in families.items():
        if len(members) >= ENOUGH:
            widths[family] = _share_width(members)
        elif any(width is not None for name, _, width in own if name == family):
            few += members
    rest = _share_width(few)
    return {n: widths.get(classes_of_row(row.point)[-1], rest) for row in rows for n in classes_of_row(row.point)}


def _share_width(rows: Sequence[FitRow]) -> float:
    """The half width in which the next row lies nine times in ten, whatever the law of errors: see the docstring."""
    misses = sorted(abs(_miss(row)) for row in rows)
    return misses[min(len(misses), ceil(SHARE * (len(misses) + 1))) - 1] if misses else 0.0


def _by_class(rows: Sequence[FitRow]) -> Bands:
    """What the rows of each class show by themselves."""
    grouped = defaultdict(list)
    for row in rows:
        for name in classes_of_row(row.point):
            grouped[name].append(_miss(row))
    found: Bands = []
    for name, errors in grouped.items():
        width = spread_of(errors, _common(rows))
        found.append((name, len(errors), width if len(errors) >= LEAST_ROWS and width <= log(WIDEST) else None))
    return found


def _width_of(point: Point, found: Bands) -> float | None:
    """The half width of the narrowest class of a row that has a band."""
    widths = {name: width for name, _, width in found}
    return next((width for name in classes_of_row(point) if (width := widths.get(name)) is not None), None)


def held(rows: Sequence[FitRow], apart: Sequence[FitRow] = ()) -> list[tuple[FitRow, bool | None]]:
    """Whether each row, predicted from the others, lies in the band that the others give; None: they give none."""
    found: list[tuple[FitRow, bool | None]] = []
    for row in rows:
        others = [one for one in rows if one is not row]
        width = _width_of(row.point, bands(others, [one for one in apart if one.point != row.point]))
        found.append((row, None if width is None else abs(_miss(row)) <= width))
    return found


def _held_text(rows: Sequence[FitRow], apart: Sequence[FitRow]) -> str:
    every = {name: [ok for row, ok in held(rows, apart) if row.point.direction == way] for way, name in WAYS.items()}
    told = [f"{own.count(True)} of {len(own) - own.count(None)} {name}" for name, own in every.items() if own]
    none = sum(own.count(None) for own in every.values())
    return f"  made without a row they hold it: {', '.join(told)}; {none} rows without a band"


def _miss(row: FitRow) -> float:
    return log(row.point.cycles / row.model)


def _common(rows: Sequence[FitRow]) -> float:
    """The spread of most rows: 1.48 times the median error, which is a standard deviation of normal errors."""
    return 1.4826 * median(abs(_miss(row)) for row in rows) if rows else 0.0


def band_text(rows: Sequence[FitRow], apart: Sequence[FitRow] = ()) -> str:
    """The bands as data of a profile; a class without one tells its rows alone."""
    lines = []
    for name, count, width in bands(rows, apart):
        ends = f", low = {exp(-width):.4f}, high = {exp(width):.4f}" if width is not None else ""
        lines.append(f'  {{ class = "{name}", rows = {count}{ends} }},')
    return "\n".join(["band = [", *lines, "]"]) + "\n"


# ---------------------------------------------------------------- the report


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


CLASS = 5
"""Rows of as many bytes from which on their order is told."""


def _equal_bytes(rows: Sequence[FitRow]) -> Iterator[str]:
    """The order within the classes of equal bytes, where the bytes themselves explain nothing."""
    classes = defaultdict(list)
    for row in rows:
        classes[row.point.run_bytes * row.point.runs].append(row)
    for size, own in sorted(classes.items()):
        if len(own) >= CLASS:
            measured, priced = [row.point.cycles for row in own], [round(row.model) for row in own]
            alike = {price: [m for m, p in zip(measured, priced, strict=True) if p == price] for price in priced}
            best = rank_correlation(measured, [mean(alike[price]) for price in priced])
            told = f"  of {size:,} bytes {len(own)} rows: rank correlation {rank_correlation(measured, priced):.2f}"
            same = max(map(len, alike.values()))
            yield f"{told} of at most {best:.2f}, since {same} of them have one price" if same > 1 else told
            right, apart = _in_order(measured, priced)
            yield f"    {right} of the {apart} pairs that the price tells apart come in the measured order"
            spans = [row.point.cycles + row.point.beside for row in own]
            if spans != measured:
                alone = sum(row.point.beside > 0 for row in own)
                said = f"{alone} rows whose figures hold more than the load are meant as loads alone"
                yield f"    {said}; as they are printed: {rank_correlation(spans, priced):.2f}"


def _in_order(measured: Sequence[float], priced: Sequence[float]) -> tuple[int, int]:
    """(pairs in the measured order, pairs with two prices)."""
    pairs = [(a - b) * (c - d) for (a, c), (b, d) in combinations(zip(measured, priced, strict=True), 2) if c != d]
    return sum(one > 0 for one in pairs), len(pairs)


def _summary(rows: Sequence[FitRow]) -> str:
    errors = [abs(f.error) for f in rows]
    return f"median error {median(errors):.1%}, 90th percentile {quantile(errors, 0.9):.1%}"


def _by_way(rows: Sequence[FitRow]) -> Iterator[str]:
    for way, name in WAYS.items():
        own = [row for row in rows if row.point.direction == way]
        if own:
            yield f"  {name:<7} {len(own)} rows: {_summary(own)}"


def stands_on(seen: Seen, hardware: int) -> list[str]:
    """Which constants are fitted together, and how many rows they stand on."""
    kinds = [(f.kind, p.toolchain == OLDER, f) for p, f in seen]
    loads = sum(kind == "load" for kind, _, _ in kinds)
    again = sum(kind == "reread" for kind, _, _ in kinds)
    shared = sum(kind == "region" for kind, _, _ in kinds)
    stores = [p.toolchain == OLDER for p, f in seen if f.kind == "store" and p.run_bytes >= SCATTERED]
    ragged = sum(is_old and f.ragged > 0 for kind, is_old, f in kinds if kind == "store")
    told = [
        ("startup, slice_setup, issue", loads),
        ("startup_reread, issue_reread", again),
        ("issue_region", shared),
        ("startup_store, startup_clusters, issue_store, issue_partial = issue_ragged", stores.count(False)),
        ("issue_ragged of schedule-older", ragged),
        ("issue_single", sum(f.kind == "store" and p.run_bytes < SINGLE for p, f in seen)),
        ("issue of silicon", hardware),
    ]
    return [f"  {rows:>3} rows   {names}" for names, rows in told]


def report(
    static: Sequence[FitRow],
    hardware: Sequence[FitRow],
    alone: Sequence[FitRow] = (),
    silicon_alone: Sequence[FitRow] = (),
    apart: Sequence[FitRow] = (),
) -> str:
    """The error of every row (`alone`: fitted without it, `apart`: without its class), the summary, bands, and what is
    not explained.
    """
    lines = _rows(static, alone)
    lines.append(f"{len(static)} rows: {_summary(static)}")
    if alone:
        lines += [f"each predicted from the other rows: {_summary(alone)}", *_by_way(alone)]
    far = ", ".join(f"{f.point.id} ({f.error:+.0%})" for f in static if abs(f.error) > 0.15)
    lines.append(f"not explained (more than 15 % off): {far or 'none'}")
    if hardware:
        rank = rank_correlation([f.point.cycles for f in hardware], [f.model for f in hardware])
        lines.append(f"silicon: {len(hardware)} rows, rank correlation {rank:.2f}, {_summary(hardware)}")
        lines += _equal_bytes(hardware)
        lines += _rows(hardware, silicon_alone)
    for name, rows, without in (("schedule, both compilers", alone, apart), ("silicon", silicon_alone, ())):
        if rows:
            lines.append(f"bands of {name}, from rows left out one at a time:")
            lines += [f"  {count:>3} rows   {_width(width):<24} {said}" for said, count, width in bands(rows, without)]
            lines.append(_held_text(rows, without))
    return "\n".join(lines)


def _rows(rows: Sequence[FitRow], alone: Sequence[FitRow]) -> list[str]:
    without = {f.point.id: f"{f.error:>+9.1%}" for f in alone}
    lines = [f"row     measured     model    error{'  left out' if alone else ''}"]
    return lines + [
        f"{f.point.id:<6} {f.point.cycles:>9,.0f} {f.model:>9,.0f}  {f.error:>+7.1%}{without.get(f.point.id, '')}"
        + (f"   a load of {f.point.cycles + f.point.beside:,.0f} in all" if f.point.beside else "")
        for f in rows
    ]


def _width(width: float | None) -> str:
    return "not modelled" if width is None else f"-{1 - exp(-width):.0%} to +{exp(width) - 1:.0%}"


# ---------------------------------------------------------------- the command


def main(arguments: Sequence[str]) -> str:
    """Fits, rewrites the data file unless `--check`, and returns the report."""
    parser = argparse.ArgumentParser(prog="make calibrate")
    files = [SAMPLE / "rngd_static_points_sample.csv", SAMPLE / "rngd_static_points_stores.csv"]
    parser.add_argument("--static", type=Path, action="append", help="a file of schedules; may be given again")
    stated = "rows told by their distance from a formula: they make bands, and no fit"
    parser.add_argument("--stated", type=Path, default=SAMPLE / "rngd_static_points_stated.csv", help=stated)
    parser.add_argument("--hardware", type=Path, default=SAMPLE / "rngd_hw_points_sample.csv")
    parser.add_argument("--check", action="store_true", help="report only, leave the data file alone")
    parser.add_argument("--leave-one-out", action="store_true", help="kept for older scripts: it is always done")
    options = parser.parse_args(arguments)
    files = options.static or files
    points, stated = [point for file in files for point in static_points(file)], static_points(options.stated)
    timed, seen = hardware_points(options.hardware), seen_by(points)
    alone = left_out(points, cost_data("schedule"), stated)
    apart = classes_left_out(points, cost_data("schedule"))
    silicon_alone = silicon_left_out(timed, fit(seen), cost_data("schedule"))
    if not options.check:
        file = data_file("target.toml")
        names = ", ".join(file.name for file in files), options.hardware.name
        file.write_text(written(file.read_text(), fitted_text(seen, names, alone, timed, silicon_alone, apart)))
        profile_data.cache_clear()
        tables.cache_clear()
    head = ["constants and the rows they stand on", *stands_on(seen, len(timed))]
    seen_again = quality([*stated, *points], cost_data("schedule")), quality(timed, cost_data("silicon"))
    told = report(*seen_again, alone, silicon_alone, apart)
    return "\n".join([*head, told])


def fitted_text(
    seen: Seen, names: tuple[str, str], alone: Sequence[FitRow], timed: Sequence[Point],
    silicon_alone: Sequence[FitRow], apart: Sequence[FitRow],
) -> str:  # fmt: skip
    """The part of the data file that is fitted: three profiles, each with its bands, and their older names."""
    found = fit(seen)
    older = fit_older(seen, found)
    new, old = ([_of(rows, older=older) for rows in (alone, apart)] for older in (False, True))
    return "\n".join(
        [
            section(found, names[0], "schedule") + band_text(*new),
            section(older, names[0], "schedule-older") + band_text(*old),
            silicon_section(found, fit_silicon(timed, found), names[1]) + band_text(silicon_alone),
            ALIASES,
        ]
    )


def _of(rows: Sequence[FitRow], *, older: bool) -> list[FitRow]:
    """Loads, the stores of one compiler, and those of single elements, of which each has one row."""
    return [
        row
        for row in rows
        if row.point.direction == "HBM>DM" or (row.point.toolchain == OLDER) == older or row.point.run_bytes < SINGLE
    ]
