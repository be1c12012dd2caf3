"""What a move asks to be copied, as boxes of loops: the digits of both sides, refined, with padding and uneven ends
cut off.

Knows: address layouts of both sides, mixed radix, which cells are live, arithmetic progressions.
Does not know: engines, packets, order, cost, rules of a machine.
Law: a `Cover` proposes nests that write every live cell of the destination once, from the cell of the source that
holds the
same element; nothing rests on it, since the program made of it is proved like any other (`check_transfer`).

Source: docs/design.md; "DMA Engine", Example 6 (segmentation); docs/machines/rngd.md 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise, product
from math import prod

from dmaverify.layout.addresses import Layout
from dmaverify.layout.digits import Digit
from dmaverify.lower.programs import space_of
from dmaverify.program.even_runs import EvenRun, gathered
from dmaverify.program.move import Transfer
from dmaverify.program.space import layout_of
from dmaverify.synth.atoms import Atom, joined, run_on
from dmaverify.synth.places import choices, held_of, holds_once
from dmaverify.synth.spans import low_first, ranges, reach
from dmaverify.targets.target import Target
from dmaverify.values import dataclass, replace

WALKED = "padding walked"
"""How a cover says that it moves padding as well."""
MOST_BOXES = 64
"""Boxes of one cover: beyond it the start-ups alone make the plan pointless."""
MOST_POINTS = 1 << 13
"""Values of an axis that are listed one by one where two cuts have no common refinement."""


@dataclass(frozen=True, slots=True)
class NoPlan(Exception):
    """Why nothing can be proposed: the rule or obligation, and a sentence. `others` are further reasons, `bound` what
    every plan takes at least: without end where none can ever be legal.
    """

    rule: str
    message: str
    hint: str = ""
    others: tuple[NoPlan, ...] = ()
    bound: float = 0.0

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


@dataclass(frozen=True)
class AtomNest:
    """A nest at global addresses, in units. Atoms are in the destination's order, outer to inner."""

    read: int
    write: int
    atoms: tuple[Atom, ...]

    def moved(self, read: int, write: int) -> AtomNest:
        """The same loops elsewhere; what was counted of them is kept."""
        other = AtomNest(self.read + read, self.write + write, self.atoms)
        other.__dict__.update(amount=self.amount, chain=self.chain)
        return other

    @cached_property
    def amount(self) -> int:
        return prod([atom.count for atom in self.atoms])

    @cached_property
    def chain(self) -> tuple[int, tuple[Atom, ...]]:
        """(units, atoms inner to outer) of the innermost run that is contiguous on both sides."""
        run, chain, left = 1, list[Atom](), [a for a in self.atoms if a.count > 1]
        while (found := next((a for a in left if a.read == run == a.write), None)) is not None:
            run *= found.count
            chain.append(found)
            left.remove(found)
        return run, tuple(chain)

    @property
    def from_the_end(self) -> AtomNest:
        """The same runs, the last one first."""
        _, chain = self.chain
        turned = [a for a in self.atoms if a not in chain]
        read, write = (sum((a.count - 1) * getattr(a, side) for a in turned) for side in ("read", "write"))
        atoms = tuple(a if a in chain else replace(a, read=-a.read, write=-a.write) for a in self.atoms)
        return AtomNest(self.read + read, self.write + write, atoms)


@dataclass(frozen=True, slots=True)
class Cover:
    """Boxes that together are the move; `how` says how uneven ends were treated."""

    boxes: tuple[AtomNest, ...]
    how: str


@dataclass(frozen=True)
class Covers:
    """The treatments of a move, plainest first; `crowded` where others would need more than `MOST_BOXES` boxes, `mixed`
    where the source holds elements at several places, so that a plan may take them by other rules than a cover does.
    """

    each: tuple[Cover, ...]
    crowded: bool = False
    mixed: bool = False

    @property
    def from_the_end(self) -> Covers:
        """The same treatments, each from its last run to its first."""
        each = (Cover(tuple(box.from_the_end for box in cover.boxes[::-1]), cover.how) for cover in self.each)
        return replace(self, each=tuple(each))

    @cached_property
    def live(self) -> int:
        """Units that every plan moves: a cover that walks no padding moves live ones alone; 0 where each walks some."""
        return min((sum(box.amount for box in c.boxes) for c in self.each if WALKED not in c.how), default=0)


@dataclass(frozen=True, slots=True)
class _BoxPart:
    """A box of one axis: address contributions of its first value, and its digits."""

    read: int
    write: int
    atoms: tuple[Atom, ...]


