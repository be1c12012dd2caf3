"""Routes: a move in two hops through another memory, with the layout in between searched.

Knows: the digits of the move, the memories and routes of the target, how a tensor is spread over slices.
Does not know: how one move is searched (the caller does that), plan files, which memory is free at run time.
Law: a middle tensor holds every live cell of the move once; each hop is searched, proved and printed like any move, so
that the route holds because both hops hold. A route is offered only where it is cheaper than the direct plan, or where
there is none; the bound of the answer holds for direct plans too, which have one start-up and pass the engines once.
Where the middle tensor lies is a statement, printed with the plan: its bytes must be free.

The middles tried are those that kernel writers use: the outermost digits of one side, or those that fill all slices,
over slices (and clusters), the rest of the digits in the order of either side; all of it in one slice, or in a memory
without slices, in the order of either side. The best route is the best of these, not of all layouts.

Source: "DMA Engine" (introduction: tiers and their routes), "Memory Performance" (DMNs and slices work side by side).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Protocol

from dmaverify.cost.constants import TICKS, CostData
from dmaverify.language.expr import ONE, Expr, Padding, pair
from dmaverify.layout.addresses import BYTE
from dmaverify.program.move import Transfer
from dmaverify.program.tensor import Tensor
from dmaverify.synth.atoms import Atom
from dmaverify.synth.pieces import pieces_of
from dmaverify.synth.regions import Covers
from dmaverify.synth.result import Synthesis, TwoHops
from dmaverify.synth.streams import piece
from dmaverify.targets.parts import Tier
from dmaverify.targets.target import Target
from dmaverify.values import replace

WORTH = 0.8
"""A route is offered when its cycles are below this share of the direct plan's."""
FAR = 2.0
"""Routes are looked for where the direct plan takes this many times what two hops take at least."""
CLOSE = 1.05
"""Routes whose quick price is within this ratio of the best one are searched in full as well, two at most."""

PRICES = 80
"""Hops priced to rank the layouts in between; what is behind them is not tried, and the answer says so."""


class Hop(Protocol):
    """A hop to be priced: what no plan of it beats, and its cycles, quickly; None where none is below those given."""

    @property
    def least(self) -> float: ...
    def below(self, cycles: float) -> float | None: ...


Prepare = Callable[[Transfer], Hop | None]
"""A hop made ready; None where it has no plan."""
Search = Callable[[Transfer], Synthesis | None]
"""The best plan of a hop, proved; None where there is none."""


def best_route(
    move: Transfer, target: Target, covers: Covers | None, direct: Synthesis, data: CostData, prepare: Prepare,
    search: Search, over: Callable[[], bool] = lambda: False,
) -> tuple[Synthesis | None, str]:  # fmt: skip
    """The cheapest route found, as an answer of its own, None where the direct plan is near what routes can reach; and
    which layouts the budget left out. `over`: whether the time of the whole answer has ended.
    """
    orders = _orders(move, covers) if covers is not None else []
    if covers is None or not orders:
        return None, ""
    least = least_cycles(covers.live, target, data, target.dtypes[move.dtype])
    if direct.found and direct.cycles <= FAR * least:
        return None, ""
    ranked, left = _ranked(move, target, orders, WORTH * direct.cycles if direct.found else float("inf"), prepare, over)
    found: list[tuple[float, int, Synthesis, Synthesis]] = []
    for _, number, first, second in [r for r in ranked if r[0] <= CLOSE * ranked[0][0]][:2]:
        there, onward = search(first), search(second)
        if there is not None and onward is not None:
            found.append((there.cycles + onward.cycles, number, there, onward))
    if not found:
        return None, left
    cycles, _, there, onward = min(found, key=lambda f: f[:2])
    if direct.found and cycles >= WORTH * direct.cycles:
        return None, left
    return _answer(move, direct, there, onward, least, left), left


Orders = Sequence[Sequence[Atom]]
"""The digits of a move in the order of its destination and in that of its source."""


def _orders(move: Transfer, covers: Covers) -> Orders:
    """The digits in either order: those that both sides have in common, or of each side its own, where they have none
    (`C / 4, C % 4` against `C / 6, C % 6`); none where one side has replicas or no digits.
    """
    boxes = covers.each[0].boxes
    if len(boxes) == 1:
        if any(a.axis is None or a.pieces is None for a in boxes[0].atoms):
            return []
        atoms = [one for a in boxes[0].atoms for one in _plain(a)]
        return [sorted(atoms, key=lambda a: -abs(a.write)), sorted(atoms, key=lambda a: -abs(a.read))]
    own = [pieces_of(tensor, ()) for tensor in (move.dest, move.source)]
    return [one for one in own if one is not None] if None not in own else []


