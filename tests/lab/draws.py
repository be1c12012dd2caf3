"""How many cases a test draws: few in `make test`, all of them in `make slow`."""

from typing import Any

import pytest


def counted(few: int, every: int) -> list[Any]:
    """Values of a parameter that says how many cases one test draws: a few, and by `make slow` all."""
    return [few, pytest.param(every, marks=pytest.mark.slow)]


def seeds(few: int, every: int) -> list[Any]:
    """The numbers below `every` as values of a parameter; those from `few` on are left to `make slow`."""
    return [*range(few), *rest(range(few, every))]


def rest(values: Any) -> list[Any]:
    """Values of a parameter that are left to `make slow`."""
    return [pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.slow) for one in values]
