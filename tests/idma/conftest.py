"""Rows of the RTL samples."""

import csv
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1] / "data"


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / f"idma_rtl_{name}_sample.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="session")
def burst_rows() -> list[dict[str, str]]:
    return rows("bursts")


@pytest.fixture(scope="session")
def nd_rows() -> list[dict[str, str]]:
    return rows("nd")


@pytest.fixture(scope="session")
def cycle_rows() -> list[dict[str, str]]:
    return rows("cycles")


@pytest.fixture(scope="session")
def apart_rows() -> list[dict[str, str]]:
    return rows("apart")
