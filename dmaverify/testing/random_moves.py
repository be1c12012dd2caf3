"""Random moves: two tensors that hold the same elements, and a stream that walks them where one can.

Knows: how an axis is cut alike on two sides, where a tier has room, how a stream follows from the cuts.
Does not know: commands, plans, faults, Hypothesis.
Law: a move drawn with `valid=True` keeps every core obligation but `core/consumes` when its stream is carried out.
Nothing else is promised of other moves but that they can be read.

Source: "DMA Engine", Structural Requirements and Implementation Details.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

from dmaverify.language.expr import ONE, Broadcast, Expr, Kind, Modulo, Padding, Stride, Symbol, pair, terms_of, walk
from dmaverify.program.move import Stream
from dmaverify.program.tensor import PLACES, Tensor
from dmaverify.targets.target import Target
from dmaverify.testing.draw import Draw
from dmaverify.testing.random_mappings import axes as draw_axes
from dmaverify.testing.random_mappings import mapping
from dmaverify.values import dataclass, replace

MOST_UNITS = 4096


@dataclass(frozen=True)
class DrawnMove:
    """Source and destination of one move. `stream` is one that fits both, None where the two cut an axis
    incompatibly.
    """

    axes: Mapping[str, int]
    dtype: str
    source: Tensor
    dest: Tensor
    stream: Stream | None


# ---------------------------------------------------------------- axes and their cuts


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of `size` elements that is cut at `cuts` (1 < cut < full, each divides the next); padded to `full` on a
    side where `pads` has a kind for it.
    """

    name: str
    size: int
    full: int
    cuts: tuple[int, ...]
    pads: tuple[Kind | None, Kind | None]

    def base(self, side: int) -> Expr:
        kind = self.pads[side]
        axis = Symbol(self.name, self.size)
        return axis if kind is None else Padding(axis, self.full, kind)

    def terms(self, side: int, cuts: Sequence[int]) -> list[Expr]:
        """The pieces of the axis between the cuts, outermost first."""
        whole = self.base(side)
        ends = [1, *cuts, whole.size]
        pieces: list[Expr] = []
        for low, high in pairwise(ends):
            piece = Stride(whole, low) if low > 1 else whole
            pieces.append(Modulo(piece, high // low) if high < whole.size else piece)
        return [piece for piece in reversed(pieces) if piece.size > 1] or [whole]


def _axis(draw: Draw, name: str, valid: bool) -> _Axis:
    factors = [draw.choice((2, 2, 3, 4, 5)) for _ in range(draw.choice((1, 1, 2, 2, 3)))]
    full = prod(factors)
    cuts = tuple(prod(factors[i:]) for i in range(len(factors) - 1, 0, -1))
    if not draw.chance(35) or full == 2:
        return _Axis(name, full, full, cuts, (None, None))
    size = full - draw.integer(1, max(1, min(full // 2, full - 1)))
    if valid:
        pads = draw.choice(
            (
                (Kind.TOP, Kind.TOP),
                (Kind.ZERO, Kind.TOP),
                (Kind.ZERO, Kind.ZERO),
                (None, Kind.TOP),
                (Kind.TOP, Kind.BOTTOM),
                (None, None),
            )
        )
    else:
        kinds = (None, Kind.TOP, Kind.ZERO, Kind.BOTTOM)
        pads = (draw.choice(kinds), draw.choice(kinds))
    if None in pads or pads[1] is Kind.BOTTOM:
        cuts = () if valid or not draw.chance(50) else cuts
        if cuts and None in pads:
            cuts = tuple(c for c in cuts if size % c == 0)
    return _Axis(name, size, full, cuts, pads)


def _walked_alive(axis: _Axis) -> bool:
    """A stream has to walk the bare axis where one side has no padding, or one that may not be touched."""
    return None in axis.pads or axis.pads[1] is Kind.BOTTOM or axis.pads[0] is Kind.BOTTOM


def _some(draw: Draw, cuts: Sequence[int]) -> list[int]:
    return [cut for cut in cuts if draw.chance(50)]


# ---------------------------------------------------------------- tensors


def _spread(
    draw: Draw, terms: Sequence[Expr], target: Target, tier: str, bits: int, whole: bool
) -> dict[str, list[Expr]] | None:
    """The terms by place; None where they do not fit."""
    found = target.tiers[tier]
    names = [place for place in found.walked if place == "slice" or not whole]
    places: dict[str, list[Expr]] = {place: [] for place in PLACES}
    for term in terms:
        place = draw.choice(("element", "element", "element", *names)) if names else "element"
        limit = found.sizes.get(place)
        if limit is not None and term.size * prod(t.size for t in places[place]) > limit:
            place = "element"
        places[place].append(term)
    room = found.slice_stride_bytes * 8
    return None if room and prod(t.size for t in places["element"]) * bits > room else places


def tensor(
    draw: Draw,
    target: Target,
    tier: str,
    dtype: str,
    terms: Sequence[Expr],
    *,
    kinds: Sequence[Kind] = (),
    whole: bool = False,
) -> Tensor | None:
    """A tensor on `tier` that holds `terms` (each a mapping of its own) in some order and some of the tier's places.

    `kinds`: what rows or the whole element may be padded with besides. `whole`: one chip and cluster hold it all.
    None where the terms do not fit the tier's slices.
    """
    bits = target.dtypes[dtype]
    places = None
    for _ in range(6):
        places = places or _spread(draw, draw.shuffled(terms), target, tier, bits, whole)
    if places is None:
        return None
    found, room = target.tiers[tier], target.tiers[tier].slice_stride_bytes
    fields: dict[str, Any] = {place: pair(*parts) for place, parts in places.items()}
    if kinds and draw.chance(25):
        rows = _padded_rows(draw, places["element"], kinds)
        fields["element"] = rows if not room or rows.size * bits <= room * 8 else fields["element"]
    base = draw.choice((0, 0, 1, 3, 8, 16) if bits <= 8 else (0, 0, bits // 8, 8, 16))
    if room and base * 8 + fields["element"].size * bits > room * 8:
        base = 0
    for place in found.walked:
        if draw.chance(15):
            fields[f"at_{place}"] = draw.integer(0, max(0, min(2, found.sizes.get(place, 1) - fields[place].size)))
    return Tensor(tier, base=base, **fields)


def _padded_rows(draw: Draw, terms: Sequence[Expr], kinds: Sequence[Kind]) -> Expr:
    """The terms with padding after the innermost few of them."""
    at = draw.integer(0, len(terms))
    rows = pair(*terms[at:])
    return pair(*terms[:at], Padding(rows, rows.size + draw.integer(1, 3), draw.choice(list(kinds))))


def _apart(source: Tensor, dest: Tensor, bits: int, target: Target) -> Tensor | None:
    """The destination moved behind a source in the same tier, or to other chips where its slices are full; None where
    neither fits.
    """
    if source.tier != dest.tier:
        return dest
    tier = target.tiers[dest.tier]
    behind = source.base + -(-source.element.size * bits // 8) + dest.base
    if not tier.slice_stride_bytes or behind + -(-dest.element.size * bits // 8) <= tier.slice_stride_bytes:
        return replace(dest, base=behind)
    chip = source.at_chip + source.chip.size
    return replace(dest, at_chip=chip) if chip + dest.chip.size <= tier.sizes.get("chip", 1) else None


# ---------------------------------------------------------------- moves


def move(draw: Draw, target: Target, *, valid: bool | None = None, tiers: Sequence[str] = ()) -> DrawnMove:
    """A move between two tiers of `target`, of at most a few thousand elements.

    `valid=True`: cuts are compatible, paddings agree, a stream exists. Otherwise anything goes: incompatible cuts,
    paddings of any kind, mappings of any shape.
    """
    names = list(tiers) or list(target.tiers)
    for _ in range(12):
        found = _move(draw, target, valid is True, names)
        if found is not None and _size(found) <= MOST_UNITS:
            return found
    return smallest_move(draw, target, names)


def smallest_move(draw: Draw, target: Target, names: Sequence[str]) -> DrawnMove:
    dtype = draw.choice(list(target.dtypes))
    two = Symbol("A", 2)
    source, dest = (Tensor(draw.choice(names), two) for _ in range(2))
    return DrawnMove({"A": 2}, dtype, source, replace(dest, base=16), Stream(two, ONE))


def _size(found: DrawnMove) -> int:
    return max(found.source.mapping.size, found.dest.mapping.size)


def _move(draw: Draw, target: Target, valid: bool, names: Sequence[str]) -> DrawnMove | None:
    dtype = draw.choice(list(target.dtypes))
    bits = target.dtypes[dtype]
    tiers = [draw.choice(names), draw.choice(names)]
    if not valid and draw.chance(20):
        return _wild_move(draw, target, dtype, tiers)
    parts = [_axis(draw, name, valid) for name in "ABC"[: draw.integer(1, 3)]]
    parts = _all_zeroed(parts) if valid else parts
    held: tuple[list[Expr], list[Expr]] = ([], [])
    walked: list[Expr] = []
    for part in parts:
        cuts = (_some(draw, part.cuts), _some(draw, part.cuts))
        if not valid and draw.chance(8):
            cuts = (cuts[0], _other_cuts(draw, part, cuts[0]))
        for side in (0, 1):
            held[side].extend(part.terms(side, [c for c in cuts[side] if part.base(side).size % c == 0]))
        alive = replace(part, pads=(None, None)) if _walked_alive(part) else part
        fine = sorted({c for c in (*cuts[0], *cuts[1], *_some(draw, part.cuts)) if alive.base(0).size % c == 0})
        walked.extend(alive.terms(0, fine))
    sizes = {part.name: part.size for part in parts}
    zeroed = valid and any(part.pads[1] is Kind.ZERO for part in parts)
    copied = not zeroed and _replicate(draw, sizes, held, walked)
    kinds: tuple[Kind, ...] = tuple(Kind)
    source = tensor(draw, target, tiers[0], dtype, held[0], kinds=kinds, whole=zeroed)
    kinds = kinds if not valid else () if zeroed or copied else (Kind.TOP, Kind.BOTTOM)
    dest = tensor(draw, target, tiers[1], dtype, held[1], kinds=kinds, whole=zeroed)
    if source is None or dest is None:
        return None
    if valid and any(isinstance(node, Broadcast) and node.size > 1 for node in walk(pair(dest.chip, dest.cluster))):
        return None  # an engine has no way to say which replica it writes
    behind = _apart(source, dest, bits, target)
    return (
        None if behind is None else DrawnMove(sizes, dtype, source, behind, _stream(draw, source, dest, walked, zeroed))
    )


def _all_zeroed(parts: Sequence[_Axis]) -> list[_Axis]:
    """Where one padding has to end as zero, all are zero on both sides, and whole: a cut axis overshoots into Top
    padding.
    """
    if not any(part.pads[1] is Kind.ZERO for part in parts):
        return list(parts)
    zero = (Kind.ZERO, Kind.ZERO)
    return [part if part.pads == (None, None) else replace(part, pads=zero, cuts=()) for part in parts]


def _other_cuts(draw: Draw, part: _Axis, cuts: Sequence[int]) -> list[int]:
    """A cut that divides the axis, and perhaps no cut of the other side."""
    size = part.full if part.pads[1] is not None else part.size
    return [draw.choice([c for c in range(1, size + 1) if size % c == 0])] if size > 1 else list(cuts)


def _replicate(draw: Draw, sizes: dict[str, int], held: tuple[list[Expr], list[Expr]], walked: list[Expr]) -> bool:
    """Broadcasts: replicas in the source, a bare number or a new axis in the destination (then True)."""
    if draw.chance(10):
        held[0].append(Broadcast(2))
    if draw.chance(12):
        count = draw.integer(2, 3)
        copies: Expr = Broadcast(count)
        if draw.chance(50):
            sizes["D"] = count
            copies = Symbol("D", count)
        held[1].append(copies)
        walked.append(copies)
        return True
    return False


def _wild_move(draw: Draw, target: Target, dtype: str, tiers: Sequence[str]) -> DrawnMove | None:
    sizes = draw_axes(draw)
    sides = []
    for tier in tiers:
        found = target.tiers[tier]
        room = found.slice_stride_bytes * 8 // target.dtypes[dtype] if found.slice_stride_bytes else 64
        places: dict[str, Any] = {
            place: mapping(draw, sizes, 2, most=min(3, found.sizes.get(place, 1)))
            for place in found.walked
            if draw.chance(35)
        }
        element = mapping(draw, sizes, 3, most=max(1, room), flagged=True, windows=draw.chance(5))
        sides.append(Tensor(tier, element, base=draw.choice((0, 0, 4)) if element.size < room else 0, **places))
    stream = Stream(sides[1].element, ONE, sides[1].chip, sides[1].cluster, sides[1].slice)
    if draw.chance(40):
        stream = Stream(pair(*draw.shuffled([Symbol(n, s) for n, s in sizes.items()])), ONE)
    behind = _apart(sides[0], sides[1], target.dtypes[dtype], target)
    return None if behind is None else DrawnMove(sizes, dtype, sides[0], behind, stream)


# ---------------------------------------------------------------- streams


def _stream(draw: Draw, source: Tensor, dest: Tensor, walked: Sequence[Expr], alone: bool) -> Stream:
    """An order of the pieces. Those that choose a chip or cluster belong to the engines, the others to time and
    packet.
    """
    elsewhere = [_text_of(t.field(place)) for t in (source, dest) for place in ("chip", "cluster")]
    engines: list[Expr] = []
    loops: list[Expr] = []
    for term in walked:
        placed = not isinstance(term, Broadcast) and any(_touches(term, texts) for texts in elsewhere)
        (engines if placed else loops).append(term)
    loops = draw.shuffled(loops)
    dmn: list[Expr] = []
    if loops and not alone and draw.chance(20) and loops[0].size <= 4 and not isinstance(loops[0], Broadcast):
        dmn = [loops.pop(0)]
    inner = draw.integer(0, min(2, len(loops)))
    at = len(loops) - inner
    return Stream(pair(*loops[:at]), pair(*loops[at:]), pair(*engines), ONE, pair(*dmn))


def _text_of(expr: Expr) -> list[Expr]:
    return [term for term in terms_of(expr) if term.size > 1]


def _reach(term: Expr) -> tuple[str, int, int]:
    """Axis, least weight and end of a piece of an axis; a number is an axis of its own."""
    low, size = 1, term.size
    node = term
    while not isinstance(node, (Symbol, Broadcast)):
        if isinstance(node, Stride):
            low *= node.by
        inner = getattr(node, "inner", None)
        if inner is None:
            return "", 1, 1
        node = inner
    return (node.name if isinstance(node, Symbol) else f"#{size}"), low, low * size


def _touches(term: Expr, others: Sequence[Expr]) -> bool:
    axis, low, high = _reach(term)
    return any(a == axis and low < h and lo < high for a, lo, h in map(_reach, others))
