"""The limits of the machine that reading and running kernels needs.

Knows: where they stand. Does not know: rules, which judge them.
Law: a number of the machine stands in its data; nothing here is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from dmaverify.targets.target import load_target


@lru_cache(maxsize=1)
def limits() -> Mapping[str, int]:
    """Limit -> value."""
    return load_target("pto").limits


@lru_cache(maxsize=1)
def pipes() -> Mapping[str, str]:
    """Kind of copy -> the pipe that runs it."""
    return {route.engine: route.queue for route in load_target("pto").routes.values()}


@lru_cache(maxsize=1)
def knobs() -> Mapping[str, tuple[str, ...]]:
    """Readings that change what a program does, the default first."""
    target = load_target("pto")
    return {name: target.readings[name] for name in target.knobs}


def ub_memory() -> tuple[str, int]:
    """The name of UB and its bytes."""
    return "ub", limits()["ub_bytes_max"]


def rooms() -> Mapping[str, int]:
    """Memory of tiles -> its bytes."""
    named: Mapping[str, str] = load_target("pto").raw["machine"]["rooms"]
    return {memory: limits()[limit] for memory, limit in named.items()}


@lru_cache(maxsize=1)
def register_bytes() -> int:
    """Bytes of a vector register."""
    return int(load_target("pto").raw["vector"]["register_bytes"])


def block_bytes() -> int:
    """Bytes of a block of UB."""
    return limits()["ub_line_bytes"]
