"""Vector registers run lane by lane: which bytes of memory each came from, and which of them came to matter.

Knows: masks as arrays of lanes, how each distribution lays memory out in a register, what each operation makes of each
lane, one execution.
Does not know: terms, tables of the target, the demand of the proof.
Law: a byte of memory matters when it is at the place of a lane that is stored, reduced, or given to what is not known.
What an operation without a rule here makes of garbage is a doubt, no garbage: nothing is found in it.

Source: PTO v0.6 (vlds, vsts and their distributions, vector arithmetic, masks, plt); AscendC, Reg API, LoadAlign and
StoreAlign (where accesses begin).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dmaverify.execute.outcome import Beyond
from dmaverify.language.distinct import distinct
from dmaverify.machines.pto import ops
from dmaverify.values import dataclass, field

CLEAN, DOUBT, GARBAGE = 0, 1, 2  # of a byte of a register: what may be garbage is a doubt
LANEWISE = re.compile(
    r"v(abs|neg|exp|ln|r?sqrt|rec|l?relu|not|add|sub|mul|div|max|min|and|or|xor|shl|shr|prelu|expdiff?|absdif|(add|sub)relu)s?"
)
_KEEPING = ("vmula", "vaxpy", "vsel", "vmov")  # of which lanes that the mask leaves out are those of an operand
_REDUCING = re.compile(r"vc(g|p)?(add|max|min)|vcmps?")
_PARTS = {"EVEN": 0, "ODD": 1, "P0": 0, "P1": 1, "P2": 2, "P3": 3}


def _lanes(foul: np.ndarray, width: int) -> np.ndarray:
    """What is known of each lane, at each of its bytes."""
    return np.asarray(np.repeat(foul.reshape(-1, width).max(axis=1), width))


def _doubtful(foul: np.ndarray) -> np.ndarray:
    return np.asarray(np.minimum(foul, DOUBT))


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

    size: int  # of each, in bytes
    loads: list[_Load] = field(default_factory=list)
    held: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)
    masks: dict[str, np.ndarray | None] = field(default_factory=dict)
    garbage: dict[str, np.ndarray] = field(default_factory=dict)  # what is known of each byte that is not clean
    foul: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int8))

    # ------------------------------------------------------------ masks

    def mask(self, stmt: ops.Mask, count: int) -> int:
        """Sets a mask, as bytes of a register; what `plt` leaves over."""
        width = max(1, stmt.lane_bits // 8)
        lanes = self.size // width
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
        return np.ones(self.size, bool) if found is None else found

    def known(self, masks: Sequence[ops.Operand]) -> bool:
        """Whether it is known which lanes all of these masks are of."""
        return all(self.masks.get(mask.name) is not None for mask in masks)

    # ------------------------------------------------------------ registers

    def sink(self, operands: Sequence[ops.Operand], on: np.ndarray | None = None) -> None:
        """These registers matter, as far as `on` says."""
        for operand in operands:
            for number, own in self.held.get(operand.name, {}).items():
                self.loads[number].used |= own if on is None else own & on

    def _foul(self, name: str) -> np.ndarray:
        return self.garbage.get(name, np.zeros(self.size, np.int8))

    def rename(self, names: Mapping[str, str]) -> None:
        """Registers under other names."""
        moved = {new: self._foul(old) for new, old in names.items()}
        self.garbage |= moved
        self.masks |= {new: self.masks[old] for new, old in names.items() if old in self.masks}

    def operate(self, stmt: ops.VectorOp) -> None:
        """What is known of the results of an operation, and which bytes of its operands came to matter."""
        on, name = self.on(stmt.mask), stmt.name
        sides = [self._foul(o.name) for o in stmt.args]
        foul = np.maximum.reduce([*sides, np.zeros(self.size, np.int8)])
        width = max(stmt.lane_bytes, default=0)
        alike = len(stmt.results) == 1 and len(set(stmt.lane_bytes) - {0}) == 1  # of what a loop carries it is not told
        held: dict[int, np.ndarray] = {}
        if LANEWISE.fullmatch(name) and alike:
            made = np.where(on, _lanes(foul, width), CLEAN)
            held = self._at_place(stmt.args, on)
        elif name in _KEEPING and alike:
            off = _lanes(sides[1], width) if name == "vsel" and len(sides) == 2 else _doubtful(_lanes(foul, width))
            kept = _lanes(sides[0], width) if name == "vsel" and len(sides) == 2 else _lanes(foul, width)
            made = np.where(on, kept, off)
            held = self._at_place(stmt.args, np.ones(self.size, bool))
        elif _REDUCING.fullmatch(name) and (width or not stmt.results):
            made = _reduced(name, np.where(on, foul, CLEAN), width)
            self.sink(stmt.args, on)
        elif name == "vcvt" and len(stmt.lane_bytes) == 2 and (alike or stmt.part in _PARTS) and min(stmt.lane_bytes):
            made = _converted(foul, *stmt.lane_bytes, _PARTS.get(stmt.part, 0))
            made = np.where(on, made, _doubtful(made))
            # an element stays within the slot of the wider one
            held = self._at_place(stmt.args, np.ones(self.size, bool))
        elif name == "vdup" and stmt.part == "LOWEST" and alike:
            first = np.arange(self.size) < width
            made = np.full(self.size, foul[:width].max())
            made = np.where(on, made, _doubtful(made))
            self.sink(stmt.args, first)
        else:
            made = np.full(self.size, min(foul.max(), DOUBT))
            self.sink(stmt.args)
        if not self.known(stmt.masks):
            made = _doubtful(made)
        for result in stmt.results:
            self.held[result], self.garbage[result] = held, made

    def _at_place(self, operands: Sequence[ops.Operand], on: np.ndarray) -> dict[int, np.ndarray]:
        """Of each load that these hold, the bytes that are at their place where `on` says."""
        out: dict[int, np.ndarray] = {}
        for operand in operands:
            for number, own in self.held.get(operand.name, {}).items():
                out[number] = out.get(number, np.zeros(self.size, bool)) | (own & on)
        return out

    def needed(self) -> Iterator[tuple[int, str, np.ndarray]]:
        """Of every load its event, its memory, and the bytes that came to matter."""
        for load in self.loads:
            yield load.event, load.place, distinct(load.source[load.used])

    # ------------------------------------------------------------ memory

    def load(
        self,
        stmt: ops.AccessOp,
        at: int,
        item: int,
        stride: int,
        event: int,
        place: str,
        foul: np.ndarray | None = None,
    ) -> np.ndarray:
        """Fills registers; all bytes of memory that are read for it, needed or not. `foul` tells what is known of the
        bytes of the memory. Raises Beyond for a distribution that has no rule here.
        """
        self.foul = np.zeros(0, np.int8) if foul is None else foul
        if stmt.form == "scalar":
            return np.arange(at, at + item)
        byte = np.arange(self.size)[:, None]
        if stmt.form == "blocks":
            on = self.on(stmt.mask)
            source = at + byte // 32 * stride * 32 + byte % 32
            for result in stmt.results:
                self._fill(result, source, event, place, on)
                if not self.known(stmt.masks):
                    self.garbage[result] = _doubtful(self.garbage[result])
            return distinct(source[on])
        if stmt.form not in ("vector", "pair"):
            predicate = {"US": 16, "DS": 64}.get(stmt.dist, 32)
            size = {"whole": stmt.lanes * stmt.lane_bytes, "predicate": predicate}.get(stmt.form, 0)
            for result in stmt.results:
                self._fill(result, np.full((self.size, size), 0) + np.arange(at, at + size), event, place)
                known = self.garbage[result] if size else np.full(self.size, DOUBT, np.int8)
                self.garbage[result] = _doubtful(known)
            return np.arange(at, at + size)
        width = self.width(stmt, item)
        for index, result in enumerate(stmt.results):
            self._fill(result, at + _laid_out(stmt, width, byte, index), event, place)
        if stmt.form == "pair":
            return np.arange(at, at + 2 * self.size)
        source = at + _laid_out(stmt, width, byte, 0)
        return np.arange(source.min(), source.max() + 1)

    def _fill(self, name: str, source: np.ndarray, event: int, place: str, on: np.ndarray | None = None) -> None:
        on = np.ones(self.size, bool) if on is None else on
        self.loads.append(_Load(event, place, source, np.zeros(self.size, bool)))
        self.held[name] = {len(self.loads) - 1: on}
        inside = (source >= 0) & (source < len(self.foul))
        found = np.zeros(source.shape, np.int8)
        found[inside] = self.foul[source[inside]]
        self.garbage[name] = np.where(on, found.max(axis=1, initial=CLEAN), CLEAN)

    def store(self, stmt: ops.AccessOp, at: int, item: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
        """The bytes of memory that are written, and what is known of each."""
        touched = self._touched(stmt, at, item, stride)
        sides = [self._foul(o.name) for o in stmt.values]
        foul = np.maximum.reduce([*sides, np.zeros(self.size, np.int8)])
        on = np.flatnonzero(self.on(stmt.mask))
        width = self.width(stmt, item)
        kind = stmt.dist.split("_")[0]
        if stmt.form == "blocks" and sides:
            made = foul[on]
        elif stmt.form == "vector" and len(sides) == 1:
            made = foul[on[on % width < width // {"PK": 2, "PK4": 4}.get(kind, 1)]]
            if kind in ("1PT", "ONEPT"):
                made = foul[:width]
        elif stmt.form == "pair" and len(sides) == 2 and kind == "INTLV":
            made = np.stack([side.reshape(-1, width) for side in sides], axis=1).ravel()
            made = made if len(on) == self.size else _doubtful(made)
        else:
            most = DOUBT if stmt.form != "scalar" and not sides else min(foul.max(), DOUBT)
            made = np.full(len(touched), most, np.int8)
        return touched, made if self.known(stmt.masks) else _doubtful(made)

    def width(self, stmt: ops.AccessOp, item: int) -> int:
        found = re.search(r"_B(\d+)", stmt.dist)
        return int(found[1][:9]) // 8 if found else stmt.lane_bytes or item

    def aligned(self, stmt: ops.AccessOp, at: int, item: int) -> bool:
        """Whether an access may begin there: single elements at their width, sixteen bytes at sixteen, whole registers
        and blocks at a block; of channels, half predicates and what has no alignment nothing is said.
        """
        kind = stmt.dist.split("_")[0]
        if stmt.form not in ("vector", "pair", "predicate", "blocks") or kind[:3] in ("SPL", "MRG", "BDI"):
            return True
        if stmt.form == "predicate" and kind in ("US", "PK"):
            return True
        one = kind in ("1PT", "ONEPT") or (kind == "BRC" and stmt.dist != "BRC_BLK")
        return at % (self.width(stmt, item) if one else 16 if stmt.dist == "E2B_B16" else 32) == 0

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
        if kind not in ("", "NORM", "1PT", "ONEPT", "PK", "PK4"):
            raise Beyond(f"what {stmt.dist} stores")
        if kind in ("1PT", "ONEPT"):
            self.sink(stmt.values, np.arange(self.size) < width)
            return np.arange(at, at + width)
        self.sink(stmt.values, on)
        bytes_ = np.flatnonzero(on)
        part = {"PK": 2, "PK4": 4}.get(kind, 1)
        kept = bytes_[bytes_ % width < width // part]
        return at + kept // width * (width // part) + kept % width


def _laid_out(stmt: ops.AccessOp, width: int, byte: np.ndarray, index: int) -> np.ndarray:
    """For each byte of the register of this index, the bytes behind the pointer of which it is made."""
    unit = np.arange(width)[None, :]
    lane, kind = byte // width, stmt.dist.split("_")[0] or "NORM"
    if stmt.form == "pair":
        found = {"DINTLV": (2 * lane + index) * width + unit, "BDINTLV": byte // 32 * 64 + index * 32 + byte % 32}
    else:
        found = {
            "NORM": lane * width + unit,
            "BRC": 0 * byte + (byte % 32 if stmt.dist == "BRC_BLK" else unit),
            "BLK": byte % 32,
            "UNPK": lane // 2 * width + unit,
            "UNPK4": lane // 4 * width + unit,
            "US": lane // 2 * width + unit,
            "DS": 2 * lane * width + unit,
            "E2B": byte // 32 * width + unit,
        }
    if kind not in found:
        raise Beyond(f"what {stmt.dist or stmt.what} loads")
    return np.asarray(found[kind])


def _reduced(name: str, foul: np.ndarray, width: int) -> np.ndarray:
    """What is known of a reduction: of its first lane, of one for each block, of one for each two lanes."""
    made = np.full(len(foul), min(foul.max(), DOUBT), np.int8)
    if not width:
        return made
    if name.startswith("vcg"):
        each = foul.reshape(-1, 32).max(axis=1)
    elif name.startswith("vcp"):
        each = foul.reshape(-1, 2 * width).max(axis=1)
    else:
        each = foul.max(keepdims=True)
    made[: len(each) * width] = np.repeat(each, width)
    return made


def _converted(foul: np.ndarray, before: int, after: int, part: int) -> np.ndarray:
    """What is known of elements in the slots of the wider type: the narrow one is in one part of its slot."""
    wide, narrow = max(before, after), min(before, after)
    slots = foul.reshape(-1, wide)
    at = slice(part * narrow, (part + 1) * narrow) if wide > narrow else slice(None)
    if before <= after:
        return np.repeat(slots[:, at].max(axis=1, initial=CLEAN), wide)
    made = np.repeat(_doubtful(slots).max(axis=1)[:, None], wide, axis=1)  # what the other parts hold is not told
    made[:, at] = slots.max(axis=1)[:, None]
    return made.ravel()
