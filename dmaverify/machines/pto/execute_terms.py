"""Terms: what a byte is made of, as numbers that are the same in every run that shares them.

Knows: operations by what they say and what they were given, collections of what was added.
Does not know: statements, memories, what an operation computes.
Law: equal numbers are equal bytes, whatever lay in global memory before; bytes with other numbers may still be equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dmaverify.language.distinct import distinct
from dmaverify.values import dataclass, field

TENSOR, CONSTANT, PART = 1 << 40, 1 << 60, 1 << 12


@dataclass
class Terms:
    """Numbers of terms, the same in every run that shares this."""

    known: dict[Any, int] = field(default_factory=dict)
    given: dict[int, Sequence[np.ndarray]] = field(default_factory=dict)
    """Of a term the bytes that it is made of."""
    made: dict[Any, np.ndarray] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)
    followed: int = 0  # accesses of all runs
    reordered: bool = False  # whether rounded sums were made in two orders
    orders: dict[Any, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    sums: dict[int, tuple[Any, tuple[int, ...], tuple[tuple[int, ...], ...]]] = field(default_factory=dict)

    def term(self, key: Any, given: Sequence[np.ndarray] = ()) -> int:
        """What an operation makes, `key`, of what it is `given`."""
        whole = (key, *(one.tobytes() for one in given))
        found = self.known.get(whole)
        if found is None:
            found = self.known[whole] = len(self.known) + 1
            self.given[found] = given
        return found

    def parts(self, term: int, count: int) -> np.ndarray:
        """The bytes that a term makes, `count` of them."""
        return np.asarray(-(term * PART + np.arange(count, dtype=np.int64)))

    def each(self, key: Any, rows: np.ndarray, count: int) -> np.ndarray:
        """Of each row of bytes the `count` bytes that an operation makes of it."""
        whole = (key, rows.tobytes(), rows.shape, count)
        made = self.made.get(whole)
        if made is None:
            terms = np.asarray([self.term(key, (row,)) for row in rows], np.int64).reshape(-1, 1)
            made = self.made[whole] = -(terms * PART + np.arange(count))
        return made

    def fresh(self) -> int:
        """A byte of which nothing is known: equal to no other."""
        term = self.term(("unknown", len(self.known)))
        self.unknown.add(term)
        return int(self.parts(term, 1)[0])

    def added(self, kind: Any, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        """An element behind one that is added to it."""
        base, adds = tuple(old.tolist()), [tuple(new.tolist())]
        held = self.sums.get(-int(old[0]) // PART)
        if held is not None and held[0] == kind and (self.parts(-int(old[0]) // PART, len(old)) == old).all():
            base, adds = held[1], [*held[2], *adds]
        key = (kind, base, tuple(sorted(adds)))
        rounds = any(str(word).startswith(("f", "bf")) for word in kind)
        self.reordered |= rounds and self.orders.setdefault(key, tuple(adds)) != tuple(adds)
        term = self.term(key[:1], [np.asarray([base, *key[2]], np.int64)])
        self.sums[term] = key
        return self.parts(term, len(old))

    def summed(self, key: Any, rows: np.ndarray) -> None:
        """Takes note of sums of rows, which tiles of another shape may make in another order."""
        for row in rows:
            whole = (key, row.tobytes())
            self.reordered |= self.orders.setdefault(whole, ((len(rows),),)) != ((len(rows),),)

    def made_of(self, number: int) -> frozenset[int] | None:
        """The bytes of tensors that a byte is made of, and what is made on the way; None where that is not known."""
        seen, left = {number}, [number]
        while left:
            term = -left.pop() // PART
            if term in self.unknown:
                return None
            for array in self.given.get(term, ()):
                new = {int(one) for one in distinct(array)} - seen
                seen |= new
                left += [one for one in new if one < 0]
        return frozenset(seen)

    def apart(self, one: int, other: int) -> bool:
        """Whether two bytes differ with some contents of the tensors: both are told, or one lay where the other is not
        made of.
        """
        if one == other:
            return False
        if origin_of(one) is not None and origin_of(other) is not None:
            return True
        for byte, made in ((one, other), (other, one)):
            if isinstance(origin_of(byte), tuple) and (of := self.made_of(made)) is not None and byte not in of:
                return True
        return False


def tensor_bytes(position: int, size: int) -> np.ndarray:
    """What lay in the tensor of an argument before, byte by byte."""
    return np.asarray((position + 1) * TENSOR + np.arange(size, dtype=np.int64))


def origin_of(number: int) -> tuple[int, int] | int | None:
    """The tensor (by the position of its argument) and byte that a number stands for, or a value; None if computed."""
    if number >= CONSTANT:
        return number - CONSTANT
    return (number // TENSOR - 1, number % TENSOR) if number >= TENSOR else None


def told_origin(number: int, names: Sequence[str]) -> str:
    """Where a byte came from, in words; `names` are those of the tensors by their positions."""
    origin = origin_of(number)
    if origin is None:
        return "what it computes"
    return f"0x{origin:02x}" if isinstance(origin, int) else f"what lay at %{names[origin[0]]}, byte {origin[1]:,}"
