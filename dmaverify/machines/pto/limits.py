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


def block_bytes() -> int:
    """Bytes of a block of UB."""
    return limits()["ub_line_bytes"]