def covers(source: Layout, dest: Layout) -> Covers:
    """Every treatment of the move's uneven ends, plainest first, from each choice of places in the source. Raises
    NoPlan where an axis cannot be cut up.
    """
    found: dict[tuple[AtomNest, ...], str] = {}
    refused: list[NoPlan] = []
    crowded = False
    for one in choices(source):
        try:
            every = _choices_of(one, dest)
        except NoPlan as error:
            refused.append(error)
            continue
        for chosen, copies in product(product(*every), _copies(one, dest)):
            if prod(len(parts) for _, parts in chosen) > MOST_BOXES:
                crowded = True
                continue
            boxes = tuple(_boxes([parts for _, parts in chosen], copies, one, dest))
            ways = ", ".join(dict.fromkeys(way for way, _ in chosen if way)) or "whole"
            found.setdefault(boxes, ways)
    if refused and not found:
        raise refused[0]
    if not found:
        raise NoPlan(
            "core/well-formed", f"the move falls into more than {MOST_BOXES} boxes of loops", "cut both sides alike"
        )
    plainest = sorted(found.items(), key=lambda item: len(item[0]))
    return Covers(tuple(Cover(boxes, how) for boxes, how in plainest), crowded, not holds_once(source))


def _choices_of(source: Layout, dest: Layout) -> list[list[tuple[str, tuple[_BoxPart, ...]]]]:
    """The choices of every axis."""
    axes = [axis for axis in dict.fromkeys(d.axis for d in _held(dest)) if axis is not None]
    axes += [axis for axis, _ in dest.offsets if axis not in axes]
    return [_choices(axis, source, dest) for axis in axes]


def _copies(source: Layout, dest: Layout) -> list[tuple[Atom, ...]]:
    """The loops over copies in the destination: all of one place in the source, or each of a copy there."""
    own = [d for _, d in held_of(dest, None) if d.live > 1]
    theirs = [d for _, d in held_of(source, None) if d.live > 1]
    steps = []
    for digit in own:
        other = next((d for d in theirs if d.live == digit.live), None)
        steps.append(other.step if other is not None else 0)
        theirs = [d for d in theirs if d is not other]
    ways = dict.fromkeys((tuple(0 for _ in own), tuple(steps)))
    return [tuple(Atom(None, 0, d.live, step, d.step) for d, step in zip(own, way, strict=True)) for way in ways]


def _held(layout: Layout) -> list[Digit]:
    beyond = layout.beyond_index
    return [d for i, d in enumerate(layout.digits) if i not in beyond]


def _boxes(
    parts: Sequence[Sequence[_BoxPart]], copies: Sequence[Atom], source: Layout, dest: Layout
) -> Iterator[AtomNest]:
    for chosen in product(*parts):
        atoms = [atom for part in chosen for atom in part.atoms if atom.count > 1] + list(copies)
        atoms.sort(key=lambda atom: (-abs(atom.write), -abs(atom.read), atom.axis or ""))
        read, write = source.origin + sum(p.read for p in chosen), dest.origin + sum(p.write for p in chosen)
        yield AtomNest(read, write, tuple(run_on(joined(atoms))))


def both_layouts(move: Transfer, target: Target) -> tuple[Layout, Layout]:
    """The layouts of the source and of the destination. Raises NoPlan where one has no digits."""
    found = []
    for tensor in (move.source, move.dest):
        layout, opaque = layout_of(tensor, space_of(target, tensor.tier), target.dtypes[move.dtype])
        if opaque:
            said = f"`{tensor.element}` has no digits: a cut falls inside one"
            raise NoPlan("core/well-formed", said, "cut at the boundaries of its parts")
        found.append(layout)
    return found[0], found[1]


# ---------------------------------------------------------------- one axis


def _choices(axis: str, source: Layout, dest: Layout) -> list[tuple[str, tuple[_BoxPart, ...]]]:
    """(how, boxes of the axis): with its padding, live values only, cut from above or from below, value by value."""
    size = dict(dest.sizes)[axis]
    found: dict[tuple[_BoxPart, ...], str] = {}  # with the plainest way that makes them
    digits = _refined(axis, source, dest)
    if digits is not None:
        offset = dict(dest.offsets).get(axis, 0)
        live = [(w, n) for w, n, _ in digits]
        slots = [(w, n) for w, _, n in digits]
        walked = sorted({reach(slots), min(reach(slots), _places(source, axis) - offset)}, reverse=True)
        ways = [(WALKED, ranges(slots, 0, end)) for end in walked if slots != live or end > size - offset > 0]
        ways += [("", ranges(live, 0, size - offset)), ("cut from below", low_first(live, size - offset))]
        for way, pieces in ways:
            parts = [_part(axis, offset, start, shape, source, dest, size) for start, shape in pieces]
            if parts and all(part is not None for part in parts):
                known = tuple(part for part in parts if part is not None)
                if found.get(known, WALKED) == WALKED:  # the source may have no place for the padding to walk
                    found[known] = way
    if not found:
        found = {_by_points(axis, source, dest, size): "value by value"}
    return [(way, parts) for parts, way in found.items()]


