"""The published rows that tests of fitted profiles share, and each predicted from the others.

Source: tests/data/README_cost.md.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lab.calibrate import FitRow
from lab.leave_out import classes_left_out, left_out
from lab.points import Point, static_points

from dmaverify.cost.constants import cost_data

DATA = Path(__file__).resolve().parents[1] / "data"
STATIC, HARDWARE = DATA / "rngd_static_points_sample.csv", DATA / "rngd_hw_points_sample.csv"
STORES, STATED = DATA / "rngd_static_points_stores.csv", DATA / "rngd_static_points_stated.csv"
SCHEDULE = cost_data("schedule")


def all_points() -> list[Point]:
    return [*static_points(STATIC), *static_points(STORES)]


@cache
def unseen() -> list[FitRow]:
    """Every row of schedules, predicted from the others."""
    return left_out(all_points(), SCHEDULE, static_points(STATED))


@cache
def without_their_class() -> list[FitRow]:
    """Rows of schedules, predicted from those of other classes."""
    return classes_left_out(all_points(), SCHEDULE)
