"""What a run of a kernel knows: memories, values, accesses in the order of issue, what was found.

Knows: the values alone. Does not know: what an operation does.
Law: a byte's state says what is known of it, not what it is thought to hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dmaverify.execute.hazards import RunPiece
from dmaverify.execute.order import LaneOrder
from dmaverify.execute.outcome import Beyond, Outcome
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.execute_vector import RegisterBytes
from dmaverify.machines.pto.limits import register_bytes
from dmaverify.program.instructions import Shared
from dmaverify.values import dataclass, field

NEVER, WRITTEN, UNKNOWN, ADDED, DOUBTED = 0, 1, 2, 3, 4
MOST_MOVED = 1 << 24
"""Bytes that the copies of one run may move, and those of one part of a tensor: each is followed by itself."""
MOST_STATEMENTS = 1 << 21  # that a run follows, in all rounds of its loops


def place_of(tensor: str) -> str:
    """What the memory behind an argument is called: none has the name of UB."""
    return f"%{tensor}" if tensor == "ub" else tensor


class Over(Beyond):
    """Trouble was found, and nothing behind it has a meaning."""


@dataclass
class Memory:
    """What each byte holds, what is known of it, and the tile that wrote it last (0: none)."""

    held: np.ndarray
    state: np.ndarray

    @cached_property
    def owner(self) -> np.ndarray:
        return np.zeros(len(self.state), np.int32)

    def has(self, at: np.ndarray) -> np.ndarray:
        """Which of these bytes are its own."""
        return (at >= 0) & (at < len(self.state))


@dataclass
class RunCopy:
    """A copy as it ran: where both ends begin, loops inner to outer as (count, source, destination), bytes of a row;
    where data begins in a row of the destination and all that changes ends; the bytes of all rows in their order.
    """

    number: int
    line: int
    ends: tuple[tuple[str, int], tuple[str, int]]
    loops: Sequence[tuple[int, int, int]]
    row: int
    begin: int
    end: int
    reads: np.ndarray
    data: np.ndarray


@dataclass
class RunEvent(RunPiece):
    """One access in the order of issue, whose lane is its pipe; the copy that it is."""

    atomic: tuple[str, str, int] = ("", "", 0)
    copy: RunCopy | None = None
    line: int = 0


@dataclass
class KernelRun(Outcome):
    """What happened. `found` are the kinds of trouble: field, align, capacity, bounds, rows, definite, raw, war, waw,
    flags, state. `events` are in the order of issue, `order` says what is surely done before each. Not `whole`: the run
    ended at trouble behind which nothing has a meaning, or reads bytes of which it has no rule to tell what they are.
    """

    memory: dict[str, Memory] = field(default_factory=dict)
    events: list[RunEvent] = field(default_factory=list)
    order: LaneOrder = field(default_factory=LaneOrder)
    whole: bool = True

    @property
    def found(self) -> frozenset[str]:
        return frozenset(self.wrong)

    @property
    def copies(self) -> list[RunCopy]:
        return [event.copy for event in self.events if event.copy is not None]


def _drawn(rng: np.random.Generator, size: int) -> np.ndarray:
    """Bytes at random, the same ones again after a prime number of them."""
    return np.resize(rng.integers(0, 256, min(size, 65_521), dtype=np.uint8), size)


class Running:
    """One execution under way."""

    def __init__(
        self,
        function: ops.KernelFunction,
        gm: Mapping[str, int],
        arguments: Mapping[str, int],
        readings: Mapping[str, str],
        seed: int,
        others: Sequence[Shared],
    ) -> None:
        self.function, self.readings, self.arguments, self.others = function, readings, arguments, others
        self.moved = self.followed = self.line = 0
        self.most = function.target.limits
        rng = np.random.default_rng(seed)
        size = self.most["ub_bytes_max"]
        memory = {"ub": Memory(_drawn(rng, size), np.full(size, NEVER, np.int8))}
        for name, size in gm.items():
            memory[place_of(name)] = Memory(_drawn(rng, size), np.full(size, WRITTEN, np.int8))
        self.run = KernelRun(memory=memory)
        self.values: dict[str, Any] = {}  # numbers, pointers as (memory, byte, bytes of an element), tiles and views
        for name, kind, _ in function.args:
            plain = name.lstrip("%")
            pointer = (place_of(plain), 0, kind.item_bytes)
            self.values[name] = pointer if kind.kind == "pointer" else arguments.get(plain, 0)
        self.raw: dict[str, tuple[int, int]] = {}
        self.registers: dict[str, tuple[int, int]] = {}
        self.pad: tuple[int, int] | None = None
        self.registers_of = RegisterBytes(register_bytes(function.target))
        self.inside = 0
        self.atomic = ("", "")
        self.copy_number: dict[int, int] = {}
        self.events, self.order = self.run.events, self.run.order
        self.flags: set[tuple[str, str, int]] = set()  # that are set
        self.holding: dict[int, set[str]] = {}

    def _value(self, operand: ops.Operand) -> Any:
        if operand.value is not None:
            return operand.value
        if operand.name not in self.values:
            raise Beyond(operand.name)
        return self.values[operand.name]

    def _int(self, operand: ops.Operand) -> int:
        value = self._value(operand)
        if not isinstance(value, int):
            raise Beyond(operand.name)
        return value

    # ------------------------------------------------------------ what bytes hold: here a byte each

    def _room(self, size: int) -> Memory:
        """A memory that nothing was written to."""
        return Memory(np.zeros(size, np.uint8), np.full(size, NEVER, np.int8))

    def _constant(self, values: np.ndarray) -> np.ndarray:
        """Bytes of these values."""
        return values

    def _lost(self, held: np.ndarray) -> np.ndarray:
        """What nobody knows, where these lay."""
        return held ^ 0xA5

    def _added(self, atomic: tuple[Any, ...], into: Memory, at: np.ndarray, given: np.ndarray, item: int) -> None:
        """Adds elements to what lies in memory: the sum is not computed."""

    # ------------------------------------------------------------ what is found

    def _counted(self, amount: int) -> None:
        self.moved += amount
        if self.moved > MOST_MOVED:
            raise Beyond(f"the copies move more than {MOST_MOVED:,} bytes: no run is made of them")

    def _finds(self, kind: str, sight: str = "") -> None:
        self.run.break_(kind, sight or f"line {self.line:,}")

    def _needs(self, state: np.ndarray) -> None:
        """Bytes that must have been written, by what is known of them."""
        if not np.isin(state, (WRITTEN, DOUBTED)).all():
            self._finds("definite")
        elif (state == DOUBTED).any():
            self.run.whole = False

    def _bounds(self, place: str, at: np.ndarray, surplus: int) -> None:
        if len(at):
            self._within(place, int(at.min()), int(at.max()) + surplus)

    def _within(self, place: str, low: int, high: int) -> bool:
        """Whether a memory has the bytes from `low` to `high`; found where it has not."""
        inside = low >= 0 and high < len(self.run.memory[place].state)
        if not inside:
            self._finds("capacity" if place == "ub" else "bounds")
        return inside