def _plain(atom: Atom) -> Iterator[Atom]:
    """The pieces of plain axes that a loop steps over, each as a loop: those can be cut one by one."""
    read, write = atom.read, atom.write
    for axis, weight, count, size in reversed(atom.pieces or ()):
        yield Atom(axis, weight, count, read, write, size)
        read, write = read * count, write * count


def _ranked(
    move: Transfer, target: Target, orders: Orders, most: float, prepare: Prepare, over: Callable[[], bool]
) -> tuple[list[tuple[float, int, Transfer, Transfer]], str]:
    """Two hops by their quick price, those below `most` cycles, those that may be cheapest first; and what the budget
    left out.
    """
    tried, open_, left = [_hops(move, middle) for middle in middles(move, target, orders)], [], ""
    for number, hops in enumerate(tried):
        if over():
            left = f"budget reached (the time ended): {len(tried)} layouts in between not tried"
            break
        first = prepare(hops[0])
        second = prepare(hops[1]) if first is not None and first.least < most else None
        if first is not None and second is not None:
            open_.append((first.least + second.least, number, first, second))
    ranked: list[tuple[float, int, Transfer, Transfer]] = []
    asked, best = 0, most
    for place, (least, number, first, second) in enumerate(sorted(open_, key=lambda o: o[:2])):
        if least >= best:
            break
        if asked >= PRICES or over():
            why = f"{PRICES} hops priced" if asked >= PRICES else "the time ended"
            left = f"budget reached ({why}): {len(open_) - place} of {len(tried)} layouts in between not tried"
            break
        there = first.below(best - second.least)
        onward = second.below(best - there) if there is not None else None
        asked += 1 + (there is not None)
        if there is not None and onward is not None:
            ranked.append((there + onward, number, *tried[number]))
            best = min(best, CLOSE * (there + onward))
    return sorted(ranked, key=lambda r: r[:2]), left


