"""The numbers of a machine that reading, running and proving kernels needs, from its data.

Knows: where they stand. Does not know: rules, which judge them.
Law: a number of the machine stands in its data; nothing here is one. A function is read for one machine, and run,
proved and priced by that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from dmaverify.errors import InputError, Span
from dmaverify.targets.target import Target, load_target

_SECTIONS = ("machine", "operands", "tile", "vector")
_NAMED = ("arch", "rooms", "pad_types")  # of [machine]


@lru_cache(maxsize=1)
def shipped() -> Target:
    """The machine of texts that name none."""
    return load_target("pto")


def must_read(target: Target, span: Span | None = None) -> None:
    """Raises InputError for a machine whose data does not have all that reading kernels takes."""
    lacks = [f"[{name}]" for name in _SECTIONS if name not in target.raw]
    lacks += [f"`{name}` in [machine]" for name in _NAMED if name not in target.raw.get("machine", {})]
    lacks += [f"[limit.{name}]" for name in shipped().limits if name not in target.limits]
    if lacks:
        said = f"{target.name} reads no kernels in PTO text: its data has no {lacks[0]}"
        raise InputError(said, span, 'take the machine "pto", or a folder that began as a copy of it')


def pipe_of(target: Target, kind: str) -> str:
    """The pipe that runs a kind of copy."""
    return {route.engine: route.queue for route in target.routes.values()}[kind]


def knobs(target: Target) -> Mapping[str, tuple[str, ...]]:
    """Readings that change what a program does, the default first."""
    return {name: target.readings[name] for name in target.knobs}


def ub_memory(target: Target) -> tuple[str, int]:
    """The name of UB and its bytes."""
    return "ub", target.limits["ub_bytes_max"]


def rooms(target: Target) -> Mapping[str, int]:
    """Memory of tiles -> its bytes."""
    named: Mapping[str, str] = target.raw["machine"]["rooms"]
    return {memory: target.limits[limit] for memory, limit in named.items()}


def register_bytes(target: Target) -> int:
    """Bytes of a vector register."""
    return int(target.raw["vector"]["register_bytes"])


def block_bytes(target: Target) -> int:
    """Bytes of a block of UB."""
    return target.limits["ub_line_bytes"]
