"""The machine whose kernels are read, run and proved, and the numbers of it that this needs.

Knows: where they stand. Does not know: rules, which judge them.
Law: a number of the machine stands in its data; nothing here is one. A kernel is read, run, proved and priced by one
machine: the one that ships, or another within `on`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from dmaverify.errors import InputError, Span
from dmaverify.targets.target import Target, load_target

_meant: ContextVar[Target | None] = ContextVar("machine", default=None)
_SECTIONS = ("machine", "operands", "tile", "vector")
_NAMED = ("arch", "rooms")  # of [machine]


@contextmanager
def on(target: Target, span: Span | None = None) -> Iterator[None]:
    """Within it kernels are those of this machine. Raises InputError for one whose data does not have all that reading
    kernels takes.
    """
    lacks = [f"[{name}]" for name in _SECTIONS if name not in target.raw]
    lacks += [f"`{name}` in [machine]" for name in _NAMED if name not in target.raw.get("machine", {})]
    lacks += [f"[limit.{name}]" for name in shipped().limits if name not in target.limits]
    if lacks:
        said = f"{target.name} reads no kernels in PTO text: its data has no {lacks[0]}"
        raise InputError(said, span, 'take the machine "pto", or a folder that began as a copy of it')
    token = _meant.set(target)
    try:
        yield
    finally:
        _meant.reset(token)


@lru_cache(maxsize=1)
def shipped() -> Target:
    """The machine of texts that name none."""
    return load_target("pto")


def machine() -> Target:
    """The machine whose kernels are read."""
    return _meant.get() or shipped()


def limits() -> Mapping[str, int]:
    """Limit -> value."""
    return machine().limits


def pipes() -> Mapping[str, str]:
    """Kind of copy -> the pipe that runs it."""
    return _pipes(machine())


@lru_cache(maxsize=4)
def _pipes(target: Target) -> Mapping[str, str]:
    return {route.engine: route.queue for route in target.routes.values()}


def knobs() -> Mapping[str, tuple[str, ...]]:
    """Readings that change what a program does, the default first."""
    target = machine()
    return {name: target.readings[name] for name in target.knobs}


def ub_memory() -> tuple[str, int]:
    """The name of UB and its bytes."""
    return "ub", limits()["ub_bytes_max"]


def rooms() -> Mapping[str, int]:
    """Memory of tiles -> its bytes."""
    named: Mapping[str, str] = machine().raw["machine"]["rooms"]
    return {memory: limits()[limit] for memory, limit in named.items()}


def register_bytes() -> int:
    """Bytes of a vector register."""
    return int(machine().raw["vector"]["register_bytes"])


def block_bytes() -> int:
    """Bytes of a block of UB."""
    return limits()["ub_line_bytes"]
