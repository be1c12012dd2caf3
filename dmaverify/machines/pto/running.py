"""What a run of a kernel knows: memories, accesses in the order of issue, what was found.

Knows: the values alone. Does not know: what an operation does.
Law: a byte's state says what is known of it, not what it is thought to hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


class Undetermined(Exception):
    """A value that a run needs and the text does not give."""


@dataclass
class Memory:
    """Bytes and what is known of each."""

    bytes_: np.ndarray
    state: np.ndarray


@dataclass
class RunEvent:
    """One access in the order of issue: its pipe and the bytes it reads and writes, by memory."""

    pipe: str
    reads: dict[str, np.ndarray]
    writes: dict[str, np.ndarray]
    atomic: tuple[str, str, int] = ("", "", 0)


@dataclass
class KernelRun:
    """What happened. `found` holds the kinds of trouble: field, align, capacity, bounds, rows, definite, raw, war, waw,
    flags, state. `copies` are the bytes that each executed copy read, and wrote as data, in order of the rows.
    """

    memory: dict[str, Memory]
    found: set[str] = field(default_factory=set)
    copies: list[tuple[int, str, np.ndarray, str, np.ndarray]] = field(default_factory=list)
