"""Where the bytes of stored registers come from: the loads before, and what of each a stored byte depends on.

Knows: registers and masks from their loads through operations, branches, regions and loops to their stores.
Does not know: addresses, what memory holds, how often a loop runs, proofs.
Law: whatever a stored byte depends on is among its origins; an operation that is not known here depends on all of its
operands, one without operands that is not known to make a value makes an unknown one. `plain` origins alone decide: if
those bytes are garbage, so are the stored ones.

Source: encodings/pto/target.toml, [vector.lanes] (lanes that a mask leaves out are zero).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from dmaverify.machines.pto import ops
from dmaverify.machines.pto.distributions import VectorUnit
from dmaverify.machines.pto.ops import Stmt
from dmaverify.values import dataclass, field, replace

_TO_ONE = ("vcadd", "vcmax", "vcmin")
UNKNOWN = -1  # no load: a register that something not known here made
MOST = 32


@dataclass(frozen=True, slots=True)
class Origin:
    """A load by its number. A register byte depends on those of its group of `unit` bytes (0: on all of the load).

    The load fills `per` bytes of the register from `bytes` of memory. No lane from those of `masks` (number, bytes of
    a lane) on depends on it; of a whole load, those do not count. `past`: a load of any iteration so far. `first`: so
    many bytes of the register are garbage if any byte that counts is.
    """

    load: int
    unit: int = 1
    bytes: int = 1
    per: int = 1
    masks: frozenset[tuple[int, int]] = frozenset()
    plain: bool = True
    past: bool = False
    first: int = 0

    def order(self) -> tuple[object, ...]:
        return (self.load, self.unit, self.bytes, self.per, self.plain, self.past, self.first, sorted(self.masks))

    def wide(self) -> Origin:
        spread = self.unit >= self.per > 1  # any lane holds all of the load
        made = replace(self, unit=0, plain=False, first=0)
        return replace(made, bytes=1, per=1) if spread else made


Origins = frozenset[Origin]
NONE: Origins = frozenset()
LOST: Origins = frozenset({Origin(UNKNOWN, 0, plain=False)})


@dataclass
class Sources:
    """Numbers of the accesses that fill registers or masks (`loads`) and of `masks`, and the origins of what an access
    stores, by the ids of their statements."""

    unit: VectorUnit
    loads: dict[int, int] = field(default_factory=dict)
    masks: dict[int, int] = field(default_factory=dict)
    stores: dict[int, Origins] = field(default_factory=dict)


def sources_of(body: Sequence[Stmt], unit: VectorUnit) -> Sources:
    """The origins of every store of a function."""
    out = Sources(unit)
    _SourceWalk(out).block(body, {})
    return out


@dataclass
class _SourceWalk:
    out: Sources
    masks: dict[str, ops.Mask] = field(default_factory=dict)
    last: tuple[int, Origins] = (-1, NONE)  # where the last access or operation stands, and what it depends on

    def block(self, body: Sequence[Stmt], names: dict[str, Origins]) -> list[Origins]:
        """What the region hands on."""
        given: list[Origins] = []
        for stmt in body:
            if isinstance(stmt, ops.Yield):
                given = [names.get(a.name, LOST) for a in stmt.args]
            else:
                self._stmt(stmt, names)
        return given

    def _stmt(self, stmt: Stmt, names: dict[str, Origins]) -> None:
        if isinstance(stmt, ops.AccessOp):
            self._access(stmt, names)
        elif isinstance(stmt, ops.VectorOp):
            found = self._made(stmt, names)
            names |= dict.fromkeys(stmt.results, found)
            self.last = (stmt.span.start, _wide(found))
        elif isinstance(stmt, ops.Mask):
            self.masks[stmt.result] = stmt
            names[stmt.result] = self._mask(stmt, names)
        elif isinstance(stmt, ops.Bind):
            if stmt.source.name in self.masks:
                self.masks[stmt.result] = self.masks[stmt.source.name]
            names[stmt.result] = names.get(stmt.source.name, LOST)
        elif isinstance(stmt, ops.Block):
            given = self.block(stmt.body, dict(names))
            names |= dict(zip(stmt.results, given, strict=False))
        elif isinstance(stmt, ops.If):
            sides = [self.block(arm, dict(names)) for arm in (stmt.then, stmt.other)]
            names |= {n: _joined(pair) for n, *pair in zip(stmt.results, *sides, strict=False)}
        elif isinstance(stmt, ops.For):
            self._loop(stmt, names)
        elif isinstance(stmt, ops.While):
            inside = {**names, **dict.fromkeys((n for n, _ in (*stmt.carried, *stmt.inside)), LOST)}
            self.block((*stmt.before, *stmt.body), inside)
        elif isinstance(stmt, ops.Arith) and stmt.op == "select":
            names[stmt.result] = _joined(names.get(a.name, LOST) for a in stmt.args[1:])

    def _loop(self, stmt: ops.For, names: dict[str, Origins]) -> None:
        carried = [names.get(first.name, LOST) for _, first in stmt.carried]
        for _ in range(len(carried) + 2):
            inside = {**names, **{n: held for (n, _), held in zip(stmt.carried, carried, strict=True)}}
            given = self.block(stmt.body, inside)
            pairs = zip_longest(carried, given[: len(carried)], fillvalue=LOST)
            again = [_joined((old, _past(new))) for old, new in pairs]
            if again == carried:
                break
            carried = again
        else:
            carried = [LOST if held else held for held in carried]
            self.block(stmt.body, {**names, **{n: h for (n, _), h in zip(stmt.carried, carried, strict=False)}})
        names |= dict(zip(stmt.results, carried, strict=False))

    # ------------------------------------------------------------ one statement

    def _access(self, stmt: ops.AccessOp, names: dict[str, Origins]) -> None:
        self.last = (stmt.span.start, NONE)
        if stmt.form == "scalar":
            return
        if stmt.way == "w":
            held = _joined(names.get(o.name, LOST) for o in (*stmt.values, *stmt.masks))
            held = held if stmt.values or stmt.form in ("predicate", "open") else LOST
            known = stmt.form in ("vector", "blocks", "whole") and len(stmt.values) == 1
            self.out.stores[id(stmt)] = held if known else _wide(held)
        elif not stmt.results and stmt.form == "open" and stmt.way == "rw":
            self.last = (stmt.span.start, LOST)  # an operation that is not known may take what it reads
        else:
            number = self.out.loads.setdefault(id(stmt), len(self.out.loads) + 1)
            origin = self._load(stmt, number)
            names |= dict.fromkeys(stmt.results, frozenset({origin}))
            self.last = (stmt.span.start, frozenset({origin.wide()}))

    def _load(self, stmt: ops.AccessOp, number: int) -> Origin:
        name = stmt.dist or ("NORM" if stmt.form == "vector" else "")
        known = self.out.unit.distribution("r", name) if stmt.form == "vector" else None
        if stmt.form == "whole":
            return Origin(number, max(1, stmt.lane_bytes))
        if known is None or known.partly:
            return Origin(number, 0, plain=False)
        if not known.register:
            size = self.out.unit.register_bytes  # one element for all lanes: each depends on all of it
            return Origin(number, size, known.bytes, size)
        if known.register < self.out.unit.register_bytes or known.bytes > known.register:
            return Origin(number, 0, plain=False)
        unit = max(1, known.unit * known.register // known.bytes)
        return Origin(number, unit, known.bytes, known.register)

    def _here(self, stmt: Stmt) -> Origins:
        """What the statement before depends on, if it is of the same operation."""
        return self.last[1] if self.last[0] == stmt.span.start else NONE

    def _mask(self, stmt: ops.Mask, names: Mapping[str, Origins]) -> Origins:
        if stmt.op in ("pset", "pge", "plt"):
            return NONE
        return _joined([self._here(stmt), *(names.get(a.name, LOST) for a in stmt.args)])

    def _made(self, stmt: ops.VectorOp, names: Mapping[str, Origins]) -> Origins:
        """The origins of what an operation gives."""
        held = _joined(names.get(a.name, LOST) for a in stmt.args)
        masks = [stmt.mask] if stmt.mask is not None else []
        by = _wide(_joined(names.get(m.name, LOST) for m in (*masks, *stmt.masks)))
        kind = self.out.unit.lanes.get(stmt.name)
        widths = set(stmt.lane_bytes)
        if kind is None:
            lost = NONE if stmt.args else LOST
            return _wide(_joined((held, by, self._here(stmt), lost)))
        if kind == "reducing" or (kind == "spreading" and stmt.part == "LOWEST"):
            one = stmt.name in _TO_ONE and len(widths) == 1 and len(stmt.args) == 1
            made = _wide(self._masked(held, stmt))
            if one:
                sure = {o.wide() for o in self._masked(held, stmt) if o.plain and o.unit}
                made = frozenset(replace(o, plain=True, first=max(widths)) if o in sure else o for o in made)
            return _joined((made, by))
        if kind not in ("lanewise", "keeping", "converting") or len(stmt.results) != 1 or 0 in widths:
            return _joined((_wide(held), by))
        if len(widths) > 1 and not (kind == "converting" and stmt.part):
            return _joined((_wide(held), by))
        width = max(widths, default=1)
        plain = kind == "lanewise" or stmt.name == "vmov"
        out = frozenset(replace(o, unit=max(o.unit, width), plain=o.plain and plain) if o.unit else o for o in held)
        return _joined((self._masked(out, stmt) if kind == "lanewise" else out, by))

    def _masked(self, held: Origins, stmt: ops.VectorOp) -> Origins:
        """Lanes that the mask leaves out depend on nothing."""
        mask = self.masks.get(stmt.mask.name) if stmt.mask is not None else None
        if mask is None or not mask.lane_bits:
            return held
        number = self.out.masks.setdefault(id(mask), len(self.out.masks))
        atom = (number, mask.lane_bits // 8)
        some = mask.op in ("pset", "pge") and mask.pattern != "PAT_ALLF"
        wide = {o for o in held if not o.unit}
        kept = {o if some else replace(o, plain=False) for o in wide} | {o for o in held - wide if o.past}
        return frozenset(kept | {replace(o, masks=o.masks | {atom}) for o in held - wide if not o.past})


def _wide(held: Origins) -> Origins:
    return frozenset(o.wide() for o in held)


def _past(held: Origins) -> Origins:
    return frozenset(replace(o, past=True, masks=frozenset(), plain=False) for o in held)


def _joined(parts: Iterable[Origins]) -> Origins:
    out: Origins = frozenset(o for part in parts for o in part)
    return out if len(out) <= MOST else LOST
