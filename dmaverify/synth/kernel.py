"""The layouts of all tensors of a kernel at once: each tensor alone, then together, by the sum of their moves.

Knows: which moves touch which tensor, how often they run, in which order; bytes of data memory that live at once.
Does not know: how a move is priced (the caller does that), plan files, what is shown.
Law: deterministic; `most` prices are asked at most, and the answer says where that ended it. A layout is the best of
those tried (`layouts`), not of all; the sum counts every move of the kernel, changed or not, as often as it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product

from dmaverify.program.move import Transfer
from dmaverify.program.tensor import Tensor
from dmaverify.synth.layouts import ROOM, TensorLayout, layouts, lies_in
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, field, replace

KEPT = 5
"""Layouts of a tensor that are priced in full, and tried together with those of its neighbours."""
WORTH = 0.95
"""A layout is worth naming when the moves of its tensor are below this share."""
SMALLER = 2.0
"""Layouts that need less data memory are of interest up to this many times the cycles of now."""
ALIGNED = 4096
"""Bytes: where a tensor that grows begins."""
MOST = 1500
"""Prices asked of one kernel."""

Sum = tuple[int, float]
"""Moves without a legal plan, cycles of the others."""
Price = Callable[[Transfer, bool, float], float | None]
"""Cycles of the best plan of a move, quickly or in full; None where it has none below the cycles given."""
Chosen = Mapping[int, TensorLayout]
"""New layouts by the number of the tensor."""


@dataclass(frozen=True)
class TensorUses:
    """A tensor with its uses: (number of the move, `source` or `dest`). `free`: these are all its reads and writes."""

    name: str
    tensor: Tensor
    bits: int
    uses: tuple[tuple[int, str], ...]
    free: bool = False
    withheld: str = ""  # why it is not changed
    lives: tuple[int, int] | None = None  # first and last move of its life, where the moves alone do not say

    @property
    def made(self) -> bool:
        """Whether a move of the kernel writes it."""
        return any(role == "dest" for _, role in self.uses)


@dataclass(frozen=True)
class KernelMoves:
    """The moves of a kernel in order, how often each runs, and their tensors."""

    moves: tuple[Transfer, ...]
    times: tuple[int, ...]
    tensors: tuple[TensorUses, ...]
    target: Target
    window: int
    behind: Mapping[str, int] = field(default_factory=dict)  # where each memory is free, if bases are fixed

    def layouts_of(self, number: int) -> Iterator[TensorLayout]:
        """Layouts of a tensor; one that takes other bytes lies behind all tensors, in a place of its own."""
        held = self.tensors[number]
        for one in layouts(held.tensor, self.others_of(number), self.target, held.bits, self.window, free=held.free):
            if held.tensor.tier in self.behind and not lies_in(one.tensor, held.tensor):
                same = [t for t in self.tensors if t.tensor.tier == held.tensor.tier]
                room = max(2 * t.tensor.element.size * t.bits // 8 + ROOM for t in same)
                base = self.behind[held.tensor.tier] + number * -(-room // ALIGNED) * ALIGNED
                alone = one.alone and replace(one.alone, base=base)
                one = replace(one, tensor=replace(one.tensor, base=base), alone=alone)
            yield one

    def moves_of(self, chosen: Chosen) -> dict[int, Transfer]:
        """The moves that new layouts change, without their streams and commands."""
        out: dict[int, Transfer] = {}
        for number, layout in chosen.items():
            for index, role in self.tensors[number].uses:
                old = out.get(index, self.moves[index])
                other = old.dest if role == "source" else old.source
                bare = old.with_given()
                new = layout.seen_from(other)
                out[index] = replace(bare, source=new) if role == "source" else replace(bare, dest=new)
        return out

    def others_of(self, number: int) -> list[Tensor]:
        """The other sides of the moves of a tensor."""
        uses = self.tensors[number].uses
        return [self.moves[i].dest if role == "source" else self.moves[i].source for i, role in uses]

    def dm_bytes(self, chosen: Chosen) -> int:
        """Bytes of a slice that live at once, at most."""
        live = [0] * max(1, len(self.moves))
        for number, held in enumerate(self.tensors):
            tensor = chosen[number].tensor if number in chosen else held.tensor
            if self.target.tiers[tensor.tier].is_sliced:
                numbers = [index for index, _ in held.uses]
                first, last = held.lives or (min(numbers), max(numbers))
                for at in range(first, last + 1):
                    live[at] += tensor.element.size * held.bits // 8
        return max(live)


@dataclass(frozen=True)
class Point:
    """Layouts chosen together, their sum and the bytes of a slice that live at once."""

    chosen: Mapping[int, TensorLayout]
    sum: Sum
    dm_bytes: int


@dataclass
class KernelFound:
    """What was found: the present layouts, for each tensor its best ones, all together, the front, and how it ended."""

    before: Point
    alone: dict[int, list[Point]] = field(default_factory=dict)
    together: Point | None = None
    front: list[Point] = field(default_factory=list)
    asked: int = 0
    tried: int = 0
    names: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # tensors that the budget did not reach


class KernelSearch:
    """One search over the tensors of a kernel."""

    def __init__(self, scene: KernelMoves, price: Price, most: int = MOST) -> None:
        self.scene, self.price, self.most = scene, price, most
        self.known: dict[tuple[str, bool], tuple[float | None, float]] = {}
        self.now: dict[bool, list[float | None]] = {}
        self.points: dict[str, Point] = {}

    def run(self) -> KernelFound:
        """Each tensor alone, the dearest first; then neighbours together, as long as that helps."""
        before = self._point({})
        found = KernelFound(before)
        kept: dict[int, list[TensorLayout]] = {}
        for number in sorted(range(len(self.scene.tensors)), key=lambda n: (-self._weight(n), n)):
            held = self.scene.tensors[number]
            if held.withheld:
                continue
            if len(self.known) >= self.most:
                found.left.append(held.name)
                continue
            points = self._alone(number, found)
            if points:
                found.alone[number] = points
                kept[number] = [p.chosen[number] for p in points]
        found.together = self._together(before, kept)
        found.front = list(front(self.points.values()))
        found.asked = len(self.known)
        return found

    def _weight(self, number: int) -> float:
        """Cycles of the moves of a tensor."""
        return sum((self._base(i, False) or 0.0) * self.scene.times[i] for i, _ in self.scene.tensors[number].uses)

    def _alone(self, number: int, found: KernelFound) -> list[Point]:
        """The best layouts of one tensor that are worth it, or that need less data memory at no more cycles."""
        scene = self.scene
        tried = list(scene.layouts_of(number))
        found.tried += len(tried)
        quick: list[tuple[Sum, int, TensorLayout]] = []
        now = self._sum({}, quick=True)
        for place, layout in enumerate(tried):
            if len(self.known) >= self.most:
                break
            least = now if len(quick) < KEPT else min(now, sorted(quick, key=lambda q: q[:2])[KEPT - 1][0])
            above = SMALLER * now[1] if scene.dm_bytes({number: layout}) < found.before.dm_bytes else least[1]
            above = float("inf") if least[0] else above
            quick.append((self._sum({number: layout}, quick=True, above=above), place, layout))
        ranked = [(cost, layout) for cost, _, layout in sorted(quick, key=lambda q: q[:2])]
        best = [layout for cost, layout in ranked if cost < now][:KEPT]
        smaller = sorted(ranked, key=lambda r: (scene.dm_bytes({number: r[1]}), r[0]))[:KEPT]
        best += [one for _, one in smaller if one not in best and scene.dm_bytes({number: one}) < found.before.dm_bytes]
        points = sorted((self._point({number: one}) for one in best), key=lambda p: (p.sum, p.dm_bytes))
        own = sum((self._base(i, False) or 0.0) * scene.times[i] for i, _ in scene.tensors[number].uses)
        return [p for p in points if cheaper(p.sum, found.before.sum, own)]

    def _together(self, before: Point, kept: Mapping[int, Sequence[TensorLayout]]) -> Point | None:
        """Coordinate descent from the best of each: one tensor at a time, then two that share a move."""
        if len(kept) < 2:
            return None
        best = self._point({n: options[0] for n, options in kept.items()})
        best = min((best, before), key=_rank)
        better = True
        while better and len(self.known) < self.most:
            better = False
            for chosen in self._steps(best.chosen, kept):
                point = self._point(chosen)
                if _rank(point) < _rank(best):
                    best, better = point, True
                    break
        return best if len(best.chosen) > 1 else None

    def _steps(self, chosen: Chosen, kept: Mapping[int, Sequence[TensorLayout]]) -> Iterator[dict[int, TensorLayout]]:
        """The choice with one tensor changed or put back, or two that share a move."""
        ways: dict[int, list[TensorLayout | None]] = {n: [None, *options] for n, options in kept.items()}
        for number, options in ways.items():
            yield from (_with(chosen, {number: one}) for one in options)
        for one, other in product(ways, ways):
            if one < other and self._meet(one, other):
                for pair in product(ways[one], ways[other]):
                    yield _with(chosen, dict(zip((one, other), pair, strict=True)))

    def _meet(self, one: int, other: int) -> bool:
        first, second = ({index for index, _ in self.scene.tensors[n].uses} for n in (one, other))
        return bool(first & second)

    # ------------------------------------------------------------ prices

    def _point(self, chosen: Chosen) -> Point:
        key = repr(sorted((n, str(one.tensor)) for n, one in chosen.items()))
        if key not in self.points:
            self.points[key] = Point(dict(chosen), self._sum(chosen, quick=False), self.scene.dm_bytes(chosen))
        return self.points[key]

    def _sum(self, chosen: Chosen, *, quick: bool, above: float = float("inf")) -> Sum:
        """The sum of all moves; a move that takes it to `above` cycles or more counts as one without a plan."""
        changed = self.scene.moves_of(chosen)
        missing, cycles = 0, 0.0
        for index, times in enumerate(self.scene.times):
            if index not in changed:
                own = self._base(index, quick)
                missing, cycles = (missing + 1, cycles) if own is None else (missing, cycles + own * times)
        for index, move in changed.items():
            times = self.scene.times[index]
            own = self._of(move, quick, (above - cycles) / times) if cycles < above else None
            missing, cycles = (missing + 1, cycles) if own is None else (missing, cycles + own * times)
        return missing, cycles

    def _base(self, index: int, quick: bool) -> float | None:
        if quick not in self.now:
            self.now[quick] = [self._of(move, quick, float("inf")) for move in self.scene.moves]
        return self.now[quick][index]

    def _of(self, move: Transfer, quick: bool, above: float) -> float | None:
        """The price of a move; None where it has no plan below `above`."""
        key = f"{move.dtype} {move.source} {move.dest}", quick
        known = self.known.get(key)
        if known is None or (known[0] is None and known[1] < above):
            known = self.known[key] = self.price(move, quick, above), above
        return known[0]


def _with(chosen: Chosen, new: Mapping[int, TensorLayout | None]) -> dict[int, TensorLayout]:
    both: dict[int, TensorLayout | None] = {**chosen, **new}
    return {number: one for number, one in both.items() if one is not None}


def _rank(point: Point) -> tuple[int, float, int, int]:
    return point.sum[0], round(point.sum[1], 5), point.dm_bytes, len(point.chosen)


def cheaper(new: Sum, old: Sum, own: float) -> bool:
    """Whether more moves have a plan, or as many at clearly fewer cycles of the `own` that the changed moves take."""
    return new[0] < old[0] or (new[0] == old[0] and old[1] - new[1] > (1 - WORTH) * own)


def front(points: Iterable[Point]) -> Iterator[Point]:
    """The points that no other beats in cycles and in bytes of data memory, the fewest cycles first."""
    least: int | None = None
    for point in sorted(points, key=_rank):
        if least is None or point.dm_bytes < least:
            least = point.dm_bytes
            yield point
