"""What accesses that are no copies touch: masks as prefixes of lanes, distributions as bytes, demand as surplus.

Knows: masks and what is left over, footprints by the target's data, pointers that move on, which pipe runs what.
Does not know: text, order, proofs.
Law: the touches of an access hold every byte that it may touch; a byte counts as written only where it surely is, a
byte read counts as needed wherever it may matter.

Source: encodings/pto/target.toml, [vector]; PTO v0.6 (masks, plt, scalar pipe).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmaverify.language.affine import ZERO, Cond, Lin, compare
from dmaverify.machines.pto import ops
from dmaverify.machines.pto.distributions import Distribution, VectorUnit, vector_unit
from dmaverify.machines.pto.lanes import Demand, demands_of
from dmaverify.machines.pto.ops import Operand
from dmaverify.machines.pto.rank_events import RankMeaning
from dmaverify.machines.pto.scopes import MemoryBarrier
from dmaverify.machines.pto.sources import Origin, sources_of
from dmaverify.machines.pto.stated import Setting
from dmaverify.machines.pto.values import Lanes
from dmaverify.program.instructions import CopyTouch, Event, Fence, Place, StoredSource, Use
from dmaverify.prove.flow.order.scope_order import MEMORY, without_barriers
from dmaverify.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class _Extent:
    """Bytes from the start of an access, or of each of its blocks; `sure`: a store writes all of them."""

    length: Lin
    sure: bool = True
    blocks: tuple[tuple[Lin, Lin], ...] = ()
    open: bool = False


_OPEN = _Extent(ZERO, False, (), True)


class Accesses(RankMeaning):
    """Loads and stores of the vector and scalar units."""

    def __init__(self, function: ops.KernelFunction, setting: Setting) -> None:
        super().__init__(function, setting)
        self.unit: VectorUnit = vector_unit(function.target)
        self.demands: dict[int, Demand] = demands_of(function.body, self.unit)
        self.origins = sources_of(function.body, self.unit)
        self.lanes_of: dict[int, Lanes] = {}
        self.scopes = 0
        self.uses = 0

    # ------------------------------------------------------------ scopes

    def _memorybarrier(self, stmt: MemoryBarrier) -> list[Fence]:
        kinds = [kind for kind, names in self.unit.barriers.items() if stmt.kind in names]
        return [Fence(MEMORY[kind], stmt.span) for kind in kinds] if self.scopes else []

    def whole_scope(self, events: list[Event]) -> list[Event]:
        """The events of a scope that ends, without its barriers, which are kept beside."""
        self.kernel.scopes += [] if self.dry else [tuple(events)]
        return without_barriers(events)

    # ------------------------------------------------------------ masks

    def _mask(self, stmt: ops.Mask) -> None:
        width = stmt.lane_bits // 8 or 1
        most = self.unit.register_bytes // width
        made = Lanes(Lin(most), width, False)
        if stmt.op in ("pset", "pge"):
            if stmt.pattern in self.unit.first:
                made = Lanes(Lin(min(most, self.unit.first[stmt.pattern])), width, True)
            elif stmt.pattern in self.unit.share:
                made = Lanes(Lin(most // self.unit.share[stmt.pattern]), width, True)
        elif stmt.op == "plt" and stmt.count is not None:
            left = self.value(stmt.count)
            left = self.as_number(left) if isinstance(left, Cond) else left
            if isinstance(left, Lin) and not self.world.roots(left) & self.opaque:
                active = self.world.least(self.world.least(left, Lin(most)), ZERO, most=True)
                made = Lanes(active, width, True)
                if stmt.rest:
                    self.values[stmt.rest] = self.world.least(left - most, ZERO, most=True)
            elif stmt.rest:
                self.values[stmt.rest] = self.unfollowed(stmt.rest, 0)
        elif stmt.op == "pand":
            parts = [m for m in map(self._lanes, stmt.args) if m is not None and m.lane_bytes == width]
            for part in parts:
                made = replace(made, count=self.world.least(made.count, part.count))
            made = replace(made, sure=len(parts) == len(stmt.args) and all(p.sure for p in parts))
        self.values[stmt.result] = made
        self.lanes_of[id(stmt)] = made

    def _lanes(self, operand: Operand | None) -> Lanes | None:
        found = None if operand is None else self.values.get(operand.name)
        return found if isinstance(found, Lanes) else None

    def _vectorop(self, stmt: ops.VectorOp) -> None:
        self.values |= dict.fromkeys(stmt.results)
        self.typed(stmt.typed, stmt.span)

    # ------------------------------------------------------------ one access

    def _accessop(self, stmt: ops.AccessOp) -> list[Use] | None:
        self.values |= dict.fromkeys(stmt.results)
        pointer = self.pointer_of(stmt.pointer)
        if not isinstance(pointer, Place) or self.world.roots(pointer.address) & self.opaque:
            self.remark(
                "unresolved",
                f"{stmt.what}: the pointer `{stmt.pointer.name}` cannot be resolved",
                stmt.pointer.span,
                "its accesses are not judged",
            )
            return None
        offset = self._offset(stmt, stmt.item_bytes or pointer.item_bytes)
        extent = _OPEN if offset is None else self._extent(stmt, pointer)
        if extent.open:
            self.suppose(f"{stmt.what} at line {stmt.span.line} stays in the buffer that begins at its address")
        starts = [offset or ZERO]
        if pointer.space == "ub" and offset is not None:
            self._aligned(stmt, pointer.address + (ZERO if stmt.moved else offset))
        if stmt.moved and offset is not None and offset != ZERO:
            starts = [ZERO, offset]
        pipe = "S" if stmt.form == "scalar" and not self.scopes else "V"
        out = []
        for start in starts:
            place = replace(pointer, address=pointer.address + start)
            touches = self._touches(stmt, place, extent, len(starts) > 1)
            if touches:
                self.uses += 1
                guessed = start is not starts[0] or (stmt.form == "open" and stmt.way == "rw")
                doubtful = "place" if offset is None else "bytes" if guessed else "order" if pipe == "S" else ""
                use = Use(-self.uses, pipe, touches, stmt.span, stmt.what, self.when, doubtful)
                out.append(replace(use, load=self.origins.loads.get(id(stmt), 0), **self._comes_from(stmt)))
        return out

    def _aligned(self, stmt: ops.AccessOp, address: Lin) -> None:
        """That an access begins where the data says that its distribution may, blocks at blocks."""
        known = self._distribution(stmt)
        align = self.unit.block_bytes if stmt.form == "blocks" else known.align if known is not None else 0
        if align and not self.dry and not self.world.decide(compare("eq", self.world.modulo(address, align))):
            self._fact({"address_bytes": address, "align_bytes": Lin(align)}, stmt.what, stmt.span)

    def _distribution(self, stmt: ops.AccessOp) -> Distribution | None:
        """The distribution that an access names, or has where it names none; None where there is none that is known."""
        name = stmt.dist or ("NORM" if stmt.form != "pair" else "")
        if stmt.form not in ("vector", "pair", "predicate"):
            return None
        return self.unit.distribution(stmt.way, f"PRED_{name}" if stmt.form == "predicate" else name)

    def _comes_from(self, stmt: ops.AccessOp) -> dict[str, Any]:
        """Where what an access stores comes from."""
        held = self.origins.stores.get(id(stmt), frozenset())
        numbered = {number: self.lanes_of.get(mask) for mask, number in self.origins.masks.items()}
        sources = []
        for origin in sorted(held, key=Origin.order):
            masks = [(lanes, width) for m, width in sorted(origin.masks) if (lanes := numbered[m]) is not None]
            whole = Lin(self.unit.register_bytes)
            limit = whole
            for lanes, width in masks:
                limit = self.world.least(limit, lanes.count * width)
            plain = origin.plain and all(lanes.sure for lanes, _ in masks)
            bound = None if limit == whole else limit
            shape = (origin.load, origin.unit, origin.bytes, origin.per)
            sources.append(StoredSource(*shape, bound, plain, origin.past, origin.first))
        known = self.unit.distribution("w", stmt.dist or "NORM") if stmt.form == "vector" else None
        share = (known.bytes, known.register) if known is not None and known.register else (1, 1)
        return {"sources": tuple(sources), "bytes": share[0], "per": share[1]}

    def _offset(self, stmt: ops.AccessOp, item_bytes: int) -> Lin | None:
        """Bytes from the pointer; None where an index has no value."""
        total = ZERO
        for index, elements in stmt.offsets:
            value = self.value(index)
            value = self.as_number(value) if isinstance(value, Cond) else value
            if not isinstance(value, Lin) or self.world.roots(value) & self.opaque:
                return None
            total = total + value * (elements * item_bytes)
        return total

    def _touches(self, stmt: ops.AccessOp, place: Place, extent: _Extent, unsure: bool) -> tuple[CopyTouch, ...]:
        kinds = {"r": ("read",), "w": ("data",), "rw": ("read", "data")}[stmt.way]
        written = "data" if extent.sure and not unsure else "maybe"
        out = []
        for kind in kinds:
            kind = written if kind == "data" else kind
            if extent.open or extent.length != ZERO:
                why = self._doubt(stmt) if kind == "maybe" else ""
                out.append(CopyTouch(kind, place, ZERO, extent.length, extent.blocks, None, extent.open, why))
        return tuple(out)

    def _doubt(self, stmt: ops.AccessOp) -> str:
        """Why it is not known which bytes a store writes, and what would settle it."""
        lanes = self._lanes(stmt.mask)
        if stmt.mask is not None and (lanes is None or not lanes.sure):
            how = '`pto.pset_b32 "PAT_ALL"` or `pto.plt_b32 %count` makes one whose lanes are known'
            return f"which lanes its mask `{stmt.mask.name}` lets through is not known; {how}"
        if stmt.mask is not None and lanes is not None and lanes.lane_bytes != stmt.lane_bytes:
            return f"its mask has lanes of {lanes.lane_bytes * 8} bits, what it stores of {stmt.lane_bytes * 8}"
        return (
            f"which bytes it writes{f' with {stmt.dist}' if stmt.dist else ''} is not documented; those of NORM_B32 are"
        )

    # ------------------------------------------------------------ extents

    def _extent(self, stmt: ops.AccessOp, pointer: Place) -> _Extent:
        item = stmt.item_bytes or pointer.item_bytes
        if stmt.form == "scalar":
            return _Extent(Lin(item))
        if stmt.form == "whole":
            return _Extent(Lin(stmt.lanes * stmt.lane_bytes), stmt.mask is None)
        if stmt.form == "blocks":
            return self._blocks(stmt)
        known = self._distribution(stmt)
        if known is None:
            return _OPEN
        return self._by_distribution(stmt, known) if stmt.way == "w" else _Extent(Lin(known.bytes))

    def _by_distribution(self, stmt: ops.AccessOp, known: Distribution) -> _Extent:
        """What a store writes: so much of its register as the mask lets through, in the distribution's proportion."""
        if stmt.mask is None:
            return _Extent(Lin(known.bytes), not known.partly)
        active, sure = self._active(stmt, known.unit if known.unit > 1 else stmt.lane_bytes)
        least = self.world.interval(active)[0]
        if not known.register:
            whole = least is not None and least >= (self.unit.register_bytes if known.bytes > self._size(stmt) else 1)
            return _Extent(Lin(known.bytes), sure and whole and not known.partly)
        length = self.world.divide(active * known.bytes + (known.register - 1), known.register)
        return _Extent(self.world.least(length, Lin(known.bytes)), sure and not known.partly)

    def _active(self, stmt: ops.AccessOp, lane_bytes: int) -> tuple[Lin, bool]:
        """Bytes of the register up to the last lane that the mask may let through, and whether it lets all through."""
        size = self._size(stmt)
        lanes = self._lanes(stmt.mask)
        if stmt.mask is None or lanes is None:
            return Lin(size), stmt.mask is None
        width = max(lanes.lane_bytes, lane_bytes)
        sure = lanes.sure and (not lane_bytes or lanes.lane_bytes == lane_bytes)
        return self.world.least(lanes.count * width, Lin(size)), sure

    def _size(self, stmt: ops.AccessOp) -> int:
        return stmt.lanes * stmt.lane_bytes or self.unit.register_bytes

    def _blocks(self, stmt: ops.AccessOp) -> _Extent:
        stride = None if stmt.stride is None else self.value(stmt.stride)
        if not isinstance(stride, Lin) or self.world.roots(stride) & self.opaque:
            return _OPEN
        active, sure = self._active(stmt, stmt.lane_bytes)
        block = self.unit.block_bytes
        whole = active.is_const and active.const % block == 0
        count = active.const // block if whole else self.unit.blocks
        if active.is_const and not whole:
            count = -(-active.const // block)
        return _Extent(Lin(block if count else 0), sure and whole, ((Lin(count), stride * block),))

    # ------------------------------------------------------------ demand

    def narrowed(self, uses: Sequence[Use], stmt: ops.AccessOp) -> list[Use]:
        """The same, bytes that no result needs as surplus; all values of the block around are known by now."""
        needed = self._needed(stmt)
        return list(uses) if needed is None else [replace(u, touches=self._split(u.touches, needed)) for u in uses]

    def _needed(self, stmt: ops.AccessOp) -> Lin | None:
        """How many bytes of memory matter, from the first on; None for all."""
        demand = self.demands.get(id(stmt))
        name = stmt.dist or ("NORM" if stmt.form == "vector" else "")
        known = self.unit.distribution("r", name)
        if demand is None or known is None or stmt.form not in ("vector", "pair") or known.partly:
            return None
        if not demand:
            return ZERO
        if not known.register:
            return None
        most = ZERO
        for atoms, unit in sorted(demand, key=str):
            least = Lin(self._size(stmt))
            for mask, size in sorted(atoms):
                lanes = self.lanes_of.get(mask)
                if mask == 0:
                    least = self.world.least(least, Lin(size))
                elif lanes is not None:
                    least = self.world.least(least, lanes.count * max(size, stmt.lane_bytes))
            most = self.world.least(most, self.world.round_up(least, unit), most=True)
        length = self.world.divide(most * known.bytes + (known.register - 1), known.register)
        return self.world.least(self.world.round_up(length, known.unit), Lin(known.bytes))

    def _split(self, touches: Sequence[CopyTouch], needed: Lin) -> tuple[CopyTouch, ...]:
        out: list[CopyTouch] = []
        for touch in touches:
            rest = touch.length - needed
            if touch.kind != "read" or touch.open or rest == ZERO:
                out.append(touch)
                continue
            out += [replace(touch, length=needed)] if needed != ZERO else []
            out.append(replace(touch, kind="surplus", offset=touch.offset + needed, length=rest))
        return tuple(out)
