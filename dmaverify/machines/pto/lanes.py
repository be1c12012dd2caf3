"""Which bytes of a loaded register matter: the lanes that reach a store, a reduction, or anything not known here.

Knows: how demand goes from the result of an operation to its operands, masks and loops around definitions.
Does not know: the value of any mask, memory, proofs.
Law: bytes outside of a value's demand reach no result; whatever is not understood demands the whole register. A mask
counts only where every value that it bounds lives within the iteration that made the mask.

Source: encodings/pto/target.toml, [vector.lanes] (PTO v0.6: lanes that a mask leaves out do not matter).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmaverify.machines.pto import ops
from dmaverify.machines.pto.distributions import VectorUnit
from dmaverify.machines.pto.ops import Operand, Stmt
from dmaverify.values import dataclass, field

Atom = tuple[int, int]  # (id of a Mask, bytes of a lane), or (0, bytes)
Term = tuple[frozenset[Atom], int]  # the least of the atoms, rounded up to so many bytes
Demand = frozenset[Term]  # the most of the terms; empty: nothing is needed
ALL: Demand = frozenset({(frozenset[Atom](), 1)})
MOST_TERMS = 8
_PARTS = frozenset(["EVEN", "ODD", "P0", "P1", "P2", "P3"])


@dataclass(eq=False)
class _Value:
    """A register: the loops around its definition, and its uses as (statement, operand number, names there)."""

    loops: tuple[int, ...]
    uses: list[tuple[Stmt, int, Mapping[str, _Value | _Made]]] = field(default_factory=list)
    demand: Demand | None = None


@dataclass(frozen=True)
class _Made:
    """A mask with the loops around it."""

    mask: ops.Mask
    loops: tuple[int, ...]


def demands_of(body: Sequence[Stmt], unit: VectorUnit) -> dict[int, Demand]:
    """What is needed of the registers that an access loads, by the id of its statement."""
    walk = _LaneWalk(unit)
    walk.block(body, {}, ())
    out: dict[int, Demand] = {}
    for access, values in walk.loads:
        demand: Demand = frozenset()
        for value in values:
            demand = _most(demand, walk.demand(value))
        out[id(access)] = demand
    return out


@dataclass
class _LaneWalk:
    unit: VectorUnit
    loads: list[tuple[ops.AccessOp, list[_Value]]] = field(default_factory=list)
    results: dict[tuple[int, int], _Value] = field(default_factory=dict)
    made_in: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def block(self, body: Sequence[Stmt], names: dict[str, _Value | _Made], loops: tuple[int, ...]) -> None:
        for stmt in body:
            for index, operand in enumerate(_operands(stmt)):
                found = names.get(operand.name)
                if isinstance(found, _Value):
                    found.uses.append((stmt, index, names))
            if isinstance(stmt, ops.For):
                self.block(stmt.body, dict(names), (*loops, id(stmt)))
            elif isinstance(stmt, ops.While):
                inside = dict(names)
                self.block(stmt.before, inside, (*loops, id(stmt)))
                self.block(stmt.body, inside, (*loops, id(stmt)))
            elif isinstance(stmt, ops.If):
                self.block(stmt.then, dict(names), loops)
                self.block(stmt.other, dict(names), loops)
            elif isinstance(stmt, ops.Block):
                self.block(stmt.body, dict(names), loops)
            elif isinstance(stmt, ops.Mask):
                names[stmt.result] = _Made(stmt, loops)
                self.made_in[id(stmt)] = loops
            elif isinstance(stmt, (ops.AccessOp, ops.VectorOp)):
                made = [_Value(loops) for _ in stmt.results]
                names |= dict(zip(stmt.results, made, strict=True))
                if isinstance(stmt, ops.AccessOp):
                    self.loads.append((stmt, made))
                for index, value in enumerate(made):
                    self.results[id(stmt), index] = value

    def demand(self, value: _Value) -> Demand:
        if value.demand is None:
            found: Demand = frozenset()
            for stmt, index, names in value.uses:
                found = _most(found, self._here(self._use(stmt, index, names, value.loops), value.loops))
                if found == ALL:
                    break
            value.demand = found
        return value.demand

    def _here(self, demand: Demand, loops: tuple[int, ...]) -> Demand:
        """The demand without masks of loops that do not hold the value: those change while it stays."""
        inside = {at for at, around in self.made_in.items() if loops[: len(around)] == around} | {0}
        return frozenset((frozenset(a for a in atoms if a[0] in inside), unit) for atoms, unit in demand)

    def _use(self, stmt: Stmt, index: int, names: Mapping[str, _Value | _Made], loops: tuple[int, ...]) -> Demand:
        if isinstance(stmt, ops.AccessOp):
            return self._stored(stmt, names, loops)
        if not isinstance(stmt, ops.VectorOp) or index >= len(stmt.args):
            return ALL
        kind = self.unit.lanes.get(stmt.name)
        mask = self._mask(stmt.mask, names, loops)
        if kind == "reducing":
            return ALL if mask is None else _term(mask)
        width = stmt.lane_bytes[index] if index < len(stmt.lane_bytes) else 0
        if kind == "spreading" and stmt.part == "LOWEST" and width:
            return _term((0, width))
        if kind not in ("lanewise", "keeping", "converting") or len(stmt.results) != 1:
            return ALL
        widths = set(stmt.lane_bytes)
        if 0 in widths or (len(widths) > 1 and not (kind == "converting" and stmt.part in _PARTS)):
            return ALL
        needed = self.demand(self.results[id(stmt), 0])
        if kind == "converting":
            return frozenset((atoms, max(unit, *widths, 1)) for atoms, unit in needed)
        if kind == "keeping" or mask is None:
            return needed
        return frozenset((atoms | {mask}, unit) for atoms, unit in needed)

    def _stored(self, stmt: ops.AccessOp, names: Mapping[str, _Value | _Made], loops: tuple[int, ...]) -> Demand:
        mask = self._mask(stmt.mask, names, loops)
        if stmt.form == "blocks":
            return ALL if mask is None else _term(mask)
        known = self.unit.distribution("w", stmt.dist or "NORM")
        if stmt.form != "vector" or known is None or known.partly:
            return ALL
        if not known.register:
            return _term((0, max(known.bytes, stmt.lane_bytes)))
        return ALL if mask is None else _term(mask)

    def _mask(
        self, operand: Operand | None, names: Mapping[str, _Value | _Made], loops: tuple[int, ...]
    ) -> Atom | None:
        found = None if operand is None else names.get(operand.name)
        if not isinstance(found, _Made) or loops[: len(found.loops)] != found.loops or not found.mask.lane_bits:
            return None
        return id(found.mask), found.mask.lane_bits // 8


def _operands(stmt: Stmt) -> Sequence[Operand]:
    """Operands in which a register can stand."""
    if isinstance(stmt, (ops.VectorOp, ops.Arith, ops.Yield)):
        return stmt.args
    if isinstance(stmt, ops.AccessOp):
        return stmt.values
    if isinstance(stmt, ops.Bind):
        return (stmt.source,)
    if isinstance(stmt, ops.While):
        return [*(first for _, first in stmt.carried), *stmt.passed]
    return [first for _, first in stmt.carried] if isinstance(stmt, ops.For) else ()


def _term(atom: Atom) -> Demand:
    return frozenset({(frozenset({atom}), 1)})


def _most(one: Demand, two: Demand) -> Demand:
    """Both demands; a term that another holds wholly is left out."""
    terms = one | two
    kept = frozenset(t for t in terms if not any(u != t and u[0] <= t[0] and u[1] >= t[1] for u in terms))
    return ALL if len(kept) > MOST_TERMS or any(not atoms for atoms, _ in kept) else kept
