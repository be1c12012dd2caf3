"""Vector registers run lane by lane: which bytes of memory each came from, and which of them came to matter.

Knows: masks as arrays of lanes, how each distribution lays memory out in a register, one execution.
Does not know: terms, tables of the target, the demand of the proof.
Law: a byte of memory matters when it is at the place of a lane that is stored, reduced, or given to what is not known.

Source: PTO v0.6 (vlds, vsts and their distributions, masks, plt).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dmaverify.language.distinct import distinct
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.limits import register_bytes
from dmaverify.values import dataclass, field

_LANEWISE = re.compile(r"v(abs|neg|exp|ln|sqrt|relu|not|add|sub|mul|div|max|min|and|or|xor|shl|shr)s?")
_REDUCING = re.compile(r"vc(g|p)?(add|max|min)|vcmps?")


@dataclass
class _Load:
    """One register filled: the event, the memory, and the bytes of memory that each byte of it stands for."""

    event: int
    place: str
    source: np.ndarray
    used: np.ndarray


@dataclass
class RegisterBytes:
    """What registers hold: for each load, which of their bytes are at its place."""

    loads: list[_Load] = field(default_factory=list)
    held: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)
    masks: dict[str, np.ndarray | None] = field(default_factory=dict)
    garbage: dict[str, np.ndarray] = field(default_factory=dict)  # bytes of a register that nothing defined
    foul: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))

    # ------------------------------------------------------------ masks

    def mask(self, stmt: ops.Mask, count: int) -> int:
        """Sets a mask, as bytes of a register; what `plt` leaves over."""
        width = max(1, stmt.lane_bits // 8)
        lanes = register_bytes() // width
        on = None
        if stmt.op == "plt":
            on = np.arange(lanes) < count
        elif stmt.pattern.startswith("PAT_VL"):
            on = np.arange(lanes) < int(stmt.pattern[6:])
        elif stmt.pattern in ("PAT_ALL", "PAT_ALLF", "PAT_H", "PAT_Q"):
            on = np.arange(lanes) < {"PAT_ALL": lanes, "PAT_ALLF": 0, "PAT_H": lanes // 2}.get(stmt.pattern, lanes // 4)
        self.masks[stmt.result] = None if on is None else np.repeat(on, width)
        return max(0, count - lanes)

    def on(self, mask: ops.Operand | None) -> np.ndarray:
        found = None if mask is None else self.masks.get(mask.name)
        return np.ones(register_bytes(), bool) if found is None else found

    # ------------------------------------------------------------ registers

    def sink(self, operands: Sequence[ops.Operand], on: np.ndarray | None = None) -> None:
        """These registers matter, as far as `on` says."""
        for operand in operands:
            for number, own in self.held.get(operand.name, {}).items():
                self.loads[number].used |= own if on is None else own & on

    def _foul(self, name: str) -> np.ndarray:
        return self.garbage.get(name, np.zeros(register_bytes(), bool))

    def rename(self, names: Mapping[str, str]) -> None:
        """Registers under other names."""
        moved = {new: self._foul(old) for new, old in names.items()}
        self.garbage |= moved
        self.masks |= {new: self.masks[old] for new, old in names.items() if old in self.masks}

    def _passes_on(self, stmt: ops.VectorOp, on: np.ndarray) -> None:
        """Garbage in the operands of an operation, in its results."""
        sides = [self._foul(o.name) for o in stmt.args]
        foul = np.logical_or.reduce([*sides, np.zeros(register_bytes(), bool)])
        widths = set(stmt.lane_bytes)
        if _LANEWISE.fullmatch(stmt.name) and len(widths) == 1 and max(widths):
            foul = np.repeat(foul.reshape(-1, max(widths)).any(1), max(widths)) & on
        elif stmt.name == "vcvt" and stmt.part in ("EVEN", "P0") and any(widths):
            foul = np.repeat(foul.reshape(-1, max(widths)).any(1), max(widths))
        elif _REDUCING.fullmatch(stmt.name):
            foul = np.full(register_bytes(), bool((foul & on).any()))
        elif stmt.args:
            foul = np.full(register_bytes(), bool(foul.any()))
        for result in stmt.results:
            self.garbage[result] = foul

    def operate(self, stmt: ops.VectorOp) -> None:
        on = self.on(stmt.mask)
        self._passes_on(stmt, on)
        for result in stmt.results:
            self.held[result] = {}
        if _REDUCING.fullmatch(stmt.name):
            self.sink(stmt.args, on)
        elif stmt.name == "vcvt" and stmt.part in ("EVEN", "P0") and stmt.args and stmt.results:
            for number, own in self.held.get(stmt.args[0].name, {}).items():
                self.held[stmt.results[0]][number] = own  # an element stays within the slot of the wider one
        elif _LANEWISE.fullmatch(stmt.name) and len(stmt.results) == 1 and len(set(stmt.lane_bytes)) == 1:
            into = self.held[stmt.results[0]]
            for operand in stmt.args:
                for number, own in self.held.get(operand.name, {}).items():
                    into[number] = into.get(number, np.zeros(register_bytes(), bool)) | (own & on)
        else:
            self.sink(stmt.args)

    def needed(self) -> Iterator[tuple[int, str, np.ndarray]]:
        """Of every load its event, its memory, and the bytes that came to matter."""
        for load in self.loads:
            yield load.event, load.place, distinct(load.source[load.used])

    # ------------------------------------------------------------ memory

    def load(
        self, stmt: ops.AccessOp, at: int, item: int, event: int, place: str, foul: np.ndarray | None = None
    ) -> np.ndarray:
        """Fills registers; all bytes of memory that are read for it, needed or not. `foul` are bytes that hold none."""
        self.foul = np.zeros(0, bool) if foul is None else foul
        if stmt.form == "scalar":
            return np.arange(at, at + item)
        if stmt.form != "vector":
            predicate = {"US": 16, "DS": 64}.get(stmt.dist, 32)
            size = {"whole": stmt.lanes * stmt.lane_bytes, "pair": 512, "predicate": predicate}.get(stmt.form, 0)
            source = np.full((register_bytes(), size), 0) + np.arange(at, at + size)
            for result in stmt.results:
                self._fill(result, source, event, place)
            return np.arange(at, at + size)
        width = self.width(stmt, item)
        byte = np.arange(register_bytes())[:, None]
        unit = np.arange(width)[None, :]
        kind = stmt.dist.split("_")[0] or "NORM"
        start = {
            "NORM": byte // width * width,
            "BRC": 0 * byte,
            "UNPK": byte // (2 * width) * width,
            "US": byte // (2 * width) * width,
            "DS": byte // width * 2 * width,
            "E2B": byte // 32 * width,
        }.get(kind, byte // width * width)
        source = at + (start + unit if stmt.dist not in ("BLK", "BRC_BLK") else byte % 32)
        for result in stmt.results:
            self._fill(result, source, event, place)
        return np.arange(source.min(), source.max() + 1)

    def _fill(self, name: str, source: np.ndarray, event: int, place: str) -> None:
        self.loads.append(_Load(event, place, source, np.zeros(register_bytes(), bool)))
        self.held[name] = {len(self.loads) - 1: np.ones(register_bytes(), bool)}
        inside = (source >= 0) & (source < len(self.foul))
        found = np.zeros(source.shape, bool)
        found[inside] = self.foul[source[inside]]
        self.garbage[name] = np.logical_or.reduce(found, axis=1)

    def store(self, stmt: ops.AccessOp, at: int, item: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
        """The bytes of memory that are written, and which of them with garbage."""
        touched = self._touched(stmt, at, item, stride)
        foul = np.logical_or.reduce([*(self._foul(o.name) for o in stmt.values), np.zeros(register_bytes(), bool)])
        on = np.flatnonzero(self.on(stmt.mask))
        if stmt.form == "blocks":
            return touched, foul[on]
        if stmt.form == "vector" and len(stmt.values) == 1:
            width = self.width(stmt, item)
            kind = stmt.dist.split("_")[0]
            if kind in ("1PT", "ONEPT"):
                return touched, foul[:width]
            return touched, foul[on[on % width < width // {"PK": 2, "PK4": 4}.get(kind, 1)]]
        return touched, np.full(len(touched), bool(foul.any()))

    def width(self, stmt: ops.AccessOp, item: int) -> int:
        found = re.search(r"_B(\d+)", stmt.dist)
        return int(found[1][:9]) // 8 if found else stmt.lane_bytes or item

    def _touched(self, stmt: ops.AccessOp, at: int, item: int, stride: int) -> np.ndarray:
        on = self.on(stmt.mask)
        if stmt.form == "scalar":
            return np.arange(at, at + item)
        if stmt.form == "blocks":
            self.sink(stmt.values, on)
            bytes_ = np.flatnonzero(on)
            return at + bytes_ // 32 * stride * 32 + bytes_ % 32
        if stmt.form != "vector":
            self.sink(stmt.values)
            predicate = 16 if stmt.dist == "PK" else 32
            size = {"whole": stmt.lanes * stmt.lane_bytes, "pair": 512, "predicate": predicate}.get(stmt.form, 0)
            return np.arange(at, at + size)
        width = self.width(stmt, item)
        kind = stmt.dist.split("_")[0]
        if kind in ("1PT", "ONEPT"):
            self.sink(stmt.values, np.arange(register_bytes()) < width)
            return np.arange(at, at + width)
        self.sink(stmt.values, on)
        bytes_ = np.flatnonzero(on)
        part = {"PK": 2, "PK4": 4}.get(kind, 1)
        kept = bytes_[bytes_ % width < width // part]
        return at + kept // width * (width // part) + kept % width
