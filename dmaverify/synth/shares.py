"""How a move is shared out: boxes that stay within a place, and every way to give their parts to the engines.

Knows: boxes, places and engines of a chip, divisors, blocks and turns.
Does not know: packets, orders, what anything costs.
Law: the parts of a box hold exactly its units, each once. `layerings` lists the shares in a fixed order, each once, the
most engines first.

Source: docs/design.md; "DMA Engine", Homogeneous and Heterogeneous Aggregate Operation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from dmaverify.layout.addresses import BYTE
from dmaverify.program.command import Engine
from dmaverify.program.space import SPAN
from dmaverify.synth.atoms import Atom
from dmaverify.synth.regions import AtomNest, Cover
from dmaverify.synth.space import SynthMachine, Work
from dmaverify.values import dataclass, replace

MOST_LANES = 64
"""Commands that places alone may ask for (chips and clusters on either side)."""


@dataclass(frozen=True, slots=True)
class Layering:
    """How boxes are shared out. `split` names it for people; `works` are the parts, in order of engines.

    Where all boxes are one box at different places: `cut`, a `sample` of them and the digits `far` that choose the
    place.
    """

    works: tuple[Work, ...]
    split: str
    cover: str
    cut: ShareCut | None = None
    sample: AtomNest | None = None
    far: tuple[Atom, ...] = ()

    @property
    def commands(self) -> int:
        return len(self.works)


# ---------------------------------------------------------------- places


def lanes_of(cover: Cover, cuts: Sequence[int]) -> list[AtomNest]:
    """Boxes that stay within one chip and cluster on each side, with digits cut where a DMN ends."""
    out: list[AtomNest] = []
    for box in cover.boxes:
        far = [a for a in box.atoms if max(abs(a.read), abs(a.write)) >= SPAN["cluster"]]
        near = tuple(a for a in box.atoms if a not in far)
        for values in product(*(range(a.count) for a in far)):
            read = box.read + sum(v * a.read for v, a in zip(values, far, strict=True))
            write = box.write + sum(v * a.write for v, a in zip(values, far, strict=True))
            out.append(AtomNest(read, write, _cut_at(near, cuts)))
    return out


def crowded(lanes: Sequence[AtomNest]) -> bool:
    """Whether places ask for more commands than are shared out: such a cover has no shares."""
    return len(lanes) > MOST_LANES


def _cut_at(atoms: Sequence[Atom], cuts: Sequence[int]) -> tuple[Atom, ...]:
    """Digits that step over one of the distances are cut there."""
    out: list[Atom] = []
    for atom in atoms:
        for cut in sorted(cuts, reverse=True):
            for step in (abs(atom.write), abs(atom.read)):
                ratio = cut // step if step and cut % step == 0 else 0
                if 1 < ratio < atom.count and atom.count % ratio == 0:
                    high, atom = atom.cut(ratio)
                    out.append(high)
        out.append(atom)
    return tuple(out)


def home(box: AtomNest) -> tuple[int, int]:
    """(chip, cluster) whose engines are nearest: that of the side that lies in a cluster other than the first, else
    the source.
    """
    chip, rest = divmod(box.read, SPAN["chip"])
    other = box.write // SPAN["chip"]
    return chip if chip or not other else other, max(rest, box.write % SPAN["chip"]) // SPAN["cluster"]


# ---------------------------------------------------------------- sharing out


def layerings(cover: Cover, machine: SynthMachine, cutting: bool | None = None) -> Iterator[Layering]:
    """Ways to share a cover out, from one engine a box to all engines of a chip, most engines first. `cutting`: those
    alone that cut runs, or that do not.
    """
    lanes = lanes_of(cover, machine.cuts)
    if crowded(lanes):
        return
    chips: dict[int, list[AtomNest]] = {}
    for lane in lanes:
        chips.setdefault(home(lane)[0], []).append(lane)
    seen: set[tuple[Work, ...]] = set()
    for counts in _counts(chips, machine):
        for split in _splits(chips, counts, machine, cutting):
            if split.works not in seen:
                seen.add(split.works)
                far = tuple(a for a in cover.boxes[0].atoms if max(abs(a.read), abs(a.write)) >= SPAN["cluster"])
                yield replace(split, cover=cover.how, far=far, cut=split.cut if len(cover.boxes) == 1 else None)


def _counts(chips: Mapping[int, Sequence[AtomNest]], machine: SynthMachine) -> Iterator[tuple[int, ...]]:
    """How many engines each box of the fullest chip gets; boxes of equal shape get equally many."""
    boxes = max(chips.values(), key=len)
    shapes = list(dict.fromkeys(_shape(box) for box in boxes))
    many = [sum(1 for box in boxes if _shape(box) == shape) for shape in shapes]
    pool = machine.per_chip
    found = {
        counts
        for counts in product(range(1, pool + 1), repeat=min(len(shapes), 3))
        if sum(n * m for n, m in zip(counts, many, strict=False)) <= pool
    }
    if len(shapes) > 3 or not found:
        found.add(tuple(1 for _ in shapes[:3]))
    yield from sorted(found, key=lambda counts: (-sum(n * m for n, m in zip(counts, many, strict=False)), counts))


def _shape(box: AtomNest) -> tuple[tuple[int, int, int], ...]:
    return tuple((a.count, a.read, a.write) for a in box.atoms)


def _splits(
    chips: Mapping[int, Sequence[AtomNest]], counts: Sequence[int], machine: SynthMachine, cutting: bool | None
) -> Iterator[Layering]:
    """Every way to cut the boxes into as many parts: one way per shape, the same for all boxes of it."""
    shapes = list(dict.fromkeys(_shape(box) for boxes in chips.values() for box in boxes))
    want = {shape: counts[min(i, len(counts) - 1)] if i < 3 else 1 for i, shape in enumerate(shapes)}
    sample = {_shape(box): box for boxes in chips.values() for box in boxes}
    ways = [list(cuts_of(sample[shape], want[shape], machine.window, machine.apart)) for shape in shapes]
    for chosen in product(*ways):
        if cutting is not None and cutting != any(c.cuts_run(sample[s]) for c, s in zip(chosen, shapes, strict=True)):
            continue
        how = dict(zip(shapes, chosen, strict=True))
        works: list[Work] = []
        for chip, boxes in sorted(chips.items()):
            works += _placed(chip, boxes, how, machine)
        label = "; ".join(dict.fromkeys(c.text for c in chosen if c.text)) or "one engine"
        yield Layering(tuple(works), label, "", chosen[0] if len(chosen) == 1 else None, sample[shapes[0]])


def _placed(
    chip: int,
    boxes: Sequence[AtomNest],
    how: Mapping[tuple[tuple[int, int, int], ...], ShareCut],
    machine: SynthMachine,
) -> list[Work]:
    """Parts given to engines: those of the box's own cluster first, the idle ones of the chip next, then a second
    round.
    """
    pool = [Engine(chip + e.chip, e.cluster, e.dmn) for e in machine.engines]
    load = dict.fromkeys(pool, 0)
    out: list[Work] = []
    parts = [(home(box)[1], part) for box in boxes for part in how[_shape(box)].parts(box)]
    for cluster, part in (
        sorted(parts, key=lambda item: -item[1].amount) if len({p.amount for _, p in parts}) > 1 else parts
    ):
        engine = min(pool, key=lambda e: (load[e], e.cluster != cluster, e.cluster, e.dmn))
        load[engine] += part.amount
        out.append(Work(engine, part))
    return sorted(out, key=lambda w: (w.engine.chip, w.engine.cluster, w.engine.dmn))


@dataclass(frozen=True, slots=True)
class ShareCut:
    """Which atoms are cut in how many parts: (index, parts, block or cyclic)."""

    cuts: tuple[tuple[int, int, bool], ...]
    text: str
    grain: int = 1

    def cuts_run(self, box: AtomNest) -> bool:
        """Whether it cuts what is contiguous on both sides."""
        return any(box.atoms[index] in box.chain[1] for index, _, _ in self.cuts)

    def parts(self, box: AtomNest) -> list[AtomNest]:
        """The parts, in order of their first values."""
        found = [box]
        for index, count, block in self.cuts:
            found = [part for b in found for part in _cut(b, index, count, block, self.grain)]
        return found


def _cut(box: AtomNest, index: int, count: int, block: bool, grain: int) -> list[AtomNest]:
    atom, out = box.atoms[index], []
    if block:
        each = -(-atom.count // count)
        each = -(-each // grain) * grain
        pieces = [(at, min(each, atom.count - at), 1) for at in range(0, atom.count, each)]
    else:
        pieces = [(at, -(-(atom.count - at) // count), count) for at in range(count)]
    alike: dict[int, AtomNest] = {}
    for start, many, step in pieces:
        if many not in alike:
            piece = Atom(atom.axis, atom.weight * step, many, atom.read * step, atom.write * step, atom.size)
            alike[many] = AtomNest(box.read, box.write, (*box.atoms[:index], piece, *box.atoms[index + 1 :]))
        out.append(alike[many].moved(start * atom.read, start * atom.write))
    return out


def cuts_of(box: AtomNest, parts: int, window: int, apart: int = 0) -> Iterator[ShareCut]:
    """Every way to cut a box in `parts`: one atom in blocks or in turns, or two or three atoms whose parts multiply. An
    element is not cut: no packet holds a part of one. Runs are cut where a `window` (units of a request) ends; what
    slices `apart` units from each other read alike, not within a slice.
    """
    if parts == 1:
        yield ShareCut((), "")
        return
    chain = set(box.chain[1])
    inside = within_shared(box, apart)
    for factors in _factorings(parts):
        for chosen in _ordered(len(box.atoms), len(factors)):
            if inside.intersection(chosen) or any(
                box.atoms[i].count < n or box.atoms[i].axis == BYTE or (not box.atoms[i].axis and box.atoms[i].weight)
                for i, n in zip(chosen, factors, strict=True)
            ):
                continue
            for ways in product((True, False), repeat=len(factors)):
                cuts = tuple(zip(chosen, factors, ways, strict=True))
                if any(not way and (box.atoms[i] in chain or box.atoms[i].count == n) for i, n, way in cuts):
                    continue
                inner = min((box.atoms[i].write for i, _, _ in cuts if box.atoms[i] in chain), default=0)
                words = ", ".join(
                    f"{box.atoms[i].label or 'bytes'} in {n}{'' if way else ' by turns'}" for i, n, way in cuts
                )
                if (
                    len(cuts) == 1
                    and inner
                    and window % inner == 0
                    and box.atoms[chosen[0]].count * inner >= parts * window
                ):
                    yield ShareCut(cuts, words, window // inner)
                    if box.atoms[chosen[0]].count * inner % (parts * window) == 0:
                        continue
                yield ShareCut(cuts, words)


def within_shared(box: AtomNest, apart: int) -> set[int]:
    """The atoms within slices, `apart` units from each other, of a box in which several slices read one region."""
    shared = apart > 0 and any(a.read == 0 and a.write and a.write % apart == 0 for a in box.atoms)
    return {i for i, atom in enumerate(box.atoms) if shared and atom.write % apart}


def _factorings(n: int) -> list[tuple[int, ...]]:
    pairs = [(a, n // a) for a in range(2, n) if n % a == 0]
    triples = [
        (a, b, c)
        for a, rest in pairs
        for b, c in [(x, rest // x) for x in range(2, rest) if rest % x == 0]
        if a <= b <= c
    ]
    return [(n,), *pairs, *triples]


def _ordered(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """Increasing tuples of k indices below n."""
    if k == 1:
        yield from ((i,) for i in range(n))
        return
    for head in _ordered(n, k - 1):
        yield from ((*head, i) for i in range(head[-1] + 1, n))


Profiles = frozenset[tuple[tuple[int, int], ...]]
"""Per engine, without repetition: (length of run, units) of each of its commands."""


def profiles_of(layering: Layering) -> Profiles:
    """What the engines of a sharing have to move."""
    parts: dict[Engine, list[tuple[int, int]]] = defaultdict(list)
    for work in layering.works:
        parts[work.engine].append((work.box.chain[0], work.box.amount))
    return frozenset(tuple(sorted(own)) for own in parts.values())