def least_cycles(live: int, target: Target, data: CostData, dtype_bits: int) -> float:
    """What every route takes at least: two start-ups, and each live byte through the engines twice."""
    bits = live * (dtype_bits if dtype_bits < 8 else 8)
    engines = target.engines.chips * target.engines.clusters * target.engines.per_cluster
    startup = min(data.ticks("startup"), data.ticks("startup_store")) / TICKS
    issue = min(data.ticks("issue"), data.ticks("issue_store")) / TICKS
    return 2 * (startup + -(-bits // 8 // data.hbm.window) * issue / engines)


# ---------------------------------------------------------------- layouts in between


def middles(move: Transfer, target: Target, orders: Orders) -> Iterator[Tensor]:
    """Tensors that the move may pass through, at most a few a memory."""
    seen: set[str] = set()
    alike = len({frozenset(map(id, order)) for order in orders}) == 1
    for tier in target.tiers.values():
        joined = (move.source.tier, tier.name) in target.routes and (tier.name, move.dest.tier) in target.routes
        if not joined or tier.name == move.dest.tier:
            continue
        base, most = _free_base(move.source, tier, target.dtypes[move.dtype]), tier.sizes.get("slice", 0)
        full = [sorted(order, key=lambda a: a.count % most > 0) for order in orders] if most else []
        for number, outer in enumerate((*orders, *full)):
            for inner in orders if alike else orders[number % len(orders) :][:1]:
                for tensor in spread(
                    tier, outer, inner, base, move.source.cluster if tier.name == move.source.tier else ONE
                ):
                    if str(tensor) not in seen:
                        seen.add(str(tensor))
                        yield tensor
        for inner in orders if most else ():
            yield Tensor(tier.name, _expr(inner), slice=Padding(ONE, most), base=base)


def spread(tier: Tier, outer: Sequence[Atom], inner: Sequence[Atom], base: int, own: Expr = ONE) -> Iterator[Tensor]:
    """Tensors with the outermost digits of `outer` over the tier's slices, the rest inside in the order of `inner`. In
    one cluster, it is written as the source's `own`, where that is one.
    """
    most = tier.sizes.get("slice", 0)
    if not most:
        yield Tensor(tier.name, _expr(inner), base=base)
        return
    place = {id(a): i for i, a in enumerate(inner)}
    for clusters in (tier.sizes.get("cluster", 1), 1):
        for high, below in _takes(outer, clusters):
            if prod(a.count for a in high) != clusters:
                continue
            for low, left in _takes(below, most):
                rest = sorted(left, key=lambda a: place.get(id(a), _place_of(a, inner)))
                cluster, slices = _expr(high), _expr(low)
                if clusters == 1 and isinstance(own, Padding) and own.inner == ONE:
                    cluster = own
                yield Tensor(tier.name, _expr(rest), cluster=cluster, slice=slices, base=base)
                if slices.size < most:
                    yield Tensor(tier.name, _expr(rest), cluster=cluster, slice=Padding(slices, most), base=base)


def _place_of(atom: Atom, inner: Sequence[Atom]) -> int:
    """Where the rest of a digit stands: where the digit that it was cut from stands."""
    return next((i for i, a in enumerate(inner) if a.axis == atom.axis and a.weight == atom.weight), len(inner))


def _takes(atoms: Sequence[Atom], room: int) -> Iterator[tuple[list[Atom], list[Atom]]]:
    """(digits for `room` places, the rest): whole digits, and a high part of the first that is too large: each that no
    other part which fits is a multiple of, so that digits which are one axis here and several there are cut alike.
    """
    taken: list[Atom] = []
    rest = list(atoms)
    while rest and rest[0].count <= room:
        room //= rest[0].count
        taken.append(rest.pop(0))
    parts = [n for n in range(room, 1, -1) if rest and rest[0].count % n == 0]
    if not parts:
        yield taken, rest
    for part in parts:
        if not any(n > part and n % part == 0 for n in parts):
            top, low = rest[0].cut(rest[0].count // part)
            yield [*taken, top], [low, *rest[1:]]


def _expr(atoms: Sequence[Atom]) -> Expr:
    found = [piece(*one) for a in atoms if a.axis not in (None, BYTE) and a.count > 1 for one in a.pieces or ()]
    return pair(*found) if found else ONE


def _free_base(source: Tensor, tier: Tier, dtype_bits: int) -> int:
    """The start of the memory, or what follows the source in its own memory: the next MiB, in slices the next KiB."""
    if tier.name != source.tier:
        return 0
    step = 1 << (10 if tier.sizes.get("slice") else 20)
    return -(-(source.base + source.element.size * dtype_bits // 8) // step) * step


# ---------------------------------------------------------------- the answer


def _hops(move: Transfer, middle: Tensor) -> tuple[Transfer, Transfer]:
    bare = replace(move.with_given(), views=None)
    return (replace(bare, name=f"{move.name}-in", dest=middle), replace(bare, name=f"{move.name}-out", source=middle))


def _answer(
    move: Transfer, direct: Synthesis, first: Synthesis, second: Synthesis, least: float, left: str
) -> Synthesis:
    middle = first.transfer.dest
    cycles = first.cycles + second.cycles
    away = f"{direct.cycles:,.1f} cycles directly" if direct.found else "no direct plan"
    bytes_each = middle.element.size * first.target.dtypes[move.dtype] // 8
    where = "of each slice " if first.target.tiers[middle.tier].sizes.get("slice") else ""
    lines = (
        f"a route through {middle.tier}: {first.cycles:,.1f} + {second.cycles:,.1f} cycles in sequence; {away}",
        f"stated: bytes {middle.base:,} to {middle.base + bytes_each - 1:,} {where}of {middle.tier} are free meanwhile",
        f"no route can beat {least:,.1f} cycles: every byte passes the engines twice, and a hop has its start-up",
        *([left] if left else []),
        *(f"{hop.transfer.name}: {line}" for hop in (first, second) for line in hop.evidence[:1]),
    )
    return replace(
        direct,
        transfer=move,
        commands=(*first.commands, *second.commands),
        cost=first.cost,
        cycles=cycles,
        bound=min(max(direct.bound, least / 2), least, cycles),
        optimal=False,
        evidence=lines,
        floor=None,
        verdict=None,
        why=None,
        played=None,
        runners_up=(),
        refused=(),
        questions=(*first.questions, *second.questions),
        split=f"through {middle.tier}",
        evaluations=direct.evaluations + first.evaluations + second.evaluations,
        route=TwoHops(middle, (first, second), direct.cycles if direct.found else None),
    )