def _refined(axis: str, source: Layout, dest: Layout) -> list[tuple[int, int, int]] | None:
    """(weight, live, slots) of the axis in the destination, cut where the source cuts, largest first; None without a
    chain.
    """
    own = [d for d in _held(dest) if d.axis == axis]
    theirs = [d for d in _held(source) if d.axis == axis]
    top = max((d.weight for d in theirs), default=0)
    ends = {d.weight * (d.slots if d.weight == top else d.live) for d in theirs}  # padding inside of an axis is no cut
    cuts = {d.weight for d in theirs} | ends
    out: list[tuple[int, int, int]] = []
    largest = max((d.weight for d in own), default=0)
    for digit in own:
        # a cut in the padding behind a digit's live values (`Q % 384 # 448` against a source cut at 384) is no cut
        reach = digit.slots if digit.weight == largest else digit.live
        inside = sorted(c for c in cuts if digit.weight < c < digit.weight * reach)
        chain = [digit.weight, *inside]
        if any(high % low for low, high in pairwise(chain)):
            return None
        inner = chain[-1] // digit.weight
        if (digit.slots % inner or digit.live % inner) and digit.weight != largest:
            return None
        pieces = [(chain[-1], -(-digit.live // inner), -(-digit.slots // inner))]
        for low, high in zip(reversed(chain[:-1]), reversed(chain[1:]), strict=True):
            pieces.append((low, high // low, high // low))
        if digit.slots % inner:
            pieces = [(w, live, live) for w, live, _ in pieces]
        out += pieces
    return sorted(out, key=lambda piece: -piece[0])


# ---------------------------------------------------------------- addresses


def _places(layout: Layout, axis: str) -> int:
    """Values of an axis below which a layout has a place for each, padding behind the last one included."""
    return dict(layout.offsets).get(axis, 0) + max(
        (d.weight * d.slots for d in _held(layout) if d.axis == axis), default=1
    )


def _address(layout: Layout, axis: str, value: int) -> int | None:
    """What the axis adds to an address; None where the layout has no place for that value."""
    held = sorted((d for d in _held(layout) if d.axis == axis), key=lambda d: -d.weight)
    rest = value - dict(layout.offsets).get(axis, 0)
    if rest < 0:
        return None
    total = 0
    for number, digit in enumerate(held):
        part = rest // digit.weight
        if number == 0 and part >= digit.slots:
            return None
        part %= digit.slots
        total += part * digit.step
        rest -= part * digit.weight
    return total


def _part(
    axis: str, offset: int, start: int, shape: Sequence[tuple[int, int]], source: Layout, dest: Layout, size: int
) -> _BoxPart | None:
    """The box with its steps on both sides; None where a side does not step evenly over it."""
    bases = [_address(layout, axis, offset + start) for layout in (source, dest)]
    if bases[0] is None or bases[1] is None:
        return None
    far = offset + start + sum(w * (n - 1) for w, n in shape)
    atoms = []
    ends = [bases[0], bases[1]]
    for weight, count in shape:
        if count == 1:
            continue
        steps = []
        for side, layout in enumerate((source, dest)):
            base, there = bases[side], _address(layout, axis, offset + start + weight)
            if there is None or base is None:
                return None
            steps.append(there - base)
            ends[side] = (ends[side] or 0) + (there - base) * (count - 1)
        atoms.append(Atom(axis, weight, count, steps[0], steps[1], size))
    if [_address(layout, axis, far) for layout in (source, dest)] != ends:
        return None
    return _BoxPart(bases[0], bases[1], tuple(atoms))


def _by_points(axis: str, source: Layout, dest: Layout, size: int) -> tuple[_BoxPart, ...]:
    """Live values one by one, gathered into even runs of even runs."""
    offset = dict(dest.offsets).get(axis, 0)
    values = [offset]
    for digit in (d for d in _held(dest) if d.axis == axis):
        if len(values) * digit.live > MOST_POINTS:
            raise NoPlan(
                "core/well-formed",
                f"the two sides cut axis {axis} without a common refinement, and it has {size:,} values",
                "cut the axis alike on both sides",
            )
        values = [value + digit.weight * v for value in values for v in range(digit.live)]
    points: list[tuple[int, int, int]] = []
    for value in sorted(set(values)):
        if value >= size:
            continue
        pair = _address(source, axis, value), _address(dest, axis, value)
        if pair[0] is None or pair[1] is None:
            raise NoPlan(
                "core/same-element",
                f"the source holds no {axis} = {value}, which the destination asks for",
                "a destination holds at most what its source holds",
            )
        points.append((pair[0], pair[1], value))
    parts = []
    for run in gathered([EvenRun(point) for point in points]):
        levels = reversed(run.levels)
        atoms = tuple(Atom(axis, weight, n, read, write, size) for n, (read, write, weight) in levels)
        parts.append(_BoxPart(run.at[0], run.at[1], atoms))
    if len(parts) > MOST_BOXES:
        raise NoPlan(
            "core/well-formed",
            f"axis {axis} has no common refinement and falls into {len(parts)} pieces",
            "cut the axis alike on both sides",
        )
    return tuple(parts)
